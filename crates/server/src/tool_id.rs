//! The ids of the tools: their names, and the sets to which they belong. `tools` has their descriptions,
//! their schemas, and what they do.

/// A tool of this server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ToolId {
    /// Reads files.
    Get,
    /// Replaces text in files.
    Patch,
    /// Creates a file.
    Create,
    /// Adds lines to the end of a file.
    Append,
    /// Adds lines between two lines of a file.
    Insert,
    /// Deletes lines of a file.
    Delete,
    /// Copies or moves lines.
    CopyLines,
    /// Finds text in files.
    Search,
    /// Replaces a pattern in many files.
    Replace,
    /// Lists files and directories.
    List,
    /// Moves or renames a file.
    Move,
    /// Removes a file.
    Remove,
    /// Lists past edits.
    Edits,
    /// Takes a past edit back.
    Undo,
}

impl ToolId {
    /// Every tool, in the order of `tools/list`.
    pub const ALL: &[Self] = &[
        Self::Get,
        Self::Patch,
        Self::Create,
        Self::Append,
        Self::Insert,
        Self::Delete,
        Self::CopyLines,
        Self::Search,
        Self::Replace,
        Self::List,
        Self::Move,
        Self::Remove,
        Self::Edits,
        Self::Undo,
    ];

    /// Returns the name by which the tool is called. Names never change once released.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get_text_file_contents",
            Self::Patch => "patch_text_file_contents",
            Self::Create => "create_text_file",
            Self::Append => "append_text_file_contents",
            Self::Insert => "insert_text_file_contents",
            Self::Delete => "delete_text_file_contents",
            Self::CopyLines => "copy_text_lines",
            Self::Search => "search_text_files",
            Self::Replace => "replace_in_text_files",
            Self::List => "list_text_files",
            Self::Move => "move_text_file",
            Self::Remove => "remove_text_file",
            Self::Edits => "list_text_file_edits",
            Self::Undo => "undo_text_file_edits",
        }
    }

    /// Finds the tool of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tool| tool.name() == name)
    }

    /// Tells whether the tool never changes a file.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::Get | Self::Search | Self::List | Self::Edits)
    }

    /// Tells whether the tool is offered only if an option asks for all tools, or for this one by name.
    #[must_use]
    pub const fn is_on_request(self) -> bool {
        matches!(self, Self::Move | Self::Remove | Self::Edits | Self::Undo)
    }

    /// Tells whether the tool is one of the six that read and edit, and never change.
    #[must_use]
    pub const fn is_of_the_six(self) -> bool {
        matches!(self, Self::Get | Self::Patch | Self::Create | Self::Append | Self::Insert | Self::Delete)
    }

    /// Tells whether the tool looks for files: a call need not name them.
    #[must_use]
    pub const fn is_finding(self) -> bool {
        matches!(self, Self::Search | Self::Replace | Self::List)
    }
}
