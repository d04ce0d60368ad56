//! Tests of recovery. They make the steps of a transaction of three files by hand, and stop after one of
//! them: the files on disk are then those that a killed process leaves.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;

use super::recover::may_recover;
use super::*;
use crate::access::place::WritablePlace;
use crate::access::roots::Roots;
use crate::cancellation::Cancellation;
use crate::durability::Durability;
use crate::error::{Operation, StoreErrorKind};
#[cfg(feature = "history")]
use crate::history::{History, Settings};
use crate::journal::{ContentChange, Intent, Record, Step, Subject, escaped};
use crate::lock::{Backoff, LockTimeout, lock};
use crate::observer::Observer;
use crate::os;
use crate::os::identity::FileKey;
use crate::read::hash::digest_of;
use crate::stage::{Temporary, TemporaryId};
use crate::state_dir::StateDir;
use crate::tests::world::real;
use crate::workspace::Workspace;

const OLD: &str = "old content\n";
const NEW: &str = "new content, longer than the old\n";
const STAYS: &str = "stays";

/// The last step of an interrupted transaction. The transaction exchanges the files `a` and `b`, and
/// overwrites `c` in place. Its record also names `stays`, whose content does not change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Cut {
    Recorded,
    OneTemporary,
    Prepared,
    OneExchanged,
    BothExchanged,
    Committed,
    /// This number of bytes of `c` are new.
    Overwriting(usize),
    Overwritten,
    OneUnlinked,
    AllUnlinked,
}

const CUTS: [Cut; 14] = [
    Cut::Recorded,
    Cut::OneTemporary,
    Cut::Prepared,
    Cut::OneExchanged,
    Cut::BothExchanged,
    Cut::Committed,
    Cut::Overwriting(0),
    Cut::Overwriting(1),
    Cut::Overwriting(OLD.len()),
    Cut::Overwriting(OLD.len() + 1),
    Cut::Overwriting(NEW.len()),
    Cut::Overwritten,
    Cut::OneUnlinked,
    Cut::AllUnlinked,
];

struct World {
    root: tempfile::TempDir,
    state_dir: tempfile::TempDir,
    workspace: Workspace,
}

impl World {
    fn new(names: &[&str]) -> Self {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in names {
            std::fs::write(root.path().join(name), OLD).unwrap();
        }
        let roots = Roots::open(&[root.path().to_owned()]).unwrap();
        let workspace = Workspace {
            state_dir: Some(StateDir::open(state.path()).unwrap()),
            ..Workspace::without_state(roots)
        };
        Self { root, state_dir: state, workspace }
    }

    fn place(&self, name: &str) -> WritablePlace {
        let path = real(self.root.path()).join(name);
        self.workspace.roots.resolve_for_writing(path.to_str().unwrap()).unwrap()
    }

    fn subject(&self, name: &str) -> Subject {
        let place = self.place(name);
        let key = self.key(name);
        Subject { path: place.path().to_owned(), id: TemporaryId::draw(), intent: Intent::Edit { key } }
    }

    fn key(&self, name: &str) -> FileKey {
        self.place(name).identity().unwrap().file_key()
    }

    fn begin(&self, subjects: &[Subject]) -> Box<dyn Record> {
        self.workspace.journal().unwrap().begin(subjects).unwrap()
    }

    /// Leaves a temporary file as a killed process does. Returns the content change that the record has for
    /// it.
    fn leave(&self, name: &str, id: TemporaryId) -> ContentChange {
        let mut temporary = Temporary::create(&self.place(name), id).unwrap();
        temporary.write_all(NEW.as_bytes()).unwrap();
        let key = temporary.identity().file_key();
        temporary.leave();
        ContentChange { old: Digest::of(OLD.as_bytes()), new: Digest::of(NEW.as_bytes()), key }
    }

