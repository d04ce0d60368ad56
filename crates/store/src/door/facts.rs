//! The facts that a workspace tells about itself, and about a path.

use std::path::{Path, PathBuf};

use crate::access::roots::{PathError, Roots};
use crate::access::suggested::search::{LikelyFiles, Purpose};
use crate::access::unserved::Unserved;
use crate::cancellation::Cancellation;
use crate::door::builder::WorkspaceBuilder;
use crate::workspace::Workspace;

impl Workspace {
    /// Returns a builder with the default settings.
    pub fn builder() -> WorkspaceBuilder {
        WorkspaceBuilder::default()
    }

    /// Returns the real paths of the allowed directories, in the order given.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.paths()
    }

    /// Returns the directories that were configured but are not served.
    pub fn unserved(&self) -> impl Iterator<Item = &Unserved> {
        self.roots.unserved()
    }

    /// Opens the directories whose volume did not answer before but answers now. Tells whether one still does
    /// not answer. May wait as long as the system waits for a volume.
    pub fn open_what_is_back(&self) -> bool {
        self.roots.open_what_is_back();
        self.roots.away().next().is_some()
    }

    /// Tells whether no directory is served although some were configured, or one was to be served by
    /// default. Before it says so, it tries to open those that were away.
    #[must_use]
    pub fn serves_nothing(&self) -> bool {
        self.roots.are_all_unserved() && {
            self.roots.open_what_is_back();
            self.roots.are_all_unserved()
        }
    }

    /// Tells whether nothing may be written at all.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.roots.are_read_only()
    }

    /// Returns the roots that lie in the state directory, so that nothing in them can be read.
    pub fn closed_roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.paths().filter(|root| self.roots.closes(root))
    }

    /// Returns the real path of the state directory, if there is one.
    #[must_use]
    pub fn state_directory(&self) -> Option<&Path> {
        self.state_dir.as_ref().map(crate::state_dir::StateDir::path)
    }

    /// Tells why there is no state directory although one was configured.
    #[must_use]
    pub fn state_problem(&self) -> Option<&str> {
        self.state_problem.as_deref()
    }

    /// Tells why edits would be refused right now, as far as is known: the volume of a directory does not
    /// answer, or the database of several machines cannot be reached and is needed for edits. Waits for
    /// nothing, so that a probe can ask often. The first answer of a process that has done nothing yet is
    /// that the database is being reached.
    #[must_use]
    pub fn why_edits_wait(&self) -> Option<String> {
        if let Some(away) = self.roots.away().next() {
            return Some(format!("the volume of {} does not answer", away.path.display()));
        }
        self.shared_journal().filter(|journal| journal.is_needed())?.check().err()
    }

    /// Returns the real path that a client's path means, for reading. The file need not exist.
    pub fn resolve(&self, file_path: &str) -> Result<PathBuf, Vec<PathError>> {
        let place = self.roots.resolve(file_path);
        Ok(place
            .map_err(|problems| self.with_likely_files(file_path, Purpose::Reading, problems))?
            .path()
            .to_owned())
    }

    /// Returns the real path as [`Workspace::resolve`] does, for a file that is to be written, made or
    /// removed. The error is [`PathError::Protected`] where that is not allowed.
    pub fn resolve_for_writing(&self, file_path: &str) -> Result<PathBuf, Vec<PathError>> {
        let place = self.roots.resolve_for_writing(file_path);
        Ok(place
            .map_err(|problems| self.with_likely_files(file_path, Purpose::Editing, problems))?
            .path()
            .to_owned())
    }

    /// Tells why a path cannot be used as it is spelled: it is relative, has `..` or U+0000 in it, or, on
    /// Windows, a name that no file can have. Empty for any other path, whether or not it leads into a root.
    ///
    /// Looks for the file that a relative path could mean for this purpose
    /// ([`suggested`](PathError::NotAbsolute::suggested)).
    #[must_use]
    pub fn check_spelling(&self, file_path: &str, purpose: Purpose) -> Vec<PathError> {
        self.with_likely_files(file_path, purpose, Roots::misspelled(file_path))
    }

    /// Adds to the problems of a path the files that were perhaps meant.
    pub(crate) fn with_likely_files(
        &self,
        file_path: &str,
        purpose: Purpose,
        problems: Vec<PathError>,
    ) -> Vec<PathError> {
        let search = LikelyFiles::new(&self.roots, purpose, Cancellation::none());
        problems.into_iter().map(|problem| search.of_path(file_path, problem)).collect()
    }
}
