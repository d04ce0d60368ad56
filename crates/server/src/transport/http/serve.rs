//! Listens, and serves MCP until a signal ends the process.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::access::HttpSettings;
use super::connection;
use super::endpoint::Endpoint;
use super::intake::Intake;
use super::places::Places;
use crate::limits::Limit;
use crate::protocol::server::Server;
use crate::transport;

/// The maximum number of open connections. If the process may have fewer than twice as many files open, the
/// maximum is half of the files, because the work needs the other half.
const CONNECTIONS: u32 = 1_024;

/// The maximum number of requests that arrive or are in work at a time. Requests whose clients have
/// disconnected count, too, although they have no connection.
const REQUESTS: u32 = 1_024;

/// The maximum memory, in KiB, of all request bodies and parsed requests at a time, without the small
/// capacity with which each request begins. One request at a time may exceed the maximum.
const INTAKE: u32 = 64 << 10;

/// The time that clients have to read the last answers at the end of the process, once no call is in work.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The time that a call in work has to answer at the end of the process, in addition to the time limit of
/// calls. A call that is then still in work is cancelled, and has this time again to stop.
const WITHDRAWN: Duration = Duration::from_secs(5);

/// A listening socket. No thread has been started for it yet.
#[derive(Debug)]
pub struct Listener {
    listener: StdListener,
    address: SocketAddr,
}

/// Begins to listen.
pub fn bind(address: SocketAddr) -> io::Result<Listener> {
    let listener = StdListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok(Listener { listener, address })
}

impl Listener {
    /// Returns the address of the socket, with the port that the system chose.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves until SIGTERM, or an interrupt from the keyboard. Then no more connections are accepted, calls that
/// change nothing are cancelled, and edits are finished and answered within the time limit of a call. Clients
/// have some seconds to read the answers. A second signal ends the process at once.
pub fn serve(server: Server, listener: Listener, settings: HttpSettings) -> io::Result<()> {
    let runtime = runtime(&server)?;
    let outcome = runtime.block_on(async {
        let end = transport::of_the_end()?;
        accept(server, listener, settings, end).await
    });
    runtime.shutdown_background();
    outcome
}

/// Serves as [`serve`] does, but ends at a message from `end`, or when its sender is dropped, instead of at a
/// signal.
pub fn serve_until(
    end: mpsc::UnboundedReceiver<()>,
    server: Server,
    listener: Listener,
    settings: HttpSettings,
) -> io::Result<()> {
    let runtime = runtime(&server)?;
    let outcome = runtime.block_on(accept(server, listener, settings, end));
    runtime.shutdown_background();
    outcome
}

/// Makes a runtime with a thread for each processor, and more threads for the calls as needed.
fn runtime(server: &Server) -> io::Result<Runtime> {
    let calls = server.context().config.limits.size(Limit::Calls);
    Builder::new_multi_thread().enable_all().max_blocking_threads(calls).build()
}

fn connections() -> u32 {
    let half = mcp_text_editor_store::fd_limit().map_or(u64::MAX, |limit| limit / 2);
    u32::try_from(half).unwrap_or(u32::MAX).clamp(1, CONNECTIONS)
}

async fn accept(
    server: Server,
    listener: Listener,
    settings: HttpSettings,
    mut end: mpsc::UnboundedReceiver<()>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener.listener)?;
    let call_time = Duration::from_secs(server.context().config.limits.get(Limit::Seconds));
    let (intake, places) = (Intake::new(REQUESTS, INTAKE), Places::new(connections()));
    let server = server.measured();
    let endpoint = Arc::new(Endpoint::new(server.clone(), settings, Arc::clone(&intake)));
    let (stop, stopped) = watch::channel(());
    tokio::select! {
        _ = end.recv() => {}
        never = connection::accept(listener, &places, &endpoint, &stopped) => match never {},
    }
    tracing::info!("ending: nothing more is accepted, and edits in work are finished");
    drop(stop);
    intake.end();
    server.end();
    let finished = async {
        // A call in work ends within the time limit. After the time limit and `WITHDRAWN`, closing the
        // connections cancels the calls that still wait for their turn.
        if timeout(call_time.saturating_add(WITHDRAWN), intake.until_idle()).await.is_ok() {
            return timeout(LAST_ANSWERS, places.until_free()).await.is_ok();
        }
        places.close();
        timeout(WITHDRAWN, intake.until_idle()).await.is_ok()
    };
    tokio::select! {
        is_complete = finished => if !is_complete {
            tracing::warn!("ended while a call was in work, or an answer was not read");
        },
        Some(()) = end.recv() => tracing::warn!("ended at once, while calls were in work"),
    }
    Ok(())
}
