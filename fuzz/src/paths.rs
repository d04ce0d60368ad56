//! Path resolution in a tree full of links: a path that resolves lies in a root, and nothing outside is told or read.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use mcp_text_editor_store::error::StoreErrorKind;
use mcp_text_editor_store::roots::{PathProblem, Roots};

/// What every file outside the roots holds.
const SECRET: &str = "outside";

/// Two roots, one of them in the other's neighbour, and links from everywhere to everywhere.
struct World {
    _directory: tempfile::TempDir,
    base: String,
    roots: Roots,
}

/// Made once a process; nothing in it changes afterwards.
static WORLD: LazyLock<World> = LazyLock::new(|| world().expect("a tree of links in a temporary directory"));

/// Names of directories and files below `@`, which stands for the tree's own path; files end in a letter `f`.
const DIRECTORIES: &[&str] =
    &["root/a/b", "root/é", "root/ d", "root-2/in", "outside/o", "rootless", "root/nested"];
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
];

fn world() -> std::io::Result<World> {
    let directory = tempfile::tempdir()?;
    let base = fs::canonicalize(directory.path())?;
    for name in DIRECTORIES {
        fs::create_dir_all(base.join(name))?;
    }
    for name in FILES {
        let inside = name.starts_with("root/") || name.starts_with("root-2/");
        fs::write(base.join(name), if inside { "inside" } else { SECRET })?;
    }
    let base =
        base.into_os_string().into_string().map_err(|_| std::io::Error::other("a path that is no text"))?;
    for (name, target) in LINKS {
        link(&target.replace('@', &base), &Path::new(&base).join(name))?;
    }
    let roots = ["root", "root-2", "root/nested"].map(|name| Path::new(&base).join(name));
    let roots = Roots::open(&roots).map_err(std::io::Error::other)?;
    Ok(World { _directory: directory, base, roots })
}

#[cfg(unix)]
fn link(target: &str, name: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, name)
}

/// Elsewhere making links takes rights that a test may not have.
#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The bytes are a path, in which `@` stands for where the tree is.
pub fn check(data: &[u8]) {
    let world = &*WORLD;
    let text = String::from_utf8_lossy(data).replace('@', &world.base);
    let path = Path::new(&text);
    let in_root = |path: &Path| world.roots.paths().any(|root| path.starts_with(root));

    let problems = match world.roots.resolve(&text) {
        Err(problems) => problems,
        Ok(place) => {
            assert!(path.is_absolute() && !text.contains('\0'), "{text}");
            assert!(!path.components().any(|part| part == Component::ParentDir), "{text}");
            assert!(in_root(place.path()), "{text} is {place:?}");
            assert!(
                !place
                    .path()
                    .components()
                    .any(|part| matches!(part, Component::ParentDir | Component::CurDir))
            );
            assert_eq!(place.path().file_name(), Some(place.name()));
            // What is there of it leads over no link.
            let there =
                place.path().ancestors().skip(1).find_map(|part| Some((part, fs::canonicalize(part).ok()?)));
            let (part, real) = there.expect("at least / is there");
            assert_eq!(part, real, "{text} is {place:?}");
            assert!(in_root(&real), "{text} is {place:?}");
            let missing: Vec<&OsStr> =
                place.missing_directories().iter().map(|name| name.as_os_str()).collect();
            let below = place.path().parent().and_then(|parent| parent.strip_prefix(&real).ok());
            assert_eq!(below.map(|below| below.iter().collect()), Some(missing), "{text} is {place:?}");
            match (place.open_file(false), fs::canonicalize(path)) {
                (Ok(file), real) => {
                    let mut content = String::new();
                    file.file().read_to_string(&mut content).expect("a file of ours");
                    assert_ne!(content, SECRET, "{text} is {place:?}");
                    assert_eq!(real.expect("it was opened"), place.path());
                }
                (Err(error), Ok(real)) => {
                    let kind = error.kind;
                    assert!(
                        kind == StoreErrorKind::IsADirectory && real.is_dir(),
                        "{text}: {kind:?} of {real:?}"
                    );
                }
                (Err(_), Err(_)) => {}
            }
            return;
        }
    };

    assert!(!problems.is_empty());
    let has = |wanted: fn(&PathProblem) -> bool| problems.iter().any(wanted);
    assert_eq!(has(|problem| matches!(problem, PathProblem::NulByte)), text.contains('\0'));
    assert_eq!(has(|problem| matches!(problem, PathProblem::NotAbsolute { .. })), !path.is_absolute());
    let traverses = path.components().any(|part| part == Component::ParentDir);
    assert_eq!(has(|problem| matches!(problem, PathProblem::Traversal)), traverses);
    for problem in &problems {
        match problem {
            PathProblem::NotAbsolute { candidates } => {
                for candidate in candidates {
                    let real = fs::canonicalize(candidate).expect("a file that exists");
                    assert!(in_root(&real) && real.is_file(), "{candidate:?} is offered for {text}");
                }
            }
            PathProblem::Outside => {
                assert_eq!(problems.len(), 1);
                let real = fs::canonicalize(path);
                assert!(!real.as_ref().is_ok_and(|real| in_root(real)), "{text} is inside: {real:?}");
            }
            PathProblem::Failed(error) => {
                assert_eq!(problems.len(), 1);
                // Of what is outside nothing is told, so this is about something inside.
                if let Ok(real) = fs::canonicalize(path) {
                    assert!(in_root(&real), "{text}: {error:?}");
                }
                assert!(in_root(&error.path) || text.len() > 32_767, "{text}: {error:?}");
            }
            PathProblem::NulByte | PathProblem::Traversal => {}
        }
    }
    same_outside(world, &text);
}

/// A path below a link to the outside is refused in the same words whether or not there is anything.
fn same_outside(world: &World, text: &str) {
    let told = |path: &str| {
        let found = world.roots.resolve(path);
        found
            .err()
            .map(|problems| problems.into_iter().map(|problem| format!("{problem:?}")).collect::<Vec<_>>())
    };
    let path = PathBuf::from(text);
    let is_outside =
        fs::canonicalize(&path).is_ok_and(|real| !world.roots.paths().any(|root| real.starts_with(root)));
    if is_outside && path.is_absolute() && !path.components().any(|part| part == Component::ParentDir) {
        let missing = path.join("no-such-name");
        assert_eq!(told(text), told(&missing.to_string_lossy()), "{text}");
    }
}
