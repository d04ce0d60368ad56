//! Produces the text of a file as it is compared, piece by piece: decoded, each line end as `\n` and, in the
//! second tier, without blanks before line ends. Also finds the offset in the file of an index in that text.
//!
//! Offsets are noted only on request, since each takes more memory than many characters.

use std::collections::VecDeque;
use std::ops::Range;

use super::needle::Tier;
use crate::encoding::{Decoded, Decoder, Encoding, Seam};
use crate::line_ending::Convention;
use crate::scan::{Scan, Scanned};
use crate::source::{CHUNK, Source, for_each_chunk};

/// The number of bytes that are decoded at a time.
const DECODED: usize = 32 * 1024;

/// The maximum length in bytes of a run of blanks before a line end that is ignored; a longer run may count
/// as text.
const LONGEST_BLANKS: usize = 1024 * 1024;

/// The number of bytes of text that a window keeps before the place that is looked up. Among them is a place
/// where the file can be cut, even if it cannot at the place itself.
const BEFORE: u64 = 64;

/// A place in the text, and the offset in the file at which an edit begins or ends if it begins or ends
/// there.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextPosition {
    /// The number of bytes of text from the start of the stream to the place.
    index: u64,
    pub(super) begin: Option<Seam>,
    pub(super) end: Option<Seam>,
    /// At a line end, `begin` and `end` as they are before the blanks that were left out.
    pub(super) before_blanks: Option<(Option<Seam>, Option<Seam>)>,
}

/// The result of looking up a place of the text in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocatedPosition {
    /// `None` if the file cannot be cut there.
    pub(super) spot: Option<TextPosition>,
    /// An offset in the file at or before the place.
    pub(super) near: u64,
}

/// Text, with the offsets in the file of some of its indices (spots).
#[derive(Debug)]
pub(super) struct Positioned {
    pub(super) text: Vec<u8>,
    /// The index of `text`'s first byte in the stream.
    base: u64,
    /// Sorted by index.
    spots: VecDeque<TextPosition>,
    /// True if spots are noted at all.
    has_spots: bool,
    /// True if, between one spot and the next, each byte of text is one byte of the file. Otherwise the file
    /// can be cut only at spots.
    linear: bool,
}

impl Positioned {
    fn new(linear: bool, has_spots: bool) -> Self {
        Self { text: Vec::new(), base: 0, spots: VecDeque::new(), has_spots, linear }
    }

    pub(super) fn end(&self) -> u64 {
        self.base + self.text.len() as u64
    }

    /// Returns the spot at `index`. In linear text it is computed from the spot before, if `index` has none.
    fn spot(&self, index: u64) -> Option<TextPosition> {
        let after = self.spots.partition_point(|spot| spot.index <= index);
        let spot = *self.spots.get(after.checked_sub(1)?)?;
        if spot.index == index {
            return Some(spot);
        }
        let step = index - spot.index;
        self.linear.then(|| {
            let seam = spot.begin.map(|begin| Seam::ascii(begin.offset + step));
            TextPosition { index, begin: seam, end: seam, before_blanks: None }
        })
    }

    /// Returns an offset at or before `index`, for a place where the file cannot be cut.
    fn near(&self, index: u64) -> u64 {
        let after = self.spots.partition_point(|spot| spot.index <= index);
        let mut before = self.spots.range(..after).rev();
        before.find_map(|spot| spot.begin.or(spot.end)).map_or(0, |seam| seam.offset)
    }

    /// Sets a spot at the end of the text, and replaces one that is already there.
    fn set(&mut self, begin: Option<Seam>, end: Option<Seam>) {
        if !self.has_spots {
            return;
        }
        let index = self.end();
        while self.spots.back().is_some_and(|spot| spot.index >= index) {
            self.spots.pop_back();
        }
        self.spots.push_back(TextPosition { index, begin, end, before_blanks: None });
    }

    fn push_linear(&mut self, offset: u64, bytes: &[u8]) {
        let seam = Some(Seam::ascii(offset));
        self.set(seam, seam);
        self.text.extend_from_slice(bytes);
    }

