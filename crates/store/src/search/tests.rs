//! Tests that a hit shows the same as a read: compares the search of a file with [`Workspace::read`] of the
//! same file, for any bytes.
#![expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_core::show::Budget;
use proptest::prelude::*;

use crate::access::roots::Roots;
use crate::read::hash::SMALL;
use crate::search::deliver::SearchSettings;
use crate::search::file::{FileSearcher, LONGEST_LINE, Searched};
use crate::search::matcher::Pattern;
use crate::search::request::{Match, Search};
use crate::search::skipped::Cause;
use crate::workspace::Workspace;
use crate::{Control, ReadFile};

/// Returns settings under which lines are cut after 100 bytes.
pub(crate) fn settings_of<'a>(pattern: &'a Pattern, stop: &'a AtomicBool) -> SearchSettings<'a> {
    SearchSettings {
        pattern,
        label: None,
        hashes: false,
        max_line_bytes: 100,
        max_file_bytes: u64::MAX,
        stop,
    }
}

/// A predicate that tells whether a pattern matches in a line.
type Meaning = fn(&str) -> bool;

/// Patterns, each with the predicate for the lines that it matches.
const PATTERNS: [(&str, Meaning); 9] = [
    ("a", |line| line.contains('a')),
    ("^a", |line| line.starts_with('a')),
    ("b$", |line| line.ends_with('b')),
    ("^$", str::is_empty),
    ("^", |_| true),
    ("a.b", |line| {
        let text: Vec<char> = line.chars().collect();
        text.windows(3).any(|three| three[0] == 'a' && three[2] == 'b')
    }),
    (r"\r", |line| line.contains('\r')),
    (r"é\s*a", |line| {
        let after = |at: usize| line[at..].trim_start_matches(char::is_whitespace).starts_with('a');
        line.match_indices('é').any(|(at, found)| after(at + found.len()))
    }),
    (r"[^a]b", |line| {
        let text: Vec<char> = line.chars().collect();
        text.windows(2).any(|two| two[0] != 'a' && two[1] == 'b')
    }),
];

fn search_file(
    open: impl Fn() -> io::Result<File>,
    pattern: &Pattern,
    search: &Search<'_>,
    small: u64,
) -> (Vec<Match>, Searched) {
    let stop = AtomicBool::new(false);
    let settings = SearchSettings {
        pattern,
        label: search.encoding.map(|label| Label::parse(label).unwrap().encoding),
        hashes: search.hashes,
        max_line_bytes: search.max_line_bytes,
        max_file_bytes: u64::MAX,
        stop: &stop,
    };
    let mut hits = Vec::new();
    let searched =
        FileSearcher::new(settings, [search.before, search.after], small).search(open, &mut |found| {
            hits.extend(found);
            ControlFlow::Continue(())
        });
    (hits, searched)
}

/// A line that a read shows: its number, its text and its digest.
type Shown = (u64, String, Digest);

/// Returns the lines of a file as a read shows them; `None` if the file is not text.
fn read(path: &Path, encoding: Option<&str>) -> Option<Vec<Shown>> {
    let roots = Roots::open(&[path.parent().unwrap().to_owned()]).unwrap();
    let workspace = Workspace::without_state(roots);
    let file = ReadFile { file_path: path.to_str().unwrap(), encoding };
    let line = |number| {
        let lines = LineRange::new(LineNumber::new(number)?, 1);
        let budget = Budget::bytes(1 << 30);
        let view = workspace.read(file, Some(lines), budget, Control::default()).ok()?;
        let text = view.shown.content;
        let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
        Some((number, text, view.shown.digest?))
    };
    let view = workspace.read(file, None, Budget::bytes(1 << 30), Control::default()).ok()?;
    (1..=view.total_lines).map(line).collect()
}

