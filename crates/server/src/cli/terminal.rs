//! Writes output that people see, starts the log, and makes typed paths absolute. A terminal obeys control
//! characters, so foreign text is escaped before it is written: paths, content of configurations and files,
//! the output of another program.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::arguments::beginning;
use crate::config::{LogFormat, LogLevel};
use crate::render::escape::{on_lines, on_one_line};

/// The maximum number of characters of a message, because it can repeat a text of any length.
const MAX_MESSAGE: usize = 4_000;

/// Writes a message for the person who started the program as one line on standard error, then the lines of
/// `more`.
pub fn tell(message: &str, more: &str) {
    // A write error is ignored: the exit code still shows that the program failed.
    let _ = write!(
        io::stderr(),
        "mcp-text-editor: {}\n{}",
        on_one_line(&clipped(message, MAX_MESSAGE)),
        on_lines(more)
    );
}

/// Returns at most the first `limit` characters of a text, with a mark if some are left out.
pub(super) fn clipped(text: &str, limit: usize) -> Cow<'_, str> {
    let shown = beginning(text, limit);
    if shown.len() < text.len() { format!("{shown} …").into() } else { text.into() }
}

/// Writes lines to standard error, at most `MAX_MESSAGE` characters.
pub(super) fn show(lines: &str) {
    let _ = io::stderr().write_all(on_lines(&clipped(lines, MAX_MESSAGE)).as_bytes());
}

/// Standard output. A program or a file gets the bytes unchanged. For a terminal, control characters are
/// escaped. A reader that closes the pipe causes no error.
#[derive(Debug)]
pub struct TerminalOutput(io::Stdout);

impl TerminalOutput {
    /// Returns the standard output of this process.
    #[must_use]
    pub fn new() -> Self {
        Self(io::stdout())
    }
}

impl Default for TerminalOutput {
    fn default() -> Self {
        Self::new()
    }
}

impl Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.0.is_terminal() {
            return match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
                done => done,
            };
        }
        self.0.write_all(on_lines(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Standard error, for the log. Each event is one write, and stays on one line.
#[derive(Debug)]
pub(super) struct Log(pub(super) io::Stderr);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = on_one_line(text.strip_suffix('\n').unwrap_or(&text));
        self.0.write_all(format!("{line}\n").as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Starts the log on standard error, since standard output belongs to the protocol.
///
/// No text of a file may get into the log. The SDK logs whole requests at the levels below *warn*, so these
/// levels are never switched on for the SDK. A panic is logged only with its place in the source. The SDK's
/// warnings are about requests that it has answered with an error; they are logged only if the level is
/// *info*, *debug* or *trace*.
pub fn start(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let sdk = if level > LevelFilter::WARN { LevelFilter::WARN } else { level.min(LevelFilter::ERROR) };
    let targets = Targets::new().with_default(level).with_target("rmcp", sdk);
    let log = tracing_subscriber::registry().with(targets);
    let lines = tracing_subscriber::fmt::layer().with_writer(|| Log(io::stderr())).with_ansi(false);
    match format {
        LogFormat::Text => log.with(lines).init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true)).init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
}

/// Returns the current directory.
pub fn current_dir() -> Result<PathBuf, String> {
    std_current_dir().map_err(|error| format!("the current directory cannot be read: {error}"))
}

/// Makes a path absolute. Its `.` and `..` stay.
pub(super) fn absolute(path: PathBuf) -> Result<PathBuf, String> {
    if path.is_absolute() { Ok(path) } else { Ok(current_dir()?.join(path)) }
}

#[expect(clippy::disallowed_methods, reason = "this module makes paths absolute, once, for all others")]
pub(super) fn std_current_dir() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}
