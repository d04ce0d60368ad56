//! Reading directories beneath a root, for as many entries as a search may look at: [`Listing`]. No symbolic
//! link is followed, or read.

use std::path::Path;
use std::sync::Arc;

#[cfg(not(windows))]
use cap_std::fs::FileType;

use crate::access::directory::open_beneath;
use crate::cancellation::Cancellation;
use crate::os::directory::{Dir, DirEntry};

/// The entries of a directory, by name, sorted: so the same tree gives the same answer, in whatever order its
/// file system lists it.
pub(super) type Entries = Vec<(String, EntryType)>;

/// The kind of an entry of a directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum EntryType {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link to whatever it may be.
    Link,
}

/// Reads directories until so many entries were seen, or the call is to stop.
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

    /// Returns the entries of a directory, named from the root on; empty if it cannot be read. One with more
    /// entries than may still be seen is left out as a whole. Names that are not Unicode, and what is neither
    /// file, directory nor link, are left out.
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

/// Returns what an entry is. Not every file system says so with the name, so it is looked at where need be.
fn kind_of(entry: &DirEntry) -> Option<EntryType> {
    let kind = entry.file_type().ok()?;
    #[cfg(not(windows))]
    let kind = if kind == FileType::unknown() { entry.metadata().ok()?.file_type() } else { kind };
    match () {
        () if kind.is_dir() => Some(EntryType::Directory),
        () if kind.is_file() => Some(EntryType::File),
        () => kind.is_symlink().then_some(EntryType::Link),
    }
}
