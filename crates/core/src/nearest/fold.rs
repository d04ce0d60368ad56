//! Makes lines ready to be compared: folds them, and cuts them to their heads.

use crate::cause;

/// The most bytes of a line that are compared.
pub(super) const LINE_BYTES: usize = 2000;

/// The most characters of a line that the second stage compares, where there is more than one line.
const COMPARED_CHARS: usize = 200;

/// Returns how many characters of each line are compared where the wanted text has `lines` lines. More for a
/// single line, which may be a sentence in the middle of a paragraph.
pub(super) fn compared_chars(lines: usize) -> usize {
    if lines == 1 { LINE_BYTES } else { COMPARED_CHARS }
}

/// Returns the head of a text, at most `bytes` bytes, cut between characters.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// Replaces what is in `folded` by the line as it is compared: in lower case, with straight quotes, plain
/// spaces and plain hyphens, never two blanks in a row, and with a blank at either end. At most `most`
/// characters and these blanks.
pub(super) fn fold(line: &str, most: usize, folded: &mut Vec<char>) {
    folded.clear();
    folded.push(' ');
    for c in line.chars() {
        let c = match c {
            c if c.is_ascii() => c.to_ascii_lowercase(),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
            c => c.to_lowercase().next().map_or(c, cause::straight),
        };
        if folded.len() > most {
            break;
        }
        if !c.is_whitespace() {
            folded.push(c);
        } else if folded.last() != Some(&' ') {
            folded.push(' ');
        }
    }
    if folded.last() != Some(&' ') {
        folded.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_characters_are_kept_and_the_blanks_around_them() {
        for (line, most, expected) in [
            ("abcdef", 4, " abcd "),
            ("abcd", 4, " abcd "),
            ("  ab \t cdef", 4, " ab c "),
            ("abc def", 4, " abc "),
            ("A\u{2014}\u{201c}Ä", 9, " a-\"ä "),
            ("abc", 0, " "),
            ("", 4, " "),
        ] {
            let mut folded = vec!['x'];
            fold(line, most, &mut folded);
            assert_eq!(folded.iter().collect::<String>(), expected, "{line:?}, {most}");
        }
    }
}
