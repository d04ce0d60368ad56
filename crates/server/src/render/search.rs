//! Hits in replies: a line each for a model, as `grep` and `rg` print them, and an object each for a program.

use std::fmt::Write as _;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::{LineCut, Match, SearchEnd, SearchSummary, SkipCause, Skipped, TextLine};
use serde_json::{Value, json};

use super::escape::{json_text, path_before_number};
use super::limits::value;
use super::sheet::Sheet;
use super::skipped;
use crate::config::Output;
use crate::context::Reply;
use crate::limits::{Limit, Limits};
use crate::room::Room;

/// What is told beside the hits.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// How many files were searched.
    pub(crate) files: u64,
    /// The `offset` with which the search goes on; `None` if there is nothing more.
    pub(crate) next: Option<u64>,
    /// Why it ended before its end, if not because enough was found.
    pub(crate) stopped: Option<String>,
    /// What was not searched.
    pub(crate) skipped: Skipped,
}

/// What a reply is full of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// Hits of a search.
    Hits,
    /// Entries of a list.
    Entries,
}

impl Found {
    /// Returns the word for so many of them.
    fn word(self, count: u64) -> &'static str {
        match (self, count) {
            (Self::Hits, 1) => "hit",
            (Self::Hits, _) => "hits",
            (Self::Entries, 1) => "entry",
            (Self::Entries, _) => "entries",
        }
    }

    /// Whether what was left out for a cause is to be told.
    fn tells(self, cause: SkipCause) -> bool {
        match self {
            Self::Hits => true,
            Self::Entries => !skipped::is_listed(cause),
        }
    }
}

/// The hits of a reply, as far as there is room for them.
#[derive(Debug)]
pub(crate) struct Page {
    output: Output,
    sheet: Sheet,
    text: String,
    values: Vec<Value>,
    shown: u64,
    /// Whether lines around the hits are shown, too.
    has_context: bool,
    /// The file and the number of the line that was shown last.
    last: Option<(String, u64)>,
}

impl Page {
    /// Begins a reply.
    pub(crate) fn new(room: Room, output: Output, has_context: bool) -> Self {
        let sheet = Sheet::new(room, output);
        Self { output, sheet, text: String::new(), values: Vec::new(), shown: 0, has_context, last: None }
    }

    /// Returns how many hits are shown.
    pub(crate) fn shown(&self) -> u64 {
        self.shown
    }

    /// Shows a hit in a file. Returns false if there is no room for it. The first is shown in any case, without the lines
    /// around it at need.
    pub(crate) fn hit(&mut self, path: &str, hit: &Match) -> bool {
        let is_first = self.sheet.is_empty();
        let is_shown = match self.output {
            Output::Text => self.hit_text(path, hit, is_first),
            Output::Json => self.hit_json(path, hit, is_first),
        };
        self.shown += u64::from(is_shown);
        is_shown
    }

    fn hit_json(&mut self, path: &str, hit: &Match, is_first: bool) -> bool {
        let whole = hit_json(path, hit, true);
        if self.sheet.take(&(json_text(&whole) + ",")) {
            self.values.push(whole);
        } else if is_first {
            self.sheet.take_all();
            self.values.push(hit_json(path, hit, false));
        } else {
            return false;
        }
        true
    }

    fn hit_text(&mut self, path: &str, hit: &Match, is_first: bool) -> bool {
        let marks: &[char] = if self.has_context { &[':', '-'] } else { &[':'] };
        let name = path_before_number(path, marks);
        let first = hit.before.first().unwrap_or(&hit.line).number.get();
        let goes_on = |(file, line): &(String, u64)| file == path && line + 1 == first;
        let mut whole = String::new();
        if self.has_context && self.last.as_ref().is_some_and(|last| !goes_on(last)) {
            whole.push_str("--\n");
        }
        for line in &hit.before {
            line_text(&name, '-', line, None, &mut whole);
        }
        line_text(&name, ':', &hit.line, hit.range_hash.as_ref(), &mut whole);
        for line in &hit.after {
            line_text(&name, '-', line, None, &mut whole);
        }
        let mut last = hit.after.last().unwrap_or(&hit.line).number.get();
        if !self.sheet.take(&whole) {
            if !is_first {
                return false;
            }
            self.sheet.take_all();
            whole.clear();
            line_text(&name, ':', &hit.line, hit.range_hash.as_ref(), &mut whole);
            last = hit.line.number.get();
        }
        self.text.push_str(&whole);
        self.last = Some((path.to_owned(), last));
        true
    }

