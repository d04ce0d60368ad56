//! Serves one request over HTTP, in a session of its own, which ends with the answer.
//!
//! Reads the body of a request as it arrives. Splits a batch: a body of several messages, which only revision
//! 2025-03-26 has. The body gets capacity from the memory budget (`intake`) before its bytes are kept, and
//! must arrive in a limited time.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes};
use rmcp::RoleServer;
use rmcp::model::{ClientRequest, GetExtensions as _, JsonRpcMessage, JsonRpcRequest, ProtocolVersion};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, sleep_until};

use super::intake::{Ended, Intake, Share};
use crate::context::Withdrawal;
use crate::json::{LexemeKind, Lexer};
use crate::protocol::server::Server;
use crate::protocol::{resources, session};

/// A request in work. Dropping this value before the answer has come cancels the request.
#[derive(Debug)]
pub(super) struct Exchange {
    messages: UnboundedReceiver<TxJsonRpcMessage<RoleServer>>,
    withdrawal: Withdrawal,
    /// Whether the request is the `initialize` of a client that shows views.
    pub(super) begins_with_views: bool,
}

/// The share of a request in work: its part of the memory budget. The request has this value among its
/// extensions, which live until the handler has ended.
#[derive(Clone)]
struct InWork(#[expect(dead_code, reason = "held only to be dropped")] Arc<Share>);

/// Begins to serve a request of this revision. `shows_views` says whether the client shows views (pages
/// beside a tool's result). The share is held until the work has ended, even if the client has disconnected.
pub(super) fn begin(
    server: &Server,
    mut request: JsonRpcRequest<ClientRequest>,
    revision: ProtocolVersion,
    shows_views: bool,
    share: Arc<Share>,
) -> Exchange {
    let begins_with_views = matches!(&request.request, ClientRequest::InitializeRequest(request)
        if resources::are_views_shown(Some(&request.params.capabilities)));
    let withdrawal = Withdrawal::default();
    let extensions = request.request.extensions_mut();
    extensions.insert(withdrawal.clone());
    extensions.insert(InWork(share));
    let (sender, messages) = mpsc::unbounded_channel();
    let transport = OneRequest {
        request: Some(JsonRpcMessage::Request(request)),
        messages: sender,
        answered: Arc::new(Semaphore::new(0)),
    };
    let session = session::start_alone(server.clone(), transport, revision, shows_views);
    tokio::spawn(session.waiting());
    Exchange { messages, withdrawal, begins_with_views }
}

/// Tells whether a message is the answer, which is the last message of an exchange.
pub(super) fn is_last(message: &TxJsonRpcMessage<RoleServer>) -> bool {
    matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
}

impl Exchange {
    /// Waits for the next message; `None` after the last one.
    pub(super) async fn next(&mut self) -> Option<TxJsonRpcMessage<RoleServer>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Waits for the answer, and drops the messages before it.
    pub(super) async fn answer(&mut self) -> Option<TxJsonRpcMessage<RoleServer>> {
        loop {
            match self.next().await {
                Some(message) if !is_last(&message) => {}
                answer => return answer,
            }
        }
    }

    /// Polls for the next message.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<TxJsonRpcMessage<RoleServer>>> {
        self.messages.poll_recv(cx)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.withdrawal.withdraw();
    }
}

/// The transport of a single request.
struct OneRequest {
    request: Option<RxJsonRpcMessage<RoleServer>>,
    messages: UnboundedSender<TxJsonRpcMessage<RoleServer>>,
    answered: Arc<Semaphore>,
}

impl Transport<RoleServer> for OneRequest {
    type Error = Infallible;

    /// Sends without waiting, and never fails: if the client has disconnected, the request counts as
    /// cancelled.
    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let is_last = is_last(&item);
        let _ = self.messages.send(item);
        if is_last {
            self.answered.add_permits(1);
        }
        std::future::ready(Ok(()))
    }

    /// Returns the request. The next call waits until the request is answered, and returns `None` for the end
    /// of input.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.request.is_some() {
            return self.request.take();
        }
        let _ = self.answered.acquire().await;
        None
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The time that a client may take to send a body. Here and below, the time for which the body waits for
/// capacity does not count.
const MAX_TIME: Duration = Duration::from_mins(1);

/// The time in which a body must arrive while other requests wait for capacity. Each MiB that has arrived
/// adds `GRACE_PER_MIB`.
const GRACE: Duration = Duration::from_secs(5);
const GRACE_PER_MIB: Duration = Duration::from_secs(1);

/// The capacity, in KiB, that each request has from the start, outside the budget. A body up to this length
/// never waits for other requests.
pub(super) const INITIAL_CAPACITY: u32 = 64;

/// The reason why a body was not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BodyError {
    /// The body is longer than the limit.
    TooLong,
    /// The body ended before its declared length, or broke the framing of HTTP.
    Broken,
    /// The body took longer than `MAX_TIME`.
    Late,
    /// The body arrived too slowly while other requests waited for capacity.
    Slow,
    /// The process is ending.
    Ended,
}

impl From<Ended> for BodyError {
    fn from(_: Ended) -> Self {
        Self::Ended
    }
}

