//! Resolves the command line and the environment: raw arguments ([`Arguments`]) become settings of the
//! process ([`Command`]), once, at the start. No other module reads options from the environment. The store
//! finds out whether a root can be opened.

use std::path::{Component, Path, PathBuf};
use std::str::FromStr as _;

use etcetera::base_strategy::{BaseStrategy, choose_native_strategy};
use mcp_text_editor_store::{
    ConfiguredDirectory, Durability, FileOwner, HistorySettings, Patterns, Unserved, WhyUnserved,
    is_same_directory, only_when_named, real_path,
};

use super::args::{Arguments, DurabilityOption, InstallArguments, Mode, Subcommands, TypedOption};
use super::cluster::{SharedOptions, TypedShared};
use super::documents::CommandDocument;
use super::history::{HistoryAction, history_action, undo_action};
use super::install::clients::Client;
use super::install::{InstallRequest, Target, entry};
use super::terminal::{absolute, current_dir, std_current_dir};
use super::{by_hand, cluster, http, limits};
use crate::config::{AccessOptions, Config, LogFormat, LogLevel, StateOptions, ToolSet};
use crate::render::directories;
use crate::transport::http::HttpSettings;

/// The options that choose the tools. `install` does not copy them to an entry, but writes the chosen tools.
const TOOLS_OPTIONS: [&str; 2] = ["--tools", "--mode"];
/// The option whose value is a path.
const STATE_DIR_OPTION: &str = "--state-dir";

/// The resolved command: the action of the process and its settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// The options for every call.
    pub config: Config,
    /// The directories to allow. Empty if the action opens no root, or if none of the named directories can
    /// be served.
    pub roots: Vec<ConfiguredDirectory>,
    /// The directories that are already known not to be served. Empty for all actions but [`Action::Serve`].
    pub unserved: Vec<Unserved>,
    /// The restrictions on access to these directories.
    pub access: AccessOptions,
    /// The durability of edits, and the state that is stored on disk.
    pub state_options: StateOptions,
    /// The options of the state that several machines share; `None` if this process shares no state.
    pub shared: Option<SharedOptions>,
    /// The settings of MCP over HTTP, for [`Action::Serve`]; `None` for standard input and output.
    pub http: Option<HttpSettings>,
    /// The level of the log.
    pub log_level: LogLevel,
    /// The form of the log.
    pub log_format: LogFormat,
    /// The action.
    pub action: Action,
}

/// The action of the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Serve MCP.
    Serve,
    /// Call one tool.
    Call {
        /// The tool's name.
        tool: String,
        /// The tool's arguments, each `key=value`.
        values: Vec<String>,
        /// All arguments as JSON, instead of `values`; `-` for standard input.
        json: Option<String>,
    },
    /// Show past edits, forget them, or take them back.
    History(HistoryAction),
    /// Write this server into the configuration of a client.
    Install(InstallRequest),
    /// Start the server as clients would, and say what is wrong.
    Doctor {
        /// The client; `None`: all clients that have an entry.
        client: Option<&'static Client>,
        /// The project in which it is used; absolute. `None`: the current directory.
        project: Option<PathBuf>,
        /// Whether programs that the project names may be run.
        is_trusted: bool,
        /// The directories that machines share, if [`Command::shared`] is given; absolute.
        directories: Vec<PathBuf>,
    },
    /// Print the tools.
    Tools {
        /// Whether to print a document for people instead of JSON.
        markdown: bool,
    },
    /// Print a script for a shell, or a page of the manual.
    Document(CommandDocument),
}

