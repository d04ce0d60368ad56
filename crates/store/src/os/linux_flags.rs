//! Reads and sets inode flags on Linux, with `statx(2)`, and with `ioctl_iflags(2)`, which chattr(1) uses.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, IFlags, StatxAttributes, StatxFlags, ioctl_getflags, ioctl_setflags};

use crate::os::inode_flags::{ENCRYPTED, Guard, LETTERS, Lost, VERITY};

/// The flags that this program can read but not set: encryption, and the kernel's check of the file's digest
/// (fs-verity).
const NOT_OURS_TO_SET: u32 = ENCRYPTED | VERITY;

/// Returns the flag that forbids an edit of the file with this name in a directory. Does not follow a link.
/// Returns `None` if there is no such flag, or if the file system does not report it.
pub(crate) fn guard_at(directory: &Dir, name: &Path) -> Option<Guard> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    let status = rustix::fs::statx(directory, name, flags, StatxFlags::empty()).ok()?;
    let marks = status.stx_attributes & status.stx_attributes_mask;
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

/// Gives an empty new file the flags of the old file, and removes flags that the new file only inherited from
/// its directory. Returns the flags that could not be set. Must be called before the first byte is written,
/// since the first write fixes how the file is stored (`C`, `c`, the extent size).
pub(crate) fn keep_flags(old: &File, new: &File) -> Lost {
    // A file system that does not report flags counts as having none.
    let (Ok(wanted), Ok(now)) = (ioctl_getflags(old), ioctl_getflags(new)) else {
        return Lost::default();
    };
    let now = set(new, now, wanted);
    let mut lost = Lost { flags: differing(wanted, now), ..Lost::default() };
    if let (Ok(wanted), Ok(now)) = (extended::get(old), extended::get(new)) {
        (lost.project, lost.extent_size) = extended::keep(wanted, now, new);
    }
    lost
}

/// Returns the flags of `LETTERS` in which a file's flags, `now`, differ from the wanted ones, except flags
/// that the file has and this program cannot remove.
fn differing(wanted: IFlags, now: IFlags) -> u32 {
    let (wanted, now) = (wanted.bits(), now.bits());
    let known = LETTERS.iter().fold(0, |all, (bit, _)| all | bit);
    (wanted & !now | now & !wanted & !NOT_OURS_TO_SET) & known
}

