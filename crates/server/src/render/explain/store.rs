//! Words the errors of the operating system and of locks.
//!
//! Words what a failed call has left on the disk. An error with these words does not say, too, that nothing
//! was written.
//!
//! Words the problems of calls that were stopped before they had finished.
//!
//! Words the reasons why a file system does not allow an edit: permissions are missing; or, whatever the
//! permissions are, it is mounted read-only, chattr(1) or chflags(1) has marked the file or its directory, a
//! privacy setting of macOS forbids the edit, or the file is encrypted and locked, or in a cloud.
//!
//! Words the suggestions for a path that leads to no file: the files that were perhaps meant.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use mcp_text_editor_store::{
    Guard, LeftBehind, NameFault, Operation, Remains, StoreError, StoreErrorKind, Suggestion,
};
use serde_json::{Value, json};

use super::call::{Call, CalledFile};
use super::exists::{creation, dangling, special};
use crate::limits::{Limit, Limits};
use crate::problem::{Code, Problem};
use crate::render::escape::{json_text, list, shown};
use crate::render::limits;
use crate::render::limits::refused;
use crate::tool_id::ToolId;

/// True if file names are case-sensitive on most disks of this system.
const CASE_COUNTS: bool = !cfg!(any(windows, target_vendor = "apple"));

/// Makes the problem of an error of the store, with what the failed call has left on the disk.
pub(crate) fn store(call: Call<'_>, named: CalledFile<'_>, error: &StoreError) -> Problem {
    let mut problem = of_kind(call, named, error);
    if !error.left.is_empty() {
        problem.reason = format!("{}: {}", problem.reason, left(&error.left));
        problem.may_have_written = true;
    }
    problem
}

fn of_kind(call: Call<'_>, named: CalledFile<'_>, error: &StoreError) -> Problem {
    let file_path = named.file_path;
    let (code, reason, hint) = match &error.kind {
        _ if let Some(told) = of_name(call, named, error) => told,
        StoreErrorKind::NotFound => {
            (Code::NotFound, format!("there is no file {file_path}"), missing(call, named, error))
        }
        StoreErrorKind::AlreadyExists => {
            let hint = call.naming(
                ToolId::Patch,
                |name| format!("edit it with {name}, or choose another name"),
                || "choose another name".to_owned(),
            );
            (Code::AlreadyExists, format!("{file_path} already exists"), hint)
        }
        StoreErrorKind::IsADirectory => {
            (Code::IsADirectory, format!("{file_path} is a directory"), in_directory(call, file_path))
        }
        StoreErrorKind::NotADirectory => {
            let reason = format!("a component of {file_path} is a file, not a directory");
            (Code::NotADirectory, reason, "check the path".to_owned())
        }
        StoreErrorKind::NotARegularFile { what } => {
            let reason = format!("{file_path} is {}, not a regular file", special(*what));
            (Code::NotARegularFile, reason, "name a regular file".to_owned())
        }
        StoreErrorKind::PermissionDenied => denied(file_path, error.operation),
        StoreErrorKind::ReadOnlyFileSystem => read_only(call, file_path, error),
        StoreErrorKind::Guarded { by, is_directory } => {
            guarded(file_path, error, *by, *is_directory)
        }
        StoreErrorKind::Private(privacy) => {
            let (reason, hint) = refused(file_path, *privacy);
            (Code::PermissionDenied, reason, hint)
        }
        StoreErrorKind::NotDownloaded => not_downloaded(file_path),
        StoreErrorKind::NoKey => no_key(file_path),
        StoreErrorKind::LinkLoop => {
            let reason = format!("there are too many symbolic links on the way to {file_path}");
            (Code::IoError, reason, "check the links with a shell".to_owned())
        }
        StoreErrorKind::NameTooLong => (
            Code::IoError,
            "the path, or a name in it, is too long for the file system".to_owned(),
            "use a shorter one".to_owned(),
        ),
        StoreErrorKind::TooManyMissing { missing, most } => too_many_missing(*missing, *most),
        StoreErrorKind::NotUnicode => not_unicode(file_path),
        StoreErrorKind::NoSpace => no_space(call, file_path, error),
        StoreErrorKind::FileTooLarge => file_too_large(&error.path),
        StoreErrorKind::Busy => (
            Code::Busy,
            format!("another call, or another process, has held the lock on {file_path} for too long"),
            "send the same call again".to_owned(),
        ),
        StoreErrorKind::HeldOpen => (
            Code::Busy,
            format!("another program holds {} open, and keeps others out", shown(&error.path)),
            "send the same call again; if it stays, close the file in the other program".to_owned(),
        ),
        StoreErrorKind::Cancelled if call.cancel.is_out_of_time() => {
            return out_of_time(call.limits).of_file(file_path);
        }
        StoreErrorKind::Cancelled => return cancelled().of_file(file_path),
        StoreErrorKind::Changed => {
            let hint = "send the same call again once the other program has finished".to_owned();
            (Code::Conflict, format!("{file_path} keeps changing while it is worked on"), hint)
        }
        StoreErrorKind::OtherDirectory => other_directory(&error.path),
        StoreErrorKind::NotRestored => not_restored(),
        StoreErrorKind::Displaced => displaced(file_path),
        StoreErrorKind::Unfinished { paths, others, is_of_later_form } => {
            unfinished(paths, *others, *is_of_later_form)
        }
        StoreErrorKind::Io if let Some(why) = of_database(error) => (
            Code::IoError,
            format!("this edit cannot be written down for the other machines: {why}"),
            "send the same call again; if it stays, tell the user what is wrong with the database; reads go on"
                .to_owned(),
        ),
        StoreErrorKind::Io => {
            let cause = error.source.as_ref().map_or_else(String::new, |source| format!(": {source}"));
            let reason = format!("the system failed on {}{cause}", shown(&error.path));
            (Code::IoError, reason, "try again; if it stays, a person has to look at the disk".to_owned())
        }
    };
    let problem = Problem::new(code, reason, hint).of_file(file_path);
    match code {
        Code::NotFound if may_create(call.tool) && error.suggested.is_none() => {
            problem.suggest(ToolId::Create)
        }
        Code::AlreadyExists => problem.suggest(ToolId::Patch),
        Code::IsADirectory if call.tool == ToolId::Get && error.name.is_none() => {
            problem.suggest(ToolId::List)
        }
        Code::Conflict => problem.suggest(ToolId::Get),
        _ if error.kind == StoreErrorKind::NotUnicode => problem.suggest(ToolId::Patch),
        // The hint says to read the files again.
        _ if error.kind == StoreErrorKind::NotRestored => problem.suggest(ToolId::Get),
        _ => problem,
    }
}

