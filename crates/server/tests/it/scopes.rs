//! All places where a client looks for the entry, besides the file that `install` writes.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::person::Person;
use crate::session::BINARY;

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Adds an entry for one project to a person's configuration, as `claude mcp add` does.
fn add_local(home: &Person, project: &Path, entry: &Value) {
    let file = home.home.join(".claude.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|_| "{}".to_owned());
    let mut said: Value = serde_json::from_str(&text).unwrap();
    said["projects"][project.to_str().unwrap()]["mcpServers"] = json!({"text-editor": entry});
    write(&file, &serde_json::to_string_pretty(&said).unwrap());
}

#[test]
fn what_claude_mcp_add_has_written_for_a_project_is_seen() {
    let home = Person::new();
    let mut story = home.succeed(&["install", "claude-code"]);
    add_local(&home, &home.project, &json!({"type": "stdio", "command": "another", "args": []}));
    let (code, said) = home.run(&["doctor", "claude-code"]);
    assert_eq!(code, 1);
    write!(story, "-- another program\n{said}").unwrap();
    add_local(
        &home,
        &home.project,
        &json!({"type": "stdio", "command": BINARY, "args": ["--strict"], "env": {}}),
    );
    write!(story, "-- this one\n{}", home.succeed(&["doctor", "claude-code"])).unwrap();
    write!(story, "-- install\n{}", home.succeed(&["install", "claude-code"])).unwrap();
    write!(story, "-- removed\n{}", home.succeed(&["install", "claude-code", "--remove"])).unwrap();
    home.succeed(&["install", "claude-code"]);
    let others = home.project.join("elsewhere");
    std::fs::create_dir(&others).unwrap();
    let elsewhere = home.succeed(&["doctor", "claude-code", "--project", others.to_str().unwrap()]);
    write!(story, "-- in another directory\n{elsewhere}").unwrap();
    insta::assert_snapshot!("local", story.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

/// Claude Code 2.1.197 knows a project by the top of its repository, for a worktree by that of the main
/// repository, and without a repository by the directory. Links are followed.
#[test]
fn a_project_is_known_by_its_repository() {
    let home = Person::new();
    home.succeed(&["install", "claude-code"]);
    add_local(&home, &home.project, &json!({"command": "another"}));
    let is_seen = |home: &Person, directory: &Path| {
        let (_, said) = home.run(&["doctor", "claude-code", "--project", directory.to_str().unwrap()]);
        said.contains("it starts something else: another")
    };
    let below = home.project.join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    assert!(is_seen(&home, &home.project) && !is_seen(&home, &below));
    let git = home.project.join(".git");
    let worktree = home.home.join("worktree");
    let of_worktree = git.join("worktrees/one");
    write(&of_worktree.join("commondir"), "../..\n");
    write(&of_worktree.join("gitdir"), &format!("{}\n", worktree.join(".git").display()));
    write(&worktree.join(".git"), &format!("gitdir: {}\n", of_worktree.display()));
    assert!(is_seen(&home, &below) && is_seen(&home, &worktree));
    // A directory that the repository does not know is no worktree of it.
    let stranger = home.home.join("stranger");
    write(&stranger.join(".git"), &format!("gitdir: {}\n", of_worktree.display()));
    assert!(!is_seen(&home, &stranger));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&below, home.home.join("link")).unwrap();
        assert!(is_seen(&home, &home.home.join("link")));
    }
}

#[test]
fn entries_of_directories_above_and_of_the_machine_are_seen() {
    let mut home = Person::new();
    let below = home.project.join("a");
    std::fs::create_dir(&below).unwrap();
    std::fs::create_dir(home.project.join(".git")).unwrap();
    let machine = home.home.join("system/settings.json");
    home.variables.push(("GEMINI_CLI_SYSTEM_SETTINGS_PATH", machine.to_str().unwrap().to_owned()));
    let servers = json!({"mcpServers": {"text-editor": {"command": "another"}}}).to_string();
    write(&machine, &servers);
    write(&home.project.join(".mcp.json"), &servers);
    write(&home.project.join(".gemini/settings.json"), &servers);
    write(&home.project.join("opencode.json"), r#"{"mcp": {"text-editor": {"command": ["another"]}}}"#);
    write(
        &home.project.join(".codex/config.toml"),
        "[mcp_servers.text-editor]\nurl = \"http://127.0.0.1:1/mcp\"\n",
    );
    let mut story = String::new();
    for client in ["claude-code", "copilot", "opencode", "gemini", "codex"] {
        home.succeed(&["install", client]);
        let (_, said) = home.run(&["doctor", client, "--project", below.to_str().unwrap()]);
        write!(story, "-- {client}\n{said}").unwrap();
    }
    insta::assert_snapshot!("above", story.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}
