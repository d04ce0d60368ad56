//! Describes a call and its files for error messages, and spells out calls for hints.

use std::path::Path;

use mcp_text_editor_core::rejection::At;
use mcp_text_editor_core::resolve::{GuardedRange, Patch};
use mcp_text_editor_store::{Change, Workspace};
use serde_json::{Map, Value, json};

use crate::config::ToolSet;
use crate::context::Cancel;
use crate::limits::Limits;
use crate::render::edit::Hashes;
use crate::render::escape::json_text;
use crate::tool_id::ToolId;

/// The number of lines that a hint asks to read above and below the named lines.
pub(super) const AROUND: u64 = 20;

/// The facts of a call that error messages need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    /// The tool that was called.
    pub(crate) tool: ToolId,
    /// The files that the call may name.
    pub(crate) workspace: &'a Workspace,
    /// The state directory, if there is one.
    pub(crate) state: Option<&'a Path>,
    /// True if the file is an entry in a call of another tool, which does to that file what `tool` does.
    pub(crate) is_entry: bool,
    /// True if the call names more than one file, or has more than one copy.
    pub(crate) many_files: bool,
    /// The limits of a call.
    pub(crate) limits: &'a Limits,
    /// The signal that cancels the call.
    pub(crate) cancel: &'a Cancel,
    /// The tools that a hint may name.
    pub(crate) offered: &'a ToolSet,
    /// The form in which digests are printed in a call that a hint spells out.
    pub(crate) hashes: Hashes,
}

impl Call<'_> {
    /// Returns `words`, which name the tool, if the tool is offered, and `otherwise` if it is not. Hints name
    /// a tool that was not called only through this method.
    pub(super) fn naming(
        self,
        tool: ToolId,
        words: impl FnOnce(&'static str) -> String,
        otherwise: impl FnOnce() -> String,
    ) -> String {
        if self.offered.contains(tool) { words(tool.name()) } else { otherwise() }
    }
}

/// A file of a call, as the client named it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CalledFile<'a> {
    /// The file's path.
    pub(crate) file_path: &'a str,
    /// The encoding as the client named it.
    pub(crate) encoding: Option<&'a str>,
    /// The ranges of each patch of the file; empty for tools without patches.
    pub(crate) patches: &'a [&'a [GuardedRange]],
    /// The change that the call makes to the file, if any.
    pub(crate) change: Option<Change<'a>>,
}

impl<'a> CalledFile<'a> {
    /// Names a file by its path alone.
    pub(crate) fn by_path(file_path: &'a str) -> Self {
        Self { file_path, ..Self::default() }
    }

    /// Returns the text that the call has for the whole of a file that is missing or empty; `None` if it has
    /// none.
    pub(super) fn whole_text(self) -> Option<&'a str> {
        match self.change? {
            Change::Create(text) | Change::Append(text) | Change::Insert(text, _) => Some(text),
            Change::Patch([patch]) if names_nothing(patch) => Some(&patch.new_string),
            _ => None,
        }
    }

    /// Returns the `old_string` of a patch.
    pub(super) fn asked(self, at: At) -> Option<&'a str> {
        let (Change::Patch(patches) | Change::Move { patches, .. }) = self.change? else { return None };
        patches.get(at.patch)?.old_string.as_deref()
    }

    /// Whether the change is of a kind that has patches.
    pub(super) fn has_patches(self) -> bool {
        matches!(self.change, Some(Change::Patch(_) | Change::Move { .. }))
    }

    /// Returns the `new_string` of a patch.
    pub(super) fn new_text(self, at: At) -> Option<&'a str> {
        let (Change::Patch(patches) | Change::Move { patches, .. }) = self.change? else { return None };
        patches.get(at.patch).map(|patch| patch.new_string.as_str())
    }

    /// Returns the `new_string` of a patch that names nothing to replace; `None` for other patches.
    pub(super) fn text_for_empty_file(self, at: At) -> Option<&'a str> {
        let Change::Patch(patches) = self.change? else { return None };
        patches.get(at.patch).filter(|patch| names_nothing(patch)).map(|patch| patch.new_string.as_str())
    }
}

/// Tells whether a patch names nothing to replace, as for an empty file: it has no ranges, and no text in
/// `old_string`.
fn names_nothing(patch: &Patch) -> bool {
    patch.ranges.is_empty()
        && patch.old_string.as_deref().is_some_and(|old| old.trim_matches('\n').is_empty())
}

/// Names a part of the call, as a prefix that ends in a colon; empty where there is only one part.
pub(super) fn place(call: Call<'_>, named: CalledFile<'_>, at: At) -> String {
    let mut parts = Vec::new();
    if call.tool == ToolId::CopyLines {
        return if call.many_files { format!("copies[{}]: ", at.patch) } else { String::new() };
    }
    if call.many_files {
        parts.push(format!("files[{}]", at.entry));
    }
    if named.patches.len() > 1 {
        parts.push(format!("patches[{}]", at.patch));
    }
    let is_alone = named.patches.get(at.patch).is_some_and(|ranges| ranges.len() < 2);
    if let Some(range) = at.range.filter(|_| !is_alone) {
        parts.push(format!("ranges[{range}]"));
    }
    if parts.is_empty() { String::new() } else { parts.join(".") + ": " }
}

/// Returns the call that reads the file, or some of its lines; `None` where no tool that reads is offered.
pub(super) fn reading(call: Call<'_>, named: CalledFile<'_>, lines: Option<(u64, u64)>) -> Option<String> {
    let get = ToolId::Get;
    call.offered.contains(get).then(|| format!("{} {}", get.name(), json_text(&read_call(named, lines))))
}

/// Makes the arguments that read the file, or some of its lines, in the encoding of the call.
fn read_call(named: CalledFile<'_>, lines: Option<(u64, u64)>) -> Value {
    let mut call = Map::from_iter([("file_path".to_owned(), json!(named.file_path))]);
    if let Some((start, end)) = lines {
        call.extend([("line_start".to_owned(), json!(start)), ("line_end".to_owned(), json!(end))]);
    }
    call.extend(named.encoding.map(|encoding| ("encoding".to_owned(), json!(encoding))));
    Value::Object(call)
}

/// The maximum number of characters of the caller's text that a spelled-out call repeats.
const WHOLE: usize = 1_500;

/// Spells out a call with the caller's text, or, if `text` is `Err`, with words in its place. A text that is
/// too long for an error is replaced by words, too. With words the call is not JSON, so nobody sends it as it
/// is.
pub(super) fn written(
    tool: ToolId,
    parts: &[(&str, Value)],
    (name, text): (&str, Result<&str, &str>),
    encoding: Option<&str>,
) -> String {
    let text = text.map(|text| json_text(&json!(text)));
    let (text, rest) = match text {
        Ok(text) if text.chars().count() <= WHOLE => (text, ""),
        Ok(_) => (format!("<{name} as you gave it>"), ", and put in what <…> stands for"),
        Err(words) => (format!("<{words}>"), ", and put in what <…> stands for"),
    };
    let spelled = |(name, value): (&str, &Value)| format!("\"{name}\":{}", json_text(value));
    let encoding = encoding.map(|label| spelled(("encoding", &json!(label))));
    let parts = parts.iter().map(|(name, value)| spelled((name, value)));
    let parts: Vec<String> = parts.chain([format!("\"{name}\":{text}")]).chain(encoding).collect();
    format!("{} {{{}}}{rest}", tool.name(), parts.join(","))
}
