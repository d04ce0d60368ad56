//! Reads of one file that others write and replace meanwhile: each gives one state that the file had while it
//! was read, whatever is remembered of it.

use std::sync::{Arc, Mutex};
use std::thread;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::read_range;
use shuttle::rand::Rng as _;

use crate::access::place::{Inode, Place, State};
use crate::cancellation::Cancellation;
use crate::error::StoreErrorKind;
use crate::read::document;
use crate::read::scan_cache::ScanCache;

const READERS: usize = 2;
const READS: usize = 3;

/// Returns the content of the file after so many changes. All contents have the same length.
fn content(changes: usize) -> Vec<u8> {
    format!("line {changes}\nand {changes}\n").into_bytes()
}

pub(crate) fn law() {
    let place = Place::default();
    let cache = Arc::new(ScanCache::default());
    // The number of the last change, which may not be written yet.
    let told = Arc::new(Mutex::new(0));
    write(&place, 0);
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let (place, cache, told) = (place.clone(), Arc::clone(&cache), Arc::clone(&told));
            thread::spawn(move || (0..READS).for_each(|_| read(&cache, &place, &told)))
        })
        .collect();
    for changes in 1..4 {
        *told.lock().unwrap() = changes;
        if changes % 2 == 0 {
            *place.0.lock().unwrap() = Arc::new(Inode { number: changes as u64, ..Inode::default() });
        }
        write(&place, changes);
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

/// Writes in two steps, each of which shows in the file's times.
fn write(place: &Place, changes: usize) {
    let inode = Arc::clone(&*place.0.lock().unwrap());
    let new = content(changes);
    let half = new.len() / 2;
    {
        let State { bytes, changes } = &mut *inode.state.lock().unwrap();
        bytes.resize(new.len(), b'.');
        bytes[..half].copy_from_slice(&new[..half]);
        *changes += 1;
    }
    pause();
    {
        let State { bytes, changes } = &mut *inode.state.lock().unwrap();
        bytes[half..].copy_from_slice(&new[half..]);
        *changes += 1;
    }
    pause();
}

/// Pauses long enough, now and then, for a whole read.
fn pause() {
    (0..shuttle::rand::thread_rng().gen_range(0..60)).for_each(|_| thread::yield_now());
}

fn read(cache: &ScanCache, place: &Place, told: &Mutex<usize>) {
    let first = told.lock().unwrap().saturating_sub(1);
    let pause = || {
        thread::yield_now();
        false
    };
    let seen = document::read(cache, place, None, Cancellation::when(&pause), |document| {
        thread::yield_now();
        let bytes = read_range(document, 0..document.scan.size)?;
        Ok((document.scan.digest, bytes))
    });
    let last = *told.lock().unwrap();
    match seen {
        Ok((digest, bytes)) => {
            assert_eq!(digest, Digest::of(&bytes), "what is remembered is of another content");
            // A file that was just replaced holds nothing yet, and one that is being written has both halves.
            let half = content(0).len() / 2;
            let is_half =
                |at: usize, now: &[u8]| bytes.starts_with(&content(at)[..half]) && bytes.ends_with(now);
            let known = (first..=last).any(|at| {
                bytes == content(at)
                    || bytes.is_empty()
                    || at > 0 && is_half(at, &content(at - 1)[half..])
                    || is_half(at, &vec![b'.'; content(at).len() - half])
            });
            assert!(known, "{:?} is older than {first}", String::from_utf8_lossy(&bytes));
        }
        Err(error) => assert_eq!(error.kind, StoreErrorKind::Changed),
    }
}
