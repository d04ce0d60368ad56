//! `patch_text_file_contents`: text, ranges or digests say what is replaced.

use std::ops::Range;

use crate::digest::Tag;
use crate::encoding::Seam;
use crate::error::{At, Evidence, Rejection};
use crate::line::{LineNumber, LineRange};
use crate::matching::{Found, Keep, Needle, Tier, lines_of, search};
use crate::scan::Scan;
use crate::source::Source;
use crate::splice::Splice;

use super::evidence::{Failed, explain};
use super::terminators::Terminators;
use super::{
    Claim, Fact, GuardedRange, Options, Resolution, digest_of, existing_lines, guarded, place_of, plan,
    seams_around,
};

/// How many occurrences one patch may replace.
pub const MOST_OCCURRENCES: usize = 100_000;

/// One replacement of a call: what is replaced is said by text, by ranges, or by both. Line ends are `\n`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The text that is replaced; may be absent only where every range carries a digest.
    pub old_string: Option<String>,
    /// What takes its place.
    pub new_string: String,
    /// The lines; empty if the text alone says where.
    pub ranges: Vec<GuardedRange>,
    /// Without ranges: every occurrence instead of the only one.
    pub replace_all: bool,
}

/// Finds what the patches replace in a file, and with which bytes.
pub fn patch<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    file_hash: Option<&Tag>,
    patches: &[Patch],
    options: Options,
) -> Result<Resolution, S::Error> {
    let mut work =
        Work { source, scan, options, claims: Vec::new(), rejections: Vec::new(), failed: Vec::new() };
    for (index, patch) in patches.iter().enumerate() {
        if let Err(fault) = scan.encoding.encode(&patch.new_string) {
            // Told once, however many places it is for, and whether or not they are found.
            let at = At { patch: index, range: None };
            let (line, column) = place_of(&patch.new_string, &fault);
            work.rejections.push(Rejection::Unencodable { at, character: fault.character, line, column });
        }
        for (number, range) in patch.ranges.iter().enumerate() {
            work.ranged(At { patch: index, range: Some(number) }, patch, range)?;
        }
    }
    work.by_text(patches)?;
    let Work { claims, mut rejections, failed, .. } = work;
    explain(source, scan, options, failed, &mut rejections)?;
    Ok(guarded(scan, file_hash, plan(source, scan, claims, rejections)?))
}

struct Work<'a, S: ?Sized> {
    source: &'a S,
    scan: &'a Scan,
    options: Options,
    claims: Vec<Claim>,
    rejections: Vec<Rejection>,
    failed: Vec<Failed<'a>>,
}

impl<'a, S: Source + ?Sized> Work<'a, S> {
    /// A patch of whole lines.
    fn ranged(&mut self, at: At, patch: &'a Patch, range: &'a GuardedRange) -> Result<(), S::Error> {
        let lines = match existing_lines(self.scan, at, range.start, range.end) {
            Ok(lines) => lines,
            Err(rejection) => {
                self.rejections.push(rejection);
                return Ok(());
            }
        };
        let bytes = self.scan.lines.bytes_of(self.source, lines)?;
        let mut tier = Some(Tier::Exact);
        if let Some(old) = &patch.old_string {
            tier = self.compare(lines, bytes.clone(), old)?;
            if tier.is_none() {
                self.failed.push(Failed::Content { at, lines, old, new: &patch.new_string });
            }
        }
        if let Some(tag) = &range.range_hash {
            let digest = digest_of(self.source, bytes.clone())?;
            if !tag.matches(&digest) {
                self.failed.push(Failed::RangeHash { at, lines, digest, tag });
                tier = None;
            }
        }
        let Some(tier) = tier else { return Ok(()) };
        let new = self.whole_lines(lines, patch);
        let Some(seams) = seams_around(self.source, self.scan, &bytes)? else {
            self.rejections.push(Rejection::ShiftState { at, lines });
            return Ok(());
        };
        self.claim(at, lines, seams, &new, tier)
    }

    /// The new text of whole lines: ended like a line, but for the end of a file that has no final newline.
    fn whole_lines(&self, lines: LineRange, patch: &Patch) -> String {
        let new = &patch.new_string;
        if new.is_empty() {
            return String::new();
        }
        let at_end = lines.end() == self.scan.lines.count() && self.scan.lines.is_unterminated();
        match &patch.old_string {
            _ if !at_end => ended(new),
            Some(old) if old.ends_with('\n') => without_final_newline(new, true),
            _ => new.clone(),
        }
    }

    /// Puts new text between two places of the file.
    fn claim(
        &mut self,
        at: At,
        lines: LineRange,
        seams: (Seam, Seam),
        new: &str,
        tier: Tier,
    ) -> Result<(), S::Error> {
        let wanted = memchr::memchr_iter(b'\n', new.as_bytes()).count();
        let terminators = Terminators::of(self.source, self.scan, lines, wanted)?;
        // What cannot be encoded has been told.
        if let Ok(insert) = terminators.encode_between(new, self.scan.encoding, seams) {
            let splice = Splice { at: seams.0.offset..seams.1.offset, insert };
            self.claims.push(Claim { at, lines, splice, fact: Fact { tier, lead: 0 } });
        }
        Ok(())
    }

