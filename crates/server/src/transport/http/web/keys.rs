//! The secret that admits a browser. A browser gets the secret in exchange for the code in the link. The link
//! works only once.

use std::fmt::Write as _;
use std::io;
use std::sync::{Mutex, PoisonError};

use hyper::header::HeaderMap;

use crate::transport::http::access::Token;

/// The code of the link, and the secret for which it is exchanged. A request has one of them in the header
/// `Authorization`.
#[derive(Debug)]
pub(super) struct Keys(Mutex<KeyState>);

enum KeyState {
    /// No browser has redeemed the code.
    Offered { code: Token, secret: String },
    /// A browser has redeemed the code.
    Given { secret: Token },
}

impl std::fmt::Debug for KeyState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Offered { .. } => "Offered",
            Self::Given { .. } => "Given",
        })
    }
}

impl Keys {
    /// Draws a random code and secret. Also returns the code as text, which is stored nowhere else.
    pub(super) fn draw() -> io::Result<(Self, String)> {
        let (code, secret) = (drawn()?, drawn()?);
        let standing = KeyState::Offered { code: token(&code)?, secret };
        Ok((Self(Mutex::new(standing)), code))
    }

    /// Returns the secret if the request has the code, and no request has redeemed the code before.
    pub(super) fn redeem(&self, headers: &HeaderMap) -> Option<String> {
        let mut standing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let KeyState::Offered { code, secret } = &mut *standing else { return None };
        if !code.is_in(headers) {
            return None;
        }
        let secret = std::mem::take(secret);
        *standing = KeyState::Given { secret: token(&secret).ok()? };
        Some(secret)
    }

    /// Tells whether a request has the secret.
    pub(super) fn admit(&self, headers: &HeaderMap) -> bool {
        let standing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(&*standing, KeyState::Given { secret } if secret.is_in(headers))
    }
}

/// Draws 256 random bits, and returns them as hexadecimal digits.
fn drawn() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::from)?;
    Ok(bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    }))
}

fn token(text: &str) -> io::Result<Token> {
    Token::new(text.as_bytes()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use hyper::header::AUTHORIZATION;

    use super::*;

    #[test]
    fn the_code_is_redeemed_once_and_the_secret_alone_admits() {
        let with =
            |token: &str| HeaderMap::from_iter([(AUTHORIZATION, format!("Bearer {token}").parse().unwrap())]);
        let (keys, code) = Keys::draw().unwrap();
        assert_eq!(code.len(), 64);
        assert_eq!((keys.redeem(&with("other")), keys.redeem(&HeaderMap::new())), (None, None));
        assert!(!keys.admit(&with(&code)) && !keys.admit(&HeaderMap::new()));
        let secret = keys.redeem(&with(&code)).unwrap();
        assert_ne!(secret, code);
        assert!(keys.admit(&with(&secret)) && !keys.admit(&with(&code)) && !keys.admit(&with("")));
        assert_eq!((keys.redeem(&with(&code)), keys.redeem(&with(&secret))), (None, None));
        assert!(!format!("{keys:?}").contains(&secret));
    }
}
