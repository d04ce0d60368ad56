//! Finds the faults of an entry by reading it. [`start`] tries the command that the entry names.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde_json::Value;

use super::remote;
use super::report::{Report, ServerEntry};
use super::start::start;
use crate::cli::install::clients::{Client, Item, NAME, STATE_VARIABLES, ToolSearch};
use crate::cli::install::entry::{EntryServer, Words};
use crate::cli::install::http::RemoteEntry;
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
        Some(remote) => remote::again(entry, &remote.shown(), remote),
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
        report.add(remote::ask(entry, &remote).unwrap_or_else(Report::from));
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
