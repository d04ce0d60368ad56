//! Writes the journal record of a running transaction, which is a file: [`FileRecord`].
//!
//! Implements [`Journal`] with the state directory.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::OpenOptions;

use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind};
use crate::journal::contents::{
    FoundRecord, Here, Journal, Record, Step, Subject, end_part, first_part, with_steps,
};
use crate::journal::embedded::found::FoundFile;
use crate::os;
use crate::os::directory::Dir;
use crate::os::identity::Identity;
use crate::stage::{TemporaryId, unlink_if};
use crate::state_dir::{JOURNAL, StateDir};

/// The locked journal record of a transaction. Dropping this value removes the record, so it must be dropped
/// only once the transaction's temporary files are gone and all files are in their old state.
#[derive(Debug)]
pub(super) struct FileRecord {
    directory: Arc<Dir>,
    name: OsString,
    path: PathBuf,
    file: File,
    identity: Identity,
    text: String,
    subjects: usize,
    is_in_doubt: bool,
    is_kept: bool,
}

impl FileRecord {
    /// Records which files are to be changed. Must be called before the first temporary file is created.
    pub(super) fn begin(state: &StateDir, subjects: &[Subject]) -> Result<Self, StoreError> {
        let mut record = loop {
            let name = OsString::from(TemporaryId::draw().to_string());
            let path = state.path().join(JOURNAL).join(&name);
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true).follow(FollowSymlinks::No);
            os::creation_mode(&mut options, 0o600);
            let file = match state.journal().open_with(&name, &options) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened.context(Operation::WriteJournal, &path)?.into_std(),
            };
            let identity = os::identity_of(&file).context(Operation::WriteJournal, &path)?;
            let directory = state.journal().clone();
            let (text, subjects) = (String::new(), subjects.len());
            let (is_in_doubt, is_kept) = (false, false);
            let record = Self { directory, name, path, file, identity, text, subjects, is_in_doubt, is_kept };
            match os::try_lock(&record.file) {
                Ok(()) => {}
                Err(TryLockError::Error(error)) if os::has_no_locks(&error) => {}
                // Another process found the record before this process had locked it, and is removing it.
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => {
                    return Err(StoreError::from_io(Operation::WriteJournal, &record.path, error));
                }
            }
            if record.is_linked() {
                break record;
            }
        };
        record.text = first_part(subjects, &Here).ok_or_else(|| record.fail(StoreErrorKind::Io))?;
        record.write_from(0, false)?;
        Ok(record)
    }

    fn is_linked(&self) -> bool {
        os::identity_at(&self.directory, Path::new(&self.name)).is_ok_and(|now| now.same_file(&self.identity))
    }

    fn fail(&self, kind: StoreErrorKind) -> StoreError {
        StoreError::new(Operation::WriteJournal, &self.path, kind)
    }

    fn shorten(&mut self, to: usize, sync: bool) -> Result<(), StoreError> {
        self.text.truncate(to);
        self.file.set_len(to as u64).context(Operation::WriteJournal, &self.path)?;
        self.sync(sync)
    }

    /// Writes the text from this offset on to the file.
    fn write_from(&mut self, from: usize, sync: bool) -> Result<(), StoreError> {
        let part = self.text.as_bytes().get(from..).unwrap_or_default();
        let written = self.file.seek(SeekFrom::Start(from as u64)).and_then(|_| self.file.write_all(part));
        written.context(Operation::WriteJournal, &self.path)?;
        self.sync(sync)
    }

    fn sync(&self, sync: bool) -> Result<(), StoreError> {
        if sync { os::sync_data(&self.file).context(Operation::WriteJournal, &self.path) } else { Ok(()) }
    }

    fn unlink(&mut self) {
        if !std::mem::replace(&mut self.is_kept, true) {
            unlink_if(&self.directory, Path::new(&self.name), &self.identity);
        }
    }
}

impl Record for FileRecord {
    fn prepared(&mut self, steps: &[Step], sync: bool) -> Result<(), StoreError> {
        let from = self.text.len();
        if steps.len() != self.subjects {
            // Recovery could not read such a record.
            return Err(self.fail(StoreErrorKind::Io));
        }
        let whole = with_steps(std::mem::take(&mut self.text), steps, &Here);
        self.text = whole.ok_or_else(|| self.fail(StoreErrorKind::Io))?;
        self.write_from(from, sync)?;
        if sync {
            // The record's name must be on disk, too.
            os::sync_directory(&self.directory).context(Operation::WriteJournal, &self.path)?;
        }
        Ok(())
    }

    fn committed(&mut self, sync: bool) -> Result<(), StoreError> {
        let from = self.text.len();
        self.text.push_str("committed\n");
        end_part(&mut self.text);
        let written = self.write_from(from, sync);
        if written.is_err() {
            // The word *committed* may be in the file although the write failed, and recovery may then read
            // it.
            self.is_in_doubt = self.shorten(from, sync).is_err();
        }
        written
    }

