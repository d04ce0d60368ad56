//! Searches on several threads ([`search`]): one walks, some search, and the caller's thread takes the
//! matches in the order of the walk.
//!
//! Files are searched in batches. At most [`WINDOW`] batches are under way, and the matches that wait for
//! their turn take about [`WAITING`] bytes at most. A worker that has more waits, except the one whose batch
//! is next. So memory grows neither with the tree nor with the matches.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::read::hash::SMALL;
use crate::search::deliver::Asked;
use crate::search::file::{FileSearcher, Searched, open};
use crate::search::request::{FileMatches, Match, Search};
use crate::search::skipped::{Cause, Skipped};
use crate::search::start::WalkStart;
use crate::search::walk::{DirectoryName, Node, Rules, Visitor, walk};
use crate::search::workers::WORKERS;

/// The most files of a batch.
const FILES: usize = 48;
/// The most directories from which the files of a batch come. All stay open until the batch is done.
const DIRECTORIES: usize = 12;
/// The most batches that are under way.
const WINDOW: usize = 32;
/// The bytes of waiting matches from which on a worker waits.
const WAITING: usize = 4 << 20;
/// The time after which the caller's thread asks again whether to go on.
const PAUSE: Duration = Duration::from_millis(20);

/// The counts of a search, up to the matches that were taken last. So they do not depend on how far the
/// threads are ahead.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) files: u64,
    pub(crate) skipped: Skipped,
}

/// Searches the files below the starts. Both functions are called on the caller's thread: `ask` often, to
/// learn whether to go on, and `sink` with the matches.
pub(crate) fn search(
    starts: &[WalkStart],
    rules: &Rules<'_>,
    asked: Asked<'_>,
    request: &Search<'_>,
    sink: &mut dyn FnMut(FileMatches) -> ControlFlow<()>,
    ask: &mut dyn FnMut() -> ControlFlow<()>,
) -> io::Result<Tally> {
    // Otherwise a small tree would be searched before the first question.
    if ask().is_break() {
        return Ok(Tally::default());
    }
    let taken = WORKERS.take();
    let shared = Shared::new(asked.stop, request.progress);
    thread::scope(|scope| {
        let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
        let mut spawned = spawn("walk").spawn_scoped(scope, || shared.walk(starts, rules)).map(|_| 0);
        for _ in 0..taken.count() {
            let work = || shared.work(FileSearcher::new(asked, request.context, SMALL));
            match (spawn("search").spawn_scoped(scope, work), &mut spawned) {
                (Ok(_), Ok(count)) => *count += 1,
                // The search goes on with the threads that there are.
                (Err(_), Ok(1..)) => break,
                (Err(error), _) => spawned = Err(error),
                (Ok(_), Err(_)) => {}
            }
        }
        let done = spawned.map(|_| shared.take(sink, ask));
        shared.end();
        done
    })
}

/// A file to search.
#[derive(Debug)]
struct Task {
    directory: Arc<Node>,
    name: OsString,
    told: Option<String>,
}

/// The data that the threads share.
struct Shared<'a> {
    state: Mutex<State>,
    /// Wakes the taker: something was found, or a batch is done.
    found: Condvar,
    /// Wakes all others: there is something to do, or room.
    room: Condvar,
    stop: &'a AtomicBool,
    progress: Option<&'a AtomicU64>,
}

#[derive(Default)]
struct State {
    /// The batches that no worker has begun, with their numbers.
    queue: VecDeque<(u64, Vec<Task>)>,
    /// True if the walk is over, so that no more batches come.
    is_walked: bool,
    /// The number of the first batch in `slots`.
    head: u64,
    /// The findings of the batches under way, in order.
    slots: VecDeque<Slot>,
    /// The bytes of the matches that wait in all slots.
    waiting: usize,
    /// The files that the walk left out after its last batch.
    rest: Skipped,
}

#[derive(Default)]
struct Slot {
    steps: VecDeque<Step>,
    is_done: bool,
}

/// An event of a batch. A batch keeps its events in order.
enum Step {
    /// Files were searched, and others left out.
    Counted(Tally),
    /// Something was found, with its weight in bytes.
    Found(FileMatches, usize),
}

