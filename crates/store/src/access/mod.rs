//! Turns a client's path into a handle. Knows the allowed directories (roots), the files in them that must
//! not be written, and the directories that must not even be read.

mod aliases;
pub(crate) mod client_files;
pub(crate) mod landlock;
#[cfg(feature = "simulation")]
mod no_containment;
pub(crate) mod patterns;
pub(crate) mod place;
pub(crate) mod policy;
pub(crate) mod protection;
pub(crate) mod roots;
mod spelling;
pub(crate) mod suggested;
pub(crate) mod unserved;
mod walk;
pub(crate) mod windows_paths;
