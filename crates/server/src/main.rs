//! The program: reads the command line, starts the log, and does what was asked for.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use mcp_text_editor::cli::{self, Action, HistoryAction, call, history, tools};
use mcp_text_editor::config::{Landlock, LogLevel, StateOptions};
use mcp_text_editor::context::Context;
use mcp_text_editor::limits::Limit;
use mcp_text_editor::protocol::server::Server;
use mcp_text_editor::render::directories;
use mcp_text_editor::transport::stdio;
use mcp_text_editor_store::access::landlock::{self, Confinement, Gap, Network};
use mcp_text_editor_store::access::policy::Policy;
use mcp_text_editor_store::access::roots::Roots;
use mcp_text_editor_store::history::History;
use mcp_text_editor_store::os::fd_limit;
use mcp_text_editor_store::os::signals;
use mcp_text_editor_store::recovery::recover;
use mcp_text_editor_store::state_dir::StateDir;
use mcp_text_editor_store::workspace::Workspace;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

fn main() -> ExitCode {
    let command = match cli::resolve(cli::Arguments::parse()) {
        Ok(command) => command,
        Err(message) => return complain(&message, 2),
    };
    start_log(command.log_level);
    run(command).unwrap_or_else(|error| complain(&format!("{error:#}"), 1))
}

