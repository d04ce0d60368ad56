//! Tests of two machines that serve the same tree and share a database. Each machine is a workspace with its
//! own session. A machine can be paused when its call checks for cancellation. The last check is after
//! everything is prepared, and before the first name changes.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]

use std::cell::Cell;
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::resolve::Patch;
use mcp_text_editor_core::show::Budget;
use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_store::backend::{
    ContentChange, FileKey, Intent, Journal as _, Step, Subject, TemporaryId,
};
use mcp_text_editor_store::{
    Change, Control, FileEdit, FileMatches, HistorySettings, NotKept, Observer, Operation, Patterns,
    ReadFile, Reason, Search, StoreErrorKind, Warning, Workspace, WorkspaceBuilder, real_path,
};

use crate::cluster::{Cluster, WithoutDatabase};
use crate::postgres::database::BOUND;
use crate::postgres::url::StateUrl;
use crate::tests::fixture::TestServer;
use crate::tests::{cluster, names};

#[expect(dead_code, reason = "the store's tests use all of it")]
#[cfg(target_os = "linux")]
#[path = "../../../store/src/tests/mounted.rs"]
mod mounted;

/// A machine: its shared state, and the workspace that it serves.
struct Machine {
    cluster: Cluster,
    workspace: Arc<Workspace>,
}

impl Machine {
    fn new(cluster: Cluster, builder: WorkspaceBuilder) -> Self {
        let workspace = builder.shared(Arc::new(cluster.clone())).build().unwrap().into();
        Self { cluster, workspace }
    }

    /// Returns the same machine, but with edits that continue without the database.
    fn going_on(&self, root: &Path) -> Self {
        let cluster = Cluster { without: WithoutDatabase::GoOn, ..self.cluster.clone() };
        Self::new(cluster, Workspace::builder().root(root))
    }
}

impl Deref for Machine {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
    }
}

/// Returns a machine that serves this directory.
fn machine(url: &StateUrl, root: &Path) -> Machine {
    Machine::new(cluster(url, &[]), Workspace::builder().root(root))
}

/// Ends the session of a machine, as the server does after a long silence.
fn cut_off(server: &TestServer, cluster: &Cluster) {
    let database = &cluster.link.database;
    let session = database.session(BOUND).unwrap();
    let low = session.key & 0xffff_ffff;
    let held = format!("select pid from pg_locks where locktype = 'advisory' and objid = {low}");
    server.sql(&format!("select pg_terminate_backend(({held}))"));
    // The server reports the end before it releases the lock.
    while !server.sql(&held).is_empty() {}
    while database.query(&session, "select", Vec::new()).is_ok() {}
}

fn has_prepared(machine: &Machine) -> bool {
    machine.cluster.all().unwrap().iter().any(|record| record.contents().steps.is_some())
}

/// Makes a machine end abandoned calls, if no lock on a file prevents it. Returns the number of files that
/// contain the word `gone`.
fn try_to_recover(machine: &Machine) -> usize {
    let mut found = 0;
    let mut sink = |_: FileMatches| {
        found += 1;
        std::ops::ControlFlow::Continue(())
    };
    // This waits for the database, since a search does not.
    machine.cluster.all().unwrap();
    machine.search(&Search::new("gone"), &mut sink, Control::default()).unwrap();
    found
}

/// Returns the files below a directory, with their contents. Recovery may remove a file meanwhile: one that
/// is gone when it is read is left out.
fn tree(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut below = vec![root.to_owned()];
    while let Some(directory) = below.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                below.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                match fs::read_to_string(&path) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    content => found.push((name, content.unwrap())),
                }
            }
        }
    }
    found.sort();
    found
}

/// Returns a directory with the files of [`make`], its path, and the URL of a database for the machines that
/// serve it.
fn shared_tree(server: &TestServer) -> (tempfile::TempDir, PathBuf, StateUrl) {
    let directory = tempfile::tempdir().unwrap();
    let root = real_path(directory.path());
    make(&root);
    (directory, root, server.url().parse().unwrap())
}

