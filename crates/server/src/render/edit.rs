//! Makes the reply to an edit, as compact JSON. A model gets shorter hashes than a program and, if there are
//! many regions, only some of them.

use std::borrow::Cow;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::Tier;
use mcp_text_editor_core::regions::Region;
use mcp_text_editor_core::text_length::Measure;
use mcp_text_editor_store::{
    Became, Copied, Edited, Guard, InPlace, Lost, NotKept, Outcome, Remedy, Warning,
};
use serde_json::{Map, Value, json};

use super::escape::{json_text, path_by_itself};
use super::slips;
use crate::clients::{Capacity, most};

/// The length in which digests are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hashes {
    /// The first 16 digits, for a model.
    Short,
    /// All 64 digits, for a program.
    Whole,
}

impl Hashes {
    pub(crate) fn print(self, digest: &Digest) -> String {
        match self {
            Self::Short => digest.short(),
            Self::Whole => digest.to_string(),
        }
    }
}

/// The maximum number of regions of which a model is shown all.
const MAX_REGIONS: usize = 10;
/// The number of regions that a model is shown from the beginning if there are more. It is also shown the
/// last region.
const FIRST_REGIONS: usize = 3;
/// The maximum weight, without warnings, of a reply about several files with more than `MAX_REGIONS` regions.
const MAX_SHORT: usize = 800;

/// The amount of detail in the reply to an edit.
#[derive(Clone, Copy)]
struct Detail {
    /// The number of files.
    files: usize,
    /// The maximum weight of each file's regions, or of its diff.
    each: usize,
    /// The number of all regions, if a model is shown only some of them.
    short_of: Option<usize>,
}

impl Detail {
    /// Tells whether to show the region with this index in the reply.
    fn shows(self, place: usize) -> bool {
        self.short_of.is_none_or(|all| place < FIRST_REGIONS || place + 1 == all)
    }
}

/// Makes the reply to an edit. It names the files as the call named them. If it is too long, regions and
/// lines of diffs are left out first, from the end of the files that have the most, and then files. The reply
/// has the numbers of what was left out, and always the digest of each file that it names.
pub(crate) fn json<'a>(
    done: &Outcome,
    name: impl Fn(&Edited) -> &'a str,
    dry_run: bool,
    hashes: Hashes,
    capacity: &Capacity,
) -> Value {
    let files = done.files.len();
    let regions = done.files.iter().map(|file| file.regions.len()).sum();
    let short_of = (hashes == Hashes::Short && !dry_run && regions > MAX_REGIONS).then_some(regions);
    let warnings = warnings(done, &name, short_of.is_some());
    let mut room = *capacity;
    if short_of.is_some() && files > 1 {
        room.whole = room.whole.min(MAX_SHORT + room.measure.of(&json!(warnings).to_string()));
    }
    let render = |files, each| {
        reply(done, &name, dry_run, hashes, Detail { files, each, short_of }, capacity.measure, &warnings)
    };
    let fits = |reply: &Value| room.admits(&json_text(reply));
    let whole = render(files, capacity.whole);
    if fits(&whole) {
        return whole;
    }
    let least = render(files, 0);
    if fits(&least) {
        let each = most(capacity.whole, |each| fits(&render(files, each)));
        return render(files, each);
    }
    let files = most(files, |files| fits(&render(files, 0)));
    render(files, 0)
}

fn reply<'a>(
    done: &Outcome,
    name: impl Fn(&Edited) -> &'a str,
    dry_run: bool,
    hashes: Hashes,
    detail: Detail,
    measure: Measure,
    warnings: &[String],
) -> Value {
    let (mut place, mut shown) = (0, 0);
    let files = done.files.iter().take(detail.files).map(|file| {
        let (value, regions) = file_json(name(file), file, hashes, detail, place, measure);
        (place, shown) = (place + file.regions.len(), shown + regions);
        value
    });
    let files: Vec<Value> = files.collect();
    let mut object = Map::new();
    // A model that sees a diff seldom notices mistakes in it, so warnings come before everything else.
    if !warnings.is_empty() {
        object.insert("warnings".to_owned(), json!(warnings));
    }
    object.insert("result".to_owned(), json!(if dry_run { "dry_run" } else { "ok" }));
    if let Some(edit_id) = &done.edit_id {
        object.insert("edit_id".to_owned(), json!(edit_id.to_string()));
    }
    if let Some(all) = detail.short_of {
        object.insert("regions_not_shown".to_owned(), json!(all - shown));
    }
    let not_shown = done.files.len() - files.len();
    object.insert("files".to_owned(), json!(files));
    if not_shown > 0 {
        object.insert("files_not_shown".to_owned(), json!(not_shown));
    }
    Value::Object(object)
}

