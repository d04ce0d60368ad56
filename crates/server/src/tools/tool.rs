//! The tools: their words, their arguments, and how they are run.

use serde_json::{Map, Value};

use crate::arguments::{Fields, Notes, Object};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;

/// The words of a tool, and how it is run.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The tool's id.
    pub id: ToolId,
    /// The name that people see.
    pub title: &'static str,
    /// The description: what it does, when and how to use it, and what it returns; for a model.
    pub description: &'static str,
    /// Further search words for the tool; `None` if a model should see the tool without a search.
    pub search_hint: Option<&'static str>,
    /// Sentences about other tools, each to be told where that tool is offered.
    pub if_offered: &'static [(ToolId, &'static str)],
    /// Whether it can take away what a file holds.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// Its arguments.
    pub arguments: Object,
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
    pub fn description_for(&self, is_offered: impl Fn(ToolId) -> bool) -> String {
        let sentences = self.if_offered.iter().filter(|(tool, _)| is_offered(*tool));
        sentences.fold(self.description.to_owned(), |out, (_, sentence)| out + " " + sentence)
    }
}

/// A function that runs a tool with its unchecked arguments, on a thread that may block.
pub type Run = fn(&Context, Map<String, Value>, &Cancel) -> Result<Reply, Failure>;

/// The request of a call of a tool.
pub trait Request: Sized {
    /// The tool.
    const TOOL: &Tool;

    /// Reads the arguments, and notes what is wrong with them; `None` if they give no request.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;

    /// Does what is asked for.
    ///
    /// # Errors
    ///
    /// The failure holds every reason why it was not done.
    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure>;
}

/// Reads the arguments of a call.
///
/// # Errors
///
/// The failure holds all of their problems.
pub fn parse<R: Request>(values: Map<String, Value>, limits: &Limits) -> Result<R, Failure> {
    read(values, Notes::new(limits))
}

/// Checks the arguments of a call and does what they ask for.
pub(super) fn run<R: Request>(
    context: &Context,
    values: Map<String, Value>,
    cancel: &Cancel,
) -> Result<Reply, Failure> {
    read::<R>(values, Notes::of(context))?.run(context, cancel)
}

fn read<R: Request>(values: Map<String, Value>, notes: Notes<'_>) -> Result<R, Failure> {
    let request = R::read(&mut Fields::top(&notes, R::TOOL.arguments, values));
    notes.finish(request, R::TOOL.id)
}
