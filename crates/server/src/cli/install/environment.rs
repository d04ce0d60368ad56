//! Describes the machine for which a client is configured: its system, its environment variables, and the
//! paths of directories and programs that follow from them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use mcp_text_editor_store::package_of_this_process;
use serde::Deserialize;

/// An operating system, as far as the paths of configurations depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum System {
    /// Linux, and other systems with the same conventions.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl System {
    /// Returns the name of a variable as it is in [`Environment`]. On Windows, where case does not count
    /// (`PATH` is usually written `Path`), the name is in upper case.
    pub(crate) fn variable_name(self, name: impl Into<OsString>) -> OsString {
        let name = name.into();
        if self == Self::Windows { name.to_ascii_uppercase() } else { name }
    }

    /// Returns the endings to append to the name of a command to find its file. Windows starts a typed name
    /// unchanged only if it already has one of these endings.
    fn endings_of_programs(self, name: &Path) -> &'static [&'static str] {
        let endings: &[&str] = &["exe", "cmd", "bat"];
        let own = name.extension().and_then(OsStr::to_str).unwrap_or_default();
        match self {
            Self::Windows if !endings.iter().any(|ending| own.eq_ignore_ascii_case(ending)) => {
                &[".exe", ".cmd", ".bat"]
            }
            _ => &[""],
        }
    }
}

/// The machine and the person for whom a client is configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Environment {
    /// The system.
    pub system: System,
    /// The person's home directory.
    pub home: PathBuf,
    /// The environment variables, by the names that `System::variable_name` returns.
    pub variables: BTreeMap<OsString, OsString>,
    /// The current directory.
    pub here: PathBuf,
    /// The path of this program's file.
    pub program: PathBuf,
    /// The Windows package (MSIX) inside which this program runs, if there is one.
    pub package: Option<String>,
}

impl Environment {
    /// Returns this machine, for the person who has started the program in the directory `here`. The error
    /// says what is not known about the machine.
    pub fn this(here: PathBuf) -> Result<Self, String> {
        let program = std::env::current_exe()
            .map_err(|error| format!("the path of this program is not known: {error}"))?;
        let mut env = Self::of_person(here, program)?;
        env.program = env.stable_program();
        Ok(env)
    }

    /// Returns this machine as the environment describes it, with `here` as the current directory and
    /// `program` as this program's file.
    pub fn of_person(here: PathBuf, program: PathBuf) -> Result<Self, String> {
        let system = if cfg!(windows) {
            System::Windows
        } else if cfg!(target_os = "macos") {
            System::Mac
        } else {
            System::Linux
        };
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let home = home.ok_or("the home directory is not known: HOME is not set, or not absolute")?;
        let variables =
            std::env::vars_os().map(|(name, value)| (system.variable_name(name), value)).collect();
        Ok(Self { system, home, variables, here, program, package: package_of_this_process() })
    }

