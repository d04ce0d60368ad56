//! Finds text in files: [`Workspace::search`].
//!
//! Replaces a pattern in many files: [`Workspace::replace`].

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use mcp_text_editor_core::encoding::Label;

use crate::access::roots::PathError;
use crate::access::suggested::{LikelyFiles, Purpose};
use crate::door::edit::{Control, EditError};
use crate::edit::{Edit, EditChange, EditOptions, EditProblem, Outcome, Reason, Replace as _, edit};
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::recovery::tidy;
use crate::search::deliver::SearchSettings;
use crate::search::globs::{BadGlobs, Globs};
use crate::search::matcher::Pattern;
use crate::search::start::{WalkStart, of_path, of_roots};
use crate::search::text::Replacing;
use crate::search::walk::Rules;
use crate::search::{
    BadSearchPattern, Cause, End, FileMatches, Search, SearchError, SearchProblem, SearchSummary, Skipped,
    pool,
};
use crate::workspace::Workspace;

impl Workspace {
    /// Searches files for a pattern, as ripgrep does. Applies ignore files from each root downwards, skips
    /// `.git`, binary files and symbolic links, and includes hidden files. Matches have the same form as the
    /// lines of a read, and are reported only in files that a read can show.
    ///
    /// `sink` gets the matches file by file, on the calling thread. The files are in the order of `paths`,
    /// and within each directory ordered by the bytes of their names. If `sink` returns `Break`, the search
    /// ends. The memory does not grow with the size of the files or with the number of directories: the walk
    /// holds only the names in the directories on the way to the current file, and each thread holds a small
    /// file or a line (of at most 16 MiB).
    pub fn search(
        &self,
        search: &Search<'_>,
        sink: &mut dyn FnMut(FileMatches) -> ControlFlow<()>,
        control: Control<'_>,
    ) -> Result<SearchSummary, SearchError> {
        let began = Instant::now();
        tidy(self, control.cancellation);
        let mut problems = Vec::new();
        let pattern = Pattern::of(search).map_err(|bad| problems.push(SearchProblem::Pattern(bad)));
        let globs = self.globs(search.glob).map_err(|bad| problems.push(SearchProblem::Globs(bad)));
        let label = search.encoding.map(Label::parse);
        if matches!(label, Some(None)) {
            problems.push(SearchProblem::Refused { entry: 0, reason: Reason::UnknownEncoding });
        }
        let (starts, mut skipped) = self.starts(search.paths, control, &mut problems);
        let (Ok(pattern), Ok(globs), true) = (pattern, globs, problems.is_empty()) else {
            return Err(SearchError { problems });
        };
        let stop = AtomicBool::new(false);
        let real: Vec<PathBuf> = starts.iter().map(|start| start.real.clone()).collect();
        let rules = Rules {
            roots: &self.roots,
            globs: &globs,
            honours_ignores: true,
            depth: u64::MAX,
            starts: &real,
        };
        let settings = SearchSettings {
            pattern: &pattern,
            label: label.flatten().map(|label| label.encoding),
            hashes: search.hashes,
            max_line_bytes: search.max_line_bytes,
            max_file_bytes: search.max_file_bytes.unwrap_or(u64::MAX),
            stop: &stop,
        };
        let mut end = End::Complete;
        let (mut is_enough, mut is_found) = (false, false);
        let mut ask = || {
            if control.cancellation.is_cancelled() {
                return ControlFlow::Break(());
            }
            if search.time_limit.is_some_and(|limit| began.elapsed() >= limit) {
                end = End::TimeLimit;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let mut sink = |found| {
            is_found = true;
            let taken = sink(found);
            is_enough = taken.is_break();
            taken
        };
        let done = pool::search(&starts, &rules, settings, search, &mut sink, &mut ask);
        let first = real.first().map_or(Path::new(""), PathBuf::as_path);
        let done = done.map_err(|error| {
            // The only possible error is that the system could not start threads.
            let reason = Reason::Store(StoreError::from_io(Operation::Read, first, error));
            SearchProblem::Refused { entry: 0, reason }
        })?;
        if control.cancellation.is_cancelled() {
            return Err(cancelled(first));
        }
        let end = if is_enough { End::Enough } else { end };
        skipped.join(done.skipped);
        if is_found {
            skipped.forget_explanations();
        }
        Ok(SearchSummary { files: done.files, skipped, end })
    }

    /// Compiles the globs of a request.
    pub(super) fn globs(&self, globs: &[&str]) -> Result<Globs, BadGlobs> {
        let roots: Vec<&Path> = self.roots.named_paths().flat_map(|(path, named)| [path, named]).collect();
        Globs::new(globs, &roots)
    }

    /// Returns the starting points of the walks of these paths, or of all roots if there are no paths,
    /// without duplicates. Roots that cannot be searched count as skipped.
    fn starts(
        &self,
        paths: &[&str],
        control: Control<'_>,
        problems: &mut Vec<SearchProblem>,
    ) -> (Vec<WalkStart>, Skipped) {
        let (mut starts, mut skipped) = (Vec::<WalkStart>::new(), Skipped::default());
        let mut add = |start: WalkStart| {
            if !starts.iter().any(|known| known.real == start.real) {
                starts.push(start);
            }
        };
        for (entry, path) in paths.iter().enumerate() {
            match self.start(path, control) {
                Ok(start) => add(start),
                Err(reasons) => problems
                    .extend(reasons.into_iter().map(|reason| SearchProblem::Refused { entry, reason })),
            }
        }
        if paths.is_empty() {
            for start in of_roots(&self.roots) {
                match start {
                    Ok(start) => add(start),
                    Err(path) => skipped.add(Cause::Unreadable, path.to_string_lossy().into_owned()),
                }
            }
        }
        (starts, skipped)
    }

    /// Returns the starting point of the walk of a path. Problems with the path are reported as in other
    /// calls, with suggested files.
    pub(super) fn start(&self, path: &str, control: Control<'_>) -> Result<WalkStart, Vec<Reason>> {
        of_path(&self.roots, path).map_err(|reasons| {
            let suggested = LikelyFiles::new(&self.roots, Purpose::Finding, control.cancellation);
            let told = |reason| match reason {
                Reason::Path(problem) => Reason::Path(suggested.of_path(path, problem)),
                Reason::Store(error) => Reason::Store(suggested.of_error(path, error)),
                other => other,
            };
            reasons.into_iter().map(told).collect()
        })
    }
}

/// Returns the error of a call that was cancelled.
pub(super) fn cancelled(path: &Path) -> SearchError {
    let error = StoreError::new(Operation::Read, path, StoreErrorKind::Cancelled);
    SearchProblem::Refused { entry: 0, reason: Reason::Store(error) }.into()
}

/// The result of a replacement in many files.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Replacements {
    /// The paths of the files with matches, as [`Workspace::search`] returns them. The entries of `outcome`
    /// are indices into this list.
    pub file_paths: Vec<String>,
    /// The result of the edit; the result of a dry run if the call has no expected number of matches.
    pub outcome: Outcome,
    /// The number of files that were searched.
    pub searched: u64,
    /// The files that were left out, by cause.
    pub skipped: Skipped,
}

impl Replacements {
    /// Returns the total number of replaced matches in all files.
    #[must_use]
    pub fn places(&self) -> u64 {
        self.outcome.files.iter().map(|file| file.replaced).sum()
    }
}

/// The reason why nothing was replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// The files cannot be searched.
    #[error(transparent)]
    Search(SearchError),
    /// More files than the caller allows have matches.
    #[error("the pattern is found in more than {most} files")]
    TooManyFiles {
        /// The maximum that the caller allows.
        most: u64,
    },
    /// The files cannot be edited.
    #[error("{error}")]
    Edit {
        /// The paths of the files. The entries of the problems are indices into this list.
        file_paths: Vec<String>,
        /// The reasons.
        error: EditError,
    },
}

