//! Calls that edit, while the system refuses one of the calls that they make; refuses one, and the way back;
//! or refuses all from one on, which leaves what a kill leaves. Then the next process recovers, which is cut
//! off in the same way, and the one after that.
//!
//! Each trial takes some milliseconds, so `cargo test` draws some of them, and `MCP_TEXT_EDITOR_REFUSED=1`
//! makes all; another number makes one of so many.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use mcp_text_editor_store::{EditError, LeftBehind, PathError, Reason, Remains, StoreError, StoreErrorKind};
use rustix::io::Errno;

use crate::mixed::{Step, Tree, carry_out, model};
use crate::system_calls::{SystemCall, asked};
use crate::unsynced::Unsynced;
use crate::world::World;

/// One of so many trials is made unless the environment says otherwise.
const EVERY: usize = 100;

/// The things that a file system can lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lacks {
    Nothing,
    /// Two names cannot be exchanged, and a rename cannot refuse a name that is taken.
    Exchange,
    /// Nor can a program be kept from writing.
    Leases,
    /// Names cannot be exchanged or refused, and a file has one name.
    Links,
}

impl Lacks {
    fn refuses(self, call: &SystemCall) -> Option<Errno> {
        match call.name {
            "renameat2" if self != Self::Nothing => Some(Errno::INVAL),
            "linkat" if self == Self::Links => Some(Errno::PERM),
            "fcntl" if self == Self::Leases && call.is_lease() => Some(Errno::INVAL),
            _ => None,
        }
    }
}

/// The calls that are refused from the one call on, besides that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Then {
    Nothing,
    /// All that gives and takes names.
    Names,
    /// All syncs.
    Syncs,
    All,
}

impl Then {
    fn refuses(self, call: &SystemCall) -> bool {
        match self {
            Self::Nothing => false,
            Self::Names => ["renameat", "renameat2", "linkat", "unlinkat"].contains(&call.name),
            Self::Syncs => call.is_sync(),
            Self::All => true,
        }
    }
}

/// A place at which calls are refused.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    /// The number of calls before it that are made.
    after: usize,
    then: Then,
}

/// Refuses calls, and remembers the first.
struct Refusing {
    lacks: Lacks,
    refusal: Refusal,
    made: usize,
    first: Option<(SystemCall, String)>,
}

impl Refusing {
    fn new(lacks: Lacks, refusal: Refusal) -> Self {
        Self { lacks, refusal, made: 0, first: None }
    }

    fn answer(&mut self, call: &SystemCall) -> Option<Errno> {
        if let Some(error) = self.lacks.refuses(call) {
            return Some(error);
        }
        // Of the ways of fcntl(2), only a lease can be refused.
        if call.name == "fcntl" && !call.is_lease() {
            return None;
        }
        self.made += 1;
        let before = self.made.cmp(&(self.refusal.after + 1));
        if before.is_eq() {
            self.first = Some((call.clone(), call.to_string()));
        }
        (before.is_eq() || before.is_gt() && self.refusal.then.refuses(call)).then_some(Errno::IO)
    }
}

/// Makes files with their content; one has two names.
fn begin() -> (World, Tree) {
    let world = World::with(|builder| builder);
    for name in ["a", "b", "c", "d/e", "d/f"] {
        world.write(name, format!("the text of {name}\n"));
    }
    world.write("linked", "the text of two names\n");
    std::fs::hard_link(world.path("linked"), world.path("d/linked too")).unwrap();
    let before = world.now();
    (world, before)
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

/// Returns calls of each kind.
fn calls() -> Vec<(&'static str, Vec<Step>)> {
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
        ("exchange", vec![Step::Move("a", "b"), Step::Move("b", "a")]),
        ("mixed in place", mixed.iter().cloned().chain([patch("linked")]).collect()),
        ("mixed", mixed),
    ]
}

