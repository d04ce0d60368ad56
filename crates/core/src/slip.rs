//! Slips in new text, as data: the review that finds them is [`resolve`](crate::resolve)'s, and the words are
//! the caller's.

use crate::line::LineNumber;

/// The kinds of text that a caller knows by a file's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TextKind {
    /// Any other.
    #[default]
    Plain,
    /// Markdown, where two spaces at the end of a line break it.
    Markdown,
    /// Columns between tabs, where tabs at the end of a line are empty columns.
    Tabular,
}

/// A slip in new text. The first two are certain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slip {
    /// Each line begins with its own number, as in a read, and no line around does.
    Numbers,
    /// Only one of old and new text ends in a line end, so that an empty line stays or arises.
    EmptyLine,
    /// A line begins with a number, as in a read or a search, and no line around does.
    Number,
    /// The text begins with an empty line, and nothing around is set apart by one.
    BlankFirst,
    /// The text ends in an empty line, and nothing around is set apart by one.
    BlankLast,
    /// The first lines are those above the place, or the last ones those below it.
    Repeats {
        /// Whether they stand above.
        is_above: bool,
    },
    /// The text has more lines than it replaces, and these are like the lines below, which stay.
    RangeTooShort {
        /// Their number.
        surplus: u64,
    },
    /// The text begins with blanks, and stands behind those of the file.
    IndentedTwice {
        /// The file's.
        of_file: Blanks,
        /// Those of the text; or, where lines go, of the line that now stands there.
        of_text: Blanks,
        /// Whether they are of that line.
        is_of_next: bool,
    },
    /// The lines are indented in another way than those that they replace, or those around them.
    Indentation {
        /// The blanks of the first such line of the file.
        of_file: Blanks,
        /// Those of the line of the text.
        of_text: Blanks,
    },
    /// The first or the last line is a fence, a tag or a mark of the message that brought the text.
    Mark,
    /// Line ends, tabs or signs are spelled out.
    Escaped,
    /// The text is a list of lines, as JSON spells it.
    List,
    /// A line loses blanks at its end that mean something in such a file, and that the request did not quote.
    LostBlanks,
    /// The line that followed the old text goes on behind the new one.
    Joined,
    /// The rest of the line in which the old text ended stands behind other lines now.
    Torn,
    /// A line seems to stand for lines that were left out.
    Placeholder,
    /// The first line of a script names its interpreter with a CR behind it.
    ScriptEnds,
}

impl Slip {
    /// Whether the text can hardly be meant as it is.
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

/// A slip in a file as an edit leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportedSlip {
    /// The slip.
    pub slip: Slip,
    /// Its line in the new file; of several the first.
    pub line: LineNumber,
    /// The number of further places that are like it.
    pub more: u64,
}

/// Spaces and tabs that stand one after the other, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blanks {
    /// The number of spaces.
    pub spaces: u64,
    /// The number of tabs.
    pub tabs: u64,
}

impl Blanks {
    /// Counts a text that has nothing else; `None` if it has, or is empty.
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

    /// Returns how many there are.
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
