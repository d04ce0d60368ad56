//! Decodes a whole input at once, or a file in pieces with positions. These tell where in the file each
//! boundary between two characters of the text lies.
//!
//! Positions are kept as runs of characters of the same width, not for each character: UTF-8 is always one
//! run. In a stateful encoding, escape sequences may stand between two characters. The boundary then has two
//! sides: before and after them.
//!
//! Encodes text, with proof: the bytes decode to exactly the same text, or encoding fails.
//!
//! `encoding_rs` by itself writes `&#233;` for characters that it cannot express, silently turns ¥ into a
//! backslash in `Shift_JIS`, and widens half-width katakana in ISO-2022-JP. So its output is decoded again
//! and compared.

use std::borrow::Cow;

use encoding_rs as w;
use encoding_rs::EncoderResult;

use super::kind::{CodeUnit, Encoding, Undecodable, Unencodable};
use super::stream::StreamDecoder;
use super::{kind, wide};

impl Encoding {
    /// Decodes `bytes`, which are a whole input: they begin in the initial state, and end with a whole
    /// character. A byte order mark is decoded like any other character. Text in UTF-8 is not copied.
    ///
    /// The error has the offset in `bytes` of the first sequence that does not decode.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, Undecodable> {
        if self == Self::Utf8 {
            let text = std::str::from_utf8(bytes);
            return text.map(Cow::Borrowed).map_err(|error| Undecodable { offset: error.valid_up_to() });
        }
        let mut text = String::with_capacity(bytes.len());
        match StreamDecoder::new(self).feed(bytes, true, |piece| text.push_str(piece)) {
            Ok(()) => Ok(Cow::Owned(text)),
            Err(offset) => Err(Undecodable { offset: usize::try_from(offset).unwrap_or(bytes.len()) }),
        }
    }
}

/// The state of ISO-2022-JP: the character set to which bytes belong. In every other encoding it is always
/// `Ascii`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shift {
    Ascii,
    Roman,
    Katakana,
    Kanji,
    /// The same table as `Kanji`, with its older escape sequence. It is a state of its own, so that an edit
    /// need not change the sequence.
    Kanji1978,
}

impl Shift {
    /// Returns the escape sequence that changes to this state.
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

/// A place between two characters of a file: an offset, and the state in which the bytes from there on are
/// read. [`Encoding::encode_between`] fits text between two such places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seam {
    /// The offset in the file, in bytes from 0.
    pub offset: u64,
    pub(super) shift: Shift,
}

impl Seam {
    /// Makes a place in the ASCII state, which is the state everywhere in an encoding that has no states.
    #[must_use]
    pub fn ascii(offset: u64) -> Self {
        Self { offset, shift: Shift::Ascii }
    }
}

/// Characters that follow each other without an escape sequence and all have the same width in the text, and
/// in the file.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The index in the text at which the first character starts. The run ends where the next run starts, or
    /// where the text ends.
    text: usize,
    /// The offset in the file at which the first character starts.
    file: u64,
    text_width: u8,
    file_width: u8,
    shift: Shift,
}

/// Text that a [`Decoder`] made of a chunk, and where it stands in the file. Indices are in bytes of `text`,
/// offsets in bytes of the file, both from 0.
#[derive(Debug)]
pub struct Decoded {
    /// The text, of whole characters; may be empty.
    pub text: String,
    /// The runs of the text, in order; the first starts at 0, and an empty text has none.
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
    /// Makes an empty value, for a [`Decoder`] to fill.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the offset at which an edit begins that replaces the text from `index` on. If escape sequences
    /// stand there, the offset is on the side of them where the state is ASCII; before them if it is ASCII on
    /// both sides. An escape sequence that stays next to new text can be an error by the WHATWG Encoding
    /// Standard. So check such an edit by decoding the result, or edit between seams instead.
    ///
    /// `None` if `index` is not at the beginning of a character or the end of the text; if it lies between
    /// two characters of one sequence of bytes (four sequences of Big5 stand for two characters each); or if
    /// neither side is in the ASCII state. In the last case use [`seam_before`](Self::seam_before).
    #[must_use]
    pub fn start_of_edit(&self, index: usize) -> Option<u64> {
        let (left, right) = self.gap(index)?;
        [left, right].into_iter().find(|seam| seam.shift == Shift::Ascii).map(|seam| seam.offset)
    }

    /// Returns the offset at which an edit ends that replaces the text before `index`. It is never less than
    /// [`start_of_edit`](Self::start_of_edit) at the same index, and `None` in the same cases, except that an
    /// edit can always end at the end of the file.
    #[must_use]
    pub fn end_of_edit(&self, index: usize) -> Option<u64> {
        let (left, right) = self.gap(index)?;
        if self.is_last && index == self.text.len() {
            return Some(right.offset);
        }
        [right, left].into_iter().find(|seam| seam.shift == Shift::Ascii).map(|seam| seam.offset)
    }

