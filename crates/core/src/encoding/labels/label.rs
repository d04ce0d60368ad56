//! Finds the encoding for a client's label, or suggests a label for an unknown one.

use super::table::{LabelRow, ROWS, WITH_BOM, WORDS};
use crate::encoding::kind::Encoding;

/// The meaning of a client's label for an encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Label {
    /// The encoding.
    pub encoding: Encoding,
    /// Whether a new file with this label starts with a byte order mark. It does only with `utf-16` and
    /// `utf-32`, which are little-endian, and with `utf-8-sig`.
    pub writes_bom: bool,
}

/// The maximum length of a folded word. Every label is shorter, even with one extra letter.
pub(super) const LONGEST: usize = 24;

impl Label {
    /// Returns the meaning of `text`, a label of the WHATWG Encoding Standard or the name or alias of a
    /// Python codec. Letter case, `-`, `_`, `.`, `:` and white space are ignored. `None` for anything else,
    /// including the labels `replacement` and `x-user-defined`. If the two lists disagree about a name, the
    /// standard's meaning applies, except that ISO-8859-1 and ASCII mean themselves and not windows-1252.
    ///
    /// ```
    /// use mcp_text_editor_core::encoding::{Encoding, Label};
    ///
    /// let label = Label::parse("Shift-JIS").unwrap();
    /// assert_eq!(label, Label::parse("cp932").unwrap());
    /// assert_eq!(label.encoding.name(), "shift_jis");
    /// assert_eq!(label.encoding.encode("日本")?, b"\x93\xFA\x96\x7B");
    /// assert!(label.encoding.encode("é").is_err()); // never written as something else
    ///
    /// assert_eq!(Label::parse("latin-1").unwrap().encoding, Encoding::Latin1);
    /// assert!(Label::parse("utf-16").unwrap().writes_bom);
    /// assert_eq!(Label::parse("uft-8"), None);
    /// assert_eq!(Label::suggestion("uft-8"), Some("utf-8"));
    /// # Ok::<(), mcp_text_editor_core::encoding::Unencodable>(())
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let folded = fold(text)?;
        let find = |rows: &[LabelRow], writes_bom| {
            let LabelRow(_, encoding, _) =
                rows.iter().find(|row| row.labels().any(|label| label == folded))?;
            Some(Self { encoding: *encoding, writes_bom })
        };
        find(WITH_BOM, true).or_else(|| find(ROWS, false))
    }

    /// Suggests a label for an unknown one: a label that is one typing error away (an extra, missing or wrong
    /// letter, or two swapped neighbours), or a label for which people use the unknown word. `None` if there
    /// is no such label. A digit never counts as a typing error, because `cp850` is not `cp950`.
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
        rows.find(|row| row.labels().any(near)).map(|LabelRow(name, ..)| *name)
    }
}

/// Folds a word to lower case without punctuation; `None` if it cannot be a label.
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

/// Tells whether two words are one typing error apart: an extra, missing or wrong letter, or two swapped
/// neighbours.
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
