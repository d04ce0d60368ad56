//! Edits of bytes: replacements at offsets, the new file as a view through them, and their inverse.

use std::ops::Range;

use crate::source::{Source, for_each_chunk, read_range};

/// One replacement: the bytes `at` are removed, `insert` takes their place. Offsets are in bytes from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Splice {
    /// The bytes that are removed, by their offsets in the old file; empty for an insertion.
    pub at: Range<u64>,
    /// The bytes that are inserted there; empty for a removal.
    pub insert: Vec<u8>,
}

impl Splice {
    /// Returns the splice that replaces `removed`, at offset `start`, by `insert`. Leaves out whole lines at
    /// the start and end that are equal in `removed` and `insert`. Returns `None` if the two are equal.
    fn changing(start: u64, removed: &[u8], insert: &[u8]) -> Option<Self> {
        if removed == insert {
            return None;
        }
        let same = removed.iter().zip(insert).take_while(|(old, new)| old == new).count();
        let lines = removed.split_at(same).0.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (old, new) = (removed.split_at(lines).1, insert.split_at(lines).1);
        let same = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
        let begins_line = |rest: &[u8], end| rest.iter().rev().nth(end).is_none_or(|byte| *byte == b'\n');
        let end = (0..=same).rev().find(|end| begins_line(old, *end) && begins_line(new, *end)).unwrap_or(0);
        let start = start + lines as u64;
        let at = start..start + (old.len() - end) as u64;
        Some(Self { at, insert: new.split_at(new.len() - end).0.to_vec() })
    }
}

/// Splices of one file, sorted and disjoint. No two of them insert at the same place. [`SpliceSet::new`]
/// makes sure of this, whatever the order of its list. The default set is empty and changes nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpliceSet(Vec<Splice>);

/// Two splices that claim the same bytes, by their indices in the list for [`SpliceSet::new`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the splices at index {first} and index {second} claim the same bytes")]
#[non_exhaustive]
pub struct Overlap {
    /// The index, from 0, of the splice that begins first.
    pub first: usize,
    /// The index of the other splice.
    pub second: usize,
}

/// A part of the new file: bytes of the old one, or bytes of a splice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Segment<'a> {
    /// The bytes at these offsets of the old file.
    Old(Range<u64>),
    /// Inserted bytes.
    New(&'a [u8]),
}

impl Segment<'_> {
    /// Returns the number of its bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Old(range) => range.end - range.start,
            Self::New(bytes) => bytes.len() as u64,
        }
    }
}

impl SpliceSet {
    /// Sorts the splices and checks that they are disjoint. Splices that only touch do not overlap; two empty
    /// ones at the same place do. Nothing checks that they lie within the file, which is unknown here.
    ///
    /// The error lists, in file order, the overlaps of each splice with the splice before it, and with the
    /// earlier splice that reaches furthest. If many splices overlap, not all pairs are listed, so that the
    /// check takes only `n log n` steps.
    pub fn new(mut splices: Vec<Splice>) -> Result<Self, Vec<Overlap>> {
        let places = splices.iter().enumerate();
        let mut order: Vec<(u64, u64, usize)> =
            places.map(|(index, splice)| (splice.at.start, splice.at.end, index)).collect();
        order.sort_unstable();
        let mut overlaps = Vec::new();
        let mut widest: Option<(usize, u64, u64)> = None;
        let mut last = None;
        for (start, end, index) in order {
            let before = [widest, last.filter(|last| Some(*last) != widest)];
            for (first, first_start, first_end) in before.into_iter().flatten() {
                if start < first_end || (start, end) == (first_start, first_end) {
                    overlaps.push(Overlap { first, second: index });
                }
            }
            last = Some((index, start, end));
            if widest.is_none_or(|(_, _, widest_end)| end >= widest_end) {
                widest = Some((index, start, end));
            }
        }
        if !overlaps.is_empty() {
            return Err(overlaps);
        }
        splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
        // If the list comes from an in-place `collect` of larger items, it has spare capacity.
        splices.shrink_to_fit();
        Ok(Self(splices))
    }

