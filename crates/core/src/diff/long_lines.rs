//! Lines of a diff that are too long to be shown whole. If such lines of both sides begin alike and differ
//! later, [`tell_apart`] makes sure that the shown parts differ.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::ops::Range;

use crate::digest::{Digest, Hasher};
use crate::encoding::{Decoded, Decoder, Encoding};
use crate::source::{CHUNK, Source};

/// The maximum bytes of a line that are shown: of its beginning, or of the part where the sides differ.
pub(super) const LONGEST_LINE: usize = 4096;

/// The number of characters that are shown before the first character that differs.
const BEFORE: u64 = 40;

/// A line as the diff shows it.
#[derive(Debug)]
pub(super) struct DiffLine {
    pub(super) text: String,
    /// The offsets of its text in the file, if only a part of it is shown.
    pub(super) cut: Option<Range<u64>>,
}

/// The lines of one side of a change.
pub(super) struct SideLines<'a, S: ?Sized> {
    pub(super) source: &'a S,
    pub(super) encoding: Encoding,
    pub(super) lines: Vec<DiffLine>,
}

/// The lines of both sides whose shown parts are equal, by their indices in each side.
#[derive(Default)]
struct Alike {
    old: Vec<usize>,
    new: Vec<usize>,
}

/// Replaces the shown parts of long lines that begin alike by parts from where the lines differ. Then two
/// lines of a change look the same only if they are the same.
///
/// Only lines that begin alike are read a second time.
pub(super) fn tell_apart<O, N>(old: &mut SideLines<'_, O>, new: &mut SideLines<'_, N>) -> Result<(), O::Error>
where
    O: Source + ?Sized,
    N: Source<Error = O::Error> + ?Sized,
{
    let mut groups: BTreeMap<String, Alike> = BTreeMap::new();
    for (place, line) in old.cut_lines() {
        groups.entry(line.text.clone()).or_default().old.push(place);
    }
    for (place, line) in new.cut_lines() {
        if let Some(group) = groups.get_mut(&line.text) {
            group.new.push(place);
        }
    }
    for group in groups.values().filter(|group| !group.new.is_empty()) {
        match (group.old.as_slice(), group.new.as_slice()) {
            ([one], [other]) => {
                show_difference(old, *one, new, *other)?;
            }
            _ => tell_many_apart(old, new, group)?,
        }
    }
    Ok(())
}

/// Does the same as [`tell_apart`], for more than two lines that begin alike. Pairs the lines that only one
/// side has, in their order, and shows each pair from where it differs. Then numbers all lines; equal lines
/// get the same number.
fn tell_many_apart<O, N>(
    old: &mut SideLines<'_, O>,
    new: &mut SideLines<'_, N>,
    group: &Alike,
) -> Result<(), O::Error>
where
    O: Source + ?Sized,
    N: Source<Error = O::Error> + ?Sized,
{
    let of_old = group.old.iter().map(|&place| old.digest(place)).collect::<Result<Vec<_>, _>>()?;
    let of_new = group.new.iter().map(|&place| new.digest(place)).collect::<Result<Vec<_>, _>>()?;
    let mut numbers: HashMap<Digest, usize> = HashMap::new();
    for digest in of_old.iter().chain(&of_new) {
        let next = numbers.len() + 1;
        numbers.entry(*digest).or_insert(next);
    }
    if numbers.len() < 2 {
        return Ok(());
    }
    let removed = group.old.iter().zip(&of_old).filter(|(_, digest)| !of_new.contains(digest));
    let added = group.new.iter().zip(&of_new).filter(|(_, digest)| !of_old.contains(digest));
    for ((&one, _), (&other, _)) in removed.zip(added) {
        show_difference(old, one, new, other)?;
    }
    let lines_of_old = old.numbered(&group.old, &of_old);
    for (line, digest) in lines_of_old.into_iter().chain(new.numbered(&group.new, &of_new)) {
        let number = numbers.get(&digest).copied().unwrap_or_default();
        // Writing to a string does not fail.
        let _ = write!(line.text, " [{number} of {} lines that begin alike]", numbers.len());
    }
    Ok(())
}

/// Shows two lines from where they differ. If they are equal, does nothing.
fn show_difference<O, N>(
    old: &mut SideLines<'_, O>,
    one: usize,
    new: &mut SideLines<'_, N>,
    other: usize,
) -> Result<(), O::Error>
where
    O: Source + ?Sized,
    N: Source<Error = O::Error> + ?Sized,
{
    if let Some(difference) = first_difference(old.text(one), new.text(other))? {
        let from = difference.saturating_sub(BEFORE);
        old.show_from(one, from)?;
        new.show_from(other, from)?;
    }
    Ok(())
}

