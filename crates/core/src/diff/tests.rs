use proptest::prelude::*;

use super::between::between;
use super::hunk::read;
use super::long_lines::LONGEST_LINE;
use crate::digest::Digest;
use crate::encoding::{Encoding, Label};
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;
use crate::regions::Region;
use crate::scan::{Scanned, Scanner};
use crate::source::CHUNK;

fn encoding(name: &str) -> Encoding {
    Label::parse(name).unwrap().encoding
}

/// Returns the diff of two files, with all lines as one change.
fn diff_of(old: &[u8], new: &[u8], encoding: Encoding) -> String {
    diff_of_regions(old, new, encoding, |old, new| vec![(old, new)])
}

/// Returns the diff of two files that differ in some lines. `pick` chooses the old and the new ones from all
/// lines.
fn diff_of_regions(
    old: &[u8],
    new: &[u8],
    encoding: Encoding,
    pick: impl FnOnce(LineRange, LineRange) -> Vec<(LineRange, LineRange)>,
) -> String {
    let scan = |bytes: &[u8]| {
        let mut scanner = Scanner::new(Some(encoding));
        scanner.feed(bytes);
        scanner.finish()
    };
    let (old_scan, new_scan) = (scan(old), scan(new));
    let picked = pick(old_scan.lines.all(), new_scan.lines.all()).into_iter();
    let digest = Digest::of(new);
    let region = |(replaced, lines)| Region { lines, digest, replaced, tier: Tier::Exact };
    let regions: Vec<Region> = picked.map(region).collect();
    between(Scanned::new(old, &old_scan), Scanned::new(new, &new_scan), &regions, ["/file"; 2]).unwrap()
}

fn encoded(text: &str, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Encoding::Legacy(table) => table.encode(text).0.into_owned(),
        _ => text.as_bytes().to_vec(),
    }
}

