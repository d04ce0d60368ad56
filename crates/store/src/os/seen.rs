//! Defines the facts that a platform returns about a name or a file: [`Seen`], [`Looked`], [`SpecialFile`],
//! [`Attributes`], [`LostMetadata`].

#[cfg(not(windows))]
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Extended attributes: values by name.
#[cfg(not(windows))]
pub(crate) type Attributes = BTreeMap<Vec<u8>, Vec<u8>>;

/// The facts about the file with a name; a link is not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) is_link: bool,
    /// Device and inode; `None` if the platform cannot determine them by a name.
    pub(crate) key: Option<(u64, u64)>,
    /// The number of the file's names (hard links), as far as the platform reports it.
    pub(crate) links: u64,
}

/// The parts of a file's metadata that its replacement, a new file, could not get.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[must_use]
#[expect(clippy::struct_excessive_bools, reason = "each is the answer to a question of its own")]
pub(crate) struct LostMetadata {
    /// The owner is different.
    pub(crate) owner: bool,
    /// The group is different. The group's permissions are then reduced to those of everybody, and the set-id
    /// bits are cleared.
    pub(crate) group: bool,
    /// An extended attribute, or the access control list, is missing or different. The group's permissions
    /// are then reduced in the same way, since the list can have granted the group less than the mode shows.
    /// On Windows, this includes the integrity label, the file attributes and the creation time.
    pub(crate) attributes: bool,
    /// An alternate stream is missing (Windows).
    pub(crate) streams: bool,
}

/// The facts about the file at a path; a link at the path's end is not followed.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    /// Whether the file is a directory, or the mount point of a volume.
    pub(crate) is_directory: bool,
    pub(crate) is_link: bool,
    /// Device and inode; `None` if the platform cannot determine them.
    pub(crate) key: Option<(u64, u64)>,
    /// The last name of the path as its directory lists it; `None` if the platform would have to list the
    /// directory.
    pub(crate) name: Option<OsString>,
}

/// The kind of a file that is neither a regular file, a directory nor a symbolic link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpecialFile {
    /// A named pipe.
    Fifo,
    /// A Unix socket.
    Socket,
    /// A block or character device.
    Device,
    /// Another kind, which only some platforms have.
    Other,
}

/// The kind of a directory entry; a link is not followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Listed {
    File,
    /// A file whose content is stored elsewhere, in a cloud or on a tape. Reading the file fetches the
    /// content.
    #[cfg_attr(not(windows), expect(dead_code, reason = "only Windows tells it with the name"))]
    Elsewhere,
    Directory,
    Link,
    /// A special file, which has no content of its own.
    Special,
}
