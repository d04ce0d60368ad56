//! Every argument that a tool takes: its name, its kind, its description, its purpose, and the names that
//! other tools (those of other programs) have for it. The file of a tool lists the arguments that the tool
//! takes, and can refine them. The declaration determines the schema of an argument, the way in which
//! [`super::Fields`] reads the value, and which names are its aliases. The functions at the end handle the
//! JSON forms in which clients send values.
//!
//! The schemas have only what every client accepts: one string `type` per property, no combinators, no
//! references, no null types, no number formats, typed `items`. Defaults and bounds are in the descriptions.
//! Each of these rules exists because some client otherwise refuses the tool, or all tools.
//!
//! No object says `additionalProperties: false`, at any depth: clients that check calls would then refuse an
//! unknown key themselves, and could not say which key was meant. The server refuses unknown keys itself.

use serde_json::{Map, Value, json};

use crate::limits::Limit;
use crate::tool_id::ToolId;

/// An argument, as declared in this module, or as refined by an object.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The argument's name: the key in the arguments of a call.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: ValueKind,
    /// The description in its schema; empty for none.
    pub words: &'static str,
    /// The argument's purpose, for the error if the argument is required and missing.
    pub purpose: &'static str,
    /// The names that other tools have for the argument, separated by blanks.
    pub others: &'static str,
    /// The fields of each item, if the value is a list of objects.
    pub items: Object,
    /// Whether every call must have the argument.
    pub is_needed: bool,
    /// Whether the argument is accepted, but is not in the schema.
    pub is_hidden: bool,
    /// The tool that has the same effect. The argument is accepted only if that tool is offered; `None` if
    /// the argument is always accepted.
    pub with: Option<ToolId>,
}

/// The kind of an argument's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// A path; `""` counts as absent unless the path is needed.
    Path,
    /// A path at which nothing may exist yet; `""` counts as absent unless the path is needed.
    NewPath,
    /// A short text of any other kind, such as a pattern or an id.
    Label,
    /// The label of an encoding.
    Encoding,
    /// A text that is file content.
    Text(Ends),
    /// An integer.
    Integer,
    /// An integer that is at least 1.
    Positive,
    /// An integer that is at least 0.
    Count,
    /// A flag, with its default.
    Flag(bool),
    /// The prefix of a digest.
    Tag,
    /// A list of paths.
    Paths,
    /// A list of globs, or a single one.
    Globs,
    /// A list of objects. The limit is on their number.
    Objects(Limit),
}

/// The treatment of line ends and NULs in a text argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// The text becomes lines of a file: `\r\n` is read as `\n`; a lone CR and U+0000 are refused.
    Lines,
    /// The text becomes a whole file, unchanged: only U+0000 is refused.
    Kept,
}

/// Whether a tool is offered.
type Offered<'a> = &'a dyn Fn(ToolId) -> bool;

/// The arguments of a call, or the fields of an object among them, in the order in which clients show them.
#[derive(Clone, Copy, Default, Debug)]
pub struct Object(pub &'static [Argument]);

impl Argument {
    /// Returns the same argument with this description in its schema. If the same name and description occur
    /// several times in a schema, only the first occurrence is described.
    #[must_use]
    pub const fn says(self, words: &'static str) -> Self {
        Self { words, ..self }
    }

    /// Returns the same argument, as required.
    #[must_use]
    pub const fn needed(self) -> Self {
        Self { is_needed: true, ..self }
    }

    /// Returns the same argument, with these fields for each item of its list.
    #[must_use]
    pub const fn of(self, items: Object) -> Self {
        Self { items, ..self }
    }

    /// Returns the same argument, left out of the schema.
    #[must_use]
    pub const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    /// Returns the same argument, accepted only if this tool is offered.
    #[must_use]
    pub const fn with(self, tool: ToolId) -> Self {
        Self { with: Some(tool), ..self }
    }

    /// Tells whether an empty text counts as absent: an empty text has no meaning for this argument, and
    /// clients that cannot leave a key out send `""`.
    pub(super) fn is_never_empty(self) -> bool {
        matches!(self.kind, ValueKind::Encoding | ValueKind::Tag)
    }

    /// Builds the schema of the argument. `described` collects the names and descriptions that are already in
    /// the schema of the call.
    fn schema(&self, is_offered: Offered<'_>, described: &mut Vec<(&'static str, &'static str)>) -> Value {
        let kind = match self.kind {
            ValueKind::Integer | ValueKind::Positive | ValueKind::Count => "integer",
            ValueKind::Flag(_) => "boolean",
            ValueKind::Paths | ValueKind::Globs | ValueKind::Objects(_) => "array",
            _ => "string",
        };
        let mut out = Map::from_iter([("type".to_owned(), json!(kind))]);
        let description = (self.name, self.words);
        if !self.words.is_empty() && !described.contains(&description) {
            out.insert("description".to_owned(), json!(self.words));
            described.push(description);
        }
        let items = match self.kind {
            ValueKind::Paths => Some(json!({"type": "string", "description": "Absolute path."})),
            ValueKind::Globs => Some(json!({"type": "string", "description": "Glob."})),
            ValueKind::Objects(_) => Some(Value::Object(self.items.schema_below(is_offered, described))),
            _ => None,
        };
        out.extend(items.map(|items| ("items".to_owned(), items)));
        Value::Object(out)
    }
}

impl Object {
    /// Builds the schema of the arguments that are accepted with these offered tools.
    #[must_use]
    pub fn schema(self, is_offered: Offered<'_>) -> Map<String, Value> {
        self.schema_below(is_offered, &mut Vec::new())
    }

    fn schema_below(
        self,
        is_offered: Offered<'_>,
        described: &mut Vec<(&'static str, &'static str)>,
    ) -> Map<String, Value> {
        let shown = self.0.iter().filter(|own| !own.is_hidden && own.with.is_none_or(is_offered));
        let needed: Vec<&str> = shown.clone().filter(|own| own.is_needed).map(|own| own.name).collect();
        let properties: Map<_, _> =
            shown.map(|own| (own.name.to_owned(), own.schema(is_offered, described))).collect();
        let schema =
            [("type", json!("object")), ("properties", json!(properties)), ("required", json!(needed))];
        schema.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
    }

    /// Finds an argument of the object by its name.
    #[must_use]
    pub fn named(self, name: &str) -> Option<&'static Argument> {
        self.0.iter().find(|own| own.name == name)
    }
}

