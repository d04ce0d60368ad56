//! The search for the file that was meant by a path that leads to none: [`LikelyFiles`].

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::source::read_range;

use crate::access::place::OpenFile;
use crate::access::roots::{ForWriting, PATH_LENGTH, PathError, Roots};
use crate::access::suggested::elsewhere::{Namesake, elsewhere};
use crate::access::suggested::likeness::Likeness;
use crate::access::suggested::listing::Listing;
use crate::access::suggested::nearby::{Near, nearby};
use crate::access::suggested::notation::{names_a_file, readings};
use crate::cancellation::Cancellation;
use crate::error::{Operation, StoreError, StoreErrorKind, Suggestion};
use crate::os::directory::Dir;

/// The most directory entries, in all roots together, that one search looks at. The search for similar paths
/// and the one for the same name elsewhere have this many each.
const ENTRIES: usize = 20_000;
/// The most names that a path may have to be searched for.
const NAMES: usize = 64;
/// The most files that are named.
const NAMED: usize = 3;
/// The most equally likely files that are tried, to see whether they can be named.
const OPENED: usize = 16;
/// The number of bytes of a file that are looked at for NUL bytes, which show that it is binary.
const HEAD: u64 = 8192;

/// The purpose for which a file is wanted whose path is wrong. Only files that allow this purpose are
/// suggested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To be read.
    Reading,
    /// To be searched or listed: a directory does as well.
    Finding,
    /// To be edited: protected files are not named.
    Editing,
    /// To be made: only its directory must exist, and the path is only put into the usual notation.
    Creating,
}

/// Looks for the files that the paths of one call were meant for, after these paths have failed.
///
/// Each file that it names was resolved as a call would do it. So it tells nothing of what is outside the
/// roots or out of bounds.
#[derive(Debug)]
pub(crate) struct LikelyFiles<'a> {
    roots: &'a Roots,
    writing: ForWriting<'a>,
    purpose: Purpose,
    cancellation: Cancellation<'a>,
    entries: usize,
}

/// The start of a search for a path: a root, and the path from that root on.
struct Ground<'a> {
    path: &'a Path,
    root: &'a Arc<Dir>,
    relative: PathBuf,
}

impl<'a> LikelyFiles<'a> {
    pub(crate) fn new(roots: &'a Roots, purpose: Purpose, cancellation: Cancellation<'a>) -> Self {
        Self { roots, writing: roots.for_writing(), purpose, cancellation, entries: ENTRIES }
    }

