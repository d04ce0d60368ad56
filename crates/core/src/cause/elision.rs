//! Lines such as `...` that stand for lines that were left out.

use std::collections::HashSet;

use super::fold::by_line;

/// Tells whether `wanted` has elisions, and the lines between them stand in `actual` in that order, indentation aside.
pub(super) fn has_all_but_the_elided(wanted: &str, actual: &str) -> bool {
    let actual = by_line(actual, |line| line.trim());
    let own: HashSet<&str> = actual.split('\n').filter(|line| is_elision(line).is_some()).collect();
    let whole = format!("\n{actual}\n");
    // Each part is searched for with the line ends before and after it; the last one found is the first of the next part.
    let mut rest = whole.as_str();
    let mut part = String::new();
    let (mut elided, mut parts) = (false, 0);
    for line in wanted.split('\n').map(str::trim).map(Some).chain([None]) {
        match line {
            // If the file has such a line itself, it stands for no others.
            Some(line) if is_elision(line).is_some() && !own.contains(line) => elided = true,
            Some(line) => {
                part.push('\n');
                part.push_str(line);
                continue;
            }
            None => {}
        }
        if !part.trim().is_empty() {
            part.push('\n');
            let Some(at) = rest.find(&part) else { return false };
            rest = rest.get(at + part.len() - 1..).unwrap_or_default();
            parts += 1;
        }
        part.clear();
    }
    elided && parts > 0
}

/// Tells whether a line elides others: `Some(true)` if it could hardly be anything else, having words or brackets around the dots;
/// `Some(false)` for bare dots, which are a statement in some languages; `None` if it does not.
pub(crate) fn is_elision(line: &str) -> Option<bool> {
    const OPENERS: [&str; 9] = ["{/*", "<!--", "//", "/*", "--", "#", ";", "%", "*"];
    const CLOSERS: [&str; 3] = ["*/}", "-->", "*/"];
    const LONGEST: usize = 80;
    let line = line.trim();
    if line.len() > LONGEST {
        return None;
    }
    let mut core = line;
    if let Some(rest) = OPENERS.iter().find_map(|opener| line.strip_prefix(opener)) {
        core = rest.trim_start_matches(['/', '#', ';', '%', '*']).trim();
        core = CLOSERS.iter().find_map(|closer| core.strip_suffix(closer)).unwrap_or(core).trim();
    }
    for (open, close) in [('[', ']'), ('(', ')'), ('<', '>'), ('{', '}')] {
        core = core.strip_prefix(open).and_then(|core| core.strip_suffix(close)).unwrap_or(core).trim();
    }
    let words = core.strip_prefix("...").or_else(|| core.strip_prefix('…'))?;
    match words.trim_matches(['.', '…', ' ']) {
        "" => Some(core != line),
        // `...args` is a piece of a program; `// ... the rest` and `... the rest ...` are not.
        _ if core != line || words.ends_with("...") || words.ends_with('…') => Some(true),
        _ => None,
    }
}

/// Tells whether a text has a line that hardly stands for anything but lines that were left out.
pub(super) fn is_surely_elided(wanted: &str) -> bool {
    let lines: Vec<_> = wanted.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.len() > 1
        && lines.iter().enumerate().any(|(index, line)| match is_elision(line) {
            Some(true) => true,
            // Counts between two lines, unless it is the body of a Python stub.
            Some(false) => {
                let above = index.checked_sub(1).and_then(|above| lines.get(above));
                above.is_some_and(|above| !above.ends_with(':')) && index + 1 < lines.len()
            }
            None => false,
        })
}
