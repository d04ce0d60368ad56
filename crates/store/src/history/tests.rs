#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]

use std::fmt;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::splice::{Splice, SpliceSet};
use proptest::prelude::*;

use super::*;
use crate::access::directory::DirectoryKey;
use crate::access::patterns::Patterns;
use crate::history::keep::RECOVERY;
use crate::state_dir::StateDir;
use crate::tests::world::native;

struct World {
    directory: tempfile::TempDir,
    settings: Settings,
    /// The database, if edits are not kept in the directory.
    #[cfg(feature = "postgres")]
    url: Option<String>,
}

/// Tests a law with each kind of archive that is available.
fn each(law: impl Fn(World)) {
    law(World::new());
    #[cfg(feature = "postgres")]
    if let Some(server) = crate::postgres::fixture::TestServer::shared() {
        law(World { url: Some(server.url()), ..World::new() });
    }
}

impl World {
    fn new() -> Self {
        let excluded = Patterns::new(&["*.key".to_owned()]).unwrap();
        let settings = Settings { excluded, ..Settings::default() };
        Self {
            directory: tempfile::tempdir().unwrap(),
            settings,
            #[cfg(feature = "postgres")]
            url: None,
        }
    }

    /// Opens the history as another process would.
    fn history(&self) -> History {
        #[cfg(feature = "postgres")]
        if let Some(url) = &self.url {
            return super::postgres::tests::history(url, &[], self.settings.clone());
        }
        let state = StateDir::open(self.directory.path()).unwrap();
        History::new(&state, self.settings.clone())
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(FILE_NAME)
    }

    /// Returns all bytes on disk.
    fn bytes(&self) -> Vec<u8> {
        self.files().iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
    }

    /// Returns the database and what SQLite has beside it.
    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
    }

    fn remove_log(&self) {
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(self.directory.path().join(format!("{FILE_NAME}{suffix}")));
        }
    }

    /// Changes the database as another program would.
    fn sql(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }

    /// Returns a number from the database.
    fn number(&self, sql: &str) -> i64 {
        rusqlite::Connection::open(self.path()).unwrap().query_row(sql, (), |row| row.get(0)).unwrap()
    }
}

/// Returns a path as this system writes it.
fn at(path: &str) -> PathBuf {
    native(path).into()
}

fn changed(path: &str, before: &str, after: &str, was: &[u8]) -> EditedFile {
    let splice = Splice { at: 3..5, insert: was.to_vec() };
    EditedFile {
        path: at(path),
        relative: at(path.trim_start_matches("/root/")),
        encoding: Label::parse("utf-8").unwrap().encoding,
        before: Some(Digest::of(before.as_bytes())),
        after: Some(Digest::of(after.as_bytes())),
        undo: Undo::Splices(SpliceSet::new(vec![splice]).unwrap()),
        diff: "--- a\n+++ b\n".to_owned(),
    }
}

fn edit(files: Vec<EditedFile>) -> NewEdit<'static> {
    NewEdit { by: by("patch_text_file_contents"), undoes: None, files, root_keys: Vec::new() }
}

fn by(tool: &str) -> Caller<'_> {
    Caller { tool, ..Caller::default() }
}

fn small(name: &str) -> NewEdit<'static> {
    edit(vec![changed(name, "a", "b", b"was")])
}

fn all(history: &History) -> Vec<Entry> {
    history.list(None, usize::MAX, &|_| true).unwrap()
}

/// Otherwise each edit would wait, with its files locked, until all lists have looked at the disk.
#[test]
fn an_edit_is_kept_while_edits_are_listed() {
    each(|world| {
        let history = world.history();
        history.record(&small("/root/a")).unwrap();
        let (done, kept) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let listed = history.find(&Filter::default(), 9, &|_| {
                let (history, done) = (&history, done.clone());
                scope.spawn(move || done.send(history.record(&small("/root/b"))));
                kept.recv_timeout(std::time::Duration::from_mins(1)).unwrap().unwrap();
                true
            });
            assert_eq!(listed.unwrap().len(), 1);
        });
        assert_eq!(all(&history).len(), 2);
    });
}