/// Sets and removes flags one by one, as far as the system allows it. Returns the flags that are set
/// afterwards.
fn set(file: &File, now: IFlags, wanted: IFlags) -> IFlags {
    let differing = differing(wanted, now) & !NOT_OURS_TO_SET;
    let mut bits: Vec<u32> = LETTERS.iter().map(|(bit, _)| *bit).filter(|bit| differing & bit != 0).collect();
    // Flags are removed before others are set, since two flags can exclude each other: on btrfs, no file has
    // both `c` and `C`.
    bits.sort_by_key(|bit| wanted.bits() & bit != 0);
    bits.into_iter().fold(now, |now, bit| {
        let turned = IFlags::from_bits_retain(now.bits() ^ bit);
        // A file system can refuse a flag that it does not know, or ignore it.
        ioctl_setflags(file, turned).and_then(|()| ioctl_getflags(file)).unwrap_or(now)
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
    #[derive(Clone, Copy, PartialEq)]
    pub(super) struct Extended {
        flags: u32,
        extent_size: u32,
        extents: u32,
        project: u32,
        copy_extent_size: u32,
        padding: [u8; 8],
    }

    /// `FS_XFLAG_EXTSIZE` and `FS_XFLAG_COWEXTSIZE`: they say whether `extent_size` and `copy_extent_size`
    /// are set.
    const SIZES: u32 = 0x800 | 0x10000;

    pub(super) fn get(file: &File) -> io::Result<Extended> {
        // SAFETY: the request is the kernel's, and writes a `struct fsxattr`, for which any bytes are valid.
        Ok(unsafe { ioctl(file, Getter::<{ opcode::read::<Extended>(b'X', 31) }, Extended>::new())? })
    }

    /// Sets the wanted values. Returns the values that the file has afterwards.
    fn set(file: &File, now: Extended, wanted: Extended) -> Extended {
        if wanted == now {
            return now;
        }
        // SAFETY: the request is the kernel's, and reads a `struct fsxattr`.
        let set =
            unsafe { ioctl(file, Setter::<{ opcode::write::<Extended>(b'X', 32) }, Extended>::new(wanted)) };
        match set {
            Ok(()) => get(file).unwrap_or(now),
            Err(_) => now,
        }
    }

    impl Extended {
        fn sizes(self) -> (u32, u32, u32) {
            (self.flags & SIZES, self.extent_size, self.copy_extent_size)
        }
    }

    /// Sets the project number, which quotas use, and the extent sizes as wanted. Returns whether the project
    /// differs afterwards, and whether the sizes differ.
    pub(super) fn keep(wanted: Extended, now: Extended, new: &File) -> (bool, bool) {
        let with_sizes = Extended {
            flags: now.flags & !SIZES | wanted.flags & SIZES,
            extent_size: wanted.extent_size,
            copy_extent_size: wanted.copy_extent_size,
            ..now
        };
        // The system may allow only one of the two changes, so each has its own call.
        let now = set(new, now, with_sizes);
        let now = set(new, now, Extended { project: wanted.project, ..now });
        (now.project != wanted.project, now.sizes() != wanted.sizes())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;
    use crate::tests::mounted::Mounted;
    use crate::tests::world::opened;

    #[test]
    fn a_key_that_is_not_there_is_known_by_its_number() {
        let errno = rustix::io::Errno::NOKEY.raw_os_error();
        assert!(lacks_key(&std::io::Error::from_raw_os_error(errno)));
        assert!(!lacks_key(&std::io::ErrorKind::PermissionDenied.into()));
    }

    /// Returns the first word of the last line that a program prints.
    fn said(program: &str, options: &[&str], path: &Path) -> String {
        let output = Command::new(program).args(options).arg(path).output().unwrap();
        assert!(output.status.success(), "{program} {options:?}: {output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        said.lines()
            .next_back()
            .and_then(|line| line.split_whitespace().next())
            .unwrap_or_default()
            .to_owned()
    }

    /// Makes an empty file with these flags of chattr(1).
    fn marked(disk: &Mounted, name: &str, letters: &str) -> File {
        fs::write(disk.path(name), "").unwrap();
        for letter in letters.chars() {
            said("chattr", &[&format!("+{letter}")], &disk.path(name));
        }
        File::open(disk.path(name)).unwrap()
    }

    /// Returns the flags of lsattr(1) without `e`, which ext4 gives each file.
    fn letters(disk: &Mounted, name: &str) -> String {
        said("lsattr", &[], &disk.path(name)).replace(['-', 'e'], "")
    }

    #[test]
    fn a_file_gets_the_flags_that_its_file_system_has() {
        let [Some(ext4), Some(btrfs), Some(xfs)] =
            [("ext4", 8), ("btrfs", 120), ("xfs", 300)].map(|(kind, mib)| Mounted::disk(kind, &[], mib))
        else {
            return;
        };
        for (from, wanted, to, inherited, kept, lost) in [
            (&ext4, "", &ext4, "", "", ""),
            (&ext4, "suSdAct", &ext4, "", "suSdAct", ""),
            (&ext4, "S", &ext4, "dA", "S", ""),
            (&ext4, "", &ext4, "c", "", ""),
            (&ext4, "suSt", &xfs, "A", "S", "sut"),
            (&btrfs, "dcA", &xfs, "d", "dA", "c"),
            (&ext4, "sc", &btrfs, "m", "c", "s"),
            (&btrfs, "m", &btrfs, "c", "m", ""),
            (&btrfs, "c", &btrfs, "m", "c", ""),
        ] {
            let (old, new) = (marked(from, "old", wanted), marked(to, "new", inherited));
            let what = keep_flags(&old, &new);
            assert_eq!(
                (letters(to, "new"), what.names().concat()),
                (kept.to_owned(), lost.to_owned()),
                "{wanted}"
            );
            assert!(!what.project && !what.extent_size);
            for (disk, name) in [(from, "old"), (to, "new")] {
                fs::remove_file(disk.path(name)).unwrap();
            }
        }
    }

    #[test]
    fn where_no_flags_are_told_none_is_lost_and_none_is_taken_away() {
        let Some(ext4) = Mounted::disk("ext4", &[], 8) else { return };
        let (of_kernel, on_disk) = (File::open("/proc/self/stat").unwrap(), marked(&ext4, "file", "dA"));
        assert!(ioctl_getflags(&of_kernel).is_err(), "its file system has no flags");
        for (old, new) in [(&of_kernel, &on_disk), (&on_disk, &of_kernel)] {
            assert!(keep_flags(old, new) == Lost::default());
            assert_eq!(letters(&ext4, "file"), "dA");
        }
    }

    #[test]
    fn a_mark_is_that_of_the_name_itself() {
        let Some(ext4) = Mounted::disk("ext4", &[], 8) else { return };
        let directory = opened(&ext4.path(""));
        std::os::unix::fs::symlink("file", ext4.path("link")).unwrap();
        let guards = || ["file", "link", "none"].map(|name| guard_at(&directory, Path::new(name)));
        marked(&ext4, "file", "d");
        assert_eq!(guards(), [None; 3]);
        for (letter, guard) in [("a", Guard::AppendOnly), ("i", Guard::Immutable)] {
            said("chattr", &[&format!("+{letter}")], &ext4.path("file"));
            assert_eq!(guards(), [Some(guard), None, None]);
        }
        said("chattr", &["-ia"], &ext4.path("file"));
    }

    #[test]
    fn what_nobody_can_set_is_lost_only_by_a_file_that_had_it() {
        let flags = IFlags::from_bits_retain;
        for (wanted, now, lost) in [
            (ENCRYPTED | VERITY, 0, ENCRYPTED | VERITY),
            (0, ENCRYPTED | VERITY, 0),
            (VERITY, VERITY, 0),
            // Flags that only the file system sets, such as `e`, are ignored.
            (0x0008_0000, 0x1000, 0),
            (0x40 | VERITY, 0x80, 0x40 | 0x80 | VERITY),
        ] {
            assert_eq!(differing(flags(wanted), flags(now)), lost, "{wanted:x} {now:x}");
        }
        let home = tempfile::tempdir().unwrap();
        let file = File::create(home.path().join("a")).unwrap();
        let now = ioctl_getflags(&file).unwrap_or(IFlags::empty());
        assert_eq!(set(&file, now, now | flags(ENCRYPTED | VERITY)), now);
    }

    #[test]
    fn a_project_and_sizes_on_disk_are_kept_each_by_itself() {
        let Some(xfs) = Mounted::disk("xfs", &[], 300) else { return };
        let set = |name: &str, [project, extent, copied]: [u32; 3]| {
            let path = xfs.path(name);
            said("chattr", &["-p", &project.to_string()], &path);
            for (size, bytes) in [("extsize", extent), ("cowextsize", copied)] {
                said("xfs_io", &["-c", &format!("{size} {bytes}")], &path);
            }
        };
        let seen = |name: &str| {
            let path = xfs.path(name);
            let size = |of| said("xfs_io", &["-c", of], &path);
            let project = said("lsattr", &["-p"], &path);
            [project, size("extsize"), size("cowextsize")]
                .map(|text| text.trim_matches(['[', ']']).parse::<u32>().unwrap())
        };
        for (wanted, inherited, is_full, lost) in [
            ([0, 0, 0], [0, 0, 0], false, (false, false)),
            ([42, 65_536, 131_072], [0, 0, 0], false, (false, false)),
            ([0, 0, 0], [42, 65_536, 131_072], false, (false, false)),
            ([42, 65_536, 0], [7, 65_536, 0], false, (false, false)),
            ([7, 131_072, 0], [7, 65_536, 131_072], false, (false, false)),
            ([7, 0, 65_536], [7, 65_536, 0], false, (false, false)),
            // The extent size is fixed once the file has extents.
            ([42, 65_536, 0], [0, 0, 0], true, (false, true)),
        ] {
            let (old, new) = (marked(&xfs, "old", "A"), marked(&xfs, "new", "d"));
            set("old", wanted);
            set("new", inherited);
            if is_full {
                fs::write(xfs.path("new"), [b'x'; 8192]).unwrap();
                new.sync_all().unwrap();
            }
            let what = keep_flags(&old, &new);
            assert_eq!((what.project, what.extent_size), lost, "{wanted:?}");
            let expected = if is_full { [wanted[0], inherited[1], inherited[2]] } else { wanted };
            assert_eq!(seen("new"), expected, "{wanted:?} after {inherited:?}");
            assert_eq!((letters(&xfs, "new").replace('P', ""), what.names().len()), ("A".to_owned(), 0));
            for name in ["old", "new"] {
                fs::remove_file(xfs.path(name)).unwrap();
            }
        }
    }
}
