//! Defines a shared directory as the history knows it: [`KnownRoot`].

use std::path::PathBuf;
use std::time::SystemTime;

/// A directory with edits in a history that several machines share. The machines recognise the directory by
/// its name, which the history stores at the first edit in the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownRoot {
    /// The directory's name: a name that a person gave, the name of a file system, or a name that only one
    /// machine uses.
    pub name: String,
    /// The time of the first kept edit in the directory, by the database's clock.
    pub since: SystemTime,
    /// The name of the machine that kept that first edit; empty if the machine has no name.
    pub made_by: String,
    /// The parts of the directory that this machine reaches, in order; empty if this machine reaches no part.
    pub here: Vec<RootPlace>,
}

/// A part of a shared directory that this machine reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RootPlace {
    /// The path of the part in the shared directory; empty for the whole directory.
    pub inside: PathBuf,
    /// The part's absolute path on this machine.
    pub path: PathBuf,
}
