//! Resolves a request to replace text that is named by the old text, by ranges of lines, or by both.

use std::ops::Range;

use super::common::{ReplacementPart, encoded, parts};
use super::distinguishing::{are_whole_lines, distinguishing_lines};
use super::evidence::{Failed, explain};
use super::guard::{guarded, unless_moved};
use super::plan::{Claim, Resolution, SpliceInfo, plan};
use super::request::{GuardedRange, MatchOptions};
use super::review::{NamedBy, Surroundings, review};
use super::seams::seams_around;
use crate::digest::DigestPrefix;
use crate::encoding::Seam;
use crate::line::{LineNumber, LineRange};
use crate::matching::{Keep, Needle, NeedleMatches, Tier, lines_of, search, trim_blanks};
use crate::rejection::{At, MatchKind, MatchPlace, Normalization, Rejection, TextKind};
use crate::scan::Scanned;
use crate::source::Source;
use crate::splice::Splice;

/// One replacement of a request. The old text, ranges of lines, or both name what is replaced. In its texts,
/// line ends are `\n`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The text that is replaced. With ranges, each range must hold exactly this text; with `None` the ranges
    /// are replaced whatever they hold, so each should have a digest. Without ranges, the text is searched
    /// for in the file; then it is required, and must not be empty except for an empty file.
    pub old_string: Option<String>,
    /// The new text. If it is empty, ranges are deleted.
    pub new_string: String,
    /// The lines that are replaced. Each range is replaced by a copy of the new text. Empty if `old_string`
    /// alone names the place.
    pub ranges: Vec<GuardedRange>,
    /// True if all non-overlapping occurrences of `old_string` are replaced; false if it must occur exactly
    /// once. Ignored with ranges.
    pub replace_all: bool,
}

impl Patch {
    /// Makes a patch that replaces a text, which must occur exactly once, by another.
    #[must_use]
    pub fn text(old_string: impl Into<String>, new_string: impl Into<String>) -> Self {
        let (old_string, new_string) = (Some(old_string.into()), new_string.into());
        Self { old_string, new_string, ranges: Vec::new(), replace_all: false }
    }

    /// Returns the patch with `replace_all` set.
    #[must_use]
    pub fn all(self) -> Self {
        Self { replace_all: true, ..self }
    }
}

/// Resolves a request to replace text: finds the bytes that `patches` replace, and the new bytes.
///
/// Each patch refers to the file as it was scanned; patches that overlap are rejected. `file_hash` is the
/// expected digest of the whole file; `None` to expect nothing. The only errors are those of the source.
pub fn patch<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    file_hash: Option<&DigestPrefix>,
    patches: &[Patch],
    options: MatchOptions,
) -> Result<Resolution, S::Error> {
    let mut work = Work {
        file,
        options,
        claims: Vec::new(),
        rejections: Vec::new(),
        failed: Vec::new(),
        replaced: 0,
        sizes: Vec::new(),
        inserted: 0,
        too_much: None,
    };
    for (index, patch) in patches.iter().enumerate() {
        let size = match file.scan.encoding.encode(&patch.new_string) {
            Ok(bytes) => bytes.len(),
            Err(fault) => {
                // The text is rejected once, however many places it is for, and whether or not they are
                // found.
                let at = At { entry: 0, patch: index, range: None };
                work.rejections.push(Rejection::unencodable(at, &patch.new_string, &fault));
                0
            }
        };
        work.sizes.push(size as u64);
        for (number, range) in patch.ranges.iter().enumerate() {
            work.ranged(At { entry: 0, patch: index, range: Some(number) }, patch, range)?;
        }
    }
    work.by_text(patches)?;
    let Work { claims, mut rejections, failed, inserted, too_much, .. } = work;
    if let Some(at) = too_much {
        rejections.push(Rejection::TooMuchText { at, bytes: inserted, most: options.max_inserted });
    }
    let new_strings: Vec<&str> = patches.iter().map(|patch| patch.new_string.as_str()).collect();
    explain(file, options, (&claims, &new_strings), failed, &mut rejections)?;
    let resolution = guarded(file, file_hash, plan(file, claims, rejections)?)?;
    let ranges: Vec<GuardedRange> = patches.iter().flat_map(|patch| patch.ranges.iter().cloned()).collect();
    unless_moved(file, resolution, &ranges)
}