fn unavailable<T: fmt::Debug>(result: Result<T, NotKept>) -> String {
    match result {
        Err(NotKept::Unavailable { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

/// Any undo of an earlier edit may follow, whether that was undone before or not. A model keeps the state in
/// which each edit left the files of its chain.
#[test]
fn an_edit_is_in_effect_if_the_files_are_as_it_left_them() {
    each(|world| {
        let history = world.history();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let mut random = |many: usize| {
            let tree = (0..many).new_tree(&mut runner).unwrap();
            proptest::strategy::ValueTree::current(&tree)
        };
        let mut edits: Vec<(EditId, Option<usize>, usize, bool)> = Vec::new();
        let mut newest_of: Vec<(bool, usize)> = Vec::new();
        for number in 0..150 {
            // Most are of one chain, so that it becomes long.
            let undone = (number > 3).then(|| if number % 5 == 0 { random(number) } else { number - 1 });
            let undone = undone.filter(|_| number % 50 != 0);
            let by = by("undo");
            let undoes = undone.map(|index| &edits[index].0);
            let files = vec![changed(if number % 2 == 0 { "/root/a" } else { "/root/b" }, "a", "b", b"was")];
            let edit = NewEdit { by, undoes, files, root_keys: Vec::new() };
            let undone_entry = undoes.map(|id| history.get(id).unwrap().unwrap().0);
            let entry = history.keep(edit, undone_entry.as_ref()).unwrap();
            assert_eq!(history.get(&entry.id).unwrap().unwrap().0, entry, "it is known when it is made");
            let id = entry.id;
            let new = (newest_of.len(), false);
            let (chain, is_undo) = undone.map_or(new, |index| (edits[index].2, !edits[index].3));
            newest_of.resize(newest_of.len().max(chain + 1), (false, 0));
            newest_of[chain] = (is_undo, number);
            edits.push((id, undone, chain, is_undo));
        }
        let every = Filter::default();
        let of_one_file = Filter::of_path(Some(&at("/root/a")));
        for (filter, limit) in [(&every, 7), (&every, 999), (&of_one_file, 999)] {
            for entry in history.find(filter, limit, &|_| true).unwrap() {
                let (_, undone, chain, is_undo) = edits.iter().find(|(id, ..)| *id == entry.id).unwrap();
                let (state, newest) = newest_of[*chain];
                assert_eq!(entry.undone_by, (state != *is_undo).then(|| edits[newest].0.clone()));
                assert_eq!(entry.is_redo, undone.is_some() && !is_undo);
                let first = edits.iter().find(|(_, _, of, _)| of == chain).unwrap();
                assert_eq!(entry.chain, first.0);
                assert_eq!(history.get(&entry.id).unwrap().unwrap().0, entry);
            }
        }
    });
}

#[test]
fn what_is_recorded_is_found_again() {
    each(|world| {
        let history = world.history();
        assert_eq!(all(&history), [], "nothing is made for a look");
        assert!(!world.path().exists());
        let first = history.record(&small("/root/a")).unwrap();
        let removal = EditedFile {
            before: None,
            undo: Undo::Remove { directories: vec!["/root/d".into()] },
            ..changed("/root/d/b", "", "new", b"")
        };
        let by = Caller { tool: "undo", client: Some("claude-code"), session: Some("a session") };
        let root_keys = vec![DirectoryKey([7; 16])];
        let second = NewEdit { by, undoes: Some(&first), files: vec![removal.clone()], root_keys };
        let secret = history.secret(&[1; 32]).unwrap();
        let second = history.record(&second).unwrap();
        for history in [history, world.history()] {
            let entries = all(&history);
            let ids: Vec<_> = entries.iter().map(|entry| entry.id.clone()).collect();
            assert_eq!(ids, [second.clone(), first.clone()]);
            assert_eq!((&entries[0].undoes, &entries[0].undone_by), (&Some(first.clone()), &None));
            assert_eq!((&entries[1].undoes, &entries[1].undone_by), (&None, &Some(second.clone())));
            assert_eq!(entries[1].tool, "patch_text_file_contents");
            assert_eq!((&entries[1].client, &entries[1].session), (&None, &None));
            assert_eq!(entries[0].client.as_deref(), Some("claude-code"));
            assert_eq!(entries[0].session.as_deref(), Some("a session"));
            assert!(entries[1].time <= entries[0].time);
            assert_eq!(history.root_keys(&second).unwrap(), [DirectoryKey([7; 16])]);
            assert_eq!(history.root_keys(&first).unwrap(), []);
            assert_eq!(history.secret(&[2; 32]).unwrap(), secret, "it is that of the first who asked");
            let (entry, undos) = history.get(&second).unwrap().unwrap();
            assert_eq!(entry, entries[0]);
            assert_eq!(undos, std::slice::from_ref(&removal.undo));
            assert_eq!(entry.files[0].kind, ChangeKind::Created);
            assert_eq!(EditId::parse(&second.to_string().to_uppercase()), Some(second.clone()));
            assert_eq!(history.get(&EditId("0123456789ab".to_owned())).unwrap(), None);
        }
    });
}

prop_compose! {
    fn any_file()(
        path in "/[a-z/]{1,40}", encoding in 0..4_usize, digests: ([u8; 32], [u8; 32]), kind in 0..4,
        bytes: Vec<u8>, diff: String, splices in prop::collection::vec((1..50_u64, 0..50_u64, any::<Vec<u8>>()), 0..5),
    ) -> EditedFile {
        let (before, after) = (Digest::from_bytes(digests.0), Digest::from_bytes(digests.1));
        let mut from = 0;
        let splices = splices.into_iter().map(|(skip, length, insert)| {
            let at = from + skip..from + skip + length;
            from = at.end;
            Splice { at, insert }
        });
        let undo = match kind {
            0 => Undo::Remove { directories: vec!["/a".into(), "/a/b".into()] },
            1 => Undo::Create { contents: bytes },
            2 => Undo::Displaced { contents: bytes },
            _ => Undo::Splices(SpliceSet::new(splices.collect()).unwrap()),
        };
        let encoding = Label::parse(["utf-8", "shift_jis", "latin1", "utf-16le"][encoding]).unwrap().encoding;
        EditedFile {
            relative: path.trim_start_matches('/').into(), path: path.into(), encoding,
            before: (kind != 0).then_some(before), after: (kind != 1).then_some(after), undo, diff,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn any_edit_comes_back_as_it_was(files in prop::collection::vec(any_file(), 1..5)) {
        each(|world| {
            let history = world.history();
            let id = history.record(&edit(files.clone())).unwrap();
            let (entry, undos) = history.get(&id).unwrap().unwrap();
            let back = entry.files.into_iter().zip(undos).map(|(file, undo)| {
                assert_eq!((file.kind, file.root), (undo.kind(), None));
                let EntryFile { path, relative, encoding, before, after, diff, .. } = file;
                EditedFile { path, relative, encoding, before, after, undo, diff }
            });
            assert_eq!(back.collect::<Vec<_>>(), files);
        });
    }
}

#[test]
fn it_is_asked_for_by_file_or_directory() {
    each(|world| {
        let history = world.history();
        for path in ["/root/a", "/root/a/b", "/root/a-b", "/root/ab", "/root/c"] {
            history.record(&small(path)).unwrap();
        }
        let two = edit(vec![changed("/root/c", "x", "y", b""), changed("/root/a/d", "x", "y", b"")]);
        history.record(&two).unwrap();
        let found = |path: &str, limit| {
            let entries = history.list(Some(&at(path)), limit, &|_| true).unwrap();
            entries
                .iter()
                .map(|entry| entry.files[0].path.to_str().unwrap().replace('\\', "/"))
                .collect::<Vec<_>>()
        };
        assert_eq!(found("/root/a", 9), ["/root/c", "/root/a/b", "/root/a"]);
        assert_eq!(found("/root/a", 2), ["/root/c", "/root/a/b"]);
        assert_eq!(found("/root/ab", 9), ["/root/ab"]);
        assert_eq!(found("/root/a/", 9), ["/root/c", "/root/a/b"], "a slash asks for a directory");
        assert_eq!(found("/", 9).len(), 6);
        let single = history.list(None, 9, &|entry| entry.files.len() == 1).unwrap();
        assert_eq!(single.len(), 5);
        assert_eq!(history.list(None, 0, &|_| true).unwrap(), []);
        // As many as are wanted, however many others are between them.
        let all = all(&history);
        let among = |entry: &Entry, places: &[usize]| places.iter().any(|place| all[*place] == *entry);
        let some = history.list(None, 3, &|entry| among(entry, &[1, 2, 4, 5])).unwrap();
        assert_eq!(some, [&all[1], &all[2], &all[4]].map(Clone::clone));
    });
}

/// Tells whether an edit passes a filter, without asking the database. Ignores `before`.
fn passes(filter: &Filter, entry: &Entry) -> bool {
    let Filter { path, since, until, tool, client, session, text, .. } = filter;
    let of_file = |path: &PathBuf| entry.files.iter().any(|file| file.path.starts_with(path));
    path.as_ref().is_none_or(of_file)
        && since.is_none_or(|since| entry.time >= since)
        && until.is_none_or(|until| entry.time < until)
        && tool.as_ref().is_none_or(|tool| entry.tool == *tool)
        && client.is_none_or_is(&entry.client)
        && session.is_none_or_is(&entry.session)
        && text.as_ref().is_none_or(|text| entry.files.iter().any(|file| file.diff.contains(text.as_str())))
}

trait NoneOrIs {
    fn is_none_or_is(&self, kept: &Self) -> bool;
}

impl NoneOrIs for Option<String> {
    fn is_none_or_is(&self, kept: &Self) -> bool {
        self.is_none() || self == kept
    }
}

#[test]
fn what_passes_a_filter_is_found_and_nothing_else() {
    each(|world| {
        let history = world.history();
        let names = [None, Some("claude-code"), Some("cursor")];
        for number in 0..36 {
            let mut files = vec![changed(&format!("/root/{}/{}", number % 3, number % 4), "a", "b", b"")];
            if number % 5 == 0 {
                files.push(changed("/root/also", "a", "b", b""));
            }
            files[0].diff = format!("--- a\n+++ b\n@@ -1 +1 @@\n-%_\0é{}\n", number % 6);
            let by = Caller {
                tool: ["patch_text_file_contents", "undo"][number % 2],
                client: names[number % 3],
                session: [None, Some("one"), Some("other")][number / 12],
            };
            history.record(&NewEdit { by, undoes: None, files, root_keys: Vec::new() }).unwrap();
            if number % 12 == 11 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
        let all = all(&history);
        let some = |values: &[&str]| {
            std::iter::once(None)
                .chain(values.iter().map(|value| Some((*value).to_owned())))
                .collect::<Vec<_>>()
        };
        let (mut seen, mut empty) = (0, 0);
        for (number, client) in some(&["claude-code", "cursor", "Cursor", "'"]).into_iter().enumerate() {
            for session in some(&["one", "none"]) {
                for tool in some(&["undo"]) {
                    for text in some(&["%_\0é3", "-%_\0", "É"]) {
                        for path in [None, Some(at("/root/1")), Some(at("/root/also"))] {
                            let since = (number % 2 == 0).then(|| all[20].time);
                            let until = (number < 2).then(|| all[5].time);
                            let (client, session, tool) = (client.clone(), session.clone(), tool.clone());
                            let text = text.clone();
                            let filter =
                                Filter { path, since, until, tool, client, session, text, before: None };
                            let found = history.find(&filter, usize::MAX, &|_| true).unwrap();
                            let wanted: Vec<_> =
                                all.iter().filter(|entry| passes(&filter, entry)).cloned().collect();
                            assert_eq!(found, wanted, "{filter:?}");
                            seen += found.len();
                            empty += usize::from(found.is_empty());
                        }
                    }
                }
            }
        }
        assert!(seen > 200 && empty > 50, "{seen} {empty}");
    });
}

#[test]
fn a_list_goes_on_where_it_ended() {
    each(|world| {
        let history = world.history();
        for number in 0..10 {
            history.record(&small(if number % 3 == 0 { "/root/a" } else { "/root/b" })).unwrap();
        }
        let (mut pages, mut before) = (Vec::new(), None);
        loop {
            let filter = Filter { path: Some(at("/root/b")), before: before.clone(), ..Filter::default() };
            let page = history.find(&filter, 4, &|_| true).unwrap();
            let Some(last) = page.last() else { break };
            before = Some(last.id.clone());
            pages.push(page);
        }
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2]);
        assert_eq!(pages.concat(), history.list(Some(&at("/root/b")), 9, &|_| true).unwrap());
        let unknown = EditId::parse("0123456789ab");
        assert_eq!(history.find(&Filter { before: unknown, ..Filter::default() }, 9, &|_| true).unwrap(), []);
    });
}

#[test]
fn the_edit_that_is_in_the_way_is_found() {
    each(|world| {
        let history = world.history();
        let step = |before, after| edit(vec![changed("/root/a", before, after, b"")]);
        let [ab, bc, ca, ab_again, be] = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "b"), ("b", "e")]
            .map(|(before, after)| history.record(&step(before, after)).unwrap());
        history.record(&small("/root/other")).unwrap();
        let later = |id: &EditId, now: &str| {
            let now = Some(Digest::of(now.as_bytes()));
            history.later(id, &at("/root/a"), now).unwrap().map(|entry| entry.id)
        };
        assert_eq!(later(&ab, "e"), Some(be.clone()), "the newest, which can be undone first");
        assert_eq!(later(&ab, "foreign"), Some(bc), "else the one that went on from there");
        assert_eq!(later(&ca, "foreign"), Some(ab_again.clone()));
        assert_eq!(later(&ab_again, "e"), Some(be.clone()));
        assert_eq!(later(&be, "foreign"), None, "nobody knows");
    });
}

/// An edit that moves one file away and another one here has two rows for the name.
#[test]
fn names_that_may_be_other_files_by_now_are_found() {
    each(|world| {
        let history = world.history();
        let [a, b] = ["/root/a", "/root/b"].map(|path| changed(path, "x", "x", b""));
        let gone = |file: &EditedFile| EditedFile {
            after: None,
            undo: Undo::Create { contents: Vec::new() },
            ..file.clone()
        };
        let come = |file: &EditedFile| EditedFile {
            before: None,
            undo: Undo::Remove { directories: Vec::new() },
            ..file.clone()
        };
        let record = |files: &[EditedFile], undoes: Option<&EditId>| {
            history.record(&NewEdit { undoes, ..edit(files.to_vec()) }).unwrap()
        };
        let first = record(&[a.clone(), b.clone()], None);
        let moved = || history.moved_since(&first).unwrap().into_iter().collect::<Vec<_>>();
        record(&[a.clone(), b.clone()], None);
        assert_eq!(moved(), [], "only their content has changed");
        let swapped = [gone(&a), come(&b), gone(&b), come(&a)];
        let swap = record(&swapped, None);
        assert_eq!(moved(), [(0, swap.clone()), (1, swap.clone())]);
        assert_eq!(history.moved_since(&swap).unwrap().len(), 0);
        let digest = Some(Digest::of(b"x"));
        let later = history.later(&first, &at("/root/b"), digest).unwrap().unwrap();
        assert_eq!((&later.id, later.left_at(&at("/root/b"))), (&swap, digest));
        let removal = record(&[gone(&b)], None);
        assert_eq!(moved(), [(0, swap.clone()), (1, removal.clone())]);
        record(&[come(&b)], Some(&removal));
        let back = record(&swapped, Some(&swap));
        assert_eq!(moved(), [], "each file is where it was");
        assert_eq!(history.moved_since(&swap).unwrap().len(), 2, "it is undone");
        let redone = record(&swapped, Some(&back));
        assert_eq!(history.moved_since(&swap).unwrap().len(), 0);
        assert_eq!(moved(), [(0, redone.clone()), (1, redone)]);
    });
}

#[test]
fn secrets_and_what_is_too_large_are_not_kept() {
    each(|mut world| {
        world.settings.bytes = 10_000;
        let history = world.history();
        assert_eq!(history.keeps(&at("/root/a.key"), Path::new("a.key")), Err(NotKept::Secret));
        assert_eq!(history.keeps(&at("/root/a"), Path::new("a")), Ok(()));
        let one_secret =
            edit(vec![changed("/root/a", "a", "b", b""), changed("/root/a.key", "a", "b", b"s")]);
        assert_eq!(history.record(&one_secret), Err(NotKept::Secret));
        let displaced = history.keep_displaced(&at("/root/a.key"), Path::new("a.key"), b"s");
        assert_eq!(displaced, Err(NotKept::Secret));
        let large = edit(vec![changed("/root/a", "a", "b", &[0; 10_001])]);
        assert_eq!(history.record(&large), Err(NotKept::TooLarge));
        assert!(!world.path().exists());
        let off = History::default();
        assert_eq!(off.record(&small("/root/a")), Err(NotKept::Off));
        assert_eq!(off.list(None, 1, &|_| true), Err(NotKept::Off));
    });
}

#[test]
fn a_history_without_a_state_directory_tells_why_it_keeps_nothing() {
    let none = History::without_state("it is read-only".to_owned());
    let reason =
        NotKept::Unavailable { reason: "it is read-only".to_owned(), remedy: Remedy::StateDirectory };
    assert_eq!(none.record(&small("/root/a")), Err(reason.clone()));
    assert_eq!(none.roots(), Err(reason));
    assert_eq!(History::default().roots(), Err(NotKept::Off));
}

#[test]
fn no_other_machine_shares_a_state_directory() {
    let world = World::new();
    let history = world.history();
    assert_eq!(history.roots(), Ok(None));
    history.record(&small("/root/a")).unwrap();
    assert_eq!(history.roots(), Ok(None));
}

#[test]
#[cfg(unix)]
fn an_edit_is_kept_by_its_path_without_links() {
    let world = World::new();
    let directory = world.directory.path().canonicalize().unwrap();
    std::fs::create_dir(directory.join("d")).unwrap();
    std::os::unix::fs::symlink("d", directory.join("link")).unwrap();
    assert_eq!(path_in_history(&directory.join("link/gone")), directory.join("d/gone"));
}

#[test]
fn an_edit_has_the_time_of_the_clock_to_a_millisecond() {
    let world = World::new();
    let history = world.history();
    let millisecond = std::time::Duration::from_millis(1);
    let before = crate::os::clock::now() - millisecond;
    history.record(&small("/root/a")).unwrap();
    let time = all(&history)[0].time;
    assert!(before < time && time <= crate::os::clock::now(), "{before:?} {time:?}");
}

#[test]
fn the_bytes_of_an_edit_are_those_of_all_its_parts() {
    let size = |edit: &NewEdit<'_>| {
        let world = World::new();
        world.history().record(edit).unwrap();
        world.number("SELECT bytes FROM edit")
    };
    let file = changed("/root/a", "a", "b", b"was");
    let of = |file: EditedFile| size(&edit(vec![file]));
    let least = of(file.clone());
    let path = file.path.join("x".repeat(99));
    assert_eq!(of(EditedFile { path, ..file.clone() }), least + 200, "a path is in an index, too");
    let relative = file.relative.join("x".repeat(99));
    assert_eq!(of(EditedFile { relative, ..file.clone() }), least + 100);
    let diff = format!("{}{}", file.diff, "x".repeat(100));
    assert_eq!(of(EditedFile { diff, ..file.clone() }), least + 100);
    assert_eq!(of(changed("/root/a", "a", "b", &[b'x'; 103])), least + 100);
    let maker = |client, session| {
        let by = Caller { client, session, ..by("patch_text_file_contents") };
        size(&NewEdit { by, ..edit(vec![file.clone()]) }) - least
    };
    assert!(maker(Some("cursor"), None) > 0 && maker(None, Some("one")) > 0);
}

#[test]
fn an_edit_may_take_up_all_that_the_history_has() {
    let mut world = World::new();
    world.history().record(&small("/root/a")).unwrap();
    let bytes = u64::try_from(world.number("SELECT bytes FROM edit")).unwrap();
    for (bytes, is_kept) in [(bytes + 1, true), (bytes, true), (bytes - 1, false), (bytes / 2, false)] {
        world.settings.bytes = bytes;
        let kept = world.history().record(&small("/root/a"));
        assert_eq!(kept.is_ok(), is_kept, "{bytes}");
        assert!(is_kept || kept == Err(NotKept::TooLarge));
    }
}

#[test]
fn displaced_bytes_are_listed_as_such() {
    each(|world| {
        let history = world.history();
        let id = history.keep_displaced(&at("/root/a"), Path::new("a"), b"old\0bytes").unwrap();
        let (entry, undos) = history.get(&id).unwrap().unwrap();
        assert_eq!((entry.tool.as_str(), entry.files[0].kind), (RECOVERY, ChangeKind::Displaced));
        assert_eq!(undos, [Undo::Displaced { contents: b"old\0bytes".to_vec() }]);
        assert_eq!(entry.files[0].before, Some(Digest::of(b"old\0bytes")));
    });
}

#[test]
fn the_oldest_go_when_it_grows_too_large() {
    let mut world = World::new();
    world.settings.bytes = 1 << 20;
    let history = world.history();
    for size in [10, 100, 1_000, 10_000].repeat(100) {
        history.record(&edit(vec![changed("/root/a", "a", "b", &vec![b'x'; size])])).unwrap();
    }
    let kept = all(&history);
    // The rows have 11 KB on average, and take up 18 KB.
    assert!((200..260).contains(&kept.len()), "{}", kept.len());
    let ids = |entries: &[Entry]| entries.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>();
    let newest = history.record(&small("/root/a")).unwrap();
    let now = ids(&all(&history));
    assert_eq!(now[0], newest);
    assert!(ids(&kept).starts_with(&now[1..]), "the newest stay");
    let size = std::fs::metadata(world.path()).unwrap().len();
    assert!(size < (1 << 20) * 5 / 4, "{size}");
    // After some were forgotten the sums are right again.
    history.forget(Some(&at("/root/b"))).unwrap();
    for number in 0..20 {
        history.record(&small(if number % 2 == 0 { "/root/b" } else { "/root/a" })).unwrap();
    }
    let before = all(&history).len();
    assert_eq!(history.forget(Some(&at("/root/b"))).unwrap().edits, Some(10));
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), before - 10 + 1);
}

