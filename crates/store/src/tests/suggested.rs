use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::access::policy::Policy;
use crate::access::roots::{PathError, Roots};
use crate::access::suggested::{LikelyFiles, Purpose};
use crate::cancellation::Cancellation;
use crate::tests::mounted::Mounted;
use crate::tests::world::World;

/// Makes the workspace serve these directories.
fn serve(world: &mut World, roots: &[&str]) {
    let roots: Vec<PathBuf> = roots.iter().map(|root| world.path(root)).collect();
    let home = world.path("@/root/home");
    world.workspace.roots = Roots::open_with(&roots, Policy::default()).unwrap().at_home(Some(home));
}

#[test]
fn the_likeliest_files_are_named_alone() {
    let world = World::new();
    let asked = "@/root/src/handler.rs";
    let mut steps = vec![
        ("@/root/lib/deep/handler.rs", "the same name elsewhere"),
        ("@/root/src/hanlderr.rs", "at distance 2"),
        ("@/root/src/hadnler.rs", "at distance 1"),
        ("@/root/src/Handler.rs", "in other letter case"),
    ];
    std::fs::create_dir(world.path("@/root/src")).unwrap();
    assert_eq!(world.suggested(asked), "");
    for (path, why) in &steps {
        world.write(path, "");
        assert_eq!(world.suggested(asked), *path, "{why}");
    }
    while let Some((path, _)) = steps.pop() {
        std::fs::remove_file(world.path(path)).unwrap();
        assert_eq!(world.suggested(asked), steps.last().map_or("", |(path, _)| path));
    }
    // Names with another extension, or with other digits, have the greatest distance that is still suggested.
    world.write("@/root/src/handler.java", "");
    world.write("@/root/src/handler2.rs", "");
    assert_eq!(world.suggested(asked), "@/root/src/handler.java, @/root/src/handler2.rs");
}

#[test]
fn equally_likely_files_are_listed() {
    let world = World::new();
    let asked = "@/root/config.yml";
    for (name, told) in [
        ("config.yaml", "@/root/config.yaml"),
        ("confi.yml", "@/root/confi.yml, @/root/config.yaml"),
        ("confit.yml", "@/root/confi.yml, @/root/config.yaml, @/root/confit.yml"),
        ("configs.yml", "@/root/confi.yml, @/root/config.yaml, @/root/configs.yml, …"),
    ] {
        world.write(&format!("@/root/{name}"), "");
        assert_eq!(world.suggested(asked), told);
    }
}

#[test]
fn directories_on_the_way_may_be_misspelled() {
    let world = World::new();
    world.write("@/root/crates/Store/src/access.rs", "");
    let suggested = "@/root/crates/Store/src/access.rs";
    for asked in [
        "@/root/crates/store/src/access.rs",
        "@/root/CRATES/STORE/SRC/ACCESS.RS",
        "@/root/crate/Store/src/access.rs",
        "@/root/crates/Stroe/src/access.rs",
        "@/root/crates/stroe/src/acces.rs",
        "@/root/crates/store/src/access.java",
        "@/root/Store/src/access.rs",
        "@/root/crates/Store/src/inner/access.rs",
        "@/root/crates/Store/access.rs",
        "@/root/other/access.rs",
        "@/root/other/ACCESS.rs",
    ] {
        assert_eq!(world.suggested(asked), suggested, "{asked}");
    }
    for asked in [
        "@/root/crats/Stroe/src/acces.rs",
        "@/root/other/acces.rs",
        "@/root/crates/Store/src/x.rs",
        "@/root/crates/Stroe/src/access.java",
    ] {
        assert_eq!(world.suggested(asked), "", "{asked}");
    }
}