/// Says what to do if a path that must lead to a file leads to a directory.
fn in_directory(call: Call<'_>, file_path: &str) -> String {
    let name_one = || "name a file in it".to_owned();
    match call.tool {
        ToolId::Get => call.naming(
            ToolId::List,
            |name| format!("to see what is in it, call {name} {}", json!({"path": file_path})),
            name_one,
        ),
        _ => name_one(),
    }
}

/// Tells whether a caller of the tool may want to create a file that does not exist.
fn may_create(tool: ToolId) -> bool {
    let is_about_files = matches!(tool, ToolId::Move | ToolId::Remove | ToolId::CopyLines | ToolId::Replace);
    !tool.is_read_only() && !is_about_files
}

/// Names the file that was perhaps meant by a path that leads to none, and, where a file was to be edited,
/// the call that creates it.
fn missing(call: Call<'_>, named: CalledFile<'_>, error: &StoreError) -> String {
    let check =
        || if CASE_COUNTS { "check the path; names are case-sensitive" } else { "check the path" }.to_owned();
    let suggested = which(call.tool, error.suggested.as_deref());
    if call.tool == ToolId::CopyLines && named.change.is_some() {
        let first = suggested.map_or_else(String::new, |suggested| suggested + " ");
        return format!("{first}to make it, send the call without file_hash");
    }
    if !may_create(call.tool) {
        return suggested.unwrap_or_else(check);
    }
    // If the call has a text for the whole file, the hint spells the creation out.
    let whole = |name: &str| match named.whole_text() {
        Some(_) => creation(named, named.file_path),
        None => name.to_owned(),
    };
    match (suggested, named.whole_text()) {
        (None, _) => call.naming(ToolId::Create, |name| format!("to create it, call {}", whole(name)), check),
        (Some(suggested), None) => call.naming(
            ToolId::Create,
            |name| format!("{suggested} {name} creates the one that you named"),
            || suggested.clone(),
        ),
        (Some(suggested), Some(_)) => call.naming(
            ToolId::Create,
            |name| format!("{suggested} To create the one that you named, call {}", whole(name)),
            || suggested.clone(),
        ),
    }
}