    fn prove(&mut self) -> Result<(), StoreError> {
        // The record belongs to this process as long as this process runs, because this process holds the
        // lock.
        Ok(())
    }

    fn is_in_doubt(&self) -> bool {
        self.is_in_doubt
    }

    fn take_back(&mut self, sync: bool) -> Result<(), StoreError> {
        let from = self.text.find("\ncommitted\n").map_or(self.text.len(), |at| at + 1);
        self.shorten(from, sync)
    }

    fn keep(mut self: Box<Self>) {
        self.is_kept = true;
    }

    fn remove(mut self: Box<Self>, sync: bool) {
        self.unlink();
        if sync {
            os::sync_directory(&self.directory).ok();
        }
    }
}

impl Drop for FileRecord {
    fn drop(&mut self) {
        self.unlink();
    }
}

impl Journal for StateDir {
    fn begin(&self, subjects: &[Subject]) -> Result<Box<dyn Record>, StoreError> {
        Ok(Box::new(FileRecord::begin(self, subjects)?))
    }

    fn all(&self) -> Result<Vec<Box<dyn FoundRecord>>, StoreError> {
        let records = FoundFile::all(self)?;
        Ok(records.into_iter().map(|record| Box::new(record) as Box<dyn FoundRecord>).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::num::NonZeroI64;

    use mcp_text_editor_core::digest::Digest;

    use super::*;
    use crate::journal::contents::{ContentChange, Contents, Intent};
    use crate::journal::embedded::found::FoundFile;
    use crate::os::identity::FileKey;

    const OLD: FileKey = FileKey { inode: 2, born: NonZeroI64::new(3) };
    const KEY: FileKey = FileKey { inode: 6, born: NonZeroI64::new(-5) };
    const WRITTEN_OVER: FileKey = FileKey { inode: u64::MAX, born: None };

    fn contents() -> Contents {
        let subject = |path: &str, intent| Subject { path: path.into(), id: TemporaryId::draw(), intent };
        let change = || ContentChange { old: Digest::of(b"old"), new: Digest::of(b"new"), key: KEY };
        Contents {
            subjects: vec![
                subject("/a b%\n\u{e9}", Intent::Edit { key: OLD }),
                subject("/c", Intent::Create { directories: vec!["/x".into(), "/x/y z".into()] }),
                subject("/d", Intent::Edit { key: WRITTEN_OVER }),
                subject("/e", Intent::Remove),
                subject("/to", Intent::MoveTo { directories: vec!["/x".into(), "/x/y z".into()] }),
                subject("/from %", Intent::MoveFrom),
                subject("/new", Intent::Create { directories: Vec::new() }),
            ],
            steps: Some(vec![
                Step::Exchange(change()),
                Step::Stay,
                Step::Overwrite(change()),
                Step::Remove {
                    old: Digest::of(b""),
                    key: KEY,
                    directories: vec!["/x".into(), "/x/y z".into()],
                },
                Step::Stay,
                Step::Move { digest: Digest::of(b"old"), key: KEY, directories: vec!["/was".into()] },
                Step::Publish { new: Digest::of(b"new"), key: KEY },
            ]),
            committed: true,
            of_other_form: None,
        }
    }

    /// Returns the text of the record, and its length at the end of each part.
    fn written(contents: &Contents) -> (String, Vec<usize>) {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::open(directory.path()).unwrap();
        let mut record = FileRecord::begin(&state, &contents.subjects).unwrap();
        let mut lengths = vec![record.text.len()];
        record.prepared(contents.steps.as_ref().unwrap(), true).unwrap();
        lengths.push(record.text.len());
        record.committed(true).unwrap();
        lengths.push(record.text.len());
        let mut text = String::new();
        record.file.seek(SeekFrom::Start(0)).unwrap();
        record.file.read_to_string(&mut text).unwrap();
        record.take_back(true).unwrap();
        assert_eq!(record.text.len(), lengths[1]);
        (text, lengths)
    }

    #[test]
    fn however_much_of_a_record_is_there_its_whole_parts_are_read() {
        let all = contents();
        let (text, lengths) = written(&all);
        for length in 0..=text.len() {
            let expected = match lengths.iter().filter(|end| **end <= length).count() {
                0 => Contents::default(),
                1 => Contents { steps: None, committed: false, ..all.clone() },
                2 => Contents { committed: false, ..all.clone() },
                _ => all.clone(),
            };
            let mut bytes = text.as_bytes()[..length].to_vec();
            assert_eq!(Contents::read(&bytes, &Here), expected, "{length}");
            // The bytes that follow need not be text.
            bytes.push(0xff);
            assert_eq!(Contents::read(&bytes, &Here), expected, "{length}");
        }
    }

    #[test]
    fn a_record_has_a_step_for_each_of_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::open(directory.path()).unwrap();
        let all = contents();
        let mut record = FileRecord::begin(&state, &all.subjects).unwrap();
        let begun = record.text.clone();
        let error = record.prepared(&all.steps.unwrap()[1..], true).unwrap_err();
        assert_eq!((error.operation, error.kind), (Operation::WriteJournal, StoreErrorKind::Io));
        assert_eq!(record.text, begun);
    }

    /// Returns a complete record with these parts.
    fn text_of(parts: &[&str]) -> String {
        parts.iter().fold(String::new(), |text, part| {
            let text = text + part;
            let end = Digest::of(text.as_bytes()).short();
            text + "end " + &end + "\n"
        })
    }

    #[test]
    fn a_part_that_says_what_nobody_knows_is_not_used() {
        let (id, digest) = ("0123456789abcdef", Digest::of(b"old"));
        let head = "mcp-text-editor journal 4\n";
        let read = |parts: &[&str]| Contents::read(text_of(parts).as_bytes(), &Here);
        for files in [format!("copy {id} /a\n"), format!("remove {id} /a\nmade /x\n"), "made /x\n".to_owned()]
        {
            let contents = read(&[&format!("{head}{files}"), "stay\n", "committed\n"]);
            assert_eq!(contents, Contents::default(), "{files}");
        }
        let first = format!("{head}remove {id} /a\n");
        let begun = read(&[&first]);
        assert_eq!(begun.subjects.len(), 1);
        for step in
            [format!("copy {digest}\n"), format!("publish {digest}0 1 -\n"), format!("publish {digest} 1\n")]
        {
            assert_eq!(read(&[&first, &step, "committed\n"]), begun, "{step}");
        }
    }

    #[test]
    fn of_another_form_the_files_are_known() {
        let all = contents();
        let text = written(&all).0;
        let part = "mcp-text-editor journal 3\nmoved 7 8 9 /a%20b\nby /c\n";
        let end = format!("end {}\nwhat nobody knows yet\n", Digest::of(part.as_bytes()).short());
        let read = |text: &str| Contents::read(text.as_bytes(), &Here).of_other_form;
        assert_eq!(read(&text), None);
        assert_eq!(read(""), None);
        assert_eq!(read("mcp-text-editor journal "), None);
        assert_eq!(read("\0\0\0\0\0\0\0\0\n"), None);
        assert_eq!(read(part), Some(Vec::new()));
        let (head, _) = part.split_at(part.find("moved").unwrap());
        let empty = format!("{head}end {}\nby /c\nend 0\n", Digest::of(head.as_bytes()).short());
        assert_eq!(read(&empty), Some(Vec::new()), "the first part names no file");
        let whole = format!("{part}{end}");
        assert_eq!(read(&whole), Some(vec!["/a b".into(), "/c".into()]));
        assert!(Contents::read(whole.as_bytes(), &Here).concerns(Path::new("/c"), None));
    }

    #[test]
    fn a_byte_that_changed_spoils_the_part_it_is_in() {
        let all = contents();
        let (text, lengths) = written(&all);
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let read = Contents::read(&bytes, &Here);
            let whole = lengths.iter().filter(|end| **end <= at).count();
            assert!(!read.committed, "{at}");
            assert!(whole >= 2 || read.steps.is_none(), "{at}");
            assert!(
                whole >= 1
                    || (read.subjects.is_empty() && read.of_other_form.is_none_or(|paths| paths.is_empty())),
                "{at}"
            );
        }
    }

