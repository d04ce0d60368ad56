//! Tests the table without a disk. Calls of up to three entries, over three names and few contents, are
//! interrupted after each of their steps; another program interferes; and recovery is interrupted after each
//! of its steps. Only a sample of the calls of several entries is tested; `MCP_TEXT_EDITOR_ONE_IN=1` tests
//! all, which takes minutes of processor time.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use mcp_text_editor_core::digest::Digest;

use super::*;
use crate::journal::{ContentChange, Contents, Intent, Subject};
use crate::stage::TemporaryId;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// One entry of a call, by the indices of names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    Edit(usize),
    Create(usize),
    Remove(usize),
    Move(usize, usize),
    /// A move that needs a copy, since it also changes the content or goes to another file system.
    Copy(usize, usize),
}

impl Entry {
    fn all() -> Vec<Self> {
        let pairs = (0..3).flat_map(|from| (0..3).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let each = (0..3).flat_map(|name| [Self::Edit(name), Self::Create(name), Self::Remove(name)]);
        each.chain(pairs.flat_map(|(from, to)| [Self::Move(from, to), Self::Copy(from, to)])).collect()
    }

    fn source(self) -> Option<usize> {
        match self {
            Self::Edit(name) | Self::Remove(name) | Self::Move(name, _) | Self::Copy(name, _) => Some(name),
            Self::Create(_) => None,
        }
    }

    fn leaves(self) -> Option<usize> {
        self.source().filter(|_| !matches!(self, Self::Edit(_)))
    }

    fn result(self) -> Option<usize> {
        match self {
            Self::Edit(name) | Self::Create(name) | Self::Move(_, name) | Self::Copy(_, name) => Some(name),
            Self::Remove(_) => None,
        }
    }
}

/// The abilities of a file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ways {
    /// Names can be exchanged, and renames can refuse a name that is taken.
    All,
    /// A rename is a second name (hard link), after which the first name is removed.
    Links,
    /// Neither exchanges nor hard links: a claim reserves the name.
    Claims,
}

/// A file system in memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Disk {
    names: BTreeMap<String, u64>,
    /// The content of each file, by its inode number.
    held: BTreeMap<u64, String>,
    /// Copies that were made because there are no hard links, each with the file that it stands for.
    copies: BTreeMap<u64, u64>,
    /// Bytes that recovery saved where a person finds them.
    kept: Vec<String>,
    /// Whether inode numbers identify files reliably.
    lasts: bool,
}

impl Disk {
    fn make(&mut self, name: &str, content: &str) -> u64 {
        let inode = self.held.len() as u64 + 1;
        self.held.insert(inode, content.to_owned());
        self.names.insert(name.to_owned(), inode);
        inode
    }

    fn rename(&mut self, from: &str, to: &str) {
        if let Some(inode) = self.names.get(from).copied()
            && self.names.get(to) != Some(&inode)
        {
            self.names.remove(from);
            self.names.insert(to.to_owned(), inode);
        }
    }

    fn link(&mut self, from: &str, to: &str) {
        let inode = self.names[from];
        assert!(self.names.insert(to.to_owned(), inode).is_none(), "{to} is taken");
    }

    fn swap(&mut self, one: &str, other: &str) {
        let [first, second] = [one, other].map(|name| self.names[name]);
        self.names.extend([(one.to_owned(), second), (other.to_owned(), first)]);
    }

    fn is_free(&self, name: &str) -> bool {
        !self.names.contains_key(name)
    }

    /// Returns the file under each name; a copy counts as its original.
    fn files(&self) -> BTreeMap<&str, u64> {
        let file = |inode: &u64| *self.copies.get(inode).unwrap_or(inode);
        let all = self.names.iter().map(|(name, inode)| (name.as_str(), file(inode)));
        all.filter(|(name, _)| NAMES.contains(name)).collect()
    }

    fn has(&self, content: &str) -> bool {
        let named: BTreeSet<u64> = self.names.values().copied().collect();
        self.kept.iter().any(|kept| kept.contains(content))
            || named.iter().any(|inode| self.held[inode].contains(content))
    }
}

/// An interrupted call, and the state of the disk.
struct Cut<'a> {
    call: RecordedCall<'a>,
    disk: Disk,
}

