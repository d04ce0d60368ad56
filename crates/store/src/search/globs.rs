//! The globs of a request ([`Globs`]), and the lines of an ignore file, which have the same notation: that of
//! ripgrep, by its crate `ignore`.

use std::path::{MAIN_SEPARATOR, Path};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use mcp_text_editor_core::file_names::compositions;

/// The most globs of a request.
pub const MOST_GLOBS: usize = 256;
/// The most bytes of the globs of a request, all together.
pub const MOST_GLOB_BYTES: usize = 16 << 10;
/// The deepest nesting of braces, which are compiled one within the other.
const DEEPEST_BRACES: usize = 32;

/// The reason why globs of a request cannot be taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadGlobs {
    /// There are too many.
    #[error("{0} globs, and the limit is {MOST_GLOBS}")]
    Many(usize),
    /// They have too many bytes.
    #[error("globs of {0} bytes, and the limit is {MOST_GLOB_BYTES}")]
    Long(usize),
    /// They take too much memory when compiled.
    #[error("globs that take too much memory")]
    Large,
    /// One cannot be read: which, by its index, and why.
    #[error("a glob that cannot be read: {1}")]
    Unreadable(usize, String),
}

/// The globs of a request. They only narrow the result: files that an ignore file names are left out even if
/// a glob matches.
#[derive(Debug)]
pub(crate) struct Globs {
    lines: Gitignore,
    /// The same globs, composed, without `./` before them, and with brackets and braces that stand for
    /// themselves; `None` if that is the same.
    otherwise: Option<Gitignore>,
}

impl Globs {
    /// Reads the globs. `roots` are the paths with which an absolute glob can begin.
    pub(crate) fn new(globs: &[&str], roots: &[&Path]) -> Result<Self, BadGlobs> {
        // Globs that are too many or too long are not even copied.
        let length = globs.iter().map(|glob| glob.len()).sum();
        match () {
            () if globs.len() > MOST_GLOBS => return Err(BadGlobs::Many(globs.len())),
            () if length > MOST_GLOB_BYTES => return Err(BadGlobs::Long(length)),
            () => {}
        }
        let globs: Vec<String> = globs.iter().map(|glob| from_root(glob, roots)).collect();
        Ok(Self { lines: compile(&globs)?, otherwise: otherwise(&globs) })
    }

    /// Tells whether the other reading of the globs wants a path, which is given as in [`Globs::want`].
    pub(crate) fn want_otherwise(&self, relative: &str, from: usize) -> bool {
        let Some(lines) = &self.otherwise else { return false };
        let wants = |path: &str| {
            let composed = compositions(path).map(|[composed, _]| composed);
            verdict(lines, composed.as_deref().unwrap_or(path), false)
        };
        let of_root = wants(relative);
        of_root.or_else(|| relative.get(from..).filter(|_| from > 0).and_then(wants)) == Some(true)
    }

    /// Tells whether a path, with a slash between names, is wanted; `None` if the globs do not tell. Its
    /// first `from` bytes lead to the start of the walk: a glob counts from there, too.
    pub(crate) fn want(&self, relative: &str, from: usize, is_directory: bool) -> Option<bool> {
        // The globs are read as lines of an ignore file, but mean the opposite.
        let of = |path: &str| verdict(&self.lines, path, is_directory);
        let from_start = relative.get(from..).filter(|_| from > 0).and_then(of);
        match (of(relative), from_start) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, None) => (!is_directory && self.lines.num_ignores() > 0).then_some(false),
        }
    }
}

/// Decides about a path by the last line that matches it: `false` if the line begins with `!`.
pub(crate) fn verdict(lines: &Gitignore, path: &str, is_directory: bool) -> Option<bool> {
    match lines.matched(path, is_directory) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// Adds a line of an ignore file to others; the error says why it cannot be read.
pub(crate) fn add_line(lines: &mut GitignoreBuilder, line: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    for byte in line.bytes() {
        depth = match byte {
            b'{' => depth + 1,
            b'}' => depth.saturating_sub(1),
            _ => depth,
        };
        if depth > DEEPEST_BRACES {
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
        // A glob is no comment.
        let glob = if glob.starts_with('#') { &format!("\\{glob}") } else { glob };
        add_line(&mut lines, glob).map_err(|reason| BadGlobs::Unreadable(index, reason))?;
    }
    lines.build().map_err(|_| BadGlobs::Large)
}

/// Reads globs in the other way, if there is one.
fn otherwise(globs: &[String]) -> Option<Gitignore> {
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

/// Turns a glob with an absolute path into one from its root on; returns any other as it is.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_that_cannot_be_taken() {
        let said = |globs: &[&str]| Globs::new(globs, &[]).unwrap_err().to_string();
        let unreadable = "a glob that cannot be read:";
        for (globs, reason) in [
            (&["a", "[z-a]"][..], format!("{unreadable} invalid range; 'z' > 'a'")),
            (&["a\\"], format!("{unreadable} dangling '\\'")),
            (&["{".repeat(33).as_str()], format!("{unreadable} alternate groups are nested too deeply")),
            (&["?".repeat(3_000_000).as_str()], "globs of 3000000 bytes, and the limit is 16384".to_owned()),
            (&["a"; MOST_GLOBS + 1], "257 globs, and the limit is 256".to_owned()),
        ] {
            assert_eq!(said(globs), reason);
        }
        assert!(said(&["*.{rs"]).starts_with(unreadable) && said(&["a}"]).starts_with(unreadable));
        for globs in [
            &["[[:alpha:]]"][..],
            &["a"; MOST_GLOBS],
            &[&"{a,b}".repeat(3_000)],
            &[&"?".repeat(MOST_GLOB_BYTES)],
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
