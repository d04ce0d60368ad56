//! Searches for the file that was meant by a path that leads to none. The search runs after a lookup has
//! failed, and only improves the error. The file that it finds is never read or edited instead.
//!
//! Searches for the file that was meant by a path that leads to none: [`LikelyFiles`]. The search undoes the
//! notation of the path, and scores the files beneath the roots in a bounded walk. It suggests only files
//! that the caller could reach itself.
//!
//! Converts paths from notations that no system call accepts: in quotes, padded with blanks, as `file://`
//! URLs, or with a leading `~/`. Reads no files.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use mcp_text_editor_core::file_names::{FoldedName, is_git};
use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::source::read_range;
use strsim::osa_distance;

use crate::access::place::open_beneath;
use crate::access::roots::{ForWriting, PATH_LENGTH, PathError, Roots};
use crate::cancellation::Cancellation;
use crate::error::{Operation, StoreError, StoreErrorKind, Suggestion};
use crate::os::directory::Dir;
use crate::os::seen::Listed;
use crate::os::{for_each_name, open_to_list};

/// The maximum number of directory entries, in all roots together, that one search examines.
const ENTRIES: usize = 20_000;
/// The maximum number of files that are suggested.
const NAMED: usize = 3;
/// The maximum number of equally likely files that are opened, to find out whether they can be suggested.
const OPENED: usize = 16;
/// The number of bytes at the beginning of a file that are searched for NUL bytes, which show that it is
/// binary.
const HEAD: u64 = 8192;

/// The maximum number of characters in which similar paths differ.
const FAR: usize = 2;
/// If the part of a name before the first dot is no longer than this, similar names differ in at most one
/// character: `map.test.ts` is not a typing mistake for `nan.test.ts`, nor `bash` for `fish`.
const SHORT: usize = 4;
/// The maximum number of components of a path for which files are searched.
const NAMES: usize = 64;
/// The maximum depth of a walk below a root.
const DEPTH: usize = 32;

/// The file that marks a directory as a cache, whose files can all be made again
/// (<https://bford.info/cachedir/>).
const CACHE: &str = "CACHEDIR.TAG";
/// The directory in which npm keeps fetched packages. Often it has more files than all other directories
/// together.
const FETCHED: &str = "node_modules";

/// The purpose of the call whose path is wrong. Only files that allow this purpose are suggested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The file is to be read.
    Reading,
    /// The path is to be searched or listed, so directories are suggested, too.
    Finding,
    /// The file is to be edited, so protected files are not suggested.
    Editing,
    /// The file is to be created, so only its directory must exist. No similar names are searched for; only
    /// the notation of the path is undone.
    Creating,
}

/// Looks for the files that the paths of one call were meant for, after these paths have failed.
///
/// Each suggested file has been resolved as the path of a call is. So the suggestions reveal nothing that is
/// outside the roots or out of bounds.
#[derive(Debug)]
pub(crate) struct LikelyFiles<'a> {
    roots: &'a Roots,
    writing: ForWriting<'a>,
    purpose: Purpose,
    cancellation: Cancellation<'a>,
    entries: usize,
}

impl<'a> LikelyFiles<'a> {
    pub(crate) fn new(roots: &'a Roots, purpose: Purpose, cancellation: Cancellation<'a>) -> Self {
        Self { roots, writing: roots.for_writing(), purpose, cancellation, entries: ENTRIES }
    }

