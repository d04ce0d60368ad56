//! Errors, held against the disk and against another program, at single moments: the system refuses a call,
//! and what follows is chosen, too. `moments.rs` asks what is on the disk then.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use mcp_text_editor_store::StoreErrorKind::{self, Displaced, Io, NotRestored};
use mcp_text_editor_store::core::digest::Digest;
use mcp_text_editor_store::core::show::Budget;
use mcp_text_editor_store::{Change, Control, FileEdit, LeftBehind, ReadFile, Remains, StoreError};
use rustix::io::Errno;

use crate::mixed::{Step, carry_out};
use crate::system_calls::{SystemCall, asked};
use crate::trials::{Lacks, Ready, THEIRS, ready};
use crate::world::World;

const TAKEN: &str = "there is something of that name already";

/// Writes to a file of this name, which another program has open or makes.
fn write(world: &World, name: &str) {
    let mut options = OpenOptions::new();
    // A lease would have it wait for this process, which waits for it.
    let opened = options.append(true).create(true).custom_flags(libc::O_NONBLOCK).open(world.path(name));
    opened.unwrap().write_all(THEIRS.as_bytes()).unwrap();
}

/// Puts another file in the place of one.
fn replace(world: &World, name: &str) {
    let elsewhere = world.directory.path().join("theirs");
    std::fs::write(&elsewhere, THEIRS).unwrap();
    std::fs::rename(&elsewhere, world.path(name)).unwrap();
}

/// Makes a call, of which `answer` decides; returns its error. `None` where the kernel does not ask.
fn error(ready: &Ready<'_>, mut answer: impl FnMut(&SystemCall) -> Option<Errno>) -> Option<Box<StoreError>> {
    let done = asked(&mut answer, || ready.carry_out()).ok()?;
    Some(done.expect_err("it was done").error.expect("no error of the system"))
}

/// Returns what is left behind, each with its name in the root; a name that is drawn ends at its dash.
fn left(error: &StoreError, world: &World) -> Vec<(String, Remains)> {
    let root = world.path("");
    let name = |path: &Path| {
        let name = path.to_str().unwrap().strip_prefix(&root).unwrap_or(".").to_owned();
        name.split_inclusive('-').next().unwrap().to_owned()
    };
    let named = |LeftBehind { path, what }: &LeftBehind| match what {
        Remains::Old(of) => (name(path), Remains::Old(name(of).into())),
        what => (name(path), what.clone()),
    };
    error.left.iter().map(named).collect()
}

fn create(name: &'static str) -> Step {
    Step::Create(name, "new\n".to_owned())
}

fn patch(name: &'static str) -> Step {
    Step::Patch(name, "new\n".to_owned())
}

fn is_named(call: &SystemCall, directory: &str, name: &str) -> bool {
    call.path(1) == name && call.file(0).ends_with(directory)
}

/// Refuses the first sync of a directory, and does something before each call that follows.
fn on_the_way_back<'a>(
    directory: &'a str,
    deed: impl Fn(&SystemCall) + 'a,
) -> impl FnMut(&SystemCall) -> Option<Errno> + 'a {
    let mut is_refused = false;
    move |call| {
        if is_refused {
            deed(call);
            return None;
        }
        is_refused = call.is_sync() && call.file(0).ends_with(directory);
        is_refused.then_some(Errno::IO)
    }
}

#[test]
fn a_file_that_another_program_changes_on_its_way_back_is_told_as_it_is() {
    let gone = || ("a".to_owned(), Remains::Gone);
    let kept = || ("a.displaced-".to_owned(), Remains::Old("a".into()));
    let removes: fn(&World) = |world| std::fs::remove_file(world.path("d/moved")).unwrap();
    let makes: fn(&World) = |world| write(world, "a");
    for (argument, name, deed, expected) in
        [(1, "moved", removes, vec![gone()]), (3, "a", makes, vec![gone(), kept()])]
    {
        let steps = [Step::Move("a", "d/moved")];
        let ready = ready(&steps, false);
        let answer = on_the_way_back("/root", |call| {
            if call.name.starts_with("renameat") && call.path(argument) == name {
                deed(&ready.world);
            }
        });
        let Some(error) = error(&ready, answer) else { return };
        assert_eq!((left(&error, &ready.world), error.kind), (expected, Displaced));
    }
}

