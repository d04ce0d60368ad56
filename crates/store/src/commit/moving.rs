//! Giving a file another place: [`move_file`]. Whatever has that name stays, and so does what another program writes.
//!
//! Mostly the file is renamed, in one step, if the name is free. Where the file system cannot do that in one step, the file gets a second
//! name; where it has none, and on another file system, it is copied. Then it is there under both names for a moment, and its old name is
//! taken away as in a removal.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::Source as _;

use crate::access::place::{Bytes, OpenFile, WritablePlace};
use crate::cancellation::Cancellation;
use crate::commit::made::Made;
use crate::commit::publish_new::{Created, Creation, check_directory};
use crate::commit::remove::{
    Around, Checked, NotWithdrawn, holds, remove_directories, sync, take_away, withdraw,
};
use crate::commit::transaction::Transaction;
use crate::durability::Durability;
use crate::error::{Context as _, Left, Operation, Remains, StoreError, StoreErrorKind};
use crate::journal::{Intent, Step, Subject};
use crate::lock::LockedFile;
use crate::os;
use crate::os::directory::Dir;
use crate::os::names::{hard_link_into, rename, rename_into};
use crate::os::seen::NotKept;
use crate::read::hash::digest_of_bytes;
use crate::stage::temporary::{TemporaryId, unlink};
use crate::workspace::Workspace;

/// How much of a file is copied before it is asked whether the call was withdrawn.
const PIECE: u64 = 16 * 1024 * 1024;

/// A file that is to get another place.
#[derive(Debug)]
pub(crate) struct Moving<'a> {
    /// Where it is.
    pub(crate) from: &'a WritablePlace,
    /// Where it is to be. Nothing may be there.
    pub(crate) to: &'a WritablePlace,
    /// The file, as it was read.
    pub(crate) locked: LockedFile,
    /// The digest of what it holds.
    pub(crate) digest: Digest,
    /// Whether its times can tell whether it still holds that.
    pub(crate) is_settled: bool,
    /// The directories that were made for it where it is, outermost first; they are removed as far as they are empty.
    pub(crate) directories: &'a [PathBuf],
}

/// What is known of a file when it has its new place.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// What it holds: another program that has it open may have written to it.
    pub(crate) digest: Digest,
    /// The directories that were made for it, outermost first.
    pub(crate) directories: Vec<PathBuf>,
    /// How it was copied; `None` if it is the same file.
    pub(crate) copied: Option<Copied>,
}

/// What is to be known of a file that was copied because its new place is on another file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copied {
    /// Whether the copy could not be given all of its owner, group, attributes, streams and flags.
    pub loses_metadata: bool,
    /// Whether the file has other names (hard links), under which it stays where it was.
    pub leaves_names: bool,
}

/// What is known of a move that was carried out.
#[derive(Debug)]
pub(crate) struct Moved<'a, T> {
    /// What has arrived.
    pub(crate) arrived: Arrived,
    /// The result of `note`.
    pub(crate) noted: T,
    /// Whether recovery would have found it if the process had been killed.
    pub(crate) was_recorded: bool,
    /// The directories that were made for it where it was.
    pub(crate) around: Around<'a>,
}

/// Gives a file another place. `note` is called once the move is certain, while the file is still locked.
///
/// [`StoreErrorKind::AlreadyExists`] is about the new name, as are errors whose path is that of the new place. If another program puts another
/// file under the old name meanwhile, that stays, and it is [`StoreErrorKind::Changed`].
pub(crate) fn move_file<'a, T>(
    workspace: &'a Workspace,
    moving: Moving<'_>,
    cancellation: Cancellation<'_>,
    note: impl FnOnce(&Arrived) -> T,
) -> Result<Moved<'a, T>, StoreError> {
    check_directory(moving.to)?;
    let work = Work { workspace, moving: &moving, cancellation };
    let (arrived, transaction, aside) = match work.in_one_step()? {
        Ok((arrived, transaction)) => (arrived, transaction, None),
        Err(Impossible { may_link }) => {
            let (arrived, transaction, aside) = work.in_two_steps(may_link)?;
            (arrived, transaction, Some(aside))
        }
    };
    let noted = note(&arrived);
    if let Some(Aside { id, created: _created }) = &aside {
        // The file under this name was checked, and no other program knows the name.
        unlink(&moving.from.directory, Path::new(&id.name()));
    }
    drop(aside);
    let directories = moving.directories;
    drop(moving.locked);
    let was_recorded = transaction.is_recorded();
    let around = Around::of(workspace, transaction, directories);
    Ok(Moved { arrived, noted, was_recorded, around })
}

