//! Two machines on one tree, with a database between them. Each is a workspace with a session of its own. A
//! machine pauses where the call asks whether it is cancelled. It asks for the last time after all is
//! prepared, and before the first name changes.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mcp_text_editor_core::resolve::Patch;
use mcp_text_editor_core::show::Budget;
use mcp_text_editor_core::source::{Source as _, read_range};

use crate::access::roots::Roots;
use crate::cancellation::Cancellation;
use crate::door::{Change, Control, FileEdit, ReadFile};
use crate::edit::Reason;
use crate::error::{Operation, StoreErrorKind};
use crate::journal::SharedJournal;
use crate::lock::{Backoff, LockTimeout};
use crate::observer::Observer;
use crate::os::identity::FileKey;
use crate::postgres::database::{BOUND, Database};
use crate::postgres::fixture::TestServer;
use crate::postgres::session::SessionSettings;
use crate::postgres::url::StateUrl;
use crate::recovery::background::{Background, begin};
use crate::recovery::{recover, settle};
use crate::workspace::Workspace;

/// Returns a machine that serves this directory.
pub(crate) fn machine(url: &StateUrl, root: &Path) -> (Workspace, Database) {
    let database = Database::new(SessionSettings::new(url.clone()).unwrap().into(), Observer::default());
    let roots = Roots::open(&[root.to_owned()]).unwrap();
    let shared = Some(SharedJournal::new(database.clone(), Observer::default(), Arc::default(), false));
    (Workspace { shared, ..Workspace::without_state(roots) }, database)
}

/// Ends the session of a machine, as the server does when it hears nothing from it any more.
fn cut_off(server: &TestServer, database: &Database) {
    let session = database.session(BOUND).unwrap();
    let low = session.key & 0xffff_ffff;
    let held = format!("select pid from pg_locks where locktype = 'advisory' and objid = {low}");
    server.sql(&format!("select pg_terminate_backend(({held}))"));
    // The server reports the end before it releases the lock.
    while !server.sql(&held).is_empty() {}
    while database.query(&session, "select", Vec::new()).is_ok() {}
}

fn has_prepared(workspace: &Workspace) -> bool {
    let all = workspace.shared_journal().unwrap().all().unwrap();
    all.iter().any(|record| record.contents().steps.is_some())
}

/// Makes a machine finish abandoned calls, as far as no lock on a file is in the way.
fn try_to_recover(workspace: &Workspace, root: &Path) {
    let unused = root.join("unused");
    let place = workspace.roots.resolve_for_writing(unused.to_str().unwrap()).unwrap();
    let wait = LockTimeout { limit: Duration::from_millis(20), ..LockTimeout::default() };
    settle(workspace, &place, &mut Backoff::new(&wait)).ok();
}

/// Returns the files below a directory, with their contents.
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
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Returns a directory with the files of [`make`], its path, and a database for the machines that serve it.
pub(crate) fn shared_tree(server: &TestServer) -> (tempfile::TempDir, PathBuf, StateUrl) {
    let directory = tempfile::tempdir().unwrap();
    let root = crate::tests::world::real(directory.path());
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

/// Calls of all kinds.
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
    let digest = mcp_text_editor_core::digest::Digest::of(b"old gone\n").to_string();
    let hash = mcp_text_editor_core::digest::DigestPrefix::parse(&digest).unwrap();
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
        let ((one, of_one), (two, _)) = (machine(&url, &root), machine(&url, &root));
        let is_done = Cell::new(false);
        // The machine still holds its locks on files, like a process that is stopped.
        let pause = || {
            if !is_done.get() && has_prepared(&two) {
                is_done.set(true);
                cut_off(server, &of_one);
                try_to_recover(&two, &root);
            }
            false
        };
        let done = call(&one, &root, kind, Control::default().cancelled_by(&pause));
        assert!(is_done.get(), "{kind}");
        assert!(done.is_err(), "{kind}: it has been taken over");
        recover(&two);
        assert_eq!(tree(&root), before, "{kind}");
        assert!(!root.join("made").exists() && !root.join("to").exists(), "{kind}");
        assert!(two.shared_journal().unwrap().all().unwrap().is_empty(), "{kind}");
        // Now the same call can be made again.
        call(&two, &root, kind, Control::default()).unwrap();
        assert!(tree(&root).iter().all(|(name, _)| !name.contains(".mte-")), "{kind}");
    }
}

