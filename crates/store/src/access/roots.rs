//! Holds the allowed directories by open handles ([`Roots`]), and resolves a client's path to a [`Place`] in
//! one of them.
//!
//! A path is first walked by its text, following every symbolic link (`walk`). This walk only finds out to
//! which root the path leads. The file is then opened from that root's handle by a path without links, and no
//! link is followed. So nothing outside is reached, even if a directory or link is swapped between the two
//! steps.
//!
//! [`crate::access::policy`] decides which files are protected *within* a root. This module asks the policy,
//! so a caller that has a place does not need to ask again.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use cap_std::ambient_authority;
use mcp_text_editor_core::file_names::same_name;

use crate::access::aliases::Aliases;
use crate::access::place::{DirectoryKey, Place, WritablePlace, open_beneath};
use crate::access::policy::Policy;
use crate::access::protection::Protection;
use crate::access::spelling::Spelling;
use crate::access::unserved::{ConfiguredDirectory, Unserved};
use crate::access::windows_paths::{Spelled, UnusableName};
use crate::attempts::Attempts;
use crate::cancellation::Cancellation;
use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind, Suggestion};
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::os::real_path::without_verbatim_prefix;
use crate::os::seen::Looked;

/// Tells whether paths are kept in the roots. They always are, except in a test of
/// [`Workspace::confine`](crate::Workspace::confine) that simulates `no-containment` (feature `simulation`).
#[must_use]
pub fn has_containment() -> bool {
    #[cfg(feature = "simulation")]
    return os::has_containment();
    #[cfg(not(feature = "simulation"))]
    true
}

/// The maximum length of a path that is walked. It is the limit of Windows, the highest of any system; Linux
/// itself refuses more than 4096 bytes.
pub(crate) const PATH_LENGTH: usize = 32_767;

/// The allowed directories. Each is open, except those whose volume does not answer yet.
#[derive(Debug)]
pub(crate) struct Roots {
    /// The configured directories, in the order given.
    configured: Vec<Configured>,
    /// The directories that are never served.
    unserved: Vec<Unserved>,
    /// Held by the thread that opens directories whose volumes did not answer before.
    opening: Mutex<()>,
    policy: Policy,
    /// The directory that `~` stands for.
    home: Option<PathBuf>,
    /// Whether the paths to resolve are those that files had in the past, as the history has them. Such a
    /// path had no links, so a link on it now leads to another file.
    are_past: bool,
}

/// A configured directory that is served, or will be as soon as its volume answers.
#[derive(Debug)]
struct Configured {
    root: OnceLock<Root>,
    /// The reason why the directory was not opened at the start.
    away: Option<Unserved>,
}

impl Configured {
    fn open(root: Root) -> Self {
        Self { root: OnceLock::from(root), away: None }
    }

    /// Returns the reason why the directory could not be opened at the start; `None` once it is open.
    fn away(&self) -> Option<&Unserved> {
        self.away.as_ref().filter(|_| self.root.get().is_none())
    }

    /// Opens the directory unless it is open already, and tells whether it is open now.
    fn is_back(&self, away: &Unserved) -> bool {
        self.root.get().is_some() || Root::open(&away.path).is_ok_and(|root| self.root.set(root).is_ok())
    }
}

#[derive(Debug)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    /// The path by which the root was opened.
    pub(super) named: PathBuf,
    key: (u64, u64),
    pub(super) directory: Arc<Dir>,
    spelling: Spelling,
    /// Whether the root is known to be on a file system of this machine.
    is_local: bool,
}

/// Resolves the paths of one call for writing. It must not be kept for another call, which would miss links
/// made in between.
#[derive(Debug)]
pub(crate) struct ForWriting<'a> {
    roots: &'a Roots,
    aliases: OnceCell<Vec<Aliases>>,
}

