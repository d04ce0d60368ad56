//! Words the rejections of the core: hashes that do not match, texts that are not in the file, lines that do
//! not exist.

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::rejection::Slip;
use mcp_text_editor_core::rejection::{At, Excerpt, Fit, Rejection};
use serde_json::json;

use super::call::{AROUND, Call, CalledFile, place, reading, written};
use super::mismatch;
use super::store::too_many_hits;
use crate::limits::{Exceeded, Limit};
use crate::problem::{Code, Problem};
use crate::render::layout::spelled;
use crate::render::limits;
use crate::tool_id::ToolId;

/// Makes the problem of a rejection.
pub(super) fn problem(
    call: Call<'_>,
    named: CalledFile<'_>,
    rejection: &Rejection,
    file_hash: Option<&Digest>,
    total_lines: u64,
) -> Problem {
    let place = |at: At| place(call, named, at);
    let mut problem = match rejection {
        Rejection::HashMismatch { actual, fit, .. } => another_file(call, named, actual, fit, total_lines),
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
            let problem = Problem::new(Code::LineOutOfRange, reason, out_of_range_hint(call, *total));
            // An empty file has nothing to read, and the hint is about the tool that was called.
            if *total == 0 { problem } else { problem.suggest(ToolId::Get) }
        }
        Rejection::EmptyOldString { at, lines } => Problem::new(
            Code::InvalidArguments,
            format!(
                "an empty old_string without ranges stands for an empty file, and this one has {}",
                counted(total_lines)
            ),
            how_to_add_or_replace(call, named, *at, file_hash, lines, total_lines),
        ),
        Rejection::ChangedLine { lines, text, .. } => {
            changed_line(call, *lines, text, file_hash, total_lines)
        }
        Rejection::TextSlip { at, lines, slip, indentation } => {
            slipped(named, *at, (*lines, *slip), indentation)
        }
        Rejection::ByteOrderMark { .. } => Problem::new(
            Code::InvalidArguments,
            "the file would then begin with a byte order mark (U+FEFF), which it does not have",
            "leave U+FEFF out of the text; to delete what stands before one, delete it, too",
        ),
        Rejection::Overlap { first, second } => return overlap(call, named, *first, *second),
        Rejection::Unencodable { character, line, column, .. } => {
            let what = match call.tool {
                ToolId::Patch => "new_string",
                ToolId::CopyLines => "the lines",
                ToolId::Replace => "the new text",
                _ => "contents",
            };
            let encoding = named.encoding.unwrap_or("the file's encoding");
            let code_point = u32::from(*character);
            Problem::new(
                Code::EncodeFailed,
                format!(
                    "{encoding} has no {character:?} (U+{code_point:04X}), which is at line {line}, column {column} of {what}"
                ),
                match call.tool {
                    ToolId::CopyLines => "change it in `from` first, or choose another `to`",
                    _ => "write it with characters that the encoding has",
                },
            )
        }
        Rejection::ShiftState { lines, .. } => Problem::new(
            Code::EncodeFailed,
            format!("an edit cannot begin or end inside a shifted sequence of bytes, in {}", spelled(*lines)),
            "widen the edit until it begins and ends where the file is in ASCII, as most lines do",
        ),
        Rejection::TooManyOccurrences { count, .. } => too_many(call, *count),
        Rejection::TooMuchText { bytes, .. } => {
            limits::exceeded(call.limits, Exceeded { limit: Limit::Inserted, asked: *bytes })
        }
        Rejection::RangeHashMismatch { .. }
        | Rejection::ContentMismatch { .. }
        | Rejection::NoMatch { .. }
        | Rejection::AmbiguousMatch { .. } => {
            mismatch::problem(call, named, rejection, file_hash, total_lines)
        }
    };
    if let Some(at) = rejection.at() {
        problem.part = place(at);
        problem.asked = named.asked(at).map(str::to_owned);
    }
    problem
}