#[test]
fn who_was_cut_off_for_a_moment_goes_on() {
    let Some(server) = TestServer::shared() else { return };
    for kind in CALLS {
        let (_directory, root, url) = shared_tree(server);
        let ((one, of_one), (two, _)) = (machine(&url, &root), machine(&url, &root));
        let is_done = Cell::new(false);
        let pause = || {
            if !is_done.get() && has_prepared(&two) {
                is_done.set(true);
                cut_off(server, &of_one);
            }
            false
        };
        call(&one, &root, kind, Control::default().cancelled_by(&pause)).unwrap();
        assert!(is_done.get() && two.shared_journal().unwrap().all().unwrap().is_empty(), "{kind}");
        assert!(tree(&root).iter().all(|(name, _)| !name.contains(".mte-")), "{kind}");
    }
}

#[test]
fn a_read_shows_no_file_that_another_machine_has_left_half_way() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let ((one, of_one), (two, _)) = (machine(&url, &root), machine(&url, &root));
    let read = |cancellation: Cancellation<'_>| {
        let path = root.join("a");
        let control = Control { cancellation, ..Control::default() };
        let view = two.read(ReadFile::new(path.to_str().unwrap()), None, Budget::bytes(1000), control);
        view.map(|view| view.shown.content).map_err(|error| format!("{error:?}"))
    };
    // The first of two files is exchanged, and then the machine is gone.
    let subjects = ["a", "b"].map(|name| {
        let intent = crate::journal::Intent::Edit { key: key_of(&root.join(name)) };
        let id = crate::stage::temporary::TemporaryId::draw();
        crate::journal::Subject { path: root.join(name), id, intent }
    });
    let mut record = one.journal().unwrap().begin(&subjects).unwrap();
    assert_eq!(read(Cancellation::none()).unwrap(), "old a\n", "nothing is changed before it is prepared");
    let digest = |text: &str| mcp_text_editor_core::digest::Digest::of(text.as_bytes());
    let steps = [0, 1].map(|index| {
        let temporary = root.join(subjects[index].id.name());
        fs::write(&temporary, "half way\n").unwrap();
        let (old, new) = (digest(["old a\n", "old b\n"][index]), digest("half way\n"));
        let key = key_of(&temporary);
        crate::journal::Step::Exchange(crate::journal::ContentChange { old, new, key })
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
    // The record's owner lives: the read waits until it is cancelled here.
    assert!(read(Cancellation::when(&later)).unwrap_err().contains("Cancelled"));
    std::mem::forget(record);
    cut_off(server, &of_one);
    assert_eq!(read(Cancellation::none()).unwrap(), "old a\n");
    let names: Vec<String> = tree(&root).into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| !name.contains(".mte-")), "{names:?}");
}

#[test]
fn a_file_that_another_machine_edits_all_the_time_is_read() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let [(one, _), (two, _)] = [(); 2].map(|()| machine(&url, &root));
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
    let ((one, _), (two, _)) = (machine(&url, &root), machine(&url, &root));
    let asked = Cell::new(0);
    let pause = || {
        // The record's owner lives, but is stopped.
        if has_prepared(&two) {
            asked.set(asked.get() + 1);
            // A waiting call asks before each pause whether it is still wanted.
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
    let (one, _) = machine(&url, &root);
    fs::remove_file(root.join("a")).unwrap();
    fs::remove_file(root.join("b")).unwrap();
    let told = call(&one, &root, "edits", Control::default()).unwrap_err();
    assert_eq!(told, [StoreErrorKind::NotFound, StoreErrorKind::NotFound]);
    let path = root.join("a");
    let read = one.read_with(ReadFile::new(path.to_str().unwrap()), Control::default(), |_| Ok(()));
    assert_eq!(kind_of(read.unwrap_err().problems.remove(0)), StoreErrorKind::NotFound);
}

#[test]
#[cfg(unix)]
fn a_file_that_is_half_way_is_shown_by_none_of_its_names() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    fs::hard_link(root.join("a"), root.join("other")).unwrap();
    let ((one, of_one), (two, _)) = (machine(&url, &root), machine(&url, &root));
    let read = || {
        let path = root.join("other");
        let view =
            two.read(ReadFile::new(path.to_str().unwrap()), None, Budget::bytes(1000), Control::default());
        view.unwrap().shown.content
    };
    let subject = crate::journal::Subject {
        path: root.join("a"),
        id: crate::stage::temporary::TemporaryId::draw(),
        intent: crate::journal::Intent::Edit { key: key_of(&root.join("a")) },
    };
    let temporary = root.join(subject.id.name());
    let mut record = one.journal().unwrap().begin(std::slice::from_ref(&subject)).unwrap();
    fs::write(&temporary, "new a\n").unwrap();
    fs::write(root.join(subject.id.name_of_old()), "old a\n").unwrap();
    let digest = |text: &str| mcp_text_editor_core::digest::Digest::of(text.as_bytes());
    let key = key_of(&temporary);
    let change = crate::journal::ContentChange { old: digest("old a\n"), new: digest("new a\n"), key };
    record.prepared(&[crate::journal::Step::Overwrite(change)], true).unwrap();
    record.committed(true).unwrap();
    // Two bytes of the new content are written over the old.
    fs::write(root.join("a"), "ned a\n").unwrap();
    std::mem::forget(record);
    cut_off(server, &of_one);
    two.shared_journal().unwrap().all().unwrap();
    assert_eq!(read(), "new a\n");
    assert_eq!(two.shared_journal().unwrap().all().unwrap().len(), 0);
}

