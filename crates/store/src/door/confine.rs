//! Makes the kernel confine the process, as a second protection in addition to the checks of paths.

use std::io;

use crate::access::landlock::{self, Beyond, Confinement, Network};
use crate::workspace::Workspace;

impl Workspace {
    /// Makes the kernel confine this thread, and all threads that it starts, as far as the kernel can
    /// (Landlock). The threads can then access only the roots (only for reading, if writing is not allowed)
    /// and the state directory. If there is a shared database, they can also resolve host names and connect
    /// to the database. The confinement cannot be undone. Must be called before any other thread starts, and
    /// after all files elsewhere are open. If the kernel returns an error, nothing is confined.
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
