//! The transports of messages: standard input and output, and HTTP.

mod answer;
pub mod http;
mod message;
mod plain_call;
mod scan;
pub(crate) mod signals;
pub mod stdio;

/// Polls a future once. Returns its output if the future is ready.
#[cfg(test)]
pub(crate) fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}
