//! The SDK's transport over a pair of streams: the messages of a session, each on a line.
//!
//! A single task writes all answers, so they never mix, and answers that are ready at the same time are
//! written together. The bytes of requests in work and of unwritten answers are counted. While they are too
//! many, no more input is read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::{fmt, io};

use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, GetExtensions as _, JsonRpcMessage, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufRead as _, AsyncRead, AsyncWrite, BufReader};

use super::line::{self, Framer, ReadLine};
use super::second::SecondThread;
use super::shared::Shared;
use crate::context::Withdrawal;
use crate::limits::{Limit, Limits};
use crate::protocol::at_hand::Begun;
use crate::protocol::server::Server;
use crate::transport::plain_call;

type Message = RxJsonRpcMessage<RoleServer>;

/// The number of bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// The number of calls that this task answers in a row before other tasks run, such as the writer of answers.
const IN_A_ROW: u32 = 32;

/// The minimum length of the input that waits behind a call, as a multiple of the length of the call's line,
/// for the call to be given to the second thread: waking the thread takes as long as some calls.
const MANY: usize = 16;

/// The time that the last answers may stay unread, once the input has ended and all requests have been
/// handled.
pub(super) const UNREAD: Duration = Duration::from_secs(30);

/// A transport of one message per line.
///
/// The transport reports the end of input to the SDK only when every received request has been handled,
/// however long the requests take, because the SDK would give them only five seconds. A closed output counts
/// as the end of input, too.
pub struct LineTransport<R> {
    input: BufReader<R>,
    framer: Framer,
    limits: Limits,
    ended: bool,
    shared: Arc<Shared>,
    /// The server that answers the calls whose results are at hand: small reads of cached files. The
    /// transport ends the server at the end of input.
    server: Option<Server>,
    /// The client's name from the `initialize` request, until the request is answered.
    client: Option<String>,
    /// The facts from the beginning of the session; `None` until `initialize` is answered.
    begun: Option<Arc<Begun>>,
    /// The thread that answers some of the calls while many wait; `None` until it is needed, `Err` if it
    /// cannot start.
    second: Option<Result<SecondThread, ()>>,
    /// The number of calls that this task has answered since other tasks last ran.
    in_a_row: u32,
}

impl<R: AsyncRead + Unpin> LineTransport<R> {
    /// Makes a transport with these limits. Must be called within a runtime, because it starts the task that
    /// writes.
    pub fn new(input: R, output: impl AsyncWrite + Send + Unpin + 'static, limits: Limits) -> Self {
        let shared = Arc::new(Shared::default());
        let writing = Arc::clone(&shared);
        tokio::spawn(async move {
            let result = writing.write(output, UNREAD).await;
            writing.end_writing(&result);
        });
        let input = BufReader::with_capacity(CHUNK, input);
        let framer = Framer::new(limits.size(Limit::Line));
        Self {
            input,
            framer,
            limits,
            ended: false,
            shared,
            server: None,
            client: None,
            begun: None,
            second: None,
            in_a_row: 0,
        }
    }

    /// Makes the transport answer the calls whose results are at hand with `server`, and pass only other
    /// messages on to the SDK.
    #[must_use]
    pub fn answering_at_hand(mut self, server: Server) -> Self {
        self.server = Some(server);
        self
    }

    /// Waits until everything is written and the session has ended. Returns the error of writing, if there
    /// was one. The future may be awaited after the transport is dropped.
    pub fn written(&self) -> impl Future<Output = io::Result<()>> + use<R> {
        let shared = Arc::clone(&self.shared);
        std::future::poll_fn(move |cx| shared.poll_written(cx))
    }

    /// Gives an answer to the writer.
    fn answer(&self, answer: TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        self.shared.put(|answers| plain_call::write(answer, answers))
    }

