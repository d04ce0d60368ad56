//! The schemas of structured content that several tools share.
//!
//! An error has no structured content. But some clients check its text against the schema, and if it does not
//! fit, they show the model their own message instead. So each schema also admits the error. Other clients
//! reject combinators, so a schema has the properties of both, and requires only those that both have.

use serde_json::{Map, Value, json};

use crate::wire::schema::{Properties, arguments, described, flag, integer, list, object, text, word};

type Property = (&'static str, Value);

/// Makes the schema of the reply to an edit.
pub(super) fn edit() -> Map<String, Value> {
    edited(&[&named()[..], &counted(), &planned()].concat())
}

/// Makes the schema of the reply to an edit that may create, move and remove, too.
pub(super) fn mixed() -> Map<String, Value> {
    edited(&[&named()[..], &came_from(), &gone(), &counted(), &planned()].concat())
}

/// Makes the schema of the reply to a move.
pub(super) fn moved() -> Map<String, Value> {
    edited(&[&named()[..], &came_from(), &planned()].concat())
}

/// Makes the schema of the reply to a removal.
pub(super) fn removed() -> Map<String, Value> {
    edited(&[&named()[..], &gone(), &planned()].concat())
}

/// Makes the schema of the reply to an undo, which edits, moves or removes.
pub(super) fn undone() -> Map<String, Value> {
    edited(&[&named()[..], &came_from(), &counted(), &planned()].concat())
}

/// Makes the schema of a reply with these facts of each file.
fn edited(of_file: &Properties) -> Map<String, Value> {
    let file = object(of_file, &["file_path"]);
    or_error(
        &[
            ("warnings", warnings("What may be wrong with the new text.")),
            ("result", word("What was done; error: nothing.", &["ok", "dry_run", "error"])),
            ("edit_id", text("Names the edit, where it can be undone.")),
            ("files", list("One entry a file.", file)),
            ("files_not_shown", integer("How many more were edited, for which the reply had no room.")),
        ],
        &["result"],
    )
}

fn named() -> [Property; 2] {
    [
        ("file_path", text("The path, as the call named it.")),
        ("file_hash", text("SHA-256 of the file as it is now.")),
    ]
}

fn came_from() -> [Property; 1] {
    [("moved_from", text("The path that it had before, as the call named it."))]
}

fn gone() -> [Property; 1] {
    [("removed", flag("Whether the file is gone."))]
}

fn counted() -> [Property; 3] {
    let place =
        || [("start", integer("First line.")), ("end", integer("Last line; start - 1 where none is left."))];
    let [start, end] = place();
    let region = object(
        &[
            start,
            end,
            ("range_hash", text("SHA-256 of these lines.")),
            ("replaced", described("The lines that stood there before.", &place(), &["start", "end"])),
            ("match", word("How old_string matched, where not exactly.", &["trailing_whitespace"])),
        ],
        &["start", "end", "range_hash"],
    );
    [
        ("total_lines", integer("Lines in the file.")),
        ("regions", list("Where the new text stands now.", region)),
        ("regions_not_shown", integer("How many more there are, for which the reply had no room.")),
    ]
}

fn planned() -> [Property; 2] {
    [
        ("diff", text("With dry_run: what would change, as a unified diff.")),
        ("warnings", warnings("What else is worth knowing.")),
    ]
}

fn warnings(what: &'static str) -> Value {
    list(what, json!({"type": "string"}))
}

/// Makes the schema of the reply to a replacement in many files.
pub(super) fn replaced() -> Map<String, Value> {
    let file = object(
        &[
            ("file_path", text("The file.")),
            ("replacements", integer("Places in it.")),
            ("file_hash", text("SHA-256 of the file as it is now.")),
            ("diff", text("What would change, as a unified diff.")),
        ],
        &["file_path", "replacements"],
    );
    or_error(
        &[
            ("warnings", warnings("What else is worth knowing.")),
            ("result", word("What was done; error: nothing.", &["ok", "dry_run", "error"])),
            ("edit_id", text("Names the edit, where it can be undone.")),
            ("replacements", integer("Places in all files.")),
            ("files", list("The first files.", file)),
            ("files_not_shown", integer("How many more there are.")),
            ("skipped", list("What was left out.", skipped())),
            ("expected_replacements", integer("The argument with which they are replaced.")),
        ],
        &["result"],
    )
}

/// Makes the schema of the reply to a search.
pub(super) fn search() -> Map<String, Value> {
    let around = || json!({"type": "string"});
    let hit = object(
        &[
            ("file_path", text("The file.")),
            ("line", integer("The line, counted from 1.")),
            ("end", integer("The last line, of a hit over several.")),
            ("text", text("The line without its end, or the part of it around the hit; or the first lines.")),
            ("from_char", integer("The character of the line with which text begins, if not the first.")),
            ("line_length", integer("Characters of the line, if text is not all of it.")),
            ("range_hash", text("SHA-256 of the line, where it was asked for.")),
            ("before", list("The lines before it.", around())),
            ("after", list("The lines after it.", around())),
        ],
        &["file_path", "line", "text"],
    );
    or_error(
        &[
            ("matches", list("The hits, by file and line.", hit)),
            ("files_searched", integer("How many files were searched.")),
            ("truncated", flag("Whether there are more.")),
            ("next_offset", integer("The offset with which to go on.")),
            ("skipped", list("What was not searched.", skipped())),
            ("result", only_error()),
        ],
        &[],
    )
}

/// Makes the schema of a list of files.
pub(super) fn list_files() -> Map<String, Value> {
    let entry = object(
        &[
            ("path", text("The path.")),
            ("kind", word("What it is.", &["file", "directory"])),
            ("bytes", integer("Bytes in the file.")),
            ("lines", integer("Lines in the file, where they were asked for.")),
            ("modified", text("When it was last changed, in UTC.")),
        ],
        &["path", "kind"],
    );
    or_error(
        &[
            ("entries", list("Files and directories, sorted.", entry)),
            ("truncated", flag("Whether there are more.")),
            ("next_offset", integer("The offset with which to go on.")),
            ("skipped", list("What was not looked at.", skipped())),
            ("result", only_error()),
        ],
        &[],
    )
}

fn skipped() -> Value {
    object(
        &[
            ("cause", text("Why.")),
            ("count", integer("How many.")),
            ("paths", list("The first of them.", json!({"type": "string"}))),
        ],
        &["cause", "count"],
    )
}

/// Makes the schema of a list of past edits.
pub(super) fn edits() -> Map<String, Value> {
    let file = object(
        &[
            ("file_path", text("The path that it had.")),
            ("change", word("What became of it.", &["changed", "created", "removed", "moved", "displaced"])),
            ("moved_from", text("The path that it had before it was moved.")),
            ("hash_before", text("SHA-256 of the file before; none if it was created.")),
            ("hash_after", text("SHA-256 of the file after; none if it was removed.")),
        ],
        &["file_path", "change"],
    );
    let edit = object(
        &[
            ("edit_id", text("Names the edit.")),
            ("time", text("When it was made, in UTC.")),
            ("tool", text("The tool by which.")),
            ("undoes", text("The edit that it took back.")),
            ("undone_by", text("The edit that took it back.")),
            ("files", list("Its files.", file)),
            ("files_not_shown", integer("How many more there are, for which the reply had no room.")),
        ],
        &["edit_id", "time", "tool", "files"],
    );
    or_error(
        &[
            ("edits", list("The edits, the newest first.", edit)),
            ("truncated", flag("Whether there are more.")),
            ("result", only_error()),
        ],
        &[],
    )
}

/// Makes the schema of the reply to a read.
pub(super) fn read() -> Map<String, Value> {
    let range = object(
        &[
            ("start", integer("First line.")),
            ("end", integer("Last line shown; start - 1 where there is none.")),
            ("content", text("The lines, with line ends as \\n; none with text: false.")),
            ("range_hash", text("SHA-256 of these lines; none for a part of a line.")),
            ("truncated", flag("Whether the range was cut.")),
            ("next_start", integer("The line where it goes on.")),
            ("next_char", integer("The character of that line where it goes on, counted from 1.")),
            ("line_length", integer("Characters of the line that was cut inside.")),
        ],
        &["start", "end"],
    );
    let error = problem("Why this file could not be read; there is then nothing else about it.");
    let file = object(
        &[
            ("file_path", text("The path, as the call named it.")),
            ("file_hash", text("SHA-256 of the file's bytes.")),
            ("total_lines", integer("Lines in the file.")),
            ("file_size", integer("Bytes in the file.")),
            ("encoding", text("Its encoding.")),
            ("bom", flag("Whether it begins with a byte order mark.")),
            ("line_ending", word("How its lines end.", &["lf", "crlf", "cr", "mixed", "none"])),
            ("final_newline", flag("Whether its last line is ended.")),
            ("warnings", warnings("What others have changed since it was shown.")),
            ("ranges", list("The ranges, in the order of the call.", range)),
            ("ranges_not_shown", integer("How many more were asked for, for which the reply had no room.")),
            ("error", error),
        ],
        &["file_path"],
    );
    or_error(
        &[
            ("files", list("The files, in the order of the call.", file)),
            ("files_not_shown", integer("How many more were asked for, for which the reply had no room.")),
            ("result", only_error()),
        ],
        &[],
    )
}

fn only_error() -> Value {
    word("Only in an error.", &["error"])
}

/// Makes the schema of an object that has these properties or is an error. `required` lists the properties
/// that both have.
fn or_error(properties: &Properties, required: &[&str]) -> Map<String, Value> {
    let error = [
        ("code", text("Of an error: the kind of its first problem.")),
        ("reason", text("Of an error: what is wrong.")),
        ("suggestion", text("Of an error: the tool to call next.")),
        ("hint", text("Of an error: what to do about it.")),
        (
            "errors",
            list(
                "Of an error: its problems, in call order. Without file_path or hint, as the one before.",
                problem("One of them."),
            ),
        ),
        ("errors_not_shown", integer("Of an error: how many more problems there are.")),
    ];
    arguments(&[properties, &error].concat(), required)
}

/// Makes the schema of a problem of a call, or of a file that could not be read.
fn problem(description: &str) -> Value {
    let place = || [("start", integer("First line.")), ("end", integer("Last line."))];
    let excerpt = || {
        [
            ("actual", text("What these lines hold.")),
            ("actual_start", integer("The line with which actual begins, if not the first.")),
            ("actual_from_char", integer("The character of it with which actual begins, if not the first.")),
            ("actual_truncated", flag("Whether actual is not all of the lines.")),
            ("range_hash", text("SHA-256 of the lines, if actual is all of them.")),
        ]
    };
    let near = object(&[&place()[..], &excerpt()].concat(), &["start", "end", "actual"]);
    let found_at = object(&place(), &["start", "end"]);
    let later = described(
        "The later edit that is in the way of an undo.",
        &[
            ("edit_id", text("Names it.")),
            ("time", text("When it was made, in UTC.")),
            ("tool", text("The tool by which.")),
            ("diff", text("What it changed, as a unified diff.")),
        ],
        &["edit_id", "time", "tool", "diff"],
    );
    let of_file = [
        ("file_path", text("The path, as the call named it.")),
        ("code", text("The kind of problem.")),
        ("reason", text("What is wrong.")),
        ("hint", text("What to do about it.")),
        ("start", integer("First line concerned.")),
        ("end", integer("Last line concerned.")),
    ];
    let found = [
        ("found_at", list("Where the wanted text stands now.", found_at)),
        ("nearest", list("Similar places, the best first.", near)),
        ("diff", text("What the edit to be undone has changed, as a unified diff.")),
        ("later", later),
        ("file_hash", text("SHA-256 of the file as it is now.")),
        ("total_lines", integer("Lines in the file.")),
    ];
    described(description, &[&of_file[..], &excerpt(), &found].concat(), &["code", "reason"])
}
