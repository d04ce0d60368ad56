//! Tests of search and list: their replies, word for word, in both modes; that a hit can be edited at once by
//! its data; and that a cut reply is continued at the place that it names.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_text_editor::config::{Config, Output};
use mcp_text_editor::context::{Cancel, Context, Reply};
use mcp_text_editor::problem::Failure;
use mcp_text_editor::tools::{self, Tool};
use mcp_text_editor_store::Workspace;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::session::Session;
use crate::world::{Entry, World};
use crate::{errors, replies};

const SEARCH: &str = "search_text_files";
const LIST: &str = "list_text_files";
const REPLACE: &str = "replace_in_text_files";
const PATCH: &str = "patch_text_file_contents";

/// Writes a small project, with something of each kind.
fn project(world: &World) {
    world.write("src/main.rs", "fn main() {\n\tgreet(\"world\");\n}\n");
    world.write(
        "src/greet.rs",
        "pub fn greet(name: &str) {\n    println!(\"Hello, {name}\");\n}\n\nfn unused() {}\n",
    );
    world.write("src/old/mac.txt", "first greet\rsecond\rthird greet\r");
    world.write("src/old/wide.txt", utf16("\u{feff}greet\r\nGrüße\r\n"));
    world.write("docs/guide.md", "# Greet\r\n\r\nTo greet, call `greet`.\r\n");
    world.write(".hidden", "greet\n");
    world.write(".gitignore", "target/\n*.log\n!keep.log\n");
    world.write("target/debug.txt", "greet\n");
    world.write("build.log", "greet\n");
    world.write("keep.log", "greet\n");
    world.write("docs/.ignore", "draft.md\n");
    world.write("docs/draft.md", "greet\n");
    world.write(".git/config", "greet\n");
    world.write("image.bin", b"greet\0greet\n");
    world.write("latin1.txt", b"greet caf\xe9\n");
    world.write("long.txt", format!("{}greet{}\n", "a".repeat(3_000), "é".repeat(3_000)));
    world.write("empty.txt", "");
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn searches() {
    replies::check(
        "searches",
        project,
        &[],
        &[
            ("a text", SEARCH, json!({"pattern": "greet"})),
            ("an expression", SEARCH, json!({"pattern": r"fn \w+\(\)"})),
            ("the ends of lines", SEARCH, json!({"pattern": r"(^#.*|`\.)$"})),
            ("a text with signs of expressions", SEARCH, json!({"pattern": "main() {", "literal": true})),
            ("letter case aside", SEARCH, json!({"pattern": "GRÜSSE|# greet|GRÜßE", "ignore_case": true})),
            ("with the lines around", SEARCH, json!({"pattern": "greet\\(", "context": 1})),
            (
                "with the lines after",
                SEARCH,
                json!({"pattern": "greet\\(", "context": 1, "context_before": 0}),
            ),
            ("with hashes", SEARCH, json!({"pattern": "greet", "hashes": true, "glob": "*.rs"})),
            ("files of a kind", SEARCH, json!({"pattern": "greet", "glob": "*.{rs,md}"})),
            ("all but these", SEARCH, json!({"pattern": "greet", "glob": "!src/**"})),
            (
                "files of a kind, but not these",
                SEARCH,
                json!({"pattern": "greet", "glob": ["*.rs", "*.md", "!main.rs", ""]}),
            ),
            (
                "globs as JSON in a string",
                SEARCH,
                json!({"pattern": "greet", "glob": "[\"!*.rs\", \"!*.md\"]"}),
            ),
            (
                "below a directory",
                SEARCH,
                json!({"pattern": "greet", "paths": ["$ROOT/docs", "$ROOT/keep.log"]}),
            ),
            (
                "an ignored file, named",
                SEARCH,
                json!({"pattern": "greet", "paths": ["$ROOT/target", "$ROOT/build.log"]}),
            ),
            (
                "paths as JSON in a string",
                SEARCH,
                json!({"pattern": "greet", "paths": "[\"$ROOT/docs\"]", "context": "0"}),
            ),
            (
                "in another encoding",
                SEARCH,
                json!({"pattern": "é", "encoding": "latin1", "paths": ["$ROOT/latin1.txt"]}),
            ),
            ("what is not there", SEARCH, json!({"pattern": "nowhere"})),
            ("in a binary file, named", SEARCH, json!({"pattern": "^greet$", "paths": ["$ROOT/image.bin"]})),
            (
                "not in a binary file, named",
                SEARCH,
                json!({"pattern": "greets", "paths": ["$ROOT/image.bin"]}),
            ),
            ("the first", SEARCH, json!({"pattern": "greet", "max_results": 2})),
            ("those after them", SEARCH, json!({"pattern": "greet", "max_results": 2, "offset": 2})),
        ],
    );
}

/// A line says what was left out, and what the call could have meant.
#[test]
fn nothing_is_found() {
    let set_up = |world: &World| {
        project(world);
        world.write("app/[id]/page.tsx", "json\n");
        world.write("app/{a}.ts", "e\u{301}te\u{301} x[0]\n");
        world.write("app/e\u{301}.ts", "");
    };
    let search = |arguments| (SEARCH, arguments);
    let list = |arguments| (LIST, arguments);
    let calls = [
        ("a search among what is ignored", search(json!({"pattern": "gree+t", "glob": "target/**"}))),
        ("a list of it", list(json!({"glob": "target/**"}))),
        ("a search beyond ASCII", search(json!({"pattern": "日本|caf\u{e9}"}))),
        ("a search of a number of files", search(json!({"pattern": "nowhere", "glob": "*.{bin,txt}"}))),
        ("a search with alternatives for grep", search(json!({"pattern": "yaml\\|json"}))),
        ("a search for signs of expressions", search(json!({"pattern": "x[0]"}))),
        ("alternatives as a text", search(json!({"pattern": "yaml|json", "literal": true}))),
        ("a search for accents", search(json!({"pattern": "\u{e9}t\u{e9}"}))),
        ("a search in files with brackets", search(json!({"pattern": "json", "glob": "app/[id]/*"}))),
        ("a list of files with brackets", list(json!({"glob": "app/[id]/*"}))),
        ("of files with braces", list(json!({"glob": "{a}*"}))),
        ("of files with accents", list(json!({"glob": "\u{e9}*"}))),
        ("of files from here", list(json!({"glob": "./src/*.rs"}))),
        ("not so deep", list(json!({"path": "$ROOT/src", "glob": "*.txt", "depth": 1}))),
        ("a search from an offset", search(json!({"pattern": "greet", "offset": 1_000}))),
        ("a list from an offset", list(json!({"offset": 1}))),
    ];
    let calls = calls.map(|(name, (tool, arguments))| (name, tool, arguments));
    replies::check("nothing_is_found", set_up, &[], &calls);
}

#[test]
fn lists() {
    replies::check(
        "lists",
        project,
        &[],
        &[
            ("the directories", LIST, json!({})),
            ("one of them", LIST, json!({"path": "$ROOT"})),
            ("what is in it", LIST, json!({"path": "$ROOT", "depth": 1})),
            ("what is in all", LIST, json!({"depth": 1})),
            ("files of a kind", LIST, json!({"glob": "*.{rs,md}"})),
            ("what is ignored", LIST, json!({"path": "$ROOT", "depth": 2, "include_ignored": true})),
            ("with lines", LIST, json!({"path": "$ROOT", "depth": 2, "line_counts": true})),
            ("a file", LIST, json!({"path": "$ROOT/src/main.rs"})),
            ("nothing", LIST, json!({"glob": "*.py"})),
            ("all but these", LIST, json!({"path": "$ROOT", "glob": ["!docs", "!*.txt"]})),
            ("no glob", LIST, json!({"path": "$ROOT/src", "glob": [], "depth": 1})),
            ("the first", LIST, json!({"path": "$ROOT", "max_results": 3})),
            ("those after them", LIST, json!({"path": "$ROOT", "max_results": 3, "offset": 3})),
        ],
    );
}

#[test]
fn searches_over_lines() {
    let over = |pattern: &str| json!({"pattern": pattern, "multiline": true, "hashes": true});
    replies::check(
        "searches_over_lines",
        project,
        &[],
        &[
            ("lines", SEARCH, over(r"\{\n.*\n\}")),
            ("in other encodings and line ends", SEARCH, over(r"greet\n")),
            (
                "with lines around",
                SEARCH,
                json!({"pattern": r"name\}.*\n\}\n", "multiline": true, "context": 1}),
            ),
            ("nothing", SEARCH, over("nothing\n")),
        ],
    );
}

/// The number that a count ends with is the one to send.
#[test]
fn replacements() {
    let set_up = |world: &World| {
        project(world);
        world.write(".mcp.json", "greet\n");
        world.write("large.txt", "greet\n".repeat((8 << 20) / 6 + 1));
        world.write("one/a.txt", "a b\r\nc\r\n");
    };
    let all = json!({"pattern": r"\bgreet", "replacement": "welcome"});
    let expecting = |call: &Value, number: u64| {
        let mut call = call.clone();
        call["expected_replacements"] = json!(number);
        call
    };
    let lines =
        json!({"pattern": r"(\w)\n(\w)", "replacement": "$2\n\n${1}$$", "multiline": true, "glob": "one/*"});
    let plain = json!({"pattern": "$", "replacement": "$1", "literal": true, "paths": ["$ROOT/one"]});
    let mac = json!({"pattern": "SECOND", "replacement": "2\n2", "ignore_case": true, "glob": "*.txt"});
    let calls = [
        ("a count", REPLACE, all.clone()),
        ("that number", REPLACE, expecting(&all, 9)),
        ("nothing is left", REPLACE, all.clone()),
        ("over lines", REPLACE, lines.clone()),
        ("that number over lines", REPLACE, expecting(&lines, 1)),
        ("plain text", REPLACE, plain.clone()),
        ("that number of plain texts", REPLACE, expecting(&plain, 1)),
        ("other line ends", REPLACE, expecting(&mac, 1)),
    ];
    replies::check("replacements", set_up, &[], &calls);
}

#[test]
fn replacements_that_are_refused() {
    let set_up = |world: &World| {
        project(world);
        world.write("long.js", "x".repeat(2 << 20) + "wide\n");
    };
    let call = |pattern: &str, new: &str| json!({"pattern": pattern, "replacement": new});
    errors::check(
        "replacements_that_are_refused",
        set_up,
        &["--limit", "files=5", "--limit", "occurrences=6"],
        &[
            ("nothing", REPLACE, json!({})),
            ("an empty pattern", REPLACE, call("", "a")),
            ("a pattern of the empty text", REPLACE, call("a*|^", "b")),
            ("no such group", REPLACE, call("(greet)", "$3")),
            ("a digit behind a group", REPLACE, call("(?<name>greet)", "$1st ${name}")),
            ("a line end", REPLACE, call("a\nb", "c")),
            ("no expression, and no path", REPLACE, {
                json!({"pattern": "main(", "replacement": "", "paths": ["/etc", "$ROOT/nowhere"], "encoding": "utf-9"})
            }),
            ("another number", REPLACE, {
                json!({"pattern": "unused", "replacement": "used", "expected_replacements": 3})
            }),
            ("another number of none", REPLACE, {
                json!({"pattern": "nothing", "replacement": "", "expected_replacements": 3})
            }),
            ("too many files", REPLACE, call("e", "")),
            ("too many places", REPLACE, {
                json!({"pattern": "e", "replacement": "", "glob": ["greet.rs", "main.rs"]})
            }),
            ("what the encoding lacks", REPLACE, {
                json!({"pattern": "gr", "replacement": "…", "glob": "latin1.txt", "encoding": "latin1"})
            }),
            ("too long a line", REPLACE, call(r"\pL{3,60}wide", "")),
            ("as `sed`", REPLACE, json!({"regex": "a", "new_string": "b", "path": "$ROOT", "count": 1})),
        ],
    );
}

#[test]
fn searches_and_lists_that_are_refused() {
    errors::check(
        "searches_and_lists_that_are_refused",
        project,
        &[],
        &[
            ("no pattern", SEARCH, json!({})),
            ("an empty pattern", SEARCH, json!({"pattern": ""})),
            ("no expression", SEARCH, json!({"pattern": "main("})),
            ("a line end", SEARCH, json!({"pattern": "a\\nb"})),
            ("what it cannot do", SEARCH, json!({"pattern": "(?<=a)b"})),
            ("too large an expression", SEARCH, json!({"pattern": r"\w{1000}{1000}{100}"})),
            ("too long an expression", SEARCH, json!({"pattern": r"\w".repeat(2049)})),
            ("too long a text", SEARCH, json!({"pattern": "a".repeat(4097), "literal": true})),
            ("no glob", SEARCH, json!({"pattern": "a", "glob": "*.{rs"})),
            ("globs of other types", SEARCH, json!({"pattern": "a", "glob": ["*.rs", 1, "a\u{0}"]})),
            ("globs that are none", LIST, json!({"glob": {"include": "*.rs"}})),
            (
                "paths that are none",
                SEARCH,
                json!({"pattern": "a", "paths": ["src", "./docs/", "$ROOT/../x", "/etc", "$ROOT/nowhere", "$ROOT/doc"]}),
            ),
            (
                "a path for paths",
                SEARCH,
                json!({"pattern": "a", "path": "$ROOT/src", "-i": true, "head_limit": 5}),
            ),
            (
                "as `grep_search`",
                SEARCH,
                json!({"query": "a", "include_pattern": "*.rs", "case_sensitive": false}),
            ),
            ("misspelled", SEARCH, json!({"patern": "a"})),
            (
                "wrong types",
                SEARCH,
                json!({"pattern": "a", "context": -1, "max_results": 0, "paths": [1], "offset": "x"}),
            ),
            ("no encoding", SEARCH, json!({"pattern": "a", "encoding": "utf-9"})),
            ("no directory", LIST, json!({"path": "$ROOT/nowhere"})),
            ("almost a directory", LIST, json!({"path": "$ROOT/scr/old"})),
            ("a relative directory", LIST, json!({"path": "src/old"})),
            ("beyond the directories", LIST, json!({"path": "/"})),
            ("as `list_directory`", LIST, json!({"dir_path": "$ROOT/src", "recursive": false})),
            ("no depth", LIST, json!({"path": "$ROOT", "depth": 0})),
        ],
    );
}

/// Returns all hits, or entries, by calls for at most `most` at a time.
fn walk(world: &World, session: &mut Session, tool: &str, call: &Value, most: u64) -> Vec<Value> {
    let key = if tool == SEARCH { "matches" } else { "entries" };
    let (mut all, mut offset) = (Vec::new(), 0);
    loop {
        let mut call = call.clone();
        call["max_results"] = json!(most);
        call["offset"] = json!(offset);
        let told = world.call(session, tool, &call).structured.unwrap();
        all.extend(told[key].as_array().unwrap().iter().cloned());
        assert_eq!(told["truncated"], told.get("next_offset").is_some());
        match told["next_offset"].as_u64() {
            Some(next) => assert!(next > offset, "{told}"),
            None => return all,
        }
        offset = told["next_offset"].as_u64().unwrap();
    }
}

/// Each hit comes once, in the order of paths, for any size of replies.
#[test]
fn a_reply_that_is_cut_goes_on_where_it_says() {
    let world = World::new();
    for number in 0..40 {
        let text = format!("hit {}\nnot\nhit again\n", "x".repeat(number * 20));
        world.write(&format!("d{}/f{number}.txt", number % 7), text);
    }
    let calls = [(SEARCH, json!({"pattern": "hit"}), 80), (LIST, json!({"path": "$ROOT"}), 47)];
    for (tool, call, count) in calls {
        let mut whole = world.serve(&["--output", "json", "--max-response-bytes", "1000000"]);
        let all = walk(&world, &mut whole, tool, &call, 1_000);
        assert_eq!(all.len(), count);
        for most in [1, 7, 1_000] {
            assert_eq!(walk(&world, &mut whole, tool, &call, most), all, "{tool}: {most}");
        }
        let mut small = world.serve(&["--output", "json", "--max-response-bytes", "900"]);
        assert_eq!(walk(&world, &mut small, tool, &call, 1_000), all, "{tool}");
    }
}

/// Returns a line of a file, with its end.
fn line() -> impl Strategy<Value = String> {
    let text = prop_oneof![4 => "[ab ]{0,4}", 2 => "hit[ab é]{0,3}", 1 => "[ab]{0,3}hit\u{2028}x\u{b}", 1 => "x{490,520}hité{490,520}"];
    (text, prop_oneof![3 => Just("\n"), 1 => Just("\r\n")]).prop_map(|(text, end)| text + end)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// One call edits each hit by the line and the hash that it names. Afterwards exactly these lines have
    /// changed.
    #[test]
    fn each_hit_can_be_edited_by_what_it_says(files in prop::collection::vec((prop::collection::vec(line(), 0..8), 0..4_u8), 1..4)) {
        let world = World::new();
        let mut wanted = Vec::new();
        for (index, (lines, form)) in files.iter().enumerate() {
            let old: String = lines.concat();
            let new: String = lines
                .iter()
                .map(|line| if line.contains("hit") { format!("new{}", &line[line.trim_end_matches(['\r', '\n']).len()..]) } else { line.clone() })
                .collect();
            let encoded = |text: &str| match form {
                0 => utf16(&format!("\u{feff}{text}")),
                1 => format!("\u{feff}{text}").into_bytes(),
                2 => text.replace("\r\n", "\n").replace('\n', "\r").into_bytes(),
                _ => text.as_bytes().to_vec(),
            };
            world.write(&format!("f{index}.txt"), encoded(&old));
            wanted.push((format!("f{index}.txt"), encoded(&new)));
        }
        let mut session = world.serve(&["--output", "json"]);
        let call = json!({"pattern": "hit", "hashes": true});
        let hits = walk(&world, &mut session, SEARCH, &call, 1_000);
        let paths: BTreeSet<&str> = hits.iter().map(|hit| hit["file_path"].as_str().unwrap()).collect();
        let files: Vec<Value> = paths.iter().map(|path| {
            let of_file = hits.iter().filter(|hit| hit["file_path"] == **path);
            let patches: Vec<Value> = of_file.map(|hit| {
                json!({"ranges": [{"start": hit["line"], "end": hit["line"], "range_hash": hit["range_hash"]}], "new_string": "new"})
            }).collect();
            json!({"file_path": path, "patches": patches})
        }).collect();
        if !files.is_empty() {
            let reply = world.call(&mut session, PATCH, &json!({"files": files}));
            prop_assert!(!reply.is_error, "{}", reply.text);
        }
        for (name, bytes) in wanted {
            prop_assert_eq!(&world.tree()[&name], &Entry::File(bytes), "{}", name);
        }
    }
}

/// Splits a line of a reply into its path and the rest.
#[cfg(unix)]
fn path_of(line: &str, ends: impl Fn(&str) -> Option<usize>) -> (String, &str) {
    if line.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(line).into_iter::<String>();
        let path = values.next().unwrap().unwrap();
        return (path, &line[values.byte_offset()..]);
    }
    let end = ends(line).unwrap_or_else(|| panic!("{line:?}"));
    (line[..end].to_owned(), &line[end..])
}

