//! The state that several machines share (`--state-url`, `--root-name`): [`SharedOptions`] are resolved once,
//! and open a [`SharedState`]. A build without the feature `cluster` supports neither (`absent`), and says
//! how to get a build that does.

#[cfg(not(feature = "cluster"))]
mod absent;
#[cfg(feature = "cluster")]
mod present;
mod typed;

#[cfg(not(feature = "cluster"))]
pub use absent::{SharedOptions, SharedState, resolve};
#[cfg(feature = "cluster")]
pub use present::{SharedOptions, SharedState, resolve};
pub use typed::{NotShared, TypedShared};
