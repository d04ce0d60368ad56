//! Defines a tool: its words, its arguments and its function. Also reads the arguments that several tools
//! have in common.
//!
//! Returns the schemas of structured content, and of the arguments of tools for views. `schemas.json` has one
//! for each tool. A key that begins with `+` is replaced by the members of the parts that its value names.
//!
//! An error has no structured content. But some clients check the error's text against the schema and, if it
//! does not fit, show the model their own message instead. So each schema also admits an error. Other clients
//! reject combinators and references, so a schema has the properties of both the content and the error, and
//! requires only those that both have.
//!
//! Builds the replies and failures of all tools, and collects the facts of a call that `render` needs. For
//! clients that show views, a reply has the story of its edit (the data that a view shows), with proofs of
//! what the view is permitted to do: [`Capabilities`]. A view can show and take back only edits for which a
//! reply has given it a capability. Over HTTP there are no sessions, so nothing else distinguishes the edits
//! of one client from those of another.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use mcp_text_editor_core::resolve::{GuardedRange, Position};
use mcp_text_editor_store::{EditId, Edited, KnownStates, NotKept, Outcome};
use ring::hmac;
use serde_json::{Map, Value, json};

use crate::arguments::vocabulary::{AFTER, BEFORE, END, RANGE_HASH, RANGES, START};
use crate::arguments::{Argument, Fields, Notes, Object};
use crate::config::{Config, Output};
use crate::context::{Cancel, Context, Reply};
use crate::history::of_entry;
use crate::problem::{Code, Failure, Problem};
use crate::render::edit::{self as words, Hashes};
use crate::render::escape::json_text;
use crate::render::explain::{self, Call};
use crate::render::story;
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
    /// Sentences about other tools. The description has each of them only if that tool is offered.
    pub if_offered: &'static [(ToolId, &'static str)],
    /// Whether the tool can remove content from a file.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// Its arguments.
    pub arguments: Object,
    /// Checks the arguments and carries the call out.
    pub run: Run,
}

impl Tool {
    /// Returns the name by which the tool is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.id.name()
    }

    /// Returns the description, with the sentences about other tools that are offered.
    pub fn description_for(&self, is_offered: impl Fn(ToolId) -> bool) -> String {
        let sentences = self.if_offered.iter().filter(|(tool, _)| is_offered(*tool));
        sentences.fold(self.description.to_owned(), |out, (_, sentence)| out + " " + sentence)
    }

    /// Returns the schema of the tool's structured content.
    #[must_use]
    pub fn output(&self) -> Map<String, Value> {
        of(self.name())
    }

    /// Reads the request of a call with `read`, which notes all problems of the arguments.
    ///
    /// # Errors
    ///
    /// The failure has all problems of the arguments.
    pub fn parse<R>(
        &self,
        read: fn(&mut Fields<'_>) -> Option<R>,
        values: Map<String, Value>,
        notes: Notes<'_>,
    ) -> Result<R, Failure> {
        let request = read(&mut Fields::top(&notes, self.arguments, values));
        notes.finish(request, self.id)
    }
}

/// A function that runs a tool with its unchecked arguments, on a thread that may block.
pub type Run = fn(&Context, Map<String, Value>, &Cancel) -> Result<Reply, Failure>;

/// Reads the end of a range. Returns `None`, which means the last line, if the argument is null, absent or
/// -1.
pub(super) fn end_of(fields: &mut Fields<'_>, argument: Argument) -> Option<i64> {
    fields.integer(argument).filter(|end| *end != -1)
}

pub(super) fn guarded_range(fields: &mut Fields<'_>) -> Option<GuardedRange> {
    let start = fields.integer(START.needed());
    let end = end_of(fields, END);
    let range_hash = fields.tag(RANGE_HASH);
    fields.check_order(start?, end);
    Some(GuardedRange { start: start?, end, range_hash })
}

/// Reads the fields of a range without a list. The `range_hash` is required.
pub(super) fn hashed_range(fields: &mut Fields<'_>) -> Option<GuardedRange> {
    if !fields.has(RANGE_HASH) {
        fields.note_invalid(
            "`range_hash` is missing",
            "give `range_hash`: as a read of exactly these lines shows it",
        );
    }
    guarded_range(fields)
}

/// Tells whether the fields of a single range are given, without a list of ranges.
pub(super) fn has_flat_range(fields: &Fields<'_>) -> bool {
    !fields.has(RANGES) && [START, END, RANGE_HASH].into_iter().any(|argument| fields.has(argument))
}

/// Reads the place at which lines are inserted: exactly one of `after` and `before` or, unless `is_needed`,
/// at most one.
pub(super) fn position(fields: &mut Fields<'_>, is_needed: bool) -> Option<Position> {
    let given = (fields.has(AFTER), fields.has(BEFORE));
    let after = fields.integer(AFTER);
    let before = fields.integer(BEFORE);
    // Beside `after`, `before: 0` counts as absent. There is no line 0, so a client that sends it cannot
    // leave the key out.
    let given = (given.0, given.1 && !(given.0 && before == Some(0)));
    let hint = "give exactly one of `after` and `before`, the other not or as null: `after: 0` is the top of the file";
    match given {
        (true, true) => fields.note_invalid("`after` and `before` are both given", hint),
        (false, false) if is_needed => fields.note_invalid("`after` or `before` is missing", hint),
        _ => {}
    }
    let line = |name: &str, number: i64, least: u64| {
        let line = u64::try_from(number).ok().filter(|line| *line >= least);
        if line.is_none() {
            fields.note(
                Code::LineOutOfRange,
                format!("`{name}` is {number}, and no file has a line there"),
                "`after: 0` and `before: 1` are the top of the file, and `after` its last line is the end",
            );
        }
        line
    };
    match (after, before.filter(|_| given.1)) {
        (Some(after), None) => line("after", after, 0).map(Position::After),
        (None, Some(before)) => line("before", before, 1).map(Position::Before),
        _ => None,
    }
}

static SCHEMAS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas.json")).unwrap_or_default());

/// Returns the schema of a tool's structured content. For a tool for views, returns the schema of its
/// arguments.
pub(super) fn of(tool: &str) -> Map<String, Value> {
    let part = |name| SCHEMAS.get(name).and_then(Value::as_object);
    part(tool).zip(part("parts")).map(|(schema, parts)| whole(schema, parts)).unwrap_or_default()
}

/// Returns an object with the names of parts replaced by the parts, at every depth.
fn whole(object: &Map<String, Value>, parts: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in object {
        match value {
            Value::Array(names) if key.starts_with('+') => {
                let members = names.iter().filter_map(|name| parts.get(name.as_str()?)?.as_object());
                out.extend(members.flat_map(|part| whole(part, parts)));
            }
            Value::Object(object) => drop(out.insert(key.clone(), whole(object, parts).into())),
            value => drop(out.insert(key.clone(), value.clone())),
        }
    }
    out
}

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
