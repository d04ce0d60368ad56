//! Defines the causes of a failed match.

/// The text that has what the other one lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The text of the file.
    File,
    /// The text of the request.
    Requested,
}

/// The reason why a wanted text is not the text that stands there.
///
/// Exhaustive, as [`Rejection`](crate::rejection::Rejection) is and for the same reason: each needs words. A
/// new one is a breaking change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Every wanted line begins with a line number and a tab (or `→`, `|`, `:`), as programs show lines.
    Gutter,
    /// A Markdown fence stands around the wanted text, or a line of one above or below it.
    Fence,
    /// The name of a file stands above the wanted text.
    FileName,
    /// A mark of a patch stands above or below the wanted text, such as `<<<<<<< SEARCH`, `=======` or `@@`.
    PatchMark,
    /// The wanted text begins or ends with a blank line too many.
    BlankLines,
    /// A wanted line is there twice.
    Repeated,
    /// The file has a CR inside a line, which no wanted text has.
    CarriageReturn,
    /// The wanted text spells out a line end, a tab, a quote or another character (`\n`, `\t`, `\"`,
    /// `\u2014`) that the file has itself.
    SpelledOutEscapes,
    /// The file spells out a line end, a tab or another character that the wanted text has itself.
    EscapesInFile,
    /// One side has more backslashes than the other in the same places: `\\d` where the other has `\d`.
    DoubledBackslashes(Side),
    /// One side has HTML entities (`&lt;`) where the other has the characters.
    HtmlEntities(Side),
    /// The same characters, composed in another way: one side has an accent of its own (`e` + U+0301) where
    /// the other has `é`.
    Composition(Side),
    /// One side has characters that nobody sees, such as U+200B or U+FEFF.
    Invisible(Side),
    /// One side has no-break or other wide or narrow spaces where the other has plain ones.
    NoBreakSpace(Side),
    /// One side has typographic quotes where the other has straight ones.
    TypographicQuotes(Side),
    /// One side has a typographic dash (or several hyphens), or `…`, where the other has a hyphen, or three
    /// dots.
    Dashes(Side),
    /// One side has tabs where the other has spaces.
    TabsAgainstSpaces(Side),
    /// The blanks at the beginning of lines differ.
    Indentation,
    /// The blanks inside of lines differ.
    InnerBlanks,
    /// Upper and lower case differ.
    LetterCase,
    /// The lines are broken in other places; brackets may have a comma before them on one side.
    LineBreaks,
    /// The blanks at the end of lines differ; a failure only where the match must be exact.
    TrailingWhitespace,
    /// The wanted lines stand there, among others.
    RangeTooLong,
    /// The wanted text has all lines that stand there, and more around them.
    RangeTooShort,
    /// The last wanted line is only the beginning of the line that stands there.
    CutShort,
    /// A wanted line such as `...` or `// ... existing code ...` stands for lines that were left out.
    Elided,
    /// Lines that stand there were left out of the wanted text, and nothing marks the place.
    LeftOut,
}

impl Cause {
    /// Tells whether the cause is lines at the ends of the wanted text that are not the file's.
    #[must_use]
    pub fn is_at_ends(self) -> bool {
        matches!(self, Self::Fence | Self::FileName | Self::PatchMark | Self::BlankLines)
    }

    /// Tells whether it is a slip in writing: undoing it makes all lines alike, and none is missing or too
    /// many.
    #[must_use]
    pub fn is_slip(self) -> bool {
        !matches!(
            self,
            Self::RangeTooLong | Self::RangeTooShort | Self::CutShort | Self::Elided | Self::LeftOut
        )
    }
}