impl Workspace {
    /// Replaces all matches of a search, in all files or in none. In `new`, `$1` and `${name}` stand for
    /// groups of the pattern, and `$$` for `$`, unless the pattern is literal.
    ///
    /// Writes only if `expected` is exactly the number of matches. The matches are counted while the files
    /// are locked, so no other call can change their number between the count and the write. With `None`,
    /// writes nothing, and returns the number of matches and a diff for each file.
    ///
    /// The pattern must not match the empty text, and at most `most_files` files are allowed to have matches.
    /// Files that are protected, or have more than 8 MiB, are skipped and counted like those that a search
    /// skips.
    pub fn replace(
        &self,
        search: &Search<'_>,
        new: &str,
        expected: Option<u64>,
        most_files: u64,
        control: Control<'_>,
    ) -> Result<Replacements, ReplaceError> {
        let pattern = Pattern::of(search).and_then(|pattern| Replacing::of(search, &pattern, new));
        let replacing = match pattern {
            Ok(replacing) => replacing,
            // This search only finds all other problems of the request, which the error then reports, too. If
            // the pattern is valid for a search, it is replaced by `.`, which soon finds a match.
            Err(bad) => {
                let is_usable = matches!(bad, BadSearchPattern::Empty | BadSearchPattern::Group(_));
                let pattern = if is_usable { "." } else { search.pattern };
                let mut error = self
                    .search(&Search { pattern, ..*search }, &mut |_| ControlFlow::Break(()), control)
                    .err()
                    .unwrap_or(SearchError { problems: Vec::new() });
                if !error.problems.iter().any(|problem| matches!(problem, SearchProblem::Pattern(_))) {
                    error.problems.insert(0, SearchProblem::Pattern(bad));
                }
                return Err(ReplaceError::Search(error));
            }
        };
        let (mut file_paths, mut left_out) = (Vec::<String>::new(), Skipped::default());
        let (roots, mut last) = (self.roots.for_writing(), String::new());
        let mut add = |file: crate::search::FileMatches| {
            // The matches of one file may come in several portions.
            if last != file.file_path {
                last.clone_from(&file.file_path);
                let is_protected = roots.resolve(&file.file_path).is_err_and(|problems| {
                    problems.iter().any(|problem| matches!(problem, PathError::Protected(_)))
                });
                if is_protected {
                    left_out.add(Cause::Protected, file.file_path);
                } else {
                    file_paths.push(file.file_path);
                }
            }
            if file_paths.len() as u64 > most_files {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let bounded = Search { max_file_bytes: Some(replacing.most_bytes()), ..*search };
        let summary = self.search(&bounded, &mut add, control).map_err(ReplaceError::Search)?;
        if file_paths.len() as u64 > most_files {
            return Err(ReplaceError::TooManyFiles { most: most_files });
        }
        let mut skipped = summary.skipped;
        skipped.join(left_out);
        let change = EditChange::Replace(&replacing);
        let encoding = search.encoding.filter(|label| Label::parse(label).is_some());
        let edits: Vec<Edit<'_>> = file_paths
            .iter()
            .map(|file_path| Edit {
                file_path,
                encoding,
                file_hash: None,
                move_to: None,
                directories: &[],
                change,
            })
            .collect();
        let progress = search.progress;
        if let (true, Some(expected @ 1..)) = (edits.is_empty(), expected) {
            let reason = Reason::Count { expected, places: 0, files: 0 };
            let error = EditError { problems: vec![EditProblem { entry: 0, reason }] };
            return Err(ReplaceError::Edit { file_paths, error });
        }
        let options = EditOptions { expected, progress, ..self.options(control, expected.is_none()) };
        match edit(self, &edits, options) {
            Ok(outcome) => Ok(Replacements { outcome, searched: summary.files, skipped, file_paths }),
            Err(problems) => Err(ReplaceError::Edit { error: EditError { problems }, file_paths }),
        }
    }
}
