//! Bounds on work. Each has a name, and an error that names it. Absurd arguments of any kind are answered in
//! bounded memory, and the session goes on.

use mcp_text_editor::cli::limits;
use mcp_text_editor::limits::Limit;
use mcp_text_editor::problem::Code;
use serde_json::{Value, json};

use crate::session::Session;
use crate::world::{World, elsewhere};

/// Returns the message of a call with these arguments, as JSON text.
fn call(tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// Returns the text of a tool's result.
fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";

#[test]
#[cfg(unix)]
fn a_call_may_edit_as_many_files_as_it_may_name() {
    let hard = std::process::Command::new("sh").args(["-c", "ulimit -H -n"]).output().unwrap();
    let hard = String::from_utf8(hard.stdout).unwrap();
    if hard.trim().parse().is_ok_and(|hard: u32| hard < 4096) {
        eprintln!("skipped: no process may have more than {hard} files open here");
        return;
    }
    let world = World::new();
    let names: Vec<String> = (0..1000).map(|number| format!("{number}/{number}")).collect();
    let patch = |old: &str, new: &str| {
        let patches = json!([{"old_string": old, "new_string": new}]);
        let file = |name: &String| json!({"file_path": format!("$ROOT/{name}"), "patches": patches});
        json!({"files": names.iter().map(file).collect::<Vec<_>>()})
    };
    for name in &names {
        world.write(name, "one\n");
    }
    let arguments = ["--durability", "process", world.path("").to_str().unwrap()].map(str::to_owned);
    let arguments = arguments.each_ref().map(String::as_str);
    let mut session = Session::with_handles("-S", 64, &arguments);
    let reply = world.call(&mut session, PATCH, &patch("one", "two"));
    assert!(!reply.is_error, "{}", reply.text);
    let before = world.tree();
    assert!(before.values().all(|entry| *entry == crate::world::Entry::File(b"two\n".to_vec())));
    // If no more handles can be had, nothing is changed, and smaller calls succeed.
    let mut session = Session::with_handles("-H", 200, &arguments);
    let reply = world.call(&mut session, PATCH, &patch("two", "three"));
    assert_eq!(reply.code(), "io_error", "{}", reply.text);
    assert_eq!(world.tree(), before);
    let one =
        json!({"files": [{"file_path": "$ROOT/0/0", "patches": [{"old_string": "two", "new_string": "3"}]}]});
    let reply = world.call(&mut session, PATCH, &one);
    assert!(!reply.is_error, "{}", reply.text);
}

/// `ulimit -f` counts blocks of 512 bytes here (POSIX). A write beyond the limit ends a process that does not
/// handle the signal.
#[test]
#[cfg(unix)]
fn a_write_beyond_the_file_size_limit_is_an_error_and_leaves_nothing() {
    let world = World::new();
    let long = "line\n".repeat(40_000);
    world.write("long", &long);
    world.write("linked", &long);
    std::fs::hard_link(world.path("linked"), world.path("other")).unwrap();
    world.write("short", "one\n");
    let before = world.tree();
    let patch = |name: &str, old: &str, new: &str| json!({"file_path": format!("$ROOT/{name}"), "patches": [{"old_string": old, "new_string": new, "ranges": [{"start": 1, "end": 1}]}]});
    // If the limit is small, there is no room for the history either.
    for blocks in [200, 16, 1] {
        let options = [world.path("").to_str().unwrap().to_owned()];
        let mut session = Session::limited(&format!("ulimit -f {blocks}"), &[&options[0]]);
        let refused = [
            (PATCH, json!({"files": [patch("long", "line", "new")]})),
            (PATCH, json!({"files": [patch("linked", "line", "new")]})),
            (PATCH, json!({"files": [patch("short", "one", "new"), patch("long", "line", "new")]})),
            ("create_text_file", json!({"file_path": "$ROOT/made/for/it", "contents": long})),
            (
                "append_text_file_contents",
                json!({"file_path": "$ROOT/short", "file_hash": "$HASH(short)", "contents": long}),
            ),
        ];
        for (tool, arguments) in refused {
            let reply = world.call(&mut session, tool, &arguments);
            assert_eq!(reply.code(), "no_space", "{blocks}: {}", reply.text);
            assert!(reply.text.contains("(ulimit -f)"), "{}", reply.text);
            assert!(reply.text.contains("; nothing was written"), "{}", reply.text);
            assert_eq!(world.tree(), before, "{blocks}: {tool}");
        }
        for (old, new) in [("one", "two"), ("two", "one")] {
            let reply = world.call(&mut session, PATCH, &json!({"files": [patch("short", old, new)]}));
            assert_eq!(reply.code(), "ok", "{blocks}: {}", reply.text);
        }
        assert_eq!(world.tree(), before);
    }
}

#[test]
fn each_limit_is_named_by_its_error() {
    let world = World::new();
    world.write("a", "one\ntwo\nthree\n");
    world.write("b", "x\n".repeat(200));
    let check = |options: &[&str], tool: &str, arguments: &Value, said: &str| {
        let options: Vec<&str> = options.iter().flat_map(|option| ["--limit", option]).collect();
        let before = world.tree();
        let reply = world.call(&mut world.serve(&options), tool, arguments);
        assert_eq!(reply.code(), "too_large", "{}", reply.text);
        assert!(reply.text.contains(said), "{}", reply.text);
        assert!(
            reply.text.contains("a person can start this server with a higher --limit"),
            "{}",
            reply.text
        );
        assert_eq!(world.tree(), before);
    };
    let patch = |patches: Value| json!({"files": [{"file_path": "$ROOT/a", "patches": patches}]});
    let one = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
    check(
        &["files=1"],
        GET,
        &json!({"files": [{"file_path": "$ROOT/a"}, {"file_path": "$ROOT/a"}]}),
        "the call names 2 files, and the limit `files` is 1",
    );
    check(
        &["patches=1"],
        PATCH,
        &patch(json!([one("one", "1"), one("two", "2")])),
        "the call has 2 patches, and the limit `patches` is 1",
    );
    check(
        &["ranges=2"],
        PATCH,
        &patch(json!([
            {"old_string": "one", "new_string": "", "ranges": [{"start": 1}, {"start": 1}]},
            {"old_string": "two", "new_string": "", "ranges": [{"start": 2}]},
        ])),
        "the call has 3 ranges, and the limit `ranges` is 2",
    );
    check(
        &["text-bytes=1KiB"],
        PATCH,
        &patch(json!([one("one", &"x".repeat(2_045))])),
        "the call has 2048 bytes of text, and the limit `text-bytes` is 1 KiB",
    );
    check(
        &["values=100"],
        GET,
        &json!({"files": [{"file_path": "$ROOT/a", "ranges": vec![json!({"start": 1}); 60]}]}),
        "values, and the limit `values` is 100",
    );
    check(
        &["depth=8"],
        GET,
        &json!({"files": [[[[[[[[[1]]]]]]]]]}),
        "the arguments nest 10 levels deep, and the limit `depth` is 8",
    );
    check(
        &["file-bytes=13"],
        PATCH,
        &patch(json!([one("one", "1")])),
        "has 14 bytes, and the limit `file-bytes` is 13 bytes",
    );
    check(
        &["file-bytes=14"],
        PATCH,
        &patch(json!([one("one", "four")])),
        "would have 15 bytes, and the limit `file-bytes` is 14 bytes",
    );
    check(
        &["file-bytes=3"],
        "create_text_file",
        &json!({"file_path": "$ROOT/c", "contents": "four"}),
        "would have 4 bytes, and the limit `file-bytes` is 3 bytes",
    );
    let all = json!({"old_string": "x", "new_string": "yy", "replace_all": true});
    let everywhere = json!({"files": [{"file_path": "$ROOT/b", "patches": [all]}]});
    check(
        &["occurrences=199"],
        PATCH,
        &everywhere,
        "the patches with replace_all replace 200 occurrences in this file, and the limit `occurrences` is 199",
    );
    check(
        &["inserted-bytes=399"],
        PATCH,
        &everywhere,
        "the call puts 400 bytes of new text into this file, and the limit `inserted-bytes` is 399 bytes",
    );
    // A call exactly at the limit succeeds.
    let options = ["--limit", "occurrences=200", "--limit", "inserted-bytes=400", "--limit", "files=1"];
    assert_eq!(world.call(&mut world.serve(&options), PATCH, &everywhere).code(), "ok");
}

/// One file would take an hour, the other one does not.
#[test]
fn a_call_that_takes_too_long_is_stopped() {
    let world = World::new();
    world.write("small", "text\n");
    world.write("huge", "");
    let path = world.path("huge");
    let huge = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    if huge.set_len(1 << 40).is_err() {
        println!("skipped: the file system has no sparse files of a terabyte");
        return;
    }
    let mut session = world.serve(&["--limit", "call-seconds=1"]);
    let said = "the call was not done in time, and was stopped, and the limit `call-seconds` is 1 s";
    // In this encoding the file counts as text, so it is read to its end.
    let huge = json!({"file_path": "$ROOT/huge", "encoding": "utf-16-le"});
    let reply = world.call(&mut session, GET, &huge);
    assert_eq!(reply.code(), "too_large", "{}", reply.text);
    assert!(reply.text.contains(said), "{}", reply.text);
    let both = json!({"files": [{"file_path": "$ROOT/small"}, huge, {"file_path": "$ROOT/small"}]});
    let reply = world.call(&mut session, GET, &both);
    assert_eq!(reply.code(), "ok");
    assert!(reply.text.contains("1\ttext\n") && reply.text.contains(said), "{}", reply.text);
    let edit = json!({"files": [{"file_path": "$ROOT/huge", "encoding": "utf-16-le", "patches": [{"old_string": "a", "new_string": "b"}]}]});
    let reply = world.call(&mut session, PATCH, &edit);
    assert_eq!(reply.code(), "too_large", "{}", reply.text);
    assert!(reply.text.contains("nothing was written"), "{}", reply.text);
}

/// There are many patches, and each is searched for in the whole file.
#[test]
fn patches_by_text_are_stopped_in_time_too() {
    let world = World::new();
    world.write("a", "some text that is not looked for\n".repeat(100_000));
    let mut session = world.serve(&["--limit", "call-seconds=1"]);
    let patches: Vec<Value> =
        (0..500).map(|n| json!({"old_string": format!("text number {n}"), "new_string": ""})).collect();
    let edit = json!({"files": [{"file_path": "$ROOT/a", "patches": patches}]});
    // A fast machine finds out in time that none of the texts is there.
    let code = world.call(&mut session, PATCH, &edit).code();
    assert!(code == "too_large" || code == "no_match", "{code}");
}

/// A session for absurd calls, one after the other, and the path of a file.
struct Absurd {
    world: World,
    session: Session,
    path: String,
}

impl Absurd {
    fn new() -> Self {
        let world = World::new();
        world.write("a", "one\n");
        // A backslash would have to be escaped in JSON.
        let (session, path) =
            (world.serve(&["--tools", "all"]), world.filled_text("$ROOT/a").replace('\\', "/"));
        Self { world, session, path }
    }

    fn check(&mut self, tool: &str, arguments: &str, code: &str, said: &str) {
        let answer = self.session.ask_raw(&call(tool, arguments));
        let text = text(&answer);
        assert!(text.starts_with(&format!("error: {code}: ")), "{text}");
        assert!(text.contains(said), "{said} is not in {text}");
        assert!(text.chars().count() < 8_000);
    }

    /// Checks that the session goes on, and that no call has taken much memory.
    fn finish(mut self) {
        let reply = self.world.call(&mut self.session, GET, &json!({"file_path": "$ROOT/a"}));
        assert!(reply.text.contains("1\tone"), "{}", reply.text);
        if let Some(most) = self.session.max_memory() {
            assert!(most < 1 << 20, "{most} KiB");
        }
    }
}

fn many(item: &str, times: usize) -> String {
    let mut out = item.to_owned();
    out.reserve((item.len() + 1) * times);
    for _ in 1..times {
        out.push(',');
        out.push_str(item);
    }
    out
}

fn spelled(json: &str) -> String {
    Value::from(json).to_string()
}

const VALUES: &str = "the limit `values` is 250000";

#[test]
fn absurd_counts_and_depths() {
    let mut absurd = Absurd::new();
    let path = absurd.path.clone();
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let files = |inside: &str| format!(r#"{{"files":{inside}}}"#);
    let depth = "the arguments nest 100001 levels deep, and the limit `depth` is 64";
    absurd.check(GET, &files(&deep), "too_large", depth);
    let shallow = "[".repeat(200) + &"]".repeat(200);
    absurd.check(GET, &files(&shallow), "too_large", "the arguments nest 201 levels deep");
    absurd.check(GET, &files(&spelled(&deep)), "too_large", "100000 levels deep");
    let file = format!(r#"{{"file_path":"{path}"}}"#);
    absurd.check(GET, &files(&format!("[{}]", many(&file, 300_000))), "too_large", VALUES);
    absurd.check(GET, &files(&format!("[{}]", many(&file, 100_000))), "too_large", "names 100000 files");
    absurd.check(GET, &files(&format!("[{}]", many("0", 1_000_000))), "too_large", VALUES);
    absurd.check(GET, &files(&spelled(&format!("[{}]", many("0", 1_000_000)))), "too_large", VALUES);
    let ranges =
        |times| files(&format!(r#"[{{"file_path":"{path}","ranges":[{}]}}]"#, many(r#"{"start":1}"#, times)));
    absurd.check(GET, &ranges(1_000_000), "too_large", VALUES);
    absurd.check(GET, &ranges(100_000), "too_large", "has 100000 ranges");
    // The last of several equal keys counts.
    absurd.check(GET, &format!("{{{}}}", many(r#""files":[]"#, 1_000_000)), "too_large", VALUES);
    absurd.check(
        GET,
        &format!("{{{}}}", many(r#""files":[]"#, 100_000)),
        "invalid_arguments",
        "`file_path` or `files` is missing",
    );
    let keys: Vec<String> = (0..200_000).map(|n| format!(r#""file_path{n}":{n}"#)).collect();
    absurd.check(GET, &format!("{{{}}}", keys.join(",")), "invalid_arguments", "is not an argument");
    let odd = format!("[{}]", many(r#"{"fil":1,"nwe":2}"#, 1_000));
    absurd.check(PATCH, &files(&odd), "invalid_arguments", "is not an argument");
    // A message that is no call is refused.
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"a":{deep}}}}}"#);
    let error = absurd.session.ask_raw(&line)["error"].clone();
    assert_eq!(error["code"], -32600, "{error}");
    assert!(error["message"].as_str().unwrap().contains("the limit `depth` is 64"), "{error}");
    absurd.finish();
}

#[test]
fn absurd_texts_and_numbers() {
    let mut absurd = Absurd::new();
    let path = absurd.path.clone();
    let long = "x".repeat(5_000_000);
    let longest = "x".repeat(60_000_000);
    let new_file = format!(r#"{{"file_path":"{path}b","contents":"{longest}"}}"#);
    absurd.check("create_text_file", &new_file, "too_large", "the limit `text-bytes` is 32 MiB");
    drop((new_file, longest));
    absurd.check(GET, &format!(r#"{{"file_path":"{}"}}"#, elsewhere(&format!("/{long}"))), "io_error", "");
    absurd.check(GET, &format!(r#"{{"{long}":1}}"#), "invalid_arguments", "");
    let deep = |most| format!("{path}.d{}/f", "/d".repeat(most));
    let new_file = |more: &str| format!(r#"{{"file_path":"{}","contents":""{more}}}"#, deep(10_000));
    let missing = "10001 directories on the way to the file are missing, and a call makes 100 at most";
    for tool_and_arguments in [
        ("create_text_file", new_file("")),
        ("create_text_file", new_file(r#","dry_run":true"#)),
        ("move_text_file", format!(r#"{{"from":"{path}","to":"{}"}}"#, deep(10_000))),
    ] {
        let (tool, arguments) = tool_and_arguments;
        absurd.check(tool, &arguments, "too_large", missing);
    }
    assert_eq!(absurd.world.tree().len(), 1);
    let new_file = format!(r#"{{"file_path":"{}","contents":""}}"#, deep(99));
    assert!(text(&absurd.session.ask_raw(&call("create_text_file", &new_file))).contains("\"ok\""));
    let start = |number: &str| format!(r#"{{"file_path":"{path}","line_start":{number}}}"#);
    let no_integer = "`line_start` must be an integer";
    absurd.check(GET, &start(&format!("\"{}\"", "1".repeat(2_000_000))), "invalid_arguments", no_integer);
    let mut spelled_often = "5".to_owned();
    for _ in 0..15 {
        spelled_often = spelled(&spelled_often);
    }
    absurd.check(GET, &start(&spelled_often), "invalid_arguments", no_integer);
    // Patterns that would be compiled, or expanded.
    for tool in ["search_text_files", "list_text_files"] {
        let mut globs = |globs: &Value, said: &str| {
            let mut call = json!({"glob": globs});
            if tool == "search_text_files" {
                call["pattern"] = json!("a");
            }
            absurd.check(tool, &call.to_string(), "too_large", said);
        };
        globs(&json!("?".repeat(3_000_000)), "`glob` has 3000000 bytes, and the limit is 16 KiB");
        globs(&json!(vec!["?a"; 100_000]), "`glob` has 100000 globs, and the limit is 256");
    }
    // One new text for many places would be gigabytes.
    let places = many(r#"{"start":1}"#, 10_000);
    let new = "x".repeat(3_000_000);
    let one = format!(r#"{{"old_string":"one","new_string":"{new}","ranges":[{places}]}}"#);
    let much = format!(r#"{{"files":[{{"file_path":"{path}","patches":[{one}]}}]}}"#);
    absurd.check(PATCH, &much, "too_large", "the limit `inserted-bytes` is 256 MiB");
    // A number means the same in every spelling.
    for (number, shown) in [
        ("1e400", "9223372036854775806 of 1"),
        ("9223372036854775808", "9223372036854775806 of 1"),
        (&*"9".repeat(1_000_000), "9223372036854775806 of 1"),
        ("-0", "lines 1-1 of 1"),
        ("-1e400", "lines 1-1 of 1"),
        ("-9223372036854775808", "lines 1-1 of 1"),
    ] {
        let answer = absurd.session.ask_raw(&call(GET, &start(number)));
        assert!(text(&answer).contains(shown), "{answer}");
    }
    absurd.finish();
}

#[test]
fn patterns_of_a_person_are_bounded() {
    for option in ["--protect", "--unprotect", "--no-history-for", "--in-place"] {
        let run = |variable: &str, value: &str, arguments: &[&str]| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-text-editor"));
            let output = command.args(arguments).arg("tools").env(variable, value).output().unwrap();
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        let variable = format!("MCP_TEXT_EDITOR_{}", option[2..].replace('-', "_").to_uppercase());
        let long = "?".repeat(30_000);
        let long = format!("{long};{long};{long}");
        let many = "a;".repeat(2_000);
        for (value, wanted) in [(&*long, "and the limit is 65536"), (&*many, "and the limit is 1000")] {
            let (code, said) = run(&variable, value, &[]);
            assert_eq!(code, Some(2), "{option}: {said}");
            assert!(said.contains(&format!("{option}: ")) && said.contains(wanted), "{said}");
        }
        let (code, said) = run("NONE", "", &[option, &"{a".repeat(20_000)]);
        assert_eq!(code, Some(2), "{option}: {said}");
        assert!(said.contains("alternate groups are nested too deeply") && said.len() < 500, "{said}");
    }
}

#[test]
fn the_documents_name_every_limit() {
    let document = include_str!("../../../../docs/limits.md");
    let table = limits::markdown();
    assert!(document.contains(&table), "docs/limits.md has drifted; its first table is\n{table}");
}

/// The table of codes in docs/replies.md has each code once, in the order of the contract, and no other.
#[test]
fn the_document_has_every_code() {
    let document = include_str!("../../../../docs/replies.md");
    let table = document.split("### The codes").nth(1).unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let documented: Vec<&str> = rows.map(|(code, _)| code).collect();
    let all: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(documented, all);
}

#[test]
fn limits_are_set_once_and_by_their_names() {
    let run = |arguments: &[&str], environment: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-text-editor"))
            .args(arguments)
            .env("MCP_TEXT_EDITOR_LIMIT", environment)
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let check = |arguments: &[&str], environment: &str, said: &str| {
        let (code, error) = run(&[&["tools"], arguments].concat(), environment);
        assert_eq!(code, if said.is_empty() { 0 } else { 2 }, "{error}");
        assert!(error.contains(said), "{error}");
    };
    check(&["--limit", "files=1", "--limit", "ranges=2"], "", "");
    check(&[], "files=1;line-bytes=1MiB;", "");
    check(&["--limit", "file=1"], "", "--limit: there is no limit `file`; did you mean `files`?");
    check(&["--limit", "files=1", "--limit", "files=2"], "", "files is set more than once");
    check(&["--limit", "line-bytes=1", "--max-line-bytes", "1"], "", "line-bytes is set more than once");
    check(&[], "files", "`files` is not of the form NAME=VALUE");
    let help =
        std::process::Command::new(env!("CARGO_BIN_EXE_mcp-text-editor")).arg("--help-all").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for limit in Limit::ALL {
        let entry = format!("\n  {} [default: ", limit.name());
        assert!(help.contains(&entry), "{entry:?} is not in {help}");
    }
}
