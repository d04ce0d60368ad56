//! Simulates a fault of `roots`, which keeps paths in the roots, in tests of the second wall (`landlock`):
//! every path is followed, wherever it leads. Built only with the feature `simulation`, never into a release.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags};

use crate::access::place::Place;
use crate::os;
use crate::os::directory::Dir;

/// Returns the place of any path whose directory exists; `None` if there is none, or while the simulation is
/// off.
pub(crate) fn place(path: &Path) -> Option<Place> {
    if os::has_containment() {
        return None;
    }
    #[expect(clippy::disallowed_methods, reason = "this build exists to have no walls")]
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    // The place of a dangling link is that of its missing target.
    let dangling = || real(path.parent()?.join(std::fs::read_link(path).ok()?).parent()?);
    let path = match (real(path), dangling(), std::fs::read_link(path)) {
        (Some(path), ..) => path,
        (None, Some(parent), Ok(target)) => parent.join(target.file_name()?),
        _ => real(path.parent()?)?.join(path.file_name()?),
    };
    let (parent, name) = (path.parent()?, path.file_name()?);
    // Landlock lets any directory be opened with `O_PATH`. It checks what is then opened from there.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(CWD, parent, flags, Mode::empty()).ok()?;
    Some(Place {
        directory: Arc::new(Dir::from_std_file(File::from(directory))),
        directory_key: None,
        missing: Vec::new(),
        name: name.to_owned(),
        relative: path.strip_prefix("/").ok()?.to_owned(),
        path: path.clone(),
        links: Vec::new(),
        by_link: false,
        ends_in_slash: false,
    })
}
