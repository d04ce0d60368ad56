//! The SDK's way to a pair of streams: the messages of a session, each on a line.
//!
//! One task writes, so that answers never mix and those that are ready together are written together. Requests that
//! are taken in and not yet answered are counted; while they are too much, no more is read.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, GetExtensions as _, JsonRpcMessage, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::json;
use tokio::io::{AsyncBufRead as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use super::frame::Framer;
use super::line::{self, Read};
use crate::context::Withdrawal;
use crate::limits::{Limit, Limits};

type Message = RxJsonRpcMessage<RoleServer>;

/// How much is read at once.
const CHUNK: usize = 1 << 16;

/// Reading waits while the lines of requests in work and the answers that wait to be written are more than this.
const MAX_HELD: usize = 64 << 20;

/// A buffer of answers that has grown beyond this is freed.
const KEPT: usize = 1 << 20;

/// How long the last answers may stay unread, once the input has ended and all requests have been handled.
pub(super) const UNREAD: Duration = Duration::from_secs(30);

/// A transport of one message a line.
///
/// The end of input comes only when every request that was received has been handled, however long that takes: the
/// SDK by itself gives them five seconds. An output that nobody reads any more is the end of input, too.
pub struct Lines<R> {
    input: BufReader<R>,
    framer: Framer,
    limits: Limits,
    ended: bool,
    shared: Arc<Shared>,
}

/// The state that the reader, the writer and the requests in work share.
#[derive(Debug, Default)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// How many requests are in work.
    requests: usize,
    /// The requests that are not answered yet.
    unanswered: HashMap<RequestId, Withdrawal>,
    /// The `initialize` among them. What comes behind it waits, because it decides how that is answered.
    initializing: Option<RequestId>,
    /// How many bytes are in work or wait to be written.
    held: usize,
    /// Answers that are not being written yet.
    answers: Vec<u8>,
    /// Whether no more answers come.
    closed: bool,
    /// Set when the writer has ended, with the error that ended it.
    written: Option<Result<(), io::ErrorKind>>,
    reader: Option<Waker>,
    writer: Option<Waker>,
    end: Option<Waker>,
}

