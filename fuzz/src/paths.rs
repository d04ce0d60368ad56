//! Path resolution in a tree full of links: a path that resolves lies in a root, nothing outside is told or
//! read, and what is protected cannot be written by any name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process;
use std::thread;

use mcp_text_editor_core::source::{Source as _, read_range};
use mcp_text_editor_store::{Control, PathError, ReadFile, Reason, StoreErrorKind, Suggestion, Workspace};

/// The content of every file outside the roots, and of every one in the directory that is closed.
const SECRET: &str = "outside";
/// The content of the files that may be read and not be written.
const PROTECTED: &str = "protected";

/// Three roots, one of which lies in another, and links from everywhere to everywhere.
struct World {
    base: String,
    workspace: Workspace,
}

impl Drop for World {
    fn drop(&mut self) {
        // If this fails, what is left is in the system's temporary directory.
        let _ = fs::remove_dir_all(&self.base);
    }
}

thread_local! {
    /// Made once; nothing in it changes afterwards.
    static WORLD: World = world().expect("a tree of links in a temporary directory");
}

/// Names of directories and files below `@`, which stands for the tree's own path; most files are called `f`.
const DIRECTORIES: &[&str] = &[
    "root/a/b",
    "root/é",
    "root/ d",
    "root-2/in",
    "root/.git/hooks",
    "root/a/.Git",
    "root/.cursor",
    "root/closed/c",
    "outside/o",
    "rootless",
    "root/nested",
];
const FILES: &[&str] = &[
    "root/f",
    "root/a/f",
    "root/a/b/f",
    "root/é/f",
    "root/ d/f",
    "root/..f",
    "root/nested/f",
    "root-2/f",
    "root-2/in/f",
    "outside/f",
    "outside/o/f",
    "rootless/f",
    "rootf",
    "root/closed/f",
    "root/closed/c/f",
    "root/.git/config",
    "root/.git/hooks/f",
    "root/a/.Git/f",
    "root/.mcp.json",
    "root/.cursor/mcp.json",
];
const LINKS: &[(&str, &str)] = &[
    ("root/rel", "a/f"),
    ("root/abs", "@/root/a/f"),
    ("root/dir", "a"),
    ("root/up", "../root/a"),
    ("root/self", "."),
    ("root/a/top", ".."),
    ("root/a/b/far", "../../../root-2/in"),
    ("root/gone", "nothing/f"),
    ("root/gone-abs", "@/root/x/y"),
    ("root/out", "../outside"),
    ("root/out-abs", "@/outside"),
    ("root/out-file", "@/outside/f"),
    ("root/out-gone", "@/outside/x"),
    ("root/slash", "/"),
    ("root/base", "@"),
    ("root/prefix", "../rootless"),
    ("root/loop", "loop"),
    ("root/loop-a", "loop-b"),
    ("root/loop-b", "loop-a"),
    ("root/loop-out", "@/outside/loop-in"),
    ("outside/loop-in", "@/root/loop-out"),
    ("outside/in", "@/root/a"),
    ("outside/o/in", "../../root"),
    ("root/through", "../outside/in"),
    ("root/odd", "x/../../outside/f"),
    ("root/dots", "./a/./b/../f"),
    ("root/file-up", "f/../a"),
    ("root/proc", "/proc/self/root"),
    ("root/cwd", "/proc/self/cwd"),
    ("root/fd", "/dev/fd/0"),
    ("root/dir-slash", "a/"),
    ("root/f-slash", "f/"),
    ("root-2/back", "@/root"),
    ("root/long", "dir/top/dir/top/dir/f"),
    ("root/git-link", ".git"),
    ("root/hooks", ".git/hooks"),
    ("root/a/config", "../.git/config"),
    ("root/mcp-link", ".mcp.json"),
    ("root/to-closed", "closed"),
    ("root/closed-file", "closed/f"),
    ("outside/to-closed", "@/root/closed"),
    ("root/closed-far", "../outside/to-closed/c"),
];

