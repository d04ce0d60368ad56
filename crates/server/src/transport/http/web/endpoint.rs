//! Serves the page that shows past edits, and the paths below `/api/`, from which the page gets its data.
//! Anybody can get the page itself. `/api/session` requires the code in the link, and returns the secret that
//! all other paths below `/api/` require.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, EXPECT, HeaderName, HeaderValue, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::keys::{Keys, is_anothers};
use super::query::{Query, take_back};
use crate::history::{self, BoxedProblem, Past};
use crate::page;
use crate::problem::{Code, Problem};
use crate::render::past as words;
use crate::transport::http::access::{HttpSettings, check_origin};
use crate::transport::http::connection::{ConnectionEnds, Responder};
use crate::transport::http::exchange::{self, BodyError};
use crate::transport::http::headers::{self, Body};
use crate::transport::http::intake::Intake;
use crate::transport::http::places::ConnectionPlace;

/// The maximum bytes of a body, enough for the maximum number of ids in a request to undo edits.
const BODY: usize = 256 << 10;

/// The state that the page requests regularly.
#[derive(Debug)]
pub(super) struct Pulse {
    /// The time of the newest request, and the progress of an undo in work: the number of done steps, and the
    /// total.
    state: Mutex<(Instant, Option<(usize, usize)>)>,
}

