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

/// The most files among which an earlier entry of the same file is looked for.
const MAX_JOINED: usize = 1_000;

/// A file, and what is to become of it.
#[derive(Debug)]
struct File {
    path: Option<Value>,
    patches: Vec<Parts>,
    /// The other arguments of it: `contents`, `move_to`, `remove`.
    fate: Parts,
    /// Its `encoding` and its `file_hash`.
    facts: Parts,
}

impl File {
    fn patched(path: Option<Value>, patches: Vec<Parts>) -> Self {
        Self { path, patches, fate: Vec::new(), facts: Vec::new() }
    }

    /// Makes a file that is to be created, with this text.
    fn made(path: Option<Value>, text: Value, reader: &mut Reader<'_>) -> Self {
        let path = path.map(|path| reader.new_path(Some(path)).filled());
        Self { fate: vec![("contents", Part::Value(text))], ..Self::patched(path, Vec::new()) }
    }

    /// Writes the entry of the file.
    fn entry(self, reader: &mut Reader<'_>) -> Parts {
        let mut parts = vec![("file_path", reader.path(self.path))];
        if !self.patches.is_empty() {
            parts.push(("patches", Part::List(self.patches.into_iter().map(Part::Object).collect())));
        }
        parts.into_iter().chain(self.fate).chain(self.facts).collect()
    }
}

/// The call as it is rewritten.
#[derive(Default, Debug)]
struct Draft {
    files: Vec<File>,
    dry_run: Option<(&'static str, Part)>,
}

/// Rewrites a call: for the patch tool or, if it names one file, for the tool that does only what is asked.
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
                file(item.as_object()?, patch::FILE, reader, &mut draft)?;
            }
        }
        None => file(values, patch::TOOL.arguments, reader, &mut draft)?,
    }
    let Draft { mut files, dry_run } = draft;
    guard(&mut files, reader);
    let mut entries: Vec<Parts> = files.into_iter().map(|file| file.entry(reader)).collect();
    let (tool, call) = match entries.as_mut_slice() {
        [] => return None,
        [entry] => alone(std::mem::take(entry)),
        _ => (ToolId::Patch, listing(entries)),
    };
    let call = Part::Object(call.into_iter().chain(dry_run).collect());
    let by_text = (tool == ToolId::Patch).then(|| by_text_alone(&call, reader)).flatten();
    Some((tool, by_text.unwrap_or(call)))
}

fn listing(entries: Vec<Parts>) -> Parts {
    vec![("files", Part::List(entries.into_iter().map(Part::Object).collect()))]
}

/// Returns the call for one file: of the tool that does only that, or the short form of a patch.
fn alone(mut entry: Parts) -> (ToolId, Parts) {
    let has = |wanted: &str| entry.iter().any(|(name, _)| *name == wanted);
    let (is_patched, is_moved) = (has("patches"), has("move_to"));
    if has("contents") {
        return (ToolId::Create, entry);
    }
    if has("remove") {
        entry.retain(|(name, _)| matches!(*name, "file_path" | "file_hash"));
        return (ToolId::Remove, entry);
    }
    if is_moved && !is_patched {
        let renamed = |(name, part)| match name {
            "file_path" => Some(("from", part)),
            "move_to" => Some(("to", part)),
            _ => None,
        };
        return (ToolId::Move, entry.into_iter().filter_map(renamed).collect());
    }
    let is_one =
        |(name, part): &(&str, Part)| *name == "patches" && matches!(part, Part::List(all) if all.len() == 1);
    if is_moved || !entry.iter().any(is_one) {
        return (ToolId::Patch, listing(vec![entry]));
    }
    let short = entry.into_iter().flat_map(|(name, part)| match part {
        Part::List(patches) if name == "patches" => patches
            .into_iter()
            .flat_map(|patch| if let Part::Object(parts) = patch { parts } else { Vec::new() })
            .collect(),
        part => vec![(name, part)],
    });
    (ToolId::Patch, short.collect())
}

