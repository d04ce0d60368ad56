//! Prepares the move of a file: checks its content and its new place, and prepares the result.
//! [`crate::commit::names`] renames the file later.

use std::io;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::{Digest, Hasher};
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::rejection::{Fit, Rejection};
use mcp_text_editor_core::source::Source as _;

use crate::access::place::{OpenFile, WritablePlace};
use crate::access::windows_paths::in_diff;
use crate::commit::publish_new::{Creation, check_directory, check_free};
use crate::commit::staged::Arrival;
use crate::commit::world::Made;
use crate::edit::existing::Existing;
use crate::edit::group::{Group, MoveMethod, MoveTarget};
use crate::edit::outcome::{Became, Copied, EditProblem, Edited, Reason, Warning};
use crate::edit::request::{EditChange, EditOptions};
use crate::edit::snapshot::{Prepared, Task};
use crate::error::{ErrorContext as _, Operation, ReadFault, StoreError, StoreErrorKind};
use crate::history::{EditedFile, Undo};
use crate::lock::LockedFile;
use crate::os;
use crate::os::clock::now;
use crate::os::inode_flags::Lost;
use crate::os::names::{hard_link, remove_file};
use crate::os::seen::LostMetadata;
use crate::read::hash::read_and_hash;
use crate::stage::TemporaryId;
use crate::workspace::Workspace;

/// The number of bytes that are copied between two checks for cancellation.
const PIECE: u64 = 16 * 1024 * 1024;

/// Checks that a regular file, with any content, can be moved to its new place. Creates the missing
/// directories above that place and, if needed, the copy.
pub(super) fn prepare(task: &mut Task<'_, '_>) -> Result<Result<Prepared, Vec<EditProblem>>, StoreError> {
    let (workspace, group, options) = (task.workspace, task.group, task.options);
    let (Some(locked), Some(to)) = (&group.locked, group.first.edit.move_to) else {
        return Ok(Err(Vec::new()));
    };
    let source = &group.first.place;
    let refuse = |reason| Ok(Err(vec![EditProblem { entry: group.first.entry, reason }]));
    let began = now();
    let digest = digest_of(locked, options)?;
    if let EditChange::Keep { after: Some(after) } = group.first.edit.change
        && after != digest
    {
        return refuse(Reason::ChangedSince { digest: Some(digest) });
    }
    if group.file_hash.is_some_and(|known| !known.matches(&digest)) {
        let rejection = Rejection::HashMismatch { actual: digest, fit: Fit::Broken };
        return refuse(Reason::Rejected { rejection, digest: Some(digest), total_lines: 0 });
    }
    if !matches!(group.destination, MoveTarget::Itself) {
        source.check_may_go(Operation::Move)?;
    }
    let mut edited = Edited {
        entry: group.first.entry,
        became: Became::Moved { from: group.first.edit.file_path.to_owned() },
        digest: Some(digest),
        total_lines: 0,
        replaced: 0,
        regions: Vec::new(),
        diff: options.dry_run.then(|| renamed(group.first.edit.file_path.as_ref(), to.as_ref())),
        comparison: None,
        warnings: Vec::new(),
        path: source.path().to_owned(),
        shown: None,
    };
    let (to, rows) = match &group.destination {
        MoveTarget::Here | MoveTarget::Itself => {
            edited.warnings.push(Warning::Unchanged);
            return Ok(Ok(Prepared::told(edited)));
        }
        MoveTarget::Spelling(path) => {
            if !task.begin()? {
                return Ok(Ok(Prepared::told(edited)));
            }
            let name = path.file_name().unwrap_or_default();
            let relative = source.relative().with_file_name(name);
            (Arrival::Respelled(name.into()), rows(source, (path, &relative), digest, Vec::new()))
        }
        MoveTarget::Elsewhere(target) => {
            let arriving = match Arriving::at(task, target)? {
                Ok(arriving) => arriving,
                Err(reason) => return refuse(reason),
            };
            if !task.begin()? {
                return Ok(Ok(Prepared::told(edited)));
            }
            if group.first.method == MoveMethod::Linked {
                try_link(source, group.id)?;
            }
            let (to, directories) = if group.first.method == MoveMethod::Copied {
                let (creation, copied) = arriving.copy(locked.file(), options)?;
                edited.warnings.push(Warning::Copied(copied));
                let directories = creation.directories();
                (Arrival::New { creation: creation.into(), digest }, directories)
            } else {
                let made = Made::below(target)?;
                let directories = made.paths();
                (Arrival::Same { place: target.clone(), made }, directories)
            };
            (to, moved_rows(source, target, digest, directories))
        }
    };
    let keeps = |place: &WritablePlace| workspace.history.keeps_place(place);
    let target = if let MoveTarget::Elsewhere(target) = &group.destination { keeps(target) } else { Ok(()) };
    let kept = keeps(source).and(target).map(|()| rows.into());
    let staged = task.depart(locked, (digest, began), Some(to));
    Ok(Ok(Prepared { edited, staged: Some((staged, kept)) }))
}

