//! What a read found, as text for a model and as JSON for a program.

use std::fmt::Write as _;

use mcp_text_editor_core::scan::Scan;
use mcp_text_editor_core::show::Shown;
use serde_json::{Map, Value, json};

use crate::problem::{Code, Problem};
use crate::render::failure::{problem_json, problem_text};
use crate::render::path_by_itself;

/// So many bytes of what failed are told in full; of what comes after them so many each.
const MOST_FAILURES: usize = 8_000;
const ROOM_FOR_MORE: usize = 100;

/// What one file of the call came to.
pub(crate) enum FileRead {
    /// It was read; without ranges only its facts were asked for.
    Read {
        /// The path as the call named it.
        file_path: String,
        /// What the pass over it has found.
        scan: Scan,
        /// What is shown of it.
        ranges: Vec<Shown>,
    },
    /// It was not, for these reasons.
    Failed(Vec<Problem>),
}

/// Why a range is refused whose `end` is before its start, which is this line.
pub(crate) fn ends_before(start: i64, line: u64, end: i64) -> Problem {
    let reason = if start < 0 {
        format!("end {end} is before start {start}, which is line {line}")
    } else {
        format!("end {end} is before line {line}")
    };
    let hint =
        "end is a line number, counted from 1; leave it out, or send -1, for the last line of the file";
    Problem::new(Code::InvalidRange, reason, hint)
}

/// The reply for a model: a header line per range, then the lines, each with its number and a tab if `line_numbers`.
pub(crate) fn text(files: &[FileRead], line_numbers: bool) -> String {
    let mut blocks = Vec::new();
    let mut room = MOST_FAILURES;
    for file in files {
        match file {
            FileRead::Failed(problems) => {
                blocks
                    .extend(problems.iter().map(|problem| problem_text(&fitted(problem, &mut room)) + "\n"));
            }
            FileRead::Read { file_path, scan, ranges } if ranges.is_empty() => {
                let (lines, size) = (scan.lines.count(), scan.size);
                let (hash, form, file_path) = (scan.digest.short(), form(scan), path_by_itself(file_path));
                blocks.push(format!("{file_path} {lines} lines {size} bytes file_hash {hash} {form}\n"));
            }
            FileRead::Read { file_path, scan, ranges } => {
                blocks.extend(ranges.iter().map(|range| range_text(file_path, scan, range, line_numbers)));
            }
        }
    }
    blocks.join("\n")
}

fn range_text(file_path: &str, scan: &Scan, range: &Shown, line_numbers: bool) -> String {
    let (start, end, total) = (range.lines.start(), range.lines.end(), scan.lines.count());
    let file_path = path_by_itself(file_path);
    let mut text = format!("{file_path} lines {start}-{end} of {total} file_hash {}", scan.digest.short());
    if let Some(digest) = &range.digest {
        let _ = write!(text, " range_hash {}", digest.short());
    }
    let _ = writeln!(text, " {}", form(scan));
    if line_numbers {
        for (number, line) in (start.get()..).zip(range.content.split_inclusive('\n')) {
            let _ = write!(text, "{number}\t{line}");
        }
    } else {
        text.push_str(&range.content);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if range.from_char > 1 {
        let _ = writeln!(text, "[line {start} from character {}]", range.from_char);
    }
    match (range.cut, range.line_length) {
        (Some(cut), Some(length)) => {
            let (line, next) = (cut.next_start, cut.next_char.unwrap_or(1));
            let last = next - 1;
            let _ = writeln!(
                text,
                "[line {line} cut after character {last} of {length}; go on with ranges [{{\"start\":{line},\"from_char\":{next}}}]]"
            );
        }
        (Some(cut), None) => {
            let _ =
                writeln!(text, "[cut after line {end} of {total}; go on with line_start {}]", cut.next_start);
        }
        (None, _) if !range.lines.is_empty() && end == total && scan.lines.is_unterminated() => {
            text.push_str("[no newline at end of file]\n");
        }
        (None, _) => {}
    }
    text
}

/// The first problem, whose reason names the others, too.
fn all_in_one(problems: &[Problem]) -> Option<Problem> {
    let reasons: Vec<&str> = problems.iter().map(|problem| problem.reason.as_str()).collect();
    problems.first().map(|first| Problem { reason: reasons.join("; "), ..first.clone() })
}

/// A problem as long as there is room for it, and only its beginning then: a call may name any number of files.
fn fitted(problem: &Problem, room: &mut usize) -> Problem {
    let cut = |text: &str| {
        let end = text.floor_char_boundary(ROOM_FOR_MORE);
        if end < text.len() { format!("{}…", text.get(..end).unwrap_or_default()) } else { text.to_owned() }
    };
    let length = problem.reason.len() + problem.hint.len();
    if length <= *room {
        *room -= length;
        return problem.clone();
    }
    Problem { reason: cut(&problem.reason), hint: cut(&problem.hint), ..problem.clone() }
}

/// Encoding and line ends: `utf-8+bom crlf`.
fn form(scan: &Scan) -> String {
    let bom = if scan.bom { "+bom" } else { "" };
    format!("{}{bom} {}", scan.encoding.name(), scan.lines.census().name())
}

/// The reply for a program.
pub(crate) fn json(files: &[FileRead]) -> Value {
    let mut room = MOST_FAILURES;
    let files: Vec<Value> = files.iter().map(|file| file_json(file, &mut room)).collect();
    json!({ "files": files })
}

fn file_json(file: &FileRead, room: &mut usize) -> Value {
    match file {
        FileRead::Failed(problems) => json!({
            "file_path": problems.first().and_then(|problem| problem.file_path.as_deref()),
            "error": all_in_one(problems).map(|problem| problem_json(&fitted(&problem, room))),
        }),
        FileRead::Read { file_path, scan, ranges } => {
            let ranges: Vec<Value> = ranges.iter().map(range_json).collect();
            json!({
                "file_path": file_path,
                "file_hash": scan.digest.to_string(),
                "total_lines": scan.lines.count(),
                "file_size": scan.size,
                "encoding": scan.encoding.name(),
                "bom": scan.bom,
                "line_ending": scan.lines.census().name(),
                "final_newline": scan.lines.count() > 0 && !scan.lines.is_unterminated(),
                "ranges": ranges,
            })
        }
    }
}

fn range_json(range: &Shown) -> Value {
    let mut object = Map::new();
    object.insert("start".to_owned(), json!(range.lines.start().get()));
    object.insert("end".to_owned(), json!(range.lines.end()));
    object.insert("content".to_owned(), json!(range.content));
    if let Some(digest) = &range.digest {
        object.insert("range_hash".to_owned(), json!(digest.to_string()));
    }
    if let Some(cut) = range.cut {
        object.insert("truncated".to_owned(), json!(true));
        object.insert("next_start".to_owned(), json!(cut.next_start.get()));
        if let Some(next) = cut.next_char {
            object.insert("next_char".to_owned(), json!(next));
        }
    }
    if let Some(length) = range.line_length {
        object.insert("line_length".to_owned(), json!(length));
    }
    Value::Object(object)
}
