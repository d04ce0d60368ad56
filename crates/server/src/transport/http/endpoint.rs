//! Serves the paths of the HTTP server: `/mcp`, `/healthz`, `/readyz` and `/metrics`. Checks a request in a
//! fixed order, up to the message in its body.

use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CONNECTION, EXPECT, HeaderMap, HeaderValue, RETRY_AFTER, VARY,
    WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, ProtocolVersion};
use rmcp::service::TxJsonRpcMessage;
use serde_json::json;

use super::access::{HttpSettings, OriginError, check_origin, configured_origin, is_oauth, oauth_refusal};
use super::connection::Responder;
use super::exchange::{self, BodyError, Exchange, NoBatch, is_last, kib};
use super::headers::{self, Accepts, Body};
use super::intake::{Ended, Intake, Share};
use super::places::{ConnectionPlace, ConnectionWork};
use crate::limits::{Limit, Limits};
use crate::protocol::at_hand::Begun;
use crate::protocol::measure;
use crate::protocol::server::Server;
use crate::render::limits as words;
use crate::transport::message::{self, MessageUnit, Refused, WeighedText};
use crate::transport::scan::MessageScan;

/// The responder to all requests of a process.
pub(super) struct Endpoint {
    server: Server,
    settings: HttpSettings,
    intake: Arc<Intake>,
}

/// The header of a session's id. Clients of the revisions before 2026-07-28 receive it in the answer to
/// `initialize`, and send it with each request. This server has no sessions. It gives the header only to
/// clients that show views (pages beside a tool's result), with the value `views`. The value tells the
/// process that serves a later request that the client shows views.
const SESSION: &str = "mcp-session-id";
const WITH_VIEWS: &str = "views";

/// A response that ends the checks of a request early, usually by rejecting it.
type Refusal = Box<Response<Body>>;

/// The outcome of a message.
enum MessageOutcome {
    /// The message is a request of this revision, and is in work.
    Exchange(Exchange, ProtocolVersion),
    /// The message is a call that was answered at once, because its result was at hand: a small read of
    /// cached files.
    Answered(Box<TxJsonRpcMessage<RoleServer>>),
    /// The message has no answer.
    Nothing,
    /// The message is not served.
    Refused(Box<Refused>),
}

impl Responder for Endpoint {
    async fn answer(&self, request: Request<Incoming>, place: &Arc<ConnectionPlace>) -> Response<Body> {
        self.respond(request, place).await
    }
}

impl Endpoint {
    /// Makes the endpoint of a server. `intake` is the memory budget for requests.
    pub(super) fn new(server: Server, settings: HttpSettings, intake: Arc<Intake>) -> Self {
        Self { server, settings, intake }
    }

    async fn respond(&self, request: Request<Incoming>, place: &Arc<ConnectionPlace>) -> Response<Body> {
        let (began, method) = (Instant::now(), request.method().clone());
        let (request, mut incoming) = request.into_parts();
        let (path, response) = match request.uri.path() {
            "/mcp" => {
                let allowed = configured_origin(&request.headers, &self.settings).cloned();
                let response = self.mcp(&request, &mut incoming, place).await;
                let mut response = response.unwrap_or_else(|refusal| *refusal);
                if let Some(origin) = allowed {
                    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
                }
                response.headers_mut().insert(VARY, HeaderValue::from_static("Origin"));
                ("/mcp", response)
            }
            "/healthz" => ("/healthz", Self::healthz(&method)),
            "/readyz" => ("/readyz", self.readyz(&method)),
            "/metrics" => ("/metrics", self.metrics(&request, place).unwrap_or_else(|refusal| *refusal)),
            path if is_oauth(path) => ("oauth", oauth_refusal(self.settings.token.is_some())),
            _ => (
                "other",
                headers::text(StatusCode::NOT_FOUND, "there are /mcp, /healthz, /readyz and /metrics\n"),
            ),
        };
        let (status, seconds) = (response.status().as_u16(), began.elapsed().as_secs_f64());
        // A client can invent methods of any length.
        let is_known =
            matches!(method, Method::GET | Method::HEAD | Method::POST | Method::DELETE | Method::OPTIONS);
        let method = if is_known { method.as_str() } else { "other" };
        tracing::info!(method, path, status, seconds, "request");
        // A client that expects `100 Continue` has not sent the body, and need not send it.
        if response.status().is_client_error() && !request.headers.contains_key(EXPECT) {
            exchange::discard(incoming, self.limits().size(Limit::Line).saturating_mul(2), &self.intake)
                .await;
        }
        response
    }

