//! The diff of two states of a file, read only where they differ, and of bounded size whatever they hold.

use std::ops::Range;

use crate::diff::long_lines::{self, LONGEST_LINE, Shown, tell_apart};
use crate::diff::unified::{Change, Side, unified};
use crate::line::{LineNumber, LineRange};
use crate::lines::Cursor;
use crate::regions::Region;
use crate::scan::Scan;
use crate::scanned::Scanned;
use crate::source::Source;

/// The diff ends at a line's end before it has more bytes than this.
const MAX_BYTES: usize = 40_000;
/// Changes of more lines than this are counted, not shown: the diff would be cut before it came to their end.
const MAX_LINES: u64 = 50_000;
/// Likewise changes of more bytes than this, on both sides together and as far as they are shown: they are held in memory.
const MAX_COMPARED: u64 = 16 * 1024 * 1024;

/// Compares two states of a file, which differ in `regions`, as a unified diff whose header calls both of them `path`.
///
/// At most 40 000 bytes, cut at a line's end. Of a line at most 4096 bytes are shown. Changes of more than 50 000 lines, or of
/// more than 16 MiB, are only counted: then there are hunk headers and nothing else. Both files are read
/// where they differ and nowhere else; an error is of either.
pub fn between<O, N>(
    old: Scanned<'_, O>,
    new: Scanned<'_, N>,
    regions: &[Region],
    path: &str,
) -> Result<String, O::Error>
where
    O: Source + ?Sized,
    N: Source<Error = O::Error> + ?Sized,
{
    let lines: u64 = regions.iter().map(|region| region.replaced.count() + region.lines.count()).sum();
    if lines > MAX_LINES {
        return Ok(summary(path, regions));
    }
    // Read once each, however many regions there are.
    let (mut of_old, mut of_new) = (old.cursor(), new.cursor());
    let places = regions
        .iter()
        .map(|region| Ok((bytes_of(&mut of_old, region.replaced)?, bytes_of(&mut of_new, region.lines)?)));
    let places = places.collect::<Result<Vec<_>, O::Error>>()?;
    let compared = regions.iter().zip(&places).map(|(region, (in_old, in_new))| {
        at_most(region.replaced, in_old).saturating_add(at_most(region.lines, in_new))
    });
    if compared.fold(0, u64::saturating_add) > MAX_COMPARED {
        return Ok(summary(path, regions));
    }
    let changes = regions.iter().zip(places).map(|(region, (in_old, in_new))| {
        let start = region.replaced.start();
        let mut of_old = long_lines::Side {
            source: old.source,
            encoding: old.scan.encoding,
            lines: text(old, region.replaced, in_old)?,
        };
        let mut of_new = long_lines::Side {
            source: new.source,
            encoding: new.scan.encoding,
            lines: text(new, region.lines, in_new)?,
        };
        tell_apart(&mut of_old, &mut of_new)?;
        Ok(Change { start, old: texts(of_old.lines), new: texts(of_new.lines) })
    });
    let changes = changes.collect::<Result<Vec<Change>, O::Error>>()?;
    let side = |scan: &Scan| Side { path, unterminated: scan.lines.is_unterminated() };
    let context = |lines| text(old, lines, old.bytes_of(lines)?).map(texts);
    unified(side(old.scan), side(new.scan), old.scan.lines.count(), &changes, MAX_BYTES, context)
}

/// Hunk headers alone.
fn summary(path: &str, regions: &[Region]) -> String {
    let mut text = format!("--- {path}\n+++ {path}\n");
    for region in regions.iter().take(MAX_BYTES / 100) {
        let (old, new) = (region.replaced, region.lines);
        let header = format!("@@ -{},{} +{},{} @@\n", old.start(), old.count(), new.start(), new.count());
        text.push_str(&header);
    }
    text
}

fn bytes_of<S: Source + ?Sized>(
    cursor: &mut Cursor<'_, S>,
    lines: LineRange,
) -> Result<Range<u64>, S::Error> {
    if lines.is_empty() {
        return Ok(0..0);
    }
    Ok(cursor.offset_of(lines.start())?..cursor.offset_of(LineNumber::from_index(lines.end()))?)
}

/// How many of the bytes of some lines are compared, or more.
fn at_most(lines: LineRange, bytes: &Range<u64>) -> u64 {
    (bytes.end - bytes.start).min(lines.count().saturating_mul(LONGEST_LINE as u64))
}

/// The text of some lines, whose bytes are known.
fn text<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    lines: LineRange,
    bytes: Range<u64>,
) -> Result<Vec<Shown>, S::Error> {
    let mut found = Vec::new();
    if lines.is_empty() {
        return Ok(found);
    }
    file.for_each_line(lines.start(), bytes, LONGEST_LINE, |line| {
        let encoding = file.scan.encoding;
        let valid = |fault: usize| encoding.decode(line.text.get(..fault).unwrap_or_default()).ok();
        let text = encoding.decode(line.text).or_else(|fault| valid(fault.offset).ok_or(fault));
        let mut text = text.unwrap_or_default();
        let cut = (!line.is_whole()).then(|| line.start..line.start + line.length);
        if cut.is_some() {
            text.push('…');
        }
        found.push(Shown { text, cut });
        line.number.get() < lines.end()
    })?;
    Ok(found)
}

fn texts(lines: Vec<Shown>) -> Vec<String> {
    lines.into_iter().map(|line| line.text).collect()
}
