//! Moving and removing files, and taking that back.

#[cfg(feature = "history")]
use std::collections::BTreeMap;
use std::fmt::Write as _;

use mcp_text_editor_store::core::digest::{Digest, DigestPrefix};
use mcp_text_editor_store::{Became, Change, Control, EditError, FileEdit, Outcome, Reason, Warning};
#[cfg(feature = "history")]
use mcp_text_editor_store::{EditId, core::resolve::Patch};
#[cfg(feature = "history")]
use proptest::prelude::*;

use crate::world::World;

impl World {
    fn shown(&self) -> String {
        let mut out = String::new();
        for (name, content) in self.tree() {
            let _ =
                writeln!(out, "{name}{}{}", if content.is_empty() { "" } else { ": " }, content.trim_end());
        }
        out
    }

    pub(crate) fn apply(&self, edits: &[FileEdit<'_>]) -> Result<Outcome, EditError> {
        self.workspace.apply(edits, Control::of("test"))
    }

    fn move_file(&self, from: &str, to: &str) -> Result<Outcome, EditError> {
        let (from, to) = (self.path(from), self.path(to));
        self.apply(&[FileEdit::new(&from, Change::Move { to: &to, patches: &[] })])
    }

    fn remove(&self, name: &str) -> Result<Outcome, EditError> {
        let path = self.path(name);
        let hash = std::fs::read(&path).map_or(Digest::of(b""), |bytes| Digest::of(&bytes));
        let hash = DigestPrefix::parse(&hash.to_string()).unwrap();
        self.apply(&[FileEdit { file_hash: Some(&hash), ..FileEdit::new(&path, Change::Remove) }])
    }
}

/// Tells why a call is refused.
pub(crate) fn refusal(result: Result<Outcome, EditError>) -> String {
    result.unwrap_err().to_string()
}

/// Returns what the client is warned of, but for a history that this build does not have.
fn warnings(done: &Outcome) -> Vec<Warning> {
    let told = |warning: &&Warning| cfg!(feature = "history") || !matches!(warning, Warning::NotInHistory(_));
    done.files[0].warnings.iter().filter(told).cloned().collect()
}

#[test]
fn a_file_is_moved_and_never_over_another() {
    let world = World::new();
    world.write("a.txt", "one\n");
    world.write("b.bin", b"\0two");
    let done = world.move_file("a.txt", "deep/er/a.txt").unwrap();
    assert_eq!(done.files[0].became, Became::Moved { from: world.path("a.txt") });
    assert_eq!(done.files[0].digest, Some(Digest::of(b"one\n")));
    assert_eq!(warnings(&done), []);
    world.move_file("b.bin", "deep/b.bin").unwrap();
    assert_eq!(world.shown(), "deep/\ndeep/b.bin: \0two\ndeep/er/\ndeep/er/a.txt: one\n");
    let taken = world.move_file("deep/b.bin", "deep/er/a.txt").unwrap_err();
    assert!(
        matches!(&taken.problems[0].reason, Reason::OfTarget(reason) if matches!(**reason, Reason::Taken { .. }))
    );
}

#[cfg(feature = "history")]
#[test]
fn a_move_is_taken_back_and_made_again() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let before = world.tree();
    let moved = world.move_file("a.txt", "deep/er/a.txt").unwrap();
    let after = world.tree();
    let mut id = moved.edit_id.unwrap();
    for expected in [&before, &after, &before] {
        let undone = world.workspace.undo(&id, Control::of("test")).unwrap();
        assert_eq!(&world.tree(), expected);
        id = undone.outcome.edit_id.unwrap();
    }
}

