//! Compiles the pattern of a request: [`Pattern`]. A pattern's length is checked before it is parsed.
//!
//! Finds the matches of a pattern in a text in memory, one after the other, and the content of their groups:
//! [`Finder`]. Unlike the searcher's matcher, the finder knows where each match begins and ends.
//!
//! Finds a pattern in one long line, and checks regularly whether to stop: [`LongLine`].
//!
//! This module passes the line byte by byte to a lazy automaton of the crate `regex-automata`. The automaton
//! finds where a match ends, but not where the match begins, and cannot decide a Unicode word boundary next
//! to a non-ASCII character.

use std::ops::{ControlFlow, Range};

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use mcp_text_editor_core::file_names::compositions;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::meta::{self, Regex};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::captures::{Captures, GroupInfo};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, Span};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use crate::search::problem::BadSearchPattern;
use crate::search::request::Search;
use crate::search::skipped::Cause;
use crate::search::stop::{Halted, STEPS, Stop};

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
    /// The states of the same pattern, which [`LongLine`](crate::search::matcher::LongLine) follows step by
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

/// The maximum size in bytes of a compiled pattern, the same as in the crate `regex`.
pub(crate) const SIZE: usize = 10 << 20;
/// The maximum size in bytes of the cache that an automaton of a thread fills during a search, the same as in
/// the crate `regex`.
pub(crate) const CACHE: usize = 2 << 20;
/// The maximum nesting depth of groups.
pub(crate) const DEPTH: u32 = 250;
/// The maximum number of bytes of a text that is matched as a whole, in memory.
pub(crate) const LONGEST_TEXT: u64 = 8 << 20;
/// The maximum number of steps of one call of the engine, which cannot be stopped: see [`STEPS`].
const MOST_STEPS: usize = 16 * STEPS;

/// A compiled pattern. Unless `is_multiline` is set, a match never goes across a line end. `^` and `$` mean
/// the start and end of a line.
#[derive(Clone, Debug)]
pub(crate) struct Finder {
    regex: Regex,
    is_multiline: bool,
    /// Whether the pattern matches the empty text.
    pub(crate) matches_empty: bool,
    /// The maximum number of bytes of a line or, if `is_multiline` is set, of a text.
    longest: usize,
}

impl Finder {
    /// Compiles the pattern of a request. `states` is the pattern's number of states.
    pub(crate) fn of(search: &Search<'_>, states: usize) -> Result<Self, BadSearchPattern> {
        let hir = parse(search)?;
        let config = meta::Config::new().nfa_size_limit(Some(SIZE)).hybrid_cache_capacity(CACHE);
        let regex = Regex::builder().configure(config).build_from_hir(&hir);
        Ok(Self {
            regex: regex.map_err(|_| BadSearchPattern::TooLarge)?,
            is_multiline: search.multiline,
            matches_empty: hir.properties().minimum_len() == Some(0),
            longest: MOST_STEPS / states.max(1),
        })
    }

    /// Returns the pattern's groups. Each group has a number, and some groups have a name.
    pub(crate) fn groups(&self) -> &GroupInfo {
        self.regex.group_info()
    }

