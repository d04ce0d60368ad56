//! Every error that a client can be told, in both modes, word for word: the snapshots hold the calls and their replies.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_text_editor::problem::Code;
use mcp_text_editor::tool_id::ToolId;
use mcp_text_editor::tools;
use serde_json::{Value, json};

use crate::world::World;

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";
const CREATE: &str = "create_text_file";
const APPEND: &str = "append_text_file_contents";
const INSERT: &str = "insert_text_file_contents";
const DELETE: &str = "delete_text_file_contents";
const EDITS: &str = "list_text_file_edits";
const UNDO: &str = "undo_text_file_edits";

/// A name, a tool, and its arguments.
type Call = (&'static str, &'static str, Value);

/// Makes calls that must all fail and leave every file as it was; the snapshot `name` holds what is said, as text and as JSON.
#[track_caller]
pub(crate) fn check(name: &str, set_up: impl Fn(&World), options: &[&str], calls: &[Call]) {
    let world = World::new();
    set_up(&world);
    let before = world.tree();
    let mut text = world.serve(options);
    let mut json = world.serve(&[options, &["--output", "json"]].concat());
    let mut out = String::new();
    for (what, tool, arguments) in calls {
        let said = world.call(&mut text, tool, arguments);
        let told = world.call(&mut json, tool, arguments);
        assert!(said.is_error && told.is_error, "{what}: {}", said.text);
        assert!(told.structured.is_none() && said.structured.is_none(), "{what}");
        assert_eq!(said.code(), told.code(), "{what}");
        for reply in [&said, &told] {
            assert!(reply.raw.chars().count() < 8_000, "{what}");
            let edits = !ToolId::named(tool).unwrap().is_read_only();
            assert_eq!(edits, reply.raw.contains("; nothing was written"), "{what}: {}", reply.text);
        }
        assert_eq!(world.tree(), before, "{what}");
        let _ = writeln!(out, "## {what}\n{tool} {arguments}\n\n{}\n\n{}\n\n", said.text, told.text);
    }
    names_what_is_offered(&world, options, calls);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => true }, {
        insta::assert_snapshot!(name, out);
    });
}

/// The same calls where only one of their tools is offered, each in turn: whatever goes wrong, no other tool is named.
#[track_caller]
fn names_what_is_offered(world: &World, options: &[&str], calls: &[Call]) {
    if options.iter().any(|option| ["--tools", "--mode", "--read-only"].contains(option)) {
        return;
    }
    let called: BTreeSet<&str> = calls.iter().map(|(_, tool, _)| *tool).collect();
    for offered in called {
        for output in ["text", "json"] {
            let mut session = world.serve(&[options, &["--tools", offered, "--output", output]].concat());
            for (what, tool, arguments) in calls {
                let reply = world.call(&mut session, tool, arguments);
                assert!(reply.is_error, "{what}: {}", reply.text);
                // Of a tool that is switched off, this is said.
                let said = reply.text.replace(&format!("{tool} is switched off"), "");
                // The name of one tool is a part of another's.
                let words: Vec<&str> = said.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).collect();
                let strange =
                    tools::ALL.iter().find(|other| other.name() != offered && words.contains(&other.name()));
                assert!(strange.is_none(), "{what}, with {offered} alone: {}", reply.text);
            }
        }
    }
}

/// The arguments of patches of one file.
fn patches(file: &str, patches: &[Value]) -> Value {
    json!({"files": [{"file_path": format!("$ROOT/{file}"), "patches": patches}]})
}

fn by_text(file: &str, old: &str, new: &str) -> Value {
    patches(file, &[json!({"old_string": old, "new_string": new})])
}

fn by_range(file: &str, start: u32, end: u32, old: &str, new: &str) -> Value {
    let ranges = json!([{"start": start, "end": end}]);
    patches(file, &[json!({"old_string": old, "new_string": new, "ranges": ranges})])
}

fn by_hash(file: &str, start: u32, end: u32, hash: &str) -> Value {
    patches(
        file,
        &[json!({"new_string": "new", "ranges": [{"start": start, "end": end, "range_hash": hash}]})],
    )
}

/// A file in which every kind of slip can be made.
fn app(world: &World) {
    let text = "fn area(w: u32, h: u32) -> u32 {\n\
                \tw * h\n\
                }\n\
                \n\
                fn main() {\n    \
                    let title = \"it's\";\n    \
                    let width = \"10 km\";\n    \
                    println!(\"{title}: {width}\");\n    \
                    done(1, 2);  \n\
                }\n";
    world.write("app.rs", text);
}

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

