//! Examines JSON before it is parsed. A [`Lexer`] splits a text into lexemes as its bytes arrive, each with
//! its kind and the depth of its nesting. [`weigh`] counts the values of a text, and [`bounded`] empties
//! lists and objects that are nested too deeply. None of them checks whether a text is JSON: any text can be
//! split into lexemes.
//!
//! A parsed value can take a hundred times the memory of its text, so a text with too many values must not be
//! parsed. All three take one pass and linear time, without recursion; the lexer has a state of a few words,
//! and allocates nothing.

use memchr::memchr2;

/// The state of a walk through a text, which is kept between two chunks.
#[derive(Debug, Default)]
pub struct Lexer {
    /// The number of braces and brackets that are open.
    depth: u64,
    string: Option<InString>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InString {
    Text,
    AfterBackslash,
}

/// A piece of a text: bytes that belong together. All lexemes in order make up the text.
#[derive(Clone, Copy, Debug)]
pub struct Lexeme<'a> {
    /// The kind.
    pub kind: LexemeKind,
    /// The bytes of the piece.
    pub bytes: &'a [u8],
    /// The number of pairs of braces and brackets around the piece. For a brace or a bracket, the number of
    /// those around its own pair.
    pub depth: u64,
}

/// The kind of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LexemeKind {
    /// `{` or `[`.
    Open,
    /// `}` or `]`, even if no brace or bracket is open, or the open one is of the other kind.
    Close,
    /// `,`.
    Comma,
    /// `:`.
    Colon,
    /// A string with its quotes, or as much of it as the chunk has.
    String,
    /// A byte of white space.
    Blank,
    /// Any other byte.
    Other,
}

impl Lexer {
    /// Takes the rest of a string that began in an earlier chunk; returns an empty slice if there is no such
    /// string. For each chunk except the first, this must be called before [`Lexer::next`].
    pub fn resume<'a>(&mut self, chunk: &mut &'a [u8]) -> &'a [u8] {
        self.string.map_or(&[], |state| self.string(state, chunk))
    }

    /// Takes the next piece from a chunk. Returns `None` if nothing is left of the chunk.
    #[expect(
        clippy::inline_always,
        reason = "every message is weighed: called for each byte, it takes three times as long"
    )]
    #[inline(always)]
    pub fn next<'a>(&mut self, chunk: &mut &'a [u8]) -> Option<Lexeme<'a>> {
        let (byte, rest) = chunk.split_first()?;
        let mut depth = self.depth;
        let kind = match byte {
            // The opening quote does not end the string; neither does a byte after a backslash.
            b'"' => {
                let bytes = self.string(InString::AfterBackslash, chunk);
                return Some(Lexeme { kind: LexemeKind::String, bytes, depth });
            }
            b'{' | b'[' => {
                self.depth += 1;
                LexemeKind::Open
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                self.depth = depth;
                LexemeKind::Close
            }
            b',' => LexemeKind::Comma,
            b':' => LexemeKind::Colon,
            byte if byte.is_ascii_whitespace() => LexemeKind::Blank,
            _ => LexemeKind::Other,
        };
        *chunk = rest;
        Some(Lexeme { kind, bytes: std::slice::from_ref(byte), depth })
    }

    /// Tells whether all opened strings, braces and brackets are closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.depth == 0 && self.string.is_none()
    }

    #[inline]
    fn string<'a>(&mut self, state: InString, chunk: &mut &'a [u8]) -> &'a [u8] {
        let (length, state) = end_of_string(chunk, state);
        self.string = state;
        let (bytes, rest) = chunk.split_at(length);
        *chunk = rest;
        bytes
    }
}

/// Returns the number of bytes of a chunk that belong to the string in which the chunk begins, and the state
/// after them, or `None` if the string ends there. The state is a parameter and a result, not a reference, so
/// [`Lexer::next`] can hold it in registers.
fn end_of_string(chunk: &[u8], state: InString) -> (usize, Option<InString>) {
    let mut at = usize::from(state == InString::AfterBackslash);
    while let Some(found) = memchr2(b'"', b'\\', chunk.get(at..).unwrap_or_default()) {
        at += found + 1;
        if chunk.get(at - 1) == Some(&b'"') {
            return (at, None);
        }
        if at == chunk.len() {
            return (at, Some(InString::AfterBackslash));
        }
        at += 1;
    }
    (chunk.len(), Some(InString::Text))
}

/// The amount of JSON in a text.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Weight {
    /// The number of list items and object fields, and one more for each empty list or object.
    pub values: u64,
    /// The depth to which lists and objects are nested.
    pub depth: u64,
}

/// Counts the values of a text, and measures the depth of their nesting.
#[must_use]
pub fn weigh(text: &[u8]) -> Weight {
    let (mut weight, mut lexer, mut rest) = (Weight::default(), Lexer::default(), text);
    while let Some(piece) = lexer.next(&mut rest) {
        match piece.kind {
            LexemeKind::Open => {
                weight.values += 1;
                weight.depth = weight.depth.max(piece.depth + 1);
            }
            LexemeKind::Comma => weight.values += 1,
            _ => {}
        }
    }
    weight
}

