//! Turns paths into shared names, and back: [`RootNames`].

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::real_path;

use crate::root_names::caches::{Caches, FileLocks, Lifetimes, caches, caches_unlisted, locks};
use crate::root_names::mount::{MountList, covering, machine, mounts};
use crate::root_names::name::{RootName, RootNameTaken, SharedPath, joined};

/// The names of all directories that this process can reach.
///
/// A path gets the name that a person gave to the innermost directory above it. Otherwise it gets the name of
/// its network file system, if the mount has the server's name. Otherwise it gets this machine's name, under
/// which no other machine knows it. The last two exist only on Linux; elsewhere there are only names that a
/// person gave.
#[derive(Debug)]
pub struct RootNames {
    /// The names that a person gave, innermost directories first.
    given: Vec<(RootName, PathBuf)>,
    mounts: MountList,
    machine: Option<RootName>,
    /// The directories that are preferred if a file has several paths.
    preferred: OnceLock<Vec<PathBuf>>,
    lifetimes: Lifetimes,
}

impl RootNames {
    /// Creates the names from those that a person gave to directories. A name holds for everything below its
    /// directory, including mounts. All other names come from the mounts. Fails if a name or a directory is
    /// given twice.
    pub fn new(named: &[(RootName, PathBuf)]) -> Result<Self, RootNameTaken> {
        let mut given: Vec<(RootName, PathBuf)> = Vec::new();
        for (name, directory) in named {
            let (name, directory) = (name.clone(), real_path(directory));
            if given.iter().any(|(other, path)| *other == name || *path == directory) {
                return Err(RootNameTaken { name, directory });
            }
            given.push((name, directory));
        }
        given.sort_by_key(|(_, path)| std::cmp::Reverse(path.components().count()));
        // Machines that were created from the same image have the same id, so the name is included.
        let of_machine = |(name, number): (String, String)| {
            let digest = Digest::of(format!("{number}\0{name}").as_bytes()).to_string();
            RootName::of_machine(&format!("{name}-{}", digest.get(..12).unwrap_or_default()))
        };
        Ok(Self {
            given,
            mounts: MountList::open(),
            machine: machine().map(of_machine),
            preferred: OnceLock::new(),
            lifetimes: Lifetimes::default(),
        })
    }

    /// Prefers paths in these directories if a file has several paths, because its file system is mounted
    /// twice. Only the first call has an effect.
    pub(crate) fn prefer(&self, directories: &[PathBuf]) {
        self.preferred.get_or_init(|| directories.to_vec());
    }

    /// Returns the shared name of an absolute path without symbolic links; `None` if it has none.
    #[must_use]
    pub fn shared(&self, path: &Path) -> Option<SharedPath> {
        self.shared_among(&self.mounts.text().unwrap_or_default(), path)
    }

    /// Returns the path of a shared name on this machine; the file need not exist. `None` if this machine
    /// does not reach the directory.
    pub(crate) fn local(&self, shared: &SharedPath) -> Option<PathBuf> {
        self.local_among(&self.mounts.text().unwrap_or_default(), shared)
    }

    /// Returns this machine's own name; empty if it has none.
    pub(crate) fn machine(&self) -> &str {
        self.machine.as_ref().map_or("", RootName::as_str)
    }

    /// Tells whether locks on a file at this path also exclude other machines, as far as the mount shows.
    #[must_use]
    pub fn locks(&self, path: &Path) -> FileLocks {
        let mounts = mounts(&self.mounts.text().unwrap_or_default());
        covering(&mounts, path).map_or(FileLocks::Unknown, locks)
    }

    /// Tells how long a directory can hide the changes of other machines.
    #[must_use]
    pub fn caches(&self, path: &Path) -> Caches {
        let mounts = mounts(&self.mounts.text().unwrap_or_default());
        covering(&mounts, path).map_or_else(|| caches_unlisted(path), |mount| caches(mount, &self.lifetimes))
    }

