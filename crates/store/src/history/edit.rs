//! Defines an edit that the history is to keep, [`NewEdit`], and the change that undoes it in one file,
//! [`Undo`].

use std::fmt;
use std::path::PathBuf;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::splice::SpliceSet;

use crate::access::place::DirectoryKey;

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

    /// Returns the id of an edit that is planned, but not made.
    pub(super) fn planned(number: usize) -> Self {
        Self(format!("planned {number}"))
    }

    /// Whether the edit is only planned.
    pub(crate) fn is_planned(&self) -> bool {
        self.0.starts_with("planned")
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
    /// A text that identifies the session: all edits of the session have this text, and no other edits have
    /// it.
    pub session: Option<&'a str>,
}

/// An edit that was made, and that the history is to keep.
#[derive(Clone, Debug)]
pub struct NewEdit<'a> {
    /// The caller that made the edit.
    pub by: Caller<'a>,
    /// The edit that this edit undoes, if any.
    pub undoes: Option<&'a EditId>,
    /// The files of the edit; at least one.
    pub files: Vec<EditedFile>,
    /// The key of each file's root (the served directory that contains the file), in the order of the files;
    /// empty if the keys are not known.
    pub root_keys: Vec<DirectoryKey>,
}

/// The change of one file by an edit.
#[derive(Clone, PartialEq, Debug)]
pub struct EditedFile {
    /// The file's absolute path, without any symbolic link.
    pub path: PathBuf,
    /// The file's path, relative to its root, which is the served directory that contains the file.
    pub relative: PathBuf,
    /// The encoding in which the file was read.
    pub encoding: Encoding,
    /// The digest before the edit; `None` for a file that was created.
    pub before: Option<Digest>,
    /// The digest after the edit; `None` for a file that was removed.
    pub after: Option<Digest>,
    /// The change that undoes the edit in this file.
    pub undo: Undo,
    /// The change, as a unified diff, which may be cut short.
    pub diff: String,
}

/// The change that restores a file to its state before an edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Undo {
    /// The file is changed back by these splices, applied to its new bytes.
    Splices(SpliceSet),
    /// The file, which was created, is removed. The directories that were created for it are removed if they
    /// are empty.
    Remove {
        /// The absolute paths of the directories, outermost first.
        directories: Vec<PathBuf>,
    },
    /// The file, which was removed, is created again.
    Create {
        /// The whole content of the file.
        contents: Vec<u8>,
    },
    /// Nothing can undo this entry. The content has no path any more, because of a race between an
    /// interrupted edit and another program's write. Recovery, which completes or reverts interrupted edits,
    /// kept the content for a person to examine.
    Displaced {
        /// The whole content.
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
    /// The file's content changed.
    Changed,
    /// The file was created.
    Created,
    /// The file was removed, or moved away ([`Entry::moved`](crate::Entry::moved)).
    Removed,
    /// The file lost its path, and recovery kept its bytes; see [`Undo::Displaced`].
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
