//! The names of directories on all machines: [`RootNames`] tells the shared name of a path, and the path of a
//! shared name here.
//!
//! A name is a person's word for a directory, or a network file system and the place in it, or else this
//! machine's own. Two directories never get one name by what is told here; one directory can have several,
//! where machines spell its server otherwise. Nothing here looks at files. What a mount says of its locks is
//! told here, too, since machines share more than names.

mod locks;
mod mount;
mod name;
mod names;
#[cfg(test)]
mod tests;

pub use locks::FileLocks;
pub use name::{BadRootName, RootName, RootNameTaken, SharedPath};
pub(crate) use names::RootNames;
