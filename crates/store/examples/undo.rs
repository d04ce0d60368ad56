//! Makes an edit, takes it back, and takes that back.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a program")]

use std::error::Error;

use mcp_text_editor_store::core::resolve::Patch;
use mcp_text_editor_store::{Change, Control, FileEdit, HistorySettings, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let (directory, state) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let file = directory.path().join("poem.txt");
    std::fs::write(&file, "roses are red\n")?;
    let path = file.to_string_lossy();

    // The state directory holds the journal, by which an edit that was cut off is ended, and the history.
    let workspace = Workspace::builder()
        .root(directory.path())
        .state_directory(state.path())
        .history(HistorySettings::default())
        .build()?;
    workspace.recover();

    let patches = [Patch::text("red", "violet")];
    let done =
        workspace.apply(&[FileEdit::new(&path, Change::Patch(&patches))], Control::of("undo example"))?;
    println!("edited:  {}", std::fs::read_to_string(&file)?.trim_end());
    let edit = done.edit_id.ok_or("the edit is not kept")?;

    let undone = workspace.undo(&edit, Control::of("undo example"))?;
    println!("undone:  {}", std::fs::read_to_string(&file)?.trim_end());
    let undoing = undone.outcome.edit_id.ok_or("the undo is not kept")?;

    workspace.undo(&undoing, Control::of("undo example"))?;
    println!("redone:  {}", std::fs::read_to_string(&file)?.trim_end());

    for entry in workspace.edits(None, 10)? {
        println!("{} by {}", entry.id, entry.tool);
    }
    Ok(())
}
