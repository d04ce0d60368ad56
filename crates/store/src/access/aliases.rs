//! Finds the other names of protected files: a symbolic or hard link can make the `.git` or a client file at
//! the top of a root another name of an ordinary file, which is then protected, too.
//!
//! Each call that writes looks for these names once ([`Aliases::in_root`]). Aliases that an earlier call
//! found may be out of date, since names come and go between two calls. A call does not look again for each
//! of its files, since aliases are very rare. A protected name that is missing, or has no alias, costs one
//! lookup by the root's handle.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use crate::access::client_files::{CLIENT_FILES, ClientFile};
use crate::access::place::{MAX_LINKS, Place};
use crate::access::protection::Protection;
use crate::os;
use crate::os::directory::Dir;
use crate::os::real_path::real_path;
use crate::os::seen::Seen;

/// The rows of [`CLIENT_FILES`], grouped by the first name of their path. Rows with a `*` are left out, since
/// they name no single file.
static BY_FIRST_NAME: LazyLock<BTreeMap<&str, Vec<&ClientFile>>> = LazyLock::new(|| {
    let mut groups: BTreeMap<&str, Vec<&ClientFile>> = BTreeMap::new();
    for file in CLIENT_FILES.iter().filter(|file| !file.is_pattern()) {
        groups.entry(file.names().next().unwrap_or_default()).or_default().push(file);
    }
    groups
});

/// The files that have a protected name in a root, and another name, too; mostly there are none.
#[derive(Debug)]
pub(crate) struct Aliases {
    root: PathBuf,
    found: Vec<Alias>,
}

/// A protected name and its target. Both the target's path and its identity are kept, since the target can be
/// created or replaced before it is compared.
#[derive(Debug)]
struct Alias {
    protection: Protection,
    name: PathBuf,
    path: PathBuf,
    key: Option<(u64, u64)>,
    is_directory: bool,
}

impl Aliases {
    /// Looks for the aliases in a root, through the root's handle.
    pub(crate) fn in_root(root: &Path, directory: &Dir) -> Self {
        let look = |relative: &Path| os::look(directory, root, relative);
        let mut aliases = Self { root: root.to_owned(), found: Vec::new() };
        if look(Path::new(".git")).is_some_and(|seen| seen.is_link) {
            aliases.add_link(Protection::Git, Path::new(".git"), true);
        }
        for (first, files) in BY_FIRST_NAME.iter() {
            let Some(top) = look(Path::new(first)) else { continue };
            for file in files {
                aliases.add(file, &top, &look);
            }
        }
        aliases
    }

    /// Adds the target of a client file, if the target has another name. `top` is what was seen under the
    /// first name of the file's path.
    fn add(&mut self, file: &'static ClientFile, top: &Seen, look: &dyn Fn(&Path) -> Option<Seen>) {
        let mut seen = *top;
        let mut names = file.names();
        let mut relative: PathBuf = names.next().into_iter().collect();
        while let Some(name) = names.next().filter(|_| !seen.is_link) {
            relative.push(name);
            let Some(below) = look(&relative) else { return };
            seen = below;
        }
        let is_directory = file.is_directory();
        let protection = Protection::ClientFile(file);
        if seen.is_link {
            self.add_link(protection, Path::new(file.path.trim_end_matches('/')), is_directory);
        } else if seen.links > 1 && !is_directory {
            let name = self.root.join(relative);
            self.found.push(Alias { protection, path: name.clone(), name, key: seen.key, is_directory });
        }
    }

    fn add_link(&mut self, protection: Protection, relative: &Path, is_directory: bool) {
        let name = self.root.join(relative);
        let (path, key) = (led_to(&name), os::key_of_path(&name));
        self.found.push(Alias { protection, name, path, key, is_directory });
    }

    /// Returns the protection of a place that is the target of a protected name. `is_exempt` receives the
    /// protected name as an absolute path, and as a path relative to the root.
    pub(crate) fn protection(
        &self,
        place: &Place,
        is_exempt: impl Fn(&Path, &Path) -> bool,
    ) -> Option<Protection> {
        if self.found.is_empty() {
            return None;
        }
        let key = place.key();
        let is_exempt = |path: &Path| is_exempt(path, path.strip_prefix(&self.root).unwrap_or(path));
        let found = self.found.iter().find(|alias| alias.is(place, key) && !is_exempt(&alias.name));
        found.map(|alias| alias.protection.clone())
    }
}

impl Alias {
    /// Tells whether a place is the target of this alias, or lies in the target. `own` is the place's device
    /// and inode, if it exists.
    fn is(&self, place: &Place, own: Option<(u64, u64)>) -> bool {
        let is_it = |key| key == self.key && self.key.is_some();
        if self.is_directory {
            place.path.starts_with(&self.path)
                || place.path.ancestors().any(|above| is_it(os::key_of_path(above)))
        } else {
            place.path == self.path || is_it(own)
        }
    }
}

/// Returns the path that results from following all links of a path, whether or not a file has it.
fn led_to(path: &Path) -> PathBuf {
    followed(path, &mut { MAX_LINKS })
}

fn followed(path: &Path, links: &mut u32) -> PathBuf {
    if path.exists() {
        return real_path(path);
    }
    let (Some(parent), Some(last)) = (path.parent(), path.components().next_back()) else {
        return path.to_owned();
    };
    let mut parent = followed(parent, links);
    if last == Component::ParentDir {
        parent.pop();
        return parent;
    }
    let whole = parent.join(last);
    match std::fs::read_link(&whole) {
        Ok(target) if *links > 0 => {
            *links -= 1;
            followed(&parent.join(target), links)
        }
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_which_nothing_is_there_leads_where_it_says() {
        for path in ["no such directory", "no such directory/file"] {
            assert_eq!(led_to(Path::new(path)), Path::new(path));
        }
    }
}
