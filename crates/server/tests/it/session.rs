//! Sessions: with the real program over standard input and output, and in memory if a tool has to misbehave.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use mcp_text_editor::config::Config;
use mcp_text_editor::context::{Context, Reply};
use mcp_text_editor::limits::{Limit, Limits};
use mcp_text_editor::problem::{Code, Failure, Problem};
use mcp_text_editor::protocol::server::Server;
use mcp_text_editor::protocol::session;
use mcp_text_editor::tools::{self, Run, Tool};
use mcp_text_editor::transport::stdio::{LineTransport, runtime};
use mcp_text_editor_store::Workspace;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_mcp-text-editor");

/// The variable that names a person's home directory.
pub(crate) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// Returns an empty directory to serve. A search of the whole machine for a file that may be meant would take
/// long.
pub(crate) fn nothing() -> &'static str {
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/nothing");
    #[expect(clippy::disallowed_methods, reason = "a test sets its directory up")]
    std::fs::create_dir_all(path).unwrap();
    path
}

/// Held exclusively while a program is started, and shared while a test writes a file. Between fork and exec
/// a child has all files of this process open, and a file that another process has open for writing is edited
/// in another way.
static STARTS: RwLock<()> = RwLock::new(());

/// The error of Wine if it cannot start a program because it is very busy.
const ERROR_INTERNAL_ERROR: i32 = 1359;

/// Starts a program while no test writes a file.
pub(crate) fn started(command: &mut Command) -> Child {
    let _alone = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..20 {
        match command.spawn() {
            Err(error) if cfg!(windows) && error.raw_os_error() == Some(ERROR_INTERNAL_ERROR) => {
                std::thread::sleep(Duration::from_millis(250));
            }
            child => return child.unwrap(),
        }
    }
    panic!("Wine starts no program")
}

/// Writes a file while no program is started.
pub(crate) fn written(write: impl FnOnce()) {
    let _shared = STARTS.read().unwrap_or_else(PoisonError::into_inner);
    write();
}

/// The real program, over its standard input and output.
pub(crate) struct Session {
    child: Child,
    lines: BufReader<ChildStdout>,
    state: tempfile::TempDir,
}

