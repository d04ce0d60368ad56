//! Prints some lines of a file, with the digest by which they can be edited: `cargo run --example read --
//! FILE [START [END]]`.
#![expect(clippy::print_stdout, reason = "an example is a program")]

use std::error::Error;
use std::path::Path;

use mcp_text_editor_store::core::line::LineRange;
use mcp_text_editor_store::core::show::Budget;
use mcp_text_editor_store::{Control, ReadFile, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file =
        arguments.next().unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs").to_owned());
    let path = std::path::absolute(file)?;
    let start = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let end = arguments.next().map_or(Ok(u64::MAX), |text| text.parse())?;
    let lines = LineRange::inclusive(start, end).ok_or("the range ends before it begins")?;

    // Nothing but this directory, and what is below it, can be reached.
    let workspace = Workspace::builder().root(path.parent().unwrap_or(Path::new("/"))).build()?;
    let file = ReadFile::new(path.to_str().ok_or("the path is not Unicode")?);
    let view = workspace.read(file, Some(lines), Budget::bytes(20_000), Control::default())?;

    print!("{}", view.shown.content);
    println!("-- {} of {} lines, {}", view.shown.lines.count(), view.total_lines, view.encoding.name());
    println!("-- sha256 of the file {}", view.digest);
    match (view.shown.cut, view.shown.digest) {
        (Some(cut), _) => println!("-- goes on at line {}", cut.next_start),
        (None, Some(digest)) => println!("-- sha256 of these lines {digest}"),
        (None, None) => {}
    }
    Ok(())
}
