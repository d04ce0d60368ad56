//! Gives and takes away the names of a call's files: [`Names`]. A file that already has such a name stays,
//! and so does what another program writes.
//!
//! First the names that other files of the call get are taken away. Then all names are given. Last, the other
//! names are taken away. So a file mostly has at least one name at any moment. A file that is to go is
//! renamed to a name that no other program knows, and checked again; if it is not what was checked before, it
//! gets its name back.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;

use crate::access::place::{Bytes, WritablePlace};
use crate::commit::displaced::restore;
use crate::commit::made::Made;
use crate::commit::publish_new::Created;
use crate::commit::remove::holds;
use crate::commit::staged::{Arrival, Departure};
use crate::error::{ErrorContext as _, LeftBehind, Operation, Remains, StoreError, StoreErrorKind};
use crate::os;
use crate::os::directory::Dir;
use crate::os::names::{hard_link_into, remove_file, rename, rename_into};
use crate::read::hash::{digest_of, digest_of_bytes};
use crate::stage::temporary::{Temporary, unlink, unlink_if};

/// The files of a call that lose or get names, the last one first. To be finished, left or rolled back.
#[derive(Debug)]
#[must_use = "the names are given and taken already"]
pub(super) struct Names(Vec<Name>);

/// A function that fails if the call may not go on.
pub(super) type Prove<'a> = &'a mut dyn FnMut() -> Result<(), StoreError>;

/// One file, and how far its change has come.
#[derive(Debug)]
struct Name {
    from: Option<Departure>,
    /// True if it has the temporary name, which no other program knows.
    is_aside: bool,
    to: To,
}

/// The fate of a file that gets a name.
#[derive(Debug)]
enum To {
    Nowhere,
    Due(Arrival),
    /// It could not be done. The directories that were made for it are removed after the call's other files
    /// in them.
    Failed(Made),
    /// It could not be done either, and the file has the name beside its temporary one.
    Both {
        place: WritablePlace,
        made: Made,
    },
    Published(Box<Created>, Digest),
    /// The file that departed. The digest is that of its content now: another program that has it open may
    /// have written to it.
    Renamed {
        place: WritablePlace,
        made: Made,
        digest: Digest,
    },
    Respelled(PathBuf),
}

impl Names {
    /// Takes the files in the order of the commit: the last one of the call comes first.
    pub(super) fn new(files: Vec<(Option<Departure>, Option<Arrival>)>) -> Self {
        let name = |(from, to): (_, Option<Arrival>)| Name {
            from,
            is_aside: false,
            to: to.map_or(To::Nowhere, To::Due),
        };
        Self(files.into_iter().map(name).collect())
    }

    /// Returns the temporaries that must be on disk before any name is given.
    pub(super) fn temporaries(&self) -> impl Iterator<Item = &Temporary> {
        self.0.iter().filter_map(|name| match &name.to {
            To::Due(Arrival::New { creation, .. }) => Some(creation.temporary()),
            _ => None,
        })
    }

    /// Returns the places whose names change.
    pub(super) fn places(&self) -> impl Iterator<Item = &WritablePlace> {
        self.0.iter().flat_map(|name| {
            let to = match &name.to {
                To::Due(Arrival::New { creation, .. }) => Some(creation.place()),
                To::Due(Arrival::Same { place, .. }) => Some(place),
                _ => None,
            };
            name.from.as_ref().map(|from| &from.place).into_iter().chain(to)
        })
    }

    /// Takes away the names that go first, and then gives all names. Before each file loses a name, `prove`
    /// must say that the record is still this call's: without a temporary, the step would succeed even if it
    /// is not.
    pub(super) fn give(&mut self, prove: Prove<'_>) -> Result<(), StoreError> {
        for name in &mut self.0 {
            if name.from.as_ref().is_some_and(|from| from.goes_first) {
                prove()?;
                name.withdraw()?;
            }
        }
        for name in &mut self.0 {
            if !name.is_aside && matches!(name.to, To::Due(Arrival::Same { .. } | Arrival::Respelled(_))) {
                prove()?;
            }
            name.give()?;
        }
        Ok(())
    }

    /// Takes away the names that are still to go, with `prove` as in `give`.
    pub(super) fn take(&mut self, prove: Prove<'_>) -> Result<(), StoreError> {
        for name in &mut self.0 {
            let stays = matches!(name.to, To::Renamed { .. } | To::Respelled(_));
            if !name.is_aside && !stays && name.from.is_some() {
                prove()?;
                name.withdraw()?;
            }
        }
        Ok(())
    }

