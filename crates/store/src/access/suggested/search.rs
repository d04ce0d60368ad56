//! The search for the file that a caller meant by a path that leads to no file: [`LikelyFiles`].

use std::path::{Component, Path, PathBuf};

use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::source::read_range;

use crate::access::roots::{ForWriting, PATH_LENGTH, PathError, Roots};
use crate::access::suggested::notation::{names_a_file, readings};
use crate::access::suggested::walk::{NAMES, Walk};
use crate::cancellation::Cancellation;
use crate::error::{Operation, StoreError, StoreErrorKind, Suggestion};

/// The most directory entries, in all roots together, that one search looks at.
const ENTRIES: usize = 20_000;
/// The most files that are suggested.
const NAMED: usize = 3;
/// The most equally likely files that are opened, to see whether they can be suggested.
const OPENED: usize = 16;
/// The number of bytes of a file that are looked at for NUL bytes, which show that it is binary.
const HEAD: u64 = 8192;

/// The purpose for which a call wants a file whose path is wrong. Only files that allow this purpose are
/// suggested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To be read.
    Reading,
    /// To be searched or listed: a directory does as well.
    Finding,
    /// To be edited: protected files are not suggested.
    Editing,
    /// To be made: only its directory must exist, and the path is only converted to the usual notation.
    Creating,
}

/// Looks for the files that the paths of one call were meant for, after these paths have failed.
///
/// Each suggested file was resolved as a call would resolve it. So the suggestions reveal nothing that is
/// outside the roots or out of bounds.
#[derive(Debug)]
pub(crate) struct LikelyFiles<'a> {
    roots: &'a Roots,
    writing: ForWriting<'a>,
    purpose: Purpose,
    cancellation: Cancellation<'a>,
    entries: usize,
}

impl<'a> LikelyFiles<'a> {
    pub(crate) fn new(roots: &'a Roots, purpose: Purpose, cancellation: Cancellation<'a>) -> Self {
        Self { roots, writing: roots.for_writing(), purpose, cancellation, entries: ENTRIES }
    }

