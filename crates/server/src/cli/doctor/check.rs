//! Finds the faults of an entry by reading it. [`start`] tries the command that the entry names.
//!
//! Judges an entry that leads to a server over HTTP, by a session with that server. Follows no redirects.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, LOCATION};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};

use super::report::{Fault, Report, ServerEntry, fault};
use super::start::{Connection, REVISION, SessionAnswers, converse, start, text_at};
use crate::cli::install::clients::{Client, Item, NAME, STATE_VARIABLES, TokenForm, ToolSearch};
use crate::cli::install::entry::{EntryServer, Words};
use crate::cli::install::http::{HeaderText, RemoteEntry, Unknown, value};
use crate::cli::install::{Syntax, at, is_there, other_entries};

/// Checks our entry, and entries under other names for servers with the same tools. `None` if there is
/// neither.
pub(super) fn check(entry: &ServerEntry<'_>) -> Option<Report> {
    let there = entry.scope.entry_in(entry.parsed);
    let path = entry.scope.path();
    let servers = path.split_last().map_or(&[][..], |(_, servers)| servers);
    let other_entries = other_entries(entry.parsed, servers, entry.env);
    let mut report = there.map_or_else(Report::default, |there| check_own(entry, there));
    let is_alone = there.is_none();
    if is_alone && other_entries.iter().any(|other| other.server == EntryServer::Python) {
        report.wrong(format!("there is no entry {}", entry.scope.place()), entry.anew());
    }
    for other in &other_entries {
        let fix = match other.server {
            EntryServer::This(_) if is_alone => {
                format!("give it the name {NAME}, which install and doctor look after")
            }
            _ => other.mend(&entry.scope.file),
        };
        report.wrong(other.what(!is_alone), fix);
    }
    (there.is_some() || !other_entries.is_empty()).then_some(report)
}

/// Says how to fix a configuration that cannot be read.
pub(super) fn mend_file(file: &Path) -> String {
    format!("mend it, or take back the last edit of it: mcp-text-editor history {}", file.display())
}

/// Checks the entry under our name.
fn check_own(entry: &ServerEntry<'_>, there: &Value) -> Report {
    let ServerEntry { client, env, .. } = *entry;
    let mut report = Report::default();
    let remote = RemoteEntry::of(client, there);
    let again = &match &remote {
        Some(remote) => again(entry, &remote.shown(), remote),
        None => entry.again(),
    };
    let words = Client::words(there).unwrap_or_default();
    let own = Words::of(&words, env).or_else(|| remote.as_ref().map(|_| Words::default()));
    let Some(own) = own else {
        let (starts, more) = match EntryServer::of(&words, env) {
            Some(_) => ("the server mcp-text-editor in Python", ", which puts this server in its place"),
            None => ("something else", " --force"),
        };
        let more = if entry.scope.is_written { more } else { "" };
        report.wrong(format!("it starts {starts}: {}", words.join(" ")), format!("{}{more}", entry.anew()));
        return report;
    };
    if there.get("disabled") == Some(&Value::Bool(true)) || there.get("enabled") == Some(&Value::Bool(false))
    {
        let fix = "take `disabled` or `enabled` out of it, or switch it on in the client";
        report.wrong("the entry is switched off", fix);
    }
    unapproved(entry, there, &own, again, &mut report);
    if !is_trusted(entry) {
        let step = if entry.is_project() { client.project_step } else { client.user_step };
        let problem = format!("{} was not told to trust {}", client.program, entry.project.display());
        report.wrong(problem, step.unwrap_or("say so in the client"));
    }
    if let Some(remote) = remote {
        report.notes.push(format!("leads to {}", remote.shown()));
        report.add(ask(entry, &remote).unwrap_or_else(Report::from));
    } else {
        let variables = variables(entry, there);
        for name in STATE_VARIABLES {
            let (own, of_server) = (env.variable(name), variables.get(&OsString::from(name)));
            if own.is_some() && own != of_server {
                report.wrong(
                    format!(
                        "the server keeps its history elsewhere than your `mcp-text-editor history` looks: it does not get {name}"
                    ),
                    format!("give it {name} in the entry: in `env`, or for Codex by its name in `env_vars`"),
                );
            }
        }
        let started = start(entry, there, &own, &variables);
        report.add(started.unwrap_or_else(Report::from));
    }
    offered(entry, there, again, &mut report);
    report.notes.extend(client.asks.as_ref().map(|asks| format!("besides: {asks}")));
    report.faults.dedup();
    report
}

