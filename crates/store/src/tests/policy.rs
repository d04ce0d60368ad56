use std::sync::Arc;

use crate::Control;
use crate::access::client_files::CLIENT_FILES;
use crate::access::patterns::Patterns;
use crate::access::policy::{FileList, Policy};
use crate::access::protection::Protection;
use crate::access::roots::{PathError, Roots};
use crate::edit::{Edit, EditChange, EditOptions, Reason, edit};
use crate::search::{List, Search};
use crate::state_dir::StateDir;
use crate::workspace::Workspace;

use crate::tests::list::listed;
#[cfg(target_os = "linux")]
use crate::tests::mounted::Mounted;
use crate::tests::search::told;
use crate::tests::world::{World, options, unlink};

/// Returns the protection of a path from writes, if it has one. `@` is the temporary directory.
fn protection(world: &World, path: &str) -> Option<Protection> {
    let path = world.path(path);
    match world.workspace.roots.resolve_for_writing(path.to_str().unwrap()) {
        Ok(_) => None,
        Err(problems) => match problems.as_slice() {
            [PathError::Protected(protection)] => Some(protection.clone()),
            other => panic!("{}: {other:?}", path.display()),
        },
    }
}

fn with_policy(world: &mut World, roots: &[&str], policy: Policy) {
    let roots: Vec<_> = roots.iter().map(|root| world.path(root)).collect();
    world.workspace = Workspace::without_state(Roots::open_with(&roots, policy).unwrap());
}

/// Returns what a list shows below a path, and what a search for *secret* finds there.
fn seen_below(world: &World, path: &str) -> String {
    let path = world.path(path);
    let path = path.to_str().unwrap();
    let starts = [path];
    let search = Search { paths: &starts, ..Search::new("secret") };
    let mut none = |_| std::ops::ControlFlow::Continue(());
    match world.workspace.search(&search, &mut none, Control::default()) {
        Ok(_) => listed(world, &List::new(Some(path))).0 + &told(world, &search),
        Err(_) => "Outside".to_owned(),
    }
}

#[test]
fn git_is_read_but_not_written() {
    let world = World::new();
    world.write("@/root/.git/hooks/pre-commit", "hook\n");
    world.write("@/root/tree/.GIT", "gitdir: elsewhere\n");
    world.write("@/root/.gitignore", "");
    for path in [
        "@/root/.git/hooks/pre-commit",
        "@/root/.git/hooks/new",
        "@/root/.git/new/directory/file",
        "@/root/.git",
        "@/root/tree/.GIT",
        "@/root/sub/.Git/config",
        "@/root/new/.git/hooks/post-checkout",
        "@/root/.g\u{200d}it/config",
        "@/root/GIT~1/config",
    ] {
        assert_eq!(protection(&world, path), Some(Protection::Git), "{path}");
    }
    for path in ["@/root/.gitignore", "@/root/.github/workflows/ci.yml", "@/root/git/config"] {
        assert_eq!(protection(&world, path), None, "{path}");
    }
    let refused = "Path(Protected(Git))";
    assert_eq!(world.append(&["@/root/.gitignore", "@/root/.git/hooks/pre-commit"]), [refused]);
    assert_eq!(world.content("@/root/.gitignore"), "");
    assert_eq!(world.content("@/root/.git/hooks/pre-commit"), "hook\n");
}

/// Only on Unix: on Windows, such a name is refused before its protection is checked.
#[test]
#[cfg(unix)]
fn git_is_known_where_other_systems_leave_out_what_it_ends_in() {
    assert_eq!(protection(&World::new(), "@/root/.git. ./config"), Some(Protection::Git));
}

#[test]
fn git_is_read_but_not_written_by_links_to_it() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/.git/hooks/pre-commit", "hook\n");
    world.link("@/root/hook", ".git/hooks/pre-commit");
    world.link("@/root/hooks", "@/root/.git/hooks");
    for path in ["@/root/hook", "@/root/hooks/pre-commit", "@/root/hooks/new"] {
        assert_eq!(protection(&world, path), Some(Protection::Git), "{path}");
    }
    assert_eq!(world.resolve("@/root/hook"), "@/root/.git/hooks/pre-commit by link: opened");
    assert_eq!(world.append(&["@/root/hook"]), ["Path(Protected(Git))"]);
    assert_eq!(world.content("@/root/.git/hooks/pre-commit"), "hook\n");
}

