//! Tests of undos beside changes that others have made since.

use proptest::prelude::*;

use super::undo::{assert_clean, back, conflicts, id, kept, patch};
use crate::edit::undo::{UndoError, undo};
use crate::edit::{Edit, EditChange, Warning, edit};
use crate::history::EditId;
use crate::tests::world::options;
use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::Patch;
use mcp_text_editor_core::splice::{Splice, SpliceSet};

#[test]
fn an_edit_is_taken_back_beside_later_ones() {
    let world = kept();
    for name in ["a", "b"] {
        world.write(&format!("@/root/{name}"), "one\ntwo\nthree\nfour\n");
    }
    let both = patch(&world, &["@/root/a", "@/root/b"], "one\n", "1\n1\n");
    let beside = patch(&world, &["@/root/a"], "three\nfour\n", "3\n");
    let bordering = patch(&world, &["@/root/b"], "two\n", "2\n");
    assert_eq!(conflicts(&world, &both), [("b".to_owned(), true, Some(bordering.clone()))]);
    assert_eq!(world.content("@/root/a"), "1\n1\ntwo\n3\n");
    back(&world, &bordering);
    let undone = undo(&world.workspace, &both, options("undo")).unwrap();
    assert_eq!(world.content("@/root/a"), "one\ntwo\n3\n");
    assert_eq!(world.content("@/root/b"), "one\ntwo\nthree\nfour\n");
    let [of_a, of_b] = &undone.outcome.files[..] else { panic!("{undone:?}") };
    assert_eq!((&of_a.warnings[..], of_b.warnings.len()), (&[Warning::BesideLaterEdits][..], 0));
    assert!(of_a.diff.as_ref().unwrap().ends_with("@@ -1,4 +1,3 @@\n-1\n-1\n+one\n two\n 3\n"));
    // The other one, too, and both again, in the order in which they were made.
    let beside = undo(&world.workspace, &beside, options("undo")).unwrap().outcome.edit_id.unwrap();
    let entry = world.workspace.history.get(&both).unwrap().unwrap().0;
    assert_eq!(entry.undone_by, undone.outcome.edit_id);
    back(&world, &undone.outcome.edit_id.unwrap());
    back(&world, &beside);
    assert_eq!(world.content("@/root/a"), "1\n1\ntwo\n3\n");
    assert_eq!(world.content("@/root/b"), "1\n1\ntwo\nthree\nfour\n");
    // The history lacks the text of another program.
    world.write("@/root/a", "1\n1\ntwo\n3\nfour\n");
    assert_eq!(conflicts(&world, &both).len(), 1);
    assert_clean(&world);
}

#[test]
fn what_goes_together_is_named() {
    let world = kept();
    world.write("@/root/a", "one\ntwo\nthree\nfour\n");
    let together = |id: &EditId| match undo(&world.workspace, id, options("undo")) {
        Err(UndoError::Problems(against)) => against.together,
        done => panic!("{done:?}"),
    };
    let first = patch(&world, &["@/root/a"], "one\n", "1\n");
    let beside = patch(&world, &["@/root/a"], "four\n", "4\n");
    let second = patch(&world, &["@/root/a"], "1\ntwo\n", "2\n");
    let redone = back(&world, &back(&world, &second));
    let third = patch(&world, &["@/root/a"], "2\n", "II\n");
    assert_eq!(together(&first), [third.clone(), redone.clone(), first.clone()]);
    let path = world.path("@/root/a");
    let hash = DigestPrefix::parse(&Digest::of(world.content("@/root/a").as_bytes()).to_string()).unwrap();
    let remove = Edit { file_hash: Some(&hash), ..Edit::new(path.to_str().unwrap(), EditChange::Remove) };
    let removed = id(edit(&world.workspace, &[remove], options("remove")).unwrap());
    assert_eq!(together(&third), [removed.clone(), third.clone()]);
    for last in [&removed, &third, &redone, &first, &beside] {
        back(&world, last);
    }
    assert_eq!(world.content("@/root/a"), "one\ntwo\nthree\nfour\n");
}

