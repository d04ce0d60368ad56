//! Limits the number of threads that search, for all calls of a process together: [`WORKERS`].

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The maximum number of threads that search files for one call. All calls together have at most this many
/// threads in addition to one thread per call.
const THREADS: usize = 8;

/// The search threads of this process.
pub(crate) static WORKERS: Workers = Workers(AtomicUsize::new(0));

/// The number of additional search threads that all calls together have taken. Each call also has one search
/// thread that is not counted here.
#[derive(Debug)]
pub(crate) struct Workers(AtomicUsize);

/// The additional threads that a call has taken. Dropping this value returns them.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    workers: &'a Workers,
    beside: usize,
}

impl Workers {
    /// Takes as many additional threads as the machine can use, but no more than are left.
    pub(crate) fn take(&self) -> Taken<'_> {
        let wanted = thread::available_parallelism().map_or(2, NonZero::get).clamp(2, THREADS) - 1;
        let all = |taken: usize| taken + wanted.min(THREADS.saturating_sub(taken));
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| Some(all(taken)));
        let before = before.unwrap_or_else(|taken| taken);
        Taken { workers: self, beside: all(before) - before }
    }
}

impl Taken<'_> {
    /// Returns the number of threads that the call can use for its search.
    pub(crate) fn count(&self) -> usize {
        1 + self.beside
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.workers.0.fetch_sub(self.beside, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_a_thread_and_all_have_a_few_more() {
        let workers = Workers(AtomicUsize::new(0));
        let all: Vec<Taken<'_>> = (0..100).map(|_| workers.take()).collect();
        assert!(all.iter().all(|taken| (1..=THREADS).contains(&taken.count())));
        assert_eq!(all.iter().map(Taken::count).sum::<usize>(), 100 + THREADS);
        drop(all);
        let processors = thread::available_parallelism().map_or(2, NonZero::get);
        assert!((2..=processors.max(2)).contains(&workers.take().count()));
    }
}
