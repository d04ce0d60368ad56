//! Which files a walk leaves out: the ignore files from a root downwards ([`Ignores`]), and the globs of a request ([`Globs`]).
//!
//! As ripgrep has it: `.rgignore` outranks `.ignore`, that `.gitignore`, that `.git/info/exclude`, and of files of one name the one that
//! stands deeper; of `.gitignore` and `exclude` those above a directory that has a `.git` do not count in it. A `.gitignore` counts
//! where there is no `.git`, too. What stands above the root, and git's configuration, do not count. Letter case does.

use std::io::Read as _;
use std::path::{MAIN_SEPARATOR, Path};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::access::patterns::BadPattern;
use crate::os;
use crate::os::directory::Dir;
use crate::search::start::Start;

/// The names of ignore files, the one that outranks the others first.
pub(crate) const NAMES: [&str; 3] = [".rgignore", ".ignore", ".gitignore"];
/// The directory in which git keeps what is its own.
pub(crate) const GIT: &str = ".git";
/// How many bytes an ignore file may have.
const LARGEST: u64 = 1 << 20;

/// What is ignored in a directory, by its own ignore files and those above.
#[derive(Debug, Default)]
pub(crate) struct Ignores {
    /// By each of [`NAMES`], then by `.git/info/exclude`.
    files: [Rules; 4],
    has_git: bool,
    /// How many bytes of a path from the root on lead to this directory, the last separator included.
    prefix: usize,
    above: Option<Arc<Ignores>>,
}

/// The rules of one ignore file; `None` if there is no such file, or none in it.
pub(crate) type Rules = Option<Gitignore>;

/// Which ignore files a directory has.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Present {
    pub(crate) files: [bool; 3],
    /// Whether it has a `.git`, be it a directory or a file.
    pub(crate) git: bool,
}

impl Present {
    /// Notes a name that the directory has.
    pub(crate) fn note(&mut self, name: &str) {
        if !name.starts_with('.') {
            return;
        }
        self.git |= name == GIT;
        for (known, present) in NAMES.iter().zip(&mut self.files) {
            *present |= name == *known;
        }
    }

    fn all() -> Self {
        Self { files: [true; 3], git: true }
    }

    fn is_empty(self) -> bool {
        self.files == [false; 3] && !self.git
    }
}

/// What is told of an ignore file that is not honoured: its name.
type NotHonoured<'a> = &'a mut dyn FnMut(&str);

impl Ignores {
    /// What is ignored in a directory: by the files that it has, of which `present` tells, and by those above. `relative` is its path
    /// from the root on, with a separator at its end unless it is empty.
    pub(crate) fn of(
        above: &Arc<Self>,
        directory: &Dir,
        relative: &str,
        present: Present,
        not_honoured: NotHonoured<'_>,
    ) -> Arc<Self> {
        if present.is_empty() {
            return above.clone();
        }
        let mut files: [Rules; 4] = [const { None }; 4];
        for ((slot, name), is_there) in files.iter_mut().zip(NAMES).zip(present.files) {
            if is_there {
                *slot = read(directory, name).unwrap_or_else(|()| {
                    not_honoured(name);
                    None
                });
            }
        }
        if let (true, Some(slot)) = (present.git, files.last_mut()) {
            let info = os::open_to_list(directory, Path::new(GIT))
                .and_then(|git| os::open_to_list(&git, Path::new("info")));
            if let Ok(info) = info {
                *slot = read(&info, "exclude").unwrap_or_else(|()| {
                    not_honoured(".git/info/exclude");
                    None
                });
            }
        }
        if files.iter().all(Option::is_none) && !present.git {
            return above.clone();
        }
        Arc::new(Self { files, has_git: present.git, prefix: relative.len(), above: Some(above.clone()) })
    }

    /// What is ignored where a walk starts, by the files from the root to the directory above it, if they are honoured; and the path from
    /// the root to it, with a separator at its end unless it is empty.
    pub(crate) fn above(
        start: &Start,
        is_honoured: bool,
        not_honoured: NotHonoured<'_>,
    ) -> (Arc<Self>, String) {
        let mut ignores = Arc::new(Self::default());
        let mut relative = String::new();
        let mut directory = os::open_to_list(&start.root, Path::new(".")).ok().filter(|_| is_honoured);
        for name in &start.above {
            if let Some(above) = directory {
                ignores = Self::of(&ignores, &above, &relative, looked_for(&above), not_honoured);
                directory = os::open_to_list(&above, Path::new(name)).ok();
            }
            relative.push_str(&name.to_string_lossy());
            relative.push(MAIN_SEPARATOR);
        }
        (ignores, relative)
    }

