//! What is at each path, and who may have it: the checks of a request, in their order, up to the message in its body.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW,
    HeaderMap, HeaderValue, VARY, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, ProtocolVersion};
use rmcp::service::TxJsonRpcMessage;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use super::batch;
use super::body::{self, Body};
use super::exchange::{self, Exchange, Held, is_last};
use super::headers::{self, Accepts};
use super::metrics;
use super::origin::{self, Stranger};
use super::settings::Settings;
use crate::limits::{Limit, Limits};
use crate::protocol::server::Server;
use crate::transport::message::{self, Parsed, Refused, Unit};
use crate::transport::scan::Scan;

/// How long a client may take to send a body.
const BODY_TIME: Duration = Duration::from_mins(1);

/// How many KiB of bodies may be in work, each request with its share. What is beyond waits.
const MAX_HELD: u32 = 64 << 10;

/// How many KiB a request in work counts for besides its body.
const REQUEST: usize = 64;

/// How many bytes each value in a request counts for, if that is more for all of them than [`REQUEST`].
const VALUE: u64 = 640;

/// All that answers the requests of a process.
pub(super) struct Endpoint {
    server: Server,
    settings: Settings,
    counted: &'static PrometheusHandle,
    /// How many KiB may still be taken in.
    room: Arc<Semaphore>,
    /// Cloned for each request in work, so that the other end knows when none is left.
    in_work: mpsc::Sender<Infallible>,
}

/// A response that ends the checks of a request.
type Refusal = Box<Response<Body>>;

/// What has become of a message.
enum Begun {
    /// It is a request in work, of this revision.
    Exchange(Exchange, ProtocolVersion),
    /// It has no answer.
    Nothing,
    /// It is not served.
    Refused(Box<Refused>),
}

impl Endpoint {
    /// Makes the endpoint of a server. `in_work` is held for each request until its work has ended.
    pub(super) fn new(
        server: Server,
        settings: Settings,
        counted: &'static PrometheusHandle,
        in_work: mpsc::Sender<Infallible>,
    ) -> Self {
        Self { server, settings, counted, room: Arc::new(Semaphore::new(MAX_HELD as usize)), in_work }
    }

