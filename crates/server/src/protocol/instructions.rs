//! Makes the instructions: the text about the whole server that clients show to models. Some clients show
//! only the first 240 characters. So the purpose of the server, when to prefer it, and the directories that
//! it serves come first. Others cut the text after 2 048 characters.

use mcp_text_editor_store::Workspace;

use crate::render::directories;
use crate::render::escape::{namable, on_one_line};
use crate::tool_id::ToolId;

/// The number of characters that some clients show.
const HEAD: usize = 240;

/// The maximum number of characters, because a widely used client cuts the text there.
const MAX: usize = 2_048;

/// The mark in place of names that do not fit.
const CUT: &str = " …";

/// Sentences about the use of the tools. A sentence with a tool is included if the tool is offered; a
/// sentence with `None` is always included. The first sentence is so long that all paths that follow begin
/// after [`HEAD`] characters, so clients that cut the text there do not cut a path.
const USE: &[(Option<ToolId>, &str)] = &[
    (
        None,
        " Paths are absolute and lie in these directories; all others are refused. Errors say what was wrong, and what to call next.",
    ),
    (
        Some(ToolId::Get),
        " get_text_file_contents reads: each range comes with file_hash and range_hash; keep them.",
    ),
    (
        Some(ToolId::Patch),
        " Change text with patch_text_file_contents, many places and files at once: name unique text by old_string, or lines by \
         ranges with range_hash.",
    ),
    (Some(ToolId::Append), " append_text_file_contents adds lines at the end (file_hash)."),
    (Some(ToolId::Insert), " insert_text_file_contents adds lines elsewhere (file_hash)."),
    (Some(ToolId::Delete), " delete_text_file_contents removes lines (hashes)."),
    (Some(ToolId::Search), " search_text_files finds text; a hit can be edited without a read."),
    (Some(ToolId::List), " list_text_files lists files."),
    (Some(ToolId::Undo), " undo_text_file_edits takes an edit back by its edit_id."),
    (Some(ToolId::Create), " create_text_file makes files; it never overwrites."),
];

/// The sentences about the tools that edit.
const EDITS: &str = " An edit returns new hashes and line numbers: go on without a read. A failed edit changes nothing; \
         its error holds the actual text.";

/// A directory that is not served, and the reason.
struct Missing {
    name: String,
    why: String,
}

/// Makes the instructions of a server that offers the tools `offered` in the directories of a workspace.
pub(crate) fn instructions(offered: impl Fn(ToolId) -> bool, workspace: &Workspace) -> String {
    let served: Vec<String> = namable(workspace).into_iter().map(on_one_line).collect();
    let missing = workspace
        .unserved()
        .map(|unserved| Missing { name: directories::name(unserved), why: directories::why(unserved) });
    compose(offered, &served, &missing.collect::<Vec<_>>())
}

fn compose(offered: impl Fn(ToolId) -> bool, served: &[String], missing: &[Missing]) -> String {
    let is_edit = |tool: &ToolId| !tool.is_read_only() && *tool != ToolId::Undo;
    let edits = ToolId::ALL.iter().any(|tool| is_edit(tool) && offered(*tool));
    if served.is_empty() && !missing.is_empty() {
        return nothing_served(edits, missing);
    }
    let mut out = Text::default();
    out.push(if edits {
        "Reads and edits text files, exactly and all or nothing. Prefer it to sed, heredocs and rewriting whole files."
    } else {
        "Reads text files, any lines of them, in any encoding, with hashes. Prefer it to cat, head and sed -n."
    });
    let (shown, directories) = head(HEAD - out.length, served, missing);
    out.push(&directories);
    for (tool, sentence) in USE {
        if tool.is_none_or(&offered) {
            out.push(sentence);
        }
    }
    if edits {
        out.push(EDITS);
    }
    let all = " All directories: ";
    explain(&mut out, missing, MAX - length(all) - length(CUT));
    if shown < served.len() {
        out.push(all);
        out.push_list(served);
    }
    out.text
}

