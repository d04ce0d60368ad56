//! Starts the command of an entry, if that is safe, and judges the server's answers.
//!
//! Runs a short session with a server: `initialize`, `tools/list`, and one call. [`ask`] starts the server as
//! a process, as a client would.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread;
use std::time::Duration;

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use serde_json::{Value, json};

use super::report::{Fault, Report, ServerEntry, fault};
use crate::cli::install::clients::{Client, WorkingDirectory};
use crate::cli::install::entry::Words;
use crate::cli::install::environment::is_same_file;
use crate::cli::install::{at, expanded, project_allowlist};
use crate::cli::resolve::served_unasked;
use crate::render::directories;
use crate::tool_id::ToolId;

/// The codes of errors that show that the server reached the file.
const REACHED: &[&str] = &["no_match", "not_found", "binary_file", "decode_failed", "protected_path"];

/// Starts the server that an entry names, once for each directory that it serves. The error says why it is
/// not started.
pub(super) fn start(
    entry: &ServerEntry<'_>,
    there: &Value,
    own: &Words,
    variables: &BTreeMap<OsString, OsString>,
) -> Result<Report, Fault> {
    let ServerEntry { client, env, .. } = *entry;
    let again = &entry.again();
    let words = Client::words(there).unwrap_or_default();
    let mut program = program(entry, &words, variables.get(&OsString::from("PATH")))?;
    let expanded = expanded(client, &words, entry.project);
    let is_own = own.start.len() == 1 && is_same_file(&program, &env.program);
    if is_own {
        // This program's own file, with which the entry's program was compared, is started, even if the
        // project's link now leads elsewhere.
        program.clone_from(&env.program);
    }
    unasked(entry, there, &expanded, is_own).map_err(|why| {
        let starts = words.join(" ");
        let problem =
            format!("it is the project's, and starts {starts}: that is not started unasked, since {why}");
        fault(problem, entry.trusting())
    })?;
    let of_client =
        if client.starts == WorkingDirectory::Anywhere { env.home.clone() } else { entry.project.to_owned() };
    let named = Words::of(&expanded, env).unwrap_or_default();
    let mut served: Vec<PathBuf> = named.directories.iter().map(|root| of_client.join(root)).collect();
    if served.is_empty() {
        let fix = format!("{again} DIR, with the directories that it may read and edit");
        let root = served_unasked(of_client.clone());
        served.push(root.map_err(|unserved| fault(directories::why(&unserved), fix))?);
    }
    let mut arguments = expanded.get(1..).unwrap_or_default().to_vec();
    let mut empty = None;
    if !is_own && !entry.is_trusted {
        empty = Some(EmptyDirectory::new().map_err(|error| {
            let problem = format!("there is no directory in which other programs could be started: {error}");
            fault(problem, format!("{again}, which names this program"))
        })?);
        // The server is started in another directory, so all paths are made absolute.
        let directories = served.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        arguments = Words { directories, ..named }.all().split_off(1);
    }
    let started = if empty.is_none() {
        format!("starts {} in {}", own.all().join(" "), of_client.display())
    } else {
        format!(
            "starts {} {} in an empty directory, not as {} does in {}: what is not this program may run what a project holds \
             (--trust-project starts it there)",
            program.display(),
            arguments.join(" "),
            client.program,
            of_client.display()
        )
    };
    let mut report = Report { notes: vec![started], ..Report::default() };
    let directory = empty.as_ref().map_or(of_client.as_path(), EmptyDirectory::path);
    for root in &served {
        let start = ServerStart { program: &program, arguments: &arguments, variables, directory };
        match ask(&start, |tools| call(tools, root)) {
            Err(why) => report.wrong(
                why,
                format!("mend the command in the entry, or {again} --remove, then without --remove"),
            ),
            Ok(answers) => judge(&mut report, &answers, root, again),
        }
    }
    Ok(report)
}

