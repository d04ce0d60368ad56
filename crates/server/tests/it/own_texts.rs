//! Hints with the caller's own text. Sent unchanged, their calls do what the failed call was to do.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Deserializer, Value, json};

use crate::session::Session;
use crate::world::{Entry, Reply, World};

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";
const CREATE: &str = "create_text_file";
const INSERT: &str = "insert_text_file_contents";
const LIST: &str = "list_text_files";
const SEARCH: &str = "search_text_files";

/// Makes a call that fails, and sends each call of its hint in a world of its own. Returns the error, and the
/// file's text after each.
#[track_caller]
fn follow(set_up: impl Fn(&World), options: &[&str], tool: &str, arguments: &Value) -> (String, Vec<String>) {
    let world = World::new();
    set_up(&world);
    let reply = world.call(&mut world.serve(options), tool, arguments);
    assert!(reply.is_error, "{}", reply.text);
    let calls = calls(&reply.text);
    let texts = calls.iter().map(|(name, call)| {
        let world = World::new();
        set_up(&world);
        let mut session = world.serve(options);
        succeeds(&world, &mut session, name, call);
        text(&world, "t.txt")
    });
    (reply.text, texts.collect())
}

#[track_caller]
fn succeeds(world: &World, session: &mut Session, tool: &str, arguments: &Value) -> Reply {
    let reply = world.call(session, tool, arguments);
    assert!(!reply.is_error, "{}\n{tool} {arguments}", reply.text);
    reply
}