    /// Whether a path, from the root on, is ignored; its directory is the one that these are of, or below it.
    pub(crate) fn ignore(&self, relative: &str, is_directory: bool) -> bool {
        let mut found: [Option<bool>; 4] = [None; 4];
        let mut is_beyond_git = false;
        let mut level = Some(self);
        while let Some(ignores) = level {
            let path = Path::new(relative.get(ignores.prefix..).unwrap_or(relative));
            for (index, (rules, found)) in ignores.files.iter().zip(&mut found).enumerate() {
                let is_git = index >= 2;
                if let (Some(rules), None, false) = (rules, *found, is_git && is_beyond_git) {
                    *found = verdict(&rules.matched(path, is_directory));
                }
            }
            is_beyond_git |= ignores.has_git;
            level = ignores.above.as_deref();
        }
        found.into_iter().flatten().next().unwrap_or(false)
    }
}

/// Which ignore files a directory has whose names are not read.
fn looked_for(directory: &Dir) -> Present {
    let mut present = Present::all();
    for (name, is_there) in NAMES.iter().zip(&mut present.files) {
        *is_there = directory.symlink_metadata(name).is_ok();
    }
    present.git = directory.symlink_metadata(GIT).is_ok();
    present
}

/// The rules of an ignore file. A line that is no pattern is passed over, as ripgrep and git do; a link is not followed, as git has it.
fn read(directory: &Dir, name: &str) -> Result<Rules, ()> {
    let file = match os::open_to_read_file(directory, Path::new(name)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(()),
    };
    if !file.metadata().map_err(|_| ())?.is_file() {
        return Err(());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|_| ())?;
    if bytes.len() as u64 > LARGEST { Err(()) } else { rules(&bytes) }
}

/// The rules in the bytes of an ignore file.
pub(crate) fn rules(bytes: &[u8]) -> Result<Rules, ()> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(bytes).lines() {
        // What is wrong with a line is nobody's business but its author's.
        let _ = builder.add_line(None, line);
    }
    let rules = builder.build().map_err(|_| ())?;
    Ok((!rules.is_empty()).then_some(rules))
}

fn verdict<T>(found: &Match<T>) -> Option<bool> {
    match found {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// The globs of a request. They only narrow: what an ignore file names is left out all the same.
#[derive(Debug)]
pub(crate) struct Globs(Gitignore);

impl Globs {
    /// Reads them; `roots` are the paths that an absolute one can begin with. The error is of the first that cannot be read.
    pub(crate) fn new(globs: &[&str], roots: &[&Path]) -> Result<Self, BadPattern> {
        let bad = |glob: &str, error: &ignore::Error| {
            let problem = match error {
                ignore::Error::Glob { err, .. } => err.clone(),
                other => other.to_string(),
            };
            BadPattern { pattern: glob.to_owned(), problem }
        };
        let mut builder = GitignoreBuilder::new("");
        builder.allow_unclosed_class(false);
        for glob in globs {
            builder.add_line(None, &from_root(glob, roots)).map_err(|error| bad(glob, &error))?;
        }
        Ok(Self(builder.build().map_err(|error| bad(&globs.join(", "), &error))?))
    }

    /// Whether they say nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a path is wanted, if they say so. `from` is how many bytes of it lead to where the walk started: a glob counts from there,
    /// too.
    pub(crate) fn want(&self, relative: &str, from: usize, is_directory: bool) -> Option<bool> {
        if self.is_empty() {
            return None;
        }
        // They are read as lines of an ignore file, and mean the opposite.
        let of = |path: &str| verdict(&self.0.matched(Path::new(path), is_directory));
        let from_start = relative.get(from..).filter(|_| from > 0).and_then(of);
        match (of(relative), from_start) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, None) => (!is_directory && self.0.num_ignores() > 0).then_some(false),
        }
    }
}

/// A glob that is an absolute path, as one from its root on.
fn from_root(glob: &str, roots: &[&Path]) -> String {
    let (mark, path) = glob.strip_prefix('!').map_or(("", glob), |path| ("!", path));
    let rest = roots.iter().find_map(|root| {
        let rest = path.strip_prefix(root.to_str()?)?;
        (rest.starts_with(std::path::is_separator)).then(|| rest.to_owned())
    });
    match rest {
        Some(rest) => format!("{mark}{}", rest.replace(MAIN_SEPARATOR, "/")),
        None => glob.to_owned(),
    }
}
