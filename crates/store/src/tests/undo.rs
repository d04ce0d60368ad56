use std::cell::Cell;
use std::path::{Path, PathBuf};

use crate::access::patterns::Patterns;
use crate::access::policy::Policy;
use crate::access::roots::{PathError, Roots};
use crate::cancellation::Cancellation;
use crate::commit::in_place::InPlace;
use crate::edit::undo::{self, UndoError, undo};
use crate::edit::{self, Edit, EditChange, EditOptions, Outcome, Reason, Warning, edit};
use crate::history::{ChangeKind, EditId, Filter, History, NotKept, Settings};
use crate::state_dir::StateDir;
use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::Patch;
use mcp_text_editor_core::splice::{Splice, SpliceSet};

use crate::tests::world::{World, options, unlink};

pub(super) fn kept() -> World {
    let mut world = World::new();
    keep_history(&mut world, &[]);
    world
}

fn keep_history(world: &mut World, excluded: &[&str]) {
    let state = StateDir::open(&world.path("@/state")).unwrap();
    let excluded = excluded.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>();
    let settings = Settings { excluded: Patterns::new(&excluded).unwrap(), days: 30, bytes: 1 << 20 };
    world.workspace.history = History::new(&state, settings);
    world.workspace.state_dir = Some(state);
}

pub(super) fn id(outcome: Outcome) -> EditId {
    let mut warnings = outcome.files.iter().flat_map(|file| &file.warnings);
    assert!(warnings.all(|warning| matches!(warning, Warning::Text(_))), "{outcome:?}");
    outcome.edit_id.unwrap()
}

/// Replaces a text in files, in one call.
pub(super) fn patch(world: &World, paths: &[&str], old: &str, new: &str) -> EditId {
    let patches = [Patch {
        old_string: Some(old.to_owned()),
        new_string: new.to_owned(),
        ranges: vec![],
        replace_all: true,
    }];
    let paths: Vec<PathBuf> = paths.iter().map(|path| world.path(path)).collect();
    let edits = paths.iter().map(|path| Edit::new(path.to_str().unwrap(), EditChange::Patch(&patches)));
    id(edit(&world.workspace, &edits.collect::<Vec<_>>(), options("patch_text_file_contents")).unwrap())
}

fn make(world: &World, path: &str, contents: &str) -> EditId {
    let path = world.path(path);
    let new = Edit::new(path.to_str().unwrap(), EditChange::Create(contents));
    id(edit(&world.workspace, &[new], options("patch_text_file_contents")).unwrap())
}

pub(super) fn back(world: &World, id: &EditId) -> EditId {
    undo(&world.workspace, id, options("undo")).unwrap().outcome.edit_id.unwrap()
}

/// Returns the conflicts of an undo: for each, the file's name, whether the file exists, and the later edit
/// that prevents the undo.
pub(super) fn conflicts(world: &World, id: &EditId) -> Vec<(String, bool, Option<EditId>)> {
    let Err(UndoError::Problems(found)) = undo(&world.workspace, id, options("undo")) else {
        panic!("it went through")
    };
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    let conflict = |conflict: &undo::Conflict| {
        let path = found.entry.files[conflict.file].path.file_name().unwrap().to_str().unwrap().to_owned();
        (
            path,
            conflict.now.is_some(),
            conflict.later.as_ref().and_then(|later| Some(later.entry.as_ref()?.id.clone())),
        )
    };
    found.conflicts.iter().map(conflict).collect()
}

/// Fails if a temporary file or a record is left.
pub(super) fn assert_clean(world: &World) {
    let strays: Vec<_> = world.names().into_iter().filter(|name| name.contains(".mte-")).collect();
    assert_eq!(strays, [""; 0]);
    assert_eq!(std::fs::read_dir(world.path("@/state/journal")).unwrap().count(), 0);
}