/// Says whether the model sees the server's tools at once, and whether the client's own editing tools are
/// switched off.
fn offered(entry: &ServerEntry<'_>, there: &Value, again: &str, report: &mut Report) {
    let ServerEntry { client, env, .. } = *entry;
    if let Some(ToolSearch { name, switch, unless, at_once }) = client.search {
        let hides =
            format!("{} hides tools behind {name} until the model searches; {switch}", client.program);
        let due =
            unless.and_then(|member| Some((member, client.members(&Words::default(), None).remove(member)?)));
        match (due, at_once) {
            (Some((member, value)), _) if there.get(member) == Some(&value) => report
                .notes
                .push(format!("the model sees the tools at once, by `{member}`; without it {hides}")),
            (Some((member, value)), Some(tools)) => report.notes.push(format!(
                "the model sees at once {tools}, and with `{member}`: {value} in the entry all; else {hides}"
            )),
            (Some((member, value)), None) => {
                report.wrong(hides, format!("{again}, which sets `{member}` to {value} in the entry"));
            }
            (None, _) => report.notes.push(format!("besides: {hides}")),
        }
    }
    let off = client.switched_off(env, std::slice::from_ref(&entry.scope.file));
    let is_set = |item: &&Item| {
        let parsed = (entry.read)(&item.file, Syntax::Json).ok().flatten();
        parsed.is_some_and(|parsed| is_there(&parsed, item))
    };
    let set: Vec<&Item> = off.iter().filter(is_set).collect();
    if let (Some(item), false) = (set.first(), entry.is_project()) {
        let (program, path) = (client.program, item.path.join("."));
        let which = if set.len() == off.len() { "the" } else { "some of the" };
        report.notes.push(format!(
            "{which} tools of {program} that change files are switched off, by {path} in {}",
            item.file.display()
        ));
    }
}

/// Adds the reasons why the client would ask a person before each call. `again` is the command that writes
/// the entry anew.
fn unapproved(entry: &ServerEntry<'_>, there: &Value, own: &Words, again: &str, report: &mut Report) {
    let ServerEntry { client, env, .. } = *entry;
    let asks = format!(
        "{} asks before it calls the tools, and cannot where nobody is there to be asked",
        client.program
    );
    for name in ["trust", "default_tools_approval_mode", "autoApprove"] {
        if let Some(due) = client.members(own, None).remove(name).filter(|due| there.get(name) != Some(due)) {
            // `install` adds missing members, and does not change what a person has written.
            let is_added = entry.scope.is_written && !own.start.is_empty() && there.get(name).is_none();
            let set = format!("set `{name}` to {due} in the entry");
            report.wrong(asks.clone(), if is_added { again.to_owned() } else { set });
        }
    }
    for item in client.approval(env, entry.is_project().then_some(entry.project)) {
        match (entry.read)(&item.file, Syntax::Json) {
            Ok(parsed) if parsed.as_ref().is_some_and(|parsed| is_there(parsed, &item)) => {}
            Ok(_) => {
                let (item, list, file) = (&item.item, item.path.join("."), item.file.display());
                report.wrong(format!("{item} is not in {list} of {file}: {asks}"), again);
            }
            Err(why) => report.wrong(why, mend_file(&item.file)),
        }
    }
}

/// Returns the environment that the client gives the server.
fn variables(entry: &ServerEntry<'_>, there: &Value) -> BTreeMap<OsString, OsString> {
    let ServerEntry { client, env, .. } = *entry;
    let by_name = there.get("env_vars").and_then(Value::as_array);
    let passes = |name: &OsString| {
        let name = name.to_string_lossy().to_uppercase();
        client.passes.gives(&name) || by_name.is_some_and(|names| names.iter().any(|own| *own == *name))
    };
    let own = env.variables.clone().into_iter().filter(|(name, _)| passes(name));
    let added = ["env", "environment"].into_iter().filter_map(|name| there.get(name)?.as_object()).flatten();
    let added = added
        .filter_map(|(name, value)| Some((env.system.variable_name(name), OsString::from(value.as_str()?))));
    own.chain(added).collect()
}