#[test]
fn what_is_protected_is_not_created() {
    let world = World::new();
    let before = world.names();
    for path in [
        "@/root/.git/hooks/x",
        "@/root/a/.git/config",
        "@/root/.git",
        "@/root/.mcp.json",
        "@/root/.vscode/mcp.json",
    ] {
        for dry_run in [false, true] {
            let path = world.path(path);
            let new = Edit::new(path.to_str().unwrap(), EditChange::Create("x"));
            let options = EditOptions { dry_run, ..options("create_text_file") };
            let problems = edit(&world.workspace, &[new], options).unwrap_err();
            assert!(matches!(problems[0].reason, Reason::Path(PathError::Protected(_))), "{problems:?}");
        }
    }
    assert_eq!(world.names(), before);
}

#[test]
fn a_git_directory_by_another_name_is_known_through_its_link() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/data/config", "");
    world.write("@/root/sub/data/config", "");
    world.link("@/root/.git", "data");
    world.link("@/root/sub/.git", "data");
    world.link("@/root/chain", "sub/.git/config");
    for path in [
        "@/root/.git/config",
        "@/root/data/config",
        "@/root/data/new",
        "@/root/sub/.git/config",
        "@/root/chain",
    ] {
        assert_eq!(protection(&world, path), Some(Protection::Git), "{path}");
    }
    // Links are looked for only directly in the roots.
    assert_eq!(protection(&world, "@/root/sub/data/config"), None);
}

#[test]
fn a_protected_link_that_never_ends_is_the_end_of_nothing() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/file", "");
    world.link("@/root/.mcp.json", "around");
    world.link("@/root/around", ".mcp.json");
    assert_eq!(world.append(&["@/root/file"]), ["[]"]);
}

#[test]
fn a_root_inside_git_was_named_by_a_person() {
    let Some(mut world) = World::with_links() else { return };
    world.write("@/root/.git/trees/one/file", "");
    with_policy(&mut world, &["@/root", "@/root/.git/trees/one"], Policy::default());
    world.link("@/root/.git/trees/one/link", "file");
    assert_eq!(protection(&world, "@/root/.git/trees/one/file"), None);
    assert_eq!(protection(&world, "@/root/.git/trees/one/link"), None);
    assert_eq!(protection(&world, "@/root/.git/trees/two/file"), Some(Protection::Git));
    assert_eq!(protection(&world, "@/root/.git/trees/one/.git"), Some(Protection::Git));
}