macro_rules! vocabulary {
    ($($constant:ident $name:literal $kind:ident$(($of:expr))? $(says $words:literal)? $(for $purpose:literal)?
        $(as $others:literal)?;)*) => {
        $(pub(crate) const $constant: Argument = Argument {
            name: $name,
            kind: ValueKind::$kind$(($of))?,
            words: concat!($($words)?),
            purpose: concat!($($purpose)?),
            others: concat!($($others)?),
            items: Object(&[]),
            is_needed: false,
            is_hidden: false,
            with: None,
        };)*

        /// All arguments. If an alias belongs to several of them, it means the first one that the tool takes.
        pub(super) const ALL: &[Argument] = &[$($constant),*];
    };
}

vocabulary! {
    FILE_PATH "file_path" Path says "Absolute path." for "the absolute path of the file"
        as "path file filename file_name filepath absolute_path target_file relative_path path_in_project";
    FILES "files" Objects(Limit::Files) says "This or file_path."
        for "the files to edit, each with `file_path` and `patches`; or for one replacement leave it out, and give \
            `file_path`, `old_string` and `new_string`"
        as "paths file_paths";
    PATCHES "patches" Objects(Limit::Patches) says "What to replace in it."
        for "the replacements, each with `new_string`"
        as "edits changes replacements operations replacement_chunks chunks";
    NEW_STRING "new_string" Text(Ends::Lines) says "The text to put there."
        for "the text to put there, empty to delete"
        as "text content file_text code_content code code_edit contents new_text new_str new_content \
            replacement_content new replace replace_with replacement replacement_text replace_text repl \
            updated";
    CONTENTS "contents" Text(Ends::Lines) for "the lines to add"
        as "text body data code content file_text code_content insert_text new_str new_text new_string";
    OLD_STRING "old_string" Text(Ends::Lines) says "The text to replace, exactly as in the file."
        as "old_text old_str old_content target_content old original search find needle search_text";
    REPLACE_ALL "replace_all" Flag(false) says "Replace every occurrence. Not with ranges."
        as "all allow_multiple allow_multiple_occurrences";
    AFTER "after" Integer says "The line after which they come, or 0."
        as "line line_number after_line insert_line insert_after position";
    BEFORE "before" Integer says "The line before which they come, from 1." as "before_line insert_before";
    LINE_START "line_start" Integer says "First line, from 1, or -1 from the end. Default: 1."
        as "offset line_begin start start_line start_line_one_indexed";
    LINE_END "line_end" Integer says "Last line, included. Default: the end."
        as "end end_line end_line_one_indexed_inclusive";
    START "start" Integer says "First line, from 1." for "the first line, counted from 1"
        as "line_start start_line from";
    END "end" Integer says "Last line, included. Default: the end." as "line_end end_line to";
    FROM_CHAR "from_char" Positive says "Go on in a long first line, at this character, from 1.";
    RANGES "ranges" Objects(Limit::Ranges) says "Whole lines to replace."
        as "line_ranges range";
    RANGE_HASH "range_hash" Tag says "Required without old_string."
        for "as a read of exactly these lines shows it" as "hash";
    FILE_HASH "file_hash" Tag says "From the last reply on this file."
        for "the `file_hash` of the last reply about this file" as "hash";
    LINE_NUMBERS "line_numbers" Flag(true) says "Default: true.";
    TEXT "text" Flag(true) says "Default: true.";
    PATTERN "pattern" Label says "What to find, such as `fn \\w+_text`." for "what to find"
        as "query regex regexp search search_pattern search_term substring_pattern text";
    LITERAL "literal" Flag(false) says "The pattern is plain text."
        as "fixed_strings fixed_string is_literal";
    REPLACEMENT "replacement" Text(Ends::Lines) says "$1, ${name}: a group; $$: $."
        for "the text that takes the place of each match"
        as "new_string replace replace_with new_text new substitution repl";
    MULTILINE "multiline" Flag(false) says "A match may span lines." as "multi_line";
    EXPECTED_REPLACEMENTS "expected_replacements" Count says "From the reply without it; writes."
        as "expected_count";
    PATHS "paths" Paths says "Absolute paths of files or directories. Default: all directories."
        as "path file_path directory dir dir_path directories folder root files file_paths search_path \
            relative_path";
    PATH "path" Path says "Absolute path of a directory, or of a file. Default: all directories."
        as "file_path directory dir dir_path directory_path relative_path search_directory \
            target_directory relative_workspace_path folder root paths";
    GLOB "glob" Globs
        as "name pattern include include_pattern file_pattern glob_pattern includes file_mask \
            paths_include_glob file_glob globs";
    IGNORE_CASE "ignore_case" Flag(false) says "Default: false." as "i _i case_insensitive";
    CONTEXT "context" Count says "Lines to show before and after each hit."
        as "c _c context_lines lines_of_context";
    CONTEXT_BEFORE "context_before" Count says "Only before. Default: context."
        as "_b before_context context_lines_before";
    CONTEXT_AFTER "context_after" Count says "Only after. Default: context."
        as "_a after_context context_lines_after";
    HASHES "hashes" Flag(false) says "Give each hit the range_hash of its line.";
    DEPTH "depth" Positive says "How deep; 1 lists what is in the directory itself. Default: all."
        as "max_depth levels";
    INCLUDE_IGNORED "include_ignored" Flag(false) says "List what ignore files name, too."
        as "no_ignore show_ignored";
    LINE_COUNTS "line_counts" Flag(false) says "Count the lines of each file, after another tab.";
    MAX_RESULTS "max_results" Positive as "limit head_limit max_count max_matches max_entries";
    OFFSET "offset" Count as "skip";
    FROM "from" Path says "Absolute path." for "the absolute path of the file"
        as "source src old_path old_name source_path source_file from_path file_path path file";
    TO "to" NewPath says "Absolute path, with the file's new name."
        for "the absolute path that the file is to have"
        as "destination dest dst target new_path new_name destination_path dest_path target_path to_path";
    COPIES "copies" Objects(Limit::Patches) says "Up to 100."
        for "what to copy, each with `from`, `start`, `end` and `range_hash`" as "moves blocks edits operations";
    MOVE "move" Flag(false) says "Take them away." as "cut is_move remove delete";
    ENCODING "encoding" Encoding says "Default: by BOM, else utf-8.";
    TO_ENCODING "to_encoding" Encoding says "Of to.";
    MOVE_TO "move_to" NewPath says "A new path for the file." as "move_path new_path new_file_path rename_to";
    REMOVE "remove" Flag(false) says "Take the file away; needs file_hash." as "delete";
    DRY_RUN "dry_run" Flag(false) says "Only check, and return the diff.";
    EDIT_ID "edit_id" Label says "The `edit_id` from the reply to the edit, or from the list of past edits."
        for "the `edit_id` of the edit to take back";
    LIMIT "limit" Positive says "The most edits to list, up to 1000. Default: 20.";
}

