//! Decides how a call that failed, or was interrupted, is rolled back or completed: [`next`]. The functions
//! only decide, and change nothing; a [`NameView`] looks up the files that have the names.
//!
//! Files are recognised by their identity, which the digest only confirms: another file with the same bytes
//! is not a file of the call. So the table can be consulted again at any time, even if the rollback itself is
//! interrupted. Only names that the call drew at random are ever unlinked. A file that must lose its own name
//! is first renamed to a drawn name, under which nobody can replace it any more, and is then examined again.

use mcp_text_editor_core::digest::Digest;

use crate::journal::{Contents, Intent, Step};
use crate::os::identity::FileKey;

/// A name that a call may have changed, by the index of its file in the journal record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum CallName {
    /// The file's own name.
    File(usize),
    /// The drawn name (chosen at random) of new content before the commit, and of a file that waits to be
    /// unlinked.
    Temporary(usize),
    /// The second drawn name: of old content if names cannot be exchanged, and of a file that the rollback
    /// moves out of the way.
    Backup(usize),
}

impl CallName {
    /// Returns the index of the file in the record.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::File(index) | Self::Temporary(index) | Self::Backup(index) => index,
        }
    }
}

/// A file of the call, by its index in the record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Inode {
    /// The file that was there before the call.
    Old(usize),
    /// The file with the new content.
    New(usize),
}

/// The file that has a name, as the call classifies it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sight {
    Absent,
    /// A file of the call.
    Ours(Inode),
    /// The claim that reserves the name for the new file of this index, which would be renamed over it.
    Claim(usize),
    /// Any other file, or an entry of another kind.
    Foreign,
}

/// The file that has a name, as a lookup returns it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameHolder {
    /// A regular file. `lasts` tells whether its key distinguishes it from all other files, now and later.
    File { key: FileKey, lasts: bool },
    /// The claim that reserves the name for the new file of this index.
    Claim(usize),
    /// A directory, or anything else that is not a regular file.
    NoFile,
}

/// Looks up the files under the names of a call.
pub(crate) trait NameView {
    type Error;

    /// Looks up the file under a name; `None` if there is none.
    fn look(&self, name: CallName) -> Result<Option<NameHolder>, Self::Error>;

    /// Returns the digest of the file under a name; `None` if there is no regular file.
    fn digest(&self, name: CallName) -> Result<Option<Digest>, Self::Error>;
}

/// A step that rolls a call back, or completes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UndoAction {
    /// Renames a file from the first name to the second, which must be free.
    Rename(CallName, CallName),
    /// Exchanges the file of this index with its temporary file, so that it has its old content again.
    ExchangeBack(usize),
    /// Renames the file's backup over it.
    RestoreBackup(usize),
    /// Saves the bytes of the file with a drawn name, since no other file has them, to a place where a person
    /// finds them, and frees the name.
    Keep(CallName),
    /// Looks up the names again: they contradict each other, because a cache has returned an outdated name.
    LookAgain,
}

/// The stages of the rollback. Each is completed for all files before the next one begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Files lose the names that the call gave them: other files may need these names.
    Vacate,
    /// Exchanged files get their old content back. Files of other programs get back the names that they lost
    /// to the call.
    Exchange,
    /// Files that lost their names get them back.
    GiveBack,
}

/// The stages in their order.
pub(crate) const STAGES: [Stage; 3] = [Stage::Vacate, Stage::Exchange, Stage::GiveBack];

/// A call, according to its record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedCall<'a> {
    pub(crate) contents: &'a Contents,
    /// Whether the call was a single step of the file system. A client may already know its result, so the
    /// result stays.
    pub(crate) is_one_step: bool,
}

impl<'a> RecordedCall<'a> {
    /// Reads a call from its record. A record in a shared journal says *committed* even for a call of a
    /// single step.
    pub(crate) fn new(contents: &'a Contents, is_shared: bool) -> Self {
        let steps = contents.steps.iter().flatten();
        let is_one_step = !is_shared && steps.filter(|step| **step != Step::Stay).count() == 1;
        Self { contents, is_one_step }
    }

