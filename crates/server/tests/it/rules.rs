//! Checks that `rules.tsv` names a source and a test for each rule of docs/contract.md. Tests the rules that
//! no other file shows, and the answers that docs/internals/architecture.md shows.
//!
//! A row of `rules.tsv` has a rule, what it is about, the sources that decide it, and the tests that show it,
//! separated by blanks. A source is `FILE`, or `FILE::NAME` for a function in it; a test is `FILE::NAME`, or
//! `scenarios/NNN_name`. A rule that is not built has [`NOT_BUILT`] in place of tests.
#![expect(
    clippy::disallowed_methods,
    reason = "a test reads documents and tests, and runs the program with an environment of its own"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mcp_text_editor::problem::Code;
use mcp_text_editor::tools;
use serde_json::{Value, json};

use crate::session::{BINARY, INITIALIZE, INITIALIZED};
use crate::world::World;

const NOT_BUILT: &str = "not built yet";

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";
const APPEND: &str = "append_text_file_contents";
const INSERT: &str = "insert_text_file_contents";
const DELETE: &str = "delete_text_file_contents";

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_rule_has_a_test_that_is_there() {
    let (contract, rules) = (include_str!("../../../../docs/contract.md"), include_str!("rules.tsv"));
    let wrong =
        problems(contract, rules, &|test| is_there(&project(), test), &|place| decides(&project(), place));
    assert!(wrong.is_empty(), "docs/contract.md and rules.tsv:\n{}", wrong.join("\n"));
}

/// Returns what is wrong with the two documents. `is_there` tells whether a test exists, `decides` whether a
/// place in the sources does.
fn problems(
    contract: &str,
    rules: &str,
    is_there: &dyn Fn(&str) -> bool,
    decides: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut built: BTreeMap<u32, bool> = BTreeMap::new();
    for line in contract.lines() {
        let Some((number, text)) = line.strip_prefix("- **R").and_then(|rest| rest.split_once("** ")) else {
            continue;
        };
        let number = number.parse().unwrap_or_else(|_| panic!("{line}"));
        let is_built = !text.trim_start_matches("◆ ").starts_with("*(not built yet)*");
        if built.insert(number, is_built).is_some() {
            wrong.push(format!("R{number} is there twice"));
        }
    }
    // Rules to which the contract refers.
    for word in contract.split(|c: char| !c.is_ascii_alphanumeric()) {
        let number = word.strip_prefix('R').and_then(|digits| digits.parse().ok());
        if number.is_some_and(|number| !built.contains_key(&number)) {
            wrong.push(format!("{word} is no rule"));
        }
    }
    let mut rows: BTreeMap<u32, &str> = BTreeMap::new();
    for line in rules.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [number, _, places, tests] = cells[..] else {
            wrong.push(format!("not four columns: {line}"));
            continue;
        };
        let number = number[1..].parse().unwrap_or_else(|_| panic!("{line}"));
        wrong.extend(
            places
                .split(' ')
                .filter(|place| tests != NOT_BUILT && !decides(place))
                .map(|place| format!("R{number}: nothing is decided in {place}")),
        );
        if rows.insert(number, tests).is_some() {
            wrong.push(format!("R{number} has two rows"));
        }
    }
    for number in rows.keys().filter(|number| !built.contains_key(number)) {
        wrong.push(format!("R{number} has a row, and is no rule"));
    }
    for (number, is_built) in built {
        match rows.get(&number) {
            None => wrong.push(format!("R{number} has no row")),
            Some(&NOT_BUILT) if is_built => wrong.push(format!("R{number} is built, and has no test")),
            Some(&NOT_BUILT) => {}
            Some(_) if !is_built => wrong.push(format!("R{number} is not built, and has a test")),
            Some(tests) => {
                wrong.extend(
                    tests
                        .split(' ')
                        .filter(|test| !is_there(test))
                        .map(|test| format!("R{number}: there is no {test}")),
                );
            }
        }
    }
    wrong
}

