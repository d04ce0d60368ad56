//! `history --web`.

use std::io::{self, Write as _};
use std::time::Duration;

use mcp_text_editor_store::Workspace;

use super::action::Selection;
use super::browser;
use super::error::{HistoryError, HistoryResult};
use super::find::{filter, select};
use crate::cli::terminal::tell;
use crate::history::Past;
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
    if is_opened && !browser::open(link) {
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
