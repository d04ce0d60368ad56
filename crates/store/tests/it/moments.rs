//! Single moments of a call: one call to the system, chosen by what it is about, fails, or another program
//! does something before it. `refused.rs` and `meanwhile.rs` try all moments, and draw.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;

use mcp_text_editor_store::core::digest::Digest;
use mcp_text_editor_store::core::resolve::Patch;
use mcp_text_editor_store::core::show::Budget;
use mcp_text_editor_store::{
    Change, Confinement, Control, FileEdit, InPlace, Lack, List, ListEntry, Network, Outcome, Patterns,
    ReadFile, Reason, StoreErrorKind, Warning, Workspace,
};
use rustix::io::Errno;

use crate::mixed::{Step, carry_out};
use crate::system_calls::{SystemCall, asked};
use crate::trials::{Lacks, Ready, THEIRS, ready};
use crate::world::World;

/// Nobody could tell whether its owner lives.
#[test]
fn a_record_that_cannot_be_locked_is_not_used() {
    let steps = [Step::Patch("a", "new\n".to_owned())];
    let ready = ready(&steps, false);
    let journal = ready.world.directory.path().join("state/journal");
    let mut records = None;
    let answer = |call: &SystemCall| {
        if call.name == "renameat2" {
            records.get_or_insert_with(|| std::fs::read_dir(&journal).unwrap().count());
        }
        (call.name == "flock" && call.file(0).contains("/state/journal/")).then_some(Errno::IO)
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    assert!(done.is_ok());
    assert_eq!(records, Some(0));
}

/// It was found before it was locked, looks like that of a dead process, and goes.
#[test]
fn a_record_that_is_removed_as_it_is_begun_is_begun_again() {
    let steps = [Step::Patch("a", "new\n".to_owned())];
    let ready = ready(&steps, false);
    let (mut other, mut records) = (None, None);
    let answer = |call: &SystemCall| {
        if call.name == "renameat2" {
            records.get_or_insert_with(|| ready.world.records());
        }
        if call.name == "flock" && call.file(0).contains("/state/journal/") && other.is_none() {
            let found = File::open(call.file(0)).unwrap();
            found.try_lock().unwrap();
            std::fs::remove_file(call.file(0)).unwrap();
            other = Some(found);
        }
        None
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    assert!(done.is_ok() && other.is_some());
    assert_eq!(records, Some(1));
    assert_eq!(ready.world.tree(), ready.after);
}

#[test]
fn a_record_whose_name_is_taken_gets_another() {
    let steps = [Step::Patch("a", "new\n".to_owned())];
    let ready = ready(&steps, false);
    let (mut is_taken, mut records) = (false, None);
    let answer = |call: &SystemCall| {
        if call.name == "renameat2" {
            records.get_or_insert_with(|| ready.world.records());
        }
        let is_made =
            call.name == "openat2" && call.file(0).ends_with("/state/journal") && call.path(1) != ".";
        (is_made && !std::mem::replace(&mut is_taken, true)).then_some(Errno::EXIST)
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    assert!(done.is_ok() && is_taken);
    assert_eq!(records, Some(1));
}

/// Only a file system that has no locks is written to without them, and that is told.
#[test]
fn a_file_that_cannot_be_locked_is_not_written() {
    for errno in [Errno::IO, Errno::NOLCK] {
        let Ready { world, before, .. } = ready(&[], false);
        let steps = [Step::Patch("a", "new\n".to_owned())];
        let answer =
            |call: &SystemCall| (call.name == "flock" && call.file(0).ends_with("/root/a")).then_some(errno);
        let Ok(done) = asked(answer, || carry_out(&world, &before, &steps, false)) else { return };
        assert_eq!(done.is_ok(), errno == Errno::NOLCK, "{errno}");
        let warns = |outcome: Outcome| outcome.files[0].warnings.contains(&Warning::NotLocked);
        assert!(done.is_err() || done.is_ok_and(warns));
    }
}

/// Has the first calls that are chosen fail while `a` is patched; tells whether the patch was made. `None`
/// where the kernel does not ask.
fn is_patched(world: &World, mut refuses: impl FnMut(&SystemCall) -> Option<Errno>) -> Option<bool> {
    let before = world.now();
    let steps = [Step::Patch("a", "new\n".to_owned())];
    let done = asked(&mut refuses, || carry_out(world, &before, &steps, false).is_ok()).ok()?;
    assert_eq!(world.now()["a"] == "new\n", done);
    Some(done)
}

#[test]
fn a_directory_that_may_not_be_read_is_not_locked() {
    for (errno, is_done) in [(Errno::IO, false), (Errno::ACCESS, true), (Errno::NOSYS, true)] {
        let world = ready(&[], false).world;
        let mut is_first = true;
        let answer = |call: &SystemCall| {
            let is_it = call.name == "openat" && call.file(0).ends_with("/root") && call.path(1) == ".";
            (is_it && std::mem::take(&mut is_first)).then_some(errno)
        };
        assert_eq!(is_patched(&world, answer).unwrap_or(is_done), is_done, "{errno}");
    }
}

/// Answers for two attempts to open `a` that another program has a lease on it. Each attempt makes five
/// calls, since cap-std tries four times the one that it likes best.
fn leased() -> impl FnMut(&SystemCall) -> Option<Errno> {
    let mut left = 10;
    move |call| {
        let is_it = ["openat", "openat2"].contains(&call.name) && call.path(1) == "a" && left > 0;
        left -= usize::from(is_it);
        is_it.then_some(Errno::AGAIN)
    }
}

#[test]
fn a_lease_of_another_program_is_waited_for() {
    let world = ready(&[], false).world;
    assert_ne!(is_patched(&world, leased()), Some(false));
}

#[test]
fn a_file_that_another_program_leases_for_a_moment_is_listed() {
    let world = ready(&[], false).world;
    let path = world.path("a");
    let mut listed = Vec::new();
    let mut sink = |entry: ListEntry| {
        listed.push(entry.path);
        ControlFlow::Continue(())
    };
    let list = List::new(Some(&path));
    let work = || world.workspace.list(&list, &mut sink, Control::default()).is_ok();
    let Ok(is_done) = asked(leased(), work) else { return };
    assert_eq!((is_done, listed), (true, vec![path.clone()]));
}

/// Leaves the record of a call on `b` that was killed.
fn killed() -> Option<World> {
    let steps = [Step::Patch("b", "new\n".to_owned())];
    let ready = ready(&steps, false);
    let mut is_dead = false;
    let answer = |call: &SystemCall| {
        is_dead |= call.name == "renameat2";
        is_dead.then_some(Errno::IO)
    };
    asked(answer, || ready.carry_out().is_ok()).ok()?;
    assert_eq!(ready.world.records(), 1);
    Some(ready.world.next())
}

/// Its owner may live.
#[test]
fn where_files_cannot_be_locked_a_record_is_left_alone() {
    let Some(world) = killed() else { return };
    assert_eq!(is_patched(&world, |call| Lacks::Locks.refuses(call)), Some(true));
    assert_eq!(world.records(), 1);
    // Another error may go away.
    for name in ["openat2", "flock", "pread64"] {
        let refuses = |call: &SystemCall| {
            (call.name == name && call.file(0).contains("/state/journal")).then_some(Errno::IO)
        };
        let world = killed().unwrap();
        assert_eq!(is_patched(&world, refuses), Some(false), "{name}");
    }
}

#[test]
fn a_record_that_goes_as_it_is_found_is_none() {
    let Some(world) = killed() else { return };
    let journal = world.directory.path().join("state/journal");
    let mut is_gone = false;
    let answer = |call: &SystemCall| {
        if call.name == "openat2" && call.file(0).ends_with("/state/journal") && !is_gone {
            is_gone = true;
            std::fs::remove_file(journal.join(call.path(1))).unwrap();
        }
        None
    };
    assert_eq!(is_patched(&world, answer), Some(true));
}

/// What the system refuses to one process that recovers, the next one finds.
#[test]
fn a_recovery_that_fails_leaves_all_to_the_next() {
    let edits = ["a", "b"].map(|name| Step::Patch(name, "new\n".to_owned()));
    let removals = ["d/e", "d/f"].map(Step::Remove);
    for (steps, changes, name, start) in [
        (&edits, "renameat2", "openat2", ".mte-"),
        (&edits, "renameat2", "openat2", "a"),
        (&edits, "renameat2", "openat2", "b"),
        (&edits, "renameat2", "unlinkat", ".mte-"),
        (&removals, "renameat", "renameat2", ".mte-"),
    ] {
        let ready = ready(steps, false);
        // It dies before the second file is changed.
        let mut changed = 0;
        let dies = |call: &SystemCall| {
            changed += usize::from(call.name == changes);
            (changed > 1).then_some(Errno::IO)
        };
        if asked(dies, || ready.carry_out().is_ok()).is_err() {
            return;
        }
        let Ready { world, before, .. } = ready;
        let world = world.next();
        let mut is_refused = false;
        let refuses = |call: &SystemCall| {
            let is_it =
                call.name == name && call.path(1).starts_with(start) && !call.file(0).contains("/state");
            (is_it && !std::mem::replace(&mut is_refused, is_it)).then_some(Errno::IO)
        };
        asked(refuses, || world.workspace.recover()).unwrap();
        assert!(is_refused && world.records() == 1, "{name} {start}");
        assert_eq!(world.again().tree(), before, "{name} {start}");
    }
}

/// Does something in the moment before a call to the system that is chosen, the first time.
fn before<'a>(
    mut is_it: impl FnMut(&SystemCall) -> bool + 'a,
    deed: impl Fn() + 'a,
) -> impl FnMut(&SystemCall) -> Option<Errno> + 'a {
    let mut is_done = false;
    move |call| {
        if !is_done && is_it(call) {
            is_done = true;
            deed();
        }
        None
    }
}

fn append(file: &mut File) {
    file.write_all(THEIRS.as_bytes()).unwrap();
}

#[test]
fn a_directory_that_is_removed_meanwhile_is_made_again() {
    for step in [Step::Create("m/n/new", "new\n".to_owned()), Step::Move("a", "m/n/moved")] {
        let steps = [step];
        let ready = ready(&steps, false);
        let is_it = |call: &SystemCall| {
            let is_made = call.name == "openat2" && call.file(0).ends_with("/root/m/n");
            is_made || call.name == "renameat2" && call.path(3) == "moved"
        };
        let deed = || std::fs::remove_dir_all(ready.world.path("m")).unwrap();
        let Ok(done) = asked(before(is_it, deed), || ready.carry_out()) else { return };
        assert!(done.is_ok(), "{:?}", done.map_err(|refused| refused.said));
        assert_eq!(ready.world.tree(), ready.after);
    }
}

#[test]
fn a_directory_that_is_removed_each_time_is_not_made_for_ever() {
    for (name, removed) in [("m/n/new", "m"), ("d/new", "d")] {
        let steps = [Step::Create(name, "new\n".to_owned())];
        let ready = ready(&steps, false);
        let mut removals = 0;
        let answer = |call: &SystemCall| {
            let is_made = call.name == "openat2" && call.path(1).starts_with(".mte-");
            if is_made && std::fs::remove_dir_all(ready.world.path(removed)).is_ok() {
                removals += 1;
            }
            None
        };
        let Ok(done) = asked(answer, || ready.carry_out()) else { return };
        let refused = done.unwrap_err();
        assert_eq!(refused.error.unwrap().kind, StoreErrorKind::NotFound, "{}", refused.said);
        // A directory that was there before is not made again.
        assert_eq!(removals > 1, removed == "m", "{removals}");
        assert!(!std::fs::exists(ready.world.path(removed)).unwrap());
    }
}

/// Another program writes to it, and makes an empty one of its name.
#[test]
fn a_file_that_was_written_to_as_it_was_removed_is_kept_beside_what_has_its_name() {
    let steps = [Step::Remove("a")];
    let ready = ready(&steps, false);
    let path = ready.world.path("a");
    let mut renames = 0;
    let answer = |call: &SystemCall| -> Option<Errno> {
        if call.name == "renameat" && call.path(1) == "a" {
            append(&mut OpenOptions::new().append(true).open(&path).unwrap());
        }
        if call.name == "renameat2" && call.path(3) == "a" {
            renames += 1;
            if renames == 1 {
                File::create_new(&path).unwrap();
            }
        }
        None
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    assert!(done.is_err());
    let mut now = ready.world.now();
    now.retain(|name, text| ready.before.get(name) != Some(text));
    assert_eq!(now.remove("a").as_deref(), Some(""));
    let [(beside, text)] = now.into_iter().collect::<Vec<_>>().try_into().unwrap();
    assert!(beside.starts_with("a.displaced-"), "{beside}");
    assert_eq!(text, format!("the text of a\n{THEIRS}"));
}

/// Another program writes to it in the last moment before it goes.
#[test]
fn a_new_file_that_was_written_to_as_its_edit_is_taken_back_stays() {
    let steps = ["a", "b"].map(|name| Step::Patch(name, "new\n".to_owned()));
    let ready = ready(&steps, false);
    let mut exchanges = 0;
    let dies = |call: &SystemCall| {
        exchanges += usize::from(call.name == "renameat2");
        (exchanges > 1).then_some(Errno::IO)
    };
    if asked(dies, || ready.carry_out().is_ok()).is_err() {
        return;
    }
    let mut expected = ready.before;
    let world = ready.world.next();
    let is_it = |call: &SystemCall| call.name == "renameat2" && call.path(1) == "a";
    let deed = || append(&mut OpenOptions::new().append(true).open(world.path("a")).unwrap());
    asked(before(is_it, deed), || world.workspace.recover()).unwrap();
    let mut tree = world.tree();
    let old = expected.insert("a".to_owned(), format!("new\n{THEIRS}")).unwrap();
    // There is no history that could keep it.
    let (beside, kept) = tree.iter().find(|(name, _)| name.starts_with("a.displaced-")).unwrap();
    assert_eq!(*kept, old);
    let beside = beside.clone();
    tree.remove(&beside);
    assert_eq!(tree, expected);
}

/// As a program that has it open may do, the moment before it moves.
#[test]
fn a_file_that_was_written_to_as_it_moved_is_told_as_it_is() {
    let ready = ready(&[], false);
    // Until then its times do not tell what it holds.
    std::thread::sleep(Duration::from_millis(100));
    let world = &ready.world;
    let is_it = |call: &SystemCall| call.name == "renameat2" && call.path(1) == "a";
    let deed = || append(&mut OpenOptions::new().append(true).open(world.path("a")).unwrap());
    let steps = [Step::Move("a", "d/moved")];
    let moved = || carry_out(world, &ready.before, &steps, false);
    let Ok(outcome) = asked(before(is_it, deed), moved) else { return };
    let is = std::fs::read(world.path("d/moved")).unwrap();
    assert!(is.ends_with(THEIRS.as_bytes()));
    assert_eq!(outcome.unwrap().files[0].digest, Some(Digest::of(&is)));
}

/// Where nobody can tell who has a file open for writing, its times do.
#[test]
fn a_write_through_a_handle_is_noticed_until_the_names_are_on_disk() {
    let steps = [Step::Patch("a", "new\n".to_owned())];
    let ready = ready(&steps, false);
    let mut handle = OpenOptions::new().append(true).open(ready.world.path("a")).unwrap();
    let mut is_written = false;
    let answer = |call: &SystemCall| {
        if call.name == "fsync" && call.file(0).ends_with("/root") && !is_written {
            is_written = true;
            append(&mut handle);
        }
        Lacks::Leases.refuses(call)
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    assert!(is_written);
    let now = ready.world.now();
    assert!(
        now.values().any(|text| text.ends_with(THEIRS)),
        "{:?}: {now:?}",
        done.map_err(|refused| refused.said)
    );
}

/// Room is reserved before the first byte of a file is written over.
#[test]
fn a_file_that_cannot_grow_is_not_written_over() {
    let refused = [Errno::NOSPC, Errno::DQUOT, Errno::FBIG].map(|errno| (errno, false));
    // A file system that reserves nothing may still have room.
    for (errno, is_written) in refused.into_iter().chain([(Errno::OPNOTSUPP, true)]) {
        let pattern = Patterns::new(&["a".to_owned()]).unwrap();
        let world = World::with(|builder| builder.in_place(pattern));
        let path = world.write("a", "old\n");
        let mut opened = false;
        let answer = |call: &SystemCall| {
            let is_write = ["pwrite64", "write"].contains(&call.name) && call.file(0).ends_with("/root/a");
            opened |= is_write;
            (call.name == "fallocate").then_some(errno)
        };
        let edit = [FileEdit::new(&path, Change::Append("new\n"))];
        let Ok(done) = asked(answer, || world.workspace.apply(&edit, Control::default())) else { return };
        assert_eq!((done.is_ok(), opened), (is_written, is_written), "{errno}");
        assert_eq!(world.tree()["a"], if is_written { "old\nnew\n" } else { "old\n" }, "{errno}");
    }
}

/// The copy of a file that is written over.
#[test]
fn what_the_kernel_does_not_copy_is_copied_in_blocks() {
    let lacks =
        [Errno::XDEV, Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::PERM, Errno::BADF, Errno::TXTBSY];
    for (errno, is_copied) in lacks.into_iter().map(|errno| (errno, true)).chain([(Errno::IO, false)]) {
        let pattern = Patterns::new(&["a".to_owned()]).unwrap();
        let world = World::with(|builder| builder.in_place(pattern));
        let path = world.write("a", "old\n");
        let answer = |call: &SystemCall| (call.name == "copy_file_range").then_some(errno);
        let edit = [FileEdit::new(&path, Change::Append("new\n"))];
        let Ok(done) = asked(answer, || world.workspace.apply(&edit, Control::default())) else { return };
        assert_eq!(done.is_ok(), is_copied, "{errno}");
        assert_eq!(world.tree()["a"], if is_copied { "old\nnew\n" } else { "old\n" }, "{errno}");
    }
}

/// A file system without attributes has none to keep, and what cannot be looked at cannot be kept.
#[test]
fn only_attributes_that_cannot_be_read_are_not_carried_over() {
    let lost = Warning::EditedInPlace(InPlace::Attributes);
    for (errno, is_lost) in [(Errno::OPNOTSUPP, false), (Errno::NOTSUP, false), (Errno::IO, true)] {
        let world = World::new();
        let path = world.write("a", "old\n");
        let answer = |call: &SystemCall| (call.name == "flistxattr").then_some(errno);
        let edit = [FileEdit::new(&path, Change::Append("new\n"))];
        let Ok(done) = asked(answer, || world.workspace.apply(&edit, Control::default())) else { return };
        assert_eq!(done.unwrap().files[0].warnings.contains(&lost), is_lost, "{errno}");
        assert_eq!(world.tree()["a"], "old\nnew\n");
    }
}

/// As on NFS, where a lock needs a handle that can write.
#[test]
fn a_lock_that_needs_a_handle_for_writing_gets_one() {
    for (most, is_done) in [(1, true), (2, false)] {
        let world = ready(&[], false).world;
        let mut refused = 0;
        let answer = |call: &SystemCall| {
            let is_it = call.name == "flock" && call.file(0).ends_with("/root/a") && refused < most;
            refused += usize::from(is_it);
            is_it.then_some(Errno::BADF)
        };
        assert_eq!(is_patched(&world, answer).unwrap_or(is_done), is_done, "{most}");
    }
}

/// Returns the kind of the error of a call that was refused for one reason.
fn kind(reasons: &[Reason]) -> StoreErrorKind {
    let [Reason::Store(error)] = reasons else { panic!("{reasons:?}") };
    error.kind.clone()
}

#[test]
fn a_wait_for_a_lease_ends_whenever_the_call_is_cancelled() {
    let world = ready(&[], false).world;
    let path = world.path("a");
    for allowed in 0..10 {
        let leased = |call: &SystemCall| {
            let is_it = ["openat", "openat2"].contains(&call.name) && call.path(1) == "a";
            is_it.then_some(Errno::AGAIN)
        };
        let work = || {
            let asked = Cell::new(0);
            let is_cancelled = || asked.replace(asked.get() + 1) >= allowed;
            let edit = [FileEdit::new(&path, Change::Append("new\n"))];
            world.workspace.apply(&edit, Control::default().cancelled_by(&is_cancelled)).unwrap_err()
        };
        let Ok(error) = asked(leased, work) else { return };
        let reasons: Vec<Reason> = error.problems.into_iter().map(|problem| problem.reason).collect();
        assert_eq!(kind(&reasons), StoreErrorKind::Cancelled, "{allowed}");
    }
}

/// Another machine replaces it each time.
#[test]
fn a_read_of_what_is_replaced_each_time_ends_when_it_is_cancelled() {
    let world = ready(&[], false).world;
    let path = world.path("a");
    let mut reads = 0;
    let answer = |call: &SystemCall| {
        let is_it = call.name == "pread64" && call.file(0).ends_with("/root/a");
        reads += usize::from(is_it);
        is_it.then_some(Errno::STALE)
    };
    let work = || {
        let asked = Cell::new(0);
        let is_cancelled = || asked.replace(asked.get() + 1) >= 2;
        let control = Control::default().cancelled_by(&is_cancelled);
        world.workspace.read(ReadFile::new(&path), None, Budget::bytes(usize::MAX), control).unwrap_err()
    };
    let Ok(error) = asked(answer, work) else { return };
    assert_eq!((kind(&error.problems), reads), (StoreErrorKind::Changed, 3));
}

/// Something is mounted there, which the list of mounts does not show.
#[test]
fn a_file_whose_name_cannot_be_given_to_another_is_written_over() {
    let world = ready(&[], false).world;
    let path = world.path("a");
    let old = world.tree()["a"].clone();
    let answer = |call: &SystemCall| {
        (call.name.starts_with("renameat") && call.to_string().contains("/root/a")).then_some(Errno::BUSY)
    };
    let edit = [FileEdit::new(&path, Change::Append("new\n"))];
    let Ok(done) = asked(answer, || world.workspace.apply(&edit, Control::default())) else { return };
    let warnings = done.unwrap().files.remove(0).warnings;
    assert!(warnings.contains(&Warning::EditedInPlace(InPlace::Mounted)), "{warnings:?}");
    assert_eq!(world.tree()["a"], old + "new\n");
}

#[test]
fn without_a_record_a_file_that_cannot_be_written_over_has_its_old_bytes() {
    let world = ready(&[], false).world;
    let workspace = Workspace::builder().root(world.path("")).build().unwrap();
    let (path, before) = (world.path("linked"), world.tree());
    let mut is_refused = false;
    let answer = |call: &SystemCall| {
        let is_it = call.name == "pwrite64" && call.file(0).contains("linked");
        (is_it && !std::mem::replace(&mut is_refused, true)).then_some(Errno::IO)
    };
    let edit = [FileEdit::new(&path, Change::Append("new\n"))];
    let Ok(done) = asked(answer, || workspace.apply(&edit, Control::default())) else { return };
    assert!(is_refused && !done.unwrap_err().may_have_written());
    assert_eq!(world.tree(), before);
}

/// What is kept of a file that is to be written over must be what was read.
#[test]
fn a_file_that_was_written_to_as_it_was_copied_is_read_again() {
    let steps = [Step::Patch("linked", "new\n".to_owned())];
    let ready = ready(&steps, false);
    let path = ready.world.path("linked");
    let is_it = |call: &SystemCall| call.name == "copy_file_range" && call.file(0).contains("/root/");
    let deed = || append(&mut OpenOptions::new().append(true).open(&path).unwrap());
    let Ok(done) = asked(before(is_it, deed), || ready.carry_out()) else { return };
    assert!(done.is_ok(), "{:?}", done.map_err(|refused| refused.said));
    assert_eq!(ready.world.tree()["linked"], format!("new\n{THEIRS}"));
}

#[test]
fn a_file_that_stays_as_it_is_is_locked_until_the_others_have_changed() {
    let world = ready(&[], false).world;
    let [a, b] = ["a", "b"].map(|name| world.path(name));
    let stays = [Patch::text(&world.tree()["b"], &world.tree()["b"])];
    let mut is_free = None;
    let answer = |call: &SystemCall| {
        if call.name == "renameat2" {
            is_free.get_or_insert_with(|| File::open(&b).unwrap().try_lock().is_ok());
        }
        None
    };
    let edits = [FileEdit::new(&b, Change::Patch(&stays)), FileEdit::new(&a, Change::Append("new\n"))];
    let Ok(done) = asked(answer, || world.workspace.apply(&edits, Control::default())) else { return };
    assert_eq!(done.unwrap().files[0].warnings, [Warning::Unchanged]);
    assert_eq!(is_free, Some(false));
    File::open(&b).unwrap().try_lock().unwrap();
}

#[test]
fn a_copy_that_is_cancelled_leaves_nothing() {
    let across = |call: &SystemCall| {
        (call.name == "renameat2" && call.path(1) == "a" && call.path(3) == "moved").then_some(Errno::XDEV)
    };
    for allowed in 0..200 {
        let Ready { world, before, .. } = ready(&[], false);
        let (from, to) = (world.path("a"), world.path("made/moved"));
        let work = || {
            let asked = Cell::new(0);
            let is_cancelled = || asked.replace(asked.get() + 1) >= allowed;
            let edit = [FileEdit::new(&from, Change::Move { to: &to, patches: &[] })];
            world.workspace.apply(&edit, Control::default().cancelled_by(&is_cancelled))
        };
        let Ok(done) = asked(across, work) else { return };
        match done {
            Ok(done) => {
                assert!(done.files[0].warnings.iter().any(|warning| matches!(warning, Warning::Copied(_))));
                assert_eq!(world.tree()["made/moved"], before["a"]);
                return;
            }
            Err(error) => {
                let reasons: Vec<Reason> = error.problems.into_iter().map(|problem| problem.reason).collect();
                assert_eq!(kind(&reasons), StoreErrorKind::Cancelled);
                assert_eq!(world.tree(), before, "{allowed}");
            }
        }
    }
    panic!("it was asked without end");
}

#[test]
fn a_kernel_that_cannot_confine_says_why() {
    for (errno, lack, words) in [
        (Errno::NOSYS, Lack::NotImplemented, "the kernel has no Landlock, or a sandbox denies it"),
        (Errno::OPNOTSUPP, Lack::NotEnabled, "the kernel was started without Landlock"),
    ] {
        let world = World::new();
        let answer = |call: &SystemCall| (call.name == "landlock_create_ruleset").then_some(errno);
        let Ok(done) = asked(answer, || world.workspace.confine(Network::Open)) else { return };
        assert_eq!(done.unwrap(), Confinement::None(lack), "{errno}");
        assert_eq!(lack.to_string(), words);
    }
    assert_eq!(Lack::NotLinux.to_string(), "only Linux has Landlock");
}

/// It is looked at before it is opened, and another program changes what has its name in between. The next
/// attempt finds a file again.
#[test]
fn what_is_no_file_as_it_is_opened_is_looked_at_again() {
    let with_link = |path: &str| std::os::unix::fs::symlink("b", path).unwrap();
    let with_directory = |path: &str| std::fs::create_dir(path).unwrap();
    for make in [with_link as fn(&str), with_directory] {
        let world = ready(&[], false).world;
        let path = world.path("a");
        let replace = |make: &dyn Fn(&str)| {
            std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path)).unwrap();
            make(&path);
        };
        let (mut is_replaced, mut is_back) = (false, false);
        let answer = |call: &SystemCall| {
            let is_about_it = call.path(1) == "a";
            if is_about_it && call.name == "openat2" && !is_replaced {
                is_replaced = true;
                replace(&make);
            } else if is_about_it && is_replaced && !is_back {
                is_back = true;
                replace(&|path| std::fs::write(path, THEIRS).unwrap());
            }
            None
        };
        let read = || world.workspace.read(ReadFile::new(&path), None, Budget::bytes(99), Control::default());
        let Ok(read) = asked(answer, read) else { return };
        assert_eq!(read.map(|view| view.shown.content).map_err(|error| error.to_string()), Ok(THEIRS.into()));
    }
}

#[test]
fn a_read_that_a_signal_interrupts_goes_on() {
    let world = ready(&[], false).world;
    let path = world.path("a");
    let mut is_interrupted = false;
    let answer = |call: &SystemCall| {
        let is_it = call.name == "pread64" && call.file(0).ends_with("/root/a");
        (is_it && !std::mem::replace(&mut is_interrupted, is_it)).then_some(Errno::INTR)
    };
    let read = || world.workspace.read(ReadFile::new(&path), None, Budget::bytes(99), Control::default());
    let Ok(read) = asked(answer, read) else { return };
    assert_eq!(read.unwrap().shown.content, "the text of a\n");
    assert!(is_interrupted);
}

/// Two processes of a server can begin at once, and one ends what was cut off.
#[test]
fn a_record_that_goes_as_the_state_directory_is_examined_stops_no_process() {
    let World { directory, workspace } = World::new();
    drop(workspace);
    let record = directory.path().join("state/journal/record");
    std::fs::write(&record, "").unwrap();
    let is_it = |call: &SystemCall| call.path(1) == "record";
    let deed = || std::fs::remove_file(&record).unwrap();
    let begun =
        || World::serve(&directory, std::convert::identity).map(drop).map_err(|error| error.to_string());
    let Ok(begun) = asked(before(is_it, deed), begun) else { return };
    assert_eq!(begun, Ok(()));
    assert!(!record.exists());
}

/// Reading it once more could only tell something else as long as its times may hide a change.
#[test]
fn a_file_that_the_kernel_generates_is_not_read_again_once_its_times_are_settled() {
    const FILE: &str = "/proc/self/comm";
    let path = std::fs::canonicalize(FILE).unwrap();
    let root = path.parent().unwrap();
    let workspace = Workspace::builder().root(root).build().unwrap();
    // The kernel keeps the times for as long as the file is open.
    let _open = File::open(FILE).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let path = path.to_str().unwrap();
    let mut reads = 0;
    let answer = |call: &SystemCall| {
        reads += usize::from(call.name == "pread64" && call.file(0).ends_with("/comm"));
        None
    };
    let edit = [FileEdit::new(path, Change::Append("new\n"))];
    let Ok(done) = asked(answer, || workspace.plan(&edit, Control::default())) else { return };
    let error = done.unwrap_err();
    assert!(
        matches!(&error.problems[0].reason, Reason::Store(error) if matches!(error.kind, StoreErrorKind::NotARegularFile { .. })),
        "{error}"
    );
    assert_eq!(reads, 1);
}
