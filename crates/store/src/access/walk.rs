//! Walks along a client's path by its text, following every symbolic link, to find the root that the path
//! leads to. The file is then opened from that root's handle.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::access::place::{MAX_LINKS, Place, SymbolicLink, open_directory};
use crate::access::roots::{PathError, Root, Roots, names_a_directory, same_path};
use crate::access::windows_paths::{fault_of, is_share};
use crate::error::{ErrorContext as _, Operation, StoreError, StoreErrorKind};
use crate::os;
use crate::os::directory::Dir;
use crate::os::real_path::without_verbatim_prefix;
use crate::os::seen::Looked;

/// The state of a walk, and at its end what the walk has found.
#[derive(Default)]
struct Walk {
    /// The path walked so far, without the links that could be seen.
    path: PathBuf,
    /// The roots on the way to `path`, innermost last.
    entered: Vec<(PathBuf, usize)>,
    /// The symbolic links in a root that the walk followed.
    links: Vec<SymbolicLink>,
    /// The path of a root that is gone, or is another file or directory now.
    replaced: Option<PathBuf>,
    /// The reason why the path cannot be followed, such as too many links, or a `..` after a name that is not
    /// a directory.
    failure: Option<StoreErrorKind>,
    /// Whether a link led from a root out of all roots. A loop of links on such a walk is not reported, since
    /// that would show what is outside.
    strayed: bool,
    by_link: bool,
    ends_in_slash: bool,
}

impl Roots {
    /// Returns the place of an absolute path that may lead through links.
    pub(super) fn place_by_links(&self, path: &Path) -> Result<Place, PathError> {
        let walk = self.walk(path);
        if self.closes(&walk.path) {
            return Err(PathError::OUTSIDE);
        }
        let fail = |kind| Err(PathError::Failed(StoreError::new(Operation::Resolve, &walk.path, kind)));
        let Some((root_path, root)) = walk
            .entered
            .last()
            .and_then(|(path, index)| Some((path, self.served().find(|(at, _)| at == index)?.1)))
        else {
            if let Some(root) = walk.replaced {
                return Err(why_it_is_not_there(root));
            }
            let unserved =
                self.unserved().find(|unserved| unserved.holds(path) || unserved.holds(&walk.path));
            return Err(unserved
                .map_or(PathError::OUTSIDE, |unserved| PathError::Unserved(Box::new(unserved.clone()))));
        };
        if let Some(failure) = &walk.failure {
            let is_loop = *failure == StoreErrorKind::LinkLoop;
            return if is_loop && walk.strayed { Err(PathError::OUTSIDE) } else { fail(failure.clone()) };
        }
        let relative = walk.path.strip_prefix(root_path).unwrap_or(Path::new(""));
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return fail(StoreErrorKind::IsADirectory);
        };
        let (directory, missing) = descend(&root.directory, parent, &walk.path).map_err(PathError::Failed)?;
        Ok(Place {
            directory_key: os::key_of_directory(&directory).ok(),
            directory,
            missing,
            name: name.to_owned(),
            relative: relative.to_owned(),
            path: walk.path.clone(),
            links: walk.links,
            by_link: walk.by_link,
            ends_in_slash: walk.ends_in_slash,
        })
    }

    /// Follows `path` by its text, component by component.
    ///
    /// If a component cannot be looked up, the rest of the path is taken as it is written. So a missing file
    /// leads to the same root as one that exists.
    fn walk(&self, path: &Path) -> Walk {
        let mut walk = Walk::default();
        let mut pending: VecDeque<OsString> = VecDeque::new();
        let (mut links, mut has_entered) = (0, false);
        let mut is_blind = !self.start(&mut walk, &mut pending, path);
        while let Some(component) = pending.pop_front() {
            if component == ".." {
                if is_blind {
                    walk.failure = Some(StoreErrorKind::NotFound);
                }
                walk.path.pop();
                while walk.entered.last().is_some_and(|(entered, _)| !walk.path.starts_with(entered)) {
                    walk.entered.pop();
                }
                continue;
            }
            if cfg!(windows) && component.to_str().is_some_and(|name| fault_of(name).is_some()) {
                // Such a name can only come from the target of a link: a path that itself has one was refused
                // before.
                (is_blind, walk.failure) = (true, Some(StoreErrorKind::NotFound));
            }
            walk.path.push(&component);
            let looked = if is_blind { None } else { os::look_along(&walk.path) };
            if let Some(name) = looked.as_ref().and_then(|looked| looked.name.as_ref()) {
                walk.path.set_file_name(name);
            }
            if !looked.as_ref().is_some_and(|looked| looked.is_link) {
                // Nothing is below a file, not even `..`: the system refuses `file/..`, too.
                is_blind |= !looked.as_ref().is_some_and(|looked| looked.is_directory);
                self.enter(&mut walk, looked.as_ref());
                has_entered |= !walk.entered.is_empty();
                continue;
            }
            let target = match std::fs::read_link(&walk.path) {
                Ok(target) => target,
                // This is a link in /proc to a file that another process has open. Only some users may read
                // it.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    walk.failure = Some(StoreErrorKind::PermissionDenied);
                    break;
                }
                Err(_) => {
                    is_blind = true;
                    continue;
                }
            };
            links += 1;
            if let Some((root, _)) = walk.entered.last() {
                let relative = walk.path.strip_prefix(root).unwrap_or(&walk.path).to_owned();
                walk.links.push(SymbolicLink { path: walk.path.clone(), relative });
            }
            walk.by_link |= pending.is_empty();
            walk.ends_in_slash |= pending.is_empty() && names_a_directory(target.as_os_str());
            walk.strayed |= has_entered && walk.entered.is_empty();
            if links > MAX_LINKS {
                walk.failure = Some(StoreErrorKind::LinkLoop);
                break;
            }
            walk.path.pop();
            if target.has_root() {
                walk.entered.clear();
                is_blind = !self.start(&mut walk, &mut pending, &target);
            } else {
                prepend(&mut pending, &target);
            }
        }
        walk
    }

    /// Starts, or restarts, at the top of an absolute path. Returns `false` if the top must not be looked up,
    /// since the lookup would reveal this user's identity to another machine.
    fn start(&self, walk: &mut Walk, pending: &mut VecDeque<OsString>, path: &Path) -> bool {
        restart(walk, pending, path);
        let is_known =
            |root: &Root| [&root.path, &root.named].iter().any(|known| same_top(known, &walk.path));
        if is_share(&walk.path) && !self.served().any(|(_, root)| is_known(root)) {
            return false;
        }
        // On Windows, a drive letter can be another name of a root that is a share or a directory. Unix has
        // only one top.
        let top = if cfg!(windows) { os::look_along(&walk.path) } else { None };
        self.enter(walk, top.as_ref());
        true
    }

    /// Records a root if the walk has reached one. Compares identities, since a directory can have several
    /// paths (letter case, bind mounts, drive letters of shares); where there is no identity, it compares
    /// paths. On Windows, the walk then continues from the root's own path.
    fn enter(&self, walk: &mut Walk, looked: Option<&Looked>) {
        let is_by_path = |root: &Root| root.is_named(&walk.path);
        let is_here = |root: &Root| match looked {
            Some(found) => root.is_at(found) && (is_by_path(root) || found.key.is_some()),
            // The top directory is not looked at, and nothing can replace it.
            None => is_by_path(root) && walk.path.parent().is_none(),
        };
        let here = self.served().find(|(_, root)| is_here(root));
        if let Some((index, root)) = here {
            if cfg!(windows) {
                walk.path.clone_from(&root.path);
            }
            walk.entered.push((walk.path.clone(), index));
        } else if let Some((_, root)) = self.served().find(|(_, root)| is_by_path(root)) {
            walk.replaced = Some(root.path.clone());
        }
    }
}

