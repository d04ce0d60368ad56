//! Edits in the forms of other programs' tools. Each is done at the second call at the latest: the calls in
//! the hint are sent as they are.

use serde_json::{Deserializer, Value, json};

use crate::session::Session;
use crate::world::{Entry, World};

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";
const CREATE: &str = "create_text_file";
const APPEND: &str = "append_text_file_contents";
const INSERT: &str = "insert_text_file_contents";
const DELETE: &str = "delete_text_file_contents";
const SEARCH: &str = "search_text_files";
const MOVE: &str = "move_text_file";
const REMOVE: &str = "remove_text_file";
const UNDO: &str = "undo_text_file_edits";

/// The text of `t.txt` before each call. The next is that of `twice.py`, which has one text twice.
const TEXT: &str = "one\ntwo\nthree\nfour\n";
const TWICE: &str = "def f():\n    a = 1\n    return a\n\ndef g():\n    a = 1\n    return a\n";

fn world() -> World {
    let world = World::new();
    world.write("t.txt", TEXT);
    world.write("twice.py", TWICE);
    world.write("dir/u.txt", "u\n");
    world
}

fn text(world: &World, path: &str) -> Option<String> {
    match world.tree().remove(path)? {
        Entry::File(bytes) => Some(String::from_utf8(bytes).unwrap()),
        other => panic!("{other:?}"),
    }
}

/// Returns the calls in a hint, in their order, each with its tool.
fn calls(tool: &str, said: &str) -> Vec<(String, Value)> {
    let (_, mut hint) = said.rsplit_once("\nhint: ").unwrap_or_else(|| panic!("{said}"));
    let mut found = Vec::new();
    loop {
        let (name, rest) = match hint.strip_prefix("write ") {
            Some(rest) => (tool, rest),
            None => hint
                .split_once("call ")
                .and_then(|(_, rest)| rest.split_once(' '))
                .unwrap_or_else(|| panic!("{said}")),
        };
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        let call = values.next().unwrap().unwrap_or_else(|error| panic!("{error}: {said}"));
        found.push((name.to_owned(), call));
        match rest[values.byte_offset()..].strip_prefix("; then ") {
            Some(next) => hint = next,
            None => return found,
        }
    }
}

/// Sends a call and, if it is refused, those of its hint. Returns the first reply.
#[track_caller]
fn send(world: &World, session: &mut Session, what: &str, tool: &str, call: &Value) -> String {
    let reply = world.call(session, tool, call);
    if reply.is_error {
        for (name, call) in calls(tool, &reply.raw) {
            let second = world.call(session, &name, &call);
            assert!(!second.is_error, "{what}\n{}\n{name} {call}\n{}", reply.text, second.text);
        }
    }
    reply.text
}

/// Checks rows of: the program whose tool is imitated, the tool and the arguments of the call, a path, and
/// the file's text afterwards.
#[track_caller]
fn check(rows: &[(&str, &str, Value, &str, Option<&str>)]) {
    for (what, tool, call, path, expected) in rows {
        let world = world();
        let mut session = world.serve(&["--tools", "all"]);
        let said = send(&world, &mut session, what, tool, call);
        assert_eq!(text(&world, path).as_deref(), *expected, "{what}\n{said}");
    }
}