    #[test]
    fn a_file_is_known_by_its_key_until_it_is_final() {
        let open = Contents { committed: false, ..contents() };
        let concerns = |contents: &Contents, key| contents.concerns(Path::new("/other"), Some(key));
        // The old and the new file of an exchange; a file to be written over; a file that is not in the
        // record.
        let keys = [OLD, KEY, WRITTEN_OVER, FileKey { born: NonZeroI64::new(4), ..OLD }];
        assert_eq!(keys.map(|key| concerns(&open, key)), [true, true, true, false]);
        assert_eq!(keys.map(|key| concerns(&contents(), key)), [false, false, true, false]);
        assert!(contents().concerns(Path::new("/d"), None));
    }

    #[test]
    fn a_record_is_abandoned_once_its_owner_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::open(directory.path()).unwrap();
        let record = FileRecord::begin(&state, &contents().subjects).unwrap();
        let found = FoundFile::all(&state).unwrap();
        assert!(!found[0].is_abandoned());
        assert!(found[0].contents().concerns(Path::new("/c"), None));
        drop(found);
        Box::new(record).keep();
        let found = FoundFile::all(&state).unwrap().pop().unwrap();
        assert!(found.is_abandoned() && found.is_there());
        let other = FoundFile::all(&state).unwrap().pop().unwrap();
        assert!(!other.is_abandoned(), "one process recovers it");
        assert!(Box::new(found).remove(true));
        assert!(!other.is_there());
        assert!(FoundFile::all(&state).unwrap().is_empty());
        state.journal().write("notes.txt", "nobody's record\n").unwrap();
        assert!(FoundFile::all(&state).unwrap().is_empty());
    }
}
