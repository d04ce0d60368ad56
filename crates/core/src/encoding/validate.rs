//! Checks whether a file decodes, chunk by chunk.

use super::kind::Encoding;
use super::stream::StreamDecoder;

/// Checks that bytes decode, without keeping them.
///
/// The result is the same as that of [`Encoding::decode`], however the bytes are cut into chunks.
#[derive(Debug)]
pub struct Validator {
    /// `None` for an encoding in which every byte decodes.
    stream: Option<StreamDecoder>,
}

impl Validator {
    /// Returns a validator to which no bytes have been fed yet.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        Self { stream: (encoding != Encoding::Latin1).then(|| StreamDecoder::new(encoding)) }
    }

    /// Takes the next bytes. Costs nothing after the first bytes that do not decode.
    pub fn feed(&mut self, chunk: &[u8]) {
        if let Some(stream) = &mut self.stream {
            // The stream remembers its failure, and returns it again in `finish`.
            let _ = stream.feed(chunk, false, |_| ());
        }
    }

    /// Returns the offset, in bytes from the first one fed, of the first sequence that does not decode;
    /// `None` if all do. An incomplete character at the end does not decode.
    #[must_use]
    pub fn finish(self) -> Option<u64> {
        self.stream?.feed(b"", true, |_| ()).err()
    }
}
