//! Formats and parses the contents of a journal record: [`Contents`]. A record describes one transaction,
//! which is the file changes of one call.
//!
//! Defines the interface of journals, wherever they are stored: [`Journal`], and [`JournalOfMachines`] for a
//! journal that several machines share. A record has two interfaces: its owner has a [`Record`], and other
//! processes find a [`FoundRecord`].
//!
//! A record belongs to its owner, the process that began it, as long as the owner runs; each implementation
//! has its own way to find that out. A record whose owner is gone is *abandoned*, and one of the processes
//! that find the record can take it over.
//!
//! Remembers the journal records for which a wait timed out: [`Stuck`].

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcp_text_editor_core::digest::Digest;

use crate::error::StoreError;
use crate::history::Archive;
use crate::os;
use crate::os::identity::FileKey;
use crate::stage::TemporaryId;

/// The beginning of a record.
const HEAD: &str = "mcp-text-editor journal 4\n";

/// The beginning of records of any format version, before the version's number. In every version, the first
/// part has a line for each file, which ends in the file's path. So a program that does not know the version
/// knows the files, and leaves them alone.
const ANY_FORM: &str = "mcp-text-editor journal ";

/// A mapping between the paths of files and their names in a record.
pub trait Naming {
    /// Returns the name of a path; `None` if the path has no name.
    fn name(&self, path: &Path) -> Option<Vec<u8>>;

    /// Returns the path of a name; `None` if no path has this name.
    fn path(&self, name: Vec<u8>) -> Option<PathBuf>;
}

impl dyn Naming + '_ {
    /// Returns the name of a path as one word.
    fn word(&self, path: &Path) -> Option<String> {
        Some(escaped(&self.name(path)?))
    }

    /// Returns the path whose name is this word.
    fn path_of(&self, word: &str) -> Option<PathBuf> {
        self.path(unescaped(word)?)
    }
}

/// The mapping of one machine: the name of a file is its absolute path.
pub(super) struct Here;

impl Naming for Here {
    fn name(&self, path: &Path) -> Option<Vec<u8>> {
        os::bytes_of(path).map(<[u8]>::to_vec)
    }

    fn path(&self, name: Vec<u8>) -> Option<PathBuf> {
        os::path_of(name)
    }
}

/// A file that a transaction may change, as its record names it before anything is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The absolute path, without symbolic links.
    pub path: PathBuf,
    /// The id from which the names of the file's temporary files are derived.
    pub id: TemporaryId,
    /// The intended change.
    pub intent: Intent,
}

/// The intended change of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Intent {
    /// The file gets other content.
    Edit {
        /// The key of the old file.
        key: FileKey,
    },
    /// The file is created, together with these directories, outermost first.
    Create {
        /// Absolute paths.
        directories: Vec<PathBuf>,
    },
    /// The file is removed.
    Remove,
    /// The file is moved to the path of the preceding subject, which has [`Intent::MoveTo`].
    MoveFrom,
    /// The file of the next subject, which has [`Intent::MoveFrom`], gets this subject's path. These
    /// directories are created for it, outermost first.
    MoveTo {
        /// Absolute paths.
        directories: Vec<PathBuf>,
    },
}

/// The step by which a file changes, once its new content is complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// The file exchanges names with its temporary file, which has the new content.
    Exchange(ContentChange),
    /// The file is overwritten in place, once the transaction is committed.
    Overwrite(ContentChange),
    /// A new file: its temporary file gets the final name, which is free by then.
    Publish {
        /// The digest of the temporary file.
        new: Digest,
        /// The key of the temporary file.
        key: FileKey,
    },
    /// The file is renamed to its temporary name, and unlinked once the transaction is committed. Then these
    /// directories are removed if they are empty.
    Remove {
        /// The digest of its content.
        old: Digest,
        /// The file.
        key: FileKey,
        /// Absolute paths, outermost first.
        directories: Vec<PathBuf>,
    },
    /// The file is renamed to its new path, from its own name or from its temporary name. Then these
    /// directories are removed if they are empty.
    Move {
        /// The digest of its content.
        digest: Digest,
        /// The file.
        key: FileKey,
        /// Absolute paths, outermost first.
        directories: Vec<PathBuf>,
    },
    /// Nothing changes.
    Stay,
}

