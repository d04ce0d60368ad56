//! The source of a file's bytes: [`Source`]. This crate opens no files: it implements [`Source`] for byte
//! slices, and the crate that opens files implements it for files.

use std::convert::Infallible;
use std::ops::Range;

/// Bytes that can be read at any offset, counted in bytes from 0.
///
/// A source can shrink while it is read. Then reads return fewer bytes, and whatever is computed from them is
/// worthless. The caller can find out that the file has changed, and must discard the result.
pub trait Source {
    /// The error of a read that failed; [`Infallible`] for bytes in memory.
    type Error;

    /// Returns the number of bytes at the time when the source was created.
    fn size(&self) -> u64;

    /// Fills `buffer` with the bytes from `offset` on, and returns their number. It is less than the length
    /// of the buffer only if the source ends there, and 0 at the end and beyond.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error>;

    /// Reads as [`Source::read_at`] does, and returns the part of `buffer` that was filled.
    fn read_into<'b>(&self, offset: u64, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Self::Error> {
        let length = self.read_at(offset, buffer)?;
        Ok(buffer.get_mut(..length).unwrap_or_default())
    }
}

impl Source for [u8] {
    type Error = Infallible;

    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.get(start..)).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), rest.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(length)
    }
}

impl<S: Source + ?Sized> Source for &S {
    type Error = S::Error;

    fn size(&self) -> u64 {
        (**self).size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, S::Error> {
        (**self).read_at(offset, buffer)
    }
}

/// A copy in memory of consecutive bytes of a source. Its offsets are those of the source. At offsets outside
/// the copy, a read returns no bytes.
pub(crate) struct Window {
    start: u64,
    bytes: Vec<u8>,
    size: u64,
}

impl Window {
    /// Reads the bytes of `range`. The caller makes sure that they fit into memory.
    pub(crate) fn new<S: Source + ?Sized>(source: &S, range: Range<u64>) -> Result<Self, S::Error> {
        let (start, size) = (range.start, source.size());
        Ok(Self { start, bytes: read_range(source, range)?, size })
    }

    /// Returns the bytes at these offsets, as far as the window has them.
    pub(crate) fn get(&self, range: Range<u64>) -> &[u8] {
        let place = |offset: u64| usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.bytes.get(place(range.start)..place(range.end).min(self.bytes.len())).unwrap_or_default()
    }
}

impl Source for Window {
    type Error = Infallible;

    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        offset.checked_sub(self.start).map_or(Ok(0), |offset| self.bytes.as_slice().read_at(offset, buffer))
    }
}

/// The maximum bytes that are read at a time.
pub const CHUNK: usize = 256 * 1024;

/// Calls `each` with the offset and the bytes of each chunk of `range`, in order, until `each` returns false.
/// A chunk has at most [`CHUNK`] bytes and is never empty. Stops early if the source ends, and fails only if
/// the source does.
pub fn for_each_chunk<S: Source + ?Sized>(
    source: &S,
    range: Range<u64>,
    mut each: impl FnMut(u64, &[u8]) -> bool,
) -> Result<(), S::Error> {
    let mut offset = range.start;
    let mut buffer = vec![0; chunk_length(range.end.saturating_sub(offset))];
    while offset < range.end {
        let want = chunk_length(range.end - offset);
        let Some(part) = buffer.get_mut(..want) else { break };
        let chunk = source.read_into(offset, part)?;
        if chunk.is_empty() || !each(offset, chunk) {
            break;
        }
        offset += chunk.len() as u64;
    }
    Ok(())
}

/// Reads the bytes of `range`. The caller makes sure that they fit into memory. Returns fewer if the source
/// ends before the range does, and fails only if the source does.
pub fn read_range<S: Source + ?Sized>(source: &S, range: Range<u64>) -> Result<Vec<u8>, S::Error> {
    let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    if length <= CHUNK {
        let mut bytes = vec![0; length];
        let length = source.read_at(range.start, &mut bytes)?;
        bytes.truncate(length);
        return Ok(bytes);
    }
    let mut bytes = Vec::new();
    for_each_chunk(source, range, |_, chunk| {
        bytes.extend_from_slice(chunk);
        true
    })?;
    Ok(bytes)
}

fn chunk_length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(CHUNK).min(CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_a_source_has_its_size_and_its_offsets() {
        let bytes = b"one two three".as_slice();
        let window = Window::new(bytes, 4..7).unwrap();
        assert_eq!((Source::size(&bytes), Source::size(&window)), (13, 13));
        assert_eq!(read_range(&bytes, 4..7).as_deref(), Ok(b"two".as_slice()));
        assert_eq!(read_range(&window, 4..7).as_deref(), Ok(b"two".as_slice()));
        assert_eq!(read_range(&window, 5..13).as_deref(), Ok(b"wo".as_slice()), "the rest is missing");
        assert_eq!(read_range(&window, 0..7).as_deref(), Ok(b"".as_slice()));
    }

    #[test]
    fn a_range_may_end_far_behind_its_source() {
        assert_eq!(read_range(b"abc".as_slice(), 1..u64::MAX).as_deref(), Ok(b"bc".as_slice()));
        assert_eq!(read_range(b"abc".as_slice(), 3..4).as_deref(), Ok(b"".as_slice()));
    }
}
