//! The same replacement in many files: what it makes of them, and that it is made as a whole or not at all.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::ControlFlow;

use mcp_text_editor_store::core::digest::Digest;
use mcp_text_editor_store::core::encoding::Label;
use mcp_text_editor_store::core::line::LineNumber;
use mcp_text_editor_store::core::rejection::Rejection;
use mcp_text_editor_store::{
    BadSearchPattern, Control, FileMatches, Patterns, Reason, ReplaceError, Replacements, Search,
    SearchProblem, SkipCause, Workspace,
};
use proptest::prelude::*;
use regex::{NoExpand, Regex, RegexBuilder};

use crate::world::World;

/// The most files of a call.
const FILES: u64 = 1_000;

fn replace(
    workspace: &Workspace,
    search: &Search<'_>,
    new: &str,
    expected: Option<u64>,
) -> Result<Replacements, ReplaceError> {
    workspace.replace(search, new, expected, FILES, Control::of("test"))
}

/// Returns the first reason why the files are not edited.
fn refusal(error: ReplaceError) -> Reason {
    let ReplaceError::Edit { mut error, .. } = error else { panic!("{error}") };
    error.problems.remove(0).reason
}

/// Returns what each file holds.
fn bytes(world: &World) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(world.path("")).unwrap().map(|entry| entry.unwrap());
    let read = |path: &std::path::Path| std::fs::read(path).unwrap();
    entries.map(|entry| (entry.file_name().into_string().unwrap(), read(&entry.path()))).collect()
}

