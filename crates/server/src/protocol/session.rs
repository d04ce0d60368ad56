//! One session: how it begins, and that nothing which a client sends before ends it.
//!
//! There is no phase of its own for the handshake, as the SDK's `serve` has one, which gives up on a first message that it
//! does not expect. All messages take one way; a request is served if it says by itself what a handshake would have
//! (from revision 2026-07-28 on), or comes after `initialize`, or is `initialize` or `ping`. So the two ways may be mixed in any order; what
//! is refused changes nothing, and notifications and responses that nobody waits for are passed over.

use std::borrow::Cow;

use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService, Service, serve_directly};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServerHandler as _};

use super::handler::Handler;
use super::server::Server;

/// What a request outside any session is told.
const NOT_BEGUN: &str = "the session has not begun: send initialize first, or, by revision 2026-07-28, name \
                         io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities in the _meta \
                         of each request";

/// One session with a [`Server`]: whether it has begun, and with which client, is the SDK's peer.
#[derive(Debug)]
pub struct Session(Handler);

/// Starts a session, which goes on until its input ends. Must be called on a runtime.
pub fn start<T: Transport<RoleServer> + 'static>(
    server: Server,
    transport: T,
) -> RunningService<RoleServer, Session> {
    serve_directly(Session(Handler::new(server)), transport, None)
}

impl Service<RoleServer> for Session {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if let ClientRequest::InitializeRequest(request) = &request {
            // What was agreed on, not what was asked for, is how later requests are answered.
            let agreed = self.0.negotiate_initialize(&request.params)?;
            let mut client = request.params.clone();
            client.protocol_version = agreed.protocol_version.clone();
            context.peer.set_peer_info(client);
            return Ok(ServerResult::InitializeResult(agreed));
        }
        let stands_alone = || context.meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
        // The latter are unknown, or malformed as an `initialize` may be, and are told what is wrong with them.
        let needs_none = matches!(request, ClientRequest::PingRequest(_) | ClientRequest::CustomRequest(_));
        if needs_none || context.peer.peer_info().is_some() || stands_alone() {
            self.0.handle_request(request, context).await
        } else {
            Err(ErrorData::invalid_params(NOT_BEGUN, None))
        }
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}
