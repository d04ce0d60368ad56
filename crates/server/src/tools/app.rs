//! The tools that are for views and not for models. They are not in [`ALL`](super::ALL), and only clients
//! that show views get them.

use serde_json::{Map, Value};

use crate::actions::history::UndoRequest;
use crate::actions::view;
use crate::config::ToolSet;
use crate::context::{Cancel, Context, Reply};
use crate::problem::{Code, Failure, Problem};
use crate::tool_id::ToolId;
use crate::wire::schema;

/// Checks the arguments of a call and carries it out.
type Run = fn(&Context, &Map<String, Value>, &Cancel) -> Result<Reply, Failure>;

/// A tool for views: its description and its function.
#[derive(Clone, Debug)]
pub struct AppTool {
    /// The name by which it is called. Names never change once released.
    pub name: &'static str,
    /// The name that people see.
    pub title: &'static str,
    /// The description.
    pub description: &'static str,
    /// Whether it never changes a file.
    pub is_read_only: bool,
    /// The schema of its arguments.
    pub arguments: fn() -> Map<String, Value>,
    /// Runs it, on a thread that may block.
    pub run: Run,
}

/// Every tool that views call.
pub static APP_TOOLS: &[AppTool] = &[
    AppTool {
        name: "show_text_file_edit",
        title: "Show an edit",
        description: "For the view of edits: what an edit changed.",
        is_read_only: true,
        arguments: || schema::arguments(&one_edit(), &["edit_id", "capability"]),
        run: |context, values, _| view::show(context, edit_id(values)?, capability(values)),
    },
    AppTool {
        name: "list_shown_text_file_edits",
        title: "List edits for the view",
        description: "For the view of edits: the past edits that the capabilities name, the newest first.",
        is_read_only: true,
        arguments: || {
            let limit = schema::integer("How many at most. Default: 20.");
            let capabilities = schema::described("The capabilities from the stories of edits.", &[], &[]);
            schema::arguments(&[("capabilities", capabilities), ("limit", limit)], &["capabilities"])
        },
        run: |context, values, cancel| {
            let limit = values.get("limit").and_then(Value::as_u64).unwrap_or(DEFAULT_EDITS).min(MAX_EDITS);
            let none = Map::new();
            let capabilities = values.get("capabilities").and_then(Value::as_object).unwrap_or(&none);
            view::list(context, capabilities, usize::try_from(limit).unwrap_or_default(), cancel)
        },
    },
    AppTool {
        name: "take_back_text_file_edit",
        title: "Take an edit back",
        description: "For the view of edits: takes an edit back, as a person asks there.",
        is_read_only: false,
        arguments: || {
            let dry_run = schema::flag("Whether to write nothing. Default: false.");
            let [edit_id, capability] = one_edit();
            schema::arguments(&[edit_id, capability, ("dry_run", dry_run)], &["edit_id", "capability"])
        },
        run: |context, values, cancel| {
            let dry_run = match values.get("dry_run") {
                None => false,
                Some(Value::Bool(dry_run)) => *dry_run,
                Some(_) => return Err(invalid("`dry_run` must be true or false")),
            };
            let edit_id = edit_id(values)?.to_owned();
            view::take_back(context, &UndoRequest { edit_id, dry_run }, capability(values), cancel)
        },
    },
];

/// Returns the arguments that name an edit, and prove that the server showed it to this view.
fn one_edit() -> [(&'static str, Value); 2] {
    let capability = schema::text("Its capability, from a story or a list.");
    [("edit_id", schema::text("The edit.")), ("capability", capability)]
}

/// The default number of edits in a list, and the maximum.
const DEFAULT_EDITS: u64 = 20;
const MAX_EDITS: u64 = 100;

/// Whether a process that offers the tools `offered` to models offers the tools for views, too. Without a
/// tool that edits, there is nothing to show.
#[must_use]
pub fn offers_app_tools(offered: &ToolSet) -> bool {
    ToolId::ALL.iter().any(|tool| !tool.is_read_only() && offered.contains(*tool))
}

fn capability(values: &Map<String, Value>) -> &str {
    values.get("capability").and_then(Value::as_str).unwrap_or_default()
}

fn edit_id(values: &Map<String, Value>) -> Result<&str, Failure> {
    values
        .get("edit_id")
        .and_then(Value::as_str)
        .ok_or_else(|| invalid("`edit_id` must be the id of an edit"))
}

fn invalid(reason: &str) -> Failure {
    let hint = "this tool is for the view of edits alone; it has the ids from the stories of edits";
    Failure::of(Problem::new(Code::InvalidArguments, reason, hint), "", true)
}
