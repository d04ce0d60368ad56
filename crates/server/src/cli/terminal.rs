//! Writes output that people see. A terminal obeys control characters, so foreign text is escaped before it
//! is written: paths, content of configurations and files, the output of another program.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};

use crate::arguments::beginning;
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
