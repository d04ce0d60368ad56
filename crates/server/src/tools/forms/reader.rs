//! The reader of a call in another form: what holds for every call, and what was odd about this one.

use std::path::Path;

use mcp_text_editor_core::rejection::Excerpt;
use mcp_text_editor_store::{PathError, Purpose};
use serde_json::{Value, json};

use super::given::{Odd, quoted};
use crate::context::{Cancel, Context};
use crate::limits::{Limit, Limits};
use crate::render::part::Part;
use crate::tool_id::ToolId;

/// The most lookups for a call: of where a relative path leads, or of what is in a file.
const MAX_LOOKS: usize = 40;

/// A reader of a call that is in another form.
#[derive(Debug)]
pub(super) struct Reader<'c> {
    pub(super) context: &'c Context,
    /// The oddities of the call.
    pub(super) odd: Odd,
    /// The purpose for which relative paths are resolved.
    pub(super) purpose: Purpose,
    /// The lines that the rewritten call names by their digest, to be shown beside it.
    pub(super) shown: Option<Excerpt>,
    pub(super) cancel: &'c Cancel,
    looks: usize,
}

impl<'c> Reader<'c> {
    /// Begins a call.
    pub(super) fn new(context: &'c Context, cancel: &'c Cancel) -> Self {
        Self { context, odd: Odd::default(), purpose: Purpose::Editing, shown: None, cancel, looks: 0 }
    }

    /// Counts a lookup. Returns false if it is one too many, or if the call is to stop.
    pub(super) fn count_look(&mut self) -> bool {
        self.looks += 1;
        self.looks <= MAX_LOOKS && !self.cancel.is_cancelled()
    }

    /// Returns how much a call may ask for.
    pub(super) fn limits(&self) -> &'c Limits {
        &self.context.config.limits
    }

    /// Tells whether a call may have so many of something. More need not be looked at: the tool would not
    /// take them.
    pub(super) fn admits(&self, limit: Limit, count: usize) -> bool {
        count <= self.limits().size(limit)
    }

    /// Tells whether the tool is offered.
    pub(super) fn offers(&self, tool: ToolId) -> bool {
        self.context.config.tools.contains(tool)
    }

    /// Returns the path of a file that may be made.
    pub(super) fn new_path(&mut self, given: Option<Value>) -> Part {
        let purpose = std::mem::replace(&mut self.purpose, Purpose::Creating);
        let path = self.path(given);
        self.purpose = purpose;
        path
    }

    /// Returns the path of a file. A relative one becomes the path of the only file that it can mean.
    pub(super) fn path(&mut self, given: Option<Value>) -> Part {
        let Some(value) = given else { return Part::blank("the absolute path of the file") };
        let is_absolute = |path: &str| path.starts_with('/') || Path::new(path).is_absolute();
        let Some(path) = value.as_str().filter(|path| !is_absolute(path)) else {
            return Part::Value(value);
        };
        let problems = if self.count_look() {
            self.context.workspace.check_spelling(path, self.purpose)
        } else {
            Vec::new()
        };
        let suggested = problems.into_iter().find_map(|problem| match problem {
            PathError::NotAbsolute { suggested: Some(suggested) } => {
                match (suggested.paths.as_slice(), suggested.are_all) {
                    ([one], true) => one.to_str().map(str::to_owned),
                    _ => None,
                }
            }
            _ => None,
        });
        if let Some(suggested) = suggested {
            return Part::Value(json!(suggested));
        }
        self.odd
            .note(format!("{} is no absolute path, and no file was found that it could mean", quoted(path)));
        Part::Value(value)
    }
}
