//! Starts sessions. No message ends a session, not even an unexpected one before the handshake.
//!
//! The SDK's `serve` has a phase of its own for the handshake, and ends the session at an unexpected first
//! message. Here all messages are treated alike. A request is served if it has the facts of a handshake in
//! itself (from revision 2026-07-28 on), if it comes after `initialize`, or if it is `initialize` or `ping`.
//! So requests with and without a handshake can be mixed in any order. A request that is refused changes
//! nothing. Unexpected notifications and responses are ignored.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

use rmcp::model::{
    ClientNotification, ClientRequest, CustomRequest, ErrorData, Implementation, InitializeRequestParams,
    ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService, Service, serve_directly};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServerHandler as _};

use super::handler::{FRESH_MS, Handler, declare_views, knows_skills};
use super::resources;
use super::server::Server;

/// The error for a request that comes before the session has begun, and does not have the facts of a
/// handshake in itself.
const NOT_BEGUN: &str = "the session has not begun: send initialize first, or, by revision 2026-07-28, name \
                         io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities in the _meta \
                         of each request";

/// A session with a [`Server`]. The SDK's peer knows whether the session has begun, and with which client.
#[derive(Debug)]
pub struct Session(Handler);

/// Starts a session, which lasts until its input ends. Must be called within a runtime.
pub fn start<T: Transport<RoleServer> + 'static>(
    server: Server,
    transport: T,
) -> RunningService<RoleServer, Session> {
    // The standard library seeds `RandomState` with random data from the system, so each name differs.
    let name = format!("{:016x}", RandomState::new().build_hasher().finish());
    serve_directly(Session(Handler::new(server, Some(name.into()))), transport, None)
}

/// Starts a session for a single request of any kind. The client is assumed to speak this revision and, if
/// `shows_views`, to show views; its name is not known. Must be called within a runtime.
pub fn start_alone<T: Transport<RoleServer> + 'static>(
    server: Server,
    transport: T,
    revision: ProtocolVersion,
    shows_views: bool,
) -> RunningService<RoleServer, Session> {
    let capabilities = resources::capabilities(shows_views);
    let client = InitializeRequestParams::new(capabilities, Implementation::new("", ""));
    let begun = client.with_protocol_version(revision);
    serve_directly(Session(Handler::new(server, None)), transport, Some(begun))
}

impl Service<RoleServer> for Session {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if let ClientRequest::InitializeRequest(request) = &request {
            // Later requests are answered by the revision that was agreed on, not by the requested one.
            let mut agreed = self.0.negotiate_initialize(&request.params)?;
            if resources::are_views_shown(Some(&request.params.capabilities)) {
                declare_views(&mut agreed.capabilities);
            }
            let mut client = request.params.clone();
            client.protocol_version = agreed.protocol_version.clone();
            context.peer.set_peer_info(client);
            return Ok(ServerResult::InitializeResult(agreed));
        }
        let stands_alone = || context.meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
        // A custom request is a request of an unknown method, or a malformed one of a known method, such as
        // `initialize`. The answer says what is wrong with it.
        let needs_none = matches!(request, ClientRequest::PingRequest(_) | ClientRequest::CustomRequest(_));
        let skill = knows_skills(&context).then(|| resources::answer(&request, FRESH_MS)).flatten();
        if let Some(answer) = skill {
            answer
        } else if needs_none || context.peer.peer_info().is_some() || stands_alone() {
            // The SDK would answer these requests with an empty success, but this server does not offer their
            // methods.
            let request = match request {
                ClientRequest::CompleteRequest(_)
                | ClientRequest::ListPromptsRequest(_)
                | ClientRequest::ListResourceTemplatesRequest(_) => {
                    ClientRequest::CustomRequest(CustomRequest::new(request.method(), None))
                }
                request => request,
            };
            // The future has room for the state of every kind of request. It is boxed so that it does not
            // enlarge the task of this request.
            Box::pin(self.0.handle_request(request, context)).await
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
