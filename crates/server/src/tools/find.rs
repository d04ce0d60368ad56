//! The tools that look for files, or for text in files: search, replace and list.

use std::ops::ControlFlow;
use std::path::Path;

use mcp_text_editor_store::{
    Control, EditProblem, Edited, FileMatches, List, ListEntry, ReplaceError, Search,
};
use serde_json::{Map, Value};

use super::tool::{Tool, call, failure, hashes, json_reply, story_of};
use crate::arguments::vocabulary::{
    CONTEXT, CONTEXT_AFTER, CONTEXT_BEFORE, DEPTH, ENCODING, EXPECTED_REPLACEMENTS, GLOB, HASHES,
    IGNORE_CASE, INCLUDE_IGNORED, LINE_COUNTS, LITERAL, MAX_RESULTS, MULTILINE, OFFSET, PATH, PATHS, PATTERN,
    REPLACEMENT,
};
use crate::arguments::{Fields, Notes, Object};
use crate::config::Output;
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limit;
use crate::problem::{Failure, Problem};
use crate::render::explain::{self, CalledFile, edit};
use crate::render::page::{Findings, Page};
use crate::render::search::Hits;
use crate::render::{replace as words, search as entries};
use crate::tool_id::ToolId;

/// `search_text_files`: finds text in files.
pub const SEARCH: Tool = Tool {
    id: ToolId::Search,
    title: "Search text files",
    description: "Search files: find text in them, as grep does, by a regular expression (Rust syntax) or as plain \
        text with `literal`. \
        Files that ignore files name, binary files and .git are left out; hidden files are searched.\n\
        Each hit is `path:line:text`, the line as a read shows it, so that an edit can name it at once. With `hashes` \
        it is `path:line:range_hash:text`. Lines around it (`context`) are `path-line-text`. A long reply is cut and says \
        where to go on.",
    search_hint: Some("find grep"),
    if_offered: &[],
    destructive: false,
    idempotent: true,
    arguments: Object(&[
        PATTERN.needed(),
        LITERAL,
        PATHS,
        GLOB.says(
            "Only these files, such as *.{ts,tsx} or src/**/*.rs; !*.md: not these. The last that fits decides.",
        ),
        IGNORE_CASE,
        MULTILINE,
        CONTEXT,
        CONTEXT_BEFORE,
        CONTEXT_AFTER,
        HASHES,
        MAX_RESULTS.says("The most hits. Default: 100."),
        OFFSET.says("Hits to pass over: to go on."),
        ENCODING.says("Of files without BOM. Default: utf-8."),
    ]),
    run: search,
};

/// The approximate maximum of bytes that a hit shows of its line. A longer line is cut around the match.
const LINE: usize = 500;
/// The number of hits that are listed by default.
const DEFAULT_HITS: u64 = 100;
/// The maximum number of lines that are shown before a hit, and after it.
pub const MAX_CONTEXT: u64 = 100;

/// The request of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchRequest {
    /// The pattern, and where it is searched.
    pub search: PatternSearch,
    /// The number of lines before each hit to show.
    pub before: u64,
    /// The number of lines after each hit to show.
    pub after: u64,
    /// Whether to return the hash of each hit's line.
    pub hashes: bool,
    /// The maximum number of hits to show.
    pub max_results: u64,
    /// The number of hits to skip.
    pub offset: u64,
}

/// Reads the request of a search.
pub fn search_request(fields: &mut Fields<'_>) -> Option<SearchRequest> {
    let pattern = fields.text(PATTERN);
    if pattern.as_ref().is_some_and(String::is_empty) {
        fields.note_invalid("`pattern` is empty, and would match each line", "give what to find");
    }
    let search = PatternSearch::read(fields, pattern);
    let context = fields.number(CONTEXT).unwrap_or(0);
    let [before, after] =
        [CONTEXT_BEFORE, CONTEXT_AFTER].map(|side| fields.number(side).unwrap_or(context).min(MAX_CONTEXT));
    let hashes = fields.flag(HASHES);
    let max_results = fields.number(MAX_RESULTS).unwrap_or(DEFAULT_HITS);
    let offset = fields.number(OFFSET).unwrap_or(0);
    let search = PatternSearch { encoding: fields.text(ENCODING), ..search? };
    Some(SearchRequest { search, before, after, hashes, max_results, offset })
}

