//! Tests for Windows: the access of other programs while a file is edited, open handles, and the identity and
//! metadata of files.

use std::fs::{FileTimes, OpenOptions};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::os::windows::fs::{FileTimesExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use mcp_text_editor_core::source::{Source as _, read_range};
use windows_sys::Win32::Storage::FileSystem::FILE_ATTRIBUTE_OFFLINE;

use super::search::found;
use crate::access::place::WritablePlace;
use crate::access::policy::Policy;
use crate::access::roots::Roots;
use crate::commit::in_place::InPlace;
use crate::edit::{Edit, EditChange, Reason, Warning, edit, undo};
use crate::error::StoreErrorKind;
use crate::history::{History, NotKept, Settings};
use crate::lock::{Backoff, LockTimeout, lock_all_with};
use crate::os;
use crate::os::real_path::without_verbatim_prefix;
use crate::os::seen::Listed;
use crate::state_dir::StateDir;
use crate::tests::world::{World, options};
use crate::workspace::Workspace;
use crate::{Control, List, ListEntry, Search, SkipCause};

const READ: u32 = 1;
const WRITE: u32 = 2;
const DELETE: u32 = 4;

/// An allowed directory, with a state directory and the workspace of both.
struct Place {
    directory: tempfile::TempDir,
    _state: tempfile::TempDir,
    workspace: Workspace,
}

impl Place {
    fn new() -> Self {
        let (directory, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let roots = Roots::open_with(&[directory.path().to_owned()], Policy::default()).unwrap();
        let opened = StateDir::open(state.path()).unwrap();
        let workspace = Workspace { state_dir: Some(opened), ..Workspace::without_state(roots) };
        Self { directory, _state: state, workspace }
    }

    fn path(&self, name: &str) -> PathBuf {
        without_verbatim_prefix(self.directory.path().canonicalize().unwrap()).join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn place(&self, name: &str) -> WritablePlace {
        self.workspace.roots.resolve_for_writing(self.path(name).to_str().unwrap()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Appends a line. Returns the warnings of the edit, or the kind of its error. Fails the test if the edit
    /// leaves temporary files or journal records.
    fn append(&self, name: &str) -> Result<Vec<Warning>, StoreErrorKind> {
        let names = self.names();
        let path = self.path(name);
        let change = EditChange::Append("added\n");
        let file_path = path.to_str().unwrap();
        let edits = [Edit::new(file_path, change)];
        let done = edit(&self.workspace, &edits, options("patch_text_file_contents"));
        assert_eq!(self.names(), names, "nothing is left");
        let journal = self.workspace.state_dir.as_ref().unwrap().journal();
        assert_eq!(journal.entries().unwrap().count(), 0, "nothing is left in the journal");
        match done {
            Ok(done) => {
                let warnings = done.files.into_iter().flat_map(|file| file.warnings);
                Ok(warnings.filter(|told| !matches!(told, Warning::NotInHistory(NotKept::Off))).collect())
            }
            Err(problems) => match problems.into_iter().next().unwrap().reason {
                Reason::Store(error) => Err(error.kind),
                other => panic!("{other:?}"),
            },
        }
    }
}

fn key_of(path: &Path) -> (u64, u64) {
    os::identity_of(&std::fs::File::open(path).unwrap()).unwrap().key()
}

/// A search or a listing does not prevent other programs from removing or renaming directories, or the whole
/// project.
#[test]
fn a_root_and_a_listed_directory_can_be_renamed_and_removed() {
    let world = Place::new();
    let top = world.path("sub");
    std::fs::create_dir_all(top.join("below")).unwrap();
    std::fs::write(top.join("a"), "text\n").unwrap();
    let roots = Roots::open_with(std::slice::from_ref(&top), Policy::default()).unwrap();
    let root = roots.handle_of(&top).unwrap().clone();
    let listed = os::open_to_list(&root, Path::new(".")).unwrap();
    let below = os::open_to_list(&root, Path::new("below")).unwrap();
    let names = |listed| {
        let mut names = Vec::new();
        os::for_each_name(listed, |name, kind| {
            names.push((name.into_string().unwrap(), kind));
            true
        })
        .unwrap();
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        names
    };
    let both = [("a".to_owned(), Listed::File), ("below".to_owned(), Listed::Directory)];
    assert_eq!(names(&listed), both);
    std::fs::remove_dir(top.join("below")).unwrap();
    // On a file system without POSIX semantics, the name stays until the handle is closed.
    drop(below);
    let moved = world.path("moved");
    let held = os::hold(&root).unwrap();
    assert!(std::fs::rename(&top, &moved).is_err(), "an edit keeps the directory in its place");
    drop(held);
    std::fs::rename(&top, &moved).unwrap();
    std::fs::create_dir(&top).unwrap();
    let file_path = top.join("a");
    assert!(roots.resolve_for_writing(file_path.to_str().unwrap()).is_err(), "it is another directory");
}

#[test]
fn a_locked_file_can_be_read_and_written_by_everybody() {
    let world = Place::new();
    let path = world.write("a", "text\n");
    let place = world.place("a");
    let locked = lock_all_with(&[&place], &|_| true, &mut Backoff::new(&LockTimeout::default())).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"text\n");
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more\n").unwrap();
    let short = LockTimeout { limit: Duration::from_millis(20), ..LockTimeout::default() };
    let busy = lock_all_with(&[&place], &|_| true, &mut Backoff::new(&short)).unwrap_err();
    assert_eq!(busy.into_iter().map(|(_, error)| error.kind).collect::<Vec<_>>(), [StoreErrorKind::Busy]);
    drop(locked);
    drop(lock_all_with(&[&place], &|_| true, &mut Backoff::new(&short)).unwrap());
    assert_eq!(world.read("a"), "text\nmore\n");
}

#[test]
fn twelve_edits_and_six_reads_at_once_all_succeed() {
    let world = Place::new();
    for name in ["a", "b", "c"] {
        world.write(name, "text\n");
    }
    let edit_one = |name: &str| {
        let path = world.path(name);
        let file_path = path.to_str().unwrap();
        let change = EditChange::Append("added\n");
        let edits = [Edit::new(file_path, change)];
        edit(&world.workspace, &edits, options("patch_text_file_contents")).unwrap();
    };
    let read_one = |name: &str| {
        let file = world.place(name).open_file(false).unwrap();
        // A reader sees the old content or the new one, never a mixture.
        let bytes = read_range(&file, 0..file.size()).unwrap();
        assert_eq!(bytes, ["text\n".to_owned(), "added\n".repeat((bytes.len() - 5) / 6)].concat().as_bytes());
    };
    std::thread::scope(|scope| {
        for name in &["a", "b", "c"] {
            for _ in 0..4 {
                scope.spawn(|| edit_one(name));
            }
            for _ in 0..2 {
                scope.spawn(|| read_one(name));
            }
        }
    });
    for name in ["a", "b", "c"] {
        assert_eq!(world.read(name), "text\n".to_owned() + &"added\n".repeat(4));
    }
}

#[test]
fn an_edit_is_a_new_file_under_the_name_and_warns_of_nothing() {
    let world = Place::new();
    let path = world.write("a", "text\n");
    let before = key_of(&path);
    assert_eq!(world.append("a"), Ok(Vec::new()));
    assert_eq!(world.read("a"), "text\nadded\n");
    assert_ne!(key_of(&path), before);
}

#[test]
fn identity_is_the_files_and_not_the_names() {
    let world = Place::new();
    let (one, other) = (world.write("one", ""), world.write("other", ""));
    std::fs::hard_link(&one, world.path("second")).unwrap();
    assert_eq!(key_of(&one), key_of(&world.path("second")));
    assert_ne!(key_of(&one), key_of(&other));
    let place = world.place("one");
    assert_eq!(place.key(), Some(key_of(&one)));
    assert_eq!(place.identity().unwrap(), os::identity_of(&std::fs::File::open(&one).unwrap()).unwrap());
    let seen = os::look(&place.directory, &world.path(""), Path::new("one")).unwrap();
    assert_eq!((seen.is_link, seen.key, seen.links), (false, Some(key_of(&one)), 2));
    let above = world.directory.path().parent().unwrap();
    let above = cap_std::fs::Dir::open_ambient_dir(above, cap_std::ambient_authority()).unwrap();
    assert_eq!(os::key_of_parent(&place.directory), os::key_of_directory(&above).ok());
}

#[test]
fn a_file_of_several_names_stays_one_file() {
    let world = Place::new();
    let path = world.write("one", "text\n");
    std::fs::hard_link(&path, world.path("other")).unwrap();
    let before = key_of(&path);
    assert_eq!(world.append("one"), Ok(vec![Warning::EditedInPlace(InPlace::SeveralNames)]));
    assert_eq!([world.read("one"), world.read("other")], ["text\nadded\n"; 2].map(str::to_owned));
    assert_eq!([key_of(&path), key_of(&world.path("other"))], [before; 2]);
}

#[test]
fn a_file_that_is_open_for_writing_stays_the_one_that_is_open() {
    let world = Place::new();
    let path = world.write("a", "text\n");
    let mut theirs = OpenOptions::new().append(true).open(&path).unwrap();
    assert_eq!(os::is_open_for_writing(&std::fs::File::open(&path).unwrap()), Some(true));
    assert_eq!(world.append("a"), Ok(vec![Warning::EditedInPlace(InPlace::OpenForWriting)]));
    theirs.write_all(b"theirs\n").unwrap();
    drop(theirs);
    assert_eq!(os::is_open_for_writing(&std::fs::File::open(&path).unwrap()), Some(false));
    assert_eq!(world.read("a"), "text\nadded\ntheirs\n");
}

#[test]
fn nobody_can_begin_to_write_while_writers_are_refused() {
    let world = Place::new();
    let path = world.write("a", "text\n");
    let file = std::fs::File::open(&path).unwrap();
    let guard = os::refuse_writers(&file).unwrap();
    assert!(guard.is_some());
    let refused = OpenOptions::new().append(true).open(&path).unwrap_err();
    assert!(os::is_held_open(&refused), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), b"text\n");
    drop(guard);
    OpenOptions::new().append(true).open(&path).unwrap();
}

#[test]
fn a_file_whose_name_a_reader_holds_is_written_over() {
    let world = Place::new();
    let path = world.write("a", "text\n");
    // Most Windows programs open a file like this to read it.
    let reader = OpenOptions::new().read(true).share_mode(READ | WRITE).open(&path).unwrap();
    let before = os::identity_of(&reader).unwrap().key();
    let warnings = world.append("a").unwrap();
    assert_eq!(warnings, [Warning::EditedInPlace(InPlace::HeldOpen)]);
    assert_eq!((world.read("a"), key_of(&path)), ("text\nadded\n".to_owned(), before));
}

#[test]
fn a_reader_that_lets_go_in_time_is_waited_for() {
    let world = Place::new();
    let path = world.write("a", "text\n");
    let reader = OpenOptions::new().read(true).share_mode(READ | WRITE).open(&path).unwrap();
    let warnings = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(reader);
        });
        world.append("a").unwrap()
    });
    assert_eq!(warnings, Vec::new());
    assert_eq!(world.read("a"), "text\nadded\n");
}

