//! Tests of whole calls: the result shows the true state of the file, and warns of everything that could go
//! wrong.

use std::cell::Cell;
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::access::roots::PathError;
use crate::cancellation::Cancellation;
use crate::edit::{Edit, EditChange, EditOptions, Warning, edit};
use crate::edit::{EditProblem, Reason};
use crate::error::StoreError;
use crate::lock::{LockTimeout, lock};
use crate::observer::Observer;
use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::rejection::Rejection;
use mcp_text_editor_core::resolve::{GuardedRange, Patch, Position};

use crate::tests::world::{World, options, reason};

/// A line of 32 bytes.
const LINE: &str = "0123456789abcdef0123456789abcde\n";

#[test]
fn the_digest_is_that_of_the_new_bytes_wherever_the_first_of_them_is() {
    let world = World::new();
    let path = world.path("@/root/a");
    // The sizes lie around a midstate of the hasher, the largest size that is held in memory, and the size
    // from which a thread hashes.
    for lines in [1_u32, 128, 129, 5000, 32_768, 32_769, 40_000] {
        for number in [1, lines / 2 + 1, lines] {
            let start = i64::from(number);
            let replacement = Patch {
                old_string: Some(LINE.to_owned()),
                new_string: "another\n".to_owned(),
                ranges: vec![GuardedRange { start, end: Some(start), range_hash: None }],
                replace_all: false,
            };
            let at = u64::from(number);
            let range_hash = DigestPrefix::parse(&Digest::of(LINE.as_bytes()).to_string());
            let deleted = GuardedRange { start, end: Some(start), range_hash };
            for change in [
                EditChange::Delete(&[deleted]),
                EditChange::Patch(&[replacement]),
                EditChange::Insert("one\nmore\n", Position::After(at)),
                EditChange::Append("another\n"),
            ] {
                for age in [Duration::ZERO, Duration::from_secs(100)] {
                    world.write("@/root/a", &LINE.repeat(lines as usize));
                    let file = File::options().write(true).open(&path).unwrap();
                    file.set_modified(SystemTime::now() - age).unwrap();
                    drop(file);
                    let file_path = path.to_str().unwrap();
                    let edits = [Edit::new(file_path, change)];
                    let done = edit(&world.workspace, &edits, options("test")).unwrap();
                    let now = std::fs::read(&path).unwrap();
                    let told = &done.files[0];
                    assert_eq!(told.digest, Some(Digest::of(&now)), "line {number} of {lines}: {change:?}");
                    assert_eq!(told.total_lines, now.split_inclusive(|byte| *byte == b'\n').count() as u64);
                }
            }
        }
    }
}

