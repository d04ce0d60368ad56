//! Reads and writes configurations through the store. A write holds the lock, is atomic, is recorded in the
//! history, and never overwrites what another program has written meanwhile.
//!
//! Explains to a person the entry that `install` wrote, and lists the clients. Its lines begin without
//! blanks.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::{GuardedRange, Patch};
use mcp_text_editor_core::show::Budget;
use mcp_text_editor_store::{
    Change, Control, Entry, FileEdit, Outcome, ReadFile, UndoPlan, Workspace, path_in_history,
};
use serde_json::Value;

use super::clients::{CLIENTS, Client, TokenForm, WorkingDirectory};
use super::config_error::LONGEST;
use super::entry::{Target, Words};
use super::environment::{Environment, System};
use super::request::{InstallError, InstallRequest};
use super::syntax::Syntax;
use crate::config::StateOptions;
use crate::render::escape::on_one_line;
use crate::render::limits;

/// The origin under which the history lists edits of configurations.
pub(super) const ORIGIN: &str = "install";

/// The origin of edits by `install --remove`. A later removal does not undo these edits.
pub(super) const REMOVAL: &str = "install --remove";

/// The maximum number of a file's edits that are examined to find the ones to take back.
const STEPS: usize = 32;

/// A configuration as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Configuration {
    /// The content of the file, with `\n` as its line ends.
    pub(super) text: String,
    digest: Digest,
}

/// Reads and parses a configuration; `None` if the file does not exist. The error says why the file cannot be
/// read.
pub(crate) fn parsed(path: &Path, syntax: Syntax, state: &StateOptions) -> Result<Option<Value>, String> {
    let parsed = read(path, state)?.map(|found| syntax.read(&found.text)).transpose();
    parsed.map_err(|broken| format!("{} cannot be read: {broken}", path.display()))
}

pub(super) fn read(path: &Path, state: &StateOptions) -> Result<Option<Configuration>, String> {
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    if path.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Err(format!("{} is a link to what is not there", path.display()));
    }
    // A file that is too long is not read at all.
    if path.metadata().is_ok_and(|metadata| metadata.len() > LONGEST as u64) {
        return Err(format!("{} is longer than 16 MiB, which no configuration is", path.display()));
    }
    let workspace = open(path, state)?;
    let file_path = text_of(path)?;
    match workspace.read(ReadFile::new(file_path), None, Budget::bytes(LONGEST), Control::of(ORIGIN)) {
        Ok(view) if view.shown.cut.is_some() => Err(format!("{file_path} is too long for a configuration")),
        Ok(view) => Ok(Some(Configuration { text: view.shown.content, digest: view.digest })),
        Err(error) => Err(format!("{file_path} cannot be read: {error}")),
    }
}

/// Writes a configuration. In an existing file, only the lines that differ are replaced. Fails if the file
/// has changed since it was read.
pub(super) fn write(
    path: &Path,
    found: Option<&Configuration>,
    text: &str,
    state: &StateOptions,
    origin: &str,
    is_dry_run: bool,
) -> Result<Outcome, InstallError> {
    let workspace = open(path, state).map_err(InstallError::Failed)?;
    let file_path = text_of(path).map_err(InstallError::Failed)?;
    let patches;
    let hash;
    let edit = match found {
        None => FileEdit::new(file_path, Change::Create(text)),
        Some(found) => {
            patches = [difference(&found.text, text)];
            hash = DigestPrefix::parse(&found.digest.to_string());
            FileEdit { file_hash: hash.as_ref(), ..FileEdit::new(file_path, Change::Patch(&patches)) }
        }
    };
    let control = Control::of(origin);
    let done = if is_dry_run { workspace.plan(&[edit], control) } else { workspace.apply(&[edit], control) };
    done.map_err(|error| {
        let why = format!("{file_path} is not written: {error}");
        let is_changed = read(path, state).is_ok_and(|now| now.as_ref() != found);
        if is_changed { InstallError::Changed(why) } else { InstallError::Failed(why) }
    })
}

