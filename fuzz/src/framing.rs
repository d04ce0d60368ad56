//! The lines of a session: any bytes, cut anywhere, give the same messages and the same refusals, in bounded
//! memory; and a request whose id can be read is handed on or refused, once.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use mcp_text_editor::json::weigh;
use mcp_text_editor::limits::{Limit, Limits};
use mcp_text_editor::transport::stdio::LineTransport;
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::RxJsonRpcMessage;
use rmcp::transport::Transport as _;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};

use crate::input::Input;
use crate::memory::peak_of;

/// Lines that are longer than this may hold an id that is too long to be found.
const SHORT: usize = 1_000;
/// The most requests of one batch that are refused.
const MAX_REFUSED: usize = 100;
/// Up to so many lines are also tried each by itself.
const FEW: usize = 24;
/// The memory that a session needs, whatever comes in: buffers, the ids of one batch.
const LEAST_MEMORY: usize = 1 << 20;
/// The size of a message as values, as a multiple of its line's length.
const PARSED: usize = 400;
/// Arguments that nest deeper are not read: 64 levels, and two around them.
const DEEPEST: u64 = 66;
/// The memory of refusals, as a multiple of what they refuse.
const REFUSED: usize = 24;
/// The code of the answer to a request that is handed on: then its id is free again.
const DONE: i32 = 1;

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().build().expect("a runtime");
}

/// The result of an input: messages, and the answers that were written at once.
#[derive(PartialEq, Debug)]
struct Session {
    messages: Vec<Value>,
    answers: Vec<Value>,
}

/// Takes the bytes for all that a client writes.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let limit = input.below(2_000);
    let sizes: Vec<usize> = input.chunk_sizes().take(3).collect();
    let endless = input.byte();
    let stream = input.rest();

    let whole = session(stream, vec![usize::MAX], limit);
    assert_eq!(session(stream, sizes.clone(), limit), whole, "another chunking says something else");

    let mut apart = Session { messages: Vec::new(), answers: Vec::new() };
    let lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    if lines.len() <= FEW {
        for line in lines {
            let alone = session(line, vec![usize::MAX], limit);
            check_line(line, limit, &alone);
            apart.messages.extend(alone.messages);
            apart.answers.extend(alone.answers);
        }
        assert_eq!(apart, whole, "lines are not independent");
    }

    let ((), peak) = peak_of(|| run(stream.to_vec(), sizes, limit, |_| (), Arc::default()));
    assert!(
        peak <= LEAST_MEMORY + PARSED * limit + REFUSED * stream.len(),
        "{peak} bytes for {}",
        stream.len()
    );
    if endless % 32 == 1 {
        check_endless(stream, limit);
    }
}

/// Checks that one line that is as good as endless costs no more than one that is just too long.
fn check_endless(stream: &[u8], limit: usize) {
    let piece: Vec<u8> = stream.iter().copied().filter(|byte| *byte != b'\n').collect();
    let line = piece.repeat(50 * limit / piece.len().max(1) + 1);
    let length = line.len();
    let ((), peak) = peak_of(|| run(line, vec![777], limit, |_| (), Arc::default()));
    assert!(peak <= length + LEAST_MEMORY + PARSED * limit, "{peak} bytes for a line of {length}");
}

fn session(input: &[u8], sizes: Vec<usize>, limit: usize) -> Session {
    let mut messages = Vec::new();
    let output = Arc::new(Mutex::new(Vec::new()));
    let keep = |message| messages.push(serde_json::to_value(&message).expect("a message is JSON"));
    run(input.to_vec(), sizes, limit, keep, Arc::clone(&output));
    let output = std::mem::take(&mut *output.lock().expect("nobody panicked"));
    assert!(output.is_empty() || output.ends_with(b"\n"));
    let answers = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let answers = answers.map(|line| serde_json::from_slice(line).expect("an answer is JSON"));
    let answers = answers.filter(|answer: &Value| answer["error"]["code"] != DONE).collect();
    Session { messages, answers }
}

