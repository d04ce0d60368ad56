//! Renames, creates and removes the files of a call: [`Names`].
//!
//! First, files leave the names that other files of the call get. Then all new names are given. Last, the
//! remaining old names are removed. So a file nearly always has at least one name. A file to remove is first
//! renamed to a name that no other program knows, and checked again.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;
use mcp_text_editor_core::digest::Digest;

use crate::access::place::{Bytes, WritablePlace};
use crate::commit::publish_new::Published;
use crate::commit::staged::{Arrival, Departure};
use crate::error::{ErrorContext as _, LeftBehind, Operation, Remains, StoreError, StoreErrorKind};
use crate::os;
use crate::os::directory::Dir;
use crate::os::names::{hard_link_into, remove_file, rename, rename_into};
use crate::read::hash::{digest_of, digest_of_bytes};
use crate::stage::{PREFIX, TemporaryId, unlink};

/// The files of a call that get or lose names.
#[derive(Debug)]
pub(super) struct Names<'f>(Vec<Name<'f>>);

/// A function that fails if the call must not continue.
pub(super) type Prove<'a> = &'a mut dyn FnMut() -> Result<(), StoreError>;

/// One file, and the steps of its change that are done.
#[derive(Debug)]
struct Name<'f> {
    from: Option<&'f Departure>,
    to: Option<&'f Arrival>,
    /// Whether the file has been renamed to its temporary name, which no other program knows.
    is_aside: bool,
    is_respelled: bool,
    /// Whether a file was renamed from the old name directly to the new one, and has not been renamed back.
    has_moved: bool,
    published: Option<Published>,
    /// The digest of a renamed file, taken after the rename: a program that has it open may have written to
    /// it.
    digest: Option<Digest>,
}

impl<'f> Names<'f> {
    pub(super) fn new(files: impl Iterator<Item = (Option<&'f Departure>, Option<&'f Arrival>)>) -> Self {
        let name = |(from, to)| Name {
            from,
            to,
            is_aside: false,
            is_respelled: false,
            has_moved: false,
            published: None,
            digest: None,
        };
        Self(files.map(name).collect())
    }

    /// Removes the names that other files need, and then gives all new names. Before a file loses a name,
    /// `prove` checks that the journal record still belongs to this call: since the step uses no temporary
    /// file, it would succeed even if another process has taken the record over.
    pub(super) fn give(&mut self, prove: Prove<'_>) -> Result<(), StoreError> {
        for name in &mut self.0 {
            if name.from.is_some_and(|from| from.goes_first) {
                prove()?;
                name.move_aside()?;
            }
        }
        for name in &mut self.0 {
            if !name.is_aside && name.keeps_its_file() {
                prove()?;
            }
            name.give()?;
        }
        Ok(())
    }

    /// Removes the remaining old names, with `prove` as in `give`.
    pub(super) fn take(&mut self, prove: Prove<'_>) -> Result<(), StoreError> {
        for name in &mut self.0 {
            if !name.is_aside && !name.keeps_its_file() && name.from.is_some() {
                prove()?;
                name.move_aside()?;
            }
        }
        Ok(())
    }

    /// Waits until files that moved to another directory are on disk, each with its new name and without the
    /// old one. Must be called before any directory is synced: btrfs writes each directory separately, and a
    /// power cut between two of these writes would leave the file with both names.
    pub(super) fn sync_moved(&self) -> Result<(), StoreError> {
        for name in &self.0 {
            if let (Some(Arrival::Same { place, .. }), Some(from)) = (name.to, name.from)
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
            if let Some((place, made)) = name.to.and_then(Arrival::place) {
                let synced = os::sync_directory(made.innermost(place)).and_then(|()| made.sync_parents());
                synced.context(Operation::Sync, place.path())?;
            }
            if let Some(Departure { place, .. }) = name.from {
                os::sync_directory(&place.directory).context(Operation::Sync, place.path())?;
            }
        }
        Ok(())
    }

    /// Returns the digest of each file that was renamed, in the order of the files.
    pub(super) fn digests(&self) -> impl Iterator<Item = Option<Digest>> {
        self.0.iter().map(|name| name.digest)
    }

    /// Unlinks the removed files, which ends the commit. Returns the directories that were created for them,
    /// and whether no temporary file is left.
    pub(super) fn finish(self) -> (Vec<PathBuf>, bool) {
        let (mut directories, mut is_clean) = (Vec::new(), true);
        for name in self.0 {
            is_clean &= name.published.as_ref().is_none_or(|published| published.is_clean);
            let Some(from) = name.from else { continue };
            if name.is_aside && !name.keeps_its_file() {
                // The file under this name was checked, and no other program knows the name.
                is_clean &= unlink(&from.place.directory, Path::new(&from.id.name()));
            }
            directories.extend_from_slice(&from.directories);
        }
        (directories, is_clean)
    }

