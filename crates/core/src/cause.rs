//! Finds out why a text did not match, where that can be told for sure: undoing one known slip makes it match.
//!
//! [`crate::nearest`] finds text that is similar without such a reason, and [`crate::matching`] text that has moved. A cause goes
//! into an error; it never makes a match succeed.

use std::borrow::Cow;
use std::collections::HashSet;

/// Why a wanted text is not the text that stands there.
///
/// Exhaustive, as [`Rejection`](crate::rejection::Rejection) is and for the same reason: each needs words. A new one is a breaking
/// change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The new text stands there already.
    AlreadyThere,
    /// Every wanted line begins with a line number and a tab (or `→`), as programs show lines.
    Gutter,
    /// The wanted text spells out `\n` or `\t` (or `\"`, `\'`, `\\`) where the character itself was meant.
    SpelledOutEscapes,
    /// One side has no-break spaces where the other has spaces.
    NoBreakSpace,
    /// One side has typographic quotes where the other has straight ones.
    TypographicQuotes,
    /// One side has tabs where the other has spaces.
    TabsAgainstSpaces,
    /// The blanks at the beginning of lines differ.
    Indentation,
    /// Upper and lower case differ.
    LetterCase,
    /// The blanks at the end of lines differ; a failure only where the match must be exact.
    TrailingWhitespace,
    /// The wanted lines stand there, among others.
    RangeTooLong,
    /// All lines that stand there are wanted, with more beside them.
    RangeTooShort,
    /// A wanted line such as `...` or `// ... existing code ...` stands for lines that were left out.
    Elided,
}

/// Finds out why `wanted` is not `actual`, the whole lines that stand in a range or in a place that is similar; `replacement` is
/// the text that was to take its place.
///
/// Lines end in `\n`; a text without a final one is read as if it had one. Returns a cause only if undoing exactly that makes the
/// two alike, blanks at line ends aside; where it takes several, the first of them in the order of [`Cause`]. `None` where that is
/// not so, the two are equal, or `wanted` is blank. Takes time linear in the length of the texts.
#[must_use]
pub fn cause(wanted: &str, actual: &str, replacement: &str) -> Option<Cause> {
    tell(wanted, actual, replacement, Place::Whole)
}

/// Does what [`cause`](fn@cause) does for a wanted text that may begin and end inside a line: it need only stand somewhere in
/// `actual`.
#[must_use]
pub fn cause_inside(wanted: &str, actual: &str, replacement: &str) -> Option<Cause> {
    tell(wanted, actual, replacement, Place::Inside)
}

/// Finds a slip in `wanted` alone, for a text that stands nowhere: line numbers in front that count up, a line that stands for others
/// that were left out, with lines around it, or a single line that spells out its line ends.
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

