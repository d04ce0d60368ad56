//! Tries each setting of a workspace by its effect on calls, and what a workspace reports about itself.

#[cfg(all(unix, feature = "history"))]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[cfg(all(unix, feature = "history"))]
use mcp_text_editor_store::core::digest::{Digest, DigestPrefix};
use mcp_text_editor_store::core::rejection::Rejection;
use mcp_text_editor_store::core::resolve::Patch;
use mcp_text_editor_store::{
    Change, ConfiguredDirectory, Control, FileEdit, InPlace, NotKept, PathError, Patterns, Protection,
    Purpose, Reason, StoreErrorKind, Unserved, Warning, WhyUnserved, Workspace, WorkspaceBuilder,
};
use tempfile::TempDir;

#[cfg(any(feature = "history", target_os = "linux"))]
use crate::world::World;

fn patterns(text: &str) -> Patterns {
    Patterns::new(&[text.to_owned()]).unwrap()
}

/// Makes a root with the files `a`, `other` and `.git/config`, and serves it with these settings.
fn served(settings: impl FnOnce(WorkspaceBuilder, &Path) -> WorkspaceBuilder) -> (TempDir, Workspace) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    std::fs::create_dir_all(root.join(".git")).unwrap();
    for name in ["a", "other", ".git/config"] {
        std::fs::write(root.join(name), "one one\n").unwrap();
    }
    let workspace = settings(Workspace::builder().root(&root), &root).build().unwrap();
    (directory, workspace)
}

/// Patches a file below the root, and returns the warnings, or the only reason why not.
fn patch(
    directory: &TempDir,
    workspace: &Workspace,
    name: &str,
    change: Patch,
) -> Result<Vec<Warning>, Box<Reason>> {
    let path = directory.path().join("root").join(name);
    let patches = [change];
    let edit = [FileEdit::new(path.to_str().unwrap(), Change::Patch(&patches))];
    match workspace.apply(&edit, Control::default()) {
        Ok(done) => Ok(done.files.into_iter().flat_map(|file| file.warnings).collect()),
        Err(mut error) => {
            assert_eq!(error.problems.len(), 1, "{error}");
            Err(Box::new(error.problems.remove(0).reason))
        }
    }
}

type Setting = fn(WorkspaceBuilder, &Path) -> WorkspaceBuilder;

fn protecting_other(builder: WorkspaceBuilder, root: &Path) -> WorkspaceBuilder {
    let other = root.join("other");
    builder.protect_files(move || vec![other.clone()])
}

#[test]
fn a_file_is_protected_as_the_settings_say() {
    let pattern = |text: &str| Some(Protection::Pattern(text.to_owned()));
    let all: [(Setting, &str, Option<Protection>); 12] = [
        (|of, _| of, "a", None),
        (|of, _| of, ".git/config", Some(Protection::Git)),
        (|of, _| of.unprotect(patterns("config")), ".git/config", None),
        (|of, _| of.unprotect_all(), ".git/config", None),
        (|of, _| of.protect(patterns("oth*")), "other", pattern("oth*")),
        (|of, _| of.protect(patterns("/other")), "other", pattern("/other")),
        (|of, _| of.protect(patterns("oth*")), "a", None),
        (|of, _| of.protect(patterns("oth*")).unprotect(patterns("other")), "other", pattern("oth*")),
        (protecting_other, "other", Some(Protection::OwnConfiguration)),
        (|of, root| protecting_other(of, root).unprotect(patterns("other")), "other", None),
        (|of, _| of.read_only(true), "a", Some(Protection::ReadOnly)),
        (|of, _| of.read_only(true).unprotect_all(), "a", Some(Protection::ReadOnly)),
    ];
    for (at, (settings, name, expected)) in all.into_iter().enumerate() {
        let (directory, workspace) = served(settings);
        let found = match patch(&directory, &workspace, name, Patch::text("one one", "two")) {
            Ok(_) => None,
            Err(reason) => match *reason {
                Reason::Path(PathError::Protected(protection)) => Some(protection),
                other => panic!("{at}: {other}"),
            },
        };
        assert_eq!(found, expected, "{at}");
        assert_eq!(workspace.is_read_only(), expected == Some(Protection::ReadOnly), "{at}");
    }
}

