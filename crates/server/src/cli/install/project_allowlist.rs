//! Decides whether a project's entry is safe to use without asking the user. A project can come from anybody,
//! and the words of an entry can make this program do anything that it is able to do: call a tool, forget the
//! history, serve the home directory.
//!
//! This module lists the allowed options and members. All others are refused, including those that later
//! versions add.

use std::path::Path;

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{Command, CommandFactory as _};
use serde_json::Value;

use super::clients::{Client, WorkingDirectory};
use crate::cli::args::Arguments;

/// The allowed arguments, by their ids in the definition of the command line. They choose what is offered and
/// shown, or forbid something. Each directory is judged separately.
const ALLOWED: &[&str] = &[
    "directories",
    "limit",
    "log_format",
    "log_level",
    "max_line_bytes",
    "max_response_bytes",
    "mode",
    "output",
    "protect",
    "read_only",
    "strict",
    "tools",
];

/// Members that switch an entry on or off, in several clients.
const SWITCHES: &[&str] = &["disabled", "enabled"];

/// Members with environment variables. They are harmless if they are empty.
const VARIABLES: &[&str] = &["env", "environment"];

/// The maximum number of directories that a project's entry may name.
const MOST_DIRECTORIES: usize = 8;

/// The maximum bytes of all arguments together.
const LONGEST: usize = 4_096;

/// Checks that the members of a project's entry, except its command and arguments, can be used without asking
/// a person. The error says why not.
pub(crate) fn members(client: &Client, entry: &Value) -> Result<(), String> {
    for (name, value) in entry.as_object().into_iter().flatten() {
        let is_empty = value.as_object().is_some_and(serde_json::Map::is_empty);
        if VARIABLES.contains(&name.as_str()) {
            if !is_empty {
                return Err(format!("`{name}` sets variables"));
            }
        } else if !client.stdio.contains_key(name) && !SWITCHES.contains(&name.as_str()) {
            return Err(format!("it has `{name}`, which `install` does not write"));
        }
    }
    Ok(())
}

/// Checks that the arguments of a project's entry can be used without asking a person. They must serve over
/// standard input and output, have only allowed options, and name only directories in the project. The error
/// says why not.
pub(crate) fn arguments(client: &Client, arguments: &[String], project: &Path) -> Result<(), String> {
    if arguments.iter().map(String::len).sum::<usize>() > LONGEST {
        return Err(format!("its arguments are longer than {LONGEST} bytes"));
    }
    // The environment of this process must not influence how the entry's arguments are parsed.
    let command = Arguments::command().mut_args(|argument| argument.env(Resettable::Reset));
    let words = std::iter::once("mcp-text-editor").chain(arguments.iter().map(String::as_str));
    let matches = command.clone().try_get_matches_from(words).map_err(|error| {
        let said = error.to_string();
        let said = said.lines().next().unwrap_or_default();
        format!("its arguments do not serve: {}", said.strip_prefix("error: ").unwrap_or(said))
    })?;
    if let Some(name) = matches.subcommand_name() {
        return Err(format!("it runs the subcommand `{name}`, and serves nothing"));
    }
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    for id in ids(&command) {
        if is_given(&id) && !ALLOWED.contains(&id.as_str()) {
            return Err(format!("it has the option --{}", id.replace('_', "-")));
        }
    }
    let named: Vec<&std::path::PathBuf> = matches.get_many("directories").into_iter().flatten().collect();
    if named.len() > MOST_DIRECTORIES {
        return Err(format!("it names more than {MOST_DIRECTORIES} directories"));
    }
    let inside = |directory: &Path| {
        // A client with `Anywhere` can start the server in any directory, so a relative path has no known
        // meaning.
        let is_known = directory.is_absolute() || client.starts != WorkingDirectory::Anywhere;
        let real = project.join(directory).canonicalize().ok().filter(|_| is_known);
        real.zip(project.canonicalize().ok()).is_some_and(|(real, project)| real.starts_with(project))
    };
    match named.into_iter().find(|directory| !inside(directory)) {
        Some(outside) => Err(format!("it names {}, which is no directory of the project", outside.display())),
        None => Ok(()),
    }
}

/// Checks that a file of a project lies in the project. If a link leads out of the project, the error says
/// where.
pub(crate) fn inside(project: &Path, file: &Path) -> Result<(), String> {
    let real = file.ancestors().find_map(|path| path.canonicalize().ok());
    match (real, project.canonicalize()) {
        (Some(real), Ok(project)) if real.starts_with(&project) => Ok(()),
        (Some(real), Ok(_)) => {
            Err(format!("{} is a link that leads out of the project, to {}", file.display(), real.display()))
        }
        _ => Err(format!("{} cannot be looked up", file.display())),
    }
}

