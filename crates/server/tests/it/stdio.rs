//! Standard input and output of every kind, and lines that are no messages.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek as _, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::session::{INITIALIZE, INITIALIZED, nothing};

/// A session over streams of some kind.
struct Session {
    child: Child,
    input: Option<Box<dyn Write + Send>>,
    output: BufReader<Box<dyn Read + Send>>,
}

fn program(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-text-editor"));
    command.env("MCP_TEXT_EDITOR_STATE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"));
    command.args(options).arg(nothing()).stderr(Stdio::null());
    command
}

impl Session {
    fn over_pipes(options: &[&str]) -> Self {
        let mut child = program(options).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = Box::new(child.stdin.take().unwrap());
        let output: Box<dyn Read + Send> = Box::new(child.stdout.take().unwrap());
        Self { child, input: Some(input), output: BufReader::new(output) }
    }

    /// Starts the program as Node starts its children: with a socket for each stream.
    #[cfg(unix)]
    fn over_sockets(options: &[&str]) -> Self {
        use std::os::fd::OwnedFd;
        use std::os::unix::net::UnixStream;
        let (input, theirs) = UnixStream::pair().unwrap();
        let (output, there) = UnixStream::pair().unwrap();
        let mut command = program(options);
        let child = command.stdin(OwnedFd::from(theirs)).stdout(OwnedFd::from(there)).spawn().unwrap();
        let output: Box<dyn Read + Send> = Box::new(output);
        Self { child, input: Some(Box::new(input)), output: BufReader::new(output) }
    }

    /// Starts the program with one socket for both streams.
    #[cfg(unix)]
    fn over_one_socket(options: &[&str]) -> Self {
        use std::net::Shutdown;
        use std::os::fd::OwnedFd;
        use std::os::unix::net::UnixStream;
        /// The writing half of a socket. Like a pipe it ends the input when it is dropped.
        struct Half(UnixStream);
        impl Write for Half {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.write(bytes)
            }
            fn flush(&mut self) -> std::io::Result<()> {
                self.0.flush()
            }
        }
        impl Drop for Half {
            fn drop(&mut self) {
                self.0.shutdown(Shutdown::Write).unwrap();
            }
        }
        let (near, far) = UnixStream::pair().unwrap();
        let mut command = program(options);
        let child = command
            .stdin(OwnedFd::from(far.try_clone().unwrap()))
            .stdout(OwnedFd::from(far))
            .spawn()
            .unwrap();
        let output: Box<dyn Read + Send> = Box::new(near.try_clone().unwrap());
        Self { child, input: Some(Box::new(Half(near))), output: BufReader::new(output) }
    }

    fn greet(mut self) -> Self {
        self.send(INITIALIZE.as_bytes());
        assert_eq!(self.receive()["result"]["serverInfo"]["name"], "mcp-text-editor");
        self.send(INITIALIZED.as_bytes());
        self
    }

    fn send(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Ends the input, and returns the answers up to the end of the output.
    fn finish(mut self) -> Vec<Value> {
        drop(self.input.take());
        let answers = (&mut self.output).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        let answers = answers.collect();
        assert!(self.child.wait().unwrap().success());
        answers
    }
}

/// Runs a test over each kind of stream that a parent gives its child.
fn over_each(options: &[&str], test: impl Fn(Session)) {
    test(Session::over_pipes(options).greet());
    #[cfg(unix)]
    {
        test(Session::over_sockets(options).greet());
        test(Session::over_one_socket(options).greet());
    }
}

fn ping(id: &Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "method": "ping", "id": id}).to_string().into_bytes()
}

fn read(id: usize, path: &str) -> Vec<u8> {
    let arguments = json!({"file_path": path});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "get_text_file_contents", "arguments": arguments}})
    .to_string()
    .into_bytes()
}

