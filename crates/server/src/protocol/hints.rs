//! Metadata for Claude's programs. They hide the tools of servers behind a search, unless these keys say
//! which of them the model should see at once. No other client is sent the keys.
//! <https://code.claude.com/docs/en/mcp>, and Claude Code 2.1.332.

use rmcp::model::{JsonObject, MetaObject};
use serde_json::json;

use crate::context::Context;
use crate::tools::Tool;

/// The most characters of a reply that these clients show, unless a tool says more.
const SHOWN: usize = 50_000;

/// Returns the hints about a tool; none for a client that does not read them.
pub(super) fn of_tool(tool: &Tool, client: &Context) -> MetaObject {
    let mut hints = JsonObject::new();
    if client.client().is_some_and(|name| name.starts_with("claude")) {
        match tool.search_hint {
            None => hints.insert("anthropic/alwaysLoad".to_owned(), json!(true)),
            Some(words) => hints.insert("anthropic/searchHint".to_owned(), json!(words)),
        };
        let capacity = &client.capacity;
        let longest = capacity.whole.saturating_add(capacity.text.unwrap_or(0));
        if tool.id.is_read_only() && longest > SHOWN {
            hints.insert("anthropic/maxResultSizeChars".to_owned(), json!(longest));
        }
    }
    MetaObject(hints)
}
