//! Calls in another tool's form. Each gets one problem, with the whole call in the form that is accepted.

use std::fmt::Write as _;

use mcp_text_editor::actions::create::CreateRequest;
use mcp_text_editor::actions::edit::{AppendRequest, DeleteRequest, InsertRequest, PatchRequest};
use mcp_text_editor::actions::history::{EditsRequest, UndoRequest};
use mcp_text_editor::actions::list::ListRequest;
use mcp_text_editor::actions::move_file::MoveRequest;
use mcp_text_editor::actions::read::ReadRequest;
use mcp_text_editor::actions::remove_file::RemoveRequest;
use mcp_text_editor::actions::search::SearchRequest;
use mcp_text_editor::config::{Config, Output};
use mcp_text_editor::context::{Cancel, Context};
use mcp_text_editor::limits::Limits;
use mcp_text_editor::problem::Failure;
use mcp_text_editor::render::layout;
use mcp_text_editor::tool_id::ToolId;
use mcp_text_editor::tools::{self, in_another_form};
use mcp_text_editor_store::Workspace;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[cfg(unix)]
use crate::world::World;

const HASH: &str = "0123456789ABCDEF";
/// The end of a hint whose call has something to fill in.
const BLANKS: &str = ", and put in what <…> stands for";

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn context(config: Config) -> Context {
    Context::new(config, Workspace::builder().build().unwrap())
}

/// Returns the tool's own reading of the arguments, or its error.
fn parse(tool: ToolId, call: &Value) -> Result<String, Failure> {
    let (values, limits) = (map(call), &Limits::default());
    match tool {
        ToolId::Get => tools::parse::<ReadRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::Patch => tools::parse::<PatchRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::Create => tools::parse::<CreateRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::Append => tools::parse::<AppendRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::Insert => tools::parse::<InsertRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::Delete => tools::parse::<DeleteRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::Search => tools::parse::<SearchRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::List => tools::parse::<ListRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::Move => tools::parse::<MoveRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::Remove => tools::parse::<RemoveRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::Edits => tools::parse::<EditsRequest>(values, limits).map(|request| format!("{request:?}")),
        ToolId::Undo => tools::parse::<UndoRequest>(values, limits).map(|request| format!("{request:?}")),
    }
}

/// Returns the tool and the call that a hint names, if there is nothing to fill in.
fn told(tool: ToolId, failure: &Failure) -> Option<(ToolId, Value)> {
    let [problem] = &failure.problems[..] else { panic!("{failure:?}") };
    let (named, call) = if let Some(call) = problem.hint.strip_prefix("write ") {
        (tool, call)
    } else {
        let (name, call) = problem.hint.strip_prefix("call ").unwrap().split_once(' ').unwrap();
        (ToolId::named(name).unwrap(), call)
    };
    assert_eq!(failure.suggestion, named.name());
    let mut values = serde_json::Deserializer::from_str(call).into_iter::<Value>();
    let first = values.next().unwrap();
    let rest = &call[values.byte_offset()..];
    if call.ends_with(BLANKS) {
        assert!(first.is_err() || rest.starts_with("; then "), "can be sent as it stands: {call}");
        return None;
    }
    assert!(rest.is_empty() || rest.starts_with("; then call "), "{call}");
    Some((named, first.unwrap_or_else(|error| panic!("{error}: {call}"))))
}

/// Checks a snapshot of the calls, each with the error about its form, or else about its arguments.
fn check(name: &str, tool: ToolId, calls: &[Value]) {
    let context = context(Config::default());
    let mut out = String::new();
    for call in calls {
        let said = match in_another_form(&context, tool, &map(call), &Cancel::never()) {
            Some(failure) => {
                if let Some((tool, call)) = told(tool, &failure) {
                    parse(tool, &call).unwrap();
                }
                parse(tool, call).unwrap_err();
                layout::text(&failure)
            }
            None => match parse(tool, call) {
                Ok(request) => request,
                Err(failure) => format!("(argument by argument) {}", layout::text(&failure)),
            },
        };
        let _ = writeln!(out, "{call}\n{said}\n");
    }
    insta::assert_snapshot!(name, out);
}

