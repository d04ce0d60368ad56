//! Reads a tool call, a session's most frequent message, directly from its text.
//!
//! The SDK tries each kind of message in turn. It holds the whole message as parsed values, and makes an
//! error for each of a dozen kinds of requests before it tries the tool call. This module reads only messages
//! with exactly the fields of `PlainCall`. The SDK reads all others, so it still decides which messages are
//! accepted, and how they are understood.

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientRequest, GetExtensions as _,
    JsonObject, JsonRpcMessage, JsonRpcVersion2_0, RequestId, RequestMetaObject,
};
use rmcp::service::RxJsonRpcMessage;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
}