fn ids(answers: &[Value]) -> Vec<u64> {
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

/// Reads a file of `/proc`; `None` if the system has none. Wine shows that of Linux, whose processes have
/// other numbers than its own.
#[expect(clippy::disallowed_methods, reason = "no root holds it")]
pub(crate) fn of_the_kernel(path: &str) -> Option<String> {
    if cfg!(target_os = "linux") { std::fs::read_to_string(path).ok() } else { None }
}

#[test]
fn many_requests_at_once_are_all_answered() {
    over_each(&[], |mut session| {
        session.send(br#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
        assert!(session.receive()["result"]["tools"].is_array());
        // No answer is read before all requests are written, so both directions must move at the same time.
        let lines: Vec<u8> = (0..1_000).flat_map(|id| [ping(&json!(id)), vec![b'\n']].concat()).collect();
        session.input.as_mut().unwrap().write_all(&lines).unwrap();
        let answers: Vec<Value> = (0..1_000).map(|_| session.receive()).collect();
        assert_eq!(ids(&answers), (0..1_000).collect::<Vec<_>>());
        assert_eq!(session.finish(), [] as [Value; 0]);
    });
}

#[test]
fn the_end_of_input_loses_no_call() {
    over_each(&[], |mut session| {
        for id in 0..64 {
            session.send(&read(id, "relative"));
        }
        // The last line has no end.
        session.input.as_mut().unwrap().write_all(&read(64, "relative")).unwrap();
        assert_eq!(ids(&session.finish()), (0..65).collect::<Vec<_>>());
    });
}

#[test]
fn lines_that_are_no_messages_are_answered_where_they_are_requests() {
    over_each(&["--max-line-bytes", "1000"], |mut session| {
        let mut check = |line: &[u8], id: Value, code: i64, said: &str| {
            session.send(line);
            let answer = session.receive();
            let error = &answer["error"];
            assert_eq!((&answer["id"], &error["code"]), (&id, &json!(code)), "{answer}");
            assert!(error["message"].as_str().unwrap().contains(said), "{answer}");
            // The session goes on.
            session.send(&ping(&json!("on")));
            assert_eq!(session.receive(), json!({"jsonrpc": "2.0", "id": "on", "result": {}}));
        };
        let long = "x".repeat(5_000_000);
        check(
            format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"id":3,"text":"{long}"}},"id":4}}"#)
                .as_bytes(),
            json!(4),
            -32600,
            "longer than 1000 bytes",
        );
        check(
            format!(r#"{{"id":"a","method":"x","params":"{long}"#).as_bytes(),
            json!("a"),
            -32600,
            "--max-line-bytes",
        );
        check(br#"{"jsonrpc":"2.0","method":"x","params":{,},"id":5}"#, json!(5), -32700, "not JSON");
        check(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\",\"id\":6}", json!(6), -32700, "not UTF-8");
        check(
            br#"{"jsonrpc":"2.0","method":"x","params":{"a":"\ud800"},"id":7}"#,
            json!(7),
            -32700,
            "not JSON",
        );
        check(br#"{"jsonrpc":"1.0","method":"ping","id":8}"#, json!(8), -32600, "not a JSON-RPC 2.0 message");
        check(br#"[{"jsonrpc":"2.0","method":"ping","id":9}]"#, json!(9), -32600, "batches");
        check(
            &[b"\n \r\nwhat?\n[]\n{\"id\":1}\n", &b"{\"method\":\"ping\",\"id\":10}\r"[..]].concat(),
            json!(10),
            -32600,
            "",
        );
        assert_eq!(session.finish(), [] as [Value; 0]);
    });
}

#[test]
fn a_line_that_has_exactly_the_length_allowed_is_served() {
    let mut session = Session::over_pipes(&["--max-line-bytes", "1000"]).greet();
    let mut line = ping(&json!(1));
    line.resize(1_000, b' ');
    session.send(&line);
    assert_eq!(session.receive()["result"], json!({}));
    line.push(b' ');
    session.send(&line);
    assert_eq!(session.receive()["error"]["code"], -32600);
}

#[test]
fn a_line_of_any_length_takes_no_memory() {
    let mut session = Session::over_pipes(&["--max-line-bytes", "1000000"]).greet();
    let input = session.input.as_mut().unwrap();
    input.write_all(br#"{"jsonrpc":"2.0","method":"tools/call","params":{"text":""#).unwrap();
    let part = "some text ".repeat(10_000);
    for _ in 0..200_000_000 / part.len() {
        input.write_all(part.as_bytes()).unwrap();
    }
    session.send(br#""},"id":1}"#);
    assert_eq!((&session.receive()["id"]), &json!(1));
    // Other systems have no such number.
    if let Some(status) = of_the_kernel(&format!("/proc/{}/status", session.child.id())) {
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let most: usize = most.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(most < 64 << 10, "{most} KiB");
    }
    session.send(&ping(&json!(2)));
    assert_eq!(session.receive()["id"], 2);
}

/// A line that is too long is answered as a request wherever its id stands, and however long it is.
#[test]
fn lines_around_the_limit() {
    let mut session = Session::over_pipes(&["--limit", "line-bytes=1000"]).greet();
    let line = |id: &str, length: usize| {
        let around = format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"a":""}}{id}}}"#).len();
        let text = "x".repeat(length - around);
        [
            format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"a":"{text}"}}{id}}}"#),
            format!(r#"{{"jsonrpc":"2.0"{id},"method":"ping","params":{{"a":"{text}"}}}}"#),
        ]
    };
    for length in [999, 1_000] {
        for (index, line) in line(r#","id":7"#, length).iter().enumerate() {
            assert_eq!(line.len(), length, "{index}");
            session.send(line.as_bytes());
            assert_eq!(session.receive(), json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
        }
    }
    for length in [1_001, 1_999, 2_000, 70_000, 200_000] {
        // Both lines are sent before an answer is read.
        for line in line(r#","id":"long""#, length) {
            session.send(line.as_bytes());
        }
        for line in line("", length) {
            // A notification has no answer.
            session.send(line.as_bytes());
        }
        session.send(&ping(&json!("on")));
        for _ in 0..2 {
            let answer = session.receive();
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&json!("long"), &json!(-32600)),
                "{answer}"
            );
            assert!(
                answer["error"]["message"].as_str().unwrap().contains("the limit `line-bytes`"),
                "{answer}"
            );
        }
        assert_eq!(session.receive()["id"], "on");
    }
    // A line that never ends.
    let [_, line] = line(r#","id":9"#, 5_000);
    session.input.as_mut().unwrap().write_all(line.trim_end_matches('}').as_bytes()).unwrap();
    let answers = session.finish();
    assert_eq!((&answers[0]["id"], answers.len()), (&json!(9), 1), "{answers:?}");
}

