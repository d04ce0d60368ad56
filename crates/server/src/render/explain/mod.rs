//! What the core and the store refuse, in words: each [`Problem`] says what was not done, why, and the exact next call.

mod file_system;
mod rejection;

use std::io;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::resolve::GuardedRange;
use mcp_text_editor_store::access::protection::Protection;
use mcp_text_editor_store::access::roots::{PathError, Roots};
use mcp_text_editor_store::edit::{Differing, EditProblem, Reason};
use mcp_text_editor_store::error::{SpecialFile, StoreError, StoreErrorKind};
use mcp_text_editor_store::read::document::NotText;
use serde_json::{Value, json};

use crate::config::ToolSet;
use crate::context::Cancel;
use crate::limits::{Limit, Limits};
use crate::problem::{Code, Problem};
use crate::render::paths::{allowed, list, shown};
use crate::render::{directories, limits};
use crate::tool_id::ToolId;

/// What the words need to know of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    /// The tool that was called.
    pub(crate) tool: ToolId,
    /// The allowed directories.
    pub(crate) roots: &'a Roots,
    /// The state directory, if there is one.
    pub(crate) state: Option<&'a Path>,
    /// Whether the call names more than one file.
    pub(crate) many_files: bool,
    /// How much a call may ask for.
    pub(crate) limits: &'a Limits,
    /// Whether it is to stop.
    pub(crate) cancel: &'a Cancel,
    /// The tools that a hint may name.
    pub(crate) offered: &'a ToolSet,
}

impl Call<'_> {
    /// Words that name a tool, where it is offered, else others. A hint names another tool than the one that was called in no
    /// other way.
    fn naming(
        self,
        tool: ToolId,
        words: impl FnOnce(&'static str) -> String,
        otherwise: impl FnOnce() -> String,
    ) -> String {
        if self.offered.contains(tool) { words(tool.name()) } else { otherwise() }
    }
}

/// A file of a call, as the client named it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    /// Its path.
    pub(crate) file_path: &'a str,
    /// The encoding that the client named, in its own word.
    pub(crate) encoding: Option<&'a str>,
    /// The ranges that each of its patches names; empty for tools without patches.
    pub(crate) patches: &'a [&'a [GuardedRange]],
}

/// Puts a refusal into words.
pub(crate) fn refusal(call: Call<'_>, named: Named<'_>, refusal: &EditProblem) -> Problem {
    let problem = match &refusal.reason {
        Reason::Path(problem) => path(call, named.file_path, problem),
        Reason::UnknownEncoding => unknown_encoding(named),
        Reason::Store(error) => store(call, named.file_path, error),
        Reason::NotText(fault) => not_text(named, fault),
        Reason::Differs(what) => differs(named, *what),
        Reason::TooLarge { bytes, becomes } => {
            let what = if *becomes { "would have" } else { "has" };
            limits::too_large(call.limits, Limit::File, format!("{} {what} {bytes} bytes", named.file_path))
        }
        Reason::ChangedSince { .. } => Problem::new(
            Code::Conflict,
            format!("{} has changed since", named.file_path),
            "read the file, and restore the lines you want by a patch",
        ),
        Reason::Rejected { rejection, digest, total_lines } => {
            let mut problem = rejection::problem(call, named, rejection, *total_lines);
            problem.file_hash = *digest;
            problem
        }
    };
    Problem { may_have_written: refusal.may_have_written(), ..problem }.of_file(named.file_path)
}

/// Why a path is refused.
pub(crate) fn path(call: Call<'_>, file_path: &str, problem: &PathError) -> Problem {
    match problem {
        PathError::Protected(protection) => protected(file_path, protection),
        PathError::Failed(error) => store(call, file_path, error),
        _ => misspelled(call.roots, file_path, problem),
    }
    .of_file(file_path)
}