/// Makes the problem of two parts of a call that overlap.
fn overlap(
    call: Call<'_>,
    named: CalledFile<'_>,
    first: (At, LineRange),
    second: (At, LineRange),
) -> Problem {
    let name = |at: At| place(call, named, at).trim_end_matches(": ").to_owned();
    let which = match (name(first.0), name(second.0)) {
        (a, b) if a.is_empty() || a == b => String::new(),
        (a, b) => format!("{a} and {b}: "),
    };
    let (code, hint) = match call.tool {
        ToolId::CopyLines => (
            Code::InvalidArguments,
            "put lines before or after the block that they are in, and move each line once",
        ),
        ToolId::Patch => (Code::OverlappingRanges, "join them into one patch; a range owns its whole lines"),
        _ => (Code::OverlappingRanges, "name each line once"),
    };
    let of_first = spelled(first.1);
    let reason = if second.1.is_empty() {
        format!(
            "{which}the place after line {} is inside {of_first}, which the call moves or copies",
            second.1.end()
        )
    } else {
        format!("{which}two edits of one call overlap, at {of_first} and {}", spelled(second.1))
    };
    let problem = Problem::new(code, reason, hint);
    Problem { lines: Some(first.1).filter(|lines| !lines.is_empty()), ..problem }
}

/// Makes the problem of more occurrences than one call may replace.
fn too_many(call: Call<'_>, count: u64) -> Problem {
    if call.tool == ToolId::Replace {
        let what = format!("`pattern` is found in {count} places or more");
        return too_many_hits(call.limits, Limit::Occurrences, what);
    }
    limits::exceeded(call.limits, Exceeded { limit: Limit::Occurrences, asked: count })
}

/// Makes the problem of a file that has changed since its hash was taken, and says whether the same call can
/// be sent with the new hash. Reading the file again helps in any case.
fn another_file(
    call: Call<'_>,
    named: CalledFile<'_>,
    actual: &Digest,
    fit: &Fit,
    total_lines: u64,
) -> Problem {
    let problem = |why: &str, hint| {
        let reason = format!("the file is not the one that file_hash was taken of, {why}");
        Problem::new(Code::HashMismatch, reason, hint)
    };
    let again = |lines| match reading(call, named, lines) {
        Some(read) => format!("read it again: {read}"),
        None => "read it again".to_owned(),
    };
    let hash = actual.short();
    let problem = match fit {
        _ if call.tool == ToolId::Remove => problem(
            "so that it holds something else by now",
            format!(
                "{}; if it is to go all the same, send the call with \"file_hash\": \"{hash}\"",
                again(None)
            ),
        ),
        Fit::Holds => problem(
            "but all that the call names is still there",
            format!("send the same call with \"file_hash\": \"{hash}\", or first {}", again(None)),
        ),
        Fit::Repeated => problem(
            "but the lines that the call names still have their text, which may stand elsewhere in it, too",
            format!(
                "{}; if the call names the lines that are meant, send it with the file_hash of that read",
                again(None)
            ),
        ),
        Fit::Unsure { line, around } => {
            let line = line.get();
            let near = (line.saturating_sub(AROUND).max(1), line.saturating_add(AROUND).min(total_lines));
            let hint = match reading(call, named, Some(near)) {
                Some(read) => format!(
                    "look which line is meant now: {read}; then send that line with the file_hash of that read"
                ),
                None => {
                    format!(
                        "look which line is meant now; then send that line with \"file_hash\": \"{hash}\""
                    )
                }
            };
            let problem = problem(&format!("and its line {line} may be another one now"), hint);
            let actual = Some(around.as_ref().clone());
            Problem { lines: Some(around.of), actual, total_lines: Some(total_lines), ..problem }
        }
        Fit::OfLine(line) => {
            let reason = format!("file_hash is the hash of line {line}, not of the file");
            let hint =
                format!("send the file_hash of the last reply about it; as it is now it is \"{hash}\"");
            return Problem::new(Code::HashMismatch, reason, hint);
        }
        Fit::Broken => problem("and the call does not fit it any more", again(None)),
    };
    problem.suggest(ToolId::Get)
}

/// Says how to add a text to a file, and how to replace the whole content of the file by it.
fn how_to_add_or_replace(
    call: Call<'_>,
    named: CalledFile<'_>,
    at: At,
    file_hash: Option<&Digest>,
    lines: &Digest,
    total_lines: u64,
) -> String {
    let say_what = "say what to replace by its text or by ranges";
    let (Some(text), Some(file_hash)) =
        (named.text_for_empty_file(at).filter(|text| !text.is_empty()), file_hash)
    else {
        return say_what.to_owned();
    };
    let path = ("file_path", json!(named.file_path));
    let whole = ("ranges", json!([{"start": 1, "range_hash": call.hashes.print(lines)}]));
    let replace = [path.clone(), whole];
    let replace = written(ToolId::Patch, &replace, ("new_string", Ok(text)), named.encoding);
    let replace = format!("to replace all that the file holds by it, call {replace}");
    let insert = [path, ("file_hash", json!(call.hashes.print(file_hash))), ("after", json!(total_lines))];
    let insert = written(ToolId::Insert, &insert, ("contents", Ok(text)), named.encoding);
    call.naming(
        ToolId::Insert,
        |_| format!("to add the text at the end (\"after\": 0: at the top), call {insert}; {replace}"),
        || format!("{say_what}; {replace}"),
    )
}