/// Changes the spelling of a file's name where both spellings are one name to the file system.
pub(crate) fn respell(
    workspace: &Workspace,
    place: &WritablePlace,
    name: &Path,
    cancellation: Cancellation<'_>,
) -> Result<(), StoreError> {
    if cancellation.is_cancelled() {
        return Err(StoreError::new(Operation::Move, place.path(), StoreErrorKind::Cancelled));
    }
    rename(&place.directory, place.name(), name).context(Operation::Move, place.path())?;
    // The name cannot be another file's.
    sync(workspace, place).map_err(|error| match rename(&place.directory, name, place.name()) {
        Ok(()) => error,
        Err(_) => error.not_restored([Left::new(&place.path().with_file_name(name), Remains::Made)]),
    })
}

/// That the file system cannot move the file in one step.
struct Impossible {
    /// Whether the file could be given a second name there.
    may_link: bool,
}

/// The old name's file, which waits to be unlinked, and the new file, which is locked meanwhile.
struct Aside {
    id: TemporaryId,
    created: Option<Created>,
}

#[derive(Clone, Copy)]
struct Work<'a, 'm> {
    workspace: &'a Workspace,
    moving: &'m Moving<'m>,
    cancellation: Cancellation<'m>,
}

impl<'a> Work<'a, '_> {
    fn fail(self, kind: StoreErrorKind) -> StoreError {
        StoreError::new(Operation::Move, self.moving.from.path(), kind)
    }

    fn syncs(self) -> bool {
        self.workspace.durability == Durability::Machine
    }

    /// A transaction, with the names for what the two places hold meanwhile.
    fn begin(self) -> (Transaction<'a>, TemporaryId, TemporaryId) {
        let Moving { from, to, .. } = self.moving;
        let above = to.path().ancestors().skip(1).take(to.missing.len());
        let mut directories: Vec<PathBuf> = above.map(Path::to_owned).collect();
        directories.reverse();
        let (of_from, of_to) = (TemporaryId::draw(), TemporaryId::draw());
        let subjects = [
            Subject { path: to.path().to_owned(), id: of_to, intent: Intent::MoveTo { directories } },
            Subject { path: from.path().to_owned(), id: of_from, intent: Intent::MoveFrom },
        ];
        (Transaction::begin(self.workspace, &subjects), of_from, of_to)
    }

    fn steps(self, twice: bool) -> [Step; 2] {
        let Moving { digest, directories, .. } = self.moving;
        [Step::Stay, Step::Move { digest: *digest, twice, directories: directories.to_vec() }]
    }

    fn check_cancelled(self) -> Result<(), StoreError> {
        if self.cancellation.is_cancelled() { Err(self.fail(StoreErrorKind::Cancelled)) } else { Ok(()) }
    }

    /// Renames the file, unless the new name is taken.
    fn in_one_step(self) -> Result<Result<(Arrived, Transaction<'a>), Impossible>, StoreError> {
        let (transaction, ..) = self.begin();
        let (renamed, transaction) = transaction.work(|transaction| self.rename(transaction))?;
        Ok(renamed.map(|arrived| (arrived, transaction)))
    }

    fn rename(self, transaction: &mut Transaction<'a>) -> Result<Result<Arrived, Impossible>, StoreError> {
        let Moving { from, to, directories, .. } = self.moving;
        if !directories.is_empty() {
            transaction.decide(&self.steps(false))?;
        }
        let mut made = Made::below(to)?;
        let directory = made.innermost(to).clone();
        self.check_cancelled()?;
        match rename_into(&from.directory, from.name(), &directory, to.name()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(taken(to)),
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                return Ok(Err(Impossible { may_link: false }));
            }
            Err(error) if os::is_unsupported(&error) || os::keeps_its_name(&error) => {
                return Ok(Err(Impossible { may_link: true }));
            }
            // Either the file or the directory was removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.fail(StoreErrorKind::Changed));
            }
            Err(error) => return Err(StoreError::from_io(Operation::Move, from.path(), error)),
        }
        match self.look(&directory).and_then(|digest| self.sync_names(&made, &directory).map(|()| digest)) {
            Ok(digest) => Ok(Ok(Arrived { digest, directories: made.keep(), copied: None })),
            Err(error) => {
                let back = rename_into(&directory, to.name(), &from.directory, from.name());
                if let Err(failed) = back {
                    made.keep();
                    let gone = Left::new(from.path(), Remains::Gone);
                    let kept = Left::new(to.path(), Remains::Old(from.path().to_owned()));
                    let mut error = error.not_restored([gone, kept]);
                    // Another program has made a file of the old name. This one stays where it is, with all that it holds.
                    if failed.kind() == io::ErrorKind::AlreadyExists {
                        error.kind = StoreErrorKind::Displaced;
                    } else {
                        transaction.give_up();
                    }
                    return Err(error);
                }
                if self.sync_names(&made, &directory).is_err() {
                    transaction.give_up();
                }
                Err(error)
            }
        }
    }

    /// Looks at the file that was renamed; what it holds. It is another if another program was first.
    fn look(self, directory: &Dir) -> Result<Digest, StoreError> {
        let Moving { to, locked, digest, is_settled, .. } = self.moving;
        let (name, known) = (Path::new(to.name()), locked.file().identity());
        let now = os::identity_at(directory, name).context(Operation::Move, to.path())?;
        if now.same_content(known) && *is_settled {
            return Ok(*digest);
        }
        // Where inode numbers are made from paths, the rename has changed it.
        let file = locked.file().file();
        let is_it = || holds(directory, name, *digest, file).context(Operation::Read, to.path());
        if !now.same_file(known) && !is_it()? {
            return Err(self.fail(StoreErrorKind::Changed));
        }
        Bytes::now(file).and_then(|bytes| digest_of_bytes(&bytes)).context(Operation::Read, to.path())
    }

    fn sync_names(self, made: &Made, directory: &Dir) -> Result<(), StoreError> {
        if !self.syncs() {
            return Ok(());
        }
        let Moving { from, to, .. } = self.moving;
        let synced = os::sync_directory(directory).and_then(|()| made.sync_parents());
        synced.context(Operation::Sync, to.path())?;
        os::sync_directory(&from.directory).context(Operation::Sync, from.path())
    }

    /// Gives the file a second name, or makes a copy, and takes the old name away.
    fn in_two_steps(self, may_link: bool) -> Result<(Arrived, Transaction<'a>, Aside), StoreError> {
        let (transaction, of_from, of_to) = self.begin();
        let work = |transaction: &mut _| self.link_or_copy(may_link, transaction, (of_from, of_to));
        let ((arrived, created), transaction) = transaction.work(work)?;
        Ok((arrived, transaction, Aside { id: of_from, created }))
    }

    fn link_or_copy(
        self,
        may_link: bool,
        transaction: &mut Transaction<'a>,
        (of_from, of_to): (TemporaryId, TemporaryId),
    ) -> Result<(Arrived, Option<Created>), StoreError> {
        let Moving { from, locked, digest, is_settled, .. } = self.moving;
        let linked = if may_link { self.link(transaction, of_to)? } else { None };
        let (mut made, directory, created, copied) = if let Some((made, directory)) = linked {
            (made, directory, None, None)
        } else {
            let (created, copied) = self.copy(transaction, of_to, may_link)?;
            (Made::default(), created.directory.clone(), Some(created), Some(copied))
        };
        let checked = Checked { place: from, file: locked.file(), digest: *digest, is_settled: *is_settled };
        match withdraw(self.workspace, checked, transaction, Path::new(&of_from.name())) {
            Ok(()) => {
                let mut directories = made.keep();
                directories.extend(created.iter().flat_map(|created| created.directories.clone()));
                Ok((Arrived { digest: *digest, directories, copied }, created))
            }
            Err(NotWithdrawn::Left(error)) => {
                made.keep();
                transaction.give_up();
                Err(error)
            }
            Err(NotWithdrawn::Restored(error)) => {
                let (file, of_created) = match created {
                    Some(Created { file, directories, .. }) => (Some(file), directories),
                    None => (None, Vec::new()),
                };
                let open = file.as_ref().unwrap_or(locked.file());
                let error = self.take_back(&directory, of_to, open, transaction, error);
                drop((file, directory, made));
                // One that is used by now stays.
                remove_directories(self.workspace, &of_created).ok();
                Err(error)
            }
        }
    }

    /// Takes the new name away again, which is `open`, because of `cause`; the error to report.
    fn take_back(
        self,
        directory: &Dir,
        id: TemporaryId,
        open: &OpenFile,
        transaction: &mut Transaction<'a>,
        cause: StoreError,
    ) -> StoreError {
        let Moving { to, digest, .. } = self.moving;
        let (name, aside) = (Path::new(to.name()), id.name());
        let taken = take_away(directory, name, Path::new(&aside), *digest, open.file());
        // Another program may have written to it, or made one of its own.
        let is_there = os::identity_at(directory, name).is_ok();
        let made = is_there.then(|| Left::new(to.path(), Remains::Made));
        if taken.is_err() {
            transaction.give_up();
            return cause.not_restored(made);
        }
        let kind = if made.is_some() { StoreErrorKind::Displaced } else { cause.kind.clone() };
        StoreError { kind, ..cause.leaving(made) }
    }

    /// Gives the file a second name; `None` if the file system has none.
    fn link(
        self,
        transaction: &mut Transaction<'a>,
        id: TemporaryId,
    ) -> Result<Option<(Made, Arc<Dir>)>, StoreError> {
        let Moving { from, to, locked, .. } = self.moving;
        transaction.decide(&self.steps(true))?;
        let made = Made::below(to)?;
        let directory = made.innermost(to).clone();
        self.check_cancelled()?;
        match hard_link_into(&from.directory, from.name(), &directory, to.name()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(taken(to)),
            // A copy shows whether it is for that, or for lack of a permission.
            Err(_) => return Ok(None),
        }
        if self.syncs() {
            let synced = os::sync_directory(&directory).and_then(|()| made.sync_parents());
            if let Err(error) = synced {
                let error = StoreError::from_io(Operation::Sync, to.path(), error);
                return Err(self.take_back(&directory, id, locked.file(), transaction, error));
            }
        }
        Ok(Some((made, directory)))
    }

    /// Makes a complete copy of the file under the new name.
    fn copy(
        self,
        transaction: &mut Transaction<'a>,
        id: TemporaryId,
        is_decided: bool,
    ) -> Result<(Created, Copied), StoreError> {
        let Moving { to, locked, .. } = self.moving;
        let file = locked.file();
        let bytes = file.size();
        if os::is_open_for_writing(file.file()) == Some(true) {
            return Err(self.fail(StoreErrorKind::HeldOpen));
        }
        let mut creation = Creation::begin_copy(to, id)?;
        let temporary = creation.temporary();
        let lost = temporary.keep_flags(file);
        let mut offset = 0;
        while offset < bytes {
            self.check_cancelled()?;
            let end = bytes.min(offset + PIECE);
            temporary.copy_range(file, offset..end)?;
            offset = end;
        }
        let not_kept = temporary.keep_metadata(file)?;
        if let Ok(modified) = file.metadata().modified() {
            // A file system that keeps no times has none to be kept.
            temporary.file().set_modified(modified).ok();
        }
        let is_whole = not_kept == NotKept::default() && lost.is_nothing();
        let leaves_names = os::links_of(file.file(), file.metadata()) > 1;
        let copied = Copied { loses_metadata: !is_whole, leaves_names };
        if self.syncs() {
            creation.sync()?;
        }
        if !is_decided {
            transaction.decide(&self.steps(true))?;
        }
        self.check_cancelled()?;
        Ok((creation.commit(self.syncs())?, copied))
    }
}