/// Finds the program that a command starts.
fn program(entry: &ServerEntry<'_>, words: &[String], path: Option<&OsString>) -> Result<PathBuf, Fault> {
    let again = entry.again();
    let name = words.first().map(String::as_str).unwrap_or_default();
    let is_relative = Path::new(name).components().count() > 1 && Path::new(name).is_relative();
    if is_relative && !entry.is_project() && !entry.is_trusted {
        return Err(fault(
            format!(
                "its command {name} is relative: in each project the one that this holds would be started"
            ),
            format!("name the whole path; {again} names that of this program"),
        ));
    }
    let found = if is_relative {
        entry.project.join(name).to_str().and_then(|name| entry.env.find_program(name, None))
    } else {
        entry.env.find_program(name, path)
    };
    found.ok_or_else(|| {
        let (client, path) =
            (entry.client.program, path.map(|path| path.to_string_lossy()).unwrap_or_default());
        let problem =
            format!("the command {name} is not there, or not in the PATH that {client} gives it: {path}");
        fault(problem, again)
    })
}

/// Checks that an entry may be started without `--trust-project`. A project can come from anybody, so its
/// entry must start this very program, directly, with harmless arguments. The error says why the entry may
/// not be started.
fn unasked(entry: &ServerEntry<'_>, there: &Value, expanded: &[String], is_own: bool) -> Result<(), String> {
    if !entry.is_project() || entry.is_trusted {
        return Ok(());
    }
    if !is_own {
        return Err("it is another program than this one".to_owned());
    }
    project_allowlist::members(entry.client, there)?;
    project_allowlist::arguments(entry.client, expanded.get(1..).unwrap_or_default(), entry.project)
}

/// Chooses a call that reads a file of a directory, and changes nothing. If the directory has no file, the
/// call names one that does not exist. `None` if no tool fits.
fn call(tools: &[String], root: &Path) -> Option<(String, Value)> {
    let entries = root.read_dir().ok().into_iter().flatten().filter_map(Result::ok);
    let files =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path());
    let file = files.min().unwrap_or_else(|| root.join("no-such-file"));
    let offers = |tool: ToolId| tools.iter().any(|name| name == tool.name());
    if offers(ToolId::Get) {
        let arguments = json!({"files": [{"file_path": file, "ranges": []}]});
        Some((ToolId::Get.name().to_owned(), arguments))
    } else if offers(ToolId::Patch) {
        let patch = json!({"old_string": "mcp-text-editor doctor looks for this", "new_string": ""});
        let arguments = json!({"files": [{"file_path": file, "patches": [patch]}], "dry_run": true});
        Some((ToolId::Patch.name().to_owned(), arguments))
    } else {
        None
    }
}

/// Adds the findings about a server's answers to the report.
fn judge(report: &mut Report, answers: &SessionAnswers, root: &Path, again: &str) {
    let SessionAnswers { version, tools, result, said, .. } = answers;
    report.notes.push(format!("answers as version {version}, with {}", tools.join(", ")));
    let own = env!("CARGO_PKG_VERSION");
    if version != own {
        report.wrong(format!("the entry starts version {version}, and this is {own}"), again);
    }
    let code = result.strip_prefix("error: ").and_then(|rest| rest.split(':').next());
    if code.is_some_and(|code| !REACHED.contains(&code)) {
        let why = result.lines().next().unwrap_or_default();
        let problem = format!("no file in {} can be read: {why}", root.display());
        report.wrong(problem, format!("{again} DIR, with directories that are there"));
        return;
    }
    report.notes.push(format!("reads files in {}", root.display()));
    for line in said {
        let Some((_, words)) = line.split_once(" WARN ").or_else(|| line.split_once(" ERROR ")) else {
            continue;
        };
        // The text after the name of the module.
        let words = words.split_once(": ").map_or(words, |(_, words)| words).trim();
        let fix = "mend what it tells; docs/install.md has the options that the entry can name";
        report.wrong(format!("it warns: {words}"), fix);
    }
}

/// The maximum number of names that are tried for an [`EmptyDirectory`]: killed processes may have left their
/// directories.
const TRIES: u32 = 64;

/// An empty directory in which this process can start other programs. The directories above it do not belong
/// to a project. On drop, the directory is removed, with everything in it.
///
/// It is needed because package runners obey, and run, files in their working directory and above it: npx
/// obeys `node_modules/.bin`, `package.json` and `.npmrc`, uvx obeys `uv.toml` and `.python-version`.
/// Wrappers that choose a version of Node or Python do the same.
#[derive(Debug)]
pub(super) struct EmptyDirectory(PathBuf);