    /// Returns the splices, in file order.
    #[must_use]
    pub fn as_slice(&self) -> &[Splice] {
        &self.0
    }

    /// Returns the number of bytes of the old file that are removed.
    #[must_use]
    pub fn removed(&self) -> u64 {
        self.0.iter().map(|splice| splice.at.end - splice.at.start).sum()
    }

    /// Returns the parts of the new file, in order, for an old file of `size` bytes. No part is empty.
    pub fn segments(&self, size: u64) -> impl Iterator<Item = Segment<'_>> {
        let mut from = 0;
        let tail = self.0.last().map_or(0, |splice| splice.at.end)..size;
        let parts = self.0.iter().flat_map(move |splice| {
            let kept = from..splice.at.start;
            from = splice.at.end;
            [Segment::Old(kept), Segment::New(&splice.insert)]
        });
        parts.chain([Segment::Old(tail)]).filter(|part| part.length() > 0)
    }

    /// Returns, for each splice in file order, the offsets of its insertion in the new file; an empty range
    /// for a removal.
    pub fn new_places(&self) -> impl Iterator<Item = Range<u64>> {
        let (mut removed, mut inserted) = (0, 0);
        self.0.iter().map(move |splice| {
            let start = splice.at.start - removed + inserted;
            removed += splice.at.end - splice.at.start;
            inserted += splice.insert.len() as u64;
            start..start + splice.insert.len() as u64
        })
    }

    /// Returns the splices that turn the new file back into `old`, the file that `self` is for. They leave
    /// out lines at the start or end of a splice that are the same in both files. They hold in memory the
    /// bytes that `self` removes.
    ///
    /// Fails only if the source does.
    pub fn inverse<S: Source + ?Sized>(&self, old: &S) -> Result<Self, S::Error> {
        Self::changes(self.0.iter().zip(self.new_places()).map(|(splice, place)| {
            let insert = read_range(old, splice.at.clone())?;
            Ok(Splice::changing(place.start, &splice.insert, &insert))
        }))
    }

    /// Collects changes in file order. Two insertions can have come to the same place: these become one.
    fn changes<E>(changes: impl Iterator<Item = Result<Option<Splice>, E>>) -> Result<Self, E> {
        let mut splices: Vec<Splice> = Vec::new();
        for change in changes {
            let Some(change) = change? else { continue };
            match splices.last_mut() {
                Some(last) if last.at == change.at => last.insert.extend(change.insert),
                _ => splices.push(change),
            }
        }
        Ok(Self(splices))
    }

    /// Returns splices of the old file that have the same effect as `self` followed by `next`, which is for
    /// the new file.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let mut out = Vec::new();
        // The offset in the old file up to which `out` is complete, and the bytes to insert there.
        let (mut end, mut insert) = (0, Vec::new());
        let mut put = |part: Segment<'_>| match part {
            Segment::New(bytes) => insert.extend_from_slice(bytes),
            Segment::Old(kept) => {
                if kept.start > end || !insert.is_empty() {
                    out.push(Splice { at: end..kept.start, insert: std::mem::take(&mut insert) });
                }
                end = kept.end;
            }
        };
        // The parts of the new file that are not copied yet, and the offset of the next one in that file.
        let mut parts = self.segments(u64::MAX).peekable();
        let mut start = 0_u64;
        // The sizes of the files are unknown, and less than `u64::MAX`.
        for step in next.segments(u64::MAX) {
            let wanted = match step {
                Segment::New(_) => {
                    put(step);
                    continue;
                }
                Segment::Old(wanted) => wanted,
            };
            while let Some(part) = parts.peek() {
                let length = part.length();
                let inside = |offset: u64| offset.saturating_sub(start).min(length);
                let (from, to) = (inside(wanted.start), inside(wanted.end));
                if from < to {
                    put(match part {
                        Segment::Old(range) => Segment::Old(range.start + from..range.start + to),
                        Segment::New(bytes) => {
                            let place = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
                            Segment::New(bytes.get(place(from)..place(to)).unwrap_or_default())
                        }
                    });
                }
                if start.saturating_add(length) > wanted.end {
                    break;
                }
                start = start.saturating_add(length);
                parts.next();
            }
        }
        Self(out)
    }

    /// Tells whether `range` of the new file touches or borders bytes that these splices insert, or the place
    /// of a removal.
    #[must_use]
    pub fn touches(&self, range: &Range<u64>) -> bool {
        self.new_places().any(|place| place.start <= range.end && range.start <= place.end)
    }

    /// Returns the range of the old file that became `range` of the new file, widened to include all of each
    /// splice that it touches or borders.
    #[must_use]
    pub fn widened(&self, range: &Range<u64>) -> Range<u64> {
        let (mut start, mut end) = (range.start, range.end);
        let (mut first, mut last) = (u64::MAX, 0);
        for (splice, place) in self.0.iter().zip(self.new_places()) {
            let there = |offset: u64| (offset + splice.at.end).saturating_sub(place.end);
            if place.end < range.start {
                start = there(range.start);
            } else if place.start <= range.end {
                (first, last) = (first.min(splice.at.start), last.max(splice.at.end));
            }
            if place.end <= range.end {
                end = there(range.end);
            }
        }
        start.min(first)..end.max(last)
    }

    /// Converts these splices, which are for the file after `back`, to splices for the file before `back`.
    /// Returns `None` if one of them touches or borders bytes that `back` changes.
    #[must_use]
    pub fn carried(&self, back: &Self) -> Option<Self> {
        let mut changed = back.0.iter().zip(back.new_places()).peekable();
        let mut carried = Vec::new();
        // The end of the last change before the splice, in the file before `back` and in the file after
        // `back`.
        let (mut end, mut end_here) = (0, 0);
        for splice in &self.0 {
            while let Some((change, place)) = changed.next_if(|(_, place)| place.end < splice.at.start) {
                (end, end_here) = (change.at.end, place.end);
            }
            if changed.peek().is_some_and(|(_, place)| place.start <= splice.at.end) {
                return None;
            }
            let there = |offset: u64| offset - end_here + end;
            let at = there(splice.at.start)..there(splice.at.end);
            carried.push(Splice { at, insert: splice.insert.clone() });
        }
        Some(Self(carried))
    }

    /// Returns the same splices, each without the lines at its start and end that are equal in both files. A
    /// splice that changes nothing is left out.
    ///
    /// Fails only if the source does.
    pub fn changing<S: Source + ?Sized>(&self, old: &S) -> Result<Self, S::Error> {
        Self::changes(self.0.iter().map(|splice| {
            let removed = read_range(old, splice.at.clone())?;
            Ok(Splice::changing(splice.at.start, &removed, &splice.insert))
        }))
    }

    /// Tells whether the new file is equal to `old`. Reads only bytes that are inserted or have another
    /// offset, up to the first difference.
    ///
    /// Fails only if the source does.
    pub fn is_identity<S: Source + ?Sized>(&self, old: &S) -> Result<bool, S::Error> {
        let inserted: u64 = self.0.iter().map(|splice| splice.insert.len() as u64).sum();
        if inserted != self.removed() {
            return Ok(false);
        }
        let mut start = 0;
        for part in self.segments(old.size()) {
            let end = start + part.length();
            let is_same = match part {
                Segment::Old(range) if range.start == start => true,
                Segment::Old(range) => is_repeated(old, range, start)?,
                Segment::New(bytes) => read_range(old, start..end)? == bytes,
            };
            if !is_same {
                return Ok(false);
            }
            start = end;
        }
        Ok(true)
    }
}

