//! Judges an entry that leads to a server over HTTP, by a session with that server.

use std::collections::BTreeMap;

use hyper::Uri;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::post::{self, PostFailure};
use super::report::{Fault, Report, ServerEntry, fault};
use crate::cli::install::clients::TokenForm;
use crate::cli::install::http::{HeaderText, RemoteEntry, Unknown, value};

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
            let answers = post::ask(uri, headers);
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