/// Returns the path of the client's file because of which a path is protected; `None` if the path is not
/// protected.
fn client_file(world: &World, path: &str) -> Option<&'static str> {
    match protection(world, path) {
        Some(Protection::ClientFile(file)) => Some(file.path),
        None => None,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn every_file_of_a_client_is_protected_in_every_directory() {
    let world = World::new();
    for file in CLIENT_FILES {
        let path = file.path.replace('*', "x");
        for above in ["@/root", "@/root/a/b"] {
            let below = if file.path.ends_with('/') { &["x", "x/y.z"][..] } else { &[""] };
            for below in below {
                let path = format!("{above}/{path}{below}");
                assert!(client_file(&world, &path).is_some(), "{path}");
                let name = path.strip_prefix("@").unwrap();
                assert!(client_file(&world, &format!("@/root{}", name.to_uppercase())).is_some(), "{path}");
            }
        }
    }
    // These are files in the directories of clients that start nothing, and names that are only similar.
    for path in [
        "mcp.json",
        ".claude/CLAUDE.md",
        ".claude/rules/style.md",
        ".claude/worktrees/one/src/main.rs",
        ".codex/AGENTS.md",
        ".gemini/GEMINI.md",
        ".opencode/agent/review.md",
        ".github/workflows/ci.yml",
        ".github/copilot-instructions.md",
        ".github/ISSUE_TEMPLATE/bug.md",
        ".cursor/rules/style.mdc",
        ".cursor/x/mcp.json",
        ".cursor/mcp.jsonc",
        ".vscode/extensions.json",
        ".windsurf/rules/a.md",
        ".clinerules/style.md",
        ".kiro/steering/product.md",
        ".kiro/specs/a/tasks.md",
        ".idea-notes/a",
        ".devcontainer/Dockerfile",
        ".envrc",
        ".env",
        "AGENTS.md",
        "claude/settings.json",
        ".claude/settings.json/x",
        "src/opencode.json.rs",
        "tasks.json",
    ] {
        assert_eq!(client_file(&world, &format!("@/root/{path}")), None, "{path}");
    }
}

#[test]
fn a_file_of_a_client_is_known_by_its_other_names() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/configs/servers.json", "{}\n");
    world.write("@/root/configs/claude/settings.json", "{}\n");
    world.write("@/root/configs/claude/agents/one.md", "\n");
    world.write("@/root/.cursor/mcp.json", "{}\n");
    world.link("@/root/.mcp.json", "configs/servers.json");
    world.link("@/root/.claude", "configs/claude");
    world.link("@/root/.vscode", "code");
    world.link("@/root/opencode.json", "configs/../configs/later.json");
    // This link leads to the file once the directory `later` exists.
    world.link("@/root/.lsp.json", "later/../servers.json");
    std::fs::create_dir_all(world.path("@/root/.opencode")).unwrap();
    std::fs::create_dir_all(world.path("@/root/shared/tools")).unwrap();
    world.link("@/root/.opencode/tool", "../shared/tools");
    std::fs::hard_link(world.path("@/root/.cursor/mcp.json"), world.path("@/root/other-name")).unwrap();
    for (path, by) in [
        ("@/root/.mcp.json", ".mcp.json"),
        ("@/root/configs/servers.json", ".mcp.json"),
        ("@/root/.cursor/mcp.json", ".cursor/mcp.json"),
        ("@/root/other-name", ".cursor/mcp.json"),
        ("@/root/.claude/settings.json", ".claude/settings.json"),
        ("@/root/configs/claude/settings.json", ".claude/settings.json"),
        ("@/root/configs/claude/settings.local.json", ".claude/settings.local.json"),
        ("@/root/configs/claude/agents/one.md", ".claude/agents/"),
        ("@/root/configs/claude/agents/new.md", ".claude/agents/"),
        ("@/root/configs/claude/skills/new/SKILL.md", ".claude/skills/"),
        ("@/root/opencode.json", "opencode.json"),
        ("@/root/configs/later.json", "opencode.json"),
        ("@/root/servers.json", ".lsp.json"),
        ("@/root/shared/tools/new.js", ".opencode/tool/"),
        ("@/root/code/tasks.json", ".vscode/tasks.json"),
    ] {
        assert_eq!(client_file(&world, path), Some(by), "{path}");
    }
    for path in [
        "@/root/configs/other.json",
        "@/root/configs/claude/CLAUDE.md",
        "@/root/code/extensions.json",
        "@/root/shared/tool",
    ] {
        assert_eq!(client_file(&world, path), None, "{path}");
    }
}

/// If the root itself is a directory of a client, such as `.claude`, its files are protected, because the
/// client reads them. If the root lies within such a directory, a person has allowed it.
#[test]
fn a_root_may_lie_where_clients_look() {
    let mut world = World::new();
    world.write("@/root/.claude/skills/one/SKILL.md", "");
    with_policy(&mut world, &["@/root/.claude"], Policy::default());
    assert_eq!(client_file(&world, "@/root/.claude/settings.json"), Some(".claude/settings.json"));
    assert_eq!(client_file(&world, "@/root/.claude/skills/one/SKILL.md"), Some(".claude/skills/"));
    for root in ["@/root/.claude/skills", "@/root/.claude/skills/one"] {
        with_policy(&mut world, &[root], Policy::default());
        assert_eq!(client_file(&world, "@/root/.claude/skills/one/SKILL.md"), None, "{root}");
    }
    with_policy(&mut world, &["@/root", "@/root/.claude/skills/one"], Policy::default());
    assert_eq!(client_file(&world, "@/root/.claude/skills/one/SKILL.md"), None);
    assert_eq!(client_file(&world, "@/root/.claude/skills/two/SKILL.md"), Some(".claude/skills/"));
}