#[test]
fn of_namesakes_the_one_with_the_longest_common_end_is_named() {
    let world = World::new();
    for path in ["a/mod.rs", "b/util/mod.rs", "c/deep/util/mod.rs", "d/util/mod.rs/dir"] {
        world.write(&format!("@/root/{path}"), "");
    }
    assert_eq!(world.suggested("@/root/deep/util/mod.rs"), "@/root/c/deep/util/mod.rs");
    assert_eq!(world.suggested("@/root/x/util/mod.rs"), "@/root/b/util/mod.rs, @/root/c/deep/util/mod.rs");
    assert_eq!(
        world.suggested("@/root/x/mod.rs"),
        "@/root/a/mod.rs, @/root/b/util/mod.rs, @/root/c/deep/util/mod.rs"
    );
}

#[test]
fn what_holds_no_files_of_a_person_is_not_walked() {
    let world = World::new();
    for path in
        [".git/app.rs", "sub/.GIT/app.rs", "node_modules/x/app.rs", "target/app.rs", "target/debug/app.rs"]
    {
        world.write(&format!("@/root/{path}"), "");
    }
    world.write("@/root/target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    assert_eq!(world.suggested("@/root/src/app.rs"), "");
    // If a path itself leads into such a directory, files in it are still suggested.
    assert_eq!(world.suggested("@/root/target/dbug/app.rs"), "@/root/target/debug/app.rs");
    assert_eq!(
        world.suggested("@/root/target/release/app.rs"),
        "@/root/target/app.rs, @/root/target/debug/app.rs"
    );
    assert_eq!(world.suggested("@/root/node_modules/y/app.rs"), "@/root/node_modules/x/app.rs");
}

#[test]
fn links_are_named_if_they_stay_inside_and_never_walked() {
    let world = World::new();
    world.write("@/root/real/config.toml", "");
    world.write("@/outside/secret.txt", "");
    world.write("@/outside/dir/letter.txt", "");
    world.link("@/root/configs.toml", "real/config.toml");
    world.link("@/root/secret.txt", "@/outside/secret.txt");
    world.link("@/root/nothing.txt", "@/outside/nothing.txt");
    world.link("@/root/dir", "@/outside/dir");
    world.link("@/root/way", "real");
    assert_eq!(world.suggested("@/root/cnofigs.toml"), "@/root/configs.toml");
    for asked in ["@/root/Secret.txt", "@/root/nothing.TXT", "@/root/sub/secret.txt", "@/root/letter.txt"] {
        assert_eq!(world.suggested(asked), "", "{asked}");
    }
    assert_eq!(world.suggested("secrett.txt"), "");
    // A link to a parent directory is followed, as in any call. The file is shown by its real path.
    assert_eq!(world.suggested("@/root/way/Config.toml"), "@/root/real/config.toml");
    // Two names of one file count as one.
    world.link("@/root/real/confik.toml", "config.toml");
    assert_eq!(world.suggested("@/root/real/confi.toml"), "@/root/real/config.toml");
}

#[test]
fn of_what_is_outside_nothing_is_told() {
    let mut world = World::new();
    world.write("@/outside/there.txt", "");
    world.write("@/root/there.txt", "");
    serve(&mut world, &["@/root"]);
    for name in ["there.txt", "There.txt", "missing.txt", "there.txt ", "sub/there.txt"] {
        assert_eq!(world.suggested(&format!("@/outside/{name}")), "", "{name}");
        assert_eq!(world.suggested(&format!("'@/outside/{name}'")), "", "{name}");
        assert_eq!(world.suggested(&format!("file://@/outside/{name}")), "", "{name}");
    }
    assert_eq!(world.suggested("outside/there.txt"), "@/root/there.txt", "by its name, from a root on");
    assert_eq!(world.suggested("~/../outside/there.txt"), "");
}

#[test]
fn what_is_protected_is_not_proposed_to_be_edited() {
    let world = World::new();
    world.write("@/root/.git/config", "");
    world.write("@/root/.mcp.json", "");
    for (asked, suggested) in [
        ("@/root/.git/Config", "@/root/.git/config"),
        (".git/config", "@/root/.git/config"),
        ("@/root/.mpc.json", "@/root/.mcp.json"),
        ("@/root/sub/.mcp.json", "@/root/.mcp.json"),
    ] {
        assert_eq!(world.suggested(asked), suggested);
        assert_eq!(world.meant_for(Purpose::Editing, asked), "");
    }
}

#[test]
fn only_text_is_taken_for_what_was_meant() {
    let world = World::new();
    world.write("@/root/logo.png", "\u{89}PNG\0\0");
    world.write("@/root/wide.txt", "\0a\0b");
    std::fs::create_dir(world.path("@/root/logo.d")).unwrap();
    assert_eq!(world.suggested("@/root/logo.svg"), "");
    assert_eq!(world.suggested("@/root/Wide.txt"), "");
    // If only the notation of a path is wrong, its file is suggested, even if the file is not text.
    assert_eq!(world.suggested("wide.txt"), "@/root/wide.txt");
}

#[test]
fn a_path_in_another_notation_is_put_right() {
    let mut world = World::new();
    world.write("@/root/my dir/t.txt", "");
    world.write("@/root/home/own.txt", "");
    world.write("@/root/ blank", "");
    serve(&mut world, &["@/root"]);
    let suggested = "@/root/my dir/t.txt";
    for asked in [
        "my dir/t.txt",
        "./my dir/t.txt",
        "root/my dir/t.txt",
        "~/my dir/t.txt",
        "~/root/my dir/t.txt",
        "file://@/root/my%20dir/t.txt",
        "file://@/root/my dir/t.txt",
        "file://my dir/t.txt",
        "\"@/root/my dir/t.txt\"",
        "'my dir/t.txt'",
        "`@/root/my dir/t.txt`",
        " @/root/my dir/t.txt",
        "@/root/my dir/t.txt ",
        "@/root/my dir/t.txt\n",
        " '~/my dir/t.txt'\n",
        // These also have a typing error.
        "'@/root/my dir/T.txt'",
        "my_dir/t.txt",
        "~/my dri/t.txt",
        "@/root/mydir/t.txt\n",
    ] {
        assert_eq!(world.suggested(asked), suggested, "{asked:?}");
    }
    assert_eq!(world.suggested("~/own.txt"), "@/root/home/own.txt");
    assert_eq!(world.suggested("~/home/own.txt"), "@/root/home/own.txt");
    // Each interpretation of the path may also have a typing error.
    assert_eq!(world.suggested("~/my dir/other.tx"), "");
    world.write("@/root/my dir/other.txt", "");
    assert_eq!(world.suggested("~/my dir/other.tx"), "@/root/my dir/other.txt");
    // A file has exactly this name, with the space.
    assert_eq!(world.suggested(" blank"), "@/root/ blank");
    if !cfg!(windows) {
        // Absolute, and outside all roots.
        assert_eq!(world.suggested("@\\root\\my dir\\t.txt"), suggested);
    }
    for asked in ["~", "~/", "", " ", "''", "file://", "my dir", "my dir/t.txt/", "my dir/\0t.txt"] {
        assert_eq!(world.suggested(asked), "", "{asked:?}");
    }
}

#[test]
fn a_relative_path_is_taken_from_each_root() {
    let mut world = World::new();
    for path in ["one/src/a.rs", "two/src/a.rs", "two/src/b.rs", "three/c.rs"] {
        world.write(&format!("@/{path}"), "");
    }
    serve(&mut world, &["@/one", "@/two", "@/two/src"]);
    assert_eq!(world.suggested("src/a.rs"), "@/one/src/a.rs, @/two/src/a.rs");
    assert_eq!(world.suggested("src/b.rs"), "@/two/src/b.rs");
    assert_eq!(world.suggested("two/src/a.rs"), "@/two/src/a.rs");
    assert_eq!(world.suggested("SRC/B.rs"), "@/two/src/b.rs");
    assert_eq!(world.suggested("lib/b.rs"), "@/two/src/b.rs");
    assert_eq!(world.suggested("three/c.rs"), "");
    // An absolute path belongs to its own root only.
    assert_eq!(world.suggested("@/one/src/b.rs"), "");
}

#[test]
fn a_file_that_is_to_be_made_needs_its_directory_alone() {
    let mut world = World::new();
    world.write("@/root/src/there.txt", "");
    world.write("@/root/home/x", "");
    serve(&mut world, &["@/root"]);
    for (asked, suggested) in [
        ("new.txt", "@/root/new.txt"),
        ("src/new.txt", "@/root/src/new.txt"),
        ("root/src/new.txt", "@/root/src/new.txt"),
        ("'src/new.txt'", "@/root/src/new.txt"),
        ("'new.txt'", "@/root/new.txt"),
        ("~/new.txt", "@/root/home/new.txt, @/root/new.txt"),
        ("file://@/root/src/new%20file.txt", "@/root/src/new file.txt"),
        (" @/root/src/new.txt", "@/root/src/new.txt"),
        ("src/there.txt", "@/root/src/there.txt"),
        ("lib/there.txt", ""),
        ("src", ""),
        ("src/", ""),
        (".git/hook", ""),
        (".mcp.json", ""),
        ("'@/outside/new.txt'", ""),
    ] {
        assert_eq!(world.meant_for(Purpose::Creating, asked), suggested, "{asked}");
    }
}

#[test]
fn a_call_that_is_cancelled_is_not_searched_for() {
    let world = World::new();
    world.write("@/root/src/app.rs", "");
    let cancelled = || true;
    let roots = &world.workspace.roots;
    for asked in ["@/root/src/App.rs", "@/root/app.rs"] {
        let path = world.path(asked);
        let error = roots.resolve(path.to_str().unwrap()).unwrap().open_file(false).unwrap_err();
        let search = LikelyFiles::new(roots, Purpose::Reading, Cancellation::when(&cancelled));
        assert_eq!(search.of_error(path.to_str().unwrap(), error).suggested, None);
        let problem = search.of_path("src/app.rs", PathError::NotAbsolute { suggested: None });
        assert!(matches!(problem, PathError::NotAbsolute { suggested: None }));
    }
}

#[test]
fn it_is_told_that_there_may_be_more_where_not_all_was_looked_at() {
    let mut world = World::new();
    for path in ["one/config.yaml", "one/lib/app.rs"] {
        world.write(&format!("@/{path}"), "");
    }
    for name in 0..4 {
        world.write(&format!("@/two/{name}"), "");
    }
    serve(&mut world, &["@/one", "@/two"]);
    let told = |entries, asked: &str| {
        let problem = world.workspace.roots.resolve(asked).unwrap_err().remove(0);
        let search = LikelyFiles::new(&world.workspace.roots, Purpose::Reading, Cancellation::none());
        let PathError::NotAbsolute { suggested } = search.of_entries(entries).of_path(asked, problem) else {
            panic!("{asked} is not absolute");
        };
        suggested.map(|suggested| {
            let paths: Vec<String> =
                suggested.paths.iter().map(|path| world.told(path.to_str().unwrap())).collect();
            (paths.join(", "), suggested.are_all)
        })
    };
    for (asked, path, entries) in [
        ("config.yml", "@/one/config.yaml", 2),
        // The file is in another directory, so both roots are walked.
        ("src/app.rs", "@/one/lib/app.rs", 3),
    ] {
        assert_eq!(told(entries - 1, asked), None);
        assert_eq!(told(entries, asked), Some((path.to_owned(), false)));
        assert_eq!(told(entries + 3, asked), Some((path.to_owned(), false)));
        assert_eq!(told(entries + 4, asked), Some((path.to_owned(), true)));
    }
}

#[test]
fn a_path_of_too_many_names_is_not_searched_for() {
    let world = World::new();
    world.write("@/root/src/app.py", "");
    let top = if cfg!(windows) { "Q:" } else { "" };
    let below = |top: &str, names, end: &str| format!("{top}/{}{end}", "d/".repeat(names));
    for (names, found) in [(64, true), (65, false)] {
        let (asked, there) = (below("@/root", names - 1, "App.py"), below("@/root", names - 1, "app.py"));
        world.write(&there, "");
        assert_eq!(world.suggested(&asked), if found { there } else { String::new() });
        let asked = below(top, names - 2, "src/app.py");
        assert_eq!(world.suggested(&asked), if found { "@/root/src/app.py" } else { "" });
    }
    // Its first names alone lead to a file.
    world.write(&below("@/root", 63, "file"), "");
    assert_eq!(world.suggested(&below(top, 63, "file/x")), "");
}

#[test]
fn of_a_name_that_leads_to_no_file_no_other_is_told() {
    let world = World::new();
    world.write("@/root/src/app.py", "");
    world.write("@/root/srcs", "");
    world.write("@/root/links", "");
    world.link("@/root/link", "@/root/nothing");
    assert_eq!(world.suggested("@/root/src"), "", "a directory");
    assert_eq!(world.suggested("@/root/link"), "", "a link to nothing");
    assert_eq!(world.suggested("@/root/linkss"), "@/root/links");
}

/// The name of a directory is not Unicode. A link leads to the directory.
#[test]
fn below_what_no_client_could_name_nothing_is_suggested() {
    use std::os::unix::ffi::OsStrExt as _;

    let world = World::new();
    let directory = world.path("@/root").join(OsStr::from_bytes(b"d\xff"));
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("handler.py"), "").unwrap();
    std::os::unix::fs::symlink(&directory, world.path("@/root/link")).unwrap();
    assert_eq!(world.suggested("@/root/link/handle.py"), "");
    // The last name is not Unicode, either.
    let missing = world.path("@/root").join(OsStr::from_bytes(b"nothing\xff"));
    std::os::unix::fs::symlink(missing, world.path("@/root/leads-nowhere")).unwrap();
    world.write("@/root/sub/nothing\u{fffd}", "");
    assert_eq!(world.suggested("leads-nowhere"), "");
}