/// The maximum number of characters of a key or value that an error repeats.
pub(super) const MAX_SHOWN: usize = 60;

/// Tells whether a value counts as absent: null, or `""` for an argument that is never empty. Some clients
/// send these for a key that they cannot leave out.
pub(super) fn is_absent(name: &str, value: &Value) -> bool {
    value.is_null()
        || value.as_str() == Some("") && ALL.iter().any(|own| own.name == name && own.is_never_empty())
}

/// Tells whether a value is an empty list, or a string such as `"[]"`.
pub(super) fn is_empty_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::String(text) => {
            let inside = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            inside.is_some_and(|inside| inside.trim().is_empty())
        }
        _ => false,
    }
}

/// Returns a number as an integer: `5`, `5.0` and `5e0` alike. Returns the nearest `i64` for an integer
/// beyond its range, and `None` for a number with a fraction.
pub(super) fn whole(number: &serde_json::Number) -> Option<i64> {
    if let Some(number) = number.as_i64() {
        return Some(number);
    }
    if number.is_u64() {
        return Some(i64::MAX);
    }
    let float = number.as_f64().filter(|float| float.is_finite() && float.fract() == 0.0)?;
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is what is wanted")]
    Some(float as i64)
}

pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => format!("{flag}"),
        Value::Number(number) => format!("the number {}", shown(&number.to_string())),
        Value::String(text) => format!("the string \"{}\"", shown(text)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

pub(super) fn shown(text: &str) -> String {
    let shown = beginning(text, MAX_SHOWN);
    if shown.len() < text.len() { format!("{shown}…") } else { text.to_owned() }
}

/// Returns at most this number of characters from the beginning of a text.
pub(crate) fn beginning(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}

/// Returns the number of the line that contains the byte offset `at`.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
