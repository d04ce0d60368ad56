//! Defines a change of one file that an edit has prepared, and that the transaction commits: [`Staged`].

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_text_editor_core::digest::Digest;

use crate::access::place::WritablePlace;
use crate::commit::in_place::InPlace;
use crate::commit::publish_new::Creation;
use crate::commit::world::Made;
use crate::journal::{ContentChange, Step};
use crate::lock::LockedFile;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::read::document::Content;
use crate::stage::{Temporary, TemporaryId};

/// The change of a file that has been checked. The new content, if there is any, is complete.
#[derive(Debug)]
pub(crate) enum Staged {
    /// The file keeps its name, and gets new content.
    Replaced(Replacement),
    /// The file loses its name, or gets a name, or both.
    Named {
        /// The file that loses its name.
        from: Option<Departure>,
        /// The file that gets a name.
        to: Option<Arrival>,
    },
}

/// A file whose new content is complete.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// The file's place.
    pub place: WritablePlace,
    /// The new content.
    pub content: NewContent,
    /// The old file, with the identity that it had before it was read.
    pub locked: Arc<LockedFile>,
}

/// New content that is complete, and facts about the content from which it was made.
#[derive(Debug)]
pub(crate) struct NewContent {
    /// The new content.
    pub temporary: Temporary,
    /// The reason why the old file must be overwritten in place; `None` if the two files exchange names.
    pub in_place: Option<InPlace>,
    /// The digest of the content that was read.
    pub old: Digest,
    /// The digest of the new content.
    pub new: Digest,
    /// The content that was read, if the file's times cannot show whether the file still has it. In that
    /// case, the file is read again.
    pub unsettled: Option<Content>,
}

/// A file that loses its name.
#[derive(Debug)]
pub(crate) struct Departure {
    /// The file's place.
    pub place: WritablePlace,
    /// The id of the temporary name that it has between its two names, or before it is unlinked.
    pub id: TemporaryId,
    /// The file, with the identity that it had before it was read.
    pub locked: Arc<LockedFile>,
    /// The digest of its content.
    pub digest: Digest,
    /// Whether the file's times are enough to find out whether it still has this content.
    pub is_settled: bool,
    /// The directories that a past edit created for the file, outermost first. Empty ones among them are
    /// removed after the file has left.
    pub directories: Vec<PathBuf>,
    /// Whether its name must be free before any new name is given, because another file of the call gets that
    /// name, or this file cannot change its name in one step.
    pub goes_first: bool,
}

/// The file that gets a name, which is free by then.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A new file.
    New {
        /// The file.
        creation: Box<Creation>,
        /// The digest of its content.
        digest: Digest,
    },
    /// The file that loses its old name.
    Same {
        /// The new place.
        place: WritablePlace,
        /// The directories that were created for it.
        made: Made,
    },
    /// The same file, with another spelling of its name that the file system treats as the same name. The
    /// journal has no step for this change, because recovery could not distinguish the two names.
    Respelled(PathBuf),
}

impl Staged {
    /// Tells whether the file system makes the change in one step. If so, the file is either entirely old or
    /// entirely new at any time.
    pub(crate) fn is_one_step(&self) -> bool {
        match self {
            Self::Replaced(file) => file.content.in_place.is_none(),
            Self::Named { from: None, .. } => true,
            Self::Named { from: Some(from), to } => {
                matches!(to, Some(Arrival::Same { .. } | Arrival::Respelled(_))) && !from.goes_first
            }
        }
    }

    /// Tells whether the journal record must contain the file's step even if it is the only file of its call.
    pub(crate) fn needs_step_alone(&self) -> bool {
        match self {
            Self::Replaced(_) => true,
            Self::Named { from, .. } => {
                !self.is_one_step() || from.as_ref().is_some_and(|from| !from.directories.is_empty())
            }
        }
    }

    /// Returns the places whose names change, each with the directory that contains it now.
    pub(super) fn places(&self) -> Vec<(&WritablePlace, &Arc<Dir>)> {
        match self {
            Self::Replaced(Replacement { place, .. }) => vec![(place, &place.directory)],
            Self::Named { from, to } => {
                let from = from.as_ref().map(|from| (&from.place, &from.place.directory));
                let to = to.as_ref().and_then(Arrival::place);
                from.into_iter().chain(to.map(|(place, made)| (place, made.innermost(place)))).collect()
            }
        }
    }

    /// Returns the files that have the old and the new content.
    pub(super) fn handles(&self) -> impl Iterator<Item = (Identity, &File)> {
        let (old, new) = match self {
            Self::Replaced(Replacement { content, locked, .. }) => (Some(locked), Some(&content.temporary)),
            Self::Named { from, to } => {
                let new = if let Some(Arrival::New { creation, .. }) = to {
                    Some(creation.temporary())
                } else {
                    None
                };
                (from.as_ref().map(|from| &from.locked), new)
            }
        };
        let old = old.map(|locked| (*locked.file().identity(), locked.file().file()));
        old.into_iter().chain(new.map(|temporary| (*temporary.identity(), temporary.file())))
    }

    /// Returns this file's steps for the journal, each with the id of its temporary file.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (TemporaryId, Step)> {
        let steps = match self {
            Self::Replaced(Replacement { content, .. }) => {
                let NewContent { temporary, in_place, old, new, .. } = content;
                let change = ContentChange { old: *old, new: *new, key: temporary.identity().file_key() };
                let step = if in_place.is_some() { Step::Overwrite(change) } else { Step::Exchange(change) };
                [Some((temporary.id(), step)), None]
            }
            Self::Named { from, to } => {
                let arrives = match to {
                    Some(Arrival::New { creation, digest }) => {
                        let temporary = creation.temporary();
                        let key = temporary.identity().file_key();
                        Some((temporary.id(), Step::Publish { new: *digest, key }))
                    }
                    _ => None,
                };
                let departs =
                    from.as_ref().filter(|_| !matches!(to, Some(Arrival::Respelled(_)))).map(|from| {
                        let (digest, directories) = (from.digest, from.directories.clone());
                        let key = from.locked.file().identity().file_key();
                        let step = match to {
                            Some(Arrival::Same { .. }) => Step::Move { digest, key, directories },
                            _ => Step::Remove { old: digest, key, directories },
                        };
                        (from.id, step)
                    });
                [arrives, departs]
            }
        };
        steps.into_iter().flatten()
    }
}

impl Arrival {
    /// Returns the new place, with the directories that were created for it; `None` if only the spelling
    /// changes.
    pub(super) fn place(&self) -> Option<(&WritablePlace, &Made)> {
        match self {
            Self::New { creation, .. } => Some((creation.place(), creation.created_directories())),
            Self::Same { place, made } => Some((place, made)),
            Self::Respelled(_) => None,
        }
    }
}