const TWO: Option<&str> = Some("one\n2\nthree\nfour\n");

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn replacements_of_each_agent() {
    let t = "$ROOT/t.txt";
    let search = "------- SEARCH\ntwo\n=======\n2\n+++++++ REPLACE\n";
    let roo = "<<<<<<< SEARCH\n:start_line:2\n-------\ntwo\n=======\n2\n>>>>>>> REPLACE";
    let xml = format!(
        "<file><path>{t}</path><diff><content><![CDATA[\n{roo}\n]]></content><start_line>2</start_line></diff></file>"
    );
    let chunk = json!({"AllowMultiple": false, "StartLine": 1, "EndLine": 3, "TargetContent": "two\n", "ReplacementContent": "2\n"});
    check(&[
        (
            "Claude Code, Edit",
            PATCH,
            json!({"file_path": t, "old_string": "two", "new_string": "2", "replace_all": false}),
            "t.txt",
            TWO,
        ),
        (
            "Claude Code, MultiEdit",
            PATCH,
            json!({"file_path": t, "edits": [{"old_string": "two", "new_string": "2"}]}),
            "t.txt",
            TWO,
        ),
        (
            "Gemini CLI, replace",
            PATCH,
            json!({"file_path": t, "instruction": "count", "old_string": "two", "new_string": "2", "expected_replacements": 1}),
            "t.txt",
            TWO,
        ),
        (
            "Gemini CLI, replace, only what it demands",
            PATCH,
            json!({"file_path": t, "instruction": "count", "old_string": "two", "new_string": "2"}),
            "t.txt",
            TWO,
        ),
        (
            "Qwen Code, edit",
            PATCH,
            json!({"file_path": t, "old_string": "two\n", "new_string": "2\n", "expected_replacements": 1}),
            "t.txt",
            TWO,
        ),
        ("opencode, edit", PATCH, json!({"filePath": t, "oldString": "two", "newString": "2"}), "t.txt", TWO),
        (
            "VS Code, replace_string_in_file",
            PATCH,
            json!({"explanation": "count", "filePath": t, "oldString": "two", "newString": "2"}),
            "t.txt",
            TWO,
        ),
        (
            "VS Code, multi_replace_string_in_file",
            PATCH,
            json!({"explanation": "count", "replacements": [{"explanation": "count", "filePath": t, "oldString": "two", "newString": "2"}]}),
            "t.txt",
            TWO,
        ),
        ("Copilot CLI, edit", PATCH, json!({"path": t, "old_str": "two", "new_str": "2"}), "t.txt", TWO),
        (
            "Cursor, search_replace",
            PATCH,
            json!({"file_path": t, "old_string": "two", "new_string": "2", "explanation": "count"}),
            "t.txt",
            TWO,
        ),
        (
            "Windsurf, replace_file_content",
            PATCH,
            json!({"TargetFile": t, "CodeMarkdownLanguage": "text", "Instruction": "count", "Description": "count", "Complexity": 1, "AllowMultiple": false, "StartLine": 1, "EndLine": 3, "TargetContent": "two", "ReplacementContent": "2"}),
            "t.txt",
            TWO,
        ),
        (
            "Windsurf, multi_replace_file_content",
            PATCH,
            json!({"TargetFile": t, "Instruction": "count", "ReplacementChunks": [chunk]}),
            "t.txt",
            TWO,
        ),
        (
            "Windsurf, the chunks as a text",
            PATCH,
            json!({"TargetFile": t, "ReplacementChunks": json!([chunk]).to_string()}),
            "t.txt",
            TWO,
        ),
        ("Cline, replace_in_file", PATCH, json!({"path": t, "diff": search}), "t.txt", TWO),
        ("Cline, editor", PATCH, json!({"path": t, "old_text": "two", "new_text": "2"}), "t.txt", TWO),
        ("Roo, apply_diff", PATCH, json!({"path": t, "diff": roo}), "t.txt", TWO),
        (
            "Roo, apply_diff with a start_line",
            PATCH,
            json!({"path": t, "diff": roo, "start_line": 2}),
            "t.txt",
            TWO,
        ),
        (
            "Roo, args.file",
            PATCH,
            json!({"args": {"file": [{"path": t, "diff": [{"content": roo, "start_line": 2}]}]}}),
            "t.txt",
            TWO,
        ),
        (
            "Roo, args.file alone",
            PATCH,
            json!({"args": {"file": {"path": t, "diff": {"content": roo}}}}),
            "t.txt",
            TWO,
        ),
        ("Roo, args in tags", PATCH, json!({"args": xml}), "t.txt", TWO),
        (
            "Roo, search_and_replace",
            PATCH,
            json!({"path": t, "search": "two", "replace": "2", "start_line": 1, "end_line": 3}),
            "t.txt",
            TWO,
        ),
        (
            "Roo, its operations",
            PATCH,
            json!({"path": t, "operations": "[{\"search\":\"two\",\"replace\":\"2\"}]"}),
            "t.txt",
            TWO,
        ),
        (
            "Aider, a block",
            PATCH,
            json!({"edits": "t.txt\n```\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n```\n"}),
            "t.txt",
            TWO,
        ),
        (
            "Aider, a diff",
            PATCH,
            json!({"diff": "--- t.txt\n+++ t.txt\n@@ ... @@\n one\n-two\n+2\n three\n"}),
            "t.txt",
            TWO,
        ),
        (
            "Zed, edit_file",
            PATCH,
            json!({"display_description": "count", "path": "root/t.txt", "mode": "edit", "edits": [{"old_text": "two", "new_text": "2"}]}),
            "t.txt",
            TWO,
        ),
        (
            "Continue, single_find_and_replace",
            PATCH,
            json!({"filepath": "t.txt", "old_string": "two", "new_string": "2", "replace_all": false}),
            "t.txt",
            TWO,
        ),
        (
            "Continue, multi_edit",
            PATCH,
            json!({"filepath": "t.txt", "edits": [{"old_string": "two", "new_string": "2"}]}),
            "t.txt",
            TWO,
        ),
        (
            "SWE-agent, edit by text",
            PATCH,
            json!({"path": t, "search": "two", "replace": "2", "replace-all": false}),
            "t.txt",
            TWO,
        ),
        (
            "SWE-agent, edit by lines",
            PATCH,
            json!({"path": t, "start_line": 2, "end_line": 2, "replacement_text": "2"}),
            "t.txt",
            TWO,
        ),
        (
            "OpenHands, str_replace",
            PATCH,
            json!({"command": "str_replace", "path": t, "old_str": "two", "new_str": "2", "security_risk": "LOW"}),
            "t.txt",
            TWO,
        ),
        ("Amp, edit_file", PATCH, json!({"path": t, "old_str": "two", "new_str": "2"}), "t.txt", TWO),
        ("Kiro, strReplace", PATCH, json!({"path": t, "oldStr": "two", "newStr": "2"}), "t.txt", TWO),
        (
            "JetBrains, replace_text_in_file",
            PATCH,
            json!({"pathInProject": "t.txt", "oldText": "two", "newText": "2", "replaceAll": false}),
            "t.txt",
            TWO,
        ),
        (
            "Serena, replace_content",
            PATCH,
            json!({"relative_path": "t.txt", "needle": "two", "repl": "2", "mode": "literal"}),
            "t.txt",
            TWO,
        ),
        (
            "Serena, replace_lines",
            PATCH,
            json!({"relative_path": "t.txt", "start_line": 1, "end_line": 1, "content": "2"}),
            "t.txt",
            TWO,
        ),
        (
            "server-filesystem, edit_file",
            PATCH,
            json!({"path": t, "edits": [{"oldText": "two", "newText": "2"}], "dryRun": false}),
            "t.txt",
            TWO,
        ),
        (
            "mcp-text-editor 1.x",
            PATCH,
            json!({"files": [{"path": t, "hash": "$HASH(t.txt)", "patches": [{"line_start": 2, "line_end": 2, "contents": "2\n", "range_hash": "$RANGE(t.txt,2,2)"}]}]}),
            "t.txt",
            TWO,
        ),
        (
            "mcp-text-editor 1.x, its last form",
            PATCH,
            json!({"files": [{"file_path": t, "file_hash": "$HASH(t.txt)", "encoding": "utf-8", "patches": [{"start": 2, "end": 2, "range_hash": "$RANGE(t.txt,2,2)", "contents": "2\n"}]}]}),
            "t.txt",
            TWO,
        ),
        (
            "tilth, tilth_write",
            PATCH,
            json!({"files": [{"path": t, "edits": [{"start": "2:a3f", "end": "2:a3f", "content": "2"}]}]}),
            "t.txt",
            TWO,
        ),
        (
            "tilth, two edits",
            PATCH,
            json!({"files": [{"path": t, "edits": [{"start": "1:0a1", "content": "1"}, {"start": "3:bcd", "end": "4:123", "content": "3"}]}]}),
            "t.txt",
            Some("1\ntwo\n3\n"),
        ),
        (
            "an expression that is none",
            PATCH,
            json!({"relative_path": "t.txt", "needle": "two", "repl": "2", "mode": "regex"}),
            "t.txt",
            TWO,
        ),
    ]);
}

