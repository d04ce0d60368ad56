//! `patch_text_file_contents`: replaces text in files, which a call names by line ranges with digests, by the
//! text itself, or by both. Can also create, move and remove files.

use mcp_text_editor_core::resolve::Patch;

use super::edit::{EditRequest, FileChange, FileRequest, run};
use super::one_file::WHOLE_TEXT;
use super::tool::{Tool, guarded_range, has_flat_range};
use crate::arguments::vocabulary::{
    DRY_RUN, ENCODING, END, FILE_HASH, FILE_PATH, FILES, MOVE_TO, NEW_STRING, OLD_STRING, PATCHES,
    RANGE_HASH, RANGES, REMOVE, REPLACE_ALL, START,
};
use crate::arguments::{Argument, Fields, Object, each};
use crate::tool_id::ToolId;

/// The tool.
pub const TOOL: Tool = Tool {
    id: ToolId::Patch,
    title: "Edit text files",
    description: "Edit text files: change, modify or replace text or lines of a file or of several, all or nothing. If a \
        part fails, nothing is changed; the error shows the text that is there, and where. Give one replacement with `file_path`, several in `files`; \
        each has `new_string`, and says what it replaces:\n\
        1. `old_string` alone: it must occur exactly once in the file (add surrounding lines), or set \
        `replace_all`.\n\
        2. `ranges` with `range_hash` from a reply: those whole lines; their text is not needed.\n\
        3. `old_string` with `ranges`: those whole lines must hold exactly `old_string`.\n\
        Copy the text exactly, with its indentation and without a read's line numbers. An empty `new_string` \
        deletes. Patches refer to the files before the call, and must not overlap. The reply has the \
        new `file_hash` and each changed region's lines and `range_hash`: the next edit needs no read.",
    search_hint: None,
    if_offered: &[
        (ToolId::Create, "`contents` in `files` makes a new file."),
        (ToolId::Move, "`move_to` in `files` moves the file."),
        (ToolId::Remove, "`remove` in `files`, with `file_hash`, removes it."),
    ],
    destructive: true,
    idempotent: false,
    arguments: Object(&[
        FILE_PATH.says("Absolute path. This or files."),
        OLD_STRING,
        NEW_STRING,
        RANGES.of(RANGE),
        REPLACE_ALL,
        ENCODING,
        EXPECTED,
        FILES.of(FILE),
        DRY_RUN,
        PATCHES.of(PATCH).hidden(),
        START.hidden(),
        END.hidden(),
        RANGE_HASH.hidden(),
    ]),
    run: |context, values, cancel| run(&TOOL, request, context, values, cancel),
};

/// A file, and its patches or another thing to do with it. The fields of a single patch are also accepted
/// here, without a list.
const FILE: Object = Object(&[
    FILE_PATH.needed().says(""),
    PATCHES.of(PATCH),
    ENCODING,
    EXPECTED,
    NEW,
    MOVED,
    REMOVED,
    OLD_STRING.hidden(),
    NEW_STRING.hidden(),
    RANGES.of(RANGE).hidden(),
    REPLACE_ALL.hidden(),
    START.hidden(),
    END.hidden(),
    RANGE_HASH.hidden(),
]);

/// A replacement. The fields of a single range are also accepted here, without a list.
const PATCH: Object = Object(&[
    OLD_STRING,
    NEW_STRING.needed(),
    RANGES.of(RANGE),
    REPLACE_ALL,
    START.hidden(),
    END.hidden(),
    RANGE_HASH.hidden(),
]);

/// The lines that a patch replaces.
const RANGE: Object = Object(&[START.needed(), END, RANGE_HASH]);

const NEW: Argument = WHOLE_TEXT.says("Of a new file.").with(ToolId::Create);
const MOVED: Argument = MOVE_TO.with(ToolId::Move);
const REMOVED: Argument = REMOVE.with(ToolId::Remove);

const EXPECTED: Argument = FILE_HASH.says("The file must have it. Rarely needed.");

/// The arguments of the short form, which has one file and no `files`. A call without `files` that gives any
/// of them has the short form.
const SHORT: [Argument; 11] = [
    FILE_PATH,
    OLD_STRING,
    NEW_STRING,
    RANGES,
    REPLACE_ALL,
    PATCHES,
    ENCODING,
    FILE_HASH,
    START,
    END,
    RANGE_HASH,
];

