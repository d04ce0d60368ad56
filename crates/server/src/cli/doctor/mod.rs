//! The subcommand `doctor`: starts the server as a client would, and says what is wrong and how to fix it.
//!
//! `check` finds faults by reading an entry, `start` by starting its command; `session` speaks with the
//! running server. `remote` judges an entry of a server over HTTP. `report` defines the entry and the
//! findings. `database` finds faults of the database that several machines share, and of their common names
//! for directories.

mod check;
#[cfg(feature = "cluster")]
pub(super) mod database;
mod report;
mod start;

use std::io::Write;
use std::path::Path;

use serde_json::Value;

use self::check::{check, mend_file};
use self::report::{Fault, ReadConfiguration, Report, ServerEntry, fault, shown, tell_report};
use crate::cli::install::clients::{CLIENTS, Client};
use crate::cli::install::environment::{Environment, is_of_package};
use crate::cli::install::http::RemoteEntry;
use crate::cli::install::scopes::{Holder, Scope, said_of, scopes};
use crate::cli::install::{InstallError, Syntax, parsed, project_allowlist};
use crate::config::StateOptions;

/// Checks the entries of a client, or of all clients: the person's own, and the project's. Nothing that
/// belongs to the project is run unless the person trusts the project. Returns true if nothing is wrong.
///
/// `database` is true if nothing is wrong with the database that several machines share; `None` if it was not
/// examined. If it was examined and no client is named, a missing entry is not a fault.
pub fn doctor(
    client: Option<&'static Client>,
    project: Option<&Path>,
    is_trusted: bool,
    env: &Environment,
    state: &StateOptions,
    database: Option<bool>,
    out: &mut impl Write,
) -> Result<bool, InstallError> {
    let clients = client.map_or_else(|| CLIENTS.iter().collect(), |client| vec![client]);
    let read = |path: &Path, syntax: Syntax| parsed(path, syntax, state);
    let project = project.unwrap_or(&env.here);
    let (mut is_well, mut count) = (true, 0);
    for client in clients {
        let scopes = scopes(client, env, project, &|path, syntax| read(path, syntax).ok().flatten());
        let files: Vec<(&Scope, Result<Value, String>)> = scopes
            .iter()
            .filter_map(|scope| Some((scope, configuration(client, scope, &read).transpose()?)))
            .collect();
        let entries: Vec<(&Scope, &Value)> = files
            .iter()
            .filter_map(|(scope, parsed)| Some((*scope, scope.entry_in(parsed.as_ref().ok()?)?)))
            .collect();
        for (scope, parsed) in &files {
            let report = match parsed {
                Ok(parsed) => {
                    check(&ServerEntry { client, env, scope, parsed, project, is_trusted, read: &read })
                }
                Err(what) => Some(fault(what, mend_file(&scope.file)).into()),
            };
            let Some(mut report) = report else { continue };
            if let Some((_, there)) = entries.iter().find(|(own, _)| own == scope) {
                let first = entries.iter().find(|(first, _)| first.rank < scope.rank);
                report.notes.extend(first.map(|(first, _)| said_of(client, first, project)));
                report.faults.extend(does_not_fit(client, scope, there, &entries));
                report.faults.extend(unread(client, scope, &scopes, &entries));
            }
            count += 1;
            is_well &= report.faults.is_empty();
            tell(client, scope, &report, out)?;
        }
    }
    if count == 0 && client.is_none() && database.is_some() {
        return Ok(database == Some(true));
    }
    if count == 0 {
        let (name, needs) = client.map_or(("CLIENT", ""), |client| (client.name, client.needs(false)));
        writeln!(out, "there is no entry of this server; mcp-text-editor install {name}{needs} writes one")?;
    }
    Ok(is_well && count > 0 && database != Some(false))
}

/// Returns the fault that keeps Codex from starting: Codex merges the entries of all its files, and refuses
/// an entry that then has both a command and a URL.
fn does_not_fit(
    client: &Client,
    scope: &Scope,
    there: &Value,
    entries: &[(&Scope, &Value)],
) -> Option<Fault> {
    let leads = |entry: &Value| RemoteEntry::of(client, entry).is_some();
    let is_other = |first: &Scope, entry: &Value| first.rank < scope.rank && leads(entry) != leads(there);
    let found = entries.iter().find(|(first, entry)| is_other(first, entry));
    let (first, _) = found.filter(|_| client.name == "codex")?;
    let file = first.file.display();
    Some(fault(
        format!(
            "Codex puts it together with that in {file}, and does not start with a command and a URL in one entry"
        ),
        "have both lead to a server over HTTP, or neither",
    ))
}

/// Returns the fault that the client does not read the entry. A client that is a Windows package (MSIX) reads
/// its own copy of the file, and that copy has no entry.
fn unread(client: &Client, scope: &Scope, scopes: &[Scope], entries: &[(&Scope, &Value)]) -> Option<Fault> {
    let is_of_person = |scope: &Scope| scope.holder == Holder::Person && scope.directory.is_none();
    let mut of_package = scopes.iter().filter(|other| is_of_person(other) && is_of_package(&other.file));
    let first = of_package.next().filter(|_| is_of_person(scope) && !is_of_package(&scope.file))?;
    let has_entry = entries.iter().any(|(other, _)| is_of_package(&other.file));
    let (program, file) = (client.program, first.file.display());
    (!has_entry).then(|| {
        fault(
            format!("{program} is a package of Windows here and reads {file}, in which there is no entry"),
            format!("mcp-text-editor install {}{}", client.name, client.needs(false)),
        )
    })
}

/// Reads the file of a scope; `None` if there is none. The error says why it cannot be read.
fn configuration(
    client: &Client,
    scope: &Scope,
    read: &ReadConfiguration<'_>,
) -> Result<Option<Value>, String> {
    if let (Holder::Project, Some(directory)) = (scope.holder, &scope.directory) {
        project_allowlist::inside(directory, &scope.file)?;
    }
    read(&scope.file, client.syntax)
}

fn tell(client: &Client, scope: &Scope, report: &Report, out: &mut impl Write) -> Result<(), InstallError> {
    let alone = match (scope.holder, &scope.directory) {
        (Holder::Person, Some(directory)) => format!(", for {} alone", directory.display()),
        _ => String::new(),
    };
    let file = scope.file.to_string_lossy();
    writeln!(out, "{}: {}", client.program, shown(&format!("{file}{alone}")))?;
    Ok(tell_report(report, out)?)
}