#[test]
fn a_file_that_lets_nobody_in_is_busy_and_stays() {
    let world = Place::new();
    let path = world.write("a", "text\n");
    for share in [0, READ, READ | DELETE] {
        let options = |file: &mut OpenOptions| file.read(true).write(true).share_mode(share).open(&path);
        let theirs = options(&mut OpenOptions::new()).unwrap();
        let done = world.append("a");
        drop(theirs);
        assert_eq!(done, Err(StoreErrorKind::HeldOpen), "{share}");
        assert_eq!(world.read("a"), "text\n");
    }
}

#[test]
fn undo_of_a_creation_takes_its_directories_along() {
    let world = Place::new();
    let history = History::new(world.workspace.state_dir.as_ref().unwrap(), Settings::default());
    let (directory, workspace) = (world.directory, Workspace { history, ..world.workspace });
    let file = without_verbatim_prefix(directory.path().canonicalize().unwrap()).join(r"made\below\new");
    let new = Edit::new(file.to_str().unwrap(), EditChange::Create("text\n"));
    let created = edit(&workspace, &[new], options("patch_text_file_contents")).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), b"text\n");
    undo::undo(&workspace, &created.edit_id.unwrap(), options("undo_text_file_edits")).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn attributes_and_creation_time_are_kept() {
    /// The attributes hidden, system and not indexed.
    const SET: u32 = 0x2 | 0x4 | 0x2000;
    let world = Place::new();
    let path = world.path("a");
    let mut made = OpenOptions::new();
    made.write(true).create_new(true).attributes(SET).open(&path).unwrap().write_all(b"text\n").unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let times = FileTimes::new().set_created(long_ago);
    OpenOptions::new().write(true).open(&path).unwrap().set_times(times).unwrap();
    let before = path.metadata().unwrap();
    assert_eq!(world.append("a"), Ok(Vec::new()));
    let after = path.metadata().unwrap();
    assert_eq!(after.file_attributes() & SET, before.file_attributes() & SET);
    if before.created().unwrap() == long_ago {
        assert_eq!(after.created().unwrap(), long_ago);
    } else {
        eprintln!("in part: this system keeps no creation time");
    }
    if before.file_attributes() & SET != SET {
        eprintln!("in part: this system keeps no such attributes: {:#x}", before.file_attributes());
    }
}

