//! Finds out whether file locks hold between machines, as far as the list of mounts shows: [`FileLocks`].

use crate::root_names::mount::Mount;

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
