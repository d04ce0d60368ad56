//! The body of a response: one text, or a stream of events, such as the progress of a call in work.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use rmcp::RoleServer;
use rmcp::model::{ErrorData, RequestId};
use rmcp::service::TxJsonRpcMessage;
use serde_json::json;

use super::exchange::{Exchange, is_last};
use super::places::ConnectionWork;
use crate::transport::answer;

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
    let written = answer::write(answer, &mut bytes);
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
    if answer::write(message, &mut event).is_err() {
        event.truncate(begin);
    }
    // The message has no line end, as JSON escapes line ends in strings.
    event.extend_from_slice(b"\n\n");
    event.into()
}
