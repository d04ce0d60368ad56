//! Helpers for the tests of all requests.

use super::{GuardedRange, MatchOptions, Patch, Position, Resolution, delete, insert, patch};
use crate::digest::{Digest, DigestPrefix, digest_of};
use crate::encoding::Label;
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;
use crate::rejection::{At, Evidence, Fit, Rejection};
use crate::scan::{Scan, Scanned, Scanner};
use crate::source::{Source as _, read_range};
use crate::splice::Spliced;

pub(super) fn scan(bytes: &[u8]) -> Scan {
    let mut scanner = Scanner::new(None);
    scanner.feed(bytes);
    scanner.finish()
}

/// Returns the file after a request, or all rejections, on one line.
pub(super) fn told(file: &str, resolution: Resolution) -> String {
    let plan = match resolution {
        Ok(plan) => plan,
        Err(rejections) => return rejections.iter().map(brief).collect::<Vec<_>>().join("; "),
    };
    let new = Spliced::new(file.as_bytes(), &plan.splices);
    let new = String::from_utf8(read_range(&new, 0..new.size()).unwrap()).unwrap();
    assert_eq!(plan.unchanged, new == file);
    let loose = plan.facts.iter().any(|fact| fact.tier != Tier::Exact);
    let lead = if plan.adds_final_newline { " and ends the last line first" } else { "" };
    format!("{new:?}{}{lead}", if loose { " but for blanks" } else { "" })
}

fn brief(rejection: &Rejection) -> String {
    match rejection {
        Rejection::HashMismatch { fit: Fit::Unsure { line, around }, .. } => {
            format!("HashMismatch, unsure of {line} in {:?}", around.text)
        }
        Rejection::HashMismatch { fit, .. } => format!("HashMismatch, {fit:?}"),
        Rejection::InvalidRange { start, end, .. } => format!("InvalidRange {start} to {end}"),
        Rejection::LineOutOfRange { start, end, total, .. } => {
            format!("LineOutOfRange {start} to {end:?} of {total}")
        }
        Rejection::RangeHashMismatch { lines, actual, evidence, .. } => {
            format!("RangeHashMismatch {lines:?}, is {:?}{}", actual.text, evident(evidence))
        }
        Rejection::ContentMismatch { lines, actual, evidence, .. } => {
            format!("ContentMismatch {lines:?}, is {:?}{}", actual.text, evident(evidence))
        }
        Rejection::NoMatch { evidence, .. } => format!("NoMatch{}", evident(evidence)),
        Rejection::AmbiguousMatch { count, tier, places, .. } => {
            let lines: Vec<_> = places.iter().map(|place| place.lines).collect();
            format!("AmbiguousMatch {count} {tier:?}, at {lines:?}")
        }
        Rejection::Overlap { first, second } => format!("Overlap {:?} {:?}", first.1, second.1),
        Rejection::EmptyOldString { .. } => "EmptyOldString".to_owned(),
        other => format!("{other:?}"),
    }
}

fn evident(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Applied(place) | Evidence::One(place) => format!(", {:?} {:?}", place.how, place.lines),
        Evidence::Several(places) => {
            format!(", several {:?}", places.iter().map(|place| place.lines).collect::<Vec<_>>())
        }
        _ => String::new(),
    }
}

#[test]
fn no_edit_makes_another_byte_order_mark() {
    let delete_first = |file: &[u8]| {
        let scan = scan(file);
        let scanned = Scanned::new(file, &scan);
        let Ok(line) = scanned.bytes_of(LineRange::new(LineNumber::FIRST, 1));
        let Ok(digest) = digest_of(file, line);
        let range_hash = DigestPrefix::parse(&digest.to_string());
        let Ok(done) = delete(scanned, None, &[GuardedRange { start: 1, end: Some(1), range_hash }]);
        done.map(|plan| plan.splices).map_err(|rejections| rejections.iter().map(brief).collect::<String>())
    };
    let refused = Err("ByteOrderMark { at: At { entry: 0, patch: 0, range: Some(0) } }".to_owned());
    assert_eq!(delete_first(b"a\n\xEF\xBB\xBFb\n"), refused);
    // The mark of UTF-16 becomes that of UTF-32 if U+0000 follows it.
    assert_eq!(delete_first(b"\xFF\xFEa\0\n\0\0\0b\0"), refused);
    assert!(delete_first(b"\xFF\xFEa\0\n\0b\0\0\0").is_ok());
}

