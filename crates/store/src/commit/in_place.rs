//! The reasons why a file is overwritten in place instead of being replaced: [`InPlace`].

use crate::access::place::OpenFile;
use crate::os;
use crate::os::inode_flags::Guard;
use crate::os::seen::LostMetadata;

/// The reason why a file is overwritten in place instead of being replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InPlace {
    /// The file has several names (hard links), and must stay one file.
    SeveralNames,
    /// The file itself is a mount point (a bind mount), so no other file can get its name.
    Mounted,
    /// The file system refuses to give its name to another file, for example because its project number
    /// differs from that of its directory (`chattr +P`).
    NameWithheld,
    /// The configuration asks for it, because something that this process cannot see depends on this inode,
    /// such as a container in which the file is mounted.
    Asked,
    /// No file can be created in its directory.
    DirectoryNotWritable,
    /// A flag of its directory forbids creating files there, or removing them again.
    DirectoryGuarded(Guard),
    /// A new file could not be given its owner or its group.
    Owner,
    /// A new file could not be given its extended attributes, or its access control list.
    Attributes,
    /// A new file could not be given its alternate streams (Windows).
    Streams,
    /// Another program has it open for writing, and would go on writing to the old file.
    OpenForWriting,
    /// Another program has it open in a way that prevents giving its name to another file (Windows).
    HeldOpen,
}

impl InPlace {
    /// Returns the reason, if one is known before anything is written.
    #[must_use]
    pub fn before(file: &OpenFile) -> Option<Self> {
        if os::links_of(file.file(), file.metadata()) > 1 {
            Some(Self::SeveralNames)
        } else if os::is_mount_point(file.file()) {
            Some(Self::Mounted)
        } else {
            None
        }
    }

    /// Returns the reason, if one is known once the new content is written; `not_kept` is the metadata that
    /// the new file could not get.
    #[must_use]
    pub(crate) fn after(file: &OpenFile, not_kept: LostMetadata) -> Option<Self> {
        if not_kept.owner || not_kept.group {
            Some(Self::Owner)
        } else if not_kept.attributes {
            Some(Self::Attributes)
        } else if not_kept.streams {
            Some(Self::Streams)
        } else if os::is_open_for_writing(file.file()) == Some(true) {
            Some(Self::OpenForWriting)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::world::World;

    #[test]
    fn what_a_new_file_would_lose_is_told() {
        let world = World::new();
        world.write("@/root/a", "text\n");
        let file = world.place("@/root/a").open_file(false).unwrap();
        let none = LostMetadata::default();
        for (lost, reason) in [
            (none, None),
            (LostMetadata { owner: true, ..none }, Some(InPlace::Owner)),
            (LostMetadata { group: true, ..none }, Some(InPlace::Owner)),
            (LostMetadata { attributes: true, ..none }, Some(InPlace::Attributes)),
            (LostMetadata { streams: true, ..none }, Some(InPlace::Streams)),
        ] {
            assert_eq!(InPlace::after(&file, lost), reason);
        }
    }
}
