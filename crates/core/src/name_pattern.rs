//! One pattern of paths, compared as the most careless of file systems would: [`NamePattern`], and the paths that it is held against,
//! [`FoldedPath`]. What follows from a match, and where a pattern begins, is up to the caller.
//!
//! The pattern becomes a program of a few instructions, and all ways through it are followed side by side (Thompson, *Regular
//! expression search algorithm*, 1968): so the time is the length of the path times that of the pattern, whatever both hold.

use unicode_normalization::UnicodeNormalization as _;

use crate::file_names::{fold_case, without_what_windows_drops};
use crate::invisible::is_default_ignorable;

/// How deep braces may be nested.
const DEPTH: usize = 32;

/// A path whose names are folded: made once, compared with many patterns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoldedPath {
    /// In one letter case and composition, without invisible characters.
    whole: Vec<char>,
    /// Also without what Windows drops from the end of a name; empty where that is the same.
    shortened: Vec<char>,
}

impl FoldedPath {
    /// Folds a path, whose separator is `/`.
    #[must_use]
    pub fn new(path: &str) -> Self {
        let folded = fold_case(path);
        // The colon of a drive is no stream's.
        let is_drive = |name: &str| name.len() == 2 && name.ends_with(':') && folded.starts_with(name);
        let shorten = |name| if is_drive(name) { name } else { without_what_windows_drops(name) };
        let names: Vec<&str> = folded.split('/').map(shorten).collect();
        let shortened = names.join("/");
        let shortened = if shortened == folded { String::new() } else { shortened };
        Self { whole: folded.chars().collect(), shortened: shortened.chars().collect() }
    }
}

/// A pattern that matches whole paths: `*` and `?` stay within a name, `**` as a whole name does not; `[a-z]`, `[!a-z]` and `{a,b}`
/// choose, and `\` takes the next character as it is. What it names is meant with all that is below it.
///
/// Names are compared without letter case, composition and invisible characters, each with and without the end that Windows drops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamePattern {
    program: Vec<Step>,
}

/// What is wrong with a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadNamePattern {
    /// A `[` has no `]`.
    #[error("unclosed character class; missing ']'")]
    OpenClass,
    /// In a class a range ends before it begins.
    #[error("invalid range; '{0}' > '{1}'")]
    Range(char, char),
    /// A `{` has no `}`.
    #[error("unclosed alternate group; missing '}}' (maybe escape '{{' with '[{{]'?)")]
    OpenGroup,
    /// A `}` has no `{`.
    #[error("unopened alternate group; missing '{{' (maybe escape '}}' with '[}}]'?)")]
    NoGroup,
    /// Braces are nested more than 32 deep.
    #[error("alternate groups are nested too deeply")]
    TooDeep,
    /// Nothing follows the last `\`.
    #[error("dangling '\\'")]
    Dangling,
}

/// An instruction; a number is that of another one.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    /// This character.
    One(char),
    /// Any character; only within a name if `in_name`.
    Any { in_name: bool },
    /// A character of these ranges, or, if negated, of none of them; never `/`.
    Class { ranges: Vec<(char, char)>, negated: bool },
    /// On with both.
    Both(usize, usize),
    /// On with that one.
    Goto(usize),
    /// The pattern is at its end.
    End,
}

/// The parts of a pattern, as it is read.
#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Any,
    /// `*`.
    Star,
    /// `**` as a whole name: `/` follows if it `goes_on`, which it has taken along.
    Names {
        goes_on: bool,
    },
    Class {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
    Group(Vec<Vec<Part>>),
}

impl NamePattern {
    /// Reads a pattern.
    pub fn new(pattern: &str) -> Result<Self, BadNamePattern> {
        let text: Vec<char> = pattern.nfc().filter(|character| !is_default_ignorable(*character)).collect();
        let mut reader = Reader { text: &text, at: 0 };
        let parts = reader.parts(true, 0)?;
        if reader.at < text.len() {
            return Err(BadNamePattern::NoGroup);
        }
        let mut pattern = Self { program: Vec::new() };
        pattern.compile(&parts);
        // What is below it: nothing, or a slash and anything. The loop has three steps.
        let end = pattern.program.len();
        pattern.program.extend([Step::Both(end + 5, end + 1), Step::One('/')]);
        pattern.any_number(false);
        pattern.program.push(Step::End);
        Ok(pattern)
    }

    /// Whether a path is what the pattern names, or lies below that.
    #[must_use]
    pub fn matches(&self, path: &FoldedPath) -> bool {
        self.runs(&path.whole) || (!path.shortened.is_empty() && self.runs(&path.shortened))
    }

