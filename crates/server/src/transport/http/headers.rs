//! Reads the headers of a request over HTTP: the forms of response that its client accepts, the revision of
//! MCP and, from revision 2026-07-28 on, the method and the name in the message.
//!
//! The body of a response: one text, or a stream of events, such as the progress of a call in work.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use rmcp::RoleServer;
use rmcp::model::{
    ClientRequest, ErrorCode, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde_json::json;

use super::exchange::{Exchange, is_last};
use super::places::ConnectionWork;
use crate::transport::plain_call;

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

/// The body of a response.
#[derive(Debug)]
pub(super) struct Body {
    content: Either<Full<Bytes>, UnsyncBoxBody<Bytes, Infallible>>,
    /// Held until the whole body has been passed to the connection.
    #[expect(dead_code, reason = "held only to be dropped")]
    work: Option<ConnectionWork>,
}

impl Body {
    /// Makes the connection count as working until the whole body has been passed to it.
    pub(super) fn during(self, work: ConnectionWork) -> Self {
        Self { work: Some(work), ..self }
    }
}

impl From<Full<Bytes>> for Body {
    fn from(text: Full<Bytes>) -> Self {
        Self { content: Either::Left(text), work: None }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.content).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}

/// Makes a response of plain text, for people to read.
pub(super) fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    of(status, "text/plain; charset=utf-8", text)
}

/// Makes a response of serialised JSON, or an error response if serialising failed.
pub(super) fn json(status: StatusCode, written: serde_json::Result<Vec<u8>>) -> Response<Body> {
    match written {
        Ok(bytes) => of(status, "application/json", bytes),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "the answer cannot be written as JSON\n"),
    }
}

/// Makes the response with the answer to a request.
pub(super) fn answer(status: StatusCode, answer: TxJsonRpcMessage<RoleServer>) -> Response<Body> {
    let mut bytes = Vec::new();
    let written = plain_call::write(answer, &mut bytes);
    json(status, written.map(|()| bytes))
}

/// Makes the response to a rejected request. If `id` is `None`, the response has null as its id (JSON-RPC
/// 2.0, section 5).
pub(super) fn error(status: StatusCode, id: Option<&RequestId>, error: &ErrorData) -> Response<Body> {
    json(status, serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": id, "error": error})))
}

/// Makes a response without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(Full::default()));
    *response.status_mut() = status;
    response
}

/// Makes a response of any content type.
pub(super) fn of(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(Full::new(text.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Makes a response of events: `first`, and all later messages of the exchange.
pub(super) fn events(first: TxJsonRpcMessage<RoleServer>, rest: Exchange) -> Response<Body> {
    let ended = is_last(&first);
    stream(Events { first: Some(event(first)), rest, ended })
}

/// Makes a response of server-sent events. Each frame has only whole events.
pub(super) fn stream(
    events: impl HttpBody<Data = Bytes, Error = Infallible> + Send + 'static,
) -> Response<Body> {
    let mut response = Response::new(Body { content: Either::Right(events.boxed_unsync()), work: None });
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Without this header, nginx would buffer the events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The messages of a call, each as an event, up to the answer. Dropping this value cancels the call.
#[derive(Debug)]
struct Events {
    first: Option<Bytes>,
    rest: Exchange,
    ended: bool,
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        self.rest.poll_next(cx).map(|message| {
            self.ended = message.as_ref().is_none_or(is_last);
            message.map(|message| Ok(Frame::data(event(message))))
        })
    }
}

fn event(message: TxJsonRpcMessage<RoleServer>) -> Bytes {
    let mut event = b"event: message\ndata: ".to_vec();
    let begin = event.len();
    if plain_call::write(message, &mut event).is_err() {
        event.truncate(begin);
    }
    // The message has no line end, as JSON escapes line ends in strings.
    event.extend_from_slice(b"\n\n");
    event.into()
}
