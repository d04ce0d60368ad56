//! Searches past edits for a person, page by page.

use std::path::{MAIN_SEPARATOR, Path};
use std::sync::PoisonError;
use std::time::SystemTime;

use mcp_text_editor_store::{EditFilter, EditId, Entry, EntryFile, NotKept, Workspace, path_in_history};
use serde_json::{Map, Value, json};

use super::past::{BoxedProblem, LOOKED_AT, Past};
use crate::render::escape::shown;
use crate::render::past as words;
use crate::render::story::row;

/// The maximum number of edits, with their diffs, that are in memory at once.
const PAGE: usize = 200;

/// The conditions of a search for edits. An edit is found if it meets all of them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct EditQuery {
    /// The maximum number of edits to return.
    pub limit: usize,
    /// Edits that are older than this one.
    pub before: Option<EditId>,
    /// Edits of files in this root, as a list names it.
    pub root: Option<String>,
    /// Edits of this file, or of files below this directory, as a list names it. If the path is not absolute,
    /// edits with this text in a path, in any letter case.
    pub path: Option<String>,
    /// Edits by this tool.
    pub tool: Option<String>,
    /// Edits by this client.
    pub client: Option<String>,
    /// Edits that were made at this time or later.
    pub since: Option<SystemTime>,
    /// Edits that were made before this time.
    pub until: Option<SystemTime>,
    /// Edits with this text in a path, the diff, the tool, the client or the id, in any letter case.
    pub text: Option<String>,
}

/// Lists edits, the newest first, without their diffs. Also lists the roots, tools and clients from which a
/// person can choose. The answer has `next` if there can be more edits.
pub fn list(past: &Past, wanted: &EditQuery) -> Result<Value, BoxedProblem> {
    let workspace = past.workspace();
    let unreadable = |reason| words::unreadable(workspace.state_directory(), &reason);
    let (entries, next) = find(&workspace, &past.scope, wanted).map_err(unreadable)?;
    let edits: Vec<Value> = entries.iter().map(|entry| row(entry, past.can_undo(entry))).collect();
    let mut out = Map::from_iter([("edits".to_owned(), json!(edits))]);
    if let Some(next) = next {
        out.insert("next".to_owned(), json!(next.to_string()));
    }
    let mut makers = past.makers.lock().unwrap_or_else(PoisonError::into_inner);
    makers.update(&workspace, &past.scope).map_err(unreadable)?;
    makers.write(&mut out);
    if !past.notes.is_empty() {
        out.insert("warnings".to_owned(), json!(past.notes));
    }
    Ok(Value::Object(out))
}

/// Returns the edits, the newest first, and the value of `before` for the next page, or `None` if there are
/// no more edits.
pub(super) fn find(
    workspace: &Workspace,
    scope: &EditFilter,
    wanted: &EditQuery,
) -> Result<(Vec<Entry>, Option<EditId>), NotKept> {
    let (mut filter, wanted) = (narrowed(scope, wanted), Folded::of(wanted));
    let limit = wanted.wanted.limit;
    let (mut out, mut looked_at) = (Vec::new(), 0);
    // One edit more than the limit is requested, to learn whether there are more edits.
    let page = PAGE.min(limit.saturating_add(1));
    loop {
        let entries = workspace.history().find(&filter, page, &|_| true)?;
        let is_last = entries.len() < page;
        for entry in entries {
            if out.len() == limit {
                return Ok((out, filter.before));
            }
            filter.before = Some(entry.id.clone());
            looked_at += 1;
            if wanted.holds(&entry) {
                out.push(entry);
            }
        }
        if is_last {
            return Ok((out, None));
        }
        if looked_at >= LOOKED_AT {
            return Ok((out, filter.before));
        }
    }
}

/// Makes the filter for the store: the scope, narrowed by the query. If both restrict the path, the tool or
/// the client, the filter has the scope's restriction.
fn narrowed(scope: &EditFilter, wanted: &EditQuery) -> EditFilter {
    // A list shows the bytes of a path that is not UTF-8 as `\x…`, so a text with `\x` is not the path
    // itself.
    let path = || wanted.path.as_deref().filter(|path| !path.contains(r"\x")).map(Path::new);
    let path = || path().filter(|path| path.is_absolute()).map(path_in_history);
    EditFilter {
        path: scope.path.clone().or_else(path),
        since: scope.since.max(wanted.since),
        until: scope.until.into_iter().chain(wanted.until).min(),
        tool: scope.tool.clone().or_else(|| wanted.tool.clone()),
        client: scope.client.clone().or_else(|| wanted.client.clone()),
        before: wanted.before.clone(),
        ..scope.clone()
    }
}

/// A query prepared for comparison: its texts are in lower case, and its path is spelled as in lists.
struct Folded<'a> {
    wanted: &'a EditQuery,
    text: Option<String>,
    part: Option<String>,
    below: Option<(String, String)>,
}

impl<'a> Folded<'a> {
    fn of(wanted: &'a EditQuery) -> Self {
        let path = wanted.path.as_deref();
        let whole = path.filter(|path| Path::new(path).is_absolute());
        let whole = whole.map(|path| shown(&path_in_history(Path::new(path))));
        let below =
            whole.map(|path| (format!("{}{MAIN_SEPARATOR}", path.trim_end_matches(MAIN_SEPARATOR)), path));
        let part = path.filter(|_| below.is_none()).map(str::to_lowercase);
        Self { wanted, text: wanted.text.as_deref().map(str::to_lowercase), part, below }
    }

    fn holds(&self, entry: &Entry) -> bool {
        let EditQuery { root, tool, client, .. } = self.wanted;
        tool.as_ref().is_none_or(|tool| *tool == entry.tool)
            && client.as_ref().is_none_or(|client| entry.client.as_ref() == Some(client))
            && (root.is_none() || entry.files.iter().any(|file| is_in(file, root.as_deref())))
            && (self.part.is_none() && self.below.is_none()
                || entry.files.iter().any(|file| self.is_of(file)))
            && self.text.as_ref().is_none_or(|text| has(entry, text))
    }

    fn is_of(&self, file: &EntryFile) -> bool {
        let path = shown(&file.path);
        let is_below = |(below, exact): &(String, String)| path == *exact || path.starts_with(below);
        self.part.as_ref().is_none_or(|part| path.to_lowercase().contains(part))
            && self.below.as_ref().is_none_or(is_below)
    }
}

/// Tells whether a file was in this root.
pub(super) fn is_in(file: &EntryFile, root: Option<&str>) -> bool {
    file.root_directory().is_some_and(|own| Some(shown(&own).as_str()) == root)
}

fn has(entry: &Entry, text: &str) -> bool {
    let has = |held: &str| held.to_lowercase().contains(text);
    has(&entry.tool)
        || entry.client.as_deref().is_some_and(has)
        || entry.id.to_string() == text
        || entry.files.iter().any(|file| has(&shown(&file.path)) || has(&file.diff))
}
