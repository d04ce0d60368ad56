//! Defines the ids of the tools: their names, and the sets to which they belong. `tools` has their
//! descriptions, schemas and functions.

/// Declares the values of a type with their names. Names never change once released.
macro_rules! named {
    ($(#[$about:meta])* $type:ident $name_of:ident { $($variant:ident $name:literal $meaning:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $type { $(#[doc = $meaning] $variant,)* }

        impl $type {
            /// Every value, in the order of the contract.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the name that clients use.
            #[must_use]
            pub const fn $name_of(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}
pub(crate) use named;

named! {
    /// A tool of this server, in the order of `tools/list`.
    ToolId name {
        Get "get_text_file_contents" "Reads files.",
        Patch "patch_text_file_contents" "Replaces text in files.",
        Create "create_text_file" "Creates a file.",
        Append "append_text_file_contents" "Adds lines to the end of a file.",
        Insert "insert_text_file_contents" "Adds lines between two lines of a file.",
        Delete "delete_text_file_contents" "Deletes lines of a file.",
        CopyLines "copy_text_lines" "Copies or moves lines.",
        Search "search_text_files" "Finds text in files.",
        Replace "replace_in_text_files" "Replaces a pattern in many files.",
        List "list_text_files" "Lists files and directories.",
        Move "move_text_file" "Moves or renames a file.",
        Remove "remove_text_file" "Removes a file.",
        Edits "list_text_file_edits" "Lists past edits.",
        Undo "undo_text_file_edits" "Takes a past edit back.",
    }
}

impl ToolId {
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

    /// Tells whether the tool is offered only if an option names all tools, or this tool.
    #[must_use]
    pub const fn is_on_request(self) -> bool {
        matches!(self, Self::Move | Self::Remove | Self::Edits | Self::Undo)
    }

    /// Tells whether the tool is one of the six that read and edit, and never change.
    #[must_use]
    pub const fn is_of_the_six(self) -> bool {
        matches!(self, Self::Get | Self::Patch | Self::Create | Self::Append | Self::Insert | Self::Delete)
    }

    /// Tells whether the tool looks for files, so a call need not name them.
    #[must_use]
    pub const fn is_finding(self) -> bool {
        matches!(self, Self::Search | Self::Replace | Self::List)
    }
}