fn run(
    bytes: Vec<u8>,
    sizes: Vec<usize>,
    limit: usize,
    mut each: impl FnMut(RxJsonRpcMessage<RoleServer>),
    output: Arc<Mutex<Vec<u8>>>,
) {
    let input = Chunks { bytes, at: 0, sizes, next: 0 };
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let limits = Limits::default().with(Limit::Line, limit as u64);
            let mut lines = LineTransport::new(input, Output(output), limits);
            while let Some(message) = lines.receive().await {
                let id = match &message {
                    JsonRpcMessage::Request(request) => Some(request.id.clone()),
                    _ => None,
                };
                each(message);
                if id.is_some() {
                    let done = ErrorData::new(ErrorCode(DONE), "", None);
                    lines.send(JsonRpcMessage::error(done, id)).await.expect("the output takes everything");
                }
            }
            lines.close().await.expect("the output takes everything");
        });
    });
}

/// Checks what a line by itself must have come to, where a plain JSON parser can say so.
fn check_line(line: &[u8], limit: usize, alone: &Session) {
    assert!(alone.messages.len() <= 1 && alone.answers.len() <= MAX_REFUSED);
    assert!(alone.messages.is_empty() || alone.answers.is_empty(), "{alone:?}");
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for answer in &alone.answers {
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(matches!(answer["error"]["code"].as_i64(), Some(-32600 | -32700)), "{answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|message| message.len() < 400), "{answer}");
        *refused.entry(answer["id"].to_string()).or_default() += 1;
    }
    let line = if line.len() > limit { line } else { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) };
    if line.iter().all(u8::is_ascii_whitespace) {
        assert!(alone.messages.is_empty() && alone.answers.is_empty());
        return;
    }
    // These the server reads in its own way: without their arguments, or with a number that a double holds.
    let is_deep = weigh(line).depth > DEEPEST;
    let is_beyond = serde_json::from_slice::<Value>(line)
        .is_err_and(|error| error.to_string().starts_with("number out of range"));
    if line.len() <= limit && (is_deep || is_beyond) {
        return;
    }
    let message = std::str::from_utf8(line)
        .ok()
        .and_then(|text| serde_json::from_str::<RxJsonRpcMessage<RoleServer>>(text).ok());
    if let Some(message) = message.filter(|_| line.len() <= limit) {
        assert_eq!(alone.messages, [serde_json::to_value(&message).expect("a message is JSON")]);
        return;
    }
    assert!(alone.messages.is_empty(), "{alone:?}");
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return };
    if line.len() > SHORT {
        return;
    }
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    let batch = match &value {
        Value::Array(items) => items.iter().collect(),
        other => vec![other],
    };
    for id in batch.into_iter().filter_map(request_id).take(MAX_REFUSED) {
        *wanted.entry(id.to_string()).or_default() += 1;
    }
    assert_eq!(refused, wanted, "{}", String::from_utf8_lossy(line));
}

/// Returns the id of what looks like a request; null for one that no request can have.
fn request_id(value: &Value) -> Option<Value> {
    let message = value.as_object()?;
    message.get("method")?;
    let id = serde_json::from_value::<RequestId>(message.get("id")?.clone());
    Some(id.map_or(Value::Null, RequestId::into_json_value))
}

/// An input that comes in chunks of these sizes, over and over; 0 is a moment in which nothing comes.
struct Chunks {
    bytes: Vec<u8>,
    at: usize,
    sizes: Vec<usize>,
    next: usize,
}

impl AsyncRead for Chunks {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let size = self.sizes[self.next % self.sizes.len()];
        self.next += 1;
        if size == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let many = size.min(buffer.remaining()).min(self.bytes.len() - self.at);
        buffer.put_slice(&self.bytes[self.at..self.at + many]);
        self.at += many;
        Poll::Ready(Ok(()))
    }
}

/// Keeps what is written, and takes it in pieces.
struct Output(Arc<Mutex<Vec<u8>>>);

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let many = bytes.len().min(100);
        self.0.lock().expect("nobody panicked").extend_from_slice(&bytes[..many]);
        Poll::Ready(Ok(many))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
