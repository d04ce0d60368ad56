//! A reply that grows piece by piece, as long as the client shows it whole.

use crate::config::Output;
use crate::room::{Room, lines};

/// The room that is reserved for what stands at the end of a reply: where it was cut, and what was passed over.
pub(crate) const ROOM_FOR_NOTES: usize = 1_000;
/// The lines that are reserved for it.
const LINES_FOR_NOTES: u64 = 4;

/// The room that a reply has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sheet {
    room: Room,
    whole: usize,
    /// Bytes that the text of files may take, where that has room of its own.
    text: usize,
    lines: u64,
    is_empty: bool,
}

impl Sheet {
    /// Makes the room of a reply, less that for its notes.
    pub(crate) fn new(room: Room, output: Output) -> Self {
        let lines = match output {
            Output::Text => room.lines.saturating_sub(LINES_FOR_NOTES),
            Output::Json => u64::MAX,
        };
        let whole = room.whole.saturating_sub(ROOM_FOR_NOTES);
        Self { room, whole, text: room.text.unwrap_or(usize::MAX), lines, is_empty: true }
    }

    /// Whether nothing was taken yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Takes room for a piece. Returns false, and takes nothing, if there is not enough.
    pub(crate) fn take(&mut self, piece: &str) -> bool {
        let left = (
            self.whole.checked_sub(self.room.measure.of(piece)),
            self.text.checked_sub(piece.len()),
            self.lines.checked_sub(lines(piece)),
        );
        let (Some(whole), Some(text), Some(lines)) = left else { return false };
        (self.whole, self.text, self.lines, self.is_empty) = (whole, text, lines, false);
        true
    }

    /// Takes what room there is, for a piece that is shown in any case: the first, without which the reply would not
    /// go on.
    pub(crate) fn take_all(&mut self) {
        (self.whole, self.text, self.lines, self.is_empty) = (0, 0, 0, false);
    }
}
