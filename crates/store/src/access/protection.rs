//! Defines the reasons why a file may be read but not written: [`Protection`]. [`crate::access::policy`]
//! decides which files have one.

use crate::access::client_files::ClientFile;

/// The reason why a file may be read but not written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Protection {
    /// Nothing may be written at all.
    ReadOnly,
    /// The file is `.git`, or lies below it. When a person uses git, hooks run, and so do programs that git's
    /// configuration names.
    Git,
    /// The file, or the directory that it lies in, tells a client which programs to start.
    ClientFile(&'static ClientFile),
    /// The file is a person's own configuration of a client, which names the programs that the client starts.
    OwnConfiguration,
    /// The file matches this pattern of the configuration.
    Pattern(String),
}