/// The reasons why a path does not name a place.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The path is not absolute.
    #[error("the path is not absolute")]
    NotAbsolute {
        /// The files that were perhaps meant.
        suggested: Option<Box<Suggestion>>,
    },
    /// The path has a `..` component.
    #[error("the path has a `..` component")]
    Traversal,
    /// The path leads out of all roots or into none, or it leads to something out of bounds. The error does
    /// not tell whether anything exists there.
    #[error("the path is not inside an allowed directory")]
    Outside {
        /// The files in the roots that were perhaps meant. Finding them looks at nothing outside.
        suggested: Option<Box<Suggestion>>,
    },
    /// The path leads into a configured directory that is not served, and not into a served one.
    #[error("the path leads into {}, which is not served", .0.path.display())]
    Unserved(Box<Unserved>),
    /// The path leads into a root that was removed, or that another directory has replaced.
    #[error("the allowed directory {} was removed or replaced", root.display())]
    RootReplaced {
        /// The path of the root.
        root: PathBuf,
    },
    /// The file may be read, but not written.
    #[error("the file may be read, and not be written")]
    Protected(Protection),
    /// The path holds U+0000, which no file name can hold.
    #[error("the path holds U+0000")]
    NulByte,
    /// No file of Windows can have a name that is in the path.
    #[error("no file can be named `{}`", .0.name)]
    Unusable(UnusableName),
    /// The path leads into a root, but following it there fails.
    #[error(transparent)]
    Failed(StoreError),
}

impl PathError {
    /// The problem of a path that leads outside, without suggestions.
    pub(crate) const OUTSIDE: Self = Self::Outside { suggested: None };
}

impl Roots {
    /// Opens each directory with the default policy.
    #[cfg(test)]
    pub(crate) fn open(directories: &[PathBuf]) -> Result<Self, StoreError> {
        Self::open_with(directories, Policy::default())
    }

    /// Opens each directory once, by its real path. Duplicates and nested directories are fine.
    pub(crate) fn open_with(directories: &[PathBuf], policy: Policy) -> Result<Self, StoreError> {
        let opened = directories.iter().map(|path| Root::open(path).map(Configured::open));
        let configured = opened.collect::<Result<_, _>>()?;
        Ok(Self {
            configured,
            unserved: Vec::new(),
            opening: Mutex::default(),
            policy,
            home: None,
            are_past: false,
        })
    }

    /// Opens directories by the real paths that they had in the past. Each must still be the directory that
    /// its key identifies, as far as the system can tell. No link is followed, neither to a root nor in it.
    pub(crate) fn open_as_they_were(
        directories: &[(PathBuf, DirectoryKey)],
        policy: Policy,
    ) -> Result<Self, StoreError> {
        let mut roots = Self { are_past: true, ..Self::open_with(&[], policy)? };
        for (path, key) in directories {
            roots.configured.push(Configured::open(Root::open_as_it_was(path, *key)?));
        }
        Ok(roots)
    }

    /// Whether these are the roots of past edits: see [`Roots::open_as_they_were`].
    pub(crate) fn are_past(&self) -> bool {
        self.are_past
    }

    /// Returns the key of the root with this real path.
    pub(crate) fn key_of(&self, path: &Path) -> DirectoryKey {
        self.handle_of(path).map_or_else(DirectoryKey::default, |root| DirectoryKey::of(root))
    }

    /// Opens each directory that can be opened, as [`Roots::open_with`] does. Records the others as unserved,
    /// in addition to those in `unserved`. If a directory's volume does not answer yet, a later call that
    /// names the directory opens it.
    #[must_use]
    pub(crate) fn open_what_is_there(
        wanted: &[ConfiguredDirectory],
        mut unserved: Vec<Unserved>,
        policy: Policy,
    ) -> Self {
        let mut configured = Vec::new();
        for wanted in wanted {
            match Root::open(&wanted.path).map_err(|error| Unserved::failed(wanted, &error)) {
                Ok(root) => configured.push(Configured::open(root)),
                Err(away) if away.is_temporary() => {
                    configured.push(Configured { root: OnceLock::new(), away: Some(away) });
                }
                Err(never) => unserved.push(never),
            }
        }
        Self { configured, unserved, opening: Mutex::default(), policy, home: None, are_past: false }
    }

