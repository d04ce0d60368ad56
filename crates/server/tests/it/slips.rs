//! Slips of real models, rebuilt with files of our own (`slips.jsonl`), and what becomes of each.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::session::Session;
use crate::world::{Entry, World};

const FILE: &str = "f.txt";

/// Returns the text of a file of the world.
fn text(world: &World, path: &str) -> String {
    match world.tree().remove(path) {
        Some(Entry::File(bytes)) => String::from_utf8(bytes).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Makes the calls of a slip after a read and another program's change. Returns what becomes of it: the right
/// bytes, a refusal, wrong bytes with a warning, or without one.
fn verdict(world: &World, session: &mut Session, slip: &Value) -> &'static str {
    let path = json!({"file_path": format!("$ROOT/{FILE}")});
    world.write(FILE, slip["file"].as_str().unwrap());
    world.call(session, "get_text_file_contents", &path);
    // Digests are those of the read.
    let calls = world.filled(&slip["calls"]);
    if let [from, to] = slip["meanwhile"].as_array().map(Vec::as_slice).unwrap_or_default() {
        world.write(FILE, text(world, FILE).replace(from.as_str().unwrap(), to.as_str().unwrap()));
    }
    let (mut is_warned, mut is_refused, mut hint) = (false, false, String::new());
    for call in calls.as_array().unwrap() {
        let tool = match call[0].as_str().unwrap() {
            "create" => "create_text_file".to_owned(),
            name => format!("{name}_text_file_contents"),
        };
        let arguments = serde_json::from_str(&call[1].to_string().replace("@HINT", &hint)).unwrap();
        let reply = world.call(session, &tool, &arguments);
        is_refused = reply.is_error;
        is_warned |= reply.raw.starts_with(r#"{"warnings":["#);
        if let Some((_, rest)) = reply.raw.rsplit_once(r#""range_hash":""#) {
            rest.split('"').next().unwrap_or_default().clone_into(&mut hint);
        }
    }
    if text(world, FILE) == slip["wanted"] {
        "right"
    } else if is_refused {
        "refused"
    } else if is_warned {
        "warned"
    } else {
        "wrong"
    }
}

#[test]
fn a_slip_is_refused_or_warned_of_or_does_what_was_meant() {
    let mut table = String::new();
    for line in include_str!("slips.jsonl").lines() {
        let slip: Value = serde_json::from_str(line).unwrap();
        let world = World::new();
        let verdict = verdict(&world, &mut world.serve(&[]), &slip);
        let _ = writeln!(table, "{verdict:8} {}", slip["kind"].as_str().unwrap());
    }
    insta::assert_snapshot!("slips", table);
}

#[test]
fn warnings_of_texts_stand_first() {
    let world = World::new();
    world.write("a.txt", "one\ntwo\n");
    world.write("b.txt", "one\ntwo\n");
    let mut session = world.serve(&["--no-history"]);
    let patch = |path: &str| json!({"file_path": format!("$ROOT/{path}"), "patches": [{"old_string": "one\n", "new_string": "1"}]});
    let mut call = |files: Value| {
        let reply =
            world.call(&mut session, "patch_text_file_contents", &json!({"files": files, "dry_run": true}));
        reply.text.split_once(r#","result":"#).unwrap().0.to_owned()
    };
    let joined = "joined: old_string ended in a line end and new_string does not, so line 1 goes on with the line that followed";
    assert_eq!(call(json!([patch("a.txt")])), format!(r#"{{"warnings":["{joined}"]"#));
    assert_eq!(
        call(json!([patch("a.txt"), patch("b.txt")])),
        format!(r#"{{"warnings":["$ROOT/a.txt: {joined}","$ROOT/b.txt: {joined}"]"#)
    );
}

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";

/// A session after a read of a file, and what another program makes of the file.
struct Meanwhile {
    world: World,
    session: Session,
}

impl Meanwhile {
    fn new(options: &[&str], is_read: bool) -> Self {
        let world = World::new();
        world.write(FILE, "oak\nelm\nfir\nash\nyew\n");
        let session = world.serve(&[options, &["--no-history"]].concat());
        let mut meanwhile = Self { world, session };
        if is_read {
            meanwhile.call(GET, &json!({}));
        }
        meanwhile
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> crate::world::Reply {
        let mut call = json!({"file_path": format!("$ROOT/{FILE}")});
        call.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        if call["paths"].is_array() {
            call.as_object_mut().unwrap().remove("file_path");
        }
        self.world.call(&mut self.session, tool, &call)
    }

    fn change(&self, from: &str, to: &str) {
        self.world.write(FILE, text(&self.world, FILE).replace(from, to));
    }

    /// Replaces a text, and returns the warnings about texts, or the code of the error.
    fn patch(&mut self, old: &str, new: &str, more: &Value) -> String {
        let mut call = json!({"old_string": old, "new_string": new});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let reply = self.call(PATCH, &call);
        let warnings = reply.text.split_once(r#","result":"#).map_or("", |(warnings, _)| warnings);
        if reply.is_error { reply.code() } else { warnings.to_owned() }
    }
}

#[test]
fn a_part_of_a_line_that_others_changed_is_not_edited_unasked() {
    let none = json!({});
    let search = json!({"pattern": "elm", "paths": [format!("$ROOT/{FILE}")]});
    let mut one = Meanwhile::new(&[], true);
    one.change("elm", "elm-x");
    let error = one.call(PATCH, &json!({"old_string": "elm", "new_string": "ELM"}));
    insta::assert_snapshot!(error.text, @r#"
    error: content_mismatch: old_string is a part of line 2, which another program has changed since you were shown it; nothing was written
    $ROOT/f.txt line 2 of 5 file_hash 1fc7e09d7d8b91f5 range_hash b3b04ab2647e839e
    2	elm-x
    suggestion: patch_text_file_contents
    hint: if the edit is right there, send the same call with "file_hash": "1fc7e09d7d8b91f5"; or name the line by "ranges": [{"start":2,"end":2,"range_hash":"b3b04ab2647e839e"}], with the whole new line as new_string and without old_string
    "#);
    // However often it is asked for, and after an edit of another line.
    assert_eq!(one.patch("elm", "ELM", &none), "content_mismatch");
    assert_eq!(
        one.patch("fir", "FIR", &none),
        r#"{"warnings":["changed since your last read, not by you: line 2"]"#
    );
    assert_eq!(one.patch("elm", "ELM", &none), "content_mismatch");
    // Its hash shows no line.
    one.call(GET, &json!({"text": false}));
    assert_eq!(one.patch("elm", "ELM", &none), "content_mismatch");
    // A whole line, a line that nobody changed, and what the caller has itself changed.
    assert_eq!(one.patch("as", "AS", &none), "");
    assert_eq!(one.patch("ASh", "ask", &none), "");
    assert_eq!(one.patch("as", "AS", &none), "");
    assert_eq!(one.patch("elm-x", "elm-y", &none), "");
    assert_eq!(one.patch("elm", "ELM", &none), "");
    // With the hash of the file it is made; so it is once a read or a search has shown the line.
    one.change("ELM", "elm");
    assert_eq!(one.patch("elm", "ELM", &json!({"file_hash": "$HASH(f.txt)"})), "");
    for (tool, look) in [(GET, &none), ("search_text_files", &search)] {
        one.change("ELM", "elm");
        assert_eq!(one.patch("el", "EL", &none), "content_mismatch");
        one.call(tool, look);
        assert!(!one.patch("el", "EL", &none).contains("mismatch"));
        one.change("ELm", "ELM");
        one.call(GET, &none);
    }
    // The lines that an error has shown are known.
    let mut two = Meanwhile::new(&[], false);
    assert_eq!(two.patch("elms\n", "ELMS\n", &none), "no_match");
    two.change("elm", "elm-x");
    assert_eq!(two.patch("elm", "ELM", &none), "content_mismatch");
    // A client that never read here is not refused, nor one to which no tool that reads is offered.
    for (options, is_read) in [(&[][..], false), (&["--tools", "patch_text_file_contents"][..], false)] {
        let mut three = Meanwhile::new(options, is_read);
        three.change("elm", "elm-x");
        assert_eq!(three.patch("elm", "ELM", &none), "");
    }
}

#[test]
fn what_others_changed_is_told_once() {
    let none = json!({});
    let mut one = Meanwhile::new(&[], true);
    one.change("oak", "oaks");
    one.change("yew", "yew\nbay\n");
    let words = "changed since your last read, not by you: lines 1, 6-7";
    assert!(one.call(GET, &none).text.starts_with(&format!("[{words}]\n$ROOT/f.txt lines 1-7 of 7 ")));
    assert!(one.call(GET, &none).text.starts_with("$ROOT/f.txt lines 1-7 of 7 "));
    one.change("elm\n", "");
    assert_eq!(
        one.patch("ash\n", "a\nb\n", &none),
        r#"{"warnings":["changed since your last read, not by you: 1 line is gone"]"#
    );
    assert_eq!(one.patch("yew\n", "Yew\n", &none), "");
    let mut two = Meanwhile::new(&["--output", "json"], true);
    two.change("fir", "firs");
    let told = two.call(GET, &none).structured.unwrap();
    assert_eq!(told["files"][0]["warnings"], json!(["changed since your last read, not by you: line 3"]));
    // Nothing is known of lines that were not shown.
    let mut three = Meanwhile::new(&[], false);
    three.call(GET, &json!({"line_start": 1, "line_end": 2}));
    three.change("ash", "ashes");
    assert_eq!(
        three.patch("oak", "OAK", &none),
        r#"{"warnings":["changed since your last read, not by you: none of the lines that you were shown"]"#
    );
}

#[test]
fn what_nobody_can_type_or_takes_for_something_else_is_told() {
    let world = World::new();
    let mut session = world.serve(&[]);
    let mut refused = |file: &[u8], tool: &str, arguments: Value, expected: &[&str]| {
        world.write(FILE, file);
        let mut call = json!({"file_path": format!("$ROOT/{FILE}")});
        call.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let reply = world.call(&mut session, tool, &call);
        assert!(
            reply.is_error && expected.iter().all(|part| reply.text.contains(part)),
            "{expected:?}: {}",
            reply.text
        );
    };
    let by_text = |old: &str| json!({"old_string": old, "new_string": "x"});
    let spaces = "intro\n- the task\u{a0}list in\u{a0}current sprint\nend\n".as_bytes();
    let by_digest = r#""ranges": [{"start":2,"end":2,"range_hash":"#;
    refused(
        spaces,
        PATCH,
        by_text("task list in current"),
        &["; line 2, character 11: \\u00a0; line 2, character 19: \\u00a0;", by_digest],
    );
    refused(
        spaces,
        PATCH,
        json!({"old_string": "list in current sprint", "new_string": "x", "ranges": [{"start": 2, "end": 2}]}),
        &["line 2, character 11: \\u00a0", by_digest],
    );
    let hidden = "intro\n- the ta\u{200b}sk list in current sprint\nend\n".as_bytes();
    refused(hidden, PATCH, by_text("task list in current"), &["line 2, character 9: \\u200b", by_digest]);
    let soft = "intro\n- the ta\u{ad}sk list in current sprint\nend\n".as_bytes();
    refused(soft, PATCH, by_text("task list"), &["line 2, character 9: \\u00ad", by_digest]);
    let broken = b"f(\n    first,\n    \"mode\",\n    {\"a\": 1},\n)\ng\n";
    refused(
        broken,
        PATCH,
        by_text("f(first, 'mode', {'a': 1})\n"),
        &[
            "only blanks, line breaks, quotes or letter case differ",
            r#""ranges": [{"start":1,"end":5,"range_hash":"#,
        ],
    );
    // One byte that is no UTF-8, and a file that ends inside a character.
    let text = "# Überschrift – größer\n".repeat(3);
    let with = |end: &[u8]| [text.as_bytes(), end].concat();
    refused(
        &with(b"caf\xe9\nEnde\n"),
        PATCH,
        by_text("Ende"),
        &["in line 4", "all else is UTF-8, and 1 byte is not, the first in line 4", "latin1"],
    );
    refused(&with(b"Gr\xc3\xb6\xc3"), GET, json!({}), &["cut off in the middle of a character, in line 4"]);
    // Hashes in each other's place.
    let trees = b"oak\nelm\nfir\n";
    refused(
        trees,
        "insert_text_file_contents",
        json!({"file_hash": "$RANGE(f.txt,2,2)", "after": 2, "contents": "E1"}),
        &["file_hash is the hash of line 2, not of the file"],
    );
    refused(
        trees,
        PATCH,
        json!({"ranges": [{"start": 2, "end": 2, "range_hash": "$HASH(f.txt)"}], "new_string": "x"}),
        &["that is the hash of the file"],
    );
}