#[test]
fn an_edit_has_the_bounds_of_the_settings() {
    let all = || Patch::text("one", "two").all();
    let refused = |settings: Setting, change: Patch| {
        let (directory, workspace) = served(settings);
        patch(&directory, &workspace, "a", change).err().map(|reason| *reason)
    };
    assert!(refused(|of, _| of.max_file_bytes(8), all()).is_none());
    let reason = refused(|of, _| of.max_file_bytes(7), all());
    assert!(matches!(reason, Some(Reason::TooLarge { bytes: 8, becomes: false })), "{reason:?}");
    let rejection = |settings, change| match refused(settings, change) {
        None => None,
        Some(Reason::Rejected { rejection, .. }) => Some(rejection),
        Some(other) => panic!("{other}"),
    };
    assert_eq!(rejection(|of, _| of.max_occurrences(2), all()), None);
    let too_many = rejection(|of, _| of.max_occurrences(1), all());
    assert!(
        matches!(too_many, Some(Rejection::TooManyOccurrences { count: 2, most: 1, .. })),
        "{too_many:?}"
    );
    assert_eq!(rejection(|of, _| of.max_inserted_bytes(6), all()), None);
    let too_much = rejection(|of, _| of.max_inserted_bytes(5), all());
    assert!(matches!(too_much, Some(Rejection::TooMuchText { bytes: 6, most: 5, .. })), "{too_much:?}");
    // Blanks at a line's end count only where text must match exactly.
    let blank = || Patch::text("one one  \n", "two\n");
    assert_eq!(rejection(|of, _| of, blank()), None);
    assert_eq!(rejection(|of, _| of.strict(false), blank()), None);
    let missing = rejection(|of, _| of.strict(true), blank());
    assert!(matches!(missing, Some(Rejection::NoMatch { .. })), "{missing:?}");
}

#[test]
fn the_files_that_the_settings_name_are_written_over() {
    for (settings, name, expected) in [
        ((|of, _| of.in_place(patterns("oth*"))) as Setting, "other", true),
        (|of, _| of.in_place(patterns("/other")), "other", true),
        (|of, _| of.in_place(patterns("oth*")), "a", false),
    ] {
        let (directory, workspace) = served(settings);
        let warnings = patch(&directory, &workspace, name, Patch::text("one one", "two")).unwrap();
        assert_eq!(warnings.contains(&Warning::EditedInPlace(InPlace::Asked)), expected, "{name}");
    }
}

#[test]
fn a_path_from_home_on_is_answered_with_the_file_that_it_means() {
    let (directory, workspace) = served(|of, root| of.home(Some(root.join("mine"))));
    let root = mcp_text_editor_store::real_path(&directory.path().join("root"));
    for name in ["mine", "theirs"] {
        std::fs::create_dir(root.join(name)).unwrap();
        std::fs::write(root.join(name).join("notes"), "").unwrap();
    }
    let file = root.join("mine").join("notes");
    for purpose in [Purpose::Reading, Purpose::Editing] {
        let problems = workspace.check_spelling("~/notes", purpose);
        let [PathError::NotAbsolute { suggested: Some(suggested) }] = problems.as_slice() else {
            panic!("{problems:?}")
        };
        assert_eq!(suggested.paths, [file.as_path()]);
    }
    // Any absolute path is well spelled, wherever it leads.
    for path in [directory.path().join("elsewhere"), file.clone()] {
        assert!(workspace.check_spelling(path.to_str().unwrap(), Purpose::Reading).is_empty());
    }
    let path = file.to_str().unwrap();
    assert_eq!(workspace.resolve(path).unwrap(), file);
    assert_eq!(workspace.resolve_for_writing(path).unwrap(), file);
}

/// Counts the calls that wait for the disk while a file is edited.
#[cfg(target_os = "linux")]
#[test]
fn only_an_edit_that_is_to_survive_the_machine_waits_for_the_disk() {
    use mcp_text_editor_store::Durability;

    for (durability, waits) in [(Durability::Machine, true), (Durability::Process, false)] {
        let world = World::with(|builder| builder.durability(durability));
        // Files of any size are written in the same way, large ones piece by piece.
        let old = "one\n".repeat(600_000);
        let path = world.write("a", &old);
        let linked = world.write("linked", &old);
        std::fs::hard_link(&linked, world.path("too")).unwrap();
        let mut syncs = 0;
        let count = |call: &crate::system_calls::SystemCall| {
            syncs += usize::from(call.is_sync());
            None
        };
        // One is exchanged, and one is written over.
        let edits = [&path, &linked].map(|path| FileEdit::new(path, Change::Append("two\n")));
        let Ok(done) =
            crate::system_calls::asked(count, || world.workspace.apply(&edits, Control::default()))
        else {
            return;
        };
        done.unwrap();
        assert_eq!(syncs > 0, waits, "{durability:?}");
        let new = old + "two\n";
        assert!(["a", "too"].iter().all(|name| world.tree()[*name] == new), "{durability:?}");
    }
}