    fn runs(&self, path: &[char]) -> bool {
        let mut now = Ways::new(self.program.len());
        let mut next = Ways::new(self.program.len());
        now.enter(&self.program, 0);
        for &character in path {
            for &at in &now.steps {
                if self.program.get(at).is_some_and(|step| step.takes(character)) {
                    next.enter(&self.program, at + 1);
                }
            }
            if next.steps.is_empty() {
                return false;
            }
            std::mem::swap(&mut now, &mut next);
            next.clear();
        }
        now.steps.iter().any(|at| self.program.get(*at) == Some(&Step::End))
    }

    fn compile(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Text(text) => self.program.extend(fold_case(text).chars().map(Step::One)),
                Part::Any => self.program.push(Step::Any { in_name: true }),
                Part::Star => self.any_number(true),
                Part::Names { goes_on: false } => self.any_number(false),
                // Nothing, or anything and a slash.
                Part::Names { goes_on: true } => {
                    let start = self.program.len();
                    self.program.push(Step::Both(start + 1, start + 1));
                    self.any_number(false);
                    self.program.push(Step::One('/'));
                    let after = self.program.len();
                    if let Some(Step::Both(_, skipped)) = self.program.get_mut(start) {
                        *skipped = after;
                    }
                }
                Part::Class { ranges, negated } => {
                    self.program.push(Step::Class { ranges: ranges.clone(), negated: *negated });
                }
                Part::Group(branches) => self.group(branches),
            }
        }
    }

    /// Any number of characters, or none.
    fn any_number(&mut self, in_name: bool) {
        let start = self.program.len();
        self.program.extend([Step::Both(start + 1, start + 3), Step::Any { in_name }, Step::Goto(start)]);
    }

    fn group(&mut self, branches: &[Vec<Part>]) {
        let mut ends = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let start = self.program.len();
            let is_last = index + 1 == branches.len();
            if !is_last {
                self.program.push(Step::Both(start + 1, start + 1));
            }
            self.compile(branch);
            if !is_last {
                ends.push(self.program.len());
                self.program.push(Step::Goto(0));
                let next = self.program.len();
                if let Some(Step::Both(_, other)) = self.program.get_mut(start) {
                    *other = next;
                }
            }
        }
        let after = self.program.len();
        for end in ends {
            if let Some(step) = self.program.get_mut(end) {
                *step = Step::Goto(after);
            }
        }
    }
}

impl Step {
    fn takes(&self, character: char) -> bool {
        match self {
            Self::One(own) => *own == character,
            Self::Any { in_name } => !in_name || character != '/',
            Self::Class { ranges, negated } => character != '/' && has(ranges, character) != *negated,
            Self::Both(..) | Self::Goto(_) | Self::End => false,
        }
    }
}

/// Whether a folded character, in any letter case, is in one of the ranges, which are as a person wrote them.
fn has(ranges: &[(char, char)], character: char) -> bool {
    let is_in = |one: char| ranges.iter().any(|(first, last)| (*first..=*last).contains(&one));
    let mut upper = character.to_uppercase();
    is_in(character) || matches!((upper.next(), upper.next()), (Some(upper), None) if is_in(upper))
}

/// The instructions that take the next character, each once.
struct Ways {
    steps: Vec<usize>,
    seen: Vec<bool>,
    pending: Vec<usize>,
}

impl Ways {
    fn new(length: usize) -> Self {
        Self { steps: Vec::new(), seen: vec![false; length], pending: Vec::new() }
    }

    fn clear(&mut self) {
        self.steps.clear();
        self.seen.fill(false);
    }

    fn enter(&mut self, program: &[Step], at: usize) {
        self.pending.push(at);
        while let Some(at) = self.pending.pop() {
            let Some(seen) = self.seen.get_mut(at) else { continue };
            if std::mem::replace(seen, true) {
                continue;
            }
            match program.get(at) {
                Some(Step::Both(one, other)) => self.pending.extend([*other, *one]),
                Some(Step::Goto(other)) => self.pending.push(*other),
                Some(_) => self.steps.push(at),
                None => {}
            }
        }
    }
}

