//! From the pattern of a request to what finds it in a line: [`matcher`].

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use crate::search::problem::BadSearchPattern;
use crate::search::request::Search;

/// How many bytes a compiled pattern may have: as in the crate `regex`.
const SIZE: usize = 10 << 20;
/// How many bytes each thread may spend on what it learns about the pattern while it searches.
const CACHE: usize = 16 << 20;
/// How deep groups may be nested.
const DEPTH: u32 = 250;

/// Compiles the pattern of a request. What it finds never goes over a line's end, and `^` and `$` are those of a line.
pub(crate) fn matcher(search: &Search<'_>) -> Result<RegexMatcher, BadSearchPattern> {
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
        _ => BadSearchPattern::Regex(error.to_string()),
    })
}
