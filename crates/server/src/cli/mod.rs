//! The command line and the environment: raw arguments ([`Arguments`]) become what holds for the process ([`Command`]),
//! once, at the start. Nothing else reads the environment. Whether a root can be opened is the store's to find out.

pub mod call;
pub mod history;
pub mod limits;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{FalseyValueParser, OsStringValueParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand, ValueEnum};
use mcp_text_editor_store::access::patterns::Patterns;
use mcp_text_editor_store::access::unserved::{Unserved, Wanted, WhyUnserved};
use mcp_text_editor_store::durability::Durability;
use mcp_text_editor_store::history::Settings;

use crate::config::{AccessOptions, Config, Landlock, LogLevel, Output, StateOptions, ToolSet};
use crate::render::directories;

/// An MCP server through which a language model reads and edits text files.
///
/// Serves MCP over standard input and output. The directories are the only ones that it reads and writes; without any it
/// serves the current directory, unless that is / or the home directory. A directory that cannot be opened stops nothing:
/// the client's model is told.
#[derive(Parser, Debug)]
#[command(name = "mcp-text-editor", version, disable_help_subcommand = true, after_long_help = limits::help())]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Subcommands>,
    /// The allowed directories [default: the current directory]
    #[arg(value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    directories: Vec<PathBuf>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args, Debug)]
struct Options {
    /// The tools to offer: default, all, edit, read-only, claude-code (the patch tool alone), or names with commas
    #[arg(long, global = true, value_name = "SET", env = "MCP_TEXT_EDITOR_TOOLS", default_value = "default")]
    tools: ToolSet,
    /// Another way to say --tools claude-code
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_MODE")]
    mode: Option<Mode>,
    /// Offer only tools that change nothing
    #[arg(long, global = true, env = "MCP_TEXT_EDITOR_READ_ONLY", value_parser = FalseyValueParser::new())]
    read_only: bool,
    /// Let matching files be read but not written, besides .git and the files by which clients start programs; may be repeated
    #[arg(long, global = true, value_name = "GLOB", env = "MCP_TEXT_EDITOR_PROTECT", value_delimiter = ';')]
    protect: Vec<String>,
    /// Write over matching files instead of replacing them, for those that a container or another program holds on to (one
    /// file mounted by itself); may be repeated
    #[arg(long, global = true, value_name = "GLOB", env = "MCP_TEXT_EDITOR_IN_PLACE", value_delimiter = ';')]
    in_place: Vec<String>,
    /// Let matching files be written although they are .git, or files by which clients start programs, and a model can have
    /// programs run through them; --protect outranks it; may be repeated
    #[arg(
        long,
        global = true,
        value_name = "GLOB",
        env = "MCP_TEXT_EDITOR_UNPROTECT",
        value_delimiter = ';'
    )]
    unprotect: Vec<String>,
    /// Have the kernel, too, deny all files but those in the allowed directories (Linux): as far as it can, or not start
    /// where it cannot, or not at all
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_LANDLOCK", default_value = "auto")]
    landlock: Landlock,
    /// What replies are made for: text for a model, json for a program
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_OUTPUT", default_value = "text")]
    output: Output,
    /// Match text exactly, blanks at line ends included
    #[arg(long, global = true, env = "MCP_TEXT_EDITOR_STRICT", value_parser = FalseyValueParser::new())]
    strict: bool,
    /// How many bytes of text a read returns at once [default: what the client is known to show whole]
    #[arg(
        long, global = true, value_name = "N", env = "MCP_TEXT_EDITOR_MAX_RESPONSE_BYTES",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    max_response_bytes: Option<u64>,
    /// Another way to say --limit line-bytes=N: the longest line of input; a longer one is refused and skipped
    #[arg(
        long, global = true, value_name = "N", env = "MCP_TEXT_EDITOR_MAX_LINE_BYTES",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    max_line_bytes: Option<u64>,
    /// A bound on the work of a call, such as files=50 or call-seconds=5min; may be repeated; --help lists all
    #[arg(
        long,
        global = true,
        value_name = "NAME=VALUE",
        env = "MCP_TEXT_EDITOR_LIMIT",
        value_delimiter = ';'
    )]
    limit: Vec<String>,
    /// What an edit survives once it is answered: the end of the machine, or only that of the process, which is faster
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_DURABILITY", default_value = "machine")]
    durability: DurabilityOption,
    /// Keep no history of edits, so that none can be undone
    #[arg(long, global = true, env = "MCP_TEXT_EDITOR_NO_HISTORY", value_parser = FalseyValueParser::new())]
    no_history: bool,
    /// Keep no history of files that match, besides .env*, *.pem and *.key; may be repeated
    #[arg(
        long,
        global = true,
        value_name = "GLOB",
        env = "MCP_TEXT_EDITOR_NO_HISTORY_FOR",
        value_delimiter = ';'
    )]
    no_history_for: Vec<String>,
    /// How many days an edit is kept
    #[arg(
        long, global = true, value_name = "N", env = "MCP_TEXT_EDITOR_HISTORY_DAYS", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    history_days: u32,
    /// How large the history may grow; the oldest edits go first
    #[arg(
        long, global = true, value_name = "BYTES", env = "MCP_TEXT_EDITOR_HISTORY_SIZE",
        default_value_t = 256 << 20, value_parser = clap::value_parser!(u64).range(1 << 20..)
    )]
    history_size: u64,
    /// Where the journal and the history are kept [default: the platform's directory for a program's state]
    #[arg(long, global = true, value_name = "DIR", env = "MCP_TEXT_EDITOR_STATE_DIR")]
    state_dir: Option<PathBuf>,
    /// What is logged, to standard error; never the text of a file
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_LOG_LEVEL", default_value = "warn")]
    log_level: LogLevel,
}

