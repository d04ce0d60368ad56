//! Runs a second thread. While many calls wait in the input, the thread answers some of the calls whose
//! results are at hand: small reads of cached files (`protocol::at_hand`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SendError, Sender};
use std::{io, thread};

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::RxJsonRpcMessage;

use super::shared::Shared;
use crate::protocol::at_hand::Begun;
use crate::protocol::server::Server;
use crate::transport::plain_call;

/// The maximum number of calls that may wait for the thread: enough to keep the thread busy, and so few that
/// both threads run out of work at about the same time.
const ROOM: usize = 8;

/// A request that [`Shared::begin`] has recorded, and the facts from the beginning of its session.
type Task = (RxJsonRpcMessage<RoleServer>, Option<Arc<Begun>>);

/// The handle of the thread. Once the handle is dropped, the thread answers the calls that still wait, and
/// ends.
#[derive(Debug)]
pub(super) struct SecondThread {
    sender: Sender<Task>,
    waiting: Arc<AtomicUsize>,
}

impl SecondThread {
    /// Starts the thread. Fails if this process has only one processor, or cannot start a thread.
    pub(super) fn start(server: Server, shared: Arc<Shared>) -> io::Result<Self> {
        if thread::available_parallelism()?.get() == 1 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (sender, receiver) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&waiting);
        thread::Builder::new()
            .name("reads".to_owned())
            .spawn(move || work(&server, &shared, &receiver, &count))?;
        Ok(Self { sender, waiting })
    }

    /// Tells whether one more call may wait for the thread.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < ROOM
    }

    /// Gives the thread a request that [`Shared::begin`] has recorded. The thread passes the request to
    /// [`Shared::leave`] if the result is not at hand. Returns the request to the caller if the thread has
    /// ended.
    pub(super) fn give(
        &self,
        message: RxJsonRpcMessage<RoleServer>,
        begun: Option<Arc<Begun>>,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.sender.send((message, begun)).err().map(|SendError((message, _))| message)
    }
}

/// Answers requests until the sender is dropped and no request waits.
fn work(server: &Server, shared: &Shared, receiver: &Receiver<Task>, waiting: &AtomicUsize) {
    while let Ok((message, begun)) = receiver.recv() {
        waiting.fetch_sub(1, Ordering::Relaxed);
        let JsonRpcMessage::Request(request) = &message else { continue };
        match server.answer_at_hand(&request.request, begun.as_deref()) {
            Some(result) => {
                let answer = JsonRpcMessage::response(result, request.id.clone());
                if shared.ends(&answer) {
                    // An error here is ignored: the writer's own error ends the session.
                    let _ = shared.put(|answers| plain_call::write(answer, answers));
                }
            }
            None => shared.leave(message),
        }
    }
}