    /// Returns the same search with this limit of directory entries.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn of_entries(self, entries: usize) -> Self {
        Self { entries, ..self }
    }

    /// Adds the files that were perhaps meant to the problem of a path that was not absolute, or that led
    /// outside.
    pub(crate) fn of_path(&self, file_path: &str, problem: PathError) -> PathError {
        match problem {
            PathError::NotAbsolute { .. } => PathError::NotAbsolute { suggested: self.suggested(file_path) },
            PathError::Outside { .. } => PathError::Outside { suggested: self.inside(file_path) },
            other => other,
        }
    }

    /// Adds the files that were perhaps meant to the error of opening a file, if no file has that name.
    pub(crate) fn of_error(&self, file_path: &str, error: StoreError) -> StoreError {
        let is_missing = error.kind == StoreErrorKind::NotFound && error.operation == Operation::Open;
        let suggested = if is_missing && error.name.is_none() { self.suggested(file_path) } else { None };
        StoreError { suggested: suggested.or(error.suggested), ..error }
    }

    /// Returns the likeliest files that a path was perhaps meant for; `None` if there are none.
    fn suggested(&self, file_path: &str) -> Option<Box<Suggestion>> {
        let is_finding = self.purpose == Purpose::Finding;
        let name = file_path.trim_end_matches(std::path::is_separator);
        let readings = readings(if is_finding { name } else { file_path }, self.roots.home());
        let targets = self.targets(&readings);
        let exact = self.named(targets.clone(), true, false);
        if self.purpose == Purpose::Creating { exact } else { exact.or_else(|| self.alike(targets)) }
    }

    /// Returns the files that were perhaps meant by a path that lies in no root by its text: it may be in
    /// another system's notation, or begin at a directory other than the top of the file system. Each tail of
    /// the path is tried relative to each root, the longest tail first. A tail of a single name counts only
    /// if it is the whole path, or follows the root's name; else it would match too many files.
    ///
    /// The result depends only on the text and on the files in the roots.
    fn inside(&self, file_path: &str) -> Option<Box<Suggestion>> {
        let path = readings(file_path, None).into_iter().next().unwrap_or_else(|| file_path.into());
        if self.roots.named_paths().any(|(real, named)| path.starts_with(real) || path.starts_with(named)) {
            let is_respelled = path != Path::new(file_path);
            return is_respelled.then(|| self.named(vec![path], true, false)).flatten();
        }
        let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let names: Vec<Component<'_>> = path.components().filter(is_name).take(NAMES + 1).collect();
        (0..names.len()).filter(|_| names.len() <= NAMES).find_map(|left_out| {
            let (before, end) = names.split_at_checked(left_out)?;
            let follows = |root: &Path| before.last().is_some_and(|name| root.ends_with(name.as_os_str()));
            let is_end = |root: &&Path| end.len() > 1 || before.is_empty() || follows(root);
            let targets =
                self.roots.paths().filter(is_end).map(|root| root.join(end.iter().collect::<PathBuf>()));
            self.named(targets, true, false)
        })
    }

    /// Returns the absolute paths that `paths` can stand for. A relative path is joined to each root, and to
    /// each root's parent.
    fn targets(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        // An absolute path replaces what it is joined to.
        let bases = || self.roots.paths().flat_map(|root| [Some(root), root.parent()]).flatten();
        let targets = paths.iter().flat_map(|path| bases().map(move |base| base.join(path)));
        let mut targets: Vec<PathBuf> = targets.map(|path| path.components().collect()).collect();
        targets.retain(|path| path.as_os_str().len() <= PATH_LENGTH);
        targets.dedup();
        targets
    }

    /// Returns the likeliest of the files whose paths resemble these.
    fn alike(&self, targets: Vec<PathBuf>) -> Option<Box<Suggestion>> {
        let mut walk = Walk { of: self, left: self.entries, is_cut: false };
        let mut found = Vec::new();
        for target in targets {
            let Ok(place) = self.roots.place(&target) else { continue };
            let Some((path, root)) = self.roots.root_of(&place) else { continue };
            found.extend(walk.likely(root, path, &place.relative));
        }
        found.sort();
        found
            .chunk_by(|one, other| one.0 == other.0)
            .find_map(|group| self.named(group.iter().map(|(_, path)| path.clone()), false, walk.is_cut))
    }

    /// Suggests at most three of the paths, each with a different real path; a fourth only shows that there
    /// are more. `is_cut` says that the paths may be incomplete.
    fn named(
        &self,
        paths: impl IntoIterator<Item = PathBuf>,
        is_exact: bool,
        is_cut: bool,
    ) -> Option<Box<Suggestion>> {
        let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
        for path in paths.into_iter().take(OPENED) {
            if found.len() > NAMED || self.cancellation.is_cancelled() {
                break;
            }
            let real = self.real(&path, is_exact);
            let real = real.filter(|real| !found.iter().any(|(_, known)| known == real));
            found.extend(real.map(|real| (path, real)));
        }
        let are_all = found.len() <= NAMED && !is_cut;
        let paths: Vec<PathBuf> = found.into_iter().take(NAMED).map(|(path, _)| path).collect();
        (!paths.is_empty()).then(|| Box::new(Suggestion { paths, are_all }))
    }

    /// Returns the real path of a file, if the file allows the purpose. Unless `is_exact` (the requested path
    /// names exactly this file), the file must not look binary, either.
    fn real(&self, path: &Path, is_exact: bool) -> Option<PathBuf> {
        let text = path.to_str()?;
        let place = match self.purpose {
            Purpose::Finding if self.roots.closes(path) => return None,
            Purpose::Finding if path.is_dir() && self.roots.paths().any(|root| root == path) => {
                return Some(path.to_owned());
            }
            Purpose::Reading | Purpose::Finding => self.roots.resolve(text).ok()?,
            Purpose::Editing | Purpose::Creating => self.writing.resolve(text).ok()?.into_place(),
        };
        if self.purpose == Purpose::Finding {
            let kind = place.directory.symlink_metadata(place.name()).ok()?;
            return (place.missing.is_empty() && (kind.is_dir() || kind.is_file())).then_some(place.path);
        }
        if self.purpose == Purpose::Creating && place.missing.is_empty() && place.is_free() {
            return Some(place.path);
        }
        let file = place.open_file(false).ok()?;
        let mut scanner = Scanner::without_digest(None);
        scanner.feed(&read_range(&file, 0..HEAD.min(file.identity().size)).ok()?);
        (is_exact || !scanner.is_binary()).then_some(place.path)
    }
}

