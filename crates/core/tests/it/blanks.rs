//! Checks against a naive model, in several encodings: where blanks at line ends are forgiven, the lines that
//! both texts have in common keep the file's.

use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::resolve::{self, GuardedRange, MatchOptions, Patch};
use mcp_text_editor_core::scan::Scanned;
use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_core::splice::Spliced;
use proptest::prelude::*;

fn trim(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}

/// Returns what takes the place of the lines of `file`.
fn model(file: &[String], old: &[String], new: &[String]) -> Vec<String> {
    let same = |(old, new): &(&String, &String)| trim(old) == trim(new);
    let head = old.iter().zip(new).take_while(same).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(same).count();
    let of_file = |index: usize| {
        if index < head {
            Some(index)
        } else if index >= new.len() - tail {
            Some(index + old.len() - new.len())
        } else {
            None
        }
    };
    let line = |(index, new): (usize, &String)| match of_file(index) {
        Some(at) if old[at] != file[at] => file[at].clone(),
        _ => new.clone(),
    };
    new.iter().enumerate().map(line).collect()
}

fn blanks() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", " ", "  ", "\t"])
}

prop_compose! {
    /// Makes a line that no other line of the file has, or an empty one; without blanks at its end.
    fn lines()(empty in prop::collection::vec(prop::bool::weighted(0.15), 3..8)) -> Vec<String> {
        let text = |(index, empty): (usize, bool)| if empty { String::new() } else { format!("x\u{3042}{index}") };
        empty.into_iter().enumerate().map(text).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 2000 }) })]

    #[test]
    fn lines_in_common_keep_the_bytes_of_the_file(
        lines in lines(), of_file in prop::collection::vec(blanks(), 8), of_old in prop::collection::vec(blanks(), 8),
        of_new in prop::collection::vec(blanks(), 8), from in any::<prop::sample::Index>(), count in 1..6usize,
        (first, gone, come) in (0..6usize, 0..4usize, 0..4usize), by_text: bool, inside: bool, ended: bool,
        ending in prop::sample::select(vec!["\n", "\r\n", "\r"]), is_last_ended: bool,
        label in prop::sample::select(vec!["utf-8", "utf-16-le", "utf-32-be", "iso-2022-jp", "shift_jis"]),
    ) {
        let from = from.index(lines.len());
        let count = count.min(lines.len() - from);
        let file: Vec<String> = lines.iter().zip(&of_file).map(|(line, blanks)| line.clone() + blanks).collect();
        let named = from..from + count;
        let old: Vec<String> = lines[named.clone()].iter().zip(&of_old).map(|(line, blanks)| line.clone() + blanks).collect();
        // Some lines are as they were, but for blanks; others go, and others come.
        let first = first.min(count);
        let rest = (first + gone).min(count);
        let same = |range: std::ops::Range<usize>| range.map(|at| lines[named.start + at].clone() + of_new[at]);
        let new: Vec<String> = same(0..first).chain((0..come).map(|at| format!("new {at}"))).chain(same(rest..count)).collect();
        // The second tier is asked only where the first has found nothing, and one line at least shows the
        // place.
        prop_assume!(old != file[named.clone()] && !new.is_empty());
        prop_assume!(!by_text || !lines[from].is_empty() && !lines[from + count - 1].is_empty());
        let inside = by_text && inside;
        let is_last_ended = is_last_ended || file.last().is_some_and(String::is_empty);
        // Inside of a line only where the new text begins as the old one does.
        prop_assume!(!inside || new[0].starts_with('x'));
        let skipped = usize::from(inside);
        let cut = |lines: &[String]| {
            let cut = |(index, line): (usize, &String)| line[if index == 0 { skipped } else { 0 }..].to_owned();
            lines.iter().enumerate().map(cut).collect::<Vec<_>>()
        };
        let mut wanted = model(&cut(&file[named.clone()]), &cut(&old), &cut(&new));
        if inside {
            wanted[0].insert(0, 'x');
        }

        let mut expected: Vec<String> = file[..from].to_vec();
        expected.extend(wanted);
        expected.extend_from_slice(&file[from + count..]);
        // A last line without a final newline stays so: both texts are ended, or neither is.
        let whole = |lines: &[String]| lines.join(ending) + if is_last_ended { ending } else { "" };
        prop_assume!(is_last_ended || from + count < file.len() || !new.last().unwrap().is_empty());
        let encoding = Label::parse(label).unwrap().encoding;
        let bytes = encoding.encode(&whole(&file)).unwrap();

        // A text that ends in an empty line must be ended, or it ends before that.
        let ended = ended || [&old, &new].iter().any(|lines| lines.last().is_some_and(String::is_empty));
        let end = if ended { "\n" } else { "" };
        let range = GuardedRange { start: from as i64 + 1, end: Some((from + count) as i64), range_hash: None };
        let ranges = if by_text { Vec::new() } else { vec![range] };
        let patch = Patch { ranges, ..Patch::text(cut(&old).join("\n") + end, cut(&new).join("\n") + end) };
        let mut scanner = Scanner::new(Some(encoding));
        scanner.feed(&bytes);
        let scan = scanner.finish();
        let plan = resolve::patch(Scanned::new(bytes.as_slice(), &scan), None, &[patch], MatchOptions::default()).unwrap();
        // By text alone a part of the lines can stand there exactly; it is then the first tier's.
        let plan = plan.map_err(|rejections| TestCaseError::fail(format!("{rejections:?}")))?;
        prop_assume!(plan.facts.iter().all(|fact| fact.tier != mcp_text_editor_core::matching::Tier::Exact));
        let view = Spliced::new(bytes.as_slice(), &plan.splices);
        let edited = read_range(&view, 0..view.size()).unwrap();
        let edited = encoding.decode(&edited).unwrap();
        prop_assert_eq!(edited, whole(&expected));
    }
}
