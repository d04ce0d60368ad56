//! The contents of a record and their format: [`Contents`]. The record itself is in `record.rs`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;

use crate::os;
use crate::stage::temporary::TemporaryId;

/// The beginning of a record.
const HEAD: &str = "mcp-text-editor journal 3\n";

/// The forms of earlier versions, which are read as well: the first is of files that are edited, created or
/// removed, the second of a file that is moved.
const EARLIER: [&str; 2] = ["mcp-text-editor journal 1\n", "mcp-text-editor journal 2\n"];

/// The beginning of records of any form, before the number. In every form, the first part has a line for each
/// file, and the line ends in the file's path. So programs that do not know the form can leave these files
/// alone.
const ANY_FORM: &str = "mcp-text-editor journal ";

/// A way to write the name of a file in a record: one word for each path.
pub(super) trait Naming {
    /// Returns the word for a path; `None` if it has none.
    fn word(&self, path: &Path) -> Option<String>;

    /// Returns the path of a word.
    fn path(&self, word: &str) -> Option<PathBuf>;
}

/// Absolute paths, as one machine has them.
pub(super) struct Here;

impl Naming for Here {
    fn word(&self, path: &Path) -> Option<String> {
        escaped(path)
    }

    fn path(&self, word: &str) -> Option<PathBuf> {
        os::path_of(unescaped(word)?)
    }
}

/// A file that a transaction may change, as its record names it before anything is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Subject {
    /// The absolute path, without links.
    pub(crate) path: PathBuf,
    /// The id from which its temporaries have their names.
    pub(crate) id: TemporaryId,
    /// The intent.
    pub(crate) intent: Intent,
}

/// The intent for a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Intent {
    /// Other content.
    Edit {
        /// Device and inode before.
        key: (u64, u64),
    },
    /// It is created, and so are these directories, outermost first.
    Create {
        /// Absolute paths.
        directories: Vec<PathBuf>,
    },
    /// It is removed.
    Remove,
    /// It is moved to the place of the [`Intent::MoveTo`] before it.
    MoveFrom,
    /// The file of the [`Intent::MoveFrom`] after it gets this place, for which these directories are made,
    /// outermost first.
    MoveTo {
        /// Absolute paths.
        directories: Vec<PathBuf>,
    },
}

/// The step by which a file changes, once its new content is complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// It changes names with its temporary.
    Exchange(ContentChange),
    /// It is written over, once the transaction is committed.
    Overwrite(ContentChange),
    /// Its temporary, which has this digest, gets the name, which is free by then.
    Publish(Digest),
    /// It is renamed to its temporary's name, and unlinked once the transaction is committed. Then those of
    /// these directories that are empty are removed.
    Remove {
        /// The digest of its content.
        old: Digest,
        /// Absolute paths, outermost first.
        directories: Vec<PathBuf>,
    },
    /// It gets its new place, from its own name or from its temporary's. Then those of these directories that
    /// are empty are removed.
    Move {
        /// The digest of its content.
        digest: Digest,
        /// Its device and inode; earlier versions did not write them down.
        key: Option<(u64, u64)>,
        /// Absolute paths, outermost first.
        directories: Vec<PathBuf>,
    },
    /// Nothing.
    Stay,
}

/// A file's content before and after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ContentChange {
    /// Before.
    pub(crate) old: Digest,
    /// After.
    pub(crate) new: Digest,
    /// Device and inode of the temporary.
    pub(crate) key: (u64, u64),
}

/// The contents of a record.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Contents {
    /// The files.
    pub(crate) subjects: Vec<Subject>,
    /// The step of each, if everything is prepared.
    pub(crate) steps: Option<Vec<Step>>,
    /// True if the transaction is committed.
    pub(crate) committed: bool,
    /// The files that a record in a later form names: nothing else is known of it, and only the program that
    /// wrote it can recover it.
    pub(crate) of_later_form: Option<Vec<PathBuf>>,
}

