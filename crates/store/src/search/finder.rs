//! Finds the matches of a pattern in a text in memory, one after the other, and the content of their groups:
//! [`Finder`]. Unlike the searcher's matcher, the finder knows where each match begins and ends.

use std::ops::{ControlFlow, Range};

use regex_automata::meta::{self, Regex};
use regex_automata::util::captures::{Captures, GroupInfo};
use regex_automata::{Anchored, Input, Span};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use crate::search::problem::BadSearchPattern;
use crate::search::request::Search;
use crate::search::stop::{Halted, STEPS};

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