/// The arguments of the short form that are also accepted beside `files`. They apply to each file;
/// `file_hash` requires that `files` has only one file.
const FOR_ALL: [&str; 3] = [REPLACE_ALL.name, ENCODING.name, FILE_HASH.name];

/// Reads the request of a call.
pub fn request(fields: &mut Fields<'_>) -> Option<EditRequest> {
    let listed = fields.says(FILES);
    // With `files`, an argument whose value is empty or false counts as absent, because some clients cannot
    // leave a key out.
    let is_given = |argument: &Argument| {
        if listed {
            fields.says(*argument) && !FOR_ALL.contains(&argument.name)
        } else {
            fields.has(*argument)
        }
    };
    let short: Vec<&str> = SHORT.into_iter().filter(is_given).map(|argument| argument.name).collect();
    if listed && !short.is_empty() {
        fields.note_invalid(
            format!("`files` and `{}` are both given", short.join("`, `")),
            "give either `files`, each with its own `encoding` and `file_hash`, or `file_path`, `old_string` and \
             `new_string`; null counts as left out",
        );
    }
    let files = if listed || short.is_empty() {
        for_all(fields)
    } else {
        let file = if fields.has(PATCHES) { patch_file(fields) } else { short_form(fields) };
        fields.check(FILES);
        file.map(|file| vec![file])
    };
    let dry_run = fields.flag(DRY_RUN);
    Some(EditRequest { files: files?, dry_run })
}

/// Reads `files`, and the arguments beside `files` that apply to each file.
fn for_all(fields: &mut Fields<'_>) -> Option<Vec<FileRequest>> {
    for argument in SHORT.into_iter().filter(|argument| !FOR_ALL.contains(&argument.name)) {
        fields.check(argument);
    }
    let encoding = fields.text(ENCODING);
    let file_hash = fields.tag(FILE_HASH);
    let replace_all = fields.flag(REPLACE_ALL);
    let mut files = fields.some(FILES, entry)?;
    for file in &mut files {
        file.encoding = file.encoding.take().or_else(|| encoding.clone());
        if let FileChange::Patch(patches) | FileChange::Move { patches, .. } = &mut file.change {
            set_replace_all(patches, replace_all);
        }
    }
    if let Some(file_hash) = file_hash {
        match files.as_mut_slice() {
            [file] if !matches!(file.change, FileChange::Create(_)) => {
                file.file_hash.get_or_insert(file_hash);
            }
            _ => fields.note_invalid(
                "`file_hash` beside `files` says not which of them must have it",
                "give each of `files` its own `file_hash`, or none",
            ),
        }
    }
    Some(files)
}

/// Adds the `replace_all` of the call or file to each patch that names no lines.
fn set_replace_all(patches: &mut [Patch], replace_all: bool) {
    for patch in patches.iter_mut().filter(|patch| patch.ranges.is_empty()) {
        patch.replace_all |= replace_all;
    }
}

/// Reads a file and its only patch, whose fields are at the same level.
fn short_form(fields: &mut Fields<'_>) -> Option<FileRequest> {
    let file_path = fields.file(FILE_PATH);
    let patch = patch(fields);
    let encoding = fields.text(ENCODING);
    let file_hash = fields.tag(FILE_HASH);
    Some(FileRequest { file_path: file_path?, encoding, file_hash, change: FileChange::Patch(vec![patch?]) })
}

/// Reads a file with a list of patches.
fn patch_file(fields: &mut Fields<'_>) -> Option<FileRequest> {
    let file_path = fields.file(FILE_PATH);
    let encoding = fields.text(ENCODING);
    let file_hash = fields.tag(FILE_HASH);
    let replace_all = fields.flag(REPLACE_ALL);
    let mut patches = fields.some(PATCHES, patch)?;
    set_replace_all(&mut patches, replace_all);
    Some(FileRequest { file_path: file_path?, encoding, file_hash, change: FileChange::Patch(patches) })
}

