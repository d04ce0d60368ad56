//! The replies of calls that succeed, word for word. The snapshots hold the calls, their replies in both
//! modes, and the bytes after an edit.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Entry, World};

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";
const CREATE: &str = "create_text_file";
const APPEND: &str = "append_text_file_contents";
const INSERT: &str = "insert_text_file_contents";
const DELETE: &str = "delete_text_file_contents";

/// A name, a tool, and its arguments.
type Call = (&'static str, &'static str, Value);

/// Makes calls that must succeed, one after the other, in a world for each mode. The snapshot `name` holds
/// the replies, and the files that changed.
#[track_caller]
pub(crate) fn check(name: &str, set_up: fn(&World), options: &[&str], calls: &[Call]) {
    let (said, told) = (World::new(), World::new());
    set_up(&said);
    set_up(&told);
    let mut text = said.serve(options);
    let mut json = told.serve(&[options, &["--output", "json"]].concat());
    let mut out = String::new();
    for (what, tool, arguments) in calls {
        let before = said.tree();
        let model = said.call(&mut text, tool, arguments);
        let program = told.call(&mut json, tool, arguments);
        assert!(!model.is_error && !program.is_error, "{what}: {}", model.text);
        assert_eq!(model.structured, None, "{what}");
        assert_eq!(program.structured, Some(serde_json::from_str(&program.raw).unwrap()), "{what}");
        let after = said.tree();
        assert_eq!(after, told.tree(), "{what}");
        let _ = writeln!(
            out,
            "## {what}\n{tool} {arguments}\n\n{}\n\n{}\n",
            model.text.trim_end_matches('\n'),
            program.text
        );
        for (name, entry) in after.iter().filter(|(name, entry)| before.get(*name) != Some(entry)) {
            assert!(tool != &GET && arguments["dry_run"] != true, "{what}");
            let Entry::File(bytes) = entry else { panic!("{name}: {entry:?}") };
            let _ = writeln!(out, "{name}: {}", bytes.escape_ascii());
        }
        out.push('\n');
    }
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, out) });
}

fn read(file: &str, ranges: &Value) -> Value {
    json!({"files": [{"file_path": format!("$ROOT/{file}"), "ranges": ranges}]})
}

/// Returns the arguments of patches of one file.
fn patches(file: &str, patches: &[Value]) -> Value {
    json!({"files": [{"file_path": format!("$ROOT/{file}"), "patches": patches}]})
}

