//! Recognises network file systems, which other machines can also reach, by the type that statfs(2) returns.
//! The type is a number on Linux and a name on macOS.

/// Returns the name of a file system of this type, if it is a network file system. On such a file system, the
/// locks of SQLite and of the journal may be ineffective. FUSE is not counted as a network file system, since
/// it hides where its files are.
#[cfg(target_os = "linux")]
pub(crate) fn named(kind: u32) -> Option<&'static str> {
    Some(match kind {
        0x6969 => "NFS",
        0xFF53_4D42 | 0xFE53_4D42 | 0x517B => "SMB",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x7461_636F => "OCFS2",
        0x0116_1970 => "GFS2",
        0x1983_0326 => "BeeGFS",
        0x7375_7245 => "Coda",
        _ => return None,
    })
}

/// Tells whether a file system of this type uses only this machine's kernel and disks: ext2 to ext4, XFS,
/// btrfs, tmpfs, ZFS, F2FS and bcachefs. Overlayfs is not among them, since it hides the file systems below
/// it.
#[cfg(target_os = "linux")]
pub(crate) fn is_local(kind: u32) -> bool {
    let local = [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x2FC1_2FC1, 0xF2F5_2010, 0xCA45_1A4E];
    local.contains(&kind)
}

/// Whether files of a file system of this type are known to keep their inode numbers. FUSE, FAT and the
/// shared folders of virtual machines assign new numbers. On overlayfs, the first rename of a file copies it
/// to another layer, where it is another file. On SMB, the client may invent the numbers.
#[cfg(target_os = "linux")]
pub(crate) fn identity_lasts(kind: u32) -> bool {
    is_local(kind) || named(kind).is_some_and(|name| name != "SMB")
}

/// Returns the same name as [`named`], from macOS' name of the type. FUSE is not counted here, either.
#[cfg(any(target_vendor = "apple", test))]
pub(crate) fn named_by(kind: &[u8]) -> Option<&'static str> {
    Some(match kind {
        b"nfs" => "NFS",
        b"smbfs" => "SMB",
        b"afpfs" => "AFP",
        b"webdav" => "WebDAV",
        b"ftp" => "FTP",
        b"acfs" => "Xsan",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macos_names_them() {
        assert_eq!([&b"apfs"[..], b"hfs", b"exfat", b"msdos", b"macfuse", b""].map(named_by), [None; 6]);
        assert_eq!(
            [&b"nfs"[..], b"smbfs", b"afpfs", b"webdav", b"ftp", b"acfs"].map(named_by),
            ["NFS", "SMB", "AFP", "WebDAV", "FTP", "Xsan"].map(Some)
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn local_file_systems_are_not_taken_for_network_ones() {
        // ext4, XFS, btrfs, tmpfs, overlayfs, FUSE, ZFS, F2FS: statfs(2) and linux/magic.h.
        let local = [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0x794C_7630,
            0x6573_5546,
            0x2FC1_2FC1,
            0xF2F5_2010,
        ];
        assert_eq!(local.map(named), [None; 8]);
        // It is not known what is behind FUSE and overlayfs.
        assert_eq!(local.map(is_local), [true, true, true, true, false, false, true, true]);
        assert_eq!([0x6969, 0xFF53_4D42, 0x00C3_6400].map(is_local), [false; 3]);
        assert_eq!(local.map(identity_lasts), local.map(is_local));
        assert_eq!([0x6969, 0xFF53_4D42, 0x00C3_6400].map(identity_lasts), [true, false, true]);
    }

    /// The numbers are those of statfs(2), linux/magic.h and the file systems' own sources.
    #[test]
    #[cfg(target_os = "linux")]
    fn file_systems_of_several_machines_are_known_by_their_numbers() {
        for (name, numbers) in [
            ("NFS", &[0x6969][..]),
            ("SMB", &[0xFF53_4D42, 0xFE53_4D42, 0x517B]),
            ("Ceph", &[0x00C3_6400]),
            ("Lustre", &[0x0BD0_0BD0]),
            ("GPFS", &[0x4750_4653]),
            ("AFS", &[0x5346_414F, 0x6B41_4653]),
            ("OCFS2", &[0x7461_636F]),
            ("GFS2", &[0x0116_1970]),
            ("BeeGFS", &[0x1983_0326]),
            ("Coda", &[0x7375_7245]),
        ] {
            for number in numbers {
                assert_eq!((named(*number), is_local(*number)), (Some(name), false), "{number:x}");
            }
        }
    }
}
