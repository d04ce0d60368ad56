//! Makes the check before an edit, [`lock_settled`] and [`settle`]: no edit starts from a file that an
//! interrupted transaction has changed only partly. The journal has a record of each running or interrupted
//! transaction.
//!
//! A *place* is a resolved path: a handle of the directory, and the file's name in it.
//!
//! Recovers calls in the background: [`Background`] regularly polls the shared journal for records of
//! transactions whose machine is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::thread;
use std::time::Duration;

use crate::access::place::{Place, WritablePlace};
use crate::cancellation::Cancellation;
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::journal::{Contents, FoundRecord, Intent, JournalOfMachines, Subject};
use crate::lock::{Backoff, LockTimeout, LockedSet, lock_all_with};
use crate::os::identity::FileKey;
use crate::os::stored::may_list_wrongly;
use crate::os::stored_names::{Lead, StoredNames};
use crate::recovery::recover::{may_recover, try_recover};
use crate::workspace::Workspace;

/// The time after which, if a directory listing of `GlusterFS` still disagrees with lookups, the listing is
/// considered wrong. A lookup that was wrong because of a cache is right after one listing.
const LISTINGS: Duration = Duration::from_secs(4);

/// Locks files as [`lock_all_with`] does, after it has recovered every interrupted transaction, and waited
/// for every running one, that concerns one of the files.
pub(crate) fn lock_settled(
    workspace: &Workspace,
    places: &[&WritablePlace],
    is_written: &dyn Fn(usize) -> bool,
    backoff: &mut Backoff<'_>,
) -> Result<LockedSet, Vec<(usize, StoreError)>> {
    let mut given_up = GivenUp::new();
    let mut disagrees_since = None;
    loop {
        let locked = lock_all_with(places, is_written, backoff)?;
        let concerns = |contents: &Contents| {
            let by_key =
                locked.files.iter().map(|file| (file.file().path(), Some(file.file().identity().file_key())));
            by_key.clone().any(|(path, key)| contents.concerns(path, key))
                || places.iter().any(|place| contents.concerns(place.path(), None))
        };
        let alone = |error| vec![(0, error)];
        let standing = standing(workspace, concerns, &mut given_up).map_err(alone)?;
        match standing {
            Standing::Clear => {
                let since = *disagrees_since.get_or_insert(backoff.elapsed());
                let waited = backoff.elapsed().saturating_sub(since);
                if workspace.shared_journal().is_none() || are_stored(places, &locked, waited)? {
                    return Ok(locked);
                }
                drop(locked);
                let path = places.first().map_or(Path::new(""), |place| place.path());
                backoff.pause().map_err(|kind| alone(StoreError::new(Operation::Lock, path, kind)))?;
            }
            Standing::Abandoned(records) => {
                drop(locked);
                given_up.extend(
                    records.into_iter().filter_map(|record| try_recover(workspace, record, backoff).err()),
                );
            }
            Standing::UnderWay { path, .. } => {
                drop(locked);
                let busy = |kind| StoreError::new(Operation::Lock, &path, kind);
                backoff.pause().map_err(|kind| alone(busy(kind)))?;
            }
        }
    }
}

/// Tells whether the places lead to the locked files in the storage, too. Another machine may have given one
/// of the names to another file, and a cache of this machine may hide that. The check drops wrong names from
/// this machine's caches.
///
/// `waited` is the time since the first such check.
fn are_stored(
    places: &[&WritablePlace],
    locked: &LockedSet,
    waited: Duration,
) -> Result<bool, Vec<(usize, StoreError)>> {
    let mut directories = BTreeMap::<_, Vec<_>>::new();
    for (at, (place, file)) in places.iter().zip(&locked.file_of).enumerate() {
        let Some(file) = locked.files.get(*file) else { return Ok(false) };
        let inode = file.file().identity().inode;
        directories.entry(place.path().parent()).or_default().push((at, place, inode));
    }
    for files in directories.into_values() {
        let Some((first, place, _)) = files.first() else { continue };
        let fail = |at, place: &WritablePlace, error| {
            vec![(at, StoreError::from_io(Operation::Open, place.path(), error))]
        };
        let names = files.iter().map(|(_, place, _)| place.name().to_owned());
        let stored =
            StoredNames::list(&place.directory, names).map_err(|error| fail(*first, place, error))?;
        for (at, place, inode) in &files {
            match stored.lead(&place.directory, place.name(), *inode) {
                Ok(Lead::Here) => {}
                Ok(Lead::Elsewhere) if waited > LISTINGS && may_list_wrongly(&place.directory) => {}
                Ok(Lead::Elsewhere) => return Ok(false),
                Ok(Lead::Nowhere) => return Err(fail(*at, place, ErrorKind::NotFound.into())),
                Err(error) => return Err(fail(*at, place, error)),
            }
        }
    }
    Ok(true)
}

