//! The form of one tool that does what a `command` says, as text editors that models were trained on have it.

use serde_json::{Map, Value, json};

use super::reader::Reader;
use super::{other, patch};
use crate::arguments::other_name;
use crate::render::part::Part;
use crate::tool_id::ToolId;

/// Writes such a call anew, for the tool that does what it asks for. Returns nothing if it is none, or if that tool is
/// not offered.
pub(super) fn call(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let command = values.get("command")?.as_str()?;
    let mut others = values.clone();
    others.shift_remove("command");
    let tool = match command {
        "view" => ToolId::Get,
        "create" => ToolId::Create,
        "str_replace" => ToolId::Patch,
        "insert" => ToolId::Insert,
        _ => return None,
    };
    if !reader.offers(tool) {
        return None;
    }
    reader.odd.name("command");
    match tool {
        ToolId::Get => other::read(&others, reader),
        ToolId::Create => other::create(&others, reader),
        ToolId::Insert => other::insert(&others, reader),
        _ => {
            // What is replaced by no text is deleted there.
            if !others.keys().any(|name| name == "new_string" || other_name(name, &["new_string"]).is_some())
            {
                others.insert("new_string".to_owned(), json!(""));
            }
            patch::call(&others, reader)
        }
    }
}
