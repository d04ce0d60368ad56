//! Finds file names that a file system could take for one another: [`could_be`] and [`same_name`]. The caller
//! decides whether a file that could be `.git` may be touched.
//!
//! File systems ignore letter case (NTFS, APFS, ext4 with casefold), Unicode composition (APFS, HFS+, ext4
//! with casefold), trailing dots and spaces and what follows a colon (Windows), or invisible characters
//! (HFS+, ext4 with casefold), and some have short names (`GIT~1`). Each of these rules is applied on every
//! system, as git does (`verify_path`, its `utf8.c` and `path.c`): the directory may be shared with a machine
//! of another system.

use std::ffi::OsStr;

use unicode_normalization::UnicodeNormalization as _;

use crate::invisible::is_default_ignorable;

/// A component of a path, folded: without the differences that at least one file system ignores. It is folded
/// once, and compared with many names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoldedName {
    folded: String,
    may_be_short: bool,
}

impl FoldedName {
    /// Folds a name. Bytes that are not Unicode become U+FFFD, so names that differ only in these become
    /// equal.
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

/// Tells whether a file system could take a name for `meant`. `meant` must be ASCII; its first `*` stands for
/// any number of characters. A short name (`SETTIN~1.JSO`) matches each name that Windows may shorten to it.
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

/// Tells whether two names could name one file on a file system that ignores letter case, composition,
/// invisible characters, trailing dots and spaces, and what follows a colon. Short names are compared as they
/// are.
#[must_use]
pub fn same_name(one: &OsStr, other: &OsStr) -> bool {
    one == other || folded(one) == folded(other)
}

/// Tells whether a folded name could be the short name (8.3) that Windows gives to a file named `meant`. A
/// short name has six characters of `meant` and a number; or, if many files share these, two characters, four
/// hexadecimal digits and a number.
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

/// Folds letter case and composition of a name, and drops invisible characters, trailing dots and spaces, and
/// the name of an NTFS stream.
fn folded(name: &OsStr) -> String {
    without_what_windows_drops(&fold_case(&name.to_string_lossy())).to_owned()
}

/// Folds letter case and composition of a text, and drops invisible characters. Texts become equal if one of
/// these file systems treats them as equal: APFS and ext4 with casefold, which compare the full case folding
/// of the canonical decomposition; NTFS and exFAT, which compare the upper case of each character; HFS+, with
/// a table of its own. A few more texts become equal, such as `ı` and `i`.
///
/// std does not have Unicode's case folding. Lower case, then upper case, then lower case makes equal all
/// that case folding makes equal, and a few texts more. The first step is for characters such as `ẞ`, whose
/// upper case is `ẞ`, while the upper case of its lower case `ß` is `SS`.
#[must_use]
pub fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let visible = text.chars().filter(|character| !is_default_ignorable(*character));
    let lower = visible.nfd().flat_map(char::to_lowercase);
    lower.flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
}

/// Returns the composed and the decomposed form of a text (NFC, NFD); `None` if they are the same.
#[must_use]
pub fn compositions(text: &str) -> Option<[String; 2]> {
    if text.is_ascii() {
        return None;
    }
    let forms = [text.nfc().collect(), text.nfd().collect::<String>()];
    (forms[0] != forms[1]).then_some(forms)
}

/// Composes a text, and leaves out its invisible characters.
#[must_use]
pub fn without_invisible(text: &str) -> String {
    text.nfc().filter(|character| !is_default_ignorable(*character)).collect()
}

/// Folds a path whose separator is `/`. Returns it in two forms: with whole names, and with names without the
/// parts that Windows ignores.
#[must_use]
pub fn folded_paths(path: &str) -> [String; 2] {
    let folded = fold_case(path);
    // The colon of a drive (`c:`) does not begin the name of a stream.
    let is_drive = |name: &str| name.len() == 2 && name.ends_with(':') && folded.starts_with(name);
    let shorten = |name| if is_drive(name) { name } else { without_what_windows_drops(name) };
    let names: Vec<&str> = folded.split('/').map(shorten).collect();
    let shortened = names.join("/");
    [folded, shortened]
}

/// Returns the name without trailing dots and spaces, and without the name of a stream.
fn without_what_windows_drops(name: &str) -> &str {
    // A colon begins the name of a stream, as in `.git::$INDEX_ALLOCATION`, unless it is the first character.
    let stream = name.find(':').filter(|colon| *colon > 0);
    let name = stream.and_then(|colon| name.get(..colon)).unwrap_or(name);
    name.trim_end_matches(['.', ' '])
}

