//! Texts with lines such as `...` that stand for lines that were left out.

use std::collections::HashSet;

use super::fold::by_line;
use crate::elision::is_elision;

/// Tells whether `wanted` has elisions, and the lines between them stand in `actual` in that order,
/// indentation aside.
pub(super) fn has_all_but_the_elided(wanted: &str, actual: &str) -> bool {
    let actual = by_line(actual, |line| line.trim());
    let own: HashSet<&str> = actual.split('\n').filter(|line| is_elision(line).is_some()).collect();
    let whole = format!("\n{actual}\n");
    // Each part is searched for with the line ends before and after it. The search for the next part begins
    // at the line end after this one.
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

/// Tells whether a text has a line that almost certainly stands for lines that were left out.
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
