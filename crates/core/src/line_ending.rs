//! Defines where a line ends: the terminators, and their counts in a file.
//!
//! The one definition of a line: a line ends at LF or CRLF, or, in a file that has CR and no LF at all
//! (classic Mac), at CR. Nothing else ends a line, not even U+0085, U+2028 or U+2029. A terminator at the end
//! of the file opens no further line.

use crate::encoding::CodeUnit;

/// The terminator of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LineEnding {
    /// U+000A.
    Lf,
    /// U+000D U+000A.
    CrLf,
    /// U+000D; a terminator only in a file that has no U+000A.
    Cr,
}

impl LineEnding {
    /// Returns the terminator as text, of one or two characters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

/// The character at which all lines of a file end. One edit can change it, and with it the number of every
/// line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Convention {
    /// Lines end at LF or CRLF; a lone CR is text.
    Lf,
    /// Lines end at CR: the file has CR and no LF (classic Mac).
    Cr,
}

/// The number of lines of a file with each terminator. A last line without one is not counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct Census {
    /// The number of lines that end at LF without a CR before it.
    pub lf: u64,
    /// The number of lines that end at CRLF.
    pub crlf: u64,
    /// The number of lines that end at CR; 0 unless the file is a classic Mac file.
    pub cr: u64,
}

impl Census {
    /// Returns one word for the terminators: `lf`, `crlf`, `cr`, `mixed`, or `none` if no line has a
    /// terminator.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match (self.lf > 0, self.crlf > 0, self.cr > 0) {
            (true, false, false) => "lf",
            (false, true, false) => "crlf",
            (false, false, true) => "cr",
            (false, false, false) => "none",
            _ => "mixed",
        }
    }
}

pub(crate) const LF: u32 = 0x0A;
pub(crate) const CR: u32 = 0x0D;

/// Returns the width of a code unit in bytes.
pub(crate) fn width(unit: CodeUnit) -> usize {
    match unit {
        CodeUnit::Byte => 1,
        CodeUnit::Two { .. } => 2,
        CodeUnit::Four { .. } => 4,
    }
}

/// Returns the value of the code unit in `bytes`, whose length is the width of the unit.
pub(crate) fn unit_value(unit: CodeUnit, bytes: &[u8]) -> u32 {
    let fold = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
    match unit {
        CodeUnit::Byte | CodeUnit::Two { big_endian: true } | CodeUnit::Four { big_endian: true } => {
            bytes.iter().fold(0, fold)
        }
        CodeUnit::Two { big_endian: false } | CodeUnit::Four { big_endian: false } => {
            bytes.iter().rev().fold(0, fold)
        }
    }
}

/// Returns the index at which the first unit of `value` (LF or CR) begins in `bytes`, which begin at a unit.
pub(crate) fn find_unit(unit: CodeUnit, value: u8, bytes: &[u8]) -> Option<usize> {
    let width = width(unit);
    if width == 1 {
        return memchr::memchr(value, bytes);
    }
    memchr::memchr_iter(value, bytes).map(|at| at - at % width).find(|&at| {
        bytes.get(at..at + width).is_some_and(|bytes| unit_value(unit, bytes) == u32::from(value))
    })
}

/// Tells whether `bytes`, which are whole units, end with the unit `value`.
pub(crate) fn ends_with_unit(unit: CodeUnit, value: u32, bytes: &[u8]) -> bool {
    bytes
        .len()
        .checked_sub(width(unit))
        .and_then(|at| bytes.get(at..))
        .is_some_and(|last| unit_value(unit, last) == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_tells_which_terminators_there_are() {
        for (lf, crlf, cr, word) in [
            (0, 0, 0, "none"),
            (2, 0, 0, "lf"),
            (0, 2, 0, "crlf"),
            (0, 0, 2, "cr"),
            (1, 2, 0, "mixed"),
            (0, 1, 1, "mixed"),
        ] {
            assert_eq!(Census { lf, crlf, cr }.name(), word);
        }
    }
}
