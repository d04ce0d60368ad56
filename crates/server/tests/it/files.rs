//! A naive model of calls of one tool that make, edit, move and remove files: a map of names to texts. The
//! fuzz target `sessions` uses it, too.

use std::collections::BTreeMap;

use mcp_text_editor_core::digest::Digest;
use serde_json::{Value, json};

/// The work of one entry of a call.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Create(&'static str, String),
    Patch(&'static str, String),
    Move(&'static str, &'static str),
    Edit(&'static str, &'static str, String),
    Remove(&'static str),
}

/// The text of each file.
pub(crate) type Texts = BTreeMap<String, String>;

impl Step {
    /// Returns the name that the file has, and the name that it is to have.
    pub(crate) fn ends(&self) -> (Option<&'static str>, Option<&'static str>) {
        match self {
            Self::Create(name, _) => (None, Some(name)),
            Self::Patch(name, _) => (Some(name), Some(name)),
            Self::Move(from, to) | Self::Edit(from, to, _) => (Some(from), Some(to)),
            Self::Remove(name) => (Some(name), None),
        }
    }

    /// Returns the entry of a call, for the files as they are before it.
    pub(crate) fn entry(&self, before: &Texts, path: &dyn Fn(&str) -> String) -> Value {
        let old = |name: &str| before.get(name).cloned().unwrap_or_else(|| "none".to_owned());
        let patches = |name: &str, new: &String| json!([{"old_string": old(name), "new_string": new}]);
        match self {
            Self::Create(name, text) => json!({"file_path": path(name), "contents": text}),
            Self::Patch(name, text) => json!({"file_path": path(name), "patches": patches(name, text)}),
            Self::Move(from, to) => json!({"file_path": path(from), "move_to": path(to)}),
            Self::Edit(from, to, text) => {
                json!({"file_path": path(from), "move_to": path(to), "patches": patches(from, text)})
            }
            Self::Remove(name) => {
                json!({"file_path": path(name), "remove": true, "file_hash": hash(&old(name))})
            }
        }
    }
}

/// Returns the files after a call; `None` if the call is to be refused.
pub(crate) fn model(before: &Texts, steps: &[Step]) -> Option<Texts> {
    let mut after = before.clone();
    for from in steps.iter().filter_map(|step| step.ends().0) {
        after.remove(from)?;
    }
    for step in steps {
        let Some(to) = step.ends().1 else { continue };
        let text = match step {
            Step::Create(_, text) | Step::Patch(_, text) | Step::Edit(_, _, text) => text.clone(),
            Step::Move(from, _) | Step::Remove(from) => before[*from].clone(),
        };
        if after.insert(to.to_owned(), text).is_some() {
            return None;
        }
    }
    Some(after)
}

/// Returns the digest of a text, as a client sends it.
pub(crate) fn hash(text: &str) -> String {
    Digest::of(text.as_bytes()).short()
}
