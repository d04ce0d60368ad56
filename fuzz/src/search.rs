//! Searching and listing a small tree, for any pattern, globs, ignore file and content: what is refused is
//! refused in bounded words, what is found is what a read shows, and the search and the listing agree on
//! which files there are.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;

use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::show::Budget;
use mcp_text_editor_store::{
    Control, EntryKind, FileMatches, List, ReadFile, Search, SearchSummary, SkipCause, Workspace,
};

use crate::input::Input;

/// Files that are always there, from the root on; each holds its own name.
const FILES: &[&str] = &["a", "b.rs", "sub/a", "sub/c.txt", "sub/deep/b.rs", "build/d", ".e/f", "é/a b"];
/// The ignore files, of which one is written anew each time.
const IGNORES: &[&str] = &[".gitignore", ".ignore", ".rgignore", "sub/.gitignore", ".git/info/exclude"];

struct World {
    root: PathBuf,
    workspace: Workspace,
}

impl Drop for World {
    fn drop(&mut self) {
        // If this fails, what is left is in the system's temporary directory.
        let _ = fs::remove_dir_all(&self.root);
    }
}

thread_local! {
    static WORLD: World = world().expect("a tree in a temporary directory");
}

fn world() -> std::io::Result<World> {
    let name = format!("mte-fuzz-search-{}-{:?}", process::id(), thread::current().id());
    let root = fs::canonicalize(std::env::temp_dir())?.join(name);
    for name in FILES.iter().chain(IGNORES) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&root))?;
        fs::write(&path, if FILES.contains(name) { *name } else { "" })?;
    }
    let workspace = Workspace::builder().root(&root).build().map_err(std::io::Error::other)?;
    Ok(World { root, workspace })
}

/// Takes the bytes for a pattern, a glob, an ignore file and the content of a file.
pub fn check(data: &[u8]) {
    WORLD.with(|world| check_in(world, data));
}

fn check_in(world: &World, data: &[u8]) {
    let mut input = Input::new(data);
    let (literal, ignore_case, hashes) = (input.flag(), input.flag(), input.flag());
    let [before, after] = [input.below(4), input.below(4)].map(|lines| lines as u64);
    let max_line_bytes = input.below(200);
    let label = input.label().map(Encoding::name);
    let ignore = IGNORES[input.below(IGNORES.len())];
    let [pattern, glob, rules, content] = input.texts();
    let glob: Vec<&str> = glob.lines().take(4).collect();
    fs::write(world.root.join(ignore), &rules).expect("an ignore file");
    fs::write(world.root.join("content"), &content).expect("a file");
    let search = Search {
        literal,
        ignore_case,
        hashes,
        before,
        after,
        max_line_bytes,
        glob: &glob,
        encoding: label,
        ..Search::new(&pattern)
    };
    match found(world, &search) {
        Ok((files, summary)) => {
            assert_eq!(Some((files.clone(), summary)), found(world, &search).ok(), "{search:?}");
            for file in &files {
                check_hits(world, &search, file);
            }
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "{search:?}");
            assert!(problems.len() < 8 * (data.len() + 1_000), "{} bytes of {search:?}", problems.len());
        }
    }
    check_files(world, &glob);
    fs::write(world.root.join(ignore), "").expect("an ignore file");
}

/// Returns what a search finds, or the words in which it is refused.
fn found(world: &World, search: &Search<'_>) -> Result<(Vec<FileMatches>, SearchSummary), String> {
    let mut found = Vec::new();
    let mut sink = |file| {
        found.push(file);
        ControlFlow::Continue(())
    };
    let summary = world.workspace.search(search, &mut sink, Control::default());
    summary.map(|summary| (found, summary)).map_err(|error| error.to_string())
}

/// Checks that each line that is reported is what a read of that line shows, in rising order, and no file is
/// one of git's.
fn check_hits(world: &World, search: &Search<'_>, file: &FileMatches) {
    let path = Path::new(&file.file_path);
    assert!(path.starts_with(&world.root) && !path.starts_with(world.root.join(".git")), "{path:?}");
    let mut before = 0;
    for hit in &file.matches {
        for line in hit.before.iter().chain([&hit.line]).chain(&hit.after) {
            assert!(line.number.get() > before, "{search:?}: {file:?}");
            before = line.number.get();
            let range = LineRange::new(line.number, 1);
            let read = ReadFile { file_path: &file.file_path, encoding: search.encoding };
            let view = world.workspace.read(read, Some(range), Budget::bytes(1 << 30), Control::default());
            let shown = view.expect("a file that was searched").shown;
            let text = shown.content.strip_suffix('\n').unwrap_or(&shown.content);
            let (from, length) =
                line.cut.map_or((1, text.chars().count() as u64), |cut| (cut.from_char, cut.line_length));
            assert_eq!(length, text.chars().count() as u64, "{search:?}: {line:?}");
            let part: String = text.chars().skip(from as usize - 1).collect();
            assert!(part.starts_with(&line.text), "{search:?}: {line:?} of {text:?}");
            assert!(line.cut.is_some() || part == line.text, "{search:?}: {line:?} of {text:?}");
            if line == &hit.line {
                assert_eq!(hit.range_hash, shown.digest.filter(|_| search.hashes), "{search:?}: {line:?}");
            }
        }
    }
}

/// Checks that the files that are searched are those that are listed, and that ignore files only take some
/// away.
fn check_files(world: &World, glob: &[&str]) {
    let listed = |include_ignored| {
        let root = world.root.to_str().expect("a path of ours");
        let mut files = Vec::new();
        let mut sink = |entry: mcp_text_editor_store::ListEntry| {
            if entry.kind == EntryKind::File {
                files.push(entry.path);
            }
            ControlFlow::Continue(())
        };
        let list = List { glob, include_ignored, ..List::new(Some(root)) };
        world.workspace.list(&list, &mut sink, Control::default()).ok().map(|_| files)
    };
    let Some(honoured) = listed(false) else {
        assert!(listed(true).is_none(), "{glob:?}");
        return;
    };
    let all: BTreeSet<String> = listed(true).expect("the same globs").into_iter().collect();
    assert!(honoured.iter().all(|file| all.contains(file)), "{glob:?}: {honoured:?} of {all:?}");
    // The files hold a NUL at most, which is counted.
    let (_, summary) = found(world, &Search { glob, ..Search::new("^") }).expect("the same globs");
    // What the globs and the ignore files leave out is not listed either.
    let is_listed = |cause| !matches!(cause, SkipCause::Ignored | SkipCause::Glob);
    let skipped: u64 =
        summary.skipped.iter().filter(|(cause, _)| is_listed(*cause)).map(|(_, files)| files.count).sum();
    assert_eq!(summary.files + skipped, honoured.len() as u64, "{glob:?}: {summary:?} {honoured:?}");
}
