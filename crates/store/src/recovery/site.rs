//! One file of a transaction that was cut off, and the steps of its recovery: [`Site`].

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::{CHUNK, Source as _, read_range};

use crate::access::place::{OpenFile, WritablePlace};
use crate::commit::displaced::{displaced_name, give_back, is_void};
use crate::commit::exchange::swap_until_settled;
use crate::commit::names::hand_over;
use crate::commit::overwrite::write_over;
use crate::commit::remove::take_away;
use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind};
use crate::journal::{ContentChange, Intent, Step, Subject, same_key};
use crate::lock::{LockedFile, lock_directory};
use crate::os;
use crate::os::directory::Dir;
use crate::os::names::{remove_file, rename};
use crate::read::hash::digest_of;
use crate::state_dir::StateDir;
use crate::workspace::Workspace;

/// Returns the place of a path that a record names; `None` if the path leads elsewhere by now.
pub(super) fn place_of(workspace: &Workspace, path: &Path) -> Option<WritablePlace> {
    let place = workspace.roots.place(path).ok().filter(|place| place.path() == path);
    // The policy is not asked: a file that is put back was there before, or was permitted then.
    place.map(WritablePlace::permitted)
}

/// A file of a transaction that was cut off.
pub(super) struct Site<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) subject: &'a Subject,
    pub(super) place: &'a WritablePlace,
    /// The file that is there now.
    pub(super) locked: Option<&'a LockedFile>,
}

/// A temporary that was left.
struct Left {
    directory: Arc<Dir>,
    name: OsString,
    file: OpenFile,
    digest: Digest,
}

