//! A temporary directory with `root`, which is allowed, and `outside`, which is not.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::access::meant::search::{Purpose, Search};
use crate::access::place::WritablePlace;
use crate::access::roots::{PathError, Roots};
use crate::cancellation::Cancellation;
use crate::edit::{Change, Edit, Edited, Options, Reason, Warning, edit};
use crate::error::StoreError;
use crate::history::NotKept;
use crate::state_dir::StateDir;
use crate::workspace::Workspace;
use mcp_text_editor_core::resolve::Options as Matching;

pub(crate) struct World {
    directory: tempfile::TempDir,
    _state: tempfile::TempDir,
    pub(crate) workspace: Workspace,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        for name in ["root", "outside"] {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        let roots = Roots::open(&[path.join("root")]).unwrap();
        let state = tempfile::tempdir().unwrap();
        let opened = StateDir::open(state.path()).unwrap();
        // Some tests edit as another user.
        for name in ["", "journal", "content"] {
            std::fs::set_permissions(state.path().join(name), Permissions::from_mode(0o777)).unwrap();
        }
        let workspace = Workspace { state_dir: Some(opened), ..Workspace::without_state(roots) };
        Self { directory, _state: state, workspace }
    }

    /// `@` stands for the temporary directory.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        let real = self.directory.path().canonicalize().unwrap();
        PathBuf::from(path.replace('@', real.to_str().unwrap()))
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        symlink(self.path(target), self.path(path)).unwrap();
    }

    pub(crate) fn place(&self, path: &str) -> WritablePlace {
        self.workspace.roots.resolve_for_writing(self.path(path).to_str().unwrap()).unwrap()
    }

    /// Appends a line to files, in one call; what it warns of, file by file, or why it is refused.
    pub(crate) fn append(&self, paths: &[&str]) -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.path(path)).collect();
        let edits = paths.iter().map(|path| Edit {
            file_path: path.to_str().unwrap(),
            encoding: None,
            file_hash: None,
            change: Change::Append("added\n"),
        });
        let edits: Vec<_> = edits.collect();
        let options = options("append_text_file_contents");
        let done = edit(&self.workspace, &edits, options);
        if let Some(state) = &self.workspace.state_dir {
            for name in ["journal", "content"] {
                // A confined thread cannot look.
                let Ok(left) = std::fs::read_dir(state.path().join(name)) else { continue };
                assert_eq!(left.count(), 0, "whatever becomes of a call, nothing is left of it in {name}");
            }
        }
        match done {
            Ok(done) => done.files.into_iter().map(|file| format!("{:?}", warnings(file))).collect(),
            Err(problems) => problems.iter().map(|problem| reason(&problem.reason)).collect(),
        }
    }

    /// Where a path leads, or why nowhere, with `@` for the temporary directory.
    pub(crate) fn resolve(&self, path: &str) -> String {
        let path = self.path(path);
        let text = match self.workspace.roots.resolve(path.to_str().unwrap()) {
            Err(problems) => problems.iter().map(describe).collect::<Vec<_>>().join(", "),
            Ok(place) => {
                let link = if place.is_named_by_link() { " by link" } else { "" };
                let missing = match place.missing_directories() {
                    [] => String::new(),
                    some => format!(" below {some:?}"),
                };
                let opened = match place.open_file(false) {
                    Ok(_) => "opened".to_owned(),
                    Err(error) => format!("{:?}", error.kind),
                };
                format!("{}{link}{missing}: {opened}", place.path().display())
            }
        };
        text.replace(self.path("@").to_str().unwrap(), "@")
    }

    /// The files that a path is taken for which leads to none, to be read; `@` is the temporary directory, and `…` says that there may
    /// be more.
    pub(crate) fn meant(&self, path: &str) -> String {
        self.meant_for(Purpose::Reading, path)
    }

    /// The same, for whatever the file is wanted.
    pub(crate) fn meant_for(&self, purpose: Purpose, path: &str) -> String {
        let path = self.path(path);
        let (path, roots) = (path.to_str().unwrap(), &self.workspace.roots);
        let search = Search::new(roots, purpose, Cancellation::none());
        let meant = match roots.resolve(path).map(|place| place.open_file(false)) {
            Err(mut problems) => match search.of_path(path, problems.remove(0)) {
                PathError::NotAbsolute { meant } => meant,
                _ => None,
            },
            Ok(Err(error)) => search.of_error(path, error).meant,
            Ok(Ok(_)) => panic!("{path} is there"),
        };
        let told = meant.map_or_else(String::new, |meant| {
            let paths: Vec<_> = meant.paths.iter().map(|path| path.to_str().unwrap()).collect();
            paths.join(", ") + if meant.are_all { "" } else { ", …" }
        });
        told.replace(self.path("@").to_str().unwrap(), "@")
    }

    /// All names below the temporary directory, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let top = self.path("@");
        collect(&top, &top, &mut names);
        names.sort();
        names
    }
}

/// How a tool's call is carried out unless it says otherwise.
pub(crate) fn options(tool: &str) -> Options<'_> {
    Options {
        tool,
        undoes: None,
        matching: Matching::default(),
        dry_run: false,
        cancellation: Cancellation::none(),
    }
}

/// There is no history here, as every edit says.
fn warnings(file: Edited) -> Vec<Warning> {
    let of_history = Warning::NotInHistory(NotKept::Off);
    file.warnings.into_iter().filter(|warning| *warning != of_history).collect()
}

fn collect(top: &Path, directory: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.path().strip_prefix(top).unwrap().display().to_string());
        if entry.file_type().unwrap().is_dir() {
            collect(top, &entry.path(), names);
        }
    }
}

fn describe(problem: &PathError) -> String {
    match problem {
        PathError::Failed(error) => kind(error),
        PathError::NotAbsolute { .. } => "NotAbsolute".to_owned(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Store(error) => kind(error),
        other => format!("{other:?}"),
    }
}

/// Runs `work` on a thread of its own that has this user's rights alone; `None`, with a message, if this process is not
/// root's. Only Linux has users by thread.
pub(crate) fn as_user<T: Send>(user: u32, work: impl FnOnce() -> T + Send) -> Option<T> {
    #[cfg(target_os = "linux")]
    if rustix::process::geteuid().is_root() {
        use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
        let drop_rights = || {
            let (uid, gid) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(user));
            set_thread_groups(&[])?;
            set_thread_res_gid(gid, gid, gid)?;
            set_thread_res_uid(uid, uid, uid)
        };
        return std::thread::scope(|scope| {
            let thread = scope.spawn(|| drop_rights().is_ok().then(work));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
    }
    let _ = (user, work);
    eprintln!("skipped: only root can become another user");
    None
}

pub(crate) fn kind(error: &StoreError) -> String {
    format!("{:?} {:?}", error.operation, error.kind)
}
