//! Causes, in words.

use mcp_text_editor_core::cause::{Cause, Side};

/// Says why a match failed, as a clause. What differs is named with the side that has it.
pub(super) fn words(cause: Cause) -> &'static str {
    use Side::{File, Requested};
    match cause {
        Cause::Gutter => "old_string has the line numbers that reads show",
        Cause::Fence => "old_string has a Markdown fence that the file lacks there",
        Cause::FileName => "old_string has the name of a file above the text",
        Cause::PatchMark => {
            "old_string has a mark of a patch (<<<<<<<, =======, @@) that the file lacks there"
        }
        Cause::BlankLines => "old_string begins or ends with a blank line that the file lacks there",
        Cause::Repeated => "a line of old_string is there twice",
        Cause::CarriageReturn => "the file has a CR inside a line, which no text of a call may have",
        Cause::SpelledOutEscapes => "old_string spells out (\\n, \\t, \\\") what the file has as such",
        Cause::EscapesInFile => "the file spells out (\\n, \\t) what old_string has as such",
        Cause::DoubledBackslashes(Requested) => "old_string has more backslashes than the file",
        Cause::DoubledBackslashes(File) => "the file has more backslashes than old_string",
        Cause::HtmlEntities(Requested) => {
            "old_string has HTML entities (&lt;) where the file has the characters"
        }
        Cause::HtmlEntities(File) => "the file has HTML entities (&lt;) where old_string has the characters",
        Cause::Composition(Requested) => {
            "accents are characters of their own (NFD) in old_string, composed (NFC) in the file"
        }
        Cause::Composition(File) => {
            "accents are characters of their own (NFD) in the file, composed (NFC) in old_string"
        }
        Cause::Invisible(Requested) => "old_string has invisible characters that the file lacks",
        Cause::Invisible(File) => "the file has invisible characters that old_string lacks",
        Cause::NoBreakSpace(Requested) => "old_string has no-break spaces where the file has plain ones",
        Cause::NoBreakSpace(File) => "the file has no-break spaces where old_string has plain ones",
        Cause::TypographicQuotes(Requested) => {
            "old_string has typographic quotes where the file has plain ones"
        }
        Cause::TypographicQuotes(File) => "the file has typographic quotes where old_string has plain ones",
        Cause::Dashes(Requested) => "old_string has other dashes or dots (–, —, …) than the file (-, ...)",
        Cause::Dashes(File) => "the file has other dashes or dots (–, —, …) than old_string (-, ...)",
        Cause::TabsAgainstSpaces(Requested) => "old_string has tabs where the file has spaces",
        Cause::TabsAgainstSpaces(File) => "the file has tabs where old_string has spaces",
        Cause::Indentation => "the indentation differs",
        Cause::InnerBlanks => "the blanks inside of lines differ",
        Cause::LetterCase => "upper and lower case differ",
        Cause::LineBreaks => "the lines are broken in other places",
        Cause::TrailingWhitespace => "only spaces or tabs at line ends differ, where they count",
        Cause::RangeTooLong => "the range has more lines than old_string",
        Cause::RangeTooShort => "the range has fewer lines than old_string",
        Cause::CutShort => "old_string ends in the middle of the last line",
        Cause::Elided => "a line of `...` stands for text that was left out",
        Cause::LeftOut => "lines that stand there were left out",
    }
}
