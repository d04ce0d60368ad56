//! A directory that machines share, with what the history has of it: [`KnownRoot`].

use std::path::PathBuf;
use std::time::SystemTime;

/// A directory by the name that it has on all machines, kept since its first use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownRoot {
    /// The name: given by a person, of a file system, or a machine's own.
    pub name: String,
    /// The time at which the first edit in it was kept, by the database's clock.
    pub since: SystemTime,
    /// The machine that kept that edit, by its own name; empty where it has none.
    pub made_by: String,
    /// Its places on this machine, in order; empty if nothing of it can be reached here.
    pub here: Vec<RootPlace>,
}

/// A part of a shared directory that this machine reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RootPlace {
    /// The place in the directory; empty for all of it.
    pub inside: PathBuf,
    /// Its absolute path on this machine.
    pub path: PathBuf,
}
