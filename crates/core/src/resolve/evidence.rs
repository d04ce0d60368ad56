//! What is told of a match that failed. Only failures come here, so it may read the file again; it stays bounded.

use crate::cause::{Cause, cause, cause_inside, cause_without_place};
use crate::digest::{Digest, Tag, digest_of};
use crate::error::{At, Evidence, Excerpt, Rejection};
use crate::line::LineRange;
use crate::matching::{CLOSEST, Keep, Needle, Tier, lines_of, search};
use crate::nearest::Nearest;
use crate::scan::Scan;
use crate::show::excerpt;
use crate::source::{Source, read_range};

use super::Options;

/// A match that failed, before anything is known of why.
pub(super) enum Failed<'a> {
    /// The text of some lines is not `old`.
    Content { at: At, lines: LineRange, old: &'a str, new: &'a str },
    /// Lines do not have the digest that the client remembers; they may have the text that it sends with it.
    RangeHash { at: At, lines: LineRange, digest: Digest, tag: &'a Tag, is_old_there: bool },
    /// A text stands nowhere.
    NoMatch { at: At, old: &'a str, new: &'a str },
}

/// So many failures of one call are looked into; of the others only the actual text is told.
const MOST_EXPLAINED: usize = 8;
/// So many lines of actual text are told, and so many bytes.
const MOST_LINES: u64 = 20;
const MOST_BYTES: usize = 2000;
/// Similar places are looked for in so many bytes, around the range where there is one.
const MOST_SEARCHED: u64 = 64 * 1024 * 1024;
/// Of a line so many bytes are looked at.
const LONGEST_LINE: usize = 4096;
/// A longer text is compared with the actual one only where a failure is looked into: there may be thousands.
const LONG: usize = 16 * 1024;
/// Lines with a remembered digest are looked for by hashing at most this much.
const MOST_HASHED: u64 = 32 * 1024 * 1024;