/// The rank of a file that was perhaps meant; the lowest is the likeliest. It is the number of characters in
/// which the file's path differs from the requested one. Files of the same name elsewhere come after these,
/// by the number of components that the ends of both paths have in common.
type Score = (usize, Reverse<usize>);

/// A walk through the roots, one after the other. It follows no symbolic link.
struct Walk<'a> {
    of: &'a LikelyFiles<'a>,
    /// The number of directory entries that may still be read.
    left: usize,
    /// Whether a directory was left out. If so, there may be more files.
    is_cut: bool,
}

impl Walk<'_> {
    /// Returns the files and links to which `relative` leads from the root at `path` if its names are
    /// replaced by similar ones. If there are none, returns those with the same file name elsewhere; closed
    /// directories, `.git`, caches and fetched packages are not searched for these.
    fn likely(&mut self, root: &Arc<Dir>, path: &Path, relative: &Path) -> Vec<(Score, PathBuf)> {
        let names: Option<Vec<&str>> = relative.iter().take(NAMES + 1).map(OsStr::to_str).collect();
        let Some(names) = names.filter(|names| names.len() <= NAMES) else { return Vec::new() };
        let (mut similar, mut namesakes) = (Vec::new(), Vec::new());
        // The directories to visit: first those whose names resemble the path's, with the number of
        // characters in which they differ; then all others, with `None`.
        let mut directories = VecDeque::from([(PathBuf::new(), Some(0))]);
        while let Some((directory, way)) = directories.pop_front() {
            if way.is_none() && !similar.is_empty() {
                break;
            }
            let entries = self.entries(root, &directory);
            if way.is_none() && entries.iter().any(|(name, _)| name == CACHE) {
                continue;
            }
            let depth = directory.iter().count();
            let is_last = depth + 1 == names.len();
            for (name, is_directory) in entries {
                let (inside, name) = (directory.join(&name), OsStr::new(&name));
                let pair = way.zip(names.get(depth).zip(name.to_str()));
                let sum = pair.and_then(|(way, (wanted, name))| Some(way + distance(wanted, name, is_last)?));
                match sum.filter(|sum| *sum <= FAR) {
                    Some(sum) if is_last && (!is_directory || self.of.purpose == Purpose::Finding) => {
                        similar.push(((sum, Reverse(0)), path.join(inside)));
                    }
                    Some(sum) if !is_last && is_directory => directories.push_front((inside, Some(sum))),
                    _ if is_directory => {
                        let is_left_out = name == FETCHED || is_git(&FoldedName::new(name));
                        let is_closed = || self.of.roots.closes(&path.join(&inside));
                        if depth + 1 < DEPTH && !is_left_out && !is_closed() {
                            directories.push_back((inside, None));
                        }
                    }
                    _ if relative.file_name().is_some_and(|last| is_folded(last, name)) => {
                        let common = relative.iter().rev().zip(inside.iter().rev());
                        let common = common.take_while(|(one, other)| is_folded(one, other)).count();
                        namesakes.push(((FAR + 1, Reverse(common)), path.join(inside)));
                    }
                    _ => {}
                }
            }
        }
        if similar.is_empty() { namesakes } else { similar }
    }

    /// Returns the entries of a directory, sorted by name, with a flag that is true for directories; empty if
    /// the directory cannot be read. A directory with more entries than may still be read is left out as a
    /// whole. Names that are not Unicode, and special files, are left out, too.
    fn entries(&mut self, root: &Arc<Dir>, directory: &Path) -> Vec<(String, bool)> {
        self.is_cut |= self.left == 0 || self.of.cancellation.is_cancelled();
        let opened = open_beneath(root, directory);
        let opened = opened.and_then(|opened| open_to_list(&opened, Path::new(".")).ok());
        let Some(opened) = opened.filter(|_| !self.is_cut) else { return Vec::new() };
        let mut entries = Vec::new();
        // If listing fails, the names that were listed before count.
        let _ = for_each_name(&opened, |name, kind| {
            self.is_cut |= self.left == 0;
            self.left = self.left.saturating_sub(1);
            if let (true, Ok(name)) = (kind != Listed::Special, name.into_string()) {
                entries.push((name, kind == Listed::Directory));
            }
            !self.is_cut
        });
        entries.sort();
        if self.is_cut { Vec::new() } else { entries }
    }
}

