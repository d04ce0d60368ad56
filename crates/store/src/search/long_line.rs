//! Finds a pattern in one long line, and asks now and then whether to stop: [`LongLine`].
//!
//! A lazy automaton of the crate `regex-automata`, driven byte by byte, tells whether there is a match. It
//! cannot decide a Unicode word boundary beside characters beyond ASCII, and it does not tell the place of a
//! match. For these, a simulation follows all states at once, as Pike's does.

use std::mem;
use std::ops::Range;

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use crate::search::matcher::CACHE;
use crate::search::stop::{Stop, Stopped};

/// Searches one line at a time, and reuses its memory.
pub(crate) struct LongLine<'a> {
    states: &'a NFA,
    stop: &'a dyn Stop,
    /// The number of steps between two questions whether to stop.
    steps: usize,
    /// The lazy automaton, made when it is first needed.
    automaton: Option<(DFA, Cache)>,
    now: Threads,
    next: Threads,
    /// The states that are still to be followed, the next one at the end.
    stack: Vec<StateID>,
}

impl<'a> LongLine<'a> {
    pub(crate) fn new(states: &'a NFA, stop: &'a dyn Stop, steps: usize) -> Self {
        let (now, next) = (Threads::default(), Threads::default());
        Self { states, stop, steps, automaton: None, now, next, stack: Vec::new() }
    }

    /// Tells whether the pattern is found in a line.
    pub(crate) fn is_match(&mut self, line: &[u8]) -> Result<bool, Stopped> {
        match self.is_accepted(line)? {
            Some(is_match) => Ok(is_match),
            None => Ok(self.find(line)?.is_some()),
        }
    }

    /// Tells whether the lazy automaton finds the pattern; `None` if it cannot decide.
    fn is_accepted(&mut self, line: &[u8]) -> Result<Option<bool>, Stopped> {
        if self.automaton.is_none() {
            self.automaton = automaton(self.states);
        }
        let Some((automaton, cache)) = &mut self.automaton else { return Ok(None) };
        let Ok(mut state) = automaton.start_state_forward(cache, &Input::new(line)) else { return Ok(None) };
        // A byte that is new in a state is followed from each of the pattern's states.
        let each = self.states.states().len();
        for block in line.chunks((self.steps / each).max(1)) {
            if self.stop.is_over(block.len() * each) {
                return Err(Stopped);
            }
            for byte in block {
                let Ok(next) = automaton.next_state(cache, state, *byte) else { return Ok(None) };
                state = next;
                if state.is_tagged() {
                    if state.is_match() {
                        return Ok(Some(true));
                    }
                    // A dead state leads to no match. With any other mark, the automaton has given up.
                    return Ok(state.is_dead().then_some(false));
                }
            }
        }
        let end = automaton.next_eoi_state(cache, state);
        Ok(end.ok().map(|state| state.is_match()))
    }

    /// Returns the place where the pattern is found in a line: the first place, and there the match that the
    /// pattern prefers.
    pub(crate) fn find(&mut self, line: &[u8]) -> Result<Option<Range<usize>>, Stopped> {
        let states = self.states.states().len();
        // For each byte, a state is followed once and looked at once.
        let most = self.steps.saturating_sub(2 * states);
        let (mut found, mut steps) = (None, usize::MAX);
        self.now.clear(states);
        for at in 0..=line.len() {
            if steps >= most {
                if self.stop.is_over(self.steps.max(2 * states)) {
                    return Err(Stopped);
                }
                steps = 0;
            }
            if found.is_none() {
                follow(
                    self.states,
                    self.states.start_anchored(),
                    (line, at),
                    at,
                    &mut self.now,
                    &mut self.stack,
                );
            }
            self.next.clear(states);
            for &(state, start) in &self.now.listed {
                let next = match self.states.state(state) {
                    State::Match { .. } => {
                        found = Some(start..at);
                        // The states after this one are preferred less.
                        break;
                    }
                    State::ByteRange { trans } if trans.matches(line, at) => Some(trans.next),
                    State::Sparse(transitions) => transitions.matches(line, at),
                    State::Dense(transitions) => transitions.matches(line, at),
                    _ => None,
                };
                if let Some(next) = next {
                    follow(self.states, next, (line, at + 1), start, &mut self.next, &mut self.stack);
                }
            }
            steps += self.now.listed.len() + self.next.listed.len();
            mem::swap(&mut self.now, &mut self.next);
            if found.is_some() && self.now.listed.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

/// Returns the lazy automaton of a pattern, if there can be one.
fn automaton(states: &NFA) -> Option<(DFA, Cache)> {
    let config =
        DFA::config().cache_capacity(CACHE).skip_cache_capacity_check(true).unicode_word_boundary(true);
    let automaton = DFA::builder().configure(config).build_from_nfa(states.clone()).ok()?;
    let cache = automaton.create_cache();
    Some((automaton, cache))
}

/// Lists a state, and all states to which it leads without a byte, in the order of the pattern's preference.
fn follow(
    states: &NFA,
    from: StateID,
    (line, at): (&[u8], usize),
    start: usize,
    threads: &mut Threads,
    stack: &mut Vec<StateID>,
) {
    stack.push(from);
    while let Some(state) = stack.pop() {
        if !threads.list(state, start) {
            continue;
        }
        match states.state(state) {
            State::Look { look, next } => {
                if states.look_matcher().matches(*look, line, at) {
                    stack.push(*next);
                }
            }
            State::Union { alternates } => stack.extend(alternates.iter().rev()),
            State::BinaryUnion { alt1, alt2 } => stack.extend([*alt2, *alt1]),
            State::Capture { next, .. } => stack.push(*next),
            State::ByteRange { .. }
            | State::Sparse(_)
            | State::Dense(_)
            | State::Fail
            | State::Match { .. } => {}
        }
    }
}

/// States in the order of preference, each once. Each has the offset at which its match begins.
#[derive(Default)]
struct Threads {
    listed: Vec<(StateID, usize)>,
    /// The place of each state in the list, if it has one.
    places: Vec<usize>,
}

impl Threads {
    /// Empties the list, and makes room for this many states.
    fn clear(&mut self, states: usize) {
        self.listed.clear();
        self.places.resize(states, 0);
    }

    /// Lists a state, unless it is listed already. Tells whether it was new.
    fn list(&mut self, state: StateID, start: usize) -> bool {
        let Some(place) = self.places.get_mut(state.as_usize()) else { return false };
        if self.listed.get(*place).is_some_and(|listed| listed.0 == state) {
            return false;
        }
        *place = self.listed.len();
        self.listed.push((state, start));
        true
    }
}