    /// Returns the same search with this limit of directory entries.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn of_entries(self, entries: usize) -> Self {
        Self { entries, ..self }
    }

    /// Adds the files that were perhaps meant to the problem of a path that was not absolute, or that led
    /// outside.
    pub(crate) fn of_path(&self, file_path: &str, problem: PathError) -> PathError {
        match problem {
            PathError::NotAbsolute { .. } => PathError::NotAbsolute { suggested: self.suggested(file_path) },
            PathError::Outside { .. } => PathError::Outside { suggested: self.inside(file_path) },
            other => other,
        }
    }

    /// Adds the files that were perhaps meant to the error of opening a file, if no file has that name.
    pub(crate) fn of_error(&self, file_path: &str, error: StoreError) -> StoreError {
        let is_missing = error.kind == StoreErrorKind::NotFound && error.operation == Operation::Open;
        let suggested = if is_missing && error.name.is_none() { self.suggested(file_path) } else { None };
        StoreError { suggested: suggested.or(error.suggested), ..error }
    }

    /// Returns the files that a path was perhaps meant for, only the likeliest; `None` if there are none.
    fn suggested(&self, file_path: &str) -> Option<Box<Suggestion>> {
        let file_path = match self.purpose {
            Purpose::Finding => file_path.trim_end_matches(std::path::is_separator),
            _ => file_path,
        };
        let readings = readings(file_path, self.roots.home());
        let is_new = self.purpose == Purpose::Creating;
        let written = Some(PathBuf::from(file_path)).filter(|path| !is_new && names_a_file(path));
        let exact = self.named(self.targets(written.iter().chain(&readings)), true, false);
        if is_new { exact } else { exact.or_else(|| self.alike(self.targets(&readings))) }
    }

    /// Returns the files that were perhaps meant by a path that lies in no root by its text: it may be
    /// written as another system writes it, or begin at another directory than the top of the file system.
    /// Each end of the path is tried from the roots, the longest first. An end of a single name counts only
    /// if it is the whole path, or follows the root's name; otherwise too many files have it.
    ///
    /// The result depends only on the text and on the files in the roots.
    fn inside(&self, file_path: &str) -> Option<Box<Suggestion>> {
        let path = readings(file_path, None).into_iter().next().unwrap_or_else(|| file_path.into());
        if self.roots.named_paths().any(|(real, named)| path.starts_with(real) || path.starts_with(named)) {
            let is_respelled = path != Path::new(file_path);
            return is_respelled.then(|| self.named(vec![path], true, false)).flatten();
        }
        let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let names: Vec<Component<'_>> = path.components().filter(is_name).take(NAMES + 1).collect();
        (0..names.len()).filter(|_| names.len() <= NAMES).find_map(|left_out| {
            let (before, end) = names.split_at_checked(left_out)?;
            let follows = |root: &Path| before.last().is_some_and(|name| root.ends_with(name.as_os_str()));
            let is_end = |root: &&Path| end.len() > 1 || before.is_empty() || follows(root);
            let targets =
                self.roots.paths().filter(is_end).map(|root| root.join(end.iter().collect::<PathBuf>()));
            self.named(targets, true, false)
        })
    }

    /// Returns the paths that these can stand for. A relative path is taken as relative to each root, and to
    /// each root's parent.
    fn targets<'b>(&self, paths: impl IntoIterator<Item = &'b PathBuf>) -> Vec<PathBuf> {
        // An absolute path replaces what it is joined to.
        let bases: Vec<&Path> =
            self.roots.paths().flat_map(|root| [Some(root), root.parent()]).flatten().collect();
        let targets = paths.into_iter().flat_map(|path| bases.iter().map(move |base| base.join(path)));
        let mut targets: Vec<PathBuf> = targets.map(|path| path.components().collect()).collect();
        targets.retain(|path| path.as_os_str().len() <= PATH_LENGTH);
        targets.dedup();
        targets
    }

    /// Returns the files whose paths resemble these, only the likeliest.
    fn alike(&self, targets: Vec<PathBuf>) -> Option<Box<Suggestion>> {
        let (left, takes_directories) = (self.entries, self.purpose == Purpose::Finding);
        let mut walk = Walk { left, is_cut: false, cancellation: self.cancellation, takes_directories };
        let mut found = Vec::new();
        for target in targets {
            let Ok(place) = self.roots.place(&target) else { continue };
            let Some((path, root)) = self.roots.root_of(&place) else { continue };
            let likely = walk.likely(root, &place.relative, |inside| self.roots.closes(&path.join(inside)));
            found.extend(likely.into_iter().map(|(score, file)| (score, path.join(file))));
        }
        found.sort();
        found
            .chunk_by(|one, other| one.0 == other.0)
            .find_map(|group| self.named(group.iter().map(|(_, path)| path.clone()), false, walk.is_cut))
    }

    /// Suggests those paths that can be suggested, one for each real path, and three at most. `is_cut` says
    /// that there may be more. Stops at the fourth, which shows that there are more.
    fn named(
        &self,
        paths: impl IntoIterator<Item = PathBuf>,
        is_exact: bool,
        is_cut: bool,
    ) -> Option<Box<Suggestion>> {
        let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
        for path in paths.into_iter().take(OPENED) {
            if found.len() > NAMED || self.cancellation.is_cancelled() {
                break;
            }
            let real = self.real(&path, is_exact);
            let real = real.filter(|real| !found.iter().any(|(_, known)| known == real));
            found.extend(real.map(|real| (path, real)));
        }
        let are_all = found.len() <= NAMED && !is_cut;
        let paths: Vec<PathBuf> = found.into_iter().take(NAMED).map(|(path, _)| path).collect();
        (!paths.is_empty()).then(|| Box::new(Suggestion { paths, are_all }))
    }

    /// Returns the real path of a file that allows the purpose. If the requested path does not name the file
    /// exactly, the file must not look binary, either.
    fn real(&self, path: &Path, is_exact: bool) -> Option<PathBuf> {
        let text = path.to_str()?;
        let place = match self.purpose {
            Purpose::Finding if self.roots.closes(path) => return None,
            Purpose::Finding if path.is_dir() && self.roots.paths().any(|root| root == path) => {
                return Some(path.to_owned());
            }
            Purpose::Creating => {
                let place = self.writing.resolve(text).ok()?;
                let can_be = place.missing.is_empty() && (place.is_free() || place.open_file(false).is_ok());
                return can_be.then(|| place.path().to_owned());
            }
            Purpose::Reading | Purpose::Finding => self.roots.resolve(text).ok()?,
            Purpose::Editing => self.writing.resolve(text).ok()?.into_place(),
        };
        if self.purpose == Purpose::Finding {
            let kind = place.directory.symlink_metadata(place.name()).ok()?;
            return (place.missing.is_empty() && (kind.is_dir() || kind.is_file())).then_some(place.path);
        }
        let file = place.open_file(false).ok()?;
        let mut scanner = Scanner::without_digest(None);
        scanner.feed(&read_range(&file, 0..HEAD.min(file.identity().size)).ok()?);
        (is_exact || !scanner.is_binary()).then_some(place.path)
    }
}