fn world() -> std::io::Result<World> {
    let name = format!("mte-fuzz-{}-{:?}", process::id(), thread::current().id());
    let base = fs::canonicalize(std::env::temp_dir())?.join(name);
    for name in DIRECTORIES {
        fs::create_dir_all(base.join(name))?;
    }
    for name in FILES {
        let lower = name.to_lowercase();
        let inside = (name.starts_with("root/") || name.starts_with("root-2/")) && !name.contains("/closed/");
        let protected = lower.contains("/.git/") || lower.ends_with("mcp.json");
        let content = if !inside {
            SECRET
        } else if protected {
            PROTECTED
        } else {
            "inside"
        };
        fs::write(base.join(name), content)?;
    }
    let base =
        base.into_os_string().into_string().map_err(|_| std::io::Error::other("a path that is no text"))?;
    for (name, target) in LINKS {
        link(&target.replace('@', &base), &Path::new(&base).join(name))?;
    }
    let roots = ["root", "root-2", "root/nested"].map(|name| Path::new(&base).join(name));
    // The state directory is the closed one. This directory cannot be used as one, since it holds other
    // files, and is closed all the same.
    let mut builder = Workspace::builder().state_directory(Path::new(&base).join("root/closed"));
    for root in roots {
        builder = builder.root(root);
    }
    let workspace = builder.build_without_state_at_need().map_err(std::io::Error::other)?;
    Ok(World { base, workspace })
}

#[cfg(unix)]
fn link(target: &str, name: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, name)
}

/// Makes none: elsewhere making links takes rights that a test may not have.
#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> std::io::Result<()> {
    Ok(())
}

impl World {
    /// Returns the content of a file, or why it cannot be read.
    fn content(&self, text: &str) -> Result<String, Vec<Reason>> {
        let read = self.workspace.read_with(ReadFile::new(text), Control::default(), |document| {
            read_range(document, 0..document.size())
        });
        let bytes = read.map_err(|error| error.problems)?;
        Ok(String::from_utf8(bytes).expect("a file of ours"))
    }

    fn is_inside(&self, path: &Path) -> bool {
        let closed = Path::new(&self.base).join("root/closed");
        self.workspace.roots().any(|root| path.starts_with(root)) && !path.starts_with(closed)
    }
}

/// Takes the bytes for a path, in which `@` stands for where the tree is.
pub fn check(data: &[u8]) {
    WORLD.with(|world| check_in(world, data));
}

