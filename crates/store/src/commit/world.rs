//! The files of a call that is taken back, on the disk: [`World`] says what their names hold, and carries out
//! what the table decides. A call that fails takes itself back; recovery does it for one that was cut off.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::{CHUNK, Source as _, read_range};

use crate::access::place::{Bytes, OpenFile, WritablePlace};
use crate::commit::exchange::exchange_back;
use crate::commit::names::{displaced_name, give_back, hand_over};
use crate::commit::overwrite::write_over;
use crate::commit::table::{
    CallName, Inode, NameHolder, NameView, RecordedCall, STAGES, Sight, Stage, UndoAction, is_needed, next,
    sight,
};
use crate::error::{ErrorContext as _, LeftBehind, Operation, Remains, StoreError, StoreErrorKind};
use crate::journal::{ContentChange, FoundRecord, Intent, Record, Step};
use crate::lock::lock_directory;
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::os::names::{remove_file, rename};
use crate::os::stored_names::StoredNames;
use crate::read::hash::{digest_as_stored, digest_of_bytes};
use crate::stage::temporary::TemporaryId;
use crate::state_dir::StateDir;
use crate::workspace::Workspace;

/// The most steps of one file in one stage; a file that other programs change on and on is left for later.
const STEPS: usize = 32;

/// The time until names that contradict each other are looked at again.
const STALE: Duration = Duration::from_millis(100);

/// The process that takes a call back.
pub(crate) enum TakenBackBy<'a> {
    /// The one that made the call. It has a record, unless it goes without a journal.
    Owner(RefCell<Option<&'a mut Box<dyn Record>>>),
    /// One that recovers it.
    Recovery(&'a dyn FoundRecord),
}

impl TakenBackBy<'_> {
    fn prove(&self) -> Result<(), StoreError> {
        match self {
            Self::Owner(record) => record.borrow_mut().as_mut().map_or(Ok(()), |record| record.prove()),
            Self::Recovery(record) => record.prove(),
        }
    }

    /// Returns how often the record was taken over.
    fn epoch(&self) -> u32 {
        if let Self::Recovery(record) = self { record.epoch() } else { 0 }
    }
}

/// The files of a call, locked.
pub(crate) struct World<'a> {
    workspace: &'a Workspace,
    by: TakenBackBy<'a>,
    call: RecordedCall<'a>,
    /// The places of all files.
    places: &'a [WritablePlace],
    /// Files of the call that are open. None of them is opened by its name, so that a call can be taken back
    /// without a free descriptor.
    pub(crate) handles: Vec<(Identity, &'a File)>,
    /// The names of each directory that other machines write, as they were after the last step.
    stored: RefCell<BTreeMap<PathBuf, StoredNames>>,
    /// Whether the files have the identities that the record has for them, once that was looked at.
    are_known: OnceCell<bool>,
    /// The files that were kept beside others.
    kept: RefCell<Vec<LeftBehind>>,
}

/// The file under a name.
struct Found {
    directory: Arc<Dir>,
    path: PathBuf,
    /// The file, opened past caches; `None` if it need not be.
    file: Option<OpenFile>,
    /// `None` if it is no regular file.
    identity: Option<Identity>,
}

impl Found {
    fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

/// A file that was open before, or was opened now.
enum Opened<'f> {
    Before(&'f File),
    Now(File),
}

impl Deref for Opened<'_> {
    type Target = File;

    fn deref(&self) -> &File {
        match self {
            Self::Before(file) => file,
            Self::Now(file) => file,
        }
    }
}