#[test]
fn a_new_file_that_another_program_writes_to_on_its_way_back_is_told() {
    let steps = [create("d/new")];
    let ready = ready(&steps, false);
    let answer = on_the_way_back("/root/d", |call| {
        if call.name == "renameat" && call.path(1) == "new" {
            write(&ready.world, "d/new");
        }
    });
    let Some(error) = error(&ready, answer) else { return };
    let made = ("d/new".to_owned(), Remains::Made);
    assert_eq!((left(&error, &ready.world), error.kind), (vec![made], Displaced));
}

/// It has the name again, and what it was made from a name beside it.
#[test]
fn a_file_that_another_program_wrote_to_on_its_way_back_keeps_that() {
    let steps = [patch("a")];
    let ready = ready(&steps, false);
    let answer = on_the_way_back("/root", |call| {
        if call.name == "renameat2" && !ready.world.now()["a"].ends_with(THEIRS) {
            write(&ready.world, "a");
        }
    });
    let Some(error) = error(&ready, answer) else { return };
    let changed = ("a".to_owned(), Remains::Changed);
    let old = ("a.displaced-".to_owned(), Remains::Old("a".into()));
    assert_eq!((left(&error, &ready.world), error.kind), (vec![changed, old], Displaced));
}

/// The new file has their words then, and cannot be read.
#[test]
fn what_was_written_to_a_new_file_that_cannot_be_read_is_kept() {
    // The look is repeated, and shows them; their file has the name beside then.
    let beside = ("a.displaced-".to_owned(), Remains::Made);
    for (moment, kind, expected) in [("look", Displaced, Some(beside)), ("sync", NotRestored, None)] {
        let steps = [patch("a")];
        let ready = ready(&steps, false);
        let (mut exchanges, mut is_refused, mut is_read) = (0, false, false);
        let answer = |call: &SystemCall| {
            exchanges += usize::from(call.name == "renameat2");
            if call.name == "renameat2" && exchanges == 2 {
                write(&ready.world, "a");
            }
            let is_moment = if moment == "look" { call.is_look() } else { call.is_sync() };
            let is_first = exchanges == 1 && !is_refused && is_moment;
            let is_unread = exchanges == 2 && !is_read && call.name == "pread64";
            is_refused |= is_first;
            is_read |= is_unread;
            (is_first || is_unread).then_some(Errno::IO)
        };
        let Some(error) = error(&ready, answer) else { return };
        assert!(is_read && error.kind == kind, "{moment}: {error:?}");
        if let Some(expected) = expected {
            assert_eq!(left(&error, &ready.world), [expected]);
            assert_eq!(ready.world.now()["a"], ready.before["a"]);
        }
        let now = ready.world.now();
        assert!(now.values().any(|text| text.ends_with(THEIRS)), "{moment}: {now:?}");
        let now = ready.world.again().now();
        assert!(now.values().any(|text| text.ends_with(THEIRS)), "{moment}, then: {now:?}");
    }
}

/// What it was may be nowhere else.
#[test]
fn a_file_that_cannot_be_looked_at_on_its_way_back_is_told_as_changed() {
    let steps = [patch("a")];
    let ready = ready(&steps, false);
    let (mut is_refused, mut is_looked_at) = (false, false);
    let answer = |call: &SystemCall| {
        let is_new = std::fs::read_to_string(ready.world.path("a")).unwrap() == "new\n";
        let is_first = !is_refused && is_new && call.is_sync() && call.file(0).ends_with("/root");
        let is_look = is_refused && !is_looked_at && call.is_look() && is_named(call, "/root", "a");
        is_refused |= is_first;
        is_looked_at |= is_look;
        (is_first || is_look).then_some(Errno::IO).or_else(|| Lacks::Exchange.refuses(call))
    };
    let Some(error) = error(&ready, answer) else { return };
    let changed = ("a".to_owned(), Remains::Changed);
    assert!(left(&error, &ready.world).contains(&changed) && error.kind == NotRestored, "{error:?}");
}

