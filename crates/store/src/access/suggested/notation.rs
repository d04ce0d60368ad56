//! Converts paths from notations that no system call accepts: in quotes, padded with blanks, as `file://`
//! URLs, or with a leading `~/`. Reads no files.

use std::path::{Component, Path, PathBuf};

/// The maximum number of nested notations, as in `" 'file://…' "`.
const MAX_DEPTH: u32 = 4;

/// The pairs of characters that may enclose a path.
const QUOTES: [(char, char); 6] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('<', '>')];

/// Returns the paths that a text can mean once its notation is undone, the likeliest first; empty if none of
/// them can name a file.
///
/// `~/a` can mean `a` in the home directory, if that is known, and also the relative path `a`. A path with a
/// `..` component or a U+0000 is left out.
pub(super) fn readings(text: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let mut text = text.to_owned();
    for _ in 0..MAX_DEPTH {
        let Some(plain) = plainer(&text) else { break };
        text = plain;
    }
    let readings = match text.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)).into_iter().chain([PathBuf::from(rest)]).collect(),
        None => vec![PathBuf::from(text)],
    };
    readings.into_iter().filter(|reading| names_a_file(reading)).collect()
}

/// Whether a path can name a file, judged by its text alone.
fn names_a_file(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_plain = |part: Component<'_>| part != Component::ParentDir;
    path.file_name().is_some()
        && !bytes.contains(&0)
        && !bytes.last().is_some_and(|byte| std::path::is_separator(char::from(*byte)))
        && path.components().all(is_plain)
}

/// Undoes one notation; `None` if the text has none.
fn plainer(text: &str) -> Option<String> {
    let quoted = || QUOTES.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    let plain = Some(text.trim()).filter(|trimmed| trimmed.len() < text.len()).or_else(quoted);
    plain.map(str::to_owned).or_else(|| of_url(text)).or_else(|| of_windows(text))
}

/// Converts a path with backslashes, such as `src\a` or the WSL path `\\wsl.localhost\Ubuntu\home\a`, to a
/// path of this system; `None` for other text.
fn of_windows(text: &str) -> Option<String> {
    let names = text.strip_prefix(r"\\wsl.localhost\").or_else(|| text.strip_prefix(r"\\wsl$\"));
    let path = names.map_or(Some(text), |names| names.find(['\\', '/']).and_then(|at| names.get(at..)))?;
    (!cfg!(windows) && text.contains('\\')).then(|| path.replace('\\', "/"))
}

/// Decodes the path of a `file` URL (RFC 8089); `None` for other text, and if the path is not UTF-8.
///
/// A host other than `localhost` counts as the first component of the path: models forget the third slash.
fn of_url(text: &str) -> Option<String> {
    let (_, rest) = text.split_at_checked(5).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("file:"))?;
    let local = rest.strip_prefix("//localhost").filter(|path| path.starts_with('/'));
    let path = percent_decoded(local.or(rest.strip_prefix("//")).unwrap_or(rest))?;
    // In a URL, a Windows path is written `/C:/…`.
    let drive = path.strip_prefix('/').filter(|rest| cfg!(windows) && rest.as_bytes().get(1) == Some(&b':'));
    Some(drive.map_or_else(|| path.clone(), str::to_owned))
}

/// Replaces each `%XX` by its byte. A `%` without two hexadecimal digits stands for itself. `None` if the
/// result is not UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut decoded = parts.next()?.as_bytes().to_owned();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(b'%'));
        decoded.extend(part.bytes().skip(if byte.is_some() { 2 } else { 0 }));
    }
    String::from_utf8(decoded).ok()
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
        if !cfg!(windows) {
            check(r"\\wsl.localhost\Ubuntu/home\my a\b", &["/home/my a/b"]);
            check(r"\\wsl$\Ubuntu\home\b", &["/home/b"]);
            check(r"\\wsl$\Ubuntu/home/b", &["/home/b"]);
            check(r"src\a.rs", &["src/a.rs"]);
        }
        check("file:///a%2", &["/a%2"]);
        check("file:///%e4%B8%ad", &["/中"]);
        // No call can name a path that is not UTF-8.
        check("file:///%ff", &["file:///%ff"]);
        for none in ["", " ", "''", "a/../b", "~/..", "file:///a%00", "file:///%2e%2e/a", "/a/", "/", "~/"] {
            check(none, &[]);
        }
    }
}
