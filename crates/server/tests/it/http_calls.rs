//! Long calls over HTTP: progress as events, a closed response, the end of the process, and the metrics.
#![cfg_attr(unix, expect(clippy::disallowed_methods, reason = "a test looks at files without the server"))]

use std::io::{BufReader, Read as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mcp_text_editor::config::Config;
use mcp_text_editor::context::{Context, Reply};
use mcp_text_editor::limits::{Limit, Limits};
use mcp_text_editor::problem::{Code, Failure, Problem};
use mcp_text_editor::protocol::server::Server;
use mcp_text_editor::tools::{self, Run, Tool};
use mcp_text_editor::transport::http::{HttpSettings, bind, serve_until};
use mcp_text_editor_store::Workspace;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

#[cfg(unix)]
use crate::http_client::send;
use crate::http_client::{HttpServer, begin, head, post, read, request};
use crate::world::World;

const GET: &str = "get_text_file_contents";
#[cfg(unix)]
const PATCH: &str = "patch_text_file_contents";

/// A server in this process with the one tool `run`, one call at a time. It ends when it gets a message.
struct InProcess {
    address: SocketAddr,
    end: UnboundedSender<()>,
    thread: JoinHandle<()>,
}

impl InProcess {
    fn start(run: Run) -> Self {
        let tool: &'static [Tool] = Box::leak(Box::new([Tool { run, ..tools::read::TOOL }]));
        let config = Config { limits: Limits::default().with(Limit::Calls, 1), ..Config::default() };
        let server = Server::with_tools(Context::new(config, Workspace::builder().build().unwrap()), tool)
            .with_progress_every(Duration::from_millis(5));
        let address = "127.0.0.1:0".parse().unwrap();
        let listener = bind(address).unwrap();
        let address = listener.address();
        let settings = HttpSettings { address, token: None, hosts: Vec::new(), origins: Vec::new() };
        let (end, heard) = unbounded_channel();
        let thread = thread::spawn(move || serve_until(heard, server, listener, settings).unwrap());
        Self { address, end, thread }
    }

    fn end(self) {
        self.end.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

fn call(id: u64, token: Option<Value>) -> Value {
    let meta = token.map_or_else(|| json!({}), |token| json!({"progressToken": token}));
    request(id, "tools/call", &json!({"name": GET, "arguments": {}, "_meta": meta}))
}

/// Waits until a number has a value.
fn wait_for(number: &AtomicUsize, wanted: usize) {
    while number.load(Ordering::SeqCst) != wanted {
        thread::sleep(Duration::from_millis(1));
    }
}

fn done() -> Reply {
    Reply { text: "done".to_owned(), structured: None, story: None }
}

#[test]
fn progress_comes_as_events_before_the_answer() {
    static GATE: AtomicUsize = AtomicUsize::new(0);
    let server = InProcess::start(|_, _, _| {
        wait_for(&GATE, 1);
        Ok(done())
    });
    let stream =
        begin(server.address, "POST /mcp", &[], call(1, Some(json!("seven"))).to_string().as_bytes());
    let mut reader = BufReader::new(&stream);
    let (status, headers) = head(&mut reader);
    assert_eq!(status, 200);
    assert!(headers.contains(&("content-type".to_owned(), "text/event-stream".to_owned())), "{headers:?}");
    let mut said = String::new();
    while said.matches("\ndata: ").count() < 3 {
        let mut bytes = [0; 1_000];
        let count = reader.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "{said}");
        said += std::str::from_utf8(&bytes[..count]).unwrap();
    }
    assert!(
        said.contains(r#""method":"notifications/progress""#) && said.contains(r#""progressToken":"seven""#),
        "{said}"
    );
    GATE.store(1, Ordering::SeqCst);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    said += &rest;
    let messages: Vec<Value> = said
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let (last, before) = messages.split_last().unwrap();
    assert_eq!(last["result"]["content"][0]["text"], "done", "{last}");
    assert!(before.iter().all(|message| message["method"] == "notifications/progress"), "{before:?}");
    // Clients that do not ask for progress, or take no events, get none.
    let ask = |headers: &[(&str, &str)], token: Option<Value>| {
        GATE.store(0, Ordering::SeqCst);
        let stream = begin(server.address, "POST /mcp", headers, call(2, token).to_string().as_bytes());
        thread::sleep(Duration::from_millis(20));
        GATE.store(1, Ordering::SeqCst);
        read(&stream).json()["result"]["content"][0]["text"].clone()
    };
    assert_eq!(ask(&[], None), "done");
    assert_eq!(ask(&[("Accept", "application/json")], Some(json!(7))), "done");
    server.end();
}

#[test]
fn a_response_that_is_closed_withdraws_its_call() {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static WITHDRAWN: AtomicUsize = AtomicUsize::new(0);
    let server = InProcess::start(|_, _, cancel| {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        while !cancel.is_cancelled() {
            thread::sleep(Duration::from_millis(1));
        }
        WITHDRAWN.fetch_add(1, Ordering::SeqCst);
        let problem = Problem::new(Code::Cancelled, "cancelled", "");
        Err(Failure::of(problem, "", true))
    });
    // A response as JSON has not begun yet, one as events has.
    for (index, token) in [None, Some(json!(1))].into_iter().enumerate() {
        let stream = begin(server.address, "POST /mcp", &[], call(1, token.clone()).to_string().as_bytes());
        wait_for(&BEGUN, index + 1);
        if token.is_some() {
            assert_eq!(head(&mut BufReader::new(&stream)).0, 200);
        }
        drop(stream);
        wait_for(&WITHDRAWN, index + 1);
    }
    // The turn is free again.
    assert_eq!(post(server.address, &[], &request(3, "ping", &json!({}))).status, 200);
    server.end();
    assert_eq!(BEGUN.load(Ordering::SeqCst), 2);
}

#[test]
fn at_the_end_what_is_in_work_is_answered() {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static GATE: AtomicUsize = AtomicUsize::new(0);
    let server = InProcess::start(|_, _, _| {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        wait_for(&GATE, 1);
        Ok(done())
    });
    let idle = std::net::TcpStream::connect(server.address).unwrap();
    let stream = begin(server.address, "POST /mcp", &[], call(1, None).to_string().as_bytes());
    wait_for(&BEGUN, 1);
    server.end.send(()).unwrap();
    // No more connections are accepted.
    while std::net::TcpStream::connect(server.address).is_ok() {
        thread::sleep(Duration::from_millis(1));
    }
    GATE.store(1, Ordering::SeqCst);
    assert_eq!(read(&stream).json()["result"]["content"][0]["text"], "done");
    server.thread.join().unwrap();
    drop(idle);
}

#[test]
fn batches_are_of_revision_2025_03_26() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let server = HttpServer::start(&[world.path("").to_str().unwrap()]);
    let arguments = world.filled(&json!({"file_path": "$ROOT/a.txt"}));
    let batch = json!([
        request(1, "ping", &json!({})),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "tools/call", &json!({"name": GET, "arguments": arguments})),
        {"jsonrpc": "2.0", "id": 3, "method": 5},
        request(4, "prompts/list", &json!({})),
    ]);
    for headers in [&[][..], &[("MCP-Protocol-Version", "2025-03-26")]] {
        let answers = server.post(headers, &batch).json();
        let told: Vec<(Value, bool)> = answers
            .as_array()
            .unwrap()
            .iter()
            .map(|answer| (answer["id"].clone(), answer.get("result").is_some()))
            .collect();
        assert_eq!(told, [(json!(1), true), (json!(2), true), (json!(3), false), (json!(4), false)]);
    }
    let notified = server.post(&[], &json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]));
    assert_eq!((notified.status, notified.body.as_str()), (202, ""));
    for (headers, batch) in [
        (&[("MCP-Protocol-Version", "2025-06-18")][..], batch.clone()),
        (&[], json!([])),
        (&[], Value::Array(vec![request(1, "ping", &json!({})); 101])),
    ] {
        let refused = server.post(headers, &batch);
        assert_eq!((refused.status, refused.json()["error"]["code"].as_i64()), (400, Some(-32600)));
    }
    assert_eq!(server.post(&[("Accept", "text/event-stream")], &batch).status, 406);
}