/// Whether the source has the bytes of `range` also at offset `other`.
fn is_repeated<S: Source + ?Sized>(source: &S, range: Range<u64>, other: u64) -> Result<bool, S::Error> {
    let (mut is_same, mut failure) = (true, Ok(()));
    for_each_chunk(source, range.clone(), |offset, chunk| {
        let start = other + (offset - range.start);
        match read_range(source, start..start + chunk.len() as u64) {
            Ok(bytes) => is_same = bytes == chunk,
            Err(error) => failure = Err(error),
        }
        is_same && failure.is_ok()
    })?;
    failure.map(|()| is_same)
}

/// The new file, before it is written: a view of the old file through the splices. The view is a [`Source`],
/// too. Bytes outside the splices are read from the old file and never decoded.
#[derive(Clone, Debug)]
pub struct Spliced<'a, S: ?Sized> {
    old: &'a S,
    /// The parts, each with the offset in the new file at which it begins.
    parts: Vec<(u64, Segment<'a>)>,
    size: u64,
}

impl<'a, S: Source + ?Sized> Spliced<'a, S> {
    /// Returns the view of `old` through `splices`, which must lie within it.
    #[must_use]
    pub fn new(old: &'a S, splices: &'a SpliceSet) -> Self {
        let mut size = 0;
        let mut parts = Vec::new();
        for segment in splices.segments(old.size()) {
            parts.push((size, segment.clone()));
            size += segment.length();
        }
        Self { old, parts, size }
    }
}

