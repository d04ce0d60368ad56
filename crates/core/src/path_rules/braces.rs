//! `{a,b}` in globs, written out: [`alternatives`]. git has no such thing, ripgrep has.

use super::problem::BadNamePattern;
use super::wildmatch::class;

/// The globs that a glob with braces stands for.
pub(super) enum Alternatives {
    Are(Vec<Vec<u8>>),
    /// More bytes would be written than was left to write.
    TooMany,
}

/// Writes out what a glob stands for, each alternative in the order in which it stands there. What is written
/// is taken from `left`, what is written on the way included, so that neither memory nor time depends on how
/// often braces multiply.
pub(super) fn alternatives(glob: &[u8], left: &mut usize) -> Result<Alternatives, BadNamePattern> {
    let mut done = Vec::new();
    let mut pending = vec![glob.to_vec()];
    while let Some(glob) = pending.pop() {
        let Some(group) = Group::first(&glob)? else {
            done.push(glob);
            continue;
        };
        let before = glob.get(..group.start).unwrap_or_default();
        let after = glob.get(group.end..).unwrap_or_default();
        // The last one first: what is pushed last comes out first.
        for branch in group.branches.iter().rev() {
            let branch = glob.get(branch.0..branch.1).unwrap_or_default();
            let Some(rest) = left.checked_sub(before.len() + branch.len() + after.len() + 1) else {
                return Ok(Alternatives::TooMany);
            };
            *left = rest;
            pending.push(joined(&joined(before, branch), after));
        }
    }
    Ok(Alternatives::Are(done))
}

/// Joins both parts. A star at the end of one and a star at the beginning of the other are two of one name,
/// and not `**`.
fn joined(one: &[u8], other: &[u8]) -> Vec<u8> {
    let stars = other.iter().take_while(|byte| **byte == b'*').count();
    let (plain, rest) = (without_stars(one), other.get(stars..).unwrap_or_default());
    if plain.len() < one.len() && rest.len() < other.len() {
        return [plain, b"*", rest].concat();
    }
    [one, other].concat()
}

/// Returns a glob without the stars at its end, save one that stands behind a backslash.
fn without_stars(glob: &[u8]) -> &[u8] {
    let stars = glob.iter().rev().take_while(|byte| **byte == b'*').count();
    let plain = glob.get(..glob.len() - stars).unwrap_or(glob);
    let is_escaped = plain.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
    if is_escaped { glob.get(..=plain.len()).unwrap_or(glob) } else { plain }
}

/// Braces, those within them left as they are.
struct Group {
    start: usize,
    end: usize,
    /// The range of each branch.
    branches: Vec<(usize, usize)>,
}

impl Group {
    /// Finds the first group of a glob. What stands behind it is not checked.
    fn first(glob: &[u8]) -> Result<Option<Self>, BadNamePattern> {
        let mut at = 0;
        let mut depth = 0_usize;
        let mut group = Self { start: 0, end: 0, branches: Vec::new() };
        let mut branch = 0;
        while let Some(byte) = glob.get(at) {
            let here = at;
            at += 1;
            match byte {
                b'\\' => at += 1,
                b'[' => at = class(glob, here, |_| {}).map_or(at, |class| class.end),
                b'{' => {
                    if depth == 0 {
                        (group.start, branch) = (here, at);
                    }
                    depth += 1;
                }
                b',' if depth == 1 => {
                    group.branches.push((branch, here));
                    branch = at;
                }
                b'}' => {
                    depth = depth.checked_sub(1).ok_or(BadNamePattern::NoGroup)?;
                    if depth == 0 {
                        group.branches.push((branch, here));
                        group.end = at;
                        return Ok(Some(group));
                    }
                }
                _ => {}
            }
        }
        if depth > 0 { Err(BadNamePattern::OpenGroup) } else { Ok(None) }
    }
}
