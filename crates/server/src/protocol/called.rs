//! The tool of a call by a model, or by a view ([`Called`]).

use serde_json::{Map, Value};

use crate::config::ToolSet;
use crate::context::{Cancel, Context, Reply};
use crate::problem::Failure;
use crate::tool_id::ToolId;
use crate::tools::{self, APP_TOOLS, AppTool, Tool, read};

/// A tool that is called.
#[derive(Clone, Copy, Debug)]
pub(super) enum Called {
    /// By a model, or a client on its behalf.
    ByModel(&'static Tool),
    /// By a view. No model sees the tool or its result.
    ByView(&'static AppTool),
}

impl Called {
    /// Finds the tool of this name that views may call.
    pub(super) fn by_view(name: &str, offered: &ToolSet) -> Option<Self> {
        let tool = APP_TOOLS.iter().find(|tool| tool.name == name)?;
        tools::offers_app_tools(offered).then_some(Self::ByView(tool))
    }

    /// Returns the name by which it is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ByModel(tool) => tool.name(),
            Self::ByView(tool) => tool.name,
        }
    }

    /// Tells whether it never changes a file.
    pub(super) fn is_read_only(self) -> bool {
        match self {
            Self::ByModel(tool) => tool.id.is_read_only(),
            Self::ByView(tool) => tool.is_read_only,
        }
    }

    /// Tells whether it finds files or edits.
    pub(super) fn is_finding(self) -> bool {
        match self {
            Self::ByModel(tool) => tool.id.is_finding() || tool.id == ToolId::Edits,
            Self::ByView(tool) => tool.is_read_only,
        }
    }

    /// Tells whether its results can be [at hand](super::at_hand).
    pub(super) fn can_be_at_hand(self) -> bool {
        matches!(self, Self::ByModel(tool) if tool.id == ToolId::Get)
    }

    /// Tells whether its result is at hand.
    pub(super) fn is_at_hand(self, context: &Context, arguments: &Map<String, Value>) -> bool {
        self.can_be_at_hand() && read::is_at_hand(context, arguments)
    }

    /// Runs it, on a thread that may block. If its result is at hand, any thread can run it.
    pub(super) fn run(
        self,
        context: &Context,
        arguments: Map<String, Value>,
        cancel: &Cancel,
    ) -> Result<Reply, Failure> {
        let run = match self {
            Self::ByModel(tool) => tool.run,
            Self::ByView(tool) => tool.run,
        };
        run(context, arguments, cancel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_files_or_edits_leaves_turns_to_others() {
        let is_finding = |called: &Called| called.is_finding().then(|| called.name());
        let called = tools::ALL.iter().map(Called::ByModel).chain(APP_TOOLS.iter().map(Called::ByView));
        let finding: Vec<_> = called.filter_map(|called| is_finding(&called)).collect();
        assert_eq!(
            finding,
            [
                "search_text_files",
                "replace_in_text_files",
                "list_text_files",
                "list_text_file_edits",
                "show_text_file_edit",
                "list_shown_text_file_edits"
            ]
        );
    }
}
