//! The server of a process: its tools and its calls. The limit on concurrent calls bounds the number of calls
//! that work at the same time.
//!
//! Calls work on blocking threads, except those whose results are at hand (`at_hand`). Calls beyond the limit
//! wait for their turn; the limit is common to all sessions. A call that panics is answered with an error,
//! and has no effect on the session or other calls.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ErrorData, JsonObject, MetaObject, Tool as ListedTool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde_json::json;

use super::instructions::instructions;
use super::turns::Turns;
use super::{measure, resources};
use crate::config::{Config, Output};
use crate::context::Context;
use crate::limits::Limit;
use crate::tool_id::ToolId;
use crate::tools::{self, APP_TOOLS, AppTool, Tool};

/// The time for which calls that change nothing may still run once the process must end. It is enough for a
/// script that pipes in calls and then reads the answers, and less than clients wait before they kill the
/// process.
const LAST_LOOKS: Duration = Duration::from_secs(1);

/// The interval of progress reports. The least patient clients give up after ten seconds without a report,
/// opencode after sixty.
const INTERVAL: Duration = Duration::from_secs(5);

/// A call of an extra tool, in progress.
pub type ExtraCall<'a> = Pin<Box<dyn Future<Output = Result<CallToolResult, ErrorData>> + Send + 'a>>;

/// Tools that a server has in addition to its own, for tests of the protocol. They can return any content
/// that the protocol has. The limit on concurrent calls does not apply to them, and metrics do not count
/// them.
pub trait ExtraTools: fmt::Debug + Send + Sync {
    /// Returns the tools as clients see them. The server calls this once.
    fn listed(&self) -> Vec<ListedTool>;

    /// Begins a call; `None` if there is no tool of this name. The server calls this only for names that none
    /// of its own tools has.
    fn call<'a>(
        &'a self,
        name: &str,
        arguments: JsonObject,
        request: &'a RequestContext<RoleServer>,
    ) -> Option<ExtraCall<'a>>;
}

/// The server of a process. Clones are handles of the same server, one for each session. They share the list
/// of tools, and the limit on concurrent calls.
#[derive(Clone, Debug)]
pub struct Server {
    context: Arc<Context>,
    tools: &'static [Tool],
    /// The tools besides the server's own.
    pub(super) extra: Option<Arc<dyn ExtraTools>>,
    listed: Arc<OnceLock<Vec<ListedTool>>>,
    pub(super) turns: Arc<Turns>,
    /// The interval in which the progress of a call is reported.
    pub(super) progress_every: Duration,
    /// Whether calls are timed and counted.
    pub(super) is_measured: bool,
    /// The moment at which calls that change nothing are cancelled; set once the process is ending.
    pub(super) last_looks: Arc<OnceLock<Instant>>,
}

impl Server {
    /// Returns the known reason why edits would be refused now, without waiting. If there is a reason, begins
    /// an attempt to remove the reason in the background.
    #[must_use]
    pub fn why_edits_wait(&self) -> Option<String> {
        let why = self.context.workspace.why_edits_wait();
        if why.is_some() {
            let context = Arc::clone(&self.context);
            tokio::task::spawn_blocking(move || context.workspace.open_what_is_back());
        }
        why
    }

    /// Makes the server of all tools that the configuration offers.
    #[must_use]
    pub fn new(context: Context) -> Self {
        Self::with_tools(context, tools::ALL)
    }

    /// Makes a server of these tools, as far as the configuration offers them; for tests of the protocol.
    #[must_use]
    pub fn with_tools(context: Context, tools: &'static [Tool]) -> Self {
        let turns = Arc::new(Turns::new(context.config.limits.size(Limit::Calls)));
        let listed = Arc::default();
        Self {
            context: Arc::new(context),
            tools,
            extra: None,
            listed,
            turns,
            progress_every: INTERVAL,
            is_measured: false,
            last_looks: Arc::default(),
        }
    }

    /// Offers these tools, too; for tests of the protocol.
    #[must_use]
    pub fn with_extra(self, extra: Arc<dyn ExtraTools>) -> Self {
        Self { extra: Some(extra), listed: Arc::default(), ..self }
    }

    /// Sets the interval in which the progress of a call is reported; for tests of the protocol.
    #[must_use]
    pub fn with_progress_every(self, progress_every: Duration) -> Self {
        Self { progress_every, ..self }
    }

    /// Makes the server remember the lines of files that the client is shown. The server must have only one
    /// connection. Does nothing if no tool that reads is offered.
    #[must_use]
    pub fn remembering(self) -> Self {
        let mut context = (*self.context).clone();
        context.shown = context.config.tools.contains(ToolId::Get).then(Arc::default);
        Self { context: Arc::new(context), ..self }
    }

