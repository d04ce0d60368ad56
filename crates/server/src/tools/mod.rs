//! The tools, one file for each family of tools. Each file has the words and the arguments of its tools,
//! reads a call's request from the arguments, and lets the store carry it out.

pub mod copy_lines;
pub mod edit;
pub mod find;
pub mod history;
pub mod one_file;
pub mod patch;
pub mod read;
mod tool;
mod views;

pub use self::tool::{Run, Tool};
pub use self::views::{APP_TOOLS, AppTool, offers_app_tools};

/// Every tool, in the order of `tools/list`.
pub static ALL: &[Tool] = &[
    read::TOOL,
    patch::TOOL,
    one_file::CREATE,
    one_file::APPEND,
    one_file::INSERT,
    one_file::DELETE,
    copy_lines::TOOL,
    find::SEARCH,
    find::REPLACE,
    find::LIST,
    one_file::MOVE_FILE,
    one_file::REMOVE_FILE,
    history::EDITS,
    history::UNDO,
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
