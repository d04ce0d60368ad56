//! Names that a call gives and takes away: [`Names`]. Whatever has such a name already stays, and so does
//! what another program writes.
//!
//! First the names are taken away that others of the call get, then all are given, and last the others are
//! taken away: so mostly a file is at one place at least all the while. A file that is to go is renamed to a
//! name that no other program knows, and looked at; if it is not what was checked it gets its name back.

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
use crate::stage::temporary::{Temporary, unlink};

/// The files of a call that lose names, or get some, the last first. To be finished, left or rolled back.
#[derive(Debug)]
#[must_use = "the names are given and taken already"]
pub(super) struct Names(Vec<Name>);

/// Says whether a call may go on.
pub(super) type Prove<'a> = &'a mut dyn FnMut() -> Result<(), StoreError>;

/// One file, and how far it is.
#[derive(Debug)]
struct Name {
    from: Option<Departure>,
    /// True if it has the name that nobody knows.
    is_aside: bool,
    to: To,
}

/// The fate of a file that gets a name.
#[derive(Debug)]
enum To {
    Nowhere,
    Due(Arrival),
    /// It could not be done. What was made for it goes once what other files of the call put there has gone.
    Failed(Made),
    Published(Box<Created>, Digest),
    /// Its content now: another program that has it open may have written to it.
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

    /// Returns what must be on disk before any name is given.
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

    /// Takes the names away that go first, and gives all that are to be given. Before each name that a file
    /// loses, `prove` is to say that this is due still: no temporary is needed for it.
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

    /// Takes away what is to go, and has not gone, with `prove` as above.
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
    /// old one. Due before any directory is synced: btrfs writes each by itself then, and a power cut in
    /// between leaves the file both names.
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

    /// Returns what each file holds that has another place.
    pub(super) fn arrived(&self) -> Vec<Option<Digest>> {
        let digest = |name: &Name| match &name.to {
            To::Renamed { digest, .. } => Some(*digest),
            _ => None,
        };
        self.0.iter().map(digest).collect()
    }

    /// Unlinks what has gone, which ends the commit; the directories that were made for it, and whether
    /// nothing else is left.
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
                To::Nowhere | To::Due(_) | To::Failed(_) | To::Respelled(_) => {}
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

    /// Leaves everything as it is, to be recovered; returns what is where.
    pub(super) fn leave(self) -> Vec<LeftBehind> {
        let mut left = Vec::new();
        for name in self.0 {
            left.extend(name.left());
            match name.to {
                To::Published(created, _) => drop(created.keep()),
                To::Renamed { mut made, .. } => made.keep(),
                To::Nowhere | To::Due(_) | To::Failed(_) | To::Respelled(_) => {}
            }
        }
        left
    }

    /// Gives all files their names back, because of `cause`, and removes the new ones. Returns the error to
    /// report: `cause`, or one that says where each content is if a file is not what it was.
    pub(super) fn roll_back(mut self, cause: StoreError) -> StoreError {
        // The other way round: a name that was given may be wanted back.
        let late = |name: &Name| name.from.as_ref().is_some_and(|from| !from.goes_first);
        let error =
            self.0.iter_mut().filter(|name| late(name)).fold(cause, |error, name| name.come_back(error));
        let error = self.0.iter_mut().fold(error, |error, name| name.ungive(error));
        self.0.iter_mut().fold(error, |error, name| name.come_back(error))
    }
}

impl Name {
    /// Takes the name away: the file is renamed, and looked at.
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
                if let Err(error) = from.rename(self.is_aside, &place, made.innermost(&place)) {
                    self.to = To::Failed(made);
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

    /// Gives the file the name back that it lost. If what the call has put there could not be taken away
    /// again, that is left to recovery.
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

    /// Takes the name away again that the file was given.
    fn ungive(&mut self, cause: StoreError) -> StoreError {
        match (std::mem::replace(&mut self.to, To::Nowhere), &self.from) {
            (To::Published(created, digest), _) => created.take_back(digest, cause),
            (To::Renamed { place, mut made, .. }, Some(from)) => {
                let name = if self.is_aside { from.id.name() } else { from.place.name().to_owned() };
                let Err(failed) =
                    hand_over(made.innermost(&place), place.name(), &from.place.directory, &name)
                else {
                    return cause;
                };
                made.keep();
                self.is_aside = false;
                let gone = LeftBehind::new(from.place.path(), Remains::Gone);
                let kept = LeftBehind::new(place.path(), Remains::Old(from.place.path().to_owned()));
                let is_first = cause.left.is_empty();
                let error = cause.not_restored([gone, kept]);
                // Another program has made a file of the old name. This one stays where it is, with all that
                // it holds.
                if is_first && failed.kind() == io::ErrorKind::AlreadyExists {
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
            (To::Failed(made), _) => {
                drop(made);
                cause
            }
            (To::Nowhere | To::Due(_) | To::Renamed { .. } | To::Respelled(_), _) => cause,
        }
    }

    /// Returns what is where.
    fn left(&self) -> Vec<LeftBehind> {
        let mut left = Vec::new();
        let made = match &self.to {
            To::Published(created, _) => Some(created.file.path()),
            To::Renamed { place, .. } => Some(place.path()),
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
    /// Gives the file its new place, in one step if it has its own name still.
    fn rename(&self, is_aside: bool, to: &WritablePlace, directory: &Dir) -> Result<(), StoreError> {
        let from = &self.place;
        let aside = self.id.name();
        let moved = if is_aside {
            hand_over(&from.directory, &aside, directory, to.name())
        } else {
            rename_into(&from.directory, from.name(), directory, to.name())
        };
        moved.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                StoreError::new(Operation::Move, to.path(), StoreErrorKind::AlreadyExists)
            }
            // Either the file or the directory was removed.
            io::ErrorKind::NotFound => self.changed(Operation::Move),
            _ => StoreError::from_io(Operation::Move, from.path(), error),
        })
    }

    /// Looks at the file that was renamed; what it holds. It is another if another program was first.
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

/// Gives a file that no other program knows another name, which must be free; where the file system cannot do
/// that in one step, by a second name.
pub(crate) fn hand_over(directory: &Dir, from: &OsStr, target: &Dir, to: &OsStr) -> io::Result<()> {
    match rename_into(directory, from, target, to) {
        Err(error) if os::is_unsupported(&error) || os::keeps_its_name(&error) => {
            hard_link_into(directory, from, target, to).map_err(|why| match why.kind() {
                io::ErrorKind::AlreadyExists => why,
                _ => error,
            })?;
            remove_file(directory, from).inspect_err(|_| {
                unlink(target, Path::new(to));
            })
        }
        renamed => renamed,
    }
}