impl EmptyDirectory {
    /// Makes an empty directory in the person's cache directory. It is not made in the common directory for
    /// temporary files, where other users could put a `node_modules`.
    pub(super) fn new() -> io::Result<Self> {
        let places = choose_native_strategy().map_err(|_| ErrorKind::NotFound)?;
        let cache = places.cache_dir().join("mcp-text-editor");
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&cache)?;
        builder.recursive(false);
        for number in 0..TRIES {
            let path = cache.join(format!("doctor-{}-{number}", std::process::id()));
            match builder.create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                done => return done.map(|()| Self(path)),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for EmptyDirectory {
    fn drop(&mut self) {
        // A directory that is left behind does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The maximum wait for an answer. A package runner may have to download the server first.
const PATIENCE: Duration = Duration::from_mins(2);

/// The maximum wait for the end of a server's standard error.
const FAREWELL: Duration = Duration::from_secs(5);

/// The maximum length that is kept of a server's standard error, in bytes.
const SAID: u64 = 16 << 10;

/// The maximum length of a line on the server's standard output, in bytes; a longer line is not a message.
const LONGEST: u64 = 4 << 20;

/// The maximum number of other messages that are skipped before an answer.
const SKIPPED: usize = 1_000;

/// The start of a server: its program, arguments, environment and working directory.
#[derive(Debug)]
pub(super) struct ServerStart<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: &'a [String],
    pub(super) variables: &'a BTreeMap<OsString, OsString>,
    pub(super) directory: &'a Path,
}

/// The answers of a server.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct SessionAnswers {
    /// The name that the server gives itself.
    pub(super) name: String,
    /// The version that the server gives itself.
    pub(super) version: String,
    /// The names of the server's tools.
    pub(super) tools: Vec<String>,
    /// The text of the call's result. An error begins with `error: CODE: `.
    pub(super) result: String,
    /// The lines that the server wrote to standard error.
    pub(super) said: Vec<String>,
}

/// Starts a server and asks for its tools. `call` gets the names of the tools, and returns the tool to call
/// and its arguments, or `None` to call none. The error says what failed.
pub(super) fn ask(
    start: &ServerStart<'_>,
    call: impl Fn(&[String]) -> Option<(String, Value)>,
) -> Result<SessionAnswers, String> {
    let mut child = Command::new(start.program)
        .args(start.arguments)
        .env_clear()
        .envs(start.variables)
        .current_dir(start.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            let blocked = blocked(error.raw_os_error().filter(|_| cfg!(windows)), "", None);
            format!("it cannot be started: {error}{}", blocked.unwrap_or_default())
        })?;
    let stderr = child.stderr.take();
    let (sender, log) = channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = (&mut stderr).take(SAID).read_to_end(&mut text);
            let _ = sender.send(text);
            // The rest is read and dropped: a server would block if nobody read its log.
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        }
    });
    let lines = lines_of(&mut child);
    let answers = child.stdin.take().ok_or_else(|| "it has no standard input".to_owned());
    let answers = answers.and_then(|stdin| converse(&mut Pipes { stdin, lines }, call));
    let killed = match &answers {
        Err(_) if cfg!(target_os = "macos") => killed_at_start(&mut child),
        _ => None,
    };
    let _ = child.kill();
    let _ = child.wait();
    // A process that the server has started can outlive the server and keep standard error open, so the wait
    // has a timeout.
    let said = log.recv_timeout(FAREWELL).unwrap_or_default();
    let said: Vec<String> = String::from_utf8_lossy(&said).lines().map(str::to_owned).collect();
    match answers {
        Ok(answers) => Ok(SessionAnswers { said, ..answers }),
        Err(why) => {
            let log = said.join("; ");
            let blocked = blocked(None, &log, killed).unwrap_or_default();
            let quoted = if log.is_empty() { log } else { format!("; it said: {log}") };
            Err(format!("{why}{quoted}{blocked}"))
        }
    }
}

/// Returns the advice for a program that the system blocks because it is not signed; `None` if nothing
/// indicates that. An indication is the number of a Windows error, the log of a Node launcher about such an
/// error, or the signal with which macOS has ended the program.
fn blocked(number: Option<i32>, log: &str, signal: Option<i32>) -> Option<String> {
    // ERROR_SYSTEM_INTEGRITY_POLICY_VIOLATION and ERROR_INVALID_IMAGE_HASH of winerror.h.
    let is_windows = matches!(number, Some(4551 | 577)) || log.contains("spawn UNKNOWN");
    let system =
        if is_windows { "Windows" } else { signal.filter(|signal| *signal == SIGKILL).map(|_| "macOS")? };
    Some(format!("; {system} blocks a program that it does not know: docs/install.md, If it is blocked"))
}

