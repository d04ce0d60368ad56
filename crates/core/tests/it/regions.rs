//! Regions and diffs are facts of the two files: how an edit is cut into splices makes no difference.

use std::convert::Infallible;

use mcp_text_editor_core::diff::{DiffFile, LineChange, unified};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_core::line_ending::Convention;
use mcp_text_editor_core::matching::Tier;
use mcp_text_editor_core::regions::{Region, regions};
use mcp_text_editor_core::resolve::{Plan, SpliceInfo};
use mcp_text_editor_core::scan::Scanned;
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_core::splice::{Splice, SpliceSet, Spliced};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::model::{self, Line};

fn scan(bytes: &[u8]) -> Scan {
    let mut scanner = Scanner::new(None);
    scanner.feed(bytes);
    scanner.finish()
}

/// Old lines and new ones that take their place, by index: where they begin and where they end.
type Places = ((usize, usize), (usize, usize));

/// Follows the definition: each splice reaches back to the last place, and on to the next, where both files
/// begin a line or end.
fn naive(old: &str, new: &str, splices: &[Splice]) -> Vec<Places> {
    let starts = |text: &str| {
        let mut offsets = vec![0];
        for line in model::lines(text) {
            offsets.push(offsets[offsets.len() - 1] + line.0.len() + line.1.len());
        }
        if model::lines(text).last().is_some_and(|line| line.1.is_empty()) {
            offsets.pop();
        }
        offsets
    };
    let (old_starts, new_starts) = (starts(old), starts(new));
    let begins = |&(at, to): &(usize, usize)| old_starts.contains(&at) && new_starts.contains(&to);
    let ends = |joint: &(usize, usize)| begins(joint) || *joint == (old.len(), new.len());
    // All places that both files have, in order; and of each splice the last before it and the first behind.
    let (mut joints, mut around) = (Vec::new(), Vec::new());
    let (mut at, mut to) = (0, 0);
    for splice in splices {
        let (start, end) = (splice.at.start as usize, splice.at.end as usize);
        joints.extend((at..=start).map(|place| (place, place - at + to)));
        to += start - at + splice.insert.len();
        at = end;
        around.push((joints.len() - 1, joints.len()));
    }
    joints.extend((at..=old.len()).map(|place| (place, place - at + to)));
    let mut found: Vec<((usize, usize), (usize, usize))> = Vec::new();
    for (before, behind) in around {
        let begin = *joints[..=before].iter().rfind(|joint| begins(joint)).unwrap();
        let end = *joints[behind..].iter().find(|joint| ends(joint)).unwrap();
        match found.last_mut().filter(|last| begin < last.1) {
            Some(last) => last.1 = end,
            None => found.push((begin, end)),
        }
    }
    let line = |starts: &[usize], text: &str, offset: usize| {
        if offset == text.len() {
            return model::lines(text).len();
        }
        starts.iter().position(|start| *start == offset).unwrap()
    };
    let lines = |joint: (usize, usize)| (line(&old_starts, old, joint.0), line(&new_starts, new, joint.1));
    found.into_iter().map(|(begin, end)| (lines(begin), lines(end))).collect()
}

/// Returns what the core says.
fn told(old: &str, splices: &[Splice]) -> (String, Vec<Region>) {
    let splices = SpliceSet::new(splices.to_vec()).unwrap();
    let facts = vec![SpliceInfo::of(Tier::Exact); splices.as_slice().len()];
    let view = Spliced::new(old.as_bytes(), &splices);
    let new = read_range(&view, 0..view.size()).unwrap();
    let plan = Plan { splices, facts, adds_final_newline: false, unchanged: false };
    let (old_scan, new_scan) = (scan(old.as_bytes()), scan(&new));
    let (old_file, new_file) =
        (Scanned::new(old.as_bytes(), &old_scan), Scanned::new(new.as_slice(), &new_scan));
    let found = regions(old_file, new_file, &plan).unwrap();
    (String::from_utf8(new).unwrap(), found)
}

fn places(found: &[Region]) -> Vec<Places> {
    let index = |line: LineNumber| line.index() as usize;
    let of = |region: &Region| {
        let (old, new) = (region.replaced, region.lines);
        ((index(old.start()), index(new.start())), (old.end() as usize, new.end() as usize))
    };
    found.iter().map(of).collect()
}

/// Merges regions that have nothing between them.
fn joined(found: Vec<Places>) -> Vec<Places> {
    let mut joined: Vec<Places> = Vec::new();
    for (begin, end) in found {
        match joined.last_mut().filter(|last| last.1 == begin) {
            Some(last) => last.1 = end,
            None => joined.push((begin, end)),
        }
    }
    joined
}

/// Makes the same edit with each splice cut in two; the parts may remove nothing, or insert nothing.
fn cut(splices: &[Splice], cuts: &[(Index, Index)]) -> Vec<Splice> {
    let mut parts: Vec<Splice> = Vec::new();
    for (splice, (at, insert)) in splices.iter().zip(cuts) {
        let removed = usize::try_from(splice.at.end - splice.at.start).unwrap();
        let middle = splice.at.start + at.index(removed + 1) as u64;
        let (head, tail) = splice.insert.split_at(insert.index(splice.insert.len() + 1));
        for (at, insert) in [(splice.at.start..middle, head), (middle..splice.at.end, tail)] {
            match parts.last_mut().filter(|last| last.at.is_empty() && at == last.at) {
                // No two insertions stand at one place.
                Some(last) => last.insert.extend_from_slice(insert),
                None => parts.push(Splice { at, insert: insert.to_vec() }),
            }
        }
    }
    parts
}

