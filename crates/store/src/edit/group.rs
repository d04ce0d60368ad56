//! Groups the entries of a call that name the same file: [`Group`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_text_editor_core::digest::DigestPrefix;
use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::file_names::same_name;
use mcp_text_editor_core::rejection::{At, Rejection};
use mcp_text_editor_core::resolve::Patch;

use crate::access::place::WritablePlace;
use crate::commit::in_place::InPlace;
use crate::edit::outcome::{Differing, EditProblem, Reason};
use crate::edit::request::{Edit, EditChange};
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::journal::{Intent, Subject};
use crate::lock::{LockedFile, LockedSet};
use crate::os;
use crate::stage::TemporaryId;

/// An entry of a call whose path has been resolved.
pub(super) struct NamedFile<'a> {
    pub(super) entry: usize,
    pub(super) edit: Edit<'a>,
    pub(super) place: WritablePlace,
    /// The new place, if the entry names one.
    pub(super) target: Option<WritablePlace>,
    pub(super) label: Option<Label>,
    /// The reason why the file must be overwritten in place: the configuration requires it, or an earlier
    /// attempt has shown the need. `None` if there is no such reason.
    pub(super) in_place: Option<InPlace>,
    pub(super) method: MoveMethod,
}

/// The methods of moving a file.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum MoveMethod {
    /// The file is renamed in one system call, which fails if the new name is taken.
    #[default]
    OneStep,
    /// The file gets a temporary name first, and then its new name.
    Linked,
    /// The file is copied, and the old file is removed.
    Copied,
}

impl MoveMethod {
    /// Returns the next method to try, if the error shows that the file system may not support this method;
    /// otherwise `None`.
    pub(super) fn after(self, error: &StoreError) -> Option<Self> {
        let source = error.source.as_ref().filter(|_| error.operation == Operation::Move)?;
        if error.kind == StoreErrorKind::Changed {
            return None;
        }
        match self {
            Self::OneStep if source.kind() == std::io::ErrorKind::CrossesDevices => Some(Self::Copied),
            Self::OneStep if os::is_unsupported(source) || os::keeps_its_name(source) => Some(Self::Linked),
            // The error has two possible causes: no hard links, or a missing permission. The attempt to copy
            // shows which.
            Self::Linked => Some(Self::Copied),
            Self::OneStep | Self::Copied => None,
        }
    }
}

/// The destination of a file.
#[derive(Debug)]
pub(super) enum MoveTarget {
    /// The file is not moved.
    Here,
    /// The file moves to another place.
    Elsewhere(WritablePlace),
    /// The new path is the name that the file already has.
    Itself,
    /// The new path is another spelling of the name that the file already has: the file system treats both as
    /// one name. The field is the path in the new spelling.
    Spelling(PathBuf),
}

/// All entries of a call that name the same file.
pub(super) struct Group<'a> {
    pub(super) id: TemporaryId,
    /// The id, in the journal record, of the temporary file at the file's new place.
    pub(super) id_of_target: TemporaryId,
    /// The first entry.
    pub(super) first: &'a NamedFile<'a>,
    pub(super) destination: MoveTarget,
    pub(super) label: Option<Label>,
    pub(super) in_place: Option<InPlace>,
    pub(super) file_hash: Option<&'a DigestPrefix>,
    /// Whether another file of the call gets the old name of this one.
    pub(super) is_followed: bool,
    /// Whether this file gets the old name of another file of the call.
    pub(super) follows: bool,
    /// The patches of all entries, if the file is patched.
    pub(super) patches: Cow<'a, [Patch]>,
    /// For each patch, the entry that it came from, and its index in that entry.
    origins: Vec<(usize, usize)>,
    /// The place that each entry names.
    pub(super) named: Vec<&'a WritablePlace>,
    /// The locked file; `None` if the call creates it.
    pub(super) locked: Option<Arc<LockedFile>>,
}

impl<'a> Group<'a> {
    fn new(first: &'a NamedFile<'a>, locked: Option<LockedFile>) -> Self {
        let mut group = Self {
            id: TemporaryId::draw(),
            id_of_target: TemporaryId::draw(),
            first,
            destination: destination(first),
            label: first.label,
            in_place: None,
            file_hash: first.edit.file_hash,
            is_followed: false,
            follows: false,
            patches: Cow::default(),
            origins: Vec::new(),
            named: Vec::new(),
            locked: locked.map(Arc::new),
        };
        group.add(first);
        group
    }

