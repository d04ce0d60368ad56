//! Builds the reply to a read, as text for a model or as JSON for a program, up to the size that the client
//! shows whole.

use std::fmt::Write as _;

use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_core::scan::Scan;
use mcp_text_editor_core::show::{Budget, Continuation, Shown};
use mcp_text_editor_core::shown_lines::Changes;
use serde_json::{Value, json};

use super::escape::{json_text, on_one_line, path_by_itself};
use super::layout::{problem_json, problem_text};
use super::slips;
use crate::clients::{Capacity, RemainingCapacity, ReplyWeight, lines};
use crate::config::Output;
use crate::context::Reply;
use crate::problem::{Code, Problem};

/// The maximum bytes of problems that are reported in full, in all files of a call together.
const MAX_FAILURES: usize = 8_000;
/// The maximum bytes of the reason, and also of the hint, of each further problem.
const ROOM_FOR_MORE: usize = 100;
/// The maximum bytes of a path in the note that says with which file to continue.
const MAX_PATH: usize = 200;

/// A file that was read.
pub(crate) struct FileRead<'a> {
    /// The path as the call named it.
    pub(crate) file_path: &'a str,
    /// The results of the file's scan.
    pub(crate) scan: &'a Scan,
    /// The changes that other programs have made since the client was shown the file.
    pub(crate) changes: Option<&'a Changes>,
}

impl FileRead<'_> {
    /// Returns the note about other programs' changes, which precedes the text of the file.
    fn note(&self) -> String {
        self.changes.map_or_else(String::new, |changes| format!("[{}]\n", slips::changes(changes)))
    }
}

/// The ranges of a file for which the reply has no room: the last ranges of that file in the call.
#[derive(Clone, Copy)]
pub(crate) struct LeftOut {
    /// The number of ranges that are left out.
    pub(crate) count: usize,
    /// The number of all ranges of the file in the call.
    pub(crate) of: usize,
    /// The start of the first omitted range, as in the call.
    pub(crate) start: i64,
}

/// The reply to a read, as far as it is built. Files are added one by one, as long as there is room.
pub(crate) struct ReadReply {
    output: Output,
    line_numbers: bool,
    has_text: bool,
    /// The room that is left.
    pub(crate) left: RemainingCapacity,
    failures: usize,
    files: usize,
    texts: Vec<String>,
    values: Vec<Value>,
    /// The notes about what is left out, at the end of the reply.
    notes: String,
}

impl ReadReply {
    /// Begins the reply to a read of these files. Each has the number of its requested ranges, or 0 if only
    /// facts are requested.
    pub(crate) fn new<'a>(
        capacity: Capacity,
        output: Output,
        line_numbers: bool,
        has_text: bool,
        files: impl Iterator<Item = (&'a str, usize)> + Clone,
    ) -> Self {
        let ranges = files.clone().map(|(_, ranges)| ranges).sum();
        let facts = files.clone().filter(|(_, ranges)| *ranges == 0).count();
        let left = RemainingCapacity::new(capacity, output, ranges, facts);
        let mut page = Self {
            output,
            line_numbers: line_numbers && output == Output::Text,
            has_text,
            left,
            failures: MAX_FAILURES,
            files: 0,
            texts: Vec::new(),
            values: Vec::new(),
            notes: String::new(),
        };
        // Room is reserved for the notes about what is left out.
        let longest = files
            .map(|(path, _)| tail_of(path))
            .max_by_key(|path| page.left.measure().of(path))
            .unwrap_or_default();
        let most = LeftOut { count: usize::MAX, of: usize::MAX, start: i64::MIN };
        let kept = match output {
            Output::Text => {
                ranges_left_out(&longest, most) + &files_left_out(&longest, usize::MAX, usize::MAX)
            }
            Output::Json => {
                json!({"files": [{"ranges_not_shown": usize::MAX}], "files_not_shown": usize::MAX})
                    .to_string()
            }
        };
        let kept = page.frame(&kept);
        page.left.take(kept);
        if facts == 0 {
            return page;
        }
        let each = "_".repeat(longest.len() + if output == Output::Text { 120 } else { 300 }) + "\n\n";
        page.left.keep_for_facts(page.frame(&each));
        page
    }

