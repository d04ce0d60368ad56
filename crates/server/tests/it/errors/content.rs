//! Errors of calls whose file has not the content that the call names, or cannot get the new content.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::{APPEND, CREATE, DELETE, GET, INSERT, PATCH, app, by_hash, by_range, by_text, check, patches};
use crate::world::World;

#[test]
fn lines_that_hold_something_else() {
    let line = |number, old| by_range("app.rs", number, number, old, "    new();");
    check(
        "lines_that_hold_something_else",
        app,
        &[],
        &[
            ("tabs against spaces", PATCH, line(2, "    w * h")),
            (
                "other indentation",
                PATCH,
                by_range("app.rs", 6, 7, "let title = \"it's\";\nlet width = \"10 km\";", "x"),
            ),
            ("typographic quotes", PATCH, line(6, "    let title = “it’s”;")),
            ("no-break space", PATCH, line(7, "    let width = \"10\u{a0}km\";")),
            (
                "escapes spelled out",
                PATCH,
                by_range("app.rs", 1, 3, "fn area(w: u32, h: u32) -> u32 {\\n\\tw * h\\n}", "x"),
            ),
            ("gutter", PATCH, by_range("app.rs", 2, 3, "2\t\tw * h\n3\t}", "x")),
            ("letter case", PATCH, line(8, "    Println!(\"{Title}: {Width}\");")),
            ("range too long", PATCH, by_range("app.rs", 5, 7, "    let title = \"it's\";", "x")),
            (
                "range too short",
                PATCH,
                by_range("app.rs", 2, 2, "fn area(w: u32, h: u32) -> u32 {\n\tw * h\n}", "x"),
            ),
            (
                "elided",
                PATCH,
                by_range(
                    "app.rs",
                    5,
                    10,
                    "fn main() {\n    // ... existing code ...\n    done(1, 2);\n}",
                    "x",
                ),
            ),
            (
                "already there",
                PATCH,
                by_range("app.rs", 7, 7, "    let width = 5;", "    let width = \"10 km\";"),
            ),
            (
                "moved",
                PATCH,
                by_range("app.rs", 3, 4, "    let title = \"it's\";\n    let width = \"10 km\";", "x"),
            ),
            ("moved, to several places", PATCH, line(5, "}")),
            ("a part of a line", PATCH, line(8, "println!")),
            ("a part of another line", PATCH, line(9, "println!")),
            ("something similar there", PATCH, line(9, "    done(1, 2, 3);")),
            ("something similar elsewhere", PATCH, line(1, "    let title = \"its\";")),
            ("nothing of the kind", PATCH, line(9, "SELECT * FROM users;")),
            ("an empty line", PATCH, line(9, "")),
        ],
    );
}

#[test]
fn many_lines_that_hold_something_else() {
    let long = |world: &World| {
        let lines: Vec<String> = (1..=60).map(|number| format!("line {number} of sixty\n")).collect();
        world.write("long.txt", lines.concat());
        world.write("wide.txt", "x".repeat(9_000) + "\nshort\n");
    };
    check(
        "many_lines_that_hold_something_else",
        long,
        &[],
        &[
            (
                "more lines than are shown",
                PATCH,
                by_range("long.txt", 11, 60, "line 11 of sixty\nline 12 of seventy", "x"),
            ),
            ("a line longer than is shown", PATCH, by_range("wide.txt", 1, 2, "xxx\nshort", "x")),
        ],
    );
}

