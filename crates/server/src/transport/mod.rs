//! The transports of messages, standard input and output and HTTP, and the signals that ask a process to end.

pub mod http;
mod message;
mod plain_call;
mod scan;
pub mod stdio;

use std::io;

use tokio::sync::mpsc;

/// Polls a future once. Returns its output if the future is ready.
#[cfg(test)]
pub(crate) fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

/// Returns a receiver that gets an item for each signal that asks the process to end: SIGTERM, or an
/// interrupt from the keyboard. Must be called within a Tokio runtime.
#[cfg(unix)]
fn of_the_end() -> io::Result<mpsc::UnboundedReceiver<()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (said, heard) = mpsc::unbounded_channel();
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let (mut signal, said) = (signal(kind)?, said.clone());
        tokio::spawn(async move { while signal.recv().await.is_some() && said.send(()).is_ok() {} });
    }
    Ok(heard)
}

/// Returns a receiver that gets an item for each interrupt from the keyboard. Must be called within a Tokio
/// runtime.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "on Unix it can fail")]
fn of_the_end() -> io::Result<mpsc::UnboundedReceiver<()>> {
    let (said, heard) = mpsc::unbounded_channel();
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && said.send(()).is_ok() {} });
    Ok(heard)
}

/// Ignores interrupts from the keyboard from now on. They are meant for another process at the same terminal;
/// this process waits for the other to end.
pub(crate) fn outlive_interrupts() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    // Once tokio handles a signal, it handles the signal until the process ends, even if no receiver is left.
    let _within = runtime.enter();
    #[cfg(unix)]
    drop(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?);
    #[cfg(windows)]
    drop(tokio::signal::windows::ctrl_c()?);
    Ok(())
}

/// Returns the receiver of [`of_the_end`] in the first process of a container, where the signals have no
/// default action (`pid_namespaces(7)`). In every other process, the signals end the process at once, so the
/// receiver never gets an item.
fn of_the_end_if_ignored() -> io::Result<mpsc::UnboundedReceiver<()>> {
    if cfg!(unix) && std::process::id() == 1 { of_the_end() } else { Ok(mpsc::unbounded_channel().1) }
}
