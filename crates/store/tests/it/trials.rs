//! The calls that are tried while something goes wrong, the files that they are about, and what is to be said
//! of both afterwards.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use mcp_text_editor_store::{Control, EditId, LeftBehind, PathError, Reason, Remains, StoreError, UndoError};
use proptest::prelude::RngExt as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use rustix::io::Errno;

use crate::mixed::{Step, Tree, carry_out, model};
use crate::system_calls::SystemCall;
use crate::world::World;

/// All that another program writes.
pub(crate) const THEIRS: &str = "the words of another program\n";

/// One of so many trials is made unless `MCP_TEXT_EDITOR_ONE_IN` says otherwise.
const EVERY: usize = 3_000;

/// Those at a call on which much depends are made so many times as often.
const MORE: usize = 10;

/// The things that a file system can lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lacks {
    Nothing,
    /// Two names cannot be exchanged, and a rename cannot refuse a name that is taken.
    Exchange,
    /// Nor can a program be kept from writing.
    Leases,
    /// Names cannot be exchanged or refused, and a file has one name.
    Links,
    /// Files cannot be locked.
    Locks,
}

impl Lacks {
    /// Returns the error of a call that this file system does not have.
    pub(crate) fn refuses(self, call: &SystemCall) -> Option<Errno> {
        match call.name {
            "renameat2" if !matches!(self, Self::Nothing | Self::Locks) => Some(Errno::INVAL),
            "flock" if self == Self::Locks => Some(Errno::NOLCK),
            "linkat" if self == Self::Links => Some(Errno::PERM),
            "fcntl" if self == Self::Leases && call.is_lease() => Some(Errno::INVAL),
            _ => None,
        }
    }
}

/// A call that is about to be made.
pub(crate) struct Ready<'a> {
    pub(crate) world: World,
    /// All that is in the root, and what the call makes of it.
    pub(crate) before: Tree,
    pub(crate) after: Tree,
    steps: &'a [Step],
    /// The edit that is taken back, if it does that.
    undoes: Option<EditId>,
}

/// A call that was refused.
pub(crate) struct Refused {
    pub(crate) said: String,
    /// The system's error, if there was one.
    pub(crate) error: Option<Box<StoreError>>,
}

/// Makes files with their content, one of which has two names, for a call; or makes the call, too, and it is
/// to be taken back.
pub(crate) fn ready(steps: &[Step], undoes: bool) -> Ready<'_> {
    let world = if undoes { World::new() } else { World::with(|builder| builder) };
    // Two are equal, and two are empty.
    for (name, text) in [
        ("a", "the text of a\n"),
        ("b", "the text of b\n"),
        ("c", ""),
        ("d/e", "the text of a\n"),
        ("d/f", ""),
    ] {
        world.write(name, text);
    }
    world.write("linked", "the text of two names\n");
    std::fs::hard_link(world.path("linked"), world.path("d/linked too")).unwrap();
    let before = world.now();
    let after = after(&before, steps);
    if !undoes {
        return Ready { world, before, after, steps, undoes: None };
    }
    let edit_id = carry_out(&world, &before, steps, false).unwrap().edit_id;
    Ready { world, before: after, after: before, steps, undoes: edit_id }
}

impl Ready<'_> {
    /// Tells whether a call renames one of the files, or renames something to its name.
    pub(crate) fn is_renamed(&self, call: &SystemCall) -> bool {
        let last = |name: &str| name.rsplit('/').next().map(str::to_owned);
        let files = |(name, _): (&String, &String)| (!name.ends_with('/')).then(|| last(name));
        let names = || [&self.before, &self.after].into_iter().flatten().filter_map(files);
        let is_one = |argument| names().any(|name| name == last(&call.path(argument)));
        ["renameat", "renameat2"].contains(&call.name) && [1, 3].into_iter().any(is_one)
    }

    pub(crate) fn carry_out(&self) -> Result<(), Refused> {
        let said = |error: &dyn fmt::Display| error.to_string();
        let (said, problems) = match &self.undoes {
            None => match carry_out(&self.world, &self.before, self.steps, false) {
                Ok(_) => return Ok(()),
                Err(error) => (said(&error), error.problems),
            },
            Some(id) => match self.world.workspace.undo(id, Control::of("test")) {
                Ok(_) => return Ok(()),
                Err(UndoError::Problems(error)) => (said(&error), error.problems),
                Err(error) => (said(&error), Vec::new()),
            },
        };
        let error = problems.into_iter().find_map(|problem| store_error(problem.reason));
        Err(Refused { said, error: error.map(Box::new) })
    }
}

/// Returns the error of the system that is a reason.
fn store_error(reason: Reason) -> Option<StoreError> {
    match reason {
        Reason::Store(error) | Reason::Path(PathError::Failed(error)) => Some(error),
        Reason::OfTarget(reason) => store_error(*reason),
        _ => None,
    }
}

/// Returns what a call makes of these files.
fn after(before: &Tree, steps: &[Step]) -> Tree {
    let mut files = before.clone();
    files.retain(|name, _| !name.ends_with('/'));
    let mut after = model(&files, steps).unwrap();
    after.insert("d/linked too".to_owned(), after["linked"].clone());
    let above =
        |name: &String| name.match_indices('/').map(|(at, _)| name[..=at].to_owned()).collect::<Vec<_>>();
    let directories: Vec<String> = after.keys().flat_map(above).collect();
    after.extend(directories.into_iter().map(|name| (name, String::new())));
    after
}

