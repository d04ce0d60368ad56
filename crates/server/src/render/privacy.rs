//! Words about files of a person that macOS keeps programs from.

use mcp_text_editor_store::Privacy;

/// Returns reason and hint for a privacy setting of macOS. Such a setting holds for the program that a person
/// started, and for all that this program starts.
pub(in crate::render) fn refused(path: &str, privacy: Privacy) -> (String, String) {
    let reason = format!("macOS keeps this server from {path}: {}", setting(privacy).0);
    (reason, format!("tell the user; permissions make no difference here. {}", allow(privacy)))
}

/// Says what a person has to do so that a privacy setting allows it.
pub(super) fn allow(privacy: Privacy) -> String {
    format!(
        "A person has to allow it to the program that starts this server (the client, or the terminal that it runs in) in System Settings › \
         Privacy & Security › {}, and start that program again",
        setting(privacy).1
    )
}

/// Returns what is private, and where that is set.
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
        insta::assert_snapshot!(format!("{reason}\n{hint}"), @"
        macOS keeps this server from /Users/ada/Documents/app/a.rs: the Documents folder is private
        tell the user; permissions make no difference here. A person has to allow it to the program that starts this server (the client, or the terminal that it runs in) in System Settings › Privacy & Security › Files & Folders › Documents Folder (or Full Disk Access), and start that program again
        ");
        let told: Vec<String> = all
            .into_iter()
            .map(|privacy| {
                let (reason, hint) = refused("x", privacy);
                let setting = hint.split("Privacy & Security › ").nth(1).unwrap();
                format!("{reason} | {}", setting.split(", and").next().unwrap())
            })
            .collect();
        insta::assert_snapshot!(told.join("\n"), @"
        macOS keeps this server from x: the Desktop folder is private | Files & Folders › Desktop Folder (or Full Disk Access)
        macOS keeps this server from x: the Documents folder is private | Files & Folders › Documents Folder (or Full Disk Access)
        macOS keeps this server from x: the Downloads folder is private | Files & Folders › Downloads Folder (or Full Disk Access)
        macOS keeps this server from x: removable and network volumes are private | Files & Folders › Removable Volumes or Network Volumes (or Full Disk Access)
        macOS keeps this server from x: what applications and iCloud Drive keep is private | Full Disk Access
        ");
    }
}
