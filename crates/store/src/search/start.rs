//! Finds the start of a walk ([`WalkStart`]): a root (a directory that the server serves), or the file or
//! directory in a root to which a client's path leads.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Arc;

use crate::access::place::Place;
use crate::access::roots::{PathError, Roots};
use crate::attempts::Attempts;
use crate::cancellation::Cancellation;
use crate::edit::Reason;
use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind};
use crate::os;
use crate::os::directory::Dir;

/// The start of a walk.
#[derive(Clone, Debug)]
pub(crate) struct WalkStart {
    /// The handle of the root that contains the start.
    pub(crate) root: Arc<Dir>,
    /// The names of the directories from the root to `directory`.
    pub(crate) above: Vec<OsString>,
    /// The start itself if it is a directory, otherwise the directory that contains the file.
    pub(crate) directory: Arc<Dir>,
    /// The name of the file; `None` if the start is a directory.
    pub(crate) file: Option<OsString>,
    /// The start's real path.
    pub(crate) real: PathBuf,
    /// The start's path, as the client would name it, without a separator at its end, except at the top of a
    /// file system or drive.
    pub(crate) named: String,
}

/// Returns a start for each root, or the path of the root if the root cannot be searched. The start has the
/// path with which the root was configured, if that path still leads to the root. So a client can use the
/// paths in the results.
pub(crate) fn of_roots(roots: &Roots) -> Vec<Result<WalkStart, PathBuf>> {
    let paths = roots.named_paths().filter(|(path, _)| !roots.closes(path));
    let start = |(path, named): (&Path, &Path)| {
        let of = |path: &Path| of_path(roots, path.to_str()?).ok();
        // Components like `.` are dropped, since a client can leave them out.
        let plain: PathBuf = named.components().collect();
        let start = of(&plain).filter(|start| start.real == path).or_else(|| of(path));
        start.ok_or_else(|| named.to_owned())
    };
    paths.map(start).collect()
}

/// Returns the directory or regular file to which a client's path leads. Retries if another program replaces
/// the file or directory meanwhile.
pub(crate) fn of_path(roots: &Roots, path: &str) -> Result<WalkStart, Vec<Reason>> {
    let mut attempts = Attempts::new(Cancellation::none());
    let mut again = |reason: &Reason| match reason {
        Reason::Store(error) | Reason::Path(PathError::Failed(error)) => attempts.again(error),
        _ => false,
    };
    loop {
        match now(roots, path) {
            Err(reasons) if reasons.iter().any(&mut again) => {}
            result => return result,
        }
    }
}

/// Returns the directory or regular file to which a path leads, without retries.
fn now(roots: &Roots, path: &str) -> Result<WalkStart, Vec<Reason>> {
    let named = trimmed(path).to_owned();
    let place = match roots.resolve(path) {
        Ok(place) => place,
        Err(problems) => {
            return match root_at(roots, &problems) {
                Some((path, root)) => of_root(&path, root, named).map_err(|error| vec![Reason::Store(error)]),
                None => Err(problems.into_iter().map(Reason::Path).collect()),
            };
        }
    };
    let start = of_place(roots, &place, named).map_err(|error| vec![Reason::Store(error)])?;
    if roots.closes_directory(&start.directory) {
        return Err(vec![Reason::Path(PathError::OUTSIDE)]);
    }
    Ok(start)
}

/// Returns the root to which a path leads, if it leads to a root itself; `problems` are the reasons why
/// resolving the path failed. The path of a root cannot be resolved to a [`Place`], since a place is a name
/// in a directory that is, or lies in, a root.
fn root_at(roots: &Roots, problems: &[PathError]) -> Option<(PathBuf, Arc<Dir>)> {
    match problems {
        [PathError::Failed(error)] => {
            roots.handle_of(&error.path).map(|root| (error.path.clone(), root.clone()))
        }
        _ => None,
    }
}

fn of_root(path: &Path, root: Arc<Dir>, named: String) -> Result<WalkStart, StoreError> {
    let directory = os::open_to_list(&root, Path::new(".")).context(Operation::Open, path)?;
    Ok(WalkStart {
        root,
        above: Vec::new(),
        directory: Arc::new(directory),
        file: None,
        real: path.to_owned(),
        named,
    })
}

fn of_place(roots: &Roots, place: &Place, named: String) -> Result<WalkStart, StoreError> {
    let fail = |kind| Err(StoreError::new(Operation::Open, place.path(), kind));
    let (Some((_, root)), true) = (roots.root_of(place), place.missing.is_empty()) else {
        return fail(StoreErrorKind::NotFound);
    };
    let looked = place.directory.symlink_metadata(place.name()).context(Operation::Open, place.path())?;
    let mut above: Vec<OsString> = place.relative().iter().map(Into::into).collect();
    let (directory, file) = if looked.is_dir() {
        let directory = os::open_to_list(&place.directory, Path::new(place.name()));
        let directory = directory.context(Operation::Open, place.path())?;
        (Arc::new(directory), None)
    } else {
        // Opening the file reports any other problem with it.
        place.open_file(false)?;
        above.pop();
        (place.directory.clone(), Some(place.name().to_owned()))
    };
    Ok(WalkStart { root: root.clone(), above, directory, file, real: place.path().to_owned(), named })
}

/// Returns a path without the separators at its end. The top of a file system or drive keeps one separator.
fn trimmed(path: &str) -> &str {
    let trimmed = path.trim_end_matches(std::path::is_separator);
    if trimmed.is_empty() || (cfg!(windows) && trimmed.ends_with(':')) {
        path.get(..=trimmed.len()).unwrap_or(path)
    } else {
        trimmed
    }
}

/// Returns the path of a name in a directory, as replies show the path. On Windows, the separator is `/` if
/// the client wrote the directory's path with `/`.
pub(crate) fn joined(directory: &str, name: &str) -> String {
    let has_slashes = cfg!(windows) && directory.contains('/') && !directory.contains('\\');
    let mut path = String::with_capacity(directory.len() + 1 + name.len());
    path.push_str(directory);
    if !directory.ends_with(std::path::is_separator) {
        path.push(if has_slashes { '/' } else { MAIN_SEPARATOR });
    }
    let name = if has_slashes { Cow::Owned(name.replace('\\', "/")) } else { Cow::Borrowed(name) };
    path.push_str(&name);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_loses_its_last_separators_but_for_the_top() {
        for (path, wanted) in
            [("/", "/"), ("//", "/"), ("/a", "/a"), ("/a/", "/a"), ("/a//", "/a"), ("/a/b:/", "/a/b:")]
        {
            assert!(trimmed(path) == wanted || (cfg!(windows) && path.contains(':')), "{path}");
        }
        let drives = [(r"C:\", r"C:\"), ("C:/", "C:/"), (r"C:\a\", r"C:\a")];
        assert!(drives.iter().all(|(path, wanted)| trimmed(path) == *wanted || cfg!(unix)));
    }

    #[test]
    fn a_name_is_joined_by_the_separator_of_its_directory() {
        let of_unix =
            [("/", "a", "/a"), ("/a", "b", "/a/b"), ("/a", r"b\c", r"/a/b\c"), (r"/a\", "b", r"/a\/b")];
        let of_windows = [
            (r"C:\", "a", r"C:\a"),
            (r"C:\a", r"b\c", r"C:\a\b\c"),
            ("C:/", "a", "C:/a"),
            ("C:/a", r"b\c", "C:/a/b/c"),
        ];
        for (directory, name, wanted) in if cfg!(windows) { of_windows } else { of_unix } {
            assert_eq!(joined(directory, name), wanted);
        }
    }
}
