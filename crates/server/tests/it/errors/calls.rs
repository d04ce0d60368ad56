//! Errors of calls without meaning, of calls with several problems, and of tools that are not offered.

use serde_json::{Value, json};

use super::{
    APPEND, CREATE, DELETE, EDITS, GET, INSERT, PATCH, UNDO, by_text, check, names_what_is_offered, patches,
};
use crate::world::World;

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

/// All faults in a call's arguments are told at once, those of paths and encodings among them.
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

/// The number of problems that are shown depends on the length of the root's path, which is longer on other
/// systems.
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
fn a_tool_that_is_switched_off() {
    let call = json!({"file_path": "$ROOT/t.txt", "contents": "x"});
    check("a_tool_that_is_switched_off", |_| {}, &["--read-only"], &[("create", CREATE, call)]);
}

/// The arguments of a tool that is switched off are not read at all.
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