    /// Waits until files that went to another directory are on disk, each with its new name and without the
    /// old one. To be called before any directory is synced: btrfs then writes each directory by itself, and
    /// a power cut in between leaves the file with both names.
    pub(super) fn sync_moved(&self) -> Result<(), StoreError> {
        for name in &self.0 {
            if let (To::Renamed { place, .. }, Some(from)) = (&name.to, &name.from)
                && place.path().parent() != from.place.path().parent()
            {
                os::sync_moved(from.locked.file().file()).context(Operation::Sync, place.path())?;
            }
        }
        Ok(())
    }

    /// Waits until all names are on disk.
    pub(super) fn sync_names(&self) -> Result<(), StoreError> {
        for name in &self.0 {
            match &name.to {
                To::Published(created, _) => created.sync_names()?,
                To::Renamed { place, made, .. } => {
                    let synced = os::sync_directory(made.innermost(place)).and_then(|()| made.sync_parents());
                    synced.context(Operation::Sync, place.path())?;
                }
                _ => {}
            }
            if let Some(Departure { place, .. }) = &name.from {
                os::sync_directory(&place.directory).context(Operation::Sync, place.path())?;
            }
        }
        Ok(())
    }

    /// Returns the digest of each file that was renamed, in the order of the files.
    pub(super) fn arrived(&self) -> Vec<Option<Digest>> {
        let digest = |name: &Name| match &name.to {
            To::Renamed { digest, .. } => Some(*digest),
            _ => None,
        };
        self.0.iter().map(digest).collect()
    }

    /// Unlinks the files that have gone, which ends the commit. Returns the directories that were made for
    /// them, and whether nothing else is left.
    pub(super) fn finish(self) -> (Vec<PathBuf>, bool) {
        let (mut directories, mut is_clean) = (Vec::new(), true);
        for name in self.0 {
            match name.to {
                To::Published(created, _) => is_clean &= created.keep(),
                To::Renamed { mut made, .. } => {
                    made.keep();
                    directories.extend(name.from.into_iter().flat_map(|from| from.directories));
                    continue;
                }
                To::Nowhere | To::Due(_) | To::Failed(_) | To::Both { .. } | To::Respelled(_) => {}
            }
            let Some(from) = name.from else { continue };
            if name.is_aside {
                // The file under this name was checked, and no other program knows the name.
                is_clean &= unlink(&from.place.directory, Path::new(&from.id.name()));
            }
            // Some file systems keep an open file under another name, in a directory that is to be removed.
            drop(from.locked);
            directories.extend(from.directories);
        }
        (directories, is_clean)
    }

    /// Leaves everything as it is for recovery; returns where each file is.
    pub(super) fn leave(self) -> Vec<LeftBehind> {
        let mut left = Vec::new();
        for name in self.0 {
            left.extend(name.left());
            match name.to {
                To::Published(created, _) => drop(created.keep()),
                To::Renamed { mut made, .. } | To::Both { mut made, .. } => made.keep(),
                To::Nowhere | To::Due(_) | To::Failed(_) | To::Respelled(_) => {}
            }
        }
        left
    }

    /// Gives all files their names back, because of `cause`, and removes the new ones. Returns the error to
    /// report: `cause`, or one that says where each content is if a file is not what it was.
    pub(super) fn roll_back(mut self, cause: StoreError) -> StoreError {
        // The reverse order: a name that was given may be the one that another file lost.
        let late = |name: &Name| name.from.as_ref().is_some_and(|from| !from.goes_first);
        let error =
            self.0.iter_mut().filter(|name| late(name)).fold(cause, |error, name| name.come_back(error));
        let error = self.0.iter_mut().fold(error, |error, name| name.ungive(error));
        self.0.iter_mut().fold(error, |error, name| name.come_back(error))
    }
}

impl Name {
    /// Takes the name away: the file is renamed to its temporary name, and checked.
    fn withdraw(&mut self) -> Result<(), StoreError> {
        let Some(from) = &self.from else { return Ok(()) };
        let (place, aside) = (&from.place, from.id.name());
        rename(&place.directory, place.name(), &aside).context(Operation::Remove, place.path())?;
        self.is_aside = true;
        from.check(Path::new(&aside))
    }

