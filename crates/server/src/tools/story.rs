//! Builds the stories of edits for views, with proofs of what a view may do: [`Capabilities`]. A view shows
//! and takes back only what a reply to it gave it. Over HTTP there are no sessions, so nothing else tells one
//! client's edits from another's.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use mcp_text_editor_store::{EditId, Edited, KnownStates, NotKept, Outcome};
use ring::hmac;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::history::of_entry;
use crate::render::story;
use crate::tool_id::ToolId;

/// The capabilities of edits, by their ids, and of sessions, by their names. Each is a MAC (HMAC-SHA256) of
/// that under the secret of the history, which all processes know that share the history.
pub(super) struct Capabilities(hmac::Key);

impl Capabilities {
    pub(super) fn new(context: &Context) -> Result<Self, NotKept> {
        let mut fresh = [0; 32];
        getrandom::fill(&mut fresh).map_err(|_| NotKept::Off)?;
        let secret = context.workspace.history().secret(&fresh)?;
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &secret)))
    }

    /// Adds to an edit of a story, or of a list, the capabilities for the edit itself, for the one that took
    /// it back, and for the session.
    pub(super) fn put_into(&self, edit: Option<&mut Value>, session: Option<&str>) {
        let Some(edit) = edit.and_then(Value::as_object_mut) else { return };
        let edits = ["id", "undoneBy"].into_iter().filter_map(|key| edit.get(key)?.as_str());
        let capability = |of: &str| (of.to_owned(), json!(BASE64.encode(hmac::sign(&self.0, of.as_bytes()))));
        let all: Map<_, _> = edits.chain(session).map(capability).collect();
        edit.insert("capabilities".to_owned(), Value::Object(all));
    }

    /// Tells, in constant time, whether this is the capability for an edit or for a session.
    pub(super) fn permit(&self, of: &str, capability: &str) -> bool {
        let capability = BASE64.decode(capability).unwrap_or_default();
        hmac::verify(&self.0, of.as_bytes(), &capability).is_ok()
    }
}

/// Builds the story of a call's edit, or of a dry run, from the outcome that the store returned;
/// `None` for a client that shows no views.
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
