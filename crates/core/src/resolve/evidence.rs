//! Collects the evidence about matches that failed. It may read the file again for that, since edits that succeed do not pay for
//! it; how much it reads is bounded.

use super::request::{GuardedRange, Options, existing_lines};
use crate::cause::{Cause, cause, cause_inside, cause_without_place};
use crate::digest::{Digest, DigestPrefix, digest_of};
use crate::line::{LineNumber, LineRange};
use crate::matching::{CLOSEST, Keep, Needle, Tier, lines_of, search, trim_blanks};
use crate::nearest::{Near, Nearest};
use crate::rejection::{At, Evidence, Excerpt, Rejection};
use crate::scanned::Scanned;
use crate::show::{Budget, excerpt, show};
use crate::source::{Source, read_range};

/// A match that failed, before it is known why.
pub(super) enum Failed<'a> {
    /// The text of some lines is not `old`.
    Content { at: At, lines: LineRange, old: &'a str, new: &'a str },
    /// Lines do not have the digest that the client remembers; they may have the text that was sent as well.
    RangeHash { at: At, lines: LineRange, digest: Digest, tag: &'a DigestPrefix, is_old_there: bool },
    /// A text stands nowhere.
    NoMatch { at: At, old: &'a str, new: &'a str },
}

/// How many failures of one request are looked into; the others have the actual text, and a cause where that is cheap.
const MAX_EXPLAINED: usize = 8;
/// How many lines of actual text an excerpt has at most.
const MAX_LINES: u64 = 20;
/// How many bytes of text an excerpt has at most.
const MAX_BYTES: usize = 2000;
/// How many characters before the one that differs an excerpt has, where a line is too long to be shown whole.
const CHARS_BEFORE: u64 = 40;
/// In how many bytes similar places are looked for, around the range where there is one.
const MAX_SEARCHED: u64 = 64 * 1024 * 1024;
/// How many bytes of a line are compared to find similar places.
const LONGEST_LINE: usize = 4096;
/// Up to how many bytes of text in the file a cause is looked for, and of text that was sent in failures that are not looked into:
/// there may be thousands.
const LONG: usize = 16 * 1024;
/// Up to how many bytes of text that was sent a cause is looked for at all: that takes some copies of it, and more for each line.
const LONGEST_WITH_CAUSE: usize = 1024 * 1024;
/// How many bytes are hashed at most to look for lines with a remembered digest.
const MAX_HASHED: u64 = 32 * 1024 * 1024;

/// Turns failures into rejections, with the evidence that helps to repair them.
pub(super) fn explain<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    options: Options,
    failed: Vec<Failed<'_>>,
    rejections: &mut Vec<Rejection>,
) -> Result<(), S::Error> {
    for (index, failure) in failed.into_iter().enumerate() {
        let view = View { file, options, thorough: index < MAX_EXPLAINED };
        rejections.push(match failure {
            Failed::Content { at, lines, old, new } => {
                Rejection::ContentMismatch { at, lines, evidence: Box::new(view.content(lines, old, new)?) }
            }
            Failed::RangeHash { at, lines, digest, tag, is_old_there } => Rejection::RangeHashMismatch {
                at,
                lines,
                digest,
                expected: tag.clone(),
                is_old_there,
                evidence: Box::new(view.range_hash(lines, tag)?),
            },
            Failed::NoMatch { at, old, new } => {
                Rejection::NoMatch { at, evidence: Box::new(view.no_match(old, new)?) }
            }
        });
    }
    Ok(())
}