/// Parses the rest after a path: a mark, a number, the same mark and a text.
#[cfg(unix)]
fn numbered<'t>(rest: &'t str, marks: &[char]) -> Option<(bool, u64, &'t str)> {
    let mark = rest.chars().next().filter(|mark| marks.contains(mark))?;
    let (number, text) = rest[1..].split_once(mark)?;
    let is_number = !number.starts_with('0') && number.bytes().all(|digit| digit.is_ascii_digit());
    Some((mark == ':', number.parse().ok().filter(|_| is_number)?, text))
}

#[cfg(unix)]
proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any names of files a reply in text can be parsed in one way only, and says the same as one in
    /// JSON.
    #[test]
    fn no_name_forges_a_line(
        files in prop::collection::btree_map(
            prop::collection::vec(
                prop::sample::select(vec!["a", "b", ":", "-", "3", "12", ":3:", "-4-", ":5", "\n", "\t", "\r", "\"", "\\", " ", "[", "--", "\u{202e}", "é", "x:1:y/", "\u{1b}[0m"]),
                1..5),
            prop::collection::vec(prop::sample::select(vec!["hit", "hit:3:x", "no", "", "-2-hit", "/r/a:1:hit"]), 1..5),
            1..6),
        context in 0..2_u64,
    ) {
        let world = World::new();
        for (name, lines) in &files {
            let name = name.concat();
            if !name.ends_with('/') {
                world.write(&name, lines.join("\n"));
            }
        }
        let (mut said, mut told) = (world.serve(&["--max-response-bytes", "100000"]), world.serve(&["--output", "json", "--max-response-bytes", "100000"]));
        let call = json!({"pattern": "hit", "context": context});
        let mut wanted = Vec::new();
        let json = world.call(&mut told, SEARCH, &call).structured.unwrap();
        for hit in json["matches"].as_array().unwrap() {
            let (path, line) = (hit["file_path"].as_str().unwrap().to_owned(), hit["line"].as_u64().unwrap());
            let around = |key: &str| hit[key].as_array().cloned().unwrap_or_default().into_iter().map(|text| text.as_str().unwrap().to_owned());
            let before = around("before").count() as u64;
            wanted.extend(around("before").zip(line - before..).map(|(text, number)| (path.clone(), false, number, text)));
            wanted.push((path.clone(), true, line, hit["text"].as_str().unwrap().to_owned()));
            wanted.extend(around("after").zip(line + 1..).map(|(text, number)| (path.clone(), false, number, text)));
        }
        let text = world.call(&mut said, SEARCH, &call).raw;
        let marks: &[char] = if context > 0 { &[':', '-'] } else { &[':'] };
        let lines = text.split('\n').filter(|line| *line != "--" && !line.starts_with('['));
        let read: Vec<_> = lines.map(|line| {
            let ends = |line: &str| line.match_indices(marks).map(|(at, _)| at).find(|at| numbered(&line[*at..], marks).is_some());
            let (path, rest) = path_of(line, ends);
            let (is_hit, number, text) = numbered(rest, marks).unwrap();
            (path, is_hit, number, text.to_owned())
        }).collect();
        prop_assert_eq!(read, wanted, "{}", text);

        let call = json!({"path": "$ROOT"});
        let json = world.call(&mut told, LIST, &call).structured.unwrap();
        let wanted: Vec<(String, Option<u64>)> = json["entries"].as_array().unwrap().iter().map(|entry| {
            let slash = if entry["kind"] == "directory" { "/" } else { "" };
            (format!("{}{slash}", entry["path"].as_str().unwrap()), entry["bytes"].as_u64())
        }).collect();
        let text = world.call(&mut said, LIST, &call).raw;
        let lines = text.split('\n').filter(|line| !line.starts_with('['));
        let read: Vec<_> = lines.map(|line| {
            let (path, rest) = path_of(line, |line| Some(line.find('\t').unwrap_or(line.len())));
            (path, rest.strip_prefix('\t').map(|bytes| bytes.parse::<u64>().unwrap()))
        }).collect();
        prop_assert_eq!(read, wanted, "{}", text);
    }
}

