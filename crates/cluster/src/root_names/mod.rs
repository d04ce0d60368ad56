//! The names of directories on all machines: [`RootNames`] returns the shared name of a path, and the path of
//! a shared name on this machine.
//!
//! A name is given by a person, or it is derived from a network file system and the path in it, or else it is
//! valid only on this machine. Two directories never get the same name. One directory can have several names,
//! if machines spell its server differently. This module does not access the named files. It also finds out
//! whether the locks of a mount hold between machines, and how long the mount can hide the changes of other
//! machines.

mod caches;
mod mount;
mod name;
mod names;
#[cfg(test)]
mod tests;

pub use caches::Caches;
pub use caches::FileLocks;
pub use name::{BadRootName, RootName, RootNameTaken, SharedPath};
pub use names::RootNames;
