//! Parses a message that arrives as a line of input or as an HTTP body, after counting its JSON values. For a
//! text that is not a message, or exceeds a limit, returns an error and the ids of the requests in the text.

use std::fmt;

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, GetExtensions as _, JsonRpcMessage, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde_json::error::Category;

use super::plain_call;
use super::scan::MessageScan;
use crate::json::{Weight, bounded, weigh};
use crate::limits::{Exceeded, Limit, Limits};
use crate::render::limits as words;

type Message = RxJsonRpcMessage<RoleServer>;

/// The unit in which a message arrives, as errors name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MessageUnit {
    /// A line of input.
    Line,
    /// The body of a request over HTTP.
    Body,
    /// A message of a batch.
    Item,
}

/// A text that has arrived, and the number of its JSON values. The transport parses the text only once the
/// intake, the memory budget for requests in progress, has capacity for the values.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeighedText<'a> {
    text: &'a [u8],
    weight: Weight,
    exceeded: Option<Exceeded>,
}

/// A text that cannot be served as a message.
#[derive(Debug)]
pub(super) struct Refused {
    /// The ids of the requests in the text; `None` for an id that no request can have.
    pub(super) ids: Vec<Option<RequestId>>,
    /// The error.
    pub(super) error: ErrorData,
}

/// The error message for a request whose id cannot be repeated in an answer.
const NO_ID: &str = "the id of a request must be a string, or an integer of at most 64 bits with its sign; this request \
                     was not carried out";

/// The nesting depth at which a tool call's message holds the arguments.
const ENVELOPE: u64 = 2;

/// The bytes that each JSON value of a message counts towards the limit on requests in progress: the memory
/// of an object with one field, the value that takes the most.
const VALUE: u64 = 640;

/// Returns the bytes that values count towards the limit on requests in progress.
pub(super) fn bytes_of_values(values: u64) -> usize {
    usize::try_from(values.saturating_mul(VALUE)).unwrap_or(usize::MAX)
}

impl<'a> WeighedText<'a> {
    /// Counts the values of a text.
    pub(super) fn of(text: &'a [u8], limits: &Limits) -> Self {
        // Some programs begin everything that they write with a byte order mark (RFC 8259, section 8.1).
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let weight = weigh(text);
        Self { text, weight, exceeded: limits.exceeded_by(weight, ENVELOPE) }
    }

    /// Returns the number of values of the parsed message; 0 if the message exceeds a limit, because then it
    /// is not parsed completely.
    pub(super) fn values(self) -> u64 {
        if self.exceeded.is_some() { 0 } else { self.weight.values }
    }

    /// Parses the message.
    ///
    /// A call whose arguments have too many values, or nest too deeply, is parsed without its arguments,
    /// which would take many times their length in memory. The call gets [`Exceeded`] among its extensions,
    /// so that the tool answers with the error.
    pub(super) fn parse(self, unit: MessageUnit, limits: &Limits) -> Result<Message, Box<Refused>> {
        let parsed = match (std::str::from_utf8(self.text), self.exceeded) {
            (Ok(text), None) => parse_text(text, unit),
            (Ok(_), Some(exceeded)) => parse_without_arguments(self.text, unit, limits, exceeded),
            (Err(error), _) => {
                Err(parse_error(format!("the {unit} is not UTF-8 from byte {}", error.valid_up_to())))
            }
        };
        parsed.map_err(|error| {
            let mut scan = MessageScan::default();
            scan.feed(self.text);
            Box::new(refuse(scan, unit, error))
        })
    }
}

/// Refuses a text that was longer than the limit. The caller kept only the scan of the text.
pub(super) fn too_long(scan: MessageScan, unit: MessageUnit, limits: &Limits) -> Refused {
    let message = format!(
        "the {unit} is longer than {} bytes, the limit `line-bytes`, and was skipped; --limit line-bytes=… \
         (--max-line-bytes) allows more",
        limits.get(Limit::Line)
    );
    refuse(scan, unit, ErrorData::invalid_request(message, None))
}

fn refuse(scan: MessageScan, unit: MessageUnit, error: ErrorData) -> Refused {
    let error = if scan.is_batch() && error.code == ErrorCode::INVALID_REQUEST {
        ErrorData::invalid_request(unit.no_batches(), None)
    } else {
        error
    };
    let ids = scan.finish();
    if ids.contains(&None) && error.message == unit.no_message() {
        return Refused { ids, error: ErrorData::invalid_request(NO_ID, None) };
    }
    Refused { ids, error }
}

/// Parses a message. A number beyond the range of a double is valid JSON, too. It counts as the largest
/// double, just as an integer that is too large counts as the largest integer.
fn parse_text(text: &str, unit: MessageUnit) -> Result<Message, ErrorData> {
    if let Some(call) = plain_call::parse(text) {
        return Ok(call);
    }
    serde_json::from_str(text).or_else(|error| {
        if error.to_string().starts_with("number out of range") {
            let bounded = bounded(text.as_bytes(), u64::MAX);
            return serde_json::from_slice(&bounded).map_err(|error| error_of(&error, unit));
        }
        Err(error_of(&error, unit))
    })
}

/// Parses a message that exceeds a limit, without its arguments. For a message that is not a tool call,
/// returns an error.
fn parse_without_arguments(
    text: &[u8],
    unit: MessageUnit,
    limits: &Limits,
    exceeded: Exceeded,
) -> Result<Message, ErrorData> {
    let bounded = bounded(text, ENVELOPE);
    // Other parts of the message than the arguments can exceed the limit, too.
    let is_small = limits.exceeded_by(weigh(&bounded), ENVELOPE).is_none();
    match is_small.then(|| serde_json::from_slice::<Message>(&bounded)) {
        Some(Ok(JsonRpcMessage::Request(mut request)))
            if matches!(request.request, ClientRequest::CallToolRequest(_)) =>
        {
            request.request.extensions_mut().insert(exceeded);
            Ok(JsonRpcMessage::Request(request))
        }
        Some(Err(error)) if error.is_syntax() || error.is_eof() => Err(error_of(&error, unit)),
        _ => {
            let problem = words::exceeded(limits, exceeded);
            Err(ErrorData::invalid_request(format!("{}: {}", problem.reason, problem.hint), None))
        }
    }
}

/// Describes what is wrong with a text, without quoting it: the text may have content of files, and the error
/// is logged.
fn error_of(error: &serde_json::Error, unit: MessageUnit) -> ErrorData {
    match error.classify() {
        // The texts of these errors name positions and kinds of values, never the values.
        Category::Syntax | Category::Eof => parse_error(format!("the {unit} is not JSON: {error}")),
        Category::Data | Category::Io => ErrorData::invalid_request(unit.no_message(), None),
    }
}

fn parse_error(message: String) -> ErrorData {
    ErrorData::parse_error(message, None)
}

impl MessageUnit {
    /// Returns the error for JSON that is not a message.
    const fn no_message(self) -> &'static str {
        match self {
            Self::Line => "the line is not a JSON-RPC 2.0 message",
            Self::Body => "the body is not a JSON-RPC 2.0 message",
            Self::Item => "what stands in the batch is not a JSON-RPC 2.0 message",
        }
    }

    /// Returns the error for several messages at once.
    const fn no_batches(self) -> &'static str {
        match self {
            Self::Line => "batches are not served; send each request as a line of its own",
            Self::Body => "batches are served by revision 2025-03-26 alone; send each request by itself",
            Self::Item => "a batch stands in a batch; send each request as an item of one list",
        }
    }
}

impl fmt::Display for MessageUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "line",
            Self::Body => "body",
            Self::Item => "message in the batch",
        })
    }
}
