//! Paths in a notation that no system call takes: in quotes, padded with blanks, as `file://` URLs, or from
//! `~` on. Pure.

use std::path::{Component, Path, PathBuf};

/// The most notations that may be nested, as in `" 'file://…' "`.
const DEPTH: u32 = 4;

/// The pairs of characters that may enclose a path.
const QUOTES: [(char, char); 6] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('<', '>')];

/// Returns the paths that a text can mean once its notation is undone, the likeliest first; none if no
/// reading names a file.
///
/// What follows `~/` is read from the home directory on, if that is known, and also as a relative path. A
/// reading with a `..` component or a U+0000 is dropped.
pub(super) fn readings(text: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let mut text = text.to_owned();
    for _ in 0..DEPTH {
        let Some(plain) = plainer(&text) else { break };
        text = plain;
    }
    let readings = match text.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)).into_iter().chain([PathBuf::from(rest)]).collect(),
        None => vec![PathBuf::from(text)],
    };
    readings.into_iter().filter(|reading| names_a_file(reading)).collect()
}

/// Tells whether a path can be that of a file, by its text.
pub(super) fn names_a_file(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_plain = |part: Component<'_>| part != Component::ParentDir;
    path.file_name().is_some()
        && !bytes.contains(&0)
        && !bytes.last().is_some_and(|byte| std::path::is_separator(char::from(*byte)))
        && path.components().all(is_plain)
}

/// Returns the text with one notation undone; `None` if it has none.
fn plainer(text: &str) -> Option<String> {
    let trimmed = text.trim();
    if trimmed.len() < text.len() {
        return Some(trimmed.to_owned());
    }
    let quoted = QUOTES.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    quoted.map(str::to_owned).or_else(|| of_url(text))
}

/// Returns the path of a `file` URL (RFC 8089) with its percent-encoding undone; `None` for other text, and
/// if the path is no UTF-8.
///
/// A host other than `localhost` counts as the first name of the path: models write it when they forget the
/// third slash.
fn of_url(text: &str) -> Option<String> {
    let scheme = text.get(..5)?;
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    let rest = text.get(5..)?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(rest),
        None => rest,
    };
    let path = percent_decoded(path)?;
    // In a URL, a Windows path is written `/C:/…`.
    let drive = path.strip_prefix('/').filter(|rest| cfg!(windows) && rest.as_bytes().get(1) == Some(&b':'));
    Some(drive.map_or_else(|| path.clone(), str::to_owned))
}

/// Returns the text with each `%XX` as its byte; a `%` without two digits stands for itself.
fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let byte = match after {
            [high, low, ..] if *first == b'%' => hex_digit(*high).zip(hex_digit(*low)),
            _ => None,
        };
        let (byte, taken) = byte.map_or((*first, 1), |(high, low)| (high * 16 + low, 3));
        decoded.push(byte);
        rest = rest.get(taken..).unwrap_or_default();
    }
    String::from_utf8(decoded).ok()
}

fn hex_digit(digit: u8) -> Option<u8> {
    u8::try_from(char::from(digit).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_notation_says() {
        let check = |text: &str, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(readings(text, Some(Path::new("/home/ada"))), expected, "{text:?}");
        };
        check("/a/b", &["/a/b"]);
        check("a/b", &["a/b"]);
        check(" /a/b\n", &["/a/b"]);
        check("\t'/a b'", &["/a b"]);
        check("\"/a/b\"", &["/a/b"]);
        check("`a/b`", &["a/b"]);
        check("“/a/b”", &["/a/b"]);
        check("</a/b>", &["/a/b"]);
        check("'/a/b", &["'/a/b"]);
        check("\" `file:///a` \"", &["/a"]);
        check("~/a/b", &["/home/ada/a/b", "a/b"]);
        check("'~/a'", &["/home/ada/a", "a"]);
        check("~", &["~"]);
        check("~ada/a", &["~ada/a"]);
        check("file:///a/b%20c", &["/a/b c"]);
        check("FILE://localhost/a", &["/a"]);
        check("file:/a", &["/a"]);
        check("file:///c:/a", &[if cfg!(windows) { "c:/a" } else { "/c:/a" }]);
        check("file://src/a.rs", &["src/a.rs"]);
        check("file://localhosts/a", &["localhosts/a"]);
        check("file:///a%2", &["/a%2"]);
        check("file:///%e4%B8%ad", &["/中"]);
        // Not UTF-8: no path that a call can name.
        check("file:///%ff", &["file:///%ff"]);
        for none in ["", " ", "''", "a/../b", "~/..", "file:///a%00", "file:///%2e%2e/a", "/a/", "/", "~/"] {
            check(none, &[]);
        }
    }
}
