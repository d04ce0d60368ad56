//! The slips that are undone on both sides alike, so that texts which differ by nothing else become equal.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::escapes::{named, without_escapes};
use super::kind::{Cause, Side};
use crate::invisible::is_default_ignorable;

/// A slip that is undone on both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fold {
    CarriageReturn,
    Escapes,
    HtmlEntities,
    Composition,
    Invisible,
    NoBreakSpace,
    TypographicQuotes,
    Dashes,
    TabsAgainstSpaces,
    Indentation,
    InnerBlanks,
    LetterCase,
}

impl Fold {
    /// All of them, in the order in which they are undone, and named where several are needed. What comes
    /// later undoes more: blanks at the beginning of lines include tabs there, and so on.
    pub(super) const ALL: [Self; 12] = [
        Self::CarriageReturn,
        Self::Escapes,
        Self::HtmlEntities,
        Self::Composition,
        Self::Invisible,
        Self::NoBreakSpace,
        Self::TypographicQuotes,
        Self::Dashes,
        Self::TabsAgainstSpaces,
        Self::Indentation,
        Self::InnerBlanks,
        Self::LetterCase,
    ];

    /// Undoes the slip in a text, except tabs against spaces: those need a width.
    pub(super) fn undo(self, text: Cow<'_, str>) -> Cow<'_, str> {
        let undone = match self {
            Self::CarriageReturn => without(&text, |c| c == '\r'),
            Self::Escapes => without_escapes(&text),
            Self::HtmlEntities => without_entities(&text),
            Self::Composition if !is_nfc(&text) => text.nfc().collect(),
            Self::Invisible => without(&text, is_default_ignorable),
            Self::NoBreakSpace => each(&text, plain_space),
            Self::TypographicQuotes => plain_quotes(&text),
            Self::Dashes => plain_dashes(&text),
            Self::Indentation => Cow::Owned(by_line(&text, |line| line.trim_start_matches(is_blank))),
            Self::InnerBlanks => without(&text, is_blank),
            Self::LetterCase => Cow::Owned(text.to_lowercase()),
            Self::Composition | Self::TabsAgainstSpaces => return text,
        };
        match undone {
            Cow::Owned(undone) => Cow::Owned(undone),
            Cow::Borrowed(_) => text,
        }
    }

    /// Names the cause where undoing this makes the texts alike.
    pub(super) fn cause(self, wanted: &str, actual: &str) -> Cause {
        let side = |count: fn(&str) -> usize| {
            if count(actual) > count(wanted) { Side::File } else { Side::Requested }
        };
        match self {
            Self::CarriageReturn => Cause::CarriageReturn,
            Self::Escapes => named(wanted, actual),
            Self::HtmlEntities => Cause::HtmlEntities(side(|text| text.matches('&').count())),
            Self::Composition => Cause::Composition(side(|text| text.chars().count())),
            Self::Invisible => {
                Cause::Invisible(side(|text| text.chars().filter(|c| is_default_ignorable(*c)).count()))
            }
            Self::NoBreakSpace => {
                Cause::NoBreakSpace(side(|text| text.chars().filter(|c| plain_space(*c) != *c).count()))
            }
            Self::TypographicQuotes => {
                Cause::TypographicQuotes(side(|text| text.chars().filter(|c| straight(*c) != *c).count()))
            }
            Self::Dashes => Cause::Dashes(side(|text| text.chars().filter(|c| is_typographic(*c)).count())),
            Self::TabsAgainstSpaces => Cause::TabsAgainstSpaces(side(|text| text.matches('\t').count())),
            Self::Indentation => Cause::Indentation,
            Self::InnerBlanks => Cause::InnerBlanks,
            Self::LetterCase => Cause::LetterCase,
        }
    }
}

/// Undoes every slip in a line, or in a piece of a file: what is left are letters, digits and signs, and a
/// line end for each one that is spelled out.
pub(crate) fn collapsed(text: &str) -> String {
    let undone = Fold::ALL.iter().fold(Cow::Borrowed(text), |text, fold| fold.undo(text));
    undone.chars().filter(|c| *c == '\n' || !c.is_whitespace()).collect()
}

/// The least number of letters and digits with which a text tells its place; `}` or `else` stand anywhere.
const TELLING: usize = 5;

/// Tells whether a text has enough letters and digits to tell its place.
pub(crate) fn is_telling(text: &str) -> bool {
    text.chars().filter(|c| c.is_alphanumeric()).nth(TELLING - 1).is_some()
}

/// Returns `text` without the characters that are `unwanted`.
fn without(text: &str, unwanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.contains(&unwanted) { text.replace(unwanted, "").into() } else { text.into() }
}

/// Returns `text` with each character changed; a text of ASCII alone stays as it is.
fn each(text: &str, change: impl Fn(char) -> char) -> Cow<'_, str> {
    if text.is_ascii() { text.into() } else { text.chars().map(change).collect() }
}

