//! Holds the data that the reader, the writer and the requests of a session share: the requests in work, and
//! the answers that wait to be written.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde_json::json;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use crate::context::Withdrawal;

/// The bound on the bytes of requests in work and of answers that wait to be written. At this bound, the
/// transport reads no more input.
pub(super) const MAX_HELD: usize = 64 << 20;

/// The maximum capacity, in bytes, of a buffer of answers that is reused: enough for a file of 1 MiB. Buffers
/// are reused because the first use of new memory takes as long as the write to the output.
const KEPT: usize = 4 << 20;

/// The state that the reader, the writer and the requests in work share.
#[derive(Debug, Default)]
pub(super) struct Shared(Mutex<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    /// The number of requests in work.
    requests: usize,
    /// The requests that are not answered yet, each with the state of its cancellation.
    unanswered: HashMap<RequestId, Withdrawal>,
    /// The id of the `initialize` request while the request is unanswered. Later messages wait, because the
    /// `initialize` decides how they are answered.
    initializing: Option<RequestId>,
    /// The number of bytes of requests in work and of answers that wait to be written.
    pub(super) held: usize,
    /// Requests in work that the second thread (`second.rs`) has passed on to the session.
    left: VecDeque<RxJsonRpcMessage<RoleServer>>,
    /// Answers that are not being written yet.
    answers: Vec<u8>,
    /// Whether no more answers will come.
    closed: bool,
    /// The result of the writer, once it has ended.
    written: Option<Result<(), io::ErrorKind>>,
    reader: Option<Waker>,
    writer: Option<Waker>,
    end: Option<Waker>,
}

/// A guard that counts a request as in work until the guard is dropped. The request has the guard among its
/// extensions, which live until the handler has ended.
#[derive(Clone)]
pub(super) struct InWork(#[expect(dead_code, reason = "held only to be dropped")] Arc<Share>);

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
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while this lock is held leaves no half-made change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request. Returns false, and records nothing, if another request with the same id is not
    /// answered yet: the client could not distinguish the two answers.
    pub(super) fn begin(&self, id: &RequestId, withdrawal: &Withdrawal, is_initialize: bool) -> bool {
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

    /// Tells whether a request with this id is not answered yet.
    pub(super) fn is_unanswered(&self, id: &RequestId) -> bool {
        self.lock().unanswered.contains_key(id)
    }

    /// Counts a request as in work, with the bytes that it holds, until the returned value is dropped.
    pub(super) fn share(self: &Arc<Self>, held: usize) -> InWork {
        let mut state = self.lock();
        state.requests += 1;
        state.held += held;
        InWork(Arc::new(Share { shared: Arc::clone(self), held }))
    }

    /// Waits until more input may be read: until fewer than [`MAX_HELD`] bytes are held, and no `initialize`
    /// is unanswered. After the end of input, waits until every request has been handled. The end of the
    /// writer, whose output is then closed, counts as the end of input, too.
    pub(super) fn poll_room(&self, ended: &mut bool, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        *ended |= state.written.is_some();
        let wait =
            if *ended { state.requests > 0 } else { state.held >= MAX_HELD || state.initializing.is_some() };
        if wait || !*ended {
            set(&mut state.reader, cx);
        }
        if wait { Poll::Pending } else { Poll::Ready(()) }
    }

    /// Passes a request in work, whose result was not at hand, on to the session.
    pub(super) fn leave(&self, message: RxJsonRpcMessage<RoleServer>) {
        let mut state = self.lock();
        state.left.push_back(message);
        wake(&mut state.reader);
    }

    /// Takes a request that was passed on to the session.
    pub(super) fn take_left(&self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.lock().left.pop_front()
    }

    /// Marks a request as cancelled by its client. Returns false if no unanswered request has this id.
    pub(super) fn withdraw(&self, id: &RequestId) -> bool {
        let state = self.lock();
        let withdrawal = state.unanswered.get(id);
        withdrawal.inspect(|withdrawal| withdrawal.withdraw()).is_some()
    }

    /// Records that a request is answered. Returns false if the answer must not be written, because the work
    /// has stopped after the client cancelled the request.
    pub(super) fn ends(&self, answer: &TxJsonRpcMessage<RoleServer>) -> bool {
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
        !withdrawal.is_some_and(|withdrawal| withdrawal.is_acknowledged())
    }

    /// Answers a request with an error. If `id` is `None`, the answer has null as its id (JSON-RPC 2.0,
    /// section 5). The SDK and revision 2026-07-28 of MCP would leave the id out.
    pub(super) fn answer_error(&self, id: Option<&RequestId>, error: &ErrorData) {
        let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
        // An error here is ignored: the writer's own error ends the session.
        let _ = self.put(|answers| serde_json::to_writer(answers, &answer));
    }

    /// Gives an answer to the writer: `write` appends the answer, as JSON on one line.
    pub(super) fn put(&self, write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) -> io::Result<()> {
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

    /// Takes all waiting answers, and leaves an empty buffer for the next ones. Returns `None` once no more
    /// answers can come.
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

    /// Writes all answers. Once no more answers can come, fails if nobody reads from the output for the time
    /// `patience`.
    pub(super) async fn write(
        &self,
        mut output: impl AsyncWrite + Unpin,
        patience: Duration,
    ) -> io::Result<()> {
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

    /// Does one step of writing. Fails if the step takes longer than `patience` once no more answers can
    /// come.
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

    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        wake(&mut state.writer);
    }

    pub(super) fn end_writing(&self, result: &io::Result<()>) {
        let mut state = self.lock();
        state.written = Some(result.as_ref().map_err(io::Error::kind).copied());
        state.answers = Vec::new();
        wake(&mut state.reader);
        wake(&mut state.end);
    }

    pub(super) fn poll_written(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
