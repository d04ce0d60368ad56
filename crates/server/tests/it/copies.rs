//! Lines that are copied and moved within a file, and to others.
#![expect(clippy::disallowed_methods, reason = "a test looks at its files without the server")]

use mcp_text_editor_core::digest::Digest;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::session::Session;
use crate::world::World;

const COPY: &str = "copy_text_lines";

fn done(world: &World, session: &mut Session, tool: &str, arguments: &Value) -> Value {
    let reply = world.call(session, tool, arguments);
    assert!(!reply.is_error, "{}", reply.text);
    serde_json::from_str(&reply.raw).unwrap()
}

fn lines(file: &str, start: u32, end: u32) -> Value {
    let range_hash = format!("$RANGE({file},{start},{end})");
    json!({"from": format!("$ROOT/{file}"), "start": start, "end": end, "range_hash": range_hash, "move": true})
}

fn with(call: Value, more: Value) -> Value {
    let (Value::Object(mut call), Value::Object(more)) = (call, more) else { panic!("no objects") };
    call.extend(more);
    Value::Object(call)
}

#[test]
fn lines_go_where_they_are_sent() {
    let world = World::new();
    world.write("a.txt", "one\ntwo\nthree\n");
    world.write("b.txt", "B\r\n");
    let mut session = world.serve(&["--tools", "all"]);
    let read = |name: &str| String::from_utf8(std::fs::read(world.path(name)).unwrap()).unwrap();
    let before = world.tree();
    let to_b = json!({"to": "$ROOT/b.txt", "file_hash": "$HASH(b.txt)", "before": 1});
    let copies = json!({"copies": [
        with(lines("a.txt", 3, 3), json!({"to": "$ROOT/x/c.txt"})),
        with(lines("a.txt", 1, 1), json!({"to": "$ROOT/x/c.txt", "after": 0})),
        with(lines("a.txt", 2, 2), to_b),
        with(lines("b.txt", 1, 1), json!({"to": "$ROOT/a.txt", "file_hash": "$HASH(a.txt)", "after": 3})),
    ]});
    let planned = done(&world, &mut session, COPY, &with(copies.clone(), json!({"dry_run": true})));
    assert_eq!((planned["result"].as_str(), world.tree()), (Some("dry_run"), before.clone()));
    let moved = done(&world, &mut session, COPY, &copies);
    assert_eq!([read("a.txt"), read("b.txt"), read("x/c.txt")], ["B\n", "two\r\n", "three\none\n"]);
    assert!(!moved.to_string().contains("two"), "{moved}");
    let mut edit = moved;
    let after = world.tree();
    for expected in [&before, &after] {
        let arguments = json!({"edit_id": edit["edit_id"]});
        edit = done(&world, &mut session, "undo_text_file_edits", &arguments);
        assert_eq!(&world.tree(), expected);
    }
    // A file that is named by a link is the same file.
    #[cfg(unix)]
    {
        world.link("link.txt", "x/c.txt");
        done(
            &world,
            &mut session,
            COPY,
            &with(lines("link.txt", 1, 1), json!({"to": "$ROOT/x/c.txt", "after": 2})),
        );
        assert_eq!(read("x/c.txt"), "one\nthree\n");
    }
    // Where it stands, and before an equal line, it changes nothing.
    world.write("a.txt", "one\none\n");
    for after in [0, 1, 2] {
        let same = done(&world, &mut session, COPY, &with(lines("a.txt", 1, 1), json!({"after": after})));
        assert!(same.to_string().contains("\"unchanged\"") && same.get("edit_id").is_none(), "{same}");
    }
}

/// Only so much text of other files is in memory at once.
#[test]
fn text_for_other_files_is_bounded() {
    let world = World::new();
    world.write("a.txt", "0123456789\n".repeat(10));
    world.write("b.txt", "B\n");
    let mut session = world.serve(&["--limit", "text-bytes=100", "--limit", "inserted-bytes=60"]);
    let to_b = |start, end| {
        with(
            lines("a.txt", start, end),
            json!({"to": "$ROOT/b.txt", "file_hash": "$HASH(b.txt)", "after": 1}),
        )
    };
    let before = world.tree();
    for (copies, said) in [
        (
            json!({"copies": [to_b(1, 5), to_b(6, 10)]}),
            "the call has 110 bytes of text, and the limit `text-bytes` is 100 bytes",
        ),
        (
            json!({"copies": [to_b(1, 3), to_b(4, 6)]}),
            "66 bytes of new text into this file, and the limit `inserted-bytes` is 60 bytes",
        ),
        (
            with(lines("a.txt", 1, 6), json!({"after": 10})),
            "66 bytes of new text into this file, and the limit `inserted-bytes` is 60 bytes",
        ),
    ] {
        let reply = world.call(&mut session, COPY, &copies);
        assert!(reply.code() == "too_large" && reply.text.contains(said), "{}", reply.text);
        assert_eq!(world.tree(), before);
    }
    done(&world, &mut session, COPY, &json!({"copies": [to_b(1, 2), to_b(3, 5)]}));
}

