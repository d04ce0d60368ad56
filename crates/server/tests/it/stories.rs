//! The story of an edit that a view gets: both states of each file, even if the kept diff is cut.

use std::path::Path;

use mcp_text_editor_core::digest::Digest;
use serde_json::{Map, Value, json};

use super::session::{Session, written};

const STORY: &str = "mcp-text-editor/story";

/// A root with files, and the program for a client that shows views.
struct World {
    session: Session,
    root: tempfile::TempDir,
    /// The capabilities from all stories so far.
    capabilities: Map<String, Value>,
}

impl World {
    fn of(options: &[&str], files: &[(&str, &[u8])]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().canonicalize().unwrap();
        for (name, bytes) in files {
            write(&directory.join(name), bytes);
        }
        let mut arguments = vec!["--tools", "all"];
        arguments.extend(options);
        arguments.push(directory.to_str().unwrap());
        Self { session: Session::that_shows_views(&arguments), root, capabilities: Map::new() }
    }

    fn path(&self, name: &str) -> String {
        self.root.path().canonicalize().unwrap().join(name).to_str().unwrap().to_owned()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.session.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = result["result"].clone();
        for story in [&result["_meta"][STORY], &result["structuredContent"]] {
            self.capabilities.extend(story["edit"]["capabilities"].as_object().cloned().unwrap_or_default());
        }
        result
    }

    fn named(&self, id: &Value) -> Value {
        json!({"edit_id": id, "capability": self.capabilities.get(id.as_str().unwrap())})
    }

    /// Calls a tool, and returns the story that comes with its reply.
    fn story(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        let story = result["_meta"][STORY].clone();
        assert!(story.is_object(), "{result}");
        story
    }

    fn patch(&mut self, name: &str, old: &str, new: &str) -> Value {
        let arguments = json!({"file_path": self.path(name), "old_string": old, "new_string": new});
        self.story("patch_text_file_contents", &arguments)
    }

    fn show(&mut self, id: &Value) -> Value {
        self.call("show_text_file_edit", &self.named(id))["structuredContent"].clone()
    }

    fn take_back(&mut self, id: &Value) -> Value {
        let told = self.call("take_back_text_file_edit", &self.named(id));
        assert_ne!(told["isError"], true, "{told}");
        told["structuredContent"]["edit"]["id"].clone()
    }
}

fn hash(bytes: &[u8]) -> String {
    Digest::of(bytes).short()
}

#[expect(clippy::disallowed_methods, reason = "a test sets its files up")]
fn write(path: &Path, bytes: &[u8]) {
    written(|| std::fs::write(path, bytes).unwrap());
}