#[test]
fn text_that_is_not_there() {
    check(
        "text_that_is_not_there",
        app,
        &[],
        &[
            ("tabs against spaces", PATCH, by_text("app.rs", "u32 {\n    w * h\n}", "x")),
            ("other indentation", PATCH, by_text("app.rs", "fn main() {\n  let title = \"it's\";\n", "x")),
            ("typographic quotes", PATCH, by_text("app.rs", "title = “it’s”;", "x")),
            ("no-break space", PATCH, by_text("app.rs", "\"10\u{a0}km\"", "x")),
            ("escapes spelled out", PATCH, by_text("app.rs", "u32 {\\n\\tw * h\\n}", "x")),
            ("gutter", PATCH, by_text("app.rs", "5\tfn main() {\n6\t    let title = \"it's\";", "x")),
            ("letter case", PATCH, by_text("app.rs", "Done(1, 2)", "x")),
            ("elided", PATCH, by_text("app.rs", "fn main() {\n    ...\n    done(1, 2);\n}\n", "x")),
            ("already there", PATCH, by_text("app.rs", "call_it();", "let width = \"10 km\";")),
            ("something similar", PATCH, by_text("app.rs", "println!(\"{titel}, {width}\");", "x")),
            ("nothing of the kind", PATCH, by_text("app.rs", "SELECT * FROM users;", "x")),
            ("an empty old_string in a file that is not empty", PATCH, by_text("app.rs", "", "x")),
        ],
    );
}

#[test]
fn blanks_at_line_ends_when_strict() {
    check(
        "blanks_at_line_ends_when_strict",
        app,
        &["--strict"],
        &[
            ("by text", PATCH, by_text("app.rs", "done(1, 2);\n}", "x")),
            ("by range", PATCH, by_range("app.rs", 9, 9, "    done(1, 2);", "x")),
            ("by range, elsewhere", PATCH, by_range("app.rs", 8, 8, "    done(1, 2);", "x")),
        ],
    );
}

#[test]
fn text_that_is_there_more_than_once() {
    let set_up = |world: &World| {
        world.write("two.txt", "a = 1\nb = 2  \nc = 3\na = 1\nb = 2\t\n");
        world.write("many.txt", "item\n".repeat(25));
        world.write("too_many.txt", "ab".repeat(100_001));
    };
    check(
        "text_that_is_there_more_than_once",
        set_up,
        &[],
        &[
            ("twice", PATCH, by_text("two.txt", "a = 1", "x")),
            ("twice, but for blanks at line ends", PATCH, by_text("two.txt", "b = 2\n", "x")),
            ("overlapping itself", PATCH, by_text("many.txt", "item\nitem\n", "x")),
            (
                "more often than may be replaced",
                PATCH,
                patches(
                    "too_many.txt",
                    &[json!({"old_string": "ab", "new_string": "c", "replace_all": true})],
                ),
            ),
        ],
    );
}

#[test]
fn new_text_with_a_certain_slip() {
    let by_hash = json!([{"start": 2, "end": 2, "range_hash": "$RANGE(t.txt,2,2)"}]);
    let call = |patch: Value| json!({"files": [{"file_path": "$ROOT/t.txt", "patches": [patch]}]});
    let by_text = |old: &str, new: &str| call(json!({"old_string": old, "new_string": new}));
    let insert =
        json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "after": 3, "contents": "4\tash\n"});
    check(
        "new_text_with_a_certain_slip",
        |world| world.write("t.txt", "oak\n  elm\nfir\n"),
        &[],
        &[
            ("a line end too many", PATCH, by_text("fir", "FIR\n")),
            ("a deletion without the line end", PATCH, by_text("elm", "")),
            (
                "numbers in old and new places",
                PATCH,
                call(json!({"ranges": by_hash, "new_string": "2\telm"})),
            ),
            ("numbers in an insertion", INSERT, insert),
            ("a long text", PATCH, by_text("oak", &("long ".repeat(400) + "\n"))),
        ],
    );
}

