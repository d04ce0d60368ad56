//! Finds files whose paths resemble a requested one in a bounded walk: [`Walk`]. Follows no symbolic link.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_text_editor_core::file_names::{FoldedName, is_git};
use strsim::osa_distance;

use crate::access::directory::open_beneath;
use crate::cancellation::Cancellation;
use crate::os;
use crate::os::directory::Dir;
use crate::os::seen::Listed;

/// The most characters in which two paths may differ and still count as alike.
const FAR: usize = 2;
/// If the part before the first dot is no longer than this, names may differ in one character at most.
/// `map.test.ts` is no slip for `nan.test.ts`, nor `bash` for `fish`.
const SHORT: usize = 4;
/// The most names in a path for which a walk is made.
pub(super) const NAMES: usize = 64;
/// The deepest level that a walk reaches.
const DEPTH: usize = 32;

/// The file that marks a directory as a cache, whose content can be made again
/// (<https://bford.info/cachedir/>).
const CACHE: &str = "CACHEDIR.TAG";
/// The directory in which npm keeps fetched packages. It often has more files than all others together.
const FETCHED: &str = "node_modules";

/// The rank of a suggestion, the likeliest first: the number of characters in which its path differs from the
/// requested path. Files of the same name elsewhere come after these, ranked by the number of last names that
/// both paths have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Score(usize, Reverse<usize>);

/// A walk through the roots, one after the other.
pub(super) struct Walk<'a> {
    /// The number of directory entries that may still be seen.
    pub(super) left: usize,
    /// Whether a directory was left out, so that there may be more files.
    pub(super) is_cut: bool,
    pub(super) cancellation: Cancellation<'a>,
    /// Whether a directory is also a result.
    pub(super) takes_directories: bool,
}

