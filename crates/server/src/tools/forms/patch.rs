//! Replacements in another form, as a patch call.

use serde_json::{Map, Value, json};

use super::given::{Given, quoted};
use super::hunks::{Fate, FileDiff, Hunk};
use super::levels::{Level, PATCH, PATCH_CALL, PATCH_FILE, RANGE};
use super::reader::Reader;
use super::{diff, ranges};
use crate::arguments::spelled_integer;
use crate::limits::Limit;
use crate::render::part::Part;
use crate::tool_id::ToolId;

/// Among no more files than these it is looked for one that was named before.
const MAX_JOINED: usize = 1_000;

/// A file, and what is to be replaced in it.
#[derive(Debug)]
struct File {
    path: Option<Value>,
    /// Its `encoding` and its `file_hash`.
    facts: Vec<(&'static str, Part)>,
    patches: Vec<Vec<(&'static str, Part)>>,
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
        let mut top = Given::of(values, &PATCH_CALL, &mut reader.odd)?;
        listed = top.take_list("files", reader.limits());
        if listed.is_some() {
            draft.take_dry_run(&mut top);
            top.leave_rest(&mut reader.odd);
        }
    }
    match &listed {
        Some(listed) => {
            for item in listed.as_array().filter(|items| reader.admits(Limit::Files, items.len()))? {
                let mut one = Draft { files: std::mem::take(&mut draft.files), ..Draft::default() };
                file(item.as_object()?, &PATCH_FILE, reader, &mut one)?;
                draft.files = one.files;
                note_added(&one.added, reader);
            }
        }
        None => file(values, &PATCH_CALL, reader, &mut draft)?,
    }
    let Draft { mut files, added, dry_run } = draft;
    if files.is_empty() {
        return create(added, dry_run, reader);
    }
    note_added(&added, reader);
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
    Some((ToolId::Patch, Part::Object(call.into_iter().chain(dry_run).collect())))
}

impl Draft<'_> {
    fn take_dry_run(&mut self, given: &mut Given<'_>) {
        self.dry_run = given.take("dry_run").map(|value| ("dry_run", Part::Value(value.clone())));
    }
}

/// Says of the files that a diff adds that the call leaves them out.
fn note_added(added: &[FileDiff<'_>], reader: &mut Reader<'_>) {
    for file in added {
        let path = quoted(file.path.unwrap_or_default());
        let maker = Some(ToolId::Create).filter(|tool| reader.offers(*tool));
        let how = maker.map_or_else(String::new, |tool| format!(", which takes a call of {}", tool.name()));
        reader.odd.note(format!("the new file {path} is left out{how}"));
    }
}

/// Writes the creation of the first of the new files.
fn create(
    added: Vec<FileDiff<'_>>,
    dry_run: Option<(&'static str, Part)>,
    reader: &mut Reader<'_>,
) -> Option<(ToolId, Part)> {
    let mut added = added.into_iter();
    let first = added.next().filter(|_| reader.offers(ToolId::Create))?;
    note_added(added.as_slice(), reader);
    let contents = first.hunks.into_iter().map(|hunk| hunk.new).collect::<String>();
    let mut parts = vec![
        ("file_path", reader.path(first.path.map(Value::from))),
        ("contents", Part::Value(Value::from(contents))),
    ];
    parts.extend(dry_run);
    Some((ToolId::Create, Part::Object(parts)))
}

/// Reads the object of a file, or of a call for one file.
fn file<'v>(
    values: &'v Map<String, Value>,
    level: &Level,
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
        let mut given = Given::of(&others, level, &mut reader.odd)?;
        let path = given.take("file_path").cloned();
        let facts = facts(&mut given);
        draft.take_dry_run(&mut given);
        given.leave_rest(&mut reader.odd);
        reader.odd.say(&format!("a diff in {}", quoted(name)));
        take_diff(found, path, facts, reader, draft);
        return Some(());
    }
    let mut given = Given::of(values, level, &mut reader.odd)?;
    draft.take_dry_run(&mut given);
    given.take("files");
    let path = given.take("file_path").cloned();
    let facts = facts(&mut given);
    let mut out = File { path, facts, patches: Vec::new() };
    match given.take_list("patches", reader.limits()) {
        Some(Value::Array(items)) if reader.admits(Limit::Patches, items.len()) => {
            for item in &items {
                let mut given = Given::of(item.as_object()?, &PATCH, &mut reader.odd)?;
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
            out.patches.push(patch(&mut Given::of(&values, &PATCH, &mut reader.odd)?, reader)?);
        }
        Some(_) => return None,
        None => out.patches.push(patch(&mut given, reader)?),
    }
    given.leave_rest(&mut reader.odd);
    if !out.patches.is_empty() {
        add(&mut draft.files, out);
    }
    Some(())
}

/// Takes what holds for a whole file.
fn facts(given: &mut Given<'_>) -> Vec<(&'static str, Part)> {
    let names = ["encoding", "file_hash"].into_iter();
    names.filter_map(|name| Some((name, Part::Value(given.take(name)?.clone())))).collect()
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
    mut facts: Vec<(&'static str, Part)>,
    reader: &mut Reader<'_>,
    draft: &mut Draft<'v>,
) {
    let alone = found.len() == 1;
    for file in found {
        let named = file.path.map(Value::from);
        match file.fate {
            Fate::Changed => {
                if let Some(moved_to) = file.moved_to {
                    reader.odd.note(format!("no file is moved to {}", quoted(moved_to)));
                }
                let path = if alone { path.take().or(named) } else { named.or_else(|| path.clone()) };
                let patches: Vec<_> = file.hunks.into_iter().map(hunk).collect();
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
            Fate::Removed => {
                let path = quoted(file.path.unwrap_or_default());
                reader.odd.note(format!("the file {path} is not removed"));
            }
        }
    }
}

fn hunk(hunk: Hunk) -> Vec<(&'static str, Part)> {
    let old = if hunk.old.is_empty() {
        Part::blank("the line beside which the new text comes")
    } else {
        Part::Value(Value::from(hunk.old))
    };
    vec![("old_string", old), ("new_string", Part::Value(Value::from(hunk.new)))]
}

fn patch(given: &mut Given<'_>, reader: &mut Reader<'_>) -> Option<Vec<(&'static str, Part)>> {
    let mut out = Vec::new();
    let old = given.take("old_string").cloned();
    let new = given.take("new_string").cloned();
    let mut ranges = ranges::of(given, &RANGE, reader)?;
    let is_unguarded = old.is_none();
    for range in ranges.iter_mut().filter(|_| is_unguarded) {
        if range.iter().all(|(name, _)| *name != "range_hash") {
            range.push((
                "range_hash",
                Part::blank_hash("the range_hash that a read of exactly these lines shows"),
            ));
        }
    }
    match old {
        Some(old) => out.push(("old_string", Part::Value(old))),
        None if ranges.is_empty() => out.push(("old_string", Part::blank("the text to replace"))),
        None => {}
    }
    out.push(("new_string", new.map_or_else(|| Part::blank("the text to put there"), Part::Value)));
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
