//! Shows past edits to a person at a shell: in colours, within the width of the terminal ([`Screen`]), and
//! without control characters from foreign text.
//!
//! The text contains the colours; the caller that writes the text removes them where they are not wanted.

mod diff;
pub(crate) mod edits;
pub(crate) mod json;
pub(crate) mod roots;
pub(crate) mod stat;
pub(crate) mod undo;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::render::escape::{path_by_itself, shown};

/// The screen on which edits are shown, and its reader.
#[derive(Clone, Debug)]
pub struct Screen {
    /// The number of columns. If it is `None` (not known), no line is broken.
    pub width: Option<usize>,
    /// The number of lines; `None` if the output is not a terminal.
    pub height: Option<usize>,
    /// The time zone of the person.
    pub zone: TimeZone,
    /// The person's current directory, with links resolved, if it is known.
    pub here: Option<PathBuf>,
}

impl Screen {
    /// Prints a moment.
    fn time(&self, time: SystemTime) -> String {
        let stamp = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
        stamp.to_zoned(self.zone.clone()).strftime("%a %Y-%m-%d %H:%M:%S").to_string()
    }

    /// Prints a moment in fewer columns.
    fn short_time(&self, time: SystemTime) -> String {
        let stamp = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
        stamp.to_zoned(self.zone.clone()).strftime("%m-%d %H:%M:%S").to_string()
    }

    /// Prints a path. A path below the person's current directory is printed relative to it.
    fn path(&self, path: &Path) -> String {
        let below = self.here.as_deref().and_then(|here| path.strip_prefix(here).ok());
        let path = below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path);
        path_by_itself(&shown(path)).into_owned()
    }
}

const ID: Style = AnsiColor::Yellow.on_default();
const STRONG: Style = Style::new().bold();
const PLACE: Style = AnsiColor::Cyan.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// Returns the number of columns that a text takes on one line: a Han character takes two, and a mark that
/// combines with the character before it takes none ([UAX 11](https://www.unicode.org/reports/tr11/)). A
/// character of ambiguous width, which terminals treat differently, counts as one column.
fn columns(text: &str) -> usize {
    text.width()
}

/// Returns as much of the end of a text as there is room for, with `…` for the omitted beginning. The end is
/// kept because it says most about a path.
fn from_its_end(text: &str, capacity: usize) -> String {
    if columns(text) <= capacity {
        return text.to_owned();
    }
    // The width of a text is not the sum of the widths of its characters: `*` and U+FE0F together take two
    // columns.
    let has_room = |start: &usize| columns(text.get(*start..).unwrap_or_default()) < capacity;
    let starts = text.char_indices().rev().map(|(start, _)| start);
    let start = starts.take_while(has_room).last().unwrap_or(text.len());
    // A combining mark at the start would combine with the `…` before it.
    let kept = text.get(start..).unwrap_or_default();
    let kept = kept.trim_start_matches(|first: char| first.width() == Some(0));
    format!("…{kept}")
}

/// Returns a text, padded with blanks at the end to this width.
fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_are_counted_not_characters() {
        for (text, count) in
            [("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("가", 2), ("🦀", 2), ("é", 1), ("", 0)]
        {
            assert_eq!(columns(text), count, "{text}");
        }
        assert_eq!(from_its_end("src/漢字.rs", 8), "…漢字.rs");
        assert_eq!(from_its_end("src/漢字.rs", 7), "…字.rs", "half a character has no room");
        assert_eq!(from_its_end("e\u{301}f", 1), "…");
        assert_eq!(from_its_end("a*\u{fe0f}", 2), "…");
        assert_eq!(from_its_end("abc", 3), "abc");
        assert_eq!(padded("漢", 4), "漢  ");
    }

    proptest! {
        #[test]
        fn what_is_cut_has_room(text in "\\PC{0,40}", capacity in 1_usize..30) {
            let cut = from_its_end(&text, capacity);
            prop_assert!(columns(&cut) <= capacity, "{cut:?}");
            prop_assert!(text.ends_with(cut.strip_prefix('…').unwrap_or(&cut)));
        }
    }
}
