//! SHA-256 digests of bytes, and the prefixes by which clients name them.

use std::fmt;
use std::ops::Range;

use crate::source::{Source, for_each_chunk};

/// SHA-256 by ring.
#[cfg(all(feature = "fast-hash", not(miri)))]
mod sha256 {
    use ring::digest::{Context, SHA256};

    #[derive(Clone)]
    pub(super) struct State(Context);

    impl State {
        pub(super) fn new() -> Self {
            Self(Context::new(&SHA256))
        }

        pub(super) fn update(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }

        pub(super) fn finish(self) -> [u8; 32] {
            let mut bytes = [0; 32];
            bytes.copy_from_slice(self.0.finish().as_ref());
            bytes
        }
    }
}

/// SHA-256 by sha2, where ring is not wanted or cannot run: Miri runs no assembly.
#[cfg(not(all(feature = "fast-hash", not(miri))))]
mod sha256 {
    use sha2::{Digest as _, Sha256};

    #[derive(Clone)]
    pub(super) struct State(Sha256);

    impl State {
        pub(super) fn new() -> Self {
            Self(Sha256::new())
        }

        pub(super) fn update(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }

        pub(super) fn finish(self) -> [u8; 32] {
            self.0.finalize().into()
        }
    }
}

/// The SHA-256 digest of some bytes (FIPS 180-4). Displayed as 64 lower-case hexadecimal digits, as `sha256sum` does.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`; of nothing, that of the empty string.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.digest()
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
#[derive(Clone)]
pub struct Hasher {
    state: sha256::State,
    /// How many bytes it has taken.
    taken: u64,
    /// The states at multiples of `every` bytes.
    midstates: Vec<sha256::State>,
    every: u64,
}

/// How many midstates are kept at most, 224 bytes each …
const MAX_MIDSTATES: u64 = 32;
/// … and how far apart they are at least: fewer bytes are hashed sooner than they are kept account of.
const LEAST_BETWEEN: u64 = 4096;

impl Default for Hasher {
    /// One that cannot be taken up again in the middle.
    fn default() -> Self {
        Self { state: sha256::State::new(), taken: 0, midstates: Vec::new(), every: u64::MAX }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher").field("taken", &self.taken).finish_non_exhaustive()
    }
}

impl Hasher {
    /// One that keeps its midstates, evenly over so many bytes, for [`Hasher::before`].
    #[must_use]
    pub fn with_midstates(size: u64) -> Self {
        let every = size.div_ceil(MAX_MIDSTATES).max(LEAST_BETWEEN);
        Self { every, ..Self::default() }
    }

    /// One that has taken the same bytes as far as a midstate was kept, and none from `offset` on.
    #[must_use]
    pub fn before(&self, offset: u64) -> Self {
        let kept = (offset / self.every).min(self.midstates.len() as u64);
        let last = usize::try_from(kept).ok().and_then(|kept| self.midstates.get(kept.checked_sub(1)?));
        let Some(state) = last else { return Self::default() };
        Self { state: state.clone(), taken: kept * self.every, ..Self::default() }
    }

    /// Adds bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let to_midstate = usize::try_from(self.every - self.taken % self.every).unwrap_or(usize::MAX);
            let (piece, rest) = bytes.split_at(to_midstate.min(bytes.len()));
            self.state.update(piece);
            self.taken += piece.len() as u64;
            if self.taken.is_multiple_of(self.every) {
                self.midstates.push(self.state.clone());
            }
            bytes = rest;
        }
    }

    /// Adds the bytes that stand at `offset`, but for those that it has: it must have taken all before them.
    pub fn update_at(&mut self, offset: u64, bytes: &[u8]) {
        let has = usize::try_from(self.taken.saturating_sub(offset)).unwrap_or(usize::MAX);
        self.update(bytes.get(has..).unwrap_or_default());
    }

    /// The digest of all bytes added.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest(self.state.clone().finish())
    }
}

/// The digest of some bytes of a source.
pub fn digest_of<S: Source + ?Sized>(source: &S, range: Range<u64>) -> Result<Digest, S::Error> {
    let mut hasher = Hasher::default();
    for_each_chunk(source, range, |_, chunk| {
        hasher.update(chunk);
        true
    })?;
    Ok(hasher.digest())
}

/// What a client says of a digest: its first 12 to 64 hexadecimal digits, kept in lower case.
///
/// Twelve digits (48 bits) leave a chance of one in 10¹⁴ that changed bytes go unseen; a client that wants more sends more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DigestPrefix(String);

impl DigestPrefix {
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
    fn a_digest_is_taken_up_again_anywhere() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for (size, chunk) in [(0, 1), (4096, 4096), (5000, 7), (20_000, 4095), (300_000, 65_536)] {
            let old = &bytes[..size];
            let mut hasher = Hasher::with_midstates(size as u64);
            old.chunks(chunk).for_each(|chunk| hasher.update(chunk));
            assert_eq!(hasher.digest(), Digest::of(old));
            for at in [0, size.min(1), size / 3, size / 2, size.saturating_sub(1), size] {
                let new = [&old[..at], b"new", &old[at..]].concat();
                let mut again = hasher.before(at as u64);
                let (had, apart) = (again.taken, hasher.every);
                assert!(had <= at as u64 && at as u64 - had < apart, "{had} of {at}");
                let mut offset = 0;
                for chunk in new.chunks(chunk) {
                    again.update_at(offset, chunk);
                    offset += chunk.len() as u64;
                }
                assert_eq!(again.digest(), Digest::of(&new), "{size} bytes, changed at {at}");
            }
        }
    }

    #[test]
    fn a_tag_is_a_prefix_in_either_case() {
        let digest = Digest::of(b"");
        assert_eq!(digest.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        for length in 0..70 {
            let text: String = digest.to_string().to_uppercase().chars().cycle().take(length).collect();
            let tag = DigestPrefix::parse(&text);
            assert_eq!(tag.is_some(), (12..=64).contains(&length), "{length}");
            assert!(tag.is_none_or(|tag| tag.matches(&digest)));
        }
        assert_eq!(DigestPrefix::parse("e3b0c44298fg"), None);
        assert!(!DigestPrefix::parse("e3b0c44298fd").unwrap().matches(&digest));
    }
}