#[test]
fn the_old_go_after_some_days() {
    let world = World::new();
    let history = world.history();
    for _ in 0..100 {
        history.record(&small("/root/a")).unwrap();
    }
    // The last edit was made a day ago. From that time, 90 edits are a little older than allowed, and the
    // rest a little younger.
    world.sql(
        "UPDATE edit SET time = time - 31 * 86400000 - 1000 WHERE number <= 90;
         UPDATE edit SET time = time - 31 * 86400000 + 60000 WHERE number > 90;
         UPDATE edit SET time = time + 30 * 86400000 - 60000 WHERE number = 100;",
    );
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), 101, "it has looked this hour");
    let history = world.history();
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), 102 - 64, "not too many at once");
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), 13);
    assert_eq!(world.number("SELECT count(*) FROM file"), 13, "with their files");
}

/// An edit waits with its files locked while others are dropped.
#[test]
fn a_smaller_bound_of_bytes_is_reached_over_several_edits() {
    let mut world = World::new();
    world.history().record(&small("/root/a")).unwrap();
    world.sql(
        "WITH RECURSIVE copy(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM copy WHERE n < 1500)
         INSERT INTO edit SELECT n, 'copy' || n, time, tool, undoes, bytes, n * bytes FROM edit, copy;",
    );
    world.settings.bytes = u64::try_from(world.number("SELECT bytes FROM edit")).unwrap();
    for left in [1501 - 1024, 1] {
        world.history().record(&small("/root/a")).unwrap();
        assert_eq!(world.number("SELECT count(*) FROM edit"), left);
    }
}

