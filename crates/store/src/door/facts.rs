//! Returns facts about a workspace, and about paths in it.

use std::path::{Path, PathBuf};

use crate::access::roots::{PathError, Roots};
use crate::access::suggested::{LikelyFiles, Purpose};
use crate::access::unserved::Unserved;
use crate::cancellation::Cancellation;
use crate::door::builder::WorkspaceBuilder;
use crate::workspace::Workspace;

impl Workspace {
    /// Returns a builder with the default settings.
    pub fn builder() -> WorkspaceBuilder {
        WorkspaceBuilder::default()
    }

    /// Returns the real paths of the roots, in the order in which they were configured.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.paths()
    }

    /// Returns the directories that were configured but are not served.
    pub fn unserved(&self) -> impl Iterator<Item = &Unserved> {
        self.roots.unserved()
    }

    /// Opens the directories whose volume did not answer before but answers now. Tells whether a volume still
    /// does not answer. May wait as long as the system waits for a volume.
    pub fn open_what_is_back(&self) -> bool {
        self.roots.open_what_is_back();
        self.roots.away().next().is_some()
    }

    /// Tells whether no directory is served, although at least one was configured or is the default. Before
    /// returning `true`, tries to open the directories whose volume did not answer.
    #[must_use]
    pub fn serves_nothing(&self) -> bool {
        self.roots.are_all_unserved() && {
            self.roots.open_what_is_back();
            self.roots.are_all_unserved()
        }
    }

    /// Tells whether all writes are refused.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.roots.are_read_only()
    }

    /// Returns the roots that are in the state directory. Nothing in these roots can be read.
    pub fn closed_roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.paths().filter(|root| self.roots.closes(root))
    }

    /// Returns the real path of the state directory, if there is one.
    #[must_use]
    pub fn state_directory(&self) -> Option<&Path> {
        self.state_dir.as_ref().map(crate::state_dir::StateDir::path)
    }

    /// Returns the reason why there is no state directory although one was configured, or although the
    /// history needs one; `None` if there is one, or if none is needed.
    #[must_use]
    pub fn state_problem(&self) -> Option<&str> {
        self.state_problem.as_deref()
    }

    /// Returns the reason why edits would be refused right now, as far as is known: the volume of a directory
    /// does not answer, or the shared database cannot be reached and is required for edits. Never waits, so a
    /// health probe can call it often. In a process that has not used a required database yet, the first call
    /// of this function starts to connect, and returns the missing connection as the reason.
    #[must_use]
    pub fn why_edits_wait(&self) -> Option<String> {
        if let Some(away) = self.roots.away().next() {
            return Some(format!("the volume of {} does not answer", away.path.display()));
        }
        self.shared_journal().filter(|journal| journal.is_needed())?.check().err()
    }

    /// Returns the real path of a path from a client, for reading. The file need not exist.
    pub fn resolve(&self, file_path: &str) -> Result<PathBuf, Vec<PathError>> {
        let place = self.roots.resolve(file_path);
        Ok(place
            .map_err(|problems| self.with_likely_files(file_path, Purpose::Reading, problems))?
            .path()
            .to_owned())
    }

    /// Returns the real path as [`Workspace::resolve`] does, for a file that is to be written, created or
    /// removed. The error is [`PathError::Protected`] if that is not allowed.
    pub fn resolve_for_writing(&self, file_path: &str) -> Result<PathBuf, Vec<PathError>> {
        let place = self.roots.resolve_for_writing(file_path);
        Ok(place
            .map_err(|problems| self.with_likely_files(file_path, Purpose::Editing, problems))?
            .path()
            .to_owned())
    }

    /// Returns the reasons why a path's text is not allowed: it is relative, contains `..` or U+0000, or, on
    /// Windows, has a name that no file can have. Empty for any other path, even outside the roots.
    ///
    /// For a relative path, the error suggests the files that the client may have meant
    /// ([`suggested`](PathError::NotAbsolute::suggested)): those that `purpose` allows.
    #[must_use]
    pub fn check_spelling(&self, file_path: &str, purpose: Purpose) -> Vec<PathError> {
        self.with_likely_files(file_path, purpose, Roots::misspelled(file_path))
    }

    /// Searches for the files that the client may have meant by a path, and adds them to the problems of this
    /// path.
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