/// A pattern on the way to its parts.
struct Reader<'a> {
    text: &'a [char],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    /// Reads up to the end, or, in a group, up to `,` or `}`, which it leaves. `starts_name` says whether a name begins here.
    fn parts(&mut self, mut starts_name: bool, depth: usize) -> Result<Vec<Part>, BadNamePattern> {
        let mut parts: Vec<Part> = Vec::new();
        while let Some(character) = self.peek() {
            if character == '}' || (character == ',' && depth > 0) {
                break;
            }
            self.at += 1;
            let part = match character {
                '?' => Part::Any,
                '*' => self.star(starts_name, depth),
                '[' => self.class()?,
                '{' => self.group(starts_name, depth + 1)?,
                '\\' => Part::Text(self.take().ok_or(BadNamePattern::Dangling)?.to_string()),
                other => Part::Text(other.to_string()),
            };
            starts_name = match &part {
                Part::Text(text) => text == "/",
                Part::Names { goes_on } => *goes_on,
                _ => false,
            };
            // Characters are folded together: two of them may be one when composed.
            match (parts.last_mut(), part) {
                (Some(Part::Text(before)), Part::Text(text)) => before.push_str(&text),
                (_, part) => parts.push(part),
            }
        }
        Ok(parts)
    }

    /// What follows a `*`.
    fn star(&mut self, starts_name: bool, depth: usize) -> Part {
        let mut count = 1;
        while self.peek() == Some('*') {
            self.at += 1;
            count += 1;
        }
        let next = self.peek();
        let ends = next.is_none() || (depth > 0 && matches!(next, Some(',' | '}')));
        if !(count == 2 && starts_name && (ends || next == Some('/'))) {
            return Part::Star;
        }
        self.at += usize::from(!ends);
        Part::Names { goes_on: !ends }
    }

    /// What follows a `[`. A `]` that comes first is a member, and so is a `-` that comes first or last.
    fn class(&mut self) -> Result<Part, BadNamePattern> {
        let negated = matches!(self.peek(), Some('!' | '^'));
        self.at += usize::from(negated);
        let mut ranges: Vec<(char, char)> = Vec::new();
        // What folds to several characters (`ß`) stands for these, one after the other.
        let mut long = Vec::new();
        let mut is_first = true;
        loop {
            let first = self.take().ok_or(BadNamePattern::OpenClass)?;
            if first == ']' && !is_first {
                break;
            }
            is_first = false;
            if self.peek() == Some('-') && self.text.get(self.at + 1).is_some_and(|end| *end != ']') {
                self.at += 1;
                let last = self.take().ok_or(BadNamePattern::OpenClass)?;
                if last < first {
                    return Err(BadNamePattern::Range(first, last));
                }
                ranges.push((first, last));
                continue;
            }
            let folded = fold_case(&first.to_string());
            let mut characters = folded.chars();
            match (characters.next(), characters.next()) {
                (Some(only), None) => ranges.push((only, only)),
                _ => long.push(vec![Part::Text(folded)]),
            }
        }
        let class = Part::Class { ranges, negated };
        if negated || long.is_empty() {
            return Ok(class);
        }
        long.push(vec![class]);
        Ok(Part::Group(long))
    }

    /// What follows a `{`.
    fn group(&mut self, starts_name: bool, depth: usize) -> Result<Part, BadNamePattern> {
        if depth > DEPTH {
            return Err(BadNamePattern::TooDeep);
        }
        let mut branches = Vec::new();
        loop {
            branches.push(self.parts(starts_name, depth)?);
            match self.take() {
                Some(',') => {}
                Some(_) => return Ok(Part::Group(branches)),
                None => return Err(BadNamePattern::OpenGroup),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use globset::GlobBuilder;
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        NamePattern::new(pattern).unwrap().matches(&FoldedPath::new(path))
    }

    #[test]
    fn what_a_pattern_matches() {
        for (pattern, path) in [
            ("/a", "/a"),
            ("/a", "/a/b/c"),
            ("/A", "/a"),
            ("/**/a", "/a"),
            ("/**/a", "/x/y/a/b"),
            ("/a/**", "/a/b"),
            ("/a/**/b", "/a/b"),
            ("/a/**/b", "/a/x/y/b"),
            ("/a?", "/aé"),
            ("/[!a]", "/b"),
            ("/[]]", "/]"),
            ("/[a-]", "/-"),
            ("/{a,b/c}", "/b/c"),
            ("/{a,{b,c}d}", "/cd"),
            ("/\\*", "/*"),
            ("/a**b", "/axb"),
            ("/a,b", "/a,b"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("/a", "/b"),
            ("/a", "/ab"),
            ("/a", "/x/a"),
            ("/*", ""),
            ("/a*b", "/a/b"),
            ("/a**b", "/a/b"),
            ("/a?b", "/a/b"),
            ("/a[!x]b", "/a/b"),
            ("/\\*", "/a"),
            ("/{a,b}", "/c"),
            ("/caf?", "/cafés"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn one_name_in_two_spellings_is_one_name() {
        for (pattern, path) in [
            ("/caf\u{e9}.txt", "/cafe\u{301}.txt"),
            ("/cafe\u{301}.txt", "/caf\u{e9}.txt"),
            ("/caf[\u{e9}x]", "/cafe\u{301}"),
            ("/caf[e\u{301}]", "/CAFE\u{301}"),
            ("/[\u{e0}-\u{fc}]", "/E\u{301}"),
            ("/caf?", "/cafe\u{301}"),
            ("/stra\u{df}e", "/STRASSE"),
            ("/stra[\u{df}x]e", "/STRA\u{1e9e}E"),
            ("/strasse", "/STRA\u{1e9e}E"),
            ("/\u{130}", "/i\u{307}"),
            ("/k", "/\u{212a}"),
            ("/[k]", "/\u{212a}"),
            ("/\u{3a3}", "/\u{3c2}"),
            ("/[\u{391}-\u{3a9}]", "/\u{3c2}"),
            ("/se\u{200d}cret", "/secret"),
            ("/secret", "/sec\u{200b}ret"),
            ("/secret", "/secret. ."),
            ("/*.env", "/a.env::$DATA"),
            ("/secret/x", "/secret./x"),
            ("/secret.", "/secret."),
            ("/foo.*", "/foo."),
            ("c:/secret", "C:/SECRET."),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        assert!(
            !matches("/cafe", "/caf\u{e9}") && !matches("/cafe*", "/cafe\u{301}"),
            "an accent is a difference"
        );
    }

    #[test]
    fn what_cannot_be_read() {
        let said = |pattern: &str| NamePattern::new(pattern).unwrap_err().to_string();
        let deep = "{".repeat(DEPTH + 1);
        let said: Vec<String> = ["[a", "[z-a]", "{a", "a}", &deep, "a\\"].map(said).into();
        insta::assert_snapshot!(said.join("\n"), @r"
        unclosed character class; missing ']'
        invalid range; 'z' > 'a'
        unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
        unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)
        alternate groups are nested too deeply
        dangling '\'
        ");
    }

    #[test]
    fn many_stars_take_no_more_time_than_their_number() {
        let pattern = "/".to_owned() + &"*a".repeat(200) + "b";
        assert!(!matches(&pattern, &("/".to_owned() + &"a".repeat(5_000))));
    }

    proptest! {
        /// On ASCII it agrees with globset, which ripgrep uses, where a name's end is none that Windows drops; there a negated class
        /// takes a slash, too.
        #[test]
        fn on_ascii_it_agrees_with_globset(
            pattern in "/(\\*\\*/)?[ab*?]{0,4}(\\[!?[a-c]{1,2}\\]|\\{[ab]{1,2},[bc*]\\}|/[abA]{1,2}|/\\*\\*)?[abC]{0,2}",
            path in "(/[abcABC]{1,4}){1,4}",
        ) {
            let below = |glob: &str| {
                GlobBuilder::new(glob).literal_separator(true).case_insensitive(true).build().unwrap().compile_matcher()
            };
            let within_names = pattern.replace("[!", "[!/");
            let expected = [within_names.clone(), format!("{within_names}/**")].iter().any(|glob| below(glob).is_match(&path));
            prop_assert_eq!(matches(&pattern, &path), expected);
        }

        /// A name that is its own pattern matches in each spelling that a file system could take for it.
        #[test]
        fn a_name_matches_however_it_is_spelled(
            name in "[aZk\u{e9}\u{301}\u{307}\u{345}\u{df}\u{1e9e}\u{130}\u{131}\u{17f}\u{212a}\u{3a3}\u{3c2}\u{1f80}\u{fb01}\u{ac00}\u{200d}\u{34f}]{1,6}",
        ) {
            let pattern = format!("/{name}");
            // Letter case is a matter of the decomposed name: only there U+0345 stands behind the other marks.
            let decomposed: String = name.chars().filter(|one| !is_default_ignorable(*one)).nfd().collect();
            for spelled in [
                name.nfc().collect::<String>(),
                decomposed.clone(),
                decomposed.to_uppercase(),
                decomposed.to_lowercase(),
                decomposed.to_uppercase().nfc().collect(),
                format!("{name}\u{feff}"),
                format!("{name}."),
            ] {
                prop_assert!(matches(&pattern, &format!("/{spelled}")), "{:?} {:?}", name, spelled);
            }
        }
    }
}
