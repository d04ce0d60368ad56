//! Reads directories beneath a root, up to a number of entries: [`Listing`]. Follows and reads no symbolic
//! link.

use std::path::Path;
use std::sync::Arc;

#[cfg(not(windows))]
use cap_std::fs::FileType;

use crate::access::directory::open_beneath;
use crate::cancellation::Cancellation;
use crate::os::directory::{Dir, DirEntry};

/// The entries of a directory, sorted by name. So the same tree gives the same answer, in whatever order its
/// file system lists it.
pub(super) type Entries = Vec<(String, EntryType)>;

/// The kind of an entry of a directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum EntryType {
    /// A directory.
    Directory,
    /// A regular file, or a symbolic link, whatever its target.
    File,
}

/// Reads directories until a number of entries were seen, or until the call is cancelled.
#[derive(Debug)]
pub(super) struct Listing<'a> {
    root: &'a Arc<Dir>,
    /// The number of entries that may still be seen.
    pub(super) left: usize,
    cancellation: Cancellation<'a>,
    /// True if a directory was left out.
    pub(super) is_cut: bool,
}

impl<'a> Listing<'a> {
    pub(super) fn new(root: &'a Arc<Dir>, entries: usize, cancellation: Cancellation<'a>) -> Self {
        Self { root, left: entries, cancellation, is_cut: false }
    }

    /// Tells whether no further directory will be read.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Returns the entries of a directory, which is named from the root on; empty if it cannot be read. A
    /// directory with more entries than may still be seen is left out as a whole. Left out are names that are
    /// not Unicode, and entries that are neither file, directory nor link.
    pub(super) fn entries(&mut self, directory: &Path) -> Entries {
        if self.is_over() || self.cancellation.is_cancelled() {
            (self.left, self.is_cut) = (0, true);
            return Entries::new();
        }
        let opened = open_beneath(self.root, directory);
        let Some(listed) = opened.and_then(|opened| opened.read_dir(".").ok()) else { return Entries::new() };
        let mut entries = Entries::new();
        for entry in listed.filter_map(Result::ok) {
            let Some(left) = self.left.checked_sub(1) else {
                self.is_cut = true;
                return Entries::new();
            };
            self.left = left;
            if let (Some(kind), Ok(name)) = (kind_of(&entry), entry.file_name().into_string()) {
                entries.push((name, kind));
            }
        }
        entries.sort();
        entries
    }
}

/// Returns the kind of an entry. Not every file system lists it with the name; then the entry is looked at.
fn kind_of(entry: &DirEntry) -> Option<EntryType> {
    let kind = entry.file_type().ok()?;
    #[cfg(not(windows))]
    let kind = if kind == FileType::unknown() { entry.metadata().ok()?.file_type() } else { kind };
    if kind.is_dir() {
        return Some(EntryType::Directory);
    }
    (kind.is_file() || kind.is_symlink()).then_some(EntryType::File)
}
