//! Undoes typical errors of a copied text: differences in its lines, in cumulative steps ([`Normalized`]),
//! and lines around it that are not from the file ([`readings`]).

use std::borrow::Cow;
use std::cell::OnceCell;

use unicode_normalization::UnicodeNormalization;

use crate::elision::is_elision;
use crate::invisible::is_default_ignorable;
use crate::line::numbered;
use crate::matching::trim_blanks;
use crate::rejection::Normalization;

/// The maximum number of ways to cut lines off one text.
const MOST_READINGS: usize = 12;

/// The length in bytes above which a text is cut in at most one way.
const LONG: usize = 64 * 1024;

/// The maximum length in bytes of a wrapper line around a text; a longer line is text.
const LONGEST_WRAPPER: usize = 200;

/// The lines of a text, normalized to one step. From [`Normalization::Layout`] on they are joined, and line
/// breaks do not count.
pub(super) struct Normalized {
    /// The lines, each with a `\n` after it, and a `\n` before the first; or the joined lines, with nothing
    /// between.
    pub(super) text: String,
    /// The offsets in `text` at which each line begins and ends.
    pub(super) spans: Vec<(usize, usize)>,
}

impl Normalized {
    pub(super) fn new<'a>(lines: impl Iterator<Item = &'a str>, step: Normalization) -> Self {
        let is_joined = step >= Normalization::Layout;
        let mut text = String::from(if is_joined { "" } else { "\n" });
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for line in lines {
            let mut start = text.len();
            if is_joined {
                for c in compact(line, step).chars() {
                    // Formatters put a comma before a bracket that they move to a line of its own.
                    if matches!(c, ')' | ']' | '}') && text.ends_with(',') {
                        text.pop();
                        start = start.min(text.len());
                        for span in spans.iter_mut().rev().take_while(|span| span.1 > text.len()) {
                            *span = (span.0.min(text.len()), text.len());
                        }
                    }
                    text.push(c);
                }
                spans.push((start, text.len()));
            } else {
                text.push_str(&match step {
                    Normalization::Exact => Cow::Borrowed(line),
                    Normalization::TrailingBlanks => Cow::Borrowed(trim_blanks(line)),
                    _ => Cow::Owned(plain(line).trim_end().to_owned()),
                });
                spans.push((start, text.len()));
                text.push('\n');
            }
        }
        Self { text, spans }
    }

    /// Returns a line by its index.
    pub(super) fn line(&self, index: usize) -> Option<&str> {
        self.spans.get(index).and_then(|(start, end)| self.text.get(*start..*end))
    }
}

/// The normalized forms of one text, by step, each made when it is first needed.
#[derive(Default)]
pub(super) struct Steps([OnceCell<Normalized>; 5]);

impl Steps {
    /// Returns the text with these lines as it is after a step; `None` if the step does not apply to lines.
    pub(super) fn at<'a, L: Iterator<Item = &'a str>>(
        &self,
        step: Normalization,
        lines: impl FnOnce() -> L,
    ) -> Option<&Normalized> {
        Some(self.0.get(step as usize)?.get_or_init(|| Normalized::new(lines(), step)))
    }
}

/// Returns a line without everything that a formatter or a change of notation alters: blanks, the sign of a
/// comment, the kind of quotes, runs of hyphens and letter case; at [`Normalization::Escapes`] also
/// backslashes, with the blanks that they spell out, and HTML entities.
pub(crate) fn compact(line: &str, step: Normalization) -> String {
    const SIGNS: [&str; 11] = ["///", "//!", "//", "##", "#", "--", ";;", ";", "%", "*", ">"];
    let line = if step >= Normalization::Escapes { unescaped(line) } else { Cow::Borrowed(line) };
    let line = plain(&line);
    let line = line.trim();
    let body =
        SIGNS.iter().find_map(|sign| line.strip_prefix(sign).filter(|rest| rest.starts_with([' ', '\t'])));
    let mut out = String::with_capacity(line.len());
    for c in body.unwrap_or(line).chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase) {
        match c {
            '\'' => out.push('"'),
            '-' if out.ends_with('-') => {}
            other => out.push(other),
        }
    }
    out
}

