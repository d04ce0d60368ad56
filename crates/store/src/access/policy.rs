//! Decides which paths in the allowed directories may be read but not written, and which are out of bounds:
//! neither read nor written ([`Policy`]). The policy is fixed when the roots are opened. Only
//! [`crate::access::roots`] asks it, for every path of every call.
//!
//! The policy judges a file by its path, by the links that led to it, and in a few cases by identity
//! (`aliases.rs`). It does not recognise other hard links and bind mounts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use mcp_text_editor_core::file_names::{FoldedName, is_git, same_name};

use crate::access::aliases::Aliases;
use crate::access::client_files::client_file;
use crate::access::patterns::Patterns;
use crate::access::place::Place;
use crate::access::protection::Protection;
use crate::os;
use crate::os::directory::Dir;
use crate::os::real_path::real_path;

/// The files in the roots that may not be written, and the directories that may not even be read.
#[derive(Clone, Default, Debug)]
pub(crate) struct Policy {
    read_only: bool,
    is_unprotected: bool,
    patterns: Patterns,
    own: OwnFiles,
    /// The exceptions: files that lose their default protection.
    exempt: Patterns,
    closed: Vec<Closed>,
}

/// Files that are protected in every root.
#[derive(Clone, Default, Debug)]
struct OwnFiles {
    listed: FileList,
    /// The components of the files' paths, both as written and without links. The files are listed and looked
    /// up before the first write.
    paths: OnceLock<Vec<Vec<FoldedName>>>,
}

/// A function that lists files.
#[derive(Clone)]
pub(crate) struct FileList(pub(crate) Arc<dyn Fn() -> Vec<PathBuf> + Send + Sync>);

impl Default for FileList {
    fn default() -> Self {
        Self(Arc::new(Vec::new))
    }
}

impl fmt::Debug for FileList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileList")
    }
}

impl OwnFiles {
    fn contain(&self, names: &[FoldedName]) -> bool {
        let paths = self.paths.get_or_init(|| {
            let FileList(list) = &self.listed;
            let both = |path: PathBuf| [folded(&real_path(&path)), folded(&path)];
            list().into_iter().flat_map(both).collect()
        });
        paths.iter().any(|path| path == names)
    }
}

/// A directory in which nothing may be read or written.
#[derive(Clone, Debug)]
struct Closed {
    path: PathBuf,
    key: Option<(u64, u64)>,
}

impl Policy {
    /// Returns the policy that protects nothing, for actions of a person.
    #[must_use]
    pub(crate) fn unprotected() -> Self {
        Self { is_unprotected: true, ..Self::default() }
    }

    /// Returns the same policy, under which nothing may be written if `read_only`.
    #[must_use]
    pub(crate) fn read_only(self, read_only: bool) -> Self {
        Self { read_only, ..self }
    }

    /// Returns the same policy, which also protects the files that match these patterns.
    #[must_use]
    pub(crate) fn protecting(self, patterns: Patterns) -> Self {
        Self { patterns, ..self }
    }

    /// Returns the same policy, which also protects exactly these files.
    #[must_use]
    pub(crate) fn protecting_files(self, files: FileList) -> Self {
        Self { own: OwnFiles { listed: files, paths: OnceLock::new() }, ..self }
    }

    /// Returns the same policy, under which files that match these patterns lose their default protection.
    /// Files that match the patterns of [`Policy::protecting`] stay protected.
    #[must_use]
    pub(crate) fn exempting(self, exempt: Patterns) -> Self {
        Self { exempt, ..self }
    }

    /// Returns the same policy, under which this directory, and all below it, looks as if it were outside all
    /// roots.
    #[must_use]
    pub(crate) fn closing(mut self, directory: &Path) -> Self {
        let path = real_path(directory);
        let key = os::key_of_path(&path);
        self.closed.push(Closed { path, key });
        self
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Tells whether a path without links lies in a closed directory.
    pub(crate) fn closes_path(&self, path: &Path) -> bool {
        // Letter case is ignored. On a case-sensitive file system, this also closes directories whose path
        // differs only in letter case.
        self.closed.iter().any(|closed| lies_in(path, &closed.path))
    }

    /// Tells, by the paths alone, whether a closed directory is at this path or below it.
    pub(crate) fn closes_below(&self, path: &Path) -> bool {
        self.closed.iter().any(|closed| lies_in(&closed.path, path))
    }

    /// Tells whether this directory itself is closed, by whatever path it was reached.
    pub(crate) fn is_closed(&self, directory: &Dir) -> bool {
        !self.closed.is_empty() && {
            let key = os::key_of_directory(directory).ok();
            self.closed.iter().any(|closed| closed.key.is_some() && closed.key == key)
        }
    }

    /// Tells whether a directory with this device and inode, or its parent, is closed, by whatever path it
    /// was reached.
    pub(crate) fn closes_directory(&self, directory: &Dir, key: Option<(u64, u64)>) -> bool {
        let is_closed = |key| self.closed.iter().any(|closed| closed.key.is_some() && closed.key == key);
        !self.closed.is_empty() && (is_closed(key) || is_closed(os::key_of_parent(directory)))
    }

    /// Tells why a place may not be written to; `None` if it may. `aliases` returns the aliases of all roots;
    /// it is called only if they matter.
    pub(crate) fn protection<'a>(
        &self,
        place: &Place,
        aliases: impl FnOnce() -> &'a [Aliases],
    ) -> Option<Protection> {
        if self.read_only {
            return Some(Protection::ReadOnly);
        }
        if self.is_unprotected {
            return None;
        }
        place
            .names()
            .find_map(|(path, relative)| self.protection_of(path, relative))
            .or_else(|| aliases().iter().find_map(|aliases| self.protection_by_alias(place, aliases)))
    }

    fn protection_of(&self, path: &Path, relative: &Path) -> Option<Protection> {
        if let Some(pattern) = self.patterns.matching(path, relative) {
            return Some(Protection::Pattern(pattern.to_owned()));
        }
        let names = folded(path);
        let own = || self.own.contain(&names).then_some(Protection::OwnConfiguration);
        let protection = by_name(&names, relative).or_else(own)?;
        (!self.exempt.matches(path, relative)).then_some(protection)
    }

    /// Returns the protection of a place that is the target of a root's own `.git` or client file; `None` if
    /// either name is exempt.
    fn protection_by_alias(&self, place: &Place, aliases: &Aliases) -> Option<Protection> {
        let protection = aliases.protection(place, |path, relative| self.exempt.matches(path, relative))?;
        (!self.exempt.matches(&place.path, &place.relative)).then_some(protection)
    }
}

/// Tells whether a path names a directory or lies below it, ignoring letter case.
fn lies_in(path: &Path, directory: &Path) -> bool {
    let mut parts = path.components();
    directory
        .components()
        .all(|part| parts.next().is_some_and(|own| same_name(part.as_os_str(), own.as_os_str())))
}

/// Returns the names of a path, folded for comparison.
fn folded(path: &Path) -> Vec<FoldedName> {
    path.iter().map(FoldedName::new).collect()
}

/// Returns the protection that a path has by its components alone.
fn by_name(names: &[FoldedName], relative: &Path) -> Option<Protection> {
    // Only the components below the root count: a person has allowed the root, even if it lies in `.git`.
    let root = names.len().saturating_sub(relative.iter().count());
    if names.iter().skip(root).any(is_git) {
        return Some(Protection::Git);
    }
    client_file(names, root).map(Protection::ClientFile)
}
