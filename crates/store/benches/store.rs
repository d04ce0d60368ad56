//! The cost of the store as a multiple of what the system calls alone would cost. Each number is a ratio to a
//! floor: see `benches/ratio.rs`. The files are in Cargo's target directory, so on a disk and not in memory.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]
#![expect(clippy::disallowed_methods, reason = "the floor is what std does by itself")]

#[path = "../../../benches/ratio.rs"]
mod ratio;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use criterion::{Criterion, criterion_group, criterion_main};
use mcp_text_editor_store::core::digest::Digest;
use mcp_text_editor_store::core::line::LineRange;
use mcp_text_editor_store::core::resolve::Patch;
use mcp_text_editor_store::core::show::Budget;
use mcp_text_editor_store::{Change, Control, Durability, FileEdit, ReadFile, Workspace};
use ratio::{Ratio, compare, criterion};
use tempfile::TempDir;

/// A root with files of 100 KB.
struct World {
    workspace: Workspace,
    directory: TempDir,
    text: String,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut text = String::new();
        for number in 1..=2400 {
            writeln!(text, "line {number}: let total = prices.sum::<u64>();").unwrap();
        }
        let workspace = Workspace::builder().root(directory.path()).build().unwrap();
        Self { workspace, directory, text }
    }

    /// Returns the same directory, of which nothing is remembered.
    fn cold(&self, durability: Durability) -> Workspace {
        Workspace::builder().root(self.directory.path()).durability(durability).build().unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, &self.text).unwrap();
        path
    }

    /// Replaces a file by hand: a new file, complete under another name and then under this one.
    fn replace_by_hand(&self, path: &Path, sync: bool) {
        let temporary = path.with_extension("new");
        let mut file = File::create(&temporary).unwrap();
        file.write_all(self.text.as_bytes()).unwrap();
        if sync {
            file.sync_all().unwrap();
        }
        std::fs::rename(&temporary, path).unwrap();
    }

    fn sync_directory(&self) {
        File::open(self.directory.path()).unwrap().sync_all().unwrap();
    }
}

/// Measures a read of 51 lines of a file, from its path to the text; first against reading and hashing all of
/// it, then against reading a page of it.
fn reads(c: &mut Criterion<Ratio>) {
    let world = World::new();
    let path = world.file("file");
    // A file that was written in this very moment is not remembered.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let lines = LineRange::inclusive(1000, 1050).unwrap();
    let read = |workspace: &Workspace| {
        let budget = Budget { gutter: true, ..Budget::bytes(50_000) };
        workspace
            .read(ReadFile::new(path.to_str().unwrap()), Some(lines), budget, Control::default())
            .unwrap()
    };
    let whole = || Digest::of(&std::fs::read(&path).unwrap());
    // Opening the root anew is part of it.
    compare(c, "read/cold index", || read(&world.cold(Durability::Machine)), whole);
    read(&world.workspace);
    let page = || {
        let mut buffer = [0; 4096];
        let file = File::open(&path).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut buffer, 50_000).unwrap();
        #[cfg(not(unix))]
        std::io::Read::read_exact(&mut { file }, &mut buffer).unwrap();
        buffer
    };
    compare(c, "read/remembered index", || read(&world.workspace), page);
}

/// Returns the patch that undoes the one before.
fn patch(turn: &mut bool) -> [Patch; 1] {
    *turn = !*turn;
    let (old, new) = if *turn { ("line 1200:", "LINE 1200:") } else { ("LINE 1200:", "line 1200:") };
    [Patch::text(old, new)]
}

fn edit_all(workspace: &Workspace, paths: &[PathBuf], patches: &[Patch]) {
    let edits: Vec<FileEdit<'_>> =
        paths.iter().map(|path| FileEdit::new(path.to_str().unwrap(), Change::Patch(patches))).collect();
    workspace.apply(&edits, Control::of("bench")).unwrap();
}

/// Measures an edit of one line against writing, syncing and renaming by hand.
fn patches(c: &mut Criterion<Ratio>) {
    let world = World::new();
    let (file, other) = (world.file("file"), world.file("other"));
    let mut turn = false;
    let floor = || {
        world.replace_by_hand(&other, true);
        world.sync_directory();
    };
    let paths = std::slice::from_ref(&file);
    compare(c, "patch/synced", || edit_all(&world.workspace, paths, &patch(&mut turn)), floor);
    let floor = || world.replace_by_hand(&other, false);
    let unsynced = world.cold(Durability::Process);
    compare(c, "patch/not synced", || edit_all(&unsynced, paths, &patch(&mut turn)), floor);

    let names = |prefix: &str| -> Vec<PathBuf> {
        (0..20).map(|number| world.file(&format!("{prefix}{number}"))).collect()
    };
    let (files, others) = (names("file"), names("other"));
    let mut turn = false;
    let floor = || {
        for path in &others {
            world.replace_by_hand(path, true);
        }
        world.sync_directory();
    };
    compare(c, "patch/20 files, synced", || edit_all(&world.workspace, &files, &patch(&mut turn)), floor);
}

criterion_group!(name = all; config = criterion(); targets = reads, patches);
criterion_main!(all);
