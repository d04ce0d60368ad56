//! Tests of undos of files that later edits or other programs have changed since.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::undo::{assert_clean, back, conflicts, id, kept, patch};
use crate::edit::undo::{UndoError, Undone, undo};
use crate::edit::undo_plan::UndoPlan;
use crate::edit::{Edit, EditChange, EditOptions, Warning, edit};
use crate::history::{EditId, Entry, Filter, Undo};
use crate::tests::world::{World, options, unlink};
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
    // The patch's text also has lines that stay the same.
    let beside = patch(&world, &["@/root/a"], "1\n1\ntwo\nthree\nfour\n", "1\n1\ntwo\n3\n");
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
    // Undoes the other edit, too, and then redoes both in the order in which they were made.
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
    // A line next to the second edit is changed.
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
    // The file's name at the time of that edit is free by now.
    assert_eq!(conflicts(&world, &later).len(), 1);
    assert!(!to.exists());
    let plain =
        id(edit(&world.workspace, &[moves(EditChange::Keep { after: None })], options("move")).unwrap());
    let later = patch(&world, &["@/root/b"], "three\n", "");
    world.write("@/root/a", "");
    assert_eq!(conflicts(&world, &plain).len(), 1);
    unlink(&from);
    let undone = undo(&world.workspace, &plain, options("undo")).unwrap();
    assert_eq!(undone.outcome.files[0].warnings, [Warning::BesideLaterEdits]);
    assert_eq!(world.content("@/root/a"), "1\ntwo\n3\n");
    assert!(!to.exists());
    back(&world, &undone.outcome.edit_id.unwrap());
    back(&world, &later);
    // Another program has changed the file, or replaced it.
    world.write("@/root/b", "1\n");
    assert_eq!(conflicts(&world, &plain).len(), 1);
    assert_clean(&world);
}

/// A line of the naive model. The model never has the same line twice. So a splice is independent of the
/// later ones exactly if its lines are still together, with the same neighbours.
type Unit = char;

/// The files of the naive model: for each name, the number of the file that has it, and the content.
type ModelFiles = BTreeMap<&'static str, (usize, Vec<Unit>)>;

