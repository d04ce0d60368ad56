//! Opens standard input and output as asynchronous streams, if possible without passing each message between
//! threads.
//!
//! - A pipe goes through tokio's reactor. This module opens the pipe a second time through `/proc` (Linux),
//!   so that reads and writes do not block, while the flags that the standard stream shares with the parent
//!   process stay unchanged.
//! - A socket, which Node gives its child processes, goes through the reactor, too. A socket cannot be opened
//!   again, so each system call on it has the flag not to block.
//! - Any other stream (a file, a terminal, or a pipe that cannot be opened again) has its own thread.
//!
//! Input and output need not be of the same kind.

use std::io::{self, Read as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// The maximum bytes that a thread reads at once.
const CHUNK: usize = 1 << 16;

/// Opens standard input. Must be called within a runtime that has I/O enabled.
pub(super) fn input() -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    #[cfg(target_os = "linux")]
    if let Some(pipe) = pipe::reopened(&io::stdin(), false) {
        return Ok(Box::new(tokio::net::unix::pipe::Receiver::from_owned_fd(pipe)?));
    }
    #[cfg(unix)]
    if let Some(socket) = socket::Socket::of(&io::stdin(), tokio::io::Interest::READABLE)? {
        return Ok(Box::new(socket));
    }
    Ok(Box::new(ThreadInput::start(io::stdin())?))
}

/// Opens standard output. Must be called within a runtime that has I/O enabled.
pub(super) fn output() -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    #[cfg(target_os = "linux")]
    if let Some(pipe) = pipe::reopened(&io::stdout(), true) {
        return Ok(Box::new(tokio::net::unix::pipe::Sender::from_owned_fd(pipe)?));
    }
    #[cfg(unix)]
    if let Some(socket) = socket::Socket::of(&io::stdout(), tokio::io::Interest::WRITABLE)? {
        return Ok(Box::new(socket));
    }
    Ok(Box::new(ThreadOutput::start(io::stdout())?))
}

#[cfg(target_os = "linux")]
mod pipe {
    use std::fs::{File, OpenOptions};
    use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};

    /// The capacity, in bytes, that is set for an output pipe: the default maximum for a user without
    /// privileges. With the usual 64 KiB, a call that reads 1 MB takes a tenth longer.
    const ROOM: usize = 1 << 20;

    /// Opens a stream's pipe again, as a non-blocking one. Returns `None` if the stream is not a pipe, if the
    /// system does not permit to open the pipe (it can belong to another user), or if the pipe's other end is
    /// closed.
    pub(super) fn reopened(stream: &impl AsFd, write: bool) -> Option<OwnedFd> {
        let own = stream.as_fd();
        if !is_pipe(&File::from(own.try_clone_to_owned().ok()?)) {
            return None;
        }
        let path = format!("/proc/self/fd/{}", own.as_raw_fd());
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(!write).write(write).custom_flags(flags).open(path).ok()?;
        if !is_pipe(&file) {
            return None;
        }
        if write {
            // If the system's limit is lower, or the user has too many such pipes, the capacity stays
            // unchanged.
            let _ = rustix::pipe::fcntl_setpipe_size(&file, ROOM);
        }
        Some(file.into())
    }

    fn is_pipe(file: &File) -> bool {
        file.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
    }
}

#[cfg(unix)]
mod socket {
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use rustix::net::{RecvFlags, SendFlags, SocketType, recv, send, sockopt};
    use tokio::io::unix::AsyncFd;
    use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

    /// The flags for sending: do not block, and return an error instead of a signal if the other end is
    /// closed. Apple's systems have no flag for the latter; Rust ignores the signal for the whole process
    /// anyway.
    #[cfg(not(target_vendor = "apple"))]
    const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
    #[cfg(target_vendor = "apple")]
    const SEND: SendFlags = SendFlags::DONTWAIT;

    /// A stream socket, used without changing its flags.
    #[derive(Debug)]
    pub(super) struct Socket(AsyncFd<OwnedFd>);

