//! Words messages about files to which a privacy setting of macOS or Windows denies programs access.

use std::path::Path;

use mcp_text_editor_store::Privacy;

use super::escape::on_one_line;

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
