//! The subcommand itself: which entries are looked at, and what is told of them.

use std::io::Write;
use std::path::Path;

use serde_json::Value;

use super::check::{check, mend_file};
use super::entry::{Entry, Report, Wrong};
use crate::cli::install::clients::{CLIENTS, Client};
use crate::cli::install::machine::Machine;
use crate::cli::install::{InstallError, Syntax, configuration, files_of, harmless};
use crate::cli::terminal::clipped;
use crate::config::StateOptions;
use crate::render::escape::on_one_line;

/// The longest line that is shown, in characters: what a project or a server says is as long as it likes.
const LONGEST: usize = 2_000;

/// Looks at the entries of a client, or of all: a person's own, and that of the project. Of the project nothing is run unless the person trusts
/// it. Returns whether all is well.
pub fn doctor(
    client: Option<&'static Client>,
    project: Option<&Path>,
    is_trusted: bool,
    machine: &Machine,
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<bool, InstallError> {
    let clients = client.map_or_else(|| CLIENTS.iter().collect(), |client| vec![client]);
    let read = |path: &Path, syntax: Syntax| -> Result<Option<Value>, String> {
        let said = configuration(path, state)?.map(|text| syntax.read(&text)).transpose();
        said.map_err(|broken| format!("{} cannot be read: {broken}", path.display()))
    };
    let project = project.unwrap_or(&machine.here);
    let (mut is_well, mut count) = (true, 0);
    for client in clients {
        let own = files_of(client, machine, None).unwrap_or_default().into_iter().map(|file| (file, false));
        let of_project =
            files_of(client, machine, Some(project)).unwrap_or_default().into_iter().map(|file| (file, true));
        for (file, is_project) in own.chain(of_project) {
            let stays = if is_project { harmless::inside(project, &file) } else { Ok(()) };
            let report = match stays.and_then(|()| read(&file, client.syntax)) {
                Ok(said) => check(&Entry {
                    client,
                    machine,
                    file: &file,
                    said: &said.unwrap_or_default(),
                    project,
                    is_project,
                    is_trusted,
                    read: &read,
                }),
                Err(what) => {
                    Some(Report { wrong: vec![Wrong { what, mend: mend_file(&file) }], ..Report::default() })
                }
            };
            let Some(report) = report else { continue };
            count += 1;
            is_well &= report.wrong.is_empty();
            tell(client, &file, &report, out)?;
        }
    }
    if count == 0 {
        let name = client.map_or("CLIENT", |client| client.name);
        writeln!(out, "there is no entry of this server; mcp-text-editor install {name} writes one")?;
    }
    Ok(is_well && count > 0)
}

fn tell(client: &Client, file: &Path, report: &Report, out: &mut impl Write) -> Result<(), InstallError> {
    writeln!(out, "{}: {}", client.program, shown(&file.to_string_lossy()))?;
    for done in &report.done {
        writeln!(out, "  {}", shown(done))?;
    }
    for Wrong { what, mend } in &report.wrong {
        writeln!(out, "  wrong: {}\n    mend: {}", shown(what), shown(mend))?;
    }
    if report.wrong.is_empty() {
        writeln!(out, "  all is well")?;
    }
    Ok(())
}

/// A line that may have words of a project, or of a server, in it.
fn shown(text: &str) -> String {
    on_one_line(&clipped(text, LONGEST))
}