#[test]
fn undo_redo_and_so_on() {
    let mut world = kept();
    let original = "one\r\ntwo\nthree\u{e9}\rfour";
    world.write("@/root/d/a", original);
    let edit = patch(&world, &["@/root/d/a"], "two", "2\n2");
    let edited = world.content("@/root/d/a");
    // When a person undoes edits, the only roots are those of the edited files.
    let (entry, _) = world.workspace.history.get(&edit).unwrap().unwrap();
    world.workspace.serve_files_of([&entry]).unwrap();
    let mut last = edit.clone();
    for _ in 0..3 {
        let undone = undo(&world.workspace, &last, options("undo")).unwrap();
        assert_eq!(undone.entry.id, last);
        assert_eq!(undone.outcome.files[0].digest, Some(Digest::of(original.as_bytes())));
        assert_eq!(undone.outcome.files[0].regions[0].lines.count(), 1);
        assert_eq!(world.content("@/root/d/a"), original);
        last = back(&world, &undone.outcome.edit_id.unwrap());
        assert_eq!(world.content("@/root/d/a"), edited);
    }
    let entries = world.workspace.history.list(None, 99, &|_| true).unwrap();
    assert_eq!(entries.len(), 7);
    assert_eq!((entries[6].id.clone(), entries[5].undoes.clone()), (edit.clone(), Some(edit)));
    assert_eq!(entries[5].tool, "undo");
    for entry in entries {
        assert_eq!(entry.files[0].relative, Path::new("d/a"), "it is filed under the root of the edit");
    }
    assert_clean(&world);
}

#[test]
fn what_was_edited_in_place_comes_back_in_place() {
    let mut world = kept();
    world.write("@/root/a", "one\n");
    world.workspace.in_place = Patterns::new(&["a".to_owned()]).unwrap();
    let held = std::fs::File::open(world.path("@/root/a")).unwrap();
    let path = world.path("@/root/a");
    let patches = [Patch {
        old_string: Some("one\n".to_owned()),
        new_string: "two\n".to_owned(),
        ranges: vec![],
        replace_all: false,
    }];
    let call = Edit::new(path.to_str().unwrap(), EditChange::Patch(&patches));
    let done = edit(&world.workspace, &[call], options("patch_text_file_contents")).unwrap();
    assert_eq!(done.files[0].warnings, [Warning::EditedInPlace(InPlace::Asked)]);
    let undone = undo(&world.workspace, &done.edit_id.unwrap(), options("undo")).unwrap().outcome;
    assert_eq!(undone.files[0].warnings, [Warning::EditedInPlace(InPlace::Asked)]);
    assert_eq!(std::io::read_to_string(held).unwrap(), "one\n");
    assert_eq!(world.content("@/root/a"), "one\n");
    assert_clean(&world);
}

#[test]
fn many_places_come_back() {
    let world = kept();
    let original = "a-a-\u{3042}a\naa\n".repeat(30);
    world.write("@/root/a", &original);
    for new in ["", "b", "aa", "longer \u{3042}\n"] {
        let edit = patch(&world, &["@/root/a"], "a", new);
        assert_ne!(world.content("@/root/a"), original);
        back(&world, &edit);
        assert_eq!(world.content("@/root/a"), original);
    }
}

#[test]
fn text_that_comes_back_inside_of_a_line_is_that_line_once() {
    let world = kept();
    world.write("@/root/a", "one a two a\nnext a");
    let edit = patch(&world, &["@/root/a"], "a", "");
    let dry =
        undo(&world.workspace, &edit, EditOptions { dry_run: true, ..options("undo") }).unwrap().outcome;
    let diff = dry.files[0].diff.clone().unwrap();
    let (_, hunk) = diff.split_once("@@\n").unwrap();
    assert_eq!(
        hunk,
        "-one  two \n-next \n\\ No newline at end of file\n+one a two a\n+next a\n\\ No newline at end of file\n"
    );
    let undone = undo(&world.workspace, &edit, options("undo")).unwrap().outcome;
    let regions: Vec<_> = undone.files[0]
        .regions
        .iter()
        .map(|region| format!("{:?} {:?}", region.replaced, region.lines))
        .collect();
    assert_eq!(regions, ["1-1 1-1", "2-2 2-2"]);
    assert_eq!(world.content("@/root/a"), "one a two a\nnext a");
}

/// If the cost of each replaced place grew with the length of its line, this test would take hours.
#[test]
fn as_many_places_as_a_call_may_change_come_back() {
    let world = kept();
    for (unit, end) in [("ab", "\n"), ("ab", ""), ("ab\n", "")] {
        let original = unit.repeat(100_000) + end;
        world.write("@/root/a", &original);
        let edit = patch(&world, &["@/root/a"], "a", "");
        assert_eq!(world.content("@/root/a"), unit.replace('a', "").repeat(100_000) + end);
        let undone = undo(&world.workspace, &edit, options("undo")).unwrap().outcome;
        assert_eq!(undone.files[0].regions.len(), if unit.ends_with('\n') { 100_000 } else { 1 });
        assert_eq!(world.content("@/root/a"), original);
    }
}

