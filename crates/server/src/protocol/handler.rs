//! Answers each MCP request of a session, even if its work fails, is cancelled or panics.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, DiscoverResult,
    ErrorCode, ErrorData, Implementation, JsonObject, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use super::call::{Called, reported, result};
use super::server::Server;
use super::{measure, resources};
use crate::arguments::nearest;
use crate::context::{Context, Withdrawal};
use crate::limits::Exceeded;
use crate::problem::{Code, Failure, Problem};
use crate::render::limits;
use crate::tool_id::ToolId;
use crate::tools::{self, APP_TOOLS, Tool};

/// The time in milliseconds for which a client may cache the description of the server and its tools. The
/// description never changes within a process, but the next process can have other options.
pub(super) const FRESH_MS: u64 = 300_000;

/// Answers the requests of one session.
#[derive(Debug)]
pub(super) struct Handler {
    server: Server,
    session: Option<Arc<str>>,
}

impl Handler {
    /// Begins a session with this server. `session` is the session's name in the history of edits; `None` for
    /// a request that belongs to no session.
    pub(super) fn new(server: Server, session: Option<Arc<str>>) -> Self {
        Self { server, session }
    }

    /// Returns the context of a call by the client that the request names, or else by the client that began
    /// the session.
    fn context_of(&self, request: &RequestContext<RoleServer>) -> Context {
        let client = request.client_info();
        let name = client.as_ref().map(|client| client.name.as_str()).filter(|name| !name.is_empty());
        let mut context = self.server.context().of_client(name, self.session.as_ref());
        context.shows_views = shows_views(request);
        context
    }

    /// Returns the tool of this name, offered or not. A tool for views is returned only if the client shows
    /// views and the tool is offered.
    fn called(&self, name: &str, context: &Context) -> Option<Called> {
        let has_views = context.shows_views && tools::offers_app_tools(&context.config.tools);
        let of_view = || APP_TOOLS.iter().find(|tool| has_views && tool.name == name);
        self.server.tool(name).map(Called::from).or_else(|| of_view().map(Called::from))
    }

    fn unknown_tool(&self, name: &str) -> String {
        let name: String = name.chars().take(60).collect();
        match nearest(&name, self.server.offered().map(Tool::name)) {
            Some(near) => format!("Unknown tool: {name}; did you mean {near}?"),
            None => format!("Unknown tool: {name}"),
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let name =
            Implementation::new("mcp-text-editor", env!("CARGO_PKG_VERSION")).with_title("Text editor");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(name)
            .with_instructions(self.server.instructions())
    }

    async fn discover(&self, request: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut info = self.get_info();
        if shows_views(&request) {
            declare_views(&mut info.capabilities);
        }
        if knows_skills(&request) {
            let extensions = info.capabilities.extensions.get_or_insert_default();
            extensions.insert(resources::SKILLS.to_owned(), JsonObject::new());
            info.capabilities.resources = Some(ResourcesCapability::default());
        }
        Ok(DiscoverResult::from_server_info(versions, info)
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        if cursor.is_some_and(|cursor| !cursor.is_empty()) {
            return Err(ErrorData::invalid_params("the list of tools has one page, and no cursor", None));
        }
        Ok(ListToolsResult::with_all_items(self.server.listed_for(&self.context_of(&context)))
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let calls = self.context_of(&context);
        let Some(tool) = self.called(&request.name, &calls) else {
            let arguments = request.arguments.unwrap_or_default();
            let extra = self.server.extra.as_deref();
            return match extra.and_then(|extra| extra.call(&request.name, arguments, &context)) {
                Some(call) => call.await.map(CallToolResponse::from),
                None => Err(ErrorData::invalid_params(self.unknown_tool(&request.name), None)),
            };
        };
        let began = self.server.is_measured.then(Instant::now);
        let outcome = if tool.id.is_some_and(|id| !calls.config.tools.contains(id)) {
            Err(disabled(tool, &calls))
        } else if let Some(exceeded) = context.extensions.get::<Exceeded>() {
            Err(tool.failure(limits::exceeded(&calls.config.limits, *exceeded)))
        } else {
            let withdrawal = context.extensions.get::<Withdrawal>().cloned().unwrap_or_default();
            let (token, asked) = (context.ct.clone(), withdrawal.clone());
            let cancel = self.server.cancel(tool, move || token.is_cancelled() || asked.is_withdrawn());
            let is_at_work = AtomicBool::new(false);
            let arguments = request.arguments.unwrap_or_default();
            let work = self.server.run(tool, arguments, cancel.clone(), &calls, &is_at_work);
            let every = self.server.progress_every;
            let outcome = reported(work, every, tool.name, &is_at_work, &cancel, &context).await;
            if withdrawal.is_withdrawn() && outcome.as_ref().is_err_and(Failure::is_cancelled) {
                withdrawal.acknowledge();
            }
            outcome
        };
        if let Some(began) = began {
            measure::call(tool.name, began.elapsed(), outcome.as_ref().err());
        }
        Ok(result(tool, outcome, &calls).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (views, skills) = resources_of(&context, "resources/list")?;
        let listed =
            views.then(resources::view_resource).into_iter().chain(skills.then(resources::skill_resource));
        Ok(ListResourcesResult::with_all_items(listed.collect())
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let (views, skills) = resources_of(&context, "resources/read")?;
        let found = resources::read(&request.uri, views, skills);
        let found = found.map(|found| found.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private));
        found.map(ReadResourceResponse::from).ok_or_else(|| {
            let listed = "resources/list has the resources that there are";
            ErrorData::resource_not_found(listed, None)
        })
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A request of a known method also arrives here, if its parameters do not have the method's form.
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

/// Tells whether the client of a request has declared that it shows views: in the request, or when the
/// session began.
fn shows_views(request: &RequestContext<RoleServer>) -> bool {
    resources::are_views_shown(request.client_capabilities().as_ref())
}

/// Tells whether the client of a request has declared that it knows skills.
pub(super) fn knows_skills(request: &RequestContext<RoleServer>) -> bool {
    resources::are_skills_known(request.client_capabilities().as_ref())
}

/// Returns whether the client shows views, and whether it knows skills. For a client that does neither,
/// returns the error for an unknown method, because there are no resources.
fn resources_of(request: &RequestContext<RoleServer>, method: &str) -> Result<(bool, bool), ErrorData> {
    match (shows_views(request), knows_skills(request)) {
        (false, false) => Err(not_offered(method)),
        known => Ok(known),
    }
}

/// Declares the extension for views, and also resources, because views are resources.
pub(super) fn declare_views(capabilities: &mut ServerCapabilities) {
    capabilities.extensions = Some(resources::views_declared());
    capabilities.resources = Some(ResourcesCapability::default());
}

fn not_offered(method: &str) -> ErrorData {
    let method: String = method.chars().take(60).collect();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

fn disabled(tool: Called, context: &Context) -> Failure {
    let offered = &context.config.tools;
    let problem = Problem::new(
        Code::ToolDisabled,
        format!("{} is switched off in this server", tool.name),
        format!("use one of {offered}; whoever configures the server can offer more with --tools"),
    );
    // The suggestion is the first offered tool, which is the reading tool if that is offered.
    let instead = ToolId::ALL.iter().find(|tool| offered.contains(**tool)).map_or("", |tool| tool.name());
    Failure::of(problem, instead, !tool.is_read_only)
}