impl Site<'_> {
    fn name(&self) -> OsString {
        self.subject.id.name()
    }

    /// Returns the directories in which a temporary can be.
    fn directories(&self) -> impl Iterator<Item = &Arc<Dir>> {
        let beside = self.place.missing.is_empty().then_some(&self.place.directory);
        beside.into_iter().chain(self.workspace.content_dir().map(StateDir::content))
    }

    /// Renames the temporaries of all earlier owners of the record to the names of this epoch. The first
    /// owner's come first, so that a temporary that another process is just renaming to a later epoch is not
    /// missed. From then on nobody else can put the temporaries in place, or remove them.
    pub(super) fn disarm(&self, epoch: u32) -> Result<(), StoreError> {
        for earlier in 0..epoch {
            let id = self.subject.id.at_epoch(earlier);
            for (from, to) in [(id.name(), self.name()), (id.name_of_old(), self.subject.id.name_of_old())] {
                for directory in self.directories() {
                    match rename(directory, Path::new(&from), Path::new(&to)) {
                        Err(error) if error.kind() != ErrorKind::NotFound => {
                            let path = self.place.path().with_file_name(&from);
                            return Err(StoreError::from_io(Operation::Recover, &path, error));
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn left(&self, name: OsString) -> Result<Option<Left>, StoreError> {
        for directory in self.directories() {
            let mut options = OpenOptions::new();
            options.read(true).follow(FollowSymlinks::No).nonblock(true);
            let path = self.place.path().with_file_name(&name);
            let file = match directory.open_with(&name, &options) {
                // None of our temporaries is a link.
                Err(error) if error.kind() == ErrorKind::NotFound || os::is_link_loop(&error) => {
                    continue;
                }
                opened => opened.context(Operation::Recover, &path)?,
            };
            let file = os::as_programs_see(file.into_std(), false).context(Operation::Recover, &path)?;
            let file = OpenFile::new(file, path)?;
            if file.metadata().is_file() {
                let digest = digest_of(&file)?;
                return Ok(Some(Left { directory: directory.clone(), name, file, digest }));
            }
        }
        Ok(None)
    }

    fn now(&self) -> Result<Option<Digest>, StoreError> {
        self.locked.map(|locked| digest_of(locked.file())).transpose()
    }

    /// Unlinks the temporaries: their names were drawn at random, and no other program uses them.
    pub(super) fn discard(&self) -> Result<(), StoreError> {
        use ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
        for name in [self.name(), self.subject.id.name_of_old()] {
            for directory in self.directories() {
                match remove_file(directory, &name) {
                    // If nothing may be written there any more, another try would not help.
                    Err(error)
                        if !matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem) =>
                    {
                        let path = self.place.path().with_file_name(&name);
                        return Err(StoreError::from_io(Operation::Recover, &path, error));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Recovers a file that was to be exchanged. If it was the only one, both states are whole and the client
    /// may know the new one, so the new one stays.
    pub(super) fn exchange_back(
        &self,
        change: &ContentChange,
        committed: bool,
        is_alone: bool,
    ) -> Result<(), StoreError> {
        let now = self.now()?;
        let temporary = self.left(self.name())?;
        let displaced = match temporary {
            Some(temporary) if temporary.digest != change.new => Some(temporary),
            _ => self.left(self.subject.id.name_of_old())?,
        };
        let Some(displaced) = displaced else { return Ok(()) };
        if now.as_ref() == Some(&displaced.digest) {
            return Ok(());
        }
        let is_old = displaced.digest == change.old;
        // An incomplete copy of the old bytes is of no use.
        let is_spoiled = !is_old && displaced.name != self.name() && !self.is_the_old_file(&displaced);
        if is_spoiled && now == Some(change.old) {
            return Ok(());
        }
        match self.locked {
            // The exchange stands; later changes were made after it.
            _ if committed && is_old => Ok(()),
            Some(locked) if now == Some(change.new) => {
                if is_alone && is_old {
                    Ok(())
                } else if committed || is_spoiled {
                    self.keep(&displaced)
                } else {
                    self.bring_back(locked, &displaced, change)
                }
            }
            // Another program has written to the file since, or removed it.
            _ => self.keep(&displaced),
        }
    }

    /// Tells whether a temporary is the very file that was to be edited, whatever another program has written
    /// to it since.
    fn is_the_old_file(&self, left: &Left) -> bool {
        matches!(self.subject.intent, Intent::Edit { key } if same_key(key, left.file.identity().key()))
    }

    /// Gives the file's name back to the file that was displaced.
    fn bring_back(
        &self,
        locked: &LockedFile,
        displaced: &Left,
        change: &ContentChange,
    ) -> Result<(), StoreError> {
        let (directory, name) = (&self.place.directory, self.place.name());
        if displaced.name != self.name() {
            // Names could not be exchanged there, so the old file got a second name.
            let renamed = rename(directory, &displaced.name, name);
            return renamed.context(Operation::Recover, self.place.path());
        }
        let last_in = *locked.file().identity();
        let _one_at_a_time = lock_directory(directory, self.place.path())?;
        swap_until_settled(self.place, Path::new(&displaced.name), last_in, os::exchange)?;
        let out = self.left(self.name())?;
        if out.is_none_or(|out| out.digest == change.new) {
            return Ok(());
        }
        // Another program wrote to the new file at the last moment: it gets the name again.
        swap_until_settled(self.place, Path::new(&displaced.name), *displaced.file.identity(), os::exchange)?;
        self.keep(displaced)
    }

    /// Recovers a file that was being written over: copies the new bytes again, if the file's content can be
    /// the result of an interrupted copy.
    pub(super) fn write_again(&self, change: &ContentChange) -> Result<(), StoreError> {
        let now = self.now()?;
        if now == Some(change.new) {
            return Ok(());
        }
        let new = self.left(self.name())?.filter(|new| new.digest == change.new);
        let old = self.left(self.subject.id.name_of_old())?;
        if let (Some(locked), Some(new)) = (self.locked, &new) {
            let is_half_done = match &old {
                Some(old) => is_between(locked.file(), &old.file, &new.file)?,
                None => false,
            };
            if now == Some(change.old) || is_half_done {
                let target = self.place.open_file(true)?;
                return write_over(&new.file.bytes(), target.file(), true)
                    .context(Operation::Recover, self.place.path());
            }
        }
        // Without the old bytes nobody can tell whether it is half done: the new ones are all there is then.
        old.or(new).map_or(Ok(()), |left| self.keep(&left))
    }

    /// Frees the name of a file that was taken away first because another file of the call gets the name.
    /// Where a name can only be claimed, an empty file may have it, which belongs to nobody.
    pub(super) fn unclaim(&self) -> Result<(), StoreError> {
        let (directory, name) = (&self.place.directory, Path::new(self.place.name()));
        if self.left(self.name())?.is_none() {
            return Ok(());
        }
        let removed = is_void(directory, name)
            .and_then(|is_void| if is_void { remove_file(directory, name) } else { Ok(()) });
        removed.context(Operation::Recover, self.place.path())
    }

    /// Removes the file that was given this name, if its content is still the same, or if it is the file that
    /// was to come `from` elsewhere and has two names. But it stays if another program has taken its old name
    /// meanwhile. The call may have `given` that name to a new file with this digest.
    pub(super) fn take_away(
        &self,
        digest: Digest,
        from: Option<&Self>,
        given: Option<Digest>,
    ) -> Result<(), StoreError> {
        let (Some(locked), Some(now)) = (self.locked, self.now()?) else { return Ok(()) };
        let same = |other: &LockedFile| other.file().identity().same_file(locked.file().identity());
        let is_same = from.and_then(|from| from.locked).is_some_and(same);
        let is_needed = match from {
            Some(from) if from.place.is_taken()? && (given.is_none() || from.now()? != given) => {
                from.left(from.name())?.is_some_and(|aside| aside.digest == now)
            }
            _ => false,
        };
        if is_needed || !(is_same || now == digest) {
            return Ok(());
        }
        let (name, aside) = (Path::new(self.place.name()), self.subject.id.name_of_old());
        let gone = take_away(&self.place.directory, name, Path::new(&aside), now, locked.file().file());
        gone.context(Operation::Recover, self.place.path())
    }

    /// Gives the name back to what had it when a new file was to be taken away, unless that is the new file.
    /// Of a file alone no digest is known: then the new file has its name again, which is as whole.
    pub(super) fn give_back_other(&self, step: &Step) -> Result<(), StoreError> {
        if !matches!(self.subject.intent, Intent::Create { .. } | Intent::MoveTo { .. }) {
            return Ok(());
        }
        match (self.left(self.subject.id.name_of_old())?, step) {
            (Some(taken), Step::Publish(digest)) if taken.digest == *digest => Ok(()),
            (Some(taken), _) => self.give_back_or_keep(&taken, || Ok(false)),
            (None, _) => Ok(()),
        }
    }

    /// Renames the file that has come here `from` elsewhere to its temporary name there, from which it is put
    /// back.
    pub(super) fn move_aside(
        &self,
        digest: Digest,
        key: Option<(u64, u64)>,
        from: &Self,
    ) -> Result<(), StoreError> {
        let Some(locked) = self.locked else { return Ok(()) };
        let is_it = key.is_some_and(|key| same_key(key, locked.file().identity().key()));
        if !is_it && self.now()? != Some(digest) {
            return Ok(());
        }
        let now = self.now()?;
        let is_aside = from.left(from.name())?.is_some_and(|aside| Some(aside.digest) == now);
        let moved = if is_aside {
            // This is a second name, or a second file of the same bytes.
            remove_file(&self.place.directory, self.place.name())
        } else {
            hand_over(&self.place.directory, self.place.name(), &from.place.directory, &from.name())
                .map_err(|failed| failed.error)
        };
        moved.context(Operation::Recover, self.place.path())
    }

    /// Recovers a file that was to go and has been renamed: gives it its name back, unless it has a new one,
    /// `to`, as well. If another program has taken the old name, and the bytes are at neither place, they are
    /// kept.
    pub(super) fn put_back(&self, to: Option<&Self>) -> Result<(), StoreError> {
        let Some(aside) = self.left(self.name())? else { return Ok(()) };
        if to.is_some_and(|to| to.is_name_of(&aside.file)) {
            return Ok(());
        }
        let holds_it = |site: &Self| match site.place.open_file(false) {
            Err(error) if is_no_file(&error) => Ok(false),
            opened => Ok(digest_of(&opened?)? == aside.digest),
        };
        self.give_back_or_keep(&aside, || Ok(holds_it(self)? || to.map_or(Ok(false), holds_it)?))
    }

    /// Gives the file its name back. If another file has that, the bytes are kept, unless they are elsewhere.
    fn give_back_or_keep(
        &self,
        left: &Left,
        is_elsewhere: impl FnOnce() -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        match give_back(&left.directory, Path::new(&left.name), Path::new(self.place.name())) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(StoreError::from_io(Operation::Recover, self.place.path(), error))
            }
            Err(_) if !is_elsewhere()? => self.keep(left),
            _ => Ok(()),
        }
    }

    /// Tells whether the name is one of this file's now.
    fn is_name_of(&self, file: &OpenFile) -> bool {
        let now = os::identity_at(&self.place.directory, Path::new(self.place.name()));
        self.place.missing.is_empty() && now.is_ok_and(|now| now.same_file(file.identity()))
    }

    /// Keeps bytes that no file holds any more, in the history. If that fails, their file gets a name that is
    /// not cleaned up.
    fn keep(&self, left: &Left) -> Result<(), StoreError> {
        let path = self.place.path();
        let relative = self.place.relative();
        let size = left.file.size();
        let kept = if size <= self.workspace.max_kept_bytes {
            let bytes = read_range(&left.file, 0..size).context(Operation::Read, path)?;
            self.workspace.history.keep_displaced(path, relative, &bytes).ok()
        } else {
            None
        };
        if let Some(edit_id) = kept {
            tracing::warn!(file = %path.display(), %edit_id, "another program's write met an edit that was cut off; what it displaced is in the history");
            return Ok(());
        }
        let name = displaced_name(path, Path::new(&left.name));
        let renamed = rename(&left.directory, &left.name, &name);
        renamed.context(Operation::Recover, path)?;
        tracing::warn!(file = %path.display(), ?name, "another program's write met an edit that was cut off; what it displaced is beside it");
        Ok(())
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