    fn add(&mut self, file: &'a NamedFile<'a>) {
        self.in_place = self.in_place.or(file.in_place);
        self.named.push(&file.place);
        if let EditChange::Patch(patches) = file.edit.change {
            if self.patches.is_empty() {
                self.patches = Cow::Borrowed(patches);
            } else {
                self.patches.to_mut().extend_from_slice(patches);
            }
            self.origins.extend((0..patches.len()).map(|patch| (file.entry, patch)));
        }
    }

    /// Returns the place of the file after the call; `None` if it is removed.
    fn result(&self) -> Option<&Path> {
        match &self.destination {
            _ if self.first.edit.change.removes() => None,
            MoveTarget::Elsewhere(target) => Some(target.path()),
            MoveTarget::Here | MoveTarget::Itself | MoveTarget::Spelling(_) => Some(self.first.place.path()),
        }
    }

    /// Returns the place that the file leaves, if it is moved or removed.
    fn source(&self) -> Option<&Path> {
        let leaves = self.first.edit.change.removes() || matches!(self.destination, MoveTarget::Elsewhere(_));
        leaves.then(|| self.first.place.path())
    }

    /// Returns the subjects of the journal record for the file. They are needed before anything is written,
    /// when it is not known yet whether the file will be written at all.
    pub(super) fn subjects(&self) -> impl Iterator<Item = Subject> {
        let subject =
            |place: &WritablePlace, id, intent| Subject { path: place.path().to_owned(), id, intent };
        let (from, to) = match (&self.destination, self.first.edit.change, &self.locked) {
            (_, change, _) if change.creates() => {
                let directories = missing(&self.first.place);
                (None, Some(subject(&self.first.place, self.id, Intent::Create { directories })))
            }
            (_, change, _) if change.removes() => {
                (Some(subject(&self.first.place, self.id, Intent::Remove)), None)
            }
            (MoveTarget::Elsewhere(target), ..) => {
                let intent = Intent::MoveTo { directories: missing(target) };
                let to = subject(target, self.id_of_target, intent);
                (Some(subject(&self.first.place, self.id, Intent::MoveFrom)), Some(to))
            }
            (MoveTarget::Here, _, Some(locked)) => {
                let key = locked.file().identity().file_key();
                (Some(subject(&self.first.place, self.id, Intent::Edit { key })), None)
            }
            _ => (None, None),
        };
        to.into_iter().chain(from)
    }

    /// Converts the indices in a rejection from the joined entries of the file to the entries of the call.
    /// Returns the entry that the rejection concerns.
    pub(super) fn origin(&self, rejection: &mut Rejection) -> usize {
        rejection.for_each_at(|at: &mut At| {
            let (entry, patch) = self.origins.get(at.patch).copied().unwrap_or((self.first.entry, at.patch));
            (at.entry, at.patch) = (entry, patch);
        });
        rejection.at().map_or(self.first.entry, |at| at.entry)
    }
}

/// Returns the directories that must be created for a place, outermost first.
fn missing(place: &WritablePlace) -> Vec<PathBuf> {
    let above = place.path().ancestors().skip(1).take(place.missing.len());
    let mut directories: Vec<PathBuf> = above.map(Path::to_owned).collect();
    directories.reverse();
    directories
}

/// Returns the destination of a file. On a file system that ignores letter case, all spellings of a name are
/// the same place.
fn destination(file: &NamedFile<'_>) -> MoveTarget {
    let (source, Some(target), Some(to)) = (&file.place, &file.target, file.edit.move_to) else {
        return MoveTarget::Here;
    };
    let elsewhere = || MoveTarget::Elsewhere(target.clone());
    if target.is_named_by_link() || target.ends_in_slash {
        return elsewhere();
    }
    let wanted = Path::new(to).file_name().unwrap_or_default();
    let is_respelled = || source.name() != wanted && same_name(source.name(), wanted);
    let respelled = || MoveTarget::Spelling(source.path().with_file_name(wanted));
    if source.path() == target.path() {
        return if is_respelled() { respelled() } else { MoveTarget::Itself };
    }
    // The two names may be hard links of one file, or the file system may treat them as one name only in this
    // directory. The directory's listing distinguishes the two cases.
    let is_same_place = source.path().parent() == target.path().parent()
        && is_respelled()
        && source.key().is_some_and(|key| target.key() == Some(key));
    let is_listed = || {
        let mut entries = target.directory.read_dir(".").into_iter().flatten().flatten();
        entries.any(|entry| entry.file_name() == wanted)
    };
    if is_same_place && !is_listed() { respelled() } else { elsewhere() }
}

