//! Splices: what overlaps is refused; what does not changes nothing else, in any order, and can be undone.

use std::ops::Range;

use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_core::splice::{Segment, Splice, SpliceSet, Spliced};

use crate::input::Input;

/// Makes splices at any places of the bytes, with pieces of the bytes as new text.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let mut places = Vec::new();
    for _ in 0..input.below(12) {
        places.push([input.below(300), input.below(20), input.below(300), input.below(10)]);
    }
    let old = input.rest();
    let clamp = |at: usize| at.min(old.len());
    let splices: Vec<Splice> = places
        .into_iter()
        .map(|[start, length, from, many]| Splice {
            at: clamp(start) as u64..clamp(start + length) as u64,
            insert: old[clamp(from)..clamp(from + many)].to_vec(),
        })
        .collect();

    let mut any_overlap = false;
    for (index, one) in splices.iter().enumerate() {
        any_overlap |= splices[..index].iter().any(|other| overlap(&one.at, &other.at));
    }
    let reversed = SpliceSet::new(splices.iter().rev().cloned().collect());
    let set = match SpliceSet::new(splices.clone()) {
        Ok(set) => set,
        Err(found) => {
            assert!(any_overlap && reversed.is_err());
            for one in found {
                assert!(overlap(&splices[one.first].at, &splices[one.second].at), "{one:?} of {splices:?}");
            }
            return;
        }
    };
    assert!(!any_overlap, "{splices:?}");
    assert_eq!(reversed.as_ref(), Ok(&set), "the order in the call matters");

    let mut naive = old.to_vec();
    for splice in set.as_slice().iter().rev() {
        naive.splice(bounds(&splice.at), splice.insert.iter().copied());
    }
    let new = apply(old, &set);
    assert_eq!(new, naive);
    assert!(set.segments(old.len() as u64).all(|part| part.length() > 0));
    let parts: Vec<u8> = set
        .segments(old.len() as u64)
        .flat_map(|part| match part {
            Segment::Old(range) => old[bounds(&range)].to_vec(),
            Segment::New(bytes) => bytes.to_vec(),
        })
        .collect();
    assert_eq!(parts, naive);
    for (splice, place) in set.as_slice().iter().zip(set.new_places()) {
        assert_eq!(&new[bounds(&place)], splice.insert);
    }
    let view = Spliced::new(old, &set);
    for from in 0..new.len().min(40) {
        let to = (from * 3 + 1).min(new.len());
        let Ok(part) = read_range(&view, from as u64..to.max(from) as u64);
        assert_eq!(part, &new[from..to.max(from)]);
    }
    let Ok(past) = view.read_at(view.size(), &mut [0; 4]);
    assert_eq!(past, 0);

    let Ok(identity) = set.is_identity(old);
    assert!(!identity || new == old);
    let Ok(inverse) = set.inverse(old);
    assert_eq!(apply(&new, &inverse), old);
    // Undoing the undoing is the edit again.
    let Ok(again) = inverse.inverse(new.as_slice());
    assert_eq!(again, set);
}

/// Tells whether two places share a byte, one is inside the other, or both are the same point.
fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    let inside = |point: u64, range: &Range<u64>| range.start < point && point < range.end;
    match (one.is_empty(), other.is_empty()) {
        (true, true) => one == other,
        (true, false) => inside(one.start, other),
        (false, true) => inside(other.start, one),
        (false, false) => one.start < other.end && other.start < one.end,
    }
}

pub(crate) fn bounds(range: &Range<u64>) -> Range<usize> {
    let place = |at: u64| usize::try_from(at).expect("a place in memory");
    place(range.start)..place(range.end)
}

/// Returns the new bytes.
pub(crate) fn apply(old: &[u8], set: &SpliceSet) -> Vec<u8> {
    let new = Spliced::new(old, set);
    let Ok(bytes) = read_range(&new, 0..new.size());
    bytes
}