#[test]
fn edits_that_overlap() {
    let set_up = |world: &World| world.write("t.txt", "one\ntwo\nthree\nfour\n");
    let text = |old: &str| json!({"old_string": old, "new_string": "x"});
    let hash = |start: u32, end: u32| json!({"start": start, "end": end, "range_hash": format!("$RANGE(t.txt,{start},{end})")});
    let entry = |patch: Value| json!({"file_path": "$ROOT/t.txt", "patches": [patch]});
    let lines = |start: u32, end: u32| json!({"start": start, "end": end});
    let held = |start: u32, end: u32, old: &str| json!({"old_string": old, "ranges": [lines(start, end)], "new_string": "x"});
    let stale = |start: u32, end: u32| json!({"start": start, "end": end, "range_hash": "0123456789ab"});
    check(
        "edits_that_overlap",
        set_up,
        &[],
        &[
            (
                "two ranges of one patch",
                PATCH,
                patches("t.txt", &[json!({"ranges": [hash(1, 2), hash(2, 3)], "new_string": "x"})]),
            ),
            ("two patches", PATCH, patches("t.txt", &[text("ne\ntw"), text("two")])),
            (
                "a range and a text in it",
                PATCH,
                patches("t.txt", &[text("hre"), json!({"ranges": [hash(2, 3)], "new_string": "x"})]),
            ),
            ("two entries for one file", PATCH, json!({"files": [entry(text("four")), entry(text("our"))]})),
            (
                "ranges to delete",
                DELETE,
                json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "ranges": [hash(2, 4), hash(3, 3)]}),
            ),
            (
                "ranges of one patch, with other text",
                PATCH,
                patches(
                    "t.txt",
                    &[json!({"old_string": "five", "ranges": [lines(1, 2), lines(2, 3)], "new_string": "x"})],
                ),
            ),
            (
                "two patches, one with other text",
                PATCH,
                patches("t.txt", &[held(2, 3, "five"), json!({"ranges": [hash(3, 4)], "new_string": "x"})]),
            ),
            (
                "a range with another hash and a text in it",
                PATCH,
                patches("t.txt", &[json!({"ranges": [stale(2, 3)], "new_string": "x"}), text("hre")]),
            ),
            (
                "two entries, both with other text",
                PATCH,
                json!({"files": [entry(held(1, 2, "five")), entry(held(2, 2, "six"))]}),
            ),
            (
                "ranges to delete, with another hash",
                DELETE,
                json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "ranges": [stale(2, 4), stale(3, 3)]}),
            ),
        ],
    );
}

#[test]
fn ranges_that_are_none() {
    let set_up = |world: &World| {
        world.write("t.txt", "one\ntwo\nthree\n");
        world.write("empty.txt", "");
    };
    let insert = |key: &str, line: i64| {
        let mut call = json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "contents": "x"});
        call[key] = line.into();
        call
    };
    let delete = |start: i64, end: i64| {
        let range = json!({"start": start, "end": end, "range_hash": "$RANGE(t.txt,1,1)"});
        json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "ranges": [range]})
    };
    let patch = |file: &str, range: Value| {
        patches(file, &[json!({"old_string": "one", "new_string": "x", "ranges": [range]})])
    };
    check(
        "ranges_that_are_none",
        set_up,
        &[],
        &[
            ("read backwards", GET, json!({"file_path": "$ROOT/t.txt", "line_start": 3, "line_end": 2})),
            (
                "read backwards from the end",
                GET,
                json!({"file_path": "$ROOT/t.txt", "line_start": -1, "line_end": 2}),
            ),
            ("patch backwards", PATCH, patch("t.txt", json!({"start": 3, "end": 2}))),
            ("delete backwards", DELETE, delete(3, 2)),
            ("patch line 0", PATCH, patch("t.txt", json!({"start": 0, "end": 1}))),
            ("patch behind the end", PATCH, patch("t.txt", json!({"start": 2, "end": 4}))),
            ("patch to the end, from behind it", PATCH, patch("t.txt", json!({"start": 4}))),
            ("patch a line of an empty file", PATCH, patch("empty.txt", json!({"start": 1}))),
            ("delete behind the end", DELETE, delete(4, 4)),
            ("insert behind the end", INSERT, insert("after", 4)),
            ("insert before line 0", INSERT, insert("before", 0)),
        ],
    );
}

