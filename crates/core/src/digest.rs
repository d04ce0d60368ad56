//! SHA-256 digests of bytes, and the prefixes of digests that clients send.

use std::fmt;
use std::ops::Range;

use crate::source::{Source, for_each_chunk};

/// SHA-256 by ring.
#[cfg(all(feature = "fast-hash", not(miri)))]
mod sha256 {
    use ring::digest::{Context, SHA256};

    #[derive(Clone)]
    pub(super) struct HashState(Context);

    impl HashState {
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
    pub(super) struct HashState(Sha256);

    impl HashState {
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

/// The SHA-256 digest of some bytes (FIPS 180-4). Displayed as 64 lower-case hexadecimal digits, as
/// `sha256sum` prints it.
///
/// ```
/// use mcp_text_editor_core::digest::{Digest, DigestPrefix};
///
/// let digest = Digest::of(b"hello\n");
/// assert_eq!(digest.to_string(), "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
/// assert_eq!(digest.short(), "5891b5b522d5df08");
///
/// let remembered = DigestPrefix::parse("5891B5B522D5").unwrap();
/// assert!(remembered.matches(&digest));
/// assert_eq!(DigestPrefix::parse("5891b5"), None); // fewer than 12 digits
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of `bytes`, which may be empty.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.digest()
    }

    /// Converts 32 bytes, such as [`Digest::as_bytes`] returns, to a digest. Nothing is hashed or checked:
    /// any 32 bytes are a digest.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes. The first byte is displayed as the first two digits.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the first 16 hexadecimal digits (64 bits), in lower case: enough to distinguish versions of a
    /// file. A client can send them back as a [`DigestPrefix`].
    #[must_use]
    pub fn short(&self) -> String {
        hex(self.0).as_flattened().iter().take(16).map(|digit| char::from(*digit)).collect()
    }
}

/// Returns the hexadecimal digits of each byte, in lower case.
fn hex<const BYTES: usize>(bytes: [u8; BYTES]) -> [[u8; 2]; BYTES] {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'0');
    bytes.map(|byte| [digit(byte >> 4), digit(byte & 15)])
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // To format each byte with `{:02x}` would cost 10 % of the time that the server needs to read a small
        // file.
        f.write_str(&String::from_utf8_lossy(hex(self.0).as_flattened()))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Computes a digest of bytes that come in pieces; how they are cut does not matter.
///
/// A hasher from [`Hasher::with_midstates`] keeps copies of its state at some offsets (midstates). After a
/// change in the middle of the bytes, [`Hasher::before`] starts from the last midstate before the change, so
/// the bytes before that midstate are not hashed again.
#[derive(Clone)]
pub struct Hasher {
    state: sha256::HashState,
    /// The number of bytes that were added.
    length: u64,
    /// The states at multiples of `every` bytes.
    midstates: Vec<sha256::HashState>,
    every: u64,
}

/// The maximum number of midstates in the expected number of bytes. Each takes 224 bytes with ring.
const MAX_MIDSTATES: u64 = 32;
/// The minimum distance between midstates, in bytes. To hash fewer bytes again is cheaper than to keep one
/// more state.
const MIN_DISTANCE: u64 = 4096;

impl Default for Hasher {
    /// Returns a hasher without bytes that keeps no midstates.
    fn default() -> Self {
        Self { state: sha256::HashState::new(), length: 0, midstates: Vec::new(), every: u64::MAX }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Hasher {
    /// Returns a hasher that keeps midstates for [`Hasher::before`]: at most 32 in `size` bytes, evenly
    /// spaced, and at least 4096 bytes apart. `size` is a hint: bytes beyond it have midstates, too.
    #[must_use]
    pub fn with_midstates(size: u64) -> Self {
        let every = size.div_ceil(MAX_MIDSTATES).max(MIN_DISTANCE);
        Self { every, ..Self::default() }
    }

    /// Returns a hasher with the same bytes up to the last midstate at or before `offset`, or without bytes
    /// if there is no such midstate. Then the caller must call [`Hasher::update_at`] with all bytes after the
    /// midstate. It may begin earlier, since bytes that the hasher has are skipped.
    #[must_use]
    pub fn before(&self, offset: u64) -> Self {
        let kept = (offset / self.every).min(self.midstates.len() as u64);
        let last = usize::try_from(kept).ok().and_then(|kept| self.midstates.get(kept.checked_sub(1)?));
        let Some(state) = last else { return Self::default() };
        Self { state: state.clone(), length: kept * self.every, ..Self::default() }
    }

    /// Adds the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let to_midstate = usize::try_from(self.every - self.length % self.every).unwrap_or(usize::MAX);
            let (piece, rest) = bytes.split_at(to_midstate.min(bytes.len()));
            self.state.update(piece);
            self.length += piece.len() as u64;
            if self.length.is_multiple_of(self.every) {
                self.midstates.push(self.state.clone());
            }
            bytes = rest;
        }
    }

