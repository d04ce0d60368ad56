//! Accepts connections while there are places, and serves them until the client or the process ends them, or
//! until the client leaves a response unread for too long. This module does not look at the paths of
//! requests.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

use super::headers::Body;
use super::places::{Closed, ConnectionPlace, Places};

/// The maximum bytes of a request's head. A connection reads ahead at most twice as many.
const HEAD: usize = 32 << 10;

/// The time that a connection may be idle. nginx closes its own idle connections after a minute. This time is
/// longer, so that nginx never sends a request on a connection that is being closed.
const IDLE: Duration = Duration::from_secs(75);

/// The maximum time for which a client may read nothing of an answer, once the system's buffers are full.
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
    /// Answers any request of the connection that has this place.
    fn answer(
        &self,
        request: Request<Incoming>,
        place: &Arc<ConnectionPlace>,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// Accepts connections for ever, as places become free. Once the sender of `stopped` is dropped, each
/// connection ends after the request that is in work is answered.
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
    // An answer is written as a whole, so Nagle's algorithm, which waits for more bytes, would gain nothing.
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
            // The sender is dropped when the process must end.
            _ = stopped.changed(), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// A stream whose writes fail once the other end has read nothing for some time. The time counts from the
/// moment when the system's buffers are full.
#[derive(Debug)]
struct WriteTimeout<S> {
    inner: S,
    patience: Duration,
    /// The timer, which runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    /// Makes a stream whose writes fail after they have waited for the time `patience`.
    fn new(inner: S, patience: Duration) -> Self {
        Self { inner, patience, stalled: None }
    }

    /// Passes on the result of a write, or fails if the write has waited too long.
    fn judge(&mut self, written: Poll<io::Result<usize>>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.judge(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.judge(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[test]
    fn only_a_client_that_takes_nothing_is_given_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (near, mut far) = tokio::io::duplex(10);
            let mut near = WriteTimeout::new(near, Duration::from_millis(100));
            near.write_all(&[0; 10]).await.unwrap();
            let mut poll = |far: &[u8]| match Pin::new(&mut near)
                .poll_write(&mut Context::from_waker(Waker::noop()), far)
            {
                Poll::Ready(written) => (Some(written.unwrap()), near.stalled.is_some()),
                Poll::Pending => (None, near.stalled.is_some()),
            };
            assert_eq!(poll(&[0; 10]), (None, true));
            // If the other end reads even a part, the time begins anew.
            far.read_exact(&mut [0; 5]).await.unwrap();
            assert_eq!(poll(&[0; 10]), (Some(5), false));
            assert_eq!(poll(&[0; 10]), (None, true));
            assert_eq!(near.write_all(&[0; 10]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }
}
