//! Counts the work that a request makes, without a clock: n patches cost about n times as much as one.

use std::cell::Cell;
use std::convert::Infallible;

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::regions::regions;
use mcp_text_editor_core::rejection::Rejection;
use mcp_text_editor_core::resolve::{self, GuardedRange, MatchOptions, Patch, Plan};
use mcp_text_editor_core::scan::Scanned;
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_core::show::{Budget, Shown, show};
use mcp_text_editor_core::source::{CHUNK, Source, read_range};
use mcp_text_editor_core::splice::Spliced;

/// A file that counts how much of it is read, and how often.
struct Counted {
    bytes: Vec<u8>,
    read: Cell<u64>,
    reads: Cell<u64>,
}

impl Counted {
    fn of_lines(many: usize) -> Self {
        let bytes = (0..many).flat_map(|line| format!("line {line:08}\n").into_bytes()).collect();
        Self::of(bytes)
    }

    fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, read: Cell::new(0), reads: Cell::new(0) }
    }

    fn scan(&self) -> Scan {
        let mut scanner = Scanner::new(None);
        scanner.feed(&self.bytes);
        scanner.finish()
    }
}

impl Source for Counted {
    type Error = Infallible;

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let got = self.bytes.as_slice().read_at(offset, buffer)?;
        self.read.set(self.read.get() + got as u64);
        self.reads.set(self.reads.get() + 1);
        Ok(got)
    }
}

fn patch(old: &str, new: &str) -> Patch {
    Patch {
        old_string: Some(old.to_owned()),
        new_string: new.to_owned(),
        ranges: Vec::new(),
        replace_all: false,
    }
}

fn of_line(line: i64, new: &str) -> Patch {
    let range = GuardedRange { start: line, end: Some(line), range_hash: None };
    Patch { ranges: vec![range], ..patch(&format!("line {:08}", line - 1), new) }
}

