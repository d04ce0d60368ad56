//! A temporary directory for tests: `root` is an allowed directory, and `outside` is not.

use std::io;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::resolve::MatchOptions as Matching;

use crate::access::place::WritablePlace;
use crate::access::roots::{PathError, Roots};
use crate::access::suggested::{LikelyFiles, Purpose};
use crate::cancellation::Cancellation;
use crate::edit::{Edit, EditChange, EditOptions, Edited, Reason, Warning, edit};
use crate::error::StoreError;
use crate::history::{Caller, NotKept};
use crate::os;
use crate::os::directory::Dir;
use crate::os::real_path::without_verbatim_prefix;
use crate::state_dir::StateDir;
use crate::workspace::Workspace;

pub(crate) struct World {
    directory: tempfile::TempDir,
    _state: tempfile::TempDir,
    pub(crate) workspace: Workspace,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = real(directory.path());
        for name in ["root", "outside"] {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        let roots = Roots::open(&[path.join("root")]).unwrap();
        let state = tempfile::tempdir().unwrap();
        let opened = StateDir::open(state.path()).unwrap();
        // Some tests edit as another user.
        #[cfg(unix)]
        for name in ["", "journal", "content"] {
            let all: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o777);
            std::fs::set_permissions(state.path().join(name), all).unwrap();
        }
        let workspace = Workspace { state_dir: Some(opened), ..Workspace::without_state(roots) };
        Self { directory, _state: state, workspace }
    }

    /// Returns a world in which links can be created. If they cannot, prints a message and returns `None`:
    /// under Wine, and for a Windows user without the right to create links.
    pub(crate) fn with_links() -> Option<Self> {
        let world = Self::new();
        let probe = world.path("@/outside/probe");
        let made = symlink(&world.path("@/root"), &probe).and_then(|()| probe.symlink_metadata());
        // Wine reports that it created a link even if it did not.
        if !made.as_ref().is_ok_and(std::fs::Metadata::is_symlink) {
            eprintln!("skipped: no links can be made: {made:?}");
            return None;
        }
        unlink(&probe);
        Some(world)
    }

    /// Returns a path in the temporary directory. `@` stands for that directory, and `/` for the separator of
    /// names.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(native(path).replace('@', real(self.directory.path()).to_str().unwrap()))
    }

    /// Returns a text from the store, with `@` for the temporary directory and `/` between names.
    pub(crate) fn told(&self, text: &str) -> String {
        let directory = self.path("@");
        let directory = directory.to_str().unwrap();
        let text = text.replace(directory, "@");
        if cfg!(windows) { text.replace('\\', "/") } else { text }
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
        symlink(&self.path(target), &self.path(path)).unwrap();
    }

    /// Returns the key of the file to which a path leads. The key does not depend on the content.
    pub(crate) fn file(&self, path: &str) -> impl PartialEq + std::fmt::Debug + use<> {
        os::identity_of(&std::fs::File::open(self.path(path)).unwrap()).unwrap().key()
    }

    pub(crate) fn place(&self, path: &str) -> WritablePlace {
        self.workspace.roots.resolve_for_writing(self.path(path).to_str().unwrap()).unwrap()
    }

    /// Appends a line to files, in one call. Returns the warnings of each file, or the reasons of a refusal.
    pub(crate) fn append(&self, paths: &[&str]) -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.path(path)).collect();
        let edits = paths.iter().map(|path| Edit::new(path.to_str().unwrap(), EditChange::Append("added\n")));
        let edits: Vec<_> = edits.collect();
        let options = options("append_text_file_contents");
        let done = edit(&self.workspace, &edits, options);
        if let Some(state) = &self.workspace.state_dir {
            for name in ["journal", "content"] {
                // A confined thread cannot read these directories.
                let Ok(left) = std::fs::read_dir(state.path().join(name)) else { continue };
                assert_eq!(left.count(), 0, "whatever becomes of a call, nothing is left of it in {name}");
            }
        }
        match done {
            Ok(done) => done.files.into_iter().map(|file| format!("{:?}", warnings(file))).collect(),
            Err(problems) => problems.iter().map(|problem| reason(&problem.reason)).collect(),
        }
    }

    /// Returns the place to which a path leads, or the reason why it leads nowhere, with `@` for the
    /// temporary directory.
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
        self.told(&text)
    }

    /// Returns the files that are suggested for reading when a path leads to none. `@` is the temporary
    /// directory, and `…` says that there may be more.
    pub(crate) fn suggested(&self, path: &str) -> String {
        self.meant_for(Purpose::Reading, path)
    }

    /// Returns the same for any purpose.
    pub(crate) fn meant_for(&self, purpose: Purpose, path: &str) -> String {
        let path = self.path(path);
        let (path, roots) = (path.to_str().unwrap(), &self.workspace.roots);
        let search = LikelyFiles::new(roots, purpose, Cancellation::none());
        let suggested = match roots.resolve(path).map(|place| place.open_file(false)) {
            Err(mut problems) => match search.of_path(path, problems.remove(0)) {
                PathError::NotAbsolute { suggested } | PathError::Outside { suggested } => suggested,
                _ => None,
            },
            Ok(Err(error)) => search.of_error(path, error).suggested,
            Ok(Ok(_)) => panic!("{path} is there"),
        };
        let told = suggested.map_or_else(String::new, |suggested| {
            let paths: Vec<_> = suggested.paths.iter().map(|path| path.to_str().unwrap()).collect();
            paths.join(", ") + if suggested.are_all { "" } else { ", …" }
        });
        self.told(&told)
    }

    /// Returns all names below the temporary directory, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let top = self.path("@");
        collect(&top, &top, &mut names);
        let mut names: Vec<String> = names.iter().map(|name: &String| self.told(name)).collect();
        names.sort();
        names
    }
}

