//! `patch_text_file_contents`: replaces text in files, by lines, by digest or by the text itself.

use mcp_text_editor_core::resolve::Patch;
use serde_json::{Map, Value};

use super::output;
use super::shared::{LINE_END, dry_run_schema, encoding_schema, guarded_range};
use super::tool::Tool;
use crate::actions::edit::{self, PatchFile, PatchRequest};
use crate::arguments::{Ends, Fields, Notes, each};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limits;
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, bare, bare_list, flag, integer, list, object, text};

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Patch,
    title: "Edit text files",
    description: "Replace text in one or many files, all or nothing: if any part fails, nothing is changed, and the error \
        shows what is there and where the text is. Give one replacement with `file_path`, several in `files`; \
        each has `new_string`, and says what it replaces:\n\
        1. `old_string` alone: it must occur exactly once in the file (add surrounding lines), or set \
        `replace_all`.\n\
        2. `ranges` with `range_hash` from a reply: those whole lines; their text need not be repeated.\n\
        3. `old_string` with `ranges`: those whole lines must hold exactly `old_string`.\n\
        Copy the text exactly, with its indentation and without the line numbers of a read. An empty `new_string` \
        deletes. Several patches all refer to the file before the call, and must not overlap. The reply has the \
        new `file_hash` and each changed region's lines and `range_hash`: the next edit needs no read.",
    beside: &[],
    destructive: true,
    idempotent: false,
    input,
    output: output::edit,
    run,
};

/// What says that the short form is meant.
const SHORT: &[&str] =
    &["file_path", "old_string", "new_string", "ranges", "replace_all", "patches", "encoding", "file_hash"];

const FILES: &str = "the files to edit, each with `file_path` and `patches`; or for one replacement leave it out, and give \
     `file_path`, `old_string` and `new_string`";

fn input() -> Map<String, Value> {
    let ranges = [
        ("start", integer("First line, from 1.")),
        ("end", integer(LINE_END)),
        ("range_hash", text("Required without old_string.")),
    ];
    let patch = [
        ("old_string", text("The text to replace, exactly as in the file.")),
        ("new_string", text("The text to put there.")),
        ("ranges", list("Whole lines to replace.", object(&ranges, &["start"]))),
        ("replace_all", flag("Replace every occurrence. Not with ranges.")),
    ];
    let facts =
        [("encoding", encoding_schema()), ("file_hash", text("The file must have it. Rarely needed."))];
    // The same arguments again, one level or two deeper, of which nothing more is to be said.
    let again = |name, kind| (name, bare(kind));
    let ranges = [again("start", "integer"), again("end", "integer"), again("range_hash", "string")];
    let patches = object(
        &[
            again("old_string", "string"),
            again("new_string", "string"),
            ("ranges", bare_list(object(&ranges, &["start"]))),
            again("replace_all", "boolean"),
        ],
        &["new_string"],
    );
    let file = object(
        &[
            again("file_path", "string"),
            ("patches", list("The replacements in this file.", patches)),
            again("encoding", "string"),
            again("file_hash", "string"),
        ],
        &["file_path", "patches"],
    );
    let file_path = [("file_path", text("Absolute path. This or files."))];
    let files = [("files", list("This or file_path.", file)), ("dry_run", dry_run_schema())];
    arguments(&[&file_path[..], &patch, &facts, &files].concat(), &[])
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
    let listed = fields.has_items("files");
    // Beside `files`, what says nothing counts as absent: some clients cannot leave a key out.
    let says_nothing = |name: &str| match name {
        "ranges" | "patches" => !fields.has_items(name),
        "replace_all" => fields.is_false(name),
        _ => fields.is_empty_text(name),
    };
    let says = |name: &&str| fields.has(name) && !(listed && says_nothing(name));
    let short: Vec<&str> = SHORT.iter().copied().filter(says).collect();
    if listed && !short.is_empty() {
        fields.note_invalid(
            format!("`files` and `{}` are both given", short.join("`, `")),
            "give either `files`, each with its own `encoding` and `file_hash`, or `file_path`, `old_string` and \
             `new_string`; null counts as left out",
        );
    }
    let files = if listed || short.is_empty() {
        read_and_forget(&mut fields);
        let files = fields.some_objects("files", FILES);
        files.and_then(|files| each(files, |mut fields| patch_file(&mut fields)))
    } else {
        let file = if fields.has("patches") { patch_file(&mut fields) } else { short_form(&mut fields) };
        fields.objects("files");
        file.map(|file| vec![file])
    };
    let dry_run = fields.flag("dry_run", false);
    Some(PatchRequest { files: files?, dry_run })
}

/// Reads a file with one patch, both at the same level.
fn short_form(fields: &mut Fields<'_>) -> Option<PatchFile> {
    let file_path = fields.file_path();
    let patch = patch(fields);
    let encoding = fields.encoding();
    let file_hash = fields.tag("file_hash");
    Some(PatchFile { file_path: file_path?, encoding, file_hash, patches: vec![patch?] })
}

/// Reads the short form where it is not wanted, so that its names are known and its types are checked.
fn read_and_forget(fields: &mut Fields<'_>) {
    fields.optional_path("file_path");
    fields.text("old_string", Ends::Lines);
    fields.text("new_string", Ends::Lines);
    let ranges = fields.objects("ranges").unwrap_or_default();
    each(ranges, guarded_range);
    fields.flag("replace_all", false);
    fields.encoding();
    fields.tag("file_hash");
}

/// Reads a file with a list of patches.
fn patch_file(fields: &mut Fields<'_>) -> Option<PatchFile> {
    let file_path = fields.file_path();
    let encoding = fields.encoding();
    let file_hash = fields.tag("file_hash");
    let patches = fields.some_objects("patches", "the replacements, each with `new_string`");
    let patches = patches.map(|patches| each(patches, |mut fields| patch(&mut fields)));
    Some(PatchFile { file_path: file_path?, encoding, file_hash, patches: patches?? })
}

fn patch(fields: &mut Fields<'_>) -> Option<Patch> {
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
            format!("{} does not say what to replace", fields.named()),
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
            format!("{} has both `replace_all` and `ranges`", fields.named()),
            "leave `ranges` out to replace every occurrence, or `replace_all` to replace those lines",
        );
    }
    Some(Patch { old_string, new_string: new_string?, ranges, replace_all })
}
