//! Files by which clients start programs. No editing tool writes one, and the document names all of them.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use mcp_text_editor::cli::install::clients::{CLIENTS, files_at};
use mcp_text_editor::cli::install::environment::Environment;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::CLIENT_FILES;
use serde_json::{Value, json};

use crate::session::{BINARY, HOME, Session};
use crate::world::World;

const PATCH: &str = "patch_text_file_contents";
const CREATE: &str = "create_text_file";
const MOVE: &str = "move_text_file";
const REMOVE: &str = "remove_text_file";
const UNDO: &str = "undo_text_file_edits";

fn patch(path: &str, new: &str) -> Value {
    let patches = json!([{"old_string": "{}", "new_string": new}]);
    json!({"files": [{"file_path": format!("$ROOT/{path}"), "patches": patches}]})
}

/// Returns paths for each row of the table: in the root, in the root in capitals, and below it.
fn attacked() -> Vec<String> {
    let mut paths = Vec::new();
    for file in CLIENT_FILES {
        let plain = file.path.replace('*', "any");
        let plain = if plain.ends_with('/') { format!("{plain}deep/file.json") } else { plain };
        paths.extend([plain.clone(), plain.to_uppercase(), format!("sub/dir/{plain}")]);
    }
    paths
}

#[test]
fn no_file_of_a_client_is_created() {
    let world = World::new();
    world.write("README.md", "text\n");
    let before = world.tree();
    let mut session = world.serve(&["--tools", "all"]);
    for path in attacked() {
        let call = json!({"file_path": format!("$ROOT/{path}"), "contents": "touch /tmp/marker\n"});
        let reply = world.call(&mut session, CREATE, &call);
        assert_eq!(reply.code(), "protected_path", "{path}: {}", reply.text);
        let call = json!({"from": "$ROOT/README.md", "to": format!("$ROOT/{path}")});
        let reply = world.call(&mut session, MOVE, &call);
        assert_eq!(reply.code(), "protected_path", "{path}: {}", reply.text);
    }
    assert_eq!(world.tree(), before, "not even a directory is made");
    let made = world.call(&mut session, CREATE, &json!({"file_path": "$ROOT/made.md", "contents": "x"}));
    assert_eq!(made.code(), "ok", "{}", made.text);
}

#[test]
fn no_file_of_a_client_is_patched() {
    let world = World::new();
    for path in attacked() {
        world.write(&path, "{}\n");
    }
    world.write("README.md", "{}\n");
    let before = world.tree();
    let mut session = world.serve(&["--tools", "all"]);
    let by_text = |path: &str| patch(path, "x");
    let hash = Digest::of(b"{}\n").to_string();
    for path in attacked() {
        let calls = [
            (PATCH, by_text(&path)),
            (MOVE, json!({"from": format!("$ROOT/{path}"), "to": "$ROOT/moved.json"})),
            (REMOVE, json!({"file_path": format!("$ROOT/{path}"), "file_hash": hash})),
        ];
        for (tool, call) in calls {
            // The files are compared only once, after all of these calls.
            let reply = world.call_among_others(&mut session, tool, &call);
            assert_eq!(reply.code(), "protected_path", "{path}: {}", reply.text);
        }
        let read = world.call(
            &mut session,
            "get_text_file_contents",
            &json!({"file_path": format!("$ROOT/{path}")}),
        );
        assert_eq!(read.code(), "ok", "{path} can be read");
    }
    assert_eq!(world.tree(), before);
    assert_eq!(world.call(&mut session, PATCH, &by_text("README.md")).code(), "ok");
}

/// The configurations that `install` knows are protected in the person's home directory, in any root.
#[test]
fn no_configuration_of_a_person_is_written() {
    let world = World::new();
    let home = world.path("");
    let mut named = Vec::new();
    for client in CLIENTS.iter() {
        let env = Environment::of_person(PathBuf::new(), PathBuf::new()).unwrap();
        let env = Environment { home: home.clone(), variables: BTreeMap::new(), ..env };
        for is_there in [false, true] {
            named.extend(files_at(&client.user, &env, &|_| is_there));
        }
        named.extend(client.approval(&env, None).into_iter().map(|item| item.file));
    }
    let paths: BTreeSet<String> =
        named.iter().map(|file| file.strip_prefix(&home).unwrap().to_str().unwrap().to_owned()).collect();
    assert!(paths.len() >= CLIENTS.len(), "{paths:?}");
    let start = |options: &[&str]| {
        let mut command = Command::new(BINARY);
        command.env(HOME, &home);
        for variable in ["XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"] {
            command.env_remove(variable);
        }
        for variable in ["COPILOT_HOME", "QWEN_HOME"] {
            command.env_remove(variable);
        }
        Session::start_by(&mut command, &[options, &[home.to_str().unwrap()]].concat())
    };
    let mut session = start(&["--tools", "all"]);
    for is_there in [false, true] {
        for path in &paths {
            let (tool, call) = if is_there {
                (PATCH, patch(path, "x"))
            } else {
                (CREATE, json!({"file_path": format!("$ROOT/{path}"), "contents": "{}\n"}))
            };
            let reply = world.call(&mut session, tool, &call);
            assert_eq!(reply.code(), "protected_path", "{path}: {}", reply.text);
            world.write(path, "{}\n");
        }
    }
    // A file of the same name elsewhere is no configuration.
    for path in &paths {
        world.write(&format!("sub/{path}"), "{}\n");
    }
    let zed = paths.iter().find(|path| path.to_lowercase().contains("zed")).unwrap().clone();
    let reply = world.call(&mut session, PATCH, &patch(&format!("sub/{zed}"), "x"));
    assert_eq!(reply.code(), "ok", "{}", reply.text);
    // The path can be a link, or the target of one.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(world.path(&zed), world.path("link")).unwrap();
        assert_eq!(world.call(&mut session, PATCH, &patch("link", "x")).code(), "protected_path");
        std::fs::rename(world.path(&zed), world.path("dotfile")).unwrap();
        std::os::unix::fs::symlink(world.path("dotfile"), world.path(&zed)).unwrap();
        let mut session = start(&[]);
        assert_eq!(world.call(&mut session, PATCH, &patch("dotfile", "x")).code(), "protected_path");
    }
    let mut allowed = start(&["--unprotect", &zed, "--unprotect", "dotfile"]);
    assert_eq!(world.call(&mut allowed, PATCH, &patch(&zed, "y")).code(), "ok");
}

