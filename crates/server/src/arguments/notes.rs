//! Collects the problems of a call's arguments, and the amounts that count towards the limits.
//!
//! Paths and labels of encodings are validated only if a call's arguments have other problems. Such a call
//! opens no files, so its error would lack malformed paths and unknown labels. Without other problems,
//! opening the files finds them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_store::{Purpose, Workspace};
use serde_json::{Map, Value};

use super::aliases::OtherNames;
use super::vocabulary::{Argument, Object};
use crate::config::ToolSet;
use crate::context::Context;
use crate::limits::{Exceeded, Limit, Limits};
use crate::problem::{Code, Failure, Problem};
use crate::render::explain::{self, CalledFile as File};
use crate::render::limits as words;
use crate::tool_id::ToolId;

/// The maximum number of problems that are collected: a hostile call could have millions.
const MAX: usize = 1_000;

/// The problems of a call so far, and the amounts that count towards the limits.
#[derive(Debug)]
pub struct Notes<'l> {
    /// Problems, and checks that are made only if there are problems, in the order of the call.
    noted: RefCell<Vec<Note>>,
    /// The number of problems in `noted`.
    problems: Cell<usize>,
    aliases: RefCell<OtherNames>,
    limits: &'l Limits,
    /// The tools that are offered; `None` if they are not known, in which case all count as offered.
    offered: Option<&'l ToolSet>,
    /// The workspace that checks paths; `None` to make no checks of paths and labels.
    workspace: Option<&'l Workspace>,
    /// The amount that the call requests, for each limit.
    asked: [Cell<u64>; Limit::ALL.len()],
}

impl<'l> Notes<'l> {
    /// Begins the notes of a call with these limits.
    #[must_use]
    pub fn new(limits: &'l Limits) -> Self {
        Self {
            noted: RefCell::default(),
            problems: Cell::default(),
            aliases: RefCell::default(),
            limits,
            offered: None,
            workspace: None,
            asked: Default::default(),
        }
    }

    /// Begins the notes of a call to this server. If the call has problems, those of its paths and encodings
    /// are also reported.
    #[must_use]
    pub fn of(context: &'l Context) -> Self {
        let config = &context.config;
        let (offered, workspace) = (Some(&config.tools), Some(&*context.workspace));
        Self { offered, workspace, ..Self::new(&config.limits) }
    }

    /// Adds to the amount that the call requests. Returns whether the sum is within the limit; if not, the
    /// caller should not read the rest.
    #[must_use]
    pub fn admit(&self, limit: Limit, asked: usize) -> bool {
        let Some(sum) = self.asked.get(limit as usize) else { return true };
        sum.set(sum.get().saturating_add(asked as u64));
        sum.get() <= self.limits.get(limit)
    }

    /// Notes the depth of a value that is nested too deeply.
    pub(super) fn note_depth(&self, depth: u64) {
        if let Some(asked) = self.asked.get(Limit::Depth as usize) {
            asked.set(asked.get().max(depth));
        }
    }

    /// Lists the limits that were exceeded.
    fn exceeded(&self) -> impl Iterator<Item = Exceeded> {
        let asked = Limit::ALL.iter().zip(&self.asked).map(|(limit, asked)| (*limit, asked.get()));
        asked
            .filter(|(limit, asked)| *asked > self.limits.get(*limit))
            .map(|(limit, asked)| Exceeded { limit, asked })
    }

    pub(super) fn is_full(&self) -> bool {
        self.count() >= MAX
    }

    /// Returns the number of problems so far. A caller compares it before and after an argument is read. If
    /// the argument is wrong by itself, the caller skips checks against other arguments, which would report
    /// the mistake twice.
    #[must_use]
    pub fn count(&self) -> usize {
        self.problems.get()
    }

    /// Renames wrong keys of an object to the arguments that they mean, and notes the wrong names.
    pub(super) fn rename(&self, values: &mut Map<String, Value>, object: Object) {
        let is_offered = |own: &Argument| own.with.is_none_or(|tool| self.offers(tool));
        self.aliases.borrow_mut().rename(values, object.0, is_offered);
    }

    /// Tells whether the tool is offered.
    pub(super) fn offers(&self, tool: ToolId) -> bool {
        self.offered.is_none_or(|offered| offered.contains(tool))
    }

    /// Returns the limits of the process.
    pub(super) fn limits(&self) -> &'l Limits {
        self.limits
    }

    /// Notes a path or a label, which is checked only if the call has problems. Does nothing if the workspace
    /// is not known.
    pub(super) fn defer(&self, file: Option<&Rc<str>>, named: DeferredName) {
        let mut notes = self.noted.borrow_mut();
        if self.workspace.is_some() && notes.len() - self.count() < MAX {
            notes.push(Note::Check(file.cloned(), named));
        }
    }

    /// Notes a problem.
    pub fn note(&self, problem: Problem) {
        if !self.is_full() {
            self.problems.set(self.count() + 1);
            self.noted.borrow_mut().push(Note::Problem(Box::new(problem)));
        }
    }

    /// Returns the request, or a failure with all problems. `tool` is the tool that the failure suggests to
    /// call again.
    pub fn finish<T>(self, request: Option<T>, tool: ToolId) -> Result<T, Failure> {
        let mut problems: Vec<Problem> =
            self.exceeded().map(|exceeded| words::exceeded(self.limits, exceeded)).collect();
        problems.extend(self.aliases.borrow().problem());
        // Without other problems the files are opened, and opening them reports problems of paths and labels.
        let is_to_fail = !problems.is_empty() || self.count() > 0;
        for note in self.noted.into_inner() {
            match (note, self.workspace.filter(|_| is_to_fail)) {
                (Note::Problem(problem), _) => problems.push(*problem),
                (Note::Check(file, named), Some(workspace)) => {
                    problems.extend(named.problems(file.as_deref(), workspace, tool));
                }
                (Note::Check(..), None) => {}
            }
        }
        problems.truncate(MAX);
        if problems.is_empty() {
            if let Some(request) = request {
                return Ok(request);
            }
            let reason = "the arguments could not be read";
            problems.push(Problem::new(Code::InternalError, reason, "report this as a defect"));
        }
        Err(Failure { problems, suggestion: tool.name().to_owned(), editing: !tool.is_read_only() })
    }
}

#[derive(Debug)]
enum Note {
    Problem(Box<Problem>),
    /// A path or a label to check, and the file to which the path or the label belongs.
    Check(Option<Rc<str>>, DeferredName),
}

#[derive(Debug)]
pub(super) enum DeferredName {
    Path(String),
    /// A path at which nothing may exist yet.
    NewPath(String),
    Encoding(String),
}

impl DeferredName {
    fn problems(&self, file: Option<&str>, workspace: &Workspace, tool: ToolId) -> Vec<Problem> {
        let purpose = match (self, tool) {
            (Self::NewPath(_), _) | (_, ToolId::Create) => Purpose::Creating,
            _ if tool.is_finding() => Purpose::Finding,
            _ if tool.is_read_only() => Purpose::Reading,
            _ => Purpose::Editing,
        };
        match self {
            Self::Path(path) | Self::NewPath(path) => {
                let problems = workspace.check_spelling(path, purpose);
                problems.iter().map(|problem| explain::misspelled(tool, workspace, path, problem)).collect()
            }
            Self::Encoding(label) if Label::parse(label).is_some() => Vec::new(),
            Self::Encoding(label) => {
                let named = File { encoding: Some(label), ..File::by_path(file.unwrap_or_default()) };
                let problem = explain::unknown_encoding(named);
                vec![Problem { file_path: file.map(str::to_owned), ..problem }]
            }
        }
    }
}
