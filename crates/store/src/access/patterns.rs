//! Parses and matches the path patterns of the command line: [`Patterns`]. The caller decides what a match
//! means.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use mcp_text_editor_core::file_names::folded_paths;
use regex_syntax::hir::Hir;

use crate::access::name_pattern::{BadNamePattern, PathMatcher, expression};
use crate::access::windows_paths::Spelled;
use crate::os::real_path::real_path;

/// Patterns of paths, in the notation of `.gitignore` without negation: `*` and `?` match within one name,
/// `**` any number of names, `[a-z]` and `{a,b}` alternatives. A pattern without a slash matches a name at
/// any depth, and everything below it. A pattern with a slash matches paths from a root on or, if it is
/// absolute, whole paths. Letter case, Unicode composition and everything else that some file system ignores
/// in names do not count.
#[derive(Clone, Default)]
pub struct Patterns {
    texts: Vec<String>,
    /// Matches all patterns at once; `None` if there are none.
    matcher: Option<Arc<Matcher>>,
    /// The directories from which a pattern with a slash matches, besides the root of the file.
    roots: Vec<PathBuf>,
}

/// Expressions that are compiled on first use, so that the start of a server does not wait for them: to
/// compile the patterns of secrets takes a quarter of its computing time before the first answer.
struct Matcher {
    expressions: Vec<Hir>,
    compiled: OnceLock<Option<PathMatcher>>,
}

impl Matcher {
    /// Returns the compiled expressions; `None` if they would take too much memory.
    fn compiled(&self) -> Option<&PathMatcher> {
        self.compiled.get_or_init(|| PathMatcher::new(&self.expressions)).as_ref()
    }
}

/// Compares the texts and roots only: the matcher follows from them.
impl PartialEq for Patterns {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts && self.roots == other.roots
    }
}

impl Eq for Patterns {}

impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Patterns").field(&self.texts).finish()
    }
}

/// The maximum number of patterns.
const MAX_PATTERNS: usize = 1_000;
/// The maximum bytes of all patterns together.
const MAX_BYTES: usize = 64 << 10;
/// The maximum bytes of patterns that are compiled on first use. Patterns this short never take too much
/// memory, so their late compilation does not fail.
const MAX_LAZY_BYTES: usize = 1 << 10;
/// The maximum number of characters of an invalid pattern that a message shows.
const MAX_SHOWN: usize = 200;

/// The reasons why patterns are rejected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadPattern {
    /// There are too many patterns; holds their number.
    #[error("{0} patterns, and the limit is {MAX_PATTERNS}")]
    Many(usize),
    /// The patterns have too many bytes together; holds the number.
    #[error("patterns of {0} bytes, and the limit is {MAX_BYTES}")]
    Long(usize),
    /// The patterns would take too much memory when compiled.
    #[error("patterns that take too much memory")]
    Large,
    /// A pattern is invalid. Holds the beginning of the pattern, and the reason.
    #[error("`{0}` is no pattern: {1}")]
    Unreadable(String, BadNamePattern),
}

