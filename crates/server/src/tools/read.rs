//! `get_text_file_contents`: reads files, or ranges of their lines.

use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::show::{Shown, show};
use mcp_text_editor_store::{Control, Document, ReadError, ReadFault, ReadFile as NamedFile};
use serde_json::{Map, Value};

use super::tool::{Tool, call, cancelled, end_of, failure};
use crate::arguments::vocabulary::{
    ENCODING, END, FILE_PATH, FILES, FROM_CHAR, LINE_END, LINE_NUMBERS, LINE_START, RANGES, START, TEXT,
};
use crate::arguments::{Argument, Fields, Notes, Object, each};
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Failure, Problem};
use crate::render::explain::{self, Call, CalledFile};
use crate::render::read::{self as words, FileRead, LeftOut, ReadReply};
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Get,
    title: "Read text files",
    description: "Read or show the contents of a text file, or many in one call, whole or by ranges of lines: give \
        `file_path` (with `line_start`, `line_end`) or `files`. `start: -50` is the last fifty lines; `ranges: []` returns only facts (lines, \
        size, encoding, hash).\n\
        Each range has a header line with `file_hash` and `range_hash`, then its lines as number, tab, text; \
        number and tab are not in the file: never copy them into an edit. Keep the hashes: an edit may name lines \
        by `range_hash` instead of their text; append, insert and delete need `file_hash`. `text: false` returns \
        only the headers, at any size.\n\
        A long reply is cut and says where to go on. One that cannot be read spoils no other.",
    search_hint: None,
    if_offered: &[],
    destructive: false,
    idempotent: true,
    arguments: Object(&[
        FILE_PATH.says("Absolute path. This or files."),
        LINE_START,
        LINE_END,
        FILES.of(FILE),
        ENCODING.says("Such as latin1. Default: by BOM, else utf-8."),
        LINE_NUMBERS,
        TEXT,
        RANGES.of(RANGE).hidden(),
    ]),
    run: read,
};

/// A file to be read.
const FILE: Object = Object(&[
    FILE_PATH.needed(),
    RANGES.says("Default: the whole file. Empty: only facts.").of(RANGE),
    ENCODING.says("Default: that of the call."),
    LINE_START.hidden(),
    LINE_END.hidden(),
]);

/// A range of lines to be read.
const RANGE: Object =
    Object(&[START.needed().says("First line, from 1, or -1 from the end."), END, FROM_CHAR]);

/// The maximum number of ranges in a call that the thread which reads the messages answers itself. Each range
/// takes some milliseconds at most, even if the reply may show a whole file of 1 MiB for it.
const MAX_AT_HAND: usize = 8;

/// Tells whether a call reads only a few ranges, of files whose scans (the facts from an earlier walk through
/// a file, such as its hash and encoding) the store has cached. The call's arguments can still be invalid.
#[must_use]
pub fn is_at_hand(context: &Context, arguments: &Map<String, Value>) -> bool {
    let files = match arguments.get(FILES.name) {
        None => Some(vec![arguments]),
        Some(files) => files.as_array().and_then(|files| files.iter().map(Value::as_object).collect()),
    };
    let ranges = |file: &Map<String, Value>| match file.get(RANGES.name) {
        None => Some(1),
        Some(ranges) => ranges.as_array().map(|ranges| ranges.len().max(1)),
    };
    let is_known = |file: &Map<String, Value>| {
        let Some(file_path) = file.get(FILE_PATH.name).and_then(Value::as_str) else { return false };
        let encoding =
            file.get(ENCODING.name).or_else(|| arguments.get(ENCODING.name)).and_then(Value::as_str);
        context.workspace.is_at_hand(NamedFile { file_path, encoding })
    };
    files.is_some_and(|files| {
        let all: Option<usize> = files.iter().map(|file| ranges(file)).sum();
        all.is_some_and(|all| all <= MAX_AT_HAND) && files.into_iter().all(is_known)
    })
}

/// The request of a read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadRequest {
    /// The files; at least one.
    pub files: Vec<ReadFile>,
    /// Whether text replies number the lines.
    pub line_numbers: bool,
    /// Whether the reply has the text of the lines; otherwise it has only their digests.
    pub text: bool,
}

/// A file to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadFile {
    /// The path of the file, as the client wrote it.
    pub file_path: String,
    /// The label of the file's encoding.
    pub encoding: Option<String>,
    /// The ranges; `None` for the whole file, empty for only the facts about the file.
    pub ranges: Option<Vec<ReadRange>>,
}

/// Lines to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadRange {
    /// The first line. 0 means line 1, and a negative number counts from the end of the file.
    pub start: i64,
    /// The last line; `None` for the last line of the file.
    pub end: Option<i64>,
    /// The character of the first line at which to begin, counted from 1.
    pub from_char: Option<u64>,
}