/// Checks that the file system has hard links, before the move relies on them.
fn try_link(place: &WritablePlace, id: TemporaryId) -> Result<(), StoreError> {
    let name = id.name();
    hard_link(&place.directory, place.name(), &name).context(Operation::Move, place.path())?;
    // The test link is removed: as long as the file has both names, a rename from one to the other would do
    // nothing (rename(2)).
    remove_file(&place.directory, &name).context(Operation::Remove, place.path())
}

/// Returns the digest of the file. Fails if the file changes meanwhile.
fn digest_of(locked: &LockedFile, options: EditOptions<'_>) -> Result<Digest, StoreError> {
    let file = locked.file();
    let hashed = read_and_hash(file, Hasher::default(), |_| options.cancellation.check());
    let fail = |fault| StoreError::from_fault(Operation::Read, file.path(), fault);
    let digest = hashed.map_err(fail)?.digest();
    let is_unchanged = file.is_unchanged().map_err(|error: io::Error| fail(ReadFault::Io(error)))?;
    if is_unchanged {
        Ok(digest)
    } else {
        Err(StoreError::new(Operation::Move, file.path(), StoreErrorKind::Changed))
    }
}

/// A file that is to move to another place, which was found free, or is freed by the call.
pub(super) struct Arriving<'a> {
    group: &'a Group<'a>,
    pub(super) to: &'a WritablePlace,
}

impl<'a> Arriving<'a> {
    /// Checks that the new place is free, or that the call frees it, as far as that can be known without
    /// moving the file.
    pub(super) fn at(task: &Task<'a, '_>, to: &'a WritablePlace) -> Result<Result<Self, Reason>, StoreError> {
        let (workspace, group, options) = (task.workspace, task.group, task.options);
        let against = against(workspace, &group.first.place, (to, group.follows), options)?;
        Ok(against.map_or(Ok(Self { group, to }), Err))
    }

    /// Creates an empty temporary file at the new place, for a copy with the same or with edited content.
    pub(super) fn begin_copy(&self, file: &OpenFile) -> Result<Creation, StoreError> {
        if os::is_open_for_writing(file.file()) == Some(true) {
            let path = self.group.first.place.path();
            return Err(StoreError::new(Operation::Move, path, StoreErrorKind::HeldOpen));
        }
        Creation::begin(self.to, self.group.id_of_target, 0o600)
    }

    /// Copies the metadata of the old file to the new file, whose bytes are complete. Returns what the new
    /// file lacks.
    pub(super) fn complete(creation: &Creation, file: &OpenFile, lost: Lost) -> Result<Copied, StoreError> {
        let not_kept = creation.temporary().keep_metadata(file)?;
        let is_whole = not_kept == LostMetadata::default() && lost.is_nothing();
        let leaves_names = os::links_of(file.file(), file.metadata()) > 1;
        Ok(Copied { loses_metadata: !is_whole, leaves_names })
    }

    /// Returns a complete copy of the file.
    fn copy(&self, file: &OpenFile, options: EditOptions<'_>) -> Result<(Creation, Copied), StoreError> {
        let bytes = file.size();
        let mut creation = self.begin_copy(file)?;
        let temporary = creation.temporary_mut();
        let lost = temporary.keep_flags(file);
        let mut offset = 0;
        while offset < bytes {
            if options.cancellation.is_cancelled() {
                let path = self.group.first.place.path();
                return Err(StoreError::new(Operation::Move, path, StoreErrorKind::Cancelled));
            }
            let end = bytes.min(offset + PIECE);
            temporary.copy_range(file, offset..end)?;
            offset = end;
        }
        let copied = Self::complete(&creation, file, lost)?;
        if let Ok(modified) = file.metadata().modified() {
            // An error is ignored: some file systems do not store times.
            creation.temporary().file().set_modified(modified).ok();
        }
        Ok((creation, copied))
    }
}

