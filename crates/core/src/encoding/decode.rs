//! Decoding: a whole input at once, and a file in pieces with positions: text, and where in the file each boundary between two of its characters lies.
//!
//! Positions are runs of characters alike in width, not a table of all characters: UTF-8 is one run whatever it holds.
//! In a stateful encoding escape sequences may stand between two characters; a boundary then has two sides.

use encoding_rs as w;

use super::error::Undecodable;
use super::kind::{Encoding, Unit};
use super::stream::Stream;
use super::wide;

impl Encoding {
    /// The text of `bytes`, which are a whole input: from the initial state on, nothing half at the end. A byte order
    /// mark is a character like any other here.
    pub fn decode(self, bytes: &[u8]) -> Result<String, Undecodable> {
        let mut text = String::with_capacity(bytes.len());
        match Stream::new(self).feed(bytes, true, |piece| text.push_str(piece)) {
            Ok(()) => Ok(text),
            Err(offset) => Err(Undecodable { offset: usize::try_from(offset).unwrap_or(bytes.len()) }),
        }
    }
}

/// The character set that bytes stand for in ISO-2022-JP; everywhere else it is ASCII for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shift {
    Ascii,
    Roman,
    Katakana,
    Kanji,
    /// The same table; its older name is kept, so that an edit need not change it.
    Kanji1978,
}

impl Shift {
    /// The sequence that changes to it.
    pub(super) fn escape(self) -> &'static [u8] {
        match self {
            Self::Ascii => b"\x1B(B",
            Self::Roman => b"\x1B(J",
            Self::Katakana => b"\x1B(I",
            Self::Kanji => b"\x1B$B",
            Self::Kanji1978 => b"\x1B$@",
        }
    }
}

/// A place between two characters: an offset in the file, and the state that the bytes there are read in.
/// [`Encoding::encode_between`] fits text between two of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seam {
    /// The offset in the file.
    pub offset: u64,
    pub(super) shift: Shift,
}

impl Seam {
    /// A place where the state is ASCII, as it is anywhere in an encoding that has no states.
    #[must_use]
    pub fn ascii(offset: u64) -> Self {
        Self { offset, shift: Shift::Ascii }
    }
}

/// Characters, one after the other without an escape sequence, that are equally wide in the text and in the file.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where the first starts in the text; the run lasts to the next one, or to the end.
    text: usize,
    /// Where the first starts in the file.
    file: u64,
    text_width: u8,
    file_width: u8,
    shift: Shift,
}

/// Text that a [`Decoder`] made of a chunk, and where it stands in the file.
#[derive(Debug)]
pub struct Decoded {
    /// The text: whole characters.
    pub text: String,
    /// Sorted; the first starts at 0, unless there is no text.
    runs: Vec<Run>,
    /// The end of the character before the text.
    before: Seam,
    /// The end of the last character.
    end: Seam,
    /// The start of the character after the text, or the end of the file.
    after: Seam,
    /// Whether the text ends with the file.
    is_last: bool,
}

impl Default for Decoded {
    fn default() -> Self {
        let seam = Seam { offset: 0, shift: Shift::Ascii };
        Self { text: String::new(), runs: Vec::new(), before: seam, end: seam, after: seam, is_last: false }
    }
}

impl Decoded {
    /// An empty one, for a [`Decoder`] to fill.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Where in the file an edit begins that begins at `text[index..]`: the escape sequences before that are part of it
    /// as far as the state then is ASCII. Where new text is put next to an escape sequence that is not, the two may be an
    /// error by the WHATWG standard; such a splice is checked by decoding it, or made between seams instead.
    ///
    /// `None` where no character begins or the text ends at `index`, where two characters came from one sequence of
    /// bytes (four of Big5 do), and where no ASCII state is to be had; [`seam_before`](Self::seam_before) serves in that
    /// last case.
    #[must_use]
    pub fn start_of_edit(&self, index: usize) -> Option<u64> {
        let (left, right) = self.gap(index)?;
        [left, right].into_iter().find(|seam| seam.shift == Shift::Ascii).map(|seam| seam.offset)
    }

