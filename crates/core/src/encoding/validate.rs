//! Whether a whole file decodes, told while it streams by.

use super::kind::Encoding;
use super::stream::Stream;

/// Checks that bytes decode, without keeping them.
///
/// However the bytes are cut into chunks, the answer is that of one chunk, and that of [`Encoding::decode`].
#[derive(Debug)]
pub struct Validator {
    /// `None` where every byte decodes.
    stream: Option<Stream>,
}

impl Validator {
    /// A validator that has seen nothing yet.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        Self { stream: (encoding != Encoding::Latin1).then(|| Stream::new(encoding)) }
    }

    /// Looks at the next bytes; at none after the first that do not decode.
    pub fn feed(&mut self, chunk: &[u8]) {
        if let Some(stream) = &mut self.stream {
            // The stream remembers its failure and gives it again in `finish`.
            let _ = stream.feed(chunk, false, |_| ());
        }
    }

    /// Where the first sequence starts that does not decode, counted from the first byte fed; `None` where all do. Half
    /// a character at the end does not decode.
    #[must_use]
    pub fn finish(self) -> Option<u64> {
        self.stream?.feed(b"", true, |_| ()).err()
    }
}
