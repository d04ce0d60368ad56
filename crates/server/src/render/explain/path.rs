//! Why a path is refused.

use mcp_text_editor_store::{PathError, Protection, Workspace};

use super::call::Call;
use super::meant::which;
use super::store::store;
use crate::problem::{Code, Problem};
use crate::render::directories;
use crate::render::paths::{allowed, shown};
use crate::tool_id::ToolId;

/// Makes the problem of a path that is refused.
pub(crate) fn path(call: Call<'_>, file_path: &str, problem: &PathError) -> Problem {
    match problem {
        PathError::Protected(protection) => protected(file_path, protection),
        PathError::Failed(error) => store(call, file_path, error),
        _ => misspelled(call.workspace, file_path, problem),
    }
    .of_file(file_path)
}

/// Makes the problem of a path that is refused for its text, or for the root it lies in; errors of the file system
/// are not worded here.
pub(crate) fn misspelled(workspace: &Workspace, file_path: &str, problem: &PathError) -> Problem {
    match problem {
        PathError::NotAbsolute { meant } => {
            let whole = || allowed("give the whole path, beginning with an allowed directory:", workspace);
            let hint = which(meant.as_deref()).unwrap_or_else(whole);
            Problem::new(Code::PathNotAbsolute, format!("File path must be absolute: {file_path}"), hint)
        }
        PathError::Traversal => Problem::new(
            Code::PathTraversal,
            format!("Path traversal not allowed: {file_path}"),
            "write the path without any `..` component",
        ),
        PathError::Unserved(unserved) => Problem::new(
            Code::OutsideAllowedDirectories,
            format!("{file_path} is in a directory that is not served: {}", directories::why(unserved)),
            directories::REMEDY,
        ),
        PathError::NulByte => Problem::new(
            Code::InvalidArguments,
            "file_path holds a NUL character",
            "send the path without it",
        ),
        PathError::RootReplaced { root } => Problem::new(
            Code::OutsideAllowedDirectories,
            format!(
                "the allowed directory {} was removed or replaced since this server was started",
                shown(root)
            ),
            "a person has to restart the server, which then takes the directory that is there",
        ),
        // [`path`] words the other kinds.
        _ => {
            let hint = allowed("the allowed directories are", workspace);
            let unserved = directories::also_unserved(workspace);
            Problem::new(
                Code::OutsideAllowedDirectories,
                format!("{file_path} is not inside an allowed directory"),
                format!("{hint}{unserved}; a person can add one to this server's command line"),
            )
        }
    }
    .of_file(file_path)
}

/// Makes the problem of a file that may not be written.
fn protected(file_path: &str, protection: &Protection) -> Problem {
    let (why, hint) = match protection {
        Protection::ReadOnly => (
            "this server changes no files".to_owned(),
            "a person can start it without --read-only".to_owned(),
        ),
        Protection::Git => {
            ("`.git` and all below it is protected".to_owned(), "use git itself, or ask a person".to_owned())
        }
        Protection::ClientFile(file) => (
            format!("programs are started through `{}` by {} ({})", file.path, file.clients, file.starts),
            "ask a person to edit it, or to start this server with --unprotect for it".to_owned(),
        ),
        Protection::Pattern(pattern) => (
            format!("it matches the protected pattern `{pattern}`"),
            "ask a person to edit it, or to start this server without that --protect".to_owned(),
        ),
    };
    let reason = format!("{file_path} may be read, but not written: {why}");
    Problem::new(Code::ProtectedPath, reason, hint).suggest(ToolId::Get)
}
