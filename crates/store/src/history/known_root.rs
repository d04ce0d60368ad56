//! A directory that several machines share, as the history knows it: [`KnownRoot`].

use std::path::PathBuf;
use std::time::SystemTime;

/// A directory that the history knows by a name that is the same on all machines. The history keeps the name
/// from the first edit in the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownRoot {
    /// The name: given by a person, or that of a file system, or one that only this machine uses.
    pub name: String,
    /// The time of the first kept edit in the directory, by the database's clock.
    pub since: SystemTime,
    /// The name of the machine that kept that edit; empty if it has none.
    pub made_by: String,
    /// The parts of the directory on this machine, in order; empty if this machine reaches no part.
    pub here: Vec<RootPlace>,
}

/// A part of a shared directory that this machine reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RootPlace {
    /// The path of the part in the shared directory; empty for the whole directory.
    pub inside: PathBuf,
    /// Its absolute path on this machine.
    pub path: PathBuf,
}