fn guarded(file: &str, more: &Value) -> Value {
    let mut call = json!({"file_path": format!("$ROOT/{file}"), "file_hash": format!("$HASH({file})")});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

#[test]
fn reads() {
    let set_up = |world: &World| {
        world.write("app.rs", "fn main() {\n\tprintln!(\"hi\");\n}\n");
        world.write("empty.txt", "");
        world.write("open.txt", "one\r\ntwo");
        world.write("bom.txt", "\u{feff}één\r\ntwee\r\n");
        world.write("mixed.txt", "a\nb\r\nc\n");
        world.write("mac.txt", "a\rb\r");
        world.write("latin1.txt", b"caf\xe9\n");
    };
    check(
        "reads",
        set_up,
        &[],
        &[
            ("a whole file", GET, json!({"file_path": "$ROOT/app.rs"})),
            ("some lines", GET, json!({"file_path": "$ROOT/app.rs", "line_start": 2, "line_end": 2})),
            (
                "several ranges",
                GET,
                read("app.rs", &json!([{"start": 0, "end": 1}, {"start": -1}, {"start": 2, "end": 99}])),
            ),
            ("without line numbers", GET, json!({"file_path": "$ROOT/app.rs", "line_numbers": false})),
            ("behind the end", GET, read("app.rs", &json!([{"start": 4}, {"start": 9, "end": 12}]))),
            ("facts", GET, read("app.rs", &json!([]))),
            (
                "hashes without text",
                GET,
                json!({"text": false, "files": [
                    {"file_path": "$ROOT/app.rs", "ranges": [{"start": 1, "end": 2}, {"start": -1}, {"start": 9}]},
                    {"file_path": "$ROOT/bom.txt"},
                    {"file_path": "$ROOT/open.txt", "ranges": []},
                ]}),
            ),
            ("an empty file", GET, json!({"file_path": "$ROOT/empty.txt"})),
            ("facts of an empty file", GET, read("empty.txt", &json!([]))),
            ("no final newline", GET, json!({"file_path": "$ROOT/open.txt"})),
            ("no final newline, not at the end", GET, json!({"file_path": "$ROOT/open.txt", "line_end": 1})),
            (
                "no final newline, without line numbers",
                GET,
                json!({"file_path": "$ROOT/open.txt", "line_numbers": false}),
            ),
            ("a BOM", GET, json!({"file_path": "$ROOT/bom.txt"})),
            ("mixed line ends", GET, json!({"file_path": "$ROOT/mixed.txt"})),
            ("classic Mac line ends", GET, json!({"file_path": "$ROOT/mac.txt"})),
            ("another encoding", GET, json!({"file_path": "$ROOT/latin1.txt", "encoding": "ISO 8859-1"})),
            (
                "several files, one of which fails",
                GET,
                json!({"files": [
                    {"file_path": "$ROOT/app.rs", "ranges": [{"start": 1, "end": 1}]},
                    {"file_path": "$ROOT/missing.txt"},
                    {"file_path": "$ROOT/latin1.txt"},
                    {"file_path": "$ROOT/latin1.txt", "encoding": "cp1252"},
                    {"file_path": "$ROOT/empty.txt", "ranges": []},
                ]}),
            ),
        ],
    );
}

#[test]
fn reads_that_are_cut() {
    let set_up = |world: &World| {
        let lines: Vec<String> = (1..=20).map(|number| format!("line {number}\n")).collect();
        world.write("lines.txt", lines.concat());
        world.write("wide.txt", "short\n".to_owned() + &"0123456789".repeat(10) + "\nshort\n");
        world.write("accents.txt", "é".repeat(60));
    };
    let ranges = |file: &str, ranges: Value| read(file, &ranges);
    check(
        "reads_that_are_cut",
        set_up,
        &["--max-response-bytes", "60"],
        &[
            ("at a line's end", GET, json!({"file_path": "$ROOT/lines.txt"})),
            ("gone on with", GET, json!({"file_path": "$ROOT/lines.txt", "line_start": 7})),
            ("two ranges share", GET, ranges("lines.txt", json!([{"start": 1}, {"start": 11}]))),
            (
                "what one leaves the next uses",
                GET,
                ranges("lines.txt", json!([{"start": 1, "end": 1}, {"start": 11}])),
            ),
            ("before a line that is too long", GET, json!({"file_path": "$ROOT/wide.txt"})),
            ("inside a line", GET, json!({"file_path": "$ROOT/wide.txt", "line_start": 2})),
            ("inside a line, gone on with", GET, ranges("wide.txt", json!([{"start": 2, "from_char": 59}]))),
            (
                "behind the end of a line",
                GET,
                ranges("wide.txt", json!([{"start": 2, "end": 2, "from_char": 101}])),
            ),
            ("inside a line of two bytes a character", GET, json!({"file_path": "$ROOT/accents.txt"})),
            ("inside it, gone on with", GET, ranges("accents.txt", json!([{"start": 1, "from_char": 50}]))),
        ],
    );
}

#[test]
fn patches_are_told_with_their_regions() {
    let set_up = |world: &World| {
        world.write(
            "app.py",
            "def area(w, h):\n    return w * h\n\n\nprint(area(1, 2))\nprint(area(3, 4))  \n",
        );
        world.write("crlf.txt", "one\r\ntwo\r\nthree");
        world.write("notes.txt", "alpha beta alpha\nbeta\n");
        world.write("empty.txt", "");
    };
    let text = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
    let all = |old: &str, new: &str| json!({"old_string": old, "new_string": new, "replace_all": true});
    check(
        "patches",
        set_up,
        &[],
        &[
            ("by text", PATCH, patches("app.py", &[text("w * h", "w * h  # m²")])),
            (
                "by range",
                PATCH,
                patches(
                    "app.py",
                    &[
                        json!({"old_string": "    return w * h  # m²", "new_string": "    if w < 0:\n        raise ValueError\n    return w * h", "ranges": [{"start": 2, "end": 2}]}),
                    ],
                ),
            ),
            (
                "by digest",
                PATCH,
                patches(
                    "app.py",
                    &[
                        json!({"new_string": "\n", "ranges": [{"start": 5, "end": 6, "range_hash": "$RANGE(app.py,5,6)"}]}),
                    ],
                ),
            ),
            (
                "blanks at line ends forgiven",
                PATCH,
                patches("app.py", &[text("print(area(3, 4))\n", "print(area(5, 6))\n")]),
            ),
            (
                "deleting lines",
                PATCH,
                patches(
                    "app.py",
                    &[
                        json!({"old_string": "    if w < 0:\n        raise ValueError\n", "new_string": "", "ranges": [{"start": 2, "end": 3}]}),
                    ],
                ),
            ),
            (
                "several at once, in file order",
                PATCH,
                patches(
                    "app.py",
                    &[text("5, 6", "7, 8"), text("def area", "def surface"), text("area(1", "surface(1")],
                ),
            ),
            ("every occurrence", PATCH, patches("notes.txt", &[all("alpha", "A")])),
            ("nothing changes", PATCH, patches("notes.txt", &[text("beta\n", "beta\n")])),
            ("no final newline stays so", PATCH, patches("crlf.txt", &[text("three\n", "3\nfour\n")])),
            ("an empty file", PATCH, patches("empty.txt", &[text("", "first\nsecond\n")])),
            (
                "several files",
                PATCH,
                json!({"files": [
                    {"file_path": "$ROOT/notes.txt", "patches": [text("A beta A", "-")]},
                    {"file_path": "$ROOT/crlf.txt", "patches": [text("one", "1")]},
                    {"file_path": "$ROOT/notes.txt", "patches": [text("beta\n", "")]},
                ]}),
            ),
        ],
    );
}

#[test]
fn a_model_is_shown_few_regions_of_many() {
    let set_up = |world: &World| {
        world.write("many.txt", "word\n".repeat(12));
        for name in ["a", "b", "c"] {
            world.write(name, "word\n".repeat(4));
        }
    };
    let all = |file: &str, old: &str, new: &str| json!({"file_path": format!("$ROOT/{file}"), "patches": [{"old_string": old, "new_string": new, "replace_all": true}]});
    let three = ["b", "c", "a"].map(|file| all(file, "word", "many"));
    check(
        "few_regions",
        set_up,
        &["--no-history"],
        &[
            ("one file", PATCH, json!({"files": [all("many.txt", "word", "words")]})),
            (
                "two files",
                PATCH,
                json!({"files": [all("many.txt", "words", "word"), all("a", "word", "words\nword")]}),
            ),
            ("three files", PATCH, json!({"files": three})),
        ],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any ranges, encoding and line ends, a read without text has the headers of a read with text.
    #[test]
    fn hashes_without_text_are_those_of_a_whole_read(
        lines in prop::collection::vec(("[aé ]{0,3}", prop::sample::select(vec!["\n", "\r\n", "\r", ""])), 0..6),
        encoding in prop::sample::select(vec!["utf-8", "utf-8-sig", "utf-16", "latin1"]),
        ranges in prop::option::of(prop::collection::vec((-9..9_i64, prop::option::of(1..9_i64)), 0..4)),
    ) {
        let world = World::new();
        let text: String = lines.into_iter().map(|(line, end)| line + end).collect();
        let mut session = world.serve(&[]);
        let file = json!({"file_path": "$ROOT/f.txt", "contents": text, "encoding": encoding});
        prop_assume!(!world.call(&mut session, CREATE, &file).is_error);
        let ranges = ranges.map(|ranges| ranges.iter().map(|(start, end)| json!({"start": start, "end": end})).collect::<Vec<_>>());
        let mut call = json!({"files": [{"file_path": "$ROOT/f.txt", "ranges": ranges, "encoding": encoding}]});
        let whole = world.call(&mut session, GET, &call);
        call["text"] = false.into();
        let bare = world.call(&mut session, GET, &call);
        let heads = |text: &str| text.lines().filter(|line| line.contains(" file_hash ")).map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!((bare.is_error, heads(&bare.text)), (whole.is_error, heads(&whole.text)));
        prop_assert!(bare.is_error || bare.text.lines().all(|line| line.is_empty() || line.contains(" file_hash ")), "{}", bare.text);
    }
}

#[test]
fn indentation_that_is_there_twice() {
    let set_up = |world: &World| world.write("t.py", "def f():\n    one()\n\ttwo()\n    one()\n");
    let patch = |old: &str, new: &str, all: bool| {
        patches("t.py", &[json!({"old_string": old, "new_string": new, "replace_all": all})])
    };
    let dry = |mut call: Value| {
        call["dry_run"] = json!(true);
        call
    };
    check(
        "indentation_that_is_there_twice",
        set_up,
        &["--no-history"],
        &[
            ("shown first", PATCH, dry(patch("one()\n\ttwo()", "    one()\n\tzwei()", false))),
            ("a line", PATCH, patch("two()", " \ttwo(2)", false)),
            ("every line", PATCH, patch("one()", "\tone(1)", true)),
            ("the blanks are in both texts", PATCH, patch(" \ttwo(2)", " \ttwo(3)", false)),
        ],
    );
}

#[test]
fn dry_runs() {
    let set_up = |world: &World| {
        let lines: Vec<String> = (1..=12).map(|number| format!("line {number}\n")).collect();
        world.write("lines.txt", lines.concat());
        world.write("open.txt", "one\ntwo");
    };
    let dry = |mut call: Value| {
        call["dry_run"] = true.into();
        call
    };
    check(
        "dry_runs",
        set_up,
        &[],
        &[
            (
                "patch",
                PATCH,
                dry(patches(
                    "lines.txt",
                    &[
                        json!({"old_string": "line 2\n", "new_string": "second\n"}),
                        json!({"old_string": "line 12\n", "new_string": ""}),
                    ],
                )),
            ),
            (
                "patch that changes nothing",
                PATCH,
                dry(patches("lines.txt", &[json!({"old_string": "line 2\n", "new_string": "line 2\n"})])),
            ),
            (
                "patch of two files",
                PATCH,
                json!({"dry_run": true, "files": [
                    {"file_path": "$ROOT/lines.txt", "patches": [{"old_string": "line 7", "new_string": "seven"}]},
                    {"file_path": "$ROOT/open.txt", "patches": [{"old_string": "one", "new_string": "1"}]},
                ]}),
            ),
            ("append", APPEND, dry(guarded("open.txt", &json!({"contents": "three"})))),
            ("insert", INSERT, dry(guarded("lines.txt", &json!({"contents": "new", "after": 6})))),
            (
                "delete",
                DELETE,
                dry(guarded(
                    "lines.txt",
                    &json!({"ranges": [{"start": 1, "end": 1, "range_hash": "$RANGE(lines.txt,1,1)"}]}),
                )),
            ),
            (
                "create",
                CREATE,
                json!({"file_path": "$ROOT/a/new.txt", "contents": "one\ntwo", "dry_run": true}),
            ),
        ],
    );
}

#[test]
fn other_edits() {
    let set_up = |world: &World| {
        world.write("t.txt", "one\ntwo\n");
        world.write("open.txt", "one\r\ntwo");
        world.write("empty.txt", "");
    };
    let range = |start: u32, end: u32| json!({"start": start, "end": end, "range_hash": format!("$RANGE(t.txt,{start},{end})")});
    check(
        "other_edits",
        set_up,
        &[],
        &[
            ("create", CREATE, json!({"file_path": "$ROOT/a/b/new.txt", "contents": "one\r\ntwo"})),
            ("create an empty file", CREATE, json!({"file_path": "$ROOT/nothing.txt", "contents": ""})),
            (
                "create with a BOM",
                CREATE,
                json!({"file_path": "$ROOT/wide.txt", "contents": "é\n", "encoding": "utf-16"}),
            ),
            ("append", APPEND, guarded("t.txt", &json!({"contents": "three\nfour"}))),
            (
                "append where the final newline is missing",
                APPEND,
                guarded("open.txt", &json!({"contents": "three"})),
            ),
            ("append to an empty file", APPEND, guarded("empty.txt", &json!({"contents": "first"}))),
            ("insert at the top", INSERT, guarded("t.txt", &json!({"contents": "zero", "before": 1}))),
            (
                "insert in the middle",
                INSERT,
                guarded("t.txt", &json!({"contents": "one and a half\n", "after": 2})),
            ),
            ("insert at the end", INSERT, guarded("t.txt", &json!({"contents": "five\n\n", "after": 6}))),
            ("delete", DELETE, guarded("t.txt", &json!({"ranges": [range(7, 8), range(1, 1), range(3, 3)]}))),
            (
                "delete all",
                DELETE,
                guarded("t.txt", &json!({"ranges": [{"start": 1, "range_hash": "$HASH(t.txt)"}]})),
            ),
        ],
    );
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "the other name of the file is looked at, too")]
fn a_file_of_several_names_is_edited_in_place() {
    let world = World::new();
    world.write("one.txt", "one\n");
    std::fs::hard_link(world.path("one.txt"), world.path("other.txt")).unwrap();
    let mut session = world.serve(&[]);
    let reply = world.call(
        &mut session,
        PATCH,
        &patches("one.txt", &[json!({"old_string": "one", "new_string": "1"})]),
    );
    assert_eq!(std::fs::read_to_string(world.path("other.txt")).unwrap(), "1\n");
    insta::assert_snapshot!(reply.text, @r#"{"result":"ok","edit_id":"$EDIT","files":[{"file_path":"$ROOT/one.txt","file_hash":"4355a46b19d348dc","total_lines":1,"regions":[{"start":1,"end":1,"range_hash":"4355a46b19d348dc","replaced":{"start":1,"end":1}}],"warnings":["the file has several hard links, so it was edited in place: its other names show the new content, too, and another program's write in the last instant could have been lost"]}]}"#);
}