/// A directory listing of this file system does not give the kinds of the entries.
#[test]
fn files_are_found_where_a_directory_does_not_tell_what_is_one() {
    let Some(ext4) = Mounted::disk("ext4", &["-O", "^filetype"], 8) else { return };
    let mut world = World::new();
    world.workspace.roots = Roots::open(&[ext4.path("")]).unwrap();
    let top = ext4.path("").canonicalize().unwrap();
    let at = |name: &str| top.join(name).to_str().unwrap().to_owned();
    world.write(&at("src/handler.rs"), "");
    for asked in ["src/Handler.rs", "Src/handler.rs", "lib/handler.rs"] {
        assert_eq!(world.suggested(&at(asked)), at("src/handler.rs"), "{asked}");
    }
}

/// A bind mount gives the root another path. That path can be read, but no file is suggested for a path below
/// it.
#[test]
fn by_another_path_of_a_root_nothing_is_suggested() {
    let world = World::new();
    world.write("@/root/sub/handler.rs", "");
    std::fs::create_dir(world.path("@/outside/data")).unwrap();
    let Some(_mounted) = Mounted::bind(&world.path("@/root"), &world.path("@/outside/data")) else { return };
    assert_eq!(world.resolve("@/outside/data/sub/handler.rs"), "@/outside/data/sub/handler.rs: opened");
    assert_eq!(world.suggested("@/root/sub/handle.rs"), "@/root/sub/handler.rs");
    assert_eq!(world.suggested("@/outside/data/sub/handle.rs"), "");
}