#[test]
fn only_text_whose_digest_is_known_is_removed() {
    let world = World::new();
    world.write("d/a.txt", "one\n");
    world.write("d/b.bin", b"\0two");
    world.write("latin", b"caf\xe9\n");
    world.write("wide", b"\xff\xfea\0\n\0");
    let before = world.tree();
    let other = DigestPrefix::parse(&Digest::of(b"another").to_string()).unwrap();
    let (a, missing) = (world.path("d/a.txt"), world.path("d/c.txt"));
    let named =
        |path, hash| world.apply(&[FileEdit { file_hash: hash, ..FileEdit::new(path, Change::Remove) }]);
    for hash in [None, Some(&other)] {
        let problem = named(&a, hash).unwrap_err().problems.remove(0);
        let Reason::Rejected { digest, .. } = problem.reason else { panic!("{problem}") };
        assert_eq!(digest, Some(Digest::of(b"one\n")));
    }
    assert!(matches!(world.remove("d/b.bin").unwrap_err().problems[0].reason, Reason::NotText(_)));
    assert!(refusal(named(&missing, Some(&other))).ends_with("there is no such file"));
    assert!(refusal(world.remove("d")).ends_with("it is a directory"));
    assert_eq!(world.tree(), before);
    for name in ["d/a.txt", "latin", "wide"] {
        let done = world.remove(name).unwrap();
        assert_eq!((&done.files[0].became, done.files[0].digest), (&Became::Removed, None));
    }
    assert_eq!(world.shown(), "d/\nd/b.bin: \0two\n");
}

#[test]
fn what_cannot_be_moved_stays() {
    let world = World::new();
    world.write("a", "one\n");
    world.write("d/b", "two\n");
    world.write(".git/config", "");
    let before = world.tree();
    for (from, to, why) in [
        ("a", "d/b", "there is something of that name already"),
        ("a", "d", "there is something of that name already"),
        ("a", "a/b", "a part of the path is no directory"),
        ("a", "x/", "it is a directory"),
        ("d", "e", "it is a directory"),
        ("none", "e", "there is no such file"),
        ("a", ".git/hooks/post-commit", "the file may be read, and not be written"),
        (".git/config", "b", "the file may be read, and not be written"),
        (".git/config", "d/../../outside", "the path has a `..` component"),
        ("a", "../outside", "the path has a `..` component"),
        ("a", "../../state/journal/x", "the path has a `..` component"),
        ("none", "d", "there is no such file; there is something of that name already"),
    ] {
        let said = refusal(world.move_file(from, to));
        assert!(said.contains(why), "{from} to {to}: {said}");
        assert_eq!(world.tree(), before, "{from} to {to}");
    }
    let a = world.path("a");
    let outside = world.directory.path().join("state/journal/x").to_str().unwrap().to_owned();
    let said = refusal(world.apply(&[FileEdit::new(&a, Change::Move { to: &outside, patches: &[] })]));
    assert!(said.ends_with("not inside an allowed directory"), "{said}");
    assert_eq!(world.tree(), before);
}

#[test]
fn a_file_moved_to_where_it_is_stays_as_it_is() {
    let world = World::new();
    world.write("a", "one\n");
    let done = world.move_file("a", "a").unwrap();
    assert_eq!(done.files[0].warnings, [Warning::Unchanged]);
    assert_eq!((done.edit_id, done.files[0].digest), (None, Some(Digest::of(b"one\n"))));
}

#[test]
fn a_plan_moves_and_removes_nothing() {
    let world = World::new();
    world.write("a", "one\n");
    let before = world.tree();
    let (a, b) = (world.path("a"), world.path("d/b"));
    let hash = DigestPrefix::parse(&Digest::of(b"one\n").to_string()).unwrap();
    let removal = FileEdit { file_hash: Some(&hash), ..FileEdit::new(&a, Change::Remove) };
    let plan =
        |edit| world.workspace.plan(&[edit], Control::of("test")).unwrap().files.remove(0).diff.unwrap();
    // As git has them, with `/` on every system.
    let renamed = format!("rename from {a}\nrename to {b}\n").replace(std::path::MAIN_SEPARATOR, "/");
    assert_eq!(plan(FileEdit::new(&a, Change::Move { to: &b, patches: &[] })), renamed);
    assert!(plan(removal).ends_with("@@ -1 +0,0 @@\n-one\n"));
    assert_eq!(world.tree(), before);
}

