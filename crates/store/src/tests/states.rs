use std::path::{Path, PathBuf};

use crate::access::roots::Roots;
use crate::door::{Change, Control, FileEdit};
#[cfg(feature = "history")]
use crate::edit::snapshot::Snapshot;
#[cfg(feature = "history")]
use crate::edit::states::LaterEdits;
use crate::edit::states::{KnownStates, States};
use crate::history::{EditId, History, Settings};
use crate::state_dir::StateDir;
use crate::tests::world::World;
use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::Patch;

fn kept() -> World {
    let mut world = World::new();
    let state = StateDir::open(&world.path("@/state")).unwrap();
    world.workspace.history = History::new(&state, Settings::default());
    world.workspace.state_dir = Some(state);
    world
}

/// Changes files in one call.
fn apply(world: &World, changes: &[(&str, Change<'_>)]) -> EditId {
    let paths: Vec<PathBuf> = changes.iter().map(|(path, _)| world.path(path)).collect();
    let edits: Vec<FileEdit<'_>> = paths
        .iter()
        .zip(changes)
        .map(|(path, (_, change))| FileEdit::new(path.to_str().unwrap(), *change))
        .collect();
    world.workspace.apply(&edits, Control::of("test")).unwrap().edit_id.unwrap()
}

fn patch(world: &World, path: &str, old: &str, new: &str) -> EditId {
    let patches = [Patch {
        old_string: Some(old.to_owned()),
        new_string: new.to_owned(),
        ranges: vec![],
        replace_all: true,
    }];
    apply(world, &[(path, Change::Patch(&patches))])
}

fn states(world: &World, id: &EditId, file: usize) -> Option<(Option<String>, Option<String>)> {
    let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8(bytes).unwrap());
    let found = world.workspace.states(id, file).unwrap();
    let compared = world.workspace.comparison(id, file, usize::MAX, &mut KnownStates::default()).unwrap();
    assert_eq!(compared.is_some(), found.is_some());
    for (compared, States { before, after }) in compared.iter().zip(&found) {
        for (scan, bytes) in [(&compared.before, before), (&compared.after, after)] {
            let digest = bytes.as_ref().map(|bytes| Digest::of(bytes));
            let is_moved = compared.before == compared.after;
            assert!(is_moved && bytes.is_none() || scan.as_ref().map(|scan| scan.digest) == digest);
        }
    }
    found.map(|States { before, after }| (text(before), text(after)))
}

#[expect(clippy::unnecessary_wraps, reason = "what a law expects is held against what may be nothing")]
fn both(before: &str, after: &str) -> Option<(Option<String>, Option<String>)> {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Some((text(before), text(after)))
}

#[test]
fn what_a_file_held_is_put_together_through_later_edits_and_moves() {
    let world = kept();
    let made = apply(&world, &[("@/root/a", Change::Create("1\r\né\n"))]);
    let first = patch(&world, "@/root/a", "é", "2");
    let second = patch(&world, "@/root/a", "1", "one\none");
    let to = world.path("@/root/d/b");
    let moved = apply(&world, &[("@/root/a", Change::Move { to: to.to_str().unwrap(), patches: &[] })]);
    let third = patch(&world, "@/root/d/b", "2", "two");
    // Another file has the first name by now.
    let other = apply(&world, &[("@/root/a", Change::Create("other\n"))]);
    let law = || {
        assert_eq!(states(&world, &made, 0), both("", "1\r\né\n"));
        assert_eq!(states(&world, &first, 0), both("1\r\né\n", "1\r\n2\n"));
        assert_eq!(states(&world, &second, 0), both("1\r\n2\n", "one\r\none\r\n2\n"));
        assert_eq!(states(&world, &moved, 0), both("one\r\none\r\n2\n", ""));
        assert_eq!(states(&world, &moved, 1), both("", "one\r\none\r\n2\n"));
        assert_eq!(states(&world, &third, 0), both("one\r\none\r\n2\n", "one\r\none\r\ntwo\n"));
        assert_eq!(states(&world, &other, 0), both("", "other\n"));
    };
    law();
    // The history has the whole content of a removed file.
    let digest = Digest::of(world.content("@/root/d/b").as_bytes());
    let hash = DigestPrefix::parse(&digest.to_string()).unwrap();
    let path = world.path("@/root/d/b");
    let removal =
        FileEdit { file_hash: Some(&hash), ..FileEdit::new(path.to_str().unwrap(), Change::Remove) };
    let removed = world.workspace.apply(&[removal], Control::of("test")).unwrap().edit_id.unwrap();
    law();
    assert_eq!(states(&world, &removed, 0), both("one\r\none\r\ntwo\n", ""));
    assert_eq!(states(&world, &removed, 1), None, "there is no such file");
    assert_eq!(states(&world, &EditId::parse("0123456789ab").unwrap(), 0), None);
}

#[test]
fn what_somebody_else_has_changed_is_not_made_up() {
    let world = kept();
    world.write("@/root/a", "one\n");
    let first = patch(&world, "@/root/a", "one", "two");
    world.write("@/root/a", "else\n");
    assert_eq!(states(&world, &first, 0), None);
    let second = patch(&world, "@/root/a", "else", "three");
    assert_eq!(states(&world, &first, 0), None, "what came between is not known");
    assert_eq!(states(&world, &second, 0), both("else\n", "three\n"));
    world.write("@/root/a", "two\n");
    assert_eq!(states(&world, &second, 0), None);
}

#[test]
fn what_recovery_kept_has_no_states_and_hides_none() {
    let world = kept();
    world.write("@/root/a", "one\n");
    let first = patch(&world, "@/root/a", "one", "two");
    let path = world.path("@/root/a");
    let displaced = world.workspace.history.keep_displaced(&path, Path::new("a"), b"then").unwrap();
    assert_eq!(states(&world, &displaced, 0), None);
    assert_eq!(states(&world, &first, 0), both("one\n", "two\n"));
}

#[test]
fn what_was_edited_in_another_root_has_no_states() {
    let mut world = kept();
    // The history has the whole content of a removed file.
    let made = apply(&world, &[("@/root/a", Change::Create("one\n"))]);
    let removed = world.workspace.undo(&made, Control::of("test")).unwrap().outcome.edit_id.unwrap();
    assert_eq!(states(&world, &removed, 0), both("one\n", ""));
    world.workspace.roots = Roots::open(&[world.path("@/outside")]).unwrap();
    assert_eq!(states(&world, &removed, 0), None);
}

#[test]
fn a_file_is_not_followed_to_another_of_the_same_content() {
    let world = kept();
    world.write("@/root/a", "1\n");
    world.write("@/root/c", "one\n");
    let first = patch(&world, "@/root/a", "1", "one");
    let to = world.path("@/root/d");
    let patches = [Patch::text("one", "two")];
    let moves = Change::Move { to: to.to_str().unwrap(), patches: &[] };
    apply(&world, &[("@/root/c", moves), ("@/root/a", Change::Patch(&patches))]);
    world.write("@/root/d", "somebody else's\n");
    assert_eq!(states(&world, &first, 0), both("1\n", "one\n"));
}

#[test]
fn an_edit_at_the_very_end_has_both_states() {
    let world = kept();
    world.write("@/root/a", "one two");
    let edit = patch(&world, "@/root/a", "two", "three");
    assert_eq!(states(&world, &edit, 0), both("one two", "one three"));
}

#[test]
fn what_a_file_held_is_put_together_through_a_move_that_edits() {
    let world = kept();
    world.write("@/root/a", "1\n");
    // The same bytes as the file that moves will have.
    world.write("@/root/c", "one\n");
    let first = patch(&world, "@/root/a", "1", "one");
    let to = world.path("@/root/b");
    let change = |patches| Change::Move { to: to.to_str().unwrap(), patches };
    let patches = [Patch::text("one", "two")];
    let beside = ("@/root/c", Change::Patch(&patches));
    let edited = apply(&world, &[("@/root/a", change(&patches)), beside]);
    for (file, expected) in
        [both("one\n", ""), both("", "one\n"), both("one\n", "two\n"), both("one\n", "two\n")]
            .iter()
            .enumerate()
    {
        assert_eq!(states(&world, &edited, file), *expected, "{file}");
    }
    assert_eq!(states(&world, &first, 0), both("1\n", "one\n"));
    world.write("@/root/a", "two\n");
    // The call moves `b` unchanged, and edits `a`.
    let to = world.path("@/root/d");
    let patches = [Patch::text("two", "three")];
    let only = apply(
        &world,
        &[
            ("@/root/b", Change::Move { to: to.to_str().unwrap(), patches: &[] }),
            ("@/root/a", Change::Patch(&patches)),
        ],
    );
    for (file, expected) in
        [both("two\n", ""), both("", "two\n"), both("two\n", "three\n")].iter().enumerate()
    {
        assert_eq!(states(&world, &only, file), *expected, "{file}");
    }
    assert_eq!(states(&world, &edited, 2), both("one\n", "two\n"));
}

#[test]
fn a_file_is_told_from_the_one_whose_name_it_gets() {
    let world = kept();
    world.write("@/root/a", "one\n");
    // The same bytes as the file that gets this name will have.
    world.write("@/root/b", "two\n");
    let first = patch(&world, "@/root/a", "one", "two");
    let [b, c] = ["@/root/b", "@/root/c"].map(|path| world.path(path));
    let moved = apply(
        &world,
        &[
            ("@/root/a", Change::Move { to: b.to_str().unwrap(), patches: &[] }),
            ("@/root/b", Change::Move { to: c.to_str().unwrap(), patches: &[] }),
        ],
    );
    for (file, expected) in
        [both("two\n", ""), both("", "two\n"), both("two\n", ""), both("", "two\n")].iter().enumerate()
    {
        assert_eq!(states(&world, &moved, file), *expected, "{file}");
    }
    assert_eq!(states(&world, &first, 0), both("one\n", "two\n"));
}

/// So the time for the states of all edits of a file grows with the number of edits, not with its square.
#[test]
#[cfg(feature = "history")]
fn the_later_edits_of_a_file_are_turned_back_once_for_all_its_edits() {
    let world = kept();
    world.write("@/root/a", "0\n0\n");
    let line = |number: usize| format!("{number}\n");
    let ids: Vec<EditId> =
        (0..20).map(|edit| patch(&world, "@/root/a", &line(edit), &line(edit + 1))).collect();
    let twice = |number: usize| line(number).repeat(2);
    for (edit, id) in ids.iter().enumerate() {
        assert_eq!(states(&world, id, 0), both(&twice(edit), &twice(edit + 1)));
    }
    let database = rusqlite::Connection::open(world.path("@/state").join(crate::history::FILE_NAME)).unwrap();
    let mut known = KnownStates::default();
    for (edit, id) in ids.iter().enumerate().rev() {
        let compared = world.workspace.comparison(id, 0, 100, &mut known).unwrap().unwrap();
        assert_eq!(compared.before.unwrap().digest, Digest::of(twice(edit).as_bytes()));
        assert_eq!(compared.hunks.hunks[0].rows.len(), 4);
        // An edit that was already reversed is not read again.
        database.execute("DELETE FROM edit WHERE id = ?1", [id.to_string()]).unwrap();
        database.execute("DELETE FROM file WHERE edit NOT IN (SELECT number FROM edit)", ()).unwrap();
    }
}

/// The time for the states of all moves of a file between two names grows with the number of moves, not with
/// its square.
#[test]
#[cfg(feature = "history")]
fn the_edits_of_a_name_are_read_once_however_often_a_file_comes_back_to_it() {
    let world = kept();
    let [a, b] = ["@/root/a", "@/root/b"].map(|path| world.path(path));
    world.write("@/root/a", "1\n");
    let first = patch(&world, "@/root/a", "1", "2");
    let mut moves = Vec::new();
    let move_to = |to: &str, from| apply(&world, &[(from, Change::Move { to, patches: &[] })]);
    for number in 0..3 {
        moves.push(move_to(b.to_str().unwrap(), "@/root/a"));
        // Meanwhile, another file has the name.
        apply(&world, &[("@/root/a", Change::Create("other\n"))]);
        move_to(world.path(&format!("@/root/other{number}")).to_str().unwrap(), "@/root/a");
        moves.push(move_to(a.to_str().unwrap(), "@/root/b"));
    }
    assert_eq!(states(&world, &first, 0), both("1\n", "2\n"));
    let (mut later, mut last) = (LaterEdits::default(), first);
    for (number, id) in moves.iter().enumerate() {
        if number == 2 {
            let state = world.path("@/state").join(crate::history::FILE_NAME);
            rusqlite::Connection::open(state).unwrap().execute("DELETE FROM edit", ()).unwrap();
        }
        let (from, to) = if number % 2 == 0 { (&a, &b) } else { (&b, &a) };
        assert_eq!(later.next(Snapshot::of(&world.workspace), from, &last).unwrap().unwrap().id, *id);
        later.skip_to(to, id);
        last = id.clone();
    }
    assert!(later.next(Snapshot::of(&world.workspace), &a, &last).unwrap().is_none());
}