/// Takes an exclusive lock on a file, as another process would, so that an edit waits.
#[cfg(unix)]
fn hold(world: &World, path: &str) -> std::fs::File {
    let file = std::fs::File::open(world.path(path)).unwrap();
    file.lock().unwrap();
    file
}

#[cfg(unix)]
#[test]
fn sigterm_cuts_no_edit_short() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let mut server =
        HttpServer::start(&["--log-level", "info", "--log-format", "json", world.path("").to_str().unwrap()]);
    let held = hold(&world, "a.txt");
    let arguments =
        world.filled(&json!({"file_path": "$ROOT/a.txt", "old_string": "one", "new_string": "two"}));
    let message = request(1, "tools/call", &json!({"name": PATCH, "arguments": arguments}));
    let stream = begin(server.address, "POST /mcp", &[], message.to_string().as_bytes());
    // Once a later request is answered, this one is at least being read.
    assert_eq!(send(server.address, "GET /healthz", &[], b"").status, 200);
    thread::sleep(Duration::from_millis(50));
    let pid = server.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    while std::net::TcpStream::connect(server.address).is_ok() {
        thread::sleep(Duration::from_millis(1));
    }
    drop(held);
    let answer = read(&stream).json();
    assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_to_string(world.path("a.txt")).unwrap(), "two\n");
    let mut log = String::new();
    server.log.read_to_string(&mut log).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let called = lines.iter().find(|line| line["message"] == "call").unwrap();
    assert_eq!((&called["tool"], &called["code"]), (&json!(PATCH), &json!("ok")));
}