/// Recovers every interrupted transaction that concerns this path, and waits for the running transactions
/// that concern it. The file need not exist.
pub(crate) fn settle(
    workspace: &Workspace,
    place: &WritablePlace,
    backoff: &mut Backoff<'_>,
) -> Result<(), StoreError> {
    let mut given_up = GivenUp::new();
    loop {
        let concerns = |contents: &Contents| contents.concerns(place.path(), None);
        match standing(workspace, concerns, &mut given_up)? {
            Standing::Clear => return Ok(()),
            Standing::Abandoned(records) => {
                given_up.extend(
                    records.into_iter().filter_map(|record| try_recover(workspace, record, backoff).err()),
                );
            }
            // Another call is creating the same file. The file system decides between the two calls; a shared
            // journal would have refused one of them. If instead the other call removes or moves a file at
            // this path, this call waits: the other call may have to restore that file.
            Standing::UnderWay { subjects, .. }
                if workspace.shared_journal().is_none()
                    && place.identity().is_err()
                    && !gives_up(&subjects, place) =>
            {
                return Ok(());
            }
            Standing::UnderWay { path, .. } => {
                backoff.pause().map_err(|kind| StoreError::new(Operation::Lock, &path, kind))?;
            }
        }
    }
}

/// Tells whether the content of the file at this place is settled, as far as a shared `journal` knows: no
/// incomplete call names the file. If a call is under way, waits for it; if a call was interrupted, recovers
/// it. In both cases, returns `false` afterwards, and the file must be read again. `several_names` is the key
/// of a file that has several names (hard links): a call that uses another of its names counts as well.
///
/// If the journal cannot be queried, returns `true`, so that reads still work. The caller must check the file
/// again afterwards: the content that was read is settled if the file did not change from before the read
/// until after this call.
pub(crate) fn is_settled(
    workspace: &Workspace,
    journal: &dyn JournalOfMachines,
    place: &Place,
    several_names: Option<FileKey>,
    backoff: &mut Backoff<'_>,
) -> Result<bool, StoreError> {
    let mut is_first = true;
    loop {
        let paths = [place.path()];
        let found = match journal.naming(if several_names.is_some() { None } else { Some(&paths) }) {
            Ok(found) => found,
            Err(error) => {
                tracing::debug!(%error, "a file is shown without a look at what other machines have begun");
                return Ok(is_first);
            }
        };
        let is_half_way = |contents: &Contents| {
            shows(contents) && (several_names.is_none() || contents.concerns(place.path(), several_names))
        };
        let half_way: Vec<_> = found.into_iter().filter(|record| is_half_way(record.contents())).collect();
        let Some(first) = half_way.first() else { return Ok(is_first) };
        is_first = false;
        let path = first.path().to_owned();
        let stuck = |kind| {
            workspace.stuck.add(&path);
            StoreError::new(Operation::Lock, place.path(), kind)
        };
        // A call that reads many files of one record must wait for that record only once.
        if half_way.iter().any(|record| workspace.stuck.has(record.path())) {
            return Err(StoreError::new(Operation::Lock, place.path(), StoreErrorKind::Busy));
        }
        for record in half_way.into_iter().filter(|record| record.is_abandoned()) {
            if !may_recover(workspace, record.contents()) {
                return Err(unfinished(workspace, record.as_ref()));
            }
            let recovered = try_recover(workspace, record, backoff);
            if let Err((_, Some(error))) = recovered {
                return Err(if error.kind == StoreErrorKind::Busy { stuck(error.kind) } else { *error });
            }
        }
        if let Err(kind) = backoff.pause() {
            return Err(if kind == StoreErrorKind::Busy {
                stuck(kind)
            } else {
                StoreError::new(Operation::Lock, place.path(), kind)
            });
        }
    }
}

/// Recovers the calls of the abandoned records in a shared journal, before files are searched. Waits for
/// locks no longer than `TIDYING`. Ignores failures: the next read or edit of one of the files tries again.
pub(crate) fn tidy(workspace: &Workspace, cancellation: Cancellation<'_>) {
    let found = workspace.shared_journal().map(JournalOfMachines::abandoned);
    end_some(workspace, found, cancellation, |record| !workspace.stuck.has(record));
}

/// Recovers the calls of all abandoned records in a shared journal. These include calls that have changed no
/// file, since a call that was interrupted early leaves temporary files. `is_due` selects records by their
/// path.
pub(super) fn end_abandoned(workspace: &Workspace, is_due: impl FnMut(&Path) -> bool) {
    let found = workspace.shared_journal().map(|journal| journal.naming(None));
    end_some(workspace, found, Cancellation::none(), is_due);
}

type FoundRecords = Result<Vec<Box<dyn FoundRecord>>, StoreError>;

fn end_some(
    workspace: &Workspace,
    found: Option<FoundRecords>,
    cancellation: Cancellation<'_>,
    mut is_due: impl FnMut(&Path) -> bool,
) {
    let wait = LockTimeout { limit: TIDYING, cancellation, observer: workspace.observer };
    let mut backoff = Backoff::new(&wait);
    for record in found.into_iter().flatten().flatten() {
        if record.is_abandoned() && may_recover(workspace, record.contents()) && is_due(record.path()) {
            // `try_recover` logs a failure of the recovery.
            try_recover(workspace, record, &mut backoff).ok();
        }
    }
}

