//! Parses and matches the path patterns of the command line: [`Patterns`]. The caller decides what a match
//! means.
//!
//! Turns a path pattern, as a person writes it, into a regular expression for folded paths ([`expression`]),
//! and many expressions into one matcher ([`PathMatcher`]). The caller chooses the paths to match.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use mcp_text_editor_core::file_names::{fold_case, folded_paths, without_invisible};
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::{Anchored, Input, MatchKind, PatternSet};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Dot, Hir, Look, Repetition};

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

/// The fault of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadNamePattern {
    /// A `[` has no `]`.
    #[error("unclosed character class; missing ']'")]
    OpenClass,
    /// In a character class, the end of a range precedes its start.
    #[error("invalid range; '{0}' > '{1}'")]
    Range(char, char),
    /// A `{` has no `}`.
    #[error("unclosed alternate group; missing '}}' (maybe escape '{{' with '[{{]'?)")]
    OpenGroup,
    /// A `}` has no `{`.
    #[error("unopened alternate group; missing '{{' (maybe escape '}}' with '[}}]'?)")]
    NoGroup,
    /// Braces are nested more than 32 deep.
    #[error("alternate groups are nested too deeply")]
    TooDeep,
    /// Nothing follows the last `\`.
    #[error("dangling '\\'")]
    Dangling,
}

/// The maximum depth of nested braces.
const DEPTH: usize = 32;
/// The maximum bytes of the NFA states of all expressions together. The pattern character with the largest
/// states is `?`: 64 KiB of them take 18 MB.
const SIZE: usize = 64 << 20;

/// Any character of a name.
const OF_NAME: Dot = Dot::AnyCharExcept('/');

/// Pairs of a character and its upper case, for each character whose upper case is one other character.
static UPPER: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let upper = |character: char| {
        let mut upper = character.to_uppercase();
        upper.next().filter(|first| upper.next().is_none() && *first != character)
    };
    ('\0'..=char::MAX).filter_map(|character| Some((character, upper(character)?))).collect()
});

/// Reads a pattern that matches whole paths. `*` and `?` match within one name; `**` as a whole name matches
/// any number of names. `[a-z]`, `[!a-z]` and `{a,b}` match alternatives, and `\` makes the next character
/// literal. The pattern matches the paths that it names, and everything below them.
///
/// The expression matches whole paths, as core's `file_names::folded_paths` returns them.
pub(crate) fn expression(pattern: &str) -> Result<Hir, BadNamePattern> {
    let pattern = without_invisible(pattern);
    let mut reader = Reader { rest: &pattern };
    let named = reader.parts(true, 0)?;
    if !reader.rest.is_empty() {
        return Err(BadNamePattern::NoGroup);
    }
    let below = Hir::concat(vec![literal("/"), any_number(Dot::AnyChar)]);
    Ok(Hir::concat(vec![Hir::look(Look::Start), named, or_nothing(below), Hir::look(Look::End)]))
}

/// Tells which of some expressions a path matches. This is a lazy DFA: its states are made when a path first
/// needs them, and are all dropped once they take too much memory. So its time grows at most with the product
/// of the path's length and the length of all expressions.
pub(crate) struct PathMatcher {
    automaton: DFA,
    /// The DFA states made so far; `None` while another thread uses them.
    made: Mutex<Option<Cache>>,
}

impl PathMatcher {
    /// Compiles the expressions. Returns `None` if they would take too much memory.
    pub(crate) fn new(expressions: &[Hir]) -> Option<Self> {
        let config = thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(SIZE));
        let states = thompson::Compiler::new().configure(config).build_many_from_hir(expressions).ok()?;
        let config = DFA::config().match_kind(MatchKind::All).skip_cache_capacity_check(true);
        let automaton = DFA::builder().configure(config).build_from_nfa(states).ok()?;
        Some(Self { automaton, made: Mutex::new(None) })
    }

    /// Returns the index of the first expression that one of the paths matches.
    ///
    /// The search cannot fail, since the DFA is always allowed to drop its states and make new ones. If it
    /// did, the first expression would count as matched.
    pub(crate) fn first_match<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Option<usize> {
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = made().take();
        let mut states = taken.unwrap_or_else(|| self.automaton.create_cache());
        let mut found = PatternSet::new(self.automaton.pattern_len());
        let outcome = paths.into_iter().try_for_each(|path| {
            let path = Input::new(path).anchored(Anchored::Yes);
            self.automaton.try_which_overlapping_matches(&mut states, &path, &mut found)
        });
        *made() = Some(states);
        if outcome.is_err() { Some(0) } else { found.iter().next().map(|first| first.as_usize()) }
    }
}

