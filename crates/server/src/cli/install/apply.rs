//! Reads and writes configurations through the store. A write holds the lock, is atomic, is recorded in the
//! history, and never overwrites what another program has written meanwhile.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::{GuardedRange, Patch};
use mcp_text_editor_core::show::Budget;
use mcp_text_editor_store::{
    Change, Control, Entry, FileEdit, Outcome, ReadFile, UndoPlan, Workspace, path_in_history,
};
use serde_json::Value;

use super::config_error::LONGEST;
use super::request::InstallError;
use super::syntax::Syntax;
use crate::config::StateOptions;

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