/// The old text, if it is known, and the new text, with `\n` for line ends.
#[derive(Clone, Copy)]
struct Texts<'a> {
    old: Option<&'a str>,
    new: &'a str,
    /// The tier in which the old text was found.
    tier: Tier,
    /// The new text as it was sent, and how the request names its place; `None` if the text is not reviewed.
    review: Option<(&'a str, NamedBy<'a>)>,
}

struct Work<'a, S: ?Sized> {
    file: Scanned<'a, S>,
    options: MatchOptions,
    claims: Vec<Claim>,
    rejections: Vec<Rejection>,
    failed: Vec<Failed<'a>>,
    /// The number of occurrences, so far, of the texts of patches with `replace_all`.
    replaced: u64,
    /// The length in bytes of the new text of each patch, in the file's encoding.
    sizes: Vec<u64>,
    /// The number of bytes of new text so far; the copy at each place counts.
    inserted: u64,
    /// The patch with which `inserted` first exceeded its maximum.
    too_much: Option<At>,
}

impl<'a, S: Source + ?Sized> Work<'a, S> {
    /// Counts one more copy of a patch's new text. Returns whether the total is still within its maximum.
    fn has_room_for(&mut self, at: At) -> bool {
        self.inserted = self.inserted.saturating_add(self.sizes.get(at.patch).copied().unwrap_or_default());
        let fits = self.inserted <= self.options.max_inserted;
        if !fits {
            // Without a range, this rejection is sorted before the patch's others.
            self.too_much.get_or_insert(At { range: None, ..at });
        }
        fits
    }

    /// Resolves one range of a patch.
    fn ranged(&mut self, at: At, patch: &'a Patch, range: &'a GuardedRange) -> Result<(), S::Error> {
        let lines = match range.lines(self.file.scan, at) {
            Ok(lines) => lines,
            Err(rejection) => {
                self.rejections.push(rejection);
                return Ok(());
            }
        };
        let bytes = self.file.bytes_of(lines)?;
        let mut tier = Some(Tier::Exact);
        let mut is_old_there = false;
        if let Some(old) = &patch.old_string {
            tier = self.compare(lines, bytes.clone(), old)?;
            is_old_there = tier.is_some();
            if tier.is_none() {
                self.failed.push(Failed { at, lines: Some(lines), old, new: &patch.new_string, hash: None });
            }
        }
        if let Some(tag) = &range.range_hash {
            let digest = self.file.digest_of(bytes.clone())?;
            if !tag.matches(&digest) {
                let (new, hash) = (patch.new_string.as_str(), Some((digest, tag, is_old_there)));
                self.failed.push(Failed { at, lines: Some(lines), old: "", new, hash });
                tier = None;
            }
        }
        let Some(tier) = tier else {
            self.occupy(at, lines, bytes);
            return Ok(());
        };
        if !self.has_room_for(at) {
            self.occupy(at, lines, bytes);
            return Ok(());
        }
        let old = patch.old_string.as_deref().map(ended);
        let way = patch.old_string.as_deref().map_or(NamedBy::Digest, NamedBy::Quoted);
        let review = Some((patch.new_string.as_str(), way));
        let texts = Texts { old: old.as_deref(), new: &self.whole_lines(lines, patch), tier, review };
        let Some(seams) = seams_around(self.file, &bytes)? else {
            self.rejections.push(Rejection::ShiftState { at, lines });
            self.occupy(at, lines, bytes);
            return Ok(());
        };
        self.claim(at, lines, seams, texts)
    }

    /// Claims the place of an edit that has been rejected. Edits that overlap it are then rejected in the
    /// same reply.
    fn occupy(&mut self, at: At, lines: LineRange, bytes: Range<u64>) {
        let splice = Splice { at: bytes, insert: Vec::new() };
        self.claims.push(Claim { at, lines, splice, fact: SpliceInfo::of(Tier::Exact) });
    }

    /// Returns the new text that replaces whole lines. A final line end is added if it lacks one, except at
    /// the end of a file without a final newline. There it is removed, if the old text was sent with one.
    fn whole_lines(&self, lines: LineRange, patch: &Patch) -> String {
        let new = &patch.new_string;
        if new.is_empty() {
            return String::new();
        }
        let at_end = lines.end() == self.file.scan.lines.count() && self.file.scan.lines.is_unterminated();
        match &patch.old_string {
            _ if !at_end => ended(new),
            Some(old) if old.ends_with('\n') => without_final_newline(new, true),
            _ => new.clone(),
        }
    }

