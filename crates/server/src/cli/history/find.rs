//! Looks past edits up, by their ids or by a selection.

use std::path::Path;
use std::time::SystemTime;

use mcp_text_editor_store::{EditFilter, EditId, Entry, HISTORY_FILE, Undo, Workspace, path_in_history};

use super::action::Selection;
use super::error::{HistoryError, HistoryResult, unknown, unreadable};
use super::moment::{Moment, looks_like_id};

/// Tells whether a state directory has a history of edits.
#[must_use]
pub fn is_kept_in(state_directory: &Path) -> bool {
    state_directory.join(HISTORY_FILE).is_file()
}

/// Tells whether the history has an edit, or bytes that recovery kept, under this id.
#[must_use]
pub fn holds(workspace: &Workspace, id: &str) -> bool {
    find(workspace, id).is_ok()
}

/// Returns the id that a person typed in full or by its first digits.
pub(super) fn id_of(workspace: &Workspace, typed: &str) -> Result<EditId, HistoryError> {
    if let Some(id) = EditId::parse(typed) {
        return Ok(id);
    }
    if !looks_like_id(typed) {
        return Err(unknown(typed));
    }
    let digits = typed.to_ascii_lowercase();
    let begins = |entry: &Entry| entry.id.to_string().starts_with(&digits);
    let found = workspace.history().find(&EditFilter::default(), 2, &begins);
    match found.map_err(|reason| unreadable(workspace, &reason))?.as_slice() {
        [] => Err(unknown(typed)),
        [entry] => Ok(entry.id.clone()),
        [one, other, ..] => {
            let (one, other) = (&one.id, &other.id);
            Err(HistoryError::Failed(format!("several edits begin with {typed}, such as {one} and {other}")))
        }
    }
}

/// Returns an edit, and the undo of each of its files.
pub(super) fn find(workspace: &Workspace, id: &str) -> Result<(Entry, Vec<Undo>), HistoryError> {
    let found = workspace.history().get(&id_of(workspace, id)?);
    found.map_err(|reason| unreadable(workspace, &reason))?.ok_or_else(|| unknown(id))
}

/// The maximum number of edits, with their diffs, that are in memory at once.
const PAGE: usize = 200;

/// Calls `each` with the edits of a selection, the newest first. Returns the number of these edits, and
/// whether there are more than the selection's maximum.
pub(super) fn select(
    workspace: &Workspace,
    selection: &Selection,
    each: &mut dyn FnMut(&Entry) -> HistoryResult,
) -> Result<(usize, bool), HistoryError> {
    // A person can type only a part of a name.
    let names =
        [selection.tool.as_deref(), selection.client.as_deref()].map(|name| name.map(str::to_lowercase));
    let has = |name: &Option<String>, whole: &str| {
        name.as_ref().is_none_or(|name| whole.to_lowercase().contains(name))
    };
    let wanted = |entry: &Entry| {
        has(&names[0], &entry.tool) && has(&names[1], entry.client.as_deref().unwrap_or_default())
    };
    let mut filter = EditFilter { tool: None, client: None, ..filter(workspace, selection)? };
    let newest = selection.newest.unwrap_or(usize::MAX);
    let mut shown = 0;
    loop {
        // One edit more than the maximum is requested, to learn whether there are more edits.
        let limit = PAGE.min((newest - shown).saturating_add(1));
        let found = workspace.history().find(&filter, limit, &wanted);
        let entries = found.map_err(|reason| unreadable(workspace, &reason))?;
        for entry in entries.iter().take(newest - shown) {
            each(entry)?;
        }
        let has_more = shown + entries.len() > newest;
        shown = newest.min(shown + entries.len());
        if entries.len() < limit || has_more {
            return Ok((shown, has_more));
        }
        filter.before = entries.last().map(|entry| entry.id.clone());
    }
}

/// Returns the store's filter for a selection. The filter does not limit the number of edits.
pub(super) fn filter(workspace: &Workspace, selection: &Selection) -> Result<EditFilter, HistoryError> {
    let Selection { path, since, until, tool, client, grep, newest: _ } = selection;
    let time = |moment: &Option<Moment>| moment.as_ref().map(|moment| time_of(workspace, moment)).transpose();
    Ok(EditFilter {
        since: time(since)?,
        until: time(until)?,
        tool: tool.clone(),
        client: client.clone(),
        text: grep.clone(),
        ..EditFilter::of_path(path.as_deref().map(path_in_history).as_deref())
    })
}

fn time_of(workspace: &Workspace, moment: &Moment) -> Result<SystemTime, HistoryError> {
    match moment {
        Moment::Time(time) => Ok(*time),
        Moment::Edit(id) => find(workspace, &id.to_string()).map(|(entry, _)| entry.time),
    }
}
