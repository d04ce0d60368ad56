//! What the core and the store refuse, in words: each [`Problem`] says what was not done, why, and the exact next call.

use std::path::{Path, PathBuf};

use mcp_text_editor_core::cause::Cause;
use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::error::{At, Evidence, Rejection};
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::{CLOSEST, Tier};
use mcp_text_editor_store::document::NotText;
use mcp_text_editor_store::edit::{Differing, Reason, Refusal};
use mcp_text_editor_store::error::{Operation, SpecialFile, StoreError, StoreErrorKind};
use mcp_text_editor_store::policy::Protection;
use mcp_text_editor_store::roots::{PathProblem, Roots};
use serde_json::{Value, json};

use crate::context::Cancel;
use crate::limits::{Exceeded, Limit, Limits};
use crate::problem::{Code, Problem};
use crate::render::failure::spelled;
use crate::tools::{self, Tool};

/// What the words need to know of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    /// The tool that was called.
    pub(crate) tool: &'static Tool,
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
}

/// A file of a call, as the client named it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    /// Its path.
    pub(crate) file_path: &'a str,
    /// The encoding that the client named, in its own word.
    pub(crate) encoding: Option<&'a str>,
    /// How many ranges each of its patches names; empty for tools without patches.
    pub(crate) patches: &'a [usize],
}

/// Puts a refusal into words.
pub(crate) fn refusal(call: Call<'_>, named: Named<'_>, refusal: &Refusal) -> Problem {
    let problem = match &refusal.reason {
        Reason::Path(problem) => path(call, named.file_path, problem),
        Reason::UnknownEncoding => unknown_encoding(named),
        Reason::Store(error) => store(call, named.file_path, error),
        Reason::NotText(fault) => not_text(named, fault),
        Reason::Differs(what) => differs(named, *what),
        Reason::TooLarge { bytes, becomes } => {
            let what = if *becomes { "would have" } else { "has" };
            call.limits.problem(Limit::File, format!("{} {what} {bytes} bytes", named.file_path))
        }
        Reason::ChangedSince { .. } => Problem::new(
            Code::Conflict,
            format!("{} has changed since", named.file_path),
            "read the file, and restore the lines you want by a patch",
        ),
        Reason::Rejected { rejection, digest, total_lines } => {
            let mut problem = rejected(call, named, rejection, *total_lines);
            problem.file_hash = *digest;
            problem
        }
    };
    Problem { has_left_changes: refusal.has_left_changes(), ..problem }.of_file(named.file_path)
}

/// Why a path is refused.
pub(crate) fn path(call: Call<'_>, file_path: &str, problem: &PathProblem) -> Problem {
    match problem {
        PathProblem::NotAbsolute { candidates } => {
            let hint = match candidates.as_slice() {
                [] => format!(
                    "give the whole path, beginning with an allowed directory: {}",
                    list(call.roots.paths())
                ),
                [one] => format!("use {}", one.display()),
                many => format!("use one of {}", list(many)),
            };
            Problem::new(Code::PathNotAbsolute, format!("File path must be absolute: {file_path}"), hint)
        }
        PathProblem::Traversal => Problem::new(
            Code::PathTraversal,
            format!("Path traversal not allowed: {file_path}"),
            "write the path without any `..` component",
        ),
        PathProblem::Outside => Problem::new(
            Code::OutsideAllowedDirectories,
            format!("{file_path} is not inside an allowed directory"),
            format!(
                "the allowed directories are {}; a person can add one to this server's command line",
                list(call.roots.paths())
            ),
        ),
        PathProblem::NulByte => Problem::new(
            Code::InvalidArguments,
            "file_path holds a NUL character",
            "send the path without it",
        ),
        PathProblem::RootReplaced { root } => Problem::new(
            Code::OutsideAllowedDirectories,
            format!(
                "the allowed directory {} was removed or replaced since this server was started",
                root.display()
            ),
            "a person has to restart the server, which then takes the directory that is there",
        ),
        PathProblem::Protected(protection) => protected(file_path, protection),
        PathProblem::Failed(error) => store(call, file_path, error),
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
        Protection::ClientFile => (
            "files that tell a client which programs to start are protected".to_owned(),
            "ask a person to edit it".to_owned(),
        ),
        Protection::Pattern(pattern) => (
            format!("it matches the protected pattern `{pattern}`"),
            "ask a person to edit it, or to start this server without that --protect".to_owned(),
        ),
    };
    let reason = format!("{file_path} may be read, but not written: {why}");
    Problem::new(Code::ProtectedPath, reason, hint).suggest(&tools::get::TOOL)
}