    /// Ends the reply.
    pub(crate) fn finish(mut self, end: &End) -> Reply {
        match self.output {
            Output::Text => {
                if self.shown == 0 && end.next.is_none() && end.stopped.is_none() {
                    let files =
                        if end.files == 1 { "1 file".to_owned() } else { format!("{} files", end.files) };
                    let _ = writeln!(self.text, "[no hit in {files}]");
                }
                end.tell(self.shown, Found::Hits, &mut self.text);
                Reply { text: self.text.trim_end_matches('\n').to_owned(), structured: None }
            }
            Output::Json => {
                let mut value = json!({"matches": self.values, "files_searched": end.files});
                end.add(Found::Hits, &mut value);
                Reply { text: json_text(&value), structured: Some(value) }
            }
        }
    }
}

impl End {
    /// Makes the end of a search or a list that goes on with `next`.
    pub(crate) fn of(done: SearchSummary, next: Option<u64>, limits: &Limits) -> Self {
        let stopped = (done.end == SearchEnd::TimeLimit).then(|| {
            let time = value(Limit::Seconds, limits.get(Limit::Seconds));
            format!("not all was looked at: the time was over, and the limit `call-seconds` is {time}; name fewer directories")
        });
        Self { files: done.files, next, stopped, skipped: done.skipped }
    }

    /// Says in notes why the reply ends here, after so many, and what was left out.
    pub(super) fn tell(&self, shown: u64, what: Found, out: &mut String) {
        if let Some(next) = self.next {
            let _ = writeln!(out, "[cut after {shown} {}; go on with offset {next}]", what.word(shown));
        }
        if let Some(stopped) = &self.stopped {
            let _ = writeln!(out, "[{stopped}]");
        }
        skipped::tell(&self.skipped, |cause| what.tells(cause), out);
    }

    /// Adds the same to a reply in JSON.
    pub(super) fn add(&self, what: Found, reply: &mut Value) {
        let Some(object) = reply.as_object_mut() else { return };
        object.insert("truncated".to_owned(), json!(self.next.is_some() || self.stopped.is_some()));
        if let Some(next) = self.next {
            object.insert("next_offset".to_owned(), json!(next));
        }
        if let Some(skipped) = skipped::json(&self.skipped, |cause| what.tells(cause)) {
            object.insert("skipped".to_owned(), skipped);
        }
    }
}

/// Writes a line as `path:number:text`, or with another mark instead of the colons; before the text stands the digest of the
/// line, if it is to be told, and which part of the line the text is, if not all.
fn line_text(path: &str, mark: char, line: &TextLine, digest: Option<&Digest>, out: &mut String) {
    let _ = write!(out, "{path}{mark}{}{mark}", line.number);
    if let Some(digest) = digest {
        let _ = write!(out, "{}{mark}", digest.short());
    }
    if let Some(LineCut { from_char, line_length }) = line.cut {
        let last = from_char + (line.text.chars().count() as u64).saturating_sub(1);
        let _ = write!(out, "[characters {from_char}-{last} of {line_length}] ");
    }
    out.push_str(&line.text);
    out.push('\n');
}

fn hit_json(path: &str, hit: &Match, with_context: bool) -> Value {
    let mut value = json!({"file_path": path, "line": hit.line.number.get(), "text": hit.line.text});
    let Some(object) = value.as_object_mut() else { return value };
    if let Some(LineCut { from_char, line_length }) = hit.line.cut {
        object.insert("from_char".to_owned(), json!(from_char));
        object.insert("line_length".to_owned(), json!(line_length));
    }
    if let Some(digest) = &hit.range_hash {
        object.insert("range_hash".to_owned(), json!(digest.to_string()));
    }
    for (name, lines) in [("before", &hit.before), ("after", &hit.after)] {
        if with_context && !lines.is_empty() {
            let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
            object.insert(name.to_owned(), json!(texts));
        }
    }
    value
}
