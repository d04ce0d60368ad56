//! One file of a call that is about to change: [`Staged`]. An edit makes it, and the transaction takes it from there.

use mcp_text_editor_core::digest::Digest;

use crate::access::place::WritablePlace;
use crate::commit::in_place::InPlace;
use crate::journal::{Change, Step};
use crate::lock::LockedFile;
use crate::read::document::Content;
use crate::stage::temporary::Temporary;

/// A file whose new content is complete.
#[derive(Debug)]
pub(crate) struct Staged {
    /// Where it is.
    pub place: WritablePlace,
    /// What it is to hold.
    pub content: NewContent,
    /// The file as it is, with the identity that it had before it was read.
    pub locked: LockedFile,
}

/// New content that is complete, and what it was made from.
#[derive(Debug)]
pub(crate) struct NewContent {
    /// The new content.
    pub temporary: Temporary,
    /// Why it must be written over the file; `None` if the two change names.
    pub in_place: Option<InPlace>,
    /// The digest of what was read.
    pub old: Digest,
    /// The digest of the new content.
    pub new: Digest,
    /// What was read, if the file's times cannot tell whether it is still that: then it is read again.
    pub unsettled: Option<Content>,
}

impl Staged {
    /// What the journal says of it.
    pub(crate) fn step(&self) -> Step {
        let NewContent { temporary, in_place, old, new, .. } = &self.content;
        let change = Change { old: *old, new: *new, key: temporary.identity().key() };
        if in_place.is_some() { Step::Overwrite(change) } else { Step::Exchange(change) }
    }
}
