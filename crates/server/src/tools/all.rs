//! The list of the tools.

use super::tool::Tool;
use super::{
    append, copy_lines, create, delete, edits, get, insert, list, move_file, patch, remove_file, replace,
    search, undo,
};

/// Every tool, in the order of `tools/list`.
pub static ALL: &[Tool] = &[
    get::TOOL,
    patch::TOOL,
    create::TOOL,
    append::TOOL,
    insert::TOOL,
    delete::TOOL,
    copy_lines::TOOL,
    search::TOOL,
    replace::TOOL,
    list::TOOL,
    move_file::TOOL,
    remove_file::TOOL,
    edits::TOOL,
    undo::TOOL,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool_id::ToolId;

    #[test]
    fn every_tool_is_listed_in_its_place() {
        let listed: Vec<ToolId> = ALL.iter().map(|tool| tool.id).collect();
        assert_eq!(listed, ToolId::ALL);
    }
}
