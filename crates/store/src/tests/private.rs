use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};

use crate::state_dir::StateDir;
use crate::state_dir::private::NotPrivate;
#[cfg(target_os = "linux")]
use crate::state_dir::private::{Holds, claim};

#[cfg(target_os = "linux")]
use crate::tests::mounted::Mounted;
#[cfg(target_os = "linux")]
use crate::tests::world::opened;
use crate::tests::world::{World, as_user};

/// A user that never runs tests.
const STRANGER: u32 = 54_321;

/// Opens the state directory `@/state`. The error is the reason why it is refused. `@` stands for the
/// temporary directory.
fn open(world: &World) -> Result<(), String> {
    open_at(world, "@/state")
}

fn open_at(world: &World, path: &str) -> Result<(), String> {
    let Err(error) = StateDir::open(&world.path(path)) else { return Ok(()) };
    let source = error.source.unwrap();
    let why = source.get_ref().and_then(|why| why.downcast_ref::<NotPrivate>());
    let why = why.unwrap_or_else(|| panic!("{source}"));
    Err(format!("{why:?}").replace(world.path("@").to_str().unwrap(), "@"))
}

fn mode(world: &World, path: &str) -> u32 {
    world.path(path).metadata().unwrap().mode() & 0o7777
}

fn set_mode(world: &World, path: &str, mode: u32) {
    set_permissions(world.path(path), Permissions::from_mode(mode)).unwrap();
}

/// Gives a path to another user, and tells whether that worked.
fn give_away(world: &World, path: &str) -> bool {
    if chown(world.path(path), Some(STRANGER), None).is_ok() {
        return true;
    }
    assert!(std::env::var_os("REQUIRE_ALL").is_none(), "this needs root");
    eprintln!("skipped: this needs root");
    false
}

#[test]
fn a_new_state_directory_is_private_whatever_is_missing() {
    let world = World::new();
    open_at(&world, "@/a/b/state").unwrap();
    for path in ["@/a", "@/a/b", "@/a/b/state", "@/a/b/state/journal", "@/a/b/state/content"] {
        assert_eq!(mode(&world, path), 0o700, "{path}");
    }
}

#[test]
fn what_is_open_to_others_and_holds_only_the_state_is_made_private() {
    for open_mode in [0o755, 0o777, 0o1777, 0o710, 0o704] {
        let world = World::new();
        open(&world).unwrap();
        world.write("@/state/history.db", "");
        world.write("@/state/history.db-wal", "");
        world.write("@/state/journal/record", "");
        for path in ["@/state", "@/state/journal", "@/state/content"] {
            set_mode(&world, path, open_mode);
        }
        open(&world).unwrap();
        for path in ["@/state", "@/state/journal", "@/state/content"] {
            assert_eq!(mode(&world, path), 0o700, "{path} was {open_mode:o}");
        }
        open(&world).unwrap();
    }
}

/// Opening the state directory removes only the rights of others, and adds none for the owner: a person, or a
/// read-only image, may have removed the owner's right on purpose.
#[test]
fn what_its_owner_may_not_write_stays_so() {
    let world = World::new();
    open(&world).unwrap();
    set_mode(&world, "@/state/journal", 0o555);
    // The result does not matter: for root, the directory is writable nevertheless.
    let _ = StateDir::open(&world.path("@/state"));
    assert_eq!(mode(&world, "@/state/journal"), 0o500);
}

#[test]
fn a_directory_that_holds_other_things_keeps_its_mode() {
    let world = World::new();
    world.write("@/state/letter.txt", "dear");
    for open_mode in [0o755, 0o1777] {
        set_mode(&world, "@/state", open_mode);
        assert_eq!(open(&world), Err("Shared(\"letter.txt\")".to_owned()));
        assert_eq!(mode(&world, "@/state"), open_mode);
        assert!(!world.path("@/state/journal").exists(), "and nothing is put there");
    }
    set_mode(&world, "@/state", 0o700);
    open(&world).unwrap();
    assert_eq!(world.content("@/state/letter.txt"), "dear");
}

/// Some file systems report success for a change of the mode, but do not change it.
#[test]
#[cfg(target_os = "linux")]
fn what_stays_open_to_others_is_refused() {
    let world = World::new();
    std::fs::create_dir(world.path("@/state")).unwrap();
    set_mode(&world, "@/state", 0o755);
    let Some(mounted) = Mounted::fuse(&world.path("@/state"), &["--chmod-ignore"]) else { return };
    let claimed = claim(&opened(&mounted.path("")), Holds::Anything).map_err(|error| error.to_string());
    assert_eq!(claimed, Err(NotPrivate::Open.to_string()));
}