    pub(crate) fn intent(&self, index: usize) -> Option<&'a Intent> {
        self.contents.subjects.get(index).map(|subject| &subject.intent)
    }

    pub(crate) fn step(&self, index: usize) -> &'a Step {
        self.contents.steps.as_ref().and_then(|steps| steps.get(index)).unwrap_or(&Step::Stay)
    }

    /// Returns the index of the file that moves to the name of this index.
    fn arriving(&self, to: usize) -> Option<usize> {
        (self.intent(to + 1) == Some(&Intent::MoveFrom)).then_some(to + 1)
    }

    /// Returns the index of the name to which the file of this index moves.
    pub(crate) fn target(&self, from: usize) -> Option<usize> {
        from.checked_sub(1).filter(|_| self.intent(from) == Some(&Intent::MoveFrom))
    }

    /// Returns the key and the digest that the record has of a file of the call.
    pub(crate) fn recorded(&self, inode: Inode) -> Option<(FileKey, Digest)> {
        let (Inode::Old(index) | Inode::New(index)) = inode;
        Some(match (inode, self.step(index)) {
            (Inode::Old(_), Step::Exchange(change) | Step::Overwrite(change)) => match self.intent(index) {
                Some(Intent::Edit { key }) => (*key, change.old),
                _ => return None,
            },
            (Inode::New(_), Step::Exchange(change) | Step::Overwrite(change)) => (change.key, change.new),
            (Inode::Old(_), Step::Remove { old: digest, key, .. } | Step::Move { digest, key, .. })
            | (Inode::New(_), Step::Publish { new: digest, key }) => (*key, *digest),
            _ => return None,
        })
    }

    /// Returns the files of the call that this name can have, with their keys and digests in the record.
    fn candidates(&self, name: CallName) -> Vec<(Inode, FileKey, Digest)> {
        let subjects = &self.contents.subjects;
        let path = |index: usize| subjects.get(index).map(|subject| &subject.path);
        let indices = match name {
            CallName::File(_) => 0..subjects.len(),
            CallName::Temporary(index) | CallName::Backup(index) => index..index + 1,
        };
        let has_the_name = indices.filter(|index| path(*index) == path(name.index()));
        let all = has_the_name.flat_map(|index| {
            let arriving = self.arriving(index).filter(|from| matches!(self.step(*from), Step::Move { .. }));
            [Some(Inode::Old(index)), Some(Inode::New(index)), arriving.map(Inode::Old)]
        });
        let recorded = |inode| self.recorded(inode).map(|(key, digest)| (inode, key, digest));
        all.flatten().filter_map(recorded).collect()
    }

    /// Whether a file of the call with this key can have the name.
    pub(crate) fn is_recorded(&self, name: CallName, key: FileKey) -> bool {
        self.candidates(name).iter().any(|(_, recorded, _)| recorded.matches(&key))
    }

    /// Whether the file of this index loses its name in the call.
    fn leaves(&self, index: usize) -> bool {
        matches!(self.intent(index), Some(Intent::Remove | Intent::MoveFrom))
    }
}

/// Returns the next step for the file of this index; `None` if this stage is complete.
pub(crate) fn next<V: NameView>(
    call: &RecordedCall<'_>,
    stage: Stage,
    index: usize,
    view: &V,
) -> Result<Option<UndoAction>, V::Error> {
    let committed = call.contents.committed;
    match (stage, call.intent(index), call.step(index)) {
        (Stage::Vacate, Some(Intent::Create { .. } | Intent::MoveTo { .. }), step) if !committed => {
            vacate(call, index, step, view)
        }
        (Stage::Exchange, Some(Intent::Edit { .. }), Step::Exchange(_)) => exchange(call, index, view),
        (Stage::Exchange, Some(Intent::Create { .. } | Intent::MoveTo { .. }), _) if !committed => {
            give_back(CallName::Backup(index), index, None, call, view)
        }
        (Stage::GiveBack, _, _) if !committed && call.leaves(index) => {
            give_back(CallName::Temporary(index), index, call.target(index), call, view)
        }
        _ => Ok(None),
    }
}

/// Returns the file under a name.
pub(crate) fn sight<V: NameView>(
    call: &RecordedCall<'_>,
    name: CallName,
    view: &V,
) -> Result<Sight, V::Error> {
    let (key, lasts) = match view.look(name)? {
        // All files of the call are regular files, so there is nothing to save under a drawn name.
        Some(NameHolder::NoFile) if matches!(name, CallName::File(_)) => return Ok(Sight::Foreign),
        None | Some(NameHolder::NoFile) => return Ok(Sight::Absent),
        Some(NameHolder::Claim(index)) => return Ok(Sight::Claim(index)),
        Some(NameHolder::File { key, lasts }) => (key, lasts),
    };
    let candidates = call.candidates(name);
    if let Some((inode, ..)) = candidates.iter().find(|(_, recorded, _)| lasts && recorded.matches(&key)) {
        return Ok(Sight::Ours(*inode));
    }
    // If names cannot be exchanged, the backup can be a copy, which only its bytes identify.
    let is_copy = matches!((name, call.step(name.index())), (CallName::Backup(_), Step::Exchange(_)));
    if candidates.is_empty() || lasts && !is_copy {
        return Ok(Sight::Foreign);
    }
    let found = by_bytes(call, name, key, &candidates, view)?;
    // Only files of the call have drawn names. So an old file under one is recognised even if a program has
    // written to it.
    let is_old = |(inode, recorded, _): &&(Inode, FileKey, Digest)| {
        matches!((name, inode), (CallName::Temporary(_) | CallName::Backup(_), Inode::Old(_)))
            && recorded.matches(&key)
    };
    let found = found.or_else(|| candidates.iter().find(is_old).map(|(inode, ..)| *inode));
    Ok(found.map_or(Sight::Foreign, Sight::Ours))
}