impl<S: Source + ?Sized> Source for Spliced<'_, S> {
    type Error = S::Error;

    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, S::Error> {
        let mut filled = 0;
        let first = self.parts.partition_point(|(start, _)| *start <= offset).saturating_sub(1);
        for (start, segment) in self.parts.get(first..).unwrap_or_default() {
            // `None` if the read of the previous part was short.
            let Some(skip) = (offset + filled as u64).checked_sub(*start) else { break };
            let rest = buffer.get_mut(filled..).unwrap_or_default();
            let want =
                usize::try_from(segment.length().saturating_sub(skip)).unwrap_or(usize::MAX).min(rest.len());
            let Some(part) = rest.get_mut(..want).filter(|part| !part.is_empty()) else { break };
            filled += match segment {
                Segment::Old(range) => self.old.read_at(range.start + skip, part)?,
                Segment::New(bytes) => bytes.read_at(skip, part).unwrap_or_else(|never| match never {}),
            };
        }
        Ok(filled)
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the files are small")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn apply(old: &[u8], splices: &SpliceSet) -> Vec<u8> {
        let new = Spliced::new(old, splices);
        read_range(&new, 0..new.size()).unwrap()
    }

    #[test]
    fn an_overlap_is_one_sentence() {
        let insertion = Splice { at: 2..2, insert: vec![] };
        let overlaps = SpliceSet::new(vec![insertion.clone(), insertion]).unwrap_err();
        assert_eq!(overlaps[0].to_string(), "the splices at index 0 and index 1 claim the same bytes");
    }

    #[test]
    fn splices_that_claim_the_same_bytes_are_refused() {
        let overlaps = |places: &[Range<u64>]| {
            let splices = places.iter().map(|at| Splice { at: at.clone(), insert: vec![] }).collect();
            SpliceSet::new(splices)
                .err()
                .unwrap_or_default()
                .iter()
                .map(|o| (o.first, o.second))
                .collect::<Vec<_>>()
        };
        assert_eq!(overlaps(&[0..3, 3..5, 5..5]), []);
        assert_eq!(overlaps(&[3..5, 0..4]), [(1, 0)]);
        assert_eq!(overlaps(&[2..2, 2..2]), [(0, 1)]);
        assert_eq!(overlaps(&[0..10, 1..2, 3..4]), [(0, 1), (0, 2)]);
        assert_eq!(overlaps(&[2..2, 2..4]), []);
    }

    #[test]
    fn lines_that_stay_the_same_are_no_part_of_a_change() {
        for (removed, insert, expected) in [
            ("a\nb\n", "a\nb\n", None),
            ("a\nb\nc\n", "a\nB\nc\n", Some((2..4, "B\n"))),
            ("a\nc\n", "a\nb\nc\n", Some((2..2, "b\n"))),
            ("a\n", "a\na\n", Some((2..2, "a\n"))),
            ("ab\nbc", "ab\nbd", Some((3..5, "bd"))),
            ("xb\ny", "xa\ny", Some((0..3, "xa\n"))),
            ("b\n", "ab\n", Some((0..2, "ab\n"))),
            ("c", "b\nc", Some((0..0, "b\n"))),
        ] {
            let splice = Splice::changing(7, removed.as_bytes(), insert.as_bytes());
            let expected = expected.map(|(at, insert): (Range<u64>, &str)| Splice {
                at: 7 + at.start..7 + at.end,
                insert: insert.into(),
            });
            assert_eq!(splice, expected, "{removed:?} to {insert:?}");
        }
    }

    #[test]
    fn neighbours_that_come_to_one_place_are_one_splice() {
        let old = b"a\nX\nY\nb\n";
        let cut = |at: Range<u64>, insert: &[u8]| Splice { at, insert: insert.to_vec() };
        let both = SpliceSet::new(vec![cut(0..4, b"a\n"), cut(4..8, b"b\n")]).unwrap();
        let back = both.inverse(old.as_slice()).unwrap();
        assert_eq!(back.as_slice(), [cut(2..2, b"X\nY\n")]);
        let again = SpliceSet::new(vec![cut(0..2, b"a\nX\n"), cut(2..4, b"Y\nb\n")]).unwrap();
        assert_eq!(again.changing(b"a\nb\n".as_slice()).unwrap(), back);
    }

    #[test]
    fn a_range_is_widened_by_what_it_touches_or_borders() {
        let splices = SpliceSet::new(vec![Splice { at: 2..4, insert: vec![0] }]).unwrap();
        for (range, expected, touches) in [
            (0..1, 0..1, false),
            (0..2, 0..4, true),
            (2..3, 2..4, true),
            (3..5, 2..6, true),
            (4..5, 5..6, false),
        ] {
            assert_eq!((splices.widened(&range), splices.touches(&range)), (expected, touches), "{range:?}");
        }
    }

    prop_compose! {
        /// Makes old bytes, and disjoint splices of them in any order.
        fn edits()(old in prop::collection::vec(any::<u8>(), 0..200))(
            cuts in prop::collection::btree_set(0..=old.len() as u64, 0..12),
            inserts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 6),
            old in Just(old),
        ) -> (Vec<u8>, Vec<Splice>) {
            let cuts: Vec<u64> = cuts.into_iter().collect();
            let splices = cuts.chunks_exact(2).zip(inserts).map(|(pair, insert)| Splice { at: pair[0]..pair[1], insert });
            (old, splices.collect())
        }
    }

    proptest! {
        #[test]
        fn inverse_after_apply_is_identity((old, splices) in edits()) {
            let forward = SpliceSet::new(splices).unwrap();
            let new = apply(&old, &forward);
            let back = forward.inverse(old.as_slice()).unwrap();
            prop_assert_eq!(apply(&new, &back), old);
        }

        #[test]
        fn splices_after_splices_are_splices((old, splices) in edits(), (_, next) in edits()) {
            let first = SpliceSet::new(splices).unwrap();
            let new = apply(&old, &first);
            // Only the splices of the second set that lie within the new file.
            let fits = |splice: &Splice| splice.at.end <= new.len() as u64;
            let next = SpliceSet::new(next.into_iter().filter(fits).collect()).unwrap();
            let both = first.then(&next);
            prop_assert_eq!(apply(&old, &both), apply(&new, &next));
            prop_assert_eq!(SpliceSet::new(both.as_slice().to_vec()), Ok(both));
        }

        /// `one` is applied, and then `other`. If no splice of `one` touches or borders a splice of `other`,
        /// `one` can be undone and `other` kept: the result is `other` alone.
        #[test]
        fn splices_are_carried_beside_others((old, splices) in edits(), mask in any::<u16>()) {
            let part = |wanted: bool| {
                let splices = splices.iter().enumerate().filter(|(at, _)| (mask >> at & 1 == 1) == wanted);
                splices.map(|(_, splice)| splice.clone()).collect::<Vec<_>>()
            };
            let (one, other) = (SpliceSet::new(part(true)).unwrap(), SpliceSet::new(part(false)).unwrap());
            let both = SpliceSet::new(splices.clone()).unwrap();
            let (now, with_one) = (apply(&old, &both), apply(&old, &one));
            // Leads from the file with both to the file with `one` alone.
            let back = both.inverse(old.as_slice()).unwrap().then(&one).changing(now.as_slice()).unwrap();
            prop_assert_eq!(apply(&now, &back), with_one.clone());
            let undo = one.inverse(old.as_slice()).unwrap();
            if let Some(carried) = undo.carried(&back) {
                prop_assert_eq!(apply(&now, &carried), apply(&old, &other));
            } else {
                let touches = |one: &Splice, other: &Splice| {
                    one.at.start <= other.at.end && other.at.start <= one.at.end
                };
                prop_assert!(one.0.iter().any(|one| other.0.iter().any(|other| touches(one, other))));
            }
        }

        #[test]
        fn order_does_not_matter((old, mut splices) in edits()) {
            let one = apply(&old, &SpliceSet::new(splices.clone()).unwrap());
            splices.reverse();
            prop_assert_eq!(apply(&old, &SpliceSet::new(splices).unwrap()), one);
        }

        #[test]
        fn bytes_outside_splices_never_change((old, splices) in edits()) {
            let set = SpliceSet::new(splices).unwrap();
            let new = apply(&old, &set);
            let mut naive = old.clone();
            for splice in set.as_slice().iter().rev() {
                naive.splice(splice.at.start as usize..splice.at.end as usize, splice.insert.iter().copied());
            }
            prop_assert_eq!(&new, &naive);
            let inserted: usize = set.as_slice().iter().map(|splice| splice.insert.len()).sum();
            prop_assert_eq!(set.removed() as usize, old.len() + inserted - new.len());
            let view = Spliced::new(old.as_slice(), &set);
            for (from, length) in [(0, 3), (new.len() / 2, 7), (new.len(), 1)] {
                let to = (from + length).min(new.len());
                let part = read_range(&view, from as u64..to as u64).unwrap();
                prop_assert_eq!(&part, &new[from..to]);
            }
            for (splice, place) in set.as_slice().iter().zip(set.new_places()) {
                prop_assert_eq!(&new[place.start as usize..place.end as usize], &splice.insert[..]);
            }
        }

        #[test]
        fn what_is_put_back_is_no_change((old, splices) in edits()) {
            let bytes = |at: &Range<u64>| old[at.start as usize..at.end as usize].to_vec();
            let same = splices.iter().map(|splice| Splice { insert: bytes(&splice.at), ..splice.clone() }).collect();
            let is_identity = |splices| SpliceSet::new(splices).unwrap().is_identity(old.as_slice()).unwrap();
            prop_assert!(is_identity(same));
            let changes = apply(&old, &SpliceSet::new(splices.clone()).unwrap()) != old;
            prop_assert_eq!(is_identity(splices), !changes);
        }

        /// A move of bytes can leave the file as it is, for example among equal bytes.
        #[test]
        fn what_moves_to_where_it_is_repeated_is_no_change(old in prop::collection::vec(0..2_u8, 1..9), cuts in prop::array::uniform3(0..9_usize)) {
            let [start, end, to] = cuts.map(|cut| cut.min(old.len()));
            let (start, end) = (start.min(end), start.max(end));
            prop_assume!(to <= start || end <= to);
            let moved = Splice { at: to as u64..to as u64, insert: old[start..end].to_vec() };
            let Ok(splices) = SpliceSet::new(vec![Splice { at: start as u64..end as u64, insert: vec![] }, moved]) else { return Ok(()) };
            prop_assert_eq!(splices.is_identity(old.as_slice()).unwrap(), apply(&old, &splices) == old);
        }
    }
}