    /// Makes the server time and count calls.
    #[must_use]
    pub fn measured(self) -> Self {
        measure::install();
        Self { is_measured: true, ..self }
    }

    /// Ends the server. Calls that change nothing are cancelled after `LAST_LOOKS`, because hardly any client
    /// waits for their answers. Edits are completed.
    pub fn end(&self) {
        self.last_looks.get_or_init(|| Instant::now() + LAST_LOOKS);
    }

    /// Returns the context of the process, without the data of a client.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Finds the tool of this name, offered or not.
    pub(super) fn tool(&self, name: &str) -> Option<&'static Tool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// Returns the server's own tools that are offered.
    pub(super) fn offered(&self) -> impl Iterator<Item = &'static Tool> {
        self.tools.iter().filter(|tool| self.context.config.tools.contains(tool.id))
    }

    /// Returns the offered tools as clients see them.
    #[must_use]
    pub fn listed(&self) -> &[ListedTool] {
        self.listed.get_or_init(|| {
            let own = self.offered().map(|tool| listed(tool, &self.context.config));
            own.chain(self.extra.iter().flat_map(|extra| extra.listed())).collect()
        })
    }

    /// Returns the tools as this client sees them. A client that shows views also gets the tools that only
    /// views call, and the URI of the view in the editing tools. Claude's programs also get hints.
    pub(super) fn listed_for(&self, client: &Context) -> Vec<ListedTool> {
        let mut listed = self.listed().to_vec();
        for tool in &mut listed {
            let known = self.tool(&tool.name);
            let mut meta = known.map_or_else(MetaObject::default, |tool| hints(tool, client));
            if client.shows_views && known.is_some_and(|tool| !tool.id.is_read_only()) {
                meta.extend(resources::of_tool());
            }
            tool.meta = Some(meta).filter(|meta| !meta.is_empty());
        }
        if client.shows_views && tools::offers_app_tools(&self.context.config.tools) {
            listed.extend(APP_TOOLS.iter().map(listed_app_tool));
        }
        listed
    }

    /// Returns the text about the whole server that clients show to models, with as many of the served
    /// directories as fit.
    #[must_use]
    pub fn instructions(&self) -> String {
        instructions(|tool| self.context.config.tools.contains(tool), &self.context.workspace)
    }
}

fn listed_app_tool(tool: &AppTool) -> ListedTool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.is_read_only)
        .destructive(!tool.is_read_only)
        .idempotent(tool.is_read_only)
        .open_world(false);
    ListedTool::new(tool.name, tool.description, Arc::new(tool.arguments()))
        .with_title(tool.title)
        .with_annotations(annotations)
        .with_meta(resources::of_app_tool())
}

fn listed(tool: &Tool, config: &Config) -> ListedTool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.id.is_read_only())
        .destructive(tool.destructive)
        .idempotent(tool.idempotent)
        .open_world(false);
    let is_offered = |tool| config.tools.contains(tool);
    let (description, schema) = (tool.description_for(is_offered), tool.arguments.schema(&is_offered));
    let listed = ListedTool::new(tool.name(), description, Arc::new(schema))
        .with_title(tool.title)
        .with_annotations(annotations);
    match config.output {
        Output::Text => listed,
        Output::Json => listed.with_raw_output_schema(Arc::new(tool.output())),
    }
}

/// The maximum number of characters of a reply that Claude's programs show, unless a tool declares more.
const SHOWN: usize = 50_000;

/// Returns the hints about a tool for Claude's programs; nothing for any other client. These programs hide
/// the tools of servers behind a search, except tools whose hints say that the model should see them at once.
/// <https://code.claude.com/docs/en/mcp>, and Claude Code 2.1.332.
fn hints(tool: &Tool, client: &Context) -> MetaObject {
    let mut hints = JsonObject::new();
    if client.client.as_deref().is_some_and(|name| name.starts_with("claude")) {
        match tool.search_hint {
            None => hints.insert("anthropic/alwaysLoad".to_owned(), json!(true)),
            Some(words) => hints.insert("anthropic/searchHint".to_owned(), json!(words)),
        };
        let capacity = &client.capacity;
        let longest = capacity.whole.saturating_add(capacity.text.unwrap_or(0));
        if tool.id.is_read_only() && longest > SHOWN {
            hints.insert("anthropic/maxResultSizeChars".to_owned(), json!(longest));
        }
    }
    MetaObject(hints)
}
