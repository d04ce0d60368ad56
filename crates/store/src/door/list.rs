//! Lists files and directories: [`Workspace::list`].

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use crate::door::edit::Control;
use crate::door::search::cancelled;
use crate::recovery::tidy;
use crate::search::listing::Lister;
use crate::search::start::of_roots;
use crate::search::walk::{Rules, walk};
use crate::search::{Cause, End, List, ListEntry, SearchError, SearchProblem, SearchSummary, Skipped};
use crate::workspace::Workspace;

impl Workspace {
    /// Lists everything below a directory, or below the roots, with the same walk as [`Workspace::search`].
    /// Entries are ordered by the bytes of their names; the entries of a directory come right after the
    /// directory itself. A symbolic link is listed as its target, if the target is in the roots, but nothing
    /// below the link is listed.
    ///
    /// `sink` gets the entries on the calling thread. If `sink` returns `Break`, the listing ends.
    pub fn list(
        &self,
        list: &List<'_>,
        sink: &mut dyn FnMut(ListEntry) -> ControlFlow<()>,
        control: Control<'_>,
    ) -> Result<SearchSummary, SearchError> {
        let began = Instant::now();
        tidy(self, control.cancellation);
        let mut problems = Vec::new();
        let globs = self.globs(list.glob).map_err(|bad| problems.push(SearchProblem::Globs(bad)));
        let mut skipped = Skipped::default();
        let mut starts = Vec::new();
        match list.path {
            Some(path) => match self.start(path, control) {
                Ok(start) => starts.push(start),
                Err(reasons) => problems
                    .extend(reasons.into_iter().map(|reason| SearchProblem::Refused { entry: 0, reason })),
            },
            None => {
                for start in of_roots(&self.roots) {
                    match start {
                        Ok(start) => starts.push(start),
                        Err(path) => skipped.add(Cause::Unreadable, path.to_string_lossy().into_owned()),
                    }
                }
            }
        }
        let (Ok(globs), true) = (globs, problems.is_empty()) else {
            return Err(SearchError { problems });
        };
        let rules = Rules {
            roots: &self.roots,
            globs: &globs,
            honours_ignores: !list.include_ignored,
            depth: list.depth.unwrap_or(if list.path.is_some() { u64::MAX } else { 0 }),
            starts: &[],
        };
        let mut is_over = false;
        let mut should_stop = || {
            is_over = list.time_limit.is_some_and(|limit| began.elapsed() >= limit);
            if is_over || control.cancellation.is_cancelled() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let mut lister = Lister {
            roots: &self.roots,
            line_counts: list.line_counts,
            has_directories: list.glob.is_empty(),
            progress: list.progress,
            sink,
            ask: &mut should_stop,
            listed: 0,
            skipped,
            is_enough: false,
        };
        for start in &starts {
            let lists_roots = list.path.is_none() && list.glob.is_empty();
            let itself = if lists_roots { lister.start(start) } else { ControlFlow::Continue(()) };
            let below = |lister: &mut Lister<'_>| match rules.depth {
                0 => ControlFlow::Continue(()),
                _ => walk(start, &rules, lister),
            };
            if itself.is_break() || below(&mut lister).is_break() {
                break;
            }
        }
        let (is_enough, files, mut skipped) = (lister.is_enough, lister.listed, lister.skipped);
        if files > 0 {
            skipped.forget_explanations();
        }
        if control.cancellation.is_cancelled() {
            let first = starts.into_iter().next().map_or_else(PathBuf::new, |start| start.real);
            return Err(cancelled(&first));
        }
        let end = match () {
            () if is_enough => End::Enough,
            () if is_over => End::TimeLimit,
            () => End::Complete,
        };
        Ok(SearchSummary { files, skipped, end })
    }
}