fn check(bytes: &[u8], encoding: Option<&str>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("file.txt");
    std::fs::write(&path, bytes).unwrap();
    let lines = read(&path, encoding);
    for (pattern, is_hit) in PATTERNS {
        let search = Search { encoding, hashes: true, max_line_bytes: 1 << 20, ..Search::new(pattern) };
        let compiled = Pattern::of(&search).unwrap();
        for small in [SMALL, 0] {
            let (hits, searched) = search_file(|| File::open(&path), &compiled, &search, small);
            let found: Vec<Shown> = hits
                .iter()
                .map(|found| {
                    let line = &found.line;
                    (line.number.get(), line.text.clone(), found.range_hash.unwrap())
                })
                .collect();
            let wanted: Vec<Shown> = lines.iter().flatten().filter(|line| is_hit(&line.1)).cloned().collect();
            assert_eq!(found, wanted, "{pattern:?} in {:?}, small {small}", String::from_utf8_lossy(bytes));
            match searched {
                Searched::Whole => assert!(lines.is_some() || !matches!(pattern, "^"), "{pattern:?}"),
                Searched::Otherwise(_) => assert!(lines.is_some() && wanted.is_empty(), "{pattern:?}"),
                Searched::Skipped(Cause::Binary | Cause::Undecodable | Cause::NotDecoded) => {
                    assert!(lines.is_none());
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
    let one = prop::sample::select(vec![
        "a", "b", "é", "\u{3042}", "\n", "\n", "\r\n", "\r", "\u{2028}", "\u{85}", "\t", "", "\u{B}", " ",
        "ab", "axb",
    ]);
    prop::collection::vec(one, 0..24)
}

/// Returns the same text in other encodings, and the label that a client must give to read it.
fn encoded(text: &str, form: usize) -> (Vec<u8>, Option<&'static str>) {
    let wide = |bom: &[u8], unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        bom.iter().copied().chain(text.encode_utf16().flat_map(unit)).collect()
    };
    match form {
        0 => (text.as_bytes().to_vec(), None),
        1 => ([b"\xEF\xBB\xBF", text.as_bytes()].concat(), None),
        2 => (wide(b"\xFF\xFE", u16::to_le_bytes), None),
        3 => (wide(b"\xFE\xFF", u16::to_be_bytes), None),
        4 => (wide(b"", u16::to_le_bytes), Some("utf-16le")),
        5 => {
            let units = text.chars().flat_map(|character| u32::from(character).to_le_bytes());
            (b"\xFF\xFE\0\0".iter().copied().chain(units).collect(), None)
        }
        6 => (
            text.replace(|character: char| u32::from(character) > 255, "?")
                .chars()
                .map(|c| c as u8)
                .collect(),
            Some("latin1"),
        ),
        _ => (text.replace(['é', '\u{2028}', '\u{85}'], "?").into_bytes(), Some("utf-8")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_hit_is_what_a_read_shows(pieces in pieces(), form in 0usize..8) {
        let (bytes, encoding) = encoded(&pieces.concat(), form);
        check(&bytes, encoding);
    }

    #[test]
    fn a_hit_in_any_bytes_is_what_a_read_shows(
        bytes in prop::collection::vec(prop::sample::select(b"ab\r\n\n\r\0\xFF\xFE\xEF\xBB\xBF\xC3\xA9".to_vec()), 0..40),
        encoding in prop::sample::select(vec![None, Some("latin1"), Some("shift_jis"), Some("ascii"), Some("iso-2022-jp")]),
    ) {
        check(&bytes, encoding);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// The line ends are where the blocks of a large file end.
    #[test]
    fn a_hit_behind_a_block_is_what_a_read_shows(
        before in 65_520usize..65_545,
        pieces in pieces(),
        form in 0usize..4,
        ends in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        let filler = "x".repeat(before);
        let (bytes, encoding) = encoded(&format!("{filler}{ends}{}{filler}{}", pieces.concat(), pieces.concat()), form);
        check(&bytes, encoding);
    }
}

/// The first opens fail as if another machine had just replaced the file. The file is read as a whole, or in
/// blocks.
#[test]
fn a_stale_name_is_looked_up_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, "a\nb\n").unwrap();
    let search = Search::new("a");
    let pattern = Pattern::of(&search).unwrap();
    for small in [0, SMALL] {
        for (stale, end) in
            [(1, Searched::Whole), (4, Searched::Whole), (5, Searched::Skipped(Cause::Changed))]
        {
            let left = Cell::new(stale);
            let open = || match left.get() {
                0 => File::open(&path),
                more => {
                    left.set(more - 1);
                    Err(io::ErrorKind::StaleNetworkFileHandle.into())
                }
            };
            let (hits, searched) = search_file(open, &pattern, &search, small);
            assert_eq!((hits.len(), searched), (usize::from(end == Searched::Whole), end), "{stale}");
        }
    }
}

/// A file may be removed, or made unreadable, before it is searched. This test reads it as a whole, in
/// blocks, and as a binary file.
#[test]
fn a_file_that_cannot_be_read_is_told_by_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, "a\n").unwrap();
    let search = Search::new("a");
    let pattern = Pattern::of(&search).unwrap();
    for small in [0, SMALL] {
        let searched = |open: &dyn Fn() -> io::Result<File>| search_file(open, &pattern, &search, small);
        let failing = |kind: io::ErrorKind| searched(&|| Err(kind.into()));
        let unreadable = Searched::Skipped(Cause::Unreadable);
        assert_eq!(failing(io::ErrorKind::NotFound), (Vec::new(), Searched::Not));
        assert_eq!(failing(io::ErrorKind::PermissionDenied), (Vec::new(), unreadable));
        #[cfg(unix)]
        assert_eq!(
            searched(&|| Err(rustix::io::Errno::LOOP.into())),
            (Vec::new(), Searched::Skipped(Cause::Link))
        );
        let only_to_write = || OpenOptions::new().write(true).open(&path);
        assert_eq!(searched(&only_to_write), (Vec::new(), unreadable));
        #[cfg(unix)]
        assert_eq!(
            searched(&|| File::open(directory.path())),
            (Vec::new(), Searched::Skipped(Cause::Special))
        );
    }
    let stop = AtomicBool::new(false);
    let settings = settings_of(&pattern, &stop);
    let mut searcher = FileSearcher::new(settings, [0; 2], SMALL);
    assert_eq!(searcher.look(|| Err(io::ErrorKind::NotFound.into())), Searched::Not);
    #[cfg(unix)]
    assert_eq!(searcher.look(|| File::open(directory.path())), Searched::Skipped(Cause::Binary));
    assert_eq!(searcher.look(|| File::open(&path)), Searched::Skipped(Cause::BinaryHit));
}

/// The file holds a number that the kernel generates, although the file's size is 4096 bytes.
#[test]
#[cfg(target_os = "linux")]
fn a_generated_file_that_is_shorter_than_it_says_is_not_searched() {
    let path = Path::new("/sys/kernel/uevent_seqnum");
    if !path.exists() {
        return eprintln!("skipped: sysfs is not mounted");
    }
    let search = Search::new("[0-9]");
    let pattern = Pattern::of(&search).unwrap();
    let searched = search_file(|| File::open(path), &pattern, &search, SMALL);
    assert_eq!(searched, (Vec::new(), Searched::Skipped(Cause::Special)));
}

#[test]
fn a_line_that_memory_is_not_meant_for_is_not_searched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let search = Search::new("b");
    let pattern = Pattern::of(&search).unwrap();
    for (more, expected) in [(0, Searched::Whole), (2, Searched::Skipped(Cause::LineTooLong))] {
        std::fs::write(&path, "a".repeat(LONGEST_LINE - 1 + more)).unwrap();
        assert_eq!(search_file(|| File::open(&path), &pattern, &search, SMALL).1, expected, "{more}");
    }
}

/// The automaton for long lines cannot decide a word boundary next to a non-ASCII character.
#[test]
fn a_long_line_that_cannot_be_decided_is_not_searched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let search = Search::new(r"\bb");
    let pattern = Pattern::of(&search).unwrap();
    for (text, expected) in [("a", Searched::Whole), ("\u{e9}", Searched::Skipped(Cause::LineTooLong))] {
        std::fs::write(&path, text.repeat(4 << 20)).unwrap();
        for small in [0, u64::MAX] {
            assert_eq!(
                search_file(|| File::open(&path), &pattern, &search, small).1,
                expected,
                "{text} {small}"
            );
        }
    }
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// The search stops after the first matches, whether the file is read as a whole or in blocks.
#[test]
fn a_search_ends_where_no_more_is_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, "a\n".repeat(20_000)).unwrap();
    let pattern = Pattern::of(&Search::new("a")).unwrap();
    for (small, has_enough) in [(0, true), (0, false), (SMALL, true), (SMALL, false)] {
        let stop = AtomicBool::new(false);
        let settings = settings_of(&pattern, &stop);
        let mut portions = 0;
        let searched = FileSearcher::new(settings, [0; 2], small).search(|| File::open(&path), &mut |_| {
            portions += 1;
            stop.store(!has_enough, Ordering::Relaxed);
            if has_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((searched, portions), (Searched::Not, 1), "{small}, {has_enough}");
    }
}

#[test]
fn no_match_is_handed_on_twice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, "a\n".repeat(20_000)).unwrap();
    let pattern = Pattern::of(&Search::new("a")).unwrap();
    let stop = AtomicBool::new(false);
    let settings = settings_of(&pattern, &stop);
    let mut numbers = Vec::new();
    let searched = FileSearcher::new(settings, [0; 2], 0).search(|| File::open(&path), &mut |found| {
        if numbers.is_empty() {
            append(&path, "more\n");
        }
        numbers.extend(found.iter().map(|hit| hit.line.number.get()));
        ControlFlow::Continue(())
    });
    assert_eq!(searched, Searched::Skipped(Cause::Changed));
    let first = numbers.len() as u64;
    assert!((1..20_000).contains(&first) && numbers.into_iter().eq(1..=first));
}

