//! The metadata that a replaced file keeps, on Linux.
#![cfg(target_os = "linux")]

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr, setxattr};
use rustix::io::Errno;

use crate::tests::world::World;

const ACCESS_LIST: &str = "system.posix_acl_access";

/// Returns an access control list as the kernel stores it: version 2, then tag, permissions and id of each
/// entry. The owner may read and write. So may user 1234, within a mask of read and write. The file's group
/// may only read, and others nothing.
fn access_list() -> Vec<u8> {
    let undefined = u32::MAX;
    let entries = [
        (0x01_u16, 6_u16, undefined),
        (0x02, 6, 1234),
        (0x04, 4, undefined),
        (0x10, 6, undefined),
        (0x20, 0, undefined),
    ];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

fn attribute(world: &World, path: &str, name: &str) -> Option<Vec<u8>> {
    let file = File::open(world.path(path)).unwrap();
    let mut bytes = vec![0; 65536];
    let length = fgetxattr(&file, name, &mut bytes[..]).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

/// Tells whether the attribute was set; if not, says that the test is skipped.
fn set(world: &World, path: &str, name: &str, value: &[u8]) -> bool {
    match setxattr(world.path(path), name, value, XattrFlags::empty()) {
        Ok(()) => true,
        Err(error @ (Errno::NOTSUP | Errno::PERM | Errno::ACCESS)) => {
            eprintln!("skipped: {name}: {error}");
            false
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

fn mode(world: &World, path: &str) -> u32 {
    std::fs::metadata(world.path(path)).unwrap().mode() & 0o7777
}

#[test]
fn extended_attributes_are_kept() {
    // An empty value, a value with NUL bytes, and a value that is not text.
    for (name, value) in [
        ("user.empty", &b""[..]),
        ("user.bytes", b"a\0b\xff"),
        ("user.long", &[b'x'; 1000]),
        ("trusted.mte", b"of root"),
        ("security.mte", b"of root"),
    ] {
        let world = World::new();
        world.write("@/root/a", "old\n");
        let before = std::fs::metadata(world.path("@/root/a")).unwrap().ino();
        if !set(&world, "@/root/a", name, value) {
            continue;
        }
        assert_eq!(world.append(&["@/root/a"]), ["[]"]);
        assert_eq!(attribute(&world, "@/root/a", name).as_deref(), Some(value), "{name}");
        assert_ne!(std::fs::metadata(world.path("@/root/a")).unwrap().ino(), before);
        assert_eq!(world.content("@/root/a"), "old\nadded\n");
    }
}

#[test]
fn an_access_control_list_is_kept_and_the_mode_with_it() {
    let world = World::new();
    world.write("@/root/a", "old\n");
    if !set(&world, "@/root/a", ACCESS_LIST, &access_list()) {
        return;
    }
    assert_eq!(mode(&world, "@/root/a"), 0o660);
    assert_eq!(world.append(&["@/root/a"]), ["[]"]);
    assert_eq!(attribute(&world, "@/root/a", ACCESS_LIST), Some(access_list()));
    assert_eq!(mode(&world, "@/root/a"), 0o660);
}

#[test]
fn a_directorys_default_list_gives_nobody_a_file_that_has_none() {
    let world = World::new();
    world.write("@/root/a", "old\n");
    if !set(&world, "@/root", "system.posix_acl_default", &access_list()) {
        return;
    }
    // A new file in this directory gets the list. The old file does not have it.
    world.write("@/root/b", "");
    assert!(attribute(&world, "@/root/b", ACCESS_LIST).is_some());
    std::fs::set_permissions(world.path("@/root/a"), Permissions::from_mode(0o664)).unwrap();
    assert_eq!(world.append(&["@/root/a"]), ["[]"]);
    assert_eq!(attribute(&world, "@/root/a", ACCESS_LIST), None);
    assert_eq!(mode(&world, "@/root/a"), 0o664);
}

#[test]
fn owner_group_and_set_id_bits_are_kept() {
    let world = World::new();
    world.write("@/root/a", "old\n");
    if chown(world.path("@/root/a"), Some(1234), Some(2345)).is_err() {
        eprintln!("skipped: only root gives files away");
        return;
    }
    std::fs::set_permissions(world.path("@/root/a"), Permissions::from_mode(0o6755)).unwrap();
    assert_eq!(world.append(&["@/root/a"]), ["[]"]);
    let metadata = std::fs::metadata(world.path("@/root/a")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (1234, 2345, 0o6755));
}

#[test]
fn an_attribute_that_is_removed_stays_removed() {
    let world = World::new();
    world.write("@/root/a", "old\n");
    if !set(&world, "@/root/a", "user.gone", b"x") {
        return;
    }
    fremovexattr(File::open(world.path("@/root/a")).unwrap(), "user.gone").unwrap();
    assert_eq!(world.append(&["@/root/a"]), ["[]"]);
    assert_eq!(attribute(&world, "@/root/a", "user.gone"), None);
    fsetxattr(File::open(world.path("@/root/a")).unwrap(), "user.back", b"y", XattrFlags::CREATE).unwrap();
    assert_eq!(world.append(&["@/root/a"]), ["[]"]);
    assert_eq!(attribute(&world, "@/root/a", "user.back").as_deref(), Some(&b"y"[..]));
}
