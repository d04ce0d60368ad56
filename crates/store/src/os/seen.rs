//! The platform's answers about a name or a file, as data: [`Seen`], [`Looked`], [`SpecialFile`],
//! [`Attributes`], [`LostMetadata`].

#[cfg(not(windows))]
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Extended attributes: values by name.
#[cfg(not(windows))]
pub(crate) type Attributes = BTreeMap<Vec<u8>, Vec<u8>>;

/// The file under a name; a link is not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) is_link: bool,
    /// Device and inode, where a name is enough to tell them.
    pub(crate) key: Option<(u64, u64)>,
    /// The number of its names, as far as it can be told.
    pub(crate) links: u64,
}

/// The parts of a file's metadata that could not be carried over to the file that replaces it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[must_use]
#[expect(clippy::struct_excessive_bools, reason = "each is the answer to a question of its own")]
pub(crate) struct LostMetadata {
    /// The owner is different.
    pub(crate) owner: bool,
    /// The group is different. The group's permissions are cut down to those of everybody, and the set-id
    /// bits are off.
    pub(crate) group: bool,
    /// An extended attribute, or the access control list, is missing or different. The group's permissions
    /// are then cut down in the same way, since a list can have granted the group less than the mode shows.
    /// On Windows, this covers other attributes, too.
    pub(crate) attributes: bool,
    /// An alternate stream is missing (Windows).
    pub(crate) streams: bool,
}

/// The file under a path; a link at its end is not followed.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    /// Whether it is a directory, or the mount point of a volume.
    pub(crate) is_directory: bool,
    pub(crate) is_link: bool,
    /// Device and inode, as far as they can be told.
    pub(crate) key: Option<(u64, u64)>,
    /// The last name of the path as its directory lists it, if the platform can tell it for a single name.
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
    /// A kind that only this platform has.
    Other,
}

/// The kind of an entry of a directory; a link is not followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Listed {
    File,
    /// A file whose content is elsewhere, in a cloud or on a tape. A read fetches the content.
    #[cfg_attr(not(windows), expect(dead_code, reason = "only Windows tells it with the name"))]
    Elsewhere,
    Directory,
    Link,
    /// A special file, which has no content of its own.
    Special,
}
