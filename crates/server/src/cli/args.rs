//! The command line and the environment as they are typed. `resolve` decides what they mean. The comments here are
//! the text of `--help`.

use std::path::PathBuf;

use clap::builder::{FalseyValueParser, OsStringValueParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use mcp_text_editor_store::HistorySettings;

use super::limits;
use crate::config::{Landlock, LogFormat, LogLevel, Output, ToolSet};

/// An MCP server through which a language model reads and edits text files.
///
/// Serves MCP over standard input and output. The directories are the only ones that it reads and writes; without any it
/// serves the current directory, unless that is / or the home directory. A directory that cannot be opened stops nothing:
/// the client's model is told.
#[derive(Parser, Debug)]
#[command(name = "mcp-text-editor", version, disable_help_subcommand = true, after_long_help = limits::help())]
pub struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Subcommands>,
    /// The allowed directories [default: the current directory]
    #[arg(value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(super) directories: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) options: Options,
}

#[derive(Args, Debug)]
pub(super) struct Options {
    /// The tools to offer: default, all, edit, read-only, claude-code (the patch tool alone), or names with commas
    #[arg(long, global = true, value_name = "SET", env = "MCP_TEXT_EDITOR_TOOLS", default_value = "default")]
    pub(super) tools: ToolSet,
    /// Another way to say --tools claude-code
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_MODE")]
    pub(super) mode: Option<Mode>,
    /// Offer only tools that change nothing
    #[arg(long, global = true, env = "MCP_TEXT_EDITOR_READ_ONLY", value_parser = FalseyValueParser::new())]
    pub(super) read_only: bool,
    /// Let matching files be read but not written, besides .git and the files by which clients start programs; may be repeated
    #[arg(long, global = true, value_name = "GLOB", env = "MCP_TEXT_EDITOR_PROTECT", value_delimiter = ';')]
    pub(super) protect: Vec<String>,
    /// Write over matching files instead of replacing them, for those that a container or another program holds on to (one
    /// file mounted by itself); may be repeated
    #[arg(long, global = true, value_name = "GLOB", env = "MCP_TEXT_EDITOR_IN_PLACE", value_delimiter = ';')]
    pub(super) in_place: Vec<String>,
    /// Let matching files be written although they are .git, or files by which clients start programs, and a model can have
    /// programs run through them; --protect outranks it; may be repeated
    #[arg(
        long,
        global = true,
        value_name = "GLOB",
        env = "MCP_TEXT_EDITOR_UNPROTECT",
        value_delimiter = ';'
    )]
    pub(super) unprotect: Vec<String>,
    /// Have the kernel, too, deny all files but those in the allowed directories (Linux): as far as it can, or not start
    /// where it cannot, or not at all
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_LANDLOCK", default_value = "auto")]
    pub(super) landlock: Landlock,
    /// What replies are made for: text for a model, json for a program
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_OUTPUT", default_value = "text")]
    pub(super) output: Output,
    /// Match text exactly, blanks at line ends included
    #[arg(long, global = true, env = "MCP_TEXT_EDITOR_STRICT", value_parser = FalseyValueParser::new())]
    pub(super) strict: bool,
    /// How many bytes of text a read returns at once [default: what the client is known to show whole]
    #[arg(
        long, global = true, value_name = "N", env = "MCP_TEXT_EDITOR_MAX_RESPONSE_BYTES",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(super) max_response_bytes: Option<u64>,
    /// Another way to say --limit line-bytes=N: the longest line of input; a longer one is refused and skipped
    #[arg(
        long, global = true, value_name = "N", env = "MCP_TEXT_EDITOR_MAX_LINE_BYTES",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(super) max_line_bytes: Option<u64>,
    /// A bound on the work of a call, such as files=50 or call-seconds=5min; may be repeated; --help lists all
    #[arg(
        long,
        global = true,
        value_name = "NAME=VALUE",
        env = "MCP_TEXT_EDITOR_LIMIT",
        value_delimiter = ';'
    )]
    pub(super) limit: Vec<String>,
    /// What an edit survives once it is answered: the end of the machine, or only that of the process, which is faster
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_DURABILITY", default_value = "machine")]
    pub(super) durability: DurabilityOption,
    /// Keep no history of edits, so that none can be undone
    #[arg(long, global = true, env = "MCP_TEXT_EDITOR_NO_HISTORY", value_parser = FalseyValueParser::new())]
    pub(super) no_history: bool,
    /// Keep no history of files that match, besides .env*, *.pem and *.key; may be repeated
    #[arg(
        long,
        global = true,
        value_name = "GLOB",
        env = "MCP_TEXT_EDITOR_NO_HISTORY_FOR",
        value_delimiter = ';'
    )]
    pub(super) no_history_for: Vec<String>,
    /// How many days an edit is kept
    #[arg(
        long, global = true, value_name = "N", env = "MCP_TEXT_EDITOR_HISTORY_DAYS", default_value_t = HistorySettings::DEFAULT_DAYS,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(super) history_days: u32,
    /// How large the history may grow; the oldest edits go first
    #[arg(
        long, global = true, value_name = "BYTES", env = "MCP_TEXT_EDITOR_HISTORY_SIZE",
        default_value_t = HistorySettings::DEFAULT_BYTES, value_parser = clap::value_parser!(u64).range(1 << 20..)
    )]
    pub(super) history_size: u64,
    /// Where the journal and the history are kept [default: the platform's directory for a program's state]
    #[arg(long, global = true, value_name = "DIR", env = "MCP_TEXT_EDITOR_STATE_DIR")]
    pub(super) state_dir: Option<PathBuf>,
    /// Serve MCP over HTTP at this address, such as 127.0.0.1:8000, instead of over standard input and output; the path
    /// is /mcp
    #[arg(long, value_name = "ADDR", env = "MCP_TEXT_EDITOR_HTTP")]
    pub(super) http: Option<String>,
    /// Serve HTTP only to clients that send the token in this file, which nobody else may read; without one only
    /// loopback is served
    #[arg(long, value_name = "FILE", env = "MCP_TEXT_EDITOR_TOKEN_FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Serve HTTP also under this name, besides addresses and localhost; may be repeated
    #[arg(long, value_name = "HOST", env = "MCP_TEXT_EDITOR_ALLOW_HOST", value_delimiter = ';')]
    pub(super) allow_host: Vec<String>,
    /// Let web pages of this origin call over HTTP, such as `https://app.example`; may be repeated
    #[arg(long, value_name = "ORIGIN", env = "MCP_TEXT_EDITOR_ALLOW_ORIGIN", value_delimiter = ';')]
    pub(super) allow_origin: Vec<String>,
    /// What is logged, to standard error; never the text of a file
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_LOG_LEVEL", default_value = "warn")]
    pub(super) log_level: LogLevel,
    /// How a line of the log is written: for people, or as JSON for programs
    #[arg(long, global = true, value_enum, env = "MCP_TEXT_EDITOR_LOG_FORMAT", default_value = "text")]
    pub(super) log_format: LogFormat,
}

#[derive(Subcommand, Debug)]
pub(super) enum Subcommands {
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
    /// Print the script by which a shell completes this command line
    Completions {
        /// The shell that is to read it
        shell: Shell,
    },
    /// Print the manual's page of this program, for man(1)
    Man {
        /// A subcommand, whose page it is to be instead
        command: Vec<String>,
    },
}

#[derive(Subcommand, Debug)]
pub(super) enum HistorySubcommands {
    /// Forget the edits, so that nothing of them is left on the disk and none can be undone
    Forget {
        /// Only edits of this file, or of files below this directory
        path: Option<PathBuf>,
    },
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
