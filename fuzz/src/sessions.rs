//! The same session over lines and over HTTP, each on a directory of its own, and by a naive model in memory:
//! a call is refused by all or by none, both replies say the same, and after each call both directories hold
//! what the model holds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;

use mcp_text_editor::config::{Config, Output};
use mcp_text_editor::context::Context;
use mcp_text_editor::protocol::server::Server;
use mcp_text_editor::protocol::session;
use mcp_text_editor::transport::http::{HttpSettings, bind, serve_until};
use mcp_text_editor::transport::stdio::LineTransport;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::{Durability, HistorySettings, Workspace};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::files::{Step, Texts, hash, model};
use crate::input::Input;

const NAMES: &[&str] = &["a", "b", "c", "d/e", "d/f"];
/// Those that are there at the beginning.
const FIRST: &[&str] = &["a", "b", "d/e"];
const REVISION: &str = "2025-06-18";

/// Two servers in this process, and a directory for each.
struct World {
    base: PathBuf,
    lines: OverLines,
    http: OverHttp,
}

impl Drop for World {
    fn drop(&mut self) {
        // If this fails, what is left is in the system's temporary directory.
        let _ = fs::remove_dir_all(&self.base);
    }
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(world().expect("two servers, on a temporary directory"));
}

fn world() -> std::io::Result<World> {
    let name = format!("mte-fuzz-sessions-{}-{:?}", process::id(), thread::current().id());
    let base = fs::canonicalize(std::env::temp_dir())?.join(name);
    let lines = OverLines::start(server(&base, "lines")?);
    let http = OverHttp::start(server(&base, "http")?)?;
    Ok(World { base, lines, http })
}

/// Returns a server of a directory, with a history that does not grow for ever. Nothing here outlives the
/// process.
fn server(base: &Path, name: &str) -> std::io::Result<Server> {
    let root = base.join(name);
    fs::create_dir_all(&root)?;
    let history = HistorySettings { bytes: 1 << 20, ..HistorySettings::default() };
    let workspace = Workspace::builder()
        .root(root)
        .state_directory(base.join(format!("{name}.state")))
        .history(history)
        .durability(Durability::Process)
        .build()
        .map_err(std::io::Error::other)?;
    let tools = "all".parse().map_err(std::io::Error::other)?;
    Ok(Server::new(Context::new(Config { tools, output: Output::Json, ..Config::default() }, workspace)))
}

/// A session over a pair of streams in memory.
struct OverLines {
    runtime: Runtime,
    input: DuplexStream,
    output: tokio::io::BufReader<DuplexStream>,
}

impl OverLines {
    fn start(server: Server) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let ((input, far_input), (output, far_output)) =
            (tokio::io::duplex(1 << 16), tokio::io::duplex(1 << 16));
        let limits = server.context().config.limits.clone();
        runtime.block_on(async {
            let transport =
                LineTransport::new(far_input, far_output, limits).answering_at_hand(server.clone());
            tokio::spawn(session::start(server, transport).waiting());
        });
        let mut started = Self { runtime, input, output: tokio::io::BufReader::new(output) };
        let client = json!({"name": "", "version": ""});
        let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
        started.ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        started
    }

    fn ask(&mut self, message: &Value) -> Value {
        let mut answer = String::new();
        self.runtime.block_on(async {
            self.input.write_all(format!("{message}\n").as_bytes()).await.expect("somebody reads");
            self.output.read_line(&mut answer).await.expect("an answer");
        });
        serde_json::from_str(&answer).expect("an answer is JSON")
    }
}

/// A listener in this process, and a connection to it.
struct OverHttp {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
    _end: UnboundedSender<()>,
}

impl OverHttp {
    fn start(server: Server) -> std::io::Result<Self> {
        let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = listener.address();
        let settings = HttpSettings { address, token: None, hosts: Vec::new(), origins: Vec::new() };
        let (end, heard) = unbounded_channel();
        thread::spawn(move || serve_until(heard, server, listener, settings));
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { address, stream: BufReader::new(stream), _end: end })
    }

    fn ask(&mut self, message: &Value) -> Value {
        let body = message.to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: {REVISION}\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all((head + &body).as_bytes()).expect("a connection");
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("a connection");
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).expect("the whole answer");
        serde_json::from_slice(&answer).expect("an answer is JSON")
    }
}

/// The task of a call: its tool, its arguments below a directory, and what the files are then; `None` if it
/// is to be refused.
struct Call {
    tool: &'static str,
    arguments: Box<dyn Fn(&dyn Fn(&str) -> String) -> Value>,
    after: Option<Texts>,
}

