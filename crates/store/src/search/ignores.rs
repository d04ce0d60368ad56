//! The files that a walk leaves out: the ignore files from a root downwards ([`Ignores`]).
//!
//! What a line says is git's affair ([`mcp_text_editor_core::path_rules`]). Which files count is ripgrep's:
//! `.rgignore` outranks `.ignore`, that `.gitignore`, that `.git/info/exclude`, and of files of one name the
//! one that stands deeper; of `.gitignore` and `exclude` those above a directory that has a `.git` do not
//! count in it. A `.gitignore` counts where there is no `.git`, too. What stands above the root, and git's
//! configuration, do not count. Letter case does.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use mcp_text_editor_core::path_rules::{Notation, PathRules};

use crate::os;
use crate::os::directory::Dir;
use crate::os::patience::while_stale;
use crate::search::start::WalkStart;

/// The names of ignore files, the one that outranks the others first.
pub(crate) const NAMES: [&str; 3] = [".rgignore", ".ignore", GITIGNORE];
const GITIGNORE: &str = ".gitignore";
/// The directory in which git keeps what is its own.
pub(crate) const GIT: &str = ".git";
/// The most bytes of an ignore file.
const LARGEST: u64 = 1 << 20;
/// The most bytes of memory that the rules may take which count in one directory. So a call takes no more for
/// them, wherever its walk is.
const HEAVIEST: usize = 8 << 20;

/// The rules for what is ignored in a directory, by its own ignore files and those above.
#[derive(Debug, Default)]
pub(crate) struct Ignores {
    /// By each of [`NAMES`], then by `.git/info/exclude`.
    files: [Option<PathRules>; 4],
    /// The bytes of memory that these and those above take.
    weight: usize,
    has_git: bool,
    /// The length in bytes of the part of a path from the root to this directory, the last separator
    /// included.
    prefix: usize,
    above: Option<Arc<Ignores>>,
}

/// The ignore files that a directory has.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Present {
    pub(crate) files: [bool; 3],
    /// True if it has a `.git`, be it a directory or a file.
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

    fn all() -> Self {
        Self { files: [true; 3], git: true }
    }

    fn is_empty(self) -> bool {
        self.files == [false; 3] && !self.git
    }
}

/// The function that is told the name of an ignore file that is not honoured.
type NotHonoured<'a> = &'a mut dyn FnMut(&str);

impl Ignores {
    /// Returns what is ignored in a directory: by the files that it has, of which `present` tells, and by
    /// those above. `relative` is its path from the root on, with a slash between names, and at its end
    /// unless it is empty.
    pub(crate) fn of(
        above: &Arc<Self>,
        directory: &Dir,
        relative: &str,
        present: Present,
        not_honoured: NotHonoured<'_>,
    ) -> Arc<Self> {
        if present.is_empty() {
            return above.clone();
        }
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
                // Those of ripgrep are written for it.
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

    /// Returns what is ignored where a walk starts, by the files from the root to the directory above it, if
    /// they are honoured; and the path from the root to it, with a slash between names, and at its end unless
    /// it is empty.
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

    /// Tells whether a path, from the root on, is ignored; its directory is the one that these are of, or
    /// below it. If `goes_on` says no meanwhile, what is returned means nothing.
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

/// Returns which ignore files a directory has whose names are not read.
fn looked_for(directory: &Dir) -> Present {
    let mut present = Present::all();
    let is_there = |name| while_stale(|| directory.symlink_metadata(name)).is_ok();
    for (name, present) in NAMES.iter().zip(&mut present.files) {
        *present = is_there(*name);
    }
    present.git = is_there(GIT);
    present
}

/// Returns the rules of an ignore file; `None` if there is no such file, or no rule in it. A link is not
/// followed, as git has it.
fn read(directory: &Dir, name: &str, notation: Notation) -> Result<Option<PathRules>, ()> {
    let bytes = match while_stale(|| bytes_of(directory, Path::new(name))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(|_| ())?,
    };
    let rules = PathRules::of_file(&bytes, notation);
    Ok((!rules.is_empty() || rules.is_cut()).then_some(rules))
}

/// Returns what a regular file that is not too large holds.
fn bytes_of(directory: &Dir, name: &Path) -> io::Result<Vec<u8>> {
    let file = os::open_to_read_file(directory, name)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}
