//! Lets the kernel confine the process, as a second barrier behind the checks of paths.

use std::io;

use crate::access::landlock::{self, Beyond, Confinement, Network};
use crate::workspace::Workspace;

impl Workspace {
    /// Makes the kernel confine this thread, and all threads that it starts, as far as it can (Landlock).
    /// They can reach only the roots (only for reading, if nothing may be written) and the state directory.
    /// If there is a shared database, they can also resolve host names and connect to it. This cannot be
    /// undone. It must be called before any other thread starts, and after all files elsewhere are open. An
    /// error comes from the kernel; then nothing is confined.
    pub fn confine(&self, network: Network) -> io::Result<Confinement> {
        landlock::confine(
            &self.roots,
            self.state_dir.as_ref().map(crate::state_dir::StateDir::directory),
            network,
            self.beyond().as_ref(),
        )
    }

    /// Returns the access that is needed to reconnect to the shared database.
    fn beyond(&self) -> Option<Beyond> {
        self.shared.as_ref().map(|shared| Beyond { ports: shared.ports() })
    }
}
