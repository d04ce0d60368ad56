//! Which argument a wrong name was meant for: names that other tools have, and misspellings.

use super::values::MAX_SHOWN;

/// The names that other tools have, each with the one that it has here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("path", "file_path"),
    ("file", "file_path"),
    ("filename", "file_path"),
    ("file_name", "file_path"),
    ("filepath", "file_path"),
    ("absolute_path", "file_path"),
    ("target_file", "file_path"),
    ("relative_path", "file_path"),
    ("path_in_project", "file_path"),
    ("paths", "files"),
    ("file_paths", "files"),
    ("edits", "patches"),
    ("changes", "patches"),
    ("replacements", "patches"),
    ("operations", "patches"),
    ("replacement_chunks", "patches"),
    ("chunks", "patches"),
    ("text", "contents"),
    ("text", "new_string"),
    ("body", "contents"),
    ("data", "contents"),
    ("code", "contents"),
    ("content", "contents"),
    ("file_text", "contents"),
    ("code_content", "contents"),
    ("insert_text", "contents"),
    ("new_str", "contents"),
    ("new_text", "contents"),
    ("new_string", "contents"),
    ("content", "new_string"),
    ("file_text", "new_string"),
    ("code_content", "new_string"),
    ("code", "new_string"),
    ("code_edit", "new_string"),
    ("contents", "new_string"),
    ("old_text", "old_string"),
    ("old_str", "old_string"),
    ("old_content", "old_string"),
    ("target_content", "old_string"),
    ("old", "old_string"),
    ("original", "old_string"),
    ("search", "old_string"),
    ("find", "old_string"),
    ("needle", "old_string"),
    ("search_text", "old_string"),
    ("new_text", "new_string"),
    ("new_str", "new_string"),
    ("new_content", "new_string"),
    ("replacement_content", "new_string"),
    ("new", "new_string"),
    ("replace", "new_string"),
    ("replace_with", "new_string"),
    ("replacement", "new_string"),
    ("replacement_text", "new_string"),
    ("replace_text", "new_string"),
    ("repl", "new_string"),
    ("updated", "new_string"),
    ("all", "replace_all"),
    ("allow_multiple", "replace_all"),
    ("allow_multiple_occurrences", "replace_all"),
    ("line", "after"),
    ("line_number", "after"),
    ("line_number", "line"),
    ("after_line", "after"),
    ("insert_line", "after"),
    ("insert_after", "after"),
    ("position", "after"),
    ("before_line", "before"),
    ("insert_before", "before"),
    ("offset", "line_start"),
    ("line_begin", "line_start"),
    ("start", "line_start"),
    ("end", "line_end"),
    ("start_line", "line_start"),
    ("end_line", "line_end"),
    ("start_line_one_indexed", "line_start"),
    ("end_line_one_indexed_inclusive", "line_end"),
    ("line_start", "start"),
    ("line_end", "end"),
    ("start_line", "start"),
    ("end_line", "end"),
    ("from", "start"),
    ("to", "end"),
    ("line_start", "ranges"),
    ("line_end", "ranges"),
    ("line_range", "ranges"),
    ("line_ranges", "ranges"),
    ("view_range", "ranges"),
    ("range", "ranges"),
    ("lines", "ranges"),
    ("query", "pattern"),
    ("regex", "pattern"),
    ("regexp", "pattern"),
    ("search", "pattern"),
    ("search_pattern", "pattern"),
    ("search_term", "pattern"),
    ("substring_pattern", "pattern"),
    ("text", "pattern"),
    ("name", "glob"),
    ("pattern", "glob"),
    ("fixed_strings", "literal"),
    ("fixed_string", "literal"),
    ("is_literal", "literal"),
    ("path", "paths"),
    ("file_path", "paths"),
    ("directory", "paths"),
    ("dir", "paths"),
    ("dir_path", "paths"),
    ("directories", "paths"),
    ("folder", "paths"),
    ("root", "paths"),
    ("files", "paths"),
    ("file_paths", "paths"),
    ("search_path", "paths"),
    ("relative_path", "paths"),
    ("file_path", "path"),
    ("directory", "path"),
    ("dir", "path"),
    ("dir_path", "path"),
    ("directory_path", "path"),
    ("relative_path", "path"),
    ("search_directory", "path"),
    ("target_directory", "path"),
    ("relative_workspace_path", "path"),
    ("folder", "path"),
    ("root", "path"),
    ("paths", "path"),
    ("include", "glob"),
    ("include_pattern", "glob"),
    ("file_pattern", "glob"),
    ("glob_pattern", "glob"),
    ("includes", "glob"),
    ("file_mask", "glob"),
    ("paths_include_glob", "glob"),
    ("paths_exclude_glob", "exclude"),
    ("excludes", "exclude"),
    ("is_regexp", "is_regex"),
    ("use_regex", "is_regex"),
    ("exclude_pattern", "exclude"),
    ("exclude_patterns", "exclude"),
    ("file_glob", "glob"),
    ("globs", "glob"),
    ("i", "ignore_case"),
    ("_i", "ignore_case"),
    ("case_insensitive", "ignore_case"),
    ("c", "context"),
    ("_c", "context"),
    ("_a", "context"),
    ("_b", "context"),
    ("before_context", "context"),
    ("after_context", "context"),
    ("context_lines", "context"),
    ("context_lines_before", "context"),
    ("context_lines_after", "context"),
    ("lines_of_context", "context"),
    ("limit", "max_results"),
    ("head_limit", "max_results"),
    ("max_count", "max_results"),
    ("max_matches", "max_results"),
    ("max_entries", "max_results"),
    ("skip", "offset"),
    ("max_depth", "depth"),
    ("levels", "depth"),
    ("no_ignore", "include_ignored"),
    ("show_ignored", "include_ignored"),
    ("source", "from"),
    ("src", "from"),
    ("old_path", "from"),
    ("old_name", "from"),
    ("source_path", "from"),
    ("source_file", "from"),
    ("from_path", "from"),
    ("file_path", "from"),
    ("path", "from"),
    ("file", "from"),
    ("destination", "to"),
    ("dest", "to"),
    ("dst", "to"),
    ("target", "to"),
    ("new_path", "to"),
    ("new_name", "to"),
    ("destination_path", "to"),
    ("dest_path", "to"),
    ("target_path", "to"),
    ("to_path", "to"),
    ("hash", "range_hash"),
    ("hash", "file_hash"),
];

