//! Finds the faults of an entry by reading it. [`start`] tries the command that it names.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde_json::Value;

use super::entry::{Report, ServerEntry, Wrong};
use super::remote;
use super::start::start;
use super::trust;
use crate::cli::install::clients::{Client, Item, NAME, STATE_VARIABLES, ToolSearch};
use crate::cli::install::entry::{EntryServer, Words};
use crate::cli::install::http::RemoteEntry;
use crate::cli::install::{Syntax, at, is_there, other_entries};

/// Checks an entry, and entries of the same tools under other names. `None` if there is neither.
pub(super) fn check(entry: &ServerEntry<'_>) -> Option<Report> {
    let there = at(entry.said, entry.path).filter(|there| !there.is_null());
    let servers = entry.path.split_last().map_or(&[][..], |(_, servers)| servers);
    let other_entries = other_entries(entry.said, servers, entry.machine);
    let mut report = there.map_or_else(Report::default, |there| check_own(entry, there));
    let is_alone = there.is_none();
    if is_alone && other_entries.iter().any(|other| other.server == EntryServer::Python) {
        let what = format!("there is no entry {}", entry.path.join("."));
        report.wrong.push(Wrong { what, mend: entry.anew() });
    }
    report.wrong.extend(other_entries.iter().map(|other| Wrong {
        what: other.what(!is_alone),
        mend: match other.server {
            EntryServer::This(_) if is_alone => {
                format!("give it the name {NAME}, which install and doctor look after")
            }
            _ => other.mend(entry.file),
        },
    }));
    (there.is_some() || !other_entries.is_empty()).then_some(report)
}

/// Says what mends a file that cannot be read.
pub(super) fn mend_file(file: &Path) -> String {
    format!("mend it, or take back the last edit of it: mcp-text-editor history {}", file.display())
}

/// Checks the entry under our name.
fn check_own(entry: &ServerEntry<'_>, there: &Value) -> Report {
    let ServerEntry { client, machine, .. } = *entry;
    let mut report = Report::default();
    let mut wrong = |what: String, mend: String| report.wrong.push(Wrong { what, mend });
    let remote_entry = RemoteEntry::of(client, there);
    let again = &remote_entry.as_ref().map_or_else(
        || entry.again.clone(),
        |remote_entry| remote::again(entry, &remote_entry.shown(), remote_entry),
    );
    let words = Client::words(there).unwrap_or_default();
    let Some(own) = Words::of(&words, machine).or_else(|| remote_entry.as_ref().map(|_| Words::default()))
    else {
        let said = words.join(" ");
        let (what, more) = match EntryServer::of(&words, machine) {
            Some(_) => {
                let what = format!("it starts the server mcp-text-editor in Python: {said}");
                (what, ", which puts this server in its place")
            }
            None => (format!("it starts something else: {said}"), " --force"),
        };
        let mend = entry.anew();
        wrong(what, if entry.is_written { format!("{mend}{more}") } else { mend });
        return report;
    };
    if there.get("disabled") == Some(&Value::Bool(true)) || there.get("enabled") == Some(&Value::Bool(false))
    {
        wrong(
            "the entry is switched off".to_owned(),
            "take `disabled` or `enabled` out of it, or switch it on in the client".to_owned(),
        );
    }
    for (what, mend) in unapproved(entry, there, &own) {
        wrong(what, mend.unwrap_or_else(|| again.to_owned()));
    }
    let read = |path: &Path, syntax| (entry.read)(path, syntax).ok().flatten();
    if let Some(missing) = trust::missing(client, machine, entry.project, entry.is_project, &read) {
        let step = if entry.is_project { client.project_step } else { client.user_step };
        wrong(missing, step.unwrap_or("say so in the client").to_owned());
    }
    if let Some(remote_entry) = remote_entry {
        report.add(remote::ask(entry, &remote_entry));
    } else {
        let variables = variables(entry, there);
        for name in STATE_VARIABLES {
            let (own, of_server) = (machine.variable(name), variables.get(&OsString::from(name)));
            if own.is_some() && own != of_server {
                wrong(
                    format!(
                        "the server keeps its history elsewhere than your `mcp-text-editor history` looks: it does not get {name}"
                    ),
                    format!("give it {name} in the entry: in `env`, or for Codex by its name in `env_vars`"),
                );
            }
        }
        let started = start(entry, there, &own, &variables, again);
        report.add(started.unwrap_or_else(Report::from));
    }
    offered(entry, there, again, &mut report);
    report.done.extend(client.asks.as_ref().map(|asks| format!("besides: {asks}")));
    report.wrong.dedup();
    report
}