    /// Adds a root that could not be opened, since its volume did not answer.
    #[cfg(test)]
    pub(crate) fn and_away(mut self, wanted: &ConfiguredDirectory) -> Self {
        let error = std::io::Error::from(std::io::ErrorKind::NotConnected);
        let away = Unserved::failed(wanted, &StoreError::from_io(Operation::OpenRoot, &wanted.path, error));
        assert!(away.is_temporary());
        self.configured.push(Configured { root: OnceLock::new(), away: Some(away) });
        self
    }

    /// Returns the same roots, for clients for whom `~` means this directory.
    #[must_use]
    pub(crate) fn at_home(self, home: Option<PathBuf>) -> Self {
        Self { home, ..self }
    }

    /// Returns the directory that `~` stands for, if it is known. This does not make it a root.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the open roots, each with its index in the order given.
    pub(super) fn served(&self) -> impl DoubleEndedIterator<Item = (usize, &Root)> {
        let all = self.configured.iter().enumerate();
        all.filter_map(|(index, configured)| Some((index, configured.root.get()?)))
    }

    /// Returns the configured directories that are not served.
    pub(crate) fn unserved(&self) -> impl Iterator<Item = &Unserved> {
        self.configured.iter().filter_map(Configured::away).chain(&self.unserved)
    }

    /// Returns the configured directories whose volume does not answer now, but may answer later.
    pub(crate) fn away(&self) -> impl Iterator<Item = &Unserved> {
        self.configured.iter().filter_map(Configured::away)
    }

    /// Opens the directories whose volume answers by now. Each attempt can take as long as the system waits
    /// for a volume. While one thread waits, other threads continue without the directories.
    pub(crate) fn open_what_is_back(&self) {
        let Ok(_opening) = self.opening.try_lock() else { return };
        for configured in &self.configured {
            if let Some(away) = configured.away() {
                configured.is_back(away);
            }
        }
    }

    /// Tells whether no directory is served, although at least one was configured or was to be served by
    /// default.
    #[must_use]
    pub(crate) fn are_all_unserved(&self) -> bool {
        self.served().next().is_none() && self.unserved().next().is_some()
    }

