//! The server of a process: its tools, and its calls, of which no more work at a time than the limit allows.
//!
//! Calls work on blocking threads, except those whose results are at hand (`at_hand`). Calls beyond the limit
//! wait for their turn, whichever session they come from. A call that panics is answered, and ends nothing
//! else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rmcp::model::{MetaObject, ToolAnnotations};
use serde_json::{Map, Value};

use super::called::Called;
use super::extra::ExtraTools;
use super::hints;
use super::instructions::instructions;
use super::measure;
use super::progress;
use super::turns::Turns;
use super::views;
use crate::config::{Config, Output};
use crate::context::{Cancel, Context, Reply};
use crate::limits::Limit;
use crate::problem::{Code, Failure, Problem};
use crate::render::{directories, explain};
use crate::tool_id::ToolId;
use crate::tools::{self, APP_TOOLS, AppTool, Tool};

/// The time that calls which change nothing have once the process ends: enough for the calls of a script that
/// pipes them in and then reads the answers, less than clients wait before they kill.
const LAST_LOOKS: Duration = Duration::from_secs(1);

/// The server of a process. Clones are handles of the same server, so that each session can have one: they
/// share the list of tools, and the limit of calls that work at the same time.
#[derive(Clone, Debug)]
pub struct Server {
    context: Arc<Context>,
    tools: &'static [Tool],
    extra: Option<Arc<dyn ExtraTools>>,
    listed: Arc<OnceLock<Vec<rmcp::model::Tool>>>,
    pub(super) turns: Arc<Turns>,
    progress_every: Duration,
    is_measured: bool,
    /// The moment at which calls that change nothing are cancelled, once the process ends.
    last_looks: Arc<OnceLock<Instant>>,
}

impl Server {
    /// Tells why edits would be refused now, as far as is known, without waiting. If there is a reason, an
    /// attempt to remove it begins in the background.
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
            progress_every: progress::INTERVAL,
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

    /// Remembers what the only connection of this server is shown of files, if a tool that reads is offered.
    #[must_use]
    pub fn remembering(self) -> Self {
        let mut context = (*self.context).clone();
        context.shown = context.config.tools.contains(ToolId::Get).then(Arc::default);
        Self { context: Arc::new(context), ..self }
    }

    /// Has calls timed and counted.
    #[must_use]
    pub fn measured(self) -> Self {
        measure::install();
        Self { is_measured: true, ..self }
    }

    /// Ends the server: its calls that change nothing are cancelled in a moment, since hardly anybody waits
    /// for their answers. Edits are completed.
    pub fn end(&self) {
        self.last_looks.get_or_init(|| Instant::now() + LAST_LOOKS);
    }

    /// Returns the signal by which a call of this tool is cancelled: once `is_withdrawn` returns true or,
    /// if the call changes nothing, when the server has ended.
    pub(super) fn cancel(
        &self,
        tool: Called,
        is_withdrawn: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Cancel {
        let last_looks = Arc::clone(&self.last_looks);
        let is_over = move || last_looks.get().is_some_and(|end| Instant::now() >= *end);
        Cancel::new(move || is_withdrawn() || tool.is_read_only() && is_over())
    }

    /// Tells whether calls are timed and counted.
    pub(super) fn is_measured(&self) -> bool {
        self.is_measured
    }

    /// Returns what holds for every call of the process.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the interval in which the progress of a call is reported.
    pub(super) fn progress_every(&self) -> Duration {
        self.progress_every
    }

    /// Finds the tool of this name, offered or not.
    pub(super) fn tool(&self, name: &str) -> Option<&'static Tool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// Returns the tools besides the server's own.
    pub(super) fn extra(&self) -> Option<&dyn ExtraTools> {
        self.extra.as_deref()
    }

    /// Returns those of the server's own tools that are offered.
    pub(super) fn offered(&self) -> impl Iterator<Item = &'static Tool> {
        self.tools.iter().filter(|tool| self.context.config.tools.contains(tool.id))
    }