/// Returns a line without invisible characters, and with look-alikes unified: composed to NFC (NFKC would
/// make some texts eighteen times as long), with plain spaces, quotes, hyphens and dots.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    if line.is_ascii() && !line.contains('\r') {
        return Cow::Borrowed(line);
    }
    let seen = line.nfc().filter(|c| !is_default_ignorable(*c));
    let plain: String = seen
        .map(|c| match c {
            '\t' => '\t',
            blank if blank.is_whitespace() => ' ',
            '‘' | '’' | '‚' | '‛' | '‹' | '›' | '′' => '\'',
            '“' | '”' | '„' | '‟' | '«' | '»' | '″' => '"',
            '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
            other => other,
        })
        .collect();
    Cow::Owned(plain.replace('…', "..."))
}

/// Returns a text with its escape sequences and HTML entities decoded, and without all other backslashes.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    /// Each entity's character, and its name.
    const ENTITIES: &str = "<lt >gt \"quot 'apos \u{a0}nbsp '#39 '#x27 '#X27 \"#34 \"#x22 <#60 >#62 &#38";
    if !text.contains(['\\', '&']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '&']) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        if let Some(mut after) = after.strip_prefix('&') {
            // `&amp;lt;` is `&lt;`, escaped once more.
            while let Some(inner) = after.strip_prefix("amp;") {
                after = inner;
            }
            let entity = ENTITIES.split(' ').find_map(|entity| {
                let (c, name) = entity.split_at(entity.ceil_char_boundary(1));
                Some((c, after.strip_prefix(name)?.strip_prefix(';')?))
            });
            let (c, behind) = entity.unwrap_or(("&", after));
            out.push_str(c);
            rest = behind;
            continue;
        }
        let after = after.trim_start_matches('\\');
        let (c, length) = match after.as_bytes() {
            [b'n', ..] => (Some('\n'), 1),
            [b't', ..] => (Some('\t'), 1),
            [b'r', ..] => (None, 1),
            [b'u', ..] => code_point(after).map_or((None, 0), |(c, length)| (Some(c), length)),
            _ => (None, 0),
        };
        out.extend(c);
        rest = after.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Parses `u2014` or `u{2014}` at the start of `text`. Returns the character and the number of bytes that
/// spell it.
fn code_point(text: &str) -> Option<(char, usize)> {
    let (digits, length) = match text.strip_prefix("u{") {
        Some(braced) => braced.split_once('}').map(|(digits, _)| (digits, digits.len() + 3))?,
        None => (text.get(1..5)?, 5),
    };
    let is_hex = digits.len() <= 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    char::from_u32(code).filter(|c| !c.is_control()).map(|c| (c, length))
}

/// One way to read a text: as it was sent, without lines at its ends, without line numbers, or with `\n`
/// decoded.
#[derive(Clone)]
pub(crate) struct Reading<'a> {
    pub(crate) lines: Vec<Cow<'a, str>>,
    /// The step that the reading undoes; `None` for the text as it was sent.
    pub(crate) step: Option<Normalization>,
    /// The lines that the reading leaves out above and below.
    pub(crate) cut: [Vec<&'a str>; 2],
}