    /// In which tier the text of some lines is `old`, if in any.
    fn compare(&self, lines: LineRange, bytes: Range<u64>, old: &str) -> Result<Option<Tier>, S::Error> {
        // A line that is much longer than any it could match need not be kept whole to be found different; trailing
        // blanks are looked through up to a megabyte.
        let longest = old.len().saturating_mul(8).saturating_add(1024 * 1024);
        let old = ended(old);
        let mut wanted = old.split_terminator('\n');
        let mut tier = Some(Tier::Exact);
        let mut last = LineNumber::FIRST;
        let mut left = lines.count();
        self.scan.lines.for_each(self.source, lines.start(), bytes, longest, |line| {
            left -= 1;
            last = line.number;
            let found = if line.is_whole() { self.scan.encoding.decode(line.text).ok() } else { None };
            tier = match (wanted.next(), found, tier) {
                (Some(wanted), Some(found), Some(tier)) if wanted == found => Some(tier),
                (Some(wanted), Some(found), Some(_))
                    if !self.options.strict && without_blanks(wanted) == without_blanks(&found) =>
                {
                    Some(Tier::TrailingWhitespace)
                }
                _ => None,
            };
            tier.is_some() && left > 0
        })?;
        Ok(tier.filter(|_| left == 0 && wanted.next().is_none()))
    }

    /// The patches that name no lines.
    fn by_text(&mut self, patches: &'a [Patch]) -> Result<(), S::Error> {
        let mut waiting = Vec::new();
        for (index, patch) in patches.iter().enumerate().filter(|(_, patch)| patch.ranges.is_empty()) {
            let at = At { patch: index, range: None };
            match patch.old_string.as_deref() {
                Some("") if self.scan.lines.count() == 0 => {
                    let end = self.scan.lines.bytes().end;
                    let none = LineRange::new(LineNumber::FIRST, 0);
                    self.claim(
                        at,
                        none,
                        (Seam::ascii(end), Seam::ascii(end)),
                        &patch.new_string,
                        Tier::Exact,
                    )?;
                }
                Some("") | None => self.rejections.push(Rejection::EmptyOldString { at }),
                Some(old) => waiting.push((at, patch, old)),
            }
        }
        for tier in [Tier::Exact, Tier::TrailingWhitespace] {
            if waiting.is_empty() || (tier == Tier::TrailingWhitespace && self.options.strict) {
                break;
            }
            let needle = |(_, patch, old): &(At, &'a Patch, &'a str)| {
                let keep = if patch.replace_all { Keep::All(MOST_OCCURRENCES) } else { Keep::Closest(0) };
                Needle { text: old, whole_lines: false, keep }
            };
            let needles: Vec<Needle<'_>> = waiting.iter().map(needle).collect();
            let found = search(self.source, self.scan, &needles, tier)?;
            let mut next = Vec::new();
            for ((at, patch, old), found) in waiting.into_iter().zip(found) {
                if found.count == 0 {
                    next.push((at, patch, old));
                } else {
                    self.found(at, patch, old, &found, tier)?;
                }
            }
            waiting = next;
        }
        let missing =
            waiting.into_iter().map(|(at, patch, old)| Failed::NoMatch { at, old, new: &patch.new_string });
        self.failed.extend(missing);
        Ok(())
    }

    /// A text that stands in the file.
    fn found(&mut self, at: At, patch: &Patch, old: &str, found: &Found, tier: Tier) -> Result<(), S::Error> {
        if patch.replace_all && found.count > MOST_OCCURRENCES as u64 {
            let (count, most) = (found.count, MOST_OCCURRENCES);
            self.rejections.push(Rejection::TooManyOccurrences { at, count, most });
            return Ok(());
        }
        let touched = lines_of(self.source, self.scan, &found.places)?;
        if !patch.replace_all && found.count > 1 {
            let evidence = Box::new(Evidence { found_at: touched, ..Evidence::default() });
            self.rejections.push(Rejection::AmbiguousMatch { at, count: found.count, tier, evidence });
            return Ok(());
        }
        for (place, lines) in found.places.iter().zip(touched) {
            if !place.editable {
                self.rejections.push(Rejection::ShiftState { at, lines });
                continue;
            }
            let mut new = patch.new_string.clone();
            if place.at_end && new.ends_with('\n') && old.ends_with('\n') {
                // The line that becomes the last one has other text before the match, or has not.
                let starts_line = self.starts_line(place.at.start)?;
                new = without_final_newline(&new, starts_line);
            }
            self.claim(at, lines, place.seams, &new, tier)?;
        }
        Ok(())
    }

    fn starts_line(&self, offset: u64) -> Result<bool, S::Error> {
        self.scan.lines.line_at(self.source, offset).map(|(_, start)| start == offset)
    }
}

/// `text`, ended like a line.
fn ended(text: &str) -> String {
    let mut text = text.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// `text` without its final newline, unless its last line would be empty then; a text of one line is not the whole line
/// where other text stands before it.
fn without_final_newline(text: &str, starts_line: bool) -> String {
    match text.strip_suffix('\n') {
        Some(rest) if rest.ends_with('\n') || (rest.is_empty() && starts_line) => text.to_owned(),
        Some(rest) => rest.to_owned(),
        None => text.to_owned(),
    }
}

fn without_blanks(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}
