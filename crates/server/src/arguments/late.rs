//! What is wrong in itself with a path or a label, which is otherwise found with the files: told with the other problems of a
//! call's arguments where there are any, since no file is looked at then.

use std::rc::Rc;

use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_store::access::roots::Roots;

use crate::problem::Problem;
use crate::render::explain::{self, Named as File};

/// A path or a label of a call.
#[derive(Debug)]
pub(super) struct Late {
    /// How many problems were noted before it: its own come behind them.
    pub(super) after: usize,
    /// The file that it is about.
    pub(super) file: Option<Rc<str>>,
    /// What it is.
    pub(super) named: Named,
}

#[derive(Debug)]
pub(super) enum Named {
    Path(String),
    Encoding(String),
}

/// The problems of a call, with those of what it names, in call order.
pub(super) fn merged(roots: &Roots, found: Vec<Problem>, late: Vec<Late>) -> Vec<Problem> {
    let mut out = Vec::with_capacity(found.len());
    let mut late = late.into_iter().peekable();
    for (index, problem) in found.into_iter().enumerate() {
        while let Some(late) = late.next_if(|late| late.after <= index) {
            out.extend(late.problems(roots));
        }
        out.push(problem);
    }
    out.extend(late.flat_map(|late| late.problems(roots)));
    out
}

impl Late {
    fn problems(&self, roots: &Roots) -> Vec<Problem> {
        match &self.named {
            Named::Path(path) => {
                let problems = roots.misspelled(path);
                problems.iter().map(|problem| explain::misspelled(roots, path, problem)).collect()
            }
            Named::Encoding(label) if Label::parse(label).is_some() => Vec::new(),
            Named::Encoding(label) => {
                let file_path = self.file.as_deref().unwrap_or_default();
                let mut problem =
                    explain::unknown_encoding(File { file_path, encoding: Some(label), patches: &[] });
                problem.file_path = self.file.as_deref().map(str::to_owned);
                vec![problem]
            }
        }
    }
}
