//! The signals by which a process is told to end.

use std::io;

use tokio::sync::mpsc;

/// Returns what says, each time, that the process is to end: at SIGTERM, and at an interrupt from the
/// keyboard. Must be called within a runtime.
#[cfg(unix)]
pub(super) fn of_the_end() -> io::Result<mpsc::UnboundedReceiver<()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (said, heard) = mpsc::unbounded_channel();
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let (mut signal, said) = (signal(kind)?, said.clone());
        tokio::spawn(async move { while signal.recv().await.is_some() && said.send(()).is_ok() {} });
    }
    Ok(heard)
}

/// Returns what says, each time, that the process is to end: at an interrupt from the keyboard.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "on Unix it can fail")]
pub(super) fn of_the_end() -> io::Result<mpsc::UnboundedReceiver<()>> {
    let (said, heard) = mpsc::unbounded_channel();
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && said.send(()).is_ok() {} });
    Ok(heard)
}

/// Has an interrupt from the keyboard end nothing from now on, for a process that waits for another one at
/// the same terminal, whose the interrupt is.
pub(crate) fn outlive_interrupts() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    // What is heard once is heard for the process's life, also when nobody listens.
    let _within = runtime.enter();
    #[cfg(unix)]
    drop(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?);
    #[cfg(windows)]
    drop(tokio::signal::windows::ctrl_c()?);
    Ok(())
}

/// As [`of_the_end`], for a process that would otherwise go on: the first of a container has no default
/// action for signals, as `pid_namespaces(7)` has it. Every other one ends at once by itself, and then
/// nothing comes.
pub(super) fn of_the_end_if_ignored() -> io::Result<mpsc::UnboundedReceiver<()>> {
    if cfg!(unix) && std::process::id() == 1 { of_the_end() } else { Ok(mpsc::unbounded_channel().1) }
}