#[test]
fn patches_of_codex() {
    let v4a = |body: &str| json!({"input": format!("*** Begin Patch\n{body}*** End Patch\n")});
    let second = Some("def f():\n    a = 1\n    return a\n\ndef g():\n    a = 2\n    return a\n");
    check(&[
        ("an update", PATCH, v4a("*** Update File: t.txt\n@@\n one\n-two\n+2\n"), "t.txt", TWO),
        (
            "a header among equal places",
            PATCH,
            v4a("*** Update File: twice.py\n@@ def g():\n-    a = 1\n+    a = 2\n"),
            "twice.py",
            second,
        ),
        (
            "a header that is a part of its line",
            PATCH,
            v4a("*** Update File: twice.py\n@@ def g\n-    a = 1\n+    a = 2\n     return a\n"),
            "twice.py",
            second,
        ),
        (
            "two hunks",
            PATCH,
            v4a(
                "*** Update File: twice.py\n@@ def f():\n-    a = 1\n+    a = 0\n@@ def g():\n-    a = 1\n+    a = 2\n",
            ),
            "twice.py",
            Some("def f():\n    a = 0\n    return a\n\ndef g():\n    a = 2\n    return a\n"),
        ),
        (
            "lines below a header",
            PATCH,
            v4a("*** Update File: twice.py\n@@ def g():\n+    # g\n"),
            "twice.py",
            Some("def f():\n    a = 1\n    return a\n\ndef g():\n    # g\n    a = 1\n    return a\n"),
        ),
        (
            "lines at the end",
            PATCH,
            v4a("*** Update File: t.txt\n@@\n+five\n"),
            "t.txt",
            Some("one\ntwo\nthree\nfour\nfive\n"),
        ),
        ("a new file", PATCH, v4a("*** Add File: new.txt\n+x\n"), "new.txt", Some("x\n")),
        (
            "a new file beside an update",
            PATCH,
            v4a("*** Add File: dir/new.txt\n+x\n*** Update File: t.txt\n@@\n-two\n+2\n"),
            "dir/new.txt",
            Some("x\n"),
        ),
        (
            "an update beside a new file",
            PATCH,
            v4a("*** Add File: dir/new.txt\n+x\n*** Update File: t.txt\n@@\n-two\n+2\n"),
            "t.txt",
            TWO,
        ),
        ("a removal", PATCH, v4a("*** Delete File: t.txt\n"), "t.txt", None),
        (
            "a move",
            PATCH,
            v4a("*** Update File: t.txt\n*** Move to: dir/v.txt\n@@\n-two\n+2\n"),
            "dir/v.txt",
            TWO,
        ),
        (
            "a unified diff among equal places",
            PATCH,
            json!({"patch": "--- a/twice.py\n+++ b/twice.py\n@@ -6,1 +6,1 @@\n-    a = 1\n+    a = 2\n"}),
            "twice.py",
            second,
        ),
        (
            "a unified diff that adds lines",
            PATCH,
            json!({"patch": "--- a/t.txt\n+++ b/t.txt\n@@ -2,0 +3 @@\n+2.5\n"}),
            "t.txt",
            Some("one\ntwo\n2.5\nthree\nfour\n"),
        ),
        (
            "a block of Roo's among equal places",
            PATCH,
            json!({"path": "twice.py", "diff": "<<<<<<< SEARCH\n:start_line:6\n-------\n    a = 1\n=======\n    a = 2\n>>>>>>> REPLACE\n"}),
            "twice.py",
            second,
        ),
    ]);
}