/// Tells whether a project has a test: a scenario, or a function of a file.
fn is_there(project: &Path, test: &str) -> bool {
    match test.split_once("::") {
        None => test.starts_with("scenarios/") && project.join(test).join("calls.jsonl").is_file(),
        Some((file, name)) => holds(&project.join(file), name),
    }
}

/// Tells whether a project has a place that decides a rule: a source file, or a function of one.
fn decides(project: &Path, place: &str) -> bool {
    let (file, name) = place.split_once("::").map_or((place, None), |(file, name)| (file, Some(name)));
    let text = std::fs::read_to_string(project.join(file)).unwrap_or_default();
    file.starts_with("crates/")
        && file.contains("/src/")
        && !text.is_empty()
        && name.is_none_or(|name| text.contains(&format!("fn {name}")))
}

fn holds(file: &Path, name: &str) -> bool {
    let text = || std::fs::read_to_string(file).unwrap_or_default();
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("py") => text().contains(&format!("def {name}(")),
        // The attributes of a function are between it and the empty line before it.
        Some("rs") => text().split_once(&format!("fn {name}(")).is_some_and(|(before, _)| {
            before.rsplit("\n\n").next().is_some_and(|attributes| attributes.contains("#[test]"))
        }),
        _ => false,
    }
}

#[test]
fn what_is_wrong_with_the_documents_is_found() {
    let contract = "- **R1** ◆ one\n- **R2** *(not built yet)* two\n- **R3** ◆ *(not built yet)* three\n";
    let check = |contract: &str, rules: &str| {
        problems(contract, rules, &|test| test == "a::b", &|place| place == "c").join("; ")
    };
    let good = "R1\tx\tc\ta::b\nR2\tx\tc\tnot built yet\nR3\tx\tc\tnot built yet\n";
    assert_eq!(check(contract, good), "");
    assert_eq!(check(&format!("{contract}see R4"), good), "R4 is no rule");
    assert_eq!(check(&format!("{contract}- **R1** again"), good), "R1 is there twice");
    assert_eq!(check(&format!("{contract}- **R4** more"), good), "R4 has no row");
    assert_eq!(check(contract, &format!("{good}R4\tx\tc\ta::b\n")), "R4 has a row, and is no rule");
    assert_eq!(check(contract, &format!("{good}R1\tx\tc\ta::b\n")), "R1 has two rows");
    assert_eq!(check(contract, &good.replace("a::b", "a::b a::c")), "R1: there is no a::c");
    assert_eq!(check(contract, &good.replace("a::b", NOT_BUILT)), "R1 is built, and has no test");
    assert_eq!(check(contract, &good.replacen(NOT_BUILT, "a::b", 1)), "R2 is not built, and has a test");
    assert_eq!(check(contract, &good.replace("\tc\t", "\tc d\t")), "R1: nothing is decided in d");
    assert_eq!(check(contract, &good.replacen("c\t", "", 1)), "not four columns: R1\tx\ta::b; R1 has no row");
    let is_there = |test: &str| is_there(&project(), test);
    assert!(is_there("crates/server/tests/it/rules.rs::what_is_wrong_with_the_documents_is_found"));
    assert!(!is_there("crates/server::what_is_wrong_with_the_documents_is_found"), "one form: a file");
    assert!(
        decides(&project(), "crates/server/src/problem.rs")
            && !decides(&project(), "crates/server/src/gone.rs")
    );
    assert!(decides(&project(), "crates/core/src/regions.rs::regions"));
    assert!(!decides(&project(), "crates/core/src/regions.rs::gone"));
    assert!(!decides(&project(), "crates/server/tests/it/rules.rs"), "a test decides nothing");
    assert!(!is_there("crates/server/tests/it/rules.rs::problems"), "a function that is no test");
    assert!(!is_there("crates/server/tests/it/gone.rs::problems") && !is_there("scenarios/000_gone"));
}

#[test]
fn the_contract_has_every_code() {
    let contract = include_str!("../../../../docs/contract.md");
    let (_, rest) = contract.split_once(" The codes:").unwrap();
    let (list, _) = rest.split_once('.').unwrap();
    let told: Vec<&str> = list.split(',').map(str::trim).collect();
    let all: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(told, all);
}

