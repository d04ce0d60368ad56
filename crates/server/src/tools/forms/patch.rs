//! Replacements in another form, as a patch call.

use mcp_text_editor_core::line::LineRange;
use serde_json::{Map, Value, json};

use super::given::{Given, Parts, quoted};
use super::hunks::{Fate, FileDiff};
use super::look::Look;
use super::reader::Reader;
use super::{diff, other, place, ranges};
use crate::arguments::vocabulary::NEW_STRING;
use crate::arguments::{Object, spelled_integer};
use crate::limits::Limit;
use crate::render::part::Part;
use crate::tool_id::ToolId;
use crate::tools::patch;

/// Among no more files than these it is looked for one that was named before.
const MAX_JOINED: usize = 1_000;

/// A file, and what is to be replaced in it.
#[derive(Debug)]
struct File {
    path: Option<Value>,
    /// Its `encoding` and its `file_hash`.
    facts: Parts,
    patches: Vec<Parts>,
}

/// What a call asks for.
#[derive(Default, Debug)]
struct Draft<'v> {
    files: Vec<File>,
    /// The files that a diff adds.
    added: Vec<FileDiff<'v>>,
    dry_run: Option<(&'static str, Part)>,
}

/// Writes a call anew. Usually it is one of the patch tool; a diff that makes a file is one of the tool that does.
pub(super) fn call(values: &Map<String, Value>, reader: &mut Reader<'_>) -> Option<(ToolId, Part)> {
    let mut draft = Draft::default();
    let mut listed = None;
    if diff::of(values).is_none() {
        let mut top = Given::of(values, patch::TOOL.arguments, &mut reader.odd)?;
        listed = top.take_list("files", reader.limits());
        if listed.is_some() {
            draft.take_dry_run(&mut top);
            top.leave_rest(&mut reader.odd);
        }
    }
    match &listed {
        Some(listed) => {
            for item in listed.as_array().filter(|items| reader.admits(Limit::Files, items.len()))? {
                let mut one = Draft {
                    files: std::mem::take(&mut draft.files),
                    dry_run: draft.dry_run.clone(),
                    ..Draft::default()
                };
                file(item.as_object()?, patch::FILE, reader, &mut one)?;
                draft.files = one.files;
                create(one.added, draft.dry_run.as_ref(), reader);
            }
        }
        None => file(values, patch::TOOL.arguments, reader, &mut draft)?,
    }
    let Draft { mut files, added, dry_run } = draft;
    create(added, dry_run.as_ref(), reader);
    if files.is_empty() {
        return (!reader.then.is_empty()).then(|| reader.then.remove(0));
    }
    guard(&mut files, reader);
    let call = match files.as_mut_slice() {
        [File { path, facts, patches }] if patches.len() == 1 => {
            let mut parts = vec![("file_path", reader.path(path.take()))];
            parts.extend(patches.drain(..).flatten());
            parts.append(facts);
            parts
        }
        _ => {
            let files = files.into_iter().map(|File { path, facts, patches }| {
                let patches = patches.into_iter().map(Part::Object).collect();
                let mut parts = vec![("file_path", reader.path(path)), ("patches", Part::List(patches))];
                parts.extend(facts);
                Part::Object(parts)
            });
            vec![("files", Part::List(files.collect()))]
        }
    };
    let call = Part::Object(call.into_iter().chain(dry_run).collect());
    Some((ToolId::Patch, by_text_alone(&call, reader).unwrap_or(call)))
}

/// Gives lines that are replaced whatever they hold their digests, where they can be shown.
fn guard(files: &mut [File], reader: &mut Reader<'_>) {
    let is_alone = files.len() == 1;
    for File { path, facts, patches } in files {
        let mut bare: Vec<&mut ranges::Range> = Vec::new();
        for patch in patches.iter_mut().filter(|patch| patch.iter().all(|(name, _)| *name != "old_string")) {
            for (_, part) in patch.iter_mut().filter(|(name, _)| *name == "ranges") {
                let Part::List(items) = part else { continue };
                bare.extend(items.iter_mut().filter_map(|item| match item {
                    Part::Object(range) => Some(range),
                    _ => None,
                }));
            }
        }
        // What is shown is of one file.
        let path = if is_alone { reader.path(path.clone()) } else { Part::blank("") };
        ranges::guard(&path, label(facts).as_deref(), bare, reader);
    }
}

