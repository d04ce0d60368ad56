//! Cuts chunks of input into lines. [`line`](super::line) reads a line's content.

use memchr::memchr;

use crate::transport::scan::MessageScan;

/// The most bytes of a line's buffer that are kept for the next line.
const KEPT: usize = 1 << 20;

/// A line of the input, without its end.
#[derive(Debug)]
pub(super) enum Line<'a> {
    /// The whole line.
    Whole(&'a [u8]),
    /// It was longer than the limit, and only this scan of it was kept.
    TooLong(MessageScan),
}

/// Cuts input into lines of a limited length.
#[derive(Debug)]
pub(super) struct Framer {
    limit: usize,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    /// The scan of such a line that has passed the limit.
    skipped: Option<MessageScan>,
}

impl Framer {
    /// Cuts lines of at most `limit` bytes, their ends not counted.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, begun: Vec::new(), skipped: None }
    }

    /// Takes bytes from a chunk of input up to the end of its first line. Returns their number and, if the
    /// line has ended, the result of `read`.
    pub(super) fn take<T>(&mut self, chunk: &[u8], read: impl FnOnce(Line<'_>) -> T) -> (usize, Option<T>) {
        let end = memchr(b'\n', chunk);
        let (part, _) = chunk.split_at(end.unwrap_or(chunk.len()));
        if let Some(scan) = &mut self.skipped {
            scan.feed(part);
        } else if self.begun.len() + part.len() > self.limit {
            let mut scan = MessageScan::default();
            scan.feed(&std::mem::take(&mut self.begun));
            scan.feed(part);
            self.skipped = Some(scan);
        } else if end.is_some() && self.begun.is_empty() {
            return (part.len() + 1, Some(read(Line::Whole(part))));
        } else {
            self.begun.extend_from_slice(part);
        }
        if end.is_none() {
            return (part.len(), None);
        }
        (part.len() + 1, self.finish(read))
    }

    /// Ends the line that was begun, at the end of input. Returns the result of `read`; `None` if no line was
    /// begun.
    pub(super) fn finish<T>(&mut self, read: impl FnOnce(Line<'_>) -> T) -> Option<T> {
        if let Some(scan) = self.skipped.take() {
            return Some(read(Line::TooLong(scan)));
        }
        if self.begun.is_empty() {
            return None;
        }
        let out = read(Line::Whole(&self.begun));
        self.begun.clear();
        self.begun.shrink_to(KEPT);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the lines of an input, each ended by `|`; `#` and the ids for one that was too long.
    fn lines<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut framer = Framer::new(limit);
        let mut out = String::new();
        let mut read = |line: Line<'_>| match line {
            Line::Whole(line) => out.extend([&*String::from_utf8_lossy(line), "|"]),
            Line::TooLong(scan) => out.extend([format!("#{:?}|", scan.finish())]),
        };
        for mut chunk in chunks {
            while !chunk.is_empty() {
                let (taken, _) = framer.take(chunk, &mut read);
                chunk = &chunk[taken..];
            }
        }
        framer.finish(read);
        out
    }

    #[test]
    fn input_is_cut_into_lines() {
        let check = |input: &str, expected: &str| {
            assert_eq!(lines(22, [input.as_bytes()]), expected);
            assert_eq!(lines(22, input.as_bytes().chunks(1)), expected);
        };
        check("", "");
        check("a\nb\r\n\nc", "a|b\r||c|");
        check("1234567890123456789012\n12345678901234567890123\nx", "1234567890123456789012|#[]|x|");
        check("{\"method\":\"longer\",\"id\":1}", "#[Some(Number(1))]|");
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(input in "[a\n]{0,40}", limit in 0_usize..6, size in 1_usize..9) {
            let expected: String = input.split_terminator('\n').map(|line| {
                if line.len() > limit { "#[]|".to_owned() } else { format!("{line}|") }
            }).collect();
            prop_assert_eq!(lines(limit, input.as_bytes().chunks(size)), expected);
        }
    }
}
