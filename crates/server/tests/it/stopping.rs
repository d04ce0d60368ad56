//! Calls that would go on for hours end when their time is over, when they are withdrawn, and when the
//! process is to end. Meanwhile others are answered. If a call does not stop, its test does not end.

use serde_json::{Value, json};

use crate::session::Session;
use crate::world::World;

const GET: &str = "get_text_file_contents";
const SEARCH: &str = "search_text_files";

/// A pattern of twenty thousand states: at each byte of [`long_lines`] each state is followed.
const HARD: &str = "a(?:[ab]{500}){40}[^ab]";

/// Writes a file with one line of `a` and `b` in random order, and a small file.
fn long_lines(world: &World) {
    let mut seed = 1u32;
    let line: Vec<u8> = (0..4 << 20)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if seed >> 31 == 0 { b'a' } else { b'b' }
        })
        .collect();
    world.write("long.txt", line);
    world.write("small.txt", "small\n");
}

fn call(world: &World, id: u64, tool: &str, arguments: &Value) -> Value {
    let arguments = world.filled(arguments);
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

/// Sends as many hard searches as may work at a time. Returns their ids.
fn search_in_each_turn(world: &World, session: &mut Session) -> std::ops::Range<u64> {
    for id in 100..116 {
        session.notify(&call(world, id, SEARCH, &json!({"pattern": HARD})));
    }
    100..116
}

#[test]
fn searches_that_go_on_are_withdrawn_and_leave_turns_to_reads() {
    let world = World::new();
    long_lines(&world);
    let mut session = world.serve(&["--limit", "call-seconds=none"]);
    let searches = search_in_each_turn(&world, &mut session);
    let read = call(&world, 1, GET, &json!({"file_path": "$ROOT/small.txt"}));
    let answer = session.ask_raw(&read.to_string());
    assert_eq!(answer["id"], 1);
    assert!(text(&answer).ends_with("1\tsmall\n"), "{answer}");
    for id in searches {
        let params = json!({"requestId": id, "reason": "enough"});
        session.notify(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }
    // The search gets its turn once one of them has ended.
    let search = call(&world, 2, SEARCH, &json!({"pattern": "small", "paths": ["$ROOT/small.txt"]}));
    let answer = session.ask_raw(&search.to_string());
    assert_eq!(answer["id"], 2);
    assert!(text(&answer).contains("small.txt:1:small"), "{answer}");
}

#[test]
fn a_search_that_goes_on_ends_with_its_time() {
    let world = World::new();
    long_lines(&world);
    // The same with a single turn.
    let mut session = world.serve(&["--limit", "call-seconds=1", "--limit", "calls=1"]);
    let search = call(&world, 1, SEARCH, &json!({"pattern": HARD}));
    let answer = session.ask_raw(&search.to_string());
    assert!(text(&answer).contains("the limit `call-seconds` is 1 s"), "{answer}");
}

#[test]
fn at_the_end_of_input_a_search_is_cancelled_and_an_edit_is_made() {
    let world = World::new();
    long_lines(&world);
    // The edit gets the only turn once the searches before it have been cancelled.
    let mut session = world.serve(&["--limit", "call-seconds=none", "--limit", "calls=1"]);
    for id in 1..4 {
        session.notify(&call(&world, id, SEARCH, &json!({"pattern": HARD})));
    }
    let patch = json!({"file_path": "$ROOT/small.txt", "old_string": "small", "new_string": "large"});
    session.notify(&call(&world, 4, "patch_text_file_contents", &patch));
    session.end_input();
    for answer in (1..5).map(|_| session.receive()) {
        let expected = if answer["id"] == 4 { r#"{"result":"ok""# } else { "error: cancelled" };
        assert!(text(&answer).starts_with(expected), "{answer}");
    }
    let read = call(&world, 1, GET, &json!({"file_path": "$ROOT/small.txt"}));
    assert!(text(&world.serve(&[]).ask_raw(&read.to_string())).ends_with("1\tlarge\n"));
}

#[cfg(unix)]
#[test]
fn a_search_that_goes_on_does_not_keep_a_process_from_ending() {
    use crate::http_client::{HttpServer, begin, read};

    let world = World::new();
    long_lines(&world);
    let root = world.path("");
    let mut server =
        HttpServer::start(&["--log-level", "info", "--limit", "call-seconds=none", root.to_str().unwrap()]);
    let search = call(&world, 1, SEARCH, &json!({"pattern": HARD}));
    let stream = begin(server.address, "POST /mcp", &[], search.to_string().as_bytes());
    let small = server.call(GET, &world.filled(&json!({"file_path": "$ROOT/small.txt"})));
    assert_eq!(small["isError"], json!(false), "{small}");
    let pid = server.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let answer = read(&stream).json();
    assert!(text(&answer).contains("the call was cancelled"), "{answer}");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

/// Starts the program twice as the first process of a container, for which signals have no default action:
/// with a `/proc` of its own, through which pipes are opened again, and without. `None` if that cannot be
/// done here.
#[cfg(target_os = "linux")]
fn first_of_a_container(world: &World, options: &[&str]) -> Option<(Session, Session)> {
    use std::process::Command;

    use crate::session::BINARY;

    let ways = [&["--pid", "--fork"][..], &["--user", "--map-root-user", "--pid", "--fork"]];
    let can = |way: &&&[&str]| {
        let made = Command::new("unshare").args(**way).args(["--mount-proc", "true"]).output();
        made.is_ok_and(|made| made.status.success())
    };
    let way = ways.iter().find(can)?;
    let root = world.path("");
    let arguments = [options, &[root.to_str().unwrap()]].concat();
    let start = |more: &[&str]| {
        Session::start_by(Command::new("unshare").args(*way).args(more).arg(BINARY), &arguments)
    };
    Some((start(&["--mount-proc"]), start(&[])))
}

#[cfg(target_os = "linux")]
#[test]
fn the_first_process_of_a_container_ends_by_a_signal_as_by_the_end_of_input() {
    let world = World::new();
    long_lines(&world);
    let Some((mut works, idle)) = first_of_a_container(&world, &["--limit", "call-seconds=none"]) else {
        // A run that requires every test may not skip this one.
        assert!(std::env::var_os("REQUIRE_ALL").is_none(), "this needs root, or namespaces of users");
        return crate::attacks::eprint(&"skipped: no process can have numbers of its own");
    };
    idle.signal_within("-TERM");
    idle.ended();
    let search = call(&world, 1, SEARCH, &json!({"pattern": HARD}));
    works.notify(&search);
    // The search is in work once a later call is answered.
    let read = call(&world, 2, GET, &json!({"file_path": "$ROOT/small.txt"}));
    assert_eq!(works.ask_raw(&read.to_string())["id"], 2);
    works.signal_within("-INT");
    assert!(text(&works.receive()).contains("the call was cancelled"));
    works.ended();
    let (mut twice, again) = first_of_a_container(&world, &["--limit", "call-seconds=none"]).unwrap();
    drop(again);
    twice.notify(&search);
    assert_eq!(twice.ask_raw(&read.to_string())["id"], 2);
    twice.signal_within("-TERM");
    twice.ended_by("-TERM");
}
