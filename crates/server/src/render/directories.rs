//! Words about configured directories that are not served, and about files that a search or a list left out.
//!
//! Clients show their users neither the server's standard error nor that the server has ended. So the model
//! gets words about these directories, to pass on to its user.

use std::fmt::Write as _;
use std::path::Path;

use mcp_text_editor_store::{
    FileOwner, SkipCause as Cause, Skipped, StoreErrorKind, Unserved, WhyUnserved, Workspace,
};
use serde_json::{Value, json};

use super::escape;
use super::escape::{on_one_line, path_among_others};
use super::limits::{allow, system};
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
    let named = line_of(&unserved.named);
    let path = line_of(&unserved.path);
    match &unserved.why {
        WhyUnserved::Failed { is_temporary: true, cause, .. } => {
            format!("the volume of the configured directory {named} does not answer ({cause})")
        }
        WhyUnserved::Failed { kind, is_file, cause, .. } => {
            let which = format!("the configured directory {named}");
            let what = match kind {
                StoreErrorKind::NotFound => format!("{which} did not exist when this server was started"),
                StoreErrorKind::NotADirectory => match unserved.path.parent().map(line_of) {
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
    if name.as_os_str().is_empty() { "\"\"".to_owned() } else { line_of(name) }
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

fn line_of(path: &Path) -> String {
    on_one_line(&escape::shown(path))
}

/// The maximum bytes, in all, of the paths in a reply that were left out.
const ROOM_FOR_PATHS: usize = 300;

/// Tells whether a list still shows a file with this cause, because only its lines were not counted.
pub(crate) fn is_listed(cause: Cause) -> bool {
    matches!(cause, Cause::Binary | Cause::Undecodable | Cause::LineTooLong)
}

/// Writes a line about what was left out for causes that `told` accepts; writes nothing if nothing was left
/// out. If the reply `is_empty`, the line names paths for all these causes, and says how to request them.
pub(crate) fn tell(skipped: &Skipped, told: impl Fn(Cause) -> bool, is_empty: bool, out: &mut String) {
    let mut capacity = ROOM_FOR_PATHS;
    let causes = skipped.iter().filter(|(cause, _)| told(*cause));
    let mut told = Vec::new();
    for (cause, files) in causes {
        let (one, many) = words(cause);
        let mut text = if files.count == 1 { format!("1 {one}") } else { format!("{} {many}", files.count) };
        if is_empty && let Some(remedy) = remedy(cause) {
            let _ = write!(text, " ({remedy})");
        }
        if is_named(cause) || is_empty {
            let names = paths(&files.names, &mut capacity);
            let rest = files.count.saturating_sub(names.len() as u64);
            if !names.is_empty() {
                let _ = write!(text, ": {}", names.join(", "));
                if rest > 0 {
                    let _ = write!(text, " and {rest} more");
                }
            }
        }
        told.push(text);
    }
    if !told.is_empty() {
        let _ = writeln!(out, "[left out: {}]", told.join("; "));
    }
}

/// Lists what was left out for causes that `told` accepts; `None` if nothing was left out.
pub(crate) fn json(skipped: &Skipped, told: impl Fn(Cause) -> bool) -> Option<Value> {
    let mut capacity = ROOM_FOR_PATHS;
    let causes = skipped.iter().filter(|(cause, _)| told(*cause)).map(|(cause, files)| {
        let paths: Vec<&String> = files.names.iter().take_while(|name| take(name, &mut capacity)).collect();
        json!({"cause": cause_name(cause), "count": files.count, "paths": paths})
    });
    let causes: Vec<Value> = causes.collect();
    (!causes.is_empty()).then_some(Value::Array(causes))
}

fn paths(names: &[String], capacity: &mut usize) -> Vec<String> {
    names
        .iter()
        .map(|name| path_among_others(name).into_owned())
        .take_while(|name| take(name, capacity))
        .collect()
}

fn take(name: &str, capacity: &mut usize) -> bool {
    let left = capacity.checked_sub(name.len());
    *capacity = left.unwrap_or(0);
    left.is_some()
}

/// Tells whether the paths are listed, which is so only if a reader may want to act on them.
fn is_named(cause: Cause) -> bool {
    !matches!(cause, Cause::Binary | Cause::Link | Cause::Special)
}

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Binary => "binary_file",
        Cause::BinaryHit => "binary_file_with_hit",
        Cause::Undecodable => "decode_failed",
        Cause::NotDecoded => "not_decoded",
        Cause::LineTooLong => "line_too_long",
        Cause::TooLarge => "too_large",
        Cause::Protected => "protected_path",
        Cause::Elsewhere => "content_elsewhere",
        Cause::Changed => "changed",
        Cause::Unreadable => "permission_denied",
        Cause::Link => "link",
        Cause::Outside => "outside_allowed_directories",
        Cause::Special => "not_a_regular_file",
        Cause::NotUnicode => "name_not_unicode",
        Cause::TooDeep => "too_deep",
        Cause::IgnoreFile => "ignore_file",
        Cause::Ignored => "ignored",
        Cause::Glob => "glob",
        Cause::GlobReading => "glob_read_otherwise",
        Cause::Depth => "depth",
        Cause::AlternativesReading => "hit_with_alternatives",
        Cause::LiteralReading => "hit_as_literal",
        Cause::ExpressionReading => "hit_as_expression",
        Cause::CompositionReading => "hit_with_other_accents",
    }
}

/// Says how to request what was left out. Used in a reply without findings.
fn remedy(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Binary => "name it to learn whether it has a hit; if it is UTF-16, give that encoding",
        Cause::Link | Cause::Ignored => "looked at only if the call names it",
        Cause::GlobReading => {
            "`\\[`, `\\]`, `\\{`, `\\}` for the characters, `*` for an accent that is composed otherwise, no `./` before"
        }
        Cause::AlternativesReading => "`\\|` is the character; alternatives are `a|b`",
        Cause::LiteralReading => "as plain text: send \"literal\": true",
        Cause::ExpressionReading => "as an expression: leave `literal` out",
        Cause::CompositionReading => {
            "accents are composed otherwise there: write `.{1,3}` for each letter with one"
        }
        _ => return None,
    })
}

