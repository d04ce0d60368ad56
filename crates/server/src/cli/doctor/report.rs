//! Defines the entries that `doctor` checks, and its findings.

use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;

use crate::cli::install::Syntax;
use crate::cli::install::clients::Client;
use crate::cli::install::environment::Environment;
use crate::cli::install::scopes::{Holder, Scope, taken_out};
use crate::cli::terminal::clipped;
use crate::render::escape::on_one_line;

/// The maximum length of a shown line, in characters: a project or a server may have chosen its text.
const LONGEST: usize = 2_000;

/// A fault, and how to fix it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    pub(super) problem: String,
    pub(super) fix: String,
}

/// Returns a fault, and how to fix it.
pub(super) fn fault(problem: impl Into<String>, fix: impl Into<String>) -> Fault {
    Fault { problem: problem.into(), fix: fix.into() }
}

/// A function that reads a configuration. It returns `None` if the file does not exist. The error says why
/// the file cannot be read.
pub(super) type ReadConfiguration<'a> = dyn Fn(&Path, Syntax) -> Result<Option<Value>, String> + 'a;

/// An entry in the configuration of a client, and the project in which it is used.
pub(super) struct ServerEntry<'a> {
    pub(super) client: &'static Client,
    pub(super) env: &'a Environment,
    /// The place of the entry.
    pub(super) scope: &'a Scope,
    /// The value of the whole file.
    pub(super) parsed: &'a Value,
    /// The project in which the client is used.
    pub(super) project: &'a Path,
    /// Whether the person trusts the project. If so, the entry's program is started in the project, whatever
    /// program it is. Otherwise nothing that belongs to the project is run.
    pub(super) is_trusted: bool,
    /// Reads another configuration.
    pub(super) read: &'a ReadConfiguration<'a>,
}

impl ServerEntry<'_> {
    /// Whether the file is the project's.
    pub(super) fn is_project(&self) -> bool {
        self.scope.holder == Holder::Project
    }

    /// Returns the advice that fixes the entry: the command that writes it anew, or how to remove it.
    pub(super) fn again(&self) -> String {
        let (scope, client) = (self.scope, self.client.name);
        match (scope.holder, &scope.directory) {
            (Holder::Machine, _) => "tell whoever administers this machine".to_owned(),
            (Holder::Person, Some(_)) => taken_out(scope),
            (Holder::Project, _) if !scope.is_written => {
                format!("take {} out of {}", scope.place(), scope.file.display())
            }
            (Holder::Project, Some(directory)) if directory != self.project => {
                format!("mcp-text-editor install {client} --project {}", directory.display())
            }
            (Holder::Project, _) => format!("mcp-text-editor install {client} --project DIR"),
            (Holder::Person, None) => format!("mcp-text-editor install {client}"),
        }
    }

    /// Returns the advice that replaces the entry by a fresh one.
    pub(super) fn anew(&self) -> String {
        let needs = if self.scope.is_written { self.client.needs(self.is_project()) } else { "" };
        format!("{}{needs}", self.again())
    }

    /// Returns the advice to look at the project's entry, and then to let `doctor` start it.
    pub(super) fn trusting(&self) -> String {
        let (client, project) = (self.client.name, self.project.display());
        format!("look at it; then mcp-text-editor doctor {client} --project {project} --trust-project")
    }
}

/// The findings about an entry.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The findings that are not faults, as lines for people.
    pub(super) notes: Vec<String>,
    pub(super) faults: Vec<Fault>,
    /// Whether the server was not asked for its tools. If so, faults can be missing here.
    pub(super) is_unasked: bool,
}

impl From<Fault> for Report {
    fn from(fault: Fault) -> Self {
        Self { faults: vec![fault], ..Self::default() }
    }
}

impl Report {
    /// Returns a report with a note that says why the server was not asked.
    pub(super) fn unasked(why: String) -> Self {
        Self { notes: vec![why], is_unasked: true, ..Self::default() }
    }

    /// Adds a fault, and how to fix it.
    pub(super) fn wrong(&mut self, problem: impl Into<String>, fix: impl Into<String>) {
        self.faults.push(fault(problem, fix));
    }

    /// Adds the findings of another report.
    pub(super) fn add(&mut self, other: Self) {
        self.notes.extend(other.notes);
        self.faults.extend(other.faults);
        self.is_unasked |= other.is_unasked;
    }
}

/// Prints the findings about the subject that the line above names.
pub(super) fn tell_report(report: &Report, out: &mut impl Write) -> io::Result<()> {
    for note in &report.notes {
        writeln!(out, "  {}", shown(note))?;
    }
    for Fault { problem, fix } in &report.faults {
        writeln!(out, "  wrong: {}\n    mend: {}", shown(problem), shown(fix))?;
    }
    match (report.faults.is_empty(), report.is_unasked) {
        (true, false) => writeln!(out, "  all is well")?,
        (true, true) => writeln!(out, "  nothing is wrong that can be seen from here")?,
        (false, _) => {}
    }
    Ok(())
}

/// Returns a text as one escaped line of bounded length, which is safe to show even if a project or a server
/// chose the text.
pub(super) fn shown(text: &str) -> String {
    on_one_line(&clipped(text, LONGEST))
}
