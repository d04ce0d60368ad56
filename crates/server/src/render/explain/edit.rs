//! Words each [`Reason`] why a file is not read, edited or searched. Most kinds have a module of their own.

use mcp_text_editor_core::encoding::{Label, Strays};
use mcp_text_editor_store::{
    BadGlobs, BadSearchPattern, Change, Differing, EditProblem, MAX_GLOB_BYTES, MAX_GLOBS, NotText, Reason,
    SearchError, SearchProblem,
};

use super::call::{Call, CalledFile};
use super::exists::{exists, link, taken};
use super::path::path;
use super::rejection;
use super::store::store;
use crate::limits::Limit;
use crate::problem::{Code, Problem};
use crate::render::escape::on_one_line;
use crate::render::limits;
use crate::render::limits::size;
use crate::render::replace::in_files;
use crate::tool_id::ToolId;

/// Makes the problem of a file that is not edited.
pub(crate) fn edit_problem(call: Call<'_>, named: CalledFile<'_>, found: &EditProblem) -> Problem {
    problem(call, named, &found.reason)
}

/// Makes the problem of a file that is not read or not edited.
pub(crate) fn problem(call: Call<'_>, named: CalledFile<'_>, reason: &Reason) -> Problem {
    match reason {
        Reason::Path(problem) => path(call, named, problem),
        Reason::UnknownEncoding => unknown_encoding(named),
        Reason::Store(error) => store(call, named, error),
        Reason::NotText(NotText::Binary { offset, .. }) if call.tool == ToolId::Remove => Problem::new(
            Code::BinaryFile,
            format!("{} is binary: it holds a NUL byte at offset {offset}", named.file_path),
            "only text is removed; a person can remove this file",
        ),
        Reason::NotText(fault) => not_text(named, fault),
        Reason::Exists(existing) => exists(call, named, existing),
        Reason::IsALink { target } => link(call, named, target),
        Reason::Taken { by, inside } => taken(call, named.file_path, by, inside.as_deref()),
        Reason::OfTarget(reason) => problem(call, named, reason),
        Reason::Differs(what) => differs(named, what),
        Reason::TooLarge { bytes, becomes } => {
            let what = if *becomes { "would have" } else { "has" };
            limits::too_large(call.limits, Limit::File, format!("{} {what} {bytes} bytes", named.file_path))
        }
        Reason::TooLong => Problem::new(
            Code::TooLarge,
            format!("{}, or a line of it, is too long for this pattern", named.file_path),
            "leave it out by `glob`, such as !NAME, or write a simpler `pattern`, such as [a-z] for \\w",
        ),
        Reason::Count { expected, places, files } => {
            let problem = Problem::new(
                Code::CountMismatch,
                format!("the pattern has {}, not {expected}", in_files(*places, *files as u64)),
                match places {
                    0 => "send the call without expected_replacements, to see what was left out".to_owned(),
                    _ => format!(
                        "look at them: send the call without expected_replacements; or replace all of them with \"expected_replacements\": {places}"
                    ),
                },
            );
            return Problem { suggestion: Some(call.tool), ..problem };
        }
        Reason::ChangedSince { .. } => Problem::new(
            Code::Conflict,
            format!("{} has changed since", named.file_path),
            "read the file, and restore the lines you want by a patch",
        ),
        Reason::Rejected { rejection, digest, total_lines } => {
            let mut problem = rejection::problem(call, named, rejection, digest.as_ref(), *total_lines);
            problem.file_hash = *digest;
            problem
        }
    }
    .of_file(named.file_path)
}

/// Makes the problem of two entries of a call that contradict each other.
fn differs(named: CalledFile<'_>, what: &Differing) -> Problem {
    let (key, first) = match what {
        Differing::Encoding { first } => ("encoding", first),
        Differing::FileHash { first } => ("file_hash", first),
        Differing::Fate { .. } if matches!(named.change, Some(Change::Rearrange(_) | Change::Create(_))) => {
            return Problem::new(
                Code::InvalidArguments,
                format!("{} is a file that the call names by another path, too", named.file_path),
                "name it by one path; for lines of one file leave `to` out",
            );
        }
        Differing::Fate { first } => {
            return Problem::new(
                Code::InvalidArguments,
                format!(
                    "{} is the same file as files[{first}], which the call moves, removes or edits otherwise",
                    named.file_path
                ),
                "give each file one entry: `patches` beside `move_to` edit a file that is moved",
            );
        }
        Differing::Result { first, path } => {
            return Problem::new(
                Code::InvalidArguments,
                format!("files[{first}] is to be at {}, too", path.display()),
                "give each file a path of its own; a path is free for another file if the call moves or removes the one that has it",
            );
        }
    };
    Problem::new(
        Code::InvalidArguments,
        format!("{} is the same file as files[{first}], but their {key} differs", named.file_path),
        "put all patches of one file into one entry",
    )
}

/// The maximum number of characters that are shown of a glob that cannot be parsed.
const SHOWN: usize = 200;

