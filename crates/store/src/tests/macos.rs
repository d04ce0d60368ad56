//! Tests of features that only macOS has: attributes, access lists and flags of a replaced file, and two
//! paths of one file. The system's own tools set and show them.

use std::os::darwin::fs::MetadataExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::os;
use crate::tests::world::World;

/// Returns what a tool of the system prints, without the file's own path.
fn run(program: &str, arguments: &[&str], path: &Path) -> String {
    let done = Command::new(program).args(arguments).arg(path).output().unwrap();
    assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().replace(path.to_str().unwrap(), "")
}

#[test]
fn a_replaced_file_keeps_what_macos_knows_of_it() {
    let world = World::new();
    world.write("@/root/a", "old\n");
    let path = world.path("@/root/a");
    run("/usr/bin/xattr", &["-w", "com.apple.quarantine", "0083;00000000;test;"], &path);
    run("/usr/bin/xattr", &["-w", "com.apple.ResourceFork", &"x".repeat(100_000)], &path);
    run("/usr/bin/xattr", &["-w", "user.note", "kept"], &path);
    run("/bin/chmod", &["+a", "everyone deny delete"], &path);
    run("/usr/bin/chflags", &["hidden,nodump"], &path);
    let look = || {
        let about = std::fs::metadata(&path).unwrap();
        let list = run("/bin/ls", &["-le"], &path);
        let entries: Vec<String> = list.lines().skip(1).map(str::to_owned).collect();
        let names = run("/usr/bin/xattr", &[], &path);
        let names = names.lines().filter(|name| *name != "com.apple.provenance");
        let attributes: Vec<_> =
            names.map(|name| (name.to_owned(), run("/usr/bin/xattr", &["-px", name], &path))).collect();
        (about.st_flags(), about.created().unwrap(), entries, attributes)
    };
    let (before, inode) = (look(), std::fs::metadata(&path).unwrap().ino());
    assert_eq!(before.2.len(), 1, "the list has its entry: {:?}", before.2);
    assert!(before.3.iter().any(|(_, value)| value.len() > 200_000), "the fork is told whole, in hex");
    assert_eq!(world.append(&["@/root/a"]), ["[]"]);
    assert_eq!(world.content("@/root/a"), "old\nadded\n");
    assert_eq!(look(), before);
    assert_ne!(std::fs::metadata(&path).unwrap().ino(), inode);
}

#[test]
fn a_locked_file_is_not_changed() {
    for (flag, by) in [("uchg", "Immutable"), ("uappnd", "AppendOnly")] {
        let world = World::new();
        world.write("@/root/a", "old\n");
        let path = world.path("@/root/a");
        run("/usr/bin/chflags", &[flag], &path);
        let refused = world.append(&["@/root/a"]);
        run("/usr/bin/chflags", &["0"], &path);
        assert_eq!(refused, [format!("Open Guarded {{ by: {by}, is_directory: false }}")]);
        assert_eq!(world.content("@/root/a"), "old\n");
        assert_eq!(world.append(&["@/root/a"]), ["[]"]);
    }
}

#[test]
fn a_file_is_reached_by_each_path_that_macos_has_for_it() {
    let world = World::new();
    world.write("@/root/sub/a", "old\n");
    let real = world.path("@/root/sub/a").canonicalize().unwrap();
    let mut paths = vec![PathBuf::from("/System/Volumes/Data").join(real.strip_prefix("/").unwrap())];
    // `/tmp` and `/var` are links into `/private`.
    paths.extend(real.strip_prefix("/private").ok().map(|rest| Path::new("/").join(rest)));
    for path in paths.into_iter().filter(|path| path.exists()) {
        assert!(world.workspace.roots.resolve(path.to_str().unwrap()).is_ok(), "{}", path.display());
    }
}

#[test]
fn a_directory_is_opened_in_one_step_over_no_link() {
    let world = World::new();
    world.write("@/root/a/b/c", "");
    world.link("@/root/a/link", "b");
    let root =
        cap_std::fs::Dir::open_ambient_dir(world.path("@/root"), cap_std::ambient_authority()).unwrap();
    let opened = |path: &str| os::open_directory_beneath(&root, Path::new(path)).is_some();
    assert!(opened("a/b"));
    assert!(!opened("a/link") && !opened("a/b/c") && !opened("../root/a") && !opened("/etc"));
}