/// A file's content before and after the transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContentChange {
    /// The digest of the old content.
    pub old: Digest,
    /// The digest of the new content.
    pub new: Digest,
    /// The key of the temporary file.
    pub key: FileKey,
}

/// The contents of a journal record.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Contents {
    /// The files.
    pub subjects: Vec<Subject>,
    /// The step of each file; `None` until everything is prepared.
    pub steps: Option<Vec<Step>>,
    /// Whether the transaction is committed.
    pub committed: bool,
    /// The files that the record names, if the record has another format version; otherwise `None`. Nothing
    /// else is known about such a record, and only the version of this program that wrote it can recover it.
    pub of_other_form: Option<Vec<PathBuf>>,
}

impl Contents {
    /// Parses the parts that are complete.
    #[must_use]
    pub fn read(bytes: &[u8], naming: &dyn Naming) -> Self {
        let mut contents = Self::default();
        let text = std::str::from_utf8(bytes).unwrap_or_else(|error| {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        });
        let Some(mut rest) = text.strip_prefix(HEAD) else {
            contents.of_other_form = files_of_other_form(text, naming);
            return contents;
        };
        let mut read = || -> Option<()> {
            let lines = part(text, &mut rest)?;
            let mut subjects: Vec<Subject> = Vec::new();
            for line in lines {
                match line.strip_prefix("made ") {
                    Some(directory) => match &mut subjects.last_mut()?.intent {
                        Intent::Create { directories } | Intent::MoveTo { directories } => {
                            directories.push(naming.path_of(directory)?);
                        }
                        _ => return None,
                    },
                    None => subjects.push(Subject::read(line, naming)?),
                }
            }
            contents.subjects = subjects;
            let steps = part(text, &mut rest)?.map(|line| Step::read(line, naming));
            let steps = steps.collect::<Option<Vec<Step>>>()?;
            contents.steps = (steps.len() == contents.subjects.len()).then_some(steps);
            contents.steps.as_ref()?;
            contents.committed = part(text, &mut rest)?.eq(["committed"]);
            Some(())
        };
        // An incomplete part can be ignored: no step that depends on it was begun.
        let _ = read();
        contents
    }

    /// Returns the paths of the files in the record.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let other = self.of_other_form.iter().flatten().map(PathBuf::as_path);
        self.subjects.iter().map(|subject| subject.path.as_path()).chain(other)
    }

    /// Tells whether the record concerns a file. The file is given by its path and by its key, since the
    /// record may name the same file by another path. The key counts only as long as recovery may have to
    /// change the file.
    #[must_use]
    pub fn concerns(&self, path: &Path, key: Option<FileKey>) -> bool {
        if self.paths().any(|named| named == path) {
            return true;
        }
        let steps = self.steps.iter().flatten();
        let is = |recorded: &FileKey| key.is_some_and(|key| recorded.matches(&key));
        self.subjects.iter().zip(steps).any(|(subject, step)| match (&subject.intent, step) {
            (Intent::Edit { key: old }, Step::Exchange(change)) => {
                !self.committed && (is(old) || is(&change.key))
            }
            (Intent::Edit { key: old }, Step::Overwrite(_)) => is(old),
            _ => false,
        })
    }
}

/// Returns the first part of a record, with its `end` line; `None` if a path has no name.
#[must_use]
pub fn first_part(subjects: &[Subject], naming: &dyn Naming) -> Option<String> {
    let mut text = HEAD.to_owned();
    for subject in subjects {
        subject.write_to(&mut text, naming)?;
    }
    end_part(&mut text);
    Some(text)
}

