//! Finds text, or lists files, and says how long that took: `cargo run --example search -- DIRECTORY
//! [PATTERN]`.

use std::io::{BufWriter, Write as _};
use std::ops::ControlFlow;
use std::time::Instant;

use mcp_text_editor_store::{Control, List, Search, Workspace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: search DIRECTORY [PATTERN]")?;
    let workspace = Workspace::builder().root(&directory).build()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let began = Instant::now();
    let summary = match arguments.next() {
        Some(pattern) => workspace.search(
            &Search::new(&pattern),
            &mut |found| {
                for hit in &found.matches {
                    let (path, line) = (&found.file_path, &hit.line);
                    if writeln!(out, "{path}:{}:{}", line.number, line.text).is_err() {
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            },
            Control::default(),
        )?,
        None => workspace.list(
            &List::new(Some(&directory)),
            &mut |entry| match writeln!(out, "{}", entry.path) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            },
            Control::default(),
        )?,
    };
    out.flush()?;
    let took = began.elapsed();
    writeln!(std::io::stderr(), "{took:?} {summary:?}")?;
    Ok(())
}