    /// Returns the end of the character before `index`, where an edit can begin in any state if its bytes are
    /// made by [`Encoding::encode_between`]. `None` in the first two cases of
    /// [`start_of_edit`](Self::start_of_edit); the state does not matter.
    #[must_use]
    pub fn seam_before(&self, index: usize) -> Option<Seam> {
        Some(self.gap(index)?.0)
    }

    /// Returns the start of the character at `index`, or the end of the file: an edit can end there as it can
    /// begin at [`seam_before`](Self::seam_before). `None` in the same cases.
    #[must_use]
    pub fn seam_after(&self, index: usize) -> Option<Seam> {
        let (_, mut right) = self.gap(index)?;
        if self.is_last && index == self.text.len() {
            // Nothing follows that needs another state, and a file should end in the ASCII state.
            right.shift = Shift::Ascii;
        }
        Some(right)
    }

    /// Returns the offset at which the last character ends.
    pub(crate) fn end(&self) -> u64 {
        self.end.offset
    }

    /// Iterates over the boundaries of the text, from the start of the first character to the end of the
    /// last, each with its index, its [`seam_before`](Self::seam_before) and its
    /// [`seam_after`](Self::seam_after), in one walk along the runs.
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

    /// Returns both sides of the boundary at `index`: the end of the character before it, and the start of
    /// the character after it.
    fn gap(&self, index: usize) -> Option<(Seam, Seam)> {
        if index == self.text.len() {
            return Some((self.end, self.after));
        }
        if !self.text.is_char_boundary(index) {
            return None;
        }
        self.gap_in(self.runs.partition_point(|run| run.text <= index), index)
    }

    /// Does the same as [`gap`](Self::gap) for the start of a character. `next` is the index of the first run
    /// that begins after that start.
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

    /// Removes the last character and returns it.
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
    /// Returns the place of the boundary at `index`, in the run or at its end; `None` inside a character.
    fn seam(&self, index: usize) -> Option<Seam> {
        let (distance, width) = (index.checked_sub(self.text)?, usize::from(self.text_width));
        let (characters, inside) = (distance.checked_div(width)?, distance.checked_rem(width)?);
        let offset = self.file + characters as u64 * u64::from(self.file_width);
        (inside == 0).then_some(Seam { offset, shift: self.shift })
    }
}

/// A character that is held back until the bytes after it are known.
#[derive(Debug)]
struct Held {
    character: char,
    seam: Seam,
    width: u8,
}

/// Decodes a file, or a part of a file that starts at a character, in chunks, and finds the place of each
/// character.
///
/// The bytes are known to decode. If they do not after all, because the file has changed since it was
/// checked, there is no text from that chunk on, and [`failed`](Self::failed) is true.
#[derive(Debug)]
pub struct Decoder {
    stream: StreamDecoder,
    widths: Widths,
    /// Whether the encoding is stateful. Then the last character of a chunk is held back until the next
    /// chunk, so that the escape sequences after each returned character are known.
    stateful: bool,
    held: Option<Held>,
    /// The place at which the last returned character ends.
    end: Seam,
    /// The offset of the next byte: for [`Widths::Alike`] and [`Widths::Units`], after the last whole
    /// character.
    offset: u64,
    failed: bool,
}

/// The way to find the number of bytes that a character takes in the file.
#[derive(Debug)]
enum Widths {
    /// It takes as many as in the text, which is UTF-8.
    Alike,
    /// The character determines the number.
    Units(CodeUnit),
    /// The bytes of the file determine the number.
    Sequences(Sequences),
}

impl Decoder {
    /// Makes a decoder that will be fed with the bytes of a file from the offset `base` on, where a character
    /// starts and a stateful encoding is in its ASCII state.
    #[must_use]
    pub fn new(encoding: Encoding, base: u64) -> Self {
        let widths = match encoding {
            Encoding::Utf8 => Widths::Alike,
            Encoding::Legacy(table) if !table.is_single_byte() => Widths::Sequences(Sequences::new(table)),
            _ => Widths::Units(encoding.unit()),
        };
        Self {
            stream: StreamDecoder::new(encoding),
            widths,
            stateful: encoding.is_stateful(),
            held: None,
            end: Seam { offset: base, shift: Shift::Ascii },
            offset: base,
            failed: false,
        }
    }

    /// Replaces the contents of `out` by the characters that `chunk` completes. They may have begun in the
    /// chunk before, and there may be none. `last` says that the input ends with this chunk; later chunks
    /// give no text.
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

    /// Tells whether bytes came that do not decode. Half a character at the end is noticed only with `last`.
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

    /// Places the characters of `out.text` from `known` on. `None` if the bytes and the text do not fit each
    /// other, which cannot happen.
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

/// Cuts bytes, known to be valid, into the sequences that stand for characters. This needs no tables.
#[derive(Debug)]
struct Sequences {
    form: Form,
    /// The number of bytes of the current sequence so far, and its full length, as far as these bytes tell.
    had: u8,
    needs: u8,
    /// The last byte.
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

