//! Visits the files below a directory, only by directory handles: [`walk`]. Visits a directory first, and
//! then its entries, in the order of their names' bytes.

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
use crate::search::globs::{GIT, Globs, Ignores, Present};
use crate::search::skipped::Cause;
use crate::search::start::{WalkStart, joined};
use crate::stage::PREFIX;

/// The maximum depth below the start. Every directory from the start to the visited entry stays open.
const MAX_DEPTH: usize = 256;

/// The rules of all walks of a call.
#[derive(Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) globs: &'a Globs,
    /// Whether ignore files apply.
    pub(crate) honours_ignores: bool,
    /// The number of levels below the start that are visited. 1 means only the entries of the start itself.
    pub(crate) depth: u64,
    /// The real paths of the starts of all walks of the call. Each walk leaves out the starts of the others.
    pub(crate) starts: &'a [PathBuf],
}

/// A directory that a walk visits.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) directory: Arc<Dir>,
    /// The directory's path, as replies show it.
    pub(crate) path: String,
    /// The directory's real path.
    pub(crate) real: PathBuf,
}

/// A directory entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectoryName<'a> {
    pub(crate) directory: &'a Arc<Node>,
    pub(crate) name: &'a OsStr,
    /// The entry's path as replies show it; `None` if this path is the directory's path with the name
    /// appended.
    pub(crate) shown_path: Option<&'a str>,
}

/// The visitor of a walk. If a function returns `Break`, the walk ends.
pub(crate) trait Visitor {
    /// Visits a regular file that neither ignore files nor globs leave out.
    fn file(&mut self, file: DirectoryName<'_>) -> ControlFlow<()>;

    /// Visits a file that the call did not name, and whose content would have to be fetched from a cloud or a
    /// tape.
    fn elsewhere(&mut self, file: DirectoryName<'_>) -> ControlFlow<()>;

    /// Visits a directory that is not ignored, before its entries.
    fn directory(&mut self, directory: DirectoryName<'_>) -> ControlFlow<()>;

    /// Visits a link that is not ignored. The link is not followed.
    fn link(&mut self, link: DirectoryName<'_>) -> ControlFlow<()>;

    /// Records a file, directory or name that the walk leaves out.
    fn skipped(&mut self, cause: Cause, path: String);

    /// Counts a file or directory that the globs leave out.
    fn unfit(&mut self);

    /// Whether the walk is to stop. The walk calls this function often, even while it visits nothing.
    fn is_over(&mut self) -> bool;
}

impl DirectoryName<'_> {
    /// Returns the entry's path, as replies show it.
    pub(crate) fn path(self) -> String {
        let join = || joined(&self.directory.path, &self.name.to_string_lossy());
        self.shown_path.map_or_else(join, str::to_owned)
    }

    /// Returns the entry's real path.
    pub(crate) fn real_path(self) -> PathBuf {
        self.directory.real.join(self.name)
    }
}

/// Visits everything below the start or, if the start is a file, the start itself.
pub(crate) fn walk(start: &WalkStart, rules: &Rules<'_>, visitor: &mut impl Visitor) -> ControlFlow<()> {
    let mut real = start.real.clone();
    if start.file.is_some() {
        real.pop();
    }
    let node = Arc::new(Node { directory: start.directory.clone(), path: start.named.clone(), real });
    if let Some(name) = &start.file {
        return visitor.file(DirectoryName { directory: &node, name, shown_path: Some(&start.named) });
    }
    let is_honoured = rules.honours_ignores;
    let mut on_skipped = |name: &str| visitor.skipped(Cause::IgnoreFile, name.to_owned());
    let (ignores, relative) = Ignores::above(start, is_honoured, &mut on_skipped);
    let from = relative.len();
    let may_hold_closed = rules.roots.closes_below(&start.real);
    let mut walk = Walk { start, rules, relative, from, may_hold_closed, levels: Vec::new() };
    walk.enter(node, &ignores, visitor);
    walk.run(visitor)
}

/// A directory whose entries are being visited.
struct Level {
    node: Arc<Node>,
    names: IntoIter<(String, Listed)>,
    ignores: Arc<Ignores>,
    /// The length in bytes of the part of the walk's `relative` that leads to this directory, including the
    /// separator.
    prefix: usize,
}

struct Walk<'a> {
    start: &'a WalkStart,
    rules: &'a Rules<'a>,
    /// The path from the root to the entry that is being visited, with a slash between names.
    relative: String,
    /// The length in bytes of the part of `relative` that leads to the start.
    from: usize,
    /// Whether a directory that is out of bounds (no call may use it) lies below the start, according to the
    /// paths.
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
            let (node, ignores) = (level.node.clone(), level.ignores.clone());
            self.visit(&node, &name, kind, &ignores, visitor)?;
        }
        ControlFlow::Continue(())
    }