fn all(old: &str, new: &str) -> Patch {
    Patch { replace_all: true, ..patch(old, new) }
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn as_many_patches_as_lines_read_each_line_a_bounded_number_of_times() {
    let cost = |many: usize| {
        let file = Counted::of_lines(many);
        // Backwards, so that nothing comes sorted.
        let patches: Vec<Patch> =
            (1..=i64::try_from(many).unwrap()).rev().map(|line| of_line(line, "new")).collect();
        let plan = resolve::patch(Scanned::new(&file, &file.scan()), None, &patches, MatchOptions::default())
            .unwrap()
            .unwrap();
        let new = Spliced::new(&file, &plan.splices);
        let bytes = read_range(&new, 0..new.size()).unwrap();
        assert_eq!(bytes, "new\n".repeat(many).into_bytes());
        file.read.get()
    };
    let (few, many) = (cost(2_000), cost(16_000));
    assert!(many <= 10 * few, "{few} bytes for 2 000 patches, {many} for 16 000");
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn overlaps_of_many_patches_are_found_in_passing() {
    // Each of them overlaps each; told are as many as there are patches, not as there are pairs.
    let file = Counted::of_lines(10);
    let patches: Vec<Patch> = (0..20_000).map(|_| of_line(3, "x")).collect();
    let rejections =
        resolve::patch(Scanned::new(&file, &file.scan()), None, &patches, MatchOptions::default())
            .unwrap()
            .unwrap_err();
    assert_eq!(rejections.len(), 19_999);
    assert!(rejections.iter().all(|one| matches!(one, Rejection::Overlap { .. })));
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn deletions_of_every_line_likewise() {
    let cost = |many: u64| {
        let file = Counted::of_lines(usize::try_from(many).unwrap());
        let range = |line: u64| {
            let digest = Digest::of(format!("line {:08}\n", line - 1).as_bytes()).to_string();
            let line = i64::try_from(line).unwrap();
            GuardedRange { start: line, end: Some(line), range_hash: DigestPrefix::parse(&digest) }
        };
        let ranges: Vec<GuardedRange> = (1..=many).rev().map(range).collect();
        assert!(resolve::delete(Scanned::new(&file, &file.scan()), None, &ranges).unwrap().is_ok());
        file.read.get()
    };
    let (few, many) = (cost(1_000), cost(8_000));
    assert!(many <= 10 * few, "{few} bytes for 1 000 ranges, {many} for 8 000");
}

#[test]
fn occurrences_are_counted_over_all_patches() {
    let bytes = "a b\n".repeat(600);
    let mut scanner = Scanner::new(None);
    scanner.feed(bytes.as_bytes());
    let scan = scanner.finish();
    let check = |max_occurrences: u64| {
        let options = MatchOptions { max_occurrences, ..MatchOptions::default() };
        resolve::patch(Scanned::new(bytes.as_bytes(), &scan), None, &[all("a", "x"), all("b", "y")], options)
            .unwrap()
    };
    assert!(check(1_200).is_ok());
    let [Rejection::TooManyOccurrences { at, count: 1_200, most: 1_199 }] = check(1_199).unwrap_err()[..]
    else {
        panic!("one reason")
    };
    assert_eq!(at.patch, 1);
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn new_text_counts_once_for_each_place() {
    let file = Counted::of_lines(1_000);
    let ranges = (1..=1_000).map(|line| GuardedRange { start: line, end: Some(line), range_hash: None });
    let long = "x".repeat(1_000);
    // No range holds the text, so nothing is to be put there.
    let nowhere = Patch { ranges: ranges.collect(), ..patch("line", &long) };
    let each = (1..=1_000).map(|line| of_line(line, &long)).collect::<Vec<_>>();
    let everywhere = [all("line", &long)];
    let check = |patches: &[Patch], max_inserted: u64| {
        let options = MatchOptions { max_inserted, ..MatchOptions::default() };
        resolve::patch(Scanned::new(&file, &file.scan()), None, patches, options).unwrap()
    };
    for patches in [&each[..], &everywhere] {
        assert!(check(patches, 1_000_000).is_ok());
        let rejections = check(patches, 999_999).unwrap_err();
        assert!(
            matches!(rejections[..], [Rejection::TooMuchText { bytes: 1_000_000, most: 999_999, .. }]),
            "{rejections:?}"
        );
    }
    // In the file's encoding: that is what is held in memory.
    let wide = Counted::of("line\n".repeat(10).encode_utf16().flat_map(u16::to_le_bytes).collect());
    let mut scanner = Scanner::new(Some(Encoding::Utf16Le));
    scanner.feed(&wide.bytes);
    let scan = scanner.finish();
    let check_wide = |max_inserted: u64| {
        let options = MatchOptions { max_inserted, ..MatchOptions::default() };
        resolve::patch(Scanned::new(&wide, &scan), None, &[all("line", "xyz")], options).unwrap()
    };
    assert!(check_wide(60).is_ok());
    assert!(matches!(check_wide(59).unwrap_err()[..], [Rejection::TooMuchText { bytes: 60, most: 59, .. }]));
    assert!(
        check(&[nowhere], 0).unwrap_err().iter().all(|one| matches!(one, Rejection::ContentMismatch { .. }))
    );
}

/// Returns the regions of an edit, and of its undo; and how many times as much as there is in the files was
/// read for them.
fn regions_there_and_back(bytes: Vec<u8>, old: &str, new: &str) -> ([Vec<LineRange>; 2], u64) {
    let before = Counted::of(bytes);
    let options = MatchOptions { max_occurrences: u64::MAX, ..MatchOptions::default() };
    let plan = resolve::patch(Scanned::new(&before, &before.scan()), None, &[all(old, new)], options)
        .unwrap()
        .unwrap();
    let view = Spliced::new(&before, &plan.splices);
    let after = Counted::of(read_range(&view, 0..view.size()).unwrap());
    let splices = plan.splices.inverse(&before).unwrap();
    let back = Plan { splices, ..plan.clone() };
    let edited = before.read.replace(0);
    let (old_scan, new_scan) = (before.scan(), after.scan());
    let (old, new) = (Scanned::new(&before, &old_scan), Scanned::new(&after, &new_scan));
    let there = regions(old, new, &plan).unwrap();
    let back = regions(new, old, &back).unwrap();
    let of_both = before.read.get() + after.read.get() + edited;
    let lines = [there, back].map(|found| found.iter().map(|region| region.replaced).collect());
    (lines, of_both / (before.size() + after.size()).max(1))
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn places_on_one_line_are_one_region_and_read_it_a_bounded_number_of_times() {
    let many = 20_000;
    for (unit, old, new) in
        [("ab", "a", ""), ("ab", "b", ""), ("ab", "a", "cc"), ("ab", "a", "x\n"), ("ab\n", "b\n", "")]
    {
        // With two kinds of line ends each new line asks for its own.
        for last in ["", "\n", "\r\nend\n"] {
            let bytes = [unit.repeat(many).as_bytes(), last.as_bytes()].concat();
            let ([there, back], times) = regions_there_and_back(bytes, old, new);
            assert_eq!((there.len(), back.len()), (1, 1), "{unit:?} {old:?} {new:?} {last:?}");
            assert!(times <= 100, "{unit:?} {old:?} {new:?} {last:?}: {times} times");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn places_on_lines_of_their_own_are_regions_of_their_own() {
    let many = 20_000;
    for (unit, old, new) in [("ab\n", "a", ""), ("ab\r\n", "b", ""), ("ab\n", "a", "x\n"), ("ab\n", "ab", "")]
    {
        let ([there, back], times) = regions_there_and_back(unit.repeat(many).into_bytes(), old, new);
        assert_eq!((there.len(), back.len()), (many, many), "{unit:?} {old:?} {new:?}");
        assert!(times <= 100, "{unit:?} {old:?} {new:?}: {times} times");
    }
}

/// Shows some lines of a file; returns also how often, and how much of it, was read for that.
fn shown_of(file: &Counted, scan: &Scan, lines: (u64, u64), weight: usize) -> (Shown, u64, u64) {
    file.read.set(0);
    file.reads.set(0);
    let lines = LineRange::inclusive(lines.0, lines.1).unwrap();
    let (shown, _) = show(Scanned::new(file, scan), lines, 1, Budget::bytes(weight)).unwrap();
    (shown, file.reads.get(), file.read.get())
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn a_few_lines_are_shown_with_one_read() {
    for (many, lines) in [(10, (5, 6)), (10_000, (1, 3)), (10_000, (9_000, 9_100))] {
        let file = Counted::of_lines(many);
        let (shown, reads, _) = shown_of(&file, &file.scan(), lines, usize::MAX);
        assert!(shown.cut.is_none() && shown.digest.is_some(), "{shown:?}");
        assert_eq!(reads, 1, "lines {lines:?} of {many}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn lines_of_a_chunk_are_read_once_to_be_shown() {
    let file = Counted::of("fifteen letters\n".repeat(40_000).into_bytes());
    let (scan, chunk) = (file.scan(), CHUNK as u64);
    let most = chunk / 16;
    for lines in [(1, most / 2), (1, most), (most + 1, 2 * most), (30_000, 40_000)] {
        let (shown, _, read) = shown_of(&file, &scan, lines, usize::MAX);
        let length = shown.content.len();
        assert_eq!(length as u64, 16 * (lines.1 - lines.0 + 1));
        assert!(read <= length as u64 + 10_000, "{read} bytes for lines {lines:?}");
        // There is room for what is put around it, and not for a file.
        assert!((length + 100..length + 1_000).contains(&shown.content.capacity()), "lines {lines:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn a_page_of_a_long_file_is_shown_without_the_rest() {
    let file = Counted::of_lines(60_000);
    let scan = file.scan();
    for first in [1, 20_000] {
        let (shown, _, read) = shown_of(&file, &scan, (first, 60_000), 1_000);
        assert!(shown.cut.is_some());
        assert!(read <= CHUNK as u64 + 10_000, "{read} bytes from line {first} on");
    }
}