    /// Finds a shared directory on this machine. Returns each part of it that this machine reaches: the path
    /// in the directory, and the path on this machine. Empty if it reaches none.
    pub(crate) fn places(&self, root: &RootName) -> Vec<(PathBuf, PathBuf)> {
        self.places_among(&self.mounts.text().unwrap_or_default(), root)
    }

    pub(super) fn places_among(&self, list: &[u8], root: &RootName) -> Vec<(PathBuf, PathBuf)> {
        if self.machine.as_ref() == Some(root) {
            return vec![(PathBuf::new(), PathBuf::from("/"))];
        }
        let mounts = mounts(list);
        let points = mounts.iter().map(|mount| mount.point.as_path());
        let all = self.given.iter().map(|(_, directory)| directory.as_path()).chain(points);
        let place = |path: &Path| {
            let shared = self.shared_among(list, path).filter(|shared| shared.root == *root)?;
            Some((shared.relative, path.to_owned()))
        };
        let mut places: Vec<_> = all.filter_map(place).collect();
        places.sort();
        places.dedup();
        places
    }

    /// Returns the shared name of a path, and the shared names of directories and mounts below it that are
    /// not derived from that name.
    pub(crate) fn shared_below(&self, path: &Path) -> Vec<SharedPath> {
        let list = self.mounts.text().unwrap_or_default();
        let mounts = mounts(&list);
        let points = mounts.iter().map(|mount| mount.point.as_path());
        let below = self.given.iter().map(|(_, directory)| directory.as_path()).chain(points);
        let all = std::iter::once(path).chain(below.filter(|below| below.starts_with(path)));
        let mut shared: Vec<SharedPath> = all.filter_map(|path| self.shared_among(&list, path)).collect();
        shared.sort();
        shared.dedup();
        shared
    }

    pub(super) fn shared_among(&self, list: &[u8], path: &Path) -> Option<SharedPath> {
        for (root, directory) in &self.given {
            if let Ok(relative) = path.strip_prefix(directory) {
                return Some(SharedPath { root: root.clone(), relative: relative.to_owned() });
            }
        }
        let mounts = mounts(list);
        if let Some(mount) = covering(&mounts, path)
            && let Some(served) = mount.served()
        {
            let rest = path.strip_prefix(&mount.point).ok()?;
            return Some(SharedPath { relative: joined(&served.relative, rest), ..served });
        }
        let relative = path.strip_prefix("/").ok()?.to_owned();
        Some(SharedPath { root: self.machine.clone()?, relative })
    }

    pub(super) fn local_among(&self, list: &[u8], shared: &SharedPath) -> Option<PathBuf> {
        // A path with other components, such as `..`, is not a valid shared name.
        let is_plain =
            shared.relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !is_plain {
            return None;
        }
        let given = self.given.iter().filter(|(root, _)| *root == shared.root);
        let given = given.map(|(_, directory)| joined(directory, &shared.relative));
        let of_machine =
            (self.machine.as_ref() == Some(&shared.root)).then(|| joined(Path::new("/"), &shared.relative));
        let mounts = mounts(list);
        let mounted = mounts.iter().filter_map(|mount| {
            let served = mount.served().filter(|served| served.root == shared.root)?;
            let rest = shared.relative.strip_prefix(&served.relative).ok()?;
            Some(joined(&mount.point, rest))
        });
        // If a path is hidden by another mount, or is in a directory with another name, it is not a path of
        // this file.
        let found = given.chain(of_machine).chain(mounted);
        let found: Vec<PathBuf> =
            found.filter(|path| self.shared_among(list, path).as_ref() == Some(shared)).collect();
        let is_preferred =
            |path: &&PathBuf| self.preferred.get().into_iter().flatten().any(|above| path.starts_with(above));
        found.iter().find(is_preferred).or_else(|| found.first()).cloned()
    }
}
