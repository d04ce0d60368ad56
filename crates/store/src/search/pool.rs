//! Searches on several threads ([`search`]): one thread walks, some search, and the caller's thread receives
//! the matches in the order of the walk.
//!
//! Files are searched in batches. Each batch has its own channel for results, and the caller's thread gets
//! the receivers of these channels in the order of the walk. Workers take batches in the same order, so the
//! batch for which the caller's thread waits is always in progress or done. The number of batches and of
//! results in the channels is bounded, so memory grows neither with the tree nor with the matches.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::read::hash::SMALL;
use crate::search::deliver::SearchSettings;
use crate::search::file::{FileSearcher, Searched, open};
use crate::search::request::{FileMatches, Search};
use crate::search::skipped::{Cause, Skipped};
use crate::search::start::WalkStart;
use crate::search::walk::{DirectoryName, Node, Rules, Visitor, walk};
use crate::search::workers::WORKERS;

/// The maximum number of files in a batch.
const MAX_FILES: usize = 48;
/// The maximum number of different directories of the files in a batch. All of them stay open until the batch
/// is done.
const MAX_DIRECTORIES: usize = 12;
/// The maximum number of batches that wait for the caller's thread.
const MAX_BATCHES: usize = 32;
/// The maximum number of portions of matches that wait in each batch's channel.
const MAX_PORTIONS: usize = 2;
/// The interval at which the caller's thread checks whether to continue.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The counts of a search, up to the last matches that the caller received. So the counts do not depend on
/// how far the search threads are ahead of the caller's thread.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) files: u64,
    pub(crate) skipped: Skipped,
}

impl Tally {
    fn join(&mut self, other: Self) {
        self.files += other.files;
        self.skipped.join(other.skipped);
    }
}

/// Searches the files below the starts. Calls `sink` with the matches, and often calls `check`, which tells
/// whether to continue; both on the caller's thread. Fails only if the system cannot start threads.
pub(crate) fn search(
    starts: &[WalkStart],
    rules: &Rules<'_>,
    settings: SearchSettings<'_>,
    request: &Search<'_>,
    sink: &mut dyn FnMut(FileMatches) -> ControlFlow<()>,
    check: &mut dyn FnMut() -> ControlFlow<()>,
) -> io::Result<Tally> {
    // Without this check, a small tree would be searched before the first check.
    if check().is_break() {
        return Ok(Tally::default());
    }
    let workers = WORKERS.take();
    let (mut batches, order, queue) = Batches::new(settings.stop);
    // Only the workers own the queue, so the last worker drops it. Otherwise the caller's thread could wait
    // for batches that nobody takes.
    let queue = Arc::new(Mutex::new(queue));
    thread::scope(|scope| {
        let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
        let walk_all = move || {
            let _ = starts.iter().try_for_each(|start| walk(start, rules, &mut batches));
            batches.finish();
        };
        let mut spawned = spawn("walk").spawn_scoped(scope, walk_all).map(|_| 0);
        for _ in 0..workers.count() {
            let queue = queue.clone();
            let work = move || work(&queue, settings, request);
            match (spawn("search").spawn_scoped(scope, work), &mut spawned) {
                (Ok(_), Ok(count)) => *count += 1,
                // If at least one search thread was started, the search continues without more threads.
                (Err(_), Ok(1..)) => break,
                (Err(error), _) => spawned = Err(error),
                (Ok(_), Err(_)) => {}
            }
        }
        drop(queue);
        let done = spawned.map(|_| take(&order, sink, check));
        settings.stop.store(true, Ordering::Relaxed);
        // Dropping the receiver ends threads that wait because a channel is full.
        drop(order);
        done
    })
}

/// A file to search.
#[derive(Debug)]
struct Task {
    directory: Arc<Node>,
    name: OsString,
    shown_path: Option<String>,
}

/// Files to search, and the channel for their results.
struct Batch {
    tasks: Vec<Task>,
    results: SyncSender<BatchResult>,
}

