//! Line numbers in front of lines, as programs show them.

/// Splits a line into the number in front of a tab, `→`, `|` or `:` and the text after it; a number alone is
/// the gutter of an empty line.
fn gutter(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(' ');
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = line.split_at_checked(digits).filter(|(number, _)| !number.is_empty())?;
    if let Some(text) = rest.strip_prefix(['\t', '→']) {
        return Some((number, text));
    }
    let spaced = rest.trim_start_matches(' ').strip_prefix(['|', ':', '│']);
    match spaced {
        Some(text) => Some((number, text.strip_prefix(' ').unwrap_or(text))),
        None => rest.trim_end_matches(' ').is_empty().then_some((number, "")),
    }
}

/// Returns the lines without their gutters; `None` unless every line has one, and some line has text behind
/// it. Where there are numbers alone, these are the text.
pub(super) fn without_gutter(text: &str) -> Option<String> {
    let lines: Option<Vec<_>> = text.split('\n').map(|line| gutter(line).map(|(_, text)| text)).collect();
    lines.filter(|lines| lines.iter().any(|line| !line.is_empty())).map(|lines| lines.join("\n"))
}

/// Tells whether every line has a gutter, and the numbers count up.
pub(super) fn counts_up(text: &str) -> bool {
    let mut next = None;
    text.split('\n').all(|line| {
        let number = gutter(line).and_then(|(number, _)| number.parse::<u64>().ok());
        let fits = number.is_some() && (next.is_none() || next == number);
        next = number.and_then(|number| number.checked_add(1));
        fits
    })
}
