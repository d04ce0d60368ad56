//! Compares texts whose lines are broken in different places: joins lines, and drops what line breaks change.

use super::fold::collapsed;

/// The signs that a comment or quotation of several lines repeats on each of them.
const SIGNS: [&str; 11] = ["///", "//!", "//", "##", "#", "--", ";;", ";", "%", "*", ">"];

/// The byte that stands before and after a sign, in a joined text, where a line's sign is not that of the
/// line before.
const TURN: u8 = 0;

/// A line, ready to be joined with others.
#[derive(Debug, Default)]
pub(crate) struct Unbroken {
    /// The whole line without blanks, with every slip undone.
    whole: String,
    /// The sign that the line begins with, if any, and in `body` the rest.
    sign: &'static str,
    body: Option<String>,
}

impl Unbroken {
    /// Makes it from a line and that line as [`collapsed`] returns it.
    pub(crate) fn new(line: &str, whole: &str) -> Self {
        let trimmed = line.trim_start();
        let sign = SIGNS.into_iter().find_map(|sign| {
            let rest = trimmed.strip_prefix(sign)?;
            (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some((sign, rest))
        });
        let joined = |text: &str| text.replace('\n', "");
        Self {
            whole: joined(whole),
            sign: sign.map_or("", |(sign, _)| sign),
            body: sign.map(|(_, rest)| joined(&collapsed(rest))),
        }
    }

    /// Returns the line's sign and its other text, if it has a sign and signs are kept apart; else no sign,
    /// and the whole text.
    fn parts(&self, is_apart: bool) -> (&'static str, &str) {
        match &self.body {
            Some(body) if is_apart => (self.sign, body),
            _ => ("", &self.whole),
        }
    }

    /// Tells whether the line begins with a sign.
    pub(crate) fn has_sign(&self) -> bool {
        self.body.is_some()
    }
}

/// Tells whether a line has the sign of a comment and nothing else.
pub(crate) fn is_sign_alone(line: &str) -> bool {
    SIGNS.contains(&line.trim())
}

/// Joins lines. It drops line ends, and signs that the line before has as well. It sets a comma before every
/// closing bracket, as formatters do where they break lines.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    is_apart: bool,
    sign: &'static str,
    last: Option<u8>,
}

impl Joiner {
    /// Makes a joiner that keeps signs apart from the text, or leaves them in it.
    pub(crate) fn new(is_apart: bool) -> Self {
        Self { is_apart, ..Self::default() }
    }

    /// Adds a line: hands `each` the bytes that join it to the line before, then [`JoinStep::Begin`], then
    /// the bytes of the line. Returns its sign; `None` for a line without text.
    pub(crate) fn add(&mut self, line: &Unbroken, mut each: impl FnMut(JoinStep)) -> Option<&'static str> {
        let (sign, body) = line.parts(self.is_apart);
        let first = *body.as_bytes().first()?;
        if self.last.is_some() {
            if sign != self.sign {
                [TURN]
                    .iter()
                    .chain(sign.as_bytes())
                    .chain(&[TURN])
                    .for_each(|byte| each(JoinStep::Byte(*byte)));
            }
            self.comma(first, &mut each);
        }
        self.sign = sign;
        each(JoinStep::Begin);
        for (index, byte) in body.bytes().enumerate() {
            if index > 0 {
                self.comma(byte, &mut each);
            }
            each(JoinStep::Byte(byte));
            self.last = Some(byte);
        }
        Some(sign)
    }

    fn comma(&self, before: u8, each: &mut impl FnMut(JoinStep)) {
        let is_closing = matches!(before, b')' | b']' | b'}');
        if is_closing && !matches!(self.last, None | Some(b',' | b'(' | b'[' | b'{')) {
            each(JoinStep::Byte(b','));
        }
    }
}

/// The next step of a joined text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JoinStep {
    /// The bytes of a line begin.
    Begin,
    Byte(u8),
}

/// Returns the sign that a text begins with, if signs are kept apart, and the text without its line breaks.
pub(crate) fn joined<'a>(
    lines: impl IntoIterator<Item = &'a Unbroken>,
    is_apart: bool,
) -> (&'static str, Vec<u8>) {
    let mut joiner = Joiner::new(is_apart);
    let mut text = Vec::new();
    let mut first = None;
    for line in lines {
        let begun = text.is_empty();
        let sign = joiner.add(line, |step| match step {
            JoinStep::Byte(byte) => text.push(byte),
            JoinStep::Begin => {}
        });
        first = first.or(sign.filter(|_| begun));
    }
    (first.unwrap_or_default(), text)
}

/// Tells whether two texts differ only in where their lines are broken, once all other slips are undone. Both
/// must have as many lines without text at either end.
pub(super) fn differ_by_breaks(wanted: &str, actual: &str) -> bool {
    let blank = |line: &&str| line.trim().is_empty() || is_sign_alone(line);
    let ends = |text: &str| {
        [text.split('\n').take_while(blank).count(), text.rsplit('\n').take_while(blank).count()]
    };
    let lines = |text: &str| -> Vec<Unbroken> {
        text.split('\n').map(|line| Unbroken::new(line, &collapsed(line))).collect()
    };
    // Undoing slips makes no text that much shorter.
    if wanted.len() > 8 * actual.len() + 64 || ends(wanted) != ends(actual) {
        return false;
    }
    let (wanted, actual) = (lines(wanted), lines(actual));
    [false, true].into_iter().any(|is_apart| {
        let wanted = joined(&wanted, is_apart);
        !wanted.1.is_empty() && wanted == joined(&actual, is_apart)
    })
}
