//! Which file names a file system could take for one another: [`could_be`] and [`same_name`]. Whether a file that could be `.git`
//! may be touched is for the caller to decide.
//!
//! File systems ignore letter case (NTFS, APFS, ext4 with casefold), trailing dots and spaces and what follows a colon
//! (Windows), or invisible characters (HFS+, ext4 with casefold), and some have short names (`GIT~1`). Each of these rules is
//! applied on every system, as git does (`verify_path`, its `utf8.c` and `path.c`): the directory may be shared with another.

use std::ffi::OsStr;

use crate::invisible::is_default_ignorable;

/// One component of a path, folded as the most careless file system reads it: made once, compared with many names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoldedName {
    folded: String,
    may_be_short: bool,
}

impl FoldedName {
    /// Folds a name. Bytes that are not Unicode become U+FFFD, so that names which differ in these alone are folded alike.
    #[must_use]
    pub fn new(name: &OsStr) -> Self {
        let folded = folded(name);
        Self { may_be_short: folded.contains('~'), folded }
    }
}

/// Tells whether a file system could take a name for `.git`.
#[must_use]
pub fn is_git(name: &FoldedName) -> bool {
    could_be(name, ".git")
}

/// Tells whether a file system could take a name for `meant`, which is ASCII and in which the first `*`, if there is one, stands
/// for any characters, or none. A short name (`SETTIN~1.JSO`) counts as every file that Windows may give it to.
#[must_use]
pub fn could_be(name: &FoldedName, meant: &str) -> bool {
    let is_meant = match meant.split_once('*') {
        None => name.folded.eq_ignore_ascii_case(meant),
        Some((head, tail)) => {
            let name = name.folded.as_str();
            let (head, tail) = (head.to_ascii_lowercase(), tail.to_ascii_lowercase());
            name.strip_prefix(&*head).is_some_and(|rest| rest.ends_with(&*tail))
        }
    };
    is_meant || (name.may_be_short && is_short(&name.folded, meant))
}

/// Tells whether two names could be one file's on a file system that ignores letter case, invisible characters, trailing dots
/// and spaces, and what follows a colon. Short names are compared as they are.
#[must_use]
pub fn same_name(one: &OsStr, other: &OsStr) -> bool {
    one == other || folded(one) == folded(other)
}

/// Tells whether a folded name could be the short one (8.3) that Windows gives to a file named `meant`: six characters of that and
/// any number, or, where there are many such files, two characters of it, four hexadecimal digits and a number.
fn is_short(name: &str, meant: &str) -> bool {
    let meant: String = meant.to_ascii_lowercase().chars().filter(|character| *character != ' ').collect();
    let meant = meant.trim_start_matches('.');
    let (stem, extension) = meant.rsplit_once('.').unwrap_or((meant, ""));
    let (own, own_extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let Some((own, number)) = own.rsplit_once('~') else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let extension = extension.get(..3).unwrap_or(extension);
    if !is_number || own_extension != extension {
        return false;
    }
    // Short names have no dot in their first part.
    let (stem, any) = match stem.split_once('*') {
        Some((head, _)) => (head.replace('.', ""), true),
        None => (stem.replace('.', ""), false),
    };
    let head = stem.get(..6).unwrap_or(&stem);
    let start = stem.get(..2).unwrap_or(&stem);
    let hashed = own.strip_prefix(start).filter(|digits| digits.len() == 4);
    let is_hashed = hashed.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_hashed || if any { own.starts_with(head) } else { own == head }
}

/// Folds a name: lower case, without invisible characters, trailing dots and spaces, and the name of a stream.
fn folded(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    let mut seen = String::with_capacity(name.len());
    for character in name.chars().filter(|character| !is_default_ignorable(*character)) {
        match character {
            // Characters that fold to ASCII letters although they are lower case themselves (`CaseFolding.txt` of Unicode, C and F).
            '\u{17f}' => seen.push('s'),
            '\u{df}' | '\u{1e9e}' => seen.push_str("ss"),
            '\u{fb00}' => seen.push_str("ff"),
            '\u{fb01}' => seen.push_str("fi"),
            '\u{fb02}' => seen.push_str("fl"),
            '\u{fb03}' => seen.push_str("ffi"),
            '\u{fb04}' => seen.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => seen.push_str("st"),
            other => seen.push(other.to_lowercase().next().unwrap_or(other)),
        }
    }
    // A colon begins the name of a stream, `.git::$INDEX_ALLOCATION`, except at the beginning.
    if let Some(colon) = seen.find(':').filter(|colon| *colon > 0) {
        seen.truncate(colon);
    }
    let length = seen.trim_end_matches(['.', ' ']).len();
    seen.truncate(length);
    seen
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
            assert!(is_git(&FoldedName::new(name.as_ref())), "{name:?}");
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
            assert!(!is_git(&FoldedName::new(name.as_ref())), "{name:?}");
        }
    }

    #[test]
    fn what_could_be_taken_for_a_name() {
        let check = |name: &str, meant: &str| could_be(&FoldedName::new(name.as_ref()), meant);
        for (name, meant) in [
            (".mcp.json", ".mcp.json"),
            (".MCP.json", ".mcp.json"),
            (".mcp.j\u{17f}on", ".mcp.json"),
            ("MCP~1.JSO", ".mcp.json"),
            ("mcp~12.jso", "mcp.json"),
            (".vscode./", ".vscode/"),
            ("VSCODE~1", ".vscode"),
            (".cur\u{200d}sor", ".cursor"),
            ("MCPSERVERS", "mcpServers"),
            ("con\u{fb01}g.toml", "config.toml"),
            ("mcp.json::$DATA", "mcp.json"),
            ("SETTIN~1.JSO", "settings.local.json"),
            ("SE12AF~1.JSO", "settings.json"),
            ("CLAUDE~2", ".claude"),
            ("a.code-workspace", "*.code-workspace"),
            ("A~1.COD", "*.code-workspace"),
            ("sandbox-macos-x.sb", "sandbox-macos-*.sb"),
            ("SANDBO~1.SB", "sandbox-macos-*.sb"),
            ("anything", "*"),
        ] {
            let (name, meant) = (name.trim_end_matches('/'), meant.trim_end_matches('/'));
            assert!(check(name, meant), "{name:?} {meant:?}");
        }
        for (name, meant) in [
            ("mcp.json", ".mcp.json"),
            (".mcp.jsonc", ".mcp.json"),
            ("mcp~.jso", ".mcp.json"),
            ("mcp~1.json", ".mcp.json"),
            ("mcp~1", ".mcp.json"),
            ("settin~x.jso", "settings.json"),
            ("code-workspace", "*.code-workspace"),
            ("sandbox.sb", "sandbox-macos-*.sb"),
            ("", ".git"),
        ] {
            assert!(!check(name, meant), "{name:?} {meant:?}");
        }
    }
}
