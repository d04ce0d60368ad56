//! Gives each file one spelling where letter case does not count: [`Spelling`].
//!
//! Most such file systems give both spellings of a name one inode number, which shows that they are one file.
//! Some (exfat-fuse) compute the number from the name as the caller spelled it, and a rename to the other
//! spelling changes the listed name. So a place on a file system that ignores letter case gets the names that
//! its directories list.
//!
//! Other forms of one name (Unicode composition, short names) are recognised only by the inode number.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_text_editor_core::file_names::same_name;

use crate::access::place::{Place, open_directory};
use crate::os;
use crate::os::directory::Dir;

/// Finds out, for each device in a root, whether its file system ignores letter case. Where this differs
/// between directories (ext4, `chattr +F`), the first result is kept: inode numbers suffice there.
#[derive(Debug, Default)]
pub(crate) struct Spelling {
    folds: Mutex<BTreeMap<u64, bool>>,
}

impl Spelling {
    /// Returns the place with the names that its directories list, if letter case does not count on its file
    /// system. The place's relative path starts at the directory `root`.
    pub(crate) fn of_place(&self, place: Place, root: &Arc<Dir>) -> Place {
        let Some((device, _)) = place.directory_key else { return place };
        let known = self.folds.lock().unwrap_or_else(PoisonError::into_inner).get(&device).copied();
        let folds = match known {
            Some(folds) => folds,
            None => match folds(&place, root) {
                None => return place,
                Some(folds) => {
                    self.folds.lock().unwrap_or_else(PoisonError::into_inner).insert(device, folds);
                    folds
                }
            },
        };
        if folds { as_listed(&place, root, &listed).unwrap_or(place) } else { place }
    }
}

/// Tells whether letter case is ignored for the place's own name, or else for its deepest parent that exists.
/// `None` if no such name exists, or if it has no letters: then nothing shows it.
fn folds(place: &Place, root: &Arc<Dir>) -> Option<bool> {
    if place.missing.is_empty()
        && let Some(folds) = folds_name(&place.directory, &place.name)
    {
        return Some(folds);
    }
    let parents = existing_parents(place)?;
    let above = parents.parent()?;
    let name = parents.file_name()?;
    let directory =
        if above.as_os_str().is_empty() { None } else { Some(os::open_directory_beneath(root, above)?) };
    folds_name(directory.as_ref().unwrap_or(root), name)
}

/// Tells whether an existing name is also found in the other letter case, although the directory does not
/// list both; `None` if that is unknown.
fn folds_name(directory: &Dir, name: &OsStr) -> Option<bool> {
    let turned = turned(name)?;
    directory.symlink_metadata(name).ok()?;
    if directory.symlink_metadata(&turned).is_err() {
        return Some(false);
    }
    Some(!BTreeSet::from([name.to_owned(), turned]).is_subset(&names_of(directory)?))
}

/// Returns the path of a place's deepest existing parent, relative to the root.
fn existing_parents(place: &Place) -> Option<&Path> {
    place.relative.ancestors().nth(place.missing.len() + 1)
}

/// Returns the name with each letter in the other case; `None` if no letter has another case.
fn turned(name: &OsStr) -> Option<OsString> {
    let name = name.to_str()?;
    let turn = |letter: char| {
        let lower = letter.to_lowercase().next().unwrap_or(letter);
        let upper = letter.to_uppercase().next().unwrap_or(letter);
        if letter == lower { upper } else { lower }
    };
    let turned: String = name.chars().map(turn).collect();
    (turned != name).then(|| turned.into())
}

fn names_of(directory: &Dir) -> Option<BTreeSet<OsString>> {
    let mut names = BTreeSet::new();
    let note = |name, _| {
        names.insert(name);
        true
    };
    os::for_each_name(&os::open_to_list(directory, Path::new(".")).ok()?, note).ok()?;
    Some(names)
}

/// Returns a name as its directory lists it; `name` itself if the file is missing.
fn listed(directory: &Dir, name: &OsStr) -> OsString {
    if directory.symlink_metadata(name).is_err() {
        return name.to_owned();
    }
    let stored = os::stored_name(directory, name).filter(|stored| same_name(stored, name));
    stored.unwrap_or_else(|| one_of(&names_of(directory).unwrap_or_default(), name))
}

/// Returns the listed name that `name` means. Returns `name` itself if it is listed, or if none or several of
/// the listed names could be meant.
fn one_of(names: &BTreeSet<OsString>, name: &OsStr) -> OsString {
    let lower = |name: &OsStr| name.to_string_lossy().to_lowercase();
    let only = |is_it: &dyn Fn(&OsStr) -> bool| match names
        .iter()
        .filter(|listed| is_it(listed))
        .collect::<Vec<_>>()[..]
    {
        [one] => Some(one.clone()),
        _ => None,
    };
    // If no listed name differs in letter case alone, one may differ in something else that some file systems
    // ignore.
    let is_listed = names.get(name).cloned();
    is_listed
        .or_else(|| only(&|listed| lower(listed) == lower(name)))
        .or_else(|| only(&|listed| same_name(listed, name)))
        .unwrap_or_else(|| name.to_owned())
}

