//! Other names of what is protected: whether a place is what a root's own `.git` or client file stands for, by a symbolic
//! link or a hard link.
//!
//! Asked for each edit, so what is not there, and what is there under its own name alone, costs one look.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use crate::clients::{CLIENT_FILES, ClientFile};
use crate::place::Place;
use crate::platform;
use crate::policy::{Protection, real_path};

/// How many links a protected name may lead through to what it stands for.
const LINKS: u32 = 40;

/// The rows of the table by the first name of their path; those with a `*` stand for no one file that could be looked at.
static BY_FIRST_NAME: LazyLock<BTreeMap<&str, Vec<&ClientFile>>> = LazyLock::new(|| {
    let mut groups: BTreeMap<&str, Vec<&ClientFile>> = BTreeMap::new();
    for file in CLIENT_FILES.iter().filter(|file| !file.is_pattern()) {
        groups.entry(file.names().next().unwrap_or_default()).or_default().push(file);
    }
    groups
});

/// What a protected name directly in the root stands for, if a place is that under another name; `is_exempt` is asked of
/// the protected name.
pub(crate) fn alias(place: &Place, root: &Path, is_exempt: &dyn Fn(&Path) -> bool) -> Option<Protection> {
    let (key, links) = place.key_and_links().unzip();
    let asked = Asked { place, key, links: links.unwrap_or_default() };
    let git = root.join(".git");
    if is_link(&git) && asked.is_below(&git) && !is_exempt(&git) {
        return Some(Protection::Git);
    }
    for (first, files) in BY_FIRST_NAME.iter() {
        let top = root.join(first);
        let Ok(metadata) = top.symlink_metadata() else { continue };
        for file in files {
            let path = root.join(file.path.trim_end_matches('/'));
            if asked.is_named_by(file, &path, &metadata) && !is_exempt(&path) {
                return Some(Protection::ClientFile(file));
            }
        }
    }
    None
}

/// The place that is asked about.
struct Asked<'a> {
    place: &'a Place,
    /// Device and inode of what is there.
    key: Option<(u64, u64)>,
    /// How many names that has.
    links: u64,
}

impl Asked<'_> {
    /// Whether a client's file, at `path`, is this place under another name; `top` is the metadata of the first of its
    /// names.
    fn is_named_by(&self, file: &ClientFile, path: &Path, top: &Metadata) -> bool {
        let names = file.names().count();
        let is_linked = top.is_symlink() || path.ancestors().take(names.saturating_sub(1)).any(is_link);
        if file.is_directory() {
            return is_linked && self.is_below(path);
        }
        if is_linked {
            return match (self.key, key_of(path)) {
                (Some(own), Some(key)) => own == key,
                // What the link leads to is still to be made.
                (None, None) => self.place.path == led_to(path),
                _ => false,
            };
        }
        self.links > 1 && self.key.is_some() && self.key == key_of(path)
    }

    /// Whether the place lies in a directory, by whatever name, or is it.
    fn is_below(&self, directory: &Path) -> bool {
        match key_of(directory) {
            Some(key) => self.place.path.ancestors().any(|above| key_of(above) == Some(key)),
            None => self.place.path.starts_with(led_to(directory)),
        }
    }
}

fn key_of(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().as_ref().and_then(platform::key_of)
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
}

/// Where a path leads by links, whether or not there is anything.
fn led_to(path: &Path) -> PathBuf {
    followed(path, &mut { LINKS })
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
