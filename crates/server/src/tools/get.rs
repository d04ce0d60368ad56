//! `get_text_file_contents`: reads files, or ranges of their lines.

use mcp_text_editor_store::ReadFile as NamedFile;
use serde_json::{Map, Value};

use super::output;
use super::shared::end_of;
use super::tool::{Request, Tool, run};
use crate::actions::read::{self, ReadFile, ReadRange, ReadRequest};
use crate::arguments::vocabulary::{
    ENCODING, END, FILE_PATH, FILES, FROM_CHAR, LINE_END, LINE_NUMBERS, LINE_START, RANGES, START, TEXT,
};
use crate::arguments::{Argument, Fields, Object, each};
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
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
    arguments: Object {
        own: &[
            FILE_PATH.says("Absolute path. This or files."),
            LINE_START,
            LINE_END,
            FILES.of(FILE),
            ENCODING.says("Such as latin1. Default: by BOM, else utf-8."),
            LINE_NUMBERS,
            TEXT,
            RANGES.of(RANGE).hidden(),
        ],
    },
    output: output::read,
    run: run::<ReadRequest>,
};

/// A file to be read.
const FILE: Object = Object {
    own: &[
        FILE_PATH.needed(),
        RANGES.says("Default: the whole file. Empty: only facts.").of(RANGE),
        ENCODING.says("Default: that of the call."),
        LINE_START.hidden(),
        LINE_END.hidden(),
    ],
};

/// Lines of a file to be read.
const RANGE: Object =
    Object { own: &[START.needed().says("First line, from 1, or -1 from the end."), END, FROM_CHAR] };

/// The maximum number of ranges of a call that the reader thread answers itself. Each takes some milliseconds
/// at most, even if a reply may show a whole file of 1 MiB for each.
const MAX_AT_HAND: usize = 8;

/// Tells whether a call reads only a few ranges, of files whose scans the store has cached. Its arguments may
/// still be invalid.
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

impl Request for ReadRequest {
    const TOOL: &Tool = &TOOL;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let listed = fields.says(FILES);
        // With `files`, an empty argument counts as absent, since some clients cannot leave a key out.
        let is_given =
            |argument: &Argument| if listed { fields.says(*argument) } else { fields.has(*argument) };
        let short = [FILE_PATH, LINE_START, LINE_END, RANGES].into_iter().filter(is_given);
        let short: Vec<&str> = short.map(|argument| argument.name).collect();
        if listed && !short.is_empty() {
            fields.note_invalid(
                format!("`files` and `{}` are both given", short.join("`, `")),
                "give either `files`, or `file_path` with `line_start` and `line_end`; null counts as left out",
            );
        } else if !listed && short.is_empty() {
            fields.note_invalid(
                "`file_path` or `files` is missing".to_owned(),
                "give `file_path`: the absolute path of the file",
            );
        }
        // The short form is read even if it is not used, so that its names count as known and its types are
        // checked.
        let one = if listed || short.is_empty() {
            let file_path = fields.text(FILE_PATH);
            with_ranges(fields, file_path)
        } else {
            read_file(fields)
        };
        let many = fields.objects(FILES).filter(|_| listed);
        let many = many.map(|files| {
            each(files, |file| {
                let read = read_file(file);
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
        Some(Self { files, line_numbers, text })
    }

    fn run(&self, context: &Context, cancel: &Cancel) -> Result<Reply, Failure> {
        read::read(context, self, cancel)
    }
}

/// Reads a file and its ranges, or a single range outside a list.
fn read_file(fields: &mut Fields<'_>) -> Option<ReadFile> {
    let file_path = fields.file(FILE_PATH);
    with_ranges(fields, file_path)
}

fn with_ranges(fields: &mut Fields<'_>, file_path: Option<String>) -> Option<ReadFile> {
    let listed = fields.has(RANGES);
    let ranges = fields.objects(RANGES).map(|ranges| each(ranges, read_range));
    let start = fields.integer(LINE_START);
    let end = read_end(fields, LINE_END);
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
fn read_end(fields: &mut Fields<'_>, argument: Argument) -> Option<i64> {
    end_of(fields, argument).filter(|end| *end != 0)
}

fn read_range(fields: &mut Fields<'_>) -> Option<ReadRange> {
    let start = fields.integer(START);
    let end = read_end(fields, END);
    let from_char = fields.number(FROM_CHAR);
    fields.check_order(start?, end);
    Some(ReadRange { start: start?, end, from_char })
}
