//! Greets a person who starts the server at a terminal. Without the greeting, the server would wait in
//! silence.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use mcp_text_editor_store::Workspace;
use serde_json::json;

use crate::render::escape::{json_text, on_one_line};

/// Commands of other programs, each with the command or option of this program that serves the same purpose.
const HABITS: [(&str, &str); 6] = [
    ("help", "--help"),
    ("version", "--version"),
    ("status", "doctor"),
    ("list", "history"),
    ("log", "history"),
    ("show", "history show EDIT_ID"),
];

/// Tells whether a person, and not a client, has started the server, at a terminal.
fn is_by_hand() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns the message for a person who typed a word that is neither a command nor a directory. A client that
/// names a missing directory is still served (R112). So words that are not in `HABITS` are refused only at a
/// terminal.
pub(super) fn unknown_word(directories: &[PathBuf]) -> Option<String> {
    let word = directories.first()?;
    let habit = HABITS.iter().find(|(habit, _)| word.as_os_str() == *habit);
    let is_word = word.file_name() == Some(word.as_os_str());
    if word.exists() || !is_word || habit.is_none() && !is_by_hand() {
        return None;
    }
    let (word, instead) = (word.display(), habit.map_or("--help", |(_, instead)| instead));
    Some(format!("there is no command and no directory {word}; try mcp-text-editor {instead}"))
}

/// Says on standard error what the program is, and how to connect a client to it. Does so only if standard
/// input and standard error are terminals, because then no client has started the program.
pub fn greet(workspace: &Workspace) {
    if is_by_hand() {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("mcp-text-editor"));
        let roots: Vec<String> = workspace.roots().map(|root| root.display().to_string()).collect();
        // A write error is ignored, since nobody would see its report.
        let _ = io::stderr()
            .write_all(greeting(&program.display().to_string(), &roots, workspace.is_read_only()).as_bytes());
    }
}

/// Returns the greeting of a server that serves these directories.
fn greeting(program: &str, roots: &[String], is_read_only: bool) -> String {
    let end = if cfg!(windows) { "Ctrl-Z and Enter end" } else { "Ctrl-D ends" };
    let edits = if is_read_only { "reads" } else { "reads and edits" };
    let files = match roots {
        [] => "It serves no directory.".to_owned(),
        roots => {
            let shown: Vec<String> = roots.iter().map(|root| on_one_line(root)).collect();
            format!("It {edits} the files in {}.", shown.join(", "))
        }
    };
    let entry = json_text(&json!({"mcpServers": {"text-editor": {"command": program, "args": roots}}}));
    format!(
        "mcp-text-editor {} is an MCP server: a client starts it, and speaks with it here. {end} it; --help tells more.\n\
         {files}\n\
         To connect a client, run `mcp-text-editor install CLIENT`, or put this entry into its configuration: {entry}\n",
        env!("CARGO_PKG_VERSION"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_what_it_is_where_it_works_and_how_it_is_connected() {
        let check = |roots: &[&str], is_read_only: bool| {
            let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
            greeting("/bin/mcp-text-editor", &roots, is_read_only)
                .replace(env!("CARGO_PKG_VERSION"), "VERSION")
                .replace("Ctrl-Z and Enter end", "Ctrl-D ends")
        };
        insta::assert_snapshot!(check(&["/home/ada/app", "/srv/a \"b\"\n\u{202e}"], false), @r#"
        mcp-text-editor VERSION is an MCP server: a client starts it, and speaks with it here. Ctrl-D ends it; --help tells more.
        It reads and edits the files in /home/ada/app, /srv/a "b"\n\u202e.
        To connect a client, run `mcp-text-editor install CLIENT`, or put this entry into its configuration: {"mcpServers":{"text-editor":{"command":"/bin/mcp-text-editor","args":["/home/ada/app","/srv/a \"b\"\n\u202e"]}}}
        "#);
        insta::assert_snapshot!(check(&["/srv"], true).lines().nth(1).unwrap(), @"It reads the files in /srv.");
        insta::assert_snapshot!(check(&[], false).lines().nth(1).unwrap(), @"It serves no directory.");
    }
}
