//! Defines the errors of file operations: [`StoreError`]. Its `Display` is a line for a log.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::os;
use crate::os::inode_flags::Guard;
pub use crate::os::privacy::Privacy;
pub use crate::os::seen::SpecialFile;

/// A failed operation on a path, with the reason as far as a client can act on it, and the system's own
/// error.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}: {kind}{}", path.display(), listed(left))]
pub struct StoreError {
    /// The operation that failed.
    pub operation: Operation,
    /// The resolved path.
    pub path: PathBuf,
    /// The reason why it failed.
    pub kind: StoreErrorKind,
    /// The part of the file's name that explains the error, if there is one.
    pub name: Option<NameFault>,
    /// The files that were perhaps meant, if no file is at the path ([`StoreErrorKind::NotFound`]).
    pub suggested: Option<Box<Suggestion>>,
    /// The paths on disk that differ from before the call: new, gone, or with other content. If the list is
    /// empty, everything is as before the call.
    pub left: Vec<LeftBehind>,
    /// The system's error; `None` if there was none.
    pub source: Option<io::Error>,
}

/// A path whose content differs from before the failed call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftBehind {
    /// The absolute path.
    pub path: PathBuf,
    /// The content.
    pub what: Remains,
}

/// The content at a path after a call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Remains {
    /// The file, which may have its new content, or a part of it.
    Changed,
    /// The path has no file any more, or a file of another program.
    Gone,
    /// The old content of another file; the field is that file's path.
    Old(PathBuf),
    /// A file or directory that was not there before.
    Made,
    /// Perhaps a file or directory that was not there before: the system does not let this process examine
    /// the path.
    PerhapsMade,
}

impl LeftBehind {
    pub(crate) fn new(path: &Path, what: Remains) -> Self {
        Self { path: path.to_owned(), what }
    }
}

/// The files that the caller perhaps meant by a path that leads to no file. Only the likeliest are listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suggestion {
    /// The absolute paths, one to three. Each file existed and could be read, or edited if the call edits. If
    /// the call was to create the file, its directory existed.
    pub paths: Vec<PathBuf>,
    /// Whether `paths` has all such files. If not, there are more, or the search ended early.
    pub are_all: bool,
}

/// The parts of a file's name that explain a [`StoreError`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameFault {
    /// The path names a symbolic link that leads to nothing ([`StoreErrorKind::NotFound`]). The error's path
    /// is the path to which the link leads.
    DanglingLink,
    /// The path, or the target of the symbolic link that it names, ends in a slash, which only a directory's
    /// path can. Without the slash, it names a file ([`StoreErrorKind::NotADirectory`]).
    SlashAfterFile,
    /// The path ends in a slash, nothing is at the path, and the call was to create a file
    /// ([`StoreErrorKind::IsADirectory`]).
    SlashAfterNothing,
}

/// The operation that failed with a [`StoreError`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Opening a root, which is an allowed directory.
    OpenRoot,
    /// Creating or opening the state directory, at the process's start.
    OpenState,
    /// Following a path to its directory.
    Resolve,
    /// Opening a file.
    Open,
    /// Taking the lock on a file.
    Lock,
    /// Reading a file's bytes.
    Read,
    /// Creating a temporary file or writing to it.
    WriteTemporary,
    /// Giving a temporary file the mode and owner of the file that it is to replace.
    KeepMetadata,
    /// Waiting until a file or directory is on disk.
    Sync,
    /// Creating a parent directory.
    CreateDirectory,
    /// Giving a new file its name.
    Create,
    /// Replacing the old file with a temporary file.
    Replace,
    /// Removing a file.
    Remove,
    /// Renaming a file, or moving it to another directory.
    Move,
    /// Restoring the old file.
    Restore,
    /// Recording a call's changes in the journal before they are made.
    WriteJournal,
    /// Reading the journal to find interrupted calls.
    ReadJournal,
    /// Recovering the call of a process that died.
    Recover,
}

