//! Writes new content to temporary files, and copies the metadata that a file keeps.
//!
//! Creates temporary files for new content, [`Temporary`], and their names, [`TemporaryId`], with which
//! recovery finds them. The commit later gives them their final names.
//!
//! Copies a file's metadata to the file that replaces it: mode, owner, group and, on Linux and macOS,
//! extended attributes with the access control list; on Windows, everything that `os/windows/metadata.rs`
//! lists. [`crate::os`] handles flags and, on macOS, the time of creation. The caller decides what to do if
//! that fails.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::OpenOptions;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::source::Source as _;

use crate::access::place::{Bytes, OpenFile, WritablePlace};
use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind};
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::os::inode_flags::Lost;
use crate::os::names::remove_file;
#[cfg(unix)]
use crate::os::seen::Attributes;
use crate::os::seen::LostMetadata;
use crate::read::hash::digest_of_bytes;
use crate::state_dir::{CONTENT, StateDir};

/// The beginning of the names of all temporary files.
pub(crate) const PREFIX: &str = ".mte-";

/// The maximum number of bytes that a call holds in memory for the new content of a file whose directory is
/// not writable. Also the maximum for the bytes that an edit removes, which are held until the history has
/// them.
pub(crate) const IN_MEMORY: u64 = 64 * 1024 * 1024;

/// The number of bytes that are copied at a time.
const BLOCK: usize = 1024 * 1024;

/// The id from which the names of the temporary files of one file are derived. The journal records the id
/// before these files are created, so that recovery finds all of them after a process was killed.
///
/// A process that takes over a journal record from another machine first renames the temporary files. Their
/// new names contain `epoch`, which counts how often the record was taken over. So no earlier owner of the
/// record can use these files any more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TemporaryId {
    drawn: u64,
    epoch: u32,
}

impl TemporaryId {
    /// Draws an id at random. If the same id is drawn twice by chance, creating the file fails because the
    /// name is taken.
    #[must_use]
    pub fn draw() -> Self {
        // std's hasher has a new random seed each time, which saves a dependency.
        Self { drawn: RandomState::new().build_hasher().finish(), epoch: 0 }
    }

    /// Parses the text that [`fmt::Display`] writes.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(Self { drawn: u64::from_str_radix(text, 16).ok()?, epoch: 0 })
    }

    /// Returns the name of the temporary file with the new content; once the two files are exchanged, it is
    /// the name of the old file. The name does not contain the file's own name, because that can already have
    /// the maximum length, and because no pattern such as `*.txt` is to match a temporary file.
    #[must_use]
    pub fn name(self) -> OsString {
        OsString::from(format!("{PREFIX}{}", self.of_epoch()))
    }

    /// Returns the name of a backup: a second name or a copy of the old file, or the name of a file that a
    /// new file displaced and that another program may have written.
    #[must_use]
    pub fn name_of_old(self) -> OsString {
        OsString::from(format!("{PREFIX}{}-old", self.of_epoch()))
    }

    /// Returns the content of a placeholder file that reserves the name of a new file. No other file has
    /// these bytes.
    #[must_use]
    pub(crate) fn claim(self) -> Vec<u8> {
        format!("{PREFIX}{self}").into_bytes()
    }

    fn of_epoch(self) -> String {
        if self.epoch == 0 { self.to_string() } else { format!("{self}.{}", self.epoch) }
    }

    /// Returns the same id with this epoch. The process that drew the id has epoch 0.
    #[must_use]
    pub fn at_epoch(self, epoch: u32) -> Self {
        Self { epoch, ..self }
    }
}

impl fmt::Display for TemporaryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.drawn)
    }
}

/// A temporary file in the directory of the file that it will replace, locked like that file. For a file that
/// is overwritten in place, it can be in the state directory or in memory instead. Dropping this value
/// removes the temporary file, unless another file has its name by then.
#[derive(Debug)]
#[must_use = "dropping it removes the file"]
pub(crate) struct Temporary {
    location: Location,
    id: TemporaryId,
    name: OsString,
    file: File,
    identity: Identity,
    path: PathBuf,
    written: u64,
    is_left: bool,
}

