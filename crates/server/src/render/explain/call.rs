//! What the words need to know of a call and of its files.

use std::path::Path;

use mcp_text_editor_core::resolve::GuardedRange;
use mcp_text_editor_store::Workspace;

use crate::config::ToolSet;
use crate::context::Cancel;
use crate::limits::Limits;
use crate::render::edit::Hashes;
use crate::tool_id::ToolId;

/// A call, as far as words need to know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    /// The tool that was called.
    pub(crate) tool: ToolId,
    /// The files that it may name.
    pub(crate) workspace: &'a Workspace,
    /// The state directory, if there is one.
    pub(crate) state: Option<&'a Path>,
    /// Whether the call names more than one file.
    pub(crate) many_files: bool,
    /// How much a call may ask for.
    pub(crate) limits: &'a Limits,
    /// Whether it is to stop.
    pub(crate) cancel: &'a Cancel,
    /// The tools that a hint may name.
    pub(crate) offered: &'a ToolSet,
    /// How digests are printed in a call that a hint spells out.
    pub(crate) hashes: Hashes,
}

impl Call<'_> {
    /// Returns words that name a tool if it is offered, else other ones. Hints name another tool than the one that
    /// was called only by way of this.
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    /// Its path.
    pub(crate) file_path: &'a str,
    /// The encoding as the client named it.
    pub(crate) encoding: Option<&'a str>,
    /// The ranges that each of its patches names; empty for tools without patches.
    pub(crate) patches: &'a [&'a [GuardedRange]],
}
