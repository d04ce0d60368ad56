//! Serves one request over HTTP, in a session of its own, which ends with the answer.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, GetExtensions as _, JsonRpcMessage, JsonRpcRequest, ProtocolVersion};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::intake::Share;
use crate::context::Withdrawal;
use crate::protocol::server::Server;
use crate::protocol::{resources, session};

/// A request in work. Dropping this value before the answer has come cancels the request.
#[derive(Debug)]
pub(super) struct Exchange {
    messages: UnboundedReceiver<TxJsonRpcMessage<RoleServer>>,
    withdrawal: Withdrawal,
    /// Whether the request is the `initialize` of a client that shows views.
    pub(super) begins_with_views: bool,
}

/// The share of a request in work: its part of the memory budget. The request has this value among its
/// extensions, which live until the handler has ended.
#[derive(Clone)]
struct InWork(#[expect(dead_code, reason = "held only to be dropped")] Arc<Share>);

/// Begins to serve a request of this revision. `shows_views` says whether the client shows views (pages
/// beside a tool's result). The share is held until the work has ended, even if the client has disconnected.
pub(super) fn begin(
    server: &Server,
    mut request: JsonRpcRequest<ClientRequest>,
    revision: ProtocolVersion,
    shows_views: bool,
    share: Arc<Share>,
) -> Exchange {
    let begins_with_views = matches!(&request.request, ClientRequest::InitializeRequest(request)
        if resources::are_views_shown(Some(&request.params.capabilities)));
    let withdrawal = Withdrawal::default();
    let extensions = request.request.extensions_mut();
    extensions.insert(withdrawal.clone());
    extensions.insert(InWork(share));
    let (sender, messages) = mpsc::unbounded_channel();
    let transport = OneRequest {
        request: Some(JsonRpcMessage::Request(request)),
        messages: sender,
        answered: Arc::new(Semaphore::new(0)),
    };
    let session = session::start_alone(server.clone(), transport, revision, shows_views);
    tokio::spawn(session.waiting());
    Exchange { messages, withdrawal, begins_with_views }
}

/// Tells whether a message is the answer, which is the last message of an exchange.
pub(super) fn is_last(message: &TxJsonRpcMessage<RoleServer>) -> bool {
    matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
}

impl Exchange {
    /// Waits for the next message; `None` after the last one.
    pub(super) async fn next(&mut self) -> Option<TxJsonRpcMessage<RoleServer>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Waits for the answer, and drops the messages before it.
    pub(super) async fn answer(&mut self) -> Option<TxJsonRpcMessage<RoleServer>> {
        loop {
            match self.next().await {
                Some(message) if !is_last(&message) => {}
                answer => return answer,
            }
        }
    }

    /// Polls for the next message.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<TxJsonRpcMessage<RoleServer>>> {
        self.messages.poll_recv(cx)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.withdrawal.withdraw();
    }
}

/// The transport of a single request.
struct OneRequest {
    request: Option<RxJsonRpcMessage<RoleServer>>,
    messages: UnboundedSender<TxJsonRpcMessage<RoleServer>>,
    answered: Arc<Semaphore>,
}

impl Transport<RoleServer> for OneRequest {
    type Error = Infallible;

    /// Sends without waiting, and never fails: if the client has disconnected, the request counts as
    /// cancelled.
    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let is_last = is_last(&item);
        let _ = self.messages.send(item);
        if is_last {
            self.answered.add_permits(1);
        }
        std::future::ready(Ok(()))
    }

    /// Returns the request. The next call waits until the request is answered, and returns `None` for the end
    /// of input.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.request.is_some() {
            return self.request.take();
        }
        let _ = self.answered.acquire().await;
        None
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