/// Reads the request of a call.
pub fn request(fields: &mut Fields<'_>) -> Option<ReadRequest> {
    let listed = fields.says(FILES);
    // With `files`, an empty argument counts as absent, since some clients cannot leave a key out.
    let is_given = |argument: &Argument| if listed { fields.says(*argument) } else { fields.has(*argument) };
    let short = [FILE_PATH, LINE_START, LINE_END, RANGES].into_iter().filter(is_given);
    let short: Vec<&str> = short.map(|argument| argument.name).collect();
    if listed && !short.is_empty() {
        fields.note_invalid(
            format!("`files` and `{}` are both given", short.join("`, `")),
            "give either `files`, or `file_path` with `line_start` and `line_end`; null counts as left out",
        );
    } else if !listed && short.is_empty() {
        fields.note_invalid(
            "`file_path` or `files` is missing",
            "give `file_path`: the absolute path of the file",
        );
    }
    // The arguments of the short form (one file, without a list) are read even if they are not used, to check
    // their types and to count their names as known.
    let one = if listed || short.is_empty() {
        let file_path = fields.text(FILE_PATH);
        with_ranges(fields, file_path)
    } else {
        file(fields)
    };
    let many = fields.objects(FILES).filter(|_| listed);
    let many = many.map(|files| {
        each(files, |file| {
            let read = self::file(file);
            let encoding = file.text(ENCODING);
            read.map(|read| ReadFile { encoding, ..read })
        })
    });
    let encoding = fields.text(ENCODING);
    let line_numbers = fields.flag(LINE_NUMBERS);
    let text = fields.flag(TEXT);
    let mut files: Vec<ReadFile> = many.unwrap_or_else(|| one.map(|file| vec![file]))?;
    for file in &mut files {
        file.encoding = file.encoding.take().or_else(|| encoding.clone());
    }
    Some(ReadRequest { files, line_numbers, text })
}

/// Reads a file and its ranges, or the fields of a single range without a list.
fn file(fields: &mut Fields<'_>) -> Option<ReadFile> {
    let file_path = fields.file(FILE_PATH);
    with_ranges(fields, file_path)
}

fn with_ranges(fields: &mut Fields<'_>, file_path: Option<String>) -> Option<ReadFile> {
    let listed = fields.has(RANGES);
    let ranges = fields.objects(RANGES).map(|ranges| each(ranges, read_range));
    let start = fields.integer(LINE_START);
    let end = end(fields, LINE_END);
    let is_flat = start.is_some() || end.is_some();
    if listed && is_flat {
        fields.note_invalid(
            format!("{} has both `ranges` and `line_start` or `line_end`", fields.named()),
            "give one of them",
        );
    }
    let ranges = match ranges {
        Some(ranges) => Some(ranges?),
        None if listed => return None,
        None => is_flat.then(|| {
            let start = start.unwrap_or(1);
            fields.check_order(start, end);
            vec![ReadRange { start, end, from_char: None }]
        }),
    };
    Some(ReadFile { file_path: file_path?, encoding: None, ranges })
}

/// Reads the end of a range. 0 means the last line, like an absent end.
fn end(fields: &mut Fields<'_>, argument: Argument) -> Option<i64> {
    end_of(fields, argument).filter(|end| *end != 0)
}

fn read_range(fields: &mut Fields<'_>) -> Option<ReadRange> {
    let start = fields.integer(START);
    let end = end(fields, END);
    let from_char = fields.number(FROM_CHAR);
    fields.check_order(start?, end);
    Some(ReadRange { start: start?, end, from_char })
}

/// Reads ranges of files. If a file cannot be read, the others are still read.
fn read(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    let request = TOOL.parse(request, values, Notes::of(context))?;
    let call = call(context, ToolId::Get, request.files.len() > 1, cancel);
    let ranges = |file: &ReadFile| file.ranges.as_ref().map_or(1, Vec::len);
    let files = request.files.iter().map(|file| (file.file_path.as_str(), ranges(file)));
    let mut page =
        ReadReply::new(context.capacity, context.config.output, request.line_numbers, request.text, files);
    let (mut problems, mut is_any_read, mut is_full) = (Vec::new(), false, false);
    for file in &request.files {
        if cancel.is_out_of_time() {
            // The reply still has everything that was read in time.
            let problem = explain::out_of_time(&context.config.limits).of_file(&file.file_path);
            is_full = is_full || !page.failed(std::slice::from_ref(&problem));
            problems.push(problem);
            if is_full && is_any_read {
                break;
            }
            continue;
        }
        if cancel.is_cancelled() {
            return Err(cancelled(context, ToolId::Get));
        }
        let before = page.left;
        match show_file(context, call, file, &mut page, is_full, cancel) {
            Ok(is_told) => {
                is_any_read = true;
                is_full |= !is_told;
            }
            Err(found) => {
                // The part of the reply that was meant for a failed file goes to the other files.
                page.left = before;
                page.left.pass(ranges(file), usize::from(ranges(file) == 0));
                is_full = is_full || !page.failed(&found);
                problems.extend(found);
            }
        }
        // The page is full, and at least one file was read, so reading more files would change nothing.
        if is_full && is_any_read {
            break;
        }
    }
    if !is_any_read {
        return Err(failure(context, ToolId::Get, problems));
    }
    let next = request.files.get(page.files()).map(|file| file.file_path.as_str());
    Ok(page.finish(request.files.len(), next))
}