    /// Answers `ok`, because the process serves requests. Accepts requests from anybody, with any `Host`,
    /// because load balancers have no token.
    fn healthz(method: &Method) -> Response<Body> {
        if matches!(*method, Method::GET | Method::HEAD) {
            headers::text(StatusCode::OK, "ok\n")
        } else {
            not_allowed("GET, HEAD")
        }
    }

    /// Answers `ok` if edits are carried out now, or else the reason why they are refused. Accepts requests
    /// from anybody, like `healthz`.
    fn readyz(&self, method: &Method) -> Response<Body> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return not_allowed("GET, HEAD");
        }
        match self.server.why_edits_wait() {
            None => headers::text(StatusCode::OK, "ok\n"),
            Some(why) => {
                headers::text(StatusCode::SERVICE_UNAVAILABLE, format!("edits are refused: {why}\n"))
            }
        }
    }

    /// Answers with the metrics. Accepts only requests from clients that may call tools.
    fn metrics(&self, request: &Parts, place: &Arc<ConnectionPlace>) -> Result<Response<Body>, Refusal> {
        self.admit(request)?;
        if request.method != Method::GET {
            return Err(Box::new(not_allowed("GET")));
        }
        let work = work(place)?;
        Ok(headers::of(StatusCode::OK, measure::KIND, measure::text()).map(|body| body.during(work)))
    }

    /// Checks the host to which a request is addressed, the web page that it comes from, and its token.
    fn admit(&self, request: &Parts) -> Result<(), Refusal> {
        check_origin(&request.uri, &request.headers, &self.settings)
            .map_err(|error| Box::new(forbidden(error)))?;
        // A browser sends a preflight request without the token, to learn what it may send.
        let is_preflight = request.method == Method::OPTIONS;
        let token = self.settings.token.as_ref().filter(|_| !is_preflight);
        if token.is_some_and(|token| !token.is_in(&request.headers)) {
            return Err(Box::new(unauthorized()));
        }
        Ok(())
    }

    async fn mcp(
        &self,
        request: &Parts,
        incoming: &mut Incoming,
        place: &Arc<ConnectionPlace>,
    ) -> Result<Response<Body>, Refusal> {
        self.admit(request)?;
        if request.method == Method::OPTIONS {
            return Ok(preflight());
        }
        // Without sessions, GET has no stream to open, and DELETE has no session to delete.
        if request.method != Method::POST {
            return Err(Box::new(not_allowed("POST")));
        }
        let accepts = headers::accepts(&request.headers);
        if !accepts.json && !accepts.events {
            let why = "an answer is application/json or text/event-stream, and Accept takes neither\n";
            return Err(Box::new(headers::text(StatusCode::NOT_ACCEPTABLE, why)));
        }
        if !headers::is_json(&request.headers) {
            let why = "a message is sent as application/json\n";
            return Err(Box::new(headers::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, why)));
        }
        if !headers::is_plain(&request.headers) {
            let why = "a message is sent as it is, without a Content-Encoding\n";
            return Err(Box::new(headers::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, why)));
        }
        let work = work(place)?;
        let response = self.serve(&request.headers, accepts, incoming).await?;
        Ok(response.map(|body| body.during(work)))
    }

    /// Answers the message, or the messages, of a body.
    async fn serve(
        &self,
        headers: &HeaderMap,
        accepts: Accepts,
        incoming: &mut Incoming,
    ) -> Result<Response<Body>, Refusal> {
        let mut share = self.intake.share().await.map_err(|Ended| Box::new(ending()))?;
        let limit = self.limits().size(Limit::Line);
        let read = exchange::read(incoming, limit, &self.intake, &mut share).await;
        let text = read.map_err(|unread| Box::new(self.unread(unread)))?;
        let is_of_batches = headers::revision(headers) == Ok(ProtocolVersion::V_2025_03_26);
        let Some(items) = exchange::batch(&text).filter(|_| is_of_batches) else {
            let weighed = WeighedText::of(&text, self.limits());
            make_room(&mut share, weighed.values()).await?;
            let begun = self.begin(headers, accepts, weighed, MessageUnit::Body, &Arc::new(share));
            drop(text);
            return Ok(match begun {
                MessageOutcome::Answered(answer) => headers::answer(StatusCode::OK, *answer),
                MessageOutcome::Exchange(exchange, revision) => respond(exchange, accepts, &revision).await,
                MessageOutcome::Nothing => headers::empty(StatusCode::ACCEPTED),
                MessageOutcome::Refused(refused) => {
                    let id = refused.ids.first().and_then(Option::as_ref);
                    headers::error(headers::status_of(&refused.error), id, &refused.error)
                }
            });
        };
        let items = items.map_err(|no_batch| {
            bad_batch(match no_batch {
                NoBatch::Empty => "the batch is empty".to_owned(),
                NoBatch::TooMany => {
                    format!(
                        "a batch has at most {} messages, and this one has more; none was carried out",
                        exchange::MAX_BATCH
                    )
                }
            })
        })?;
        if !accepts.json {
            let why = "a batch is answered as application/json\n";
            return Err(Box::new(headers::text(StatusCode::NOT_ACCEPTABLE, why)));
        }
        let items: Vec<WeighedText<'_>> =
            items.into_iter().map(|item| WeighedText::of(item, self.limits())).collect();
        let values = items.iter().map(|item| item.values()).sum();
        if values > self.limits().get(Limit::Values) {
            let asked = format_args!("the messages of the batch hold {values} values together");
            let problem = words::too_large(self.limits(), Limit::Values, asked);
            return Err(bad_batch(format!("{}: {}", problem.reason, problem.hint)));
        }
        make_room(&mut share, values).await?;
        let share = Arc::new(share);
        let outcome = |item| self.begin(headers, accepts, item, MessageUnit::Item, &share);
        let begun = items.into_iter().map(outcome).collect();
        drop(text);
        Ok(answers(begun).await)
    }

    /// Begins to serve a message. If the result is at hand and the client accepts JSON, answers the message
    /// at once. `share` must have room for the message.
    fn begin(
        &self,
        headers: &HeaderMap,
        accepts: Accepts,
        text: WeighedText<'_>,
        unit: MessageUnit,
        share: &Arc<Share>,
    ) -> MessageOutcome {
        let message = match text.parse(unit, self.limits()) {
            Ok(message) => message,
            Err(refused) => return MessageOutcome::Refused(refused),
        };
        let revision = headers::check(headers, &message);
        // Only requests are answered. Over HTTP, a client cancels a request by closing its response.
        let JsonRpcMessage::Request(request) = message else { return MessageOutcome::Nothing };
        match revision {
            Err(error) => MessageOutcome::Refused(Box::new(Refused { ids: vec![Some(request.id)], error })),
            Ok(revision) => {
                let begun = Begun { revision: revision.clone(), client: None };
                if accepts.json
                    && let Some(result) = self.server.answer_at_hand(&request.request, Some(&begun))
                {
                    return MessageOutcome::Answered(JsonRpcMessage::response(result, request.id).into());
                }
                let shows_views = headers.get(SESSION).is_some_and(|session| session == WITH_VIEWS);
                let exchange =
                    exchange::begin(&self.server, request, revision.clone(), shows_views, Arc::clone(share));
                MessageOutcome::Exchange(exchange, revision)
            }
        }
    }

    fn limits(&self) -> &Limits {
        &self.server.context().config.limits
    }

    /// Makes the response to a request whose body was not read completely.
    fn unread(&self, unread: BodyError) -> Response<Body> {
        match unread {
            BodyError::TooLong => {
                let refused = message::too_long(MessageScan::default(), MessageUnit::Body, self.limits());
                headers::error(StatusCode::PAYLOAD_TOO_LARGE, None, &refused.error)
            }
            BodyError::Broken => headers::text(StatusCode::BAD_REQUEST, "the body ended before its length\n"),
            BodyError::Late => {
                headers::text(StatusCode::REQUEST_TIMEOUT, "the body did not come within a minute\n")
            }
            BodyError::Slow => unavailable(
                "the body came slowly, and others wait for the room that it takes; send it again\n",
            ),
            BodyError::Ended => ending(),
        }
    }
}