/// Whether the client trusts the project, as far as its files say. Some clients start a server only in a
/// directory that the person has marked as trusted; for all other clients, returns true.
fn is_trusted(entry: &ServerEntry<'_>) -> bool {
    let ServerEntry { client, env, project, .. } = *entry;
    let read = |path: &Path, syntax| (entry.read)(path, syntax).ok().flatten();
    let is_above = |text: &str| project.starts_with(text);
    match client.name {
        "gemini" => {
            let settings = env.named_or_home("GEMINI_CLI_HOME", "").join(".gemini");
            let folders = read(&settings.join("trustedFolders.json"), Syntax::Json);
            let by_folder = folders.as_ref().and_then(Value::as_object).is_some_and(|folders| {
                folders.iter().any(|(folder, level)| match level.as_str() {
                    Some("TRUST_FOLDER") => is_above(folder),
                    Some("TRUST_PARENT") => {
                        Path::new(folder).parent().is_some_and(|parent| project.starts_with(parent))
                    }
                    _ => false,
                })
            });
            let own = read(&settings.join("settings.json"), Syntax::Json);
            let is_off = own.as_ref().and_then(|own| at(own, &["security", "folderTrust", "enabled"]))
                == Some(&Value::Bool(false));
            by_folder
                || is_off
                || env.variable("GEMINI_CLI_TRUST_WORKSPACE").is_some_and(|value| value == "true")
        }
        "codex" if entry.is_project() => {
            let own = read(&env.named_or_home("CODEX_HOME", ".codex").join("config.toml"), Syntax::Toml);
            let projects = own.as_ref().and_then(|own| own.get("projects")).and_then(Value::as_object);
            projects.is_some_and(|projects| {
                projects.iter().any(|(folder, told)| {
                    is_above(folder) && told.get("trust_level") == Some(&Value::from("trusted"))
                })
            })
        }
        "copilot" if entry.is_project() => {
            let own = read(&env.named_or_home("COPILOT_HOME", ".copilot").join("config.json"), Syntax::Json);
            let folders =
                own.as_ref().and_then(|own| own.get("trusted_folders").or_else(|| own.get("trustedFolders")));
            let folders = folders.and_then(Value::as_array).into_iter().flatten();
            folders.filter_map(Value::as_str).any(is_above)
        }
        _ => true,
    }
}

/// The name that this server gives itself.
const OWN: &str = env!("CARGO_PKG_NAME");

/// Opens a session with the server at the URL of an entry, unless the entry belongs to a project that is not
/// trusted. The error says what is wrong. Other modules check the other members of the entry.
pub(super) fn ask(entry: &ServerEntry<'_>, remote: &RemoteEntry<'_>) -> Result<Report, Fault> {
    let program = entry.client.program;
    if entry.is_project() && !entry.is_trusted {
        return Err(fault(
            "it is the project's: nobody is asked there unasked, since whoever made the project would choose who is, and what is sent",
            entry.trusting(),
        ));
    }
    if remote.is_sse {
        return Err(fault(
            format!("it is for the transport SSE, as {program} reads it, which this server does not speak"),
            again(entry, &remote.shown(), remote),
        ));
    }
    let texts = remote.headers.iter().map(|(_, text)| *text).chain([HeaderText::Text(remote.url)]);
    let known = texts.map(|text| value(entry.client, text, &entry.env.variables)).collect();
    let mut known: Vec<String> = match known {
        Ok(known) => known,
        Err(Unknown::Asked) => {
            return Ok(Report::unasked(format!("nobody is asked there: {program} has the token")));
        }
        Err(Unknown::Unset(name)) => {
            return Err(fault(
                format!("it wants the variable {name}, which is not set here"),
                format!(
                    "export {name}=… where {program} is started; it is the token that the server has in --token-file"
                ),
            ));
        }
    };
    let url = known.pop().unwrap_or_default();
    let mut headers = Vec::new();
    for ((name, _), value) in remote.headers.iter().zip(&known) {
        let header = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value));
        let (Ok(header), Ok(value)) = header else {
            let problem = format!("its header {name} cannot be sent: it holds a character that none may");
            return Err(fault(problem, "take it out, or mend it"));
        };
        headers.push((header, value));
    }
    let uri = url.parse::<Uri>().ok().filter(|uri| uri.host().is_some());
    match uri.as_ref().map(|uri| (uri, uri.scheme_str())) {
        Some((uri, Some("http"))) => {
            let sends_token = headers.iter().any(|(name, _)| name == AUTHORIZATION);
            let answers = ask_at(uri, headers);
            let answers = answers.map_err(|failure| judge(entry, remote, uri, &failure, sends_token))?;
            let (name, version, tools) = (answers.name, answers.version, answers.tools.join(", "));
            let mut report = Report::default();
            if name != OWN {
                let problem = format!("another server answers there, {name}");
                report.wrong(problem, again(entry, "URL", remote));
            }
            report.notes.push(format!("answers as {name} {version}, with {tools}"));
            Ok(report)
        }
        Some((_, Some("https"))) => Ok(Report::unasked(
            "nobody is asked there: doctor speaks no TLS; the client's own list of servers says whether it answers"
                .to_owned(),
        )),
        _ => Err(fault("it is no URL of http or https", again(entry, "URL", remote))),
    }
}