/// Returns the reply's object for a file, and the number of regions in that object. `place` is the index of
/// the file's first region among all regions of the reply.
fn file_json(
    file_path: &str,
    edited: &Edited,
    hashes: Hashes,
    detail: Detail,
    place: usize,
    measure: Measure,
) -> (Value, usize) {
    let (mut cut, mut regions) = (None, Vec::new());
    let mut object = Map::new();
    object.insert("file_path".to_owned(), json!(file_path));
    match &edited.became {
        Became::Edited | Became::Created => {}
        Became::Moved { from } => {
            object.insert("moved_from".to_owned(), json!(from));
        }
        // A dry run removes nothing.
        Became::Removed => {
            object.extend(edited.diff.is_none().then(|| ("removed".to_owned(), json!(true))));
        }
    }
    if let Some(digest) = &edited.digest {
        object.insert("file_hash".to_owned(), json!(hashes.print(digest)));
    }
    if let Some(diff) = &edited.diff {
        let diff = heading(edited) + diff;
        object.insert("diff".to_owned(), json!(as_much_of(&diff, detail.each, measure)));
    } else if matches!(edited.became, Became::Edited | Became::Created) || !edited.regions.is_empty() {
        let mut left = detail.each;
        for (_, region) in (place..).zip(&edited.regions).filter(|(place, _)| detail.shows(*place)) {
            let region = region_json(region, hashes);
            let Some(rest) = left.checked_sub(measure.of(&region.to_string()) + 1) else { break };
            left = rest;
            regions.push(region);
        }
        let not_shown = edited.regions.len() - regions.len();
        if detail.short_of.is_none() || !regions.is_empty() {
            object.insert("total_lines".to_owned(), json!(edited.total_lines));
            object.insert("regions".to_owned(), json!(regions));
        }
        if not_shown > 0 && detail.short_of.is_none() {
            object.insert("regions_not_shown".to_owned(), json!(not_shown));
            let what = match not_shown {
                1 => "the last region is".to_owned(),
                many => format!("the last {many} regions are"),
            };
            cut = Some(format!(
                "{what} not shown, for want of room: the edits there were made; read those lines again before \
                 you edit them by number"
            ));
        }
    }
    let others = edited.warnings.iter().filter(|warning| detail.short_of.is_none() && !is_of_text(warning));
    let warnings: Vec<Cow<'_, str>> = others.map(words).chain(cut.map(Cow::from)).collect();
    if !warnings.is_empty() {
        object.insert("warnings".to_owned(), json!(warnings));
    }
    (Value::Object(object), regions.len())
}

/// The maximum number of warnings about texts in a reply.
const MAX_TEXT_WARNINGS: usize = 20;

/// Returns the warnings about the texts of a call, which come before everything else in the reply. If there
/// are several files, each warning names its file. A short reply can lack files, so it has the other warnings
/// here, too.
fn warnings<'a>(done: &Outcome, name: impl Fn(&Edited) -> &'a str, is_short: bool) -> Vec<String> {
    let is_one = done.files.len() == 1;
    let of_file = |edited: &'_ Edited| {
        let path = if is_one { String::new() } else { format!("{}: ", path_by_itself(name(edited))) };
        let texts = edited.warnings.iter().filter(|warning| is_of_text(warning));
        texts.map(|warning| format!("{path}{}", words(warning))).collect::<Vec<_>>()
    };
    let mut texts: Vec<String> = done.files.iter().flat_map(of_file).collect();
    let more = texts.len().saturating_sub(MAX_TEXT_WARNINGS);
    texts.truncate(MAX_TEXT_WARNINGS);
    if more > 0 {
        texts.push(format!("and {more} more of this kind"));
    }
    if is_short {
        texts.extend(joined(done, name, |warning| !is_of_text(warning)));
    }
    texts
}