// Not on Windows, which drops a blank at the end of a name.
#[cfg(unix)]
#[test]
fn a_path_in_another_notation_is_an_error() {
    let world = World::new();
    world.write("t.txt", "text\n");
    let before = world.tree();
    let mut session = world.serve(&[]);
    for (path, code) in [
        ("~/t.txt", "path_not_absolute"),
        ("file://$ROOT/t.txt", "path_not_absolute"),
        ("\"$ROOT/t.txt\"", "path_not_absolute"),
        ("'$ROOT/t.txt'", "path_not_absolute"),
        (" $ROOT/t.txt", "path_not_absolute"),
        ("$ROOT/t.txt ", "not_found"),
    ] {
        let read = world.call(&mut session, GET, &json!({"file_path": path}));
        assert_eq!(read.code(), code, "{path}: {}", read.text);
        let patches = json!([{"old_string": "text", "new_string": "x"}]);
        let edit =
            world.call(&mut session, PATCH, &json!({"files": [{"file_path": path, "patches": patches}]}));
        assert_eq!(edit.code(), code, "{path}: {}", edit.text);
    }
    assert_eq!(world.tree(), before);
}

#[test]
fn an_edit_of_a_missing_file_proposes_to_create_it() {
    let world = World::new();
    let mut session = world.serve(&[]);
    let path = "$ROOT/missing.txt";
    let hash = "0123456789ab";
    for (tool, call) in [
        (PATCH, json!({"files": [{"file_path": path, "patches": [{"old_string": "a", "new_string": "b"}]}]})),
        (APPEND, json!({"file_path": path, "file_hash": hash, "contents": "a"})),
        (INSERT, json!({"file_path": path, "file_hash": hash, "contents": "a", "after": 0})),
        (DELETE, json!({"file_path": path, "file_hash": hash, "ranges": [{"start": 1, "range_hash": hash}]})),
    ] {
        let reply = world.call(&mut session, tool, &call);
        assert_eq!(reply.code(), "not_found", "{tool}: {}", reply.text);
        assert!(reply.text.contains("\nsuggestion: create_text_file\n"), "{tool}: {}", reply.text);
        assert!(reply.text.contains("\nhint: to create it, call create_text_file"), "{tool}: {}", reply.text);
    }
}

#[test]
fn the_end_of_a_range_may_be_left_out_in_every_tool() {
    let world = World::new();
    world.write("t.txt", "a\nb\nc\n");
    let mut session = world.serve(&[]);
    let ends = [json!({"start": 2}), json!({"start": 2, "end": null}), json!({"start": 2, "end": -1})];
    for range in ends {
        let with = |hash: &str| {
            let mut range = range.clone();
            range["range_hash"] = json!(hash);
            json!([range])
        };
        let read = json!({"files": [{"file_path": "$ROOT/t.txt", "ranges": [range]}]});
        let read = world.call(&mut session, GET, &read);
        assert!(read.text.contains(" lines 2-3 of 3 "), "{range}: {}", read.text);
        let guarded = with("$RANGE(t.txt,2,3)");
        let patches = json!([{"new_string": "", "ranges": guarded}]);
        let patch = json!({"files": [{"file_path": "$ROOT/t.txt", "patches": patches}], "dry_run": true});
        let delete = json!({"file_path": "$ROOT/t.txt", "file_hash": "$HASH(t.txt)", "ranges": guarded, "dry_run": true});
        for (tool, call) in [(PATCH, patch), (DELETE, delete)] {
            let reply = world.call(&mut session, tool, &call);
            assert!(reply.text.contains("-b\\n-c\\n"), "{tool} {range}: {}", reply.text);
        }
    }
}

/// `World::call` checks each error against the schema.
#[test]
fn the_schema_of_each_tool_admits_its_errors() {
    let world = World::new();
    let mut session = world.serve(&["--tools", "all", "--output", "json"]);
    for tool in tools::ALL {
        let reply = world.call(&mut session, tool.name(), &json!({"file_path": "t.txt", "odd": 1}));
        assert!(reply.is_error && reply.structured.is_none(), "{}: {}", tool.name(), reply.text);
    }
}