/// The state directory is not suggested, even if a root lies in it.
#[test]
fn the_state_directory_is_not_proposed_to_be_searched() {
    let mut world = World::new();
    world.write("@/root/state/journal/record", "");
    let roots = ["@/root", "@/root/state/journal"].map(|root| world.path(root));
    for (closed, told) in [("@/root/other", "@/root/state/journal"), ("@/root/state", "")] {
        let policy = Policy::default().closing(&world.path(closed));
        world.workspace.roots = Roots::open_with(&roots, policy).unwrap();
        assert_eq!(world.meant_for(Purpose::Finding, "state/journal"), told, "{closed}");
    }
}

#[test]
fn a_directory_is_as_good_to_be_searched() {
    let world = World::new();
    world.write("@/root/handlers/app.py", "");
    for asked in ["handlers/", "handlers", "@/root/handler", "@/root/handler/", "Handlers//"] {
        assert_eq!(world.meant_for(Purpose::Finding, asked), "@/root/handlers", "{asked}");
        assert_eq!(world.meant_for(Purpose::Reading, asked), "", "{asked}");
    }
    assert_eq!(world.meant_for(Purpose::Finding, "root"), "@/root");
}

/// Returns the rank of an existing path for a requested path, as the contract defines it. A path with a lower
/// rank is likelier.
fn rank(asked: &str, there: &str) -> Option<(usize, std::cmp::Reverse<usize>)> {
    let (asked, there) = (asked.to_lowercase(), there.to_lowercase());
    let (one, other): (Vec<&str>, Vec<&str>) = (asked.split('/').collect(), there.split('/').collect());
    let digits = |name: &str| name.replace(|letter: char| letter.is_ascii_digit(), "");
    let (last, others_last) = (one[one.len() - 1], other[other.len() - 1]);
    let distances = one.iter().zip(&other).enumerate().map(|(index, (one_name, other_name))| {
        // The length of the part before the first dot that is not at the beginning of the name.
        let head = |name: &str| {
            let hidden = name.trim_start_matches('.');
            name.len() - hidden.len() + hidden.split('.').next().unwrap().len()
        };
        let shorter = head(one_name).min(head(other_name));
        let most = if shorter <= 4 { shorter.saturating_sub(1).min(1) } else { 2 };
        let is_last = index + 1 == one.len();
        let is_other = digits(one_name) == digits(other_name);
        let is_far =
            is_last && (is_other || Path::new(one_name).file_stem() == Path::new(other_name).file_stem());
        match strsim::osa_distance(one_name, other_name) {
            0 => Some(0),
            near if near <= most && !is_other => Some(near),
            _ => is_far.then_some(2),
        }
    });
    let sum = distances.collect::<Option<Vec<_>>>().map(|all| all.iter().sum::<usize>());
    if let Some(sum) = sum.filter(|sum| *sum <= 2 && one.len() == other.len()) {
        return Some((sum, std::cmp::Reverse(0)));
    }
    let tail = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count();
    (last == others_last).then_some((3, std::cmp::Reverse(tail)))
}