/// Words a dangling link, or a slash at the end of a path, if that is the reason of the error.
fn of_name(call: Call<'_>, named: CalledFile<'_>, error: &StoreError) -> Option<(Code, String, String)> {
    let file_path = named.file_path;
    let ends_in_slash = file_path.ends_with(std::path::is_separator);
    let path = Path::new(file_path).components().collect::<PathBuf>();
    let path = path.display();
    match (error.name?, &error.kind) {
        (NameFault::DanglingLink, StoreErrorKind::NotFound) => {
            let (what, create) = dangling(call, named, &error.path);
            let reason = format!("{file_path} is {what}");
            let check = "check the path, and where the link leads".to_owned();
            Some((Code::NotFound, reason, if call.tool.is_read_only() { check } else { create }))
        }
        (NameFault::SlashAfterFile, StoreErrorKind::NotADirectory) if ends_in_slash => Some((
            Code::NotADirectory,
            format!("{file_path} ends in a slash, but is a file, not a directory"),
            format!("send the path without the slash: {path}"),
        )),
        (NameFault::SlashAfterNothing, StoreErrorKind::IsADirectory) if ends_in_slash => Some((
            Code::IsADirectory,
            format!("{file_path} ends in a slash, so it names a directory, and there is none"),
            format!(
                "send the path of a file, such as {path}; directories that are missing above it are made"
            ),
        )),
        _ => None,
    }
}

/// Words a full disk. The message names what lies on it: the file, or the state directory.
fn no_space(call: Call<'_>, file_path: &str, error: &StoreError) -> (Code, String, String) {
    let full = match call.state.filter(|state| error.path.starts_with(state)) {
        Some(state) => format!("{}, this server's state directory", shown(state)),
        None => file_path.to_owned(),
    };
    let is_quota = error.source.as_ref().is_some_and(|source| source.kind() == io::ErrorKind::QuotaExceeded);
    let what = if is_quota { "the quota is used up" } else { "there is no space left" };
    (
        Code::NoSpace,
        format!("{what} on the disk of {full}"),
        "free some space, then send the same call again".to_owned(),
    )
}

fn too_many_missing(missing: usize, most: usize) -> (Code, String, String) {
    (
        Code::TooLarge,
        format!("{missing} directories on the way to the file are missing, and a call makes {most} at most"),
        "use a shorter path, or make the directories with a shell".to_owned(),
    )
}

fn file_too_large(path: &Path) -> (Code, String, String) {
    (
        Code::NoSpace,
        format!(
            "{} would be larger than the system lets this server make a file (ulimit -f), or than its file system holds one",
            path.display()
        ),
        "divide the text among several files, or ask a person to raise that limit where the server is started".to_owned(),
    )
}

fn not_unicode(file_path: &str) -> (Code, String, String) {
    (
        Code::IoError,
        format!("the path of the file, {file_path}, is not Unicode, so it cannot be found by it"),
        "restore the lines you want by a patch of the path by which the file was edited".to_owned(),
    )
}

/// Returns the error of the shared database, if that is the source of `error`.
#[cfg(feature = "cluster")]
fn of_database(error: &StoreError) -> Option<&mcp_text_editor_cluster::DatabaseError> {
    error.source.as_ref()?.get_ref()?.downcast_ref()
}

#[cfg(not(feature = "cluster"))]
fn of_database(_: &StoreError) -> Option<&str> {
    None
}

fn not_restored() -> (Code, String, String) {
    (
        Code::IoError,
        "the edit failed, and could not be taken back as a whole".to_owned(),
        "read these files again before anything else; an edit that is left half done is ended or taken back before the next one".to_owned(),
    )
}

fn displaced(file_path: &str) -> (Code, String, String) {
    (
        Code::Conflict,
        format!(
            "another program wrote to {file_path} in the moment of the edit, which was not made, and both cannot have the name"
        ),
        "read these files, and put together what is to stay".to_owned(),
    )
}