impl Cut<'_> {
    fn name(&self, name: CallName) -> String {
        let subject = &self.call.contents.subjects[name.index()];
        match name {
            CallName::File(_) => subject.path.to_str().unwrap().to_owned(),
            CallName::Temporary(_) => subject.id.name().into_string().unwrap(),
            CallName::Backup(_) => subject.id.name_of_old().into_string().unwrap(),
        }
    }

    fn act(&mut self, action: UndoAction) {
        match action {
            UndoAction::Rename(from, to) => {
                let [from, to] = [from, to].map(|name| self.name(name));
                assert!(self.disk.is_free(&to), "{to} is taken");
                self.disk.rename(&from, &to);
            }
            UndoAction::ExchangeBack(index) => {
                let [file, temporary] =
                    [CallName::File(index), CallName::Temporary(index)].map(|name| self.name(name));
                self.disk.swap(&file, &temporary);
            }
            UndoAction::RestoreBackup(index) => {
                let [file, backup] =
                    [CallName::File(index), CallName::Backup(index)].map(|name| self.name(name));
                self.disk.rename(&backup, &file);
                self.disk.names.remove(&backup);
            }
            UndoAction::Keep(name) => {
                let inode = self.disk.names.remove(&self.name(name)).unwrap();
                let held = self.disk.held[&inode].clone();
                self.disk.kept.push(held);
            }
            UndoAction::LookAgain => panic!("nothing here has a cache"),
        }
    }

    /// Recovers until `steps` steps are done. Returns whether recovery is complete.
    fn recover(&mut self, steps: usize) -> bool {
        let files = self.call.contents.subjects.len();
        let mut done = 0;
        for stage in STAGES {
            for index in 0..files {
                while let Some(action) = next(&self.call, stage, index, self).unwrap() {
                    if done == steps {
                        return false;
                    }
                    done += 1;
                    assert!(done < 99, "{action:?} goes on without end");
                    self.act(action);
                }
            }
        }
        for name in (0..files).flat_map(|index| [CallName::Temporary(index), CallName::Backup(index)]) {
            assert!(
                !is_needed(&self.call, name, self).unwrap(),
                "{name:?}: {:?} {:?}",
                self.call.contents,
                self.disk
            );
            if done == steps {
                return false;
            }
            done += usize::from(self.disk.names.remove(&self.name(name)).is_some());
        }
        true
    }
}

impl NameView for Cut<'_> {
    type Error = Infallible;

    fn look(&self, name: CallName) -> Result<Option<NameHolder>, Infallible> {
        let Some(inode) = self.disk.names.get(&self.name(name)) else { return Ok(None) };
        let held = &self.disk.held[inode];
        let claims = |subject: &Subject| subject.id.claim() == held.as_bytes();
        if let Some(index) = self.call.contents.subjects.iter().position(claims) {
            return Ok(Some(NameHolder::Claim(index)));
        }
        Ok(Some(NameHolder::File { key: key(*inode), lasts: self.disk.lasts }))
    }

    fn digest(&self, name: CallName) -> Result<Option<Digest>, Infallible> {
        let inode = self.disk.names.get(&self.name(name));
        Ok(inode.map(|inode| Digest::of(self.disk.held[inode].as_bytes())))
    }
}

fn key(inode: u64) -> FileKey {
    FileKey { inode, born: None }
}

/// A moment of a call: the state of the disk, and whether the record says *committed*.
type Moment = (Disk, bool);

/// The two drawn names of a file.
type Drawn = [String; 2];