    /// Reads the next message. The SDK drops the future that calls this whenever it has other work, so all
    /// state is in `self`.
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        loop {
            if self.in_a_row >= IN_A_ROW {
                self.in_a_row = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let room = self.shared.poll_room(&mut self.ended, cx);
            if let (true, Some(server)) = (self.ended, &self.server) {
                server.end();
            }
            if let Some(message) = self.second.as_ref().and_then(|_| self.shared.take_left()) {
                return Poll::Ready(Some(message));
            }
            ready!(room);
            if self.ended {
                return Poll::Ready(None);
            }
            let limits = &self.limits;
            let mut many_wait = false;
            let read = match ready!(Pin::new(&mut self.input).poll_fill_buf(cx)) {
                Ok([]) => {
                    self.ended = true;
                    self.framer.finish(|line| line::read(line, limits))
                }
                Ok(chunk) => {
                    let (taken, read) = self.framer.take(chunk, |line| line::read(line, limits));
                    many_wait = (chunk.len() - taken) / MANY >= taken;
                    Pin::new(&mut self.input).consume(taken);
                    read
                }
                Err(error) => {
                    // A socket reports `ConnectionReset` if its other end was closed before all answers were
                    // read.
                    if error.kind() != io::ErrorKind::ConnectionReset {
                        tracing::error!(%error, "reading the input failed");
                    }
                    self.ended = true;
                    None
                }
            };
            match read {
                Some(ReadLine::Message { message, takes }) => {
                    if let Some(message) = self.admit(message, takes, many_wait) {
                        return Poll::Ready(Some(message));
                    }
                }
                Some(ReadLine::Error(ids, error)) => {
                    for id in ids {
                        self.shared.answer_error(id.as_ref(), &error);
                    }
                }
                Some(ReadLine::Nothing) | None => {}
            }
        }
    }

    /// Answers a call whose result is at hand, or gives the call to the second thread if much input waits.
    /// Records each request that this function does not answer. If the message cancels a request, marks the
    /// request as cancelled. Returns the message if the SDK must handle it. The SDK alone would serve two
    /// requests with the same id, and would drop the answer to a cancelled request.
    fn admit(&mut self, mut message: Message, takes: usize, many_wait: bool) -> Option<Message> {
        let is_given = many_wait && self.is_for_second(&message);
        match &mut message {
            JsonRpcMessage::Request(request) => {
                if !is_given
                    && let Some(server) = &self.server
                    && !self.shared.is_unanswered(&request.id)
                    && let Some(result) = server.answer_at_hand(&request.request, self.begun.as_deref())
                {
                    self.in_a_row += 1;
                    // An error here is ignored: the writer's own error ends the session.
                    let _ = self.answer(JsonRpcMessage::response(result, request.id.clone()));
                    return None;
                }
                let withdrawal = Withdrawal::default();
                let is_initialize = if let ClientRequest::InitializeRequest(begins) = &request.request {
                    self.client = Some(begins.params.client_info.name.clone());
                    true
                } else {
                    false
                };
                if !self.shared.begin(&request.id, &withdrawal, is_initialize) {
                    let error = ErrorData::invalid_request(
                        "a request with this id is in work: each needs an id of its own; this one was not carried out",
                        None,
                    );
                    self.shared.answer_error(Some(&request.id), &error);
                    return None;
                }
                let extensions = request.request.extensions_mut();
                extensions.insert(withdrawal);
                extensions.insert(self.shared.share(takes));
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                    && self.shared.withdraw(id)
                {
                    return None;
                }
            }
            _ => {}
        }
        match &self.second {
            Some(Ok(second)) if is_given => second.give(message, self.begun.clone()),
            _ => Some(message),
        }
    }