/// Resolves the arguments. The error is a message for the person who configures the client.
pub fn resolve(arguments: Arguments) -> Result<Command, String> {
    let Arguments { command, options, typed } = arguments;
    let mut directories = options.directories;
    let chosen = chosen_tools(options.tools, options.mode)?;
    let mut offered = chosen.clone().unwrap_or_default();
    if options.read_only {
        let kept = offered.read_only();
        offered = kept.ok_or_else(|| format!("--read-only leaves none of the tools {offered}"))?;
    }
    let config = Config {
        tools: offered,
        output: options.output,
        strict: options.strict,
        max_response_bytes: options.max_response_bytes,
        limits: limits::resolve(&options.limit, options.max_line_bytes)?,
    };
    let patterns = |option: &str, texts: Vec<String>| {
        let texts: Vec<String> = texts.into_iter().filter(|pattern| !pattern.is_empty()).collect();
        Patterns::new(&texts).map_err(|error| format!("{option}: {error}"))
    };
    let excluded: Vec<String> =
        options.no_history_for.into_iter().filter(|pattern| !pattern.is_empty()).collect();
    let excluded =
        HistorySettings::excluding(&excluded).map_err(|error| format!("--no-history-for: {error}"))?;
    let access = AccessOptions {
        read_only: options.read_only,
        protected: patterns("--protect", options.protect)?,
        unprotected: patterns("--unprotect", options.unprotect)?,
        landlock: options.landlock,
    };
    // Edits that the history recorded before it was switched off can still be shown and forgotten.
    let asks_for_history = matches!(command, Some(Subcommands::History(_)));
    let other_state_directory = other_state_directory(options.state_dir.as_deref());
    let state_options = StateOptions {
        other_state_directory,
        durability: match options.durability {
            DurabilityOption::Machine => Durability::Machine,
            DurabilityOption::Process => Durability::Process,
        },
        in_place: patterns("--in-place", options.in_place)?,
        state_directory: state_directory(options.state_dir)?,
        history: (asks_for_history || !options.no_history).then_some(HistorySettings {
            excluded,
            days: options.history_days,
            bytes: options.history_size,
        }),
    };
    let shared = cluster::resolve(TypedShared {
        state_url: options.state_url,
        is_typed: typed.iter().any(|option| option.name == "--state-url"),
        is_optional: options.state_optional,
        root_names: &options.root_name,
    })?;
    let action = match command {
        None => match by_hand::unknown_word(&directories) {
            Some(message) => return Err(message),
            None => Action::Serve,
        },
        Some(Subcommands::Tools { markdown }) => Action::Tools { markdown },
        Some(Subcommands::Completions { shell }) => Action::Document(CommandDocument::Completions(shell)),
        Some(Subcommands::Man { command }) => Action::Document(CommandDocument::Page(command)),
        Some(Subcommands::History(typed)) => Action::History(history_action(typed)?),
        Some(Subcommands::Undo(typed)) => Action::History(undo_action(typed)?),
        Some(Subcommands::Install(install)) => {
            Action::Install(request(install, chosen, access.read_only, typed)?)
        }
        Some(Subcommands::Doctor { client, project, trust_project: is_trusted, roots }) => {
            let client = client.as_deref().map(Client::find).transpose()?;
            let project = project.map(absolute_without_dots).transpose()?;
            let directories = shared_directories(roots)?;
            Action::Doctor { client, project, is_trusted, directories }
        }
        Some(Subcommands::Call { roots, tool, values, json }) => {
            directories.extend(roots);
            Action::Call { tool, values, json }
        }
    };
    let http = match action {
        Action::Serve => http::resolve(http::Typed {
            address: options.http.as_deref().filter(|address| !address.is_empty()),
            token_file: options.token_file.as_deref(),
            hosts: options.allow_host,
            origins: options.allow_origin,
        })?,
        _ => None,
    };
    let (roots, unserved) = roots(&action, directories)?;
    let (log_level, log_format) = (options.log_level, options.log_format);
    Ok(Command {
        config,
        roots,
        unserved,
        access,
        state_options,
        shared,
        http,
        log_level,
        log_format,
        action,
    })
}

/// Returns the tools that either option chooses; `None` if neither is given.
fn chosen_tools(tools: Option<ToolSet>, mode: Option<Mode>) -> Result<Option<ToolSet>, String> {
    let Some(Mode::ClaudeCode) = mode else { return Ok(tools) };
    if tools.is_some_and(|chosen| chosen != ToolSet::default()) {
        return Err("--mode and --tools both choose the tools; give one of them".to_owned());
    }
    ToolSet::from_str("claude-code").map(Some)
}

/// Returns the directories to open for an action, and those that cannot be served.
fn roots(
    action: &Action,
    directories: Vec<PathBuf>,
) -> Result<(Vec<ConfiguredDirectory>, Vec<Unserved>), String> {
    let roots = match action {
        Action::Tools { .. }
        | Action::Document(_)
        | Action::History(_)
        | Action::Install(_)
        | Action::Doctor { .. } => Vec::new(),
        // Clients do not show why a server did not start, so it starts in any case and tells the model.
        Action::Serve => {
            let wanted = if directories.is_empty() {
                vec![default_root().map(as_it_is)]
            } else {
                directories.into_iter().map(absolute_directory).collect()
            };
            let (wanted, not): (Vec<_>, Vec<_>) = wanted.into_iter().partition(Result::is_ok);
            let unserved = not.into_iter().filter_map(Result::err).collect();
            return Ok((wanted.into_iter().flatten().collect(), unserved));
        }
        // A person at a shell sees the error.
        Action::Call { .. } if directories.is_empty() => {
            vec![as_it_is(default_root().map_err(|unserved| for_a_person(&unserved))?)]
        }
        Action::Call { .. } => directories
            .iter()
            .map(|directory| named_root(directory).map(as_it_is))
            .collect::<Result<_, _>>()?,
    };
    Ok((roots, Vec::new()))
}

