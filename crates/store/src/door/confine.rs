//! The second wall.

use std::io;

use crate::access::landlock::{self, Beyond, Confinement, Network};
use crate::workspace::Workspace;

impl Workspace {
    /// Has the kernel deny this thread, and all that it starts, everything but the roots (for reading only,
    /// if nothing may be written) and the state directory, as far as it can (Landlock); names can be looked
    /// up, and the database be reached, if there is one. There is no way back. Due before any other thread,
    /// and after all that is to be opened elsewhere. The error is the kernel's; then nothing holds.
    pub fn confine(&self, network: Network) -> io::Result<Confinement> {
        landlock::confine(
            &self.roots,
            self.state_dir.as_ref().map(crate::state_dir::StateDir::directory),
            network,
            self.beyond().as_ref(),
        )
    }

    /// Returns what is needed to reach the database again.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_self, reason = "there is no database"))]
    fn beyond(&self) -> Option<Beyond> {
        #[cfg(feature = "postgres")]
        return self.shared.as_ref().map(|shared| Beyond { ports: shared.ports() });
        #[cfg(not(feature = "postgres"))]
        None
    }
}