/// Returns the number of characters in which two names differ; `None` if they differ too much to be similar.
/// It is the optimal string alignment distance (Damerau-Levenshtein, where each place changes once).
/// Differences that some file systems ignore, such as letter case, do not count, nor does the kind of a
/// space. File names (`is_last`) that differ only in digits (`test_1` is hardly a typing mistake for
/// `test_2`), or only in the extension, have the distance [`FAR`]; directories that differ only in digits are
/// not similar.
fn distance(asked: &str, listed: &str, is_last: bool) -> Option<usize> {
    let plain = |name: &str| name.to_lowercase().replace(char::is_whitespace, " ");
    let (one, other) = (plain(asked), plain(listed));
    if one == other || is_folded(OsStr::new(asked), OsStr::new(listed)) {
        return Some(0);
    }
    let letters = |name: &str| name.replace(char::is_numeric, "");
    if letters(&one) == letters(&other) {
        return is_last.then_some(FAR);
    }
    // The number of characters before the first dot, not counting dots that begin the name. If only one
    // character stands there, it must not differ.
    let head = |name: &str| {
        let hidden = name.trim_start_matches('.');
        name.len() - hidden.len() + hidden.split('.').next().map_or(0, |head| head.chars().count())
    };
    let shorter = head(&one).min(head(&other));
    let most = if shorter <= SHORT { shorter.saturating_sub(1).min(1) } else { FAR };
    let is_renamed = is_last && Path::new(&one).file_stem() == Path::new(&other).file_stem();
    Some(osa_distance(&one, &other)).filter(|distance| *distance <= most).or(is_renamed.then_some(FAR))
}

fn is_folded(one: &OsStr, other: &OsStr) -> bool {
    FoldedName::new(one) == FoldedName::new(other)
}

/// The maximum number of nested notations, as in `" 'file://…' "`.
const MAX_DEPTH: u32 = 4;

/// The pairs of characters that may enclose a path.
const QUOTES: [(char, char); 6] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('<', '>')];

/// Returns the paths that a text can mean once its notation is undone, the likeliest first; empty if none of
/// them can name a file.
///
/// `~/a` can mean `a` in the home directory, if that is known, and also the relative path `a`. A path with a
/// `..` component or a U+0000 is left out.
fn readings(text: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let mut text = text.to_owned();
    for _ in 0..MAX_DEPTH {
        let Some(plain) = plainer(&text) else { break };
        text = plain;
    }
    let readings = match text.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)).into_iter().chain([PathBuf::from(rest)]).collect(),
        None => vec![PathBuf::from(text)],
    };
    readings.into_iter().filter(|reading| names_a_file(reading)).collect()
}

/// Whether a path can name a file, judged by its text alone.
fn names_a_file(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_plain = |part: Component<'_>| part != Component::ParentDir;
    path.file_name().is_some()
        && !bytes.contains(&0)
        && !bytes.last().is_some_and(|byte| std::path::is_separator(char::from(*byte)))
        && path.components().all(is_plain)
}

/// Undoes one notation; `None` if the text has none.
fn plainer(text: &str) -> Option<String> {
    let quoted = || QUOTES.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    let plain = Some(text.trim()).filter(|trimmed| trimmed.len() < text.len()).or_else(quoted);
    plain.map(str::to_owned).or_else(|| of_url(text)).or_else(|| of_windows(text))
}