    /// Tells whether the second thread can answer this message, and has room for it. Starts the thread when
    /// it is first needed.
    fn is_for_second(&mut self, message: &Message) -> bool {
        let (JsonRpcMessage::Request(request), Some(server)) = (message, &self.server) else { return false };
        if !server.can_be_at_hand(&request.request, self.begun.as_deref()) {
            return false;
        }
        let start = || {
            let started = SecondThread::start(server.clone(), Arc::clone(&self.shared));
            started
                .inspect_err(|error| tracing::debug!(%error, "calls are answered by one thread"))
                .map_err(drop)
        };
        self.second.get_or_insert_with(start).as_ref().is_ok_and(SecondThread::has_room)
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    /// Sends without waiting. Unwritten answers count towards the bound beyond which no more input is read.
    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let JsonRpcMessage::Response(answer) = &item
            && let ServerResult::InitializeResult(agreed) = &answer.result
        {
            let (revision, client) = (agreed.protocol_version.clone(), self.client.take());
            self.begun = Some(Arc::new(Begun { revision, client }));
        }
        let is_wanted = self.shared.ends(&item);
        std::future::ready(if is_wanted { self.answer(item) } else { Ok(()) })
    }

    async fn receive(&mut self) -> Option<Message> {
        std::future::poll_fn(|cx| self.poll_message(cx)).await
    }

    /// Waits until everything is written.
    async fn close(&mut self) -> io::Result<()> {
        self.shared.close();
        self.written().await
    }
}