fn check_in(world: &World, data: &[u8]) {
    let text = String::from_utf8_lossy(data).replace('@', &world.base);
    let path = Path::new(&text);
    let in_root = |path: &Path| world.is_inside(path);

    let problems = match world.workspace.resolve(&text) {
        Err(problems) => problems,
        Ok(place) => {
            assert!(path.is_absolute() && !text.contains('\0'), "{text}");
            assert!(!path.components().any(|part| part == Component::ParentDir), "{text}");
            assert!(in_root(&place), "{text} is {place:?}");
            assert!(!place.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir)));
            assert!(place.file_name().is_some(), "{text} is {place:?}");
            // The part of it that exists leads over no link.
            let there = place.ancestors().skip(1).find_map(|part| Some((part, fs::canonicalize(part).ok()?)));
            let (part, real) = there.expect("at least / is there");
            assert_eq!(part, real, "{text} is {place:?}");
            assert!(in_root(&real), "{text} is {place:?}");
            let has_parent = place.parent() == Some(part);
            let mut content = String::new();
            match (world.content(&text), fs::canonicalize(path)) {
                (Ok(read), real) => {
                    content = read;
                    assert!(has_parent, "{text} is {place:?}");
                    assert_ne!(content, SECRET, "{text} is {place:?}");
                    assert_eq!(real.expect("it was opened"), place);
                }
                (Err(reasons), Ok(real)) => {
                    let is_directory = |reason: &Reason| matches!(reason, Reason::Store(error) if error.kind == StoreErrorKind::IsADirectory);
                    assert!(
                        matches!(reasons.as_slice(), [reason] if is_directory(reason)) && real.is_dir(),
                        "{text}: {reasons:?} of {real:?}"
                    );
                }
                (Err(reasons), Err(_)) => {
                    for reason in &reasons {
                        if let Reason::Store(error) = reason {
                            check_suggested(world, error.suggested.as_deref(), &text);
                        }
                    }
                }
            }
            check_writing(world, &text, &place, &content);
            return;
        }
    };

    assert!(!problems.is_empty());
    let has = |wanted: fn(&PathError) -> bool| problems.iter().any(wanted);
    assert_eq!(has(|problem| matches!(problem, PathError::NulByte)), text.contains('\0'));
    assert_eq!(has(|problem| matches!(problem, PathError::NotAbsolute { .. })), !path.is_absolute());
    let traverses = path.components().any(|part| part == Component::ParentDir);
    assert_eq!(has(|problem| matches!(problem, PathError::Traversal)), traverses);
    for problem in &problems {
        match problem {
            PathError::NotAbsolute { suggested } => {
                check_suggested(world, suggested.as_deref(), &text);
            }
            PathError::Outside { .. } => {
                assert_eq!(problems.len(), 1);
                let real = fs::canonicalize(path);
                assert!(!real.as_ref().is_ok_and(|real| in_root(real)), "{text} is inside: {real:?}");
            }
            PathError::Failed(error) => {
                assert_eq!(problems.len(), 1);
                // Nothing is reported about files outside, so this is about something inside.
                if let Ok(real) = fs::canonicalize(path) {
                    assert!(in_root(&real), "{text}: {error:?}");
                }
                assert!(in_root(&error.path) || text.len() > 32_767, "{text}: {error:?}");
            }
            PathError::NulByte | PathError::Traversal => {}
            // Windows' names, and there alone.
            PathError::Unusable(_) => assert!(cfg!(windows), "{text}: {problem:?}"),
            PathError::RootReplaced { .. } | PathError::Unserved(_) | PathError::Protected(_) => {
                panic!("{text}: {problem:?}")
            }
        }
    }
    same_outside(world, &text);
}

/// Checks that each file that is suggested for a path without a file exists, and lies in a root.
fn check_suggested(world: &World, suggested: Option<&Suggestion>, text: &str) {
    for path in suggested.iter().flat_map(|suggested| &suggested.paths) {
        let real = fs::canonicalize(path).expect("a file that exists");
        assert!(world.is_inside(&real) && real.is_file(), "{path:?} is offered for {text}");
    }
}

/// Checks that what may be read may be written, unless it is protected: by what it is called, or by what it
/// is.
fn check_writing(world: &World, text: &str, place: &Path, content: &str) {
    match world.workspace.resolve_for_writing(text) {
        Ok(writable) => {
            assert_eq!(writable, place);
            assert_ne!(content, PROTECTED, "{text} is {place:?}");
            let lower = |name: &OsStr| name.to_string_lossy().to_lowercase();
            let of_root = world.workspace.roots().filter_map(|root| place.strip_prefix(root).ok());
            let relative = of_root.min_by_key(|relative| relative.iter().count()).expect("it is in a root");
            assert!(!relative.iter().any(|name| lower(name) == ".git"), "{text} is {place:?}");
            assert_ne!(place.file_name().map(lower).as_deref(), Some(".mcp.json"), "{text} is {place:?}");
        }
        Err(problems) => assert!(
            matches!(problems.as_slice(), [PathError::Protected(_)]),
            "{text} is {place:?}, and cannot be written: {problems:?}"
        ),
    }
}

/// Checks that a path below a link to the outside is refused in the same words whether or not there is
/// anything.
fn same_outside(world: &World, text: &str) {
    let told = |path: &str| {
        let found = world.workspace.resolve(path);
        found
            .err()
            .map(|problems| problems.into_iter().map(|problem| format!("{problem:?}")).collect::<Vec<_>>())
    };
    let path = PathBuf::from(text);
    let is_outside = fs::canonicalize(&path).is_ok_and(|real| !world.is_inside(&real));
    if is_outside && path.is_absolute() && !path.components().any(|part| part == Component::ParentDir) {
        let missing = path.join("no-such-name");
        assert_eq!(told(text), told(&missing.to_string_lossy()), "{text}");
    }
}
