//! Compiles the globs of a request ([`Globs`]) and the lines of ignore files. Both have the syntax of
//! ripgrep, and are compiled by its crate `ignore`.
//!
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
use std::path::{MAIN_SEPARATOR, Path};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use mcp_text_editor_core::file_names::compositions;

use crate::os;
use crate::os::directory::Dir;
use crate::os::patience::while_stale;
use crate::search::start::WalkStart;

/// The maximum number of globs of a request.
pub const MAX_GLOBS: usize = 256;
/// The maximum number of bytes of all globs of a request together.
pub const MAX_GLOB_BYTES: usize = 16 << 10;
/// The maximum nesting of braces, since the compiler recurses into them.
const MAX_BRACE_DEPTH: usize = 32;

/// The reason why the globs of a request are rejected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadGlobs {
    /// There are too many globs; the field is their number.
    #[error("{0} globs, and the limit is {MAX_GLOBS}")]
    Many(usize),
    /// The globs together have too many bytes; the field is their number of bytes.
    #[error("globs of {0} bytes, and the limit is {MAX_GLOB_BYTES}")]
    Long(usize),
    /// The compiled globs take too much memory.
    #[error("globs that take too much memory")]
    Large,
    /// A glob is invalid. The fields are its index and the reason.
    #[error("a glob that cannot be read: {1}")]
    Unreadable(usize, String),
}

/// The globs of a request. Globs only narrow the result: an ignored file is left out even if a glob matches
/// it.
#[derive(Debug)]
pub(crate) struct Globs {
    lines: Gitignore,
    /// A second interpretation of the same globs: composed (Unicode NFC), without a leading `./`, and with
    /// literal brackets and braces. `None` if it is the same as the first, or invalid.
    fallback: Option<Gitignore>,
}

impl Globs {
    /// Parses the globs. An absolute glob that begins with the path of one of `roots` is made relative to
    /// that root.
    pub(crate) fn new(globs: &[&str], roots: &[&Path]) -> Result<Self, BadGlobs> {
        // If the globs are too many or too long, they are not even copied.
        let length = globs.iter().map(|glob| glob.len()).sum();
        match () {
            () if globs.len() > MAX_GLOBS => return Err(BadGlobs::Many(globs.len())),
            () if length > MAX_GLOB_BYTES => return Err(BadGlobs::Long(length)),
            () => {}
        }
        let globs: Vec<String> = globs.iter().map(|glob| from_root(glob, roots)).collect();
        Ok(Self { lines: compile(&globs)?, fallback: fallback(&globs) })
    }

    /// Whether the globs, in their second interpretation (`fallback`), want a path. The parameters are those
    /// of [`Globs::want`].
    pub(crate) fn want_by_fallback(&self, relative: &str, from: usize) -> bool {
        let Some(lines) = &self.fallback else { return false };
        let wants = |path: &str| {
            let composed = compositions(path).map(|[composed, _]| composed);
            verdict(lines, composed.as_deref().unwrap_or(path), false)
        };
        let of_root = wants(relative);
        of_root.or_else(|| relative.get(from..).filter(|_| from > 0).and_then(wants)) == Some(true)
    }

    /// Whether the globs want a path, which has a slash between names; `None` if they do not decide.
    /// `relative` is the path from the root, and its first `from` bytes lead to the start of the walk. The
    /// globs are matched with the whole path, and with the path from that start.
    pub(crate) fn want(&self, relative: &str, from: usize, is_directory: bool) -> Option<bool> {
        // The globs have the syntax of an ignore file, but the opposite meaning.
        let of = |path: &str| verdict(&self.lines, path, is_directory);
        let from_start = relative.get(from..).filter(|_| from > 0).and_then(of);
        match (of(relative), from_start) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, None) => (!is_directory && self.lines.num_ignores() > 0).then_some(false),
        }
    }
}