    fn exchange(&self, name: &str, id: TemporaryId) {
        let place = self.place(name);
        if cfg!(windows) {
            // On Windows, the old file gets a second name, and a rename then gives its first name to the
            // temporary file.
            let [file, temporary, aside] =
                [name.into(), id.name(), id.name_of_old()].map(|name| place.path().with_file_name(name));
            std::fs::hard_link(&file, aside).unwrap();
            std::fs::rename(temporary, file).unwrap();
        } else {
            os::exchange(&place.directory, Path::new(name), Path::new(&id.name())).unwrap();
        }
    }

    fn names(&self) -> BTreeMap<String, String> {
        let entries = std::fs::read_dir(self.root.path()).unwrap().map(Result::unwrap);
        let name = |entry: &std::fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: BTreeMap<_, _> =
            entries.map(|entry| (name(&entry), std::fs::read_to_string(entry.path()).unwrap())).collect();
        assert!(names.remove(STAYS).is_none_or(|content| content == OLD));
        names
    }

    fn records(&self) -> usize {
        self.workspace.journal().unwrap().all().unwrap().len()
    }
}

/// Returns the name of the old file after it was replaced.
fn old(id: TemporaryId) -> OsString {
    if cfg!(windows) { id.name_of_old() } else { id.name() }
}

/// Returns a world with a transaction of three files that was interrupted after this step.
fn cut_off(cut: Cut) -> World {
    let world = World::new(&["a", STAYS, "b", "c"]);
    let subjects = ["a", STAYS, "b", "c"].map(|name| world.subject(name));
    let ids = [&subjects[0], &subjects[2], &subjects[3]].map(|subject| subject.id);
    let mut record = world.begin(&subjects);
    let run = |record: &mut dyn Record| {
        if cut == Cut::Recorded {
            return;
        }
        let a = world.leave("a", ids[0]);
        if cut == Cut::OneTemporary {
            return;
        }
        let (b, c) = (world.leave("b", ids[1]), world.leave("c", ids[2]));
        std::fs::write(world.root.path().join(ids[2].name_of_old()), OLD).unwrap();
        let steps = [Step::Exchange(a), Step::Stay, Step::Exchange(b), Step::Overwrite(c)];
        record.prepared(&steps, true).unwrap();
        if cut == Cut::Prepared {
            return;
        }
        world.exchange("a", ids[0]);
        if cut == Cut::OneExchanged {
            return;
        }
        world.exchange("b", ids[1]);
        if cut == Cut::BothExchanged {
            return;
        }
        record.committed(true).unwrap();
        if cut == Cut::Committed {
            return;
        }
        let written = if let Cut::Overwriting(written) = cut { written } else { NEW.len() };
        let rest = OLD.get(written..).unwrap_or_default();
        std::fs::write(world.root.path().join("c"), format!("{}{rest}", &NEW[..written])).unwrap();
        if cut <= Cut::Overwritten {
            return;
        }
        std::fs::remove_file(world.root.path().join(old(ids[0]))).unwrap();
        if cut == Cut::OneUnlinked {
            return;
        }
        for name in [old(ids[1]), ids[2].name(), ids[2].name_of_old()] {
            std::fs::remove_file(world.root.path().join(name)).unwrap();
        }
    };
    run(&mut *record);
    record.keep();
    world
}