#[test]
fn whole_files_of_each_agent() {
    let (new, t) = ("$ROOT/new.txt", "$ROOT/t.txt");
    let made = Some("x\n");
    check(&[
        ("Claude Code, Write", CREATE, json!({"file_path": new, "content": "x\n"}), "new.txt", made),
        (
            "Gemini CLI, replace of nothing",
            PATCH,
            json!({"file_path": new, "instruction": "make it", "old_string": "", "new_string": "x\n"}),
            "new.txt",
            made,
        ),
        ("a creation by the patch tool", PATCH, json!({"file_path": new, "content": "x\n"}), "new.txt", made),
        ("a text for a file that is there", PATCH, json!({"file_path": t, "content": "x\n"}), "t.txt", made),
        ("Copilot CLI, create", CREATE, json!({"path": new, "file_text": "x\n"}), "new.txt", made),
        ("VS Code, create_file", CREATE, json!({"filePath": new, "content": "x\n"}), "new.txt", made),
        (
            "Windsurf, write_to_file",
            CREATE,
            json!({"TargetFile": new, "Overwrite": false, "CodeContent": "x\n", "Description": "make it", "EmptyFile": false}),
            "new.txt",
            made,
        ),
        (
            "Zed, edit_file that creates",
            PATCH,
            json!({"display_description": "make it", "path": "root/new.txt", "mode": "create", "content": "x\n"}),
            "new.txt",
            made,
        ),
        (
            "Zed, edit_file that overwrites",
            PATCH,
            json!({"display_description": "make it", "path": "root/t.txt", "mode": "overwrite", "content": "x\n"}),
            "t.txt",
            made,
        ),
        (
            "OpenHands, create",
            PATCH,
            json!({"command": "create", "path": new, "file_text": "x\n", "security_risk": "LOW"}),
            "new.txt",
            made,
        ),
        ("Kiro, fsWrite", CREATE, json!({"path": new, "text": "x\n"}), "new.txt", made),
        (
            "Kiro, fsAppend",
            APPEND,
            json!({"path": t, "text": "five"}),
            "t.txt",
            Some("one\ntwo\nthree\nfour\nfive\n"),
        ),
        (
            "tilth, append",
            PATCH,
            json!({"path": t, "mode": "append", "content": "five\n"}),
            "t.txt",
            Some("one\ntwo\nthree\nfour\nfive\n"),
        ),
        (
            "tilth, overwrite",
            PATCH,
            json!({"files": [{"path": t, "mode": "overwrite", "overwrite": true, "content": "x\n"}]}),
            "t.txt",
            made,
        ),
        (
            "JetBrains, create_new_file",
            CREATE,
            json!({"pathInProject": "new.txt", "text": "x\n"}),
            "new.txt",
            made,
        ),
        (
            "Serena, create_text_file",
            CREATE,
            json!({"relative_path": "new.txt", "content": "x\n"}),
            "new.txt",
            made,
        ),
        (
            "server-filesystem, move_file",
            MOVE,
            json!({"source": t, "destination": new}),
            "new.txt",
            Some(TEXT),
        ),
        ("a removal", REMOVE, json!({"path": t}), "t.txt", None),
    ]);
}

