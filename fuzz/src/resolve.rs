//! Requests: each does to a file what the naive model says, or is refused for a reason that holds; whatever
//! it does, regions are what a fresh read says, and the inverse undoes it.

use std::ops::Range;

use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_core::encoding::{Encoding, sniff_bom};
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::regions::{Region, regions};
use mcp_text_editor_core::rejection::{Evidence, Rejection};
use mcp_text_editor_core::resolve::{self, GuardedRange, MatchOptions, Patch, Plan, Position, Resolution};
use mcp_text_editor_core::scan::{Scan, Scanned, Scanner};
use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_core::splice::{SpliceSet, Spliced};

use crate::input::Input;
use crate::model::{self, Line};

/// A file of which everything is known.
struct File {
    bytes: Vec<u8>,
    scan: Scan,
    /// Without the BOM.
    text: String,
    lines: Vec<Line>,
}

/// Takes the first text for a file, the others for what a request says of it.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let operation = input.below(8);
    let numbers = [(); 4].map(|()| input.below(64));
    let flags = [(); 3].map(|()| input.flag());
    let Some(file) = file(&mut input) else { return };
    let [_, old, new, other_old, other_new] = input.texts::<5>().map(|text| as_sent(&text));
    match operation {
        0 => replace_lines(&file, &new, numbers, flags, false),
        1 => replace_lines(&file, &new, numbers, flags, true),
        2 => replace_text(&file, &old, &new, numbers, flags),
        3 => replace_every(&file, &old, &new),
        4 => insert(&file, &new, numbers[0], flags),
        5 => delete(&file, numbers, flags),
        _ => anything(&file, [old, new, other_old, other_new], numbers, flags),
    }
}

/// Returns the first text, in some encoding; `None` where it would be refused before anything is resolved.
fn file(input: &mut Input<'_>) -> Option<File> {
    let (label, raw, marked) = (input.label(), input.flag(), input.flag());
    let [text] = input.texts::<1>();
    let text = text.split('\u{1F}').next().unwrap_or_default();
    let encoding = label.unwrap_or(Encoding::Utf8);
    let bytes = if raw {
        let first = input.rest().split(|byte| *byte == 0x1F).next().unwrap_or_default();
        first.to_vec()
    } else {
        [if marked { encoding.bom() } else { b"" }, &encoding.encode(text).ok()?].concat()
    };
    let scan = scan(&bytes, label);
    if scan.nul.is_some() || scan.undecodable.is_some() {
        return None;
    }
    let text = scan
        .encoding
        .decode(&bytes[bounds(&scan.lines.bytes())])
        .expect("the scan says that it decodes")
        .into_owned();
    let lines = model::lines(&text);
    let file = File { bytes, scan, text, lines };
    // Each line is taken to begin in ASCII; where one does not, it is shown as another text (docs/limits.md).
    let as_shown = |(index, line): (usize, &Line)| {
        let shown = file.scan.encoding.decode(file.bytes_of(index, 1));
        shown.is_ok_and(|text| text == [line.0.as_str(), line.1].concat())
    };
    let is_counted = file.lines.len() as u64 == file.scan.lines.count();
    let is_plain =
        !file.scan.encoding.is_stateful() || (is_counted && file.lines.iter().enumerate().all(as_shown));
    is_plain.then_some(file)
}

/// Makes a text as arguments are checked to be: `\n` alone ends a line, and there is no U+0000.
fn as_sent(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\r', '\0'], "")
}

fn tag(bytes: &[u8]) -> DigestPrefix {
    DigestPrefix::parse(&Digest::of(bytes).to_string()).expect("a digest is a tag")
}