/// Recovers all records that can be recovered. While another test starts a process, that process inherits
/// this process's open files, and so the locks of its records, until it runs its own program. Recovery leaves
/// locked records alone, so this function tries again.
pub(super) fn recover(workspace: &Workspace) {
    for _ in 0..200 {
        super::recover(workspace);
        let left = workspace.journal().map(|journal| journal.all().unwrap()).unwrap_or_default();
        if left.iter().all(|record| !may_recover(workspace, record.contents())) {
            return;
        }
        drop(left);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn all(content: &str) -> BTreeMap<String, String> {
    ["a", "b", "c"].map(|name| (name.to_owned(), content.to_owned())).into()
}

#[test]
fn whenever_it_was_cut_off_all_files_are_old_or_all_are_new() {
    for (cut, durability) in CUTS
        .into_iter()
        .flat_map(|cut| [Durability::Machine, Durability::Process].map(|durability| (cut, durability)))
    {
        let mut world = cut_off(cut);
        world.workspace.durability = durability;
        recover(&world.workspace);
        let expected = if cut < Cut::Committed { OLD } else { NEW };
        assert_eq!(world.names(), all(expected), "{cut:?}");
        assert_eq!(world.records(), 0, "{cut:?}");
        recover(&world.workspace);
        assert_eq!(world.names(), all(expected), "{cut:?}");
    }
}

#[test]
fn what_is_cut_off_may_be_zero_before_the_file_is_shorter() {
    let longer = format!("{NEW}more of the old content\n");
    let zeros = "\0".repeat(longer.len() - NEW.len());
    for half_done in [format!("{NEW}{zeros}"), format!("{}{zeros}", &longer[..NEW.len()]), longer.clone()] {
        let world = World::new(&["c"]);
        let path = world.root.path().join("c");
        std::fs::write(&path, &longer).unwrap();
        let subject = world.subject("c");
        let mut record = world.begin(std::slice::from_ref(&subject));
        let change = ContentChange { old: Digest::of(longer.as_bytes()), ..world.leave("c", subject.id) };
        std::fs::write(world.root.path().join(subject.id.name_of_old()), &longer).unwrap();
        record.prepared(&[Step::Overwrite(change)], true).unwrap();
        record.committed(true).unwrap();
        record.keep();
        std::fs::write(&path, &half_done).unwrap();
        recover(&world.workspace);
        assert_eq!(world.names(), [("c".to_owned(), NEW.to_owned())].into(), "{half_done:?}");
    }
}

#[test]
fn what_is_no_interrupted_write_stays() {
    let longer = format!("{NEW}more of the old content\n");
    let spoiled = |text: &str, at: usize, byte: u8| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] = byte;
        String::from_utf8(bytes).unwrap()
    };
    let zero_within = spoiled(&longer, 3, 0);
    let foreign_within = spoiled(&longer, NEW.len() - 1, b'?');
    let foreign_beyond = spoiled(&longer, NEW.len(), b'?');
    let too_short = NEW[..NEW.len() - 1].to_owned();
    for theirs in [zero_within, foreign_within, foreign_beyond, too_short, format!("{longer}x")] {
        // The new content is shorter than the old one, and then longer.
        for (old, new) in [(longer.as_str(), NEW), (NEW, longer.as_str())] {
            let world = World::new(&["c"]);
            let path = world.root.path().join("c");
            std::fs::write(&path, old).unwrap();
            let subject = world.subject("c");
            let mut record = world.begin(std::slice::from_ref(&subject));
            let digests = [old, new].map(|text| Digest::of(text.as_bytes()));
            let change = ContentChange { old: digests[0], new: digests[1], ..world.leave("c", subject.id) };
            std::fs::write(world.root.path().join(subject.id.name()), new).unwrap();
            std::fs::write(world.root.path().join(subject.id.name_of_old()), old).unwrap();
            record.prepared(&[Step::Overwrite(change)], true).unwrap();
            record.committed(true).unwrap();
            record.keep();
            std::fs::write(&path, &theirs).unwrap();
            recover(&world.workspace);
            let mut names = world.names();
            assert_eq!(names.remove("c"), Some(theirs.clone()));
            assert_eq!(names.into_values().collect::<Vec<_>>(), [old], "the old bytes are kept: {theirs:?}");
        }
    }
}

#[test]
#[cfg(feature = "history")]
fn what_was_displaced_is_in_the_history_unless_it_is_too_large() {
    for (room, beside) in [(OLD.len(), 0), (OLD.len() - 1, 1)] {
        let mut world = World::new(&["c"]);
        let state = StateDir::open(world.state_dir.path()).unwrap();
        world.workspace.history = History::new(&state, Settings::default());
        world.workspace.max_kept_bytes = room as u64;
        let subject = world.subject("c");
        let mut record = world.begin(std::slice::from_ref(&subject));
        let change = world.leave("c", subject.id);
        std::fs::write(world.root.path().join(subject.id.name_of_old()), OLD).unwrap();
        record.prepared(&[Step::Overwrite(change)], true).unwrap();
        record.committed(true).unwrap();
        record.keep();
        std::fs::write(world.root.path().join("c"), "theirs\n").unwrap();
        recover(&world.workspace);
        assert_eq!(world.names().len(), 1 + beside);
        let kept = world.workspace.history.list(None, 10, &|_| true).unwrap();
        assert_eq!(kept.len(), 1 - beside);
    }
}