/// Returns the directories that `doctor` checks as shared between machines: the named ones, or else the
/// current directory if it is served by default.
fn shared_directories(named: Vec<PathBuf>) -> Result<Vec<PathBuf>, String> {
    if named.is_empty() {
        return Ok(default_root().into_iter().collect());
    }
    named.into_iter().map(absolute).collect()
}

/// Returns the named state directory, or else the program's own directory in the platform's directory for
/// state.
fn state_directory(named: Option<PathBuf>) -> Result<Option<PathBuf>, String> {
    match named {
        Some(named) if named.is_absolute() => Ok(Some(named)),
        Some(named) => Ok(Some(current_dir()?.join(named))),
        None => {
            Ok(places().and_then(|own| own.state_dir()).or_else(usual_state).map(|base| base.join(OWN_STATE)))
        }
    }
}

/// The name of this program's directory in the platform's directory for state.
const OWN_STATE: &str = "mcp-text-editor";

/// Returns the directories in which the programs of this platform keep their data.
fn places() -> Option<impl BaseStrategy> {
    choose_native_strategy().ok()
}

/// Returns the directory for the state of programs if the environment names none. On Windows it is not in
/// `AppData`, because the system hides from other programs what a package (MSIX), or a program that the
/// package has started, writes to `AppData`.
fn usual_state() -> Option<PathBuf> {
    if cfg!(target_vendor = "apple") {
        return places().map(|own| own.data_dir());
    }
    let home = std::env::home_dir().filter(|home| home.is_absolute())?;
    Some(home.join(".local").join("state"))
}

/// Returns another state directory that can have a history. If the environment names a directory, this is the
/// default directory. Otherwise, on Windows, it is the directory of earlier versions. `None` if the option
/// `--state-dir` names the directory.
fn other_state_directory(named: Option<&Path>) -> Option<PathBuf> {
    let from_environment = std::env::var_os("MCP_TEXT_EDITOR_STATE_DIR").map(PathBuf::from);
    if named.is_some() && named != from_environment.as_deref() {
        return None;
    }
    let chosen = state_directory(named.map(Path::to_owned)).ok().flatten();
    // Earlier versions used `AppData\Local`.
    let earlier = places().filter(|_| cfg!(windows)).map(|own| own.cache_dir());
    let others = [usual_state(), earlier].into_iter().flatten().map(|base| base.join(OWN_STATE));
    others.into_iter().find(|other| chosen.as_ref() != Some(other))
}

/// Returns the directory in which the process was started, if it is served by default.
fn default_root() -> Result<PathBuf, Unserved> {
    let current = std_current_dir().map_err(|error| {
        let why = WhyUnserved::NoCurrentDirectory(error.to_string());
        Unserved { named: PathBuf::new(), path: PathBuf::new(), why }
    })?;
    served_unasked(current)
}

/// Returns the directory in which a server is started, if it is served by default. `/`, the directories of
/// the system and home directories are never served by default, because clients without a project start their
/// servers there.
pub(super) fn served_unasked(current: PathBuf) -> Result<PathBuf, Unserved> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let is_home = home.as_ref().is_some_and(|home| is_same_directory(home, &current));
    let home = home.map(|home| real_path(&home));
    let of_system: Vec<PathBuf> = of_system().iter().map(|path| real_path(path)).collect();
    let whose = only_when_named(&real_path(&current), home.as_deref(), &of_system);
    match whose.or(is_home.then_some(FileOwner::Person)) {
        Some(whose) => {
            let why = WhyUnserved::OnlyWhenNamed(whose);
            Err(Unserved { named: PathBuf::new(), path: current, why })
        }
        None => Ok(current),
    }
}

