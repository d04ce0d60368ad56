//! Compares the files that a walk leaves out with those of ripgrep and git on random trees, and the meaning
//! of lines of ignore files with git. If the other program is missing, a test passes with a message.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use crate::Control;
use crate::search::{EntryKind, List, Search};
use crate::tests::world::World;

const NAMES: [&str; 8] = ["a", "b", "c.rs", "d.txt", ".e", "build", "a b", "é"];
const LINES: [&str; 26] = [
    "a", "/a", "a/", "*.rs", "!c.rs", "!*.txt", "*", "!*/", "b/**", "**/a", "a/**/b", "/*/b", "build",
    "!build/", "# a", "", "  ", "\\!a", "[ab]", "[!a]", "a b", "a\\ b", "?", "é", ".e", "**",
];

/// A tree: files by path, and ignore files by directory and name.
#[derive(Clone, Debug)]
struct Tree {
    files: Vec<String>,
    ignores: Vec<(String, &'static str, Vec<&'static str>)>,
}

fn directory() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "build", ".e", "sub"]), 0..3)
}

fn tree(ignore_files: &'static [&'static str]) -> impl Strategy<Value = Tree> {
    let file = (directory(), prop::sample::select(NAMES.to_vec()))
        .prop_map(|(directory, name)| [directory, vec![name]].concat().join("/"));
    let lines = prop::collection::vec(prop::sample::select(LINES.to_vec()), 1..4);
    let ignore = (directory(), prop::sample::select(ignore_files.to_vec()), lines)
        .prop_map(|(directory, name, lines)| (directory.join("/"), name, lines));
    let (files, ignores) = (prop::collection::vec(file, 1..12), prop::collection::vec(ignore, 0..4));
    (files, ignores).prop_map(|(files, ignores)| Tree { files, ignores })
}

impl Tree {
    /// Makes the tree below the root. A name that is a file or directory already stays as it is.
    fn make(&self, root: &Path) {
        for file in &self.files {
            let path = root.join(file);
            if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
                std::fs::write(path, "x\n").unwrap();
            }
        }
        for (directory, name, lines) in &self.ignores {
            let path = root.join(directory).join(name);
            if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir() {
                // Every file holds the text that is searched for.
                std::fs::write(path, format!("{}\n#x\n", lines.join("\n"))).unwrap();
            }
        }
    }
}

/// Returns the files, from the root on, in the order of the search, which must also be that of the listing.
fn searched(world: &World, glob: &[&str]) -> Vec<String> {
    let root = world.path("@/root");
    let relative = |path: &str| {
        let path = Path::new(path).strip_prefix(&root).unwrap();
        path.to_str().unwrap().replace('\\', "/")
    };
    let (mut found, mut listed) = (Vec::new(), Vec::new());
    let mut sink = |file: crate::search::FileMatches| {
        found.push(relative(&file.file_path));
        ControlFlow::Continue(())
    };
    world.workspace.search(&Search { glob, ..Search::new("x") }, &mut sink, Control::default()).unwrap();
    let root = root.to_str().unwrap();
    let mut sink = |entry: crate::search::ListEntry| {
        if entry.kind == EntryKind::File {
            listed.push(relative(&entry.path));
        }
        ControlFlow::Continue(())
    };
    world.workspace.list(&List { glob, ..List::new(Some(root)) }, &mut sink, Control::default()).unwrap();
    assert_eq!(found, listed);
    found
}

