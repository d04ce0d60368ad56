//! Words likely slips in new text, and changes by other programs, one sentence for each.

use std::borrow::Cow;

use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::rejection::{Blanks, ReportedSlip, Slip};
use mcp_text_editor_core::shown_lines::Changes;

/// Words the warning about a slip in a text that was written.
pub(super) fn warning(ReportedSlip { slip, line, more }: &ReportedSlip) -> String {
    let (line, next) = (line.get(), line.get() + 1);
    let words: Cow<'_, str> = match slip {
        Slip::Numbers | Slip::Number => {
            format!("line_number: line {line} was written with a number before it, as a read or a search shows it").into()
        }
        Slip::EmptyLine => format!(
            "blank_line: line {line} is empty, because new_string ends in a line end, or is nothing, and old_string lacks one"
        )
        .into(),
        Slip::BlankFirst => {
            format!("blank_line: line {line} is empty, because the new text begins with a line end").into()
        }
        Slip::BlankLast => {
            format!("blank_line: line {line} is empty, because the new text ends in two line ends").into()
        }
        Slip::Repeats { is_above: true } => {
            format!("repeated: line {line} of the new text stands above it, too, and so twice now").into()
        }
        Slip::Repeats { is_above: false } => {
            format!("repeated: line {line}, the last of the new text, stands below it, too, and so twice now").into()
        }
        Slip::RangeTooShort { surplus } => {
            let below = line + surplus;
            format!(
                "range_too_short: from line {line} on, the new text has {} than it replaced, and like ones still stand from line {below} on",
                counted(*surplus, "more line")
            )
            .into()
        }
        Slip::IndentedTwice { of_file, of_text, is_of_next } => {
            let whose = if *is_of_next { "the line that followed" } else { "new_string" };
            let more = if *more > 0 { format!(" (and so on for {})", counted(*more, "more line")) } else { String::new() };
            return format!(
                "indentation: line {line} begins with the file's {} and the {} of {whose}: {} blanks{more}",
                spelled(*of_file),
                spelled(*of_text),
                of_file.count() + of_text.count()
            );
        }
        Slip::Indentation { of_file, of_text } => format!(
            "indentation: line {line} begins with {}, and the lines of the file there with {}",
            spelled(*of_text),
            spelled(*of_file)
        )
        .into(),
        Slip::Mark => format!(
            "mark: line {line} looks like a fence, a tag or a sign of your message, and was written to the file"
        )
        .into(),
        Slip::Escaped => {
            format!("escaped: line {line} was written as sent, with \\n, \\t or &lt; spelled out").into()
        }
        Slip::List => format!("list: line {line} was written as sent, as one list with its brackets and quotes").into(),
        Slip::LostBlanks => format!(
            "blanks: line {line} had blanks at its end (in Markdown a line break, in TSV empty columns), and new_string has none"
        )
        .into(),
        Slip::Joined => format!(
            "joined: old_string ended in a line end and new_string does not, so line {line} goes on with the line that followed"
        )
        .into(),
        Slip::Torn => {
            format!("torn: old_string was a part of its line, whose rest stands behind the new text now, in line {line}").into()
        }
        Slip::Placeholder => format!(
            "omission: line {line} is written as it was sent, and stands for no other lines: if they were to stay, they are gone"
        )
        .into(),
        Slip::ScriptEnds => format!(
            "line_ends: line {line} ends in CR LF, so that Unix does not find the interpreter; lines from {next} on may, too"
        )
        .into(),
    };
    match more {
        0 => words.into_owned(),
        1 => format!("{words} (and so at 1 more place)"),
        more => format!("{words} (and so at {more} more places)"),
    }
}

/// The maximum number of ranges of lines that are listed.
const MAX_RANGES: usize = 12;

/// Says what other programs have changed in a file since it was last shown.
pub(crate) fn changes(Changes { lines, gone }: &Changes) -> String {
    let range = |lines: &LineRange| {
        if lines.count() == 1 { lines.start().to_string() } else { lines.to_string() }
    };
    let mut listed: Vec<String> = lines.iter().take(MAX_RANGES).map(range).collect();
    if lines.len() > MAX_RANGES {
        listed.push("…".to_owned());
    }
    let what = match (lines.is_empty(), gone) {
        (false, _) => {
            let is_one = matches!(lines.as_slice(), [one] if one.count() == 1);
            format!("{} {}", if is_one { "line" } else { "lines" }, listed.join(", "))
        }
        (true, 0) => "none of the lines that you were shown".to_owned(),
        (true, gone) => {
            format!("{} gone", if *gone == 1 { "1 line is".to_owned() } else { format!("{gone} lines are") })
        }
    };
    format!("changed since your last read, not by you: {what}")
}

fn spelled(blanks: Blanks) -> String {
    let all = [(blanks.spaces, "space"), (blanks.tabs, "tab")];
    let some = all.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what));
    let some: Vec<String> = some.collect();
    if some.is_empty() { "no blanks".to_owned() } else { some.join(" and ") }
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
