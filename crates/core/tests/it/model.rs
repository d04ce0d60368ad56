//! docs/contract.md, told naively: a file is a vector of lines, an edit makes another vector.

/// A line's text and its terminator, which a last line may lack.
pub(crate) type Line = (String, &'static str);

/// Returns the lines of a text, by the contract's one definition.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let classic_mac = !text.contains('\n') && text.contains('\r');
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (line, ending) = match rest.find(if classic_mac { '\r' } else { '\n' }) {
            Some(at) if classic_mac => (&rest[..at], "\r"),
            Some(at) if rest[..at].ends_with('\r') => (&rest[..at - 1], "\r\n"),
            Some(at) => (&rest[..at], "\n"),
            None => (rest, ""),
        };
        lines.push((line.to_owned(), ending));
        rest = &rest[line.len() + ending.len()..];
    }
    lines
}

pub(crate) fn join(lines: &[Line]) -> String {
    lines.iter().flat_map(|(text, ending)| [text.as_str(), ending]).collect()
}

/// Returns the terminator for the `index`-th of the lines that replace `lines[at..at + count]`.
fn ending(lines: &[Line], at: usize, count: usize, index: usize) -> &'static str {
    let own = lines[at..at + count].get(index.min(count.max(1) - 1)).map_or("", |line| line.1);
    let place = at + index.min(count);
    let above =
        lines[..place.min(lines.len())].iter().rev().map(|line| line.1).find(|ending| !ending.is_empty());
    let below =
        lines[(at + count).min(lines.len())..].iter().map(|line| line.1).find(|ending| !ending.is_empty());
    if own.is_empty() { above.or(below).unwrap_or("\n") } else { own }
}

/// Replaces whole lines; `old_ends` says whether an `old_string` was given and ended in a line end.
pub(crate) fn replace_lines(
    lines: &[Line],
    at: usize,
    count: usize,
    new: &str,
    old_ends: Option<bool>,
) -> Vec<Line> {
    let mut texts: Vec<&str> = new.split('\n').collect();
    let new_ends = texts.last() == Some(&"");
    if new_ends {
        texts.pop();
    }
    let unterminated = at + count == lines.len() && count > 0 && lines[at + count - 1].1.is_empty();
    let stays_without = unterminated
        && if old_ends == Some(true) && new_ends { texts.last() != Some(&"") } else { !new_ends };
    let mut replaced: Vec<Line> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| ((*text).to_owned(), ending(lines, at, count, index)))
        .collect();
    if let Some(last) = replaced.last_mut().filter(|_| stays_without) {
        last.1 = "";
    }
    [&lines[..at], &replaced, &lines[at + count..]].concat()
}

/// Inserts lines after the first `above` ones.
pub(crate) fn insert_lines(lines: &[Line], above: usize, new: &str) -> Vec<Line> {
    let mut lines = lines.to_vec();
    let ending = ending(&lines, above, 0, 0);
    if above == lines.len()
        && let Some(last) = lines.last_mut().filter(|last| last.1.is_empty())
    {
        last.1 = ending;
    }
    let new = new.strip_suffix('\n').unwrap_or(new).split('\n').map(|text| (text.to_owned(), ending));
    lines.splice(above..above, new);
    lines
}

/// Lines that one part of a rearrangement puts somewhere, or removes.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// So many lines of the file from this index on, and whether they are removed there.
    Own(usize, usize, bool),
    New(String),
}

/// Moves, copies, removes and adds lines; each part has the number of lines above its place.
pub(crate) fn rearrange(lines: &[Line], parts: &[(Block, Option<usize>)]) -> Vec<Line> {
    let is_removed = |index: usize| {
        let is_in = |block: &Block| matches!(block, Block::Own(at, count, true) if (*at..at + count).contains(&index));
        parts.iter().any(|(block, _)| is_in(block))
    };
    let (mut out, mut is_put_last) = (Vec::<Line>::new(), false);
    for above in 0..=lines.len() {
        let end = ending(lines, above, 0, 0);
        for (block, _) in parts.iter().filter(|(_, to)| *to == Some(above)) {
            let block = match block {
                Block::Own(at, count, _) => lines[*at..at + count].to_vec(),
                Block::New(text) => {
                    insert_lines(&[], 0, text).into_iter().map(|line| (line.0, end)).collect()
                }
            };
            is_put_last = above == lines.len();
            let ended = |line: Line| if line.1.is_empty() { (line.0, end) } else { line };
            out = out.into_iter().chain(block).map(ended).collect();
        }
        out.extend(lines.get(above).filter(|_| !is_removed(above)).cloned());
    }
    if is_put_last && lines.last().is_some_and(|line| line.1.is_empty()) {
        out.last_mut().unwrap().1 = "";
    }
    out
}

/// Returns text with `\n` for every line end, and for each of its bytes the offset in the file where it
/// begins.
pub(crate) fn flat(lines: &[Line]) -> (String, Vec<usize>) {
    let (mut text, mut offsets, mut offset) = (String::new(), Vec::new(), 0);
    for (line, ending) in lines {
        text.push_str(line);
        offsets.extend(offset..offset + line.len());
        offset += line.len();
        text.push('\n');
        offsets.push(offset);
        offset += ending.len();
    }
    offsets.push(offset);
    (text, offsets)
}

/// Finds where `old` stands, overlapping, as byte ranges of the file.
pub(crate) fn occurrences(lines: &[Line], old: &str) -> Vec<(usize, usize)> {
    let (text, offsets) = flat(lines);
    let unterminated = lines.last().is_some_and(|line| line.1.is_empty());
    let all = (0..text.len()).filter(|at| text.is_char_boundary(*at) && text[*at..].starts_with(old));
    // The end of the file is a line end only after other text.
    let real = all.filter(|at| !(unterminated && old == "\n" && at + 1 == text.len()));
    real.map(|at| (offsets[at], offsets[at + old.len()])).collect()
}

/// Replaces a text that stands at one place of the file.
pub(crate) fn replace_text(file: &str, (start, end): (usize, usize), old: &str, new: &str) -> String {
    let all = lines(file);
    let mut starts = vec![0];
    for (text, ending) in &all {
        starts.push(starts[starts.len() - 1] + text.len() + ending.len());
    }
    let first = (0..all.len()).rev().find(|index| starts[*index] <= start).unwrap_or(0);
    let touched = (first..all.len()).take_while(|index| starts[*index] < end.max(start + 1)).count();
    let at_end = old.ends_with('\n') && end == file.len() && all.last().is_some_and(|line| line.1.is_empty());
    let mut new = new.to_owned();
    if at_end && new.ends_with('\n') {
        let body = &new[..new.len() - 1];
        let last_line_is_empty = body.ends_with('\n') || (body.is_empty() && starts[first] == start);
        if !last_line_is_empty {
            new.pop();
        }
    }
    let mut bytes = String::new();
    for (index, line) in new.split_inclusive('\n').enumerate() {
        match line.strip_suffix('\n') {
            Some(line) => {
                bytes.push_str(line);
                bytes.push_str(ending(&all, first, touched, index));
            }
            None => bytes.push_str(line),
        }
    }
    [&file[..start], &bytes, &file[end..]].concat()
}
