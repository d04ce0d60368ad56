use std::borrow::Cow;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::decode::{Decoded, Decoder};
use super::stream::StreamDecoder;
use super::*;

/// The canonical names.
const NAMES: &str = "utf-8 utf-16le utf-16be utf-32le utf-32be latin1 ascii shift_jis euc-jp iso-2022-jp gbk gb18030 \
    big5 euc-kr windows-1250 windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 \
    windows-1258 windows-874 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i \
    iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh x-mac-cyrillic ibm866";

fn encoding(label: &str) -> Encoding {
    Label::parse(label).unwrap().encoding
}

fn all() -> impl Iterator<Item = Encoding> {
    NAMES.split_whitespace().map(encoding)
}

fn any_encoding() -> impl Strategy<Value = Encoding> {
    prop::sample::select(all().collect::<Vec<_>>())
}

/// Returns the encoded `text`, or the reason why it cannot be encoded.
fn encoded(label: &str, text: &str) -> String {
    match encoding(label).encode(text) {
        Ok(bytes) => {
            assert_eq!(encoding(label).decode(&bytes).as_deref(), Ok(text));
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
        }
        Err(Unencodable { character, index }) => format!("{character:?} at {index}"),
    }
}

/// Returns the decoded `bytes`, or the place that does not decode.
fn decoded(label: &str, bytes: &[u8]) -> String {
    match encoding(label).decode(bytes) {
        Ok(text) => format!("{text:?}"),
        Err(Undecodable { offset }) => format!("fails at {offset}"),
    }
}