fn make(root: &Path) {
    for name in ["a", "b", "c", "was/moved", "gone"] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("old {name}\n")).unwrap();
    }
    fs::write(root.join("twice"), "old twice\n").unwrap();
    fs::hard_link(root.join("twice"), root.join("again")).unwrap();
}

/// The kinds of calls.
const CALLS: [&str; 7] = ["edit", "edits", "create", "move", "remove", "in place", "all"];

fn call(
    workspace: &Workspace,
    root: &Path,
    kind: &str,
    control: Control<'_>,
) -> Result<(), Vec<StoreErrorKind>> {
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let patches = [Patch::text("old", "new")];
    let [a, b, c, moved, to, gone, made, twice] =
        ["a", "b", "c", "was/moved", "to/moved", "gone", "made/new", "twice"].map(path);
    let digest = Digest::of(b"old gone\n").to_string();
    let hash = DigestPrefix::parse(&digest).unwrap();
    let edit = |path| FileEdit::new(path, Change::Patch(&patches));
    let create = FileEdit::new(&made, Change::Create("new\n"));
    let change = FileEdit::new(&moved, Change::Move { to: &to, patches: &[] });
    let remove = FileEdit { file_hash: Some(&hash), ..FileEdit::new(&gone, Change::Remove) };
    let edits = match kind {
        "edit" => vec![edit(&a)],
        "edits" => vec![edit(&a), edit(&b), edit(&c)],
        "create" => vec![create],
        "move" => vec![change],
        "remove" => vec![remove],
        "in place" => vec![edit(&twice)],
        _ => vec![edit(&a), edit(&twice), create, change, remove, edit(&b)],
    };
    let done = workspace.apply(&edits, control).map(drop);
    done.map_err(|error| error.problems.into_iter().map(|problem| kind_of(problem.reason)).collect())
}

