//! Reads directories beneath a root, up to a number of entries: [`Listing`]. Follows and reads no symbolic
//! link.

use std::path::Path;
use std::sync::Arc;

use crate::access::directory::open_beneath;
use crate::cancellation::Cancellation;
use crate::os;
use crate::os::directory::Dir;
use crate::os::seen::Listed;

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
        let opened = opened.and_then(|opened| os::open_to_list(&opened, Path::new(".")).ok());
        let Some(opened) = opened else { return Entries::new() };
        let (mut entries, mut left) = (Entries::new(), Some(self.left));
        // What was listed before an error counts.
        let _ = os::for_each_name(&opened, |name, kind| {
            left = left.and_then(|left| left.checked_sub(1));
            let kind = match kind {
                Listed::Directory => Some(EntryType::Directory),
                Listed::File | Listed::Elsewhere | Listed::Link => Some(EntryType::File),
                Listed::Special => None,
            };
            entries.extend(name.into_string().ok().zip(kind));
            left.is_some()
        });
        self.left = left.unwrap_or_default();
        self.is_cut |= left.is_none();
        if left.is_none() {
            return Entries::new();
        }
        entries.sort();
        entries
    }
}
