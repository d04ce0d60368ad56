//! What the core rejects, in words: guards that do not hold, texts that are not there, lines that do not exist.

use mcp_text_editor_core::cause::Cause;
use mcp_text_editor_core::error::{At, Evidence, Rejection};
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::{CLOSEST, Tier};
use serde_json::{Value, json};

use super::{Call, Named};
use crate::limits::{Exceeded, Limit};
use crate::problem::{Code, Problem};
use crate::render::failure::spelled;
use crate::tools::{self, Tool};

/// Puts a rejection into words.
pub(super) fn problem(call: Call<'_>, named: Named<'_>, rejection: &Rejection, total_lines: u64) -> Problem {
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
            "the file would then begin with another byte order mark (U+FEFF) than it has, or lose it",
            "leave U+FEFF, and in other encodings the bytes that stand for it, out of the text at the file's beginning, or as they \
             are; to delete what stands before one, delete it, too",
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