/// Turns failures into rejections with all that helps to repair them.
pub(super) fn explain<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    options: Options,
    failed: Vec<Failed<'_>>,
    rejections: &mut Vec<Rejection>,
) -> Result<(), S::Error> {
    for (index, failure) in failed.into_iter().enumerate() {
        let view = View { source, scan, options, thorough: index < MOST_EXPLAINED };
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

struct View<'a, S: ?Sized> {
    source: &'a S,
    scan: &'a Scan,
    options: Options,
    thorough: bool,
}

impl<S: Source + ?Sized> View<'_, S> {
    fn actual(&self, lines: LineRange) -> Result<Excerpt, S::Error> {
        excerpt(self.source, self.scan, lines, MOST_LINES, MOST_BYTES)
    }

    fn content(&self, lines: LineRange, old: &str, new: &str) -> Result<Evidence, S::Error> {
        let actual = self.actual(lines)?;
        let is_cheap = self.thorough || old.len().max(new.len()) <= LONG;
        let why = if actual.truncated || !is_cheap { None } else { cause(old, &actual.text, new) };
        let mut evidence = Evidence { actual: Some(actual), cause: why, ..Evidence::default() };
        if !self.thorough {
            return Ok(evidence);
        }
        let mut whole = old.to_owned();
        if !whole.ends_with('\n') {
            whole.push('\n');
        }
        (evidence.found_at, evidence.whole_lines) = (self.places(&whole, true, Some(lines))?, true);
        if evidence.found_at.is_empty() && !old.is_empty() {
            (evidence.found_at, evidence.whole_lines) = (self.places(old, false, Some(lines))?, false);
        }
        if evidence.found_at.is_empty() {
            evidence.nearest = self.nearest(old, Some(lines))?;
            evidence.nearest.retain(|near| near.lines != lines);
        }
        if evidence.cause.is_none() && evidence.found_at.is_empty() {
            evidence.cause = cause_without_place(old);
        }
        Ok(evidence)
    }

    fn no_match(&self, old: &str, new: &str) -> Result<Evidence, S::Error> {
        let is_cheap = self.thorough || old.len() <= LONG;
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
        evidence.nearest = self.nearest(old, None)?;
        if evidence.nearest.is_empty() && evidence.cause == Some(Cause::Elided) {
            // What stands before the lines that were left out shows the place.
            let head: Vec<&str> =
                old.lines().take_while(|line| !line.contains("...") && !line.contains('…')).collect();
            evidence.nearest = self.nearest(&head.join("\n"), None)?;
        }
        if let Some(best) = evidence.nearest.first() {
            evidence.cause = cause_inside(old, &best.text, new).or(evidence.cause);
        }
        // A text of a few characters stands somewhere by chance.
        if evidence.cause.is_none() && new.trim().chars().count() >= 8 {
            let there = self.search(new, false, Tier::Exact, None)?;
            if let [place] = there.as_slice() {
                evidence.cause = Some(Cause::AlreadyThere);
                evidence.actual = Some(self.actual(*place)?);
            }
        }
        Ok(evidence)
    }

    fn range_hash(&self, lines: LineRange, tag: &Tag) -> Result<Evidence, S::Error> {
        let actual = Some(self.actual(lines)?);
        let found_at = if self.thorough { self.with_digest(lines, tag)? } else { Vec::new() };
        Ok(Evidence { actual, found_at, whole_lines: true, ..Evidence::default() })
    }

    /// Where `text` stands, the closest to `near` first.
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
            Some(lines) => self.scan.lines.offset_of(self.source, lines.start())?,
            None => 0,
        };
        let needle = Needle { text, whole_lines, keep: Keep::Closest(to) };
        let found = search(self.source, self.scan, &[needle], tier)?;
        let places = found.first().map(|found| found.places.as_slice()).unwrap_or_default();
        let mut lines = lines_of(self.source, self.scan, places)?;
        lines.dedup();
        if let Some(near) = near {
            lines.sort_by_key(|lines| lines.distance(near));
        }
        Ok(lines)
    }

    fn nearest(&self, old: &str, near: Option<LineRange>) -> Result<Vec<crate::nearest::Near>, S::Error> {
        let lines = &self.scan.lines;
        let from = match near {
            Some(range) => lines.offset_of(self.source, range.start())?.saturating_sub(MOST_SEARCHED / 2),
            None => 0,
        };
        let (first, start) = lines.line_at(self.source, from.max(lines.bytes().start))?;
        let mut nearest = Nearest::new(old, near);
        lines.for_each(self.source, first, start..lines.bytes().end, LONGEST_LINE, |line| {
            nearest.feed(line.number, &self.decode_head(line.text));
            line.end - start < MOST_SEARCHED
        })?;
        Ok(nearest.finish())
    }

    /// The text of a line whose end may have been cut off.
    fn decode_head(&self, bytes: &[u8]) -> String {
        let encoding = self.scan.encoding;
        encoding
            .decode(bytes)
            .or_else(|fault| encoding.decode(bytes.get(..fault.offset).unwrap_or_default()))
            .unwrap_or_default()
    }

    /// Where as many lines as `lines` have the digest that the client remembers.
    fn with_digest(&self, lines: LineRange, tag: &Tag) -> Result<Vec<LineRange>, S::Error> {
        let all = &self.scan.lines;
        let (size, count) = (self.scan.size, usize::try_from(lines.count()).unwrap_or(usize::MAX));
        if size > MOST_HASHED
            || lines.count().saturating_mul(size) > MOST_HASHED
            || lines.count() > all.count()
        {
            return Ok(Vec::new());
        }
        let bytes = read_range(self.source, 0..size)?;
        let mut starts = Vec::new();
        all.for_each(bytes.as_slice(), all.all().start(), all.bytes(), 0, |line| {
            starts.push(line.start);
            true
        })
        .unwrap_or_else(|never| match never {});
        starts.push(all.bytes().end);
        let mut found = Vec::new();
        for (index, (from, to)) in starts.iter().zip(starts.get(count..).unwrap_or_default()).enumerate() {
            let digest = digest_of(bytes.as_slice(), *from..*to).unwrap_or_else(|never| match never {});
            if tag.matches(&digest) {
                found.push(LineRange::new(crate::line::LineNumber::from_index(index as u64), lines.count()));
            }
        }
        found.sort_by_key(|place| place.distance(lines));
        found.truncate(CLOSEST);
        Ok(found)
    }
}