fn a_directory() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["a", "lib", "Lib", "src", "srcs", "v1"]).prop_map(str::to_owned)
}

fn a_file() -> impl Strategy<Value = String> {
    let stem = proptest::sample::select(vec!["a", "ab", "mod", "Mod", "main", "mian", "maine", "t1", "t12"]);
    (stem, proptest::sample::select(vec![".rs", ".py", ".RS"])).prop_map(|(stem, end)| format!("{stem}{end}"))
}

fn a_path() -> impl Strategy<Value = String> {
    (proptest::collection::vec(a_directory(), 0..3), a_file()).prop_map(|(mut names, file)| {
        names.push(file);
        names.join("/")
    })
}

/// Returns a path with a typing error (a slip): a text replaces a part of the path.
fn spoilt(path: &str, (at, cut, put): (usize, usize, &str)) -> String {
    let at = at % path.len();
    let end = (at + cut).min(path.len());
    format!("{}{put}{}", &path[..at], &path[end..])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// In any tree, after any slip, all files that resemble the path most are suggested, but at most three.
    /// So the intended file is among them, unless other files are at least as likely.
    #[test]
    fn what_resembles_a_path_most_is_named(
        tree in proptest::collection::btree_set(a_path(), 1..12),
        which in any::<proptest::sample::Index>(),
        slips in proptest::collection::vec((0..99_usize, 0..3_usize, proptest::sample::select(vec!["", "a", "M", "s/", "1", ".p"])), 1..4),
    ) {
        let world = World::new();
        for path in &tree {
            world.write(&format!("@/root/{path}"), "");
        }
        let tree: Vec<&str> = tree.iter().map(String::as_str).collect();
        let suggested = *which.get(&tree);
        let asked = slips.into_iter().fold(suggested.to_owned(), |path, slip| spoilt(&path, slip));
        let is_plain = !asked.is_empty() && asked.split('/').all(|name| !name.is_empty() && !matches!(name, "." | ".."));
        prop_assume!(is_plain && !world.path(&format!("@/root/{asked}")).exists());
        // If a parent in the path is a file, the error is another one.
        prop_assume!(!Path::new(&asked).ancestors().skip(1).any(|above| tree.iter().any(|path| Path::new(path) == above)));
        let ranked: Vec<(_, &str)> = tree.iter().filter_map(|path| Some((rank(&asked, path)?, *path))).collect();
        let best = ranked.iter().map(|(rank, _)| rank).min();
        let mut expected: Vec<String> =
            ranked.iter().filter(|(rank, _)| Some(rank) == best).map(|(_, path)| format!("@/root/{path}")).collect();
        expected.sort_by(|one, other| Path::new(one).cmp(Path::new(other)));
        if expected.len() > 3 {
            expected.truncate(3);
            expected.push("…".to_owned());
        }
        prop_assert_eq!(world.suggested(&format!("@/root/{asked}")), expected.join(", "), "{} was {}", asked, suggested);
    }
}

