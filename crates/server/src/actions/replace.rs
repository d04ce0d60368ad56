//! Replaces all matches of a pattern in many files.

use std::path::Path;

use mcp_text_editor_store::{EditProblem, ReplaceError, Search};

use super::reply::{call, failure, hashes, json_reply};
use super::story;
use crate::config::Output;
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limit;
use crate::problem::{Failure, Problem};
use crate::render::explain::{self, CalledFile, find};
use crate::render::replace as words;
use crate::tool_id::ToolId;

/// The request of a replacement in many files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplaceRequest {
    /// A regular expression, or plain text.
    pub pattern: String,
    /// The text that takes the place of each match; line ends as `\n`.
    pub replacement: String,
    /// Whether pattern and replacement are plain text.
    pub literal: bool,
    /// The files and directories, as the client wrote them; none for all roots.
    pub paths: Vec<String>,
    /// The globs that choose files, each in the notation of ignore files; none for all.
    pub glob: Vec<String>,
    /// Whether to ignore letter case.
    pub ignore_case: bool,
    /// Whether a match may go over several lines.
    pub multiline: bool,
    /// The number of matches that are to be replaced; `None` to count them.
    pub expected_replacements: Option<u64>,
    /// The label of the files' encoding.
    pub encoding: Option<String>,
}

/// Counts the matches, or replaces as many as the call expects.
pub fn replace(context: &Context, request: &ReplaceRequest, cancel: &Cancel) -> Result<Reply, Failure> {
    let tool = ToolId::Replace;
    let paths: Vec<&str> = request.paths.iter().map(String::as_str).collect();
    let glob: Vec<&str> = request.glob.iter().map(String::as_str).collect();
    let search = Search {
        literal: request.literal,
        multiline: request.multiline,
        ignore_case: request.ignore_case,
        paths: &paths,
        glob: &glob,
        encoding: request.encoding.as_deref(),
        progress: Some(cancel.files_done()),
        ..Search::new(&request.pattern)
    };
    let is_cancelled = || cancel.is_cancelled();
    let shown = |path: &Path| context.shown.as_ref()?.get(path);
    let control = context.control(tool, &shown).cancelled_by(&is_cancelled);
    let expected = request.expected_replacements;
    let most_files = context.config.limits.get(Limit::Files);
    let done = context.workspace.replace(&search, &request.replacement, expected, most_files, control);
    let done = done.map_err(|error| {
        let call = call(context, tool, false, cancel);
        let encoding = request.encoding.as_deref();
        let problems = match &error {
            ReplaceError::Search(error) => find::problems(call, &paths, &request.glob, encoding, error),
            ReplaceError::TooManyFiles { .. } => {
                vec![explain::too_many_hits(call.limits, Limit::Files, "`pattern` is found in more files")]
            }
            ReplaceError::Edit { file_paths, error } => {
                let explained = |problem: &EditProblem| {
                    let file_path = file_paths.get(problem.entry).map_or("", String::as_str);
                    let named = CalledFile { encoding, ..CalledFile::by_path(file_path) };
                    explain::edit_problem(call, named, problem)
                };
                error.problems.iter().map(explained).collect::<Vec<Problem>>()
            }
        };
        failure(context, tool, problems)
    })?;
    if let (Some(shown), true) = (&context.shown, expected.is_some()) {
        shown.record_edits(&done.outcome);
    }
    let name =
        |edited: &mcp_text_editor_store::Edited| done.file_paths.get(edited.entry).map_or("", String::as_str);
    let story =
        context.shows_views.then(|| story::outcome(context, tool, &done.outcome, name, expected.is_none()));
    let reply = match (expected, context.config.output) {
        (None, Output::Text) => {
            Reply { text: words::count(&done, &context.capacity), structured: None, story: None }
        }
        (_, Output::Text) => {
            let value = words::json(&done, false, hashes(context), 3, &context.capacity);
            Reply { structured: None, ..json_reply(value) }
        }
        (expected, Output::Json) => {
            let most = done.outcome.files.len();
            json_reply(words::json(&done, expected.is_none(), hashes(context), most, &context.capacity))
        }
    };
    Ok(Reply { story, ..reply })
}
