use std::io;
#[cfg(target_os = "linux")]
use std::time::Duration;

use crate::cancellation::Cancellation;
#[cfg(target_os = "linux")]
use crate::door::{Control, ReadFile};
use crate::error::StoreErrorKind;
#[cfg(target_os = "linux")]
use crate::os;
use crate::read::document;
use crate::read::hash::read_and_hash;
use crate::read::scan_cache::ScanCache;
use mcp_text_editor_core::digest::{Digest, Hasher};
#[cfg(target_os = "linux")]
use mcp_text_editor_core::show::Budget;
use mcp_text_editor_core::source::read_range;
#[cfg(target_os = "linux")]
use mcp_text_editor_core::text_length::Measure;

use crate::tests::world::World;

#[test]
fn every_byte_comes_once_and_the_digest_is_of_all() {
    let world = World::new();
    for size in [0, 1, 262_143, 262_144, 262_145, 1_048_576, 1_048_577, 5_000_001] {
        let bytes: Vec<u8> = (0..size).map(|n: usize| u8::try_from(n * 7 % 251).unwrap()).collect();
        std::fs::write(world.path("@/root/file"), &bytes).unwrap();
        let file = world.place("@/root/file").open_file(false).unwrap();
        let mut got = Vec::new();
        let taken = |block: &[u8]| -> io::Result<()> {
            got.extend_from_slice(block);
            Ok(())
        };
        let hasher = read_and_hash(&file, Hasher::with_midstates(size as u64), taken).unwrap();
        assert!(got == bytes, "{size}");
        assert_eq!(hasher.digest(), Digest::of(&bytes), "{size}");
        // This hasher has taken some of the bytes already.
        got.clear();
        let taken = |block: &[u8]| -> io::Result<()> {
            got.extend_from_slice(block);
            Ok(())
        };
        let again = read_and_hash(&file, hasher.before(size as u64 * 2 / 3), taken).unwrap();
        assert!(got == bytes, "{size}");
        assert_eq!(again.digest(), Digest::of(&bytes), "{size}");
        assert!(file.is_unchanged().unwrap());
    }
}

#[test]
fn a_read_can_be_stopped_and_a_file_can_shrink() {
    let world = World::new();
    for size in [300_000, 5_000_000] {
        std::fs::write(world.path("@/root/file"), vec![b'x'; size]).unwrap();
        let file = world.place("@/root/file").open_file(false).unwrap();
        let mut blocks = 0;
        let stopped = read_and_hash(&file, Hasher::default(), |_| {
            blocks += 1;
            if blocks == 2 { Err(io::Error::from(io::ErrorKind::Interrupted)) } else { Ok(()) }
        });
        assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert_eq!(blocks, 2);
        std::fs::write(world.path("@/root/file"), "short").unwrap();
        let digest = read_and_hash(&file, Hasher::default(), |_| io::Result::Ok(())).unwrap().digest();
        assert_eq!(digest, Digest::of(b"short"));
        assert!(!file.is_unchanged().unwrap());
    }
}

#[test]
fn a_read_that_fails_since_the_file_changed_begins_again() {
    let world = World::new();
    let (cache, place) = (ScanCache::default(), world.place("@/root/file"));
    let error = |kind: io::ErrorKind| io::Error::from(kind).into();
    world.write("@/root/file", "text");
    // If another machine has replaced the file, the read waits, and these attempts are not counted.
    let mut asked = 0;
    let read = document::read(&cache, &place, None, Cancellation::none(), |_| {
        asked += 1;
        if asked <= 10 { Err(error(io::ErrorKind::StaleNetworkFileHandle)) } else { Ok(()) }
    });
    assert!(read.is_ok(), "{read:?}");
    let mut is_first = true;
    let read = document::read(&cache, &place, None, Cancellation::none(), |document| {
        if std::mem::take(&mut is_first) {
            world.write("@/root/file", "longer text");
            return Err(error(io::ErrorKind::Other));
        }
        Ok(document.scan.size)
    });
    assert_eq!(read.unwrap(), 11);
}

