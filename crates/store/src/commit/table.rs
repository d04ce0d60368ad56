//! Decides how a call that failed, or was cut off, is taken back or completed: [`next`]. It is a pure table;
//! what the names hold comes from a [`NameView`].
//!
//! A file is known by its identity, and its digest only confirms: another file with the same bytes is not the
//! call's. So the table can be asked again at any time, also if the way back itself is cut off. Nothing but a
//! name that the call drew at random is ever unlinked. A file that must lose its own name is first renamed to
//! a drawn one, where nobody can replace it any more, and looked at again.

use mcp_text_editor_core::digest::Digest;

use crate::journal::{Contents, Intent, Step};
use crate::os::identity::FileKey;

/// A name that a call can have changed, by the index of its file in the record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum CallName {
    /// The file's own.
    File(usize),
    /// The one under which new content is prepared, and what loses its name waits to be unlinked.
    Temporary(usize),
    /// The second one: of old content where names cannot be exchanged, and of what the way back sets aside.
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

/// The holder of a name, as the call sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sight {
    Absent,
    /// A file of the call.
    Ours(Inode),
    /// The file that claims the name for the new file of this index, which was to be renamed over it.
    Claim(usize),
    /// Anything else.
    Foreign,
}

/// The holder of a name, as a look shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameHolder {
    /// A regular file; `lasts` says whether its key tells it from all others, also later.
    File { key: FileKey, lasts: bool },
    /// The file that claims the name for the new file of this index.
    Claim(usize),
    /// A directory, or whatever else is no regular file.
    NoFile,
}

/// A look at the names of a call.
pub(crate) trait NameView {
    type Error;

    /// Looks at a name; `None` if nothing has it.
    fn look(&self, name: CallName) -> Result<Option<NameHolder>, Self::Error>;

    /// Returns the digest of the file under a name; `None` if there is no regular file.
    fn digest(&self, name: CallName) -> Result<Option<Digest>, Self::Error>;
}

/// A step by which a call is taken back or completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UndoAction {
    /// Renames the first to the second name, which must be free.
    Rename(CallName, CallName),
    /// Exchanges the file of this index with its temporary, so that the file has its old content again.
    ExchangeBack(usize),
    /// Renames the file's backup over it.
    RestoreBackup(usize),
    /// Keeps the bytes of a drawn name, which no file holds, where a person finds them, and frees the name.
    Keep(CallName),
    /// The names contradict each other: a cache has shown one of them as it was.
    LookAgain,
}

/// The order of the way back. Each stage is done for all files before the next one begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Files that the call has given names lose them: other files may need these names.
    Vacate,
    /// Files that have been exchanged get their old content; files of others that lost a name with ours get
    /// it back.
    Exchange,
    /// Files that lost their names get them back.
    GiveBack,
}

/// The stages in their order.
pub(crate) const STAGES: [Stage; 3] = [Stage::Vacate, Stage::Exchange, Stage::GiveBack];

/// The call as its record has it, and what is to become of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedCall<'a> {
    pub(crate) contents: &'a Contents,
    /// Whether the call was one step of the file system, whose result may be known, so that it stays.
    pub(crate) is_one_step: bool,
}

impl<'a> RecordedCall<'a> {
    /// Takes a call from its record. If other machines know the record, too, it says *committed* also of a
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

    /// Returns what the record has of a file of the call.
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

    /// Returns the files of the call that can have a name, with what the record has of them.
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

    /// Whether a file with this key can have the name.
    pub(crate) fn is_recorded(&self, name: CallName, key: FileKey) -> bool {
        self.candidates(name).iter().any(|(_, recorded, _)| recorded.matches(&key))
    }

    /// Whether the call takes a name away from the file of this index.
    fn leaves(&self, index: usize) -> bool {
        matches!(self.intent(index), Some(Intent::Remove | Intent::MoveFrom))
    }
}

/// Returns the next step for the file of this index; `None` if nothing is left to be done in this stage.
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

/// Returns what a name holds.
pub(crate) fn sight<V: NameView>(
    call: &RecordedCall<'_>,
    name: CallName,
    view: &V,
) -> Result<Sight, V::Error> {
    let (key, lasts) = match view.look(name)? {
        // No file of the call is anything else, so there is nothing to keep under a drawn name.
        Some(NameHolder::NoFile) if matches!(name, CallName::File(_)) => return Ok(Sight::Foreign),
        None | Some(NameHolder::NoFile) => return Ok(Sight::Absent),
        Some(NameHolder::Claim(index)) => return Ok(Sight::Claim(index)),
        Some(NameHolder::File { key, lasts }) => (key, lasts),
    };
    let candidates = call.candidates(name);
    if let Some((inode, ..)) = candidates.iter().find(|(_, recorded, _)| lasts && recorded.matches(&key)) {
        return Ok(Sight::Ours(*inode));
    }
    // Where names cannot be exchanged, the backup can be a copy, which only its bytes tell.
    let is_copy = matches!((name, call.step(name.index())), (CallName::Backup(_), Step::Exchange(_)));
    if candidates.is_empty() || lasts && !is_copy {
        return Ok(Sight::Foreign);
    }
    let found = by_bytes(call, name, key, &candidates, view)?;
    // Only files of the call have drawn names: the old one is known there although it was written to.
    let is_old = |(inode, recorded, _): &&(Inode, FileKey, Digest)| {
        matches!((name, inode), (CallName::Temporary(_) | CallName::Backup(_), Inode::Old(_)))
            && recorded.matches(&key)
    };
    let found = found.or_else(|| candidates.iter().find(is_old).map(|(inode, ..)| *inode));
    Ok(found.map_or(Sight::Foreign, Sight::Ours))
}

