//! What a line of input is: a message, a request to be answered with an error, or nothing.
//!
//! Only what looks like a request is answered: two peers that answered each other's errors would never stop.

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, GetExtensions as _, JsonRpcMessage, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde_json::error::Category;

use super::frame::Line;
use super::scan::Scan;
use crate::limits::{Exceeded, Limit, Limits};
use crate::render::limits as words;
use crate::wire::json_weight::{tamed, weigh};

type Message = RxJsonRpcMessage<RoleServer>;

/// What a line of input is.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is matched at once, and a message is the usual case")]
pub(super) enum Read {
    /// A message.
    Message {
        message: Message,
        /// The length of its line.
        length: usize,
        /// How many values the line holds.
        values: u64,
    },
    /// Requests that cannot be served: the id of each, if a request can have it, and why.
    Error(Vec<Option<RequestId>>, ErrorData),
    /// Nothing that waits for an answer.
    Nothing,
}

/// The answer to JSON that is no message.
const NO_MESSAGE: &str = "the line is not a JSON-RPC 2.0 message";

/// The answer to a request whose id no answer could repeat.
const NO_ID: &str = "the id of a request must be a string, or an integer of at most 64 bits with its sign; this request \
                     was not carried out";

/// The depth of a call's arguments in its message.
const ENVELOPE: u64 = 2;

/// Reads a line.
///
/// A call whose arguments hold or nest too much is read without them, since they would take many times their length
/// as values, and with [`Exceeded`] among its extensions, so that the tool answers it.
pub(super) fn read(line: Line<'_>, limits: &Limits) -> Read {
    let (scan, error) = match line {
        Line::TooLong(scan) => {
            let message = format!(
                "the line is longer than {} bytes, the limit `line-bytes`, and was skipped; --limit line-bytes=… \
                 (--max-line-bytes) allows more",
                limits.get(Limit::Line)
            );
            (scan, ErrorData::invalid_request(message, None))
        }
        Line::Whole(line) => {
            // Some programs begin everything that they write with a byte order mark (RFC 8259, section 8.1).
            let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
            if line.iter().all(u8::is_ascii_whitespace) {
                return Read::Nothing;
            }
            let weight = weigh(line);
            let exceeded = limits.exceeded_by(weight, ENVELOPE);
            let parsed = match (std::str::from_utf8(line), exceeded) {
                (Ok(text), None) => parse(text),
                (Ok(_), Some(exceeded)) => parse_without_arguments(line, limits, exceeded),
                (Err(error), _) => {
                    Err(parse_error(format!("the line is not UTF-8 from byte {}", error.valid_up_to())))
                }
            };
            match parsed {
                Ok(message) => {
                    let values = if exceeded.is_some() { 0 } else { weight.values };
                    return Read::Message { message, length: line.len(), values };
                }
                Err(error) => {
                    let mut scan = Scan::default();
                    scan.feed(line);
                    (scan, error)
                }
            }
        }
    };
    let error = if scan.is_batch() && error.code == ErrorCode::INVALID_REQUEST {
        ErrorData::invalid_request("batches are not served; send each request as a line of its own", None)
    } else {
        error
    };
    match scan.finish() {
        ids if ids.is_empty() => {
            tracing::debug!(why = %error.message, "a line of input was skipped");
            Read::Nothing
        }
        ids if ids.contains(&None) && error.message == NO_MESSAGE => {
            Read::Error(ids, ErrorData::invalid_request(NO_ID, None))
        }
        ids => Read::Error(ids, error),
    }
}

/// Parses a message. A number that no double holds is JSON, too: it counts as the largest double, as an integer that
/// is too large counts as the largest.
fn parse(text: &str) -> Result<Message, ErrorData> {
    serde_json::from_str(text).or_else(|error| {
        if error.to_string().starts_with("number out of range") {
            let tamed = tamed(text.as_bytes(), u64::MAX);
            return serde_json::from_slice(&tamed).map_err(|error| error_of(&error));
        }
        Err(error_of(&error))
    })
}

/// Parses a message that exceeds a limit without its arguments. Only a call of a tool can be answered as one.
fn parse_without_arguments(line: &[u8], limits: &Limits, exceeded: Exceeded) -> Result<Message, ErrorData> {
    let tamed = tamed(line, ENVELOPE);
    // Other parts than the arguments can be too much, too.
    let is_small = limits.exceeded_by(weigh(&tamed), ENVELOPE).is_none();
    match is_small.then(|| serde_json::from_slice::<Message>(&tamed)) {
        Some(Ok(JsonRpcMessage::Request(mut request)))
            if matches!(request.request, ClientRequest::CallToolRequest(_)) =>
        {
            request.request.extensions_mut().insert(exceeded);
            Ok(JsonRpcMessage::Request(request))
        }
        Some(Err(error)) if error.is_syntax() || error.is_eof() => Err(error_of(&error)),
        _ => {
            let problem = words::exceeded(limits, exceeded);
            Err(ErrorData::invalid_request(format!("{}: {}", problem.reason, problem.hint), None))
        }
    }
}

/// Says what is wrong with a line, and nothing of what it holds: that may be text of a file, and the error goes to
/// the log.
fn error_of(error: &serde_json::Error) -> ErrorData {
    match error.classify() {
        // The messages of these errors name places and kinds, never contents.
        Category::Syntax | Category::Eof => parse_error(format!("the line is not JSON: {error}")),
        Category::Data | Category::Io => ErrorData::invalid_request(NO_MESSAGE, None),
    }
}

fn parse_error(message: String) -> ErrorData {
    ErrorData::parse_error(message, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let check = |line: &[u8], expected: &str| {
            let said = match read(Line::Whole(line), &Limits::default()) {
                Read::Message { .. } => "message".to_owned(),
                Read::Nothing => "nothing".to_owned(),
                Read::Error(ids, error) => {
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
            let said = format!("? -32600 {NO_ID}");
            check(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes(), &said);
            check(format!(r#"{{"id":1,"jsonrpc":"2.0","method":"ping","id":{id}}}"#).as_bytes(), &said);
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