fn key_of(path: &Path) -> FileKey {
    crate::os::identity_of(&fs::File::open(path).unwrap()).unwrap().file_key()
}

/// Makes a machine begin to remove two files, and die when the first one is away. Returns the tree from
/// before.
fn die_half_way(server: &TestServer, url: &StateUrl, root: &Path, names: [&str; 2]) -> Vec<(String, String)> {
    let before = tree(root);
    let (one, of_one) = machine(url, root);
    let subject = |name: &str| crate::journal::Subject {
        path: root.join(name),
        id: crate::stage::temporary::TemporaryId::draw(),
        intent: crate::journal::Intent::Remove,
    };
    let subjects = names.map(subject);
    let mut record = one.journal().unwrap().begin(&subjects).unwrap();
    let steps = names.map(|name| {
        let old = mcp_text_editor_core::digest::Digest::of(format!("old {name}\n").as_bytes());
        crate::journal::Step::Remove { old, key: key_of(&root.join(name)), directories: Vec::new() }
    });
    record.prepared(&steps, true).unwrap();
    fs::rename(root.join(names[0]), root.join(subjects[0].id.name())).unwrap();
    std::mem::forget(record);
    cut_off(server, &of_one);
    before
}

#[test]
fn a_read_says_why_what_was_left_half_way_cannot_be_ended() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, _) = shared_tree(server);
    let url = server.url_with("schema=takes_nothing_over").parse().unwrap();
    let read = |workspace: &Workspace, name: &str| {
        // A read does not wait for the database.
        workspace.shared_journal().unwrap().all().unwrap();
        let path = root.join(name);
        let file = ReadFile::new(path.to_str().unwrap());
        let read = workspace.read_with(file, Control::default(), |_| Ok(()));
        read.map_err(|mut error| match error.problems.remove(0) {
            Reason::Store(error) => (error.operation, error.kind),
            other => panic!("{other:?}"),
        })
    };
    let (two, _) = machine(&url, &root);
    let before = die_half_way(server, &url, &root, ["gone", "a"]);
    server.refuse(("takes_nothing_over", "records"), "update", 1, "P0001");
    assert_eq!(read(&two, "a"), Err((Operation::Recover, StoreErrorKind::Io)));
    assert_ne!(tree(&root), before);
    assert_eq!((read(&two, "a"), tree(&root)), (Ok(()), before));
    // The other file lies in none of this machine's roots.
    let (narrow, _) = machine(&url, &root.join("was"));
    let before = die_half_way(server, &url, &root, ["a", "was/moved"]);
    let paths = vec![root.join("was/moved")];
    let kind = StoreErrorKind::Unfinished { paths, others: 1, is_of_later_form: false };
    assert_eq!(read(&narrow, "was/moved"), Err((Operation::Recover, kind)));
    assert_eq!((read(&two, "was/moved"), tree(&root)), (Ok(()), before));
    // A later version has written it.
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
    recover_by_search(&machine(&url, &root).0);
    assert_eq!(tree(&root), before);
}