#[test]
fn lines_that_have_another_hash() {
    let set_up = |world: &World| world.write("t.txt", "new\nnew\none\ntwo\nthree\nfour\n");
    let moved = "c3f9c8c283a2b1f2"; // "one\ntwo\n"
    let gone = "0123456789ab";
    let delete = |hash: &str| {
        let range = json!({"start": 1, "end": 2, "range_hash": hash});
        json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "ranges": [range]})
    };
    let both = json!({"old_string": "three", "new_string": "3", "ranges": [{"start": 5, "end": 5, "range_hash": gone}]});
    let neither = json!({"old_string": "3", "new_string": "three", "ranges": [{"start": 5, "end": 5, "range_hash": gone}]});
    check(
        "lines_that_have_another_hash",
        set_up,
        &[],
        &[
            ("patch, moved", PATCH, by_hash("t.txt", 1, 2, moved)),
            ("patch, gone", PATCH, by_hash("t.txt", 1, 2, gone)),
            ("patch, moved, of another length", PATCH, by_hash("t.txt", 1, 1, moved)),
            ("patch, old_string holds", PATCH, patches("t.txt", &[both])),
            ("patch, old_string does not hold either", PATCH, patches("t.txt", &[neither])),
            ("delete, moved", DELETE, delete(moved)),
            ("delete, gone", DELETE, delete(gone)),
        ],
    );
}