/// Searches until the reply is full, the maximum number of hits is reached, or the time is over.
fn search(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    let request = SEARCH.parse(search_request, values, Notes::of(context))?;
    let tool = ToolId::Search;
    let (paths, glob) = (borrowed(&request.search.paths), borrowed(&request.search.glob));
    let search = Search {
        before: request.before,
        after: request.after,
        hashes: request.hashes,
        max_line_bytes: LINE,
        time_limit: cancel.time_left(),
        ..request.search.of_store(&paths, &glob, cancel)
    };
    let Context { capacity, config, .. } = context;
    let page = Page::new(Findings::Hits, *capacity, config.output, request.offset, request.max_results);
    let has_more = request.before.max(request.after) > 0 || request.search.multiline;
    let mut hits = Hits::new(page, has_more);
    let mut sink = |found: FileMatches| {
        let mut are_shown = found.matches.iter().map(|hit| hits.show(&found.file_path, hit));
        let end = are_shown.by_ref().position(|shown| shown.is_break());
        let shown = end.map_or(found.matches.as_slice(), |end| found.matches.get(..end).unwrap_or_default());
        if let (Some(files), [_, ..]) = (&context.shown, shown) {
            files.record_hits(&found.real_path, shown);
        }
        if end.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let is_withdrawn = || cancel.is_withdrawn();
    let control = Control::of(tool.name()).cancelled_by(&is_withdrawn);
    let done = context.workspace.search(&search, &mut sink, control).map_err(|error| {
        let call = call(context, tool, paths.len() > 1, cancel);
        let PatternSearch { glob, encoding, .. } = &request.search;
        failure(context, tool, edit::problems(call, &paths, glob, encoding.as_deref(), &error))
    })?;
    Ok(hits.page.finish(&done, &config.limits))
}

/// `replace_in_text_files`: replaces all matches of a pattern, in many files.
pub const REPLACE: Tool = Tool {
    id: ToolId::Replace,
    title: "Replace in text files",
    description: "Replace a pattern in many text files, all or nothing: rename across files. Call it first without \
        `expected_replacements`: it writes nothing, and shows counts, diffs and, as its last line, the number to send \
        with the same call. Undone as one.",
    search_hint: Some("rename sed"),
    if_offered: &[],
    destructive: true,
    idempotent: false,
    arguments: Object(&[
        PATTERN.needed().says("Regular expression (Rust)."),
        REPLACEMENT.needed(),
        LITERAL.says("Both are plain text."),
        PATHS.says("Absolute. Default: all directories."),
        GLOB.says("Such as *.{ts,tsx} or !*.md."),
        IGNORE_CASE,
        MULTILINE,
        EXPECTED_REPLACEMENTS,
        ENCODING,
    ]),
    run: replace,
};

/// The request of a replacement in many files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplaceRequest {
    /// The pattern, and where it is searched.
    pub search: PatternSearch,
    /// The text that replaces each match, with `\n` as its line ends.
    pub replacement: String,
    /// The number of matches that the call expects to replace; `None` to only count them.
    pub expected_replacements: Option<u64>,
}

/// Reads the request of a replacement in many files.
pub fn replace_request(fields: &mut Fields<'_>) -> Option<ReplaceRequest> {
    let (pattern, replacement) = (fields.text(PATTERN), fields.text(REPLACEMENT));
    let search = PatternSearch::read(fields, pattern);
    let expected_replacements = fields.number(EXPECTED_REPLACEMENTS);
    let search = PatternSearch { encoding: fields.text(ENCODING), ..search? };
    Some(ReplaceRequest { search, replacement: replacement?, expected_replacements })
}

