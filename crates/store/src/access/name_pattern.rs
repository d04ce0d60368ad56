//! Turns a path pattern, as a person writes it, into a regular expression for folded paths ([`expression`]),
//! and many expressions into one matcher ([`PathMatcher`]). The caller chooses the paths to match.

use std::sync::{LazyLock, Mutex, PoisonError};

use mcp_text_editor_core::file_names::{fold_case, without_invisible};
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::{Anchored, Input, MatchKind, PatternSet};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Dot, Hir, Look, Repetition};

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