/// The reason why an operation failed, as far as a client can act on it; any other reason is
/// [`StoreErrorKind::Io`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreErrorKind {
    /// There is no such file.
    NotFound,
    /// Something is at the path already; a dangling symbolic link counts, too.
    AlreadyExists,
    /// The path names a directory.
    IsADirectory,
    /// A parent in the path is not a directory, or the path ends in a slash and names a file.
    NotADirectory,
    /// The path names a special file, such as a device, which has no content of its own.
    NotARegularFile {
        /// The kind of file.
        what: SpecialFile,
    },
    /// The system refused the operation for lack of permission.
    PermissionDenied,
    /// A privacy setting of the system denies this process access to some of the user's files. File
    /// permissions do not help.
    Private(Privacy),
    /// The file system is mounted read-only. File permissions do not help.
    ReadOnlyFileSystem,
    /// A flag of the file, or of its directory, forbids the edit.
    Guarded {
        /// The flag.
        by: Guard,
        /// Whether it is a flag of the directory. If so, the error's path is the directory.
        is_directory: bool,
    },
    /// The file's content is in a cloud, and the system does not fetch it for this process (macOS).
    NotDownloaded,
    /// The file is encrypted by its file system, and its key is locked.
    NoKey,
    /// The path has more than 40 symbolic links (the limit of Linux, `path_resolution(7)`).
    LinkLoop,
    /// The path, or one name in it, is longer than the system accepts.
    NameTooLong,
    /// Too many directories would have to be created for a new file.
    TooManyMissing {
        /// The number of missing directories.
        missing: usize,
        /// The maximum number that a call creates.
        most: usize,
    },
    /// The path is not Unicode, so no call can name it.
    NotUnicode,
    /// The disk, or the quota, is full.
    NoSpace,
    /// The file would exceed this process's limit for the size of files, or the maximum of its file system.
    FileTooLarge,
    /// Another call held the lock until the time limit.
    Busy,
    /// Another program has the file open in a way that excludes others (Windows), or has a lease on it
    /// (fcntl(2)).
    HeldOpen,
    /// The caller cancelled the call. No error of the system is of this kind: see [`ReadFault`].
    Cancelled,
    /// The file to which the path leads, or the file's content, changed during the call. The caller must
    /// start again from the read.
    Changed,
    /// A directory of a past edit is gone, was replaced by another directory, or is reached by a link.
    OtherDirectory,
    /// A commit failed and could not be undone. [`StoreError::left`] says where each file is until recovery
    /// restores it.
    NotRestored,
    /// Another program wrote a file during the commit, and that file and the call's file cannot both have the
    /// path. The call is undone. [`StoreError::left`] says where each file is; they stay there.
    Displaced,
    /// An interrupted call has left these files partly changed, and this process must not recover the call:
    /// some of the files are outside this process's roots, another version of this program made the call, or
    /// this machine may still see an old state of a file that another machine changed.
    Unfinished {
        /// The files that lie in the roots.
        paths: Vec<PathBuf>,
        /// The number of all other files.
        others: u32,
        /// Whether another version of this program made the call, normally a later one.
        is_of_later_form: bool,
    },
    /// Any other reason; see the source.
    Io,
}

impl StoreError {
    /// Returns an error without a source: the system did not report it.
    #[must_use]
    pub fn new(operation: Operation, path: &Path, kind: StoreErrorKind) -> Self {
        Self {
            operation,
            path: path.to_owned(),
            kind,
            name: None,
            suggested: None,
            left: Vec::new(),
            source: None,
        }
    }

    /// Tells whether another program, such as a file server, has a lease on the file (fcntl(2)). Each attempt
    /// to open the file makes the system ask that program to give the lease up.
    pub(crate) fn is_leased(&self) -> bool {
        let is_refused = |source: &io::Error| source.kind() == io::ErrorKind::WouldBlock;
        self.kind == StoreErrorKind::HeldOpen && self.source.as_ref().is_some_and(is_refused)
    }

    /// Returns the error for an error of the system, which becomes the source.
    #[must_use]
    pub fn from_io(operation: Operation, path: &Path, source: io::Error) -> Self {
        let kind = operation.private(path, &source).unwrap_or_else(|| StoreErrorKind::of(&source));
        Self { source: Some(source), ..Self::new(operation, path, kind) }
    }

