//! The only list of invisible characters. It is used to recognise file names that look alike, and to escape
//! invisible characters in replies.

/// Tells whether Unicode calls a character default-ignorable (`Default_Ignorable_Code_Point` in
/// `DerivedCoreProperties.txt`): programs show nothing for it, and file systems that fold letter case ignore
/// it (HFS+ ignores some of them).
///
/// Controls and the line and paragraph separators U+2028 and U+2029 are not among them.
#[must_use]
pub fn is_default_ignorable(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
