//! The view of edits for the extension MCP Apps (`io.modelcontextprotocol/ui`, specification of 2026-01-26):
//! which clients show it, what tools declare of it, and the resource itself.
//!
//! Only clients that declare the extension get any of this.

use rmcp::model::{
    ClientCapabilities, ExtensionCapabilities, JsonObject, MetaObject, ReadResourceResult, Resource,
    ResourceContents,
};
use serde_json::{Value, json};

use crate::page;

/// The name of the extension.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The media type of a view.
const MIME_TYPE: &str = "text/html;profile=mcp-app";
/// The URI of the view of edits.
const URI: &str = "ui://mcp-text-editor/edit";

/// Tells whether a client declares that it shows views.
#[must_use]
pub fn are_shown(client: Option<&ClientCapabilities>) -> bool {
    let settings = client.and_then(|client| client.extensions.as_ref()?.get(EXTENSION));
    let types = settings.and_then(|settings| settings.get("mimeTypes")?.as_array());
    types.is_some_and(|types| types.iter().any(|kind| kind.as_str().is_some_and(is_view)))
}

/// Tells whether a media type is that of a view, however it is spelled (RFC 9110, section 8.3.1).
fn is_view(kind: &str) -> bool {
    let mut parts = kind.split(';').map(str::trim);
    parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("text/html"))
        && parts.any(|part| {
            part.split_once('=').is_some_and(|(key, value)| {
                key.eq_ignore_ascii_case("profile") && value.trim_matches('"') == "mcp-app"
            })
        })
}

/// Rebuilds the capabilities of a client from the only part of them that the server uses.
#[must_use]
pub(super) fn capabilities(shows_views: bool) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    capabilities.extensions = shows_views.then(declared);
    capabilities
}

/// Returns the declaration of the extension, which is the same for a client and for the server.
pub(super) fn declared() -> ExtensionCapabilities {
    ExtensionCapabilities::from_iter([(EXTENSION.to_owned(), object(json!({"mimeTypes": [MIME_TYPE]})))])
}

/// Returns the metadata of a tool whose calls the view shows.
pub(super) fn of_tool() -> MetaObject {
    MetaObject(object(json!({"ui": {"resourceUri": URI}})))
}

/// Returns the metadata of a tool that only views may call.
pub(super) fn of_app_tool() -> MetaObject {
    MetaObject(object(json!({"ui": {"resourceUri": URI, "visibility": ["app"]}})))
}

/// Lists the view among the resources.
pub(super) fn resource() -> Resource {
    Resource::new(URI, "edit")
        .with_title("Edits")
        .with_description("Shows what an edit has changed, and takes it back.")
        .with_mime_type(MIME_TYPE)
        .with_meta(of_resource())
}

/// Returns the view, if this is its URI.
pub(super) fn read(uri: &str) -> Option<ReadResourceResult> {
    let contents = || ResourceContents::TextResourceContents {
        uri: URI.to_owned(),
        mime_type: Some(MIME_TYPE.to_owned()),
        text: page::PAGE.to_owned(),
        meta: Some(of_resource()),
    };
    (uri == URI).then(|| ReadResourceResult::new(vec![contents()]))
}

/// Returns the metadata of the view for hosts: it connects to no server and loads nothing from one, and the
/// host draws its border.
fn of_resource() -> MetaObject {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shows_views_says_so() {
        let shows = |capabilities: Value| {
            let capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap();
            are_shown(Some(&capabilities))
        };
        let types = |types: Value| json!({"extensions": {EXTENSION: {"mimeTypes": types}}});
        assert!(!are_shown(None));
        assert!(!shows(json!({})));
        assert!(!shows(json!({"extensions": {}})));
        assert!(!shows(json!({"extensions": {EXTENSION: {}}})));
        assert!(!shows(json!({"experimental": {EXTENSION: {"mimeTypes": [MIME_TYPE]}}})));
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
