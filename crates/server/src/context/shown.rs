//! The memory of a connection: what it was shown of files ([`ShownFiles`]).

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::rejection::Excerpt;
use mcp_text_editor_core::shown_lines::{Changes, ShownLines};
use mcp_text_editor_store::{Document, Edited, Match, Outcome, ReadFault};

/// The most bytes of this; beyond them the file goes that was used first.
const MOST_BYTES: usize = 1 << 20;

/// Remembers what the client of a connection was shown of each file, by its real path. The file that was used
/// last comes last.
#[derive(Debug, Default)]
pub struct ShownFiles(Mutex<Vec<(PathBuf, ShownLines)>>);

impl ShownFiles {
    /// Returns what was shown of a file.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<ShownLines> {
        self.files().iter().find(|(known, _)| known == path).map(|(_, shown)| shown.clone())
    }

    /// Notes what is known of a file now; `None` forgets it.
    pub fn set(&self, path: &Path, shown: Option<ShownLines>) {
        let mut files = self.files();
        files.retain(|(known, _)| known != path);
        files.extend(shown.map(|shown| (path.to_owned(), shown)));
        let bytes = |(path, shown): &(PathBuf, ShownLines)| path.as_os_str().len() + shown.bytes();
        let mut all: usize = files.iter().map(bytes).sum();
        while all > MOST_BYTES && !files.is_empty() {
            all -= bytes(&files.remove(0));
        }
    }

    /// Returns what is known of a file before it is shown, and what others have changed since it was. Fails
    /// only as the read of the file does.
    pub(crate) fn before(&self, document: &Document<'_>) -> Result<(ShownLines, Option<Changes>), ReadFault> {
        let digest = document.scan.digest;
        let anew = || ShownLines::of(Some(digest));
        let Some(shown) = self.get(document.path()) else { return Ok((anew(), None)) };
        if shown.digest() == Some(&digest) {
            return Ok((shown, None));
        }
        let Some(compared) = shown.compare(document.scanned())? else { return Ok((anew(), None)) };
        let changes = compared.is_changed().then(|| compared.changes());
        Ok((compared.known(digest), changes))
    }

    /// Notes the lines that a hit of a search shows.
    pub(crate) fn found(&self, path: &Path, hit: &Match) {
        let mut shown = self.get(path).unwrap_or_default();
        for line in hit.before.iter().chain([&hit.line]).chain(&hit.after).filter(|line| line.cut.is_none()) {
            shown.hit(line.number, &line.text);
        }
        self.set(path, Some(shown));
    }

    /// Notes what a call has made of its files.
    pub(crate) fn edited(&self, done: &Outcome) {
        for Edited { path, shown, .. } in &done.files {
            self.set(path, shown.clone());
        }
    }

    /// Notes the lines of a file that an error shows. If that is about a text which alone names its place,
    /// the text is often sent again: then a line that others have changed stays one.
    pub(crate) fn told(&self, path: &Path, digest: Option<Digest>, excerpts: &[&Excerpt], by_text: bool) {
        let mut shown = self.get(path).unwrap_or_else(|| ShownLines::of(digest));
        for excerpt in excerpts.iter().filter(|excerpt| excerpt.from_char <= 1) {
            let lines =
                excerpt.text.lines().count() - usize::from(excerpt.truncated && !excerpt.text.is_empty());
            let lines = excerpt.text.lines().take(lines);
            if shown.digest() == digest.as_ref() {
                shown.show(excerpt.start, lines, !by_text);
            } else if !by_text {
                shown.show_elsewhere(lines);
            }
        }
        self.set(path, Some(shown));
    }

    fn files(&self) -> MutexGuard<'_, Vec<(PathBuf, ShownLines)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