#[test]
fn a_name_that_is_taken_as_a_file_moves_is_told() {
    let steps = [Step::Move("a", "d/moved")];
    let ready = ready(&steps, false);
    let answer = |call: &SystemCall| {
        if call.name == "renameat2" && call.path(3) == "moved" {
            write(&ready.world, "d/moved");
        }
        None
    };
    let moved = || carry_out(&ready.world, &ready.before, &steps, false);
    let Ok(done) = asked(answer, moved) else { return };
    let refused = done.unwrap_err();
    assert_eq!(refused.to_string(), TAKEN);
    assert_eq!(ready.world.now()["d/moved"], THEIRS);
}

/// By another program, which gives it a second one.
#[test]
fn the_name_that_a_file_gets_as_it_moves_is_kept() {
    for lacks in [Lacks::Nothing, Lacks::Exchange] {
        let steps = [Step::Move("a", "d/moved"), create("a")];
        for steps in [&steps[..1], &steps] {
            let ready = ready(steps, false);
            let mut is_linked = false;
            let answer = |call: &SystemCall| {
                let is_given = ["renameat2", "linkat"].contains(&call.name) && call.path(3) == "moved";
                if is_given && !is_linked && lacks.refuses(call).is_none() {
                    is_linked = true;
                    let from = Path::new(&call.file(0)).join(call.path(1));
                    std::fs::hard_link(from, ready.world.path("d/moved")).unwrap();
                }
                lacks.refuses(call)
            };
            let Ok(done) = asked(answer, || ready.carry_out()) else { return };
            assert!(is_linked && done.is_err());
            let now = ready.world.now();
            assert_eq!((&now["a"], &now["d/moved"]), (&ready.before["a"], &ready.before["a"]), "{lacks:?}");
        }
    }
}

/// As if it had been there before: then that file moves.
#[test]
fn another_file_that_has_the_name_to_which_one_moved_is_told_as_it_is() {
    let ready = ready(&[], false);
    let (mut is_renamed, mut is_done) = (false, false);
    let answer = |call: &SystemCall| {
        if is_renamed && !is_done {
            is_done = true;
            replace(&ready.world, "d/moved");
        }
        is_renamed |= call.name == "renameat2" && call.path(3) == "moved";
        None
    };
    let moved = || carry_out(&ready.world, &ready.before, &[Step::Move("a", "d/moved")], false);
    let Ok(outcome) = asked(answer, moved) else { return };
    assert_eq!(ready.world.now()["d/moved"], THEIRS);
    assert_eq!(outcome.unwrap().files[0].digest, Some(Digest::of(THEIRS.as_bytes())));
}

#[test]
fn a_place_that_cannot_be_looked_at_is_not_said_to_be_taken() {
    let steps = [create("d/new")];
    let ready = ready(&steps, false);
    let refuses =
        |call: &SystemCall| (call.is_look() && is_named(call, "/root/d", "new")).then_some(Errno::IO);
    assert_eq!(error(&ready, refuses).map_or(Io, |error| error.kind), Io);
}

/// As nobody else removes it.
#[test]
fn a_claim_that_stays_is_told() {
    let steps = [create("d/new")];
    let ready = ready(&steps, false);
    let refuses = |call: &SystemCall| {
        let is_it = call.name == "renameat" && [1, 3].iter().any(|argument| call.path(*argument) == "new");
        is_it.then_some(Errno::IO).or_else(|| Lacks::Links.refuses(call))
    };
    let Some(error) = error(&ready, refuses) else { return };
    let made = ("d/new".to_owned(), Remains::Made);
    assert!(left(&error, &ready.world).contains(&made), "{error:?}");
    assert!(ready.world.now()["d/new"].starts_with(".mte-"));
}

