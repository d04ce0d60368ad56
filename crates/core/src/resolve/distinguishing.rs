//! Finds what distinguishes places with the same text: for each place, a nearby line that the other places do
//! not have there.

use super::common::ends_line;
use crate::line::{LineNumber, LineRange};
use crate::matching::Occurrence;
use crate::rejection::ContextLine;
use crate::scan::Scanned;
use crate::source::Source;

/// The maximum number of places that are distinguished.
const MAX_PLACES: usize = 3;
/// The maximum distance, in lines, of a distinguishing line from its place.
const FARTHEST: u64 = 10;
/// The maximum total of bytes of the lines on one side of a place, to keep the comparison cheap.
const MAX_READ: u64 = 256 * 1024;
/// The maximum number of bytes of a line that are decoded.
const LONGEST_LINE: usize = 1024;
/// The maximum number of characters of a line that are compared and shown.
const SHOWN: usize = 60;

/// Whether the occurrences of `text` at all of these places are whole lines.
pub(super) fn are_whole_lines<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    places: &[Occurrence],
    text: &str,
) -> Result<bool, S::Error> {
    let mut cursor = file.cursor();
    for place in places {
        let (_, start) = cursor.line_at(place.at.start)?;
        if start != place.at.start || !(text.ends_with('\n') || ends_line(file, place.at.end)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns for each place the closest line that no other place has at this distance or closer on the same
/// side, if there is one. At equal distance, a line above is preferred. Lines without letters or digits, and
/// lines of the places, do not count. Returns an empty list for more than three places. The only errors are
/// those of the source.
pub(super) fn distinguishing_lines<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    places: &[LineRange],
) -> Result<Vec<Option<ContextLine>>, S::Error> {
    if places.len() > MAX_PLACES {
        return Ok(Vec::new());
    }
    let sides: Vec<[Vec<ContextLine>; 2]> =
        places.iter().map(|place| sides(file, *place)).collect::<Result<_, _>>()?;
    let tells = |index: usize| {
        let [above, below] = sides.get(index)?;
        let longest = above.len().max(below.len());
        let mut candidates =
            (0..longest).flat_map(|far| [(far, 0, above.get(far)), (far, 1, below.get(far))]);
        candidates.find_map(|(far, side, line)| {
            let line = line.filter(|line| line.text.contains(|c: char| c.is_alphanumeric() || c == '_'))?;
            let is_of_place = places.iter().any(|place| place.contains(LineRange::new(line.line, 1)));
            let others = sides.iter().enumerate().filter(|(other, _)| *other != index);
            let mut as_close =
                others.flat_map(|(_, other)| other.get(side).into_iter().flatten().take(far + 1));
            (!is_of_place && as_close.all(|other| other.text != line.text)).then(|| line.clone())
        })
    };
    Ok((0..places.len()).map(tells).collect())
}

/// Returns the lines above a place and the lines below it, each starting with the closest.
fn sides<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    place: LineRange,
) -> Result<[Vec<ContextLine>; 2], S::Error> {
    let above = place.start().index().min(FARTHEST);
    let first = LineNumber::from_index(place.start().index().saturating_sub(above));
    let mut lines = beginnings(file, LineRange::new(first, above), true)?;
    lines.reverse();
    let below = file.scan.lines.count().saturating_sub(place.end()).min(FARTHEST);
    let below = LineRange::new(LineNumber::from_index(place.end()), below);
    Ok([lines, beginnings(file, below, false)?])
}

/// Returns the beginnings of lines, without blanks around them. Returns nothing if the lines together are too
/// long.
fn beginnings<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    lines: LineRange,
    is_above: bool,
) -> Result<Vec<ContextLine>, S::Error> {
    let bytes = file.bytes_of(lines)?;
    let mut found = Vec::new();
    if bytes.end.saturating_sub(bytes.start) > MAX_READ {
        return Ok(found);
    }
    let encoding = file.scan.encoding;
    file.for_each_line(lines.start(), bytes, LONGEST_LINE, |line| {
        // A long line can have been cut inside a character.
        let text = encoding
            .decode(line.text)
            .or_else(|fault| encoding.decode(line.text.get(..fault.offset).unwrap_or_default()))
            .unwrap_or_default();
        let text = text.trim().chars().take(SHOWN).collect();
        found.push(ContextLine { line: line.number, is_above, text });
        true
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rejection::{MatchKind, Normalization, Rejection};
    use crate::resolve::tests::scan;
    use crate::resolve::{MatchOptions, Patch, patch};

    /// Lists what distinguishes the places of a text, and whether these are whole lines.
    fn told(file: &str, text: &str) -> String {
        let scan = scan(file.as_bytes());
        let patches = [Patch::text(text, "")];
        let rejections = patch(Scanned::new(file.as_bytes(), &scan), None, &patches, MatchOptions::default());
        let Err(rejections) = rejections.unwrap() else { panic!("{text:?} is there once") };
        let [Rejection::AmbiguousMatch { places, .. }] = rejections.as_slice() else {
            panic!("{rejections:?}")
        };
        let is_whole = places.iter().all(|place| place.how == MatchKind::Lines(Normalization::Exact));
        let whole = if is_whole { "lines" } else { "text" };
        let places = places.iter().map(|place| (place.lines, &place.context));
        let places = places.map(|(place, line)| {
            let line = line.as_ref().map_or_else(
                || "-".to_owned(),
                |one| format!("{} {} {:?}", if one.is_above { "below" } else { "above" }, one.line, one.text),
            );
            format!("\n  {place}: {line}")
        });
        format!("{text:?} as {whole}{}\n", places.collect::<String>())
    }

    #[test]
    fn a_line_near_each_place_tells_it_from_the_others() {
        let file = "fn a() {\n    one();\n    two();\n}\n\nfn b() {\n    one();\n    two();\n}\n";
        let third = "fn a() {\n    x();\n}\nfn b() {\n    x();\n}\nfn b() {\n    x();\n    // last\n}\n";
        let apart = "start\n\n{\nx\n}\n\nend\n{\n\nx\n\n}\nend\n";
        let long = format!("{}1\nx\n{}2\nx\n", "y".repeat(70), "y".repeat(70));
        let far = format!("a\n{0}x\nb\n{0}x\n", "same\n".repeat(10));
        let most = usize::try_from(MAX_READ).unwrap();
        let longest = format!("{}\nx\nx\n", "y".repeat(most - 1));
        let too_long = format!("{}\nx\nx\n", "y".repeat(most));
        let rows = [
            (file, "    one();\n    two();\n"),
            (file, "    one();\n    two();"),
            (file, "one();"),
            (file, "two"),
            (third, "    x();\n"),
            (apart, "x"),
            ("x\nx\n", "x"),
            ("x x\n", "x"),
            ("x\nx\nx\nx\n", "x\n"),
            ("a \nx \nb\nx\t\n", "x\n"),
            ("{\nx\n}\n(\nx\n)\n", "x"),
            (&long, "x"),
            (&far, "x"),
            (&longest, "x"),
            (&too_long, "x"),
        ];
        insta::assert_snapshot!(rows.map(|(file, text)| told(file, text)).concat(), @r#"
        "    one();\n    two();\n" as lines
          2-3: below 1 "fn a() {"
          7-8: below 6 "fn b() {"
        "    one();\n    two();" as lines
          2-3: below 1 "fn a() {"
          7-8: below 6 "fn b() {"
        "one();" as text
          2-2: below 1 "fn a() {"
          7-7: below 6 "fn b() {"
        "two" as text
          3-3: below 1 "fn a() {"
          8-8: below 6 "fn b() {"
        "    x();\n" as lines
          2-2: below 1 "fn a() {"
          5-5: -
          8-8: above 9 "// last"
        "x" as lines
          4-4: below 1 "start"
          10-10: below 7 "end"
        "x" as lines
          1-1: -
          2-2: -
        "x" as text
          1-1: -
        "x\n" as lines
          1-1: -
          2-2: -
          3-3: -
          4-4: -
        "x\n" as lines
          2-2: below 1 "a"
          4-4: below 3 "b"
        "x" as lines
          2-2: -
          5-5: -
        "x" as lines
          2-2: above 3 "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
          4-4: -
        "x" as lines
          12-12: above 13 "b"
          24-24: -
        "x" as lines
          2-2: below 1 "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
          3-3: -
        "x" as lines
          2-2: -
          3-3: -
        "#);
    }
}