impl<'a> World<'a> {
    pub(crate) fn new(
        workspace: &'a Workspace,
        by: TakenBackBy<'a>,
        call: RecordedCall<'a>,
        places: &'a [WritablePlace],
        handles: Vec<(Identity, &'a File)>,
    ) -> Self {
        let (stored, are_known, kept) = (RefCell::default(), OnceCell::new(), RefCell::default());
        Self { workspace, by, call, places, handles, stored, are_known, kept }
    }

    /// Takes the call back or, if it is committed, completes it; temporaries stay.
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        let mut settled = Ok(());
        for stage in STAGES {
            // Names may not be free. Files that keep their names do not need them.
            if stage == Stage::GiveBack && settled.is_err() {
                break;
            }
            for index in 0..self.places.len() {
                settled = settled.and(self.all_steps(|| next(&self.call, stage, index, self), index));
            }
        }
        settled?;
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
        next: impl Fn() -> Result<Option<UndoAction>, StoreError>,
        index: usize,
    ) -> Result<(), StoreError> {
        for _ in 0..STEPS {
            let Some(action) = next()? else { return Ok(()) };
            // Only a cache contradicts itself: there is none where no other machine knows the record.
            if let (UndoAction::LookAgain, TakenBackBy::Recovery(record)) = (action, &self.by)
                && record.epoch() == 0
            {
                return Ok(());
            }
            self.act(action)?;
        }
        Err(StoreError::new(Operation::Recover, self.place(index)?.path(), StoreErrorKind::Busy))
    }

    fn act(&self, action: UndoAction) -> Result<(), StoreError> {
        let done = self.carry_out(action);
        // The action itself may have looked, before it changed a name.
        self.stored.borrow_mut().clear();
        done
    }

    fn carry_out(&self, action: UndoAction) -> Result<(), StoreError> {
        match action {
            UndoAction::Rename(from, to) => self.rename(from, to),
            UndoAction::ExchangeBack(index) => self.exchange_back(index),
            UndoAction::RestoreBackup(index) => {
                let place = self.place(index)?;
                let backup = self.drawn(CallName::Backup(index)).unwrap_or_default();
                rename(&place.directory, &backup, place.name()).context(Operation::Recover, place.path())
            }
            UndoAction::Keep(name) => self.keep(name),
            UndoAction::LookAgain => {
                thread::sleep(STALE);
                Ok(())
            }
        }
    }