/// Says whether the model sees the tools at once, and whether the client's own are switched off.
fn offered(entry: &ServerEntry<'_>, there: &Value, again: &str, report: &mut Report) {
    let ServerEntry { client, machine, .. } = *entry;
    if let Some(ToolSearch { name, switch, unless, at_once }) = client.search {
        let hides =
            format!("{} hides tools behind {name} until the model searches; {switch}", client.program);
        let due = unless.and_then(|member| Some((member, client.member(member, &Words::default())?)));
        match (due, at_once) {
            (Some((member, value)), _) if there.get(member) == Some(&value) => {
                report
                    .done
                    .push(format!("the model sees the tools at once, by `{member}`; without it {hides}"));
            }
            (Some((member, value)), Some(tools)) => report.done.push(format!(
                "the model sees at once {tools}, and with `{member}`: {value} in the entry all; else {hides}"
            )),
            (Some((member, value)), None) => report.wrong.push(Wrong {
                what: hides,
                mend: format!("{again}, which sets `{member}` to {value} in the entry"),
            }),
            (None, _) => report.done.push(format!("besides: {hides}")),
        }
    }
    let off = client.switched_off(machine, std::slice::from_ref(&entry.file.to_owned()));
    let is_set = |item: &&Item| {
        let said = (entry.read)(&item.file, Syntax::Json).ok().flatten();
        said.is_some_and(|said| is_there(&said, item))
    };
    let set: Vec<&Item> = off.iter().filter(is_set).collect();
    if let (Some(item), false) = (set.first(), entry.is_project) {
        let (program, path) = (client.program, item.path.join("."));
        let which = if set.len() == off.len() { "the" } else { "some of the" };
        report.done.push(format!(
            "{which} tools of {program} that change files are switched off, by {path} in {}",
            item.file.display()
        ));
    }
}

/// Returns why the client would ask a person before each call, with what mends it; `None` where `install`
/// mends it.
fn unapproved(entry: &ServerEntry<'_>, there: &Value, own: &Words) -> Vec<(String, Option<String>)> {
    let ServerEntry { client, machine, .. } = *entry;
    let asks = format!(
        "{} asks before it calls the tools, and cannot where nobody is there to be asked",
        client.program
    );
    let mut found = Vec::new();
    for name in ["trust", "default_tools_approval_mode", "autoApprove"] {
        let due = client.member(name, own);
        if due.as_ref().is_some_and(|due| there.get(name) != Some(due)) {
            let due = due.unwrap_or_default();
            found.push((asks.clone(), Some(format!("set `{name}` to {due} in the entry"))));
        }
    }
    for item in client.approval(machine, entry.is_project.then_some(entry.project)) {
        let said = match (entry.read)(&item.file, Syntax::Json) {
            Ok(said) => said,
            Err(why) => {
                found.push((why, Some(mend_file(&item.file))));
                continue;
            }
        };
        let list = said.as_ref().and_then(|said| at(said, item.path)).and_then(Value::as_array);
        if !list.is_some_and(|list| list.contains(&item.item)) {
            let (item, list, file) = (&item.item, item.path.join("."), item.file.display());
            found.push((format!("{item} is not in {list} of {file}: {asks}"), None));
        }
    }
    found
}

/// Returns the environment that the client gives the server.
fn variables(entry: &ServerEntry<'_>, there: &Value) -> BTreeMap<OsString, OsString> {
    let ServerEntry { client, machine, .. } = *entry;
    let by_name: Vec<&str> = there
        .get("env_vars")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let passes = |name: &OsString| {
        let name = name.to_string_lossy().to_uppercase();
        by_name.contains(&name.as_str()) || client.passes.gives(&name)
    };
    let own = machine
        .variables
        .iter()
        .filter(|(name, _)| passes(name))
        .map(|(name, value)| (name.clone(), value.clone()));
    let added = ["env", "environment"].into_iter().filter_map(|name| there.get(name)?.as_object()).flatten();
    let added = added.filter_map(|(name, value)| {
        Some((machine.system.variable_name(name), OsString::from(value.as_str()?)))
    });
    own.chain(added).collect()
}
