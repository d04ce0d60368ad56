//! What a tool is: its words, its schemas, and how it is run.

use serde_json::{Map, Value};

use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// What a client is told of a tool, and how it is run.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Which tool it is.
    pub id: ToolId,
    /// The name that people see.
    pub title: &'static str,
    /// What it does, when and how to use it, and what it returns; for a model.
    pub description: &'static str,
    /// Sentences about other tools, each to be told where that tool is offered.
    pub beside: &'static [(ToolId, &'static str)],
    /// Whether it can take away what a file holds.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// The schema of its arguments.
    pub input: fn() -> Map<String, Value>,
    /// The schema of its structured content.
    pub output: fn() -> Map<String, Value>,
    /// Checks the arguments and does what they ask for.
    pub run: Run,
}

impl Tool {
    /// Returns the name by which it is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.id.name()
    }

    /// Returns what it does, with the sentences about other tools that are offered.
    pub fn description_beside(&self, is_offered: impl Fn(ToolId) -> bool) -> String {
        let sentences = self.beside.iter().filter(|(tool, _)| is_offered(*tool));
        sentences.fold(self.description.to_owned(), |out, (_, sentence)| out + " " + sentence)
    }
}

/// How a tool is run with its unchecked arguments. Runs on a thread that may block.
pub type Run = fn(&Context, Map<String, Value>, &Cancel) -> Result<Reply, Failure>;
