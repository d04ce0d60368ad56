//! The names of directories on all machines: [`RootNames`] returns the shared name of a path, and the path of
//! a shared name on this machine.
//!
//! A name is given by a person, or is made of a network file system and the place in it, or else is this
//! machine's own. Two directories never get the same name here. One directory can have several names, where
//! machines spell its server differently. Nothing here looks at files. This module also tells whether the
//! locks of a mount hold among machines, and how late it shows what other machines change.

mod caches;
mod locks;
mod mount;
mod mounts;
mod name;
mod names;
#[cfg(test)]
mod tests;

pub use caches::Caches;
pub use locks::FileLocks;
pub use name::{BadRootName, RootName, RootNameTaken, SharedPath};
pub use names::RootNames;
