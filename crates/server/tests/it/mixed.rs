//! Calls of one tool that create, edit, move and remove files: all of it or nothing.

use mcp_text_editor::config::Config;
use mcp_text_editor::context::Context;
use mcp_text_editor::protocol::server::Server;
use mcp_text_editor_store::Workspace;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::files::{Step, Texts, hash, model};
use crate::world::{Entry, World};
use crate::{errors, replies};

const PATCH: &str = "patch_text_file_contents";
const ALL: &[&str] = &["--tools", "all"];

fn set_up(world: &World) {
    for (name, text) in
        [("a.txt", "one\ntwo\n"), ("b.txt", "three\n"), ("c.txt", "four\n"), ("d.txt", "five\n")]
    {
        world.write(name, text);
    }
}

fn path(name: &str) -> String {
    format!("$ROOT/{name}")
}

/// Returns the entries of a call that does all of this.
fn everything() -> Vec<Value> {
    vec![
        json!({"file_path": path("d.txt"), "move_to": path("b.txt")}),
        json!({"file_path": path("new/e.txt"), "contents": "six\r\n"}),
        json!({"file_path": path("a.txt"), "patches": [{"old_string": "one", "new_string": "1"}]}),
        json!({"file_path": path("b.txt"), "move_to": path("old/b.txt"), "patches": [{"old_string": "three", "new_string": "3"}]}),
        json!({"file_path": path("c.txt"), "remove": true, "file_hash": hash("four\n")}),
    ]
}

#[test]
fn each_file_is_told_as_by_its_own_tool() {
    let forwards = json!({"files": everything(), "dry_run": true});
    let made = json!({"files": everything()});
    replies::check("mixed", set_up, ALL, &[("a dry run", PATCH, forwards), ("all at once", PATCH, made)]);
}

/// All entries refer to the files as they were before the call, so their order does not matter.
#[test]
fn entries_have_no_order_and_are_undone_together() {
    let mut trees = Vec::new();
    for turns in 0..5 {
        let world = World::new();
        set_up(&world);
        let before = world.tree();
        let mut session = world.serve(ALL);
        let mut files = everything();
        files.rotate_left(turns);
        let done = world.call(&mut session, PATCH, &json!({"files": files}));
        assert!(!done.is_error, "{}", done.text);
        let after = world.tree();
        assert_eq!(after["b.txt"], Entry::File(b"five\n".to_vec()));
        let mut id = id_of(&done.raw);
        for expected in [&before, &after, &before] {
            let undone = world.call(&mut session, "undo_text_file_edits", &json!({"edit_id": id}));
            assert!(!undone.is_error, "{}", undone.text);
            assert_eq!(&world.tree(), expected);
            id = id_of(&undone.raw);
        }
        trees.push(after);
    }
    assert!(trees.windows(2).all(|pair| pair[0] == pair[1]));
}