fn kind_of(reason: Reason) -> StoreErrorKind {
    match reason {
        Reason::Store(error) => error.kind,
        Reason::OfTarget(reason) => kind_of(*reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_was_taken_over_publishes_nothing_and_takes_nothing_back() {
    let Some(server) = TestServer::shared() else { return };
    for kind in CALLS {
        let (_directory, root, url) = shared_tree(server);
        let before = tree(&root);
        let (one, two) = (machine(&url, &root), machine(&url, &root));
        let is_done = Cell::new(false);
        // The machine still holds its locks on files, like a stopped process.
        let pause = || {
            if !is_done.get() && has_prepared(&two) {
                is_done.set(true);
                cut_off(server, &one.cluster);
                try_to_recover(&two);
            }
            false
        };
        let done = call(&one, &root, kind, Control::default().cancelled_by(&pause));
        assert!(is_done.get(), "{kind}");
        assert!(done.is_err(), "{kind}: it has been taken over");
        two.recover();
        assert_eq!(tree(&root), before, "{kind}");
        assert!(!root.join("made").exists() && !root.join("to").exists(), "{kind}");
        assert!(two.cluster.all().unwrap().is_empty(), "{kind}");
        // The same call now succeeds.
        call(&two, &root, kind, Control::default()).unwrap();
        assert!(tree(&root).iter().all(|(name, _)| !name.contains(".mte-")), "{kind}");
    }
}

#[test]
fn who_was_cut_off_for_a_moment_goes_on() {
    let Some(server) = TestServer::shared() else { return };
    for kind in CALLS {
        let (_directory, root, url) = shared_tree(server);
        let (one, two) = (machine(&url, &root), machine(&url, &root));
        let is_done = Cell::new(false);
        let pause = || {
            if !is_done.get() && has_prepared(&two) {
                is_done.set(true);
                cut_off(server, &one.cluster);
            }
            false
        };
        call(&one, &root, kind, Control::default().cancelled_by(&pause)).unwrap();
        assert!(is_done.get() && two.cluster.all().unwrap().is_empty(), "{kind}");
        assert!(tree(&root).iter().all(|(name, _)| !name.contains(".mte-")), "{kind}");
    }
}

#[test]
fn a_read_shows_no_file_that_another_machine_has_left_half_way() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let (one, two) = (machine(&url, &root), machine(&url, &root));
    let read = |is_cancelled: &dyn Fn() -> bool| {
        let path = root.join("a");
        let control = Control::default().cancelled_by(is_cancelled);
        let view = two.read(ReadFile::new(path.to_str().unwrap()), None, Budget::bytes(1000), control);
        view.map(|view| view.shown.content).map_err(|error| format!("{error:?}"))
    };
    // The machine dies after the first of two files is exchanged.
    let subjects = ["a", "b"].map(|name| {
        let intent = Intent::Edit { key: key_of(&root.join(name)) };
        let id = TemporaryId::draw();
        Subject { path: root.join(name), id, intent }
    });
    let mut record = one.cluster.begin(&subjects).unwrap();
    assert_eq!(read(&|| false).unwrap(), "old a\n", "nothing is changed before it is prepared");
    let digest = |text: &str| Digest::of(text.as_bytes());
    let steps = [0, 1].map(|index| {
        let temporary = root.join(subjects[index].id.name());
        fs::write(&temporary, "half way\n").unwrap();
        let (old, new) = (digest(["old a\n", "old b\n"][index]), digest("half way\n"));
        let key = key_of(&temporary);
        Step::Exchange(ContentChange { old, new, key })
    });
    record.prepared(&steps, true).unwrap();
    let aside = root.join(subjects[0].id.name());
    fs::rename(root.join("a"), root.join("kept")).unwrap();
    fs::rename(&aside, root.join("a")).unwrap();
    fs::rename(root.join("kept"), &aside).unwrap();
    let gives_up = Cell::new(0);
    let later = || {
        gives_up.set(gives_up.get() + 1);
        gives_up.get() > 20
    };
    // The record's owner lives, so the read waits until the test cancels it.
    assert!(read(&later).unwrap_err().contains("Cancelled"));
    std::mem::forget(record);
    cut_off(server, &one.cluster);
    assert_eq!(read(&|| false).unwrap(), "old a\n");
    let names: Vec<String> = tree(&root).into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| !name.contains(".mte-")), "{names:?}");
}

#[test]
fn a_file_that_another_machine_edits_all_the_time_is_read() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let [one, two] = [(); 2].map(|()| machine(&url, &root));
    let path = root.join("a").to_str().unwrap().to_owned();
    let mut edits_left = 30;
    let shown = one.read_with(ReadFile::new(&path), Control::default(), |document| {
        let text = read_range(document, 0..document.size())?;
        if edits_left > 0 {
            edits_left -= 1;
            let patches = [Patch::text("old", "an old")];
            two.apply(&[FileEdit::new(&path, Change::Patch(&patches))], Control::default()).unwrap();
        }
        Ok(text)
    });
    assert_eq!((edits_left, shown.unwrap()), (0, fs::read(root.join("a")).unwrap()));
}

#[test]
fn the_files_of_a_call_are_waited_for_once() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let (one, two) = (machine(&url, &root), machine(&url, &root));
    let asked = Cell::new(0);
    let pause = || {
        // The record's owner lives, but is paused.
        if has_prepared(&two) {
            asked.set(asked.get() + 1);
            // A waiting call checks for cancellation before each pause.
            let pauses = ["a", "b", "c"].map(|name| {
                let (path, pauses) = (root.join(name), Cell::new(0));
                let count = || {
                    pauses.set(pauses.get() + 1);
                    false
                };
                let control = Control::default().cancelled_by(&count);
                let read =
                    two.read(ReadFile::new(path.to_str().unwrap()), None, Budget::bytes(1000), control);
                assert!(format!("{:?}", read.unwrap_err()).contains("Busy"), "{name}");
                pauses.get()
            });
            assert!(pauses[1] * 10 < pauses[0] && pauses[2] * 10 < pauses[0], "{pauses:?}");
        }
        asked.get() > 0
    };
    call(&one, &root, "edits", Control::default().cancelled_by(&pause)).unwrap_err();
    assert_eq!(asked.get(), 1);
    let path = root.join("a");
    two.read(ReadFile::new(path.to_str().unwrap()), None, Budget::bytes(1000), Control::default()).unwrap();
}

