//! Determines which edits of an undo chain are in effect: [`Chains`]. A chain is an edit, its undos and
//! redos, their undos, and so on.

use std::collections::HashMap;

use crate::history::edit::EditId;
use crate::history::entry::Entry;

/// Undo chains. The archive adds the edits of each chain once, even if several edits of the chain are looked
/// up.
#[derive(Default, Debug)]
pub struct Chains {
    /// For each edit: the index of its chain in `chains`, and whether the chain's first edit was undone after
    /// it.
    links: HashMap<EditId, (usize, bool)>,
    chains: Vec<Chain>,
}

#[derive(Debug)]
struct Chain {
    first: EditId,
    newest: EditId,
}

impl Chains {
    /// Tells whether the chain of this edit has been added.
    #[cfg(feature = "history")]
    pub(super) fn know(&self, id: &EditId) -> bool {
        self.links.contains_key(id)
    }

    /// Adds an edit of a chain. All edits of a chain must be added, oldest first.
    pub fn add(&mut self, id: EditId, undoes: Option<&EditId>) {
        let link = if let Some((chain, is_undo)) = undoes.and_then(|undone| self.links.get(undone)) {
            (*chain, !is_undo)
        } else {
            self.chains.push(Chain { first: id.clone(), newest: id.clone() });
            // If the undone edit is no longer kept, this edit counts as an undo, not as a redo.
            (self.chains.len() - 1, undoes.is_some())
        };
        if let Some(chain) = self.chains.get_mut(link.0) {
            chain.newest = id.clone();
        }
        self.links.insert(id, link);
    }

    /// Sets the fields of an entry that depend on its chain. The newest edit of a chain is in effect, and so
    /// is every other edit that left the files in the same state as the newest. An entry whose chain is not
    /// known is not changed.
    pub fn resolve(&self, entry: &mut Entry) {
        let Some((chain, is_undo)) = self.links.get(&entry.id) else { return };
        let Some(Chain { first, newest }) = self.chains.get(*chain) else { return };
        let is_in_effect = self.links.get(newest).is_some_and(|(_, newest)| newest == is_undo);
        entry.chain = first.clone();
        entry.is_redo = entry.undoes.is_some() && !is_undo;
        entry.undone_by = (!is_in_effect).then(|| newest.clone());
    }
}
