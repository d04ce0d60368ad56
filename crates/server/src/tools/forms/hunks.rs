//! The contents of a diff, whatever its notation: files, and in each the texts to replace.

/// The part of a diff for one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileDiff<'t> {
    /// Its path, as the diff has it; `None` where the diff names none.
    pub(super) path: Option<&'t str>,
    /// The fate of the file.
    pub(super) fate: Fate,
    /// The path that it is to have.
    pub(super) moved_to: Option<&'t str>,
    /// The replacements. Of a file that is added, its text, as one replacement of nothing.
    pub(super) hunks: Vec<Hunk>,
}

/// The fate of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Changed,
    Added,
    Removed,
}

/// A text, and what replaces it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hunk {
    /// The text, of whole lines; empty where the diff does not say what stands beside the new one.
    pub(super) old: String,
    /// The new text.
    pub(super) new: String,
    /// The lines above it that the diff names, the outermost first: they tell equal places apart.
    pub(super) headers: Vec<String>,
    /// The number that the diff gives its first line. Models count wrongly, so it only tells equal places
    /// apart.
    pub(super) line: Option<u64>,
}

impl Hunk {
    /// Makes a hunk of which nothing more is told.
    pub(super) fn new(old: String, new: String) -> Self {
        Self { old, new, headers: Vec::new(), line: None }
    }
}

impl<'t> FileDiff<'t> {
    /// Begins a file.
    pub(super) fn new(path: Option<&'t str>, fate: Fate) -> Self {
        Self { path: path.filter(|path| !path.is_empty()), fate, moved_to: None, hunks: Vec::new() }
    }
}

/// The side on which a line stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Both,
    Old,
    New,
}

/// A hunk whose lines are being read.
#[derive(Default, Debug)]
pub(super) struct Lines<'t> {
    all: Vec<(Side, &'t str)>,
    /// The number of the last lines that are wholly empty. They stand between two hunks, or are lines of
    /// context that lost their blank.
    empty: usize,
    /// The sides whose last line has no line end.
    unended: Vec<Side>,
}

impl<'t> Lines<'t> {
    /// Adds a line: `-`, `+` or a blank, then its text. A line that begins otherwise is context that lost its
    /// blank.
    pub(super) fn push(&mut self, line: &'t str) {
        let (side, text) = match line.split_at_checked(1) {
            Some(("-", text)) => (Side::Old, text),
            Some(("+", text)) => (Side::New, text),
            Some((" ", text)) => (Side::Both, text),
            Some(("\\", _)) => return self.unended.extend(self.all.last().map(|(side, _)| *side)),
            _ => (Side::Both, line),
        };
        self.empty = if line.trim_end_matches('\r').is_empty() { self.empty + 1 } else { 0 };
        self.all.push((side, text));
    }

    /// Ends the hunk. Returns nothing if it changes nothing.
    pub(super) fn end(&mut self) -> Option<Hunk> {
        let Self { all: mut lines, empty, unended } = std::mem::take(self);
        lines.truncate(lines.len() - empty);
        let text = |other: Side| {
            let mut text = String::new();
            for (_, line) in lines.iter().filter(|(side, _)| *side != other) {
                text.push_str(line);
                text.push('\n');
            }
            if unended.iter().any(|side| *side != other) {
                text.pop();
            }
            text
        };
        let hunk = Hunk::new(text(Side::New), text(Side::Old));
        (hunk.old != hunk.new).then_some(hunk)
    }
}

/// Returns a line without the CR of its end, for lines that are no text of a file.
pub(super) fn bare(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}
