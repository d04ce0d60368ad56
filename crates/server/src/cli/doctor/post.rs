//! Connects to a server over HTTP. Follows no redirects.

use std::io;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue, LOCATION};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};

use super::session::{Connection, REVISION, SessionAnswers, converse, text_at};

/// The maximum time for the whole session.
const PATIENCE: Duration = Duration::from_secs(20);

/// The maximum length of an answer, in bytes.
const LONGEST: usize = 4 << 20;

/// The maximum length that is kept of an answer that is not an MCP message: in bytes if its status is an
/// error, or else in characters.
const SAID: usize = 300;

/// The reason why a server gave no answer.
#[derive(Debug)]
pub(super) enum PostFailure {
    /// No connection can be made.
    Unreachable(io::Error),
    /// The server answers with a status other than success. The text is the beginning of the body.
    Status(u16, String),
    /// The server redirects to this URL.
    Elsewhere(String),
    /// The server does not answer as an MCP server does.
    NoServer(String),
    /// The session takes too long.
    Slow,
}

/// Asks the server at an `http` URL for its tools, with these headers in each request.
pub(super) fn ask(uri: &Uri, headers: Vec<(HeaderName, HeaderValue)>) -> Result<SessionAnswers, PostFailure> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(PostFailure::Unreachable)?;
    let mut endpoint = Endpoint { uri, headers, runtime, until: Instant::now() + PATIENCE };
    let answers = converse(&mut endpoint, |_| None);
    // A lookup of the host's name may still be running. The shutdown does not wait for it.
    endpoint.runtime.shutdown_background();
    answers
}

struct Endpoint<'a> {
    uri: &'a Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    runtime: Runtime,
    until: Instant,
}

impl Connection for Endpoint<'_> {
    type Failure = PostFailure;

    fn send(&mut self, message: &Value) -> Result<Value, PostFailure> {
        let exchange = async {
            let response = post(self.uri, &self.headers, message).await?;
            let session = HeaderName::from_static("mcp-session-id");
            let id = response.headers().get(&session).map(|id| (session, id.clone()));
            // A notification has no result, so only the status counts.
            let Some(number) = message.get("id") else { return Ok((id, Value::Null)) };
            Ok((id, answer(response, number).await?))
        };
        let exchange = self.runtime.block_on(async { timeout_at(self.until, exchange).await });
        let (session, result) = exchange.unwrap_or(Err(PostFailure::Slow))?;
        if text_at(message, &["method"]) == "initialize" {
            self.headers.extend(session);
            let revision = HeaderName::from_static("mcp-protocol-version");
            self.headers.push((revision, HeaderValue::from_static(REVISION)));
        }
        Ok(result)
    }
}

/// Posts a message, over its own connection. Returns the response if its status is success.
async fn post(
    uri: &Uri,
    headers: &[(HeaderName, HeaderValue)],
    message: &Value,
) -> Result<Response<Incoming>, PostFailure> {
    let no_server = |error: hyper::Error| PostFailure::NoServer(error.to_string());
    let host = uri.host().unwrap_or_default();
    let address = (host.trim_start_matches('[').trim_end_matches(']'), uri.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address).await.map_err(PostFailure::Unreachable)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(no_server)?;
    tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(HOST, uri.authority().map_or("", |authority| authority.as_str()))
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(Bytes::from(message.to_string())));
    let request = request.map_err(|error| PostFailure::NoServer(error.to_string()))?;
    let mut response = sender.send_request(request).await.map_err(no_server)?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if let Some(place) = response.headers().get(LOCATION).filter(|_| status.is_redirection()) {
        return Err(PostFailure::Elsewhere(String::from_utf8_lossy(place.as_bytes()).into_owned()));
    }
    let mut said = Vec::new();
    while let (Some(Ok(frame)), true) = (response.frame().await, said.len() < SAID) {
        said.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new()));
    }
    said.truncate(SAID);
    Err(PostFailure::Status(status.as_u16(), String::from_utf8_lossy(&said).into_owned()))
}

/// Reads a response until it has the answer to a request.
async fn answer(mut response: Response<Incoming>, id: &Value) -> Result<Value, PostFailure> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_stream = kind.starts_with("text/event-stream");
    let mut body = Vec::new();
    loop {
        let frame = response.frame().await.transpose();
        let frame = frame.map_err(|error| PostFailure::NoServer(error.to_string()))?;
        let is_over = frame.is_none();
        if let Some(data) = frame.and_then(|frame| frame.into_data().ok()) {
            body.extend_from_slice(&data);
        }
        // A stream can stay open after the answer, so it is searched after each whole event.
        if (is_over || is_stream && body.ends_with(b"\n\n"))
            && let Some(message) = messages(&body, is_stream).find(|message| message.get("id") == Some(id))
        {
            return message.get("result").cloned().ok_or_else(|| {
                let why = text_at(&message, &["error", "message"]);
                PostFailure::NoServer(format!("it answers with an error: {why}"))
            });
        }
        if is_over || body.len() > LONGEST {
            let begins: String = String::from_utf8_lossy(&body).chars().take(SAID).collect();
            return Err(PostFailure::NoServer(format!("it answers with what is no message: {begins}")));
        }
    }
}

/// Returns the messages in a body: a single one, or those of a stream of events.
fn messages(body: &[u8], is_stream: bool) -> impl Iterator<Item = Value> {
    let text = String::from_utf8_lossy(body);
    let texts: Vec<String> = if is_stream {
        text.lines().filter_map(|line| Some(line.strip_prefix("data:")?.trim().to_owned())).collect()
    } else {
        vec![text.into_owned()]
    };
    texts.into_iter().filter_map(|text| serde_json::from_str(&text).ok())
}