/// Returns the place with each of its names as its directory lists it, which the function `listed` finds out;
/// `None` if a directory cannot be opened by its listed name.
fn as_listed(place: &Place, root: &Arc<Dir>, listed: &dyn Fn(&Dir, &OsStr) -> OsString) -> Option<Place> {
    let parents = existing_parents(place)?;
    // If the parent is the root, the place keeps its own handle of the root, which an edit needs
    // (`os::hold`).
    let mut directory = if parents.as_os_str().is_empty() { &place.directory } else { root }.clone();
    let mut relative = PathBuf::new();
    for name in parents {
        let name = listed(&directory, name);
        directory = Arc::new(open_directory(&directory, &name, &place.path).ok()?);
        relative.push(name);
    }
    relative.extend(&place.missing);
    let name = if place.missing.is_empty() { listed(&directory, &place.name) } else { place.name.clone() };
    relative.push(&name);
    // The part of the path above the root does not change.
    let above = place.path.ancestors().nth(place.relative.iter().count())?;
    let path = above.join(&relative);
    let directory_key = os::key_of_directory(&directory).ok();
    Some(Place { directory, directory_key, name, path, relative, ..place.clone() })
}

#[cfg(test)]
#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests {
    use super::*;
    use crate::access::roots::Roots;
    use crate::tests::world::opened;

    #[test]
    fn where_case_counts_nothing_is_renamed() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("Dir")).unwrap();
        for name in ["a.txt", "A.TXT", "Dir/b.txt", "Dir/1"] {
            std::fs::write(real.join(name), name).unwrap();
        }
        let roots = Roots::open(std::slice::from_ref(&real)).unwrap();
        let root = Arc::new(opened(&real));
        for name in ["a.txt", "A.TXT", "Dir/b.txt", "Dir/B.txt", "Dir/1", "Dir/deep/er/new", "new", "dir"] {
            let path = real.join(name);
            let place = roots.resolve(path.to_str().unwrap()).unwrap();
            assert_eq!(place.path(), path);
            let is_unknown = place.missing.is_empty() && !name.contains('/') && !path.exists();
            assert_eq!(folds(&place, &root), if is_unknown { None } else { Some(false) }, "{name}");
            // The place would stay the same even if letter case were thought not to count.
            let listed = as_listed(&place, &root, &listed).unwrap();
            assert_eq!(
                (listed.path(), listed.relative(), listed.name()),
                (place.path(), Path::new(name), place.name())
            );
        }
    }

    #[test]
    fn of_what_is_listed_the_one_name_that_can_be_meant_is_taken() {
        let check = |names: &[&str], name: &str, expected: &str| {
            let names = names.iter().map(OsString::from).collect();
            assert_eq!(one_of(&names, name.as_ref()), expected, "{names:?}");
        };
        check(&["Dir", "other"], "dir", "Dir");
        check(&["DIR", "Dir", "dir"], "dir", "dir");
        check(&["DIR", "Dir"], "dir", "dir");
        check(&["other"], "dir", "dir");
        check(&["caf\u{e9}", "cafe"], "CAFE\u{301}", "caf\u{e9}");
        // Names that differ in letter case alone come before those that differ in more.
        check(&["STRASSE", "stra\u{df}e"], "Stra\u{df}e", "stra\u{df}e");
    }

    /// Where letter case does not count, a place is reached by any spelling, and its directory may have an
    /// identity for each (exfat-fuse).
    #[test]
    fn a_place_gets_the_names_that_its_directories_list() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("Dir/Sub")).unwrap();
        std::fs::write(real.join("Dir/Sub/File"), "").unwrap();
        std::fs::write(real.join("Dir/Sub/NEW"), "").unwrap();
        let root = Arc::new(opened(&real));
        let listed = |directory: &Dir, name: &OsStr| one_of(&names_of(directory).unwrap(), name);
        for (asked, missing, expected) in
            [("dir/SUB/file", &[][..], "Dir/Sub/File"), ("dir/SUB/new/file", &["new"], "Dir/Sub/new/file")]
        {
            let place = Place {
                directory: root.clone(),
                directory_key: None,
                missing: missing.iter().map(OsString::from).collect(),
                name: "file".into(),
                path: real.join(asked),
                relative: asked.into(),
                links: Vec::new(),
                by_link: false,
                ends_in_slash: false,
            };
            let place = as_listed(&place, &root, &listed).unwrap();
            assert_eq!(place.path(), real.join(expected));
            assert_eq!(place.relative(), Path::new(expected));
            assert_eq!(place.name(), Path::new(expected).file_name().unwrap());
            let key = os::key_of_path(&real.join("Dir/Sub"));
            assert_eq!([os::key_of_directory(&place.directory).ok(), place.directory_key], [key, key]);
        }
    }

    #[test]
    fn letters_are_turned_round() {
        let turned = |name: &str| turned(name.as_ref()).map(|name| name.into_string().unwrap());
        assert_eq!(turned("aB-ä.Txt").as_deref(), Some("Ab-Ä.tXT"));
        assert_eq!(turned("12-34"), None);
    }
}