/// Prepares a call: creates its new files. Returns its record, and for each entry the drawn names of its old
/// file and of its new file.
fn prepare(entries: &[Entry], disk: &mut Disk, new: &str) -> (Contents, Vec<(Entry, Drawn, Option<Drawn>)>) {
    let (mut subjects, mut steps) = (Vec::new(), Vec::new());
    let mut subject = |name: usize, intent| {
        let id = TemporaryId::draw();
        subjects.push(Subject { path: NAMES[name].into(), id, intent });
        [id.name(), id.name_of_old()].map(|name| name.into_string().unwrap())
    };
    let none = Vec::new;
    let mut all = Vec::new();
    for entry in entries {
        let old = |name: usize, disk: &Disk| {
            let inode = disk.names[NAMES[name]];
            (key(inode), Digest::of(disk.held[&inode].as_bytes()))
        };
        let arriving = match *entry {
            Entry::Edit(name) => {
                let (file, digest) = old(name, disk);
                let drawn = subject(name, Intent::Edit { key: file });
                let key = key(disk.make(&drawn[0], new));
                let new = Digest::of(new.as_bytes());
                steps.push(Step::Exchange(ContentChange { old: digest, new, key }));
                all.push((*entry, drawn.clone(), Some(drawn)));
                continue;
            }
            Entry::Create(to) | Entry::Copy(_, to) => {
                let content = entry.source().map_or(new.to_owned(), |from| {
                    let inode = disk.names[NAMES[from]];
                    disk.held[&inode].clone()
                });
                let intent = match entry {
                    Entry::Create(_) => Intent::Create { directories: none() },
                    _ => Intent::MoveTo { directories: none() },
                };
                let drawn = subject(to, intent);
                let key = key(disk.make(&drawn[0], &content));
                steps.push(Step::Publish { new: Digest::of(content.as_bytes()), key });
                Some(drawn)
            }
            Entry::Move(_, to) => {
                subject(to, Intent::MoveTo { directories: none() });
                steps.push(Step::Stay);
                None
            }
            Entry::Remove(_) => None,
        };
        let Some(from) = entry.leaves() else {
            all.push((*entry, Default::default(), arriving));
            continue;
        };
        let (key, digest) = old(from, disk);
        let is_removed = matches!(entry, Entry::Remove(_));
        let drawn = subject(from, if is_removed { Intent::Remove } else { Intent::MoveFrom });
        steps.push(match entry {
            Entry::Move(..) => Step::Move { digest, key, directories: none() },
            _ => Step::Remove { old: digest, key, directories: none() },
        });
        all.push((*entry, drawn, arriving));
    }
    (Contents { subjects, steps: Some(steps), ..Contents::default() }, all)
}

/// Carries a call out. Returns its record, and every moment at which it can be interrupted, from the
/// preparation of the record until just before its removal.
fn carry_out(entries: &[Entry], start: &Disk, new: &str, ways: Ways) -> (Contents, Vec<Moment>) {
    let mut disk = start.clone();
    let (contents, all) = prepare(entries, &mut disk, new);
    let mut moments = vec![(disk.clone(), false)];
    let results: Vec<usize> = entries.iter().filter_map(|entry| entry.result()).collect();
    // A file system whose renames cannot refuse a taken name uses hard links instead.
    let goes_first = |entry: Entry| {
        let is_followed = entry.leaves().is_some_and(|from| results.contains(&from));
        is_followed || matches!(entry, Entry::Move(..)) && ways != Ways::All
    };
    let mut step = |disk: &Disk| moments.push((disk.clone(), false));
    for (entry, [aside, _], _) in all.iter().filter(|(entry, ..)| goes_first(*entry)) {
        disk.rename(NAMES[entry.leaves().unwrap()], aside);
        step(&disk);
    }
    for (entry, [aside, _], arriving) in &all {
        let (Some(to), true) = (entry.result(), !matches!(entry, Entry::Edit(_))) else { continue };
        let from = match (arriving, goes_first(*entry)) {
            (Some([temporary, _]), _) => temporary,
            (None, true) => aside,
            (None, false) => NAMES[entry.leaves().unwrap()],
        };
        assert!(disk.is_free(NAMES[to]));
        if ways == Ways::Claims && arriving.is_some() {
            let index = contents.subjects.iter().position(|subject| subject.id.name().to_str() == Some(from));
            let claim = contents.subjects[index.unwrap()].id.claim();
            disk.make(NAMES[to], std::str::from_utf8(&claim).unwrap());
            step(&disk);
        } else if ways != Ways::All {
            disk.link(from, NAMES[to]);
            step(&disk);
            disk.names.remove(from);
            step(&disk);
            continue;
        }
        disk.rename(from, NAMES[to]);
        step(&disk);
    }
    for (entry, [temporary, backup], _) in &all {
        let Entry::Edit(name) = entry else { continue };
        match ways {
            Ways::All => disk.swap(NAMES[*name], temporary),
            Ways::Links => {
                disk.link(NAMES[*name], backup);
                step(&disk);
                disk.rename(temporary, NAMES[*name]);
            }
            Ways::Claims => {
                let inode = disk.names[NAMES[*name]];
                let held = disk.held[&inode].clone();
                // At first the copy is incomplete.
                let copy = disk.make(backup, "");
                disk.copies.insert(copy, inode);
                step(&disk);
                disk.held.insert(copy, held);
                step(&disk);
                disk.rename(temporary, NAMES[*name]);
            }
        }
        step(&disk);
    }
    for (entry, [aside, _], _) in &all {
        let stays = matches!(entry, Entry::Move(..) | Entry::Edit(_)) || goes_first(*entry);
        if let (Some(from), false) = (entry.leaves(), stays) {
            disk.rename(NAMES[from], aside);
            step(&disk);
        }
    }
    let is_one_step = entries.len() == 1
        && match entries[0] {
            Entry::Edit(_) | Entry::Create(_) => true,
            Entry::Move(..) => ways == Ways::All,
            _ => false,
        };
    if !is_one_step {
        moments.push((disk.clone(), true));
    }
    for (_, drawn, arriving) in &all {
        for name in drawn.iter().chain(arriving.iter().flatten()) {
            if disk.names.remove(name).is_some() {
                moments.push((disk.clone(), !is_one_step));
            }
        }
    }
    (contents, moments)
}