/// Until then the claim is a file that anybody may take for theirs.
#[test]
fn what_another_program_does_to_a_claim_is_kept() {
    type Deed = fn(&World);
    let (writes, removes): (Deed, Deed) =
        (|world| write(world, "d/new"), |world| std::fs::remove_file(world.path("d/new")).unwrap());
    // Of the looks at it, the first is by its descriptor.
    for (deed, nth, kept) in [(writes, 0, true), (writes, 1, true), (removes, 1, false)] {
        let steps = [create("d/new")];
        let ready = ready(&steps, false);
        let mut looks = 0;
        let answer = |call: &SystemCall| {
            let is_there =
                std::fs::read(ready.world.path("d/new")).is_ok_and(|text| text.starts_with(b".mte-"));
            if is_there && call.is_look() {
                if looks == nth {
                    deed(&ready.world);
                }
                looks += 1;
            }
            Lacks::Links.refuses(call)
        };
        let Ok(done) = asked(answer, || ready.carry_out()) else { return };
        assert_eq!(done.unwrap_err().said, TAKEN, "{nth}");
        assert_eq!(ready.world.now().get("d/new").is_some_and(|text| text.ends_with(THEIRS)), kept, "{nth}");
    }
}

/// Has all that is written to the file of two names refused from the one on that cuts it to its new length:
/// it is torn, and cannot be mended.
fn tears(call: &SystemCall, is_cut: &mut bool) -> Option<Errno> {
    let is_it = ["pwrite64", "ftruncate"].contains(&call.name) && call.file(0).ends_with("linked");
    *is_cut |= is_it && call.name == "ftruncate";
    (is_it && *is_cut).then_some(Errno::IO)
}

#[test]
fn a_file_that_was_torn_is_whole_for_the_next_process() {
    let steps = [patch("linked")];
    let ready = ready(&steps, false);
    let mut is_cut = false;
    let Some(error) = error(&ready, |call| tears(call, &mut is_cut)) else { return };
    assert_eq!(error.kind, NotRestored);
    let world = ready.world.again();
    assert!(["new\n", "the text of two names\n"].contains(&world.now()["linked"].as_str()));
}

/// No other copy has the old bytes.
#[test]
fn what_a_torn_file_was_is_kept_beside_where_there_is_no_record() {
    let steps = [patch("linked")];
    let ready = ready(&steps, false);
    let mut is_cut = false;
    let refuses = |call: &SystemCall| {
        let is_record = call.name == "write" && call.file(0).contains("/state/journal/");
        is_record.then_some(Errno::IO).or_else(|| tears(call, &mut is_cut))
    };
    let Some(error) = error(&ready, refuses) else { return };
    assert_eq!(error.kind, NotRestored);
    let copy = error.left.iter().find(|left| matches!(left.what, Remains::Old(_))).expect("no copy is told");
    assert_eq!(std::fs::read_to_string(&copy.path).unwrap(), "the text of two names\n");
}

/// What cannot be looked at may be there; what is not there is not told.
#[test]
fn what_may_be_left_of_a_failed_call_is_told() {
    type Refuses = fn(&SystemCall) -> bool;
    let (all, looks, none): (Refuses, Refuses, Refuses) =
        (|_| true, |call| call.is_look() && call.path(1).starts_with(".mte-"), |_| false);
    for (refuses, expected) in [(all, true), (looks, true), (none, false)] {
        let steps = [create("d/new")];
        let ready = ready(&steps, false);
        let mut is_refused = false;
        let answer = |call: &SystemCall| {
            let is_first = !is_refused && call.name == "write" && call.file(0).contains("/d/.mte-");
            let is_after = is_refused && refuses(call);
            is_refused |= is_first;
            (is_first || is_after).then_some(Errno::IO)
        };
        let Some(error) = error(&ready, answer) else { return };
        let perhaps = error.left.iter().filter(|left| left.what == Remains::PerhapsMade).count();
        assert_eq!((perhaps > 0, error.left.len() > 1, error.kind), (expected, false, StoreErrorKind::Io));
    }
}