/// Enough of it to be told from anything else, in `shift_jis`.
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
fn paths_that_are_refused() {
    let set_up = |world: &World| {
        world.write("dir/t.txt", "text\n");
        world.write("t.txt", "text\n");
    };
    let read = |path: &str| json!({"file_path": path});
    let long = format!("$ROOT/{}", "n".repeat(300));
    check(
        "paths_that_are_refused",
        set_up,
        &[],
        &[
            ("relative, and there", GET, read("dir/t.txt")),
            ("relative, and nowhere", GET, read("no/such.txt")),
            ("upwards", GET, read("$ROOT/dir/../t.txt")),
            ("relative and upwards", GET, read("../t.txt")),
            ("empty", GET, read("")),
            ("outside", GET, read("/etc/passwd")),
            ("outside, and not there", GET, read("/etc/no/such/file")),
            ("created outside", CREATE, json!({"file_path": "/no/such/dir/t.txt", "contents": ""})),
            ("not there", GET, read("$ROOT/missing.txt")),
            ("not there, to be edited", PATCH, by_text("missing.txt", "a", "b")),
            ("a directory", GET, read("$ROOT/dir")),
            ("a directory, to be edited", PATCH, by_text("dir", "a", "b")),
            ("below a file", GET, read("$ROOT/t.txt/x")),
            ("created below a file", CREATE, json!({"file_path": "$ROOT/t.txt/x", "contents": ""})),
            ("a file with a slash", GET, read("$ROOT/t.txt/")),
            ("a name that is too long", GET, read(&long)),
        ],
    );
}

// Where letter case counts.
#[cfg(target_os = "linux")]
#[test]
fn files_that_were_meant() {
    let set_up = |world: &World| {
        for file in
            ["src/app.rs", "src/handler.rs", "lib/deep/parser.rs", "README.md", "my file.txt", "t_1.txt"]
        {
            world.write(file, "text\n");
        }
        for package in ["one", "two", "three", "four"] {
            world.write(&format!("{package}/mod.rs"), "text\n");
        }
        world.write(".git/config", "text\n");
    };
    let read = |path: &str| json!({"file_path": path});
    check(
        "files_that_were_meant",
        set_up,
        &[],
        &[
            ("in other letter case", GET, read("$ROOT/SRC/App.rs")),
            ("a slip", GET, read("$ROOT/src/hanlder.rs")),
            ("another extension", GET, read("$ROOT/README")),
            ("elsewhere", GET, read("$ROOT/src/parser.rs")),
            ("several", GET, read("$ROOT/src/mod.rs")),
            ("one digit", GET, read("$ROOT/t_2.txt")),
            (
                "several files",
                GET,
                json!({"files": [read("$ROOT/src/app.rss"), read("parser.rs"), read("$ROOT/x/y.rs")]}),
            ),
            ("relative", GET, read("src/app.rs")),
            ("from home on", GET, read("~/src/app.rs")),
            ("a URL", GET, read("file://$ROOT/my%20file.txt")),
            ("quoted", GET, read("\"$ROOT/my file.txt\"")),
            ("padded", GET, read("$ROOT/my file.txt\n")),
            ("protected, to be read", GET, read("$ROOT/.git/Config")),
            ("protected, to be edited", PATCH, by_text(".git/Config", "a", "b")),
            (
                "protected and relative, to be edited",
                PATCH,
                json!({"files": [{"file_path": ".git/config", "patches": [{"old_string": "a", "new_string": "b"}]}]}),
            ),
            (
                "with another problem",
                PATCH,
                json!({"files": [{"file_path": ".git/config", "patches": []}, {"file_path": "src/app.rs", "patches": []}]}),
            ),
            ("to be edited", PATCH, by_text("src/handlr.rs", "a", "b")),
            (
                "several, to be edited",
                DELETE,
                json!({"file_path": "$ROOT/src/mod.rs", "file_hash": "0123456789ab", "ranges": [{"start": 1, "range_hash": "0123456789ab"}]}),
            ),
            ("to be made", CREATE, json!({"file_path": "src/new.rs", "contents": ""})),
            ("to be made, quoted", CREATE, json!({"file_path": "'$ROOT/src/new.rs'", "contents": ""})),
            ("to be made nowhere", CREATE, json!({"file_path": "no/new.rs", "contents": ""})),
        ],
    );
}

