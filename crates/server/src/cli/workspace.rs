//! Opens the workspace of the process, according to its options, and lets the kernel restrict the whole
//! process (Landlock), as a second defence after the checks of paths.

use std::path::Path;

use mcp_text_editor_store::{Confinement, Gap, Network, StoreError, Workspace};

use super::cluster::{NotShared, SharedOptions};
use super::history::{self, HistoryAction};
use super::install::clients::own_configurations;
use super::resolve::{Action, Command};
use crate::config::{Landlock, StateOptions};
use crate::limits::Limit;
use crate::protocol::measure;
use crate::render::{directories, edit};

/// The reason why there is no workspace.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// An allowed directory cannot be opened.
    #[error("an allowed directory cannot be opened")]
    Directory(#[from] StoreError),
    /// The state that several machines share cannot be opened.
    #[error(transparent)]
    Shared(#[from] NotShared),
}

/// Opens the workspace with the process's own state directory. If the action names past edits that only the
/// history in `other` has, opens it with `other` instead.
pub fn open(command: &Command, other: Option<&Path>) -> Result<Workspace, NotOpened> {
    let own = &command.state_options;
    let edit_id = match &command.action {
        // If there are several ids, all of them are in the same history.
        Action::History(HistoryAction::Undo { edit_ids, .. } | HistoryAction::Show { edit_ids, .. }) => {
            edit_ids.first()
        }
        Action::History(HistoryAction::Contents { edit_id }) => Some(edit_id),
        _ => None,
    };
    if let (Some(edit_id), Some(other)) = (edit_id, other) {
        let elsewhere = StateOptions { state_directory: Some(other.to_owned()), ..own.clone() };
        let is_in = |options| Ok::<_, NotOpened>(history::holds(&open_with(command, options)?, edit_id));
        // Only the other history has the edit.
        if let (false, true) = (is_in(own)?, is_in(&elsewhere)?) {
            return open_with(command, &elsewhere);
        }
    }
    open_with(command, own)
}

/// Opens the allowed directories, with their restrictions, and the state directory.
///
/// A server opens the directories that exist, and logs why it does not serve the others. For subcommands, a
/// directory that cannot be opened is an error. If the state directory cannot be opened, the workspace has
/// none: the reason is logged, and replies warn of the consequences.
fn open_with(command: &Command, state_options: &StateOptions) -> Result<Workspace, NotOpened> {
    let Command { config, access, action, .. } = command;
    let mut builder = Workspace::builder()
        .roots(command.roots.clone(), command.unserved.clone())
        .read_only(access.read_only)
        .protect(access.protected.clone())
        .protect_files(own_configurations)
        .unprotect(access.unprotected.clone())
        .in_place(state_options.in_place.clone())
        .durability(state_options.durability)
        .observer(measure::observer())
        .home(std::env::home_dir())
        .strict(config.strict)
        .max_file_bytes(config.limits.get(Limit::File))
        .max_occurrences(config.limits.get(Limit::Occurrences))
        .max_inserted_bytes(config.limits.get(Limit::Inserted));
    if let Some(directory) = state_directory(state_options, action) {
        builder = builder.state_directory(directory);
    }
    // `doctor` opens the shared state itself.
    let wants_shared = needs_state(action) && !matches!(action, Action::Doctor { .. });
    let shared = command.shared.as_ref().filter(|_| wants_shared).map(SharedOptions::open).transpose()?;
    if let Some(shared) = &shared {
        builder = shared.share(builder);
    }
    if let Some(settings) = &state_options.history {
        builder = builder.history(settings.clone());
    }
    let workspace = match action {
        Action::Serve => builder.build_what_is_there(),
        _ => builder.build_without_state_at_need()?,
    };
    for unserved in workspace.unserved() {
        let remedy =
            if unserved.is_temporary() { "it is served as soon as it does" } else { directories::REMEDY };
        tracing::error!("{}; {remedy}", directories::why(unserved));
    }
    for root in workspace.closed_roots() {
        tracing::warn!(root = %root.display(), "an allowed directory lies in the state directory: nothing in it can be read");
    }
    if let Some(shared) = shared.filter(|_| matches!(action, Action::Serve)) {
        for (what, mend) in workspace.roots().filter_map(|root| shared.late(root)) {
            tracing::warn!("{what}; {mend}");
        }
    }
    // With a shared state, the journal and the history are in the database, and a state directory would have
    // nothing else.
    let is_wanted = needs_state(action) && command.shared.is_none();
    if let Some(reason) = workspace.state_problem().filter(|_| is_wanted) {
        tracing::warn!("{}", edit::no_state(reason));
    }
    Ok(workspace)
}

fn state_directory<'a>(state_options: &'a StateOptions, action: &Action) -> Option<&'a Path> {
    state_options.state_directory.as_deref().filter(|_| needs_state(action))
}

fn needs_state(action: &Action) -> bool {
    !matches!(action, Action::Tools { .. } | Action::Document(_))
}

/// The error of `--landlock require` if the kernel does not deny access to all files outside the roots and
/// the state directory.
#[derive(Debug, thiserror::Error)]
#[error("--landlock require: {why}; --landlock auto starts all the same")]
pub struct NotConfined {
    why: String,
}

/// Makes the kernel deny access to everything except the roots and the state directory. Must be the last step
/// before the work, because nothing else can be opened afterwards. Must run before any other thread is
/// started, because Landlock would not restrict that thread.
pub fn confine(workspace: &Workspace, landlock: Landlock) -> Result<(), NotConfined> {
    if landlock == Landlock::Off {
        tracing::info!("Landlock: off");
        return Ok(());
    }
    let why_not = match workspace.confine(Network::Closed) {
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
        Some(why) if landlock == Landlock::Require => Err(NotConfined { why }),
        _ => Ok(()),
    }
}