#[test]
fn the_observer_is_told_of_what_was_recovered() {
    thread_local! {
        static RECOVERED: std::cell::Cell<usize> = std::cell::Cell::default();
    }
    let recovered = || RECOVERED.set(RECOVERED.get() + 1);
    for (cut, told) in
        [(None, 0), (Some(Cut::Recorded), 1), (Some(Cut::BothExchanged), 1), (Some(Cut::Committed), 1)]
    {
        let mut world = cut.map_or_else(|| World::new(&["a"]), cut_off);
        world.workspace.observer = Observer { recovered, ..Observer::default() };
        if cut.is_none() {
            // The record's owner died before it had written anything to the record.
            let state = StateDir::open(world.state_dir.path()).unwrap();
            let name = TemporaryId::draw().to_string();
            std::fs::write(world.state_dir.path().join("journal").join(name), "").unwrap();
            drop(state);
        }
        RECOVERED.set(0);
        recover(&world.workspace);
        assert_eq!((RECOVERED.get(), world.records()), (told, 0), "{cut:?}");
    }
}

#[test]
fn what_another_program_wrote_since_stays() {
    let outsider = "by another program\n";
    for cut in CUTS {
        for name in ["a", "b", "c"] {
            for by_rename in [true, false] {
                let world = cut_off(cut);
                let path = world.root.path().join(name);
                if by_rename {
                    let beside = world.root.path().join("beside");
                    std::fs::write(&beside, outsider).unwrap();
                    std::fs::rename(beside, &path).unwrap();
                } else {
                    std::fs::write(&path, outsider).unwrap();
                }
                recover(&world.workspace);
                let what = format!("{cut:?}, {name} {by_rename}");
                let mut names = world.names();
                // A machine without a history keeps the displaced bytes beside the file.
                names.retain(|name, content| {
                    let is_kept = name.contains(".displaced-");
                    assert!(!is_kept || content == OLD, "{what}");
                    !is_kept
                });
                assert_eq!(names.remove(name).unwrap(), outsider, "{what}");
                let expected = if cut < Cut::Committed { OLD } else { NEW };
                assert!(names.values().all(|content| content == expected), "{what}: {names:?}");
                assert_eq!(names.len(), 2, "{what}");
                assert_eq!(world.records(), 0, "{what}");
            }
        }
    }
}

/// Returns the path of a temporary name that `name` makes for the file with this index in the record.
fn beside(world: &World, index: usize, name: impl Fn(TemporaryId) -> OsString) -> PathBuf {
    let found = world.workspace.journal().unwrap().all().unwrap();
    world.root.path().join(name(found[0].contents().subjects[index].id))
}

#[test]
fn what_another_program_wrote_to_the_old_file_since_is_kept() {
    let theirs = "by another program\n";
    for cut in [Cut::BothExchanged, Cut::Committed] {
        let world = cut_off(cut);
        std::fs::write(beside(&world, 0, old), theirs).unwrap();
        recover(&world.workspace);
        let mut names = world.names();
        if cut == Cut::Committed {
            let kept: Vec<_> =
                names.keys().filter(|name| name.starts_with("a.displaced-")).cloned().collect();
            assert_eq!(kept.len(), 1, "{names:?}");
            assert_eq!(names.remove(&kept[0]).unwrap(), theirs);
            assert_eq!(names, all(NEW));
        } else {
            assert_eq!(names.insert("a".to_owned(), OLD.to_owned()).unwrap(), theirs);
            assert_eq!(names, all(OLD));
        }
        assert_eq!(world.records(), 0, "{cut:?}");
    }
}