#[test]
fn a_dry_run_shows_and_changes_nothing() {
    let world = kept();
    world.write("@/root/a", "one\n");
    let edit = patch(&world, &["@/root/a"], "one", "two");
    let made = make(&world, "@/root/b/c", "new\n");
    let removed = make(&world, "@/root/d", "old\n");
    let removed = back(&world, &removed);
    let names = world.names();
    let dry = EditOptions { dry_run: true, ..options("undo") };
    for (id, part) in [(edit, "-two\n+one"), (made, "-new\n"), (removed, "+old\n")] {
        let undone = undo(&world.workspace, &id, dry).unwrap().outcome;
        assert_eq!(undone.edit_id, None);
        let diff = undone.files[0].diff.clone().unwrap();
        assert!(diff.contains(part), "{diff}");
    }
    assert_eq!(world.names(), names);
    assert_eq!(world.content("@/root/a"), "two\n");
    assert_eq!(world.workspace.history.list(None, 99, &|_| true).unwrap().len(), 4);
}

#[test]
fn a_file_that_was_created_goes_with_its_directories() {
    let world = kept();
    world.write("@/root/there/x", "");
    let files = |world: &World| -> Vec<_> {
        world.names().into_iter().filter(|name| name.starts_with("root/")).collect()
    };
    let before = files(&world);
    let made = make(&world, "@/root/there/a/b/c.txt", "content\n");
    let undone = undo(&world.workspace, &made, options("undo")).unwrap().outcome;
    assert_eq!(undone.files[0].digest, None);
    assert_eq!(undone.files[0].warnings, [Warning::Removed]);
    assert_eq!(files(&world), before);
    // Redo the edit, and undo it once more.
    let redone = back(&world, &undone.edit_id.unwrap());
    assert_eq!(world.content("@/root/there/a/b/c.txt"), "content\n");
    let entry = &world.workspace.history.list(None, 2, &|_| true).unwrap();
    assert_eq!([entry[0].files[0].kind, entry[1].files[0].kind], [ChangeKind::Created, ChangeKind::Removed]);
    assert_clean(&world);
    // A directory that another program uses stays, and so do those above it.
    world.write("@/root/there/a/other", "");
    back(&world, &redone);
    let names: Vec<_> = world.names().into_iter().filter(|name| name.contains("there/")).collect();
    assert_eq!(names, ["root/there/a", "root/there/a/other", "root/there/x"]);
    assert_clean(&world);
}

#[test]
fn what_changed_since_is_a_conflict() {
    let world = kept();
    world.write("@/root/a", "one\n");
    let first = patch(&world, &["@/root/a"], "one", "two");
    let second = patch(&world, &["@/root/a"], "two", "three");
    let name = || "a".to_owned();
    assert_eq!(conflicts(&world, &first), [(name(), true, Some(second.clone()))]);
    back(&world, &back(&world, &back(&world, &second)));
    back(&world, &first);
    assert_eq!(world.content("@/root/a"), "one\n");
    // Another program changes the file.
    world.write("@/root/a", "foreign\n");
    assert_eq!(conflicts(&world, &first).len(), 1);
    let other = patch(&world, &["@/root/a"], "foreign", "x");
    world.write("@/root/a", "foreign\n");
    assert_eq!(conflicts(&world, &other), [(name(), true, None)]);
    std::fs::remove_file(world.path("@/root/a")).unwrap();
    assert_eq!(conflicts(&world, &other), [(name(), false, None)]);
    let made = make(&world, "@/root/new", "new");
    let removed = back(&world, &made);
    world.write("@/root/new", "foreign");
    assert_eq!(conflicts(&world, &removed), [("new".to_owned(), true, None)]);
    assert_eq!(conflicts(&world, &made).len(), 1);
    assert_eq!(world.content("@/root/new"), "foreign");
    std::fs::remove_file(world.path("@/root/new")).unwrap();
    assert_eq!(conflicts(&world, &made), [("new".to_owned(), false, Some(removed))]);
    assert_clean(&world);
}

