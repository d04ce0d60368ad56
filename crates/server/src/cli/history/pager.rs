//! The program that shows a long text page by page: [`Pager`].

use std::ffi::{OsStr, OsString};
use std::process::{Child, Command, Stdio};

/// The program to which a terminal's text is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pager {
    /// The terminal itself.
    None,
    /// `less`, if this machine has it.
    Usual,
    /// The person's choice, in the words of a shell.
    Command(OsString),
}

/// Returns the pager that the environment names: `GIT_PAGER`, else `PAGER`, as for git. An empty value and
/// `cat` mean no pager. No file of a project can name one.
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
    /// Starts the pager, which reads the text from its standard input. `None` if there is no pager, or if it
    /// cannot be started.
    pub(super) fn start(&self) -> Option<Child> {
        let mut command = match self {
            Self::None => return None,
            Self::Usual => Command::new("less"),
            Self::Command(words) => of_shell(words)?,
        };
        // As git does: colours are shown, a text that fits on the screen is not paged, and it stays on the
        // screen.
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        look_elsewhere(&mut command);
        command.stdin(Stdio::piped()).spawn().ok()
    }
}

/// Takes relative directories out of the command's `PATH`, so that no program is looked for in the current
/// directory: its files may be anybody's.
pub(super) fn look_elsewhere(command: &mut Command) {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let elsewhere = std::env::split_paths(&places).filter(|place| place.is_absolute());
    match std::env::join_paths(elsewhere) {
        Ok(places) if !places.is_empty() => command.env("PATH", places),
        _ => command.env_remove("PATH"),
    };
}

/// Returns the command that has a shell run these words.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "on Windows there may be none")]
fn of_shell(words: &OsStr) -> Option<Command> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(words);
    Some(command)
}

/// Splits the words into a command: Windows need not have a shell.
#[cfg(windows)]
fn of_shell(words: &OsStr) -> Option<Command> {
    let words = crate::cli::install::entry::split(words.to_str()?).ok()?;
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}
