//! Lists the files and directories that a walk visits: [`Lister`].

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::source::for_each_chunk;

use crate::access::place::OpenFile;
use crate::access::roots::{PathError, Roots};
use crate::error::StoreErrorKind;
use crate::os::directory::Dir;
use crate::os::patience::while_stale;
use crate::read::document::has_its_size;
use crate::search::deliver::SearchFault;
use crate::search::file::{of_one_state, open};
use crate::search::request::{EntryKind, ListEntry};
use crate::search::skipped::{Cause, Skipped};
use crate::search::start::{WalkStart, of_path};
use crate::search::walk::{DirectoryName, Visitor, is_gone};

/// A visitor that passes an entry for each visited file and directory to the sink.
pub(crate) struct Lister<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) line_counts: bool,
    /// Whether directories themselves are listed, not only the files in them.
    pub(crate) has_directories: bool,
    pub(crate) progress: Option<&'a AtomicU64>,
    pub(crate) sink: &'a mut dyn FnMut(ListEntry) -> ControlFlow<()>,
    /// A function that tells whether to continue; `Break` ends the listing. The lister calls it often.
    pub(crate) ask: &'a mut dyn FnMut() -> ControlFlow<()>,
    pub(crate) listed: u64,
    pub(crate) skipped: Skipped,
    /// Whether the sink ended the listing.
    pub(crate) is_enough: bool,
}

impl Lister<'_> {
    /// Lists the start of a walk itself, not the entries below it.
    pub(crate) fn start(&mut self, start: &WalkStart) -> ControlFlow<()> {
        let name = start.file.as_deref().map_or(Path::new("."), Path::new);
        self.look(&start.directory, name, start.named.clone(), self.line_counts)
    }

    fn look(&mut self, directory: &Dir, name: &Path, path: String, counts: bool) -> ControlFlow<()> {
        (self.ask)()?;
        // The entry was a file or directory when its name was read, but may be of another kind by now.
        let metadata = match while_stale(|| directory.symlink_metadata(name)) {
            Ok(metadata) if metadata.is_file() || metadata.is_dir() => metadata,
            Err(error) if !is_gone(&error) => {
                self.skipped.add(Cause::Unreadable, path);
                return ControlFlow::Continue(());
            }
            _ => return ControlFlow::Continue(()),
        };
        let kind = if metadata.is_file() { EntryKind::File } else { EntryKind::Directory };
        let is_file = kind == EntryKind::File;
        let lines = if counts && is_file { self.lines(directory, name, &path)? } else { None };
        let entry = ListEntry {
            path,
            kind,
            bytes: is_file.then(|| metadata.len()),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
            lines,
        };
        self.listed += 1;
        if let Some(progress) = self.progress {
            progress.fetch_add(1, Ordering::Relaxed);
        }
        let taken = (self.sink)(entry);
        self.is_enough = taken.is_break();
        taken
    }

    /// Returns the number of lines of a file; `None`, after recording why, if the file is not text or cannot
    /// be read. Returns `Break` if the listing is to end.
    fn lines(&mut self, directory: &Dir, name: &Path, path: &str) -> ControlFlow<(), Option<u64>> {
        let counted = of_one_state(|| {
            let file = open(directory, name)?;
            let file = OpenFile::new(file, path.into()).map_err(|error| SearchFault::of_kind(&error.kind))?;
            if !file.metadata().is_file() {
                return Err(SearchFault::Skip(Cause::Unreadable));
            }
            let mut scanner = Scanner::without_digest(None);
            let mut goes_on = ControlFlow::Continue(());
            for_each_chunk(&file, 0..file.identity().size, |_, chunk| {
                scanner.feed(chunk);
                goes_on = (self.ask)();
                !scanner.is_binary() && goes_on.is_continue()
            })?;
            if goes_on.is_break() {
                return Err(SearchFault::Stop);
            }
            let scan = scanner.finish();
            let is_generated = || {
                !has_its_size(file.file(), file.identity().size, scan.size)
                    && file.is_unchanged().unwrap_or(true)
            };
            let cause = match () {
                // The read of a binary file stopped at its first NUL, so nothing else is known about the
                // file.
                () if scan.nul.is_some() => Cause::Binary,
                () if is_generated() => Cause::Special,
                () if scan.undecodable.is_some() => Cause::Undecodable,
                () => return Ok(scan.lines.count()),
            };
            Err(SearchFault::Skip(cause))
        });
        let cause = match counted {
            Ok(lines) => return ControlFlow::Continue(Some(lines)),
            Err(SearchFault::Skip(cause)) => cause,
            Err(SearchFault::Stop | SearchFault::Searcher) => {
                (self.ask)()?;
                // The file was removed after its name was read.
                Cause::Unreadable
            }
        };
        self.skipped.add(cause, path.to_owned());
        ControlFlow::Continue(None)
    }
}

