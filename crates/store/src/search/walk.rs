//! A walk over the files of a directory, by handles alone: [`walk`]. Names come in the order of their bytes,
//! and what is in a directory right after its own.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec::IntoIter;

use mcp_text_editor_core::file_names::{FoldedName, is_git};

use crate::access::roots::Roots;
use crate::error::StoreErrorKind;
use crate::os;
use crate::os::directory::Dir;
use crate::os::patience::while_stale;
use crate::os::seen::Listed;
use crate::search::globs::Globs;
use crate::search::ignores::{GIT, Ignores, Present};
use crate::search::skipped::Cause;
use crate::search::start::{WalkStart, joined};
use crate::stage::temporary::PREFIX;

/// The most directories that may be nested below the start: each on the way is open.
const DEEPEST: usize = 256;

/// The rules of all walks of a call.
#[derive(Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) globs: &'a Globs,
    /// True if ignore files count.
    pub(crate) honours_ignores: bool,
    /// The number of levels below the start that are looked at; 1 is the start's own names.
    pub(crate) depth: u64,
    /// The starts of the call's walks, as these paths really are: what one starts from is left out of the
    /// others.
    pub(crate) starts: &'a [PathBuf],
}

/// A directory of a walk.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) directory: Arc<Dir>,
    /// Its path, as it is told.
    pub(crate) path: String,
}

/// A name in a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectoryName<'a> {
    pub(crate) directory: &'a Arc<Node>,
    pub(crate) name: &'a OsStr,
    /// Its path as it is told, if that is not the name in the directory's.
    pub(crate) told: Option<&'a str>,
}

