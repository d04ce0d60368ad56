//! MCP over standard input and output.
//!
//! At end of input, calls in flight are finished and answered before the process ends, however long they take: the SDK by
//! itself gives them five seconds. [`Draining`] is that addition.

use std::io;
use std::sync::Arc;

use rmcp::model::{GetExtensions as _, JsonRpcMessage};
use rmcp::service::{QuitReason, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{RoleServer, ServiceExt as _};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::context::Context;
use crate::server::{AT_ONCE, Server};

/// A longer line is dropped, not answered. Room for contents of ten megabytes in the worst escaping.
const MOST_LINE: usize = 64 << 20;

/// A runtime for one session: one thread for the protocol, and threads for the work as they are needed. Two more than
/// there are calls at work, since standard input and output take a thread each where they are not pipes.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().max_blocking_threads(AT_ONCE + 2).build()
}

/// Serves until the end of input. A client that goes before it has said anything is no error.
pub fn serve(context: Context) -> io::Result<()> {
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let (reader, writer) = stdio_pipes();
        let transport = AsyncRwTransport::new_server(reader, writer).with_max_line_length(MOST_LINE);
        let running = match Server::new(context).serve(Draining::new(transport)).await {
            Ok(running) => running,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            // These two hold the message, and so perhaps the text of a file.
            Err(
                ServerInitializeError::ExpectedInitializeRequest(_)
                | ServerInitializeError::UnexpectedInitializeResponse(_),
            ) => return Err(io::Error::other("the session did not begin with initialize")),
            Err(error) => return Err(io::Error::other(error)),
        };
        match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
            Ok(_) => Ok(()),
        }
    });
    // A read of standard input may still be waiting on its thread; nothing of ours is.
    runtime.shutdown_background();
    served
}

/// A transport whose end of input comes only when every request received has been handled.
///
/// Each request carries a share of a channel's sender in its extensions, which live until its handler is done; the
/// channel closes with the last of them.
#[derive(Debug)]
pub struct Draining<T> {
    inner: T,
    /// `None` once the input has ended.
    share: Option<Arc<mpsc::Sender<()>>>,
    all_done: mpsc::Receiver<()>,
}

/// What a request in flight carries.
#[derive(Clone, Debug)]
struct InFlight(#[expect(dead_code, reason = "held only to be dropped")] Arc<mpsc::Sender<()>>);

impl<T> Draining<T> {
    /// The same transport, draining.
    #[must_use]
    pub fn new(inner: T) -> Self {
        let (share, all_done) = mpsc::channel(1);
        Self { inner, share: Some(Arc::new(share)), all_done }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Draining<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        // The SDK drops this future whenever it has something else to do, so what has happened is kept in `self`.
        if let Some(share) = &self.share {
            if let Some(mut message) = self.inner.receive().await {
                if let JsonRpcMessage::Request(request) = &mut message {
                    request.request.extensions_mut().insert(InFlight(Arc::clone(share)));
                }
                return Some(message);
            }
            self.share = None;
        }
        // Nothing is ever sent: this waits until the last sender is gone.
        let _ = self.all_done.recv().await;
        None
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
