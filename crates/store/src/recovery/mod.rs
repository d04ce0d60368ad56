//! What is done about a transaction whose process died in the middle: taken back or, once it was committed, ended. All of it
//! goes by digests, so that doing it twice changes nothing, and nothing that another program wrote since is written over.
//!
//! Whoever holds the lock of a record knows that its owner is dead, and is the only one to recover it. The files are locked,
//! too. Records are looked for at start and, with its files locked, before each edit: so nobody builds on a file that is
//! half way between two states.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::{CHUNK, Source as _, read_range};

use crate::access::place::{OpenFile, WritablePlace};
use crate::commit::exchange::swap_until_out;
use crate::commit::overwrite::write_over;
use crate::commit::remove::{give_back, remove_directories};
use crate::error::{Context as _, Operation, StoreError, StoreErrorKind};
use crate::journal::{Change, Contents, Found, Intent, Step, Subject};
use crate::lock::{
    Backoff, LockTimeout, LockedFile, LockedSet, lock_all_as_they_are, lock_all_with, lock_directory,
};
use crate::os;
use crate::os::vanishing::remove_directory;
use crate::read::hash::digest_of;
use crate::workspace::{Durability, Workspace};

/// Recovers what is there to be recovered, at the start of a process that may write; what fails is logged, and tried again
/// before the next edit.
pub(crate) fn recover_all(workspace: &Workspace) {
    let Some(state) = &workspace.state_dir else { return };
    match Found::all(state) {
        Ok(found) => {
            for record in found.into_iter().filter(|record| record.is_abandoned) {
                if record.contents.of_later_form.is_some() {
                    tracing::warn!(record = %record.path.display(), "an edit that was cut off was a later version's, which alone can end it");
                } else if may_recover(workspace, &record.contents) {
                    // It is in the log.
                    try_recover(workspace, record, &mut Backoff::new(&LockTimeout::default())).ok();
                }
            }
        }
        Err(error) => tracing::warn!(%error, "the journal cannot be read"),
    }
}

/// Locks files as [`lock_all_with`] does, once no transaction that was cut off concerns any of them.
pub(crate) fn lock_settled(
    workspace: &Workspace,
    places: &[&WritablePlace],
    backoff: &mut Backoff<'_>,
) -> Result<LockedSet, Vec<(usize, StoreError)>> {
    let mut given_up = GivenUp::new();
    loop {
        let locked = lock_all_with(places, backoff)?;
        let concerns = |contents: &Contents| {
            let by_key =
                locked.files.iter().map(|file| (file.file().path(), Some(file.file().identity().key())));
            by_key.clone().any(|(path, key)| contents.concerns(path, key))
                || places.iter().any(|place| contents.concerns(place.path(), None))
        };
        let alone = |error| vec![(0, error)];
        let standing = standing(workspace, concerns, &mut given_up).map_err(alone)?;
        match standing {
            Standing::Clear => return Ok(locked),
            Standing::Abandoned(records) => {
                drop(locked);
                given_up.extend(
                    records.into_iter().filter_map(|record| try_recover(workspace, record, backoff).err()),
                );
            }
            Standing::UnderWay(path) => {
                drop(locked);
                let busy = |kind| StoreError::new(Operation::Lock, &path, kind);
                backoff.pause().map_err(|kind| alone(busy(kind)))?;
            }
        }
    }
}

/// Waits until no transaction that was cut off concerns a path at which there need not be a file.
pub(crate) fn settle(
    workspace: &Workspace,
    place: &WritablePlace,
    backoff: &mut Backoff<'_>,
) -> Result<(), StoreError> {
    let mut given_up = GivenUp::new();
    loop {
        match standing(workspace, |contents| contents.concerns(place.path(), None), &mut given_up)? {
            Standing::Clear => return Ok(()),
            Standing::Abandoned(records) => {
                given_up.extend(
                    records.into_iter().filter_map(|record| try_recover(workspace, record, backoff).err()),
                );
            }
            // A call that creates or removes the same file: the file system decides between the two.
            Standing::UnderWay(_) if place.identity().is_err() => return Ok(()),
            Standing::UnderWay(path) => {
                backoff.pause().map_err(|kind| StoreError::new(Operation::Lock, &path, kind))?;
            }
        }
    }
}

/// What the journal says of some files.
enum Standing {
    /// Nothing.
    Clear,
    /// These must be recovered first.
    Abandoned(Vec<Found>),
    /// Somebody else is at one of them, who began before us, or recovers it.
    UnderWay(PathBuf),
}