/// A client may use paths as if the root were the top of the file system, or were at another path. Such a
/// path ends in the names below the root.
#[test]
fn a_path_from_another_top_is_one_from_a_root() {
    let world = World::new();
    for path in ["@/root/src/app.py", "@/root/README.md", "@/outside/lib/x.py"] {
        world.write(path, "");
    }
    let top = |path: &str| if cfg!(windows) { format!("Q:{path}") } else { path.to_owned() };
    let check = |purpose, path: &str, expected: &str| {
        assert_eq!(world.meant_for(purpose, &top(path)), expected, "{path}");
    };
    for purpose in [Purpose::Reading, Purpose::Editing, Purpose::Finding] {
        check(purpose, "/src/app.py", "@/root/src/app.py");
        check(purpose, "/workspace/repo/src/app.py", "@/root/src/app.py");
        check(purpose, "/README.md", "@/root/README.md");
        check(purpose, "/somewhere/root/README.md", "@/root/README.md");
        // This name is too common: every project has a `README.md`.
        check(purpose, "/somewhere/README.md", "");
        check(purpose, "/lib/x.py", "");
        check(purpose, "/root/lib/x.py", "");
        check(purpose, "/", "");
    }
    check(Purpose::Finding, "/repo/src", "");
    check(Purpose::Finding, "/src/", "@/root/src");
    check(Purpose::Creating, "/src/new.py", "@/root/src/new.py");
    check(Purpose::Creating, "/new.py", "@/root/new.py");
    check(Purpose::Creating, "/lib/new.py", "");
    // By its text, the path lies in the root, but a link in it leads outside.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(world.path("@/outside"), world.path("@/root/src/link")).unwrap();
        assert_eq!(world.suggested("@/root/src/link/src/app.py"), "");
        let mut world = world;
        std::os::unix::fs::symlink(world.path("@/root"), world.path("@/alias")).unwrap();
        serve(&mut world, &["@/alias"]);
        assert_eq!(world.suggested("@/alias/src/link/src/app.py"), "");
    }
}
