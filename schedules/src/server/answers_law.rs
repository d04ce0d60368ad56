//! A session over lines: what is answered is written whole, once, and in the order in which its request said
//! it; only a request that stopped because it was withdrawn is not answered. Reading waits while too much is
//! held, and goes on when less is; the end comes once all is handled and written, also where the output
//! breaks. A request that a second thread leaves to the session is handled by it, once.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientRequest, ErrorCode, ErrorData, GetExtensions as _, JsonRpcMessage, PingRequest, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde_json::Value;
use shuttle::future::block_on;
use shuttle::rand::Rng as _;
use shuttle::thread;
use tokio::io::AsyncWrite;

use super::pause;
use super::shared::{InWork, Shared};
use crate::context::Withdrawal;

const REQUESTS: i64 = 4;
/// Two of them are as much as may be held.
const LINE: usize = 40 << 20;

/// The output that was written, and how much more can be.
#[derive(Clone)]
struct Output(Arc<Mutex<(Vec<u8>, usize)>>);

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock().unwrap();
        let taken = bytes.len().min(50).min(state.1);
        if taken == 0 {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        state.0.extend_from_slice(&bytes[..taken]);
        state.1 -= taken;
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The outcome of each request: whether it stopped because it was withdrawn.
type Outcomes = Arc<Mutex<BTreeMap<i64, bool>>>;

fn message(id: i64, text: &'static str) -> TxJsonRpcMessage<RoleServer> {
    JsonRpcMessage::error(ErrorData::new(ErrorCode(1), text, None), Some(RequestId::Number(id)))
}

/// Acts as the handler of a request: it writes a message, looks whether it is withdrawn, and answers.
async fn work(shared: Arc<Shared>, id: i64, withdrawal: Withdrawal, mark: InWork, outcomes: Outcomes) {
    let answer = |message: &TxJsonRpcMessage<RoleServer>| {
        shared.put(|answers| serde_json::to_writer(answers, message))
    };
    let _ = answer(&message(id, "first"));
    pause().await;
    let stops = withdrawal.is_withdrawn();
    if stops {
        withdrawal.acknowledge();
    }
    outcomes.lock().unwrap().insert(id, stops);
    pause().await;
    let last = message(id, "last");
    if shared.ends(&last) {
        let _ = answer(&last);
    }
    drop(mark);
}

/// Returns a request in work, with its mark.
fn request(id: i64, mark: InWork) -> RxJsonRpcMessage<RoleServer> {
    let mut ping = ClientRequest::PingRequest(PingRequest::default());
    ping.extensions_mut().insert(mark);
    JsonRpcMessage::request(ping, RequestId::Number(id))
}

pub(crate) fn law() {
    let mut rng = shuttle::rand::thread_rng();
    let breaks = rng.gen_range(0..3) == 0;
    let room = if breaks { rng.gen_range(0..400) } else { usize::MAX };
    let output = Output(Arc::new(Mutex::new((Vec::new(), room))));
    let outcomes = Outcomes::default();
    let shared = Arc::new(Shared::default());
    block_on(async {
        let (writing, to) = (Arc::clone(&shared), output.clone());
        let writer = tokio::spawn(async move {
            let result = writing.write(to, Duration::from_secs(1)).await;
            writing.end_writing(&result);
        });
        let mut ended = false;
        let mut workers = Vec::new();
        let mut left = Vec::new();
        // Reads on as the transport does, and begins what comes back.
        let room = async |ended: &mut bool, left: &mut Vec<_>, workers: &mut Vec<_>| {
            while let Some(message) = poll_fn(|cx| match (shared.poll_room(ended, cx), shared.take_left()) {
                (_, Some(message)) => Poll::Ready(Some(message)),
                (room, None) => room.map(|()| None),
            })
            .await
            {
                let JsonRpcMessage::Request(mut request) = message else { unreachable!() };
                let RequestId::Number(id) = request.id else { unreachable!() };
                let mark = request.request.extensions_mut().remove::<InWork>().expect("it is in work");
                let at = left.iter().position(|(one, _)| *one == id).expect("it came back once");
                let (_, withdrawal) = left.swap_remove(at);
                workers.push(tokio::spawn(work(
                    Arc::clone(&shared),
                    id,
                    withdrawal,
                    mark,
                    Arc::clone(&outcomes),
                )));
            }
        };
        for id in 0..REQUESTS {
            room(&mut ended, &mut left, &mut workers).await;
            if ended {
                break;
            }
            if id == 1 {
                assert!(outcomes.lock().unwrap().contains_key(&0), "it was not the initialize's turn");
            }
            let withdrawal = Withdrawal::default();
            let key = RequestId::Number(id);
            assert!(shared.begin(&key, &withdrawal, id == 0));
            if !shared.begin(&key, &withdrawal, false) {
                let (mark, shared) = (shared.share(LINE), Arc::clone(&shared));
                if rng.gen_range(0..3) == 0 {
                    left.push((id, withdrawal));
                    thread::spawn(move || shared.leave(request(id, mark)));
                } else {
                    workers.push(tokio::spawn(work(shared, id, withdrawal, mark, Arc::clone(&outcomes))));
                }
            }
            assert!(shared.lock().held < 3 * LINE, "too much is held");
            shared.withdraw(&RequestId::Number(rng.gen_range(0..=id)));
        }
        // The end of input: all that was read is handled first.
        ended = true;
        room(&mut ended, &mut left, &mut workers).await;
        assert!(left.is_empty() || breaks, "it never came back");
        assert_eq!(outcomes.lock().unwrap().len(), workers.len(), "the end came before all was handled");
        shared.close();
        let written = poll_fn(|cx| shared.poll_written(cx)).await;
        assert!(breaks || written.is_ok());
        writer.await.unwrap();
        for worker in workers {
            worker.await.unwrap();
        }
    });
    let written = std::mem::take(&mut output.0.lock().unwrap().0);
    if breaks {
        return;
    }
    assert!(written.is_empty() || written.ends_with(b"\n"));
    let mut said: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for line in written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line: Value = serde_json::from_slice(line).expect("a whole answer");
        let text = line["error"]["message"].as_str().unwrap().to_owned();
        said.entry(line["id"].as_i64().unwrap()).or_default().push(text);
    }
    for (id, stopped) in &*outcomes.lock().unwrap() {
        let expected: &[&str] = if *stopped { &["first"] } else { &["first", "last"] };
        assert_eq!(said.get(id).map(Vec::as_slice).unwrap_or_default(), expected, "request {id}");
    }
    assert_eq!(said.len(), outcomes.lock().unwrap().len());
}
