//! Gives a file its name back, where another program may have made a file of that name meanwhile:
//! [`restore`]. Neither file is lost, and the error says where each is.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::access::place::WritablePlace;
use crate::error::{LeftBehind, Operation, Remains, StoreError, StoreErrorKind};
use crate::lock::lock_directory;
use crate::os;
use crate::os::directory::Dir;
use crate::os::names::{hard_link, remove_file, rename};
use crate::stage::temporary::PREFIX;

/// The most tries while the name comes and goes.
const TRIES: usize = 64;

/// Gives the file that was renamed to `aside` its name back, because of `cause`. Returns the error to report,
/// as `Ok` if nothing is left to recover: `cause` or, if another program's file had the name,
/// [`StoreErrorKind::Displaced`]. `Err` is [`StoreErrorKind::NotRestored`].
///
/// If another program's file has the name, the two change names, and the other program's file gets a name
/// beside it. Where names cannot be exchanged, the file itself gets the name
/// beside.
pub(super) fn restore(
    place: &WritablePlace,
    aside: &Path,
    cause: StoreError,
) -> Result<StoreError, StoreError> {
    let (directory, name) = (&place.directory, Path::new(place.name()));
    // No process of this server holds it for so long.
    let _one_at_a_time = lock_directory(directory, place.path()).ok();
    for _ in 0..TRIES {
        match give_back(directory, aside, name) {
            Ok(()) => return Ok(cause),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(not_restored(place, aside, error));
            }
            Err(_) => {}
        }
        match os::exchange(directory, name, aside) {
            Ok(()) => return keep_next_to(place, aside, Remains::Theirs(place.path().to_owned()), cause),
            // What had the name is gone again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => break,
        }
    }
    keep_next_to(place, aside, Remains::Old(place.path().to_owned()), cause)
}

/// Gives the file under a temporary's name another name for good, one that shows a person where it comes
/// from. Returns the error that names it.
pub(super) fn keep_next_to(
    place: &WritablePlace,
    aside: &Path,
    what: Remains,
    cause: StoreError,
) -> Result<StoreError, StoreError> {
    let beside = displaced_name(place.path(), aside);
    give_back(&place.directory, aside, Path::new(&beside))
        .map_err(|error| not_restored(place, aside, error))?;
    let mut left = cause.left;
    if matches!(what, Remains::Old(_)) {
        left.push(LeftBehind::new(place.path(), Remains::Gone));
    }
    left.push(LeftBehind::new(&place.path().with_file_name(beside), what));
    Ok(StoreError { kind: StoreErrorKind::Displaced, operation: Operation::Restore, left, ..cause })
}

/// Returns the error for a file that still has its temporary's name; it says whether the file's own name is
/// gone.
fn not_restored(place: &WritablePlace, aside: &Path, error: io::Error) -> StoreError {
    let is_gone = place.is_free().then(|| LeftBehind::new(place.path(), Remains::Gone));
    let kept = LeftBehind::new(&place.path().with_file_name(aside), Remains::Old(place.path().to_owned()));
    let error = StoreError::from_io(Operation::Restore, place.path(), error);
    error.not_restored(is_gone.into_iter().chain([kept]))
}

/// Gives a file its name back; the error is [`io::ErrorKind::AlreadyExists`] if another file has that. Where
/// the file system can neither refuse a name that is taken nor link, the name is checked before the rename.
pub(crate) fn give_back(directory: &Dir, aside: &Path, name: &Path) -> io::Result<()> {
    match os::rename_new(directory, aside, directory, name) {
        Err(error) if os::is_unsupported(&error) => {}
        renamed => return renamed,
    }
    match hard_link(directory, aside, name) {
        Ok(()) => remove_file(directory, aside),
        Err(error) => match directory.symlink_metadata(name) {
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => rename(directory, aside, name),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => Err(error),
        },
    }
}

/// Returns a name beside a file, for the file that was displaced from there, or was to be.
pub(crate) fn displaced_name(path: &Path, temporary: &Path) -> PathBuf {
    let drawn = temporary.to_string_lossy();
    let drawn = drawn.trim_start_matches(PREFIX).chars();
    let drawn: String = drawn.filter(char::is_ascii_hexdigit).take(8).collect();
    let stem: String = path.file_name().unwrap_or_default().to_string_lossy().chars().take(40).collect();
    OsString::from(format!("{stem}.displaced-{drawn}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::world::World;

    /// Returns the error and all files, after a renamed file got its name back while another program had made
    /// `theirs` of that name.
    fn restored(theirs: Option<&str>, cause: StoreErrorKind) -> (StoreError, Vec<(String, String)>) {
        let world = World::new();
        world.write("@/root/.mte-0123456789abcdef", "old\n");
        if let Some(theirs) = theirs {
            world.write("@/root/a", theirs);
        }
        let (place, aside) = (world.place("@/root/a"), Path::new(".mte-0123456789abcdef"));
        let cause = StoreError::new(Operation::Remove, place.path(), cause);
        let error = restore(&place, aside, cause).unwrap();
        let entries = std::fs::read_dir(world.path("@/root")).unwrap();
        let mut found: Vec<_> = entries
            .map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let held = world.content(&format!("@/root/{name}"));
                (name, held)
            })
            .collect();
        found.sort();
        (error, found)
    }

    #[test]
    fn a_name_comes_back_and_what_another_program_made_there_is_told() {
        let file = |name: &str, held: &str| (name.to_owned(), held.to_owned());
        let (error, found) = restored(None, StoreErrorKind::Changed);
        assert_eq!((error.kind, error.left.len()), (StoreErrorKind::Changed, 0));
        assert_eq!(found, [file("a", "old\n")]);

        let (error, found) = restored(Some("theirs\n"), StoreErrorKind::Changed);
        assert_eq!(error.kind, StoreErrorKind::Displaced);
        assert_eq!(error.operation, Operation::Restore);
        let (left, before) = error.left.split_last().unwrap();
        assert_eq!(left.path.file_name().unwrap(), "a.displaced-01234567");
        let is_theirs = matches!(&left.what, Remains::Theirs(_));
        // The error says that the old file is not at its place, if that is so.
        assert_eq!(before.is_empty(), is_theirs, "{error}");
        let (name, beside) = if is_theirs { ("old\n", "theirs\n") } else { ("theirs\n", "old\n") };
        assert!(
            is_theirs || !cfg!(any(target_os = "linux", target_vendor = "apple")),
            "it comes back by exchange"
        );
        assert_eq!(found, [file("a", name), file("a.displaced-01234567", beside)]);
    }
}
