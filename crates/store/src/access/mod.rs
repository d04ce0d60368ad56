//! From a client's path to a handle: the allowed directories, and what in them may not be written, or not even be read.

mod aliases;
pub mod client_files;
pub(crate) mod directory;
pub mod landlock;
#[cfg(feature = "without-containment")]
mod no_containment;
pub mod patterns;
pub mod place;
pub mod policy;
pub mod protection;
pub mod roots;
mod spelling;
pub mod unserved;