impl Walk<'_> {
    /// Returns the files and links, by their paths from the root, to which `relative` leads if its names are
    /// replaced by similar ones. If there are none, returns those of the same name elsewhere, nearby
    /// directories first. This second search does not enter `closed` directories.
    pub(super) fn likely(
        &mut self,
        root: &Arc<Dir>,
        relative: &Path,
        closed: impl Fn(&Path) -> bool,
    ) -> Vec<(Score, PathBuf)> {
        let names: Option<Vec<&str>> = relative.iter().take(NAMES + 1).map(OsStr::to_str).collect();
        let Some(names) = names.filter(|names| names.len() <= NAMES) else { return Vec::new() };
        let (mut similar, mut namesakes) = (Vec::new(), Vec::new());
        // `ways` has directories whose names resemble those of the path, with the sum of the differences;
        // `others` has all other directories.
        let (mut ways, mut others) = (vec![(PathBuf::new(), 0)], VecDeque::new());
        loop {
            let (directory, way) = match ways.pop() {
                Some((directory, so_far)) => (directory, Some(so_far)),
                None if !similar.is_empty() => return similar,
                None => match others.pop_front() {
                    Some(directory) => (directory, None),
                    None => return namesakes,
                },
            };
            let entries = self.entries(root, &directory);
            if way.is_none() && entries.iter().any(|(name, _)| name == CACHE) {
                continue;
            }
            let depth = directory.iter().count();
            let is_last = depth + 1 == names.len();
            for (name, is_directory) in entries {
                let path = directory.join(&name);
                let more =
                    way.zip(names.get(depth)).map(|(way, asked)| (way, distance(asked, &name, is_last)));
                let sum = more.and_then(|(way, more)| Some(way + more?)).filter(|sum| *sum <= FAR);
                match sum {
                    Some(sum) if is_last && (!is_directory || self.takes_directories) => {
                        similar.push((Score(sum, Reverse(0)), path));
                    }
                    Some(sum) if !is_last && is_directory => ways.push((path, sum)),
                    _ if is_directory => {
                        let is_left_out = name == FETCHED || is_git(&FoldedName::new(OsStr::new(&name)));
                        if !is_left_out && path.iter().count() < DEPTH && !closed(&path) {
                            // Directories near the path come first.
                            if way.is_some() { others.push_front(path) } else { others.push_back(path) }
                        }
                    }
                    _ if relative.file_name().is_some_and(|last| is_folded(last, OsStr::new(&name))) => {
                        namesakes.push((Score(FAR + 1, Reverse(common_end(relative, &path))), path));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns the entries of a directory, and whether each is a directory, sorted by name; empty if it
    /// cannot be read. A directory with more entries than may still be seen is left out as a whole. Names
    /// that are not Unicode are left out, and so are entries that are neither file, directory nor link.
    fn entries(&mut self, root: &Arc<Dir>, directory: &Path) -> Vec<(String, bool)> {
        if self.left == 0 || self.cancellation.is_cancelled() {
            (self.left, self.is_cut) = (0, true);
            return Vec::new();
        }
        let opened = open_beneath(root, directory);
        let opened = opened.and_then(|opened| os::open_to_list(&opened, Path::new(".")).ok());
        let Some(opened) = opened else { return Vec::new() };
        let (mut entries, mut left) = (Vec::new(), Some(self.left));
        // The names that were listed before an error count.
        let _ = os::for_each_name(&opened, |name, kind| {
            left = left.and_then(|left| left.checked_sub(1));
            if let (true, Ok(name)) = (kind != Listed::Special, name.into_string()) {
                entries.push((name, kind == Listed::Directory));
            }
            left.is_some()
        });
        self.left = left.unwrap_or_default();
        if left.is_none() {
            self.is_cut = true;
            return Vec::new();
        }
        entries.sort();
        entries
    }
}

fn common_end(one: &Path, other: &Path) -> usize {
    one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| is_folded(one, other)).count()
}

/// Returns the number of characters in which two names differ, if it is small: the optimal string alignment
/// distance (Damerau-Levenshtein, where each place changes once). Letter case, kinds of spaces, and whatever
/// some file systems ignore in names do not count. A name that differs only in digits (`test_1` is hardly a
/// slip for `test_2`), or in its extension, gets the largest distance; a directory on the way that differs so
/// is another one.
fn distance(asked: &str, listed: &str, is_last: bool) -> Option<usize> {
    let plain = |name: &str| name.to_lowercase().replace(char::is_whitespace, " ");
    let (one, other) = (plain(asked), plain(listed));
    if one == other || is_folded(OsStr::new(asked), OsStr::new(listed)) {
        return Some(0);
    }
    let digits = |name: &str| name.chars().filter(|letter| !letter.is_numeric()).collect::<String>();
    if digits(&one) == digits(&other) {
        return is_last.then_some(FAR);
    }
    // The letters before the first dot that is not at the beginning of a name.
    let head = |name: &str| {
        let hidden = name.trim_start_matches('.');
        name.len() - hidden.len() + hidden.split('.').next().map_or(0, |head| head.chars().count())
    };
    // A name of one character that differs has nothing in common.
    let shorter = head(&one).min(head(&other));
    let most = if shorter <= SHORT { shorter.saturating_sub(1).min(1) } else { FAR };
    let stem = |name: &str| Path::new(name).file_stem().map(OsStr::to_owned);
    let is_renamed = is_last && stem(&one) == stem(&other);
    Some(osa_distance(&one, &other)).filter(|distance| *distance <= most).or(is_renamed.then_some(FAR))
}

fn is_folded(one: &OsStr, other: &OsStr) -> bool {
    FoldedName::new(one) == FoldedName::new(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_names_are_from_each_other() {
        let check = |asked: &str, listed: &str, expected: Option<usize>| {
            assert_eq!(distance(asked, listed, true), expected, "{asked} and {listed}");
            // The order of the two makes no difference.
            assert_eq!(distance(listed, asked, true), expected, "{listed} and {asked}");
        };
        check("Main.rs", "main.RS", Some(0));
        check("STRASSE", "straße", Some(0));
        check("main\u{200b}.rs", "main.rs", Some(0));
        check("größe.txt", "grösse.txt", Some(0));
        check("4.42 PM.md", "4.42\u{202f}PM.md", Some(0));
        check("main.rs", "mian.rs", Some(1));
        check("handler.rs", "hanlderr.rs", Some(2));
        check("handler.rs", "hundlars.rs", None);
        check("main.rs", "main.java", Some(2));
        check("README", "README.md", Some(2));
        check(".gitignore", ".gitattributes", None);
        check("main.rs", "", None);
        // Short names.
        check("a", "ab", None);
        check("ab.rs", "ac.rs", Some(1));
        check("abc.rs", "acd.rs", None);
        check("map.test.ts", "nan.test.ts", None);
        check("bash.md", "fish.md", None);
        // Digits.
        check("test_1.py", "test_2.py", Some(2));
        check("v1", "V12", Some(2));
        assert_eq!((distance("v1", "v2", false), distance("crate", "crates", false)), (None, Some(1)));
    }
}