/// What is said of a name that is taken by something other than text.
pub(crate) fn exists_unreadable(file_path: &str) -> Problem {
    let reason = format!("{file_path} already exists, and is not a file that reads as text");
    Problem::new(Code::AlreadyExists, reason, "choose another name").of_file(file_path)
}

/// What is said of a name that is taken by a text file: `replace` is the call that would replace everything in it.
pub(crate) fn exists(file_path: &str, replace: &Value) -> Problem {
    let hint = format!("to replace everything in it, call patch_text_file_contents {replace}");
    Problem::new(Code::AlreadyExists, format!("{file_path} already exists"), hint)
        .of_file(file_path)
        .suggest(&tools::patch::TOOL)
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
        StoreErrorKind::NotFound if !call.tool.read_only => (
            Code::NotFound,
            format!("there is no file {file_path}"),
            format!(
                "to create it, call create_text_file {}",
                json!({"file_path": file_path, "contents": "…"})
            ),
        ),
        StoreErrorKind::NotFound => (
            Code::NotFound,
            format!("there is no file {file_path}"),
            "check the path; names are case-sensitive".to_owned(),
        ),
        StoreErrorKind::AlreadyExists => (
            Code::AlreadyExists,
            format!("{file_path} already exists"),
            "edit it with patch_text_file_contents, or choose another name".to_owned(),
        ),
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
        StoreErrorKind::PermissionDenied => (
            Code::PermissionDenied,
            match error.operation {
                Operation::WriteTemporary
                | Operation::CreateDirectory
                | Operation::Create
                | Operation::Remove
                | Operation::Replace => {
                    format!("the system does not let files be made beside {file_path}")
                }
                _ => format!("the system denies access to {file_path}"),
            },
            "a person has to change the permissions, or choose another file".to_owned(),
        ),
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
        StoreErrorKind::NoSpace => no_space(call, file_path, error),
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
        StoreErrorKind::Unfinished { paths } => unfinished(paths),
        StoreErrorKind::Io => {
            let cause = error.source.as_ref().map_or_else(String::new, |source| format!(": {source}"));
            let reason = format!("the system failed on {}{cause}", error.path.display());
            (Code::IoError, reason, "try again; if it stays, a person has to look at the disk".to_owned())
        }
    };
    let problem = Problem::new(code, reason, hint).of_file(file_path);
    match code {
        Code::NotFound if !call.tool.read_only => problem.suggest(&tools::create::TOOL),
        Code::AlreadyExists => problem.suggest(&tools::patch::TOOL),
        Code::Conflict => problem.suggest(&tools::get::TOOL),
        // As its hint says.
        _ if matches!(error.kind, StoreErrorKind::NotRestored { .. }) => problem.suggest(&tools::get::TOOL),
        _ => problem,
    }
}

/// What is said of a call that the client has withdrawn.
pub(crate) fn cancelled() -> Problem {
    Problem::new(Code::Cancelled, "the call was cancelled", "send it again if it is still wanted")
}

/// What is said of a call whose time is over.
pub(crate) fn out_of_time(limits: &Limits) -> Problem {
    limits.problem(Limit::Seconds, "the call was not done in time, and was stopped")
}

/// What is full is named by what is on it: the file, or the state directory.
fn no_space(call: Call<'_>, file_path: &str, error: &StoreError) -> (Code, String, String) {
    let full = match call.state.filter(|state| error.path.starts_with(state)) {
        Some(state) => format!("{}, this server's state directory", state.display()),
        None => file_path.to_owned(),
    };
    (
        Code::NoSpace,
        format!("there is no space left on the disk of {full}"),
        "free some space, then send the same call again".to_owned(),
    )
}