impl Session {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_by(&mut Command::new(BINARY), arguments)
    }

    /// Starts the program in a directory.
    #[cfg(target_os = "linux")]
    pub(crate) fn start_in(directory: &std::path::Path, arguments: &[&str]) -> Self {
        Self::start_by(Command::new(BINARY).current_dir(directory), arguments)
    }

    /// Starts the program with a limit on open files: the soft limit (`-S`), or also the hard one (`-H`).
    #[cfg(unix)]
    pub(crate) fn with_handles(which: &str, most: u32, arguments: &[&str]) -> Self {
        Self::limited(&format!("ulimit -S -n {most} && ulimit {which} -n {most}"), arguments)
    }

    /// Starts the program by a shell, after these commands.
    #[cfg(unix)]
    pub(crate) fn limited(commands: &str, arguments: &[&str]) -> Self {
        let limited = format!(r#"{commands} && exec "$0" "$@""#);
        Self::start_by(Command::new("sh").args(["-c", &limited, BINARY]), arguments)
    }

    /// Starts the program for a client of this name.
    pub(crate) fn of_client(name: &str, arguments: &[&str]) -> Self {
        let hello = INITIALIZE
            .replace(r#""name":"test""#, &json!({"name": name}).to_string().replace(['{', '}'], ""));
        Self::introduced(&mut Command::new(BINARY), arguments, &hello)
    }

    /// Starts the program for a client that shows views.
    #[cfg(unix)]
    pub(crate) fn that_shows_views(arguments: &[&str]) -> Self {
        let shown = r#""capabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}"#;
        let hello = INITIALIZE.replace(r#""capabilities":{}"#, shown);
        Self::introduced(&mut Command::new(BINARY), arguments, &hello)
    }

    pub(crate) fn start_by(command: &mut Command, arguments: &[&str]) -> Self {
        Self::introduced(command, arguments, INITIALIZE)
    }

    fn introduced(command: &mut Command, arguments: &[&str], hello: &str) -> Self {
        let state = tempfile::tempdir().unwrap();
        command
            .env("MCP_TEXT_EDITOR_STATE_DIR", state.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = started(command);
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut session = Self { child, lines, state };
        session.send(hello);
        assert_eq!(session.receive()["result"]["serverInfo"]["name"], "mcp-text-editor");
        session.send(INITIALIZED);
        session
    }

    /// Returns its state directory.
    pub(crate) fn state(&self) -> &std::path::Path {
        self.state.path()
    }

    fn send(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    /// Sends a message, and does not wait for an answer.
    pub(crate) fn notify(&mut self, message: &Value) {
        self.send(&message.to_string());
    }

    /// Ends the input. Calls in work are finished and answered.
    pub(crate) fn end_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Sends a signal to the child of the process that was started.
    #[cfg(target_os = "linux")]
    pub(crate) fn signal_within(&self, name: &str) {
        let id = self.child.id();
        let within = super::stdio::of_the_kernel(&format!("/proc/{id}/task/{id}/children")).unwrap();
        assert!(Command::new("kill").args([name, within.trim()]).status().unwrap().success());
    }

    /// Sends a signal until the program has ended: two signals count as one if the first is not handled yet.
    #[cfg(target_os = "linux")]
    pub(crate) fn ended_by(mut self, name: &str) {
        while self.child.try_wait().unwrap().is_none() {
            let id = self.child.id();
            let within = super::stdio::of_the_kernel(&format!("/proc/{id}/task/{id}/children"));
            let within = within.unwrap_or_default();
            if !within.trim().is_empty() {
                Command::new("kill").args([name, within.trim()]).status().unwrap();
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        self.ended();
    }

    /// Waits for the program to end successfully while its input is still open.
    #[cfg(target_os = "linux")]
    pub(crate) fn ended(mut self) {
        let input = self.child.stdin.take();
        let status = self.child.wait().unwrap();
        drop(input);
        assert!(status.success(), "{status}");
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a line unchanged, and returns the answer.
    pub(crate) fn ask_raw(&mut self, line: &str) -> Value {
        self.send(line);
        self.receive()
    }

    /// Returns the most memory that the program has held so far, in KiB; `None` if the system does not tell.
    pub(crate) fn max_memory(&self) -> Option<u64> {
        let status = super::stdio::of_the_kernel(&format!("/proc/{}/status", self.child.id()))?;
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        most.trim().trim_end_matches(" kB").parse().ok()
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string());
        self.receive()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait().unwrap();
        assert!(std::thread::panicking() || status.success(), "{status}");
    }
}

#[test]
fn requests_are_answered() {
    let mut session = Session::start(&["--tools", "get_text_file_contents", nothing()]);
    let list = session.ask("tools/list", &json!({}));
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 1);
    let code = |answer: &Value| answer["error"]["code"].as_i64();
    let unknown = session.ask("tools/call", &json!({"name": "patch_file", "arguments": {}}));
    // Only offered tools are suggested.
    assert_eq!(unknown["error"], json!({"code": -32602, "message": "Unknown tool: patch_file"}));
    let unknown = session.ask("tools/call", &json!({"name": "get_text_file_content", "arguments": {}}));
    let message = "Unknown tool: get_text_file_content; did you mean get_text_file_contents?";
    assert_eq!(unknown["error"]["message"], message);
    for malformed in [json!({}), json!({"name": 5}), json!({"name": "create_text_file", "arguments": "x"})] {
        assert_eq!(code(&session.ask("tools/call", &malformed)), Some(-32602), "{malformed}");
    }
    assert_eq!(code(&session.ask("tools/list", &json!({"cursor": "x"}))), Some(-32602));
    for method in ["prompts/list", "resources/list", "resources/templates/list", "no/such"] {
        assert_eq!(code(&session.ask(method, &json!({}))), Some(-32601), "{method}");
    }
    assert_eq!(code(&session.ask("prompts/get", &json!({"name": "x"}))), Some(-32601));
    assert_eq!(code(&session.ask("resources/read", &json!({"uri": "file:///x"}))), Some(-32601));
    assert_eq!(code(&session.ask("logging/setLevel", &json!({"level": "info"}))), Some(-32601));
    let complete =
        json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}});
    assert_eq!(code(&session.ask("completion/complete", &complete)), Some(-32601));
    let disabled = session.ask("tools/call", &json!({"name": "create_text_file", "arguments": {}}));
    assert_eq!(disabled["result"]["isError"], true);
    let text = disabled["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("error: tool_disabled: create_text_file is switched off"), "{text}");
    assert_eq!(session.ask("ping", &json!({}))["result"], json!({}));
}

#[test]
fn every_revision_is_spoken() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut session = Session::start(&[nothing()]);
        let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = session.ask("initialize", &hello);
        assert_eq!(answer["result"]["protocolVersion"], version);
    }
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let mut session = Session::start(&[nothing()]);
    for method in ["server/discover", "tools/list"] {
        let answer = session.ask(method, &meta);
        assert_eq!(answer["result"]["ttlMs"], 300_000, "{answer}");
        assert_eq!(answer["result"]["cacheScope"], "private", "{answer}");
    }
}

#[test]
fn calls_in_flight_are_all_answered() {
    let mut session = Session::start(&[nothing()]);
    let call = |id: usize| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "get_text_file_contents", "arguments": {"file_path": format!("relative/{id}")}}})
    };
    let all: Vec<String> = (0..64).map(|id| call(id).to_string()).collect();
    session.send(&all.join("\n"));
    // The end of input directly after them loses none.
    drop(session.child.stdin.take());
    let mut answered: Vec<u64> = (0..64).map(|_| session.receive()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, (0..64).collect::<Vec<_>>());
}

