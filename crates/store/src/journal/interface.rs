//! The interface of a journal, independent of where it is kept: [`Journal`], and [`JournalOfMachines`] for a
//! journal that several machines share. A record has two interfaces: its owner has a [`Record`], and other
//! processes find a [`FoundRecord`].
//!
//! A record belongs to its owner as long as the owner lives; each implementation has its own way to find that
//! out. A record whose owner is gone is *abandoned*, and one of the processes that find it may take it over.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::StoreError;
use crate::history::Archive;
use crate::journal::contents::{Contents, Step, Subject};

/// The place where transactions record their changes before they make them.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Records which files are to be changed. Must be called before the first temporary is created. The error
    /// is [`StoreErrorKind::Changed`] if another record already names one of the files; only a shared journal
    /// checks that.
    ///
    /// [`StoreErrorKind::Changed`]: crate::error::StoreErrorKind::Changed
    fn begin(&self, subjects: &[Subject]) -> Result<Box<dyn Record>, StoreError>;

    /// Returns all records in arbitrary order, except records whose creation is not complete.
    fn all(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;
}

/// A journal that processes of other machines use, too. They may take a record over while its owner still
/// runs, if the owner is disconnected from the journal.
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

    /// Tells the journal the roots. If a file has several paths, because its file system is mounted twice,
    /// its path in one of the roots is used.
    fn prefer(&self, roots: &[PathBuf]);

    /// Returns the network ports to which the journal connects.
    fn ports(&self) -> Vec<u16>;
}

/// The record of a transaction, for its owner. Dropping it removes the record, so it may be dropped only once
/// the transaction's temporaries are gone and all files are in their old state.
#[must_use = "dropping it says that nothing is left to be done"]
pub trait Record: fmt::Debug + Send {
    /// Records the step of each file, in the order of the subjects. With `sync`, the steps survive a power
    /// cut once this returns.
    fn prepared(&mut self, steps: &[Step], sync: bool) -> Result<(), StoreError>;

    /// Marks the transaction as committed: from here on, recovery completes it. An error means that it is not
    /// committed, unless [`Record::is_in_doubt`].
    fn committed(&mut self, sync: bool) -> Result<(), StoreError>;

    /// Checks that the record still belongs to its owner. Must be called before each step that uses no
    /// temporary. The other steps need no check: a process that takes over a shared record renames the
    /// temporaries first, which makes those steps fail.
    fn prove(&mut self) -> Result<(), StoreError>;

    /// Tells whether it is unknown if the record says *committed*. Then recovery decides by what it reads.
    fn is_in_doubt(&self) -> bool;

    /// Removes *committed* from the record: all files are to get their old state back.
    fn take_back(&mut self, sync: bool) -> Result<(), StoreError>;

    /// Leaves the record for recovery.
    fn keep(self: Box<Self>);

    /// Removes the record at the end of the transaction. If that fails, recovery finds the record and has
    /// nothing left to do.
    fn remove(self: Box<Self>, sync: bool);
}

/// A record that another process may own.
pub trait FoundRecord: fmt::Debug {
    /// Returns the record's path, for messages. It is unique.
    fn path(&self) -> &Path;

    /// Returns the record's contents. They are empty if even the first part is incomplete; then no file was
    /// changed.
    fn contents(&self) -> &Contents;

    /// Tells whether the record's owner is gone and no other process is recovering it.
    fn is_abandoned(&self) -> bool;

    /// Tells whether the record still exists, as far as is known now.
    fn is_there(&self) -> bool;

    /// Returns how often the record was taken over; 0 if only one machine has it. Recovery first renames all
    /// temporaries of the record so that their names contain this number.
    fn epoch(&self) -> u32;

    /// Takes an abandoned record over, so that nobody else recovers it as long as this value lives. Returns
    /// whether that succeeded.
    fn take_over(&mut self) -> Result<bool, StoreError>;

    /// Checks that the record still belongs to this process, which took it over. Must be called before each
    /// step of recovery that uses no temporary, like [`Record::prove`].
    fn prove(&self) -> Result<(), StoreError>;

    /// Removes the record once it is recovered. Returns whether it is gone.
    fn remove(self: Box<Self>, sync: bool) -> bool;
}
