//! Reads the headers of a request over HTTP: the forms of response that its client accepts, the revision of
//! MCP and, from revision 2026-07-28 on, the method and the name in the message.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::StatusCode;
use hyper::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use rmcp::RoleServer;
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion};
use rmcp::service::RxJsonRpcMessage;

/// The name of the header that names the revision of MCP.
const VERSION: &str = "mcp-protocol-version";

/// The forms of response that a client accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Accepts {
    /// One JSON text.
    pub(super) json: bool,
    /// A stream of events, which can carry progress.
    pub(super) events: bool,
}

/// Reads `Accept`. A client that does not send it gets JSON.
pub(super) fn accepts(headers: &HeaderMap) -> Accepts {
    let mut values = headers.get_all(ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return Accepts { json: true, events: false };
    }
    let ranges: Vec<String> = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter(|range| !is_refused(range))
        .map(|range| range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        .collect();
    let has = |names: &[&str]| ranges.iter().any(|range| names.contains(&range.as_str()));
    Accepts {
        json: has(&["application/json", "application/*", "*/*"]),
        // Programs that do not know events send `*/*`, so it does not mean that the client accepts them.
        events: has(&["text/event-stream", "text/*"]),
    }
}

/// Tells whether a media range has the weight zero (RFC 9110, section 12.4.2).
fn is_refused(range: &str) -> bool {
    range.split(';').skip(1).any(|parameter| {
        let parameter = parameter.trim();
        parameter
            .get(..2)
            .filter(|name| name.eq_ignore_ascii_case("q="))
            .and_then(|_| parameter.get(2..)?.parse::<f32>().ok())
            .is_some_and(|weight| weight <= 0.0)
    })
}

/// Tells whether the headers say that the body is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Tells whether the headers say that the body is not compressed. A compressed body can be small when it
/// arrives and large in memory.
pub(super) fn is_plain(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Returns the revision that the headers name. If they name none, it is 2025-03-26, because clients of later
/// revisions must send the header. An unknown revision is an error.
pub(super) fn revision(headers: &HeaderMap) -> Result<ProtocolVersion, ErrorData> {
    let Some(value) = headers.get(VERSION) else { return Ok(ProtocolVersion::V_2025_03_26) };
    let named = |known: &&ProtocolVersion| value.as_bytes() == known.as_str().as_bytes();
    ProtocolVersion::KNOWN_VERSIONS.iter().find(named).cloned().ok_or_else(|| {
        let known: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
        let message =
            format!("MCP-Protocol-Version names an unknown revision; there are {}", known.join(", "));
        ErrorData::invalid_request(message, None)
    })
}

/// Checks that the headers agree with the message, so that intermediaries can rely on them. Returns the
/// revision of the message.
///
/// If a request names its revision in its `_meta`, `MCP-Protocol-Version` must name the same one. From
/// revision 2026-07-28 on, `Mcp-Method` must name the method and, for a tool call, `Mcp-Name` the tool; these
/// revisions have no `initialize`. From this revision on, and in `server/discover`, `_meta` must have all
/// required keys. An `initialize` that names no revision in its `_meta` is not checked, whatever revision it
/// requests.
pub(super) fn check(
    headers: &HeaderMap,
    message: &RxJsonRpcMessage<RoleServer>,
) -> Result<ProtocolVersion, ErrorData> {
    let request = match message {
        JsonRpcMessage::Request(request) => &request.request,
        _ => return revision(headers),
    };
    let meta = request.get_meta();
    let sent = one(headers, VERSION);
    let revision = match (meta.protocol_version(), request) {
        (Some(named), _) if sent.as_deref() == Some(named.as_str()) => named,
        (Some(_), _) => {
            return Err(mismatch("MCP-Protocol-Version", "the protocolVersion in the request's _meta"));
        }
        (None, ClientRequest::InitializeRequest(request)) => {
            return Ok(request.params.protocol_version.clone());
        }
        (None, _) => revision(headers)?,
    };
    let is_stateless = revision >= ProtocolVersion::V_2026_07_28;
    if is_stateless || matches!(request, ClientRequest::DiscoverRequest(_)) {
        let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
        if !missing.is_empty() {
            let message = format!("the request's _meta lacks {}", missing.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        }
    }
    if is_stateless {
        let method = request.method();
        if one(headers, "mcp-method").as_deref() != Some(method) {
            return Err(mismatch("Mcp-Method", "the request's method"));
        }
        let name = match request {
            ClientRequest::CallToolRequest(call) => Some(call.params.name.as_ref()),
            _ => None,
        };
        if name.is_some() && one(headers, "mcp-name").as_deref() != name {
            return Err(mismatch("Mcp-Name", "the tool that the request calls"));
        }
        if method == "initialize" {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "initialize", None));
        }
    }
    Ok(revision)
}

/// Returns the HTTP status of the response to a rejected request.
pub(super) fn status_of(error: &ErrorData) -> StatusCode {
    if error.code == ErrorCode::METHOD_NOT_FOUND { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST }
}

fn mismatch(header: &str, suggested: &str) -> ErrorData {
    ErrorData::header_mismatch(format!("{header} must be there once, and name {suggested}"), None)
}

/// Returns the value of a header that occurs exactly once; otherwise `None`. A value in the form
/// `=?base64?…?=` is decoded.
fn one(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?.trim();
    if values.next().is_some() {
        return None;
    }
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}
