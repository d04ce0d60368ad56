//! Words the reasons why a file system does not allow an edit: permissions are missing; or, whatever the
//! permissions are, it is mounted read-only, chattr(1) or chflags(1) has marked the file or its directory, a
//! privacy setting of macOS forbids the edit, or the file is encrypted and locked, or in a cloud.

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
        | Operation::Move
        | Operation::Replace => format!("the system does not let files be made beside {file_path}"),
        _ => format!("the system denies access to {file_path}"),
    };
    let hint = "a person has to change the permissions, or choose another file";
    (Code::PermissionDenied, reason, hint.to_owned())
}

/// Words a read-only mount. The message names what lies on it: the file, or the state directory.
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

/// Words the mark of chattr(1), or on macOS of chflags(1), that forbids an edit to every user.
pub(super) fn guarded(file_path: &str, error: &StoreError, by: Guard, is_directory: bool) -> Words {
    let directory = is_directory.then(|| error.path.display().to_string());
    let moves = error.operation == Operation::Move;
    marked(file_path, directory.as_deref(), by, moves, cfg!(target_vendor = "apple"))
}

/// Words the mark that forbids an edit. `directory` is the marked directory; if it is `None`, the file itself
/// is marked.
fn marked(file_path: &str, directory: Option<&str>, by: Guard, moves: bool, is_macos: bool) -> Words {
    let (mark, set, who, unset) = match (by, is_macos) {
        (Guard::Immutable, false) => ("immutable", "chattr +i", "root", "chattr -i"),
        (Guard::AppendOnly, false) => ("append-only", "chattr +a", "root", "chattr -a"),
        (Guard::Immutable, true) => {
            ("locked", "chflags uchg or schg", "the owner, or root,", "chflags nouchg,noschg")
        }
        (Guard::AppendOnly, true) => {
            ("append-only", "chflags uappnd or sappnd", "the owner, or root,", "chflags nouappnd,nosappnd")
        }
    };
    let whose = directory.map_or_else(|| file_path.to_owned(), |path| format!("the directory {path}"));
    let what = match (directory.is_some(), by) {
        (false, Guard::Immutable) => "nobody may change it, whatever its permissions",
        (false, Guard::AppendOnly) if moves => "programs may only write at its end, and its name stays",
        (false, Guard::AppendOnly) => {
            "programs may only write at its end, and an edit replaces the whole file"
        }
        (true, Guard::Immutable) => "no name in it may come or go",
        (true, Guard::AppendOnly) => "no name in it may change, or go again",
    };
    (
        Code::PermissionDenied,
        format!("{whose} is {mark} ({set}): {what}"),
        format!("choose another file, or ask a person: {who} can take the mark off with {unset}"),
    )
}

/// Words a file whose content is in a cloud and is not downloaded.
pub(super) fn not_downloaded(file_path: &str) -> Words {
    (
        Code::NotDownloaded,
        format!("the content of {file_path} is in a cloud, and the system does not fetch it for this server"),
        "ask a person to download it (Finder: Download Now), then send the same call again".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_the_words_of_the_system() {
        let mut told = Vec::new();
        for is_macos in [false, true] {
            for by in [Guard::Immutable, Guard::AppendOnly] {
                let directory = Some("/a").filter(|_| by == Guard::Immutable);
                let (_, reason, hint) = marked("/a/b", directory, by, false, is_macos);
                told.push(format!("{reason}\n  {hint}"));
            }
        }
        insta::assert_snapshot!(told.join("\n"), @"
        the directory /a is immutable (chattr +i): no name in it may come or go
          choose another file, or ask a person: root can take the mark off with chattr -i
        /a/b is append-only (chattr +a): programs may only write at its end, and an edit replaces the whole file
          choose another file, or ask a person: root can take the mark off with chattr -a
        the directory /a is locked (chflags uchg or schg): no name in it may come or go
          choose another file, or ask a person: the owner, or root, can take the mark off with chflags nouchg,noschg
        /a/b is append-only (chflags uappnd or sappnd): programs may only write at its end, and an edit replaces the whole file
          choose another file, or ask a person: the owner, or root, can take the mark off with chflags nouappnd,nosappnd
        ");
    }
}