/// The rest of a pattern that is being turned into its expression.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn take(&mut self) -> Option<char> {
        let mut rest = self.rest.chars();
        let next = rest.next();
        self.rest = rest.as_str();
        next
    }

    /// Takes the next character; `None` at the end of the pattern or, within braces, of the current branch.
    fn take_within(&mut self, depth: usize) -> Option<char> {
        if self.is_at_end(depth) { None } else { self.take() }
    }

    /// Tells whether this is the end of the pattern or, within braces, of the current branch.
    fn is_at_end(&self, depth: usize) -> bool {
        self.rest.is_empty() || self.rest.starts_with('}') || (depth > 0 && self.rest.starts_with(','))
    }

    /// Reads up to the end of the pattern or branch. `starts_name` says whether a component of the path
    /// begins here.
    fn parts(&mut self, mut starts_name: bool, depth: usize) -> Result<Hir, BadNamePattern> {
        let mut parts = Vec::new();
        // Neighbouring characters are folded together, since two of them may compose to one.
        let mut text = String::new();
        while let Some(character) = self.take_within(depth) {
            if matches!(character, '?' | '*' | '[' | '{') {
                parts.push(literal(&std::mem::take(&mut text)));
            }
            let started_name = std::mem::take(&mut starts_name);
            match character {
                '?' => parts.push(Hir::dot(OF_NAME)),
                '*' => {
                    let (stars, goes_on) = self.star(started_name, depth);
                    parts.push(stars);
                    starts_name = goes_on;
                }
                '[' => parts.push(self.class()?),
                '{' => parts.push(self.group(started_name, depth + 1)?),
                other => {
                    let suggested = match other {
                        '\\' => self.take().ok_or(BadNamePattern::Dangling)?,
                        plain => plain,
                    };
                    text.push(suggested);
                    starts_name = suggested == '/';
                }
            }
        }
        parts.push(literal(&text));
        Ok(Hir::concat(parts))
    }

    /// Reads what follows a `*`. Also returns whether a component of the path begins after it.
    fn star(&mut self, starts_name: bool, depth: usize) -> (Hir, bool) {
        let after = self.rest.trim_start_matches('*');
        let is_two = self.rest.len() - after.len() == 1;
        self.rest = after;
        let names = any_number(Dot::AnyChar);
        match after.strip_prefix('/') {
            Some(after) if is_two && starts_name => {
                self.rest = after;
                (or_nothing(Hir::concat(vec![names, literal("/")])), true)
            }
            None if is_two && starts_name && self.is_at_end(depth) => (names, false),
            _ => (any_number(OF_NAME), false),
        }
    }

    /// Reads what follows a `[`. A leading `]` is a member of the class, and so is a leading or trailing `-`.
    fn class(&mut self) -> Result<Hir, BadNamePattern> {
        let negation = self.rest.strip_prefix(['!', '^']);
        self.rest = negation.unwrap_or(self.rest);
        let mut ranges = Vec::new();
        // A character that folds to several (`ß` to `ss`) matches that sequence.
        let mut choices = Vec::new();
        let mut is_first = true;
        loop {
            let first = self.take().ok_or(BadNamePattern::OpenClass)?;
            if first == ']' && !is_first {
                break;
            }
            is_first = false;
            let end = self.rest.strip_prefix('-').filter(|end| !end.is_empty() && !end.starts_with(']'));
            if let Some(end) = end {
                self.rest = end;
                let last = self.take().ok_or(BadNamePattern::OpenClass)?;
                if last < first {
                    return Err(BadNamePattern::Range(first, last));
                }
                ranges.push(first..=last);
                continue;
            }
            let folded = fold_case(&first.to_string());
            let mut characters = folded.chars();
            match (characters.next(), characters.next()) {
                (Some(only), None) => ranges.push(only..=only),
                _ => choices.push(literal(&folded)),
            }
        }
        // A range such as `[a-z]` is taken between the characters as written, and matches either letter case.
        let has = |character: &char| ranges.iter().any(|range| range.contains(character));
        let lower = UPPER.iter().filter(|(_, upper)| has(upper)).map(|(lower, _)| *lower..=*lower);
        let members = ranges.iter().cloned().chain(lower);
        let mut class =
            ClassUnicode::new(members.map(|range| ClassUnicodeRange::new(*range.start(), *range.end())));
        if negation.is_some() {
            class.negate();
            choices.clear();
        }
        class.difference(&ClassUnicode::new([ClassUnicodeRange::new('/', '/')]));
        choices.push(Hir::class(Class::Unicode(class)));
        Ok(Hir::alternation(choices))
    }

    /// Reads what follows a `{`.
    fn group(&mut self, starts_name: bool, depth: usize) -> Result<Hir, BadNamePattern> {
        if depth > DEPTH {
            return Err(BadNamePattern::TooDeep);
        }
        let mut branches = Vec::new();
        loop {
            branches.push(self.parts(starts_name, depth)?);
            match self.take() {
                Some(',') => {}
                Some(_) => return Ok(Hir::alternation(branches)),
                None => return Err(BadNamePattern::OpenGroup),
            }
        }
    }
}