    /// Returns the real paths of the roots, in the order given.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.served().map(|(_, root)| root.path.as_path())
    }

    /// Returns the real path of each root, with the path by which it was opened.
    pub(crate) fn named_paths(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.served().map(|(_, root)| (root.path.as_path(), root.named.as_path()))
    }

    /// Returns the handle of the root that has this real path.
    pub(crate) fn handle_of(&self, path: &Path) -> Option<&Arc<Dir>> {
        self.served().find(|(_, root)| root.path == path).map(|(_, root)| &root.directory)
    }

    /// Returns the handles of the roots, in the order given.
    #[cfg(target_os = "linux")]
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Dir> {
        self.served().map(|(_, root)| root.directory.as_ref())
    }

    /// Tells whether the policy forbids all writing.
    #[must_use]
    pub(crate) fn are_read_only(&self) -> bool {
        self.policy.is_read_only()
    }

    /// Tells whether a path without links is out of bounds although it may lie in a root.
    #[must_use]
    pub(crate) fn closes(&self, path: &Path) -> bool {
        self.policy.closes_path(path)
    }

    /// Tells whether a directory, or its parent, is out of bounds, by whatever path it was reached.
    #[must_use]
    pub(crate) fn closes_directory(&self, directory: &Dir) -> bool {
        self.policy.closes_directory(directory, os::key_of_directory(directory).ok())
    }

    /// Tells what [`Roots::closes_directory`] tells, if the directory's parent is known not to be out of
    /// bounds.
    #[must_use]
    pub(crate) fn is_closed(&self, directory: &Dir) -> bool {
        self.policy.is_closed(directory)
    }

    /// Tells whether a directory that is out of bounds is this one or lies below it, by their paths.
    #[must_use]
    pub(crate) fn closes_below(&self, path: &Path) -> bool {
        self.policy.closes_below(path)
    }

    /// Starts resolving the paths of one call that writes. The aliases of protected files are looked up once,
    /// when first needed.
    #[must_use]
    pub(crate) fn for_writing(&self) -> ForWriting<'_> {
        ForWriting { roots: self, aliases: OnceCell::new() }
    }

    /// Finds the place as [`Roots::resolve`] does, for a file that is to be written, made or removed. The
    /// error is [`PathError::Protected`] if the policy does not allow this.
    pub(crate) fn resolve_for_writing(&self, file_path: &str) -> Result<WritablePlace, Vec<PathError>> {
        self.for_writing().resolve(file_path)
    }

    /// Finds the place that an absolute path means, for reading. The file and its parents need not exist.
    ///
    /// A link at the end of the path is followed, too (see [`Place::is_named_by_link`]). All problems that
    /// the text alone shows are reported together; [`PathError::Outside`] and [`PathError::Failed`] come
    /// alone.
    pub(crate) fn resolve(&self, file_path: &str) -> Result<Place, Vec<PathError>> {
        #[cfg(feature = "simulation")]
        if let Some(place) = crate::access::no_containment::place(Path::new(file_path)) {
            return Ok(place);
        }
        let problems = Self::misspelled(file_path);
        if !problems.is_empty() {
            return Err(problems);
        }
        let path = &spelled(Path::new(file_path));
        if file_path.len() > PATH_LENGTH {
            let error = StoreError::new(Operation::Resolve, path, StoreErrorKind::NameTooLong);
            return Err(vec![PathError::Failed(error)]);
        }
        let mut place = self.place(path).map_err(|problem| vec![problem])?;
        place.ends_in_slash |= names_a_directory(file_path.as_ref());
        match self.known_root_of(&place) {
            // On Windows, the walk has already taken each name as its directory lists it.
            Some(_) if cfg!(windows) => Ok(place),
            Some(known) => {
                let found_by = place.path.clone();
                let place = known.spelling.of_place(place, &known.directory);
                self.unless_closed(place, &found_by).map_err(|problem| vec![problem])
            }
            None => Ok(place),
        }
    }

    /// Returns a place that was found by the path `found_by`, unless its current path, in the listed
    /// spelling, is out of bounds.
    fn unless_closed(&self, place: Place, found_by: &Path) -> Result<Place, PathError> {
        let is_closed = || self.policy.closes_path(&place.path) || self.closes_parent_of(&place);
        if place.path != found_by && is_closed() { Err(PathError::OUTSIDE) } else { Ok(place) }
    }

    /// Returns the identity of the file that a path names in a root by its text, if the system knows the
    /// identity at once: no disk, link or other file system is on the way. This gives no permission to open
    /// the file; only [`Roots::resolve`] does.
    pub(crate) fn identity_at_once(&self, path: &Path) -> Option<Identity> {
        let roots = self.served().map(|(_, root)| root).filter(|root| path.starts_with(&root.path));
        let root = roots.max_by_key(|root| root.path.as_os_str().len()).filter(|root| root.is_local)?;
        os::identity_at_once(&root.directory, path.strip_prefix(&root.path).ok()?)
    }

    /// Returns the problems that a path's text alone shows, without suggestions (`access/suggested` adds
    /// these).
    #[must_use]
    pub(crate) fn misspelled(file_path: &str) -> Vec<PathError> {
        let has_nul = file_path.contains('\0');
        let mut problems = Vec::new();
        if has_nul {
            problems.push(PathError::NulByte);
        }
        let (is_absolute, traverses, faults) = if cfg!(windows) {
            let spelled = Spelled::of(file_path);
            // U+0000 has been reported already.
            let faults = if has_nul { Vec::new() } else { spelled.faults() };
            (spelled.is_absolute(), spelled.traverses(), faults)
        } else {
            let path = Path::new(file_path);
            let traverses = path.components().any(|component| component == Component::ParentDir);
            (path.is_absolute(), traverses, Vec::new())
        };
        if !is_absolute {
            problems.push(PathError::NotAbsolute { suggested: None });
        }
        if traverses {
            problems.push(PathError::Traversal);
        }
        problems.extend(faults.into_iter().map(PathError::Unusable));
        problems
    }

    /// Returns the root that holds a place, as its real path and its handle; `None` if the place was reached
    /// by a path of the root other than its real path.
    pub(crate) fn root_of(&self, place: &Place) -> Option<(&Path, &Arc<Dir>)> {
        self.known_root_of(place).map(|root| (root.path.as_path(), &root.directory))
    }

    fn known_root_of(&self, place: &Place) -> Option<&Root> {
        let path = place.path.ancestors().nth(place.relative.iter().count())?;
        self.served().find_map(|(_, root)| (root.path == path).then_some(root))
    }

    /// Returns the place of an absolute path without `..`, whether or not it may be written.
    pub(crate) fn place(&self, path: &Path) -> Result<Place, PathError> {
        let path = &spelled(path);
        let mut attempts = Attempts::new(Cancellation::none());
        loop {
            match self.place_once(path) {
                // Another program or another machine was replacing a directory on the way, so that a lookup
                // failed for a moment.
                Err(PathError::Failed(error)) if attempts.again(&error) => {}
                Err(PathError::RootReplaced { .. }) if attempts.count() => {}
                Err(PathError::Unserved(away)) if self.is_back(&away) && attempts.count() => {}
                found => return found,
            }
        }
    }

    /// Opens a directory whose volume did not answer before, if it answers by now, and tells whether the
    /// directory is served.
    fn is_back(&self, away: &Unserved) -> bool {
        let same = |configured: &&Configured| configured.away.as_ref() == Some(away);
        self.configured.iter().find(same).is_some_and(|configured| configured.is_back(away))
    }

    fn place_once(&self, path: &Path) -> Result<Place, PathError> {
        let place = match self.place_without_links(path) {
            Some(place) => place,
            None => match self.place_by_links(path) {
                Ok(place) if self.are_past && !place.is_directly_at(path) => return Err(led_elsewhere(path)),
                Err(PathError::Outside { .. }) if self.are_past => return Err(led_elsewhere(path)),
                found => found?,
            },
        };
        if self.closes_parent_of(&place) { Err(PathError::OUTSIDE) } else { Ok(place) }
    }

    /// Tells whether the directory of a place is out of bounds, by whatever path it was reached.
    fn closes_parent_of(&self, place: &Place) -> bool {
        self.policy.closes_directory(&place.directory, place.directory_key)
    }

    /// Handles the usual case in two system calls, or four if the file is in a directory of the root: the
    /// path begins with a root's path, its parent exists, and there is no link. Returns `None` on Windows,
    /// where each name is looked up as its directory lists it.
    fn place_without_links(&self, path: &Path) -> Option<Place> {
        if cfg!(windows) {
            return None;
        }
        let path: PathBuf = path.components().collect();
        let roots = self.served().rev().map(|(_, root)| root).filter(|root| path.starts_with(&root.path));
        let root = roots.max_by_key(|root| root.path.as_os_str().len())?;
        if self.policy.closes_path(&path) || !root.is_at(&os::look_along(&root.path)?) {
            return None;
        }
        let relative = path.strip_prefix(&root.path).ok()?;
        let (parent, name) = (relative.parent()?, relative.file_name()?);
        let (directory, directory_key) = if parent.as_os_str().is_empty() {
            (root.directory.clone(), Some(root.key))
        } else {
            let opened = os::open_directory_beneath(&root.directory, parent)?;
            let key = os::key_of_directory(&opened).ok();
            (Arc::new(opened), key)
        };
        match directory.symlink_metadata(name) {
            Ok(metadata) if metadata.is_symlink() => return None,
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return None,
            _ => {}
        }
        Some(Place {
            directory,
            directory_key,
            missing: Vec::new(),
            name: name.to_owned(),
            relative: relative.to_owned(),
            path: path.clone(),
            links: Vec::new(),
            by_link: false,
            ends_in_slash: false,
        })
    }
}

