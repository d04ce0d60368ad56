//! The arguments of `history` and `undo`. The comments here are the text of `--help`.

use std::path::PathBuf;

use clap::{Args, ColorChoice, Subcommand, ValueHint};

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct HistoryArguments {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<HistorySubcommands>,
    /// A file, or a directory above files; or the id of one edit
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(in crate::cli) path: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) filters: Filters,
    /// The most edits, as -5 [default: 20; --html: 500]
    #[arg(short = 'n', long, value_name = "N", help_heading = "Which edits")]
    pub(in crate::cli) newest: Option<usize>,
    #[command(flatten)]
    pub(in crate::cli) form: FormArguments,
    #[command(flatten)]
    pub(in crate::cli) page: PageArguments,
    /// Write out the bytes that recovery has put aside under this id, instead
    #[arg(long, value_name = "EDIT_ID", conflicts_with_all = ["path", "patch", "oneline", "stat", "json", "web", "html"], help_heading = "How they are shown", hide_short_help = true)]
    pub(in crate::cli) contents: Option<String>,
}

/// Edits as a page for a browser.
#[derive(Args, Debug)]
pub(in crate::cli) struct PageArguments {
    /// Show and search them in a browser, and take them back there
    ///
    /// The page is for this machine alone. Its link works once; --open opens it, too. It ends with Ctrl-C, or
    /// once the page was closed for some time.
    #[arg(long, conflicts_with_all = ["patch", "oneline", "stat", "json", "no_pager"], help_heading = "How they are shown")]
    pub(in crate::cli) web: bool,
    /// With --web: serve the page at this port
    #[arg(
        long,
        requires = "web",
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        help_heading = "How they are shown",
        hide_short_help = true
    )]
    pub(in crate::cli) port: u16,
    /// With --web: open the browser, too
    #[arg(long, requires = "web", help_heading = "How they are shown", hide_short_help = true)]
    pub(in crate::cli) open: bool,
    /// With --web: end so many seconds after the page was closed
    #[arg(long, value_name = "N", requires = "web", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..), help_heading = "How they are shown", hide_short_help = true)]
    pub(in crate::cli) idle_seconds: u64,
    /// Write one page to send to somebody; - is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["web", "patch", "oneline", "stat", "json", "no_pager"], help_heading = "How they are shown")]
    pub(in crate::cli) html: Option<PathBuf>,
    /// With --html: in place of a file that is there
    #[arg(long, requires = "html", help_heading = "How they are shown", hide_short_help = true)]
    pub(in crate::cli) force: bool,
}

/// Which edits are meant, besides those of a file.
#[derive(Args, Default, Debug)]
pub(in crate::cli) struct Filters {
    /// Only edits made then or later: 14:00, yesterday, 2h …
    ///
    /// A day (2026-11-25) begins at midnight, a time without a day is today's, both in this machine's time
    /// zone; a span (2h, "3 days", 1h30m) is that long ago; RFC 3339 is taken, too. The id of an edit is the
    /// moment of that edit: it and all later ones.
    #[arg(long, value_name = "WHEN", help_heading = "Which edits")]
    pub(in crate::cli) since: Option<String>,
    /// Only edits made before, as for --since
    #[arg(long, value_name = "WHEN", help_heading = "Which edits", hide_short_help = true)]
    pub(in crate::cli) until: Option<String>,
    /// Only edits made by tools with this in their name; with --web, by the tool of this name
    #[arg(long, value_name = "NAME", help_heading = "Which edits", hide_short_help = true)]
    pub(in crate::cli) tool: Option<String>,
    /// Only edits made by clients with this in their name; with --web, by the client of this name
    #[arg(long, value_name = "NAME", help_heading = "Which edits", hide_short_help = true)]
    pub(in crate::cli) client: Option<String>,
    /// Only edits whose diff, paths included, has this text
    #[arg(long, value_name = "TEXT", help_heading = "Which edits")]
    pub(in crate::cli) grep: Option<String>,
}

/// How edits are shown.
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is given or not")]
#[derive(Args, Debug)]
pub(in crate::cli) struct FormArguments {
    /// Show the changed lines (default without a terminal)
    #[arg(short, long, conflicts_with_all = ["oneline", "stat", "json"], help_heading = "How they are shown")]
    pub(in crate::cli) patch: bool,
    /// Show each edit on a line (default at a terminal)
    #[arg(long, conflicts_with_all = ["stat", "json"], help_heading = "How they are shown", hide_short_help = true)]
    pub(in crate::cli) oneline: bool,
    /// Show numbers of lines, not the lines
    #[arg(long, conflicts_with = "json", help_heading = "How they are shown")]
    pub(in crate::cli) stat: bool,
    /// Write an object a line, for programs (JSON Lines)
    #[arg(long, help_heading = "How they are shown")]
    pub(in crate::cli) json: bool,
    /// Write at once, not page by page
    #[arg(long, help_heading = "How they are shown", hide_short_help = true)]
    pub(in crate::cli) no_pager: bool,
    /// Whether to use colours: auto, always or never
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        hide_default_value = true,
        help_heading = "How they are shown",
        hide_short_help = true
    )]
    pub(in crate::cli) color: ColorChoice,
}

#[derive(Subcommand, Debug)]
pub(in crate::cli) enum HistorySubcommands {
    /// Show one edit, or several, by their ids
    Show {
        /// The id of an edit, as its reply or `history` names it
        #[arg(value_name = "EDIT_ID", required = true)]
        edit_ids: Vec<String>,
        #[command(flatten)]
        form: FormArguments,
    },
    /// Show what machines that share the history call directories
    Roots {
        /// Write an object a line, for programs (JSON Lines)
        #[arg(long)]
        json: bool,
    },
    /// Forget the edits, so that none is left on the disk
    Forget {
        /// Only edits of this file, or of files below this directory
        #[arg(value_hint = ValueHint::AnyPath)]
        path: Option<PathBuf>,
    },
}

#[expect(clippy::struct_excessive_bools, reason = "each is an option that is given or not")]
#[derive(Args, Debug)]
pub(in crate::cli) struct UndoArguments {
    /// The edit's id, as its reply or `history` names it; of several, the newest goes first [default: ask
    /// about the newest]
    #[arg(value_name = "EDIT_ID")]
    pub(in crate::cli) edit_ids: Vec<String>,
    /// All edits made then or later, as for `history`, that are in effect
    #[arg(long, value_name = "WHEN", conflicts_with = "edit_ids")]
    pub(in crate::cli) since: Option<String>,
    /// Of those since only edits of this file, or of files below this directory
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with = "edit_ids")]
    pub(in crate::cli) path: Option<PathBuf>,
    /// Show each edit, and ask; without ids or --since of the newest 20
    #[arg(short, long, conflicts_with = "yes")]
    pub(in crate::cli) interactive: bool,
    /// Take all since back, without being asked
    #[arg(long, requires = "since")]
    pub(in crate::cli) yes: bool,
    /// Take the later edits that are in the way back, too
    #[arg(long, requires = "edit_ids")]
    pub(in crate::cli) with_later: bool,
    /// Show what would change, and change nothing
    #[arg(long, conflicts_with_all = ["interactive", "yes"])]
    pub(in crate::cli) dry_run: bool,
}
