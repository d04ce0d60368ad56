//! Slips in new text: likely mistakes, as data. The review in [`resolve`](crate::resolve) finds them, and the
//! caller puts them into words.

use crate::line::LineNumber;

/// The kinds of text that a caller recognises by a file's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TextKind {
    /// Text of none of the kinds below.
    #[default]
    Plain,
    /// Markdown, where two spaces at the end of a line are a line break.
    Markdown,
    /// Columns between tabs, where tabs at the end of a line are empty columns.
    Tabular,
}

/// A slip in new text. The slips of the first two variants are certain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slip {
    /// Each line begins with its own number, as in the reply to a read, and no line around the text does.
    Numbers,
    /// Only one of the old and the new text ends with a line end. As a result, the edit leaves or adds an
    /// empty line.
    EmptyLine,
    /// A line begins with a number, as in the reply to a read or a search, and no line around the text does.
    Number,
    /// The text begins with an empty line, and the surrounding text is not separated by empty lines.
    BlankFirst,
    /// The text ends with an empty line, and the surrounding text is not separated by empty lines.
    BlankLast,
    /// The first lines of the text repeat the lines above its place, or the last ones repeat the lines below
    /// it.
    Repeats {
        /// Whether the lines above are repeated.
        is_above: bool,
    },
    /// The text has more lines than it replaces, and the surplus is like the lines below, which stay.
    RangeTooShort {
        /// The number of surplus lines.
        surplus: u64,
    },
    /// The text begins with blanks, and follows blanks of the file.
    IndentedTwice {
        /// The blanks of the file.
        of_file: Blanks,
        /// The blanks of the text, or, if lines are deleted, of the line that takes their place.
        of_text: Blanks,
        /// Whether `of_text` is of the line that takes the place of deleted lines.
        is_of_next: bool,
    },
    /// The lines are indented differently from the lines that they replace, or from the lines around them.
    Indentation {
        /// The blanks of the first such line in the file.
        of_file: Blanks,
        /// The blanks of the line of the text.
        of_text: Blanks,
    },
    /// The first or the last line is a fence, a tag or a mark of the message that contained the text.
    Mark,
    /// Line ends, tabs or other characters are written as escapes.
    Escaped,
    /// The text is a JSON array of lines.
    List,
    /// A line loses trailing blanks that have a meaning in a file of this kind, and that the request did not
    /// quote.
    LostBlanks,
    /// The line that followed the old text now continues the last line of the new text.
    Joined,
    /// The rest of the line in which the old text ended now follows other lines.
    Torn,
    /// A line seems to stand for lines that were left out.
    Placeholder,
    /// The first line of a script names its interpreter, and ends with a CR.
    ScriptEnds,
}

impl Slip {
    /// Whether the text is hardly ever intended.
    #[must_use]
    pub fn is_certain(self) -> bool {
        matches!(self, Self::Numbers | Self::EmptyLine)
    }
}

/// A slip, and where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The slip.
    pub slip: Slip,
    /// The index of its line, from 0, in the new text.
    pub line: u64,
}

/// A slip in the new file, after an edit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportedSlip {
    /// The slip.
    pub slip: Slip,
    /// The line of the slip in the new file; the first such line, if there are several.
    pub line: LineNumber,
    /// The number of further lines with the same kind of slip.
    pub more: u64,
}

/// The numbers of spaces and tabs in a run of blanks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blanks {
    /// The number of spaces.
    pub spaces: u64,
    /// The number of tabs.
    pub tabs: u64,
}

impl Blanks {
    /// Counts the blanks of a text; `None` if it has other characters, or is empty.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut blanks = Self::default();
        for character in text.chars() {
            match character {
                ' ' => blanks.spaces += 1,
                '\t' => blanks.tabs += 1,
                _ => return None,
            }
        }
        (!text.is_empty()).then_some(blanks)
    }

    /// Returns the number of spaces and tabs together.
    #[must_use]
    pub fn count(self) -> u64 {
        self.spaces + self.tabs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_counted_by_kind_and_together() {
        for (text, spaces, tabs) in [(" ", 1, 0), ("\t", 0, 1), ("  \t ", 3, 1)] {
            let blanks = Blanks::of(text).unwrap();
            assert_eq!(
                (blanks.spaces, blanks.tabs, blanks.count()),
                (spaces, tabs, spaces + tabs),
                "{text:?}"
            );
        }
        assert_eq!(["", "a", " a", "\u{a0}"].map(Blanks::of), [None; 4]);
    }
}