/// Counts the matches, or replaces all of them if they are as many as the call expects.
fn replace(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    let request = REPLACE.parse(replace_request, values, Notes::of(context))?;
    let tool = ToolId::Replace;
    let (paths, glob) = (borrowed(&request.search.paths), borrowed(&request.search.glob));
    let search = request.search.of_store(&paths, &glob, cancel);
    let is_cancelled = || cancel.is_cancelled();
    let shown = |path: &Path| context.shown.as_ref()?.get(path);
    let control = context.control(tool, &shown).cancelled_by(&is_cancelled);
    let expected = request.expected_replacements;
    let most_files = context.config.limits.get(Limit::Files);
    let done = context.workspace.replace(&search, &request.replacement, expected, most_files, control);
    let done = done.map_err(|error| {
        let call = call(context, tool, false, cancel);
        let encoding = request.search.encoding.as_deref();
        let problems = match &error {
            ReplaceError::Search(error) => {
                edit::problems(call, &paths, &request.search.glob, encoding, error)
            }
            ReplaceError::TooManyFiles { .. } => {
                vec![explain::too_many_hits(call.limits, Limit::Files, "`pattern` is found in more files")]
            }
            ReplaceError::Edit { file_paths, error } => {
                let explained = |problem: &EditProblem| {
                    let file_path = file_paths.get(problem.entry).map_or("", String::as_str);
                    let named = CalledFile { encoding, ..CalledFile::by_path(file_path) };
                    explain::edit_problem(call, named, problem)
                };
                error.problems.iter().map(explained).collect::<Vec<Problem>>()
            }
        };
        failure(context, tool, problems)
    })?;
    if let (Some(shown), true) = (&context.shown, expected.is_some()) {
        shown.record_edits(&done.outcome);
    }
    let name = |edited: &Edited| done.file_paths.get(edited.entry).map_or("", String::as_str);
    let (is_count, capacity) = (expected.is_none(), &context.capacity);
    let story = story_of(context, tool, &done.outcome, name, is_count);
    let most = match context.config.output {
        Output::Text if is_count => return Ok(Reply { story, ..Reply::of(words::count(&done, capacity)) }),
        Output::Text => 3,
        Output::Json => done.outcome.files.len(),
    };
    let reply = json_reply(context, words::json(&done, is_count, hashes(context), most, capacity));
    Ok(Reply { story, ..reply })
}

/// A pattern, and the files in which it is searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatternSearch {
    /// A regular expression, or plain text.
    pub pattern: String,
    /// Whether the pattern, and what replaces it, are plain text.
    pub literal: bool,
    /// The files and directories, as the client wrote them; empty for all roots (the directories that the
    /// server serves).
    pub paths: Vec<String>,
    /// The globs that choose files, each in the notation of ignore files; none for all.
    pub glob: Vec<String>,
    /// Whether to ignore letter case.
    pub ignore_case: bool,
    /// Whether a match can span several lines.
    pub multiline: bool,
    /// The label of the files' encoding.
    pub encoding: Option<String>,
}

impl PatternSearch {
    /// Reads the arguments that search and replace have in common, except the encoding, which each of them
    /// reads last.
    fn read(fields: &mut Fields<'_>, pattern: Option<String>) -> Option<Self> {
        let literal = fields.flag(LITERAL);
        let paths = fields.paths(PATHS).unwrap_or_default();
        let glob = fields.globs(GLOB);
        let (ignore_case, multiline) = (fields.flag(IGNORE_CASE), fields.flag(MULTILINE));
        Some(Self { pattern: pattern?, literal, paths, glob, ignore_case, multiline, encoding: None })
    }

    /// Returns the search as the store takes it.
    fn of_store<'a>(&'a self, paths: &'a [&str], glob: &'a [&str], cancel: &'a Cancel) -> Search<'a> {
        Search {
            literal: self.literal,
            multiline: self.multiline,
            ignore_case: self.ignore_case,
            paths,
            glob,
            encoding: self.encoding.as_deref(),
            progress: Some(cancel.files_done()),
            ..Search::new(&self.pattern)
        }
    }
}

