//! Reads entries that lead to a server over HTTP.
//!
//! The token itself is never written to a configuration: an entry names the variable that has the token, in
//! the client's own way.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value;

use super::clients::{Client, TokenForm};
use super::entry::{Target, Words};
use super::request::InstallError;

/// The names of the members in which clients have a URL.
pub(super) const URLS: &[&str] = &["httpUrl", "serverUrl", "url"];

/// Checks that an entry of a client can lead to the target. The error says why not, and what a person can do.
pub(super) fn check(client: &Client, files: &[PathBuf], target: &Target) -> Result<(), InstallError> {
    let Target { url, token_env } = target;
    let program = client.program;
    match (client.token_form(), token_env) {
        (None, name) => {
            // The header has no blank: Claude Desktop on Windows splits a word at blanks.
            let header = " --header Authorization:${AUTHORIZATION}, with `Bearer ` and the token as AUTHORIZATION in its `env`";
            let header = if name.is_some() { header } else { "" };
            Err(InstallError::Failed(format!(
                "{program} starts programs, and takes no URL in its configuration; a program that leads there is mcp-remote: give the \
                 entry the command npx -y mcp-remote {url}{header}"
            )))
        }
        (Some(TokenForm::Literal), Some(_)) => {
            let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            let files = files.join(" and ");
            let added = client.alone(client.members(&Words::default(), Some(target)));
            Err(InstallError::ByHand {
                why: format!(
                    "{program} puts no variable into a header, so that the token itself has to stand in {files}; this program writes no \
                     token down"
                ),
                added: format!(
                    "By hand, with the token in the place of TOKEN, this is to be added:\n{}\n",
                    added.trim_end()
                ),
            })
        }
        _ => Ok(()),
    }
}

/// Whether an entry has only members and headers that `install` writes.
pub(super) fn is_as_written(client: &Client, there: &Value) -> bool {
    let Some(written) = &client.http else { return false };
    let Some(there) = there.as_object() else { return false };
    let is_own = |name: &String, value: &Value| match (name.as_str(), value.as_object()) {
        ("headers", Some(headers)) => headers.keys().all(|name| name == "Authorization"),
        _ => !value.is_object(),
    };
    there.iter().all(|(name, value)| written.contains_key(name) && is_own(name, value))
}

/// An entry that leads to a server over HTTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RemoteEntry<'a> {
    /// The URL, as in the entry.
    pub(crate) url: &'a str,
    /// Whether the URL is for the transport SSE, which MCP had up to revision 2024-11-05.
    pub(crate) is_sse: bool,
    /// The headers, as in the entry. Some clients name a variable outside the text of a header.
    pub(crate) headers: Vec<(&'a str, HeaderText<'a>)>,
}

/// The value of a header, as in an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeaderText<'a> {
    /// A text, which can contain variables.
    Text(&'a str),
    /// The value of a variable.
    Variable(&'a str),
    /// `Bearer`, and the value of a variable.
    Bearer(&'a str),
}

/// The reason why the value of a header is not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unknown {
    /// This variable is not set.
    Unset(String),
    /// The client asks a person for the value.
    Asked,
}

impl<'a> RemoteEntry<'a> {
    /// Reads an entry; `None` if it starts a program.
    pub(crate) fn of(client: &Client, entry: &'a Value) -> Option<Self> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        if entry.get("command").is_some() {
            return None;
        }
        let (name, url) = URLS.iter().find_map(|name| Some((*name, text(name)?)))?;
        let kind = text("type").or_else(|| text("transport")).unwrap_or_default();
        let is_old = client.url_is_sse && name == "url" && kind.is_empty();
        let pairs = |name: &str| entry.get(name).and_then(Value::as_object).into_iter().flatten();
        let texts =
            |name: &str| pairs(name).filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
        let plain = texts("headers").chain(texts("http_headers"));
        let mut headers: Vec<(&str, HeaderText<'_>)> =
            plain.map(|(name, value)| (name, HeaderText::Text(value))).collect();
        headers.extend(texts("env_http_headers").map(|(name, value)| (name, HeaderText::Variable(value))));
        if let Some(TokenForm::Member(member)) = client.token_form() {
            headers.extend(text(member).map(|name| ("Authorization", HeaderText::Bearer(name))));
        }
        Some(Self { url, is_sse: kind.eq_ignore_ascii_case("sse") || is_old, headers })
    }

    /// Returns the URL without the parts that could be a secret.
    pub(crate) fn shown(&self) -> String {
        let address = self.url.split(['?', '#']).next().unwrap_or_default();
        match address.split_once("://") {
            Some((scheme, rest)) => {
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                let host = host.rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}/{path}")
            }
            None => address.to_owned(),
        }
    }
}

