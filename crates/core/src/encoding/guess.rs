//! Guesses the encoding of bytes that do not decode, only for an error message: no file is read or written in
//! a guessed encoding.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{BIG5, EUC_JP, EUC_KR, GBK, SHIFT_JIS, UTF_8};

use super::kind::Encoding;
use super::stream::StreamDecoder;

/// The minimum number of non-ASCII characters for a guess. For Chinese, Japanese and Korean, 41 to 88 % of
/// the guesses from two characters are right, and 97 to 100 % of the guesses from eight.
const MIN_EVIDENCE: u64 = 8;

/// Guesses the encoding of a file from all of its bytes with Firefox's detector (`chardetng`), but is
/// stricter.
#[derive(Debug)]
pub struct Guesser {
    detector: Detector,
    /// The multi-byte encodings that can be guessed. Each decodes the bytes, too, because the detector's own
    /// notion of valid bytes differs a little from the tables.
    candidates: Vec<Candidate>,
    high_bytes: u64,
    /// The byte values above 0x7F that occurred, a bit for each.
    high_values: u128,
    utf8: Utf8,
}

/// The evidence for UTF-8, and against it.
#[derive(Debug, Default)]
struct Utf8 {
    /// The last bytes so far, if they may be the beginning of a character.
    open: Vec<u8>,
    /// The number of non-ASCII characters.
    characters: u64,
    /// The number of bytes that belong to no character.
    strays: u64,
}

/// The invalid bytes of a text that otherwise is UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strays {
    /// The number of these bytes.
    pub count: u64,
    /// Whether the text ends inside a character, and the bytes are the beginning of that character.
    pub is_cut: bool,
}

/// Wraps `EncodingDetector`, which does not implement `Debug`.
struct Detector(EncodingDetector);

impl std::fmt::Debug for Detector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EncodingDetector")
    }
}

#[derive(Debug)]
struct Candidate {
    table: &'static encoding_rs::Encoding,
    stream: StreamDecoder,
    characters: u64,
}

impl Default for Guesser {
    fn default() -> Self {
        Self::new()
    }
}

impl Guesser {
    /// Returns a guesser to which no bytes have been fed yet.
    #[must_use]
    pub fn new() -> Self {
        let candidate = |table| {
            let encoding = if table == UTF_8 { Encoding::Utf8 } else { Encoding::Legacy(table) };
            Candidate { table, stream: StreamDecoder::new(encoding), characters: 0 }
        };
        Self {
            // ISO-2022-JP has only ASCII bytes, so a file that did not decode because of another byte is
            // never ISO-2022-JP.
            detector: Detector(EncodingDetector::new(Iso2022JpDetection::Deny)),
            candidates: [UTF_8, SHIFT_JIS, EUC_JP, EUC_KR, BIG5, GBK].map(candidate).into(),
            high_bytes: 0,
            high_values: 0,
            utf8: Utf8::default(),
        }
    }

    /// Takes the next bytes. All of the file should be fed, not only its head.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.detector.0.feed(chunk, false);
        self.utf8.feed(chunk);
        for byte in chunk.iter().filter(|byte| !byte.is_ascii()) {
            self.high_bytes += 1;
            self.high_values |= 1 << (byte & 0x7F);
        }
        for candidate in &mut self.candidates {
            candidate.feed(chunk, false);
        }
    }

    /// Returns the invalid bytes of a text that otherwise is UTF-8; `None` if there are none, or if they
    /// outnumber the valid non-ASCII characters and are not only a cut character at the end.
    #[must_use]
    pub fn strays(&self) -> Option<Strays> {
        let open = self.utf8.open.len() as u64;
        let count = self.utf8.strays + open;
        let is_cut = self.utf8.strays == 0;
        (count > 0 && (is_cut || self.utf8.characters >= count)).then_some(Strays { count, is_cut })
    }

    /// Returns the encoding that the bytes look like. Returns `None` if there is too little evidence (fewer
    /// than eight characters that are not ASCII), if valid UTF-8 characters speak against that encoding, if
    /// the bytes do not decode in it, or if it is a single-byte encoding in which bytes above 0x7F would be
    /// control characters.
    #[must_use]
    pub fn finish(mut self) -> Option<Encoding> {
        self.detector.0.feed(b"", true);
        let guess = self.detector.0.guess(None, Utf8Detection::Allow);
        if guess != UTF_8 && self.utf8.speaks_against(guess) {
            return None;
        }
        let Some(candidate) = self.candidates.iter_mut().find(|candidate| candidate.table == guess) else {
            return self.single_byte(guess);
        };
        if !candidate.feed(b"", true) {
            return None;
        }
        // Bytes are rarely valid UTF-8 by chance. So for a guess of UTF-8, bytes count as evidence instead of
        // characters.
        let (encoding, evidence) = if guess == UTF_8 {
            (Encoding::Utf8, self.high_bytes)
        } else {
            (Encoding::Legacy(guess), candidate.characters)
        };
        (evidence >= MIN_EVIDENCE).then_some(encoding)
    }

    /// Returns `guess` if every byte above 0x7F is a printable character in it. Decoding is not enough,
    /// because the standard's tables map bytes without a meaning to C1 controls.
    fn single_byte(&self, guess: &'static encoding_rs::Encoding) -> Option<Encoding> {
        let encoding = Encoding::Legacy(guess);
        let mut high = (0x80..=0xFF).filter(|byte| self.high_values >> (byte & 0x7F) & 1 == 1);
        let printable =
            |byte: u8| encoding.decode(&[byte]).is_ok_and(|text| !text.contains(char::is_control));
        let fits = high.all(printable);
        (fits && self.high_bytes >= MIN_EVIDENCE).then_some(encoding)
    }
}

impl Utf8 {
    fn feed(&mut self, chunk: &[u8]) {
        self.open.extend_from_slice(chunk);
        let bytes = std::mem::take(&mut self.open);
        let mut parts = bytes.utf8_chunks().peekable();
        while let Some(part) = parts.next() {
            self.characters += part.valid().chars().filter(|character| !character.is_ascii()).count() as u64;
            // A character that is incomplete at the end of the chunk may continue in the next one.
            let is_open = parts.peek().is_none()
                && str::from_utf8(part.invalid()).is_err_and(|error| error.error_len().is_none());
            if is_open {
                part.invalid().clone_into(&mut self.open);
            } else {
                self.strays += part.invalid().len() as u64;
            }
        }
    }

    /// Whether the characters that are valid UTF-8 speak against another encoding. Texts in encodings for
    /// western or central Europe hardly ever have the bytes of such a character side by side. In other
    /// encodings, one such character for two other bytes may occur by chance.
    fn speaks_against(&self, guess: &'static encoding_rs::Encoding) -> bool {
        const APART: [&str; 5] =
            ["windows-1250", "windows-1252", "windows-1254", "windows-1257", "windows-1258"];
        let is_apart = APART.contains(&guess.name()) || guess.name().starts_with("ISO-8859-2");
        if is_apart {
            self.characters > 0
        } else {
            self.characters * 2 > self.strays + self.open.len() as u64
        }
    }
}

impl Candidate {
    /// Takes the next bytes. Returns whether all bytes so far decode.
    fn feed(&mut self, chunk: &[u8], last: bool) -> bool {
        let characters = &mut self.characters;
        let count = |piece: &str| {
            *characters += piece.chars().filter(|character| !character.is_ascii()).count() as u64;
        };
        self.stream.feed(chunk, last, count).is_ok()
    }
}