/// Why a path is refused that need not be looked at for that.
pub(crate) fn misspelled(roots: &Roots, file_path: &str, problem: &PathError) -> Problem {
    match problem {
        PathError::NotAbsolute { candidates } => {
            let named: Vec<&str> = candidates.iter().filter_map(|path| path.to_str()).collect();
            let hint = match named.as_slice() {
                [] => allowed("give the whole path, beginning with an allowed directory:", roots),
                [one] => format!("use {one}"),
                many => format!("use one of {}", many.join(", ")),
            };
            Problem::new(Code::PathNotAbsolute, format!("File path must be absolute: {file_path}"), hint)
        }
        PathError::Traversal => Problem::new(
            Code::PathTraversal,
            format!("Path traversal not allowed: {file_path}"),
            "write the path without any `..` component",
        ),
        PathError::Unserved(unserved) => Problem::new(
            Code::OutsideAllowedDirectories,
            format!("{file_path} is in a directory that is not served: {}", directories::why(unserved)),
            directories::REMEDY,
        ),
        PathError::NulByte => Problem::new(
            Code::InvalidArguments,
            "file_path holds a NUL character",
            "send the path without it",
        ),
        PathError::RootReplaced { root } => Problem::new(
            Code::OutsideAllowedDirectories,
            format!(
                "the allowed directory {} was removed or replaced since this server was started",
                shown(root)
            ),
            "a person has to restart the server, which then takes the directory that is there",
        ),
        // The others are told of what was looked at.
        _ => {
            let hint = allowed("the allowed directories are", roots);
            let unserved = directories::also_unserved(roots);
            Problem::new(
                Code::OutsideAllowedDirectories,
                format!("{file_path} is not inside an allowed directory"),
                format!("{hint}{unserved}; a person can add one to this server's command line"),
            )
        }
    }
    .of_file(file_path)
}

/// Why a file may not be written.
fn protected(file_path: &str, protection: &Protection) -> Problem {
    let (why, hint) = match protection {
        Protection::ReadOnly => (
            "this server changes no files".to_owned(),
            "a person can start it without --read-only".to_owned(),
        ),
        Protection::Git => {
            ("`.git` and all below it is protected".to_owned(), "use git itself, or ask a person".to_owned())
        }
        Protection::ClientFile(file) => (
            format!("programs are started through `{}` by {} ({})", file.path, file.clients, file.starts),
            "ask a person to edit it, or to start this server with --unprotect for it".to_owned(),
        ),
        Protection::Pattern(pattern) => (
            format!("it matches the protected pattern `{pattern}`"),
            "ask a person to edit it, or to start this server without that --protect".to_owned(),
        ),
    };
    let reason = format!("{file_path} may be read, but not written: {why}");
    Problem::new(Code::ProtectedPath, reason, hint).suggest(ToolId::Get)
}

/// What is said of a name that is taken by something other than text.
pub(crate) fn exists_unreadable(file_path: &str) -> Problem {
    let reason = format!("{file_path} already exists, and is not a file that reads as text");
    Problem::new(Code::AlreadyExists, reason, "choose another name").of_file(file_path)
}

/// What is said of a name that is taken by a symbolic link to a file that is not there.
pub(crate) fn exists_dangling(call: Call<'_>, file_path: &str, target: &Path) -> Problem {
    let (what, hint) = dangling(call, target);
    Problem::new(Code::AlreadyExists, format!("{file_path} already exists: it is {what}"), hint)
        .of_file(file_path)
}

/// What a dangling link is, and the call that creates its target.
fn dangling(call: Call<'_>, target: &Path) -> (String, String) {
    let what = format!("a symbolic link to {}, which does not exist", shown(target));
    let check = || "check where the link leads; a person can change it".to_owned();
    let hint = target.to_str().map_or_else(check, |target| {
        let create = json!({"file_path": target, "contents": "…"});
        call.naming(
            ToolId::Create,
            |name| format!("to create the file that it leads to, call {name} {create}"),
            check,
        )
    });
    (what, hint)
}

/// What is said of a name that is taken by a text file: `replace` is the call that would replace everything in it.
pub(crate) fn exists(call: Call<'_>, file_path: &str, replace: &Value) -> Problem {
    let hint = call.naming(
        ToolId::Patch,
        |name| format!("to replace everything in it, call {name} {replace}"),
        || "choose another name, or edit the file that is there".to_owned(),
    );
    Problem::new(Code::AlreadyExists, format!("{file_path} already exists"), hint)
        .of_file(file_path)
        .suggest(ToolId::Patch)
}

/// Why an encoding's label is refused.
pub(crate) fn unknown_encoding(named: Named<'_>) -> Problem {
    let label = named.encoding.unwrap_or_default();
    let hint = match Label::suggestion(label) {
        Some(known) => format!("did you mean \"{known}\"? Without encoding, the file's BOM decides, else utf-8"),
        None => "use a WHATWG label or a Python codec name, such as utf-8, utf-16, shift_jis, gbk, big5, euc_kr, latin1 or \
                 cp1252; without encoding, the file's BOM decides, else utf-8"
            .to_owned(),
    };
    Problem::new(Code::UnknownEncoding, format!("there is no encoding named \"{label}\""), hint)
        .of_file(named.file_path)
}

