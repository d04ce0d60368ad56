//! The files that a walk leaves out: the ignore files from a root downwards ([`Ignores`]).
//!
//! A line means what it means to git; ripgrep's own files may also use braces
//! ([`mcp_text_editor_core::path_rules`]). The choice of files is that of ripgrep:
//! - `.rgignore` outranks `.ignore`, which outranks `.gitignore`, which outranks `.git/info/exclude`.
//! - Of several files with one name, the deepest one outranks the others.
//! - A `.gitignore` or `exclude` above a directory that has a `.git` does not count in that directory.
//! - A `.gitignore` counts even where there is no `.git`.
//! - Files above the root, and git's configuration, do not count. Letter case counts.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use mcp_text_editor_core::path_rules::{Notation, PathRules};

use crate::os;
use crate::os::directory::Dir;
use crate::os::patience::while_stale;
use crate::search::start::WalkStart;

/// The names of ignore files, the one with the highest rank first.
pub(crate) const NAMES: [&str; 3] = [".rgignore", ".ignore", GITIGNORE];
const GITIGNORE: &str = ".gitignore";
/// The directory in which git keeps its own files.
pub(crate) const GIT: &str = ".git";
/// The most bytes of an ignore file.
const LARGEST: u64 = 1 << 20;
/// The most bytes of memory for all rules that count in one directory. So a call never takes more for them,
/// wherever its walk is.
const HEAVIEST: usize = 8 << 20;

/// The rules that tell what is ignored in a directory: those of its own ignore files and of those above.
#[derive(Debug, Default)]
pub(crate) struct Ignores {
    /// The rules of each of [`NAMES`], then those of `.git/info/exclude`.
    files: [Option<PathRules>; 4],
    /// The bytes of memory that these rules and those above take.
    weight: usize,
    has_git: bool,
    /// The length in bytes of the path from the root to this directory, with the last separator.
    prefix: usize,
    above: Option<Arc<Ignores>>,
}

/// The ignore files that a directory has.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Present {
    pub(crate) files: [bool; 3],
    /// True if it has a `.git`, as a directory or as a file.
    pub(crate) git: bool,
}

impl Present {
    /// Notes a name that the directory has.
    pub(crate) fn note(&mut self, name: &str) {
        if !name.starts_with('.') {
            return;
        }
        self.git |= name == GIT;
        for (known, present) in NAMES.iter().zip(&mut self.files) {
            *present |= name == *known;
        }
    }
}

/// The function that gets the name of each ignore file that is not honoured.
type NotHonoured<'a> = &'a mut dyn FnMut(&str);

impl Ignores {
    /// Returns the rules for a directory: those of its own files, which `present` tells, and those from
    /// above. `relative` is its path from the root on, with a slash between names and at its end, or empty.
    pub(crate) fn of(
        above: &Arc<Self>,
        directory: &Dir,
        relative: &str,
        present: Present,
        not_honoured: NotHonoured<'_>,
    ) -> Arc<Self> {
        let mut files = [const { None }; 4];
        let mut weight = above.weight;
        let mut take = |slot: &mut Option<PathRules>, read: Result<Option<PathRules>, ()>, name: &str| {
            let rules = read.unwrap_or_else(|()| {
                not_honoured(name);
                None
            });
            let Some(rules) = rules else { return };
            let is_too_much = rules.weight() > HEAVIEST.saturating_sub(weight);
            if is_too_much || rules.is_cut() {
                not_honoured(name);
            }
            if !is_too_much {
                weight += rules.weight();
                *slot = Some(rules);
            }
        };
        for ((slot, name), is_there) in files.iter_mut().zip(NAMES).zip(present.files) {
            if is_there {
                // The files of ripgrep are written in its own notation.
                let notation = if name == GITIGNORE { Notation::Git } else { Notation::Braces };
                take(slot, read(directory, name, notation), name);
            }
        }
        if let (true, Some(slot)) = (present.git, files.last_mut()) {
            let open =
                |directory: &Dir, name: &str| while_stale(|| os::open_to_list(directory, Path::new(name)));
            let info = open(directory, GIT).and_then(|git| open(&git, "info"));
            if let Ok(info) = info {
                take(slot, read(&info, "exclude", Notation::Git), ".git/info/exclude");
            }
        }
        if files.iter().all(Option::is_none) && !present.git {
            return above.clone();
        }
        Arc::new(Self {
            files,
            weight,
            has_git: present.git,
            prefix: relative.len(),
            above: Some(above.clone()),
        })
    }

    /// Returns the rules above the start of a walk, if they are honoured: those of the files from the root to
    /// the directory above it. Also returns the path from the root to the start, with a slash between names
    /// and at its end, or empty.
    pub(crate) fn above(
        start: &WalkStart,
        is_honoured: bool,
        not_honoured: NotHonoured<'_>,
    ) -> (Arc<Self>, String) {
        let mut ignores = Arc::new(Self::default());
        let mut relative = String::new();
        let mut directory = os::open_to_list(&start.root, Path::new(".")).ok().filter(|_| is_honoured);
        for name in &start.above {
            if let Some(above) = directory {
                ignores = Self::of(&ignores, &above, &relative, looked_for(&above), not_honoured);
                directory = while_stale(|| os::open_to_list(&above, Path::new(name))).ok();
            }
            relative.push_str(&name.to_string_lossy());
            relative.push('/');
        }
        (ignores, relative)
    }

    /// Tells whether a path, given from the root on, is ignored. The path must lie in the directory of these
    /// rules, or below it. If `goes_on` says no meanwhile, the result means nothing.
    pub(crate) fn ignore(
        &self,
        relative: &str,
        is_directory: bool,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        let mut found: [Option<bool>; 4] = [None; 4];
        let mut is_beyond_git = false;
        let mut level = Some(self);
        while let Some(ignores) = level {
            let path = relative.get(ignores.prefix..).unwrap_or(relative);
            for (index, (rules, found)) in ignores.files.iter().zip(&mut found).enumerate() {
                let is_git = index >= 2;
                if let (Some(rules), None, false) = (rules, *found, is_git && is_beyond_git) {
                    *found = rules.verdict(path, is_directory, goes_on);
                }
            }
            is_beyond_git |= ignores.has_git;
            level = ignores.above.as_deref();
        }
        found.into_iter().flatten().next().unwrap_or(false)
    }
}

/// Returns which ignore files a directory has. Looks for each, since the names in the directory are not read.
fn looked_for(directory: &Dir) -> Present {
    let is_there = |name| while_stale(|| directory.symlink_metadata(name)).is_ok();
    Present { files: NAMES.map(is_there), git: is_there(GIT) }
}

/// Returns the rules of an ignore file; `None` if there is no such file, or no rule in it. A link is not
/// followed, as in git.
fn read(directory: &Dir, name: &str, notation: Notation) -> Result<Option<PathRules>, ()> {
    let bytes = match while_stale(|| bytes_of(directory, Path::new(name))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(|_| ())?,
    };
    let rules = PathRules::of_file(&bytes, notation);
    Ok((!rules.is_empty() || rules.is_cut()).then_some(rules))
}

/// Returns the bytes of a regular file that is not too large.
fn bytes_of(directory: &Dir, name: &Path) -> io::Result<Vec<u8>> {
    let file = os::open_to_read_file(directory, name)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}
