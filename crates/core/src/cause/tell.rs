//! Decides which slip explains why two texts differ.

use std::borrow::Cow;

use super::breaks::differ_by_breaks;
use super::elision::{has_all_but_the_elided, is_surely_elided};
use super::escapes::{spells_line_ends, unescaped};
use super::fold::{Fold, by_line, expanded, is_blank};
use super::gutter::{counts_up, without_gutter};
use super::kind::Cause;
use super::undo::{Reading, readings};

/// The least number of letters and digits of a wanted line that counts as cut short: with fewer it is the
/// beginning of too many lines.
const LEAST_CUT: usize = 4;

/// Finds out why `wanted` is not `actual`, the whole lines that stand in a range or in a place that is
/// similar.
///
/// Lines end in `\n`; a text without a final one is read as if it had one. Returns a cause only if undoing
/// exactly that makes the two alike, blanks at line ends aside; where it takes several, the first of them in
/// the order of [`Cause`]. `None` where that is not so, the two are equal, or `wanted` is blank. Takes time
/// linear in the length of the texts.
#[must_use]
pub fn cause(wanted: &str, actual: &str) -> Option<Cause> {
    tell(wanted, actual, Place::Whole)
}

/// Does what [`cause`](fn@cause) does for a wanted text that may begin and end inside a line: it need only
/// stand somewhere in `actual`.
#[must_use]
pub fn cause_inside(wanted: &str, actual: &str) -> Option<Cause> {
    tell(wanted, actual, Place::Inside)
}

/// Finds a slip in `wanted` alone, for a text that stands nowhere: line numbers in front that count up, a
/// line that stands for others that were left out, with lines around it, or a single line that spells out its
/// line ends.
///
/// Weaker than [`cause`](fn@cause), since nothing confirms it. `None` if there is no such slip.
#[must_use]
pub fn cause_without_place(wanted: &str) -> Option<Cause> {
    let wanted = body(wanted);
    if counts_up(wanted) && without_gutter(wanted).is_some() {
        Some(Cause::Gutter)
    } else if is_surely_elided(wanted) {
        Some(Cause::Elided)
    } else if spells_line_ends(wanted) {
        Some(Cause::SpelledOutEscapes)
    } else {
        None
    }
}

