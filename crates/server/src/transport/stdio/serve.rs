//! Serves a session over standard input and output, from its first line to its last answer.

use std::io;

use rmcp::service::QuitReason;
use tokio::runtime::{Builder, Runtime};

use super::stream;
use super::transport::{Lines, UNREAD};
use crate::limits::{Limit, Limits};
use crate::protocol::server::Server;
use crate::protocol::session;

/// Makes a runtime with one thread for the protocol, and threads for the work as they are needed.
pub fn runtime(limits: &Limits) -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().max_blocking_threads(limits.size(Limit::Calls)).build()
}

/// Serves until the end of input. A client that ends before it has said anything, or that stops listening, is no
/// error.
pub fn serve(server: Server) -> io::Result<()> {
    let limits = server.context().config.limits.clone();
    let runtime = runtime(&limits)?;
    let outcome = runtime.block_on(async {
        let transport = Lines::new(stream::input()?, stream::output()?, limits);
        let written = transport.written();
        let ended = serve_lines(server, transport).await;
        match written.await {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let why = format!("the last answers were not read within {} s", UNREAD.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, why))
            }
            Err(error) if !is_gone(&error) => Err(error),
            _ => ended,
        }
    });
    runtime.shutdown_background();
    outcome
}

async fn serve_lines(
    server: Server,
    transport: Lines<impl tokio::io::AsyncRead + Send + Unpin + 'static>,
) -> io::Result<()> {
    match session::start(server, transport).waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
        Ok(_) => Ok(()),
    }
}

/// Whether an error of writing only says that nobody listens.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