    /// Visits an entry of a directory. `ignores` has the rules that apply in that directory.
    fn visit(
        &mut self,
        node: &Arc<Node>,
        name: &str,
        kind: Listed,
        ignores: &Arc<Ignores>,
        visitor: &mut impl Visitor,
    ) -> ControlFlow<()> {
        self.relative.push_str(name);
        let is_directory = kind == Listed::Directory;
        if self.starts_elsewhere() || (is_directory && self.is_closed_by_path()) {
            return ControlFlow::Continue(());
        }
        let globs = self.rules.globs;
        let wanted = globs.want(&self.relative, self.from, is_directory).unwrap_or(true);
        let is_wanted_by_fallback =
            !wanted && !is_directory && globs.want_by_fallback(&self.relative, self.from);
        let is_ignored = (wanted || is_wanted_by_fallback)
            && (is_git_name(name)
                || (self.rules.honours_ignores && ignores.ignore(&self.relative, is_directory)));
        let named = DirectoryName { directory: node, name: OsStr::new(name), shown_path: None };
        if !wanted {
            visitor.unfit();
        }
        match (wanted, is_ignored) {
            (true, true) => visitor.skipped(Cause::Ignored, named.path()),
            (false, false) if is_wanted_by_fallback => visitor.skipped(Cause::GlobReading, named.path()),
            _ => {}
        }
        if !wanted || is_ignored {
            return ControlFlow::Continue(());
        }
        match kind {
            Listed::File => visitor.file(named),
            Listed::Elsewhere => visitor.elsewhere(named),
            Listed::Link => visitor.link(named),
            Listed::Special => {
                visitor.skipped(Cause::Special, named.path());
                ControlFlow::Continue(())
            }
            Listed::Directory => self.descend(named, ignores, visitor),
        }
    }

    fn descend(
        &mut self,
        named: DirectoryName<'_>,
        above: &Arc<Ignores>,
        visitor: &mut impl Visitor,
    ) -> ControlFlow<()> {
        let name = Path::new(named.name);
        let is_deepest = self.levels.len() as u64 >= self.rules.depth;
        let opened = match while_stale(|| os::open_to_list(&named.directory.directory, name)) {
            Ok(opened) => opened,
            // After its name was read, the directory was removed, or replaced by an entry of another kind.
            Err(error) if is_gone(&error) => return ControlFlow::Continue(()),
            Err(_) => {
                visitor.directory(named)?;
                if !is_deepest {
                    visitor.skipped(Cause::Unreadable, named.path());
                }
                return ControlFlow::Continue(());
            }
        };
        if self.rules.roots.is_closed(&opened) {
            return ControlFlow::Continue(());
        }
        visitor.directory(named)?;
        if is_deepest {
            visitor.skipped(Cause::Depth, named.path());
            return ControlFlow::Continue(());
        }
        if self.levels.len() >= MAX_DEPTH {
            visitor.skipped(Cause::TooDeep, named.path());
            return ControlFlow::Continue(());
        }
        self.relative.push('/');
        let node =
            Arc::new(Node { directory: Arc::new(opened), path: named.path(), real: named.real_path() });
        self.enter(node, above, visitor);
        ControlFlow::Continue(())
    }

