//! Escapes foreign text for replies: characters that break lines, or are invisible, are spelled out.
//!
//! Formats paths for replies. A call can name a path that is UTF-8 as a reply shows it. No call can name a
//! path that is not UTF-8. Such a path is never shown with U+FFFD in place of bytes, because that would be
//! the path of another file.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

use mcp_text_editor_core::invisible::is_default_ignorable;
use mcp_text_editor_store::Workspace;
use serde_json::Value;

/// Returns text on one line: characters that break lines, or are invisible, are spelled out as in JSON. So a
/// path can forge neither a line of a reply nor another path.
pub(crate) fn on_one_line(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            unseen if is_unseen(unseen) => spell_out(unseen, &mut out),
            seen => out.push(seen),
        }
    }
    out
}

/// Returns text of several lines for a terminal: characters that could control the terminal, or are
/// invisible, are spelled out; line ends and tabs stay.
pub(crate) fn on_lines(text: &str) -> String {
    let escaped = |part: &str| part.split('\t').map(on_one_line).collect::<Vec<_>>().join("\t");
    text.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
}

/// Returns a path for a place without other text beside it: unchanged or, if a character must be spelled out,
/// as a JSON string, which a call can contain unchanged.
pub(crate) fn path_by_itself(path: &str) -> Cow<'_, str> {
    if !is_plain(path) && path.chars().any(is_unseen) { quoted(path).into() } else { path.into() }
}

/// Returns a path for a line in which a mark and a line number follow the path: like [`path_by_itself`], but
/// also as a JSON string if the path itself contains one of `marks` and a number, which could be mistaken for
/// them.
pub(crate) fn path_before_number<'p>(path: &'p str, marks: &[char]) -> Cow<'p, str> {
    if marks.iter().any(|mark| holds_number(path, *mark)) {
        quoted(path).into()
    } else {
        path_by_itself(path)
    }
}

/// Returns a path for a note that lists several paths: like [`path_by_itself`], but also as a JSON string if
/// the path contains a character that ends a path in the note.
pub(crate) fn path_among_others(path: &str) -> Cow<'_, str> {
    if path.contains([',', ';', ']']) { quoted(path).into() } else { path_by_itself(path) }
}

fn quoted(path: &str) -> String {
    json_text(&Value::from(path))
}

/// Tells whether a path contains the mark and a line number, followed by the mark again or by the end of the
/// path.
fn holds_number(path: &str, mark: char) -> bool {
    let is_number = |part: &str| {
        part.starts_with(|first: char| matches!(first, '1'..='9'))
            && part.bytes().all(|digit| digit.is_ascii_digit())
    };
    path.split(mark).skip(1).any(is_number)
}

/// Returns a value as JSON text with invisible characters spelled out. The text parses to the same value.
pub(crate) fn json_text(value: &Value) -> String {
    let text = value.to_string();
    if text.is_ascii() || !text.chars().any(is_unseen) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        // JSON has only ASCII outside of strings.
        if is_unseen(character) { spell_out(character, &mut out) } else { out.push(character) }
    }
    out
}

/// Tells whether a text is only visible ASCII, as nearly every path is. Is called for each path of each
/// reply, so it must be fast.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Tells whether a reader cannot type a character, because it cannot be seen, or not be distinguished from a
/// plain one. Such a character ends a line, is invisible, is a space other than U+0020, is a combining mark
/// that composes (U+0300 to U+036F), or changes the order in which other characters are shown. Among these
/// are the interlinear annotations U+FFF9 to U+FFFB, and Unicode's `Default_Ignorable_Code_Point`, which has
/// all characters that set directions. Some belong to legitimate names (a joiner in Persian, or in an emoji).
/// A call can contain them as they are spelled out.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || is_default_ignorable(character)
        || character.is_whitespace() && character != ' '
        || matches!(character, '\u{300}'..='\u{36f}' | '\u{fff9}'..='\u{fffb}')
}

