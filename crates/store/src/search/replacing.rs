//! Replaces the matches of a pattern: [`Replacing`].

use std::ops::ControlFlow;

use mcp_text_editor_core::resolve::TextReplacement;
use regex_automata::util::captures::{Captures, GroupInfo};
use regex_automata::util::interpolate;
use regex_automata::util::primitives::PatternID;

use crate::cancellation::Cancellation;
use crate::edit::{Replace, Replaced};
use crate::error::ReadFault;
use crate::search::finder::{Finder, LONGEST_TEXT};
use crate::search::matcher::Pattern;
use crate::search::problem::BadSearchPattern;
use crate::search::request::Search;
use crate::search::stop::Halted;

/// A compiled pattern, and the text that replaces its matches.
#[derive(Debug)]
pub(crate) struct Replacing<'a> {
    finder: Finder,
    /// The new text. If `has_groups` is set, `$1` or `${name}` in it stands for a group of the pattern.
    new: &'a str,
    has_groups: bool,
}

impl<'a> Replacing<'a> {
    /// Compiles the pattern of a request. Fails if the pattern matches the empty text, or if `new` names a
    /// group that the pattern does not have.
    pub(crate) fn of(search: &Search<'_>, pattern: &Pattern, new: &'a str) -> Result<Self, BadSearchPattern> {
        let finder = Finder::of(search, pattern.states.states().len())?;
        if finder.matches_empty {
            return Err(BadSearchPattern::Empty);
        }
        let has_groups = !search.literal && new.contains('$');
        if has_groups {
            check(new, finder.groups())?;
        }
        Ok(Self { finder, new, has_groups })
    }

    /// Returns the text that replaces a match; `None` if it has more than `most` bytes.
    fn expanded(&self, text: &str, begin: usize, captures: &Captures, most: u64) -> Option<String> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut fits = true;
        let append = |group, new: &mut String| {
            let Some(span) = captures.get_group(group).filter(|_| fits) else { return };
            fits = new.len() + span.len() <= most;
            new.push_str(text.get(begin + span.start..begin + span.end).unwrap_or_default());
        };
        let mut new = String::new();
        interpolate::string(self.new, append, |name| index_of(self.finder.groups(), name), &mut new);
        (fits && new.len() <= most).then_some(new)
    }
}

impl Replace for Replacing<'_> {
    fn most_bytes(&self) -> u64 {
        LONGEST_TEXT
    }

    fn replace(
        &self,
        text: &str,
        most: u64,
        most_bytes: u64,
        cancellation: Cancellation<'_>,
    ) -> Result<Option<Replaced>, ReadFault> {
        let mut replaced = Replaced::default();
        let searched =
            self.finder.for_each(text.as_bytes(), &|| cancellation.is_cancelled(), |at, groups| {
                replaced.count += 1;
                if replaced.count > most || replaced.bytes > most_bytes {
                    return ControlFlow::Continue(());
                }
                let left = most_bytes - replaced.bytes;
                let new = if self.has_groups {
                    let captures = groups();
                    let begin = at.start - captures.get_match().map_or(0, |matched| matched.start());
                    self.expanded(text, begin, &captures, left)
                } else {
                    (self.new.len() as u64 <= left).then(|| self.new.to_owned())
                };
                replaced.bytes = new.as_ref().map_or(u64::MAX, |new| replaced.bytes + new.len() as u64);
                replaced.places.extend(new.map(|new| TextReplacement { at, new }));
                ControlFlow::Continue(())
            });
        match searched {
            Ok(()) => Ok(Some(replaced)),
            Err(Halted::Undecided) => Ok(None),
            Err(Halted::Stopped) => Err(ReadFault::Cancelled),
        }
    }
}

fn index_of(groups: &GroupInfo, name: &str) -> Option<usize> {
    groups.to_index(PatternID::ZERO, name)
}

/// Fails if the new text names a group that the pattern does not have; the error has the first such group.
fn check(new: &str, groups: &GroupInfo) -> Result<(), BadSearchPattern> {
    let count = groups.group_len(PatternID::ZERO);
    let missing = std::cell::RefCell::new(None);
    let miss = |name: &str| {
        missing.borrow_mut().get_or_insert_with(|| name.to_owned());
    };
    interpolate::string(
        new,
        |group, _| {
            if group >= count {
                miss(&group.to_string());
            }
        },
        |name| {
            let index = index_of(groups, name);
            if index.is_none() {
                miss(name);
            }
            index
        },
        &mut String::new(),
    );
    match missing.into_inner() {
        Some(group) => Err(BadSearchPattern::Group(group)),
        None => Ok(()),
    }
}