/// Returns the ids of all arguments and options of the command itself.
fn ids(command: &Command) -> Vec<String> {
    command.get_arguments().map(|argument| argument.get_id().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// A new option is in neither list. Somebody has to decide whether it is allowed, and put it into one.
    #[test]
    fn of_every_option_somebody_has_decided_whether_a_project_may_set_it() {
        let mut refused = ids(&Arguments::command());
        refused.sort();
        let known = refused.len();
        refused.retain(|id| !ALLOWED.contains(&id.as_str()));
        assert_eq!(known, refused.len() + ALLOWED.len(), "each allowed one is there");
        insta::assert_snapshot!(refused.join(" "), @"allow_host allow_origin durability help help_all history_days history_size http in_place landlock no_history no_history_for root_name state_dir state_optional state_url token_file unprotect version");
    }

    #[test]
    fn arguments_of_a_project_serve_and_do_no_harm() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("project");
        #[expect(clippy::disallowed_methods, reason = "a test sets its directories up")]
        std::fs::create_dir_all(project.join("src")).unwrap();
        let check = |client: &str, words: &str| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let said = arguments(Client::named(client).unwrap(), &words, &project);
            said.map_or_else(|why| why, |()| "harmless".to_owned())
        };
        let mut said = String::new();
        for words in [
            "",
            "--tools claude-code",
            "--tools=all --strict --read-only --limit files=5 --protect *.lock -- src",
            ". src ./src/../src",
            "..",
            "/",
            "~",
            "not-there",
            ". . . . . . . . .",
            "call create_text_file file_path=/tmp/x contents=x",
            "--strict history forget",
            "install cursor --force --command evil",
            "man",
            "doctor",
            "--http 127.0.0.1:0",
            "--unprotect .git",
            "--state-dir src",
            "--history-days 1",
            "--history-size=1048576",
            "--no-history",
            "--in-place *",
            "--landlock off",
            "--token-file x",
            "--help",
            "--tolls all",
            "--output evil",
        ] {
            writeln!(said, "{words}: {}", check("cursor", words)).unwrap();
        }
        writeln!(said, "{}", check("zed", "src")).unwrap();
        writeln!(said, "{}", check("zed", project.to_str().unwrap())).unwrap();
        writeln!(said, "{}", check("cursor", &"-".repeat(5_000))).unwrap();
        insta::assert_snapshot!(said, @r"
        : harmless
        --tools claude-code: harmless
        --tools=all --strict --read-only --limit files=5 --protect *.lock -- src: harmless
        . src ./src/../src: harmless
        ..: it names .., which is no directory of the project
        /: it names /, which is no directory of the project
        ~: it names ~, which is no directory of the project
        not-there: it names not-there, which is no directory of the project
        . . . . . . . . .: it names more than 8 directories
        call create_text_file file_path=/tmp/x contents=x: it runs the subcommand `call`, and serves nothing
        --strict history forget: it runs the subcommand `history`, and serves nothing
        install cursor --force --command evil: it runs the subcommand `install`, and serves nothing
        man: it runs the subcommand `man`, and serves nothing
        doctor: it runs the subcommand `doctor`, and serves nothing
        --http 127.0.0.1:0: it has the option --http
        --unprotect .git: it has the option --unprotect
        --state-dir src: it has the option --state-dir
        --history-days 1: it has the option --history-days
        --history-size=1048576: it has the option --history-size
        --no-history: it has the option --no-history
        --in-place *: it has the option --in-place
        --landlock off: it has the option --landlock
        --token-file x: it has the option --token-file
        --help: its arguments do not serve: An MCP server through which a language model reads and edits text files
        --tolls all: its arguments do not serve: unexpected argument '--tolls' found
        --output evil: its arguments do not serve: invalid value 'evil' for '--output <FOR>'
        it names src, which is no directory of the project
        harmless
        its arguments are longer than 4096 bytes
        ");
    }

    #[test]
    fn members_are_those_that_install_writes() {
        let check = |client: &str, entry: Value| members(Client::named(client).unwrap(), &entry);
        let own = |entry: &str| serde_json::from_str::<Value>(entry).unwrap();
        assert_eq!(check("gemini", own(r#"{"command": "x", "args": [], "trust": true, "env": {}}"#)), Ok(()));
        for (client, entry) in [
            ("gemini", r#"{"command": "x", "env": {"LD_PRELOAD": "x"}}"#),
            ("gemini", r#"{"command": "x", "env": [["LD_PRELOAD", "x"]]}"#),
            ("opencode", r#"{"command": ["x"], "env": {"PATH": "."}}"#),
            ("vscode", r#"{"command": "x", "envFile": ".env"}"#),
            ("gemini", r#"{"command": "x", "cwd": "/"}"#),
            ("cursor", r#"{"command": "x", "trust": true}"#),
        ] {
            assert!(check(client, own(entry)).is_err(), "{entry}");
        }
    }
}