/// Marks a connection as working, so that it is not closed for a new connection. Refuses the request if the
/// connection is being closed.
fn work(place: &Arc<ConnectionPlace>) -> Result<ConnectionWork, Refusal> {
    place.work().ok_or_else(|| Box::new(unavailable("this connection is being closed for a new one\n")))
}

/// Waits until the share has room for a request with this number of values.
async fn make_room(share: &mut Share, values: u64) -> Result<(), Refusal> {
    let more = kib(message::bytes_of_values(values)).saturating_sub(exchange::INITIAL_CAPACITY);
    share.grow(more).await.map_err(|Ended| Box::new(ending()))
}

/// Waits for all answers of a batch, and returns them together, in the order of the requests.
async fn answers(begun: Vec<MessageOutcome>) -> Response<Body> {
    let mut answers = Vec::new();
    for item in begun {
        match item {
            MessageOutcome::Exchange(mut exchange, _) => {
                answers.extend(exchange.answer().await.map(|answer| json!(answer)));
            }
            MessageOutcome::Answered(answer) => answers.push(json!(answer)),
            MessageOutcome::Nothing => {}
            MessageOutcome::Refused(refused) => {
                let id = refused.ids.first().cloned().flatten();
                answers.push(json!({"jsonrpc": "2.0", "id": id, "error": refused.error}));
            }
        }
    }
    if answers.is_empty() {
        return headers::empty(StatusCode::ACCEPTED);
    }
    headers::json(StatusCode::OK, serde_json::to_vec(&answers))
}