#[test]
fn what_is_abandoned_is_ended_though_nobody_asks_for_its_files() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let before = die_half_way(server, &url, &root, ["gone", "a"]);
    let (two, _) = machine(&url, &root);
    two.shared_journal().unwrap().all().unwrap();
    let mut background = Background::default();
    // A process that only lost its session gets time until the second look.
    background.poll(&two);
    assert_ne!(tree(&root), before);
    background.poll(&two);
    assert_eq!(tree(&root), before);
    background.poll(&two);

    let before = die_half_way(server, &url, &root, ["gone", "a"]);
    let two = Arc::new(two);
    begin(Arc::downgrade(&two), Duration::from_millis(20)).unwrap();
    while tree(&root) != before {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Such a call leaves no sign in a file, so no read and no search meets it.
#[test]
fn what_was_only_begun_is_ended_though_nobody_asks_for_its_files() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let before = tree(&root);
    let (one, of_one) = machine(&url, &root);
    let subject = crate::journal::Subject {
        path: root.join("a"),
        id: crate::stage::temporary::TemporaryId::draw(),
        intent: crate::journal::Intent::Edit { key: key_of(&root.join("a")) },
    };
    let record = one.journal().unwrap().begin(std::slice::from_ref(&subject)).unwrap();
    fs::write(root.join(subject.id.name()), "new").unwrap();
    std::mem::forget(record);
    cut_off(server, &of_one);
    let ((two, _), (three, _)) = (machine(&url, &root), machine(&url, &root));
    let other = crate::journal::Subject { path: root.join("b"), ..subject };
    let under_way = three.journal().unwrap().begin(&[other]).unwrap();
    // The file lies in none of this machine's roots.
    let (narrow, _) = machine(&url, &root.join("was"));
    narrow.shared_journal().unwrap().all().unwrap();
    let mut background = Background::default();
    background.poll(&narrow);
    background.poll(&narrow);
    two.shared_journal().unwrap().all().unwrap();
    let mut background = Background::default();
    background.poll(&two);
    assert_ne!(tree(&root), before);
    background.poll(&two);
    assert_eq!(tree(&root), before);
    let left = two.shared_journal().unwrap().all().unwrap();
    assert!(matches!(&left[..], [left] if !left.is_abandoned()), "{left:?}");
    drop(under_way);
}

/// Looks for the word `gone`, which must be found.
fn recover_by_search(workspace: &Workspace) {
    let mut found = Vec::new();
    let mut sink = |file: crate::search::FileMatches| {
        found.push(file.file_path);
        std::ops::ControlFlow::Continue(())
    };
    workspace.shared_journal().unwrap().all().unwrap();
    workspace.search(&crate::search::Search::new("gone"), &mut sink, Control::default()).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
}

/// The machines have the same directory, mounted at different paths.
#[test]
#[cfg(target_os = "linux")]
fn a_record_names_files_as_every_machine_finds_them() {
    use crate::root_names::{RootName, RootNames};
    use crate::tests::mounted::Mounted;

    let Some(server) = TestServer::shared() else { return };
    let directory = tempfile::tempdir().unwrap();
    let top = crate::tests::world::real(directory.path());
    let (here, there) = (top.join("here"), top.join("there"));
    for path in [&here, &there] {
        fs::create_dir(path).unwrap();
    }
    make(&here);
    let Some(_mounted) = Mounted::bind(&here, &there) else { return };
    let url = server.url().parse().unwrap();
    let machine = |root: &Path| {
        let (workspace, database) = machine(&url, root);
        let roots = Arc::new(RootNames::new(vec![(RootName::given("work").unwrap(), root.to_owned())]));
        let shared = Some(SharedJournal::new(database.clone(), Observer::default(), roots, false));
        (Workspace { shared, ..workspace }, database)
    };
    let before = tree(&here);
    let ((one, of_one), (two, _)) = (machine(&here), machine(&there));
    let is_done = Cell::new(false);
    let pause = || {
        if !is_done.get() && has_prepared(&two) {
            is_done.set(true);
            cut_off(server, &of_one);
            try_to_recover(&two, &there);
        }
        false
    };
    let done = call(&one, &here, "all", Control::default().cancelled_by(&pause));
    let taken_over = (is_done.get(), done.is_err());
    recover(&two);
    let after = tree(&there);
    let left = two.shared_journal().unwrap().all().unwrap().len();
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
    let (one, database) = machine(&url, &root);
    call(&one, &root, "create", Control::default()).unwrap();
    fs::remove_dir_all(root.join("made")).unwrap();
    server.stop();
    let path = root.join("a");
    let read =
        || one.read(ReadFile::new(path.to_str().unwrap()), None, Budget::bytes(1000), Control::default());
    read().unwrap();
    // Each waits for the database until its patience is over.
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
    let shared = Some(SharedJournal::new(database, Observer::default(), Arc::default(), true));
    let optional =
        Workspace { shared, ..Workspace::without_state(Roots::open(std::slice::from_ref(&root)).unwrap()) };
    call(&optional, &root, "create", Control::default()).unwrap();
    server.go_on();
    call(&one, &root, "edits", Control::default()).unwrap();
    assert_eq!((one.why_edits_wait(), optional.why_edits_wait()), (None, None));
}