#[test]
fn of_many_files_all_come_back_or_none() {
    let world = kept();
    let paths = ["@/root/a", "@/root/b", "@/root/c"];
    for path in paths {
        world.write(path, "one\n");
    }
    let edit = patch(&world, &paths, "one", "two");
    let later = patch(&world, &["@/root/b"], "two", "three");
    std::fs::remove_file(world.path("@/root/c")).unwrap();
    // Both conflicts are reported.
    let expected = [("b".to_owned(), true, Some(later.clone())), ("c".to_owned(), false, None)];
    assert_eq!(conflicts(&world, &edit), expected);
    assert_eq!(world.content("@/root/a"), "two\n");
    world.write("@/root/c", "two\n");
    back(&world, &later);
    back(&world, &edit);
    for path in paths {
        assert_eq!(world.content(path), "one\n");
    }
    assert_clean(&world);
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_no_conflict() {
    let world = kept();
    world.write("@/root/a", "one\n");
    let edit = patch(&world, &["@/root/a"], "one", "two");
    std::fs::remove_file(world.path("@/root/a")).unwrap();
    std::fs::create_dir(world.path("@/root/a")).unwrap();
    let Err(UndoError::Problems(found)) = undo(&world.workspace, &edit, options("undo")) else {
        panic!("it went through")
    };
    assert_eq!((found.conflicts.len(), found.problems.len()), (0, 1), "{found}");
}

#[test]
fn whether_the_edit_in_the_way_left_the_file_so_is_told() {
    let world = kept();
    for path in ["@/root/a", "@/root/b"] {
        world.write(path, "one\n");
    }
    let edit = patch(&world, &["@/root/b"], "one", "two");
    patch(&world, &["@/root/a", "@/root/b"], "o", "0");
    let left_it_so = || {
        let Err(UndoError::Problems(found)) = undo(&world.workspace, &edit, options("undo")) else {
            panic!("it went through")
        };
        found.conflicts[0].later.as_ref().unwrap().left_it_so
    };
    assert!(left_it_so());
    world.write("@/root/b", "foreign\n");
    assert!(!left_it_so());
}

#[test]
fn a_file_that_was_moved_comes_back_whatever_else_was_edited() {
    let [edited, moved] = [true, false].map(|is_edited| {
        let world = kept();
        world.write("@/root/a", "one\n");
        // The same bytes as the file that moves.
        world.write("@/root/c", "one\n");
        let [from, to, beside] = ["@/root/a", "@/root/b", "@/root/c"].map(|name| world.path(name));
        let patches = [Patch::text("one", "two")];
        let moves = if is_edited { EditChange::Patch(&patches) } else { EditChange::Keep { after: None } };
        let edits = [
            Edit { move_to: to.to_str(), ..Edit::new(from.to_str().unwrap(), moves) },
            Edit::new(beside.to_str().unwrap(), EditChange::Patch(&patches)),
        ];
        let edit = id(edit(&world.workspace, &edits, options("patch_text_file_contents")).unwrap());
        let again = back(&world, &edit);
        assert_eq!((world.content("@/root/a"), world.content("@/root/c")), ("one\n".into(), "one\n".into()));
        back(&world, &again);
        assert_clean(&world);
        (world.content("@/root/b"), world.content("@/root/c"))
    });
    assert_eq!(edited, ("two\n".into(), "two\n".into()));
    assert_eq!(moved, ("one\n".into(), "two\n".into()));
}

#[test]
fn only_edits_of_files_in_the_roots_exist() {
    let mut world = kept();
    std::fs::create_dir(world.path("@/root/inner")).unwrap();
    world.write("@/root/a", "one\n");
    world.write("@/root/inner/b", "one\n");
    let both = patch(&world, &["@/root/a", "@/root/inner/b"], "one", "two");
    let inner = patch(&world, &["@/root/inner/b"], "two", "three");
    world.workspace.roots = Roots::open(&[world.path("@/root/inner")]).unwrap();
    let seen = |world: &World| {
        world.workspace.edits(None, 9).unwrap().into_iter().map(|entry| entry.id).collect::<Vec<_>>()
    };
    assert_eq!(seen(&world), std::slice::from_ref(&inner));
    let found_until_cancelled = |after| {
        let asked = Cell::new(0);
        let is_cancelled = || asked.replace(asked.get() + 1) == after;
        let cancellation = Cancellation::when(&is_cancelled);
        world.workspace.find_edits(&Filter::default(), 9, cancellation).unwrap().len()
    };
    assert_eq!([0, 1].map(found_until_cancelled), [0, 1], "a list stops when it is cancelled");
    assert!(matches!(undo(&world.workspace, &both, options("undo")), Err(UndoError::Unknown)));
    // The later edit is outside the roots, so the error does not show it. Still, it counts as an edit, and
    // not as a change by another program.
    world.write("@/root/a", "three\n");
    world.workspace.roots = Roots::open(&[world.path("@/root")]).unwrap();
    patch(&world, &["@/root/a", "@/root/inner/b"], "three", "four");
    world.workspace.roots = Roots::open(&[world.path("@/root/inner")]).unwrap();
    let beyond = |world: &World| {
        let Err(UndoError::Problems(found)) = undo(&world.workspace, &inner, options("undo")) else {
            panic!()
        };
        let [undo::Conflict { later: Some(later), .. }] = &found.conflicts[..] else { panic!() };
        assert!(later.entry.is_none());
        later.left_it_so
    };
    assert!(beyond(&world));
    world.write("@/root/inner/b", "foreign\n");
    assert!(!beyond(&world));
    world.write("@/root/inner/b", "three\n");
    let nobody = EditId::parse("0123456789ab").unwrap();
    assert!(matches!(undo(&world.workspace, &nobody, options("undo")), Err(UndoError::Unknown)));
}

#[test]
fn a_directory_that_leads_elsewhere_by_now_takes_its_edits_along() {
    let Some(mut world) = World::with_links() else { return };
    keep_history(&mut world, &[]);
    world.write("@/root/inner/b", "one\n");
    let inner = patch(&world, &["@/root/inner/b"], "one", "two");
    let seen = |world: &World| world.workspace.edits(None, 9).unwrap().len();
    assert_eq!(seen(&world), 1);
    std::fs::rename(world.path("@/root/inner"), world.path("@/outside/inner")).unwrap();
    world.link("@/root/inner", "@/outside/inner");
    assert_eq!(seen(&world), 0);
    assert!(matches!(undo(&world.workspace, &inner, options("undo")), Err(UndoError::Unknown)));
    assert_eq!(world.content("@/outside/inner/b"), "two\n");
}

#[test]
fn a_protected_file_stays_as_it_is() {
    let mut world = kept();
    let open = |policy| Roots::open_with(&[world.path("@/root")], policy).unwrap();
    let (unprotected, protected) = (open(Policy::unprotected()), open(Policy::default()));
    let read_only = open(Policy::default().read_only(true));
    world.workspace.roots = unprotected;
    world.write("@/root/.git/config", "one\n");
    let edits = [
        patch(&world, &["@/root/.git/config"], "one", "two"),
        make(&world, "@/root/.git/hooks/new", "x"),
        back(&world, &make(&world, "@/root/.git/hooks/old", "x")),
    ];
    let names = world.names();
    for roots in [protected, read_only] {
        world.workspace.roots = roots;
        for id in &edits {
            let Err(UndoError::Problems(found)) = undo(&world.workspace, id, options("undo")) else {
                panic!("{id}")
            };
            let reason = &found.problems[0].reason;
            assert!(matches!(reason, Reason::Path(PathError::Protected(_))), "{reason:?}");
        }
    }
    assert_eq!((world.names(), world.content("@/root/.git/config")), (names, "two\n".to_owned()));
}

#[test]
fn bytes_that_are_no_text_are_no_hindrance() {
    let world = kept();
    let path = world.path("@/root/a");
    std::fs::write(&path, b"caf\xe9 one\n").unwrap();
    let patches = [Patch {
        old_string: Some("one".to_owned()),
        new_string: "tw\u{e9}".to_owned(),
        ranges: vec![],
        replace_all: false,
    }];
    let call = Edit {
        file_path: path.to_str().unwrap(),
        encoding: Some("latin1"),
        file_hash: None,
        move_to: None,
        directories: &[],
        change: EditChange::Patch(&patches),
    };
    let edit = id(edit(&world.workspace, &[call], options("patch_text_file_contents")).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), b"caf\xe9 tw\xe9\n");
    back(&world, &edit);
    assert_eq!(std::fs::read(&path).unwrap(), b"caf\xe9 one\n");
}

