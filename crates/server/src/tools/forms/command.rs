//! The form of a single tool with a `command` argument, as text editors have it that models were trained on.

use serde_json::{Map, Value, json};

use super::given::Given;
use super::reader::Reader;
use super::{other, patch};
use crate::arguments::other_name;
use crate::render::part::Part;
use crate::tool_id::ToolId;
use crate::tools::undo;

/// The most edits among which the last one in effect is looked for.
const MOST_EDITS: usize = 50;

/// Rewrites such a call for the tool that does what it asks for. Returns `None` if it is no such call, or if
/// that tool is not offered.
pub(super) fn call(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let command = values.get("command")?.as_str()?;
    let mut others = values.clone();
    others.shift_remove("command");
    let tool = match command {
        "view" => ToolId::Get,
        "create" => ToolId::Create,
        "str_replace" => ToolId::Patch,
        "insert" => ToolId::Insert,
        "delete" => ToolId::Remove,
        "rename" => ToolId::Move,
        "undo_edit" => {
            reader.odd.name("command");
            return undo(&others, reader);
        }
        _ => return None,
    };
    if !reader.offers(tool) {
        return None;
    }
    reader.odd.name("command");
    match tool {
        ToolId::Get => other::read(&others, reader),
        ToolId::Create | ToolId::Move | ToolId::Remove => other::plain(tool, &others, reader),
        ToolId::Insert => other::insert(&others, reader),
        _ => {
            // In that form a replacement without a new text deletes the old one.
            if !others.keys().any(|name| name == "new_string" || other_name(name, &["new_string"]).is_some())
            {
                others.insert("new_string".to_owned(), json!(""));
            }
            patch::call(&others, reader)
        }
    }
}

/// Rewrites an undo of the last edit of a file: with the id of that edit or, if none is known, as the call
/// that lists the edits.
pub(super) fn undo(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let mut given = Given::of(values, undo::TOOL.arguments, &mut reader.odd)?;
    if given.has("edit_id") {
        return None;
    }
    let path = reader.path(given.take("file_path").cloned());
    let dry_run = given.take("dry_run").map(|value| ("dry_run", Part::Value(value.clone())));
    given.leave_rest(&mut reader.odd);
    if let Some(id) = last_edit(&path, reader).filter(|_| reader.offers(ToolId::Undo)) {
        reader.odd.note("an edit is taken back by its `edit_id`, and with all of its files".to_owned());
        let parts = [("edit_id", Part::Value(json!(id)))];
        return Some((ToolId::Undo, Part::Object(parts.into_iter().chain(dry_run).collect())));
    }
    let list = Part::Object(vec![("file_path", path)]);
    reader.offers(ToolId::Edits).then_some((ToolId::Edits, list))
}

/// Finds the last edit of a file that was not taken back, and took none back itself.
fn last_edit(path: &Part, reader: &mut Reader<'_>) -> Option<String> {
    let Part::Value(Value::String(path)) = path else { return None };
    let workspace = &reader.context.workspace;
    let real = reader.count_look().then(|| workspace.resolve_for_history(path).ok()).flatten()?;
    let edits = workspace.edits(Some(&real), MOST_EDITS).ok()?;
    let last = edits.iter().find(|entry| entry.undoes.is_none() && entry.undone_by.is_none())?;
    Some(last.id.to_string())
}
