//! Builds the replies and failures of all tools, and collects the facts of a call that `render` needs.

use mcp_text_editor_store::{Edited, Outcome};
use serde_json::Value;

use super::story::story_of;
use crate::config::{Config, Output};
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Failure, Problem};
use crate::render::edit::{self as words, Hashes};
use crate::render::escape::json_text;
use crate::render::explain::{self, Call};
use crate::tool_id::ToolId;

/// Collects the facts of a call that `render` needs.
pub(super) fn call<'a>(context: &'a Context, tool: ToolId, many_files: bool, cancel: &'a Cancel) -> Call<'a> {
    let workspace = &*context.workspace;
    let state = workspace.state_directory();
    let Config { limits, tools: offered, .. } = &*context.config;
    let hashes = hashes(context);
    Call { tool, workspace, state, is_entry: false, many_files, limits, cancel, offered, hashes }
}

/// Builds the reply to an edit. `name` returns the name by which the call named a file.
pub(super) fn edit_reply<'a>(
    context: &Context,
    tool: ToolId,
    done: &Outcome,
    name: impl Fn(&Edited) -> &'a str,
    dry_run: bool,
) -> Reply {
    let value = words::json(done, &name, dry_run, hashes(context), &context.capacity);
    Reply { story: story_of(context, tool, done, &name, dry_run), ..json_reply(context, value) }
}

/// Returns how the replies of this process print digests.
pub(super) fn hashes(context: &Context) -> Hashes {
    match context.config.output {
        Output::Text => Hashes::Short,
        Output::Json => Hashes::Whole,
    }
}

/// Builds a reply whose text is JSON. With `--output json` it is the structured content, too.
pub(super) fn json_reply(context: &Context, value: Value) -> Reply {
    let text = json_text(&value);
    Reply { structured: (context.config.output == Output::Json).then_some(value), ..Reply::of(text) }
}

/// Builds the failure of a call that was cancelled before it did anything.
pub(super) fn cancelled(context: &Context, tool: ToolId) -> Failure {
    failure(context, tool, vec![explain::cancelled()])
}

/// Builds the failure of a tool. It suggests only tools that this process offers.
pub(super) fn failure(context: &Context, tool: ToolId, problems: Vec<Problem>) -> Failure {
    Failure::of_tool(tool, problems, |tool| context.config.tools.contains(tool))
}
