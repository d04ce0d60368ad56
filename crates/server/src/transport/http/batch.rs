//! Splits a body of several messages, a batch of revision 2025-03-26.

use crate::json::{LexemeKind, Lexer};

/// The most messages of a batch.
pub(super) const MAX: usize = 100;

/// The reason why a list is no batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoBatch {
    /// It has no items.
    Empty,
    /// It has more than [`MAX`].
    TooMany,
}

/// Splits a list into the texts of its items, by strings and nesting alone; the items are parsed later.
/// Returns `None` for a text that is no list.
pub(super) fn items(text: &[u8]) -> Option<Result<Vec<&[u8]>, NoBatch>> {
    let text = text.trim_ascii();
    let inside = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
    if inside.trim_ascii().is_empty() {
        return Some(Err(NoBatch::Empty));
    }
    let (mut items, mut begin) = (Vec::new(), 1);
    let (mut lexer, mut rest) = (Lexer::default(), text);
    while let Some(piece) = lexer.next(&mut rest) {
        let at = text.len() - rest.len() - piece.bytes.len();
        match (piece.kind, piece.depth) {
            // Something follows the end of the list.
            (LexemeKind::Close, 0) if !rest.is_empty() => return None,
            (LexemeKind::Close, 0) | (LexemeKind::Comma, 1) => {
                items.push(text.get(begin..at)?);
                begin = at + 1;
                if piece.kind == LexemeKind::Comma && items.len() == MAX {
                    return Some(Err(NoBatch::TooMany));
                }
            }
            _ => {}
        }
    }
    let is_whole = lexer.is_closed() && items.iter().all(|item| !item.trim_ascii().is_empty());
    is_whole.then_some(Ok(items))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_a_list_is_split() {
        for text in ["", "{}", "[1,]", "[,1]", "[1", "1]", "[1]]", "[\"]", "[[1]", "[{\"a\":1]x"] {
            assert_eq!(items(text.as_bytes()), None, "{text}");
        }
        let many = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert_eq!(items(many(MAX).as_bytes()).unwrap().unwrap().len(), MAX);
        assert_eq!(items(many(MAX + 1).as_bytes()), Some(Err(NoBatch::TooMany)));
        for empty in ["[]", " [ ] "] {
            assert_eq!(items(empty.as_bytes()), Some(Err(NoBatch::Empty)));
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[\\[\\]{},\"\\\\ a]{0,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[,\\]\"a]{0,3}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_items_are_the_list_s(list in prop::collection::vec(json(), 1..8), pretty: bool) {
            let list = Value::Array(list);
            let text = if pretty { format!(" {list:#}\n") } else { list.to_string() };
            let items: Vec<Value> = items(text.as_bytes()).unwrap().unwrap().into_iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
            prop_assert_eq!(Value::Array(items), list);
        }

        #[test]
        fn any_bytes_are_split_or_not(text in prop::collection::vec(prop::sample::select(b"[]{},\"\\a1 ".to_vec()), 0..40)) {
            if let Some(Ok(items)) = items(&text) {
                let joined = items.join(&b","[..]);
                prop_assert_eq!([b"[", &joined[..], b"]"].concat(), text.trim_ascii());
            }
        }
    }
}
