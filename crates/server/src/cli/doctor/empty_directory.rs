//! An empty directory in which another program than this one can be started. The directories above it hold
//! nothing of a project.
//!
//! Package runners obey, and run, files in their working directory and above it: npx `node_modules/.bin`,
//! `package.json` and `.npmrc`, uvx `uv.toml` and `.python-version`. So do wrappers that choose a version of
//! Node or Python.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};

/// The most names that are tried: killed processes may have left theirs.
const TRIES: u32 = 64;

/// An empty directory of this process. It is removed on drop, with everything in it.
#[derive(Debug)]
pub(super) struct EmptyDirectory(PathBuf);

impl EmptyDirectory {
    /// Makes one in the person's cache directory. It is not made where everybody's temporary files are, since
    /// others could put a `node_modules` there.
    pub(super) fn new() -> io::Result<Self> {
        let places = choose_native_strategy().map_err(|_| ErrorKind::NotFound)?;
        let cache = places.cache_dir().join("mcp-text-editor");
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&cache)?;
        builder.recursive(false);
        for number in 0..TRIES {
            let path = cache.join(format!("doctor-{}-{number}", std::process::id()));
            match builder.create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                done => return done.map(|()| Self(path)),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for EmptyDirectory {
    fn drop(&mut self) {
        // What is left there does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
