//! No reply is larger than the client shows whole, for any call. A reply says what it leaves out.

use serde_json::{Value, json};

use crate::session::Session;
use crate::world::{Entry, World};

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";

/// A client: the way in which it counts a reply in text mode, the most that it shows, and the most lines.
struct Client {
    name: &'static str,
    count: fn(&str) -> usize,
    most: usize,
    lines: usize,
}

fn utf16(text: &str) -> usize {
    text.encode_utf16().count()
}

fn escaped_utf16(text: &str) -> usize {
    utf16(&json!(text).to_string())
}

fn escaped(text: &str) -> usize {
    json!(text).to_string().len()
}

const CLIENTS: &[Client] = &[
    Client { name: "claude-code", count: escaped_utf16, most: 50_000, lines: usize::MAX },
    Client { name: "codex-mcp-client", count: escaped, most: 39_800, lines: usize::MAX },
    Client { name: "gemini-cli-mcp-client", count: utf16, most: 39_700, lines: usize::MAX },
    Client { name: "opencode", count: str::len, most: 51_200, lines: 1_999 },
    Client { name: "qwen-cli-mcp-client-my-editor", count: utf16, most: 25_000, lines: 999 },
    Client { name: "copilot-cli", count: str::len, most: 20_480, lines: usize::MAX },
    Client { name: "some-other-client", count: str::len, most: 18_000, lines: 900 },
];

/// More files than any client shows.
const MANY: usize = 600;

/// Returns all clients; on Windows, where files are slower, only the first and the last. The system makes no
/// difference to what a client shows.
fn clients() -> impl Iterator<Item = &'static Client> {
    CLIENTS.iter().step_by(if cfg!(windows) { CLIENTS.len() - 1 } else { 1 })
}

impl Client {
    #[track_caller]
    fn shows(&self, text: &str) {
        let (weight, lines) = ((self.count)(text), text.split('\n').count());
        assert!(weight <= self.most && lines <= self.lines, "{}: {weight}, {lines} lines", self.name);
    }

    /// Checks a reply in JSON. Codex shows it twice, the second time escaped.
    #[track_caller]
    fn shows_json(&self, text: &str) {
        let twice = if self.name == "codex-mcp-client" { text.len() } else { 0 };
        // Claude Code counts text with the escapes of JSON, and JSON as it is.
        let count = if self.name == "claude-code" { utf16 } else { self.count };
        let weight = count(text) + twice;
        assert!(weight <= self.most, "{}: {weight} in JSON", self.name);
    }
}

/// Writes files of all kinds, each larger than any client shows.
fn write_files(world: &World) {
    let files: [(&str, &str); 8] = [
        (
            "ascii.txt",
            "the quick brown fox jumps over the lazy dog, and then it goes on and on for a while\n",
        ),
        ("short.txt", "a\n"),
        ("empty.txt", "\n"),
        ("quotes.txt", "\t\"x\\y\"\t\"\\\\\"\t\"q\" \\\t\"\"\n"),
        ("cjk.txt", "日本語の文章をたくさん書くとどうなるかを調べるための行です\n"),
        ("emoji.txt", "😀🎉🚀🔥👍 😅🐍🦀🎈🌍\n"),
        ("control.txt", "\u{1}\u{2}\u{1b}[0m \u{7f}\n"),
        ("line.txt", "\"one\" line 😀 "),
    ];
    for (name, text) in files {
        world.write(name, text.repeat(160_000 / text.len()));
    }
}

const FILES: [&str; 8] =
    ["ascii.txt", "short.txt", "empty.txt", "quotes.txt", "cjk.txt", "emoji.txt", "control.txt", "line.txt"];