/// Every call looks for other names of protected files. The link may come after a hundred calls, and a call
/// may name a hundred files before the one to which it leads.
#[test]
#[cfg(unix)]
fn a_link_that_comes_between_two_calls_is_seen() {
    let world = World::new();
    let mut names: Vec<String> = (0..20).map(|index| format!("f{index}.json")).collect();
    names.extend(["settings.json", "agents/one.md", "hook", "servers.json"].map(str::to_owned));
    for name in &names {
        world.write(name, "{}\n");
    }
    std::fs::create_dir_all(world.path(".claude")).unwrap();
    let mut session = world.serve(&[]);
    let mut written = |new: &str, files: &[String]| {
        let files: Vec<Value> = files.iter().map(|name| patch(name, new)["files"][0].clone()).collect();
        world.call(&mut session, PATCH, &json!({ "files": files })).code()
    };
    assert_eq!(written("{}", &names), "ok");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(world.path(target), world.path(name)).unwrap();
    };
    let made: [(&str, &dyn Fn()); 4] = [
        ("settings.json", &|| link("settings.json", ".claude/settings.json")),
        ("agents/one.md", &|| link("agents", ".claude/agents")),
        ("hook", &|| link("", ".git")),
        ("servers.json", &|| {
            std::fs::hard_link(world.path("servers.json"), world.path(".mcp.json")).unwrap();
        }),
    ];
    for (target, make) in made {
        let files: Vec<String> =
            names.iter().filter(|name| name.starts_with('f') || *name == target).cloned().collect();
        assert_eq!(written("{}", &files), "ok", "{target}");
        make();
        let before = world.tree();
        assert_eq!(written("x", &files), "protected_path", "{target}");
        assert_eq!(written("x", &[target.to_owned()]), "protected_path", "{target}");
        assert_eq!(world.tree(), before, "{target}");
        let _ = std::fs::remove_file(world.path(".git"));
    }
    assert_eq!(written("x", &names[..20]), "ok", "the others are none of it");
}

/// Undo writes, too. A server does not write a protected file because another server was once allowed to.
#[test]
fn undo_asks_what_is_protected() {
    let world = World::new();
    world.write(".mcp.json", "{}\n");
    let state = tempfile::tempdir().unwrap();
    let state = state.path().join("state");
    let state = ["--tools", "all", "--state-dir", state.to_str().unwrap()];
    let mut allowed = world.serve(&[&state[..], &["--unprotect", ".mcp.json"]].concat());
    let reply = world.call(&mut allowed, PATCH, &patch(".mcp.json", "[]"));
    assert_eq!(reply.code(), "ok", "{}", reply.text);
    let reply: Value = serde_json::from_str(&reply.raw).unwrap();
    let before = world.tree();
    let undo = json!({"edit_id": reply["edit_id"]});
    let refused = world.call(&mut world.serve(&state), UNDO, &undo);
    assert_eq!(refused.code(), "protected_path", "{}", refused.text);
    assert_eq!(world.tree(), before);
    assert_eq!(world.call(&mut allowed, UNDO, &undo).code(), "ok");
    assert_ne!(world.tree(), before);
}

/// Returns the table that the document must have: a row for each client. The sources stand in the code alone.
fn table() -> String {
    let mut table = "| Client | What it starts, and from which files |\n|---|---|\n".to_owned();
    let mut clients: Vec<&str> = Vec::new();
    for file in CLIENT_FILES {
        if !clients.contains(&file.clients) {
            clients.push(file.clients);
        }
    }
    for client in clients {
        let mut parts: Vec<(&str, Vec<String>)> = Vec::new();
        for file in CLIENT_FILES.iter().filter(|file| file.clients == client) {
            let path = format!("`{}`", file.path);
            match parts.iter_mut().find(|(starts, _)| *starts == file.starts) {
                Some((_, paths)) => paths.push(path),
                None => parts.push((file.starts, vec![path])),
            }
        }
        let parts: Vec<String> =
            parts.iter().map(|(starts, paths)| format!("{starts}: {}", paths.join(", "))).collect();
        writeln!(table, "| {client} | {} |", parts.join("; ")).unwrap();
    }
    table
}

#[test]
fn the_document_names_every_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security.md");
    let document = std::fs::read_to_string(path).unwrap_or_default();
    let table = table();
    assert!(document.contains(&format!("\n\n{table}\n")), "docs/security.md must hold\n\n{table}");
}
