//! `install CLIENT --http URL`: the entry that leads the client to a running server, and the report about it.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::broken::at;
use super::change::{ChangeRefused, DesiredEntry};
use super::clients::Client;
use super::error::InstallError;
use super::remote::{Remote, TokenForm, URLS};
use super::remote_entry::{self, RemoteEntry, Target, is_as_written};
use super::server::EntryServer;
use crate::render::escape::on_one_line;

/// Says why a client cannot be led to the target, and what a person can do. `None` if it can be led there.
pub(super) fn refused(client: &Client, files: &[PathBuf], target: &Target) -> Option<InstallError> {
    let Target { url, token_env } = target;
    match (client.remote, token_env) {
        (Remote::No, name) => {
            // The header has no blank: Claude Desktop on Windows splits a word at blanks.
            let header = name.as_ref().map(|_| " --header Authorization:${AUTHORIZATION}");
            let with = name
                .as_ref()
                .map(|_| ", with `Bearer ` and the token as AUTHORIZATION in its `env`")
                .unwrap_or_default();
            Some(InstallError::Failed(format!(
                "{} starts programs, and takes no URL in its configuration; a program that leads there is mcp-remote: give the entry the \
                 command npx -y mcp-remote {url}{}{with}",
                client.program,
                header.unwrap_or_default()
            )))
        }
        (Remote::Entry { token: TokenForm::Literal, .. }, Some(_)) => {
            let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            Some(InstallError::ByHand {
                why: format!(
                    "{} puts no variable into a header, so that the token itself has to stand in {}; this program writes no token down",
                    client.program,
                    files.join(" and ")
                ),
                added: format!(
                    "By hand, with the token in the place of TOKEN, this is to be added:\n{}\n",
                    by_hand(client, target).trim_end()
                ),
            })
        }
        _ => None,
    }
}

/// Returns the text with an entry that leads to the target.
pub(super) fn change(
    text: &str,
    wanted: &DesiredEntry<'_>,
    target: &Target,
) -> Result<String, ChangeRefused> {
    let DesiredEntry { client, project, is_forced, .. } = *wanted;
    let said = client.syntax.read(text)?;
    let entry = client.entry();
    let members = remote_entry::members(client, target).unwrap_or_default();
    let there = at(&said, &entry).filter(|there| !there.is_null());
    let remote_entry = there.and_then(|there| RemoteEntry::of(client, there));
    match there {
        Some(there) if *there == Value::Object(members.clone()) => Ok(text.to_owned()),
        Some(there) if remote_entry.is_some() && !is_forced => {
            if project.is_some() && !is_as_written(client, there) {
                let why = "it has members, or headers, that `install` does not write";
                return Err(ChangeRefused::NotHarmless(why.to_owned()));
            }
            led_anew(text, client, there, &members)
        }
        Some(there) if !is_forced && remote_entry.is_none() => {
            let words = Client::words(there).unwrap_or_default();
            if EntryServer::of(&words, wanted.machine).is_none() {
                return Err(ChangeRefused::Foreign(words.join(" ")));
            }
            Ok(client.syntax.set(text, &entry, &Value::Object(members))?)
        }
        _ => Ok(client.syntax.set(text, &entry, &Value::Object(members))?),
    }
}

/// Changes where an entry leads, and keeps a person's additions.
fn led_anew(
    text: &str,
    client: &Client,
    there: &Value,
    members: &Map<String, Value>,
) -> Result<String, ChangeRefused> {
    let entry = client.entry();
    let mut new = text.to_owned();
    let set = |text: &str, names: &[&str], value: &Value| {
        client.syntax.set(text, &[entry.as_slice(), names].concat(), value)
    };
    for other in URLS.iter().filter(|name| !members.contains_key(**name) && there.get(**name).is_some()) {
        new = client.syntax.unset(&new, &[entry.as_slice(), &[*other]].concat())?;
    }
    for (name, value) in members {
        let old = there.get(name);
        let says_where = URLS.contains(&name.as_str()) || name == "type" || name.ends_with("_env_var");
        match (name.as_str(), old.and_then(Value::as_object)) {
            ("headers", Some(headers)) => {
                let ours = value.get("Authorization").cloned().unwrap_or_default();
                let known = headers.keys().find(|name| name.eq_ignore_ascii_case("authorization"));
                let name = known.map_or("Authorization", String::as_str);
                if headers.get(name) != Some(&ours) {
                    new = set(&new, &["headers", name], &ours)?;
                }
            }
            _ if old == Some(value) || (old.is_some() && !says_where && name != "headers") => {}
            _ => new = set(&new, &[name], value)?,
        }
    }
    Ok(new)
}

/// Says what the entry means, and what else a person has to do.
pub(super) fn explain(
    client: &Client,
    target: &Target,
    steps: impl Iterator<Item = &'static str>,
    out: &mut impl Write,
) -> Result<(), InstallError> {
    let Target { url, token_env } = target;
    writeln!(
        out,
        "  leads to {}; the server that runs there decides what is offered and served",
        on_one_line(url)
    )?;
    match (client.remote, token_env) {
        (Remote::Entry { token: TokenForm::Asked, .. }, Some(_)) => {
            writeln!(
                out,
                "  besides: {} asks for the token when it first starts the server, and keeps it",
                client.program
            )?;
        }
        (_, Some(name)) => {
            writeln!(out, "  besides: {} needs the token in {name} when it is started", client.program)?;
        }
        (_, None) => {}
    }
    let host = url.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let is_near = ["127.0.0.1", "localhost", "[::1]"].iter().any(|near| host.starts_with(near));
    if url.starts_with("http://") && !is_near {
        writeln!(
            out,
            "  besides: what goes to {host} can be read on its way, the token too; https keeps it to both ends"
        )?;
    }
    if client.name == "cline" && token_env.is_some() {
        writeln!(
            out,
            "  besides: Cline in VS Code puts the variable into the header, its command line does not"
        )?;
    }
    for step in steps {
        writeln!(out, "  besides: {step}")?;
    }
    Ok(())
}

/// Returns the entry as text, for a person who adds it by hand.
pub(super) fn by_hand(client: &Client, target: &Target) -> String {
    client.alone(&Value::Object(remote_entry::members(client, target).unwrap_or_default()))
}