/// Returns this text with the second part added; `None` if a path has no name.
#[must_use]
pub fn with_steps(mut text: String, steps: &[Step], naming: &dyn Naming) -> Option<String> {
    for step in steps {
        step.write_to(&mut text, naming)?;
    }
    end_part(&mut text);
    Some(text)
}

/// Ends a part with the digest of all text before it.
pub(super) fn end_part(text: &mut String) {
    let end = Digest::of(text.as_bytes()).short();
    text.push_str("end ");
    text.push_str(&end);
    text.push('\n');
}

/// Returns the files that a record of an unknown format version names; `None` if the text is not a record.
fn files_of_other_form(text: &str, naming: &dyn Naming) -> Option<Vec<PathBuf>> {
    let (number, mut rest) = text.strip_prefix(ANY_FORM)?.split_once('\n')?;
    number.parse::<u64>().ok()?;
    let lines = part(text, &mut rest).into_iter().flatten();
    Some(lines.filter_map(|line| naming.path_of(line.rsplit(' ').next()?)).collect())
}

/// Returns the lines of the next part of `text`, if the part is complete.
fn part<'a>(text: &'a str, rest: &mut &'a str) -> Option<std::str::Lines<'a>> {
    let whole = *rest;
    let at = if whole.starts_with("end ") { 0 } else { whole.find("\nend ")? + 1 };
    let (lines, end) = whole.split_at_checked(at)?;
    let (end, after) = end.split_once('\n')?;
    let before = text.len() - whole.len() + at;
    let expected = Digest::of(text.as_bytes().get(..before)?).short();
    if end.strip_prefix("end ")? != expected {
        return None;
    }
    *rest = after;
    Some(lines.lines())
}

impl Subject {
    fn write_to(&self, text: &mut String, naming: &dyn Naming) -> Option<()> {
        let path = naming.word(&self.path)?;
        // Writing to a string cannot fail.
        let _ = match &self.intent {
            Intent::Edit { key } => writeln!(text, "edit {} {} {path}", self.id, Key(key)),
            Intent::Remove => writeln!(text, "remove {} {path}", self.id),
            Intent::MoveFrom => writeln!(text, "move {} {path}", self.id),
            Intent::Create { directories } | Intent::MoveTo { directories } => {
                let kind = if matches!(self.intent, Intent::Create { .. }) { "create" } else { "to" };
                let _ = writeln!(text, "{kind} {} {path}", self.id);
                for directory in directories {
                    let _ = writeln!(text, "made {}", naming.word(directory)?);
                }
                Ok(())
            }
        };
        Some(())
    }

    fn read(line: &str, naming: &dyn Naming) -> Option<Self> {
        let mut words = line.split(' ');
        let (kind, id) = (words.next()?, TemporaryId::parse(words.next()?)?);
        let intent = match kind {
            "edit" => Intent::Edit { key: key(&mut words)? },
            "remove" => Intent::Remove,
            "move" => Intent::MoveFrom,
            "to" => Intent::MoveTo { directories: Vec::new() },
            "create" => Intent::Create { directories: Vec::new() },
            _ => return None,
        };
        Some(Self { path: naming.path_of(words.next()?)?, id, intent })
    }
}

