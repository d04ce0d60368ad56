//! Names that are valid on all machines: [`RootName`], [`SharedPath`].

use std::fmt;
use std::path::{Path, PathBuf};

use mcp_text_editor_store::backend as os;

/// The name of a directory on all machines that reach it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RootName(String);

/// The error for a text that cannot be the name of a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a name has 1 to 64 letters, digits, `.`, `-` or `_`, and begins with a letter or a digit")]
pub struct BadRootName;

/// The error if the name belongs to another directory, or the directory has another name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the name {name} and the directory {} are each given once: two directories of one name would be taken for one", directory.display())]
pub struct RootNameTaken {
    /// The name.
    pub name: RootName,
    /// The directory's path, without symbolic links.
    pub directory: PathBuf,
}

/// The prefix of names that only one machine knows.
const OF_MACHINE: &str = "machine:";

impl RootName {
    /// Parses a name that a person gives to a directory. It has no colon, so it never equals a name that this
    /// program generates.
    pub fn given(name: &str) -> Result<Self, BadRootName> {
        let begins = name.starts_with(|first: char| first.is_ascii_alphanumeric());
        let fits = |one: u8| one.is_ascii_alphanumeric() || matches!(one, b'.' | b'-' | b'_');
        if begins && name.len() <= 64 && name.bytes().all(fits) {
            Ok(Self(name.to_owned()))
        } else {
            Err(BadRootName)
        }
    }

    /// Returns the name of the directory tree that a file server exports by this protocol.
    pub(super) fn of_server(protocol: &str, server: &str) -> Self {
        Self(format!("{protocol}:{server}"))
    }

    /// Returns the name of the directory tree of one machine, given the machine's name.
    pub(super) fn of_machine(name: &str) -> Self {
        Self(format!("{OF_MACHINE}{name}"))
    }

    /// Returns a name that was read from the shared database.
    #[must_use]
    pub fn kept(name: String) -> Self {
        Self(name)
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether other machines know the directory by this name, too.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !self.0.starts_with(OF_MACHINE)
    }
}

impl fmt::Display for RootName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A path that names the same file on all machines.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SharedPath {
    /// The directory.
    pub root: RootName,
    /// The path in the directory; empty for the directory itself.
    pub relative: PathBuf,
}

impl SharedPath {
    /// Returns the path as unique bytes; `None` if it cannot be expressed in bytes on this system.
    #[must_use]
    pub fn key(&self) -> Option<Vec<u8>> {
        let relative = os::bytes_of(&self.relative)?;
        Some([self.root.as_str().as_bytes(), b"\0", relative].concat())
    }
}

impl SharedPath {
    /// Returns the path of a key; `None` if the bytes are not a key.
    pub(crate) fn of_key(key: &[u8]) -> Option<Self> {
        let (root, relative) = key.split_at_checked(key.iter().position(|byte| *byte == 0)?)?;
        let root = RootName(String::from_utf8(root.to_vec()).ok()?);
        Some(Self { root, relative: os::path_of(relative.get(1..)?.to_vec())? })
    }
}

impl fmt::Display for SharedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]/{}", self.root, self.relative.display())
    }
}

/// Joins paths. If `rest` is empty, adds no separator, since a path that ends with one can only be a
/// directory's.
pub(super) fn joined(directory: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { directory.to_owned() } else { directory.join(rest) }
}