impl File {
    fn scanned(&self) -> Scanned<'_, [u8]> {
        Scanned::new(self.bytes.as_slice(), &self.scan)
    }

    /// Returns the bytes of some lines, which exist.
    fn bytes_of(&self, first: usize, count: usize) -> &[u8] {
        let lines = LineRange::inclusive(first as u64 + 1, (first + count) as u64).expect("in order");
        let Ok(range) = self.scanned().bytes_of(lines);
        &self.bytes[bounds(&range)]
    }

    fn range(&self, first: usize, count: usize, hash: bool) -> GuardedRange {
        GuardedRange {
            start: first as i64 + 1,
            end: Some((first + count) as i64),
            range_hash: hash.then(|| tag(self.bytes_of(first, count))),
        }
    }

    fn patch(&self, patches: &[Patch], strict: bool) -> Resolution {
        let Ok(done) =
            resolve::patch(self.scanned(), None, patches, MatchOptions { strict, ..MatchOptions::default() });
        done
    }

    /// Compares a resolution with what the file should become.
    fn expect(&self, resolution: Resolution, new: &str, expected: &str) {
        let encoding = self.scan.encoding;
        let whole = [
            &self.bytes[..bounds(&self.scan.lines.bytes()).start],
            &encoding.encode(expected).unwrap_or_default(),
        ];
        match resolution {
            Ok(plan) => {
                assert!(encoding.encode(new).is_ok(), "{new:?} cannot be encoded");
                assert_eq!(self.check_plan(&plan), expected);
            }
            Err(rejections) => {
                check_rejections(&rejections);
                for rejection in rejections {
                    match rejection {
                        Rejection::Unencodable { .. } => assert!(encoding.encode(new).is_err(), "{new:?}"),
                        Rejection::ByteOrderMark { .. } => {
                            let before = self.scan.bom.then_some(encoding);
                            assert_ne!(sniff_bom(&whole.concat()), before, "{expected:?}");
                        }
                        // Big5 has sequences that stand for two characters.
                        Rejection::ShiftState { .. } => assert!(
                            encoding.is_stateful() || encoding == Encoding::Legacy(encoding_rs::BIG5),
                            "{encoding:?}"
                        ),
                        other => panic!("{other:?} of {:?}, which should become {expected:?}", self.text),
                    }
                }
            }
        }
    }

    /// Checks what holds for every plan. Returns the new text.
    fn check_plan(&self, plan: &Plan) -> String {
        let splices = plan.splices.as_slice();
        assert_eq!(plan.facts.len(), splices.len());
        assert_eq!(plan.adds_final_newline, plan.facts.iter().any(|fact| fact.lead > 0));
        let new = apply(&self.bytes, &plan.splices);
        assert_eq!(plan.unchanged, new == self.bytes);
        let Ok(inverse) = plan.splices.inverse(self.bytes.as_slice());
        assert_eq!(apply(&new, &inverse), self.bytes);
        let start = bounds(&self.scan.lines.bytes()).start;
        assert!(splices.iter().all(|splice| splice.at.start >= start as u64), "the BOM is edited");

        let fresh = scan(&new, Some(self.scan.encoding));
        assert_eq!((fresh.undecodable, fresh.encoding, fresh.bom), (None, self.scan.encoding, self.scan.bom));
        let text = fresh.encoding.decode(&new[start..]).expect("the scan says that it decodes").into_owned();
        let Ok(found) = regions(self.scanned(), Scanned::new(new.as_slice(), &fresh), plan);
        check_regions(&found, (self, &self.text), (&new, &fresh, &text));
        text
    }
}

