//! Builds the replies and failures of all tools, and collects the facts of a call that `render` needs. For
//! clients that show views, a reply has the story of its edit (the data that a view shows), with proofs of
//! what the view is permitted to do: [`Capabilities`]. A view can show and take back only edits for which a
//! reply has given it a capability. Over HTTP there are no sessions, so nothing else distinguishes the edits
//! of one client from those of another.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use mcp_text_editor_store::{EditId, Edited, KnownStates, NotKept, Outcome};
use ring::hmac;
use serde_json::{Map, Value, json};

use crate::config::{Config, Output};
use crate::context::{Cancel, Context, Reply};
use crate::history::of_entry;
use crate::problem::{Failure, Problem};
use crate::render::edit::{self as words, Hashes};
use crate::render::escape::json_text;
use crate::render::explain::{self, Call};
use crate::render::story;
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

/// Builds the failure of a tool. The failure suggests only tools that this process offers.
pub(super) fn failure(context: &Context, tool: ToolId, problems: Vec<Problem>) -> Failure {
    Failure::of_tool(tool, problems, |tool| context.config.tools.contains(tool))
}

/// The key that signs and checks capabilities for edits and sessions. A capability is a MAC (HMAC-SHA256) of
/// the edit's id, or of the session's name. The key is made from the secret of the history, which all
/// processes that share the history know.
pub(super) struct Capabilities(hmac::Key);

impl Capabilities {
    pub(super) fn new(context: &Context) -> Result<Self, NotKept> {
        let mut fresh = [0; 32];
        getrandom::fill(&mut fresh).map_err(|_| NotKept::Off)?;
        let secret = context.workspace.history().secret(&fresh)?;
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &secret)))
    }

    /// Adds capabilities to an edit in a story or a list: for the edit, for the edit that took it back, and
    /// for the session.
    pub(super) fn put_into(&self, edit: Option<&mut Value>, session: Option<&str>) {
        let Some(edit) = edit.and_then(Value::as_object_mut) else { return };
        let edits = ["id", "undoneBy"].into_iter().filter_map(|key| edit.get(key)?.as_str());
        let capability = |of: &str| (of.to_owned(), json!(BASE64.encode(hmac::sign(&self.0, of.as_bytes()))));
        let all: Map<_, _> = edits.chain(session).map(capability).collect();
        edit.insert("capabilities".to_owned(), Value::Object(all));
    }

    /// Tells, in constant time, whether `capability` is the one for the edit or session `of`.
    pub(super) fn permit(&self, of: &str, capability: &str) -> bool {
        let capability = BASE64.decode(capability).unwrap_or_default();
        hmac::verify(&self.0, of.as_bytes(), &capability).is_ok()
    }
}

/// Builds the story of a call's edit or dry run, from the store's outcome; `None` for a client that shows no
/// views.
pub(super) fn story_of<'a>(
    context: &Context,
    tool: ToolId,
    done: &Outcome,
    name: impl Fn(&Edited) -> &'a str,
    dry_run: bool,
) -> Option<Value> {
    if !context.shows_views {
        return None;
    }
    let kept = done.entry.as_ref().and_then(|entry| Some((entry, Capabilities::new(context).ok()?)));
    let Some((entry, capabilities)) = kept else { return Some(story::outcome(tool, done, name, dry_run)) };
    let mut story = story::kept(entry, can_undo(context), done);
    capabilities.put_into(story.get_mut("edit"), context.session.as_deref());
    Some(story)
}

/// Builds the story of a past edit, with the capabilities for it; `None` if the history has no edit with this
/// id, or one of its files lies outside the roots.
pub(super) fn of_past_edit(context: &Context, id: &EditId) -> Result<Option<Value>, NotKept> {
    let workspace = &*context.workspace;
    let Some(entry) = workspace.edit(id)? else { return Ok(None) };
    let mut story = of_entry(workspace, &entry, can_undo(context), &mut KnownStates::default());
    Capabilities::new(context)?.put_into(story.get_mut("edit"), context.session.as_deref());
    Ok(Some(story))
}

/// Tells whether this process may take edits back.
pub(super) fn can_undo(context: &Context) -> bool {
    !context.workspace.is_read_only()
}
