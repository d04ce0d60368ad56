//! Compares the core with the cost of the bytes alone. Each number is a ratio to a floor: see
//! `benches/ratio.rs`.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]

#[path = "../../../benches/ratio.rs"]
mod ratio;

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::{Decoded, Decoder, Encoding, Label};
use mcp_text_editor_core::line::LineNumber;
use mcp_text_editor_core::matching::{Keep, Needle, Tier, search};
use mcp_text_editor_core::resolve::{GuardedRange, MatchOptions, Patch, patch};
use mcp_text_editor_core::scan::Scanned;
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_core::source::{CHUNK, Source as _, read_range};
use mcp_text_editor_core::splice::Spliced;
use memchr::{memchr_iter, memmem};
use ratio::{Ratio, compare, criterion};

/// The sizes of a source file and of a log file. A build without optimisation has a small log: it only shows
/// that the benchmarks still run.
const SIZES: [(&str, usize); 2] =
    [("100 KB", 100_000), ("10 MB", if cfg!(debug_assertions) { 200_000 } else { 10_000_000 })];

/// The text of the last line, which stands nowhere else.
const LAST: &str = "the end of it all";

/// Makes text in numbered lines, at least `size` bytes of UTF-8.
fn text(size: usize, line: &str, ending: &str) -> String {
    let mut text = String::with_capacity(size + 200);
    for number in 1.. {
        if text.len() >= size {
            break;
        }
        write!(text, "    {line} {number}{ending}").unwrap();
    }
    text + LAST + ending
}

const ASCII: &str = "let total = prices.iter().sum::<u64>();";
const GERMAN: &str = "Größe und Länge über alles, naïve Übung —";
const JAPANESE: &str = "日本語の文字列を含むテキストの行";

fn encoding(label: &str) -> Encoding {
    Label::parse(label).unwrap().encoding
}

/// Makes the files that are scanned: name, encoding, bytes.
fn files(size: usize) -> Vec<(&'static str, Encoding, Vec<u8>)> {
    let file = |name, label, line, ending| {
        let encoding = encoding(label);
        (name, encoding, encoding.encode(&text(size, line, ending)).unwrap())
    };
    vec![
        file("LF", "utf-8", ASCII, "\n"),
        file("CRLF", "utf-8", ASCII, "\r\n"),
        file("UTF-8", "utf-8", GERMAN, "\n"),
        file("UTF-16", "utf-16-le", GERMAN, "\n"),
        file("Shift_JIS", "shift_jis", JAPANESE, "\n"),
    ]
}

/// Scans in chunks, as a large file is read.
fn scan(bytes: &[u8], encoding: Encoding) -> Scan {
    let mut scanner = Scanner::new(Some(encoding));
    bytes.chunks(CHUNK).for_each(|chunk| scanner.feed(chunk));
    scanner.finish()
}

/// Measures a scan against the SHA-256 of the same bytes, which is part of it.
fn scans(c: &mut Criterion<Ratio>) {
    for (size, bytes) in SIZES {
        for (name, encoding, bytes) in files(bytes) {
            compare(c, &format!("scan/{name}/{size}"), || scan(&bytes, encoding), || Digest::of(&bytes));
        }
    }
}

/// Measures the look-up of offsets by line numbers against a look at every byte between two marks. Marks are
/// a kilobyte apart in the small file, and four in the large one.
fn lines(c: &mut Criterion<Ratio>) {
    for (size, bytes) in SIZES {
        let bytes = text(bytes, ASCII, "\n").into_bytes();
        let scan = scan(&bytes, Encoding::Utf8);
        let count = scan.lines.count();
        let file = Scanned::new(bytes.as_slice(), &scan);
        let look_up = |n: u64| file.offset_of(LineNumber::from_index(n * 7919 % count)).unwrap();
        let stride = bytes.len().div_ceil(4096).next_power_of_two().max(1024);
        let blocks: Vec<&[u8]> = bytes.chunks(stride).cycle().take(1000).collect();
        let floor = || blocks.iter().map(|block| memchr_iter(b'\n', block).count()).sum::<usize>();
        compare(c, &format!("line/{size}"), || (0..1000).map(look_up).sum::<u64>(), floor);
    }
}