#[derive(Subcommand, Debug)]
enum Subcommands {
    /// Call one tool, through a client session like any other
    Call {
        /// An allowed directory; may be repeated [default: the current directory]
        #[arg(long = "root", value_name = "DIR")]
        roots: Vec<PathBuf>,
        /// The name of the tool
        tool: String,
        /// Arguments of the tool; a value is read as JSON where the tool wants other than text
        #[arg(value_name = "KEY=VALUE")]
        values: Vec<String>,
        /// All arguments as one JSON object; - reads it from standard input
        #[arg(long, value_name = "JSON", conflicts_with = "values")]
        json: Option<String>,
    },
    /// Show the edits that were made, or forget them
    #[command(args_conflicts_with_subcommands = true)]
    History {
        #[command(subcommand)]
        command: Option<HistorySubcommands>,
        /// Only edits of this file, or of files below this directory
        path: Option<PathBuf>,
        /// The most edits to show
        #[arg(long, value_name = "N", default_value_t = 20)]
        newest: usize,
        /// Write out the bytes that recovery has put aside under this id, instead
        #[arg(long, value_name = "EDIT_ID", conflicts_with = "path")]
        contents: Option<String>,
    },
    /// Take an edit back, in all of its files or in none; that is an edit, too
    Undo {
        /// The id of the edit, as its reply or `history` names it
        #[arg(value_name = "EDIT_ID")]
        edit_id: String,
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Print the tools as clients see them
    Tools {
        /// As a document for people
        #[arg(long)]
        markdown: bool,
    },
}

#[derive(Subcommand, Debug)]
enum HistorySubcommands {
    /// Forget the edits, so that nothing of them is left on the disk and none can be undone
    Forget {
        /// Only edits of this file, or of files below this directory
        path: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Mode {
    ClaudeCode,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum DurabilityOption {
    Machine,
    Process,
}

/// Files of which no history is kept, whatever the options say: they hold secrets.
const SECRETS: [&str; 3] = [".env*", "*.pem", "*.key"];

/// What the process is to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// The options for every call.
    pub config: Config,
    /// The directories to be allowed; empty where no file is touched, and where none of those that were named can be.
    pub roots: Vec<Wanted>,
    /// Those that are known already not to be served; none but for [`Action::Serve`].
    pub unserved: Vec<Unserved>,
    /// What may not be done in them.
    pub access: AccessOptions,
    /// How safe edits are, and what is kept of them.
    pub state_options: StateOptions,
    /// What is logged.
    pub log_level: LogLevel,
    /// The thing itself.
    pub action: Action,
}

/// What the process is to do, once its options are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Serve MCP over standard input and output.
    Serve,
    /// Call one tool.
    Call {
        /// Its name.
        tool: String,
        /// Its arguments, each `key=value`.
        values: Vec<String>,
        /// All of them as JSON instead; `-` for standard input.
        json: Option<String>,
    },
    /// Look at past edits, forget them, or take one back.
    Past(Past),
    /// Print the tools.
    Tools {
        /// As a document for people, not as JSON.
        markdown: bool,
    },
}

/// What a person wants with past edits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Past {
    /// Show the edits that were made.
    Show {
        /// Of which file, or below which directory; absolute.
        path: Option<PathBuf>,
        /// How many at most.
        limit: usize,
    },
    /// Write out what recovery has put aside.
    Contents {
        /// Under which id.
        edit_id: String,
    },
    /// Forget edits.
    Forget {
        /// Of which file, or below which directory; absolute.
        path: Option<PathBuf>,
    },
    /// Take an edit back.
    Undo {
        /// Its id.
        edit_id: String,
        /// Whether to change nothing.
        dry_run: bool,
    },
}

/// Resolves the arguments. The error is a message for the person who configures the client.
pub fn resolve(arguments: Arguments) -> Result<Command, String> {
    let Arguments { command, mut directories, options } = arguments;
    let mut offered = options.tools;
    if let Some(Mode::ClaudeCode) = options.mode {
        if offered != ToolSet::default() {
            return Err("--mode and --tools both choose the tools; give one of them".to_owned());
        }
        offered = ToolSet::from_str("claude-code")?;
    }
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
    let mut excluded: Vec<String> = SECRETS.map(str::to_owned).to_vec();
    excluded.extend(options.no_history_for);
    let excluded = patterns("--no-history-for", excluded)?;
    let access = AccessOptions {
        read_only: options.read_only,
        protected: patterns("--protect", options.protect)?,
        unprotected: patterns("--unprotect", options.unprotect)?,
        landlock: options.landlock,
    };
    // What was kept before the history was switched off can be seen and forgotten.
    let asks_for_history = matches!(command, Some(Subcommands::History { .. }));
    let other_state_directory = other_state_directory(options.state_dir.as_deref());
    let state_options = StateOptions {
        other_state_directory,
        durability: match options.durability {
            DurabilityOption::Machine => Durability::Machine,
            DurabilityOption::Process => Durability::Process,
        },
        in_place: patterns("--in-place", options.in_place)?,
        state_directory: state_directory(options.state_dir)?,
        history: (asks_for_history || !options.no_history).then_some(Settings {
            excluded,
            days: options.history_days,
            bytes: options.history_size,
        }),
    };
    let action = match command {
        None => Action::Serve,
        Some(Subcommands::Tools { markdown }) => Action::Tools { markdown },
        Some(Subcommands::History { command: Some(HistorySubcommands::Forget { path }), .. }) => {
            Action::Past(Past::Forget { path: path.map(absolute).transpose()? })
        }
        Some(Subcommands::History { contents: Some(edit_id), .. }) => {
            Action::Past(Past::Contents { edit_id })
        }
        Some(Subcommands::History { path, newest: limit, .. }) => {
            Action::Past(Past::Show { path: path.map(absolute).transpose()?, limit })
        }
        Some(Subcommands::Undo { edit_id, dry_run }) => Action::Past(Past::Undo { edit_id, dry_run }),
        Some(Subcommands::Call { roots, tool, values, json }) => {
            directories.extend(roots);
            Action::Call { tool, values, json }
        }
    };
    let mut unserved = Vec::new();
    let roots = match action {
        Action::Tools { .. } | Action::Past(_) => Vec::new(),
        // Clients show nobody why a server did not start, so it does, and tells the model.
        Action::Serve => {
            let wanted = if directories.is_empty() {
                vec![default_root().map(as_it_is)]
            } else {
                directories.into_iter().map(wanted).collect()
            };
            let (wanted, not): (Vec<_>, Vec<_>) = wanted.into_iter().partition(Result::is_ok);
            unserved.extend(not.into_iter().filter_map(Result::err));
            wanted.into_iter().flatten().collect()
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
    Ok(Command { config, roots, unserved, access, state_options, log_level: options.log_level, action })
}

/// The state directory that was named, else the platform's own for it.
fn state_directory(named: Option<PathBuf>) -> Result<Option<PathBuf>, String> {
    match named {
        Some(named) if named.is_absolute() => Ok(Some(named)),
        Some(named) => Ok(Some(current_dir()?.join(named))),
        None => Ok(dirs::state_dir().or_else(dirs::data_local_dir).map(|base| base.join("mcp-text-editor"))),
    }
}

/// The state directory where the environment names none, if it does name one.
fn other_state_directory(named: Option<&Path>) -> Option<PathBuf> {
    let from_environment = std::env::var_os("MCP_TEXT_EDITOR_STATE_DIR").map(PathBuf::from);
    if named.is_some() && named != from_environment.as_deref() {
        return None;
    }
    let base = if cfg!(target_os = "linux") {
        std::env::home_dir().filter(|home| home.is_absolute())?.join(".local/state")
    } else {
        dirs::data_local_dir()?
    };
    let other = base.join("mcp-text-editor");
    let chosen = state_directory(named.map(Path::to_owned)).ok().flatten();
    (chosen.as_ref() != Some(&other)).then_some(other)
}

/// The directory that the process was started in; never all files of the machine or of a person unasked.
fn default_root() -> Result<PathBuf, Unserved> {
    let not = |path, why| Unserved { named: PathBuf::new(), path, why };
    let current = std_current_dir()
        .map_err(|error| not(PathBuf::new(), WhyUnserved::NoCurrentDirectory(error.to_string())))?;
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    if current.parent().is_none() || home.is_some_and(|home| same_directory(&home, &current)) {
        return Err(not(current, WhyUnserved::OnlyWhenNamed));
    }
    Ok(current)
}

/// The same for a person at a shell.
fn for_a_person(unserved: &Unserved) -> String {
    format!("{}: name a directory with --root", directories::why(unserved))
}

/// A directory as it was named for a server; whether it is there is found out when it is opened.
fn wanted(named: PathBuf) -> Result<Wanted, Unserved> {
    if named.as_os_str().is_empty() {
        return Err(Unserved { named, path: PathBuf::new(), why: WhyUnserved::Empty });
    }
    if named.is_absolute() {
        return Ok(as_it_is(named));
    }
    match std_current_dir() {
        Ok(current) => Ok(Wanted { path: current.join(&named), named }),
        Err(error) => {
            let why = WhyUnserved::NoCurrentDirectory(error.to_string());
            Err(Unserved { named, path: PathBuf::new(), why })
        }
    }
}

fn as_it_is(path: PathBuf) -> Wanted {
    Wanted { named: path.clone(), path }
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

fn absolute(path: PathBuf) -> Result<PathBuf, String> {
    if path.is_absolute() { Ok(path) } else { Ok(current_dir()?.join(path)) }
}

fn current_dir() -> Result<PathBuf, String> {
    std_current_dir().map_err(|error| format!("the current directory cannot be read: {error}"))
}

#[expect(clippy::disallowed_methods, reason = "this module makes paths absolute, once, for all others")]
fn std_current_dir() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}

/// Whether two paths lead to one directory, by whatever links.
fn same_directory(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let identity = |path: &Path| path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
        identity(one).is_some() && identity(one) == identity(other)
    }
    #[cfg(not(unix))]
    {
        one == other
    }
}
