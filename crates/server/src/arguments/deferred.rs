//! Validates paths and labels of encodings, only if a call's arguments have other problems. Such a call opens
//! no files, so its error would lack malformed paths and unknown labels. Without other problems, opening the
//! files finds these.

use std::rc::Rc;

use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_store::{Purpose, Workspace};

use crate::problem::Problem;
use crate::render::explain::{self, CalledFile as File};
use crate::tool_id::ToolId;

/// A check of a path or a label.
#[derive(Debug)]
pub(super) struct Deferred {
    /// The number of problems that were found before it. Its own come after them.
    pub(super) after: usize,
    /// The file that it is about.
    pub(super) file: Option<Rc<str>>,
    /// The path or label to check.
    pub(super) named: DeferredName,
}

#[derive(Debug)]
pub(super) enum DeferredName {
    Path(String),
    /// A path at which nothing may exist yet.
    NewPath(String),
    Encoding(String),
}

/// Merges the problems of a call of `tool` with those of its paths and labels, in call order.
pub(super) fn merged(
    workspace: &Workspace,
    found: Vec<Problem>,
    deferred: Vec<Deferred>,
    tool: ToolId,
) -> Vec<Problem> {
    let purpose = match tool {
        ToolId::Create => Purpose::Creating,
        _ if tool.is_finding() => Purpose::Finding,
        _ if tool.is_read_only() => Purpose::Reading,
        _ => Purpose::Editing,
    };
    let mut out = Vec::with_capacity(found.len());
    let mut deferred = deferred.into_iter().peekable();
    for (index, problem) in found.into_iter().enumerate() {
        while let Some(check) = deferred.next_if(|check| check.after <= index) {
            out.extend(check.problems(workspace, tool, purpose));
        }
        out.push(problem);
    }
    out.extend(deferred.flat_map(|check| check.problems(workspace, tool, purpose)));
    out
}

impl Deferred {
    fn problems(&self, workspace: &Workspace, tool: ToolId, purpose: Purpose) -> Vec<Problem> {
        match &self.named {
            DeferredName::Path(path) | DeferredName::NewPath(path) => {
                let is_new = matches!(self.named, DeferredName::NewPath(_));
                let purpose = if is_new { Purpose::Creating } else { purpose };
                let problems = workspace.check_spelling(path, purpose);
                problems.iter().map(|problem| explain::misspelled(tool, workspace, path, problem)).collect()
            }
            DeferredName::Encoding(label) if Label::parse(label).is_some() => Vec::new(),
            DeferredName::Encoding(label) => {
                let file_path = self.file.as_deref().unwrap_or_default();
                let mut problem =
                    explain::unknown_encoding(File { encoding: Some(label), ..File::by_path(file_path) });
                problem.file_path = self.file.as_deref().map(str::to_owned);
                vec![problem]
            }
        }
    }
}