impl<'a> Shared<'a> {
    fn new(stop: &'a AtomicBool, progress: Option<&'a AtomicU64>) -> Self {
        let (found, room) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::default(), found, room, stop, progress }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Makes all threads end.
    fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // While the lock is held, no thread is between asking and sleeping.
        let _state = self.lock();
        self.found.notify_all();
        self.room.notify_all();
    }

    fn walk(&self, starts: &[WalkStart], rules: &Rules<'_>) {
        let _guard = EndIfPanicking(self);
        let mut batches =
            Batches { shared: self, batch: Vec::new(), directories: 0, skipped: Skipped::default() };
        let _ = starts.iter().try_for_each(|start| walk(start, rules, &mut batches));
        let _ = batches.send();
        let skipped = std::mem::take(&mut batches.skipped);
        let mut state = self.lock();
        state.rest = skipped;
        state.is_walked = true;
        drop(state);
        self.found.notify_all();
        self.room.notify_all();
    }

    fn work(&self, mut searcher: FileSearcher<'_>) {
        let _guard = EndIfPanicking(self);
        while let Some((number, batch)) = self.next() {
            let mut done = Tally::default();
            for task in batch {
                if self.is_over() {
                    return;
                }
                let named = || {
                    DirectoryName { directory: &task.directory, name: &task.name, told: task.told.as_deref() }
                        .path()
                };
                let opened_anew = || open(&task.directory.directory, Path::new(&task.name));
                let mut outcome = searcher.search(opened_anew, &mut |matches| {
                    self.hand_in(number, std::mem::take(&mut done), named(), matches)
                });
                if outcome == Searched::Skipped(Cause::Binary) && task.told.is_some() {
                    // The call named this file, so the reply tells more about it.
                    outcome = searcher.look(opened_anew);
                }
                match outcome {
                    Searched::Whole => done.files += 1,
                    Searched::Otherwise(cause) => {
                        done.files += 1;
                        done.skipped.add(cause, named());
                    }
                    Searched::Skipped(cause) => done.skipped.add(cause, named()),
                    Searched::Not => {}
                }
                if let Some(progress) = self.progress {
                    progress.fetch_add(1, Ordering::Relaxed);
                }
            }
            self.finish(number, done);
        }
    }

    /// Returns the next batch; `None` if there will be none.
    fn next(&self) -> Option<(u64, Vec<Task>)> {
        let mut state = self.lock();
        loop {
            if self.is_over() {
                return None;
            }
            if let Some(next) = state.queue.pop_front() {
                return Some(next);
            }
            if state.is_walked {
                return None;
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Adds matches to their batch, where they wait for their turn, with the counts of the files before.
    fn hand_in(&self, number: u64, before: Tally, file_path: String, matches: Vec<Match>) -> ControlFlow<()> {
        let weight = weight(&matches);
        let mut state = self.lock();
        loop {
            if self.is_over() {
                return ControlFlow::Break(());
            }
            let has_own = state.slot(number).is_some_and(Slot::has_found);
            let is_next = number == state.head;
            if state.waiting < WAITING || (is_next && !has_own) {
                break;
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting += weight;
        let is_next = number == state.head;
        if let Some(slot) = state.slot(number) {
            slot.steps.push_back(Step::Counted(before));
            slot.steps.push_back(Step::Found(FileMatches { file_path, matches }, weight));
        }
        drop(state);
        if is_next {
            self.found.notify_one();
        }
        ControlFlow::Continue(())
    }

    fn finish(&self, number: u64, done: Tally) {
        let mut state = self.lock();
        let is_next = number == state.head;
        if let Some(slot) = state.slot(number) {
            slot.steps.push_back(Step::Counted(done));
            slot.is_done = true;
        }
        drop(state);
        if is_next {
            self.found.notify_one();
        }
    }

    /// Takes the matches in order, until all is done or nothing more is wanted.
    fn take(
        &self,
        sink: &mut dyn FnMut(FileMatches) -> ControlFlow<()>,
        ask: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Tally {
        let mut done = Tally::default();
        let mut state = self.lock();
        while !self.is_over() {
            let had_no_room = state.waiting >= WAITING || state.slots.len() >= WINDOW;
            let steps = state.next_steps();
            if steps.is_empty() {
                if state.is_walked && state.slots.is_empty() {
                    done.skipped.join(std::mem::take(&mut state.rest));
                    break;
                }
                let woken = self.found.wait_timeout(state, PAUSE).unwrap_or_else(PoisonError::into_inner);
                state = woken.0;
                if !woken.1.timed_out() {
                    continue;
                }
            }
            drop(state);
            if had_no_room {
                self.room.notify_all();
            }
            for step in steps {
                match step {
                    Step::Counted(more) => done.join(more),
                    Step::Found(matches, _) => {
                        if sink(matches).is_break() {
                            // This counts the file in which the sink ended the search.
                            done.files += 1;
                            return done;
                        }
                    }
                }
            }
            if ask().is_break() {
                break;
            }
            state = self.lock();
        }
        done
    }
}

impl Slot {
    /// Tells whether matches of this batch wait.
    fn has_found(&mut self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Found(..)))
    }
}

impl Tally {
    fn join(&mut self, other: Self) {
        self.files += other.files;
        self.skipped.join(other.skipped);
    }
}

impl State {
    /// Takes the steps of all batches whose turn has come.
    fn next_steps(&mut self) -> VecDeque<Step> {
        let mut steps = VecDeque::new();
        while let Some(slot) = self.slots.front_mut() {
            steps.append(&mut slot.steps);
            if !slot.is_done {
                break;
            }
            self.slots.pop_front();
            self.head += 1;
        }
        let weights = steps.iter().map(|step| match step {
            Step::Found(_, weight) => *weight,
            Step::Counted(_) => 0,
        });
        self.waiting -= weights.sum::<usize>();
        steps
    }

    fn slot(&mut self, number: u64) -> Option<&mut Slot> {
        usize::try_from(number - self.head).ok().and_then(|at| self.slots.get_mut(at))
    }
}

/// Returns about how many bytes some matches take.
fn weight(matches: &[Match]) -> usize {
    let lines =
        |one: &Match| one.before.iter().chain(&one.after).map(|line| line.text.len() + 64).sum::<usize>();
    matches.iter().map(|one| one.line.text.len() + 128 + lines(one)).sum()
}

/// Ends the search if its thread panics. Otherwise, the other threads would wait for it.
struct EndIfPanicking<'a>(&'a Shared<'a>);

impl Drop for EndIfPanicking<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
    }
}

/// Makes batches of the files that the walk meets.
struct Batches<'a> {
    shared: &'a Shared<'a>,
    batch: Vec<Task>,
    directories: usize,
    skipped: Skipped,
}

