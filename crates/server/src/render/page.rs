//! Builds a reply to a search or a list, finding by finding, up to the size that the client shows whole.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use mcp_text_editor_store::{SearchEnd, SearchSummary, SkipCause};
use serde_json::{Value, json};

use super::directories;
use super::escape::json_text;
use super::limits::value;
use crate::clients::{Capacity, lines};
use crate::config::Output;
use crate::context::Reply;
use crate::limits::{Limit, Limits};

/// The room that is reserved for the notes at the end of a reply, which say where the reply was cut, and what
/// was left out.
const ROOM_FOR_NOTES: usize = 1_000;
/// The lines that are reserved for these notes.
const LINES_FOR_NOTES: u64 = 4;

/// The kinds of findings in a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Findings {
    /// Hits of a search.
    Hits,
    /// Entries of a list.
    Entries,
}

impl Findings {
    /// Returns the word for this number of findings.
    fn word(self, count: u64) -> &'static str {
        match (self, count) {
            (Self::Hits, 1) => "hit",
            (Self::Hits, _) => "hits",
            (Self::Entries, 1) => "entry",
            (Self::Entries, _) => "entries",
        }
    }

    /// Says that there are no findings in this number of files.
    fn none(self, files: u64) -> String {
        match (self, files) {
            (Self::Hits, 1) => "[no hit in 1 file]\n".to_owned(),
            (Self::Hits, _) => format!("[no hit in {files} files]\n"),
            (Self::Entries, _) => "[no entries]\n".to_owned(),
        }
    }

    /// Tells whether the reply names files that were left out for this cause.
    fn tells(self, cause: SkipCause) -> bool {
        self == Self::Hits || !directories::is_listed(cause)
    }
}

/// A reply with as many findings as there is room for.
#[derive(Debug)]
pub(crate) struct Page {
    found: Findings,
    output: Output,
    capacity: Capacity,
    /// The maximum weight of the rest of the reply.
    whole: usize,
    /// The maximum bytes of file text in the rest of the reply, if that text has a budget of its own.
    text: usize,
    /// The maximum number of lines of the rest.
    lines: u64,
    offset: u64,
    passed: u64,
    most: u64,
    shown: u64,
    is_cut: bool,
    texts: String,
    values: Vec<Value>,
}

impl Page {
    /// Begins a reply that skips the first `offset` findings, and shows at most `most` of the others.
    pub(crate) fn new(found: Findings, capacity: Capacity, output: Output, offset: u64, most: u64) -> Self {
        let lines = match output {
            Output::Text => capacity.lines.saturating_sub(LINES_FOR_NOTES),
            Output::Json => u64::MAX,
        };
        Self {
            found,
            output,
            capacity,
            whole: capacity.whole.saturating_sub(ROOM_FOR_NOTES),
            text: capacity.text.unwrap_or(usize::MAX),
            lines,
            offset,
            passed: 0,
            most,
            shown: 0,
            is_cut: false,
            texts: String::new(),
            values: Vec::new(),
        }
    }

    /// Tells whether nothing is shown yet.
    pub(super) fn is_empty(&self) -> bool {
        self.shown == 0
    }

    /// Takes room for a piece. Returns false, and takes nothing, if there is not enough.
    fn take(&mut self, piece: &str) -> bool {
        let left = (
            self.whole.checked_sub(self.capacity.measure.of(piece)),
            self.text.checked_sub(piece.len()),
            self.lines.checked_sub(lines(piece)),
        );
        let (Some(whole), Some(text), Some(lines)) = left else { return false };
        (self.whole, self.text, self.lines) = (whole, text, lines);
        true
    }

    /// Adds the next finding, or skips it. Returns `Break`, and adds nothing, if there is no room for the
    /// finding, or if `most` findings are already shown. The first finding is always shown, since otherwise
    /// no later reply could get past it. If it is too large, only its most important part is shown: `text`
    /// and `json` are called with `false`.
    pub(super) fn show(
        &mut self,
        text: impl Fn(bool) -> String,
        json: impl Fn(bool) -> Value,
    ) -> ControlFlow<()> {
        if self.passed < self.offset {
            self.passed += 1;
            return ControlFlow::Continue(());
        }
        self.is_cut = self.shown == self.most;
        let output = self.output;
        let piece = |is_whole| match output {
            Output::Text => (text(is_whole), None),
            Output::Json => {
                let value = json(is_whole);
                (json_text(&value) + ",", Some(value))
            }
        };
        let mut piece_shown = piece(true);
        if !self.is_cut && !self.take(&piece_shown.0) {
            self.is_cut = !self.is_empty();
            (self.whole, self.text, self.lines) = (0, 0, 0);
            piece_shown = piece(false);
        }
        if self.is_cut {
            return ControlFlow::Break(());
        }
        self.shown += 1;
        match piece_shown {
            (text, None) => self.texts.push_str(&text),
            (_, Some(value)) => self.values.push(value),
        }
        ControlFlow::Continue(())
    }

    /// Ends the reply: says why it ends here, and what was left out.
    pub(crate) fn finish(mut self, done: &SearchSummary, limits: &Limits) -> Reply {
        let found = self.found;
        let next = self.is_cut.then(|| self.offset.saturating_add(self.shown));
        let is_empty = self.shown == 0 && self.passed == 0;
        let is_late = done.end == SearchEnd::TimeLimit;
        let tells = |cause| found.tells(cause);
        match self.output {
            Output::Text => {
                let text = &mut self.texts;
                if self.shown == 0 && next.is_none() && !is_late {
                    let none = match self.passed {
                        0 => found.none(done.files),
                        passed => {
                            format!("[no more: `offset` passes over all {passed} {}]\n", found.word(passed))
                        }
                    };
                    text.push_str(&none);
                }
                if let Some(next) = next {
                    let what = found.word(self.shown);
                    let _ = writeln!(text, "[cut after {} {what}; go on with offset {next}]", self.shown);
                }
                if is_late {
                    let time = value(Limit::Seconds, limits.get(Limit::Seconds));
                    let _ = writeln!(
                        text,
                        "[not all was looked at: the time was over, and the limit `call-seconds` is {time}; name fewer directories]"
                    );
                }
                directories::tell(&done.skipped, tells, is_empty, text);
                Reply { text: text.trim_end_matches('\n').to_owned(), structured: None, story: None }
            }
            Output::Json => {
                let mut value = match found {
                    Findings::Hits => json!({"matches": self.values, "files_searched": done.files}),
                    Findings::Entries => json!({"entries": self.values}),
                };
                if let Some(object) = value.as_object_mut() {
                    object.insert("truncated".to_owned(), json!(next.is_some() || is_late));
                    if let Some(next) = next {
                        object.insert("next_offset".to_owned(), json!(next));
                    }
                    if let Some(skipped) = directories::json(&done.skipped, tells) {
                        object.insert("skipped".to_owned(), skipped);
                    }
                }
                Reply { text: json_text(&value), structured: Some(value), story: None }
            }
        }
    }
}