fn other_directory(path: &Path) -> (Code, String, String) {
    let why = "a directory is gone, is another one now, or is reached by a link";
    let reason = format!("{} is not where it was when the edit was made: {why}", shown(path));
    (Code::Conflict, reason, "put the directory back, or change the file by hand".to_owned())
}

fn unfinished(paths: &[PathBuf], others: u32, is_of_later_form: bool) -> (Code, String, String) {
    let (whose, hint) = if is_of_later_form {
        (
            " of a later version of this server",
            "a person has to start that version once; it ends the edit then",
        )
    } else {
        (
            "",
            "a person has to start the server once with the directories of all of them; it ends the edit then",
        )
    };
    let others =
        if others > 0 { format!(" (and {others} outside the allowed directories)") } else { String::new() };
    let reason = format!(
        "an edit{whose} that was cut off has left these files half done, and this server may not end it: {}{others}",
        list(paths)
    );
    (Code::Conflict, reason, hint.to_owned())
}

/// Says what each of these paths now holds; empty if the call has left nothing behind.
pub(super) fn left(left: &[LeftBehind]) -> String {
    let one = |LeftBehind { path, what }: &LeftBehind| {
        let path = shown(path);
        match what {
            Remains::Changed => format!("{path} may hold its new content"),
            Remains::Gone => format!("what was {path} has not that name any more"),
            Remains::Old(of) => format!("{path} holds what was in {}", shown(of)),
            Remains::Made => format!("{path} is left behind"),
            Remains::PerhapsMade => format!("{path} may be left behind"),
        }
    };
    left.iter().map(one).collect::<Vec<_>>().join(", and ")
}

/// Makes the problem of a call that the client has cancelled.
pub(crate) fn cancelled() -> Problem {
    Problem::new(Code::Cancelled, "the call was cancelled", "send it again if it is still wanted")
}

/// Makes the problem of a replacement that would change more files, or more occurrences, than one call may.
pub(crate) fn too_many_hits(limits: &Limits, limit: Limit, what: impl fmt::Display) -> Problem {
    let problem = limits::too_large(limits, limit, what);
    let (_, by_person) = problem.hint.rsplit_once("; ").unwrap_or_default();
    let hint = format!("narrow `paths` or `glob`, one part after the other; {by_person}");
    Problem { hint, ..problem }
}

/// Makes the problem of a call that has exceeded its time limit.
pub(crate) fn out_of_time(limits: &Limits) -> Problem {
    limits::too_large(limits, Limit::Seconds, "the call was not done in time, and was stopped")
}

/// Code, reason and hint.
type Words = (Code, String, String);

/// Words a lack of permissions.
pub(super) fn denied(file_path: &str, operation: Operation) -> Words {
    let reason = match operation {
        Operation::WriteTemporary
        | Operation::CreateDirectory
        | Operation::Create
        | Operation::Remove
        | Operation::Move
        | Operation::Replace => format!("the system does not let files be made beside {file_path}"),
        _ => format!("the system denies access to {file_path}"),
    };
    let hint = "a person has to change the permissions, or choose another file";
    (Code::PermissionDenied, reason, hint.to_owned())
}

/// Words a read-only mount. The message names what lies on it: the file, or the state directory.
pub(super) fn read_only(call: Call<'_>, file_path: &str, error: &StoreError) -> Words {
    let (what, hint) = match call.state.filter(|state| error.path.starts_with(state)) {
        Some(state) => (
            format!("{}, this server's state directory,", state.display()),
            "a person has to mount it for writing, or start the server with another --state-dir",
        ),
        None => (
            file_path.to_owned(),
            "choose a file elsewhere; permissions make no difference here: a person would have to mount it for writing",
        ),
    };
    (Code::IoError, format!("{what} lies on a file system that is mounted read-only"), hint.to_owned())
}

/// Words the mark of chattr(1), or on macOS of chflags(1), that forbids an edit to every user.
pub(super) fn guarded(file_path: &str, error: &StoreError, by: Guard, is_directory: bool) -> Words {
    let directory = is_directory.then(|| error.path.display().to_string());
    let moves = error.operation == Operation::Move;
    marked(file_path, directory.as_deref(), by, moves, cfg!(target_vendor = "apple"))
}

