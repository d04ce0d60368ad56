//! Converts the bytes of a file to the text that is searched, which is also the text that a read shows: UTF-8
//! without a byte order mark, where each line end is one LF.
//!
//! Replaces the matches of a pattern: [`Replacing`].

use std::ops::ControlFlow;

use mcp_text_editor_core::encoding::{CodeUnit, Encoding, Validator, sniff_bom};
use mcp_text_editor_core::line_ending::Convention;
use mcp_text_editor_core::resolve::TextReplacement;
use regex_automata::util::captures::{Captures, GroupInfo};
use regex_automata::util::interpolate;
use regex_automata::util::primitives::PatternID;

use crate::cancellation::Cancellation;
use crate::edit::{Replace, Replaced};
use crate::error::ReadFault;
use crate::search::matcher::{Finder, LONGEST_TEXT, Pattern};
use crate::search::problem::BadSearchPattern;
use crate::search::request::Search;
use crate::search::skipped::Cause;
use crate::search::stop::Halted;

/// The encoding of a file, and the length of its byte order mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TextForm {
    pub(crate) encoding: Encoding,
    /// The number of bytes of the byte order mark; 0 if there is none.
    pub(crate) start: usize,
}

impl TextForm {
    /// Determines the form from the first four bytes (all bytes of a shorter file), and from the request's
    /// encoding.
    pub(crate) fn of(head: &[u8], label: Option<Encoding>) -> Self {
        let marked = sniff_bom(head).filter(|_| label.is_none_or(Encoding::is_unicode));
        let encoding = marked.or(label).unwrap_or(Encoding::Utf8);
        Self { encoding, start: marked.map_or(0, |marked| marked.bom().len()) }
    }
}

/// Returns the text of a whole file, and whether it differs from the file's bytes after the byte order mark.
/// A text that differs is in `buffer`. For a file that is searched as UTF-8, this function does not check
/// that the bytes are UTF-8. The caller does so with [`is_utf8`] once something was found.
pub(crate) fn of_bytes<'a>(
    raw: &'a [u8],
    form: TextForm,
    buffer: &'a mut Vec<u8>,
) -> Result<(&'a [u8], bool), Cause> {
    let body = raw.get(form.start..).unwrap_or_default();
    if form.encoding.unit() == CodeUnit::Byte && memchr::memchr(0, body).is_some() {
        return Err(Cause::Binary);
    }
    buffer.clear();
    if form.encoding == Encoding::Utf8 {
        if memchr::memchr(b'\r', body).is_none() {
            return Ok((body, false));
        }
        buffer.extend_from_slice(body);
    } else {
        let text = form.encoding.decode(body).map_err(|_| Cause::NotDecoded)?;
        *buffer = text.into_owned().into_bytes();
    }
    let convention = if memchr::memchr(b'\n', buffer).is_some() { Convention::Lf } else { Convention::Cr };
    let mut ends = LineEnds::new(convention);
    let length = ends.normalise(buffer);
    buffer.truncate(length);
    if ends.finish() {
        buffer.push(b'\r');
    }
    Ok((buffer, true))
}

/// Tells whether bytes without a byte order mark are UTF-8.
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    let mut validator = Validator::new(Encoding::Utf8);
    validator.feed(bytes);
    validator.finish().is_none()
}

/// Converts each line end of a text to one LF, in place. The text is passed in pieces.
#[derive(Debug)]
pub(crate) struct LineEnds {
    convention: Convention,
    /// Whether the last piece ended in a CR, which is held back until the next byte is known.
    has_cr: bool,
}

impl LineEnds {
    pub(crate) fn new(convention: Convention) -> Self {
        Self { convention, has_cr: false }
    }

    /// Tells whether the lines of the text end in CR alone.
    pub(crate) fn are_cr(&self) -> bool {
        self.convention == Convention::Cr
    }

    /// Tells whether the next piece must begin with the CR that was held back.
    pub(crate) fn has_cr(&self) -> bool {
        self.has_cr
    }

    /// Converts the line ends of a piece, and returns the piece's new length. If [`has_cr`](Self::has_cr) was
    /// true, the piece must begin with that CR.
    pub(crate) fn normalise(&mut self, piece: &mut [u8]) -> usize {
        if self.convention == Convention::Cr {
            piece.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
            return piece.len();
        }
        self.has_cr = false;
        let Some(first) = memchr::memchr(b'\r', piece) else { return piece.len() };
        let (mut from, mut to) = (first, first);
        while from < piece.len() {
            // At `from` is a CR. It is dropped if an LF follows, and held back if the piece ends here.
            match piece.get(from + 1) {
                None => {
                    self.has_cr = true;
                    break;
                }
                Some(b'\n') => from += 1,
                Some(_) => {}
            }
            // The byte at `from` (the CR or the LF) stays, with all bytes up to the next CR.
            let rest = piece.get(from + 1..).unwrap_or_default();
            let next = memchr::memchr(b'\r', rest).map_or(piece.len(), |at| from + 1 + at);
            piece.copy_within(from..next, to);
            to += next - from;
            from = next;
        }
        to
    }

    /// Tells whether a CR is still held back at the end of the text.
    pub(crate) fn finish(&mut self) -> bool {
        std::mem::take(&mut self.has_cr)
    }
}

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
