//! Configured directories that are not served, and why: data only. [`crate::access::roots::Roots`] keeps them beside those that are
//! served, so that a call that names one is told the reason.

use std::path::{Path, PathBuf};

use crate::error::{StoreError, StoreErrorKind};

/// A directory as it was configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Its name as it was written.
    pub named: PathBuf,
    /// The absolute path that this means.
    pub path: PathBuf,
}

/// A directory that was to be served, and is not as long as this process lives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unserved {
    /// Its name as it was written; empty if none was, or an empty one.
    pub named: PathBuf,
    /// The absolute path that this means; empty where it means none.
    pub path: PathBuf,
    /// Why it is not.
    pub why: WhyUnserved,
}

/// Why a directory is not served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhyUnserved {
    /// It cannot be opened.
    Failed {
        /// Why, as far as a person can act on it.
        kind: StoreErrorKind,
        /// Whether it is a file.
        is_file: bool,
        /// The system's own words.
        cause: Box<str>,
    },
    /// Its name is empty.
    Empty,
    /// None was named, and the current one is that of all files of the machine, or of a person.
    OnlyWhenNamed,
    /// It is named from the current directory on, or is that, and the current directory cannot be read; the system's own
    /// words.
    NoCurrentDirectory(String),
}

impl Unserved {
    /// The directory could not be opened just now.
    pub(crate) fn failed(wanted: &Wanted, error: &StoreError) -> Self {
        let cause = error.source.as_ref().map_or_else(|| error.kind.to_string(), ToString::to_string);
        let is_file = error.kind == StoreErrorKind::NotADirectory && wanted.path.is_file();
        let why = WhyUnserved::Failed { kind: error.kind.clone(), is_file, cause: cause.into() };
        Self { named: wanted.named.clone(), path: wanted.path.clone(), why }
    }

    /// Whether a path lies in it, by its text.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        matches!(self.why, WhyUnserved::Failed { .. }) && path.starts_with(&self.path)
    }
}
