//! Calls that edit, while the system refuses one of the calls that they make; refuses one, and the way back,
//! or one call of that; or refuses all from one on, which leaves what a kill leaves. Then the next process
//! recovers, which is cut off in the same way, and the one after that.
//!
//! Each trial takes some milliseconds, so `cargo test` draws some of them, and `MCP_TEXT_EDITOR_ONE_IN=1`
//! makes all; another number makes one of so many.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use mcp_text_editor_store::StoreErrorKind;
use rustix::io::Errno;

use crate::mixed::{Step, Tree};
use crate::system_calls::{SystemCall, asked};
use crate::trials::{Drawn, Lacks, Ready, Refused, calls, different, ready, untrue};
use crate::unsynced::Unsynced;
use crate::world::World;

/// The calls that are refused from the one call on, besides that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Then {
    Nothing,
    /// The one that comes after so many others.
    Another(usize),
    /// All that gives and takes names.
    Names,
    /// All syncs.
    Syncs,
    /// All that writes.
    Writes,
    /// All that looks whether a name is there.
    Looks,
    All,
}

impl Then {
    /// Tells whether a call is refused that comes after so many others since the first that was.
    fn refuses(self, call: &SystemCall, since: usize) -> bool {
        match self {
            Self::Nothing => false,
            Self::Another(after) => since == after,
            Self::Names => ["renameat", "renameat2", "linkat", "unlinkat"].contains(&call.name),
            Self::Syncs => call.is_sync(),
            Self::Writes => ["write", "pwrite64", "copy_file_range", "ftruncate"].contains(&call.name),
            Self::Looks => call.is_look(),
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
    /// Whether another call was refused after the first.
    is_second: bool,
}

impl Refusing {
    fn new(lacks: Lacks, refusal: Refusal) -> Self {
        Self { lacks, refusal, made: 0, first: None, is_second: false }
    }

    fn answer(&mut self, call: &SystemCall) -> Option<Errno> {
        if let Some(error) = self.lacks.refuses(call) {
            return Some(error);
        }
        // Of the ways of fcntl(2), only a lease can be refused; and whether a call stands in the history
        // changes nothing on the disk.
        if call.name == "fcntl" && !call.is_lease() || call.to_string().contains("/state/history.db") {
            return None;
        }
        self.made += 1;
        let since = self.made.checked_sub(self.refusal.after + 1)?;
        if since == 0 {
            self.first = Some((call.clone(), call.to_string()));
            return Some(Errno::IO);
        }
        let is_refused = self.refusal.then.refuses(call, since - 1);
        self.is_second |= is_refused;
        is_refused.then_some(Errno::IO)
    }
}

/// A call of some kind, and what is refused to it and to the next process, which recovers.
#[derive(Debug)]
struct Trial<'a> {
    kind: &'a str,
    steps: &'a [Step],
    /// Whether the call undoes these steps.
    undoes: bool,
    lacks: Lacks,
    refusal: Refusal,
    of_recovery: Option<Refusal>,
}

impl fmt::Display for Trial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, undoes, lacks, refusal, of_recovery, .. } = self;
        let undo = if *undoes { "undo " } else { "" };
        write!(f, "{undo}{kind}, on a file system that lacks {lacks:?}; {refusal:?}; then {of_recovery:?}")
    }
}