impl Step {
    fn write_to(&self, text: &mut String, naming: &dyn Naming) -> Option<()> {
        let mut change = |kind, ContentChange { old, new, key }: &ContentChange| {
            writeln!(text, "{kind} {old} {new} {}", Key(key))
        };
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Exchange(what) => change("exchange", what),
            Self::Overwrite(what) => change("overwrite", what),
            Self::Publish { new, key } => writeln!(text, "publish {new} {}", Key(key)),
            Self::Remove { old, key, directories } => {
                let _ = write!(text, "remove {old} {}", Key(key));
                write_paths(text, directories, naming)?
            }
            Self::Move { digest, key, directories } => {
                let _ = write!(text, "rename {digest} {}", Key(key));
                write_paths(text, directories, naming)?
            }
            Self::Stay => writeln!(text, "stay"),
        };
        Some(())
    }

    fn read(line: &str, naming: &dyn Naming) -> Option<Self> {
        let mut words = line.split(' ');
        let kind = words.next()?;
        if kind == "stay" {
            return Some(Self::Stay);
        }
        let first = digest(words.next()?)?;
        Some(match kind {
            "exchange" | "overwrite" => {
                let new = digest(words.next()?)?;
                let change = ContentChange { old: first, new, key: key(&mut words)? };
                if kind == "exchange" { Self::Exchange(change) } else { Self::Overwrite(change) }
            }
            "publish" => Self::Publish { new: first, key: key(&mut words)? },
            "rename" | "remove" => {
                let key = key(&mut words)?;
                let directories = words.map(|word| naming.path_of(word)).collect::<Option<_>>()?;
                if kind == "rename" {
                    Self::Move { digest: first, key, directories }
                } else {
                    Self::Remove { old: first, key, directories }
                }
            }
            _ => return None,
        })
    }
}

fn write_paths(text: &mut String, paths: &[PathBuf], naming: &dyn Naming) -> Option<std::fmt::Result> {
    for path in paths {
        let _ = write!(text, " {}", naming.word(path)?);
    }
    Some(writeln!(text))
}

/// Formats a file's key as two words: the inode, and the time of creation or, if it is unknown, `-`.
struct Key<'a>(&'a FileKey);

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.born {
            Some(born) => write!(f, "{} {born}", self.0.inode),
            None => write!(f, "{} -", self.0.inode),
        }
    }
}

fn key<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<FileKey> {
    let inode = words.next()?.parse().ok()?;
    let born = words.next()?;
    Some(FileKey { inode, born: if born == "-" { None } else { Some(born.parse().ok()?) } })
}