impl Patterns {
    /// Parses the patterns. If several are invalid, the error is that of the first one.
    pub fn new(texts: &[String]) -> Result<Self, BadPattern> {
        let length = texts.iter().map(String::len).sum();
        if texts.len() > MAX_PATTERNS {
            return Err(BadPattern::Many(texts.len()));
        }
        if length > MAX_BYTES {
            return Err(BadPattern::Long(length));
        }
        let mut expressions = Vec::new();
        for text in texts {
            // In Windows paths, `\` can only be a separator.
            let pattern = if cfg!(windows) { text.replace('\\', "/") } else { text.clone() };
            let pattern = pattern.trim_end_matches('/');
            let parts = pattern.split('/').filter(|part| !part.is_empty() && *part != ".");
            let plain = parts.collect::<Vec<_>>().join("/");
            let windows_path = if cfg!(windows) { Spelled::of(pattern).pattern() } else { None };
            let anchored = if let Some(absolute) = &windows_path {
                absolute.clone()
            } else if pattern.contains('/') {
                format!("/{plain}")
            } else {
                format!("/**/{plain}")
            };
            let real = match &windows_path {
                Some(absolute) => by_real_path("", absolute),
                None if pattern.starts_with('/') => by_real_path("/", &plain),
                None => None,
            };
            let forms = std::iter::once(anchored).chain(real).map(|form| expression(&form));
            let forms: Result<Vec<Hir>, BadNamePattern> = forms.collect();
            let forms = forms.map_err(|error| BadPattern::Unreadable(shortened(text), error))?;
            expressions.push(Hir::alternation(forms));
        }
        if expressions.is_empty() {
            return Ok(Self::default());
        }
        let matcher = Matcher { expressions, compiled: OnceLock::new() };
        if length > MAX_LAZY_BYTES && matcher.compiled().is_none() {
            return Err(BadPattern::Large);
        }
        Ok(Self { texts: texts.to_vec(), matcher: Some(Arc::new(matcher)), ..Self::default() })
    }

    /// Returns the same patterns with more start directories: a pattern with a slash then matches from each
    /// of `roots`, too, not only from the root through which a file is reached.
    #[must_use]
    pub fn from_roots(self, roots: &[PathBuf]) -> Self {
        if self.matcher.is_none() {
            // Without patterns, no path is looked up.
            return self;
        }
        Self { roots: roots.iter().map(|root| real_path(root)).collect(), ..self }
    }

    /// Whether a file matches any pattern. `path` is its absolute path, and `relative` its path relative to
    /// its root.
    #[must_use]
    pub fn matches(&self, path: &Path, relative: &Path) -> bool {
        self.matching(path, relative).is_some()
    }

    /// Returns the first pattern that a file matches, as the person wrote it. The paths are those of
    /// [`Patterns::matches`].
    #[must_use]
    pub fn matching(&self, path: &Path, relative: &Path) -> Option<&str> {
        let Some(compiled) = self.matcher.as_ref()?.compiled() else {
            // The patterns could not be compiled, which has never happened. Then each file counts as matched,
            // so none is unprotected.
            return self.texts.first().map(String::as_str);
        };
        let from_roots = self.roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        let from_roots = std::iter::once(relative).chain(from_roots).map(|rest| Path::new("/").join(rest));
        let paths = std::iter::once(path.to_owned()).chain(from_roots);
        let paths: BTreeSet<String> = paths
            .flat_map(|path| folded_paths(&path.to_string_lossy().replace(MAIN_SEPARATOR, "/")))
            .collect();
        let first = compiled.first_match(paths.iter().map(String::as_str))?;
        self.texts.get(first).map(String::as_str)
    }
}

/// Returns the beginning of a pattern, as a message shows it.
fn shortened(pattern: &str) -> String {
    match pattern.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", pattern.get(..end).unwrap_or_default()),
        None => pattern.to_owned(),
    }
}