/// Records that this call is done with, by path: why it could not recover them, or nothing, if all is done but that they
/// cannot be unlinked.
type GivenUp = BTreeMap<PathBuf, Option<StoreError>>;

fn standing(
    workspace: &Workspace,
    concerns: impl Fn(&Contents) -> bool,
    given_up: &mut GivenUp,
) -> Result<Standing, StoreError> {
    let Some(state) = &workspace.state_dir else { return Ok(Standing::Clear) };
    let found = match Found::all(state) {
        // Removed while we run, or another's: then nothing can be written down either, as each edit says.
        Err(error) if error.kind == StoreErrorKind::NotFound || error.kind.is_refusal() => {
            return Ok(Standing::Clear);
        }
        found => found?,
    };
    let mut abandoned = Vec::new();
    for record in found {
        let is_ours = concerns(&record.contents);
        if !record.is_abandoned {
            if is_ours && record.is_there() {
                return Ok(Standing::UnderWay(record.path));
            }
        } else if !given_up.contains_key(&record.path) && may_recover(workspace, &record.contents) {
            abandoned.push(record);
        } else if is_ours && !matches!(given_up.get(&record.path), Some(None)) {
            if let Some(Some(error)) = given_up.remove(&record.path) {
                return Err(error);
            }
            let paths = record.contents.paths().map(Path::to_owned).collect();
            let is_of_later_form = record.contents.of_later_form.is_some();
            let kind = StoreErrorKind::Unfinished { paths, is_of_later_form };
            return Err(StoreError::new(Operation::Recover, &record.path, kind));
        }
    }
    Ok(if abandoned.is_empty() { Standing::Clear } else { Standing::Abandoned(abandoned) })
}

/// Whether all files lie in this process's roots, by the paths that the record has, and all of it is understood.
fn may_recover(workspace: &Workspace, contents: &Contents) -> bool {
    contents.of_later_form.is_none()
        && contents.subjects.iter().all(|subject| place_of(workspace, &subject.path).is_some())
}

fn place_of(workspace: &Workspace, path: &Path) -> Option<WritablePlace> {
    let place = workspace.roots.place(path).ok().filter(|place| place.path() == path);
    // What is put back was there, or was permitted before.
    place.map(WritablePlace::permitted)
}

/// Recovers a record; what fails is logged, and returned with the record's path, as is one that is still there.
fn try_recover(
    workspace: &Workspace,
    record: Found,
    backoff: &mut Backoff<'_>,
) -> Result<(), (PathBuf, Option<StoreError>)> {
    let path = record.path.clone();
    let committed = record.contents.committed;
    let files: Vec<PathBuf> = record.contents.subjects.iter().map(|subject| subject.path.clone()).collect();
    let is_gone = match recover(workspace, record, backoff) {
        Ok(is_gone) => is_gone,
        Err(error) => {
            tracing::warn!(%error, ?files, "an edit that was cut off cannot be recovered");
            return Err((path, Some(of_recovery(error))));
        }
    };
    if !is_gone {
        tracing::warn!(record = %path.display(), "the record of an edit that was cut off cannot be unlinked");
        return Err((path, None));
    }
    if committed {
        tracing::warn!(?files, "an edit that was cut off has been ended");
    } else if !files.is_empty() {
        // Else its owner died before it had begun.
        tracing::warn!(?files, "an edit that was cut off has been taken back");
    }
    Ok(())
}

/// The error as one of a call that has not begun: what a client can act on keeps its kind; the rest is nothing that could
/// be said of the files that it named.
fn of_recovery(error: StoreError) -> StoreError {
    use StoreErrorKind::{Busy, Cancelled, Changed, FileTooLarge, Io, NoSpace};
    let StoreError { path, kind, source, .. } = error;
    let source = source.or_else(|| Some(std::io::Error::other(kind.to_string())));
    let kind = if matches!(kind, Busy | Cancelled | Changed | FileTooLarge | NoSpace) { kind } else { Io };
    StoreError { operation: Operation::Recover, path, kind, source }
}