/// Waits for the first message of a call. If the message is the answer, the answer is the whole response. Any
/// other message begins a stream of events, or is dropped if the client does not accept events.
async fn respond(exchange: Exchange, accepts: Accepts, revision: &ProtocolVersion) -> Response<Body> {
    let begins_with_views = exchange.begins_with_views;
    let mut response = answer(exchange, accepts, revision).await;
    if begins_with_views {
        let headers = response.headers_mut();
        headers.insert(SESSION, HeaderValue::from_static(WITH_VIEWS));
        // Without this header, a page of a configured origin could not read the session's id.
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(SESSION));
    }
    response
}

async fn answer(mut exchange: Exchange, accepts: Accepts, revision: &ProtocolVersion) -> Response<Body> {
    while let Some(message) = exchange.next().await {
        if is_last(&message) && accepts.json {
            return headers::answer(status_of(&message, revision), message);
        }
        if is_last(&message) || accepts.events {
            return headers::events(message, exchange);
        }
    }
    headers::text(StatusCode::INTERNAL_SERVER_ERROR, "the request has no answer\n")
}

/// Returns the status of an answer. From revision 2026-07-28 on, some errors have their own HTTP status. In
/// earlier revisions, a JSON-RPC error has the HTTP status of a success.
fn status_of(message: &TxJsonRpcMessage<RoleServer>, revision: &ProtocolVersion) -> StatusCode {
    let JsonRpcMessage::Error(error) = message else { return StatusCode::OK };
    if *revision < ProtocolVersion::V_2026_07_28 {
        return StatusCode::OK;
    }
    match error.error.code {
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => {
            StatusCode::BAD_REQUEST
        }
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

fn forbidden(error: OriginError) -> Response<Body> {
    let why = match error {
        OriginError::Host => "Host is neither an address, nor localhost, nor a name that --allow-host gives",
        OriginError::Origin => "Origin is neither this server nor one that --allow-origin gives",
    };
    headers::error(StatusCode::FORBIDDEN, None, &ErrorData::invalid_request(why, None))
}

fn unauthorized() -> Response<Body> {
    let why = "the token of this server is to be sent: Authorization: Bearer TOKEN";
    let mut response = headers::error(StatusCode::UNAUTHORIZED, None, &ErrorData::invalid_request(why, None));
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// Refuses a whole batch.
fn bad_batch(why: String) -> Refusal {
    Box::new(headers::error(StatusCode::BAD_REQUEST, None, &ErrorData::invalid_request(why, None)))
}

fn ending() -> Response<Body> {
    unavailable("the server is ending; nothing was done, and another process may serve this\n")
}

/// Refuses a request, which the client can retry soon, and closes the connection.
fn unavailable(why: &'static str) -> Response<Body> {
    let mut response = headers::text(StatusCode::SERVICE_UNAVAILABLE, why);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn not_allowed(methods: &'static str) -> Response<Body> {
    let mut response = headers::text(StatusCode::METHOD_NOT_ALLOWED, "this method does nothing here\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// Tells a browser what a page of an allowed origin may send.
fn preflight() -> Response<Body> {
    let mut response = headers::empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id",
        ),
    );
    response
}