#[test]
fn where_the_oldest_is_young_enough_none_is_looked_for_within_the_hour() {
    let world = World::new();
    let history = world.history();
    for _ in 0..100 {
        history.record(&small("/root/a")).unwrap();
    }
    // They are two days old for the first look, and too old after it; the last is proof of the time.
    world.sql("UPDATE edit SET time = time - 2 * 86400000");
    let history = world.history();
    history.record(&small("/root/a")).unwrap();
    world.sql("UPDATE edit SET time = time - 60 * 86400000 WHERE number < 100");
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), 102);
    world.history().record(&small("/root/a")).unwrap();
    assert!(all(&history).len() < 102, "another process looks");
}

#[test]
fn a_clock_that_jumps_ages_nothing() {
    const DAY: i64 = 86_400_000;
    let world = World::new();
    let record = |count: usize| {
        // Each edit is by another process, which checks the ages at once.
        for _ in 0..count {
            world.history().record(&small("/root/a")).unwrap();
        }
        all(&world.history()).len()
    };
    assert_eq!(record(10), 10);
    let earlier =
        |from: i64, by: i64| world.sql(&format!("UPDATE edit SET time = time - {by} WHERE number >= {from}"));
    // The clock goes forward by forty days.
    earlier(0, 40 * DAY);
    assert_eq!(record(5), 15);
    // It is set right, and days go by.
    earlier(0, -40 * DAY);
    assert_eq!(record(5), 20);
    earlier(0, 2 * DAY);
    assert_eq!(record(5), 25);
    // Forty days go by, and one more, in which there were edits.
    earlier(0, 80 * DAY);
    assert_eq!(record(5), 30);
    earlier(0, DAY);
    assert_eq!(record(1), 6);
    // The clock goes forward by forty days, and is set right within a day.
    earlier(0, 40 * DAY);
    assert_eq!(record(1), 7);
    earlier(0, DAY - 3_600_000);
    assert_eq!(record(1), 8);
}