    /// Adds the bytes at `offset`, counted in bytes from 0, except those that were added before. All bytes
    /// before `offset` must have been added. A gap is not detected, and makes the digest wrong.
    pub fn update_at(&mut self, offset: u64, bytes: &[u8]) {
        let overlap = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        self.update(bytes.get(overlap..).unwrap_or_default());
    }

    /// Returns the digest of all bytes that were added so far; more may be added afterwards.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest(self.state.clone().finish())
    }
}

/// Computes the digest of the bytes of `source` at the offsets of `range`. Offsets beyond the end have no
/// bytes.
///
/// Fails only if the source does.
pub fn digest_of<S: Source + ?Sized>(source: &S, range: Range<u64>) -> Result<Digest, S::Error> {
    let mut hasher = Hasher::default();
    for_each_chunk(source, range, |_, chunk| {
        hasher.update(chunk);
        true
    })?;
    Ok(hasher.digest())
}

/// The beginning of a digest, as a client remembers it: its first 12 to 64 hexadecimal digits, kept in lower
/// case.
///
/// Twelve digits (48 bits) leave a chance of less than one in 10¹⁴ that changed bytes go unseen; a client
/// that wants a smaller chance sends more digits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DigestPrefix(String);

impl DigestPrefix {
    /// Parses a prefix, in either letter case; `None` unless it is 12 to 64 hexadecimal digits and nothing
    /// else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (12..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| Self(text.to_ascii_lowercase()))
    }

    /// Tells whether `digest` begins with these digits.
    #[must_use]
    pub fn matches(&self, digest: &Digest) -> bool {
        digest.to_string().starts_with(&self.0)
    }

    /// Tells whether a digest can begin with both prefixes, that is, whether one of the two begins with the
    /// other.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }

    /// Returns the digits, in lower case.
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
            if cfg!(miri) && size > 20_000 {
                continue;
            }
            let old = &bytes[..size];
            let mut hasher = Hasher::with_midstates(size as u64);
            old.chunks(chunk).for_each(|chunk| hasher.update(chunk));
            assert_eq!(hasher.digest(), Digest::of(old));
            let kept = hasher.midstates.len();
            assert!(((size / 4096).min(16)..=32).contains(&kept), "{kept} of {size} bytes");
            for at in [0, size.min(1), size / 3, size / 2, size.saturating_sub(1), size] {
                let new = [&old[..at], b"new", &old[at..]].concat();
                let mut again = hasher.before(at as u64);
                let (had, apart) = (again.length, hasher.every);
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

    #[test]
    fn what_is_sent_is_the_beginning_of_the_digest() {
        let digest = Digest::of(b"");
        assert_eq!(digest.as_bytes()[..4], [0xe3, 0xb0, 0xc4, 0x42]);
        assert_eq!(digest.short(), "e3b0c44298fc1c14");
        assert!(DigestPrefix::parse(&digest.short()).unwrap().matches(&digest));
    }

    #[test]
    fn two_prefixes_agree_where_one_begins_with_the_other() {
        let [short, long, other] = ["e3b0c44298fc", "e3b0c44298fc1c14", "e3b0c44298fd"]
            .map(|text| DigestPrefix::parse(text).unwrap());
        assert!(short.agrees_with(&long) && long.agrees_with(&short) && short.agrees_with(&short));
        assert!(!short.agrees_with(&other) && !other.agrees_with(&long));
    }

    #[test]
    fn of_a_hasher_what_it_has_taken_is_shown_and_no_state() {
        let mut hasher = Hasher::default();
        hasher.update(b"secret");
        assert_eq!(format!("{hasher:?}"), "Hasher { length: 6, .. }");
    }
}