/// A call that needs text does not read a large binary file to its end. The digest of the part that it read
/// must not count as the digest of the whole file.
#[test]
fn a_large_binary_file_is_not_what_an_edit_left_empty() {
    let world = kept();
    let path = world.path("@/root/a");
    let mut binary = vec![b'x'; 2 << 20];
    binary[100] = 0;
    let made = make(&world, "@/root/a", "");
    std::fs::write(&path, &binary).unwrap();
    std::fs::write(world.path("@/root/b"), "one\ntwo\n").unwrap();
    let emptied = patch(&world, &["@/root/b"], "one\ntwo\n", "");
    assert_eq!(world.content("@/root/b"), "");
    std::fs::write(world.path("@/root/b"), &binary).unwrap();
    for id in [made, emptied] {
        let Err(UndoError::Problems(found)) = undo(&world.workspace, &id, options("undo")) else {
            panic!("it went through")
        };
        assert_eq!(found.conflicts[0].now, Some(Digest::of(&binary)));
    }
    for name in ["@/root/a", "@/root/b"] {
        assert!(std::fs::read(world.path(name)).unwrap() == binary, "{name} was changed");
    }
}

#[test]
fn a_large_binary_file_that_is_what_an_edit_left_comes_back() {
    let world = kept();
    let path = world.path("@/root/a");
    // The file is UTF-16 by the call's label. The history knows that, but the file itself does not show it.
    let text = format!("one\n{}", "x\n".repeat(1 << 19));
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(&path, &bytes).unwrap();
    let patches = [Patch {
        old_string: Some("one".to_owned()),
        new_string: "two".to_owned(),
        ranges: vec![],
        replace_all: false,
    }];
    let call = Edit {
        file_path: path.to_str().unwrap(),
        encoding: Some("utf-16le"),
        file_hash: None,
        move_to: None,
        directories: &[],
        change: EditChange::Patch(&patches),
    };
    let edit = id(edit(&world.workspace, &[call], options("patch_text_file_contents")).unwrap());
    back(&world, &edit);
    assert!(std::fs::read(&path).unwrap() == bytes);
}

