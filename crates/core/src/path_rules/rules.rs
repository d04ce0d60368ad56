//! The rules of an ignore file, or of the globs of a request: [`PathRules`].

use super::braces::{Alternatives, alternatives};
use super::problem::BadNamePattern;
use super::wildmatch::{Items, class, matches};

/// The most globs of a request.
pub const MOST_GLOBS: usize = 256;
/// The most bytes of the globs of a request, all together.
pub const MOST_GLOB_BYTES: usize = 16 << 10;
/// The most bytes that braces may be written out to, for all globs of a request together, or all lines of a
/// file.
pub const MOST_WRITTEN: usize = 256 << 10;
/// The most bytes of a rule: as many as a path, about.
const LONGEST: usize = 4 << 10;
/// The number of rules that are tried between two questions whether to go on.
const ASKED: usize = 16;

/// The notation of the lines of an ignore file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    /// As git reads them.
    Git,
    /// As git reads them, and `{a,b}` chooses.
    Braces,
}

/// Rules, of which the last one that fits a path decides. Those that are a name, a path, or an ending such as
/// `*.log` are found by a binary search. Any other costs at most its length times that of the path.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PathRules {
    text: Vec<u8>,
    all: Vec<Rule>,
    /// The rules that are a name, sorted by it.
    names: Vec<u32>,
    /// The rules that are a path, sorted by it.
    paths: Vec<u32>,
    /// The rules that are a star and an ending with a dot, sorted by the part from the last dot on.
    endings: Vec<u32>,
    /// All others, in order.
    others: Vec<u32>,
    /// True if a rule was left out because it is too long, or its braces stand for too much.
    is_cut: bool,
}

/// A rule without its marks: without the `!` before it, and the slash at either end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rule {
    start: u32,
    length: u16,
    /// The number of bytes at its beginning that are compared by themselves, as git does it.
    literal: u16,
    is_negated: bool,
    is_of_directories: bool,
    /// True if it is matched with the last name of a path alone.
    is_of_names: bool,
}

/// The reason why globs of a request cannot be taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadGlobs {
    /// There are too many.
    #[error("{0} globs, and the limit is {MOST_GLOBS}")]
    Many(usize),
    /// They have too many bytes.
    #[error("globs of {0} bytes, and the limit is {MOST_GLOB_BYTES}")]
    Long(usize),
    /// Their braces stand for too much.
    #[error("globs whose braces stand for more bytes than the limit of {MOST_WRITTEN}")]
    Braces,
    /// One cannot be read: which, by its index, and why.
    #[error("a glob that cannot be read: {1}")]
    Unreadable(usize, BadNamePattern),
}

impl PathRules {
    /// Reads an ignore file.
    #[must_use]
    pub fn of_file(bytes: &[u8], notation: Notation) -> Self {
        let mut rules = Self::default();
        let mut left = MOST_WRITTEN;
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        for line in bytes.split(|byte| *byte == b'\n') {
            if line.starts_with(b"#") {
                continue;
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // To git it ends there.
            let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
            let line = Line::of(without_blanks(line));
            match notation {
                Notation::Git => rules.add(&line, line.text, true),
                // A line whose braces have no end is passed over, as ripgrep does.
                Notation::Braces => match alternatives(line.text, &mut left) {
                    Ok(Alternatives::Are(all)) => all.iter().for_each(|one| rules.add(&line, one, true)),
                    Ok(Alternatives::TooMany) => rules.is_cut = true,
                    Err(_) => {}
                },
            }
        }
        rules.sort();
        rules
    }

    /// Checks that a request may have so many globs, and so long ones.
    pub fn admit(globs: &[&str]) -> Result<(), BadGlobs> {
        let length = globs.iter().map(|glob| glob.len()).sum();
        match () {
            () if globs.len() > MOST_GLOBS => Err(BadGlobs::Many(globs.len())),
            () if length > MOST_GLOB_BYTES => Err(BadGlobs::Long(length)),
            () => Ok(()),
        }
    }

    /// Reads the globs of a request, in which `{a,b}` chooses.
    pub fn of_globs(globs: &[&str]) -> Result<Self, BadGlobs> {
        Self::admit(globs)?;
        let mut rules = Self::default();
        let mut left = MOST_WRITTEN;
        for (index, glob) in globs.iter().enumerate() {
            let bad = |problem| BadGlobs::Unreadable(index, problem);
            let line = Line::of(without_blanks(glob.as_bytes()));
            check(line.text).map_err(bad)?;
            match alternatives(line.text, &mut left).map_err(bad)? {
                Alternatives::Are(all) => all.iter().for_each(|one| rules.add(&line, one, false)),
                Alternatives::TooMany => return Err(BadGlobs::Braces),
            }
        }
        if rules.is_cut {
            return Err(BadGlobs::Braces);
        }
        rules.sort();
        Ok(rules)
    }

    /// Tells whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Tells whether a rule was left out because it is too long, or its braces stand for too much.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Tells whether any rule is not negated.
    #[must_use]
    pub fn has_plain(&self) -> bool {
        self.all.iter().any(|rule| !rule.is_negated)
    }

    /// Returns the bytes of memory that they take, about.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.text.capacity() + self.all.capacity() * (size_of::<Rule>() + size_of::<u32>())
    }