impl Trial<'_> {
    /// Makes it, and returns what is wrong; `None` if the call ends before the refusals. Fails if the kernel
    /// has no way to ask.
    fn make(&self) -> std::io::Result<Option<Vec<String>>> {
        let ready = ready(self.steps, self.undoes);
        let mut refusing = Refusing::new(self.lacks, self.refusal);
        let done = asked(|call| refusing.answer(call), || ready.carry_out())?;
        let Some((call, shown)) = refusing.first else { return Ok(None) };
        if matches!(self.refusal.then, Then::Another(_)) && !refusing.is_second {
            return Ok(None);
        }
        let Ready { world, before, after, .. } = ready;
        // Where something is lacking, an attempt before the last one may have left something, too.
        let is_told = (self.lacks == Lacks::Nothing || self.refusal.then == Then::Nothing)
            && self.refusal.then != Then::Looks;
        if self.lacks != Lacks::Nothing && !is_told && shown.contains("/state/journal/") {
            return Ok(None);
        }
        let mut problems = match &done {
            // The process is dead, and has said nothing.
            _ if self.refusal.then == Then::All => Vec::new(),
            Err(_) if !is_told => Vec::new(),
            Ok(()) => self.false_success(&call, &shown, &after, &world.now()),
            Err(refused) => false_refusal(refused, &world, &before),
        };
        let world = self.recover(world)?;
        let mut now = world.now();
        let error = done.as_ref().err().and_then(|refused| refused.error.as_deref());
        // Without a record nobody removes what the error has named.
        let is_unrecorded = match self.refusal.then {
            Then::Names | Then::Another(_) => shown.contains("/state/journal/"),
            Then::Looks => true,
            Then::Nothing | Then::Syncs | Then::Writes | Then::All => false,
        };
        if is_unrecorded {
            let is_told =
                error.is_some_and(|error| error.kind == StoreErrorKind::Io && !error.left.is_empty());
            now.retain(|name, _| !name.contains(".mte-") && (before.contains_key(name) || !is_told));
            // Nor an empty directory of which the call needed nothing any more.
            let is_needed = |name: &String| done.is_err() || after.contains_key(name);
            now.retain(|name, _| is_needed(name) || !name.ends_with('/'));
        }
        let is_open = self.refusal.then == Then::All
            || error.is_some_and(|error| error.kind == StoreErrorKind::NotRestored);
        // Nor what is told to be left of an attempt that was taken back.
        if let (Then::Another(_), false, Some(error)) = (self.refusal.then, is_open, error) {
            let is_told =
                |name: &str| error.left.iter().any(|left| left.path == Path::new(&world.path(name)));
            now.retain(|name, _| before.contains_key(name) || !is_told(name.trim_end_matches('/')));
        }
        let whole: &[&Tree] = match &done {
            Ok(()) => &[&after],
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
        let end = done.map_or_else(|refused| refused.said, |()| "done".to_owned());
        Ok(Some(problems.into_iter().map(|problem| format!("{self}: {shown}: {end}: {problem}")).collect()))
    }

    /// Returns a tree without what may stay: where a name can only be claimed, the empty file of a call that
    /// was killed, or could not remove it, and the directories around it.
    fn without_claims(&self, tree: &Tree, before: &Tree) -> Tree {
        let mut tree = tree.clone();
        if self.lacks == Lacks::Links && matches!(self.refusal.then, Then::All | Then::Names) {
            // What had the name stands beside it then.
            let mut aside = tree.clone();
            aside.retain(|name, _| name.contains(".displaced-"));
            for (beside, text) in aside {
                let (name, _) = beside.split_once(".displaced-").unwrap();
                if tree.get(name).is_some_and(String::is_empty) {
                    tree.insert(name.to_owned(), text);
                    tree.remove(&beside);
                }
            }
            // Or a file of the same bytes is taken for its copy.
            for (name, text) in before {
                if tree.get(name).is_some_and(String::is_empty) && tree.values().any(|other| other == text) {
                    tree.insert(name.clone(), text.clone());
                }
            }
            tree.retain(|name, text| before.contains_key(name) || !text.is_empty());
        }
        // An error as it removes a directory is no reason for a recovery to begin again; nor does the record
        // of a later attempt know of one that an earlier attempt could not remove.
        let is_later = self.lacks != Lacks::Nothing
            && matches!(self.refusal.then, Then::Names | Then::Another(_) | Then::Syncs);
        if is_later || self.of_recovery.is_some_and(|refusal| refusal.then == Then::Nothing) {
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
        // An attempt that is begun anew, as one is where something is lacking, needs no sync; nor does the
        // end of directories that were made for files, and are empty again.
        let is_emptied = |name: &&str| shown.ends_with(name);
        let is_free = shown.ends_with("/state/journal")
            || self.undoes && ["/root", "/root/m", "/root/m/n", "/root/m/o"].iter().any(is_emptied);
        if call.is_sync() && self.lacks == Lacks::Nothing && !is_free {
            problems.push("done, and not synced".to_owned());
        }
        problems
    }

    /// Has the next process recover, which may be cut off as well, and then another.
    fn recover(&self, world: World) -> std::io::Result<World> {
        if let Some(refusal) = self.of_recovery {
            let mut refusing = Refusing::new(self.lacks, refusal);
            let serve = || World::serve(&world.directory, std::convert::identity);
            // It may not even begin.
            asked(|call| refusing.answer(call), || serve().map(|workspace| workspace.recover()).ok())?;
        }
        Ok(world.again())
    }
}

/// Returns what is wrong with a refusal.
fn false_refusal(refused: &Refused, world: &World, before: &Tree) -> Vec<String> {
    let Some(error) = &refused.error else { return vec!["no error of the system".to_owned()] };
    let mut problems = untrue(&error.left, world, before, &world.now());
    if !matches!(error.kind, StoreErrorKind::Io | StoreErrorKind::NotRestored) {
        problems.push(format!("{:?}", error.kind));
    }
    problems
}

/// Makes trials of each call: one of the calls of the system is refused, and `then` besides. If `recovers`,
/// the recovery is cut off, too.
fn try_each(lacks: Lacks, then: Then, recovers: bool) {
    let mut drawn = Drawn::new();
    let (mut tried, mut problems) = (0, Vec::new());
    for (kind, steps, undoes) in calls() {
        let Some(calls) = calls_of(&steps, undoes, lacks) else { return };
        for after in drawn.some_of(&calls) {
            let of_recovery = recovers.then(|| Refusal {
                after: drawn.below(120),
                then: if drawn.below(2) == 0 { Then::Nothing } else { Then::All },
            });
            let refusal = Refusal { after, then };
            let trial = Trial { kind, steps: &steps, undoes, lacks, refusal, of_recovery };
            problems.extend(trial.make().unwrap().unwrap_or_default());
            tried += 1;
        }
    }
    println!("{tried} trials");
    assert!(problems.is_empty(), "{} of {tried}:\n{}", problems.len(), problems.join("\n"));
}

/// Makes trials of small calls that change names: one of the calls of the system on which much depends is
/// refused, and then each of those that follow, one at a time.
fn try_pairs(lacks: Lacks) {
    let mut drawn = Drawn::new();
    let (mut tried, mut problems) = (0, Vec::new());
    // Where a name can only be claimed, the claim may stay between two files of a call, and is told.
    let most = if lacks == Lacks::Links { 1 } else { 2 };
    for (kind, steps, undoes) in calls().into_iter().filter(|(_, steps, _)| steps.len() <= most) {
        let Some(calls) = calls_of(&steps, undoes, lacks) else { return };
        for after in drawn.some_of(&calls).into_iter().filter(|after| calls[*after]) {
            for then in (0..).map(Then::Another) {
                let refusal = Refusal { after, then };
                let trial = Trial { kind, steps: &steps, undoes, lacks, refusal, of_recovery: None };
                let Some(found) = trial.make().unwrap() else { break };
                problems.extend(found);
                tried += 1;
            }
        }
    }
    println!("{tried} trials");
    assert!(problems.is_empty(), "{} of {tried}:\n{}", problems.len(), problems.join("\n"));
}

/// Returns of each call that can be refused whether much depends on it; `None` where the kernel does not ask.
fn calls_of(steps: &[Step], undoes: bool, lacks: Lacks) -> Option<Vec<bool>> {
    let ready = ready(steps, undoes);
    let mut refusing = Refusing::new(lacks, Refusal { after: usize::MAX - 1, then: Then::Nothing });
    let mut calls = Vec::new();
    let answer = |call: &SystemCall| {
        let error = refusing.answer(call);
        calls.resize(refusing.made, call.is_decisive());
        error
    };
    let done = asked(answer, || ready.carry_out()).ok()?;
    assert!(done.is_ok(), "{:?}", done.map_err(|refused| refused.said));
    Some(calls)
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
fn what_fails_on_a_way_back_is_told() {
    try_pairs(Lacks::Nothing);
}

#[test]
fn what_fails_on_a_way_back_is_recovered_where_something_is_lacking() {
    try_pairs(Lacks::Exchange);
    try_pairs(Lacks::Links);
}

#[test]
fn what_cannot_be_synced_is_told() {
    try_each(Lacks::Nothing, Then::Syncs, false);
}

#[test]
fn what_cannot_be_written_is_told() {
    try_each(Lacks::Nothing, Then::Writes, false);
}

#[test]
fn what_cannot_be_looked_at_is_told() {
    try_each(Lacks::Nothing, Then::Looks, false);
}

#[test]
fn one_refusal_changes_nothing_where_files_cannot_be_locked() {
    try_each(Lacks::Locks, Then::Nothing, false);
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
fn what_cannot_be_taken_back_is_recovered_where_names_cannot_be_exchanged() {
    try_each(Lacks::Exchange, Then::Names, false);
    try_each(Lacks::Exchange, Then::Syncs, false);
}

#[test]
fn what_cannot_be_taken_back_is_recovered_where_files_have_one_name() {
    try_each(Lacks::Links, Then::Names, false);
    try_each(Lacks::Links, Then::Syncs, false);
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
        for (kind, steps, undoes) in calls() {
            let ready = ready(&steps, undoes);
            let root = ready.world.directory.path().to_str().unwrap().to_owned();
            let mut unsynced = Unsynced::default();
            // Waits for a record.
            let mut records = 0;
            let answer = |call: &SystemCall| {
                let error = lacks.refuses(call);
                records += usize::from(call.is_sync() && call.file(0).contains("/state/journal"));
                if error.is_none() {
                    unsynced.follow(call);
                }
                error
            };
            let Ok(done) = asked(answer, || ready.carry_out()) else { return };
            assert!(done.is_ok(), "{kind}, {lacks:?}");
            assert_eq!(ready.world.tree(), ready.after, "{kind}, {lacks:?}: and no record is left");
            // The record of a file that was written over must be gone for good: it would be once more.
            let is_in_place = matches!(kind, "in place" | "patches" | "mixed in place");
            let counts = |path: &&str| {
                let is_there = std::path::Path::new(path).exists();
                path.starts_with(&root)
                    && is_there
                    && !path.contains("/state/history.db")
                    && (is_in_place || !path.contains("/state/journal"))
            };
            let left: Vec<&str> = unsynced.paths().filter(counts).collect();
            assert_eq!((left, &unsynced.given_too_early[..]), (vec![], &[][..]), "{kind}, {lacks:?}");
            assert_eq!(unsynced.overwritten_too_early, [] as [&str; 0], "{kind}, {lacks:?}");
            let is_one_step =
                matches!(kind, "patch" | "create" | "create far" | "move" | "move far") && !undoes;
            if lacks == Lacks::Nothing && is_one_step {
                assert_eq!(records, 0, "{kind}");
            }
            // The record of what is one step of the file system is never synced; and where something is
            // lacking, that is tried first.
            let is_removal = matches!((kind, undoes), ("remove", false) | ("create far", true));
            if lacks == Lacks::Nothing && (steps.len() > 1 || kind == "in place" || is_removal) {
                assert_eq!(unsynced.unrecorded, [] as [&str; 0], "{kind}");
            }
        }
    }
}

/// A power cut could bring a name back that was given meanwhile, when no record tells of it any more.
#[test]
fn the_names_of_a_way_back_are_on_disk_before_its_record_goes() {
    let mut drawn = Drawn::new();
    let mut problems = Vec::new();
    for (kind, steps, undoes) in calls() {
        let Some(calls) = calls_of(&steps, undoes, Lacks::Nothing) else { return };
        let mut tried = drawn.some_of(&calls);
        if steps.len() == 1 {
            tried = (0..calls.len()).filter(|after| calls[*after]).collect();
        }
        for after in tried {
            let ready = ready(&steps, undoes);
            let refusal = Refusal { after, then: Then::Nothing };
            let mut refusing = Refusing::new(Lacks::Nothing, refusal);
            let mut unsynced = BTreeSet::new();
            let mut left = Vec::new();
            let answer = |call: &SystemCall| {
                let error = refusing.answer(call);
                match call.name {
                    _ if error.is_some() => {}
                    "linkat" | "renameat" | "renameat2" => unsynced.extend([call.file(0), call.file(2)]),
                    "fsync" => drop(unsynced.remove(&call.file(0))),
                    "unlinkat" if call.file(0).ends_with("/state/journal") => {
                        left.extend(unsynced.iter().filter(|path| Path::new(path).exists()).cloned());
                    }
                    _ => {}
                }
                error
            };
            let done = asked(answer, || ready.carry_out()).unwrap();
            // Of a call that was done `a_power_cut_takes_nothing_that_was_acknowledged` knows more.
            if done.is_err() && !left.is_empty() {
                let (_, shown) = refusing.first.unwrap();
                problems.push(format!("{kind}: {after}, {shown}: {left:?}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}
