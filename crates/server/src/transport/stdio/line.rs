//! Cuts the chunks of input into lines, and parses each line. The result is a message, requests to answer
//! with an error, or nothing.
//!
//! A line that cannot be served is answered only if it looks like a request: two peers that answered each
//! other's errors would never stop.

use memchr::memchr;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, RequestId};
use rmcp::service::RxJsonRpcMessage;

use crate::limits::Limits;
use crate::transport::message::{self, MessageUnit, WeighedText};
use crate::transport::scan::MessageScan;

/// The maximum capacity, in bytes, that a line's buffer keeps for the next line.
const KEPT: usize = 1 << 20;

/// A line of the input, without its line feed.
#[derive(Debug)]
pub(super) enum Line<'a> {
    /// The whole line.
    Whole(&'a [u8]),
    /// A line that was longer than the limit. Only its scan was kept.
    TooLong(MessageScan),
}

/// Cuts input into lines of a limited length.
#[derive(Debug)]
pub(super) struct Framer {
    limit: usize,
    /// The beginning of a line whose end has not arrived yet.
    begun: Vec<u8>,
    /// The scan of a line that has exceeded the limit, and has not ended yet.
    skipped: Option<MessageScan>,
}

impl Framer {
    /// Makes a framer for lines of at most `limit` bytes, not counting the line feed.
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

    /// Ends the line that has begun, at its line feed or at the end of input. Returns the result of `read`;
    /// `None` if no line has begun.
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

/// The minimum number of bytes that a request in work counts for, in addition to its line. They stand for the
/// answer, which usually is not longer.
pub(super) const REQUEST: usize = 64 << 10;

/// A parsed line of input.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is matched at once, and a message is the usual case")]
pub(super) enum ReadLine {
    /// A message.
    Message {
        message: RxJsonRpcMessage<RoleServer>,
        /// The number of bytes that the message counts for while it is in work.
        takes: usize,
    },
    /// Requests that cannot be served: their ids, with `None` for an id that no request can have, and the
    /// error.
    Error(Vec<Option<RequestId>>, ErrorData),
    /// Nothing that needs an answer.
    Nothing,
}

/// Reads a line.
pub(super) fn read(line: Line<'_>, limits: &Limits) -> ReadLine {
    let refused = match line {
        Line::TooLong(scan) => message::too_long(scan, MessageUnit::Line, limits),
        Line::Whole(line) => {
            let weighed = WeighedText::of(line, limits);
            match weighed.parse(MessageUnit::Line, limits) {
                Ok(message) => {
                    let besides = message::bytes_of_values(weighed.values()).max(REQUEST);
                    return ReadLine::Message { message, takes: line.len().saturating_add(besides) };
                }
                Err(_) if line.iter().all(u8::is_ascii_whitespace) => return ReadLine::Nothing,
                Err(refused) => *refused,
            }
        }
    };
    if refused.ids.is_empty() {
        tracing::debug!(why = %refused.error.message, "a line of input was skipped");
        return ReadLine::Nothing;
    }
    ReadLine::Error(refused.ids, refused.error)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the lines of an input, each followed by `|`. For a line that was too long, returns `#` and the
    /// ids.
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

    #[test]
    fn lines_are_told_apart() {
        let check = |line: &[u8], expected: &str| {
            let said = match read(Line::Whole(line), &Limits::default()) {
                ReadLine::Message { .. } => "message".to_owned(),
                ReadLine::Nothing => "nothing".to_owned(),
                ReadLine::Error(ids, error) => {
                    let ids: Vec<String> = ids
                        .iter()
                        .map(|id| id.as_ref().map_or("?".to_owned(), ToString::to_string))
                        .collect();
                    format!("{} {} {}", ids.join(","), error.code.0, error.message)
                }
            };
            assert_eq!(said, expected, "{}", String::from_utf8_lossy(line));
        };
        check(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "message");
        check(b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", "message");
        check(br#"{"jsonrpc":"2.0","method":"notifications/of/ours","params":{"a":1}}"#, "message");
        for nothing in [
            "",
            " \t\r",
            "hello",
            "[]",
            "{}",
            "5",
            r#"{"id":1}"#,
            r#"{"method":"x"}"#,
            r#"{"id":1,"result":"\ud800"}"#,
        ] {
            check(nothing.as_bytes(), "nothing");
        }
        for id in ["null", "1.5", "true", "{}", "[1]", "9223372036854775808", "-1e400"] {
            let said = "? -32600 the id of a request must be a string, or an integer of at most 64 bits with its sign; \
                        this request was not carried out";
            check(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes(), said);
            check(format!(r#"{{"id":1,"jsonrpc":"2.0","method":"ping","id":{id}}}"#).as_bytes(), said);
            check(
                format!(r#"[{{"jsonrpc":"2.0","id":{id},"method":"ping"}}]"#).as_bytes(),
                "? -32600 batches are not served; send each request as a line of its own",
            );
            check(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).as_bytes(), "nothing");
        }
        check(br#"{"method":"ping","id":1}"#, "1 -32600 the line is not a JSON-RPC 2.0 message");
        check(
            br#"{"jsonrpc":"2.0","method":"x","params":{"a":"\ud800"},"id":"last"}"#,
            "last -32700 the line is not JSON: unexpected end of hex escape at line 1 column 52",
        );
        check(
            b"{\"method\":\"x\",\"params\":\"\xff\",\"id\":2}",
            "2 -32700 the line is not UTF-8 from byte 24",
        );
        check(
            br#"{"method":"x","id":2,}"#,
            "2 -32700 the line is not JSON: trailing comma at line 1 column 22",
        );
        check(
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
            "1,2 -32600 batches are not served; send each request as a line of its own",
        );
    }
}
