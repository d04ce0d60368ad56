//! The names of a call's arguments, object by object: those that belong there, and those of other objects that models
//! put there.

use serde_json::{Map, Value};

use crate::arguments::is_absent;
use crate::clients::is_added;
use crate::tool_id::ToolId;

/// An object of a call.
#[derive(Debug)]
pub(super) struct Level {
    /// The arguments that belong there.
    pub(super) own: &'static [&'static str],
    /// What else is understood there: arguments of objects in it or around it, and of other tools.
    pub(super) also: &'static [&'static str],
    /// The objects of its lists.
    lists: &'static [(&'static str, &'static Level)],
}

const PATCH_ALSO: &[&str] = &["start", "end", "range_hash", "line", "expected_replacements", "file_path"];

/// A range that an edit names.
pub(super) static RANGE: Level = Level { own: &["start", "end", "range_hash"], also: &[], lists: &[] };

/// A replacement.
pub(super) static PATCH: Level = Level {
    own: &["old_string", "new_string", "ranges", "replace_all"],
    also: PATCH_ALSO,
    lists: &[("ranges", &RANGE)],
};

/// A file among the files of a patch call.
pub(super) static PATCH_FILE: Level = Level {
    own: &["file_path", "patches", "file_hash", "encoding"],
    also: &[
        "old_string",
        "new_string",
        "ranges",
        "replace_all",
        "start",
        "end",
        "range_hash",
        "line",
        "expected_replacements",
    ],
    lists: &[("patches", &PATCH)],
};

/// A patch call.
pub(super) static PATCH_CALL: Level = Level {
    own: &[
        "file_path",
        "old_string",
        "new_string",
        "ranges",
        "replace_all",
        "encoding",
        "file_hash",
        "files",
        "dry_run",
        "patches",
    ],
    also: &["start", "end", "range_hash", "line", "expected_replacements"],
    lists: &[("files", &PATCH_FILE), ("patches", &PATCH), ("ranges", &RANGE)],
};

/// A range that a read names.
pub(super) static READ_RANGE: Level = Level { own: &["start", "end", "from_char"], also: &[], lists: &[] };

/// A file among the files of a read.
pub(super) static READ_FILE: Level = Level {
    own: &["file_path", "ranges", "encoding"],
    also: &["line_start", "line_end", "limit", "head", "tail"],
    lists: &[("ranges", &READ_RANGE)],
};

/// A read.
pub(super) static READ_CALL: Level = Level {
    own: &["file_path", "line_start", "line_end", "files", "encoding", "line_numbers"],
    also: &["ranges", "limit", "head", "tail"],
    lists: &[("files", &READ_FILE)],
};

/// A creation.
pub(super) static CREATE_CALL: Level =
    Level { own: &["file_path", "contents", "encoding", "dry_run"], also: &[], lists: &[] };

/// An append.
pub(super) static APPEND_CALL: Level =
    Level { own: &["file_path", "file_hash", "contents", "encoding", "dry_run"], also: &[], lists: &[] };

/// An insertion.
pub(super) static INSERT_CALL: Level = Level {
    own: &["file_path", "file_hash", "contents", "after", "before", "encoding", "dry_run"],
    also: &[],
    lists: &[],
};

/// A deletion.
pub(super) static DELETE_CALL: Level = Level {
    own: &["file_path", "file_hash", "ranges", "encoding", "dry_run"],
    also: &["start", "end", "range_hash", "line"],
    lists: &[("ranges", &RANGE)],
};

/// A search.
pub(super) static SEARCH_CALL: Level = Level {
    own: &[
        "pattern",
        "literal",
        "paths",
        "glob",
        "ignore_case",
        "context",
        "hashes",
        "max_results",
        "offset",
        "encoding",
    ],
    also: &["case_sensitive", "is_regex", "exclude"],
    lists: &[],
};

/// A list of files.
pub(super) static LIST_CALL: Level = Level {
    own: &["path", "glob", "depth", "include_ignored", "line_counts", "max_results", "offset"],
    also: &["recursive", "exclude"],
    lists: &[],
};

/// A move.
pub(super) static MOVE_CALL: Level = Level { own: &["from", "to", "dry_run"], also: &[], lists: &[] };

/// A removal.
pub(super) static REMOVE_CALL: Level =
    Level { own: &["file_path", "file_hash", "dry_run"], also: &[], lists: &[] };

/// An undo.
pub(super) static UNDO_CALL: Level = Level { own: &["edit_id", "dry_run"], also: &["file_path"], lists: &[] };

/// Returns the arguments of a tool; `None` for a tool that has no like elsewhere.
pub(super) fn of(tool: ToolId) -> Option<&'static Level> {
    match tool {
        ToolId::Get => Some(&READ_CALL),
        ToolId::Patch => Some(&PATCH_CALL),
        ToolId::Create => Some(&CREATE_CALL),
        ToolId::Append => Some(&APPEND_CALL),
        ToolId::Insert => Some(&INSERT_CALL),
        ToolId::Delete => Some(&DELETE_CALL),
        ToolId::Search => Some(&SEARCH_CALL),
        ToolId::List => Some(&LIST_CALL),
        ToolId::Move => Some(&MOVE_CALL),
        ToolId::Remove => Some(&REMOVE_CALL),
        ToolId::Undo => Some(&UNDO_CALL),
        ToolId::Edits => None,
    }
}

impl Level {
    /// Whether all arguments have the names of this object, and all lists hold objects of which this is true, so that
    /// there is no need to look closer. A replacement that has one text and nothing else is looked at.
    pub(super) fn holds(&self, values: &Map<String, Value>) -> bool {
        let has = |name: &str| values.get(name).is_some_and(|value| !value.is_null());
        let half = has("old_string") != has("new_string") && !has("ranges");
        !half && values.iter().all(|(name, value)| self.holds_value(name, value))
    }

    fn holds_value(&self, name: &str, value: &Value) -> bool {
        if !self.own.contains(&name) {
            return is_absent(name, value) || is_added(name);
        }
        if name == "paths" {
            return value.is_null() || value.is_array();
        }
        let Some((_, level)) = self.lists.iter().find(|(list, _)| *list == name) else { return true };
        match value {
            Value::Array(items) => {
                items.iter().all(|item| item.as_object().is_some_and(|values| level.holds(values)))
            }
            other => other.is_null(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    fn check(level: &Level, schema: &Map<String, Value>, place: &str) {
        let properties = schema["properties"].as_object().unwrap();
        // A list of patches without a list of files is taken, and nobody is told to write it.
        let mut told: Vec<&str> = level
            .own
            .iter()
            .copied()
            .filter(|name| place != "patch_text_file_contents" || *name != "patches")
            .collect();
        let mut all: Vec<&str> = properties.keys().map(String::as_str).collect();
        told.sort_unstable();
        all.sort_unstable();
        assert_eq!(told, all, "{place}");
        for (name, property) in properties {
            let list = level.lists.iter().find(|(list, _)| list == name);
            let holds_objects = property["type"] == "array" && property["items"]["type"] == "object";
            assert_eq!(list.is_some(), holds_objects, "{place}.{name}");
            if let Some((_, level)) = list {
                check(level, property["items"].as_object().unwrap(), &format!("{place}.{name}"));
            }
        }
    }

    #[test]
    fn own_names_are_those_of_the_schemas() {
        for tool in tools::ALL {
            if let Some(level) = of(tool.id) {
                check(level, &(tool.input)(), tool.name());
            }
        }
    }
}