/// Returns which file of the call has a name where identities do not last: by its bytes, if only one can be
/// meant, and if the other names do not speak against it. Equal bytes alone are not the call's.
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
            // Where numbers are those of other machines, too, they tell of a file with two names.
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

/// Whether the file under a name still holds the bytes that the record has for it: nobody has written to it.
fn is_whole<V: NameView>(
    call: &RecordedCall<'_>,
    name: CallName,
    inode: Inode,
    view: &V,
) -> Result<bool, V::Error> {
    let recorded = call.recorded(inode).map(|(_, digest)| digest);
    Ok(recorded.is_some() && view.digest(name)? == recorded)
}

/// Whether both names hold files of the same bytes.
fn same_bytes<V: NameView>(one: CallName, other: CallName, view: &V) -> Result<bool, V::Error> {
    let digest = view.digest(one)?;
    Ok(digest.is_some() && digest == view.digest(other)?)
}

/// Whether a drawn name still has a file that should have its own name, which is free: the call is taken
/// back. If so, the way back has not come to its end, and the name must not be unlinked.
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

/// Takes the name of this index away from the file to which the call has given it.
fn vacate<V: NameView>(
    call: &RecordedCall<'_>,
    index: usize,
    step: &Step,
    view: &V,
) -> Result<Option<UndoAction>, V::Error> {
    let (file, backup) = (CallName::File(index), CallName::Backup(index));
    // The file that was given the name, and may have it no more.
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
        // It was made for the new file, which still has its temporary name.
        (Sight::Claim(of), _) => of == index,
        (Sight::Ours(inode), Some(given)) if inode == given && !call.is_one_step => match inode {
            Inode::New(_) => is_whole(call, file, inode, view)?,
            // It stays if another program has taken its old name.
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

/// Whether the name of the file of this index is free, or will be once the call is taken back.
fn can_be_freed<V: NameView>(call: &RecordedCall<'_>, index: usize, view: &V) -> Result<bool, V::Error> {
    let file = CallName::File(index);
    Ok(match sight(call, file, view)? {
        Sight::Absent | Sight::Claim(_) => true,
        Sight::Foreign => false,
        Sight::Ours(inode @ Inode::New(_)) => is_whole(call, file, inode, view)?,
        Sight::Ours(Inode::Old(other)) => other != index && call.leaves(other),
    })
}

/// Gives a file that was exchanged with its temporary its old content back. If the call is committed or one
/// step, the new content stays; but what another program had written in the last instant comes back.
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
        // Either the old file, or another that lost the name; or the new one, written to while it had the
        // name.
        _ => temporary,
    };
    let held = sight(call, displaced, view)?;
    if held == Sight::Absent {
        return Ok(None);
    }
    let is_old = held == Sight::Ours(old) && is_whole(call, displaced, old, view)?;
    let now = sight(call, file, view)?;
    if now == Sight::Ours(old) && held == now {
        // An exchange leaves the old file one name. A second one is made where names cannot be exchanged.
        return Ok((displaced == temporary).then_some(UndoAction::LookAgain));
    }
    if committed && is_old {
        return Ok(None);
    }
    // A copy of the old bytes that is not complete is of no use.
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
        // Another program has written to the file since, or removed it.
        _ if now != Sight::Absent && same_bytes(file, displaced, view)? => None,
        _ => Some(UndoAction::Keep(displaced)),
    })
}

/// Gives what has a drawn name the name of this index. If that is taken, the bytes are kept unless a file
/// holds them, there or at the `target` of a move.
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
            // If another program has written to it, it has its name again.
            Sight::Ours(inode @ Inode::New(of)) => of == index && is_whole(call, drawn, inode, view)?,
            Sight::Claim(of) => of == index,
            Sight::Ours(Inode::Old(of)) => call.arriving(index) == Some(of),
            Sight::Absent | Sight::Foreign => false,
        };
    if held == Sight::Absent || is_set_aside {
        return Ok(None);
    }
    // It has its new name as well, which it keeps.
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
