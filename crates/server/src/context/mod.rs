//! Defines the context of a call ([`Context`], [`Cancel`]) and its [`Reply`]. [`ShownFiles`] remembers, for a
//! connection, the lines of files that its client was shown.

mod withdrawal;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::rejection::Excerpt;
use mcp_text_editor_core::shown_lines::{Changes, ShownLines};
use mcp_text_editor_store::{Control, Document, Edited, Match, Outcome, ReadFault, Workspace};
use serde_json::Value;

use crate::clients;
use crate::clients::Capacity;
use crate::config::Config;
use crate::tool_id::ToolId;

pub use self::withdrawal::Withdrawal;

/// The maximum bytes that a view shows of an edit's changes in a file.
pub(crate) const SHOWN: usize = 256 << 10;

/// The context of a call: the data that all calls of the process share, and what is known about the client
/// that made the call.
#[derive(Clone, Debug)]
pub struct Context {
    /// The options of the process.
    pub config: Arc<Config>,
    /// The files that calls may use, and the rules that keep them safe. A server can run even if none of its
    /// directories can be opened.
    pub workspace: Arc<Workspace>,
    /// The maximum size of a reply that the client can take.
    pub capacity: Capacity,
    /// The name that the client gives itself, if it gives one.
    pub client: Option<Arc<str>>,
    /// The name of the client's session in the history, which no other session has; `None` where there are no
    /// sessions.
    pub session: Option<Arc<str>>,
    /// Whether the client has said that it shows views (the extension MCP Apps).
    pub shows_views: bool,
    /// The lines of files that the connection was shown; `None` if they are not recorded.
    pub(crate) shown: Option<Arc<ShownFiles>>,
}

impl Context {
    /// Makes the context of a process, for calls of a client that is not known.
    #[must_use]
    pub fn new(config: Config, workspace: Workspace) -> Self {
        let (config, workspace) = (Arc::new(config), Arc::new(workspace));
        let (client, session, shows_views) = (None, None, false);
        let capacity = clients::UNKNOWN;
        let context = Self { config, workspace, capacity, client, session, shows_views, shown: None };
        context.of_client(None, None)
    }

    /// Returns the context for calls of the client that gives itself this name, in this session.
    #[must_use]
    pub fn of_client(&self, name: Option<&str>, session: Option<&Arc<str>>) -> Self {
        let known = || clients::capacity_of(name, self.config.output);
        let capacity = self.config.max_response_bytes.map_or_else(known, Capacity::of_bytes);
        Self { capacity, client: name.map(Arc::from), session: session.cloned(), ..self.clone() }
    }

    /// Returns the control with which the store carries out a call of this tool: the names of the tool, the
    /// client and the session, whether the client needs the data of a view and, with `shown`, the lines that
    /// the client was shown of a file.
    #[must_use]
    pub(crate) fn control<'a>(
        &'a self,
        tool: ToolId,
        shown: &'a dyn Fn(&Path) -> Option<ShownLines>,
    ) -> Control<'a> {
        let control = Control::of(tool.name()).on_behalf_of(self.client.as_deref(), self.session.as_deref());
        let control = if self.shown.is_some() { control.remembering(shown) } else { control };
        if self.shows_views { control.comparing(SHOWN) } else { control }
    }
}

/// The signal that a call must stop, because the call was withdrawn (cancelled by its client, or because the
/// server is ending) or its time is over. The code that carries the call out polls the signal between files
/// and chunks, and never after a commit has begun.
#[derive(Clone)]
pub struct Cancel {
    asked: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// The moment at which the call's time is over.
    end: Option<Instant>,
    done: Arc<AtomicU64>,
}

impl Cancel {
    /// Makes the signal of a call that cannot be withdrawn, and has no time limit.
    #[must_use]
    pub fn never() -> Self {
        Self { asked: None, end: None, done: Arc::default() }
    }

    /// Makes the signal of a call that is withdrawn once `asked` returns true. `asked` is called often, so it
    /// must be cheap.
    pub fn new(asked: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { asked: Some(Arc::new(asked)), end: None, done: Arc::default() }
    }

    /// Limits the time of the call, counted from now.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        // If the end is beyond the range of the clock, there is no limit.
        Self { end: Instant::now().checked_add(time), ..self }
    }

    /// Tells whether the call must stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_withdrawn() || self.is_over()
    }

    /// Tells whether the call must stop because its time is over, and not because the call was withdrawn.
    #[must_use]
    pub fn is_out_of_time(&self) -> bool {
        self.is_over() && !self.is_withdrawn()
    }

    /// Returns the time that the call has left; `None` if the time is not limited.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Returns the counter of the files that a search or a list has finished, for reports of progress.
    #[must_use]
    pub fn files_done(&self) -> &AtomicU64 {
        &self.done
    }

    /// Tells whether the call was withdrawn: by its client, or because the server is ending.
    #[must_use]
    pub fn is_withdrawn(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked())
    }

    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// The reply to a call that succeeded.
#[derive(Clone, PartialEq, Debug)]
pub struct Reply {
    /// The text of the reply: text for a model, or the JSON of `structured`.
    pub text: String,
    /// The structured content, with `--output json` or for a view. With `--output json` it must fit the
    /// tool's output schema.
    pub structured: Option<Value>,
    /// The story of the call: the data about the call that a view shows; only for clients that show views.
    /// Models do not see it.
    pub story: Option<Value>,
}

impl Reply {
    /// Makes a reply of text alone.
    #[must_use]
    pub fn of(text: String) -> Self {
        Self { text, structured: None, story: None }
    }
}

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
