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
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use super::endpoint::Endpoint;
use super::metrics;
use super::settings::Settings;
use crate::limits::Limit;
use crate::protocol::server::Server;

/// How many connections are open at a time; others wait to be accepted.
const CONNECTIONS: usize = 1_024;

/// How long a connection may be idle: longer than the minute after which nginx closes its own, so that no request
/// meets a connection that is being closed.
const IDLE: Duration = Duration::from_secs(75);

/// The pause after a connection could not be accepted, as when no file can be opened.
const PAUSE: Duration = Duration::from_millis(100);

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
/// are answered, however long they take; a second signal ends the process at once.
pub fn serve(server: Server, listener: Listener, settings: Settings) -> io::Result<()> {
    let runtime = runtime(&server)?;
    let outcome = runtime.block_on(async {
        let end = signals()?;
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

async fn accept(
    server: Server,
    listener: Listener,
    settings: Settings,
    mut end: mpsc::UnboundedReceiver<()>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener.listener)?;
    let counted = metrics::install()?;
    let upkeep = tokio::spawn(metrics::upkeep(counted));
    let (in_work, mut none_in_work) = mpsc::channel::<Infallible>(1);
    let endpoint = Arc::new(Endpoint::new(server.measured(), settings, counted, in_work));
    let (stop, stopped) = watch::channel(());
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (listener.accept().await, place)
        };
        tokio::select! {
            _ = end.recv() => break,
            // Takes away what has ended.
            Some(_) = connections.join_next() => {}
            (accepted, place) = next => match accepted {
                Ok((stream, _)) => {
                    let (endpoint, stopped) = (Arc::clone(&endpoint), stopped.clone());
                    connections.spawn(async move {
                        connection(stream, endpoint, stopped).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
    drop((listener, stopped));
    tracing::info!("ending: nothing more is accepted, and what is in work is finished");
    drop(stop);
    let finished = async {
        while connections.join_next().await.is_some() {}
        // Work whose client has gone goes on all the same.
        drop(endpoint);
        none_in_work.recv().await;
    };
    tokio::select! {
        () = finished => {}
        Some(()) = end.recv() => tracing::warn!("ended at once, while calls were in work"),
    }
    upkeep.abort();
    Ok(())
}

async fn connection(stream: TcpStream, endpoint: Arc<Endpoint>, mut stopped: watch::Receiver<()>) {
    // An answer is written at once, so nothing is gained by waiting for more.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let endpoint = Arc::clone(&endpoint);
        async move { Ok::<_, Infallible>(endpoint.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        // The other end is dropped when the process is to end.
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Returns what says, each time, that the process is to end.
#[cfg(unix)]
fn signals() -> io::Result<mpsc::UnboundedReceiver<()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (said, heard) = mpsc::unbounded_channel();
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let (mut signal, said) = (signal(kind)?, said.clone());
        tokio::spawn(async move { while signal.recv().await.is_some() && said.send(()).is_ok() {} });
    }
    Ok(heard)
}

/// Returns what says, each time, that the process is to end.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "on Unix it can fail")]
fn signals() -> io::Result<mpsc::UnboundedReceiver<()>> {
    let (said, heard) = mpsc::unbounded_channel();
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && said.send(()).is_ok() {} });
    Ok(heard)
}