/// Whether the record is gone, once all is done.
fn recover(workspace: &Workspace, record: Found, backoff: &mut Backoff<'_>) -> Result<bool, StoreError> {
    let contents = &record.contents;
    let places = contents.subjects.iter().map(|subject| place_of(workspace, &subject.path));
    let Some(places) = places.collect::<Option<Vec<WritablePlace>>>() else {
        // One of the paths leads elsewhere since it was looked at.
        return Err(StoreError::new(Operation::Recover, &record.path, StoreErrorKind::Changed));
    };
    let mut there = Vec::new();
    for place in &places {
        match place.open_file(false) {
            Ok(_) => there.push(place),
            Err(error) if is_no_file(&error) => {}
            // What cannot be looked at now is left as it is: it may be half way.
            Err(error) => return Err(error),
        }
    }
    let locked = lock_all_as_they_are(&there, backoff).map_err(|problems| {
        let first = problems.into_iter().next().map(|(_, error)| error);
        first.unwrap_or_else(|| StoreError::new(Operation::Lock, &record.path, StoreErrorKind::Changed))
    })?;
    let file_at = |place: &WritablePlace| {
        let at = there.iter().position(|there| there.path() == place.path())?;
        locked.files.get(*locked.file_of.get(at)?)
    };
    let steps = contents.steps.iter().flatten();
    let is_alone = steps.filter(|step| **step != Step::Stay).count() == 1;
    let sites: Vec<Site<'_>> = contents
        .subjects
        .iter()
        .zip(&places)
        .map(|(subject, place)| Site { workspace, subject, place, locked: file_at(place) })
        .collect();
    for (index, site) in sites.iter().enumerate() {
        let step = contents.steps.as_ref().and_then(|steps| steps.get(index));
        match (&site.subject.intent, step) {
            (Intent::Create { directories }, _) => site.unmake(directories)?,
            (Intent::Remove, _) => site.put_back(contents.committed)?,
            (Intent::Edit { .. }, Some(Step::Exchange(change))) => {
                site.exchange_back(change, contents.committed, is_alone)?;
            }
            (Intent::Edit { .. }, Some(Step::Overwrite(change))) if contents.committed => {
                site.write_again(change)?;
            }
            // Nothing has been done to it, or nothing was to be done.
            (Intent::Edit { .. }, _) => {}
        }
    }
    let sync = workspace.durability == Durability::Machine;
    if sync {
        for place in &places {
            os::sync_directory(&place.directory).context(Operation::Recover, place.path())?;
        }
    }
    // What is left of the temporaries is worth nothing once the files are what they are to be.
    for site in &sites {
        site.discard()?;
    }
    // Nor are directories that were made for a file which has gone.
    for step in contents.steps.iter().flatten() {
        match step {
            Step::Remove { directories, .. } if contents.committed => {
                remove_directories(workspace, directories)?;
            }
            _ => {}
        }
    }
    drop(locked);
    Ok(record.remove(sync))
}

/// Whether an error of opening says that there is nothing that could be a transaction's.
fn is_no_file(error: &StoreError) -> bool {
    use StoreErrorKind::{IsADirectory, LinkLoop, NotADirectory, NotARegularFile, NotFound};
    matches!(error.kind, NotFound | NotADirectory | IsADirectory | LinkLoop | NotARegularFile { .. })
}