impl<S: Source + ?Sized> SideLines<'_, S> {
    fn cut_lines(&self) -> impl Iterator<Item = (usize, &DiffLine)> {
        self.lines.iter().enumerate().filter(|(_, line)| line.cut.is_some())
    }

    fn text(&self, place: usize) -> Text<'_, S> {
        let cut = self.lines.get(place).and_then(|line| line.cut.clone());
        Text::new(self.source, self.encoding, cut.unwrap_or_default())
    }

    fn digest(&self, place: usize) -> Result<Digest, S::Error> {
        let mut hasher = Hasher::default();
        let mut text = self.text(place);
        while text.fill()? {
            hasher.update(text.rest().as_bytes());
            text.pass(text.rest().len());
        }
        Ok(hasher.digest())
    }

    /// Shows a line without its first `from` characters.
    fn show_from(&mut self, place: usize, from: u64) -> Result<(), S::Error> {
        let mut text = self.text(place);
        let (mut passed, mut shown, mut is_all) = (0, String::new(), true);
        'line: while text.fill()? {
            for character in text.rest().chars() {
                if passed >= from && shown.len() + character.len_utf8() > LONGEST_LINE {
                    is_all = false;
                    break 'line;
                }
                if passed >= from {
                    shown.push(character);
                }
                passed += 1;
            }
            text.pass(text.rest().len());
        }
        let end = if is_all { "" } else { "…" };
        if let Some(line) = self.lines.get_mut(place) {
            line.text = format!("[from character {} on] {shown}{end}", from + 1);
        }
        Ok(())
    }

    fn numbered<'a>(
        &'a mut self,
        places: &'a [usize],
        digests: &'a [Digest],
    ) -> Vec<(&'a mut DiffLine, Digest)> {
        let lines = self.lines.iter_mut().enumerate();
        lines
            .filter_map(|(place, line)| {
                let at = places.binary_search(&place).ok()?;
                Some((line, *digests.get(at)?))
            })
            .collect()
    }
}

/// Returns the number of characters before the first character that differs; `None` if the texts are the
/// same.
fn first_difference<O, N>(mut old: Text<'_, O>, mut new: Text<'_, N>) -> Result<Option<u64>, O::Error>
where
    O: Source + ?Sized,
    N: Source<Error = O::Error> + ?Sized,
{
    let mut same = 0;
    loop {
        match (old.fill()?, new.fill()?) {
            (true, true) => {}
            (false, false) => return Ok(None),
            _ => return Ok(Some(same)),
        }
        let (one, other) = (old.rest(), new.rest());
        let common_length = one.len().min(other.len());
        let differs = one.bytes().zip(other.bytes()).position(|(one, other)| one != other);
        let alike = one.floor_char_boundary(differs.unwrap_or(common_length));
        same += one.get(..alike).unwrap_or_default().chars().count() as u64;
        if differs.is_some() {
            return Ok(Some(same));
        }
        old.pass(common_length);
        new.pass(common_length);
    }
}

/// The text of a line, read a piece at a time.
struct Text<'a, S: ?Sized> {
    source: &'a S,
    bytes: Range<u64>,
    decoder: Decoder,
    buffer: Vec<u8>,
    piece: Decoded,
    passed: usize,
}

impl<'a, S: Source + ?Sized> Text<'a, S> {
    fn new(source: &'a S, encoding: Encoding, bytes: Range<u64>) -> Self {
        let decoder = Decoder::new(encoding, bytes.start);
        let length = usize::try_from(bytes.end - bytes.start).unwrap_or(CHUNK).min(CHUNK);
        Self { source, bytes, decoder, buffer: vec![0; length], piece: Decoded::new(), passed: 0 }
    }

    /// Returns the text that was read and not yet passed.
    fn rest(&self) -> &str {
        self.piece.text.get(self.passed..).unwrap_or_default()
    }

    fn pass(&mut self, length: usize) {
        self.passed += length;
    }

    /// Reads more if all text that was read has been passed. Returns false at the end.
    fn fill(&mut self) -> Result<bool, S::Error> {
        while self.rest().is_empty() {
            let left = usize::try_from(self.bytes.end - self.bytes.start).unwrap_or(usize::MAX);
            let length = left.min(self.buffer.len());
            let Some(buffer) = self.buffer.get_mut(..length) else { return Ok(false) };
            let block = if length == 0 { buffer } else { self.source.read_into(self.bytes.start, buffer)? };
            if block.is_empty() {
                return Ok(false);
            }
            self.bytes.start += block.len() as u64;
            let is_last = self.bytes.start >= self.bytes.end;
            self.decoder.feed(block, is_last, &mut self.piece);
            self.passed = 0;
        }
        Ok(true)
    }
}