fn taken(to: &WritablePlace) -> StoreError {
    StoreError::new(Operation::Move, to.path(), StoreErrorKind::AlreadyExists)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::{LockTimeout, lock};
    use crate::read::hash::digest_of;
    use crate::tests::world::World;

    /// Moves `@/root/a` as where the file system cannot rename in one step; how the copy was made, or why it was not moved.
    fn moved(world: &World, may_link: bool) -> Result<Option<Copied>, StoreErrorKind> {
        let (from, to) = (world.place("@/root/a"), world.place("@/root/x/y/b"));
        let locked = lock(&from, &LockTimeout::default()).unwrap();
        let digest = digest_of(locked.file()).unwrap();
        let moving = Moving { from: &from, to: &to, locked, digest, is_settled: false, directories: &[] };
        let work = Work { workspace: &world.workspace, moving: &moving, cancellation: Cancellation::none() };
        let (arrived, transaction, aside) = work.in_two_steps(may_link).map_err(|error| error.kind)?;
        unlink(&from.directory, Path::new(&aside.id.name()));
        drop((aside, transaction));
        assert_eq!(arrived.directories.len(), 2);
        Ok(arrived.copied)
    }

    #[test]
    fn in_two_steps_a_file_is_linked_or_copied() {
        for may_link in [true, false] {
            let world = World::new();
            world.write("@/root/a", "content\n");
            let before = world.file("@/root/a");
            let copied = moved(&world, may_link).unwrap();
            assert_eq!(copied.is_none(), may_link);
            assert_eq!(world.content("@/root/x/y/b"), "content\n");
            assert_eq!(
                world.file("@/root/x/y/b") == before,
                may_link,
                "only what is linked is the same file"
            );
            assert_eq!(std::fs::read_dir(world.path("@/root")).unwrap().count(), 1);
        }
    }

    #[test]
    fn in_two_steps_what_is_there_stays() {
        for may_link in [true, false] {
            let world = World::new();
            world.write("@/root/a", "content\n");
            world.write("@/root/x/y/b", "theirs\n");
            assert_eq!(moved(&world, may_link).unwrap_err(), StoreErrorKind::AlreadyExists);
            assert_eq!(
                (world.content("@/root/a"), world.content("@/root/x/y/b")),
                ("content\n".to_owned(), "theirs\n".to_owned())
            );
            assert_eq!(std::fs::read_dir(world.path("@/root/x/y")).unwrap().count(), 1);
        }
    }

    /// While another program writes to the file, a copy could lack what it writes.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_open_for_writing_is_not_copied() {
        let world = World::new();
        world.write("@/root/a", "content\n");
        let writer = std::fs::OpenOptions::new().append(true).open(world.path("@/root/a")).unwrap();
        assert_eq!(moved(&world, false).unwrap_err(), StoreErrorKind::HeldOpen);
        drop(writer);
        assert_eq!(std::fs::read_dir(world.path("@/root")).unwrap().count(), 1, "no directory is left");
        assert!(moved(&world, false).unwrap().is_some());
    }
}
