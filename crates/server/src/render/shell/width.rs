//! Measures the number of columns that a text takes on a terminal.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Returns the number of columns that a text takes on one line: a Han character takes two, and a mark that
/// combines with the character before it takes none ([UAX 11](https://www.unicode.org/reports/tr11/)). A
/// character of ambiguous width, which terminals treat differently, counts as one column.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// Returns as much of the end of a text as there is room for, with `…` for the omitted beginning. The end is
/// kept because it says most about a path.
pub(super) fn from_its_end(text: &str, capacity: usize) -> String {
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
pub(super) fn padded(text: &str, width: usize) -> String {
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
