//! Finds a pattern in one long line, and checks regularly whether to stop: [`LongLine`].
//!
//! This module passes the line byte by byte to a lazy automaton of the crate `regex-automata`. The automaton
//! finds where a match ends, but not where the match begins, and cannot decide a Unicode word boundary next
//! to a non-ASCII character.

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::NFA;

use crate::search::finder::CACHE;
use crate::search::stop::{Halted, Stop};

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
