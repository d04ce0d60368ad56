//! Chooses and starts the program that shows a long text page by page: [`Pager`].

use std::ffi::{OsStr, OsString};
use std::process::{Child, Command, Stdio};

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