#[test]
fn what_everybody_could_exchange_is_refused() {
    let world = World::new();
    for (above, path) in [("@/above", "@/above/state"), ("@/above", "@/above/a/state")] {
        std::fs::create_dir_all(world.path(above)).unwrap();
        set_mode(&world, above, 0o777);
        assert_eq!(open_at(&world, path), Err(format!("Renamable {{ path: {above:?}, by: \"everybody\" }}")));
        assert!(!world.path(path).exists());
        set_mode(&world, above, 0o1777);
        open_at(&world, path).unwrap();
        set_mode(&world, above, 0o755);
        open_at(&world, path).unwrap();
    }
}

#[test]
fn links_into_the_state_directory_are_refused_and_links_to_it_are_followed() {
    let world = World::new();
    symlink(world.path("@/real"), world.path("@/state")).unwrap();
    std::fs::create_dir(world.path("@/real")).unwrap();
    open(&world).unwrap();
    assert_eq!(mode(&world, "@/real"), 0o700);
    for name in ["journal", "content"] {
        std::fs::remove_dir(world.path(&format!("@/real/{name}"))).unwrap();
        symlink(world.path("@/outside"), world.path(&format!("@/real/{name}"))).unwrap();
        assert_eq!(open(&world), Err(format!("Planted({name:?})")));
        std::fs::remove_file(world.path(&format!("@/real/{name}"))).unwrap();
        open(&world).unwrap();
    }
    symlink(world.path("@/outside/x"), world.path("@/real/history.db")).unwrap();
    assert_eq!(open(&world), Err("Planted(\"history.db\")".to_owned()));
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    let world = World::new();
    open(&world).unwrap();
    if !give_away(&world, "@/state") {
        return;
    }
    assert_eq!(open(&world), Err(format!("Owner({STRANGER})")), "although only root can look in");
    chown(world.path("@/state"), Some(0), None).unwrap();
    open(&world).unwrap();
    for path in ["journal", "content"] {
        give_away(&world, &format!("@/state/{path}"));
        assert_eq!(open(&world), Err(format!("Planted({path:?})")));
        chown(world.path(&format!("@/state/{path}")), Some(0), None).unwrap();
    }
    for path in ["history.db", "history.db-wal", "journal/record", "content/old"] {
        let whole = format!("@/state/{path}");
        world.write(&whole, "");
        give_away(&world, &whole);
        let name = path.rsplit('/').next().unwrap();
        assert_eq!(open(&world), Err(format!("Planted({name:?})")), "{path}");
        std::fs::remove_file(world.path(&whole)).unwrap();
    }
    open(&world).unwrap();
    // The state directory lies in the directory of another user, or behind a link of another user.
    std::fs::create_dir(world.path("@/theirs")).unwrap();
    give_away(&world, "@/theirs");
    let above = |path: &str| Err(format!("Above {{ path: {path:?}, owner: {STRANGER} }}"));
    assert_eq!(open_at(&world, "@/theirs/state"), above("@/theirs"));
    assert!(!world.path("@/theirs/state").exists());
    symlink(world.path("@/state"), world.path("@/link")).unwrap();
    open_at(&world, "@/link").unwrap();
    std::os::unix::fs::lchown(world.path("@/link"), Some(STRANGER), None).unwrap();
    assert_eq!(open_at(&world, "@/link"), above("@/link"));
}

#[test]
fn a_user_has_a_state_directory_of_their_own() {
    let world = World::new();
    std::fs::create_dir(world.path("@/theirs")).unwrap();
    if !give_away(&world, "@/theirs") {
        return;
    }
    set_mode(&world, "@", 0o755);
    let open = || as_user(STRANGER, || StateDir::open(&world.path("@/theirs/state")).map(drop));
    for _ in 0..2 {
        assert!(open().is_none_or(|opened| opened.is_ok()));
    }
    // If a directory in the state directory is not writable, opening fails.
    if world.path("@/theirs/state/journal").exists() {
        set_mode(&world, "@/theirs/state/journal", 0o500);
        assert!(open().is_none_or(|opened| opened.is_err()));
    }
}