impl Contents {
    /// Reads as many parts as are whole.
    pub(super) fn read(bytes: &[u8], naming: &dyn Naming) -> Self {
        let mut contents = Self::default();
        let text = std::str::from_utf8(bytes).unwrap_or_else(|error| {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        });
        let known = [HEAD].into_iter().chain(EARLIER).find_map(|head| text.strip_prefix(head));
        let Some(mut rest) = known else {
            contents.of_later_form = files_of_later_form(text, naming);
            return contents;
        };
        let mut read = || -> Option<()> {
            let lines = part(text, &mut rest)?;
            let mut subjects: Vec<Subject> = Vec::new();
            for line in lines {
                match line.strip_prefix("made ") {
                    Some(directory) => match &mut subjects.last_mut()?.intent {
                        Intent::Create { directories } | Intent::MoveTo { directories } => {
                            directories.push(naming.path(directory)?);
                        }
                        _ => return None,
                    },
                    None => subjects.push(Subject::read(line, naming)?),
                }
            }
            contents.subjects = subjects;
            let mut steps = Vec::new();
            for line in part(text, &mut rest)? {
                let (of_target, step) = Step::read(line, naming)?;
                if let Some(step) = of_target {
                    *steps.last_mut()? = step;
                }
                steps.push(step);
            }
            contents.steps = (steps.len() == contents.subjects.len()).then_some(steps);
            contents.steps.as_ref()?;
            contents.committed = part(text, &mut rest)?.eq(["committed"]);
            Some(())
        };
        // A part that is not whole was never relied on.
        let _ = read();
        contents
    }

    /// Returns the files that it names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let later = self.of_later_form.iter().flatten().map(PathBuf::as_path);
        self.subjects.iter().map(|subject| subject.path.as_path()).chain(later)
    }

    /// Tells whether it concerns a file. The file is given by its path, and by device and inode, since it can
    /// have other paths. Inodes count only while the file may have to change again: afterwards a new file can
    /// have the number of an old one.
    pub(crate) fn concerns(&self, path: &Path, key: Option<(u64, u64)>) -> bool {
        if self.paths().any(|named| named == path) {
            return true;
        }
        let steps = self.steps.iter().flatten();
        let is = |recorded| key.is_some_and(|key| same_key(recorded, key));
        self.subjects.iter().zip(steps).any(|(subject, step)| match (&subject.intent, step) {
            (Intent::Edit { key: old }, Step::Exchange(change)) => {
                !self.committed && (is(*old) || is(change.key))
            }
            (Intent::Edit { key: old }, Step::Overwrite(_)) => is(*old),
            _ => false,
        })
    }
}

/// The device in a key of a record that other machines read. Devices have other numbers there, so inodes
/// alone are compared.
const ANY_DEVICE: u64 = 0;

/// Tells whether a key of a record can be that of a file.
pub(crate) fn same_key(recorded: (u64, u64), key: (u64, u64)) -> bool {
    recorded.1 == key.1 && (recorded.0 == key.0 || recorded.0 == ANY_DEVICE)
}

/// Returns the first part of a record, with its end; `None` if a path cannot be written down.
pub(super) fn first_part(subjects: &[Subject], naming: &dyn Naming) -> Option<String> {
    let mut text = HEAD.to_owned();
    for subject in subjects {
        subject.write_to(&mut text, naming)?;
    }
    end_part(&mut text);
    Some(text)
}

/// Returns this text with the second part added.
pub(super) fn with_steps(mut text: String, steps: &[Step], naming: &dyn Naming) -> Option<String> {
    for step in steps {
        step.write_to(&mut text, naming)?;
    }
    end_part(&mut text);
    Some(text)
}

/// Ends a part with the digest of all that stands before.
pub(super) fn end_part(text: &mut String) {
    let end = Digest::of(text.as_bytes()).short();
    text.push_str("end ");
    text.push_str(&end);
    text.push('\n');
}

/// Returns the files that a record of an unknown form names; `None` if the text is no record.
fn files_of_later_form(text: &str, naming: &dyn Naming) -> Option<Vec<PathBuf>> {
    let (number, mut rest) = text.strip_prefix(ANY_FORM)?.split_once('\n')?;
    number.parse::<u64>().ok()?;
    let lines = part(text, &mut rest).into_iter().flatten();
    Some(lines.filter_map(|line| naming.path(line.rsplit(' ').next()?)).collect())
}

