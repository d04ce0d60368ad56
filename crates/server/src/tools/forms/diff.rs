//! A diff among the arguments, in whichever notation.

use serde_json::{Map, Value};

use super::hunks::FileDiff;
use super::{search_replace, unified, v4a};
use crate::arguments::other_name;

/// The arguments in which other tools take one, besides those for a text.
const NAMES: &[&str] =
    &["patch", "diff", "input", "patch_text", "unified_diff", "blocks", "changes", "edits", "patches"];

/// Finds a diff in the place of a replacement's texts, if no other text is there. Returns also the name of
/// its argument.
pub(super) fn of(values: &Map<String, Value>) -> Option<(&str, Vec<FileDiff<'_>>)> {
    let mut texts = values.iter().filter_map(|(name, value)| {
        let is_one = NAMES.contains(&other_name(name, NAMES).unwrap_or(name))
            || name == "old_string"
            || name == "new_string"
            || other_name(name, &["old_string", "new_string"]).is_some();
        Some((name.as_str(), value.as_str()?)).filter(|_| is_one)
    });
    match (texts.next(), texts.next()) {
        (Some((name, text)), None) => Some((name, read(text)?)),
        _ => None,
    }
}

/// Reads a diff. Returns `None` if the text is no diff.
pub(super) fn read(text: &str) -> Option<Vec<FileDiff<'_>>> {
    let has = |begins: &dyn Fn(&str) -> bool| text.split('\n').any(begins);
    if has(&|line| line.starts_with("*** ") && line.contains(" File: ")) {
        v4a::read(text)
    } else if has(&|line| line.starts_with("<<<<<<<") || line.starts_with("------- SEARCH")) {
        search_replace::read(text)
    } else if has(&|line| line.starts_with("@@")) && has(&|line| line.starts_with(['+', '-'])) {
        unified::read(text)
    } else {
        None
    }
}