/// Returns the value of a header as a client with these variables sends it.
pub(crate) fn value(
    client: &Client,
    written: HeaderText<'_>,
    variables: &BTreeMap<OsString, OsString>,
) -> Result<String, Unknown> {
    let variable = |name: &str| {
        let value = variables.get(&OsString::from(name)).filter(|value| !value.is_empty());
        value.and_then(|value| value.to_str()).map(str::to_owned)
    };
    let needed = |name: &str| variable(name).ok_or_else(|| Unknown::Unset(name.to_owned()));
    match written {
        HeaderText::Variable(name) => needed(name),
        HeaderText::Bearer(name) => Ok(format!("Bearer {}", needed(name)?)),
        HeaderText::Text(text) => filled(client, text, &variable),
    }
}

/// Returns a text with its variables replaced.
fn filled(client: &Client, text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, Unknown> {
    let (open, close) = match client.token_form() {
        Some(TokenForm::Header(open, close)) => (open, close),
        Some(TokenForm::Asked) if text.contains("${input:") => return Err(Unknown::Asked),
        Some(TokenForm::Asked) => ("${env:", "}"),
        Some(TokenForm::Member(_) | TokenForm::Literal) | None => return Ok(text.to_owned()),
    };
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find([open.chars().next().unwrap_or('$'), '$']) {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let inside = from.strip_prefix(open).and_then(|inside| inside.split_once(close));
        let found = inside.or_else(|| named(from).filter(|_| client.fills_bare_variables));
        if let Some((name, behind)) = found {
            let (name, default) = match name.split_once(":-") {
                Some((name, default)) => (name, Some(default.to_owned())),
                None => (name, None),
            };
            filled.push_str(&variable(name).or(default).ok_or_else(|| Unknown::Unset(name.to_owned()))?);
            rest = behind;
        } else {
            let mut characters = from.chars();
            filled.extend(characters.next());
            rest = characters.as_str();
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Returns the name after a `$`, and the rest of the text.
fn named(text: &str) -> Option<(&str, &str)> {
    let name = text.strip_prefix('$')?;
    let end = name.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    Some(name.split_at(end.unwrap_or(name.len()))).filter(|(name, _)| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_fills_in_its_own_kind_of_variable() {
        let variables = BTreeMap::from([("A".into(), "1".into()), ("EMPTY".into(), "".into())]);
        let filled = |client: &str, text: &str| {
            let client = Client::named(client).unwrap();
            match value(client, HeaderText::Text(text), &variables) {
                Ok(text) => text,
                Err(Unknown::Unset(name)) => format!("? {name}"),
                Err(Unknown::Asked) => "asked".to_owned(),
            }
        };
        for (client, text, expected) in [
            ("claude-code", "x ${A}$A ${A:-2} ${B:-3}${", "x 1$A 1 3${"),
            ("claude-code", "${B}", "? B"),
            ("claude-code", "${EMPTY}", "? EMPTY"),
            ("gemini", "$A-${A}-$", "1-1-$"),
            ("gemini", "$B.", "? B"),
            ("cursor", "${env:A} ${A} $A", "1 ${A} $A"),
            ("vscode", "${env:A}", "1"),
            ("vscode", "${input:x}", "asked"),
            ("opencode", "{env:A} ${A} {file:x}", "1 ${A} {file:x}"),
            ("opencode", "{env:B}", "? B"),
            ("codex", "${A}", "${A}"),
            ("zed", "${A}", "${A}"),
            ("cline", "é${env:A}é", "é1é"),
        ] {
            assert_eq!(filled(client, text), expected, "{client}: {text}");
        }
        let codex = Client::named("codex").unwrap();
        assert_eq!(value(codex, HeaderText::Bearer("A"), &variables), Ok("Bearer 1".to_owned()));
        assert_eq!(value(codex, HeaderText::Variable("B"), &variables), Err(Unknown::Unset("B".to_owned())));
    }
}