/// Counts the calls that wait for the disk while a file is taken away again with its directories.
#[cfg(all(target_os = "linux", feature = "history"))]
#[test]
fn only_directories_that_are_to_stay_away_wait_for_the_disk() {
    use mcp_text_editor_store::{Durability, HistorySettings};

    for (durability, waits) in [(Durability::Machine, true), (Durability::Process, false)] {
        let world = World::with(|builder| builder.history(HistorySettings::default()).durability(durability));
        let (path, root) = (world.path("m/n/new"), world.path(""));
        let new = [FileEdit::new(&path, Change::Create("text\n"))];
        let made = world.workspace.apply(&new, Control::default()).unwrap().edit_id.unwrap();
        let mut syncs = 0;
        // The history has its own way.
        let count = |call: &crate::system_calls::SystemCall| {
            let is_in_root = || format!("{}/", call.file(0)).starts_with(&root);
            syncs += usize::from(call.is_sync() && is_in_root());
            None
        };
        let undo = || world.workspace.undo(&made, Control::of("undo"));
        let Ok(done) = crate::system_calls::asked(count, undo) else { return };
        done.unwrap();
        assert_eq!(syncs > 0, waits, "{durability:?}");
        assert!(world.tree().is_empty(), "{durability:?}");
    }
}

#[cfg(unix)]
#[test]
fn the_observer_is_told_of_a_wait() {
    use std::cell::Cell;
    use std::time::Duration;

    use mcp_text_editor_store::Observer;

    thread_local! { static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) } }
    let observer = Observer { lock_waited: |time| WAITED.set(WAITED.get() + time), ..Observer::default() };
    let (directory, workspace) = served(|of, _| of.observer(observer));
    let path = directory.path().join("root/a");
    let held = std::fs::File::open(&path).unwrap();
    held.lock().unwrap();
    let edit = [FileEdit::new(path.to_str().unwrap(), Change::Append("two\n"))];
    let asked = Cell::new(0);
    let is_cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 100
    };
    let refused = workspace.apply(&edit, Control::default().cancelled_by(&is_cancelled)).unwrap_err();
    let [problem] = refused.problems.as_slice() else { panic!("{refused}") };
    let Reason::Store(error) = &problem.reason else { panic!("{refused}") };
    assert_eq!(error.kind, StoreErrorKind::Cancelled);
    assert!(WAITED.get() > Duration::ZERO);
}

/// Returns a directory as a person wrote its name.
fn configured(directory: &Path) -> ConfiguredDirectory {
    ConfiguredDirectory { named: directory.file_name().unwrap().into(), path: directory.to_owned() }
}

#[test]
fn what_is_there_is_served_and_the_rest_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let [root, absent] = ["root", "absent"].map(|name| directory.path().join(name));
    std::fs::create_dir(&root).unwrap();
    let unnamed = Unserved { named: PathBuf::new(), path: PathBuf::new(), why: WhyUnserved::Empty };
    let both =
        || Workspace::builder().roots(vec![configured(&root), configured(&absent)], vec![unnamed.clone()]);
    let workspace = both().build_what_is_there();
    let real = mcp_text_editor_store::real_path(&root);
    assert_eq!(workspace.roots().collect::<Vec<_>>(), [real.as_path()]);
    let told: Vec<_> = workspace.unserved().map(|unserved| unserved.path.as_path()).collect();
    assert_eq!(told, [Path::new(""), &absent]);
    let not_found = |unserved: &Unserved| {
        matches!(&unserved.why, WhyUnserved::Failed { kind: StoreErrorKind::NotFound, .. })
    };
    assert!(workspace.unserved().any(not_found));
    assert!(!workspace.serves_nothing() && !workspace.open_what_is_back());
    assert!(!workspace.is_read_only() && workspace.state_directory().is_none());
    assert_eq!((workspace.state_problem(), workspace.why_edits_wait()), (None, None));
    // Whoever wants all of them gets the error of the first.
    assert_eq!(both().build().unwrap_err().path, absent);

    let none = Workspace::builder().roots(vec![configured(&absent)], Vec::new()).build_what_is_there();
    assert!(none.serves_nothing(), "one was configured, and is not there");
    assert!(!Workspace::builder().build_what_is_there().serves_nothing(), "none was configured");
}

