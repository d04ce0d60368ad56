//! Words the suggestions for a path that leads to no file: the files that were perhaps meant.

use mcp_text_editor_store::Suggestion;
use serde_json::Value;

use crate::render::escape::json_text;
use crate::tool_id::ToolId;

/// Asks whether one of the suggested files was meant, with the path to send to this tool in place of the
/// wrong one; the rest of the call stays as it is. `None` if there are no suggestions.
pub(super) fn which(tool: ToolId, suggested: Option<&Suggestion>) -> Option<String> {
    let suggested = suggested?;
    let paths = suggested.paths.iter().filter_map(|path| path.to_str());
    let sent: Vec<String> = paths.map(|path| json_text(&Value::from(path))).collect();
    let rest = if suggested.are_all { "" } else { "; there may be others" };
    match sent.as_slice() {
        [] => None,
        [sent] => Some(match tool {
            ToolId::Search | ToolId::Replace => format!("did you mean {sent} among `paths`?{rest}"),
            // The error says which of the call's two paths is wrong.
            ToolId::Move | ToolId::CopyLines => format!("did you mean {sent}?{rest}"),
            ToolId::List => format!("did you mean \"path\": {sent}?{rest}"),
            _ => format!("did you mean \"file_path\": {sent}?{rest}"),
        }),
        several => Some(format!("did you mean one of these? {}{rest}", several.join(" or "))),
    }
}