/// Returns the file of the call that has a name on a file system whose identities do not last. Its bytes
/// decide, if exactly one file fits, and the other names do not contradict it. Equal bytes alone are not
/// enough.
fn by_bytes<V: NameView>(
    call: &RecordedCall<'_>,
    name: CallName,
    key: FileKey,
    candidates: &[(Inode, FileKey, Digest)],
    view: &V,
) -> Result<Option<Inode>, V::Error> {
    let digest = view.digest(name)?;
    let holds_new = |index: usize| -> Result<bool, V::Error> {
        let new = call.recorded(Inode::New(index)).map(|(_, digest)| digest);
        Ok(new.is_some() && view.digest(CallName::Temporary(index))? == new)
    };
    let mut matching = Vec::new();
    for (inode, recorded, _) in candidates.iter().filter(|(.., recorded)| digest == Some(*recorded)) {
        let is_same = recorded.matches(&key);
        let is_possible = match (name, *inode) {
            // If other machines see the same numbers, a file with two names has the same number under both.
            _ if is_same => true,
            (CallName::Temporary(_) | CallName::Backup(_), _) => true,
            (CallName::File(_), Inode::New(index)) => !holds_new(index)?,
            (CallName::File(_), Inode::Old(index)) => {
                view.look(CallName::Temporary(index))?.is_none() || holds_new(index)?
            }
        };
        matching.extend(is_possible.then_some((*inode, is_same)));
    }
    if matching.iter().any(|(_, is_same)| *is_same) {
        matching.retain(|(_, is_same)| *is_same);
    }
    Ok(if let [(inode, _)] = matching.as_slice() { Some(*inode) } else { None })
}

/// Whether the file with a name still has the recorded digest. If so, no program has written to it.
fn is_whole<V: NameView>(
    call: &RecordedCall<'_>,
    name: CallName,
    inode: Inode,
    view: &V,
) -> Result<bool, V::Error> {
    let recorded = call.recorded(inode).map(|(_, digest)| digest);
    Ok(recorded.is_some() && view.digest(name)? == recorded)
}

/// Whether the files under both names have the same bytes.
fn same_bytes<V: NameView>(one: CallName, other: CallName, view: &V) -> Result<bool, V::Error> {
    let digest = view.digest(one)?;
    Ok(digest.is_some() && digest == view.digest(other)?)
}

/// Whether a drawn name still has a file that must get its own name back, and that name is free. If so, the
/// rollback is not complete, and the drawn name must not be unlinked.
pub(crate) fn is_needed<V: NameView>(
    call: &RecordedCall<'_>,
    drawn: CallName,
    view: &V,
) -> Result<bool, V::Error> {
    let is_back = !call.contents.committed && !call.is_one_step;
    let Sight::Ours(inode @ Inode::Old(of)) = sight(call, drawn, view)? else { return Ok(false) };
    let has_target = |to| Ok(sight(call, CallName::File(to), view)? == Sight::Ours(inode));
    let is_free = is_back && sight(call, CallName::File(of), view)? == Sight::Absent;
    Ok(is_free && !call.target(of).map_or(Ok(false), has_target)?)
}

/// Frees the name of this index from the file to which the call has given it.
fn vacate<V: NameView>(
    call: &RecordedCall<'_>,
    index: usize,
    step: &Step,
    view: &V,
) -> Result<Option<UndoAction>, V::Error> {
    let (file, backup) = (CallName::File(index), CallName::Backup(index));
    // The file that the call gave the name, and that may have lost it again.
    let given = match (step, call.arriving(index)) {
        (Step::Publish { .. }, _) => Some(Inode::New(index)),
        (_, Some(from)) if matches!(call.step(from), Step::Move { .. }) => Some(Inode::Old(from)),
        _ => None,
    };
    let set_aside = sight(call, backup, view)?;
    if let (Some(Inode::Old(from)), Sight::Ours(inode)) = (given, set_aside)
        && Some(inode) == given
        && sight(call, CallName::Temporary(from), view)? == Sight::Absent
    {
        return Ok(Some(UndoAction::Rename(backup, CallName::Temporary(from))));
    }
    let loses = match (sight(call, file, view)?, given) {
        // The claim was created for the new file, which still has its temporary name.
        (Sight::Claim(of), _) => of == index,
        (Sight::Ours(inode), Some(given)) if inode == given && !call.is_one_step => match inode {
            Inode::New(_) => is_whole(call, file, inode, view)?,
            // The file stays if another program has taken its old name.
            Inode::Old(from) => {
                sight(call, CallName::Temporary(from), view)? == Sight::Ours(inode)
                    || can_be_freed(call, from, view)?
            }
        },
        _ => false,
    };
    Ok(match set_aside {
        _ if !loses => None,
        Sight::Absent => Some(UndoAction::Rename(file, backup)),
        _ => Some(UndoAction::Keep(backup)),
    })
}

