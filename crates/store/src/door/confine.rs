//! Confines the process by the kernel: the second wall.

use std::io;

use crate::access::landlock::{self, Beyond, Confinement, Network};
use crate::workspace::Workspace;

impl Workspace {
    /// Makes the kernel confine this thread, and all threads that it starts, as far as it can (Landlock).
    /// They can reach only the roots (only for reading, if nothing may be written) and the state directory.
    /// If there is a database, they can also look names up and connect to it. This cannot be undone. It must
    /// happen before any other thread starts, and after everything elsewhere is open. On an error, which is
    /// the kernel's, nothing is confined.
    pub fn confine(&self, network: Network) -> io::Result<Confinement> {
        landlock::confine(
            &self.roots,
            self.state_dir.as_ref().map(crate::state_dir::StateDir::directory),
            network,
            self.beyond().as_ref(),
        )
    }

    /// Returns the access that is needed to reach the database again.
    fn beyond(&self) -> Option<Beyond> {
        self.shared.as_ref().map(|shared| Beyond { ports: shared.ports() })
    }
}
