//! Compiles the pattern of a request: [`Pattern`]. A pattern's length is checked before it is parsed.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::syntax;

use crate::search::problem::BadSearchPattern;
use crate::search::request::Search;

/// The most bytes of a pattern. While it is parsed, each byte can take 15 KiB of memory (`(?i)\PL` is a class
/// of a thousand ranges).
const LONGEST: usize = 4 << 10;
/// The most bytes of a compiled pattern, as in the crate `regex`.
const SIZE: usize = 10 << 20;
/// The most bytes of the cache that each of a thread's automata fills while it searches, as in the crate
/// `regex`.
pub(crate) const CACHE: usize = 2 << 20;
/// The most groups that may be nested.
const DEPTH: u32 = 250;
/// The most states of a pattern, times the ends of its groups. One engine of the crate `regex` has a table of
/// this size for each thread.
const SLOTS: usize = 1 << 20;

/// A compiled pattern. A match never goes across a line end, and `^` and `$` mean the start and end of a
/// line.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// The matcher of the searcher.
    pub(crate) regex: RegexMatcher,
    /// The states of the same pattern, which are followed step by step. In a text of several lines, these
    /// might find more.
    pub(crate) states: NFA,
}

impl Pattern {
    /// Compiles the pattern of a request.
    pub(crate) fn of(search: &Search<'_>) -> Result<Self, BadSearchPattern> {
        let bytes = search.pattern.len();
        if bytes > LONGEST {
            return Err(BadSearchPattern::TooLong { bytes, most: LONGEST });
        }
        let regex = regex(search)?;
        let states = states(search)?;
        if states.states().len() * states.group_info().slot_len() > SLOTS {
            return Err(BadSearchPattern::TooLarge);
        }
        Ok(Self { regex, states })
    }
}

fn regex(search: &Search<'_>) -> Result<RegexMatcher, BadSearchPattern> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(search.ignore_case)
        .fixed_strings(search.literal)
        .line_terminator(Some(b'\n'))
        .size_limit(SIZE)
        .dfa_size_limit(CACHE)
        .nest_limit(DEPTH);
    builder.build(search.pattern).map_err(|error| match error.kind() {
        ErrorKind::NotAllowed(_) => BadSearchPattern::LineEnd,
        // This error has no kind of its own.
        ErrorKind::Regex(why) if why.contains("exceeds size limit") => BadSearchPattern::TooLarge,
        _ => BadSearchPattern::Regex(error.to_string()),
    })
}

fn states(search: &Search<'_>) -> Result<NFA, BadSearchPattern> {
    let pattern = if search.literal {
        search.pattern.escape_unicode().to_string()
    } else {
        format!("(?:{})", search.pattern)
    };
    let syntax = syntax::Config::new()
        .multi_line(true)
        .case_insensitive(search.ignore_case)
        .utf8(false)
        .nest_limit(DEPTH);
    let config = thompson::Config::new().utf8(false).nfa_size_limit(Some(SIZE));
    let states = thompson::Compiler::new().syntax(syntax).configure(config).build(&pattern);
    // The pattern is one: the other engine has read it.
    states.map_err(|_| BadSearchPattern::TooLarge)
}