#[test]
fn a_person_takes_protection_away() {
    let Some(mut world) = World::with_links() else { return };
    world.write("@/root/shared/servers.json", "{}\n");
    world.link("@/root/.mcp.json", "shared/servers.json");
    let patterns = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Patterns::new(&texts).unwrap()
    };
    let exempting = |texts: &[&str]| Policy::default().exempting(patterns(texts));
    with_policy(&mut world, &["@/root"], exempting(&[".mcp.json", "/.git/hooks", "/.claude/skills/"]));
    for path in [
        "@/root/.mcp.json",
        "@/root/shared/servers.json",
        "@/root/a/.mcp.json",
        "@/root/.git/hooks/pre-commit",
        "@/root/.claude/skills/one/SKILL.md",
    ] {
        assert_eq!(protection(&world, path), None, "{path}");
    }
    assert_eq!(protection(&world, "@/root/.git/config"), Some(Protection::Git));
    assert_eq!(protection(&world, "@/root/a/.git/hooks/x"), Some(Protection::Git));
    assert_eq!(client_file(&world, "@/root/.claude/settings.json"), Some(".claude/settings.json"));

    // The target of the link is exempt by its own name. A file that a pattern protects stays protected.
    with_policy(&mut world, &["@/root"], exempting(&["/shared/servers.json"]));
    assert_eq!(protection(&world, "@/root/shared/servers.json"), None);
    assert_eq!(client_file(&world, "@/root/.mcp.json"), Some(".mcp.json"));
    let both = Policy::default().protecting(patterns(&["secret"])).exempting(patterns(&["*"]));
    with_policy(&mut world, &["@/root"], both);
    assert_eq!(protection(&world, "@/root/.git/config"), None);
    assert_eq!(protection(&world, "@/root/secret"), Some(Protection::Pattern("secret".to_owned())));
    assert_eq!(protection(&world, "@/root/.git/secret"), Some(Protection::Pattern("secret".to_owned())));
    with_policy(&mut world, &["@/root"], exempting(&["*"]).read_only(true));
    assert_eq!(protection(&world, "@/root/file"), Some(Protection::ReadOnly));
}

#[test]
fn a_person_protects_more() {
    let Some(mut world) = World::with_links() else { return };
    world.write("@/root/data/key", "");
    world.link("@/root/secret.pem", "data/key");
    world.link("@/root/other", "config/locked.toml");
    let patterns = ["*.pem", "config/*.toml", "vendor/"].map(str::to_owned);
    with_policy(&mut world, &["@/root"], Policy::default().protecting(Patterns::new(&patterns).unwrap()));
    let by = |pattern: &str| Some(Protection::Pattern(pattern.to_owned()));
    assert_eq!(protection(&world, "@/root/a/B.PEM"), by("*.pem"));
    assert_eq!(protection(&world, "@/root/config/a.toml"), by("config/*.toml"));
    assert_eq!(protection(&world, "@/root/other"), by("config/*.toml"));
    assert_eq!(protection(&world, "@/root/a/vendor/b/c"), by("vendor/"));
    assert_eq!(protection(&world, "@/root/secret.pem"), by("*.pem"), "a link of that name");
    assert_eq!(protection(&world, "@/root/data/key"), None, "its target's own name matches nothing");
    assert_eq!(protection(&world, "@/root/.git/x"), Some(Protection::Git), "besides the usual");

    with_policy(&mut world, &["@/root"], Policy::default().read_only(true));
    assert_eq!(protection(&world, "@/root/data/key"), Some(Protection::ReadOnly));
    assert_eq!(world.append(&["@/root/data/key"]), ["Path(Protected(ReadOnly))"]);
    with_policy(&mut world, &["@/root"], Policy::unprotected());
    assert_eq!(protection(&world, "@/root/.git/x"), None);
}

#[test]
fn the_files_that_configure_clients_are_protected_in_any_root() {
    let Some(mut world) = World::with_links() else { return };
    world.write("@/root/home/client.json", "");
    world.link("@/named", "root/home");
    for named in ["@/root/home/client.json", "@/named/client.json", "@/named/CLIENT.json"] {
        let files = vec![world.path("@/outside/none"), world.path(named)];
        let policy = Policy::default().protecting_files(FileList(Arc::new(move || files.clone())));
        with_policy(&mut world, &["@/root", "@/root/home"], policy);
        let found = protection(&world, "@/root/home/client.json");
        assert_eq!(found, Some(Protection::OwnConfiguration), "{named}");
        assert_eq!(protection(&world, "@/root/home/other.json"), None);
        assert_eq!(protection(&world, "@/root/client.json"), None);
    }
}

