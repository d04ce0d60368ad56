//! Copies a file's metadata to the file that replaces it: mode, owner, group and, on Linux and macOS,
//! extended attributes with the access control list; on Windows, everything that `os/windows/metadata.rs`
//! lists. [`crate::os`] handles flags and, on macOS, the time of creation. The caller decides what to do if
//! that fails.

use std::fs::File;
use std::io;

use crate::access::place::OpenFile;
use crate::os;
#[cfg(unix)]
use crate::os::seen::Attributes;
use crate::os::seen::LostMetadata;

/// Attributes that the kernel sets itself, and lets nobody else set: digests and signatures of content and
/// metadata (Linux), and the programs that created and opened a file (macOS).
#[cfg(unix)]
const OF_THE_KERNEL: [&[u8]; 4] =
    [b"security.ima", b"security.evm", b"com.apple.provenance", b"com.apple.macl"];

/// The attribute that marks a file from another machine. The system also sets it on each file that certain
/// programs create.
#[cfg(unix)]
const QUARANTINE: &[u8] = b"com.apple.quarantine";

/// The name and the value of an attribute.
#[cfg(unix)]
type Attribute<'a> = (&'a [u8], &'a [u8]);

/// Copies the owner, group, attributes and mode of `old` to `new`, in this order: a change of the owner
/// clears the set-id bits and the file's capabilities, and a new access control list changes the mode.
#[cfg(unix)]
pub(crate) fn keep(old: &OpenFile, new: &File) -> io::Result<LostMetadata> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

    let (before, now) = (old.metadata(), new.metadata()?);
    let mut not_kept = LostMetadata::default();
    // Owner and group are set one by one: a user who is not allowed to change the owner can still set a group
    // that they belong to.
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
    let (surplus, differing) = differences(&wanted, &present);
    surplus.into_iter().try_for_each(|name| os::remove_attribute(new, name))?;
    differing.into_iter().try_for_each(|(name, value)| os::set_attribute(new, name, value))
}

/// Returns the changes that give a new file the wanted attributes: which to remove, and which to set. If only
/// the new file has an attribute, such as a security label, it stays. Two such attributes are removed, since
/// they change what others can do with the file: an access control list, which comes from the directory's
/// default, and a quarantine mark.
#[cfg(unix)]
fn differences<'a>(wanted: &'a Attributes, present: &Attributes) -> (Vec<&'static [u8]>, Vec<Attribute<'a>>) {
    let surplus = [os::ACCESS_LIST, QUARANTINE]
        .into_iter()
        .filter(|name| present.contains_key(*name) && !wanted.contains_key(*name));
    // The new file often has the same security label already. Setting it can be forbidden, even to the same
    // value.
    let differing = wanted.iter().filter(|(name, value)| {
        !OF_THE_KERNEL.contains(&name.as_slice()) && present.get(*name) != Some(*value)
    });
    (surplus.collect(), differing.map(|(name, value)| (name.as_slice(), value.as_slice())).collect())
}

/// Returns the mode for the new file, which permits nothing that the old file did not permit.
#[cfg(unix)]
fn carried_mode(mode: u32, not_kept: LostMetadata) -> u32 {
    let mode = mode & 0o7777;
    let group = if not_kept.group || not_kept.attributes {
        mode & 0o070 & ((mode & 0o007) << 3)
    } else {
        mode & 0o070
    };
    let set_id = if not_kept.owner || not_kept.group { 0 } else { mode & 0o6000 };
    (mode & 0o1707) | group | set_id
}

/// Copies the metadata of `old` to `new`.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
pub(crate) fn keep(old: &OpenFile, new: &File) -> io::Result<LostMetadata> {
    Ok(os::keep_metadata(old.file(), new))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn attributes_become_those_of_the_old_file() {
        let of = |pairs: &[(&[u8], &[u8])]| -> Attributes {
            pairs.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
        };
        let list = os::ACCESS_LIST;
        let old = of(&[
            (b"com.apple.FinderInfo", b"1"),
            (b"com.apple.ResourceFork", b"2"),
            (b"com.apple.provenance", b"another program"),
            (b"security.selinux", b"label"),
            (b"security.ima", b"digest"),
            (b"user.a", b"new"),
        ]);
        let new = of(&[
            (list, b"by default"),
            (QUARANTINE, b"by this program"),
            (b"security.selinux", b"label"),
            (b"security.other", b"by the system"),
            (b"user.a", b"old"),
        ]);
        let (surplus, differing) = differences(&old, &new);
        assert_eq!(surplus, [list, QUARANTINE]);
        let differing: Attributes =
            differing.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let set: [(&[u8], &[u8]); 3] =
            [(b"com.apple.FinderInfo", b"1"), (b"com.apple.ResourceFork", b"2"), (b"user.a", b"new")];
        assert_eq!(differing, of(&set));
        // If the old file itself has a quarantine mark and an access control list, they are kept.
        let old = of(&[(list, b"own"), (QUARANTINE, b"0083;from a browser")]);
        let (surplus, differing) = differences(&old, &new);
        assert_eq!((surplus.len(), differing.len()), (0, 2));
    }

    #[test]
    fn a_mode_is_kept_or_narrowed() {
        let check =
            |mode, owner, group| carried_mode(mode, LostMetadata { owner, group, ..LostMetadata::default() });
        assert_eq!(check(0o100_644, false, false), 0o644);
        assert_eq!(check(0o106_755, false, false), 0o6755);
        assert_eq!(check(0o106_755, true, false), 0o755);
        assert_eq!(check(0o102_664, false, true), 0o644);
        assert_eq!(check(0o660, false, true), 0o600);
        assert_eq!(carried_mode(0o664, LostMetadata { attributes: true, ..LostMetadata::default() }), 0o644);
        for mode in 0..=0o7777 {
            for (owner, group) in [(false, false), (true, false), (false, true), (true, true)] {
                assert_eq!(check(mode, owner, group) & !mode, 0, "{mode:o}");
            }
        }
    }
}
