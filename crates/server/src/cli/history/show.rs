//! `history`, `history show` and `history --contents`.

use std::io::Write;

use mcp_text_editor_store::{Entry, KnownStates, Undo, Workspace};

use super::action::{OutputForm, Selection};
use super::error::{HistoryError, HistoryResult};
use super::find::{find, select};
use super::output::{Pager, paged, screen};
use crate::render::shell::{Screen, edits, json, stat};

/// Shows the edits of a selection, the newest first.
pub(super) fn list(workspace: &Workspace, selection: &Selection, form: &OutputForm) -> HistoryResult {
    let (pager, screen) = (pager(form), screen());
    paged(pager, |out| {
        let (shown, has_more) = select(workspace, selection, &mut |entry| {
            Ok(out.write_all(text(entry, form, &screen).as_bytes())?)
        })?;
        if shown == 0 && *form != OutputForm::Json {
            out.write_all(edits::none(selection.path.as_deref(), selection.is_filtered()).as_bytes())?;
        }
        if has_more && *form != OutputForm::Json {
            out.write_all(edits::more(shown).as_bytes())?;
        }
        Ok(())
    })
}

/// Shows edits with their whole diffs, in the order of the ids on the command line.
pub(super) fn show(workspace: &mut Workspace, edit_ids: &[String], form: &OutputForm) -> HistoryResult {
    let matches = edit_ids.iter().map(|id| find(workspace, id)).collect::<Result<Vec<_>, _>>()?;
    let entries: Vec<Entry> =
        matches.into_iter().map(|(entry, _)| with_whole_diffs(workspace, entry)).collect();
    let screen = screen();
    paged(pager(form), |out| {
        for entry in &entries {
            out.write_all(text(entry, form, &screen).as_bytes())?;
        }
        Ok(())
    })
}

/// Replaces the shortened diffs of an edit by whole ones, computed from the contents of its files before and
/// after the edit. If these contents are not known, a diff stays shortened.
fn with_whole_diffs(workspace: &mut Workspace, mut entry: Entry) -> Entry {
    let is_cut = entry.files.iter().any(stat::is_cut);
    let mut known = KnownStates::default();
    if is_cut && workspace.serve_files_of([&entry]).is_ok() {
        for index in 0..entry.files.len() {
            let Some(file) = entry.files.get_mut(index).filter(|file| stat::is_cut(file)) else { continue };
            let comparison = workspace.comparison(&entry.id, index, usize::MAX, &mut known).ok().flatten();
            if let Some(comparison) = comparison.filter(|comparison| !comparison.hunks.is_cut) {
                file.diff = stat::diff(file, &comparison.hunks);
            }
        }
    }
    entry
}

fn text(entry: &Entry, form: &OutputForm, screen: &Screen) -> String {
    match form {
        OutputForm::Lines(_) => stat::line(entry, screen),
        OutputForm::Diffs(_) => edits::edit(entry, screen),
        OutputForm::Stat(_) => stat::edit(entry, screen),
        OutputForm::Json => json::line(entry),
    }
}

fn pager(form: &OutputForm) -> &Pager {
    match form {
        OutputForm::Lines(pager) | OutputForm::Diffs(pager) | OutputForm::Stat(pager) => pager,
        // JSON is for programs, so it is not paged.
        OutputForm::Json => &Pager::None,
    }
}

/// Writes the displaced bytes that recovery kept, unchanged.
pub(super) fn contents(workspace: &Workspace, id: &str, out: &mut dyn Write) -> HistoryResult {
    let (_, undos) = find(workspace, id)?;
    for undo in &undos {
        if let Undo::Displaced { contents } = undo {
            out.write_all(contents)?;
            return Ok(());
        }
    }
    Err(HistoryError::Failed(format!(
        "{id} is an edit, and not what one has displaced: mcp-text-editor undo {id} takes it back"
    )))
}
