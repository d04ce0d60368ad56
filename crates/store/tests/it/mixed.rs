//! Calls that make, edit, move and remove files: all of it or nothing.

use std::collections::BTreeMap;

use mcp_text_editor_store::core::digest::{Digest, DigestPrefix};
use mcp_text_editor_store::core::rejection::At;
use mcp_text_editor_store::core::resolve::{EditedLines, GuardedRange, LineEdit, Patch, Position};
use mcp_text_editor_store::{Change, Control, Differing, EditError, FileEdit, Outcome, Reason};
use proptest::prelude::*;

use crate::moving::refusal;
use crate::world::World;

/// The part of a call for one file.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Create(&'static str, String),
    Patch(&'static str, String),
    Move(&'static str, &'static str),
    Edit(&'static str, &'static str, String),
    Remove(&'static str),
    /// The first line goes to the end.
    Rearrange(&'static str),
}

impl Step {
    /// Returns the place that the file has, and is to have.
    pub(crate) fn ends(&self) -> (Option<&'static str>, Option<&'static str>) {
        match self {
            Self::Create(name, _) => (None, Some(name)),
            Self::Patch(name, _) | Self::Rearrange(name) => (Some(name), Some(name)),
            Self::Move(from, to) | Self::Edit(from, to, _) => (Some(from), Some(to)),
            Self::Remove(name) => (Some(name), None),
        }
    }
}

pub(crate) type Tree = BTreeMap<String, String>;

/// Returns what the files are after a call; `None` if it is to be refused.
pub(crate) fn model(before: &Tree, steps: &[Step]) -> Option<Tree> {
    let mut after = before.clone();
    for from in steps.iter().filter_map(|step| step.ends().0) {
        // Twice the same, or none.
        after.remove(from)?;
    }
    for step in steps {
        let Some(to) = step.ends().1 else { continue };
        let old = step.ends().0.map(|from| before[from].clone()).unwrap_or_default();
        let text = match step {
            Step::Create(_, text) | Step::Patch(_, text) | Step::Edit(_, _, text) => text.clone(),
            Step::Move(..) | Step::Remove(_) => old,
            Step::Rearrange(_) => {
                let end = old.find('\n')? + 1;
                [&old[end..], &old[..end]].concat()
            }
        };
        if after.insert(to.to_owned(), text).is_some() {
            return None;
        }
    }
    // No file is below another, even if that one goes.
    let is_file = |name: &str| before.contains_key(name) || after.contains_key(name);
    let is_below_file = |name: &String| name.match_indices('/').any(|(at, _)| is_file(&name[..at]));
    (!before.keys().chain(after.keys()).any(is_below_file)).then_some(after)
}

/// Carries a call out.
fn apply(world: &World, before: &Tree, steps: &[Step], dry_run: bool) -> Result<Option<String>, String> {
    let done = carry_out(world, before, steps, dry_run);
    done.map(|done| done.edit_id.map(|id| id.to_string())).map_err(|error| error.to_string())
}

/// Carries a call out; the error has every reason.
pub(crate) fn carry_out(
    world: &World,
    before: &Tree,
    steps: &[Step],
    dry_run: bool,
) -> Result<Outcome, EditError> {
    let path = |name: &str| world.path(name);
    let paths: Vec<(String, String)> = steps
        .iter()
        .map(|step| {
            let (from, to) = step.ends();
            (path(from.or(to).unwrap()), path(to.or(from).unwrap()))
        })
        .collect();
    let whole = |name: &str, text: &String| {
        vec![Patch::text(before.get(name).map_or("none", String::as_str), text.as_str())]
    };
    let patches: Vec<Vec<Patch>> = steps
        .iter()
        .map(|step| match step {
            Step::Patch(name, text) | Step::Edit(name, _, text) => whole(name, text),
            _ => Vec::new(),
        })
        .collect();
    let hashes: Vec<Option<DigestPrefix>> = steps
        .iter()
        .map(|step| match step {
            Step::Remove(name) => {
                let text = before.get(*name).map_or("", String::as_str);
                DigestPrefix::parse(&Digest::of(text.as_bytes()).to_string())
            }
            _ => None,
        })
        .collect();
    let range = GuardedRange { start: 1, end: Some(1), range_hash: None };
    let lines = EditedLines::Own { range: &range, is_removed: true };
    let rearranged = steps.iter().map(|step| {
        let text = step.ends().0.and_then(|name| before.get(name)).map_or("", String::as_str);
        let to = Some(Position::After(text.lines().count() as u64));
        [LineEdit { at: At::default(), lines, to }]
    });
    let rearranged: Vec<_> = rearranged.collect();
    let edits: Vec<FileEdit<'_>> = steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let change = match step {
                Step::Create(_, text) => Change::Create(text),
                Step::Patch(..) => Change::Patch(&patches[index]),
                Step::Move(..) | Step::Edit(..) => {
                    Change::Move { to: &paths[index].1, patches: &patches[index] }
                }
                Step::Remove(_) => Change::Remove,
                Step::Rearrange(_) => Change::Rearrange(&rearranged[index]),
            };
            FileEdit { file_hash: hashes[index].as_ref(), ..FileEdit::new(&paths[index].0, change) }
        })
        .collect();
    let control = Control::of("test");
    if dry_run { world.workspace.plan(&edits, control) } else { world.workspace.apply(&edits, control) }
}

