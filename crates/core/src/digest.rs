//! SHA-256 digests of bytes, and the prefixes by which clients name them.

use std::fmt;

use sha2::Digest as _;

/// The SHA-256 digest of some bytes (FIPS 180-4). Displayed as 64 lower-case hexadecimal digits, as `sha256sum` does.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`; of nothing, that of the empty string.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digest of which these are the bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 16 hexadecimal digits: what replies to a model show.
    #[must_use]
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(16);
        text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A digest in the making.
#[derive(Clone, Default, Debug)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes added.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// What a client says of a digest: its first 12 to 64 hexadecimal digits, kept in lower case.
///
/// Twelve digits (48 bits) leave a chance of one in 10¹⁴ that changed bytes go unseen; a client that wants more sends more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tag(String);

impl Tag {
    /// Reads a tag, in either case; `None` unless it is 12 to 64 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (12..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| Self(text.to_ascii_lowercase()))
    }

    /// Whether `digest` begins with these digits.
    #[must_use]
    pub fn matches(&self, digest: &Digest) -> bool {
        digest.to_string().starts_with(&self.0)
    }

    /// Whether both can be said of one digest.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }

    /// The digits, in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_a_prefix_in_either_case() {
        let digest = Digest::of(b"");
        assert_eq!(digest.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        for length in 0..70 {
            let text: String = digest.to_string().to_uppercase().chars().cycle().take(length).collect();
            let tag = Tag::parse(&text);
            assert_eq!(tag.is_some(), (12..=64).contains(&length), "{length}");
            assert!(tag.is_none_or(|tag| tag.matches(&digest)));
        }
        assert_eq!(Tag::parse("e3b0c44298fg"), None);
        assert!(!Tag::parse("e3b0c44298fd").unwrap().matches(&digest));
    }
}
