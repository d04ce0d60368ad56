//! The marks and flags of inodes on Linux: `statx(2)`, and `ioctl_iflags(2)`, which chattr(1) uses.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, IFlags, StatxAttributes, StatxFlags, ioctl_getflags, ioctl_setflags};

use crate::os::inode_flags::{ENCRYPTED, Guard, LETTERS, Lost, VERITY};

/// The flags that can be read but not set: encryption, and the kernel's check of the file's digest
/// (fs-verity).
const NOT_OURS_TO_SET: u32 = ENCRYPTED | VERITY;

/// Returns the mark that forbids an edit of the file with this name in a directory; a link is not followed.
/// Returns `None` if there is no mark, or if the system does not tell.
pub(crate) fn guard_at(directory: &Dir, name: &Path) -> Option<Guard> {
    let how = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    let about = rustix::fs::statx(directory, name, how, StatxFlags::empty()).ok()?;
    let marks = about.stx_attributes & about.stx_attributes_mask;
    if marks.contains(StatxAttributes::IMMUTABLE) {
        Some(Guard::Immutable)
    } else if marks.contains(StatxAttributes::APPEND) {
        Some(Guard::AppendOnly)
    } else {
        None
    }
}

/// Tells whether an error says that a file is encrypted and its key is missing.
pub(crate) fn lacks_key(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::NOKEY)
}

/// Gives an empty new file the flags of the old one, and removes those that it only inherited from its
/// directory. It must be called before the first byte is written, which fixes how a file is stored (`C`, `c`,
/// the extent size).
pub(crate) fn keep_flags(old: &File, new: &File) -> Lost {
    // A file system that does not report flags counts as having none.
    let (Ok(wanted), Ok(now)) = (ioctl_getflags(old), ioctl_getflags(new)) else {
        return Lost::default();
    };
    let ours = LETTERS.iter().fold(0, |all, (bit, _)| all | bit) & !NOT_OURS_TO_SET;
    let differing = |now: IFlags| (wanted.bits() ^ now.bits()) & ours;
    let now = set(new, now, differing(now));
    let flags = differing(now) | wanted.bits() & !now.bits() & NOT_OURS_TO_SET;
    let mut lost = Lost { flags, ..Lost::default() };
    if let (Ok(wanted), Ok(now)) = (extended::get(old), extended::get(new)) {
        (lost.project, lost.extent_size) = extended::keep(wanted, now, new);
    }
    lost
}

/// Toggles these flags, all at once or, if the system refuses that, one by one as far as it allows. Returns
/// the flags that are set afterwards.
fn set(file: &File, now: IFlags, differing: u32) -> IFlags {
    let turned = |now: IFlags, bits: u32| IFlags::from_bits_retain(now.bits() ^ bits);
    // A file system can refuse a flag that it does not know, or ignore it.
    let look = |otherwise: IFlags| ioctl_getflags(file).unwrap_or(otherwise);
    if differing == 0 {
        return now;
    }
    if ioctl_setflags(file, turned(now, differing)).is_ok() {
        return look(now);
    }
    let bits = LETTERS.iter().map(|(bit, _)| bit & differing).filter(|bit| *bit != 0);
    bits.fold(now, |now, bit| match ioctl_setflags(file, turned(now, bit)) {
        Ok(()) => look(now),
        Err(_) => now,
    })
}

/// The facts that `FS_IOC_FSGETXATTR` reports besides the flags (`ioctl_xfs_fsgetxattr(2)`; ext4 and others
/// support it, too). rustix lacks it.
#[expect(unsafe_code, reason = "no crate at hand has these two ioctls")]
mod extended {
    use std::fs::File;
    use std::io;

    use rustix::ioctl::{Getter, Setter, ioctl, opcode};

    /// `struct fsxattr` (linux/fs.h).
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub(super) struct Extended {
        flags: u32,
        extent_size: u32,
        extents: u32,
        project: u32,
        copy_extent_size: u32,
        padding: [u8; 8],
    }

    /// `FS_XFLAG_EXTSIZE` and `FS_XFLAG_COWEXTSIZE`: they tell whether each of the two sizes is set.
    const SIZES: u32 = 0x800 | 0x10000;

    pub(super) fn get(file: &File) -> io::Result<Extended> {
        // SAFETY: the request is the kernel's, and writes a `struct fsxattr`, which any bytes are.
        Ok(unsafe { ioctl(file, Getter::<{ opcode::read::<Extended>(b'X', 31) }, Extended>::new())? })
    }

    fn set(file: &File, wanted: Extended) -> io::Result<()> {
        // SAFETY: the request is the kernel's, and reads a `struct fsxattr`.
        unsafe { ioctl(file, Setter::<{ opcode::write::<Extended>(b'X', 32) }, Extended>::new(wanted))? };
        Ok(())
    }

    impl Extended {
        fn sizes(self) -> (u32, u32, u32) {
            (self.flags & SIZES, self.extent_size, self.copy_extent_size)
        }
    }

    /// Sets project and sizes as wanted. Returns whether the project differs afterwards, and whether the
    /// sizes do.
    pub(super) fn keep(wanted: Extended, now: Extended, new: &File) -> (bool, bool) {
        if wanted.sizes() == now.sizes() && wanted.project == now.project {
            return (false, false);
        }
        let with_sizes = Extended {
            flags: now.flags & !SIZES | wanted.flags & SIZES,
            extent_size: wanted.extent_size,
            copy_extent_size: wanted.copy_extent_size,
            ..now
        };
        // The system may allow one without the other.
        let _ = set(new, Extended { project: wanted.project, ..with_sizes })
            .or_else(|_| set(new, with_sizes))
            .or_else(|_| set(new, Extended { project: wanted.project, ..now }));
        let then = get(new).unwrap_or(now);
        (then.project != wanted.project, then.sizes() != wanted.sizes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_not_there_is_known_by_its_number() {
        let errno = rustix::io::Errno::NOKEY.raw_os_error();
        assert!(lacks_key(&std::io::Error::from_raw_os_error(errno)));
        assert!(!lacks_key(&std::io::ErrorKind::PermissionDenied.into()));
    }
}
