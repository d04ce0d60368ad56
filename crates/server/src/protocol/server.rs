//! The protocol: what each MCP request is answered, whatever becomes of the work behind it.
//!
//! Work runs on blocking threads, so many calls at a time as the limit says; the others wait their turn. A call that panics is answered,
//! and takes nothing else down.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
    CompleteResult, ContentBlock, CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use crate::config::{Config, Output};
use crate::context::{Cancel, Context, Reply, Withdrawal};
use crate::limits::{Exceeded, Limit};
use crate::problem::{Code, Failure, Problem};
use crate::protocol::instructions::instructions;
use crate::render::{directories, explain, layout, limits};
use crate::tool_id::ToolId;
use crate::tools::{self, Tool};

/// How long a client may keep what it was told of the server and its tools. They are fixed for the life of the process;
/// the next process may have other options.
const FRESH_MS: u64 = 300_000;

/// How long a call works before its client is told that it goes on, if it asked for that, and then again: the first clients
/// give up after ten seconds without a word, opencode after sixty.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// The server of one process, for any number of sessions.
#[derive(Clone, Debug)]
pub struct Server {
    context: Arc<Context>,
    tools: &'static [Tool],
    turns: Arc<Semaphore>,
    progress_every: Duration,
}

impl Server {
    /// A server of all tools that the configuration offers.
    #[must_use]
    pub fn new(context: Context) -> Self {
        Self::with_tools(context, tools::ALL)
    }

    /// A server of these tools, as far as the configuration offers them: for tests of the protocol.
    #[must_use]
    pub fn with_tools(context: Context, tools: &'static [Tool]) -> Self {
        let turns = Arc::new(Semaphore::new(context.config.limits.size(Limit::Calls)));
        Self { context: Arc::new(context), tools, turns, progress_every: PROGRESS_EVERY }
    }

    /// The same server, which reports the progress of a call in other intervals: for tests of the protocol.
    #[must_use]
    pub fn with_progress_every(self, progress_every: Duration) -> Self {
        Self { progress_every, ..self }
    }

    /// The tools as clients see them.
    #[must_use]
    pub fn listed(&self) -> Vec<rmcp::model::Tool> {
        let config = &self.context.config;
        let offered = self.tools.iter().filter(|tool| config.tools.contains(tool.id));
        offered.map(|tool| listed(tool, config)).collect()
    }

    /// What a model is told of the server as a whole, its roots included as far as there is room.
    #[must_use]
    pub fn instructions(&self) -> String {
        instructions(|tool| self.context.config.tools.contains(tool), &self.context.workspace.roots)
    }

    /// Runs a call, and tells a client that asked for it from time to time that it goes on, never after it has ended.
    async fn run_and_report(
        &self,
        tool: &'static Tool,
        request: CallToolRequestParams,
        cancel: Cancel,
        calls: &Context,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, Failure> {
        let is_at_work = Arc::new(AtomicBool::new(false));
        let work = self.run(tool, request, cancel.clone(), calls, Arc::clone(&is_at_work));
        let Some(token) = context.meta.get_progress_token() else { return work.await };
        let mut work = pin!(work);
        let began = Instant::now();
        loop {
            if let Ok(outcome) = tokio::time::timeout(self.progress_every, work.as_mut()).await {
                return outcome;
            }
            if cancel.is_cancelled() {
                continue;
            }
            let elapsed = began.elapsed();
            let what = if is_at_work.load(Ordering::Relaxed) { "at work" } else { "waiting for its turn" };
            let progress = ProgressNotificationParam::new(token.clone(), elapsed.as_secs_f64())
                .with_message(format!("{}: {what} for {} s", tool.name(), elapsed.as_secs()));
            // Who is gone need not be told.
            let _ = context.peer.notify_progress(progress).await;
        }
    }

    fn unknown_tool(&self, name: &str) -> String {
        let name: String = name.chars().take(60).collect();
        let offered = self.tools.iter().filter(|tool| self.context.config.tools.contains(tool.id));
        let near = offered
            .map(|tool| (strsim::jaro_winkler(tool.name(), &name), tool.name()))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|one, other| one.0.total_cmp(&other.0));
        match near {
            Some((_, near)) => format!("Unknown tool: {name}; did you mean {near}?"),
            None => format!("Unknown tool: {name}"),
        }
    }

    async fn run(
        &self,
        tool: &'static Tool,
        request: CallToolRequestParams,
        cancel: Cancel,
        context: &Context,
        is_at_work: Arc<AtomicBool>,
    ) -> Result<Reply, Failure> {
        if self.context.workspace.roots.are_all_unserved() {
            let problem = directories::nothing_served(&self.context.workspace.roots);
            return Err(Failure::of(problem, tool.name(), !tool.id.is_read_only()));
        }
        // The semaphore is never closed, so this only waits.
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        is_at_work.store(true, Ordering::Relaxed);
        if cancel.is_cancelled() {
            return Err(Failure::of(explain::cancelled(), tool.name(), !tool.id.is_read_only()));
        }
        let context = context.clone();
        let cancel = cancel.within(Duration::from_secs(context.config.limits.get(Limit::Seconds)));
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            (tool.run)(&context, request.arguments.unwrap_or_default(), &cancel)
        });
        work.await.unwrap_or_else(|_| Err(panicked(tool, &self.context)))
    }
}