    /// Calls `each` with the byte range of each match, from left to right without overlap, and with a
    /// function that finds the match's groups. Fails if `is_over` returns `true`, or if the text or a line is
    /// too long.
    pub(crate) fn for_each(
        &self,
        text: &[u8],
        is_over: &dyn Fn() -> bool,
        mut each: impl FnMut(Range<usize>, &mut dyn FnMut() -> Captures) -> ControlFlow<()>,
    ) -> Result<(), Halted> {
        let mut cache = self.regex.create_cache();
        let mut begin = 0;
        loop {
            let rest = text.get(begin..).unwrap_or_default();
            let length = if self.is_multiline { None } else { memchr::memchr(b'\n', rest) };
            let piece = length.and_then(|length| rest.get(..length)).unwrap_or(rest);
            if piece.len() > self.longest {
                return Err(Halted::Undecided);
            }
            let mut at = 0;
            while at <= piece.len() {
                if is_over() {
                    return Err(Halted::Stopped);
                }
                let input = Input::new(piece).range(at..);
                let Some(matched) = self.regex.search_with(&mut cache, &input) else { break };
                let mut groups = || {
                    let mut captures = self.regex.create_captures();
                    let span = Span { start: matched.start(), end: matched.end() };
                    let input = Input::new(piece).span(span).anchored(Anchored::Yes);
                    self.regex.search_captures_with(&mut cache, &input, &mut captures);
                    captures
                };
                if each(begin + matched.start()..begin + matched.end(), &mut groups).is_break() {
                    return Ok(());
                }
                at = if matched.is_empty() { matched.end() + 1 } else { matched.end() };
            }
            let Some(length) = length else { return Ok(()) };
            begin += length + 1;
        }
    }
}

fn parse(search: &Search<'_>) -> Result<Hir, BadSearchPattern> {
    let pattern =
        if search.literal { regex_syntax::escape(search.pattern) } else { search.pattern.to_owned() };
    let mut parser = ParserBuilder::new();
    parser.multi_line(true).case_insensitive(search.ignore_case).nest_limit(DEPTH);
    parser.build().parse(&pattern).map_err(|error| BadSearchPattern::Regex(error.to_string()))
}

/// Searches one line at a time, and reuses its memory.
pub(crate) struct LongLine<'a> {
    states: &'a NFA,
    stop: &'a dyn Stop,
    /// The maximum number of steps between two checks whether to stop.
    steps: usize,
    /// The lazy automaton and its cache, built when they are first needed.
    automaton: Option<(DFA, Cache)>,
}

impl<'a> LongLine<'a> {
    pub(crate) fn new(states: &'a NFA, stop: &'a dyn Stop, steps: usize) -> Self {
        Self { states, stop, steps, automaton: None }
    }

    /// Returns the end of the match that ends first in the line; `None` if the line has no match.
    pub(crate) fn find_end(&mut self, line: &[u8]) -> Result<Option<usize>, Halted> {
        if self.automaton.is_none() {
            self.automaton = automaton(self.states);
        }
        let (automaton, cache) = self.automaton.as_mut().ok_or(Halted::Undecided)?;
        let start = automaton.start_state_forward(cache, &Input::new(line));
        let mut state = start.map_err(|_| Halted::Undecided)?;
        // In the worst case, each byte needs a new state of the automaton, which takes one step for every
        // state of the pattern.
        let each = self.states.states().len();
        let length = (self.steps / each).max(1);
        for (block, from) in line.chunks(length).zip((0..).step_by(length)) {
            if self.stop.is_over(block.len() * each) {
                return Err(Halted::Stopped);
            }
            for (byte, at) in block.iter().zip(from..) {
                state = automaton.next_state(cache, state, *byte).map_err(|_| Halted::Undecided)?;
                // The automaton reports a match one byte after its end.
                match state {
                    state if !state.is_tagged() => {}
                    state if state.is_match() => return Ok(Some(at)),
                    state if state.is_dead() => return Ok(None),
                    _ => return Err(Halted::Undecided),
                }
            }
        }
        let end = automaton.next_eoi_state(cache, state).map_err(|_| Halted::Undecided)?;
        Ok(end.is_match().then_some(line.len()))
    }
}

/// Returns the lazy automaton of a pattern and its cache; `None` if the automaton cannot be built.
fn automaton(states: &NFA) -> Option<(DFA, Cache)> {
    let config =
        DFA::config().cache_capacity(CACHE).skip_cache_capacity_check(true).unicode_word_boundary(true);
    let automaton = DFA::builder().configure(config).build_from_nfa(states.clone()).ok()?;
    let cache = automaton.create_cache();
    Some((automaton, cache))
}