/// Runs a tool in this process in a tree of so many files. `cancel` decides how long the call may work.
fn run(tool: &Tool, files: usize, output: Output, cancel: &Cancel) -> Result<Reply, Failure> {
    let world = World::new();
    (0..files).for_each(|number| world.write(&format!("d{}/f{number}", number % 5), "hit\n"));
    let workspace = Workspace::builder().root(world.path("")).build().unwrap();
    let context = Context::new(Config { output, ..Config::default() }, workspace);
    let call = json!({"pattern": "hit", "path": world.path("").to_str().unwrap(), "replacement": "text"});
    let keys: &[&str] = match tool.name() {
        SEARCH => &["pattern"],
        REPLACE => &["pattern", "replacement"],
        _ => &["path"],
    };
    let call = call.as_object().unwrap().iter().filter(|(key, _)| keys.contains(&key.as_str()));
    (tool.run)(&context, call.map(|(key, value)| (key.clone(), value.clone())).collect(), cancel)
}

#[test]
fn a_search_whose_time_is_over_says_so() {
    for tool in [&tools::find::SEARCH, &tools::find::LIST] {
        let cancel = Cancel::never().within(Duration::ZERO);
        let said = run(tool, 20, Output::Text, &cancel).unwrap().text;
        let words = "[not all was looked at: the time was over, and the limit `call-seconds` is 120 s; name fewer directories]";
        assert!(said.ends_with(words), "{}: {said}", tool.name());
        let told = run(tool, 20, Output::Json, &cancel).unwrap().structured.unwrap();
        assert_eq!((&told["truncated"], told.get("next_offset")), (&json!(true), None), "{told}");
    }
}