/// Adds their digests to lines that are replaced whatever they hold, if the lines can be shown.
fn guard(files: &mut [File], reader: &mut Reader<'_>) {
    let is_alone = files.len() == 1;
    for File { path, facts, patches, .. } in files {
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

/// Returns a call for one file without the lines beside its texts, if the call would be refused with them,
/// and would replace text only there without them: to other tools, lines say where to look.
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

impl Draft {
    fn take_dry_run(&mut self, given: &mut Given<'_>) {
        let given = given.take("dry_run").map(|value| ("dry_run", Part::Value(value.clone())));
        self.dry_run = given.or(self.dry_run.take());
    }
}

/// Finds the form for a text that is all of a file: its creation, or the replacement of all that it holds.
/// Returns `None` if neither is possible.
fn whole(
    path: Option<Value>,
    text: Value,
    facts: &[(&'static str, Part)],
    reader: &mut Reader<'_>,
) -> Option<Whole> {
    let path = reader.new_path(path);
    let encoding = label(facts);
    match reader.look(&path, encoding.as_deref()) {
        Look::Missing if reader.offers(ToolId::Create) => Some(Whole::Creation),
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

/// Tells whether an object holds a text for all of a file, and nothing that says where it comes.
fn is_whole(given: &Given<'_>, values: &Map<String, Value>) -> bool {
    let places = ["old_string", "ranges", "start", "end", "line", "range_hash", "replace_all"];
    WHOLE.contains(&given.name_of("new_string").as_str())
        && !places.iter().any(|name| given.has(name))
        && !other::appends(values)
}

/// The form in which a text for all of a file is told.
enum Whole {
    Creation,
    Replacement(Parts),
}

/// Reads the object of a file, or of a call for one file.
fn file(
    values: &Map<String, Value>,
    object: Object,
    reader: &mut Reader<'_>,
    draft: &mut Draft,
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
    // A text without a place is all of a file, whatever it is called.
    given.rename("contents", "new_string");
    draft.take_dry_run(&mut given);
    given.take("files");
    let path = given.take("file_path").cloned();
    let facts = given.rest(&["encoding", "file_hash"]);
    let mut out = File { facts, ..File::patched(path, Vec::new()) };
    for (name, tool) in [("move_to", ToolId::Move), ("remove", ToolId::Remove)] {
        if given.has(name) && !reader.offers(tool) {
            return None;
        }
        out.fate.extend(given.rest(&[name]));
    }
    match given.take_list("patches", reader.limits()) {
        Some(Value::Array(items)) if reader.admits(Limit::Patches, items.len()) => {
            for item in &items {
                let mut given = Given::of(item.as_object()?, patch::PATCH, &mut reader.odd)?;
                let path = given.take("file_path").cloned();
                let replacement = patch(&mut given, reader)?;
                given.leave_rest(&mut reader.odd);
                match path.filter(|path| out.path.as_ref() != Some(path)) {
                    Some(path) => {
                        add(&mut draft.files, File::patched(Some(path), vec![replacement]));
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
        None if !out.fate.is_empty() && !given.has("new_string") => {}
        None => match is_whole(&given, values).then(|| given.take("new_string")).flatten() {
            Some(text) => match whole(out.path.clone(), text.clone(), &out.facts, reader) {
                Some(Whole::Replacement(parts)) => out.patches.push(parts),
                Some(Whole::Creation) => {
                    out.facts.retain(|(name, _)| *name == "encoding");
                    let made = File::made(out.path.take(), text.clone(), reader);
                    out = File { facts: out.facts, ..made };
                }
                None => {
                    let old = Part::blank("the text to replace");
                    out.patches.push(vec![("old_string", old), ("new_string", Part::Value(text.clone()))]);
                }
            },
            None => out.patches.push(patch(&mut given, reader)?),
        },
    }
    given.leave_rest(&mut reader.odd);
    if !out.patches.is_empty() || !out.fate.is_empty() {
        add(&mut draft.files, out);
    }
    Some(())
}

/// Adds a file, or its patches to those of the same file.
fn add(files: &mut Vec<File>, file: File) {
    let is_same =
        |known: &&mut File| known.path == file.path && !known.patches.is_empty() && !file.patches.is_empty();
    match files.iter_mut().take(MAX_JOINED).find(is_same) {
        Some(known) => {
            known.patches.extend(file.patches);
            known.fate.extend(file.fate);
            if known.facts.is_empty() {
                known.facts = file.facts;
            }
        }
        None => files.push(file),
    }
}

/// Takes what a diff says, as far as the tools for it are offered. If the diff changes one file alone, a path
/// beside the diff takes precedence over the one in it.
fn take_diff(
    found: Vec<FileDiff<'_>>,
    mut path: Option<Value>,
    mut facts: Parts,
    reader: &mut Reader<'_>,
    draft: &mut Draft,
) {
    let alone = found.len() == 1;
    for file in found {
        let shown = quoted(file.path.unwrap_or_default());
        let named = file.path.map(Value::from);
        let file = match file.fate {
            Fate::Changed => {
                let path = if alone { path.take().or(named) } else { named.or_else(|| path.clone()) };
                let mut fate = Parts::new();
                match file.moved_to {
                    Some(to) if reader.offers(ToolId::Move) => {
                        fate.push(("move_to", reader.new_path(Some(json!(to)))));
                    }
                    Some(to) => reader.odd.note(format!("no file is moved to {}", quoted(to))),
                    None => {}
                }
                let patches = place::patches(file.hunks, path.as_ref(), label(&facts).as_deref(), reader);
                if patches.is_empty() && fate.is_empty() {
                    continue;
                }
                File { path, patches, fate, facts: std::mem::take(&mut facts) }
            }
            Fate::Added => {
                if path.is_some() {
                    reader.odd.leave_out("file_path");
                }
                if !reader.offers(ToolId::Create) {
                    reader.odd.note(format!("the new file {shown} is left out"));
                    continue;
                }
                let contents: String = file.hunks.into_iter().map(|hunk| hunk.new).collect();
                File::made(named, Value::from(contents), reader)
            }
            Fate::Removed => {
                if !reader.offers(ToolId::Remove) {
                    reader.odd.note(format!("the file {shown} is not removed"));
                    continue;
                }
                let path = named.map(|path| reader.path(Some(path)));
                let hash = path.as_ref().and_then(|path| reader.file_hash(path, None)).map(Part::Value);
                let blank = || Part::blank_hash("the file_hash that a read of this file shows");
                let facts = vec![("file_hash", hash.unwrap_or_else(blank))];
                let fate = vec![("remove", Part::Value(json!(true)))];
                File { fate, facts, ..File::patched(path.map(|path| path.filled()), Vec::new()) }
            }
        };
        add(&mut draft.files, file);
    }
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
