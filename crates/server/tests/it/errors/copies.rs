//! Errors of lines that are copied or moved.

use serde_json::{Value, json};

use super::{COPY, check};
use crate::world::World;

#[test]
fn at_most_a_hundred_copies_go_together() {
    let world = World::new();
    world.write("a.txt", "one\ntwo\n");
    let mut session = world.serve(&[]);
    let one =
        json!({"from": "$ROOT/a.txt", "start": 1, "end": 1, "range_hash": "$RANGE(a.txt,1,1)", "after": 2});
    let reply = world.call(&mut session, COPY, &json!({"copies": vec![one.clone(); 101]}));
    assert_eq!(reply.code(), "too_large", "{}", reply.text);
    let done = world.call(&mut session, COPY, &json!({"copies": vec![one; 100]}));
    assert!(!done.is_error && done.text.contains("\"total_lines\":102"), "{}", done.text);
}

#[test]
fn one_file_has_one_hash() {
    let world = World::new();
    world.write("a.txt", "one\ntwo\n");
    let mut session = world.serve(&[]);
    let copy = |hash: &str| json!({"from": "$ROOT/a.txt", "start": 1, "end": 1, "range_hash": "$RANGE(a.txt,1,1)", "after": 2, "file_hash": hash});
    let copies = json!({"copies": [copy("$HASH(a.txt)"), copy("0123456789ab")]});
    let reply = world.call(&mut session, COPY, &copies);
    let expected = "invalid_arguments: copies[1]: `file_hash` differs from that of another copy to this file";
    assert!(reply.text.contains(expected), "{}", reply.text);
}

#[test]
fn copies_and_moves_that_do_not_fit() {
    let set_up = |world: &World| {
        world.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
        world.write("b.txt", "b\n");
        world.write("jis.txt", [&b"\x82\xa0\n"[..], b"x\n"].concat());
        world.write("new.txt", "smile \u{1f600}\n");
        world.write(".git/config", "x\n");
    };
    let lines = |start: u32, end: u32| json!({"from": "$ROOT/a.txt", "start": start, "end": end, "range_hash": format!("$RANGE(a.txt,{start},{end})")});
    let with = |mut call: Value, more: Value| {
        let more = more.as_object().unwrap().clone();
        call.as_object_mut().unwrap().extend(more);
        call
    };
    let to_b = json!({"to": "$ROOT/b.txt", "file_hash": "$HASH(b.txt)", "after": 1, "move": true});
    let unlike = |lines: Value| with(lines, json!({"range_hash": "$RANGE(a.txt,4,5)"}));
    let copies = |copies: &[Value]| json!({"copies": copies});
    let moved = |start, end, after: u32| with(lines(start, end), json!({"after": after, "move": true}));
    check(
        "copies_and_moves_that_do_not_fit",
        set_up,
        &[],
        &[
            ("into itself", COPY, moved(1, 3, 2)),
            ("a copy into itself", COPY, with(lines(1, 3), json!({"before": 2}))),
            ("into another block", COPY, copies(&[moved(1, 3, 5), moved(4, 4, 2)])),
            ("one line twice", COPY, copies(&[moved(1, 3, 5), moved(3, 4, 5)])),
            ("the hash of another range", COPY, with(unlike(lines(1, 2)), json!({"after": 3, "move": true}))),
            ("the hash of another range, to another file", COPY, with(unlike(lines(1, 2)), to_b.clone())),
            (
                "of several, the hash of another range",
                COPY,
                copies(&[moved(1, 1, 2), with(unlike(lines(1, 2)), to_b.clone())]),
            ),
            ("lines that are not there", COPY, with(lines(1, 2), json!({"end": 9, "after": 0}))),
            ("a place that is not there", COPY, with(lines(1, 2), json!({"after": 6}))),
            (
                "a place that is not there, in another file",
                COPY,
                with(with(lines(1, 2), to_b.clone()), json!({"after": 2})),
            ),
            (
                "another file of another hash",
                COPY,
                with(with(lines(1, 2), to_b.clone()), json!({"file_hash": "0123456789ab"})),
            ),
            ("a file that is there", COPY, with(lines(1, 2), json!({"to": "$ROOT/b.txt"}))),
            ("a line of a new file", COPY, with(lines(1, 2), json!({"to": "$ROOT/c.txt", "after": 3}))),
            (
                "a file that is not there",
                COPY,
                with(with(lines(1, 2), to_b.clone()), json!({"to": "$ROOT/c.txt"})),
            ),
            (
                "lines of a file that is not there",
                COPY,
                with(with(lines(1, 2), to_b.clone()), json!({"from": "$ROOT/c.txt"})),
            ),
            (
                "a character that the target lacks",
                COPY,
                json!({
                    "from": "$ROOT/new.txt", "start": 1, "range_hash": "$RANGE(new.txt,1,1)", "move": true,
                    "to": "$ROOT/jis.txt", "file_hash": "$HASH(jis.txt)", "after": 0, "to_encoding": "shift_jis",
                }),
            ),
            (
                "a protected file",
                COPY,
                with(
                    lines(1, 2),
                    json!({"to": "$ROOT/.git/config", "file_hash": "$HASH(.git/config)", "after": 0}),
                ),
            ),
            ("outside", COPY, with(lines(1, 2), json!({"to": "$ROOT/../b.txt"}))),
            ("from outside", COPY, with(with(lines(1, 2), to_b), json!({"from": "$ROOT/../a.txt"}))),
            (
                "two files of one call, each with the other's lines, without hashes",
                COPY,
                copies(&[
                    with(lines(1, 1), json!({"to": "$ROOT/b.txt"})),
                    json!({
                        "from": "$ROOT/b.txt", "start": 1, "range_hash": "$RANGE(b.txt,1,1)",
                        "to": "$ROOT/a.txt", "file_hash": "$HASH(a.txt)", "after": 0,
                    }),
                ]),
            ),
            (
                "several problems",
                COPY,
                json!({"from": "a.txt", "start": 3, "end": 2, "after": 1, "before": 1}),
            ),
            ("nowhere", COPY, lines(1, 2)),
            ("in both forms", COPY, with(moved(1, 1, 2), json!({"copies": [lines(1, 2)]}))),
        ],
    );
}
