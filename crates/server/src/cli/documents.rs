//! The subcommands `completions` and `man`: what a shell and a manual hold of the command line, made from its definition.

use std::io::{self, Write};

use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_mangen::Man;

use super::args::Arguments;

/// What is written of the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Document {
    /// The script by which a shell completes it.
    Completions(Shell),
    /// The manual's page of the program or, by its name, of a subcommand (`["history", "forget"]`).
    Page(Vec<String>),
}

/// Why a document cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// There is no subcommand of that name.
    #[error("there is no subcommand `{0}`")]
    Unknown(String),
    /// It cannot be written out.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes a document.
pub fn write(document: &Document, out: &mut impl Write) -> Result<(), DocumentError> {
    let mut command = Arguments::command();
    // In memory first: clap_complete panics where it cannot write.
    let mut text = Vec::new();
    match document {
        Document::Completions(shell) => {
            clap_complete::generate(*shell, &mut command, "mcp-text-editor", &mut text);
        }
        Document::Page(names) => {
            // Gives each subcommand the name of its page, `mcp-text-editor-call`, and the options that hold everywhere.
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