#[cfg(unix)]
#[test]
fn a_link_is_neither_moved_nor_removed_and_nothing_is_put_under_its_name() {
    let world = World::new();
    world.write("a", "one\n");
    std::os::unix::fs::symlink("a", world.path("link")).unwrap();
    std::os::unix::fs::symlink("nothing", world.path("dangling")).unwrap();
    for link in ["link", "dangling"] {
        let target = world.move_file(link, "b").unwrap_err().problems.remove(0).reason;
        assert!(matches!(target, Reason::IsALink { .. }), "{target:?}");
        assert!(matches!(world.remove(link).unwrap_err().problems[0].reason, Reason::IsALink { .. }));
        let taken = world.move_file("a", link).unwrap_err().problems.remove(0).reason;
        assert!(
            matches!(&taken, Reason::OfTarget(taken) if matches!(**taken, Reason::Taken { .. })),
            "{taken:?}"
        );
    }
    // A link on the way is followed.
    std::os::unix::fs::symlink(".", world.path("here")).unwrap();
    world.move_file("here/a", "here/d/b").unwrap();
    assert_eq!(std::fs::read(world.path("d/b")).unwrap(), b"one\n");
    assert!(std::fs::symlink_metadata(world.path("link")).unwrap().is_symlink());
}

#[cfg(unix)]
#[test]
fn a_file_stays_the_same_file_with_all_its_names_and_modes() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let world = World::new();
    world.write("a", "one\n");
    std::fs::set_permissions(world.path("a"), std::fs::Permissions::from_mode(0o444)).unwrap();
    std::fs::hard_link(world.path("a"), world.path("also")).unwrap();
    let before = std::fs::metadata(world.path("a")).unwrap();
    assert_eq!(warnings(&world.move_file("a", "d/b").unwrap()), []);
    let after = std::fs::metadata(world.path("d/b")).unwrap();
    let facts = |about: &std::fs::Metadata| (about.ino(), about.mode(), about.nlink(), about.mtime_nsec());
    assert_eq!(facts(&after), facts(&before));
    // A hard link is another name, which is taken.
    assert!(refusal(world.move_file("d/b", "also")).ends_with("of that name already"));
}

/// Whatever runs at the same time, nothing is lost: each of the files is there once, under one of the names.
#[test]
fn of_two_movers_to_one_name_one_wins() {
    for round in 0..40 {
        let world = World::new();
        world.write("a", "one\n");
        world.write("b", "two\n");
        let results = std::thread::scope(|scope| {
            let mover = |from: &'static str| {
                let world = &world;
                scope.spawn(move || world.move_file(from, "deep/er/c").map(|_| from))
            };
            let others = [mover("a"), mover("b")];
            // Another program makes the file, too.
            let path = world.path("deep/er/c");
            let made = std::fs::File::create_new(&path).is_ok();
            (others.map(|other| other.join().unwrap()), made)
        });
        let (moved, made) = results;
        let winners = moved.iter().filter(|result| result.is_ok()).count();
        assert_eq!(winners + usize::from(made), 1, "{round}: {moved:?}");
        let mut contents: Vec<String> =
            world.tree().into_values().filter(|content| !content.is_empty()).collect();
        contents.sort();
        assert_eq!(contents, ["one\n", "two\n"], "{round}");
    }
}

/// An editor adds lines while the file moves to and fro: each line that was acknowledged is there.
#[test]
fn no_edit_is_lost_to_a_mover() {
    let world = World::new();
    world.write("a", "");
    let places = ["a", "d/b"];
    let added = std::thread::scope(|scope| {
        let world = &world;
        let mover = scope.spawn(move || {
            for round in 0..60 {
                world.move_file(places[round % 2], places[(round + 1) % 2]).unwrap();
            }
        });
        let mut added = 0;
        while !mover.is_finished() {
            let path = world.path(places[added % 2]);
            added += usize::from(world.apply(&[FileEdit::new(&path, Change::Append("line\n"))]).is_ok());
        }
        mover.join().unwrap();
        added
    });
    let lines = std::fs::read_to_string(world.path("a")).unwrap().lines().count();
    assert_eq!(lines, added);
    assert_eq!(world.tree().len(), 2, "d/ and a");
}