/// Says what a failure means, and how to fix it.
fn judge(
    entry: &ServerEntry<'_>,
    remote: &RemoteEntry<'_>,
    uri: &Uri,
    failure: &PostFailure,
    sends_token: bool,
) -> Fault {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let look = "look whether it is this server that listens there, and what its log says";
    match failure {
        PostFailure::Unreachable(error) => fault(
            format!("nobody answers at {authority}: {error}"),
            format!(
                "start the server there: mcp-text-editor --http {authority} DIR, or with --token-file FILE"
            ),
        ),
        PostFailure::Slow => fault(format!("{authority} does not answer in time"), look),
        PostFailure::Status(401, _) if sends_token => {
            let variable = of_variable(entry, remote);
            fault(
                "the server refuses the token that the entry has the client send (401)",
                format!("give the client the token that the server has in its --token-file{variable}"),
            )
        }
        PostFailure::Status(401, _) => fault(
            "the server wants a token, and the entry names none (401)",
            again(entry, &remote.shown(), remote),
        ),
        PostFailure::Status(403, said) => fault(
            format!("the server does not serve under this name (403): {said}"),
            format!("start it with --allow-host {}", uri.host().unwrap_or_default()),
        ),
        PostFailure::Status(404, _) => fault(
            "the server has nothing at this path (404)",
            format!("lead it to http://{authority}/mcp, where this server answers"),
        ),
        PostFailure::Status(status, said) => fault(format!("it answers with status {status}: {said}"), look),
        PostFailure::Elsewhere(place) => fault(
            format!(
                "it sends whoever asks to {place}, and doctor does not follow, as the token would go along"
            ),
            "lead the entry to that place, if it is yours",
        ),
        PostFailure::NoServer(why) => {
            fault(format!("it is no MCP server that answers there: {why}"), again(entry, "URL", remote))
        }
    }
}

/// Returns the command that gives the entry this URL. If `install` does not write such entries, returns the
/// entry's own advice ([`ServerEntry::again`]).
pub(super) fn again(entry: &ServerEntry<'_>, url: &str, remote: &RemoteEntry<'_>) -> String {
    let has_token = remote.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if !entry.scope.is_written {
        return entry.again();
    }
    // If the entry already has a token, it stays.
    let token = if takes_variable(entry) && !has_token { " --token-env NAME" } else { "" };
    format!("{} --http {url}{token}", entry.again())
}

/// Tells whether the client can take the token from a variable, so that the entry need not contain the token.
fn takes_variable(entry: &ServerEntry<'_>) -> bool {
    entry.client.token_form().is_some_and(|form| form != TokenForm::Literal)
}

/// Returns the end of the advice about a token: the variable that has the token, or how to name a variable in
/// the entry. Empty if the entry names no variable and `install` cannot write one.
fn of_variable(entry: &ServerEntry<'_>, remote: &RemoteEntry<'_>) -> String {
    let mut headers = remote.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    match headers.find_map(|(_, written)| value(entry.client, *written, &BTreeMap::new()).err()) {
        Some(Unknown::Unset(name)) => format!(", in {name}"),
        _ if entry.scope.is_written && takes_variable(entry) => {
            format!(
                ", or name the variable that has it: {} --http {} --token-env NAME",
                entry.again(),
                remote.shown()
            )
        }
        _ => String::new(),
    }
}

/// The maximum time for the whole session.
const PATIENCE: Duration = Duration::from_secs(20);

/// The maximum length of an answer, in bytes.
const LONGEST: usize = 4 << 20;

/// The maximum length that is kept of an answer that is not an MCP message: in bytes if its status is an
/// error, or else in characters.
const SAID: usize = 300;

/// The reason why a server gave no answer.
#[derive(Debug)]
enum PostFailure {
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
fn ask_at(uri: &Uri, headers: Vec<(HeaderName, HeaderValue)>) -> Result<SessionAnswers, PostFailure> {
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
