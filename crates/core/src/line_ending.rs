//! What ends a line, how often each way occurs in a file, and which way new text takes.
//!
//! The one definition of a line: it ends at LF or CRLF; in a file that has CR and no LF at all (classic Mac) it ends at
//! CR; nothing else ends a line. A final terminator opens no further line.

use crate::encoding::Unit;

/// One way to end a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LineEnding {
    /// U+000A.
    Lf,
    /// U+000D U+000A.
    CrLf,
    /// U+000D, in a file that has no U+000A.
    Cr,
}

impl LineEnding {
    /// The terminator as text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

/// Whether lines end at LF (with or without a CR before it) or at CR: a property of the whole file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Convention {
    /// Lines end at LF or CRLF; a lone CR is text.
    Lf,
    /// Classic Mac: there is no LF in the file, and CR ends lines.
    Cr,
}

/// How many lines of a file end which way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Census {
    /// Lines that end at a bare LF.
    pub lf: u64,
    /// Lines that end at CRLF.
    pub crlf: u64,
    /// Lines that end at CR, in a classic Mac file.
    pub cr: u64,
}

impl Census {
    /// The word that replies use: `lf`, `crlf`, `cr`, `mixed`, or `none` where no line is ended.
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

/// The width of a code unit in bytes.
pub(crate) fn width(unit: Unit) -> usize {
    match unit {
        Unit::Byte => 1,
        Unit::Two { .. } => 2,
        Unit::Four { .. } => 4,
    }
}

/// The value of the code unit in `bytes`, which are as many as the unit is wide.
pub(crate) fn unit_value(unit: Unit, bytes: &[u8]) -> u32 {
    let fold = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
    match unit {
        Unit::Byte | Unit::Two { big_endian: true } | Unit::Four { big_endian: true } => {
            bytes.iter().fold(0, fold)
        }
        Unit::Two { big_endian: false } | Unit::Four { big_endian: false } => {
            bytes.iter().rev().fold(0, fold)
        }
    }
}

/// Where the first unit of `value` (LF or CR) begins in `bytes`, which begin at a unit.
pub(crate) fn find_unit(unit: Unit, value: u8, bytes: &[u8]) -> Option<usize> {
    let width = width(unit);
    if width == 1 {
        return memchr::memchr(value, bytes);
    }
    memchr::memchr_iter(value, bytes).map(|at| at - at % width).find(|&at| {
        bytes.get(at..at + width).is_some_and(|bytes| unit_value(unit, bytes) == u32::from(value))
    })
}

/// Whether `bytes`, which are whole units, end with the unit `value`.
pub(crate) fn ends_with_unit(unit: Unit, value: u32, bytes: &[u8]) -> bool {
    bytes
        .len()
        .checked_sub(width(unit))
        .and_then(|at| bytes.get(at..))
        .is_some_and(|last| unit_value(unit, last) == value)
}