    /// Answers a request, whatever it is.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (began, method) = (Instant::now(), request.method().clone());
        let (path, response) = match request.uri().path() {
            "/mcp" => {
                let allowed = origin::configured(request.headers(), &self.settings).cloned();
                let mut response = self.mcp(request).await.unwrap_or_else(|refusal| *refusal);
                if let Some(origin) = allowed {
                    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
                }
                response.headers_mut().insert(VARY, HeaderValue::from_static("Origin"));
                ("/mcp", response)
            }
            "/healthz" => ("/healthz", Self::healthz(&method)),
            "/metrics" => ("/metrics", self.metrics(&request).unwrap_or_else(|refusal| *refusal)),
            _ => ("other", body::text(StatusCode::NOT_FOUND, "there are /mcp, /healthz and /metrics\n")),
        };
        let (status, seconds) = (response.status().as_u16(), began.elapsed().as_secs_f64());
        tracing::info!(%method, path, status, seconds, "request");
        response
    }

    /// Says that the process serves. It is told to anybody, by whatever name, because load balancers know no token.
    fn healthz(method: &Method) -> Response<Body> {
        if matches!(*method, Method::GET | Method::HEAD) {
            body::text(StatusCode::OK, "ok\n")
        } else {
            not_allowed("GET, HEAD")
        }
    }

    /// Tells what was counted, to whoever may call.
    fn metrics(&self, request: &Request<Incoming>) -> Result<Response<Body>, Refusal> {
        self.admit(request)?;
        if *request.method() != Method::GET {
            return Err(Box::new(not_allowed("GET")));
        }
        Ok(body::of(StatusCode::OK, metrics::KIND, self.counted.render()))
    }

    /// Checks whom a request is addressed to, which page it is from, and its token.
    fn admit(&self, request: &Request<Incoming>) -> Result<(), Refusal> {
        origin::check(request.headers(), &self.settings).map_err(|stranger| Box::new(forbidden(stranger)))?;
        // A browser asks beforehand, without the token, what it may send.
        let is_preflight = request.method() == Method::OPTIONS;
        let token = self.settings.token.as_ref().filter(|_| !is_preflight);
        if token.is_some_and(|token| !token.is_in(request.headers())) {
            return Err(Box::new(unauthorized()));
        }
        Ok(())
    }

    async fn mcp(&self, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        self.admit(&request)?;
        if request.method() == Method::OPTIONS {
            return Ok(preflight());
        }
        // Without sessions there is no stream to get, and nothing to delete.
        if request.method() != Method::POST {
            return Err(Box::new(not_allowed("POST")));
        }
        let accepts = headers::accepts(request.headers());
        if !accepts.json && !accepts.events {
            let why = "an answer is application/json or text/event-stream, and Accept takes neither\n";
            return Err(Box::new(body::text(StatusCode::NOT_ACCEPTABLE, why)));
        }
        if !headers::is_json(request.headers()) {
            let why = "a message is sent as application/json\n";
            return Err(Box::new(body::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, why)));
        }
        let (head, incoming) = request.into_parts();
        let text = self.read(incoming).await?;
        let is_of_batches = headers::revision(&head.headers) == Ok(ProtocolVersion::V_2025_03_26);
        match batch::items(&text).filter(|_| is_of_batches) {
            Some(items) if accepts.json => Ok(self.batch(&head.headers, items).await),
            Some(_) => {
                let why = "a batch is answered as application/json\n";
                Err(Box::new(body::text(StatusCode::NOT_ACCEPTABLE, why)))
            }
            None => Ok(match self.begin(&head.headers, &text).await {
                Begun::Exchange(exchange, revision) => respond(exchange, accepts, &revision).await,
                Begun::Nothing => body::empty(StatusCode::ACCEPTED),
                Begun::Refused(refused) => {
                    let id = refused.ids.first().and_then(Option::as_ref);
                    body::error(headers::status_of(&refused.error), id, &refused.error)
                }
            }),
        }
    }

    /// Begins to serve a message.
    async fn begin(&self, headers: &HeaderMap, text: &[u8]) -> Begun {
        let Parsed { message, values } = match message::parse(text, Unit::Body, self.limits()) {
            Ok(parsed) => parsed,
            Err(refused) => return Begun::Refused(refused),
        };
        let revision = headers::check(headers, &message);
        // Nobody waits for an answer to anything else, and what is withdrawn is closed.
        let JsonRpcMessage::Request(request) = message else { return Begun::Nothing };
        match revision {
            Err(error) => Begun::Refused(Box::new(Refused { ids: vec![Some(request.id)], error })),
            Ok(revision) => {
                let held = self.hold(text.len(), values).await;
                Begun::Exchange(exchange::begin(&self.server, request, revision.clone(), held), revision)
            }
        }
    }

    /// Serves several messages at a time. The answers come together, in the order of the requests.
    async fn batch(&self, headers: &HeaderMap, items: Vec<&[u8]>) -> Response<Body> {
        let mut begun = Vec::new();
        for item in items {
            begun.push(self.begin(headers, item).await);
        }
        let mut answers = Vec::new();
        for item in begun {
            match item {
                Begun::Exchange(mut exchange, _) => {
                    answers.extend(exchange.answer().await.map(|answer| json!(answer)));
                }
                Begun::Nothing => {}
                Begun::Refused(refused) => {
                    let id = refused.ids.first().cloned().flatten();
                    answers.push(json!({"jsonrpc": "2.0", "id": id, "error": refused.error}));
                }
            }
        }
        if answers.is_empty() {
            return body::empty(StatusCode::ACCEPTED);
        }
        body::json(StatusCode::OK, serde_json::to_vec(&answers))
    }

    fn limits(&self) -> &Limits {
        &self.server.context().config.limits
    }

    /// Reads the body of a request as far as it may go.
    async fn read(&self, incoming: Incoming) -> Result<Bytes, Refusal> {
        let limit = self.limits().size(Limit::Line);
        let too_long = || Box::new(self.too_long());
        if incoming.size_hint().lower() > self.limits().get(Limit::Line) {
            return Err(too_long());
        }
        match tokio::time::timeout(BODY_TIME, Limited::new(incoming, limit).collect()).await {
            Ok(Ok(collected)) => Ok(collected.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
            Ok(Err(_)) => {
                Err(Box::new(body::text(StatusCode::BAD_REQUEST, "the body ended before its length\n")))
            }
            Err(_) => {
                let why = "the body did not come within a minute\n";
                Err(Box::new(body::text(StatusCode::REQUEST_TIMEOUT, why)))
            }
        }
    }

    fn too_long(&self) -> Response<Body> {
        let refused = message::too_long(Scan::default(), Unit::Body, self.limits());
        body::error(StatusCode::PAYLOAD_TOO_LARGE, None, &refused.error)
    }

    /// Waits until there is room for a request of this length and of so many values.
    async fn hold(&self, length: usize, values: u64) -> Held {
        let values = usize::try_from(values.saturating_mul(VALUE)).unwrap_or(usize::MAX);
        let kib = (length / 1024).saturating_add(REQUEST.max(values / 1024));
        let share = u32::try_from(kib).unwrap_or(MAX_HELD).min(MAX_HELD);
        // The semaphore is never closed, so this only waits.
        (Arc::clone(&self.room).acquire_many_owned(share).await.ok(), self.in_work.clone())
    }
}

/// Waits for the first message of a call: its answer is the whole response; another one begins a stream of events, for
/// a client that takes those.
async fn respond(mut exchange: Exchange, accepts: Accepts, revision: &ProtocolVersion) -> Response<Body> {
    while let Some(message) = exchange.next().await {
        if is_last(&message) && accepts.json {
            return body::json(status_of(&message, revision), serde_json::to_vec(&message));
        }
        if is_last(&message) || accepts.events {
            return body::events(&message, exchange);
        }
    }
    body::text(StatusCode::INTERNAL_SERVER_ERROR, "the request has no answer\n")
}

/// Returns the status of an answer. From revision 2026-07-28 on it tells some errors; before, an error of JSON-RPC was
/// a success of HTTP.
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

fn forbidden(stranger: Stranger) -> Response<Body> {
    let why = match stranger {
        Stranger::Host => "Host is neither an address, nor localhost, nor a name that --allow-host gives",
        Stranger::Origin => "Origin is neither this server nor one that --allow-origin gives",
    };
    body::error(StatusCode::FORBIDDEN, None, &ErrorData::invalid_request(why, None))
}

fn unauthorized() -> Response<Body> {
    let why = "the token of this server is to be sent: Authorization: Bearer TOKEN";
    let mut response = body::error(StatusCode::UNAUTHORIZED, None, &ErrorData::invalid_request(why, None));
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn not_allowed(methods: &'static str) -> Response<Body> {
    let mut response = body::text(StatusCode::METHOD_NOT_ALLOWED, "this method does nothing here\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// Tells a browser what a page of an allowed origin may send.
fn preflight() -> Response<Body> {
    let mut response = body::empty(StatusCode::NO_CONTENT);
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
