//! Resolves a request for new lines at the end of a file.

use super::guard::guarded;
use super::insert::new_lines;
use super::plan::Resolution;
use super::rearrange::{Placing, Position, unguarded};
use crate::digest::DigestPrefix;
use crate::scanned::Scanned;
use crate::slip::TextKind;
use crate::source::Source;

/// Resolves a request to append lines, `contents`, as [`insert`](fn@super::insert) does after the last line.
/// If the file has another digest than expected, the rejection says that the request
/// [holds](crate::rejection::Fit::Holds): the end is the end.
///
/// `file_hash` is the expected digest of the whole file; `None` to expect nothing. `review` is as in
/// [`MatchOptions`](super::MatchOptions). The only errors are those of the source.
pub fn append<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    file_hash: Option<&DigestPrefix>,
    contents: &str,
    review: Option<TextKind>,
) -> Result<Resolution, S::Error> {
    let edit = new_lines(contents, Position::After(file.scan.lines.count()));
    guarded(file, file_hash, unguarded(file, &[edit], Placing::for_new_text(review))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::tests::{scan, told};

    fn check(rows: &[(&str, &str)]) -> String {
        let tell = |(file, contents): &(&str, &str)| {
            let resolution =
                append(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), None, contents, None).unwrap();
            format!("{file:?} -> {}\n", told(file, resolution))
        };
        rows.iter().map(tell).collect::<Vec<_>>().concat()
    }

    #[test]
    fn new_text_has_lines_of_its_own() {
        insta::assert_snapshot!(check(&[
            ("a\n", "x"),
            ("a\n", "x\ny\n"),
            ("a\n", "\n"),
            ("a", "x"),
            ("", "x"),
            ("a\nb\r\n", "x\ny"),
            ("a\r\nb", "x\n"),
            ("a\rb", "x"),
        ]), @r#"
        "a\n" -> "a\nx\n"
        "a\n" -> "a\nx\ny\n"
        "a\n" -> "a\n\n"
        "a" -> "a\nx\n" and ends the last line first
        "" -> "x\n"
        "a\nb\r\n" -> "a\nb\r\nx\r\ny\r\n"
        "a\r\nb" -> "a\r\nb\r\nx\r\n" and ends the last line first
        "a\rb" -> "a\rb\rx\r" and ends the last line first
        "#);
    }
}