/// Reads an entry of `files`, which names a file and one thing to do with it.
fn entry(fields: &mut Fields<'_>) -> Option<FileRequest> {
    let doing = [NEW, PATCHES, MOVED, REMOVED];
    if !doing.iter().any(|own| fields.has(*own))
        && [OLD_STRING, NEW_STRING].iter().any(|own| fields.has(*own))
    {
        return short_form(fields);
    }
    let has_patches = fields.has(PATCHES);
    let (said, refused): (Vec<Argument>, Vec<Argument>) =
        doing.into_iter().filter(|own| fields.says(*own)).partition(|own| fields.takes(*own));
    let mut said: Vec<&str> = said.iter().map(|own| own.name).collect();
    // An empty `contents` creates an empty file if the entry says nothing else. A file that does not exist
    // yet has no digest, so `file_hash` does not go together with `contents`.
    if said.is_empty() && fields.takes(NEW) && fields.has(NEW) {
        said.push(NEW.name);
    }
    if said.first() == Some(&NEW.name) && fields.has(FILE_HASH) {
        said.push(FILE_HASH.name);
    }
    let possible: Vec<&str> =
        doing.iter().filter(|own| fields.takes(**own)).filter_map(|own| does(own.name)).collect();
    let file_path = fields.file(FILE_PATH);
    let encoding = fields.text(ENCODING);
    let file_hash = fields.tag(if said == [REMOVED.name] { FILE_HASH.needed() } else { FILE_HASH });
    let (contents, to) = (fields.text(NEW), fields.text(MOVED));
    fields.flag(REMOVED);
    let is_told = !said.is_empty() || !refused.is_empty();
    let patches = if said.contains(&PATCHES.name) || !is_told && (has_patches || possible.len() == 1) {
        fields.some(PATCHES, patch)
    } else {
        fields.check(PATCHES);
        None
    };
    let change = match said.as_slice() {
        ["contents"] => FileChange::Create(contents?),
        ["patches"] => FileChange::Patch(patches?),
        ["move_to"] => FileChange::Move { to: to?, patches: Vec::new() },
        ["patches", "move_to"] => FileChange::Move { to: to?, patches: patches? },
        ["remove"] => FileChange::Remove,
        [] => {
            if !is_told && !has_patches && possible.len() > 1 {
                let reason = format!("{} does not say what to do with the file", fields.named());
                fields.note_invalid(reason, format!("give {}", possible.join(", or ")));
            }
            return None;
        }
        several => {
            let reason = format!("`{}` do not go together in {}", several.join("`, `"), fields.named());
            let hint = format!(
                "give one of these: {}; what is to become of another file is another entry",
                possible.join(", or ")
            );
            fields.note_invalid(reason, hint);
            return None;
        }
    };
    Some(FileRequest { file_path: file_path?, encoding, file_hash, change })
}

/// Returns words that say what an argument does with a file.
fn does(name: &str) -> Option<&'static str> {
    Some(match name {
        "contents" => "`contents`: the whole text of a file that is not there yet",
        "patches" => "`patches`: the replacements, each with `new_string`",
        "move_to" => "`move_to`: the new path of a file, also beside `patches`",
        "remove" => "`remove` with `file_hash`, if the file is to go",
        _ => return None,
    })
}

fn patch(fields: &mut Fields<'_>) -> Option<Patch> {
    let said = fields.has(OLD_STRING);
    let old_string = fields.text(OLD_STRING);
    let new_string = fields.text(NEW_STRING.needed());
    let listed = fields.has(RANGES);
    let is_flat = has_flat_range(fields);
    let ranges = fields.objects(RANGES);
    // A malformed list is reported only as malformed, and not also as missing.
    let misread = listed && ranges.is_none();
    let ranges = ranges.unwrap_or_default();
    let unguarded = ranges.iter().filter(|range| !range.has(RANGE_HASH)).map(Fields::named);
    let alone = (is_flat && !fields.has(RANGE_HASH)).then(|| fields.named());
    let unguarded: Vec<String> = unguarded.chain(alone).collect();
    let places_nothing = ranges.is_empty() && !misread && !is_flat;
    let ranges =
        if is_flat { guarded_range(fields).map(|range| vec![range]) } else { each(ranges, guarded_range) };
    let replace_all = fields.flag(REPLACE_ALL);
    if !said && places_nothing {
        fields.note_invalid(
            format!("{} does not say what to replace", fields.named()),
            "give `old_string`, or `ranges` that each have `range_hash`",
        );
    }
    for place in unguarded.iter().filter(|_| !said) {
        fields.note_invalid(
            format!(
                "{place} has no `range_hash`, and the patch no `old_string`, so nothing guards those lines"
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