/// The maximum time that `end_some` waits for locks of files.
const TIDYING: Duration = Duration::from_millis(500);

/// Returns the error for a record that this process must not recover. The error names only files in the
/// roots, since the client must not learn of files outside them.
fn unfinished(workspace: &Workspace, record: &dyn FoundRecord) -> StoreError {
    let is_in_roots = |path: &&Path| workspace.roots.paths().any(|root| path.starts_with(root));
    let all: BTreeSet<&Path> = record.contents().paths().collect();
    let paths: Vec<_> = all.iter().copied().filter(is_in_roots).map(Path::to_owned).collect();
    let others = u32::try_from(all.len() - paths.len()).unwrap_or(u32::MAX);
    let is_of_later_form = record.contents().of_other_form.is_some();
    let kind = StoreErrorKind::Unfinished { paths, others, is_of_later_form };
    StoreError::new(Operation::Recover, record.path(), kind)
}

/// Tells whether the recorded call may have changed files already. A call whose steps are not recorded yet
/// has changed none.
fn shows(contents: &Contents) -> bool {
    contents.of_other_form.is_some() || contents.steps.is_some()
}

/// Tells whether a call that is under way removes or moves the file at this place. If the call fails, the
/// file gets its name back.
fn gives_up(subjects: &[Subject], place: &WritablePlace) -> bool {
    let is_lost = |subject: &Subject| matches!(subject.intent, Intent::Remove | Intent::MoveFrom);
    subjects.iter().any(|subject| subject.path == place.path() && is_lost(subject))
}

/// The state of some files according to the journal.
enum Standing {
    /// No record concerns the files.
    Clear,
    /// These abandoned records must be recovered first.
    Abandoned(Vec<Box<dyn FoundRecord>>),
    /// Another call, which began earlier, is changing one of the files, or another process is recovering a
    /// record that concerns one of them. `path` is the path of the first such record; `subjects` are the
    /// files of all such records.
    UnderWay { path: PathBuf, subjects: Vec<Subject> },
}

/// Records whose recovery this call does not try again, by path, with the error of the recovery; `None` if
/// the record is recovered and only its unlinking failed.
type GivenUp = BTreeMap<PathBuf, Option<Box<StoreError>>>;

fn standing(
    workspace: &Workspace,
    concerns: impl Fn(&Contents) -> bool,
    given_up: &mut GivenUp,
) -> Result<Standing, StoreError> {
    let Some(journal) = workspace.journal() else { return Ok(Standing::Clear) };
    let found = match journal.all() {
        // The journal was removed meanwhile, or this process may not read it. In that case, edits cannot be
        // recorded either, and each edit has a warning about that.
        Err(error) if error.kind == StoreErrorKind::NotFound || error.kind.is_refusal() => {
            return Ok(Standing::Clear);
        }
        found => found?,
    };
    let (mut abandoned, mut under_way) = (Vec::new(), None);
    for record in found {
        let is_ours = concerns(record.contents());
        if !record.is_abandoned() {
            if is_ours && record.is_there() {
                let (_, subjects) = under_way.get_or_insert_with(|| (record.path().to_owned(), Vec::new()));
                subjects.extend_from_slice(&record.contents().subjects);
            }
        } else if !given_up.contains_key(record.path()) && may_recover(workspace, record.contents()) {
            abandoned.push(record);
        } else if is_ours && !matches!(given_up.get(record.path()), Some(None)) {
            if let Some(Some(error)) = given_up.remove(record.path()) {
                return Err(*error);
            }
            return Err(unfinished(workspace, record.as_ref()));
        }
    }
    Ok(match under_way {
        Some((path, subjects)) => Standing::UnderWay { path, subjects },
        None if abandoned.is_empty() => Standing::Clear,
        None => Standing::Abandoned(abandoned),
    })
}

/// The time between two polls. Each poll costs the database one query.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);

/// For each abandoned record, by path, the number of consecutive polls that have found it.
#[derive(Default)]
pub(crate) struct Background(BTreeMap<PathBuf, u32>);

impl Background {
    /// Ends (completes or rolls back) the abandoned records of a shared journal that the previous poll also
    /// found. A process that only lost its database session claims its record again before the second poll.
    /// If a record cannot be ended, the time to the next attempt doubles, so that failures do not fill the
    /// log.
    pub(crate) fn poll(&mut self, workspace: &Workspace) {
        let previous = std::mem::take(&mut self.0);
        end_abandoned(workspace, |record| {
            let polls = previous.get(record).map_or(1, |polls| polls.saturating_add(1));
            self.0.insert(record.to_owned(), polls);
            polls > 1 && polls.is_power_of_two()
        });
    }
}

/// Starts a thread that polls once per `interval`, until the workspace is dropped.
pub(crate) fn begin(workspace: Weak<Workspace>, interval: Duration) -> std::io::Result<()> {
    let run = move || {
        let mut background = Background::default();
        loop {
            thread::sleep(interval);
            let Some(workspace) = workspace.upgrade() else { return };
            background.poll(&workspace);
        }
    };
    thread::Builder::new().name("recovery".to_owned()).spawn(run).map(drop)
}