/// On a file system that cannot exchange names, the old file first gets a second name, or is copied. Then the
/// new file gets the old file's name.
#[test]
fn what_was_written_to_the_old_file_comes_back_but_a_copy_that_is_no_copy_does_not() {
    let theirs = "by another program\n";
    for is_copy in [false, true] {
        let world = World::new(&["a"]);
        let subject = world.subject("a");
        let [file, temporary, aside] = ["a".into(), subject.id.name(), subject.id.name_of_old()]
            .map(|name: OsString| world.root.path().join(name));
        let mut record = world.begin(std::slice::from_ref(&subject));
        let change = world.leave("a", subject.id);
        record.prepared(&[Step::Exchange(change)], true).unwrap();
        if is_copy {
            std::fs::copy(&file, &aside).unwrap();
        } else {
            std::fs::hard_link(&file, &aside).unwrap();
        }
        std::fs::rename(temporary, &file).unwrap();
        std::fs::write(aside, theirs).unwrap();
        record.keep();
        recover(&world.workspace);
        let mut names = world.names();
        assert_eq!(names.remove("a").unwrap(), if is_copy { NEW } else { theirs });
        assert!(names.keys().all(|name| name.starts_with("a.displaced-")), "{names:?}");
        assert_eq!(names.len(), usize::from(is_copy), "what it holds is kept");
        assert_eq!(world.records(), 0);
    }
}