    fn give(&mut self) -> Result<(), StoreError> {
        let due = match std::mem::replace(&mut self.to, To::Nowhere) {
            To::Due(due) => due,
            to => {
                self.to = to;
                return Ok(());
            }
        };
        match (due, &self.from) {
            (Arrival::New { creation, digest }, _) => {
                let published = creation.publish().map_err(|failed| {
                    let (error, made) = *failed;
                    self.to = To::Failed(made);
                    error
                })?;
                self.to = To::Published(published.into(), digest);
            }
            (Arrival::Same { place, made, .. }, Some(from)) => {
                if let Err((error, has_both)) = from.rename(self.is_aside, &place, made.innermost(&place)) {
                    self.to = if has_both { To::Both { place, made } } else { To::Failed(made) };
                    return Err(error);
                }
                let found = from.look(&place, made.innermost(&place));
                let digest = *found.as_ref().unwrap_or(&from.digest);
                self.to = To::Renamed { place, made, digest };
                found?;
            }
            (Arrival::Respelled(name), Some(Departure { place, .. })) => {
                // The name cannot be another file's.
                rename(&place.directory, place.name(), &name).context(Operation::Move, place.path())?;
                self.to = To::Respelled(name);
            }
            (Arrival::Same { .. } | Arrival::Respelled(_), None) => {}
        }
        Ok(())
    }

    /// Gives the file back the name that it lost. If the file that the call has put there could not be
    /// removed, that is left to recovery.
    fn come_back(&mut self, cause: StoreError) -> StoreError {
        let Some(from) = self.from.as_ref().filter(|_| self.is_aside) else { return cause };
        let was_left = cause.kind == StoreErrorKind::NotRestored;
        if was_left && from.goes_first && !from.place.is_free() {
            return cause.leaving(self.left());
        }
        let left = cause.left.clone();
        let error = restore(&from.place, Path::new(&from.id.name()), cause)
            .unwrap_or_else(|error| error.leaving(left));
        self.is_aside = false;
        if was_left { error.not_restored([]) } else { error }
    }

    /// Takes back the name that the file was given.
    fn ungive(&mut self, cause: StoreError) -> StoreError {
        match (std::mem::replace(&mut self.to, To::Nowhere), &self.from) {
            (To::Published(created, digest), _) => created.take_back(digest, cause),
            (To::Renamed { place, mut made, .. }, Some(from)) => {
                let name = if self.is_aside { from.id.name() } else { from.place.name().to_owned() };
                let handed = hand_over(made.innermost(&place), place.name(), &from.place.directory, &name);
                let Err(NotHandedOver { error: failed, .. }) = handed else { return cause };
                self.is_aside = false;
                let gone = LeftBehind::new(from.place.path(), Remains::Gone);
                let kept = LeftBehind::new(place.path(), Remains::Old(from.place.path().to_owned()));
                let is_first = cause.left.is_empty();
                // Another program has made a file of the old name: then this one stays where it is, with all
                // that it holds. Or another has removed this one.
                let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
                let now = os::identity_at(made.innermost(&place), Path::new(place.name()));
                let is_removed = is_missing(&failed) && now.is_err_and(|error| is_missing(&error));
                if !is_removed {
                    made.keep();
                }
                let is_theirs = is_removed || failed.kind() == io::ErrorKind::AlreadyExists;
                let error = cause.not_restored([gone].into_iter().chain((!is_removed).then_some(kept)));
                if is_first && is_theirs {
                    return StoreError { kind: StoreErrorKind::Displaced, ..error };
                }
                error
            }
            (To::Respelled(name), Some(Departure { place, .. })) => {
                match rename(&place.directory, &name, place.name()) {
                    Ok(()) => cause,
                    Err(_) => cause
                        .not_restored([LeftBehind::new(&place.path().with_file_name(name), Remains::Made)]),
                }
            }
            (To::Both { place, mut made }, Some(from)) => {
                let (directory, name) = (made.innermost(&place), Path::new(place.name()));
                if unlink_if(directory, name, from.locked.file().identity()) {
                    return cause;
                }
                made.keep();
                cause.not_restored([LeftBehind::new(place.path(), Remains::Made)])
            }
            (To::Failed(made), _) => {
                drop(made);
                cause
            }
            (To::Nowhere | To::Due(_) | To::Both { .. } | To::Renamed { .. } | To::Respelled(_), _) => cause,
        }
    }