#[test]
fn a_read_of_a_file_that_keeps_changing_ends_when_it_is_cancelled() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let (one, _) = machine(&url, &root);
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

/// Another machine, which may recover a call, could not reach what is in this machine's directory.
#[test]
fn with_a_shared_journal_the_state_directory_is_not_used() {
    let mut world = crate::tests::world::World::new();
    let workspace = &world.workspace;
    assert!(workspace.content_dir().is_some() && workspace.shared_journal().is_none());
    let journal = |workspace: &Workspace| format!("{:?}", workspace.journal());
    assert!(journal(workspace).starts_with("Some(StateDir"), "{}", journal(workspace));
    let url = "postgres://me@127.0.0.1:9/edits?sslmode=disable".parse().unwrap();
    let (other, _) = machine(&url, &world.path("@/root"));
    world.workspace.shared = other.shared;
    let workspace = &world.workspace;
    assert!(workspace.content_dir().is_none() && workspace.shared_journal().is_some());
    assert!(journal(workspace).starts_with("Some(SharedJournal"), "{}", journal(workspace));
    assert!(Workspace::without_state(Roots::open(&[world.path("@/root")]).unwrap()).journal().is_none());
}

/// A pattern counts from each root on, by whichever of them a file is reached.
#[test]
fn what_the_history_leaves_out_is_not_in_the_database_either() {
    use crate::access::patterns::Patterns;
    use crate::door::WithoutDatabase;
    use crate::edit::Warning;
    use crate::history::{NotKept, Settings};

    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let inner = root.join("inner");
    fs::create_dir(&inner).unwrap();
    let excluded = Patterns::new(&["inner/secret".to_owned()]).unwrap();
    let builder = Workspace::builder().root(&root).root(&inner);
    let builder = builder.history(Settings { excluded, ..Settings::default() });
    let workspace = builder.state_url(url, WithoutDatabase::Refuse).unwrap().build().unwrap();
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
    let (one, _) = machine(&server.url_with("schema=records_nothing").parse().unwrap(), &root);
    let before = tree(&root);
    one.shared_journal().unwrap().all().unwrap();
    server.refuse(("records_nothing", "records"), "insert", 1, "P0001");
    assert_eq!(call(&one, &root, "edits", Control::default()), Err(vec![StoreErrorKind::Io]));
    assert_eq!(tree(&root), before);
    call(&one, &root, "edits", Control::default()).unwrap();
}

/// Even where edits may go without a record, since the other machine would not see this one's.
#[test]
fn a_file_that_another_machine_names_first_is_waited_for() {
    let Some(server) = TestServer::shared() else { return };
    let (_directory, root, url) = shared_tree(server);
    let ((one, database), (two, _)) = (machine(&url, &root), machine(&url, &root));
    let shared = Some(SharedJournal::new(database, Observer::default(), Arc::default(), true));
    let optional = Workspace { shared, ..one };
    optional.shared_journal().unwrap().all().unwrap();
    let (asked, record) = (Cell::new(0), Cell::new(None));
    let pause = || {
        asked.set(asked.get() + 1);
        if asked.get() == 1 {
            // The file is locked and read by now.
            let subject = crate::journal::Subject {
                path: root.join("a"),
                id: crate::stage::temporary::TemporaryId::draw(),
                intent: crate::journal::Intent::Remove,
            };
            record.set(Some(two.journal().unwrap().begin(&[subject]).unwrap()));
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
    let alone = Workspace::without_state(Roots::open(std::slice::from_ref(&root)).unwrap());
    let (shared, path) = (machine(&url, &root).0, root.join("a"));
    let file = ReadFile::new(path.to_str().unwrap());
    // A file that has just changed is not remembered.
    std::thread::sleep(Duration::from_millis(60));
    for workspace in [&alone, &shared] {
        workspace.read_with(file, Control::default(), |_| Ok(())).unwrap();
    }
    let place = alone.roots.resolve_for_writing(file.file_path).unwrap();
    assert_eq!(alone.is_at_hand(file), crate::os::is_local(&place.directory));
    assert!(!shared.is_at_hand(file));
}