/// Without the old bytes, nobody can tell whether another program has written to the file.
#[test]
fn without_the_old_bytes_only_a_file_that_is_old_is_written_over_and_the_new_ones_are_kept() {
    let half_done = format!("{}{}", &NEW[..1], &OLD[1..]);
    for (cut, c, kept) in [(Cut::Committed, NEW, vec![]), (Cut::Overwriting(1), &half_done, vec![NEW])] {
        let world = cut_off(cut);
        std::fs::remove_file(beside(&world, 3, TemporaryId::name_of_old)).unwrap();
        recover(&world.workspace);
        let (beside, mut names): (BTreeMap<_, _>, BTreeMap<_, _>) =
            world.names().into_iter().partition(|(name, _)| name.starts_with("c.displaced-"));
        assert_eq!(beside.into_values().collect::<Vec<_>>(), kept);
        assert_eq!(names.insert("c".to_owned(), NEW.to_owned()).unwrap(), c);
        assert_eq!((names, world.records()), (all(NEW), 0));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_no_file_under_the_name_of_a_temporary_is_none() {
    for is_link in [false, true] {
        let world = cut_off(Cut::Prepared);
        let temporary = beside(&world, 0, TemporaryId::name);
        std::fs::remove_file(&temporary).unwrap();
        if is_link {
            let theirs = world.state_dir.path().join("theirs");
            std::fs::write(&theirs, "by another program\n").unwrap();
            std::os::unix::fs::symlink(theirs, &temporary).unwrap();
        } else {
            rustix::fs::mkfifoat(rustix::fs::CWD, &temporary, rustix::fs::Mode::RWXU).unwrap();
        }
        recover(&world.workspace);
        let left = std::fs::read_dir(world.root.path()).unwrap().count();
        assert_eq!((left, world.records()), (4, 0), "it is gone, and was not kept for what it holds");
        assert_eq!(world.names(), all(OLD));
    }
}

#[test]
fn an_edit_of_such_a_file_comes_after_recovery() {
    for cut in CUTS {
        let world = cut_off(cut);
        let places = ["c", "a"].map(|name| world.place(name));
        let locked = lock_settled(
            &world.workspace,
            &[&places[0], &places[1]],
            &|_| true,
            &mut Backoff::new(&LockTimeout::default()),
        )
        .unwrap();
        let expected = if cut < Cut::Committed { OLD } else { NEW };
        for file in &locked.files {
            assert_eq!(digest_of(file.file()).unwrap(), Digest::of(expected.as_bytes()), "{cut:?}");
        }
        assert_eq!(world.names(), all(expected), "{cut:?}");
    }
}

#[test]
fn a_file_in_the_making_goes_and_so_do_its_directories() {
    let world = World::new(&[]);
    let root = real(world.root.path());
    let directories = vec![root.join("x"), root.join("x/y")];
    let id = TemporaryId::draw();
    let intent = Intent::Create { directories: directories.clone() };
    let subject = Subject { path: root.join("x/y/new"), id, intent };
    for step in 0..4 {
        let record = world.begin(std::slice::from_ref(&subject));
        for directory in directories.iter().take(step) {
            std::fs::create_dir(directory).unwrap();
        }
        if step > 2 {
            std::fs::write(root.join("x/y").join(id.name()), NEW).unwrap();
        }
        record.keep();
        recover(&world.workspace);
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0, "{step}");
        assert_eq!(world.records(), 0);
    }
}

/// The file is complete, and the client may know of it. With a shared journal, such a file stays only if the
/// record says *committed*.
#[test]
fn a_file_that_was_made_alone_stays_with_its_directory() {
    let world = World::new(&[]);
    let root = real(world.root.path());
    let intent = Intent::Create { directories: vec![root.join("x")] };
    let subject = Subject { path: root.join("x/new"), id: TemporaryId::draw(), intent };
    let mut record = world.begin(std::slice::from_ref(&subject));
    std::fs::create_dir(root.join("x")).unwrap();
    std::fs::write(&subject.path, NEW).unwrap();
    let (new, key) = (Digest::of(NEW.as_bytes()), world.key("x/new"));
    record.prepared(&[Step::Publish { new, key }], true).unwrap();
    record.keep();
    recover(&world.workspace);
    let stays = world.workspace.shared_journal().is_none();
    assert_eq!((root.join("x").exists(), subject.path.exists()), (stays, stays));
    assert_eq!(world.records(), 0);
}

#[test]
fn a_file_that_was_being_removed_is_back_unless_that_was_committed() {
    // `gone` is the number of the file's directories that are gone already. `used` tells whether another
    // program uses the outer directory.
    for (committed, gone, used) in [
        (false, 0, false),
        (true, 0, false),
        (true, 1, false),
        (true, 2, false),
        (true, 0, true),
        (true, 1, true),
    ] {
        let world = World::new(&[]);
        let root = real(world.root.path());
        let directories = vec![root.join("x"), root.join("x/y")];
        std::fs::create_dir_all(&directories[1]).unwrap();
        std::fs::write(root.join("x/y/a"), OLD).unwrap();
        let subject = world.subject("x/y/a");
        let (id, key) = (subject.id, world.key("x/y/a"));
        let mut record = world.begin(&[Subject { intent: Intent::Remove, ..subject }]);
        let old = Digest::of(OLD.as_bytes());
        record.prepared(&[Step::Remove { old, key, directories: directories.clone() }], true).unwrap();
        std::fs::rename(root.join("x/y/a"), root.join("x/y").join(id.name())).unwrap();
        if committed {
            record.committed(true).unwrap();
        }
        if gone > 0 {
            std::fs::remove_file(root.join("x/y").join(id.name())).unwrap();
        }
        for directory in directories.iter().rev().take(gone) {
            std::fs::remove_dir(directory).unwrap();
        }
        if used {
            std::fs::write(root.join("x/other"), "").unwrap();
        }
        record.keep();
        recover(&world.workspace);
        assert_eq!(root.join("x/y/a").exists(), !committed);
        assert_eq!(root.join("x/y").exists(), !committed, "{gone} gone");
        assert_eq!(root.join("x").exists(), !committed || used, "{gone} gone");
        assert_eq!(root.join("x/other").exists(), used);
        assert_eq!(world.records(), 0);
    }
}

/// The directory that contains both files was created for the first of them.
#[test]
fn the_directories_of_all_files_go_whichever_they_were_made_for() {
    for is_removed in [true, false] {
        let world = World::new(&[]);
        let root = real(world.root.path());
        let made = [vec![root.join("x"), root.join("x/y")], vec![root.join("x/z")]];
        std::fs::create_dir_all(root.join("x/y")).unwrap();
        std::fs::create_dir_all(root.join("x/z")).unwrap();
        let subjects = [("x/y/a", &made[0]), ("x/z/b", &made[1])].map(|(name, made)| {
            let created = Intent::Create { directories: made.clone() };
            let intent = if is_removed { Intent::Remove } else { created };
            Subject { path: root.join(name), id: TemporaryId::draw(), intent }
        });
        let mut record = world.begin(&subjects);
        if is_removed {
            let old = Digest::of(OLD.as_bytes());
            let key = FileKey { inode: 0, born: None };
            record.prepared(&made.map(|directories| Step::Remove { old, key, directories }), true).unwrap();
            record.committed(true).unwrap();
        }
        record.keep();
        recover(&world.workspace);
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0, "{is_removed}");
        assert_eq!(world.records(), 0);
    }
}

