//! The HTML page that shows edits. It is built from `view/`, at the root of the repository, into
//! `view/edit.html` beside this file. It is shown in three frames: in a host of MCP Apps, by this program's
//! own server (`history --web`), and as a file (`history --html`).
//!
//! This module alone tells the page its frame, and adds the data of a page that is a file. Apart from that,
//! it changes only the addresses that the page may contact.

use std::fmt::Write as _;

use serde_json::Value;

/// The page as hosts of MCP Apps show it.
pub const PAGE: &str = include_str!("view/edit.html");

/// The attribute that tells the page its frame. It occurs once in the page.
const FRAME: &str = "data-frame=\"app\"";
/// The element for the data of a page that is a file. It occurs once in the page.
const DATA: &str = "<script type=\"application/json\" id=\"data\"></script>";
/// The part of the page's Content Security Policy that forbids the page to contact any address.
const NO_NETWORK: &str = "connect-src 'none'";

/// Returns the page for this program's own server. The page may contact that server.
#[must_use]
pub fn of_web() -> String {
    PAGE.replacen(FRAME, "data-frame=\"web\"", 1).replacen(NO_NETWORK, "connect-src 'self'", 1)
}

/// Returns the page as a file, with these data in it.
#[must_use]
pub fn of_file(data: &Value) -> String {
    let script = DATA.replace("></", &format!(">{}</", in_script(data)));
    PAGE.replacen(FRAME, "data-frame=\"file\"", 1).replacen(DATA, &script, 1)
}

/// Returns the Content Security Policy in a page, for a header; `None` if the page has none.
#[must_use]
pub fn policy(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("http-equiv=\"Content-Security-Policy\" content=\"")?;
    rest.split_once('"').map(|(policy, _)| policy)
}

/// Escapes JSON for an HTML script element: nothing in it ends the script, begins a comment, or is a line end
/// for an old JavaScript parser.
fn in_script(data: &Value) -> String {
    let mut out = String::new();
    for character in data.to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_has_each_mark_once() {
        for mark in [FRAME, DATA, NO_NETWORK] {
            assert_eq!(PAGE.matches(mark).count(), 1, "{mark}");
        }
        assert!(policy(PAGE).unwrap().contains(NO_NETWORK));
        assert!(policy(&of_web()).unwrap().contains("connect-src 'self'"));
        assert!(of_web().contains("data-frame=\"web\""));
    }

    #[test]
    fn data_cannot_leave_their_script() {
        let hostile = json!({"</script><script>alert(1)</script>": "<!--<script>\u{2028}]]>&amp;\u{2029}"});
        let page = of_file(&hostile);
        assert_eq!(page.matches("<script").count(), PAGE.matches("<script").count());
        assert_eq!(page.matches("</script").count(), PAGE.matches("</script").count());
        assert_eq!(page.matches("<!--").count(), PAGE.matches("<!--").count());
        assert!(!page.contains('\u{2028}') && !page.contains('\u{2029}'));
        let (_, rest) = page.split_once("id=\"data\">").unwrap();
        let (data, _) = rest.split_once("</script>").unwrap();
        assert_eq!(serde_json::from_str::<Value>(data).unwrap(), hostile);
    }
}