/// Opens a directory by its path; it need not be in a root.
pub(crate) fn opened(path: &Path) -> Dir {
    Dir::open_ambient_dir(path, cap_std::ambient_authority()).unwrap()
}

/// Returns a path as the store shows it.
pub(crate) fn real(path: &Path) -> PathBuf {
    without_verbatim_prefix(path.canonicalize().unwrap())
}

/// Returns a path that is written with `/` in the form of this system.
pub(crate) fn native(path: &str) -> String {
    if cfg!(windows) { path.replace('/', "\\") } else { path.to_owned() }
}

/// Creates a link. Windows has links to files and links to directories; a link to a missing target is created
/// as a link to a file.
pub(crate) fn symlink(target: &Path, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, path);
    #[cfg(windows)]
    if path.parent().is_some_and(|above| above.join(target).is_dir()) {
        std::os::windows::fs::symlink_dir(target, path)
    } else {
        std::os::windows::fs::symlink_file(target, path)
    }
}

/// Removes a link of either kind.
pub(crate) fn unlink(path: &Path) {
    std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path)).unwrap();
}

/// Returns the default options for the call of a tool.
pub(crate) fn options(tool: &str) -> EditOptions<'_> {
    EditOptions {
        by: Caller { tool, ..Caller::default() },
        undoes: None,
        remember: None,
        matching: Matching::default(),
        dry_run: false,
        shows_diff: false,
        compared: None,
        shown: None,
        expected: None,
        replaced: 0,
        progress: None,
        cancellation: Cancellation::none(),
    }
}

/// Returns the warnings of a file, except warnings about its text, and except the warning that there is no
/// history, which every edit in these tests has.
fn warnings(file: Edited) -> Vec<Warning> {
    let of_history = Warning::NotInHistory(NotKept::Off);
    let is_other = |warning: &Warning| *warning != of_history && !matches!(warning, Warning::Text(_));
    file.warnings.into_iter().filter(is_other).collect()
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
        PathError::Outside { .. } => "Outside".to_owned(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Store(error) => kind(error),
        other => format!("{other:?}"),
    }
}

/// Runs `work` on a separate thread with only this user's rights. If this process does not run as root,
/// prints a message and returns `None`. Only Linux has a user per thread.
#[cfg(unix)]
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
