//! Finds out what a mount promises: how long it can hide the changes of other machines ([`Caches`]), and
//! whether file locks hold between machines, as far as the list of mounts shows ([`FileLocks`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mcp_text_editor_store::backend::network_file_system;

use crate::root_names::mount::{Mount, read_names, read_number};

/// The time for which this machine can still see the old state of a file after another machine has changed
/// the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caches {
    /// The file system's type, as the system lists it; empty if the system does not list it.
    pub kind: String,
    /// The maximum of this time; `None` if the mount does not specify it.
    pub lifetime: Option<Duration>,
}

impl Caches {
    /// The maximum lifetime that recovery waits for.
    const LONGEST: Duration = Duration::from_secs(5);

    /// Returns the lifetime, if it is so short that recovery can wait for its end before it examines the
    /// files of another machine's call.
    #[must_use]
    pub fn bearable(&self) -> Option<Duration> {
        self.lifetime.filter(|lifetime| *lifetime <= Self::LONGEST)
    }
}

/// The lifetimes that clients of `GlusterFS` have reported, by the directory of the mount. They are
/// remembered because Landlock may deny reading them later, and because the client does not answer while the
/// volume is unreachable.
#[derive(Default, Debug)]
pub(super) struct Lifetimes(Mutex<BTreeMap<PathBuf, Duration>>);

/// Derives the lifetime from the options of a mount: nfs(5) (`lookupcache`, `acdirmax`), mount.cifs(8)
/// (`actimeo`). Ceph, Lustre, OCFS2 and GFS2 keep caches coherent. A local file system has no such caches.
pub(super) fn caches(mount: &Mount, known: &Lifetimes) -> Caches {
    let is_set = |option: &str| mount.options.split(',').any(|set| set == option);
    let seconds = |option: &str| {
        let value = mount.options.split(',').find_map(|set| set.strip_prefix(option)?.strip_prefix('='));
        value?.parse().ok().map(Duration::from_secs)
    };
    let lifetime = match mount.kind.as_str() {
        // Each open queries the server for the attributes of the file, unless `nocto` is set. So only the
        // cached name can be outdated, and these options disable that cache.
        "nfs" | "nfs4" if is_set("noac") || is_set("lookupcache=none") && !is_set("nocto") => {
            Some(Duration::ZERO)
        }
        // Both options are listed only if they differ from the default.
        "nfs" | "nfs4" => {
            let of = |option| seconds(option).unwrap_or(Duration::from_mins(1));
            Some(of("acdirmax").max(of("acregmax")))
        }
        // Without the server's inode numbers, files of different names cannot be distinguished.
        "cifs" | "smb3" if is_set("cache=loose") || !is_set("serverino") => None,
        "cifs" | "smb3" => {
            seconds("actimeo").or_else(|| Some(seconds("acdirmax")?.max(seconds("acregmax")?)))
        }
        "glusterfs" | "fuse.glusterfs" => known.of_glusterfs(&mount.point),
        "ceph" | "fuse.ceph" | "lustre" | "ocfs2" | "gfs2" | "fuseblk" => Some(Duration::ZERO),
        "9p" | "acfs" | "afs" | "beegfs" | "coda" | "fuse" | "gpfs" | "orangefs" | "prl_fs" | "vboxsf"
        | "virtiofs" | "vmhgfs" => None,
        kind if kind.starts_with("fuse.") => None,
        _ => Some(Duration::ZERO),
    };
    Caches { kind: mount.kind.clone(), lifetime }
}

/// Returns the caches on a system without a list of mounts: none for a local file system, and unknown ones
/// for a network file system. On Linux, which has a list, they are unknown if the list cannot be read.
pub(super) fn caches_unlisted(path: &Path) -> Caches {
    let network = network_file_system(path).ok();
    let is_here = cfg!(not(target_os = "linux")) && network == Some(None);
    Caches {
        kind: network.flatten().unwrap_or_default().to_owned(),
        lifetime: is_here.then_some(Duration::ZERO),
    }
}

impl Lifetimes {
    fn of_glusterfs(&self, point: &Path) -> Option<Duration> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lifetime) = of_glusterfs(point) {
            known.insert(point.to_owned(), lifetime);
        }
        known.get(point).copied()
    }
}

/// Reads the options of the `GlusterFS` client, which it shows in the directory `.meta` of the mount. The
/// timeouts of the kernel and of the client add up: the client may answer the kernel from its own cache.
fn of_glusterfs(point: &Path) -> Option<Duration> {
    let meta = point.join(".meta");
    // Options that are not listed have the default value.
    let seconds = |directory: &Path, option: &str, default: f64| {
        let value = read_number(&directory.join(option)).ok()?.unwrap_or(default);
        Duration::try_from_secs_f64(value).ok()
    };
    let (kernel, graph) = (meta.join("root/options"), meta.join("graphs/active"));
    let names = read_names(&graph).ok()?;
    let mut lifetime =
        seconds(&kernel, "attribute-timeout", 1.0)?.max(seconds(&kernel, "entry-timeout", 1.0)?);
    for (translator, option, default) in
        [("-md-cache", "md-cache-timeout", 1.0), ("-nl-cache", "nl-cache-timeout", 60.0)]
    {
        for name in names.iter().filter(|name| name.to_string_lossy().ends_with(translator)) {
            lifetime += seconds(&graph.join(name).join("options"), option, default)?;
        }
    }
    Some(lifetime)
}