/// Returns the reason why a walk did not find the root at this path: the root is gone or replaced, or its
/// file system does not answer.
fn why_it_is_not_there(root: PathBuf) -> PathError {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    match root.symlink_metadata() {
        Err(error) if !matches!(error.kind(), NotFound | NotADirectory) => {
            PathError::Failed(StoreError::from_io(Operation::Resolve, &root, error))
        }
        _ => PathError::RootReplaced { root },
    }
}

/// Tells whether two paths begin with the same drive or share.
fn same_top(one: &Path, other: &Path) -> bool {
    let top = |path: &Path| path.ancestors().last().map(Path::to_owned);
    top(one).zip(top(other)).is_some_and(|(one, other)| same_path(&one, &other))
}

/// Continues at the top of an absolute path: the client's path, or the target of a link.
fn restart(walk: &mut Walk, pending: &mut VecDeque<OsString>, path: &Path) {
    // On Windows, a link to `\name` stays on its own drive.
    let prefix = walk.path.components().next().filter(|part| matches!(part, Component::Prefix(_)));
    let prefix = prefix.filter(|_| !path.is_absolute()).map(|part| part.as_os_str().to_owned());
    let anchor =
        path.components().take_while(|part| matches!(part, Component::Prefix(_) | Component::RootDir));
    let anchor = prefix.as_deref().into_iter().chain(anchor.map(Component::as_os_str));
    walk.path = without_verbatim_prefix(anchor.collect());
    prepend(pending, path);
}

fn prepend(pending: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        if let Component::Normal(_) | Component::ParentDir = component {
            pending.push_front(component.as_os_str().to_owned());
        }
    }
}

/// Opens the deepest directory of `parents` that exists, from a root's handle and following no link. Also
/// returns the names below that directory.
fn descend(root: &Arc<Dir>, parents: &Path, whole: &Path) -> Result<(Arc<Dir>, Vec<OsString>), StoreError> {
    if parents.as_os_str().is_empty() {
        return Ok((os::hold(root).context(Operation::Resolve, whole)?, Vec::new()));
    }
    if let Some(directory) = os::open_directory_beneath(root, parents) {
        return Ok((Arc::new(directory), Vec::new()));
    }
    let mut directory = root.clone();
    let mut names = parents.iter();
    while let Some(name) = names.next() {
        match open_directory(&directory, name, whole) {
            Ok(opened) => directory = Arc::new(opened),
            Err(error) if error.kind == StoreErrorKind::NotFound => {
                let missing = std::iter::once(name).chain(names).map(OsStr::to_owned).collect();
                return Ok((directory, missing));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((directory, Vec::new()))
}
