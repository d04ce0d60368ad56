//! Edits for the history to keep: [`NewEdit`], and the change that undoes one of its files, [`Undo`].

use std::fmt;
use std::path::PathBuf;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::splice::SpliceSet;

use crate::access::directory::DirectoryKey;

/// The id of an edit, which is valid as long as the edit is kept.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EditId(pub(super) String);

impl EditId {
    /// Parses 12 hexadecimal digits in either letter case; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| Self(text.to_ascii_lowercase()))
    }
}

impl fmt::Display for EditId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The caller that made an edit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Caller<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The name that the client gives itself.
    pub client: Option<&'a str>,
    /// A text that identifies the session: all its edits have it, and no other edits.
    pub session: Option<&'a str>,
}

/// An edit that was made.
#[derive(Clone, Debug)]
pub struct NewEdit<'a> {
    /// The caller that made the edit.
    pub by: Caller<'a>,
    /// The edit that this one undoes, if any.
    pub undoes: Option<&'a EditId>,
    /// Its files; at least one.
    pub files: Vec<EditedFile>,
    /// The key of each file's root, in the order of the files; empty if the keys are not known.
    pub root_keys: Vec<DirectoryKey>,
}

/// The change of one file by an edit.
#[derive(Clone, PartialEq, Debug)]
pub struct EditedFile {
    /// Its absolute path, without any symbolic link.
    pub path: PathBuf,
    /// Its path, relative to its root.
    pub relative: PathBuf,
    /// The encoding in which it was read.
    pub encoding: Encoding,
    /// The digest that it had; `None` for a file that was created.
    pub before: Option<Digest>,
    /// The digest that it got; `None` for a file that was removed.
    pub after: Option<Digest>,
    /// The change that undoes the edit of this file.
    pub undo: Undo,
    /// The change, as a unified diff, which may be cut short.
    pub diff: String,
}

/// The change that restores a file to its state before an edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Undo {
    /// These splices, applied to the new bytes.
    Splices(SpliceSet),
    /// The removal of a file that was created, and of the directories that were created for it, if they are
    /// empty.
    Remove {
        /// The absolute paths of the directories, outermost first.
        directories: Vec<PathBuf>,
    },
    /// The creation of a file that was removed.
    Create {
        /// The whole content of the file.
        contents: Vec<u8>,
    },
    /// Nothing can undo this entry: this version of a file lost its name in a race between an interrupted
    /// edit and another program's write. Recovery kept it for a person to examine.
    Displaced {
        /// The whole content of this version.
        contents: Vec<u8>,
    },
}

impl Undo {
    /// Returns the kind of the file's change.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        match self {
            Self::Splices(_) => ChangeKind::Changed,
            Self::Remove { .. } => ChangeKind::Created,
            Self::Create { .. } => ChangeKind::Removed,
            Self::Displaced { .. } => ChangeKind::Displaced,
        }
    }
}

/// The kind of a file's change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// Its content changed.
    Changed,
    /// It was created.
    Created,
    /// It was removed, or moved away ([`Entry::moved`](crate::Entry::moved)).
    Removed,
    /// Recovery kept its bytes; see [`Undo::Displaced`].
    Displaced,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_twelve_hexadecimal_digits_in_either_case() {
        assert_eq!(EditId::parse("0123456789AB"), EditId::parse("0123456789ab"));
        assert_eq!(EditId::parse("0123456789ab").unwrap().to_string(), "0123456789ab");
        for text in ["", "0123456789a", "0123456789abc", "0123456789ag", "0123456789 a", "0123456789é"] {
            assert_eq!(EditId::parse(text), None, "{text}");
        }
    }
}