fn literal(text: &str) -> Hir {
    Hir::literal(fold_case(text).into_bytes())
}

fn any_number(of: Dot) -> Hir {
    Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub: Box::new(Hir::dot(of)) })
}

fn or_nothing(what: Hir) -> Hir {
    Hir::alternation(vec![what, Hir::empty()])
}

#[cfg(test)]
mod tests {
    use globset::GlobBuilder;
    use mcp_text_editor_core::file_names::folded_paths;
    use mcp_text_editor_core::invisible::is_default_ignorable;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization as _;

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

    fn matches(pattern: &str, path: &str) -> bool {
        let matcher = PathMatcher::new(&[expression(pattern).unwrap()]).unwrap();
        matcher.first_match(folded_paths(path).iter().map(String::as_str)).is_some()
    }

    #[test]
    fn what_a_pattern_matches() {
        for (pattern, path) in [
            ("/a", "/a"),
            ("/a", "/a/b/c"),
            ("/A", "/a"),
            ("/**/a", "/a"),
            ("/**/a", "/x/y/a/b"),
            ("/a/**", "/a/b"),
            ("/a/**/b", "/a/b"),
            ("/a/**/b", "/a/x/y/b"),
            ("/a?", "/aé"),
            ("/[!a]", "/b"),
            ("/[]]", "/]"),
            ("/[a-]", "/-"),
            ("/[a-a]", "/a"),
            ("/{**,a}/b", "/x/y/b"),
            ("/{a,b/c}", "/b/c"),
            ("/{a,{b,c}d}", "/cd"),
            ("/\\*", "/*"),
            ("/a**b", "/axb"),
            ("/a,b", "/a,b"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("/a", "/b"),
            ("/a", "/ab"),
            ("/a", "/x/a"),
            ("/*", ""),
            ("/a*b", "/a/b"),
            ("/a**b", "/a/b"),
            ("/a?b", "/a/b"),
            ("/a[!x]b", "/a/b"),
            ("/[!a]", "/a"),
            ("/{*,a}/b", "/x/y/b"),
            ("/{a**,b}/b", "/a/x/b"),
            ("/\\*", "/a"),
            ("/{a,b}", "/c"),
            ("/caf?", "/cafés"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn one_name_in_two_spellings_is_one_name() {
        for (pattern, path) in [
            ("/caf\u{e9}.txt", "/cafe\u{301}.txt"),
            ("/cafe\u{301}.txt", "/caf\u{e9}.txt"),
            ("/caf[\u{e9}x]", "/cafe\u{301}"),
            ("/caf[e\u{301}]", "/CAFE\u{301}"),
            ("/[\u{e0}-\u{fc}]", "/E\u{301}"),
            ("/caf?", "/cafe\u{301}"),
            ("/stra\u{df}e", "/STRASSE"),
            ("/stra[\u{df}x]e", "/STRA\u{1e9e}E"),
            ("/strasse", "/STRA\u{1e9e}E"),
            ("/\u{130}", "/i\u{307}"),
            ("/k", "/\u{212a}"),
            ("/[k]", "/\u{212a}"),
            ("/\u{3a3}", "/\u{3c2}"),
            ("/[\u{391}-\u{3a9}]", "/\u{3c2}"),
            ("/se\u{200d}cret", "/secret"),
            ("/secret", "/sec\u{200b}ret"),
            ("/secret", "/secret. ."),
            ("/*.env", "/a.env::$DATA"),
            ("/secret/x", "/secret./x"),
            ("/secret.", "/secret."),
            ("/foo.*", "/foo."),
            ("c:/secret", "C:/SECRET."),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        assert!(
            !matches("/cafe", "/caf\u{e9}") && !matches("/cafe*", "/cafe\u{301}"),
            "an accent is a difference"
        );
        assert!(!matches("/[A-Z]", "/\u{1e96}"), "in upper case, it is a letter of the range and a mark");
    }

    #[test]
    fn what_cannot_be_read() {
        let said = |pattern: &str| expression(pattern).unwrap_err().to_string();
        let deep = "{".repeat(DEPTH + 1);
        for (pattern, expected) in [
            ("[a", "unclosed character class; missing ']'"),
            ("[a-", "unclosed character class; missing ']'"),
            ("[z-a]", "invalid range; 'z' > 'a'"),
            ("{a", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
            ("a}", "unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)"),
            (&deep, "alternate groups are nested too deeply"),
            ("a\\", "dangling '\\'"),
        ] {
            assert_eq!(said(pattern), expected, "{pattern}");
        }
        assert!(matches(&format!("{}a{}", "{".repeat(DEPTH), "}".repeat(DEPTH)), "a"));
    }

    /// If the search fails, too much is protected rather than too little.
    #[test]
    fn where_the_automaton_gives_up_the_first_expression_counts_as_matched() {
        let gives_up = DFA::config().match_kind(MatchKind::All).quit(b'x', true);
        let automaton = DFA::builder().configure(gives_up).build_many(&["b", "a"]).unwrap();
        let matcher = PathMatcher { automaton, made: Mutex::new(None) };
        for (path, matched) in [("a", Some(1)), ("c", None), ("ax", Some(0)), ("x", Some(0))] {
            assert_eq!(matcher.first_match([path]), matched, "{path}");
        }
    }

    #[test]
    fn many_stars_take_no_more_time_than_their_number() {
        let pattern = "/".to_owned() + &"*a".repeat(200) + "b";
        assert!(!matches(&pattern, &("/".to_owned() + &"a".repeat(5_000))));
    }

    proptest! {
        /// Compares with globset, which ripgrep uses. On ASCII, both agree, as long as no name ends in what
        /// Windows drops. In globset, a negated class also matches a slash.
        #[test]
        fn on_ascii_it_agrees_with_globset(
            pattern in "/(\\*\\*/)?[ab*?]{0,4}(\\[!?[a-c]{1,2}\\]|\\{[ab]{1,2},[bc*]\\}|/[abA]{1,2}|/\\*\\*)?[abC]{0,2}",
            path in "(/[abcABC]{1,4}){1,4}",
        ) {
            let below = |glob: &str| {
                GlobBuilder::new(glob).literal_separator(true).case_insensitive(true).build().unwrap().compile_matcher()
            };
            let within_names = pattern.replace("[!", "[!/");
            let expected = [within_names.clone(), format!("{within_names}/**")].iter().any(|glob| below(glob).is_match(&path));
            prop_assert_eq!(matches(&pattern, &path), expected);
        }

        /// Matches a name that is its own pattern, in each spelling that a file system could take for it.
        #[test]
        fn a_name_matches_however_it_is_spelled(
            name in "[aZk\u{e9}\u{301}\u{307}\u{345}\u{df}\u{1e9e}\u{130}\u{131}\u{17f}\u{212a}\u{3a3}\u{3c2}\u{1f80}\u{fb01}\u{ac00}\u{200d}\u{34f}]{1,6}",
        ) {
            let pattern = format!("/{name}");
            // Letter case is changed in the decomposed name: only there does U+0345 come after the other
            // marks.
            let decomposed: String = name.chars().filter(|one| !is_default_ignorable(*one)).nfd().collect();
            for spelled in [
                name.nfc().collect::<String>(),
                decomposed.clone(),
                decomposed.to_uppercase(),
                decomposed.to_lowercase(),
                decomposed.to_uppercase().nfc().collect(),
                format!("{name}\u{feff}"),
                format!("{name}."),
            ] {
                prop_assert!(matches(&pattern, &format!("/{spelled}")), "{:?} {:?}", name, spelled);
            }
        }
    }
}