#[test]
fn each_file_that_is_not_there_is_told() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let one = machine(&url, &root);
    fs::remove_file(root.join("a")).unwrap();
    fs::remove_file(root.join("b")).unwrap();
    let told = call(&one, &root, "edits", Control::default()).unwrap_err();
    assert_eq!(told, [StoreErrorKind::NotFound, StoreErrorKind::NotFound]);
    let path = root.join("a");
    let read = one.read_with(ReadFile::new(path.to_str().unwrap()), Control::default(), |_| Ok(()));
    assert_eq!(kind_of(read.unwrap_err().problems.remove(0)), StoreErrorKind::NotFound);
}

#[test]
fn a_file_that_is_half_way_is_shown_by_none_of_its_names() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    fs::hard_link(root.join("a"), root.join("other")).unwrap();
    let (one, two) = (machine(&url, &root), machine(&url, &root));
    let read = || {
        let path = root.join("other");
        let view =
            two.read(ReadFile::new(path.to_str().unwrap()), None, Budget::bytes(1000), Control::default());
        view.unwrap().shown.content
    };
    let subject = Subject {
        path: root.join("a"),
        id: TemporaryId::draw(),
        intent: Intent::Edit { key: key_of(&root.join("a")) },
    };
    let temporary = root.join(subject.id.name());
    let mut record = one.cluster.begin(std::slice::from_ref(&subject)).unwrap();
    fs::write(&temporary, "new a\n").unwrap();
    fs::write(root.join(subject.id.name_of_old()), "old a\n").unwrap();
    let digest = |text: &str| Digest::of(text.as_bytes());
    let key = key_of(&temporary);
    let change = ContentChange { old: digest("old a\n"), new: digest("new a\n"), key };
    record.prepared(&[Step::Overwrite(change)], true).unwrap();
    record.committed(true).unwrap();
    // Two bytes of the new content are written over the old.
    fs::write(root.join("a"), "ned a\n").unwrap();
    std::mem::forget(record);
    cut_off(server, &one.cluster);
    two.cluster.all().unwrap();
    assert_eq!(read(), "new a\n");
    assert_eq!(two.cluster.all().unwrap().len(), 0);
}

fn key_of(path: &Path) -> FileKey {
    FileKey { inode: fs::metadata(path).unwrap().ino(), born: None }
}

/// Makes a machine begin to remove two files, and die after the first is renamed away. Returns the tree as it
/// was before.
fn die_half_way(server: &TestServer, url: &StateUrl, root: &Path, names: [&str; 2]) -> Vec<(String, String)> {
    let before = tree(root);
    let one = machine(url, root);
    let subject =
        |name: &str| Subject { path: root.join(name), id: TemporaryId::draw(), intent: Intent::Remove };
    let subjects = names.map(subject);
    let mut record = one.cluster.begin(&subjects).unwrap();
    let steps = names.map(|name| {
        let old = Digest::of(format!("old {name}\n").as_bytes());
        Step::Remove { old, key: key_of(&root.join(name)), directories: Vec::new() }
    });
    record.prepared(&steps, true).unwrap();
    fs::rename(root.join(names[0]), root.join(subjects[0].id.name())).unwrap();
    std::mem::forget(record);
    cut_off(server, &one.cluster);
    before
}