#[test]
fn a_read_is_what_the_client_shows_whole() {
    let world = World::new();
    write_files(&world);
    for client in clients() {
        let mut text = world.serve_client(client.name, &[]);
        let mut json = world.serve_client(client.name, &["--output", "json"]);
        for file in FILES {
            let call = json!({"file_path": format!("$ROOT/{file}")});
            let reply = world.call(&mut text, GET, &call).raw;
            client.shows(&reply);
            assert!(reply.trim_end().ends_with(']'), "{file}: {}", &reply[reply.len() - 80..]);
            // The reply is not much smaller than it could be.
            let full = (client.count)(&reply) * 100 / client.most.min(client.lines.saturating_mul(20));
            let is_full = full > 85 || reply.split('\n').count() * 100 / client.lines > 85;
            assert!(is_full, "{} of {file}: {full} %", client.name);
            client.shows_json(&world.call(&mut json, GET, &call).raw);
            let bare = world.call(
                &mut text,
                GET,
                &json!({"file_path": format!("$ROOT/{file}"), "line_numbers": false}),
            );
            client.shows(&bare.raw);
        }
        let all: Vec<Value> =
            FILES.iter().map(|file| json!({"file_path": format!("$ROOT/{file}")})).collect();
        let reply = world.call(&mut text, GET, &json!({"files": all})).raw;
        client.shows(&reply);
        assert_eq!(reply.matches(" file_hash ").count(), FILES.len(), "each has its share");
        client.shows_json(&world.call(&mut json, GET, &json!({"files": all})).raw);
    }
}

/// Reads a file to its end as the notes say, and joins the text.
fn read_on(world: &World, session: &mut Session, file: &str) -> String {
    let (mut seen, mut range) = (String::new(), json!({"start": 1}));
    loop {
        let call = json!({"files": [{"file_path": format!("$ROOT/{file}"), "ranges": [range]}], "line_numbers": false});
        let reply = world.call(session, GET, &call).raw;
        let (_, rest) = reply.split_once('\n').unwrap();
        if let Some((text, next)) = rest.split_once("\n[cut after line ") {
            seen.push_str(text);
            seen.push('\n');
            let next = next.split_once("line_start ").unwrap().1.trim_end_matches("]\n");
            range = json!({"start": next.parse::<u64>().unwrap()});
        } else if let Some((text, note)) =
            rest.rsplit_once("[line ").filter(|(_, note)| note.contains("go on"))
        {
            let text = text.rsplit_once("\n[line ").map_or(text, |(text, _)| text);
            seen.push_str(text.strip_suffix('\n').unwrap_or(text));
            let next = note.split_once("ranges [").unwrap().1.trim_end_matches("]]\n");
            range = serde_json::from_str(next).unwrap();
        } else {
            let text = rest.split_once("\n[line ").map_or(rest, |(text, _)| text);
            let text = text.split_once("\n[no newline").map_or(text, |(text, _)| text);
            seen.push_str(text);
            return seen;
        }
    }
}

#[test]
fn reading_on_gives_the_file() {
    let world = World::new();
    write_files(&world);
    let tree = world.tree();
    for client in clients() {
        let mut session = world.serve_client(client.name, &[]);
        for file in ["quotes.txt", "short.txt", "line.txt"] {
            let Entry::File(text) = &tree[file] else { panic!("{file}") };
            let text = std::str::from_utf8(text).unwrap();
            assert!(read_on(&world, &mut session, file) == text, "{file} in {}", client.name);
        }
    }
}

/// Returns calls for more than a reply has room for: facts and beginnings of many files, thousands of
/// ranges, most of which fail, and so on.
fn large_reads() -> Vec<Value> {
    let file = |number: usize| format!("$ROOT/files/number {number}.txt");
    let many = |ranges: fn(usize) -> Value| -> Value {
        (0..MANY).map(|number| json!({"file_path": file(number), "ranges": ranges(number)})).collect()
    };
    let lines =
        |count: usize| -> Value { (1..=count).map(|line| json!({"start": line, "end": line})).collect() };
    let mixed: Value = (0..MANY)
        .map(|number| match number % 12 {
            0 => json!({"file_path": format!("$ROOT/missing/日本 {number}")}),
            1..6 => json!({"file_path": file(number)}),
            _ => json!({"file_path": "$ROOT/short.txt", "ranges": [{"start": -1, "end": 5}, {"start": -2, "end": 5}]}),
        })
        .collect();
    vec![
        json!({"files": many(|_| json!([]))}),
        json!({"files": many(|_| json!([{"start": 1}]))}),
        json!({"files": many(|number| if number == 0 { json!([{"start": 1}]) } else { json!([]) })}),
        json!({"files": [{"file_path": "$ROOT/short.txt", "ranges": lines(5_000)}]}),
        json!({"files": [{"file_path": "$ROOT/quotes.txt", "ranges": lines(900)}, {"file_path": "$ROOT/short.txt"}]}),
        json!({"files": mixed}),
    ]
}