    /// Returns the value of a variable, if it is not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.get(&OsString::from(name)).filter(|value| !value.is_empty())
    }

    /// Returns the directory that a variable names, if it is absolute; otherwise `below` in the home
    /// directory.
    pub(crate) fn named_or_home(&self, variable: &str, below: &str) -> PathBuf {
        let named = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.home.join(below))
    }

    /// Returns the paths of a template, whose names have `/` between them. The first name is a directory:
    /// - `~`: the home directory;
    /// - `$VARIABLE|BELOW`: the directory that the variable names, or else `BELOW` in the home directory;
    /// - `CONFIG`: the directory of configurations by the rules of XDG, on every system;
    /// - `DATA`: the directory in which desktop programs keep their data and configuration;
    /// - `PROGRAMDATA`: the directory in which Windows programs keep the data of all users;
    /// - `PACKAGES:NAME`: the directories that [`Self::packages`] returns.
    pub(crate) fn paths(&self, template: &str) -> Vec<PathBuf> {
        let (first, rest) = template.split_once('/').unwrap_or((template, ""));
        let xdg = || self.named_or_home("XDG_CONFIG_HOME", ".config");
        let of_windows = |variable: &str, usual: &str| {
            self.variable(variable).map_or_else(|| below(&self.home, usual), PathBuf::from)
        };
        let base = match (first, self.system) {
            ("~", _) => self.home.clone(),
            ("CONFIG", _) | ("DATA", System::Linux) => xdg(),
            ("DATA", System::Mac) => self.home.join("Library/Application Support"),
            ("DATA", System::Windows) => of_windows("APPDATA", "AppData/Roaming"),
            ("PROGRAMDATA", _) => of_windows("PROGRAMDATA", r"C:\ProgramData"),
            (name, _) => match (name.strip_prefix("PACKAGES:"), name.strip_prefix('$')) {
                (Some(name), _) => return self.packages(name).iter().map(|path| below(path, rest)).collect(),
                (_, Some(named)) => {
                    let (variable, usual) = named.split_once('|').unwrap_or((named, ""));
                    self.named_or_home(variable, usual)
                }
                _ => PathBuf::from("/").join(name),
            },
        };
        vec![below(&base, rest)]
    }

    /// Returns, for each Windows package (MSIX) whose name begins with `name`, the directory with its own
    /// part of `AppData`, which has `Local` and `Roaming` in it. If the package, or a program that it has
    /// started, writes to `AppData`, the files go there; if it reads from `AppData`, files there come first.
    pub(crate) fn packages(&self, name: &str) -> Vec<PathBuf> {
        if self.system != System::Windows {
            return Vec::new();
        }
        let local = self.variable("LOCALAPPDATA").map(PathBuf::from);
        let local = local.unwrap_or_else(|| self.home.join("AppData").join("Local"));
        let entries = std::fs::read_dir(local.join(PACKAGES)).into_iter().flatten().flatten();
        let is_one = |path: &PathBuf| path.file_name().is_some_and(|own| begins(own, name)) && path.is_dir();
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_one).collect();
        found.sort();
        found.into_iter().map(|package| package.join(OWN_PART)).collect()
    }

    /// Returns the package inside which this program runs, if Windows gives the package its own copy of this
    /// file. That is so if the file lies in `AppData`, outside of the package's part.
    pub(crate) fn redirects(&self, file: &Path) -> Option<&str> {
        let package = self.package.as_deref()?;
        let inside = |name: &str| file.iter().any(|part| part.eq_ignore_ascii_case(name));
        (inside("AppData") && !(is_of_package(file) && inside(package))).then_some(package)
    }

    /// Returns the file of a program, by its name or its path, as a client with this `PATH` finds it.
    pub(crate) fn find_program(&self, name: &str, path: Option<&OsString>) -> Option<PathBuf> {
        let with_endings = |path: &Path| {
            let name = path.as_os_str();
            let mut all = self.system.endings_of_programs(path).iter().map(|ending| {
                let mut name = name.to_owned();
                name.push(ending);
                PathBuf::from(name)
            });
            all.find(|path| is_program(path))
        };
        let named = Path::new(name);
        if named.is_absolute() || named.components().count() > 1 {
            return with_endings(&self.here.join(named));
        }
        std::env::split_paths(path?)
            .filter(|directory| directory.is_absolute())
            .find_map(|directory| with_endings(&directory.join(named)))
    }

    /// Returns this program's path: a path in `PATH` that leads to the program, or else its own path. A path
    /// in `PATH` remains valid if a package manager puts a new version elsewhere.
    fn stable_program(&self) -> PathBuf {
        let Some(name) = self.program.file_name().and_then(|name| name.to_str()) else {
            return self.program.clone();
        };
        let found = self.find_program(name, self.variable("PATH"));
        found.filter(|found| is_same_file(found, &self.program)).unwrap_or_else(|| self.program.clone())
    }
}

/// Returns a path below a directory; `names` have `/` between them.
pub(crate) fn below(directory: &Path, names: &str) -> PathBuf {
    names.split('/').filter(|name| !name.is_empty()).fold(directory.to_owned(), |path, name| path.join(name))
}

/// Tells whether two paths lead to the same file, also through links.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The names of directories: of all packages in the local part of `AppData`, and of a package's own part of
/// `AppData`.
const PACKAGES: &str = "Packages";
const OWN_PART: &str = "LocalCache";

/// Tells whether a name begins with `start`, in any letter case.
fn begins(name: &OsStr, start: &str) -> bool {
    let name = name.to_string_lossy();
    name.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
}

/// Tells whether a file lies in a package's own part of `AppData`.
pub(crate) fn is_of_package(file: &Path) -> bool {
    let names: Vec<&OsStr> = file.iter().collect();
    names.windows(3).any(|names| matches!(names, [all, _, own] if *all == PACKAGES && *own == OWN_PART))
}

/// Tells whether a path leads to a file that can be started.
fn is_program(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    {
        metadata.is_file()
    }
}