#[test]
fn a_read_says_why_what_was_left_half_way_cannot_be_ended() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, _) = shared_tree(server);
    let url = server.url_with("schema=takes_nothing_over").parse().unwrap();
    let read = |machine: &Machine, name: &str| {
        // This waits for the database, since a read does not.
        machine.cluster.all().unwrap();
        let path = root.join(name);
        let file = ReadFile::new(path.to_str().unwrap());
        let read = machine.read_with(file, Control::default(), |_| Ok(()));
        read.map_err(|mut error| match error.problems.remove(0) {
            Reason::Store(error) => (error.operation, error.kind),
            other => panic!("{other:?}"),
        })
    };
    let two = machine(&url, &root);
    let before = die_half_way(server, &url, &root, ["gone", "a"]);
    server.refuse(("takes_nothing_over", "records"), "update", 1, "P0001");
    assert_eq!(read(&two, "a"), Err((Operation::Recover, StoreErrorKind::Io)));
    assert_ne!(tree(&root), before);
    assert_eq!((read(&two, "a"), tree(&root)), (Ok(()), before));
    // The other file is in none of this machine's roots.
    let narrow = machine(&url, &root.join("was"));
    let before = die_half_way(server, &url, &root, ["a", "was/moved"]);
    let paths = vec![root.join("was/moved")];
    let kind = StoreErrorKind::Unfinished { paths, others: 1, is_of_later_form: false };
    assert_eq!(read(&narrow, "was/moved"), Err((Operation::Recover, kind)));
    assert_eq!((read(&two, "was/moved"), tree(&root)), (Ok(()), before));
    // Now a later version has written the record.
    die_half_way(server, &url, &root, ["gone", "a"]);
    let later = "update records set contents = E'mcp-text-editor journal 99\\n'";
    server.sql(&format!("set search_path = takes_nothing_over; {later}"));
    let kind = StoreErrorKind::Unfinished { paths: Vec::new(), others: 0, is_of_later_form: true };
    assert_eq!(read(&two, "a"), Err((Operation::Recover, kind)));
}

#[test]
fn before_a_search_what_is_abandoned_is_ended() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let before = die_half_way(server, &url, &root, ["gone", "a"]);
    assert_eq!(try_to_recover(&machine(&url, &root)), 1);
    assert_eq!(tree(&root), before);
}

#[test]
fn what_is_abandoned_is_ended_though_nobody_asks_for_its_files() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let before = die_half_way(server, &url, &root, ["gone", "a"]);
    let two = machine(&url, &root);
    two.cluster.all().unwrap();
    let began = Instant::now();
    two.workspace.recover_in_background().unwrap();
    while tree(&root) != before {
        std::thread::sleep(Duration::from_millis(20));
    }
    // Only the second poll recovers it, because a process that only lost its session has time until then.
    assert!(began.elapsed() >= Duration::from_secs(10));
}

/// Such a call has changed no file, so no read and no search ends it.
#[test]
fn what_was_only_begun_is_ended_though_nobody_asks_for_its_files() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let before = tree(&root);
    let one = machine(&url, &root);
    let subject = Subject {
        path: root.join("a"),
        id: TemporaryId::draw(),
        intent: Intent::Edit { key: key_of(&root.join("a")) },
    };
    let record = one.cluster.begin(std::slice::from_ref(&subject)).unwrap();
    fs::write(root.join(subject.id.name()), "new").unwrap();
    std::mem::forget(record);
    cut_off(server, &one.cluster);
    let (two, three) = (machine(&url, &root), machine(&url, &root));
    let other = Subject { path: root.join("b"), ..subject };
    let under_way = three.cluster.begin(&[other]).unwrap();
    // The file is in none of this machine's roots.
    let narrow = machine(&url, &root.join("was"));
    let has_begun = tree(&root);
    for machine in [&narrow, &two] {
        machine.cluster.all().unwrap();
        machine.workspace.recover_in_background().unwrap();
        if machine.roots().eq(narrow.roots()) {
            std::thread::sleep(Duration::from_secs(11));
            assert_eq!(tree(&root), has_begun);
        }
    }
    while tree(&root) != before {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = two.cluster.all().unwrap();
    assert!(matches!(&left[..], [left] if !left.is_abandoned()), "{left:?}");
    drop(under_way);
}

