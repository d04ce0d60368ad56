//! Characters that are spelled out as a backslash and a letter, and backslashes that are doubled.

use std::borrow::Cow;

use super::kind::{Cause, Side};

/// Tells whether a text of one line spells out `\n` where lines would end: outside of quotes, where programs
/// have it, with other text behind it, and not among backslashes that mean something else (a path, a
/// pattern).
pub(super) fn spells_line_ends(text: &str) -> bool {
    let escaped = |part: &str| part.starts_with(['n', 't', 'r', '"', '\'']);
    if text.contains('\n') || !text.split('\\').skip(1).all(escaped) {
        return false;
    }
    let mut quoted = [false; 3];
    let mut parts = text.split("\\n").peekable();
    while let Some(part) = parts.next() {
        for (open, quote) in quoted.iter_mut().zip(['"', '\'', '`']) {
            *open ^= part.matches(quote).count() % 2 == 1;
        }
        let ends_a_line = parts.peek().is_some_and(|next| !next.trim_start().is_empty());
        if ends_a_line && quoted == [false; 3] {
            return true;
        }
    }
    false
}

/// Returns `text` with the characters that `\n`, `\r\n` and `\t` mean, without its last line end. An escaped
/// backslash stays as it is, and so does what follows it.
pub(super) fn unescaped(text: &str) -> String {
    let mut undone = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        undone.push_str(before);
        let (meant, length) = match after.as_bytes() {
            [b'n', ..] => ("\n", 1),
            [b'r', b'\\', b'n', ..] => ("\n", 3),
            [b't', ..] => ("\t", 1),
            [b'\\', ..] => ("\\\\", 1),
            _ => ("\\", 0),
        };
        undone.push_str(meant);
        rest = after.get(length..).unwrap_or_default();
    }
    undone.push_str(rest);
    if undone.ends_with('\n') {
        undone.pop();
    }
    undone
}

/// Undoes escapes on either side alike: whatever is spelled out, with however many backslashes, becomes the
/// character that it means, and all other backslashes go.
pub(super) fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut undone = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        undone.push_str(before);
        let after = after.trim_start_matches('\\');
        let (meant, length) = match after.as_bytes() {
            [b'n', ..] => (Some('\n'), 1),
            [b't', ..] => (Some('\t'), 1),
            // The line feed is spelled out behind it, or stands there.
            [b'r', b'\\' | b'\n', ..] | [b'r'] => (None, 1),
            [b'u', ..] => unicode(after).map_or((None, 0), |(meant, length)| (Some(meant), length)),
            _ => (None, 0),
        };
        undone.extend(meant);
        rest = after.get(length..).unwrap_or_default();
    }
    undone.push_str(rest);
    Cow::Owned(undone)
}

/// Reads `u2014` or `u{2014}`: the character, and how many bytes spell it.
fn unicode(text: &str) -> Option<(char, usize)> {
    let (digits, length) = match text.strip_prefix("u{") {
        Some(braced) => {
            let digits = braced.split_once('}')?.0;
            (digits, digits.len() + 3)
        }
        None => (text.get(1..5)?, 5),
    };
    let is_hex = digits.len() <= 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    char::from_u32(code).filter(|meant| !meant.is_control()).map(|meant| (meant, length))
}

/// Names the cause where undoing escapes makes two texts alike. Where both have as many backslashes, the file
/// is said to spell something out.
pub(super) fn named(wanted: &str, actual: &str) -> Cause {
    let count = |text: &str, of: char| text.chars().filter(|c| *c == of).count();
    let [in_wanted, in_file] = [wanted, actual].map(|text| count(text, '\\'));
    // Backslashes alone differ where both sides have as many line ends, tabs and other characters.
    let rest = |text: &str| text.chars().filter(|c| *c != '\\').count();
    let only_backslashes =
        in_wanted != in_file && rest(wanted) == rest(actual) && count(wanted, '\n') == count(actual, '\n');
    match (in_wanted > in_file, only_backslashes) {
        // A quote is spelled out as a backslash and the quote, so that backslashes alone differ there, too.
        (true, true) if in_file == 0 => Cause::SpelledOutEscapes,
        (true, true) => Cause::DoubledBackslashes(Side::Requested),
        (false, true) => Cause::DoubledBackslashes(Side::File),
        (true, false) => Cause::SpelledOutEscapes,
        (false, false) => Cause::EscapesInFile,
    }
}