impl ForWriting<'_> {
    /// Resolves a path as [`Roots::resolve_for_writing`] does.
    pub(crate) fn resolve(&self, file_path: &str) -> Result<WritablePlace, Vec<PathError>> {
        let place = self.roots.resolve(file_path)?;
        match self.roots.policy.protection(&place, || self.aliases()) {
            None => Ok(WritablePlace::permitted(place)),
            Some(protection) => Err(vec![PathError::Protected(protection)]),
        }
    }

    fn aliases(&self) -> &[Aliases] {
        let of_root = |root: &Root| Aliases::in_root(&root.path, &root.directory);
        self.aliases.get_or_init(|| self.roots.served().map(|(_, root)| of_root(root)).collect())
    }
}

impl Root {
    fn open(path: &Path) -> Result<Self, StoreError> {
        #[expect(clippy::disallowed_methods, reason = "a root is named by its real path, found once")]
        let real = std::fs::canonicalize(path).context(Operation::OpenRoot, path)?;
        let directory = os::open_root(&real).context(Operation::OpenRoot, path)?;
        Self::new(without_verbatim_prefix(real), spelled(path), directory)
    }

    fn open_as_it_was(path: &Path, key: DirectoryKey) -> Result<Self, StoreError> {
        let top = path.ancestors().last().unwrap_or(path);
        let directory = Dir::open_ambient_dir(top, ambient_authority()).ok();
        let below = path.strip_prefix(top).unwrap_or(path);
        let directory = directory.and_then(|top| open_beneath(&top, below));
        match directory.filter(|directory| DirectoryKey::of(directory).may_be(key)) {
            Some(directory) => Self::new(path.to_owned(), path.to_owned(), directory),
            None => Err(StoreError::new(Operation::OpenRoot, path, StoreErrorKind::OtherDirectory)),
        }
    }