#[test]
fn files_of_other_roots_are_left_to_others() {
    let world = cut_off(Cut::OneExchanged);
    let narrow = world.root.path().join("narrow");
    std::fs::create_dir(&narrow).unwrap();
    let roots = Roots::open(&[narrow]).unwrap();
    let other = Workspace {
        state_dir: Some(StateDir::open(world.state_dir.path()).unwrap()),
        ..Workspace::without_state(roots)
    };
    recover(&other);
    super::recover(&Workspace::without_state(Roots::open(&[world.root.path().to_owned()]).unwrap()));
    assert_eq!(other.journal().map(|journal| journal.all().unwrap().len()), Some(1));
    // If a call names the same file by another hard link, the record counts as well, and the file is not
    // edited.
    std::fs::hard_link(world.root.path().join("b"), world.root.path().join("narrow/b")).unwrap();
    let place = other.roots.resolve_for_writing(real(world.root.path()).join("narrow/b").to_str().unwrap());
    let problems =
        lock_settled(&other, &[&place.unwrap()], &|_| true, &mut Backoff::new(&LockTimeout::default()))
            .unwrap_err();
    let kind = StoreErrorKind::Unfinished { paths: Vec::new(), others: 4, is_of_later_form: false };
    assert_eq!(problems[0].1.kind, kind, "a client may not learn of files outside its roots");
}

#[test]
fn what_a_later_version_has_left_is_left_to_it() {
    let world = World::new(&["a", "b"]);
    let path = world.place("a").path().to_owned();
    // The path is escaped as in all records, because a space would end it.
    let part =
        format!("mcp-text-editor journal 5\nby-other-means {}\n", escaped(os::bytes_of(&path).unwrap()));
    let text = format!("{part}end {}\n", Digest::of(part.as_bytes()).short());
    let journal = world.state_dir.path().join(crate::state_dir::JOURNAL);
    std::fs::write(journal.join(TemporaryId::draw().to_string()), text).unwrap();
    recover(&world.workspace);
    assert_eq!(world.records(), 1);
    let attempt = |name| {
        let place = world.place(name);
        lock_settled(&world.workspace, &[&place], &|_| true, &mut Backoff::new(&LockTimeout::default()))
            .map(drop)
    };
    attempt("b").unwrap();
    let kind = StoreErrorKind::Unfinished { paths: vec![path], others: 0, is_of_later_form: true };
    assert_eq!(attempt("a").unwrap_err()[0].1.kind, kind);
    assert_eq!(world.records(), 1);
}

#[test]
#[cfg(unix)]
fn a_record_that_cannot_be_unlinked_stops_nobody() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = cut_off(Cut::OneExchanged);
    let journal = world.state_dir.path().join(crate::state_dir::JOURNAL);
    let permit = |mode| std::fs::set_permissions(&journal, std::fs::Permissions::from_mode(mode)).unwrap();
    permit(0o500);
    if std::fs::write(journal.join("probe"), "").is_ok() {
        permit(0o700);
        return eprintln!("skipped: this user may write anywhere");
    }
    drop(
        lock_settled(
            &world.workspace,
            &[&world.place("a")],
            &|_| true,
            &mut Backoff::new(&LockTimeout::default()),
        )
        .unwrap(),
    );
    permit(0o700);
    assert_eq!(world.names(), all(OLD));
    assert_eq!(world.records(), 1);
    recover(&world.workspace);
    assert_eq!(world.records(), 0);
}

