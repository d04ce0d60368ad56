//! Listens, and serves each connection until the process is told to end.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::endpoint::Endpoint;
use super::intake::Intake;
use super::metrics;
use super::places::{Closed, Place, Places};
use super::settings::Settings;
use super::stream::Patient;
use crate::limits::Limit;
use crate::protocol::server::Server;
use crate::transport::signals;

/// How many connections are open at a time; fewer where more would take over half of the files that may be open, which
/// are for the work.
const CONNECTIONS: u32 = 1_024;

/// How many requests may arrive and be in work at a time. That is more than connections where clients go away.
const REQUESTS: u32 = 1_024;

/// How many KiB of what arrives may be held at a time, besides what each request has a place for.
const INTAKE: u32 = 64 << 10;

/// How many bytes the head of a request may have. A connection reads ahead twice as many at most.
const HEAD: usize = 32 << 10;

/// How long a connection may be idle: longer than the minute after which nginx closes its own, so that no request
/// meets a connection that is being closed.
const IDLE: Duration = Duration::from_secs(75);

/// How long a client may take nothing of an answer that is being written, once the system's buffers are full.
const UNREAD: Duration = Duration::from_secs(30);

/// The pause after a connection could not be accepted, as when no file can be opened.
const PAUSE: Duration = Duration::from_millis(100);

/// How long clients may take, once no call is in work, to read the last answers when the process ends.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// How long, when the process ends, what works longer than a call may is waited for: so long to answer that its time was over, and so
/// long after it was withdrawn.
const WITHDRAWN: Duration = Duration::from_secs(5);

/// A socket that listens. No thread has been started for it.
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
    /// Returns the address at which it listens, with the port that the system chose.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves until SIGTERM, or an interrupt from the keyboard. Then nothing more is accepted, and the requests in work
/// are answered: within the time that a call may work, and some seconds in which the answers must be read. A second
/// signal ends the process at once.
pub fn serve(server: Server, listener: Listener, settings: Settings) -> io::Result<()> {
    let runtime = runtime(&server)?;
    let outcome = runtime.block_on(async {
        let end = signals::of_the_end()?;
        accept(server, listener, settings, end).await
    });
    runtime.shutdown_background();
    outcome
}

/// Serves as [`serve`] does, until a message comes, or none can come any more, instead of a signal.
pub fn serve_until(
    end: mpsc::UnboundedReceiver<()>,
    server: Server,
    listener: Listener,
    settings: Settings,
) -> io::Result<()> {
    let runtime = runtime(&server)?;
    let outcome = runtime.block_on(accept(server, listener, settings, end));
    runtime.shutdown_background();
    outcome
}

/// Makes a runtime with a thread for each processor, and threads for the work as they are needed.
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
    settings: Settings,
    mut end: mpsc::UnboundedReceiver<()>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener.listener)?;
    let counted = metrics::install()?;
    let upkeep = tokio::spawn(metrics::upkeep(counted));
    let call_time = Duration::from_secs(server.context().config.limits.get(Limit::Seconds));
    let (intake, places) = (Intake::new(REQUESTS, INTAKE), Places::new(connections()));
    let endpoint = Arc::new(Endpoint::new(server.measured(), settings, counted, Arc::clone(&intake)));
    let (stop, stopped) = watch::channel(());
    let accepting = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let (place, closed) = places.take().await;
                    let (endpoint, stopped) = (Arc::clone(&endpoint), stopped.clone());
                    tokio::spawn(connection(stream, endpoint, place, closed, stopped));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    sleep(PAUSE).await;
                }
            }
        }
    };
    tokio::select! {
        _ = end.recv() => {}
        () = accepting => {}
    }
    drop(listener);
    tracing::info!("ending: nothing more is accepted, and what is in work is finished");
    drop(stop);
    intake.end();
    let finished = async {
        // What works began within its time; what still waits for its turn after that is withdrawn.
        if timeout(call_time.saturating_add(WITHDRAWN), intake.is_idle()).await.is_ok() {
            return timeout(LAST_ANSWERS, places.are_free()).await.is_ok();
        }
        places.close();
        timeout(WITHDRAWN, intake.is_idle()).await.is_ok()
    };
    tokio::select! {
        is_complete = finished => if !is_complete {
            tracing::warn!("ended while a call was in work, or an answer was not read");
        },
        Some(()) = end.recv() => tracing::warn!("ended at once, while calls were in work"),
    }
    upkeep.abort();
    Ok(())
}

async fn connection(
    stream: TcpStream,
    endpoint: Arc<Endpoint>,
    place: Place,
    mut closed: Closed,
    mut stopped: watch::Receiver<()>,
) {
    // An answer is written at once, so nothing is gained by waiting for more.
    let _ = stream.set_nodelay(true);
    let place = Arc::new(place);
    let service = service_fn(move |request| {
        let (endpoint, place) = (Arc::clone(&endpoint), Arc::clone(&place));
        async move { Ok::<_, Infallible>(endpoint.answer(request, &place).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_header_size(HEAD)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(Patient::new(stream, UNREAD)), service);
    let mut connection = pin!(connection);
    let mut is_ending = false;
    loop {
        tokio::select! {
            outcome = connection.as_mut() => {
                if let Err(error) = outcome {
                    tracing::debug!(%error, "a connection ended early");
                }
                return;
            }
            _ = &mut closed => {
                tracing::debug!("a connection was closed, for a new one or for the end");
                return;
            }
            // The other end is dropped when the process is to end.
            _ = stopped.changed(), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
