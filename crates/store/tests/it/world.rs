//! A workspace on one empty directory, for tests of the door.

use std::path::Path;

use mcp_text_editor_store::{StoreError, Workspace, WorkspaceBuilder};
use tempfile::TempDir;

/// A root, and a state directory beside it.
pub(crate) struct World {
    pub(crate) directory: TempDir,
    pub(crate) workspace: Workspace,
}

impl World {
    pub(crate) fn new() -> Self {
        #[cfg(feature = "history")]
        let settings =
            |builder: WorkspaceBuilder| builder.history(mcp_text_editor_store::HistorySettings::default());
        #[cfg(not(feature = "history"))]
        let settings = std::convert::identity;
        Self::with(settings)
    }

    /// Makes a root that is served with these settings.
    pub(crate) fn with(settings: impl FnOnce(WorkspaceBuilder) -> WorkspaceBuilder) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("root")).unwrap();
        let workspace = Self::serve(&directory, settings).unwrap();
        workspace.recover();
        Self { directory, workspace }
    }

    /// Serves the root in this directory, as each process does.
    pub(crate) fn serve(
        directory: &TempDir,
        settings: impl FnOnce(WorkspaceBuilder) -> WorkspaceBuilder,
    ) -> Result<Workspace, StoreError> {
        let [root, state] = ["root", "state"].map(|name| directory.path().join(name));
        settings(Workspace::builder().root(root).state_directory(state)).build()
    }

    /// Has another process serve the root, which recovers.
    #[cfg(target_os = "linux")]
    pub(crate) fn again(self) -> Self {
        let Self { directory, workspace } = self;
        drop(workspace);
        let workspace = Self::serve(&directory, std::convert::identity).unwrap();
        workspace.recover();
        Self { directory, workspace }
    }

    /// Returns a path in the root.
    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path().join("root").join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file, makes the directories above it, and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}
