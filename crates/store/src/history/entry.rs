//! A past edit as a lookup returns it ([`Entry`]), the filter of a lookup ([`Filter`]), and a shared
//! directory as the history knows it ([`KnownRoot`]). [`Chains`] determines which edits of an undo chain are
//! in effect: an edit, its undos and redos, their undos, and so on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;

use crate::history::edit::{Caller, ChangeKind, EditId, EditedFile, NewEdit, Undo};

/// A past edit.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The edit's id.
    pub id: EditId,
    /// The time at which the edit was made.
    pub time: SystemTime,
    /// The tool that made the edit.
    pub tool: String,
    /// The name that the calling client gives itself; `None` for the command line, and for edits that older
    /// versions kept.
    pub client: Option<String>,
    /// A text that all edits of one session share; `None` if the edit was not made in a session.
    pub session: Option<String>,
    /// The edit that this edit undid, if any.
    pub undoes: Option<EditId>,
    /// Whether this edit is a redo, which is the undo of an undo.
    pub is_redo: bool,
    /// The edit that undid this edit; `None` if this edit is in effect. If this edit was undone several
    /// times, with redos in between, `undone_by` is the newest undo.
    pub undone_by: Option<EditId>,
    /// The oldest kept edit of this edit's undo chain, which consists of an edit, its undo, the undo's redo,
    /// and so on.
    pub chain: EditId,
    /// The files of the edit, in the order of the call.
    pub files: Vec<EntryFile>,
}

impl Entry {
    /// Returns the entry of a new edit, with the id and the time that an archive gave it. `undone` is the
    /// edit that the new edit undid, if any.
    pub(super) fn new(edit: NewEdit<'_>, (id, time): (EditId, SystemTime), undone: Option<&Self>) -> Self {
        let Caller { tool, client, session } = edit.by;
        Self {
            chain: undone.map_or_else(|| id.clone(), |undone| undone.chain.clone()),
            is_redo: undone.is_some_and(|undone| undone.undoes.is_some() && !undone.is_redo),
            id,
            time,
            tool: tool.to_owned(),
            client: client.map(str::to_owned),
            session: session.map(str::to_owned),
            undoes: edit.undoes.cloned(),
            undone_by: None,
            files: edit.files.into_iter().map(EntryFile::from).collect(),
        }
    }

    /// Tells whether this edit can be undone, as far as the history knows: no other edit has undone it, and
    /// it is not an entry for displaced content ([`ChangeKind::Displaced`]).
    #[must_use]
    pub fn is_undoable(&self) -> bool {
        self.undone_by.is_none() && self.files.iter().all(|file| file.kind != ChangeKind::Displaced)
    }

    /// Returns the items for the old and the new path if the edit moved one file and changed nothing else;
    /// `None` for any other edit.
    #[must_use]
    pub fn moved(&self) -> Option<(&EntryFile, &EntryFile)> {
        if self.files.len() == 2 { self.moved_at(0) } else { None }
    }

    /// Returns the items for the old and the new path of a moved file, if the item for the old path is at
    /// this index of `files`; `None` otherwise. If the edit also changed the file's content, the item after
    /// these two is that change.
    ///
    /// The history stores a move as a removal and a creation of the same content. Both have the same diff,
    /// which begins with `rename from`. The diff of a real removal or creation never begins with `rename
    /// from`, whatever the file contains.
    #[must_use]
    pub fn moved_at(&self, index: usize) -> Option<(&EntryFile, &EntryFile)> {
        let (from, to) = (self.files.get(index)?, self.files.get(index + 1)?);
        let is_move = from.kind == ChangeKind::Removed
            && to.kind == ChangeKind::Created
            && from.before == to.after
            && from.diff == to.diff
            && from.diff.starts_with("rename from ");
        is_move.then_some((from, to))
    }

