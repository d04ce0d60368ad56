//! The second wall.

use std::io;

use crate::access::landlock::{self, Confinement, Network};
use crate::workspace::Workspace;

impl Workspace {
    /// Has the kernel deny this thread, and all that it starts, everything but the roots (for reading only, if nothing may be
    /// written) and the state directory, as far as it can (Landlock). There is no way back. Due before any other thread, and after
    /// all that is to be opened elsewhere. The error is the kernel's; then nothing holds.
    pub fn confine(&self, network: Network) -> io::Result<Confinement> {
        landlock::confine(
            &self.roots,
            self.state_dir.as_ref().map(crate::state_dir::StateDir::directory),
            network,
        )
    }
}
