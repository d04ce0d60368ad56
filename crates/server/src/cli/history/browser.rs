//! Opens a page in the person's browser, with the system's URL opener (such as `xdg-open`).

use std::process::{Command, Stdio};

use super::pager::search_absolute_directories;

/// Starts the system's URL opener with a link. Returns whether the opener was started; whether a browser
/// opens is not known.
///
/// The link must work only once: other users can see it in the list of processes.
pub(super) fn open(link: &str) -> bool {
    let mut command = opener();
    search_absolute_directories(&mut command);
    command.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The person's Ctrl-C must not end a browser that stays in the foreground.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let Ok(mut child) = command.spawn() else { return false };
    // A thread waits for the child process, as long as the browser runs, so that no zombie process is left.
    std::thread::spawn(move || child.wait());
    true
}

#[cfg(all(unix, not(target_vendor = "apple")))]
fn opener() -> Command {
    Command::new("xdg-open")
}

#[cfg(target_vendor = "apple")]
fn opener() -> Command {
    Command::new("/usr/bin/open")
}

#[cfg(windows)]
fn opener() -> Command {
    // The full path is given, so that no program is searched for in the current directory.
    let system =
        std::env::var_os("SystemRoot").map_or_else(|| r"C:\Windows".into(), std::path::PathBuf::from);
    let mut command = Command::new(system.join("System32").join("rundll32.exe"));
    command.arg("url.dll,FileProtocolHandler");
    command
}
