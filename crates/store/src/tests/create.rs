use std::sync::Barrier;

use crate::access::place::WritablePlace;
use crate::commit::publish_new::{Creation, check_free};
use crate::error::{StoreError, StoreErrorKind};
use crate::stage::TemporaryId;
use crate::tests::world::World;

fn create(place: &WritablePlace, bytes: &[u8]) -> Result<Creation, StoreError> {
    check_free(place)?;
    let mut creation = Creation::begin(place, TemporaryId::draw(), 0o666)?;
    creation.temporary_mut().write_all(bytes).unwrap();
    creation.publish().map(|_| creation)
}

#[test]
fn a_file_and_its_parents_are_made() {
    let world = World::new();
    let created = create(&world.place("@/root/a/b/c.txt"), b"content").unwrap();
    assert_eq!(created.directories(), [world.path("@/root/a"), world.path("@/root/a/b")]);
    assert_eq!(world.content("@/root/a/b/c.txt"), "content");
    // The umask applies as it does to files that std makes.
    world.write("@/outside/x/y", "");
    let permissions = |path: &str| std::fs::metadata(world.path(path)).unwrap().permissions();
    assert_eq!(permissions("@/root/a/b/c.txt"), permissions("@/outside/x/y"));
    assert_eq!(permissions("@/root/a"), permissions("@/outside/x"));
    let created = create(&world.place("@/root/a/d"), b"").unwrap();
    assert!(created.directories().is_empty());
    assert_eq!(std::fs::read_dir(world.path("@/root/a/b")).unwrap().count(), 1);
}

#[test]
fn no_more_directories_are_made_than_a_record_holds() {
    let world = World::new();
    let below = |directories| format!("@/root/{}file", "d/".repeat(directories));
    assert!(create(&world.place(&below(100)), b"").is_ok());
    std::fs::remove_dir_all(world.path("@/root/d")).unwrap();
    let kind = create(&world.place(&below(101)), b"").unwrap_err().kind;
    assert_eq!(kind, StoreErrorKind::TooManyMissing { missing: 101, most: 100 });
    assert_eq!(world.names(), ["outside", "root"]);
}

#[test]
fn what_exists_in_any_form_is_left_alone() {
    let world = World::new();
    world.write("@/root/file", "old");
    world.write("@/root/dir/x", "");
    for name in ["file", "dir"] {
        let kind = create(&world.place(&format!("@/root/{name}")), b"new").unwrap_err().kind;
        assert_eq!(kind, StoreErrorKind::AlreadyExists, "{name}");
    }
    assert_eq!(create(&world.place("@/root/new/"), b"").unwrap_err().kind, StoreErrorKind::IsADirectory);
    assert_eq!(world.content("@/root/file"), "old");
    assert_eq!(world.names(), ["outside", "root", "root/dir", "root/dir/x", "root/file"]);
}

#[test]
fn a_link_that_exists_is_left_alone_wherever_it_leads() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/file", "old");
    world.link("@/root/link", "file");
    world.link("@/root/dangling", "nothing");
    world.link("@/root/far", "missing/nothing");
    for name in ["link", "dangling", "far"] {
        let kind = create(&world.place(&format!("@/root/{name}")), b"new").unwrap_err().kind;
        assert_eq!(kind, StoreErrorKind::AlreadyExists, "{name}");
    }
    assert_eq!(world.content("@/root/file"), "old");
    assert_eq!(world.names(), ["outside", "root", "root/dangling", "root/far", "root/file", "root/link"]);
}

#[test]
fn the_file_system_decides_and_parents_are_unmade() {
    let (world, has_links) = World::with_links().map_or_else(|| (World::new(), false), |world| (world, true));
    let others: [&dyn Fn(); 3] = [
        &|| world.write("@/root/a/b/c", "other"),
        &|| std::fs::create_dir(world.path("@/root/a/b/c")).unwrap(),
        &|| world.link("@/root/a/b/c", "nothing"),
    ];
    for other in &others[..if has_links { 3 } else { 2 }] {
        let mut creation = Creation::begin(&world.place("@/root/a/b/c"), TemporaryId::draw(), 0o666).unwrap();
        creation.temporary_mut().write_all(b"ours").unwrap();
        other();
        assert_eq!(creation.publish().unwrap_err().kind, StoreErrorKind::AlreadyExists);
        drop(creation);
        // Another program's file is in the directories, so they stay.
        assert_eq!(world.names(), ["outside", "root", "root/a", "root/a/b", "root/a/b/c"]);
        std::fs::remove_dir_all(world.path("@/root/a")).unwrap();
    }
    drop(Creation::begin(&world.place("@/root/a/b/c"), TemporaryId::draw(), 0o666).unwrap());
    assert_eq!(world.names(), ["outside", "root"]);
    let name = "n".repeat(300);
    let creation =
        Creation::begin(&world.place(&format!("@/root/a/b/{name}")), TemporaryId::draw(), 0o666).unwrap();
    assert_eq!(creation.publish().unwrap_err().kind, StoreErrorKind::NameTooLong);
    drop(creation);
    let error = create(&world.place(&format!("@/root/a/{name}/c")), b"").unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::NameTooLong);
    assert_eq!(world.names(), ["outside", "root"]);
}

#[test]
fn of_several_at_once_one_wins() {
    let world = World::new();
    for round in 0..30 {
        let path = format!("@/root/{round}/sub/file");
        let barrier = Barrier::new(4);
        let wins: usize = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..4)
                .map(|racer| {
                    let (world, path, barrier) = (&world, &path, &barrier);
                    scope.spawn(move || {
                        let place = world.place(path);
                        barrier.wait();
                        match create(&place, format!("{racer}").as_bytes()) {
                            Ok(_) => {
                                assert_eq!(world.content(path), racer.to_string());
                                1
                            }
                            Err(error) => {
                                // On Windows, the thread that won may have the file open just then.
                                let is_held = cfg!(windows) && error.kind == StoreErrorKind::HeldOpen;
                                assert!(is_held || error.kind == StoreErrorKind::AlreadyExists, "{error}");
                                0
                            }
                        }
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).sum()
        });
        assert_eq!(wins, 1);
    }
    assert!(world.names().iter().all(|name| !name.contains(".mte-")));
}

#[test]
fn a_parent_that_becomes_a_link_is_not_followed() {
    let Some(world) = World::with_links() else { return };
    let place = world.place("@/root/a/b/c");
    world.link("@/root/a", "@/outside");
    assert_eq!(create(&place, b"").unwrap_err().kind, StoreErrorKind::Changed);
    assert_eq!(world.names(), ["outside", "root", "root/a"]);
}
