//! Defines the inode flags that chattr(1) or chflags(1) sets: flags that forbid an edit ([`Guard`]), and
//! flags that a replaced file passes on to the new file ([`Lost`] has the flags that the new file could not
//! get). Linux has such flags on file systems that support `ioctl_iflags(2)`, and macOS on its own file
//! systems.

/// A flag that forbids everybody, including root, to edit the file, as long as the flag is set. On macOS, not
/// only root but also the file's owner may set the flag. On a directory, the flag concerns the names in the
/// directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// Nothing can be changed (`chattr +i`, `chflags uchg`). In a directory, no name can be added or removed.
    Immutable,
    /// Content can only be appended (`chattr +a`, `chflags uappnd`). In a directory, names can only be added:
    /// no name can be removed, or be given to another file.
    AppendOnly,
}

/// The flags of the old file that the new file could not get; mostly there are none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[must_use]
pub struct Lost {
    /// The flags, by their bits (`FS_…_FL`; on macOS `UF_…`).
    pub(super) flags: u32,
    /// Whether the new file's project number, which quotas use, is different.
    pub project: bool,
    /// Whether the new file's extent size, the unit by which the file grows, is different.
    pub extent_size: bool,
}

impl Lost {
    /// Tells whether nothing was lost: the new file has all flags that the old file had.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Returns the names of the flags: letters of chattr(1), or names of chflags(1).
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        NAMES.iter().filter(|(bit, _)| self.flags & bit != 0).map(|(_, name)| *name).collect()
    }
}

/// The flags of this system that a new file gets from the file that it replaces.
const NAMES: &[(u32, &str)] = if cfg!(target_vendor = "apple") { &CHFLAGS } else { &LETTERS };

/// The flags of macOS that a new file gets from the file that it replaces, as `ls -lO` names them
/// (sys/stat.h: `UF_NODUMP`, `UF_OPAQUE`, `UF_HIDDEN`). The other flags forbid the edit, or belong to the
/// file system or to the content: compressed, archived, tracked, dataless.
pub(super) const CHFLAGS: [(u32, &str); 3] = [(0x1, "nodump"), (0x8, "opaque"), (0x8000, "hidden")];

/// The flags that a person sets or cares about, in the order of lsattr (linux/fs.h). The other flags are
/// internal to the file system: they tell how the file is stored, or that it is encrypted because its
/// directory is.
pub(super) const LETTERS: [(u32, &str); 13] = [
    (SECURE_REMOVAL, "s"),
    (UNDELETABLE, "u"),
    (SYNC, "S"),
    (NO_DUMP, "d"),
    (NO_ATIME, "A"),
    (COMPRESSED, "c"),
    (JOURNALED, "j"),
    (NO_TAIL, "t"),
    (NO_COPY_ON_WRITE, "C"),
    (DAX, "x"),
    (NOT_COMPRESSED, "m"),
    (ENCRYPTED, "E"),
    (VERITY, "V"),
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
    fn flags_have_the_names_of_the_systems_program_in_its_order() {
        let lost = |flags| Lost { flags, ..Lost::default() };
        #[cfg(target_vendor = "apple")]
        assert_eq!(lost(u32::MAX).names(), ["nodump", "opaque", "hidden"]);
        #[cfg(not(target_vendor = "apple"))]
        assert_eq!(lost(u32::MAX).names().concat(), "suSdAcjtCxmEV");
        #[cfg(not(target_vendor = "apple"))]
        assert_eq!(lost(JOURNALED | VERITY).names(), ["j", "V"]);
        assert!(lost(0).is_nothing() && !lost(1).is_nothing());
        assert!(!Lost { project: true, ..Lost::default() }.is_nothing());
    }
}