/// The test tries a database that cannot be reached, and none.
#[cfg(unix)]
#[test]
fn ready_is_who_would_carry_an_edit_out() {
    let world = World::new();
    let root = world.path("");
    let server = HttpServer::start(&[root.to_str().unwrap()]);
    let ready = send(server.address, "GET /readyz", &[("Host", "any.example")], b"");
    assert_eq!((ready.status, ready.body.as_str()), (200, "ok\n"));
    assert_eq!(send(server.address, "POST /readyz", &[], b"").status, 405);

    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-text-editor"));
    command.env("MCP_TEXT_EDITOR_STATE_URL", "postgres://me:topsecret@127.0.0.1:1/d?sslmode=disable");
    let server = HttpServer::start_by(command, "127.0.0.1:0", &[root.to_str().unwrap()]);
    let ready = send(server.address, "GET /readyz", &[], b"");
    assert_eq!(ready.status, 503, "{}", ready.body);
    assert!(
        ready.body.starts_with("edits are refused: ") && !ready.body.contains("secret"),
        "{}",
        ready.body
    );
    assert_eq!(send(server.address, "GET /healthz", &[], b"").status, 200);
    let metrics = send(server.address, "GET /metrics", &[], b"").body;
    assert!(metrics.contains("mcp_text_editor_database_errors_total "), "{metrics}");
    assert!(metrics.contains("mcp_text_editor_records_in_work 0"), "{metrics}");
}

#[cfg(unix)]
#[test]
fn what_happens_is_counted() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let server = HttpServer::start(&[world.path("").to_str().unwrap()]);
    let patch = |old: &str, new: &str| {
        world.filled(&json!({"file_path": "$ROOT/a.txt", "old_string": old, "new_string": new}))
    };
    server.call(PATCH, &patch("one", "two"));
    server.call(PATCH, &patch("one", "two"));
    server.call(GET, &world.filled(&json!({"file_path": "$ROOT/a.txt"})));
    // On a busy machine the call may come after the lock is free. Then it is held for longer.
    let mut made = 1.0;
    let response = [50, 400, 3_000]
        .iter()
        .zip([("two", "three"), ("three", "four"), ("four", "five")])
        .find_map(|(milliseconds, (old, new))| {
            let held = hold(&world, "a.txt");
            let waiting = request(1, "tools/call", &json!({"name": PATCH, "arguments": patch(old, new)}));
            let stream = begin(server.address, "POST /mcp", &[], waiting.to_string().as_bytes());
            thread::sleep(Duration::from_millis(*milliseconds));
            drop(held);
            assert_eq!(read(&stream).json()["result"]["isError"], json!(false));
            made += 1.0;
            let response = send(server.address, "GET /metrics", &[], b"");
            (!response.body.contains("\nmcp_text_editor_lock_wait_seconds_count 0\n")).then_some(response)
        });
    let response = response.expect("no call waited for the lock");
    assert_eq!(response.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let number = |name: &str| {
        let line = response.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name}: {}", response.body)).parse::<f64>().unwrap()
    };
    let patches = format!(r#"{{tool="{PATCH}"}}"#);
    for (name, expected) in [
        (format!(r#"mcp_text_editor_calls_total{{tool="{PATCH}",result="ok"}}"#), made),
        (format!(r#"mcp_text_editor_calls_total{{tool="{PATCH}",result="error"}}"#), 1.0),
        (format!(r#"mcp_text_editor_calls_total{{tool="{GET}",result="ok"}}"#), 1.0),
        (format!(r#"mcp_text_editor_errors_total{{tool="{PATCH}",code="no_match"}}"#), 1.0),
        (format!("mcp_text_editor_call_seconds_count{patches}"), made + 1.0),
        ("mcp_text_editor_lock_wait_seconds_count".to_owned(), 1.0),
        ("mcp_text_editor_recoveries_total".to_owned(), 0.0),
    ] {
        assert!((number(&name) - expected).abs() < 0.5, "{name}: {}", response.body);
    }
    assert!(number("mcp_text_editor_lock_wait_seconds_sum") > 0.0);
    assert!(!response.body.contains("a.txt"), "{}", response.body);
}
