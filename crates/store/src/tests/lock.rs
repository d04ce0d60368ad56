use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::{Source as _, read_range};

use crate::access::place::WritablePlace;
use crate::access::roots::Roots;
use crate::cancellation::Cancellation;
use crate::commit::staged::{NewContent, Replacement};
use crate::error::StoreErrorKind;
use crate::lock::{LockTimeout, lock, lock_all};
use crate::observer::Observer;
use crate::stage::{Temporary, TemporaryId};
use crate::tests::replace::commit;
use crate::tests::world::World;
use crate::workspace::Workspace;

/// The variable that names the file for the helper process.
const FILE: &str = "MTE_TEST_LOCK_FILE";

thread_local! {
    /// The number of nanoseconds that this thread has waited, as the observer was told.
    static WAITED: Cell<u128> = Cell::default();
}

/// Returns a short limit, for locks that are held. For free locks, tests use the default limit: a process
/// that another test starts also holds such a lock until it runs its own program.
fn short() -> LockTimeout<'static> {
    LockTimeout { limit: Duration::from_millis(30), ..LockTimeout::default() }
}

/// Adds one to the number in a file, by replacing the file.
fn increment(workspace: &Workspace, place: &WritablePlace) {
    // A lock has no queue. So on a slow machine, one of several waiting threads can wait for long.
    let wait = LockTimeout { limit: Duration::from_mins(2), ..LockTimeout::default() };
    let locked = lock(place, &wait).unwrap();
    let file = locked.file();
    let text = String::from_utf8(read_range(file, 0..file.size()).unwrap()).unwrap();
    let number: u32 = text.parse().unwrap();
    let mut temporary = Temporary::create(place, TemporaryId::draw()).unwrap();
    let text = (number + 1).to_string();
    temporary.write_all(text.as_bytes()).unwrap();
    let (new, old) = (Digest::of(text.as_bytes()), Digest::of(number.to_string().as_bytes()));
    let _ = temporary.keep_metadata(file).unwrap();
    let content = NewContent { temporary, in_place: None, old, new, unsettled: None };
    let file = Replacement { place: place.clone(), content, locked: locked.into() };
    commit(workspace, vec![file], || ()).unwrap();
}

#[test]
fn helper_process() {
    #[expect(clippy::disallowed_methods, reason = "how the test below speaks to its processes")]
    let Ok(file) = std::env::var(FILE) else { return };
    let root = std::path::Path::new(&file).parent().unwrap().to_owned();
    let workspace = Workspace::without_state(Roots::open(&[root]).unwrap());
    let place = workspace.roots.resolve_for_writing(&file).unwrap();
    for _ in 0..50 {
        increment(&workspace, &place);
    }
}

#[test]
fn no_update_is_lost_between_processes_and_threads() {
    let world = World::new();
    world.write("@/root/number", "0");
    let mut children: Vec<_> = (0..2)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "tests::lock::helper_process"])
                .env(FILE, world.path("@/root/number"))
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..50 {
                    increment(&world.workspace, &world.place("@/root/number"));
                }
            });
        }
    });
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(world.content("@/root/number"), "200");
    assert_eq!(world.names(), ["outside", "root", "root/number"]);
}

#[test]
fn waiting_ends_with_busy_or_when_cancelled() {
    let world = World::new();
    world.write("@/root/a", "");
    let place = world.place("@/root/a");
    let held = lock(&place, &LockTimeout::default()).unwrap();
    assert!(held.is_guarded());
    assert_eq!(lock(&place, &short()).unwrap_err().kind, StoreErrorKind::Busy);
    WAITED.set(0);
    let observer =
        Observer { lock_waited: |time| WAITED.set(WAITED.get() + time.as_nanos()), ..Observer::default() };
    // This is long enough for a slow machine to try more than once.
    let long = LockTimeout { limit: Duration::from_millis(500), observer, ..LockTimeout::default() };
    assert_eq!(lock(&place, &long).unwrap_err().kind, StoreErrorKind::Busy);
    assert_ne!(WAITED.take(), 0);
    let asked = Cell::new(0);
    let cancel = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let wait = LockTimeout { cancellation: Cancellation::when(&cancel), ..LockTimeout::default() };
    assert_eq!(lock(&place, &wait).unwrap_err().kind, StoreErrorKind::Cancelled);
    drop(held);
    let is_free_at_once = |_| {
        WAITED.set(0);
        drop(lock(&place, &LockTimeout { observer, ..LockTimeout::default() }).unwrap());
        WAITED.get() == 0
    };
    assert!((0..100).any(is_free_at_once));
}