/// The location of a [`Temporary`].
#[derive(Debug)]
enum Location {
    /// In the directory of the file that it will replace, so it can get that file's name.
    SameDirectory(Arc<Dir>),
    /// In the state directory. It cannot get the file's name, so its bytes are copied.
    State(Arc<Dir>),
    /// In memory, without a name, so its bytes are copied. It vanishes with this process.
    Memory,
}

impl Location {
    /// Returns the directory that has the temporary file; `None` if the file is in memory.
    fn directory(&self) -> Option<&Arc<Dir>> {
        match self {
            Self::SameDirectory(directory) | Self::State(directory) => Some(directory),
            Self::Memory => None,
        }
    }
}

impl Temporary {
    /// Creates an empty file in the place's directory, which only this user can read (mode 0600).
    #[cfg(test)]
    pub(crate) fn create(place: &WritablePlace, id: TemporaryId) -> Result<Self, StoreError> {
        Self::create_in(&place.directory, (id, id.name()), place.path(), 0o600)
    }

    /// Creates an empty file for the old content of a file that is overwritten in place.
    pub(crate) fn create_for_old(
        place: &WritablePlace,
        id: TemporaryId,
        size: u64,
        state: Option<&StateDir>,
    ) -> Result<Self, StoreError> {
        Self::create_somewhere(place, (id, id.name_of_old()), size, state)
    }

    pub(crate) fn create_in(
        directory: &Arc<Dir>,
        name: (TemporaryId, OsString),
        beside: &Path,
        mode: u32,
    ) -> Result<Self, StoreError> {
        Self::create_at(directory, Location::SameDirectory, name, beside, mode)
    }