fn result(outcome: Result<Reply, Failure>, context: &Context) -> CallToolResult {
    match outcome {
        Ok(reply) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
            result.structured_content = reply.structured;
            result
        }
        Err(failed) => {
            let text = match context.config.output {
                Output::Text => layout::text_within(&failed, &context.room),
                Output::Json => layout::json_within(&failed, &context.room),
            };
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let name =
            Implementation::new("mcp-text-editor", env!("CARGO_PKG_VERSION")).with_title("Text editor");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(name)
            .with_instructions(self.instructions())
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        if cursor.is_some_and(|cursor| !cursor.is_empty()) {
            return Err(ErrorData::invalid_params("the list of tools has one page, and no cursor", None));
        }
        Ok(ListToolsResult::with_all_items(self.listed())
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name() == request.name) else {
            return Err(ErrorData::invalid_params(self.unknown_tool(&request.name), None));
        };
        let client = context.client_info();
        let calls = self.context.of_client(client.as_ref().map(|client| client.name.as_str()));
        let is_offered = self.context.config.tools.contains(tool.id);
        let outcome = if let Some(exceeded) = context.extensions.get::<Exceeded>().filter(|_| is_offered) {
            let problem = limits::exceeded(&self.context.config.limits, *exceeded);
            Err(Failure::of(problem, tool.name(), !tool.id.is_read_only()))
        } else if is_offered {
            let withdrawal = context.extensions.get::<Withdrawal>().cloned().unwrap_or_default();
            let (token, asked) = (context.ct.clone(), withdrawal.clone());
            let cancel = Cancel::new(move || token.is_cancelled() || asked.is_withdrawn());
            let outcome = self.run_and_report(tool, request, cancel, &calls, &context).await;
            if withdrawal.is_withdrawn() && outcome.as_ref().is_err_and(Failure::is_cancelled) {
                withdrawal.heed();
            }
            outcome
        } else {
            Err(disabled(tool, &self.context))
        };
        Ok(result(outcome, &calls).into())
    }

    // The SDK answers these with an empty success where nothing is declared; they do not exist here.

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(not_offered("completion/complete"))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_offered("prompts/list"))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(not_offered("resources/list"))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(not_offered("resources/templates/list"))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A request of a known method arrives here when its parameters do not have the method's form.
        match request.method.as_str() {
            "tools/call" => Err(ErrorData::invalid_params(
                "tools/call takes params of the form {\"name\": STRING, \"arguments\": OBJECT}",
                None,
            )),
            "initialize" | "tools/list" | "server/discover" | "ping" => {
                Err(ErrorData::invalid_params(format!("{} takes other params", request.method), None))
            }
            method => Err(not_offered(method)),
        }
    }
}

fn listed(tool: &Tool, config: &Config) -> rmcp::model::Tool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.id.is_read_only())
        .destructive(tool.destructive)
        .idempotent(tool.idempotent)
        .open_world(false);
    let description = tool.description_beside(|tool| config.tools.contains(tool));
    let listed = rmcp::model::Tool::new(tool.name(), description, Arc::new((tool.input)()))
        .with_title(tool.title)
        .with_annotations(annotations);
    match config.output {
        Output::Text => listed,
        Output::Json => listed.with_raw_output_schema(Arc::new((tool.output)())),
    }
}

fn not_offered(method: &str) -> ErrorData {
    let method: String = method.chars().take(60).collect();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

fn disabled(tool: &Tool, context: &Context) -> Failure {
    let offered = &context.config.tools;
    let problem = Problem::new(
        Code::ToolDisabled,
        format!("{} is switched off in this server", tool.name()),
        format!("use one of {offered}; whoever configures the server can offer more with --tools"),
    );
    // What can be called instead: reading, where it is offered.
    let instead = ToolId::ALL.iter().find(|tool| offered.contains(**tool)).map_or("", |tool| tool.name());
    Failure::of(problem, instead, !tool.id.is_read_only())
}

/// What became of the files is not known here, so it is not said that nothing was written.
fn panicked(tool: &Tool, context: &Context) -> Failure {
    let hint = if tool.id.is_read_only() {
        "this is a defect of the server, please report it; another way to ask may succeed"
    } else {
        "this is a defect of the server, please report it; read the files to see whether the edit was made"
    };
    let problem = Problem::new(Code::InternalError, "the server failed on this call", hint);
    let next = Some(ToolId::Get).filter(|tool| context.config.tools.contains(*tool));
    Failure::of(problem, next.unwrap_or(tool.id).name(), false)
}