#[test]
fn insertions_and_deletions_of_each_agent() {
    let t = "$ROOT/t.txt";
    let after = Some("one\ntwo\nx\nthree\nfour\n");
    let before = Some("one\nx\ntwo\nthree\nfour\n");
    let without = Some("one\nfour\n");
    check(&[
        (
            "Anthropic's editor",
            PATCH,
            json!({"command": "insert", "path": t, "insert_line": 2, "new_str": "x\n"}),
            "t.txt",
            after,
        ),
        (
            "Anthropic's editor, later",
            PATCH,
            json!({"command": "insert", "path": t, "insert_line": 2, "insert_text": "x"}),
            "t.txt",
            after,
        ),
        (
            "… of the tool that inserts",
            INSERT,
            json!({"path": t, "insert_line": 2, "new_str": "x"}),
            "t.txt",
            after,
        ),
        ("Cline's editor", PATCH, json!({"path": t, "insert_line": 2, "new_text": "x\n"}), "t.txt", before),
        (
            "… of the tool that inserts",
            INSERT,
            json!({"path": t, "insert_line": 2, "new_text": "x\n"}),
            "t.txt",
            before,
        ),
        (
            "Serena, insert_at_line",
            INSERT,
            json!({"relative_path": "t.txt", "line": 2, "content": "x\n"}),
            "t.txt",
            after,
        ),
        ("SWE-agent, insert", INSERT, json!({"path": t, "line": 2, "text": "x"}), "t.txt", after),
        (
            "Serena, delete_lines",
            DELETE,
            json!({"relative_path": "t.txt", "start_line": 1, "end_line": 2}),
            "t.txt",
            without,
        ),
        ("lines to delete", DELETE, json!({"path": t, "start_line": 2, "end_line": 3}), "t.txt", without),
    ]);
}

