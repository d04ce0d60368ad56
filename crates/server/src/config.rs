//! The configuration of the process, fixed at its start: the options of every call ([`Config`]), the access
//! to files ([`AccessOptions`]) and the state that is stored on disk ([`StateOptions`]). `cli` defines their
//! syntax.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use mcp_text_editor_store::{Durability, HistorySettings, Patterns};

use crate::limits::Limits;
use crate::tool_id::ToolId;

/// The options that hold for every call of the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The tools that are offered.
    pub tools: ToolSet,
    /// The form of replies.
    pub output: Output,
    /// Whether text must match exactly, including blanks at line ends.
    pub strict: bool,
    /// The maximum bytes of text that a read returns at once; `None` if the limit depends on the client.
    pub max_response_bytes: Option<u64>,
    /// The limits of a call.
    pub limits: Limits,
}

impl Default for Config {
    /// Returns the values that apply if no option is given.
    fn default() -> Self {
        Self {
            tools: ToolSet::default(),
            output: Output::Text,
            strict: false,
            max_response_bytes: None,
            limits: Limits::default(),
        }
    }
}

/// The form of replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Output {
    /// For models to read.
    Text,
    /// For programs to parse.
    Json,
}

/// The tools that a process offers. The set is fixed for the life of the process, because clients read the
/// list once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolSet(Vec<ToolId>);

impl ToolSet {
    /// Tells whether the tool is offered.
    #[must_use]
    pub fn contains(&self, tool: ToolId) -> bool {
        self.0.contains(&tool)
    }

    /// The names of the predefined tool sets.
    pub const NAMES: &[&str] = &["default", "all", "edit", "read-only", "claude-code"];

    /// Returns the tools of this set that never change a file; `None` if the set has no such tools.
    #[must_use]
    pub fn read_only(&self) -> Option<Self> {
        let kept = Self::of(|tool| tool.is_read_only() && self.contains(tool));
        (!kept.0.is_empty()).then_some(kept)
    }

    fn of(wanted: impl Fn(ToolId) -> bool) -> Self {
        Self(ToolId::ALL.iter().copied().filter(|tool| wanted(*tool)).collect())
    }
}

impl Default for ToolSet {
    /// Returns the tools that are offered by default.
    fn default() -> Self {
        Self::of(|tool| !tool.is_on_request())
    }
}

impl FromStr for ToolSet {
    type Err = String;

    /// Parses the name of a set, or names of tools separated by commas. The error says what is wrong.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "default" => return Ok(Self::default()),
            "edit" => return Ok(Self::of(ToolId::is_of_the_six)),
            "all" => return Ok(Self::of(|_| true)),
            "read-only" => return Ok(Self::of(|tool| tool.is_read_only() && !tool.is_on_request())),
            "claude-code" => {
                let is_beside = |tool| matches!(tool, ToolId::Patch | ToolId::CopyLines | ToolId::Replace);
                return Ok(Self::of(is_beside));
            }
            _ => {}
        }
        let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if let Some(unknown) = names.iter().find(|name| ToolId::named(name).is_none()) {
            let known: Vec<&str> = ToolId::ALL.iter().map(|tool| tool.name()).collect();
            return Err(format!("there is no tool `{unknown}`; there are {}", known.join(", ")));
        }
        if names.is_empty() {
            return Err("it names no tool".to_owned());
        }
        Ok(Self::of(|tool| names.contains(&tool.name())))
    }
}

impl fmt::Display for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|tool| tool.name()).collect();
        f.write_str(&names.join(","))
    }
}

/// The durability of edits, and the state that is stored on disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateOptions {
    /// The kinds of failure that an acknowledged edit survives.
    pub durability: Durability,
    /// Patterns of files that are overwritten in place, not replaced.
    pub in_place: Patterns,
    /// The state directory; `None` if the platform has none.
    pub state_directory: Option<PathBuf>,
    /// A second state directory, which servers of an earlier version might use, or servers whose client
    /// passes on only the variable `HOME`. `None` if an option names the state directory.
    pub other_state_directory: Option<PathBuf>,
    /// The bounds of the history; `None` if no history is recorded.
    pub history: Option<HistorySettings>,
}

/// The options on access to files, in addition to the allowed directories.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AccessOptions {
    /// Whether no file may be written.
    pub read_only: bool,
    /// Patterns of files that must not be written, in addition to those that are protected by default.
    pub protected: Patterns,
    /// Patterns of files that may be written although they are protected by default.
    pub unprotected: Patterns,
    /// The use of Landlock, by which the kernel denies access outside the allowed directories.
    pub landlock: Landlock,
}

/// The use of Landlock (landlock(7)).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, ValueEnum)]
pub enum Landlock {
    /// As far as the kernel supports it.
    #[default]
    Auto,
    /// For all access to files, or the program does not start.
    Require,
    /// Not at all.
    Off,
}

/// The form of a line of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LogFormat {
    /// Text, with named values.
    Text,
    /// A JSON object.
    Json,
}

/// The least severe events that are logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[expect(missing_docs, reason = "the names are tracing's")]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}