/// Undoes the newest edits of a configuration, back to the first one that `install` did not make, all or
/// none. Returns whether the file then is as it was before these edits; false also if there were no such
/// edits, or other programs have changed the file.
pub(super) fn restore(path: &Path, state: &StateOptions) -> Result<bool, String> {
    let mut workspace = open(path, state)?;
    let entries =
        workspace.history().list(Some(&path_in_history(path)), STEPS, &|_| true).unwrap_or_default();
    let standing = entries.iter().filter(|entry| entry.undoes.is_none() && entry.undone_by.is_none());
    let own: Vec<&Entry> = standing.take_while(|entry| entry.tool == ORIGIN).collect();
    let (mut plan, control) = (UndoPlan::default(), Control::of(ORIGIN));
    Ok(!own.is_empty()
        && workspace.serve_files_of(own.iter().copied()).is_ok()
        && own.iter().all(|entry| workspace.plan_next_undo(&mut plan, &entry.id, control).is_ok())
        && workspace.make_undos(plan, control).is_ok())
}

/// Opens the directory of a configuration, the directory of the file to which a symbolic link leads, and the
/// state directory. Nothing is protected, since a person typed the command.
fn open(path: &Path, state: &StateOptions) -> Result<Workspace, String> {
    let mut builder = Workspace::builder()
        .unprotect_all()
        .in_place(state.in_place.clone())
        .durability(state.durability)
        .home(std::env::home_dir());
    let mut roots: Vec<PathBuf> =
        [Some(path.to_owned()), path.canonicalize().ok()].into_iter().flatten().collect();
    roots.dedup();
    for file in roots {
        let above = file.ancestors().skip(1).find(|directory| directory.is_dir());
        builder = builder.root(above.ok_or_else(|| format!("{} is in no directory", file.display()))?);
    }
    if let Some(directory) = &state.state_directory {
        builder = builder.state_directory(directory);
    }
    if let Some(settings) = &state.history {
        builder = builder.history(settings.clone());
    }
    let workspace = builder.build_without_state_at_need().map_err(|error| error.to_string())?;
    workspace.recover();
    Ok(workspace)
}

fn text_of(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is not Unicode", path.display()))
}

/// Returns the patch from one text to the other. It replaces the lines between the common first and last
/// lines.
fn difference(old: &str, new: &str) -> Patch {
    if old.is_empty() {
        return Patch::text("", new);
    }
    let (of_old, of_new) = (lines(old).count(), lines(new).count());
    let head = lines(old).zip(lines(new)).take_while(|(one, other)| one == other).count();
    // A range has at least one line.
    let head = head.min(of_old - 1);
    let shorter = of_old.min(of_new).saturating_sub(head);
    let tail = lines(old).rev().zip(lines(new).rev()).take(shorter);
    let tail = tail.take_while(|(one, other)| one == other).count().min(of_old - head - 1);
    let between = |text: &str, count: usize| -> String {
        let between = lines(text).take(count.saturating_sub(tail)).skip(head);
        between.flat_map(|line| [line, "\n"]).collect()
    };
    let number = |index: usize| i64::try_from(index).unwrap_or(i64::MAX);
    let range = GuardedRange { start: number(head + 1), end: Some(number(of_old - tail)), range_hash: None };
    Patch {
        old_string: Some(between(old, of_old)),
        new_string: between(new, of_new),
        ranges: vec![range],
        replace_all: false,
    }
}

/// Returns the lines of a text, without their ends. There is no empty line after a last line end.
fn lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.strip_suffix('\n').unwrap_or(text).split('\n')
}

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
            if let Some(folder) = limits::of_folder(&env.home, directory) {
                let allow = limits::allow(folder);
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
            let parsed = parsed(file, client.syntax, state).ok().flatten();
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