/// A file, with `\n` for line ends: its encoding, whether it has a byte order mark, and its line ends.
type File = (String, (&'static str, bool), &'static str);

fn file() -> impl Strategy<Value = File> {
    let text = prop::collection::vec("[abAé ]{0,5}", 0..6).prop_map(|lines| lines.join("\n"));
    let form =
        prop::sample::select(&[("utf-8", false), ("utf-8", true), ("utf-16le", true), ("utf-32be", true)]);
    (text, form, prop::sample::select(&["\n", "\r\n", "\r"]))
}

fn bytes_of(text: &str, (label, has_bom): (&str, bool), ending: &str) -> Vec<u8> {
    let encoding = Label::parse(label).unwrap().encoding;
    let mut bytes = if has_bom { encoding.bom().to_vec() } else { Vec::new() };
    bytes.extend(encoding.encode(&text.replace('\n', ending)).unwrap());
    bytes
}

/// Replaces in one string.
fn model(text: &str, search: &Search<'_>, new: &str) -> (String, u64) {
    let pattern = if search.literal { regex::escape(search.pattern) } else { search.pattern.to_owned() };
    let mut builder = RegexBuilder::new(&pattern);
    let regex = builder.multi_line(true).case_insensitive(search.ignore_case).build().unwrap();
    let replaced = |regex: &Regex, text: &str| {
        let new_text = if search.literal {
            regex.replace_all(text, NoExpand(new))
        } else {
            regex.replace_all(text, new)
        };
        (new_text.into_owned(), regex.find_iter(text).count() as u64)
    };
    if search.multiline {
        return replaced(&regex, text);
    }
    let lines: Vec<_> = text.split('\n').map(|line| replaced(&regex, line)).collect();
    let text = lines.iter().map(|(line, _)| line.as_str()).collect::<Vec<_>>().join("\n");
    (text, lines.iter().map(|(_, count)| count).sum())
}

const PATTERNS: [&str; 10] =
    ["a", "a+", "(a)(b)?", "^a", "b$", r"\ba\b", r"a\s+", r"(?P<first>\w)\s(b)", "(?s)a.b", r"\Aa"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_files_are_as_if_each_were_replaced_in_one_string(
        files in prop::collection::vec(file(), 1..4),
        pattern in prop::sample::select(&PATTERNS[..]),
        new in prop::sample::select(&["", "x", "$0$$", "[${1}]", "a\nb", "é"][..]),
        (literal, multiline, ignore_case) in any::<(bool, bool, bool)>(),
    ) {
        // Only a group of the pattern may be named.
        prop_assume!(literal || !new.contains("{1}") || Regex::new(pattern).unwrap().captures_len() > 1);
        let world = World::new();
        let search = Search { literal, multiline, ignore_case, ..Search::new(pattern) };
        let (mut before, mut wanted) = (BTreeMap::new(), BTreeMap::new());
        let (mut places, mut changed) = (0, 0);
        for (index, (text, form, ending)) in files.iter().enumerate() {
            let name = index.to_string();
            world.write(&name, bytes_of(text, *form, ending));
            // A text without a line end has none that new text could take.
            let ending = if text.contains('\n') { ending } else { "\n" };
            let (replaced, count) = model(text, &search, new);
            before.insert(name.clone(), bytes_of(text, *form, ending));
            wanted.insert(name, bytes_of(&replaced, *form, ending));
            places += count;
            changed += u64::from(count > 0);
        }
        let counted = replace(&world.workspace, &search, new, None).unwrap();
        prop_assert_eq!((counted.places(), counted.file_paths.len() as u64), (places, changed));
        prop_assert_eq!(counted.outcome.files.iter().all(|file| file.diff.is_some()), true);
        let refused = replace(&world.workspace, &search, new, Some(places + 1)).map_err(refusal);
        let is_count = matches!(refused, Err(Reason::Count { expected, places: counted, files })
            if (expected, counted, files as u64) == (places + 1, places, changed));
        prop_assert!(is_count, "{:?}", refused);
        prop_assert_eq!(bytes(&world), before.clone());
        let done = replace(&world.workspace, &search, new, Some(places)).unwrap();
        prop_assert_eq!(bytes(&world), wanted.clone());
        #[cfg(feature = "history")]
        if before != wanted {
            world.workspace.undo(&done.outcome.edit_id.unwrap(), Control::of("test")).unwrap();
            prop_assert_eq!(bytes(&world), before);
        }
        let _ = done;
    }
}

proptest! {
    #[test]
    fn a_match_over_lines_has_all_lines_that_it_touches(
        (text, form, ending) in file(),
        pattern in prop::sample::select(&["a", r"a\s+", r"\n", "(?s)a.*b", r"\n\n|b", "^", "$", r"\na\n"][..]),
        (before, after) in (0..3_u64, 0..3_u64),
    ) {
        let world = World::new();
        let bytes = bytes_of(&text, form, ending);
        world.write("file", &bytes);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let regex = RegexBuilder::new(pattern).multi_line(true).build().unwrap();
        let line_of = |at: usize| text[..at].matches('\n').count();
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        for matched in regex.find_iter(&text) {
            let (first, last) = (line_of(matched.start()), line_of(matched.end().saturating_sub(1).max(matched.start())));
            match wanted.last_mut() {
                // Nothing follows the last line end.
                _ if first == lines.len() => {}
                Some(before) if first <= before.1 => before.1 = before.1.max(last),
                _ => wanted.push((first, last)),
            }
        }
        let mut hits = Vec::new();
        let search = Search { multiline: true, before, after, hashes: true, ..Search::new(pattern) };
        let mut take = |file: FileMatches| {
            hits.extend(file.matches);
            ControlFlow::Continue(())
        };
        world.workspace.search(&search, &mut take, Control::of("test")).unwrap();
        let encoded = |lines: &[&str]| Digest::of(&bytes_of(&lines.concat(), (form.0, false), ending));
        let ranges: Vec<_> = hits.iter().map(|hit| (hit.line.number, hit.end, hit.range_hash)).collect();
        let number = |line: usize| LineNumber::from_index(line as u64);
        // Without a line end in the file, a CR ends no line.
        let wanted_hits: Vec<_> = wanted.iter().map(|(first, last)| (number(*first), number(*last), Some(encoded(&lines[*first..=*last])))).collect();
        prop_assert_eq!(ranges, wanted_hits);
        let shown = hits.iter().flat_map(|hit| hit.before.iter().chain([&hit.line]).chain(&hit.rest).chain(&hit.after));
        let shown: Vec<_> = shown.map(|line| (line.number, line.text.clone())).collect();
        let [before, after] = [before, after].map(|lines| usize::try_from(lines).unwrap());
        let is_near = |line: usize| wanted.iter().any(|(first, last)| line + before >= *first && line <= last + after);
        let near = (0..lines.len()).filter(|line| is_near(*line));
        prop_assert_eq!(shown, near.map(|line| (number(line), lines[line].trim_end_matches('\n').to_owned())).collect::<Vec<_>>());
    }
}

/// At each question whether the call is cancelled, another program adds a place, or the call is cancelled.
#[test]
fn no_other_number_is_written_whatever_happens_meanwhile() {
    const COUNT: u64 = 8;
    for is_cancelled in [false, true] {
        let mut moment = 1;
        loop {
            let world = World::new();
            let paths: Vec<String> =
                (0..COUNT / 2).map(|name| world.write(&name.to_string(), "a\na\n")).collect();
            let questions = Cell::new(0);
            let question = || {
                questions.set(questions.get() + 1);
                if questions.get() == moment && !is_cancelled {
                    let mut file = std::fs::OpenOptions::new().append(true).open(&paths[1]).unwrap();
                    file.write_all(b"a\n").unwrap();
                }
                is_cancelled && questions.get() >= moment
            };
            let control = Control::of("test").cancelled_by(&question);
            let done = world.workspace.replace(&Search::new("a"), "b", Some(COUNT), FILES, control);
            let all = String::from_utf8(bytes(&world).into_values().flatten().collect()).unwrap();
            let count = |wanted: char| all.matches(wanted).count() as u64;
            let added = u64::from(!is_cancelled && questions.get() >= moment);
            let wanted = if done.is_ok() { (COUNT, added) } else { (0, COUNT + added) };
            assert_eq!((count('b'), count('a')), wanted, "{moment}: {done:?}");
            if questions.get() < moment {
                assert!(done.is_ok(), "{done:?}");
                break;
            }
            moment += 1;
        }
        assert!(moment > 10, "{moment}");
    }
}

#[test]
fn what_cannot_be_replaced_is_left_out_and_counted() {
    let settings = |builder: mcp_text_editor_store::WorkspaceBuilder| {
        builder.protect(Patterns::new(&["locked".to_owned()]).unwrap())
    };
    let world = World::with(settings);
    for (name, text) in [
        ("plain", &b"a\n"[..]),
        ("locked", b"a\n"),
        (".gitignore", b"ignored\n"),
        ("ignored", b"a\n"),
        ("binary", b"a\0\n"),
        ("latin", b"a\xe9\n"),
    ] {
        world.write(name, text);
    }
    world.write("large", "a line\n".repeat((8 << 20) / 7 + 1));
    let done = replace(&world.workspace, &Search::new("^a"), "b", Some(1)).unwrap();
    assert_eq!((done.file_paths.len(), done.searched), (1, 3));
    let skipped: Vec<_> = done.skipped.iter().map(|(cause, files)| (cause, files.count)).collect();
    let causes = [SkipCause::Binary, SkipCause::Undecodable, SkipCause::TooLarge, SkipCause::Protected];
    assert_eq!(skipped, causes.map(|cause| (cause, 1)));
    assert_eq!((&bytes(&world)["plain"][..], &bytes(&world)["locked"][..]), (&b"b\n"[..], &b"a\n"[..]));
}

#[test]
fn a_file_that_cannot_be_edited_keeps_all_from_it() {
    let world = World::new();
    world.write("a", "a\n");
    world.write("b", "a b\n");
    let latin = Search { encoding: Some("latin1"), ..Search::new("(a)( b)?") };
    let error = refusal(replace(&world.workspace, &latin, "x${2}…", Some(2)).unwrap_err());
    assert!(matches!(error, Reason::Rejected { rejection: Rejection::Unencodable { .. }, .. }), "{error}");
    assert!(bytes(&world).values().all(|text| text.starts_with(b"a")));
    let long = "x".repeat(4 << 20) + "a\n";
    world.write("long", long);
    let wide = Search::new(r"\pL{3,50}a");
    let error = replace(&world.workspace, &wide, "", Some(1)).unwrap_err();
    assert!(matches!(refusal(error), Reason::TooLong));
    let world = World::with(|builder| builder.max_file_bytes(2));
    let files: BTreeMap<_, _> = ["a", "b", "c"].map(|name| (name.to_owned(), b"a\n".to_vec())).into();
    for (name, text) in &files {
        world.write(name, text);
    }
    world.write("b", "aa\n");
    let error = refusal(replace(&world.workspace, &Search::new("a"), "b", Some(4)).unwrap_err());
    assert!(matches!(error, Reason::TooLarge { bytes: 3, .. }), "{error}");
    assert!(bytes(&world).values().all(|text| text.starts_with(b"a")));
}

#[test]
fn the_places_and_the_bytes_of_a_call_are_bounded() {
    let world = World::with(|builder| builder.max_occurrences(5).max_inserted_bytes(10));
    for name in ["a", "b"] {
        world.write(name, "a\na\na\n");
    }
    let most = |new| refusal(replace(&world.workspace, &Search::new("a"), new, None).unwrap_err());
    let Reason::Rejected { rejection, .. } = most("b") else { panic!() };
    assert!(matches!(rejection, Rejection::TooManyOccurrences { count: 6, most: 5, .. }), "{rejection}");
    std::fs::remove_file(world.path("b")).unwrap();
    assert!(replace(&world.workspace, &Search::new("a"), "bbb", None).is_ok());
    for new in ["bbbb", "${0}bbb", "$0$0$0$0", "bbb$0"] {
        let Reason::Rejected { rejection, .. } = most(new) else { panic!() };
        assert!(matches!(rejection, Rejection::TooMuchText { most: 10, .. }), "{new}: {rejection}");
    }
    let none = world.workspace.replace(&Search::new("a"), "b", None, 0, Control::of("test"));
    assert!(matches!(none, Err(ReplaceError::TooManyFiles { most: 0 })), "{none:?}");
}

#[test]
fn a_pattern_that_cannot_be_replaced_is_told_beside_all_else() {
    let world = World::new();
    let refused = |pattern, new| {
        let search = Search { paths: &["/nowhere"], ..Search::new(pattern) };
        let error = replace(&world.workspace, &search, new, None).unwrap_err();
        let ReplaceError::Search(error) = error else { panic!("{error}") };
        let [SearchProblem::Pattern(bad), SearchProblem::Refused { .. }] = &error.problems[..] else {
            panic!("{error}")
        };
        bad.clone()
    };
    for pattern in ["a*", "^", "a|", r"\b"] {
        assert_eq!(refused(pattern, "b"), BadSearchPattern::Empty, "{pattern}");
    }
    for (new, group) in [("$3", "3"), ("$2", "2"), ("$name", "name"), ("${1x}", "1x"), ("$1x", "1x")] {
        assert_eq!(refused("(a)", new), BadSearchPattern::Group(group.to_owned()), "{new}");
    }
    assert_eq!(refused("a\nb", "b"), BadSearchPattern::LineEnd);
    assert!(matches!(refused("(", "b"), BadSearchPattern::Regex(_)));
    let control = Control::of("test");
    let done = world.workspace.replace(&Search::new("(?<n>a)"), "$n$1$0$$1$ ", None, FILES, control);
    assert_eq!(done.map(|done| done.places()).unwrap(), 0);
}