    /// Decides about a path, whose separator is `/`: `true` if a plain rule decides, `false` if a negated one
    /// does, `None` if none fits. Rules that cost more than a look-up are tried only while `goes_on` returns
    /// true; it is asked now and then. Once it returns false, the verdict is `None`.
    #[must_use]
    pub fn verdict(&self, path: &str, is_directory: bool, goes_on: &mut dyn FnMut() -> bool) -> Option<bool> {
        let path = path.as_bytes();
        let name = memchr::memrchr(b'/', path).and_then(|slash| path.get(slash + 1..)).unwrap_or(path);
        let mut last: Option<u32> = None;
        let fits = |rule: &Rule| is_directory || !rule.is_of_directories;
        let mut look = |sorted: &[u32], key: &[u8], is_one: &dyn Fn(&Rule) -> bool| {
            let key_of = |index: &u32| self.key(*index);
            let (_, from) = sorted.split_at(sorted.partition_point(|index| key_of(index) < key));
            let (equal, _) = from.split_at(from.partition_point(|index| key_of(index) == key));
            let found = equal.iter().rev().take_while(|index| last.is_none_or(|last| **index > last));
            let found = found.copied().find(|index| self.rule(*index).is_some_and(|rule| is_one(&rule)));
            last = found.or(last);
        };
        look(&self.names, name, &fits);
        look(&self.paths, path, &fits);
        if let Some(dot) = memchr::memrchr(b'.', name).filter(|_| !self.endings.is_empty()) {
            let is_one =
                |rule: &Rule| fits(rule) && self.text(rule).get(1..).is_some_and(|end| name.ends_with(end));
            look(&self.endings, name.get(dot..).unwrap_or_default(), &is_one);
        }
        let before = |index: &u32| last.is_none_or(|last| *index > last);
        for (tried, index) in self.others.iter().rev().copied().take_while(before).enumerate() {
            if tried % ASKED == ASKED - 1 && !goes_on() {
                return None;
            }
            let is_one = |rule: &Rule| fits(rule) && self.matches(rule, path, name);
            if self.rule(index).is_some_and(|rule| is_one(&rule)) {
                last = Some(index);
                break;
            }
        }
        Some(!self.rule(last?)?.is_negated)
    }

    fn matches(&self, rule: &Rule, path: &[u8], name: &[u8]) -> bool {
        let glob = self.text(rule);
        if rule.is_of_names {
            return matches(glob, name);
        }
        let (literal, glob) = glob.split_at_checked(rule.literal.into()).unwrap_or((glob, &[]));
        path.strip_prefix(literal).is_some_and(|path| matches(glob, path))
    }

    fn rule(&self, index: u32) -> Option<Rule> {
        self.all.get(index as usize).copied()
    }

    fn text(&self, rule: &Rule) -> &[u8] {
        let start = rule.start as usize;
        self.text.get(start..start + usize::from(rule.length)).unwrap_or_default()
    }

    /// Returns the key by which a rule is sorted: all of it, or the part from its last dot on.
    fn key(&self, index: u32) -> &[u8] {
        let text = self.rule(index).map(|rule| self.text(&rule)).unwrap_or_default();
        if !text.starts_with(b"*") {
            return text;
        }
        memchr::memrchr(b'.', text).and_then(|dot| text.get(dot..)).unwrap_or_default()
    }