/// What the operating system, or a lock, had against it.
pub(crate) fn store(call: Call<'_>, file_path: &str, error: &StoreError) -> Problem {
    let (code, reason, hint) = match &error.kind {
        kind if let Some(told) = of_name(call, file_path, kind) => told,
        StoreErrorKind::NotFound if !call.tool.is_read_only() => {
            (Code::NotFound, format!("there is no file {file_path}"), to_create(call, file_path))
        }
        StoreErrorKind::NotFound => (
            Code::NotFound,
            format!("there is no file {file_path}"),
            "check the path; names are case-sensitive".to_owned(),
        ),
        StoreErrorKind::AlreadyExists => {
            let hint = call.naming(
                ToolId::Patch,
                |name| format!("edit it with {name}, or choose another name"),
                || "choose another name".to_owned(),
            );
            (Code::AlreadyExists, format!("{file_path} already exists"), hint)
        }
        StoreErrorKind::IsADirectory => {
            (Code::IsADirectory, format!("{file_path} is a directory"), "name a file in it".to_owned())
        }
        StoreErrorKind::NotADirectory => (
            Code::NotADirectory,
            format!("a component of {file_path} is a file, not a directory"),
            "check the path".to_owned(),
        ),
        StoreErrorKind::NotARegularFile { what } => {
            let what = match what {
                SpecialFile::Fifo => "a FIFO",
                SpecialFile::Socket => "a socket",
                SpecialFile::Device => "a device",
                SpecialFile::Other => "a special file",
            };
            let reason = format!("{file_path} is {what}, not a regular file");
            (Code::NotARegularFile, reason, "name a regular file".to_owned())
        }
        StoreErrorKind::PermissionDenied => file_system::denied(file_path, error.operation),
        StoreErrorKind::ReadOnlyFileSystem => file_system::read_only(call, file_path, error),
        StoreErrorKind::Guarded { by, is_directory } => {
            file_system::guarded(file_path, error, *by, *is_directory)
        }
        StoreErrorKind::NoKey => file_system::no_key(file_path),
        StoreErrorKind::LinkLoop => (
            Code::IoError,
            format!("there are too many symbolic links on the way to {file_path}"),
            "check the links with a shell".to_owned(),
        ),
        StoreErrorKind::NameTooLong => (
            Code::IoError,
            "the path, or a name in it, is too long for the file system".to_owned(),
            "use a shorter one".to_owned(),
        ),
        StoreErrorKind::NotUnicode => (
            Code::IoError,
            format!("the path of the file, {file_path}, is not Unicode, so it cannot be found by it"),
            "restore the lines you want by a patch of the path by which the file was edited".to_owned(),
        ),
        StoreErrorKind::NoSpace => no_space(call, file_path, error),
        StoreErrorKind::FileTooLarge => file_too_large(&error.path),
        StoreErrorKind::Busy => (
            Code::Busy,
            format!("another process has held the lock on {file_path} for too long"),
            "send the same call again".to_owned(),
        ),
        StoreErrorKind::Cancelled if call.cancel.is_out_of_time() => {
            return out_of_time(call.limits).of_file(file_path);
        }
        StoreErrorKind::Cancelled => return cancelled().of_file(file_path),
        StoreErrorKind::Changed => (
            Code::Conflict,
            format!("{file_path} keeps changing while it is worked on"),
            "send the same call again once the other program has finished".to_owned(),
        ),
        StoreErrorKind::NotRestored { paths } => not_restored(paths),
        StoreErrorKind::Unfinished { paths, is_of_later_form } => unfinished(paths, *is_of_later_form),
        StoreErrorKind::Io => {
            let cause = error.source.as_ref().map_or_else(String::new, |source| format!(": {source}"));
            let reason = format!("the system failed on {}{cause}", shown(&error.path));
            (Code::IoError, reason, "try again; if it stays, a person has to look at the disk".to_owned())
        }
    };
    let problem = Problem::new(code, reason, hint).of_file(file_path);
    match code {
        Code::NotFound if !call.tool.is_read_only() => problem.suggest(ToolId::Create),
        Code::AlreadyExists => problem.suggest(ToolId::Patch),
        Code::Conflict => problem.suggest(ToolId::Get),
        _ if error.kind == StoreErrorKind::NotUnicode => problem.suggest(ToolId::Patch),
        // As its hint says.
        _ if matches!(error.kind, StoreErrorKind::NotRestored { .. }) => problem.suggest(ToolId::Get),
        _ => problem,
    }
}

/// The call that creates a file.
fn to_create(call: Call<'_>, file_path: &str) -> String {
    let create = json!({"file_path": file_path, "contents": "…"});
    call.naming(
        ToolId::Create,
        |name| format!("to create it, call {name} {create}"),
        || "check the path; names are case-sensitive".to_owned(),
    )
}