/// The machines serve the same directory, mounted at different paths.
#[test]
#[cfg(target_os = "linux")]
fn a_record_names_files_as_every_machine_finds_them() {
    use mounted::Mounted;

    let Some(server) = TestServer::shared() else { return };
    let directory = tempfile::tempdir().unwrap();
    let top = real_path(directory.path());
    let (here, there) = (top.join("here"), top.join("there"));
    for path in [&here, &there] {
        fs::create_dir(path).unwrap();
    }
    make(&here);
    let Some(_mounted) = Mounted::bind(&here, &there) else { return };
    let url = server.url().parse().unwrap();
    let machine = |root: &Path| {
        Machine::new(cluster(&url, &[("work", root.to_str().unwrap())]), Workspace::builder().root(root))
    };
    let before = tree(&here);
    let (one, two) = (machine(&here), machine(&there));
    let is_done = Cell::new(false);
    let pause = || {
        if !is_done.get() && has_prepared(&two) {
            is_done.set(true);
            cut_off(server, &one.cluster);
            try_to_recover(&two);
        }
        false
    };
    let done = call(&one, &here, "all", Control::default().cancelled_by(&pause));
    let taken_over = (is_done.get(), done.is_err());
    two.recover();
    let after = tree(&there);
    let left = two.cluster.all().unwrap().len();
    let again = call(&two, &there, "all", Control::default());
    assert_eq!(taken_over, (true, true));
    assert_eq!(after, before);
    assert_eq!(left, 0);
    again.unwrap();
}

#[test]
fn without_the_database_edits_are_refused_and_reads_go_on() {
    let Some(mut server) = TestServer::start(&[]) else { return };
    let (_directory, root, url) = shared_tree(&server);
    let before = tree(&root);
    // The state directory must not be used for files of a call: another machine, which may recover the call,
    // could not reach them.
    let state = tempfile::tempdir().unwrap();
    let builder = Workspace::builder().root(&root).state_directory(state.path());
    let one = Machine::new(cluster(&url, &[]), builder);
    call(&one, &root, "create", Control::default()).unwrap();
    fs::remove_dir_all(root.join("made")).unwrap();
    server.stop();
    let path = root.join("a");
    let read =
        || one.read(ReadFile::new(path.to_str().unwrap()), None, Budget::bytes(1000), Control::default());
    read().unwrap();
    // Each call waits for the database until its timeout, so they run concurrently.
    std::thread::scope(|scope| {
        for kind in CALLS {
            let (one, root) = (&one, &root);
            scope.spawn(move || {
                let refused = call(one, root, kind, Control::default()).unwrap_err();
                assert_eq!(refused, [StoreErrorKind::Io], "{kind}");
            });
        }
    });
    assert_eq!(tree(&root), before);
    read().unwrap();
    assert!(
        one.why_edits_wait().unwrap().contains("the database cannot be reached"),
        "{:?}",
        one.why_edits_wait()
    );
    let optional = one.going_on(&root);
    call(&optional, &root, "create", Control::default()).unwrap();
    server.go_on();
    call(&one, &root, "edits", Control::default()).unwrap();
    assert_eq!((one.why_edits_wait(), optional.why_edits_wait()), (None, None));
}

#[test]
fn a_read_of_a_file_that_keeps_changing_ends_when_it_is_cancelled() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let one = machine(&url, &root);
    let path = root.join("a");
    let is_cancelled = Cell::new(false);
    let asked = || is_cancelled.get();
    let read =
        one.read_with(ReadFile::new(path.to_str().unwrap()), Control::default().cancelled_by(&asked), |_| {
            fs::write(&path, "another program's\n")?;
            is_cancelled.set(true);
            Ok(())
        });
    let kinds: Vec<_> = read.unwrap_err().problems.into_iter().map(kind_of).collect();
    assert_eq!(kinds, [StoreErrorKind::Cancelled]);
}