/// Every line of more than one byte is too long. There is no session, but no hang either.
#[test]
fn a_limit_of_one_byte() {
    let mut session = Session::over_pipes(&["--limit", "line-bytes=1"]);
    session.send(INITIALIZE.as_bytes());
    assert_eq!(session.receive()["error"]["code"], -32600);
    session.send(b"\n5\n\r");
    assert_eq!(session.finish(), [] as [Value; 0]);
}

/// Blanks and marks around a message do not matter, and neither do ids that no request can have.
#[test]
fn odd_lines_leave_the_session_as_it_is() {
    over_each(&[], |mut session| {
        let answered: [(&[u8], Value); 14] = [
            (br#"{"jsonrpc":"2.0","method":"ping","id":1}"#, json!(1)),
            (b"{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":2}\r", json!(2)),
            (b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":3}", json!(3)),
            (b" \t {\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"4\"} \t", json!("4")),
            (br#"{"jsonrpc":"2.0","method":"ping","id":-5}"#, json!(-5)),
            (br#"{"jsonrpc":"2.0","method":"ping","id":""}"#, json!("")),
            (br#"{"jsonrpc":"2.0","params":{"id":70,"method":"x"},"method":"ping","id":7}"#, json!(7)),
            (
                br#"{"id":8,"params":{"a":{"id":80},"b":[{"id":81}]},"jsonrpc":"2.0","method":"ping"}"#,
                json!(8),
            ),
            // The same id again, and text that looks like an id.
            (br#"{"jsonrpc":"2.0","method":"ping","id":1}"#, json!(1)),
            (br#"{"jsonrpc":"2.0","method":"ping","params":{"a":"\",\"id\":90,\""},"id":9}"#, json!(9)),
            // Faulty requests: they are refused, or unknown, by their id.
            (b"{\"jsonrpc\":\"2.0\",\"method\":\"p\0ing\",\"id\":10}", json!(10)),
            (br#"{"jsonrpc":"2.0","method":"p\u0000ing","id":11}"#, json!(11)),
            (br#"{"jsonrpc":"2.0","method":"ping","id":{"a":1}}"#, Value::Null),
            (br#"{"jsonrpc":"2.0","method":"ping","id":[1]}"#, Value::Null),
        ];
        for (line, id) in answered {
            session.send(line);
            let answer = session.receive();
            assert_eq!(answer["id"], id, "{answer} to {}", String::from_utf8_lossy(line));
        }
        let unanswered: [&[u8]; 20] = [
            b"",
            b"\r",
            b" ",
            b"\xEF\xBB\xBF",
            b"\0",
            b"\0\0\0\0",
            b"null",
            b"true",
            b"5",
            b"\"text\"",
            b"[]",
            b"{}",
            b"[[]]",
            b"[{}]",
            br#"[{"jsonrpc":"2.0","method":"notifications/of/ours"}]"#,
            br#"{"jsonrpc":"2.0","method":"notifications/of/ours"}"#,
            br#"{"jsonrpc":"2.0","result":{},"id":12}"#,
            br#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"},"id":13}"#,
            b"\xff\xfe{\0}\0",
            b"}{][",
        ];
        for line in unanswered {
            session.send(line);
            session.send(&ping(&json!("next")));
            assert_eq!(session.receive()["id"], "next", "{}", String::from_utf8_lossy(line));
        }
        // Each request of a batch is answered.
        session.send(br#"[{"jsonrpc":"2.0","method":"ping","id":1},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","method":"ping","id":"2"}]"#);
        for id in [json!(1), json!("2")] {
            let answer = session.receive();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(-32600)), "{answer}");
        }
        assert_eq!(session.finish(), [] as [Value; 0]);
    });
}

#[test]
fn files_are_streams_too() {
    let mut input = tempfile::tempfile().unwrap();
    writeln!(input, "{INITIALIZE}\n{INITIALIZED}").unwrap();
    for id in 1..=20 {
        input.write_all(&[&read(id, "relative")[..], b"\n"].concat()).unwrap();
    }
    input.write_all(&ping(&json!(21))).unwrap();
    input.rewind().unwrap();
    let mut output = tempfile::tempfile().unwrap();
    let status = program(&[]).stdin(input).stdout(File::try_clone(&output).unwrap()).status().unwrap();
    assert!(status.success());
    output.rewind().unwrap();
    let answers: Vec<Value> =
        BufReader::new(output).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(ids(&answers), (0..=21).collect::<Vec<_>>());
}

#[test]
fn a_client_that_stops_listening_ends_the_session() {
    let check = |mut session: Session| {
        // The input stays open.
        session.output = BufReader::new(Box::new(std::io::empty()));
        let mut input = session.input.take().unwrap();
        // A program that another test is just starting can hold the other end for an instant.
        let status = loop {
            let _ = input.write_all(&[&ping(&json!(1))[..], b"\n"].concat());
            if let Some(status) = session.child.try_wait().unwrap() {
                break status;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(status.success());
    };
    check(Session::over_pipes(&[]).greet());
    #[cfg(unix)]
    check(Session::over_sockets(&[]).greet());
}

/// Another process may have a copy of the pipe, as the test here, so that the input does not end.
#[cfg(unix)]
#[test]
fn a_server_ends_with_its_parent() {
    let server = program(&[]);
    // Without the third stream, a shell gives a program in the background an empty input.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "exec 3<&0; \"$@\" <&3 & wait", "sh"])
        .arg(server.get_program())
        .args(server.get_args());
    shell.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let input = Box::new(child.stdin.take().unwrap());
    let output: Box<dyn Read + Send> = Box::new(child.stdout.take().unwrap());
    let session = Session { child, input: Some(input), output: BufReader::new(output) };
    let mut session = session.greet();
    session.child.kill().unwrap();
    session.child.wait().unwrap();
    let mut rest = String::new();
    session.output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

/// The flags that the streams share with the parent stay as they were: another process may use them after
/// this one.
#[cfg(target_os = "linux")]
#[test]
fn flags_of_the_streams_are_left_alone() {
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    let flags = |fd: &OwnedFd| {
        let info = of_the_kernel(&format!("/proc/self/fdinfo/{}", fd.as_raw_fd())).unwrap();
        info.lines().find(|line| line.starts_with("flags:")).unwrap().to_owned()
    };
    let check = |input: OwnedFd, output: OwnedFd, mut near: Box<dyn Write>, far: Box<dyn Read>| {
        let before = (flags(&input), flags(&output));
        let mut command = program(&[]);
        command.stdin(input.try_clone().unwrap()).stdout(output.try_clone().unwrap());
        let mut child = command.spawn().unwrap();
        drop(command);
        writeln!(near, "{INITIALIZE}").unwrap();
        let mut line = String::new();
        BufReader::new(far).read_line(&mut line).unwrap();
        assert_eq!(before, (flags(&input), flags(&output)));
        drop(near);
        assert!(child.wait().unwrap().success());
    };
    let (near, theirs) = UnixStream::pair().unwrap();
    let (far, there) = UnixStream::pair().unwrap();
    check(theirs.into(), there.into(), Box::new(near), Box::new(far));
    let (theirs, near) = std::io::pipe().unwrap();
    let (far, there) = std::io::pipe().unwrap();
    check(theirs.into(), there.into(), Box::new(near), Box::new(far));
}