#[test]
fn what_is_read_of_a_file_is_of_one_state() {
    let world = World::new();
    let (cache, place) = (ScanCache::default(), world.place("@/root/file"));
    for size in [4, 0] {
        let file = std::fs::File::create(world.path("@/root/file")).unwrap();
        file.set_len(size).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        let mut sizes = Vec::new();
        let read = document::read(&cache, &place, None, Cancellation::none(), |document| {
            sizes.push(document.scan.size);
            if sizes.len() == 1 {
                world.write("@/root/file", "longer text");
            }
            Ok(sizes.clone())
        });
        assert_eq!(read.unwrap(), [size, 11]);
    }
}

#[test]
fn what_was_not_read_to_its_end_is_not_remembered() {
    let world = World::new();
    let (cache, place) = (ScanCache::default(), world.place("@/root/file"));
    let file = std::fs::File::create(world.path("@/root/file")).unwrap();
    file.set_len(2 << 20).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    // Both times of the file must be old enough to show a later change.
    std::thread::sleep(std::time::Duration::from_millis(50));
    for _ in 0..2 {
        let read = document::read(&cache, &place, None, Cancellation::none(), |found| Ok(found.digest()));
        assert_eq!(read.unwrap(), None);
    }
}

#[test]
fn a_read_that_a_signal_interrupts_is_not_cancelled() {
    let world = World::new();
    world.write("@/root/file", "text");
    let (cache, place) = (ScanCache::default(), world.place("@/root/file"));
    let interrupted = || io::Error::from(io::ErrorKind::Interrupted).into();
    let error = document::read(&cache, &place, None, Cancellation::none(), |_| Err::<(), _>(interrupted()));
    let error = error.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Io);
    assert_eq!(error.source.map(|source| source.kind()), Some(io::ErrorKind::Interrupted));
    let cancelled = document::read(&cache, &place, None, Cancellation::when(&|| true), |document| {
        read_range(document, 0..4)
    });
    assert_eq!(cancelled.unwrap_err().kind, StoreErrorKind::Cancelled);
}

#[test]
#[cfg(target_os = "linux")]
fn at_hand_is_what_was_read_and_is_the_same_and_near() {
    let world = World::new();
    if !os::is_local(&world.place("@/root/file").directory) {
        eprintln!("skipped: the temporary directory is not on a file system that is known to be local");
        return;
    }
    let path = |path: &str| world.path(path).to_str().unwrap().to_owned();
    let is_at_hand =
        |path: &str, encoding| world.workspace.is_at_hand(ReadFile { file_path: path, encoding });
    let budget = Budget { weight: 100, measure: Measure::BYTES, lines: 9, gutter: false };
    let read =
        |path: &str| world.workspace.read(ReadFile::new(path), None, budget, Control::of("test")).is_ok();
    std::fs::create_dir(world.path("@/root/below")).unwrap();
    std::fs::write(world.path("@/root/below/long"), "line\n".repeat(300_000)).unwrap();
    for name in ["@/root/below/file", "@/outside/file"] {
        world.write(name, "text");
    }
    world.link("@/root/link", "@/root/below");
    // A file that has just changed is not remembered.
    std::thread::sleep(Duration::from_millis(60));
    let (file, long, linked) =
        (path("@/root/below/file"), path("@/root/below/long"), path("@/root/link/file"));
    assert!(!is_at_hand(&file, None), "it was never read");
    assert!([&file, &long, &linked].map(|path| read(path)) == [true; 3]);
    assert!(is_at_hand(&file, None));
    assert!(!is_at_hand(&file, Some("latin1")), "by that encoding it was not read");
    let outside = path("@/root/../outside/file");
    let no_file = [
        linked,
        long,
        outside,
        path("@/outside/file"),
        path("@/root/below"),
        path("@/root"),
        "below/file".to_owned(),
    ];
    assert_eq!(no_file.map(|path| is_at_hand(&path, None)), [false; 7]);
    world.write("@/root/below/file", "other");
    assert!(!is_at_hand(&file, None), "it has changed");
}