/// The reach of a lock on a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileLocks {
    /// A lock also excludes other machines, according to the file system's type and options.
    AmongMachines,
    /// A lock holds only on this machine, or in this mount.
    Here {
        /// The file system's type, as the system lists it.
        kind: String,
        /// The mount option that causes this; `None` if the type does.
        option: Option<&'static str>,
    },
    /// The list of mounts does not show the reach of a lock.
    Unknown,
}

/// Derives the reach of flock(2) from the options of a mount: nfs(5) (`local_lock`), mount.cifs(8) (`nobrl`),
/// mount.lustre(8), and the kernel's documents of ocfs2 and gfs2.
pub(super) fn locks(mount: &Mount) -> FileLocks {
    let local: &[&'static str] = match mount.kind.as_str() {
        "nfs" | "nfs4" => &["local_lock=all", "local_lock=flock", "nolock"],
        "cifs" | "smb3" => &["nobrl"],
        "lustre" => &["localflock", "noflock"],
        "ocfs2" | "gfs2" => &["localflocks"],
        "ceph" | "fuse.ceph" | "glusterfs" | "fuse.glusterfs" | "fuse.juicefs" => &[],
        "fuse.sshfs" => return FileLocks::Here { kind: mount.kind.clone(), option: None },
        _ => return FileLocks::Unknown,
    };
    let is_set = |option: &&&'static str| mount.options.split(',').any(|set| set == **option);
    match local.iter().find(is_set) {
        Some(option) => FileLocks::Here { kind: mount.kind.clone(), option: Some(option) },
        // Lustre lists `flock` if its locks hold between machines.
        None if mount.kind == "lustre" && !is_set(&&"flock") => FileLocks::Unknown,
        None => FileLocks::AmongMachines,
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::fs;

    use super::*;
    use crate::root_names::mount::mounts;

    fn of(kind: &str, options: &str, point: &Path, known: &Lifetimes) -> Option<u64> {
        let line = format!("22 1 8:1 / {} rw - {kind} source {options}\n", point.display());
        let found = caches(&mounts(line.as_bytes())[0], known);
        assert_eq!(found.kind, kind);
        assert_eq!(found.bearable(), found.lifetime.filter(|lifetime| lifetime.as_secs() <= 5));
        found.lifetime.map(|lifetime| lifetime.as_secs())
    }

    #[test]
    fn a_mount_tells_how_long_it_remembers() {
        for (kind, options, expected) in [
            ("ext4", "rw", Some(0)),
            ("overlay", "rw,lowerdir=/a", Some(0)),
            ("fuseblk", "rw", Some(0)),
            ("ceph", "rw", Some(0)),
            ("nfs4", "rw,vers=4.2", Some(60)),
            ("nfs4", "rw,lookupcache=none", Some(0)),
            ("nfs4", "rw,lookupcache=none,nocto", Some(60)),
            ("nfs", "rw,lookupcache=pos,acregmin=1,acregmax=1,acdirmin=1,acdirmax=1", Some(1)),
            ("nfs", "rw,acdirmax=1", Some(60)),
            ("nfs", "rw,noac,acregmax=0", Some(0)),
            ("cifs", "rw,cache=strict,serverino,actimeo=1,closetimeo=1", Some(1)),
            ("smb3", "rw,cache=strict,serverino,acdirmax=60,acregmax=1", Some(60)),
            ("cifs", "rw,cache=loose,serverino,actimeo=1", None),
            ("cifs", "rw,cache=strict,actimeo=1", None),
            ("cifs", "rw,cache=strict,serverino", None),
            ("fuse.juicefs", "rw", None),
            ("fuse", "rw", None),
            ("virtiofs", "rw", None),
            ("fuse.glusterfs", "rw", None),
        ] {
            let none = Path::new("/none-of-a-test");
            assert_eq!(of(kind, options, none, &Lifetimes::default()), expected, "{kind} {options}");
        }
    }

    #[test]
    fn the_client_of_glusterfs_tells_its_timeouts_and_they_add_up() {
        let (mount, known) = (tempfile::tempdir().unwrap(), Lifetimes::default());
        let lifetime = || of("fuse.glusterfs", "rw", mount.path(), &known);
        let set = |path: &str, value: &str| {
            let path = mount.path().join(".meta").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value).unwrap();
        };
        set("root/options/auto-invalidation", "0\n");
        set("graphs/active/work-dht/name", "work-dht\n");
        assert_eq!(lifetime(), Some(1));
        set("graphs/active/work-md-cache/name", "work-md-cache\n");
        assert_eq!(lifetime(), Some(2));
        set("root/options/attribute-timeout", "0.000000\n");
        set("root/options/entry-timeout", "3.000000\n");
        assert_eq!(lifetime(), Some(4));
        set("graphs/active/work-md-cache/options/md-cache-timeout", "600\n");
        assert_eq!(lifetime(), Some(603));
        set("graphs/active/work-nl-cache/name", "work-nl-cache\n");
        assert_eq!(lifetime(), Some(663));
        // While the client does not answer, its last values are used.
        fs::rename(mount.path().join(".meta"), mount.path().join("away")).unwrap();
        assert_eq!(lifetime(), Some(663));
        fs::rename(mount.path().join("away"), mount.path().join(".meta")).unwrap();
        set("root/options/entry-timeout", "soon\n");
        assert_eq!(of("fuse.glusterfs", "rw", mount.path(), &Lifetimes::default()), None);
    }
}
