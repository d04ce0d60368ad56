//! Reads a tool call, a session's most frequent message, directly from its text.
//!
//! The SDK tries each kind of message in turn. It holds the whole message as parsed values, and makes an
//! error for each of a dozen kinds of requests before it tries the tool call. This module reads only messages
//! with exactly the fields of `PlainCall`. The SDK reads all others, so it still decides which messages are
//! accepted, and how they are understood.
//!
//! Writes the answer to a request as JSON: [`write`].
//!
//! Nearly all of an answer is the text of a tool's result. `serde_json` escapes it byte by byte, which took a
//! sixth of the time of a read of 1 MB. This module examines eight bytes at once. `serde_json` writes the
//! rest of the answer from the SDK's types.

use memchr::memmem;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientRequest, ContentBlock,
    GetExtensions as _, JsonObject, JsonRpcMessage, JsonRpcVersion2_0, RequestId, RequestMetaObject,
    ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainCall {
    #[expect(dead_code, reason = "it is checked by being read")]
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    #[expect(dead_code, reason = "it is checked by being read")]
    method: CallToolRequestMethod,
    params: PlainParams,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainParams {
    name: String,
    arguments: Option<JsonObject>,
    #[serde(rename = "_meta")]
    meta: Option<JsonObject>,
}

/// Reads a tool call. Returns `None` for every other text, even for a call that the SDK can read but this
/// module cannot.
pub(super) fn parse(text: &str) -> Option<RxJsonRpcMessage<RoleServer>> {
    let PlainCall { id, params, .. } = serde_json::from_str(text).ok()?;
    let mut called = CallToolRequestParams::new(params.name);
    called.arguments = params.arguments;
    let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(called));
    if let Some(meta) = params.meta {
        request.extensions_mut().insert(RequestMetaObject::from(meta));
    }
    Some(JsonRpcMessage::request(request, id))
}

/// The JSON that `serde_json` writes directly before the text of a result. No JSON string can contain it,
/// because quotes in strings are escaped.
const TEXT: &[u8] = br#""content":[{"type":"text","text":""#;

/// Appends an answer as JSON. After an error, `out` may end with a part of the answer.
pub(super) fn write(mut answer: TxJsonRpcMessage<RoleServer>, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let begin = out.len();
    let Some(text) = text_of(&mut answer).map(std::mem::take) else {
        return serde_json::to_writer(out, &answer);
    };
    serde_json::to_writer(&mut *out, &answer)?;
    if let Some(at) = memmem::find(out.get(begin..).unwrap_or_default(), TEXT) {
        let after = out.split_off(begin + at + TEXT.len());
        out.reserve(text.len() + text.len() / 8 + after.len());
        escape(&text, out);
        out.extend_from_slice(&after);
        return Ok(());
    }
    // The SDK's types have another form than expected, so `serde_json` writes the whole answer.
    out.truncate(begin);
    if let Some(emptied) = text_of(&mut answer) {
        *emptied = text;
    }
    serde_json::to_writer(out, &answer)
}

/// Returns the text of a tool's result, if the text is the only content.
fn text_of(answer: &mut TxJsonRpcMessage<RoleServer>) -> Option<&mut String> {
    let JsonRpcMessage::Response(response) = answer else { return None };
    let ServerResult::CallToolResult(result) = &mut response.result else { return None };
    match result.content.as_mut_slice() {
        [ContentBlock::Text(content)] => Some(&mut content.text),
        _ => None,
    }
}

/// Appends a text, escaped for a JSON string as `serde_json` escapes it.
fn escape(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    while let Some((plain, byte, after)) = split_at_escaped(rest) {
        out.extend_from_slice(plain);
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = after;
    }
    out.extend_from_slice(rest);
}

