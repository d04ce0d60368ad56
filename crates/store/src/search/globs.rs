//! Compiles the globs of a request ([`Globs`]) and the lines of ignore files. Both have the syntax of
//! ripgrep, and are compiled by its crate `ignore`.

use std::path::{MAIN_SEPARATOR, Path};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use mcp_text_editor_core::file_names::compositions;

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
