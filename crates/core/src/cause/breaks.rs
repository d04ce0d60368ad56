//! Text as it is where lines may be broken anywhere.

use super::fold::collapsed;

/// Signs of comments and quotations that are repeated on each line of a text that goes over several.
const SIGNS: [&str; 11] = ["///", "//!", "//", "##", "#", "--", ";;", ";", "%", "*", ">"];

/// The byte around a sign where another one begins.
const TURN: u8 = 0;

/// A line, ready to be joined with others.
#[derive(Debug, Default)]
pub(crate) struct Unbroken {
    /// All of it but for blanks, with every slip undone.
    whole: String,
    /// The sign that it begins with, if any, and the rest.
    sign: &'static str,
    body: Option<String>,
}

impl Unbroken {
    /// Makes it of a line and of what [`collapsed`] made of that.
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

    /// Returns the sign, and the rest, of the line as it is joined: with the sign as a part of the rest, or
    /// apart.
    fn parts(&self, is_apart: bool) -> (&'static str, &str) {
        match &self.body {
            Some(body) if is_apart => (self.sign, body),
            _ => ("", &self.whole),
        }
    }

    /// Tells whether it begins with a sign.
    pub(crate) fn has_sign(&self) -> bool {
        self.body.is_some()
    }
}

/// Tells whether a line has the sign of a comment and nothing else.
pub(crate) fn is_sign_alone(line: &str) -> bool {
    SIGNS.contains(&line.trim())
}

/// Joins lines: no line end is left, no sign that the line before has as well, and a comma before every
/// closing bracket, as formatters set one where they break lines.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    is_apart: bool,
    sign: &'static str,
    last: Option<u8>,
}

impl Joiner {
    /// Makes one that leaves signs in the text, or keeps them apart.
    pub(crate) fn new(is_apart: bool) -> Self {
        Self { is_apart, ..Self::default() }
    }

    /// Adds a line: hands out its bytes, after those that join it to the line before, which begin with a call
    /// of `begin`. Returns its sign; `None` for a line without text.
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
    /// A line begins.
    Begin,
    Byte(u8),
}

/// Returns a text without its line breaks, and the sign that it begins with.
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

/// Tells whether two texts differ by where their lines are broken, once all other slips are undone. Lines
/// without text at their ends count.
pub(super) fn differ_by_breaks(wanted: &str, actual: &str) -> bool {
    let blank = |line: &&str| line.trim().is_empty() || is_sign_alone(line);
    let ends = |text: &str| {
        [text.split('\n').take_while(blank).count(), text.rsplit('\n').take_while(blank).count()]
    };
    let lines = |text: &str| -> Vec<Unbroken> {
        text.split('\n').map(|line| Unbroken::new(line, &collapsed(line))).collect()
    };
    // Nothing that is undone makes a text much shorter.
    if wanted.len() > 8 * actual.len() + 64 || ends(wanted) != ends(actual) {
        return false;
    }
    let (wanted, actual) = (lines(wanted), lines(actual));
    [false, true].into_iter().any(|is_apart| {
        let wanted = joined(&wanted, is_apart);
        !wanted.1.is_empty() && wanted == joined(&actual, is_apart)
    })
}
