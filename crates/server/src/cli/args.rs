//! The command line and the environment as they are typed. `resolve` decides what they mean. The comments of
//! the arguments are help texts: `--help` shows the first paragraph of each, `--help-all` shows them whole.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{FalseyValueParser, OsStringValueParser, TypedValueParser as _};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{
    ArgAction, ArgMatches, Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    ValueEnum, ValueHint,
};
use clap_complete::Shell;
use mcp_text_editor_store::HistorySettings;

use super::history::args::{HistoryArguments, UndoArguments};
use super::{help, terminal};
use crate::config::{Landlock, LogFormat, LogLevel, Output, ToolSet};
use crate::render::escape::on_one_line;

/// The exit code for a wrong command line or environment.
const WRONG: i32 = 2;

/// The option that shows the whole help.
const HELP_ALL: &str = "--help-all";

/// An MCP server through which a language model reads and edits text files.
///
/// Serves MCP over standard input and output. It reads and writes only in the directories given; given none,
/// it serves the current directory, unless that is / or the home directory. If a directory cannot be opened,
/// the server starts nevertheless and tells the model.
#[derive(Parser, Debug)]
#[command(
    name = "mcp-text-editor", version, disable_help_flag = true, disable_help_subcommand = true,
    disable_version_flag = true, after_help = help::MORE, after_long_help = help::all()
)]
pub struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Subcommands>,
    #[command(flatten)]
    pub(super) options: Options,
    /// The options among `options` that were typed. `install` writes them into a configuration.
    #[arg(skip)]
    pub(super) typed: Vec<TypedOption>,
}

/// An option as it was typed, not taken from the environment or a default.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TypedOption {
    /// Its name, such as `--protect`.
    pub(super) name: String,
    /// Its values, in order; empty for an option that takes none.
    pub(super) values: Vec<OsString>,
}

impl Arguments {
    /// Reads the command line and the environment. Ends the process if they ask for help or the version, or
    /// if they are wrong.
    #[must_use]
    pub fn read() -> Self {
        let typed: Vec<_> = with_counts(std::env::args_os().collect());
        let mut command = of_words(&typed);
        let matches = command.try_get_matches_from_mut(&typed).or_else(|_| {
            // Only help and errors show the usage texts, so a server that starts does not compute them.
            let is_whole = typed.iter().any(|argument| argument == HELP_ALL);
            let mut whole = Self::command();
            whole.build();
            let whole = with_short_usage(whole);
            if is_whole { whole } else { briefly(whole) }.try_get_matches_from(&typed)
        });
        let matches = matches.unwrap_or_else(|error| {
            if !error.use_stderr() {
                error.exit();
            }
            terminal::show(&with_plain_words(error).to_string());
            std::process::exit(WRONG)
        });
        let read = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        Self { typed: typed_options(&command, &matches), ..read }
    }
}

/// Spells `history -5` as `history -n5`, which clap can read.
fn with_counts(mut typed: Vec<OsString>) -> Vec<OsString> {
    let is_count = |word: &str| word.strip_prefix('-').is_some_and(|count| count.parse::<usize>().is_ok());
    for word in typed.iter_mut().skip(1).skip_while(|word| *word != "history") {
        if let Some(count) = word.to_str().filter(|word| is_count(word)) {
            *word = count.replacen('-', "-n", 1).into();
        }
    }
    typed
}

/// Fixes the usage text of each subcommand. Else, in an error, clap would add to it the options that
/// environment variables set.
fn with_short_usage(mut command: Command) -> Command {
    let usage = command.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    command.override_usage(usage).mut_subcommands(with_short_usage)
}

/// Returns the command that parses these words. If none of them names a subcommand, it is the command of the
/// server alone: making the subcommands, each with all global options, takes a seventh of the time to the
/// first answer.
fn of_words(typed: &[OsString]) -> Command {
    if typed.iter().any(|word| word.to_str().is_some_and(Subcommands::has_subcommand)) {
        return Arguments::command();
    }
    let command = Command::new("").version("").disable_help_flag(true).disable_version_flag(true);
    Options::augment_args(command)
}