#[test]
fn why_an_edit_could_not_be_taken_back_is_told() {
    let world = cut_off(Cut::OneExchanged);
    // Temporary files are left out: recovery may have renamed them.
    let contents =
        || world.names().into_iter().filter(|(name, _)| !name.starts_with('.')).collect::<Vec<_>>();
    let before = contents();
    let attempt = || {
        let wait = LockTimeout { limit: std::time::Duration::from_millis(30), ..LockTimeout::default() };
        lock_settled(&world.workspace, &[&world.place("a")], &|_| true, &mut Backoff::new(&wait)).map(drop)
    };
    let other = std::fs::File::open(world.root.path().join("b")).unwrap();
    os::try_lock(&other).unwrap();
    let problems = attempt().unwrap_err();
    let error = &problems[0].1;
    assert_eq!((error.operation, &error.kind), (Operation::Recover, &StoreErrorKind::Busy));
    assert_eq!(error.path.file_name(), Some(OsStr::new("b")));
    assert_eq!(contents(), before);
    drop(other);
    attempt().unwrap();
    assert_eq!(world.names(), all(OLD));
}

#[test]
fn a_name_that_a_call_under_way_gives_up_is_waited_for() {
    let is_shared = World::new(&[]).workspace.shared_journal().is_some();
    let settled = |intent| {
        let world = World::new(&["a", "b"]);
        let (place, path) = (world.place("a"), world.root.path().join("a"));
        let subjects = [Subject { intent, ..world.subject("a") }, world.subject("b")];
        let record = world.begin(&subjects);
        std::fs::rename(&path, world.root.path().join("elsewhere")).unwrap();
        let wait = LockTimeout { limit: std::time::Duration::from_millis(30), ..LockTimeout::default() };
        let settled = settle(&world.workspace, &place, &mut Backoff::new(&wait));
        drop(record);
        settle(&world.workspace, &place, &mut Backoff::new(&wait)).unwrap();
        settled.map_err(|error| error.kind)
    };
    for intent in [Intent::Remove, Intent::MoveFrom] {
        assert_eq!(settled(intent), Err(StoreErrorKind::Busy));
    }
    // Of two calls that create a file, the file system lets one succeed; a shared journal lets only one
    // begin.
    let expected = if is_shared { Err(StoreErrorKind::Busy) } else { Ok(()) };
    assert_eq!(settled(Intent::Create { directories: Vec::new() }), expected);
}

#[test]
fn who_waits_for_a_call_under_way_leaves_it_the_file() {
    let world = World::new(&["a", "b"]);
    let settled = |name, wait: &LockTimeout<'_>| {
        let locked =
            lock_settled(&world.workspace, &[&world.place(name)], &|_| true, &mut Backoff::new(wait));
        locked.map(drop).map_err(|mut problems| problems.remove(0).1)
    };
    let record = Cell::new(Some(world.begin(&[world.subject("a")])));
    settled("b", &LockTimeout::default()).unwrap();
    let soon = LockTimeout { limit: std::time::Duration::from_millis(30), ..LockTimeout::default() };
    let error = settled("a", &soon).unwrap_err();
    assert_eq!((error.operation, error.kind), (Operation::Lock, StoreErrorKind::Busy));
    let ends_once_it_is_free = || {
        if os::try_lock(&std::fs::File::open(world.root.path().join("a")).unwrap()).is_ok() {
            drop(record.take());
        }
        false
    };
    let wait =
        LockTimeout { cancellation: Cancellation::when(&ends_once_it_is_free), ..LockTimeout::default() };
    settled("a", &wait).unwrap();
    assert!(record.take().is_none());
}

#[test]
fn of_several_recoverers_one_recovers() {
    for cut in CUTS {
        let world = cut_off(cut);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| recover(&world.workspace));
            }
        });
        recover(&world.workspace);
        let expected = if cut < Cut::Committed { OLD } else { NEW };
        assert_eq!(world.names(), all(expected), "{cut:?}");
        assert_eq!(world.records(), 0, "{cut:?}");
        drop(lock(&world.place("a"), &LockTimeout::default()).unwrap());
    }
}
