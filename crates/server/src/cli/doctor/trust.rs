//! Finds out whether a client trusts a directory. Some clients start a server only where a person has said
//! that they trust the directory.

use std::path::Path;

use serde_json::Value;

use crate::cli::install::clients::Client;
use crate::cli::install::machine::Machine;
use crate::cli::install::{Syntax, at};

/// Says what is missing if the client is known not to trust a directory. `is_project` tells whether the entry
/// is the project's own; `read` reads a configuration.
pub(super) fn missing(
    client: &Client,
    machine: &Machine,
    directory: &Path,
    is_project: bool,
    read: &dyn Fn(&Path, Syntax) -> Option<Value>,
) -> Option<String> {
    let is_above = |text: &str| directory.starts_with(text);
    let trusted = match client.name {
        "gemini" => {
            let settings = machine.named_or_home("GEMINI_CLI_HOME", "").join(".gemini");
            let folders = read(&settings.join("trustedFolders.json"), Syntax::Json);
            let by_folder = folders.as_ref().and_then(Value::as_object).is_some_and(|folders| {
                folders.iter().any(|(folder, level)| match level.as_str() {
                    Some("TRUST_FOLDER") => is_above(folder),
                    Some("TRUST_PARENT") => {
                        Path::new(folder).parent().is_some_and(|parent| directory.starts_with(parent))
                    }
                    _ => false,
                })
            });
            let own = read(&settings.join("settings.json"), Syntax::Json);
            let is_off = own.as_ref().and_then(|own| at(own, &["security", "folderTrust", "enabled"]))
                == Some(&Value::Bool(false));
            by_folder
                || is_off
                || machine.variable("GEMINI_CLI_TRUST_WORKSPACE").is_some_and(|value| value == "true")
        }
        "codex" if is_project => {
            let own = read(&machine.named_or_home("CODEX_HOME", ".codex").join("config.toml"), Syntax::Toml);
            let projects = own.as_ref().and_then(|own| own.get("projects")).and_then(Value::as_object);
            projects.is_some_and(|projects| {
                projects.iter().any(|(folder, told)| {
                    is_above(folder) && told.get("trust_level") == Some(&Value::from("trusted"))
                })
            })
        }
        "copilot" if is_project => {
            let own =
                read(&machine.named_or_home("COPILOT_HOME", ".copilot").join("config.json"), Syntax::Json);
            let folders =
                own.as_ref().and_then(|own| own.get("trusted_folders").or_else(|| own.get("trustedFolders")));
            let folders = folders.and_then(Value::as_array).into_iter().flatten();
            folders.filter_map(Value::as_str).any(is_above)
        }
        _ => true,
    };
    (!trusted).then(|| format!("{} was not told to trust {}", client.program, directory.display()))
}