/// What is said of a call that the client has withdrawn.
pub(crate) fn cancelled() -> Problem {
    Problem::new(Code::Cancelled, "the call was cancelled", "send it again if it is still wanted")
}

/// What is said of a call whose time is over.
pub(crate) fn out_of_time(limits: &Limits) -> Problem {
    limits::too_large(limits, Limit::Seconds, "the call was not done in time, and was stopped")
}

/// What is to be said of a dangling link, and of a slash at the end of a path, if that is why.
fn of_name(call: Call<'_>, file_path: &str, kind: &StoreErrorKind) -> Option<(Code, String, String)> {
    let place = call.roots.resolve(file_path).ok()?;
    let ends_in_slash = file_path.ends_with(std::path::is_separator);
    let path = Path::new(file_path).components().collect::<PathBuf>();
    let path = path.display();
    match kind {
        StoreErrorKind::NotFound if place.is_dangling() => {
            let (what, create) = dangling(call, place.path());
            let reason = format!("{file_path} is {what}");
            let check = "check the path, and where the link leads".to_owned();
            Some((Code::NotFound, reason, if call.tool.is_read_only() { check } else { create }))
        }
        StoreErrorKind::NotADirectory if ends_in_slash => Some((
            Code::NotADirectory,
            format!("{file_path} ends in a slash, but is a file, not a directory"),
            format!("send the path without the slash: {path}"),
        )),
        StoreErrorKind::IsADirectory if ends_in_slash && place.is_free() => Some((
            Code::IsADirectory,
            format!("{file_path} ends in a slash, so it names a directory, and there is none"),
            format!(
                "send the path of a file, such as {path}; directories that are missing above it are made"
            ),
        )),
        _ => None,
    }
}

/// What is full is named by what is on it: the file, or the state directory.
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

fn not_restored(paths: &[PathBuf]) -> (Code, String, String) {
    (
        Code::IoError,
        format!("the edit failed, and these files could not be put back, or not for good: {}", list(paths)),
        "read them again before anything else; an edit that is left half done is ended or taken back before the next one".to_owned(),
    )
}

fn unfinished(paths: &[PathBuf], is_of_later_form: bool) -> (Code, String, String) {
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
    let reason = format!(
        "an edit{whose} that was cut off has left these files half done, and this server may not end it: {}",
        list(paths)
    );
    (Code::Conflict, reason, hint.to_owned())
}

/// Why a file is no text.
pub(crate) fn not_text(named: Named<'_>, fault: &NotText) -> Problem {
    let file_path = named.file_path;
    let problem = match fault {
        NotText::Binary { offset, looks_like: Some(encoding), bom: true } => Problem::new(
            Code::BinaryFile,
            format!(
                "{file_path} holds a NUL byte at offset {offset}, but it begins with the byte order mark of {}",
                encoding.name()
            ),
            "send the same call without \"encoding\"",
        ),
        NotText::Binary { offset, looks_like: None, .. } => Problem::new(
            Code::BinaryFile,
            format!("{file_path} is binary: it holds a NUL byte at offset {offset}"),
            "this server works on text files only",
        ),
        NotText::Binary { offset, looks_like: Some(encoding), .. } => {
            let name = encoding.name();
            Problem::new(
                Code::BinaryFile,
                format!(
                    "{file_path} holds a NUL byte at offset {offset}; it looks like {name} without a BOM"
                ),
                format!("send the same call with \"encoding\": \"{name}\""),
            )
        }
        NotText::Undecodable { offset, line, encoding, bom, looks_like } => {
            let label = named.encoding.filter(|_| !bom).unwrap_or(encoding.name());
            let reason = format!(
                "Failed to decode file with {label} encoding: {file_path} has invalid bytes at offset {offset}, in line {line}"
            );
            let hint = match looks_like {
                _ if *bom => "its byte order mark says so; the file seems to be damaged, and a person has to look at it".to_owned(),
                Some(encoding) => {
                    let name = encoding.name();
                    format!("the bytes look like {name}: send the same call with \"encoding\": \"{name}\"")
                }
                None => "name the file's encoding with \"encoding\"; \"latin1\" reads any bytes, one character each".to_owned(),
            };
            Problem::new(Code::DecodeFailed, reason, hint)
        }
    };
    problem.of_file(file_path)
}

fn differs(named: Named<'_>, what: Differing) -> Problem {
    let (key, first) = match what {
        Differing::Encoding { first } => ("encoding", first),
        Differing::FileHash { first } => ("file_hash", first),
    };
    Problem::new(
        Code::InvalidArguments,
        format!("{} is the same file as files[{first}], but their {key} differs", named.file_path),
        "put all patches of one file into one entry",
    )
}

#[cfg(test)]
mod tests;
