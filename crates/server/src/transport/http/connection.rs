//! Connections: accepted while there are places, and served until the client or the process ends them. This
//! module knows no paths.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use super::body::Body;
use super::places::{Closed, ConnectionPlace, Places};
use super::stream::WriteTimeout;

/// The most bytes of a request's head. A connection reads ahead twice as many at most.
const HEAD: usize = 32 << 10;

/// The time that a connection may be idle. nginx closes its own idle connections after a minute; this is
/// longer, so that no request meets a connection that is being closed.
const IDLE: Duration = Duration::from_secs(75);

/// The longest time in which a client takes nothing of an answer, once the system's buffers are full.
const UNREAD: Duration = Duration::from_secs(30);

/// The pause after a connection could not be accepted, for instance because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

/// The addresses of both ends of a connection. Each request has them in its extensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionEnds {
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
}

/// The responder to the requests of all connections.
pub(super) trait Responder: Send + Sync + 'static {
    /// Answers a request of the connection at this place, whatever it is.
    fn answer(
        &self,
        request: Request<Incoming>,
        place: &Arc<ConnectionPlace>,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// Accepts connections for ever, while there are places. Once `stopped` changes, each connection ends after
/// its answer in work.
pub(super) async fn accept(
    listener: TcpListener,
    places: &Arc<Places>,
    answers: &Arc<impl Responder>,
    stopped: &watch::Receiver<()>,
) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (place, closed) = places.take().await;
                tokio::spawn(serve(stream, Arc::clone(answers), place, closed, stopped.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn serve(
    stream: TcpStream,
    answers: Arc<impl Responder>,
    place: ConnectionPlace,
    mut closed: Closed,
    mut stopped: watch::Receiver<()>,
) {
    // An answer is written as a whole, so that a wait for more bytes would gain nothing.
    let _ = stream.set_nodelay(true);
    let ends = stream
        .peer_addr()
        .and_then(|client| Ok(ConnectionEnds { client, server: stream.local_addr()? }))
        .ok();
    let place = Arc::new(place);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (answers, place) = (Arc::clone(&answers), Arc::clone(&place));
        if let Some(ends) = ends {
            request.extensions_mut().insert(ends);
        }
        async move { Ok::<_, Infallible>(answers.answer(request, &place).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_header_size(HEAD)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, UNREAD)), service);
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
            // The sender is dropped when the process is to end.
            _ = stopped.changed(), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
