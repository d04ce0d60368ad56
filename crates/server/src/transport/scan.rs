//! Finds the requests in a line or an HTTP body that cannot be parsed because it is too long, is broken, or
//! has several messages. In the comments of this module, a line can also be a body.
//!
//! The scan keeps only the ids of requests, and does not check whether a line is well-formed.

use rmcp::model::RequestId;

use crate::json::{Lexeme, LexemeKind, Lexer};

/// The maximum bytes of a key or an id. A longer key is ignored, and a longer id counts as an id that no
/// request can have. The maximum is enough for `method` written in escapes, and for any id that clients send.
const MAX_TOKEN: usize = 1 << 10;

/// The maximum number of requests that the scan finds in one line. A larger batch gets only this many
/// answers.
const MAX_FOUND: usize = 100;

/// A scan of one line, fed in chunks of any size.
///
/// The scan examines the objects that can be messages: the line's value, or the elements of the line's array.
/// An object counts as a request if it has both `method` and `id`, with any values. If `id` is repeated, the
/// last value counts.
#[derive(Debug, Default)]
pub(super) struct MessageScan {
    lexer: Lexer,
    /// The depth of the keys of the message that is being read; `None` outside messages.
    message: Option<u64>,
    /// Whether the line's value is an array.
    batch: bool,
    /// The kind of the last lexeme that is not blank.
    last: Option<LexemeKind>,
    /// Whether a quote occurred in an impossible place. After it, the text of strings could be mistaken for
    /// structure.
    lost: bool,
    place: Place,
    /// The key or the id that is being read, as JSON text; `None` if it is too long, or if something else is
    /// being read.
    token: Option<Vec<u8>>,
    id: Id,
    method: bool,
    requests: Vec<Option<RequestId>>,
}

/// The id of a message, as far as it was read.
#[derive(Debug, Default)]
enum Id {
    #[default]
    None,
    /// An id that no request can have, or that is too long.
    Wrong,
    Read(RequestId),
}

/// The position of the scan in a message, among the message's own keys and values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    #[default]
    Key,
    Id,
    OtherValue,
}

