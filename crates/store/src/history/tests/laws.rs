//! Tests that every archive must pass. The tests of each archive include this file, and define `World` and
//! `each` for it.

use super::*;

/// Keeps edits that are not undos.
pub(in crate::history) trait KeepEdit {
    fn record(&self, edit: &NewEdit<'_>) -> Result<EditId, NotKept>;
}

impl KeepEdit for History {
    fn record(&self, edit: &NewEdit<'_>) -> Result<EditId, NotKept> {
        self.keep(edit.clone(), None).map(|entry| entry.id)
    }
}

pub(super) fn changed(path: &str, before: &str, after: &str, was: &[u8]) -> EditedFile {
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

pub(super) fn edit(files: Vec<EditedFile>) -> NewEdit<'static> {
    NewEdit { by: by("patch_text_file_contents"), undoes: None, files, root_keys: Vec::new() }
}

pub(super) fn by(tool: &str) -> Caller<'_> {
    Caller { tool, ..Caller::default() }
}

pub(super) fn small(name: &str) -> NewEdit<'static> {
    edit(vec![changed(name, "a", "b", b"was")])
}

pub(super) fn all(history: &History) -> Vec<Entry> {
    history.list(None, usize::MAX, &|_| true).unwrap()
}

/// If a listing blocked edits, each edit would wait, with its files locked, until all listings have read the
/// disk.
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

/// Each edit can be an undo of any earlier edit, whether that edit was undone before or not. A model records
/// the state in which each edit left the files of its chain.
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
            // Most edits belong to one chain, so that the chain becomes long.
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
            assert_eq!(history.get(&EditId::parse("0123456789ab").unwrap()).unwrap(), None);
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
        // The list has `limit` wanted edits, however many other edits are between them.
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
fn several_edits_are_kept_in_their_order_all_or_none() {
    each(|world| {
        let history = world.history();
        let edits = ["/root/a", "/root/b", "/root/c.key"].map(small);
        assert_eq!(history.keep_all(edits.to_vec(), &[None; 3]), Err(NotKept::Secret));
        assert_eq!(history.list(None, 9, &|_| true).unwrap(), []);
        let mut kept = history.keep_all(edits[..2].to_vec(), &[None; 2]).unwrap();
        kept.reverse();
        let paths =
            |entries: &[Entry]| entries.iter().map(|entry| entry.files[0].path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&kept), [at("/root/b"), at("/root/a")]);
        assert_eq!(history.list(None, 9, &|_| true).unwrap(), kept);
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

/// An edit that moves one file away from a name and another file to that name has two rows for the name.
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
        assert_eq!(moved(), [(0, vec![swap.clone()]), (1, vec![swap.clone()])]);
        assert_eq!(history.moved_since(&swap).unwrap().len(), 0);
        let digest = Some(Digest::of(b"x"));
        let later = history.later(&first, &at("/root/b"), digest).unwrap().unwrap();
        assert_eq!((&later.id, later.left_at(&at("/root/b"))), (&swap, digest));
        let removal = record(&[gone(&b)], None);
        assert_eq!(moved(), [(0, vec![swap.clone()]), (1, vec![swap.clone(), removal.clone()])]);
        record(&[come(&b)], Some(&removal));
        let back = record(&swapped, Some(&swap));
        assert_eq!(moved(), [], "each file is where it was");
        assert_eq!(history.moved_since(&swap).unwrap().len(), 2, "it is undone");
        let redone = record(&swapped, Some(&back));
        assert_eq!(history.moved_since(&swap).unwrap().len(), 0);
        assert_eq!(moved(), [(0, vec![redone.clone()]), (1, vec![redone])]);
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
fn displaced_bytes_are_listed_as_such() {
    each(|world| {
        let history = world.history();
        let id = history.keep_displaced(&at("/root/a"), Path::new("a"), b"old\0bytes").unwrap();
        let (entry, undos) = history.get(&id).unwrap().unwrap();
        assert_eq!((entry.tool.as_str(), entry.files[0].kind), ("recovery", ChangeKind::Displaced));
        assert_eq!(undos, [Undo::Displaced { contents: b"old\0bytes".to_vec() }]);
        assert_eq!(entry.files[0].before, Some(Digest::of(b"old\0bytes")));
    });
}

#[test]
fn many_at_once_lose_nothing() {
    each(|world| {
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let world = &world;
                scope.spawn(move || {
                    for number in 0..20 {
                        // Each writer opens the history several times, the first time together with the
                        // others.
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
