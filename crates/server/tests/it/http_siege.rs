//! HTTP under attack: bodies that do not end, answers that nobody reads, idle connections, requests with odd
//! framing.

#[cfg(unix)]
use std::io::{BufReader, ErrorKind};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http_client::{HttpServer, begin, read, request, send};
#[cfg(unix)]
use crate::http_client::{head, post};
use crate::world::World;

/// The time after which a test fails.
const PATIENCE: Duration = Duration::from_mins(2);

fn serve(world: &World) -> HttpServer {
    HttpServer::start(&[world.path("").to_str().unwrap()])
}

fn ping() -> Value {
    request(1, "ping", &json!({}))
}

/// Returns a message, filled up with blanks to this length.
fn padded(length: usize) -> Vec<u8> {
    let mut body = ping().to_string().into_bytes();
    body.resize(length, b' ');
    body
}

/// Announces a body of one byte more than `length`, and sends all but the last byte, as far as the server
/// takes it.
fn unfinished(address: SocketAddr, length: usize) -> TcpStream {
    let announced = (length + 1).to_string();
    let mut stream = begin(address, "POST /mcp", &[("Content-Length", announced.as_str())], b"");
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    // Bytes that the server does not take are not sent.
    let _ = stream.write_all(&vec![b' '; length]);
    stream
}

/// Sends a small request, and waits for its answer, but not until idle connections are closed anyway.
fn is_served(address: SocketAddr) {
    let stream = begin(address, "POST /mcp", &[], ping().to_string().as_bytes());
    stream.set_read_timeout(Some(PATIENCE / 3)).unwrap();
    assert_eq!(read(&stream).json()["result"], json!({}));
}

/// Returns the memory of a process in MiB: the present value, and the greatest so far.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a test looks at files without the server")]
fn memory(server: &HttpServer) -> (usize, usize) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let mib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1024
    };
    (mib("VmRSS:"), mib("VmHWM:"))
}

#[cfg(target_os = "linux")]
#[test]
fn bodies_are_counted_as_they_arrive_and_go_back_when_they_are_closed() {
    let world = World::new();
    let server = serve(&world);
    let (before, _) = memory(&server);
    let sending: Vec<_> = (0..16)
        .map(|_| {
            let address = server.address;
            thread::spawn(move || unfinished(address, 32 << 20))
        })
        .collect();
    let held: Vec<TcpStream> = sending.into_iter().map(|thread| thread.join().unwrap()).collect();
    // Half a GiB was announced. The budget is 64 MiB, and one body may go beyond it.
    let (_, most) = memory(&server);
    assert!(most < before + 64 + 32 + 64, "{before} MiB, then {most} MiB");
    is_served(server.address);
    drop(held);
    while memory(&server).0 > before + 32 {
        thread::sleep(Duration::from_millis(10));
    }
    is_served(server.address);
}

#[test]
fn large_bodies_that_come_at_once_are_all_served() {
    let world = World::new();
    let server = serve(&world);
    // Together the bodies exceed the budget by half, so each holds a part of it while it waits for the rest.
    let sending: Vec<_> = (0..6)
        .map(|_| {
            let address = server.address;
            // On a busy machine a body may come too slowly. Then it is refused, and sent again.
            let once = move || send(address, "POST /mcp", &[], &padded(16 << 20)).status;
            thread::spawn(move || std::iter::repeat_with(once).find(|status| ![408, 503].contains(status)))
        })
        .collect();
    for thread in sending {
        assert_eq!(thread.join().unwrap(), Some(200));
    }
}

#[test]
fn who_sends_slowly_gives_way_to_who_waits() {
    let world = World::new();
    let server = serve(&world);
    let slow: Vec<_> = (0..20)
        .map(|_| {
            let address = server.address;
            thread::spawn(move || unfinished(address, 4 << 20))
        })
        .collect();
    let slow: Vec<TcpStream> = slow.into_iter().map(|thread| thread.join().unwrap()).collect();
    is_served(server.address);
    let response = send(server.address, "POST /mcp", &[], &padded(8 << 20));
    assert_eq!(response.status, 200);
    // All are read at the same time, for as long as it takes: any of them may be the refused one.
    let (answered, answers) = mpsc::channel();
    for stream in slow {
        let answered = answered.clone();
        thread::spawn(move || {
            let mut answer = [0; 12];
            let read = (&stream).read_exact(&mut answer).map(|()| answer).map_err(|error| error.kind());
            // The others end with the server, when the receiver is gone.
            let _ = answered.send(read);
        });
    }
    assert_eq!(answers.recv_timeout(PATIENCE), Ok(Ok(*b"HTTP/1.1 503")));
}

/// Sends requests until the server takes no more, because nobody reads its answers.
#[cfg(unix)]
fn unread(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let requests = "GET /mcp HTTP/1.1\r\n\r\n".repeat(1_000);
    while stream.write_all(requests.as_bytes()).is_ok() {}
    stream
}

#[cfg(unix)]
fn terminate(server: &HttpServer) {
    let pid = server.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
}

