//! The program: reads the command line, starts the log, and carries out the command.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use mcp_text_editor::cli::call::CallError;
use mcp_text_editor::cli::cluster::SharedOptions;
use mcp_text_editor::cli::install::environment::Environment;
use mcp_text_editor::cli::install::{InstallError, InstallRequest};
use mcp_text_editor::cli::workspace::confine;
use mcp_text_editor::cli::{
    self, Action, by_hand, call, doctor, documents, history, install, terminal, workspace,
};
use mcp_text_editor::config::{LogFormat, StateOptions};
use mcp_text_editor::context::Context;
use mcp_text_editor::protocol::server::Server;
use mcp_text_editor::transport::{http, stdio};
use mcp_text_editor_store::{fetch_nothing, outlive_size_limit, raise_fd_limit};

fn main() -> ExitCode {
    let command = match cli::resolve(cli::Arguments::read()) {
        Ok(command) => command,
        Err(message) => return complain(&message, 2),
    };
    terminal::start(command.log_level, command.log_format);
    run(command).unwrap_or_else(|error| complain(&format!("{error:#}"), 1))
}

fn run(command: cli::Command) -> anyhow::Result<ExitCode> {
    if let Err(error) = raise_fd_limit() {
        tracing::warn!(%error, "the limit of open files cannot be raised: an edit of very many files may fail");
    }
    if let Err(error) = fetch_nothing() {
        tracing::warn!(%error, "a file that is only in iCloud may block its reader");
    }
    if let Err(error) = outlive_size_limit() {
        tracing::warn!(%error, "SIGXFSZ cannot be handled: a write beyond ulimit -f will end this process");
    }
    let landlock = command.access.landlock;
    let other =
        command.state_options.other_state_directory.clone().filter(|other| history::is_kept_in(other));
    let workspace = workspace::open(&command, other.as_deref())?;
    // Landlock, which confines the process below, denies new listeners, so listening begins first. No
    // connection is accepted before the process is confined.
    let listening = match &command.http {
        Some(settings) => {
            let listener = http::bind(settings.address);
            Some(listener.with_context(|| format!("it cannot listen at {}", settings.address))?)
        }
        None => None,
    };
    // The other subcommands have no roots open yet, and read nothing that a model wrote.
    if matches!(command.action, Action::Serve | Action::Call { .. }) {
        confine(&workspace, landlock)?;
        if !workspace.is_read_only() {
            workspace.recover();
        }
    }
    let server = |workspace| Server::new(Context::new(command.config, workspace));
    let mut out = terminal::TerminalOutput::new();
    match command.action {
        Action::Serve => {
            if let (Some(listener), Some(settings)) = (listening, command.http) {
                let url = format!("http://{}/mcp", listener.address());
                match command.log_format {
                    LogFormat::Text => drop(complain(&format!("serving MCP at {url}"), 0)),
                    LogFormat::Json => tracing::info!(url, "serving MCP"),
                }
                http::serve(recovering(server(workspace)), listener, settings)
                    .context("serving MCP over HTTP failed")?;
                return Ok(ExitCode::SUCCESS);
            }
            by_hand::greet(&workspace);
            stdio::serve(recovering(server(workspace)))
                .context("serving MCP over standard input and output failed")?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Call { tool, values, json } => {
            let arguments = match call::arguments(&tool, &values, json.as_deref()) {
                Err(CallError::Arguments(message)) => return Ok(complain(&message, 2)),
                arguments => arguments?,
            };
            let done = call::call(server(workspace), tool, arguments, &mut out)?;
            Ok(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Action::Install(request) => install(&request, &command.state_options, &mut out),
        Action::Doctor { client, project, is_trusted, directories } => {
            let env = cli::current_dir().and_then(Environment::this).map_err(anyhow::Error::msg)?;
            let state = &command.state_options;
            let shared = command.shared.as_ref().map(SharedOptions::open).transpose()?;
            let database = shared.map(|shared| shared.examine(&directories, &mut out)).transpose()?;
            let project = project.as_deref();
            let is_well = doctor::doctor(client, project, is_trusted, &env, state, database, &mut out)?;
            Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Action::Tools { markdown: true } => {
            out.write_all(call::markdown().as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Tools { markdown: false } => {
            writeln!(out, "{}", call::listing(&server(workspace))?)?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Document(document) => {
            documents::write(&document, &mut out)?;
            Ok(ExitCode::SUCCESS)
        }
        Action::History(action) => {
            history::run(workspace, action, other.as_deref())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Makes a server recover the edits that other machines left unfinished, even if no call needs their files.
fn recovering(server: Server) -> Server {
    let workspace = &server.context().workspace;
    if !workspace.is_read_only()
        && let Err(error) = workspace.recover_in_background()
    {
        tracing::warn!(%error, "edits that other machines leave unfinished are recovered only when a call needs their files");
    }
    server
}

fn install(
    request: &InstallRequest,
    state: &StateOptions,
    out: &mut terminal::TerminalOutput,
) -> anyhow::Result<ExitCode> {
    let env = cli::current_dir().and_then(Environment::this).map_err(anyhow::Error::msg)?;
    match install::install(request, &env, state, out) {
        Err(InstallError::ByHand { why, added }) => {
            terminal::tell(&why, &added);
            Ok(ExitCode::FAILURE)
        }
        done => Ok(done.map(|()| ExitCode::SUCCESS)?),
    }
}

/// Writes a message to the person who started the program.
fn complain(message: &str, code: u8) -> ExitCode {
    terminal::tell(message, "");
    ExitCode::from(code)
}
