//! The subcommands `completions` and `man`. Both documents are made from the definition of the command line.

use std::io::{self, Write};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use super::args::Arguments;
use super::install::clients::CLIENTS;
use crate::config::ToolSet;
use crate::tool_id::ToolId;

/// A document about the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommandDocument {
    /// The script with which a shell completes the command line.
    Completions(Shell),
    /// The manual page of the program or, if names are given, of a subcommand (`["history", "forget"]`).
    Page(Vec<String>),
}

/// The reason why a document cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// There is no subcommand of that name.
    #[error("there is no subcommand `{0}`")]
    Unknown(String),
    /// The document cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

const PROGRAM: &str = "mcp-text-editor";

/// The beginning of the names of clap's functions for fish.
const FISH: &str = "__fish_mcp_text_editor";

/// Adds the possible values of the arguments that clap itself does not check, because they are parsed later,
/// or are lists with commas.
fn with_values(command: Command) -> Command {
    let clients = || CLIENTS.iter().map(|client| PossibleValue::new(client.name).help(client.program));
    let tools = || ToolId::ALL.iter().map(|tool| PossibleValue::new(tool.name()));
    let sets = ToolSet::NAMES.iter().copied().map(PossibleValue::new).chain(tools());
    let values = [
        ("install", "client", PossibleValuesParser::new(clients())),
        ("doctor", "client", PossibleValuesParser::new(clients())),
        ("call", "tool", PossibleValuesParser::new(tools())),
    ];
    // `mut_arg` would move the changed argument after all others; `mut_args` keeps the order.
    let of = |command: Command, id: &str, values: &PossibleValuesParser| {
        command.mut_args(|argument| {
            if argument.get_id() == id { argument.value_parser(values.clone()) } else { argument }
        })
    };
    let command = of(command, "tools", &PossibleValuesParser::new(sets));
    values.into_iter().fold(command, |command, (subcommand, id, values)| {
        command.mut_subcommand(subcommand, |found| of(found, id, &values))
    })
}

/// Returns clap's script without its defects:
///
/// - bash: if the program's name has a hyphen, clap spells a subcommand in two ways, so nothing is completed
///   after it (clap-rs/clap#6529).
/// - zsh: clap expects a directory before a subcommand, though a command line can have only one of the two.
/// - fish: clap's script finds no command line while an option at the end still lacks its value, and it
///   offers no values of positional arguments.
fn completed(shell: Shell, command: &Command, script: &str) -> String {
    match shell {
        Shell::Bash => script.replace(&PROGRAM.replace('-', "__subcmd__"), &PROGRAM.replace('-', "__")),
        Shell::Fish => {
            let parse = format!("argparse -s ({FISH}_global_optspecs) -- $cmd 2>/dev/null\n");
            let again = format!("{parse}    or begin\n        set -e cmd[-1]\n        {parse}    end\n");
            format!("{}{}", script.replace(&parse, &again), operands(command))
        }
        Shell::Zsh => {
            let without_directory = |line: &&str| !line.starts_with("'::directories -- ");
            let lines: String = script.split_inclusive('\n').filter(without_directory).collect();
            let either = format!("\": :{{_{PROGRAM}_commands || _files -/}}\"");
            let lines = lines.replacen(&format!("\":: :_{PROGRAM}_commands\""), &either, 1);
            // The first three occurrences belong to the command itself; the later ones belong to subcommands.
            lines.replacen("$line[2]", "$line[1]", 3)
        }
        _ => script.to_owned(),
    }
}

/// Returns fish's completions for the values of positional arguments.
fn operands(command: &Command) -> String {
    let of = |subcommand: &Command| {
        let values = subcommand.get_positionals().flat_map(clap::Arg::get_possible_values);
        let words: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        let is_it = format!("{FISH}_using_subcommand {}", subcommand.get_name());
        (!words.is_empty())
            .then(|| format!("complete -c {PROGRAM} -n \"{is_it}\" -f -a \"{}\"\n", words.join(" ")))
    };
    command.get_subcommands().filter_map(of).collect()
}

/// Writes a document.
pub fn write(document: &CommandDocument, out: &mut impl Write) -> Result<(), DocumentError> {
    let mut command = with_values(Arguments::command());
    // The text is made in memory first: clap_complete panics if it cannot write.
    let mut text = Vec::new();
    match document {
        CommandDocument::Completions(shell) => {
            clap_complete::generate(*shell, &mut command, PROGRAM, &mut text);
            text = completed(*shell, &command, &String::from_utf8_lossy(&text)).into_bytes();
        }
        CommandDocument::Page(names) => {
            // `build` gives each subcommand the name of its page (`mcp-text-editor-call`) and the global
            // options.
            command.build();
            for name in names {
                let found = command.find_subcommand(name).cloned();
                command = found.ok_or_else(|| DocumentError::Unknown(names.join(" ")))?;
            }
            Man::new(command).render(&mut text)?;
        }
    }
    out.write_all(&text)?;
    Ok(())
}
