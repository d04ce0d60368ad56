//! Changes two files, or none: shows the difference first, then makes it.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a program")]

use std::error::Error;

use mcp_text_editor_store::core::resolve::Patch;
use mcp_text_editor_store::{Change, Control, FileEdit, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let (library, caller) = (directory.path().join("lib.py"), directory.path().join("main.py"));
    std::fs::write(&library, "def greet(name):\r\n    return 'Hello, ' + name\r\n")?;
    std::fs::write(&caller, "from lib import greet\nprint(greet('Ada'))\n")?;
    let (library, caller) = (library.to_string_lossy(), caller.to_string_lossy());

    let workspace = Workspace::builder().root(directory.path()).build()?;
    let in_library = [Patch::text("def greet(", "def hello(")];
    let in_caller = [Patch::text("greet", "hello").all()];
    let edits = [
        FileEdit::new(&library, Change::Patch(&in_library)),
        FileEdit::new(&caller, Change::Patch(&in_caller)),
    ];

    let plan = workspace.plan(&edits, Control::default())?;
    for file in &plan.files {
        println!("{}", file.diff.as_deref().unwrap_or_default());
    }
    let done = workspace.apply(&edits, Control::of("patch_two_files"))?;
    for file in &done.files {
        let lines: Vec<String> = file.regions.iter().map(|region| region.lines.start().to_string()).collect();
        println!("changed line {} of a file that has {} now", lines.join(" and "), file.total_lines);
    }

    // The library's line ends are CRLF still.
    assert_eq!(std::fs::read(&*library)?, b"def hello(name):\r\n    return 'Hello, ' + name\r\n");

    // A text that is not there once is no edit, in neither file.
    let twice = [Patch::text("hello", "hi")];
    let edits =
        [FileEdit::new(&library, Change::Patch(&in_library)), FileEdit::new(&caller, Change::Patch(&twice))];
    match workspace.apply(&edits, Control::default()) {
        Err(error) => println!("refused: {error}"),
        Ok(_) => return Err("an ambiguous edit was made".into()),
    }
    Ok(())
}