/// Returns the label of the encoding among the facts of a file.
fn label(facts: &[(&'static str, Part)]) -> Option<String> {
    let (_, part) = facts.iter().find(|(name, _)| *name == "encoding")?;
    let Part::Value(Value::String(label)) = part else { return None };
    Some(label.clone())
}

/// Returns a call for one file without the lines beside its texts, where these do not hold the text exactly, and it stands in them all
/// the same: to other tools lines say where to look.
fn by_text_alone(call: &Part, reader: &mut Reader<'_>) -> Option<Part> {
    let Part::Object(parts) = call else { return None };
    let mut named = Vec::new();
    let mut without = |parts: &[(&'static str, Part)]| {
        let has_text =
            parts.iter().any(|(name, part)| *name == "old_string" && matches!(part, Part::Value(_)));
        let is_left_out = |part: &(&str, Part)| has_text && part.0 == "ranges";
        for (_, part) in parts.iter().filter(|part| is_left_out(part)) {
            let Part::List(items) = part else { continue };
            named.extend(items.iter().filter_map(|item| match item {
                Part::Object(range) => ranges::lines_of(range),
                _ => None,
            }));
        }
        parts.iter().filter(|part| !is_left_out(part)).cloned().collect::<Vec<_>>()
    };
    let mut out = without(parts);
    if let Some((_, Part::List(files))) = out.iter_mut().find(|(name, _)| *name == "files") {
        let [Part::Object(file)] = files.as_mut_slice() else { return None };
        for (_, part) in file.iter_mut().filter(|(name, _)| *name == "patches") {
            let Part::List(patches) = part else { continue };
            for patch in patches {
                if let Part::Object(parts) = patch {
                    *parts = without(parts);
                }
            }
        }
    }
    if named.is_empty() || reader.replaced(call).is_some() {
        return None;
    }
    let out = Part::Object(out);
    let replaced = reader.replaced(&out)?;
    let is_there = |lines: &LineRange| named.iter().any(|named| named.overlaps(*lines));
    replaced.iter().all(is_there).then_some(out)
}

impl Draft<'_> {
    fn take_dry_run(&mut self, given: &mut Given<'_>) {
        self.dry_run = given.take("dry_run").map(|value| ("dry_run", Part::Value(value.clone())));
    }
}

/// Writes the creation of each file that a diff adds, if the tool is offered; else says that it is left out.
fn create(added: Vec<FileDiff<'_>>, dry_run: Option<&(&'static str, Part)>, reader: &mut Reader<'_>) {
    for file in added {
        if !reader.offers(ToolId::Create) {
            reader.odd.note(format!("the new file {} is left out", quoted(file.path.unwrap_or_default())));
            continue;
        }
        let contents = file.hunks.into_iter().map(|hunk| hunk.new).collect::<String>();
        let path = reader.new_path(file.path.map(Value::from));
        let parts = vec![("file_path", path), ("contents", Part::Value(Value::from(contents)))];
        reader.then.push((ToolId::Create, Part::Object(parts.into_iter().chain(dry_run.cloned()).collect())));
    }
}

/// Writes a text for all of a file: its creation, or the replacement of all that it holds.
fn whole(
    path: Option<Value>,
    text: Value,
    facts: &[(&'static str, Part)],
    reader: &mut Reader<'_>,
) -> Option<Whole> {
    let path = reader.new_path(path);
    let encoding = label(facts);
    match reader.look(&path, encoding.as_deref()) {
        Look::Missing if reader.offers(ToolId::Create) => {
            let mut parts = vec![("file_path", path), ("contents", Part::Value(text))];
            parts.extend(encoding.map(|label| ("encoding", Part::Value(json!(label)))));
            Some(Whole::Creation(Part::Object(parts)))
        }
        Look::Text { lines: 0, .. } => Some(Whole::Replacement(vec![
            ("old_string", Part::Value(json!(""))),
            ("new_string", Part::Value(text)),
        ])),
        Look::Text { hashes: [_, hash], .. } => {
            reader.odd.note("a text alone takes the place of all that the file holds".to_owned());
            let range = json!([{"start": 1, "range_hash": hash.short()}]);
            Some(Whole::Replacement(vec![("new_string", Part::Value(text)), ("ranges", Part::Value(range))]))
        }
        _ => None,
    }
}

/// The names of arguments that hold all of a file in tools which write one.
const WHOLE: &[&str] = &["content", "contents", "file_text", "code_content"];

/// Whether an object holds a text for all of a file, and nothing that says where it comes.
fn is_whole(given: &Given<'_>, values: &Map<String, Value>) -> bool {
    let places = ["old_string", "ranges", "start", "end", "line", "range_hash", "replace_all"];
    WHOLE.contains(&given.name_of("new_string").as_str())
        && !places.iter().any(|name| given.has(name))
        && !other::appends(values)
}

/// What a text for all of a file is told as.
enum Whole {
    Creation(Part),
    Replacement(Parts),
}

/// Reads the object of a file, or of a call for one file.
fn file<'v>(
    values: &'v Map<String, Value>,
    object: Object,
    reader: &mut Reader<'_>,
    draft: &mut Draft<'v>,
) -> Option<()> {
    if let Some((name, found)) = diff::of(values) {
        let hunks: usize = found.iter().map(|file| file.hunks.len()).sum();
        if !reader.admits(Limit::Files, found.len()) || !reader.admits(Limit::Patches, hunks) {
            return None;
        }
        let others = values.iter().filter(|(other, _)| *other != name);
        let others = others.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut given = Given::of(&others, object, &mut reader.odd)?;
        let path = given.take("file_path").cloned();
        let facts = given.rest(&["encoding", "file_hash"]);
        draft.take_dry_run(&mut given);
        given.leave_rest(&mut reader.odd);
        reader.odd.say(&format!("a diff in {}", quoted(name)));
        take_diff(found, path, facts, reader, draft);
        return Some(());
    }
    let mut given = Given::of(values, object, &mut reader.odd)?;
    given.rename("contents", "new_string");
    draft.take_dry_run(&mut given);
    given.take("files");
    let path = given.take("file_path").cloned();
    let facts = given.rest(&["encoding", "file_hash"]);
    let mut out = File { path, facts, patches: Vec::new() };
    match given.take_list("patches", reader.limits()) {
        Some(Value::Array(items)) if reader.admits(Limit::Patches, items.len()) => {
            for item in &items {
                let mut given = Given::of(item.as_object()?, patch::PATCH, &mut reader.odd)?;
                let path = given.take("file_path").cloned();
                let replacement = patch(&mut given, reader)?;
                given.leave_rest(&mut reader.odd);
                match path.filter(|path| out.path.as_ref() != Some(path)) {
                    Some(path) => {
                        add(
                            &mut draft.files,
                            File { path: Some(path), facts: Vec::new(), patches: vec![replacement] },
                        );
                    }
                    None => out.patches.push(replacement),
                }
            }
        }
        Some(Value::Object(values)) => {
            reader.odd.say("a patch without a list");
            out.patches.push(patch(&mut Given::of(&values, patch::PATCH, &mut reader.odd)?, reader)?);
        }
        Some(_) => return None,
        None => match is_whole(&given, values).then(|| given.take("new_string")).flatten() {
            Some(text) => match whole(out.path.clone(), text.clone(), &out.facts, reader) {
                Some(Whole::Replacement(parts)) => out.patches.push(parts),
                Some(Whole::Creation(call)) => reader.then.push((ToolId::Create, call)),
                None => {
                    let old = Part::blank("the text to replace");
                    out.patches.push(vec![("old_string", old), ("new_string", Part::Value(text.clone()))]);
                }
            },
            None => out.patches.push(patch(&mut given, reader)?),
        },
    }
    given.leave_rest(&mut reader.odd);
    if !out.patches.is_empty() {
        add(&mut draft.files, out);
    }
    Some(())
}

/// Adds a file, or its patches to those of the same file.
fn add(files: &mut Vec<File>, file: File) {
    match files.iter_mut().take(MAX_JOINED).find(|known| known.path == file.path) {
        Some(known) => {
            known.patches.extend(file.patches);
            if known.facts.is_empty() {
                known.facts = file.facts;
            }
        }
        None => files.push(file),
    }
}

/// Takes what a diff says. A path beside it outranks that of the only file in it.
fn take_diff<'v>(
    found: Vec<FileDiff<'v>>,
    mut path: Option<Value>,
    mut facts: Parts,
    reader: &mut Reader<'_>,
    draft: &mut Draft<'v>,
) {
    let alone = found.len() == 1;
    for file in found {
        let named = file.path.map(Value::from);
        match file.fate {
            Fate::Changed => {
                let path = if alone { path.take().or(named) } else { named.or_else(|| path.clone()) };
                if let Some(to) = file.moved_to {
                    moving(path.clone(), to, reader);
                }
                let patches = place::patches(file.hunks, path.as_ref(), label(&facts).as_deref(), reader);
                if !patches.is_empty() {
                    add(&mut draft.files, File { path, facts: std::mem::take(&mut facts), patches });
                }
            }
            Fate::Added => {
                if path.is_some() {
                    reader.odd.leave_out("file_path");
                }
                draft.added.push(file);
            }
            Fate::Removed => removing(file.path.unwrap_or_default(), reader),
        }
    }
}

/// Writes the removal of a file, to be called after the rest.
fn removing(path: &str, reader: &mut Reader<'_>) {
    if !reader.offers(ToolId::Remove) {
        reader.odd.note(format!("the file {} is not removed", quoted(path)));
        return;
    }
    let path = reader.path(Some(json!(path)));
    let hash = reader.file_hash(&path, None).map(Part::Value);
    let hash = hash.unwrap_or_else(|| Part::blank_hash("the file_hash that a read of this file shows"));
    reader.then.push((ToolId::Remove, Part::Object(vec![("file_path", path), ("file_hash", hash)])));
}

/// Writes the move of a file, to be called after the rest.
fn moving(from: Option<Value>, to: &str, reader: &mut Reader<'_>) {
    if !reader.offers(ToolId::Move) {
        reader.odd.note(format!("no file is moved to {}", quoted(to)));
        return;
    }
    let from = reader.path(from);
    let to = reader.new_path(Some(json!(to)));
    reader.then.push((ToolId::Move, Part::Object(vec![("from", from), ("to", to)])));
}

fn patch(given: &mut Given<'_>, reader: &mut Reader<'_>) -> Option<Parts> {
    let mut out = Vec::new();
    let old = given.take("old_string").cloned();
    let new = given.take("new_string").cloned();
    let ranges = ranges::of(given, patch::RANGE, reader)?;
    match old {
        Some(old) => out.push(("old_string", Part::Value(old))),
        None if ranges.is_empty() => out.push(("old_string", Part::blank("the text to replace"))),
        None => {}
    }
    out.push(("new_string", new.map_or_else(|| Part::blank(NEW_STRING.blank()), Part::Value)));
    let all = given.take("replace_all").cloned();
    let expected = given.take("expected_replacements").and_then(spelled_integer).filter(|count| *count > 1);
    if ranges.is_empty() {
        let all = all.or_else(|| expected.map(|_| json!(true)));
        out.extend(all.map(|all| ("replace_all", Part::Value(all))));
    } else {
        out.push(("ranges", Part::List(ranges.into_iter().map(Part::Object).collect())));
    }
    Some(out)
}