    /// Weighs text that is not file content.
    fn frame(&self, text: &str) -> ReplyWeight {
        ReplyWeight { text: 0, frame: self.left.measure().of(text), lines: lines(text) }
    }

    /// Returns the budget for showing these lines of a file; `None` if the reply has no room for them.
    pub(crate) fn budget(&self, file: &FileRead<'_>, range: LineRange, from_char: u64) -> Option<Budget> {
        // No number in the frame (the text around the lines) can be longer than these numbers.
        let far = file.scan.size.saturating_add(1);
        let widest = Shown {
            lines: range,
            content: String::new(),
            digest: Some(file.scan.digest),
            cut: Some(Continuation { next_start: range.start(), next_char: Some(far) }),
            from_char,
            line_length: Some(far),
        };
        self.left.budget(self.piece(file, &widest, 0, 0), self.line_numbers)
    }

    /// Weighs a range whose text weighs `text` and has `lines` lines.
    fn piece(&self, file: &FileRead<'_>, range: &Shown, text: usize, lines: u64) -> ReplyWeight {
        let frame = match self.output {
            // A line end in case the text has none, and one between blocks.
            Output::Text if self.has_text => head(file, range) + &notes(file.scan, range) + "\n\n",
            Output::Text => head(file, range) + "\n",
            Output::Json => self.range_json(range, String::new()).to_string() + ",",
        };
        let frame = self.frame(&frame);
        ReplyWeight { text, lines: frame.lines + lines, ..frame }
    }

    /// Takes room for a range whose text weighs `text`. Returns false, and takes nothing, if there is not
    /// enough.
    pub(crate) fn take(&mut self, file: &FileRead<'_>, range: &Shown, text: usize) -> bool {
        let lines = if self.has_text { range.lines.count() } else { 0 };
        let piece = self.piece(file, range, text, lines);
        self.left.take(piece)
    }

    /// Takes room for the data about a file other than its ranges. Returns false, and takes nothing, if there
    /// is not enough.
    pub(crate) fn take_file(&mut self, file: &FileRead<'_>, facts_alone: bool) -> bool {
        let text = match self.output {
            Output::Text if facts_alone => file.note() + &facts(file) + "\n",
            Output::Text => file.note(),
            Output::Json => file_json(file, Vec::new()).to_string() + ",",
        };
        let piece = self.frame(&text);
        self.left.take(piece)
    }

    /// Adds a file for which room was taken. `ranges` is `None` if only facts are requested.
    pub(crate) fn file(
        &mut self,
        file: &FileRead<'_>,
        ranges: Option<Vec<Shown>>,
        left_out: Option<LeftOut>,
    ) {
        self.files += 1;
        match (self.output, ranges) {
            (Output::Text, None) => self.texts.push(file.note() + &facts(file)),
            (Output::Text, Some(ranges)) => {
                let mut texts: Vec<_> =
                    ranges.into_iter().map(|range| self.range_text(file, range)).collect();
                if let Some(first) = texts.first_mut() {
                    first.insert_str(0, &file.note());
                }
                self.texts.extend(texts);
                if let Some(left_out) = left_out {
                    self.notes.push_str(&ranges_left_out(&tail_of(file.file_path), left_out));
                }
            }
            (Output::Json, ranges) => {
                let ranges = ranges.unwrap_or_default().into_iter().map(|mut range| {
                    let content = std::mem::take(&mut range.content);
                    self.range_json(&range, content)
                });
                let mut value = file_json(file, ranges.collect());
                if let (Some(left_out), Some(object)) = (left_out, value.as_object_mut()) {
                    object.insert("ranges_not_shown".to_owned(), json!(left_out.count));
                }
                self.values.push(value);
            }
        }
    }

