//! Configures a workspace, once for all calls: [`WorkspaceBuilder`].
//!
//! Makes the kernel confine the process, as a second protection in addition to the checks of paths.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::landlock::{self, Beyond, Confinement, Network};
use crate::access::patterns::Patterns;
use crate::access::policy::{FileList, Policy};
use crate::access::roots::Roots;
use crate::access::unserved::{ConfiguredDirectory, Unserved};
use crate::durability::Durability;
use crate::error::StoreError;
use crate::history::{History, Settings};
use crate::journal::JournalOfMachines;
use crate::observer::Observer;
use crate::state_dir::StateDir;
use crate::workspace::Workspace;

/// Configures where a [`Workspace`] is allowed to read and write, and how durable its edits are.
///
/// Nothing is opened before [`WorkspaceBuilder::build`]. Without a state directory or a shared journal, there
/// is no undo, and no recovery of interrupted edits. Even then, a single file is replaced as a whole or not
/// at all, and warnings in the results say what is missing.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing before `build`"]
pub struct WorkspaceBuilder {
    roots: Vec<ConfiguredDirectory>,
    unserved: Vec<Unserved>,
    read_only: bool,
    unprotected_all: bool,
    protected: Patterns,
    protected_files: FileList,
    unprotected: Patterns,
    in_place: Patterns,
    state_directory: Option<PathBuf>,
    shared: Option<Arc<dyn JournalOfMachines>>,
    history: Option<Settings>,
    durability: Durability,
    strict: bool,
    home: Option<PathBuf>,
    max_file_bytes: Option<u64>,
    max_occurrences: Option<u64>,
    max_inserted_bytes: Option<u64>,
    observer: Observer,
}

impl WorkspaceBuilder {
    /// Adds a root: allows a directory and everything below it. Can be called repeatedly; duplicates and
    /// nested directories are allowed.
    pub fn root(mut self, directory: impl Into<PathBuf>) -> Self {
        let path = directory.into();
        self.roots.push(ConfiguredDirectory { named: path.clone(), path });
        self
    }

    /// Adds roots, each with its path as a person wrote it. `unserved` are directories that are already known
    /// not to be served.
    pub fn roots(mut self, wanted: Vec<ConfiguredDirectory>, unserved: Vec<Unserved>) -> Self {
        self.roots.extend(wanted);
        self.unserved.extend(unserved);
        self
    }

    /// Refuses every write if `read_only` is true.
    pub fn read_only(self, read_only: bool) -> Self {
        Self { read_only, ..self }
    }

    /// Protects matching files from writes, in addition to `.git` and the files that make clients start
    /// programs ([`CLIENT_FILES`](crate::CLIENT_FILES)). A pattern with a slash is relative to a root.
    pub fn protect(self, patterns: Patterns) -> Self {
        Self { protected: patterns, ..self }
    }

    /// Protects the files that `list` returns from writes, whatever root they are in. They are configuration
    /// files of clients, which name programs that the clients start. They need not exist. `list` is called at
    /// the first write. Like other client files, they are not protected if they match
    /// [`WorkspaceBuilder::unprotect`].
    pub fn protect_files(self, list: impl Fn() -> Vec<PathBuf> + Send + Sync + 'static) -> Self {
        Self { protected_files: FileList(Arc::new(list)), ..self }
    }

    /// Removes the default protection from matching files. [`WorkspaceBuilder::protect`] takes precedence.
    pub fn unprotect(self, patterns: Patterns) -> Self {
        Self { unprotected: patterns, ..self }
    }

    /// Removes every protection from all files, except [`WorkspaceBuilder::read_only`]. This is for actions
    /// of a person, not of a model.
    pub fn unprotect_all(self) -> Self {
        Self { unprotected_all: true, ..self }
    }

    /// Overwrites matching files in place instead of replacing them. This is for files that a container or
    /// another program keeps open or mounted.
    pub fn in_place(self, patterns: Patterns) -> Self {
        Self { in_place: patterns, ..self }
    }

    /// Keeps the journal (the plans of edits under way, for recovery) and the history in this directory. The
    /// directory is created with mode 0700, and refused if other users can write to it. No file in it can be
    /// read or written through the workspace.
    pub fn state_directory(self, directory: impl Into<PathBuf>) -> Self {
        Self { state_directory: Some(directory.into()), ..self }
    }

    /// Keeps the journal, and the history if there is one, in `journal` instead of the state directory. Other
    /// machines that serve the same files share this journal, and each machine recovers the calls that
    /// another machine left unfinished. The crate `mcp-text-editor-cluster` implements such a journal.
    pub fn shared(self, journal: Arc<dyn JournalOfMachines>) -> Self {
        Self { shared: Some(journal), ..self }
    }

    /// Keeps past edits, which can then be undone. Needs a state directory and the feature `history`, or a
    /// journal that is [shared](WorkspaceBuilder::shared).
    pub fn history(self, settings: Settings) -> Self {
        Self { history: Some(settings), ..self }
    }

    /// Chooses which failures an edit survives after its reply.
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Sets the directory that clients mean by `~`. The error for a path with `~` then names the file that
    /// was meant. The directory does not become a root.
    pub fn home(self, directory: Option<PathBuf>) -> Self {
        Self { home: directory, ..self }
    }

    /// Requires, if `strict` is true, that text matches exactly, including spaces and tabs at line ends.
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Refuses edits of files that have, or would get, more bytes. Reads have no such limit, since their
    /// memory does not grow with the file.
    pub fn max_file_bytes(self, bytes: u64) -> Self {
        Self { max_file_bytes: Some(bytes), ..self }
    }

