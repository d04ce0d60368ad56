//! Every call can be stopped wherever it works: it asks the more often the more there is to do, ends soon
//! after it is told to, and has changed nothing then. Questions are counted, so no clock is needed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use mcp_text_editor_store::core::digest::{Digest, DigestPrefix};
use mcp_text_editor_store::core::resolve::{GuardedRange, Patch, Position};
use mcp_text_editor_store::core::show::{Budget, show};
use mcp_text_editor_store::{Change, Control, FileEdit, List, ReadFile};

use crate::world::World;

/// Two sizes of what is worked on, in bytes: both beyond what is held in memory.
const SMALL: usize = 5 << 18;
const LARGE: usize = 2 * SMALL;

/// After so many bytes at the latest a call asks again.
const BLOCK: usize = 256 << 10;

/// The most questions that may come once the answer was to stop: each part of a call that is under way asks
/// once more, at most.
const AFTER: usize = 4;

/// Returns what each file of the root holds.
fn digests(world: &World) -> BTreeMap<String, Digest> {
    let entries = std::fs::read_dir(world.path("")).unwrap().map(|entry| entry.unwrap());
    let digest = |path: &Path| std::fs::read(path).map_or(Digest::of(b""), |bytes| Digest::of(&bytes));
    entries.map(|entry| (entry.file_name().into_string().unwrap(), digest(&entry.path()))).collect()
}

/// Prepares a world for so many bytes of work, and returns what does it. An error is told as it is.
type Prepare = fn(&World, usize) -> Call;
type Call = Box<dyn Fn(&World, Control<'_>) -> Result<(), String>>;

/// Counts the questions of a call that is told to stop at one of them, if that is reached.
fn asked(world: &World, call: &Call, stop_at: usize) -> (usize, Result<(), String>) {
    let questions = Cell::new(0);
    let is_cancelled = || {
        questions.set(questions.get() + 1);
        questions.get() >= stop_at
    };
    let done = call(world, Control::of("test").cancelled_by(&is_cancelled));
    (questions.get(), done)
}

fn check(name: &str, prepare: Prepare) {
    let count = |size| {
        let world = World::new();
        let call = prepare(&world, size);
        asked(&world, &call, usize::MAX).0
    };
    let (few, many) = (count(SMALL), count(LARGE));
    assert!(
        many - few >= (LARGE - SMALL) / BLOCK,
        "{name}: {few} questions for {SMALL} bytes, {many} for {LARGE}"
    );
    for part in 0..3 {
        let stop_at = (few * part / 2).max(1);
        let world = World::new();
        let call = prepare(&world, SMALL);
        let before = digests(&world);
        let (questions, done) = asked(&world, &call, stop_at);
        assert!(questions <= stop_at + AFTER, "{name}: told to stop at {stop_at}, asked {questions} times");
        let error = done.expect_err(name);
        assert!(error.contains("Cancelled"), "{name}: {error}");
        assert_eq!(digests(&world), before, "{name}, stopped at {stop_at} of {few}");
    }
}

fn lines(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 32);
    let mut number = 0;
    while text.len() < bytes {
        let _ = writeln!(text, "line {number} of the file");
        number += 1;
    }
    text
}

/// Returns a read of lines that begin so far from the file's end.
fn read(
    world: &World,
    path: &str,
    encoding: Option<&str>,
    from_char: u64,
    control: Control<'_>,
) -> Result<(), String> {
    let file = ReadFile { encoding, ..ReadFile::new(path) };
    let work = |document: &mcp_text_editor_store::Document<'_>| {
        show(document.scanned(), document.scan.lines.all(), from_char, Budget::bytes(100))?;
        Ok(())
    };
    world.workspace.read_with(file, control, work).map_err(|error| format!("{error:?}"))
}

