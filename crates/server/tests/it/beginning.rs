//! The beginning of a session. In any order of messages each request has its answer, and the session goes on.

use std::io::Write as _;
use std::process::{Command, Stdio};

use mcp_text_editor::config::Config;
use mcp_text_editor::context::Context;
use mcp_text_editor::limits::Limits;
use mcp_text_editor::protocol::server::Server;
use mcp_text_editor::protocol::session;
use mcp_text_editor::transport::stdio::{LineTransport, runtime};
use mcp_text_editor_store::Workspace;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A message that a client may send. Each gets an id of its own.
#[derive(Clone, Copy, Debug)]
enum Sent {
    Initialize(&'static str),
    MalformedInitialize,
    /// Requests of a session.
    List,
    SetLevel,
    /// Requests that stand alone, as from revision 2026-07-28 on.
    AloneList,
    AlonePing,
    AloneDiscover,
    /// Requests that stand alone, but lack something.
    UnknownRevision,
    NoCapabilities,
    Discover,
    /// Requests that are answered with or without a session.
    Ping,
    Unknown,
    Malformed,
    WrongId(&'static str),
    Batch,
    /// Messages that have no answer.
    Notification(&'static str),
    Response,
    Error,
    Garbage(&'static str),
}

use Sent::*;

const ALL: &[Sent] = &[
    Initialize("2024-11-05"),
    Initialize("2025-03-26"),
    Initialize("2025-06-18"),
    Initialize("2025-11-25"),
    Initialize("2026-07-28"),
    Initialize("1999-01-01"),
    MalformedInitialize,
    List,
    SetLevel,
    AloneList,
    AlonePing,
    AloneDiscover,
    UnknownRevision,
    NoCapabilities,
    Discover,
    Ping,
    Unknown,
    Malformed,
    WrongId("null"),
    WrongId("1.5"),
    WrongId("true"),
    WrongId("{\"id\":1}"),
    WrongId("[1]"),
    WrongId("9223372036854775808"),
    WrongId("1e400"),
    Batch,
    Notification("notifications/initialized"),
    Notification("notifications/cancelled"),
    Notification("notifications/of/ours"),
    Response,
    Error,
    Garbage("hello"),
    Garbage("{}"),
    Garbage(""),
];

impl Sent {
    fn line(self, id: usize) -> String {
        let request = |method: &str, params: Value| {
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
        };
        let alone = |revision: &str| {
            json!({"_meta": {
                "io.modelcontextprotocol/protocolVersion": revision,
                "io.modelcontextprotocol/clientCapabilities": {},
            }})
        };
        match self {
            Initialize(revision) => request(
                "initialize",
                json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
            ),
            MalformedInitialize => request("initialize", json!({"protocolVersion": 5})),
            List => request("tools/list", json!({})),
            SetLevel => request("logging/setLevel", json!({"level": "info"})),
            AloneList => request("tools/list", alone("2026-07-28")),
            AlonePing => request("ping", alone("2026-07-28")),
            AloneDiscover => request("server/discover", alone("2026-07-28")),
            UnknownRevision => request("tools/list", alone("3000-01-01")),
            NoCapabilities => request(
                "tools/list",
                json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}),
            ),
            Discover => request("server/discover", json!({})),
            Ping => request("ping", json!({})),
            Unknown => request("no/such", json!({})),
            Malformed => request("tools/call", json!({"name": 5})),
            WrongId(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
            Batch => format!("[{}]", request("ping", json!({}))),
            Notification("notifications/cancelled") => {
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "none"}})
                    .to_string()
            }
            Notification(method) => json!({"jsonrpc": "2.0", "method": method}).to_string(),
            Response => json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string(),
            Error => json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "x"}}).to_string(),
            Garbage(line) => line.to_owned(),
        }
    }

    /// Returns the code of the error that answers it, 0 for a result; `None` if it has no answer.
    fn answer(self, in_session: bool) -> Option<i64> {
        match self {
            Initialize(_) | AloneList | AloneDiscover | Ping => Some(0),
            List if in_session => Some(0),
            SetLevel if in_session => Some(-32601),
            MalformedInitialize | List | SetLevel | NoCapabilities | Discover | Malformed => Some(-32602),
            UnknownRevision => Some(-32022),
            Unknown | AlonePing => Some(-32601),
            WrongId(_) | Batch => Some(-32600),
            Notification(_) | Response | Error | Garbage(_) => None,
        }
    }
}

