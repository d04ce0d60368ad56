//! Moves, cut off by hand after each step: they leave what a killed process leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;

use super::tests::recover;
use super::*;
use crate::access::roots::Roots;
use crate::journal::{Intent, Record, Step, Subject};
#[cfg(feature = "postgres")]
use crate::recovery::tests::shared;
use crate::stage::temporary::TemporaryId;
use crate::state_dir::StateDir;
use crate::tests::world::real;
use crate::workspace::Workspace;

const OLD: &str = "what is moved\n";
const THEIRS: &str = "what another program wrote\n";

/// The point to which a move of `was/a` to `made/b` came; both directories were made for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Cut {
    Recorded,
    Made,
    Decided,
    /// Only for a copy, and for a file that is handed over: it has lost its name then.
    Copied,
    Published,
    Aside,
    Committed,
    Unlinked,
}

const CUTS: [Cut; 8] = [
    Cut::Recorded,
    Cut::Made,
    Cut::Decided,
    Cut::Copied,
    Cut::Published,
    Cut::Aside,
    Cut::Committed,
    Cut::Unlinked,
];

/// The ways in which the file gets its new name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Renamed,
    /// By a link, where no rename keeps what is there: the file loses its name first.
    HandedOver,
    /// By a link, as in records of earlier versions.
    Linked,
    Copied,
}

struct World {
    _root: tempfile::TempDir,
    root: PathBuf,
    workspace: Workspace,
}

impl World {
    /// Returns the files below the root, and the directories, which end in a slash.
    fn names(&self) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for entry in fs::read_dir(&self.root).unwrap().map(Result::unwrap) {
            let directory = entry.file_name().into_string().unwrap();
            for file in fs::read_dir(entry.path()).unwrap().map(Result::unwrap) {
                let name = format!("{directory}/{}", file.file_name().into_string().unwrap());
                names.insert(name, fs::read_to_string(file.path()).unwrap());
            }
            names.insert(directory + "/", String::new());
        }
        assert_eq!(self.workspace.journal().unwrap().all().unwrap().len(), 0);
        names
    }
}

/// A step of a move.
type Work<'a> = &'a mut dyn FnMut(&mut dyn Record);

/// Returns a move, cut off.
fn cut_off(cut: Cut, way: Way) -> World {
    let (directory, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = real(directory.path());
    fs::create_dir(root.join("was")).unwrap();
    fs::write(root.join("was/a"), OLD).unwrap();
    let roots = Roots::open(std::slice::from_ref(&root)).unwrap();
    // The directory is not removed when the test ends.
    let state_dir = Some(StateDir::open(&state.keep()).unwrap());
    let world = World {
        _root: directory,
        workspace: Workspace {
            state_dir,
            #[cfg(feature = "postgres")]
            shared: shared::journal(),
            ..Workspace::without_state(roots)
        },
        root,
    };
    let (from, to) = (world.root.join("was/a"), world.root.join("made/b"));
    let (of_to, of_from) = (TemporaryId::draw(), TemporaryId::draw());
    let made = vec![world.root.join("made")];
    let subjects = [
        Subject { path: to.clone(), id: of_to, intent: Intent::MoveTo { directories: made } },
        Subject { path: from.clone(), id: of_from, intent: Intent::MoveFrom },
    ];
    let mut record = world.workspace.journal().unwrap().begin(&subjects).unwrap();
    let (temporary, aside) = (to.with_file_name(of_to.name()), from.with_file_name(of_from.name()));
    let (digest, directories) = (Digest::of(OLD.as_bytes()), vec![world.root.join("was")]);
    let steps = match way {
        Way::Renamed | Way::HandedOver => [Step::Stay, Step::Move { digest, key: Some((0, 0)), directories }],
        Way::Linked | Way::Copied => [Step::Publish(digest), Step::Remove { old: digest, directories }],
    };
    let mut run = || {
        let steps: [(Cut, Work<'_>); 7] = [
            (Cut::Made, &mut |_| fs::create_dir(world.root.join("made")).unwrap()),
            (Cut::Decided, &mut |record| record.prepared(&steps, true).unwrap()),
            (Cut::Copied, &mut |_| match way {
                Way::Renamed | Way::Linked => {}
                Way::HandedOver => fs::rename(&from, &aside).unwrap(),
                Way::Copied => fs::write(&temporary, OLD).unwrap(),
            }),
            (Cut::Published, &mut |_| match way {
                Way::Renamed => fs::rename(&from, &to).unwrap(),
                Way::HandedOver => fs::hard_link(&aside, &to).unwrap(),
                Way::Linked => fs::hard_link(&from, &to).unwrap(),
                Way::Copied => fs::rename(&temporary, &to).unwrap(),
            }),
            (Cut::Aside, &mut |_| match way {
                Way::Renamed => {}
                Way::HandedOver => fs::remove_file(&aside).unwrap(),
                Way::Linked | Way::Copied => fs::rename(&from, &aside).unwrap(),
            }),
            (Cut::Committed, &mut |record| {
                if way != Way::Renamed {
                    record.committed(true).unwrap();
                }
            }),
            (Cut::Unlinked, &mut |_| {
                if matches!(way, Way::Linked | Way::Copied) {
                    fs::remove_file(&aside).unwrap();
                }
            }),
        ];
        for (reached, work) in steps {
            if reached > cut {
                return;
            }
            work(&mut *record);
        }
    };
    run();
    record.keep();
    world
}

/// The same laws of records in a database that several machines share.
#[cfg(feature = "postgres")]
mod of_several_machines {
    use super::shared;

    #[test]
    fn whenever_a_move_is_cut_off_the_file_is_at_one_place() {
        shared::with(super::whenever_a_move_is_cut_off_the_file_is_at_one_place);
    }

    #[test]
    fn nobody_edits_a_file_before_its_move_is_recovered() {
        shared::with(super::nobody_edits_a_file_before_its_move_is_recovered);
    }
}

fn tree(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    let directory = |name: &str| (name.split_inclusive('/').next().unwrap().to_owned(), String::new());
    let directories = files.iter().map(|(name, _)| directory(name));
    directories.chain(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))).collect()
}

