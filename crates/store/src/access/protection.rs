//! The reasons why a file may be read but not written: [`Protection`]. Which files those are is decided by
//! [`crate::access::policy`].

use crate::access::client_files::ClientFile;

/// The reason why a file may be read but not written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Protection {
    /// Nothing may be written at all.
    ReadOnly,
    /// It is `.git`, or lies below it: a program named in its configuration, or a hook, runs when a person
    /// uses git.
    Git,
    /// It is a file by which a client starts programs, or is below such a directory.
    ClientFile(&'static ClientFile),
    /// It is a person's own configuration of a client, which names the programs that the client starts.
    OwnConfiguration,
    /// It matches this pattern of the configuration.
    Pattern(String),
}
