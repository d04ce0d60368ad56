//! The MCP resources: the view of edits, and a page about editing (a skill). A client gets a resource only if
//! the client declares the extension to which the resource belongs.
//!
//! Views belong to the extension MCP Apps (`io.modelcontextprotocol/ui`, specification of 2026-01-26); skills
//! belong to the extension Skills (`io.modelcontextprotocol/skills`, SEP-2640, final since 2026-09). Skills
//! exist from revision 2026-07-28 on, where each request declares the extensions that its client knows.

use mcp_text_editor_core::digest::Digest;
use rmcp::model::{
    ClientCapabilities, ClientRequest, CustomResult, ErrorData, ExtensionCapabilities, JsonObject,
    MetaObject, ReadResourceResult, Resource, ResourceContents, ServerResult,
};
use serde_json::{Map, Value, json};

use crate::page;

/// The name of the extension for views.
const VIEWS: &str = "io.modelcontextprotocol/ui";
/// The media type of a view.
const VIEW_TYPE: &str = "text/html;profile=mcp-app";
/// The URI of the view of edits.
const VIEW_URI: &str = "ui://mcp-text-editor/edit";

/// Tells whether a client declares that it shows views.
#[must_use]
pub fn are_views_shown(client: Option<&ClientCapabilities>) -> bool {
    let settings = client.and_then(|client| client.extensions.as_ref()?.get(VIEWS));
    let types = settings.and_then(|settings| settings.get("mimeTypes")?.as_array());
    types.is_some_and(|types| types.iter().any(|kind| kind.as_str().is_some_and(is_view)))
}

/// Tells whether a media type is [`VIEW_TYPE`], in any equivalent spelling (RFC 9110, section 8.3.1).
fn is_view(kind: &str) -> bool {
    let mut parts = kind.split(';').map(str::trim);
    parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("text/html"))
        && parts.any(|part| {
            part.split_once('=').is_some_and(|(key, value)| {
                key.eq_ignore_ascii_case("profile") && value.trim_matches('"') == "mcp-app"
            })
        })
}

/// Rebuilds the capabilities of a client from the only part that the server uses: whether the client shows
/// views.
#[must_use]
pub(super) fn capabilities(shows_views: bool) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    capabilities.extensions = shows_views.then(views_declared);
    capabilities
}

/// Returns the declaration of the extension for views, which is the same for a client and for the server.
pub(super) fn views_declared() -> ExtensionCapabilities {
    ExtensionCapabilities::from_iter([(VIEWS.to_owned(), object(json!({"mimeTypes": [VIEW_TYPE]})))])
}

/// Returns the metadata of a tool whose calls the view shows.
pub(super) fn of_tool() -> MetaObject {
    MetaObject(object(json!({"ui": {"resourceUri": VIEW_URI}})))
}

/// Returns the metadata of a tool that only views may call.
pub(super) fn of_app_tool() -> MetaObject {
    MetaObject(object(json!({"ui": {"resourceUri": VIEW_URI, "visibility": ["app"]}})))
}

/// Returns the entry of the view in the list of resources.
pub(super) fn view_resource() -> Resource {
    Resource::new(VIEW_URI, "edit")
        .with_title("Edits")
        .with_description("Shows what an edit has changed, and takes it back.")
        .with_mime_type(VIEW_TYPE)
        .with_meta(of_view())
}

/// Returns the resource of this URI, if the client has said that it shows `views`, or knows `skills`.
pub(super) fn read(uri: &str, views: bool, skills: bool) -> Option<ReadResourceResult> {
    let (mime_type, text, meta) = match uri {
        VIEW_URI if views => (VIEW_TYPE, page::PAGE, Some(of_view())),
        SKILL_URI if skills => (SKILL_TYPE, SKILL_PAGE, None),
        _ => return None,
    };
    let (uri, mime_type, text) = (uri.to_owned(), Some(mime_type.to_owned()), text.to_owned());
    let contents = ResourceContents::TextResourceContents { uri, mime_type, text, meta };
    Some(ReadResourceResult::new(vec![contents]))
}