impl World {
    /// Returns all that is in the root, whatever is left in the journal.
    fn now(&self) -> Tree {
        let root = self.directory.path().join("root");
        let (mut tree, mut pending) = (BTreeMap::new(), vec![root.clone()]);
        while let Some(directory) = pending.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                if path.is_dir() {
                    tree.insert(format!("{name}/"), String::new());
                    pending.push(path);
                } else {
                    tree.insert(name, String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned());
                }
            }
        }
        tree
    }

    fn records(&self) -> usize {
        std::fs::read_dir(self.directory.path().join("state/journal")).unwrap().count()
    }
}

/// Returns the system's error with which a call was refused.
fn store_error(error: &EditError) -> Option<&StoreError> {
    fn of(reason: &Reason) -> Option<&StoreError> {
        match reason {
            Reason::Store(error) | Reason::Path(PathError::Failed(error)) => Some(error),
            Reason::OfTarget(reason) => of(reason),
            _ => None,
        }
    }
    error.problems.iter().find_map(|problem| of(&problem.reason))
}

fn different<'a>(one: &'a Tree, other: &'a Tree) -> BTreeSet<&'a str> {
    let names = one.keys().chain(other.keys());
    names.filter(|name| one.get(*name) != other.get(*name)).map(String::as_str).collect()
}

/// Compares what an error says of the disk with what is there.
fn untrue(left: &[LeftBehind], world: &World, before: &Tree, now: &Tree) -> Vec<String> {
    let root = world.directory.path().join("root");
    let name_of = |path: &std::path::Path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    let mut problems = Vec::new();
    let mut told = BTreeSet::new();
    for left in left {
        let name = name_of(&left.path);
        let of_directory = format!("{name}/");
        let name = if now.contains_key(&of_directory) { of_directory } else { name };
        let (was, is) = (before.get(&name), now.get(&name));
        let is_so = match &left.what {
            Remains::Changed => is.is_some(),
            Remains::Gone => is.is_none() && was.is_some(),
            Remains::Old(of) => is == before.get(&name_of(of)),
            Remains::Theirs(_) => false,
            Remains::Made => is.is_some() && is != was,
            Remains::PerhapsMade => was.is_none(),
        };
        if !is_so {
            problems.push(format!("{name} is told to be {:?}, and is {is:?}", left.what));
        }
        told.insert(name);
    }
    let untold: Vec<_> = different(before, now).into_iter().filter(|name| !told.contains(*name)).collect();
    if !untold.is_empty() {
        problems.push(format!("not told: {untold:?}"));
    }
    problems
}

/// A call of some kind, and what is refused to it and to the next process, which recovers.
#[derive(Debug)]
struct Trial<'a> {
    kind: &'a str,
    steps: &'a [Step],
    lacks: Lacks,
    refusal: Refusal,
    of_recovery: Option<Refusal>,
}

impl fmt::Display for Trial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, lacks, refusal, of_recovery, .. } = self;
        write!(f, "{kind}, on a file system that lacks {lacks:?}; {refusal:?}; then {of_recovery:?}")
    }
}