/// Returns the texts as borrowed strings.
fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// `list_text_files`: lists files and directories.
pub const LIST: Tool = Tool {
    id: ToolId::List,
    title: "List files",
    description: "List or find files by name, and directories, below a directory, sorted: `path`, tab, bytes; directories end in a slash. \
        Without `path`, `glob` and `depth`: the allowed directories. Files that ignore files name and .git are left out, hidden \
        files are not. A long reply is cut and says where to go on.",
    search_hint: Some("find directory name"),
    if_offered: &[],
    destructive: false,
    idempotent: true,
    arguments: Object(&[
        PATH,
        GLOB.says(
            "Only files like these, such as *.{ts,tsx} or src/**/*.rs; !*.md: not these. The last that fits decides.",
        ),
        DEPTH,
        INCLUDE_IGNORED,
        LINE_COUNTS,
        MAX_RESULTS.says("The most entries. Default: 1000."),
        OFFSET.says("Entries to pass over: to go on."),
    ]),
    run: list,
};

/// The default maximum number of listed entries.
const DEFAULT_ENTRIES: u64 = 1_000;

/// The request for a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListRequest {
    /// The directory, or the file, as the client wrote it; `None` for the roots (the directories that the
    /// server serves).
    pub path: Option<String>,
    /// The globs that choose files, each in the notation of ignore files; none for all.
    pub glob: Vec<String>,
    /// The number of directory levels; `None` for all levels, or for only the roots if there is neither a
    /// path nor a glob.
    pub depth: Option<u64>,
    /// Whether to list files that ignore files exclude, too.
    pub include_ignored: bool,
    /// Whether to count the lines of files.
    pub line_counts: bool,
    /// The maximum number of entries to list.
    pub max_results: u64,
    /// The number of entries to skip.
    pub offset: u64,
}

/// Reads the request for a listing.
pub fn list_request(fields: &mut Fields<'_>) -> Option<ListRequest> {
    let path = fields.text(PATH);
    let glob = fields.globs(GLOB);
    let depth = fields.number(DEPTH);
    let include_ignored = fields.flag(INCLUDE_IGNORED);
    let line_counts = fields.flag(LINE_COUNTS);
    let max_results = fields.number(MAX_RESULTS).unwrap_or(DEFAULT_ENTRIES);
    let offset = fields.number(OFFSET).unwrap_or(0);
    Some(ListRequest { path, glob, depth, include_ignored, line_counts, max_results, offset })
}

/// Lists until the reply is full, the maximum number of entries is reached, or the time is over.
fn list(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    let request = LIST.parse(list_request, values, Notes::of(context))?;
    let tool = ToolId::List;
    let glob = borrowed(&request.glob);
    let list = List {
        glob: &glob,
        // Without a path and a depth the store lists only the roots, to which no glob applies. So a glob
        // without a depth asks for all levels.
        depth: request.depth.or_else(|| (!glob.is_empty()).then_some(u64::MAX)),
        include_ignored: request.include_ignored,
        line_counts: request.line_counts,
        time_limit: cancel.time_left(),
        progress: Some(cancel.files_done()),
        ..List::new(request.path.as_deref())
    };
    let Context { capacity, config, .. } = context;
    let mut page =
        Page::new(Findings::Entries, *capacity, config.output, request.offset, request.max_results);
    let mut sink = |entry: ListEntry| entries::show(&mut page, &entry);
    let is_withdrawn = || cancel.is_withdrawn();
    let control = Control::of(tool.name()).cancelled_by(&is_withdrawn);
    let done = context.workspace.list(&list, &mut sink, control).map_err(|error| {
        let paths: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let call = call(context, tool, false, cancel);
        failure(context, tool, edit::problems(call, &paths, &request.glob, None, &error))
    })?;
    Ok(page.finish(&done, &config.limits))
}
