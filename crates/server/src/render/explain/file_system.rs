//! Edits that a file system does not allow: for lack of permissions, or whatever the permissions are, because it is
//! mounted read-only, because chattr(1) has marked the file or its directory, or because the file is encrypted and
//! locked.

use mcp_text_editor_store::{Guard, Operation, StoreError};

use super::call::Call;
use crate::problem::Code;

/// Code, reason and hint.
type Words = (Code, String, String);

/// Words a lack of permissions.
pub(super) fn denied(file_path: &str, operation: Operation) -> Words {
    let reason = match operation {
        Operation::WriteTemporary
        | Operation::CreateDirectory
        | Operation::Create
        | Operation::Remove
        | Operation::Replace => format!("the system does not let files be made beside {file_path}"),
        _ => format!("the system denies access to {file_path}"),
    };
    let hint = "a person has to change the permissions, or choose another file";
    (Code::PermissionDenied, reason, hint.to_owned())
}

/// Words a read-only mount. It is named by what is on it: the file, or the state directory.
pub(super) fn read_only(call: Call<'_>, file_path: &str, error: &StoreError) -> Words {
    let (what, hint) = match call.state.filter(|state| error.path.starts_with(state)) {
        Some(state) => (
            format!("{}, this server's state directory,", state.display()),
            "a person has to mount it for writing, or start the server with another --state-dir",
        ),
        None => (
            file_path.to_owned(),
            "choose a file elsewhere; permissions make no difference here: a person would have to mount it for writing",
        ),
    };
    (Code::IoError, format!("{what} lies on a file system that is mounted read-only"), hint.to_owned())
}

/// Words a mark of chattr(1), which holds for everybody.
pub(super) fn guarded(file_path: &str, error: &StoreError, by: Guard, is_directory: bool) -> Words {
    let (mark, letter) = match by {
        Guard::Immutable => ("immutable", 'i'),
        Guard::AppendOnly => ("append-only", 'a'),
    };
    let whose =
        if is_directory { format!("the directory {}", error.path.display()) } else { file_path.to_owned() };
    let what = match (is_directory, by) {
        (false, Guard::Immutable) => "nobody may change it, whatever its permissions",
        (false, Guard::AppendOnly) => {
            "programs may only write at its end, and an edit replaces the whole file"
        }
        (true, Guard::Immutable) => "no name in it may come or go",
        (true, Guard::AppendOnly) => "no name in it may change, or go again",
    };
    (
        Code::PermissionDenied,
        format!("{whose} is {mark} (chattr +{letter}): {what}"),
        format!("choose another file, or ask a person: root can take the mark off with chattr -{letter}"),
    )
}

/// Words an encrypted file whose key is not there.
pub(super) fn no_key(file_path: &str) -> Words {
    (
        Code::IoError,
        format!("{file_path} is encrypted by its file system, and the key is not there"),
        "choose a file elsewhere, or ask a person to unlock its directory (fscrypt unlock)".to_owned(),
    )
}
