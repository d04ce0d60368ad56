//! Shows the names of directories that all machines which share a history use.

use std::fmt::Write as _;

use mcp_text_editor_store::{KnownRoot, RootPlace};
use serde_json::{Value, json};

use super::json::time;
use super::{STRONG, Screen};
use crate::render::escape::{json_text, on_one_line, shown};

/// The text if no directory has a name yet.
pub(crate) const NONE: &str = "no directory has a name yet: each gets one with its first edit\n";

/// Shows a directory: its name, its path on this machine, and the time since which it has the name.
pub(crate) fn root(root: &KnownRoot, screen: &Screen) -> String {
    let mut out = format!("{STRONG}[{}]{STRONG:#}\n", on_one_line(&root.name));
    for RootPlace { inside, path, .. } in &root.here {
        let path = on_one_line(&path.to_string_lossy());
        let _ = if inside.as_os_str().is_empty() {
            writeln!(out, "  is {path} here")
        } else {
            writeln!(out, "  /{} is {path} here", on_one_line(&inside.to_string_lossy()))
        };
    }
    if root.here.is_empty() {
        out.push_str("  is not reached from here\n");
    }
    let since = screen.time(root.since);
    let _ = match root.made_by.as_str() {
        "" => writeln!(out, "  since {since}"),
        machine => writeln!(out, "  since {since}, first used by {}", on_one_line(machine)),
    };
    out
}

/// Renders a directory as one line of JSON, for programs. docs/history.md describes each member.
pub(crate) fn line(root: &KnownRoot) -> String {
    let place = |RootPlace { inside, path, .. }: &RootPlace| -> Value {
        json!({"inside": shown(inside), "path": shown(path)})
    };
    let here: Vec<Value> = root.here.iter().map(place).collect();
    let mut object = json!({"root": root.name, "since": time(root.since), "here": here});
    if let Some(object) = object.as_object_mut().filter(|_| !root.made_by.is_empty()) {
        object.insert("first_used_by".to_owned(), json!(root.made_by));
    }
    json_text(&object) + "\n"
}
