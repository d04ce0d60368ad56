//! Remembers the journal records for which a wait timed out: [`Stuck`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time during which calls do not wait for such a record again.
const FOR: Duration = Duration::from_secs(5);

/// The journal records for which a wait recently timed out, by path. A call usually reads its files one after
/// another. If this were not remembered, each read would wait as long again.
#[derive(Default, Debug)]
pub(crate) struct Stuck(Mutex<BTreeMap<PathBuf, Instant>>);

impl Stuck {
    fn known(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Instant>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, since| since.elapsed() < FOR);
        known
    }

    pub(crate) fn add(&self, record: &Path) {
        self.known().insert(record.to_owned(), Instant::now());
    }

    pub(crate) fn has(&self, record: &Path) -> bool {
        self.known().contains_key(record)
    }
}