#[test]
fn what_has_no_room_is_named() {
    let world = World::new();
    write_files(&world);
    for number in 0..MANY {
        world.write(&format!("files/number {number}.txt"), format!("{number}\n").repeat(50));
    }
    for client in clients() {
        let mut text = world.serve_client(client.name, &[]);
        let mut json = world.serve_client(client.name, &["--output", "json"]);
        for call in large_reads() {
            let reply = world.call(&mut text, GET, &call).raw;
            client.shows(&reply);
            let last = reply.lines().next_back().unwrap();
            assert!(last.starts_with("[no room for the last "), "{last}");
            let reply = world.call(&mut json, GET, &call);
            client.shows_json(&reply.raw);
            let reply = reply.structured.unwrap();
            let files = reply["files"].as_array().unwrap();
            let not_shown = reply["files_not_shown"].as_u64().unwrap_or(0);
            let asked = call["files"].as_array().unwrap();
            assert_eq!(files.len() as u64 + not_shown, asked.len() as u64);
            let last = files.last().unwrap();
            let ranges = last["ranges"].as_array().map_or(0, Vec::len) as u64;
            let left_out = last["ranges_not_shown"].as_u64().unwrap_or(0);
            assert!(not_shown + left_out > 0);
            if let (Some(asked), true) = (asked[files.len() - 1]["ranges"].as_array(), ranges > 0) {
                assert_eq!(ranges + left_out, asked.len() as u64);
            }
        }
    }
}

#[test]
fn a_call_of_which_all_files_fail_fails_however_many_there_are() {
    let world = World::new();
    let missing: Vec<Value> =
        (0..250).map(|number| json!({"file_path": format!("$ROOT/日本/{number}")})).collect();
    for client in clients() {
        for output in ["text", "json"] {
            let mut session = world.serve_client(client.name, &["--output", output]);
            let reply = world.call(&mut session, GET, &json!({"files": missing}));
            assert!(reply.is_error);
            client.shows(&reply.raw);
        }
    }
}

#[test]
fn the_reply_to_an_edit_of_very_many_places_says_what_it_leaves_out() {
    for client in clients() {
        for output in ["text", "json"] {
            let world = World::new();
            world.write("many.txt", "word \"日本\"\n".repeat(1_800));
            world.write("few.txt", "word\nother\n".repeat(3));
            let mut session = world.serve_client(client.name, &["--output", output]);
            let patch = |file: &str| json!({"file_path": format!("$ROOT/{file}"), "patches": [{"old_string": "word", "new_string": "words", "replace_all": true}]});
            let mut call = json!({"files": [patch("many.txt"), patch("few.txt")]});
            call["dry_run"] = true.into();
            let reply = world.call(&mut session, PATCH, &call);
            let fits =
                |text: &str| if output == "json" { client.shows_json(text) } else { client.shows(text) };
            fits(&reply.raw);
            let dry: Value = serde_json::from_str(&reply.raw).unwrap();
            let diff = dry["files"][0]["diff"].as_str().unwrap();
            let count: usize = diff.lines().next_back().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
            // Two lines of a header, that of a hunk, and two for each place.
            assert_eq!(diff.lines().count() - 1 + count, 3 + 3_600, "{}", diff.lines().next_back().unwrap());
            assert!(dry["files"][1]["diff"].as_str().unwrap().ends_with(" other\n"), "{dry}");

            call["dry_run"] = false.into();
            let reply = world.call(&mut session, PATCH, &call);
            fits(&reply.raw);
            let done: Value = serde_json::from_str(&reply.raw).unwrap();
            let (many, few) = (&done["files"][0], &done["files"][1]);
            let shown = many["regions"].as_array().unwrap();
            if output == "text" {
                assert_eq!((shown.len(), &done["regions_not_shown"]), (3, &json!(1_799)), "{done}");
                assert_eq!(few["regions"].as_array().unwrap().len(), 1, "the last of all");
                continue;
            }
            assert!(shown.len() > 40, "{}", shown.len());
            assert_eq!(shown.len() as u64 + many["regions_not_shown"].as_u64().unwrap(), 1_800);
            assert!(many["warnings"][0].as_str().unwrap().contains("regions are not shown"), "{many}");
            assert_eq!((&many["total_lines"], many["file_hash"].is_string()), (&json!(1_800), true));
            assert_eq!(few["regions"].as_array().unwrap().len(), 3);
            assert_eq!(few.get("regions_not_shown"), None);
        }
    }
}

