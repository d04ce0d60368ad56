//! Converts the bytes of a file to the text that is searched, which is also the text that a read shows: UTF-8
//! without a byte order mark, where each line end is one LF.

use mcp_text_editor_core::encoding::{CodeUnit, Encoding, Validator, sniff_bom};
use mcp_text_editor_core::line_ending::Convention;

use crate::search::skipped::Cause;

/// The encoding of a file, and the length of its byte order mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TextForm {
    pub(crate) encoding: Encoding,
    /// The number of bytes of the byte order mark; 0 if there is none.
    pub(crate) start: usize,
}

impl TextForm {
    /// Determines the form from the first four bytes (all bytes of a shorter file), and from the request's
    /// encoding.
    pub(crate) fn of(head: &[u8], label: Option<Encoding>) -> Self {
        let marked = sniff_bom(head).filter(|_| label.is_none_or(Encoding::is_unicode));
        let encoding = marked.or(label).unwrap_or(Encoding::Utf8);
        Self { encoding, start: marked.map_or(0, |marked| marked.bom().len()) }
    }
}

/// Returns the text of a whole file, and whether it differs from the file's bytes after the byte order mark.
/// A text that differs is in `buffer`. For a file that is searched as UTF-8, this function does not check
/// that the bytes are UTF-8. The caller does so with [`is_utf8`] once something was found.
pub(crate) fn of_bytes<'a>(
    raw: &'a [u8],
    form: TextForm,
    buffer: &'a mut Vec<u8>,
) -> Result<(&'a [u8], bool), Cause> {
    let body = raw.get(form.start..).unwrap_or_default();
    if form.encoding.unit() == CodeUnit::Byte && memchr::memchr(0, body).is_some() {
        return Err(Cause::Binary);
    }
    buffer.clear();
    if form.encoding == Encoding::Utf8 {
        if memchr::memchr(b'\r', body).is_none() {
            return Ok((body, false));
        }
        buffer.extend_from_slice(body);
    } else {
        let text = form.encoding.decode(body).map_err(|_| Cause::NotDecoded)?;
        *buffer = text.into_owned().into_bytes();
    }
    let convention = if memchr::memchr(b'\n', buffer).is_some() { Convention::Lf } else { Convention::Cr };
    let mut ends = LineEnds::new(convention);
    let length = ends.normalise(buffer);
    buffer.truncate(length);
    if ends.finish() {
        buffer.push(b'\r');
    }
    Ok((buffer, true))
}

/// Tells whether bytes without a byte order mark are UTF-8.
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    let mut validator = Validator::new(Encoding::Utf8);
    validator.feed(bytes);
    validator.finish().is_none()
}

/// Converts each line end of a text to one LF, in place. The text is passed in pieces.
#[derive(Debug)]
pub(crate) struct LineEnds {
    convention: Convention,
    /// Whether the last piece ended in a CR, which is held back until the next byte is known.
    has_cr: bool,
}

impl LineEnds {
    pub(crate) fn new(convention: Convention) -> Self {
        Self { convention, has_cr: false }
    }

    /// Tells whether the lines of the text end in CR alone.
    pub(crate) fn are_cr(&self) -> bool {
        self.convention == Convention::Cr
    }

    /// Tells whether the next piece must begin with the CR that was held back.
    pub(crate) fn has_cr(&self) -> bool {
        self.has_cr
    }

    /// Converts the line ends of a piece, and returns the piece's new length. If [`has_cr`](Self::has_cr) was
    /// true, the piece must begin with that CR.
    pub(crate) fn normalise(&mut self, piece: &mut [u8]) -> usize {
        if self.convention == Convention::Cr {
            piece.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
            return piece.len();
        }
        self.has_cr = false;
        let Some(first) = memchr::memchr(b'\r', piece) else { return piece.len() };
        let (mut from, mut to) = (first, first);
        while from < piece.len() {
            // At `from` is a CR. It is dropped if an LF follows, and held back if the piece ends here.
            match piece.get(from + 1) {
                None => {
                    self.has_cr = true;
                    break;
                }
                Some(b'\n') => from += 1,
                Some(_) => {}
            }
            // The byte at `from` (the CR or the LF) stays, with all bytes up to the next CR.
            let rest = piece.get(from + 1..).unwrap_or_default();
            let next = memchr::memchr(b'\r', rest).map_or(piece.len(), |at| from + 1 + at);
            piece.copy_within(from..next, to);
            to += next - from;
            from = next;
        }
        to
    }

    /// Tells whether a CR is still held back at the end of the text.
    pub(crate) fn finish(&mut self) -> bool {
        std::mem::take(&mut self.has_cr)
    }
}