/// Returns the lines that another program prints; `None`, with a message, if the program is missing.
fn lines_of(directory: &Path, program: &str, arguments: &[&str]) -> Option<Vec<String>> {
    let run = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output();
    let Ok(output) = run else {
        eprintln!("skipped: there is no {program}");
        return None;
    };
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

const RG: [&str; 8] = [
    "--no-config",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-parent",
    "--sort=path",
    "-l",
    "x",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The globs of ripgrep outrank ignore files. So with globs, the files must be those that it searches
    /// without globs and also with globs but without ignore files.
    #[test]
    fn the_files_are_those_of_ripgrep(
        tree in tree(&[".gitignore", ".ignore", ".rgignore"]),
        glob in prop::collection::vec(
            prop::sample::select(vec!["*.rs", "!*.txt", "a/**", "!a", "/b", "*", "!build/**", "{a,b}", "**/b/*"]), 0..3),
    ) {
        let world = World::new();
        let root = world.path("@/root");
        tree.make(&root);
        let globs = glob.iter().flat_map(|glob| ["-g", glob]);
        let by_globs: Vec<&str> = RG.into_iter().chain(["--no-ignore"]).chain(globs).collect();
        let Some(mut theirs) = lines_of(&root, "rg", &RG) else { return Ok(()) };
        if !glob.is_empty() {
            let Some(wanted) = lines_of(&root, "rg", &by_globs) else { return Ok(()) };
            theirs.retain(|path| wanted.contains(path));
        }
        prop_assert_eq!(searched(&world, &glob), theirs, "{:?}", tree);
    }

    #[test]
    fn the_files_are_those_of_git(tree in tree(&[".gitignore"]), exclude in prop::collection::vec(prop::sample::select(LINES.to_vec()), 0..3)) {
        let world = World::new();
        let root = world.path("@/root");
        tree.make(&root);
        let Some(_) = lines_of(&root, "git", &["init", "-q", "."]) else { return Ok(()) };
        std::fs::create_dir_all(root.join(".git/info")).unwrap();
        std::fs::write(root.join(".git/info/exclude"), exclude.join("\n")).unwrap();
        let arguments = ["-c", "core.quotePath=false", "ls-files", "--others", "--exclude-standard"];
        let Some(mut theirs) = lines_of(&root, "git", &arguments) else { return Ok(()) };
        theirs.sort();
        let mut ours = searched(&world, &[]);
        ours.sort();
        prop_assert_eq!(ours, theirs, "{:?} {:?}", tree, exclude);
    }
}

/// The total size of the ignore files in nested directories is bounded. Ignore files beyond the bound are
/// reported.
#[test]
fn ignore_files_together_are_bounded() {
    let world = World::new();
    let lines = "?a?\n".repeat(12_000);
    for directory in ["", "a/", "a/b/", "c/", ".git/info/"] {
        world.write(&format!("@/root/{directory}.gitignore"), &format!("{lines}*.log"));
        world.write(&format!("@/root/{directory}f.log"), "x");
    }
    world.write("@/root/.git/info/exclude", &lines);
    let (found, summary) = super::search::found(&world, &Search::new("^x"));
    assert!(found.is_empty(), "what the first one names is left out below it: {found:?}");
    let skipped: Vec<_> =
        summary.skipped.iter().map(|(cause, files)| format!("{cause:?} {}", files.count)).collect();
    // `Ignored` counts the `.git` directory, and the four `f.log` files outside it.
    assert_eq!(skipped, ["IgnoreFile 4", "Ignored 5"]);
}

/// The result names an ignore file that cannot be read, is too large, or has a line that is too long. It does
/// not name an ignore file that does not exist.
#[test]
fn an_ignore_file_that_is_not_honoured_is_told() {
    let world = World::new();
    world.write("@/root/.git/info/refs", "");
    world.write("@/root/most/.gitignore", &format!("*.log{}", "\n".repeat((64 << 10) - 5)));
    world.write("@/root/large/.gitignore", &format!("*.log{}", "\n".repeat((64 << 10) - 4)));
    world.write("@/root/long/.gitignore", &format!("{}\n*.log", "?".repeat(1025)));
    world.write("@/root/strange/.gitignore", &format!("{}\n[\n\u{e9}\n*.log", "{".repeat(1000)));
    std::fs::create_dir(world.path("@/root/.ignore")).unwrap();
    for directory in ["most", "large", "long", "strange"] {
        world.write(&format!("@/root/{directory}/a.log"), "x");
    }
    let (found, summary) = super::search::found(&world, &Search::new("x"));
    let paths: Vec<String> = found.iter().map(|file| world.told(&file.file_path)).collect();
    assert_eq!(paths, ["@/root/large/a.log"]);
    let skipped: Vec<String> = summary
        .skipped
        .iter()
        .map(|(cause, files)| format!("{cause:?} {}", world.told(&files.names.join(" "))))
        .collect();
    let files = "@/root/.ignore @/root/large/.gitignore @/root/long/.gitignore";
    assert_eq!(skipped, [format!("IgnoreFile {files}")]);
}

/// A rule counts, however many rules come after it.
#[test]
fn a_rule_before_many_others_counts() {
    let world = World::new();
    world.write("@/root/.gitignore", &format!("a?log\n#x\n{}", "?b?\n".repeat(1_000)));
    world.write("@/root/a.log", "x");
    world.write("@/root/a.txt", "x");
    assert_eq!(searched(&world, &[]), [".gitignore", "a.txt"]);
}

/// A call can be cancelled even in a directory where every entry is ignored.
#[test]
fn a_list_of_what_is_ignored_can_be_stopped() {
    let world = World::new();
    for number in 0..1_000 {
        world.write(&format!("@/root/{number}.log"), "");
    }
    world.write("@/root/.gitignore", "*.log\n");
    let asked = std::cell::Cell::new(0);
    let is_cancelled = || asked.replace(asked.get() + 1) > 500;
    let control = Control::default().cancelled_by(&is_cancelled);
    let root = world.path("@/root");
    let stopped =
        world.workspace.list(&List::new(root.to_str()), &mut |_| ControlFlow::Continue(()), control);
    assert!(stopped.is_err() && asked.get() < 600, "{stopped:?} {}", asked.get());
}

/// In a repository within another repository, only its own git rules count, but `.ignore` files of the
/// directories above count, too.
#[test]
fn the_rules_above_a_repository_are_those_of_ripgrep() {
    let world = World::new();
    world.write("@/root/.gitignore", "*.log\n#x\n");
    world.write("@/root/.ignore", "*.tmp\n#x\n");
    for name in ["a.log", "a.tmp", "sub/b.log", "sub/b.tmp", "sub/c.txt", "sub/d.bak", "sub/deep/e.bak"] {
        world.write(&format!("@/root/{name}"), "x");
    }
    world.write("@/root/sub/.git/info/exclude", "*.bak\n");
    // A repository that excludes nothing, and a repository whose `.git` is a file.
    for (name, git) in [("plain", ".git/HEAD"), ("tree", ".git")] {
        world.write(&format!("@/root/{name}/{git}"), "");
        world.write(&format!("@/root/{name}/deep/f.log"), "x");
    }
    let wanted = [".gitignore", ".ignore", "plain/deep/f.log", "sub/b.log", "sub/c.txt", "tree/deep/f.log"];
    assert_eq!(searched(&world, &[]), wanted);
    let arguments: Vec<&str> = RG.into_iter().chain(["-g", "!.git"]).collect();
    if let Some(theirs) = lines_of(&world.path("@/root"), "rg", &arguments) {
        assert_eq!(searched(&world, &[]), theirs);
    }
}

/// If a call names a path, the ignore files in the directories from the root to the path count for everything
/// below the path, but not for the path itself.
#[test]
fn what_is_named_is_searched_although_it_is_ignored() {
    let world = World::new();
    world.write("@/root/.gitignore", "/build/\n*.log\n");
    world.write("@/root/sub/.gitignore", "deep.txt\n");
    for name in ["build/a.txt", "build/b.log", "sub/deep/deep.txt", "sub/deep/c.txt", "d.log"] {
        world.write(&format!("@/root/{name}"), "x");
    }
    let paths = ["@/root/build", "@/root/sub/deep", "@/root/d.log"].map(|path| world.path(path));
    let paths = paths.each_ref().map(|path| path.to_str().unwrap());
    let told = super::search::told(&world, &Search { paths: &paths, ..Search::new("x") });
    assert_eq!(told, "@/root/build/a.txt:1:x\n@/root/sub/deep/c.txt:1:x\n@/root/d.log:1:x\n");
}

/// If one named path lies inside another, its files are searched once. Globs count from the root and from
/// each named path.
#[test]
fn paths_overlap_and_globs_count_from_them() {
    let world = World::new();
    for name in ["src/a.rs", "src/deep/b.rs", "src/deep/c.txt", "other/src/d.rs"] {
        world.write(&format!("@/root/{name}"), "x");
    }
    let root = world.path("@/root");
    let absolute = format!("{}/src/deep/*.txt", root.to_str().unwrap());
    let absolute = absolute.replace('\\', "/");
    let check = |paths: &[&str], glob: &[&str], wanted: &[&str]| {
        let paths: Vec<_> = paths.iter().map(|path| world.path(path)).collect();
        let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
        let told = super::search::told(&world, &Search { paths: &paths, glob, ..Search::new("x") });
        let wanted = wanted.iter().map(|name| format!("@/root/{name}:1:x\n")).collect::<Vec<_>>().concat();
        assert_eq!(told, wanted, "{paths:?} {glob:?}");
    };
    check(&["@/root/src", "@/root/src/deep"], &[], &["src/a.rs", "src/deep/b.rs", "src/deep/c.txt"]);
    check(&["@/root/src/deep", "@/root/src/deep/"], &[], &["src/deep/b.rs", "src/deep/c.txt"]);
    check(&["@/root/other"], &["/src/*.rs"], &["other/src/d.rs"]);
    check(&["@/root"], &["/src/*.rs"], &["src/a.rs"]);
    check(&["@/root/src"], &["/src/*.rs", "!deep"], &["src/a.rs"]);
    if cfg!(unix) {
        check(&[], &[&absolute], &["src/deep/c.txt"]);
        check(&["@/root/src"], &[&format!("!{absolute}")], &["src/a.rs", "src/deep/b.rs"]);
    }
}
