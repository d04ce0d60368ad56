//! Hints are followed to the letter: the call in a hint works, and edits the place that was meant.

use serde_json::{Value, json};

use crate::session::Session;
use crate::world::{Entry, Reply, World};

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";
const CREATE: &str = "create_text_file";
const INSERT: &str = "insert_text_file_contents";
const APPEND: &str = "append_text_file_contents";
const DELETE: &str = "delete_text_file_contents";

/// A file in a root, and a client that edits it.
struct Client {
    world: World,
    session: Session,
}

impl Client {
    fn new(text: &str) -> Self {
        let world = World::new();
        world.write("t.txt", text);
        let session = world.serve(&[]);
        Self { world, session }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Reply {
        self.world.call(&mut self.session, tool, arguments)
    }

    /// Makes a call that must fail, and returns the error.
    fn fails(&mut self, tool: &str, arguments: &Value) -> String {
        let reply = self.call(tool, arguments);
        assert!(reply.is_error, "{}", reply.text);
        reply.text
    }

    #[track_caller]
    fn succeeds(&mut self, tool: &str, arguments: &Value) -> String {
        let reply = self.call(tool, arguments);
        assert!(!reply.is_error, "{}", reply.text);
        reply.text
    }

    /// Reads as a hint says, which must suggest this tool. Returns a digest from the reply.
    #[track_caller]
    fn read_as(&mut self, said: &str, digest: &str) -> String {
        assert!(said.contains("\nsuggestion: get_text_file_contents\n"), "{said}");
        let read = self.succeeds(GET, &named(said, "get_text_file_contents "));
        read.split_once(digest).unwrap().1.split(' ').nth(1).unwrap().to_owned()
    }

    fn text(&self) -> String {
        match self.world.tree().get("t.txt") {
            Some(Entry::File(bytes)) => String::from_utf8(bytes.clone()).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

/// Returns the JSON value that follows some words in the hint.
#[track_caller]
fn named(said: &str, words: &str) -> Value {
    let hint = said.split_once("\nhint: ").unwrap().1;
    let from = hint.split_once(words).unwrap_or_else(|| panic!("{hint}")).1;
    serde_json::Deserializer::from_str(from).into_iter().next().unwrap().unwrap()
}

fn patch(patch: &Value) -> Value {
    json!({"files": [{"file_path": "$ROOT/t.txt", "patches": [patch]}]})
}

/// Returns `line 1`, `line 2` and so on; the line `other` has another text.
fn lines(count: u32, other: Option<u32>) -> String {
    let line = |number| match other {
        Some(other) if other == number => format!("LINE {number}, changed\n"),
        _ => format!("line {number}\n"),
    };
    (1..=count).map(line).collect()
}

/// Returns an error without its long middle, for a snapshot.
fn ends(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let is_kept = |index: usize| index < 8 || index + 5 > lines.len();
    let kept = lines.iter().enumerate().filter(|(index, _)| is_kept(*index)).map(|(_, line)| *line);
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_insertion_finds_its_line_again() {
    let mut client = Client::new("a\nb\nc\n");
    let after = |line: u64, hash: &str| json!({"file_path": "$ROOT/t.txt", "file_hash": hash, "after": line, "contents": "x"});
    let old = client.world.filled_text("$HASH(t.txt)");
    client.world.write("t.txt", "new1\nnew2\na\nb\nc\n");
    let said = client.fails(INSERT, &after(1, &old));
    insta::assert_snapshot!(said, @r#"
    error: hash_mismatch: the file is not the one that file_hash was taken of, and its line 1 may be another one now; nothing was written
    $ROOT/t.txt lines 1-4 of 5 file_hash 5553223e97ff9d04 range_hash e738f8c37ec6c06c
    1	new1
    2	new2
    3	a
    4	b
    suggestion: get_text_file_contents
    hint: look which line is meant now: get_text_file_contents {"file_path":"$ROOT/t.txt","line_start":1,"line_end":5}; then send that line with the file_hash of that read
    "#);
    let hash = client.read_as(&said, "file_hash");
    client.succeeds(INSERT, &after(3, &hash));
    assert_eq!(client.text(), "new1\nnew2\na\nx\nb\nc\n");
    // The line after which to insert may be another one now. The top of the file is always the top.
    client.world.write("t.txt", "a\n");
    assert!(client.fails(INSERT, &after(1, &old)).contains("its line 1 may be another one now"));
    let said = client.fails(INSERT, &after(0, &old));
    let hash = named(&said, "\"file_hash\": ");
    client.succeeds(INSERT, &after(0, hash.as_str().unwrap()));
    assert_eq!(client.text(), "x\na\n");
}

#[test]
fn a_digest_is_not_given_of_what_is_not_shown() {
    let mut client = Client::new(&lines(60, None));
    let range = |hash: &str| json!({"start": 3, "end": 52, "range_hash": hash});
    let said = client.fails(PATCH, &patch(&json!({"ranges": [range("0123456789ab")], "new_string": "x"})));
    insta::assert_snapshot!(ends(&said), @r#"
    error: range_hash_mismatch: the bytes of lines 3-52 are not those that range_hash was taken of; nothing was written
    $ROOT/t.txt lines 3-52 of 60 file_hash 48f12c137e3b430d
    3	line 3
    4	line 4
    5	line 5
    6	line 6
    7	line 7
    8	line 8
    22	line 22
    [cut]
    suggestion: get_text_file_contents
    hint: read lines 3-52: get_text_file_contents {"file_path":"$ROOT/t.txt","line_start":3,"line_end":52}; if that is what you mean, send them as "ranges" with the range_hash of that read
    "#);
    let hash = client.read_as(&said, "range_hash");
    client.succeeds(PATCH, &patch(&json!({"ranges": [range(&hash)], "new_string": "x"})));
    assert_eq!(client.text().lines().count(), 11);

    // One of several ranges is cut because it is long, in a file that must be read with its encoding.
    let mut client = Client::new("");
    client.world.write("t.txt", [&b"caf\xe9\n"[..], &[b'w'; 3000], b"\nend\n"].concat());
    let delete = |hash: &str| {
        let ranges = json!([{"start": 1, "end": 1, "range_hash": "$RANGE(t.txt,1,1)"}, {"start": 2, "end": 2, "range_hash": hash}]);
        json!({"file_path": "$ROOT/t.txt", "encoding": "latin1", "file_hash": "$HASH(t.txt)", "ranges": ranges})
    };
    let said = client.fails(DELETE, &delete("0123456789ab"));
    insta::assert_snapshot!(said.lines().last().unwrap(), @r#"hint: read line 2: get_text_file_contents {"file_path":"$ROOT/t.txt","line_start":2,"line_end":2,"encoding":"latin1"}; if that is what you mean, in place of ranges[1] send them as "ranges" with the range_hash of that read; or send, without ranges, the part of it that is to change"#);
    let hash = client.read_as(&said, "range_hash");
    client.succeeds(DELETE, &delete(&hash));
    assert_eq!(client.text(), "end\n");
}

#[test]
fn of_several_ranges_none_is_dropped() {
    let old = |ranges: &Value| patch(&json!({"old_string": "x", "new_string": "y", "ranges": ranges}));
    // The place that no other range names is proposed.
    let mut client = Client::new("x\nq\nq\nq\nq\nx2\nx\n");
    let said = client.fails(PATCH, &old(&json!([{"start": 1, "end": 1}, {"start": 6, "end": 6}])));
    insta::assert_snapshot!(said, @r#"
    error: content_mismatch: ranges[1]: the text of line 6 is not old_string: it stands at line 7; nothing was written
    $ROOT/t.txt line 6 of 7 file_hash 184b8debe8e2a173 range_hash c3e7d348748d0047
    6	x2
    found at: line 7 (below "x2"), line 1 (above "q")
    suggestion: patch_text_file_contents
    hint: old_string stands at line 7: in place of ranges[1] send {"start":7,"end":7}
    "#);
    client
        .succeeds(PATCH, &old(&json!([{"start": 1, "end": 1}, named(&said, "in place of ranges[1] send ")])));
    assert_eq!(client.text(), "y\nq\nq\nq\nq\nx2\ny\n");

    // There are more places: the closest one that no other range names is proposed.
    let mut client = Client::new("x\nx2\nx\nq\nx\n");
    let said = client.fails(PATCH, &old(&json!([{"start": 1, "end": 1}, {"start": 2, "end": 2}])));
    insta::assert_snapshot!(said.lines().last().unwrap(), @r#"hint: old_string stands at line 3: in place of ranges[1] send {"start":3,"end":3}"#);
    client
        .succeeds(PATCH, &old(&json!([{"start": 1, "end": 1}, named(&said, "in place of ranges[1] send ")])));
    assert_eq!(client.text(), "y\nx2\ny\nq\nx\n");

    // There are fewer: the other ranges have all of them.
    let mut client = Client::new("x\nx2\n");
    let said = client.fails(PATCH, &old(&json!([{"start": 1, "end": 1}, {"start": 2, "end": 2}])));
    insta::assert_snapshot!(said.lines().last().unwrap(), @"hint: old_string stands only where other ranges name it: leave ranges[1] out, or make it a patch of its own, with its text as old_string");
    client.succeeds(PATCH, &old(&json!([{"start": 1, "end": 1}])));
    assert_eq!(client.text(), "y\nx2\n");

    // One of several ranges has another text.
    let mut client = Client::new("x\nq\nother\n");
    let said = client.fails(PATCH, &old(&json!([{"start": 1, "end": 1}, {"start": 3, "end": 3}])));
    insta::assert_snapshot!(said.lines().last().unwrap(), @"hint: old_string stands only where other ranges name it: leave ranges[1] out, or make it a patch of its own, with its text as old_string");

    // The same by digest.
    let mut client = Client::new("a\nb\nc\nd\n");
    let b = client.world.filled_text("$RANGE(t.txt,2,2)");
    let first = json!({"start": 1, "end": 1, "range_hash": "$RANGE(t.txt,1,1)"});
    let by_hash = |range: &Value| patch(&json!({"ranges": [first.clone(), range], "new_string": "y"}));
    let said = client.fails(PATCH, &by_hash(&json!({"start": 3, "end": 3, "range_hash": b})));
    client.succeeds(PATCH, &by_hash(&named(&said, "in place of ranges[1] send ")));
    assert_eq!(client.text(), "y\ny\nc\nd\n");
    let said = client.fails(PATCH, &by_hash(&json!({"start": 3, "end": 3, "range_hash": "0123456789ab"})));
    client.succeeds(PATCH, &by_hash(&named(&said, "in place of ranges[1] send ")));
    assert_eq!(client.text(), "y\ny\ny\nd\n");
}

#[test]
fn a_long_text_is_shown_where_it_differs() {
    let old = lines(50, Some(41));
    let by_hash = |range: &Value, hash: &str| {
        let mut range = range[0].clone();
        range["range_hash"] = json!(hash);
        patch(&json!({"ranges": [range], "new_string": "x"}))
    };
    let ranged = patch(&json!({"old_string": old, "new_string": "x", "ranges": [{"start": 1, "end": 50}]}));
    let by_text = patch(&json!({"old_string": old, "new_string": "x"}));
    let mut client = Client::new(&lines(60, None));
    let said = client.fails(PATCH, &ranged);
    insta::assert_snapshot!("a_long_text_ranged", said);
    let hash = client.read_as(&said, "range_hash");
    client.succeeds(PATCH, &by_hash(&json!([{"start": 1, "end": 50}]), &hash));
    assert_eq!(client.text().lines().count(), 11);
    // A text without a range may begin and end within lines. A digest of the lines would replace more than
    // the text.
    let mut client = Client::new(&lines(60, None));
    let said = client.fails(PATCH, &by_text);
    insta::assert_snapshot!("a_long_text_by_text", said);
    client.read_as(&said, "range_hash");
    client.succeeds(PATCH, &patch(&json!({"old_string": lines(50, None), "new_string": "x\n"})));
    assert_eq!(client.text().lines().count(), 11);
}

#[test]
fn a_long_line_is_shown_where_it_differs() {
    let line = |word: &str| format!("{}{word}{}\n", "0123456789".repeat(1500), "abcdefghij".repeat(1500));
    let ranged =
        patch(&json!({"old_string": line("old"), "new_string": "x", "ranges": [{"start": 2, "end": 2}]}));
    let by_text = patch(&json!({"old_string": line("old"), "new_string": "x"}));
    for (what, call) in [("ranged", ranged), ("by_text", by_text)] {
        let mut client = Client::new(&format!("first\n{}last\n", line("new")));
        let said = client.fails(PATCH, &call);
        let shown = said.replace(&"abcdefghij".repeat(150), "$MANY");
        insta::assert_snapshot!(format!("a_long_line_{what}"), shown);
        client.succeeds(PATCH, &patch(&json!({"old_string": "789newabc", "new_string": "789otherabc"})));
        assert_eq!(client.text(), format!("first\n{}last\n", line("other")));
    }
}

/// Programs get the same in JSON.
#[test]
fn what_is_cut_is_marked_as_json_too() {
    let world = World::new();
    world.write("t.txt", lines(60, None));
    let mut session = world.serve(&["--output", "json"]);
    let call =
        patch(&json!({"old_string": lines(50, Some(41)), "new_string": "x", "ranges": [{"start": 1}]}));
    let told: Value = serde_json::from_str(&world.call(&mut session, PATCH, &call).raw).unwrap();
    let error = &told["errors"][0];
    assert_eq!((&error["start"], &error["end"], &error["actual_start"]), (&json!(1), &json!(60), &json!(40)));
    assert!(error["actual"].as_str().unwrap().starts_with("line 40\nline 41\n"), "{error}");
    assert_eq!(error["actual_truncated"], json!(true));
    assert_eq!(told["suggestion"], GET);
    let near = &error["nearest"][0];
    assert_eq!((&near["start"], &near["end"], &near["actual_start"]), (&json!(1), &json!(50), &json!(40)));
    assert_eq!(near["actual_truncated"], json!(true));
}

#[cfg(unix)]
#[test]
fn what_a_dangling_link_leads_to_can_be_created() {
    let mut client = Client::new("");
    client.world.link("link", "new/target.txt");
    let edit =
        json!({"files": [{"file_path": "$ROOT/link", "patches": [{"old_string": "", "new_string": "x"}]}]});
    let said = client.fails(PATCH, &edit);
    insta::assert_snapshot!(said, @r#"
    error: not_found: $ROOT/link is a symbolic link to $ROOT/new/target.txt, which does not exist; nothing was written
    in $ROOT/link
    suggestion: create_text_file
    hint: to create the file that it leads to, call create_text_file {"file_path":"$ROOT/new/target.txt","contents":"x"}
    "#);
    let taken = client.fails(CREATE, &json!({"file_path": "$ROOT/link", "contents": "x"}));
    insta::assert_snapshot!(taken, @r#"
    error: already_exists: $ROOT/link already exists: it is a symbolic link to $ROOT/new/target.txt, which does not exist; nothing was written
    in $ROOT/link
    suggestion: create_text_file
    hint: to create the file that it leads to, call create_text_file {"file_path":"$ROOT/new/target.txt","contents":"x"}
    "#);
    let create = named(&said, "create_text_file ");
    assert_eq!(create, named(&taken, "create_text_file "));
    client.succeeds(CREATE, &create);
    let target = client.world.tree().remove("new/target.txt");
    assert_eq!(target, Some(Entry::File(b"x".to_vec())));
}

#[test]
fn a_file_in_the_way_is_replaced_by_the_encoding_that_it_looks_like() {
    let mut client = Client::new("");
    let text = shift_jis("日本語のテキストです。文字コードは何でしょうか。\n");
    client.world.write("t.txt", &text);
    let said = client.fails(CREATE, &json!({"file_path": "$ROOT/t.txt", "contents": "x"}));
    insta::assert_snapshot!(said, @r#"
    error: already_exists: $ROOT/t.txt already exists; nothing was written
    in $ROOT/t.txt
    file_hash: 90e36ec7e3c39b4b
    total_lines: 1
    suggestion: patch_text_file_contents
    hint: to replace everything in it, call patch_text_file_contents {"file_path":"$ROOT/t.txt","ranges":[{"start":1,"range_hash":"90e36ec7e3c39b4b"}],"new_string":"x","encoding":"shift_jis"}
    "#);
    client.succeeds(PATCH, &named(&said, "patch_text_file_contents "));
    assert_eq!(client.text(), "x\n");
}

/// Returns the text in `shift_jis`.
fn shift_jis(text: &str) -> Vec<u8> {
    mcp_text_editor_core::encoding::Label::parse("shift_jis").unwrap().encoding.encode(text).unwrap()
}

#[test]
fn a_slash_at_the_end_of_a_path_is_left_out() {
    let mut client = Client::new("a\n");
    let said = client.fails(GET, &json!({"file_path": "$ROOT/t.txt/"}));
    insta::assert_snapshot!(said, @r"
    error: not_a_directory: $ROOT/t.txt/ ends in a slash, but is a file, not a directory
    in $ROOT/t.txt/
    suggestion: get_text_file_contents
    hint: send the path without the slash: $ROOT/t.txt
    ");
    client.succeeds(GET, &json!({"file_path": said.rsplit_once(' ').unwrap().1}));
    let create = |path: &str| json!({"file_path": path, "contents": "x"});
    let said = client.fails(CREATE, &create("$ROOT/new/"));
    insta::assert_snapshot!(said, @r"
    error: is_a_directory: $ROOT/new/ ends in a slash, so it names a directory, and there is none; nothing was written
    in $ROOT/new/
    suggestion: create_text_file
    hint: send the path of a file, such as $ROOT/new; directories that are missing above it are made
    ");
    let path = said.split_once("such as ").unwrap().1.split_once(';').unwrap().0;
    client.succeeds(CREATE, &create(path));
    // If there is a directory of that name, the path means it.
    client.world.write("dir/t.txt", "");
    let said = client.fails(CREATE, &create("$ROOT/dir/"));
    assert!(said.starts_with("error: already_exists: $ROOT/dir/ already exists"), "{said}");
}

#[test]
fn an_empty_file_is_patched_without_ranges() {
    let mut client = Client::new("");
    let said =
        client.fails(PATCH, &patch(&json!({"old_string": "a", "new_string": "x", "ranges": [{"start": 1}]})));
    insta::assert_snapshot!(said, @r#"
    error: line_out_of_range: line 1 is not in the file, which has 0 lines; nothing was written
    in $ROOT/t.txt
    file_hash: e3b0c44298fc1c14
    suggestion: patch_text_file_contents
    hint: the file is empty: to put text into it, send the patch without ranges, with "old_string": ""
    "#);
    client
        .succeeds(PATCH, &patch(&json!({"old_string": named(&said, "\"old_string\": "), "new_string": "x"})));
    assert_eq!(client.text(), "x");
}

/// Returns the `file_path` that a hint says to send. It is an argument of every tool.
fn suggested(said: &str) -> String {
    let (_, path) = said.split_once("did you mean \"file_path\": ").unwrap_or_else(|| panic!("{said}"));
    let mut paths = serde_json::Deserializer::from_str(path).into_iter::<String>();
    paths.next().unwrap().unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A path in another notation, or with a slip, is an error, but the call works with the path of the hint. If
/// several files may be meant, and the edit is possible in only one of them, only that one is named.
#[test]
fn what_an_edit_holds_tells_which_file_was_meant() {
    let mut client = Client::new("");
    client.world.write("one/mod.rs", "alpha\nboth\n");
    client.world.write("two/mod.rs", "beta\nboth\n");
    let patch = |path: &str, old: &str| json!({"files": [{"file_path": path, "patches": [{"old_string": old, "new_string": "new"}]}]});
    let before = client.world.tree();
    for old in ["both", "neither"] {
        let said = client.fails(PATCH, &patch("$ROOT/mod.rs", old));
        assert!(said.contains("did you mean one of these? "), "{said}");
    }
    let said = client.fails(PATCH, &patch("$ROOT/mod.rs", "beta"));
    assert_eq!(client.world.tree(), before);
    client.succeeds(PATCH, &patch(&suggested(&said), "beta"));
    assert_eq!(client.world.tree()["two/mod.rs"], Entry::File(b"new\nboth\n".to_vec()));
}

#[test]
fn the_file_that_was_meant_is_named_as_it_is_to_be_sent() {
    for path in [
        "t.txt",
        "root/t.txt",
        "~/t.txt",
        "file://$ROOT/t.txt",
        "\"$ROOT/t.txt\"",
        "'t.txt'",
        "`$ROOT/t.txt`",
        " $ROOT/t.txt",
        "$ROOT/T.TXT",
        "$ROOT/t.tx",
        "$ROOT/t.markdown",
        "$ROOT/src/t.txt",
    ] {
        // On a file system where case does not count this file exists.
        let mut client = Client::new("one\n");
        if client.world.path(path.trim_start_matches("$ROOT/")).exists() && path != "t.txt" {
            continue;
        }
        let said = client.fails(GET, &json!({"file_path": path}));
        let read = client.succeeds(GET, &json!({"file_path": suggested(&said)}));
        assert!(read.contains("one"), "{path}: {read}");
        let patch = |path: &str, old: &str, new: &str| json!({"files": [{"file_path": path, "patches": [{"old_string": old, "new_string": new}]}]});
        let said = client.fails(PATCH, &patch(path, "one", "two"));
        assert!(said.contains("\nsuggestion: patch_text_file_contents\n"), "{said}");
        client.succeeds(PATCH, &patch(&suggested(&said), "one", "two"));
        assert_eq!(client.text(), "two\n", "{path}");
        let append = |path: &str| json!({"file_path": path, "file_hash": "$HASH(t.txt)", "contents": "more"});
        let said = client.fails(APPEND, &append(path));
        client.succeeds(APPEND, &append(&suggested(&said)));
        assert_eq!(client.text(), "two\nmore\n", "{path}");
    }
}

/// If a path in another notation names a new file, the path of the hint creates it.
#[test]
fn a_file_is_made_where_its_path_means() {
    for path in
        ["new.txt", "root/new.txt", "~/new.txt", "file://$ROOT/new.txt", "'$ROOT/new.txt'", " $ROOT/new.txt"]
    {
        let mut client = Client::new("one\n");
        let said = client.fails(CREATE, &json!({"file_path": path, "contents": "made"}));
        assert!(said.starts_with("error: path_not_absolute: "), "{said}");
        client.succeeds(CREATE, &json!({"file_path": suggested(&said), "contents": "made"}));
        assert!(client.world.tree().contains_key("new.txt"), "{path}");
    }
}

#[test]
fn a_hash_in_the_wrong_role_is_named() {
    let mut client = Client::new("one\ntwo\n");
    let insert =
        json!({"file_path": "$ROOT/t.txt", "file_hash": "$RANGE(t.txt,2,2)", "after": 2, "contents": "x"});
    let said = client.fails(INSERT, &insert);
    assert!(said.contains("file_hash is the hash of line 2, not of the file"), "{said}");
    let range = json!({"start": 2, "end": 2, "range_hash": "$HASH(t.txt)"});
    let said = client.fails(PATCH, &patch(&json!({"ranges": [range], "new_string": "x"})));
    assert!(said.contains("those that range_hash was taken of; that is the hash of the file"), "{said}");
}

/// Characters that nobody can type are spelled out, in texts and names, so that the next call can hold them.
#[test]
fn what_nobody_can_type_is_told() {
    let mut client = Client::new("one\nto the task\u{a0}list\n");
    let said = client.fails(PATCH, &patch(&json!({"old_string": "the task list", "new_string": "x"})));
    assert!(said.contains(r"; line 2, character 12: \u00a0; nothing was written"), "{said}");
    client.succeeds(PATCH, &patch(&json!({"ranges": named(&said, "\"ranges\": "), "new_string": "two"})));
    assert_eq!(client.text(), "one\ntwo\n");
    client.world.write("4.42\u{202f}PM.md", "x\n");
    let said = client.fails(GET, &json!({"file_path": "$ROOT/4.42 PM.md"}));
    assert!(said.contains(r"4.42\u202fPM.md"), "{said}");
    client.succeeds(GET, &json!({"file_path": suggested(&said)}));
}