    /// Adds the reasons why a file could not be read. Returns false, and adds nothing, if there is no room
    /// for them.
    pub(crate) fn failed(&mut self, problems: &[Problem]) -> bool {
        // The problems are reported in full if this leaves the other files about their shares of the room.
        // Otherwise the reply has only the beginnings of the problems.
        [true, false].into_iter().any(|in_full| {
            let mut capacity = if in_full { self.failures } else { 0 };
            let (mut texts, mut value) = (Vec::new(), None);
            let whole = match self.output {
                Output::Text => {
                    texts.extend(
                        problems.iter().map(|problem| problem_text(&fitted(problem, &mut capacity)) + "\n"),
                    );
                    texts.join("\n") + "\n"
                }
                Output::Json => value.insert(failed_json(problems, &mut capacity)).to_string() + ",",
            };
            let piece = self.frame(&whole);
            if in_full && piece.frame > self.left.max_for_failure() || !self.left.take(piece) {
                return false;
            }
            if in_full {
                self.failures = capacity;
            }
            self.files += 1;
            self.texts.append(&mut texts);
            self.values.extend(value);
            true
        })
    }

    /// Returns the text of a range, with a header line before it, and notes after it.
    fn range_text(&self, file: &FileRead<'_>, mut range: Shown) -> String {
        if !self.has_text {
            return head(file, &range);
        }
        let mut text = std::mem::take(&mut range.content);
        // This buffer is most of the reply, and has room for the header. So its text is moved within the
        // buffer, not copied to another one.
        text.insert_str(0, &head(file, &range));
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text + &notes(file.scan, &range)
    }