/// Returns the new lines, made from the old ones by a unified diff.
fn patched(old: &[Line], diff: &str) -> Vec<String> {
    let (mut out, mut taken) = (Vec::new(), 0);
    let copy = |out: &mut Vec<String>, from: usize, to: usize| {
        out.extend(old[from..to].iter().map(|line| line.0.clone()));
    };
    // A lone CR is text.
    for line in diff.split_terminator('\n').skip(2).filter(|line| !line.starts_with('\\')) {
        if let Some(header) = line.strip_prefix("@@ -") {
            let (start, count) = header.split_once(' ').unwrap().0.split_once(',').unwrap_or((header, "1"));
            let start: usize = start.split(' ').next().unwrap().parse().unwrap();
            let first = if count == "0" { start } else { start - 1 };
            copy(&mut out, taken, first);
            taken = first;
            continue;
        }
        let (sign, text) = line.split_at(1);
        if sign != "+" {
            assert_eq!(old[taken].0, text);
            taken += 1;
        }
        if sign != "-" {
            out.push(text.to_owned());
        }
    }
    copy(&mut out, taken, old.len());
    out
}

fn diff(old: &str, new: &str, found: &[Places]) -> String {
    let (old_lines, new_lines) = (model::lines(old), model::lines(new));
    let texts = |lines: &[Line]| lines.iter().map(|line| line.0.clone()).collect::<Vec<_>>();
    let change = |((at, to), (old_end, new_end)): &Places| LineChange {
        start: LineNumber::from_index(*at as u64),
        old: texts(&old_lines[*at..*old_end]),
        new: texts(&new_lines[*to..*new_end]),
    };
    let changes: Vec<LineChange> = found.iter().map(change).collect();
    let side = |lines: &[Line]| DiffFile {
        path: "a",
        unterminated: lines.last().is_some_and(|line| line.1.is_empty()),
    };
    let context = |lines: LineRange| {
        Ok::<_, Infallible>(texts(&old_lines[lines.start().index() as usize..lines.end() as usize]))
    };
    let total = old_lines.len() as u64;
    let Ok(text) = unified(side(&old_lines), side(&new_lines), total, &changes, usize::MAX, context);
    text
}

prop_compose! {
    /// Makes a file, and disjoint splices of it; many remove nothing, or insert nothing.
    fn edits()(old in prop_oneof![3 => "([ab]{0,3}(\n|\r\n)?){0,6}", 1 => "([ab]{0,2}\r){0,4}"])(
        at in prop::collection::btree_set(0..=old.len(), 0..10),
        inserts in prop::collection::vec(prop_oneof![2 => Just(String::new()), 3 => "[ab\r\n]{1,4}"], 10),
        pairs in prop::collection::vec(any::<bool>(), 10),
        old in Just(old),
    ) -> (String, Vec<Splice>) {
        let mut places = at.into_iter().map(|at| at as u64).peekable();
        let mut splices = Vec::new();
        for (insert, pair) in inserts.into_iter().zip(pairs) {
            let Some(start) = places.next() else { break };
            // The same place may end one splice and begin the next.
            let end = if pair { places.peek().copied().unwrap_or(start) } else { start };
            splices.push(Splice { at: start..end, insert: insert.into_bytes() });
        }
        splices.dedup_by(|next, last| next.at == last.at);
        (old, splices)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 1500 }))]

    #[test]
    fn regions_are_of_the_files_not_of_the_splices(
        (old, splices) in edits(), cuts in prop::collection::vec(any::<(Index, Index)>(), 10), again in prop::collection::vec(any::<(Index, Index)>(), 20),
    ) {
        let (new, found) = told(&old, &splices);
        let lines = model::lines(&new);
        let is_mac = |text: &str| scan(text.as_bytes()).lines.convention() == Convention::Cr;
        let has_ends = |text: &str| model::lines(text).iter().any(|line| !line.1.is_empty());
        if is_mac(&old) != is_mac(&new) && has_ends(&old) && has_ends(&new) {
            prop_assert_eq!(places(&found), [((0, 0), (model::lines(&old).len(), lines.len()))]);
            return Ok(());
        }
        prop_assert_eq!(places(&found), naive(&old, &new, &splices), "{:?} -> {:?}", old, new);
        for region in &found {
            let of = &lines[region.lines.start().index() as usize..region.lines.end() as usize];
            prop_assert_eq!(region.digest, Digest::of(model::join(of).as_bytes()));
        }
        let texts: Vec<String> = lines.iter().map(|line| line.0.clone()).collect();
        prop_assert_eq!(patched(&model::lines(&old), &diff(&old, &new, &places(&found))), texts);

        let once = cut(&splices, &cuts);
        for splices in [cut(&once, &again), once] {
            let (same, parts) = told(&old, &splices);
            prop_assert_eq!(&same, &new);
            prop_assert_eq!(joined(places(&parts)), joined(places(&found)), "{:?}", splices);
        }
    }
}
