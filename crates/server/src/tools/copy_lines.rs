//! `copy_text_lines`: copies or moves lines within a file, or to another file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::DigestPrefix;
use mcp_text_editor_core::rejection::{At, Rejection};
use mcp_text_editor_core::resolve::{EditedLines, GuardedRange, LineEdit, Position, text_of};
use mcp_text_editor_store::{Change, Control, EditProblem, FileEdit, ReadFile, Reason};
use serde_json::{Map, Value};

use super::edit::edit_files;
use super::tool::{Tool, call, cancelled, failure, hashed_range, position};
use crate::arguments::vocabulary::{
    AFTER, BEFORE, COPIES, DRY_RUN, ENCODING, END, FILE_HASH, FROM, MOVE, RANGE_HASH, START, TO, TO_ENCODING,
};
use crate::arguments::{Argument, Fields, Notes, Object};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limit;
use crate::problem::{Code, Failure, Problem};
use crate::render::explain::{self, CalledFile};
use crate::render::limits;
use crate::tool_id::ToolId;

/// The maximum number of copies in a call.
const MAX: usize = 100;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::CopyLines,
    title: "Copy or move lines",
    description: "Copy or move whole lines within a text file or to another, without their text. Each needs the `range_hash` of a \
        reply, a `to` that exists its `file_hash`; any other is made. All refer to the files before the call; all or nothing.",
    search_hint: Some("cut paste"),
    if_offered: &[],
    destructive: true,
    idempotent: false,
    arguments: Object(&[
        COPIES.of(COPY),
        ENCODING.says("Default: utf-8."),
        TO_ENCODING,
        DRY_RUN.says("Only return the diff."),
        // The fields of a single copy are also accepted at the top level, without a list.
        FROM.hidden(),
        START.hidden(),
        END.hidden(),
        RANGE_HASH.hidden(),
        TO.hidden(),
        AFTER.hidden(),
        BEFORE.hidden(),
        FILE_HASH.hidden(),
        MOVE.hidden(),
    ]),
    run: copy_lines,
};

/// Lines, and their new place.
const COPY: Object = Object(&[
    FROM.needed(),
    START.needed().says("From 1."),
    END.says("Default: the end."),
    RANGE_HASH.needed().says("Of these lines."),
    TO.says("Default: from."),
    AFTER.says("Line of to; 0: top."),
    BEFORE.says("Or this."),
    FILE_HASH.says("Of to."),
    MOVE,
]);

/// The arguments of a single copy, which are also accepted at the top level.
const ALONE: [Argument; 9] = [FROM, START, END, RANGE_HASH, TO, AFTER, BEFORE, FILE_HASH, MOVE];

/// The lines to copy or move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyRequest {
    /// The copies; at least one. All refer to the files as they are before the call.
    pub copies: Vec<LineCopy>,
    /// The label of the encoding of the files.
    pub encoding: Option<String>,
    /// The label of the encoding of the target files, if it is not `encoding`.
    pub to_encoding: Option<String>,
    /// Whether to write nothing.
    pub dry_run: bool,
}

/// Lines, and their new place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineCopy {
    /// The path of the source file, as the client wrote it.
    pub from: String,
    /// The lines, with their digest.
    pub range: GuardedRange,
    /// The path of the target file; `None` for the source file.
    pub to: Option<String>,
    /// The line of the target file after or before which the lines are put; `None` for the top of a new file.
    pub position: Option<Position>,
    /// The digest that the target file must have; `None` if the call gives none, as for a new file or the
    /// source file.
    pub file_hash: Option<DigestPrefix>,
    /// Whether the lines are removed from their old place.
    pub is_move: bool,
}

/// Reads the request of a call.
pub fn request(fields: &mut Fields<'_>) -> Option<CopyRequest> {
    let copies = if fields.says(COPIES) {
        let alone: Vec<&str> =
            ALONE.into_iter().filter(|own| fields.says(*own)).map(|own| own.name).collect();
        if !alone.is_empty() {
            fields.note_invalid(
                format!("`copies` and `{}` are both given", alone.join("`, `")),
                "give either `copies`, or one copy without that list",
            );
        }
        for own in ALONE {
            fields.check(own);
        }
        fields.some(COPIES, copy)
    } else {
        fields.check(COPIES);
        copy(fields).map(|copy| vec![copy])
    };
    if let Some(copies) = copies.as_ref().filter(|copies| copies.len() > MAX) {
        fields.note(
            Code::TooLarge,
            format!("the call has {} copies, and at most {MAX} go together", copies.len()),
            "send several calls, each with fewer copies",
        );
    }
    let encoding = fields.text(ENCODING);
    let to_encoding = fields.text(TO_ENCODING);
    let dry_run = fields.flag(DRY_RUN);
    Some(CopyRequest { copies: copies?, encoding, to_encoding, dry_run })
}

