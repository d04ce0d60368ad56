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
    /// What it does, when to use it which way, what comes back; for a model.
    pub description: &'static str,
    /// What is said of other tools behind it, each sentence where that tool is offered.
    pub beside: &'static [(ToolId, &'static str)],
    /// Whether it can take away what a file holds.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// The schema of its arguments.
    pub input: fn() -> Map<String, Value>,
    /// The schema of its structured content.
    pub output: fn() -> Map<String, Value>,
    /// Checks the arguments and does it.
    pub run: Run,
}

impl Tool {
    /// The name by which it is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.id.name()
    }

    /// What it does, with what is to be said of other tools that are offered.
    pub fn description_beside(&self, is_offered: impl Fn(ToolId) -> bool) -> String {
        let sentences = self.beside.iter().filter(|(tool, _)| is_offered(*tool));
        sentences.fold(self.description.to_owned(), |out, (_, sentence)| out + " " + sentence)
    }
}

/// How a tool is run with its unchecked arguments. Runs on a thread that may block.
pub type Run = fn(&Context, Map<String, Value>, &Cancel) -> Result<Reply, Failure>;
