//! A scan: the same whatever the chunks, and what a naive reading of the same bytes finds.

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::{CodeUnit, Encoding, Validator};
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_core::line_ending::{Convention, LineEnding};
use mcp_text_editor_core::scan::{Scan, Scanner};
use mcp_text_editor_core::scanned::Scanned;

use crate::input::{Input, chunks};

/// Scans the bytes, cut and whole, under any label.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let label = input.label();
    // Long files have several marks; a fuzzer would need ages to make one.
    let times = if input.flag() { 1 + input.below(64) } else { 1 };
    let sizes = input.chunk_sizes();
    let file = input.rest().repeat(times);

    let whole = scan(&file, label);
    let mut scanner = Scanner::without_digest(label);
    for chunk in chunks(&file, sizes) {
        scanner.feed(chunk);
    }
    assert_eq!(scanner.finish_with(whole.digest), whole, "another chunking gives another scan");

    assert_eq!(whole.digest, Digest::of(&file));
    assert_eq!(whole.size, file.len() as u64);
    let start = check_encoding(&file, label, &whole);
    check_validity(&file[start..], start, &whole);
    check_lines(&file, start, &whole);
}

pub(crate) fn scan(bytes: &[u8], label: Option<Encoding>) -> Scan {
    let mut scanner = Scanner::new(label);
    scanner.feed(bytes);
    scanner.finish()
}

/// Checks that the BOM outranks a Unicode label, and no other. Returns the BOM's length.
fn check_encoding(file: &[u8], label: Option<Encoding>, scan: &Scan) -> usize {
    let boms: [(&[u8], Encoding); 5] = [
        (b"\xFF\xFE\0\0", Encoding::Utf32Le),
        (b"\0\0\xFE\xFF", Encoding::Utf32Be),
        (b"\xEF\xBB\xBF", Encoding::Utf8),
        (b"\xFF\xFE", Encoding::Utf16Le),
        (b"\xFE\xFF", Encoding::Utf16Be),
    ];
    let unicode = label.is_none_or(|label| boms.iter().any(|(_, encoding)| *encoding == label));
    let bom = boms.into_iter().find(|(bom, _)| unicode && file.starts_with(bom));
    assert_eq!(scan.bom, bom.is_some());
    assert_eq!(scan.encoding, bom.map(|(_, encoding)| encoding).or(label).unwrap_or(Encoding::Utf8));
    bom.map_or(0, |(bom, _)| bom.len())
}

fn check_validity(text: &[u8], start: usize, scan: &Scan) {
    let at = |offset: usize| (start + offset) as u64;
    let decoded = scan.encoding.decode(text);
    assert_eq!(scan.undecodable, decoded.as_ref().err().map(|fault| at(fault.offset)));
    let mut validator = Validator::new(scan.encoding);
    text.iter().for_each(|byte| validator.feed(&[*byte]));
    assert_eq!(validator.finish().map(|offset| offset + start as u64), scan.undecodable);
    let nul = text.iter().position(|byte| *byte == 0).filter(|_| scan.encoding.unit() == CodeUnit::Byte);
    assert_eq!(scan.nul, nul.map(at));
}

/// Checks the lines of any bytes, told naively: units, then terminators among them.
fn check_lines(file: &[u8], start: usize, scan: &Scan) {
    let (width, big_endian) = match scan.encoding.unit() {
        CodeUnit::Byte => (1, true),
        CodeUnit::Two { big_endian } => (2, big_endian),
        CodeUnit::Four { big_endian } => (4, big_endian),
    };
    let unit = |bytes: &[u8]| {
        let fold = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
        if big_endian { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
    };
    let units: Vec<u32> = file[start..].chunks_exact(width).map(unit).collect();
    let classic_mac = !units.contains(&0x0A) && units.contains(&0x0D);
    let convention = if classic_mac { Convention::Cr } else { Convention::Lf };
    assert_eq!(scan.lines.convention(), convention);
    let terminator = if classic_mac { 0x0D } else { 0x0A };

    // Start, end of the text, end.
    let mut lines = Vec::new();
    let mut from = start;
    for (index, _) in units.iter().enumerate().filter(|(_, unit)| **unit == terminator) {
        let text_end = start + index * width;
        let crlf = !classic_mac && text_end > from && units[index - 1] == 0x0D;
        let ending = match (classic_mac, crlf) {
            (true, _) => LineEnding::Cr,
            (false, true) => LineEnding::CrLf,
            (false, false) => LineEnding::Lf,
        };
        let text_end = if crlf { text_end - width } else { text_end };
        lines.push((from, text_end, Some(ending), start + (index + 1) * width));
        from = start + (index + 1) * width;
    }
    if from < file.len() {
        lines.push((from, file.len(), None, file.len()));
    }

    let (scanned, all) = (Scanned::new(file, scan), &scan.lines);
    assert_eq!(all.count(), lines.len() as u64);
    assert_eq!(all.bytes(), start as u64..file.len() as u64);
    assert_eq!(all.is_unterminated(), lines.last().is_some_and(|line| line.2.is_none()));
    let census = all.census();
    let count = |ending| lines.iter().filter(|line| line.2 == Some(ending)).count() as u64;
    let expected = [LineEnding::Lf, LineEnding::CrLf, LineEnding::Cr].map(count);
    assert_eq!([census.lf, census.crlf, census.cr], expected);

    let mut seen = Vec::new();
    let Ok(()) = scanned.for_each_line(LineNumber::FIRST, all.bytes(), usize::MAX, |line| {
        assert_eq!(line.number.index(), seen.len() as u64);
        assert!(line.is_whole());
        seen.push((
            line.start as usize,
            line.start as usize + line.text.len(),
            line.ending,
            line.end as usize,
        ));
        true
    });
    assert_eq!(seen, lines);

    // The way from a number to its bytes and back, at places spread over the file.
    let step = lines.len() / 16 + 1;
    let mut cursor = scanned.cursor();
    for (index, line) in lines.iter().enumerate().step_by(step) {
        let number = LineNumber::from_index(index as u64);
        let Ok(offset) = scanned.offset_of(number);
        assert_eq!(offset, line.0 as u64);
        let Ok(bytes) = scanned.bytes_of(LineRange::new(number, 1));
        assert_eq!(bytes, line.0 as u64..line.3 as u64);
        for at in [line.0, line.0.midpoint(line.3), line.3 - 1] {
            let Ok(found) = scanned.line_at(at as u64);
            assert_eq!(found, (number, line.0 as u64), "byte {at}");
            let Ok(found) = cursor.line_at(at as u64);
            assert_eq!(found, (number, line.0 as u64), "byte {at} by cursor");
        }
    }
    let Ok(end) = scanned.offset_of(LineNumber::from_index(lines.len() as u64));
    assert_eq!(end, file.len() as u64);
}