    /// Where in the file an edit ends that ends after `text[..index]`; the counterpart of
    /// [`start_of_edit`](Self::start_of_edit), never before it. The end of the file is always a place to end.
    #[must_use]
    pub fn end_of_edit(&self, index: usize) -> Option<u64> {
        let (left, right) = self.gap(index)?;
        if self.is_last && index == self.text.len() {
            return Some(right.offset);
        }
        [right, left].into_iter().find(|seam| seam.shift == Shift::Ascii).map(|seam| seam.offset)
    }

    /// The end of the character before `index`, from which an edit can begin in any state, if its bytes are made by
    /// [`Encoding::encode_between`]. `None` as in [`start_of_edit`](Self::start_of_edit), save for the state.
    #[must_use]
    pub fn seam_before(&self, index: usize) -> Option<Seam> {
        Some(self.gap(index)?.0)
    }

    /// The start of the character from `index` on, or the end of the file; the counterpart of
    /// [`seam_before`](Self::seam_before).
    #[must_use]
    pub fn seam_after(&self, index: usize) -> Option<Seam> {
        let (_, mut right) = self.gap(index)?;
        if self.is_last && index == self.text.len() {
            // Nothing follows that would need a state, and a file had better end in ASCII.
            right.shift = Shift::Ascii;
        }
        Some(right)
    }

    /// Where in the file its last character ends.
    pub(crate) fn end(&self) -> u64 {
        self.end.offset
    }

    /// Each boundary of the text with its [`seam_before`](Self::seam_before) and [`seam_after`](Self::seam_after), in
    /// order, from the start of the first character to the end of the last: one walk along the runs.
    pub(crate) fn seams(&self) -> impl Iterator<Item = (usize, Option<Seam>, Option<Seam>)> {
        let mut next = 0;
        let starts = self.text.char_indices().map(move |(index, _)| {
            while self.runs.get(next).is_some_and(|run| run.text <= index) {
                next += 1;
            }
            let (before, after) = self.gap_in(next, index).unzip();
            (index, before, after)
        });
        let end = self.text.len();
        starts.chain(std::iter::once((end, self.seam_before(end), self.seam_after(end))))
    }

    /// Both sides of the boundary at `index`: the end of the character before, the start of that after it.
    fn gap(&self, index: usize) -> Option<(Seam, Seam)> {
        if index == self.text.len() {
            return Some((self.end, self.after));
        }
        if !self.text.is_char_boundary(index) {
            return None;
        }
        self.gap_in(self.runs.partition_point(|run| run.text <= index), index)
    }

    /// As [`gap`](Self::gap), for the start of a character, where the first run that begins after it is known.
    fn gap_in(&self, next: usize, index: usize) -> Option<(Seam, Seam)> {
        let run = self.runs.get(next.checked_sub(1)?)?;
        let here = run.seam(index)?;
        if index > run.text {
            return Some((here, here));
        }
        let left = match next.checked_sub(2).and_then(|previous| self.runs.get(previous)) {
            Some(previous) => previous.seam(index)?,
            None => self.before,
        };
        Some((left, here))
    }

    fn clear(&mut self, before: Seam) {
        self.text.clear();
        self.runs.clear();
        (self.before, self.end, self.after) = (before, before, before);
        self.is_last = false;
    }

    /// Adds the position of the next character of the text, which starts at `text`.
    fn place(&mut self, text: usize, file: u64, text_width: u8, file_width: u8, shift: Shift) {
        let goes_on = self.runs.last().is_some_and(|run| {
            (run.text_width, run.file_width, run.shift) == (text_width, file_width, shift)
                && self.end.offset == file
        });
        if !goes_on {
            self.runs.push(Run { text, file, text_width, file_width, shift });
        }
        self.end = Seam { offset: file + u64::from(file_width), shift };
    }

    /// Takes the last character back off.
    fn hold_back(&mut self) -> Option<Held> {
        let (start, character) = self.text.char_indices().next_back()?;
        self.text.truncate(start);
        let run = *self.runs.last()?;
        let seam = run.seam(start)?;
        if run.text == start {
            self.runs.pop();
        }
        self.end = match self.runs.last() {
            Some(previous) => previous.seam(start)?,
            None => self.before,
        };
        Some(Held { character, seam, width: run.file_width })
    }
}

impl Run {
    /// The place of a boundary in it or at its end; `None` inside a character.
    fn seam(&self, index: usize) -> Option<Seam> {
        let (distance, width) = (index.checked_sub(self.text)?, usize::from(self.text_width));
        let (characters, inside) = (distance.checked_div(width)?, distance.checked_rem(width)?);
        let offset = self.file + characters as u64 * u64::from(self.file_width);
        (inside == 0).then_some(Seam { offset, shift: self.shift })
    }
}

