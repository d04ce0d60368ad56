//! Remembers the scans of files (digest, encoding, positions of the lines) between reads, as long as the
//! files have provably not changed. The scans are only in memory, and no edit relies on them.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::scan::Scan;

use crate::os::identity::Identity;

/// The maximum number of scans that are remembered. Each takes at most a hundred kilobytes.
const MAX: usize = 64;

/// The scans of the files that were read most recently.
#[derive(Debug, Default)]
pub(crate) struct ScanCache {
    /// The entries, from the least to the most recently used.
    entries: Mutex<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    identity: Identity,
    label: Option<Encoding>,
    scan: Scan,
}

impl ScanCache {
    /// Returns the remembered scan of a file that was read with this `label` (the encoding that the client
    /// named, if any); `None` if there is none, or if the file has changed since.
    pub(crate) fn get(&self, identity: &Identity, label: Option<Encoding>) -> Option<Scan> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let at = entries.iter().position(|entry| entry.is(identity, label))?;
        let entry = entries.remove(at);
        let scan = (entry.identity == *identity).then(|| entry.scan.clone());
        if scan.is_some() {
            entries.push(entry);
        }
        scan
    }

    /// Tells whether a scan of the file with exactly this identity, read with this `label`, is remembered.
    pub(crate) fn holds(&self, identity: &Identity, label: Option<Encoding>) -> bool {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().any(|entry| entry.identity == *identity && entry.label == label)
    }

    /// Remembers a scan that began at `began`. The file must have had this identity before and after the
    /// scan.
    ///
    /// If the file was changed just before the scan, the scan is not remembered. Timestamps are coarse: a
    /// change just after the scan could leave them the same.
    pub(crate) fn put(&self, identity: Identity, label: Option<Encoding>, scan: &Scan, began: SystemTime) {
        if !identity.has_settled(began) {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| !entry.is(&identity, label));
        if entries.len() >= MAX {
            entries.remove(0);
        }
        entries.push(Entry { identity, label, scan: scan.clone() });
    }
}

impl Entry {
    fn is(&self, identity: &Identity, label: Option<Encoding>) -> bool {
        self.identity.same_file(identity) && self.label == label
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use mcp_text_editor_core::scan::Scanner;

    use super::*;

    const SECOND: i128 = 1_000_000_000;

    fn identity(inode: u64, changed: i128) -> Identity {
        Identity { device: 1, inode, size: 0, mtime: changed, ctime: changed, born: None }
    }

    fn at(nanoseconds: i128) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanoseconds).unwrap())
    }

    #[test]
    fn a_file_is_remembered_once_its_times_can_tell() {
        let scan = Scanner::new(None).finish();
        let check = |changed: i128, began: i128| {
            let index = ScanCache::default();
            index.put(identity(1, changed), None, &scan, at(began));
            let is_held = index.holds(&identity(1, changed), None);
            assert_eq!(is_held, index.get(&identity(1, changed), None).is_some());
            is_held
        };
        let odd = 1_000 * SECOND + 123_456_789;
        assert!(!check(odd, odd + 5_000_000));
        assert!(check(odd, odd + 30_000_000));
        assert!(!check(odd, odd - SECOND), "a time in the future tells nothing");
        let whole = 1_000 * SECOND;
        assert!(!check(whole, whole + SECOND), "times in whole seconds come in large steps");
        assert!(check(whole, whole + 3 * SECOND));
    }

    #[test]
    fn a_change_is_seen_and_memory_is_bounded() {
        let scan = Scanner::new(None).finish();
        let index = ScanCache::default();
        let old = identity(1, SECOND + 1);
        index.put(old, None, &scan, at(9 * SECOND));
        assert!(index.get(&old, Some(Encoding::Latin1)).is_none());
        assert!(index.get(&Identity { size: 1, ..old }, None).is_none());
        assert!(index.get(&old, None).is_none(), "a changed file is forgotten");
        for inode in 0..200 {
            index.put(identity(inode, SECOND + 1), None, &scan, at(9 * SECOND));
        }
        assert!(index.get(&identity(0, SECOND + 1), None).is_none());
        assert!(index.get(&identity(199, SECOND + 1), None).is_some());
        assert_eq!(index.entries.lock().unwrap().len(), MAX);
    }
}
