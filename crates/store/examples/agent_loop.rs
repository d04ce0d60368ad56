//! A tiny agent: a "model" proposes edits, the workspace refuses or makes them, and what it says goes back to
//! the model.
//!
//! The model here is a list. What matters is the loop: read, propose with a digest as guard, on refusal read
//! again.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a program")]

use std::error::Error;

use mcp_text_editor_store::core::digest::DigestPrefix;
use mcp_text_editor_store::core::line::LineNumber;
use mcp_text_editor_store::core::resolve::{Patch, Position};
use mcp_text_editor_store::core::show::Budget;
use mcp_text_editor_store::{Change, Control, FileEdit, ReadFile, Workspace};

/// The next wish of the model.
enum Proposal {
    Replace(&'static str, &'static str),
    InsertAtTop(&'static str),
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("app.py");
    std::fs::write(&file, "import sys\n\nprint('Hello, ' + sys.argv[1])\n")?;
    let path = file.to_string_lossy();
    let workspace = Workspace::builder().root(directory.path()).build()?;

    let read = || workspace.read(ReadFile::new(&path), None, Budget::bytes(20_000), Control::default());
    let mut view = read()?;
    let model = [
        Proposal::Replace("'Hello, ' + name", "f'Hello, {name}'"),
        Proposal::Replace("'Hello, ' + sys.argv[1]", "f'Hello, {sys.argv[1]}'"),
        Proposal::InsertAtTop("#!/usr/bin/env python3"),
    ];
    for proposal in model {
        // Another program may have written since: then the digest does not hold, and nothing is changed.
        let guard = DigestPrefix::parse(&view.digest.to_string());
        let patches: Vec<Patch>;
        let change = match proposal {
            Proposal::Replace(old, new) => {
                patches = vec![Patch::text(old, new)];
                Change::Patch(&patches)
            }
            Proposal::InsertAtTop(text) => Change::Insert(text, Position::Before(LineNumber::FIRST.get())),
        };
        let edit = FileEdit { file_hash: guard.as_ref(), ..FileEdit::new(&path, change) };
        match workspace.apply(&[edit], Control::of("agent_loop")) {
            Ok(done) => println!(
                "made; the file has {} lines",
                done.files.iter().map(|file| file.total_lines).sum::<u64>()
            ),
            Err(error) => println!("refused: {error}"),
        }
        view = read()?;
    }
    print!("{}", view.shown.content);
    Ok(())
}
