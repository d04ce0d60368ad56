//! Mounts file systems for tests. Only root is allowed to mount.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::UnmountFlags;

/// A file system that is mounted until this value is dropped.
pub(crate) struct Mounted {
    at: PathBuf,
    _home: Option<tempfile::TempDir>,
}

impl Mounted {
    /// Creates a file system of this kind in a file of `mib` MiB, with these options of mkfs(8), and mounts
    /// it. If that is impossible, prints a message and returns `None`.
    pub(crate) fn disk(kind: &str, options: &[&str], mib: u64) -> Option<Self> {
        Self::new(kind, |home, at| {
            let disk = home.join("disk");
            std::fs::File::create(&disk).unwrap().set_len(mib << 20).unwrap();
            run(&format!("mkfs.{kind}"), &[&["-q"], options].concat(), &[&disk])
                && run("mount", &["-o", "loop"], &[&disk, at])
        })
    }

    /// Mounts a directory once more, through FUSE, with these options of bindfs(1).
    pub(crate) fn fuse(directory: &Path, options: &[&str]) -> Option<Self> {
        Self::new("FUSE", |_, at| run("bindfs", options, &[directory, at]))
    }

    /// Mounts a file over a file, or a directory over a directory.
    pub(crate) fn bind(from: &Path, to: &Path) -> Option<Self> {
        let is_mounted = rustix::mount::mount_bind(from, to).is_ok();
        Self::if_mounted(is_mounted, "a file or directory", to.to_owned(), None)
    }

    fn new(kind: &str, mount: impl FnOnce(&Path, &Path) -> bool) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().join("mounted");
        std::fs::create_dir(&at).unwrap();
        let is_mounted = mount(home.path(), &at);
        Self::if_mounted(is_mounted, kind, at, Some(home))
    }

    fn if_mounted(
        is_mounted: bool,
        what: &str,
        at: PathBuf,
        home: Option<tempfile::TempDir>,
    ) -> Option<Self> {
        if is_mounted {
            return Some(Self { at, _home: home });
        }
        assert!(std::env::var_os("REQUIRE_ALL").is_none(), "{what} cannot be mounted");
        eprintln!("skipped: {what} cannot be mounted");
        None
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.at.join(name)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.at, UnmountFlags::DETACH).ok();
    }
}

fn run(program: &str, options: &[&str], paths: &[&Path]) -> bool {
    let status =
        Command::new(program).args(options).args(paths).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
