//! `history --web`, which can open the page with the system's URL opener (such as `xdg-open`), and `history
//! --html`.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_store::{Change, Control, FileEdit, Workspace};

use super::action::Selection;
use super::error::{HistoryError, HistoryResult};
use super::find::{filter, select};
use super::output::search_absolute_directories;
use crate::cli::terminal::tell;
use crate::history;
use crate::history::Past;
use crate::page::of_file;
use crate::render::escape::shown;
use crate::transport::http::web::{EndReason, bind, serve};

/// Serves the page until it has been closed for the time `idle`, or a signal comes. The link is a line of
/// standard output; everything else is for a person, on standard error.
pub(super) fn web(
    workspace: Workspace,
    selection: &Selection,
    is_opened: bool,
    port: u16,
    idle: Duration,
    other: Option<String>,
) -> HistoryResult {
    let mut scope = filter(&workspace, selection)?;
    if selection.newest.is_some() {
        select(&workspace, selection, &mut |entry| {
            scope.since = Some(entry.time);
            Ok(())
        })?;
    }
    let failed = |error: io::Error| HistoryError::Failed(format!("the page cannot be served: {error}"));
    let listener = bind(port).map_err(failed)?;
    let link = listener.link();
    writeln!(io::stdout(), "{link}")?;
    let idle_words = words(idle);
    tell(
        &format!(
            "the link above shows the edits in a browser of this machine; it works once, and in one tab. \
             It ends with Ctrl-C, or {idle_words} after the page was closed"
        ),
        "",
    );
    if let Some(other) = &other {
        tell(other, "");
    }
    if is_opened && !open(link) {
        tell("no program here opens a browser: open the link yourself", "");
    }
    let past = Past::new(workspace, scope, other.into_iter().collect());
    if serve(past, listener, idle).map_err(failed)? == EndReason::Left {
        tell(&format!("the page was closed for {idle_words}, so this has ended"), "");
    }
    Ok(())
}

fn words(idle: Duration) -> String {
    match idle.as_secs() {
        seconds if seconds % 60 == 0 && seconds > 60 => format!("{} minutes", seconds / 60),
        1 => "1 second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

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

/// Writes the edits of a selection as one page that needs no other file, to a file or to standard output.
/// Replaces an existing file only if `is_forced`.
pub(super) fn html(
    workspace: &mut Workspace,
    selection: &Selection,
    file: Option<&Path>,
    is_forced: bool,
) -> HistoryResult {
    let mut entries = Vec::new();
    let (_, has_more) = select(workspace, selection, &mut |entry| {
        entries.push(entry.clone());
        Ok(())
    })?;
    let title = match &selection.path {
        Some(path) => format!("Edits of {}", shown(path)),
        None => "Edits".to_owned(),
    };
    let created = format!("{:.0}", Timestamp::now());
    let (data, without) = history::page(workspace, &entries, &title, &created);
    let page = of_file(&data);
    match file {
        Some(file) => write(file, &page, is_forced)?,
        None => io::stdout().write_all(page.as_bytes())?,
    }
    let mut message = match entries.len() {
        1 => "1 edit is in the page".to_owned(),
        many => format!("{many} edits are in the page"),
    };
    if has_more {
        message.push_str("; there are more: -n asks for them");
    }
    if without > 0 {
        let _ =
            write!(message, "; the oldest {without} have no diff, since a page has at most 16 MiB of diffs");
    }
    tell(&message, "");
    Ok(())
}

/// Writes the file through the store: atomically, and without recording the edit in the history.
fn write(file: &Path, page: &str, is_forced: bool) -> HistoryResult {
    let failed = |why: String| HistoryError::Failed(format!("{} is not written: {why}", shown(file)));
    let above = file.parent().ok_or_else(|| failed("it is no file".to_owned()))?;
    let workspace = Workspace::builder().unprotect_all().root(above).build();
    let workspace = workspace.map_err(|error| failed(error.to_string()))?;
    let path = file.to_str().ok_or_else(|| failed("its name is not Unicode".to_owned()))?;
    let is_there = file.symlink_metadata().is_ok();
    if is_there && !is_forced {
        return Err(failed("there is a file of that name; --force replaces it".to_owned()));
    }
    let old = if is_there { workspace.bytes_of(&mcp_text_editor_store::real_path(file)) } else { None };
    let hash = old.and_then(|old| DigestPrefix::parse(&Digest::of(&old).to_string()));
    let create = FileEdit::new(path, Change::Create(page));
    let remove = FileEdit { file_hash: hash.as_ref(), ..FileEdit::new(path, Change::Remove) };
    let edits = if is_there { vec![remove, create] } else { vec![create] };
    workspace.apply(&edits, Control::of("history")).map_err(|error| failed(error.to_string()))?;
    Ok(())
}