/// Returns the wanted warnings about the files of an edit. A warning that several files share (for instance
/// that the history does not keep the edit) occurs once, with the first file and the number of further files.
pub(super) fn joined<'a>(
    done: &Outcome,
    name: impl Fn(&Edited) -> &'a str,
    is_wanted: impl Fn(&Warning) -> bool,
) -> Vec<String> {
    let mut all: Vec<(Cow<'_, str>, &Edited, usize)> = Vec::new();
    for edited in &done.files {
        for warning in edited.warnings.iter().filter(|warning| is_wanted(warning)) {
            let words = words(warning);
            match all.iter_mut().find(|(known, ..)| *known == words) {
                Some((_, _, more)) => *more += 1,
                None => all.push((words, edited, 0)),
            }
        }
    }
    let worded = all.into_iter().map(|(words, edited, more)| match (path_by_itself(name(edited)), more) {
        _ if done.files.len() == 1 => words.into_owned(),
        (path, 0) => format!("{path}: {words}"),
        (path, more) => format!("{path} and {more} more: {words}"),
    });
    worded.collect()
}

fn is_of_text(warning: &Warning) -> bool {
    matches!(warning, Warning::Text(_) | Warning::ChangedByOthers(_))
}

/// Returns the line above the diff of a created or removed file, as in git's diffs; empty for any other file.
fn heading(edited: &Edited) -> String {
    let goes = edited.became == Became::Removed || edited.warnings.contains(&Warning::Removed);
    match edited.digest {
        Some(_) if goes => "deleted file\n",
        Some(_) => "",
        None => "new file\n",
    }
    .to_owned()
}

/// Returns as many whole lines from the beginning of a diff as fit. If lines are left out, a last line says
/// how many.
pub(super) fn as_much_of(diff: &str, most: usize, measure: Measure) -> Cow<'_, str> {
    let measure = measure.inside_json();
    if measure.of(diff) <= most {
        return diff.into();
    }
    let (mut shown, mut weight) = (0, 0);
    for line in diff.split_inclusive('\n') {
        weight += measure.of(line);
        if weight > most {
            break;
        }
        shown += line.len();
    }
    let (shown, hidden) = diff.split_at_checked(shown).unwrap_or((diff, ""));
    // The hidden lines include those that the diff itself has left out.
    let counted = hidden.lines().next_back().and_then(left_out_before);
    let lines = hidden.lines().count() as u64;
    let lines = counted.map_or(lines, |before| lines - 1 + before);
    format!("{shown}{}", mcp_text_editor_core::diff::more_lines(lines)).into()
}

/// Parses the number of omitted lines in the last line of a shortened diff.
fn left_out_before(line: &str) -> Option<u64> {
    line.strip_prefix("… ")?.split_once(" more line")?.0.parse().ok()
}

fn region_json(region: &Region, hashes: Hashes) -> Value {
    let mut object = lines_json(region.lines);
    object.insert("range_hash".to_owned(), json!(hashes.print(&region.digest)));
    object.insert("replaced".to_owned(), Value::Object(lines_json(region.replaced)));
    if region.tier == Tier::TrailingWhitespace {
        object.insert("match".to_owned(), json!("trailing_whitespace"));
    }
    Value::Object(object)
}

fn lines_json(lines: LineRange) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("start".to_owned(), json!(lines.start().get()));
    object.insert("end".to_owned(), json!(lines.end()));
    object
}

fn in_place(reason: InPlace) -> &'static str {
    macro_rules! edited_in_place {
        ($because:literal) => {
            concat!(
                $because,
                ", so it was edited in place: another program's write in the last instant could have been lost"
            )
        };
    }
    match reason {
        InPlace::SeveralNames => {
            "the file has several hard links, so it was edited in place: its other names show the new content, too, and another program's write in the last instant could have been lost"
        }
        InPlace::Mounted => edited_in_place!("the file is a mount point"),
        InPlace::NameWithheld => {
            edited_in_place!("the file system does not give the file's name to another one")
        }
        InPlace::Asked => edited_in_place!("the file matches --in-place"),
        InPlace::DirectoryGuarded(Guard::Immutable) if cfg!(target_vendor = "apple") => {
            edited_in_place!("the file's directory is locked (chflags uchg or schg)")
        }
        InPlace::DirectoryGuarded(Guard::AppendOnly) if cfg!(target_vendor = "apple") => {
            edited_in_place!("the file's directory is append-only (chflags uappnd or sappnd)")
        }
        InPlace::DirectoryGuarded(Guard::Immutable) => {
            edited_in_place!("the file's directory is immutable (chattr +i)")
        }
        InPlace::DirectoryGuarded(Guard::AppendOnly) => {
            edited_in_place!("the file's directory is append-only (chattr +a)")
        }
        InPlace::DirectoryNotWritable => edited_in_place!("the file's directory may not be written"),
        InPlace::Owner => edited_in_place!("a new file could not be given the file's owner or group"),
        InPlace::Attributes => {
            edited_in_place!(
                "a new file could not be given the file's extended attributes or access control list"
            )
        }
        InPlace::Streams => edited_in_place!("a new file could not be given the file's alternate streams"),
        InPlace::HeldOpen => edited_in_place!("another program holds the file open, and keeps its name"),
        InPlace::OpenForWriting => edited_in_place!("another program has the file open for writing"),
    }
}