#[test]
fn lines_of_many_megabytes_are_answered() {
    let mut session = Session::start(&[nothing()]);
    let contents = "é\n".repeat(5 << 20);
    let answer =
        session.ask("tools/call", &json!({"name": "create_text_file", "arguments": {"contents": contents}}));
    assert_eq!(answer["result"]["isError"], true);
}

/// A line for a session in memory, and the condition for sending it.
type Sent = (Value, fn() -> bool);

fn call(id: usize) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tools::read::TOOL.name()}})
}

/// Sends so many calls of the tool `run` to a session in memory at once, and ends its input. Returns the
/// answers.
fn answers(run: Run, calls: usize) -> Vec<Value> {
    answers_to(run, (1..=calls).map(|id| (call(id), (|| true) as fn() -> bool)).collect())
}

/// Returns the answers to any lines. The runtime has threads for more calls than the server allows at a time.
fn answers_to(run: Run, lines: Vec<Sent>) -> Vec<Value> {
    let tool: &'static [Tool] = Box::leak(Box::new([Tool { run, ..tools::read::TOOL }]));
    let runtime = runtime(&Limits::default().with(Limit::Calls, 100)).unwrap();
    let answers = runtime.block_on(async move {
        let (near, far) = tokio::io::duplex(1 << 16);
        let server =
            Server::with_tools(Context::new(Config::default(), Workspace::builder().build().unwrap()), tool);
        let (reader, writer) = tokio::io::split(far);
        let transport = LineTransport::new(reader, writer, Limits::default());
        let ended = tokio::spawn(async move { session::start(server, transport).waiting().await.unwrap() });
        let (reader, mut writer) = tokio::io::split(near);
        let first: [Sent; 2] = [INITIALIZE, INITIALIZED].map(|line| {
            let sent: Sent = (serde_json::from_str(line).unwrap(), || true);
            sent
        });
        for (line, may_be_sent) in first.into_iter().chain(lines) {
            while !may_be_sent() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        writer.shutdown().await.unwrap();
        let mut lines = tokio::io::BufReader::new(reader).lines();
        let mut answers = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            answers.push(serde_json::from_str::<Value>(&line).unwrap());
        }
        let _ = ended.await;
        answers
    });
    let mut answers: Vec<Value> = answers.into_iter().filter(|answer| answer["id"] != 0).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
}

#[test]
fn a_panic_is_answered_and_contained() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let answers = answers(
        |_, _, _| {
            assert!(CALLS.fetch_add(1, Ordering::SeqCst) % 2 == 1, "as asked");
            Ok(Reply { text: "fine".to_owned(), structured: None, story: None })
        },
        40,
    );
    assert_eq!(answers.len(), 40);
    let failed: Vec<&Value> = answers.iter().filter(|answer| answer["result"]["isError"] == true).collect();
    assert_eq!(failed.len(), 20);
    insta::assert_snapshot!(failed[0]["result"]["content"][0]["text"].as_str().unwrap(), @r"
    error: internal_error: the server failed on this call
    suggestion: get_text_file_contents
    hint: this is a defect of the server, please report it; another way to ask may succeed
    ");
}