/// Waits for the end of a process, and returns its code.
#[cfg(unix)]
fn code(server: &mut HttpServer) -> Option<i32> {
    let began = std::time::Instant::now();
    loop {
        match server.child.try_wait().unwrap() {
            Some(status) => return status.code(),
            None => assert!(began.elapsed() < PATIENCE, "it does not end"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(unix)]
#[test]
fn answers_that_nobody_reads_keep_no_process() {
    let world = World::new();
    let mut server = serve(&world);
    let address = server.address;
    let filling: Vec<_> = (0..8).map(|_| thread::spawn(move || unread(address))).collect();
    let filled: Vec<TcpStream> = filling.into_iter().map(|thread| thread.join().unwrap()).collect();
    is_served(server.address);
    terminate(&server);
    assert_eq!(code(&mut server), Some(0));
    drop(filled);
}

#[cfg(unix)]
#[test]
fn a_body_that_has_not_come_keeps_no_process() {
    let world = World::new();
    let mut server = serve(&world);
    let body = padded(1_000);
    let stream = begin(server.address, "POST /mcp", &[("Content-Length", "1001")], &body);
    is_served(server.address);
    terminate(&server);
    let response = read(&stream);
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")), "{response:?}");
    insta::assert_snapshot!(response.body, @"the server is ending; nothing was done, and another process may serve this");
    assert_eq!(code(&mut server), Some(0));
}

#[cfg(unix)]
#[test]
fn connections_that_ask_for_nothing_give_way() {
    // The test has as many connections open as the server. Fewer would prove nothing, so the system must
    // allow them.
    mcp_text_editor_store::raise_fd_limit().unwrap();
    let world = World::new();
    let server = serve(&world);
    let mut idle = Vec::new();
    for _ in 0..1_100 {
        match TcpStream::connect(server.address) {
            Ok(stream) => idle.push(stream),
            Err(error) => {
                println!("skipped: only {} connections: {error}", idle.len());
                return;
            }
        }
    }
    is_served(server.address);
    // The oldest was closed, the newest was not.
    let mut oldest = &idle[0];
    oldest.set_read_timeout(Some(PATIENCE)).unwrap();
    let ended = oldest.read(&mut [0; 1]);
    assert!(
        ended.as_ref().is_ok_and(|count| *count == 0)
            || ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
    );
    let mut newest = idle.pop().unwrap();
    newest.write_all(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!(read(&newest).status, 200);
}

#[cfg(unix)]
#[test]
fn connections_leave_files_for_the_work() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let mut few = std::process::Command::new("sh");
    few.args(["-c", "ulimit -n 128; exec \"$0\" \"$@\"", crate::session::BINARY]);
    let server = HttpServer::start_by(few, "127.0.0.1:0", &[world.path("").to_str().unwrap()]);
    let _idle: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    is_served(server.address);
    let arguments =
        world.filled(&json!({"file_path": "$ROOT/a.txt", "old_string": "one", "new_string": "two"}));
    let made = server.call("patch_text_file_contents", &arguments);
    assert_eq!(made["isError"], json!(false), "{made}");
}

#[test]
fn what_is_wrong_with_a_batch_is_told() {
    let world = World::new();
    let server = serve(&world);
    let told = |batch: Value| {
        let response = server.post(&[], &batch);
        let answer = response.json();
        format!("{} {} {}", response.status, answer["id"], answer["error"]["message"].as_str().unwrap())
    };
    let deep = json!({"jsonrpc": "2.0", "method": "x", "id": 1, "params": {"a": vec![1; 200_000]}});
    let all = [told(json!([])), told(Value::Array(vec![ping(); 101])), told(json!([deep, deep]))];
    insta::assert_snapshot!(all.join("\n"), @r"
    400 null the batch is empty
    400 null a batch has at most 100 messages, and this one has more; none was carried out
    400 null the messages of the batch hold 400010 values together, and the limit `values` is 250000: send less in one call; a person can start this server with a higher --limit values=…
    ");
    let nested = server.post(&[], &json!([[ping()], ping(), 5])).json();
    let messages: Vec<&str> =
        nested.as_array().unwrap().iter().filter_map(|one| one["error"]["message"].as_str()).collect();
    insta::assert_snapshot!(messages.join("\n"), @r"
    a batch stands in a batch; send each request as an item of one list
    what stands in the batch is not a JSON-RPC 2.0 message
    ");
    assert_eq!(server.post(&[], &Value::Array(vec![ping(); 100])).json().as_array().unwrap().len(), 100);
}

/// Sends bytes and a last request, which is answered with 404. Returns the statuses of all answers.
fn statuses(address: SocketAddr, bytes: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let all = format!("{bytes}GET /last HTTP/1.1\r\nConnection: close\r\n\r\n");
    stream.write_all(all.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    let found: Vec<&str> = answer.split("HTTP/1.").skip(1).map(|rest| &rest[2..5]).collect();
    found.join(" ")
}

#[test]
fn a_request_has_one_reading() {
    let world = World::new();
    let server = serve(&world);
    let hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let ask = |head: &str, body: &str| {
        let usual = "Content-Type: application/json\r\nAccept: application/json\r\n";
        statuses(server.address, &format!("{head}\r\n{usual}\r\n{body}"))
    };
    let length = hidden.len();
    let post = "POST /mcp HTTP/1.1\r\nHost: localhost";
    let told: Vec<String> = [
        // Two lengths, or a length and a chunked body: the text of the body is never taken for a request.
        (format!("{post}\r\nContent-Length: {length}\r\nContent-Length: 0"), hidden.to_owned()),
        (
            format!("{post}\r\nContent-Length: 0\r\nTransfer-Encoding: chunked"),
            format!("{length:x}\r\n{hidden}\r\n0\r\n\r\n"),
        ),
        (
            format!("{post}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
            format!("0\r\n\r\n{hidden}"),
        ),
        (format!("{post}\r\nTransfer-Encoding: gzip"), hidden.to_owned()),
        (format!("{post}\r\nTransfer-Encoding : chunked"), format!("0\r\n\r\n{hidden}")),
        (format!("{post}\r\nContent-Length: +{length}"), hidden.to_owned()),
        (format!("{post}\r\nContent-Length: {length}, {length}"), hidden.to_owned()),
        (format!("{post}\r\nX: a\r\n folded"), String::new()),
        (format!("{post}\r\nTransfer-Encoding: chunked"), format!("fffffffffffffffff\r\n{hidden}")),
        // A host in the target, or two.
        (
            "POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0".to_owned(),
            String::new(),
        ),
        (format!("{post}\r\nHost: localhost\r\nContent-Length: 0"), String::new()),
        ("POST /mcp HTTP/1.0\r\nContent-Length: 0".to_owned(), String::new()),
        // Compressed bodies and long heads, which are refused.
        (format!("{post}\r\nContent-Encoding: gzip\r\nContent-Length: 2"), "{}".to_owned()),
        (format!("{post}\r\nX: {}", "x".repeat(40_000)), String::new()),
        (format!("{post}\r\n{}", "X: y\r\n".repeat(120).trim_end()), String::new()),
        (format!("GET /{} HTTP/1.1\r\nHost: localhost", "x".repeat(40_000)), String::new()),
    ]
    .iter()
    .map(|(head, body)| ask(head, body))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    400
    400
    400
    400
    400
    400
    400
    400
    400
    403 404
    403 404
    403
    415 404
    431
    431
    431
    ");
}

/// A client that reads only after it has sent everything would only learn that the connection is closed: the
/// body is larger than the system's buffers.
#[cfg(unix)]
#[test]
fn who_still_sends_what_is_refused_hears_why() {
    let world = World::new();
    let file = crate::http_access::write_token(&world, "secret", 0o600);
    let limit = ["--limit", "line-bytes=20000000"];
    let server =
        HttpServer::start(&[&limit[..], &["--token-file", &file, world.path("").to_str().unwrap()]].concat());
    let body = vec![b' '; 1 << 20];
    let told = |what: &str, headers: &[(&str, &str)], times: usize| {
        let length = (times * body.len()).to_string();
        let headers = [headers, &[("Content-Length", length.as_str())]].concat();
        let mut stream = begin(server.address, what, &headers, b"");
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        (0..times).for_each(|_| stream.write_all(&body).unwrap());
        read(&stream).status
    };
    let admitted = ("Authorization", "Bearer secret");
    assert_eq!(told("POST /mcp", &[], 12), 401);
    assert_eq!(told("POST /mcp", &[admitted, ("Host", "evil.example")], 12), 403);
    assert_eq!(told("POST /mcp", &[admitted, ("Content-Type", "text/plain")], 12), 415);
    assert_eq!(told("POST /mcp", &[admitted], 24), 413);
    assert_eq!(told("POST /", &[], 12), 404);
}

#[cfg(unix)]
#[test]
fn without_the_token_no_body_is_asked_for() {
    let world = World::new();
    let file = crate::http_access::write_token(&world, "secret", 0o600);
    let server = HttpServer::start(&["--token-file", &file, world.path("").to_str().unwrap()]);
    let first = |token: &str| {
        let headers = [("Authorization", token), ("Expect", "100-continue"), ("Content-Length", "10000000")];
        let stream = begin(server.address, "POST /mcp", &headers, b"");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (status, _) = head(&mut BufReader::new(&stream));
        (status, stream)
    };
    assert_eq!(first("Bearer secret").0, 100);
    let (status, mut stream) = first("Bearer wrong");
    assert_eq!(status, 401);
    // If it is sent all the same, the connection is closed.
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let chunk = vec![b' '; 1 << 16];
    assert!((0..2_000).any(|_| stream.write_all(&chunk).is_err()), "128 MiB were taken");
    assert_eq!(post(server.address, &[("Authorization", "Bearer secret")], &ping()).status, 200);
}