#[test]
fn directories_that_may_be_left_of_a_failed_call_are_told() {
    let steps = [create("m/n/new")];
    let ready = ready(&steps, false);
    let mut is_refused = false;
    let answer = |call: &SystemCall| {
        is_refused |= call.name == "write" && call.file(0).contains("/n/.mte-");
        is_refused.then_some(Errno::IO)
    };
    let Some(error) = error(&ready, answer) else { return };
    let left = left(&error, &ready.world);
    assert!(
        ["m", "m/n"].iter().all(|name| left.contains(&((*name).to_owned(), Remains::PerhapsMade))),
        "{left:?}"
    );
}

#[test]
fn nothing_is_left_in_a_directory_that_is_gone() {
    let steps = [create("d/new")];
    let ready = ready(&steps, false);
    let answer = |call: &SystemCall| {
        let is_it = call.name == "write" && call.file(0).contains("/d/.mte-");
        if is_it {
            std::fs::remove_dir_all(ready.world.path("d")).unwrap();
            write(&ready.world, "d");
        }
        is_it.then_some(Errno::IO)
    };
    let Some(error) = error(&ready, answer) else { return };
    assert_eq!((left(&error, &ready.world), error.kind), (vec![], Io));
}

/// Recovery would go forward with a call that said that it changed nothing.
#[test]
fn a_call_whose_record_may_say_that_it_is_committed_is_not_taken_back() {
    let steps = [patch("a"), patch("b")];
    let ready = ready(&steps, false);
    let mut is_exchanged = false;
    let answer = |call: &SystemCall| {
        is_exchanged |= call.name == "renameat2";
        let is_record = call.file(0).contains("/state/journal");
        (is_exchanged && is_record && (call.is_sync() || call.name == "unlinkat")).then_some(Errno::IO)
    };
    let Some(error) = error(&ready, answer) else { return };
    assert_eq!(error.kind, NotRestored);
    let Ready { world, before, after, .. } = ready;
    assert!([before, after].contains(&world.again().tree()));
}