    /// Restores the spelling of names that differ only in spelling: [`crate::commit::table`] cannot
    /// distinguish the two names. Returns the names that could not be restored.
    pub(super) fn respell_back(&self) -> Vec<LeftBehind> {
        let mut left = Vec::new();
        for name in self.0.iter().filter(|name| name.is_respelled) {
            if let (Some(Arrival::Respelled(now)), Some(Departure { place, .. })) = (name.to, name.from)
                && rename(&place.directory, now, place.name()).is_err()
            {
                left.push(LeftBehind::new(&place.path().with_file_name(now), Remains::Made));
            }
        }
        left
    }

    /// Returns the ids of the files that have lost their names.
    pub(super) fn taken(&self) -> Vec<TemporaryId> {
        let renamed = self.0.iter().filter(|name| name.is_aside || name.has_moved);
        renamed.filter_map(|name| name.from.map(|from| from.id)).collect()
    }

    /// Tries again to rename other programs' files, which the call has moved, back to their names. Returns
    /// the files that stay where they are because other files have their names by now.
    pub(super) fn strays(&self) -> Vec<LeftBehind> {
        let mut strays = Vec::new();
        for name in self.0.iter().filter(|name| name.has_moved && name.digest.is_none()) {
            if let (Some(Arrival::Same { place, made }), Some(from)) = (name.to, name.from) {
                let directory = made.innermost(place);
                let known = from.locked.file().identity();
                match os::identity_at(directory, Path::new(place.name())) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Ok(now) if now.same_file(known) => continue,
                    _ => {}
                }
                let own = &from.place;
                if hand_over(directory, place.name(), &own.directory, own.name()).is_err() {
                    strays.push(LeftBehind::new(place.path(), Remains::Old(own.path().to_owned())));
                }
            }
        }
        strays
    }
}

