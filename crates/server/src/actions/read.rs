//! Reads files, or ranges of their lines.

use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::show::{Shown, show};
use mcp_text_editor_store::{Control, Document, ReadError, ReadFault, ReadFile as NamedFile};

use super::reply::{call, cancelled, failure};
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Failure, Problem};
use crate::render::explain::{self, Call, CalledFile};
use crate::render::read::{self as words, FileRead, LeftOut, ReadReply};
use crate::tool_id::ToolId;

/// The request of a read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadRequest {
    /// The files; at least one.
    pub files: Vec<ReadFile>,
    /// Whether text replies number the lines.
    pub line_numbers: bool,
    /// Whether the reply has the lines; otherwise only their digests.
    pub text: bool,
}

/// A file to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadFile {
    /// Its path, as the client wrote it.
    pub file_path: String,
    /// The label of its encoding.
    pub encoding: Option<String>,
    /// The ranges; `None` for the whole file, empty for facts only.
    pub ranges: Option<Vec<ReadRange>>,
}

/// Lines to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadRange {
    /// The first line. 0 counts as 1, and a negative one counts from the end of the file.
    pub start: i64,
    /// The last line; `None` for that of the file.
    pub end: Option<i64>,
    /// The character of the first line to begin with, counted from 1.
    pub from_char: Option<u64>,
}

/// Reads ranges of files. A file that cannot be read does not keep the others from being read.
pub fn read(context: &Context, request: &ReadRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let call = call(context, ToolId::Get, request.files.len() > 1, cancel);
    let ranges = |file: &ReadFile| file.ranges.as_ref().map_or(1, Vec::len);
    let files = request.files.iter().map(|file| (file.file_path.as_str(), ranges(file)));
    let mut page =
        ReadReply::new(context.capacity, context.config.output, request.line_numbers, request.text, files);
    let (mut problems, mut is_any_read, mut is_full) = (Vec::new(), false, false);
    for file in &request.files {
        if cancel.is_out_of_time() {
            // The call still answers with what was read in time.
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
        match read_file(context, call, file, &mut page, is_full, cancel) {
            Ok(is_told) => {
                is_any_read = true;
                is_full |= !is_told;
            }
            Err(found) => {
                // A file that failed leaves its share of the room to the others.
                page.left = before;
                page.left.pass(ranges(file), usize::from(ranges(file) == 0));
                is_full = is_full || !page.failed(&found);
                problems.extend(found);
            }
        }
        // Without room nothing more can be shown. Reading on would only find out whether all files fail.
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

/// Shows a file on the page, unless the page is full. Returns false if there was no room for a part of what
/// was asked of it.
fn read_file(
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
                // The text has numbers for a model.
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

/// Returns lines with their digest alone, which no budget bounds.
fn without_text(document: &Document<'_>, lines: LineRange) -> Result<Shown, ReadFault> {
    let file = document.scanned();
    let digest = Some(file.digest_of(file.bytes_of(lines)?)?);
    Ok(Shown { lines, content: String::new(), digest, cut: None, from_char: 1, line_length: None })
}

/// Returns the text of a line that may be numbered.
fn without_number(line: &str, is_numbered: bool) -> &str {
    line.split_once('\t').filter(|_| is_numbered).map_or(line, |(_, text)| text)
}