/// Returns the lines of the next part of `text`, if it is whole.
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
    /// Returns the same, as other machines read it.
    #[cfg(feature = "postgres")]
    pub(super) fn of_any_device(&self) -> Self {
        let intent = match &self.intent {
            Intent::Edit { key: (_, inode) } => Intent::Edit { key: (ANY_DEVICE, *inode) },
            other => other.clone(),
        };
        Self { intent, ..self.clone() }
    }

    fn write_to(&self, text: &mut String, naming: &dyn Naming) -> Option<()> {
        let path = naming.word(&self.path)?;
        // Writing to a string cannot fail.
        let _ = match &self.intent {
            Intent::Edit { key: (device, inode) } => {
                writeln!(text, "edit {} {device} {inode} {path}", self.id)
            }
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
        Some(Self { path: naming.path(words.next()?)?, id, intent })
    }
}

impl Step {
    /// Returns the same, as other machines read it.
    #[cfg(feature = "postgres")]
    pub(super) fn of_any_device(&self) -> Self {
        let any =
            |change: &ContentChange| ContentChange { key: (ANY_DEVICE, change.key.1), ..change.clone() };
        match self {
            Self::Exchange(change) => Self::Exchange(any(change)),
            Self::Overwrite(change) => Self::Overwrite(any(change)),
            Self::Move { digest, key, directories } => {
                let key = key.map(|(_, inode)| (ANY_DEVICE, inode));
                Self::Move { digest: *digest, key, directories: directories.clone() }
            }
            other => other.clone(),
        }
    }

    fn write_to(&self, text: &mut String, naming: &dyn Naming) -> Option<()> {
        let mut change = |kind, change: &ContentChange| {
            let ContentChange { old, new, key: (device, inode) } = change;
            writeln!(text, "{kind} {old} {new} {device} {inode}")
        };
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Exchange(what) => change("exchange", what),
            Self::Overwrite(what) => change("overwrite", what),
            Self::Publish(digest) => writeln!(text, "publish {digest}"),
            Self::Remove { old, directories } => {
                let _ = write!(text, "remove {old}");
                write_paths(text, directories, naming)?
            }
            Self::Move { digest, key, directories } => {
                let (device, inode) = (*key)?;
                let _ = write!(text, "rename {digest} {device} {inode}");
                write_paths(text, directories, naming)?
            }
            Self::Stay => writeln!(text, "stay"),
        };
        Some(())
    }

    /// Reads a step. A move of an earlier version could give the file both names for a moment. Of such a
    /// move, this also returns the step of the target, which replaces the step before.
    fn read(line: &str, naming: &dyn Naming) -> Option<(Option<Self>, Self)> {
        let mut words = line.split(' ');
        let kind = words.next()?;
        let mut digest = || digest(words.next()?);
        let step = match kind {
            "exchange" | "overwrite" => {
                let (old, new) = (digest()?, digest()?);
                let change = ContentChange { old, new, key: key(&mut words)? };
                if kind == "exchange" { Self::Exchange(change) } else { Self::Overwrite(change) }
            }
            "publish" => Self::Publish(digest()?),
            "rename" | "move" => {
                let digest = digest()?;
                let key = if kind == "rename" { Some(key(&mut words)?) } else { None };
                Self::Move {
                    digest,
                    key,
                    directories: words.map(|word| naming.path(word)).collect::<Option<_>>()?,
                }
            }
            "remove" | "twice" => {
                let old = digest()?;
                let copy = (kind == "twice").then_some(Self::Publish(old));
                return Some((
                    copy,
                    Self::Remove {
                        old,
                        directories: words.map(|word| naming.path(word)).collect::<Option<_>>()?,
                    },
                ));
            }
            "stay" => Self::Stay,
            _ => return None,
        };
        Some((None, step))
    }
}

fn write_paths(text: &mut String, paths: &[PathBuf], naming: &dyn Naming) -> Option<std::fmt::Result> {
    for path in paths {
        let _ = write!(text, " {}", naming.word(path)?);
    }
    Some(writeln!(text))
}

/// Returns device and inode.
fn key<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<(u64, u64)> {
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
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

/// Returns a path as one word.
pub(crate) fn escaped(path: &Path) -> Option<String> {
    Some(escaped_bytes(os::bytes_of(path)?))
}

/// Writes bytes as one word: `%`, and each byte that is no printable ASCII, becomes `%` and two digits.
pub(super) fn escaped_bytes(bytes: &[u8]) -> String {
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

/// Returns the bytes of a word.
pub(super) fn unescaped(word: &str) -> Option<Vec<u8>> {
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
