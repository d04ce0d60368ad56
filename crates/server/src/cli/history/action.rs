//! Makes a person's request about past edits ([`HistoryAction`]) from the command line.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::{
    Filters, FormArguments, HistoryArguments, HistorySubcommands, PageArguments, UndoArguments,
};
use super::moment::{self, Moment, looks_like_id};
use super::output::{self, Pager, use_color};
use crate::cli::terminal::absolute;

/// The default maximum number of shown edits.
const NEWEST: usize = 20;
/// The default maximum number of edits in a page that `--html` writes.
const NEWEST_OF_PAGE: usize = 500;

/// The request of a person about past edits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HistoryAction {
    /// Show the edits that were made.
    List {
        /// The edits.
        selection: Selection,
        /// The form in which they are shown.
        form: OutputForm,
    },
    /// Show, in a browser, the edits that were made.
    Web {
        /// The edits.
        selection: Selection,
        /// Whether to open the browser.
        is_opened: bool,
        /// The port of the page; 0 lets the system choose one.
        port: u16,
        /// The time without an open page after which the server ends.
        idle: Duration,
    },
    /// Write a page with the edits that were made.
    Html {
        /// The edits.
        selection: Selection,
        /// The file to write; absolute. `None`: standard output.
        file: Option<PathBuf>,
        /// Whether an existing file is replaced.
        is_forced: bool,
    },
    /// Show edits with their whole diffs.
    Show {
        /// Their ids.
        edit_ids: Vec<String>,
        /// The form in which these edits are shown.
        form: OutputForm,
    },
    /// Show the names that directories have on the machines that share the history.
    Roots {
        /// Whether the output is JSON for programs, and not text for a person.
        is_json: bool,
    },
    /// Write out the bytes that recovery has put aside.
    Contents {
        /// The id under which the history has the bytes.
        edit_id: String,
    },
    /// Forget edits.
    Forget {
        /// The file whose edits to forget, or a directory that contains such files; absolute. `None`: all
        /// edits.
        path: Option<PathBuf>,
    },
    /// Take edits back.
    Undo {
        /// Their ids.
        edit_ids: Vec<String>,
        /// The selection of edits, if no ids are given.
        selection: Option<Selection>,
        /// Whether to take back only the newest edit of the selection.
        is_newest: bool,
        /// Whether later edits that are in the way are taken back, too.
        with_later: bool,
        /// The mode.
        mode: UndoMode,
    },
}

/// The modes of taking edits back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UndoMode {
    /// Take all of the edits back.
    Do,
    /// Ask a person about each edit, and take back the confirmed ones.
    Ask,
    /// Take none back, and only show the changes.
    DryRun,
}

/// The edits that meet all of these conditions.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Selection {
    /// They are of this file, or of files below this directory; absolute.
    pub path: Option<PathBuf>,
    /// They were made at this moment or later.
    pub since: Option<Moment>,
    /// They were made before this moment.
    pub until: Option<Moment>,
    /// This tool made them.
    pub tool: Option<String>,
    /// This client made them.
    pub client: Option<String>,
    /// Their diff, paths included, has this text.
    pub grep: Option<String>,
    /// The number of edits that are selected: the newest; `None` for all.
    pub newest: Option<usize>,
}

impl Selection {
    /// Tells whether there is a condition besides the path and the number of edits.
    pub(super) fn is_filtered(&self) -> bool {
        self.since.is_some()
            || self.until.is_some()
            || self.tool.is_some()
            || self.client.is_some()
            || self.grep.is_some()
    }
}

/// The form in which edits are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OutputForm {
    /// One line per edit.
    Lines(Pager),
    /// As diffs.
    Diffs(Pager),
    /// As numbers of changed lines.
    Stat(Pager),
    /// As one JSON object per line, for programs.
    Json,
}

