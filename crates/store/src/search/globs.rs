//! The globs of a request: [`Globs`].

use std::path::{MAIN_SEPARATOR, Path};

use mcp_text_editor_core::file_names::compositions;
use mcp_text_editor_core::path_rules::{BadGlobs, PathRules};

/// The globs of a request. They only narrow the result: files that an ignore file names are left out even if
/// a glob matches.
#[derive(Debug)]
pub(crate) struct Globs {
    rules: PathRules,
    /// The same globs, composed, without `./` before them, and with brackets and braces that stand for
    /// themselves; `None` if that is the same.
    otherwise: Option<PathRules>,
}

impl Globs {
    /// Reads the globs. `roots` are the paths with which an absolute glob can begin.
    pub(crate) fn new(globs: &[&str], roots: &[&Path]) -> Result<Self, BadGlobs> {
        // Globs that are too many or too long are not even copied.
        PathRules::admit(globs)?;
        let globs: Vec<String> = globs.iter().map(|glob| from_root(glob, roots)).collect();
        let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
        Ok(Self { rules: PathRules::of_globs(&globs)?, otherwise: otherwise(&globs) })
    }

    /// Tells whether the other reading of the globs wants a path, which is given as in [`Globs::want`].
    pub(crate) fn want_otherwise(
        &self,
        relative: &str,
        from: usize,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        let Some(rules) = &self.otherwise else { return false };
        let mut wants = |path: &str| {
            let composed = compositions(path).map(|[composed, _]| composed);
            rules.verdict(composed.as_deref().unwrap_or(path), false, goes_on)
        };
        let of_root = wants(relative);
        of_root.or_else(|| relative.get(from..).filter(|_| from > 0).and_then(wants)) == Some(true)
    }

    /// Tells whether a path, with a slash between names, is wanted; `None` if the globs do not tell. Its
    /// first `from` bytes lead to the start of the walk: a glob counts from there, too. If `goes_on` says no
    /// meanwhile, the result means nothing.
    pub(crate) fn want(
        &self,
        relative: &str,
        from: usize,
        is_directory: bool,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Option<bool> {
        if self.rules.is_empty() {
            return None;
        }
        // The globs are read as lines of an ignore file, but mean the opposite.
        let mut of = |path: &str| self.rules.verdict(path, is_directory, goes_on);
        let from_start = relative.get(from..).filter(|_| from > 0).and_then(&mut of);
        match (of(relative), from_start) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, None) => (!is_directory && self.rules.has_plain()).then_some(false),
        }
    }
}

/// Reads globs in the other way, if there is one.
fn otherwise(globs: &[&str]) -> Option<PathRules> {
    let read = |glob: &&str| {
        let (mark, rest) = glob.strip_prefix('!').map_or(("", *glob), |rest| ("!", rest));
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
    let read: Vec<&str> = read.iter().map(String::as_str).collect();
    if read == globs && globs.iter().all(|glob| glob.is_ascii()) {
        None
    } else {
        PathRules::of_globs(&read).ok()
    }
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
