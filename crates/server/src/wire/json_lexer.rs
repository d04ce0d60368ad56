//! Splits a JSON text into pieces as its bytes arrive: which of them are strings, and how deep each one is
//! nested.
//!
//! It makes one pass over chunks of any size, in linear time, with a state of a few words: it has no stack,
//! and allocates nothing. It does not check whether a text is JSON: any text has pieces.

use memchr::memchr2;

/// A walk through a text, with the state that it keeps between two chunks.
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

/// A piece of a text: bytes that belong together. All pieces in order are the text.
#[derive(Clone, Copy, Debug)]
pub struct Lexeme<'a> {
    /// The kind.
    pub kind: LexemeKind,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The number of braces and brackets around it; around a brace or a bracket, of those around the pair.
    pub depth: u64,
}

/// The kind of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LexemeKind {
    /// `{` or `[`.
    Open,
    /// `}` or `]`, even if nothing is open, or a bracket of the other kind.
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
    /// Takes the rest of a string that began in an earlier chunk; nothing if there is none. Must be called
    /// first for each chunk but the first.
    pub fn resume<'a>(&mut self, chunk: &mut &'a [u8]) -> &'a [u8] {
        self.string.map_or(&[], |state| self.string(state, chunk))
    }

    /// Takes the next piece from a chunk. Returns `None` if nothing is left of it.
    #[expect(
        clippy::inline_always,
        reason = "every message is weighed: called for each byte, it takes three times as long"
    )]
    #[inline(always)]
    pub fn next<'a>(&mut self, chunk: &mut &'a [u8]) -> Option<Lexeme<'a>> {
        let (byte, rest) = chunk.split_first()?;
        let mut depth = self.depth;
        let kind = match byte {
            // The opening quote does not end the string; neither does a byte behind a backslash.
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

    /// Tells whether each string that was opened is closed, and each brace and bracket.
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

/// Returns how many bytes of a chunk belong to the string in which it begins, and the state behind them:
/// `None` if the string ends there. It takes the state and returns it, so that that of [`Lexer::next`] can
/// stay in registers.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Told = (LexemeKind, u64, Vec<u8>);

    /// Returns the pieces of a text in chunks of these sizes, those of one string put together, and whether
    /// it is closed.
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
}