/// Returns the ways to read a text, starting with those that leave out the fewest lines. If every line of a
/// reading has a line number, the reading without the numbers follows it.
pub(crate) fn readings(old: &str) -> Vec<Reading<'_>> {
    let old = old.strip_suffix('\n').unwrap_or(old);
    let all: Vec<&str> = old.split('\n').collect();
    let head = all.iter().take(MOST_READINGS).take_while(|line| is_wrapper(line)).count();
    let tail = all.iter().rev().take(MOST_READINGS);
    let tail = tail.take_while(|line| is_wrapper(line) && !is_file_name(line)).count();
    let cuts = (0..=head).flat_map(|above| (0..=tail).map(move |below| (above, below)));
    let mut cuts: Vec<(usize, usize)> = cuts.filter(|(above, below)| above + below < all.len()).collect();
    cuts.sort_by_key(|(above, below)| above + below);
    let mut out: Vec<Reading<'_>> = Vec::new();
    cuts.truncate(MOST_READINGS + 1);
    if old.len() > LONG && cuts.len() > 2 {
        // Each reading takes several copies of the text.
        cuts.drain(1..cuts.len() - 1);
    }
    for (above, below) in cuts {
        // Blank lines below a file name are left out with it.
        let is_named =
            above.checked_sub(1).and_then(|last| all.get(last)).is_some_and(|last| is_file_name(last));
        let Some(lines) = all.get(above..all.len() - below) else { continue };
        if lines.first().is_none_or(|first| is_named && first.trim().is_empty()) {
            continue;
        }
        let cut =
            [all.get(..above), all.get(all.len() - below..)].map(|cut| cut.unwrap_or_default().to_vec());
        let step = (above + below > 0).then_some(Normalization::Wrapper);
        let bare: Option<Vec<&str>> = lines.iter().map(|line| numbered(line).map(|line| line.text)).collect();
        let lines = lines.iter().map(|line| Cow::Borrowed(*line)).collect();
        out.push(Reading { lines, step, cut: cut.clone() });
        if let Some(bare) = bare.filter(|bare| bare.iter().any(|line| !line.is_empty())) {
            let lines = bare.into_iter().map(Cow::Borrowed).collect();
            out.push(Reading { lines, step: Some(Normalization::LineNumbers), cut });
        }
    }
    if all.len() == 1 && old.contains("\\n") {
        let text = unescaped(old);
        let lines = text.strip_suffix('\n').unwrap_or(&text).split('\n');
        let lines = lines.map(|line| Cow::Owned(line.to_owned())).collect();
        out.push(Reading { lines, step: Some(Normalization::Escapes), cut: Default::default() });
    }
    out
}

/// Whether a line at an end of a text may be a wrapper, not from the file: a blank line, a code fence, a mark
/// of a patch, a tag, a file name, or a line that stands for left-out lines.
pub(crate) fn is_wrapper(line: &str) -> bool {
    const MARKS: [&str; 12] =
        ["```", "~~~", "<<<<<", "=====", ">>>>>", "|||||", "@@", "*** ", "---", "+++ ", "+++++", "diff -"];
    let line = line.trim();
    let is_tag = || {
        let name = line.strip_prefix('<').and_then(|name| name.strip_suffix('>'));
        name.is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || "_/".contains(c)))
    };
    line.is_empty()
        || line.len() <= LONGEST_WRAPPER
            && (MARKS.iter().any(|mark| line.starts_with(mark))
                || is_tag()
                || is_file_name(line)
                || is_elision(line).is_some())
}

/// Whether a line is a file name with an extension, possibly after one other word, and possibly with
/// punctuation around either.
pub(super) fn is_file_name(line: &str) -> bool {
    let is_sign = |c: char| "`*\"'[]():".contains(c);
    let mut words =
        line.split_whitespace().map(|word| word.trim_matches(is_sign)).filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let name = second.unwrap_or(first);
    words.next().is_none()
        && name.chars().all(|c| c.is_alphanumeric() || "_-./\\@+~".contains(c))
        && name.rsplit_once('.').is_some_and(|(stem, extension)| {
            stem.ends_with(char::is_alphanumeric)
                && extension.len() <= 8
                && extension.starts_with(|c: char| c.is_ascii_alphabetic())
                && extension.chars().all(|c| c.is_ascii_alphanumeric())
        })
}

/// Whether a line of the text has enough letters and digits (five) to tell its place: `}` or `else` can stand
/// anywhere.
pub(crate) fn tells_place<'a>(lines: impl IntoIterator<Item = &'a str>) -> bool {
    lines.into_iter().any(|line| line.chars().filter(|c| c.is_alphanumeric()).nth(4).is_some())
}