#[test]
fn past_edits_are_refused_by_what_is_offered() {
    let world = World::new();
    names_what_is_offered(
        &world,
        &[],
        &[
            ("undo of an edit that is not kept", UNDO, json!({"edit_id": "0123456789ab"})),
            ("undo of nothing", UNDO, json!({"edit_id": ""})),
            ("undo without edit_id", UNDO, json!({"id": "0123456789ab"})),
            ("list of a file elsewhere", EDITS, json!({"file_path": "/etc/passwd"})),
            ("list of a relative path", EDITS, json!({"file_path": "a", "limit": 0})),
        ],
    );
}

/// All that is wrong with the arguments of a call is told at once, its paths and encodings among it.
#[test]
fn arguments_with_several_problems() {
    let set_up = |world: &World| world.write("t.txt", "one\n");
    let stale = json!([{"start": 3, "end": 2, "range_hash": "zz"}, {"start": 1}]);
    check(
        "arguments_with_several_problems",
        set_up,
        &[],
        &[
            (
                "get",
                GET,
                json!({"files": [{"file_path": "t.txt", "ranges": [{"start": 2, "end": 1}]}, {"file_path": "$ROOT/../t.txt"}, {}], "encoding": "klingon"}),
            ),
            (
                "get, in both forms",
                GET,
                json!({"file_path": "../t.txt", "files": [{"file_path": "t.txt"}], "odd": 1}),
            ),
            (
                "patch",
                PATCH,
                json!({"files": [{"file_path": "t.txt", "file_hash": "12", "encoding": "klingon", "patches": [{"ranges": stale}]}, {"file_path": "a/../b", "patches": []}]}),
            ),
            ("create", CREATE, json!({"file_path": "new/../t.txt", "encoding": "klingon", "dry_run": "x"})),
            ("append", APPEND, json!({"file_path": "t.txt", "file_hash": "12", "contents": ""})),
            (
                "insert",
                INSERT,
                json!({"file_path": "../t.txt", "file_hash": "12", "contents": "", "after": 1, "before": 2, "encoding": "klingon"}),
            ),
            ("insert, nowhere", INSERT, json!({"file_path": "t.txt", "contents": "x"})),
            (
                "delete",
                DELETE,
                json!({"file_path": "t.txt", "file_hash": "12", "ranges": stale, "encoding": "klingon"}),
            ),
        ],
    );
}

#[cfg(unix)]
#[test]
fn names_that_are_no_regular_file() {
    let set_up = |world: &World| {
        let made = std::process::Command::new("mkfifo").arg(world.path("fifo")).status().unwrap();
        assert!(made.success());
        // The socket stays when its listener is gone.
        drop(std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap());
        world.link("loop", "loop");
        world.link("out", "/etc/passwd");
        world.link("nowhere", "missing.txt");
    };
    let read = |path: &str| json!({"file_path": path});
    check(
        "names_that_are_no_regular_file",
        set_up,
        &["/dev"],
        &[
            ("a FIFO", GET, read("$ROOT/fifo")),
            ("a FIFO, to be edited", PATCH, by_text("fifo", "a", "b")),
            ("a socket", GET, read("$ROOT/socket")),
            ("a device", GET, read("/dev/null")),
            ("a link to itself", GET, read("$ROOT/loop")),
            ("a link outside", GET, read("$ROOT/out")),
            ("a link to nothing", GET, read("$ROOT/nowhere")),
            (
                "a link to nothing, to be created",
                CREATE,
                json!({"file_path": "$ROOT/nowhere", "contents": "new\n"}),
            ),
        ],
    );
}

