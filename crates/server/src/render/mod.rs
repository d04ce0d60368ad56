//! Words: the only place where a reply is laid out.

pub mod directories;
pub mod edit;
pub mod explain;
pub mod failure;
pub mod past;
pub(crate) mod paths;
pub mod read;

/// Text on one line, whatever is in it: what breaks lines is spelled out, so that a path cannot forge a line of a reply.
pub(crate) fn on_one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}