/// Sends messages to a session at once, and ends its input. Returns the ids and the codes of the answers.
fn answers(sent: &[Sent]) -> Vec<(Value, i64)> {
    let mut lines: String = sent.iter().enumerate().map(|(id, sent)| sent.line(id) + "\n").collect();
    let runtime = runtime(&Limits::default()).unwrap();
    let output = runtime.block_on(async {
        let (near, far) = tokio::io::duplex(1 << 16);
        let workspace = Workspace::builder().root(std::env::temp_dir()).build().unwrap();
        let server = Server::new(Context::new(Config::default(), workspace));
        let (reader, writer) = tokio::io::split(far);
        let running = session::start(server, LineTransport::new(reader, writer, Limits::default()));
        let (mut reader, mut writer) = tokio::io::split(near);
        let write = tokio::spawn(async move {
            writer.write_all(std::mem::take(&mut lines).as_bytes()).await.unwrap();
            writer.shutdown().await.unwrap();
        });
        let mut output = String::new();
        reader.read_to_string(&mut output).await.unwrap();
        write.await.unwrap();
        running.waiting().await.unwrap();
        output
    });
    let answers = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut answers: Vec<(Value, i64)> = answers
        .map(|answer| {
            assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
            (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap_or_default())
        })
        .collect();
    answers.sort_by_key(|(id, code)| (id.as_u64(), *code));
    answers
}

fn expected(sent: &[Sent]) -> Vec<(Value, i64)> {
    let mut in_session = false;
    let mut expected = Vec::new();
    for (id, sent) in sent.iter().enumerate() {
        let id = if matches!(sent, WrongId(_)) { Value::Null } else { json!(id) };
        expected.extend(sent.answer(in_session).map(|code| (id, code)));
        in_session |= matches!(sent, Initialize(_));
    }
    expected.sort_by_key(|(id, code)| (id.as_u64(), *code));
    expected
}

/// A client that begins properly, in either way. It is served whatever came before.
const PROPERLY: [Sent; 4] =
    [AloneList, Initialize("2025-06-18"), Notification("notifications/initialized"), List];

#[test]
fn anything_may_come_first() {
    for first in ALL {
        let sent = [&[*first], &PROPERLY[..]].concat();
        assert_eq!(answers(&sent), expected(&sent), "{first:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_messages_in_any_order_leave_a_session_that_serves(
        sent in prop::collection::vec(prop::sample::select(ALL), 0..20),
    ) {
        let sent = [&sent[..], &PROPERLY].concat();
        prop_assert_eq!(answers(&sent), expected(&sent));
    }
}

/// The same holds for the program: it neither ends nor reports a failure.
#[test]
fn the_program_outlives_what_it_did_not_expect() {
    let cases: [&[Sent]; 4] = [
        &[Notification("notifications/initialized")],
        &[Response],
        &[MalformedInitialize, Notification("notifications/initialized")],
        &[AloneList, Initialize("2025-11-25"), Notification("notifications/initialized"), List],
    ];
    for first in cases {
        let sent = [first, &PROPERLY].concat();
        let state = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcp-text-editor"))
            .arg(state.path())
            .env("MCP_TEXT_EDITOR_STATE_DIR", state.path().join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines: String = sent.iter().enumerate().map(|(id, sent)| sent.line(id) + "\n").collect();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr)), (Some(0), "".into()));
        let many = String::from_utf8(output.stdout).unwrap().lines().count();
        assert_eq!(many, expected(&sent).len(), "{first:?}");
    }
}