impl Trial<'_> {
    /// Makes it, and returns what is wrong; `None` if the call ends before the refusal. Fails if the kernel
    /// has no way to ask.
    fn make(&self) -> std::io::Result<Option<Vec<String>>> {
        let (world, before) = begin();
        let after = after(&before, self.steps);
        let mut refusing = Refusing::new(self.lacks, self.refusal);
        let done = asked(|call| refusing.answer(call), || carry_out(&world, &before, self.steps, false))?;
        let Some((call, shown)) = refusing.first else { return Ok(None) };
        let mut problems = match &done {
            // The process is dead, and has said nothing.
            _ if self.refusal.then == Then::All => Vec::new(),
            Ok(_) => self.false_success(&call, &shown, &after, &world.now()),
            Err(error) => false_refusal(error, &world, &before),
        };
        let world = self.recover(world)?;
        let mut now = world.now();
        let error = done.as_ref().err().and_then(store_error);
        // Without a record nobody removes what the error has named.
        if self.refusal.then == Then::Names && shown.contains("/state/journal/") {
            let is_told =
                error.is_some_and(|error| error.kind == StoreErrorKind::Io && !error.left.is_empty());
            now.retain(|name, _| !name.contains(".mte-") && (before.contains_key(name) || !is_told));
        }
        let is_open = self.refusal.then == Then::All
            || error.is_some_and(|error| error.kind == StoreErrorKind::NotRestored);
        let whole: &[&Tree] = match &done {
            Ok(_) => &[&after],
            Err(_) if is_open => &[&before, &after],
            Err(_) => &[&before],
        };
        let without_claims = |tree: &Tree| self.without_claims(tree, &before);
        if !whole.iter().any(|whole| without_claims(whole) == without_claims(&now)) {
            problems.push(format!("the next process leaves {now:?}"));
        }
        if world.records() > 0 {
            problems.push("a record is left".to_owned());
        }
        let end = done.map_or_else(|error| error.to_string(), |_| "done".to_owned());
        Ok(Some(problems.into_iter().map(|problem| format!("{self}: {shown}: {end}: {problem}")).collect()))
    }

    /// Returns a tree without what may stay: where a name can only be claimed, the empty file of a call that
    /// was killed, and the directories around it.
    fn without_claims(&self, tree: &Tree, before: &Tree) -> Tree {
        let mut tree = tree.clone();
        if self.lacks == Lacks::Links && self.refusal.then == Then::All {
            tree.retain(|name, text| before.contains_key(name) || !text.is_empty());
        }
        // An error as it removes a directory is no reason to try again.
        if self.of_recovery.is_some_and(|refusal| refusal.then == Then::Nothing) {
            tree.retain(|name, _| before.contains_key(name) || !name.ends_with('/'));
        }
        tree
    }

    /// Returns what is wrong with a call that said that it was done.
    fn false_success(&self, call: &SystemCall, shown: &str, after: &Tree, now: &Tree) -> Vec<String> {
        let mut problems = Vec::new();
        let differs = different(now, after);
        if differs.iter().any(|name| !name.contains(".mte-") && !name.ends_with('/')) {
            problems.push(format!("done, and not so: {differs:?}"));
        }
        // An attempt that is begun anew, as one is where something is lacking, needs no sync.
        if call.is_sync() && self.lacks == Lacks::Nothing && !shown.ends_with("/state/journal") {
            problems.push("done, and not synced".to_owned());
        }
        problems
    }

    /// Has the next process recover, which may be cut off as well, and then another.
    fn recover(&self, world: World) -> std::io::Result<World> {
        let World { directory, workspace } = world;
        drop(workspace);
        if let Some(refusal) = self.of_recovery {
            let mut refusing = Refusing::new(self.lacks, refusal);
            let recover = || World::serve(&directory, |builder| builder).map(|workspace| workspace.recover());
            // It may not even begin.
            asked(|call| refusing.answer(call), || recover().ok())?;
        }
        let workspace = World::serve(&directory, |builder| builder).unwrap();
        workspace.recover();
        Ok(World { directory, workspace })
    }
}

/// Returns what is wrong with a refusal.
fn false_refusal(error: &EditError, world: &World, before: &Tree) -> Vec<String> {
    let Some(error) = store_error(error) else { return vec!["no error of the system".to_owned()] };
    let mut problems = untrue(&error.left, world, before, &world.now());
    if !matches!(error.kind, StoreErrorKind::Io | StoreErrorKind::NotRestored) {
        problems.push(format!("{:?}", error.kind));
    }
    problems
}

/// Draws numbers, the same in each run of the tests, so that red means the change.
struct Drawn(u64);

impl Drawn {
    fn new() -> Self {
        Self(std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(24).max(1))
    }

    /// Returns the next number below `end`.
    fn below(&mut self, end: usize) -> usize {
        // xorshift, by George Marsaglia.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 32).unwrap() % end
    }
}