    fn create_at(
        directory: &Arc<Dir>,
        locate: fn(Arc<Dir>) -> Location,
        (id, name): (TemporaryId, OsString),
        beside: &Path,
        mode: u32,
    ) -> Result<Self, StoreError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).follow(FollowSymlinks::No);
        os::creation_mode(&mut options, mode);
        let path = beside.with_file_name(&name);
        let file = match directory.open_with(&name, &options) {
            // By chance, the id was drawn before. The next attempt draws another id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(StoreError::new(Operation::WriteTemporary, &path, StoreErrorKind::Changed));
            }
            opened => opened.context(Operation::WriteTemporary, &path)?.into_std(),
        };
        let identity = os::identity_of(&file).context(Operation::WriteTemporary, &path)?;
        // After the exchange, this file has the final name, and nobody must edit it before the call is over.
        // Nobody else knows the file yet, so the lock fails only on a file system without locks.
        os::try_lock(&file).ok();
        let location = locate(directory.clone());
        Ok(Self { location, id, name, file, identity, path, written: 0, is_left: false })
    }

    /// Creates an empty file in the place's directory, which only this user can read (mode 0600). If the
    /// directory does not allow that, creates the file in the state directory. If there is no state
    /// directory, creates it in memory, but fails if more than [`IN_MEMORY`] bytes are needed; the error then
    /// names the place's directory.
    pub(crate) fn create_anywhere(
        place: &WritablePlace,
        id: TemporaryId,
        size: u64,
        state: Option<&StateDir>,
    ) -> Result<Self, StoreError> {
        Self::create_somewhere(place, (id, id.name()), size, state)
    }

    fn create_somewhere(
        place: &WritablePlace,
        name: (TemporaryId, OsString),
        size: u64,
        state: Option<&StateDir>,
    ) -> Result<Self, StoreError> {
        let created = match place.guard_of_directory() {
            // In an append-only directory, a file can be created but not removed.
            Some(by) => Err(place.guarded(Operation::WriteTemporary, by)),
            None => Self::create_in(&place.directory, name.clone(), place.path(), 0o600),
        };
        match created {
            Err(error) if error.kind.is_refusal() => {
                let directory = place.path().parent().unwrap_or(place.path()).to_owned();
                let refused = StoreError { path: directory, ..error };
                if let Some(state) = state {
                    let path = state.path().join(CONTENT).join(&name.1);
                    return Self::create_at(state.content(), Location::State, name, &path, 0o600);
                }
                if size > IN_MEMORY {
                    return Err(refused);
                }
                Self::in_memory(place, name.0).map_err(|_| refused)
            }
            created => created,
        }
    }

    pub(crate) fn in_memory(place: &WritablePlace, id: TemporaryId) -> io::Result<Self> {
        let file = os::memory_file()?;
        let (identity, path) = (os::identity_of(&file)?, place.path().to_owned());
        let (location, name) = (Location::Memory, OsString::new());
        Ok(Self { location, id, name, file, identity, path, written: 0, is_left: false })
    }

    /// Tells whether the temporary file is in the directory of the file to replace. If so, it can get that
    /// file's name.
    #[must_use]
    pub(crate) fn is_in_same_directory(&self) -> bool {
        matches!(self.location, Location::SameDirectory(_))
    }

    /// Tells whether the temporary file is in memory: it has no name, and vanishes with this process.
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.location, Location::Memory)
    }

    /// Returns the id from which the file's name is derived.
    #[must_use]
    pub(crate) fn id(&self) -> TemporaryId {
        self.id
    }

    /// Removes the file, as dropping this value does. Returns whether the file is gone.
    pub(crate) fn remove(mut self) -> bool {
        self.is_left = true;
        self.unlink()
    }

    /// Unlinks the file if it still has its name. Returns whether it is gone.
    pub(crate) fn unlink(&self) -> bool {
        self.location.directory().is_none_or(|directory| unlink_if(directory, self.name(), &self.identity))
    }

    /// Leaves the file on disk, for recovery.
    pub(crate) fn leave(mut self) {
        self.is_left = true;
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the absolute path of the temporary file, for messages.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes that were written.
    #[must_use]
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Appends bytes of another file: within the kernel if possible, otherwise in blocks. The error is
    /// [`StoreErrorKind::Changed`] if the other file has become too short.
    pub(crate) fn copy_range(&mut self, from: &OpenFile, range: Range<u64>) -> Result<(), StoreError> {
        let mut offset = range.start;
        while offset < range.end {
            let length = usize::try_from(range.end - offset).unwrap_or(usize::MAX).min(1 << 30);
            let copied = os::copy_in_kernel(from.file(), offset, &self.file, length);
            match copied.context(Operation::WriteTemporary, &self.path)? {
                // 0 means the end of the file, or that its file system does not support this call (proc(5)).
                // A read distinguishes the two.
                None | Some(0) => break,
                Some(copied) => {
                    offset += copied as u64;
                    self.written += copied as u64;
                }
            }
        }
        let mut block = Vec::new();
        while offset < range.end {
            block.resize(usize::try_from(range.end - offset).unwrap_or(BLOCK).min(BLOCK), 0);
            let bytes = from.read_into(offset, &mut block).context(Operation::Read, from.path())?;
            if bytes.is_empty() {
                return Err(StoreError::new(Operation::Read, from.path(), StoreErrorKind::Changed));
            }
            self.write_all(bytes).context(Operation::WriteTemporary, &self.path)?;
            offset += bytes.len() as u64;
        }
        Ok(())
    }

    /// Appends bytes.
    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Appends bytes, and begins to write them to the disk. [`Temporary::sync`] then has less to wait for.
    pub(crate) fn write_and_begin_sync(&mut self, bytes: &[u8]) -> io::Result<()> {
        let from = self.written;
        self.write_all(bytes)?;
        os::begin_sync(&self.file, from, bytes.len() as u64);
        Ok(())
    }

    /// Gives the temporary file the flags of the old file (`chattr(1)`). Must be called before the first byte
    /// is written.
    pub(crate) fn keep_flags(&self, old: &OpenFile) -> Lost {
        os::keep_flags(old.file(), &self.file)
    }

    /// Gives the temporary file the mode, owner, group and extended attributes of the old file. Must be
    /// called after the last write, since a write can clear the set-id bits.
    pub(crate) fn keep_metadata(&self, old: &OpenFile) -> Result<LostMetadata, StoreError> {
        keep(old, &self.file).context(Operation::KeepMetadata, &self.path)
    }

    /// Makes sure that the content and metadata are on disk before the file's final name is, or before
    /// another file is overwritten with the content. Must be called before the last sync of the call, which
    /// waits for all of them.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        os::sync_before(&self.file).context(Operation::Sync, &self.path)
    }

    /// Waits until the temporary file's name is on disk.
    pub(crate) fn sync_directory(&self) -> Result<(), StoreError> {
        let Some(directory) = self.location.directory() else { return Ok(()) };
        os::sync_directory(directory).context(Operation::Sync, &self.path)
    }

    /// Returns a source for the bytes that the file has now.
    pub(crate) fn bytes(&self) -> io::Result<Bytes<'_>> {
        Bytes::now(&self.file)
    }

    /// Returns the digest of the bytes that the file has now.
    pub(crate) fn digest(&self) -> io::Result<Digest> {
        digest_of_bytes(&self.bytes()?)
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn name(&self) -> &Path {
        Path::new(&self.name)
    }
}