/// The signal with which macOS ends a program whose signature is not valid.
const SIGKILL: i32 = 9;

/// Returns the signal that has ended a server before it answered.
fn killed_at_start(child: &mut Child) -> Option<i32> {
    // The process closes its output a moment before its exit status can be read.
    thread::sleep(Duration::from_millis(100));
    let status = child.try_wait().ok().flatten()?;
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = status.code().and(None);
    signal
}

/// Starts a thread that reads a server's standard output, line by line.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = sync_channel(1);
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let mut line = Vec::new();
                let read = (&mut stdout).take(LONGEST).read_until(b'\n', &mut line);
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if !read.is_ok_and(|bytes| bytes > 0) || sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    lines
}

/// The streams of a server's process.
struct Pipes {
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Connection for Pipes {
    type Failure = String;

    fn send(&mut self, message: &Value) -> Result<Value, String> {
        match writeln!(self.stdin, "{message}") {
            // The server has ended. The missing answer reports that.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            sent => sent.map_err(|error| format!("it does not read what it is sent: {error}"))?,
        }
        let Some(id) = message.get("id") else { return Ok(Value::Null) };
        for _ in 0..SKIPPED {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.map_err(|_| "it ended, or did not answer".to_owned())?;
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                return Err(format!("it writes to standard output what is no message: {line}"));
            };
            if message.get("id") != Some(id) {
                continue;
            }
            return message.get("result").cloned().ok_or_else(|| {
                let error = at(&message, &["error", "message"]).and_then(Value::as_str).unwrap_or(&line);
                format!("it answers with an error: {error}")
            });
        }
        Err(format!("it writes {SKIPPED} messages, and does not answer"))
    }
}

/// A connection to a server.
pub(super) trait Connection {
    /// The reason why there is no answer.
    type Failure;

    /// Sends a message. Returns the result of a request, or `null` for a notification.
    fn send(&mut self, message: &Value) -> Result<Value, Self::Failure>;
}

/// The revision of MCP that the session uses.
pub(super) const REVISION: &str = "2025-06-18";

/// Opens the session as any client does, and asks for the server's tools. `call` gets the names of the tools,
/// and returns the tool to call and its arguments, or `None` to call none.
pub(super) fn converse<C: Connection>(
    server: &mut C,
    call: impl Fn(&[String]) -> Option<(String, Value)>,
) -> Result<SessionAnswers, C::Failure> {
    let request = |id: u32, method: &str, params: &Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let hello = json!({
        "protocolVersion": REVISION, "capabilities": {},
        "clientInfo": {"name": "mcp-text-editor-doctor", "version": env!("CARGO_PKG_VERSION")},
    });
    let hello = server.send(&request(1, "initialize", &hello))?;
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    let listed = server.send(&request(2, "tools/list", &json!({})))?;
    let all = |value: &Value, list: &str, name: &str| -> Vec<String> {
        let items = value.get(list).and_then(Value::as_array).into_iter().flatten();
        items.map(|item| text_at(item, &[name])).collect()
    };
    let mut answers = SessionAnswers {
        name: text_at(&hello, &["serverInfo", "name"]),
        version: text_at(&hello, &["serverInfo", "version"]),
        tools: all(&listed, "tools", "name"),
        ..SessionAnswers::default()
    };
    if let Some((name, arguments)) = call(&answers.tools) {
        let called =
            server.send(&request(3, "tools/call", &json!({"name": name, "arguments": arguments})))?;
        answers.result = all(&called, "content", "text").join("\n");
    }
    Ok(answers)
}

/// Returns the text at a path in an answer; empty if there is none.
pub(super) fn text_at(value: &Value, path: &[&str]) -> String {
    at(value, path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_the_system_blocks_is_recognised() {
        let of = |number, log, signal| {
            let advice = blocked(number, log, signal)?;
            advice.split_whitespace().nth(1).map(str::to_owned)
        };
        for number in [4551, 577] {
            assert_eq!(of(Some(number), "", None).as_deref(), Some("Windows"));
        }
        assert_eq!(of(None, "Error: spawn UNKNOWN", None).as_deref(), Some("Windows"));
        assert_eq!(of(None, "", Some(9)).as_deref(), Some("macOS"));
        assert_eq!((of(Some(2), "spawn ENOENT", Some(15)), of(None, "", None)), (None, None));
    }
}