/// A file that changes before any of its matches was delivered is searched again. Another thread changes the
/// file all the time, from the first open to the second.
#[test]
fn a_file_that_changes_meanwhile_is_searched_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let search = Search::new("a");
    let pattern = Pattern::of(&search).unwrap();
    let opened = Cell::new(0);
    // The other thread may be too late to change the file, so the test tries again.
    while opened.get() < 2 {
        std::fs::write(&path, format!("{}a\n", "b\n".repeat(50_000))).unwrap();
        opened.set(0);
        let (begun, over) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    if begun.load(Ordering::Relaxed) {
                        append(&path, "b\n");
                    }
                }
            });
            let open = || {
                begun.store(true, Ordering::Relaxed);
                over.store(opened.replace(opened.get() + 1) > 0, Ordering::Relaxed);
                File::open(&path)
            };
            let (hits, searched) = search_file(open, &pattern, &search, 0);
            over.store(true, Ordering::Relaxed);
            assert_eq!((hits.len(), searched), (1, Searched::Whole));
        });
    }
}

/// The kernel generates such a file while it is read, and reports a size of 0.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_generated_is_left_out_whatever_its_size() {
    let search = Search::new("^");
    let pattern = Pattern::of(&search).unwrap();
    for small in [0, 1, 10, SMALL] {
        let found = search_file(|| File::open("/proc/self/status"), &pattern, &search, small);
        assert_eq!(found, (Vec::new(), Searched::Skipped(Cause::Special)), "{small}");
    }
}