    fn new(path: PathBuf, named: PathBuf, directory: Dir) -> Result<Self, StoreError> {
        let key = os::key_of_directory(&directory).context(Operation::OpenRoot, &path)?;
        Ok(Self {
            path,
            named,
            key,
            is_local: os::is_local(&directory),
            directory: Arc::new(directory),
            spelling: Spelling::default(),
        })
    }

    /// Tells whether a directory that the walk has found is this root; `true` where the platform cannot tell.
    pub(super) fn is_at(&self, found: &Looked) -> bool {
        found.is_directory && found.key.is_none_or(|key| key == self.key)
    }

    /// Tells whether a path is the root's, by its text.
    pub(super) fn is_named(&self, path: &Path) -> bool {
        let own = [&self.path, &self.named];
        self.path == path || (cfg!(windows) && own.iter().any(|own| same_path(own, path)))
    }
}

/// Returns the error for a path that a file had in the past and on which there is now a link to elsewhere.
fn led_elsewhere(path: &Path) -> PathError {
    PathError::Failed(StoreError::new(Operation::Resolve, path, StoreErrorKind::OtherDirectory))
}

/// Tells whether two Windows paths differ at most in letter case.
pub(super) fn same_path(one: &Path, other: &Path) -> bool {
    let mut others = other.components();
    let are_same = one
        .components()
        .all(|part| others.next().is_some_and(|other| same_name(part.as_os_str(), other.as_os_str())));
    are_same && others.next().is_none()
}

/// Returns a path in the notation that messages use for places; on Unix, the path as it is.
fn spelled(path: &Path) -> PathBuf {
    let spelled = path.to_str().filter(|_| cfg!(windows)).map(Spelled::of);
    spelled.filter(Spelled::is_absolute).map_or_else(|| path.to_owned(), |spelled| spelled.plain())
}