/// Returns the calls of up to `most` entries that can be made.
#[expect(clippy::disallowed_methods, reason = "how much is tried is no matter of the store")]
fn calls(most: usize) -> impl Iterator<Item = Vec<Entry>> {
    let ones: Vec<Vec<Entry>> = Entry::all().into_iter().map(|entry| vec![entry]).collect();
    let more = |shorter: &[Vec<Entry>]| -> Vec<Vec<Entry>> {
        let longer = shorter.iter().flat_map(|call| {
            Entry::all().into_iter().map(move |entry| call.iter().copied().chain([entry]).collect())
        });
        longer.collect()
    };
    // The strides are prime numbers, so that all kinds of entries occur.
    let one_in = if std::env::var("MCP_TEXT_EDITOR_ONE_IN").is_ok() { 1 } else { 5 };
    let (twos, mut all) = (more(&ones), ones.clone());
    if most > 2 {
        all.extend(more(&twos).into_iter().step_by(if one_in == 1 { 1 } else { 97 }));
    }
    all.extend(twos.into_iter().step_by(one_in));
    let is_distinct = |names: &[usize]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    all.into_iter().filter(move |call| {
        let sources: Vec<usize> = call.iter().filter_map(|entry| entry.source()).collect();
        let results: Vec<usize> = call.iter().filter_map(|entry| entry.result()).collect();
        is_distinct(&sources) && is_distinct(&results)
    })
}

/// Returns the disk before a call: the names that the call creates are free, all others exist.
fn before(call: &[Entry], contents: [&str; 3], lasts: bool) -> Disk {
    let mut disk = Disk { lasts, ..Disk::default() };
    let edited = |name: usize| call.iter().any(|entry| entry.source() == Some(name));
    let taken = |name: usize| call.iter().any(|entry| entry.result() == Some(name)) && !edited(name);
    for (name, content) in contents.iter().enumerate().filter(|(name, _)| !taken(*name)) {
        disk.make(NAMES[name], content);
    }
    disk
}

/// The contents of the three files, and of new files: equal, empty, and different.
const CONTENTS: [([&str; 3], &str); 5] = [
    (["x", "x", "x"], "x1"),
    (["", "", ""], "new"),
    (["x", "x", "y"], "y1"),
    (["x", "y", "z"], "x"),
    (["x", "y", "z"], "new"),
];

fn each_moment(most: usize, lasts: bool, test: impl Fn(&Contents, &[Moment], usize)) {
    for call in calls(most) {
        for (contents, new) in CONTENTS {
            // An edit must change something. If only bytes identify files, no two files of a call may have
            // the same bytes.
            let bytes: BTreeSet<&str> = contents.into_iter().chain([new]).collect();
            let is_edit = |entry: &Entry| matches!(*entry, Entry::Edit(name) if contents[name] == new);
            if !lasts && bytes.len() < 4 || call.iter().any(is_edit) {
                continue;
            }
            for ways in [Ways::All, Ways::Links, Ways::Claims] {
                let start = before(&call, contents, lasts);
                let (record, moments) = carry_out(&call, &start, new, ways);
                for at in 0..moments.len() {
                    test(&record, &moments, at);
                }
            }
        }
    }
}

/// Returns the record as it is at a moment.
fn at_moment(record: &Contents, (_, committed): &Moment) -> Contents {
    Contents { committed: *committed, ..record.clone() }
}

#[test]
fn a_call_that_is_cut_off_is_there_as_a_whole_or_not_at_all() {
    each_moment(3, true, |record, moments, at| {
        let contents = at_moment(record, &moments[at]);
        let call = RecordedCall::new(&contents, false);
        let (first, last) = (&moments[0].0, &moments[moments.len() - 1].0);
        for steps in 0.. {
            let mut cut = Cut { call, disk: moments[at].0.clone() };
            let is_whole = cut.recover(steps);
            assert!(is_whole || !cut.recover(steps) || steps > 0);
            cut.recover(usize::MAX);
            let now = cut.disk.files();
            let is_old = now == first.files() && !contents.committed;
            let is_new = now == last.files() && (contents.committed || call.is_one_step);
            let told = || format!("{record:#?}\n{:#?}\n{:#?}\nafter {steps}", moments[at], cut.disk);
            assert!(is_old || is_new, "{}", told());
            assert_eq!((cut.disk.names.len(), cut.disk.kept.len()), (now.len(), 0), "{}", told());
            if is_whole {
                break;
            }
        }
    });
}