    /// Returns which names have changed, and where the file is.
    fn left(&self) -> Vec<LeftBehind> {
        let mut left = Vec::new();
        let made = match &self.to {
            To::Published(created, _) => Some(created.file.path()),
            To::Both { place, .. } => Some(place.path()),
            _ => None,
        };
        if let Some(Departure { place, id, .. }) = &self.from {
            let is_gone = self.is_aside || matches!(self.to, To::Renamed { .. });
            left.extend(is_gone.then(|| LeftBehind::new(place.path(), Remains::Gone)));
            let aside = place.path().with_file_name(id.name());
            let kept = match &self.to {
                To::Renamed { place: to, .. } => Some(to.path()),
                _ => self.is_aside.then_some(aside.as_path()),
            };
            left.extend(kept.map(|kept| LeftBehind::new(kept, Remains::Old(place.path().to_owned()))));
        }
        left.extend(
            made.filter(|made| left.iter().all(|left| left.path != *made))
                .map(|made| LeftBehind::new(made, Remains::Made)),
        );
        left
    }
}

impl Departure {
    /// Gives the file its new place, in one step if it still has its own name. An error comes with whether
    /// the file has both names.
    fn rename(&self, is_aside: bool, to: &WritablePlace, directory: &Dir) -> Result<(), (StoreError, bool)> {
        let from = &self.place;
        let moved = if is_aside {
            hand_over(&from.directory, &self.id.name(), directory, to.name())
        } else {
            rename_into(&from.directory, from.name(), directory, to.name()).map_err(NotHandedOver::from)
        };
        moved.map_err(|NotHandedOver { error, has_both }| {
            let error = match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    StoreError::new(Operation::Move, to.path(), StoreErrorKind::AlreadyExists)
                }
                // Either the file or the directory was removed.
                io::ErrorKind::NotFound => self.changed(Operation::Move),
                _ => StoreError::from_io(Operation::Move, from.path(), error),
            };
            (error, has_both)
        })
    }

    /// Returns the digest of the file that was renamed. Fails if it is another file, because another program
    /// was first.
    fn look(&self, to: &WritablePlace, directory: &Dir) -> Result<Digest, StoreError> {
        let (name, known) = (Path::new(to.name()), self.locked.file().identity());
        let now = os::identity_at(directory, name).context(Operation::Move, to.path())?;
        if now.same_content(known) && self.is_settled {
            return Ok(self.digest);
        }
        // Where inode numbers are made from paths, the rename has changed it.
        let file = self.locked.file().file();
        let is_it = || holds(directory, name, self.digest, file).context(Operation::Read, to.path());
        if !now.same_file(known) && !is_it()? {
            return Err(self.changed(Operation::Move));
        }
        Bytes::now(file).and_then(|bytes| digest_of_bytes(&bytes)).context(Operation::Read, to.path())
    }

    /// Checks that the renamed file is what was checked before, and that no program has it open for writing.
    fn check(&self, aside: &Path) -> Result<(), StoreError> {
        let (place, file) = (&self.place, self.locked.file());
        let out = os::identity_at(&place.directory, aside).context(Operation::Remove, place.path())?;
        // Where inode numbers are made from paths, the rename has changed it.
        let is_same = || out.same_content(file.identity());
        let is_renamed = || {
            let is_another = !out.same_file(file.identity());
            if is_another { holds(&place.directory, aside, self.digest, file.file()) } else { Ok(false) }
        };
        let is_it = (is_same() || is_renamed().context(Operation::Read, place.path())?)
            && os::is_open_for_writing(file.file()) != Some(true)
            && (self.is_settled || digest_of(file)? == self.digest);
        if is_it { Ok(()) } else { Err(self.changed(Operation::Remove)) }
    }

    fn changed(&self, operation: Operation) -> StoreError {
        StoreError::new(operation, self.place.path(), StoreErrorKind::Changed)
    }
}

/// A file that did not get its new name, or could not lose the old one.
#[derive(Debug)]
pub(crate) struct NotHandedOver {
    pub(crate) error: io::Error,
    /// True if it has both names: it could not lose the new one again either.
    has_both: bool,
}

impl From<io::Error> for NotHandedOver {
    fn from(error: io::Error) -> Self {
        Self { error, has_both: false }
    }
}