    /// Reads and sorts the names of a directory. The walk continues with the first name.
    fn enter(&mut self, node: Arc<Node>, above: &Arc<Ignores>, visitor: &mut impl Visitor) {
        let mut names = Vec::new();
        let mut present = Present::default();
        let read = os::for_each_name(&node.directory, |name, kind| {
            match name.into_string() {
                Ok(name) if is_left_behind(&name, kind) => {}
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
        if let Err(error) = read {
            let is_elsewhere = os::is_not_downloaded(&error);
            let cause = if is_elsewhere { Cause::Elsewhere } else { Cause::Unreadable };
            visitor.skipped(cause, node.path.clone());
        }
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let ignores = if self.rules.honours_ignores {
            let mut on_skipped = |name: &str| visitor.skipped(Cause::IgnoreFile, joined(&node.path, name));
            Ignores::of(above, &node.directory, &self.relative, present, &mut on_skipped)
        } else {
            above.clone()
        };
        let prefix = self.relative.len();
        self.levels.push(Level { node, names: names.into_iter(), ignores, prefix });
    }

    /// Tells whether another walk of the call starts at the entry that is being visited.
    fn starts_elsewhere(&self) -> bool {
        self.rules.starts.len() > 1 && {
            let path = self.real();
            self.rules.starts.contains(&path)
        }
    }

    /// Tells whether the path of the entry that is being visited is out of bounds.
    fn is_closed_by_path(&self) -> bool {
        self.may_hold_closed && self.rules.roots.closes(&self.real())
    }

    /// Returns the real path of the entry that is being visited.
    fn real(&self) -> PathBuf {
        let mut real = self.start.real.clone();
        real.extend(self.relative.get(self.from..).unwrap_or_default().split('/'));
        real
    }
}

/// Whether a name is `.git`, or a spelling that a file system could treat as `.git`.
fn is_git_name(name: &str) -> bool {
    // A directory lists real names, not short ones. So only a name that is not ASCII can be another spelling
    // of `.git`.
    name.eq_ignore_ascii_case(GIT) || (!name.is_ascii() && is_git(&FoldedName::new(OsStr::new(name))))
}

/// Whether a file with this name is a temporary file of this program, or a removed file that is still open.
fn is_left_behind(name: &str, kind: Listed) -> bool {
    matches!(kind, Listed::File | Listed::Elsewhere) && (name.starts_with(PREFIX) || is_silly_rename(name))
}

/// Whether NFS or FUSE gives this name to a removed file as long as a program has it open: `.nfs` and 24
/// hexadecimal digits (fs/nfs/unlink.c of Linux), or `.fuse_hidden` and 16 (`hide_node` of libfuse).
fn is_silly_rename(name: &str) -> bool {
    let is_number =
        |digits: &str, length| digits.len() == length && digits.bytes().all(|b| b.is_ascii_hexdigit());
    name.strip_prefix(".nfs").is_some_and(|digits| is_number(digits, 24))
        || name.strip_prefix(".fuse_hidden").is_some_and(|digits| is_number(digits, 16))
}

pub(crate) fn is_gone(error: &std::io::Error) -> bool {
    matches!(
        StoreErrorKind::of(error),
        StoreErrorKind::NotFound | StoreErrorKind::NotADirectory | StoreErrorKind::LinkLoop
    )
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::search::start::of_path;
    use crate::tests::world::World;

    /// A visitor that records what it visits. It ends the walk after `questions` calls of `is_over`.
    struct Noting {
        visited: Vec<String>,
        skipped: Vec<(Cause, String)>,
        questions: usize,
    }

    impl Noting {
        fn note(&mut self, named: DirectoryName<'_>) -> ControlFlow<()> {
            self.visited.push(named.path());
            ControlFlow::Continue(())
        }
    }

    impl Visitor for Noting {
        fn file(&mut self, file: DirectoryName<'_>) -> ControlFlow<()> {
            self.note(file)
        }

        fn elsewhere(&mut self, file: DirectoryName<'_>) -> ControlFlow<()> {
            self.note(file)
        }

        fn directory(&mut self, directory: DirectoryName<'_>) -> ControlFlow<()> {
            self.note(directory)
        }

        fn link(&mut self, link: DirectoryName<'_>) -> ControlFlow<()> {
            self.note(link)
        }

        fn skipped(&mut self, cause: Cause, path: String) {
            self.skipped.push((cause, path));
        }

        fn unfit(&mut self) {}

        fn is_over(&mut self) -> bool {
            let is_over = self.questions == 0;
            self.questions = self.questions.saturating_sub(1);
            is_over
        }
    }

    /// Walks until the visitor's `is_over` was called `questions` times. Also returns whether the walk was
    /// complete.
    fn walked(world: &World, start: &WalkStart, globs: &[&str], questions: usize) -> (Noting, bool) {
        let globs = Globs::new(globs, &[]).unwrap();
        let roots = &world.workspace.roots;
        let rules = Rules { roots, globs: &globs, honours_ignores: false, depth: u64::MAX, starts: &[] };
        let mut noting = Noting { visited: Vec::new(), skipped: Vec::new(), questions };
        let done = walk(start, &rules, &mut noting);
        (noting, done.is_continue())
    }

    fn root(world: &World) -> WalkStart {
        of_path(&world.workspace.roots, world.path("@/root").to_str().unwrap()).unwrap()
    }

    /// A file simulates a directory whose names the file system does not list.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test opens what the store would not")]
    fn a_directory_whose_names_cannot_be_read_is_told() {
        let world = World::new();
        world.write("@/root/file", "");
        let file = std::fs::File::open(world.path("@/root/file")).unwrap();
        let start = WalkStart { directory: Arc::new(Dir::from_std_file(file)), ..root(&world) };
        let (noting, is_whole) = walked(&world, &start, &[], usize::MAX);
        assert_eq!((noting.skipped, is_whole), (vec![(Cause::Unreadable, start.named)], true));
        let (noting, _) = walked(&world, &root(&world), &[], usize::MAX);
        assert_eq!((noting.skipped.len(), noting.visited.len()), (0, 1));
    }
}
