//! The files of a call that was cut off, on the disk: [`World`] says what their names hold, and carries out
//! what the table decides.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::{CHUNK, Source as _, read_range};

use crate::access::place::{OpenFile, WritablePlace};
use crate::commit::displaced::{displaced_name, give_back};
use crate::commit::exchange::swap_until_settled;
use crate::commit::names::hand_over;
use crate::commit::overwrite::write_over;
use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind};
use crate::journal::{ContentChange, FoundRecord, Step};
use crate::lock::{LockedSet, lock_directory};
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::os::names::{remove_file, rename};
use crate::os::stored_names::StoredNames;
use crate::read::hash::{digest_as_stored, digest_of};
use crate::recovery::table::{
    CallName, Inode, InterruptedCall, NameHolder, NameView, RecoveryAction, STAGES, is_needed, next,
};
use crate::state_dir::StateDir;
use crate::workspace::Workspace;

/// The most steps of one file in one stage; a file that other programs change on and on is left for later.
const STEPS: usize = 32;

/// The time until names that contradict each other are looked at again.
const STALE: Duration = Duration::from_millis(100);

/// Returns the place of a path that a record names; `None` if the path leads elsewhere by now.
pub(super) fn place_of(workspace: &Workspace, path: &Path) -> Option<WritablePlace> {
    let place = workspace.roots.place(path).ok().filter(|place| place.path() == path);
    // The policy is not asked: a file that is put back was there before, or was permitted then.
    place.map(WritablePlace::permitted)
}

/// The files of a call that was cut off, locked.
pub(super) struct World<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) record: &'a dyn FoundRecord,
    pub(super) call: InterruptedCall<'a>,
    /// The places of all files.
    pub(super) places: &'a [WritablePlace],
    pub(super) locked: &'a LockedSet,
    /// The names of each directory that other machines write, as they were after the last step.
    pub(super) stored: RefCell<BTreeMap<PathBuf, StoredNames>>,
    /// Whether the files have the identities that the record has for them, once that was looked at.
    pub(super) are_known: OnceCell<bool>,
}

/// The file under a name.
struct Found {
    directory: Arc<Dir>,
    name: OsString,
    /// The file, opened past caches; `None` if it need not be.
    file: Option<OpenFile>,
    /// `None` if it is no regular file.
    identity: Option<Identity>,
}