#[test]
fn what_is_forgotten_is_gone_from_the_disk() {
    let world = World::new();
    let history = world.history();
    let other = world.history();
    let has = |needle: &str| {
        let bytes = world.bytes();
        bytes.windows(needle.len()).filter(|window| *window == needle.as_bytes()).count()
    };
    for number in 0..200 {
        let secret = format!("SECRET-{number:04}-").repeat(number % 70 + 1);
        let path = format!("/root/{}/file", if number % 3 == 0 { "keep" } else { "forget" });
        let mut file = changed(&path, "a", "b", secret.as_bytes());
        file.diff = format!("+{secret}");
        [&history, &other][number % 2].record(&edit(vec![file])).unwrap();
    }
    assert!(has("SECRET-0001-") >= 2 && has("SECRET-0003-") >= 2);
    let forgotten = history.forget(Some(&at("/root/forget"))).unwrap();
    assert_eq!(forgotten, Forgotten { edits: Some(133), remains: None });
    for number in 0..200 {
        assert_eq!(has(&format!("SECRET-{number:04}-")) > 0, number % 3 == 0, "{number}");
    }
    assert_eq!(other.forget(None).unwrap(), Forgotten { edits: Some(67), remains: None });
    assert_eq!((has("SECRET-"), has(&native("/root/"))), (0, 0));
    assert_eq!(all(&history), []);
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&other).len(), 1);
}