impl Visitor for Lister<'_> {
    fn file(&mut self, file: DirectoryName<'_>) -> ControlFlow<()> {
        self.look(&file.directory.directory, Path::new(file.name), file.path(), self.line_counts)
    }

    fn elsewhere(&mut self, file: DirectoryName<'_>) -> ControlFlow<()> {
        if self.line_counts {
            self.skipped.add(Cause::Elsewhere, file.path());
        }
        self.look(&file.directory.directory, Path::new(file.name), file.path(), false)
    }

    fn directory(&mut self, directory: DirectoryName<'_>) -> ControlFlow<()> {
        if !self.has_directories {
            return (self.ask)();
        }
        self.look(&directory.directory.directory, Path::new(directory.name), directory.path(), false)
    }

    fn link(&mut self, link: DirectoryName<'_>) -> ControlFlow<()> {
        let path = link.path();
        match of_path(self.roots, &path) {
            Ok(target) => self.start(&target),
            Err(reasons) => {
                let is_outside = reasons.iter().any(|reason| {
                    matches!(
                        reason,
                        crate::edit::Reason::Path(PathError::Outside { .. } | PathError::Unserved(_))
                    )
                });
                let is_special = reasons.iter().any(|reason| {
                    matches!(reason, crate::edit::Reason::Store(error)
                        if matches!(error.kind, StoreErrorKind::NotARegularFile { .. }))
                });
                let cause = match () {
                    () if is_outside => Cause::Outside,
                    () if is_special => Cause::Special,
                    () => Cause::Link,
                };
                self.skipped.add(cause, path);
                ControlFlow::Continue(())
            }
        }
    }

    fn skipped(&mut self, cause: Cause, path: String) {
        self.skipped.add(cause, path);
    }

    fn unfit(&mut self) {
        self.skipped.count_one(Cause::Glob);
    }

    fn is_over(&mut self) -> bool {
        (self.ask)().is_break()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::ffi::OsStr;
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;
    use crate::search::walk::Node;
    use crate::tests::world::opened;

    /// Returns the entries that are listed, and those that are left out, of a directory with the file `file`
    /// and the directory `directory`.
    fn listed(
        ask: ControlFlow<()>,
        calls: impl FnOnce(&mut Lister<'_>, &Arc<Node>),
    ) -> (Vec<(String, Option<u64>)>, Skipped) {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("file"), "one\ntwo\n").unwrap();
        std::fs::create_dir(home.path().join("directory")).unwrap();
        let roots = Roots::open(&[home.path().to_owned()]).unwrap();
        let directory = opened(home.path());
        let node =
            Arc::new(Node { directory: Arc::new(directory), path: "@".to_owned(), real: PathBuf::new() });
        let progress = AtomicU64::new(0);
        let mut entries = Vec::new();
        let mut sink = |entry: ListEntry| {
            entries.push((entry.path, entry.lines));
            ControlFlow::Continue(())
        };
        let mut lister = Lister {
            roots: &roots,
            line_counts: true,
            has_directories: true,
            progress: Some(&progress),
            sink: &mut sink,
            ask: &mut || ask,
            listed: 0,
            skipped: Skipped::default(),
            is_enough: false,
        };
        calls(&mut lister, &node);
        let Lister { listed, skipped, .. } = lister;
        assert_eq!((listed, progress.into_inner()), (entries.len() as u64, entries.len() as u64));
        (entries, skipped)
    }

    #[test]
    fn content_that_is_elsewhere_is_not_fetched_for_a_number_of_lines() {
        let (entries, skipped) = listed(ControlFlow::Continue(()), |lister, directory| {
            let named = |name| DirectoryName { directory, name: OsStr::new(name), shown_path: None };
            assert!(lister.file(named("file")).is_continue());
            assert!(lister.elsewhere(named("file")).is_continue());
            lister.line_counts = false;
            assert!(lister.elsewhere(named("file")).is_continue());
        });
        let lines: Vec<_> = entries.iter().map(|(_, lines)| *lines).collect();
        assert_eq!((lines, skipped.count(Cause::Elsewhere)), (vec![Some(2), None, None], 1));
    }

    /// The entry was a file when it was looked up, but no longer is when its lines are counted.
    #[test]
    fn what_can_no_longer_be_read_has_no_number_of_lines() {
        let (entries, skipped) = listed(ControlFlow::Continue(()), |lister, node| {
            for name in ["gone", "directory"] {
                let lines = lister.lines(&node.directory, Path::new(name), name);
                assert_eq!(lines, ControlFlow::Continue(None), "{name}");
            }
        });
        assert!(entries.is_empty());
        listed(ControlFlow::Break(()), |lister, node| {
            for name in ["gone", "file"] {
                assert!(lister.lines(&node.directory, Path::new(name), name).is_break(), "{name}");
            }
        });
        assert_eq!(
            skipped.iter().map(|(cause, files)| (cause, files.count)).collect::<Vec<_>>(),
            [(Cause::Unreadable, 2)]
        );
    }
}
