//! The way from bytes of a fuzzer to an input: text from the front, as it is, so that a kept file can be read
//! and written by hand; numbers from the end, where losing some changes little.

use mcp_text_editor_core::encoding::{Encoding, Label};

/// Stands between texts of one input: U+001F, "unit separator".
const SEPARATOR: u8 = 0x1F;

/// The encodings that are tried, each way to decode among them. A file's last bytes choose by place, so new
/// ones come last.
const ENCODINGS: &[&str] = &[
    "utf-8",
    "utf-16le",
    "utf-16be",
    "utf-32le",
    "utf-32be",
    "latin1",
    "ascii",
    "shift_jis",
    "euc-jp",
    "iso-2022-jp",
    "gbk",
    "gb18030",
    "big5",
    "euc-kr",
    "windows-1252",
    "koi8-r",
    "windows-874",
    "iso-8859-8",
];

/// The rest of an input.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    /// Returns the last byte; 0 when there is none.
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&last, rest)) = self.0.split_last() else { return 0 };
        self.0 = rest;
        last
    }

    /// Returns a number below `bound`, which is not 0: of one byte, or two where one is not enough.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let low = usize::from(self.byte());
        let number = if bound > 256 { low | usize::from(self.byte()) << 8 } else { low };
        number % bound
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Returns one of [`ENCODINGS`].
    pub(crate) fn encoding(&mut self) -> Encoding {
        let label = Label::parse(ENCODINGS[self.below(ENCODINGS.len())]);
        label.expect("a name that the core knows").encoding
    }

    /// Draws no label, or one of [`ENCODINGS`].
    pub(crate) fn label(&mut self) -> Option<Encoding> {
        let label = match self.below(ENCODINGS.len() + 1) {
            0 => return None,
            number => Label::parse(ENCODINGS[number - 1]),
        };
        Some(label.expect("a name that the core knows").encoding)
    }

    /// Sizes of chunks, one after the other for ever; at least every third is not 0.
    pub(crate) fn chunk_sizes(&mut self) -> impl Iterator<Item = usize> + Clone + use<> {
        let sizes = [self.below(300), self.below(8), self.below(5) + 1];
        sizes.into_iter().cycle()
    }

    /// Returns all that is left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }

    /// Returns all that is left as texts, so many; those that are missing are empty, and what is too much is
    /// part of the last.
    pub(crate) fn texts<const MANY: usize>(self) -> [String; MANY] {
        let mut parts = self.0.splitn(MANY, |byte| *byte == SEPARATOR);
        [(); MANY].map(|()| String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned())
    }

    /// Returns all that is left as texts, however many there are.
    pub(crate) fn all_texts(self) -> Vec<String> {
        self.0
            .split(|byte| *byte == SEPARATOR)
            .map(|part| String::from_utf8_lossy(part).into_owned())
            .collect()
    }
}

/// Cuts `bytes` into chunks of these sizes; the last may be shorter.
pub(crate) fn chunks(bytes: &[u8], sizes: impl Iterator<Item = usize>) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut chunks = Vec::new();
    for size in sizes {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}