/// A pattern is relative to each root that contains the file, not only to the one that is used.
#[test]
fn what_the_history_leaves_out_is_not_in_the_database_either() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let inner = root.join("inner");
    fs::create_dir(&inner).unwrap();
    let excluded = Patterns::new(&["inner/secret".to_owned()]).unwrap();
    let builder = Workspace::builder().root(&root).root(&inner);
    let builder = builder.history(HistorySettings { excluded, ..HistorySettings::default() });
    let workspace = Machine::new(cluster(&url, &[]), builder);
    for (name, is_kept) in [("secret", false), ("other", true)] {
        let path = inner.join(name);
        let edit = FileEdit::new(path.to_str().unwrap(), Change::Create("text\n"));
        let done = workspace.apply(&[edit], Control::default()).unwrap();
        assert_eq!(done.edit_id.is_some(), is_kept, "{name}");
        let warns = done.files[0].warnings.contains(&Warning::NotInHistory(NotKept::Secret));
        assert_eq!(warns, !is_kept, "{name}");
    }
    let kept = workspace.edits(None, 10).unwrap();
    assert_eq!(kept.iter().map(|edit| edit.files.len()).collect::<Vec<_>>(), [1]);
}

#[test]
fn what_the_database_does_not_record_is_not_done() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, _) = shared_tree(server);
    let one = machine(&server.url_with("schema=records_nothing").parse().unwrap(), &root);
    let before = tree(&root);
    one.cluster.all().unwrap();
    server.refuse(("records_nothing", "records"), "insert", 1, "P0001");
    assert_eq!(call(&one, &root, "edits", Control::default()), Err(vec![StoreErrorKind::Io]));
    assert_eq!(tree(&root), before);
    call(&one, &root, "edits", Control::default()).unwrap();
}

/// This holds even if edits may be made without a record: the other machine would not know of such an edit.
#[test]
fn a_file_that_another_machine_names_first_is_waited_for() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let (one, two) = (machine(&url, &root), machine(&url, &root));
    let optional = one.going_on(&root);
    optional.cluster.all().unwrap();
    let (asked, record) = (Cell::new(0), Cell::new(None));
    let pause = || {
        asked.set(asked.get() + 1);
        if asked.get() == 1 {
            // At this time, the file is locked and read.
            let subject = Subject { path: root.join("a"), id: TemporaryId::draw(), intent: Intent::Remove };
            record.set(Some(two.cluster.begin(&[subject]).unwrap()));
        }
        if asked.get() == 20 {
            drop(record.take());
        }
        false
    };
    call(&optional, &root, "edit", Control::default().cancelled_by(&pause)).unwrap();
    assert!(asked.get() > 20);
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "new a\n");
}

#[test]
#[cfg(target_os = "linux")]
fn no_file_is_at_hand_where_each_read_asks_the_database() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let alone = Workspace::builder().root(&root).build().unwrap();
    let (shared, path) = (machine(&url, &root), root.join("a"));
    let file = ReadFile::new(path.to_str().unwrap());
    // A file that has just changed is not cached.
    std::thread::sleep(Duration::from_millis(60));
    for workspace in [&alone, &*shared] {
        workspace.read_with(file, Control::default(), |_| Ok(())).unwrap();
    }
    if !alone.is_at_hand(file) {
        return eprintln!("skipped: the temporary directory is not on a file system of this machine");
    }
    assert!(!shared.is_at_hand(file));
}