/// Converts a path with backslashes, such as `src\a` or the WSL path `\\wsl.localhost\Ubuntu\home\a`, to a
/// path of this system; `None` for other text.
fn of_windows(text: &str) -> Option<String> {
    let names = text.strip_prefix(r"\\wsl.localhost\").or_else(|| text.strip_prefix(r"\\wsl$\"));
    let path = names.map_or(Some(text), |names| names.find(['\\', '/']).and_then(|at| names.get(at..)))?;
    (!cfg!(windows) && text.contains('\\')).then(|| path.replace('\\', "/"))
}

/// Decodes the path of a `file` URL (RFC 8089); `None` for other text, and if the path is not UTF-8.
///
/// A host other than `localhost` counts as the first component of the path: models forget the third slash.
fn of_url(text: &str) -> Option<String> {
    let (_, rest) = text.split_at_checked(5).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("file:"))?;
    let local = rest.strip_prefix("//localhost").filter(|path| path.starts_with('/'));
    let path = percent_decoded(local.or(rest.strip_prefix("//")).unwrap_or(rest))?;
    // In a URL, a Windows path is written `/C:/…`.
    let drive = path.strip_prefix('/').filter(|rest| cfg!(windows) && rest.as_bytes().get(1) == Some(&b':'));
    Some(drive.map_or_else(|| path.clone(), str::to_owned))
}

/// Replaces each `%XX` by its byte. A `%` without two hexadecimal digits stands for itself. `None` if the
/// result is not UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut decoded = parts.next()?.as_bytes().to_owned();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(b'%'));
        decoded.extend(part.bytes().skip(if byte.is_some() { 2 } else { 0 }));
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_names_are_from_each_other() {
        let check = |asked: &str, listed: &str, expected: Option<usize>| {
            assert_eq!(distance(asked, listed, true), expected, "{asked} and {listed}");
            // The order of the two makes no difference.
            assert_eq!(distance(listed, asked, true), expected, "{listed} and {asked}");
        };
        check("Main.rs", "main.RS", Some(0));
        check("STRASSE", "straße", Some(0));
        check("main\u{200b}.rs", "main.rs", Some(0));
        check("größe.txt", "grösse.txt", Some(0));
        check("4.42 PM.md", "4.42\u{202f}PM.md", Some(0));
        check("main.rs", "mian.rs", Some(1));
        check("handler.rs", "hanlderr.rs", Some(2));
        check("handler.rs", "hundlars.rs", None);
        check("main.rs", "main.java", Some(2));
        check("README", "README.md", Some(2));
        check(".gitignore", ".gitattributes", None);
        check("main.rs", "", None);
        // Short names.
        check("a", "ab", None);
        check("ab.rs", "ac.rs", Some(1));
        check("abc.rs", "acd.rs", None);
        check("map.test.ts", "nan.test.ts", None);
        check("bash.md", "fish.md", None);
        // Digits.
        check("test_1.py", "test_2.py", Some(2));
        check("v1", "V12", Some(2));
        assert_eq!((distance("v1", "v2", false), distance("crate", "crates", false)), (None, Some(1)));
    }

    #[test]
    fn what_a_notation_says() {
        let check = |text: &str, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(readings(text, Some(Path::new("/home/ada"))), expected, "{text:?}");
        };
        check("/a/b", &["/a/b"]);
        check("a/b", &["a/b"]);
        check(" /a/b\n", &["/a/b"]);
        check("\t'/a b'", &["/a b"]);
        check("\"/a/b\"", &["/a/b"]);
        check("`a/b`", &["a/b"]);
        check("“/a/b”", &["/a/b"]);
        check("</a/b>", &["/a/b"]);
        check("'/a/b", &["'/a/b"]);
        check("\" `file:///a` \"", &["/a"]);
        check("~/a/b", &["/home/ada/a/b", "a/b"]);
        check("'~/a'", &["/home/ada/a", "a"]);
        check("~", &["~"]);
        check("~ada/a", &["~ada/a"]);
        check("file:///a/b%20c", &["/a/b c"]);
        check("FILE://localhost/a", &["/a"]);
        check("file:/a", &["/a"]);
        check("file:///c:/a", &[if cfg!(windows) { "c:/a" } else { "/c:/a" }]);
        check("file://src/a.rs", &["src/a.rs"]);
        check("file://localhosts/a", &["localhosts/a"]);
        if !cfg!(windows) {
            check(r"\\wsl.localhost\Ubuntu/home\my a\b", &["/home/my a/b"]);
            check(r"\\wsl$\Ubuntu\home\b", &["/home/b"]);
            check(r"\\wsl$\Ubuntu/home/b", &["/home/b"]);
            check(r"src\a.rs", &["src/a.rs"]);
        }
        check("file:///a%2", &["/a%2"]);
        check("file:///%e4%B8%ad", &["/中"]);
        // No call can name a path that is not UTF-8.
        check("file:///%ff", &["file:///%ff"]);
        for none in ["", " ", "''", "a/../b", "~/..", "file:///a%00", "file:///%2e%2e/a", "/a/", "/", "~/"] {
            check(none, &[]);
        }
    }
}
