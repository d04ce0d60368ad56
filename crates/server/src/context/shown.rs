//! Remembers, for a connection, the lines of files that its client was shown ([`ShownFiles`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::rejection::Excerpt;
use mcp_text_editor_core::shown_lines::{Changes, ShownLines};
use mcp_text_editor_store::{Document, Edited, Match, Outcome, ReadFault};

/// The maximum bytes of the recorded lines and paths. Beyond it, the least recently used file is forgotten.
const MAX_BYTES: usize = 1 << 20;

/// The lines of each file that the client of a connection was shown, by the file's real path.
#[derive(Debug, Default)]
pub struct ShownFiles(Mutex<Files>);

#[derive(Debug, Default)]
struct Files {
    /// The lines of each file, and the number of the last use of these lines. Uses are numbered in order.
    known: HashMap<PathBuf, (u64, ShownLines)>,
    uses: u64,
    bytes: usize,
}

impl Files {
    fn take(&mut self, path: &Path) -> Option<ShownLines> {
        let (path, (_, shown)) = self.known.remove_entry(path)?;
        self.bytes -= bytes(&path, &shown);
        Some(shown)
    }

    fn put(&mut self, path: &Path, shown: ShownLines) {
        self.take(path);
        self.uses += 1;
        self.bytes += bytes(path, &shown);
        self.known.insert(path.to_owned(), (self.uses, shown));
        while self.bytes > MAX_BYTES
            && let Some(oldest) = self.known.iter().min_by_key(|(_, (used, _))| *used)
        {
            let oldest = oldest.0.clone();
            self.take(&oldest);
        }
    }
}

fn bytes(path: &Path, shown: &ShownLines) -> usize {
    path.as_os_str().len() + shown.bytes()
}

impl ShownFiles {
    /// Returns the lines of a file that the client was shown; `None` if none are recorded.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<ShownLines> {
        self.files().known.get(path).map(|(_, shown)| shown.clone())
    }

    /// Replaces the record of the lines that the client knows of a file.
    pub fn set(&self, path: &Path, shown: ShownLines) {
        self.files().put(path, shown);
    }

    /// Returns the lines of a file that the client already knows, and the changes that other programs have
    /// made since the client was shown the lines; `None` if no changes are known. Must be called before the
    /// file is shown again. Fails only if a read of the file fails.
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

    /// Records the lines that a search showed.
    pub(crate) fn record_hits(&self, path: &Path, hits: &[Match]) {
        let mut files = self.files();
        let mut shown = files.take(path).unwrap_or_default();
        let lines = hits
            .iter()
            .flat_map(|hit| hit.before.iter().chain([&hit.line]).chain(&hit.rest).chain(&hit.after));
        lines.filter(|line| line.cut.is_none()).for_each(|line| shown.hit(line.number, &line.text));
        files.put(path, shown);
    }

    /// Records the lines that the client knows of files after its call has edited them.
    pub(crate) fn record_edits(&self, outcome: &Outcome) {
        let mut files = self.files();
        for Edited { path, shown, .. } in &outcome.files {
            match shown {
                Some(shown) => files.put(path, shown.clone()),
                None => drop(files.take(path)),
            }
        }
    }

    /// Records the lines of a file that an error showed. `by_text` says that the failed call named the lines
    /// to edit only by their text. Clients often send such a text again, so lines that another program has
    /// changed stay marked as changed.
    pub(crate) fn record_error(
        &self,
        path: &Path,
        digest: Option<Digest>,
        excerpts: &[&Excerpt],
        by_text: bool,
    ) {
        let mut files = self.files();
        let mut shown = files.take(path).unwrap_or_else(|| ShownLines::of(digest));
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
        files.put(path, shown);
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