fn apply(world: &World, edits: &[FileEdit<'_>], control: Control<'_>) -> Result<(), String> {
    world.workspace.apply(edits, control).map(drop).map_err(|error| format!("{error:?}"))
}

fn plan(world: &World, edits: &[FileEdit<'_>], control: Control<'_>) -> Result<(), String> {
    world.workspace.plan(edits, control).map(drop).map_err(|error| format!("{error:?}"))
}

#[test]
fn reads_are_stopped() {
    check("lines", |world, size| {
        let path = world.write("file", lines(size));
        Box::new(move |world, control| read(world, &path, None, 1, control))
    });
    check("a long line, far in", |world, size| {
        let path = world.write("file", "ab".repeat(size / 2));
        Box::new(move |world, control| read(world, &path, None, size as u64 - 10, control))
    });
    check("UTF-16", |world, size| {
        let text: Vec<u8> = lines(size / 2).encode_utf16().flat_map(u16::to_le_bytes).collect();
        let path = world.write("file", text);
        Box::new(move |world, control| read(world, &path, Some("utf-16-le"), 1, control))
    });
    check("Shift_JIS", |world, size| {
        let path = world.write("file", b"\x93\xfa\x96\x7b\n".repeat(size / 5));
        Box::new(move |world, control| read(world, &path, Some("shift_jis"), 1, control))
    });
    check("CR alone", |world, size| {
        let path = world.write("file", "line\r".repeat(size / 5));
        Box::new(move |world, control| read(world, &path, None, 1, control))
    });
    check("what does not decode", |world, size| {
        let path = world.write("file", [lines(size).as_bytes(), b"\xff\n"].concat());
        Box::new(move |world, control| read(world, &path, None, 1, control))
    });
}

fn patched(
    text: impl Fn(usize) -> String,
    by: impl Fn(usize) -> Patch,
    world: &World,
    size: usize,
    dry_run: bool,
) -> Call {
    let path = world.write("file", text(size));
    let patches = [by(size)];
    Box::new(move |world, control| {
        let edits = [FileEdit::new(&path, Change::Patch(&patches))];
        if dry_run { plan(world, &edits, control) } else { apply(world, &edits, control) }
    })
}

#[test]
fn patches_of_what_is_there_are_stopped() {
    check("made", |world, size| patched(lines, |_| Patch::text("line 7 of", "row 7 of"), world, size, false));
    check("shown", |world, size| patched(lines, |_| Patch::text("line 7 of", "row 7 of"), world, size, true));
    check("blanks at line ends", |world, size| {
        patched(lines, |_| Patch::text("line 7 of the file \nline 8", "x"), world, size, false)
    });
    check("in many places", |world, size| {
        patched(lines, |_| Patch::text("of the file\n", "x\n"), world, size, false)
    });
    check("everywhere", |world, size| {
        patched(lines, |_| Patch::text("0 of the file\n", "x\n").all(), world, size, false)
    });
}

#[test]
fn patches_of_what_is_not_there_are_stopped() {
    check("not there", |world, size| {
        patched(lines, |_| Patch::text("nothing of the kind\n", ""), world, size, false)
    });
    check("nearly there", |world, size| {
        patched(
            lines,
            |_| Patch::text("line 900 off the file\nline 901 of the file\n", ""),
            world,
            size,
            false,
        )
    });
    check("in one long line", |world, size| {
        patched(|size| "ab".repeat(size / 2), |_| Patch::text("abc", "x"), world, size, false)
    });
    check("other lines", |world, size| {
        let patch = |_| {
            let range = GuardedRange { start: 5, end: Some(6), range_hash: None };
            Patch { ranges: vec![range], ..Patch::text("line 999999 of the file\n", "x") }
        };
        patched(lines, patch, world, size, false)
    });
    check("a stale digest", |world, size| {
        let patch = |_| {
            let range_hash = DigestPrefix::parse(&"0".repeat(64));
            let range = GuardedRange { start: 1, end: None, range_hash };
            Patch { old_string: None, new_string: String::new(), ranges: vec![range], replace_all: false }
        };
        patched(lines, patch, world, size, false)
    });
}

fn guarded(
    world: &World,
    size: usize,
    change: impl Fn(&World, &str, &DigestPrefix, Control<'_>) -> Result<(), String> + 'static,
) -> Call {
    let text = lines(size);
    let hash = DigestPrefix::parse(&Digest::of(text.as_bytes()).to_string()).unwrap();
    let path = world.write("file", text);
    std::fs::write(world.path("other"), "").unwrap();
    Box::new(move |world, control| change(world, &path, &hash, control))
}

#[test]
fn other_edits_are_stopped() {
    check("append", |world, size| {
        guarded(world, size, |world, path, hash, control| {
            let change = Change::Append("more\n");
            apply(world, &[FileEdit { file_hash: Some(hash), ..FileEdit::new(path, change) }], control)
        })
    });
    check("insert", |world, size| {
        guarded(world, size, |world, path, hash, control| {
            let change = Change::Insert("more\n", Position::After(1));
            apply(world, &[FileEdit { file_hash: Some(hash), ..FileEdit::new(path, change) }], control)
        })
    });
    check("delete", |world, size| {
        guarded(world, size, |world, path, hash, control| {
            let range_hash = DigestPrefix::parse(&Digest::of(b"line 1 of the file\n").to_string());
            let change = [GuardedRange { start: 2, end: Some(2), range_hash }];
            let change = Change::Delete(&change);
            apply(world, &[FileEdit { file_hash: Some(hash), ..FileEdit::new(path, change) }], control)
        })
    });
    check("remove", |world, size| {
        guarded(world, size, |world, path, hash, control| {
            apply(
                world,
                &[FileEdit { file_hash: Some(hash), ..FileEdit::new(path, Change::Remove) }],
                control,
            )
        })
    });
    check("move", |world, size| {
        guarded(world, size, |world, path, _, control| {
            let to = world.path("moved");
            apply(world, &[FileEdit::new(path, Change::Move { to: &to, patches: &[] })], control)
        })
    });
    check("move to where a file is", |world, size| {
        guarded(world, size, |world, path, _, control| {
            let from = world.path("other");
            apply(world, &[FileEdit::new(&from, Change::Move { to: path, patches: &[] })], control)
        })
    });
    check("create where a file is", |world, size| {
        guarded(world, size, |world, path, _, control| {
            apply(world, &[FileEdit::new(path, Change::Create("new\n"))], control)
        })
    });
}

#[test]
#[cfg(feature = "history")]
fn undo_is_stopped() {
    check("undo", |world, size| {
        let path = world.write("file", lines(size));
        let patches = [Patch::text("line 7 of", "row 7 of")];
        let edits = [FileEdit::new(&path, Change::Patch(&patches))];
        let id = world.workspace.apply(&edits, Control::default()).unwrap().edit_id.unwrap();
        Box::new(move |world, control| {
            world.workspace.undo(&id, control).map(drop).map_err(|error| format!("{error:?}"))
        })
    });
}

#[test]
fn walks_are_stopped() {
    check("a list of lines", |world, size| {
        world.write("file", lines(size));
        Box::new(|world, control| {
            let list = List { line_counts: true, depth: Some(1), ..List::new(None) };
            let listed = world.workspace.list(&list, &mut |_| ControlFlow::Continue(()), control);
            listed.map(drop).map_err(|error| format!("{error:?}"))
        })
    });
}
