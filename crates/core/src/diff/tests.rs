use proptest::prelude::*;

use crate::digest::Digest;
use crate::encoding::{Encoding, Label};
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;
use crate::regions::Region;
use crate::scan::Scanner;
use crate::scanned::Scanned;

use super::between::between;
use super::long_lines::LONGEST_LINE;
use super::read::read;

fn encoding(name: &str) -> Encoding {
    Label::parse(name).unwrap().encoding
}

/// Returns the diff of two files, of which all lines are one change.
fn diff_of(old: &[u8], new: &[u8], encoding: Encoding) -> String {
    let scan = |bytes: &[u8]| {
        let mut scanner = Scanner::new(Some(encoding));
        scanner.feed(bytes);
        scanner.finish()
    };
    let (old_scan, new_scan) = (scan(old), scan(new));
    let all = Region {
        lines: new_scan.lines.all(),
        digest: Digest::of(new),
        replaced: old_scan.lines.all(),
        tier: Tier::Exact,
    };
    between(Scanned::new(old, &old_scan), Scanned::new(new, &new_scan), &[all], ["/file"; 2]).unwrap()
}

fn encoded(text: &str, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Encoding::Legacy(table) => table.encode(text).0.into_owned(),
        _ => text.as_bytes().to_vec(),
    }
}

/// Returns each line of a diff; of a long one only the ends.
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
fn what_is_too_much_to_compare_is_counted() {
    let line = |end: char| format!("{}{end}\n", "x".repeat(LONGEST_LINE)).repeat(2100);
    let diff = diff_of(line('a').as_bytes(), line('b').as_bytes(), Encoding::Utf8);
    assert_eq!(diff, "--- /file\n+++ /file\n@@ -1,2100 +1,2100 @@\n");
}

#[test]
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Lines of which only the beginning is shown are told apart as if each was shown whole; so few that the
    /// diff is not cut.
    #[test]
    fn long_lines_are_compared_whole(
        old in prop::collection::vec(0..6_usize, 0..5), new in prop::collection::vec(0..6_usize, 0..5),
    ) {
        // Some differ early, some late, some within what is shown, and some are short.
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