#[test]
fn names_that_are_taken() {
    let set_up = |world: &World| {
        world.write("t.txt", "one\ntwo\n");
        world.write("empty.txt", "");
        world.write("latin1.txt", b"caf\xe9\n");
        world.write("dir/t.txt", "one\n");
    };
    let create = |file: &str| json!({"file_path": format!("$ROOT/{file}"), "contents": "new\n"});
    check(
        "names_that_are_taken",
        set_up,
        &[],
        &[
            ("a file", CREATE, create("t.txt")),
            (
                "a file, in a dry run",
                CREATE,
                json!({"file_path": "$ROOT/t.txt", "contents": "new\n", "dry_run": true}),
            ),
            ("an empty file", CREATE, create("empty.txt")),
            ("a file that is not utf-8", CREATE, create("latin1.txt")),
            ("a directory", CREATE, create("dir")),
        ],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn places_where_nothing_may_be_written() {
    // Nobody may make a file there, not even root.
    check(
        "places_where_nothing_may_be_written",
        |_| {},
        &["/sys"],
        &[("create", CREATE, json!({"file_path": "/sys/mcp-text-editor.txt", "contents": "x"}))],
    );
}

#[test]
fn several_problems() {
    let set_up = |world: &World| {
        world.write("a.txt", "one\ntwo\nthree\n");
        world.write("b.txt", b"caf\xe9\n");
        world.write("c.txt", "fine\n");
    };
    let entry = |file: &str, patches: &[Value]| json!({"file_path": file, "patches": patches});
    let text = |old: &str| json!({"old_string": old, "new_string": "x"});
    let ranges = json!([{"start": 1, "end": 1}, {"start": 2, "end": 3}, {"start": 3, "end": 9}]);
    let read = |file: &str| json!({"file_path": file});
    let of_one_file = [
        text("four"),
        json!({"old_string": "two", "new_string": "x", "ranges": ranges}),
        text("e"),
        text("hre"),
        text("three"),
    ];
    check(
        "several_problems",
        set_up,
        &[],
        &[
            ("of one file", PATCH, json!({"files": [entry("$ROOT/a.txt", &of_one_file)]})),
            (
                "of several files",
                PATCH,
                json!({"files": [
                    entry("$ROOT/c.txt", &[text("fine")]),
                    entry("$ROOT/a.txt", &[text("four")]),
                    entry("$ROOT/b.txt", &[text("caf")]),
                    entry("$ROOT/missing.txt", &[text("x")]),
                    entry("../d.txt", &[text("x")]),
                ]}),
            ),
            (
                "of which none can be read",
                GET,
                json!({"files": [read("$ROOT/missing.txt"), read("$ROOT/b.txt"), read("t.txt")]}),
            ),
            (
                "one file with two hashes",
                PATCH,
                json!({"files": [
                    {"file_path": "$ROOT/a.txt", "file_hash": "$HASH(a.txt)", "patches": [text("one")]},
                    {"file_path": "$ROOT/a.txt", "file_hash": "0123456789ab", "encoding": "latin1", "patches": [text("two")]},
                ]}),
            ),
        ],
    );
}

/// How many of them are shown depends on the length of the root's path, which is a longer one on other systems.
#[cfg(target_os = "linux")]
#[test]
fn more_problems_than_there_is_room_for() {
    let texts: Vec<Value> =
        (0..200).map(|number| json!({"old_string": format!("line {number}"), "new_string": "x"})).collect();
    check(
        "more_problems_than_there_is_room_for",
        |world| world.write("a.txt", "one\ntwo\nthree\n"),
        &[],
        &[("more than there is room for", PATCH, patches("a.txt", &texts))],
    );
}

#[test]
fn arguments_that_mean_nothing() {
    let set_up = |world: &World| world.write("t.txt", "one\n");
    check(
        "arguments_that_mean_nothing",
        set_up,
        &[],
        &[
            ("nothing to read", GET, json!({})),
            ("nothing to patch", PATCH, patches("t.txt", &[])),
            ("a misspelled key, and a missing one", PATCH, patches("t.txt", &[json!({"old_sting": "one"})])),
            (
                "nothing that guards",
                PATCH,
                patches("t.txt", &[json!({"new_string": "x", "ranges": [{"start": 1}]})]),
            ),
            ("a lone carriage return", PATCH, by_text("t.txt", "one\rtwo", "x")),
            ("a NUL", CREATE, json!({"file_path": "$ROOT/new.txt", "contents": "a\0b"})),
            (
                "a hash that is too short",
                APPEND,
                json!({"file_path": "$ROOT/t.txt", "file_hash": "0123", "contents": "x"}),
            ),
            (
                "nothing to append",
                APPEND,
                json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "contents": ""}),
            ),
            (
                "after and before",
                INSERT,
                json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "contents": "x", "after": 1, "before": 1}),
            ),
            (
                "no ranges to delete",
                DELETE,
                json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "ranges": []}),
            ),
        ],
    );
}