impl Drop for Temporary {
    /// Unlinks the temporary file if it still has its temporary name. After an exchange, the old file has
    /// that name, and is not unlinked.
    fn drop(&mut self) {
        if !self.is_left {
            self.unlink();
        }
    }
}

/// Unlinks a temporary name of this program, whatever file has it. Returns whether the name is gone.
pub(crate) fn unlink(directory: &Dir, name: &Path) -> bool {
    match remove_file(directory, name) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Unlinks a name if the file with this identity has it. Returns whether that file no longer has the name.
pub(crate) fn unlink_if(directory: &Dir, name: &Path, identity: &Identity) -> bool {
    match os::identity_at(directory, name) {
        Ok(now) => !now.same_file(identity) || remove_file(directory, name).is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Attributes that the kernel sets itself, and lets nobody else set: digests and signatures of content and
/// metadata (Linux), and the programs that created and opened a file (macOS).
#[cfg(unix)]
const OF_THE_KERNEL: [&[u8]; 4] =
    [b"security.ima", b"security.evm", b"com.apple.provenance", b"com.apple.macl"];

/// The attribute that marks a file from another machine. The system also sets it on each file that certain
/// programs create.
#[cfg(unix)]
const QUARANTINE: &[u8] = b"com.apple.quarantine";

/// The name and the value of an attribute.
#[cfg(unix)]
type Attribute<'a> = (&'a [u8], &'a [u8]);

/// Copies the owner, group, attributes and mode of `old` to `new`, in this order: a change of the owner
/// clears the set-id bits and the file's capabilities, and a new access control list changes the mode.
#[cfg(unix)]
pub(crate) fn keep(old: &OpenFile, new: &File) -> io::Result<LostMetadata> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

    let (before, now) = (old.metadata(), new.metadata()?);
    let mut not_kept = LostMetadata::default();
    // Owner and group are set one by one: a user who is not allowed to change the owner can still set a group
    // that they belong to.
    if now.gid() != before.gid() {
        not_kept.group = fchown(new, None, Some(before.gid())).is_err();
    }
    if now.uid() != before.uid() {
        not_kept.owner = fchown(new, Some(before.uid()), None).is_err();
    }
    not_kept.attributes = keep_attributes(old.file(), new).is_err();
    let mode = carried_mode(before.mode(), not_kept);
    new.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(not_kept)
}

#[cfg(unix)]
fn keep_attributes(old: &File, new: &File) -> io::Result<()> {
    let (wanted, present) = (os::attributes_of(old)?, os::attributes_of(new)?);
    let (surplus, differing) = differences(&wanted, &present);
    surplus.into_iter().try_for_each(|name| os::remove_attribute(new, name))?;
    differing.into_iter().try_for_each(|(name, value)| os::set_attribute(new, name, value))
}

/// Returns the changes that give a new file the wanted attributes: the names to remove, and the attributes to
/// set. If only the new file has an attribute, such as a security label, it stays. Two such attributes are
/// removed, since they change what others can do with the file: an access control list, which comes from the
/// directory's default, and a quarantine mark.
#[cfg(unix)]
fn differences<'a>(wanted: &'a Attributes, present: &Attributes) -> (Vec<&'static [u8]>, Vec<Attribute<'a>>) {
    let surplus = [os::ACCESS_LIST, QUARANTINE]
        .into_iter()
        .filter(|name| present.contains_key(*name) && !wanted.contains_key(*name));
    // The new file often has the same security label already. Setting it can be forbidden, even to the same
    // value.
    let differing = wanted.iter().filter(|(name, value)| {
        !OF_THE_KERNEL.contains(&name.as_slice()) && present.get(*name) != Some(*value)
    });
    (surplus.collect(), differing.map(|(name, value)| (name.as_slice(), value.as_slice())).collect())
}

/// Returns the mode for the new file, which permits nothing that the old file did not permit.
#[cfg(unix)]
fn carried_mode(mode: u32, not_kept: LostMetadata) -> u32 {
    let mode = mode & 0o7777;
    let group = if not_kept.group || not_kept.attributes {
        mode & 0o070 & ((mode & 0o007) << 3)
    } else {
        mode & 0o070
    };
    let set_id = if not_kept.owner || not_kept.group { 0 } else { mode & 0o6000 };
    (mode & 0o1707) | group | set_id
}

/// Copies the metadata of `old` to `new`. Returns the parts that could not be copied.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "other platforms must ask the system")]
pub(crate) fn keep(old: &OpenFile, new: &File) -> io::Result<LostMetadata> {
    Ok(os::keep_metadata(old.file(), new))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn attributes_become_those_of_the_old_file() {
        let of = |pairs: &[(&[u8], &[u8])]| -> Attributes {
            pairs.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
        };
        let list = os::ACCESS_LIST;
        let old = of(&[
            (b"com.apple.FinderInfo", b"1"),
            (b"com.apple.ResourceFork", b"2"),
            (b"com.apple.provenance", b"another program"),
            (b"security.selinux", b"label"),
            (b"security.ima", b"digest"),
            (b"user.a", b"new"),
        ]);
        let new = of(&[
            (list, b"by default"),
            (QUARANTINE, b"by this program"),
            (b"security.selinux", b"label"),
            (b"security.other", b"by the system"),
            (b"user.a", b"old"),
        ]);
        let (surplus, differing) = differences(&old, &new);
        assert_eq!(surplus, [list, QUARANTINE]);
        let differing: Attributes =
            differing.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let set: [(&[u8], &[u8]); 3] =
            [(b"com.apple.FinderInfo", b"1"), (b"com.apple.ResourceFork", b"2"), (b"user.a", b"new")];
        assert_eq!(differing, of(&set));
        // If the old file itself has a quarantine mark and an access control list, they are kept.
        let old = of(&[(list, b"own"), (QUARANTINE, b"0083;from a browser")]);
        let (surplus, differing) = differences(&old, &new);
        assert_eq!((surplus.len(), differing.len()), (0, 2));
    }

    #[test]
    fn a_mode_is_kept_or_narrowed() {
        let check =
            |mode, owner, group| carried_mode(mode, LostMetadata { owner, group, ..LostMetadata::default() });
        assert_eq!(check(0o100_644, false, false), 0o644);
        assert_eq!(check(0o106_755, false, false), 0o6755);
        assert_eq!(check(0o106_755, true, false), 0o755);
        assert_eq!(check(0o102_664, false, true), 0o644);
        assert_eq!(check(0o660, false, true), 0o600);
        assert_eq!(carried_mode(0o664, LostMetadata { attributes: true, ..LostMetadata::default() }), 0o644);
        for mode in 0..=0o7777 {
            for (owner, group) in [(false, false), (true, false), (false, true), (true, true)] {
                assert_eq!(check(mode, owner, group) & !mode, 0, "{mode:o}");
            }
        }
    }
}