#[test]
fn reads_and_searches_of_each_agent() {
    let world = world();
    let mut session = world.serve(&["--tools", "all"]);
    for (what, tool, call, holds) in [
        (
            "Roo, read_file",
            GET,
            json!({"args": {"file": [{"path": "$ROOT/t.txt", "line_range": "2-3"}]}}),
            "2\ttwo\n3\tthree",
        ),
        (
            "Roo, read_file with ranges",
            GET,
            json!({"files": [{"path": "$ROOT/t.txt", "line_ranges": [[2, 3]]}]}),
            "2\ttwo\n3\tthree",
        ),
        (
            "Serena, read_file",
            GET,
            json!({"relative_path": "t.txt", "start_line": 1, "end_line": 2}),
            "2\ttwo\n3\tthree",
        ),
        ("a view of a directory", GET, json!({"command": "view", "path": "$ROOT/dir"}), "u.txt"),
        ("a read of a directory", GET, json!({"path": "$ROOT/dir"}), "u.txt"),
        (
            "rust-mcp-filesystem",
            SEARCH,
            json!({"path": "$ROOT", "pattern": "*.txt", "query": "u"}),
            "dir/u.txt:1:u",
        ),
        (
            "VS Code, grep_search",
            SEARCH,
            json!({"query": "f(", "isRegexp": false, "includePattern": "*.py"}),
            "twice.py:1:",
        ),
        (
            "Serena, search_for_pattern",
            SEARCH,
            json!({"substring_pattern": "tw.", "relative_path": "t.txt"}),
            "t.txt:2:two",
        ),
    ] {
        let reply = world.call(&mut session, tool, &call);
        assert!(reply.is_error, "{what}: {}", reply.text);
        let [(name, call)] = &calls(tool, &reply.raw)[..] else { panic!("{}", reply.text) };
        let second = world.call(&mut session, name, call);
        assert!(!second.is_error && second.text.contains(holds), "{what}\n{}\n{}", reply.text, second.text);
    }
    // If no tool lists directories, the error is that of any path that is a directory.
    let mut session = world.serve(&["--tools", "edit"]);
    let reply = world.call(&mut session, GET, &json!({"file_path": "$ROOT/dir"}));
    assert!(reply.text.starts_with("error: is_a_directory: "), "{}", reply.text);
}

#[test]
fn the_last_edit_of_a_file_is_taken_back() {
    for (what, tool, call) in [
        ("Anthropic's editor", PATCH, json!({"command": "undo_edit", "path": "$ROOT/t.txt"})),
        ("Amp, undo_edit", UNDO, json!({"path": "$ROOT/t.txt"})),
    ] {
        let world = world();
        let mut session = world.serve(&["--tools", "all"]);
        // For a file that nobody has edited the hint is to list its edits: there are none.
        let said = send(&world, &mut session, what, tool, &call);
        assert!(said.contains("hint: call list_text_file_edits "), "{said}");
        let edit = json!({"file_path": "$ROOT/t.txt", "old_string": "two", "new_string": "2"});
        assert!(!world.call(&mut session, PATCH, &edit).is_error);
        send(&world, &mut session, what, tool, &call);
        assert_eq!(text(&world, "t.txt").as_deref(), Some(TEXT), "{what}");
    }
}

/// A call that replaces lines without a digest is answered with these lines: nobody gets a digest of lines
/// that it has not seen.
#[test]
fn lines_without_a_digest_are_shown_with_it() {
    let world = world();
    world.write("long.txt", "x\n".repeat(40));
    let mut session = world.serve(&[]);
    let lines = |path: &str, last: u32| json!({"path": format!("$ROOT/{path}"), "start_line": 2, "end_line": last, "content": "2"});
    let reply = world.call(&mut session, PATCH, &lines("t.txt", 3));
    insta::assert_snapshot!(reply.text, @r#"
    error: invalid_arguments: patch_text_file_contents does not take `path`, `start_line`, `end_line`, `content`; nothing was written
    in lines 2-3
    actual text:
    2	two
    3	three
    suggestion: patch_text_file_contents
    hint: write {"file_path":"$ROOT/t.txt","new_string":"2","ranges":[{"start":2,"end":3,"range_hash":"f3952ccd5acbc312"}]}
    "#);
    let reply = world.call(&mut session, PATCH, &lines("long.txt", 39));
    assert!(
        reply.text.contains("\"range_hash\":<the range_hash that a read of exactly these lines shows>"),
        "{}",
        reply.text
    );
}