fn id_of(reply: &str) -> String {
    let reply: Value = serde_json::from_str(reply).unwrap();
    reply["edit_id"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_not_offered_is_refused_by_name() {
    let entries = everything();
    let entry = |index: usize| json!({"files": [entries[index], entries[2]]});
    let without = |tool: &'static str| {
        [
            ("contents", "create_text_file", 1),
            ("move_to", "move_text_file", 0),
            ("remove", "remove_text_file", 4),
        ]
        .into_iter()
        .filter(|(_, needed, _)| *needed != tool)
        .map(|(key, _, index)| (key, PATCH, entry(index)))
        .collect::<Vec<_>>()
    };
    errors::check("mixed_default", set_up, &[], &without("create_text_file"));
    errors::check("mixed_alone", set_up, &["--tools", PATCH], &without(PATCH));
}

#[test]
fn an_entry_says_one_thing() {
    let of = |entry: Value| json!({"files": [entry]});
    let patches = json!([{"old_string": "one", "new_string": "1"}]);
    let a = path("a.txt");
    errors::check(
        "mixed_entries",
        set_up,
        ALL,
        &[
            ("nothing", PATCH, of(json!({"file_path": a}))),
            (
                "nothing but empty values",
                PATCH,
                of(
                    json!({"file_path": a, "patches": null, "contents": null, "move_to": "", "remove": false, "file_hash": ""}),
                ),
            ),
            ("no patches", PATCH, of(json!({"file_path": a, "patches": [], "move_to": "", "remove": false}))),
            (
                "a new file with patches",
                PATCH,
                of(json!({"file_path": a, "contents": "x", "patches": patches})),
            ),
            (
                "a new file with a digest",
                PATCH,
                of(json!({"file_path": a, "contents": "x", "file_hash": hash("one\ntwo\n")})),
            ),
            (
                "a removal with patches",
                PATCH,
                of(
                    json!({"file_path": a, "remove": true, "file_hash": hash("one\ntwo\n"), "patches": patches}),
                ),
            ),
            (
                "a removal that is a move",
                PATCH,
                of(
                    json!({"file_path": a, "remove": true, "file_hash": hash("one\ntwo\n"), "move_to": path("x")}),
                ),
            ),
            ("a removal without a digest", PATCH, of(json!({"file_path": a, "remove": true}))),
            (
                "all of it",
                PATCH,
                of(
                    json!({"file_path": a, "contents": "x", "patches": patches, "move_to": path("x"), "remove": true, "file_hash": "no"}),
                ),
            ),
            (
                "wrong types",
                PATCH,
                of(json!({"file_path": a, "contents": 5, "move_to": [], "remove": "yes"})),
            ),
            ("at the top", PATCH, json!({"file_path": a, "remove": true, "file_hash": hash("one\ntwo\n")})),
        ],
    );
}

/// Clients that cannot leave a key out send empty values.
#[test]
fn what_strict_clients_send() {
    let world = World::new();
    set_up(&world);
    let mut session = world.serve(ALL);
    let nothing = json!({"patches": [], "contents": "", "move_to": "", "remove": false, "file_hash": "", "encoding": ""});
    let mut files = everything();
    files.push(json!({"file_path": path("empty.txt")}));
    for file in &mut files {
        let file = file.as_object_mut().unwrap();
        for (key, value) in nothing.as_object().unwrap() {
            file.entry(key).or_insert(value.clone());
        }
    }
    let done = world.call(
        &mut session,
        PATCH,
        &json!({"files": files, "file_path": "", "old_string": "", "new_string": ""}),
    );
    assert!(!done.is_error, "{}", done.text);
    let after = world.tree();
    let text = |name: &str| match &after[name] {
        Entry::File(bytes) => String::from_utf8(bytes.clone()).unwrap(),
        other => panic!("{other:?}"),
    };
    let names: Vec<&str> = after.keys().map(String::as_str).collect();
    assert_eq!(names, ["a.txt", "b.txt", "empty.txt", "new/e.txt", "old/b.txt"]);
    assert_eq!([text("a.txt"), text("empty.txt"), text("old/b.txt")], ["1\ntwo\n", "", "3\n"]);
}

#[test]
fn the_schema_has_what_is_offered() {
    for (set, expected) in [
        ("default", &["contents"][..]),
        ("edit", &["contents"]),
        ("all", &["contents", "move_to", "remove"]),
        ("claude-code", &[]),
        ("patch_text_file_contents,remove_text_file", &["remove"]),
        ("patch_text_file_contents,move_text_file", &["move_to"]),
    ] {
        let config = Config { tools: set.parse().unwrap(), ..Config::default() };
        let server = Server::new(Context::new(config, Workspace::builder().build().unwrap()));
        let listed = serde_json::to_value(server.listed()).unwrap();
        let tool = listed.as_array().unwrap().iter().find(|tool| tool["name"] == PATCH).unwrap();
        let taken = tool["inputSchema"]["properties"]["files"]["items"]["properties"].as_object().unwrap();
        let keys = ["contents", "move_to", "remove"];
        let found: Vec<&str> = keys.into_iter().filter(|key| taken.contains_key(*key)).collect();
        assert_eq!(found, expected, "{set}");
        let description = tool["description"].as_str().unwrap();
        let told: Vec<&str> =
            keys.into_iter().filter(|key| description.contains(&format!("`{key}`"))).collect();
        assert_eq!(told, expected, "{set}");
    }
}

/// The error about an entry is that of the tool for this work alone, in the words of the call.
#[cfg(unix)]
#[test]
fn what_stands_against_an_entry() {
    let patches = json!([{"old_string": "one", "new_string": "1"}]);
    let (a, b, c, x) = (path("a.txt"), path("b.txt"), path("c.txt"), path("x"));
    let calls = |entries: &[Value]| json!({"files": entries});
    let moved = |from: &str, to: &str| json!({"file_path": from, "move_to": to});
    let set_up = |world: &World| {
        set_up(world);
        world.write("dir/e.txt", "six\n");
        world.link("link.txt", "a.txt");
    };
    let changed = |file: &str| json!({"file_path": file, "patches": patches});
    errors::check(
        "mixed_reasons",
        set_up,
        ALL,
        &[
            (
                "a file that is there",
                PATCH,
                calls(&[json!({"file_path": b, "contents": "x\n"}), changed(&a)]),
            ),
            ("a name that is taken", PATCH, calls(&[moved(&a, &b)])),
            (
                "a name that is taken, with new text",
                PATCH,
                calls(&[json!({"file_path": a, "move_to": b, "patches": patches})]),
            ),
            ("a directory", PATCH, calls(&[moved(&a, &path("dir"))])),
            ("a link", PATCH, calls(&[moved(&path("link.txt"), &x)])),
            (
                "a missing file with new text",
                PATCH,
                calls(&[json!({"file_path": path("none.txt"), "move_to": x, "patches": patches})]),
            ),
            (
                "a text that is not there",
                PATCH,
                calls(&[json!({"file_path": b, "move_to": x, "patches": patches}), changed(&a)]),
            ),
            (
                "another digest",
                PATCH,
                calls(&[json!({"file_path": a, "remove": true, "file_hash": hash("four\n")}), changed(&c)]),
            ),
            (
                "two results of one name",
                PATCH,
                calls(&[moved(&a, &x), json!({"file_path": x, "contents": ""})]),
            ),
            ("two fates of one file", PATCH, calls(&[moved(&a, &x), changed(&a)])),
        ],
    );
}

fn texts(world: &World) -> Texts {
    let files = world.tree().into_iter().filter_map(|(name, entry)| match entry {
        Entry::File(bytes) => Some((name, String::from_utf8(bytes).unwrap())),
        _ => None,
    });
    files.collect()
}

fn step() -> impl Strategy<Value = Step> {
    let name = || proptest::sample::select(&["a", "b", "c", "d/e", "d/f"][..]);
    let text = || "[xyz]{1,3}\n";
    prop_oneof![
        (name(), text()).prop_map(|(name, text)| Step::Create(name, text)),
        (name(), text()).prop_map(|(name, text)| Step::Patch(name, text)),
        (name(), name()).prop_map(|(from, to)| Step::Move(from, to)),
        (name(), name(), text()).prop_map(|(from, to, text)| Step::Edit(from, to, text)),
        name().prop_map(Step::Remove),
    ]
}

/// Any call does what the model, a map of names to texts, does, or it does nothing. It can be undone.
#[test]
fn any_call_is_that_of_a_naive_model() {
    let world = World::new();
    let mut session = world.serve(ALL);
    let session = std::cell::RefCell::new(&mut session);
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) });
    let law = |steps: Vec<Step>| {
        let to_itself =
            |step: &Step| matches!(step, Step::Move(from, to) | Step::Edit(from, to, _) if from == to);
        prop_assume!(!steps.iter().any(to_itself));
        for name in ["a", "b", "d/e"] {
            world.write(name, format!("{name}\n"));
        }
        let before = texts(&world);
        let files: Vec<Value> = steps.iter().map(|step| step.entry(&before, &path)).collect();
        let done = world.call(&mut session.borrow_mut(), PATCH, &json!({"files": files}));
        let expected = model(&before, &steps);
        prop_assert_eq!(done.is_error, expected.is_none(), "{}", done.text);
        prop_assert_eq!(&texts(&world), expected.as_ref().unwrap_or(&before));
        let reply: Value = serde_json::from_str(&done.raw).unwrap_or_default();
        if let Some(id) = reply["edit_id"].as_str() {
            let undone =
                world.call(&mut session.borrow_mut(), "undo_text_file_edits", &json!({"edit_id": id}));
            prop_assert!(!undone.is_error, "{}", undone.text);
        }
        prop_assert_eq!(&texts(&world), &before);
        Ok(())
    };
    runner.run(&proptest::collection::vec(step(), 1..6), law).unwrap();
}
