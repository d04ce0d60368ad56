//! Defines a person's request to `install`, and the reasons why it fails.

use std::io;
use std::path::PathBuf;

use super::clients::Client;
use super::entry::Target;
use crate::config::ToolSet;

/// The request of a person.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that a person types")]
pub struct InstallRequest {
    /// The client; `None` to list the clients.
    pub client: Option<&'static Client>,
    /// The directories that the server may read and edit; absolute.
    pub directories: Vec<PathBuf>,
    /// The project whose configuration to change; absolute. `None` to change the person's own configuration.
    pub project: Option<PathBuf>,
    /// Whether to show the changes and write nothing.
    pub is_dry_run: bool,
    /// Whether to remove the entry.
    pub is_removal: bool,
    /// Whether to replace another program's entry of our name.
    pub is_forced: bool,
    /// Whether to disable the client's own tools that change files.
    pub is_instead: bool,
    /// The command that starts the server; `None`: this program's path.
    pub command: Option<Vec<String>>,
    /// The tools; `None`: those that suit the client.
    pub tools: Option<ToolSet>,
    /// The other options of the server, each with its values.
    pub options: Vec<(String, Vec<String>)>,
    /// The running server to which the entry leads. `None`: the entry starts a program.
    pub target: Option<Target>,
}

/// The reason why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Another reason, which the message says.
    #[error("{0}")]
    Failed(String),
    /// A person has to change the configuration by hand.
    #[error("{why}")]
    ByHand {
        /// The reason why `install` cannot do so.
        why: String,
        /// The lines that the person has to add.
        added: String,
    },
    /// Another program changed the configuration between the read and the write, in each attempt. The message
    /// says so.
    #[error("{0}")]
    Changed(String),
    /// The output cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}
