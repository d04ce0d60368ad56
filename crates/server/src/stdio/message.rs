//! What a line of input is: a message, something to be refused, or nothing.
//!
//! Refused is only what looks like a request: two peers that refused each other's refusals would never stop.

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde_json::error::Category;

use super::frame::Line;
use super::scan::Scan;

/// What a line of input is.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is matched at once, and a message is the usual case")]
pub(super) enum Read {
    /// A message, and the length of its line.
    Message(RxJsonRpcMessage<RoleServer>, usize),
    /// Requests that cannot be served, and why.
    Refused(Vec<RequestId>, ErrorData),
    /// Nothing that waits for an answer.
    Nothing,
}

/// Reads a line; `limit` is the length that one may have.
pub(super) fn read(line: Line<'_>, limit: usize) -> Read {
    let (scan, error) = match line {
        Line::TooLong(scan) => {
            let message = format!(
                "the line is longer than {limit} bytes, and was skipped; --max-line-bytes allows more"
            );
            (scan, ErrorData::invalid_request(message, None))
        }
        Line::Whole(line) => {
            // Some programs begin whatever they write with a byte order mark (RFC 8259, section 8.1).
            let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
            if line.iter().all(u8::is_ascii_whitespace) {
                return Read::Nothing;
            }
            let parsed = match std::str::from_utf8(line) {
                Ok(text) => serde_json::from_str(text).map_err(|error| refusal(&error)),
                Err(error) => {
                    Err(parse_error(format!("the line is not UTF-8 from byte {}", error.valid_up_to())))
                }
            };
            match parsed {
                Ok(message) => return Read::Message(message, line.len()),
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
        ids => Read::Refused(ids, error),
    }
}

/// Says what is wrong with a line, and nothing of what it holds: that may be text of a file, and goes to the log.
fn refusal(error: &serde_json::Error) -> ErrorData {
    match error.classify() {
        // These messages name places and kinds, never contents.
        Category::Syntax | Category::Eof => parse_error(format!("the line is not JSON: {error}")),
        Category::Data | Category::Io => {
            ErrorData::invalid_request("the line is not a JSON-RPC 2.0 message", None)
        }
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
            let said = match read(Line::Whole(line), 100) {
                Read::Message(..) => "message".to_owned(),
                Read::Nothing => "nothing".to_owned(),
                Read::Refused(ids, error) => {
                    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
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