/// Says which flags and other marks of the old file the new file does not have.
fn flags_not_kept(lost: Lost) -> String {
    let names = lost.names();
    // The flags of chattr are letters, those of chflags are words.
    let (joined, program) = if cfg!(target_vendor = "apple") {
        (names.join(", "), "chflags")
    } else {
        (names.concat(), "chattr")
    };
    let flags = match names.len() {
        0 => None,
        1 => Some(format!("flag {joined}")),
        _ => Some(format!("flags {joined}")),
    };
    let others = [(lost.project, "project number"), (lost.extent_size, "extent size hint")];
    let others = others.into_iter().filter(|(is_lost, _)| *is_lost).map(|(_, what)| what.to_owned());
    let all: Vec<String> = flags.into_iter().chain(others).collect();
    format!("the new file could not be given the old one's {} ({program})", all.join(" and "))
}

/// Says that a file was copied, and what the copy lacks.
fn copied(how: Copied) -> String {
    let words = "the file could not be renamed to there, as to another file system: it was copied, and removed where it was";
    lacking(words, how)
}

/// Adds to `words` the properties that a file has lost because it is a new file now.
fn lacking(words: &str, how: Copied) -> String {
    let mut words = words.to_owned();
    if how.loses_metadata {
        words.push_str("; the copy could not be given all of its owner, group, attributes and flags");
    }
    if how.leaves_names {
        words.push_str("; its other hard links stay where they are, and are another file now");
    }
    words
}

/// Says that there is no state directory, and what a person can do about it.
pub(crate) fn no_state(reason: &str) -> String {
    format!(
        "edits have no journal and no history, so none can be undone: {reason}; a person can name another directory with --state-dir"
    )
}

/// Words a warning about an edit that succeeded.
pub(crate) fn words(warning: &Warning) -> Cow<'static, str> {
    let words = match warning {
        Warning::Unchanged => "unchanged",
        Warning::FinalNewlineAdded => "the last line had no line end: one was added before the new text",
        Warning::ChangedByOthers(changes) => return slips::changes(changes).into(),
        Warning::Text(slip) => return slips::warning(slip).into(),
        Warning::EditedInPlace(reason) => in_place(*reason),
        Warning::FlagsNotKept(lost) => return flags_not_kept(*lost).into(),
        Warning::NotExchanged => {
            "this file system cannot exchange names: another program's write in the last instant could have been lost"
        }
        Warning::NotLocked => {
            "this file system has no locks: another process of this server could have written at the same time"
        }
        Warning::NoJournal => {
            "the state directory cannot be written: a crash in the middle of this edit would have left it half done"
        }
        Warning::BesideLaterEdits => "taken back beside later edits, which stay",
        Warning::Removed => "the file did not exist before the edit that is undone, so it is removed",
        Warning::Copied(how) => return copied(*how).into(),
        Warning::Rewritten(how) => {
            return lacking("the file was edited and moved, so it is a new file", *how).into();
        }
        Warning::NoState(reason) => return no_state(reason).into(),
        // The reply to the first edit has already said the reason, as `NoState`.
        Warning::NotInHistory(NotKept::Off | NotKept::Unavailable { remedy: Remedy::StateDirectory, .. }) => {
            "not kept in the history, so it cannot be undone"
        }
        Warning::NotInHistory(NotKept::Secret) => {
            "not kept in the history, because the file may hold secrets, so it cannot be undone"
        }
        Warning::NotInHistory(NotKept::TooLarge) => {
            "too large to be kept in the history, so it cannot be undone"
        }
        Warning::NotInHistory(NotKept::Unavailable { reason, .. }) => {
            return format!("not kept in the history, so it cannot be undone: {reason}").into();
        }
    };
    words.into()
}
