//! Encodes and decodes the undo data in a database. Numbers are in LEB128: each byte has seven bits, and the
//! lowest bits come first.
//!
//! Decoding accepts any bytes. For bytes that were not encoded here, the result may be `None`, but there is
//! no panic. The memory that decoding takes is proportional to the number of bytes.

use std::path::PathBuf;

use mcp_text_editor_core::splice::{Splice, SpliceSet};

use crate::history::edit::{ChangeKind, Undo};
use crate::os;

impl ChangeKind {
    /// Returns the number of this kind in the database. The numbers never change their meanings.
    #[doc(hidden)]
    #[must_use]
    pub fn number(self) -> i64 {
        match self {
            Self::Changed => 0,
            Self::Created => 1,
            Self::Removed => 2,
            Self::Displaced => 3,
        }
    }

    /// Returns the kind with this number in the database; `None` for an unknown number.
    #[doc(hidden)]
    #[must_use]
    pub fn of_number(number: i64) -> Option<Self> {
        [Self::Changed, Self::Created, Self::Removed, Self::Displaced]
            .into_iter()
            .find(|kind| kind.number() == number)
    }
}

/// Returns the bytes of an undo, which do not include its kind; `None` if a path cannot be expressed in bytes
/// on this system.
#[must_use]
pub fn encode(undo: &Undo) -> Option<Vec<u8>> {
    Some(match undo {
        Undo::Create { contents } | Undo::Displaced { contents } => contents.clone(),
        Undo::Remove { directories } => {
            let mut out = Vec::new();
            for directory in directories {
                put_bytes(&mut out, os::bytes_of(directory)?);
            }
            out
        }
        Undo::Splices(splices) => {
            let splices = splices.as_slice();
            let inserted: usize = splices.iter().map(|splice| splice.insert.len() + 12).sum();
            let mut out = Vec::with_capacity(inserted);
            let mut from = 0;
            for splice in splices {
                put_number(&mut out, splice.at.start - from);
                put_number(&mut out, splice.at.end - splice.at.start);
                put_bytes(&mut out, &splice.insert);
                from = splice.at.end;
            }
            out
        }
    })
}

/// Decodes the undo of an edit of this kind; `None` if the bytes are not an undo.
#[must_use]
pub fn decode(kind: ChangeKind, bytes: Vec<u8>) -> Option<Undo> {
    let mut rest = bytes.as_slice();
    match kind {
        ChangeKind::Removed => Some(Undo::Create { contents: bytes }),
        ChangeKind::Displaced => Some(Undo::Displaced { contents: bytes }),
        ChangeKind::Created => {
            let mut directories: Vec<PathBuf> = Vec::new();
            while !rest.is_empty() {
                directories.push(os::path_of(take_bytes(&mut rest)?)?);
            }
            Some(Undo::Remove { directories })
        }
        ChangeKind::Changed => {
            let mut splices = Vec::new();
            let mut from = 0_u64;
            while !rest.is_empty() {
                let start = from.checked_add(take_number(&mut rest)?)?;
                let end = start.checked_add(take_number(&mut rest)?)?;
                splices.push(Splice { at: start..end, insert: take_bytes(&mut rest)? });
                from = end;
            }
            SpliceSet::new(splices).ok().map(Undo::Splices)
        }
    }
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        let low = u64::from(byte & 0x7f);
        // The tenth byte may contribute only one bit.
        if low.leading_zeros() < shift {
            return None;
        }
        number |= low << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_bytes(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use mcp_text_editor_core::source::{Source as _, read_range};
    use mcp_text_editor_core::splice::Spliced;
    use proptest::prelude::*;

    use super::*;

    fn apply(old: &[u8], splices: &SpliceSet) -> Vec<u8> {
        let new = Spliced::new(old, splices);
        read_range(&new, 0..new.size()).unwrap()
    }

    prop_compose! {
        fn edits()(old in prop::collection::vec(any::<u8>(), 0..100))(
            cuts in prop::collection::vec(0..=old.len() as u64, 0..12),
            inserts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 6),
            old in Just(old),
        ) -> (Vec<u8>, SpliceSet) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let pairs = cuts.chunks_exact(2).zip(inserts);
            let mut splices: Vec<Splice> =
                pairs.map(|(pair, insert)| Splice { at: pair[0]..pair[1], insert }).collect();
            splices.dedup_by(|one, other| one.at == other.at);
            (old, SpliceSet::new(splices).unwrap())
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_turns_an_edit_back((old, splices) in edits()) {
            let new = apply(&old, &splices);
            let inverse = splices.inverse(old.as_slice()).unwrap();
            let kept = decode(ChangeKind::Changed, encode(&Undo::Splices(inverse)).unwrap()).unwrap();
            let Undo::Splices(kept) = kept else { panic!("{kept:?}") };
            prop_assert_eq!(apply(&new, &kept), old);
        }

        #[test]
        fn numbers_come_back(number: u64, tail: Vec<u8>) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            bytes.extend(&tail);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(take_number(&mut rest), Some(number));
            prop_assert_eq!(rest, tail.as_slice());
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            for kind in [ChangeKind::Changed, ChangeKind::Created, ChangeKind::Removed, ChangeKind::Displaced] {
                let _ = decode(kind, bytes.clone());
            }
        }
    }

    #[test]
    fn what_is_no_undo_is_told() {
        for bytes in [&[0x80][..], &[0, 0, 5, b'a'], &[0xff; 11], &[0, 1, 0, 0xff], &[1]] {
            assert_eq!(decode(ChangeKind::Changed, bytes.to_vec()), None, "{bytes:?}");
        }
        let overflow = [&[0xff; 9][..], &[1, 1, 0]].concat();
        assert_eq!(decode(ChangeKind::Changed, overflow), None);
        let directories = vec![PathBuf::from("/a"), PathBuf::from("/a/b")];
        assert_eq!(take_number(&mut &[0x80; 11][..]), None, "a number has ten bytes at most");
        let remove = Undo::Remove { directories };
        assert_eq!(decode(ChangeKind::Created, encode(&remove).unwrap()), Some(remove));
    }
}
