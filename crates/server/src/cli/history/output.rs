//! Writes past edits to standard output, directly or through a pager.

use std::io::{self, BufWriter, IsTerminal as _, Write};

use anstream::{AutoStream, ColorChoice};
use jiff::tz::TimeZone;
use mcp_text_editor_store::path_in_history;
use terminal_size::{Height, Width, terminal_size};

use super::error::{HistoryError, HistoryResult};
use super::pager::Pager;
use crate::cli::here::std_current_dir;
use crate::render::shell::Screen;
use crate::transport::signals;

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
        let _ = signals::outlive_interrupts();
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