#[test]
fn an_edit_is_taken_back_beside_what_another_program_wrote() {
    let world = kept();
    let text = (b'a'..=b'z').map(|letter| format!("{}\r\n", letter as char)).collect::<Vec<_>>().concat();
    world.write("@/root/a", &text);
    let first = patch(&world, &["@/root/a"], "m\n", "M\nmm\n");
    let second = patch(&world, &["@/root/a"], "b", "B");
    world.write("@/root/a", &world.content("@/root/a").replace("z\r\n", "Z\r\n"));
    let undone = undo(&world.workspace, &first, options("undo")).unwrap();
    assert_eq!(undone.outcome.files[0].warnings, [Warning::BesideLaterEdits]);
    let expected = text.replace('z', "Z").replace('b', "B");
    assert_eq!(world.content("@/root/a"), expected);
    // Its context is changed.
    world.write("@/root/a", &expected.replace("d\r\n", ""));
    assert_eq!(conflicts(&world, &second).len(), 1);
    world.write("@/root/a", &expected);
    back(&world, &second);
    back(&world, &undone.outcome.edit_id.unwrap());
    assert_eq!(world.content("@/root/a"), text.replace('z', "Z").replace("m\r\n", "M\r\nmm\r\n"));
    assert_clean(&world);
}

#[test]
fn a_moved_file_comes_back_with_what_was_edited_there() {
    let world = kept();
    let [from, to] = ["@/root/a", "@/root/b"].map(|name| world.path(name));
    world.write("@/root/a", "one\ntwo\nthree\n");
    let first = patch(&world, &["@/root/a"], "one", "1");
    let patches = [Patch::text("two", "2")];
    let moves = |change| Edit { move_to: to.to_str(), ..Edit::new(from.to_str().unwrap(), change) };
    let change = id(edit(&world.workspace, &[moves(EditChange::Patch(&patches))], options("move")).unwrap());
    let later = patch(&world, &["@/root/b"], "three\n", "three\n3\n");
    assert_eq!(conflicts(&world, &first), [("a".to_owned(), false, Some(change.clone()))]);
    back(&world, &change);
    assert_eq!(world.content("@/root/a"), "1\ntwo\nthree\n3\n");
    // The name of that edit is free by now.
    assert_eq!(conflicts(&world, &later).len(), 1);
    assert!(!to.exists());
    let plain =
        id(edit(&world.workspace, &[moves(EditChange::Keep { after: None })], options("move")).unwrap());
    patch(&world, &["@/root/b"], "three\n", "");
    assert_eq!(conflicts(&world, &plain).len(), 1);
    assert_clean(&world);
}

/// A byte of the naive model, which never has the same one twice: so a splice stands beside others exactly if
/// its bytes are together still, with the same neighbours.
type Unit = char;

/// An edit of the naive model: each splice as its neighbours, and the units that it removed and put there.
type ModelEdit = Vec<([Option<Unit>; 2], Vec<Unit>, Vec<Unit>)>;

/// Returns the units after the undo of an edit, and the edit that this is; `None` if other edits touch or
/// border its units.
fn model_undo(now: &[Unit], edit: &ModelEdit) -> Option<(Vec<Unit>, ModelEdit)> {
    let mut undone = now.to_vec();
    for ([before, after], removed, put) in edit {
        let place = |before| undone.iter().position(|unit| *unit == before).map(|at| at + 1);
        let start = before.map_or(Some(0), place)?;
        let end = start + put.len();
        if undone.get(start..end)? != put.as_slice() || undone.get(end) != after.as_ref() {
            return None;
        }
        undone.splice(start..end, removed.iter().copied());
    }
    Some((
        undone,
        edit.iter().map(|(around, removed, put)| (*around, put.clone(), removed.clone())).collect(),
    ))
}