#[cfg(test)]
mod tests {
    use unicode_normalization::char::decompose_canonical;

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
            ("mcp.jso~1", ".mcp.json"),
            ("settin~x.jso", "settings.json"),
            ("code-workspace", "*.code-workspace"),
            ("sandbox.sb", "sandbox-macos-*.sb"),
            ("", ".git"),
        ] {
            assert!(!check(name, meant), "{name:?} {meant:?}");
        }
    }

    #[test]
    fn spellings_of_one_name() {
        for (one, other) in [
            ("caf\u{e9}", "cafe\u{301}"),
            ("\u{c5}", "\u{212b}"),
            ("\u{212a}", "k"),
            ("\u{1e9e}", "ss"),
            ("\u{df}", "SS"),
            ("\u{130}", "i\u{307}"),
            ("I", "\u{131}"),
            ("\u{3a3}", "\u{3c2}"),
            ("\u{13a0}", "\u{ab70}"),
            ("\u{1f80}", "\u{1f00}\u{3b9}"),
            ("a\u{345}\u{301}", "a\u{301}\u{345}"),
            ("a\u{345}\u{34f}\u{301}", "\u{e1}\u{399}"),
        ] {
            assert!(same_name(one.as_ref(), other.as_ref()), "{one:?} {other:?}");
        }
        for (one, other) in [("e", "\u{e9}"), ("o", "\u{f8}"), (":a", ":b")] {
            assert!(!same_name(one.as_ref(), other.as_ref()), "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_path_is_folded_with_and_without_what_windows_drops() {
        for (path, folded, shortened) in [
            ("C:/A. /b.TXT::$DATA", "c:/a. /b.txt::$data", "c:/a/b.txt"),
            ("a./b:", "a./b:", "a/b"),
            ("a. /a:x", "a. /a:x", "a/a"),
            ("cafe\u{301}/\u{200b}x", "caf\u{e9}/x", "caf\u{e9}/x"),
        ] {
            assert_eq!(folded_paths(path), [folded, shortened], "{path:?}");
        }
    }

    #[test]
    fn what_is_invisible_goes_and_the_rest_is_composed() {
        for (text, visible) in [("A b*", "A b*"), ("Cafe\u{301}\u{200b}", "Caf\u{e9}"), ("\u{feff}", "")] {
            assert_eq!(without_invisible(text), visible, "{text:?}");
        }
    }

    /// Checks that no mapping of a character, in any file system, changes what the character folds to. So
    /// names that differ only in such mappings always fold to the same name.
    #[test]
    fn no_mapping_of_a_character_changes_what_it_folds_to() {
        let mappings = |character: char| {
            let mut canonical = String::new();
            decompose_canonical(character, |part| canonical.push(part));
            let lower = character.to_lowercase().collect::<String>();
            [lower, character.to_uppercase().collect(), canonical.nfc().collect(), canonical]
        };
        let step = if cfg!(miri) { 9_973 } else { 1 };
        for character in (0..=0x0010_ffff).step_by(step).filter_map(char::from_u32) {
            let text = character.to_string();
            let mapped = mappings(character);
            if mapped.iter().any(|mapped| *mapped != text) {
                let own = fold_case(&text);
                assert_eq!(fold_case(&own), own, "{character:?}");
                for mapped in mapped {
                    assert_eq!(fold_case(&mapped), own, "{character:?} {mapped:?}");
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn nor_does_it_in_the_middle_of_a_name(
            name in "[aZk\u{e9}\u{301}\u{307}\u{323}\u{345}\u{df}\u{1e9e}\u{130}\u{131}\u{17f}\u{1e9b}\u{212a}\u{3a3}\u{3c2}\u{1f80}\u{fb01}\u{1100}\u{1161}\u{200d}\u{34f}]{1,8}",
        ) {
            let own = fold_case(&name);
            // The upper case of the mark U+0345 is a letter, to which the marks behind it would belong. In
            // the decomposed name it is the last mark, so letter case is mapped there.
            let decomposed: String = name.chars().filter(|one| !is_default_ignorable(*one)).nfd().collect();
            let mapped = [name.nfc().collect(), decomposed.to_uppercase(), decomposed.to_lowercase(), own.clone(), decomposed];
            for mapped in mapped {
                proptest::prop_assert_eq!(fold_case(&mapped), own.clone(), "{:?} {:?}", name, mapped);
            }
        }
    }
}