/// Renames a file that no other program knows to a name that must be free. Where the file system cannot do
/// that in one step, the file gets a second name, and then loses the first.
pub(crate) fn hand_over(
    directory: &Dir,
    from: &OsStr,
    target: &Dir,
    to: &OsStr,
) -> Result<(), NotHandedOver> {
    match rename_into(directory, from, target, to) {
        Err(error) if os::is_unsupported(&error) || os::keeps_its_name(&error) => {
            hard_link_into(directory, from, target, to).map_err(|why| match why.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => why,
                _ => error,
            })?;
            remove_file(directory, from)
                .map_err(|error| NotHandedOver { error, has_both: !unlink(target, Path::new(to)) })
        }
        renamed => Ok(renamed?),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use super::*;
    use crate::lock::{LockTimeout, lock};
    use crate::stage::temporary::TemporaryId;
    use crate::tests::world::World;

    fn departure(world: &World, path: &str) -> Departure {
        let place = world.place(path);
        let locked = lock(&place, &LockTimeout::default()).unwrap().into();
        let digest = Digest::of(world.content(path).as_bytes());
        let (id, directories) = (TemporaryId::draw(), Vec::new());
        Departure { place, id, locked, digest, is_settled: false, directories, goes_first: false }
    }

    /// The other spelling means the same file only on some file systems. Wine leaves the name as it is.
    #[test]
    #[cfg(unix)]
    fn a_name_is_spelled_in_another_way_and_in_its_own_again() {
        let world = World::new();
        world.write("@/root/a", "text\n");
        let cause = || StoreError::new(Operation::Sync, &world.path("@/root/a"), StoreErrorKind::Io);
        let names =
            || Names::new(vec![(Some(departure(&world, "@/root/a")), Some(Arrival::Respelled("A".into())))]);
        let (own, other) = (["outside", "root", "root/a"], ["outside", "root", "root/A"]);

        let mut lost = names();
        assert_eq!(lost.give(&mut || Err(cause())).unwrap_err().kind, StoreErrorKind::Io);
        assert_eq!(world.names(), own, "the record is another's");
        drop(lost.roll_back(cause()));
        assert_eq!(world.names(), own);

        let mut failed = names();
        failed.give(&mut || Ok(())).unwrap();
        failed.take(&mut || Ok(())).unwrap();
        assert_eq!(world.names(), other);
        let error = failed.roll_back(cause());
        assert_eq!((error.kind, error.left.len()), (StoreErrorKind::Io, 0));
        assert_eq!(world.names(), own);

        let mut kept = names();
        kept.give(&mut || Ok(())).unwrap();
        assert_eq!(kept.finish(), (Vec::new(), true));
        assert_eq!(world.names(), other);
    }

    /// Another program has made a directory of the old name, which only letter case makes possible.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_name_that_cannot_be_spelled_as_before_is_told() {
        let world = World::new();
        world.write("@/root/a", "text\n");
        let from = departure(&world, "@/root/a");
        let mut names = Names::new(vec![(Some(from), Some(Arrival::Respelled("A".into())))]);
        names.give(&mut || Ok(())).unwrap();
        world.write("@/root/a/theirs", "theirs\n");
        let cause = StoreError::new(Operation::Sync, &world.path("@/root/a"), StoreErrorKind::Io);
        let error = names.roll_back(cause);
        assert_eq!(error.kind, StoreErrorKind::NotRestored);
        assert_eq!(error.left, [LeftBehind::new(&world.path("@/root/A"), Remains::Made)]);
        assert_eq!(world.content("@/root/A"), "text\n");
    }

    #[test]
    fn of_a_file_that_is_left_with_both_names_both_are_told() {
        let world = World::new();
        world.write("@/root/a", "text\n");
        let from = departure(&world, "@/root/a");
        let aside = world.path("@/root/a").with_file_name(from.id.name());
        std::fs::rename(world.path("@/root/a"), &aside).unwrap();
        std::fs::hard_link(&aside, world.path("@/root/to")).unwrap();
        let to = To::Both { place: world.place("@/root/to"), made: Made::default() };
        let left = Names(vec![Name { from: Some(from), is_aside: true, to }]).leave();
        let old = world.path("@/root/a");
        let told = [
            LeftBehind::new(&old, Remains::Gone),
            LeftBehind::new(&aside, Remains::Old(old.clone())),
            LeftBehind::new(&world.path("@/root/to"), Remains::Made),
        ];
        assert_eq!(left, told);
        assert!(aside.exists() && world.path("@/root/to").exists());
    }
}
