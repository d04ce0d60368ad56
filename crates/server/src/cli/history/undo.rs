//! `undo`.

use std::io::{self, Write};

use mcp_text_editor_store::{Control, StoreError, UndoError, UndoProblems, Workspace};

use super::error::{HistoryError, HistoryResult, unknown, unreadable};
use super::find::find;
use crate::history::series::worded;
use crate::render::shell::undo as words;

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