    /// Converts the error to the error of a commit that could not be undone.
    pub(crate) fn not_restored(self, left: impl IntoIterator<Item = LeftBehind>) -> Self {
        let error = self.leaving(left);
        Self { kind: StoreErrorKind::NotRestored, operation: Operation::Restore, ..error }
    }

    /// Adds paths to [`StoreError::left`]. A path that is already listed keeps its entry, unless the entry is
    /// [`Remains::Gone`]: another file of the call may have got the path since.
    pub(crate) fn leaving(mut self, left: impl IntoIterator<Item = LeftBehind>) -> Self {
        for one in left {
            match self.left.iter_mut().find(|told| told.path == one.path) {
                Some(told) if told.what == Remains::Gone => *told = one,
                Some(_) => {}
                None => self.left.push(one),
            }
        }
        self
    }

    /// Returns the error for a fault, which is an error of the system or a cancellation.
    #[must_use]
    pub fn from_fault(operation: Operation, path: &Path, fault: ReadFault) -> Self {
        match fault {
            ReadFault::Io(source) => Self::from_io(operation, path, source),
            ReadFault::Cancelled => Self::new(operation, path, StoreErrorKind::Cancelled),
        }
    }
}

/// The reasons why a file's bytes were not read or written to the end. A cancellation is not an error of the
/// system: if a signal makes a read fail (`EINTR`, which a file system in user space can return), that is an
/// ordinary [`ReadFault::Io`].
#[derive(Debug, thiserror::Error)]
pub enum ReadFault {
    /// The system, or the file system, failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The caller cancelled the call.
    #[error("the call was cancelled")]
    Cancelled,
}

impl ReadFault {
    /// Returns the kind of the [`StoreError`] that the fault becomes.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        match self {
            Self::Io(error) => StoreErrorKind::of(error),
            Self::Cancelled => StoreErrorKind::Cancelled,
        }
    }
}

impl Operation {
    /// Returns the kind of an error if a privacy setting forbade the operation, otherwise `None`. For
    /// operations that change the metadata or the name of an existing file, always returns `None`: a flag of
    /// the file makes them fail with the same error number.
    fn private(self, path: &Path, error: &io::Error) -> Option<StoreErrorKind> {
        let may_be =
            !matches!(self, Self::KeepMetadata | Self::Replace | Self::Remove | Self::Move | Self::Restore);
        let creates = matches!(self, Self::WriteTemporary | Self::Create | Self::CreateDirectory);
        may_be.then(|| os::privacy_of(path, error, creates)).flatten().map(StoreErrorKind::Private)
    }
}

impl StoreErrorKind {
    /// Returns the kind for an error of the system; never [`StoreErrorKind::Cancelled`].
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        use io::ErrorKind as ChangeKind;
        if os::is_link_loop(error) {
            return Self::LinkLoop;
        }
        if os::lacks_key(error) {
            return Self::NoKey;
        }
        if os::is_not_downloaded(error) {
            return Self::NotDownloaded;
        }
        if os::is_held_open(error) {
            return Self::HeldOpen;
        }
        match error.kind() {
            ChangeKind::NotFound => Self::NotFound,
            ChangeKind::AlreadyExists => Self::AlreadyExists,
            ChangeKind::IsADirectory => Self::IsADirectory,
            ChangeKind::NotADirectory => Self::NotADirectory,
            ChangeKind::PermissionDenied => Self::PermissionDenied,
            ChangeKind::ReadOnlyFilesystem => Self::ReadOnlyFileSystem,
            ChangeKind::InvalidFilename => Self::NameTooLong,
            ChangeKind::StorageFull | ChangeKind::QuotaExceeded => Self::NoSpace,
            ChangeKind::FileTooLarge => Self::FileTooLarge,
            // Another program has a lease on the file (fcntl(2)).
            ChangeKind::WouldBlock => Self::HeldOpen,
            // On a network file system, another machine has replaced or removed the file.
            ChangeKind::StaleNetworkFileHandle => Self::Changed,
            _ => Self::Io,
        }
    }

    /// Tells whether the system refuses to write in this directory, because of permissions or for another
    /// reason of the directory. If so, another directory may work. Controlled Folder Access (Windows) does
    /// not count: it also refuses to overwrite a file in place, and that error gives no reason.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Private(privacy) => *privacy != Privacy::ControlledFolder,
            _ => matches!(self, Self::PermissionDenied | Self::ReadOnlyFileSystem | Self::Guarded { .. }),
        }
    }
}

