//! The globs of a request: [`Globs`].

use std::path::{MAIN_SEPARATOR, Path};

use mcp_text_editor_core::path_rules::{BadGlobs, PathRules};

/// The globs of a request. They only narrow the result: files that an ignore file names are left out even if
/// a glob matches.
#[derive(Debug)]
pub(crate) struct Globs(PathRules);

impl Globs {
    /// Reads the globs. `roots` are the paths with which an absolute glob can begin.
    pub(crate) fn new(globs: &[&str], roots: &[&Path]) -> Result<Self, BadGlobs> {
        // Globs that are too many or too long are not even copied.
        PathRules::admit(globs)?;
        let globs: Vec<String> = globs.iter().map(|glob| from_root(glob, roots)).collect();
        let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
        PathRules::of_globs(&globs).map(Self)
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
        if self.0.is_empty() {
            return None;
        }
        // The globs are read as lines of an ignore file, but mean the opposite.
        let mut of = |path: &str| self.0.verdict(path, is_directory, goes_on);
        let from_start = relative.get(from..).filter(|_| from > 0).and_then(&mut of);
        match (of(relative), from_start) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, None) => (!is_directory && self.0.has_plain()).then_some(false),
        }
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
