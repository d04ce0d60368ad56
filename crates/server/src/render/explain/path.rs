//! Words the reasons why a path is refused.

use std::path::{Component, Path};

use mcp_text_editor_store::{PathError, Protection, Suggestion, Unusable, UnusableName, Workspace};

use super::call::{Call, CalledFile};
use super::store::{store, which};
use crate::problem::{Code, Problem};
use crate::render::directories;
use crate::render::escape::{allowed, shown};
use crate::tool_id::ToolId;

/// Makes the problem of a path that is refused.
pub(crate) fn path(call: Call<'_>, named: CalledFile<'_>, problem: &PathError) -> Problem {
    let file_path = named.file_path;
    match problem {
        PathError::Protected(protection) => protected(file_path, protection),
        PathError::Failed(error) => store(call, named, error),
        _ => misspelled(call.tool, call.workspace, file_path, problem),
    }
    .of_file(file_path)
}

/// Makes the problem of a path that is refused for its text, or for the root it lies in; errors of the file
/// system are not worded here.
pub(crate) fn misspelled(
    tool: ToolId,
    workspace: &Workspace,
    file_path: &str,
    problem: &PathError,
) -> Problem {
    match problem {
        PathError::NotAbsolute { suggested } => {
            let whole = || {
                let lead = "give the whole path, beginning with an allowed directory:";
                allowed(&format!("{}{lead}", half_absolute(file_path)), workspace)
            };
            let hint = which(tool, suggested.as_deref()).unwrap_or_else(whole);
            Problem::new(Code::PathNotAbsolute, format!("File path must be absolute: {file_path}"), hint)
        }
        PathError::Traversal => Problem::new(
            Code::PathTraversal,
            format!("Path traversal not allowed: {file_path}"),
            "write the path without any `..` component",
        ),
        PathError::Unserved(unserved) => directories::not_served(file_path, unserved),
        PathError::Unusable(unusable) => unusable_name(file_path, unusable),
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
        PathError::Outside { suggested } => outside(tool, workspace, file_path, suggested.as_deref()),
        // [`path`] words the other kinds.
        _ => outside(tool, workspace, file_path, None),
    }
    .of_file(file_path)
}

/// Makes the problem of a path that leads into no root. `suggested` lies in a root, so the hint reveals
/// nothing of what is outside.
fn outside(tool: ToolId, workspace: &Workspace, file_path: &str, suggested: Option<&Suggestion>) -> Problem {
    let hint = allowed("the allowed directories are", workspace);
    let unserved = directories::also_unserved(workspace);
    let hint = match which(tool, suggested) {
        Some(which) => format!("{which} {hint}{unserved}"),
        None => format!("{hint}{unserved}; a person can add one to this server's command line"),
    };
    Problem::new(
        Code::OutsideAllowedDirectories,
        format!("{file_path} is not inside an allowed directory"),
        hint,
    )
}

/// Says how Windows reads a path with a drive's letter but no separator after the colon, a separator but no
/// drive, or the prefix of a device; empty for other paths, and on other systems.
fn half_absolute(file_path: &str) -> &'static str {
    let path = Path::new(file_path);
    match path.components().next() {
        Some(Component::Prefix(prefix)) if !prefix.kind().is_verbatim() && !path.has_root() => {
            "without a separator after the colon it is taken from the drive's current directory on; "
        }
        Some(Component::Prefix(_)) => "it names a device or a volume, not a file by its drive or share; ",
        Some(Component::RootDir) => "without a drive's letter it is taken from the current drive; ",
        _ => "",
    }
}

/// Makes the problem of a path with a name that no file of Windows can have.
fn unusable_name(file_path: &str, unusable: &UnusableName) -> Problem {
    let UnusableName { name, why, instead } = unusable;
    let why = match why {
        Unusable::Character(character) => {
            format!("`{}` may not stand in a name on Windows", character.escape_default())
        }
        Unusable::Stream => {
            "a colon begins the name of a stream of the file, and only files themselves are read and edited"
                .to_owned()
        }
        Unusable::End => "Windows leaves out dots and blanks at the end of a name".to_owned(),
        Unusable::Device => "on Windows that is a device's name, with an extension or without".to_owned(),
    };
    let hint = match instead {
        Some(instead) => format!("if {} is meant, send that", shown(instead)),
        None => "name another file".to_owned(),
    };
    Problem::new(
        Code::InvalidArguments,
        format!(
            "{file_path} names no file: `{}` cannot be the name of one, since {why}",
            name.escape_debug()
        ),
        hint,
    )
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
        Protection::OwnConfiguration => (
            "it is a client's configuration, which names programs to start".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_windows_does_not_take_is_told_with_what_it_would_mean() {
        let check = |path: &str, name: &str, why, instead: Option<&str>, reason: &str, hint: &str| {
            let unusable = UnusableName { name: name.to_owned(), why, instead: instead.map(Into::into) };
            let problem = unusable_name(path, &unusable);
            assert_eq!(problem.code, Code::InvalidArguments);
            assert_eq!((problem.reason.as_str(), problem.hint.as_str()), (reason, hint));
        };
        check(
            r"C:\a\.env::$DATA",
            ".env::$DATA",
            Unusable::Stream,
            Some(r"C:\a\.env"),
            r"C:\a\.env::$DATA names no file: `.env::$DATA` cannot be the name of one, since a colon begins the name of a stream of the file, and only files themselves are read and edited",
            r"if C:\a\.env is meant, send that",
        );
        check(
            r"C:\a\secret.",
            "secret.",
            Unusable::End,
            Some(r"C:\a\secret"),
            r"C:\a\secret. names no file: `secret.` cannot be the name of one, since Windows leaves out dots and blanks at the end of a name",
            r"if C:\a\secret is meant, send that",
        );
        check(
            r"C:\NUL",
            "NUL",
            Unusable::Device,
            None,
            r"C:\NUL names no file: `NUL` cannot be the name of one, since on Windows that is a device's name, with an extension or without",
            "name another file",
        );
        check(
            r"C:\a?b",
            "a?b",
            Unusable::Character('?'),
            None,
            r"C:\a?b names no file: `a?b` cannot be the name of one, since `?` may not stand in a name on Windows",
            "name another file",
        );
    }
}
