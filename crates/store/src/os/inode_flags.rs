//! What an inode is marked with besides mode and extended attributes, as chattr(1) sets it: marks that forbid an edit
//! ([`Guard`]), and flags that a file keeps when it is replaced ([`Lost`] has those that it could not be given). On Linux
//! alone, and there on file systems that have them (`ioctl_iflags(2)`): elsewhere there is nothing to keep.

/// A mark that forbids an edit to everybody, root included, as long as it is there. On a directory it is about the names in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// Nothing may be changed (`chattr +i`); in a directory no name may come or go.
    Immutable,
    /// Only what is new may be added (`chattr +a`); in a directory no name may go or be given to another file.
    AppendOnly,
}

/// What a new file could not be given of the old one's flags; mostly nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[must_use]
pub struct Lost {
    /// The flags, by their bits (`FS_…_FL`).
    pub(super) flags: u32,
    /// The number of its project, by which quotas count, is another now.
    pub project: bool,
    /// The size by which it was to grow on disk is another now.
    pub extent_size: bool,
}

impl Lost {
    /// Whether the new file has all that the old one had.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// The flags as chattr(1) and lsattr(1) name them.
    #[must_use]
    pub fn letters(self) -> String {
        LETTERS.iter().filter(|(bit, _)| self.flags & bit != 0).map(|(_, letter)| *letter).collect()
    }
}

/// The flags that make a difference to a person, in lsattr's order (linux/fs.h). The others are the file system's own: how
/// it lays the file out, or that it is encrypted as its directory is.
pub(super) const LETTERS: [(u32, char); 13] = [
    (SECURE_REMOVAL, 's'),
    (UNDELETABLE, 'u'),
    (SYNC, 'S'),
    (NO_DUMP, 'd'),
    (NO_ATIME, 'A'),
    (COMPRESSED, 'c'),
    (JOURNALED, 'j'),
    (NO_TAIL, 't'),
    (NO_COPY_ON_WRITE, 'C'),
    (DAX, 'x'),
    (NOT_COMPRESSED, 'm'),
    (ENCRYPTED, 'E'),
    (VERITY, 'V'),
];

const SECURE_REMOVAL: u32 = 0x1;
const UNDELETABLE: u32 = 0x2;
const COMPRESSED: u32 = 0x4;
const SYNC: u32 = 0x8;
const NO_DUMP: u32 = 0x40;
const NO_ATIME: u32 = 0x80;
const NOT_COMPRESSED: u32 = 0x400;
pub(super) const ENCRYPTED: u32 = 0x800;
const JOURNALED: u32 = 0x4000;
const NO_TAIL: u32 = 0x8000;
pub(super) const VERITY: u32 = 0x0010_0000;
const NO_COPY_ON_WRITE: u32 = 0x0080_0000;
const DAX: u32 = 0x0200_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_those_of_lsattr_in_its_order() {
        let lost = |flags| Lost { flags, ..Lost::default() };
        assert_eq!(lost(u32::MAX).letters(), "suSdAcjtCxmEV");
        assert_eq!(lost(JOURNALED | VERITY).letters(), "jV");
        assert!(lost(0).is_nothing() && !lost(1).is_nothing());
        assert!(!Lost { project: true, ..Lost::default() }.is_nothing());
    }
}
