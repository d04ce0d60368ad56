//! Lets the kernel restrict the whole process (Landlock), as a second defence after the checks of paths.

use mcp_text_editor_store::{Confinement, Gap, Network, Workspace};

use crate::config::Landlock;

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