#[test]
fn what_is_not_kept_can_still_be_removed() {
    let mut world = kept();
    let made = make(&world, "@/root/a.key", "secret");
    keep_history(&mut world, &["*.key"]);
    let undone = undo(&world.workspace, &made, options("undo")).unwrap().outcome;
    assert_eq!(undone.files[0].warnings, [Warning::Removed, Warning::NotInHistory(NotKept::Secret)]);
    assert!(!world.path("@/root/a.key").exists());
}

/// The name of the file's directory is not Unicode. A link leads to the directory.
#[cfg(target_os = "linux")]
#[test]
fn what_no_client_could_name_is_not_taken_back() {
    use std::os::unix::ffi::OsStrExt as _;

    let world = kept();
    let directory = world.path("@/root").join(std::ffi::OsStr::from_bytes(b"d\xff"));
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("a"), "one\n").unwrap();
    std::os::unix::fs::symlink(&directory, world.path("@/root/link")).unwrap();
    let edit = patch(&world, &["@/root/link/a"], "one", "two");
    let Err(UndoError::Problems(found)) = undo(&world.workspace, &edit, options("undo")) else {
        panic!("it went through")
    };
    let [problem] = found.problems.as_slice() else { panic!("{:?}", found.problems) };
    assert_eq!(crate::tests::world::reason(&problem.reason), "Resolve NotUnicode");
    assert_eq!(std::fs::read_to_string(directory.join("a")).unwrap(), "two\n");
}

#[test]
fn what_recovery_kept_is_put_back_by_nobody() {
    let world = kept();
    world.write("@/root/a", "now");
    let path = world.path("@/root/a");
    let id = world.workspace.history.keep_displaced(&path, Path::new("a"), b"then").unwrap();
    assert!(matches!(undo(&world.workspace, &id, options("undo")), Err(UndoError::Displaced(_))));
    assert_eq!(world.content("@/root/a"), "now");
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_written_is_not_removed() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = kept();
    let made = make(&world, "@/root/a", "x");
    let path = world.path("@/root/a");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    std::fs::set_permissions(world.path("@"), std::fs::Permissions::from_mode(0o755)).unwrap();
    // Root is allowed to write even so, so the undo runs as another user.
    let undone =
        crate::tests::world::as_user(65_534, || undo(&world.workspace, &made, options("undo")).is_err());
    assert!(undone.is_none_or(|refused| refused));
    assert!(path.exists());
}

#[test]
fn an_outsider_who_comes_in_between_loses_nothing() {
    let world = kept();
    // The outsider replaces the file at one of the moments at which the call checks whether it is cancelled.
    // The last such moment is just before the file is removed.
    for moment in 0.. {
        let path = format!("@/root/{moment}");
        let made = make(&world, &path, "ours");
        let asked = Cell::new(0);
        let outsider = || {
            if asked.replace(asked.get() + 1) == moment {
                let temporary = world.path("@/outside/new");
                std::fs::write(&temporary, "theirs").unwrap();
                std::fs::rename(&temporary, world.path(&path)).unwrap();
            }
            false
        };
        let done = undo(
            &world.workspace,
            &made,
            EditOptions { cancellation: Cancellation::when(&outsider), ..options("undo") },
        );
        if asked.get() > moment {
            assert!(matches!(done, Err(UndoError::Problems(_))), "{moment}");
            assert_eq!(world.content(&path), "theirs", "{moment}");
        } else {
            assert!(moment > 0 && done.is_ok() && !world.path(&path).exists(), "{moment}");
            break;
        }
    }
    assert_clean(&world);
}

