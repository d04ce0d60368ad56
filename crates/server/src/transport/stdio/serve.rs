//! Serves a session over standard input and output, from its first line to its last answer.

use std::future::pending;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_text_editor_store::Parent;
use rmcp::service::QuitReason;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::stream;
use super::transport::{LineTransport, UNREAD};
use crate::limits::{Limit, Limits};
use crate::protocol::server::Server;
use crate::protocol::session;
use crate::transport;

/// Builds a runtime with one thread for the protocol, and more threads for the calls as needed.
pub fn runtime(limits: &Limits) -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().max_blocking_threads(limits.size(Limit::Calls)).build()
}

/// The time between two checks whether the parent process still exists.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Serves until the end of input. The end of the parent process counts as the end of input, because a leaked
/// copy of the pipe can keep the input open. If this is the first process of a container, a SIGTERM or an
/// interrupt from the keyboard counts as the end of input, too; a second signal ends the process at once. It
/// is not an error if a client ends before it has sent anything, or stops reading the output.
pub fn serve(server: Server) -> io::Result<()> {
    let server = server.remembering();
    let limits = server.context().config.limits.clone();
    let runtime = runtime(&limits)?;
    let outcome = runtime.block_on(async {
        let mut end = transport::of_the_end_if_ignored()?;
        let (stop, stopped) = oneshot::channel();
        let input = Stoppable { input: stream::input()?, stop: Some(stopped), ended: false };
        let transport =
            LineTransport::new(input, stream::output()?, limits).answering_at_hand(server.clone());
        let written = transport.written();
        let at_once = async {
            let signal = async {
                if end.recv().await.is_none() {
                    pending::<()>().await;
                }
            };
            tokio::select! { () = signal => {}, () = end_of_parent() => {} }
            tracing::info!("ending: nothing more is read, and edits in work are finished");
            let _ = stop.send(());
            if end.recv().await.is_none() {
                pending::<()>().await;
            }
        };
        let session = async {
            let outcome = serve_lines(server, transport).await;
            (outcome, written.await)
        };
        let (outcome, last) = tokio::select! {
            both = session => both,
            () = at_once => {
                tracing::warn!("ended at once, while calls were in work");
                return Ok(());
            }
        };
        match last {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let why = format!("the last answers were not read within {} s", UNREAD.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, why))
            }
            Err(error) if !is_gone(&error) => Err(error),
            _ => outcome,
        }
    });
    runtime.shutdown_background();
    outcome
}

/// Waits until the parent process has ended. Waits forever if the process has no parent to watch.
async fn end_of_parent() {
    let Some(parent) = Parent::of_this_process() else { return pending().await };
    while !parent.is_gone() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// An input stream that this process can end.
struct Stoppable<R> {
    input: R,
    /// Receives a message when the stream must end.
    stop: Option<oneshot::Receiver<()>>,
    ended: bool,
}

impl<R: AsyncRead + Unpin> AsyncRead for Stoppable<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(stop) = &mut self.stop
            && let Poll::Ready(received) = Pin::new(stop).poll(cx)
        {
            self.ended = received.is_ok();
            self.stop = None;
        }
        if self.ended {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.input).poll_read(cx, buf)
    }
}

async fn serve_lines(
    server: Server,
    transport: LineTransport<impl AsyncRead + Send + Unpin + 'static>,
) -> io::Result<()> {
    match session::start(server, transport).waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
        Ok(_) => Ok(()),
    }
}

/// Tells whether a write error only means that the client has stopped reading.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