/// Makes the problem of an `old_string` that is a part of one line, which another program has changed since
/// it was shown.
fn changed_line(
    call: Call<'_>,
    lines: LineRange,
    text: &Excerpt,
    file_hash: Option<&Digest>,
    total_lines: u64,
) -> Problem {
    let line = lines.start().get();
    let range = mismatch::range(lines, text.digest.as_ref());
    let again = file_hash.map_or_else(String::new, |hash| {
        let hash = call.hashes.print(hash);
        format!("if the edit is right there, send the same call with \"file_hash\": \"{hash}\"; or ")
    });
    let problem = Problem::new(
        Code::ContentMismatch,
        format!(
            "old_string is a part of line {line}, which another program has changed since you were shown it"
        ),
        format!(
            "{again}name the line by \"ranges\": [{range}], with the whole new line as new_string and without old_string"
        ),
    );
    Problem { lines: Some(lines), actual: Some(text.clone()), total_lines: Some(total_lines), ..problem }
}

/// The maximum bytes of the old and the new text together, up to which a hint writes out both corrections.
const SPELLED: usize = 1_500;

/// Makes the problem of a new text that is certainly a mistake, and writes out what may have been meant.
fn slipped(named: CalledFile<'_>, at: At, (lines, slip): (LineRange, Slip), indentation: &str) -> Problem {
    let (old, new) = (named.asked(at), named.new_text(at).unwrap_or_default());
    let Some(old) = old.filter(|_| slip == Slip::EmptyLine) else {
        let what = if old.is_some() || named.has_patches() { "new_string" } else { "contents" };
        return Problem::new(
            Code::TextSlip,
            format!("each line of {what} begins with the number that a read shows for it"),
            format!(
                "leave the numbers out of {what}; if they belong into the file, send a line next to them that has none, too"
            ),
        );
    };
    let (start, last) = (lines.start().get(), lines.end());
    let (reason, without, with) = if new.is_empty() {
        let reason =
            format!("old_string lacks the line end of line {last}, so an empty line would stay in its place");
        (reason, "to delete the line", "to leave an empty line")
    } else {
        let reason = format!(
            "new_string ends in a line end and old_string, which ends line {last}, does not, so an empty line would follow"
        );
        (reason, "to replace the line", "to have an empty line behind it")
    };
    let old = if new.is_empty() { format!("{indentation}{old}\n") } else { format!("{old}\n") };
    let hint = if old.len() + new.len() <= SPELLED {
        let spelled = |new: &str| json!({"old_string": old, "new_string": new});
        format!("{without}, send {}; {with}, send {}", spelled(new), spelled(&format!("{new}\n")))
    } else {
        format!("{without}, end old_string in a line end, too; {with}, end new_string in one more besides")
    };
    let problem = Problem::new(Code::TextSlip, reason, hint);
    Problem { lines: LineRange::inclusive(start, last), ..problem }
}

fn out_of_range_hint(call: Call<'_>, total: u64) -> String {
    let tool = call.tool;
    match total {
        _ if tool == ToolId::Insert => {
            format!("after takes 0 to {total}, before takes 1 to {}", total + 1)
        }
        _ if tool == ToolId::CopyLines => {
            format!("the lines are 1 to {total}; after takes 0 to {total}, before takes 1 to {}", total + 1)
        }
        0 if tool == ToolId::Patch => {
            "the file is empty: to put text into it, send the patch without ranges, with \"old_string\": \"\""
                .to_owned()
        }
        0 => "the file is empty: nothing is left to do".to_owned(),
        _ => call.naming(
            ToolId::Append,
            |name| format!("lines are 1 to {total}; to add lines at the end, call {name}"),
            || format!("lines are 1 to {total}"),
        ),
    }
}

fn counted(lines: u64) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}
