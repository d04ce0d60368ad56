//! Names that mean more than they say: whether a file system could take a name for `.git` or for a client's file. What
//! follows from that is the policy's.
//!
//! A name may lie on a file system that ignores letter case (NTFS, APFS, ext4 with casefold), trailing dots and spaces, and
//! what follows a colon (Windows), or characters that are not seen (HFS+, ext4 with casefold), and that has short names
//! (`GIT~1`). All of that is looked for everywhere, as git does (`verify_path`, its `utf8.c` and `path.c`): the directory
//! may be shared with another system.

use std::ffi::OsStr;
use std::path::Path;

/// Whether a name could be taken for `.git`.
pub(crate) fn is_git(name: &OsStr) -> bool {
    let name = folded(name);
    name == ".git" || is_short(&name, "git", "")
}

/// Whether a path could be taken for that of a file by which an MCP client is told what to start.
pub(crate) fn is_client_file(path: &Path) -> bool {
    let mut names = path.iter().rev().map(folded);
    let (Some(name), parent) = (names.next(), names.next().unwrap_or_default()) else { return false };
    let is_mcp = |name: &str| name == "mcp.json" || is_short(name, "mcp", ".jso");
    let is_editor = parent == ".cursor" || parent == ".vscode";
    name == ".mcp.json"
        || is_short(&name, "mcp", ".jso")
        || ((is_editor || is_short(&parent, "cursor", "") || is_short(&parent, "vscode", ""))
            && is_mcp(&name))
}

/// Whether two names are one where letter case, and what is not seen, does not count.
pub(crate) fn same_name(one: &OsStr, other: &OsStr) -> bool {
    one == other || folded(one) == folded(other)
}

/// The short name (8.3) that Windows gives, with any number.
fn is_short(name: &str, stem: &str, extension: &str) -> bool {
    let rest = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('~'));
    let number = rest.and_then(|rest| rest.strip_suffix(extension)).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// A name as the most careless of file systems reads it.
fn folded(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    let seen = name.chars().filter(|character| !is_ignorable(*character)).map(|character| match character {
        // The one character that folds to a letter of our names and is not lower case of its own.
        '\u{17f}' => 's',
        other => other.to_lowercase().next().unwrap_or(other),
    });
    let mut seen: String = seen.collect();
    // A stream of a file, `.git::$INDEX_ALLOCATION`; a leading colon is no stream's.
    if let Some(colon) = seen.find(':').filter(|colon| *colon > 0) {
        seen.truncate(colon);
    }
    let length = seen.trim_end_matches(['.', ' ']).len();
    seen.truncate(length);
    seen
}

/// `Default_Ignorable_Code_Point` of Unicode, which case-folding file systems pass over; HFS+ passes over some of them.
fn is_ignorable(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_taken_for_git() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            ".git.",
            ".git. .",
            ".git ",
            ".gi\u{200c}t",
            "\u{feff}.git",
            ".g\u{ad}it",
            "git~1",
            "GIT~27",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            ".git .:x",
        ] {
            assert!(is_git(name.as_ref()), "{name:?}");
        }
        for name in [
            "git",
            ".gitignore",
            ".github",
            ".git_",
            "a.git",
            "git~",
            "git~x",
            "git~1x",
            "",
            ".",
            ":git",
            "..git",
        ] {
            assert!(!is_git(name.as_ref()), "{name:?}");
        }
    }

    #[test]
    fn what_could_be_taken_for_a_clients_file() {
        for path in [
            "/a/.mcp.json",
            "/.MCP.json",
            "/a/b/.mcp.jſon",
            "/a/mcp~1.jso",
            "/a/.cursor/mcp.json",
            "/a/.VSCode/MCP.json",
            "/a/.vscode./mcp.json ",
            "/a/VSCODE~1/MCP~1.JSO",
            "/a/.cur\u{200d}sor/mcp.json",
            "/a/.vſcode/mcp.json",
        ] {
            assert!(is_client_file(path.as_ref()), "{path:?}");
        }
        for path in [
            "/a/mcp.json",
            "/.cursor/mcp.jsonc",
            "/.cursor/x/mcp.json",
            "/.vscode/settings.json",
            "/.mcp.json/x",
            "/",
        ] {
            assert!(!is_client_file(path.as_ref()), "{path:?}");
        }
    }
}