    /// Refuses an edit whose patches with `replace_all` would together replace more than this number of
    /// occurrences in one file, and a [`Workspace::replace`] that would replace more than this number in all
    /// files together.
    pub fn max_occurrences(self, occurrences: u64) -> Self {
        Self { max_occurrences: Some(occurrences), ..self }
    }

    /// Refuses to insert more than this number of bytes of new text into one file; a text that is inserted at
    /// several places counts once for each place.
    pub fn max_inserted_bytes(self, bytes: u64) -> Self {
        Self { max_inserted_bytes: Some(bytes), ..self }
    }

    /// Sets the observer, which is notified of events that the results of calls do not show.
    pub fn observer(self, observer: Observer) -> Self {
        Self { observer, ..self }
    }

    /// Opens all roots and the state directory. Fails at the first root that cannot be opened, or if the
    /// state directory cannot be opened.
    ///
    /// Does not recover interrupted edits; [`Workspace::recover`] does.
    pub fn build(self) -> Result<Workspace, StoreError> {
        let roots = Roots::open_with(&self.root_paths(), self.policy())?;
        let state = self.state_directory.as_deref().map(StateDir::open).transpose()?;
        Ok(self.finish(roots, state.map(Ok)))
    }

    /// Opens all roots, and the state directory if possible. If the state directory cannot be opened, the
    /// workspace has none, and [`Workspace::state_problem`] says why.
    pub fn build_without_state_at_need(self) -> Result<Workspace, StoreError> {
        let roots = Roots::open_with(&self.root_paths(), self.policy())?;
        let state = self.state_directory.as_deref().map(StateDir::open);
        Ok(self.finish(roots, state))
    }

    /// Opens the roots that can be opened. [`Workspace::unserved`] returns the other directories, and the
    /// error of each call that names a file in one of them gives the reason. If the state directory cannot be
    /// opened, [`Workspace::state_problem`] says why.
    #[must_use]
    pub fn build_what_is_there(mut self) -> Workspace {
        let unserved = std::mem::take(&mut self.unserved);
        let roots = Roots::open_what_is_there(&self.roots, unserved, self.policy());
        let state = self.state_directory.as_deref().map(StateDir::open);
        self.finish(roots, state)
    }

    fn root_paths(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.path.clone()).collect()
    }

    fn policy(&self) -> Policy {
        let base = if self.unprotected_all { Policy::unprotected() } else { Policy::default() };
        let paths = self.root_paths();
        let policy = base
            .read_only(self.read_only)
            .protecting_files(self.protected_files.clone())
            .protecting(self.protected.clone().from_roots(&paths))
            .exempting(self.unprotected.clone().from_roots(&paths));
        match &self.state_directory {
            Some(directory) => policy.closing(directory),
            None => policy,
        }
    }

    fn finish(mut self, roots: Roots, state: Option<Result<StateDir, StoreError>>) -> Workspace {
        let paths: Vec<PathBuf> = roots.paths().map(Path::to_owned).collect();
        let mut workspace = Workspace::without_state(roots.at_home(self.home));
        workspace.in_place = self.in_place.from_roots(&paths);
        workspace.durability = self.durability;
        workspace.observer = self.observer;
        if let Some(settings) = &mut self.history {
            settings.excluded = std::mem::take(&mut settings.excluded).from_roots(&paths);
        }
        if let Some(shared) = &self.shared {
            shared.prefer(&paths);
            if let Some(settings) = self.history.take() {
                workspace.history = History::of_archive(shared.archive(), settings);
            }
        }
        workspace.shared = self.shared;
        workspace.matching.strict = self.strict;
        workspace.max_file_bytes = self.max_file_bytes.unwrap_or(workspace.max_file_bytes);
        workspace.matching.max_occurrences =
            self.max_occurrences.unwrap_or(workspace.matching.max_occurrences);
        workspace.matching.max_inserted = self.max_inserted_bytes.unwrap_or(workspace.matching.max_inserted);
        match state {
            Some(Ok(state)) => {
                if let Some(settings) = self.history {
                    workspace.history = History::new(&state, settings);
                }
                workspace.state_dir = Some(state);
            }
            Some(Err(error)) => {
                let why = error.source.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                let reason = format!("the state directory {} cannot be used{why}", error.path.display());
                if self.history.is_some() {
                    workspace.history = History::without_state(reason.clone());
                }
                workspace.state_problem = Some(reason);
            }
            None if self.history.is_some() => {
                let reason = "there is no state directory".to_owned();
                workspace.history = History::without_state(reason.clone());
                workspace.state_problem = Some(reason);
            }
            None => {}
        }
        workspace
    }
}

impl Workspace {
    /// Makes the kernel confine this thread, and all threads that it starts, as far as the kernel can
    /// (Landlock). The threads can then access only the roots (only for reading, if writing is not allowed)
    /// and the state directory. `network` tells whether they can use TCP. If there is a shared database, they
    /// can always resolve host names and connect to the database. The confinement cannot be undone. Must be
    /// called before any other thread starts, and after all files elsewhere are open. If the kernel returns
    /// an error, nothing is confined.
    pub fn confine(&self, network: Network) -> io::Result<Confinement> {
        landlock::confine(
            &self.roots,
            self.state_dir.as_ref().map(crate::state_dir::StateDir::directory),
            network,
            self.beyond().as_ref(),
        )
    }

    /// Returns the access that is needed to reconnect to the shared database; `None` if there is none.
    fn beyond(&self) -> Option<Beyond> {
        self.shared.as_ref().map(|shared| Beyond { ports: shared.ports() })
    }
}