/// Names directories in at most `capacity` characters. Returns the number of named served directories, and
/// the text. The capacity goes first to one served directory, then to the directories that are not served, so
/// that models can tell their users, and then to the other served directories.
fn head(capacity: usize, served: &[String], missing: &[Missing]) -> (usize, String) {
    let unserved: Vec<&str> = missing.iter().map(|missing| missing.name.as_str()).collect();
    let served: Vec<&str> = served.iter().map(String::as_str).collect();
    let lost = |many: usize| sentence(" NOT SERVED", &unserved, many, "see below");
    let kept = |many: usize| {
        let below = if many < served.len() { "see below" } else { "" };
        sentence(" Directories", &served, many, below)
    };
    let fits = |many: usize, not: usize| length(&kept(many)) + length(&lost(not)) <= capacity;
    let min = [served.len().min(1), 0];
    let pairs = min.into_iter().flat_map(|min| (0..=unserved.len()).rev().map(move |not| (min, not)));
    let (min, not) = pairs.into_iter().find(|(min, not)| fits(*min, *not)).unwrap_or_default();
    // Each name has at least one character, so at most `capacity` names fit.
    let max = if min == 0 { 0 } else { served.len().min(capacity) };
    let many = (min..=max).rev().find(|many| fits(*many, not)).unwrap_or(min);
    (many, kept(many) + &lost(not))
}

/// Returns a sentence with the first `many` names, the number of the other names, and a note. Returns an
/// empty text if there are no names.
fn sentence(lead: &str, names: &[&str], many: usize, note: &str) -> String {
    let list = match names.split_at_checked(many).unwrap_or((names, &[])) {
        ([], []) => return String::new(),
        ([], rest) => rest.len().to_string(),
        (shown, []) => shown.join(", "),
        (shown, rest) => format!("{} and {} more", shown.join(", "), rest.len()),
    };
    if note.is_empty() { format!("{lead}: {list}.") } else { format!("{lead}: {list} ({note}).") }
}

/// Makes the instructions of a server that serves nothing.
fn nothing_served(edits: bool, missing: &[Missing]) -> String {
    let mut out = Text::default();
    let what = if edits { "Reads and edits" } else { "Reads" };
    out.push(&format!("{what} text files, but NO DIRECTORY IS SERVED, so every call fails; tell the user."));
    match missing {
        [alone] if out.length + length(&because(alone)) <= HEAD => {
            out.push(&because(alone));
            out.push(&remedy());
        }
        _ => {
            out.push(" None of those that were configured can be opened.");
            explain(&mut out, missing, MAX);
        }
    }
    out.text
}

/// Adds advice for a person, and then the reason why each directory is not served, until the text has `limit`
/// characters. The advice is so long that the paths after it begin after [`HEAD`] characters, where some
/// clients cut the text.
fn explain(out: &mut Text, missing: &[Missing], limit: usize) {
    if missing.is_empty() {
        return;
    }
    out.push(&remedy());
    let more = " There are more.";
    for missing in missing {
        let sentence = because(missing);
        if out.length + length(&sentence) + length(more) > limit {
            return out.push(more);
        }
        out.push(&sentence);
    }
}

fn because(missing: &Missing) -> String {
    format!(" Why: {}.", missing.why)
}

fn remedy() -> String {
    format!(" To have it served, {}.", directories::REMEDY)
}

/// Text, with its number of characters.
#[derive(Default)]
struct Text {
    text: String,
    length: usize,
}