/// Reads a body of at most `limit` bytes. `share`, the request's part of the budget, grows before the bytes
/// are kept.
pub(super) async fn read<B: Body<Data = Bytes> + Unpin>(
    mut body: B,
    limit: usize,
    intake: &Arc<Intake>,
    share: &mut Share,
) -> Result<Vec<u8>, BodyError> {
    if body.size_hint().lower() > limit as u64 {
        return Err(BodyError::TooLong);
    }
    let max_length =
        body.size_hint().upper().map_or(limit, |upper| limit.min(usize::try_from(upper).unwrap_or(limit)));
    // The bytes of a chunk are copied, since a chunk of one byte can keep a large buffer alive.
    let (mut text, mut capacity) = (Vec::new(), INITIAL_CAPACITY);
    let mut began = Instant::now();
    loop {
        let grace_end = began + GRACE + GRACE_PER_MIB * u32::try_from(text.len() >> 20).unwrap_or(u32::MAX);
        let slow = async {
            sleep_until(grace_end).await;
            intake.until_contended().await;
        };
        let frame = tokio::select! {
            biased;
            ended = intake.ended() => return Err(ended.into()),
            () = sleep_until(began + MAX_TIME) => return Err(BodyError::Late),
            () = slow => return Err(BodyError::Slow),
            frame = body.frame() => frame,
        };
        let Some(frame) = frame else { return Ok(text) };
        // A frame without data has trailers, which are ignored.
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        let length = text.len() + data.len();
        if length > limit {
            return Err(BodyError::TooLong);
        }
        if length > bytes(capacity) {
            // The capacity grows by at least a quarter, so that a body is not copied again and again.
            let larger = kib(length).max(kib(max_length).min(capacity.saturating_add(capacity / 4)));
            let requested_at = Instant::now();
            share.grow(larger - capacity).await?;
            began += requested_at.elapsed();
            capacity = larger;
        }
        if length > text.capacity() {
            let capacity = text.capacity().saturating_mul(2).clamp(length, bytes(capacity));
            text.reserve_exact(capacity - text.len());
        }
        text.extend_from_slice(&data);
    }
}

/// Reads and discards the rest of an unwanted body, because a client whose connection is closed while the
/// client sends sees a connection error instead of the response. Stops after `limit` bytes, or after the time
/// `GRACE`.
pub(super) async fn discard<B: Body<Data = Bytes> + Unpin>(mut body: B, limit: usize, intake: &Intake) {
    let deadline = Instant::now() + GRACE;
    let mut discarded = 0;
    while discarded <= limit && !body.is_end_stream() {
        let frame = tokio::select! {
            _ = intake.ended() => return,
            () = sleep_until(deadline) => return,
            frame = body.frame() => frame,
        };
        let Some(Ok(frame)) = frame else { return };
        discarded += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// Returns the length in KiB, rounded up.
pub(super) fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX)
}

fn bytes(kib: u32) -> usize {
    (kib as usize).saturating_mul(1024)
}

/// The maximum number of messages in a batch.
pub(super) const MAX_BATCH: usize = 100;

/// The reason why a list is not accepted as a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoBatch {
    /// The list has no items.
    Empty,
    /// The list has more than [`MAX_BATCH`] items.
    TooMany,
}

/// Splits a JSON array into the texts of its items. Examines only strings and nesting; the items are parsed
/// later. Returns `None` for a text that is not an array.
pub(super) fn batch(text: &[u8]) -> Option<Result<Vec<&[u8]>, NoBatch>> {
    let text = text.trim_ascii();
    let inside = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
    if inside.trim_ascii().is_empty() {
        return Some(Err(NoBatch::Empty));
    }
    let (mut items, mut begin) = (Vec::new(), 1);
    let (mut lexer, mut rest) = (Lexer::default(), text);
    while let Some(piece) = lexer.next(&mut rest) {
        let at = text.len() - rest.len() - piece.bytes.len();
        match (piece.kind, piece.depth) {
            // Something follows the end of the array.
            (LexemeKind::Close, 0) if !rest.is_empty() => return None,
            (LexemeKind::Close, 0) | (LexemeKind::Comma, 1) => {
                items.push(text.get(begin..at)?);
                begin = at + 1;
                if piece.kind == LexemeKind::Comma && items.len() == MAX_BATCH {
                    return Some(Err(NoBatch::TooMany));
                }
            }
            _ => {}
        }
    }
    let is_whole = lexer.is_closed() && items.iter().all(|item| !item.trim_ascii().is_empty());
    is_whole.then_some(Ok(items))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_a_list_is_split() {
        for text in ["", "{}", "[1,]", "[,1]", "[1", "1]", "[1]]", "[\"]", "[[1]", "[{\"a\":1]x"] {
            assert_eq!(batch(text.as_bytes()), None, "{text}");
        }
        let many = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert_eq!(batch(many(MAX_BATCH).as_bytes()).unwrap().unwrap().len(), MAX_BATCH);
        assert_eq!(batch(many(MAX_BATCH + 1).as_bytes()), Some(Err(NoBatch::TooMany)));
        for empty in ["[]", " [ ] "] {
            assert_eq!(batch(empty.as_bytes()), Some(Err(NoBatch::Empty)));
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[\\[\\]{},\"\\\\ a]{0,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[,\\]\"a]{0,3}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_items_are_the_list_s(list in prop::collection::vec(json(), 1..8), pretty: bool) {
            let list = Value::Array(list);
            let text = if pretty { format!(" {list:#}\n") } else { list.to_string() };
            let items: Vec<Value> = batch(text.as_bytes()).unwrap().unwrap().into_iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
            prop_assert_eq!(Value::Array(items), list);
        }

        #[test]
        fn any_bytes_are_split_or_not(text in prop::collection::vec(prop::sample::select(b"[]{},\"\\a1 ".to_vec()), 0..40)) {
            if let Some(Ok(items)) = batch(&text) {
                let joined = items.join(&b","[..]);
                prop_assert_eq!([b"[", &joined[..], b"]"].concat(), text.trim_ascii());
            }
        }
    }
}
