//! Defines the configured directories that are not served, and the reasons. [`crate::access::roots::Roots`]
//! keeps them beside the served ones, so a call that names one gets the reason.

use std::path::{Path, PathBuf};

use mcp_text_editor_core::file_names::same_name;

use crate::error::{StoreError, StoreErrorKind};
use crate::os;

/// A directory as it was configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfiguredDirectory {
    /// The name of the directory as it was written.
    pub named: PathBuf,
    /// The absolute path that this name means.
    pub path: PathBuf,
}

/// A directory that was to be served, but is not: until the process ends, or until the directory's volume
/// answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unserved {
    /// The name of the directory as it was written; empty if none was written, or an empty one.
    pub named: PathBuf,
    /// The absolute path that this name means; empty if it means none.
    pub path: PathBuf,
    /// The reason why the directory is not served.
    pub why: WhyUnserved,
}

/// The reasons why a directory is not served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhyUnserved {
    /// The directory cannot be opened.
    Failed {
        /// The error, as far as a person can act on it.
        kind: StoreErrorKind,
        /// Whether the path names a file.
        is_file: bool,
        /// Whether it may become possible to open the directory later: its volume, or the way to it, does not
        /// answer now.
        is_temporary: bool,
        /// The system's own message.
        cause: Box<str>,
    },
    /// The name is empty.
    Empty,
    /// No directory was named, and the current one, which would be the default, is served only if it is
    /// named.
    OnlyWhenNamed(FileOwner),
    /// The directory is the current one, or named relative to it, and the current directory cannot be read.
    /// The text is the system's own message.
    NoCurrentDirectory(String),
}

/// The owners of the files in a directory that is served only when a person names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileOwner {
    /// The machine: the directory is the top of a file system or of a drive.
    Machine,
    /// The system, or an installed program.
    System,
    /// All people who have a home there.
    People,
    /// One person.
    Person,
}

/// Tells whose files lie in a directory that is served only when named; `None` if it can be served by
/// default. `home` is the person's home directory. The directories `of_system`, and all below them, belong to
/// the system or its programs. All are real paths. Two names count as the same if they are the same on any
/// file system.
#[must_use]
pub fn only_when_named(directory: &Path, home: Option<&Path>, of_system: &[PathBuf]) -> Option<FileOwner> {
    let lies_in = |above: &Path| {
        let mut names = directory.iter();
        above.iter().all(|part| names.next().is_some_and(|own| same_name(part, own)))
    };
    let is = |other: &Path| directory.iter().count() == other.iter().count() && lies_in(other);
    if directory.parent().is_none() {
        Some(FileOwner::Machine)
    } else if home.is_some_and(is) {
        Some(FileOwner::Person)
    } else if home.and_then(Path::parent).is_some_and(is) {
        Some(FileOwner::People)
    } else {
        of_system.iter().any(|above| lies_in(above)).then_some(FileOwner::System)
    }
}

/// Tells whether two paths lead to the same directory, through any links, drives and shares.
#[must_use]
pub fn is_same_directory(one: &Path, other: &Path) -> bool {
    let key = os::key_of_path(one);
    key.is_some() && key == os::key_of_path(other)
}

impl Unserved {
    /// Describes a directory that could not be opened just now.
    pub(crate) fn failed(wanted: &ConfiguredDirectory, error: &StoreError) -> Self {
        let cause = error.source.as_ref().map_or_else(|| error.kind.to_string(), ToString::to_string);
        let is_file = error.kind == StoreErrorKind::NotADirectory && wanted.path.is_file();
        let is_temporary = error.source.as_ref().is_some_and(os::is_away);
        let why =
            WhyUnserved::Failed { kind: error.kind.clone(), is_file, is_temporary, cause: cause.into() };
        Self { named: wanted.named.clone(), path: wanted.path.clone(), why }
    }

    /// Tells whether it may become possible to open the directory later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self.why, WhyUnserved::Failed { is_temporary: true, .. })
    }

    /// Tells whether a path, by its text, lies in a directory that cannot be opened.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        matches!(self.why, WhyUnserved::Failed { .. }) && path.starts_with(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_only_when_named() {
        let system =
            ["/Windows", "/Program Files", "/Program Files (x86)", "/ProgramData"].map(PathBuf::from);
        let check = |directory: &str, whose| {
            let home = Some(Path::new("/Users/ada"));
            assert_eq!(only_when_named(Path::new(directory), home, &system), whose, "{directory}");
        };
        check("/", Some(FileOwner::Machine));
        check("/Users", Some(FileOwner::People));
        check("/users", Some(FileOwner::People));
        check("/Users/ada", Some(FileOwner::Person));
        check("/Users/ADA", Some(FileOwner::Person));
        check("/Users/ada/project", None);
        check("/Users/bob", None);
        check("/Windows", Some(FileOwner::System));
        check("/WINDOWS/System32", Some(FileOwner::System));
        check("/Program Files (x86)/Client/app-1.0", Some(FileOwner::System));
        check("/ProgramData/a", Some(FileOwner::System));
        check("/Windows.old", None);
        check("/work", None);
        let system = ["/System", "/Library", "/private/etc"].map(PathBuf::from);
        let check = |directory: &str| only_when_named(Path::new(directory), None, &system);
        assert_eq!(["/system", "/Library/Fonts", "/private/etc"].map(check), [Some(FileOwner::System); 3]);
        assert_eq!(["/private/tmp/a", "/Users/ada/Library", "/Systems"].map(check), [None; 3]);
        assert_eq!(only_when_named(Path::new("/Users"), None, &[]), None);
    }

    #[test]
    fn a_directory_is_the_same_by_whatever_path() {
        let above = tempfile::tempdir().unwrap();
        let (one, other) = (above.path().join("one"), above.path().join("other"));
        for directory in [&one, &other] {
            std::fs::create_dir(directory).unwrap();
        }
        assert!(is_same_directory(&one, &other.join("..").join("one")));
        assert!(!is_same_directory(&one, &other));
        assert!(!is_same_directory(&one, &above.path().join("missing")));
        assert!(!is_same_directory(&above.path().join("missing"), &above.path().join("missing")));
    }
}