/// The names of all arguments of all tools, at any depth. None of these is taken for a misspelling of another,
/// however similar.
const OWN_NAMES: &[&str] = &[
    "after",
    "before",
    "contents",
    "context",
    "depth",
    "dry_run",
    "edit_id",
    "encoding",
    "end",
    "file_hash",
    "file_path",
    "files",
    "from",
    "from_char",
    "glob",
    "hashes",
    "ignore_case",
    "include_ignored",
    "limit",
    "line_counts",
    "line_end",
    "line_numbers",
    "line_start",
    "literal",
    "max_results",
    "new_string",
    "offset",
    "old_string",
    "patches",
    "path",
    "paths",
    "pattern",
    "range_hash",
    "ranges",
    "replace_all",
    "start",
    "to",
];

/// Returns the argument that a misspelled key was meant for.
pub(crate) fn meant<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > MAX_SHOWN {
        return None;
    }
    let folded = fold(name);
    let near = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&folded, known), *known))
        .filter(|(distance, known)| *distance <= (known.len() / 3).max(1))
        .filter(|(distance, _)| *distance == 0 || !OWN_NAMES.contains(&folded.as_str()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known);
    near.or_else(|| renamed(&folded, known))
}

/// Returns the argument that a key means which other tools have, or which is spelled in another case.
pub(crate) fn other_name<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > MAX_SHOWN {
        return None;
    }
    let folded = fold(name);
    known.iter().find(|known| **known == folded).copied().or_else(|| renamed(&folded, known))
}

fn renamed<'a>(folded: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut names = OTHER_NAMES.iter().filter(|(other, _)| *other == folded);
    names.find_map(|(_, here)| known.iter().find(|known| *known == here).copied())
}

/// Spells `filePath`, `file-path` and `File_Path` as `file_path`.
pub(crate) fn fold(name: &str) -> String {
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
    use serde_json::{Map, Value};

    use super::*;
    use crate::tools;

    fn names(schema: &Map<String, Value>, out: &mut Vec<String>) {
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            out.push(name.clone());
            if let Some(items) = property.get("items").and_then(Value::as_object) {
                names(items, out);
            }
        }
    }

    #[test]
    fn own_names_are_those_of_the_schemas() {
        let mut all = Vec::new();
        for tool in tools::ALL {
            names(&(tool.input)(), &mut all);
        }
        all.sort();
        all.dedup();
        assert_eq!(OWN_NAMES, all);
    }

    #[test]
    fn what_is_meant() {
        let check = |name: &str, known: &[&'static str], expected: Option<&str>| {
            assert_eq!(meant(name, known), expected, "{name}");
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