    fn push_decoded(&mut self, decoded: &Decoded) {
        if !self.has_spots {
            self.text.extend_from_slice(decoded.text.as_bytes());
            return;
        }
        let mut from = 0;
        for (index, before, after) in decoded.seams() {
            self.text.extend_from_slice(decoded.text.as_bytes().get(from..index).unwrap_or_default());
            self.set(before, after);
            from = index;
        }
    }

    /// Appends a part of another text.
    fn push_part(&mut self, from: &Self, part: Range<u64>) {
        if let Some(spot) = from.spot(part.start) {
            self.set(spot.begin, spot.end);
        }
        let shift = |index: u64| index - part.start + self.end();
        let first = from.spots.partition_point(|spot| spot.index <= part.start);
        let inside = from.spots.range(first..).take_while(|spot| spot.index <= part.end);
        let moved: Vec<TextPosition> =
            inside.map(|spot| TextPosition { index: shift(spot.index), ..*spot }).collect();
        self.spots.extend(moved);
        self.text.extend_from_slice(from.slice(part));
    }

    pub(super) fn slice(&self, range: Range<u64>) -> &[u8] {
        let local = |index: u64| usize::try_from(index.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.text.get(local(range.start)..local(range.end)).unwrap_or_default()
    }

    /// Drops the text before `index`.
    pub(super) fn forget(&mut self, index: u64) {
        if index <= self.base {
            return;
        }
        let kept = self.spot(index);
        let gone = usize::try_from(index - self.base).unwrap_or(usize::MAX).min(self.text.len());
        self.text.drain(..gone);
        self.base += gone as u64;
        while self.spots.front().is_some_and(|spot| spot.index <= index) {
            self.spots.pop_front();
        }
        if let Some(spot) = kept {
            self.spots.push_front(spot);
        }
    }
}

/// An offset in the file, whose index in the text is determined when the stream reaches it.
#[derive(Clone, Copy, Debug)]
struct Landmark {
    /// The offset in the file.
    offset: u64,
    /// The index in the decoded text of the first character at or after the offset.
    raw: Option<u64>,
    /// The same index in the text that is compared.
    index: Option<u64>,
}

/// The text of a file as a stream. The window holds a part of it.
#[derive(Debug)]
pub(super) struct Text {
    tier: Tier,
    convention: Convention,
    /// True if the text is compared as it stands in the file: nothing to decode, no CRLF, the first tier.
    verbatim: bool,
    linear: bool,
    unterminated: bool,
    /// The range of the file's text.
    bytes: Range<u64>,
    raw: Positioned,
    /// The index up to which `raw` has been moved into the window.
    moved: u64,
    pub(super) window: Positioned,
    landmarks: Vec<Landmark>,
    checkpoints: Vec<Checkpoint>,
}

/// A place from which the text can be read again without the text before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoint {
    /// The offset in the file.
    offset: u64,
    /// The index in the text.
    index: u64,
}

impl Text {
    /// Makes the text of a file; `has_spots` says whether spots are noted, to look up offsets.
    fn new(scan: &Scan, tier: Tier, has_spots: bool) -> Self {
        let linear = matches!(scan.encoding, Encoding::Utf8 | Encoding::Ascii);
        let lines = &scan.lines;
        Self {
            tier,
            convention: lines.convention(),
            verbatim: linear
                && tier == Tier::Exact
                && lines.census().crlf == 0
                && lines.convention() == Convention::Lf,
            linear,
            unterminated: lines.is_unterminated(),
            bytes: lines.bytes(),
            raw: Positioned::new(linear, has_spots),
            moved: 0,
            window: Positioned::new(linear, has_spots),
            landmarks: Vec::new(),
            checkpoints: Vec::new(),
        }
    }

    /// Lets the text begin at a checkpoint.
    fn starting_at(mut self, checkpoint: Checkpoint) -> Self {
        self.bytes.start = checkpoint.offset;
        self.window.base = checkpoint.index;
        self
    }

    /// Makes the text for a search. [`Text::index_of`] can then be asked for these offsets.
    pub(super) fn searched(scan: &Scan, tier: Tier, offsets: impl Iterator<Item = u64>) -> Self {
        let mut text = Self::new(scan, tier, false);
        for offset in offsets {
            if text.landmarks.iter().all(|landmark| landmark.offset != offset) {
                let first = (offset <= text.bytes.start).then_some(0);
                text.landmarks.push(Landmark { offset, raw: first, index: first });
            }
        }
        text
    }