/// The copy has their bytes then, and no other has.
#[test]
fn what_is_written_to_a_file_in_place_as_it_is_copied_is_kept() {
    let steps = [patch("linked")];
    let ready = ready(&steps, false);
    // Until then its times do not tell what it holds, and it is read once more.
    std::thread::sleep(Duration::from_millis(100));
    let (mut is_copied, mut is_done) = (false, false);
    let answer = |call: &SystemCall| {
        let is_read = ["copy_file_range", "pread64"].contains(&call.name) && call.file(0).ends_with("linked");
        if is_copied && is_read && !is_done {
            is_done = true;
            let file = OpenOptions::new().write(true).open(ready.world.path("linked")).unwrap();
            file.write_all_at(b"THE", 0).unwrap();
        }
        is_copied |= call.name == "memfd_create" || call.path(1).ends_with("-old");
        None
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    assert!(is_done && done.is_err());
    assert_eq!(ready.world.now()["linked"], "THE text of two names\n");
}

#[test]
fn a_file_does_not_lose_its_name_for_a_link_that_cannot_be_made() {
    let steps = [Step::Move("a", "d/moved")];
    let ready = ready(&steps, false);
    let mut links = 0;
    let answer = |call: &SystemCall| {
        if call.name == "linkat" {
            links += 1;
            assert!(Path::new(&ready.world.path("a")).exists());
        }
        Lacks::Links.refuses(call)
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    assert!(done.is_ok() && links > 0);
    assert_eq!(ready.world.now(), ready.after);
}

#[test]
fn a_file_that_another_machine_has_replaced_is_opened_again_to_be_read() {
    let steps = [];
    let ready = ready(&steps, false);
    let mut refusals = 0;
    let answer = |call: &SystemCall| {
        let is_it =
            refusals < 3 && ["openat", "openat2"].contains(&call.name) && is_named(call, "/root", "a");
        refusals += usize::from(is_it);
        is_it.then_some(Errno::STALE)
    };
    let path = ready.world.path("a");
    let read = || {
        let budget = Budget::bytes(100);
        ready.world.workspace.read(ReadFile::new(&path), None, budget, Control::default())
    };
    let Ok(read) = asked(answer, read) else { return };
    assert_eq!((read.unwrap().shown.content.as_str(), refusals), ("the text of a\n", 3));
}

/// What this machine knows of the name is out of date for a moment.
#[test]
fn a_new_name_that_another_machine_has_given_away_is_looked_at_again() {
    let steps = [Step::Move("a", "d/moved")];
    let ready = ready(&steps, false);
    let (mut is_locked, mut is_refused) = (false, false);
    let answer = |call: &SystemCall| {
        is_locked |= call.name == "flock" && call.file(0).ends_with("/root/a");
        let is_it = is_locked && !is_refused && call.is_look();
        let is_it = is_it && is_named(call, "/root/d", "moved");
        is_refused |= is_it;
        is_it.then_some(Errno::STALE)
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    assert!(is_refused);
    assert!(done.is_ok(), "{:?}", done.err().map(|refused| refused.said));
    assert_eq!(ready.world.now(), ready.after);
}

#[test]
fn a_call_that_finds_no_room_begins_again_once_files_that_were_replaced_are_closed() {
    let steps = [patch("a")];
    let ready = ready(&steps, false);
    let mut is_refused = false;
    let answer = |call: &SystemCall| {
        if is_refused || !["write", "pwrite64"].contains(&call.name) || !call.file(0).contains("/root/.mte-")
        {
            return None;
        }
        is_refused = true;
        carry_out(&ready.world, &ready.before, &[patch("b")], false).unwrap();
        Some(Errno::NOSPC)
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    assert!(is_refused);
    assert!(done.is_ok(), "{:?}", done.err().map(|refused| refused.said));
    assert_eq!(ready.world.now()["a"], ready.after["a"]);
}

/// A write within one tick of the clock leaves no trace in the times.
#[test]
fn what_is_written_to_a_file_that_has_just_changed_is_kept() {
    let steps = [patch("a")];
    let ready = ready(&steps, false);
    let just_now = SystemTime::now() + Duration::from_mins(1);
    let open = || OpenOptions::new().write(true).open(ready.world.path("a")).unwrap();
    open().set_modified(just_now).unwrap();
    let mut is_done = false;
    let answer = |call: &SystemCall| {
        if !is_done && ["write", "pwrite64"].contains(&call.name) && call.file(0).contains("/root/.mte-") {
            is_done = true;
            let file = open();
            file.write_all_at(b"THE", 0).unwrap();
            file.set_modified(just_now).unwrap();
        }
        None
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    assert!(is_done && done.is_err());
    assert_eq!(ready.world.now()["a"], "THE text of a\n");
}

#[test]
fn what_finds_no_room_beside_a_file_is_told_of_the_file() {
    for name in ["a", "linked"] {
        let steps = [patch(name)];
        let ready = ready(&steps, false);
        let answer = |call: &SystemCall| {
            let is_written = ["write", "pwrite64"].contains(&call.name) && call.file(0).contains(".mte-");
            is_written.then_some(Errno::NOSPC)
        };
        let Some(error) = error(&ready, answer) else { return };
        assert_eq!((error.kind, &*error.path), (StoreErrorKind::NoSpace, Path::new(&ready.world.path(name))));
    }
}

/// Another program that has the file mapped writes to it, and its times do not tell.
#[test]
fn the_digest_is_that_of_the_bytes_though_another_program_writes_in_silence() {
    let steps = [];
    let ready = ready(&steps, false);
    let path = ready.world.write("large", "0123456789abcde\n".repeat(70_000));
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let mut is_done = false;
    let answer = |call: &SystemCall| {
        let is_begun = ["openat", "openat2"].contains(&call.name) && call.path(1).starts_with(".mte-");
        if is_begun && !is_done {
            is_done = true;
            file.write_all_at(b"THE", 0).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        None
    };
    let edits = [FileEdit::new(&path, Change::Append("more\n"))];
    let Ok(done) = asked(answer, || ready.world.workspace.apply(&edits, Control::of("test"))) else { return };
    assert!(is_done);
    let told = done.unwrap().files.remove(0).digest;
    assert_eq!(told, Some(Digest::of(&std::fs::read(&path).unwrap())));
}
