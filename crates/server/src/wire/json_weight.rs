//! Weighs a JSON text before it is parsed ([`weigh`]), and empties lists and objects in it that nest too deep
//! ([`bounded`]). Neither checks whether a text is JSON.
//!
//! A parsed value can take a hundred times the bytes that spell it, so a text that is too heavy must not be
//! parsed. Both functions take linear time, and no stack.

use super::json_lexer::{LexemeKind, Lexer};

/// The amount of JSON in a text.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Weight {
    /// The number of list items and object fields, and one more for each empty list or object.
    pub values: u64,
    /// The depth to which lists and objects nest.
    pub depth: u64,
}

/// Counts what a text holds.
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

/// Returns the text with every list or object that is nested deeper than `keep` emptied, and with each number
/// beyond a double's range replaced by the largest in it. The SDK's parser takes neither more than 128 levels
/// nor such a number.
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