fn run(command: cli::Command) -> anyhow::Result<ExitCode> {
    if let Err(error) = fd_limit::raise_limit() {
        tracing::warn!(%error, "the limit of open files cannot be raised: an edit of very many files may fail");
    }
    if let Err(error) = signals::outlive_size_limit() {
        tracing::warn!(%error, "SIGXFSZ cannot be handled: a write beyond ulimit -f will end this process");
    }
    let landlock = command.access.landlock;
    let other =
        command.state_options.other_state_directory.clone().filter(|other| history::is_kept_in(other));
    let mut state_options = command.state_options.clone();
    if let (
        Action::History(HistoryAction::Undo { edit_id, .. } | HistoryAction::Contents { edit_id }),
        Some(other),
    ) = (&command.action, &other)
    {
        // The id says which of the two histories is meant.
        let elsewhere = StateOptions { state_directory: Some(other.clone()), ..state_options.clone() };
        let own = open_workspace(open_roots(&command)?, state_options.clone(), &command.action);
        let others = open_workspace(open_roots(&command)?, elsewhere.clone(), &command.action);
        if !history::holds(&own, edit_id) && history::holds(&others, edit_id) {
            state_options = elsewhere;
        }
    }
    let mut workspace = open_workspace(open_roots(&command)?, state_options, &command.action);
    workspace.max_file_bytes = command.config.limits.get(Limit::File);
    // For the other subcommands no roots are open yet, and nothing that a model wrote is read.
    if matches!(command.action, Action::Serve | Action::Call { .. }) {
        confine(&workspace, landlock)?;
        if !workspace.roots.are_read_only() {
            recover(&workspace);
        }
    }
    let server = |workspace| Server::new(Context::new(command.config, workspace));
    let mut out = io::stdout();
    match command.action {
        Action::Serve => {
            stdio::serve(server(workspace)).context("serving MCP over standard input and output failed")?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Call { tool, values, json } => {
            let arguments = call::arguments(&tool, &values, json.as_deref())?;
            let done = call::call(server(workspace), tool, arguments, &mut out)?;
            Ok(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Action::Tools { markdown: true } => {
            out.write_all(tools::markdown().as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Tools { markdown: false } => {
            writeln!(out, "{}", tools::listing(&server(workspace))?)?;
            Ok(ExitCode::SUCCESS)
        }
        // Writes the bytes unchanged: `anstream` would take escape sequences out of them.
        Action::History(HistoryAction::Contents { edit_id }) => {
            history::contents(&workspace, &edit_id, &mut out)?;
            Ok(ExitCode::SUCCESS)
        }
        Action::History(action) => {
            let mut out = anstream::stdout();
            let asks_for_all = matches!(action, HistoryAction::Show { .. } | HistoryAction::Forget { .. });
            match action {
                HistoryAction::Show { path, limit } => {
                    history::show(&workspace, path.as_deref(), limit, &mut out)?;
                }
                HistoryAction::Forget { path } => history::forget(&workspace, path.as_deref(), &mut out)?,
                HistoryAction::Undo { edit_id, dry_run } => {
                    history::undo(&mut workspace, &edit_id, dry_run, &mut out)?;
                }
                HistoryAction::Contents { .. } => {}
            }
            if let (true, Some(other)) = (asks_for_all, &other) {
                complain(&history::elsewhere(other), 0);
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Opens the allowed directories, with what may not be done in them. A server opens those that exist and logs why it
/// does not serve the others; the subcommands fail if one cannot be opened.
fn open_roots(command: &cli::Command) -> anyhow::Result<Roots> {
    let paths: Vec<PathBuf> = command.roots.iter().map(|root| root.path.clone()).collect();
    let access = &command.access;
    let mut policy = Policy::default()
        .read_only(access.read_only)
        .protecting(access.protected.clone().from_roots(&paths))
        .exempting(access.unprotected.clone().from_roots(&paths));
    if let Some(directory) = state_directory(&command.state_options, &command.action) {
        policy = policy.closing(directory);
    }
    if !matches!(command.action, Action::Serve) {
        return Roots::open_with(&paths, policy).context("an allowed directory cannot be opened");
    }
    let opened = Roots::open_what_is_there(&command.roots, command.unserved.clone(), policy);
    for unserved in opened.unserved() {
        tracing::error!("{}; {}", directories::why(unserved), directories::REMEDY);
    }
    Ok(opened)
}

fn state_directory<'a>(state_options: &'a StateOptions, action: &Action) -> Option<&'a Path> {
    state_options.state_directory.as_deref().filter(|_| !matches!(action, Action::Tools { .. }))
}

/// Makes the workspace of all calls. A state directory that cannot be opened is not an error: it is logged, and
/// replies warn of what is lost with it.
fn open_workspace(opened: Roots, state_options: StateOptions, action: &Action) -> Workspace {
    let state = state_directory(&state_options, action).map(StateDir::open);
    let roots: Vec<PathBuf> = opened.paths().map(Path::to_owned).collect();
    for root in opened.paths().filter(|root| opened.closes(root)) {
        tracing::warn!(root = %root.display(), "an allowed directory lies in the state directory: nothing in it can be read");
    }
    let in_place = state_options.in_place.from_roots(&roots);
    let mut workspace =
        Workspace { in_place, durability: state_options.durability, ..Workspace::without_state(opened) };
    match state {
        Some(Ok(state)) => {
            if let Some(mut settings) = state_options.history {
                settings.excluded = settings.excluded.from_roots(&roots);
                workspace.history = History::new(&state, settings);
            }
            workspace.state_dir = Some(state);
        }
        Some(Err(error)) => {
            let why = error.source.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            let reason = format!("the state directory {} cannot be used{why}", error.path.display());
            tracing::warn!("edits have no journal and no history: {reason}");
            if state_options.history.is_some() {
                workspace.history = History::without_state(reason);
            }
        }
        None if state_options.history.is_some() => {
            workspace.history = History::without_state("there is no state directory".to_owned());
        }
        None => {}
    }
    workspace
}

/// Has the kernel deny access to everything but the roots and the state directory. Runs as the last step before the
/// work, because nothing else can be opened afterwards, and before any other thread is started, because Landlock
/// would not bind it.
fn confine(workspace: &Workspace, landlock: Landlock) -> anyhow::Result<()> {
    if landlock == Landlock::Off {
        tracing::info!("Landlock: off");
        return Ok(());
    }
    let why_not = match landlock::confine(
        &workspace.roots,
        workspace.state_dir.as_ref().map(StateDir::directory),
        Network::Closed,
    ) {
        Ok(Confinement::Held { abi, gaps }) => {
            let holds = !gaps.contains(&Gap::Truncation);
            let gaps: Vec<String> = gaps.iter().map(ToString::to_string).collect();
            let open = if gaps.is_empty() { "nothing".to_owned() } else { gaps.join(", ") };
            tracing::info!(
                "Landlock: ABI {abi} keeps this process to its directories; it leaves open: {open}"
            );
            if holds {
                None
            } else {
                Some(format!("ABI {abi} leaves truncation open; Linux 6.2 and later does not"))
            }
        }
        Ok(Confinement::None(lack)) => {
            tracing::info!("Landlock: not available: {lack}");
            Some(lack.to_string())
        }
        Err(error) => {
            tracing::warn!("Landlock: failed: {error}");
            Some(error.to_string())
        }
    };
    match why_not {
        Some(why) if landlock == Landlock::Require => {
            anyhow::bail!("--landlock require: {why}; --landlock auto starts all the same")
        }
        _ => Ok(()),
    }
}

/// Writes a message to the person who started the program.
fn complain(message: &str, code: u8) -> ExitCode {
    // An error of writing is ignored: the exit code still tells that the program failed.
    let _ = writeln!(io::stderr(), "mcp-text-editor: {message}");
    ExitCode::from(code)
}

/// Starts the log on standard error, since standard output belongs to the protocol. No text of a file may get there:
/// the SDK logs whole requests below the level of warnings, so it stays there, and of a panic only the place is
/// logged. The SDK's warnings are about requests that it answered with an error, so they are left out unless more
/// than warnings is asked for.
fn start_log(level: LogLevel) {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let sdk = if level > LevelFilter::WARN { LevelFilter::WARN } else { level.min(LevelFilter::ERROR) };
    let targets = Targets::new().with_default(level).with_target("rmcp", sdk);
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false);
    tracing_subscriber::registry().with(targets).with(lines).init();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
}