/// Returns `wanted` with all slips undone that can be undone without a place, since that text may have been
/// meant; `None` if it has none.
pub(crate) fn without_slips(wanted: &str) -> Option<String> {
    let wanted = body(wanted);
    match readings(wanted).into_iter().rfind(|reading| reading.slip != Some(Cause::Repeated)) {
        Some(Reading { text, slip: Some(_), .. }) => Some(text.into_owned()),
        _ if spells_line_ends(wanted) => Some(unescaped(wanted)),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Whole,
    Inside,
}

impl Place {
    fn alike(self, wanted: &str, actual: &str) -> bool {
        match self {
            Self::Whole => wanted == actual,
            Self::Inside => actual.contains(wanted),
        }
    }
}

fn tell(wanted: &str, actual: &str, place: Place) -> Option<Cause> {
    let (wanted, actual) = (body(wanted), body(actual));
    if place.alike(wanted, actual) || wanted.trim().is_empty() {
        return None;
    }
    // From here on blanks at line ends are ignored: that they differ is a cause by itself, or does not
    // matter.
    let [wanted, actual] = [wanted, actual].map(without_trailing_blanks);
    if place.alike(&wanted, &actual) {
        return Some(Cause::TrailingWhitespace);
    }
    undone(&wanted, &actual, place, false)
        .or_else(|| (place == Place::Whole).then(|| misjudged_range(&wanted, &actual)).flatten())
        .or_else(|| has_all_but_the_elided(&wanted, &actual).then_some(Cause::Elided))
        .or_else(|| undone(&wanted, &actual, place, true))
        .or_else(|| (place == Place::Whole).then(|| broken_elsewhere(&wanted, &actual)).flatten())
        .or_else(|| (place == Place::Whole && is_cut_short(&wanted, &actual)).then_some(Cause::CutShort))
        .or_else(|| (place == Place::Whole && lacks_lines(&wanted, &actual)).then_some(Cause::LeftOut))
}

/// Returns the slip whose undoing makes `wanted` and `actual` alike; with `several`, the first of those that
/// together do.
fn undone(wanted: &str, actual: &str, place: Place, several: bool) -> Option<Cause> {
    for Reading { text, slip, .. } in readings(wanted) {
        if slip.is_some() && !may_be_alike(&text, actual, place) {
            continue;
        }
        let reading = without_trailing_blanks(&text);
        if slip.is_some() && place.alike(&reading, actual) {
            return slip;
        }
        let found = match (slip, several) {
            (None, false) => {
                Fold::ALL.into_iter().find(|fold| alike_after(&[*fold], &reading, actual, place))
            }
            (Some(_), false) => None,
            (_, true) => needed_folds(&reading, actual, place),
        };
        if let Some(fold) = found {
            return Some(slip.unwrap_or_else(|| named(fold, &reading, actual, place)));
        }
    }
    None
}

/// Returns the cause if lines are broken in other places: that, or the other slip that has to be undone as
/// well.
fn broken_elsewhere(wanted: &str, actual: &str) -> Option<Cause> {
    let mut readings = readings(wanted).into_iter();
    readings
        .find(|reading| differ_by_breaks(&reading.text, actual))
        .map(|reading| reading.slip.unwrap_or(Cause::LineBreaks))
}

/// Tells whether two texts may be alike, as a cheap check before they are compared: they have as many lines,
/// unless line ends are spelled out.
fn may_be_alike(wanted: &str, actual: &str, place: Place) -> bool {
    let lines = |text: &str| text.matches('\n').count();
    match place {
        Place::Whole => lines(wanted) == lines(actual) || wanted.contains('\\') || actual.contains('\\'),
        Place::Inside => lines(wanted) <= lines(actual) || actual.contains('\\'),
    }
}

/// Returns the first of the folds that are needed to make the texts alike; `None` if all of them are not
/// enough.
fn needed_folds(wanted: &str, actual: &str, place: Place) -> Option<Fold> {
    let mut folds = Fold::ALL.to_vec();
    if !alike_after(&folds, wanted, actual, place) {
        return None;
    }
    for fold in Fold::ALL.iter().rev() {
        let rest: Vec<_> = folds.iter().copied().filter(|other| other != fold).collect();
        if alike_after(&rest, wanted, actual, place) {
            folds = rest;
        }
    }
    folds.first().copied()
}

fn alike_after(folds: &[Fold], wanted: &str, actual: &str, place: Place) -> bool {
    // Editors show tabs in different widths, so all usual ones are tried; without blanks none makes a
    // difference.
    let widths = if folds.contains(&Fold::TabsAgainstSpaces) && !folds.contains(&Fold::InnerBlanks) {
        1..=8
    } else {
        0..=0
    };
    let [mut undone, actual] =
        [wanted, actual].map(|text| folds.iter().fold(Cow::Borrowed(text), |text, fold| fold.undo(text)));
    // A spelled-out line end at the very end ends the last line, as a real one does.
    if place == Place::Whole && undone.ends_with('\n') && !wanted.ends_with('\n') {
        undone.to_mut().pop();
    }
    let wanted = undone;
    widths.into_iter().any(|width| match width {
        0 => place.alike(&wanted, &actual),
        // Without tabs the width makes no difference.
        2.. if !wanted.contains('\t') && !actual.contains('\t') => false,
        _ => place.alike(&expanded(&wanted, width), &expanded(&actual, width)),
    })
}

/// Names the cause that goes with a fold. Where blanks at the beginning of lines differ, it is tabs against
/// spaces if in every such line one side indents with tabs and the other without.
fn named(fold: Fold, wanted: &str, actual: &str, place: Place) -> Cause {
    let indent = |line: &str| line.chars().take_while(|c| is_blank(*c)).collect::<String>();
    let mut differing = wanted
        .split('\n')
        .zip(actual.split('\n'))
        .map(|(wanted, actual)| (indent(wanted), indent(actual)))
        .filter(|(wanted, actual)| wanted != actual);
    let at_odds =
        |(a, b): (String, String)| a.contains('\t') != b.contains('\t') && !a.is_empty() && !b.is_empty();
    if fold == Fold::Indentation && place == Place::Whole && differing.all(at_odds) {
        return Fold::TabsAgainstSpaces.cause(wanted, actual);
    }
    fold.cause(wanted, actual)
}

fn misjudged_range(wanted: &str, actual: &str) -> Option<Cause> {
    let whole_lines = |text: &str| format!("\n{text}\n");
    if whole_lines(actual).contains(&whole_lines(wanted)) {
        Some(Cause::RangeTooLong)
    } else if !actual.trim().is_empty() && whole_lines(wanted).contains(&whole_lines(actual)) {
        Some(Cause::RangeTooShort)
    } else {
        None
    }
}

/// Tells whether two texts that differ are alike up to their last line, of which `wanted` has only the
/// beginning.
fn is_cut_short(wanted: &str, actual: &str) -> bool {
    let last = wanted.rsplit('\n').next().unwrap_or_default();
    let rest = actual.strip_prefix(wanted);
    last.chars().filter(|c| c.is_alphanumeric()).count() >= LEAST_CUT
        && rest.is_some_and(|rest| !rest.contains('\n'))
}

/// Tells whether the lines of `wanted` all stand in `actual`, in two runs: from its first line on, and up to
/// its last. One run alone would be a range too long.
fn lacks_lines(wanted: &str, actual: &str) -> bool {
    let [wanted, actual] = [wanted, actual].map(|text| text.split('\n').collect::<Vec<_>>());
    let head = wanted.iter().zip(&actual).take_while(|(wanted, actual)| wanted == actual).count();
    let tail =
        wanted.iter().rev().zip(actual.iter().rev()).take_while(|(wanted, actual)| wanted == actual).count();
    actual.len() > wanted.len() && head + tail >= wanted.len()
}

/// Returns a text without its last line end, so that splitting it at line ends gives its lines.
fn body(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

fn without_trailing_blanks(text: &str) -> String {
    by_line(text, |line| line.trim_end_matches(is_blank))
}