    /// Returns the same search, which looks at no more directory entries than these.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn of_entries(self, entries: usize) -> Self {
        Self { entries, ..self }
    }

    /// Adds the files that were perhaps meant to the problem of a path that was not absolute, or that led
    /// outside.
    pub(crate) fn of_path(&self, file_path: &str, problem: PathError) -> PathError {
        match problem {
            PathError::NotAbsolute { .. } => PathError::NotAbsolute { suggested: self.suggested(file_path) },
            PathError::Outside { .. } => PathError::Outside { suggested: self.inside(Path::new(file_path)) },
            other => other,
        }
    }

    /// Adds the files that were perhaps meant to the error of opening a file, if no file has that name.
    pub(crate) fn of_error(&self, file_path: &str, error: StoreError) -> StoreError {
        let is_missing = error.kind == StoreErrorKind::NotFound
            && error.operation == Operation::Open
            && error.name.is_none();
        if is_missing { StoreError { suggested: self.suggested(file_path), ..error } } else { error }
    }

    /// Returns the files that a path was perhaps meant for, only those of the likeliest kind; `None` if there
    /// are none.
    fn suggested(&self, file_path: &str) -> Option<Box<Suggestion>> {
        let file_path = match self.purpose {
            Purpose::Finding => file_path.trim_end_matches(std::path::is_separator),
            _ => file_path,
        };
        let readings = readings(file_path, self.roots.home());
        if self.purpose == Purpose::Creating {
            let found = self.named(self.targets(&readings), |path| self.can_be_made(path));
            return told(found, false);
        }
        let written = Some(PathBuf::from(file_path)).filter(|path| names_a_file(path));
        let exact = self.targets(written.iter().chain(&readings));
        told(self.named(exact, |path| self.exact(path)), false)
            .or_else(|| self.alike(&self.grounds(&readings)))
    }

    /// Returns the files that were perhaps meant by a path that lies in no root by its text: it may begin at
    /// another directory than the top of the file system. Each end of the path is tried from the roots, the
    /// longest first. An end of a single name counts only if it is the whole path, or follows the root's
    /// name; otherwise too many files have it.
    ///
    /// The result depends only on the text and on the files in the roots.
    fn inside(&self, path: &Path) -> Option<Box<Suggestion>> {
        if self.roots.named_paths().any(|(real, named)| path.starts_with(real) || path.starts_with(named)) {
            return None;
        }
        let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let names: Vec<Component<'_>> = path.components().filter(is_name).collect();
        if names.len() > NAMES {
            return None;
        }
        (0..names.len()).find_map(|left_out| {
            let (before, end) = names.split_at_checked(left_out)?;
            let is_end = |root: &&Path| {
                let follows = before.last().is_some_and(|name| root.file_name() == Some(name.as_os_str()));
                end.len() > 1 || before.is_empty() || follows
            };
            let targets =
                self.roots.paths().filter(is_end).map(|root| root.join(end.iter().collect::<PathBuf>()));
            told(
                self.named(targets, |path| match self.purpose {
                    Purpose::Creating => self.can_be_made(path),
                    _ => self.exact(path),
                }),
                false,
            )
        })
    }

    /// Returns the real path of the file that a path, freed from its notation, names.
    fn exact(&self, path: &Path) -> Option<PathBuf> {
        match self.purpose {
            Purpose::Finding => self.findable(path),
            _ => self.reached(path).map(|(real, _)| real),
        }
    }

    /// Returns the real path of the file that a path similar to the requested one names.
    fn similar(&self, path: &Path) -> Option<PathBuf> {
        match self.purpose {
            Purpose::Finding => self.findable(path),
            _ => self.text_at(path),
        }
    }

    /// Returns the real path of a file or directory that may be searched.
    fn findable(&self, path: &Path) -> Option<PathBuf> {
        if self.roots.closes(path) {
            return None;
        }
        if let Some(root) = self.roots.paths().find(|root| *root == path && root.is_dir()) {
            return Some(root.to_owned());
        }
        let place = self.roots.resolve(path.to_str()?).ok()?;
        let kind = place.directory.symlink_metadata(place.name()).ok()?;
        (place.missing.is_empty() && (kind.is_dir() || kind.is_file())).then_some(place.path)
    }

    /// Returns the paths that these can stand for. A relative path is taken from each root on, and from each
    /// root's parent on.
    fn targets<'b>(&self, paths: impl IntoIterator<Item = &'b PathBuf>) -> Vec<PathBuf> {
        let mut targets = Vec::new();
        for path in paths {
            if path.is_absolute() {
                targets.push(path.clone());
            } else {
                let bases = self.roots.paths().flat_map(|root| [Some(root), root.parent()]).flatten();
                targets.extend(bases.map(|base| base.join(path)));
            }
        }
        targets.retain(|path| path.as_os_str().len() <= PATH_LENGTH);
        targets.into_iter().map(|path| path.components().collect()).collect()
    }

    /// Returns the roots, and the paths in them, where files that resemble these paths are searched for.
    fn grounds(&self, readings: &[PathBuf]) -> Vec<Ground<'a>> {
        let mut grounds: Vec<Ground<'a>> = Vec::new();
        for target in self.targets(readings) {
            let Ok(place) = self.roots.place(&target) else { continue };
            let Some((path, root)) = self.roots.root_of(&place) else { continue };
            let is_known =
                grounds.iter().any(|ground| ground.path == path && ground.relative == place.relative);
            if !is_known && place.relative.iter().count() <= NAMES {
                grounds.push(Ground { path, root, relative: place.relative });
            }
        }
        grounds
    }

    /// Returns the files whose paths resemble the ones wanted, only those of the likeliest kind that has any.
    fn alike(&self, grounds: &[Ground<'_>]) -> Option<Box<Suggestion>> {
        let (mut near, mut left, mut is_cut) = (Vec::new(), self.entries, false);
        for ground in grounds {
            let mut listing = Listing::new(ground.root, left, self.cancellation);
            let found = nearby(&mut listing, &ground.relative, self.purpose == Purpose::Finding);
            near.extend(found.into_iter().map(|near| Near { path: ground.path.join(near.path), ..near }));
            (left, is_cut) = (listing.left, is_cut || listing.is_cut);
        }
        near.sort();
        let (weak, strong): (Vec<_>, Vec<_>) =
            near.into_iter().partition(|near| near.likeness == Likeness::Digits);
        let of_group = |group: &[Near]| {
            let paths = group.iter().map(|near| near.path.clone());
            told(self.named(paths, |path| self.similar(path)), is_cut)
        };
        strong
            .chunk_by(|one, other| one.likeness == other.likeness)
            .find_map(of_group)
            .or_else(|| self.namesakes(grounds))
            .or_else(|| of_group(&weak))
    }

    /// Returns the files of the same name in other directories, only those whose paths have the most in
    /// common with the wanted one.
    fn namesakes(&self, grounds: &[Ground<'_>]) -> Option<Box<Suggestion>> {
        let (mut found, mut left, mut is_cut) = (Vec::new(), self.entries, false);
        for ground in grounds {
            let mut listing = Listing::new(ground.root, left, self.cancellation);
            let closed = |directory: &Path| self.roots.closes(&ground.path.join(directory));
            let namesakes = elsewhere(&mut listing, &ground.relative, &closed);
            found.extend(
                namesakes.into_iter().map(|one| Namesake { path: ground.path.join(one.path), ..one }),
            );
            (left, is_cut) = (listing.left, is_cut || listing.is_cut);
        }
        found.sort_by(|one, other| other.shares.cmp(&one.shares).then_with(|| one.path.cmp(&other.path)));
        found.chunk_by(|one, other| one.shares == other.shares).find_map(|group| {
            let paths = group.iter().map(|one| one.path.clone());
            told(self.named(paths, |path| self.similar(path)), is_cut)
        })
    }

    /// Returns the paths that can be named, one for each real path. Stops at one more than a message names,
    /// which shows that there are more.
    fn named(
        &self,
        paths: impl IntoIterator<Item = PathBuf>,
        real: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Vec<PathBuf> {
        let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
        for path in paths.into_iter().take(OPENED) {
            if found.len() > NAMED || self.cancellation.is_cancelled() {
                break;
            }
            if let Some(real) = real(&path)
                && !found.iter().any(|(_, known)| *known == real)
            {
                found.push((path, real));
            }
        }
        found.into_iter().map(|(path, _)| path).collect()
    }

    /// Returns the real path of a file that allows the purpose, and the open file.
    fn reached(&self, path: &Path) -> Option<(PathBuf, OpenFile)> {
        let place = match self.purpose {
            Purpose::Reading | Purpose::Finding => self.roots.resolve(path.to_str()?).ok()?,
            Purpose::Editing | Purpose::Creating => self.writing.resolve(path.to_str()?).ok()?.into_place(),
        };
        let file = place.open_file(false).ok()?;
        Some((place.path, file))
    }

    /// Returns the real path of such a file, if it does not look binary.
    fn text_at(&self, path: &Path) -> Option<PathBuf> {
        let (real, file) = self.reached(path)?;
        let head = read_range(&file, 0..HEAD.min(file.identity().size)).ok()?;
        let mut scanner = Scanner::without_digest(None);
        scanner.feed(&head);
        (!scanner.is_binary()).then_some(real)
    }

    /// Returns the real path of a file that may be made in an existing directory, or that exists already.
    fn can_be_made(&self, path: &Path) -> Option<PathBuf> {
        let place = self.writing.resolve(path.to_str()?).ok()?;
        let can_be = place.missing.is_empty() && (place.is_free() || place.open_file(false).is_ok());
        can_be.then(|| place.path().to_owned())
    }
}

/// Makes the suggestion of the files that were found. `is_cut` says that there may be more.
fn told(mut found: Vec<PathBuf>, is_cut: bool) -> Option<Box<Suggestion>> {
    let are_all = found.len() <= NAMED && !is_cut;
    found.truncate(NAMED);
    (!found.is_empty()).then(|| Box::new(Suggestion { paths: found, are_all }))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn no_more_files_are_opened_than_show_that_there_are_more() {
        let roots = Roots::open(&[]).unwrap();
        let search = LikelyFiles::new(&roots, Purpose::Reading, Cancellation::none());
        let opened = Cell::new(0);
        let paths: Vec<PathBuf> = (0..OPENED).map(|number| number.to_string().into()).collect();
        let named = search.named(paths.clone(), |path| {
            opened.set(opened.get() + 1);
            Some(path.to_owned())
        });
        assert_eq!((named.as_slice(), opened.get()), (&paths[..=NAMED], NAMED + 1));
    }
}
