//! The entries that `doctor` checks, and its findings.

use std::path::Path;

use serde_json::Value;

use crate::cli::install::Syntax;
use crate::cli::install::clients::Client;
use crate::cli::install::machine::Machine;

/// A fault, and what mends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    pub(super) what: String,
    pub(super) mend: String,
}

/// A function that reads a configuration; it returns `None` if there is none. Its error says why it cannot be
/// read.
pub(super) type ReadConfiguration<'a> = dyn Fn(&Path, Syntax) -> Result<Option<Value>, String> + 'a;

/// An entry in the configuration of a client, and where it is used.
pub(super) struct ServerEntry<'a> {
    pub(super) client: &'static Client,
    pub(super) machine: &'a Machine,
    /// The configuration's file.
    pub(super) file: &'a Path,
    /// The value of the whole file.
    pub(super) said: &'a Value,
    /// The path of the entry in that value.
    pub(super) path: &'a [&'a str],
    /// The advice that mends the entry: the command that writes it anew, or the step that takes it away.
    pub(super) again: String,
    /// Whether `install` writes to this file.
    pub(super) is_written: bool,
    /// The project in which the client is used.
    pub(super) project: &'a Path,
    /// Whether the file is the project's.
    pub(super) is_project: bool,
    /// Whether the person trusts the project. If so, the program of the entry is started in
    /// the project, whatever it is. Else nothing that a project holds is run.
    pub(super) is_trusted: bool,
    /// Reads another configuration.
    pub(super) read: &'a ReadConfiguration<'a>,
}

impl ServerEntry<'_> {
    /// Returns the advice that replaces the entry by a fresh one.
    pub(super) fn anew(&self) -> String {
        let needs = if self.is_written { self.client.needs(self.is_project) } else { "" };
        format!("{}{needs}", self.again)
    }

    /// Returns the advice to look at the project's entry, and then to have it tried.
    pub(super) fn trusting(&self) -> String {
        let (client, project) = (self.client.name, self.project.display());
        format!("look at it; then mcp-text-editor doctor {client} --project {project} --trust-project")
    }
}

/// The findings of an entry.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The findings that are no faults, as lines for people.
    pub(super) done: Vec<String>,
    pub(super) wrong: Vec<Wrong>,
    /// Whether the server was not started, so that some faults may be missing here.
    pub(super) is_unasked: bool,
}

impl From<Wrong> for Report {
    fn from(wrong: Wrong) -> Self {
        Self { wrong: vec![wrong], ..Self::default() }
    }
}

impl Report {
    /// Adds other findings.
    pub(super) fn add(&mut self, other: Self) {
        self.done.extend(other.done);
        self.wrong.extend(other.wrong);
        self.is_unasked |= other.is_unasked;
    }
}