#[test]
fn the_reply_to_an_edit_of_very_many_files_says_what_it_leaves_out() {
    let world = World::new();
    for number in 0..400 {
        world.write(&format!("files/number {number}.txt"), "a\n");
    }
    let mut text = "a";
    for client in clients() {
        let mut session = world.serve_client(
            client.name,
            &["--tools", "all", "--durability", "process", "--limit", "call-seconds=600"],
        );
        let new = if text == "a" { "b" } else { "a" };
        let patches = json!([{"old_string": text, "new_string": new}]);
        let files: Vec<Value> = (0..400)
            .map(
                |number| json!({"file_path": format!("$ROOT/files/number {number}.txt"), "patches": patches}),
            )
            .collect();
        let reply = world.call(&mut session, PATCH, &json!({"files": files}));
        assert!((client.count)(&reply.raw) < 1_000, "{}", reply.raw);
        let done: Value = serde_json::from_str(&reply.raw).unwrap();
        let shown = done["files"].as_array().unwrap();
        assert_eq!(shown.len() as u64 + done["files_not_shown"].as_u64().unwrap(), 400);
        assert!(!shown.is_empty() && shown.iter().all(|file| file["file_hash"].is_string()));
        assert_eq!(done["regions_not_shown"], 400);
        let list = world.call(&mut session, "list_text_file_edits", &json!({}));
        assert!(list.text.contains("/number 0.txt"), "{}", list.text);
        client.shows(&list.raw);
        text = new;
    }
}

#[test]
fn the_option_outranks_what_is_known_of_a_client() {
    let world = World::new();
    write_files(&world);
    let call = json!({"file_path": "$ROOT/ascii.txt"});
    for name in ["copilot-cli", "some-other-client"] {
        let mut session = world.serve_client(name, &["--max-response-bytes", "100000"]);
        let reply = world.call(&mut session, GET, &call).raw;
        assert!((98_000..101_000).contains(&reply.len()), "{}", reply.len());
        let short = world.call(&mut session, GET, &json!({"file_path": "$ROOT/empty.txt"})).raw;
        assert!(short.split('\n').count() > 10_000, "lines do not count then");
    }
}

#[test]
fn a_client_without_a_session_is_known_by_each_request() {
    let world = World::new();
    write_files(&world);
    let mut session = world.serve(&[]);
    let mut size = |name: &str| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let arguments = json!({"file_path": world.path("ascii.txt")});
        let answer = session.ask("tools/call", &json!({"name": GET, "arguments": arguments, "_meta": meta}));
        answer["result"]["content"][0]["text"].as_str().unwrap().len()
    };
    for (name, range) in
        [("copilot-cli", 19_000..20_480), ("claude-code", 47_000..50_000), ("what", 17_000..18_001)]
    {
        // The second answer may be at hand, and then takes another way.
        for _ in 0..2 {
            let size = size(name);
            assert!(range.contains(&size), "{name}: {size}");
        }
    }
}

#[test]
fn what_is_at_hand_is_answered_as_all_else_is() {
    let world = World::new();
    write_files(&world);
    for client in clients() {
        let mut session = world.serve_client(client.name, &[]);
        // With a name that the server's own are like, a request is left to the SDK.
        let mut ask = |arguments: &Value, meta: &Value| {
            let params = json!({"name": GET, "arguments": arguments, "_meta": meta});
            session.ask("tools/call", &params)["result"].take()
        };
        let (ours, theirs) = (json!({"io.modelcontextprotocol/other": 1}), json!({"progressToken": 7}));
        let file = |ranges: Value| json!({"file_path": world.path("ascii.txt"), "ranges": ranges});
        let line = |line: u64| json!({"start": line, "end": line});
        for arguments in [
            json!({"file_path": world.path("ascii.txt"), "line_start": 2}),
            json!({"files": [file(json!([line(1), line(3)])), file(json!([line(2)])), file(json!([]))]}),
            json!({"files": [file((1..=9).map(line).collect())]}),
            json!({"files": [file(json!([line(1)])), {"file_path": world.path("none.txt")}]}),
            json!({"files": []}),
        ] {
            let first = ask(&arguments, &ours);
            let again = [&theirs, &ours, &theirs].map(|meta| ask(&arguments, meta));
            assert_eq!(again, [first.clone(), first.clone(), first]);
        }
    }
}
