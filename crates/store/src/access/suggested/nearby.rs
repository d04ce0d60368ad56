//! Files whose path resembles the one that was asked for, name by name: [`nearby`].

use std::path::{Path, PathBuf};

use crate::access::suggested::likeness::{AskedName, FAR, Likeness};
use crate::access::suggested::listing::{EntryType, Listing};

/// A file that was perhaps meant, named from the root on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Near {
    /// The likeness of its path to the requested one: that of its least likely name, with the distances of
    /// all names added up.
    pub(super) likeness: Likeness,
    pub(super) path: PathBuf,
}

/// A directory on the way to a file that was perhaps meant.
#[derive(Clone)]
struct Way {
    directory: PathBuf,
    likeness: Likeness,
}

/// Returns the files and links to which the path leads if its names are replaced by similar names that exist,
/// the likeliest first. With `with_directories`, directories are returned, too. The path begins at the root
/// of the listing.
pub(super) fn nearby(listing: &mut Listing<'_>, relative: &Path, with_directories: bool) -> Vec<Near> {
    let names: Option<Vec<&str>> = relative.iter().map(|name| name.to_str()).collect();
    let Some((last, parents)) = names.as_deref().and_then(<[_]>::split_last) else { return Vec::new() };
    let mut ways = vec![Way { directory: PathBuf::new(), likeness: Likeness::Same }];
    for name in parents {
        let asked = AskedName::new(name);
        ways = ways.iter().flat_map(|way| way.onward(listing, &asked)).collect();
    }
    let asked = AskedName::new(last);
    let mut found = Vec::new();
    for way in ways {
        for (name, entry) in listing.entries(&way.directory) {
            let is_wanted = with_directories || entry != EntryType::Directory;
            let likeness = asked.likeness(&name).filter(|_| is_wanted);
            if let Some(likeness) = likeness.and_then(|likeness| joined(way.likeness, likeness)) {
                found.push(Near { likeness, path: way.directory.join(name) });
            }
        }
    }
    found.sort();
    found
}

impl Way {
    /// Returns the ways that go on by a directory of this name, or of a similar one. Digits must be the same:
    /// a file in another of many numbered directories is found as a namesake.
    fn onward(&self, listing: &mut Listing<'_>, asked: &AskedName) -> Vec<Self> {
        let like = |(name, entry): (String, EntryType)| {
            let is_directory = entry == EntryType::Directory;
            let likeness = asked.likeness(&name).filter(|_| is_directory)?;
            if matches!(likeness, Likeness::Extension | Likeness::Digits) {
                return None;
            }
            let likeness = joined(self.likeness, likeness)?;
            Some(Self { directory: self.directory.join(name), likeness })
        };
        listing.entries(&self.directory).into_iter().filter_map(like).collect()
    }
}

/// Joins the likeness of one name with that of the rest of the path; `None` if both together are too unlike.
fn joined(one: Likeness, other: Likeness) -> Option<Likeness> {
    use Likeness::{Digits, Extension, Folded, Near, Same};
    match (one.min(other), one.max(other)) {
        (Near(one), Near(other)) => (one + other <= FAR).then_some(Near(one + other)),
        (Same | Folded, least) => Some(least),
        (Extension | Digits | Near(_), _) => None,
    }
}