#[test]
fn work_is_bounded_and_outlives_the_input() {
    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MAX: AtomicUsize = AtomicUsize::new(0);
    let answers = answers(
        |_, _, _| {
            let now = NOW.fetch_add(1, Ordering::SeqCst) + 1;
            MAX.fetch_max(now, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            NOW.fetch_sub(1, Ordering::SeqCst);
            Ok(Reply { text: "done".to_owned(), structured: Some(json!({"done": true})), story: None })
        },
        64,
    );
    assert_eq!(answers.len(), 64);
    assert!(answers.iter().all(|answer| answer["result"]["structuredContent"]["done"] == true));
    assert!(MAX.load(Ordering::SeqCst) <= Limits::default().size(Limit::Calls));
}

/// There are two sessions of one server, each with as many calls as the server works on at a time.
#[test]
fn sessions_of_a_process_share_the_limit_of_calls() {
    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MAX: AtomicUsize = AtomicUsize::new(0);
    static DONE: AtomicUsize = AtomicUsize::new(0);
    const CALLS: usize = 3;
    let run: Run = |_, _, _| {
        MAX.fetch_max(NOW.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // Waits until as many work as are allowed, and a little longer, so that one too many could begin.
        while DONE.load(Ordering::SeqCst) == 0 && NOW.load(Ordering::SeqCst) < CALLS {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(50));
        DONE.fetch_add(1, Ordering::SeqCst);
        NOW.fetch_sub(1, Ordering::SeqCst);
        Ok(Reply { text: "done".to_owned(), structured: None, story: None })
    };
    let tool: &'static [Tool] = Box::leak(Box::new([Tool { run, ..tools::read::TOOL }]));
    let runtime = runtime(&Limits::default().with(Limit::Calls, 100)).unwrap();
    runtime.block_on(async move {
        let limits = Limits::default().with(Limit::Calls, CALLS as u64);
        let config = Config { limits, ..Config::default() };
        let context = Context::new(config, Workspace::builder().build().unwrap());
        let server = Server::with_tools(context, tool);
        let mut sessions = Vec::new();
        for _ in 0..2 {
            let (near, far) = tokio::io::duplex(1 << 16);
            let (reader, writer) = tokio::io::split(far);
            let lines = LineTransport::new(reader, writer, Limits::default());
            let session = session::start(server.clone(), lines);
            let (reader, mut writer) = tokio::io::split(near);
            let calls = (1..=CALLS).map(|id| call(id).to_string());
            let sent: Vec<String> =
                [INITIALIZE, INITIALIZED].map(str::to_owned).into_iter().chain(calls).collect();
            writer.write_all((sent.join("\n") + "\n").as_bytes()).await.unwrap();
            writer.shutdown().await.unwrap();
            sessions.push((session, tokio::io::BufReader::new(reader).lines(), writer));
        }
        for (session, mut lines, _writer) in sessions {
            let mut answers = 0;
            while lines.next_line().await.unwrap().is_some() {
                answers += 1;
            }
            // The answer to `initialize` counts, too.
            assert_eq!(answers, CALLS + 1);
            session.waiting().await.unwrap();
        }
    });
    assert_eq!(MAX.load(Ordering::SeqCst), CALLS);
}

/// An edit may have been made by then, and the client that withdrew it must be told.
#[test]
fn a_cancelled_call_is_told_and_answered_unless_it_has_left_nothing() {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    let cancel =
        |id| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let with = |id, made| {
        let mut call = call(id);
        call["params"]["arguments"] = json!({"made": made});
        call
    };
    let answers = answers_to(
        |_, arguments, cancel| {
            BEGUN.fetch_add(1, Ordering::SeqCst);
            while !cancel.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            if arguments["made"] == true {
                return Ok(Reply { text: "made".to_owned(), structured: None, story: None });
            }
            let problem = Problem::new(Code::Cancelled, "the call was cancelled", "send it again");
            Err(Failure::of(problem, "", true))
        },
        vec![
            (with(7, true), || true),
            (with(8, false), || true),
            (cancel(7), || BEGUN.load(Ordering::SeqCst) == 2),
            (cancel(8), || true),
            (cancel(9), || true),
        ],
    );
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["id"], 7);
    assert_eq!(answers[0]["result"]["content"][0]["text"], "made");
}

#[test]
fn a_request_with_the_id_of_one_in_work_is_not_carried_out() {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static MAY_END: AtomicUsize = AtomicUsize::new(0);
    let answers = answers_to(
        |_, _, _| {
            BEGUN.fetch_add(1, Ordering::SeqCst);
            while MAY_END.load(Ordering::SeqCst) == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(Reply { text: String::new(), structured: None, story: None })
        },
        vec![
            (call(7), || true),
            (call(7), || BEGUN.load(Ordering::SeqCst) == 1),
            (call(8), || true),
            (json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), || {
                let both = BEGUN.load(Ordering::SeqCst) == 2;
                MAY_END.store(usize::from(both), Ordering::SeqCst);
                both
            }),
        ],
    );
    let errors: Vec<&str> = answers.iter().filter_map(|answer| answer["error"]["message"].as_str()).collect();
    insta::assert_snapshot!(errors.join("\n"), @"a request with this id is in work: each needs an id of its own; this one was not carried out");
    assert_eq!((answers.len(), BEGUN.load(Ordering::SeqCst)), (3, 2));
}
