//! MCP over standard input and output.
//!
//! At end of input, calls in flight are finished and answered before the process ends, however long they take. A line
//! that cannot be read is answered where it is somebody's request, and the session goes on.

mod frame;
mod message;
mod scan;
mod stream;
mod transport;

use std::io;

use rmcp::service::QuitReason;
use tokio::runtime::{Builder, Runtime};

pub use self::transport::Lines;
use crate::context::Context;
use crate::limits::{Limit, Limits};
use crate::protocol::server::Server;
use crate::protocol::session;

/// A runtime for one session: one thread for the protocol, and threads for the work as they are needed.
pub fn runtime(limits: &Limits) -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().max_blocking_threads(limits.size(Limit::Calls)).build()
}

/// Serves until the end of input. A client that goes before it has said anything, or stops listening, is no error.
pub fn serve(context: Context) -> io::Result<()> {
    let runtime = runtime(&context.config.limits)?;
    let served = runtime.block_on(async {
        let limits = context.config.limits.clone();
        let transport = Lines::new(stream::input()?, stream::output()?, limits);
        let written = transport.written();
        let ended = serve_lines(context, transport).await;
        match written.await {
            Err(error) if !is_gone(&error) => Err(error),
            _ => ended,
        }
    });
    runtime.shutdown_background();
    served
}

async fn serve_lines(
    context: Context,
    transport: Lines<impl tokio::io::AsyncRead + Send + Unpin + 'static>,
) -> io::Result<()> {
    match session::start(Server::new(context), transport).waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
        Ok(_) => Ok(()),
    }
}

/// Whether an error of writing says no more than that nobody listens.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
