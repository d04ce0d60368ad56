//! Explains to a person the entry that `install` wrote, and lists the clients. Its lines begin without
//! blanks.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::apply;
use super::clients::{CLIENTS, Client, TokenForm, WorkingDirectory};
use super::entry::{Target, Words};
use super::environment::{Environment, System};
use super::request::{InstallError, InstallRequest};
use crate::config::StateOptions;
use crate::render::escape::on_one_line;
use crate::render::privacy;

/// Says what the entry means, and which further steps a person has to take.
pub(super) fn explain(request: &InstallRequest, client: &Client, words: &Words) -> Vec<String> {
    let mut lines = Vec::new();
    if request.is_instead {
        lines.push(format!(
            "edits in the place of {}'s own tools; lost with them: its checkpoints, its dialogs that show a change before it is made, \
             its marks in an editor; --remove puts them back",
            client.program
        ));
    }
    match &request.target {
        Some(target) => lines.extend(of_server(client, target)),
        None => lines.extend(of_program(client, words)),
    }
    let step = if request.project.is_some() { client.project_step } else { client.user_step };
    lines.extend(client.asks.as_deref().into_iter().chain(step).map(|step| format!("besides: {step}")));
    let is_of_this_machine = words.start.first().is_some_and(|program| Path::new(program).is_absolute());
    if request.target.is_none() && request.project.is_some() && is_of_this_machine {
        lines.push(
            "names the program by its path on this machine; --command mcp-text-editor, or \"npx -y mcp-text-editor-rs\", suits everybody"
                .to_owned(),
        );
    }
    if let Some(page) = client.page {
        lines.push(format!("not tried with the program itself; from {page}"));
    }
    if !request.is_dry_run {
        lines.push(format!("mcp-text-editor doctor {} looks whether it works", client.name));
    }
    lines
}

fn of_program(client: &Client, words: &Words) -> [String; 2] {
    let offers = match words.tools.as_deref().unwrap_or("default") {
        "claude-code" => format!(
            "the tools that patch, copy lines, and replace in many files, beside what {} edits with itself; --tools default offers those that read, edit, search and list",
            client.program
        ),
        "all" => "every tool".to_owned(),
        "default" => "the tools that read, edit, search and list".to_owned(),
        names => names.to_owned(),
    };
    let serves = match (words.directories.as_slice(), client.starts) {
        ([], WorkingDirectory::Anywhere) => {
            "the directory in which it is started; see `mcp-text-editor doctor`".to_owned()
        }
        ([], _) => format!("the directory in which {} is started", client.program),
        ([one], WorkingDirectory::Names(variable)) if one == variable => {
            "the project that is open".to_owned()
        }
        (named, _) => named.join(", "),
    };
    [format!("offers {offers}"), format!("serves {serves}")]
}

fn of_server(client: &Client, Target { url, token_env }: &Target) -> Vec<String> {
    let program = client.program;
    let mut lines =
        vec![format!("leads to {url}; the server that runs there decides what is offered and served")];
    if let Some(name) = token_env {
        lines.push(if client.token_form() == Some(TokenForm::Asked) {
            format!("besides: {program} asks for the token when it first starts the server, and keeps it")
        } else {
            format!("besides: {program} needs the token in {name} when it is started")
        });
    }
    let host = url.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let is_near = ["127.0.0.1", "localhost", "[::1]"].iter().any(|near| host.starts_with(near));
    if url.starts_with("http://") && !is_near {
        lines.push(format!(
            "besides: what goes to {host} can be read on its way, the token too; https keeps it to both ends"
        ));
    }
    let step = client.token_step.filter(|_| token_env.is_some());
    lines.extend(step.map(|step| format!("besides: {step}")));
    lines
}

/// Says which directories the system denies to the server, and which written files it hides from the client.
pub(super) fn of_desktop(
    request: &InstallRequest,
    client: &Client,
    env: &Environment,
    files: &[PathBuf],
) -> Vec<String> {
    let mut lines = Vec::new();
    if env.system == System::Mac && client.name == "claude-desktop" {
        for directory in &request.directories {
            if let Some(folder) = privacy::of_folder(&env.home, directory) {
                let allow = privacy::allow(folder);
                lines.push(format!("besides: macOS keeps programs from {}. {allow}", directory.display()));
            }
        }
    }
    for file in files {
        if let Some(package) = env.redirects(file) {
            lines.push(format!(
                "besides: this program runs inside the package {package}, so Windows shows {} to that package alone. Run install again in \
                 a terminal that was started from the Start menu",
                file.display()
            ));
        }
    }
    lines
}

/// Lists the clients, and which of them are on this machine.
pub(super) fn list(
    env: &Environment,
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<(), InstallError> {
    for client in CLIENTS.iter() {
        let files = client.files(env, None).map_err(InstallError::Failed)?;
        let has_entry = |file: &&PathBuf| {
            let parsed = apply::parsed(file, client.syntax, state).ok().flatten();
            let words = parsed.and_then(|parsed| Client::words(client.entry_in(&parsed)?));
            words.is_some_and(|words| Words::of(&words, env).is_some())
        };
        let there = match (files.iter().find(has_entry), client.trace(env, &files)) {
            (Some(file), _) => format!("has the server, in {}", on_one_line(&file.to_string_lossy())),
            (None, Some(trace)) => format!("found: {}", on_one_line(&trace.to_string_lossy())),
            (None, None) => "not found".to_owned(),
        };
        writeln!(out, "{:<15} {:<15} {there}", client.name, client.program)?;
    }
    writeln!(
        out,
        "mcp-text-editor install CLIENT [DIR…] writes the entry; --project DIR that of a project; --print shows it first"
    )?;
    Ok(())
}