#[cfg(target_os = "linux")]
#[test]
fn to_another_file_system_a_file_is_copied_and_removed() {
    use std::os::unix::fs::MetadataExt as _;
    let memory = std::path::Path::new("/dev/shm");
    let (Ok(here), Ok(there)) = (tempfile::tempdir(), tempfile::tempdir_in(memory)) else {
        eprintln!("skipped: there is no /dev/shm");
        return;
    };
    if here.path().metadata().unwrap().dev() == there.path().metadata().unwrap().dev() {
        eprintln!("skipped: there is one file system only");
        return;
    }
    let state = tempfile::tempdir().unwrap();
    let builder = mcp_text_editor_store::Workspace::builder()
        .root(here.path())
        .root(there.path())
        .state_directory(state.path());
    #[cfg(feature = "history")]
    let builder = builder.history(mcp_text_editor_store::HistorySettings::default());
    let workspace = builder.build().unwrap();
    let (from, to) = (here.path().join("a"), there.path().join("d/b"));
    std::fs::write(&from, vec![7; 3 << 20]).unwrap();
    let before = from.metadata().unwrap();
    let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
    let done = workspace
        .apply(&[FileEdit::new(from, Change::Move { to, patches: &[] })], Control::of("test"))
        .unwrap();
    assert!(matches!(warnings(&done)[..], [Warning::Copied(_)]));
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0);
    let after = std::fs::metadata(to).unwrap();
    assert_eq!((after.mode(), after.mtime(), after.len()), (before.mode(), before.mtime(), before.len()));
    assert_eq!(std::fs::read_dir(there.path().join("d")).unwrap().count(), 1);
    #[cfg(feature = "history")]
    {
        workspace.undo(&done.edit_id.unwrap(), Control::of("test")).unwrap();
        assert_eq!(std::fs::read(from).unwrap(), vec![7; 3 << 20]);
        assert_eq!(std::fs::read_dir(there.path()).unwrap().count(), 0);
    }
    assert_eq!(std::fs::read_dir(state.path().join("journal")).unwrap().count(), 0);
}

/// A step of a session, by numbers of names and of past edits.
#[cfg(feature = "history")]
#[derive(Clone, Debug)]
enum Deed {
    Create(usize),
    Patch(usize),
    Move(usize, usize),
    Remove(usize),
    Undo(usize),
}

#[cfg(feature = "history")]
const NAMES: [&str; 3] = ["a", "d/a", "d/e/c"];

#[cfg(feature = "history")]
fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let name = || 0..NAMES.len();
    let deed = prop_oneof![
        2 => name().prop_map(Deed::Create),
        2 => name().prop_map(Deed::Patch),
        4 => (name(), name()).prop_map(|(from, to)| Deed::Move(from, to)),
        1 => name().prop_map(Deed::Remove),
        4 => (0..12_usize).prop_map(Deed::Undo),
    ];
    prop::collection::vec(deed, 1..40)
}

/// A file of the model: its number, which tells it from another with the same text, and its text.
#[cfg(feature = "history")]
type File = (usize, String);

