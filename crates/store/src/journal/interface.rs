//! The interface of a journal, wherever it is kept: [`Journal`], and [`JournalOfMachines`] of one that
//! several machines share. Its records have two forms: the owner has a [`Record`], and others find a
//! [`FoundRecord`].
//!
//! A record belongs to its owner as long as the owner lives; each implementation has its own way to tell. A
//! record whose owner is gone is *abandoned*, and one of those who find it may take it over.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::StoreError;
use crate::history::Archive;
use crate::journal::contents::{Contents, Step, Subject};

/// The place where transactions write down what they are about to do.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Writes down which files are to be changed. To be called before the first temporary is made. The error
    /// is [`StoreErrorKind::Changed`] if another record already names one of the files, which only a shared
    /// journal finds.
    ///
    /// [`StoreErrorKind::Changed`]: crate::error::StoreErrorKind::Changed
    fn begin(&self, subjects: &[Subject]) -> Result<Box<dyn Record>, StoreError>;

    /// Returns all records, in no order, except those that are just being begun.
    fn all(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;
}

/// A journal that processes of other machines use, too. They may take a record over while its owner still
/// runs, cut off from the journal.
pub trait JournalOfMachines: Journal {
    /// Tells whether an edit that cannot be written down in it is refused.
    fn is_needed(&self) -> bool;

    /// Fails with the reason why it cannot be written to right now, as far as is known; waits for nothing.
    fn check(&self) -> Result<(), String>;

    /// Returns the records that are abandoned and whose files may be half done. Answers at once where the
    /// journal is known to be out of reach.
    fn abandoned(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;

    /// Returns the records that name one of these files; without files, all records. Answers at once where
    /// the journal is known to be out of reach.
    fn naming(&self, files: Option<&[&Path]>) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;

    /// Returns the past edits of all machines.
    fn archive(&self) -> Box<dyn Archive>;

    /// Returns the longest time for which this machine may see a file as it was, although another machine
    /// has changed it; `None` if that is unknown, or too long to wait for.
    fn cache_lifetime(&self, path: &Path) -> Option<Duration>;

    /// Says which directories are the roots: where a file can be reached in several places, since a file
    /// system can be mounted twice, the place in one of them counts.
    fn prefer(&self, roots: &[PathBuf]);

    /// Returns the ports to which it connects.
    fn ports(&self) -> Vec<u16>;
}

/// The record of a transaction, as its owner has it. Dropping it removes it, so it may be dropped only once
/// its temporaries are gone and all files are what they were.
#[must_use = "dropping it says that nothing is left to be done"]
pub trait Record: fmt::Debug + Send {
    /// Writes down the step of each file, in the order of the subjects; with `sync`, this survives a power
    /// cut once it returns.
    fn prepared(&mut self, steps: &[Step], sync: bool) -> Result<(), StoreError>;

    /// Marks the transaction as committed: from here on recovery goes forward. An error means that it is not
    /// committed, unless [`Record::is_in_doubt`].
    fn committed(&mut self, sync: bool) -> Result<(), StoreError>;

    /// Checks that the record still belongs to its owner. To be called before each step that uses no
    /// temporary: whoever takes a shared record over first renames the temporaries, which makes all other
    /// steps fail.
    fn prove(&mut self) -> Result<(), StoreError>;

    /// Tells whether it is unknown if the record says *committed*. Then recovery acts on what it finds.
    fn is_in_doubt(&self) -> bool;

    /// Takes *committed* back: all files are to be what they were.
    fn take_back(&mut self, sync: bool) -> Result<(), StoreError>;

    /// Leaves it to be recovered.
    fn keep(self: Box<Self>);

    /// Removes it at the end of the transaction. If that fails, recovery finds it and has nothing left to do.
    fn remove(self: Box<Self>, sync: bool);
}

/// A record that somebody else may own.
pub trait FoundRecord: fmt::Debug {
    /// Returns its path, for messages; no two records have the same.
    fn path(&self) -> &Path;

    /// Returns its contents; they are empty if even its first part is not whole, in which case nothing was
    /// done.
    fn contents(&self) -> &Contents;

    /// Tells whether its owner is gone and no other process recovers it.
    fn is_abandoned(&self) -> bool;

    /// Tells whether it is still there, as far as is known now.
    fn is_there(&self) -> bool;

    /// Returns how often it was taken over; 0 where only one machine has it. All of its temporaries get this
    /// number in their names before anything else is done.
    fn epoch(&self) -> u32;

    /// Takes an abandoned record over, so that nobody else recovers it as long as this value lives. Returns
    /// whether that succeeded.
    fn take_over(&mut self) -> Result<bool, StoreError>;

    /// Checks that it still belongs to this process, which took it over. To be called before each step of
    /// recovery that uses no temporary, like [`Record::prove`].
    fn prove(&self) -> Result<(), StoreError>;

    /// Removes it once it is recovered; returns whether it is gone.
    fn remove(self: Box<Self>, sync: bool) -> bool;
}
