use std::path::Path;

use mcp_text_editor_store::{
    EditProblem, Existing, Guard, LeftBehind, Operation, Reason, Remains, SpecialFile, StoreError,
    StoreErrorKind, Workspace,
};

use super::call::{Call, CalledFile};
use super::edit::edit_problem;
use crate::config::ToolSet;
use crate::context::Cancel;
use crate::limits::Limits;
use crate::problem::Failure;
use crate::render::edit::Hashes;
use crate::render::layout;
use crate::tool_id::ToolId;

const FILE: CalledFile<'static> =
    CalledFile { file_path: "/a/file", encoding: None, patches: &[], change: None };

/// Returns what a call of the tool says of this error.
fn said(tool: ToolId, error: StoreError) -> String {
    reason_said(tool, Reason::Store(error))
}

/// Returns what a call of the tool says of this reason.
fn reason_said(tool: ToolId, reason: Reason) -> String {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::builder().root(directory.path()).build().unwrap();
    let (limits, cancel, offered) = (&Limits::default(), &Cancel::never(), &ToolSet::default());
    let state = Some(Path::new("/state"));
    let call = Call {
        tool,
        workspace: &workspace,
        state,
        is_entry: false,
        many_files: false,
        limits,
        cancel,
        offered,
        hashes: Hashes::Short,
    };
    let problem = edit_problem(call, FILE, &EditProblem { entry: 0, reason });
    layout::text(&Failure::of_tool(tool, vec![problem], |_| true))
}

/// The call that holds a lock may belong to this same process.
#[test]
fn a_lock_is_not_said_to_be_another_process_s() {
    let busy = StoreError::new(Operation::Replace, Path::new("/a/file"), StoreErrorKind::Busy);
    let said = said(ToolId::Patch, busy);
    assert!(said.starts_with("error: busy: another call, or another process, has held the lock"), "{said}");
    assert!(
        include_str!("../../../../../docs/replies.md")
            .contains("| `busy` | Another call, or another process,")
    );
}

#[test]
fn nothing_was_written_is_said_only_if_it_is_true() {
    for tool in [ToolId::Patch, ToolId::Create, ToolId::Undo] {
        let error = |kind| StoreError::new(Operation::Replace, Path::new("/a/file"), kind);
        assert!(
            said(tool, error(StoreErrorKind::NoSpace)).contains("; nothing was written"),
            "{}",
            tool.name()
        );
        // Files that are left behind count for each kind of error.
        for kind in [StoreErrorKind::NotRestored, StoreErrorKind::NoSpace, StoreErrorKind::Cancelled] {
            for (what, words) in
                [(Remains::Made, "is left behind"), (Remains::PerhapsMade, "may be left behind")]
            {
                let left = vec![LeftBehind { path: "/a/.mte-0".into(), what }];
                let left = said(tool, StoreError { left, ..error(kind.clone()) });
                assert!(!left.contains("nothing was written"), "{left}");
                assert!(left.contains(&format!("/a/.mte-0 {words}")), "{left}");
            }
        }
    }
}

