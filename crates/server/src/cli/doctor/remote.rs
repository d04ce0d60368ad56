//! Judges an entry that leads to a server over HTTP, by asking that server.

use hyper::Uri;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::entry::{Report, ServerEntry, Wrong};
use super::post::{self, PostAnswers, PostFailure};
use crate::cli::install::clients::TokenForm;
use crate::cli::install::http::{HeaderText, RemoteEntry, Unknown, value};

/// The name that this server gives itself.
const OWN: &str = env!("CARGO_PKG_NAME");

/// Asks the server at the URL of an entry, and says what is wrong. The other members of the entry are checked
/// elsewhere.
pub(super) fn ask(entry: &ServerEntry<'_>, remote_entry: &RemoteEntry<'_>) -> Report {
    let url = remote_entry.shown();
    let mut report = Report { done: vec![format!("leads to {url}")], ..Report::default() };
    match asked(entry, remote_entry) {
        Ok(Some(answers)) => {
            let PostAnswers { name, version, tools } = answers;
            report.done.push(format!("answers as {name} {version}, with {}", tools.join(", ")));
            if name != OWN {
                let what = format!("another server answers there, {name}");
                report.wrong.push(Wrong { what, mend: again(entry, "URL", remote_entry) });
            }
        }
        Ok(None) => {
            report.is_unasked = true;
            report.done.push(
                "nobody is asked there: doctor speaks no TLS; the client's own list of servers says whether it answers"
                    .to_owned(),
            );
        }
        Err(NotAsked::Asks) => {
            report.is_unasked = true;
            report.done.push(format!("nobody is asked there: {} has the token", entry.client.program));
        }
        Err(NotAsked::Wrong(wrong)) => report.wrong.push(wrong),
    }
    report
}

/// The reason why the server is not asked.
enum NotAsked {
    /// A part of the entry, the token, is not known here: a person types it into the client.
    Asks,
    Wrong(Wrong),
}

/// Asks the server, if that may be done. `None` if its URL is one of `https`, which `doctor` does not speak.
fn asked(entry: &ServerEntry<'_>, remote_entry: &RemoteEntry<'_>) -> Result<Option<PostAnswers>, NotAsked> {
    let ServerEntry { client, machine, .. } = *entry;
    let wrong = |what: String, mend: String| NotAsked::Wrong(Wrong { what, mend });
    if entry.is_project && !entry.is_trusted {
        return Err(wrong(
            "it is the project's: nobody is asked there unasked, since whoever made the project would choose who is, and what is sent"
                .to_owned(),
            entry.trusting(),
        ));
    }
    if remote_entry.is_sse {
        return Err(wrong(
            format!(
                "it is for the transport SSE, as {} reads it, which this server does not speak",
                client.program
            ),
            again(entry, &remote_entry.shown(), remote_entry),
        ));
    }
    let known = |written| match value(client, written, &machine.variables) {
        Ok(value) => Ok(value),
        Err(Unknown::Asked) => Err(NotAsked::Asks),
        Err(Unknown::Unset(name)) => Err(wrong(
            format!("it wants the variable {name}, which is not set here"),
            format!(
                "export {name}=… where {} is started; it is the token that the server has in --token-file",
                client.program
            ),
        )),
    };
    let mut headers = Vec::new();
    for (name, written) in &remote_entry.headers {
        let value = HeaderValue::from_str(&known(*written)?);
        let (Ok(known_name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), value) else {
            let what = format!("its header {name} cannot be sent: it holds a character that none may");
            return Err(wrong(what, "take it out, or mend it".to_owned()));
        };
        headers.push((known_name, value));
    }
    let url = known(HeaderText::Text(remote_entry.url))?;
    let uri = url.parse::<Uri>().ok().filter(|uri| uri.host().is_some());
    match uri.as_ref().map(|uri| (uri, uri.scheme_str())) {
        Some((uri, Some("http"))) => {
            let sends_token = headers.iter().any(|(name, _)| name == AUTHORIZATION);
            let answers = post::ask(uri, &headers);
            answers
                .map(Some)
                .map_err(|failure| NotAsked::Wrong(judge(entry, remote_entry, uri, &failure, sends_token)))
        }
        Some((_, Some("https"))) => Ok(None),
        _ => Err(wrong("it is no URL of http or https".to_owned(), again(entry, "URL", remote_entry))),
    }
}

