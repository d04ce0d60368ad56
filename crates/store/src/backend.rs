//! Exports everything that the crate `mcp-text-editor-cluster` needs to keep the state of several machines
//! elsewhere. This module is only for that crate, of the same version, and is not part of the public
//! interface.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::ambient_authority;

use crate::os::directory::Dir;
use crate::os::{self, clock};

pub use crate::access::place::DirectoryKey;
pub use crate::history::{Archive, Caller, Chains, EditedFile, MoveSince, NewEdit, decode, encode};
pub use crate::journal::{
    ContentChange, Contents, FoundRecord, Intent, Journal, JournalOfMachines, Naming, Record, Step, Subject,
    first_part, with_steps,
};
pub use crate::os::identity::FileKey;
pub use crate::stage::TemporaryId;

/// Returns a path as bytes, which another process of this system can convert back with [`path_of`]; `None` if
/// the system cannot represent the path as bytes.
#[must_use]
pub fn bytes_of(path: &Path) -> Option<&[u8]> {
    os::bytes_of(path)
}

/// Returns the path from the bytes that [`bytes_of`] returned; `None` if the bytes are not a path.
#[must_use]
pub fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    os::path_of(bytes)
}

/// Returns the current time, by the clock from which files get their timestamps.
#[must_use]
pub fn now() -> SystemTime {
    clock::now()
}

/// Returns the kind of the network file system that contains a path, or would contain a missing path; `None`
/// if the file system is local.
pub fn network_file_system(path: &Path) -> io::Result<Option<&'static str>> {
    let opened = path.ancestors().find_map(|above| Dir::open_ambient_dir(above, ambient_authority()).ok());
    os::network_file_system(&opened.ok_or(io::ErrorKind::NotFound)?)
}