#[test]
fn paths_that_are_protected() {
    let set_up = |world: &World| {
        world.write(".git/config", "[core]\n");
        world.write("t.txt", "text\n");
        world.write("vendor/lib.js", "text\n");
        world.write(".mcp.json", "{}\n");
    };
    let create = |file: &str| json!({"file_path": format!("$ROOT/{file}"), "contents": "x"});
    let line = |file: &str| json!({"file_path": format!("$ROOT/{file}"), "file_hash": format!("$HASH({file})"), "contents": "x"});
    check(
        "paths_that_are_protected",
        set_up,
        &["--protect", "vendor/", "--protect", "*.lock"],
        &[
            ("git's own", PATCH, by_text(".git/config", "[core]", "[core]\n\tsshCommand = x")),
            ("a hook", CREATE, create(".git/hooks/post-checkout")),
            ("a dry run", PATCH, {
                let mut call = by_text(".git/config", "[core]", "x");
                call["dry_run"] = json!(true);
                call
            }),
            ("what starts servers", APPEND, line(".mcp.json")),
            ("what starts servers, and is not there", CREATE, create(".vscode/mcp.json")),
            ("by the person's pattern", APPEND, line("vendor/lib.js")),
            ("by the person's pattern, and not there", PATCH, by_text("a/b.lock", "a", "b")),
            (
                "among others",
                PATCH,
                json!({"files": [
                    {"file_path": "$ROOT/t.txt", "patches": [{"old_string": "text", "new_string": "x"}]},
                    {"file_path": "$ROOT/.GIT/config", "patches": [{"old_string": "x", "new_string": "y"}]},
                    {"file_path": "$ROOT/missing", "patches": [{"old_string": "x", "new_string": "y"}]},
                ]}),
            ),
        ],
    );
}

#[test]
fn what_is_protected_can_be_read() {
    let world = World::new();
    world.write(".git/config", "[core]\n");
    let mut session = world.serve(&["--protect", "*"]);
    let reply = world.call(&mut session, GET, &json!({"file_path": "$ROOT/.git/config"}));
    assert!(reply.text.ends_with("\n1\t[core]\n"), "{}", reply.text);
}

#[test]
fn a_tool_that_is_switched_off() {
    let call = json!({"file_path": "$ROOT/t.txt", "contents": "x"});
    check("a_tool_that_is_switched_off", |_| {}, &["--read-only"], &[("create", CREATE, call)]);
}

/// Also that of what is switched off the arguments are not even looked at.
#[test]
fn of_what_is_not_offered_nothing_is_done() {
    let offers: [(&[&str], &[&str]); 3] = [
        (&["--read-only"], &[GET]),
        (&["--tools", "claude-code"], &[PATCH]),
        (&["--tools", "get_text_file_contents,create_text_file"], &[GET, CREATE]),
    ];
    for (options, offered) in offers {
        let world = World::new();
        world.write("t.txt", "text\n");
        let before = world.tree();
        let mut session = world.serve(options);
        let line =
            json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "contents": "x", "after": 0});
        let calls = [
            (PATCH, by_text("t.txt", "text", "x")),
            (CREATE, json!({"file_path": "$ROOT/new.txt", "contents": "x"})),
            (APPEND, line.clone()),
            (INSERT, line),
            (DELETE, json!({"nonsense": true})),
        ];
        for (tool, arguments) in calls.into_iter().filter(|(tool, _)| !offered.contains(tool)) {
            let reply = world.call(&mut session, tool, &arguments);
            assert_eq!(reply.code(), "tool_disabled", "{options:?} {tool}: {}", reply.text);
        }
        assert_eq!(world.tree(), before);
    }
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
            // The end, should nobody stop it, keeps a broken session from looking like a hang.
            for _ in (0..1 << 24).take_while(|_| !stop.load(Ordering::Relaxed)) {
                log.write_all(b".").unwrap();
            }
        });
        // A busy machine may keep the other thread from writing for as long as a call takes; then the call has an answer.
        let mut until_it_changes = |tool: &str, call: &Value| {
            let mut replies = (0..100).map(|_| world.call(&mut session, tool, call));
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

/// What no call by itself can bring about, and why.
const NOT_HERE: &[(Code, &str)] = &[
    (Code::Conflict, "another program has to be at work: `a_file_that_keeps_changing`"),
    (Code::Busy, "takes ten seconds: the store's tests hold a lock"),
    (Code::NoSpace, "needs a file system that is full"),
    (Code::Cancelled, "a withdrawn call is not answered: session.rs sees that it stops"),
    (Code::InternalError, "needs a defect: session.rs has a tool that panics"),
];

#[test]
#[expect(clippy::disallowed_methods, reason = "the snapshots are read as files")]
fn every_code_is_told() {
    let mut told = BTreeSet::new();
    let snapshots = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots");
    for entry in snapshots.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("it__errors__") {
            let text = std::fs::read_to_string(path).unwrap();
            let codes = text.lines().filter_map(|line| line.strip_prefix("error: ")?.split(':').next());
            told.extend(codes.map(str::to_owned));
        }
    }
    for code in Code::ALL {
        let excused = NOT_HERE.iter().any(|(excused, _)| excused == code);
        assert_ne!(told.contains(code.as_str()), excused, "{}", code.as_str());
    }
}