/// Nothing is asked of a volume that does not answer, but whether it answers by now.
#[cfg(target_os = "linux")]
#[test]
fn a_volume_that_is_away_is_served_once_it_is_back() {
    use rustix::io::Errno;

    use crate::system_calls::{SystemCall, asked};

    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let is_away = |call: &SystemCall| {
        (call.name.starts_with("openat") && call.path(1).ends_with("root")).then_some(Errno::IO)
    };
    let build = || Workspace::builder().roots(vec![configured(&root)], Vec::new()).build_what_is_there();
    let Ok(workspace) = asked(is_away, build) else { return };
    assert!(workspace.why_edits_wait().unwrap().contains(root.to_str().unwrap()));
    assert!(asked(is_away, || workspace.serves_nothing()).unwrap(), "there is no other");
    assert!(asked(is_away, || workspace.open_what_is_back()).unwrap(), "it does not answer yet");
    assert_eq!(workspace.roots().count(), 0);
    assert!(!workspace.open_what_is_back());
    assert_eq!((workspace.roots().count(), workspace.why_edits_wait()), (1, None));
    let other = asked(is_away, build).unwrap();
    assert!(!other.serves_nothing(), "it is asked whether it is back");
    assert_eq!(other.roots().count(), 1);
}

#[test]
fn a_state_directory_is_told_or_why_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let [root, state, file] = ["root", "state", "file"].map(|name| directory.path().join(name));
    std::fs::create_dir(&root).unwrap();
    std::fs::write(&file, "").unwrap();
    let builder = |state: &Path| Workspace::builder().root(&root).state_directory(state);
    let open = builder(&state).build_without_state_at_need().unwrap();
    let real = mcp_text_editor_store::real_path;
    assert_eq!((open.state_directory().map(real), open.state_problem()), (Some(real(&state)), None));
    let lacking = builder(&file).build_without_state_at_need().unwrap();
    assert_eq!(lacking.state_directory(), None);
    let why = lacking.state_problem().unwrap().to_owned();
    assert!(why.contains(file.to_str().unwrap()));
    let create = |name: &str| {
        let path = root.join(name);
        let edit = [FileEdit::new(path.to_str().unwrap(), Change::Create("one\n"))];
        lacking.apply(&edit, Control::default()).unwrap().files.remove(0).warnings
    };
    assert_eq!(create("first"), [Warning::NoState(why)]);
    assert_eq!(create("second"), [Warning::NotInHistory(NotKept::Off)]);
    assert!(builder(&file).build_what_is_there().state_problem().is_some());
    assert!(builder(&file).build().is_err());
    // A root in the state directory is served, and nothing in it can be read.
    let closed = builder(&root).root(root.join("journal"));
    std::fs::create_dir(root.join("journal")).unwrap();
    let closed = closed.build_without_state_at_need().unwrap();
    let journal = real(&root.join("journal"));
    assert!(closed.closed_roots().any(|root| root == journal));
    assert_eq!(open.closed_roots().count(), 0);
}

/// Each edit reports that there is no history, and why.
#[test]
fn without_a_state_directory_there_is_no_history() {
    use mcp_text_editor_store::HistorySettings;

    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("a"), "one\n").unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let why = |builder: WorkspaceBuilder| {
        let workspace = builder.root(&root).build_without_state_at_need().unwrap();
        workspace.edits(None, 1).unwrap_err()
    };
    let settings = HistorySettings::default;
    let reason = |why: NotKept| match why {
        NotKept::Unavailable { reason, .. } => reason,
        other => panic!("{other}"),
    };
    assert_eq!(why(Workspace::builder()), NotKept::Off);
    assert_eq!(reason(why(Workspace::builder().history(settings()))), "there is no state directory");
    let unusable = reason(why(Workspace::builder().history(settings()).state_directory(&file)));
    assert!(unusable.contains(file.to_str().unwrap()), "{unusable}");
    assert_eq!(why(Workspace::builder().state_directory(&file)), NotKept::Off, "none was asked for");
    assert_eq!(why(Workspace::builder().state_directory(directory.path().join("state"))), NotKept::Off);
}