/// Returns a pattern that matches this path only.
fn escape(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for character in path.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Returns an absolute pattern with its leading directories replaced by their real path, since files are
/// matched by their real paths. `pattern` lacks the leading `top`. Returns `None` if the pattern would stay
/// the same.
fn by_real_path(top: &str, pattern: &str) -> Option<String> {
    let parts: Vec<&str> = pattern.split('/').collect();
    let literal =
        parts.iter().take_while(|part| !part.contains(['*', '?', '[', ']', '{', '}', '\\'])).count();
    let (literal, rest) = parts.split_at_checked(literal)?;
    let literal = PathBuf::from(format!("{top}{}", literal.join("/")));
    let real = real_path(&literal);
    let plain = if cfg!(windows) { real.to_str()?.replace('\\', "/") } else { real.to_str()?.to_owned() };
    let escaped = escape(plain.trim_end_matches('/'));
    let whole: Vec<&str> = std::iter::once(escaped.as_str()).chain(rest.iter().copied()).collect();
    (real != literal).then(|| whole.join("/"))
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
        assert!(check("config//./a.toml", "config/a.toml"));
        assert!(check("caf\u{e9}.txt", "a/cafe\u{301}.txt"), "as APFS takes them for one name");
        assert!(check("stra\u{df}e/*.key", "STRASSE/A.KEY. "));
        assert!(check("/home/me/./project//a", "a"));
    }

    #[test]
    fn patterns_are_bounded_before_they_are_read() {
        let message = |texts: &[String]| Patterns::new(texts).unwrap_err().to_string();
        assert_eq!(message(&["?".repeat(3_000_000)]), "patterns of 3000000 bytes, and the limit is 65536");
        assert_eq!(message(&vec!["a".to_owned(); 1_001]), "1001 patterns, and the limit is 1000");
        // The pattern that takes the most memory is accepted, too.
        assert!(Patterns::new(&["?".repeat(MAX_BYTES)]).is_ok());
        // Even the slowest patterns take no more than time proportional to the lengths of path and pattern
        // multiplied.
        let slow = Patterns::new(&[format!("{}b", "*a".repeat(2_000)), "{a,b}".repeat(2_000)]).unwrap();
        let path = format!("/{}", "a".repeat(255));
        assert!(!slow.matches(Path::new(&path), Path::new(&path[1..])));
    }

    #[test]
    fn patterns_are_known_by_their_texts_and_roots() {
        let of = |text: &str| Patterns::new(&[text.to_owned()]).unwrap();
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
        assert_ne!(of("a"), of("a").from_roots(&[PathBuf::from("/no/such")]));
    }

    /// No file goes unprotected because its pattern cannot be compiled.
    #[test]
    fn where_patterns_cannot_be_compiled_each_file_matches() {
        let matcher = Matcher { expressions: Vec::new(), compiled: OnceLock::from(None) };
        let matcher = Some(Arc::new(matcher));
        let patterns = Patterns { texts: vec!["a".to_owned()], matcher, roots: Vec::new() };
        assert_eq!(patterns.matching(Path::new("/b"), Path::new("b")), Some("a"));
        assert_eq!(format!("{patterns:?}"), "Patterns([\"a\"])", "it is shown as it was written");
    }

    #[test]
    fn the_error_of_a_long_pattern_shows_its_beginning() {
        let shown = |text: &str| match Patterns::new(&[text.to_owned()]) {
            Err(BadPattern::Unreadable(shown, _)) => shown,
            other => panic!("{other:?}"),
        };
        assert_eq!(shown("a["), "a[");
        assert_eq!(shown(&format!("{}[", "é".repeat(300))), format!("{}…", "é".repeat(200)));
    }

    #[test]
    fn a_pattern_matches_from_each_root_on() {
        let patterns = Patterns::new(&["app/secret".to_owned()]).unwrap();
        // On Windows, no path without a drive is absolute.
        let top = PathBuf::from(if cfg!(windows) { "C:/no/such" } else { "/no/such" });
        let (path, relative) = (top.join("app").join("secret"), Path::new("secret"));
        assert!(!patterns.matches(&path, relative));
        let roots = [top.clone(), top.join("app")];
        assert!(patterns.from_roots(&roots).matches(&path, relative));
    }

    #[test]
    #[cfg(unix)]
    fn an_absolute_pattern_may_lead_over_links() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("[real]")).unwrap();
        std::os::unix::fs::symlink("[real]", real.join("link")).unwrap();
        for pattern in ["link/a", "link/*", "link/**/a"] {
            let patterns = Patterns::new(&[real.join(pattern).to_str().unwrap().to_owned()]).unwrap();
            assert!(patterns.matches(&real.join("[real]/a"), Path::new("a")), "{pattern}");
            assert!(!patterns.matches(&real.join("other/a"), Path::new("a")), "{pattern}");
        }
    }
}
