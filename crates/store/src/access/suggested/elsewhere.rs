//! Files of the same name in other directories: [`elsewhere`].

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::file_names::{FoldedName, is_git};

use crate::access::suggested::likeness::AskedName;
use crate::access::suggested::listing::{EntryType, Listing};

/// The deepest level that a walk reaches.
const DEPTH: usize = 32;

/// The file that marks a directory as a cache, all of which can be made again
/// (<https://bford.info/cachedir/>).
const CACHE: &str = "CACHEDIR.TAG";
/// The directory in which npm keeps fetched packages, often more files than all others together.
const FETCHED: &str = "node_modules";

/// A file of the requested name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Namesake {
    /// The part of its path that the requested path has, too; more is likelier.
    pub(super) shares: Shares,
    /// Its path from the root on.
    pub(super) path: PathBuf,
}

/// The numbers of names that two paths have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Shares {
    /// The names at the end.
    tail: usize,
    /// The names that both have in the same order, those at the end included.
    all: usize,
}

/// Returns the files and links that have the name at the end of a path, the likeliest first.
///
/// The walk begins in the path's own directory and goes on from each of its parents; each time it goes
/// downwards from there. It leaves out `.git`, directories marked as caches, fetched packages, and
/// directories that are `closed`.
pub(super) fn elsewhere(
    listing: &mut Listing<'_>,
    relative: &Path,
    closed: &dyn Fn(&Path) -> bool,
) -> Vec<Namesake> {
    let Some(name) = relative.file_name().and_then(OsStr::to_str) else { return Vec::new() };
    let asked = AskedName::new(name);
    let mut found = Vec::new();
    let mut done: Option<&Path> = None;
    for top in relative.ancestors().skip(1) {
        let mut pending = VecDeque::from([top.to_owned()]);
        while let Some(directory) = pending.pop_front() {
            if done == Some(&directory) {
                continue;
            }
            if listing.is_over() {
                listing.is_cut = true;
                break;
            }
            let entries = listing.entries(&directory);
            if directory != top && entries.iter().any(|(name, _)| name == CACHE) {
                continue;
            }
            for (name, entry) in entries {
                match entry {
                    EntryType::File => {
                        if asked.is_folded(&name) {
                            let path = directory.join(&name);
                            found.push(Namesake { shares: Shares::of(relative, &path), path });
                        }
                    }
                    EntryType::Directory => {
                        let path = directory.join(&name);
                        let is_left_out = name == FETCHED || is_git(&FoldedName::new(OsStr::new(&name)));
                        if !is_left_out && path.iter().count() < DEPTH && !closed(&path) {
                            pending.push_back(path);
                        }
                    }
                }
            }
        }
        done = Some(top);
    }
    found.sort_by(|one, other| other.shares.cmp(&one.shares).then_with(|| one.path.cmp(&other.path)));
    found
}

impl Shares {
    fn of(asked: &Path, found: &Path) -> Self {
        let names = |path: &Path| -> Vec<FoldedName> { path.iter().map(FoldedName::new).collect() };
        let (asked, found) = (names(asked), names(found));
        let tail = asked.iter().rev().zip(found.iter().rev()).take_while(|(one, other)| one == other).count();
        Self { tail, all: in_common(&asked, &found) }
    }
}

/// Returns the length of the longest common subsequence.
fn in_common(one: &[FoldedName], other: &[FoldedName]) -> usize {
    let mut above = vec![0; other.len() + 1];
    for name in one {
        let mut row = vec![0];
        for (other, pair) in other.iter().zip(above.windows(2)) {
            let (diagonal, up) = (pair.first().copied().unwrap_or(0), pair.last().copied().unwrap_or(0));
            let left = row.last().copied().unwrap_or(0);
            row.push(if name == other { diagonal + 1 } else { up.max(left) });
        }
        above = row;
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cancellation::Cancellation;
    use crate::os::directory::Dir;
    use crate::tests::world::opened;

    /// Returns the files found for a path when so many entries may be seen, and whether the walk was cut
    /// short.
    fn found(root: &Arc<Dir>, entries: usize, path: &str) -> (Vec<String>, bool) {
        let mut listing = Listing::new(root, entries, Cancellation::none());
        let found = elsewhere(&mut listing, Path::new(path), &|_| false);
        (found.into_iter().map(|one| one.path.to_str().unwrap().to_owned()).collect(), listing.is_cut)
    }

    #[test]
    fn a_walk_is_bounded_and_begins_nearby() {
        let directory = tempfile::tempdir().unwrap();
        for path in ["a/b/c/x.rs", "a/b/d/x.rs", "a/x.rs", "e/x.rs"] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let root = Arc::new(opened(directory.path()));
        let check = |entries, expected: &[&str], is_cut| {
            let expected = expected.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(found(&root, entries, "a/b/q/x.rs"), (expected, is_cut), "{entries} entries");
        };
        check(0, &[], true);
        // The entries are seen in this order: `c` and `d` of `a/b`; those in `c` and `d`; `b` and `x.rs` of
        // `a`; `a` and `e` of the root; those in `e`.
        check(2, &[], true);
        check(3, &["a/b/c/x.rs"], true);
        check(4, &["a/b/c/x.rs", "a/b/d/x.rs"], true);
        // A directory that would be cut is left out as a whole.
        check(5, &["a/b/c/x.rs", "a/b/d/x.rs"], true);
        check(6, &["a/b/c/x.rs", "a/b/d/x.rs", "a/x.rs"], true);
        check(9, &["a/b/c/x.rs", "a/b/d/x.rs", "a/x.rs", "e/x.rs"], false);
        check(99, &["a/b/c/x.rs", "a/b/d/x.rs", "a/x.rs", "e/x.rs"], false);

        let mut listing = Listing::new(&root, 99, Cancellation::when(&|| true));
        let none = elsewhere(&mut listing, Path::new("a/b/q/x.rs"), &|_| false);
        assert_eq!((none, listing.is_cut), (Vec::new(), true), "nobody wants it any more");
    }

    #[test]
    fn a_directory_that_was_left_out_may_hold_anything() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("a")).unwrap();
        let root = Arc::new(opened(directory.path()));
        assert_eq!([1, 2].map(|entries| found(&root, entries, "x.rs").1), [true, false]);
    }

    #[test]
    fn a_walk_ends_at_a_depth_and_finds_files_and_links_alone() {
        let directory = tempfile::tempdir().unwrap();
        let below = |depth| format!("{}x.rs", "d/".repeat(depth));
        std::fs::create_dir_all(directory.path().join("d/".repeat(DEPTH))).unwrap();
        for path in [below(DEPTH - 1), below(DEPTH)] {
            std::fs::write(directory.path().join(path), "").unwrap();
        }
        std::os::unix::fs::symlink("nothing", directory.path().join("d/x.rs")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(directory.path().join("x.rs")).unwrap();
        let root = Arc::new(opened(directory.path()));
        assert_eq!(found(&root, 99, "x.rs"), (vec![below(DEPTH - 1), below(1)], false));
    }

    #[test]
    fn what_paths_have_in_common() {
        let check = |one: &str, other: &str, tail, all| {
            assert_eq!(
                Shares::of(Path::new(one), Path::new(other)),
                Shares { tail, all },
                "{one} and {other}"
            );
        };
        check("x", "x", 1, 1);
        check("a/x", "b/x", 1, 1);
        check("a/b/x", "A/c/B/X", 2, 3);
        check("a/b/c/x", "c/a/b/x", 1, 3);
        check("a/a/x", "a/x", 2, 2);
    }
}
