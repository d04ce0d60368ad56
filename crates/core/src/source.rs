//! Where bytes come from, once a [`crate::scan::Scan`] has said where to look. The core never opens anything: a file
//! implements [`Source`] in the store, a byte slice implements it here.

use std::convert::Infallible;
use std::ops::Range;

/// Bytes that can be read at any offset.
///
/// A source may shrink while it is read; then reads come back short and the caller, who knows the file's identity,
/// must throw the result away.
pub trait Source {
    /// Why a read failed.
    type Error;

    /// How many bytes there were when the source was made.
    fn size(&self) -> u64;

    /// Fills `buffer` from `offset` on and returns how many bytes it got: fewer than asked only at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error>;
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

/// How many bytes are read at a time.
pub const CHUNK: usize = 256 * 1024;

/// Calls `each` with the bytes of `range`, in order, in chunks of at most [`CHUNK`] and with the offset of each, until
/// it returns `false`.
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
        let got = source.read_at(offset, part)?;
        if got == 0 || !each(offset, part.get(..got).unwrap_or_default()) {
            break;
        }
        offset += got as u64;
    }
    Ok(())
}

/// The bytes of `range`, which the caller knows to be small.
pub fn read_range<S: Source + ?Sized>(source: &S, range: Range<u64>) -> Result<Vec<u8>, S::Error> {
    let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    if length <= CHUNK {
        let mut bytes = vec![0; length];
        let got = source.read_at(range.start, &mut bytes)?;
        bytes.truncate(got);
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