/// Returns each line of a diff; of a long line, only both ends.
fn outline(diff: &str) -> Vec<String> {
    let short = |line: &str| {
        let all: Vec<char> = line.chars().collect();
        match all.len() {
            0..120 => line.to_owned(),
            length => {
                let ends: [String; 2] = [all[..80].iter().collect(), all[length - 10..].iter().collect()];
                format!("{} ({length} characters) {}", ends[0], ends[1])
            }
        }
    };
    diff.lines().map(short).collect()
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn a_change_behind_what_is_shown_of_a_line_is_shown() {
    for name in ["utf-8", "utf-16-le", "shift_jis", "iso-2022-jp"] {
        let encoding = encoding(name);
        let line = |word: &str| {
            encoded(&format!("{}{word}{}\nnext\n", "あa".repeat(150_000), "い".repeat(5000)), encoding)
        };
        let diff = diff_of(&line("old"), &line("news"), encoding);
        let page = outline(&diff).join("\n");
        let start = "[from character 299961 on] ".to_owned() + &"あa".repeat(20);
        assert!(diff.contains(&format!("-{start}oldい")), "{name}: {page}");
        assert!(diff.contains(&format!("+{start}newsい")), "{name}: {page}");
        assert!(diff.len() < 10_000 && diff.ends_with("い…\n next\n"), "{name}: {page}");
    }
}

#[test]
fn lines_that_are_the_same_are_not_shown_as_changed() {
    let long = "x".repeat(9000);
    let (old, new) = (format!("{long}\nold\n{long}\n"), format!("{long}\nnew\n{long}\n"));
    let diff = diff_of(old.as_bytes(), new.as_bytes(), Encoding::Utf8);
    let shown = "x".repeat(LONGEST_LINE);
    assert_eq!(diff, format!("--- /file\n+++ /file\n@@ -1,3 +1,3 @@\n {shown}…\n-old\n+new\n {shown}…\n"));
}

#[test]
fn a_line_that_only_moves_is_shown_from_its_beginning() {
    let long = "x".repeat(9000);
    let (old, new) = (format!("{long}\na\nb\n"), format!("a\nb\n{long}\n"));
    let diff = diff_of(old.as_bytes(), new.as_bytes(), Encoding::Utf8);
    let shown = "x".repeat(LONGEST_LINE);
    assert_eq!(diff, format!("--- /file\n+++ /file\n@@ -1,3 +1,3 @@\n-{shown}…\n a\n b\n+{shown}…\n"));
}

#[test]
fn a_line_that_only_grows_or_shrinks_behind_what_is_shown_is_shown() {
    let long = "x".repeat(5000);
    let (old, new) = (format!("{long}\n"), format!("{long}yz\n"));
    let tail = "x".repeat(40);
    for (old, new, lines) in [(&old, &new, ["", "yz"]), (&new, &old, ["yz", ""])] {
        let diff = diff_of(old.as_bytes(), new.as_bytes(), Encoding::Utf8);
        let [gone, come] = lines.map(|end| format!("[from character 4961 on] {tail}{end}\n"));
        assert_eq!(diff, format!("--- /file\n+++ /file\n@@ -1 +1 @@\n-{gone}+{come}"));
    }
}

#[test]
fn of_a_line_from_where_it_differs_no_more_is_shown_than_of_its_beginning() {
    let tail = "x".repeat(40);
    for unit in ["y", "é"] {
        for (longer, mark) in [(0, ""), (1, "…")] {
            let part = unit.repeat((LONGEST_LINE - tail.len()) / unit.len());
            let long = "x".repeat(5000);
            let diff = diff_of(
                format!("{long}\n").as_bytes(),
                format!("{long}{part}{}\n", unit.repeat(longer)).as_bytes(),
                Encoding::Utf8,
            );
            let shown = format!("\n+[from character 4961 on] {tail}{part}{mark}\n");
            assert!(diff.ends_with(&shown), "{:?}", outline(&diff));
        }
    }
}

#[test]
fn of_a_line_from_where_it_differs_nothing_is_shown_behind_its_end() {
    let long = "x".repeat(2 * CHUNK);
    let (old, new) = (format!("{long}old\nnext\n"), format!("{long}new\nnext\n"));
    let from = format!("[from character {} on] {}", 2 * CHUNK - 39, "x".repeat(40));
    let diff = diff_of(old.as_bytes(), new.as_bytes(), Encoding::Utf8);
    assert_eq!(diff, format!("--- /file\n+++ /file\n@@ -1,2 +1,2 @@\n-{from}old\n+{from}new\n next\n"));
}

#[test]
fn many_lines_that_begin_alike_are_numbered() {
    let long = "x".repeat(5000);
    let side = |ends: [&str; 3]| ends.map(|end| format!("{long}{end}\n")).concat();
    let diff = diff_of(side(["a", "b", "c"]).as_bytes(), side(["a", "d", "c"]).as_bytes(), Encoding::Utf8);
    let [_, gone, come, _] = &diff.lines().skip(3).collect::<Vec<_>>()[..] else { panic!("{diff}") };
    assert!(gone.starts_with('-') && gone.ends_with("xb [2 of 4 lines that begin alike]"), "{gone}");
    assert!(come.starts_with('+') && come.ends_with("xd [4 of 4 lines that begin alike]"), "{come}");
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn what_is_too_much_to_compare_is_counted() {
    let new = (("x".repeat(LONGEST_LINE) + "\n").repeat(4096) + "y\n").into_bytes();
    for (lines, is_shown) in [(4096, true), (4097, false)] {
        let some = |old, all: LineRange| vec![(old, LineRange::new(all.start(), lines))];
        let diff = diff_of_regions(&[], &new, Encoding::Utf8, some);
        let rest = diff.strip_prefix(&format!("--- /file\n+++ /file\n@@ -0,0 +1,{lines} @@\n"));
        assert_eq!(rest.is_some_and(|rows| !rows.is_empty()), is_shown, "{:?}", outline(&diff));
        assert!(rest.is_some(), "{:?}", outline(&diff));
    }
    // The place of a line in the file makes no difference.
    let side = |line: &str| format!("{line}\nevery second line\n").repeat(3000);
    let every_second = |all: LineRange, _: LineRange| {
        let line = |index: u64| LineRange::new(LineNumber::from_index(2 * index), 1);
        (0..all.count() / 2).map(|index| (line(index), line(index))).collect()
    };
    let diff = diff_of_regions(side("old").as_bytes(), side("new").as_bytes(), Encoding::Utf8, every_second);
    assert!(diff.contains("\n-old\n+new\n every second line\n"), "{:?}", outline(&diff[..200]));
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn what_is_only_counted_has_headers_like_every_other_diff() {
    let long = "line\n".repeat(50_001);
    for (old, new) in [("", &*long), (&long, ""), ("a\n", &long)] {
        let diff = diff_of(old.as_bytes(), new.as_bytes(), Encoding::Utf8);
        let hunk = &read(&diff).hunks[0];
        assert_eq!((hunk.old_start, hunk.new_start), (1, 1), "{diff}");
    }
    let scan = Scanner::new(None).finish();
    let file = Scanned::new([].as_slice(), &scan);
    let lines = LineRange::new(LineNumber::FIRST, 50_001);
    let region = Region { lines, digest: Digest::of(b""), replaced: scan.lines.all(), tier: Tier::Exact };
    let diff = between(file, file, &[region], ["/a\n+++ b", "/a b"]).unwrap();
    assert_eq!(diff, "--- \"/a\\n+++ b\"\n+++ \"/a b\"\n@@ -0,0 +1,50001 @@\n");
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn more_lines_than_can_be_compared_are_counted() {
    for (of_old, of_new, is_shown) in [
        (300, 300, true),
        (25_000, 25_000, true),
        (0, 50_000, true),
        (25_001, 25_000, false),
        (0, 50_001, false),
    ] {
        let diff =
            diff_of("old\n".repeat(of_old).as_bytes(), "new\n".repeat(of_new).as_bytes(), Encoding::Utf8);
        assert_eq!(
            diff.contains("\n+new\n") || diff.contains("\n-old\n"),
            is_shown,
            "{of_old} and {of_new} lines"
        );
    }
    // Each change has a hunk. Only as many hunks are shown as fit.
    let side = |line: &str| format!("{line}\n").repeat(25_001);
    let each = |all: LineRange, _: LineRange| {
        let line = |index: u64| LineRange::new(LineNumber::from_index(index), 1);
        (0..all.count()).map(|index| (line(index), line(index))).collect()
    };
    let diff = diff_of_regions(side("old").as_bytes(), side("new").as_bytes(), Encoding::Utf8, each);
    assert!(diff.ends_with(" @@\n") && diff.len() <= 40_000, "{} bytes", diff.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Lines that are shown only in part can be told apart as if they were shown whole. They are so few that
    /// the diff is not cut.
    #[test]
    fn long_lines_are_compared_whole(
        old in prop::collection::vec(0..6_usize, 0..5), new in prop::collection::vec(0..6_usize, 0..5),
    ) {
        // Some differ early, some late, some within the shown part, and some are short.
        let same = "x".repeat(5000);
        let names = ["a", "b", "c", "d", "e", "f"];
        let whole = [
            format!("{same}a"), format!("{same}b"), format!("{same}a{same}c"), format!("{same}a{same}d"),
            format!("y{same}"), "f".to_owned(),
        ];
        let signs = |lines: &dyn Fn(usize) -> String| {
            let [old, new] = [&old, &new].map(|side| side.iter().map(|&line| lines(line) + "\n").collect::<String>());
            let diff = diff_of(old.as_bytes(), new.as_bytes(), Encoding::Utf8);
            let lines = diff.lines().skip(3).map(|line| line.chars().next().unwrap());
            (diff.is_empty(), lines.collect::<String>())
        };
        prop_assert_eq!(signs(&|line| whole[line].clone()), signs(&|line| names[line].to_owned()));
    }
}
