//! Random edits leave exactly the bytes that the model says, and regions are what a fresh read says.

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::whole_text;
use mcp_text_editor_core::regions::regions;
use mcp_text_editor_core::rejection::{At, Rejection};
use mcp_text_editor_core::resolve::{
    self, EditedLines, GuardedRange, LineEdit, MatchOptions, Patch, Position, Resolution, TextReplacement,
};
use mcp_text_editor_core::scan::Scanned;
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_core::splice::Spliced;
use proptest::prelude::*;

use crate::model::{self, Block, Line};

fn scan(bytes: &[u8]) -> Scan {
    let mut scanner = Scanner::new(None);
    scanner.feed(bytes);
    scanner.finish()
}

fn apply(old: &[u8], plan: &resolve::Plan) -> Vec<u8> {
    let new = Spliced::new(old, &plan.splices);
    read_range(&new, 0..new.size()).unwrap()
}

fn tag(bytes: &[u8]) -> DigestPrefix {
    DigestPrefix::parse(&Digest::of(bytes).to_string()).unwrap()
}

/// Makes short texts over few characters, so that things occur again, with every line end there is.
fn file() -> impl Strategy<Value = String> {
    let ending = prop_oneof![
        Just(vec!["\n"]),
        Just(vec!["\r\n"]),
        Just(vec!["\r"]),
        Just(vec!["\n", "\r\n"]),
        Just(vec!["\n", "\r\n", "\r"])
    ];
    ending.prop_flat_map(|endings| {
        let line = (text(), prop::sample::select(endings)).prop_map(|(text, ending)| text + ending);
        (prop::collection::vec(line, 0..8), text()).prop_map(|(lines, last)| lines.concat() + &last)
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[ab]{0,4}",
        1 => "[ \t]{0,2}[a\u{e9}\u{2028}\u{b}]{0,3}[ \t]{0,2}",
    ]
}

fn new_text() -> impl Strategy<Value = String> {
    prop::collection::vec(text(), 0..4).prop_flat_map(|lines| {
        let joined = lines.join("\n");
        prop_oneof![Just(joined.clone()), Just(joined + "\n")]
    })
}

fn check_plan(old: &str, resolution: Resolution, expected: &str) -> Result<(), TestCaseError> {
    let plan = resolution.map_err(|rejections| TestCaseError::fail(format!("{rejections:?}")))?;
    let new = apply(old.as_bytes(), &plan);
    prop_assert_eq!(String::from_utf8_lossy(&new), expected);
    prop_assert_eq!(plan.unchanged, old == expected);
    let (old_scan, new_scan) = (scan(old.as_bytes()), scan(&new));
    let (old_file, new_file) =
        (Scanned::new(old.as_bytes(), &old_scan), Scanned::new(new.as_slice(), &new_scan));
    let regions = regions(old_file, new_file, &plan).unwrap();
    let fresh = model::lines(expected);
    for region in &regions {
        let (start, end) = (region.lines.start().get() as usize, region.lines.end() as usize);
        prop_assert!(end <= fresh.len(), "{regions:?} of {fresh:?}");
        prop_assert_eq!(region.digest, Digest::of(model::join(&fresh[start - 1..end]).as_bytes()));
    }
    // Lines that no region names are lines of the old file, in their order.
    let named = |number: u64, range: fn(&mcp_text_editor_core::regions::Region) -> LineRange| {
        regions.iter().any(|region| (range(region).start().get()..=range(region).end()).contains(&number))
    };
    let kept = |lines: &[Line], range: fn(&mcp_text_editor_core::regions::Region) -> LineRange| {
        let lines = lines.iter().zip(1..).filter(|(_, number)| !named(*number, range));
        // A last line that ends in a lone CR becomes one that ends in CRLF when it is ended.
        lines.map(|(line, _)| line.0.trim_end_matches('\r').to_owned()).collect::<Vec<_>>()
    };
    if old_scan.lines.convention() == new_scan.lines.convention() {
        let old_lines = model::lines(old);
        prop_assert_eq!(kept(&fresh, |region| region.lines), kept(&old_lines, |region| region.replaced));
    }
    Ok(())
}

fn ranged(
    old_string: Option<String>,
    new: &str,
    start: usize,
    end: usize,
    hash: Option<DigestPrefix>,
) -> Patch {
    let range = GuardedRange { start: start as i64, end: Some(end as i64), range_hash: hash };
    Patch { old_string, new_string: new.to_owned(), ranges: vec![range], replace_all: false }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 1000 }))]

    #[test]
    fn any_chunking_gives_the_same_scan(file in file(), cuts in prop::collection::vec(0..5usize, 0..40)) {
        let mut scanner = Scanner::new(None);
        let mut rest = file.as_bytes();
        for cut in cuts {
            let (chunk, after) = rest.split_at(cut.min(rest.len()));
            scanner.feed(chunk);
            rest = after;
        }
        scanner.feed(rest);
        prop_assert_eq!(scanner.finish(), scan(file.as_bytes()));
    }

    #[test]
    fn a_line_number_and_its_offset_find_each_other(file in file()) {
        let (scan, lines) = (scan(file.as_bytes()), model::lines(&file));
        let scanned = Scanned::new(file.as_bytes(), &scan);
        prop_assert_eq!(scan.lines.count(), lines.len() as u64);
        let mut offset = 0;
        for (line, number) in lines.iter().zip(1..) {
            let line_number = mcp_text_editor_core::line::LineNumber::new(number).unwrap();
            prop_assert_eq!(scanned.offset_of(line_number).unwrap(), offset);
            let end = offset + (line.0.len() + line.1.len()) as u64;
            for at in offset..end {
                prop_assert_eq!(scanned.line_at(at).unwrap(), (line_number, offset));
            }
            offset = end;
        }
    }

    #[test]
    fn a_cursor_finds_what_a_look_from_the_beginning_finds(
        file in file(), steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 1..30), sorted: bool,
    ) {
        // Long enough for marks; with some lines that reach over several of them.
        let file = [file.repeat(60), "x".repeat(5000), file.repeat(60)].concat();
        let scan = scan(file.as_bytes());
        let scanned = Scanned::new(file.as_bytes(), &scan);
        let mut cursor = scanned.cursor();
        let mut steps: Vec<(bool, u64)> =
            steps.iter().map(|(by_line, index)| (*by_line, index.index(file.len() + 1) as u64)).collect();
        if sorted {
            steps.sort_by_key(|(_, offset)| *offset);
        }
        for (by_line, offset) in steps {
            let (line, start) = scanned.line_at(offset).unwrap();
            if by_line {
                prop_assert_eq!(cursor.offset_of(line).unwrap(), start);
            } else {
                prop_assert_eq!(cursor.line_at(offset).unwrap(), (line, start));
            }
        }
    }

    #[test]
    fn lines_are_replaced(file in file(), new in new_text(), at in any::<prop::sample::Index>(), count in 1..4usize, ended: bool, by_hash: bool) {
        let lines = model::lines(&file);
        prop_assume!(!lines.is_empty());
        let at = at.index(lines.len());
        let count = count.min(lines.len() - at);
        let range = &lines[at..at + count];
        let mut old = range.iter().map(|line| line.0.as_str()).collect::<Vec<_>>().join("\n");
        if ended || old.is_empty() || old.ends_with('\n') {
            old.push('\n');
        }
        let hash = by_hash.then(|| tag(model::join(range).as_bytes()));
        let old_ends = (!by_hash).then(|| old.ends_with('\n'));
        let expected = model::join(&model::replace_lines(&lines, at, count, &new, old_ends));
        let patch = ranged((!by_hash).then_some(old), &new, at + 1, at + count, hash);
        let resolution = resolve::patch(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), None, &[patch], MatchOptions::default()).unwrap();
        check_plan(&file, resolution, &expected)?;
    }

    #[test]
    fn text_is_replaced_where_it_is_unique(file in file(), new in new_text(), from in any::<prop::sample::Index>(), length in 1..8usize) {
        let flat: Vec<char> = model::lines(&file).iter().flat_map(|line| line.0.chars().chain(['\n'])).collect();
        prop_assume!(!flat.is_empty());
        let from = from.index(flat.len());
        let old: String = flat[from..].iter().take(length).collect();
        prop_assume!(!(old.contains('\r')));
        let places = model::occurrences(&model::lines(&file), &old);
        let patch = Patch { old_string: Some(old.clone()), new_string: new.clone(), ranges: vec![], replace_all: false };
        let resolution = resolve::patch(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), None, &[patch], MatchOptions { strict: true, ..MatchOptions::default() }).unwrap();
        match places.as_slice() {
            [place] => check_plan(&file, resolution, &model::replace_text(&file, *place, &old, &new))?,
            places => prop_assert!(resolution.is_err(), "{places:?}"),
        }
    }

    #[test]
    fn every_occurrence_is_replaced(file in file(), new in "[abc]{0,3}", old in "[ab]{1,2}") {
        let patch = Patch { old_string: Some(old.clone()), new_string: new.clone(), ranges: vec![], replace_all: true };
        let resolution = resolve::patch(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), None, &[patch], MatchOptions { strict: true, ..MatchOptions::default() }).unwrap();
        if file.contains(&old) {
            check_plan(&file, resolution, &file.replace(&old, &new))?;
        } else {
            prop_assert!(resolution.is_err());
        }
    }

    #[test]
    fn parts_of_the_text_are_replaced(file in file(), news in prop::collection::vec(new_text(), 4), cuts in prop::collection::vec(any::<prop::sample::Index>(), 8)) {
        let lines = model::lines(&file);
        let text = whole_text(Scanned::new(file.as_bytes(), &scan(file.as_bytes()))).unwrap();
        let (flat, offsets) = model::flat(&lines);
        // The model ends each line, the last one, too.
        let is_ended = lines.last().is_none_or(|line| !line.1.is_empty());
        prop_assert_eq!(&text, if is_ended { &flat } else { &flat[..flat.len() - 1] });
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|cut| text.is_char_boundary(*cut)).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let replacements: Vec<TextReplacement> = cuts.chunks_exact(2).zip(news).map(|(cut, new)| TextReplacement { at: cut[0]..cut[1], new }).collect();
        let (mut expected, mut end) = (String::new(), 0);
        for TextReplacement { at, new } in &replacements {
            let place = (offsets[at.start], offsets[at.end]);
            let replaced = model::replace_text(&file, place, &text[at.clone()], new);
            expected += &file[end..place.0];
            expected += &replaced[place.0..replaced.len() - (file.len() - place.1)];
            end = place.1;
        }
        expected += &file[end..];
        let resolution = resolve::replace(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), replacements.clone()).unwrap();
        check_plan(&file, resolution, &expected)?;
        for label in ["utf-16be", "utf-32le", "gb18030"] {
            let encoding = Label::parse(label).unwrap().encoding;
            let [bytes, wanted] = [&file, &expected].map(|text| encoding.encode(text).unwrap());
            let mut scanner = Scanner::new(Some(encoding));
            scanner.feed(&bytes);
            let scan = scanner.finish();
            let scanned = Scanned::new(bytes.as_slice(), &scan);
            prop_assert_eq!(&whole_text(scanned).unwrap(), &text);
            let plan = resolve::replace(scanned, replacements.clone()).unwrap();
            prop_assert_eq!(apply(&bytes, &plan.map_err(|rejections| TestCaseError::fail(format!("{rejections:?}")))?), wanted);
        }
    }

    #[test]
    fn lines_are_inserted(file in file(), new in new_text(), above in any::<prop::sample::Index>()) {
        let lines = model::lines(&file);
        let above = above.index(lines.len() + 1);
        let new = if new.is_empty() { "\n".to_owned() } else { new };
        let expected = model::join(&model::insert_lines(&lines, above, &new));
        let resolution = resolve::insert(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), Some(&tag(file.as_bytes())), &new, Position::After(above as u64), None).unwrap();
        check_plan(&file, resolution, &expected)?;
    }

    #[test]
    fn lines_are_deleted(file in file(), chosen in prop::collection::vec(any::<bool>(), 8)) {
        let lines = model::lines(&file);
        let named = lines.iter().zip(1..).zip(&chosen).filter(|(_, chosen)| **chosen).map(|(line, _)| line);
        let mut ranges: Vec<GuardedRange> = named
            .map(|(line, number)| {
                let range_hash = Some(tag((line.0.clone() + line.1).as_bytes()));
                GuardedRange { start: number, end: Some(number), range_hash }
            })
            .collect();
        ranges.reverse();
        prop_assume!(!ranges.is_empty());
        let kept: Vec<Line> = lines.iter().zip(&chosen).filter(|(_, chosen)| !**chosen).map(|(line, _)| line.clone()).chain(lines.iter().skip(chosen.len()).cloned()).collect();
        let resolution = resolve::delete(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), Some(&tag(file.as_bytes())), &ranges).unwrap();
        check_plan(&file, resolution, &model::join(&kept))?;
    }

    /// Lines that are put between themselves, or between lines that are removed, are refused; so are lines
    /// that are removed twice, and lines with another digest.
    #[test]
    fn lines_are_rearranged(
        file in file(),
        parts in prop::collection::vec((0..4usize, any::<[prop::sample::Index; 3]>(), new_text()), 1..5),
        is_stale in prop::bool::weighted(0.05),
    ) {
        let lines = model::lines(&file);
        let parts: Vec<(Block, Option<usize>)> = parts.into_iter().map(|(kind, [at, count, to], text)| {
            let to = to.index(lines.len() + 1);
            if kind == 0 || lines.is_empty() {
                return (Block::New(if text.is_empty() { "\n".to_owned() } else { text }), Some(to));
            }
            let at = at.index(lines.len());
            let count = 1 + count.index(lines.len() - at);
            (Block::Own(at, count, kind > 1), (kind < 3).then_some(to))
        }).collect();
        let own: Vec<Option<GuardedRange>> = parts.iter().map(|(block, _)| match block {
            Block::Own(at, count, _) => {
                let bytes = if is_stale { "?".to_owned() } else { model::join(&lines[*at..at + count]) };
                let range_hash = Some(tag(bytes.as_bytes()));
                Some(GuardedRange { start: *at as i64 + 1, end: Some((at + count) as i64), range_hash })
            }
            Block::New(_) => None,
        }).collect();
        let edits: Vec<LineEdit<'_>> = parts.iter().zip(&own).enumerate().map(|(number, ((block, to), range))| {
            let mut at = At::default();
            at.patch = number;
            let lines = match (block, range) {
                (Block::Own(_, _, is_removed), Some(range)) => EditedLines::Own { range, is_removed: *is_removed },
                (Block::New(text), _) => EditedLines::New(text),
                _ => unreachable!(),
            };
            let to = to.map(|to| if number % 2 == 0 { Position::After(to as u64) } else { Position::Before(to as u64 + 1) });
            LineEdit { at, lines, to }
        }).collect();
        let scan = scan(file.as_bytes());
        let scanned = Scanned::new(file.as_bytes(), &scan);
        let rearrange = |most| resolve::rearrange(scanned, Some(&tag(file.as_bytes())), &edits, most).unwrap();
        let resolution = rearrange(u64::MAX);
        let taken = |by: usize| parts.iter().enumerate().filter_map(move |(number, (block, _))| match block {
            Block::Own(at, count, is_removed) if *is_removed || number == by => Some((number, *at, at + count)),
            _ => None,
        });
        let overlaps = (0..parts.len()).any(|number| {
            let to = parts[number].1;
            let is_inside = |(_, start, end): (usize, usize, usize)| to.is_some_and(|to| start < to && to < end);
            let is_twice = |(other, start, end): (usize, usize, usize)| match parts[number].0 {
                Block::Own(at, count, true) => other > number && at < end && start < at + count,
                _ => false,
            };
            taken(number).any(is_inside) || taken(parts.len()).any(is_twice)
        });
        if is_stale && own.iter().any(Option::is_some) {
            let rejections = resolution.unwrap_err();
            prop_assert!(rejections.iter().any(|one| matches!(one, Rejection::RangeHashMismatch { .. })), "{rejections:?}");
        } else if overlaps {
            let rejections = resolution.unwrap_err();
            prop_assert!(rejections.iter().all(|one| matches!(one, Rejection::Overlap { .. })), "{rejections:?}");
        } else {
            check_plan(&file, resolution, &model::join(&model::rearrange(&lines, &parts)))?;
            let put: usize = parts.iter().filter(|(_, to)| to.is_some()).map(|(block, _)| match block {
                Block::Own(at, count, _) => model::join(&lines[*at..at + count]).len(),
                Block::New(text) => text.len(),
            }).sum();
            prop_assert!(rearrange(put as u64).is_ok());
            let is_too_much = |one: &Rejection| matches!(one, Rejection::TooMuchText { .. });
            prop_assert!(put == 0 || rearrange(put as u64 - 1).unwrap_err().iter().all(is_too_much));
        }
        for ((block, _), range) in parts.iter().zip(&own) {
            let (Block::Own(at, count, _), Some(range), false) = (block, range, is_stale) else { continue };
            let own = &lines[*at..at + count];
            let bytes = model::join(own).len() as u64;
            let mut text = model::join(own);
            if own.last().unwrap().1.is_empty() {
                text += lines[..lines.len() - 1].last().map_or("\n", |line| line.1);
            }
            prop_assert_eq!(resolve::text_of(scanned, At::default(), range, bytes).unwrap(), Ok(text));
            prop_assert!(bytes == 0 || resolve::text_of(scanned, At::default(), range, bytes - 1).unwrap().is_err());
        }
    }

    #[test]
    fn the_second_tier_ignores_blanks_at_line_ends(file in file(), new in new_text(), at in any::<prop::sample::Index>(), count in 1..4usize) {
        let lines = model::lines(&file);
        prop_assume!(!lines.is_empty());
        let at = at.index(lines.len());
        let count = count.min(lines.len() - at);
        let strip = |line: &Line| line.0.trim_end_matches([' ', '\t']).to_owned();
        // Lines in common would keep the file's blanks: that is `blanks`' law.
        let is = |line: &Line, new: Option<&str>| new.is_some_and(|new| new.trim_end_matches([' ', '\t']) == strip(line));
        prop_assume!(!is(&lines[at], new.lines().next()) && !is(&lines[at + count - 1], new.lines().last()));
        let mut old = lines[at..at + count].iter().map(|line| strip(line) + " \t \n").collect::<String>();
        // Blanks are added, so that the first tier never matches.
        let patch = ranged(Some(old.clone()), &new, at + 1, at + count, None);
        let expected = model::join(&model::replace_lines(&lines, at, count, &new, Some(true)));
        let resolution = resolve::patch(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), None, &[patch], MatchOptions::default()).unwrap();
        check_plan(&file, resolution, &expected)?;
        // The same by text alone, where it is unique.
        let stripped: Vec<Line> = lines.iter().map(|line| (strip(line), line.1)).collect();
        let bare: String = lines[at..at + count].iter().map(|line| strip(line) + "\n").collect();
        let unique = model::occurrences(&stripped, &bare).len() == 1 && bare != "\n";
        let starts_line = at == 0 || unique && !strip(&lines[at]).is_empty();
        if unique && starts_line {
            old.pop();
            old.push('\n');
            let patch = Patch { old_string: Some(old), new_string: new.clone(), ranges: vec![], replace_all: false };
            let resolution = resolve::patch(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), None, &[patch], MatchOptions::default()).unwrap();
            let offset = model::join(&lines[..at]).len();
            let end = offset + model::join(&lines[at..at + count]).len();
            let expected = model::replace_text(&file, (offset, end), "\n", &new);
            check_plan(&file, resolution, &expected)?;
        }
    }
}