#[test]
fn moves_and_removals_of_other_tools() {
    check(
        "moves_of_other_tools",
        ToolId::Move,
        &[
            json!({"source": "/a", "destination": "/b"}),
            json!({"source_path": "/a", "dest_path": "/b", "dryRun": true}),
            json!({"oldPath": "/a", "newPath": "/b", "overwrite": false}),
            json!({"file_path": "/a", "to": "/b"}),
            json!({"path": "/a", "new_name": "/b"}),
            json!({"src": "/a", "dst": "b"}),
            json!({"source": "/a"}),
            // The tool has names of its own for these.
            json!({"from": "/a", "to": "/b"}),
            json!({"from": "/a", "too": "/b"}),
        ],
    );
    check(
        "removals_of_other_tools",
        ToolId::Remove,
        &[
            json!({"path": "/a"}),
            json!({"path": "/a", "hash": HASH}),
            json!({"target_file": "/a", "file_hash": HASH, "explanation": "not needed"}),
            json!({"file_path": "/a", "file_hash": HASH}),
            json!({"file_path": "/a"}),
        ],
    );
}

#[test]
fn replacements_of_other_tools() {
    let one = |patch: Value| json!({"files": [{"file_path": "/a", "patches": [patch]}]});
    check(
        "replacements_of_other_tools",
        ToolId::Patch,
        &[
            json!({"path": "/a", "edits": [{"oldText": "x", "newText": "y"}, {"old_text": "z", "new_text": ""}], "dryRun": true}),
            json!({"filePath": "/a", "oldString": "x", "newString": "y", "replaceAll": true}),
            json!({"file_path": "/a", "old_string": "x", "new_string": "y", "instruction": "rename it", "expected_replacements": 3}),
            json!({"file_path": "/a", "oldString": "x", "newString": "y", "expected_replacements": 3}),
            json!({"path": "/a", "search": "x", "replace": "y"}),
            json!({"path": "/a", "old_sting": "x", "new_string": "y"}),
            json!({"path": "/a", "old_str": "x", "new_str": "y"}),
            json!({"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]}),
            json!({"file_path": "/a", "edits": "[{\"old_string\":\"x\",\"new_string\":\"y\"}]"}),
            json!({"edits": [{"file_path": "/a", "old_string": "x", "new_string": "y"}, {"file_path": "/b", "old_string": "x", "new_string": "y"}, {"file_path": "/a", "old_string": "z", "new_string": ""}]}),
            json!({"file_path": "/a", "patches": {"old_string": "x", "new_string": "y"}}),
            json!({"TargetFile": "/a", "TargetContent": "x", "ReplacementContent": "y", "AllowMultiple": false}),
            json!({"files": [{"file_path": "/a", "old_string": "x", "new_string": "y"}]}),
            json!({"files": [{"path": "/a", "edits": [{"old_text": "x", "new_text": "y"}]}]}),
            json!({"files": [{"path": "/a", "encoding": "gbk", "patches": [{"old_string": "x", "new_string": "y"}]}], "dry_run": true}),
            one(json!({"search": "x", "replace": "y"})),
            json!({"path": "/a", "edits": [{"oldText": "x", "newText": "y"}], "old_str": "z", "files": []}),
            // Something is missing, or something else is wrong.
            json!({"path": "/a"}),
            json!({"path": "/a", "old_str": "x"}),
            json!({"file_path": "/a", "content": "y"}),
            json!({"edits": [{"oldText": "x", "newText": "y"}]}),
            json!({"path": "/a", "edits": [{"oldText": 5, "newText": "y"}]}),
            json!({"path": "/a", "edits": "x"}),
            json!({"path": "/a", "edits": [{"oldText": "a\rb", "newText": "y"}]}),
            json!({"path": "/a", "edits": []}),
            // A slip is not the form of another tool.
            one(json!({"old_sting": "x", "new_string": "y"})),
            json!({"file_path": "/a", "old_string": "x", "new_string": "y", "colour": 1}),
        ],
    );
}

#[test]
fn lines_of_other_tools() {
    let one = |patch: Value| json!({"files": [{"file_path": "/a", "patches": [patch]}]});
    check(
        "lines_of_other_tools",
        ToolId::Patch,
        &[
            one(json!({"start": 1, "end": 2, "old_string": "x", "new_string": "y"})),
            one(json!({"start": 1, "end": 2, "range_hash": HASH, "new_string": "y"})),
            one(json!({"line_start": 1, "line_end": 2, "contents": "y"})),
            one(json!({"old_string": "x", "new_string": "y", "ranges": [{"start_line": 1, "endLine": 2}]})),
            one(json!({"old_string": "x", "new_string": "y", "ranges": [[1, 2], [5, 5]]})),
            one(json!({"old_string": "x", "new_string": "y", "ranges": {"start": 1, "end": 2}})),
            one(json!({"old_string": "x", "new_string": "y", "line": 7})),
            json!({"file_path": "/a", "start": 3, "end": 4, "old_string": "x", "new_string": "y"}),
            json!({"file_path": "/a", "line_start": 3, "line_end": 4, "contents": "y", "range_hash": HASH}),
            json!({"path": "/a", "start_line": "3", "end_line": -1, "content": "y"}),
            json!({"file_path": "/a", "line_range": [3, 4], "old_string": "x", "new_string": "y"}),
            json!({"file_path": "/a", "start": 4, "end": 3, "old_string": "x", "new_string": "y"}),
        ],
    );
    check(
        "deletions_of_other_tools",
        ToolId::Delete,
        &[
            json!({"file_path": "/a", "file_hash": HASH, "start": 3, "end": 4, "range_hash": HASH}),
            json!({"path": "/a", "line_start": 3, "line_end": 4}),
            json!({"file_path": "/a", "file_hash": HASH, "ranges": [[3, 4]]}),
            json!({"path": "/a", "file_hash": HASH}),
            json!({"file_path": "/a", "file_hash": HASH}),
        ],
    );
}

#[test]
fn commands_of_other_tools() {
    check(
        "commands_of_other_tools",
        ToolId::Patch,
        &[
            json!({"command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y"}),
            json!({"command": "str_replace", "path": "/a", "old_str": "x"}),
            json!({"command": "insert", "path": "/a", "insert_line": 0, "new_str": "y\n"}),
            json!({"command": "insert", "path": "/a", "insert_line": 3, "insert_text": "y", "file_hash": HASH}),
            json!({"command": "create", "path": "/a", "file_text": "x\n"}),
            json!({"command": "view", "path": "/a"}),
            json!({"command": "view", "path": "/a", "view_range": [11, -1]}),
            json!({"command": "undo_edit", "path": "/a"}),
            json!({"file_path": "/a", "insert_line": 3, "insert_text": "y", "file_hash": HASH}),
        ],
    );
    let patch_alone = context(Config { tools: "claude-code".parse().unwrap(), ..Config::default() });
    for call in [
        json!({"command": "insert", "path": "/a", "insert_line": 3, "insert_text": "y"}),
        json!({"patch": "*** Add File: /a\n+x\n"}),
    ] {
        assert_eq!(
            in_another_form(&patch_alone, ToolId::Patch, &map(&call), &Cancel::never()),
            None,
            "{call}"
        );
    }
}

#[test]
fn reads_of_other_tools() {
    check(
        "reads_of_other_tools",
        ToolId::Get,
        &[
            json!({"path": "/a"}),
            json!({"filePath": "/a", "offset": 5, "limit": 3}),
            json!({"absolute_path": "/a", "limit": "3"}),
            json!({"file_path": "/a", "offset": 0, "limit": 3}),
            json!({"path": "/a", "view_range": [3, -1]}),
            json!({"path": "/a", "start_line": 3, "end_line": 9}),
            json!({"file_path": "/a", "start": 3, "end": 9, "encoding": "gbk"}),
            json!({"path": "/a", "tail": 20}),
            json!({"path": "/a", "head": 20}),
            json!({"paths": ["/a", "/b"]}),
            json!({"files": ["/a", {"path": "/b", "start_line": 3}]}),
            json!({"file_path": "/a", "ranges": [{"start": 3, "end": 9}, {"start": 20}], "line_numbers": false}),
            json!({"file_path": "/a", "ranges": []}),
            json!({"files": [{"file_path": "/a", "ranges": [[3, 9]]}]}),
            json!({"target_file": "/a", "should_read_entire_file": true, "explanation": "to see it"}),
            json!({"path": "/a", "limit": "many"}),
            json!({"command": "view", "path": "/a", "view_range": [3, 9]}),
        ],
    );
}

#[test]
fn new_text_of_other_tools() {
    check(
        "creations_of_other_tools",
        ToolId::Create,
        &[
            json!({"path": "/a", "content": "x"}),
            json!({"file_path": "/a", "file_text": "x"}),
            json!({"filename": "/a", "text": "x", "encoding": "gbk"}),
            json!({"command": "create", "path": "/a", "file_text": "x"}),
            json!({"path": "/a"}),
            json!({"file_path": "/a", "contents": "*** Update File: x\n@@\n-a\n+b\n"}),
        ],
    );
    check(
        "insertions_of_other_tools",
        ToolId::Insert,
        &[
            json!({"path": "/a", "insert_line": 3, "new_str": "y", "file_hash": HASH}),
            json!({"file_path": "/a", "insert_line": 0, "insert_text": "y"}),
            json!({"file_path": "/a", "file_hash": HASH, "line": 3, "contents": "y"}),
            json!({"file_path": "/a", "file_hash": HASH, "content": "y"}),
        ],
    );
    check(
        "appends_of_other_tools",
        ToolId::Append,
        &[json!({"path": "/a", "text": "y", "file_hash": HASH}), json!({"path": "/a", "content": "y"})],
    );
}

#[test]
fn diffs() {
    let v4a = "*** Begin Patch\n*** Update File: /a.py\n@@ def f():\n a\n-b\n+c\n+\n d\n@@\n-e\n*** Update File: /b.py\n@@\n+new\n*** End of File\n*** End Patch\n";
    let unified = "diff --git a/x.c b/x.c\nindex 1..2 100644\n--- a/x.c\n+++ b/x.c\n@@ -1,3 +1,3 @@ int main()\n a\n-b\n+c\n \n@@ -9 +9 @@\n--- x\n+++ y\n\\ No newline at end of file\n";
    let blocks = "x.py\n```python\n<<<<<<< SEARCH\na\n=======\nb\nc\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\n:start_line:3\n-------\nd\n=======\n>>>>>>> REPLACE\n```\n";
    check(
        "diffs",
        ToolId::Patch,
        &[
            json!({ "input": v4a }),
            json!({"patch": v4a, "dry_run": true}),
            json!({"file_path": "/a/x.c", "diff": unified, "file_hash": HASH}),
            json!({ "patch": unified }),
            json!({ "diff": blocks }),
            json!({"path": "/x.py", "new_string": blocks}),
            json!({"file_path": "/a", "old_string": "@@ -1 +1 @@\n-x\r\n+y\r\n"}),
            json!({"file_path": "/a", "contents": "@@\n-x\n+y"}),
            json!({"files": [{"file_path": "/a", "patches": "@@\n-x\n+y\n"}, {"file_path": "/b", "diff": "@@\n-x\n+y\n"}]}),
            json!({"patch": "*** Begin Patch\n*** Add File: /new.txt\n+one\n+two\n*** End Patch"}),
            json!({"patch": "*** Add File: /new.txt\n+one\n*** Update File: /a\n*** Move to: /b\n@@\n-x\n+y\n*** Delete File: /c\n"}),
            json!({"patch": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n"}),
            json!({"file_path": "/b", "patch": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n"}),
            // No diffs, or diffs in the place of a file's text.
            json!({"patch": "*** Delete File: /c\n"}),
            json!({"file_path": "/a", "patch": "nothing of the kind"}),
            json!({"file_path": "/a.patch", "old_string": "@@\n-x\n+y\n", "new_string": "@@\n-x\n+z\n"}),
            json!({"file_path": "/a.patch", "new_string": "@@\n-x\n+y\n", "ranges": [{"start": 1, "range_hash": HASH}]}),
        ],
    );
}

/// A hint never cuts a text within its quotes: the call could be sent like that.
#[test]
fn a_long_call_is_told_with_blanks() {
    let call = |old: usize, new: usize, count: usize| {
        let edits: Vec<Value> =
            (0..count).map(|_| json!({"oldText": "o".repeat(old), "newText": "\"\n".repeat(new)})).collect();
        json!({"path": "/a", "edits": edits})
    };
    let mut out = String::new();
    for output in [Output::Text, Output::Json] {
        let context = context(Config { output, ..Config::default() });
        for (old, new, count) in
            [(1_000, 500, 1), (1_800, 20, 1), (3_000, 100, 1), (9_000, 9_000, 1), (10, 10, 200), (150, 5, 40)]
        {
            let call = call(old, new, count);
            let failure = in_another_form(&context, ToolId::Patch, &map(&call), &Cancel::never()).unwrap();
            let whole = told(ToolId::Patch, &failure);
            if let Some((_, whole)) = &whole {
                assert_eq!(whole.as_object().unwrap().values().filter(|value| value.is_string()).count(), 3);
            }
            let hint = &failure.problems[0].hint;
            let told = match output {
                Output::Text => layout::text(&failure),
                Output::Json => layout::json(&failure),
            };
            assert!(told.contains("stands for") == hint.ends_with(BLANKS) && told.len() < 8_000, "{told}");
            let shown = if whole.is_some() { "whole" } else { hint };
            let _ = writeln!(out, "{output:?} {count} of {old} and {new}: {shown}");
        }
    }
    insta::assert_snapshot!("long_calls", out);
}

#[cfg(unix)]
#[test]
fn a_relative_path_is_that_of_the_file_that_it_means() {
    let world = World::new();
    world.write("src/t.txt", "x\n");
    let mut session = world.serve(&[]);
    let diff = "--- a/src/t.txt\n+++ b/src/t.txt\n@@ -1 +1 @@\n-x\n+y\n";
    let reply = world.call(&mut session, "patch_text_file_contents", &json!({ "patch": diff }));
    insta::assert_snapshot!(reply.text, @r#"
    error: invalid_arguments: patch_text_file_contents does not take a diff in `patch`; nothing was written
    suggestion: patch_text_file_contents
    hint: write {"file_path":"$ROOT/src/t.txt","old_string":"x\n","new_string":"y\n"}
    "#);
    let reply = world.call(
        &mut session,
        "patch_text_file_contents",
        &json!({"path": "no.txt", "old_str": "x", "new_str": "y"}),
    );
    insta::assert_snapshot!(reply.text, @r#"
    error: invalid_arguments: patch_text_file_contents does not take `path`, `old_str`, `new_str`; `no.txt` is no absolute path, and no file was found that it could mean; nothing was written
    suggestion: patch_text_file_contents
    hint: write {"file_path":"no.txt","old_string":"x","new_string":"y"}
    "#);
    let reply = world.call(
        &mut session,
        "patch_text_file_contents",
        &json!({"file_path": "$ROOT/src/t.txt", "old_string": "x\n", "new_string": "y\n"}),
    );
    assert!(!reply.is_error, "{}", reply.text);
}

fn request(call: &Value) -> PatchRequest {
    tools::parse::<PatchRequest>(map(call), &Limits::default()).unwrap()
}

/// Draws texts of lines, with characters that are special in JSON and diffs.
fn text() -> impl Strategy<Value = String> {
    let line =
        prop_oneof![3 => "[ -~]{0,9}", 1 => "[-+@*<>= ]{0,7}", 1 => "\\PC{0,5}", 1 => "[<>…\"\\\\]{0,5}"];
    let ended = (line, prop_oneof![3 => Just("\n"), 1 => Just("\r\n"), 1 => Just("")]);
    prop::collection::vec(ended, 0..5)
        .prop_map(|lines| lines.into_iter().fold(String::new(), |text, (line, end)| text + &line + end))
}

/// Draws lines that no notation takes for a mark of its own.
fn plain() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z \"\\\\é]{0,9}x", 1 => "x[-+@* ]{0,7}\r?"]
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(plain(), 0..3)
}

fn joined(lines: &[&[String]]) -> String {
    lines.concat().iter().fold(String::new(), |text, line| text + line + "\n")
}

proptest! {
    #[test]
    fn a_form_is_told_with_the_callers_own_texts(
        edits in prop::collection::vec((text(), text()), 1..4), form in 0..6_usize, dry_run in prop::option::of(any::<bool>()),
    ) {
        let named = |old: &str, new: &str| -> Vec<Value> {
            edits.iter().map(|(before, after)| json!({old: before, new: after})).collect()
        };
        let (before, after) = &edits[0];
        let mut call = match form {
            0 => json!({"path": "/a", "edits": named("oldText", "newText")}),
            1 => json!({"file_path": "/a", "patches": named("search", "replace")}),
            2 => json!({"files": [{"path": "/a", "edits": Value::from(named("old_str", "new_str")).to_string()}]}),
            3 => json!({"filePath": "/a", "oldString": before, "newString": after}),
            4 => json!({"command": "str_replace", "path": "/a", "old_str": before, "new_str": after}),
            _ => json!({"files": [{"file_path": "/a", "old_string": before, "new_string": after}]}),
        };
        let patches = if form < 3 { named("old_string", "new_string") } else { vec![json!({"old_string": before, "new_string": after})] };
        let mut expected = json!({"files": [{"file_path": "/a", "patches": patches}]});
        if let Some(dry_run) = dry_run {
            call["dry_run"] = json!(dry_run);
            expected["dry_run"] = json!(dry_run);
        }
        let failure = in_another_form(&context(Config::default()), ToolId::Patch, &map(&call), &Cancel::never()).unwrap();
        let (tool, told) = told(ToolId::Patch, &failure).unwrap();
        prop_assert_eq!(tool, ToolId::Patch);
        prop_assert_eq!(request(&told), request(&expected));
        prop_assert!(layout::text(&failure).ends_with(&failure.problems[0].hint));
    }

    #[test]
    fn a_diff_is_told_hunk_by_hunk(
        hunks in prop::collection::vec((lines(), lines(), lines(), lines()), 1..4), notation in 0..3_usize,
    ) {
        // Hunks that change nothing, or that have no old line, are left out: a hint does not repeat them as
        // they are.
        let hunks: Vec<_> = hunks.into_iter().filter(|(head, old, new, tail)| old != new && head.len() + old.len() + tail.len() > 0).collect();
        prop_assume!(!hunks.is_empty());
        let lead = |lead: &str, lines: &[String]| lines.iter().fold(String::new(), |text, line| text + lead + line + "\n");
        let mut diff = ["*** Begin Patch\n*** Update File: /a\n", "--- a//a\n+++ b//a\n", "/a\n"][notation].to_owned();
        let mut patches = Vec::new();
        for (head, old, new, tail) in &hunks {
            let (before, after) = (joined(&[head, old, tail]), joined(&[head, new, tail]));
            let _ = match notation {
                2 => write!(diff, "<<<<<<< SEARCH\n{before}=======\n{after}>>>>>>> REPLACE\n"),
                _ => write!(diff, "@@ x\n{}{}{}{}", lead(" ", head), lead("-", old), lead("+", new), lead(" ", tail)),
            };
            patches.push(json!({"old_string": before, "new_string": after}));
        }
        let failure = in_another_form(&context(Config::default()), ToolId::Patch, &map(&json!({ "patch": diff })), &Cancel::never()).unwrap();
        let (_, told) = told(ToolId::Patch, &failure).unwrap();
        prop_assert_eq!(request(&told), request(&json!({"files": [{"file_path": "/a", "patches": patches}]})));
    }

    /// For any call: if the tool accepts it, it gets no hint about its form; and the call in a hint is
    /// accepted.
    #[test]
    fn no_right_call_is_told_in_another_form(call in any_call(), tool in prop::sample::select(ToolId::ALL), output in prop::sample::select(vec![Output::Text, Output::Json])) {
        let context = context(Config { output, ..Config::default() });
        let Value::Object(values) = &call else { return Ok(()) };
        let Some(failure) = in_another_form(&context, tool, values, &Cancel::never()) else { return Ok(()) };
        prop_assert!(parse(tool, &call).is_err(), "{:?}", failure);
        if let Some((tool, told)) = told(tool, &failure) {
            prop_assert!(parse(tool, &told).is_ok(), "{}", told);
        }
        prop_assert!(layout::text(&failure).chars().count() < 8_000);
    }
}

/// Draws JSON that is close to a call of some tool.
fn any_call() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..30_i64).prop_map(Value::from),
        "[a-f0-9]{12}|/[a-z]{1,5}|[\\r\\nx]{0,3}|\\[\\]|-?[0-9]{1,3}".prop_map(Value::from),
        prop::sample::select(vec![
            "@@\n-a\n+b\n",
            "*** Update File: /a\n@@\n a\n+b\n",
            "str_replace",
            "view",
            "insert",
            "[[1,2]]"
        ])
        .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "files",
        "file_path",
        "patches",
        "ranges",
        "start",
        "end",
        "old_string",
        "new_string",
        "range_hash",
        "file_hash",
        "contents",
        "after",
        "dry_run",
        "encoding",
        "line_start",
        "path",
        "paths",
        "edits",
        "oldText",
        "new_str",
        "search",
        "replaceAll",
        "command",
        "insert_line",
        "offset",
        "limit",
        "tail",
        "view_range",
        "diff",
        "patch",
        "content",
        "line",
        "start_line",
        "odd",
        "expected_replacements",
        "pattern",
        "query",
        "glob",
        "exclude_pattern",
        "case_sensitive",
        "recursive",
        "depth",
        "max_results",
        "-C",
    ]);
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            3 => prop::collection::vec((key.clone(), inner), 1..6).prop_map(|all| {
                all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
            }),
        ]
    })
}
