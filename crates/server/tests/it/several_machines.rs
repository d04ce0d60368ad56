//! `history`, `history show`, `history roots` and `undo` on machines that share a database: each has a
//! directory of its own, which stands for its mount of one volume, and a state directory of its own.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::session::HOME;
use crate::state_url::fixture::TestServer;
use crate::world::real;

const PATCH: &str = "patch_text_file_contents";

/// A machine, with its mount and its name of the volume.
struct Machine<'a> {
    url: &'a str,
    mount: PathBuf,
    home: PathBuf,
    names: Vec<String>,
}

impl<'a> Machine<'a> {
    /// Makes a machine with the volume at a path of its own. If `is_told`, the volume has the name `team`.
    fn new(place: &Path, name: &str, url: &'a str, is_told: bool) -> Self {
        let (mount, home) = (place.join(name).join("mount"), place.join(name).join("home"));
        std::fs::create_dir_all(&mount).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        let names = if is_told {
            vec!["--root-name".to_owned(), format!("team={}", mount.display())]
        } else {
            Vec::new()
        };
        Self { url, mount, home, names }
    }

    /// Returns the exit code, and the whole output, with `$HERE` for this machine's mount.
    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-text-editor"));
        let output = command
            .args(arguments)
            .args(&self.names)
            .current_dir(&self.mount)
            .env(HOME, &self.home)
            .env("MCP_TEXT_EDITOR_STATE_DIR", self.home.join("state"))
            .env("MCP_TEXT_EDITOR_STATE_URL", self.url)
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap().replace(self.mount.to_str().unwrap(), "$HERE");
        (output.status.code().unwrap(), said)
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        let (code, said) = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {said}");
        said
    }

    /// Calls a tool; `$HERE` in the arguments is the mount.
    fn call(&self, tool: &str, arguments: &Value) -> String {
        let arguments = arguments.to_string().replace("$HERE", self.mount.to_str().unwrap());
        self.succeed(&["call", "--tools", "all", tool, "--json", &arguments])
    }

    fn patch(&self, old: &str, new: &str) {
        let patches = json!([{"old_string": old, "new_string": new}]);
        self.call(PATCH, &json!({"files": [{"file_path": "$HERE/a.txt", "patches": patches}]}));
    }

    /// Returns the past edits, in the form for programs.
    fn edits(&self, arguments: &[&str]) -> Vec<Value> {
        let said = self.succeed(&[&["history", "--json"], arguments].concat());
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.mount.join(path)).ok()
    }

    /// Copies the files of another machine's mount to this one, as if both were one volume.
    fn sees(&self, other: &Self) {
        std::fs::remove_dir_all(&self.mount).unwrap();
        std::fs::create_dir(&self.mount).unwrap();
        copy(&other.mount, &self.mount);
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn id(edit: &Value) -> &str {
    edit["edit_id"].as_str().unwrap()
}

#[test]
fn what_one_machine_did_another_lists_by_its_own_paths_and_takes_back() {
    let Some(server) = TestServer::shared() else { return };
    let (place, url) = (tempfile::tempdir().unwrap(), server.url());
    let machine = |name: &str| Machine::new(&real(place.path()), name, &url, true);
    let (one, other) = (machine("one"), machine("other"));
    std::fs::write(one.mount.join("a.txt"), "first\n").unwrap();
    one.patch("first", "second");
    one.call("create_text_file", &json!({"file_path": "$HERE/deep/er/b.txt", "contents": "b\n"}));
    other.sees(&one);

    let edits = other.edits(&[]);
    assert_eq!(edits.len(), 2);
    let path = |edit: &Value| edit["files"][0]["file_path"].as_str().unwrap().to_owned();
    assert_eq!(path(&edits[1]), "$HERE/a.txt");
    assert_eq!(path(&one.edits(&[])[1]), "$HERE/a.txt");
    let (created, changed) = (id(&edits[0]), id(&edits[1]));
    let shown = other.succeed(&["history", "show", changed]);
    assert!(shown.contains("changed $HERE/a.txt\n") && shown.contains("-first\n"), "{shown}");
    assert_eq!(other.edits(&["a.txt"]).len(), 1, "a path is this machine's");
    assert!(other.edits(&[one.mount.join("a.txt").to_str().unwrap()]).is_empty());

    other.succeed(&["undo", changed, "--dry-run"]);
    assert_eq!(other.read("a.txt").unwrap(), "second\n");
    other.succeed(&["undo", created, changed]);
    assert_eq!((other.read("a.txt").unwrap().as_str(), other.read("deep/er/b.txt")), ("first\n", None));
    assert!(!other.mount.join("deep").exists(), "the directories were made for the file");
    let edits = one.edits(&[]);
    let undone = edits.iter().find(|edit| id(edit) == changed).unwrap();
    assert_eq!(
        undone["undone_by"],
        *edits.iter().find(|edit| edit["undoes"] == changed).unwrap().get("edit_id").unwrap()
    );

    // An undo of one machine is redone on the other. A later change is in the way of an undo.
    one.sees(&other);
    let undo = undone["undone_by"].as_str().unwrap();
    one.succeed(&["undo", undo]);
    assert_eq!(one.read("a.txt").unwrap(), "second\n");
    other.sees(&one);
    other.patch("second", "third");
    one.sees(&other);
    let (code, said) = one.run(&["undo", changed]);
    assert!(code == 1 && one.read("a.txt").unwrap() == "third\n", "{said}");
}

#[test]
fn a_machine_that_does_not_reach_a_directory_lists_its_name_and_leaves_its_files() {
    let Some(server) = TestServer::shared() else { return };
    let (place, url) = (tempfile::tempdir().unwrap(), server.url());
    let place = real(place.path());
    let (one, stranger) =
        (Machine::new(&place, "one", &url, true), Machine::new(&place, "stranger", &url, false));
    std::fs::write(one.mount.join("a.txt"), "first\n").unwrap();
    assert_eq!(
        one.succeed(&["history", "roots"]),
        "no directory has a name yet: each gets one with its first edit\n"
    );
    one.patch("first", "second");
    stranger.sees(&one);

    let edits = stranger.edits(&[]);
    assert_eq!(edits[0]["files"][0]["file_path"], "[team]/a.txt");
    let (code, said) = stranger.run(&["undo", id(&edits[0])]);
    assert!(code == 1 && said.contains("team"), "{said}");
    assert_eq!(stranger.read("a.txt").unwrap(), "second\n");

    let roots = |machine: &Machine<'_>| {
        let said = machine.succeed(&["history", "roots"]);
        let lines = said.lines().map(|line| match line.split_once("  since ") {
            Some(("", _)) => "  since …",
            _ => line,
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(roots(&one), "[team]\n  is $HERE here\n  since …");
    assert_eq!(roots(&stranger), "[team]\n  is not reached from here\n  since …");
    let line: Value = serde_json::from_str(&one.succeed(&["history", "roots", "--json"])).unwrap();
    assert_eq!((&line["root"], &line["here"]), (&json!("team"), &json!([{"inside": "", "path": "$HERE"}])));
    assert!(line["since"].as_str().unwrap().ends_with('Z'), "{line}");
}

#[test]
fn history_says_why_where_there_is_no_database() {
    let place = tempfile::tempdir().unwrap();
    let place = real(place.path());
    let alone = Machine::new(&place, "alone", "", true);
    let (code, said) = alone.run(&["history", "roots"]);
    assert!(
        code == 1 && said.contains("this machine shares its history with no other; --state-url names"),
        "{said}"
    );
    let away = "postgres://me:topsecret@127.0.0.1:1/d?sslmode=disable";
    let away = Machine::new(&place, "away", away, true);
    for asked in [
        &["history"][..],
        &["history", "roots"],
        &["history", "show", "0123456789ab"],
        &["undo", "0123456789ab"],
    ] {
        let (code, said) = away.run(asked);
        assert!(code == 1 && said.contains("127.0.0.1:1: error connecting to server"), "{asked:?}: {said}");
        assert!(!said.contains("topsecret"), "{said}");
    }
}
