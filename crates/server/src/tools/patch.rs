//! `patch_text_file_contents`: replaces text in files, by lines, by digest or by the text itself.

use mcp_text_editor_core::resolve::Patch;
use serde_json::{Map, Value};

use super::shared::{dry_run_schema, encoding_schema, file_path_schema, guarded_range, guarded_range_schema};
use super::tool::Tool;
use super::{misplaced, output};
use crate::actions::edit::{self, PatchFile, PatchRequest};
use crate::arguments::{Ends, Fields, Notes, each};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, flag, list, object, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Patch,
    title: "Edit text files",
    description: "Replace text in one or many files, all or nothing: if any part fails, no file is changed, and the error \
        shows the actual text and where the wanted text is. Each patch gives `new_string` and says what it replaces in \
        one of three ways:\n\
        1. `old_string` alone: it must occur exactly once in the file (add surrounding lines until it does), or set \
        `replace_all` to replace every occurrence.\n\
        2. `ranges` with `range_hash` from a read: those whole lines are replaced, and their text need not be repeated.\n\
        3. `old_string` with `ranges`: those whole lines must hold exactly `old_string`; with several ranges each is \
        replaced.\n\
        Copy the text as it is in the file, indentation included, without the line numbers of a read. To delete text \
        give an empty `new_string`. Line numbers refer to the files before the call, so several patches of one call \
        need no adjusting; they must not overlap. The reply has the new `file_hash`, and lines and `range_hash` of each \
        changed region, so the next edit needs no read.",
    beside: &[],
    destructive: true,
    idempotent: false,
    input,
    output: output::edit,
    run,
};

fn input() -> Map<String, Value> {
    let ranges = guarded_range_schema(
        "The range's `range_hash` from a reply: 12 or more of its hex digits. Required where old_string is not given.",
        &["start"],
    );
    let patch = object(
        &[
            (
                "old_string",
                text(
                    "The text to replace, exactly as in the file. Without ranges it must occur exactly once.",
                ),
            ),
            ("new_string", text("The text to put there; an empty string deletes.")),
            ("ranges", list("Whole lines to replace. Default: wherever old_string stands.", ranges)),
            ("replace_all", flag("Without ranges: replace every occurrence of old_string. Default: false.")),
        ],
        &["new_string"],
    );
    let file = object(
        &[
            ("file_path", file_path_schema()),
            ("patches", list("The replacements in this file.", patch)),
            (
                "file_hash",
                text(
                    "If given, the file must still have this hash. Rarely needed: patches guard themselves.",
                ),
            ),
            ("encoding", encoding_schema()),
        ],
        &["file_path", "patches"],
    );
    arguments(&[("files", list("The files to edit.", file)), ("dry_run", dry_run_schema())], &["files"])
}

fn run(context: &Context, values: Map<String, Value>, cancel: &Cancel) -> Result<Reply, Failure> {
    edit::patch(context, &read(values, Notes::of(context))?, cancel)
}

/// Reads the arguments. The failure holds all of their problems.
pub fn parse(values: Map<String, Value>, limits: &Limits) -> Result<PatchRequest, Failure> {
    read(values, Notes::new(limits))
}

fn read(values: Map<String, Value>, notes: Notes<'_>) -> Result<PatchRequest, Failure> {
    let request = request(Fields::top(&notes, values));
    notes.finish(request, ToolId::Patch)
}

fn request(mut fields: Fields<'_>) -> Option<PatchRequest> {
    if misplaced::file_at_the_top(&mut fields) {
        return None;
    }
    let files = fields.some_objects("files", "the files to edit, each with `file_path` and `patches`");
    let files = files.map(|files| each(files, patch_file));
    let dry_run = fields.flag("dry_run", false);
    Some(PatchRequest { files: files??, dry_run })
}

fn patch_file(mut fields: Fields<'_>) -> Option<PatchFile> {
    if misplaced::patch_in_a_file(&mut fields) {
        return None;
    }
    let file_path = fields.file_path();
    let encoding = fields.encoding();
    let file_hash = fields.tag("file_hash");
    let patches = fields.some_objects("patches", "the replacements, each with `new_string`");
    let patches = patches.map(|patches| each(patches, patch));
    Some(PatchFile { file_path: file_path?, encoding, file_hash, patches: patches?? })
}

fn patch(mut fields: Fields<'_>) -> Option<Patch> {
    fields.adopt("old_string");
    let said = fields.has("old_string");
    let old_string = fields.text("old_string", Ends::Lines);
    let new_string = fields.required("new_string", "the text to put there, empty to delete", |f, name| {
        f.text(name, Ends::Lines)
    });
    let listed = fields.has("ranges");
    let ranges = fields.objects("ranges");
    // A list that is wrong in itself is told once, not also as a missing one.
    let misread = listed && ranges.is_none();
    let ranges = ranges.unwrap_or_default();
    let unguarded = ranges.iter().filter(|range| !range.has("range_hash"));
    let unguarded: Vec<String> = unguarded.map(|range| range.place().to_owned()).collect();
    let places_nothing = ranges.is_empty() && !misread;
    let ranges = each(ranges, guarded_range);
    let replace_all = fields.flag("replace_all", false);
    if !said && places_nothing {
        fields.note_invalid(
            format!("`{}` does not say what to replace", fields.place()),
            "give `old_string`, or `ranges` that each have `range_hash`",
        );
    }
    for place in unguarded.iter().filter(|_| !said) {
        fields.note_invalid(
            format!(
                "`{place}` has no `range_hash`, and the patch no `old_string`, so nothing guards those lines"
            ),
            "give the `range_hash` of those lines as a read shows it, or `old_string`: their text",
        );
    }
    let ranges = ranges?;
    if replace_all && !ranges.is_empty() {
        fields.note_invalid(
            format!("`{}` has both `replace_all` and `ranges`", fields.place()),
            "leave `ranges` out to replace every occurrence, or `replace_all` to replace those lines",
        );
    }
    Some(Patch { old_string, new_string: new_string?, ranges, replace_all })
}
