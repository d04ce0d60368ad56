//! Resolves a request to replace parts of a file's text that the caller has found.

use std::ops::Range;

use super::plan::{Claim, Resolution, SpliceInfo, plan};
use super::seams::Terminators;
use crate::matching::{Tier, lines_of, places_of};
use crate::rejection::{At, Rejection};
use crate::scan::Scanned;
use crate::source::Source;
use crate::splice::Splice;

/// A part of a file's text, and the text that replaces it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextReplacement {
    /// The part, by its indices in the [`whole_text`](crate::matching::whole_text); not empty.
    pub at: Range<usize>,
    /// The new text, with `\n` for line ends.
    pub new: String,
}

/// Resolves a request to replace parts of a file's text. The parts must be in order and disjoint. New lines
/// take the terminators of the lines that they replace, as with [`patch`](fn@super::patch). The only errors
/// are those of the source.
pub fn replace<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    replacements: Vec<TextReplacement>,
) -> Result<Resolution, S::Error> {
    let places = places_of(file, replacements.iter().map(|replacement| replacement.at.clone()))?;
    let touched = lines_of(file, &places)?;
    let at = At::default();
    let (mut claims, mut rejections) = (Vec::with_capacity(places.len()), Vec::new());
    for ((place, lines), TextReplacement { new, .. }) in places.into_iter().zip(touched).zip(replacements) {
        let wanted = memchr::memchr_iter(b'\n', new.as_bytes()).count();
        let terminators = Terminators::of(file, lines, wanted)?;
        match terminators.encode_between(&new, file.scan.encoding, place.seams) {
            _ if !place.editable => rejections.push(Rejection::ShiftState { at, lines }),
            Ok(insert) => {
                let splice = Splice { at: place.at, insert };
                claims.push(Claim { at, lines, splice, fact: SpliceInfo::of(Tier::Exact) });
            }
            Err(fault) => rejections.push(Rejection::unencodable(at, &new, &fault)),
        }
        if !rejections.is_empty() {
            // Other places fail for the same reason, so one rejection is enough.
            break;
        }
    }
    plan(file, claims, rejections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Label;
    use crate::matching::whole_text;
    use crate::scan::Scanner;
    use crate::source::read_range;
    use crate::splice::Spliced;

    /// Replaces each `old` in a file. Returns the new bytes of the file, or the only rejection.
    fn replaced(label: &str, bytes: &[u8], old: &str, new: &str) -> Result<Vec<u8>, String> {
        let mut scanner = Scanner::new(Some(Label::parse(label).unwrap().encoding));
        scanner.feed(bytes);
        let scan = scanner.finish();
        let file = Scanned::new(bytes, &scan);
        let text = whole_text(file).unwrap();
        let places = text.match_indices(old).map(|(start, part)| start..start + part.len());
        let replacements = places.map(|at| TextReplacement { at, new: new.to_owned() }).collect();
        match replace(file, replacements).unwrap() {
            Ok(plan) => {
                let new = Spliced::new(bytes, &plan.splices);
                Ok(read_range(&new, 0..new.size()).unwrap())
            }
            Err(rejections) => {
                assert_eq!(rejections.len(), 1, "{rejections:?}");
                Err(rejections[0].to_string())
            }
        }
    }

    #[test]
    fn what_the_encoding_cannot_hold_is_refused_once() {
        assert_eq!(replaced("latin1", b"a\xe9a\n", "a", "\u{e8}"), Ok(b"\xe8\xe9\xe8\n".to_vec()));
        let refused = replaced("latin1", b"a\xe9a\n", "a", "b\u{2026}").unwrap_err();
        assert!(refused.contains("line 1 and column 2"), "{refused}");
    }

    /// In Big5, four byte sequences each stand for two characters; this is one of them.
    #[test]
    fn a_sequence_of_two_characters_is_not_cut() {
        let text = Label::parse("big5").unwrap().encoding.decode(b"\x88\x62").unwrap().into_owned();
        let accent = &text[text.char_indices().nth(1).unwrap().0..];
        assert_eq!(replaced("big5", b"a\x88\x62b", &text, "x"), Ok(b"axb".to_vec()));
        let refused = replaced("big5", b"a\x88\x62b\x88\x62", accent, "x").unwrap_err();
        assert!(refused.contains("cannot be cut"), "{refused}");
    }

    #[test]
    fn escape_sequences_lead_from_text_to_text() {
        let file = b"\x1b$B$\"$$\x1b(B x\n";
        assert_eq!(replaced("iso-2022-jp", file, "\u{3042}", "y"), Ok(b"y\x1b$B$$\x1b(B x\n".to_vec()));
        let both = replaced("iso-2022-jp", file, "x", "\u{3042}");
        assert_eq!(both, Ok(b"\x1b$B$\"$$\x1b(B \x1b$B$\"\x1b(B\n".to_vec()));
    }
}
