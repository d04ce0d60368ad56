//! Rolls a call back: carries out the steps that `table.rs` decides, and reports files that cannot be
//! restored. A call that fails rolls itself back; recovery rolls back a call whose process was killed.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use mcp_text_editor_core::source::{CHUNK, Source as _};

use crate::access::place::Bytes;
use crate::commit::exchange::exchange_back;
use crate::commit::names::{displaced_name, give_back, hand_over};
use crate::commit::overwrite::write_over;
use crate::commit::table::{
    CallName, Inode, NameView as _, STAGES, Sight, Stage, UndoAction, is_needed, next, sight,
};
use crate::commit::world::{Found, TakenBackBy, World};
use crate::error::{ErrorContext as _, LeftBehind, Operation, Remains, StoreError, StoreErrorKind};
use crate::journal::{ContentChange, Intent, Step};
use crate::lock::lock_directory;
use crate::os;
use crate::os::names::{remove_file, rename};
use crate::stage::TemporaryId;

/// The maximum number of steps for one file in one stage. If other programs keep changing a file, its
/// rollback is left to a later attempt.
const STEPS: usize = 32;

/// The time until names that contradict each other are looked up again.
const STALE: Duration = Duration::from_millis(100);

impl World<'_> {
    /// Rolls the call back or, if it is committed, completes it. Its temporary files stay.
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        let mut settled = Ok(());
        for stage in STAGES {
            // After an error, the names to give back may not be free yet. The other stages do not depend on
            // that.
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
            // Names contradict each other only in a cache. In epoch 0 no other machine has the record, so no
            // cache is involved.
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
        // The action may itself have listed names, before it changed one.
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

    /// Renames the temporary files of all earlier owners of the record to the names of this epoch. Earlier
    /// epochs come first. So a temporary file that another process is just renaming to a later epoch is not
    /// missed. Afterwards, only this owner can use or remove the temporary files.
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

    /// Exchanges the names of a file and its temporary file.
    fn exchange_back(&self, index: usize) -> Result<(), StoreError> {
        let (place, name) = (self.place(index)?, CallName::Temporary(index));
        let drawn = self.drawn(name).unwrap_or_default();
        // An error is ignored: a process of this server never holds this lock for as long as the wait lasts.
        let _one_at_a_time = lock_directory(&place.directory, place.path()).ok();
        let digest = self.call.recorded(Inode::New(index)).map(|(_, digest)| digest);
        let is_new = || {
            self.stored.borrow_mut().clear();
            self.digest(name).map(|out| out == digest).map_err(io::Error::other)
        };
        let done = exchange_back(place, Path::new(&drawn), place.identity()?, is_new);
        done.context(Operation::Recover, place.path())
    }

    /// Renames a file to a name that must be free. If the first name is gone, or the second is taken, nothing
    /// happens: the next lookup finds that.
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

    /// Keeps bytes that no other file of the call holds any more. Recovery keeps them in the history. The
    /// owner of the call, or recovery if the history fails, renames their file to a name in the original's
    /// directory, where it stays.
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

    /// Completes an interrupted overwrite: copies the new bytes again, if the file is still the same, and if
    /// its content can be the result of an interrupted copy.
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
        // Without the old bytes, an interrupted copy cannot be recognised. Then only the new bytes can be
        // kept.
        match (old, is_new) {
            (Some(_), _) => self.keep(backup),
            (None, true) => self.keep(temporary),
            (None, false) => Ok(()),
        }
    }

    /// Whether the file that recovery would overwrite is still the recorded file, and was not replaced.
    fn is_the_old_file(&self, index: usize) -> Result<bool, StoreError> {
        let (Some((key, _)), Some(found)) =
            (self.call.recorded(Inode::Old(index)), self.find(CallName::File(index))?)
        else {
            return Ok(false);
        };
        let is_same = found.identity.is_some_and(|now| key.matches(&now.file_key()));
        Ok(is_same || !os::identity_lasts(&found.directory) || !self.are_known()?)
    }

    /// Unlinks the temporary files of a file. Their names were drawn at random, so no other program uses
    /// them.
    pub(crate) fn discard(&self, index: usize) -> Result<(), StoreError> {
        use ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
        let place = self.place(index)?;
        for drawn in [CallName::Temporary(index), CallName::Backup(index)].map(|name| self.drawn(name)) {
            let drawn = drawn.unwrap_or_default();
            for directory in self.directories(place) {
                match remove_file(directory, &drawn) {
                    // If nothing can be written there any more, another attempt would not help.
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

    /// Whether a new file that lost its name in the rollback is still there. The record of a call of one step
    /// does not identify such a file.
    pub(super) fn is_new_set_aside(&self, index: usize) -> Result<bool, StoreError> {
        Ok(sight(&self.call, CallName::Backup(index), self)? == Sight::Ours(Inode::New(index)))
    }

    /// Returns the paths of the call whose content differs from before, and the paths where their old files
    /// are. `taken` are the files whose names the call has taken away.
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

    /// Returns the path of a name; a drawn name is beside its file's own name.
    fn path(&self, name: CallName) -> Result<PathBuf, StoreError> {
        let path = self.place(name.index())?.path();
        Ok(self.drawn(name).map_or_else(|| path.to_owned(), |drawn| path.with_file_name(drawn)))
    }
}

/// Tells whether a file can be the result of an interrupted write of `new` over `old`: each byte equals the
/// old or the new byte at its offset. Beyond the end of the shorter content it can also be zero: the file has
/// grown there, or its bytes are lost from the disk while it still has its old length.
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
    #[cfg(unix)]
    use std::cell::RefCell;

    #[cfg(unix)]
    use mcp_text_editor_core::digest::Digest;

    use super::is_between;
    #[cfg(unix)]
    use super::*;
    use crate::access::place::OpenFile;
    #[cfg(unix)]
    use crate::commit::table::RecordedCall;
    #[cfg(unix)]
    use crate::journal::{Contents, Subject};
    use crate::tests::world::World;

    /// The other program has since replaced the new file with its own.
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
