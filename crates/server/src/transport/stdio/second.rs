//! A second thread that answers calls whose results are at hand, while others wait in the input.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SendError, Sender};
use std::thread;

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::RxJsonRpcMessage;

use super::shared::Shared;
use crate::protocol::at_hand::Begun;
use crate::protocol::server::Server;
use crate::transport::answer;

/// The most calls that wait for the thread: enough that it need not wait for the next one, and so few that
/// both threads end together.
const ROOM: usize = 8;

/// A request that was noted as begun, and the beginning of its session.
type Given = (RxJsonRpcMessage<RoleServer>, Option<Arc<Begun>>);

/// The thread, which ends when this is dropped and it has answered what it was given.
#[derive(Debug)]
pub(super) struct SecondThread {
    given: Sender<Given>,
    waiting: Arc<AtomicUsize>,
}

impl SecondThread {
    /// Starts it. Fails if the machine has one processor only, or cannot start a thread.
    pub(super) fn start(server: Server, shared: Arc<Shared>) -> io::Result<Self> {
        if thread::available_parallelism()?.get() == 1 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (given, taken) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        thread::Builder::new()
            .name("reads".to_owned())
            .spawn(move || work(&server, &shared, &taken, &left))?;
        Ok(Self { given, waiting })
    }

    /// Tells whether one more call may wait for it.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < ROOM
    }

    /// Gives it a request that was noted as begun. The request comes back through [`Shared::leave`] if
    /// its result is not at hand. Returns the request if the thread is gone.
    pub(super) fn give(
        &self,
        message: RxJsonRpcMessage<RoleServer>,
        begun: Option<Arc<Begun>>,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.given.send((message, begun)).err().map(|SendError((message, _))| message)
    }
}

/// Answers what is given until nobody can give any more.
fn work(server: &Server, shared: &Shared, given: &Receiver<Given>, waiting: &AtomicUsize) {
    while let Ok((message, begun)) = given.recv() {
        waiting.fetch_sub(1, Ordering::Relaxed);
        let JsonRpcMessage::Request(request) = &message else { continue };
        match server.answer_at_hand(&request.request, begun.as_deref()) {
            Some(result) => {
                let answer = JsonRpcMessage::response(result, request.id.clone());
                if shared.ends(&answer) {
                    // An error here is ignored: the writer's own error ends the session.
                    let _ = shared.put(|answers| answer::write(answer, answers));
                }
            }
            None => shared.leave(message),
        }
    }
}