/// Says what a failure means, and what mends it.
fn judge(
    entry: &ServerEntry<'_>,
    remote_entry: &RemoteEntry<'_>,
    uri: &Uri,
    failure: &PostFailure,
    sends_token: bool,
) -> Wrong {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (what, mend) = match failure {
        PostFailure::Unreachable(error) => (
            format!("nobody answers at {authority}: {error}"),
            format!(
                "start the server there: mcp-text-editor --http {authority} DIR, or with --token-file FILE"
            ),
        ),
        PostFailure::Slow => (
            format!("{authority} does not answer in time"),
            "look whether it is this server that listens there, and what its log says".to_owned(),
        ),
        PostFailure::Status(401, _) if sends_token => (
            "the server refuses the token that the entry has the client send (401)".to_owned(),
            format!(
                "give the client the token that the server has in its --token-file{}",
                of_variable(entry, remote_entry)
            ),
        ),
        PostFailure::Status(401, _) => (
            "the server wants a token, and the entry names none (401)".to_owned(),
            again(entry, &remote_entry.shown(), remote_entry),
        ),
        PostFailure::Status(403, said) => (
            format!("the server does not serve under this name (403): {said}"),
            format!("start it with --allow-host {}", uri.host().unwrap_or_default()),
        ),
        PostFailure::Status(404, _) => (
            "the server has nothing at this path (404)".to_owned(),
            format!("lead it to http://{authority}/mcp, where this server answers"),
        ),
        PostFailure::Status(status, said) => (
            format!("it answers with status {status}: {said}"),
            "look whether it is this server that listens there, and what its log says".to_owned(),
        ),
        PostFailure::Elsewhere(place) => (
            format!(
                "it sends whoever asks to {place}, and doctor does not follow, as the token would go along"
            ),
            "lead the entry to that place, if it is yours".to_owned(),
        ),
        PostFailure::NoServer(why) => {
            (format!("it is no MCP server that answers there: {why}"), again(entry, "URL", remote_entry))
        }
    };
    Wrong { what, mend }
}

/// Returns the command that gives the entry this URL, or the entry's own advice where `install` does not
/// write.
pub(super) fn again(entry: &ServerEntry<'_>, url: &str, remote_entry: &RemoteEntry<'_>) -> String {
    let has_token = remote_entry.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if !entry.is_written {
        return entry.again.clone();
    }
    // A token that is there stays.
    let token = if takes_variable(entry) && !has_token { " --token-env NAME" } else { "" };
    format!("{} --http {url}{token}", entry.again)
}

/// Tells whether the client can take the token from a variable, so that it need not stand in the entry.
fn takes_variable(entry: &ServerEntry<'_>) -> bool {
    entry.client.token_form().is_some_and(|form| form != TokenForm::Literal)
}

/// Returns the end of the advice about a token: the variable that has it, or how to name one. Empty if the
/// client takes it from no variable.
fn of_variable(entry: &ServerEntry<'_>, remote_entry: &RemoteEntry<'_>) -> String {
    let none = std::collections::BTreeMap::new();
    let mut headers =
        remote_entry.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    match headers.find_map(|(_, written)| value(entry.client, *written, &none).err()) {
        Some(Unknown::Unset(name)) => format!(", in {name}"),
        _ if entry.is_written && takes_variable(entry) => {
            format!(
                ", or name the variable that has it: {} --http {} --token-env NAME",
                entry.again,
                remote_entry.shown()
            )
        }
        _ => String::new(),
    }
}