/// Makes trials of each call: one of the calls of the system is refused, and `then` besides. If `recovers`,
/// the recovery is cut off, too.
fn try_each(lacks: Lacks, then: Then, recovers: bool) {
    let every = std::env::var("MCP_TEXT_EDITOR_REFUSED").map_or(EVERY, |every| every.parse().unwrap());
    let mut drawn = Drawn::new();
    let (mut tried, mut problems) = (0, Vec::new());
    for (kind, steps) in calls() {
        let Some(calls) = calls_of(&steps, lacks) else { return };
        for after in (0..calls).filter(|_| drawn.below(every) == 0).collect::<Vec<_>>() {
            let of_recovery = recovers.then(|| Refusal {
                after: drawn.below(120),
                then: if drawn.below(2) == 0 { Then::Nothing } else { Then::All },
            });
            let trial = Trial { kind, steps: &steps, lacks, refusal: Refusal { after, then }, of_recovery };
            problems.extend(trial.make().unwrap().unwrap_or_default());
            tried += 1;
        }
    }
    println!("{tried} trials");
    assert!(problems.is_empty(), "{} of {tried}:\n{}", problems.len(), problems.join("\n"));
}

/// Returns the number of calls that can be refused; `None`, with a word, where the kernel does not ask.
fn calls_of(steps: &[Step], lacks: Lacks) -> Option<usize> {
    let (world, before) = begin();
    let mut refusing = Refusing::new(lacks, Refusal { after: usize::MAX - 1, then: Then::Nothing });
    match asked(|call| refusing.answer(call), || carry_out(&world, &before, steps, false)) {
        Ok(done) => {
            done.unwrap();
            Some(refusing.made)
        }
        Err(error) => {
            eprintln!("skipped: the kernel does not ask about system calls: {error}");
            None
        }
    }
}

#[test]
fn one_refusal_changes_nothing() {
    try_each(Lacks::Nothing, Then::Nothing, false);
}

#[test]
fn what_cannot_be_taken_back_is_told() {
    try_each(Lacks::Nothing, Then::Names, false);
}

#[test]
fn what_cannot_be_synced_is_told() {
    try_each(Lacks::Nothing, Then::Syncs, false);
}

#[test]
fn what_a_kill_leaves_is_recovered() {
    try_each(Lacks::Nothing, Then::All, false);
}

#[test]
fn what_a_kill_leaves_is_recovered_after_another() {
    try_each(Lacks::Nothing, Then::All, true);
}

#[test]
fn one_refusal_changes_nothing_where_names_cannot_be_exchanged() {
    try_each(Lacks::Exchange, Then::Nothing, false);
}

#[test]
fn one_refusal_changes_nothing_where_writers_cannot_be_kept_out() {
    try_each(Lacks::Leases, Then::Nothing, false);
}

#[test]
fn what_a_kill_leaves_is_recovered_where_names_cannot_be_exchanged() {
    try_each(Lacks::Exchange, Then::All, true);
}

#[test]
fn one_refusal_changes_nothing_where_files_have_one_name() {
    try_each(Lacks::Links, Then::Nothing, false);
}

#[test]
fn what_a_kill_leaves_is_recovered_where_files_have_one_name() {
    try_each(Lacks::Links, Then::All, true);
}

/// What is acknowledged is on disk, and no name was given to bytes that were not.
#[test]
fn a_power_cut_takes_nothing_that_was_acknowledged() {
    for lacks in [Lacks::Nothing, Lacks::Exchange, Lacks::Leases, Lacks::Links] {
        for (kind, steps) in calls() {
            let (world, before) = begin();
            let root = world.directory.path().to_str().unwrap().to_owned();
            let mut unsynced = Unsynced::default();
            let answer = |call: &SystemCall| {
                let error = lacks.refuses(call);
                if error.is_none() {
                    unsynced.follow(call);
                }
                error
            };
            let Ok(done) = asked(answer, || carry_out(&world, &before, &steps, false)) else { return };
            done.unwrap();
            // The record of a file that was written over must be gone for good: it would be once more.
            let is_in_place = matches!(kind, "in place" | "patches" | "mixed in place");
            let counts = |path: &&str| {
                let is_there = std::path::Path::new(path).exists();
                path.starts_with(&root) && is_there && (is_in_place || !path.contains("/state/journal"))
            };
            let left: Vec<&str> = unsynced.paths().filter(counts).collect();
            assert_eq!((left, &unsynced.given_too_early[..]), (vec![], &[][..]), "{kind}, {lacks:?}");
        }
    }
}
