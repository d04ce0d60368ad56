//! Read, plan, apply, undo, recover: what each does, and what its errors say.

use std::cell::Cell;
use std::error::Error;
use std::path::PathBuf;

use mcp_text_editor_store::core::digest::{Digest, DigestPrefix};
use mcp_text_editor_store::core::line::LineRange;
use mcp_text_editor_store::core::rejection::Rejection;
use mcp_text_editor_store::core::resolve::{Patch, Position};
use mcp_text_editor_store::core::show::Budget;
use mcp_text_editor_store::{
    Change, Control, EditError, FileEdit, NameFault, NotText, PathError, ReadError, ReadFile, Reason,
    StoreErrorKind, UndoError, Warning, Workspace,
};

use crate::world::World;

impl World {
    fn files_in_root(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(self.path("")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn whole() -> Budget {
    Budget::bytes(usize::MAX)
}

/// Whoever embeds the crate shares one workspace among threads, and passes its errors on.
#[test]
fn a_workspace_is_shared_and_its_errors_are_errors() {
    fn shared<T: Send + Sync>() {}
    fn error<T: Error + Send + Sync + 'static>() {}
    shared::<Workspace>();
    error::<ReadError>();
    error::<EditError>();
    error::<UndoError>();
    error::<PathError>();
    error::<Reason>();
}

#[test]
fn lines_are_read_and_named_by_their_digest() {
    let world = World::new();
    let path = world.write("a.txt", "one\r\ntwo\r\nthree");
    let read =
        |lines| world.workspace.read(ReadFile::new(&path), lines, whole(), Control::default()).unwrap();
    let view = read(None);
    assert_eq!((view.shown.content.as_str(), view.total_lines, view.size), ("one\ntwo\nthree", 3, 15));
    assert_eq!(view.digest, Digest::of(b"one\r\ntwo\r\nthree"));
    let view = read(LineRange::inclusive(2, 9));
    assert_eq!((view.shown.content.as_str(), view.shown.lines.count()), ("two\nthree", 2));
    assert_eq!(view.shown.digest, Some(Digest::of(b"two\r\nthree")));
    let view = read(LineRange::inclusive(7, 9));
    assert_eq!((view.shown.content.as_str(), view.shown.lines.is_empty()), ("", true));
    let view =
        world.workspace.read(ReadFile::new(&path), None, Budget::bytes(4), Control::default()).unwrap();
    assert_eq!(view.shown.content, "one\n");
    assert_eq!(view.shown.cut.map(|cut| cut.next_start.get()), Some(2));
}

#[test]
fn what_cannot_be_read_says_why() {
    let world = World::new();
    let (binary, absent) = (world.write("binary", "a\0b"), world.path("absent"));
    let why = |path: &str, encoding| {
        let file = ReadFile { file_path: path, encoding };
        world.workspace.read(file, None, whole(), Control::default()).unwrap_err()
    };
    let error = why(&binary, None);
    assert!(
        matches!(error.problems.as_slice(), [Reason::NotText(NotText::Binary { offset: 1, .. })]),
        "{error:?}"
    );
    assert_eq!(error.to_string(), "the file is binary: it holds a NUL byte at offset 1");
    let cut = world.path("cut");
    std::fs::write(&cut, b"a \xc3").unwrap();
    for (label, has_strays) in [(None, true), (Some("euc-jp"), false)] {
        let error = why(&cut, label);
        let [Reason::NotText(NotText::Undecodable { strays, .. })] = error.problems.as_slice() else {
            panic!("{error:?}")
        };
        assert_eq!(strays.is_some_and(|strays| strays.is_cut), has_strays);
    }
    let error = why(&absent, Some("no such label"));
    assert!(matches!(error.problems.as_slice(), [Reason::UnknownEncoding]), "{error:?}");
    let error = why("../x", Some("no such label"));
    assert_eq!(
        error.to_string(),
        "the path is not absolute; the path has a `..` component; no encoding has that label"
    );
    let error = why(world.directory.path().join("state/history.db").to_str().unwrap(), None);
    assert!(matches!(error.problems.as_slice(), [Reason::Path(PathError::Outside { .. })]), "{error:?}");
}

#[test]
fn two_files_change_or_none() {
    let world = World::new();
    let (one, other) = (world.write("one", "a\nb\n"), world.write("other", "b\r\n"));
    let patches = [Patch::text("b", "c")];
    let edits = [&one, &other].map(|path| FileEdit::new(path, Change::Patch(&patches)));

    let plan = world.workspace.plan(&edits, Control::default()).unwrap();
    assert_eq!(plan.edit_id, None);
    assert!(plan.files.iter().all(|file| file.diff.is_some()));
    assert_eq!((text(&one), text(&other)), ("a\nb\n".to_owned(), "b\r\n".to_owned()));

    let done = world.workspace.apply(&edits, Control::of("a test")).unwrap();
    assert_eq!((text(&one), text(&other)), ("a\nc\n".to_owned(), "c\r\n".to_owned()));
    assert_eq!(done.files.iter().map(|file| file.total_lines).collect::<Vec<_>>(), [2, 1]);

    let error = world.workspace.apply(&edits, Control::default()).unwrap_err();
    assert_eq!(error.problems.iter().map(|problem| problem.entry).collect::<Vec<_>>(), [0, 1]);
    assert!(matches!(
        &error.problems[0].reason,
        Reason::Rejected { rejection: Rejection::NoMatch { .. }, .. }
    ));
    assert!(!error.may_have_written());
    assert_eq!(world.files_in_root().len(), 2, "nothing is left beside them");
}

#[test]
fn each_change_is_made() {
    let world = World::new();
    let path = world.path("new/dir/file");
    let apply = |change| world.workspace.apply(&[FileEdit::new(&path, change)], Control::default());
    apply(Change::Create("one\n")).unwrap();
    apply(Change::Append("two")).unwrap();
    apply(Change::Insert("zero\n", Position::Before(1))).unwrap();
    assert_eq!(text(&path), "zero\none\ntwo\n");
    let error = apply(Change::Create("again")).unwrap_err();
    let [problem] = error.problems.as_slice() else { panic!("{error:?}") };
    assert!(matches!(problem.reason, Reason::Exists(_)));
    let guard = DigestPrefix::parse(&Digest::of(b"something else").to_string());
    let edit = FileEdit { file_hash: guard.as_ref(), ..FileEdit::new(&path, Change::Append("x")) };
    let error = world.workspace.apply(&[edit], Control::default()).unwrap_err();
    let is_stale = |reason: &Reason| {
        matches!(reason, Reason::Rejected { rejection: Rejection::HashMismatch { .. }, .. })
    };
    assert!(is_stale(&error.problems[0].reason), "{error:?}");
    let unchanged = apply(Change::Patch(&[Patch::text("one", "one")])).unwrap();
    assert_eq!(unchanged.files[0].warnings, [Warning::Unchanged]);
}

#[test]
fn what_is_no_text_is_neither_edited_nor_made() {
    let world = World::new();
    let (binary, new) = (world.write("binary", "a\0b"), world.path("new"));
    let refused = |edit: FileEdit<'_>| {
        let mut error = world.workspace.apply(&[edit], Control::default()).unwrap_err();
        assert_eq!(error.problems.len(), 1, "{error}");
        error.problems.remove(0).reason
    };
    let reason = refused(FileEdit::new(&binary, Change::Append("c\n")));
    assert!(matches!(reason, Reason::NotText(NotText::Binary { offset: 1, .. })), "{reason:?}");
    let edit = FileEdit { encoding: Some("latin1"), ..FileEdit::new(&new, Change::Create("\u{2192}")) };
    let reason = refused(edit);
    let is_it = matches!(reason, Reason::Rejected { rejection: Rejection::Unencodable { .. }, .. });
    assert!(is_it, "{reason:?}");
    assert_eq!((text(&binary).as_str(), world.files_in_root().len()), ("a\0b", 1));
}

#[test]
fn a_last_line_that_has_to_be_ended_first_is_told() {
    let world = World::new();
    for (old, is_told) in [("one", true), ("one\n", false)] {
        let path = world.write("a", old);
        let edit = [FileEdit::new(&path, Change::Append("two\n"))];
        let done = world.workspace.apply(&edit, Control::default()).unwrap();
        assert_eq!(done.files[0].warnings.contains(&Warning::FinalNewlineAdded), is_told, "{old:?}");
        assert_eq!(text(&path), "one\ntwo\n");
    }
}

#[test]
fn a_cancelled_edit_changes_nothing() {
    let world = World::new();
    let path = world.write("a", "one\n");
    for allowed in 0..200 {
        let asked = Cell::new(0);
        let is_cancelled = || {
            asked.set(asked.get() + 1);
            asked.get() > allowed
        };
        let patches = [Patch::text("one", "two")];
        let edit = [FileEdit::new(&path, Change::Patch(&patches))];
        match world.workspace.apply(&edit, Control::default().cancelled_by(&is_cancelled)) {
            Ok(_) => {
                assert!(allowed > 0, "it was never asked");
                assert_eq!(text(&path), "two\n");
                return;
            }
            Err(error) => {
                let Reason::Store(store) = &error.problems[0].reason else { panic!("{error:?}") };
                assert_eq!(store.kind, StoreErrorKind::Cancelled);
                assert_eq!((text(&path).as_str(), world.files_in_root().len()), ("one\n", 1));
            }
        }
    }
    panic!("it was asked without end");
}

#[test]
fn a_read_only_workspace_and_a_protected_file_are_not_written() {
    let world = World::new();
    std::fs::create_dir(world.path(".git")).unwrap();
    let path = world.write(".git/config", "[core]\n");
    let append = |workspace: &Workspace, path: &str| {
        workspace.apply(&[FileEdit::new(path, Change::Append("x"))], Control::default())
    };
    let error = append(&world.workspace, &path).unwrap_err();
    assert!(matches!(&error.problems[0].reason, Reason::Path(PathError::Protected(_))), "{error:?}");
    assert!(world.workspace.resolve_for_writing(&path).is_err());
    assert!(world.workspace.resolve(&path).is_ok());
    let read_only = Workspace::builder().root(world.path("")).read_only(true).build().unwrap();
    assert!(append(&read_only, &world.write("a", "")).is_err());
}

#[cfg(feature = "history")]
#[test]
fn an_edit_is_undone_and_redone() {
    let world = World::new();
    let path = world.write("a", "one\n");
    let patches = [Patch::text("one", "two")];
    let done = world
        .workspace
        .apply(&[FileEdit::new(&path, Change::Patch(&patches))], Control::of("a test"))
        .unwrap();
    let id = done.edit_id.unwrap();
    world.workspace.plan_undo(&id, Control::default()).unwrap();
    assert_eq!(text(&path), "two\n");
    let undone = world.workspace.undo(&id, Control::of("a test")).unwrap();
    assert_eq!(text(&path), "one\n");
    world.workspace.undo(&undone.outcome.edit_id.unwrap(), Control::of("a test")).unwrap();
    assert_eq!(text(&path), "two\n");
    let origins: Vec<String> =
        world.workspace.edits(None, 10).unwrap().into_iter().map(|edit| edit.tool).collect();
    assert_eq!(origins, ["a test"; 3]);

    std::fs::write(&path, "three\n").unwrap();
    let error = world.workspace.undo(&id, Control::default()).unwrap_err();
    assert!(matches!(&error, UndoError::Problems(found) if found.conflicts.len() == 1), "{error:?}");
    assert_eq!(error.to_string(), "1 of its files have changed since");
    assert_eq!(text(&path), "three\n");
}

/// Its times are those of the moment at which it is first looked at.
#[cfg(target_os = "linux")]
#[test]
fn what_the_kernel_has_just_generated_is_not_taken_for_a_change() {
    use mcp_text_editor_store::SpecialFile;

    let mut process = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let root = format!("/proc/{}", process.id());
    let workspace = Workspace::builder().root(&root).build().unwrap();
    let path = format!("{root}/limits");
    let read = workspace.read(ReadFile::new(&path), None, whole(), Control::default()).unwrap_err();
    // This one may be written, by the modes alone.
    let name = format!("{root}/comm");
    let edited =
        workspace.plan(&[FileEdit::new(&name, Change::Append("x"))], Control::default()).unwrap_err();
    process.kill().unwrap();
    process.wait().unwrap();
    let [Reason::Store(error)] = read.problems.as_slice() else { panic!("{read}") };
    assert_eq!(error.kind, StoreErrorKind::NotARegularFile { what: SpecialFile::Other });
    let Reason::Store(error) = &edited.problems[0].reason else { panic!("{edited}") };
    assert_eq!(error.kind, StoreErrorKind::NotARegularFile { what: SpecialFile::Other });
}

/// What the kernel generates when it is read is no regular file to any tool.
#[cfg(target_os = "linux")]
#[test]
fn what_the_kernel_generates_is_neither_read_nor_found_nor_counted() {
    use std::ops::ControlFlow;

    use mcp_text_editor_store::{List, Search, SkipCause, SpecialFile};

    const FILE: &str = "/proc/sys/kernel/ostype";
    let workspace = Workspace::builder().root("/proc/sys/kernel").build().unwrap();
    let read = workspace.read(ReadFile::new(FILE), None, whole(), Control::default()).unwrap_err();
    let special = StoreErrorKind::NotARegularFile { what: SpecialFile::Other };
    let [Reason::Store(error)] = read.problems.as_slice() else { panic!("{read}") };
    assert_eq!(error.kind, special);

    let mut search = Search::new("Linux");
    search.paths = &[FILE];
    let none = &mut |found: mcp_text_editor_store::FileMatches| panic!("{found:?}");
    let searched = workspace.search(&search, none, Control::default()).unwrap();
    assert_eq!((searched.skipped.count(SkipCause::Special), searched.files), (1, 0));

    let mut list = List::new(Some("/proc/sys/kernel"));
    (list.depth, list.glob, list.line_counts) = (Some(1), &["ostype"], true);
    let mut lines = Vec::new();
    let listed = workspace.list(
        &list,
        &mut |entry| {
            lines.push(entry.lines);
            ControlFlow::Continue(())
        },
        Control::default(),
    );
    assert_eq!((lines.as_slice(), listed.unwrap().skipped.count(SkipCause::Special)), (&[None][..], 1));
}

/// What is found can be read by the path by which it is told, wherever the link leads by which the root was
/// named.
#[cfg(unix)]
#[test]
fn a_root_whose_link_leads_elsewhere_is_told_by_its_own_path() {
    use std::ops::ControlFlow;

    use mcp_text_editor_store::{List, Search};

    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    for name in ["one", "other"] {
        std::fs::create_dir(top.join(name)).unwrap();
        std::fs::write(top.join(name).join("file"), format!("in {name}\n")).unwrap();
    }
    let link = top.join("link");
    std::os::unix::fs::symlink("one", &link).unwrap();
    let workspace = Workspace::builder().root(&link).build().unwrap();
    let told = || {
        let mut told = Vec::new();
        let mut tell = |path: &str| {
            told.push(path.replace(top.to_str().unwrap(), "@"));
            ControlFlow::Continue(())
        };
        let found = &mut |found: mcp_text_editor_store::FileMatches| {
            workspace.read(ReadFile::new(&found.file_path), None, whole(), Control::default()).unwrap();
            tell(&found.file_path)
        };
        workspace.search(&Search::new("in"), found, Control::default()).unwrap();
        workspace.list(&List::new(None), &mut |entry| tell(&entry.path), Control::default()).unwrap();
        told
    };
    assert_eq!(told(), ["@/link/file", "@/link"]);
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("other", &link).unwrap();
    assert_eq!(told(), ["@/one/file", "@/one"]);
}

#[test]
fn a_file_that_is_to_be_made_has_no_slash_at_its_end() {
    let world = World::new();
    let path = world.path("new/");
    let edit = FileEdit::new(&path, Change::Create("text\n"));
    let error = world.workspace.apply(&[edit], Control::default()).unwrap_err();
    let [problem] = error.problems.as_slice() else { panic!("{error:?}") };
    let Reason::Store(error) = &problem.reason else { panic!("{problem:?}") };
    assert_eq!(
        (&error.kind, error.name),
        (&StoreErrorKind::IsADirectory, Some(NameFault::SlashAfterNothing))
    );
}