/// The action of another program after the process has died.
#[derive(Clone, Copy, Debug)]
enum Outsider {
    /// Renames a file of its own over the name.
    Replaces(&'static str),
    Appends,
    Removes,
}

#[test]
fn what_another_program_does_stays_and_no_old_text_is_lost() {
    each_moment(2, true, |record, moments, at| {
        let contents = at_moment(record, &moments[at]);
        let call = RecordedCall::new(&contents, false);
        // Through an open handle, the other program can also write to a file that was exchanged.
        let drawn: Vec<String> = (0..contents.subjects.len())
            .filter(|index| matches!(call.step(*index), Step::Exchange(_)))
            .map(|index| Cut { call, disk: Disk::default() }.name(CallName::Temporary(index)))
            .collect();
        let names = NAMES.into_iter().chain(drawn.iter().map(String::as_str));
        for name in names {
            for outsider in [
                Outsider::Replaces(""),
                Outsider::Replaces("x"),
                Outsider::Replaces("x1"),
                Outsider::Replaces("y"),
                Outsider::Appends,
                Outsider::Removes,
            ] {
                if name.starts_with(".mte-") && !matches!(outsider, Outsider::Appends) {
                    continue;
                }
                let mut disk = moments[at].0.clone();
                let hit = disk.names.get(name).copied();
                match (outsider, hit) {
                    (Outsider::Replaces(content), _) => drop(disk.make(name, content)),
                    (Outsider::Appends, Some(inode)) => {
                        disk.held.get_mut(&inode).unwrap().push_str("theirs");
                    }
                    (Outsider::Removes, Some(_)) => drop(disk.names.remove(name)),
                    (_, None) => continue,
                }
                let theirs = disk.names.get(name).copied();
                let mut cut = Cut { call, disk: disk.clone() };
                cut.recover(usize::MAX);
                let told =
                    || format!("{record:#?}\n{:#?}\n{name} {outsider:?}\n{:#?}", moments[at], cut.disk);
                match (outsider, theirs) {
                    (Outsider::Replaces(_), _) => {
                        assert_eq!(cut.disk.names.get(name).copied(), theirs, "{}", told());
                    }
                    (Outsider::Appends, _) => assert!(cut.disk.has("theirs"), "{}", told()),
                    _ => {}
                }
                // The files that existed before the call, and that the other program has not removed.
                for (_, inode) in moments[0].0.files() {
                    let is_wanted = Some(inode) != hit && !contents.committed && !call.is_one_step;
                    let content = &disk.held[&inode];
                    assert!(!is_wanted || cut.disk.has(content), "{content:?} is lost: {}", told());
                }
                let drawn = cut.disk.names.keys().filter(|name| name.starts_with(".mte-")).count();
                assert_eq!(drawn, 0, "{}", told());
            }
        }
    });
}

/// If inode numbers do not last, files are identified by their bytes, as long as no two files have equal
/// bytes.
#[test]
fn where_identities_do_not_last_different_bytes_tell() {
    each_moment(3, false, |record, moments, at| {
        let contents = at_moment(record, &moments[at]);
        let call = RecordedCall::new(&contents, false);
        // A second name of a file cannot be distinguished from another file with the same bytes.
        let names = &moments[at].0.names;
        if names.values().collect::<BTreeSet<_>>().len() < names.len() {
            return;
        }
        let mut cut = Cut { call, disk: moments[at].0.clone() };
        cut.recover(usize::MAX);
        let (first, last) = (&moments[0].0, &moments[moments.len() - 1].0);
        let bytes = |disk: &Disk| -> BTreeMap<String, String> {
            let all = disk.files().into_iter();
            all.map(|(name, inode)| (name.to_owned(), disk.held[&inode].clone())).collect()
        };
        let now = bytes(&cut.disk);
        let is_old = now == bytes(first) && !contents.committed;
        let is_new = now == bytes(last) && (contents.committed || call.is_one_step);
        assert!(is_old || is_new, "{record:#?}\n{:#?}\n{:#?}", moments[at], cut.disk);
    });
}
