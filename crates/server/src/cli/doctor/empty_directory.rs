//! A directory in which a program that is not this one can be started: empty, and with nothing above it that
//! a project holds.
//!
//! Package runners run and believe what lies in the directory that they are started in and above it: npx
//! `node_modules/.bin`, `package.json` and `.npmrc`, uvx `uv.toml` and `.python-version`. So do wrappers that
//! choose a version of Node or Python.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};

/// The most names that are tried, where one is left of a process that was killed.
const TRIES: u32 = 64;

/// An empty directory of this process's own; it is gone with all that is in it once this is dropped.
#[derive(Debug)]
pub(super) struct EmptyDirectory(PathBuf);

impl EmptyDirectory {
    /// Makes one where a person's programs keep what they can do without: below the home directory, and not
    /// where everybody's temporary files are, since others could put a `node_modules` there.
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
