//! The tools for a single file: create, append, insert, delete, move and remove.

use mcp_text_editor_core::digest::DigestPrefix;

use super::edit::{EditRequest, FileChange, FileRequest, run};
use super::tool::{Tool, guarded_range, has_flat_range, hashed_range, position};
use crate::arguments::vocabulary::{
    AFTER, BEFORE, CONTENTS, DRY_RUN, ENCODING, END, FILE_HASH, FILE_PATH, FROM, RANGE_HASH, RANGES, START,
    TO,
};
use crate::arguments::{Argument, Ends, Fields, Object, ValueKind};
use crate::tool_id::ToolId;

/// `create_text_file`: creates a file.
pub const CREATE: Tool = Tool {
    id: ToolId::Create,
    title: "Create a text file",
    description: "Write a new text file with exactly these contents, and missing parent directories. Never overwrites: if the \
        name is taken, the error has the call that replaces it. End the contents with a newline unless \
        the file is to have none. The reply has the `file_hash`.",
    search_hint: Some("write new"),
    if_offered: &[(ToolId::Patch, "For a file that exists use patch_text_file_contents.")],
    destructive: false,
    idempotent: true,
    arguments: Object(&[
        FILE_PATH.needed(),
        WHOLE_TEXT.needed().says("The whole text; may be empty."),
        ENCODING.says("Default: utf-8. utf-16, utf-32, utf-8-sig write a BOM."),
        DRY_RUN,
    ]),
    run: |context, values, cancel| run(&CREATE, create, context, values, cancel),
};

/// The whole text of a new file.
pub(super) const WHOLE_TEXT: Argument = Argument {
    kind: ValueKind::Text(Ends::Kept),
    purpose: "the whole text of the file, which may be empty",
    ..CONTENTS
};

/// Reads the request of a call that creates a file.
pub fn create(fields: &mut Fields<'_>) -> Option<EditRequest> {
    let file_path = fields.file(FILE_PATH);
    let change = fields.text(CONTENTS).map(FileChange::Create);
    let encoding = fields.text(ENCODING);
    request(fields, file_path, encoding, None, change)
}

/// `append_text_file_contents`: adds lines to the end of a file.
pub const APPEND: Tool = Tool {
    id: ToolId::Append,
    title: "Append to a text file",
    description: "Add lines at the end of a text file. If the file no longer has this `file_hash`, nothing is written \
        and the error has the new one. The text begins on a line of its own and is ended by a newline. The \
        reply has the new `file_hash`.",
    search_hint: Some("add end"),
    if_offered: &[],
    destructive: false,
    idempotent: false,
    arguments: Object(&[
        FILE_PATH.needed(),
        FILE_HASH.needed(),
        CONTENTS.needed().says("The lines to add; not empty."),
        ENCODING,
        DRY_RUN,
    ]),
    run: |context, values, cancel| run(&APPEND, append, context, values, cancel),
};

/// Reads the request of a call that appends.
pub fn append(fields: &mut Fields<'_>) -> Option<EditRequest> {
    let (file_path, file_hash) = (fields.file(FILE_PATH), fields.tag(FILE_HASH));
    let change = new_lines(fields).map(FileChange::Append);
    let encoding = fields.text(ENCODING);
    request(fields, file_path, encoding, file_hash, change)
}

/// `insert_text_file_contents`: adds lines between two lines of a file.
pub const INSERT: Tool = Tool {
    id: ToolId::Insert,
    title: "Insert into a text file",
    description: "Insert lines into a text file; give exactly one of `after` and `before`. `after: 0` is the top, `after` \
        the last line the end. If the file no longer has this `file_hash`, nothing is written and the error has \
        the new one. The text is ended by a newline. The reply has the new `file_hash`.",
    search_hint: Some("add between"),
    if_offered: &[(ToolId::Patch, "For several places use patch_text_file_contents.")],
    destructive: false,
    idempotent: false,
    arguments: Object(&[
        FILE_PATH.needed(),
        FILE_HASH.needed(),
        CONTENTS.needed().says("The lines to insert; not empty."),
        AFTER,
        BEFORE,
        ENCODING,
        DRY_RUN,
    ]),
    run: |context, values, cancel| run(&INSERT, insert, context, values, cancel),
};

/// Reads the request of a call that inserts.
pub fn insert(fields: &mut Fields<'_>) -> Option<EditRequest> {
    let (file_path, file_hash) = (fields.file(FILE_PATH), fields.tag(FILE_HASH));
    let (contents, position) = (new_lines(fields), position(fields, true));
    let encoding = fields.text(ENCODING);
    let change = contents.zip(position).map(|(contents, position)| FileChange::Insert(contents, position));
    request(fields, file_path, encoding, file_hash, change)
}