    /// Takes the next byte. Returns the sequence that the byte ends, if the sequence stands for a character.
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
            Form::Big5 if lead == 0x88 && matches!(byte, 0x62 | 0x64 | 0xA3 | 0xA5) => {
                Some(Sequence { bytes, characters: 2 })
            }
            _ => Some(Sequence { bytes, characters: 1 }),
        }
    }

    /// Returns how many bytes a sequence has that begins with `byte`, as far as this byte tells.
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

impl Encoding {
    /// Encodes `text` to bytes that [`decode`](Self::decode) to it again, character for character. No byte
    /// order mark is added; in a stateful encoding the bytes begin and end in the ASCII state.
    ///
    /// The error names the first character that has no such bytes.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, Unencodable> {
        match self {
            Self::Utf8 | Self::Utf16Le | Self::Utf16Be | Self::Utf32Le | Self::Utf32Be => {
                Ok(wide::encode(self.unit(), text))
            }
            Self::Latin1 => kind::encode(text, 0xFF),
            Self::Ascii => kind::encode(text, 0x7F),
            Self::Legacy(table) => legacy(table, text),
        }
    }

    /// Encodes `text` to take the place of the bytes between `before` and `after`, two places of one file
    /// that a [`Decoder`] has found.
    ///
    /// In a stateful encoding the bytes begin and end with the escape sequences that lead from the state at
    /// `before` to the state at `after`. In other encodings this is the same as [`encode`](Self::encode).
    /// Fails as `encode` does.
    ///
    /// [`Decoder`]: super::Decoder
    pub fn encode_between(self, text: &str, before: Seam, after: Seam) -> Result<Vec<u8>, Unencodable> {
        let whole = self.encode(text)?;
        if !self.is_stateful() {
            return Ok(whole);
        }
        // The WHATWG Encoding Standard makes two escape sequences without a character between them an error.
        // So a sequence is left out if it changes nothing, or if another sequence follows it at once.
        let ascii = Shift::Ascii.escape();
        let body = whole.strip_suffix(ascii).unwrap_or(&whole);
        let mut bytes = Vec::with_capacity(whole.len() + 2 * ascii.len());
        match body.first() {
            None => {}
            Some(&ESCAPE) => {
                bytes.extend_from_slice(body.strip_prefix(before.shift.escape()).unwrap_or(body));
            }
            Some(_) => {
                if before.shift != Shift::Ascii {
                    bytes.extend_from_slice(ascii);
                }
                bytes.extend_from_slice(body);
            }
        }
        let last_escape = memchr::memrchr(ESCAPE, &bytes).and_then(|at| bytes.get(at..)?.get(..ascii.len()));
        if last_escape.unwrap_or(before.shift.escape()) != after.shift.escape() {
            bytes.extend_from_slice(after.shift.escape());
        }
        Ok(bytes)
    }
}

fn legacy(table: &'static encoding_rs::Encoding, text: &str) -> Result<Vec<u8>, Unencodable> {
    let (mut bytes, inexpressible) = encode_prefix(table, text);
    let prefix = text.get(..inexpressible.unwrap_or(text.len())).unwrap_or(text);
    if inexpressible.is_some() {
        // Encodes once more without that character, for the closing escape sequence.
        (bytes, _) = encode_prefix(table, prefix);
    }
    let mut back = String::with_capacity(prefix.len());
    let decoded =
        StreamDecoder::new(Encoding::Legacy(table)).feed(&bytes, true, |piece| back.push_str(piece));
    let same = decoded.is_ok() && back == prefix;
    if same && inexpressible.is_none() {
        return Ok(bytes);
    }
    let index = prefix.chars().zip(back.chars()).take_while(|(asked, got)| asked == got).count();
    let character = text.chars().nth(index).unwrap_or(char::REPLACEMENT_CHARACTER);
    Err(Unencodable { character, index })
}

/// Encodes `text` up to the first character that the table does not have. Also returns the byte index of that
/// character; `None` if the table has them all.
fn encode_prefix(table: &'static encoding_rs::Encoding, text: &str) -> (Vec<u8>, Option<usize>) {
    // Room for any one character and the escape sequences around it, so that each round makes progress.
    const ROOM: usize = 64;
    let mut encoder = table.new_encoder();
    let mut bytes = Vec::with_capacity(text.len() + ROOM);
    let mut done = 0;
    loop {
        let rest = text.get(done..).unwrap_or_default();
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        done += read;
        match result {
            EncoderResult::InputEmpty => return (bytes, None),
            EncoderResult::OutputFull => bytes.reserve(ROOM),
            EncoderResult::Unmappable(_) => {
                // The encoder counts the character as read. The character that its result names may be a
                // substitute.
                let read = text.get(..done).unwrap_or(text);
                let start = read.char_indices().next_back().map_or(0, |(start, _)| start);
                return (bytes, Some(start));
            }
        }
    }
}
