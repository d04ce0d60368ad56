//! The likeness of two names: a requested one, and one that exists. Pure.

use std::ffi::OsStr;

use mcp_text_editor_core::file_names::FoldedName;
use strsim::osa_distance;

/// The most characters in which two names may differ and still count as alike, if they are long enough.
pub(super) const FAR: usize = 2;
/// If the part before the first dot is no longer than this, names may differ in one character at most.
/// `map.test.ts` is no slip for `nan.test.ts`, nor `bash` for `fish`.
const SHORT: usize = 4;

/// The ways in which a name resembles the requested one, the likeliest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Likeness {
    /// It is the same.
    Same,
    /// They differ only in what some file systems ignore: letter case, or invisible characters.
    Folded,
    /// This many characters are missing, added, replaced, or swapped with their neighbour; letter case does
    /// not count.
    Near(usize),
    /// Only what follows the last dot differs.
    Extension,
    /// Only digits differ: `test_1` is hardly a slip for `test_2`.
    Digits,
}

/// A requested name, taken apart once and compared with many.
#[derive(Debug)]
pub(super) struct AskedName {
    name: String,
    folded: FoldedName,
    lower: String,
    head: usize,
}

impl AskedName {
    pub(super) fn new(name: &str) -> Self {
        let lower = name.to_lowercase();
        let head = head(&lower);
        Self { name: name.to_owned(), folded: FoldedName::new(OsStr::new(name)), lower, head }
    }

    /// Returns how another name is alike; `None` if it is not.
    pub(super) fn likeness(&self, listed: &str) -> Option<Likeness> {
        if self.name == listed {
            return Some(Likeness::Same);
        }
        if self.is_folded(listed) {
            return Some(Likeness::Folded);
        }
        let lower = listed.to_lowercase();
        if without_digits(&lower).eq(without_digits(&self.lower)) {
            return Some(Likeness::Digits);
        }
        self.distance(&lower)
            .map(Likeness::Near)
            .or_else(|| (stem(&lower) == stem(&self.lower)).then_some(Likeness::Extension))
    }

    /// Tells whether another name differs only in letter case and in what else some file systems ignore.
    pub(super) fn is_folded(&self, listed: &str) -> bool {
        // Most names differ in the first letter. That is a quick test if both are ASCII letters or digits: no
        // other character is equal to these but the other letter case.
        if let (Some(one), Some(other)) = (plain_first(&self.name), plain_first(listed))
            && !one.eq_ignore_ascii_case(&other)
        {
            return false;
        }
        self.folded == FoldedName::new(OsStr::new(listed))
    }

    /// Returns the distance of another name, given in lower case, if it is small for names of this length. It
    /// is the optimal string alignment distance (Damerau-Levenshtein, where each place changes once).
    fn distance(&self, lower: &str) -> Option<usize> {
        let shorter = head(lower).min(self.head);
        // A name of one character that differs has nothing in common.
        let most = if shorter <= SHORT { shorter.saturating_sub(1).min(1) } else { FAR };
        if lower.len().abs_diff(self.lower.len()) > most * 4 {
            return None;
        }
        let distance = osa_distance(&self.lower, lower);
        (distance <= most).then_some(distance)
    }
}

/// Returns the part of a name before its last dot; the whole name if it has no dot, or only one at its
/// beginning.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

/// Returns the number of characters before the first dot that is not at the beginning of a name.
fn head(name: &str) -> usize {
    let dots = name.chars().take_while(|letter| *letter == '.').count();
    dots + name.chars().skip(dots).take_while(|letter| *letter != '.').count()
}

fn plain_first(name: &str) -> Option<u8> {
    name.bytes().next().filter(u8::is_ascii_alphanumeric)
}

fn without_digits(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|letter| !letter.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::Likeness::{Digits, Extension, Folded, Near, Same};
    use super::*;

    #[test]
    fn how_alike_names_are() {
        let check = |asked: &str, listed: &str, expected: Option<Likeness>| {
            assert_eq!(AskedName::new(asked).likeness(listed), expected, "{asked} and {listed}");
            // The order of the two makes no difference.
            assert_eq!(AskedName::new(listed).likeness(asked), expected, "{listed} and {asked}");
        };
        check("main.rs", "main.rs", Some(Same));
        check("Main.rs", "main.RS", Some(Folded));
        check("STRASSE", "straße", Some(Folded));
        check("sun.rs", "ſun.rs", Some(Folded));
        check("\u{200b}main.rs", "Main.rs", Some(Folded));
        check("main\u{200b}.rs", "main.rs", Some(Folded));
        check("main.rs", "mian.rs", Some(Near(1)));
        check("Main.rs", "mian.rs", Some(Near(1)));
        check("main.rs", "maine.rs", Some(Near(1)));
        check("handler.rs", "hanlderr.rs", Some(Near(2)));
        check("handler.rs", "hundlars.rs", None);
        check("main.c", "main.h", Some(Near(1)));
        check("main.rs", "main.py", Some(Extension));
        check("model.rs", "model.py", Some(Near(2)));
        check("main.rs", "main.java", Some(Extension));
        check("README", "README.md", Some(Extension));
        check(".gitignore", ".gitattributes", None);
        check("main.rs", "", None);
        // Short names.
        check("a.rs", "b.rs", None);
        check("a", "ab", None);
        check("ab.rs", "ac.rs", Some(Near(1)));
        check("abc.rs", "acd.rs", None);
        check("abc.rs", "abc.py", Some(Extension));
        check("map.test.ts", "nan.test.ts", None);
        check("bash.md", "fish.md", None);
        check("bash.md", "bsah.md", Some(Near(1)));
        check(".env", ".enw", Some(Near(1)));
        check(".envs", ".evn", None);
        // Digits.
        check("test_1.py", "test_2.py", Some(Digits));
        check("v1", "v2", Some(Digits));
        check("v1", "V12", Some(Digits));
        check("test_1.py", "tset_2.py", Some(Near(2)));
        // Characters count, not bytes.
        check("größe.txt", "grösse.txt", Some(Folded));
        check("größe.txt", "grüße.txt", Some(Near(1)));
        check("漢字テスト", "漢字テキト", Some(Near(1)));
        check("handler.rs", "handler🦀🦀.rs", Some(Near(2)));
    }
}