/// An edit that was made: its names, and what the files were before.
struct Made {
    ids: [String; 2],
    before: Texts,
}

/// Takes the bytes for calls: numbers from the end, texts from the front.
pub fn check(data: &[u8]) {
    WORLD.with_borrow_mut(|world| world.check(data));
}

impl World {
    fn check(&mut self, data: &[u8]) {
        let mut input = Input::new(data);
        let numbers: Vec<[usize; 6]> =
            (0..=input.below(8)).map(|_| [(); 6].map(|()| usize::from(input.byte()))).collect();
        let mut texts = Drawn { texts: input.all_texts(), next: 0 };
        let mut files: Texts = FIRST.iter().map(|name| ((*name).to_owned(), texts.next())).collect();
        for root in ["lines", "http"] {
            set_up(&self.base.join(root), &files);
        }
        let mut made: Vec<Made> = Vec::new();
        for (at, numbers) in numbers.iter().enumerate() {
            let undone = if numbers[0] % 8 == 7 { made.last() } else { None };
            let call = match undone {
                Some(last) => undo(last),
                None => call(&files, numbers, &mut texts),
            };
            let ids = self.carry_out(at, &call, undone, &files);
            let before = files.clone();
            files = call.after.unwrap_or(files);
            match ids {
                Some(ids) => made.push(Made { ids, before }),
                // An edit that is not in the history keeps those before it from being taken back.
                None if files != before => made.clear(),
                None => {}
            }
        }
    }

    /// Sends a call over both, and returns by what names it can be undone.
    fn carry_out(
        &mut self,
        at: usize,
        call: &Call,
        undone: Option<&Made>,
        before: &Texts,
    ) -> Option<[String; 2]> {
        let roots = ["lines", "http"].map(|name| self.base.join(name));
        let message = |side: usize| {
            let path = |name: &str| roots[side].join(name).to_string_lossy().into_owned();
            let mut arguments = (call.arguments)(&path);
            if let Some(made) = undone {
                arguments["edit_id"] = json!(made.ids[side]);
            }
            let params = json!({"name": call.tool, "arguments": arguments});
            json!({"jsonrpc": "2.0", "id": at + 1, "method": "tools/call", "params": params})
        };
        let answers = [self.lines.ask(&message(0)), self.http.ask(&message(1))];
        let told = answers.each_ref().map(|answer| {
            let text = answer["result"]["content"][0]["text"]
                .as_str()
                .unwrap_or_else(|| panic!("no reply: {answer}"));
            serde_json::from_str::<Value>(text).unwrap_or_else(|_| panic!("no JSON: {text}"))
        });
        let ids = told.each_ref().map(|reply| reply["edit_id"].as_str().map(str::to_owned));
        let [first, second] = [0, 1].map(|side| {
            let mut text = answers[side].to_string().replace(&*roots[side].to_string_lossy(), "$ROOT");
            let known = undone.map(|made| made.ids[side].clone());
            for id in ids[side].iter().chain(&known) {
                text = text.replace(id.as_str(), "$EDIT");
            }
            text
        });
        assert_eq!(first, second, "lines and HTTP say something else");
        let is_error = answers[0]["result"]["isError"] == true;
        assert_eq!(is_error, call.after.is_none(), "{first}");
        let expected = call.after.as_ref().unwrap_or(before);
        for root in &roots {
            assert_eq!(&below(root), expected, "{first}");
        }
        if !is_error {
            self.check_hashes(&told[0], &roots[0], expected);
        }
        let [Some(first), Some(second)] = ids else { return None };
        Some([first, second])
    }

    /// Checks that what a reply says that a file holds is what it holds.
    fn check_hashes(&self, reply: &Value, root: &Path, expected: &Texts) {
        for file in reply["files"].as_array().into_iter().flatten() {
            let path = Path::new(file["file_path"].as_str().expect("a path"));
            let name = path.strip_prefix(root).expect("a path in the root").to_string_lossy();
            // One that is gone has none; another file of the call may have its name.
            let Some(told) = file["file_hash"].as_str() else { continue };
            let text = expected.get(&*name).unwrap_or_else(|| panic!("{name} is not there: {reply}"));
            assert!(Digest::of(text.as_bytes()).to_string().starts_with(told), "{reply}");
        }
    }
}