    /// Claims the bytes between two seams of the file for new text. If the old text was found only in the
    /// second tier, lines that both texts have in common keep the file's bytes. They are part of the claim
    /// nevertheless, since the client has named them.
    fn claim(
        &mut self,
        at: At,
        lines: LineRange,
        seams: (Seam, Seam),
        Texts { old, new, tier, review: reviewed }: Texts<'_>,
    ) -> Result<(), S::Error> {
        let place = seams.0.offset..seams.1.offset;
        let kept = match old {
            Some(old) if tier == Tier::TrailingWhitespace => parts(self.file, &place, lines, old, new)?,
            _ => None,
        };
        let parts = kept.unwrap_or_else(|| vec![ReplacementPart::New(new.to_owned(), lines)]);
        let Some(insert) = encoded(self.file, &parts, seams)? else {
            // `patch` has rejected text that cannot be encoded.
            self.occupy(at, lines, place);
            return Ok(());
        };
        let mut fact = SpliceInfo::of(tier);
        if let (Some((new, way)), Some(kind)) = (reviewed, self.options.review) {
            let around = Surroundings::of(self.file, lines, (place.start, place.end))?;
            let is_plain = kind == TextKind::Plain;
            let written = if is_plain { None } else { self.file.scan.encoding.decode(&insert).ok() };
            if let NamedBy::Text(_) = way {
                fact.cut = Some((at, around.cut_lines(lines))).filter(|(_, lines)| !lines.is_empty());
            }
            fact.findings = review(way, new, written.as_deref().unwrap_or_default(), &around, kind);
            if let Some(found) = fact.findings.iter().find(|found| found.slip.is_certain()) {
                let indentation = around.indentation().to_owned();
                self.rejections.push(Rejection::TextSlip { at, lines, slip: found.slip, indentation });
            }
        }
        let splice = Splice { at: place, insert };
        self.claims.push(Claim { at, lines, splice, fact });
        Ok(())
    }

    /// Returns the strictest tier in which the text of `lines` equals `old`; `None` if it differs in both.
    fn compare(&self, lines: LineRange, bytes: Range<u64>, old: &str) -> Result<Option<Tier>, S::Error> {
        // A line that is much longer than `old` differs from it, and need not be kept whole. But up to a
        // megabyte of blanks at its end can be ignored.
        let longest = self.file.scan.encoding.max_bytes(old.len()).saturating_add(1024 * 1024);
        // A text without a final line end is compared as if it had one.
        let mut wanted = old.strip_suffix('\n').unwrap_or(old).split('\n');
        let mut tier = Some(Tier::Exact);
        self.file.for_each_line(lines.start(), bytes, longest, |line| {
            let found = if line.is_whole() { self.file.scan.encoding.decode(line.text).ok() } else { None };
            tier = match (wanted.next(), found, tier) {
                (Some(wanted), Some(found), Some(tier)) if wanted == found => Some(tier),
                (Some(wanted), Some(found), Some(_))
                    if !self.options.strict && trim_blanks(wanted) == trim_blanks(&found) =>
                {
                    Some(Tier::TrailingWhitespace)
                }
                _ => None,
            };
            tier.is_some()
        })?;
        Ok(tier.filter(|_| wanted.next().is_none()))
    }