impl Pulse {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::new((Instant::now(), None)) })
    }

    /// Waits until no request has arrived for the time `idle`.
    pub(super) async fn is_idle_for(&self, idle: Duration) {
        loop {
            let left = idle.saturating_sub(self.state().0.elapsed());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, (Instant, Option<(usize, usize)>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The responder to all requests of open pages.
#[derive(Debug)]
pub(super) struct WebEndpoint {
    pub(super) page: Bytes,
    /// The Content-Security-Policy of the page.
    pub(super) policy: HeaderValue,
    pub(super) past: Arc<Past>,
    pub(super) keys: Keys,
    pub(super) pulse: Arc<Pulse>,
    pub(super) intake: Arc<Intake>,
    pub(super) settings: HttpSettings,
    /// Whether no new edit may begin.
    pub(super) is_ending: Arc<AtomicBool>,
}

/// Returns the page, and the policy for its header: the policy in the page, and a ban on showing the page in
/// a frame.
pub(super) fn page() -> (Bytes, HeaderValue) {
    let page = page::of_web();
    let policy = format!("{}; frame-ancestors 'none'", page::policy(&page).unwrap_or("default-src 'none'"));
    let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    (page.into(), policy)
}

impl Responder for WebEndpoint {
    async fn answer(&self, request: Request<Incoming>, place: &Arc<ConnectionPlace>) -> Response<Body> {
        let (request, mut incoming) = request.into_parts();
        let mut response = match check_origin(&request.uri, &request.headers, &self.settings) {
            Ok(()) => self.at(&request, &mut incoming, place).await,
            Err(_) => headers::text(StatusCode::FORBIDDEN, "Host or Origin is not this page's\n"),
        };
        tracing::debug!(status = response.status().as_u16(), "request");
        self.guard(&mut response);
        // A client that expects `100 Continue` has not sent the body, and need not send it.
        if response.status().is_client_error() && !request.headers.contains_key(EXPECT) {
            exchange::discard(incoming, 2 * BODY, &self.intake).await;
        }
        response
    }
}

impl WebEndpoint {
    async fn at(
        &self,
        request: &Parts,
        incoming: &mut Incoming,
        place: &Arc<ConnectionPlace>,
    ) -> Response<Body> {
        let (path, method) = (request.uri.path(), &request.method);
        match path {
            "/" if matches!(*method, Method::GET | Method::HEAD) => {
                headers::of(StatusCode::OK, "text/html; charset=utf-8", self.page.clone())
            }
            "/" => not_allowed("GET, HEAD"),
            // Browsers request this path on their own.
            "/favicon.ico" => headers::empty(StatusCode::NO_CONTENT),
            "/api/session" if *method == Method::POST && is_of_another_user(request) => {
                tracing::warn!("another user of this machine has the link, and was refused");
                headers::text(StatusCode::FORBIDDEN, "this page is another user's\n")
            }
            "/api/session" if *method == Method::POST => match self.keys.redeem(&request.headers) {
                Some(secret) => told(StatusCode::OK, &json!({ "secret": secret })),
                None => unauthorized(),
            },
            "/api/session" => not_allowed("POST"),
            path if path.starts_with("/api/") => {
                if !self.keys.admit(&request.headers) {
                    return unauthorized();
                }
                self.pulse.state().0 = Instant::now();
                let Some(work) = place.work() else { return busy() };
                let response = self.api(request, incoming).await.unwrap_or_else(|fault| refused(&fault));
                response.map(|body| body.during(work))
            }
            _ => headers::text(StatusCode::NOT_FOUND, "there is / alone\n"),
        }
    }

    async fn api(&self, request: &Parts, incoming: &mut Incoming) -> Result<Response<Body>, BoxedProblem> {
        let path = request.uri.path();
        let is_post = path == "/api/take-back";
        if request.method != if is_post { Method::POST } else { Method::GET } {
            return Ok(not_allowed(if is_post { "POST" } else { "GET" }));
        }
        let query = Query::parse(request.uri.query())?;
        match path {
            "/api/edits" => {
                let wanted = query.edit_query()?;
                self.ask(move |past| history::list(past, &wanted)).await
            }
            "/api/states" => {
                let path = query.need("path")?;
                self.ask(move |past| history::states(past, &path)).await
            }
            "/api/difference" => {
                let (path, from, to) = (query.need("path")?, query.need("from")?, query.need("to")?);
                self.ask(move |past| history::difference(past, &path, &from, &to)).await
            }
            "/api/lines" => {
                let (edit, path) = (query.need("edit")?, query.need("path")?);
                let (start, count) = (query.number("start")?, query.number("count")?);
                self.ask(move |past| history::lines(past, &path, &edit, start, count)).await
            }
            "/api/take-back" => self.take_back(request, incoming).await,
            "/api/now" => {
                let progress =
                    self.pulse.state().1.map(|(done, total)| json!({"done": done, "total": total}));
                self.ask(move |past| {
                    // `false` means that the history cannot be read.
                    let newest =
                        history::newest(past).map_or(json!(false), |id| json!(id.map(|id| id.to_string())));
                    Ok(json!({"newest": newest, "progress": progress}))
                })
                .await
            }
            path => match path.strip_prefix("/api/edits/") {
                Some(id) => {
                    let id = id.to_owned();
                    self.ask(move |past| history::show(past, &id)).await
                }
                None => Err(Box::new(Problem::new(Code::NotFound, "There is nothing at this path.", ""))),
            },
        }
    }

    /// Reads from the history, on a blocking thread.
    async fn ask(
        &self,
        question: impl FnOnce(&Past) -> Result<Value, BoxedProblem> + Send + 'static,
    ) -> Result<Response<Body>, BoxedProblem> {
        let answer = self.during(move |past| question(past)).await??;
        Ok(told(StatusCode::OK, &answer))
    }

    async fn take_back(
        &self,
        request: &Parts,
        incoming: &mut Incoming,
    ) -> Result<Response<Body>, BoxedProblem> {
        if !headers::is_json(&request.headers) || !headers::is_plain(&request.headers) {
            let why = "a body is sent as application/json, as it is\n";
            return Ok(headers::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
        }
        let Ok(mut share) = self.intake.share().await else { return Ok(busy()) };
        let text = match exchange::read(incoming, BODY, &self.intake, &mut share).await {
            Ok(text) => text,
            Err(BodyError::TooLong) => {
                return Ok(headers::text(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long\n"));
            }
            Err(BodyError::Broken) => {
                return Ok(headers::text(StatusCode::BAD_REQUEST, "the body is broken\n"));
            }
            Err(BodyError::Late | BodyError::Slow | BodyError::Ended) => return Ok(busy()),
        };
        let asked = take_back(&text)?;
        let is_dry_run = asked.is_dry_run;
        let (pulse, is_ending) = (Arc::clone(&self.pulse), Arc::clone(&self.is_ending));
        let taken = self.during(move |past| {
            let taken = history::take_back(past, &asked, &mut |done, total| {
                pulse.state().1 = Some((done, total));
                !is_ending.load(Ordering::Relaxed)
            });
            pulse.state().1 = None;
            taken
        });
        let taken = taken.await??;
        let is_refused = !is_dry_run && !taken.is_free;
        Ok(told(if is_refused { StatusCode::CONFLICT } else { StatusCode::OK }, &taken.results))
    }

    /// Works with the history, on a blocking thread. The work continues even if the client disconnects, and
    /// the process waits for its end.
    async fn during<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Past) -> T + Send + 'static,
    ) -> Result<T, BoxedProblem> {
        let share = self.intake.share().await.map_err(|_| words::ending())?;
        let past = Arc::clone(&self.past);
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&past);
            drop(share);
            done
        });
        done.await.map_err(|error| {
            tracing::error!(%error, "a question of the page was not answered");
            words::defect()
        })
    }

    /// Adds the headers of every answer. They say that the answer is only for this page, must not be stored,
    /// and has exactly the type that it names.
    fn guard(&self, response: &mut Response<Body>) {
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        for (name, value) in [
            (CACHE_CONTROL, "no-store"),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (X_FRAME_OPTIONS, "DENY"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

/// Tells whether a request is known to come from another user of the machine.
fn is_of_another_user(request: &Parts) -> bool {
    let ends = request.extensions.get::<ConnectionEnds>();
    ends.is_some_and(|ends| is_anothers(ends.client, ends.server))
}

fn told(status: StatusCode, value: &Value) -> Response<Body> {
    headers::json(status, serde_json::to_vec(value))
}

fn refused(problem: &Problem) -> Response<Body> {
    let status = match problem.code {
        Code::InvalidArguments => StatusCode::BAD_REQUEST,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::ToolDisabled => StatusCode::FORBIDDEN,
        Code::Conflict => StatusCode::CONFLICT,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::Busy => StatusCode::LOCKED,
        Code::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let mut error = json!({"code": problem.code.as_str(), "reason": problem.reason});
    if let (false, Some(error)) = (problem.hint.is_empty(), error.as_object_mut()) {
        error.insert("hint".to_owned(), json!(problem.hint));
    }
    told(status, &json!({ "error": error }))
}

fn unauthorized() -> Response<Body> {
    let reason = "The link works once, and in one tab.";
    let error = json!({"error": {"code": "unauthorized", "reason": reason}});
    let mut response = told(StatusCode::UNAUTHORIZED, &error);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn busy() -> Response<Body> {
    headers::text(
        StatusCode::SERVICE_UNAVAILABLE,
        "there are too many pages or requests, or the program ends\n",
    )
}

fn not_allowed(methods: &'static str) -> Response<Body> {
    let mut response = headers::text(StatusCode::METHOD_NOT_ALLOWED, "this method does nothing here\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}