/// Returns the files without the directories.
pub(crate) fn files(world: &World) -> Tree {
    world.tree().into_iter().filter(|(name, _)| !name.ends_with('/')).collect()
}

const NAMES: [&str; 9] = ["a", "b", "c", "d", "d/e", "d/f", "g/h/i", "g/j", "k"];

/// Draws one of few texts, so that files are often equal.
fn text() -> impl Strategy<Value = String> {
    proptest::sample::select(&["", "x\n", "y\n", "x\ny\n", "z\n"][..]).prop_map(str::to_owned)
}

fn step() -> impl Strategy<Value = Step> {
    let name = || proptest::sample::select(&NAMES[..]);
    prop_oneof![
        (name(), text()).prop_map(|(name, text)| Step::Create(name, text)),
        (name(), text()).prop_map(|(name, text)| Step::Patch(name, text)),
        (name(), name()).prop_map(|(from, to)| Step::Move(from, to)),
        (name(), name(), text()).prop_map(|(from, to, text)| Step::Edit(from, to, text)),
        name().prop_map(Step::Remove),
        name().prop_map(Step::Rearrange),
    ]
}

/// Draws a call that names no file twice, and gives no name twice.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let names = || Just(NAMES).prop_shuffle();
    let kinds = proptest::collection::vec((0..9_usize, text()), 1..6);
    (names(), names(), kinds).prop_map(|(from, to, kinds)| {
        let step = |(at, (kind, text)): (usize, (usize, String))| match kind {
            0 => Step::Create(to[at], text),
            1 => Step::Patch(from[at], text),
            2 => Step::Edit(from[at], to[at], text),
            3 => Step::Remove(from[at]),
            4 => Step::Rearrange(from[at]),
            _ => Step::Move(from[at], to[at]),
        };
        kinds.into_iter().enumerate().map(step).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any call does what a map of names to texts does, or nothing; and is undone, and done again.
    #[test]
    fn any_call_is_all_or_nothing(
        there in proptest::collection::btree_map(proptest::sample::select(&NAMES[..]), text(), 0..20),
        steps in prop_oneof![1 => proptest::collection::vec(step(), 1..6), 4 => steps()],
    ) {
        let world = World::new();
        let mut before: Tree = there.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
        if before.keys().any(|name| name.starts_with("d/")) {
            before.remove("d");
        }
        for (name, text) in &before {
            world.write(name, text);
        }
        let whole = world.tree();
        // A move to itself is nothing, and a patch of a text by itself is none.
        prop_assume!(steps.iter().all(|step| !matches!(step, Step::Move(from, to) | Step::Edit(from, to, _) if from == to)));
        let expected = model(&before, &steps);
        let planned = apply(&world, &before, &steps, true);
        prop_assert_eq!(planned.is_ok(), expected.is_some(), "{:?}", planned);
        prop_assert_eq!(&world.tree(), &whole);
        let done = apply(&world, &before, &steps, false);
        let Some(expected) = expected else {
            prop_assert!(done.is_err(), "{:?}", done);
            prop_assert_eq!(&world.tree(), &whole);
            return Ok(());
        };
        prop_assert!(done.is_ok(), "{:?}", done);
        prop_assert_eq!(&files(&world), &expected);
        #[cfg(feature = "history")]
        if let Some(mut id) = done.unwrap() {
            let after = world.tree();
            for turn in 0..4 {
                let id_now = mcp_text_editor_store::EditId::parse(&id).unwrap();
                let undone = world.workspace.undo(&id_now, Control::of("test"));
                prop_assert!(undone.is_ok(), "{}", undone.unwrap_err());
                prop_assert_eq!(&world.tree(), if turn % 2 == 0 { &whole } else { &after });
                id = undone.unwrap().outcome.edit_id.unwrap().to_string();
            }
        }
    }
}

#[test]
fn two_files_change_names() {
    let world = World::new();
    world.write("a", "one\n");
    world.write("b", "two\n");
    let before = files(&world);
    let id = apply(&world, &before, &[Step::Move("a", "b"), Step::Move("b", "a")], false).unwrap();
    assert_eq!(
        files(&world),
        [("a".to_owned(), "two\n".to_owned()), ("b".to_owned(), "one\n".to_owned())].into()
    );
    assert_eq!(id.is_some(), cfg!(feature = "history"));
}

#[test]
fn no_file_is_named_twice() {
    let world = World::new();
    let (a, b, c) = (world.write("a", "one\n"), world.write("b", "two\n"), world.path("c"));
    let before = world.tree();
    let patches = [Patch::text("one", "three")];
    let moved = |from, to| FileEdit::new(from, Change::Move { to, patches: &[] });
    let replaced = || FileEdit::new(&a, Change::Patch(&patches));
    for (edits, is_result) in [
        ([moved(&a, &c), moved(&b, &c)], true),
        ([moved(&a, &c), FileEdit::new(&c, Change::Create("x"))], true),
        ([moved(&a, &c), replaced()], false),
        ([replaced(), moved(&a, &c)], false),
        ([moved(&a, &c), moved(&a, &b)], false),
    ] {
        let error = world.apply(&edits).unwrap_err();
        let is_it = |reason: &Reason| match reason {
            Reason::Differs(Differing::Result { first: 0, .. }) => is_result,
            Reason::Differs(Differing::Fate { first: 0 }) => !is_result,
            _ => false,
        };
        let told = error.problems.iter().any(|problem| problem.entry == 1 && is_it(&problem.reason));
        assert!(told, "{error}");
        assert_eq!(world.tree(), before);
    }
}

/// The disk alone does not show it: neither is there yet. The dry run says so, too.
#[test]
fn no_file_is_made_below_another() {
    let world = World::new();
    let (a, b) = (world.write("a", "one\n"), world.write("b", "two\n"));
    let (c, below, deep) = (world.path("c"), world.path("c/d"), world.path("c/d/e"));
    let before = world.tree();
    let create = |path| FileEdit::new(path, Change::Create("x"));
    let moved = |from, to| FileEdit::new(from, Change::Move { to, patches: &[] });
    for edits in [
        [create(&c), create(&below)],
        [create(&deep), create(&c)],
        [moved(&a, &c), create(&below)],
        [moved(&a, &below), moved(&b, &c)],
    ] {
        for done in [world.workspace.plan(&edits, Control::of("test")), world.apply(&edits)] {
            let told = done.unwrap_err().to_string();
            assert!(told.contains("is no directory"), "{told}");
        }
        assert_eq!(world.tree(), before);
    }
}

#[test]
fn every_reason_is_told_at_once() {
    let world = World::new();
    let (a, b, c) = (world.write("a", "one\n"), world.write("b", "two\n"), world.path("c"));
    let before = world.tree();
    let patches = [Patch::text("none", "three")];
    let edits = [
        FileEdit::new(&a, Change::Create("x")),
        FileEdit::new(&a, Change::Move { to: &c, patches: &patches }),
        FileEdit::new(&b, Change::Remove),
    ];
    let error = world.apply(&edits).unwrap_err();
    let entries: Vec<usize> = error.problems.iter().map(|problem| problem.entry).collect();
    assert_eq!(entries, [1, 2], "{error}");
    assert!(refusal(Err(error)).starts_with("the text"));
    assert_eq!(world.tree(), before);
}

/// The file that is refused last is the one for which the directory around all of them was made.
#[test]
fn directories_go_with_a_call_that_fails() {
    let world = World::new();
    world.write("a", "one\n");
    let name: &'static str = format!("x/{}", "n".repeat(300)).leak();
    let before = world.tree();
    let create = |name| Step::Create(name, "new\n".to_owned());
    for other in [create("x/y/b"), Step::Move("a", "x/y/b")] {
        for steps in [[create(name), other.clone()], [other, create(name)]] {
            let error = apply(&world, &files(&world), &steps, false).unwrap_err();
            assert!(error.contains("too long"), "{error}");
            assert_eq!(world.tree(), before, "{steps:?}");
        }
    }
    // Opened while a temporary is there, it would keep that in sight of programs that watch the directory.
    let history = world.directory.path().join("state").join("history.db");
    assert_eq!(history.exists(), cfg!(feature = "history"), "it is opened before anything is written");
}

/// A file that is edited and moved is what it was besides its bytes.
#[cfg(unix)]
#[test]
fn an_edit_on_the_way_keeps_the_mode_there_and_back() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let (a, b) = (world.write("a", "one\n"), world.path("d/b"));
    std::fs::set_permissions(&a, std::fs::Permissions::from_mode(0o751)).unwrap();
    let mode = |path: &str| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let patches = [Patch::text("one", "two")];
    let done = world.apply(&[FileEdit::new(&a, Change::Move { to: &b, patches: &patches })]).unwrap();
    assert_eq!((mode(&b), std::fs::read_to_string(&b).unwrap().as_str()), (0o751, "two\n"));
    let told = &done.files[0];
    assert_eq!((told.digest, told.total_lines), (Some(Digest::of(b"two\n")), 1));
    assert_eq!(told.became, mcp_text_editor_store::Became::Moved { from: a.clone() });
    #[cfg(feature = "history")]
    {
        world.workspace.undo(&done.edit_id.unwrap(), Control::of("test")).unwrap();
        assert_eq!((mode(&a), std::fs::read_to_string(&a).unwrap().as_str()), (0o751, "one\n"));
        assert!(!std::path::Path::new(&world.path("d")).exists());
    }
}
