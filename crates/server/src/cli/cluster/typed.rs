//! The options of a shared state as they are typed ([`TypedShared`]), and the reason why the state cannot be
//! opened ([`NotShared`]).

/// The options as they are typed, or set in the environment.
pub struct TypedShared<'a> {
    /// The URL of the database.
    pub state_url: Option<String>,
    /// Whether the URL was typed on the command line, where everybody can see it in the list of processes.
    pub is_typed: bool,
    /// Whether edits are still carried out while the database cannot be reached.
    pub is_optional: bool,
    /// The names of directories, each `NAME=DIR`.
    pub root_names: &'a [String],
}

/// The reason why a shared state cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum NotShared {
    /// The files that the URL of the database names cannot be read.
    #[error("--state-url: {0}")]
    Database(String),
    /// A directory, or a name, is given twice.
    #[error("--root-name: {0}")]
    RootName(String),
}