impl MessageScan {
    /// Scans the next bytes of the line.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        let rest_of_string = self.lexer.resume(&mut bytes);
        self.keep(rest_of_string);
        while !self.lost
            && let Some(piece) = self.lexer.next(&mut bytes)
        {
            self.take(piece);
        }
    }

    /// Returns the ids of the requests in the line, in their order, once the whole line was fed; `None` for
    /// an id that is neither a string nor an integer of 64 bits, or is too long. If the line ends within a
    /// message, the keys and ids that are complete count.
    pub(super) fn finish(mut self) -> Vec<Option<RequestId>> {
        self.close_message();
        self.requests
    }

    /// Tells whether the line's value is an array, as far as the line was fed.
    pub(super) fn is_batch(&self) -> bool {
        self.batch
    }

    fn take(&mut self, Lexeme { kind, bytes, depth }: Lexeme<'_>) {
        self.lost = match kind {
            LexemeKind::Blank => {
                // A blank between two parts of a token keeps them apart.
                if self.token.as_ref().is_some_and(|token| !token.is_empty() && !token.ends_with(b" ")) {
                    self.keep(b" ");
                }
                return;
            }
            LexemeKind::String => {
                !matches!(self.last, None | Some(LexemeKind::Open | LexemeKind::Comma | LexemeKind::Colon))
            }
            LexemeKind::Open | LexemeKind::Other => self.last == Some(LexemeKind::String),
            _ => false,
        };
        match kind {
            _ if self.lost => {}
            LexemeKind::Open => self.open(bytes, depth),
            LexemeKind::Close if self.message == Some(depth + 1) => {
                self.end_value();
                self.close_message();
            }
            LexemeKind::Comma if self.message == Some(depth) => self.end_value(),
            LexemeKind::Colon if self.message == Some(depth) && self.place == Place::Key => self.end_key(),
            _ => self.keep(bytes),
        }
        self.last = Some(kind);
    }

    fn open(&mut self, bytes: &[u8], depth: u64) {
        self.keep(bytes);
        if depth == 0 {
            self.batch = bytes == b"[";
        }
        let is_message = bytes == b"{" && (depth == 0 || depth == 1 && self.batch);
        if is_message && self.message.is_none() {
            self.message = Some(depth + 1);
            self.place = Place::Key;
            self.token = Some(Vec::new());
        }
    }

    fn end_key(&mut self) {
        let key = self.token.take().and_then(|token| serde_json::from_slice::<String>(&token).ok());
        self.place = Place::OtherValue;
        match key.as_deref() {
            Some("id") => {
                self.place = Place::Id;
                self.token = Some(Vec::new());
            }
            Some("method") => self.method = true,
            _ => {}
        }
    }

    fn end_value(&mut self) {
        if self.place == Place::Id {
            let id = self.token.take().and_then(|token| serde_json::from_slice(&token).ok());
            self.id = id.map_or(Id::Wrong, Id::Read);
        }
        self.place = Place::Key;
        self.token = Some(Vec::new());
    }

    fn close_message(&mut self) {
        self.message = None;
        self.token = None;
        let id = match std::mem::take(&mut self.id) {
            Id::None => None,
            Id::Wrong => Some(None),
            Id::Read(id) => Some(Some(id)),
        };
        if std::mem::take(&mut self.method) && self.requests.len() < MAX_FOUND {
            self.requests.extend(id);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(token) = &mut self.token {
            if token.len() + bytes.len() <= MAX_TOKEN {
                token.extend_from_slice(bytes);
            } else {
                self.token = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    fn requests(chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<Option<RequestId>> {
        let mut scan = MessageScan::default();
        for chunk in chunks {
            scan.feed(chunk.as_ref());
        }
        scan.finish()
    }

    #[test]
    fn requests_are_found() {
        let check = |line: &[u8], expected: &str| {
            let whole: Vec<String> = requests([line])
                .iter()
                .map(|id| id.as_ref().map_or("?".to_owned(), ToString::to_string))
                .collect();
            assert_eq!(whole.join(" "), expected, "{}", String::from_utf8_lossy(line));
            assert_eq!(requests(line.chunks(1)), requests([line]));
        };
        check(br#"{"jsonrpc":"2.0","method":"ping","id":5}"#, "5");
        check(br#" { "id" : -5 , "method" : 1 } "#, "-5");
        check(br#"{"\u006deth\u006fd":"x","i\u0064":"a\"\u0062"}"#, "a\"b");
        // Only at the depth of the message: neither in arguments nor in text.
        check(br#"{"method":"x","params":{"id":1,"method":"y"}}"#, "");
        check(br#"{"params":{"method":"x"},"id":1}"#, "");
        check(br#"{"method":"x","params":"\",\"id\":7,\"","id":8}"#, "8");
        check(br#"{"result":{},"id":1}"#, "");
        // Requests with ids that no request can have.
        for id in
            ["null", "1.5", "true", "[1]", "{\"id\":1}", "99999999999999999999", "1e400", "1 2", "", "+1"]
        {
            check(format!(r#"{{"method":"x","id":{id}}}"#).as_bytes(), "?");
            check(format!(r#"[{{"id":{id},"method":"x"}},{{"id":{id}}}]"#).as_bytes(), "?");
        }
        check(br#"{"method":"x","id":1e2}"#, "100");
        check(br#"{"id":1,"id":2,"method":"x","id":3}"#, "3");
        check(br#"{"id":1,"method":"x","id":null}"#, "?");
        // Broken text in strings; words that are not JSON; an early end.
        check(b"{\"method\":\"x\",\"params\":[\"\\ud800\",\"\xff\",\"\x01\\q\"],\"id\":9}", "9");
        check(br#"{"method":"x","params":{bad, NaN},"id":9}"#, "9");
        check(br#"{"method":"x","id":9,"params":{"a":["b"#, "9");
        check(br#"{"method":"x","id":9"#, "");
        check(br#"{"id":9,"method":"#, "9");
        // A stray quote turns text into structure: ids after it do not count, ids before it do.
        check(br#"{"method":"x","params":"a"b","id":7,"c":"d","id":9}"#, "");
        check(br#"{"method":"x","id":9,"params":"a"b","id":7}"#, "9");
        // Several messages.
        check(br#"[{"id":1,"method":"x"},{"method":"n"},{"id":2,"params":[{"id":3}],"method":"x"},[{"id":4,"method":"x"}],5]"#, "1 2");
        check(br#"{"id":1,"method":"x"}{"id":2,"method":"x"}"#, "1 2");
        check(b"", "");
        check(b"]}]}", "");
        check(br#""id":1,"method":"x""#, "");
        let long = "x".repeat(MAX_TOKEN - 2);
        check(format!(r#"{{"method":"x","id":"{long}"}}"#).as_bytes(), &long);
        check(format!(r#"{{"method":"x","id":"{long}y"}}"#).as_bytes(), "?");
        check(format!(r#"{{"method":"x","id":1 {}}}"#, " ".repeat(5_000)).as_bytes(), "1");
        let many = vec![r#"{"id":1,"method":"x"}"#; 500].join(",");
        assert_eq!(requests([format!("[{many}]")]).len(), MAX_FOUND);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
            r#"[\\"{}\[\]:, id]{0,8}"#.prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((key(), inner), 0..5)
                    .prop_map(|all| Value::Object(Map::from_iter(all))),
            ]
        })
    }

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![3 => Just("id".to_owned()), 3 => Just("method".to_owned()), 2 => ".{0,6}"]
    }

    fn cut(bytes: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
        let mut rest = bytes;
        let mut out = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            out.push(chunk.to_vec());
            rest = after;
        }
        out
    }

    proptest! {
        /// The scan agrees with serde_json about any object, in any spelling and any chunks.
        #[test]
        fn agrees_with_a_parser(
            fields in prop::collection::vec((key(), value()), 0..6),
            pretty in any::<bool>(),
            sizes in prop::collection::vec(1_usize..9, 1..4),
        ) {
            let spell = |value: &Value| if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
            // The object is written by hand, so that keys can be repeated.
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), spell(value).unwrap()))
                .collect();
            let line = format!("{{{}}}", fields.join(","));
            let parsed: Value = serde_json::from_str(&line).unwrap();
            let id = parsed.get("id").map(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
            let expected: Vec<Option<RequestId>> = id.filter(|_| parsed.get("method").is_some()).into_iter().collect();
            prop_assert_eq!(requests(cut(line.as_bytes(), &sizes)), expected);
        }

        /// Any bytes can be scanned, and their division into chunks makes no difference.
        #[test]
        fn chunks_make_no_difference(
            line in prop::collection::vec(prop::sample::select(br#"{}[]:,"\ id1methodx"#.to_vec()), 0..60),
            sizes in prop::collection::vec(1_usize..9, 1..4),
        ) {
            prop_assert_eq!(requests(cut(&line, &sizes)), requests([&line]));
        }
    }
}