/// A visitor of what a walk meets. `Break` ends it.
pub(crate) trait Visitor {
    /// Hears of a regular file that is wanted.
    fn file(&mut self, file: DirectoryName<'_>) -> ControlFlow<()>;

    /// Hears of a file whose content is elsewhere, and which was not named itself.
    fn elsewhere(&mut self, file: DirectoryName<'_>) -> ControlFlow<()>;

    /// Hears of a directory that is not ignored, before its entries.
    fn directory(&mut self, directory: DirectoryName<'_>) -> ControlFlow<()>;

    /// Hears of a link that is not ignored; it is not followed.
    fn link(&mut self, link: DirectoryName<'_>) -> ControlFlow<()>;

    /// Hears of something that is left out.
    fn skipped(&mut self, cause: Cause, path: String);

    /// Tells whether nothing more is wanted; asked often, also where it meets nothing.
    fn is_over(&mut self) -> bool;
}

impl DirectoryName<'_> {
    /// Its path, as it is told.
    pub(crate) fn path(self) -> String {
        let join = || joined(&self.directory.path, &self.name.to_string_lossy());
        self.told.map_or_else(join, str::to_owned)
    }
}

/// Visits what is below a directory, or the file, where a walk starts.
pub(crate) fn walk(start: &WalkStart, rules: &Rules<'_>, visitor: &mut impl Visitor) -> ControlFlow<()> {
    let node = Arc::new(Node { directory: start.directory.clone(), path: start.named.clone() });
    if let Some(name) = &start.file {
        return visitor.file(DirectoryName { directory: &node, name, told: Some(&start.named) });
    }
    let is_honoured = rules.honours_ignores;
    let mut not_honoured = |name: &str| visitor.skipped(Cause::IgnoreFile, name.to_owned());
    let (ignores, relative) = Ignores::above(start, is_honoured, &mut not_honoured);
    let from = relative.len();
    let may_hold_closed = rules.roots.closes_below(&start.real);
    let mut walk = Walk { start, rules, relative, from, may_hold_closed, levels: Vec::new() };
    walk.enter(node, &ignores, visitor);
    walk.run(visitor)
}

/// A directory whose names are being visited.
struct Level {
    node: Arc<Node>,
    names: IntoIter<(String, Listed)>,
    ignores: Arc<Ignores>,
    /// The length in bytes of the part of the path that leads to it, the separator included.
    prefix: usize,
}

struct Walk<'a> {
    start: &'a WalkStart,
    rules: &'a Rules<'a>,
    /// The path from the root to what is being visited, with a slash between names.
    relative: String,
    /// The length in bytes of the part that leads to the start.
    from: usize,
    /// True if by its path a directory that is out of bounds can be below the start.
    may_hold_closed: bool,
    levels: Vec<Level>,
}

impl Walk<'_> {
    fn run(&mut self, visitor: &mut impl Visitor) -> ControlFlow<()> {
        while let Some(level) = self.levels.last_mut() {
            if visitor.is_over() {
                return ControlFlow::Break(());
            }
            self.relative.truncate(level.prefix);
            let Some((name, kind)) = level.names.next() else {
                self.levels.pop();
                continue;
            };
            self.visit(&name, kind, visitor)?;
        }
        ControlFlow::Continue(())
    }

    fn visit(&mut self, name: &str, kind: Listed, visitor: &mut impl Visitor) -> ControlFlow<()> {
        let Some(level) = self.levels.last() else { return ControlFlow::Continue(()) };
        self.relative.push_str(name);
        let is_directory = kind == Listed::Directory;
        let mut is_over = false;
        let mut goes_on = || {
            is_over |= visitor.is_over();
            !is_over
        };
        let wanted = self.rules.globs.want(&self.relative, self.from, is_directory, &mut goes_on);
        let is_left_out = !wanted.unwrap_or(true)
            || (self.rules.honours_ignores
                && level.ignores.ignore(&self.relative, is_directory, &mut goes_on));
        if is_over {
            return ControlFlow::Break(());
        }
        if is_left_out || self.starts_elsewhere() {
            return ControlFlow::Continue(());
        }
        let node = level.node.clone();
        let named = DirectoryName { directory: &node, name: OsStr::new(name), told: None };
        match kind {
            Listed::File => visitor.file(named),
            Listed::Elsewhere => visitor.elsewhere(named),
            Listed::Link => visitor.link(named),
            Listed::Special => {
                visitor.skipped(Cause::Special, named.path());
                ControlFlow::Continue(())
            }
            Listed::Directory => self.descend(named, visitor),
        }
    }

    fn descend(&mut self, named: DirectoryName<'_>, visitor: &mut impl Visitor) -> ControlFlow<()> {
        let name = Path::new(named.name);
        let is_deepest = self.levels.len() as u64 >= self.rules.depth;
        let opened = match while_stale(|| os::open_to_list(&named.directory.directory, name)) {
            Ok(opened) => opened,
            // It was removed, or became something else, since its name was read.
            Err(error) if is_gone(&error) => return ControlFlow::Continue(()),
            Err(_) => {
                visitor.directory(named)?;
                if !is_deepest {
                    visitor.skipped(Cause::Unreadable, named.path());
                }
                return ControlFlow::Continue(());
            }
        };
        if self.is_closed(&opened) {
            return ControlFlow::Continue(());
        }
        visitor.directory(named)?;
        if is_deepest {
            return ControlFlow::Continue(());
        }
        if self.levels.len() >= DEEPEST {
            visitor.skipped(Cause::TooDeep, named.path());
            return ControlFlow::Continue(());
        }
        let Some(ignores) = self.levels.last().map(|level| level.ignores.clone()) else {
            return ControlFlow::Continue(());
        };
        self.relative.push('/');
        let node = Arc::new(Node { directory: Arc::new(opened), path: named.path() });
        self.enter(node, &ignores, visitor);
        ControlFlow::Continue(())
    }

    /// Reads the names of a directory, sorts them, and goes on with the first.
    fn enter(&mut self, node: Arc<Node>, above: &Arc<Ignores>, visitor: &mut impl Visitor) {
        let mut names = Vec::new();
        let mut present = Present::default();
        let read = os::for_each_name(&node.directory, |name, kind| {
            match name.into_string() {
                Ok(name) if is_left_out(&name, kind) => present.note(&name),
                Ok(name) => {
                    present.note(&name);
                    names.push((name, kind));
                }
                Err(name) => {
                    visitor.skipped(Cause::NotUnicode, joined(&node.path, &name.to_string_lossy()));
                }
            }
            !visitor.is_over()
        });
        if read.is_err() {
            visitor.skipped(Cause::Unreadable, node.path.clone());
        }
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let ignores = if self.rules.honours_ignores {
            let mut not_honoured = |name: &str| visitor.skipped(Cause::IgnoreFile, joined(&node.path, name));
            Ignores::of(above, &node.directory, &self.relative, present, &mut not_honoured)
        } else {
            above.clone()
        };
        let prefix = self.relative.len();
        self.levels.push(Level { node, names: names.into_iter(), ignores, prefix });
    }

    /// Tells whether another walk of the call starts from what is being visited.
    fn starts_elsewhere(&self) -> bool {
        self.rules.starts.len() > 1 && {
            let path = self.real();
            self.rules.starts.contains(&path)
        }
    }

    fn is_closed(&self, directory: &Dir) -> bool {
        self.rules.roots.is_closed(directory)
            || (self.may_hold_closed && self.rules.roots.closes(&self.real()))
    }

    /// Returns the path of what is being visited, as it really is.
    fn real(&self) -> PathBuf {
        let mut real = self.start.real.clone();
        real.extend(self.relative.get(self.from..).unwrap_or_default().split('/'));
        real
    }
}

/// Tells whether a name is not looked at, whatever is asked for.
fn is_left_out(name: &str, kind: Listed) -> bool {
    // A name that a file system lists is the true one; only one that is not ASCII can be taken for another.
    let may_be_git =
        name.eq_ignore_ascii_case(GIT) || (!name.is_ascii() && is_git(&FoldedName::new(OsStr::new(name))));
    let is_file = matches!(kind, Listed::File | Listed::Elsewhere);
    may_be_git || (is_file && (name.starts_with(PREFIX) || is_silly_rename(name)))
}

/// Tells whether a name is one that a removed file has as long as somebody has it open: `.nfs` and 24 digits
/// (fs/nfs/unlink.c of Linux), `.fuse_hidden` and 16 (`hide_node` of libfuse), in hexadecimal notation.
fn is_silly_rename(name: &str) -> bool {
    let is_number =
        |digits: &str, length| digits.len() == length && digits.bytes().all(|b| b.is_ascii_hexdigit());
    name.strip_prefix(".nfs").is_some_and(|digits| is_number(digits, 24))
        || name.strip_prefix(".fuse_hidden").is_some_and(|digits| is_number(digits, 16))
}

fn is_gone(error: &std::io::Error) -> bool {
    matches!(
        StoreErrorKind::of(error),
        StoreErrorKind::NotFound | StoreErrorKind::NotADirectory | StoreErrorKind::LinkLoop
    )
}