    fn place(&self, index: usize) -> Result<&WritablePlace, StoreError> {
        let changed = || StoreError::new(Operation::Recover, Path::new(""), StoreErrorKind::Changed);
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
    pub(crate) fn fence(&self) -> Result<(), StoreError> {
        for (subject, place) in self.call.contents.subjects.iter().zip(self.places) {
            for earlier in 0..self.by.epoch() {
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
                Ok(None) if self.by.epoch() > 0 => continue,
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
                // Nothing can have a name that is too long.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename) => {}
                looked => {
                    let identity = looked.context(Operation::Recover, &path)?;
                    return Ok(Some(Found { directory: directory.clone(), path, file, identity }));
                }
            }
        }
        Ok(None)
    }

    /// Opens a file past the caches of this machine if its record is one of several machines.
    fn open_stored(&self, directory: &Dir, path: &Path) -> io::Result<Option<File>> {
        if self.by.epoch() == 0 {
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
    pub(crate) fn forget_stale_names(&self) -> Result<(), StoreError> {
        (0..self.places.len()).try_for_each(|index| self.find(CallName::File(index)).map(drop))
    }

    /// Opens the file that was found, unless it is open.
    fn open<'f>(&'f self, found: &'f Found) -> Result<Opened<'f>, StoreError> {
        let is_it = |open: &Identity| found.identity.is_some_and(|now| now.same_file(open));
        if let Some(file) = &found.file {
            return Ok(Opened::Before(file.file()));
        }
        if let Some((_, file)) = self.handles.iter().find(|(open, _)| is_it(open)) {
            return Ok(Opened::Before(file));
        }
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let opened = found.directory.open_with(found.name(), &options);
        let opened = opened.and_then(|file| os::as_programs_see(file.into_std(), false));
        Ok(Opened::Now(opened.context(Operation::Recover, &found.path)?))
    }

    fn read(&self, found: &Found) -> Result<Vec<u8>, StoreError> {
        let file = self.open(found)?;
        let read = Bytes::now(&file).and_then(|bytes| read_range(&bytes, 0..bytes.size()));
        read.context(Operation::Recover, &found.path)
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
            let bytes = self.read(found)?;
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
        let (place, name) = (self.place(index)?, CallName::Temporary(index));
        let drawn = self.drawn(name).unwrap_or_default();
        // An error is ignored: no process of this server holds this lock until the wait ends.
        let _one_at_a_time = lock_directory(&place.directory, place.path()).ok();
        let digest = self.call.recorded(Inode::New(index)).map(|(_, digest)| digest);
        let is_new = || {
            self.stored.borrow_mut().clear();
            self.digest(name).map(|out| out == digest).map_err(io::Error::other)
        };
        let done = exchange_back(place, Path::new(&drawn), place.identity()?, is_new);
        done.context(Operation::Recover, place.path())
    }

    /// Renames a file to a name that must be free. That the first name is gone, or the second taken, shows at
    /// the next look.
    fn rename(&self, from: CallName, to: CallName) -> Result<(), StoreError> {
        let Some(found) = self.find(from)? else { return Ok(()) };
        let (place, target) = (self.place(from.index())?, self.place(to.index())?);
        let renamed = match (self.drawn(from), self.drawn(to)) {
            (None, Some(drawn)) => {
                self.by.prove()?;
                rename(&place.directory, place.name(), &drawn)
            }
            (Some(_), None) => give_back(&found.directory, found.name(), place.name()),
            (Some(_), Some(drawn)) => hand_over(&found.directory, found.name(), &target.directory, &drawn),
            (None, None) => Ok(()),
        };
        match renamed {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) => Ok(()),
            renamed => renamed.context(Operation::Recover, place.path()),
        }
    }

    /// Keeps bytes that no file holds any more: recovery in the history. The owner, or if that fails, gives
    /// their file a name beside the other, which is not cleaned up.
    fn keep(&self, name: CallName) -> Result<(), StoreError> {
        let Some(found) = self.find(name)? else { return Ok(()) };
        let place = self.place(name.index())?;
        let path = place.path();
        let kept = match (&self.by, found.identity) {
            (TakenBackBy::Recovery(_), Some(identity)) if identity.size <= self.workspace.max_kept_bytes => {
                let bytes = self.read(&found)?;
                self.workspace.history.keep_displaced(path, place.relative(), &bytes).ok()
            }
            _ => None,
        };
        if let Some(edit_id) = kept {
            tracing::warn!(file = %path.display(), %edit_id, "another program's write met an edit that was cut off; what it displaced is in the history");
            return remove_file(&found.directory, found.name()).context(Operation::Recover, path);
        }
        let is_new = matches!(sight(&self.call, name, self)?, Sight::Ours(Inode::New(_)));
        let was_there =
            !matches!(self.call.intent(name.index()), Some(Intent::Create { .. } | Intent::MoveTo { .. }));
        let what = if was_there && !is_new { Remains::Old(path.to_owned()) } else { Remains::Made };
        let beside = displaced_name(path, found.name());
        give_back(&found.directory, found.name(), &beside).context(Operation::Recover, path)?;
        tracing::warn!(file = %path.display(), name = ?beside, "another program's write met an edit; what it displaced is beside it");
        self.kept.borrow_mut().push(LeftBehind::new(&path.with_file_name(beside), what));
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
            let (place, Some(from)) = (self.place(index)?, self.find(temporary)?) else { return Ok(()) };
            let context = |error| StoreError::from_io(Operation::Recover, place.path(), error);
            let from = self.open(&from)?;
            let new = Bytes::now(&from).map_err(context)?;
            let is_half_done = |old: &Found| -> Result<bool, StoreError> {
                let (file, old) = (self.open(&found)?, self.open(old)?);
                let is_between = |old| is_between(&Bytes::now(&file)?, &old, &new);
                Bytes::now(&old).and_then(is_between).map_err(context)
            };
            if now == Some(change.old) || old.as_ref().map_or(Ok(false), is_half_done)? {
                self.by.prove()?;
                return write_over(&new, place.open_file(true)?.file(), true).map_err(context);
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

    /// Unlinks the temporaries of a file: their names were drawn at random, and no other program uses them.
    pub(crate) fn discard(&self, index: usize) -> Result<(), StoreError> {
        use ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
        let place = self.place(index)?;
        for drawn in [CallName::Temporary(index), CallName::Backup(index)].map(|name| self.drawn(name)) {
            let drawn = drawn.unwrap_or_default();
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
        Ok(())
    }

    /// Whether a new file that has lost its name is still there. Of a call that is one step, no record tells
    /// whose it is.
    pub(super) fn is_new_set_aside(&self, index: usize) -> Result<bool, StoreError> {
        Ok(sight(&self.call, CallName::Backup(index), self)? == Sight::Ours(Inode::New(index)))
    }

    /// Returns which names of the call hold something that they did not hold before, and where the rest is.
    /// `taken` are files whose names the call has taken away.
    pub(crate) fn left(&self, taken: &[TemporaryId]) -> Result<Vec<LeftBehind>, StoreError> {
        let mut left = Vec::new();
        for (index, subject) in self.call.contents.subjects.iter().enumerate() {
            left.extend(self.left_of(index, taken.contains(&subject.id))?);
        }
        left.extend(self.kept.borrow().iter().cloned());
        Ok(left)
    }

    fn left_of(&self, index: usize, is_taken: bool) -> Result<Vec<LeftBehind>, StoreError> {
        let own = self.place(index)?.path();
        let is_old = || Remains::Old(own.to_owned());
        let see = |name: CallName| sight(&self.call, name, self);
        let file = CallName::File(index);
        let (now, old, new) = (see(file)?, Sight::Ours(Inode::Old(index)), Sight::Ours(Inode::New(index)));
        let target = self.call.target(index);
        let elsewhere = match self.call.intent(index) {
            Some(Intent::Create { .. } | Intent::MoveTo { .. }) => {
                let is_made = now == new || now == Sight::Claim(index);
                return Ok(is_made.then(|| LeftBehind::new(own, Remains::Made)).into_iter().collect());
            }
            _ if now == old => {
                let to = target.map(CallName::File);
                let both = to.map_or(Ok(false), |to| Ok::<_, StoreError>(see(to)? == old))?;
                let to = to.filter(|_| both).map(|to| self.path(to)).transpose()?;
                return Ok(to.map(|to| LeftBehind::new(&to, Remains::Made)).into_iter().collect());
            }
            Some(Intent::Edit { .. }) => vec![CallName::Temporary(index), CallName::Backup(index)],
            _ => {
                let target = target.into_iter().flat_map(|to| [CallName::File(to), CallName::Backup(to)]);
                target.chain([CallName::Temporary(index)]).collect()
            }
        };
        let mut left = Vec::new();
        for name in elsewhere {
            let sight = see(name)?;
            let is_drawn = name.index() == index;
            if sight == old || is_drawn && ![Sight::Absent, new].contains(&sight) {
                left.push(LeftBehind { path: self.path(name)?, what: is_old() });
            }
        }
        if now == new {
            left.insert(0, LeftBehind::new(own, Remains::Changed));
        } else if is_taken || !left.is_empty() || self.kept.borrow().iter().any(|kept| kept.what == is_old())
        {
            left.insert(0, LeftBehind::new(own, Remains::Gone));
        }
        Ok(left)
    }

    /// Returns the path of a name, beside that of its file.
    fn path(&self, name: CallName) -> Result<PathBuf, StoreError> {
        let path = self.place(name.index())?.path();
        Ok(self.drawn(name).map_or_else(|| path.to_owned(), |drawn| path.with_file_name(drawn)))
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
        if let Some(file) = &found.file
            && let Some(digest) = digest_as_stored(file.file()).context(Operation::Recover, &found.path)?
        {
            return Ok(Some(digest));
        }
        let is_ours = || found.identity.is_some_and(|now| self.call.is_recorded(name, now.file_key()));
        let file = match self.open(&found) {
            // Another program's file, which it has made and this process may not read.
            Err(error) if error.kind == StoreErrorKind::PermissionDenied && !is_ours() => return Ok(None),
            opened => opened?,
        };
        let digest = Bytes::now(&file).and_then(|bytes| digest_of_bytes(&bytes));
        Ok(Some(digest.context(Operation::Recover, &found.path)?))
    }
}

/// Tells whether a file can be the result of an interrupted write of `new` over `old`: each byte is the old
/// or the new one at its place. Beyond the end of the shorter one it can be zero: the file has grown there,
/// or its bytes are gone from the disk while it still has its old length.
fn is_between(file: &Bytes<'_>, old: &Bytes<'_>, new: &Bytes<'_>) -> io::Result<bool> {
    if file.size() < old.size().min(new.size()) || file.size() > old.size().max(new.size()) {
        return Ok(false);
    }
    let mut blocks = [vec![0; CHUNK], vec![0; CHUNK], vec![0; CHUNK]];
    let mut offset = 0;
    while offset < file.size() {
        let [now, was, will] = &mut blocks;
        let read = |file: &Bytes<'_>, block: &mut Vec<u8>| file.read_at(offset, block);
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
    #[cfg(unix)]
    use crate::journal::{Contents, Subject};
    #[cfg(unix)]
    use crate::stage::temporary::TemporaryId;
    use crate::tests::world::World;

    /// It has put the file in the place of the new one since.
    #[test]
    #[cfg(unix)]
    fn a_file_of_another_program_need_not_be_readable() {
        use crate::tests::world::as_user;
        use std::os::unix::fs::PermissionsExt as _;

        let world = World::new();
        let id = TemporaryId::draw();
        let temporary = format!("@/root/{}", id.name().to_string_lossy());
        let [old, new, _] = [(temporary.as_str(), "old"), ("@/root/new", "new"), ("@/root/a", "theirs")].map(
            |(name, text)| {
                world.write(name, text);
                (*world.place(name).open_file(false).unwrap().identity(), Digest::of(text.as_bytes()))
            },
        );
        for (name, mode) in [("@/root", 0o777), ("@/root/a", 0o600)] {
            std::fs::set_permissions(world.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let intent = Intent::Edit { key: old.0.file_key() };
        let change = ContentChange { old: old.1, new: new.1, key: new.0.file_key() };
        let contents = Contents {
            subjects: vec![Subject { path: world.path("@/root/a"), id, intent }],
            steps: Some(vec![Step::Exchange(change)]),
            ..Contents::default()
        };
        let call = RecordedCall { contents: &contents, is_one_step: false };
        let places = [world.place("@/root/a")];
        let taken_back = as_user(65_534, || {
            let by = TakenBackBy::Owner(RefCell::new(None));
            let taken_back = super::World::new(&world.workspace, by, call, &places, Vec::new());
            taken_back.settle().and_then(|()| taken_back.left(&[]))
        });
        let Some(left) = taken_back else { return };
        let beside = left.unwrap().pop().unwrap().path;
        assert_eq!(std::fs::read_to_string(beside).unwrap(), "old");
        assert_eq!(world.content("@/root/a"), "theirs");
    }

    #[test]
    fn a_file_that_is_cut_short_as_it_is_compared_is_no_interrupted_write() {
        let world = World::new();
        let [file, old, new] =
            [("file", "new and old"), ("old", "old and old"), ("new", "new and new")].map(|(name, text)| {
                let path = format!("@/root/{name}");
                world.write(&path, text);
                world.place(&path).open_file(false).unwrap()
            });
        let [file, old, new] = [&file, &old, &new].map(OpenFile::bytes);
        assert!(is_between(&file, &old, &new).unwrap());
        std::fs::write(world.path("@/root/file"), "new").unwrap();
        assert!(!is_between(&file, &old, &new).unwrap());
    }
}
