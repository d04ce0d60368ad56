//! The interface of a journal, wherever it is kept: [`Journal`], and its records, as their owner has them,
//! [`Record`], and as others find them, [`FoundRecord`].
//!
//! A record belongs to its owner as long as that lives; how this is told is the implementation's. A record
//! whose owner is gone is *abandoned*, and one of those who find it may take it over.

use std::fmt;
use std::path::Path;

use crate::error::StoreError;
use crate::journal::contents::{Contents, Step, Subject};

/// The place where transactions write down what they are about to do.
pub(crate) trait Journal: fmt::Debug + Send + Sync {
    /// Tells whether processes of other machines have it, too, who may take a record over while its owner
    /// goes on, cut off from it.
    fn is_shared(&self) -> bool;

    /// Tells whether an edit that cannot be written down in it is refused.
    fn is_needed(&self) -> bool;

    /// Tells why it cannot be written to right now, as far as is known; waits for nothing.
    fn check(&self) -> Result<(), String>;

    /// Writes down which files are to be changed. To be called before the first temporary is made.
    /// [`StoreErrorKind::Changed`] if another record names one of them already, which only a shared journal
    /// finds.
    ///
    /// [`StoreErrorKind::Changed`]: crate::error::StoreErrorKind::Changed
    fn begin(&self, subjects: &[Subject]) -> Result<Box<dyn Record>, StoreError>;

    /// Returns all records but those that are being begun, in no order.
    fn all(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;

    /// Returns the records of a shared journal that nobody has any more. Answers at once where it is known
    /// that it cannot be asked.
    fn abandoned(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;

    /// Returns the records of a shared journal that name one of these files; without files, all records.
    /// Answers at once where it is known that it cannot be asked.
    fn naming(&self, files: Option<&[&Path]>) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;
}

/// The record of a transaction, as its owner has it. Dropping it removes it, as is due once its temporaries
/// are gone and all files are what they were.
#[must_use = "dropping it says that nothing is left to be done"]
pub(crate) trait Record: fmt::Debug + Send {
    /// Writes down the step of each file, in the order of the subjects; with `sync` this survives the end of
    /// the machine when it returns.
    fn prepared(&mut self, steps: &[Step], sync: bool) -> Result<(), StoreError>;

    /// Marks the transaction as committed: from here on recovery goes forward. An error says that it is not,
    /// unless [`Record::is_in_doubt`].
    fn committed(&mut self, sync: bool) -> Result<(), StoreError>;

    /// Proves that its owner has it still. Due before each step that goes by no temporary: whoever takes a
    /// shared record over takes those away first, and so all other steps.
    fn prove(&mut self) -> Result<(), StoreError>;

    /// Tells whether it is unknown if the word *committed* is in it. Recovery goes by what it finds then.
    fn is_in_doubt(&self) -> bool;

    /// Takes *committed* back: all files are to be what they were.
    fn take_back(&mut self, sync: bool) -> Result<(), StoreError>;

    /// Leaves it to be recovered.
    fn keep(self: Box<Self>);

    /// Removes it at the end of the transaction. If that fails, recovery finds it and has nothing left to do.
    fn remove(self: Box<Self>, sync: bool);
}

/// A record that somebody else may own.
pub(crate) trait FoundRecord: fmt::Debug {
    /// Returns where it is, for messages; no two records have the same.
    fn path(&self) -> &Path;

    /// Returns what it says; empty if even its first part is not whole, in which case nothing was done.
    fn contents(&self) -> &Contents;

    /// Tells whether its owner is gone, and nobody recovers it.
    fn is_abandoned(&self) -> bool;

    /// Tells whether it is there still, as far as can be seen now.
    fn is_there(&self) -> bool;

    /// Returns how often it was taken over; 0 where only one machine has it. All of its temporaries are to
    /// have this in their names before anything else is done.
    fn epoch(&self) -> u32;

    /// Takes an abandoned record over, so that nobody else recovers it as long as this lives; whether that
    /// could be had.
    fn take_over(&mut self) -> Result<bool, StoreError>;

    /// Proves that it is still this process's that took it over. Due before each step of recovery that goes
    /// by no temporary, as [`Record::prove`] is.
    fn prove(&self) -> Result<(), StoreError>;

    /// Removes it once it is recovered; returns whether it is gone.
    fn remove(self: Box<Self>, sync: bool) -> bool;
}
