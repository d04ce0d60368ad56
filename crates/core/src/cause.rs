//! Why a text did not match, where that can be told for sure: undoing one known slip makes it match.
//!
//! What is similar without such a reason is found by [`crate::nearest`]. Where a text has moved to is seen by whoever
//! looks for it. Nothing here makes a match succeed: a cause goes into the error.

use std::borrow::Cow;
use std::collections::HashSet;

/// Why a wanted text is not the text that stands there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The new text stands there already.
    AlreadyThere,
    /// Every wanted line begins with a line number and a tab, as replies show them.
    Gutter,
    /// `\n` or `\t` (or `\"`, `\'`, `\\`) spelled out where the character itself was meant.
    SpelledOutEscapes,
    /// No-break spaces against spaces.
    NoBreakSpace,
    /// Typographic quotes against straight ones.
    TypographicQuotes,
    /// Tabs against spaces.
    TabsAgainstSpaces,
    /// Other blanks at the beginning of lines.
    Indentation,
    /// Capital letters against small ones.
    LetterCase,
    /// Other blanks at the end of lines; a failure only where the match must be exact.
    TrailingWhitespace,
    /// The wanted lines stand there, among others.
    RangeTooLong,
    /// All that stands there is wanted, and more lines beside it.
    RangeTooShort,
    /// A line such as `...` or `// ... existing code ...` stands for lines that were left out.
    Elided,
}

/// Why `wanted` is not `actual`, the whole lines that stand in a range or in a place that is similar; `replacement` is
/// what was to take its place.
///
/// Lines end in `\n`; a text that does not is read as if it did. A cause is told only if undoing exactly that makes the
/// two alike, blanks at line ends aside; where it takes several, the first of them is told, in the order of [`Cause`].
/// `None` also where the two are equal. Linear in the length of the texts.
#[must_use]
pub fn cause(wanted: &str, actual: &str, replacement: &str) -> Option<Cause> {
    tell(wanted, actual, replacement, Place::Whole)
}

/// As [`cause`], for a wanted text that may begin and end inside a line: it need only stand somewhere in `actual`.
#[must_use]
pub fn cause_inside(wanted: &str, actual: &str, replacement: &str) -> Option<Cause> {
    tell(wanted, actual, replacement, Place::Inside)
}

/// What of `wanted` alone is hardly meant as it stands: a gutter with consecutive numbers, an elision with lines around
/// it, or a text of one line that spells out its line ends.
///
/// Weaker than [`cause`], since nothing confirms it: for a text that is nowhere.
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

/// What the client may have meant by `wanted` where [`cause_without_place`] tells of a slip that can be undone.
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
    // What is part of the old text as well proves nothing: `f(a)` cut to `f` stands wherever there is an `f`.
    let is_there = || place.alike(&without_trailing_blanks(replacement), &without_trailing_blanks(actual));
    if !replacement.trim().is_empty() && is_there() && !wanted.contains(replacement) {
        return Some(Cause::AlreadyThere);
    }
    // Blanks at line ends are left out of every comparison: they matter by themselves or not at all.
    let [wanted, actual] = [wanted, actual].map(without_trailing_blanks);
    if place.alike(&wanted, &actual) {
        return Some(Cause::TrailingWhitespace);
    }
    undone(&wanted, &actual, place, false)
        .or_else(|| (place == Place::Whole).then(|| misjudged_range(&wanted, &actual)).flatten())
        .or_else(|| has_all_but_the_elided(&wanted, &actual).then_some(Cause::Elided))
        .or_else(|| undone(&wanted, &actual, place, true))
}

/// The slip whose undoing makes `wanted` and `actual` alike; with `several`, the first of those that together do.
fn undone(wanted: &str, actual: &str, place: Place, several: bool) -> Option<Cause> {
    // Undone in the wanted text alone, at most one of them: a gutter and a spelled-out tab do not go together.
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

/// What can be made alike on both sides. That of [`Cause::Indentation`] undoes tabs against spaces, too.
const FOLDS: [Cause; 5] = [
    Cause::NoBreakSpace,
    Cause::TypographicQuotes,
    Cause::TabsAgainstSpaces,
    Cause::Indentation,
    Cause::LetterCase,
];

/// The first of the folds that are needed to make the texts alike; `None` if all of them are not enough.
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
    // A tab is as wide as the editor of the day says.
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
        // Without tabs every width is alike.
        2.. if !wanted.contains('\t') && !actual.contains('\t') => false,
        _ => place.alike(&expanded(&wanted, width), &expanded(&actual, width)),
    })
}

/// Which of the two it is where blanks at the beginning of lines differ: tabs against spaces, if in every line that
/// differs one side indents with tabs and the other does not.
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

/// Whether `wanted` has elisions, and what it has between them stands in `actual` in that order, indentation aside.
fn has_all_but_the_elided(wanted: &str, actual: &str) -> bool {
    let actual = by_line(actual, |line| line.trim());
    let own: HashSet<&str> = actual.split('\n').filter(|line| is_elision(line).is_some()).collect();
    let whole = format!("\n{actual}\n");
    // Each part begins with its own line end and shares none: the search begins again at the last one found.
    let mut rest = whole.as_str();
    let mut part = String::new();
    let (mut elided, mut parts) = (false, 0);
    for line in wanted.split('\n').map(str::trim).map(Some).chain([None]) {
        match line {
            // Where the file has such a line itself, nothing is left out.
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

/// Whether a line elides others: `Some(true)` where it could hardly be anything else, that is with words or brackets
/// around it; `Some(false)` for bare dots, which some languages have as a statement.
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
            // Between two lines, and not the body of a Python stub.
            Some(false) => {
                let above = index.checked_sub(1).and_then(|above| lines.get(above));
                above.is_some_and(|above| !above.ends_with(':')) && index + 1 < lines.len()
            }
            None => false,
        })
}

/// The line's number in front of a tab, and what follows; a number alone, without its tab, is an empty line.
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
    // Bare numbers are numbers.
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

/// Whether a single line says `\n` where lines would end: not in quotes or before one, where programs have it, and not
/// among backslashes that mean something else (a path, a pattern).
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

/// `text` with `\n`, `\r\n` and `\t` as what they mean; with `all`, `\"`, `\'` and `\\`, too. Ends in no line end.
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
            // Not ours; and what an escaped backslash escapes is not, either.
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

/// A text without its last line end, so that its lines are what stands between line ends.
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

/// `text` with its tabs as the spaces up to the next multiple of `width`, as expand(1) does.
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

/// Whether `c` is a space at which no line may be broken (Unicode line breaking class GL).
pub(crate) fn is_no_break_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// The ASCII quote that a typographic one stands for (Unicode general categories Pi and Pf, low quotes, primes).
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