/// The counts of files that were searched or skipped, and after these files the matches of another file;
/// `None` if no matches follow.
struct BatchResult {
    before: Tally,
    matches: Option<FileMatches>,
}

/// Searches batches until there are no more, or the search is stopped.
fn work(queue: &Mutex<Receiver<Batch>>, settings: SearchSettings<'_>, request: &Search<'_>) {
    let mut searcher = FileSearcher::new(settings, [request.before, request.after], SMALL);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(Batch { tasks, results }) = next() {
        let mut done = Tally::default();
        for task in tasks {
            if settings.stop.load(Ordering::Relaxed) {
                return;
            }
            let file = DirectoryName {
                directory: &task.directory,
                name: &task.name,
                shown_path: task.shown_path.as_deref(),
            };
            let open_file = || open(&task.directory.directory, Path::new(&task.name));
            let mut outcome = searcher.search(open_file, &mut |matches| {
                let matches =
                    Some(FileMatches { file_path: file.path(), real_path: file.real_path(), matches });
                match results.send(BatchResult { before: std::mem::take(&mut done), matches }) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            if outcome == Searched::Skipped(Cause::Binary) && task.shown_path.is_some() {
                // The call named this file, so the reply says whether its bytes have a match.
                outcome = searcher.look(open_file);
            }
            match outcome {
                Searched::Whole => done.files += 1,
                Searched::Otherwise(cause) => {
                    done.files += 1;
                    done.skipped.add(cause, file.path());
                }
                Searched::Skipped(cause) => done.skipped.add(cause, file.path()),
                Searched::Not => {}
            }
            if let Some(progress) = request.progress {
                progress.fetch_add(1, Ordering::Relaxed);
            }
        }
        if results.send(BatchResult { before: done, matches: None }).is_err() {
            return;
        }
    }
}

/// Passes the matches to `sink`, in the order of the walk, until there are no more or the search is stopped.
/// Returns the counts.
fn take(
    order: &Receiver<Receiver<BatchResult>>,
    sink: &mut dyn FnMut(FileMatches) -> ControlFlow<()>,
    check: &mut dyn FnMut() -> ControlFlow<()>,
) -> Tally {
    let mut done = Tally::default();
    while let ControlFlow::Continue(Some(results)) = receive(order, check) {
        loop {
            match receive(&results, check) {
                ControlFlow::Continue(Some(BatchResult { before, matches })) => {
                    done.join(before);
                    if matches.is_some_and(|matches| sink(matches).is_break()) {
                        // The file in which the sink ended the search counts, too.
                        done.files += 1;
                        return done;
                    }
                }
                ControlFlow::Continue(None) => break,
                ControlFlow::Break(()) => return done,
            }
        }
    }
    done
}

/// Waits for the next message of a channel, and checks meanwhile whether to continue. Returns `None` if the
/// channel is closed, and `Break` if `check` returns `Break`.
fn receive<T>(
    channel: &Receiver<T>,
    check: &mut dyn FnMut() -> ControlFlow<()>,
) -> ControlFlow<(), Option<T>> {
    loop {
        check()?;
        match channel.recv_timeout(POLL_INTERVAL) {
            Ok(message) => return ControlFlow::Continue(Some(message)),
            Err(RecvTimeoutError::Disconnected) => return ControlFlow::Continue(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Collects the files of the walk into batches.
struct Batches<'a> {
    order: SyncSender<Receiver<BatchResult>>,
    queue: Sender<Batch>,
    stop: &'a AtomicBool,
    tasks: Vec<Task>,
    directories: usize,
    skipped: Skipped,
}

impl<'a> Batches<'a> {
    /// Returns the collector; the receiver of the batches' result channels, in the order of the walk; and the
    /// receiver of the batches for the workers.
    fn new(stop: &'a AtomicBool) -> (Self, Receiver<Receiver<BatchResult>>, Receiver<Batch>) {
        let (order, results) = mpsc::sync_channel(MAX_BATCHES);
        let (queue, batches) = mpsc::channel();
        let batches_of_walk =
            Self { order, queue, stop, tasks: Vec::new(), directories: 0, skipped: Skipped::default() };
        (batches_of_walk, results, batches)
    }

    /// Passes the collected files to the workers, as one batch. Waits while too many batches wait for the
    /// caller's thread.
    fn send(&mut self) -> ControlFlow<()> {
        self.directories = 0;
        let (results, received) = mpsc::sync_channel(MAX_PORTIONS);
        let before = Tally { files: 0, skipped: std::mem::take(&mut self.skipped) };
        let batch = Batch { tasks: std::mem::take(&mut self.tasks), results };
        // The channel of a new batch is empty, so the first `send` does not wait.
        let is_sent = batch.results.send(BatchResult { before, matches: None }).is_ok()
            && self.order.send(received).is_ok()
            && (batch.tasks.is_empty() || self.queue.send(batch).is_ok());
        if is_sent { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Sends the last files and skipped entries once the walk has ended.
    fn finish(mut self) {
        let _ = self.send();
    }
}

impl Visitor for Batches<'_> {
    fn file(&mut self, file: DirectoryName<'_>) -> ControlFlow<()> {
        let is_new = self.tasks.last().is_none_or(|last| !Arc::ptr_eq(&last.directory, file.directory));
        self.directories += usize::from(is_new);
        self.tasks.push(Task {
            directory: file.directory.clone(),
            name: file.name.to_owned(),
            shown_path: file.shown_path.map(str::to_owned),
        });
        if self.tasks.len() >= MAX_FILES || self.directories >= MAX_DIRECTORIES {
            self.send()
        } else {
            ControlFlow::Continue(())
        }
    }

    fn elsewhere(&mut self, file: DirectoryName<'_>) -> ControlFlow<()> {
        self.skipped(Cause::Elsewhere, file.path());
        ControlFlow::Continue(())
    }

    fn directory(&mut self, _: DirectoryName<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn link(&mut self, link: DirectoryName<'_>) -> ControlFlow<()> {
        self.skipped(Cause::Link, link.path());
        ControlFlow::Continue(())
    }

    fn skipped(&mut self, cause: Cause, path: String) {
        self.skipped.add(cause, path);
    }

    fn unfit(&mut self) {
        self.skipped.count_one(Cause::Glob);
    }

    fn is_over(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicU64;

    use mcp_text_editor_core::line::LineNumber;

    use super::*;
    use crate::search::matcher::Pattern;
    use crate::search::request::{Match, TextLine};
    use crate::search::tests::settings_of;
    use crate::tests::world::opened;

    /// Sends batches of files, with the same number of files in each directory.
    fn send(mut batches: Batches<'_>, directories: usize, files: usize) {
        let directory = Arc::new(opened(Path::new(".")));
        for _ in 0..directories {
            let node =
                Arc::new(Node { directory: directory.clone(), path: String::new(), real: PathBuf::new() });
            for _ in 0..files {
                let file = DirectoryName { directory: &node, name: OsStr::new("file"), shown_path: None };
                if batches.file(file).is_break() {
                    return;
                }
            }
        }
        batches.finish();
    }

    #[test]
    fn a_batch_has_few_files_of_few_directories() {
        let sizes = |directories, files| {
            let stop = AtomicBool::new(false);
            let (batches, order, queue) = Batches::new(&stop);
            send(batches, directories, files);
            // The last batch may have no files, only the entries that the walk left out after the previous
            // batch.
            let sizes: Vec<_> = queue.iter().map(|batch| batch.tasks.len()).collect();
            assert!((sizes.len()..=sizes.len() + 1).contains(&order.iter().count()));
            sizes
        };
        assert_eq!(sizes(1, 2 * MAX_FILES + 4), [MAX_FILES, MAX_FILES, 4]);
        assert_eq!(sizes(4, MAX_FILES / 2), [MAX_FILES, MAX_FILES]);
        assert_eq!(sizes(2 * MAX_DIRECTORIES + 1, 1), [MAX_DIRECTORIES, MAX_DIRECTORIES, 1]);
        assert_eq!(sizes(MAX_DIRECTORIES - 1, 1), [MAX_DIRECTORIES - 1]);
        assert!(sizes(0, 0).is_empty());
    }

    #[test]
    fn content_that_is_elsewhere_is_not_fetched_to_be_searched() {
        let stop = AtomicBool::new(false);
        let (mut batches, ..) = Batches::new(&stop);
        let directory = Arc::new(opened(Path::new(".")));
        let node = Arc::new(Node { directory, path: "here".to_owned(), real: PathBuf::new() });
        let file = DirectoryName { directory: &node, name: OsStr::new("file"), shown_path: None };
        assert!(batches.elsewhere(file).is_continue());
        let skipped: Vec<_> = batches.skipped.iter().map(|(cause, files)| (cause, files.count)).collect();
        assert_eq!((batches.tasks.len(), skipped), (0, vec![(Cause::Elsewhere, 1)]));
    }

    /// The walk waits for the caller's thread, which receives batch after batch.
    #[test]
    fn results_come_in_the_order_of_the_walk() {
        let stop = AtomicBool::new(false);
        let (batches, order, queue) = Batches::new(&stop);
        let one_match = |number: usize| {
            let line = TextLine { number: LineNumber::from_index(0), text: String::new(), cut: None };
            let matches = vec![Match {
                end: line.number,
                line,
                rest: Vec::new(),
                range_hash: None,
                before: Vec::new(),
                after: Vec::new(),
            }];
            Some(FileMatches { file_path: number.to_string(), real_path: PathBuf::new(), matches })
        };
        let mut delivered = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| send(batches, 1, 3 * MAX_BATCHES * MAX_FILES));
            scope.spawn(move || {
                let mut first = None;
                for (number, batch) in queue.iter().enumerate() {
                    batch
                        .results
                        .send(BatchResult { before: Tally::default(), matches: one_match(number) })
                        .unwrap();
                    // The second batch ends, because it is dropped, before the first one.
                    first = (number == 0).then_some(batch);
                }
                drop(first);
            });
            let mut sink = |file: FileMatches| {
                delivered.push(file.file_path.parse::<usize>().unwrap());
                ControlFlow::Continue(())
            };
            take(&order, &mut sink, &mut || ControlFlow::Continue(()));
        });
        assert!(delivered.iter().copied().eq(0..3 * MAX_BATCHES), "{delivered:?}");
    }

    /// A batch can have many files that take long to open.
    #[test]
    fn a_worker_opens_no_file_once_the_search_is_stopped() {
        let pattern = Pattern::of(&Search::new("a")).unwrap();
        let searched = |is_stopped| {
            let (stop, progress) = (AtomicBool::new(is_stopped), AtomicU64::new(0));
            let settings = settings_of(&pattern, &stop);
            let (batches, _order, queue) = Batches::new(&stop);
            send(batches, 1, 3);
            work(&Mutex::new(queue), settings, &Search { progress: Some(&progress), ..Search::new("a") });
            progress.into_inner()
        };
        assert_eq!((searched(false), searched(true)), (3, 0));
    }

    /// The caller's thread checks whether to continue even while nothing is found. If it stops, all threads
    /// end.
    #[test]
    fn a_search_that_finds_nothing_can_be_stopped() {
        let stop = AtomicBool::new(false);
        let (batches, order, queue) = Batches::new(&stop);
        let walk = thread::scope(|scope| {
            let walk = scope.spawn(|| send(batches, 1, 3 * MAX_BATCHES * MAX_FILES));
            let mut calls = 0;
            let mut check = || {
                calls += 1;
                if calls == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let done = take(&order, &mut |_| panic!("nothing is found"), &mut check);
            assert_eq!((done.files, calls), (0, 4));
            drop(order);
            walk.join()
        });
        assert!(walk.is_ok());
        let batch = queue.iter().next().unwrap();
        assert!(batch.results.send(BatchResult { before: Tally::default(), matches: None }).is_err());
    }
}