/// Returns the verdict of the last line that matches a path: `false` if the line begins with `!`, otherwise
/// `true`. Returns `None` if no line matches.
pub(crate) fn verdict(lines: &Gitignore, path: &str, is_directory: bool) -> Option<bool> {
    match lines.matched(path, is_directory) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// Adds a line of an ignore file. The error says why the line is invalid.
pub(crate) fn add_line(lines: &mut GitignoreBuilder, line: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    for byte in line.bytes() {
        depth = match byte {
            b'{' => depth + 1,
            b'}' => depth.saturating_sub(1),
            _ => depth,
        };
        if depth > MAX_BRACE_DEPTH {
            return Err("alternate groups are nested too deeply".to_owned());
        }
    }
    match lines.add_line(None, line) {
        Ok(_) => Ok(()),
        Err(ignore::Error::Glob { err, .. }) => Err(err),
        Err(other) => Err(other.to_string()),
    }
}

fn compile(globs: &[String]) -> Result<Gitignore, BadGlobs> {
    let mut lines = GitignoreBuilder::new("");
    for (index, glob) in globs.iter().enumerate() {
        // The `#` is escaped, because a glob that begins with `#` is not a comment.
        let glob = if glob.starts_with('#') { &format!("\\{glob}") } else { glob };
        add_line(&mut lines, glob).map_err(|reason| BadGlobs::Unreadable(index, reason))?;
    }
    lines.build().map_err(|_| BadGlobs::Large)
}

/// Compiles the second interpretation of the globs; `None` if it is the same as the first, or invalid.
fn fallback(globs: &[String]) -> Option<Gitignore> {
    let read = |glob: &String| {
        let (mark, rest) = glob.strip_prefix('!').map_or(("", glob.as_str()), |rest| ("!", rest));
        let mut written = mark.to_owned();
        for character in rest.strip_prefix("./").unwrap_or(rest).chars() {
            if "[]{}".contains(character) && !written.ends_with('\\') {
                written.push('\\');
            }
            written.push(character);
        }
        compositions(&written).map_or(written, |[composed, _]| composed)
    };
    let read: Vec<String> = globs.iter().map(read).collect();
    if read == globs && globs.iter().all(|glob| glob.is_ascii()) { None } else { compile(&read).ok() }
}

/// Converts a glob with an absolute path below a root to a glob relative to the root. Returns any other glob
/// unchanged.
fn from_root(glob: &str, roots: &[&Path]) -> String {
    let (mark, path) = glob.strip_prefix('!').map_or(("", glob), |path| ("!", path));
    let rest = roots.iter().find_map(|root| {
        let rest = path.strip_prefix(root.to_str()?)?;
        (rest.starts_with(std::path::is_separator)).then(|| rest.to_owned())
    });
    match rest {
        Some(rest) => format!("{mark}{}", rest.replace(MAIN_SEPARATOR, "/")),
        None => glob.to_owned(),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_that_cannot_be_taken() {
        let error = |globs: &[&str]| Globs::new(globs, &[]).unwrap_err().to_string();
        let unreadable = "a glob that cannot be read:";
        for (globs, reason) in [
            (&["a", "[z-a]"][..], format!("{unreadable} invalid range; 'z' > 'a'")),
            (&["a\\"], format!("{unreadable} dangling '\\'")),
            (&["{".repeat(33).as_str()], format!("{unreadable} alternate groups are nested too deeply")),
            (&["?".repeat(3_000_000).as_str()], "globs of 3000000 bytes, and the limit is 16384".to_owned()),
            (&["a"; MAX_GLOBS + 1], "257 globs, and the limit is 256".to_owned()),
        ] {
            assert_eq!(error(globs), reason);
        }
        assert!(error(&["*.{rs"]).starts_with(unreadable) && error(&["a}"]).starts_with(unreadable));
        for globs in [
            &["[[:alpha:]]"][..],
            &["a"; MAX_GLOBS],
            &[&"{a,b}".repeat(3_000)],
            &[&"?".repeat(MAX_GLOB_BYTES)],
            &[&format!("{}a{}", "{".repeat(32), "}".repeat(32))],
        ] {
            assert!(Globs::new(globs, &[]).is_ok());
        }
    }

    #[test]
    fn a_glob_is_no_comment() {
        let globs = Globs::new(&["#a"], &[]).unwrap();
        assert_eq!((globs.want("#a", 0, false), globs.want("a", 0, false)), (Some(true), Some(false)));
    }
}