fn not_restored(paths: &[PathBuf]) -> (Code, String, String) {
    (
        Code::IoError,
        format!("the edit failed, and these files could not be put back: {}", list(paths)),
        "read them again before anything else".to_owned(),
    )
}

fn unfinished(paths: &[PathBuf]) -> (Code, String, String) {
    (
        Code::Conflict,
        format!(
            "an edit that was cut off has left these files half done, and this server may not end it: {}",
            list(paths)
        ),
        "a person has to start the server once with the directories of all of them; it ends the edit then"
            .to_owned(),
    )
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

fn rejected(call: Call<'_>, named: Named<'_>, rejection: &Rejection, total_lines: u64) -> Problem {
    let place = |at: At| place(call, named, at);
    let mut problem = match rejection {
        Rejection::HashMismatch { actual, still_applies: true } => Problem::new(
            Code::HashMismatch,
            "the file is not the one that file_hash was taken of, but all that the call names is still there",
            format!("send the same call with \"file_hash\": \"{}\"", actual.short()),
        ),
        Rejection::HashMismatch { still_applies: false, .. } => Problem::new(
            Code::HashMismatch,
            "the file is not the one that file_hash was taken of, and the call does not fit it any more",
            format!("read it again: get_text_file_contents {}", read_call(named)),
        )
        .suggest(&tools::get::TOOL),
        Rejection::InvalidRange { start, end, .. } => Problem::new(
            Code::InvalidRange,
            format!("end {end} is before start {start}"),
            "send start and end in rising order; without end, the range goes to the last line",
        ),
        Rejection::LineOutOfRange { start, end, total, .. } => {
            let reason = match end {
                Some(end) => {
                    format!("lines {start}-{end} are not all in the file, which has {}", counted(*total))
                }
                None => format!("line {start} is not in the file, which has {}", counted(*total)),
            };
            Problem::new(Code::LineOutOfRange, reason, out_of_range_hint(call.tool, *total))
                .suggest(&tools::get::TOOL)
        }
        Rejection::EmptyOldString { .. } => Problem::new(
            Code::InvalidArguments,
            format!(
                "an empty old_string without ranges stands for an empty file, and this one has {total_lines} lines"
            ),
            "say what to replace by its text or by ranges; to add lines, call insert_text_file_contents",
        ),
        Rejection::ByteOrderMark { .. } => Problem::new(
            Code::InvalidArguments,
            "the file would then begin with a byte order mark (U+FEFF), which it does not have",
            "leave U+FEFF out of the text; to delete what stands before one, delete it, too",
        ),
        Rejection::Overlap { first, second } => {
            let name = |at: At| place(at).trim_end_matches(": ").to_owned();
            let which = match (name(first.0), name(second.0)) {
                (a, b) if a.is_empty() || a == b => String::new(),
                (a, b) => format!("{a} and {b}: "),
            };
            let problem = Problem::new(
                Code::OverlappingRanges,
                format!(
                    "{which}two edits of one call overlap, at {} and {}",
                    spelled(first.1),
                    spelled(second.1)
                ),
                if call.tool.name == tools::patch::TOOL.name {
                    "join them into one patch; a range owns its whole lines"
                } else {
                    "name each line once"
                },
            );
            return Problem { lines: Some(first.1).filter(|lines| !lines.is_empty()), ..problem };
        }
        Rejection::Unencodable { character, line, column, .. } => {
            let what = if call.tool.name == tools::patch::TOOL.name { "new_string" } else { "contents" };
            let encoding = named.encoding.unwrap_or("the file's encoding");
            let code_point = u32::from(*character);
            Problem::new(
                Code::EncodeFailed,
                format!(
                    "{encoding} has no {character:?} (U+{code_point:04X}), which is at line {line}, column {column} of {what}"
                ),
                "write it with characters that the encoding has",
            )
        }
        Rejection::ShiftState { lines, .. } => Problem::new(
            Code::EncodeFailed,
            format!("an edit cannot begin or end inside a shifted sequence of bytes, in {}", spelled(*lines)),
            "widen the edit until it begins and ends where the file is in ASCII, as most lines do",
        ),
        Rejection::TooManyOccurrences { count, .. } => {
            call.limits.exceeded(Exceeded { limit: Limit::Occurrences, asked: *count })
        }
        Rejection::TooMuchText { bytes, .. } => {
            call.limits.exceeded(Exceeded { limit: Limit::Inserted, asked: *bytes })
        }
        Rejection::RangeHashMismatch { .. }
        | Rejection::ContentMismatch { .. }
        | Rejection::NoMatch { .. }
        | Rejection::AmbiguousMatch { .. } => mismatched(call.tool, named, rejection),
    };
    if let Some(at) = rejection.at() {
        problem.reason.insert_str(0, &place(at));
    }
    problem
}

/// A guard that does not hold: what is there instead, and where the wanted text is.
fn mismatched(tool: &Tool, named: Named<'_>, rejection: &Rejection) -> Problem {
    let (problem, lines, evidence) = match rejection {
        Rejection::RangeHashMismatch { lines, digest, expected, is_old_there, evidence, .. } => {
            let reason =
                format!("the bytes of {} are not those that range_hash was taken of", spelled(*lines));
            let hint = match evidence.found_at.first() {
                _ if *is_old_there => format!(
                    "old_string is their text: leave \"range_hash\" out, or send \"range_hash\": \"{}\"",
                    digest.short()
                ),
                Some(found) => {
                    let (start, end) = (found.start().get(), found.end());
                    let range = json!({"start": start, "end": end, "range_hash": expected.as_str()});
                    format!(
                        "the lines now stand at {}: call {} with \"ranges\": [{range}]",
                        spelled(*found),
                        tool.name
                    )
                }
                None => format!(
                    "if the text shown is what you mean, send \"range_hash\": \"{}\"; else read the file again",
                    digest.short()
                ),
            };
            (Problem::new(Code::RangeHashMismatch, reason, hint), Some(*lines), evidence)
        }
        Rejection::ContentMismatch { lines, evidence, .. } => {
            let reason =
                format!("the text of {} is not old_string{}", spelled(*lines), because(evidence, *lines));
            let hint = content_hint(*lines, evidence);
            (Problem::new(Code::ContentMismatch, reason, hint), Some(*lines), evidence)
        }
        Rejection::AmbiguousMatch { count, tier, evidence, .. } => {
            let blanks =
                if *tier == Tier::TrailingWhitespace { " but for spaces and tabs at line ends" } else { "" };
            let reason = format!("old_string occurs {count} times{blanks}");
            let hint = "add lines around it to old_string until it occurs once, or say which place is meant by \"ranges\" \
                        with whole lines as old_string, or send \"replace_all\": true to change them all";
            (Problem::new(Code::AmbiguousMatch, reason, hint), None, evidence)
        }
        Rejection::NoMatch { evidence, .. } => {
            let reason =
                format!("old_string is not in the file{}", evidence.cause.map_or_else(String::new, cause));
            let hint = no_match_hint(named, evidence);
            let mut problem = Problem::new(Code::NoMatch, reason, hint);
            if evidence.nearest.is_empty() && evidence.actual.is_none() {
                problem = problem.suggest(&tools::get::TOOL);
            }
            (problem, None, evidence)
        }
        // The caller sends no other.
        _ => return Problem::new(Code::InternalError, "a mismatch of no known kind", "report this"),
    };
    Problem {
        lines,
        actual: evidence.actual.clone(),
        found_at: evidence.found_at.clone(),
        nearest: evidence.nearest.iter().map(|near| (near.lines, near.text.clone())).collect(),
        ..problem
    }
}

/// The part of the call that is meant, as a prefix; nothing where there is only one.
fn place(call: Call<'_>, named: Named<'_>, at: At) -> String {
    let mut parts = Vec::new();
    if call.many_files {
        parts.push(format!("files[{}]", at.entry));
    }
    if named.patches.len() > 1 {
        parts.push(format!("patches[{}]", at.patch));
    }
    let ranges = named.patches.get(at.patch).copied().unwrap_or(2);
    if let Some(range) = at.range.filter(|_| ranges > 1) {
        parts.push(format!("ranges[{range}]"));
    }
    if parts.is_empty() { String::new() } else { parts.join(".") + ": " }
}

fn because(evidence: &Evidence, lines: LineRange) -> String {
    match (evidence.cause, evidence.found_at.first()) {
        (Some(why), _) => cause(why),
        (None, Some(found)) if *found != lines => format!(": it stands at {}", spelled(*found)),
        (None, _) => String::new(),
    }
}

/// Why a match failed, as the end of a sentence.
fn cause(cause: Cause) -> String {
    let why = match cause {
        Cause::TabsAgainstSpaces => "one has tabs where the other has spaces",
        Cause::Indentation => "the indentation differs",
        Cause::TypographicQuotes => "one has typographic quotes where the other has plain ones",
        Cause::NoBreakSpace => "one has a no-break space where the other has a space",
        Cause::SpelledOutEscapes => "line ends, tabs or quotes are spelled out as \\n, \\t or \\\"",
        Cause::Gutter => "the line numbers that reads show were copied along",
        Cause::RangeTooLong => "the range has more lines than old_string",
        Cause::RangeTooShort => "the range has fewer lines than old_string",
        Cause::AlreadyThere => "new_string is already there, so perhaps the edit was made before",
        Cause::Elided => "a line of `...` stands for text that was left out",
        Cause::LetterCase => "upper and lower case differ",
        Cause::TrailingWhitespace => "only spaces or tabs differ, where they count",
    };
    format!(": {why}")
}

fn content_hint(lines: LineRange, evidence: &Evidence) -> String {
    match (evidence.found_at.as_slice(), evidence.cause) {
        (_, Some(Cause::AlreadyThere)) => {
            "if the text shown is what you want, nothing is left to do".to_owned()
        }
        ([found], _) if evidence.whole_lines => {
            format!(
                "old_string stands at {}: send the patch with \"ranges\": [{}]",
                spelled(*found),
                range(*found)
            )
        }
        ([found, ..], _) if evidence.whole_lines => format!(
            "old_string stands at {}{} places; for the first of them send the patch with \"ranges\": [{}]",
            // More are not kept.
            if evidence.found_at.len() < CLOSEST { "" } else { "at least " },
            evidence.found_at.len(),
            range(*found)
        ),
        ([found, ..], _) => format!(
            "old_string is a part of {}: send the patch without ranges, or the whole lines as old_string",
            spelled(*found)
        ),
        ([], _) => match evidence.nearest.first() {
            Some(near) => format!(
                "copy old_string from the text of the lines you mean: {}, or the similar {}",
                spelled(lines),
                spelled(near.lines)
            ),
            None => format!("copy old_string from the text of {} shown above", spelled(lines)),
        },
    }
}

fn no_match_hint(named: Named<'_>, evidence: &Evidence) -> String {
    match (evidence.cause, evidence.nearest.first()) {
        (Some(Cause::AlreadyThere), _) => {
            "if the text shown is what you want, nothing is left to do".to_owned()
        }
        (_, Some(near)) => format!(
            "if {} is what you mean, copy old_string from the text shown above, without line numbers",
            spelled(near.lines)
        ),
        (_, None) if !evidence.found_at.is_empty() => {
            "copy old_string from the text shown above, with the blanks at line ends".to_owned()
        }
        (_, None) => format!("read the file: get_text_file_contents {}", read_call(named)),
    }
}

fn out_of_range_hint(tool: &Tool, total: u64) -> String {
    match total {
        _ if tool.name == tools::insert::TOOL.name => {
            format!("after takes 0 to {total}, before takes 1 to {}", total + 1)
        }
        0 => "the file is empty; to add lines, call append_text_file_contents".to_owned(),
        _ => format!("lines are 1 to {total}; to add lines at the end, call append_text_file_contents"),
    }
}

/// The arguments that read the file as the call did.
fn read_call(named: Named<'_>) -> Value {
    match named.encoding {
        Some(encoding) => json!({"file_path": named.file_path, "encoding": encoding}),
        None => json!({"file_path": named.file_path}),
    }
}

fn counted(lines: u64) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

fn range(lines: LineRange) -> String {
    json!({"start": lines.start().get(), "end": lines.end()}).to_string()
}

fn list(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> String {
    let paths: Vec<String> = paths.into_iter().map(|path| path.as_ref().display().to_string()).collect();
    paths.join(", ")
}

#[cfg(test)]
mod tests;
