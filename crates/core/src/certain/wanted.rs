//! A wanted text, and lines of the file, as they are compared: hashes of pieces in which every slip is undone.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::cause::{collapsed, without_gutter, without_repeats};
use crate::elision::is_elision;
use crate::matching::trim_blanks;

/// A piece with so many letters and digits tells its place; `}` or `else` stand anywhere.
const TELLING: usize = 5;

/// A piece of text between two line ends, be they real or spelled out, without anything that a slip changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Its hash.
    pub(super) hash: u64,
    /// The hash of the line that it is of, as it is written.
    pub(super) exact: u64,
    /// The hash of the blanks at the beginning of that line.
    pub(super) indent: u64,
    /// Whether it has no letter, digit or sign.
    pub(super) is_blank: bool,
    /// Whether it tells a place from others.
    pub(super) is_telling: bool,
}

/// Cuts a line into pieces.
pub(super) fn pieces(line: &str) -> Vec<Piece> {
    let collapsed = collapsed(line);
    // A spelled-out line end at the very end ends the last piece, as a real one does.
    let body = collapsed.strip_suffix('\n').unwrap_or(&collapsed);
    let exact = hash_of(trim_blanks(line));
    let indent = hash_of(line.split(|c| !matches!(c, ' ' | '\t')).next().unwrap_or_default());
    body.split('\n')
        .map(|piece| {
            let is_telling = piece.chars().filter(|c| c.is_alphanumeric()).nth(TELLING - 1).is_some();
            Piece { hash: hash_of(piece), exact, indent, is_blank: piece.is_empty(), is_telling }
        })
        .collect()
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// One way to read the wanted text.
#[derive(Debug)]
pub(super) struct Reading {
    /// Its pieces, those apart that a line such as `...` stands between the ends.
    pub(super) pieces: Vec<Piece>,
    /// How many pieces come before lines that were left out, where a line says that some were.
    pub(super) head: Option<usize>,
    /// How many pieces stand between the ends that are looked for.
    pub(super) between: usize,
}

/// Returns the ways to read a text: as it is, without line numbers in front, without lines that are there twice, and each without
/// the lines that stand for others.
pub(super) fn readings(text: &str) -> Vec<Reading> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let (bare, once) = (without_gutter(text), without_repeats(text));
    let mut out = Vec::new();
    for text in [Some(text), bare.as_deref(), once.as_deref()].into_iter().flatten() {
        let pieces: Vec<_> = text.split('\n').flat_map(pieces).collect();
        if !pieces.iter().any(|piece| piece.is_telling) {
            continue;
        }
        out.push(Reading { pieces, head: None, between: 0 });
        out.extend(elided(text));
    }
    out
}

/// Reads a text in which lines stand for others: its first and its last part. `None` where there is no such line.
fn elided(text: &str) -> Option<Reading> {
    let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
    for line in text.split('\n') {
        if is_elision(line).is_some() {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(line);
        }
    }
    let is_elided = parts.len() > 1;
    // At either end such a line may stand for the rest of the file.
    parts.retain(|part| !part.is_empty());
    if parts.iter().any(|part| part.iter().all(|line| line.trim().is_empty())) {
        return None;
    }
    let mut parts = parts.into_iter().map(|part| part.into_iter().flat_map(pieces).collect::<Vec<_>>());
    let mut all = parts.next().filter(|_| is_elided)?;
    let head = all.len();
    let mut rest: Vec<_> = parts.collect();
    let Some(last) = rest.pop() else { return Some(Reading { pieces: all, head: None, between: 0 }) };
    let between = rest.iter().map(Vec::len).sum();
    all.extend(last);
    Some(Reading { pieces: all, head: Some(head), between })
}
