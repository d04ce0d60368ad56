//! File name patterns as a person writes them on the command line: [`Patterns`]. What a match means is its owner's.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns of paths, in the notation of `.gitignore` without negation: `*` and `?` stay within a name, `**` does not,
/// `[a-z]` and `{a,b}` choose. One without a slash matches a name at any depth, and all that is below it; one with a slash
/// matches from a root on, or the whole path if it is absolute. Letter case does not count: file systems differ in it.
#[derive(Clone, Default)]
pub struct Patterns {
    texts: Vec<String>,
    /// Of each pattern two: itself, and what is below.
    globs: Vec<Glob>,
    /// Made when it is needed first: compiling it takes longer than all else at the start of the program.
    set: OnceLock<Option<GlobSet>>,
}

impl PartialEq for Patterns {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Eq for Patterns {}

impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Patterns").field(&self.texts).finish()
    }
}

/// A pattern that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{pattern}` is no pattern: {problem}")]
pub struct BadPattern {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Patterns {
    /// Reads the patterns; the error is of the first that cannot be read.
    pub fn new(texts: &[String]) -> Result<Self, BadPattern> {
        let mut globs = Vec::new();
        let bad = |pattern: &str, error: &globset::Error| BadPattern {
            pattern: pattern.to_owned(),
            problem: error.kind().to_string(),
        };
        for text in texts {
            let pattern = text.trim_end_matches('/');
            let anchored = if pattern.starts_with('/') || Path::new(pattern).is_absolute() {
                pattern.to_owned()
            } else if pattern.contains('/') {
                format!("/{}", pattern.trim_start_matches("./"))
            } else {
                format!("/**/{pattern}")
            };
            for glob in [anchored.clone(), format!("{anchored}/**")] {
                let glob = GlobBuilder::new(&glob).literal_separator(true).case_insensitive(true).build();
                globs.push(glob.map_err(|error| bad(text, &error))?);
            }
        }
        Ok(Self { texts: texts.to_vec(), globs, set: OnceLock::new() })
    }

    /// The patterns as they were written.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether a file, named by its absolute path, matches any pattern; `relative` is the same path from its root on.
    #[must_use]
    pub fn matches(&self, path: &Path, relative: &Path) -> bool {
        self.matching(path, relative).is_some()
    }

    /// The first pattern that a file matches, as it was written; the paths are those of [`Patterns::matches`].
    #[must_use]
    pub fn matching(&self, path: &Path, relative: &Path) -> Option<&str> {
        let first_text = self.texts.first()?;
        let compile = || {
            let mut builder = GlobSetBuilder::new();
            for glob in &self.globs {
                builder.add(glob.clone());
            }
            builder.build().ok()
        };
        // Patterns that are too large together match everything: they are there to keep something from harm.
        let Some(set) = self.set.get_or_init(compile) else { return Some(first_text) };
        let first = |path: &Path| set.matches(path).into_iter().min();
        let index = [first(path), first(&PathBuf::from("/").join(relative))].into_iter().flatten().min()?;
        self.texts.get(index / 2).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_names_or_paths_from_a_root_on() {
        let check = |pattern: &str, relative: &str| {
            let patterns = Patterns::new(&[pattern.to_owned()]).unwrap();
            patterns.matches(&Path::new("/home/me/project").join(relative), Path::new(relative))
        };
        assert!(check(".env*", ".env"));
        assert!(check(".env*", "a/b/.env.local"));
        assert!(check(".env*", ".envs/secret"), "and what is below");
        assert!(!check(".env*", "a.env"));
        assert!(check("*.pem", "keys/SERVER.PEM"));
        assert!(check("secrets/", "a/secrets/b/c"));
        assert!(check("config/*.toml", "config/a.toml"));
        assert!(!check("config/*.toml", "config/a/b.toml"));
        assert!(!check("config/*.toml", "x/config/a.toml"));
        assert!(check("config/**/*.toml", "config/a/b.toml"));
        assert!(check("/home/me/project/a", "a"));
        assert!(!check("*.{a,b}", "c"));
        assert!(Patterns::new(&["a[".to_owned()]).is_err());
        assert!(!Patterns::default().matches(Path::new("/a"), Path::new("a")));
    }
}