/// Words the mark that forbids an edit. `directory` is the marked directory; if it is `None`, the file itself
/// is marked.
fn marked(file_path: &str, directory: Option<&str>, by: Guard, moves: bool, is_macos: bool) -> Words {
    let (mark, set, who, unset) = match (by, is_macos) {
        (Guard::Immutable, false) => ("immutable", "chattr +i", "root", "chattr -i"),
        (Guard::AppendOnly, false) => ("append-only", "chattr +a", "root", "chattr -a"),
        (Guard::Immutable, true) => {
            ("locked", "chflags uchg or schg", "the owner, or root,", "chflags nouchg,noschg")
        }
        (Guard::AppendOnly, true) => {
            ("append-only", "chflags uappnd or sappnd", "the owner, or root,", "chflags nouappnd,nosappnd")
        }
    };
    let whose = directory.map_or_else(|| file_path.to_owned(), |path| format!("the directory {path}"));
    let what = match (directory.is_some(), by) {
        (false, Guard::Immutable) => "nobody may change it, whatever its permissions",
        (false, Guard::AppendOnly) if moves => "programs may only write at its end, and its name stays",
        (false, Guard::AppendOnly) => {
            "programs may only write at its end, and an edit replaces the whole file"
        }
        (true, Guard::Immutable) => "no name in it may come or go",
        (true, Guard::AppendOnly) => "no name in it may change, or go again",
    };
    (
        Code::PermissionDenied,
        format!("{whose} is {mark} ({set}): {what}"),
        format!("choose another file, or ask a person: {who} can take the mark off with {unset}"),
    )
}

/// Words a file whose content is in a cloud and is not downloaded.
pub(super) fn not_downloaded(file_path: &str) -> Words {
    (
        Code::NotDownloaded,
        format!("the content of {file_path} is in a cloud, and the system does not fetch it for this server"),
        "ask a person to download it (Finder: Download Now), then send the same call again".to_owned(),
    )
}

/// Words an encrypted file whose key is not there.
pub(super) fn no_key(file_path: &str) -> Words {
    (
        Code::IoError,
        format!("{file_path} is encrypted by its file system, and the key is not there"),
        "choose a file elsewhere, or ask a person to unlock its directory (fscrypt unlock)".to_owned(),
    )
}

/// Asks whether one of the suggested files was meant, with the path to send to this tool in place of the
/// wrong one; the rest of the call stays as it is. `None` if there are no suggestions.
pub(super) fn which(tool: ToolId, suggested: Option<&Suggestion>) -> Option<String> {
    let suggested = suggested?;
    let paths = suggested.paths.iter().filter_map(|path| path.to_str());
    let sent: Vec<String> = paths.map(|path| json_text(&Value::from(path))).collect();
    let rest = if suggested.are_all { "" } else { "; there may be others" };
    match sent.as_slice() {
        [] => None,
        [sent] => Some(match tool {
            ToolId::Search | ToolId::Replace => format!("did you mean {sent} among `paths`?{rest}"),
            // The error says which of the call's two paths is wrong.
            ToolId::Move | ToolId::CopyLines => format!("did you mean {sent}?{rest}"),
            ToolId::List => format!("did you mean \"path\": {sent}?{rest}"),
            _ => format!("did you mean \"file_path\": {sent}?{rest}"),
        }),
        several => Some(format!("did you mean one of these? {}{rest}", several.join(" or "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_the_words_of_the_system() {
        let mut told = Vec::new();
        for is_macos in [false, true] {
            for by in [Guard::Immutable, Guard::AppendOnly] {
                let directory = Some("/a").filter(|_| by == Guard::Immutable);
                let (_, reason, hint) = marked("/a/b", directory, by, false, is_macos);
                told.push(format!("{reason}\n  {hint}"));
            }
        }
        insta::assert_snapshot!(told.join("\n"), @"
        the directory /a is immutable (chattr +i): no name in it may come or go
          choose another file, or ask a person: root can take the mark off with chattr -i
        /a/b is append-only (chattr +a): programs may only write at its end, and an edit replaces the whole file
          choose another file, or ask a person: root can take the mark off with chattr -a
        the directory /a is locked (chflags uchg or schg): no name in it may come or go
          choose another file, or ask a person: the owner, or root, can take the mark off with chflags nouchg,noschg
        /a/b is append-only (chflags uappnd or sappnd): programs may only write at its end, and an edit replaces the whole file
          choose another file, or ask a person: the owner, or root, can take the mark off with chflags nouappnd,nosappnd
        ");
    }
}