fn text(world: &World, path: &str) -> String {
    match world.tree().get(path) {
        Some(Entry::File(bytes)) => String::from_utf8(bytes.clone()).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Returns the tools that a hint names, each with the call after its name, if that is JSON.
fn calls(said: &str) -> Vec<(String, Value)> {
    let hint = said.rsplit_once("\nhint: ").unwrap().1;
    let named = [GET, PATCH, CREATE, INSERT]
        .into_iter()
        .flat_map(|tool| hint.match_indices(tool).map(move |(at, _)| (at, tool, &hint[at + tool.len()..])));
    let mut found: Vec<(usize, String, Value)> = named
        .filter_map(|(at, tool, rest)| {
            let call = Deserializer::from_str(rest.strip_prefix(' ')?).into_iter::<Value>().next()?.ok()?;
            Some((at, tool.to_owned(), call))
        })
        .collect();
    found.sort_by_key(|(at, ..)| *at);
    found.into_iter().map(|(_, tool, call)| (tool, call)).collect()
}

#[test]
fn what_takes_the_place_of_a_file_is_the_callers_text() {
    let create = |contents: &str| json!({"file_path": "$ROOT/t.txt", "contents": contents});
    let with = |text: &'static str| move |world: &World| world.write("t.txt", text);
    let (said, made) = follow(with("one\ntwo\n"), &[], CREATE, &create("new \"text\"\n"));
    insta::assert_snapshot!(said, @r#"
    error: already_exists: $ROOT/t.txt already exists; nothing was written
    in $ROOT/t.txt
    file_hash: c3f9c8c283a2b1f2
    total_lines: 2
    suggestion: patch_text_file_contents
    hint: to replace everything in it, call patch_text_file_contents {"file_path":"$ROOT/t.txt","ranges":[{"start":1,"range_hash":"c3f9c8c283a2b1f2"}],"new_string":"new \"text\"\n"}
    "#);
    assert_eq!(made, ["new \"text\"\n"]);
    for (old, new) in [("", "x\n"), ("\u{feff}one\n", "x\n"), ("one\n", "")] {
        let (said, made) = follow(with(old), &[], CREATE, &create(new));
        assert_eq!(
            made,
            [format!("{}{new}", if old.starts_with('\u{feff}') { "\u{feff}" } else { "" })],
            "{said}"
        );
    }
    // Text that no patch accepts, and text that is too long, is left to fill in.
    for new in ["a\rb\n".to_owned(), "long\n".repeat(2_000)] {
        for output in ["text", "json"] {
            let world = World::new();
            world.write("t.txt", "one\n");
            let mut session = world.serve(&["--output", output]);
            let reply = world.call(&mut session, CREATE, &create(&new));
            assert!(
                reply.text.contains(":<") && reply.text.contains(">}, and put in what <…> stands for"),
                "{}",
                reply.text
            );
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_made_of_the_new_text() {
    let patch = |path: &str, old: &str| json!({"file_path": path, "old_string": old, "new_string": "new\n"});
    for old in ["", "\n"] {
        let (said, made) = follow(|_| {}, &[], PATCH, &patch("$ROOT/t.txt", old));
        insta::allow_duplicates!(insta::assert_snapshot!(said, @r#"
        error: not_found: there is no file $ROOT/t.txt; nothing was written
        in $ROOT/t.txt
        suggestion: create_text_file
        hint: to create it, call create_text_file {"file_path":"$ROOT/t.txt","contents":"new\n"}
        "#));
        assert_eq!(made, ["new\n"]);
    }
    let (said, made) =
        follow(|world| world.write("t.markdown", "x\n"), &[], PATCH, &patch("$ROOT/t.txt", ""));
    insta::assert_snapshot!(said, @r#"
    error: not_found: there is no file $ROOT/t.txt; nothing was written
    in $ROOT/t.txt
    suggestion: patch_text_file_contents
    hint: did you mean "file_path": "$ROOT/t.markdown"? To create the one that you named, call create_text_file {"file_path":"$ROOT/t.txt","contents":"new\n"}
    "#);
    assert_eq!(made, ["new\n"]);
    // The call has an old text to replace, so the whole text of the file is not known.
    let (said, made) = follow(|_| {}, &[], PATCH, &patch("$ROOT/t.txt", "old"));
    assert!(said.ends_with("\nhint: to create it, call create_text_file") && made.is_empty(), "{said}");
}

#[test]
fn an_empty_old_string_is_told_what_it_may_have_meant() {
    let patch = json!({"file_path": "$ROOT/t.txt", "old_string": "", "new_string": "new\n"});
    let with = |text: &'static str| move |world: &World| world.write("t.txt", text);
    let (said, made) = follow(with("one\ntwo\n"), &[], PATCH, &patch);
    insta::assert_snapshot!(said, @r#"
    error: invalid_arguments: an empty old_string without ranges stands for an empty file, and this one has 2 lines; nothing was written
    in $ROOT/t.txt
    file_hash: c3f9c8c283a2b1f2
    suggestion: patch_text_file_contents
    hint: to add the text at the end ("after": 0: at the top), call insert_text_file_contents {"file_path":"$ROOT/t.txt","file_hash":"c3f9c8c283a2b1f2","after":2,"contents":"new\n"}; to replace all that the file holds by it, call patch_text_file_contents {"file_path":"$ROOT/t.txt","ranges":[{"start":1,"range_hash":"c3f9c8c283a2b1f2"}],"new_string":"new\n"}
    "#);
    assert_eq!(made, ["one\ntwo\nnew\n", "new\n"]);
    assert_eq!(follow(with("\u{feff}one\n"), &[], PATCH, &patch).1, ["\u{feff}one\nnew\n", "\u{feff}new\n"]);
    assert_eq!(follow(with("one\n"), &["--tools", PATCH], PATCH, &patch).1, ["new\n"]);
    // An empty file looks like one empty line.
    for old in ["", "\n", "\r\n"] {
        let world = World::new();
        world.write("t.txt", "");
        let call = json!({"file_path": "$ROOT/t.txt", "old_string": old, "new_string": "new\n"});
        succeeds(&world, &mut world.serve(&[]), PATCH, &call);
        assert_eq!(text(&world, "t.txt"), "new\n", "{old:?}");
    }
}

/// A path from the top of the file system is taken as one from a root, if that leads to a file.
#[test]
fn a_path_that_begins_at_a_root_is_told_whole() {
    let world = World::new();
    world.write("src/app.py", "one\n");
    world.write("README.md", "one\n");
    let mut session = world.serve(&[]);
    let mut out = String::new();
    for (tool, call) in [
        (GET, json!({"file_path": "/src/app.py"})),
        (GET, json!({"file_path": "/workspace/src/app.py"})),
        (GET, json!({"file_path": "/README.md"})),
        (GET, json!({"file_path": "/home/me/root/README.md"})),
        (PATCH, json!({"file_path": "/src/app.py", "old_string": "one", "new_string": "two"})),
        (CREATE, json!({"file_path": "/src/new.py", "contents": "x\n"})),
        (LIST, json!({"path": "/src"})),
        (SEARCH, json!({"pattern": "one", "paths": ["/src/app.py"]})),
        // Paths that are in no root.
        (GET, json!({"file_path": "/tmp/README.md"})),
        (GET, json!({"file_path": "/src/no.py"})),
        (CREATE, json!({"file_path": "/lib/new.py", "contents": "x\n"})),
    ] {
        let reply = world.call(&mut session, tool, &call);
        let _ = writeln!(out, "{tool} {call}\n{}\n", reply.text);
    }
    insta::assert_snapshot!("paths_from_a_root", out);
}

/// The error about a path that leads outside is the same whether or not it exists.
#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "a test sets up what is outside the roots")]
fn what_is_outside_decides_nothing_of_a_hint() {
    let world = World::new();
    world.write("src/app.py", "one\n");
    let outside = world.path("").parent().unwrap().join("outside");
    let mut session = world.serve(&[]);
    for name in ["src/app.py", "src/other.py", "app.py"] {
        let path = outside.join(name);
        let said: Vec<String> = [false, true]
            .into_iter()
            .map(|is_there| {
                if is_there {
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(&path, "x").unwrap();
                }
                let mut out = String::new();
                for (tool, call) in [
                    (GET, json!({"file_path": path})),
                    (PATCH, json!({"file_path": path, "old_string": "", "new_string": "x"})),
                    (CREATE, json!({"file_path": path, "contents": "x"})),
                ] {
                    out += &world.call(&mut session, tool, &call).text;
                }
                out
            })
            .collect();
        assert_eq!(said[0], said[1]);
        assert_eq!(said[0].contains("did you mean"), name.starts_with("src/"), "{}", said[0]);
    }
}

/// No hint in any snapshot has a placeholder that could be sent: placeholders are in `<…>`, without quotes.
#[test]
#[expect(clippy::disallowed_methods, reason = "the snapshots are read as files")]
fn no_hint_has_a_placeholder_in_quotes() {
    let mut seen = 0;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pending = vec![here.join("tests/it"), here.join("../../scenarios")];
    while let Some(directory) = pending.pop() {
        for entry in directory.read_dir().unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                pending.push(path);
                continue;
            }
            if !path.extension().is_some_and(|extension| extension == "snap" || extension == "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for hint in text.lines().filter_map(|line| line.trim_start().strip_prefix("hint: ")) {
                seen += 1;
                let quoted = ["\"…\"", "\"...\"", "\"<", "\\\"…\\\""].iter().any(|mark| hint.contains(mark));
                assert!(!quoted, "{}: {hint}", path.display());
            }
        }
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn lines_that_are_joined_or_left_out_are_told() {
    let long = "a\n    b\nc\n# ... existing code ...\nd\n";
    let by_hash = |start: u32, end: u32, new: &str| json!({"ranges": [{"start": start, "end": end, "range_hash": format!("$RANGE(t.txt,{start},{end})")}], "new_string": new});
    let by_text = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
    let mut out = String::new();
    for patch in [
        by_text("a\n", "x"),
        by_text("a\n", "x\n"),
        by_text("b\nc\n", "x"),
        // Lines are to be joined, or removed.
        by_text("\n", " "),
        by_text("    b\n", ""),
        by_text("b\n", ""),
        by_text("d\n", "x"),
        json!({"old_string": "a\n", "new_string": "x", "ranges": [{"start": 1, "end": 1}]}),
        // Omissions.
        by_text("a\n", "x\n// ... the rest of the code ...\n"),
        by_text("a\n    b\nc\n", "x\n# ... existing code ...\ny\n"),
        by_hash(1, 3, "x\n    # ...\n"),
        // The line was in the file before, or is no omission.
        by_hash(3, 5, "x\n# ... existing code ...\nd\n"),
        by_text("# ... existing code ...\n", "    # ... existing code ...\n"),
        by_text("c\n", "...\n"),
        by_text("c\n", "f(...args)\n"),
    ] {
        let world = World::new();
        world.write("t.txt", long);
        if patch["old_string"] == "\n" {
            world.write("t.txt", "a\nb");
        }
        let call = json!({"files": [{"file_path": "$ROOT/t.txt", "patches": [patch]}]});
        let reply = succeeds(&world, &mut world.serve(&[]), PATCH, &call);
        let told: Value = serde_json::from_str(&reply.raw).unwrap();
        let _ = writeln!(out, "{patch}\n{}\n", told["warnings"]);
    }
    insta::assert_snapshot!("joined_and_left_out", out);
}

/// Each row is a name, the old lines, a patch of lines 1 and 2, and the line that is told.
#[test]
fn a_line_that_loses_blanks_is_told_where_they_mean_something() {
    let by_text = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
    let by_hash = |new: &str| json!({"ranges": [{"start": 1, "end": 2, "range_hash": "$RANGE(NAME,1,2)"}], "new_string": new});
    let (table, text) = ("ann\t\t\nbob\t\t\nend\n", "one  \ntwo\t\nend\n");
    for (name, old, patch, told) in [
        ("a.tsv", table, by_text("ann\nbob\n", "anna\nbob\n"), Some(1)),
        ("a.tsv", table, by_text("ann\nbob\n", "ann\nbobby\n"), Some(2)),
        ("a.tsv", table, by_text("ann\nbob\n", "zoe\nann\nbobby\n"), Some(1)),
        ("a.tsv", table, by_text("ann\nbob\n", "anna\t\t\nbob\n"), None),
        ("a.tsv", table, by_text("ann\t\t\nbob\t\t\n", "anna\nbob\t\t\n"), None),
        ("a.tsv", table, by_text("ann\nbob\n", ""), None),
        ("a.tsv", table, by_hash("anna\t\t\nbob\n"), Some(2)),
        ("a.tsv", "ann  \nbob\nend\n", by_text("ann\nbob\n", "anna\nbob\n"), None),
        ("A.MD", text, by_text("one\ntwo\n", "1\ntwo\n"), Some(1)),
        ("a.markdown", text, by_text("one\ntwo\n", "one\n2\n"), None),
        ("a.rs", text, by_text("one\ntwo\n", "1\n2\n"), None),
    ] {
        let world = World::new();
        world.write(name, old);
        let patch: Value = serde_json::from_str(&patch.to_string().replace("NAME", name)).unwrap();
        let call = json!({"files": [{"file_path": format!("$ROOT/{name}"), "patches": [patch]}]});
        let reply = succeeds(&world, &mut world.serve(&[]), PATCH, &call);
        let warnings = serde_json::from_str::<Value>(&reply.raw).unwrap()["warnings"].take();
        let warning = told.map(|line| format!("blanks: line {line} had blanks at its end"));
        assert_eq!(warnings.is_array(), told.is_some(), "{patch} {warnings}");
        assert!(
            warnings[0].as_str().unwrap_or_default().starts_with(&warning.unwrap_or_default()),
            "{patch} {warnings}"
        );
    }
}
