//! From a client's word to an encoding, or to the word that was perhaps meant.

use super::table::{ROWS, Row, WITH_BOM, WORDS};
use crate::encoding::kind::Encoding;

/// What a client's word for an encoding means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Label {
    /// The encoding.
    pub encoding: Encoding,
    /// Whether a file that is created by this label starts with a byte order mark: `utf-16` and `utf-32`, which are
    /// little-endian then, and `utf-8-sig`.
    pub writes_bom: bool,
}

/// No folded label is longer; what is longer is not looked at.
pub(super) const LONGEST: usize = 24;

impl Label {
    /// What `text` means: a WHATWG label or a Python codec name or alias. Case does not count, nor do `-`, `_`, `.`, `:`
    /// and white space. `None` for anything else, among it the labels `replacement` and `x-user-defined`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let folded = fold(text)?;
        let find = |rows: &[Row], writes_bom| {
            let Row(_, encoding, _) = rows.iter().find(|row| row.labels().any(|label| label == folded))?;
            Some(Self { encoding: *encoding, writes_bom })
        };
        find(WITH_BOM, true).or_else(|| find(ROWS, false))
    }

    /// The label that was perhaps meant by one that is not known: one slip of the pen away, or another word for it. A
    /// digit is never taken for a slip, because `cp850` is not `cp950`.
    #[must_use]
    pub fn suggestion(text: &str) -> Option<&'static str> {
        let folded = fold(text)?;
        if let Some((_, meant)) = WORDS.iter().find(|(word, _)| *word == folded) {
            return Some(meant);
        }
        let windows = folded.strip_prefix("win").map(|number| format!("windows{number}"));
        let near = |label: &str| {
            windows.as_deref() == Some(label)
                || (folded.len() >= 3 && label.len() >= 3 && slip(label, &folded))
        };
        let mut rows = ROWS.iter().chain(WITH_BOM);
        rows.find(|row| row.labels().any(near)).map(|Row(name, ..)| *name)
    }
}

/// Lower case, without punctuation; `None` where that cannot be a label.
pub(super) fn fold(text: &str) -> Option<String> {
    let mut folded = String::new();
    for character in text.chars() {
        match character {
            '-' | '_' | '.' | ':' => {}
            _ if character.is_ascii_whitespace() => {}
            _ if character.is_ascii_alphanumeric() && folded.len() < LONGEST => {
                folded.push(character.to_ascii_lowercase());
            }
            _ => return None,
        }
    }
    Some(folded)
}

/// Whether two words are equal but for one letter more, less or other, or two neighbours that changed places.
fn slip(a: &str, b: &str) -> bool {
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).collect::<Vec<_>>();
    if digits(a) != digits(b) {
        return false;
    }
    let common = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let start = common(a, b);
    let (mut a, mut b) = (a.get(start..).unwrap_or_default(), b.get(start..).unwrap_or_default());
    while let (Some((x, rest_of_a)), Some((y, rest_of_b))) = (a.split_last(), b.split_last())
        && x == y
    {
        (a, b) = (rest_of_a, rest_of_b);
    }
    match (a, b) {
        ([_, _], [_, _]) => a.iter().eq(b.iter().rev()),
        _ => a.len() <= 1 && b.len() <= 1,
    }
}