#[test]
fn a_reader_keeps_what_is_forgotten_on_disk_and_that_is_told() {
    let world = World::new();
    let history = world.history();
    history.record(&small("/root/a")).unwrap();
    let reader = rusqlite::Connection::open(world.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM edit").unwrap();
    let forgotten = history.forget(None).unwrap();
    assert_eq!(forgotten.edits, Some(1));
    assert_eq!(forgotten.remains.as_deref(), Some("another process is reading the history"));
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let world = World::new();
    std::fs::write(world.path(), "this is no database, and longer than the head of one would be ".repeat(9))
        .unwrap();
    let check = |part: &str| {
        let before = std::fs::read(world.path()).unwrap();
        for history in [world.history(), world.history()] {
            for _ in 0..3 {
                let reason = unavailable(history.record(&small("/root/a")));
                assert!(reason.contains(part), "{reason}");
            }
            assert!(unavailable(history.list(None, 1, &|_| true)).contains(part));
            assert!(unavailable(history.forget(Some(&at("/root/a")))).contains(part));
        }
        assert_eq!(std::fs::read(world.path()).unwrap(), before);
    };
    check("not a database");
    let history = world.history();
    assert_eq!(history.forget(None).unwrap(), Forgotten { edits: None, remains: None });
    assert!(!world.path().exists());
    history.record(&small("/root/a")).unwrap();
    drop(history);

    world.sql("PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)");
    let not_ours_to_remove = |part: &str| {
        check(part);
        let Err(NotKept::Unavailable { reason, remedy }) = world.history().forget(None) else { panic!() };
        assert!(reason.contains(part) && remedy == Remedy::MoveAway, "{reason}");
    };
    not_ours_to_remove("newer version");
    world.sql("PRAGMA application_id = 7; PRAGMA wal_checkpoint(TRUNCATE)");
    not_ours_to_remove("another program");
}

#[test]
fn a_database_of_another_program_is_not_written_to() {
    for sql in [
        "CREATE TABLE other (x)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1",
        // This program's, in a form that it never wrote.
        "PRAGMA application_id = 0x6d746568; PRAGMA user_version = -1",
    ] {
        let world = World::new();
        world.sql(sql);
        let before = std::fs::read(world.path()).unwrap();
        let history = world.history();
        for reason in [unavailable(history.record(&small("/root/a"))), unavailable(history.forget(None))] {
            assert_eq!(reason, "it is the database of another program", "{sql}");
        }
        assert!(std::fs::read(world.path()).unwrap() == before, "{sql}");
    }
}

#[test]
fn a_damaged_database_costs_no_more_than_the_history() {
    let world = World::new();
    let history = world.history();
    for _ in 0..200 {
        history.record(&small("/root/a")).unwrap();
    }
    drop(history);
    world.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = std::fs::read(world.path()).unwrap();
    let mut told = 0;
    for page in 0..whole.len() / 4096 {
        let mut file = std::fs::File::create(world.path()).unwrap();
        file.write_all(&whole).unwrap();
        // The head of the database itself is spared.
        file.seek(std::io::SeekFrom::Start((page * 4096 + if page == 0 { 100 } else { 0 }) as u64)).unwrap();
        file.write_all(&[0xa5; 2048]).unwrap();
        drop(file);
        let history = world.history();
        told += usize::from(history.record(&small("/root/a")).is_err());
        told += usize::from(history.list(None, usize::MAX, &|_| true).is_err());
        let _ = history.later(&EditId("0123456789ab".to_owned()), &at("/root/a"), None);
        world.remove_log();
    }
    assert!(told > 5, "{told}");
    for length in [99, 4096, whole.len() / 2] {
        std::fs::write(world.path(), &whole[..length]).unwrap();
        let history = world.history();
        unavailable(history.record(&small("/root/a")));
        world.remove_log();
    }
    // An empty file is a new database.
    std::fs::write(world.path(), "").unwrap();
    assert_eq!(all(&world.history()), []);
    world.history().record(&small("/root/a")).unwrap();
}

#[test]
fn something_else_in_its_place_is_told() {
    let world = World::new();
    std::fs::create_dir(world.path()).unwrap();
    let history = world.history();
    assert_eq!(unavailable(history.record(&small("/root/a"))), "there is something else of its name");
    unavailable(history.forget(None));
    std::fs::remove_dir(world.path()).unwrap();
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), 1, "as soon as it is gone, all is well");
}

