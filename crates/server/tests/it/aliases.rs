//! Calls in the words of other tools: arguments that can mean one thing are taken, and other names refused
//! with one sentence on all of them.

use std::fmt::Write as _;

use mcp_text_editor::arguments::{Fields, Notes};
use mcp_text_editor::limits::Limits;
use mcp_text_editor::tools::{Tool, one_file, patch, read};
use serde_json::{Map, Value, json};

use crate::world::World;

const HASH: &str = "0123456789ABCDEF";

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Checks that the first of each two calls is taken as the second.
#[track_caller]
fn same<R: PartialEq + std::fmt::Debug>(
    tool: &Tool,
    read: fn(&mut Fields<'_>) -> Option<R>,
    calls: &[(Value, Value)],
) {
    let limits = Limits::default();
    for (call, meant) in calls {
        let read = |call| {
            let request = tool.parse(read, map(call), Notes::new(&limits));
            request.unwrap_or_else(|error| panic!("{call}: {error:?}"))
        };
        assert_eq!(read(call), read(meant), "{call}");
    }
}

#[test]
fn what_means_one_thing_is_taken() {
    let (text, hash) =
        (json!({"old_string": "x", "new_string": "y"}), json!({"range_hash": HASH, "new_string": "y"}));
    let with = |part: &Value, more: Value| Value::Object(map(part).into_iter().chain(map(&more)).collect());
    let one = |patch: Value| json!({"files": [{"file_path": "/a", "patches": [patch]}]});
    let range = json!([{"start": 3, "end": 4}]);
    let hashed = json!({"new_string": "y", "ranges": [{"start": 3, "end": 4, "range_hash": HASH}]});
    same(
        &patch::TOOL,
        patch::request,
        &[
            // What stands beside `files` holds for each of them, or for the only one.
            (
                with(&one(text.clone()), json!({"replace_all": true, "encoding": "gbk", "file_hash": HASH})),
                json!({"files": [{"file_path": "/a", "encoding": "gbk", "file_hash": HASH, "patches": [with(&text, json!({"replace_all": true}))]}]}),
            ),
            (
                with(&one(with(&text, json!({"ranges": range}))), json!({"replace_all": true})),
                one(with(&text, json!({"ranges": range}))),
            ),
            // A list with one item may be that item, and what it holds.
            (
                one(with(&text, json!({"ranges": {"start": 3, "end": 4}}))),
                one(with(&text, json!({"ranges": range}))),
            ),
            (one(with(&text, json!({"ranges": [[3, 4]]}))), one(with(&text, json!({"ranges": range})))),
            (one(with(&hash, json!({"start": 3, "end": 4}))), one(hashed.clone())),
            (with(&hash, json!({"file_path": "/a", "start": 3, "end": 4})), one(hashed.clone())),
            (json!({"files": {"file_path": "/a", "patches": text}}), one(text.clone())),
            (json!({"files": [with(&text, json!({"file_path": "/a"}))]}), one(text.clone())),
            // A hash with its label, or in the header that it was read from.
            (
                one(with(
                    &hashed,
                    json!({"ranges": {"start": 3, "end": 4, "range_hash": format!("range_hash: {HASH}")}}),
                )),
                one(hashed.clone()),
            ),
            (
                one(with(
                    &hash,
                    json!({"start": 3, "end": 4, "range_hash": format!("[/a lines 3-4 of 9 file_hash aaaaaaaaaaaaaaaa range_hash {HASH}]")}),
                )),
                one(hashed),
            ),
        ],
    );
    let lines = |lines: Value| with(&json!({"file_path": "/a"}), lines);
    same(
        &read::TOOL,
        read::request,
        &[
            (lines(json!({"line_start": 5, "line_end": 0})), lines(json!({"line_start": 5}))),
            (
                lines(json!({"ranges": [{"start": 3, "end": 4}]})),
                lines(json!({"line_start": 3, "line_end": 4})),
            ),
            (json!({"files": [lines(json!({"line_start": 3}))]}), lines(json!({"line_start": 3}))),
            (
                json!({"files": [lines(json!({"ranges": {"start": 3, "end": 0}}))]}),
                lines(json!({"line_start": 3})),
            ),
        ],
    );
    let file = json!({"file_path": "/a", "file_hash": HASH});
    let labeled =
        json!({"file_path": "/a", "file_hash": format!("sha256:{HASH}"), "start": 3, "range_hash": HASH});
    same(
        &one_file::DELETE,
        one_file::delete,
        &[(labeled, with(&file, json!({"ranges": [{"start": 3, "range_hash": HASH}]})))],
    );
    let insert = with(&file, json!({"contents": "x", "after": 3}));
    same(&one_file::INSERT, one_file::insert, &[(with(&insert, json!({"before": 0})), insert)]);
}

/// Nothing is taken that could mean two things.
#[test]
fn what_means_two_things_is_refused() {
    let one = json!({"old_string": "x", "new_string": "y"});
    let file = |path: &str| json!({"file_path": path, "patches": [one]});
    for call in [
        json!({"file_hash": HASH, "files": [file("/a"), file("/b")]}),
        json!({"file_path": "/a", "ranges": [3, 4], "old_string": "x", "new_string": "y"}),
        json!({"file_path": "/a", "start": 3, "end": 4, "new_string": "y"}),
        json!({"file_path": "/a", "old_string": "x", "new_string": "y", "ranges": [{"start": 3, "range_hash": format!("file_hash {HASH}")}]}),
    ] {
        patch::TOOL.parse(patch::request, map(&call), Notes::new(&Limits::default())).unwrap_err();
    }
}

#[test]
fn other_names_are_told_in_one_sentence() {
    let world = World::new();
    world.write("t.txt", "x\n");
    let mut session = world.serve(&["--tools", "all"]);
    let mut out = String::new();
    let t = "$ROOT/t.txt";
    for (tool, call) in [
        (
            "patch_text_file_contents",
            json!({"path": t, "edits": [{"oldText": "x", "newText": "y"}, {"oldText": "z", "newText": ""}]}),
        ),
        (
            "patch_text_file_contents",
            json!({"command": "str_replace", "path": t, "old_str": "x", "new_str": "y"}),
        ),
        ("patch_text_file_contents", json!({"file_path": t, "diff": "@@\n-x\n+y\n"})),
        ("patch_text_file_contents", json!({"path": "no.txt", "old_sting": 5, "new_string": "y", "odd": 1})),
        ("get_text_file_contents", json!({"path": t, "offset": 5, "limit": 3})),
        ("create_text_file", json!({"path": t, "content": "x"})),
        (
            "insert_text_file_contents",
            json!({"path": t, "insert_line": 0, "new_str": "y", "file_hash": HASH}),
        ),
        ("search_text_files", json!({"query": "x", "path": "$ROOT", "case_sensitive": false})),
        ("undo_text_file_edits", json!({"path": t})),
    ] {
        let reply = world.call(&mut session, tool, &call);
        assert!(reply.is_error, "{}", reply.text);
        let _ = writeln!(out, "{call}\n{}\n", reply.text);
    }
    insta::assert_snapshot!(out);
}
