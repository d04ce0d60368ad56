//! Replaces a pattern in many files: [`Workspace::replace`].

use std::ops::ControlFlow;

use mcp_text_editor_core::encoding::Label;

use crate::access::roots::PathError;
use crate::door::control::Control;
use crate::door::edit::EditError;
use crate::edit::{Edit, EditChange, EditOptions, EditProblem, Outcome, Reason, Replace as _, edit};
use crate::search::matcher::Pattern;
use crate::search::replacing::Replacing;
use crate::search::{BadSearchPattern, Cause, Search, SearchError, SearchProblem, Skipped};
use crate::workspace::Workspace;

/// The result of a replacement in many files.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Replacements {
    /// The paths of the files with matches, as [`Workspace::search`] returns them. The entries of `outcome`
    /// are indices into this list.
    pub file_paths: Vec<String>,
    /// The result of the edit; the result of a dry run if the call has no expected number of places.
    pub outcome: Outcome,
    /// The number of files that were searched.
    pub searched: u64,
    /// The files that were left out, by cause.
    pub skipped: Skipped,
}

impl Replacements {
    /// Returns the total number of replaced places in all files.
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
            // A search is made only to report all other problems of the request, too. If the pattern is valid
            // for a search, it is replaced by `.`, which soon finds a match.
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
