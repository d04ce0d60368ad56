//! Writes past edits to standard output, directly or through a program that shows a long text page by page
//! ([`Pager`]).

use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::process::{Child, Command, Stdio};

use anstream::{AutoStream, ColorChoice};
use jiff::tz::TimeZone;
use mcp_text_editor_store::path_in_history;
use terminal_size::{Height, Width, terminal_size};

use super::error::{HistoryError, HistoryResult};
use crate::cli::terminal::std_current_dir;
use crate::render::shell::Screen;
use crate::transport;

/// The exit codes of `sh` if it cannot start a program, or cannot find it.
const NOT_STARTED: [i32; 2] = [126, 127];

/// Returns the known properties of the person's screen.
pub(super) fn screen() -> Screen {
    let here = std_current_dir().ok().map(|here| path_in_history(&here));
    let height =
        terminal_size().filter(|_| io::stdout().is_terminal()).map(|(_, Height(lines))| usize::from(lines));
    Screen { width: width(), height, zone: TimeZone::system(), here }
}

/// Makes the streams of this process use colours always or never, instead of only on a terminal.
pub(super) fn use_color(choice: clap::ColorChoice) {
    let choice = match choice {
        clap::ColorChoice::Auto => return,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Returns the width in columns: the value of `COLUMNS`, or else the terminal's own width. `None` if neither
/// is known.
fn width() -> Option<usize> {
    let named = std::env::var_os("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
    let is_terminal = io::stdout().is_terminal();
    let of_terminal =
        || terminal_size().filter(|_| is_terminal).map(|(Width(columns), _)| usize::from(columns));
    named.or_else(of_terminal).filter(|columns| *columns > 0)
}

/// Calls `show` with a writer to the person: the pager, if standard output is a terminal, or else standard
/// output. If the shell cannot find or start the pager, calls `show` again without a pager.
///
/// It is not an error if the reader leaves the pager or closes the pipe.
pub(super) fn paged(pager: &Pager, show: impl Fn(&mut dyn Write) -> HistoryResult) -> HistoryResult {
    let stdout = io::stdout();
    let mut started = if stdout.is_terminal() { pager.start() } else { None };
    if let Some(child) = &mut started
        && let Some(input) = child.stdin.take()
    {
        // An interrupt is meant for the pager, which has the terminal.
        let _ = transport::outlive_interrupts();
        let choice = AutoStream::choice(&stdout);
        let done = {
            let input: Box<dyn Write> = Box::new(BufWriter::new(input));
            let mut out = AutoStream::new(input, choice);
            show(&mut out).and_then(|()| Ok(out.flush()?))
        };
        let ended = child.wait()?;
        if !ended.code().is_some_and(|code| NOT_STARTED.contains(&code)) {
            return as_far_as_wanted(done);
        }
    }
    let mut out = anstream::stdout();
    as_far_as_wanted(show(&mut out).and_then(|()| Ok(out.flush()?)))
}

/// Returns the outcome of a write. A closed pipe is not an error: the reader may have read enough.
pub(super) fn as_far_as_wanted(done: HistoryResult) -> HistoryResult {
    match done {
        Err(HistoryError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// The program that shows the text on a terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pager {
    /// No program: the text goes to the terminal directly.
    None,
    /// `less`, if this machine has it.
    Usual,
    /// The person's choice, as a shell command.
    Command(OsString),
}

/// Returns the pager that the environment names: `GIT_PAGER`, or else `PAGER`, as for git. An empty value and
/// `cat` mean no pager. Files of a project cannot name a pager.
pub(super) fn from_environment() -> Pager {
    let named = ["GIT_PAGER", "PAGER"].into_iter().find_map(std::env::var_os);
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    match named {
        Some(named) if named.is_empty() || named == "cat" => Pager::None,
        Some(named) => Pager::Command(named),
        None if is_dumb => Pager::None,
        None => Pager::Usual,
    }
}

impl Pager {
    /// Starts the pager, which reads the text from its standard input. Returns `None` if there is no pager,
    /// or if it cannot be started.
    pub(super) fn start(&self) -> Option<Child> {
        let mut command = match self {
            Self::None => return None,
            Self::Usual => Command::new("less"),
            Self::Command(words) => of_shell(words)?,
        };
        // These settings are git's: colours are shown, a text that fits on the screen is not paged, and the
        // text stays on the screen afterwards.
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        search_absolute_directories(&mut command);
        command.stdin(Stdio::piped()).spawn().ok()
    }
}

/// Removes relative directories from the command's `PATH`, so that no program is searched for in the current
/// directory, whose files anybody can have written.
pub(super) fn search_absolute_directories(command: &mut Command) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let absolute = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    match std::env::join_paths(absolute) {
        Ok(path) if !path.is_empty() => command.env("PATH", path),
        _ => command.env_remove("PATH"),
    };
}

/// Returns the command with which a shell runs these words.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "on Windows there may be none")]
fn of_shell(words: &OsStr) -> Option<Command> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(words);
    Some(command)
}

/// Splits the words into a command, since there may be no such shell on Windows.
#[cfg(windows)]
fn of_shell(words: &OsStr) -> Option<Command> {
    let words = crate::cli::install::entry::split(words.to_str()?).ok()?;
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}