#[test]
fn what_has_a_name_and_could_not_be_read_is_told_as_what_it_is() {
    let kinds = [
        StoreErrorKind::PermissionDenied,
        StoreErrorKind::IsADirectory,
        StoreErrorKind::NotARegularFile { what: SpecialFile::Fifo },
        StoreErrorKind::Io,
    ];
    let said = kinds.map(|kind| {
        let existing = || Box::new(Existing::Unread { kind: kind.clone() });
        let taken = reason_said(ToolId::Move, Reason::Taken { by: existing(), inside: None });
        let exists = reason_said(ToolId::Create, Reason::Exists(existing()));
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        assert_eq!(first(&taken), first(&exists));
        first(&exists)
    });
    insta::assert_snapshot!(said.join("\n"), @r"
    error: already_exists: /a/file already exists, and the system denies reading it; nothing was written
    error: already_exists: /a/file already exists: it is a directory; nothing was written
    error: already_exists: /a/file already exists: it is a FIFO; nothing was written
    error: already_exists: /a/file already exists, and could not be read; nothing was written
    ");
}

#[test]
fn the_disk_that_is_full_is_named() {
    let of = |path| {
        let error = StoreError::new(Operation::WriteJournal, Path::new(path), StoreErrorKind::NoSpace);
        said(ToolId::Patch, error).lines().next().unwrap().to_owned()
    };
    insta::assert_snapshot!(of("/a/.mte-0"), @"error: no_space: there is no space left on the disk of /a/file; nothing was written");
    insta::assert_snapshot!(of("/state/journal/0"), @"error: no_space: there is no space left on the disk of /state, this server's state directory; nothing was written");
}

#[test]
fn a_quota_is_no_full_disk() {
    let error = std::io::ErrorKind::QuotaExceeded.into();
    let error = StoreError::from_io(Operation::WriteTemporary, Path::new("/a/.mte-0"), error);
    let said = said(ToolId::Patch, error);
    insta::assert_snapshot!(said.lines().next().unwrap(), @"error: no_space: the quota is used up on the disk of /a/file; nothing was written");
}

#[test]
fn what_is_no_matter_of_permissions_is_not_said_to_be() {
    let said = [
        ("/a/file", StoreErrorKind::ReadOnlyFileSystem),
        ("/state/journal/0", StoreErrorKind::ReadOnlyFileSystem),
        ("/a/file", StoreErrorKind::Guarded { by: Guard::Immutable, is_directory: false }),
        ("/a/file", StoreErrorKind::Guarded { by: Guard::AppendOnly, is_directory: false }),
        ("/a", StoreErrorKind::Guarded { by: Guard::Immutable, is_directory: true }),
        ("/a", StoreErrorKind::Guarded { by: Guard::AppendOnly, is_directory: true }),
        ("/a/file", StoreErrorKind::NoKey),
        ("/a/file", StoreErrorKind::NotDownloaded),
    ]
    .map(|(path, kind)| {
        said(ToolId::Create, StoreError::new(Operation::WriteTemporary, Path::new(path), kind))
    });
    insta::assert_snapshot!(said.join("\n\n").trim_end(), @r"
    error: io_error: /a/file lies on a file system that is mounted read-only; nothing was written
    in /a/file
    suggestion: create_text_file
    hint: choose a file elsewhere; permissions make no difference here: a person would have to mount it for writing

    error: io_error: /state, this server's state directory, lies on a file system that is mounted read-only; nothing was written
    in /a/file
    suggestion: create_text_file
    hint: a person has to mount it for writing, or start the server with another --state-dir

    error: permission_denied: /a/file is immutable (chattr +i): nobody may change it, whatever its permissions; nothing was written
    in /a/file
    suggestion: create_text_file
    hint: choose another file, or ask a person: root can take the mark off with chattr -i

    error: permission_denied: /a/file is append-only (chattr +a): programs may only write at its end, and an edit replaces the whole file; nothing was written
    in /a/file
    suggestion: create_text_file
    hint: choose another file, or ask a person: root can take the mark off with chattr -a

    error: permission_denied: the directory /a is immutable (chattr +i): no name in it may come or go; nothing was written
    in /a/file
    suggestion: create_text_file
    hint: choose another file, or ask a person: root can take the mark off with chattr -i

    error: permission_denied: the directory /a is append-only (chattr +a): no name in it may change, or go again; nothing was written
    in /a/file
    suggestion: create_text_file
    hint: choose another file, or ask a person: root can take the mark off with chattr -a

    error: io_error: /a/file is encrypted by its file system, and the key is not there; nothing was written
    in /a/file
    suggestion: create_text_file
    hint: choose a file elsewhere, or ask a person to unlock its directory (fscrypt unlock)

    error: not_downloaded: the content of /a/file is in a cloud, and the system does not fetch it for this server; nothing was written
    in /a/file
    suggestion: create_text_file
    hint: ask a person to download it (Finder: Download Now), then send the same call again
    ");
}