/// Another program, which does not use the database, replaces the file before the database answers.
#[test]
fn a_file_that_changed_after_it_was_read_is_read_again() {
    static REPLACED: Mutex<Option<PathBuf>> = Mutex::new(None);
    fn replace(_: Duration) {
        if let Some(path) = REPLACED.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let new = path.with_file_name("new");
            fs::write(&new, "new\n").unwrap();
            fs::rename(&new, &path).unwrap();
        }
    }
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let observer = Observer { database_waited: replace, ..Observer::default() };
    let cluster = Cluster::new(url, WithoutDatabase::Refuse, names(&[]), observer).unwrap();
    let (one, path) = (Machine::new(cluster, Workspace::builder().root(&root)), root.join("a"));
    one.cluster.all().unwrap();
    let mut shown = Vec::new();
    let read = one.read_with(ReadFile::new(path.to_str().unwrap()), Control::default(), |document| {
        if shown.is_empty() {
            *REPLACED.lock().unwrap() = Some(path.clone());
        }
        shown.push(read_range(document, 0..document.size())?);
        Ok(())
    });
    read.unwrap();
    assert_eq!(shown, [&b"old a\n"[..], b"new\n"]);
}

/// The edit is of three files: `a` and `b` by exchange, and `c` in place. Its steps are numbered.
#[test]
fn whenever_a_machine_dies_all_files_are_old_or_all_are_new() {
    let Some(server) = TestServer::shared() else { return };
    let (old, new) = (|name: &str| format!("old {name}\n"), "new, and longer than the old\n");
    let digest = |text: &str| Digest::of(text.as_bytes());
    for last in 0..=10 {
        let (_directory, root, url) = shared_tree(server);
        let before = tree(&root);
        let (one, two) = (machine(&url, &root), machine(&url, &root));
        let names = ["a", "b", "c"];
        let subjects = names.map(|name| Subject {
            path: root.join(name),
            id: TemporaryId::draw(),
            intent: Intent::Edit { key: key_of(&root.join(name)) },
        });
        let temporaries = subjects.each_ref().map(|subject| root.join(subject.id.name()));
        let copy = root.join(subjects[2].id.name_of_old());
        let exchange = |at: usize| {
            fs::rename(root.join(names[at]), root.join("aside")).unwrap();
            fs::rename(&temporaries[at], root.join(names[at])).unwrap();
            fs::rename(root.join("aside"), &temporaries[at]).unwrap();
        };
        let mut record = one.cluster.begin(&subjects).unwrap();
        for step in 1..=last {
            match step {
                1 => fs::write(&temporaries[0], new).unwrap(),
                2 => {
                    temporaries[1..].iter().for_each(|path| fs::write(path, new).unwrap());
                    fs::write(&copy, old("c")).unwrap();
                }
                3 => {
                    let change = |at: usize| ContentChange {
                        old: digest(&old(names[at])),
                        new: digest(new),
                        key: key_of(&temporaries[at]),
                    };
                    let [a, b, c] = [change(0), change(1), change(2)];
                    record
                        .prepared(&[Step::Exchange(a), Step::Exchange(b), Step::Overwrite(c)], true)
                        .unwrap();
                }
                4 | 5 => exchange(step - 4),
                6 => record.committed(true).unwrap(),
                7 => fs::write(root.join("c"), "ned c\n").unwrap(),
                8 => fs::write(root.join("c"), new).unwrap(),
                9 => fs::remove_file(&temporaries[0]).unwrap(),
                _ => [&temporaries[1], &temporaries[2], &copy]
                    .into_iter()
                    .for_each(|path| fs::remove_file(path).unwrap()),
            }
        }
        record.keep();
        two.recover();
        let after = tree(&root);
        let expected: Vec<_> = before
            .into_iter()
            .map(
                |(name, text)| {
                    if last >= 6 && names.contains(&&*name) { (name, new.to_owned()) } else { (name, text) }
                },
            )
            .collect();
        assert_eq!(after, expected, "{last}");
        assert!(two.cluster.all().unwrap().is_empty(), "{last}");
    }
}
