//! A workspace on one empty directory, for tests of the door.

use std::collections::BTreeMap;
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

    /// Has another process serve the root, which has not looked for anything to recover yet.
    #[cfg(target_os = "linux")]
    pub(crate) fn next(self) -> Self {
        let Self { directory, workspace } = self;
        drop(workspace);
        let workspace = Self::serve(&directory, std::convert::identity).unwrap();
        Self { directory, workspace }
    }

    /// Has another process serve the root, which recovers.
    #[cfg(target_os = "linux")]
    pub(crate) fn again(self) -> Self {
        let next = self.next();
        next.workspace.recover();
        next
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

    /// Returns all that is in the root: directories end in a slash, and files are with what they hold.
    /// Nothing may be left to be recovered.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        assert_eq!(self.records(), 0, "nothing is left to be recovered");
        self.now()
    }

    /// Returns the same, whatever is left to be recovered.
    pub(crate) fn now(&self) -> BTreeMap<String, String> {
        let root = self.directory.path().join("root");
        let (mut tree, mut pending) = (BTreeMap::new(), vec![root.clone()]);
        while let Some(directory) = pending.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                if path.is_dir() {
                    tree.insert(format!("{name}/"), String::new());
                    pending.push(path);
                } else {
                    tree.insert(name, String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned());
                }
            }
        }
        tree
    }

    /// Returns the number of calls that are to be recovered.
    pub(crate) fn records(&self) -> usize {
        std::fs::read_dir(self.directory.path().join("state/journal")).unwrap().count()
    }
}