impl Name<'_> {
    /// Whether the file that gets the new name is the file that had the old name.
    fn keeps_its_file(&self) -> bool {
        matches!(self.to, Some(Arrival::Same { .. } | Arrival::Respelled(_)))
    }

    /// Renames the file to its temporary name, and checks it.
    fn move_aside(&mut self) -> Result<(), StoreError> {
        let Some(from) = self.from else { return Ok(()) };
        let (place, aside) = (&from.place, from.id.name());
        rename(&place.directory, place.name(), &aside).context(Operation::Remove, place.path())?;
        self.is_aside = true;
        let checked = from.check(Path::new(&aside));
        if checked.is_err() {
            self.restore();
        }
        checked
    }

    /// Renames the file back to its own name if that is free. Ignores an error: the rollback of the call
    /// examines the names itself.
    fn restore(&mut self) {
        if let (Some(Departure { place, id, .. }), true) = (self.from, self.is_aside) {
            self.is_aside = give_back(&place.directory, &id.name(), place.name()).is_err();
        }
    }

    fn give(&mut self) -> Result<(), StoreError> {
        match (self.to, self.from) {
            (Some(Arrival::New { creation, .. }), _) => self.published = Some(creation.publish()?),
            (Some(Arrival::Same { place, made }), Some(from)) => {
                let directory = made.innermost(place);
                let renamed = from.rename(self.is_aside, place, directory);
                if renamed.as_ref().is_err_and(|error| error.kind == StoreErrorKind::AlreadyExists) {
                    // If another program has hard-linked the file to the new name, only the old name shows
                    // that the call has not moved the file there.
                    self.restore();
                }
                renamed?;
                self.has_moved = !self.is_aside;
                let looked = from.look(place, directory);
                if looked.is_err() && self.has_moved {
                    // This can be another program's file, which no journal record names.
                    let own = &from.place;
                    self.has_moved = hand_over(directory, place.name(), &own.directory, own.name()).is_err();
                }
                self.digest = Some(looked?);
            }
            (Some(Arrival::Respelled(name)), Some(Departure { place, .. })) => {
                // The new spelling means the same file, so no other file can have it.
                rename(&place.directory, place.name(), name).context(Operation::Move, place.path())?;
                self.is_respelled = true;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Departure {
    /// Renames the file to its new path, in one system call if it still has its own name.
    fn rename(&self, is_aside: bool, to: &WritablePlace, directory: &Dir) -> Result<(), StoreError> {
        let from = &self.place;
        let moved = if is_aside {
            hand_over(&from.directory, &self.id.name(), directory, to.name())
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

    /// Returns the digest of the renamed file. Fails if that is not the locked file, because another program
    /// replaced the locked file before the rename.
    fn look(&self, to: &WritablePlace, directory: &Dir) -> Result<Digest, StoreError> {
        let (name, known) = (Path::new(to.name()), self.locked.file().identity());
        let now = os::identity_at(directory, name).context(Operation::Move, to.path())?;
        if now.same_content(known) && self.is_settled {
            return Ok(self.digest);
        }
        // If the file system derives inode numbers from paths, the rename has changed it.
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
        // If the file system derives inode numbers from paths, the rename has changed it.
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

/// Renames a file that no other program knows to a name that must be free. If the file system cannot do that
/// in one step, links the file to the new name, and then unlinks the old name.
pub(super) fn hand_over(directory: &Dir, from: &OsStr, target: &Dir, to: &OsStr) -> io::Result<()> {
    match rename_into(directory, from, target, to) {
        Err(error) if os::is_unsupported(&error) || os::keeps_its_name(&error) => {
            hard_link_into(directory, from, target, to).map_err(|why| match why.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => why,
                _ => error,
            })?;
            remove_file(directory, from)
        }
        renamed => renamed,
    }
}

/// Whether the name belongs to the file `open`, and that file has this digest. If the file system's
/// identities do not last, another file with the same bytes counts as well.
fn holds(directory: &Dir, name: &Path, digest: Digest, open: &File) -> io::Result<bool> {
    let now = os::identity_at(directory, name)?;
    if os::identity_of(open)?.same_file(&now) {
        return Ok(digest_of_bytes(&Bytes::now(open)?)? == digest);
    }
    if os::identity_lasts(directory) {
        return Ok(false);
    }
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = match directory.open_with(name, &options) {
        // A symbolic link is never a file of the call.
        Err(error) if os::is_link_loop(&error) => return Ok(false),
        opened => os::as_programs_see(opened?.into_std(), false)?,
    };
    Ok(file.metadata()?.is_file() && digest_of_bytes(&Bytes::now(&file)?)? == digest)
}

/// Renames a file back to its name. The error is [`io::ErrorKind::AlreadyExists`] if another file has that
/// name. If the file system can neither refuse to replace a file nor create hard links, checks the name
/// before the rename.
pub(super) fn give_back(directory: &Dir, aside: &OsStr, name: &OsStr) -> io::Result<()> {
    match hand_over(directory, aside, directory, name) {
        Err(error) if os::is_unsupported(&error) => match directory.symlink_metadata(name) {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => rename(directory, aside, name),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => Err(error),
        },
        renamed => renamed,
    }
}

/// Returns a name in the same directory for a file that was, or would be, displaced from a path.
pub(super) fn displaced_name(path: &Path, temporary: &OsStr) -> OsString {
    let drawn = temporary.to_string_lossy();
    let drawn = drawn.trim_start_matches(PREFIX).chars();
    let drawn: String = drawn.filter(char::is_ascii_hexdigit).take(8).collect();
    let stem: String = path.file_name().unwrap_or_default().to_string_lossy().chars().take(40).collect();
    format!("{stem}.displaced-{drawn}").into()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::lock::{LockTimeout, lock};
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
    fn a_name_is_spelled_in_another_way_and_in_its_own_again() {
        let world = World::new();
        world.write("@/root/a", "text\n");
        let cause = || StoreError::new(Operation::Sync, &world.path("@/root/a"), StoreErrorKind::Io);
        let (from, to) = (departure(&world, "@/root/a"), Arrival::Respelled("A".into()));
        let names = || Names::new([(Some(&from), Some(&to))].into_iter());
        let (own, other) = (["outside", "root", "root/a"], ["outside", "root", "root/A"]);

        let mut lost = names();
        assert_eq!(lost.give(&mut || Err(cause())).unwrap_err().kind, StoreErrorKind::Io);
        assert_eq!(world.names(), own, "the record is another's");
        assert_eq!((lost.respell_back(), world.names()), (vec![], own.map(str::to_owned).to_vec()));

        let mut failed = names();
        failed.give(&mut || Ok(())).unwrap();
        failed.take(&mut || Ok(())).unwrap();
        assert_eq!(world.names(), other);
        assert_eq!((failed.respell_back(), world.names()), (vec![], own.map(str::to_owned).to_vec()));

        let mut kept = names();
        kept.give(&mut || Ok(())).unwrap();
        assert_eq!(kept.finish(), (Vec::new(), true));
        assert_eq!(world.names(), other);
    }

    /// Another program has made a directory of the old name. That is possible because here letter case
    /// distinguishes names.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_name_that_cannot_be_spelled_as_before_is_told() {
        let world = World::new();
        world.write("@/root/a", "text\n");
        let (from, to) = (departure(&world, "@/root/a"), Arrival::Respelled("A".into()));
        let mut names = Names::new([(Some(&from), Some(&to))].into_iter());
        names.give(&mut || Ok(())).unwrap();
        world.write("@/root/a/theirs", "theirs\n");
        assert_eq!(names.respell_back(), [LeftBehind::new(&world.path("@/root/A"), Remains::Made)]);
        assert_eq!(world.content("@/root/A"), "text\n");
    }
}