/// Measures a search through the whole file against memmem over the same bytes for the same text.
fn searches(c: &mut Criterion<Ratio>) {
    let (_, size) = SIZES[1];
    let unix = text(size, ASCII, "\n");
    let windows = text(size, ASCII, "\r\n");
    let blanks = text(size, ASCII, "  \n");
    let many = Keep::All(100_000);
    let closest = Keep::Closest(0);
    let absent = "let total = costs.iter()";
    let cases = [
        ("at the end", &unix, LAST, Tier::Exact, closest),
        ("none", &unix, absent, Tier::Exact, closest),
        ("many, all kept", &unix, "prices", Tier::Exact, many),
        ("many, counted", &unix, "prices", Tier::Exact, closest),
        ("CRLF", &windows, LAST, Tier::Exact, closest),
        ("tier two", &blanks, LAST, Tier::TrailingWhitespace, closest),
        ("tier two, none", &unix, absent, Tier::TrailingWhitespace, closest),
    ];
    for (name, haystack, text, tier, keep) in cases {
        let bytes = haystack.as_bytes();
        let scan = scan(bytes, Encoding::Utf8);
        let needle = [Needle { text, whole_lines: false, keep }];
        let floor = || memmem::find_iter(bytes, text.as_bytes()).count();
        compare(
            c,
            &format!("search/{name}"),
            || search(Scanned::new(bytes, &scan), &needle, tier).unwrap(),
            floor,
        );
    }
    for (name, encoding, bytes) in files(size).into_iter().skip(3) {
        let scan = scan(&bytes, encoding);
        let needle = [Needle { text: LAST, whole_lines: false, keep: closest }];
        let raw = encoding.encode(LAST).unwrap();
        let floor = || memmem::find_iter(&bytes, &raw).count();
        let subject = || search(Scanned::new(bytes.as_slice(), &scan), &needle, Tier::Exact).unwrap();
        compare(c, &format!("search/{name}"), subject, floor);
    }
}

/// Measures patches up to the new bytes, without any scan, against copies of the old bytes.
fn patches(c: &mut Criterion<Ratio>) {
    let (size, bytes) = SIZES[0];
    let bytes = text(bytes, ASCII, "\n").into_bytes();
    let scan = scan(&bytes, Encoding::Utf8);
    for count in [1, 50] {
        let patches: Vec<Patch> = (0..count)
            .map(|n| {
                let line = scan.lines.count() * (2 * n + 1) / (2 * count);
                let old_string = Some(format!("    {ASCII} {line}"));
                let ranges = vec![GuardedRange {
                    start: i64::try_from(line).unwrap(),
                    end: i64::try_from(line).ok(),
                    range_hash: None,
                }];
                Patch { old_string, new_string: "something else".to_owned(), ranges, replace_all: false }
            })
            .collect();
        let subject = || {
            let source = bytes.as_slice();
            let plan =
                patch(Scanned::new(source, &scan), None, &patches, MatchOptions::default()).unwrap().unwrap();
            let new = Spliced::new(source, &plan.splices);
            read_range(&new, 0..new.size()).unwrap()
        };
        // Ten copies: one takes so little time that the clock would be measured.
        let floor = || (0..10).map(|_| black_box(bytes.clone()).len()).sum::<usize>();
        compare(c, &format!("patch/{count} ranges/{size}, to ten copies"), subject, floor);
    }
}

/// Measures the search for what a text was meant to be against the SHA-256 of the same bytes.
fn mismatches(c: &mut Criterion<Ratio>) {
    let (_, bytes) = SIZES[0];
    let haystack = text(bytes * 10, ASCII, "\n").into_bytes();
    let scan = scan(&haystack, Encoding::Utf8);
    let rare = "if discount.is_some() {\n    return None;\n}\n";
    let common = format!("    {ASCII} 17000\n    {ASCII} 18000\n");
    for (name, wanted) in [("nothing like it", rare), ("much like it", common.as_str())] {
        let patches = [Patch::text(wanted, "something else")];
        let subject = || {
            let file = Scanned::new(haystack.as_slice(), &scan);
            patch(file, None, &patches, MatchOptions::default()).unwrap().is_err()
        };
        compare(c, &format!("mismatch/{name}"), subject, || Digest::of(&haystack));
    }
}

/// Measures decoding with and without positions against a bare check of UTF-8 of the same text.
fn decode(c: &mut Criterion<Ratio>) {
    for (name, encoding, bytes) in files(SIZES[0].1 * 10).into_iter().skip(2) {
        let utf8 = encoding.decode(&bytes).unwrap();
        let floor = || std::str::from_utf8(utf8.as_bytes()).is_ok();
        compare(c, &format!("decode/{name}"), || encoding.decode(&bytes).unwrap(), floor);
        let mut piece = Decoded::new();
        let placed = || {
            let mut decoder = Decoder::new(encoding, 0);
            bytes.chunks(32 * 1024).for_each(|chunk| decoder.feed(chunk, false, &mut piece));
            decoder.failed()
        };
        compare(c, &format!("decode/{name}, with positions"), placed, floor);
    }
}

criterion_group!(name = all; config = criterion(); targets = scans, lines, searches, patches, mismatches, decode);
criterion_main!(all);