#[test]
fn each_option_has_a_variable() {
    let output = Command::new(BINARY).arg("--help-all").stdin(Stdio::null()).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let (_, options) = help.split_once("\nTools and replies:\n").unwrap();
    let (options, _) = options.split_once("\nHelp:\n").unwrap();
    let mut count = 0;
    for option in options.split("\n      --").map(|option| option.trim_start().trim_start_matches("--")) {
        let name = option.split(|c: char| c.is_whitespace()).next().unwrap();
        let variable = format!("[env: MCP_TEXT_EDITOR_{}", name.to_uppercase().replace('-', "_"));
        // The value of a variable that may hold a password is not shown.
        let shown = if name == "state-url" { "]" } else { "=" };
        assert!(option.contains(&(variable + shown)), "--{name}: {option}");
        count += 1;
    }
    let contract = include_str!("../../../../docs/contract.md");
    assert!(count > 15, "{options}");
    for name in ["durability", "history-days", "history-size", "landlock", "limit", "in-place", "log-level"] {
        assert!(
            options.contains(&format!("--{name} <")) && contract.contains(&format!("`--{name}")),
            "{name}"
        );
    }
}

#[test]
fn output_is_the_protocol_and_no_log_holds_text() {
    let world = World::new();
    world.write("t.txt", "a secret word\n");
    let call = |id: u32, tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": world.filled(&arguments)});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    };
    let patch = |old: &str, new: &str| {
        let patches = json!([{"old_string": old, "new_string": new}]);
        json!({"files": [{"file_path": "$ROOT/t.txt", "patches": patches}]})
    };
    let lines = [
        INITIALIZE.to_owned(),
        INITIALIZED.to_owned(),
        call(1, GET, json!({"file_path": "$ROOT/t.txt"})),
        call(2, PATCH, patch("another secret word", "x")),
        call(3, PATCH, patch("a secret", "the secret")),
        call(4, GET, json!({"file_path": "$ROOT/missing.txt", "secret": 1})),
        "no message, but a secret".to_owned(),
    ];
    let state = world.path("../state");
    let mut child = Command::new(BINARY)
        .args(["--log-level", "trace", world.path("").to_str().unwrap()])
        .env("MCP_TEXT_EDITOR_STATE_DIR", state)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, (lines.join("\n") + "\n").as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let (said, log) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    for line in said.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
    assert_eq!(said.lines().count(), 5, "{said}");
    assert!(!log.contains("secret"), "{log}");
}

/// The call of the document, and its repetition, are answered as it says, apart from the edit's id.
#[cfg(unix)]
#[test]
fn the_tour_shows_what_is_answered() {
    let tour = include_str!("../../../../docs/internals/architecture.md");
    let blocks = |kind: &str| -> Vec<&str> {
        tour.split(&format!("```{kind}\n")).skip(1).map(|block| block.split_once("```").unwrap().0).collect()
    };
    let json = blocks("json");
    let [call, answer] = [json[0], json[1]].map(|block| block.lines().last().unwrap());
    let world = World::new();
    world.write(
        "greet.py",
        "import sys\n\ndef greet(name):\n    print(\"Hello, \" + name)\n\ngreet(sys.argv[1])\n",
    );
    let mut session = world.serve(&[]);
    let root = world.path("");
    let root = root.to_str().unwrap().trim_end_matches('/');
    let answered = session.ask_raw(&call.replace("/home/ada/app", root));
    let answered: Value = serde_json::from_str(&answered.to_string().replace(root, "/home/ada/app")).unwrap();
    let without_id = |answer: &Value| {
        let said = answer["result"]["content"][0]["text"].as_str().unwrap();
        let mut said: Value = serde_json::from_str(said).unwrap();
        assert!(said["edit_id"].take().is_string(), "{said}");
        said
    };
    let told: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(without_id(&answered), without_id(&told));
}