    /// Resolves the patches that name no lines.
    fn by_text(&mut self, patches: &'a [Patch]) -> Result<(), S::Error> {
        let mut waiting = Vec::new();
        for (index, patch) in patches.iter().enumerate().filter(|(_, patch)| patch.ranges.is_empty()) {
            let at = At { entry: 0, patch: index, range: None };
            match patch.old_string.as_deref() {
                // To a client, an empty file can look like one empty line.
                Some("" | "\n") if self.file.scan.lines.count() == 0 => {
                    let end = self.file.scan.lines.bytes().end;
                    let none = LineRange::new(LineNumber::FIRST, 0);
                    self.claim(
                        at,
                        none,
                        (Seam::ascii(end), Seam::ascii(end)),
                        Texts {
                            old: None,
                            new: &patch.new_string,
                            tier: Tier::Exact,
                            review: Some((&patch.new_string, NamedBy::Insertion)),
                        },
                    )?;
                }
                Some("") | None => {
                    let lines = self.file.digest_of(self.file.scan.lines.bytes())?;
                    self.rejections.push(Rejection::EmptyOldString { at, lines });
                }
                Some(old) => waiting.push((at, patch, old)),
            }
        }
        for tier in [Tier::Exact, Tier::TrailingWhitespace] {
            if waiting.is_empty() || (tier == Tier::TrailingWhitespace && self.options.strict) {
                break;
            }
            let needle = |(_, patch, old): &(At, &'a Patch, &'a str)| {
                let keep = if patch.replace_all {
                    Keep::All(self.options.max_occurrences)
                } else {
                    Keep::Closest(0)
                };
                Needle { text: old, whole_lines: false, keep }
            };
            let needles: Vec<Needle<'_>> = waiting.iter().map(needle).collect();
            let found = search(self.file, &needles, tier)?;
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
        let missing = waiting.into_iter().map(|(at, patch, old)| Failed {
            at,
            lines: None,
            old,
            new: &patch.new_string,
            hash: None,
        });
        self.failed.extend(missing);
        Ok(())
    }

    /// Resolves a patch whose text was found in the file.
    fn found(
        &mut self,
        at: At,
        patch: &Patch,
        old: &str,
        found: &NeedleMatches,
        tier: Tier,
    ) -> Result<(), S::Error> {
        if patch.replace_all {
            let most = self.options.max_occurrences;
            let told = self.replaced > most;
            self.replaced = self.replaced.saturating_add(found.count);
            if self.replaced > most {
                if !told {
                    self.rejections.push(Rejection::TooManyOccurrences { at, count: self.replaced, most });
                }
                return Ok(());
            }
        }
        let mut touched = lines_of(self.file, &found.places)?;
        if !patch.replace_all && found.count > 1 {
            touched.dedup();
            let mut contexts = if touched.len() as u64 == found.count {
                distinguishing_lines(self.file, &touched)?.into_iter()
            } else {
                Vec::new().into_iter()
            };
            let is_whole = are_whole_lines(self.file, &found.places, old)?;
            let how = if is_whole {
                MatchKind::Lines(Normalization::Exact)
            } else {
                MatchKind::Part(Normalization::Exact)
            };
            let place = |lines| {
                let context = contexts.next().flatten();
                MatchPlace { context, ..MatchPlace::new(lines, how) }
            };
            let places = touched.into_iter().map(place).collect();
            self.rejections.push(Rejection::AmbiguousMatch { at, count: found.count, tier, places });
            return Ok(());
        }
        let before = self.rejections.len();
        for (index, (place, lines)) in found.places.iter().zip(touched).enumerate() {
            if !place.editable {
                self.rejections.push(Rejection::ShiftState { at, lines });
                self.occupy(at, lines, place.at.clone());
                continue;
            }
            if !self.has_room_for(at) {
                self.occupy(at, lines, place.at.clone());
                continue;
            }
            let mut new = patch.new_string.clone();
            if place.at_end && new.ends_with('\n') {
                // The old text also ends with a line end, and the end of the file has matched it. The line
                // that becomes the last one can have other text before the match.
                let starts_line = self.starts_line(place.at.start)?;
                new = without_final_newline(&new, starts_line);
            }
            let review = (index < REVIEWED).then_some((patch.new_string.as_str(), NamedBy::Text(old)));
            self.claim(at, lines, place.seams, Texts { old: Some(old), new: &new, tier, review })?;
        }
        // The request is rejected for a slip only if all reviewed places have one. The one rejection
        // describes the first place.
        let is_slip = |rejection: &Rejection| matches!(rejection, Rejection::TextSlip { .. });
        let (slips, others): (Vec<_>, Vec<_>) = self.rejections.drain(before..).partition(is_slip);
        self.rejections.extend(others);
        if slips.len() == found.places.len().min(REVIEWED) {
            self.rejections.extend(slips.into_iter().next());
        }
        Ok(())
    }

    fn starts_line(&self, offset: u64) -> Result<bool, S::Error> {
        self.file.line_at(offset).map(|(_, start)| start == offset)
    }
}

/// The maximum number of places of a patch at which its new text is reviewed.
const REVIEWED: usize = 16;

/// Returns `text` with a final newline.
fn ended(text: &str) -> String {
    let mut text = text.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Returns `text` without its final newline, unless that would leave an empty last line. If `text` is only a
/// newline, that is the case only if `starts_line` says that it stands at the beginning of a line; otherwise
/// the text before it becomes the last line.
fn without_final_newline(text: &str, starts_line: bool) -> String {
    match text.strip_suffix('\n') {
        Some(rest) if rest.ends_with('\n') || (rest.is_empty() && starts_line) => text.to_owned(),
        Some(rest) => rest.to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::tests::{bytes, lines, scan, text, told};

    /// Returns for each file what its patches make of it.
    fn check(rows: &[(&str, &[Patch])]) -> String {
        told_of(rows, MatchOptions::default())
    }

    fn told_of(rows: &[(&str, &[Patch])], options: MatchOptions) -> String {
        let tell = |(file, patches): &(&str, &[Patch])| {
            let resolution =
                patch(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), None, patches, options).unwrap();
            format!("{file:?} -> {}\n", told(file, resolution))
        };
        rows.iter().map(tell).collect::<Vec<_>>().concat()
    }

    fn all(old: &str, new: &str) -> Patch {
        Patch { replace_all: true, ..text(old, new) }
    }

    #[test]
    fn the_ways_to_say_what_is_replaced() {
        let both = Patch { old_string: Some("b".to_owned()), ..bytes(2, 2, "b\n", "B") };
        let two_places = Patch {
            ranges: [lines(1, 1, "", ""), lines(3, 3, "", "")].map(|one| one.ranges[0].clone()).to_vec(),
            ..text("a", "A")
        };
        let to_the_end = Patch {
            ranges: vec![GuardedRange { start: 2, end: None, range_hash: None }],
            ..text("b\nc\n", "B")
        };
        insta::assert_snapshot!(check(&[
            ("a\nb\nc\n", &[text("b", "B")]),
            ("a\nb\nc\n", &[text("b\nc", "B")]),
            ("a\nb\nc\n", &[lines(2, 2, "b", "B")]),
            ("a\nb\nc\n", &[to_the_end]),
            ("a\nb\na\n", &[two_places]),
            ("a\nb\nc\n", &[bytes(2, 3, "b\nc\n", "B")]),
            ("a\nb\nc\n", &[both]),
            ("aaaaa", &[all("aa", "b")]),
            ("", &[text("", "a\nb")]),
            ("", &[text("\n", "a\nb")]),
            ("\u{feff}", &[text("", "a")]),
            ("a\nb\nc\n", &[text("c", "C"), lines(1, 1, "a", ""), text("b\n", "")]),
            ("a b c\n", &[text("c", "a"), text("a", "c")]),
        ]), @r#"
        "a\nb\nc\n" -> "a\nB\nc\n"
        "a\nb\nc\n" -> "a\nB\n"
        "a\nb\nc\n" -> "a\nB\nc\n"
        "a\nb\nc\n" -> "a\nB\n"
        "a\nb\na\n" -> "A\nb\nA\n"
        "a\nb\nc\n" -> "a\nB\n"
        "a\nb\nc\n" -> "a\nB\nc\n"
        "aaaaa" -> "bba"
        "" -> "a\nb"
        "" -> "a\nb"
        "\u{feff}" -> "\u{feff}a"
        "a\nb\nc\n" -> "C\n"
        "a b c\n" -> "c b a\n"
        "#);
    }

    #[test]
    fn whole_lines_are_ended_like_lines() {
        insta::assert_snapshot!(check(&[
            ("a\n\nc\n", &[lines(2, 2, "", "B")]),
            ("a\n\nc\n", &[lines(2, 2, "\n", "B\n")]),
            ("a\nb\nc\n", &[lines(2, 2, "b", "")]),
            ("a\nb\nc\n", &[lines(2, 2, "b\n", "\n")]),
            ("a\nb\nc\n", &[lines(2, 2, "b", "B\n\n")]),
            ("a\n\n\nc\n", &[lines(2, 3, "\n", "")]),
            ("a\n\n\nc\n", &[lines(2, 3, "\n\n", "")]),
            ("a\nb\nc\n", &[lines(2, 3, "b\nc", "")]),
        ]), @r#"
        "a\n\nc\n" -> "a\nB\nc\n"
        "a\n\nc\n" -> "a\nB\nc\n"
        "a\nb\nc\n" -> "a\nc\n"
        "a\nb\nc\n" -> "a\n\nc\n"
        "a\nb\nc\n" -> "a\nB\n\nc\n"
        "a\n\n\nc\n" -> ContentMismatch 2-3, is "\n\n", several [2-2, 3-3]
        "a\n\n\nc\n" -> "a\nc\n"
        "a\nb\nc\n" -> "a\n"
        "#);
    }

    #[test]
    fn a_missing_final_newline() {
        insta::assert_snapshot!(check(&[
            // By lines: if both strings end with a line end, the file still has no final newline.
            ("a\nb", &[lines(2, 2, "b\n", "c\n")]),
            ("a\nb", &[lines(2, 2, "b\n", "c\nd\n")]),
            ("a\nb", &[lines(2, 2, "b\n", "c\n\n")]),
            ("a\nb", &[lines(2, 2, "b\n", "\n")]),
            ("a\nb", &[lines(2, 2, "b\n", "c")]),
            ("a\nb", &[lines(2, 2, "b", "c")]),
            ("a\nb", &[lines(2, 2, "b", "c\n")]),
            ("a\nb", &[lines(2, 2, "b", "")]),
            ("a\nb", &[lines(1, 1, "a", "c")]),
            // By digest: the file ends as the new text does.
            ("a\nb", &[bytes(2, 2, "b", "c")]),
            ("a\nb", &[bytes(2, 2, "b", "c\n")]),
            // By text: the same as by lines, also within a line.
            ("a\nb", &[text("b\n", "c\n")]),
            ("a\nb", &[text("b\n", "c")]),
            ("a\nb", &[text("b", "c\n")]),
            ("a\nbb", &[text("bb\n", "\n")]),
            ("a\nxb", &[text("b\n", "\n")]),
            ("a\nb", &[text("\n", "c")]),
        ]), @r#"
        "a\nb" -> "a\nc"
        "a\nb" -> "a\nc\nd"
        "a\nb" -> "a\nc\n\n"
        "a\nb" -> "a\n\n"
        "a\nb" -> "a\nc"
        "a\nb" -> "a\nc"
        "a\nb" -> "a\nc\n"
        "a\nb" -> "a\n"
        "a\nb" -> "c\nb"
        "a\nb" -> "a\nc"
        "a\nb" -> "a\nc\n"
        "a\nb" -> "a\nc"
        "a\nb" -> "a\nc"
        "a\nb" -> "a\nc\n"
        "a\nbb" -> "a\n\n"
        "a\nxb" -> "a\nx"
        "a\nb" -> "acb"
        "#);
    }

    #[test]
    fn new_lines_take_terminators_line_by_line() {
        insta::assert_snapshot!(check(&[
            ("a\r\nb\r\n", &[text("a\nb", "c\nd\ne")]),
            ("a\rb\r", &[lines(1, 1, "a", "c\nd")]),
            ("a\r\nb\nc\n", &[lines(1, 2, "a\nb", "1\n2\n3")]),
            ("a\nb\r\nc\n", &[lines(1, 2, "a\nb", "1\n2\n3")]),
            ("a\r\nb\nc\n", &[lines(1, 3, "a\nb\nc", "b\nc")]),
            ("a\nb\r\nc", &[lines(3, 3, "c", "1\n2\n")]),
            ("a\r\nb\nc", &[text("b", "1\n2")]),
            ("a\n\u{2028}\u{b}\rb\n", &[text("\u{2028}", "-")]),
        ]), @r#"
        "a\r\nb\r\n" -> "c\r\nd\r\ne\r\n"
        "a\rb\r" -> "c\rd\rb\r"
        "a\r\nb\nc\n" -> "1\r\n2\n3\nc\n"
        "a\nb\r\nc\n" -> "1\n2\r\n3\r\nc\n"
        "a\r\nb\nc\n" -> "b\r\nc\n"
        "a\nb\r\nc" -> "a\nb\r\n1\r\n2\r\n"
        "a\r\nb\nc" -> "a\r\n1\n2\nc"
        "a\n\u{2028}\u{b}\rb\n" -> "a\n-\u{b}\rb\n"
        "#);
    }

    #[test]
    fn only_blanks_at_line_ends_are_forgiven() {
        let rows: &[(&str, &[Patch])] = &[
            ("a  \nb\t\n", &[text("a\nb\n", "c\n")]),
            ("a\nb\n", &[text("a \nb \n", "c\n")]),
            ("a  \nb\n", &[lines(1, 1, "a", "c")]),
            ("a  \n", &[text("a", "c")]),
            ("a  b\n", &[text("a \n", "c")]),
            ("a  \na\t\n", &[text("a\n", "c\n")]),
            ("a  \na\t\n", &[all("a\n", "c\n")]),
            ("a  \na\n", &[text("a\n", "c\n")]),
            (" a\n", &[lines(1, 1, "a", "c")]),
            ("A\n", &[text("a", "c")]),
        ];
        insta::assert_snapshot!(told_of(rows, MatchOptions { strict: false, ..MatchOptions::default() }), @r#"
        "a  \nb\t\n" -> "c\n" but for blanks
        "a\nb\n" -> "c\n" but for blanks
        "a  \nb\n" -> "c\nb\n" but for blanks
        "a  \n" -> "c  \n"
        "a  b\n" -> NoMatch, Part(Exact) 1-1
        "a  \na\t\n" -> AmbiguousMatch 2 TrailingWhitespace, at [1-1, 2-2]
        "a  \na\t\n" -> "c\nc\n" but for blanks
        "a  \na\n" -> "a  \nc\n"
        " a\n" -> ContentMismatch 1-1, is " a\n", Lines(Layout) 1-1
        "A\n" -> NoMatch, Lines(Layout) 1-1
        "#);
        insta::assert_snapshot!(told_of(rows, MatchOptions { strict: true, ..MatchOptions::default() }), @r#"
        "a  \nb\t\n" -> NoMatch, Lines(TrailingBlanks) 1-2
        "a\nb\n" -> NoMatch, Lines(TrailingBlanks) 1-2
        "a  \nb\n" -> ContentMismatch 1-1, is "a  \n", Lines(TrailingBlanks) 1-1
        "a  \n" -> "c  \n"
        "a  b\n" -> NoMatch, Part(Exact) 1-1
        "a  \na\t\n" -> NoMatch, several [1-1, 2-2]
        "a  \na\t\n" -> NoMatch, several [1-1, 2-2]
        "a  \na\n" -> "a  \nc\n"
        " a\n" -> ContentMismatch 1-1, is " a\n", Lines(Layout) 1-1
        "A\n" -> NoMatch, Lines(Layout) 1-1
        "#);
    }

    #[test]
    fn what_cannot_be_done() {
        insta::assert_snapshot!(check(&[
            ("a\nb\n", &[lines(2, 1, "b", "")]),
            ("a\nb\n", &[lines(0, 1, "a", ""), lines(2, 3, "b", "")]),
            ("", &[lines(1, 1, "", "")]),
            ("a\nb\n", &[text("", "c")]),
            ("a\nb\n", &[text("c", "d")]),
            ("aaa\n", &[text("aa", "b")]),
            ("a\nb\nc\n", &[lines(1, 1, "b\nc", "")]),
            ("a\nb\nc\n", &[lines(1, 1, "a\nb", "")]),
            ("a\nb\nc\n", &[lines(1, 1, "b", "x"), lines(1, 2, "a\nb", "x")]),
            ("let a = 1;\nlet b = 2;\n", &[text("let b = 3;", "")]),
            ("\tlet a = 1;\n", &[lines(1, 1, "    let a = 1;", "")]),
            ("a\nb\nc\n", &[bytes(1, 1, "c\n", "")]),
            ("a\nb\nc\n", &[lines(1, 2, "a\nb", ""), lines(2, 3, "b\nc", "")]),
            ("a\nb\nc\n", &[lines(2, 2, "b", ""), text("b", "")]),
            ("abc\n", &[text("ab", ""), text("bc", "")]),
            ("a\n", &[lines(1, 1, "b", ""), text("c", ""), lines(9, 9, "d", "")]),
        ]), @r#"
        "a\nb\n" -> InvalidRange 2 to 1
        "a\nb\n" -> LineOutOfRange 0 to Some(1) of 2; LineOutOfRange 2 to Some(3) of 2
        "" -> LineOutOfRange 1 to Some(1) of 0
        "a\nb\n" -> EmptyOldString
        "a\nb\n" -> NoMatch
        "aaa\n" -> AmbiguousMatch 2 Exact, at [1-1]
        "a\nb\nc\n" -> ContentMismatch 1-1, is "a\n", Lines(Exact) 2-3
        "a\nb\nc\n" -> ContentMismatch 1-1, is "a\n", Lines(Exact) 1-2
        "a\nb\nc\n" -> ContentMismatch 1-1, is "a\n", Lines(Exact) 2-2; Overlap 1-1 1-2
        "let a = 1;\nlet b = 2;\n" -> NoMatch, Fuzzy 2-2
        "\tlet a = 1;\n" -> ContentMismatch 1-1, is "\tlet a = 1;\n", Lines(Layout) 1-1
        "a\nb\nc\n" -> RangeHashMismatch 1-1, is "a\n", Lines(Exact) 3-3
        "a\nb\nc\n" -> Overlap 1-2 2-3
        "a\nb\nc\n" -> Overlap 2-2 2-2
        "abc\n" -> Overlap 1-1 1-1
        "a\n" -> ContentMismatch 1-1, is "a\n"; NoMatch; LineOutOfRange 9 to Some(9) of 1
        "#);
    }

    #[test]
    fn too_many_places_and_too_much_text_are_refused_once() {
        let file = "a a b b b\n";
        let few = |patches: &[Patch]| {
            told_of(&[(file, patches)], MatchOptions { max_occurrences: 3, ..MatchOptions::default() })
        };
        let too_many = |patch, count| {
            format!(
                "TooManyOccurrences {{ at: At {{ entry: 0, patch: {patch}, range: None }}, count: {count}, most: 3 }}"
            )
        };
        assert_eq!(few(&[all("b", "x")]), format!("{file:?} -> \"a a x x x\\n\"\n"));
        assert_eq!(few(&[all("b", "x"), all("a", "x")]), format!("{file:?} -> {}\n", too_many(1, 5)));
        assert_eq!(few(&[all("a", "x"), all("b", "x")]), format!("{file:?} -> {}\n", too_many(1, 5)));
        assert_eq!(few(&[all(" ", "x"), all("a", "x")]), format!("{file:?} -> {}\n", too_many(0, 4)));
        let short = |patches: &[Patch]| {
            told_of(&[(file, patches)], MatchOptions { max_inserted: 4, ..MatchOptions::default() })
        };
        let too_much = |bytes| {
            format!("TooMuchText {{ at: At {{ entry: 0, patch: 0, range: None }}, bytes: {bytes}, most: 4 }}")
        };
        assert_eq!(short(&[all("a", "xx")]), format!("{file:?} -> \"xx xx b b b\\n\"\n"));
        assert_eq!(short(&[all("b", "xx")]), format!("{file:?} -> {}\n", too_much(6)));
        assert_eq!(
            short(&[lines(1, 1, "a a b b b", "xxxxx"), text("c", "")]),
            format!("{file:?} -> {}; NoMatch\n", too_much(5))
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn many_blanks_at_the_end_of_a_line_are_blanks() {
        let file = format!("a{}\nb\n", " ".repeat(5000));
        let lenient = MatchOptions { strict: false, ..MatchOptions::default() };
        let told = told_of(&[(&file, &[lines(1, 1, "a", "c")])], lenient);
        assert_eq!(told, format!("{file:?} -> \"c\\nb\\n\" but for blanks\n"));
        // Behind more than a megabyte of them there may be other text.
        let file = format!("a{}x\nb\n", " ".repeat(1024 * 1024 + 64));
        let told = told_of(&[(&file, &[lines(1, 1, "a", "c")])], lenient);
        assert!(told.contains("-> ContentMismatch 1-1"), "{}", &told[told.len() - 200..]);
    }

    /// Checks a file that changes once it has been scanned: the caller throws the answer away.
    #[test]
    fn lines_that_have_become_more_are_compared_all_the_same() {
        let scan = scan(b"abc");
        let patches = [lines(1, 1, "a\nb", "x")];
        let Ok(done) = patch(Scanned::new(&b"a\nb"[..], &scan), None, &patches, MatchOptions::default());
        assert_eq!(done.map(|plan| plan.splices.as_slice().len()), Ok(1));
    }
}
