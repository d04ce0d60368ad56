//! The page on editing for the extension Skills (`io.modelcontextprotocol/skills`, SEP-2640, final since
//! 2026-09). It belongs to revision 2026-07-28 and later, where each request says what its client knows. The
//! server never mentions it to a client that does not declare the extension.

use mcp_text_editor_core::digest::Digest;
use rmcp::model::{
    ClientCapabilities, ClientRequest, CustomResult, ErrorData, ReadResourceResult, Resource,
    ResourceContents, ServerResult,
};
use serde_json::{Map, Value, json};

/// The name of the extension.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// The URI of the page.
const URI: &str = "skill://editing-text-files/SKILL.md";
const MIME_TYPE: &str = "text/markdown";
const PAGE: &str = include_str!("skill.md");

/// Whether a client says that it knows skills.
pub(super) fn are_known(client: Option<&ClientCapabilities>) -> bool {
    client.and_then(|client| client.extensions.as_ref()?.get(EXTENSION)).is_some()
}

/// Answers `skills/list` and `skills/get`; `None` for another request. The SDK would refuse them, since the
/// server does not declare the extension to every client.
pub(super) fn answer(request: &ClientRequest, fresh_ms: u64) -> Option<Result<ServerResult, ErrorData>> {
    let (name, found) = match request {
        ClientRequest::ListSkillsRequest(_) => ("skills", json!([skill()])),
        ClientRequest::GetSkillRequest(request) if request.params.uri == URI => ("skill", skill()),
        ClientRequest::GetSkillRequest(_) => {
            return Some(Err(ErrorData::invalid_params(format!("the only skill is {URI}"), None)));
        }
        _ => return None,
    };
    let result = json!({"resultType": "complete", name: found, "ttlMs": fresh_ms, "cacheScope": "private"});
    Some(Ok(ServerResult::CustomResult(CustomResult::new(result))))
}

/// Lists the page among the resources.
pub(super) fn resource() -> Resource {
    let head = frontmatter();
    let text = |name: &str| head.get(name).and_then(Value::as_str).unwrap_or_default();
    Resource::new(URI, text("name")).with_description(text("description")).with_mime_type(MIME_TYPE)
}

/// Returns the page, if this is its URI.
pub(super) fn read(uri: &str) -> Option<ReadResourceResult> {
    let contents = || ResourceContents::TextResourceContents {
        uri: URI.to_owned(),
        mime_type: Some(MIME_TYPE.to_owned()),
        text: PAGE.to_owned(),
        meta: None,
    };
    (uri == URI).then(|| ReadResourceResult::new(vec![contents()]))
}

fn skill() -> Value {
    let digest = format!("sha256:{}", Digest::of(PAGE.as_bytes()));
    json!({
        "uri": URI,
        "frontmatter": frontmatter(),
        "resources": [{"uri": URI, "digest": digest, "size": PAGE.len()}],
    })
}

/// Returns the page's head, which has one line for each key.
fn frontmatter() -> Map<String, Value> {
    let head = PAGE.split("---\n").nth(1).unwrap_or_default();
    let pairs = head.lines().filter_map(|line| line.split_once(": "));
    pairs.map(|(key, value)| (key.to_owned(), json!(value))).collect()
}
