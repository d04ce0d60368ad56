//! Words the limits: their values, and the problem of a call that exceeds one.
//!
//! The problem of a call that exceeds a limit has the code `too_large`. It names the limit, its value, the
//! requested amount and the remedy. The exception is a message line that is too long: its call has not been
//! read, so the answer is a JSON-RPC error.
//!
//! Words messages about files to which a privacy setting of macOS or Windows denies programs access.

use std::fmt;
use std::path::Path;

use mcp_text_editor_store::Privacy;

use super::escape::on_one_line;
use crate::limits::{Exceeded, Limit, Limits, NONE, Unit};
use crate::problem::{Code, Problem};

/// Prints a value of a limit.
#[must_use]
pub(crate) fn value(limit: Limit, value: u64) -> String {
    match limit.unit() {
        _ if value == NONE => "none".to_owned(),
        Unit::Count => value.to_string(),
        Unit::Seconds => format!("{value} s"),
        Unit::Bytes => size(value),
    }
}

/// Prints a number of bytes in the largest unit that divides it.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

/// Makes the problem of a call that exceeds a limit.
#[must_use]
pub(crate) fn exceeded(limits: &Limits, exceeded: Exceeded) -> Problem {
    too_large(limits, exceeded.limit, asked(exceeded))
}

/// Makes the problem of a call that exceeds this limit. `asked` is a clause, without a full stop, with the
/// amount that the call requested.
#[must_use]
pub(crate) fn too_large(limits: &Limits, limit: Limit, asked: impl fmt::Display) -> Problem {
    let name = limit.name();
    let value = value(limit, limits.get(limit));
    let hint = format!("{}; a person can start this server with a higher --limit {name}=…", advice(limit));
    Problem::new(Code::TooLarge, format!("{asked}, and the limit `{name}` is {value}"), hint)
}

/// Returns a clause with the amount that the call requested.
fn asked(Exceeded { limit, asked }: Exceeded) -> String {
    match limit {
        Limit::Files => format!("the call names {asked} files"),
        Limit::Patches => format!("the call has {asked} patches"),
        Limit::Ranges => format!("the call has {asked} ranges"),
        Limit::Text => format!("the call has {asked} bytes of text"),
        Limit::Values => format!("the arguments hold {asked} values"),
        Limit::Depth => format!("the arguments nest {asked} levels deep"),
        Limit::Occurrences => {
            format!("the patches with replace_all replace {asked} occurrences in this file")
        }
        Limit::Inserted => format!("the call puts {asked} bytes of new text into this file"),
        Limit::Line | Limit::File | Limit::Seconds | Limit::Calls => {
            format!("the call needs {} of {}", value(limit, asked), limit.name())
        }
    }
}

/// Says what a client can do instead.
const fn advice(limit: Limit) -> &'static str {
    match limit {
        Limit::Files => "name fewer files in one call",
        Limit::Patches => "send fewer patches in one call",
        Limit::Ranges => "send fewer ranges in one call",
        Limit::Text => {
            "send less text in one call; a long file is made from a part of it, to which further calls add the rest"
        }
        Limit::Values => "send less in one call",
        Limit::Depth => "send the arguments as the tool's schema has them; none nests deeper than 7",
        Limit::Line => "send a shorter line",
        Limit::File => "edit it with another program",
        Limit::Inserted => "give shorter new text, or fewer places in one call",
        Limit::Occurrences => {
            "make old_string longer, so that it occurs less often, or name the lines by ranges"
        }
        Limit::Seconds => "name fewer or smaller files in one call",
        Limit::Calls => "",
    }
}

/// Returns the reason why a privacy setting denies a path, and the hint.
pub(in crate::render) fn refused(path: &str, privacy: Privacy) -> (String, String) {
    let reason = format!("{} keeps this server from {path}: {}", system(privacy), setting(privacy).0);
    (reason, format!("tell the user; permissions make no difference here. {}", allow(privacy)))
}

/// Returns the name of the system that has such a setting.
pub(super) fn system(privacy: Privacy) -> &'static str {
    if privacy == Privacy::ControlledFolder { "Windows" } else { "macOS" }
}

/// Says how a person can allow the access. A permission that macOS grants to a client may not extend to its
/// servers: Claude Desktop starts them through a helper program.
pub(crate) fn allow(privacy: Privacy) -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let program = on_one_line(&program.to_string_lossy());
    let page = setting(privacy).1;
    if privacy == Privacy::ControlledFolder {
        return format!("A person has to allow {program} in {page}, or move the project to another folder");
    }
    format!(
        "A person has to allow it to {program}, or to the terminal that starts it, in System Settings › Privacy & Security › {page}, and \
         start the client again. A new version of a program that is not signed must be allowed again. A project outside that folder needs none \
         of this"
    )
}