fn digest(word: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    if word.len() != 64 {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(word.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(Digest::from_bytes(bytes))
}

/// Writes bytes as one word: `%`, the space, and each byte that is not printable ASCII become `%` and two
/// hexadecimal digits.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        if byte.is_ascii_graphic() && *byte != b'%' {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

/// Returns the bytes that a word of [`escaped`] stands for.
fn unescaped(word: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

/// The place where transactions record their changes before they make them.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Records which files are to be changed. Must be called before the first temporary file is created. The
    /// error is [`StoreErrorKind::Changed`] if another record already names one of the files; only a shared
    /// journal checks that.
    ///
    /// [`StoreErrorKind::Changed`]: crate::error::StoreErrorKind::Changed
    fn begin(&self, subjects: &[Subject]) -> Result<Box<dyn Record>, StoreError>;

    /// Returns all records in arbitrary order, except records whose creation is not complete.
    fn all(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;
}

/// A journal that processes of other machines use, too. If a record's owner is disconnected from the journal,
/// another process can take the record over while the owner still runs.
pub trait JournalOfMachines: Journal {
    /// Tells whether edits that cannot be recorded in this journal are refused.
    fn is_needed(&self) -> bool;

    /// Fails if the journal is known to be unwritable right now; the error is the reason. Never waits.
    fn check(&self) -> Result<(), String>;

    /// Returns the abandoned records whose files may be partly changed. Returns at once if the journal is
    /// known to be unreachable.
    fn abandoned(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;

    /// Returns the records that name one of these files; if `files` is `None`, all records. Returns at once
    /// if the journal is known to be unreachable.
    fn naming(&self, files: Option<&[&Path]>) -> Result<Vec<Box<dyn FoundRecord>>, StoreError>;

    /// Returns the history of the edits of all machines.
    fn archive(&self) -> Box<dyn Archive>;

    /// Returns the maximum time for which this machine may still see the old state of a file that another
    /// machine has changed; `None` if that is unknown, or too long to wait for.
    fn cache_lifetime(&self, path: &Path) -> Option<Duration>;

    /// Sets the roots. If a file has several paths, because its file system is mounted twice, the journal
    /// uses the path in one of the roots.
    fn prefer(&self, roots: &[PathBuf]);

    /// Returns the network ports to which the journal connects.
    fn ports(&self) -> Vec<u16>;
}

/// The record of a transaction, for its owner. Dropping this value removes the record, so it must be dropped
/// only once the transaction's temporary files are gone and all files are in their old state.
#[must_use = "dropping it says that nothing is left to be done"]
pub trait Record: fmt::Debug + Send {
    /// Records the step of each file, in the order in which [`Journal::begin`] got the files. With `sync`,
    /// the steps survive a power cut once this function has returned.
    fn prepared(&mut self, steps: &[Step], sync: bool) -> Result<(), StoreError>;

    /// Marks the transaction as committed: from now on, recovery completes it. After an error, the
    /// transaction is not committed, unless [`Record::is_in_doubt`] returns `true`.
    fn committed(&mut self, sync: bool) -> Result<(), StoreError>;

    /// Checks that the record still belongs to its owner. Must be called before each step that uses no
    /// temporary file. The other steps need no check: a process that takes over a shared record renames the
    /// temporary files first, which makes those steps fail.
    fn prove(&mut self) -> Result<(), StoreError>;

    /// Tells whether the record may say *committed* although [`Record::committed`] failed. If so, recovery
    /// completes the transaction if it reads *committed*, and otherwise rolls it back.
    fn is_in_doubt(&self) -> bool;

    /// Removes *committed* from the record, because all files are to get their old state back.
    fn take_back(&mut self, sync: bool) -> Result<(), StoreError>;

    /// Leaves the record in the journal, for recovery.
    fn keep(self: Box<Self>);

    /// Removes the record at the end of the transaction. If that fails, recovery finds the record and has
    /// nothing left to do.
    fn remove(self: Box<Self>, sync: bool);
}

/// A record that another process may own.
pub trait FoundRecord: fmt::Debug {
    /// Returns the record's path, for messages. Each record has a unique path.
    fn path(&self) -> &Path;

    /// Returns the record's contents. They are empty if even the first part is incomplete. In that case, no
    /// file was changed.
    fn contents(&self) -> &Contents;

    /// Tells whether the record's owner is gone and no other process is recovering it.
    fn is_abandoned(&self) -> bool;

    /// Tells whether the record still exists, as far as is known now.
    fn is_there(&self) -> bool;

    /// Returns how often the record was taken over; always 0 in the journal of one machine. Recovery first
    /// renames all temporary files of the record so that their names contain this number.
    fn epoch(&self) -> u32;

    /// Takes an abandoned record over: nobody else recovers it as long as this value exists. Returns whether
    /// that succeeded.
    fn take_over(&mut self) -> Result<bool, StoreError>;

    /// Checks that the record still belongs to this process, which took it over. Like [`Record::prove`], must
    /// be called before each step of recovery that uses no temporary file.
    fn prove(&self) -> Result<(), StoreError>;

    /// Removes the record once it is recovered. Returns whether it is gone.
    fn remove(self: Box<Self>, sync: bool) -> bool;
}

/// The time during which calls do not wait for the same record again.
const FOR: Duration = Duration::from_secs(5);

/// The journal records for which a wait recently timed out, by path. A call usually reads its files one after
/// another. Without this memory, each of these reads would wait until its own timeout.
#[derive(Default, Debug)]
pub(crate) struct Stuck(Mutex<BTreeMap<PathBuf, Instant>>);

impl Stuck {
    fn known(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Instant>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, since| since.elapsed() < FOR);
        known
    }

    pub(crate) fn add(&self, record: &Path) {
        self.known().insert(record.to_owned(), Instant::now());
    }

    pub(crate) fn has(&self, record: &Path) -> bool {
        self.known().contains_key(record)
    }
}