/// Splits a text at the first byte that a JSON string must escape: a quote, a backslash or a control
/// character. Returns `None` if there is no such byte.
fn split_at_escaped(bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    // Sets the highest bit of the first byte below `limit`, and of no byte before it. The bits of later bytes
    // may be wrong, since a subtraction borrows from them ("Bit Twiddling Hacks", S. E. Anderson).
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGHS;
    let equal = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let (words, tail) = bytes.as_chunks::<8>();
    let in_words = words.iter().zip((0..).step_by(8)).find_map(|(word, base)| {
        let word = u64::from_le_bytes(*word);
        let found = below(word, 0x20) | equal(word, b'"') | equal(word, b'\\');
        (found != 0).then(|| base + found.trailing_zeros() as usize / 8)
    });
    let in_tail = || {
        let at = tail.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'))?;
        Some(words.len() * 8 + at)
    };
    let (plain, rest) = bytes.split_at_checked(in_words.or_else(in_tail)?)?;
    let (byte, after) = rest.split_first()?;
    Some((plain, *byte, after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rmcp::model::{CallToolResult, JsonObject, MetaObject, NumberOrString};
    use serde_json::json;

    use super::*;

    /// Returns a field of a call as text. The field is usually valid; sometimes it is missing or doubled, or
    /// has a value of another kind.
    fn part(
        key: &'static str,
        usual: impl Strategy<Value = String> + 'static,
    ) -> impl Strategy<Value = Vec<String>> {
        let other = prop::sample::select(vec![
            "null",
            "1",
            "1.5",
            "1e2",
            "-7",
            "9223372036854775808",
            "\"x\"",
            "{}",
            "[]",
            "{\"a\":[1,2.5e3,null]}",
        ]);
        let value = prop_oneof![6 => usual, 1 => other.prop_map(str::to_owned)];
        let one = value.prop_map(move |value| format!("\"{key}\":{value}"));
        prop_oneof![
            1 => Just(Vec::new()),
            12 => one.clone().prop_map(|one| vec![one]),
            1 => (one.clone(), one).prop_map(|(one, other)| vec![one, other]),
        ]
    }

    fn object(parts: &[Vec<String>]) -> String {
        format!("{{{}}}", parts.concat().join(","))
    }

    fn params() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec!["\"get_text_file_contents\"", "\"a\\u0062\\n\"", "\"\""])
            .prop_map(str::to_owned);
        let arguments = prop::sample::select(vec![
            "{}",
            r#"{"file_path":"/a/\u00e4","line_start":1}"#,
            r#"{"a":{"b":[true,"\ud83d\ude00"]},"a":2}"#,
            r#"{"n":1e300,"m":18446744073709551615}"#,
        ])
        .prop_map(str::to_owned);
        let meta = prop::sample::select(vec![
            "{}",
            r#"{"progressToken":7}"#,
            r#"{"progressToken":"t","x":{"y":1}}"#,
        ])
        .prop_map(str::to_owned);
        let more = prop::sample::select(vec!["inputResponses", "requestState", "task", "x"]);
        let parts = (
            part("name", name),
            part("arguments", arguments),
            part("_meta", meta),
            prop::option::weighted(0.1, more),
        );
        parts.prop_map(|(name, arguments, meta, more)| {
            let more = more.map(|key| vec![format!("\"{key}\":{{}}")]).unwrap_or_default();
            object(&[name, arguments, meta, more])
        })
    }

    fn message() -> impl Strategy<Value = String> {
        let version = Just("\"2.0\"".to_owned());
        let id = prop::sample::select(vec!["1", "-3", "\"a\"", "\"\\u0031\"", "1.0"]).prop_map(str::to_owned);
        let method =
            prop::sample::select(vec!["\"tools/call\"", "\"tools\\/call\"", "\"tools/list\"", "\"ping\""])
                .prop_map(str::to_owned);
        let more = prop::sample::select(vec!["result", "error", "x"]);
        let parts = (
            part("jsonrpc", version),
            part("id", id),
            part("method", method),
            part("params", params()),
            prop::option::weighted(0.1, more),
        );
        let shuffled = parts.prop_flat_map(|(version, id, method, params, more)| {
            let more = more.map(|key| vec![format!("\"{key}\":{{}}")]).unwrap_or_default();
            Just(vec![version, id, method, params, more]).prop_shuffle()
        });
        shuffled.prop_map(|parts| object(&parts))
    }

    /// Checks that each call that this module reads is equal to the call that the SDK reads.
    #[test]
    fn agrees_with_the_sdk() {
        // Without optimisation, the SDK needs more stack to read a message than a test's thread has.
        let test = std::thread::Builder::new().stack_size(32 << 20).spawn(|| {
            proptest!(ProptestConfig::with_cases(2_000), |(text in message())| {
                let by_sdk = serde_json::from_str::<RxJsonRpcMessage<RoleServer>>(&text);
                if let Some(own) = parse(&text) {
                    // The `Debug` form shows the contents of messages, but only the types of extensions. So
                    // the `_meta` is compared separately.
                    prop_assert_eq!(format!("{own:?}"), format!("{:?}", by_sdk.unwrap()));
                    prop_assert_eq!(meta(&own), meta(&serde_json::from_str(&text).unwrap()));
                }
            });
        });
        test.unwrap().join().unwrap();
    }

    fn meta(message: &RxJsonRpcMessage<RoleServer>) -> Option<RequestMetaObject> {
        match message {
            JsonRpcMessage::Request(request) => {
                request.request.extensions().get::<RequestMetaObject>().cloned()
            }
            _ => None,
        }
    }

    #[test]
    fn a_usual_call_is_read() {
        let params =
            r#"{"name":"get_text_file_contents","arguments":{"file_path":"/a"},"_meta":{"progressToken":1}}"#;
        for text in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#),
            format!(r#"{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":"x"}}"#),
        ] {
            assert!(parse(&text).is_some(), "{text}");
        }
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}"#,
            "[]",
            "",
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn answers_are_written_as_by_serde_json(
            text in r#"([a-zé𝄞\\"\x00-\x20\x7f]|[ -~]{5,20}){0,30}"#,
            id in r#"["\\a-c]{0,9}"#,
            form in 0..6,
        ) {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text.clone())]);
            match form {
                0 => result.result_type = None,
                1 => result.structured_content = Some(json!({"content": [{"type": "text", "text": text}]})),
                2 => {
                    let meta = JsonObject::from_iter([("content".to_owned(), json!(text))]);
                    result.meta = Some(MetaObject(meta));
                }
                3 => result.content.push(ContentBlock::text(id.clone())),
                4 => result.content.clear(),
                _ => {}
            }
            let id = NumberOrString::String(format!("{id}{}", String::from_utf8_lossy(TEXT)).into());
            let answer = JsonRpcMessage::response(ServerResult::CallToolResult(result), id);
            let expected = format!("before{}", serde_json::to_string(&answer).unwrap());
            let mut written = b"before".to_vec();
            write(answer, &mut written).unwrap();
            prop_assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }

    #[test]
    fn each_byte_is_escaped_wherever_it_stands() {
        for char in (0..=0x80).map(char::from) {
            for before in 0..17 {
                let text = format!("{}{char}{}", "x".repeat(before), "\u{80}\n".repeat(3));
                let mut escaped = vec![b'"'];
                escape(&text, &mut escaped);
                escaped.push(b'"');
                assert_eq!(String::from_utf8(escaped).unwrap(), serde_json::to_string(&text).unwrap());
            }
        }
    }

    #[test]
    fn the_sdk_writes_a_result_in_the_form_that_is_looked_for() {
        let result = ServerResult::CallToolResult(CallToolResult::success(vec![ContentBlock::text("")]));
        let answer = TxJsonRpcMessage::<RoleServer>::response(result, NumberOrString::Number(1));
        assert!(memmem::find(&serde_json::to_vec(&answer).unwrap(), TEXT).is_some());
    }
}