/// Returns the metadata of the view for hosts: the view connects to no server, loads nothing from a server,
/// and asks the host to draw a border.
fn of_view() -> MetaObject {
    let nothing: [&str; 0] = [];
    let csp = json!({"connectDomains": nothing, "resourceDomains": nothing, "frameDomains": nothing, "baseUriDomains": nothing});
    MetaObject(object(json!({"ui": {"csp": csp, "prefersBorder": true}})))
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// The name of the extension for skills.
pub(super) const SKILLS: &str = "io.modelcontextprotocol/skills";
/// The URI of the page about editing.
const SKILL_URI: &str = "skill://editing-text-files/SKILL.md";
const SKILL_TYPE: &str = "text/markdown";
const SKILL_PAGE: &str = include_str!("skill.md");

/// Tells whether a client declares that it knows skills.
pub(super) fn are_skills_known(client: Option<&ClientCapabilities>) -> bool {
    client.and_then(|client| client.extensions.as_ref()?.get(SKILLS)).is_some()
}

/// Answers `skills/list` and `skills/get`; `None` for any other request. The SDK would refuse both methods,
/// since the server does not declare the extension to every client.
pub(super) fn answer(request: &ClientRequest, fresh_ms: u64) -> Option<Result<ServerResult, ErrorData>> {
    let (name, found) = match request {
        ClientRequest::ListSkillsRequest(_) => ("skills", json!([skill()])),
        ClientRequest::GetSkillRequest(request) if request.params.uri == SKILL_URI => ("skill", skill()),
        ClientRequest::GetSkillRequest(_) => {
            return Some(Err(ErrorData::invalid_params(format!("the only skill is {SKILL_URI}"), None)));
        }
        _ => return None,
    };
    let result = json!({"resultType": "complete", name: found, "ttlMs": fresh_ms, "cacheScope": "private"});
    Some(Ok(ServerResult::CustomResult(CustomResult::new(result))))
}

/// Returns the entry of the page about editing in the list of resources.
pub(super) fn skill_resource() -> Resource {
    let head = frontmatter();
    let text = |name: &str| head.get(name).and_then(Value::as_str).unwrap_or_default();
    Resource::new(SKILL_URI, text("name")).with_description(text("description")).with_mime_type(SKILL_TYPE)
}

fn skill() -> Value {
    let digest = format!("sha256:{}", Digest::of(SKILL_PAGE.as_bytes()));
    json!({
        "uri": SKILL_URI,
        "frontmatter": frontmatter(),
        "resources": [{"uri": SKILL_URI, "digest": digest, "size": SKILL_PAGE.len()}],
    })
}

/// Returns the front matter at the head of the page, which has one line for each key.
fn frontmatter() -> Map<String, Value> {
    let head = SKILL_PAGE.split("---\n").nth(1).unwrap_or_default();
    let pairs = head.lines().filter_map(|line| line.split_once(": "));
    pairs.map(|(key, value)| (key.to_owned(), json!(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shows_views_says_so() {
        let shows = |capabilities: Value| {
            let capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap();
            are_views_shown(Some(&capabilities))
        };
        let types = |types: Value| json!({"extensions": {VIEWS: {"mimeTypes": types}}});
        assert!(!are_views_shown(None));
        assert!(!shows(json!({})));
        assert!(!shows(json!({"extensions": {}})));
        assert!(!shows(json!({"extensions": {VIEWS: {}}})));
        assert!(!shows(json!({"experimental": {VIEWS: {"mimeTypes": [VIEW_TYPE]}}})));
        for not in [
            json!([]),
            json!("text/html;profile=mcp-app"),
            json!(["text/html"]),
            json!(["text/html;profile=other"]),
            json!([1]),
        ] {
            assert!(!shows(types(not.clone())), "{not}");
        }
        for such in [
            "text/html;profile=mcp-app",
            "Text/HTML; profile=\"mcp-app\"",
            "text/html; charset=utf-8; Profile=mcp-app",
        ] {
            assert!(shows(types(json!(["image/png", such]))), "{such}");
        }
    }
}