#[test]
#[cfg(unix)]
fn it_is_for_this_user_alone_and_no_link_is_followed() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::new();
    let history = world.history();
    history.record(&small("/root/a")).unwrap();
    assert_eq!(world.files().len(), 3);
    for path in world.files() {
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600, "{}", path.display());
    }
    let elsewhere = World::new();
    let history = elsewhere.history();
    std::os::unix::fs::symlink(world.path(), elsewhere.path()).unwrap();
    assert_eq!(unavailable(history.record(&small("/root/a"))), "there is something else of its name");
}

#[test]
#[cfg(unix)]
fn a_database_that_was_removed_is_made_anew() {
    let world = World::new();
    let (one, other) = (world.history(), world.history());
    for round in 1..4 {
        one.record(&small("/root/a")).unwrap();
        other.record(&small("/root/a")).unwrap();
        assert_eq!((all(&one).len(), all(&other).len()), (2, 2), "{round}");
        for path in world.files() {
            std::fs::remove_file(path).unwrap();
        }
        assert_eq!(all(&one), []);
    }
    // The directory is removed, too. Then the history has no place until the directory is there again.
    std::fs::remove_dir_all(world.directory.path()).unwrap();
    unavailable(one.record(&small("/root/a")));
    std::fs::create_dir(world.directory.path()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    one.record(&small("/root/a")).unwrap();
    assert_eq!(all(&other).len(), 1);
}

#[test]
fn a_lock_is_waited_for_once() {
    let world = World::new();
    let history = world.history();
    history.record(&small("/root/a")).unwrap();
    let holder = rusqlite::Connection::open(world.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..5 {
        assert_eq!(unavailable(history.record(&small("/root/a"))), "database is locked");
    }
    assert_eq!(all(&history).len(), 1, "reading goes on");
    holder.execute_batch("COMMIT").unwrap();
    history.record(&small("/root/a")).unwrap();
}

#[test]
fn many_at_once_lose_nothing() {
    each(|world| {
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let world = &world;
                scope.spawn(move || {
                    for number in 0..20 {
                        // The history is opened anew now and then, and at first by all at the same time.
                        let history = world.history();
                        for _ in 0..5 {
                            history.record(&small(&format!("/root/{writer}/{number}"))).unwrap();
                        }
                    }
                });
            }
        });
        let entries = all(&world.history());
        assert_eq!(entries.len(), 400);
        let ids: std::collections::HashSet<_> = entries.iter().map(|entry| entry.id.clone()).collect();
        assert_eq!(ids.len(), 400);
        for writer in 0..4 {
            let own = at("/root").join(writer.to_string());
            assert_eq!(world.history().list(Some(&own), usize::MAX, &|_| true).unwrap().len(), 100);
        }
    });
}
