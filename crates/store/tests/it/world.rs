//! A workspace on one empty directory, for tests of the door.

use std::path::Path;

use mcp_text_editor_store::Workspace;
use tempfile::TempDir;

/// A root, and a state directory beside it.
pub(crate) struct World {
    pub(crate) directory: TempDir,
    pub(crate) workspace: Workspace,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let builder = Workspace::builder().root(root).state_directory(directory.path().join("state"));
        #[cfg(feature = "history")]
        let builder = builder.history(mcp_text_editor_store::HistorySettings::default());
        let workspace = builder.build().unwrap();
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