type Line = (String, &'static str);

fn file() -> impl Strategy<Value = Vec<Line>> {
    let ending = prop_oneof![Just(vec!["\n"]), Just(vec!["\r\n"]), Just(vec!["\n", "\r\n"])];
    ending.prop_flat_map(|endings| {
        let line = ("[abあ]{0,3}", prop::sample::select(endings));
        (prop::collection::vec(line, 0..6), any::<bool>()).prop_map(|(mut lines, is_open)| {
            if let Some(last) = lines.last_mut().filter(|last| is_open && !last.0.is_empty()) {
                last.1 = "";
            }
            lines
        })
    })
}

fn join(lines: &[Line]) -> String {
    lines.iter().flat_map(|(text, ending)| [text.as_str(), ending]).collect()
}

/// Returns the line end for lines that come between these.
fn ending(above: &[Line], below: &[Line]) -> &'static str {
    above.iter().rev().chain(below).map(|line| line.1).find(|ending| !ending.is_empty()).unwrap_or("\n")
}

fn ended(lines: &[Line], end: &'static str) -> Vec<Line> {
    lines.iter().map(|(text, own)| (text.clone(), if own.is_empty() { end } else { *own })).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A file is a list of lines, and some go to another list.
    #[test]
    fn lines_of_files_of_any_encoding_and_line_ends_are_copied(
        (from, to) in (file().prop_filter("has lines", |lines| !lines.is_empty()), prop::option::of(file())),
        [at, count, place] in any::<[prop::sample::Index; 3]>(),
        encodings in [prop::sample::select(&["utf-8", "shift_jis", "utf-16-le"][..]), prop::sample::select(&["utf-8", "shift_jis", "utf-16-le"][..])],
        is_move: bool,
    ) {
        let bytes = |text: &str, label: &str| match label {
            "utf-16-le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "shift_jis" => text.replace('あ', "\u{1}").bytes().flat_map(|byte| if byte == 1 { vec![0x82, 0xA0] } else { vec![byte] }).collect(),
            _ => text.as_bytes().to_vec(),
        };
        let world = World::new();
        world.write("a.txt", bytes(&join(&from), encodings[0]));
        let at = at.index(from.len());
        let end = at + 1 + count.index(from.len() - at);
        let block = bytes(&join(&from[at..end]), encodings[0]);
        let range_hash = Digest::of(&block).to_string();
        let mut call = json!({
            "from": "$ROOT/a.txt", "start": at + 1, "end": end, "range_hash": range_hash, "to": "$ROOT/b.txt", "move": is_move,
            "encoding": encodings[0], "to_encoding": encodings[1],
        });
        let block = &from[at..end];
        let expected = if let Some(to) = &to {
            world.write("b.txt", bytes(&join(to), encodings[1]));
            let place = place.index(to.len() + 1);
            call = with(call, json!({"file_hash": "$HASH(b.txt)", "after": place}));
            let (above, below) = to.split_at(place);
            let end = ending(above, below);
            let above = if below.is_empty() { ended(above, end) } else { above.to_vec() };
            let block: Vec<Line> = block.iter().map(|line| (line.0.clone(), end)).collect();
            let mut all = [above, block, below.to_vec()].concat();
            if below.is_empty() && to.last().is_some_and(|last| last.1.is_empty()) {
                all.last_mut().unwrap().1 = "";
            }
            all
        } else {
            ended(block, ending(&from[..end], &[]))
        };
        let mut session = world.serve(&[]);
        done(&world, &mut session, COPY, &call);
        let read = |name: &str| std::fs::read(world.path(name)).unwrap();
        let kept = if is_move { [&from[..at], &from[end..]].concat() } else { from.clone() };
        prop_assert_eq!(read("a.txt"), bytes(&join(&kept), encodings[0]));
        prop_assert_eq!(read("b.txt"), bytes(&join(&expected), encodings[1]));
    }
}