#[test]
fn files_that_have_another_hash() {
    let set_up = |world: &World| {
        world.write("t.txt", "one\ntwo\nthree\n");
        world.write("again.txt", "a {\n    b {\n}\n}\n");
    };
    let patch = |old: &str| json!({"files": [{"file_path": "$ROOT/t.txt", "file_hash": "0123456789abcdef", "patches": [{"old_string": old, "new_string": "x"}]}]});
    let call = |more: Value| {
        let mut call = json!({"file_path": "$ROOT/t.txt", "file_hash": "0123456789abcdef"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    let range = |hash: &str| json!({"ranges": [{"start": 2, "end": 2, "range_hash": hash}]});
    check(
        "files_that_have_another_hash",
        set_up,
        &[],
        &[
            ("patch, still applies", PATCH, patch("two")),
            ("patch, does not apply", PATCH, patch("2")),
            ("append", APPEND, call(json!({"contents": "four"}))),
            ("insert, by a line that may be another", INSERT, call(json!({"contents": "four", "after": 3}))),
            ("insert, does not apply", INSERT, call(json!({"contents": "four", "after": 5}))),
            ("delete, still applies", DELETE, call(range("$RANGE(t.txt,2,2)"))),
            ("delete, does not apply", DELETE, call(range("$RANGE(t.txt,1,1)"))),
            (
                "delete, of lines that stand elsewhere, too",
                DELETE,
                json!({"file_path": "$ROOT/again.txt", "file_hash": "0123456789abcdef",
                    "ranges": [{"start": 3, "end": 3, "range_hash": "$RANGE(again.txt,3,3)"}]}),
            ),
            (
                "patch, of lines that stand elsewhere, too",
                PATCH,
                json!({"files": [{"file_path": "$ROOT/again.txt", "file_hash": "0123456789abcdef",
                    "patches": [{"old_string": "}", "new_string": "x", "ranges": [{"start": 3, "end": 3}]}]}]}),
            ),
        ],
    );
}

#[test]
fn files_that_are_no_text() {
    let set_up = |world: &World| {
        world.write("latin1.txt", b"un\ncaf\xe9\n");
        world.write("sjis.txt", japanese());
        world.write("image.bin", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        world.write(
            "wide.txt",
            "one line\r\ntwo lines\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
        );
        world.write("t.txt", "plain\n");
        world.write("bom.txt", b"\xef\xbb\xbfcaf\xe9\n");
    };
    let read = |file: &str| json!({"file_path": format!("$ROOT/{file}")});
    let read_as =
        |file: &str, encoding: &str| json!({"file_path": format!("$ROOT/{file}"), "encoding": encoding});
    check(
        "files_that_are_no_text",
        set_up,
        &[],
        &[
            ("not utf-8", GET, read("latin1.txt")),
            ("not utf-8, but plainly something else", GET, read("sjis.txt")),
            ("not utf-8 behind its BOM", GET, read("bom.txt")),
            ("not what the call says, in its own word", GET, read_as("latin1.txt", "US_ASCII")),
            ("edited as utf-8", PATCH, by_text("latin1.txt", "un", "deux")),
            ("binary", GET, read("image.bin")),
            ("utf-16 without BOM", GET, read("wide.txt")),
            (
                "edited though binary",
                APPEND,
                json!({"file_path": "$ROOT/image.bin", "file_hash": "$HASH(image.bin)", "contents": "x"}),
            ),
            ("no such encoding, but one like it", GET, read_as("t.txt", "utf-88")),
            ("no such encoding", GET, read_as("t.txt", "klingon")),
            (
                "edited in no such encoding",
                PATCH,
                json!({"files": [{"file_path": "$ROOT/t.txt", "encoding": "shift-jiss", "patches": [{"old_string": "plain", "new_string": "x"}]}]}),
            ),
        ],
    );
}

/// Returns enough Japanese text in `shift_jis` for its encoding to be recognised.
fn japanese() -> Vec<u8> {
    let line = b"\x82\xb1\x82\xea\x82\xcd\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83\x65\x83\x4c\x83\x58\x83\x67\x82\xc5\x82\xb7\n";
    line.repeat(8)
}

#[test]
fn text_that_the_encoding_lacks() {
    let set_up = |world: &World| world.write("t.txt", b"caf\xe9\nth\xe9\n");
    let latin1 = |patch: Value| json!({"files": [{"file_path": "$ROOT/t.txt", "encoding": "latin1", "patches": [patch]}]});
    check(
        "text_that_the_encoding_lacks",
        set_up,
        &[],
        &[
            ("patch", PATCH, latin1(json!({"old_string": "café", "new_string": "un\n10 €"}))),
            (
                "append",
                APPEND,
                json!({"file_path": "$ROOT/t.txt", "encoding": "latin1", "file_hash": "$HASH(t.txt)", "contents": "€"}),
            ),
            (
                "insert",
                INSERT,
                json!({"file_path": "$ROOT/t.txt", "encoding": "cp1252", "file_hash": "$HASH(t.txt)", "contents": "→", "after": 0}),
            ),
            (
                "create",
                CREATE,
                json!({"file_path": "$ROOT/new.txt", "encoding": "shift_jis", "contents": "10 ¥\n"}),
            ),
        ],
    );
}

#[test]
fn a_file_that_keeps_changing() {
    let world = World::new();
    world.write("log.txt", "a line of a log\n".repeat(1 << 18));
    let mut session = world.serve(&[]);
    let stop = AtomicBool::new(false);
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut log = std::fs::OpenOptions::new().append(true).open(world.path("log.txt")).unwrap();
            // The loop has an end, so that a broken session does not look like a hang.
            for _ in (0..1 << 24).take_while(|_| !stop.load(Ordering::Relaxed)) {
                log.write_all(b".").unwrap();
            }
        });
        // On a busy machine the other thread may not write during a call. Then the call succeeds.
        let mut until_it_changes = |tool: &str, call: &Value| {
            let mut replies = (0..100).map(|_| world.call_among_others(&mut session, tool, call));
            replies.find(|reply| reply.text.contains("conflict")).unwrap()
        };
        let read = until_it_changes(GET, &json!({"file_path": "$ROOT/log.txt"}));
        let edit = until_it_changes(PATCH, &by_text("log.txt", "a line", "x"));
        stop.store(true, Ordering::Relaxed);
        format!("{}\n\n{}", read.text, edit.text)
    });
    insta::assert_snapshot!(said, @r"
    error: conflict: $ROOT/log.txt keeps changing while it is worked on
    in $ROOT/log.txt
    suggestion: get_text_file_contents
    hint: send the same call again once the other program has finished

    error: conflict: $ROOT/log.txt keeps changing while it is worked on; nothing was written
    in $ROOT/log.txt
    suggestion: get_text_file_contents
    hint: send the same call again once the other program has finished
    ");
}