#[test]
fn a_replacement_whose_time_is_over_is_refused() {
    let failure = run(&tools::find::REPLACE, 20, Output::Text, &Cancel::never().within(Duration::ZERO));
    let reasons: Vec<_> = failure.unwrap_err().problems.into_iter().map(|problem| problem.reason).collect();
    assert!(reasons[0].contains("`call-seconds`"), "{reasons:?}");
}

#[test]
fn a_search_that_is_withdrawn_stops() {
    for tool in [&tools::find::SEARCH, &tools::find::LIST, &tools::find::REPLACE] {
        let cancel = Cancel::new(|| true);
        let failure = run(tool, 300, Output::Text, &cancel).unwrap_err();
        assert!(failure.is_cancelled(), "{failure:?}");
        assert!(cancel.files_done().load(Ordering::Relaxed) < 300, "{}", tool.name());
    }
}

#[test]
fn files_that_are_done_are_counted_for_reports_of_progress() {
    for (tool, count) in [(&tools::find::SEARCH, 20), (&tools::find::LIST, 25), (&tools::find::REPLACE, 40)] {
        let cancel = Cancel::never();
        run(tool, 20, Output::Text, &cancel).unwrap();
        assert_eq!(cancel.files_done().load(Ordering::Relaxed), count, "{}", tool.name());
    }
}
