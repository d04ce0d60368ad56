//! `undo` of one edit, of several, and `undo --interactive`.

use std::io::{self, BufRead as _, IsTerminal as _, Write};

use mcp_text_editor_store::{Control, EditId, Entry, StoreError, UndoError, UndoProblems, Workspace};

use super::action::{Selection, UndoMode};
use super::error::{HistoryError, HistoryResult, unknown, unreadable};
use super::find::{find, id_of, select};
use super::output::screen;
use crate::history::series::{SeriesError, SeriesStep, in_effect, plan, plan_with_later, take_back, worded};
use crate::render::shell::{edits, undo as words};

/// Undoes an edit. Its files can be in any directory.
pub(super) fn undo(workspace: &mut Workspace, id: &str, dry_run: bool, out: &mut dyn Write) -> HistoryResult {
    let (entry, _) = find(workspace, id)?;
    if let Some(root) = entry.files.iter().find_map(|file| file.root.as_deref()) {
        return Err(HistoryError::Failed(words::elsewhere(id, root)));
    }
    let not_served = |error: StoreError| HistoryError::Failed(words::not_served(id, &error.to_string()));
    workspace.serve_files_of([&entry]).map_err(not_served)?;
    workspace.recover();
    let control = Control::of("undo");
    let undone =
        if dry_run { workspace.plan_undo(&entry.id, control) } else { workspace.undo(&entry.id, control) };
    let undone = match undone {
        Ok(undone) => undone,
        Err(UndoError::Unknown) => return Err(unknown(id)),
        Err(UndoError::History(reason)) => return Err(unreadable(workspace, &reason)),
        Err(UndoError::Displaced(_)) => {
            return Err(HistoryError::Failed(format!(
                "{id} is no edit, but what an interrupted one had displaced; \
                 its bytes: mcp-text-editor history --contents {id}"
            )));
        }
        Err(UndoError::Problems(found)) => return Err(not_undone(workspace, &found, out)?),
    };
    out.write_all(words::undone(&undone, dry_run).as_bytes())?;
    Ok(())
}

/// Shows the obstacles to an undo. Returns the error, which also says whether files were left changed.
fn not_undone(
    workspace: &Workspace,
    found: &UndoProblems,
    out: &mut dyn Write,
) -> Result<HistoryError, io::Error> {
    let problems = worded(workspace, found);
    out.write_all(words::problems(problems.iter()).as_bytes())?;
    let outcome = if problems.iter().any(|problem| problem.may_have_written) {
        "but files were left changed"
    } else {
        "and nothing was changed"
    };
    Ok(HistoryError::Failed(format!("edit {} is not undone, {outcome}", found.entry.id)))
}

/// The edits to take back.
#[derive(Clone, Copy, Debug)]
pub(super) enum EditChoice<'a> {
    /// The edits with these ids; if the flag is true, also later edits that are in the way.
    Named(&'a [String], bool),
    /// The edits of this selection that are in effect; if the flag is true, only the newest of them.
    Selected(&'a Selection, bool),
}

/// Takes several edits back, the newest first. Without `--interactive`, takes back all of them, or none if
/// any has a conflict.
pub(super) fn undo_several(
    workspace: &mut Workspace,
    choice: EditChoice<'_>,
    mode: UndoMode,
    out: &mut dyn Write,
) -> HistoryResult {
    if mode == UndoMode::Ask && !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(HistoryError::Failed(words::NO_TERMINAL.to_owned()));
    }
    let steps = match choice {
        EditChoice::Named(edit_ids, with_later) => {
            let ids = edit_ids.iter().map(|id| id_of(workspace, id)).collect::<Result<Vec<_>, _>>()?;
            if with_later { plan_with_later(workspace, ids) } else { plan(workspace, &ids) }
        }
        EditChoice::Selected(selection, is_newest) => {
            let mut entries = Vec::new();
            select(workspace, selection, &mut |entry| {
                entries.push(entry.clone());
                Ok(())
            })?;
            let limit = if is_newest { 1 } else { usize::MAX };
            let ids: Vec<_> = in_effect(entries).into_iter().map(|entry| entry.id).take(limit).collect();
            plan(workspace, &ids)
        }
    };
    let steps = steps.map_err(|error| failed(workspace, error))?;
    if steps.is_empty() {
        out.write_all(words::NOTHING.as_bytes())?;
        return Ok(());
    }
    match mode {
        UndoMode::Ask => ask(workspace, steps, out),
        UndoMode::DryRun => show(workspace, &steps, out).and_then(|conflicts| match conflicts {
            0 => Ok(()),
            conflicts => Err(HistoryError::Failed(words::stands(conflicts, steps.len()))),
        }),
        UndoMode::Do => match show_conflicts(workspace, &steps, out)? {
            0 => go(workspace, &steps, out),
            conflicts => Err(HistoryError::Failed(words::stands(conflicts, steps.len()))),
        },
    }
}

/// Shows the edits that would be taken back, and the conflicts. Returns the number of edits with a conflict.
fn show(workspace: &Workspace, steps: &[SeriesStep], out: &mut dyn Write) -> Result<usize, HistoryError> {
    let screen = screen();
    for step in steps.iter().filter(|step| step.against.is_none()) {
        out.write_all(words::would_take_back().as_bytes())?;
        out.write_all(edits::edit(&step.entry, &screen).as_bytes())?;
    }
    show_conflicts(workspace, steps, out)
}

