//! The bearer token (RFC 6750) that a client must send.

use std::fmt;

use hyper::header::{AUTHORIZATION, HeaderMap};
use mcp_text_editor_core::digest::Digest;
use subtle::ConstantTimeEq as _;

/// A token. Only its digest is kept, and it is neither logged nor shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Digest);

/// The reason why a text cannot be a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenError {
    /// It has only blanks.
    #[error("it is empty")]
    Empty,
    /// It has several lines, blanks, or characters that no header can carry.
    #[error("a token is one word of printable ASCII")]
    NotOneWord,
}

impl Token {
    /// Makes a token of a text, without the blanks and line ends around it.
    pub fn new(text: &[u8]) -> Result<Self, TokenError> {
        let token = text.trim_ascii();
        if token.is_empty() {
            return Err(TokenError::Empty);
        }
        if !token.iter().all(u8::is_ascii_graphic) {
            return Err(TokenError::NotOneWord);
        }
        Ok(Self(Digest::of(token)))
    }

    /// Tells whether a request carries the token. Compares the digests in constant time, so that the time
    /// tells nothing about the token.
    pub(super) fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((scheme, token)) = value.as_bytes().split_at_checked("Bearer ".len()) else { return false };
        let sent = Digest::of(token.trim_ascii());
        scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(sent.as_bytes().ct_eq(self.0.as_bytes()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_one_word() {
        for (text, expected) in [
            ("", Err(TokenError::Empty)),
            (" \n", Err(TokenError::Empty)),
            ("a b", Err(TokenError::NotOneWord)),
            ("a\nb", Err(TokenError::NotOneWord)),
            ("é", Err(TokenError::NotOneWord)),
            ("secret\n", Ok(Token(Digest::of(b"secret")))),
        ] {
            assert_eq!(Token::new(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn only_the_token_is_the_token() {
        let token = Token::new(b"secret").unwrap();
        let carries = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value.parse().unwrap());
            }
            token.is_in(&headers)
        };
        assert!(carries(&["Bearer secret"]) && carries(&["bearer  secret "]));
        for values in [
            &[][..],
            &["Bearer secret", "Bearer secret"],
            &["Bearer"],
            &["Bearer "],
            &["Bearer secre"],
            &["Bearer secrets"],
            &["Bearer Secret"],
            &["Basic secret"],
            &["secret"],
        ] {
            assert!(!carries(values), "{values:?}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}
