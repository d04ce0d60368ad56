//! A stream that limits the time for which its client may leave a response unread.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose writes fail once the other end has read nothing for some time. The time counts from the
/// moment when the system's buffers are full.
#[derive(Debug)]
pub(super) struct WriteTimeout<S> {
    inner: S,
    patience: Duration,
    /// The timer, which runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    /// Makes a stream that fails after this time.
    pub(super) fn new(inner: S, patience: Duration) -> Self {
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
            // It is enough that the other end takes a part: then the time begins anew.
            far.read_exact(&mut [0; 5]).await.unwrap();
            assert_eq!(poll(&[0; 10]), (Some(5), false));
            assert_eq!(poll(&[0; 10]), (None, true));
            assert_eq!(near.write_all(&[0; 10]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }
}