    /// Returns the tools that are offered as clients see them.
    #[must_use]
    pub fn listed(&self) -> &[rmcp::model::Tool] {
        self.listed.get_or_init(|| {
            let own = self.offered().map(|tool| listed(tool, &self.context.config));
            own.chain(self.extra.iter().flat_map(|extra| extra.listed())).collect()
        })
    }

    /// Returns the tools as the client of a session sees them. One that shows views gets the tools that only
    /// views call, and the name of the view in those that edit. One that reads hints gets those.
    pub(super) fn listed_for(&self, client: &Context) -> Vec<rmcp::model::Tool> {
        let mut listed = self.listed().to_vec();
        for tool in &mut listed {
            let known = self.tool(&tool.name);
            let mut meta = known.map_or_else(MetaObject::default, |tool| hints::of_tool(tool, client));
            if client.shows_views && known.is_some_and(|tool| !tool.id.is_read_only()) {
                meta.extend(views::of_tool());
            }
            tool.meta = Some(meta).filter(|meta| !meta.is_empty());
        }
        if client.shows_views && tools::offers_app_tools(&self.context.config.tools) {
            listed.extend(APP_TOOLS.iter().map(listed_app_tool));
        }
        listed
    }

    /// Returns what a model is told of the server as a whole, its roots included as far as there is room.
    #[must_use]
    pub fn instructions(&self) -> String {
        instructions(|tool| self.context.config.tools.contains(tool), &self.context.workspace)
    }

    /// Runs a call when it is its turn, and sets `is_at_work` then. `context` is that of the client which
    /// made the call.
    pub(super) async fn run(
        &self,
        tool: Called,
        arguments: Map<String, Value>,
        cancel: Cancel,
        context: &Context,
        is_at_work: &AtomicBool,
    ) -> Result<Reply, Failure> {
        let fail = |problem| Err(Failure::of(problem, tool.name(), !tool.is_read_only()));
        let turn = self.turns.next(tool.is_finding()).await;
        is_at_work.store(true, Ordering::Relaxed);
        if cancel.is_cancelled() {
            return fail(explain::cancelled());
        }
        let cancel = cancel.within(Duration::from_secs(context.config.limits.get(Limit::Seconds)));
        let context = context.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            if context.workspace.serves_nothing() {
                let problem = directories::nothing_served(&context.workspace);
                return Err(Failure::of(problem, tool.name(), !tool.is_read_only()));
            }
            tool.run(&context, arguments, &cancel)
        });
        work.await.unwrap_or_else(|_| Err(panicked(tool, &self.context)))
    }
}

fn listed_app_tool(tool: &AppTool) -> rmcp::model::Tool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.is_read_only)
        .destructive(!tool.is_read_only)
        .idempotent(tool.is_read_only)
        .open_world(false);
    rmcp::model::Tool::new(tool.name, tool.description, Arc::new(tool.arguments()))
        .with_title(tool.title)
        .with_annotations(annotations)
        .with_meta(views::of_app_tool())
}

fn listed(tool: &Tool, config: &Config) -> rmcp::model::Tool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.id.is_read_only())
        .destructive(tool.destructive)
        .idempotent(tool.idempotent)
        .open_world(false);
    let is_offered = |tool| config.tools.contains(tool);
    let (description, schema) = (tool.description_for(is_offered), tool.arguments.schema(&is_offered));
    let listed = rmcp::model::Tool::new(tool.name(), description, Arc::new(schema))
        .with_title(tool.title)
        .with_annotations(annotations);
    match config.output {
        Output::Text => listed,
        Output::Json => listed.with_raw_output_schema(Arc::new(tool.output())),
    }
}

/// Makes the failure of a call that panicked. It does not say that nothing was written, because that is not
/// known.
pub(super) fn panicked(tool: Called, context: &Context) -> Failure {
    let hint = if tool.is_read_only() {
        "this is a defect of the server, please report it; another way to ask may succeed"
    } else {
        "this is a defect of the server, please report it; read the files to see whether the edit was made"
    };
    let problem = Problem::new(Code::InternalError, "the server failed on this call", hint);
    let next = Some(ToolId::Get).filter(|tool| context.config.tools.contains(*tool));
    Failure::of(problem, next.map_or(tool.name(), ToolId::name), false)
}