/// Adds the operation and the path to the error of a result.
pub(crate) trait ErrorContext<T> {
    /// Converts the error to a [`StoreError`].
    fn context(self, operation: Operation, path: &Path) -> Result<T, StoreError>;
}

impl<T> ErrorContext<T> for io::Result<T> {
    fn context(self, operation: Operation, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::from_io(operation, path, source))
    }
}

impl<T> ErrorContext<T> for Result<T, ReadFault> {
    fn context(self, operation: Operation, path: &Path) -> Result<T, StoreError> {
        self.map_err(|fault| StoreError::from_fault(operation, path, fault))
    }
}

/// Returns the paths that differ from before the call as text, for a log.
fn listed(left: &[LeftBehind]) -> String {
    let one = |left: &LeftBehind| format!("; {}: {:?}", left.path.display(), left.what);
    left.iter().map(one).collect()
}

// These texts are for logs, and for programs that embed this crate; the server's replies have their own
// texts.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenRoot => "opening the allowed directory",
            Self::OpenState => "opening the state directory",
            Self::Resolve => "following the path",
            Self::Open => "opening",
            Self::Lock => "locking",
            Self::Read => "reading",
            Self::WriteTemporary => "writing the new content of",
            Self::KeepMetadata => "keeping mode and owner of",
            Self::Sync => "syncing",
            Self::CreateDirectory => "making the directory",
            Self::Create => "creating",
            Self::Replace => "replacing",
            Self::Remove => "removing",
            Self::Move => "moving",
            Self::Restore => "putting back",
            Self::WriteJournal => "writing the journal",
            Self::ReadJournal => "reading the journal",
            Self::Recover => "recovering",
        })
    }
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |f: &mut fmt::Formatter<'_>, paths: &[PathBuf]| {
            paths.iter().try_for_each(|path| write!(f, " {}", path.display()))
        };
        f.write_str(match self {
            Self::NotFound => "there is no such file",
            Self::AlreadyExists => "the name is taken",
            Self::IsADirectory => "it is a directory",
            Self::NotADirectory => "a part of the path is no directory",
            Self::NotARegularFile { .. } => "it is not a regular file",
            Self::PermissionDenied => "permission denied",
            Self::ReadOnlyFileSystem => "the file system is read-only",
            Self::Private(_) => "a privacy setting of the system forbids it",
            Self::Guarded { .. } => "a mark of chattr(1), or chflags(1), forbids it",
            Self::NotDownloaded => "its content is not on this machine",
            Self::NoKey => "it is encrypted, and locked",
            Self::LinkLoop => "there are too many symbolic links on the way",
            Self::NameTooLong => "the path, or a name in it, is too long",
            Self::TooManyMissing { .. } => "too many directories are missing on the way",
            Self::NotUnicode => "the path is not Unicode",
            Self::NoSpace => "the disk, or the quota, is full",
            Self::FileTooLarge => "the file would be too large",
            Self::Busy => "another call has held the lock for too long",
            Self::HeldOpen => "another program holds it open, and keeps others out",
            Self::Cancelled => "the call was cancelled",
            Self::Changed => "it keeps changing",
            Self::OtherDirectory => {
                "the directory of the edit is gone, is another one now, or is reached by a link"
            }
            Self::NotRestored => "the edit failed, and could not be taken back",
            Self::Displaced => "another program's write met the edit",
            Self::Unfinished { paths, .. } => {
                f.write_str("an edit that was cut off has left these files half done:")?;
                return listed(f, paths);
            }
            Self::Io => "the system failed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_signal_interrupted_is_not_cancelled() {
        assert_eq!(StoreErrorKind::of(&io::ErrorKind::Interrupted.into()), StoreErrorKind::Io);
        let fault = ReadFault::from(io::Error::from(io::ErrorKind::Interrupted));
        let error = Err::<(), _>(fault).context(Operation::Read, Path::new("/a")).unwrap_err();
        assert_eq!(
            (error.kind, error.source.map(|source| source.kind())),
            (StoreErrorKind::Io, Some(io::ErrorKind::Interrupted))
        );
        let error = Err::<(), _>(ReadFault::Cancelled).context(Operation::Read, Path::new("/a")).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Cancelled);
    }

    #[test]
    fn each_error_of_the_system_has_the_kind_that_a_client_can_act_on() {
        use io::ErrorKind as System;
        for (of, kind) in [
            (System::NotFound, StoreErrorKind::NotFound),
            (System::AlreadyExists, StoreErrorKind::AlreadyExists),
            (System::IsADirectory, StoreErrorKind::IsADirectory),
            (System::NotADirectory, StoreErrorKind::NotADirectory),
            (System::PermissionDenied, StoreErrorKind::PermissionDenied),
            (System::ReadOnlyFilesystem, StoreErrorKind::ReadOnlyFileSystem),
            (System::InvalidFilename, StoreErrorKind::NameTooLong),
            (System::StorageFull, StoreErrorKind::NoSpace),
            (System::QuotaExceeded, StoreErrorKind::NoSpace),
            (System::FileTooLarge, StoreErrorKind::FileTooLarge),
            (System::WouldBlock, StoreErrorKind::HeldOpen),
            (System::StaleNetworkFileHandle, StoreErrorKind::Changed),
            (System::DirectoryNotEmpty, StoreErrorKind::Io),
        ] {
            assert_eq!(StoreErrorKind::of(&of.into()), kind, "{of:?}");
            assert_eq!(ReadFault::from(io::Error::from(of)).kind(), kind, "{of:?}");
            let error = StoreError::from_io(Operation::Read, Path::new("/a"), of.into());
            assert_eq!((error.kind.clone(), error.source.as_ref().map(io::Error::kind)), (kind, Some(of)));
            let refuses = matches!(of, System::PermissionDenied | System::ReadOnlyFilesystem);
            assert_eq!(error.kind.is_refusal(), refuses, "{of:?}");
            assert_eq!(error.is_leased(), of == System::WouldBlock, "{of:?}");
        }
        // On Windows, a create can fail with `NotFound` in a directory that exists, not only in a missing
        // one.
        let directory = tempfile::tempdir().unwrap();
        let of = |operation, name: &str| {
            StoreError::from_io(operation, &directory.path().join(name), System::NotFound.into()).kind
        };
        let private = StoreErrorKind::Private(Privacy::ControlledFolder);
        assert!(!private.is_refusal());
        let created = if cfg!(windows) { private } else { StoreErrorKind::NotFound };
        assert_eq!(
            [of(Operation::WriteTemporary, "a"), of(Operation::Create, "a")],
            [(); 2].map(|()| created.clone())
        );
        assert_eq!(
            [of(Operation::Open, "a"), of(Operation::Create, "b/a")],
            [(); 2].map(|()| StoreErrorKind::NotFound)
        );
        assert_eq!(ReadFault::Cancelled.kind(), StoreErrorKind::Cancelled);
        #[cfg(target_os = "linux")]
        assert_eq!(StoreErrorKind::of(&rustix::io::Errno::NOKEY.into()), StoreErrorKind::NoKey);
    }

    #[test]
    fn each_operation_and_each_kind_has_words_for_a_log() {
        use Operation::*;
        let operations = [
            OpenRoot,
            OpenState,
            Resolve,
            Open,
            Lock,
            Read,
            WriteTemporary,
            KeepMetadata,
            Sync,
            CreateDirectory,
            Create,
            Replace,
            Remove,
            Move,
            Restore,
            WriteJournal,
            ReadJournal,
            Recover,
        ];
        assert_eq!(
            operations.map(|operation| operation.to_string()).join(", "),
            "opening the allowed directory, opening the state directory, following the path, opening, \
             locking, reading, writing the new content of, keeping mode and owner of, syncing, making the \
             directory, creating, replacing, removing, moving, putting back, writing the journal, reading the \
             journal, recovering"
        );
        let what = SpecialFile::Fifo;
        let by = crate::os::inode_flags::Guard::Immutable;
        let paths = vec![PathBuf::from("a"), PathBuf::from("b")];
        for (kind, words) in [
            (StoreErrorKind::NotFound, "there is no such file"),
            (StoreErrorKind::AlreadyExists, "the name is taken"),
            (StoreErrorKind::IsADirectory, "it is a directory"),
            (StoreErrorKind::NotADirectory, "a part of the path is no directory"),
            (StoreErrorKind::NotARegularFile { what }, "it is not a regular file"),
            (StoreErrorKind::PermissionDenied, "permission denied"),
            (StoreErrorKind::ReadOnlyFileSystem, "the file system is read-only"),
            (StoreErrorKind::Private(Privacy::Desktop), "a privacy setting of the system forbids it"),
            (
                StoreErrorKind::Guarded { by, is_directory: false },
                "a mark of chattr(1), or chflags(1), forbids it",
            ),
            (StoreErrorKind::NotDownloaded, "its content is not on this machine"),
            (StoreErrorKind::NoKey, "it is encrypted, and locked"),
            (StoreErrorKind::LinkLoop, "there are too many symbolic links on the way"),
            (StoreErrorKind::NameTooLong, "the path, or a name in it, is too long"),
            (
                StoreErrorKind::TooManyMissing { missing: 2, most: 1 },
                "too many directories are missing on the way",
            ),
            (StoreErrorKind::NotUnicode, "the path is not Unicode"),
            (StoreErrorKind::NoSpace, "the disk, or the quota, is full"),
            (StoreErrorKind::FileTooLarge, "the file would be too large"),
            (StoreErrorKind::Busy, "another call has held the lock for too long"),
            (StoreErrorKind::HeldOpen, "another program holds it open, and keeps others out"),
            (StoreErrorKind::Cancelled, "the call was cancelled"),
            (StoreErrorKind::Changed, "it keeps changing"),
            (
                StoreErrorKind::OtherDirectory,
                "the directory of the edit is gone, is another one now, or is reached by a link",
            ),
            (StoreErrorKind::NotRestored, "the edit failed, and could not be taken back"),
            (StoreErrorKind::Displaced, "another program's write met the edit"),
            (
                StoreErrorKind::Unfinished { paths, others: 0, is_of_later_form: false },
                "an edit that was cut off has left these files half done: a b",
            ),
            (StoreErrorKind::Io, "the system failed"),
        ] {
            let error = StoreError::new(Open, Path::new("/a"), kind);
            assert_eq!(error.to_string(), format!("opening /a: {words}"));
        }
    }

    #[test]
    fn only_a_file_that_is_held_open_by_a_lease_is_leased() {
        let error = |kind, source: Option<io::ErrorKind>| StoreError {
            source: source.map(io::Error::from),
            ..StoreError::new(Operation::Open, Path::new("/a"), kind)
        };
        assert!(error(StoreErrorKind::HeldOpen, Some(io::ErrorKind::WouldBlock)).is_leased());
        // On Windows, the error comes from the system, not from a lease.
        assert!(!error(StoreErrorKind::HeldOpen, Some(io::ErrorKind::PermissionDenied)).is_leased());
        assert!(!error(StoreErrorKind::HeldOpen, None).is_leased());
        assert!(!error(StoreErrorKind::Io, Some(io::ErrorKind::WouldBlock)).is_leased());
    }

    #[test]
    fn what_is_left_is_told_once_and_the_last_word_on_a_missing_file_counts() {
        let left = |path: &str, what| LeftBehind::new(Path::new(path), what);
        let error = StoreError::new(Operation::Replace, Path::new("/a"), StoreErrorKind::Io);
        let error = error.leaving([left("/a", Remains::Gone), left("/b", Remains::Changed)]);
        let error = error.not_restored([
            left("/a", Remains::Made),
            left("/b", Remains::Made),
            left("/c", Remains::PerhapsMade),
        ]);
        assert_eq!(
            error.left,
            [left("/a", Remains::Made), left("/b", Remains::Changed), left("/c", Remains::PerhapsMade)]
        );
        assert_eq!((&error.kind, error.operation), (&StoreErrorKind::NotRestored, Operation::Restore));
        assert_eq!(
            error.to_string(),
            "putting back /a: the edit failed, and could not be taken back; /a: Made; /b: Changed; \
             /c: PerhapsMade"
        );
    }
}