/// The result of an edit, to a model that holds files alone.
#[cfg(feature = "history")]
struct Done {
    id: EditId,
    /// Each file that it named, as it was, and as it became.
    files: Vec<(&'static str, Option<File>, Option<File>)>,
}

#[cfg(feature = "history")]
proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Sessions end as those of a model that has files in a map, and puts back what was there; and what is
    /// undone leaves no directory that was made for it. Many files are equal: whatever nobody has touched
    /// since is taken back, and nothing is from which another file with the same text came.
    #[test]
    fn sessions_are_those_of_a_naive_model(deeds in deeds()) {
        let world = World::new();
        let mut model: BTreeMap<&'static str, File> = BTreeMap::new();
        let mut history: Vec<Done> = Vec::new();
        for (number, deed) in deeds.into_iter().enumerate() {
            let text = ["text\n", ""][number % 2].to_owned();
            let (result, changes) = match deed {
                Deed::Create(name) => {
                    let path = world.path(NAMES[name]);
                    let result = world.apply(&[FileEdit::new(&path, Change::Create(&text))]);
                    let free = !model.contains_key(NAMES[name]);
                    (result, free.then(|| vec![(NAMES[name], Some((number, text)))]))
                }
                Deed::Patch(name) => {
                    let path = world.path(NAMES[name]);
                    let patches = [Patch::text("text", "more text")];
                    let result = world.apply(&[FileEdit::new(&path, Change::Patch(&patches))]);
                    let new = model.get(NAMES[name]).filter(|(_, old)| old.contains("text"));
                    let new = new.map(|(file, old)| (*file, old.replace("text", "more text")));
                    (result, new.map(|new| vec![(NAMES[name], Some(new))]))
                }
                Deed::Move(from, to) => {
                    let result = world.move_file(NAMES[from], NAMES[to]);
                    let moved = model.get(NAMES[from]).filter(|_| !model.contains_key(NAMES[to]));
                    let changes =
                        moved.map(|moved| vec![(NAMES[from], None), (NAMES[to], Some(moved.clone()))]);
                    if from == to && model.contains_key(NAMES[from]) {
                        prop_assert!(result.unwrap().edit_id.is_none());
                        continue;
                    }
                    (result, changes)
                }
                Deed::Remove(name) => {
                    let result = world.remove(NAMES[name]);
                    (result, model.contains_key(NAMES[name]).then(|| vec![(NAMES[name], None)]))
                }
                Deed::Undo(back) => {
                    let Some(done) = history.iter().rev().nth(back) else { continue };
                    // A file that was only moved goes back with what was edited at its new name.
                    let is_move = done.files.len() == 2;
                    let is_left = |now: Option<&File>, left: Option<&File>| {
                        now == left || is_move && now.map(|(file, _)| file) == left.map(|(file, _)| file)
                    };
                    let is_as_left =
                        done.files.iter().all(|(name, _, after)| is_left(model.get(name), after.as_ref()));
                    let is_named = |later: &Done| {
                        done.files.iter().any(|(name, ..)| later.files.iter().any(|(other, ..)| name == other))
                    };
                    let is_untouched = !history.iter().rev().take(back).any(is_named);
                    let with_edits = |file: &File| {
                        let now = model.values().find(|(now, _)| is_move && *now == file.0);
                        now.unwrap_or(file).clone()
                    };
                    let changes =
                        done.files.iter().map(|(name, before, _)| (*name, before.as_ref().map(with_edits))).collect();
                    let result = world.workspace.undo(&done.id, Control::of("test"));
                    let result = result.map(|undone| undone.outcome);
                    prop_assert!(is_as_left || result.is_err(), "it is taken back from another file");
                    prop_assert!(result.is_ok() || !is_untouched, "{:?}", result.err());
                    let Ok(outcome) = result else { continue };
                    (Ok(outcome), Some(changes))
                }
            };
            match (result, changes) {
                (Ok(outcome), Some(changes)) => {
                    let changes: Vec<(&'static str, Option<File>)> = changes;
                    let mut files = Vec::new();
                    for (name, after) in changes {
                        let before = match &after {
                            Some(file) => model.insert(name, file.clone()),
                            None => model.remove(name),
                        };
                        files.push((name, before, after));
                    }
                    history.push(Done { id: outcome.edit_id.unwrap(), files });
                }
                (Err(_), None) => {}
                (result, changes) => prop_assert!(false, "{result:?}, and not {changes:?}"),
            }
            let files: BTreeMap<String, String> =
                world.tree().into_iter().filter(|(name, _)| !name.ends_with('/')).collect();
            let expected: BTreeMap<String, String> =
                model.iter().map(|(name, (_, text))| ((*name).to_owned(), text.clone())).collect();
            prop_assert_eq!(files, expected);
        }
    }
}