    /// Adds the rule of a line, or of one of its alternatives.
    fn add(&mut self, line: &Line<'_>, text: &[u8], is_git: bool) {
        if text.len() > LONGEST {
            self.is_cut = true;
            return;
        }
        let text = text.strip_prefix(b"/").unwrap_or(text);
        let mut text = text;
        let mut is_of_names = line.is_of_names;
        if let Some(rest) = text.strip_prefix(b"**/").filter(|rest| !rest.contains(&b'/')) {
            (text, is_of_names) = (rest, true);
        }
        if text.is_empty() {
            return;
        }
        let (Ok(index), Ok(start), Ok(length)) =
            (u32::try_from(self.all.len()), u32::try_from(self.text.len()), u16::try_from(text.len()))
        else {
            self.is_cut = true;
            return;
        };
        let literal = literal(text);
        let is_ending = is_of_names
            && text.strip_prefix(b"*").is_some_and(|end| literal_is_all(end) && end.contains(&b'.'));
        let list = match () {
            () if literal == text.len() && is_of_names => &mut self.names,
            () if literal == text.len() => &mut self.paths,
            () if is_ending => &mut self.endings,
            () => &mut self.others,
        };
        list.push(index);
        self.text.extend_from_slice(text);
        self.all.push(Rule {
            start,
            length,
            literal: if is_git { u16::try_from(literal).unwrap_or_default() } else { 0 },
            is_negated: line.is_negated,
            is_of_directories: line.is_of_directories,
            is_of_names,
        });
    }

    /// Sorts the rules for the look-up, and frees memory that is not used. To be called once, after all are
    /// added.
    fn sort(&mut self) {
        (self.names, self.paths, self.endings) =
            (self.sorted(&self.names), self.sorted(&self.paths), self.sorted(&self.endings));
        self.others.shrink_to_fit();
        self.text.shrink_to_fit();
        self.all.shrink_to_fit();
    }

    fn sorted(&self, list: &[u32]) -> Vec<u32> {
        let mut sorted = list.to_vec();
        sorted
            .sort_unstable_by(|one, other| self.key(*one).cmp(self.key(*other)).then_with(|| one.cmp(other)));
        sorted
    }
}

/// A line of an ignore file, without its marks.
struct Line<'a> {
    text: &'a [u8],
    is_negated: bool,
    is_of_directories: bool,
    /// True if it has no slash but at its end.
    is_of_names: bool,
}

impl<'a> Line<'a> {
    fn of(line: &'a [u8]) -> Self {
        let (is_negated, text) = line.strip_prefix(b"!").map_or((false, line), |text| (true, text));
        let (is_of_directories, text) = text.strip_suffix(b"/").map_or((false, text), |text| (true, text));
        Self { text, is_negated, is_of_directories, is_of_names: !text.contains(&b'/') }
    }
}

/// Returns a line without the blanks at its end; one behind a backslash stays. A tab is no blank.
fn without_blanks(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        at += 1;
        if *byte == b'\\' {
            at += 1;
        }
        if *byte != b' ' {
            end = at;
        }
    }
    // Behind a backslash at the end there is nothing.
    line.get(..end).unwrap_or(line)
}

/// Counts the bytes at the beginning of a glob that mean themselves alone.
fn literal(glob: &[u8]) -> usize {
    glob.iter().position(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\')).unwrap_or(glob.len())
}

fn literal_is_all(glob: &[u8]) -> bool {
    literal(glob) == glob.len()
}

/// Checks that a glob can be read. The author of an ignore file is told nothing, but the sender of a request
/// is.
fn check(glob: &[u8]) -> Result<(), BadNamePattern> {
    let mut at = 0;
    while let Some(byte) = glob.get(at) {
        match byte {
            b'\\' if at + 1 == glob.len() => return Err(BadNamePattern::Dangling),
            b'\\' => at += 2,
            b'[' => {
                let mut reversed = None;
                let found = class(glob, at, |items| {
                    if let Items::Range(range) = items
                        && range.is_empty()
                    {
                        reversed = Some((char::from(*range.start()), char::from(*range.end())));
                    }
                });
                if let Some((first, last)) = reversed {
                    return Err(BadNamePattern::Range(first, last));
                }
                at = found.ok_or(BadNamePattern::OpenClass)?.end;
            }
            _ => at += 1,
        }
    }
    Ok(())
}