impl Batches<'_> {
    /// Hands the batch to the workers, when there is room.
    fn send(&mut self) -> ControlFlow<()> {
        let batch = std::mem::take(&mut self.batch);
        self.directories = 0;
        if batch.is_empty() {
            return ControlFlow::Continue(());
        }
        let mut state = self.shared.lock();
        while state.slots.len() >= WINDOW && !self.shared.is_over() {
            state = self.shared.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if self.shared.is_over() {
            return ControlFlow::Break(());
        }
        let number = state.head + state.slots.len() as u64;
        let left_out = Tally { files: 0, skipped: std::mem::take(&mut self.skipped) };
        state.slots.push_back(Slot { steps: [Step::Counted(left_out)].into(), is_done: false });
        state.queue.push_back((number, batch));
        drop(state);
        // This also wakes threads that wait for room in vain, but too seldom to matter.
        self.shared.room.notify_all();
        ControlFlow::Continue(())
    }
}

impl Visitor for Batches<'_> {
    fn file(&mut self, file: DirectoryName<'_>) -> ControlFlow<()> {
        let is_new = self.batch.last().is_none_or(|last| !Arc::ptr_eq(&last.directory, file.directory));
        self.directories += usize::from(is_new);
        self.batch.push(Task {
            directory: file.directory.clone(),
            name: file.name.to_owned(),
            told: file.told.map(str::to_owned),
        });
        if self.batch.len() >= FILES || self.directories >= DIRECTORIES {
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
        self.shared.is_over()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use mcp_text_editor_core::line::LineNumber;

    use super::*;
    use crate::search::request::TextLine;
    use crate::tests::world::opened;

    fn matches(before: &[usize], bytes: usize, after: &[usize]) -> Vec<Match> {
        let line = |bytes: &usize| TextLine {
            number: LineNumber::from_index(0),
            text: "x".repeat(*bytes),
            cut: None,
        };
        let lines = |all: &[usize]| all.iter().map(line).collect();
        vec![Match { line: line(&bytes), range_hash: None, before: lines(before), after: lines(after) }]
    }

    #[test]
    fn matches_weigh_a_little_more_than_their_texts() {
        let two = [matches(&[1000, 2000], 3000, &[4000, 0]), matches(&[], 0, &[0])].concat();
        for (matches, bytes) in [(&two[..], 10_000), (&two[1..], 0), (&[], 0)] {
            let more = weight(matches) - bytes;
            assert!((64 * matches.len()..=512 * matches.len()).contains(&more), "{bytes} and {more}");
        }
    }

    /// Makes batches of files in some directories, as many in each.
    fn send(shared: &Shared<'_>, directories: usize, files: usize) {
        let mut batches = Batches { shared, batch: Vec::new(), directories: 0, skipped: Skipped::default() };
        let directory = Arc::new(opened(Path::new(".")));
        for _ in 0..directories {
            let node = Arc::new(Node { directory: directory.clone(), path: String::new() });
            for _ in 0..files {
                let file = DirectoryName { directory: &node, name: OsStr::new("file"), told: None };
                if batches.file(file).is_break() {
                    return;
                }
            }
        }
        assert!(batches.send().is_continue());
    }

    #[test]
    fn a_batch_has_few_files_of_few_directories() {
        let batches = |directories, files| {
            let stop = AtomicBool::new(false);
            let shared = Shared::new(&stop, None);
            send(&shared, directories, files);
            let queue = std::mem::take(&mut shared.lock().queue);
            assert!(queue.iter().map(|(number, _)| *number).eq(0..queue.len() as u64));
            queue.into_iter().map(|(_, batch)| batch.len()).collect::<Vec<_>>()
        };
        assert_eq!(batches(1, 2 * FILES + 4), [FILES, FILES, 4]);
        assert_eq!(batches(4, FILES / 2), [FILES, FILES]);
        assert_eq!(batches(2 * DIRECTORIES + 1, 1), [DIRECTORIES, DIRECTORIES, 1]);
        assert_eq!(batches(DIRECTORIES - 1, 1), [DIRECTORIES - 1]);
        assert!(batches(0, 0).is_empty());
    }

    #[test]
    fn content_that_is_elsewhere_is_not_fetched_to_be_searched() {
        let stop = AtomicBool::new(false);
        let shared = Shared::new(&stop, None);
        let mut batches =
            Batches { shared: &shared, batch: Vec::new(), directories: 0, skipped: Skipped::default() };
        let directory = Arc::new(opened(Path::new(".")));
        let node = Arc::new(Node { directory, path: "here".to_owned() });
        let file = DirectoryName { directory: &node, name: OsStr::new("file"), told: None };
        assert!(batches.elsewhere(file).is_continue());
        let skipped: Vec<_> = batches.skipped.iter().map(|(cause, files)| (cause, files.count)).collect();
        assert_eq!((batches.batch.len(), skipped), (0, vec![(Cause::Elsewhere, 1)]));
    }

    /// The walk waits until the taker has taken what was found in the first batch, and does so until the end.
    #[test]
    fn few_batches_are_under_way() {
        let stop = AtomicBool::new(false);
        let shared = Shared::new(&stop, None);
        thread::scope(|scope| {
            let _guard = EndIfPanicking(&shared);
            let walk = scope.spawn(|| send(&shared, 1, 3 * WINDOW * FILES));
            for number in 0..2 * WINDOW as u64 {
                while shared.lock().slots.len() < WINDOW {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(1));
                assert_eq!(shared.lock().slots.len(), WINDOW);
                assert_eq!(shared.next().map(|(number, _)| number), Some(number));
                shared.finish(number, Tally::default());
                assert!(!shared.lock().next_steps().is_empty());
                shared.room.notify_all();
            }
            // The walk ends though it has got no room.
            while shared.lock().slots.len() < WINDOW {
                thread::yield_now();
            }
            shared.end();
            walk.join().unwrap();
            assert_eq!(shared.lock().slots.len(), WINDOW);
        });
        assert!(shared.next().is_none());
    }

    /// While too much waits, only the first batch may hand matches in, and only once.
    #[test]
    fn matches_wait_for_their_turn_in_little_memory() {
        let stop = AtomicBool::new(false);
        let shared = Shared::new(&stop, None);
        send(&shared, 1, 3 * FILES);
        let hand_in = |number| {
            let matches = matches(&[], WAITING, &[]);
            shared.hand_in(number, Tally::default(), String::new(), matches).is_continue()
        };
        assert!(hand_in(1), "nothing waits");
        let waiting = || shared.lock().waiting / WAITING;
        assert_eq!(waiting(), 1);
        thread::scope(|scope| {
            let _guard = EndIfPanicking(&shared);
            let second = scope.spawn(|| hand_in(1));
            let third = scope.spawn(|| hand_in(2));
            assert!(hand_in(0), "this batch is the first");
            let again = scope.spawn(|| hand_in(0));
            thread::sleep(Duration::from_millis(20));
            assert_eq!(waiting(), 2);
            let taken = shared.lock().next_steps();
            assert_eq!((taken.len(), waiting()), (3, 1));
            shared.room.notify_all();
            assert!(again.join().unwrap(), "nothing of it waits any more");
            thread::sleep(Duration::from_millis(20));
            assert_eq!(waiting(), 2);
            shared.end();
            assert!(!second.join().unwrap() && !third.join().unwrap(), "nothing more is wanted");
        });
    }

    /// The walk and the workers go on whenever the taker has made room, until all is done.
    #[test]
    fn the_taker_makes_room() {
        let stop = AtomicBool::new(false);
        let shared = Shared::new(&stop, None);
        thread::scope(|scope| {
            let _guard = EndIfPanicking(&shared);
            scope.spawn(|| {
                send(&shared, 1, 3 * WINDOW * FILES);
                shared.lock().is_walked = true;
                shared.room.notify_all();
            });
            scope.spawn(|| {
                while shared.lock().slots.len() < WINDOW {
                    thread::yield_now();
                }
                while let Some((number, batch)) = shared.next() {
                    shared.finish(number, Tally { files: batch.len() as u64, skipped: Skipped::default() });
                }
            });
            let done = shared.take(&mut |_| ControlFlow::Continue(()), &mut || ControlFlow::Continue(()));
            assert_eq!(done.files, (3 * WINDOW * FILES) as u64);
        });
    }

    /// The first batch goes on, match after match, however much of another one waits.
    #[test]
    fn the_first_batch_does_not_wait_for_the_others() {
        let stop = AtomicBool::new(false);
        let shared = Shared::new(&stop, None);
        send(&shared, 1, 2 * FILES);
        shared.lock().is_walked = true;
        let hand_in = |number, bytes| {
            let matches = matches(&[], bytes, &[]);
            assert!(shared.hand_in(number, Tally::default(), number.to_string(), matches).is_continue());
        };
        hand_in(1, WAITING);
        shared.finish(1, Tally::default());
        let mut order = String::new();
        let mut sink = |found: FileMatches| {
            order.push_str(&found.file_path);
            ControlFlow::Continue(())
        };
        thread::scope(|scope| {
            let _guard = EndIfPanicking(&shared);
            scope.spawn(|| {
                (0..3).for_each(|_| hand_in(0, 1));
                shared.finish(0, Tally::default());
            });
            shared.take(&mut sink, &mut || ControlFlow::Continue(()));
        });
        assert_eq!(order, "0001");
    }

    /// The caller's thread asks whether to go on even while nothing is found. All threads end then.
    #[test]
    fn a_search_that_finds_nothing_can_be_stopped() {
        let stop = AtomicBool::new(false);
        let shared = Shared::new(&stop, None);
        send(&shared, 1, FILES);
        let mut asked = 0;
        let mut ask = || {
            asked += 1;
            if asked == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let done = shared.take(&mut |_| ControlFlow::Continue(()), &mut ask);
        assert_eq!((done.files, asked), (0, 3));
        let mut batches =
            Batches { shared: &shared, batch: Vec::new(), directories: 0, skipped: Skipped::default() };
        assert!(!batches.is_over());
        let panicking = || {
            let _guard = EndIfPanicking(&shared);
            panic!("the others must not wait for this thread");
        };
        assert!(thread::scope(|scope| scope.spawn(panicking).join()).is_err());
        assert!(batches.is_over() && shared.next().is_none());
        let done = shared.take(&mut |_| panic!("nothing is found"), &mut || panic!("nothing goes on"));
        assert_eq!(done.files, 0);
    }
}