fn copy(fields: &mut Fields<'_>) -> Option<LineCopy> {
    let from = fields.file(FROM);
    let range = hashed_range(fields);
    // Lines that begin a new file need no `after` or `before`.
    let may_be_new = fields.has(TO) && !fields.has(FILE_HASH);
    let to = fields.text(TO);
    let position = position(fields, !may_be_new);
    let file_hash = fields.tag(FILE_HASH);
    let is_move = fields.flag(MOVE);
    Some(LineCopy { from: from?, range: range?, to, position, file_hash, is_move })
}

/// A source or target file of a call.
struct CallFile<'a> {
    path: &'a str,
    encoding: Option<&'a str>,
    file_hash: Option<&'a DigestPrefix>,
    /// Whether it is the source of a copy.
    is_source: bool,
    /// The edits of its lines.
    edits: Vec<LineEdit<'a>>,
    /// The text of the file, if the call creates it; otherwise empty.
    contents: String,
}

/// Copies or moves lines.
fn copy_lines(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    let request = TOOL.parse(request, values, Notes::of(context))?;
    let (mut files, of_copies) = files(context, &request);
    let mut problems = Vec::new();
    let mut texts = Vec::new();
    let mut left = context.config.limits.get(Limit::Text);
    for (number, (copy, [from, to])) in request.copies.iter().zip(&of_copies).enumerate() {
        if cancel.is_cancelled() {
            return Err(cancelled(context, ToolId::CopyLines));
        }
        let Some(target) = files.get(*to) else { continue };
        let is_new = from != to && target.file_hash.is_none();
        let is_top = matches!(copy.position, None | Some(Position::After(0) | Position::Before(1)));
        let part = if request.copies.len() > 1 { format!("copies[{number}]: ") } else { String::new() };
        let mut refuse = |reason: &str, hint: &str| {
            let problem = Problem::new(Code::InvalidArguments, reason, hint).of_file(target.path);
            problems.push(Problem { part: part.clone(), ..problem });
        };
        if is_new && (target.is_source || !is_top) {
            refuse(
                "`file_hash` is missing",
                "give `file_hash`: that of `to`, unless the call is to make that file",
            );
        } else if copy
            .file_hash
            .as_ref()
            .zip(target.file_hash)
            .is_some_and(|(one, other)| !one.agrees_with(other))
        {
            refuse(
                "`file_hash` differs from that of another copy to this file",
                "read the file again, and give its `file_hash`",
            );
        } else if !is_new && copy.position.is_none() {
            refuse("`after` or `before` is missing", "give exactly one of `after` and `before`");
        }
        let text =
            if from == to { Ok(None) } else { text(context, &request, number, &mut left, cancel).map(Some) };
        texts.push(text.unwrap_or_else(|found| {
            problems.extend(found);
            None
        }));
    }
    if !problems.is_empty() {
        return Err(failure(context, ToolId::CopyLines, problems));
    }
    let folded: Vec<Option<String>> = texts.iter().map(|text| text.as_deref().map(folded)).collect();
    for (number, (copy, [from, to])) in request.copies.iter().zip(&of_copies).enumerate() {
        let mut at = At::default();
        at.patch = number;
        let lines = EditedLines::Own { range: &copy.range, is_removed: copy.is_move };
        let is_within = from == to;
        if let Some(source) = files.get_mut(*from).filter(|_| is_within || copy.is_move) {
            source.edits.push(LineEdit { at, lines, to: copy.position.filter(|_| is_within) });
        }
        let Some(target) = files.get_mut(*to).filter(|_| !is_within) else { continue };
        if target.file_hash.is_none() {
            target.contents.push_str(texts.get(number).and_then(Option::as_deref).unwrap_or_default());
        } else if let Some(Some(text)) = folded.get(number) {
            target.edits.push(LineEdit { at, lines: EditedLines::New(text), to: copy.position });
        }
    }
    // A file that is only a source of copies, not of moves, stays unchanged.
    let edited = files.iter().filter(|file| !file.edits.is_empty() || !file.contents.is_empty());
    let edits = edited.map(|file| {
        let CallFile { path: file_path, encoding, file_hash, edits, contents, .. } = file;
        let change = if edits.is_empty() { Change::Create(contents) } else { Change::Rearrange(edits) };
        FileEdit { file_path, encoding: *encoding, file_hash: *file_hash, change }
    });
    edit_files(context, ToolId::CopyLines, &edits.collect::<Vec<_>>(), request.dry_run, cancel)
}

