//! Makes the diff of two states of a file. Reads the states only where they differ, and bounds the size of
//! the diff.

use std::ops::Range;

use crate::diff::long_lines::{self, DiffLine, LONGEST_LINE, tell_apart};
use crate::diff::unified::{DiffFile, LineChange, position, quoted, unified};
use crate::line::{LineNumber, LineRange};
use crate::lines::Cursor;
use crate::regions::Region;
use crate::scan::{Scan, Scanned};
use crate::source::Source;

/// The maximum bytes of the diff, which is cut at a line's end.
const MAX_BYTES: usize = 40_000;
/// Changes of more lines than this are counted, not shown: comparing them takes long, and only the beginning
/// of their diff would fit.
const MAX_LINES: u64 = 50_000;
/// Changes of more bytes than this are counted, not shown, because they are held in memory. These are the
/// bytes of both sides together, but of each line only as many as are shown.
const MAX_COMPARED: u64 = 16 * 1024 * 1024;

/// Returns a unified diff of two states of a file that differ in `regions`, as [`crate::regions::regions`]
/// finds them. `paths` are the names in its header. Empty if no line differs.
///
/// The diff has at most 40 000 bytes. A longer one is cut at a line's end, and
/// [`more_lines`](super::more_lines) is added to it. At most 4096 bytes of a line are shown; lines that
/// differ only after these are shown from where they differ. Changes of more than 50 000 lines, or of more
/// than 16 MiB, are only counted: the diff then has only headers. Reads both files where they differ, and
/// around there. Both must decode. Fails only if either source does.
pub fn between<O, N>(
    old: Scanned<'_, O>,
    new: Scanned<'_, N>,
    regions: &[Region],
    paths: [&str; 2],
) -> Result<String, O::Error>
where
    O: Source + ?Sized,
    N: Source<Error = O::Error> + ?Sized,
{
    let lines: u64 = regions.iter().map(|region| region.replaced.count() + region.lines.count()).sum();
    if lines > MAX_LINES {
        return Ok(summary(paths, regions));
    }
    // One cursor for each file, so that it is read once, however many regions there are.
    let (mut of_old, mut of_new) = (old.cursor(), new.cursor());
    let places = regions
        .iter()
        .map(|region| Ok((bytes_of(&mut of_old, region.replaced)?, bytes_of(&mut of_new, region.lines)?)));
    let places = places.collect::<Result<Vec<_>, O::Error>>()?;
    let compared = regions.iter().zip(&places).map(|(region, (in_old, in_new))| {
        at_most(region.replaced, in_old).saturating_add(at_most(region.lines, in_new))
    });
    if compared.fold(0, u64::saturating_add) > MAX_COMPARED {
        return Ok(summary(paths, regions));
    }
    let changes = regions.iter().zip(places).map(|(region, (in_old, in_new))| {
        let start = region.replaced.start();
        let mut of_old = long_lines::SideLines {
            source: old.source,
            encoding: old.scan.encoding,
            lines: text(old, region.replaced, in_old)?,
        };
        let mut of_new = long_lines::SideLines {
            source: new.source,
            encoding: new.scan.encoding,
            lines: text(new, region.lines, in_new)?,
        };
        tell_apart(&mut of_old, &mut of_new)?;
        Ok(LineChange { start, old: texts(of_old.lines), new: texts(of_new.lines) })
    });
    let changes = changes.collect::<Result<Vec<LineChange>, O::Error>>()?;
    let [of_old, of_new] = paths;
    let side = |path, scan: &Scan| DiffFile { path, unterminated: scan.lines.is_unterminated() };
    let context = |lines| text(old, lines, old.bytes_of(lines)?).map(texts);
    unified(
        side(of_old, old.scan),
        side(of_new, new.scan),
        old.scan.lines.count(),
        &changes,
        MAX_BYTES,
        context,
    )
}

/// Makes a diff that has only headers.
fn summary([old, new]: [&str; 2], regions: &[Region]) -> String {
    let place = |lines: LineRange| position(lines.start().index()..lines.end());
    let mut text = format!("--- {}\n+++ {}\n", quoted(old), quoted(new));
    for region in regions.iter().take(MAX_BYTES / 100) {
        let header = format!("@@ -{} +{} @@\n", place(region.replaced), place(region.lines));
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

/// Returns an upper bound for the number of bytes of some lines that are compared.
fn at_most(lines: LineRange, bytes: &Range<u64>) -> u64 {
    (bytes.end - bytes.start).min(lines.count().saturating_mul(LONGEST_LINE as u64))
}

/// Reads the text of some lines, whose bytes are known.
fn text<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    lines: LineRange,
    bytes: Range<u64>,
) -> Result<Vec<DiffLine>, S::Error> {
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    // There are as many lists as regions, and most lists have one line, so none has spare capacity.
    let count = usize::try_from(lines.count().min(MAX_LINES)).unwrap_or_default();
    let mut found = Vec::with_capacity(count);
    file.for_each_line(lines.start(), bytes, LONGEST_LINE, |line| {
        let encoding = file.scan.encoding;
        let valid = |fault: usize| encoding.decode(line.text.get(..fault).unwrap_or_default()).ok();
        let text = encoding.decode(line.text).or_else(|fault| valid(fault.offset).ok_or(fault));
        let mut text = text.unwrap_or_default().into_owned();
        let cut = (!line.is_whole()).then(|| line.start..line.start + line.length);
        if cut.is_some() {
            text.push('…');
        }
        found.push(DiffLine { text, cut });
        true
    })?;
    Ok(found)
}

fn texts(lines: Vec<DiffLine>) -> Vec<String> {
    let mut texts: Vec<String> = lines.into_iter().map(|line| line.text).collect();
    // `collect` makes the list in place, in the memory of the list of larger items.
    texts.shrink_to_fit();
    texts
}