/// Replaces the HTML entities that programs write for signs of their own by the characters; also where an
/// entity was written for the `&` of one.
fn without_entities(text: &str) -> Cow<'_, str> {
    const ENTITIES: [(&str, &str); 14] = [
        ("lt", "<"),
        ("gt", ">"),
        ("quot", "\""),
        ("apos", "'"),
        ("nbsp", " "),
        ("amp", "&"),
        ("#39", "'"),
        ("#x27", "'"),
        ("#X27", "'"),
        ("#34", "\""),
        ("#x22", "\""),
        ("#60", "<"),
        ("#62", ">"),
        ("#38", "&"),
    ];
    let mut undone = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        undone.push_str(before);
        // `&amp;lt;` is `&lt;` with its own sign written as an entity.
        let mut after = after;
        while let Some(inner) = after.strip_prefix("amp;") {
            after = inner;
        }
        let entity = ENTITIES.iter().find_map(|(name, meant)| {
            after.strip_prefix(name).and_then(|rest| rest.strip_prefix(';')).map(|rest| (*meant, rest))
        });
        let (meant, behind) = entity.unwrap_or(("&", after));
        undone.push_str(meant);
        rest = behind;
    }
    if rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    undone.push_str(rest);
    Cow::Owned(undone)
}

/// Makes each quote a straight double one: formatters change the kind where they break lines.
fn plain_quotes(text: &str) -> Cow<'_, str> {
    let plain = |c| if straight(c) == '\'' { '"' } else { straight(c) };
    if text.is_ascii() && !text.contains('\'') { text.into() } else { text.chars().map(plain).collect() }
}

/// Makes each typographic dash, and each run of hyphens, one hyphen, and `…` three dots.
fn plain_dashes(text: &str) -> Cow<'_, str> {
    if text.is_ascii() && !text.contains("--") {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '…' => plain.push_str("..."),
            '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' => {
                if !plain.ends_with('-') {
                    plain.push('-');
                }
            }
            other => plain.push(other),
        }
    }
    Cow::Owned(plain)
}

fn is_typographic(c: char) -> bool {
    matches!(c, '…' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// Returns a plain space for any other space (Unicode general category Zs).
fn plain_space(c: char) -> char {
    match c {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// Returns the ASCII quote that a typographic one stands for (Unicode general categories Pi and Pf, low
/// quotes, primes).
pub(crate) fn straight(c: char) -> char {
    match c {
        '‘' | '’' | '‚' | '‛' | '‹' | '›' | '′' => '\'',
        '“' | '”' | '„' | '‟' | '«' | '»' | '″' => '"',
        other => other,
    }
}

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// Changes each line of a text.
pub(super) fn by_line(text: &str, change: impl Fn(&str) -> &str) -> String {
    let mut changed = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            changed.push('\n');
        }
        changed.push_str(change(line));
    }
    changed
}

/// Replaces the tabs in `text` by spaces up to the next multiple of `width`, as expand(1) does.
pub(super) fn expanded(text: &str, width: usize) -> String {
    let mut spaces = String::with_capacity(text.len());
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\n' => column = 0,
            '\t' => {
                let gap = width - column % width.max(1);
                spaces.extend(std::iter::repeat_n(' ', gap));
                column += gap;
                continue;
            }
            _ => column += 1,
        }
        spaces.push(c);
    }
    spaces
}
