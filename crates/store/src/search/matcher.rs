//! Compiles the pattern of a request: [`Pattern`]. A pattern's length is checked before it is parsed.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use mcp_text_editor_core::file_names::compositions;
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::syntax;

use crate::search::finder::{CACHE, DEPTH, Finder, SIZE};
use crate::search::problem::BadSearchPattern;
use crate::search::request::Search;
use crate::search::skipped::Cause;

/// The maximum number of bytes of a pattern. Parsing can take 15 KiB of memory per byte (`(?i)\PL` is a class
/// of a thousand ranges).
const LONGEST: usize = 4 << 10;
/// The maximum number of bytes of a pattern whose other readings ([`Pattern::readings`]) are tried, too.
const LONGEST_READ_OTHERWISE: usize = 1 << 10;
/// The maximum product of the number of a pattern's states and twice the number of its groups. An engine of
/// the crate `regex` has a table of this size for each thread.
const SLOTS: usize = 1 << 20;

/// A compiled pattern. `^` and `$` mean the start and end of a line. Only matches of `finder` can go across a
/// line end.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// The matcher that the searcher uses.
    pub(crate) regex: RegexMatcher,
    /// The states of the same pattern, which [`LongLine`](crate::search::long_line::LongLine) follows step by
    /// step. In a text of several lines, they might find more than `regex`.
    pub(crate) states: NFA,
    /// The finder of matches over several lines; `None` if such matches are not wanted.
    pub(crate) finder: Option<Finder>,
    /// Whether the pattern has non-ASCII characters. They cannot be found in a file that does not decode.
    pub(crate) is_beyond_ascii: bool,
    /// Other readings of the pattern: patterns that the client may have meant instead. If one of them has a
    /// hit, it explains why the pattern itself is not found. These patterns have no readings of their own.
    pub(crate) readings: Vec<(Cause, Pattern)>,
}

impl Pattern {
    /// Compiles the pattern of a request.
    pub(crate) fn of(search: &Search<'_>) -> Result<Self, BadSearchPattern> {
        let bytes = search.pattern.len();
        if bytes > LONGEST {
            return Err(BadSearchPattern::TooLong { bytes, most: LONGEST });
        }
        let readings = if search.multiline { Vec::new() } else { readings(search) };
        Ok(Self { readings, ..Self::without_readings(search)? })
    }

    fn without_readings(search: &Search<'_>) -> Result<Self, BadSearchPattern> {
        let regex = regex(search)?;
        let states = states(search)?;
        if states.states().len() * states.group_info().slot_len() > SLOTS {
            return Err(BadSearchPattern::TooLarge);
        }
        let finder = search.multiline.then(|| Finder::of(search, states.states().len())).transpose()?;
        let is_beyond_ascii = !search.pattern.is_ascii();
        Ok(Self { regex, states, finder, is_beyond_ascii, readings: Vec::new() })
    }
}

/// Returns the other readings of a pattern that can be compiled.
fn readings(search: &Search<'_>) -> Vec<(Cause, Pattern)> {
    let Search { pattern, literal, .. } = *search;
    if pattern.len() > LONGEST_READ_OTHERWISE {
        return Vec::new();
    }
    let mut readings = Vec::new();
    let mut read = |cause, pattern: &str, literal| {
        let pattern = Pattern::without_readings(&Search { pattern, literal, ..*search });
        readings.extend(pattern.ok().map(|pattern| (cause, pattern)));
    };
    if let (Some(pattern), false) = (with_alternatives(pattern), literal) {
        read(Cause::AlternativesReading, &pattern, false);
    }
    // If a dot is the only special character, the expression itself also finds the literal text.
    if !literal && pattern.contains(['\\', '+', '*', '?', '(', '|', '[', '{', '^', '$']) {
        read(Cause::LiteralReading, pattern, true);
    } else if literal && ["|", "\\", ".*", ".+", "[^"].iter().any(|sign| pattern.contains(sign)) {
        read(Cause::ExpressionReading, pattern, false);
    }
    if let Some(forms) = compositions(pattern) {
        let forms = forms.map(|form| if literal { regex_syntax::escape(&form) } else { form });
        read(Cause::CompositionReading, &forms.map(|form| format!("(?:{form})")).join("|"), false);
    }
    readings
}

/// Returns the pattern with `|` in place of each `\|`, which separates alternatives in `grep`; `None` if the
/// pattern has no `\|`.
fn with_alternatives(pattern: &str) -> Option<String> {
    let mut written = String::with_capacity(pattern.len());
    let mut is_escaped = false;
    for character in pattern.chars() {
        if is_escaped && character == '|' {
            written.pop();
        }
        written.push(character);
        is_escaped = character == '\\' && !is_escaped;
    }
    (written.len() < pattern.len()).then_some(written)
}

fn regex(search: &Search<'_>) -> Result<RegexMatcher, BadSearchPattern> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(search.ignore_case)
        .fixed_strings(search.literal)
        .line_terminator((!search.multiline).then_some(b'\n'))
        .size_limit(SIZE)
        .dfa_size_limit(CACHE)
        .nest_limit(DEPTH);
    builder.build(search.pattern).map_err(|error| match error.kind() {
        ErrorKind::NotAllowed(_) => BadSearchPattern::LineEnd,
        // This error has no separate kind, only a text.
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
    // The pattern is valid, since the other engine has accepted it. So the only possible error is its size.
    states.map_err(|_| BadSearchPattern::TooLarge)
}