#[test]
fn an_undo_that_is_withdrawn_changes_nothing() {
    let world = kept();
    world.write("@/root/a", "one");
    let edits = [patch(&world, &["@/root/a"], "one", "two"), make(&world, "@/root/d/b", "x")];
    for id in edits {
        assert!(
            undo(
                &world.workspace,
                &id,
                EditOptions { cancellation: Cancellation::when(&|| true), ..options("undo") }
            )
            .is_err()
        );
    }
    assert_eq!((world.content("@/root/a"), world.content("@/root/d/b")), ("two".to_owned(), "x".to_owned()));
    assert_clean(&world);
}

#[test]
fn what_is_kept_of_a_call_is_bounded_over_all_its_files() {
    let mut world = kept();
    world.workspace.max_kept_bytes = 7;
    world.write("@/root/a", "1234");
    world.write("@/root/b", "5678");
    let replace = |range: std::ops::Range<u64>| {
        SpliceSet::new(vec![Splice { at: range, insert: b"x".to_vec() }]).unwrap()
    };
    let edit = |splices: [&SpliceSet; 2]| {
        let paths = ["@/root/a", "@/root/b"].map(|path| world.path(path));
        let edits = [0, 1].map(|at| Edit {
            file_path: paths[at].to_str().unwrap(),
            encoding: None,
            file_hash: None,
            move_to: None,
            directories: &[],
            change: EditChange::Restore {
                after: Digest::of(&std::fs::read(&paths[at]).unwrap()),
                splices: splices[at],
            },
        });
        edit(&world.workspace, &edits, options("patch_text_file_contents")).unwrap()
    };
    let done = edit([&replace(0..4), &replace(0..4)]);
    assert_eq!(done.edit_id, None);
    assert!(done.files[0].warnings.contains(&Warning::NotInHistory(NotKept::TooLarge)));
    for name in ["@/root/a", "@/root/b"] {
        assert_eq!(world.content(name), "x");
        world.write(name, "1234");
    }
    let done = edit([&replace(0..4), &replace(1..4)]);
    back(&world, &done.edit_id.unwrap());
    assert_eq!(world.content("@/root/b"), "1234");
    for (content, is_kept) in [("1234567", true), ("12345678", false)] {
        world.write("@/root/a", content);
        let path = world.path("@/root/a");
        let hash = DigestPrefix::parse(&Digest::of(content.as_bytes()).to_string()).unwrap();
        let removal =
            Edit { file_hash: Some(&hash), ..Edit::new(path.to_str().unwrap(), EditChange::Remove) };
        let done = crate::edit::edit(&world.workspace, &[removal], options("delete_text_file")).unwrap();
        assert_eq!(done.edit_id.is_some(), is_kept, "{content}");
    }
}

#[test]
fn a_dry_run_of_a_redo_finds_whatever_has_the_name() {
    let world = kept();
    let made = make(&world, "@/root/a", "x");
    let removed = back(&world, &made);
    let path = world.path("@/root/a");
    let refusal = |dry_run| match undo(&world.workspace, &removed, EditOptions { dry_run, ..options("undo") })
    {
        Err(UndoError::Problems(found)) => {
            format!("{:?} {:?}", found.conflicts.len(), found.problems)
        }
        other => panic!("{dry_run}: {other:?}"),
    };
    let others: &[&dyn Fn()] = &[
        &|| std::fs::create_dir(&path).unwrap(),
        &|| world.write("@/root/a", "y"),
        #[cfg(unix)]
        &|| world.link("@/root/a", "nothing"),
        #[cfg(unix)]
        &|| {
            let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
            assert!(made.success());
        },
    ];
    for other in others {
        other();
        assert_eq!(refusal(true), refusal(false));
        unlink(&path);
    }
    assert!(undo(&world.workspace, &removed, EditOptions { dry_run: true, ..options("undo") }).is_ok());
    // A file that is not text has a digest, too.
    world.write("@/root/a", "\0");
    assert_eq!(refusal(false), "1 []");
}