    /// Returns the digest of the file that the edit left at this path; `None` if the edit left no file at
    /// this path.
    #[must_use]
    pub fn left_at(&self, path: &Path) -> Option<Digest> {
        self.files.iter().rev().filter(|file| file.path == path).find_map(|file| file.after)
    }
}

/// The change of one file by a past edit.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryFile {
    /// The name of the file's root (the served directory that contains the file), if this machine does not
    /// serve that root; otherwise `None`. Another machine with the same history made such an edit, and this
    /// machine cannot undo it.
    pub root: Option<String>,
    /// The file's absolute path at the time of the edit, without symbolic links. For a file that this machine
    /// does not reach, the name of its root, followed by the path in the root.
    pub path: PathBuf,
    /// The file's path, relative to its root.
    pub relative: PathBuf,
    /// The encoding in which the file was read.
    pub encoding: Encoding,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The digest before the edit; `None` for a file that was created.
    pub before: Option<Digest>,
    /// The digest after the edit; `None` for a file that was removed.
    pub after: Option<Digest>,
    /// The change, as a unified diff, which may be cut short.
    pub diff: String,
}

impl EntryFile {
    /// Returns the root that contained the file; `None` if the root was the file itself.
    #[must_use]
    pub fn root_directory(&self) -> Option<PathBuf> {
        let below = self.relative.components().count();
        let root = self.path.ancestors().nth(below).filter(|_| below > 0)?;
        (root.join(&self.relative) == self.path).then(|| root.to_owned())
    }

    /// Tells whether this item is the content change of a file that the same edit moved. `moved` is the
    /// preceding item, which has the file's new path.
    pub(crate) fn is_change_of(&self, moved: &Self) -> bool {
        self.kind == ChangeKind::Changed && self.path == moved.path && self.before == moved.after
    }
}

impl From<EditedFile> for EntryFile {
    fn from(file: EditedFile) -> Self {
        let kind = file.undo.kind();
        let EditedFile { path, relative, encoding, before, after, diff, .. } = file;
        Self { root: None, path, relative, encoding, kind, before, after, diff }
    }
}

impl From<(EntryFile, Undo)> for EditedFile {
    fn from((file, undo): (EntryFile, Undo)) -> Self {
        let EntryFile { path, relative, encoding, before, after, diff, .. } = file;
        Self { path, relative, encoding, before, after, undo, diff }
    }
}

/// The result of [`History::forget`](crate::history::History::forget).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forgotten {
    /// The number of deleted edits; `None` if the database was damaged, and was removed without being read.
    pub edits: Option<u64>,
    /// The reason why the deleted bytes may still be on disk: another process is reading the database, or the
    /// disk is full.
    pub remains: Option<String>,
}

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

/// Conditions that a past edit must meet to pass. By default there are no conditions, and all edits pass.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Filter {
    /// Only edits of this file, or of files below this directory, by the paths at the time of the edit. A
    /// path that ends with a separator names only a directory.
    pub path: Option<PathBuf>,
    /// Only edits that were made at this time or later, with a precision of a millisecond.
    pub since: Option<SystemTime>,
    /// Only edits that were made before this time, with a precision of a millisecond.
    pub until: Option<SystemTime>,
    /// Only edits by this tool.
    pub tool: Option<String>,
    /// Only edits by the client that gives itself this name.
    pub client: Option<String>,
    /// Only edits of this session.
    pub session: Option<String>,
    /// Only edits whose diff contains this text, in the same letter case. The diff includes its header, which
    /// has the file's path.
    pub text: Option<String>,
    /// Only edits that were kept before the edit with this id, for the next page of a list. If that edit is
    /// no longer kept, no edit passes.
    pub before: Option<EditId>,
}

impl Filter {
    /// Returns a filter for all edits or, with a path, for edits of this file or of files below this
    /// directory.
    #[must_use]
    pub fn of_path(path: Option<&Path>) -> Self {
        Self { path: path.map(Path::to_owned), ..Self::default() }
    }
}