fn check<T: ?Sized>(cases: &[(&str, &T)], outcome: impl Fn(&str, &T) -> String) -> String {
    let line = |(label, input): &(&str, &T)| format!("{label}: {}", outcome(label, input));
    cases.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn text_is_encoded_as_it_is_or_not_at_all() {
    let cases = [
        ("utf-8", "aé日😀"),
        ("utf-16", "a😀"),
        ("utf-16-be", "a😀"),
        ("utf-32", "a😀"),
        ("utf-32-be", "a😀"),
        ("latin1", "é\u{81}ÿ"),
        ("latin1", "é€"),
        ("ascii", "a\u{7F}"),
        ("ascii", "naïve"),
        ("windows-1252", "é€"),
        ("shift_jis", "日本ｱ\u{80}"),
        ("shift_jis", "a¥"),
        ("shift_jis", "日‾é"),
        ("shift_jis", "日é"),
        ("shift_jis", "−"),
        ("euc-jp", "日本"),
        ("euc-jp", "¥"),
        ("euc-kr", "한국"),
        ("gbk", "中€"),
        ("gbk", "😀"),
        ("gb18030", "中€😀"),
        ("big5", "中文"),
        ("big5", "Ê\u{304}"),
        ("iso-2022-jp", "a日本\nb"),
        ("iso-2022-jp", "日"),
        ("iso-2022-jp", "¥a"),
        ("iso-2022-jp", "日ｱ"),
        ("iso-2022-jp", "a\u{1b}"),
        ("iso-2022-jp", "日\u{e}"),
    ];
    insta::assert_snapshot!(check(&cases, encoded), @r"
    utf-8: 61 c3 a9 e6 97 a5 f0 9f 98 80
    utf-16: 61 00 3d d8 00 de
    utf-16-be: 00 61 d8 3d de 00
    utf-32: 61 00 00 00 00 f6 01 00
    utf-32-be: 00 00 00 61 00 01 f6 00
    latin1: e9 81 ff
    latin1: '€' at 1
    ascii: 61 7f
    ascii: 'ï' at 2
    windows-1252: e9 80
    shift_jis: 93 fa 96 7b b1 80
    shift_jis: '¥' at 1
    shift_jis: '‾' at 1
    shift_jis: 'é' at 1
    shift_jis: '−' at 0
    euc-jp: c6 fc cb dc
    euc-jp: '¥' at 0
    euc-kr: c7 d1 b1 b9
    gbk: d6 d0 80
    gbk: '😀' at 0
    gb18030: d6 d0 a2 e3 94 39 fc 36
    big5: a4 a4 a4 e5
    big5: 'Ê' at 0
    iso-2022-jp: 61 1b 24 42 46 7c 4b 5c 1b 28 42 0a 62
    iso-2022-jp: 1b 24 42 46 7c 1b 28 42
    iso-2022-jp: 1b 28 4a 5c 61 1b 28 42
    iso-2022-jp: 'ｱ' at 1
    iso-2022-jp: '\u{1b}' at 1
    iso-2022-jp: '\u{e}' at 1
    ");
}

/// Tests each encoding with the character that takes the most bytes there for each byte in UTF-8.
#[test]
fn a_text_is_never_longer_than_the_most_and_may_be_as_long() {
    for (label, longest) in [
        ("utf-8", "a"),
        ("latin1", "a"),
        ("ascii", "a"),
        ("utf-16", "a"),
        ("utf-16-be", "a"),
        ("utf-32", "a"),
        ("utf-32-be", "a"),
        ("gb18030", "ÿ"),
    ] {
        let text = longest.repeat(100);
        let bytes = encoding(label).encode(&text).unwrap();
        // Four more bytes are for an escape sequence, or a byte order mark.
        assert_eq!(encoding(label).max_bytes(text.len()), bytes.len() + 4, "{label}");
    }
    // Escape sequences take more room than the text.
    let text = "日a".repeat(100);
    let bytes = encoding("iso-2022-jp").encode(&text).unwrap();
    assert!(bytes.len() > 2 * text.len() && bytes.len() <= encoding("iso-2022-jp").max_bytes(text.len()));
    assert_eq!(encoding("iso-2022-jp").decode(&bytes), Ok(text.into()));
}

#[test]
fn what_does_not_decode_is_said_where() {
    let cases: &[(&str, &[u8])] = &[
        ("utf-8", b"a\xC3\xA9\xFF"),
        ("utf-8", b"a\xE2\x82"),
        ("utf-8", b"\xED\xA0\x80"),
        ("utf-8", b"\xEF\xBB\xBFa"),
        ("utf-16", b"a\0\x3D\xD8a\0"),
        ("utf-16", b"a\0\0\xDE"),
        ("utf-16", b"a\0\x3D\xD8"),
        ("utf-16", b"a\0b"),
        ("utf-16", b"\xFF\xFEa\0"),
        ("utf-32", b"a\0\0\0\0\0\x11\0"),
        ("utf-32", b"a\0\0\0\0\xD8\0\0"),
        ("utf-32-be", b"\0\0\0a\0\0\0"),
        ("ascii", b"ab\x80"),
        ("shift_jis", b"a\x93"),
        ("shift_jis", b"a\x93\n"),
        ("big5", b"a\x88\x62\x88\xA5\xFF"),
        ("windows-1253", b"a\xAA"),
        ("windows-1252", b"\x80\x81"),
        ("gb18030", b"\x80\x94\x39\xFC\x36\x94\x39"),
        ("iso-2022-jp", b"a\x1B$B\x46"),
        ("iso-2022-jp", b"a\x1B$B\x46\n"),
        ("iso-2022-jp", b"a\x1B$"),
        ("iso-2022-jp", b"a\x1B(B\x1B$B\x46\x7C"),
        ("iso-2022-jp", b"a\xFF"),
        ("iso-2022-jp", b"a\x1B$@\x46\x7C\x1B(I\x31\x1B(J\\"),
    ];
    insta::assert_snapshot!(check(cases, decoded), @r#"
    utf-8: fails at 3
    utf-8: fails at 1
    utf-8: fails at 0
    utf-8: "\u{feff}a"
    utf-16: fails at 2
    utf-16: fails at 2
    utf-16: fails at 2
    utf-16: fails at 2
    utf-16: "\u{feff}a"
    utf-32: fails at 4
    utf-32: fails at 4
    utf-32-be: fails at 4
    ascii: fails at 2
    shift_jis: fails at 1
    shift_jis: fails at 1
    big5: fails at 5
    windows-1253: fails at 1
    windows-1252: "€\u{81}"
    gb18030: fails at 5
    iso-2022-jp: fails at 4
    iso-2022-jp: fails at 4
    iso-2022-jp: fails at 1
    iso-2022-jp: fails at 1
    iso-2022-jp: fails at 1
    iso-2022-jp: "a日ｱ¥"
    "#);
}

#[test]
fn a_byte_order_mark_names_its_encoding() {
    let name = |head: &[u8]| sniff_bom(head).map_or("", Encoding::name);
    assert_eq!(name(b"\xEF\xBB\xBFa"), "utf-8");
    assert_eq!(name(b"\xEF\xBB"), "");
    assert_eq!(name(b"\xFF\xFEa\0"), "utf-16le");
    assert_eq!(name(b"\xFF\xFE"), "utf-16le");
    assert_eq!(name(b"\xFF\xFE\0"), "utf-16le");
    assert_eq!(name(b"\xFF\xFE\0\0"), "utf-32le");
    assert_eq!(name(b"\xFE\xFF\0\0"), "utf-16be");
    assert_eq!(name(b"\0\0\xFE\xFF"), "utf-32be");
    assert_eq!(name(b""), "");
    for encoding in all() {
        assert_eq!(sniff_bom(encoding.bom()).is_some_and(|found| found == encoding), encoding.is_unicode());
        assert_eq!(encoding.is_stateful(), encoding.name() == "iso-2022-jp");
        if encoding.is_unicode() {
            assert_eq!(encoding.encode("\u{FEFF}").as_deref(), Ok(encoding.bom()));
        }
    }
}

#[test]
fn latin1_is_all_bytes() {
    let bytes: Vec<u8> = (0..=255).collect();
    let text: String = (0..=255).map(char::from).collect();
    assert_eq!(Encoding::Latin1.decode(&bytes), Ok(text.as_str().into()));
    assert_eq!(Encoding::Latin1.encode(&text), Ok(bytes));
}

/// For each boundary of a decoded text: the offset at which an edit starts, the offset at which an edit ends,
/// and the seams between which to encode.
type Boundaries = BTreeMap<usize, (Option<u64>, Option<u64>, Option<(Seam, Seam)>)>;

/// Decodes `bytes` in chunks cut at `cuts`; for a boundary between two chunks, both must give the same
/// answer.
fn decode_in_chunks(
    encoding: Encoding,
    base: u64,
    bytes: &[u8],
    cuts: &[usize],
) -> Option<(String, Boundaries)> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(bytes.len());
    let (mut decoder, mut out) = (Decoder::new(encoding, base), Decoded::new());
    let (mut text, mut boundaries) = (String::new(), Boundaries::new());
    let mut start = 0;
    for (index, cut) in cuts.iter().enumerate() {
        let last = index + 1 == cuts.len();
        decoder.feed(&bytes[start..*cut], last, &mut out);
        start = *cut;
        // An empty text says nothing about its boundary, unless the file ends there.
        if !out.text.is_empty() || (last && text.is_empty()) {
            for at in (0..=out.text.len()).filter(|at| out.text.is_char_boundary(*at)) {
                let seams = out.seam_before(at).zip(out.seam_after(at));
                let answer = (out.start_of_edit(at), out.end_of_edit(at), seams);
                let known = boundaries.insert(text.len() + at, answer);
                assert!(known.is_none_or(|known| known == answer), "{known:?} {answer:?}");
            }
            for (at, before, after) in out.seams() {
                assert_eq!((before, after), (out.seam_before(at), out.seam_after(at)), "{at}");
            }
            text.push_str(&out.text);
        }
        assert_eq!((out.start_of_edit(out.text.len() + 1), out.seam_after(out.text.len() + 1)), (None, None));
    }
    (!decoder.failed()).then_some((text, boundaries))
}

/// Finds where edits may start and end, by decoding every prefix.
fn oracle(encoding: Encoding, bytes: &[u8]) -> BTreeMap<usize, (Option<u64>, Option<u64>)> {
    let text = encoding.decode(bytes).unwrap();
    let mut expected: BTreeMap<usize, (Option<u64>, Option<u64>)> =
        text.char_indices().map(|(at, _)| (at, (None, None))).collect();
    expected.insert(text.len(), (None, None));
    for length in 0..=bytes.len() {
        let Ok(prefix) = encoding.decode(&bytes[..length]) else { continue };
        let (start, end) = expected.get_mut(&prefix.len()).unwrap();
        let backslash = [&bytes[..length], b"\\"].concat();
        let backslash = encoding.decode(&backslash);
        let is_ascii = !encoding.is_stateful() || backslash.is_ok_and(|more| more == prefix.clone() + "\\");
        if is_ascii {
            *start = start.or(Some(length as u64));
        }
        if is_ascii || length == bytes.len() {
            *end = Some(length as u64);
        }
    }
    expected
}

/// Bytes that decode: made of sequences, each kept only if the bytes with it still decode.
fn valid_bytes(encoding: Encoding) -> impl Strategy<Value = Vec<u8>> {
    let pair = (0x81..=0xFEu8, 0x30..=0xFEu8).prop_map(|(lead, trail)| vec![lead, trail]);
    let four = (0x81..=0x84u8, 0x30..=0x39u8, 0x81..=0xFEu8, 0x30..=0x39u8)
        .prop_map(|(a, b, c, d)| vec![a, b, c, d]);
    let three = (0xA1..=0xFEu8, 0xA1..=0xFEu8).prop_map(|(a, b)| vec![0x8F, a, b]);
    let seven_bits = (0x21..=0x7Eu8, 0x21..=0x7Eu8).prop_map(|(a, b)| vec![a, b]);
    let given = prop::sample::select(
        [
            &b"a"[..],
            b"\n",
            b"\\",
            b"\x1B(B",
            b"\x1B(J",
            b"\x1B(I",
            b"\x1B$B",
            b"\x1B$@",
            b"\x88\x62",
            b"\x88\xA5",
            b"\x46\x7C",
        ]
        .map(<[u8]>::to_vec)
        .to_vec(),
    );
    let scalar =
        any::<char>().prop_map(move |character| encoding.encode(&character.to_string()).unwrap_or_default());
    let any_bytes = prop::collection::vec(any::<u8>(), 1..5);
    let piece = prop_oneof![2 => pair, 1 => four, 1 => three, 2 => seven_bits, 4 => given, 2 => scalar, 1 => any_bytes];
    prop::collection::vec(piece, 0..24).prop_map(move |pieces| {
        let mut bytes = Vec::new();
        for piece in pieces {
            let length = bytes.len();
            bytes.extend(piece);
            if encoding.decode(&bytes).is_err() {
                bytes.truncate(length);
            }
        }
        bytes
    })
}

/// Bytes that may decode or not: valid bytes, and any bytes after them.
fn some_bytes(encoding: Encoding) -> impl Strategy<Value = Vec<u8>> {
    let tail = prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u8>(), 0..6)];
    (valid_bytes(encoding), tail).prop_map(|(bytes, tail)| [bytes, tail].concat())
}

