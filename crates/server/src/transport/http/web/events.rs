//! The server-sent events to the page: the edits have changed, and the progress of work. Each listener is an
//! open page.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::{Interval, interval};

/// The most pages that listen.
const LISTENERS: usize = 16;
/// The most events that wait for a page. A page that does not keep up is disconnected, and connects again.
const WAITING: usize = 256;
/// The interval in which something is always sent, to find out whether the page is still there.
const BEAT: Duration = Duration::from_secs(15);

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// The edits have changed.
    Edits,
    /// This part of some work is done.
    Progress { done: usize, total: usize },
}

impl Event {
    fn text(self) -> Bytes {
        let (name, data) = match self {
            Self::Edits => ("edits", json!({})),
            Self::Progress { done, total } => ("progress", json!({"done": done, "total": total})),
        };
        Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
    }
}

/// The pages that listen.
#[derive(Debug)]
pub(super) struct Listeners {
    open: Mutex<Open>,
    count: watch::Sender<usize>,
}

#[derive(Default, Debug)]
struct Open {
    next: u64,
    listeners: Vec<(u64, mpsc::Sender<Event>)>,
}

impl Listeners {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), count: watch::Sender::new(0) })
    }

    /// Begins to listen; `None` if too many pages do. The first event says that the edits may have changed.
    pub(super) fn listen(self: &Arc<Self>) -> Option<EventStream> {
        let (said, heard) = mpsc::channel(WAITING);
        let mut open = self.open();
        if open.listeners.len() >= LISTENERS {
            return None;
        }
        let id = open.next;
        open.next += 1;
        // The new channel has room for it.
        let _ = said.try_send(Event::Edits);
        open.listeners.push((id, said));
        self.count.send_replace(open.listeners.len());
        Some(EventStream { listeners: Arc::clone(self), id, heard, beat: interval(BEAT) })
    }

    /// Sends an event to all listeners.
    pub(super) fn say(&self, event: Event) {
        let mut open = self.open();
        open.listeners.retain(|(_, said)| said.try_send(event).is_ok());
        self.count.send_replace(open.listeners.len());
    }

    /// Waits until the number of listeners is one that `holds` accepts.
    pub(super) async fn until(&self, holds: impl Fn(usize) -> bool) {
        // The sender lives as long as this does, so this only waits.
        let _ = self.count.subscribe().wait_for(|count| holds(*count)).await;
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events for one page, as the body of a response.
#[derive(Debug)]
pub(super) struct EventStream {
    listeners: Arc<Listeners>,
    id: u64,
    heard: mpsc::Receiver<Event>,
    beat: Interval,
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Poll::Ready(event) = self.heard.poll_recv(cx) {
            return Poll::Ready(event.map(|event| Ok(Frame::data(event.text()))));
        }
        ready!(self.beat.poll_tick(cx));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": here\n\n")))))
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut open = self.listeners.open();
        open.listeners.retain(|(id, _)| *id != self.id);
        self.listeners.count.send_replace(open.listeners.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::now;

    #[test]
    fn who_listens_hears_all_and_who_does_not_keep_up_is_cut_off() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _within = runtime.enter();
        let listeners = Listeners::new();
        let mut all: Vec<EventStream> = (0..LISTENERS).map(|_| listeners.listen().unwrap()).collect();
        assert!(listeners.listen().is_none());
        let heard = |stream: &mut EventStream| {
            let frame = now(std::future::poll_fn(|cx| Pin::new(&mut *stream).poll_frame(cx)))?;
            Some(frame.map(|frame| String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap()))
        };
        let mut slow = all.pop().unwrap();
        let mut kept = all.pop().unwrap();
        drop(all);
        assert!(now(listeners.until(|count| count == 2)).is_some());
        for done in 0..WAITING {
            listeners.say(Event::Progress { done, total: WAITING });
            assert!(heard(&mut kept).is_some());
        }
        assert!(now(listeners.until(|count| count == 1)).is_some(), "the slow one is cut off");
        assert_eq!(
            heard(&mut kept).unwrap().unwrap(),
            format!("event: progress\ndata: {{\"done\":{},\"total\":{WAITING}}}\n\n", WAITING - 1)
        );
        assert_eq!(heard(&mut slow).unwrap().unwrap(), "event: edits\ndata: {}\n\n");
        while let Some(Some(_)) = heard(&mut slow) {}
        assert_eq!(heard(&mut slow), Some(None), "it has ended");
        drop((slow, kept));
        assert!(now(listeners.until(|count| count == 0)).is_some());
    }
}