#[test]
fn several_names_of_one_file_are_one_lock() {
    let world = World::new();
    world.write("@/root/a", "");
    world.write("@/root/b", "");
    std::fs::hard_link(world.path("@/root/a"), world.path("@/root/hard")).unwrap();
    let places = ["b", "a", "hard", "b"].map(|name| world.place(&format!("@/root/{name}")));
    let places: Vec<&WritablePlace> = places.iter().collect();
    let set = lock_all(&places, &LockTimeout::default()).unwrap();
    assert_eq!(set.file_of, [0, 1, 1, 0]);
    assert_eq!(set.files.len(), 2);
    assert_eq!(set.files[0].file().path(), world.path("@/root/b"));
    assert!(lock_all(&[], &LockTimeout::default()).unwrap().files.is_empty());
}

#[test]
fn a_link_and_the_file_that_it_leads_to_are_one_lock() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/a", "");
    world.link("@/root/link", "a");
    let places = ["link", "a"].map(|name| world.place(&format!("@/root/{name}")));
    let set = lock_all(&[&places[0], &places[1]], &LockTimeout::default()).unwrap();
    assert_eq!((set.file_of.as_slice(), set.files.len()), (&[0, 0][..], 1));
}

#[test]
fn all_or_no_locks_are_taken() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.write(&format!("@/root/{name}"), "");
    }
    let places = ["a", "b", "c"].map(|name| world.place(&format!("@/root/{name}")));
    let all: Vec<&WritablePlace> = places.iter().collect();
    let held = lock(&places[1], &LockTimeout::default()).unwrap();
    let problems = lock_all(&all, &short()).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!((problems[0].0, &problems[0].1.kind), (1, &StoreErrorKind::Busy));
    let is_free = |place| lock(place, &LockTimeout::default()).is_ok();
    assert!(is_free(&places[0]) && is_free(&places[2]));
    drop(held);
    // All files that cannot be opened are reported together.
    std::fs::remove_file(world.path("@/root/a")).unwrap();
    std::fs::remove_file(world.path("@/root/c")).unwrap();
    let problems = lock_all(&all, &LockTimeout::default()).unwrap_err();
    let indexes: Vec<usize> = problems.iter().map(|(index, _)| *index).collect();
    assert_eq!(indexes, [0, 2]);
    assert!(problems.iter().all(|(_, error)| error.kind == StoreErrorKind::NotFound));
}

#[test]
fn calls_that_name_files_in_opposite_order_do_not_wait_for_each_other() {
    let world = World::new();
    world.write("@/root/a", "");
    world.write("@/root/b", "");
    let (a, b) = (world.place("@/root/a"), world.place("@/root/b"));
    let (inside, most) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for order in [[&a, &b], [&b, &a], [&a, &b], [&b, &a]] {
            let (inside, most) = (&inside, &most);
            scope.spawn(move || {
                for _ in 0..50 {
                    let set = lock_all(&order, &LockTimeout::default()).unwrap();
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(set);
                }
            });
        }
    });
    assert_eq!(most.into_inner(), 1);
}

#[test]
fn a_lock_follows_the_name_to_another_file() {
    let world = World::new();
    world.write("@/root/a", "old");
    let place = world.place("@/root/a");
    let held = lock(&place, &LockTimeout::default()).unwrap();
    // Another program, which uses no locks, replaces the file. A call that waits for the old file need not
    // wait any longer.
    world.write("@/root/new", "newer");
    std::fs::rename(world.path("@/root/new"), world.path("@/root/a")).unwrap();
    let locked = lock(&place, &LockTimeout::default()).unwrap();
    assert_eq!(locked.file().size(), 5);
    drop(held);
    // Size and times are those of the moment of the lock, not of the open.
    let mut appended = OpenOptions::new().append(true).open(world.path("@/root/a")).unwrap();
    appended.write_all(b"!").unwrap();
    assert!(!locked.file().is_unchanged().unwrap());
}

#[test]
fn a_read_only_file_stays_read_only() {
    let world = World::new();
    world.write("@/root/a", "");
    let mut permissions = std::fs::metadata(world.path("@/root/a")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(world.path("@/root/a"), permissions).unwrap();
    let is_superuser = OpenOptions::new().write(true).open(world.path("@/root/a")).is_ok();
    let locked = lock(&world.place("@/root/a"), &LockTimeout::default());
    match locked {
        Ok(_) => assert!(is_superuser),
        Err(error) => assert_eq!(error.kind, StoreErrorKind::PermissionDenied),
    }
}
