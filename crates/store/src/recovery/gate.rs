//! Nobody builds on a file that is half way between two states: an edit has its files by [`lock_settled`] or [`settle`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::access::place::WritablePlace;
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::journal::{Contents, Found};
use crate::lock::{Backoff, LockedSet, lock_all_with};
use crate::recovery::recover::{may_recover, try_recover};
use crate::workspace::Workspace;

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