/// Returns how a character that nobody can type is spelled; `None` for any other, and for a tab.
pub(crate) fn unseen(character: char) -> Option<String> {
    let mut out = String::new();
    spell_out(character, &mut out);
    (is_unseen(character) && character != '\t').then_some(out)
}

fn spell_out(character: char, out: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// Returns a path for a sentence. If the path is not UTF-8, its other bytes are spelled out: `caf\xE9`. The
/// prefix `\\?\` of Windows is left out, since people do not write it.
pub(crate) fn shown(path: &Path) -> String {
    match path.to_str() {
        Some(path) if cfg!(windows) => match (path.strip_prefix(r"\\?\UNC\"), path.strip_prefix(r"\\?\")) {
            (Some(share), _) => format!(r"\\{share}"),
            (None, Some(plain)) => plain.to_owned(),
            (None, None) => path.to_owned(),
        },
        Some(path) => path.to_owned(),
        None => path.as_os_str().as_encoded_bytes().utf8_chunks().fold(String::new(), |mut out, chunk| {
            out.push_str(chunk.valid());
            out.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
            out
        }),
    }
}

/// Returns paths for a sentence, with commas between them.
pub(crate) fn list(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> String {
    let paths: Vec<String> = paths.into_iter().map(|path| shown(path.as_ref())).collect();
    paths.join(", ")
}

/// Returns the allowed directories that a call can name.
pub(crate) fn namable(workspace: &Workspace) -> Vec<&str> {
    workspace.roots().filter_map(Path::to_str).collect()
}

/// Names the allowed directories as the end of a sentence, after `lead`.
pub(crate) fn allowed(lead: &str, workspace: &Workspace) -> String {
    let named = namable(workspace);
    let rest = match (workspace.roots().count() - named.len(), named.is_empty()) {
        (0, _) => String::new(),
        (_, true) => {
            return "no call can name an allowed directory: their paths are not UTF-8, and a person has to rename them"
                .to_owned();
        }
        (1, false) => " (and one whose path is not UTF-8, so that no call can name it)".to_owned(),
        (more, false) => format!(" (and {more} whose paths are not UTF-8, so that no call can name them)"),
    };
    format!("{lead} {}{rest}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_seen_is_spelled_out() {
        assert_eq!(on_one_line("a\n\t\u{1b}\u{202e}\u{e0001}é"), r"a\n\t\u001b\u202e\udb40\udc01é");
        assert_eq!(on_lines("a\n\t\u{1b}[8m\r\u{202e}\u{9b}é\n"), "a\n\t\\u001b[8m\\r\\u202e\\u009bé\n");
        assert_eq!(path_by_itself("/a/é \"b\".txt"), "/a/é \"b\".txt");
        assert_eq!(path_by_itself("/a/\u{202e}\"b\".txt"), r#""/a/\u202e\"b\".txt""#);
    }

    #[test]
    fn a_number_in_a_path_is_not_that_of_a_line() {
        let check = |path: &str, marks: &[char]| path_before_number(path, marks).into_owned();
        for plain in ["/a:x", "/a:03:x", "/a:3x:", "/2024-01-02.md", "/a:", "C:\\a", "/a:-1:"] {
            assert_eq!(check(plain, &[':', '-']), plain);
        }
        assert_eq!(check("/a:3:x", &[':']), r#""/a:3:x""#);
        assert_eq!(check("/a:3", &[':']), r#""/a:3""#);
        assert_eq!(
            (check("/a-3-x", &[':']), check("/a-3-x", &[':', '-'])),
            ("/a-3-x".into(), r#""/a-3-x""#.into())
        );
        assert_eq!(
            (path_among_others("/a, b"), path_among_others("/a b")),
            (r#""/a, b""#.into(), "/a b".into())
        );
    }

    #[test]
    fn json_stays_the_same_value() {
        let all: String = ('\0'..=char::MAX).filter(|character| is_unseen(*character)).collect();
        let value = json!({ "é": all });
        let text = json_text(&value);
        assert!(!text.chars().any(is_unseen), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