/// A file of a transaction that was cut off.
struct Site<'a> {
    workspace: &'a Workspace,
    subject: &'a Subject,
    place: &'a WritablePlace,
    /// The file that is there now.
    locked: Option<&'a LockedFile>,
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

    /// The directories in which a temporary can be.
    fn directories(&self) -> impl Iterator<Item = &Arc<Dir>> {
        let beside = self.place.missing.is_empty().then_some(&self.place.directory);
        beside.into_iter().chain(self.workspace.state_dir.as_ref().map(crate::state_dir::StateDir::content))
    }

    fn left(&self, name: OsString) -> Result<Option<Left>, StoreError> {
        for directory in self.directories() {
            let mut options = OpenOptions::new();
            options.read(true).follow(FollowSymlinks::No).nonblock(true);
            let path = self.place.path().with_file_name(&name);
            let file = match directory.open_with(&name, &options) {
                // None of ours is a link.
                Err(error) if error.kind() == ErrorKind::NotFound || os::is_link_loop(&error) => {
                    continue;
                }
                opened => opened.context(Operation::Recover, &path)?,
            };
            let file = OpenFile::new(file.into_std(), path)?;
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

    /// Unlinks the temporaries: their names were drawn by lot, and are nobody else's.
    fn discard(&self) -> Result<(), StoreError> {
        use ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
        for name in [self.name(), self.subject.id.name_of_old()] {
            for directory in self.directories() {
                match directory.remove_file(&name) {
                    // Where nothing may be written any more nothing can be done, now or later.
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

    /// A file that was to be exchanged. If it was the only one, either state is whole, and the new one may be known to its
    /// client: then it stays.
    fn exchange_back(&self, change: &Change, committed: bool, is_alone: bool) -> Result<(), StoreError> {
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
        // A copy of the old bytes that is not whole brings nothing back.
        let is_spoiled = !is_old && displaced.name != self.name() && !self.is_the_old_file(&displaced);
        if is_spoiled && now == Some(change.old) {
            return Ok(());
        }
        match self.locked {
            // It has been replaced for good; whatever came later came after that.
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
            // Another program has written since, or removed the file.
            _ => self.keep(&displaced),
        }
    }

    /// Whether it is the file itself that was to be edited, whatever another program may have written to it since.
    fn is_the_old_file(&self, left: &Left) -> bool {
        self.subject.intent == Intent::Edit { key: left.file.identity().key() }
    }

    /// Gives the file's name back to what was displaced.
    fn bring_back(&self, locked: &LockedFile, displaced: &Left, change: &Change) -> Result<(), StoreError> {
        let (directory, name) = (&self.place.directory, self.place.name());
        if displaced.name != self.name() {
            // Where names cannot be exchanged the old file was given a second one.
            let renamed = directory.rename(&displaced.name, directory, name);
            return renamed.context(Operation::Recover, self.place.path());
        }
        let last_in = *locked.file().identity();
        let _one_at_a_time = lock_directory(directory, self.place.path())?;
        swap_until_out(self.place, Path::new(&displaced.name), last_in, os::exchange)?;
        let out = self.left(self.name())?;
        if out.is_none_or(|out| out.digest == change.new) {
            return Ok(());
        }
        // Another program wrote to the file in the last instant: it is back, and stays.
        swap_until_out(self.place, Path::new(&displaced.name), *displaced.file.identity(), os::exchange)?;
        self.keep(displaced)
    }

    /// A file that was being written over: so again, if what it holds can come of that.
    fn write_again(&self, change: &Change) -> Result<(), StoreError> {
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
                return write_over(&new.file, target.file(), true)
                    .context(Operation::Recover, self.place.path());
            }
        }
        old.map_or(Ok(()), |old| self.keep(&old))
    }

    /// A file that was to be created: either it has its name, or it goes with the directories that were made for it.
    fn unmake(&self, directories: &[PathBuf]) -> Result<(), StoreError> {
        self.discard()?;
        for directory in directories.iter().rev() {
            if let Some(place) = place_of(self.workspace, directory).filter(|place| place.missing.is_empty())
            {
                // Not empty: it is used.
                remove_directory(&place.directory, place.name()).ok();
            }
        }
        Ok(())
    }

    /// A file that was to be removed, and has another name meanwhile.
    fn put_back(&self, committed: bool) -> Result<(), StoreError> {
        if committed {
            return Ok(());
        }
        let Some(aside) = self.left(self.name())? else { return Ok(()) };
        let name = Path::new(self.place.name());
        give_back(&aside.directory, Path::new(&aside.name), name).or_else(|error| match error.kind() {
            ErrorKind::AlreadyExists => self.keep(&aside),
            _ => Err(StoreError::from_io(Operation::Recover, self.place.path(), error)),
        })
    }

    /// Keeps bytes that no file holds any more: in the history, or else where they are, under a name that nobody cleans up.
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
        let name = rescued(path, &left.name);
        let renamed = left.directory.rename(&left.name, &left.directory, &name);
        renamed.context(Operation::Recover, path)?;
        tracing::warn!(file = %path.display(), ?name, "another program's write met an edit that was cut off; what it displaced is beside it");
        Ok(())
    }
}

/// A name that tells a person what it is.
fn rescued(path: &Path, temporary: &OsStr) -> OsString {
    let id: String = temporary.to_string_lossy().chars().filter(char::is_ascii_hexdigit).take(8).collect();
    let stem: String = path.file_name().unwrap_or_default().to_string_lossy().chars().take(40).collect();
    OsString::from(format!("{stem}.displaced-{id}"))
}

/// Whether a file can come of writing `new` over `old`, as far as that got: whichever pages of it reached the disk, and
/// zeros where it has grown and none did.
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
        let is_growth = |at: usize| offset + at as u64 >= old.size();
        let fits = now.iter().take(got).enumerate().all(|(at, byte)| {
            (at < old_got && was.get(at) == Some(byte))
                || (at < new_got && will.get(at) == Some(byte))
                || (*byte == 0 && is_growth(at))
        });
        if !fits {
            return Ok(false);
        }
        offset += got as u64;
    }
    Ok(true)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
mod tests;