#[test]
#[cfg(unix)]
fn a_history_that_cannot_be_written_is_told_and_stops_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut world = kept();
    world.write("@/root/a", "one");
    for (path, mode) in [("@", 0o755), ("@/root", 0o777), ("@/root/a", 0o666), ("@/state", 0o755)] {
        std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    keep_history(&mut world, &[]);
    let made = crate::tests::world::as_user(65_534, || {
        let path = world.path("@/root/new");
        let new = Edit::new(path.to_str().unwrap(), EditChange::Create("x"));
        edit(&world.workspace, &[new], options("patch_text_file_contents")).unwrap()
    });
    let Some(made) = made else { return };
    assert_eq!(made.edit_id, None);
    let is_told = |warning: &Warning| matches!(warning, Warning::NotInHistory(NotKept::Unavailable { .. }));
    assert!(made.files[0].warnings.iter().any(is_told), "{:?}", made.files[0].warnings);
    assert_eq!(world.content("@/root/new"), "x");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_and_stops_nothing() {
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    let mut world = World::new();
    std::fs::create_dir(world.path("@/state")).unwrap();
    if mount("tmpfs", world.path("@/state"), "tmpfs", MountFlags::empty(), Some(c"size=1m")).is_err() {
        eprintln!("skipped: this user may not mount");
        return;
    }
    keep_history(&mut world, &[]);
    make(&world, "@/root/first", "x");
    let ballast = world.path("@/state/ballast");
    std::fs::write(&ballast, vec![0; 2 << 20]).unwrap_err();
    let mut told = None;
    for number in 0..50 {
        let path = world.path(&format!("@/root/{number}"));
        let new = Edit::new(path.to_str().unwrap(), EditChange::Create("x"));
        let made = edit(&world.workspace, &[new], options("patch_text_file_contents")).unwrap();
        told = made.files[0].warnings.iter().find_map(|warning| match warning {
            Warning::NotInHistory(NotKept::Unavailable { reason, .. }) => Some(reason.clone()),
            _ => None,
        });
        if told.is_some() {
            break;
        }
    }
    assert_eq!(told.as_deref(), Some("database or disk is full"));
    std::fs::remove_file(ballast).unwrap();
    make(&world, "@/root/last", "x");
    assert!(world.workspace.history.list(None, 99, &|_| true).unwrap().len() >= 2);
    world.workspace = crate::workspace::Workspace::without_state(Roots::open(&[]).unwrap());
    unmount(world.path("@/state"), UnmountFlags::DETACH).unwrap();
}

#[test]
fn a_secret_by_any_of_its_names_is_not_kept() {
    let Some(mut world) = World::with_links() else { return };
    keep_history(&mut world, &[".env*"]);
    world.write("@/root/conf", "secret 0\n");
    world.link("@/root/.env", "@/root/conf");
    // The file is edited by the link, and then by both names, as one file of one call.
    for (old, new, names) in
        [("secret", "first", &["@/root/.env"][..]), ("first", "second", &["@/root/conf", "@/root/.env"])]
    {
        let replace = Patch {
            old_string: Some(old.to_owned()),
            new_string: new.to_owned(),
            ranges: vec![],
            replace_all: false,
        };
        let paths: Vec<PathBuf> = names.iter().map(|path| world.path(path)).collect();
        let edits = paths.iter().enumerate().map(|(index, path)| {
            Edit::new(
                path.to_str().unwrap(),
                EditChange::Patch(if index == 0 { std::slice::from_ref(&replace) } else { &[] }),
            )
        });
        let done =
            edit::edit(&world.workspace, &edits.collect::<Vec<_>>(), options("patch_text_file_contents"))
                .unwrap();
        assert_eq!(done.edit_id, None, "{names:?}");
        assert_eq!(done.files[0].warnings, [Warning::NotInHistory(NotKept::Secret)]);
        assert_eq!(world.content("@/root/conf"), format!("{new} 0\n"));
    }
}

#[test]
fn a_file_comes_back_though_a_call_may_make_none_so_large() {
    let mut world = kept();
    let made = make(&world, "@/root/a", "more than ten bytes\n");
    let removed = undo(&world.workspace, &made, options("undo")).unwrap().outcome.edit_id.unwrap();
    world.workspace.max_file_bytes = 10;
    back(&world, &removed);
    assert_eq!(world.content("@/root/a"), "more than ten bytes\n");
}
