//! Chains of undos: an edit, the undos and redos of it, the undos of those, and so on. [`Chains`] tells how
//! each edit of a chain stands now.

use std::collections::HashMap;

use crate::history::edit::EditId;
use crate::history::entry::Entry;

/// Undo chains. The archive adds their edits, so that each chain is read once, however many of its edits are
/// looked up.
#[derive(Default, Debug)]
pub struct Chains {
    /// The chain of each edit, and whether the edit took the chain's first edit back.
    links: HashMap<EditId, (usize, bool)>,
    chains: Vec<Chain>,
}

#[derive(Debug)]
struct Chain {
    first: EditId,
    newest: EditId,
}

impl Chains {
    /// Tells whether the chain of this edit was added.
    #[cfg(feature = "history")]
    pub(super) fn know(&self, id: &EditId) -> bool {
        self.links.contains_key(id)
    }

    /// Adds an edit of a chain. The edits of a chain are added oldest first, and all of them.
    pub fn add(&mut self, id: EditId, undoes: Option<&EditId>) {
        let link = if let Some((chain, is_undo)) = undoes.and_then(|undone| self.links.get(undone)) {
            (*chain, !is_undo)
        } else {
            self.chains.push(Chain { first: id.clone(), newest: id.clone() });
            // If the undone edit is no longer kept, this one is taken for an undo, not for a redo.
            (self.chains.len() - 1, undoes.is_some())
        };
        if let Some(chain) = self.chains.get_mut(link.0) {
            chain.newest = id.clone();
        }
        self.links.insert(id, link);
    }

    /// Sets the fields of an entry that depend on its chain. The newest edit of a chain is in effect, and so
    /// is each other one that left the files as the newest did. An entry of no known chain stays as it is.
    pub fn resolve(&self, entry: &mut Entry) {
        let Some((chain, is_undo)) = self.links.get(&entry.id) else { return };
        let Some(Chain { first, newest }) = self.chains.get(*chain) else { return };
        let is_in_effect = self.links.get(newest).is_some_and(|(_, newest)| newest == is_undo);
        entry.chain = first.clone();
        entry.is_redo = entry.undoes.is_some() && !is_undo;
        entry.undone_by = (!is_in_effect).then(|| newest.clone());
    }
}
