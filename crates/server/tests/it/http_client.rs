//! A client of HTTP for tests. The server is the program, or one in this process; requests are bytes over a
//! socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::{Value, json};

use crate::session::{BINARY, started};

/// The program, serving HTTP at an address that the system chose.
pub(crate) struct HttpServer {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    /// The log of the program after the line with its address.
    #[cfg_attr(not(unix), expect(dead_code, reason = "read where a process ends by a signal"))]
    pub(crate) log: BufReader<ChildStderr>,
    _state: tempfile::TempDir,
}

impl HttpServer {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", arguments)
    }

    pub(crate) fn start_at(address: &str, arguments: &[&str]) -> Self {
        Self::start_by(Command::new(BINARY), address, arguments)
    }

    /// Starts the program by a command, to which its arguments are added.
    pub(crate) fn start_by(mut command: Command, address: &str, arguments: &[&str]) -> Self {
        let state = tempfile::tempdir().unwrap();
        command
            .env("MCP_TEXT_EDITOR_STATE_DIR", state.path())
            .args(["--http", address])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = started(&mut command);
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let begin = said.len();
            assert_ne!(log.read_line(&mut said).unwrap(), 0, "it ended: {said}");
            let url = said[begin..].split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp"));
            if let Some((address, _)) = url {
                break address.parse().unwrap();
            }
        };
        Self { child, address, log, _state: state }
    }

    pub(crate) fn post(&self, headers: &[(&str, &str)], message: &Value) -> Response {
        post(self.address, headers, message)
    }

    /// Returns the result of a tool's call by a client of revision 2025-06-18.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        let message = request(1, "tools/call", &json!({"name": tool, "arguments": arguments}));
        let response = self.post(&[("MCP-Protocol-Version", "2025-06-18")], &message);
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["result"].clone()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // If the test has ended the process, it has also waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response. Two responses cannot be compared as a whole: each has its own time.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Names are in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the messages of a stream of events.
    pub(crate) fn events(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"), "{self:?}");
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Posts a message as a client does. The given headers replace the usual ones.
pub(crate) fn post(address: SocketAddr, headers: &[(&str, &str)], message: &Value) -> Response {
    send(address, "POST /mcp", headers, message.to_string().as_bytes())
}

/// Sends a request, and reads the whole response.
pub(crate) fn send(address: SocketAddr, what: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    read(&begin(address, what, headers, body))
}

/// Sends a request. An empty value removes a usual header.
pub(crate) fn begin(address: SocketAddr, what: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let (host, length) = (address.to_string(), body.len().to_string());
    let usual = [
        ("Host", host.as_str()),
        ("Connection", "close"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Length", length.as_str()),
    ];
    let is_given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    let usual = usual.into_iter().filter(|(name, _)| !is_given(name));
    let mut head = vec![format!("{what} HTTP/1.1")];
    for (name, value) in usual.chain(headers.iter().copied().filter(|(_, value)| !value.is_empty())) {
        head.push(format!("{name}: {value}"));
    }
    stream.write_all((head.join("\r\n") + "\r\n\r\n").as_bytes()).unwrap();
    // A server that has refused the head need not read the body.
    let _ = stream.write_all(body);
    stream
}

/// Reads a response to its end.
pub(crate) fn read(stream: &TcpStream) -> Response {
    let mut reader = BufReader::new(stream);
    let (status, headers) = head(&mut reader);
    let mut rest = Vec::new();
    // The server may close the connection before it has read all that was sent to it.
    let _ = reader.read_to_end(&mut rest);
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if chunked { joined(&rest) } else { rest };
    Response { status, headers, body: String::from_utf8(body).unwrap() }
}

/// Reads the head of a response.
pub(crate) fn head(reader: &mut BufReader<&TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the response ended in its head: {lines:?}");
        if line.trim_end().is_empty() {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
    let header = |line: &String| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    (status, lines[1..].iter().map(header).collect())
}

/// Joins the chunks of a body (RFC 9112, section 7.1).
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let end = chunks.windows(2).position(|pair| pair == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return out;
        }
        out.extend_from_slice(&chunks[end + 2..end + 2 + length]);
        chunks = &chunks[end + 4 + length..];
    }
}
