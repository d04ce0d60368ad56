//! Makes the replies to a replacement in many files: the number of matches, or the changes.

use std::fmt::Write as _;

use mcp_text_editor_store::{Edited, Replacements};
use serde_json::{Map, Value, json};

use super::directories;
use super::edit::{Hashes, as_much_of, joined};
use super::escape::json_text;
use crate::clients::{Capacity, most};

/// The number of files whose diffs are shown.
const DIFFS: usize = 3;
/// The maximum weight of each of these diffs.
const EACH: usize = 240;

/// Words a count of matches. The last line is the argument with which a call replaces them.
pub(crate) fn count(done: &Replacements, capacity: &Capacity) -> String {
    let (places, files) = (done.places(), changed(done).count() as u64);
    let mut out = String::new();
    for file in changed(done).take(DIFFS) {
        let diff = file.diff.as_deref().unwrap_or_default();
        out.push_str(as_much_of(diff, EACH, capacity.measure).trim_end_matches('\n'));
        out.push('\n');
    }
    for warning in joined(&done.outcome, |file| name(done, file), |_| true) {
        let _ = writeln!(out, "[{warning}]");
    }
    directories::tell(&done.skipped, |_| true, places == 0, &mut out);
    let found = match (places, done.searched) {
        (0, 1) => "no place in the file that was searched".to_owned(),
        (0, searched) => format!("no place in the {searched} files that were searched"),
        _ => in_files(places, files),
    };
    let _ = writeln!(out, "[{found}; nothing was written]");
    let _ = write!(out, "expected_replacements: {places}");
    out
}

/// Makes the reply in JSON: the changes, or the changes of a dry run, in at most `files` files.
pub(crate) fn json(
    done: &Replacements,
    is_count: bool,
    hashes: Hashes,
    files: usize,
    capacity: &Capacity,
) -> Value {
    let render = |files| reply(done, is_count, hashes, files, capacity);
    let fits = |files| capacity.admits(&json_text(&render(files)));
    render(most(files.min(changed(done).count()), fits))
}

fn reply(done: &Replacements, is_count: bool, hashes: Hashes, files: usize, capacity: &Capacity) -> Value {
    let mut object = Map::new();
    let warnings = joined(&done.outcome, |file| name(done, file), |_| true);
    if !warnings.is_empty() {
        object.insert("warnings".to_owned(), json!(warnings));
    }
    object.insert("result".to_owned(), json!(if is_count { "dry_run" } else { "ok" }));
    if let Some(edit_id) = &done.outcome.edit_id {
        object.insert("edit_id".to_owned(), json!(edit_id.to_string()));
    }
    object.insert("replacements".to_owned(), json!(done.places()));
    let all = changed(done).count();
    let shown = changed(done).take(files).zip(0..).map(|(file, index)| {
        let mut value = json!({"file_path": name(done, file), "replacements": file.replaced});
        if let (Some(object), Some(digest)) = (value.as_object_mut(), &file.digest) {
            object.insert("file_hash".to_owned(), json!(hashes.print(digest)));
            if let Some(diff) = file.diff.as_deref().filter(|_| index < DIFFS) {
                object.insert("diff".to_owned(), json!(as_much_of(diff, 10 * EACH, capacity.measure)));
            }
        }
        value
    });
    object.insert("files".to_owned(), json!(shown.collect::<Vec<_>>()));
    if all > files {
        object.insert("files_not_shown".to_owned(), json!(all - files));
    }
    object.extend(directories::json(&done.skipped, |_| true).map(|skipped| ("skipped".to_owned(), skipped)));
    if is_count {
        object.insert("expected_replacements".to_owned(), json!(done.places()));
    }
    Value::Object(object)
}

/// Returns the files in which anything is replaced.
fn changed(done: &Replacements) -> impl Iterator<Item = &Edited> {
    done.outcome.files.iter().filter(|file| file.replaced > 0)
}

fn name<'a>(done: &'a Replacements, file: &Edited) -> &'a str {
    done.file_paths.get(file.entry).map_or("", String::as_str)
}

/// Returns the words for a number of matches in a number of files.
pub(crate) fn in_files(places: u64, files: u64) -> String {
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!("{} in {}", counted(places, "place"), counted(files, "file"))
}
