//! The platform's answers about a name or a file, as data: [`Seen`], [`Looked`], [`SpecialFile`],
//! [`Attributes`], [`LostMetadata`].

#[cfg(not(windows))]
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Extended attributes: values by name.
#[cfg(not(windows))]
pub(crate) type Attributes = BTreeMap<Vec<u8>, Vec<u8>>;

/// The file under a name, which itself is not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) is_link: bool,
    /// Device and inode, where a name is enough to tell them.
    pub(crate) key: Option<(u64, u64)>,
    /// The number of its names, as far as can be told.
    pub(crate) links: u64,
}

/// The parts of a file's metadata that could not be carried over to the file that is to replace it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[must_use]
#[expect(clippy::struct_excessive_bools, reason = "each is the answer to a question of its own")]
pub(crate) struct LostMetadata {
    /// The owner is another now.
    pub(crate) owner: bool,
    /// The group is another now; its permissions are cut down to those of everybody, and the set-id bits are
    /// off.
    pub(crate) group: bool,
    /// An extended attribute is missing or another, the access control list among them; the group's
    /// permissions are cut down likewise, since a list can have granted it less than the mode shows. On
    /// Windows other attributes, too.
    pub(crate) attributes: bool,
    /// An alternate stream is missing (Windows).
    pub(crate) streams: bool,
}

/// The file under a path, the last name of which is not followed.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    /// True if it is a directory, or a volume that is mounted in one.
    pub(crate) is_directory: bool,
    pub(crate) is_link: bool,
    /// Device and inode, as far as they can be told.
    pub(crate) key: Option<(u64, u64)>,
    /// The last name of the path as its directory lists it, where the platform tells that of one name.
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
    /// Something that only this platform has.
    Other,
}

/// The entry of a directory for one of its names, which is not followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Listed {
    File,
    /// A file whose content is elsewhere, in a cloud or on a tape, and is fetched by whoever reads it.
    Elsewhere,
    Directory,
    Link,
    /// Something without content of its own.
    Special,
}