/// Returns the reason against the new place of a file, as far as one can be known without moving the file. If
/// the call vacates that place (`is_vacated`), the place may still be taken now.
pub(super) fn against(
    workspace: &Workspace,
    source: &WritablePlace,
    (to, is_vacated): (&WritablePlace, bool),
    options: EditOptions<'_>,
) -> Result<Option<Reason>, StoreError> {
    let free = if is_vacated { check_directory(to) } else { check_free(to) };
    let reason = match free {
        Ok(()) => return Ok(None),
        Err(error) if error.kind == StoreErrorKind::AlreadyExists => taken(workspace, source, to, options)?,
        Err(error) if error.kind == StoreErrorKind::Changed => return Err(error),
        Err(error) => Reason::Store(error),
    };
    Ok(Some(Reason::OfTarget(Box::new(reason))))
}

/// Returns the reason for a new place that is taken. The reason includes the file that is there.
fn taken(
    workspace: &Workspace,
    source: &WritablePlace,
    target: &WritablePlace,
    options: EditOptions<'_>,
) -> Result<Reason, StoreError> {
    let about = target.directory.symlink_metadata(target.name());
    let is_directory = target.missing.is_empty() && about.is_ok_and(|about| about.is_dir());
    let by = Existing::at(workspace, target, None, options.cancellation)?;
    let inside = is_directory.then(|| target.path().join(source.name()));
    Ok(Reason::Taken { by: Box::new(by), inside })
}

/// Converts an error to the reason why the file could not be moved.
pub(super) fn reason(
    workspace: &Workspace,
    [source, target]: [&WritablePlace; 2],
    error: StoreError,
    options: EditOptions<'_>,
) -> Reason {
    let of_target = match error.kind {
        StoreErrorKind::AlreadyExists => {
            taken(workspace, source, target, options).unwrap_or_else(Reason::Store)
        }
        StoreErrorKind::Changed => return Reason::Store(error),
        // The error's path is the directory that the file must not leave.
        StoreErrorKind::Guarded { .. } if error.operation == Operation::Move => return Reason::Store(error),
        _ if error.path == source.path() => return Reason::Store(error),
        _ => Reason::Store(error),
    };
    Reason::OfTarget(Box::new(of_target))
}

/// Returns the rows of a move for the history: a removal and a creation with the same diff. `directories`
/// were created for the move. Earlier versions of this program can list this form of a move, but cannot undo
/// it.
pub(super) fn moved_rows(
    source: &WritablePlace,
    target: &WritablePlace,
    digest: Digest,
    directories: Vec<PathBuf>,
) -> [EditedFile; 2] {
    rows(source, (target.path(), target.relative()), digest, directories)
}

fn rows(
    source: &WritablePlace,
    (to, relative): (&Path, &Path),
    digest: Digest,
    directories: Vec<PathBuf>,
) -> [EditedFile; 2] {
    let diff = renamed(source.path(), to);
    let file = |path: &Path, relative: &Path| EditedFile {
        path: path.to_owned(),
        relative: relative.to_owned(),
        encoding: Encoding::Utf8,
        before: None,
        after: None,
        // The history keeps no bytes of a moved file: they are in the moved file itself.
        undo: Undo::Create { contents: Vec::new() },
        diff: diff.clone(),
    };
    let from = EditedFile { before: Some(digest), ..file(source.path(), source.relative()) };
    let to = EditedFile { after: Some(digest), undo: Undo::Remove { directories }, ..file(to, relative) };
    [from, to]
}

/// Returns the lines that describe a move in a diff, as in git.
pub(super) fn renamed(from: &Path, to: &Path) -> String {
    let [from, to] = [from, to].map(|path| path.to_string_lossy());
    format!("rename from {}\nrename to {}\n", in_diff(&from), in_diff(&to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::world::{World, options};

    #[test]
    fn a_directory_at_the_new_place_tells_the_name_in_it() {
        let world = World::new();
        world.write("@/root/a", "text\n");
        for (path, inside) in [("@/root/d", Some("@/root/d/a")), ("@/root/d/d", None)] {
            let to = world.place(path);
            std::fs::create_dir(world.path("@/root/d")).unwrap();
            let found = taken(&world.workspace, &world.place("@/root/a"), &to, options("test")).unwrap();
            let Reason::Taken { inside: found, .. } = found else { panic!("{found:?}") };
            assert_eq!(found, inside.map(|path| world.path(path)));
            std::fs::remove_dir(world.path("@/root/d")).unwrap();
        }
    }
}