fn text() -> impl Strategy<Value = String> {
    let known = prop::sample::select("aZ\\~\n é¥‾ä日本ｱア−€中文한Жא\u{304}Ê😀".chars().collect::<Vec<_>>());
    prop::collection::vec(prop_oneof![4 => known, 1 => any::<char>()], 0..12).prop_map(String::from_iter)
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..1000usize, 0..8)
}

proptest! {
    #[test]
    fn what_is_encoded_comes_back(encoding in any_encoding(), text in text()) {
        match encoding.encode(&text) {
            Ok(bytes) => prop_assert_eq!(encoding.decode(&bytes), Ok(text.into())),
            Err(Unencodable { character, index }) => {
                prop_assert_eq!(text.chars().nth(index), Some(character));
                let before: String = text.chars().take(index).collect();
                prop_assert!(encoding.encode(&before).is_ok());
                let alone = encoding.encode(&character.to_string());
                prop_assert_eq!(alone, Err(Unencodable { character, index: 0 }));
            }
        }
    }

    #[test]
    fn validity_does_not_depend_on_chunks(
        (encoding, bytes) in any_encoding().prop_flat_map(|encoding| (Just(encoding), some_bytes(encoding))),
        cuts in cuts(),
    ) {
        let whole = encoding.decode(&bytes);
        let mut validator = Validator::new(encoding);
        let mut at = 0;
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.sort_unstable();
        for cut in cuts.iter().copied().chain([bytes.len()]) {
            validator.feed(&bytes[at..cut]);
            at = cut;
        }
        prop_assert_eq!(validator.finish(), whole.as_ref().err().map(|error| error.offset as u64));
        let in_chunks = decode_in_chunks(encoding, 0, &bytes, &cuts);
        prop_assert_eq!(in_chunks.map(|(text, _)| text), whole.ok().map(Cow::into_owned));
    }

    /// Checks that invalid UTF-8 in chunks is noticed as early as std notices it.
    #[test]
    fn a_chunk_fails_that_no_other_can_complete(
        pieces in prop::collection::vec(prop::sample::select(vec![
            &b"a"[..], b"\n", b"\xC3\xA9", b"\xC3", b"\xE2\x82\xAC", b"\xE2\x82", b"\xE2", b"\xE0\x80", b"\xED\xA0",
            b"\xF0\x9F\x98\x80", b"\xF0\x9F", b"\xF4\x90", b"\x98\x80", b"\x80", b"\xFF",
        ]), 1..8),
    ) {
        let (mut stream, mut bytes, mut text) = (StreamDecoder::new(Encoding::Utf8), Vec::new(), String::new());
        for piece in pieces {
            bytes.extend_from_slice(piece);
            let outcome = stream.feed(piece, false, |piece| text.push_str(piece));
            match std::str::from_utf8(&bytes) {
                Err(error) if error.error_len().is_some() => {
                    prop_assert_eq!(outcome, Err(error.valid_up_to() as u64), "{:?}", bytes);
                    return Ok(());
                }
                outcome_of_std => {
                    let whole = outcome_of_std.map_or_else(|error| error.valid_up_to(), str::len);
                    prop_assert_eq!(outcome, Ok(()), "{:?}", bytes);
                    prop_assert_eq!(text.as_bytes(), &bytes[..whole]);
                }
            }
        }
    }

    #[test]
    fn what_fails_starts_after_what_decodes(
        (encoding, bytes) in any_encoding().prop_flat_map(|encoding| (Just(encoding), some_bytes(encoding))),
    ) {
        if let Err(Undecodable { offset }) = encoding.decode(&bytes) {
            prop_assert!(encoding.decode(&bytes[..offset]).is_ok());
            prop_assert!(offset < bytes.len());
            if !encoding.is_stateful() {
                let longest = (0..=bytes.len()).rev().find(|&length| encoding.decode(&bytes[..length]).is_ok());
                prop_assert_eq!(longest, Some(offset));
            }
        }
    }

    #[test]
    fn positions_are_those_of_prefixes(
        (encoding, bytes) in any_encoding().prop_flat_map(|encoding| (Just(encoding), valid_bytes(encoding))),
        cuts in cuts(),
        base in 0..1_000_000_000_000u64,
    ) {
        let (text, boundaries) = decode_in_chunks(encoding, base, &bytes, &cuts).unwrap();
        prop_assert_eq!(encoding.decode(&bytes), Ok(text.into()));
        let found: BTreeMap<_, _> = boundaries
            .into_iter()
            .map(|(at, (start, end, _))| (at, (start.map(|offset| offset - base), end.map(|offset| offset - base))))
            .collect();
        prop_assert_eq!(found, oracle(encoding, &bytes));
    }

    #[test]
    fn a_splice_is_the_edit_that_was_meant(
        (encoding, bytes) in prop_oneof![any_encoding(), Just(encoding("iso-2022-jp"))]
            .prop_flat_map(|encoding| (Just(encoding), valid_bytes(encoding))),
        cuts in cuts(),
        new in text(),
        (from, to) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let (text, boundaries) = decode_in_chunks(encoding, 0, &bytes, &cuts).unwrap();
        let places: Vec<usize> = boundaries.keys().copied().collect();
        let (from, to) = (*from.get(&places), *to.get(&places));
        let (from, to) = (from.min(to), from.max(to));
        let new: String = new.chars().filter(|c| encoding.encode(&c.to_string()).is_ok()).collect();
        let expected = format!("{}{new}{}", &text[..from], &text[to..]);
        let splice = |start: u64, end: u64, new: &[u8]| {
            [&bytes[..usize::try_from(start).unwrap()], new, &bytes[usize::try_from(end).unwrap()..]].concat()
        };
        let ((start, _, before), (_, end, after)) = (boundaries[&from], boundaries[&to]);
        if let (Some(start), Some(end)) = (start, end) {
            let edited = splice(start, end, &encoding.encode(&new).unwrap());
            let edited = encoding.decode(&edited);
            // Two escape sequences may then touch, which is an error. But the result is never another text.
            prop_assert!(edited == Ok(expected.as_str().into()) || (encoding.is_stateful() && edited.is_err()));
        }
        if let (Some((before, _)), Some((_, after))) = (before, after) {
            let new = encoding.encode_between(&new, before, after).unwrap();
            let spliced = splice(before.offset, after.offset, &new);
            prop_assert_eq!(encoding.decode(&spliced), Ok(expected.into()));
        }
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..200), cuts in cuts()) {
        for encoding in all() {
            prop_assert_eq!(decode_in_chunks(encoding, 7, &bytes, &cuts).is_some(), encoding.decode(&bytes).is_ok());
        }
        let mut guesser = Guesser::new();
        guesser.feed(&bytes);
        if let Some(guess) = guesser.finish() {
            prop_assert!(guess.decode(&bytes).is_ok());
        }
        if let Some(guess) = looks_wide(&bytes) {
            prop_assert!(guess.decode(&bytes[..bytes.len() / 4 * 4]).is_ok() || guess.unit() != Encoding::Utf32Le.unit());
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn every_sequence_of_every_table_stands_where_it_stands() {
    for encoding in all() {
        let Encoding::Legacy(table) = encoding else { continue };
        let (mut bytes, mut expected, mut length) = (Vec::new(), Vec::new(), 0);
        let mut add = |sequence: &[u8]| {
            let Ok(text) = encoding.decode(sequence) else { return };
            let is_one = sequence.len() == 1 || text.chars().count() == 1 || sequence[0] == 0x88;
            if is_one && !sequence.contains(&0x1B) {
                for ascii in [&b""[..], b"a"] {
                    expected.push((length, bytes.len() as u64));
                    length += if ascii.is_empty() { text.len() } else { 1 };
                    bytes.extend_from_slice(if ascii.is_empty() { sequence } else { ascii });
                }
            }
        };
        for first in 0..=255 {
            add(&[first]);
            let seconds = if table.is_single_byte() { 0 } else { 256 };
            for second in (0..=255).take(seconds) {
                add(&[first, second]);
                add(&[0x8F, first, second]);
                add(&[0x81, 0x30 + first % 10, first, 0x30 + second % 10]);
            }
        }
        expected.push((length, bytes.len() as u64));
        let (mut decoder, mut out) = (Decoder::new(encoding, 0), Decoded::new());
        let (mut start, mut answers) = (0, expected.iter().peekable());
        for chunk in bytes.chunks(4099) {
            decoder.feed(chunk, false, &mut out);
            while let Some((at, offset)) = answers.next_if(|(at, _)| at - start <= out.text.len()) {
                if encoding.is_stateful() && at - start == out.text.len() && out.text.is_empty() {
                    continue;
                }
                assert_eq!(out.start_of_edit(at - start), Some(*offset), "{encoding:?} {at}");
                assert_eq!(out.end_of_edit(at - start), Some(*offset), "{encoding:?} {at}");
            }
            start += out.text.len();
        }
        decoder.feed(b"", true, &mut out);
        assert!(!decoder.failed());
        assert_eq!(start + out.text.len(), length);
    }
}

#[test]
fn after_the_end_there_is_nothing() {
    for encoding in all() {
        let (mut decoder, mut out) = (Decoder::new(encoding, 5), Decoded::new());
        decoder.feed(b"", true, &mut out);
        assert_eq!((out.text.as_str(), out.start_of_edit(0), out.end_of_edit(0)), ("", Some(5), Some(5)));
        decoder.feed(b"more", true, &mut out);
        assert!(out.text.is_empty());
    }
}

/// Returns the result of an edit of ISO-2022-JP text: `from` is replaced by `to`, first by the plain
/// positions, then by the seams.
fn edited(bytes: &[u8], from: &str, to: &str) -> String {
    let encoding = encoding("iso-2022-jp");
    let (mut decoder, mut out) = (Decoder::new(encoding, 0), Decoded::new());
    decoder.feed(bytes, true, &mut out);
    let start = out.text.find(from).unwrap();
    let end = start + from.len();
    let splice = |start: u64, end: u64, new: Vec<u8>| {
        [&bytes[..usize::try_from(start).unwrap()], &new, &bytes[usize::try_from(end).unwrap()..]].concat()
    };
    let show = |bytes: Vec<u8>| match encoding.decode(&bytes) {
        Ok(_) => bytes.escape_ascii().to_string(),
        Err(_) => format!("{} (invalid)", bytes.escape_ascii()),
    };
    let plain = out.start_of_edit(start).zip(out.end_of_edit(end));
    let plain = plain.map_or("none".to_owned(), |(a, b)| show(splice(a, b, encoding.encode(to).unwrap())));
    let (before, after) = (out.seam_before(start).unwrap(), out.seam_after(end).unwrap());
    let new = encoding.encode_between(to, before, after).unwrap();
    format!("{plain} | {}\n", show(splice(before.offset, after.offset, new)))
}

#[test]
fn escape_sequences_next_to_an_edit_belong_to_it() {
    let line = encoding("iso-2022-jp").encode("a日本b語\n日\n").unwrap();
    let edits = [
        ("日本", "x"),
        ("日本", "中"),
        ("本", "中"),
        ("b", ""),
        ("b", "国"),
        ("b", "x"),
        ("a日本b語\n", "日\n"),
    ];
    let mut edits: String = edits.iter().map(|(from, to)| edited(&line, from, to)).collect();
    edits += &edited(b"a\x1B$@\x46\x7C", "日", "x");
    edits += &edited(b"a\x1B$@\x46\x7C", "a", "xy");
    edits += &edited(b"\x1B(J\\\n\x1B(B", "\n", "\nz");
    insta::assert_snapshot!(edits, @r"
    axb\x1b$B8l\x1b(B\n\x1b$BF|\x1b(B\n | axb\x1b$B8l\x1b(B\n\x1b$BF|\x1b(B\n
    a\x1b$BCf\x1b(Bb\x1b$B8l\x1b(B\n\x1b$BF|\x1b(B\n | a\x1b$BCf\x1b(Bb\x1b$B8l\x1b(B\n\x1b$BF|\x1b(B\n
    none | a\x1b$BF|Cf\x1b(Bb\x1b$B8l\x1b(B\n\x1b$BF|\x1b(B\n
    a\x1b$BF|K\\\x1b(B\x1b$B8l\x1b(B\n\x1b$BF|\x1b(B\n (invalid) | a\x1b$BF|K\\8l\x1b(B\n\x1b$BF|\x1b(B\n
    a\x1b$BF|K\\\x1b(B\x1b$B9q\x1b(B\x1b$B8l\x1b(B\n\x1b$BF|\x1b(B\n (invalid) | a\x1b$BF|K\\9q8l\x1b(B\n\x1b$BF|\x1b(B\n
    a\x1b$BF|K\\\x1b(Bx\x1b$B8l\x1b(B\n\x1b$BF|\x1b(B\n | a\x1b$BF|K\\\x1b(Bx\x1b$B8l\x1b(B\n\x1b$BF|\x1b(B\n
    \x1b$BF|\x1b(B\n\x1b$BF|\x1b(B\n | \x1b$BF|\x1b(B\n\x1b$BF|\x1b(B\n
    ax | ax
    xy\x1b$@F| | xy\x1b$@F|
    none | \x1b(J\\\x1b(B\nz
    ");
}

fn guess(label: &str, text: &str) -> String {
    let bytes = encoding(label).encode(text).unwrap();
    let guess = |chunk: usize| {
        let mut guesser = Guesser::new();
        bytes.chunks(chunk).for_each(|chunk| guesser.feed(chunk));
        guesser.finish().map_or("?", Encoding::name)
    };
    assert_eq!(guess(1), guess(1 << 20));
    guess(3).to_owned()
}

#[test]
fn a_guess_needs_evidence() {
    let cases = [
        ("shift_jis", "これは日本語の文章です。"),
        ("euc-jp", "これは日本語の文章です。"),
        ("euc-jp", "日本"),
        ("gbk", "这是一个中文句子，用来测试。"),
        ("big5", "這是一個中文句子，用來測試。"),
        ("euc-kr", "이것은 한국어 문장입니다."),
        ("windows-1251", "Это предложение на русском языке."),
        ("koi8-r", "Это предложение на русском языке."),
        ("windows-1252", "Où était-il passé, l’été dernier ? À la forêt, très près, été hiver"),
        ("latin1", "caf\u{e9}"),
        ("utf-8", "Où était-il passé, l’été dernier ?"),
        ("latin1", "\u{81}\u{8d}\u{8f}\u{90}\u{9d}\u{81}\u{8d}\u{8f}\u{90}\u{9d}\u{ff}"),
        ("ascii", "plain"),
        ("ascii", ""),
    ];
    insta::assert_snapshot!(check(&cases, guess), @"
    shift_jis: shift_jis
    euc-jp: euc-jp
    euc-jp: ?
    gbk: gbk
    big5: big5
    euc-kr: euc-kr
    windows-1251: windows-1251
    koi8-r: koi8-u
    windows-1252: windows-1252
    latin1: ?
    utf-8: utf-8
    latin1: ?
    ascii: ?
    ascii: ?
    ");
}

#[test]
fn a_text_that_is_utf_8_but_for_some_bytes_looks_like_nothing_else() {
    let check = |bytes: &[u8]| {
        let all = [1, 3, 1 << 20].map(|chunk| {
            let mut guesser = Guesser::new();
            bytes.chunks(chunk).for_each(|chunk| guesser.feed(chunk));
            let strays = guesser.strays().map(|strays| (strays.count, strays.is_cut));
            (strays, guesser.finish().map(Encoding::name))
        });
        assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
        all[0]
    };
    let umlauts = "# Überschrift – größer\n".repeat(3);
    let with = |text: &str, end: &[u8]| [text.as_bytes(), end].concat();
    assert_eq!(check(&with(&umlauts, b"caf\xe9\nEnde\n")), (Some((1, false)), None));
    assert_eq!(check(&with(&umlauts, b"Gr\xc3\xb6\xc3")), (Some((1, true)), None));
    assert_eq!(check(&with(&"- ✅ done 🚀\n".repeat(5), b"caf\xe9\n")), (Some((1, false)), None));
    // As many valid characters as invalid bytes; the last character is incomplete.
    assert_eq!(check(&with("ééé", b"\xff\xe6\xbc")).0, Some((3, false)));
    assert_eq!(check(&with("éé", b"\xff\xe6\xbc")).0, None);
    assert_eq!(check(&with("a", b"\xe6\xbc")).0, Some((2, true)));
    assert_eq!(check("é".as_bytes()).0, None);
    // With more invalid bytes than characters, the text is not UTF-8.
    assert_eq!(check(&with("é", &b"caf\xe9 ".repeat(9))).0, None);
    // Only many characters of UTF-8 speak against Russian, as some occur by chance. A single one speaks
    // against French.
    let russian = |end: &str| check(&encoding("windows-1251").encode(&("Вёл ".repeat(8) + end)).unwrap()).1;
    assert_eq!([russian("молоко он"), russian("молоко о")], [Some("windows-1251"), None]);
    let french = encoding("windows-1252").encode(&"été à la forêt, ".repeat(5)).unwrap();
    assert_eq!(check(&french), (None, Some("windows-1252")));
    assert_eq!(check(&[french.as_slice(), "é".as_bytes()].concat()), (None, None));
    let russian = encoding("ibm866").encode(&"работа на русском языке ".repeat(5)).unwrap();
    assert_eq!(check(&russian), (None, Some("ibm866")));
}

#[test]
fn a_guesser_that_has_seen_nothing_guesses_nothing() {
    let guesser = Guesser::default();
    assert!(format!("{guesser:?}").starts_with("Guesser { detector: EncodingDetector, "));
    assert_eq!(guesser.finish(), None);
}

#[test]
fn a_table_that_no_label_leads_to_has_the_name_of_the_standard() {
    for table in [encoding_rs::X_USER_DEFINED, encoding_rs::REPLACEMENT] {
        let encoding = Encoding::Legacy(table);
        assert_eq!((encoding.name(), Label::parse(encoding.name())), (table.name(), None));
    }
}

#[test]
fn wide_text_without_a_mark_is_recognised() {
    let looks = |label: &str, text: &str| {
        let bytes = encoding(label).encode(text).unwrap();
        let cut = &bytes[..bytes.len().saturating_sub(1)];
        assert_eq!(looks_wide(&bytes), looks_wide(cut));
        looks_wide(&bytes).map_or("?", Encoding::name).to_owned()
    };
    let prose = "fn main() {\n    println!(\"日本\");\n}\n";
    let cases = [
        ("utf-16-le", prose),
        ("utf-16-be", prose),
        ("utf-32-le", prose),
        ("utf-32-be", prose),
        ("utf-8", prose),
    ];
    assert_eq!(
        check(&cases, looks).replace('-', ""),
        "utf16le: utf16le\nutf16be: utf16be\nutf32le: utf32le\nutf32be: utf32be\nutf8: ?"
    );
    assert_eq!(looks("utf-16-le", "日本\nと中\n国語\n"), "utf-16le");
    for binary in [
        &b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3E\0"[..],
        b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR",
        b"",
        b"\0",
        b"a\0",
        &[0; 64],
        b"a\0b\0\x01\0",
        b"a\0b\0\xFE\xFF",
    ] {
        assert_eq!(looks_wide(binary), None, "{binary:?}");
    }
}
