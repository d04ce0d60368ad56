//! How far the store is from what the system calls alone would cost. Each number is a ratio to a floor: see
//! `benches/ratio.rs`. The files are in Cargo's target directory, so on a disk and not in memory.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]
#![expect(clippy::disallowed_methods, reason = "the floor is what std does by itself")]

#[path = "../../../benches/ratio.rs"]
mod ratio;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use criterion::{Criterion, criterion_group, criterion_main};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::resolve::{self, Patch};
use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::scanned::Scanned;
use mcp_text_editor_core::show::{Budget, show};
use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_core::splice::Spliced;
use mcp_text_editor_store::access::roots::Roots;
use mcp_text_editor_store::cancellation::Cancellation;
use mcp_text_editor_store::commit::exchange::{Prepared, exchange};
use mcp_text_editor_store::edit::{Change, Edit, Options, edit};
use mcp_text_editor_store::lock::{LockTimeout, lock};
use mcp_text_editor_store::read::document;
use mcp_text_editor_store::read::scan_cache::ScanCache;
use mcp_text_editor_store::stage::temporary::{Temporary, TemporaryId};
use mcp_text_editor_store::workspace::Workspace;
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
        let roots = Roots::open(&[directory.path().to_owned()]).unwrap();
        Self { workspace: Workspace::without_state(roots), directory, text }
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, &self.text).unwrap();
        path
    }

    /// What a replacement costs: a new file, complete under another name and then under this one.
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

/// 51 lines of a file, from its path to the text; first against reading and hashing all of it, then against reading a
/// page of it.
fn reads(c: &mut Criterion<Ratio>) {
    let world = World::new();
    let path = world.file("file");
    // A file that was written in this very moment is not remembered.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let lines = LineRange::inclusive(1000, 1050).unwrap();
    let read = |index: &ScanCache| {
        let place = world.workspace.roots.resolve_for_writing(path.to_str().unwrap()).unwrap();
        let budget = Budget { gutter: true, ..Budget::bytes(50_000) };
        let shown = document::read(index, &place, None, Cancellation::none(), |document| {
            show(document.scanned(), lines, 1, budget)
        });
        shown.unwrap()
    };
    let whole = || Digest::of(&std::fs::read(&path).unwrap());
    compare(c, "read/cold index", || read(&ScanCache::default()), whole);
    let index = ScanCache::default();
    read(&index);
    let page = || {
        let mut buffer = [0; 4096];
        let file = File::open(&path).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut buffer, 50_000).unwrap();
        #[cfg(not(unix))]
        std::io::Read::read_exact(&mut { file }, &mut buffer).unwrap();
        buffer
    };
    compare(c, "read/remembered index", || read(&index), page);
}

/// The patch that undoes the one before.
fn patch(turn: &mut bool) -> [Patch; 1] {
    *turn = !*turn;
    let (old, new) = if *turn { ("line 1200:", "LINE 1200:") } else { ("LINE 1200:", "line 1200:") };
    let (old_string, new_string) = (Some(old.to_owned()), new.to_owned());
    [Patch { old_string, new_string, ranges: Vec::new(), replace_all: false }]
}

fn edit_all(world: &World, paths: &[PathBuf], patches: &[Patch]) {
    let edits: Vec<Edit<'_>> = paths
        .iter()
        .map(|path| Edit {
            file_path: path.to_str().unwrap(),
            encoding: None,
            file_hash: None,
            change: Change::Patch(patches),
        })
        .collect();
    let options = Options {
        tool: "patch_text_file_contents",
        undoes: None,
        matching: resolve::Options::default(),
        dry_run: false,
        cancellation: Cancellation::none(),
    };
    edit(&world.workspace, &edits, options).unwrap();
}

/// All that an edit does but waiting for the disk.
fn edit_unsynced(world: &World, path: &Path, patches: &[Patch]) {
    let place = world.workspace.roots.resolve_for_writing(path.to_str().unwrap()).unwrap();
    let locked = lock(&place, &LockTimeout::default()).unwrap();
    let bytes = read_range(locked.file(), 0..locked.file().size()).unwrap();
    let mut scanner = Scanner::new(None);
    scanner.feed(&bytes);
    let scan = scanner.finish();
    let matching = resolve::Options::default();
    let file = Scanned::new(bytes.as_slice(), &scan);
    let plan = resolve::patch(file, None, patches, matching).unwrap().unwrap();
    let new = Spliced::new(bytes.as_slice(), &plan.splices);
    let content = read_range(&new, 0..new.size()).unwrap();
    let mut scanner = Scanner::new(None);
    scanner.feed(&content);
    let (new, old) = (scanner.finish().digest, scan.digest);
    let mut temporary = Temporary::create(&place, TemporaryId::draw()).unwrap();
    temporary.write_all(&content).unwrap();
    let _ = temporary.keep_metadata(locked.file()).unwrap();
    drop(exchange(vec![Prepared { place, temporary, new, old, locked, unsettled: None }]).unwrap().finish());
}

/// An edit of one line against writing, syncing and renaming by hand.
fn patches(c: &mut Criterion<Ratio>) {
    let world = World::new();
    let (file, other) = (world.file("file"), world.file("other"));
    let mut turn = false;
    let floor = || {
        world.replace_by_hand(&other, true);
        world.sync_directory();
    };
    let paths = std::slice::from_ref(&file);
    compare(c, "patch/synced", || edit_all(&world, paths, &patch(&mut turn)), floor);
    let floor = || world.replace_by_hand(&other, false);
    compare(c, "patch/not synced", || edit_unsynced(&world, &file, &patch(&mut turn)), floor);

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
    compare(c, "patch/20 files, synced", || edit_all(&world, &files, &patch(&mut turn)), floor);
}

criterion_group!(name = all; config = criterion(); targets = reads, patches);
criterion_main!(all);