impl Text {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.length += length(text);
    }

    /// Adds as many whole names as fit.
    fn push_list(&mut self, names: &[String]) {
        for (index, name) in names.iter().enumerate() {
            let lead = if index == 0 { "" } else { ", " };
            if self.length + length(lead) + length(name) + length(CUT) > MAX {
                return self.push(CUT);
            }
            self.push(lead);
            self.push(name);
        }
        self.push(".");
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::ToolSet;

    fn set(names: &str) -> ToolSet {
        names.parse().unwrap()
    }

    fn told(tools: &str, served: &[&str], missing: &[&str]) -> String {
        let served: Vec<String> = served.iter().map(|name| (*name).to_owned()).collect();
        let offered = set(tools);
        compose(
            |tool| offered.contains(tool),
            &served,
            &missing.iter().map(|name| absent(name)).collect::<Vec<_>>(),
        )
    }

    fn absent(name: &str) -> Missing {
        Missing { name: name.to_owned(), why: format!("the configured directory {name} is missing") }
    }

    #[test]
    fn the_head_says_what_for_when_and_where() {
        insta::assert_snapshot!(told("default", &["/home/ada/app", "/home/ada/lib"], &[]), @"Reads and edits text files, exactly and all or nothing. Prefer it to sed, heredocs and rewriting whole files. Directories: /home/ada/app, /home/ada/lib. Paths are absolute and lie in these directories; all others are refused. Errors say what was wrong, and what to call next. get_text_file_contents reads: each range comes with file_hash and range_hash; keep them. Change text with patch_text_file_contents, many places and files at once: name unique text by old_string, or lines by ranges with range_hash. append_text_file_contents adds lines at the end (file_hash). insert_text_file_contents adds lines elsewhere (file_hash). delete_text_file_contents removes lines (hashes). search_text_files finds text; a hit can be edited without a read. list_text_files lists files. create_text_file makes files; it never overwrites. An edit returns new hashes and line numbers: go on without a read. A failed edit changes nothing; its error holds the actual text.");
        insta::assert_snapshot!(told("read-only", &["/home/ada/app"], &["/home/ada/lib"]), @"Reads text files, any lines of them, in any encoding, with hashes. Prefer it to cat, head and sed -n. Directories: /home/ada/app. NOT SERVED: /home/ada/lib (see below). Paths are absolute and lie in these directories; all others are refused. Errors say what was wrong, and what to call next. get_text_file_contents reads: each range comes with file_hash and range_hash; keep them. search_text_files finds text; a hit can be edited without a read. list_text_files lists files. To have it served, a person has to name a directory that exists in the client's configuration of this server, or make this one, and restart the server. Why: the configured directory /home/ada/lib is missing.");
        insta::assert_snapshot!(told("default", &[], &["~/app"]), @"Reads and edits text files, but NO DIRECTORY IS SERVED, so every call fails; tell the user. Why: the configured directory ~/app is missing. To have it served, a person has to name a directory that exists in the client's configuration of this server, or make this one, and restart the server.");
        let many: Vec<String> = (0..100).map(|number| format!("/home/ada/project/{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let told = told("claude-code", &many, &many);
        insta::assert_snapshot!(told.chars().take(HEAD).collect::<String>(), @"Reads and edits text files, exactly and all or nothing. Prefer it to sed, heredocs and rewriting whole files. Directories: /home/ada/project/0 and 99 more (see below). NOT SERVED: /home/ada/project/0 and 99 more (see below). Paths are absol");
    }

    #[test]
    fn the_usual_is_short() {
        for tools in ["default", "all", "edit", "read-only", "claude-code"] {
            let length = length(&told(tools, &["/home/ada/project"], &[]));
            assert!(length <= 1_000, "{tools}: {length}");
        }
    }

    fn names() -> impl Strategy<Value = Vec<String>> {
        let name = prop_oneof![4 => "/[a-zé]{1,12}", 4 => "/[a-z]{20,60}/[é]{1,30}", 2 => "/[a-z]{150,260}", 1 => "/[a-z]{1800,2300}"];
        prop::collection::vec(name, 0..12).prop_map(|names| {
            // Each name ends in a mark of its own, so that no name is a part of another.
            names.into_iter().enumerate().map(|(index, name)| format!("{name}<{index:02}>")).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_path_is_cut_and_no_tool_named_that_is_not_offered(
            served in names(), missing in names(),
            tools in prop::sample::subsequence(ToolId::ALL, 1..=ToolId::ALL.len()),
        ) {
            let offered = |tool: ToolId| tools.contains(&tool);
            let absent: Vec<Missing> = missing.iter().map(|name| absent(name)).collect();
            let told = compose(offered, &served, &absent);
            prop_assert!(length(&told) <= MAX);
            // One tool's name is a part of another's, so whole words are compared.
            let words: Vec<&str> = told.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).collect();
            for tool in ToolId::ALL {
                prop_assert!(offered(*tool) || !words.contains(&tool.name()), "{}: {}", tool.name(), told);
            }
            let head: String = told.chars().take(HEAD).collect();
            for name in served.iter().chain(&missing) {
                let start = told.find(name.as_str()).map(|at| length(&told[..at]));
                prop_assert!(start.is_none_or(|start| start >= HEAD || start + length(name) <= HEAD), "{name} in {head}");
                // No part of a name occurs without the rest of it.
                let piece: String = name.chars().take(length(name) - 1).collect();
                prop_assert_eq!(told.matches(&piece).count(), told.matches(name.as_str()).count());
            }
            prop_assert!(missing.is_empty() || head.contains("NOT SERVED") || head.contains("NO DIRECTORY IS SERVED"));
            if !served.is_empty() {
                prop_assert!(head.contains("Prefer it to"));
                let short = served.first().is_some_and(|name| length(name) < 60);
                prop_assert!(!short || head.contains(served[0].as_str()), "{}", head);
            }
        }
    }
}