#[test]
fn what_the_encoding_lacks_is_named_by_its_place_in_the_new_text() {
    let mut scanner = Scanner::new(Some(Label::parse("windows-1252").unwrap().encoding));
    scanner.feed(b"caf\xE9\nbar\n");
    let scan = scanner.finish();
    let file = Scanned::new(&b"caf\xE9\nbar\n"[..], &scan);
    let patches = [Patch::text("bar", "ok é\nno \u{2192}"), Patch::text("café", "\u{2192}")];
    let Ok(replaced) = patch(file, None, &patches, MatchOptions::default());
    let Ok(inserted) = insert(file, None, "one\ntwo \u{2192}\n", Position::After(2), None);
    let said = |resolution: Resolution| {
        let rejections = resolution.unwrap_err();
        let told = rejections.iter().map(|rejection| format!("{:?} {rejection}\n", rejection.at()));
        told.collect::<Vec<_>>().concat()
    };
    insta::assert_snapshot!(said(replaced) + &said(inserted), @r#"
    Some(At { entry: 0, patch: 0, range: None }) '→', in line 2 and column 4 of the new text, is not in the file's encoding
    Some(At { entry: 0, patch: 1, range: None }) '→', in line 1 and column 1 of the new text, is not in the file's encoding
    Some(At { entry: 0, patch: 0, range: None }) '→', in line 2 and column 5 of the new text, is not in the file's encoding
    "#);
}

/// Big5 has two bytes for Ê̄, which is two characters, and two for Ế beside it.
#[test]
fn no_part_of_what_has_no_bytes_of_its_own_is_replaced() {
    let bytes = b"one\n\x88\x62 two\n\x88\x63 three\n";
    let mut scanner = Scanner::new(Some(Label::parse("big5").unwrap().encoding));
    scanner.feed(bytes);
    let scan = scanner.finish();
    let replaced = |patches: &[Patch]| {
        let Ok(done) = patch(Scanned::new(&bytes[..], &scan), None, patches, MatchOptions::default());
        done.map(|plan| plan.splices.as_slice().len())
    };
    let at = |patch| At { entry: 0, patch, range: None };
    let lines = LineRange::new(LineNumber::from_index(1), 1);
    assert_eq!(replaced(&[text("\u{ca}\u{304}", "E")]), Ok(1));
    assert_eq!(replaced(&[text("\u{1ebe} three", "E")]), Ok(1));
    assert_eq!(replaced(&[text("\u{304} two", "E")]), Err(vec![Rejection::ShiftState { at: at(0), lines }]));
    // The place of a rejected patch is claimed nevertheless.
    let overlap = Rejection::Overlap { first: (at(0), lines), second: (at(1), lines) };
    assert_eq!(
        replaced(&[text("\u{304} two", "E"), text("two", "2")]),
        Err(vec![Rejection::ShiftState { at: at(0), lines }, overlap])
    );
}

/// Returns a patch that names its place by text alone.
pub(super) fn text(old: &str, new: &str) -> Patch {
    Patch::text(old, new)
}

/// Returns a patch of lines that must have the text `old`.
pub(super) fn lines(start: i64, end: i64, old: &str, new: &str) -> Patch {
    let range = GuardedRange { start, end: Some(end), range_hash: None };
    Patch { ranges: vec![range], ..text(old, new) }
}

/// Returns a patch of lines that must have the digest of these bytes.
pub(super) fn bytes(start: i64, end: i64, bytes: &str, new: &str) -> Patch {
    let range = GuardedRange { start, end: Some(end), range_hash: Some(tag(bytes)) };
    Patch { old_string: None, ranges: vec![range], ..text("", new) }
}

/// Returns the digest that a client would remember of `bytes`.
pub(super) fn tag(bytes: &str) -> DigestPrefix {
    DigestPrefix::parse(&Digest::of(bytes.as_bytes()).to_string()).unwrap()
}