/// Makes the problems of a search, or a listing, of these paths with these globs.
pub(crate) fn problems(
    call: Call<'_>,
    paths: &[&str],
    globs: &[String],
    encoding: Option<&str>,
    error: &SearchError,
) -> Vec<Problem> {
    error
        .problems
        .iter()
        .map(|found| match found {
            SearchProblem::Pattern(BadSearchPattern::LineEnd) => Problem::new(
                Code::InvalidArguments,
                "`pattern` holds a line end, and a match is within one line",
                "send \"multiline\": true to match over lines",
            ),
            SearchProblem::Pattern(BadSearchPattern::Empty) => Problem::new(
                Code::InvalidArguments,
                "`pattern` matches the empty text",
                "write it so that it matches at least one character, such as a+ for a*, or the text beside ^, $ or \\b",
            ),
            SearchProblem::Pattern(BadSearchPattern::Group(group)) => Problem::new(
                Code::InvalidArguments,
                format!("`replacement` names the group `{}`, and `pattern` has no such group", on_one_line(group)),
                "put ( ) around what the group is to hold; write $$ for $, and ${1}a where a letter or a digit follows a group",
            ),
            SearchProblem::Pattern(BadSearchPattern::Regex(why)) => Problem::new(
                Code::InvalidArguments,
                format!("`pattern` is no regular expression: {}", of_regex(why)),
                "send \"literal\": true for plain text; in an expression put a backslash before ( ) [ ] { } . * + ? | ^ $ where the \
                 character itself is meant; there are neither look-around nor back-references",
            ),
            SearchProblem::Pattern(BadSearchPattern::TooLong { bytes, most }) => Problem::new(
                Code::TooLarge,
                format!("`pattern` has {bytes} bytes, and the limit is {}", size(*most as u64)),
                "search for a part that is enough to find the lines, or for fewer things in one call",
            ),
            SearchProblem::Pattern(BadSearchPattern::TooLarge) => Problem::new(
                Code::TooLarge,
                "`pattern` takes more memory than the limit of 10 MiB once it is compiled",
                "count less often, as in \\w{1000}, write [a-z] for \\w where that is enough, and (?:…) for (…)",
            ),
            SearchProblem::Globs(bad) => of_globs(globs, bad),
            SearchProblem::Refused { entry, reason } => {
                let file_path = paths.get(*entry).copied().unwrap_or_default();
                let mut problem = problem(call, CalledFile { encoding, ..CalledFile::by_path(file_path) }, reason);
                problem.file_path = problem.file_path.filter(|path| !path.is_empty());
                problem
            }
        })
        .collect()
}

fn of_globs(globs: &[String], bad: &BadGlobs) -> Problem {
    let too_large =
        |reason| Problem::new(Code::TooLarge, reason, "give fewer or shorter globs, or name directories");
    match bad {
        BadGlobs::Unreadable(index, why) => {
            let glob: String =
                globs.get(*index).map(|glob| glob.chars().take(SHOWN).collect()).unwrap_or_default();
            Problem::new(
                Code::InvalidArguments,
                format!("`glob` cannot be read: `{}` is no pattern: {why}", on_one_line(&glob)),
                "such as *.rs, *.{ts,tsx}, src/**/*.py, or !*.md for all others",
            )
        }
        BadGlobs::Many(asked) => too_large(format!("`glob` has {asked} globs, and the limit is {MAX_GLOBS}")),
        BadGlobs::Long(asked) => {
            let most = size(MAX_GLOB_BYTES as u64);
            too_large(format!("`glob` has {asked} bytes, and the limit is {most}"))
        }
        BadGlobs::Large => too_large("`glob` takes too much memory once it is compiled".to_owned()),
    }
}

/// Returns the last line of a parser's message about a regular expression, which says what is wrong. The
/// lines before it only show the position.
fn of_regex(message: &str) -> String {
    let last = message.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    on_one_line(last.trim().trim_start_matches("error: "))
}

/// Makes the problem of an encoding that does not exist.
pub(crate) fn unknown_encoding(named: CalledFile<'_>) -> Problem {
    let label = named.encoding.unwrap_or_default();
    let hint = match Label::suggestion(label) {
        Some(known) => format!("did you mean \"{known}\"? Without encoding, the file's BOM decides, else utf-8"),
        None => "use a WHATWG label or a Python codec name, such as utf-8, utf-16, shift_jis, gbk, big5, euc_kr, latin1 or \
                 cp1252; latin1 keeps every byte that is not edited; without encoding, the file's BOM decides, else utf-8"
            .to_owned(),
    };
    Problem::new(Code::UnknownEncoding, format!("there is no encoding named \"{label}\""), hint)
        .of_file(named.file_path)
}

/// Makes the problem of a file that is not text.
pub(crate) fn not_text(named: CalledFile<'_>, fault: &NotText) -> Problem {
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
        NotText::Undecodable { offset, line, encoding, bom, looks_like, strays } => {
            let label = named.encoding.filter(|_| !bom).unwrap_or(encoding.name());
            let reason = format!(
                "Failed to decode file with {label} encoding: {file_path} has invalid bytes at offset {offset}, in line {line}"
            );
            let keeps = "\"encoding\": \"latin1\" keeps every byte, for an edit in ASCII alone";
            let hint = match (looks_like, strays) {
                _ if *bom => "its byte order mark says so; the file seems to be damaged, and a person has to look at it".to_owned(),
                (Some(encoding), _) => {
                    let name = encoding.name();
                    format!("the bytes look like {name}: send the same call with \"encoding\": \"{name}\"")
                }
                (None, Some(Strays { is_cut: true, .. })) => {
                    format!("the file is UTF-8, and is cut off in the middle of a character, in line {line}; {keeps}")
                }
                (None, Some(Strays { count, .. })) => format!(
                    "all else is UTF-8, and {} not, the first in line {line}: have it mended; {keeps}",
                    if *count == 1 { "1 byte is".to_owned() } else { format!("{count} bytes are") }
                ),
                (None, None) => "name the file's encoding with \"encoding\"; \"latin1\" reads any bytes, one character each".to_owned(),
            };
            Problem::new(Code::DecodeFailed, reason, hint)
        }
    };
    problem.of_file(file_path)
}