#[cfg(feature = "history")]
#[test]
fn an_edit_is_kept_with_whose_call_it_was() {
    let world = World::new();
    let path = world.write("d/a", "one\n");
    let long = "ü".repeat(61);
    let kept = "ü".repeat(60);
    for (client, session, expected) in [
        (None, None, (None, None)),
        (Some("client"), Some("session"), (Some("client"), Some("session"))),
        (Some(""), Some("s"), (None, Some("s"))),
        (Some(long.as_str()), None, (Some(kept.as_str()), None)),
        (Some(kept.as_str()), Some(""), (Some(kept.as_str()), None)),
    ] {
        let edit = [FileEdit::new(&path, Change::Append("two\n"))];
        let control = Control::of("a test").on_behalf_of(client, session);
        let id = world.workspace.apply(&edit, control).unwrap().edit_id.unwrap();
        let entry = world.workspace.edit(&id).unwrap().unwrap();
        assert_eq!((entry.client.as_deref(), entry.session.as_deref()), expected);
        assert_eq!((entry.tool.as_str(), &entry.id), ("a test", &id));
        assert_eq!(world.workspace.edits(None, 1).unwrap(), [entry]);
    }
    assert!(world.workspace.history().get(&world.workspace.edits(None, 1).unwrap()[0].id).unwrap().is_some());

    // The edits of a file are found by its path, and those below a directory by the directory's.
    let resolve = |path: &str| world.workspace.resolve_for_history(path);
    let real = mcp_text_editor_store::real_path(Path::new(&path));
    assert_eq!(resolve(&path).unwrap(), real);
    assert_eq!(resolve(&world.path("d")).unwrap(), real.parent().unwrap());
    assert_eq!(resolve(&world.path("")).unwrap(), real.parent().unwrap().parent().unwrap());
    assert_eq!(resolve(&world.path("gone")).unwrap(), real.parent().unwrap().with_file_name("gone"));
    for path in [world.path("d/a/b"), world.directory.path().to_str().unwrap().to_owned(), "d".to_owned()] {
        assert!(resolve(&path).is_err(), "{path}");
    }
}

/// A person may undo an edit wherever its files are, also outside the roots.
#[cfg(feature = "history")]
#[test]
fn an_edit_can_be_taken_back_from_elsewhere() {
    let world = World::new();
    let apply = |edits: &[FileEdit<'_>]| {
        world.workspace.apply(edits, Control::of("a test")).unwrap().edit_id.unwrap()
    };
    let [made, one, other] = ["new/deep/file", "d/a", "d/e/b"].map(|name| world.path(name));
    let making = apply(&[FileEdit::new(&made, Change::Create("one\n"))]);
    world.write("d/a", "old\n");
    world.write("d/e/b", "old\n");
    let editing = apply(&[&one, &other].map(|path| FileEdit::new(path, Change::Append("new\n"))));
    let elsewhere = tempfile::tempdir().unwrap();
    let state = world.directory.path().join("state");
    let builder = Workspace::builder().root(elsewhere.path()).state_directory(state);
    let builder = builder.history(mcp_text_editor_store::HistorySettings::default());
    let root = mcp_text_editor_store::real_path(Path::new(&world.path("")));
    for id in [editing, making] {
        let mut workspace = builder.clone().build().unwrap();
        assert!(workspace.undo(&id, Control::of("a test")).is_err(), "its files are in no root");
        assert_eq!(workspace.edit(&id).unwrap(), None);
        let (entry, _) = workspace.history().get(&id).unwrap().unwrap();
        // A file of another machine is not here.
        let mut theirs = entry.clone();
        theirs.files[0].root = Some("nfs4:server".to_owned());
        let error = workspace.serve_files_of([&theirs]).unwrap_err();
        assert_eq!((error.kind, &error.path), (StoreErrorKind::NotFound, &theirs.files[0].path));
        workspace.serve_files_of([&entry]).unwrap();
        assert_eq!(workspace.roots().collect::<Vec<_>>(), [root.as_path()]);
        workspace.undo(&id, Control::of("a test")).unwrap();
    }
    let left: Vec<String> = world.tree().into_iter().map(|(name, text)| name + &text).collect();
    assert_eq!(left, ["d/", "d/aold\n", "d/e/", "d/e/bold\n"]);
}

