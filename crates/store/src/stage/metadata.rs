//! Carries a file's metadata over to the file that replaces it: mode, owner, group and, on Linux, extended attributes with the access
//! control list; on Windows all that `os/windows/metadata.rs` lists. The caller decides what to do where that fails.

use std::fs::File;
use std::io;

use crate::access::place::OpenFile;
use crate::os;
use crate::os::seen::NotKept;

/// The access control list, as an attribute (acl(5)); a new file can have one by its directory's default.
#[cfg(unix)]
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Digests and signatures of the old content and metadata, which the kernel makes anew.
#[cfg(unix)]
const OF_THE_CONTENT: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Gives `new` the owner, group, attributes and mode of `old`, in this order: a change of owner takes the set-id bits
/// and the file's capabilities away, and a new access control list changes the mode.
#[cfg(unix)]
pub(crate) fn keep(old: &OpenFile, new: &File) -> io::Result<NotKept> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

    let (before, now) = (old.metadata(), new.metadata()?);
    let mut not_kept = NotKept::default();
    // One by one: a user who may not change the owner may still set a group that they belong to.
    if now.gid() != before.gid() {
        not_kept.group = fchown(new, None, Some(before.gid())).is_err();
    }
    if now.uid() != before.uid() {
        not_kept.owner = fchown(new, Some(before.uid()), None).is_err();
    }
    not_kept.attributes = keep_attributes(old.file(), new).is_err();
    let mode = carried_mode(before.mode(), not_kept);
    new.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(not_kept)
}

#[cfg(unix)]
fn keep_attributes(old: &File, new: &File) -> io::Result<()> {
    let (wanted, present) = (os::attributes_of(old)?, os::attributes_of(new)?);
    if present.contains_key(ACCESS_LIST) && !wanted.contains_key(ACCESS_LIST) {
        os::remove_attribute(new, ACCESS_LIST)?;
    }
    for (name, value) in &wanted {
        // The new file often has the security label already, which may not be set even to its own value.
        if !OF_THE_CONTENT.contains(&name.as_slice()) && present.get(name) != Some(value) {
            os::set_attribute(new, name, value)?;
        }
    }
    Ok(())
}

/// The mode for the new file, which permits nothing that the old file did not permit.
#[cfg(unix)]
fn carried_mode(mode: u32, not_kept: NotKept) -> u32 {
    let mode = mode & 0o7777;
    let group = if not_kept.group || not_kept.attributes {
        mode & 0o070 & ((mode & 0o007) << 3)
    } else {
        mode & 0o070
    };
    let set_id = if not_kept.owner || not_kept.group { 0 } else { mode & 0o6000 };
    (mode & 0o1707) | group | set_id
}

/// Gives `new` what `old` is besides its bytes.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
pub(crate) fn keep(old: &OpenFile, new: &File) -> io::Result<NotKept> {
    Ok(os::keep_metadata(old.file(), new))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_kept_or_narrowed() {
        let check = |mode, owner, group| carried_mode(mode, NotKept { owner, group, ..NotKept::default() });
        assert_eq!(check(0o100_644, false, false), 0o644);
        assert_eq!(check(0o106_755, false, false), 0o6755);
        assert_eq!(check(0o106_755, true, false), 0o755);
        assert_eq!(check(0o102_664, false, true), 0o644);
        assert_eq!(check(0o660, false, true), 0o600);
        assert_eq!(carried_mode(0o664, NotKept { attributes: true, ..NotKept::default() }), 0o644);
        for mode in 0..=0o7777 {
            for (owner, group) in [(false, false), (true, false), (false, true), (true, true)] {
                assert_eq!(check(mode, owner, group) & !mode, 0, "{mode:o}");
            }
        }
    }
}
