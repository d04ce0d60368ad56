//! Defines the state that all calls of a process share: [`Workspace`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_text_editor_core::resolve;

use crate::access::patterns::Patterns;
use crate::access::roots::Roots;
use crate::durability::Durability;
use crate::history::History;
use crate::journal::{Journal, JournalOfMachines, Stuck};
use crate::lock::deferred_close::DeferredClose;
use crate::observer::Observer;
use crate::read::scan_cache::ScanCache;
use crate::stage::IN_MEMORY;
use crate::state_dir::StateDir;

/// The state that every call works with: the allowed directories, the caches, and how durable an edit is.
#[derive(Debug)]
pub struct Workspace {
    /// The allowed directories.
    pub(crate) roots: Roots,
    /// The scans of files (digest, encoding, positions of the lines) that are remembered between reads.
    pub(crate) scan_cache: ScanCache,
    /// The state directory, which has the journal (the plans of edits under way). Without any journal, edits
    /// that a crash could leave half done have a warning.
    pub(crate) state_dir: Option<StateDir>,
    /// The journal that several machines share. If it is set, the journal of the state directory is not used.
    pub(crate) shared: Option<Arc<dyn JournalOfMachines>>,
    /// The records (plans of single edits) in a shared journal for which a wait recently timed out.
    pub(crate) stuck: Stuck,
    /// The past edits.
    pub(crate) history: History,
    /// The files that the configuration wants overwritten in place, not replaced.
    pub(crate) in_place: Patterns,
    /// The failures that an acknowledged edit survives.
    pub(crate) durability: Durability,
    /// The reason why there is no state directory although one was configured, or although the history needs
    /// one; otherwise `None`.
    pub(crate) state_problem: Option<String>,
    /// Whether an edit has already warned of `state_problem`.
    pub(crate) has_warned: AtomicBool,
    /// The rules by which text matches, and the maximum amounts of text that an edit may replace and insert.
    pub(crate) matching: resolve::MatchOptions,
    /// The maximum number of bytes of a file, before and after an edit. Reads have no such limit.
    pub(crate) max_file_bytes: u64,
    /// The maximum number of bytes that an edit can remove, from all its files together, and still be kept in
    /// the history. These bytes are in memory during the edit. Always [`IN_MEMORY`], except in tests.
    pub(crate) max_kept_bytes: u64,
    /// The replaced files that are not closed yet.
    pub(crate) deferred_close: DeferredClose,
    /// The observer of events that the results of calls do not show.
    pub(crate) observer: Observer,
}

impl Workspace {
    /// Returns a workspace without a state directory.
    #[must_use]
    pub(crate) fn without_state(roots: Roots) -> Self {
        Self {
            roots,
            scan_cache: ScanCache::default(),
            state_dir: None,
            shared: None,
            stuck: Stuck::default(),
            history: History::default(),
            in_place: Patterns::default(),
            durability: Durability::default(),
            state_problem: None,
            has_warned: AtomicBool::new(false),
            matching: resolve::MatchOptions::default(),
            max_file_bytes: u64::MAX,
            max_kept_bytes: IN_MEMORY,
            deferred_close: DeferredClose::default(),
            observer: Observer::default(),
        }
    }

    /// Returns the journal, where transactions record their changes before they make them: the shared journal
    /// if there is one, otherwise the journal in the state directory; `None` if there is neither.
    pub(crate) fn journal(&self) -> Option<&dyn Journal> {
        let own = || self.state_dir.as_ref().map(|state| state as &dyn Journal);
        self.shared_journal().map(|shared| shared as &dyn Journal).or_else(own)
    }

    /// Returns the journal that this process shares with other machines, if there is one.
    pub(crate) fn shared_journal(&self) -> Option<&dyn JournalOfMachines> {
        self.shared.as_deref()
    }

    /// Returns the maximum time for which this machine may still see the old state of one of these files
    /// after another machine has changed it. Returns `None` if that time is unknown, or too long to wait for;
    /// this machine must then not recover a call that another machine left unfinished.
    pub(crate) fn cache_lifetime<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) -> Option<Duration> {
        let Some(shared) = &self.shared else { return Some(Duration::ZERO) };
        let lifetimes = paths.into_iter().map(|path| shared.cache_lifetime(path));
        lifetimes.collect::<Option<Vec<_>>>().map(|all| all.into_iter().max().unwrap_or_default())
    }

    /// Returns the reason why there is neither journal nor history, but only on the first call of this
    /// function. Returns `None` on later calls, if there is a journal, or if neither a state directory nor a
    /// history was configured.
    pub(crate) fn first_without_state(&self) -> Option<String> {
        let why = self.state_problem.as_ref().filter(|_| self.shared_journal().is_none())?;
        (!self.has_warned.swap(true, Ordering::Relaxed)).then(|| why.clone())
    }

    /// Returns the directory for the new content of files whose own directory is not writable. Returns `None`
    /// if there is a shared journal: a process of another machine, which may have to recover the call, would
    /// not find the content.
    pub(crate) fn content_dir(&self) -> Option<&StateDir> {
        self.state_dir.as_ref().filter(|_| self.shared_journal().is_none())
    }
}