/// Returns the words for one file or directory, and for several.
fn words(cause: Cause) -> (&'static str, &'static str) {
    match cause {
        Cause::Binary => ("binary file", "binary files"),
        Cause::BinaryHit => (
            "binary file with a hit, whose text no tool shows",
            "binary files with hits, whose text no tool shows",
        ),
        Cause::Undecodable => (
            "file with a hit that does not decode: give its encoding",
            "files with hits that do not decode: give their encoding",
        ),
        Cause::NotDecoded => (
            "file that does not decode, so was not searched, or for ASCII alone: give its encoding",
            "files that do not decode, so were not searched, or for ASCII alone: give their encoding",
        ),
        Cause::LineTooLong => ("file with a line too long to search", "files with lines too long to search"),
        Cause::TooLarge => (
            "file too large to match as a whole (8 MiB, less for a complex pattern)",
            "files too large to match as a whole (8 MiB, less for a complex pattern)",
        ),
        Cause::Protected => ("protected file with a hit", "protected files with hits"),
        Cause::Elsewhere => (
            "file whose content is in a cloud, and would be fetched: name it to have that",
            "files whose content is in a cloud, and would be fetched: name those that are wanted",
        ),
        Cause::Changed => ("file that kept changing", "files that kept changing"),
        Cause::Unreadable => ("that cannot be read", "that cannot be read"),
        Cause::Link => ("symbolic link", "symbolic links"),
        Cause::Outside => ("link that leads outside", "links that lead outside"),
        Cause::Special => ("FIFO, socket or device", "FIFOs, sockets or devices"),
        Cause::NotUnicode => ("name that is not Unicode", "names that are not Unicode"),
        Cause::TooDeep => ("directory nested too deep", "directories nested too deep"),
        Cause::IgnoreFile => (
            "ignore file that cannot be read or is too large, so not heeded",
            "ignore files that cannot be read or are too large, so not heeded",
        ),
        Cause::Ignored => ("ignored file or directory", "ignored files and directories"),
        Cause::Glob => ("name that does not fit `glob`", "names that do not fit `glob`"),
        Cause::GlobReading => {
            ("file that fits if `glob` is read otherwise", "files that fit if `glob` is read otherwise")
        }
        Cause::Depth => ("directory below `depth`", "directories below `depth`"),
        Cause::AlternativesReading
        | Cause::LiteralReading
        | Cause::ExpressionReading
        | Cause::CompositionReading => (
            "file with a hit if `pattern` is read otherwise",
            "files with hits if `pattern` is read otherwise",
        ),
    }
}
