//! Measures the length of a text as the program that receives the text does, which limits it. Programs count
//! bytes or UTF-16 units, some of them after the text is escaped for JSON.

/// The unit in which text is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LengthUnit {
    /// Bytes of UTF-8.
    Utf8,
    /// Units of UTF-16, as JavaScript counts characters: an emoji is two.
    Utf16,
}

/// The way in which a text is measured: as the sum of its characters' weights, which are at least 1 each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measure {
    /// The unit that is counted.
    pub unit: LengthUnit,
    /// The number of times that the text is escaped for a JSON string (RFC 8259 §7) before it is counted.
    /// With 0, 1, 2, 3 … escapes, a line end has 1, 2, 3, 5 … characters, and a quotation mark 1, 2, 4, 8 ….
    /// More than 16 escapes count as 16.
    pub escapes: u8,
}

impl Measure {
    /// Counts the bytes of UTF-8 of the text as it is.
    pub const BYTES: Self = Self { unit: LengthUnit::Utf8, escapes: 0 };

    /// Returns the measure for an inner text that becomes a JSON string in an outer text, which `self`
    /// measures.
    #[must_use]
    pub const fn inside_json(self) -> Self {
        Self { escapes: self.escapes.saturating_add(1), ..self }
    }

    /// Returns the weight of one character, in units.
    #[must_use]
    pub fn of_char(self, character: char) -> usize {
        // Without the bound of 16, the shift below could overflow. Real texts are escaped a few times at
        // most.
        let levels = u32::from(self.escapes.min(16));
        let backslashes = levels.checked_sub(1).map(|inner| 1_usize << inner);
        match (character, backslashes) {
            ('"' | '\\', Some(half)) => 2 * half,
            ('\n' | '\t' | '\r' | '\u{8}' | '\u{c}', Some(backslashes)) => backslashes + 1,
            ('\0'..='\u{1f}', Some(backslashes)) => backslashes + "u0000".len(),
            _ => match self.unit {
                LengthUnit::Utf8 => character.len_utf8(),
                LengthUnit::Utf16 => character.len_utf16(),
            },
        }
    }

    /// Returns the weight of a text, in units; 0 for an empty one. The quotation marks of a JSON
    /// string around the text are not counted.
    #[must_use]
    pub fn of(self, text: &str) -> usize {
        if self == Self::BYTES { text.len() } else { text.chars().map(|each| self.of_char(each)).sum() }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        for character in text.chars() {
            match character {
                '"' | '\\' => out.extend(['\\', character]),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\0'..='\u{1f}' => _ = write!(out, "\\u{:04x}", u32::from(character)),
                _ => out.push(character),
            }
        }
        out
    }

    #[test]
    fn a_measure_is_the_length_of_the_text_as_it_is_spelled() {
        for text in ["", "plain", "\"\\", "\n\t\r\u{8}\u{c}", "\u{1}\u{1f}\u{7f}", "é漢😀", "a\"\n\u{2}😀\\"]
        {
            let mut spelled = text.to_owned();
            let mut utf8 = Measure::BYTES;
            for escapes in 0..4 {
                assert_eq!(utf8, Measure { unit: LengthUnit::Utf8, escapes });
                let utf16 = Measure { unit: LengthUnit::Utf16, escapes };
                assert_eq!(utf8.of(text), spelled.len(), "{text:?} escaped {escapes} times");
                assert_eq!(
                    utf16.of(text),
                    spelled.encode_utf16().count(),
                    "{text:?} escaped {escapes} times"
                );
                (spelled, utf8) = (escaped(&spelled), utf8.inside_json());
            }
        }
    }
}
