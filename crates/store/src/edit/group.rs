//! The entries of a call with their places, and the groups of entries that mean one file: [`Group`].

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
use crate::edit::problem::{Differing, EditProblem, Reason};
use crate::edit::request::{Edit, EditChange};
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::journal::{Intent, Subject};
use crate::lock::{LockedFile, LockedSet};
use crate::os;
use crate::stage::temporary::TemporaryId;

/// An entry of a call whose path has been resolved.
pub(super) struct NamedFile<'a> {
    pub(super) entry: usize,
    pub(super) edit: Edit<'a>,
    pub(super) place: WritablePlace,
    /// The new place, if the entry names one.
    pub(super) target: Option<WritablePlace>,
    pub(super) label: Option<Label>,
    /// The reason why its content is to be written over, if the configuration asks for that, or an earlier
    /// attempt has shown the need.
    pub(super) in_place: Option<InPlace>,
    pub(super) way: Way,
}

/// The ways in which a file gets another place.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Way {
    /// It is renamed, if the name is free.
    #[default]
    OneStep,
    /// It loses its old name first, and then gets the new one.
    Linked,
    /// It is copied, and the old file is removed.
    Copied,
}

impl Way {
    /// Returns the next way, if the error says that the file system does not support this one.
    pub(super) fn after(self, error: &StoreError) -> Option<Self> {
        let source = error.source.as_ref().filter(|_| error.operation == Operation::Move)?;
        if error.kind == StoreErrorKind::Changed {
            return None;
        }
        match self {
            Self::OneStep if source.kind() == std::io::ErrorKind::CrossesDevices => Some(Self::Copied),
            Self::OneStep if os::is_unsupported(source) || os::keeps_its_name(source) => Some(Self::Linked),
            // The copy will show whether the file system has no hard links, or a permission is lacking.
            Self::Linked => Some(Self::Copied),
            Self::OneStep | Self::Copied => None,
        }
    }
}

/// The meaning of the path to which a file is to move.
#[derive(Debug)]
pub(super) enum Aim {
    /// There is no such path.
    Here,
    /// Another place.
    Elsewhere(WritablePlace),
    /// The name that the file has already.
    Itself,
    /// The name that the file has already, in this new spelling: the file system takes both for one name.
    Spelling(PathBuf),
}

/// All entries of a call that mean one file.
pub(super) struct Group<'a> {
    pub(super) id: TemporaryId,
    /// The id, in the record, of the temporary file at its new place.
    pub(super) id_of_target: TemporaryId,
    /// The first entry.
    pub(super) first: &'a NamedFile<'a>,
    pub(super) aim: Aim,
    pub(super) label: Option<Label>,
    pub(super) in_place: Option<InPlace>,
    pub(super) file_hash: Option<&'a DigestPrefix>,
    /// Whether another file of the call gets the name that this one loses.
    pub(super) is_followed: bool,
    /// Whether another file of the call loses the name that this one gets.
    pub(super) follows: bool,
    /// The patches of all entries, if the file is patched.
    pub(super) patches: Cow<'a, [Patch]>,
    /// For each patch, the entry that it came from, and its index there.
    origins: Vec<(usize, usize)>,
    /// The place by which each entry names the file.
    pub(super) named: Vec<&'a WritablePlace>,
    /// The file, locked; `None` if the call is to create it.
    pub(super) locked: Option<Arc<LockedFile>>,
}