#[test]
fn alternate_streams_are_kept() {
    let world = Place::new();
    let path = world.write("a", "text\n");
    let stream = |name: &str| PathBuf::from(format!("{}:{name}", path.display()));
    let long = vec![b'x'; 200_000];
    let made = std::fs::write(stream("Zone.Identifier"), "[ZoneTransfer]\r\nZoneId=3\r\n")
        .and_then(|()| std::fs::write(stream("long"), &long));
    if made.is_err() || world.names() != ["a"] {
        eprintln!("skipped: this system has no alternate streams");
        return;
    }
    assert_eq!(world.append("a"), Ok(Vec::new()));
    assert_eq!(world.read("a"), "text\nadded\n");
    assert_eq!(std::fs::read(stream("Zone.Identifier")).unwrap(), b"[ZoneTransfer]\r\nZoneId=3\r\n");
    assert_eq!(std::fs::read(stream("long")).unwrap(), long);
}

#[test]
fn the_access_list_is_kept() {
    let world = Place::new();
    let path = world.write("a", "text\n");
    let icacls = |arguments: &[&str]| {
        let done = Command::new("icacls").arg(&path).args(arguments).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let plain = icacls(&[]);
    // First, everybody may read, in addition to the inherited entries. Then the inherited entries become the
    // file's own.
    for arguments in [&["/grant", "*S-1-1-0:(R)"][..], &["/inheritance:d"]] {
        let done = icacls(arguments);
        let before = icacls(&[]);
        if done.is_none() || before.is_none() || before == plain {
            eprintln!("skipped: this system's icacls cannot change an access list");
            return;
        }
        assert_eq!(world.append("a"), Ok(Vec::new()));
        assert_eq!(icacls(&[]), before);
    }
}

#[test]
fn what_would_be_fetched_is_read_only_where_it_is_named() {
    let world = World::new();
    world.write("@/root/near", "word\n");
    let far = world.path("@/root/far");
    let mut options = OpenOptions::new();
    let mut made =
        options.write(true).create_new(true).attributes(FILE_ATTRIBUTE_OFFLINE).open(&far).unwrap();
    made.write_all(b"word\nword\n").unwrap();
    drop(made);
    if std::fs::metadata(&far).unwrap().file_attributes() & FILE_ATTRIBUTE_OFFLINE == 0 {
        eprintln!("skipped: this system does not keep the mark");
        return;
    }
    let named = far.to_str().unwrap();
    for (paths, hits, left_out) in [(&[][..], 1, 1), (&[named], 2, 0)] {
        let (found, summary) = found(&world, &Search { paths, ..Search::new("word") });
        assert_eq!(found.iter().map(|file| file.matches.len()).sum::<usize>(), hits);
        assert_eq!(summary.skipped.count(SkipCause::Elsewhere), left_out);
    }
    let root = world.path("@/root");
    let list = List { line_counts: true, ..List::new(root.to_str()) };
    let mut lines = Vec::new();
    let mut sink = |entry: ListEntry| {
        lines.push(entry.lines);
        ControlFlow::Continue(())
    };
    let summary = world.workspace.list(&list, &mut sink, Control::default()).unwrap();
    assert_eq!((lines, summary.skipped.count(SkipCause::Elsewhere)), (vec![None, Some(1)], 1));
    assert_eq!(world.append(&["@/root/far"]), ["[]"]);
    assert_eq!(world.content("@/root/far"), "word\nword\nadded\n");
}