    impl Socket {
        /// Returns a stream's socket; `None` if the stream is not a socket.
        pub(super) fn of(stream: &impl AsFd, interest: Interest) -> io::Result<Option<Self>> {
            if sockopt::socket_type(stream.as_fd()) != Ok(SocketType::STREAM) {
                return Ok(None);
            }
            let own = stream.as_fd().try_clone_to_owned()?;
            #[expect(
                deprecated,
                reason = "its successor is unsafe for types that could change their descriptor; an OwnedFd cannot"
            )]
            let registered = AsyncFd::with_interest(own, interest)?;
            Ok(Some(Self(registered)))
        }
    }

    impl AsyncRead for Socket {
        fn poll_read(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            loop {
                let mut ready = ready!(self.0.poll_read_ready(cx))?;
                let received = ready
                    .try_io(|fd| Ok(recv(fd.get_ref(), buf.initialize_unfilled(), RecvFlags::DONTWAIT)?));
                match received {
                    Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(received) => return Poll::Ready(received.map(|(length, _)| buf.advance(length))),
                    Err(_would_block) => {}
                }
            }
        }
    }

    impl AsyncWrite for Socket {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            loop {
                let mut ready = ready!(self.0.poll_write_ready(cx))?;
                match ready.try_io(|fd| Ok(send(fd.get_ref(), buf, SEND)?)) {
                    Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(sent) => return Poll::Ready(sent),
                    Err(_would_block) => {}
                }
            }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        /// Leaves the socket open. It is a standard stream of the process, and may be both input and output.
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
}

/// A stream that a thread reads, one chunk in advance.
#[derive(Debug)]
struct ThreadInput {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    /// The rest of the current chunk.
    left: io::Cursor<Vec<u8>>,
}

impl ThreadInput {
    /// Starts the thread. The thread's read blocks until input arrives, possibly until the process ends.
    fn start(mut stream: impl io::Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(1);
        std::thread::Builder::new().name("input".to_owned()).spawn(move || {
            loop {
                let mut chunk = vec![0; CHUNK];
                let (chunk, last) = match stream.read(&mut chunk) {
                    Ok(length) => {
                        chunk.truncate(length);
                        (Ok(chunk), length == 0)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => (Err(error), true),
                };
                if sender.blocking_send(chunk).is_err() || last {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, left: io::Cursor::default() })
    }
}

impl AsyncRead for ThreadInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let length = self.left.read(buf.initialize_unfilled())?;
            if length > 0 {
                buf.advance(length);
                return Poll::Ready(Ok(()));
            }
            match ready!(self.chunks.poll_recv(cx)) {
                Some(Ok(chunk)) if !chunk.is_empty() => self.left = io::Cursor::new(chunk),
                Some(Err(error)) => return Poll::Ready(Err(error)),
                Some(Ok(_)) | None => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// A stream that a thread writes.
#[derive(Debug)]
struct ThreadOutput {
    chunks: mpsc::Sender<Vec<u8>>,
    written: mpsc::Receiver<io::Result<()>>,
    /// Whether the thread has a chunk whose result it has not reported yet.
    busy: bool,
}

impl ThreadOutput {
    /// Starts the thread, which ends with this stream or at the first error.
    fn start(mut stream: impl io::Write + Send + 'static) -> io::Result<Self> {
        let (chunks, mut receiver) = mpsc::channel::<Vec<u8>>(1);
        let (answer, written) = mpsc::channel(1);
        std::thread::Builder::new().name("output".to_owned()).spawn(move || {
            while let Some(chunk) = receiver.blocking_recv() {
                let done = stream.write_all(&chunk).and_then(|()| stream.flush());
                let failed = done.is_err();
                if answer.blocking_send(done).is_err() || failed {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, written, busy: false })
    }

    /// Waits until the thread has written its chunk.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.busy {
            return Poll::Ready(Ok(()));
        }
        let done = ready!(self.written.poll_recv(cx));
        self.busy = false;
        Poll::Ready(done.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into())))
    }
}

impl AsyncWrite for ThreadOutput {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_idle(cx))?;
        if self.chunks.try_send(buf.to_vec()).is_err() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.busy = true;
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_idle(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