/// Whether the name of the file of this index is free, or becomes free by the rollback.
fn can_be_freed<V: NameView>(call: &RecordedCall<'_>, index: usize, view: &V) -> Result<bool, V::Error> {
    let file = CallName::File(index);
    Ok(match sight(call, file, view)? {
        Sight::Absent | Sight::Claim(_) => true,
        Sight::Foreign => false,
        Sight::Ours(inode @ Inode::New(_)) => is_whole(call, file, inode, view)?,
        Sight::Ours(Inode::Old(other)) => other != index && call.leaves(other),
    })
}

/// Restores the old content of a file that was exchanged with its temporary file. If the call is committed or
/// a single step, the new content stays, and only bytes that another program wrote in the last instant are
/// saved.
fn exchange<V: NameView>(
    call: &RecordedCall<'_>,
    index: usize,
    view: &V,
) -> Result<Option<UndoAction>, V::Error> {
    let [file, temporary, backup] =
        [CallName::File(index), CallName::Temporary(index), CallName::Backup(index)];
    let (old, new) = (Inode::Old(index), Inode::New(index));
    let committed = call.contents.committed;
    let displaced = match sight(call, temporary, view)? {
        Sight::Absent => backup,
        Sight::Ours(inode) if inode == new && is_whole(call, temporary, new, view)? => backup,
        // The old file, another program's file that lost the name, or the new file if a program wrote to it
        // while it had the name.
        _ => temporary,
    };
    let held = sight(call, displaced, view)?;
    if held == Sight::Absent {
        return Ok(None);
    }
    let is_old = held == Sight::Ours(old) && is_whole(call, displaced, old, view)?;
    let now = sight(call, file, view)?;
    if now == Sight::Ours(old) && held == now {
        // After an exchange, the old file has one name. It gets a second one only if names cannot be
        // exchanged.
        return Ok((displaced == temporary).then_some(UndoAction::LookAgain));
    }
    if committed && is_old {
        return Ok(None);
    }
    // An incomplete copy of the old bytes is useless.
    let is_spoiled = displaced == backup && held == Sight::Foreign;
    Ok(match now {
        Sight::Ours(inode) if inode == old && is_spoiled => None,
        Sight::Ours(inode) if inode == new && is_whole(call, file, inode, view)? => {
            if call.is_one_step && is_old {
                None
            } else if committed || is_spoiled {
                Some(UndoAction::Keep(displaced))
            } else if displaced == temporary {
                Some(UndoAction::ExchangeBack(index))
            } else {
                Some(UndoAction::RestoreBackup(index))
            }
        }
        // Another program has written to the file since then, or removed it.
        _ if now != Sight::Absent && same_bytes(file, displaced, view)? => None,
        _ => Some(UndoAction::Keep(displaced)),
    })
}

/// Renames the file under a drawn name to the name of this index. If that name is taken, saves the file's
/// bytes, unless the file there, or the file at the `target` of a move, has the same bytes.
fn give_back<V: NameView>(
    drawn: CallName,
    index: usize,
    target: Option<usize>,
    call: &RecordedCall<'_>,
    view: &V,
) -> Result<Option<UndoAction>, V::Error> {
    let held = sight(call, drawn, view)?;
    let is_set_aside = drawn == CallName::Backup(index)
        && match held {
            // If another program has written to the new file, that file gets the name again.
            Sight::Ours(inode @ Inode::New(of)) => of == index && is_whole(call, drawn, inode, view)?,
            Sight::Claim(of) => of == index,
            Sight::Ours(Inode::Old(of)) => call.arriving(index) == Some(of),
            Sight::Absent | Sight::Foreign => false,
        };
    if held == Sight::Absent || is_set_aside {
        return Ok(None);
    }
    // The file also has its new name, and keeps it.
    if let (Some(to), Sight::Ours(_)) = (target, held)
        && sight(call, CallName::File(to), view)? == held
    {
        return Ok(None);
    }
    let names = [Some(index), target].map(|index| index.map(CallName::File));
    if sight(call, CallName::File(index), view)? == Sight::Absent {
        return Ok(Some(UndoAction::Rename(drawn, CallName::File(index))));
    }
    for name in names.into_iter().flatten() {
        if sight(call, name, view)? != Sight::Absent && same_bytes(drawn, name, view)? {
            return Ok(None);
        }
    }
    Ok(Some(UndoAction::Keep(drawn)))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