    /// Returns the index in the text of the first character at or after an offset of the file. Returns `None`
    /// until the window has reached it.
    pub(super) fn index_of(&self, offset: u64) -> Option<u64> {
        self.landmarks.iter().find(|landmark| landmark.offset == offset)?.index
    }

    /// Whether a line end that the file lacks is added at the end of the text.
    pub(super) fn has_virtual_end(&self) -> bool {
        self.unterminated
    }

    /// Reads the file, and calls `each` whenever there is more text in the window; `each` can drop text from
    /// the window. The last call gets `true`. If `each` returns false, reading stops earlier. Returns the
    /// places from which the text can be read again.
    pub(super) fn read<S: Source + ?Sized>(
        mut self,
        file: Scanned<'_, S>,
        mut each: impl FnMut(&mut Self, bool) -> bool,
    ) -> Result<Vec<Checkpoint>, S::Error> {
        let bytes = self.bytes.clone();
        let mut decoder = Decoder::new(file.scan.encoding, bytes.start);
        let mut piece = Decoded::default();
        for_each_chunk(file.source, bytes.clone(), |offset, chunk| {
            let last = offset + chunk.len() as u64 >= bytes.end;
            if self.linear {
                self.pass_linear(offset, chunk.len());
                self.raw.push_linear(offset, chunk);
                self.advance(last);
                let offset = offset + chunk.len() as u64;
                let is_far = |last: &Checkpoint| offset - last.offset >= CHUNK as u64;
                if self.moved == self.raw.end() && self.checkpoints.last().is_none_or(is_far) {
                    self.checkpoints.push(Checkpoint { offset, index: self.window.end() });
                }
                return each(&mut self, last);
            }
            let mut parts = chunk.chunks(DECODED).peekable();
            while let Some(part) = parts.next() {
                let last = last && parts.peek().is_none();
                decoder.feed(part, last, &mut piece);
                self.pass_decoded(&piece);
                self.raw.push_decoded(&piece);
                self.advance(last);
                if !each(&mut self, last) {
                    return false;
                }
            }
            true
        })?;
        Ok(self.checkpoints)
    }

    /// Sets `raw` of the landmarks that lie in the bytes that are about to be pushed.
    fn pass_linear(&mut self, offset: u64, length: usize) {
        let (from, end) = (self.raw.end(), offset + length as u64);
        for landmark in self.landmarks.iter_mut().filter(|landmark| landmark.raw.is_none()) {
            if (offset..end).contains(&landmark.offset) {
                landmark.raw = Some(from + (landmark.offset - offset));
            }
        }
    }

    /// Does what [`Text::pass_linear`] does, for decoded text.
    fn pass_decoded(&mut self, piece: &Decoded) {
        let from = self.raw.end();
        for landmark in self.landmarks.iter_mut().filter(|landmark| landmark.raw.is_none()) {
            if piece.end() <= landmark.offset {
                continue;
            }
            let reaches = |seam: Option<Seam>| seam.is_some_and(|seam| seam.offset >= landmark.offset);
            let first = piece.seams().find(|(_, _, after)| reaches(*after));
            landmark.raw = first.map(|(index, _, _)| from + index as u64);
        }
    }

    /// Moves text that has been read from `raw` into the window, as far as it is certain.
    fn advance(&mut self, last: bool) {
        let hold = self.held_back(last);
        if last && self.unterminated {
            self.normalise_lines(hold);
            self.end_line(hold, hold);
        } else {
            self.normalise(hold);
        }
        self.raw.forget(self.moved);
    }

    /// Returns the index up to which the text read so far can be moved: a CR or blanks at its end may belong
    /// to a line end that follows.
    fn held_back(&self, last: bool) -> u64 {
        if last || self.verbatim {
            return self.raw.end();
        }
        let held = self
            .raw
            .text
            .iter()
            .rev()
            .take(LONGEST_BLANKS)
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        self.raw.end() - held.count() as u64
    }

    fn normalise(&mut self, hold: u64) {
        self.normalise_lines(hold);
        self.pass(hold, hold);
        self.window.push_part(&self.raw, self.moved..hold);
        self.moved = hold;
    }