fn show_conflicts(
    workspace: &Workspace,
    steps: &[SeriesStep],
    out: &mut dyn Write,
) -> Result<usize, HistoryError> {
    let against: Vec<&UndoProblems> = steps.iter().filter_map(|step| step.against.as_ref()).collect();
    for found in &against {
        let problems = worded(workspace, found);
        out.write_all(words::not_taken_back(&found.entry).as_bytes())?;
        out.write_all(words::problems(problems.iter()).as_bytes())?;
    }
    Ok(against.len())
}

/// Takes the edits back, in as few transactions as possible. Stops at the first that fails.
fn go(workspace: &mut Workspace, steps: &[SeriesStep], out: &mut dyn Write) -> HistoryResult {
    let mut left = steps;
    while let Some(next) = left.first() {
        match take_back(workspace, left) {
            Ok(undone) => {
                for undone in &undone {
                    out.write_all(words::undone_of_series(undone).as_bytes())?;
                }
                left = left.get(undone.len()..).unwrap_or_default();
            }
            Err(error) => {
                let mut entry = &next.entry;
                if let SeriesError::Problems(found) = &error {
                    entry = &found.entry;
                    let problems = worded(workspace, found);
                    out.write_all(words::problems(problems.iter()).as_bytes())?;
                }
                let (entry, done) = (entry.clone(), steps.len() - left.len());
                let because = failed(workspace, error).to_string();
                return Err(HistoryError::Failed(words::stopped(&entry, done, steps.len(), &because)));
            }
        }
    }
    out.flush()?;
    Ok(())
}

/// Asks for each edit whether to take it back, shows the conflicts of the chosen edits, and asks for a
/// confirmation.
fn ask(workspace: &mut Workspace, steps: Vec<SeriesStep>, out: &mut dyn Write) -> HistoryResult {
    let screen = screen();
    let mut chosen: Vec<Entry> = Vec::new();
    let (mut all, many) = (false, steps.len());
    for (index, step) in steps.into_iter().enumerate() {
        if !all {
            out.write_all(edits::on_screen(&step.entry, &screen).as_bytes())?;
            match question(&words::question(&step.entry, index + 1, many), words::ANSWERS, "ynaq", out)? {
                Some('y') => {}
                Some('a') => all = true,
                Some('n') => continue,
                Some(_) => break,
                // At the end of the input, the person has not agreed.
                None => return left(out),
            }
        }
        chosen.push(step.entry);
    }
    // Edits with a conflict are left out. Then further edits can have conflicts, so the rest is planned
    // again.
    let mut ids: Vec<EditId> = chosen.into_iter().map(|entry| entry.id).collect();
    let steps = loop {
        let steps = plan(workspace, &ids).map_err(|error| failed(workspace, error))?;
        if show_conflicts(workspace, &steps, out)? == 0 {
            break steps;
        }
        let free = steps.iter().filter(|step| step.against.is_none());
        ids = free.map(|step| step.entry.id.clone()).collect();
    };
    if steps.is_empty() {
        return left(out);
    }
    if many == 1 {
        return go(workspace, &steps, out);
    }
    match question(&words::confirm(steps.len()), words::CONFIRM, "yn", out)? {
        Some('y') => go(workspace, &steps, out),
        _ => left(out),
    }
}

fn left(out: &mut dyn Write) -> HistoryResult {
    out.write_all(words::LEFT.as_bytes())?;
    Ok(())
}

/// Asks until the answer is one of these letters. After any other answer, such as `?`, explains them. Returns
/// `None` at the end of the input.
fn question(question: &str, help: &str, answers: &str, out: &mut dyn Write) -> io::Result<Option<char>> {
    loop {
        out.write_all(question.as_bytes())?;
        out.flush()?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            out.write_all(b"\n")?;
            return Ok(None);
        }
        let answer = line.trim().chars().next().map(|first| first.to_ascii_lowercase());
        if let Some(answer) = answer.filter(|answer| answers.contains(*answer)) {
            return Ok(Some(answer));
        }
        out.write_all(help.as_bytes())?;
    }
}

fn failed(workspace: &Workspace, error: SeriesError) -> HistoryError {
    match error {
        SeriesError::Unknown(id) => unknown(&id.to_string()),
        SeriesError::History(reason) => unreadable(workspace, &reason),
        error => HistoryError::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::SystemTime;

    use mcp_text_editor_store::{
        EditId, EditProblem, Entry, LeftBehind, Operation, Reason, Remains, StoreError, StoreErrorKind,
    };

    use super::*;

    #[test]
    fn nothing_was_changed_is_said_only_if_it_is_true() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::builder().root(directory.path()).build().unwrap();
        let said = |kind, left| {
            let id = EditId::parse("0123456789ab").unwrap();
            let entry = Entry {
                chain: id.clone(),
                id,
                time: SystemTime::UNIX_EPOCH,
                tool: String::new(),
                client: None,
                session: None,
                undoes: None,
                is_redo: false,
                undone_by: None,
                files: Vec::new(),
            };
            let error = StoreError { left, ..StoreError::new(Operation::Replace, Path::new("/a"), kind) };
            let problems = vec![EditProblem { entry: 0, reason: Reason::Store(error) }];
            let found = UndoProblems { entry, conflicts: Vec::new(), problems, together: Vec::new() };
            not_undone(&workspace, &found, &mut io::sink()).unwrap().to_string()
        };
        let restored = said(StoreErrorKind::NoSpace, Vec::new());
        assert_eq!(restored, "edit 0123456789ab is not undone, and nothing was changed");
        let left =
            said(StoreErrorKind::NotRestored, vec![LeftBehind { path: "/a".into(), what: Remains::Changed }]);
        assert_eq!(left, "edit 0123456789ab is not undone, but files were left changed");
    }
}