/// `delete_text_file_contents`: deletes lines of a file.
pub const DELETE: Tool = Tool {
    id: ToolId::Delete,
    title: "Delete lines of a text file",
    description: "Delete or remove whole lines of a text file, one or several ranges at once. Each needs the `range_hash` of exactly \
        those lines, from a read. Line numbers refer to the file before the call; ranges must not overlap. If \
        anything does not fit, nothing is deleted, and the error has the present text and hashes. The reply has \
        the new `file_hash`. The file itself is never removed.",
    search_hint: Some("remove lines"),
    if_offered: &[(ToolId::Patch, "For part of a line use patch_text_file_contents.")],
    destructive: true,
    idempotent: false,
    arguments: Object(&[
        FILE_PATH.needed(),
        FILE_HASH.needed(),
        DELETED.of(RANGE),
        ENCODING,
        DRY_RUN,
        START.hidden(),
        END.hidden(),
        RANGE_HASH.hidden(),
    ]),
    run: |context, values, cancel| run(&DELETE, delete, context, values, cancel),
};

/// The lines to delete.
const DELETED: Argument = Argument {
    purpose: "the lines to delete, each with `start`, `end` and `range_hash`",
    ..RANGES.needed().says("The lines to delete.")
};

/// A range of lines to delete.
const RANGE: Object = Object(&[START.needed(), END, RANGE_HASH.needed().says("From a read of these lines.")]);

/// Reads the request of a call that deletes lines.
pub fn delete(fields: &mut Fields<'_>) -> Option<EditRequest> {
    let (file_path, file_hash) = (fields.file(FILE_PATH), fields.tag(FILE_HASH));
    let ranges = if has_flat_range(fields) {
        hashed_range(fields).map(|range| vec![range])
    } else {
        fields.some(RANGES, guarded_range)
    };
    let encoding = fields.text(ENCODING);
    request(fields, file_path, encoding, file_hash, ranges.map(FileChange::Delete))
}

/// `move_text_file`: moves or renames a file.
pub const MOVE_FILE: Tool = Tool {
    id: ToolId::Move,
    title: "Move or rename a file",
    description: "Move or rename a regular file, text or not, and make missing parent directories. Never overwrites: `to` is the \
        new path of the file itself, and nothing may be there. What the file holds stays as it is, so its hashes do, too.",
    search_hint: Some("rename"),
    if_offered: &[(ToolId::Undo, "undo_text_file_edits moves it back.")],
    destructive: false,
    idempotent: false,
    arguments: Object(&[FROM.needed(), TO.needed(), DRY_RUN]),
    run: |context, values, cancel| run(&MOVE_FILE, move_file, context, values, cancel),
};

/// Reads the request of a call that moves a file.
pub fn move_file(fields: &mut Fields<'_>) -> Option<EditRequest> {
    let from = fields.file(FROM);
    let to = fields.text(TO);
    let change = to.map(|to| FileChange::Move { to, patches: Vec::new() });
    request(fields, from, None, None, change)
}

/// `remove_text_file`: removes a file.
pub const REMOVE_FILE: Tool = Tool {
    id: ToolId::Remove,
    title: "Remove a text file",
    description: "Remove a text file. It must still be the one that was read: give its `file_hash`. Directories stay.",
    search_hint: Some("delete"),
    if_offered: &[
        (ToolId::Delete, "To delete lines of a file use delete_text_file_contents."),
        (ToolId::Undo, "undo_text_file_edits brings it back."),
    ],
    destructive: true,
    idempotent: false,
    arguments: Object(&[FILE_PATH.needed(), FILE_HASH.needed(), DRY_RUN]),
    run: |context, values, cancel| run(&REMOVE_FILE, remove_file, context, values, cancel),
};

/// Reads the request of a call that removes a file.
pub fn remove_file(fields: &mut Fields<'_>) -> Option<EditRequest> {
    let (file_path, file_hash) = (fields.file(FILE_PATH), fields.tag(FILE_HASH));
    request(fields, file_path, None, file_hash, Some(FileChange::Remove))
}

/// Reads `dry_run`, the last argument, and builds the request for one file.
fn request(
    fields: &mut Fields<'_>,
    file_path: Option<String>,
    encoding: Option<String>,
    file_hash: Option<DigestPrefix>,
    change: Option<FileChange>,
) -> Option<EditRequest> {
    let dry_run = fields.flag(DRY_RUN);
    let file = FileRequest { file_path: file_path?, encoding, file_hash, change: change? };
    Some(EditRequest { files: vec![file], dry_run })
}

/// Reads `contents`, which must not be empty.
fn new_lines(fields: &mut Fields<'_>) -> Option<String> {
    let contents = fields.text(CONTENTS)?;
    if contents.is_empty() {
        fields.note_invalid(
            "`contents` is empty, so there is nothing to add",
            "give the lines to add; \"\\n\" adds an empty line",
        );
    }
    Some(contents)
}