#[test]
fn without_a_journal_it_is_told_what_a_crash_could_leave_half_done() {
    let mut world = World::new();
    world.workspace.state_dir = None;
    let paths = ["a", "b", "new", "moved", "made/moved"].map(|name| world.path(&format!("@/root/{name}")));
    let [a, b, new, moved, made] = paths.each_ref().map(|path| path.to_str().unwrap());
    let append = |path| Edit::new(path, EditChange::Append("more\n"));
    let move_to = |to| Edit { move_to: Some(to), ..Edit::new(a, EditChange::Keep { after: None }) };
    let both = [append(a), append(b)];
    let dry = EditOptions { dry_run: true, ..options("test") };
    for (edits, options, is_told) in [
        (&both[..1], options("test"), vec![false]),
        (&both, dry, vec![false; 2]),
        (&both, options("test"), vec![true; 2]),
        (&[Edit::new(new, EditChange::Create("text\n"))], options("test"), vec![false]),
        (&[move_to(moved)], options("test"), vec![false]),
        // If the process were killed, the new directory could stay.
        (&[move_to(made)], options("test"), vec![true]),
    ] {
        world.write("@/root/a", "text\n");
        world.write("@/root/b", "text\n");
        let done = edit(&world.workspace, edits, options).unwrap();
        let told: Vec<bool> =
            done.files.iter().map(|file| file.warnings.contains(&Warning::NoJournal)).collect();
        assert_eq!(told, is_told, "{edits:?}");
        for path in [a, b, moved] {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[test]
fn a_call_that_waits_for_a_lock_can_be_cancelled_and_tells_of_its_wait() {
    static WAITS: AtomicUsize = AtomicUsize::new(0);
    let mut world = World::new();
    world.workspace.observer = Observer {
        lock_waited: |_| {
            WAITS.fetch_add(1, Ordering::Relaxed);
        },
        ..Observer::default()
    };
    world.write("@/root/a", "text\n");
    let held = lock(&world.place("@/root/a"), &LockTimeout::default()).unwrap();
    let asked = Cell::new(0);
    let is_cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let options = EditOptions { cancellation: Cancellation::when(&is_cancelled), ..options("test") };
    let path = world.path("@/root/a");
    let edits = [Edit::new(path.to_str().unwrap(), EditChange::Append("more\n"))];
    let problems = edit(&world.workspace, &edits, options).unwrap_err();
    assert_eq!(reason(&problems[0].reason), "Lock Cancelled");
    assert_eq!(WAITS.load(Ordering::Relaxed), 1);
    drop(held);
}

#[test]
fn a_file_may_have_the_largest_size_before_and_after() {
    let mut world = World::new();
    world.workspace.max_file_bytes = 10;
    let path = world.path("@/root/a");
    for (before, old, new, refused) in [
        ("123456789\n", "1", "x", ""),
        ("12345\n", "5\n", "56789\n", ""),
        ("12345\n", "5\n", "567890\n", "TooLarge { bytes: 11, becomes: true }"),
        ("1234567890\n", "123", "x", "TooLarge { bytes: 11, becomes: false }"),
    ] {
        world.write("@/root/a", before);
        let patches = [Patch::text(old, new)];
        let edits = [Edit::new(path.to_str().unwrap(), EditChange::Patch(&patches))];
        let done = edit(&world.workspace, &edits, options("test"));
        assert_eq!(done.map_or_else(|problems| reason(&problems[0].reason), |_| String::new()), refused);
        let is_made = world.content("@/root/a") == before.replacen(old, new, 1);
        assert_eq!(is_made, refused.is_empty(), "{before:?}");
    }
}

#[test]
fn a_file_that_moves_and_stays_as_it_is_is_the_same_file() {
    let world = World::new();
    world.write("@/root/a", "text\n");
    let before = world.file("@/root/a");
    let [from, to] = ["@/root/a", "@/root/b"].map(|name| world.path(name));
    let patches = [Patch::text("text", "text")];
    let change = EditChange::Patch(&patches);
    let edits = [Edit { move_to: to.to_str(), ..Edit::new(from.to_str().unwrap(), change) }];
    edit(&world.workspace, &edits, options("test")).unwrap();
    assert_eq!(world.file("@/root/b"), before);
    assert_eq!(world.names(), ["outside", "root", "root/b"]);
}

#[test]
fn entries_of_one_file_are_one_edit_unless_they_contradict_each_other() {
    let world = World::new();
    let path = world.path("@/root/a");
    let digest = Digest::of(b"caf\xe9 one\n");
    let [whole, short, wrong] = [digest.to_string(), digest.short(), Digest::of(b"").to_string()]
        .map(|text| DigestPrefix::parse(&text).unwrap());
    let told = |EditProblem { entry, reason: why }: &EditProblem| match why {
        Reason::Rejected { rejection: Rejection::HashMismatch { .. }, .. } => format!("{entry} mismatch"),
        why => format!("{entry} {}", reason(why)),
    };
    let of_both = [Some("latin1"), Some("latin1")];
    for (encodings, hashes, refused) in [
        (of_both, [None, None], ""),
        ([Some("latin1"), None], [None, None], ""),
        ([None, Some("latin1")], [None, None], ""),
        ([Some("latin1"), Some("utf-8")], [None, None], "1 Differs(Encoding { first: 0 })"),
        (of_both, [Some(&whole), Some(&short)], ""),
        (of_both, [Some(&whole), None], ""),
        (of_both, [None, Some(&whole)], ""),
        (of_both, [Some(&wrong), None], "0 mismatch"),
        (of_both, [None, Some(&wrong)], "0 mismatch"),
        (of_both, [Some(&short), Some(&wrong)], "1 Differs(FileHash { first: 0 })"),
    ] {
        std::fs::write(&path, b"caf\xe9 one\n").unwrap();
        let patches = [[Patch::text("one", "two")], [Patch::text("caf", "Caf")]];
        let edits = [0, 1].map(|entry| Edit {
            encoding: encodings[entry],
            file_hash: hashes[entry],
            ..Edit::new(path.to_str().unwrap(), EditChange::Patch(&patches[entry]))
        });
        let problems = edit(&world.workspace, &edits, options("test")).err().unwrap_or_default();
        let problems: Vec<String> = problems.iter().map(told).collect();
        assert_eq!(problems.join("; "), refused, "{encodings:?} {hashes:?}");
        let now: &[u8] = if refused.is_empty() { b"Caf\xe9 two\n" } else { b"caf\xe9 one\n" };
        assert_eq!(std::fs::read(&path).unwrap(), now);
    }
}

#[test]
fn a_patch_that_does_not_fit_is_told_by_its_place_in_the_call() {
    let world = World::new();
    let [a, b] = ["@/root/a", "@/root/b"].map(|name| world.path(name));
    let patch = |old| Patch::text(old, "new");
    let patches = [vec![patch("x")], vec![patch("1")], vec![patch("2"), patch("y")], vec![patch("z")]];
    for name in ["@/root/a", "@/root/b"] {
        world.write(name, "1\n2\n");
    }
    let paths = [&b, &a, &a, &b];
    let edits = [0, 1, 2, 3]
        .map(|entry| Edit::new(paths[entry].to_str().unwrap(), EditChange::Patch(&patches[entry])));
    let problems = edit(&world.workspace, &edits, options("test")).unwrap_err();
    let told = problems.iter().map(|EditProblem { entry, reason }| {
        let Reason::Rejected { rejection, .. } = reason else { panic!("{reason:?}") };
        let at = rejection.at().unwrap();
        (*entry, at.entry, at.patch)
    });
    assert_eq!(told.collect::<Vec<_>>(), [(0, 0, 0), (2, 2, 1), (3, 3, 0)]);
}

#[test]
fn a_file_may_be_made_with_the_largest_size() {
    let mut world = World::new();
    world.workspace.max_file_bytes = 10;
    for (text, refused) in [("123456789\n", ""), ("1234567890\n", "TooLarge { bytes: 11, becomes: true }")] {
        let path = world.path("@/root/new");
        let edits = [Edit::new(path.to_str().unwrap(), EditChange::Create(text))];
        let done = edit(&world.workspace, &edits, options("test"));
        assert_eq!(done.map_or_else(|problems| reason(&problems[0].reason), |_| String::new()), refused);
        assert_eq!(std::fs::remove_file(&path).is_ok(), refused.is_empty());
    }
}

/// Returns the files that the error of a call with one request suggests.
fn suggested(world: &World, asked: Edit<'_>) -> String {
    let problems = edit(&world.workspace, &[asked], options("test")).unwrap_err();
    let suggested = match &problems[0].reason {
        Reason::Store(StoreError { suggested, .. }) | Reason::Path(PathError::NotAbsolute { suggested }) => {
            suggested
        }
        other => panic!("{other:?}"),
    };
    let Some(suggested) = suggested else { return String::new() };
    let paths: Vec<_> = suggested.paths.iter().map(|path| path.to_str().unwrap()).collect();
    world.told(&paths.join(" "))
}

#[test]
fn of_several_likely_files_the_one_that_an_edit_fits_is_named() {
    let all = "@/root/x/a @/root/y/a @/root/z/a";
    for (texts, named) in [
        (&["new"][..], "@/root/x/a"),
        (&["old", "new"], "@/root/x/a"),
        (&["old", "new", "new"], "@/root/x/a"),
        (&["new", "old", "new"], "@/root/y/a"),
        (&["old", "old", "new"], all),
        (&["new", "new", "new"], all),
        // Four files are equally likely, and three of them are named.
        (&["old", "new", "new", "new"], all),
    ] {
        let world = World::new();
        for (directory, text) in ["x", "y", "z", "zz"].iter().zip(texts) {
            world.write(&format!("@/root/{directory}/a"), &format!("{text}\n"));
        }
        let path = world.path("@/root/a");
        let patches = [Patch::text("old", "new")];
        let asked = Edit::new(path.to_str().unwrap(), EditChange::Patch(&patches));
        assert_eq!(suggested(&world, asked), named, "{texts:?}");
    }
}

#[test]
fn a_path_that_is_short_of_its_root_is_told_for_new_files_too() {
    let world = World::new();
    world.write("@/root/x/a", "text\n");
    for (path, editing, creating) in [("x/a", "@/root/x/a", "@/root/x/a"), ("x/b", "", "@/root/x/b")] {
        assert_eq!(suggested(&world, Edit::new(path, EditChange::Append("more\n"))), editing);
        assert_eq!(suggested(&world, Edit::new(path, EditChange::Create("text\n"))), creating);
    }
}

#[test]
fn what_keeps_a_file_from_being_locked_is_told_once() {
    let world = World::new();
    std::fs::create_dir(world.path("@/root/a")).unwrap();
    let path = world.path("@/root/a");
    let edits = [EditChange::Append("more\n"), EditChange::Create("text\n")]
        .map(|change| Edit::new(path.to_str().unwrap(), change));
    let problems = edit(&world.workspace, &edits, options("test")).unwrap_err();
    let told = problems.iter().map(|problem| format!("{} {}", problem.entry, reason(&problem.reason)));
    assert_eq!(told.collect::<Vec<_>>(), ["0 Open IsADirectory"]);
}

#[test]
fn a_file_moves_only_if_it_is_what_the_client_knows() {
    let world = World::new();
    world.write("@/root/a", "text\n");
    let [from, to] = ["@/root/a", "@/root/b"].map(|name| world.path(name));
    for (known, refused) in [("other\n", true), ("text\n", false)] {
        let hash = DigestPrefix::parse(&Digest::of(known.as_bytes()).to_string()).unwrap();
        let keep = Edit::new(from.to_str().unwrap(), EditChange::Keep { after: None });
        let edits = [Edit { move_to: to.to_str(), file_hash: Some(&hash), ..keep }];
        let done = edit(&world.workspace, &edits, options("test"));
        assert_eq!(done.is_err(), refused, "{done:?}");
        assert_eq!((from.exists(), to.exists()), (refused, !refused));
    }
}

#[test]
fn each_new_place_that_cannot_be_made_is_told() {
    let world = World::new();
    let deep = format!("@/root/{}", "d/".repeat(1000));
    let paths = ["a", "b"].map(|name| {
        world.write(&format!("@/root/{name}"), "text\n");
        [world.path(&format!("@/root/{name}")), world.path(&format!("{deep}{name}"))]
    });
    let edits = paths.each_ref().map(|[from, to]| {
        let keep = Edit::new(from.to_str().unwrap(), EditChange::Keep { after: None });
        Edit { move_to: to.to_str(), ..keep }
    });
    let problems = edit(&world.workspace, &edits, options("test")).unwrap_err();
    let told = problems.iter().map(|EditProblem { entry, reason }| match reason {
        Reason::OfTarget(reason) => format!("{entry} {reason:?}"),
        reason => panic!("{reason:?}"),
    });
    let told: Vec<String> = told.collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|one| one.contains("TooManyMissing")), "{told:?}");
}

#[test]
fn a_new_file_begins_with_the_mark_that_its_label_asks_for() {
    let world = World::new();
    let path = world.path("@/root/a");
    for (label, bytes) in
        [("utf-8", &b"a\n"[..]), ("utf-8-sig", b"\xef\xbb\xbfa\n"), ("utf-16", b"\xff\xfea\0\n\0")]
    {
        let new = Edit::new(path.to_str().unwrap(), EditChange::Create("a\n"));
        edit(&world.workspace, &[Edit { encoding: Some(label), ..new }], options("test")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{label}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
#[cfg(unix)]
fn a_journal_that_was_removed_stops_no_edit_and_is_missed() {
    let world = World::new();
    world.write("@/root/a", "text\n");
    world.write("@/root/b", "text\n");
    let state = world.workspace.state_dir.as_ref().unwrap();
    std::fs::remove_dir(state.path().join("journal")).unwrap();
    let paths = ["@/root/a", "@/root/b"].map(|path| world.path(path));
    let edits = paths.each_ref().map(|path| Edit::new(path.to_str().unwrap(), EditChange::Append("more\n")));
    let done = edit(&world.workspace, &edits, options("test")).unwrap();
    assert!(done.files.iter().all(|file| file.warnings.contains(&Warning::NoJournal)), "{done:?}");
}