/// Returns the text that may have been meant by `wanted`, if [`cause_without_place`] finds a slip in it that can be undone.
pub(crate) fn meant(wanted: &str) -> Option<String> {
    let wanted = body(wanted);
    match cause_without_place(wanted)? {
        Cause::Gutter => without_gutter(wanted),
        Cause::SpelledOutEscapes => Some(unescaped(wanted, false)),
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

fn tell(wanted: &str, actual: &str, replacement: &str, place: Place) -> Option<Cause> {
    let (wanted, actual, replacement) = (body(wanted), body(actual), body(replacement));
    if place.alike(wanted, actual) || wanted.trim().is_empty() {
        return None;
    }
    // A new text that is part of the old one proves nothing: `f(a)` cut to `f` stands wherever there is an `f`.
    let is_there = || place.alike(&without_trailing_blanks(replacement), &without_trailing_blanks(actual));
    if !replacement.trim().is_empty() && is_there() && !wanted.contains(replacement) {
        return Some(Cause::AlreadyThere);
    }
    // From here on blanks at line ends are ignored: that they differ is a cause by itself, or does not matter.
    let [wanted, actual] = [wanted, actual].map(without_trailing_blanks);
    if place.alike(&wanted, &actual) {
        return Some(Cause::TrailingWhitespace);
    }
    undone(&wanted, &actual, place, false)
        .or_else(|| (place == Place::Whole).then(|| misjudged_range(&wanted, &actual)).flatten())
        .or_else(|| has_all_but_the_elided(&wanted, &actual).then_some(Cause::Elided))
        .or_else(|| undone(&wanted, &actual, place, true))
}

/// Returns the slip whose undoing makes `wanted` and `actual` alike; with `several`, the first of those that together do.
fn undone(wanted: &str, actual: &str, place: Place, several: bool) -> Option<Cause> {
    // Slips that are undone in the wanted text alone, at most one of them: line numbers with tabs and spelled-out tabs do not go
    // together.
    let readings = [
        (None, Some(wanted.to_owned())),
        (Some(Cause::Gutter), without_gutter(wanted)),
        (Some(Cause::SpelledOutEscapes), without_escapes(wanted, false)),
        (Some(Cause::SpelledOutEscapes), without_escapes(wanted, true)),
    ];
    for (slip, reading) in readings {
        let Some(reading) = reading else { continue };
        let reading = without_trailing_blanks(&reading);
        if slip.is_some() && place.alike(&reading, actual) {
            return slip;
        }
        let found = match (slip, several) {
            (None, false) => FOLDS.into_iter().find(|fold| alike_after(&[*fold], &reading, actual, place)),
            (Some(_), false) => None,
            (slip, true) => needed_folds(&reading, actual, place).map(|first| slip.unwrap_or(first)),
        };
        if let Some(fold) = found {
            return Some(tabs_or_indentation(fold, &reading, actual, place));
        }
    }
    None
}

/// The slips that are undone on both sides. Undoing [`Cause::Indentation`] undoes tabs against spaces in it, too.
const FOLDS: [Cause; 5] = [
    Cause::NoBreakSpace,
    Cause::TypographicQuotes,
    Cause::TabsAgainstSpaces,
    Cause::Indentation,
    Cause::LetterCase,
];

/// Returns the first of the folds that are needed to make the texts alike; `None` if all of them are not enough.
fn needed_folds(wanted: &str, actual: &str, place: Place) -> Option<Cause> {
    let mut folds = FOLDS.to_vec();
    if !alike_after(&folds, wanted, actual, place) {
        return None;
    }
    for fold in FOLDS.iter().rev() {
        let rest: Vec<_> = folds.iter().copied().filter(|other| other != fold).collect();
        if alike_after(&rest, wanted, actual, place) {
            folds = rest;
        }
    }
    folds.first().copied()
}

fn alike_after(folds: &[Cause], wanted: &str, actual: &str, place: Place) -> bool {
    // Editors show tabs in different widths, so all usual ones are tried.
    let widths = if folds.contains(&Cause::TabsAgainstSpaces) { 1..=8 } else { 0..=0 };
    let [wanted, actual] = [wanted, actual].map(|text| {
        folds.iter().fold(Cow::Borrowed(text), |text, fold| match fold {
            Cause::NoBreakSpace => text.replace(is_no_break_space, " ").into(),
            Cause::TypographicQuotes => text.chars().map(straight).collect(),
            Cause::Indentation => by_line(&text, |line| line.trim_start_matches(is_blank)).into(),
            Cause::LetterCase => text.to_lowercase().into(),
            _ => text,
        })
    });
    widths.into_iter().any(|width| match width {
        0 => place.alike(&wanted, &actual),
        // Without tabs the width makes no difference.
        2.. if !wanted.contains('\t') && !actual.contains('\t') => false,
        _ => place.alike(&expanded(&wanted, width), &expanded(&actual, width)),
    })
}

/// Decides between two causes if blanks at the beginning of lines differ: returns tabs against spaces if in every line that differs
/// one side indents with tabs and the other without; else `fold`.
fn tabs_or_indentation(fold: Cause, wanted: &str, actual: &str, place: Place) -> Cause {
    let indent = |line: &str| line.chars().take_while(|c| is_blank(*c)).collect::<String>();
    let mut differing = wanted
        .split('\n')
        .zip(actual.split('\n'))
        .map(|(wanted, actual)| (indent(wanted), indent(actual)))
        .filter(|(wanted, actual)| wanted != actual)
        .peekable();
    let at_odds =
        |(a, b): (String, String)| a.contains('\t') != b.contains('\t') && !a.is_empty() && !b.is_empty();
    if fold == Cause::Indentation
        && place == Place::Whole
        && differing.peek().is_some()
        && differing.all(at_odds)
    {
        return Cause::TabsAgainstSpaces;
    }
    fold
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

/// Tells whether `wanted` has elisions, and the lines between them stand in `actual` in that order, indentation aside.
fn has_all_but_the_elided(wanted: &str, actual: &str) -> bool {
    let actual = by_line(actual, |line| line.trim());
    let own: HashSet<&str> = actual.split('\n').filter(|line| is_elision(line).is_some()).collect();
    let whole = format!("\n{actual}\n");
    // Each part is searched for with the line ends before and after it; the last one found is the first of the next part.
    let mut rest = whole.as_str();
    let mut part = String::new();
    let (mut elided, mut parts) = (false, 0);
    for line in wanted.split('\n').map(str::trim).map(Some).chain([None]) {
        match line {
            // If the file has such a line itself, it stands for no others.
            Some(line) if is_elision(line).is_some() && !own.contains(line) => elided = true,
            Some(line) => {
                part.push('\n');
                part.push_str(line);
                continue;
            }
            None => {}
        }
        if !part.trim().is_empty() {
            part.push('\n');
            let Some(at) = rest.find(&part) else { return false };
            rest = rest.get(at + part.len() - 1..).unwrap_or_default();
            parts += 1;
        }
        part.clear();
    }
    elided && parts > 0
}

/// Tells whether a line elides others: `Some(true)` if it could hardly be anything else, having words or brackets around the dots;
/// `Some(false)` for bare dots, which are a statement in some languages; `None` if it does not.
fn is_elision(line: &str) -> Option<bool> {
    const OPENERS: [&str; 9] = ["{/*", "<!--", "//", "/*", "--", "#", ";", "%", "*"];
    const CLOSERS: [&str; 3] = ["*/}", "-->", "*/"];
    const LONGEST: usize = 80;
    let line = line.trim();
    if line.len() > LONGEST {
        return None;
    }
    let mut core = line;
    if let Some(rest) = OPENERS.iter().find_map(|opener| line.strip_prefix(opener)) {
        core = rest.trim_start_matches(['/', '#', ';', '%', '*']).trim();
        core = CLOSERS.iter().find_map(|closer| core.strip_suffix(closer)).unwrap_or(core).trim();
    }
    for (open, close) in [('[', ']'), ('(', ')'), ('<', '>'), ('{', '}')] {
        core = core.strip_prefix(open).and_then(|core| core.strip_suffix(close)).unwrap_or(core).trim();
    }
    let words = core.strip_prefix("...").or_else(|| core.strip_prefix('…'))?;
    match words.trim_matches(['.', '…', ' ']) {
        "" => Some(core != line),
        // `...args` is a piece of a program; `// ... the rest` and `... the rest ...` are not.
        _ if core != line || words.ends_with("...") || words.ends_with('…') => Some(true),
        _ => None,
    }
}

fn is_surely_elided(wanted: &str) -> bool {
    let lines: Vec<_> = wanted.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.len() > 1
        && lines.iter().enumerate().any(|(index, line)| match is_elision(line) {
            Some(true) => true,
            // Counts between two lines, unless it is the body of a Python stub.
            Some(false) => {
                let above = index.checked_sub(1).and_then(|above| lines.get(above));
                above.is_some_and(|above| !above.ends_with(':')) && index + 1 < lines.len()
            }
            None => false,
        })
}

/// Splits a line into the number in front of a tab and the text after it; a number without a tab is the gutter of an empty line.
fn gutter(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(' ');
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = line.split_at_checked(digits).filter(|(number, _)| !number.is_empty())?;
    match rest.strip_prefix(['\t', '→']) {
        Some(text) => Some((number, text)),
        None => rest.is_empty().then_some((number, rest)),
    }
}

fn without_gutter(text: &str) -> Option<String> {
    let lines: Option<Vec<_>> = text.split('\n').map(|line| gutter(line).map(|(_, text)| text)).collect();
    // Lines of numbers alone have no gutter: the numbers are their text.
    lines.filter(|lines| lines.iter().any(|line| !line.is_empty())).map(|lines| lines.join("\n"))
}

fn counts_up(text: &str) -> bool {
    let mut next = None;
    text.split('\n').all(|line| {
        let number = gutter(line).and_then(|(number, _)| number.parse::<u64>().ok());
        let fits = number.is_some() && (next.is_none() || next == number);
        next = number.and_then(|number| number.checked_add(1));
        fits
    })
}

/// Tells whether a text of one line spells out `\n` where lines would end: outside of quotes, where programs have it, with other text
/// behind it, and not among backslashes that mean something else (a path, a pattern).
fn spells_line_ends(text: &str) -> bool {
    let escaped = |part: &str| part.starts_with(['n', 't', 'r', '"', '\'']);
    if text.contains('\n') || !text.split('\\').skip(1).all(escaped) {
        return false;
    }
    let mut quoted = [false; 3];
    let mut parts = text.split("\\n").peekable();
    while let Some(part) = parts.next() {
        for (open, quote) in quoted.iter_mut().zip(['"', '\'', '`']) {
            *open ^= part.matches(quote).count() % 2 == 1;
        }
        let ends_a_line = parts.peek().is_some_and(|next| !next.trim_start().is_empty());
        if ends_a_line && quoted == [false; 3] {
            return true;
        }
    }
    false
}

fn without_escapes(text: &str, all: bool) -> Option<String> {
    text.contains('\\').then(|| unescaped(text, all)).filter(|undone| undone != text)
}

/// Returns `text` with the characters that `\n`, `\r\n` and `\t` mean; with `all`, those of `\"`, `\'` and `\\`, too. Without its
/// last line end.
fn unescaped(text: &str, all: bool) -> String {
    let mut undone = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        undone.push_str(before);
        let (meant, length) = match after.as_bytes() {
            [b'n', ..] => ("\n", 1),
            [b'r', b'\\', b'n', ..] => ("\n", 3),
            [b't', ..] => ("\t", 1),
            [b'"', ..] if all => ("\"", 1),
            [b'\'', ..] if all => ("'", 1),
            [b'\\', ..] if all => ("\\", 1),
            // An escaped backslash stays as it is, and so does what follows it.
            [b'\\', ..] => ("\\\\", 1),
            _ => ("\\", 0),
        };
        undone.push_str(meant);
        rest = after.get(length..).unwrap_or_default();
    }
    undone.push_str(rest);
    if undone.ends_with('\n') {
        undone.pop();
    }
    undone
}

/// Returns a text without its last line end, so that splitting it at line ends gives its lines.
fn body(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

fn without_trailing_blanks(text: &str) -> String {
    by_line(text, |line| line.trim_end_matches(is_blank))
}

fn by_line(text: &str, change: impl Fn(&str) -> &str) -> String {
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
fn expanded(text: &str, width: usize) -> String {
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

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// Tells whether `c` is a space at which no line may be broken (Unicode line breaking class GL).
pub(crate) fn is_no_break_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// Returns the ASCII quote that a typographic one stands for (Unicode general categories Pi and Pf, low quotes, primes).
pub(crate) fn straight(c: char) -> char {
    match c {
        '‘' | '’' | '‚' | '‛' | '‹' | '›' | '′' => '\'',
        '“' | '”' | '„' | '‟' | '«' | '»' | '″' => '"',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(wanted: &str, actual: &str, expected: impl Into<Option<Cause>>) {
        assert_eq!(cause(wanted, actual, "new\n"), expected.into(), "{wanted:?} against {actual:?}");
    }

    #[test]
    fn one_slip() {
        check("a\n", "a\n", None);
        check("a", "a\n", None);
        check("a\nb\n", "a\nc\n", None);
        check("    a {\n        b", "\ta {\n\t\tb\n", Cause::TabsAgainstSpaces);
        check("a    = 1", "a\t= 1", Cause::TabsAgainstSpaces);
        check("a\n  b\n", "    a\n      b\n", Cause::Indentation);
        check("if a:\n  b", "if a:\n    b\n", Cause::Indentation);
        check("\t\ta\n\t\t\tb", "        a\n                b", Cause::TabsAgainstSpaces);
        check("say “hi”, it’s", "say \"hi\", it's\n", Cause::TypographicQuotes);
        check("say \"hi\"", "say „hi“\n", Cause::TypographicQuotes);
        check("10 km", "10\u{a0}km", Cause::NoBreakSpace);
        check("a\\n\\tb", "a\n\tb\n", Cause::SpelledOutEscapes);
        check("say(\\\"a\\\\n\\\");\\n", "say(\"a\\n\");\n", Cause::SpelledOutEscapes);
        check("Hello", "hello\n", Cause::LetterCase);
        check("a  \nb", "a\nb \n", Cause::TrailingWhitespace);
        check(" 9\ta\n10\t\tb\n11\n", "a\n\tb\n\n", Cause::Gutter);
        check("1→a", "a", Cause::Gutter);
        check("", "a", None);
    }

    #[test]
    fn several_slips_name_the_first() {
        check("‘a’\n    b", "'a'\n\tb\n", Cause::TypographicQuotes);
        check("1\t“a”", "\"a\"", Cause::Gutter);
        check("  Ab\n    c", "\tab\n\t\tc\n", Cause::TabsAgainstSpaces);
        check("‘a’\n    b", "'a'\n\tc\n", None);
    }

    #[test]
    fn a_range_that_holds_too_much_or_too_little() {
        check("b\nc\n", "a\nb\nc\nd\n", Cause::RangeTooLong);
        check("b\nc\n", "ab\nc\n", None);
        check("a\nb\nc\n", "b\n", Cause::RangeTooShort);
        check("a\n\nc\n", "\n", None);
    }

    #[test]
    fn the_new_text_is_there() {
        assert_eq!(cause("old", "new\n", "new"), Some(Cause::AlreadyThere));
        assert_eq!(cause("old", "\n", ""), None);
        assert_eq!(cause("  a", "a\n", "a"), Some(Cause::Indentation));
        assert_eq!(cause_inside("f(old)", "x = f(new);\n", "f(new)"), Some(Cause::AlreadyThere));
        assert_eq!(cause_inside("f(old)", "x = f(other);\n", "f"), None);
    }

    #[test]
    fn lines_left_out() {
        let actual = "fn a() {\n    b();\n    c();\n    d();\n}\n";
        for dots in [
            "...",
            "…",
            "// ...",
            "    // ... existing code ...",
            "/* … */",
            "# ... rest",
            "[...]",
            "... snip ...",
        ] {
            check(&format!("fn a() {{\n{dots}\n    d();\n}}\n"), actual, Cause::Elided);
            check(&format!("fn a() {{\n{dots}\n    x();\n}}\n"), actual, None);
        }
        check("fn a() {\n...args\n}\n", actual, None);
        check("def a():\n    ...\nb", "def a():\n    ...\nc", None);
        check("d();\n...\nfn a() {\n", actual, None);
    }

    #[test]
    fn inside_a_line() {
        assert_eq!(cause_inside("‘a’", "x = 'a';\n", ""), Some(Cause::TypographicQuotes));
        assert_eq!(cause_inside("a {\n    b", "x = a {\n\tb }\n", ""), Some(Cause::TabsAgainstSpaces));
        assert_eq!(cause_inside("a {\n    b", "x = a {\n  b }\n", ""), Some(Cause::Indentation));
        assert_eq!(cause_inside("a\\n", "x = a\n\n", ""), Some(Cause::SpelledOutEscapes));
        assert_eq!(cause_inside("a", "x = a\n", ""), None);
        assert_eq!(cause_inside("b", "x = a\n", ""), None);
    }

    #[test]
    fn without_a_place() {
        for (wanted, expected) in [
            ("12\tfoo\n13\n14\tbar\n", Some(Cause::Gutter)),
            ("12\tfoo\n14\tbar\n", None),
            ("12\n13\n", None),
            ("a\n// ... existing code ...\nb\n", Some(Cause::Elided)),
            ("a\n...\nb", Some(Cause::Elided)),
            ("def a():\n    ...\n\nb", None),
            ("...", None),
            ("a {\\n    b\\n}", Some(Cause::SpelledOutEscapes)),
            ("print(\"a\\n\")", None),
            ("print(\"a\\nb\")", None),
            ("print(\\\"a\\\")\\nb", Some(Cause::SpelledOutEscapes)),
            ("C:\\new\\folder", None),
            ("a\n", None),
            ("", None),
        ] {
            assert_eq!(cause_without_place(wanted), expected, "{wanted:?}");
        }
    }

    proptest! {
        #[test]
        fn equal_texts_have_no_cause(text in "[ a\tB\n'‘1.]{0,20}", new in "[a1\n]{0,3}") {
            prop_assert_eq!(cause(&text, &text, &new), None);
            prop_assert_eq!(cause_inside(&text, &text, &new), None);
        }

        #[test]
        fn anything_is_answered(wanted in "[ a\tB\n'‘1.\\\\n/#…é\u{a0}]{0,20}", actual in ".{0,20}") {
            _ = (cause(&wanted, &actual, ""), cause_inside(&wanted, &actual, ""), cause_without_place(&wanted));
            _ = meant(&wanted);
        }

        #[test]
        fn a_gutter_is_always_seen(lines in prop::collection::vec("[a-c \t]{0,4}[a-c]", 1..6), from in 1..200_u64) {
            let mut numbered = String::new();
            for (number, line) in (from..).zip(&lines) {
                numbered.extend([number.to_string().as_str(), "\t", line, "\n"]);
            }
            prop_assert_eq!(cause(&numbered, &lines.join("\n"), ""), Some(Cause::Gutter));
            prop_assert_eq!(meant(&numbered), Some(lines.join("\n")));
        }
    }
}
