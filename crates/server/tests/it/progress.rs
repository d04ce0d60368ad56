//! Long calls. A client that gave a token gets reports from time to time that they go on, and none after they
//! have ended.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_text_editor::config::Config;
use mcp_text_editor::context::{Context, Reply};
use mcp_text_editor::limits::{Limit, Limits};
use mcp_text_editor::protocol::server::Server;
use mcp_text_editor::protocol::session;
use mcp_text_editor::tools::{self, Run, Tool};
use mcp_text_editor::transport::stdio::{LineTransport, runtime};
use mcp_text_editor_store::Workspace;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};

use crate::session::INITIALIZE;

/// Sends all of `sent` at once to a session in memory whose one tool is `run`, `calls` at a time. Gives each
/// line of the answer to `heard`, until that says that it is enough. Then the input ends.
fn listen(run: Run, calls: u64, sent: &[Value], mut heard: impl FnMut(&Value) -> bool) {
    let tool: &'static [Tool] = Box::leak(Box::new([Tool { run, ..tools::read::TOOL }]));
    let limits = Limits::default().with(Limit::Calls, calls);
    let lines: Vec<String> = sent.iter().map(|line| line.to_string() + "\n").collect();
    runtime(&Limits::default()).unwrap().block_on(async move {
        let config = Config { limits, ..Config::default() };
        let context = Context::new(config, Workspace::builder().build().unwrap());
        let server = Server::with_tools(context, tool).with_progress_every(Duration::from_millis(5));
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(far);
        let running = session::start(server, LineTransport::new(reader, writer, Limits::default()));
        let (reader, mut writer) = tokio::io::split(near);
        writer.write_all(lines.concat().as_bytes()).await.unwrap();
        let mut lines = tokio::io::BufReader::new(reader).lines();
        while heard(&serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap()) {}
        // Calls in work are finished, and later lines are given to `heard`, too.
        writer.shutdown().await.unwrap();
        while let Some(line) = lines.next_line().await.unwrap() {
            heard(&serde_json::from_str(&line).unwrap());
        }
        running.waiting().await.unwrap();
    });
}

fn call(id: u64, mut meta: Value, token: Option<Value>) -> Value {
    if let Some(token) = token {
        meta["progressToken"] = token;
    }
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tools::read::TOOL.name(), "_meta": meta}})
}

/// Waits until a call has begun.
fn wait_for(gate: &AtomicUsize) {
    while gate.load(Ordering::SeqCst) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn done() -> Reply {
    Reply { text: "done".to_owned(), structured: None, story: None }
}

#[test]
fn a_call_with_a_token_is_reported_until_it_is_answered() {
    static GATE: AtomicUsize = AtomicUsize::new(0);
    let alone = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let initialize: Value = serde_json::from_str(INITIALIZE).unwrap();
    for (first, meta) in
        [(initialize, json!({})), (json!({"jsonrpc": "2.0", "method": "notifications/x"}), alone)]
    {
        GATE.store(0, Ordering::SeqCst);
        // The token comes back as text or as a number, as it was given. A call without a token gets no
        // report.
        let sent = [
            first,
            call(1, meta.clone(), Some(json!("seven"))),
            call(2, meta.clone(), Some(json!(7))),
            call(3, meta, None),
        ];
        let (mut seen, mut answered) = ([Vec::new(), Vec::new()], [false; 4]);
        listen(
            |_, _, _| {
                wait_for(&GATE);
                Ok(done())
            },
            16,
            &sent,
            |line| {
                if line["method"] == "notifications/progress" {
                    let params = &line["params"];
                    let which = usize::from(params["progressToken"] == 7);
                    assert!(which == 1 || params["progressToken"] == "seven", "{line}");
                    assert!(!answered[which + 1], "after the answer: {line}");
                    assert!(
                        params["message"]
                            .as_str()
                            .unwrap()
                            .starts_with("get_text_file_contents: at work for ")
                    );
                    seen[which].push(params["progress"].as_f64().unwrap());
                } else {
                    answered[usize::try_from(line["id"].as_u64().unwrap()).unwrap()] = true;
                }
                let enough = seen.iter().all(|seen| seen.len() >= 3);
                GATE.store(usize::from(enough), Ordering::SeqCst);
                !enough
            },
        );
        assert_eq!(answered[1..], [true; 3]);
        assert!(seen.iter().all(|seen| seen.is_sorted_by(|one, next| one < next)), "{seen:?}");
    }
}

#[test]
fn a_call_that_waits_for_its_turn_is_reported() {
    static GATE: AtomicUsize = AtomicUsize::new(0);
    let sent = [
        serde_json::from_str(INITIALIZE).unwrap(),
        call(1, json!({}), None),
        call(2, json!({}), Some(json!("t"))),
    ];
    let mut answers = 0;
    listen(
        |_, _, _| {
            wait_for(&GATE);
            Ok(done())
        },
        1,
        &sent,
        |line| {
            answers += usize::from(line["result"]["content"].is_array());
            let waits = line["params"]["message"]
                .as_str()
                .is_some_and(|message| message.contains("waiting for its turn"));
            if waits {
                GATE.store(1, Ordering::SeqCst);
            }
            !waits
        },
    );
    assert_eq!(answers, 2);
}

/// The test waits for one interval of the real length.
#[test]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a test is the other program, which holds the lock")]
fn a_call_that_waits_for_a_lock_is_reported() {
    let world = crate::world::World::new();
    world.write("file", "one\n");
    let other = std::fs::File::open(world.path("file")).unwrap();
    other.lock().unwrap();
    let mut session = world.serve(&[]);
    let patch = json!({"name": "patch_text_file_contents", "_meta": {"progressToken": "t"}, "arguments":
        {"files": [{"file_path": world.path("file"), "patches": [{"old_string": "one", "new_string": "two"}]}]}});
    let line = session.ask("tools/call", &patch);
    assert_eq!(
        (&line["method"], &line["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("t"))
    );
    drop(other);
    let answer = session.ask_raw(" ");
    assert!(
        answer["result"]["content"][0]["text"].as_str().unwrap().starts_with(r#"{"result":"ok""#),
        "{answer}"
    );
}