impl<R> Drop for LineTransport<R> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<R> fmt::Debug for LineTransport<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("limits", &self.limits)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;

    use tokio::io::AsyncReadExt as _;

    use super::super::shared::MAX_HELD;
    use super::*;
    use crate::transport::now;

    fn on_a_runtime(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
    }

    fn short(bytes: u64) -> Limits {
        Limits::default().with(Limit::Line, bytes)
    }

    fn pings(many: usize) -> Vec<u8> {
        (0..many)
            .flat_map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n").into_bytes())
            .collect()
    }

    #[test]
    fn reading_waits_while_too_much_is_in_work() {
        on_a_runtime(async {
            let input = pings(2_000);
            let mut lines = LineTransport::new(&input[..], tokio::io::sink(), short(100));
            let mut in_work = Vec::new();
            while let Some(message) = now(lines.receive()) {
                in_work.push(message.unwrap());
            }
            assert!(in_work.len() <= MAX_HELD / line::REQUEST && in_work.len() > 1_000, "{}", in_work.len());
            in_work.pop();
            assert!(now(lines.receive()).is_some(), "one is done, so one is read");
            in_work.clear();
            // The end of input is reported after the requests in work have been handled.
            let mut left = Vec::new();
            while let Some(message) = now(lines.receive()) {
                left.push(message.unwrap());
            }
            assert!(!left.is_empty());
            left.clear();
            assert!(matches!(now(lines.receive()), Some(None)), "the end of input");
        });
    }

    #[test]
    fn reading_waits_while_answers_are_unread() {
        on_a_runtime(async {
            let line = format!("{{\"method\":\"x\",\"id\":\"{}\"}}\n", "i".repeat(1_000)).repeat(70_000);
            // Nobody reads the other end.
            let (_far, output) = tokio::io::duplex(10);
            let mut lines = LineTransport::new(line.as_bytes(), output, short(2_000));
            assert!(now(lines.receive()).is_none());
            let held = lines.shared.lock().held;
            assert!((MAX_HELD..MAX_HELD + 2_000).contains(&held), "{held}");
        });
    }

    #[test]
    fn at_the_end_an_output_that_nobody_reads_is_given_up() {
        on_a_runtime(async {
            let (mut far, output) = tokio::io::duplex(10);
            let shared = Arc::new(Shared::default());
            shared.put(|answers| serde_json::to_writer(answers, &"a".repeat(90))).unwrap();
            let writing = Arc::clone(&shared);
            let patience = Duration::from_millis(50);
            let mut writing = pin!(async move { writing.write(output, patience).await });
            // As long as more answers can come, the write waits.
            assert!(tokio::time::timeout(4 * patience, writing.as_mut()).await.is_err());
            shared.close();
            let mut some = [0; 30];
            let (read, written) = tokio::join!(far.read_exact(&mut some), writing);
            assert_eq!((read.unwrap(), written.unwrap_err().kind()), (30, io::ErrorKind::TimedOut));
        });
    }

    #[test]
    fn an_output_that_is_gone_ends_the_input() {
        on_a_runtime(async {
            let (near, output) = tokio::io::duplex(10);
            let (input, _open) = tokio::io::duplex(1_000);
            drop(near);
            let mut lines = LineTransport::new(input, output, short(100));
            lines.answer(JsonRpcMessage::error(rmcp::ErrorData::internal_error("x", None), None)).unwrap();
            assert!(lines.receive().await.is_none());
            assert_eq!(lines.close().await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        });
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
    fn each_of_many_calls_is_answered_once_or_left_to_the_session() {
        use mcp_text_editor_store::WorkspaceBuilder;
        use rmcp::model::{ProtocolVersion, RequestId};
        use serde_json::{Map, Value, json};

        use crate::config::Config;
        use crate::context::{Cancel, Context};
        use crate::tools;

        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::write(root.join("known"), "one\n").unwrap();
        std::fs::write(root.join("unknown"), "two\n").unwrap();
        // A file that has just changed is not cached.
        std::thread::sleep(Duration::from_millis(60));
        let workspace = WorkspaceBuilder::default().root(&root).build().unwrap();
        let server = Server::new(Context::new(Config::default(), workspace));
        let get = tools::ALL.iter().find(|tool| tool.name() == "get_text_file_contents").unwrap();
        let arguments = |name: &str| json!({"file_path": root.join(name)});
        let known: Map<String, Value> = serde_json::from_value(arguments("known")).unwrap();
        (get.run)(server.context(), known.clone(), &Cancel::never()).unwrap();
        if !tools::read::is_at_hand(server.context(), &known) {
            eprintln!("skipped: the temporary directory is not on a file system that is known to be local");
            return;
        }
        let call = |id: usize| {
            let name = if id % 7 == 3 { "unknown" } else { "known" };
            let params = json!({"name": get.name(), "arguments": arguments(name)});
            format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
        };
        let input: String = (0..300).map(call).collect();
        on_a_runtime(async {
            let (mut far, output) = tokio::io::duplex(1 << 20);
            let mut lines = LineTransport::new(input.as_bytes(), output, Limits::default())
                .answering_at_hand(server.clone());
            let revision = ProtocolVersion::V_2025_06_18;
            lines.begun = Some(Arc::new(Begun { revision, client: None }));
            let mut left = Vec::new();
            while let Some(message) = lines.receive().await {
                let JsonRpcMessage::Request(request) = &message else { unreachable!() };
                let RequestId::Number(id) = request.id else { unreachable!() };
                left.push(id);
            }
            if std::thread::available_parallelism().unwrap().get() > 1 {
                assert!(matches!(lines.second, Some(Ok(_))), "one thread did it all");
            }
            lines.close().await.unwrap();
            let mut answers = String::new();
            far.read_to_string(&mut answers).await.unwrap();
            let answered = answers.lines().map(|line| {
                let answer: Value = serde_json::from_str(line).unwrap();
                assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("one"), "{answer}");
                answer["id"].as_i64().unwrap()
            });
            let answered: Vec<i64> = answered.collect();
            assert!(!answered.is_empty());
            // On a busy machine, the read of the known file can take longer than the limit, so it is passed
            // on, too.
            let unknown: Vec<i64> = (0..300).filter(|id| id % 7 == 3).collect();
            assert!(unknown.iter().all(|id| left.contains(id)), "{left:?}");
            let mut all = [left, answered].concat();
            all.sort_unstable();
            assert_eq!(all, (0..300).collect::<Vec<i64>>());
        });
    }
}
