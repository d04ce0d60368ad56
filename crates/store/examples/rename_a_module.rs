//! Renames a module: moves its file, edits it on the way, changes who names it, makes one file and removes
//! another, all of it or nothing.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a program")]

use std::error::Error;

use mcp_text_editor_store::core::digest::{Digest, DigestPrefix};
use mcp_text_editor_store::core::resolve::Patch;
use mcp_text_editor_store::{Change, Control, FileEdit, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let (old, new, caller) = (path("greet.py"), path("greetings/hello.py"), path("main.py"));
    let (made, stale) = (path("greetings/__init__.py"), path("notes.txt"));
    std::fs::write(&old, "def greet(name):\n    return 'Hello, ' + name\n")?;
    std::fs::write(&caller, "from greet import greet\nprint(greet('Ada'))\n")?;
    std::fs::write(&stale, "rename greet\n")?;

    let workspace = Workspace::builder().root(directory.path()).build()?;
    let on_the_way = [Patch::text("def greet(", "def hello(")];
    let in_caller = [
        Patch::text("from greet import greet", "from greetings import hello"),
        Patch::text("greet(", "hello("),
    ];
    // What is removed must be what was read.
    let known = DigestPrefix::parse(&Digest::of(b"rename greet\n").to_string());
    let edits = [
        FileEdit::new(&old, Change::Move { to: &new, patches: &on_the_way }),
        FileEdit::new(&made, Change::Create("from .hello import hello\n")),
        FileEdit::new(&caller, Change::Patch(&in_caller)),
        FileEdit { file_hash: known.as_ref(), ..FileEdit::new(&stale, Change::Remove) },
    ];
    let done = workspace.apply(&edits, Control::of("rename_a_module"))?;
    println!("{} files are what they were to be", done.files.len());
    assert_eq!(std::fs::read_to_string(&new)?, "def hello(name):\n    return 'Hello, ' + name\n");
    assert_eq!(std::fs::read_to_string(&caller)?, "from greetings import hello\nprint(hello('Ada'))\n");
    assert!(!std::fs::exists(&old)? && !std::fs::exists(&stale)?);

    // A second call finds nothing as it was, and changes nothing.
    match workspace.apply(&edits, Control::default()) {
        Err(error) => println!("refused: {error}"),
        Ok(_) => return Err("a module was renamed twice".into()),
    }
    Ok(())
}