/// A character of which it is not yet known what follows.
#[derive(Debug)]
struct Held {
    character: char,
    seam: Seam,
    width: u8,
}

/// Decodes a file, or a part of one that starts at a character, as chunks of it come; says where each character stands.
///
/// The bytes are known to decode. If they do not after all, because the file changed since it was checked, it makes no
/// more text from that chunk on, and [`failed`](Self::failed).
#[derive(Debug)]
pub struct Decoder {
    stream: Stream,
    widths: Widths,
    /// In a stateful encoding the last character is held back until the next one, so that the escape sequences after
    /// each character given out are known.
    stateful: bool,
    held: Option<Held>,
    /// Where the last character given out ends.
    end: Seam,
    /// The offset of the next byte: for [`Widths::Alike`] and [`Widths::Units`], after the last whole character.
    offset: u64,
    failed: bool,
}

/// How many bytes of the file each character takes.
#[derive(Debug)]
enum Widths {
    /// As many as in the text.
    Alike,
    /// To be seen from the character.
    Units(Unit),
    /// To be seen from the bytes.
    Sequences(Sequences),
}

impl Decoder {
    /// A decoder whose first byte will be the one at offset `base`.
    #[must_use]
    pub fn new(encoding: Encoding, base: u64) -> Self {
        let widths = match encoding {
            Encoding::Utf8 => Widths::Alike,
            Encoding::Legacy(table) if !table.is_single_byte() => Widths::Sequences(Sequences::new(table)),
            _ => Widths::Units(encoding.unit()),
        };
        Self {
            stream: Stream::new(encoding),
            widths,
            stateful: encoding.is_stateful(),
            held: None,
            end: Seam { offset: base, shift: Shift::Ascii },
            offset: base,
            failed: false,
        }
    }

    /// Replaces what is in `out` by the characters that `chunk` completes; they may have begun in the chunk before, and
    /// the text may be empty. `last` says that the input ends with this chunk; after it, there is no more text.
    pub fn feed(&mut self, chunk: &[u8], last: bool, out: &mut Decoded) {
        out.clear(self.end);
        if self.failed {
            return;
        }
        if self.fill(chunk, last, out).is_none() {
            self.failed = true;
            out.clear(self.end);
            return;
        }
        self.end = out.end;
    }

    /// Whether bytes came that do not decode. Half a character at the end is seen only with `last`.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.failed
    }

    fn fill(&mut self, chunk: &[u8], last: bool, out: &mut Decoded) -> Option<()> {
        if let Some(Held { character, seam, width }) = self.held.take() {
            out.text.push(character);
            out.place(0, seam.offset, utf8_width(character), width, seam.shift);
        }
        let known = out.text.len();
        self.stream.feed(chunk, last, |piece| out.text.push_str(piece)).ok()?;
        self.place(chunk, known, out)?;
        let shift = self.widths.shift();
        out.after = Seam { offset: self.offset, shift };
        out.is_last = last;
        if self.stateful && !last {
            self.held = out.hold_back();
            out.after = self.held.as_ref().map_or(out.end, |held| held.seam);
        } else if !self.stateful {
            out.after = out.end;
        }
        Some(())
    }

    /// Places the characters of `out.text` from `known` on. `None` where the bytes and the text do not fit each other,
    /// which cannot happen.
    fn place(&mut self, chunk: &[u8], known: usize, out: &mut Decoded) -> Option<()> {
        match &mut self.widths {
            Widths::Alike => {
                if !out.text.is_empty() {
                    out.runs.push(Run {
                        text: 0,
                        file: self.offset,
                        text_width: 1,
                        file_width: 1,
                        shift: Shift::Ascii,
                    });
                }
                self.offset += out.text.len() as u64;
                out.end.offset = self.offset;
            }
            Widths::Units(unit) => {
                let text = std::mem::take(&mut out.text);
                for (index, character) in text.char_indices() {
                    let width = wide::width(*unit, character);
                    out.place(index, self.offset, utf8_width(character), width, Shift::Ascii);
                    self.offset += u64::from(width);
                }
                out.text = text;
            }
            Widths::Sequences(sequences) => {
                let text = std::mem::take(&mut out.text);
                let mut characters = text.get(known..)?.chars();
                let mut index = known;
                for &byte in chunk {
                    self.offset += 1;
                    let Some(Sequence { bytes, characters: count }) = sequences.push(byte) else { continue };
                    let mut width = 0;
                    for _ in 0..count {
                        width += utf8_width(characters.next()?);
                    }
                    out.place(index, self.offset - u64::from(bytes), width, bytes, sequences.shift);
                    index += usize::from(width);
                }
                if characters.next().is_some() {
                    return None;
                }
                out.text = text;
            }
        }
        Some(())
    }
}