/// A directory with edits in a history that several machines share. The machines recognise the directory by
/// its name, which the history stores at the first edit in the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownRoot {
    /// The directory's name: a name that a person gave, the name of a file system, or a name that only one
    /// machine uses.
    pub name: String,
    /// The time of the first kept edit in the directory, by the database's clock.
    pub since: SystemTime,
    /// The name of the machine that kept that first edit; empty if the machine has no name.
    pub made_by: String,
    /// The parts of the directory that this machine reaches, in order; empty if this machine reaches no part.
    pub here: Vec<RootPlace>,
}

/// A part of a shared directory that this machine reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RootPlace {
    /// The path of the part in the shared directory; empty for the whole directory.
    pub inside: PathBuf,
    /// The part's absolute path on this machine.
    pub path: PathBuf,
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn file(kind: ChangeKind, content: &str, diff: &str) -> EntryFile {
        let digest = Some(Digest::of(content.as_bytes()));
        EntryFile {
            root: None,
            path: "/root/a".into(),
            relative: "a".into(),
            encoding: Encoding::Utf8,
            kind,
            before: digest.filter(|_| kind != ChangeKind::Created),
            after: digest.filter(|_| kind != ChangeKind::Removed),
            diff: diff.to_owned(),
        }
    }

    fn entry(files: &[EntryFile]) -> Entry {
        Entry {
            id: EditId("0123456789ab".to_owned()),
            time: UNIX_EPOCH,
            tool: "edit".to_owned(),
            client: None,
            session: None,
            undoes: None,
            is_redo: false,
            undone_by: None,
            chain: EditId("0123456789ab".to_owned()),
            files: files.to_vec(),
        }
    }

    #[test]
    fn an_edit_can_be_undone_once_and_what_recovery_kept_cannot() {
        let changed = file(ChangeKind::Changed, "a", "");
        let displaced = file(ChangeKind::Displaced, "a", "");
        let undone = |files: &[EntryFile]| Entry {
            undone_by: Some(EditId("0123456789ac".to_owned())),
            ..entry(files)
        };
        for kind in [ChangeKind::Changed, ChangeKind::Created, ChangeKind::Removed] {
            let files = [changed.clone(), file(kind, "a", "")];
            assert!(entry(&files).is_undoable(), "{kind:?}");
            assert!(!undone(&files).is_undoable(), "{kind:?}");
        }
        assert!(!entry(&[changed, displaced.clone()]).is_undoable());
        assert!(!undone(&[displaced]).is_undoable());
    }

    #[test]
    fn a_move_is_a_removal_and_a_creation_of_the_same_content() {
        let from = file(ChangeKind::Removed, "a", "rename from a\n");
        let to = file(ChangeKind::Created, "a", "rename from a\n");
        let moved = entry(&[from.clone(), to.clone()]);
        assert_eq!(moved.moved(), Some((&from, &to)));
        assert_eq!((moved.moved_at(0), moved.moved_at(1), moved.moved_at(2)), (moved.moved(), None, None));

        let changed = file(ChangeKind::Changed, "a", "rename from a\n");
        let empty = [ChangeKind::Removed, ChangeKind::Created].map(|kind| file(kind, "", ""));
        let others = [
            (&empty[0], &empty[1]),
            (&to, &from),
            (&from, &file(ChangeKind::Created, "b", "rename from a\n")),
            (&from, &file(ChangeKind::Created, "a", "rename from b\n")),
            (&from, &changed),
            (&changed, &to),
        ];
        for (one, other) in others {
            assert_eq!(entry(&[one.clone(), other.clone()]).moved_at(0), None, "{one:?} {other:?}");
        }

        let with_change = entry(&[changed.clone(), from.clone(), to.clone()]);
        assert_eq!((with_change.moved(), with_change.moved_at(1)), (None, Some((&from, &to))));
        assert_eq!(entry(&[from.clone(), to, changed]).moved(), None, "it is changed, too");
        assert_eq!(entry(&[from]).moved(), None);
    }
}
