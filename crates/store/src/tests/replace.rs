#[cfg(target_os = "linux")]
use std::io::Write as _;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::cancellation::Cancellation;
use crate::commit::exchange::Method;
use crate::commit::staged::{NewContent, Replacement, Staged};
use crate::commit::transaction::Transaction;
use crate::error::{StoreError, StoreErrorKind};
use crate::journal::{Intent, Subject};
use crate::lock::{LockTimeout, lock};
use crate::stage::{Temporary, TemporaryId};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::{Source as _, read_range};

use crate::tests::world::World;
use crate::workspace::Workspace;

fn prepare(world: &World, name: &str, content: &str) -> Replacement {
    let place = world.place(name);
    let locked = lock(&place, &LockTimeout::default()).unwrap();
    let mut temporary = Temporary::create(&place, TemporaryId::draw()).unwrap();
    temporary.write_all(content.as_bytes()).unwrap();
    let _ = temporary.keep_metadata(locked.file()).unwrap();
    temporary.sync().unwrap();
    let old = read_range(locked.file(), 0..locked.file().size()).unwrap();
    let (new, old) = (Digest::of(content.as_bytes()), Digest::of(&old));
    let content = NewContent { temporary, in_place: None, old, new, unsettled: None };
    Replacement { place, content, locked: locked.into() }
}

/// Commits the replacements. Calls `meanwhile` when all files have their new content.
pub(crate) fn commit(
    workspace: &Workspace,
    prepared: Vec<Replacement>,
    meanwhile: impl FnOnce(),
) -> Result<Vec<Method>, StoreError> {
    commit_with(workspace, prepared, None, meanwhile)
}

/// Commits the replacements of a call that also names the file `unchanged`, whose content stays.
fn commit_with(
    workspace: &Workspace,
    prepared: Vec<Replacement>,
    unchanged: Option<Subject>,
    meanwhile: impl FnOnce(),
) -> Result<Vec<Method>, StoreError> {
    let subject = |file: &Replacement| Subject {
        path: file.place.path().to_owned(),
        id: file.content.temporary.id(),
        intent: Intent::Edit { key: file.locked.file().identity().file_key() },
    };
    let subjects = prepared.iter().map(subject).chain(unchanged).collect();
    let transaction = Transaction::begin(workspace, subjects)?;
    let staged = prepared.into_iter().map(Staged::Replaced).collect();
    let done = transaction.commit(staged, Vec::new(), Cancellation::none(), |_| meanwhile())?;
    Ok(done.landed.iter().filter_map(|landed| landed.method).collect())
}

fn three() -> World {
    let world = World::new();
    for name in ["a", "b", "sub/c"] {
        world.write(&format!("@/root/{name}"), "old");
    }
    world
}

fn contents(world: &World) -> [String; 3] {
    ["a", "b", "sub/c"].map(|name| world.content(&format!("@/root/{name}")))
}

const NAMES: [&str; 6] = ["outside", "root", "root/a", "root/b", "root/sub", "root/sub/c"];

/// The method by which a file replaces another, on a file system that supports all methods of this operating
/// system.
const METHOD: Method = if cfg!(windows) { Method::Guarded } else { Method::Exchanged };

#[test]
fn all_files_get_their_new_content() {
    let world = three();
    let prepared = ["a", "b", "sub/c"].map(|name| prepare(&world, &format!("@/root/{name}"), "new"));
    assert_eq!(commit(&world.workspace, prepared.into(), || ()).unwrap(), [METHOD; 3]);
    assert_eq!(contents(&world), ["new"; 3]);
    assert_eq!(world.names(), NAMES);
}

