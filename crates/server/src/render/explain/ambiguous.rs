//! A text that stands in the file more than once.

use mcp_text_editor_core::matching::Tier;
use mcp_text_editor_core::rejection::{DistinguishingLine, Evidence, FoundBy};

use crate::problem::{Code, Problem};
use crate::render::escape::on_one_line;

/// Makes the problem of a text that occurs `count` times, without the places and what tells them apart.
pub(super) fn problem(count: u64, tier: Tier, evidence: &Evidence) -> Problem {
    let blanks = if tier == Tier::TrailingWhitespace { " but for spaces and tabs at line ends" } else { "" };
    let reason = format!("old_string occurs {count} times{blanks}");
    // An example of a range would be taken for the one that is meant.
    let hint = if evidence.found_by == FoundBy::Text {
        "keep old_string and name the lines of the place that is meant as \"ranges\", or set replace_all to change them all"
    } else {
        "add lines around it to old_string until it occurs once, or say which place is meant by \"ranges\" with whole lines as \
         old_string, or set replace_all to change them all"
    };
    Problem::new(Code::AmbiguousMatch, reason, hint)
}

/// Says where each of several places is by a line near it.
pub(super) fn landmarks(evidence: &Evidence) -> Vec<Option<String>> {
    evidence.distinguishing.iter().map(|line| line.as_ref().map(words)).collect()
}

/// Says where a place is by a line near it.
fn words(line: &DistinguishingLine) -> String {
    let side = if line.is_above { "below" } else { "above" };
    format!("{side} \"{}\"", on_one_line(&line.text))
}
