//! What the platform says of a name or a file, as data: [`Seen`], [`SpecialFile`], [`Attributes`].

use std::collections::BTreeMap;

/// Extended attributes: values by name.
pub(crate) type Attributes = BTreeMap<Vec<u8>, Vec<u8>>;

/// What stands under a name, which itself is not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) is_link: bool,
    /// Device and inode, where a name is enough to tell them.
    pub(crate) key: Option<(u64, u64)>,
    /// How many names it has, as far as can be told.
    pub(crate) links: u64,
}

/// What a name stands for that is neither a regular file, a directory nor a symbolic link.
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