#[test]
fn the_state_directory_is_out_of_bounds() {
    let Some(mut world) = World::with_links() else { return };
    world.write("@/root/dir/state/journal/record", "secret");
    world.write("@/root/dir/state/history.db", "secret");
    world.link("@/root/link", "dir/state");
    world.link("@/root/file", "dir/state/history.db");
    world.link("@/root/deep", "dir/state/journal");
    world.link("@/named", "root/dir/state");
    let state = StateDir::open(&world.path("@/named")).unwrap();
    assert_eq!(state.path(), world.path("@/root/dir/state"));
    let policy = Policy::default().closing(&world.path("@/named"));
    with_policy(&mut world, &["@/root", "@/root/dir/state/journal"], policy);
    for path in [
        "@/root/dir/state",
        "@/root/dir/state/history.db",
        "@/root/dir/state/nothing",
        "@/root/dir/state/no/directory",
        "@/root/dir/state/history.db/below",
        "@/root/dir/STATE/history.db",
        "@/root/dir/state/journal",
        "@/root/dir/state/journal/record",
        "@/root/link",
        "@/root/link/history.db",
        "@/root/file",
        "@/root/deep/record",
        "@/named/history.db",
    ] {
        assert_eq!(world.resolve(path), "Outside", "{path}");
    }
    assert_eq!(world.resolve("@/root/dir/statement"), "@/root/dir/statement: NotFound");
    assert!(world.workspace.roots.closes(&world.path("@/root/dir/state/journal")));
    assert_eq!(world.suggested("dir/state/history.db"), "", "not even guessed at");
    assert_eq!(world.suggested("@/root/history.db"), "", "nor found elsewhere");
    assert_eq!(world.suggested("@/root/dir/stat/history.db"), "", "nor nearby");
    assert_eq!(seen_below(&world, "@/root"), "d @/root/dir - -\n");
}

/// A directory that did not exist when the policy closed it has no known identity, so only its path counts.
#[test]
fn the_state_directory_is_out_of_bounds_though_it_is_made_later() {
    let mut world = World::new();
    world.write("@/root/dir/file", "no secret");
    let policy = Policy::default().closing(&world.path("@/root/dir/state"));
    with_policy(&mut world, &["@/root"], policy);
    world.write("@/root/dir/state/history.db", "secret");
    assert_eq!(world.resolve("@/root/dir/state/history.db"), "Outside");
    assert_eq!(
        seen_below(&world, "@/root"),
        "d @/root/dir - -\nf @/root/dir/file 9 -\n@/root/dir/file:1:no secret\n"
    );
}

/// A bind mount gives a directory a second path, which only its identity shows.
#[test]
#[cfg(target_os = "linux")]
fn the_state_directory_is_out_of_bounds_by_a_bind_mount_too() {
    let mut world = World::new();
    world.write("@/outside/state/journal/record", "secret");
    world.write("@/root/mounted/x", "");
    let (from, to) = (world.path("@/outside/state"), world.path("@/root/mounted"));
    let Some(_mounted) = Mounted::bind(&from, &to) else { return };
    with_policy(&mut world, &["@/root"], Policy::default().closing(&from));
    let found = ["@/root/mounted/x", "@/root/mounted/journal/record"].map(|path| world.resolve(path));
    let seen = ["@/root", "@/root/mounted", "@/root/mounted/journal"].map(|path| seen_below(&world, path));
    assert_eq!(found, ["Outside", "Outside"]);
    assert_eq!(seen, ["", "Outside", "Outside"]);
}

#[test]
fn a_root_that_was_replaced_says_so() {
    let Some(mut world) = World::with_links() else { return };
    world.write("@/root/inner/file", "old");
    with_policy(&mut world, &["@/root/inner"], Policy::default());
    let path = world.path("@/root/inner");
    let told = |world: &World, file: &str| world.resolve(file);
    let replaced = |found: &str| found.starts_with("RootReplaced");
    std::fs::rename(&path, world.path("@/root/moved")).unwrap();
    assert!(replaced(&told(&world, "@/root/inner/file")), "it is gone");
    std::fs::create_dir(&path).unwrap();
    world.write("@/root/inner/file", "new");
    assert!(replaced(&told(&world, "@/root/inner/file")), "it is another");
    assert!(replaced(&told(&world, "@/root/inner/nothing")));
    assert!(replaced(&told(&world, "@/root/inner")));
    world.link("@/root/link", "inner/file");
    assert!(replaced(&told(&world, "@/root/link")));
    // The directory that was opened is still allowed, wherever it is now.
    assert_eq!(world.resolve("@/root/moved/file"), "@/root/moved/file: opened");
    std::fs::remove_dir_all(&path).unwrap();
    world.link("@/root/inner", "@/root/moved");
    assert_eq!(world.resolve("@/root/inner/file"), "@/root/moved/file: opened");

    // If another root holds the path, too, the place belongs to that root.
    unlink(&path);
    std::fs::create_dir(&path).unwrap();
    with_policy(&mut world, &["@/root", "@/root/inner"], Policy::default());
    std::fs::remove_dir(&path).unwrap();
    world.write("@/root/inner/file", "newer");
    assert_eq!(world.resolve("@/root/inner/file"), "@/root/inner/file: opened");
}