/// Returns the macOS setting that governs a directory below a home directory.
pub(crate) fn of_folder(home: &Path, directory: &Path) -> Option<Privacy> {
    let first = directory.strip_prefix(home).ok()?.iter().next()?;
    let folders =
        [("Desktop", Privacy::Desktop), ("Documents", Privacy::Documents), ("Downloads", Privacy::Downloads)];
    folders.into_iter().find(|(name, _)| first.eq_ignore_ascii_case(name)).map(|(_, privacy)| privacy)
}

/// Returns the reason, and the page of the system's settings where a person can change it.
fn setting(privacy: Privacy) -> (&'static str, &'static str) {
    match privacy {
        Privacy::Desktop => {
            ("the Desktop folder is private", "Files & Folders › Desktop Folder (or Full Disk Access)")
        }
        Privacy::Documents => {
            ("the Documents folder is private", "Files & Folders › Documents Folder (or Full Disk Access)")
        }
        Privacy::Downloads => {
            ("the Downloads folder is private", "Files & Folders › Downloads Folder (or Full Disk Access)")
        }
        Privacy::Volume => (
            "removable and network volumes are private",
            "Files & Folders › Removable Volumes or Network Volumes (or Full Disk Access)",
        ),
        Privacy::ControlledFolder => (
            "Controlled Folder Access protects the folder",
            "Windows Security › Virus & threat protection › Ransomware protection › Allow an app through Controlled folder access",
        ),
        Privacy::Library => ("what applications and iCloud Drive keep is private", "Full Disk Access"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_which_setting_to_change() {
        let all =
            [Privacy::Desktop, Privacy::Documents, Privacy::Downloads, Privacy::Volume, Privacy::Library];
        let (reason, hint) = refused("/Users/ada/Documents/app/a.rs", Privacy::Documents);
        let exe = std::env::current_exe().unwrap();
        let masked = |text: String| text.replace(exe.to_str().unwrap(), "PROGRAM");
        insta::assert_snapshot!(masked(format!("{reason}\n{hint}")), @"
        macOS keeps this server from /Users/ada/Documents/app/a.rs: the Documents folder is private
        tell the user; permissions make no difference here. A person has to allow it to PROGRAM, or to the terminal that starts it, in System Settings › Privacy & Security › Files & Folders › Documents Folder (or Full Disk Access), and start the client again. A new version of a program that is not signed must be allowed again. A project outside that folder needs none of this
        ");
        let (reason, hint) = refused(r"C:\Users\ada\Documents\a.rs", Privacy::ControlledFolder);
        insta::assert_snapshot!(masked(format!("{reason}\n{hint}")), @r"
        Windows keeps this server from C:\Users\ada\Documents\a.rs: Controlled Folder Access protects the folder
        tell the user; permissions make no difference here. A person has to allow PROGRAM in Windows Security › Virus & threat protection › Ransomware protection › Allow an app through Controlled folder access, or move the project to another folder
        ");
        let home = Path::new("/Users/ada");
        let of = |path: &str| of_folder(home, Path::new(path));
        assert_eq!(
            [of("/Users/ada/Documents/app"), of("/Users/ada/desktop")],
            [Some(Privacy::Documents), Some(Privacy::Desktop)]
        );
        assert_eq!([of("/Users/ada/app/Documents"), of("/Users/ada"), of("/opt/Documents")], [None; 3]);
        let messages: Vec<String> = all
            .into_iter()
            .map(|privacy| {
                let (reason, hint) = refused("x", privacy);
                let setting = hint.split("Privacy & Security › ").nth(1).unwrap();
                format!("{reason} | {}", setting.split(", and").next().unwrap())
            })
            .collect();
        insta::assert_snapshot!(messages.join("\n"), @"
        macOS keeps this server from x: the Desktop folder is private | Files & Folders › Desktop Folder (or Full Disk Access)
        macOS keeps this server from x: the Documents folder is private | Files & Folders › Documents Folder (or Full Disk Access)
        macOS keeps this server from x: the Downloads folder is private | Files & Folders › Downloads Folder (or Full Disk Access)
        macOS keeps this server from x: removable and network volumes are private | Files & Folders › Removable Volumes or Network Volumes (or Full Disk Access)
        macOS keeps this server from x: what applications and iCloud Drive keep is private | Full Disk Access
        ");
    }
}