impl World<'_> {
    /// Takes the call back or, if it is committed, completes it; temporaries stay.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        for stage in STAGES {
            for index in 0..self.places.len() {
                self.all_steps(|| next(&self.call, stage, index, self), index)?;
            }
        }
        for index in 0..self.places.len() {
            if let (true, Step::Overwrite(change)) = (self.call.contents.committed, self.call.step(index)) {
                self.write_again(index, change)?;
            }
        }
        for name in
            (0..self.places.len()).flat_map(|index| [CallName::Temporary(index), CallName::Backup(index)])
        {
            if is_needed(&self.call, name, self)? {
                let path = self.place(name.index())?.path();
                return Err(StoreError::new(Operation::Recover, path, StoreErrorKind::Changed));
            }
        }
        Ok(())
    }

    fn all_steps(
        &self,
        next: impl Fn() -> Result<Option<RecoveryAction>, StoreError>,
        index: usize,
    ) -> Result<(), StoreError> {
        for _ in 0..STEPS {
            let Some(action) = next()? else { return Ok(()) };
            if action == RecoveryAction::LookAgain && self.record.epoch() == 0 {
                return Ok(());
            }
            self.act(action)?;
        }
        Err(StoreError::new(Operation::Recover, self.place(index)?.path(), StoreErrorKind::Busy))
    }

    fn act(&self, action: RecoveryAction) -> Result<(), StoreError> {
        let done = self.carry_out(action);
        // The action itself may have looked, before it changed a name.
        self.stored.borrow_mut().clear();
        done
    }

    fn carry_out(&self, action: RecoveryAction) -> Result<(), StoreError> {
        match action {
            RecoveryAction::Rename(from, to) => self.rename(from, to),
            RecoveryAction::ExchangeBack(index) => self.exchange_back(index),
            RecoveryAction::RestoreBackup(index) => {
                let place = self.place(index)?;
                let backup = self.drawn(CallName::Backup(index)).unwrap_or_default();
                rename(&place.directory, &backup, place.name()).context(Operation::Recover, place.path())
            }
            RecoveryAction::Keep(name) => self.keep(name),
            RecoveryAction::LookAgain => {
                thread::sleep(STALE);
                Ok(())
            }
        }
    }

    fn place(&self, index: usize) -> Result<&WritablePlace, StoreError> {
        let changed = || StoreError::new(Operation::Recover, self.record.path(), StoreErrorKind::Changed);
        self.places.get(index).ok_or_else(changed)
    }

    /// Returns a name that the call drew.
    fn drawn(&self, name: CallName) -> Option<OsString> {
        let subjects = &self.call.contents.subjects;
        match name {
            CallName::File(_) => None,
            CallName::Temporary(index) => subjects.get(index).map(|subject| subject.id.name()),
            CallName::Backup(index) => subjects.get(index).map(|subject| subject.id.name_of_old()),
        }
    }

    /// Returns the directories in which temporaries of a file can be.
    fn directories<'w>(&'w self, place: &'w WritablePlace) -> impl Iterator<Item = &'w Arc<Dir>> {
        let beside = place.missing.is_empty().then_some(&place.directory);
        beside.into_iter().chain(self.workspace.content_dir().map(StateDir::content))
    }

    /// Renames the temporaries of all earlier owners of the record to the names of this epoch. The first
    /// owner's come first, so that a temporary that another process is just renaming to a later epoch is not
    /// missed. From then on nobody else can put the temporaries in place, or remove them.
    pub(super) fn fence(&self) -> Result<(), StoreError> {
        for (subject, place) in self.call.contents.subjects.iter().zip(self.places) {
            for earlier in 0..self.record.epoch() {
                let (id, own) = (subject.id.at_epoch(earlier), subject.id);
                for (from, to) in [(id.name(), own.name()), (id.name_of_old(), own.name_of_old())] {
                    for directory in self.directories(place) {
                        match rename(directory, &from, &to) {
                            Err(error) if error.kind() != ErrorKind::NotFound => {
                                let path = place.path().with_file_name(&from);
                                return Err(StoreError::from_io(Operation::Recover, &path, error));
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn find(&self, name: CallName) -> Result<Option<Found>, StoreError> {
        let index = name.index();
        let place = self.place(index)?;
        let (directories, file_name): (Vec<&Arc<Dir>>, OsString) = match self.drawn(name) {
            Some(drawn) => (self.directories(place).collect(), drawn),
            None if place.missing.is_empty() => (vec![&place.directory], place.name().to_owned()),
            None => return Ok(None),
        };
        for directory in directories {
            let path = place.path().with_file_name(&file_name);
            let file = match self.open_stored(directory, &path) {
                Ok(Some(file)) => Some(OpenFile::new(file, path.clone())?),
                Ok(None) if self.record.epoch() > 0 => continue,
                Ok(None) => None,
                Err(error) if os::is_link_loop(&error) => None,
                Err(error) => return Err(StoreError::from_io(Operation::Recover, &path, error)),
            };
            let look = || {
                let is_file = directory.symlink_metadata(&file_name)?.is_file();
                is_file.then(|| os::identity_at(directory, Path::new(&file_name))).transpose()
            };
            let looked = match &file {
                Some(file) => Ok(file.metadata().is_file().then_some(*file.identity())),
                None => look(),
            };
            match looked {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                looked => {
                    let identity = looked.context(Operation::Recover, &path)?;
                    return Ok(Some(Found { directory: directory.clone(), name: file_name, file, identity }));
                }
            }
        }
        Ok(None)
    }

    /// Opens a file past the caches of this machine if its record is one of several machines.
    fn open_stored(&self, directory: &Dir, path: &Path) -> io::Result<Option<File>> {
        if self.record.epoch() == 0 {
            return Ok(None);
        }
        let (parent, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
        let mut stored = self.stored.borrow_mut();
        let names = match stored.entry(parent.to_owned()) {
            Entry::Occupied(listed) => listed.into_mut(),
            Entry::Vacant(directories) => {
                let all = self.call.contents.subjects.iter().flat_map(|subject| {
                    let own = subject.path.file_name().unwrap_or_default().to_owned();
                    [own, subject.id.name(), subject.id.name_of_old()]
                });
                directories.insert(StoredNames::list(directory, all)?)
            }
        };
        names.open(directory, name)
    }

    /// Makes this machine forget wrong names, before files are opened and locked by them.
    pub(super) fn forget_stale_names(&self) -> Result<(), StoreError> {
        (0..self.places.len()).try_for_each(|index| self.find(CallName::File(index)).map(drop))
    }

    /// Opens the file that was found. One that is locked is used through its handle.
    fn with_file<T>(
        &self,
        found: &Found,
        index: usize,
        use_it: impl FnOnce(&OpenFile) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(file) = &found.file {
            return use_it(file);
        }
        let is_it = |file: &OpenFile| found.identity.is_some_and(|now| now.same_file(file.identity()));
        if let Some(locked) = self.locked.files.iter().find(|locked| is_it(locked.file())) {
            return use_it(locked.file());
        }
        let path = self.place(index)?.path().with_file_name(&found.name);
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let file = found.directory.open_with(&found.name, &options).context(Operation::Recover, &path)?;
        let file = os::as_programs_see(file.into_std(), false).context(Operation::Recover, &path)?;
        use_it(&OpenFile::new(file, path)?)
    }

    /// Returns the index of the file for which a file claims this name.
    fn claim(&self, name: CallName, found: &Found) -> Result<Option<usize>, StoreError> {
        let subjects = self.call.contents.subjects.iter().enumerate();
        for (index, subject) in subjects {
            let claim = subject.id.claim();
            let fits = found.identity.is_some_and(|now| now.size == claim.len() as u64);
            let is_named = match name {
                CallName::File(of) => self.place(of)?.path() == subject.path,
                CallName::Temporary(of) | CallName::Backup(of) => of == index,
            };
            if !(fits && is_named) {
                continue;
            }
            let bytes = self.with_file(found, index, |file| {
                read_range(file, 0..file.size()).context(Operation::Recover, file.path())
            })?;
            if bytes == claim {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Whether the files of the call have the identities that the record has for them. They have others in a
    /// tree that was copied, or brought back from a backup: then no drawn name holds a file that the record
    /// knows, although no other program uses such names.
    fn are_known(&self) -> Result<bool, StoreError> {
        if let Some(are_known) = self.are_known.get() {
            return Ok(*are_known);
        }
        let (mut any, mut known) = (false, false);
        for index in 0..self.places.len() {
            for name in [CallName::Temporary(index), CallName::Backup(index)] {
                let found = self.find(name)?.and_then(|found| found.identity);
                any |= found.is_some();
                known |= found.is_some_and(|now| self.call.is_recorded(name, now.file_key()));
            }
        }
        Ok(*self.are_known.get_or_init(|| known || !any))
    }

    /// Exchanges the names of a file and its temporary.
    fn exchange_back(&self, index: usize) -> Result<(), StoreError> {
        let (place, drawn) = (self.place(index)?, self.drawn(CallName::Temporary(index)).unwrap_or_default());
        let drawn = Path::new(&drawn);
        let context = |error| StoreError::from_io(Operation::Recover, place.path(), error);
        let _one_at_a_time = lock_directory(&place.directory, place.path())?;
        let old = os::identity_at(&place.directory, drawn).map_err(context)?;
        let new = place.identity()?;
        swap_until_settled(place, drawn, new, os::exchange)?;
        let Some((_, digest)) = self.call.recorded(Inode::New(index)) else { return Ok(()) };
        if self.digest(CallName::Temporary(index))?.is_none_or(|out| out == digest) {
            return Ok(());
        }
        // Another program wrote to the new file at the last moment: it gets the name again.
        swap_until_settled(place, drawn, old, os::exchange)?;
        self.keep(CallName::Temporary(index))
    }

    /// Renames a file to a name that must be free. That the first name is gone, or the second taken, shows at
    /// the next look.
    fn rename(&self, from: CallName, to: CallName) -> Result<(), StoreError> {
        let Some(found) = self.find(from)? else { return Ok(()) };
        let (place, target) = (self.place(from.index())?, self.place(to.index())?);
        let renamed = match (self.drawn(from), self.drawn(to)) {
            (None, Some(drawn)) => {
                self.record.prove()?;
                rename(&place.directory, place.name(), &drawn)
            }
            (Some(_), None) => give_back(&found.directory, Path::new(&found.name), Path::new(place.name())),
            (Some(_), Some(drawn)) => hand_over(&found.directory, &found.name, &target.directory, &drawn)
                .map_err(|failed| failed.error),
            (None, None) => Ok(()),
        };
        match renamed {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) => Ok(()),
            renamed => renamed.context(Operation::Recover, place.path()),
        }
    }

    /// Keeps bytes that no file holds any more, in the history. If that fails, their file gets a name that is
    /// not cleaned up.
    fn keep(&self, name: CallName) -> Result<(), StoreError> {
        let Some(found) = self.find(name)? else { return Ok(()) };
        let place = self.place(name.index())?;
        let path = place.path();
        let kept = match found.identity {
            Some(identity) if identity.size <= self.workspace.max_kept_bytes => {
                let bytes = self.with_file(&found, name.index(), |file| {
                    read_range(file, 0..file.size()).context(Operation::Read, path)
                })?;
                self.workspace.history.keep_displaced(path, place.relative(), &bytes).ok()
            }
            _ => None,
        };
        if let Some(edit_id) = kept {
            tracing::warn!(file = %path.display(), %edit_id, "another program's write met an edit that was cut off; what it displaced is in the history");
            return remove_file(&found.directory, &found.name).context(Operation::Recover, path);
        }
        let beside = displaced_name(path, Path::new(&found.name));
        rename(&found.directory, &found.name, &beside).context(Operation::Recover, path)?;
        tracing::warn!(file = %path.display(), name = ?beside, "another program's write met an edit that was cut off; what it displaced is beside it");
        Ok(())
    }

    /// Completes a file that was being written over: copies the new bytes again, if it is still the same
    /// file, and its content can be the result of an interrupted copy.
    fn write_again(&self, index: usize, change: &ContentChange) -> Result<(), StoreError> {
        let [file, temporary, backup] =
            [CallName::File, CallName::Temporary, CallName::Backup].map(|name| name(index));
        let now = self.digest(file)?;
        if now == Some(change.new) {
            return Ok(());
        }
        let (new, old) = (self.digest(temporary)?, self.find(backup)?);
        let is_new = new == Some(change.new);
        if let (Some(found), true, true) = (self.find(file)?, is_new, self.is_the_old_file(index)?) {
            let is_half_done = |new: &OpenFile| match &old {
                Some(old) => self.with_file(&found, index, |file| {
                    self.with_file(old, index, |old| is_between(file, old, new))
                }),
                None => Ok(false),
            };
            let Some(from) = self.find(temporary)? else { return Ok(()) };
            let is_done = self.with_file(&from, index, |new| {
                if now != Some(change.old) && !is_half_done(new)? {
                    return Ok(false);
                }
                let place = self.place(index)?;
                self.record.prove()?;
                let target = place.open_file(true)?;
                write_over(&new.bytes(), target.file(), true).context(Operation::Recover, place.path())?;
                Ok(true)
            })?;
            if is_done {
                return Ok(());
            }
        }
        // Without the old bytes nobody can tell whether it is half done: the new ones are all there is then.
        match (old, is_new) {
            (Some(_), _) => self.keep(backup),
            (None, true) => self.keep(temporary),
            (None, false) => Ok(()),
        }
    }

    /// Whether nobody has replaced the file that recovery would write over.
    fn is_the_old_file(&self, index: usize) -> Result<bool, StoreError> {
        let (Some((key, _)), Some(found)) =
            (self.call.recorded(Inode::Old(index)), self.find(CallName::File(index))?)
        else {
            return Ok(false);
        };
        let is_same = found.identity.is_some_and(|now| key.matches(&now.file_key()));
        Ok(is_same || !os::identity_lasts(&found.directory) || !self.are_known()?)
    }

    /// Unlinks the temporaries: their names were drawn at random, and no other program uses them.
    pub(super) fn discard(&self) -> Result<(), StoreError> {
        use ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
        for index in 0..self.places.len() {
            let place = self.place(index)?;
            for name in [CallName::Temporary(index), CallName::Backup(index)] {
                let Some(drawn) = self.drawn(name) else { continue };
                for directory in self.directories(place) {
                    match remove_file(directory, &drawn) {
                        // If nothing may be written there any more, another try would not help.
                        Err(error)
                            if !matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem) =>
                        {
                            let path = place.path().with_file_name(&drawn);
                            return Err(StoreError::from_io(Operation::Recover, &path, error));
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }
}

impl NameView for World<'_> {
    type Error = StoreError;

    fn look(&self, name: CallName) -> Result<Option<NameHolder>, StoreError> {
        let Some(found) = self.find(name)? else { return Ok(None) };
        let Some(identity) = found.identity else { return Ok(Some(NameHolder::NoFile)) };
        if let Some(index) = self.claim(name, &found)? {
            return Ok(Some(NameHolder::Claim(index)));
        }
        let lasts = os::identity_lasts(&found.directory) && self.are_known()?;
        Ok(Some(NameHolder::File { key: identity.file_key(), lasts }))
    }

    fn digest(&self, name: CallName) -> Result<Option<Digest>, StoreError> {
        let Some(found) = self.find(name)?.filter(|found| found.identity.is_some()) else { return Ok(None) };
        self.with_file(&found, name.index(), |file| {
            if found.file.is_some()
                && let Some(digest) =
                    digest_as_stored(file.file()).context(Operation::Recover, file.path())?
            {
                return Ok(digest);
            }
            let now = file.file().try_clone().context(Operation::Recover, file.path())?;
            digest_of(&OpenFile::new(now, file.path().to_owned())?)
        })
        .map(Some)
    }
}

/// Tells whether an error of opening says that there is no regular file, so that nothing of a transaction is
/// there.
pub(super) fn is_no_file(error: &StoreError) -> bool {
    use StoreErrorKind::{IsADirectory, LinkLoop, NotADirectory, NotARegularFile, NotFound};
    matches!(error.kind, NotFound | NotADirectory | IsADirectory | LinkLoop | NotARegularFile { .. })
}

/// Tells whether a file can be the result of an interrupted write of `new` over `old`: each byte is the old
/// or the new one at its place. Beyond the end of the shorter one it can be zero: the file has grown there,
/// or its bytes are gone from the disk while it still has its old length.
fn is_between(file: &OpenFile, old: &OpenFile, new: &OpenFile) -> Result<bool, StoreError> {
    if file.size() < old.size().min(new.size()) || file.size() > old.size().max(new.size()) {
        return Ok(false);
    }
    let mut blocks = [vec![0; CHUNK], vec![0; CHUNK], vec![0; CHUNK]];
    let mut offset = 0;
    while offset < file.size() {
        let [now, was, will] = &mut blocks;
        let read = |file: &OpenFile, block: &mut Vec<u8>| {
            file.read_at(offset, block).context(Operation::Read, file.path())
        };
        let got = read(file, now)?;
        let (old_got, new_got) = (read(old, was)?, read(new, will)?);
        if got == 0 {
            return Ok(false);
        }
        let is_beyond = |at: usize| offset + at as u64 >= old.size().min(new.size());
        let fits = now.iter().take(got).enumerate().all(|(at, byte)| {
            (at < old_got && was.get(at) == Some(byte))
                || (at < new_got && will.get(at) == Some(byte))
                || (*byte == 0 && is_beyond(at))
        });
        if !fits {
            return Ok(false);
        }
        offset += got as u64;
    }
    Ok(true)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use super::*;
    use crate::tests::world::World;

    #[test]
    fn a_file_that_is_cut_short_as_it_is_compared_is_no_interrupted_write() {
        let world = World::new();
        let [file, old, new] =
            [("file", "new and old"), ("old", "old and old"), ("new", "new and new")].map(|(name, text)| {
                let path = format!("@/root/{name}");
                world.write(&path, text);
                world.place(&path).open_file(false).unwrap()
            });
        assert!(is_between(&file, &old, &new).unwrap());
        std::fs::write(world.path("@/root/file"), "new").unwrap();
        assert!(!is_between(&file, &old, &new).unwrap());
    }
}
