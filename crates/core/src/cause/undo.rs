//! Undoes the slips of a whole text. Each way to do so is a reading of the text; a wanted text is compared
//! with the file in each of them.

use std::borrow::Cow;

use super::ends::{
    without_blank_head, without_blank_tail, without_fence, without_file_name, without_mark_above,
    without_mark_below,
};
use super::gutter::without_gutter;
use super::kind::Cause;
use super::repeats::without_repeats;

/// Undoes a slip of a text, which has no line end at its end; `None` where the text has no such slip.
type Undo = fn(&str) -> Option<Cow<'_, str>>;

/// The slips, in the order in which they are looked for.
pub(super) const SLIPS: [(Cause, Undo); 8] = [
    (Cause::Fence, |text| without_fence(text).map(Cow::Borrowed)),
    (Cause::FileName, |text| without_file_name(text).map(Cow::Borrowed)),
    (Cause::PatchMark, |text| without_mark_above(text).map(Cow::Borrowed)),
    (Cause::PatchMark, |text| without_mark_below(text).map(Cow::Borrowed)),
    (Cause::Gutter, |text| without_gutter(text).map(Cow::Owned)),
    (Cause::BlankLines, |text| without_blank_head(text).map(Cow::Borrowed)),
    (Cause::BlankLines, |text| without_blank_tail(text).map(Cow::Borrowed)),
    (Cause::Repeated, |text| without_repeats(text).map(Cow::Owned)),
];

/// The most readings of a text, besides the one without lines that are there twice: a fence, a name above it
/// and a blank line at either end make sixteen.
const MOST: usize = 16;

/// A way to read a wanted text.
#[derive(Clone, Debug)]
pub(crate) struct Reading<'a> {
    /// The text, without a line end at its end.
    pub(crate) text: Cow<'a, str>,
    /// The slip that was undone, of several the first that is not a blank line; `None` for the text as it was
    /// sent.
    pub(crate) slip: Option<Cause>,
    /// The number of slips that were undone.
    pub(crate) undone: usize,
}

/// Returns the ways to read a text, which has no line end at its end: as it was sent, and with any of the
/// slips undone that it may have, those with fewer first. Lines that are there twice are undone with nothing
/// else: they may well be meant.
pub(crate) fn readings(text: &str) -> Vec<Reading<'_>> {
    let mut all = vec![Reading { text: Cow::Borrowed(text), slip: None, undone: 0 }];
    let mut next = 0;
    while let Some(reading) = all.get(next).cloned() {
        for (cause, undo) in SLIPS.iter().filter(|(cause, _)| *cause != Cause::Repeated) {
            let undone = match &reading.text {
                Cow::Borrowed(text) => undo(text),
                Cow::Owned(text) => undo(text).map(|text| Cow::Owned(text.into_owned())),
            };
            if let Some(text) = undone
                && all.len() < MOST
                && all.iter().all(|other| other.text != text)
            {
                let slip = reading.slip.filter(|slip| *slip != Cause::BlankLines).or(Some(*cause));
                all.push(Reading { text, slip, undone: reading.undone + 1 });
            }
        }
        next += 1;
    }
    let repeated = without_repeats(text).filter(|once| all.iter().all(|other| other.text != *once));
    if let Some(once) = repeated {
        all.insert(1, Reading { text: Cow::Owned(once), slip: Some(Cause::Repeated), undone: 1 });
    }
    all
}