/// Tells whether the text ends in a separator, or in a separator and a dot, so that it can only mean a
/// directory.
pub(super) fn names_a_directory(path: &OsStr) -> bool {
    let bytes = path.as_encoded_bytes();
    let end = bytes.strip_suffix(b".").unwrap_or(bytes).last();
    end.is_some_and(|byte| std::path::is_separator(char::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The directory of a place can have a different identity for each spelling (exfat-fuse), and its path
    /// can lead over a bind mount. So a place is out of bounds if either its identity or its path says so.
    #[test]
    fn what_is_out_of_bounds_is_so_by_another_spelling_too() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["state", "open"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        let given = [directory.path().to_owned()];
        let policy = Policy::default().closing(&directory.path().join("state"));
        let (roots, without) = (Roots::open_with(&given, policy).unwrap(), Roots::open(&given).unwrap());
        let [closed, open] = ["state/x", "open/x"].map(|name| {
            let path = roots.paths().next().unwrap().join(name);
            without.place(&path).unwrap()
        });
        let spelled = open.path.with_file_name("X");
        let is_outside = |place: &Place| {
            let checked = roots.unless_closed(place.clone(), &spelled);
            matches!(checked, Err(PathError::Outside { .. }))
        };
        assert!(is_outside(&closed) && !is_outside(&open));
        assert!(is_outside(&Place { path: open.path.clone(), ..closed.clone() }), "by its identity");
        assert!(is_outside(&Place { path: closed.path, ..open }), "by its path");
    }

    /// Returns roots in which the directory `away` is configured this many times, each away at first.
    fn with_away(directory: &Path, times: usize) -> (Roots, Unserved) {
        let path = directory.join("away");
        let wanted = ConfiguredDirectory { named: path.clone(), path };
        let roots = (0..times).fold(Roots::open(&[]).unwrap(), |roots, _| roots.and_away(&wanted));
        let away = roots.away().next().unwrap().clone();
        (roots, away)
    }

    /// Two calls can name the root at the same time.
    #[test]
    fn a_root_that_another_call_has_opened_is_back() {
        let directory = tempfile::tempdir().unwrap();
        let (roots, away) = with_away(directory.path(), 1);
        assert!(!roots.is_back(&away));
        std::fs::create_dir(&away.path).unwrap();
        assert!(roots.is_back(&away) && roots.is_back(&away));
    }

    #[test]
    fn while_one_thread_waits_for_volumes_others_go_on() {
        let directory = tempfile::tempdir().unwrap();
        let (roots, away) = with_away(directory.path(), 1);
        std::fs::create_dir(&away.path).unwrap();
        let waits = roots.opening.lock().unwrap();
        roots.open_what_is_back();
        assert_eq!(roots.away().count(), 1);
        drop(waits);
        roots.open_what_is_back();
        assert_eq!(roots.away().count(), 0);
    }

    /// The second entry stays away as long as the calls name only the first.
    #[test]
    #[cfg(unix)]
    fn a_root_that_is_away_twice_is_not_asked_for_without_end() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        let (roots, away) = with_away(&real, 2);
        std::fs::create_dir(&away.path).unwrap();
        std::os::unix::fs::symlink("../outside", away.path.join("link")).unwrap();
        let outside = roots.place(&away.path.join("link"));
        assert!(matches!(&outside, Err(PathError::Unserved(unserved)) if **unserved == away), "{outside:?}");
        assert!(roots.place(&away.path.join("file")).is_ok());
    }

    #[test]
    fn paths_of_windows_differ_in_letter_case_alone() {
        for (one, other, are_same) in [
            ("/a/b", "/A/B", true),
            ("/a/b", "/a/c", false),
            ("/a/b", "/a", false),
            ("/a/b", "/c/b", false),
            ("a", "/a", false),
        ] {
            let (one, other) = (Path::new(one), Path::new(other));
            assert_eq!([same_path(one, other), same_path(other, one)], [are_same; 2], "{one:?} {other:?}");
        }
    }
}