/// Lists the files of a call without repetitions and, for each copy, the indices of its source and its
/// target.
fn files<'a>(context: &Context, request: &'a CopyRequest) -> (Vec<CallFile<'a>>, Vec<[usize; 2]>) {
    let mut known = BTreeMap::<PathBuf, usize>::new();
    let mut files = Vec::<CallFile<'a>>::new();
    let to_encoding = request.to_encoding.as_deref().or(request.encoding.as_deref());
    let mut file = |path: &'a str, encoding, file_hash: Option<&'a DigestPrefix>, is_source| {
        let real = context.workspace.resolve_for_history(path).unwrap_or_else(|_| Path::new(path).to_owned());
        let index = *known.entry(real).or_insert(files.len());
        if index == files.len() {
            let (edits, contents) = (Vec::new(), String::new());
            files.push(CallFile { path, encoding, file_hash: None, is_source, edits, contents });
        }
        if let Some(file) = files.get_mut(index) {
            // A file that is both source and target has the encoding of a source.
            if is_source || !file.is_source {
                file.encoding = encoding;
            }
            file.file_hash = file.file_hash.or(file_hash);
            file.is_source |= is_source;
        }
        index
    };
    let of_copies = request.copies.iter().map(|copy| {
        let from = file(&copy.from, request.encoding.as_deref(), None, true);
        let to = file(copy.to.as_ref().unwrap_or(&copy.from), to_encoding, copy.file_hash.as_ref(), false);
        [from, to]
    });
    let of_copies = of_copies.collect();
    (files, of_copies)
}

/// Reads the lines of a copy to another file, and checks their digest. `left` is the number of bytes that the
/// call may still read.
fn text(
    context: &Context,
    request: &CopyRequest,
    number: usize,
    left: &mut u64,
    cancel: &Cancel,
) -> Result<String, Vec<Problem>> {
    let Some(copy) = request.copies.get(number) else { return Err(Vec::new()) };
    let (file_path, encoding) = (copy.from.as_str(), request.encoding.as_deref());
    let call = call(context, ToolId::CopyLines, request.copies.len() > 1, cancel);
    let named = CalledFile { encoding, ..CalledFile::by_path(file_path) };
    let is_cancelled = || cancel.is_cancelled();
    let control = Control::of(ToolId::CopyLines.name()).cancelled_by(&is_cancelled);
    let mut at = At::default();
    at.patch = number;
    let read = context.workspace.read_with(ReadFile { file_path, encoding }, control, |document| {
        let text = text_of(document.scanned(), at, &copy.range, *left)?;
        Ok((text, document.scan.digest, document.scan.lines.count()))
    });
    let explained = |reason: &Reason| explain::problem(call, named, reason);
    let (text, digest, total_lines) =
        read.map_err(|error| error.problems.iter().map(explained).collect::<Vec<_>>())?;
    let text = text.map_err(|rejections| {
        let explained = |rejection| match rejection {
            Rejection::TooMuchText { bytes, .. } => {
                let limits = &context.config.limits;
                let total = limits.get(Limit::Text).saturating_sub(*left).saturating_add(bytes);
                limits::too_large(limits, Limit::Text, format!("the call has {total} bytes of text"))
                    .of_file(file_path)
            }
            rejection => {
                let reason = Reason::Rejected { rejection, digest: Some(digest), total_lines };
                explain::edit_problem(call, named, &EditProblem { entry: 0, reason })
            }
        };
        rejections.into_iter().map(explained).collect::<Vec<_>>()
    })?;
    *left = left.saturating_sub(text.len() as u64);
    Ok(text)
}

/// Returns a text with `\n` as its line ends. Each line of the text has a line end, so the lines end in CR
/// only if the text has no LF.
fn folded(text: &str) -> String {
    if text.contains('\n') { text.replace("\r\n", "\n") } else { text.replace('\r', "\n") }
}