    /// Moves the complete lines before `hold` into the window.
    fn normalise_lines(&mut self, hold: u64) {
        if !self.verbatim {
            let terminator = if self.convention == Convention::Cr { b'\r' } else { b'\n' };
            while let Some(at) = memchr::memchr(terminator, self.raw.slice(self.moved..hold)) {
                let mut text_end = self.moved + at as u64;
                let after = text_end + 1;
                if self.convention == Convention::Lf && self.raw.slice(self.moved..text_end).ends_with(b"\r")
                {
                    text_end -= 1;
                }
                self.end_line(text_end, after);
            }
        }
    }

    /// Moves a line into the window: its text, which ends at `text_end`, and a `\n` for its terminator. The
    /// next line begins at `after`.
    fn end_line(&mut self, text_end: u64, after: u64) {
        let mut kept = text_end;
        if self.tier == Tier::TrailingWhitespace {
            let text = self.raw.slice(self.moved..text_end);
            kept -= text.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count() as u64;
        }
        self.pass(kept, after);
        self.window.push_part(&self.raw, self.moved..kept);
        let (terminator, blanks) = (self.raw.spot(text_end), self.raw.spot(kept));
        let sides =
            |spot: Option<TextPosition>| (spot.and_then(|spot| spot.begin), spot.and_then(|spot| spot.end));
        let (begin, end) = sides(terminator);
        self.window.set(begin, end);
        if let Some(spot) = self.window.spots.back_mut() {
            spot.before_blanks = Some(sides(blanks));
        }
        self.window.text.push(b'\n');
        if let Some(spot) = self.raw.spot(after) {
            self.window.set(spot.begin, spot.end);
        }
        self.moved = after;
    }

    /// Sets `index` of the landmarks before `after`. The text up to `kept` is about to be moved to the
    /// window.
    fn pass(&mut self, kept: u64, after: u64) {
        let (from, to) = (self.moved, self.window.end());
        for landmark in self.landmarks.iter_mut().filter(|landmark| landmark.index.is_none()) {
            if let Some(raw) = landmark.raw.filter(|raw| *raw < after) {
                landmark.index = Some(to + raw.clamp(from, kept) - from);
            }
        }
    }
}

/// Looks up the offsets in the file of `indices`, which are sorted and distinct. Reads the text again, from
/// the last checkpoint before the first index to the last index. Reads nothing if the file's bytes are
/// compared without conversion.
pub(super) fn locate<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    tier: Tier,
    checkpoints: &[Checkpoint],
    indices: &[u64],
) -> Result<Vec<LocatedPosition>, S::Error> {
    let mut text = Text::new(file.scan, tier, true);
    let mut found = Vec::with_capacity(indices.len());
    if text.verbatim {
        let Range { start, end } = text.bytes;
        found.extend(indices.iter().map(|index| {
            let offset = start.saturating_add(*index).min(end);
            let seam = Some(Seam::ascii(offset));
            let spot = Some(TextPosition { index: *index, begin: seam, end: seam, before_blanks: None });
            LocatedPosition { spot, near: offset }
        }));
        return Ok(found);
    }
    let first = indices.first().map_or(0, |first| first.saturating_sub(BEFORE));
    let after = checkpoints.partition_point(|checkpoint| checkpoint.index <= first);
    if let Some(checkpoint) = after.checked_sub(1).and_then(|last| checkpoints.get(last)) {
        text = text.starting_at(*checkpoint);
    }
    let mut wanted = indices.iter().copied().peekable();
    text.read(file, |text, last| {
        let window = &mut text.window;
        // The place at the end of the window is known only when more text has come, or the text has ended.
        while let Some(index) = wanted.next_if(|index| last || *index < window.end()) {
            found.push(LocatedPosition { spot: window.spot(index), near: window.near(index) });
        }
        let next = wanted.peek().copied().unwrap_or(u64::MAX);
        window.forget(next.min(window.end()).saturating_sub(BEFORE));
        next != u64::MAX
    })?;
    // Places are missing only in a file that shrinks while it is read.
    let end = file.scan.lines.bytes().end;
    found.resize(indices.len(), LocatedPosition { spot: None, near: end });
    Ok(found)
}