/// Returns the lines of a file of a story, with their ends where these are not LF.
fn lines(file: &Value) -> Vec<String> {
    let hunks = file["hunks"].as_array().unwrap();
    let lines = hunks.iter().flat_map(|hunk| hunk["lines"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lines
        .map(|line| format!("{}{}<{}>", text(&line["kind"]), text(&line["text"]), text(&line["end"])))
        .collect()
}

#[test]
fn a_story_tells_line_ends_marks_and_encodings_of_both_states() {
    let files: [(&str, &[u8]); 2] = [("a.txt", b"\xEF\xBB\xBFone\r\ntwo\r\nlast"), ("b.txt", b"x\xe9y\nz\n")];
    let mut world = World::of(&[], &files);
    let story = world.patch("a.txt", "last", "last\r\n");
    let file = &story["files"][0];
    let facts = |side: &str| {
        let facts = &file[side];
        [&facts["bom"], &facts["lineEnding"], &facts["finalNewline"], &facts["encoding"], &facts["lines"]]
            .map(Value::clone)
    };
    let expected = |is_ended: bool| [json!(true), json!("crlf"), json!(is_ended), json!("utf-8"), json!(3)];
    assert_eq!((facts("before"), facts("after")), (expected(false), expected(true)));
    assert_eq!((&file["before"]["bytes"], &file["after"]["bytes"]), (&json!(17), &json!(19)));
    assert_eq!(lines(file), [" one<crlf>", " two<crlf>", "-last<none>", "+last<crlf>"]);
    let arguments = json!({"file_path": world.path("b.txt"), "encoding": "latin1", "old_string": "xéy", "new_string": "ö"});
    let story = world.story("patch_text_file_contents", &arguments);
    assert_eq!(lines(&story["files"][0]), ["-xéy<>", "+ö<>", " z<>"]);
    assert_ne!(story["files"][0]["after"]["encoding"], "utf-8");
}

#[test]
fn a_story_has_the_lines_that_the_kept_diff_has_not() {
    let old = (0..2500).map(|line| format!("old line {line} of a file\n")).collect::<Vec<_>>().concat();
    let long = format!("{}\nend\n", "x".repeat(1 << 20));
    let mut world = World::of(&[], &[("many.txt", old.as_bytes()), ("long.txt", long.as_bytes())]);
    let new = old.replace("old line", "new line");
    let story = world.patch("many.txt", &old, &new);
    let told = lines(&story["files"][0]);
    assert_eq!((told.len(), &story["files"][0]["cut"]), (5000, &Value::Null));
    assert_eq!(told.last().unwrap(), "+new line 2499 of a file<>");
    let story = world.patch("long.txt", "x\nend", "y\nend");
    let file = &story["files"][0];
    assert!(story.to_string().len() < 40_000);
    assert_eq!((lines(file).len(), &file["hunks"][0]["lines"][0]["cut"]), (3, &json!(true)));
    // A story without room for all lines says so.
    let larger =
        (0..20_000).map(|line| format!("another line {line} of a file\n")).collect::<Vec<_>>().concat();
    let story = world.patch("many.txt", &new, &larger);
    assert!(story.to_string().len() < 300 << 10);
    assert_eq!(story["files"][0]["cut"], true);
    assert_eq!(story["files"][0]["after"]["lines"], 20_000);
}

#[test]
fn what_became_of_a_file_is_told_whether_it_is_kept_or_not() {
    for options in [&[][..], &["--no-history"]] {
        let mut world = World::of(options, &[("a.txt", b"a\nb\n"), ("b.txt", b"b\n"), ("c.txt", b"c\n")]);
        let change = |story: &Value| {
            let file = &story["files"][0];
            (story["kind"].clone(), file["change"].clone(), file["movedFrom"].is_string())
        };
        let done = |change: &str, is_moved| (json!("edit"), json!(change), is_moved);
        let new = json!({"file_path": world.path("new.txt"), "contents": "new\n"});
        let planned = json!({"file_path": world.path("new.txt"), "contents": "new\n", "dry_run": true});
        assert_eq!(
            change(&world.story("create_text_file", &planned)),
            (json!("proposal"), json!("created"), false)
        );
        let created = world.story("create_text_file", &new);
        assert_eq!(change(&created), done("created", false), "{options:?}");
        let moved = json!({"from": world.path("b.txt"), "to": world.path("d.txt")});
        let moved = world.story("move_text_file", &moved);
        assert_eq!(change(&moved), done("moved", true), "{options:?}");
        assert_eq!(moved["files"][0]["hunks"], json!([]));
        let hash = hash(b"c\n");
        let removed = json!({"file_path": world.path("c.txt"), "file_hash": hash});
        assert_eq!(change(&world.story("remove_text_file", &removed)), done("removed", false), "{options:?}");
        let patches = json!([{"old_string": "b", "new_string": "B"}]);
        let both =
            json!({"file_path": world.path("a.txt"), "move_to": world.path("e.txt"), "patches": patches});
        let both = json!({"files": [both]});
        let both = world.story("patch_text_file_contents", &both);
        assert_eq!(change(&both), done("moved", true), "{options:?}");
        // What the history does not keep was known when the edit was made.
        assert_eq!(lines(&both["files"][0]), [" a<>", "-b<>", "+B<>"], "{options:?}");
        assert_eq!(lines(&created["files"][0]), ["+new<>"], "{options:?}");
        assert_eq!(both["files"][0]["before"]["bytes"], 4, "{options:?}");
        if options.is_empty() {
            let back = world.take_back(&created["edit"]["id"]);
            assert_eq!(world.show(&back)["files"][0]["change"], "removed");
        }
    }
}

#[test]
fn a_warning_is_told_of_its_own_file() {
    let mut world = World::of(&[], &[("a.txt", b"same\n"), ("b.txt", b"one\n"), ("c.txt", b"two")]);
    let link = world.path("link");
    std::os::unix::fs::symlink(world.path(""), &link).unwrap();
    let through = |name: &str| format!("{link}/{name}");
    let entry = |name: &str, old: &str| json!({"file_path": through(name), "patches": [{"old_string": old, "new_string": "same"}]});
    let arguments = json!({"files": [entry("a.txt", "same"), entry("b.txt", "one")]});
    let story = world.story("patch_text_file_contents", &arguments);
    let files = story["files"].as_array().unwrap();
    assert_eq!((files.len(), files[0]["path"].clone()), (1, json!(world.path("b.txt"))));
    assert!(files[0].get("warnings").is_none(), "{story}");
    let hash = hash(b"two");
    let arguments = json!({"file_path": through("c.txt"), "file_hash": hash, "contents": "three\n"});
    let story = world.story("append_text_file_contents", &arguments);
    assert_eq!(story["files"][0]["warnings"].as_array().map(Vec::len), Some(1), "{story}");
}

#[test]
fn an_edit_that_was_done_again_can_be_taken_back_again() {
    let mut world = World::of(&[], &[("a.txt", b"one\n")]);
    let first = world.patch("a.txt", "one", "two")["edit"]["id"].clone();
    let mut last = first.clone();
    for round in 0..4 {
        let back = world.take_back(&last);
        let is_undone = round % 2 == 0;
        let shown = world.show(&first)["edit"].clone();
        assert_eq!(shown["canUndo"], json!(!is_undone), "{round}");
        assert_eq!(shown["undoneBy"], if is_undone { back.clone() } else { Value::Null }, "{round}");
        let named = json!({"capabilities": world.capabilities});
        let listed = world.call("list_shown_text_file_edits", &named)["structuredContent"]["edits"].clone();
        let of_first = listed.as_array().unwrap().iter().find(|edit| edit["id"] == first).unwrap();
        assert_eq!(of_first["canUndo"], json!(!is_undone), "{round}");
        last = back;
    }
    // The edit is in effect again, and can be taken back.
    world.take_back(&first);
}

#[test]
fn a_failed_edit_tells_what_was_asked_for_and_what_is_there() {
    let text = b"alpha\n\tbeta\ngamma\nalpha\n";
    let mut world = World::of(&[], &[("a.txt", text), ("b.txt", text)]);
    let [a, b] = ["a.txt", "b.txt"].map(|name| world.path(name));
    let (right, wrong) = (hash(text), "0123456789abcdef");
    let spaces = json!({"old_string": "    beta", "new_string": "x"});
    let at = |range: Value| json!({"ranges": [range], "old_string": "gamme", "new_string": "x"});
    let hashed = at(json!({"start": 3, "end": 3, "range_hash": wrong}));
    let cases = [
        ("no_match", None, spaces.clone(), "    beta", Some((2, "\tbeta\n"))),
        ("no_match", Some(right.as_str()), spaces.clone(), "    beta", Some((2, "\tbeta\n"))),
        ("no_match", Some(wrong), spaces, "    beta", Some((2, "\tbeta\n"))),
        ("content_mismatch", None, at(json!({"start": 3, "end": 3})), "gamme", Some((3, "gamma\n"))),
        ("range_hash_mismatch", None, hashed, "gamme", Some((3, "gamma\n"))),
        ("ambiguous_match", None, json!({"old_string": "alpha", "new_string": "x"}), "alpha", None),
    ];
    for (code, file_hash, patch, asked, there) in cases {
        let [mut alone, mut entry] = [patch.clone(), json!({"patches": [patch]})];
        for file in [&mut alone, &mut entry] {
            file["file_path"] = json!(b);
            if let Some(hash) = file_hash {
                file["file_hash"] = json!(hash);
            }
        }
        let other = json!({"file_path": a, "patches": [{"old_string": "gamma", "new_string": "delta"}]});
        for arguments in [alone, json!({"files": [other, entry]})] {
            let story = world.story("patch_text_file_contents", &arguments);
            assert_eq!(story["kind"], "failure", "{code}: {story}");
            let problems = story["failure"]["problems"].as_array().unwrap();
            let told = problems.iter().find(|problem| problem["code"] == code);
            let told = told.unwrap_or_else(|| panic!("{code}: {story}"));
            assert_eq!((&told["path"], &told["asked"]), (&json!(b), &json!(asked)), "{code}");
            let found = told["actual"].as_str().map(|actual| (told["start"].as_u64().unwrap(), actual));
            assert_eq!(found, there, "{code}: {story}");
            assert_eq!(file_hash == Some(wrong), problems[0]["code"] == "hash_mismatch", "{code}");
        }
    }
    let range = json!({"start": 3, "end": 3, "range_hash": wrong});
    let arguments = json!({"file_path": b, "ranges": [range], "new_string": "x\n"});
    let story = world.story("patch_text_file_contents", &arguments);
    let told = &story["failure"]["problems"][0];
    assert_eq!(
        (&told["code"], &told["actual"]),
        (&json!("range_hash_mismatch"), &json!("gamma\n")),
        "{story}"
    );
}