impl<'a> Group<'a> {
    fn new(first: &'a NamedFile<'a>, locked: Option<LockedFile>) -> Self {
        let mut group = Self {
            id: TemporaryId::draw(),
            id_of_target: TemporaryId::draw(),
            first,
            aim: aim(first),
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
        match &self.aim {
            _ if self.first.edit.change.removes() => None,
            Aim::Elsewhere(target) => Some(target.path()),
            Aim::Here | Aim::Itself | Aim::Spelling(_) => Some(self.first.place.path()),
        }
    }

    /// Returns the place that the file leaves, if it is moved or removed.
    fn source(&self) -> Option<&Path> {
        let leaves = self.first.edit.change.removes() || matches!(self.aim, Aim::Elsewhere(_));
        leaves.then(|| self.first.place.path())
    }

    /// Returns what the record says of the file before anything is written. It is not known yet whether the
    /// file will be written.
    pub(super) fn subjects(&self) -> impl Iterator<Item = Subject> {
        let subject =
            |place: &WritablePlace, id, intent| Subject { path: place.path().to_owned(), id, intent };
        let (from, to) = match (&self.aim, self.first.edit.change, &self.locked) {
            (_, change, _) if change.creates() => {
                let directories = missing(&self.first.place);
                (None, Some(subject(&self.first.place, self.id, Intent::Create { directories })))
            }
            (_, change, _) if change.removes() => {
                (Some(subject(&self.first.place, self.id, Intent::Remove)), None)
            }
            (Aim::Elsewhere(target), ..) => {
                let intent = Intent::MoveTo { directories: missing(target) };
                let to = subject(target, self.id_of_target, intent);
                (Some(subject(&self.first.place, self.id, Intent::MoveFrom)), Some(to))
            }
            (Aim::Here, _, Some(locked)) => {
                let key = locked.file().identity().file_key();
                (Some(subject(&self.first.place, self.id, Intent::Edit { key })), None)
            }
            _ => (None, None),
        };
        to.into_iter().chain(from)
    }

    /// Translates the places in a rejection from the joined entries of a file to those of the call. Returns
    /// the entry that the rejection is about.
    pub(super) fn origin(&self, rejection: &mut Rejection) -> usize {
        rejection.for_each_at(|at: &mut At| {
            let (entry, patch) = self.origins.get(at.patch).copied().unwrap_or((self.first.entry, at.patch));
            (at.entry, at.patch) = (entry, patch);
        });
        rejection.at().map_or(self.first.entry, |at| at.entry)
    }
}

/// Returns the directories that must be made for a place, outermost first.
fn missing(place: &WritablePlace) -> Vec<PathBuf> {
    let above = place.path().ancestors().skip(1).take(place.missing.len());
    let mut directories: Vec<PathBuf> = above.map(Path::to_owned).collect();
    directories.reverse();
    directories
}

/// Returns the meaning of the new path. Where letter case does not count, a file has one place, however it is
/// spelled.
fn aim(file: &NamedFile<'_>) -> Aim {
    let (source, Some(target), Some(to)) = (&file.place, &file.target, file.edit.move_to) else {
        return Aim::Here;
    };
    let elsewhere = || Aim::Elsewhere(target.clone());
    if target.is_named_by_link() || target.ends_in_slash {
        return elsewhere();
    }
    let wanted = Path::new(to).file_name().unwrap_or_default();
    let is_respelled = || source.name() != wanted && same_name(source.name(), wanted);
    let respelled = || Aim::Spelling(source.path().with_file_name(wanted));
    if source.path() == target.path() {
        return if is_respelled() { respelled() } else { Aim::Itself };
    }
    // Here, the two names may be hard links. Or only this directory takes them for one name.
    let is_same_place = source.path().parent() == target.path().parent()
        && is_respelled()
        && source.key().is_some_and(|key| target.key() == Some(key));
    let is_listed = || {
        let mut entries = target.directory.read_dir(".").into_iter().flatten().flatten();
        entries.any(|entry| entry.file_name() == wanted)
    };
    if is_same_place && !is_listed() { respelled() } else { elsewhere() }
}

/// Joins the entries that mean one file, and refuses to give one name twice.
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
        let is_patched =
            |edit: &Edit<'_>| edit.move_to.is_none() && matches!(edit.change, EditChange::Patch(_));
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

/// Finds the files that get the names of others, and refuses those that would get one name, or one below that
/// of another.
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

    /// Returns the meaning of a path to which a file is to move.
    fn aimed(world: &World, from: &str, to: &str) -> Aim {
        let paths = [from, to].map(|path| world.path(path));
        let [from_path, to_path] = paths.each_ref().map(|path| path.to_str().unwrap());
        let edit = Edit { move_to: Some(to_path), ..Edit::new(from_path, EditChange::Keep { after: None }) };
        let (place, target) = (world.place(from), Some(world.place(to)));
        aim(&NamedFile { entry: 0, edit, place, target, label: None, in_place: None, way: Way::default() })
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
            assert!(matches!(aimed(&world, from, to), Aim::Elsewhere(_)), "{from} to {to}");
        }
        assert!(matches!(aimed(&world, "@/root/a", "@/root/a"), Aim::Itself));
    }
}