/// Tells whether any of these ranges, all of which exist, can have moved: whether the same lines stand elsewhere, too, or that is not
/// known.
pub(super) fn may_have_moved<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    ranges: &[GuardedRange],
) -> Result<bool, S::Error> {
    if ranges.len() > MAX_EXPLAINED {
        return Ok(true);
    }
    let view = View { file, options: Options::default(), thorough: true };
    for range in ranges {
        let Ok(lines) = existing_lines(file.scan, At::default(), range.start, range.end) else {
            return Ok(true);
        };
        let digest = file.digest_of(file.bytes_of(lines)?)?;
        let Some(tag) = DigestPrefix::parse(&digest.to_string()) else { return Ok(true) };
        if view.with_digest(lines, &tag)?.len() != 1 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The place at which lines first differ from wanted ones.
#[derive(Clone, Copy)]
struct Difference {
    line: LineNumber,
    /// The character in it, from 1.
    character: u64,
}

/// Whether a wanted text is whole lines, or may begin and end inside of lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Lines,
    Part,
}

struct View<'a, S: ?Sized> {
    file: Scanned<'a, S>,
    options: Options,
    thorough: bool,
}

impl<S: Source + ?Sized> View<'_, S> {
    fn actual(&self, lines: LineRange) -> Result<Excerpt, S::Error> {
        self.from(lines, lines.start(), 1)
    }

    fn from(&self, of: LineRange, start: LineNumber, from_char: u64) -> Result<Excerpt, S::Error> {
        excerpt(self.file, of, (start, from_char), MAX_LINES, MAX_BYTES)
    }

    /// Makes an excerpt of the lines that has the place at which they differ: from their first line on if they all fit, else from
    /// the line before that place; if that is too much, from the line itself; and if that is too long, from some characters before.
    fn with_difference(&self, lines: LineRange, at: Option<Difference>) -> Result<Excerpt, S::Error> {
        let head = self.actual(lines)?;
        let Some(Difference { line, character }) = at.filter(|_| head.truncated) else { return Ok(head) };
        if let Some(before) = line.index().checked_sub(1).filter(|before| *before >= lines.start().index()) {
            let excerpt = self.from(lines, LineNumber::from_index(before), 1)?;
            if excerpt.text.lines().count() > 1 {
                return Ok(excerpt);
            }
        }
        let excerpt = self.from(lines, line, 1)?;
        if excerpt.text.ends_with('\n') || !excerpt.truncated {
            return Ok(excerpt);
        }
        self.from(lines, line, character.saturating_sub(CHARS_BEFORE).max(1))
    }

    /// Returns the text of all of the lines; `None` if that is more than `most` bytes.
    fn whole(&self, lines: LineRange, most: usize) -> Result<Option<String>, S::Error> {
        let (shown, _) = show(self.file, lines, 1, Budget::bytes(most))?;
        Ok(shown.cut.is_none().then_some(shown.content))
    }

    /// Returns the place at which the lines first differ from `old`; `None` if they do not before one of the two ends.
    fn difference(&self, lines: LineRange, old: &str, as_: Wanted) -> Result<Option<Difference>, S::Error> {
        let bytes = self.file.bytes_of(lines)?;
        // The beginning of a longer line is enough to differ.
        let longest = self.file.scan.encoding.max_bytes(old.len()).saturating_add(64);
        let mut wanted = old.strip_suffix('\n').unwrap_or(old).split('\n').peekable();
        let mut difference = None;
        self.file.for_each_line(lines.start(), bytes, longest, |line| {
            let found = self.decode_head(line.text);
            let old = wanted.next();
            let is_end = [line.number == lines.start(), wanted.peek().is_none()];
            let is_alike = old.is_some_and(|old| {
                old == found
                    || !self.options.strict && trim_blanks(old) == trim_blanks(&found)
                    || as_ == Wanted::Part
                        && match is_end {
                            [true, true] => found.contains(old),
                            [true, false] => found.ends_with(old),
                            [false, true] => found.starts_with(old),
                            [false, false] => false,
                        }
            });
            if !is_alike {
                let both = old.unwrap_or_default().chars().zip(found.chars());
                let same = both.take_while(|(old, found)| old == found).count() as u64;
                difference = Some(Difference { line: line.number, character: same + 1 });
            }
            is_alike && line.number.get() < lines.end()
        })?;
        Ok(difference)
    }

    fn content(&self, lines: LineRange, old: &str, new: &str) -> Result<Evidence, S::Error> {
        let is_cheap = old.len().max(new.len()) <= if self.thorough { LONGEST_WITH_CAUSE } else { LONG };
        let most = if self.thorough { LONG } else { MAX_BYTES };
        let whole = if is_cheap { self.whole(lines, most)? } else { None };
        let why = whole.and_then(|whole| cause(old, &whole, new));
        let mut evidence = Evidence { cause: why, ..Evidence::default() };
        if !self.thorough {
            evidence.actual = Some(self.actual(lines)?);
            return Ok(evidence);
        }
        let difference = self.difference(lines, old, Wanted::Lines)?;
        evidence.actual = Some(self.with_difference(lines, difference)?);
        evidence.differs_at = difference.map(|at| at.line);
        let mut whole = old.to_owned();
        if !whole.ends_with('\n') {
            whole.push('\n');
        }
        (evidence.found_at, evidence.whole_lines) = (self.places(&whole, true, Some(lines))?, true);
        if evidence.found_at.is_empty() && !old.is_empty() {
            (evidence.found_at, evidence.whole_lines) = (self.places(old, false, Some(lines))?, false);
        }
        if evidence.found_at.is_empty() {
            let mut nearest = self.nearest(old, Some(lines))?;
            nearest.retain(|near| near.lines != lines);
            for near in nearest {
                let difference = self.difference(near.lines, old, Wanted::Lines)?;
                evidence.nearest.push(self.with_difference(near.lines, difference)?);
            }
        }
        if is_cheap && evidence.cause.is_none() && evidence.found_at.is_empty() {
            evidence.cause = cause_without_place(old);
        }
        Ok(evidence)
    }

    fn no_match(&self, old: &str, new: &str) -> Result<Evidence, S::Error> {
        let is_cheap = old.len().max(new.len()) <= if self.thorough { LONGEST_WITH_CAUSE } else { LONG };
        let why = if is_cheap { cause_without_place(old) } else { None };
        let mut evidence = Evidence { cause: why, ..Evidence::default() };
        if !self.thorough {
            return Ok(evidence);
        }
        if self.options.strict {
            evidence.found_at = self.search(old, false, Tier::TrailingWhitespace, None)?;
            if let Some(place) = evidence.found_at.first() {
                evidence.actual = Some(self.actual(*place)?);
                evidence.cause = Some(Cause::TrailingWhitespace);
                return Ok(evidence);
            }
        }
        let mut nearest = self.nearest(old, None)?;
        if nearest.is_empty() && evidence.cause == Some(Cause::Elided) {
            // The text before the lines that were left out shows the place.
            let head: Vec<&str> =
                old.lines().take_while(|line| !line.contains("...") && !line.contains('…')).collect();
            nearest = self.nearest(&head.join("\n"), None)?;
        }
        if let Some(best) = nearest.first().filter(|_| is_cheap) {
            let whole = self.whole(best.lines, LONG)?;
            let text = whole.as_deref().unwrap_or(&best.text);
            evidence.cause = cause_inside(old, text, new).or(evidence.cause);
        }
        for near in nearest {
            let difference = self.difference(near.lines, old, Wanted::Part)?;
            if evidence.nearest.is_empty() {
                evidence.differs_at = difference.map(|at| at.line);
            }
            evidence.nearest.push(self.with_difference(near.lines, difference)?);
        }
        // A text of fewer characters stands somewhere by chance.
        if evidence.cause.is_none() && new.trim().chars().count() >= 8 {
            let there = self.search(new, false, Tier::Exact, None)?;
            if let [place] = there.as_slice() {
                evidence.cause = Some(Cause::AlreadyThere);
                evidence.actual = Some(self.actual(*place)?);
            }
        }
        Ok(evidence)
    }

    fn range_hash(&self, lines: LineRange, tag: &DigestPrefix) -> Result<Evidence, S::Error> {
        let actual = Some(self.actual(lines)?);
        let found_at = if self.thorough { self.with_digest(lines, tag)? } else { Vec::new() };
        Ok(Evidence { actual, found_at, whole_lines: true, ..Evidence::default() })
    }

    /// Finds the lines where `text` stands, the closest to `near` first.
    fn places(
        &self,
        text: &str,
        whole_lines: bool,
        near: Option<LineRange>,
    ) -> Result<Vec<LineRange>, S::Error> {
        let exact = self.search(text, whole_lines, Tier::Exact, near)?;
        if exact.is_empty() && !self.options.strict {
            return self.search(text, whole_lines, Tier::TrailingWhitespace, near);
        }
        Ok(exact)
    }

    fn search(
        &self,
        text: &str,
        whole_lines: bool,
        tier: Tier,
        near: Option<LineRange>,
    ) -> Result<Vec<LineRange>, S::Error> {
        let to = match near {
            Some(lines) => self.file.offset_of(lines.start())?,
            None => 0,
        };
        let needle = Needle { text, whole_lines, keep: Keep::Closest(to) };
        let found = search(self.file, &[needle], tier)?;
        let places = found.first().map(|found| found.places.as_slice()).unwrap_or_default();
        let mut lines = lines_of(self.file, places)?;
        lines.dedup();
        if let Some(near) = near {
            lines.sort_by_key(|lines| lines.distance(near));
        }
        Ok(lines)
    }

    fn nearest(&self, old: &str, near: Option<LineRange>) -> Result<Vec<Near>, S::Error> {
        let from = match near {
            Some(range) => self.file.offset_of(range.start())?.saturating_sub(MAX_SEARCHED / 2),
            None => 0,
        };
        let text = self.file.scan.lines.bytes();
        let (first, start) = self.file.line_at(from.max(text.start))?;
        let mut nearest = Nearest::new(old, near);
        self.file.for_each_line(first, start..text.end, LONGEST_LINE, |line| {
            nearest.feed(line.number, &self.decode_head(line.text));
            line.end - start < MAX_SEARCHED
        })?;
        Ok(nearest.finish())
    }

    /// Decodes a line whose end may have been cut off.
    fn decode_head(&self, bytes: &[u8]) -> String {
        let encoding = self.file.scan.encoding;
        encoding
            .decode(bytes)
            .or_else(|fault| encoding.decode(bytes.get(..fault.offset).unwrap_or_default()))
            .unwrap_or_default()
    }

    /// Finds ranges of as many lines as `lines` that have the digest that the client remembers.
    fn with_digest(&self, lines: LineRange, tag: &DigestPrefix) -> Result<Vec<LineRange>, S::Error> {
        let all = &self.file.scan.lines;
        let (size, count) = (self.file.scan.size, usize::try_from(lines.count()).unwrap_or(usize::MAX));
        if size > MAX_HASHED || lines.count().saturating_mul(size) > MAX_HASHED || lines.count() > all.count()
        {
            return Ok(Vec::new());
        }
        let bytes = read_range(self.file.source, 0..size)?;
        let mut starts = Vec::new();
        let held = Scanned::new(bytes.as_slice(), self.file.scan);
        held.for_each_line(all.all().start(), all.bytes(), 0, |line| {
            starts.push(line.start);
            true
        })
        .unwrap_or_else(|never| match never {});
        starts.push(all.bytes().end);
        let mut found = Vec::new();
        for (index, (from, to)) in starts.iter().zip(starts.get(count..).unwrap_or_default()).enumerate() {
            let digest = digest_of(bytes.as_slice(), *from..*to).unwrap_or_else(|never| match never {});
            if tag.matches(&digest) {
                found.push(LineRange::new(LineNumber::from_index(index as u64), lines.count()));
            }
        }
        found.sort_by_key(|place| place.distance(lines));
        found.truncate(CLOSEST);
        Ok(found)
    }
}