/// Returns an error that shows each typed word escaped, on one line: a shell may have expanded the word to
/// names of files, which others may have chosen.
fn with_plain_words(mut error: clap::Error) -> clap::Error {
    let plain = |(kind, value): (ContextKind, &ContextValue)| match value {
        ContextValue::String(typed) => Some((kind, ContextValue::String(on_one_line(typed)))),
        _ => None,
    };
    let typed: Vec<_> = error.context().filter_map(plain).collect();
    for (kind, value) in typed {
        error.insert(kind, value);
    }
    error
}

/// Returns the global options that were typed, of a subcommand or of the command itself.
fn typed_options(command: &Command, matches: &ArgMatches) -> Vec<TypedOption> {
    let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
    let is_typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    command
        .get_arguments()
        .filter(|argument| argument.is_global_set() && is_typed(argument.get_id().as_str()))
        .filter_map(|argument| {
            let takes_values = argument.get_action().takes_values();
            let values = matches.get_raw(argument.get_id().as_str()).filter(|_| takes_values);
            let values = values.into_iter().flatten().map(OsStr::to_owned).collect();
            Some(TypedOption { name: format!("--{}", argument.get_long()?), values })
        })
        .collect()
}

/// Hides variables, defaults and possible values, so that each option takes one line of the help.
/// `--help-all` shows them.
fn briefly(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let takes_values = argument.get_action().takes_values();
            argument.hide_env(true).hide_default_value(takes_values).hide_possible_values(takes_values)
        })
        .mut_subcommands(briefly)
}

