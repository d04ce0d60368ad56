//! Defines the interface of journals, wherever they are stored: [`Journal`], and [`JournalOfMachines`] for a
//! journal that several machines share. A record has two interfaces: its owner has a [`Record`], and other
//! processes find a [`FoundRecord`].
//!
//! A record belongs to its owner, the process that began it, as long as the owner runs; each implementation
//! has its own way to find that out. A record whose owner is gone is *abandoned*, and one of the processes
//! that find the record can take it over.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::StoreError;
use crate::history::Archive;
use crate::journal::contents::{Contents, Step, Subject};

/// The place where transactions record their changes before they make them.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Records which files are to be changed. Must be called before the first temporary file is created. The
    /// error is [`StoreErrorKind::Changed`] if another record already names one of the files; only a shared
    /// journal checks that.
    ///
    /// [`StoreErrorKind::Changed`]: crate::error::StoreErrorKind::Changed
    fn begin(&self, subjects: &[Subject]) -> Result<Box<dyn Record>, StoreError>;

    /// Returns all records in arbitrary order, except records whose creation is not complete.
    fn all(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;
}

/// A journal that processes of other machines use, too. If a record's owner is disconnected from the journal,
/// another process can take the record over while the owner still runs.
pub trait JournalOfMachines: Journal {
    /// Tells whether edits that cannot be recorded in this journal are refused.
    fn is_needed(&self) -> bool;

    /// Fails if the journal is known to be unwritable right now; the error is the reason. Never waits.
    fn check(&self) -> Result<(), String>;

    /// Returns the abandoned records whose files may be partly changed. Returns at once if the journal is
    /// known to be unreachable.
    fn abandoned(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;

    /// Returns the records that name one of these files; if `files` is `None`, all records. Returns at once
    /// if the journal is known to be unreachable.
    fn naming(&self, files: Option<&[&Path]>) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;

    /// Returns the history of the edits of all machines.
    fn archive(&self) -> Box<dyn Archive>;

    /// Returns the maximum time for which this machine may still see the old state of a file that another
    /// machine has changed; `None` if that is unknown, or too long to wait for.
    fn cache_lifetime(&self, path: &Path) -> Option<Duration>;

    /// Sets the roots. If a file has several paths, because its file system is mounted twice, the journal
    /// uses the path in one of the roots.
    fn prefer(&self, roots: &[PathBuf]);

    /// Returns the network ports to which the journal connects.
    fn ports(&self) -> Vec<u16>;
}

/// The record of a transaction, for its owner. Dropping this value removes the record, so it must be dropped
/// only once the transaction's temporary files are gone and all files are in their old state.
#[must_use = "dropping it says that nothing is left to be done"]
pub trait Record: fmt::Debug + Send {
    /// Records the step of each file, in the order of the subjects. With `sync`, the steps survive a power
    /// cut once this function has returned.
    fn prepared(&mut self, steps: &[Step], sync: bool) -> Result<(), StoreError>;

    /// Marks the transaction as committed: from now on, recovery completes it. After an error, the
    /// transaction is not committed, unless [`Record::is_in_doubt`] returns `true`.
    fn committed(&mut self, sync: bool) -> Result<(), StoreError>;

    /// Checks that the record still belongs to its owner. Must be called before each step that uses no
    /// temporary file. The other steps need no check: a process that takes over a shared record renames the
    /// temporary files first, which makes those steps fail.
    fn prove(&mut self) -> Result<(), StoreError>;

    /// Tells whether it is unknown if the record says *committed*. If it is, recovery decides by what it
    /// reads in the record.
    fn is_in_doubt(&self) -> bool;

    /// Removes *committed* from the record: all files are to get their old state back.
    fn take_back(&mut self, sync: bool) -> Result<(), StoreError>;

    /// Leaves the record in the journal, for recovery.
    fn keep(self: Box<Self>);

    /// Removes the record at the end of the transaction. If that fails, recovery finds the record and has
    /// nothing left to do.
    fn remove(self: Box<Self>, sync: bool);
}

/// A record that another process may own.
pub trait FoundRecord: fmt::Debug {
    /// Returns the record's path, for messages. Each record has a unique path.
    fn path(&self) -> &Path;

    /// Returns the record's contents. They are empty if even the first part is incomplete. In that case, no
    /// file was changed.
    fn contents(&self) -> &Contents;

    /// Tells whether the record's owner is gone and no other process is recovering it.
    fn is_abandoned(&self) -> bool;

    /// Tells whether the record still exists, as far as is known now.
    fn is_there(&self) -> bool;

    /// Returns how often the record was taken over; always 0 in the journal of one machine. Recovery first
    /// renames all temporary files of the record so that their names contain this number.
    fn epoch(&self) -> u32;

    /// Takes an abandoned record over: nobody else recovers it as long as this value exists. Returns whether
    /// that succeeded.
    fn take_over(&mut self) -> Result<bool, StoreError>;

    /// Checks that the record still belongs to this process, which took it over. Like [`Record::prove`], must
    /// be called before each step of recovery that uses no temporary file.
    fn prove(&self) -> Result<(), StoreError>;

    /// Removes the record once it is recovered. Returns whether it is gone.
    fn remove(self: Box<Self>, sync: bool) -> bool;
}
