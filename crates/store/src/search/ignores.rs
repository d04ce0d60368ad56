//! Decides which files a walk leaves out, by the ignore files from the root (a directory that the server
//! serves) down: [`Ignores`].
//!
//! The syntax and the precedence are those of ripgrep:
//! - `.rgignore` outranks `.ignore`, which outranks `.gitignore`, which outranks `.git/info/exclude`.
//! - Among files of the same name, a deeper file outranks those above it.
//! - A `.gitignore` or `.git/info/exclude` above a directory with a `.git` does not apply in that directory.
//! - A `.gitignore` applies even without a `.git`.
//! - Files above the root, and git's configuration, do not apply. Letter case matters.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::os;
use crate::os::directory::Dir;
use crate::os::patience::while_stale;
use crate::search::globs::{add_line, verdict};
use crate::search::start::WalkStart;

/// The names of ignore files, from the highest to the lowest rank.
pub(crate) const NAMES: [&str; 3] = [".rgignore", ".ignore", ".gitignore"];
/// The directory in which git keeps its own files.
pub(crate) const GIT: &str = ".git";
/// The maximum number of bytes of all ignore files that apply in one directory. Their compiled rules take a
/// hundred times as much memory.
const MAX_BYTES: usize = 64 << 10;
/// The minimum number of bytes that each ignore file counts towards `MAX_BYTES`.
const MIN_WEIGHT: usize = 1 << 10;
/// The maximum number of bytes of a line: about the length of a path.
const MAX_LINE: usize = 1 << 10;

/// The rules that apply in a directory: those of its own ignore files, and of the ignore files above it.
#[derive(Debug, Default)]
pub(crate) struct Ignores {
    /// The directory's own rules: those of each of [`NAMES`], then those of `.git/info/exclude`.
    files: [Option<Gitignore>; 4],
    /// The number of bytes that these files and the files above count towards `MAX_BYTES`.
    weight: usize,
    has_git: bool,
    /// The length in bytes of the path from the root to this directory, with the last separator.
    prefix: usize,
    above: Option<Arc<Ignores>>,
}

/// The ignore files that exist in a directory.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Present {
    pub(crate) files: [bool; 3],
    /// Whether the directory has a `.git`, which can be a directory or a file.
    pub(crate) git: bool,
}

impl Present {
    /// Records the name of an entry of the directory, if it is an ignore file or `.git`.
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

/// A callback that gets the name of each ignore file that is skipped, wholly or in part.
type OnSkipped<'a> = &'a mut dyn FnMut(&str);

impl Ignores {
    /// Returns the rules for a directory: those of its own ignore files, which `present` lists, and the rules
    /// `above`. `relative` is the directory's path from the root, with a slash after each name; empty for the
    /// root.
    pub(crate) fn of(
        above: &Arc<Self>,
        directory: &Dir,
        relative: &str,
        present: Present,
        on_skipped: OnSkipped<'_>,
    ) -> Arc<Self> {
        let mut files = [const { None }; 4];
        let mut weight = above.weight;
        let mut take = |slot: &mut Option<Gitignore>, directory: &Dir, file: &str, name: &str| match read(
            directory,
            file,
            MAX_BYTES.saturating_sub(weight),
        ) {
            Ok(Some(file)) => {
                weight += file.weight;
                *slot = Some(file.lines);
                if file.is_cut {
                    on_skipped(name);
                }
            }
            Ok(None) => {}
            Err(_) => on_skipped(name),
        };
        for ((slot, name), is_there) in files.iter_mut().zip(NAMES).zip(present.files) {
            if is_there {
                take(slot, directory, name, name);
            }
        }
        if let (true, Some(slot)) = (present.git, files.last_mut()) {
            let open =
                |directory: &Dir, name: &str| while_stale(|| os::open_to_list(directory, Path::new(name)));
            let info = open(directory, GIT).and_then(|git| open(&git, "info"));
            if let Ok(info) = info {
                take(slot, &info, "exclude", ".git/info/exclude");
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

    /// Returns the rules above the start of a walk: those of the ignore files from the root to the parent
    /// directory of the start, or no rules if `is_honoured` is not set. Also returns the path from the root
    /// to the start, with a slash after each name; empty for the root.
    pub(crate) fn above(
        start: &WalkStart,
        is_honoured: bool,
        on_skipped: OnSkipped<'_>,
    ) -> (Arc<Self>, String) {
        let mut ignores = Arc::new(Self::default());
        let mut relative = String::new();
        let mut directory = os::open_to_list(&start.root, Path::new(".")).ok().filter(|_| is_honoured);
        for name in &start.above {
            if let Some(above) = directory {
                ignores = Self::of(&ignores, &above, &relative, look_up(&above), on_skipped);
                directory = while_stale(|| os::open_to_list(&above, Path::new(name))).ok();
            }
            relative.push_str(&name.to_string_lossy());
            relative.push('/');
        }
        (ignores, relative)
    }

    /// Whether a path is ignored. `relative` is the path from the root. It must lie below the directory of
    /// these rules.
    pub(crate) fn ignore(&self, relative: &str, is_directory: bool) -> bool {
        let mut verdicts: [Option<bool>; 4] = [None; 4];
        let mut is_beyond_git = false;
        let mut level = Some(self);
        while let Some(ignores) = level {
            let path = relative.get(ignores.prefix..).unwrap_or(relative);
            for (index, (lines, decided)) in ignores.files.iter().zip(&mut verdicts).enumerate() {
                let is_git = index >= 2;
                if let (Some(lines), None, false) = (lines, *decided, is_git && is_beyond_git) {
                    *decided = verdict(lines, path, is_directory);
                }
            }
            is_beyond_git |= ignores.has_git;
            level = ignores.above.as_deref();
        }
        verdicts.into_iter().flatten().next().unwrap_or(false)
    }
}

/// Looks up the ignore files of a directory whose entries the walk does not list.
fn look_up(directory: &Dir) -> Present {
    let is_there = |name| while_stale(|| directory.symlink_metadata(name)).is_ok();
    Present { files: NAMES.map(is_there), git: is_there(GIT) }
}

/// The lines of an ignore file.
struct IgnoreFile {
    lines: Gitignore,
    weight: usize,
    /// Whether a line was too long, and was left out.
    is_cut: bool,
}

/// Reads an ignore file of at most `limit` bytes. Returns `None` if there is no such file, or no rule in it.
/// Follows no link, like git. Skips invalid lines, like ripgrep, and lines that are too long.
fn read(directory: &Dir, name: &str, limit: usize) -> io::Result<Option<IgnoreFile>> {
    let bytes = match while_stale(|| bytes_of(directory, Path::new(name), limit)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let mut lines = GitignoreBuilder::new("");
    let mut is_cut = false;
    for line in bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes).split(|byte| *byte == b'\n') {
        is_cut |= line.len() > MAX_LINE;
        if let (Ok(line), ..=MAX_LINE) = (std::str::from_utf8(line), line.len()) {
            let _ = add_line(&mut lines, line);
        }
    }
    let lines = lines.build().map_err(io::Error::other)?;
    let weight = bytes.len().max(MIN_WEIGHT);
    Ok((!lines.is_empty() || is_cut).then_some(IgnoreFile { lines, weight, is_cut }))
}

/// Reads a regular file of at most `limit` bytes.
fn bytes_of(directory: &Dir, name: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let file = os::open_file_to_read(directory, name)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}