/// The mark that a request in work carries in its extensions, which live until its handler is done.
#[derive(Clone)]
struct InWork(#[expect(dead_code, reason = "held only to be dropped")] Arc<Share>);

struct Share {
    shared: Arc<Shared>,
    held: usize,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.requests -= 1;
        state.held -= self.held;
        wake(&mut state.reader);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No state is left half changed under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a request. Returns false if one with its id is not answered yet, because nobody could tell the
    /// two answers apart.
    fn begin(&self, id: &RequestId, withdrawal: &Withdrawal, is_initialize: bool) -> bool {
        let mut state = self.lock();
        if state.unanswered.contains_key(id) {
            return false;
        }
        state.unanswered.insert(id.clone(), withdrawal.clone());
        if is_initialize {
            state.initializing = Some(id.clone());
        }
        true
    }

    /// Tells the work on a request that its answer is not wanted any more. Returns false if there is no such request.
    fn withdraw(&self, id: &RequestId) -> bool {
        let state = self.lock();
        let withdrawal = state.unanswered.get(id);
        withdrawal.inspect(|withdrawal| withdrawal.withdraw()).is_some()
    }

    /// Notes that a request is answered. Returns whether the answer is to be written: that of a request which stopped
    /// because it was withdrawn is not.
    fn ends(&self, answer: &TxJsonRpcMessage<RoleServer>) -> bool {
        let id = match answer {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let withdrawal = id.and_then(|id| {
            let mut state = self.lock();
            if state.initializing.as_ref() == Some(id) {
                state.initializing = None;
                wake(&mut state.reader);
            }
            state.unanswered.remove(id)
        });
        !withdrawal.is_some_and(|withdrawal| withdrawal.is_heeded())
    }

    /// Gives an answer to the writer.
    fn answer(&self, answer: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        self.put(|answers| serde_json::to_writer(answers, answer))
    }

    /// Answers a request with an error; without an id one whose own cannot be read. JSON-RPC 2.0 (section 5) then has
    /// null as the id, where the SDK, like the revision of 2026-07-28, leaves it out.
    fn answer_error(&self, id: Option<&RequestId>, error: &ErrorData) {
        let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
        // An error of writing ends the session in the next round.
        let _ = self.put(|answers| serde_json::to_writer(answers, &answer));
    }

    fn put(&self, write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(written) = state.written {
            return Err(written.err().unwrap_or(io::ErrorKind::NotConnected).into());
        }
        let before = state.answers.len();
        if let Err(error) = write(&mut state.answers) {
            state.answers.truncate(before);
            return Err(error.into());
        }
        state.answers.push(b'\n');
        state.held += state.answers.len() - before;
        wake(&mut state.writer);
        Ok(())
    }

    /// Takes all answers that are there, and leaves an empty buffer for the next. Returns `None` when no more come.
    fn poll_answers(&self, empty: &mut Vec<u8>, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let mut state = self.lock();
        if !state.answers.is_empty() {
            return Poll::Ready(Some(std::mem::replace(&mut state.answers, std::mem::take(empty))));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        set(&mut state.writer, cx);
        Poll::Pending
    }

    /// Writes all answers. Once no more come, an output of which nobody reads anything for this time is given up.
    async fn write(&self, mut output: impl AsyncWrite + Unpin, patience: Duration) -> io::Result<()> {
        let mut buffer = Vec::new();
        while let Some(answers) = std::future::poll_fn(|cx| self.poll_answers(&mut buffer, cx)).await {
            let mut rest = &*answers;
            while !rest.is_empty() {
                let written = self.unless_unread(patience, output.write(rest)).await?;
                rest = rest.get(written..).filter(|_| written > 0).ok_or(io::ErrorKind::WriteZero)?;
            }
            self.unless_unread(patience, output.flush()).await?;
            let mut state = self.lock();
            state.held -= answers.len();
            wake(&mut state.reader);
            drop(state);
            if answers.capacity() <= KEPT {
                buffer = answers;
                buffer.clear();
            }
        }
        output.shutdown().await
    }

    /// Does a part of the writing, unless it takes too long after the end.
    async fn unless_unread<T>(
        &self,
        patience: Duration,
        part: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        let unread = async {
            std::future::poll_fn(|cx| self.poll_closed(cx)).await;
            tokio::time::sleep(patience).await;
        };
        tokio::select! {
            biased;
            done = part => done,
            () = unread => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.closed {
            return Poll::Ready(());
        }
        set(&mut state.writer, cx);
        Poll::Pending
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        wake(&mut state.writer);
    }

    fn end_writing(&self, result: &io::Result<()>) {
        let mut state = self.lock();
        state.written = Some(result.as_ref().map_err(io::Error::kind).copied());
        state.answers = Vec::new();
        wake(&mut state.reader);
        wake(&mut state.end);
    }

    fn poll_written(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.lock();
        if let Some(written) = state.written {
            return Poll::Ready(written.map_err(io::Error::from));
        }
        set(&mut state.end, cx);
        Poll::Pending
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

fn set(waker: &mut Option<Waker>, cx: &Context<'_>) {
    match waker {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *waker = Some(cx.waker().clone()),
    }
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Makes a transport of lines within these limits. Starts a task that writes, so it must be called within a
    /// runtime.
    pub fn new(input: R, output: impl AsyncWrite + Send + Unpin + 'static, limits: Limits) -> Self {
        let shared = Arc::new(Shared::default());
        let writing = Arc::clone(&shared);
        tokio::spawn(async move {
            let result = writing.write(output, UNREAD).await;
            writing.end_writing(&result);
        });
        let input = BufReader::with_capacity(CHUNK, input);
        let framer = Framer::new(limits.size(Limit::Line));
        Self { input, framer, limits, ended: false, shared }
    }

    /// Waits until all is written and the session has ended. Returns the error that kept it from being written. It
    /// must be called while the transport exists, and waited for after it.
    pub fn written(&self) -> impl Future<Output = io::Result<()>> + use<R> {
        let shared = Arc::clone(&self.shared);
        std::future::poll_fn(move |cx| shared.poll_written(cx))
    }

    /// Reads the next message. The SDK drops the future that calls this whenever it has something else to do, so no
    /// state is kept outside `self`.
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        loop {
            {
                let mut state = self.shared.lock();
                self.ended |= state.written.is_some();
                let wait = if self.ended {
                    state.requests > 0
                } else {
                    state.held >= MAX_HELD || state.initializing.is_some()
                };
                if wait || !self.ended {
                    set(&mut state.reader, cx);
                }
                if wait {
                    return Poll::Pending;
                }
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let limits = &self.limits;
            let read = match ready!(Pin::new(&mut self.input).poll_fill_buf(cx)) {
                Ok([]) => {
                    self.ended = true;
                    self.framer.finish(|line| line::read(line, limits))
                }
                Ok(chunk) => {
                    let (taken, read) = self.framer.take(chunk, |line| line::read(line, limits));
                    Pin::new(&mut self.input).consume(taken);
                    read
                }
                Err(error) => {
                    // A socket reports this if its other end was closed before all answers were read.
                    if error.kind() != io::ErrorKind::ConnectionReset {
                        tracing::error!(%error, "reading the input failed");
                    }
                    self.ended = true;
                    None
                }
            };
            match read {
                Some(Read::Message { message, takes }) => {
                    if let Some(message) = self.admit(message, takes) {
                        return Poll::Ready(Some(message));
                    }
                }
                Some(Read::Error(ids, error)) => {
                    for id in ids {
                        self.shared.answer_error(id.as_ref(), &error);
                    }
                }
                Some(Read::Nothing) | None => {}
            }
        }
    }

    /// Takes note of a request, and tells the work on a withdrawn one. Returns what is left for the SDK, which by
    /// itself would serve two requests with one id, and would drop the answer to a withdrawn one.
    fn admit(&self, mut message: Message, takes: usize) -> Option<Message> {
        match &mut message {
            JsonRpcMessage::Request(request) => {
                let withdrawal = Withdrawal::default();
                let is_initialize = matches!(request.request, ClientRequest::InitializeRequest(_));
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
                extensions.insert(self.share(takes));
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
        Some(message)
    }

    fn share(&self, held: usize) -> InWork {
        let mut state = self.shared.lock();
        state.requests += 1;
        state.held += held;
        InWork(Arc::new(Share { shared: Arc::clone(&self.shared), held }))
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    /// Never waits. What is not written yet counts against what may be read.
    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let is_wanted = self.shared.ends(&item);
        std::future::ready(if is_wanted { self.shared.answer(&item) } else { Ok(()) })
    }

    async fn receive(&mut self) -> Option<Message> {
        std::future::poll_fn(|cx| self.poll_message(cx)).await
    }

    /// Waits until all is written.
    async fn close(&mut self) -> io::Result<()> {
        self.shared.close();
        self.written().await
    }
}

impl<R> Drop for Lines<R> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<R> fmt::Debug for Lines<R> {
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
            let mut lines = Lines::new(&input[..], tokio::io::sink(), short(100));
            let mut in_work = Vec::new();
            while let Some(message) = now(lines.receive()) {
                in_work.push(message.unwrap());
            }
            assert!(in_work.len() <= MAX_HELD / line::REQUEST && in_work.len() > 1_000, "{}", in_work.len());
            in_work.pop();
            assert!(now(lines.receive()).is_some(), "one is done, so one is read");
            in_work.clear();
            // The end of input waits for what is in work.
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
            let mut lines = Lines::new(line.as_bytes(), output, short(2_000));
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
            // As long as more can come, it waits.
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
            let mut lines = Lines::new(input, output, short(100));
            lines
                .shared
                .answer(&JsonRpcMessage::error(rmcp::ErrorData::internal_error("x", None), None))
                .unwrap();
            assert!(lines.receive().await.is_none());
            assert_eq!(lines.close().await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        });
    }
}
