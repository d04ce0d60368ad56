//! Recognises the names that other tools (those of other programs) have for arguments. An argument with such
//! a name, or with a misspelled one, is read as the argument that it means, so that its value is checked,
//! too. The call is still refused, with one sentence about all names, and opens no file. [`nearest`] finds
//! the known name that is most similar to a wrong name of another kind, such as a tool's.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::vocabulary::{ALL, Argument, MAX_SHOWN, ValueKind, is_absent, shown};
use crate::problem::{Code, Problem};

/// The maximum number of names in the sentence.
const MAX: usize = 12;

/// The maximum number of unknown keys that are looked up: a hostile call could have millions.
const MAX_KEYS: usize = 1_000;

type Row = (&'static str, &'static str, &'static str);

/// Arguments of other tools that have no counterpart with the same values. Each row has their names, the
/// argument that a tool must have for the sentence to help, and the sentence. The values of these arguments
/// are not read.
const WITHOUT_COUNTERPART: &[Row] = &[
    ("command", "file_path", "a command is a tool of its own"),
    (
        "diff patch patch_text unified_diff input blocks",
        "old_string",
        "a diff is sent as `old_string` and `new_string`, a patch for each hunk",
    ),
    ("insert_line insert_text", "old_string", "a text is inserted by a tool of its own"),
    ("view_range line_range lines", "line_start", "the lines are named by `line_start` and `line_end`"),
    ("view_range line_range lines", "ranges", "lines are named in `ranges`, each with `start` and `end`"),
    ("limit head", "line_end", "`line_end` is the last line, not the number of lines"),
    ("tail", "line_start", "the last lines are read with a negative `line_start`"),
    ("expected_replacements", "replace_all", "more than one place is replaced with `replace_all`"),
    ("case_sensitive", "ignore_case", "letter case is ignored with `ignore_case`"),
    ("is_regex is_regexp use_regex", "literal", "plain text is searched with `literal`"),
    (
        "exclude excludes exclude_pattern exclude_patterns paths_exclude_glob",
        "glob",
        "a `glob` that begins with `!` leaves files out",
    ),
    ("file_path path filename", "edit_id", "an edit is named by its `edit_id`"),
    ("recursive", "depth", "`depth` 1 lists the directory alone"),
];

/// The wrong names of a call, and the number of keys that were looked up.
#[derive(Default, Debug)]
pub(super) struct OtherNames {
    names: Vec<(String, &'static str)>,
    sentences: BTreeSet<&'static str>,
    looked_up: usize,
}

impl OtherNames {
    /// Moves values from keys with other names to the arguments of `known` that these names mean. Does so
    /// only if a single key can mean the argument, and the call does not give the argument under its own
    /// name. Removes arguments without a counterpart, and collects their sentences.
    pub(super) fn rename(
        &mut self,
        values: &mut Map<String, Value>,
        known: &'static [Argument],
        is_offered: impl Fn(&Argument) -> bool,
    ) {
        let named = |name: &str| known.iter().find(|own| own.name == name);
        let is_there = |name: &str| values.get(name).is_some_and(|value| !is_absent(name, value));
        let free = known.iter().filter(|own| !is_there(own.name) && is_offered(own));
        let free: Vec<&str> = free.map(|own| own.name).collect();
        let mut meant: Vec<(String, &'static Argument)> = Vec::new();
        for (key, value) in values.iter().filter(|(key, value)| named(key).is_none() && !value.is_null()) {
            self.looked_up += 1;
            if self.looked_up > MAX_KEYS {
                break;
            }
            let is_list = |own: &Argument| matches!(own.kind, ValueKind::Objects(_));
            let is_text = value.as_str().is_some_and(|text| !text.trim_start().starts_with(['[', '{']));
            let own = suggested(key, &free).and_then(named).filter(|own| !(is_list(own) && is_text));
            meant.extend(own.map(|own| (key.clone(), own)));
        }
        for (key, own) in &meant {
            if meant.iter().filter(|(_, other)| other.name == own.name).count() == 1 {
                let value = values.shift_remove(key).unwrap_or_default();
                values.insert(own.name.to_owned(), value);
                let pair = (shown(key), own.name);
                if self.names.len() < MAX && !self.names.contains(&pair) {
                    self.names.push(pair);
                }
            }
        }
        if self.looked_up > 0 {
            values.retain(|key, _| {
                let key = fold(key);
                let is_for =
                    |(names, of, _): &&Row| names.split(' ').any(|name| name == key) && named(of).is_some();
                let row = WITHOUT_COUNTERPART.iter().find(is_for).filter(|_| named(&key).is_none());
                self.sentences.extend(row.map(|(.., sentence)| *sentence));
                row.is_none()
            });
        }
    }

    /// Returns one problem with the right names; `None` if no name was wrong.
    pub(super) fn problem(&self) -> Option<Problem> {
        let names = self.names.iter().enumerate().map(|(index, (key, name))| {
            let here = if index == 0 { " here" } else { "" };
            format!("`{key}` is `{name}`{here}")
        });
        let names = names.collect::<Vec<_>>().join(", ");
        let parts = [names.as_str()].into_iter().filter(|names| !names.is_empty());
        let reason = parts.chain(self.sentences.iter().copied()).collect::<Vec<_>>().join("; ");
        let hint = "send the call with this tool's own arguments";
        (!reason.is_empty()).then(|| Problem::new(Code::InvalidArguments, reason, hint))
    }
}

/// Returns the argument that a key means if the key is misspelled, or a name that other tools use.
pub(super) fn suggested<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > MAX_SHOWN {
        return None;
    }
    let folded = fold(name);
    // The name of an argument of any tool is never taken for a misspelling of another argument, however
    // similar.
    let is_own = ALL.iter().any(|own| own.name == folded);
    let near = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&folded, known), *known))
        .filter(|(distance, known)| *distance <= (known.len() / 3).max(1))
        .filter(|(distance, _)| *distance == 0 || !is_own)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known);
    near.or_else(|| renamed(&folded, known))
}

/// Returns the known name that is most similar to an unknown one, if any is similar enough.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known)
}

fn renamed<'a>(folded: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut suggested =
        ALL.iter().filter(|argument| argument.others.split_whitespace().any(|other| other == folded));
    suggested.find_map(|argument| known.iter().find(|known| **known == argument.name).copied())
}

/// Spells `filePath`, `file-path` and `File_Path` as `file_path`.
fn fold(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut lower = false;
    for character in name.chars() {
        if character.is_ascii_uppercase() && lower {
            out.push('_');
        }
        lower = character.is_ascii_lowercase();
        out.push(if matches!(character, '-' | ' ') { '_' } else { character.to_ascii_lowercase() });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_suggested() {
        let check = |name: &str, known: &[&'static str], expected: Option<&str>| {
            assert_eq!(suggested(name, known), expected, "{name}");
        };
        check("filePath", &["file_path"], Some("file_path"));
        check("old_sting", &["old_string", "new_string"], Some("old_string"));
        check("new_string", &["old_string"], None);
        check("old_string", &["new_string"], None);
        check("line_start", &["start", "end"], Some("start"));
        check("edits", &["patches"], Some("patches"));
        check("command", &["contents"], None);
    }
}