/// Returns calls of each kind, and which of them are to be taken back.
pub(crate) fn calls() -> Vec<(&'static str, Vec<Step>, bool)> {
    let is_kept = cfg!(feature = "history");
    let taken_back = kinds().into_iter().filter(|(kind, _)| is_kept && UNDONE.contains(kind));
    let undoes: Vec<_> = taken_back.map(|(kind, steps)| (kind, steps, true)).collect();
    kinds().into_iter().map(|(kind, steps)| (kind, steps, false)).chain(undoes).collect()
}

/// The kinds that are also taken back.
const UNDONE: [&str; 5] = ["create far", "move far", "remove", "mixed", "mixed in place"];

fn kinds() -> Vec<(&'static str, Vec<Step>)> {
    let patch = |name| Step::Patch(name, "new\n".to_owned());
    let create = |name| Step::Create(name, "new\n".to_owned());
    let mixed = vec![
        create("m/n/new"),
        create("m/too"),
        patch("a"),
        Step::Edit("b", "d/moved", "new, too\n".to_owned()),
        Step::Move("c", "m/o/c"),
        Step::Remove("d/e"),
        create("c"),
    ];
    vec![
        ("patch", vec![patch("a")]),
        ("in place", vec![patch("linked")]),
        ("patches", vec![patch("a"), patch("d/e"), patch("linked"), patch("b")]),
        ("create", vec![create("d/new")]),
        ("create far", vec![create("m/n/new")]),
        ("move", vec![Step::Move("a", "d/moved")]),
        ("move far", vec![Step::Move("a", "m/n/moved")]),
        ("remove", vec![Step::Remove("d/f")]),
        ("in its place", vec![Step::Move("a", "d/moved"), create("a")]),
        ("exchange", vec![Step::Move("a", "b"), Step::Move("b", "a")]),
        (
            "made the same",
            vec![Step::Move("a", "d/moved"), Step::Create("a", "the text of a\n".to_owned()), patch("b")],
        ),
        (
            "edited to be the same",
            vec![Step::Move("a", "d/moved"), Step::Edit("b", "a", "the text of a\n".to_owned())],
        ),
        ("a chain of equals", vec![Step::Move("d/e", "m/e"), Step::Move("a", "d/e"), Step::Move("b", "a")]),
        ("onto a removed name", vec![Step::Remove("b"), Step::Move("c", "b"), Step::Move("d/f", "c")]),
        ("mixed in place", mixed.iter().cloned().chain([patch("linked")]).collect()),
        ("mixed", mixed),
    ]
}

pub(crate) fn different<'a>(one: &'a Tree, other: &'a Tree) -> BTreeSet<&'a str> {
    let names = one.keys().chain(other.keys());
    names.filter(|name| one.get(*name) != other.get(*name)).map(String::as_str).collect()
}

/// Compares what an error says of the disk with what is there.
pub(crate) fn untrue(left: &[LeftBehind], world: &World, before: &Tree, now: &Tree) -> Vec<String> {
    let root = world.directory.path().join("root");
    let name_of = |path: &Path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    let mut problems = Vec::new();
    let mut told = BTreeSet::new();
    for left in left {
        // A copy that is made in the state directory.
        if !left.path.starts_with(&root) {
            if left.what == Remains::Made && !left.path.exists() {
                problems.push(format!("{:?} is told to be made", left.path));
            }
            continue;
        }
        let name = name_of(&left.path);
        let of_directory = format!("{name}/");
        let name = if now.contains_key(&of_directory) { of_directory } else { name };
        let (was, is) = (before.get(&name), now.get(&name));
        let is_so = match &left.what {
            // What was made may hold what another file held.
            Remains::Changed | Remains::Made => is.is_some(),
            Remains::Gone => is.is_none() && was.is_some(),
            Remains::Old(of) => is == before.get(&name_of(of)),
            Remains::PerhapsMade => was.is_none(),
        };
        if !is_so {
            problems.push(format!("{name} is told to be {:?}, and is {is:?}", left.what));
        }
        told.insert(name);
    }
    // Of a file that has two names that one is told which the call gave.
    let is_told = |name: &str| told.contains(name) || name == "d/linked too" && told.contains("linked");
    let untold: Vec<_> = different(before, now).into_iter().filter(|name| !is_told(name)).collect();
    if !untold.is_empty() {
        problems.push(format!("not told: {untold:?}"));
    }
    problems
}

/// Draws numbers, the same in each run of the tests, so that red means the change.
pub(crate) struct Drawn {
    from: TestRng,
    every: usize,
}

impl Drawn {
    pub(crate) fn new() -> Self {
        let seed: u64 = std::env::var("SEED").map_or(24, |seed| seed.parse().unwrap());
        let [low, high] = [seed, 0].map(u64::to_le_bytes);
        let from = TestRng::from_seed(RngAlgorithm::XorShift, &[low, high].concat());
        let every = std::env::var("MCP_TEXT_EDITOR_ONE_IN").map_or(EVERY, |every| every.parse().unwrap());
        Self { from, every }
    }

    /// Makes trials so many times as rare.
    pub(crate) fn rarer(self, times: usize) -> Self {
        Self { every: self.every * times, ..self }
    }

    /// Returns the places of some of the calls, each given by whether much depends on it.
    pub(crate) fn some_of(&mut self, calls: &[bool]) -> Vec<usize> {
        let every = |is_decisive: bool| if is_decisive { (self.every / MORE).max(1) } else { self.every };
        let every: Vec<usize> = calls.iter().map(|is_decisive| every(*is_decisive)).collect();
        every.into_iter().enumerate().filter(|(_, every)| self.below(*every) == 0).map(|(at, _)| at).collect()
    }

    /// Returns the next number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.from.random_range(0..end)
    }
}