impl Widths {
    fn shift(&self) -> Shift {
        if let Self::Sequences(sequences) = self { sequences.shift } else { Shift::Ascii }
    }
}

fn utf8_width(character: char) -> u8 {
    match character {
        ..='\x7F' => 1,
        ..='\u{7FF}' => 2,
        ..='\u{FFFF}' => 3,
        _ => 4,
    }
}

/// Cuts bytes, known to be valid, into the sequences that stand for characters. The tables are not needed for that.
#[derive(Debug)]
struct Sequences {
    form: Form,
    /// How many bytes of the sequence came, and how many it has as far as they tell.
    had: u8,
    needs: u8,
    /// The byte that came before.
    previous: u8,
    shift: Shift,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    ShiftJis,
    EucJp,
    EucKr,
    Big5,
    Gb18030,
    Iso2022Jp,
}

struct Sequence {
    bytes: u8,
    characters: u8,
}

/// The first byte of an escape sequence.
pub(super) const ESCAPE: u8 = 0x1B;

impl Sequences {
    fn new(table: &'static encoding_rs::Encoding) -> Self {
        let form = if table == w::SHIFT_JIS {
            Form::ShiftJis
        } else if table == w::EUC_JP {
            Form::EucJp
        } else if table == w::ISO_2022_JP {
            Form::Iso2022Jp
        } else if table == w::GBK || table == w::GB18030 {
            Form::Gb18030
        } else if table == w::BIG5 {
            Form::Big5
        } else {
            Form::EucKr
        };
        Self { form, had: 0, needs: 1, previous: 0, shift: Shift::Ascii }
    }

    /// Takes the next byte; the sequence, if that ends one which stands for a character.
    fn push(&mut self, byte: u8) -> Option<Sequence> {
        let lead = std::mem::replace(&mut self.previous, byte);
        if self.had == 0 {
            self.needs = self.length(byte);
        } else if self.had == 1 && matches!(self.form, Form::Gb18030) {
            self.needs = if byte.is_ascii_digit() { 4 } else { 2 };
        }
        self.had += 1;
        if self.had < self.needs {
            return None;
        }
        let bytes = std::mem::take(&mut self.had);
        match self.form {
            Form::Iso2022Jp if bytes == 3 => {
                self.shift = match (lead, byte) {
                    (b'(', b'B') => Shift::Ascii,
                    (b'(', b'J') => Shift::Roman,
                    (b'(', b'I') => Shift::Katakana,
                    (b'$', b'@') => Shift::Kanji1978,
                    _ => Shift::Kanji,
                };
                None
            }
            // Ê and ê, each with a macron or a caron (WHATWG Encoding Standard, section 12.1.1).
            Form::Big5 if lead == 0x88 && matches!(byte, 0x62 | 0x64 | 0xA3 | 0xA5) && bytes == 2 => {
                Some(Sequence { bytes, characters: 2 })
            }
            _ => Some(Sequence { bytes, characters: 1 }),
        }
    }

    /// How many bytes a sequence has, by its first.
    fn length(&self, byte: u8) -> u8 {
        match (self.form, byte) {
            (Form::Iso2022Jp, ESCAPE) | (Form::EucJp, 0x8F) => 3,
            (Form::Iso2022Jp, _) if matches!(self.shift, Shift::Kanji | Shift::Kanji1978) => 2,
            (Form::ShiftJis, 0x81..=0x9F | 0xE0..=0xFC)
            | (Form::EucJp, 0x8E | 0xA1..=0xFE)
            | (Form::EucKr | Form::Big5 | Form::Gb18030, 0x81..=0xFE) => 2,
            _ => 1,
        }
    }
}