#[derive(Clone, Debug)]
enum Step {
    /// Splices at these places: where, how many units go, how many come.
    Edit(Vec<(prop::sample::Index, usize, usize)>),
    Undo(prop::sample::Index),
    Move,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let splice = (any::<prop::sample::Index>(), 0..3usize, 0..3usize);
    let step = prop_oneof![
        4 => prop::collection::vec(splice, 1..3).prop_map(Step::Edit),
        4 => any::<prop::sample::Index>().prop_map(Step::Undo),
        1 => Just(Step::Move),
    ];
    prop::collection::vec(step, 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any edits and moves of a file, and any of them undone and redone: the bytes are those of a naive
    /// merge, or the undo is a conflict.
    #[test]
    fn an_undo_beside_later_edits_is_a_naive_merge(steps in steps()) {
        let world = kept();
        let mut next = ('\u{100}'..).filter(|unit| unit.len_utf8() == 2);
        let mut now: Vec<Unit> = next.by_ref().take(12).collect();
        let text = |units: &[Unit]| units.iter().collect::<String>();
        world.write("@/root/a", &text(&now));
        let (mut name, mut edits) = ("@/root/a", Vec::<(EditId, ModelEdit)>::new());
        for step in steps {
            let path = world.path(name);
            let path = path.to_str().unwrap();
            match step {
                Step::Edit(places) => {
                    let (mut splices, mut model, mut new, mut at) = (Vec::new(), ModelEdit::new(), Vec::new(), 0);
                    let mut starts: Vec<_> =
                        places.iter().map(|(place, gone, come)| (place.index(now.len() + 1), *gone, *come)).collect();
                    starts.sort_unstable();
                    for (start, gone, come) in starts {
                        let end = (start + gone).min(now.len());
                        // Splices with a unit between them, so that each has its own neighbours.
                        if (start <= at && !splices.is_empty()) || (start == end && come == 0) {
                            continue;
                        }
                        let put: Vec<Unit> = next.by_ref().take(come).collect();
                        let bytes = |at: usize| (at * 2) as u64;
                        splices.push(Splice { at: bytes(start)..bytes(end), insert: text(&put).into_bytes() });
                        new.extend_from_slice(&now[at..start]);
                        new.extend_from_slice(&put);
                        let around = [start.checked_sub(1).map(|at| now[at]), now.get(end).copied()];
                        model.push((around, now[start..end].to_vec(), put));
                        at = end;
                    }
                    if splices.is_empty() {
                        continue;
                    }
                    new.extend_from_slice(&now[at..]);
                    let (after, splices) = (Digest::of(text(&now).as_bytes()), SpliceSet::new(splices).unwrap());
                    let change = EditChange::Restore { after, splices: &splices };
                    edits.push((id(edit(&world.workspace, &[Edit::new(path, change)], options("edit")).unwrap()), model));
                    now = new;
                }
                Step::Undo(which) if !edits.is_empty() => {
                    let (which, model) = &edits[which.index(edits.len())];
                    let undone = undo(&world.workspace, which, options("undo"));
                    match (undone, model_undo(&now, model)) {
                        (Ok(undone), Some((units, model))) => {
                            edits.push((undone.outcome.edit_id.unwrap(), model));
                            now = units;
                        }
                        // Units that came back together with a neighbour count as touched.
                        (Err(UndoError::Problems(against)), _) => prop_assert_eq!(against.conflicts.len(), 1),
                        (undone, model) => prop_assert!(false, "{undone:?} {model:?}"),
                    }
                }
                Step::Move | Step::Undo(_) => {
                    let to = if name == "@/root/a" { "@/root/b" } else { "@/root/a" };
                    let target = world.path(to);
                    let keep = Edit::new(path, EditChange::Keep { after: None });
                    let moved = Edit { move_to: target.to_str(), ..keep };
                    edit(&world.workspace, &[moved], options("move")).unwrap();
                    name = to;
                }
            }
            prop_assert_eq!(world.content(name), text(&now));
        }
        assert_clean(&world);
    }
}
