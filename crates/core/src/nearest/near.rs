//! A place that is similar, as it is told.

use super::fold::head;
use crate::line::LineRange;

/// How many lines the text of a place has.
pub(super) const TEXT_LINES: usize = 20;

/// How many bytes the text of a place has.
pub(super) const TEXT_BYTES: usize = 2000;

/// A place that is similar to the wanted text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Near {
    /// Its lines.
    pub lines: LineRange,
    /// Their text, each ended by `\n`: at most 20 lines and 2000 bytes. Complete if it ends in `\n` and has as many
    /// lines as [`Near::lines`].
    pub text: String,
}

impl Near {
    /// The place of `lines`, of which these are the texts, as far as they are told.
    pub(super) fn new(lines: LineRange, texts: &[String]) -> Self {
        Self { lines, text: excerpt(texts) }
    }
}

fn excerpt(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines.iter().take(TEXT_LINES) {
        text.push_str(line);
        text.push('\n');
    }
    text.truncate(head(&text, TEXT_BYTES).len());
    text
}
