//! Recognises line numbers that reads, searches and other programs show before lines: [`numbered`].

/// A line that begins with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NumberedLine<'a> {
    pub(crate) number: u64,
    pub(crate) before: NumberColumn<'a>,
    /// The text after the number and its sign. The number of an empty line may have no sign.
    pub(crate) text: &'a str,
}

/// The form of a line number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumberColumn<'a> {
    /// `12⇥text`, or with an arrow.
    Tab,
    /// `12|text`, `12: text`, `12#a1:text` (a hash of the line), perhaps behind an `L`.
    Sign,
    /// `PATH:12:text`.
    Path(&'a str),
    /// `12` and nothing else.
    Alone,
}

/// Reads the number at the beginning of a line; `None` if there is none.
pub(crate) fn numbered(line: &str) -> Option<NumberedLine<'_>> {
    const MAX_DIGITS: usize = 7;
    let is_digit = |c: char| c.is_ascii_digit();
    let start = line.trim_start_matches(' ');
    let start = start.strip_prefix('L').unwrap_or(start);
    let (path, start) = if start.starts_with(is_digit) {
        (None, start)
    } else {
        let mut colons = line.match_indices(':').filter_map(|(at, _)| line.split_at_checked(at));
        let (path, rest) =
            colons.find(|(_, rest)| rest.get(1..).is_some_and(|rest| rest.starts_with(is_digit)))?;
        (Some(path), rest.get(1..)?)
    };
    let rest = start.trim_start_matches(is_digit);
    let number =
        start.get(..start.len() - rest.len()).filter(|digits| digits.len() <= MAX_DIGITS)?.parse().ok()?;
    let behind_tab = rest.strip_prefix(['\t', '→']);
    let sign = rest.trim_start_matches(' ');
    let hash =
        sign.strip_prefix('#').map(|hash| hash.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    let behind_sign = hash.unwrap_or(sign).strip_prefix(['|', ':', '│']);
    let behind_sign = behind_sign.map(|text| text.strip_prefix(' ').unwrap_or(text));
    let (before, text) = match (behind_tab, behind_sign) {
        (Some(text), _) => (NumberColumn::Tab, text),
        (None, Some(text)) => (NumberColumn::Sign, text),
        _ => (NumberColumn::Alone, Some("").filter(|_| sign.is_empty())?),
    };
    Some(NumberedLine { number, before: path.map_or(before, NumberColumn::Path), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_programs_show_them() {
        use NumberColumn::{Alone, Path, Sign, Tab};
        for (line, expected) in [
            ("12\ta\tb", Some((12, Tab, "a\tb"))),
            ("   12→a", Some((12, Tab, "a"))),
            ("12|a", Some((12, Sign, "a"))),
            ("12 | a", Some((12, Sign, "a"))),
            ("12:  a", Some((12, Sign, " a"))),
            ("L12: a", Some((12, Sign, "a"))),
            ("12#a1:a", Some((12, Sign, "a"))),
            ("12", Some((12, Alone, ""))),
            ("a b/c.rs:12:a", Some((12, Path("a b/c.rs"), "a"))),
            ("C:\\a.rs:12:a", Some((12, Path("C:\\a.rs"), "a"))),
            ("a.rs:12", Some((12, Path("a.rs"), ""))),
            ("12 a", None),
            ("a: 12: b", None),
            ("a:12,b:12:c", None),
            ("12345678\ta", None),
            ("", None),
        ] {
            let read = numbered(line).map(|line| (line.number, line.before, line.text));
            assert_eq!(read, expected, "{line:?}");
        }
    }
}
