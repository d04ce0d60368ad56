//! Carries out a call: waits for its turn, runs its tool, reports its progress, and makes its result.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, ProgressNotificationParam};
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

use super::server::Server;
use crate::config::Output;
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limit;
use crate::problem::{Code, Failure, Problem};
use crate::render::{directories, explain, layout, story};
use crate::tool_id::ToolId;
use crate::tools::{AppTool, Run, Tool};

/// A tool that is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called {
    /// The id of the tool; `None` for a tool that only views (pages that a client shows beside a result)
    /// call. Models do not see such a tool or its result.
    pub(super) id: Option<ToolId>,
    /// The name by which the tool is called.
    pub(super) name: &'static str,
    /// Whether the tool never changes a file.
    pub(super) is_read_only: bool,
    /// Whether the tool searches or lists files or edits.
    pub(super) is_finding: bool,
    /// Runs the tool, on a thread that may block. A call whose result is at hand (see `at_hand`) can run on
    /// any thread.
    pub(super) run: Run,
}

impl From<&Tool> for Called {
    fn from(tool: &Tool) -> Self {
        let is_finding = tool.id.is_finding() || tool.id == ToolId::Edits;
        let (id, is_read_only) = (Some(tool.id), tool.id.is_read_only());
        Self { id, name: tool.name(), is_read_only, is_finding, run: tool.run }
    }
}

impl From<&AppTool> for Called {
    fn from(tool: &AppTool) -> Self {
        let AppTool { name, is_read_only, run, .. } = *tool;
        Self { id: None, name, is_read_only, is_finding: is_read_only, run }
    }
}

impl Called {
    /// Makes the failure of a call that changed nothing.
    pub(super) fn failure(self, problem: Problem) -> Failure {
        Failure::of(problem, self.name, !self.is_read_only)
    }
}

impl Server {
    /// Returns the signal by which a call of this tool is cancelled: once `is_withdrawn` returns true or, if
    /// the call changes nothing, some time after [`Server::end`].
    pub(super) fn cancel(
        &self,
        tool: Called,
        is_withdrawn: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Cancel {
        let last_looks = Arc::clone(&self.last_looks);
        let is_over = move || last_looks.get().is_some_and(|end| Instant::now() >= *end);
        Cancel::new(move || is_withdrawn() || tool.is_read_only && is_over())
    }

    /// Waits for the call's turn, sets `is_at_work`, and runs the call. `context` is the context of the
    /// client that made the call.
    pub(super) async fn run(
        &self,
        tool: Called,
        arguments: Map<String, Value>,
        cancel: Cancel,
        context: &Context,
        is_at_work: &AtomicBool,
    ) -> Result<Reply, Failure> {
        let turn = self.turns.next(tool.is_finding).await;
        is_at_work.store(true, Ordering::Relaxed);
        if cancel.is_cancelled() {
            return Err(tool.failure(explain::cancelled()));
        }
        let cancel = cancel.within(Duration::from_secs(context.config.limits.get(Limit::Seconds)));
        let context = context.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            if context.workspace.serves_nothing() {
                return Err(tool.failure(directories::nothing_served(&context.workspace)));
            }
            (tool.run)(&context, arguments, &cancel)
        });
        work.await.unwrap_or_else(|_| Err(panicked(tool, self.context())))
    }
}

/// Waits for a call. If the client has sent a progress token, notifies the client in each interval that the
/// call is still running, but never after the call has ended.
pub(super) async fn reported(
    work: impl Future<Output = Result<Reply, Failure>>,
    interval: Duration,
    tool: &'static str,
    is_at_work: &AtomicBool,
    cancel: &Cancel,
    request: &RequestContext<RoleServer>,
) -> Result<Reply, Failure> {
    let Some(token) = request.meta.get_progress_token() else { return work.await };
    let mut work = pin!(work);
    let began = Instant::now();
    loop {
        if let Ok(outcome) = tokio::time::timeout(interval, work.as_mut()).await {
            return outcome;
        }
        if cancel.is_cancelled() {
            continue;
        }
        let elapsed = began.elapsed();
        let what = if is_at_work.load(Ordering::Relaxed) { "at work" } else { "waiting for its turn" };
        let files = match cancel.files_done().load(Ordering::Relaxed) {
            0 => String::new(),
            files => format!(", {files} files so far"),
        };
        let progress = ProgressNotificationParam::new(token.clone(), elapsed.as_secs_f64())
            .with_message(format!("{tool}: {what} for {} s{files}", elapsed.as_secs()));
        // A send error is ignored: the client has disconnected.
        let _ = request.peer.notify_progress(progress).await;
    }
}

/// Makes the result of a call. The answer to a call from a view has structured content. The answer to a call
/// from a model has the story (the data about the call that a view shows) in its metadata.
pub(super) fn result(tool: Called, outcome: Result<Reply, Failure>, context: &Context) -> CallToolResult {
    let is_view = tool.id.is_none();
    let (mut result, told) = match outcome {
        Ok(reply) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
            result.structured_content = reply.structured;
            (result, reply.story)
        }
        Err(failed) => {
            let text = match context.config.output {
                Output::Text => layout::text_within(&failed, &context.capacity),
                Output::Json => layout::json_within(&failed, &context.capacity),
            };
            let is_told = context.shows_views && !tool.is_read_only || is_view;
            let told = is_told.then(|| story::failure(&failed));
            let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
            result.structured_content = told.clone().filter(|_| is_view);
            (result, told.filter(|_| !is_view))
        }
    };
    result.meta = told.map(|told| MetaObject(JsonObject::from_iter([(story::KEY.to_owned(), told)])));
    result
}

/// Makes the failure of a call that panicked. The failure does not say that nothing was written, because the
/// server does not know whether the call has written.
pub(super) fn panicked(tool: Called, context: &Context) -> Failure {
    let hint = if tool.is_read_only {
        "this is a defect of the server, please report it; another way to ask may succeed"
    } else {
        "this is a defect of the server, please report it; read the files to see whether the edit was made"
    };
    let problem = Problem::new(Code::InternalError, "the server failed on this call", hint);
    let next = Some(ToolId::Get).filter(|tool| context.config.tools.contains(*tool));
    Failure::of(problem, next.map_or(tool.name, ToolId::name), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{self, APP_TOOLS};

    #[test]
    fn what_finds_files_or_edits_leaves_turns_to_others() {
        let called = tools::ALL.iter().map(Called::from).chain(APP_TOOLS.iter().map(Called::from));
        let finding: Vec<_> = called.filter(|called| called.is_finding).map(|called| called.name).collect();
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