/// Joins the entries that name the same file. Refuses entries that would give one name to two files.
pub(super) fn group<'a>(
    named: &'a [NamedFile<'a>],
    locked: LockedSet,
    refusals: &mut Vec<EditProblem>,
) -> Vec<Group<'a>> {
    let mut files = locked.files.into_iter().map(Some).collect::<Vec<_>>();
    let mut file_of = locked.file_of.into_iter();
    let mut of_file: BTreeMap<usize, usize> = BTreeMap::new();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for file in named {
        if file.edit.change.creates() {
            groups.push(Group::new(file, None));
            continue;
        }
        let Some(index) = file_of.next() else { continue };
        let known = of_file.get(&index).and_then(|known| groups.get_mut(*known));
        let Some(group) = known else {
            of_file.insert(index, groups.len());
            groups.push(Group::new(file, files.get_mut(index).and_then(Option::take)));
            continue;
        };
        let first = group.first.entry;
        let mut refuse =
            |what| refusals.push(EditProblem { entry: file.entry, reason: Reason::Differs(what) });
        let is_patched = |edit: &Edit<'_>| {
            edit.move_to.is_none() && matches!(edit.change, EditChange::Patch(_) | EditChange::Replace(_))
        };
        if !(is_patched(&group.first.edit) && is_patched(&file.edit)) {
            refuse(Differing::Fate { first });
            continue;
        }
        match (group.label, file.label) {
            (Some(one), Some(other)) if one.encoding != other.encoding => {
                refuse(Differing::Encoding { first });
            }
            (None, label) => group.label = label,
            _ => {}
        }
        match (group.file_hash, file.edit.file_hash) {
            (Some(one), Some(other)) if !one.agrees_with(other) => refuse(Differing::FileHash { first }),
            (None, hash) => group.file_hash = hash,
            _ => {}
        }
        group.add(file);
    }
    follow(&mut groups, refusals);
    groups
}

/// Marks the files that get the old names of other files, and the files that lose those names. Refuses a file
/// that would get the same path as another file, or a path below it.
fn follow(groups: &mut [Group<'_>], refusals: &mut Vec<EditProblem>) {
    let (mut sources, mut results) = (BTreeMap::new(), BTreeMap::new());
    for (index, group) in groups.iter().enumerate() {
        sources.extend(group.source().map(|source| (source.to_owned(), index)));
        let Some(result) = group.result() else { continue };
        let first = *results.entry(result.to_owned()).or_insert(index);
        if let Some(first) = groups.get(first).filter(|_| first != index) {
            let reason =
                Reason::Differs(Differing::Result { first: first.first.entry, path: result.to_owned() });
            refusals.push(EditProblem { entry: group.first.entry, reason });
        }
    }
    for group in &*groups {
        let Some(result) = group.result() else { continue };
        if result.ancestors().skip(1).any(|above| results.contains_key(above)) {
            let error = StoreError::new(Operation::Create, result, StoreErrorKind::NotADirectory);
            refusals.push(EditProblem { entry: group.first.entry, reason: Reason::Store(error) });
        }
    }
    for (index, group) in groups.iter_mut().enumerate() {
        let others = |of: &BTreeMap<PathBuf, usize>, path: &Path| of.get(path).is_some_and(|at| *at != index);
        group.is_followed = group.source().is_some_and(|source| others(&results, source));
        group.follows = group.result().is_some_and(|result| others(&sources, result));
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::tests::world::World;

    /// Returns the destination of the file `from` that is to move to the path `to`.
    fn aimed(world: &World, from: &str, to: &str) -> MoveTarget {
        let paths = [from, to].map(|path| world.path(path));
        let [from_path, to_path] = paths.each_ref().map(|path| path.to_str().unwrap());
        let edit = Edit { move_to: Some(to_path), ..Edit::new(from_path, EditChange::Keep { after: None }) };
        let (place, target) = (world.place(from), Some(world.place(to)));
        destination(&NamedFile {
            entry: 0,
            edit,
            place,
            target,
            label: None,
            in_place: None,
            method: MoveMethod::default(),
        })
    }

    #[test]
    fn where_letter_case_counts_each_spelling_is_a_place() {
        let world = World::new();
        world.write("@/root/a", "text\n");
        world.write("@/root/b", "text\n");
        std::fs::create_dir(world.path("@/root/d")).unwrap();
        for name in ["@/root/B", "@/root/d/B"] {
            std::fs::hard_link(world.path("@/root/b"), world.path(name)).unwrap();
        }
        for (from, to) in [
            ("@/root/a", "@/root/c"),
            ("@/root/a", "@/root/A"),
            ("@/root/b", "@/root/B"),
            ("@/root/b", "@/root/d/B"),
        ] {
            assert!(matches!(aimed(&world, from, to), MoveTarget::Elsewhere(_)), "{from} to {to}");
        }
        assert!(matches!(aimed(&world, "@/root/a", "@/root/a"), MoveTarget::Itself));
    }
}