    fn range_json(&self, range: &Shown, content: String) -> Value {
        let lines = range.lines;
        let mut object = json!({"start": lines.start().get(), "end": lines.end()});
        let facts = [
            ("content", self.has_text.then_some(Value::String(content))),
            ("range_hash", range.digest.map(|digest| json!(digest.to_string()))),
            ("truncated", range.cut.map(|_| json!(true))),
            ("next_start", range.cut.map(|cut| json!(cut.next_start.get()))),
            ("next_char", range.cut.and_then(|cut| cut.next_char).map(|next| json!(next))),
            ("line_length", range.line_length.map(|length| json!(length))),
        ];
        if let Some(object) = object.as_object_mut() {
            object.extend(facts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        }
        object
    }

    /// Whether the reply has the text of the lines, not only their digests.
    pub(crate) fn has_text(&self) -> bool {
        self.has_text
    }

    /// Whether each line begins with its number.
    pub(crate) fn numbers_lines(&self) -> bool {
        self.line_numbers
    }

    /// Returns the number of files that have been added.
    pub(crate) fn files(&self) -> usize {
        self.files
    }

    /// Ends the reply. The call named `all` files, of which `next` is the first that is not shown.
    pub(crate) fn finish(mut self, all: usize, next: Option<&str>) -> Reply {
        let not_shown = all.saturating_sub(self.files);
        match self.output {
            Output::Text => {
                if let Some(next) = next {
                    self.notes.push_str(&files_left_out(&tail_of(next), not_shown, all));
                }
                let mut texts = self.texts.into_iter();
                let mut text = texts.next().unwrap_or_default();
                for more in texts {
                    text.push('\n');
                    text.push_str(&more);
                }
                Reply { text: text + &self.notes, structured: None, story: None }
            }
            Output::Json => {
                let mut value = json!({"files": self.values});
                if let (true, Some(object)) = (not_shown > 0, value.as_object_mut()) {
                    object.insert("files_not_shown".to_owned(), json!(not_shown));
                }
                // The room was taken for the value without spelled-out characters. If there is no room to
                // spell out its invisible characters, they stay; the JSON value is the same.
                let spelled_out = json_text(&value);
                let text = if self.left.admits(&spelled_out) { spelled_out } else { value.to_string() };
                Reply { text, structured: Some(value), story: None }
            }
        }
    }
}

/// Returns the end of a path, which best distinguishes files, on one line.
fn tail_of(path: &str) -> String {
    let path = on_one_line(path);
    if path.len() <= MAX_PATH {
        return path;
    }
    let start = path.ceil_char_boundary(path.len() - MAX_PATH);
    format!("…{}", path.get(start..).unwrap_or_default())
}

fn ranges_left_out(path: &str, LeftOut { count, of, start }: LeftOut) -> String {
    format!(
        "[no room for the last {count} of the {of} ranges of {path}: go on in another call, with start {start}]\n"
    )
}

fn files_left_out(path: &str, count: usize, of: usize) -> String {
    format!("[no room for the last {count} of the {of} files: go on in another call, with {path}]\n")
}

/// Makes the problem of a range whose `end` is before its `start`. `line` is the line that `start` means.
pub(crate) fn ends_before(start: i64, line: LineNumber, end: i64) -> Problem {
    let reason = if start < 0 {
        format!("end {end} is before start {start}, which is line {line}")
    } else {
        format!("end {end} is before line {line}")
    };
    let hint =
        "end is a line number, counted from 1; leave it out, or send -1, for the last line of the file";
    Problem::new(Code::InvalidRange, reason, hint)
}

fn facts(FileRead { file_path, scan, .. }: &FileRead<'_>) -> String {
    let (lines, size) = (scan.lines.count(), scan.size);
    let (hash, form, file_path) = (scan.digest.short(), form(scan), path_by_itself(file_path));
    format!("{file_path} {lines} lines {size} bytes file_hash {hash} {form}\n")
}

fn head(FileRead { file_path, scan, .. }: &FileRead<'_>, range: &Shown) -> String {
    let (start, end, total) = (range.lines.start(), range.lines.end(), scan.lines.count());
    let file_path = path_by_itself(file_path);
    let mut text = format!("{file_path} lines {start}-{end} of {total} file_hash {}", scan.digest.short());
    if let Some(digest) = &range.digest {
        let _ = write!(text, " range_hash {}", digest.short());
    }
    let _ = writeln!(text, " {}", form(scan));
    text
}

fn notes(scan: &Scan, range: &Shown) -> String {
    let (start, end, total) = (range.lines.start(), range.lines.end(), scan.lines.count());
    let mut text = String::new();
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

/// Returns the first problem, with the reasons of all problems.
fn all_in_one(problems: &[Problem]) -> Option<Problem> {
    let reasons: Vec<&str> = problems.iter().map(|problem| problem.reason.as_str()).collect();
    problems.first().map(|first| Problem { reason: reasons.join("; "), ..first.clone() })
}

/// Returns the whole problem if it fits into `capacity`, or else only the beginnings of its reason and hint:
/// a call can name any number of files.
fn fitted(problem: &Problem, capacity: &mut usize) -> Problem {
    let cut = |text: &str| {
        let end = text.floor_char_boundary(ROOM_FOR_MORE);
        if end < text.len() { format!("{}…", text.get(..end).unwrap_or_default()) } else { text.to_owned() }
    };
    let length = problem.reason.len() + problem.hint.len();
    if length <= *capacity {
        *capacity -= length;
        return problem.clone();
    }
    Problem { reason: cut(&problem.reason), hint: cut(&problem.hint), ..problem.clone() }
}

/// Returns the names of the encoding and the line ends, such as `utf-8+bom crlf`.
fn form(scan: &Scan) -> String {
    let bom = if scan.bom { "+bom" } else { "" };
    format!("{}{bom} {}", scan.encoding.name(), scan.lines.census().name())
}

fn failed_json(problems: &[Problem], capacity: &mut usize) -> Value {
    json!({
        "file_path": problems.first().and_then(|problem| problem.file_path.as_deref()),
        "error": all_in_one(problems).map(|problem| problem_json(&fitted(&problem, capacity))),
    })
}

fn file_json(FileRead { file_path, scan, changes }: &FileRead<'_>, ranges: Vec<Value>) -> Value {
    let mut object = json!({
        "file_path": file_path,
        "file_hash": scan.digest.to_string(),
        "total_lines": scan.lines.count(),
        "file_size": scan.size,
        "encoding": scan.encoding.name(),
        "bom": scan.bom,
        "line_ending": scan.lines.census().name(),
        "final_newline": scan.lines.count() > 0 && !scan.lines.is_unterminated(),
    });
    if let Some(object) = object.as_object_mut() {
        let warnings = changes.map(|changes| json!([slips::changes(changes)]));
        object.extend(warnings.map(|warnings| ("warnings".to_owned(), warnings)));
        object.insert("ranges".to_owned(), Value::Array(ranges));
    }
    object
}
