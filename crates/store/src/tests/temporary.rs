//! Tests of temporary files: their names, the directories in which they are created, and their removal.

use crate::error::StoreErrorKind;
use crate::os;
use crate::stage::{Temporary, TemporaryId, unlink};
use crate::tests::world::World;

#[test]
fn a_temporary_is_named_by_its_number_and_by_who_took_it_over() {
    let id = TemporaryId::parse("00000000deadbeef").unwrap();
    assert_eq!(id.to_string(), "00000000deadbeef");
    let names = |id: TemporaryId| [id.name(), id.name_of_old()].map(|name| name.into_string().unwrap());
    assert_eq!(names(id), [".mte-00000000deadbeef", ".mte-00000000deadbeef-old"]);
    let taken = id.at_epoch(7);
    assert_eq!(names(taken), [".mte-00000000deadbeef.7", ".mte-00000000deadbeef.7-old"]);
    assert_eq!(names(taken.at_epoch(0)), names(id));
    for text in ["", "x", "1ffffffffffffffff"] {
        assert_eq!(TemporaryId::parse(text), None, "{text}");
    }
    assert_ne!(TemporaryId::draw(), TemporaryId::draw());
}

/// The error makes the call start again, and draw another number.
#[test]
fn a_number_that_is_drawn_twice_is_drawn_anew() {
    let world = World::new();
    let place = world.place("@/root/a");
    let id = TemporaryId::draw();
    let first = Temporary::create(&place, id).unwrap();
    let error = Temporary::create(&place, id).unwrap_err();
    assert_eq!((error.kind, error.path.as_path()), (StoreErrorKind::Changed, first.path()));
    assert!(first.remove());
    assert_eq!(world.names(), ["outside", "root"]);
}

#[test]
fn a_range_of_a_file_is_copied_and_no_more() {
    let world = World::new();
    world.write("@/root/a", "0123456789");
    let place = world.place("@/root/a");
    let file = place.open_file(false).unwrap();
    // Only Linux has files in memory. The kernel cannot copy to them, so the bytes are copied in blocks.
    let in_memory = Temporary::in_memory(&place, TemporaryId::draw()).ok();
    for mut copy in [Temporary::create(&place, TemporaryId::draw()).unwrap()].into_iter().chain(in_memory) {
        for (range, expected) in [(2..5, "234"), (5..5, "234"), (0..1, "2340"), (6..10, "23406789")] {
            copy.copy_range(&file, range).unwrap();
            let mut bytes = [0; 20];
            let length = os::read_at(copy.file(), &mut bytes, 0).unwrap();
            assert_eq!(&bytes[..length], expected.as_bytes());
            assert_eq!(copy.written(), expected.len() as u64);
        }
        let error = copy.copy_range(&file, 8..11).unwrap_err();
        assert_eq!((error.kind, error.path), (StoreErrorKind::Changed, world.path("@/root/a")));
    }
}

#[test]
fn a_name_that_is_gone_counts_as_taken_away() {
    let world = World::new();
    world.write("@/root/a", "");
    let place = world.place("@/root/a");
    let name = std::path::Path::new("a");
    for _ in 0..2 {
        assert!(unlink(&place.directory, name));
    }
    std::fs::create_dir(world.path("@/root/a")).unwrap();
    assert!(!unlink(&place.directory, name), "a directory stays");
}

/// A file that is overwritten in place needs a copy of its content in another place: in the state directory
/// or in memory.
#[cfg(unix)]
#[test]
fn where_nothing_can_be_made_a_copy_is_elsewhere_and_a_large_one_nowhere() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use crate::tests::world::as_user;

    let world = World::new();
    world.write("@/root/d/a", "");
    let place = world.place("@/root/d/a");
    let allow = |path: &str, mode| set_permissions(world.path(path), Permissions::from_mode(mode)).unwrap();
    for path in ["@", "@/root"] {
        allow(path, 0o755);
    }
    let most = 64 << 20;
    let told = as_user(65_534, || {
        let make = |size| Temporary::create_anywhere(&place, TemporaryId::draw(), size, None);
        let (small, large) = (make(most).unwrap(), make(most + 1).unwrap_err());
        assert!(small.is_in_memory() && !small.is_in_same_directory() && small.remove());
        assert_eq!((large.kind, large.path), (StoreErrorKind::PermissionDenied, world.path("@/root/d")));
        let state = world.workspace.state_dir.as_ref();
        let kept = Temporary::create_anywhere(&place, TemporaryId::draw(), most + 1, state).unwrap();
        assert!(!kept.is_in_memory() && !kept.is_in_same_directory());
        assert!(kept.path().starts_with(state.unwrap().path().join("content")) && kept.path().is_file());
        assert!(kept.remove());
    });
    if told.is_none() {
        return;
    }
    allow("@/root/d", 0o777);
    let made = as_user(65_534, || {
        let made = Temporary::create_anywhere(&place, TemporaryId::draw(), 0, None).unwrap();
        assert!(made.is_in_same_directory() && !made.is_in_memory());
        made
    });
    let made = made.unwrap();
    allow("@/root/d", 0o755);
    let path = made.path().to_owned();
    assert_eq!(as_user(65_534, || made.remove()), Some(false));
    assert!(path.is_file(), "it cannot be taken away there");
}