/// Returns the text with every list or object that is nested deeper than `keep` emptied, and each number
/// beyond the range of a double replaced by the largest double. The SDK's parser accepts neither more than
/// 128 levels nor such a number.
#[must_use]
pub fn bounded(text: &[u8], keep: u64) -> Vec<u8> {
    let (mut out, mut lexer, mut rest) = (Vec::new(), Lexer::default(), text);
    loop {
        let here = rest;
        let Some(piece) = lexer.next(&mut rest) else { return out };
        match piece.bytes {
            _ if piece.depth > keep => {}
            [b'-' | b'0'..=b'9'] => {
                let end = here.iter().position(|byte| !is_of_number(*byte)).unwrap_or(here.len());
                let (number, after) = here.split_at(end);
                out.extend_from_slice(within_range(number));
                rest = after;
            }
            [byte] => out.push(*byte),
            bytes => out.extend_from_slice(bytes),
        }
    }
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

fn within_range(number: &[u8]) -> &[u8] {
    let value = std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
    match value {
        Some(value) if value == f64::INFINITY => b"1e308",
        Some(value) if value == f64::NEG_INFINITY => b"-1e308",
        _ => number,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    type Told = (LexemeKind, u64, Vec<u8>);

    /// Returns the lexemes of a text that arrives in chunks of these sizes, with the parts of a string
    /// joined, and whether the text is closed.
    fn pieces(text: &[u8], sizes: &[usize]) -> (Vec<Told>, bool) {
        let (mut lexer, mut all, mut rest) = (Lexer::default(), Vec::<Told>::new(), text);
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (mut chunk, after) = rest.split_at((*size).min(rest.len()));
            let rest_of_string = lexer.resume(&mut chunk);
            if let Some((_, _, string)) = all.last_mut() {
                string.extend_from_slice(rest_of_string);
            }
            while let Some(Lexeme { kind, bytes, depth }) = lexer.next(&mut chunk) {
                all.push((kind, depth, bytes.to_vec()));
            }
            rest = after;
        }
        (all, lexer.is_closed())
    }

    #[test]
    fn pieces_of_a_text() {
        let (all, is_closed) = pieces(b"]{\"a\\\"\":\n[-1,\"\",\"b\\", &[1]);
        let told = all
            .iter()
            .map(|(kind, depth, bytes)| format!("{kind:?} {depth} {}", bytes.escape_ascii()))
            .collect::<Vec<_>>();
        insta::assert_snapshot!(told.join("\n"), @r#"
        Close 0 ]
        Open 0 {
        String 1 \"a\\\"\"
        Colon 1 :
        Blank 1 \n
        Open 1 [
        Other 2 -
        Other 2 1
        Comma 2 ,
        String 2 \"\"
        Comma 2 ,
        String 2 \"b\\
        "#);
        assert!(!is_closed);
    }

    proptest! {
        #[test]
        fn all_pieces_are_the_text_and_chunks_make_no_difference(
            text in prop::collection::vec(prop::sample::select(b"{}[]:,\"\\ \n-1e.a\xff".to_vec()), 0..60),
            sizes in prop::collection::vec(1_usize..9, 1..4),
        ) {
            let whole = pieces(&text, &[usize::MAX]);
            let bytes: Vec<&[u8]> = whole.0.iter().map(|(_, _, bytes)| &bytes[..]).collect();
            prop_assert_eq!(bytes.concat(), &text[..]);
            prop_assert_eq!(pieces(&text, &sizes), whole);
        }
    }

    #[test]
    fn texts_are_weighed() {
        let check = |text: &str, values: u64, depth: u64| {
            assert_eq!(weigh(text.as_bytes()), Weight { values, depth }, "{text}");
        };
        check("", 0, 0);
        check("5", 0, 0);
        check("[]", 1, 1);
        check("[1,2,3]", 3, 1);
        check(r#"{"a":1,"b":[1,2]}"#, 4, 2);
        check(r#"["[,[,[\",[",2]"#, 2, 1);
        check("]]]][[", 2, 2);
        check(r#"["a\"#, 1, 1);
        check("[", 1, 1);
    }

    #[test]
    fn messages_are_bounded() {
        let check = |text: &str, keep: u64, expected: &str| {
            assert_eq!(String::from_utf8(bounded(text.as_bytes(), keep)).unwrap(), expected);
        };
        check(r#"{"a":[1,{"b":2},"]"],"c":"[1]"}"#, 1, r#"{"a":[],"c":"[1]"}"#);
        check(r#"{"a":[1,{"b":2},"]"],"c":"[1]"}"#, 9, r#"{"a":[1,{"b":2},"]"],"c":"[1]"}"#);
        check(r#"[1e400,-1e400,1e-400,-0,12.5,"1e400"]"#, 9, r#"[1e308,-1e308,1e-400,-0,12.5,"1e400"]"#);
        check(&"[".repeat(100_000), 1, "[[");
        check(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), 1, "[[]]");
        check("]]1", 0, "]]1");
        check("\"ab\\", 0, "\"ab\\");
    }

    fn depth(value: &Value) -> u64 {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn count(value: &Value) -> u64 {
        match value {
            Value::Array(items) => items.len().max(1) as u64 + items.iter().map(count).sum::<u64>(),
            Value::Object(fields) => fields.len().max(1) as u64 + fields.values().map(count).sum::<u64>(),
            _ => 0,
        }
    }

    proptest! {
        #[test]
        fn what_is_not_too_much_stays_as_it_is(text in prop::collection::vec(prop::sample::select(br#"{}[]:,"\ 1-ax"#.to_vec()), 0..60)) {
            prop_assert_eq!(bounded(&text, 99), text);
        }

        #[test]
        fn weight_agrees_with_a_parser(text in r#"\[("[,\[]{0,3}",|1,|\[\],|\[1,2\],|\{"a":\[\]\},){0,6}null\]"#) {
            let value: Value = serde_json::from_str(&text).unwrap();
            let weight = weigh(text.as_bytes());
            prop_assert_eq!(weight.depth, depth(&value));
            prop_assert_eq!(weight.values, count(&value));
        }
    }
}