fn check_regions(found: &[Region], (file, old): (&File, &str), (new, fresh, text): (&[u8], &Scan, &str)) {
    let lines = model::lines(text);
    assert_eq!(lines.len() as u64, fresh.lines.count());
    let mut last = [0, 0];
    for region in found {
        assert!(region.lines.end() <= fresh.lines.count(), "{found:?}");
        assert!(region.replaced.end() <= file.scan.lines.count(), "{found:?}");
        assert!(
            region.lines.start().index() >= last[0] && region.replaced.start().index() >= last[1],
            "{found:?}"
        );
        last = [region.lines.end(), region.replaced.end()];
        let Ok(range) = Scanned::new(new, fresh).bytes_of(region.lines);
        assert_eq!(region.digest, Digest::of(&new[bounds(&range)]));
    }
    // What no region names has not changed; save that a file without any LF can come to have one.
    if file.scan.lines.convention() != fresh.lines.convention() {
        return;
    }
    let kept = |lines: &[Line], range: fn(&Region) -> LineRange| {
        let named = |number: u64| {
            found.iter().any(|region| (range(region).start().get()..=range(region).end()).contains(&number))
        };
        let lines = lines.iter().zip(1..).filter(|(_, number)| !named(*number));
        // A last line that ends in a lone CR becomes one that ends in CRLF when it is ended.
        lines.map(|(line, _)| line.0.trim_end_matches('\r').to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        kept(&lines, |region| region.lines),
        kept(&model::lines(old), |region| region.replaced),
        "{found:?}"
    );
}

/// Checks that there are rejections, and that their evidence is bounded.
fn check_rejections(rejections: &[Rejection]) {
    assert!(!rejections.is_empty());
    for rejection in rejections {
        let (actual, evidence) = match rejection {
            Rejection::RangeHashMismatch { actual, evidence, .. }
            | Rejection::ContentMismatch { actual, evidence, .. } => (Some(actual.as_ref()), evidence),
            Rejection::NoMatch { evidence, .. } => (None, evidence),
            Rejection::AmbiguousMatch { places, .. } => {
                assert!(places.len() <= 10, "{rejection:?}");
                continue;
            }
            _ => continue,
        };
        let places = match evidence.as_ref() {
            Evidence::Applied(place) | Evidence::One(place) | Evidence::Nothing(Some(place)) => {
                std::slice::from_ref(place)
            }
            Evidence::Several(places) => places,
            Evidence::NotSearched | Evidence::After { .. } | Evidence::Nothing(None) => &[],
        };
        let texts = places.iter().filter_map(|place| place.text.as_ref());
        assert!(places.len() <= 11 && texts.clone().count() <= 4, "{rejection:?}");
        for text in texts.chain(actual) {
            assert!(text.text.lines().count() <= 20 && text.text.len() <= 2000, "{rejection:?}");
        }
    }
}

/// Returns some lines of the file; `None` where it has none.
fn lines_at(file: &File, numbers: [usize; 4]) -> Option<(usize, usize)> {
    let total = file.lines.len();
    let first = numbers[0].checked_rem(total)?;
    Some((first, 1 + numbers[1] % 4.min(total - first)))
}

/// Tries ranged patches of lines that are what they are said to be: by text, by digest, or but for blanks at
/// line ends.
fn replace_lines(
    file: &File,
    new: &str,
    numbers: [usize; 4],
    [ended, by_hash, strict]: [bool; 3],
    blanks: bool,
) {
    let Some((at, count)) = lines_at(file, numbers) else { return };
    let lines = &file.lines[at..at + count];
    if lines.iter().any(|line| line.0.contains(['\r', '\0'])) {
        // No client can send that.
        return;
    }
    if blanks {
        let trim = |text: &str| text.trim_end_matches([' ', '\t']).to_owned();
        let blank = |line: &Line| trim(&line.0) + " \t \n";
        let is = |line: &Line, new: Option<&str>| new.is_some_and(|new| trim(new) == trim(&line.0));
        if is(&lines[0], new.lines().next()) || is(&lines[count - 1], new.lines().last()) {
            // Lines in common keep the file's blanks, which the model does not know.
            return;
        }
        let patch = Patch {
            old_string: Some(lines.iter().map(blank).collect()),
            new_string: new.to_owned(),
            ranges: vec![file.range(at, count, by_hash)],
            replace_all: false,
        };
        let expected = model::join(&model::replace_lines(&file.lines, at, count, new, Some(true)));
        return file.expect(file.patch(&[patch], false), new, &expected);
    }
    let mut old = lines.iter().map(|line| line.0.as_str()).collect::<Vec<_>>().join("\n");
    if ended || old.is_empty() || old.ends_with('\n') {
        old.push('\n');
    }
    let old = (!by_hash).then_some(old);
    let old_ends = old.as_ref().map(|old| old.ends_with('\n'));
    let expected = model::join(&model::replace_lines(&file.lines, at, count, new, old_ends));
    let patch = Patch {
        old_string: old,
        new_string: new.to_owned(),
        ranges: vec![file.range(at, count, by_hash)],
        replace_all: false,
    };
    file.expect(file.patch(&[patch], strict), new, &expected);
}

/// Tries a patch by text alone: replaced where it stands once, else refused.
fn replace_text(file: &File, given: &str, new: &str, numbers: [usize; 4], [cut, ..]: [bool; 3]) {
    let flat: String = file.lines.iter().flat_map(|line| [line.0.as_str(), "\n"]).collect();
    let characters: Vec<char> = flat.chars().collect();
    let old = if cut && !characters.is_empty() {
        let from = (numbers[0] | numbers[1] << 6) % characters.len();
        characters[from..].iter().take(1 + numbers[2]).collect()
    } else {
        given.to_owned()
    };
    if old.is_empty() || old.contains(['\r', '\0']) {
        return;
    }
    let patch = Patch {
        old_string: Some(old.clone()),
        new_string: new.to_owned(),
        ranges: vec![],
        replace_all: false,
    };
    let resolution = file.patch(&[patch], true);
    match model::occurrences(&file.lines, &old).as_slice() {
        [place] => file.expect(resolution, new, &model::replace_text(&file.text, *place, &old, new)),
        places => {
            let rejections = resolution.expect_err("it does not stand there once");
            check_rejections(&rejections);
            let told = rejections.iter().any(|rejection| match rejection {
                Rejection::NoMatch { .. } => places.is_empty(),
                Rejection::AmbiguousMatch { count, .. } => *count == places.len() as u64,
                _ => false,
            });
            assert!(told, "{places:?}: {rejections:?}");
        }
    }
}

/// Replaces every occurrence of a text within a line.
fn replace_every(file: &File, old: &str, new: &str) {
    if old.is_empty() || old.contains('\n') || new.contains('\n') {
        return;
    }
    let patch = Patch {
        old_string: Some(old.to_owned()),
        new_string: new.to_owned(),
        ranges: vec![],
        replace_all: true,
    };
    let resolution = file.patch(&[patch], true);
    if file.text.contains(old) {
        file.expect(resolution, new, &file.text.replace(old, new));
    } else {
        check_rejections(&resolution.expect_err("there is none"));
    }
}

fn insert(file: &File, new: &str, above: usize, [known, at_end, before]: [bool; 3]) {
    let above = if at_end { file.lines.len() } else { above % (file.lines.len() + 1) };
    let new = if new.is_empty() { "\n" } else { new };
    let expected = model::join(&model::insert_lines(&file.lines, above, new));
    let tag = tag(if known { &file.bytes } else { b"another file" });
    let position = if before { Position::Before(above as u64 + 1) } else { Position::After(above as u64) };
    let Ok(resolution) = resolve::insert(file.scanned(), Some(&tag), new, position, None);
    let is_it = known || tag.matches(&file.scan.digest);
    if at_end && is_it {
        let Ok(appended) = resolve::append(file.scanned(), Some(&tag), new, None);
        assert_eq!(appended, resolution);
    }
    if is_it {
        file.expect(resolution, new, &expected);
    } else {
        let rejections = resolution.expect_err("it is another file");
        assert!(rejections.iter().any(|rejection| matches!(rejection, Rejection::HashMismatch { .. })));
    }
}

/// Deletes lines that a bit field names, each by itself or in runs.
fn delete(file: &File, numbers: [usize; 4], [runs, backwards, _]: [bool; 3]) {
    let chosen = numbers.iter().rev().fold(0_u64, |bits, number| bits << 6 | *number as u64);
    let is_chosen = |index: usize| index < 24 && chosen >> index & 1 == 1;
    let mut ranges = Vec::new();
    let mut index = 0;
    while index < file.lines.len() {
        let count = (index..file.lines.len()).take_while(|index| is_chosen(*index)).count();
        let count = if runs { count } else { count.min(1) };
        if count > 0 {
            ranges.push(file.range(index, count, true));
        }
        index += count.max(1);
    }
    if ranges.is_empty() {
        return;
    }
    if backwards {
        ranges.reverse();
    }
    let kept: Vec<Line> = (0..)
        .zip(&file.lines)
        .filter(|(index, _)| !is_chosen(*index))
        .map(|(_, line)| line.clone())
        .collect();
    let Ok(resolution) = resolve::delete(file.scanned(), Some(&tag(&file.bytes)), &ranges);
    file.expect(resolution, "", &model::join(&kept));
}

/// Tries several patches that may be anything: their order makes no difference.
fn anything(file: &File, texts: [String; 4], numbers: [usize; 4], [strict, all, hashed]: [bool; 3]) {
    let [old, new, other_old, other_new] = texts;
    let ranged = |start: usize, length: usize| GuardedRange {
        start: start as i64 - 1,
        end: (length > 0).then(|| (start + length) as i64 - 3),
        range_hash: hashed.then(|| tag(file.bytes.as_slice())),
    };
    let by_text = |old: &str, new: &str| Patch {
        old_string: Some(old.to_owned()),
        new_string: new.to_owned(),
        ranges: vec![],
        replace_all: all,
    };
    let patches = [
        by_text(&old, &new),
        by_text(&other_old, &other_new),
        Patch {
            old_string: (!hashed).then_some(other_old),
            new_string: other_new,
            ranges: vec![ranged(numbers[0], numbers[1] % 4), ranged(numbers[2], numbers[3] % 4)],
            replace_all: false,
        },
    ];
    for some in [&patches[..1], &patches[..2], &patches[1..], &patches[..]] {
        let reversed: Vec<Patch> = some.iter().rev().cloned().collect();
        match (file.patch(some, strict), file.patch(&reversed, strict)) {
            (Ok(plan), Ok(other)) => {
                assert_eq!(plan.splices, other.splices);
                file.check_plan(&plan);
            }
            (Err(one), Err(other)) => {
                check_rejections(&one);
                assert_eq!(one.len(), other.len(), "{one:?} {other:?}");
            }
            (one, other) => panic!("the order matters: {one:?} {other:?}"),
        }
    }
}

fn scan(bytes: &[u8], label: Option<Encoding>) -> Scan {
    let mut scanner = Scanner::new(label);
    scanner.feed(bytes);
    scanner.finish()
}

fn bounds(range: &Range<u64>) -> Range<usize> {
    let place = |at: u64| usize::try_from(at).expect("a place in memory");
    place(range.start)..place(range.end)
}

/// Returns the new bytes.
fn apply(old: &[u8], set: &SpliceSet) -> Vec<u8> {
    let new = Spliced::new(old, set);
    let Ok(bytes) = read_range(&new, 0..new.size());
    bytes
}