/// Shows a file on the page (the reply so far), unless the page is full. Returns false if a part of the
/// requested lines did not fit.
fn show_file(
    context: &Context,
    call: Call<'_>,
    file: &ReadFile,
    page: &mut ReadReply,
    is_full: bool,
    cancel: &Cancel,
) -> Result<bool, Vec<Problem>> {
    let file_path = &file.file_path;
    let named = CalledFile { encoding: file.encoding.as_deref(), ..CalledFile::by_path(file_path) };
    let is_cancelled = || cancel.is_cancelled();
    let control = Control::of(ToolId::Get.name()).cancelled_by(&is_cancelled);
    let before = page.left;
    let named_file = NamedFile { file_path, encoding: named.encoding };
    let read = context.workspace.read_with(named_file, control, |document| {
        page.left = before;
        let whole = [ReadRange { start: 1, end: None, from_char: None }];
        let asked = file.ranges.as_deref().unwrap_or(&whole);
        let (mut wanted, mut problems) = (Vec::new(), Vec::new());
        for range in asked {
            match LineRange::clamped(range.start, range.end, document.scan.lines.count()) {
                Ok(lines) => wanted.push((range, lines)),
                Err((line, end)) => {
                    problems.push(words::ends_before(range.start, line, end).of_file(file_path));
                }
            }
        }
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        let (mut known, changes) = match &context.shown {
            Some(files) => files.before(document).map(|(known, changes)| (Some(known), changes))?,
            None => (None, None),
        };
        let read = FileRead { file_path, scan: &document.scan, changes: changes.as_ref() };
        if is_full || !page.take_file(&read, wanted.is_empty()) {
            return Ok(Ok(None));
        }
        let mut ranges = Vec::new();
        for (range, lines) in &wanted {
            let from_char = range.from_char.unwrap_or(1);
            let (shown, used) = if page.has_text() {
                let Some(budget) = page.budget(&read, *lines, from_char) else { break };
                show(document.scanned(), *lines, from_char, budget)?
            } else {
                (without_text(document, *lines)?, 0)
            };
            if !page.take(&read, &shown, used) {
                break;
            }
            page.left.pass(1, 0);
            if let Some(known) =
                known.as_mut().filter(|_| shown.line_length.is_none() && shown.from_char <= 1)
            {
                // The text for a model can have line numbers.
                let bare = |line| without_number(line, page.numbers_lines());
                known.show(shown.lines.start(), shown.content.lines().map(bare), true);
            }
            ranges.push(shown);
        }
        let left_out = wanted.get(ranges.len()).map(|(range, _)| LeftOut {
            count: wanted.len() - ranges.len(),
            of: wanted.len(),
            start: range.start,
        });
        if let Some(known) = &mut known {
            known.ends_after(document.scan.lines.count());
        }
        let known = known.map(|known| (document.path().to_owned(), known));
        let read = (document.scan.clone(), ranges, left_out, known, changes);
        Ok(Ok((left_out.is_none() || !read.1.is_empty()).then_some(read)))
    });
    let explained = |error: ReadError| -> Vec<Problem> {
        error.problems.iter().map(|reason| explain::problem(call, named, reason)).collect()
    };
    let Some((scan, ranges, left_out, known, changes)) = read.map_err(explained)?? else {
        page.left = before;
        return Ok(false);
    };
    let is_facts = file.ranges.as_ref().is_some_and(Vec::is_empty);
    page.left.pass(0, usize::from(is_facts));
    if let (Some(files), Some((path, known))) = (&context.shown, known) {
        files.set(&path, known);
    }
    page.file(
        &FileRead { file_path, scan: &scan, changes: changes.as_ref() },
        (!is_facts).then_some(ranges),
        left_out,
    );
    Ok(left_out.is_none())
}

/// Returns the digest of lines without their text. The budget for the text of the reply does not apply.
fn without_text(document: &Document<'_>, lines: LineRange) -> Result<Shown, ReadFault> {
    let file = document.scanned();
    let digest = Some(file.digest_of(file.bytes_of(lines)?)?);
    Ok(Shown { lines, content: String::new(), digest, cut: None, from_char: 1, line_length: None })
}

/// Returns the text of a line, without its number if `is_numbered`.
fn without_number(line: &str, is_numbered: bool) -> &str {
    line.split_once('\t').filter(|_| is_numbered).map_or(line, |(_, text)| text)
}
