//! Builds the text of a diff up to a maximum length.

use std::fmt::Write as _;

/// Text that stops growing at its limit, and counts the lines that are left out.
pub(super) struct BoundedText {
    text: String,
    limit: usize,
    hidden: u64,
}

impl BoundedText {
    /// Makes an empty text that grows to `limit` bytes at most.
    pub(super) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit, hidden: 0 }
    }

    /// Tells whether lines were left out. Then all further lines are left out, too.
    pub(super) fn is_full(&self) -> bool {
        self.hidden > 0
    }

    /// Writes a line of a file with its sign before it. `open` says that the line has no terminator.
    pub(super) fn row(&mut self, sign: char, text: &str, open: bool) {
        self.line(format_args!("{sign}{text}"));
        if open {
            self.line(format_args!("\\ No newline at end of file"));
        }
    }

    pub(super) fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if self.hidden > 0 {
            self.hidden += 1;
            return;
        }
        let before = self.text.len();
        _ = writeln!(self.text, "{line}");
        if self.text.len() > self.limit {
            self.text.truncate(before);
            self.hidden = 1;
        }
    }

    /// Returns the text. If lines were left out, it ends with their number.
    pub(super) fn finish(mut self) -> String {
        if self.hidden > 0 {
            self.text.push_str(&more_lines(self.hidden));
        }
        self.text
    }
}

/// Returns the last line, with its `\n`, of a diff whose last `count` lines are left out.
#[must_use]
pub fn more_lines(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("… {count} more line{plural}\n")
}
