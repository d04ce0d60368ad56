//! Decoding and encoding: the same in any chunks, as a second opinion says, and exact to the byte: text that
//! is put between two characters of a file is there when the new bytes are decoded, and nothing else has
//! changed.

use mcp_text_editor_core::encoding::{Decoded, Decoder, Encoding, Guesser, Seam};

use crate::input::{Input, chunks};

/// Files longer than this are not edited at every pair of places.
const FEW: usize = 24;

/// Decodes the first text as bytes of any encoding, and puts the second one into it.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let encoding = input.encoding();
    let base = input.below(3) as u64 * 1000;
    let sizes = input.chunk_sizes();
    let new_length = input.below(12);
    let all = input.rest();
    let (bytes, new) = all.split_at(all.len() - new_length.min(all.len()));
    let new = String::from_utf8_lossy(new);

    let mut guesser = Guesser::new();
    guesser.feed(bytes);
    let _ = guesser.finish();
    check_encode(encoding, &new);
    check_encode(encoding, &String::from_utf8_lossy(bytes));

    let decoded = encoding.decode(bytes);
    second_opinion(encoding, bytes, decoded.as_deref().ok());
    if let Err(fault) = &decoded {
        // What comes before does decode, or is cut inside a sequence that is whole.
        assert!(fault.offset <= bytes.len());
        if !encoding.is_stateful() {
            assert!(encoding.decode(&bytes[..fault.offset]).is_ok(), "{fault:?}");
        }
    }

    let (whole, failed) = in_chunks(encoding, base, &[bytes]);
    let (cut, cut_failed) = in_chunks(encoding, base, &chunks(bytes, sizes));
    assert_eq!(failed, decoded.is_err());
    assert_eq!(cut_failed, failed);
    let Ok(text) = decoded else { return };
    assert_eq!(joined(&whole), text);
    assert_eq!(joined(&cut), text);
    let whole = &whole[0];
    let mut at = 0;
    for part in &cut {
        for (index, _) in part.text.char_indices() {
            assert_eq!(part.start_of_edit(index), whole.start_of_edit(at + index), "character {at}+{index}");
            assert_eq!(part.seam_before(index), whole.seam_before(at + index), "character {at}+{index}");
        }
        at += part.text.len();
    }
    check_places(encoding, bytes, base, whole, &new);
}

fn in_chunks(encoding: Encoding, base: u64, chunks: &[&[u8]]) -> (Vec<Decoded>, bool) {
    let mut decoder = Decoder::new(encoding, base);
    let mut parts = Vec::new();
    let last = chunks.len().saturating_sub(1);
    for (index, chunk) in chunks.iter().enumerate() {
        let mut out = Decoded::new();
        decoder.feed(chunk, index == last, &mut out);
        parts.push(out);
    }
    if chunks.is_empty() {
        decoder.feed(b"", true, &mut Decoded::new());
    }
    (parts, decoder.failed())
}

fn joined(parts: &[Decoded]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect()
}

/// Compares with what other decoders make of the bytes.
fn second_opinion(encoding: Encoding, bytes: &[u8], text: Option<&str>) {
    let two = |from: fn([u8; 2]) -> u16| {
        let (units, rest) = bytes.as_chunks::<2>();
        let text: Result<String, _> = char::decode_utf16(units.iter().map(|unit| from(*unit))).collect();
        text.ok().filter(|_| rest.is_empty())
    };
    let four = |from: fn([u8; 4]) -> u32| {
        let (units, rest) = bytes.as_chunks::<4>();
        let text: Option<String> = units.iter().map(|unit| char::from_u32(from(*unit))).collect();
        text.filter(|_| rest.is_empty())
    };
    let theirs = match encoding {
        Encoding::Utf8 => std::str::from_utf8(bytes).ok().map(str::to_owned),
        Encoding::Utf16Le => two(u16::from_le_bytes),
        Encoding::Utf16Be => two(u16::from_be_bytes),
        Encoding::Utf32Le => four(u32::from_le_bytes),
        Encoding::Utf32Be => four(u32::from_be_bytes),
        Encoding::Latin1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
        Encoding::Ascii => bytes.is_ascii().then(|| String::from_utf8_lossy(bytes).into_owned()),
        Encoding::Legacy(table) => {
            table.decode_without_bom_handling_and_without_replacement(bytes).map(std::borrow::Cow::into_owned)
        }
    };
    assert_eq!(text, theirs.as_deref());
}

/// Checks that encoded text decodes to itself, or that the character that cannot be encoded is named.
fn check_encode(encoding: Encoding, text: &str) {
    match encoding.encode(text) {
        Ok(bytes) => assert_eq!(encoding.decode(&bytes).as_deref(), Ok(text)),
        Err(fault) => {
            assert!(!encoding.is_unicode());
            assert_eq!(text.chars().nth(fault.index), Some(fault.character));
            let before: String = text.chars().take(fault.index).collect();
            assert!(encoding.encode(&before).is_ok());
        }
    }
}

fn check_places(encoding: Encoding, bytes: &[u8], base: u64, decoded: &Decoded, new: &str) {
    let text = decoded.text.as_str();
    let ends = (0..=text.len()).filter(|index| text.is_char_boundary(*index));
    let places: Vec<usize> = ends.collect();
    let step = places.len() / FEW + 1;
    let mut last = base;
    for &index in &places {
        let (before, after) = (decoded.seam_before(index), decoded.seam_after(index));
        assert_eq!(before.is_some(), after.is_some());
        let (Some(before), Some(after)) = (before, after) else { continue };
        assert!(last <= before.offset && before.offset <= after.offset, "{before:?} {after:?}");
        last = after.offset;
        let edits = [decoded.start_of_edit(index), decoded.end_of_edit(index)];
        for offset in edits.into_iter().flatten() {
            assert!(before.offset <= offset && offset <= after.offset);
        }
        if let [Some(start), Some(end)] = edits {
            assert!(start <= end);
        }
        if !encoding.is_stateful() {
            assert_eq!(edits, [Some(before.offset), Some(after.offset)]);
            let head = &bytes[..usize::try_from(before.offset - base).expect("in memory")];
            assert_eq!(encoding.decode(head).as_deref(), Ok(&text[..index]));
        }
    }
    for &from in places.iter().step_by(step) {
        for &to in places.iter().filter(|to| **to >= from).step_by(step) {
            let (Some(before), Some(after)) = (decoded.seam_before(from), decoded.seam_after(to)) else {
                continue;
            };
            check_edit(encoding, bytes, base, decoded, (from, to), (before, after), new);
        }
    }
}

/// Checks an edit: the new text stands between two characters, and everything else is as it was.
fn check_edit(
    encoding: Encoding,
    bytes: &[u8],
    base: u64,
    decoded: &Decoded,
    (from, to): (usize, usize),
    (before, after): (Seam, Seam),
    new: &str,
) {
    let Ok(insert) = encoding.encode_between(new, before, after) else {
        assert!(encoding.encode(new).is_err());
        return;
    };
    let place = |seam: Seam| usize::try_from(seam.offset - base).expect("in memory");
    let edited = [&bytes[..place(before)], &insert, &bytes[place(after)..]].concat();
    let text = decoded.text.as_str();
    let expected = [&text[..from], new, &text[to..]].concat();
    let got = encoding.decode(&edited);
    assert_eq!(got.as_deref(), Ok(expected.as_str()), "{from}..{to} by {new:?} in {edited:x?}");
}
