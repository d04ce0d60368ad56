//! Finds matches that may go over several lines, in a text in memory, and the lines that the matches touch:
//! [`search`].

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::search::deliver::{Collector, SearchFault, SearchedFile};
use crate::search::matcher::Finder;
use crate::search::skipped::Cause;
use crate::search::stop::Halted;

/// Passes the lines of each match, and the context lines around them, to the collector. Matches that share a
/// line become one hit.
pub(crate) fn search<F: SearchedFile>(
    finder: &Finder,
    text: &[u8],
    around: [usize; 2],
    stop: &AtomicBool,
    collector: &mut Collector<'_, '_, F>,
) -> Result<(), SearchFault> {
    let mut lines = Lines { text, at: 0, number: 1, around };
    let (mut waiting, mut is_first) = (None::<Range<usize>>, true);
    let mut outcome = Ok(());
    let searched = finder.for_each(text, &|| stop.load(Ordering::Relaxed), |at, _| {
        let touched = lines_of(text, &at);
        if touched.is_empty() {
            // An empty match after the last line end is ignored, since no line contains it.
            return ControlFlow::Continue(());
        }
        match &mut waiting {
            Some(hit) if touched.start < hit.end => hit.end = hit.end.max(touched.end),
            _ => {
                if let Some(hit) = waiting.replace(touched) {
                    outcome = lines.hit(&hit, std::mem::take(&mut is_first), collector);
                }
            }
        }
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    outcome?;
    searched.map_err(|halted| match halted {
        Halted::Stopped => SearchFault::Stop,
        Halted::Undecided => SearchFault::Skip(Cause::TooLarge),
    })?;
    if let Some(hit) = waiting {
        lines.hit(&hit, is_first, collector)?;
        lines.after(text.len(), collector)?;
    }
    Ok(())
}

/// Returns the byte range of the lines that a match touches, including the last line's end.
fn lines_of(text: &[u8], at: &Range<usize>) -> Range<usize> {
    let before = text.get(..at.start).unwrap_or_default();
    let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    // A line end belongs to the line that it ends.
    let last = at.end.saturating_sub(1).max(at.start);
    let rest = text.get(last..).unwrap_or_default();
    start..memchr::memchr(b'\n', rest).map_or(text.len(), |end| last + end + 1)
}

/// The lines of a text. The lines before the offset `at` were already passed to the collector, or were
/// skipped.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    /// The number of the line that begins at `at`.
    number: u64,
    /// The numbers of context lines before and after each hit.
    around: [usize; 2],
}

impl Lines<'_> {
    /// Passes on the context lines after the previous hit, the context lines before this hit, and the lines
    /// of this hit.
    fn hit<F: SearchedFile>(
        &mut self,
        hit: &Range<usize>,
        is_first: bool,
        collector: &mut Collector<'_, '_, F>,
    ) -> Result<(), SearchFault> {
        if !is_first {
            self.after(hit.start, collector)?;
        }
        let mut begin = hit.start;
        for _ in 0..self.around[0] {
            if begin <= self.at {
                break;
            }
            begin = lines_of(self.text, &(begin - 1..begin)).start;
        }
        self.pass(begin);
        while self.at < hit.start {
            self.hand_on(false, collector)?;
        }
        collector.hit(self.number, self.text.get(hit.clone()).unwrap_or_default())?;
        self.pass(hit.end);
        Ok(())
    }

    /// Passes on the context lines after a hit, up to the next hit.
    fn after<F: SearchedFile>(
        &mut self,
        end: usize,
        collector: &mut Collector<'_, '_, F>,
    ) -> Result<(), SearchFault> {
        for _ in 0..self.around[1] {
            if self.at >= end {
                break;
            }
            self.hand_on(true, collector)?;
        }
        Ok(())
    }

    fn hand_on<F: SearchedFile>(
        &mut self,
        is_after: bool,
        collector: &mut Collector<'_, '_, F>,
    ) -> Result<(), SearchFault> {
        let line = lines_of(self.text, &(self.at..self.at));
        collector.around(is_after, self.number, self.text.get(line.clone()).unwrap_or_default())?;
        self.pass(line.end);
        Ok(())
    }

    fn pass(&mut self, to: usize) {
        let passed = self.text.get(self.at..to).unwrap_or_default();
        self.number += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.at = to;
    }
}