impl OutputForm {
    /// Returns the form that was typed. The default is lines if `many` edits are possible and standard output
    /// is a terminal, and otherwise diffs.
    fn new(typed: &FormArguments, many: bool) -> Self {
        use_color(typed.color);
        let pager = || if typed.no_pager { Pager::None } else { output::from_environment() };
        let FormArguments { json, stat, oneline, patch, .. } = *typed;
        if json {
            Self::Json
        } else if stat {
            Self::Stat(pager())
        } else if oneline || (many && !patch && io::stdout().is_terminal()) {
            Self::Lines(pager())
        } else {
            Self::Diffs(pager())
        }
    }
}

/// Resolves the arguments of `history`. The error is for the person who typed them.
pub(in crate::cli) fn history_action(typed: HistoryArguments) -> Result<HistoryAction, String> {
    let HistoryArguments { command, path, filters, newest, form, page, contents } = typed;
    if let Some(edit_id) = contents {
        return Ok(HistoryAction::Contents { edit_id });
    }
    let PageArguments { web, port, open, idle_seconds, html, force } = page;
    if web {
        let idle = Duration::from_secs(idle_seconds);
        let selection = selection(path, filters, newest)?;
        return Ok(HistoryAction::Web { selection, is_opened: open, port, idle });
    }
    if let Some(file) = html {
        let file = Some(file).filter(|file| file != Path::new("-")).map(absolute).transpose()?;
        let selection = selection(path, filters, newest.or(Some(NEWEST_OF_PAGE)))?;
        return Ok(HistoryAction::Html { selection, file, is_forced: force });
    }
    Ok(match command {
        Some(HistorySubcommands::Show { edit_ids, form }) => {
            HistoryAction::Show { edit_ids, form: OutputForm::new(&form, false) }
        }
        Some(HistorySubcommands::Roots { json: is_json }) => HistoryAction::Roots { is_json },
        Some(HistorySubcommands::Forget { path }) => {
            HistoryAction::Forget { path: path.map(absolute).transpose()? }
        }
        None if path.as_deref().is_some_and(is_id) => {
            let edit_ids = path.iter().map(|id| id.to_string_lossy().into_owned()).collect();
            HistoryAction::Show { edit_ids, form: OutputForm::new(&form, false) }
        }
        None => {
            let form = OutputForm::new(&form, true);
            let newest = newest.or((form != OutputForm::Json).then_some(NEWEST));
            HistoryAction::List { selection: selection(path, filters, newest)?, form }
        }
    })
}

/// Resolves the arguments of `undo`. The error is for the person who typed them.
pub(in crate::cli) fn undo_action(typed: UndoArguments) -> Result<HistoryAction, String> {
    let UndoArguments { edit_ids, since, path, interactive, yes, with_later, dry_run } = typed;
    let is_newest = edit_ids.is_empty() && since.is_none() && !interactive;
    let mode = match (interactive || (is_newest && !dry_run), dry_run) {
        (true, _) => UndoMode::Ask,
        (_, true) => UndoMode::DryRun,
        _ => UndoMode::Do,
    };
    if since.is_some() && mode == UndoMode::Do && !yes {
        return Err(
            "--since takes every edit since back: --dry-run shows them, --interactive asks, --yes does it"
                .to_owned(),
        );
    }
    let selection = if edit_ids.is_empty() {
        let newest = since.is_none().then_some(NEWEST);
        Some(selection(path, Filters { since, ..Filters::default() }, newest)?)
    } else {
        None
    };
    Ok(HistoryAction::Undo { edit_ids, selection, is_newest, with_later, mode })
}

/// Whether a word that was typed in place of a path means an edit: it looks like an id, and no file has that
/// name.
fn is_id(path: &Path) -> bool {
    path.to_str().is_some_and(looks_like_id) && absolute(path.to_owned()).is_ok_and(|path| !path.exists())
}

fn selection(path: Option<PathBuf>, filters: Filters, newest: Option<usize>) -> Result<Selection, String> {
    let Filters { since, until, tool, client, grep } = filters;
    let moment = |option: &str, typed: Option<String>| {
        typed.map(|typed| moment::read(&typed).map_err(|error| format!("{option}: {error}"))).transpose()
    };
    Ok(Selection {
        path: path.map(absolute).transpose()?,
        since: moment("--since", since)?,
        until: moment("--until", until)?,
        tool,
        client,
        grep,
        newest,
    })
}