/// A change of the naive model.
#[derive(Clone, Debug)]
enum ModelChange {
    /// A splice: the units before and after it, the units that it removed, and the units that it inserted.
    Splice([Option<Unit>; 2], Vec<Unit>, Vec<Unit>),
    /// The file got this name.
    Move(&'static str),
}

/// An edit of the naive model: for each change, the number of the file, and its name before the change.
type ModelEdit = Vec<(usize, &'static str, ModelChange)>;

/// Returns the files after the undo of an edit, and the undo as an edit. Returns `None` if a file of the edit
/// has another name by now, or if other edits touch or border the edit's units.
fn model_undo(files: &ModelFiles, edit: &ModelEdit) -> Option<(ModelFiles, ModelEdit)> {
    let (mut files, mut undo) = (files.clone(), ModelEdit::new());
    for (file, name, change) in edit {
        let (name_now, inverse) = match change {
            ModelChange::Splice(around, removed, put) => {
                (*name, ModelChange::Splice(*around, put.clone(), removed.clone()))
            }
            ModelChange::Move(to) => (*to, ModelChange::Move(name)),
        };
        let (_, units) = files.get_mut(name_now).filter(|(now, _)| now == file)?;
        match change {
            ModelChange::Splice([before, after], removed, put) => {
                let place = |before| units.iter().position(|unit| *unit == before).map(|at| at + 1);
                let start = before.map_or(Some(0), place)?;
                let end = start + put.len();
                if units.get(start..end)? != put.as_slice() || units.get(end) != after.as_ref() {
                    return None;
                }
                units.splice(start..end, removed.iter().copied());
            }
            ModelChange::Move(to) => {
                let moved = files.remove(to)?;
                files.insert(name, moved).map_or(Some(()), |_| None)?;
            }
        }
        undo.push((*file, name_now, inverse));
    }
    Some((files, undo))
}

const NAMES: [&str; 3] = ["@/root/a", "@/root/b", "@/root/c"];

#[derive(Clone, Debug)]
enum Step {
    /// An edit. For each splice: the file, the position, the number of units that it removes, and the number
    /// that it inserts.
    Edit(Vec<(prop::sample::Index, prop::sample::Index, usize, usize)>),
    /// Undos of these edits in one transaction. If it is a single edit, the flag tells whether the edits that
    /// must be undone together with it are undone, too.
    Undo(Vec<prop::sample::Index>, bool),
    Move(prop::sample::Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<prop::sample::Index>;
    let step = prop_oneof![
        4 => prop::collection::vec((index(), index(), 0..3usize, 0..3usize), 1..5).prop_map(Step::Edit),
        4 => (prop::collection::vec(index(), 1..4), any::<bool>())
            .prop_map(|(which, together)| Step::Undo(which, together)),
        1 => index().prop_map(Step::Move),
    ];
    prop::collection::vec(step, 1..16)
}

/// Draws the splices of an edit, and makes the edit in the naive model. Also returns the splices of each
/// file, by name.
fn model_edit(
    files: &mut ModelFiles,
    places: &[(prop::sample::Index, prop::sample::Index, usize, usize)],
    next: &mut impl Iterator<Item = Unit>,
) -> (ModelEdit, Vec<(&'static str, Digest, SpliceSet)>) {
    let (mut model, mut splices) = (ModelEdit::new(), Vec::new());
    let names: Vec<_> = files.keys().copied().collect();
    for (index, name) in names.iter().enumerate() {
        let (file, now) = files.get_mut(name).unwrap();
        let mut starts: Vec<_> = places
            .iter()
            .filter(|(of, ..)| of.index(names.len()) == index)
            .map(|(_, place, gone, come)| (place.index(now.len() + 1), *gone, *come))
            .collect();
        starts.sort_unstable();
        let (mut of_file, mut new, mut at) = (Vec::new(), Vec::new(), 0);
        for (start, gone, come) in starts {
            let end = (start + gone).min(now.len());
            // There is at least one unit between two splices, so that each has its own neighbours.
            if (start <= at && !of_file.is_empty()) || (start == end && come == 0) {
                continue;
            }
            let put: Vec<Unit> = next.take(come).collect();
            let bytes = |at: usize| (at * 3) as u64;
            of_file.push(Splice { at: bytes(start)..bytes(end), insert: text(&put).into_bytes() });
            new.extend_from_slice(&now[at..start]);
            new.extend_from_slice(&put);
            let around = [start.checked_sub(1).map(|at| now[at]), now.get(end).copied()];
            model.push((*file, *name, ModelChange::Splice(around, now[start..end].to_vec(), put)));
            at = end;
        }
        if !of_file.is_empty() {
            new.extend_from_slice(&now[at..]);
            splices.push((*name, Digest::of(text(now).as_bytes()), SpliceSet::new(of_file).unwrap()));
            *now = new;
        }
    }
    (model, splices)
}

/// Returns units as lines, of three bytes each.
fn text(units: &[Unit]) -> String {
    units.iter().flat_map(|unit| [*unit, '\n']).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// After any edits and moves of files, and undos and redos of any of them, the files are those of a naive
    /// merge. Otherwise the undo is a conflict, and the edits that it names can be undone together.
    #[test]
    fn an_undo_beside_later_edits_is_a_naive_merge(steps in steps()) {
        let world = kept();
        let mut next = ('\u{100}'..).filter(|unit| unit.len_utf8() == 2);
        let mut files = ModelFiles::new();
        for (file, name) in NAMES[..2].iter().enumerate() {
            let units: Vec<Unit> = next.by_ref().take(8).collect();
            world.write(name, &text(&units));
            files.insert(name, (file, units));
        }
        let mut edits = Vec::<(EditId, ModelEdit)>::new();
        for step in steps {
            match step {
                Step::Edit(places) => {
                    let (model, splices) = model_edit(&mut files, &places, &mut next);
                    if splices.is_empty() {
                        continue;
                    }
                    let paths: Vec<_> = splices.iter().map(|(name, ..)| world.path(name)).collect();
                    let changes = paths.iter().zip(&splices).map(|(path, (_, after, splices))| {
                        Edit::new(path.to_str().unwrap(), EditChange::Restore { after: *after, splices })
                    });
                    let done = edit(&world.workspace, &changes.collect::<Vec<_>>(), options("edit"));
                    edits.push((id(done.unwrap()), model));
                }
                Step::Undo(which, is_together) if !edits.is_empty() => {
                    let mut which: Vec<_> = which.iter().map(|which| which.index(edits.len())).collect();
                    which.sort_unstable_by(|one, other| other.cmp(one));
                    which.dedup();
                    let mut ids: Vec<EditId> = which.iter().map(|which| edits[*which].0.clone()).collect();
                    if let [only] = &ids[..] {
                        let model = &edits.iter().find(|(edit, _)| edit == only).unwrap().1;
                        let together = match (undo(&world.workspace, only, options("undo")), model_undo(&files, model)) {
                            (Ok(undone), Some((after, model))) => {
                                edits.push((undone.outcome.edit_id.unwrap(), model));
                                files = after;
                                Vec::new()
                            }
                            // The store may refuse an undo that the model allows: units that were restored
                            // together with a neighbour count as touched.
                            (Err(UndoError::Problems(against)), _) => {
                                prop_assert!(!against.conflicts.is_empty(), "{against:?}");
                                against.together
                            }
                            (undone, model) => {
                                prop_assert!(false, "{undone:?} {model:?}");
                                unreachable!()
                            }
                        };
                        ids = if is_together { together } else { Vec::new() };
                    }
                    let must = is_together && which.len() == 1;
                    let (mut plan, mut models) = (UndoPlan::default(), Vec::new());
                    for id in &ids {
                        let model = &edits.iter().find(|(edit, _)| edit == id).unwrap().1;
                        match (plan.add(&world.workspace, id, options("undo")), model_undo(&files, model)) {
                            (Ok(()), Some((after, model))) => {
                                models.push(model);
                                files = after;
                            }
                            (Err(UndoError::Problems(against)), _) => {
                                prop_assert!(!must && !against.conflicts.is_empty(), "{against:?}");
                            }
                            (planned, model) => prop_assert!(false, "{planned:?} {model:?}"),
                        }
                    }
                    let undone = plan.carry_out(&world.workspace, options("undo")).unwrap();
                    prop_assert_eq!(undone.len(), models.len());
                    let ids = undone.into_iter().map(|undone| undone.outcome.edit_id.unwrap());
                    edits.extend(ids.zip(models));
                }
                Step::Move(_) | Step::Undo(..) => {
                    let which = match step { Step::Move(which) => which, Step::Undo(which, _) => which[0], Step::Edit(_) => unreachable!() };
                    let names: Vec<_> = files.keys().copied().collect();
                    let from = names[which.index(names.len())];
                    let to = NAMES.into_iter().find(|name| !names.contains(name)).unwrap();
                    let [path, target] = [from, to].map(|name| world.path(name));
                    let keep = Edit::new(path.to_str().unwrap(), EditChange::Keep { after: None });
                    let moved = Edit { move_to: target.to_str(), ..keep };
                    let done = edit(&world.workspace, &[moved], options("move"));
                    let moved = files.remove(from).unwrap();
                    edits.push((id(done.unwrap()), vec![(moved.0, from, ModelChange::Move(to))]));
                    files.insert(to, moved);
                }
            }
            for name in NAMES {
                match files.get(name) {
                    Some((_, units)) => prop_assert_eq!(world.content(name), text(units)),
                    None => prop_assert!(!world.path(name).exists()),
                }
            }
        }
        assert_clean(&world);
    }
}

/// A step of a history with files that come and go.
#[derive(Clone, Debug)]
enum FileStep {
    Create(usize),
    Replace(usize, usize),
    Remove(usize),
    Move(usize, usize, bool),
    /// Two files exchange their names.
    Swap(usize, usize),
}

const PLACES: [&str; 5] = ["@/root/a", "@/root/b", "@/root/d/c", "@/root/d/e/f", "@/root/g/h"];

fn file_steps() -> impl Strategy<Value = Vec<FileStep>> {
    let (place, line) = (0..PLACES.len(), 0..6usize);
    let step = prop_oneof![
        3 => place.clone().prop_map(FileStep::Create),
        4 => (place.clone(), line).prop_map(|(place, line)| FileStep::Replace(place, line)),
        2 => place.clone().prop_map(FileStep::Remove),
        3 => (place.clone(), place.clone(), any::<bool>())
            .prop_map(|(from, to, edits)| FileStep::Move(from, to, edits)),
        1 => (place.clone(), place).prop_map(|(one, other)| FileStep::Swap(one, other)),
    ];
    prop::collection::vec(step, 1..14)
}

/// Makes the edit of a step; `None` if it cannot be made.
fn make_step(world: &World, number: usize, step: &FileStep) -> Option<EditId> {
    let at = |place: usize| world.path(PLACES[place]);
    let line = |line: usize| Patch::text(format!("{line}:"), format!("{line}:{number}"));
    let contents = [0, 1, 2, 3, 4, 5].map(|line| format!("{line}:of {number}\nx\n")).concat();
    let (path, to, patches);
    let done = match step {
        FileStep::Create(place) => {
            path = at(*place);
            edit(
                &world.workspace,
                &[Edit::new(path.to_str()?, EditChange::Create(&contents))],
                options("create"),
            )
        }
        FileStep::Replace(place, number) => {
            (path, patches) = (at(*place), [line(*number)]);
            edit(
                &world.workspace,
                &[Edit::new(path.to_str()?, EditChange::Patch(&patches))],
                options("patch"),
            )
        }
        FileStep::Remove(place) => {
            path = at(*place);
            let hash = Digest::of(&std::fs::read(&path).ok()?).to_string();
            let hash = DigestPrefix::parse(&hash);
            let remove = Edit { file_hash: hash.as_ref(), ..Edit::new(path.to_str()?, EditChange::Remove) };
            edit(&world.workspace, &[remove], options("remove"))
        }
        FileStep::Move(from, target, edits) => {
            (path, to, patches) = (at(*from), at(*target), [line(0)]);
            let change = if *edits { EditChange::Patch(&patches) } else { EditChange::Keep { after: None } };
            let moves = Edit { move_to: to.to_str(), ..Edit::new(path.to_str()?, change) };
            edit(&world.workspace, &[moves], options("move"))
        }
        FileStep::Swap(one, other) => {
            (path, to) = (at(*one), at(*other));
            let moves = [(&path, &to), (&to, &path)].map(|(from, to)| {
                let keep = Edit::new(from.to_str().unwrap(), EditChange::Keep { after: None });
                Edit { move_to: to.to_str(), ..keep }
            });
            edit(&world.workspace, &moves, options("swap"))
        }
    };
    done.ok()?.edit_id
}

/// Returns all directories, all files with their bytes, and all edits without the directories that they made.
fn seen(world: &World) -> (BTreeSet<String>, BTreeMap<String, String>, Vec<String>) {
    let content = |name: &String| std::fs::read_to_string(world.path(&format!("@/{name}"))).ok();
    let (mut directories, mut files) = (BTreeSet::new(), BTreeMap::new());
    for name in world.names() {
        match content(&name) {
            Some(content) => drop(files.insert(name, content)),
            None => drop(directories.insert(name)),
        }
    }
    let root = world.path("@/root").to_str().unwrap().to_owned();
    // The path has slashes in a diff, and escaped backslashes in the `Debug` format.
    let spellings = [root.replace('\\', r"\\"), root.replace('\\', "/")];
    let edits = world.workspace.history.find(&Filter::default(), 99, &|_| true).unwrap();
    let number = |id: &EditId| edits.iter().position(|edit| edit.id == *id);
    let row = |edit: &Entry| {
        let undos = world.workspace.history.get(&edit.id).unwrap().unwrap().1.into_iter();
        let undos: Vec<_> = undos.filter(|undo| !matches!(undo, Undo::Remove { .. })).collect();
        let Entry { tool, files, is_redo, .. } = edit;
        let undone = [&edit.undoes, &edit.undone_by].map(|id| id.as_ref().and_then(number));
        let row = format!("{tool} {:?} {is_redo} {undone:?} {files:?} {undos:?}", number(&edit.chain));
        spellings.iter().fold(row, |row, root| row.replace(root, ""))
    };
    (directories, files, edits.iter().map(row).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Undos in one transaction leave the files and the history as the same undos one by one, and so do their
    /// redos.
    #[test]
    fn several_undos_at_once_are_those_undos_one_by_one(
        steps in file_steps(),
        chosen in prop::collection::vec(any::<bool>(), 14),
        redone in prop::collection::vec(any::<bool>(), 14),
    ) {
        let worlds = [kept(), kept()];
        let mut edits = worlds.each_ref().map(|world| {
            let ids = steps.iter().enumerate().filter_map(|(number, step)| make_step(world, number, step));
            ids.collect::<Vec<_>>()
        });
        for id in &edits[0] {
            let Err(UndoError::Problems(against)) = undo(&worlds[0].workspace, id, EditOptions { dry_run: true, ..options("undo") }) else { continue };
            let mut plan = UndoPlan::default();
            prop_assert!(!against.together.is_empty(), "{against:?}");
            for id in &against.together {
                let planned = plan.add(&worlds[0].workspace, id, options("undo"));
                prop_assert!(planned.is_ok(), "{:?} of {:?}: {planned:?}", id, against);
            }
        }
        for chosen in [chosen, redone] {
            let wanted = edits.each_ref().map(|edits| {
                edits.iter().zip(&chosen).filter(|(_, chosen)| **chosen).map(|(id, _)| id.clone()).rev().collect::<Vec<_>>()
            });
            let [one, other] = worlds.each_ref();
            let singly: Vec<_> = wanted[0].iter().map(|id| undo(&one.workspace, id, options("undo")).ok()).collect();
            let mut plan = UndoPlan::default();
            let planned: Vec<_> = wanted[1].iter().map(|id| plan.add(&other.workspace, id, options("undo"))).collect();
            let are_planned: Vec<_> = planned.iter().map(Result::is_ok).collect();
            prop_assert_eq!(singly.iter().map(Option::is_some).collect::<Vec<_>>(), are_planned, "{:?}", planned);
            let done = plan.carry_out(&other.workspace, options("undo")).unwrap();
            let ((all, ..), (directories, ..)) = (seen(one), seen(other));
            // A file that is both created and removed within one transaction leaves no empty directories.
            prop_assert!(directories.is_subset(&all), "{directories:?} {all:?}");
            prop_assert_eq!((seen(one).1, seen(one).2), (seen(other).1, seen(other).2));
            let ids = |undone: Vec<Undone>| undone.into_iter().map(|undone| undone.outcome.edit_id.unwrap()).collect::<Vec<_>>();
            edits = [ids(singly.into_iter().flatten().collect()), ids(done)];
        }
        worlds.iter().for_each(assert_clean);
    }
}

/// The file that the second edit created is not the file that the first edit removed.
#[test]
fn another_name_of_a_file_that_goes_keeps_its_bytes() {
    let world = kept();
    world.write("@/root/a", "one\n");
    let steps = [FileStep::Remove(0), FileStep::Create(0)];
    let ids: Vec<_> = steps.iter().filter_map(|step| make_step(&world, 0, step)).collect();
    let created = world.content("@/root/a");
    std::fs::hard_link(world.path("@/root/a"), world.path("@/root/second")).unwrap();
    let mut plan = UndoPlan::default();
    for id in ids.iter().rev() {
        plan.add(&world.workspace, id, options("undo")).unwrap();
    }
    plan.carry_out(&world.workspace, options("undo")).unwrap();
    assert_eq!((world.content("@/root/a"), world.content("@/root/second")), ("one\n".to_owned(), created));
    assert_clean(&world);
}