/// Returns the directories of the system and of installed programs; neither they nor anything below them is
/// served by default. On Windows clients start their servers in `System32`, or next to their own program.
fn of_system() -> Vec<PathBuf> {
    if cfg!(target_vendor = "apple") {
        let of_macos =
            ["/System", "/Library", "/Applications", "/usr", "/bin", "/sbin", "/etc", "/dev", "/cores"];
        return of_macos.map(PathBuf::from).into();
    }
    if !cfg!(windows) {
        return Vec::new();
    }
    let variables = ["SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramW6432", "ProgramData"];
    let named = variables.iter().filter_map(std::env::var_os).map(PathBuf::from);
    // Clients pass few environment variables on, so the usual paths are added.
    let drive = std::env::var_os("SystemDrive").unwrap_or_else(|| "C:".into());
    let usual = ["Windows", "Program Files", "Program Files (x86)", "ProgramData"];
    let usual = usual.iter().map(|name| PathBuf::from(&drive).join(format!(r"\{name}")));
    named.chain(usual).filter(|path| path.is_absolute() && path.parent().is_some()).collect()
}

/// Says to a person at a shell why a directory is not served.
fn for_a_person(unserved: &Unserved) -> String {
    format!("{}: name a directory with --root", directories::why(unserved))
}

/// Makes a named directory absolute, for a server. Does not check that the directory exists: opening it does
/// that.
fn absolute_directory(named: PathBuf) -> Result<ConfiguredDirectory, Unserved> {
    if named.as_os_str().is_empty() {
        return Err(Unserved { named, path: PathBuf::new(), why: WhyUnserved::Empty });
    }
    if named.is_absolute() {
        return Ok(as_it_is(named));
    }
    match std_current_dir() {
        Ok(current) => Ok(ConfiguredDirectory { path: current.join(&named), named }),
        Err(error) => {
            let why = WhyUnserved::NoCurrentDirectory(error.to_string());
            Err(Unserved { named, path: PathBuf::new(), why })
        }
    }
}

fn as_it_is(path: PathBuf) -> ConfiguredDirectory {
    ConfiguredDirectory { named: path.clone(), path }
}

fn named_root(directory: &Path) -> Result<PathBuf, String> {
    let fail = |what: &str| Err(format!("{} cannot be an allowed directory: {what}", directory.display()));
    match directory.metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return fail("it is not a directory"),
        Err(error) => return fail(&error.to_string()),
    }
    absolute(directory.to_owned())
}

/// Resolves the request to `install`. `chosen` has the tools, if a person has chosen them; `typed` has all
/// global options that were typed.
fn request(
    install: InstallArguments,
    chosen: Option<ToolSet>,
    is_read_only: bool,
    typed: Vec<TypedOption>,
) -> Result<InstallRequest, String> {
    let InstallArguments { client, allowed, project, print, remove, instead, force, command, url, token_env } =
        install;
    let target = url.map(|url| Target::new(url, token_env)).transpose()?;
    if let (Some(_), Some(option)) = (&target, typed.first()) {
        return Err(format!(
            "--http leads to a server that runs, with options of its own: give {} to that one",
            option.name
        ));
    }
    Ok(InstallRequest {
        client: client.as_deref().map(Client::find).transpose()?,
        directories: allowed.into_iter().map(absolute_without_dots).collect::<Result<_, _>>()?,
        project: project.map(absolute_without_dots).transpose()?,
        is_dry_run: print,
        is_removal: remove,
        is_forced: force,
        is_instead: instead,
        command: command.map(|command| entry::split(&command)).transpose()?,
        // A client's default tools include editing tools, so a read-only server must name its tools.
        tools: if is_read_only { chosen.unwrap_or_default().read_only() } else { chosen },
        options: typed
            .into_iter()
            .filter(|option| !TOOLS_OPTIONS.contains(&option.name.as_str()))
            .map(written)
            .collect::<Result<_, _>>()?,
        target,
    })
}

/// Returns an option in the form for a configuration. A path is made absolute, since the client interprets
/// the configuration in another directory.
fn written(option: TypedOption) -> Result<(String, Vec<String>), String> {
    let TypedOption { name, values } = option;
    let is_path = name == STATE_DIR_OPTION;
    let values = values.into_iter().map(|value| {
        let value = if is_path { absolute(value.into())?.into() } else { value };
        value.into_string().map_err(|value| {
            format!("{name} {}: a configuration cannot hold what is not Unicode", value.display())
        })
    });
    let values = values.collect::<Result<_, _>>()?;
    Ok((name, values))
}

/// Makes a directory's path absolute, without `.` and `..`, for a configuration that is read in another
/// directory. Fails if the directory does not exist.
fn absolute_without_dots(directory: PathBuf) -> Result<PathBuf, String> {
    let path = absolute(directory)?;
    if !path.is_dir() {
        return Err(format!("{} is not a directory", path.display()));
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    }
    Ok(path.components().collect())
}