#[test]
#[cfg(unix)]
fn all_files_keep_their_mode() {
    let world = three();
    for (name, mode) in [("a", 0o640), ("b", 0o755), ("sub/c", 0o600)] {
        let path = world.path(&format!("@/root/{name}"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let prepared = ["a", "b", "sub/c"].map(|name| prepare(&world, &format!("@/root/{name}"), "new"));
    commit(&world.workspace, prepared.into(), || ()).unwrap();
    for (name, mode) in [("a", 0o640), ("b", 0o755), ("sub/c", 0o600)] {
        let metadata = std::fs::metadata(world.path(&format!("@/root/{name}"))).unwrap();
        assert_eq!(metadata.mode() & 0o7777, mode, "{name}");
    }
}

#[test]
fn one_failure_puts_all_back() {
    let world = three();
    let files = || ["a", "b"].map(|name| world.file(&format!("@/root/{name}")));
    let before = files();
    let prepared = ["a", "b", "sub/c"].map(|name| prepare(&world, &format!("@/root/{name}"), "new"));
    std::fs::remove_file(prepared[2].content.temporary.path()).unwrap();
    // The path of this file leads nowhere by now.
    let intent = Intent::Edit { key: prepared[0].locked.file().identity().file_key() };
    let unchanged = Subject { path: world.path("@/elsewhere/d"), id: TemporaryId::draw(), intent };
    let error = commit_with(&world.workspace, prepared.into(), Some(unchanged), || ()).unwrap_err();
    assert_eq!((error.kind, error.path), (StoreErrorKind::NotFound, world.path("@/root/sub/c")));
    assert_eq!(contents(&world), ["old"; 3]);
    assert_eq!(world.names(), NAMES);
    assert_eq!(files(), before);
}

#[test]
fn another_programs_write_before_the_commit_is_kept() {
    let write = |world: &World| world.write("@/root/b", "other");
    let rename = |world: &World| {
        world.write("@/root/x", "other");
        std::fs::rename(world.path("@/root/x"), world.path("@/root/b")).unwrap();
    };
    for outsider in [&write as &dyn Fn(&World), &rename] {
        let world = three();
        let prepared = ["a", "b", "sub/c"].map(|name| prepare(&world, &format!("@/root/{name}"), "new"));
        outsider(&world);
        let error = commit(&world.workspace, prepared.into(), || ()).unwrap_err();
        assert_eq!((error.kind, error.path), (StoreErrorKind::Changed, world.path("@/root/b")));
        assert_eq!(contents(&world), ["old", "other", "old"]);
        assert_eq!(world.names(), NAMES);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn who_opens_a_file_for_writing_before_the_commit_keeps_it() {
    let world = three();
    let prepared = ["a", "b", "sub/c"].map(|name| prepare(&world, &format!("@/root/{name}"), "new"));
    let mut writer = std::fs::OpenOptions::new().append(true).open(world.path("@/root/b")).unwrap();
    let error = commit(&world.workspace, prepared.into(), || ()).unwrap_err();
    assert_eq!((error.kind, error.path), (StoreErrorKind::Changed, world.path("@/root/b")));
    writer.write_all(b"er").unwrap();
    assert_eq!(contents(&world), ["old", "older", "old"]);
    assert_eq!(world.names(), NAMES);
}

#[test]
fn nobody_builds_on_a_file_before_its_commit_is_over() {
    let world = three();
    let wait = LockTimeout { limit: std::time::Duration::from_millis(20), ..LockTimeout::default() };
    let place = world.place("@/root/a");
    let prepared = vec![prepare(&world, "@/root/a", "new")];
    let is_locked = || assert_eq!(lock(&place, &wait).unwrap_err().kind, StoreErrorKind::Busy);
    commit(&world.workspace, prepared, is_locked).unwrap();
    assert_eq!(lock(&place, &LockTimeout::default()).unwrap().file().size(), 3);
}

#[test]
fn ranges_are_copied_and_a_temporary_goes_when_dropped() {
    let world = World::new();
    let old: String = (0..400_000).flat_map(|n: u32| [n.to_string(), "\n".to_owned()]).collect();
    world.write("@/root/a", &old);
    let place = world.place("@/root/a");
    let file = place.open_file(false).unwrap();
    let mut temporary = Temporary::create(&place, TemporaryId::draw()).unwrap();
    #[cfg(unix)]
    assert_eq!(std::fs::metadata(temporary.path()).unwrap().mode() & 0o777, 0o600);
    temporary.copy_range(&file, 0..10).unwrap();
    temporary.write_all(b"middle").unwrap();
    temporary.copy_range(&file, 1_000_000..file.size()).unwrap();
    temporary.copy_range(&file, 5..5).unwrap();
    let expected = format!("{}middle{}", &old[..10], &old[1_000_000..]);
    let view = temporary.bytes().unwrap();
    assert_eq!((view.size(), temporary.written()), (expected.len() as u64, expected.len() as u64));
    assert!(read_range(&view, 0..view.size()).unwrap() == expected.as_bytes());
    let error = temporary.copy_range(&file, file.size() - 1..file.size() + 1).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Changed);
    drop(temporary);
    assert_eq!(world.names(), ["outside", "root", "root/a"]);
}
