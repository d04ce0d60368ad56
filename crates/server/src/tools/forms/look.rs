//! Looks up the facts of files that a rewritten call needs so that it can be sent at once: digests, the text
//! of lines, and whether the call would be accepted. Nothing depends on them but the words of an error.

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::rejection::Excerpt;
use mcp_text_editor_core::show::Budget;
use mcp_text_editor_store::{Control, FileView, ReadFile, Reason, StoreErrorKind};
use serde_json::Value;

use super::reader::Reader;
use crate::actions::edit::PatchRequest;
use crate::actions::edit::replaced;
use crate::render::part::Part;
use crate::tools::tool::parse;

/// The most lines that are shown beside a call.
const MOST_LINES: u64 = 20;
/// The most bytes of these lines.
const MOST_BYTES: usize = 2_000;
/// The most bytes of a file whose text is searched.
const MOST_TEXT: usize = 1 << 20;

/// The file that a path leads to.
#[derive(Clone, Debug)]
pub(super) enum Look {
    /// A text.
    Text {
        /// The digest of the file, and that of all its lines.
        hashes: [Digest; 2],
        /// The number of lines.
        lines: u64,
    },
    /// A directory.
    Directory,
    /// Nothing is there.
    Missing,
    /// Something else, or something that a call may not know.
    Unknown,
}

impl Reader<'_> {
    /// Looks up what a path leads to.
    pub(super) fn look(&mut self, path: &Part, encoding: Option<&str>) -> Look {
        let Some(file_path) = self.looked(path) else { return Look::Unknown };
        let is_cancelled = || self.cancel.is_cancelled();
        let control = Control::of("").cancelled_by(&is_cancelled);
        let found = self.context.workspace.read_with(ReadFile { file_path, encoding }, control, |document| {
            let lines = &document.scan.lines;
            let of_lines = document.scanned().digest_of(lines.bytes())?;
            Ok(Look::Text { hashes: [document.scan.digest, of_lines], lines: lines.count() })
        });
        found.unwrap_or_else(|error| match error.problems.as_slice() {
            [Reason::Store(error)] if error.kind == StoreErrorKind::NotFound && error.name.is_none() => {
                Look::Missing
            }
            [Reason::Store(error)] if error.kind == StoreErrorKind::IsADirectory => Look::Directory,
            _ => Look::Unknown,
        })
    }

    /// Returns the digest of a file.
    pub(super) fn file_hash(&mut self, path: &Part, encoding: Option<&str>) -> Option<Value> {
        match self.look(path, encoding) {
            Look::Text { hashes: [file, _], .. } => Some(file.short().into()),
            _ => None,
        }
    }

    /// Returns the whole text of a file, if it is not large.
    pub(super) fn text(&mut self, path: &Part, encoding: Option<&str>) -> Option<String> {
        let view = self.view(path, encoding, None, Budget::bytes(MOST_TEXT))?;
        view.shown.cut.is_none().then_some(view.shown.content)
    }

    /// Returns the digest of some lines that are few enough to be shown beside the call, each whole.
    pub(super) fn range_hash(
        &mut self,
        path: &Part,
        encoding: Option<&str>,
        lines: LineRange,
    ) -> Option<Digest> {
        let view = self.view(path, encoding, Some(lines), Budget::bytes(MOST_BYTES))?;
        view.shown.digest.filter(|_| view.shown.lines == lines && view.shown.cut.is_none())
    }

    /// Has some lines shown beside the call, if they are few. Returns whether they will be.
    pub(super) fn show(&mut self, path: &Part, encoding: Option<&str>, lines: LineRange) -> bool {
        let few = Some(lines).filter(|lines| lines.count() <= MOST_LINES);
        let view = few.and_then(|lines| self.view(path, encoding, Some(lines), Budget::bytes(MOST_BYTES)));
        let whole = view.filter(|view| view.shown.lines == lines && view.shown.cut.is_none());
        let excerpt = whole.map(|view| Excerpt {
            of: lines,
            start: lines.start(),
            from_char: 1,
            text: view.shown.content,
            truncated: false,
        });
        let is_shown = excerpt.is_some();
        self.shown = excerpt.or(self.shown.take());
        is_shown
    }

    /// Returns the lines that a patch call would replace; `None` if it would be refused.
    pub(super) fn replaced(&mut self, call: &Part) -> Option<Vec<LineRange>> {
        self.count_look().then_some(())?;
        let Value::Object(values) = call.filled() else { return None };
        let request = parse::<PatchRequest>(values, self.limits()).ok()?;
        replaced(self.context, &request, self.cancel)
    }

    fn view(
        &mut self,
        path: &Part,
        encoding: Option<&str>,
        lines: Option<LineRange>,
        budget: Budget,
    ) -> Option<FileView> {
        let file_path = self.looked(path)?;
        let is_cancelled = || self.cancel.is_cancelled();
        let control = Control::of("").cancelled_by(&is_cancelled);
        self.context.workspace.read(ReadFile { file_path, encoding }, lines, budget, control).ok()
    }

    fn looked<'p>(&mut self, path: &'p Part) -> Option<&'p str> {
        match path {
            Part::Value(Value::String(path)) => self.count_look().then_some(path),
            _ => None,
        }
    }
}