/// Tries every kind of edit while each possible other directory has the name of the edit's own. The other one
/// holds the same files, but the undo shows, creates, changes and deletes nothing in it. Once the edit's own
/// directory is back, the undo succeeds.
#[cfg(all(unix, feature = "history"))]
#[test]
fn a_past_edit_is_not_taken_back_in_another_directory() {
    type Swap<'a> = &'a dyn Fn(&Path, &Path);
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for (path, text) in tree(from) {
            std::fs::create_dir_all(to.join(&path).parent().unwrap()).unwrap();
            std::fs::write(to.join(path), text).unwrap();
        }
    }
    /// Returns the files below a directory, without the state.
    fn tree(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut files, mut pending) = (BTreeMap::new(), vec![directory.to_owned()]);
        while let Some(next) = pending.pop() {
            for entry in std::fs::read_dir(next).unwrap() {
                let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
                if kind.is_dir() && path.file_name() != Some("state".as_ref()) {
                    pending.push(path);
                } else if kind.is_file() {
                    let name = path.strip_prefix(directory).unwrap().to_owned();
                    files.insert(name, std::fs::read(path).unwrap());
                }
            }
        }
        files
    }
    let link = |to: PathBuf, at: &Path| std::os::unix::fs::symlink(to, at).unwrap();
    let swaps: [(&str, Swap<'_>); 5] = [
        ("root/d", &|at, other| link(other.join("d"), at)),
        ("root/d", &|at, _| link("inner".into(), at)),
        ("root", &|at, other| link(other.to_owned(), at)),
        ("root", &|at, other| copy(other, at)),
        ("root", &|_, _| ()),
    ];
    for kind in ["create", "append", "move", "remove"] {
        for (swap, (name, put)) in swaps.iter().enumerate() {
            let mut world = World::new();
            let base = world.directory.path().canonicalize().unwrap();
            let [old, new] = ["d/old", "d/new"].map(|name| world.path(name));
            world.write("d/old", "one\n");
            let hash = DigestPrefix::parse(&Digest::of(b"one\n").to_string());
            let edit = match kind {
                "create" => FileEdit::new(&new, Change::Create("new\n")),
                "append" => FileEdit::new(&old, Change::Append("two\n")),
                "move" => FileEdit::new(&old, Change::Move { to: &new, patches: &[] }),
                _ => FileEdit { file_hash: hash.as_ref(), ..FileEdit::new(&old, Change::Remove) },
            };
            let done = world.workspace.apply(&[edit], Control::of("a test")).unwrap();
            let id = done.edit_id.unwrap();
            copy(&base.join("root"), &base.join("other"));
            copy(&base.join("root/d"), &base.join("root/inner"));
            let (own, aside) = (base.join(name), base.join("aside"));
            std::fs::rename(&own, &aside).unwrap();
            put(&own, &base.join("other"));
            if *name == "root" && own.metadata().is_ok_and(|found| found.created().is_err()) {
                continue;
            }
            let before = tree(&base);
            let workspace = &mut world.workspace;
            let (entry, _) = workspace.history().get(&id).unwrap().unwrap();
            let case = format!("{kind} {swap}");
            let refused = match workspace.serve_files_of([&entry]) {
                Ok(()) => workspace.undo(&id, Control::of("a test")).map(drop).map_err(|why| why.to_string()),
                Err(why) => Err(why.to_string()),
            };
            assert!(refused.is_err_and(|why| why.contains("is reached by a link")), "{case}");
            assert_eq!(workspace.bytes_of(&base.join("root/d/old")), None, "{case}");
            assert_eq!(tree(&base), before, "{case}");
            if own.is_symlink() {
                std::fs::remove_file(&own).unwrap();
            } else if own.is_dir() {
                std::fs::remove_dir_all(&own).unwrap();
            }
            std::fs::rename(&aside, &own).unwrap();
            workspace.serve_files_of([&entry]).unwrap();
            workspace.undo(&id, Control::of("a test")).unwrap();
            assert_eq!(std::fs::read_to_string(&old).unwrap(), "one\n", "{case}");
        }
    }
}
