//! Words each [`Reason`] why a file is not read or not edited. Most kinds have a module of their own.

use mcp_text_editor_store::{Change, Differing, EditProblem, NotText, Reason};

use super::call::{Call, CalledFile};
use super::exists::{exists, link, taken};
use super::path::path;
use super::rejection;
use super::store::store;
use super::text::{not_text, unknown_encoding};
use crate::limits::Limit;
use crate::problem::{Code, Problem};
use crate::render::limits;
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