#[expect(clippy::struct_excessive_bools, reason = "each is an option that is given or not")]
#[derive(Args, Debug)]
pub(super) struct Options {
    /// The allowed directories [default: the current directory]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(super) directories: Vec<PathBuf>,
    /// Which: default, all, edit, read-only, or names
    ///
    /// edit: the six tools that read and edit. default: these, and those that copy lines, search, list, and
    /// replace in many files. all: also those that move, remove, list past edits and undo them. read-only:
    /// those of them that change nothing. claude-code: those that patch, copy lines, and replace in many
    /// files. Commas separate names. Without this option `install` chooses the set that suits the client.
    #[arg(
        long,
        global = true,
        value_name = "SET",
        env = "MCP_TEXT_EDITOR_TOOLS",
        help_heading = "Tools and replies"
    )]
    pub(super) tools: Option<ToolSet>,
    /// Another way to say --tools claude-code
    #[arg(
        long,
        global = true,
        value_enum,
        env = "MCP_TEXT_EDITOR_MODE",
        help_heading = "Tools and replies",
        hide_short_help = true
    )]
    pub(super) mode: Option<Mode>,
    /// Offer only tools that change nothing; write nothing
    #[arg(
        long, global = true, env = "MCP_TEXT_EDITOR_READ_ONLY", value_parser = FalseyValueParser::new(),
        help_heading = "Access to files"
    )]
    pub(super) read_only: bool,
    /// Let matching files be read but not written
    ///
    /// By default .git is protected, and the files in which clients configure the programs that they start.
    /// May be repeated.
    #[arg(
        long,
        global = true,
        value_name = "GLOB",
        env = "MCP_TEXT_EDITOR_PROTECT",
        value_delimiter = ';',
        help_heading = "Access to files"
    )]
    pub(super) protect: Vec<String>,
    /// Let protected files that match be written
    ///
    /// By default .git is protected, and the files in which clients configure the programs that they start. A
    /// model that can write those can run programs. --protect outranks this option. May be repeated.
    #[arg(
        long,
        global = true,
        value_name = "GLOB",
        env = "MCP_TEXT_EDITOR_UNPROTECT",
        value_delimiter = ';',
        help_heading = "Access to files"
    )]
    pub(super) unprotect: Vec<String>,
    /// Write over matching files instead of replacing them
    ///
    /// For files that a container or another program keeps open, such as one that is mounted by itself. May
    /// be repeated.
    #[arg(
        long,
        global = true,
        value_name = "GLOB",
        env = "MCP_TEXT_EDITOR_IN_PLACE",
        value_delimiter = ';',
        help_heading = "Access to files",
        hide_short_help = true
    )]
    pub(super) in_place: Vec<String>,
    /// Let the kernel, too, deny files outside: auto, require, off
    ///
    /// Linux only. auto: as far as the kernel can. require: do not start where it cannot. off: not at all.
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        env = "MCP_TEXT_EDITOR_LANDLOCK",
        default_value = "auto",
        help_heading = "Access to files",
        hide_short_help = true
    )]
    pub(super) landlock: Landlock,
    /// Replies for a model (text) or a program (json)
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FOR",
        env = "MCP_TEXT_EDITOR_OUTPUT",
        default_value = "text",
        help_heading = "Tools and replies"
    )]
    pub(super) output: Output,
    /// Match text exactly, blanks at line ends included
    #[arg(
        long, global = true, env = "MCP_TEXT_EDITOR_STRICT", value_parser = FalseyValueParser::new(),
        help_heading = "Tools and replies"
    )]
    pub(super) strict: bool,
    /// How many bytes of text a read returns at once
    ///
    /// By default no more than the client is known to show whole.
    #[arg(
        long, global = true, value_name = "N", env = "MCP_TEXT_EDITOR_MAX_RESPONSE_BYTES",
        value_parser = clap::value_parser!(u64).range(1..), help_heading = "Tools and replies"
    )]
    pub(super) max_response_bytes: Option<u64>,
    /// Another way to say --limit line-bytes=N
    ///
    /// The longest message over standard input; a longer one is refused and skipped.
    #[arg(
        long, global = true, value_name = "N", env = "MCP_TEXT_EDITOR_MAX_LINE_BYTES",
        value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits and the log", hide_short_help = true
    )]
    pub(super) max_line_bytes: Option<u64>,
    /// Bound a call's work: files=50, call-seconds=5min …
    ///
    /// All of them are listed below. May be repeated.
    #[arg(
        long,
        global = true,
        value_name = "NAME=VALUE",
        env = "MCP_TEXT_EDITOR_LIMIT",
        value_delimiter = ';',
        help_heading = "Limits and the log"
    )]
    pub(super) limit: Vec<String>,
    /// What an answered edit survives: a crash of the machine, or of the process
    ///
    /// process is faster.
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "END",
        env = "MCP_TEXT_EDITOR_DURABILITY",
        default_value = "machine",
        help_heading = "History and state",
        hide_short_help = true
    )]
    pub(super) durability: DurabilityOption,
    /// Keep no history, so that no edit can be undone
    #[arg(
        long, global = true, env = "MCP_TEXT_EDITOR_NO_HISTORY", value_parser = FalseyValueParser::new(),
        help_heading = "History and state"
    )]
    pub(super) no_history: bool,
    /// Keep no history of files that match
    ///
    /// None is ever kept of .env*, *.pem and *.key. May be repeated.
    #[arg(
        long,
        global = true,
        value_name = "GLOB",
        env = "MCP_TEXT_EDITOR_NO_HISTORY_FOR",
        value_delimiter = ';',
        help_heading = "History and state"
    )]
    pub(super) no_history_for: Vec<String>,
    /// How many days an edit stays in the history
    #[arg(
        long, global = true, value_name = "N", env = "MCP_TEXT_EDITOR_HISTORY_DAYS", default_value_t = HistorySettings::DEFAULT_DAYS,
        value_parser = clap::value_parser!(u32).range(1..), help_heading = "History and state", hide_short_help = true
    )]
    pub(super) history_days: u32,
    /// How large the history may grow; the oldest edits go first
    #[arg(
        long, global = true, value_name = "BYTES", env = "MCP_TEXT_EDITOR_HISTORY_SIZE",
        default_value_t = HistorySettings::DEFAULT_BYTES, value_parser = clap::value_parser!(u64).range(1 << 20..),
        help_heading = "History and state", hide_short_help = true
    )]
    pub(super) history_size: u64,
    /// Where the journal and the history are kept
    ///
    /// By default in the platform's directory for a program's state.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        value_hint = ValueHint::DirPath,
        env = "MCP_TEXT_EDITOR_STATE_DIR",
        help_heading = "History and state"
    )]
    pub(super) state_dir: Option<PathBuf>,
    /// A database in which machines share their state: postgres://…
    ///
    /// For all machines that serve the same files. Put the password into the variable, PGPASSWORD or .pgpass,
    /// never here. Parameters behind ?: sslmode=disable or verify-full (the default), sslrootcert, passfile,
    /// schema.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "MCP_TEXT_EDITOR_STATE_URL",
        hide_env_values = true,
        help_heading = "History and state",
        hide_short_help = true
    )]
    pub(super) state_url: Option<String>,
    /// Go on with edits when that database cannot be reached
    ///
    /// Such edits have no journal, and their replies say so.
    #[arg(
        long, global = true, env = "MCP_TEXT_EDITOR_STATE_OPTIONAL", value_parser = FalseyValueParser::new(),
        help_heading = "History and state", hide_short_help = true
    )]
    pub(super) state_optional: bool,
    /// Give a shared directory the same name on all machines: NAME=DIR
    ///
    /// Needed where the mount does not identify it: a network file system whose server has another name on
    /// each machine, FUSE, a container. May be repeated.
    #[arg(
        long,
        global = true,
        value_name = "NAME=DIR",
        env = "MCP_TEXT_EDITOR_ROOT_NAME",
        value_delimiter = ';',
        help_heading = "History and state",
        hide_short_help = true
    )]
    pub(super) root_name: Vec<String>,
    /// Serve MCP over HTTP at this address: 127.0.0.1:8000
    ///
    /// This replaces standard input and output. The path is /mcp.
    #[arg(long, value_name = "ADDR", env = "MCP_TEXT_EDITOR_HTTP", help_heading = "Serving over HTTP")]
    pub(super) http: Option<String>,
    /// Require clients to send the token in this file
    ///
    /// Only you may be able to read the file. Without a token only loopback is served.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, env = "MCP_TEXT_EDITOR_TOKEN_FILE", help_heading = "Serving over HTTP")]
    pub(super) token_file: Option<PathBuf>,
    /// Accept this host name, besides addresses and localhost; may be repeated
    #[arg(
        long,
        value_name = "HOST",
        env = "MCP_TEXT_EDITOR_ALLOW_HOST",
        value_delimiter = ';',
        help_heading = "Serving over HTTP",
        hide_short_help = true
    )]
    pub(super) allow_host: Vec<String>,
    /// Accept requests of web pages of this origin, such as `https://app.example`; may be repeated
    #[arg(
        long,
        value_name = "ORIGIN",
        env = "MCP_TEXT_EDITOR_ALLOW_ORIGIN",
        value_delimiter = ';',
        help_heading = "Serving over HTTP",
        hide_short_help = true
    )]
    pub(super) allow_origin: Vec<String>,
    /// off, error, warn, info, debug or trace, to stderr
    ///
    /// The log never holds the text of a file.
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "LEVEL",
        env = "MCP_TEXT_EDITOR_LOG_LEVEL",
        default_value = "warn",
        help_heading = "Limits and the log"
    )]
    pub(super) log_level: LogLevel,
    /// How a line of the log is written: for people, or as JSON for programs
    #[arg(
        long,
        global = true,
        value_enum,
        env = "MCP_TEXT_EDITOR_LOG_FORMAT",
        default_value = "text",
        help_heading = "Limits and the log",
        hide_short_help = true
    )]
    pub(super) log_format: LogFormat,
    /// Show this summary
    #[arg(short = 'h', long = "help", global = true, action = ArgAction::HelpShort, help_heading = "Help")]
    help: Option<bool>,
    /// Show all options, their variables and values, and the limits
    #[arg(long = "help-all", global = true, action = ArgAction::HelpLong, help_heading = "Help")]
    help_all: Option<bool>,
    /// Show the version
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = "Help")]
    version: Option<bool>,
}

