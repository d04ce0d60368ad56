//! Words about configured directories that are not served. Clients show their users neither the server's
//! standard error nor that the server has ended. So the model gets words about these directories, to pass on
//! to its user.

use std::path::Path;

use mcp_text_editor_store::{FileOwner, StoreErrorKind, Unserved, WhyUnserved, Workspace};

use super::escape::on_one_line;
use super::paths;
use super::privacy::{allow, system};
use crate::problem::{Code, Problem};

/// The remedy for a person, which applies to every reason.
pub const REMEDY: &str = "a person has to name a directory that exists in the client's configuration of this server, or \
                          make this one, and restart the server";

/// The next step if a volume does not answer.
pub const REMEDY_OF_A_VOLUME: &str = "call again in some seconds: the directory is served as soon as its volume answers; \
                                      tell the user if it does not come back";

/// Makes the problem of a path in a configured directory that is not served.
pub(crate) fn not_served(file_path: &str, unserved: &Unserved) -> Problem {
    let (code, remedy) = if unserved.is_temporary() {
        (Code::IoError, REMEDY_OF_A_VOLUME)
    } else {
        (Code::OutsideAllowedDirectories, REMEDY)
    };
    Problem::new(code, format!("{file_path} is in a directory that is not served: {}", why(unserved)), remedy)
}

/// Says why a directory is not served, and which mistake in its name is likely.
#[must_use]
pub fn why(unserved: &Unserved) -> String {
    let named = shown(&unserved.named);
    let path = shown(&unserved.path);
    match &unserved.why {
        WhyUnserved::Failed { is_temporary: true, cause, .. } => {
            format!("the volume of the configured directory {named} does not answer ({cause})")
        }
        WhyUnserved::Failed { kind, is_file, cause, .. } => {
            let which = format!("the configured directory {named}");
            let what = match kind {
                StoreErrorKind::NotFound => format!("{which} did not exist when this server was started"),
                StoreErrorKind::NotADirectory => match unserved.path.parent().map(shown) {
                    Some(parent) if *is_file => {
                        format!("{which} is a file, not a directory; the one that holds it is {parent}")
                    }
                    _ => format!("{which} leads through a file"),
                },
                StoreErrorKind::PermissionDenied => {
                    format!("{which} may not be opened by the user who runs this server")
                }
                StoreErrorKind::Private(privacy) => {
                    format!("{} keeps this server from {which}. {}", system(*privacy), allow(*privacy))
                }
                _ => format!("{which} cannot be opened: {cause}"),
            };
            match looks_like(unserved) {
                Some(mistake) => format!("{what}: {mistake}"),
                None if unserved.named != unserved.path => {
                    format!("{what}: it is relative, and means {path}, since the server was started there")
                }
                None => what,
            }
        }
        WhyUnserved::Empty => {
            "the name of a configured directory is empty, perhaps that of a variable which has no value"
                .to_owned()
        }
        WhyUnserved::OnlyWhenNamed(whose) => format!(
            "no directory was named, and the current one is {} ({path}), which is served only when named",
            match whose {
                FileOwner::Machine => "the whole file system",
                FileOwner::System => "the system's, or an installed program's",
                FileOwner::People => "that of everybody's home directories",
                FileOwner::Person => "the home directory",
            },
        ),
        WhyUnserved::NoCurrentDirectory(cause) if named.is_empty() => {
            format!("no directory was named, and the current one cannot be read: {cause}")
        }
        WhyUnserved::NoCurrentDirectory(cause) => {
            format!(
                "the configured directory {named} is relative, and the current one cannot be read: {cause}"
            )
        }
    }
}

/// Returns the name of a directory that is not served, for places without room for the reason.
#[must_use]
pub fn name(unserved: &Unserved) -> String {
    let name = if unserved.named.as_os_str().is_empty() { &unserved.path } else { &unserved.named };
    if name.as_os_str().is_empty() { "\"\"".to_owned() } else { shown(name) }
}

/// Guesses the mistake in a directory's name; `None` if none is likely.
fn looks_like(unserved: &Unserved) -> Option<String> {
    let named = unserved.named.to_string_lossy();
    let trimmed = named.trim().trim_matches(['"', '\'']);
    let says = |words: &str| Some(words.to_owned());
    if named.starts_with('~') {
        return says("`~` is for a shell to expand, and clients start none, so write the home directory out");
    }
    let is_variable = named.contains("${")
        || named.contains("{{")
        || named.starts_with('$')
        || named.matches('%').count() > 1;
    if is_variable {
        return says("it looks like a variable that the client did not expand, so write the path out");
    }
    if named.starts_with("file:") {
        return says("it is a URL, so write the path instead");
    }
    if trimmed != named {
        return Some(format!("there are quotes or blanks around it, and {} is meant", on_one_line(trimmed)));
    }
    if named.starts_with("/path/to") {
        return says("it is the example's, to be replaced by one of your own");
    }
    None
}

/// Returns a note that names the directories that are not served, for the end of a list of the allowed ones;
/// empty if there are none.
pub(crate) fn also_unserved(workspace: &Workspace) -> String {
    let names: Vec<String> = workspace.unserved().map(name).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" (not served, since they could not be opened: {})", names.join(", "))
    }
}

/// An example path of a person's directory on this system.
const EXAMPLE: &str = if cfg!(windows) {
    "C:/Users/ada/project"
} else if cfg!(target_os = "macos") {
    "/Users/ada/project"
} else {
    "/home/ada/project"
};

/// Makes the problem of every call to a server that serves nothing.
pub(crate) fn nothing_served(workspace: &Workspace) -> Problem {
    let is_temporary = workspace.unserved().any(Unserved::is_temporary);
    let why: Vec<String> = workspace.unserved().map(why).collect();
    if is_temporary {
        let reason = format!("no directory can be reached now: {}", why.join("; "));
        return Problem::new(Code::IoError, reason, REMEDY_OF_A_VOLUME);
    }
    Problem::new(
        Code::OutsideAllowedDirectories,
        format!("this server serves no directory: {}", why.join("; ")),
        format!(
            "tell the user; no other call will do. A person has to name a directory that exists in the client's configuration, \
             such as {{\"mcpServers\": {{\"text-editor\": {{\"command\": \"mcp-text-editor\", \"args\": [\"{EXAMPLE}\"]}}}}}}, and \
             restart the server"
        ),
    )
}

fn shown(path: &Path) -> String {
    on_one_line(&paths::shown(path))
}
