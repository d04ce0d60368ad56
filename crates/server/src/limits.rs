//! Defines the limits on work that a person can set, in one table ([`Limit`]), and their values in the
//! process ([`Limits`]). Limits that nobody needs to set are constants in the modules that apply them.
//! `docs/limits.md` lists these limits, and the constants that a client can reach.

use mcp_text_editor_core::resolve::{MAX_INSERTED, MAX_OCCURRENCES};

use crate::json::Weight;

/// The unit in which a limit is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A count, such as a number of files.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

/// The value of a limit that is switched off.
pub const NONE: u64 = u64::MAX;

macro_rules! limits {
    ($($variant:ident $name:literal $unit:ident $default:expr, $least:literal, $most:expr, $meaning:literal;)*) => {
        /// A bound on work.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Limit { $(#[doc = $meaning] $variant,)* }

        impl Limit {
            /// Every limit, in the order in which they are documented.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the limit's name, for options and errors.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Says what the limit counts.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// Returns the unit in which the limit counts.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// Returns the minimum and the maximum of the limit's value.
            #[must_use]
            pub const fn bounds(self) -> (u64, u64) {
                match self { $(Self::$variant => ($least, $most),)* }
            }
        }

        impl Default for Limits {
            /// Returns the default values.
            fn default() -> Self {
                Self([$($default,)*])
            }
        }
    };
}

limits! {
    Files "files" Count 1_000, 1, 1_000_000,
        "files that a call names";
    Patches "patches" Count 10_000, 1, 10_000_000,
        "patches in a call, those of all its files together";
    Ranges "ranges" Count 10_000, 1, 10_000_000,
        "ranges in a call, those of all its files and patches together";
    Text "text-bytes" Bytes 32 << 20, 1, NONE,
        "bytes of `contents`, `old_string`, `new_string` and lines copied to other files in a call, all together";
    Values "values" Count 250_000, 100, 100_000_000,
        "list items and object fields in the arguments of a call, those in spelled JSON too";
    Depth "depth" Count 64, 8, 100,
        "how deep lists and objects in the arguments of a call may nest";
    Line "line-bytes" Bytes 64 << 20, 1, NONE,
        "bytes of a line of input, and so of a whole message; also set by `--max-line-bytes`";
    File "file-bytes" Bytes NONE, 1, NONE,
        "bytes of a file that is edited, before and after";
    Inserted "inserted-bytes" Bytes MAX_INSERTED, 1, NONE,
        "bytes of new text that a call puts into one file, each place counted";
    Occurrences "occurrences" Count MAX_OCCURRENCES, 1, 10_000_000,
        "occurrences that a call's patches with `replace_all` replace in one file, or a pattern in all";
    Seconds "call-seconds" Seconds 120, 1, NONE,
        "seconds that a call works, from its turn until it commits";
    Calls "calls" Count 16, 1, 512,
        "calls that work at the same time; no error: others wait for their turn";
}

/// The limits of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits([u64; Limit::ALL.len()]);

impl Limits {
    /// Returns the value of a limit.
    #[must_use]
    pub fn get(&self, limit: Limit) -> u64 {
        self.0.get(limit as usize).copied().unwrap_or(NONE)
    }

    /// Returns the value of a limit as a size in memory.
    #[must_use]
    pub fn size(&self, limit: Limit) -> usize {
        usize::try_from(self.get(limit)).unwrap_or(usize::MAX)
    }

    /// Returns the same limits with another value for one of them.
    #[must_use]
    pub fn with(mut self, limit: Limit, value: u64) -> Self {
        if let Some(slot) = self.0.get_mut(limit as usize) {
            *slot = value;
        }
        self
    }

    /// Finds the limit that a JSON text of this weight exceeds, if there is one. `outside` is the number of
    /// levels around the arguments, which do not count.
    #[must_use]
    pub fn exceeded_by(&self, weight: Weight, outside: u64) -> Option<Exceeded> {
        let depth = weight.depth.saturating_sub(outside);
        let amounts = [(Limit::Values, weight.values), (Limit::Depth, depth)];
        let exceeded = amounts.into_iter().find(|(limit, amount)| *amount > self.get(*limit));
        exceeded.map(|(limit, asked)| Exceeded { limit, asked })
    }
}

/// A limit that a call exceeds, and the amount in the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exceeded {
    /// The limit.
    pub limit: Limit,
    /// The amount in the call.
    pub asked: u64,
}

impl Limit {
    /// Finds the limit of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|limit| limit.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_within_bounds() {
        for limit in Limit::ALL {
            let (least, most) = limit.bounds();
            assert!((least..=most).contains(&Limits::default().get(*limit)), "{limit:?}");
        }
    }
}