#[test]
fn whenever_a_move_is_cut_off_the_file_is_at_one_place() {
    for way in [Way::Renamed, Way::HandedOver, Way::Linked, Way::Copied] {
        for cut in CUTS {
            let world = cut_off(cut, way);
            recover(&world.workspace);
            // A shared record says *committed* of a single rename, too; here it never does.
            let is_shared = world.workspace.shared_journal().is_some();
            let is_alone = way == Way::Renamed || way == Way::HandedOver && !is_shared;
            let forward = if is_alone { Cut::Published } else { Cut::Committed };
            let expected = if cut < forward || (is_shared && way == Way::Renamed) {
                ("was/a", OLD)
            } else {
                ("made/b", OLD)
            };
            assert_eq!(world.names(), tree(&[expected]), "{way:?} {cut:?}");
        }
    }
}

#[test]
fn what_another_program_wrote_before_the_recovery_stays() {
    let check = |cut, way, writes: &[&str], expected: &[(&str, &str)]| {
        let world = cut_off(cut, way);
        for name in writes {
            fs::write(world.root.join(Path::new(name)), THEIRS).unwrap();
        }
        recover(&world.workspace);
        assert_eq!(world.names(), tree(expected), "{way:?} {cut:?} {writes:?}");
    };
    for way in [Way::Renamed, Way::Linked, Way::Copied] {
        check(Cut::Decided, way, &["was/a"], &[("was/a", THEIRS)]);
        check(Cut::Decided, way, &["made/b"], &[("was/a", OLD), ("made/b", THEIRS)]);
    }
    check(Cut::Published, Way::Renamed, &["was/a"], &[("was/a", THEIRS), ("made/b", OLD)]);
    check(Cut::Published, Way::Renamed, &["made/b"], &[("made/b", THEIRS)]);
    // Both names mean the same file.
    check(Cut::Published, Way::Linked, &["was/a"], &[("was/a", THEIRS)]);
    check(Cut::Published, Way::Linked, &["made/b"], &[("was/a", THEIRS)]);
    check(Cut::Published, Way::Copied, &["was/a"], &[("was/a", THEIRS)]);
    check(Cut::Published, Way::Copied, &["made/b"], &[("was/a", OLD), ("made/b", THEIRS)]);
    for way in [Way::Linked, Way::Copied] {
        check(Cut::Aside, way, &["was/a"], &[("was/a", THEIRS), ("made/b", OLD)]);
        check(Cut::Committed, way, &["was/a"], &[("was/a", THEIRS), ("made/b", OLD)]);
        check(Cut::Committed, way, &["made/b"], &[("made/b", THEIRS)]);
    }
    check(Cut::Aside, Way::Copied, &["made/b"], &[("was/a", OLD), ("made/b", THEIRS)]);
}

#[test]
fn nobody_edits_a_file_before_its_move_is_recovered() {
    for way in [Way::Linked, Way::Copied] {
        let world = cut_off(Cut::Published, way);
        let place = |name: &str| {
            let path = world.root.join(name);
            world.workspace.roots.resolve_for_writing(path.to_str().unwrap()).unwrap()
        };
        let mut backoff = crate::lock::Backoff::new(&crate::lock::LockTimeout::default());
        drop(lock_settled(&world.workspace, &[&place("was/a")], &|_| true, &mut backoff).unwrap());
        assert_eq!(world.names(), tree(&[("was/a", OLD)]), "{way:?}");
    }
}

/// Tests a file system where a name can only be claimed: a name that is taken from one file and given to
/// another belongs to an empty file for a moment.
#[test]
#[cfg(target_os = "linux")]
fn a_name_that_was_claimed_anew_comes_back() {
    for (there, after) in [("", [("was/a", OLD)].as_slice()), (THEIRS, &[("made/b", OLD), ("was/a", THEIRS)])]
    {
        let world = cut_off(Cut::Recorded, Way::Copied);
        let [of_to, of_from, of_new] = [(); 3].map(|()| TemporaryId::draw());
        let (from, to) = (world.root.join("was/a"), world.root.join("made/b"));
        let made = vec![world.root.join("made")];
        let subjects = [
            Subject { path: to.clone(), id: of_to, intent: Intent::MoveTo { directories: made } },
            Subject { path: from.clone(), id: of_from, intent: Intent::MoveFrom },
            Subject { path: from.clone(), id: of_new, intent: Intent::Create { directories: Vec::new() } },
        ];
        let mut record = world.workspace.journal().unwrap().begin(&subjects).unwrap();
        let digest = Digest::of(OLD.as_bytes());
        let remove = Step::Remove { old: digest, directories: Vec::new() };
        let steps = [Step::Publish(digest), remove, Step::Publish(Digest::of(b"anew"))];
        record.prepared(&steps, true).unwrap();
        fs::create_dir(world.root.join("made")).unwrap();
        fs::rename(&from, from.with_file_name(of_from.name())).unwrap();
        fs::write(&to, OLD).unwrap();
        fs::write(from.with_file_name(of_new.name()), "anew").unwrap();
        fs::write(&from, there).unwrap();
        record.keep();
        recover(&world.workspace);
        assert_eq!(world.names(), tree(after));
    }
}
