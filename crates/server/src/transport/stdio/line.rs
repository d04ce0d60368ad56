//! The meaning of a line of input: a message, a request to be answered with an error, or nothing.
//!
//! Only lines that look like requests are answered: two peers that answered each other's errors would never
//! stop.

use rmcp::RoleServer;
use rmcp::model::{ErrorData, RequestId};
use rmcp::service::RxJsonRpcMessage;

use super::frame::Line;
use crate::limits::Limits;
use crate::transport::message::{self, MessageUnit, WeighedText};

/// The least number of bytes that a request in work counts for, besides its line. This is for its answer,
/// which is usually no longer.
pub(super) const REQUEST: usize = 64 << 10;

/// A line of input, as it was read.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is matched at once, and a message is the usual case")]
pub(super) enum ReadLine {
    /// A message.
    Message {
        message: RxJsonRpcMessage<RoleServer>,
        /// The number of bytes that it counts for while it is in work.
        takes: usize,
    },
    /// Requests that cannot be served: the id of each, if a request can have it, and why.
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
    use super::*;

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