fn undo(last: &Made) -> Call {
    Call {
        tool: "undo_text_file_edits",
        arguments: Box::new(|_| json!({})),
        after: Some(last.before.clone()),
    }
}

/// Returns a call of any tool but undo.
fn call(files: &Texts, numbers: &[usize; 6], texts: &mut Drawn) -> Call {
    let name = NAMES[numbers[1] % NAMES.len()];
    let Some(text) = files.get(name).cloned() else { return several(files, numbers, texts) };
    let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    // Now and then the hash of another text, so that the call is refused.
    let file_hash = if numbers[5] % 16 == 9 { hash("another") } else { hash(&text) };
    let is_current = numbers[5] % 16 != 9;
    let then = |text: String| {
        let mut after = files.clone();
        after.insert(name.to_owned(), text);
        is_current.then_some(after)
    };
    let new = texts.next();
    let at = numbers[2] % (lines.len() + 1);
    match numbers[0] % 8 {
        0 => Call {
            tool: "append_text_file_contents",
            after: then(format!("{text}{new}")),
            arguments: Box::new(
                move |path| json!({"file_path": path(name), "file_hash": file_hash, "contents": new}),
            ),
        },
        1 => Call {
            tool: "insert_text_file_contents",
            after: then(format!("{}{new}{}", lines[..at].concat(), lines[at..].concat())),
            arguments: Box::new(
                move |path| json!({"file_path": path(name), "file_hash": file_hash, "after": at, "contents": new}),
            ),
        },
        2 if at < lines.len() && lines.len() > 1 => {
            // Not all of them: a later patch cannot have an empty text as its `old_string`.
            let end = (at + 1 + numbers[3] % 3).min(lines.len());
            let start = at.max(usize::from(end - at == lines.len()));
            let range_hash = hash(&lines[start..end].concat());
            Call {
                tool: "delete_text_file_contents",
                after: then([&lines[..start], &lines[end..]].concat().concat()),
                arguments: Box::new(move |path| {
                    let ranges = json!([{"start": start + 1, "end": end, "range_hash": range_hash}]);
                    json!({"file_path": path(name), "file_hash": file_hash, "ranges": ranges})
                }),
            }
        }
        3 => Call {
            tool: "get_text_file_contents",
            after: Some(files.clone()),
            arguments: Box::new(move |path| json!({"files": [{"file_path": path(name)}]})),
        },
        _ => several(files, numbers, texts),
    }
}

/// Returns a call that makes, edits, moves and removes files.
fn several(files: &Texts, numbers: &[usize; 6], texts: &mut Drawn) -> Call {
    let many = 1 + numbers[0] / 8 % 4;
    let steps: Vec<Step> = (0..many)
        .map(|step| {
            let number = numbers[2 + step];
            let (name, to) = (NAMES[number % 5], NAMES[(number % 5 + 1 + number / 5 % 4) % 5]);
            match number / 20 % 5 {
                0 => Step::Create(name, texts.next()),
                1 => Step::Patch(name, texts.next()),
                2 => Step::Move(name, to),
                3 => Step::Edit(name, to, texts.next()),
                _ => Step::Remove(name),
            }
        })
        .collect();
    let (after, before) = (model(files, &steps), files.clone());
    Call {
        tool: "patch_text_file_contents",
        after,
        arguments: Box::new(
            move |path| json!({"files": steps.iter().map(|step| step.entry(&before, path)).collect::<Vec<_>>()}),
        ),
    }
}

/// Texts of lines, no two alike, over and over.
struct Drawn {
    texts: Vec<String>,
    next: usize,
}

impl Drawn {
    fn next(&mut self) -> String {
        let text = self.texts.get(self.next % self.texts.len().max(1)).map_or("", String::as_str);
        self.next += 1;
        // Binary text, and other line ends, are left to the model of core.
        let text: String =
            text.chars().map(|letter| if matches!(letter, '\0' | '\r') { '_' } else { letter }).collect();
        format!("{} {text}\n", self.next)
    }
}

fn set_up(root: &Path, files: &Texts) {
    for name in below(root).keys().filter(|name| !files.contains_key(*name)) {
        fs::remove_file(root.join(name)).expect("a file");
    }
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap_or(root)).expect("a directory");
        fs::write(path, text).expect("a file");
    }
}

/// Returns all files below a directory.
fn below(root: &Path) -> Texts {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let name = path.strip_prefix(root).expect("it is below").to_string_lossy().into_owned();
            found.insert(name, String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned());
        }
    }
    found
}