#[derive(Subcommand, Debug)]
pub(super) enum Subcommands {
    /// Call one tool, through a client session like any other
    Call {
        /// An allowed directory; may be repeated [default: the current directory]
        #[arg(long = "root", value_name = "DIR", value_hint = ValueHint::DirPath)]
        roots: Vec<PathBuf>,
        /// The name of the tool
        tool: String,
        /// Arguments of the tool; a value is JSON unless the tool expects text
        #[arg(value_name = "KEY=VALUE")]
        values: Vec<String>,
        /// All arguments as one JSON object; - reads it from standard input
        #[arg(long, value_name = "JSON", conflicts_with = "values")]
        json: Option<String>,
    },
    /// Show the edits that were made, or forget them
    History(HistoryArguments),
    /// Take an edit back, in all of its files or in none
    Undo(UndoArguments),
    /// Write this server into a client's configuration
    ///
    /// Without a client it lists those on this machine. The rest of the file stays, comments and order
    /// included; the edit is in the history, and can be undone. The entry starts this very program. If there
    /// is one, its command is updated, and what a person added stays.
    Install(InstallArguments),
    /// Start the server as a client would, and say what is wrong
    ///
    /// Without a client it starts it as each client would that has an entry. With --state-url it first checks
    /// that database, and the names and locks of directories that machines share; it changes nothing there.
    Doctor {
        /// The client, as for install
        client: Option<String>,
        /// The project in which the client is used [default: the current directory]
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        project: Option<PathBuf>,
        /// Start every program that the project's entries name, in the project: only if you trust it
        ///
        /// Otherwise a project's entry is started only if it names this program, serves the project, and has
        /// harmless options alone. Other programs of your own entries start in an empty directory.
        #[arg(long)]
        trust_project: bool,
        /// With --state-url: a directory that machines share; may be repeated [default: the current
        /// directory]
        #[arg(long = "root", value_name = "DIR", value_hint = ValueHint::DirPath)]
        roots: Vec<PathBuf>,
    },
    /// Print the tools as clients see them
    Tools {
        /// Print them as Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Print the script with which a shell completes this command line
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page of this program
    Man {
        /// The subcommand whose page to print instead
        command: Vec<String>,
    },
}

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that a person types")]
pub(super) struct InstallArguments {
    /// claude-code, claude-desktop, cursor, vscode, codex, gemini, zed, windsurf, opencode, copilot, qwen,
    /// cline or jetbrains
    pub(super) client: Option<String>,
    /// The directories that the server may read and edit [default: the one in which the client is started]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) allowed: Vec<PathBuf>,
    /// Write the configuration of this project, not your own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) project: Option<PathBuf>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(super) print: bool,
    /// Remove the entry
    #[arg(long, conflicts_with_all = ["allowed", "command"])]
    pub(super) remove: bool,
    /// Disable the client's own tools that change files, and offer all of this server's
    #[arg(long, conflicts_with = "project")]
    pub(super) instead: bool,
    /// Replace or remove an entry of the same name even if it starts something else
    #[arg(long)]
    pub(super) force: bool,
    /// The command that starts the server, such as "npx -y mcp-text-editor-rs" [default: the path of this
    /// program]
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub(super) command: Option<String>,
    /// Point the client at the server that runs at this URL, instead of a program that it starts
    #[arg(id = "url", long = "http", value_name = "URL", conflicts_with_all = ["allowed", "command", "remove"])]
    pub(super) url: Option<String>,
    /// The environment variable with that server's token; the token itself is written nowhere
    #[arg(long, value_name = "NAME", requires = "url")]
    pub(super) token_env: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Mode {
    ClaudeCode,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum DurabilityOption {
    Machine,
    Process,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_own_command_reads_as_the_whole_one_does() {
        let lines: [&[&str]; 6] = [
            &[],
            &["a", "--strict", "b"],
            &["--protect", "*.a;b", "--protect=c", "--tools", "all", "--", "--strict"],
            &["--history-days", "3", "--http", "127.0.0.1:0", "--allow-host", "a", "--allow-host", "b"],
            &["--landlock=off", "--output", "json", "--mode", "claude-code", "--no-history"],
            &["hist", "Undo", "--state-dir", "a b"],
        ];
        for line in lines {
            let typed: Vec<OsString> = ["program"].iter().chain(line).map(OsString::from).collect();
            let read = |mut command: Command| {
                let matches = command.try_get_matches_from_mut(&typed).unwrap();
                let read = Arguments::from_arg_matches(&matches).unwrap();
                format!("{read:?} {:?}", typed_options(&command, &matches))
            };
            assert!(!of_words(&typed).has_subcommands());
            assert_eq!(read(of_words(&typed)), read(Arguments::command()), "{line:?}");
        }
        assert!(of_words(&["program", "--state-dir", "history"].map(OsString::from)).has_subcommands());
    }
}
