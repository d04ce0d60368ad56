//! Past edits as people see them at a shell, and as models see them through the two tools.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::{HistorySettings, Workspace};
use serde_json::{Value, json};

use crate::session::HOME;
use crate::world::{World, real};

/// The programs of a person and of a model, which share a state directory.
pub(crate) struct Shell {
    pub(crate) world: World,
    pub(crate) state: tempfile::TempDir,
}

impl Shell {
    pub(crate) fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        // The program would make an open directory private, and say so.
        #[cfg(unix)]
        std::fs::set_permissions(state.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let shell = Self { world: World::new(), state };
        if cfg!(windows) {
            assert_eq!(shell.run(&["history"]).0, 0, "nothing is in it yet, so that no word is needed");
        }
        shell
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-text-editor"));
        command
            .args(arguments.iter().map(|argument| self.world.filled_text(argument)))
            .current_dir(self.world.path(""))
            .env("MCP_TEXT_EDITOR_STATE_DIR", self.state.path())
            .env(HOME, self.world.path("../home"))
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    /// Returns the exit code, and the whole output, unchanged.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let said = text(output.stdout) + &text(output.stderr);
        // On Windows no variable moves a person's data, so the history of whoever runs the tests may be
        // found.
        let is_theirs =
            |line: &&str| !cfg!(windows) || !line.starts_with("mcp-text-editor: more edits are kept in ");
        let said = said.split_inclusive('\n').filter(is_theirs).collect();
        (output.status.code().unwrap(), said)
    }

    /// Returns the reply of a tool.
    fn call(&self, tool: &str, arguments: &Value) -> String {
        let arguments = self.world.filled(arguments).to_string();
        self.run(&["call", "--tools", "all", tool, "--json", &arguments]).1
    }

    /// Makes an edit, and returns its id.
    pub(crate) fn edit(&self, tool: &str, arguments: &Value) -> String {
        let said: Value = serde_json::from_str(&self.call(tool, arguments)).unwrap();
        said["edit_id"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    /// Appends a command and its output to `out`, with ids and times masked. The id of its edit is added to
    /// `ids`.
    fn say(&self, out: &mut String, ids: &mut Vec<String>, arguments: &[&str]) {
        let said = self.run(arguments).1;
        let reply = serde_json::from_str(&said).unwrap_or(Value::Null);
        ids.extend(reply["edit_id"].as_str().map(str::to_owned));
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let text = format!("$ {}\n{said}\n\n", arguments.join(" "));
        // `masked` needs blanks around the times, which JSON does not have.
        let text = text.replace("\"time\":\"", "\"time\":\" ").replace("Z\",\"tool\"", "Z \",\"tool\"");
        out.push_str(&self.masked(&text, &ids));
    }

    pub(crate) fn patch(&self, files: &[&str], old: &str, new: &str) -> String {
        let files: Vec<Value> = files
            .iter()
            .map(|file| {
                let patches = json!([{"old_string": old, "new_string": new}]);
                json!({"file_path": format!("$ROOT/{file}"), "patches": patches})
            })
            .collect();
        self.edit("patch_text_file_contents", &json!({ "files": files }))
    }

    pub(crate) fn create(&self, file: &str, contents: &str) -> String {
        let path = format!("$ROOT/{file}");
        self.edit("create_text_file", &json!({"file_path": path, "contents": contents}))
    }

    /// Returns a text that is the same in every run: paths, ids and times have names.
    pub(crate) fn masked(&self, text: &str, ids: &[&str]) -> String {
        let mut text = self.world.unrooted(text);
        for (index, id) in ids.iter().enumerate() {
            text = text.replace(id, &format!("$EDIT{}", index + 1));
        }
        let mut out = String::new();
        for (index, part) in text.split_inclusive(['\n', ' ', ',']).enumerate() {
            let bare = part.trim_end_matches(['\n', ' ', ',']);
            let is_time =
                |from: &str| from.len() >= 8 && from.bytes().filter(|byte| *byte == b':').count() == 2;
            let is_day = bare.len() == 10
                && bare.starts_with('2')
                && bare.bytes().filter(|byte| *byte == b'-').count() == 2;
            let is_name = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].contains(&bare);
            if (is_name || is_day) && index > 0 {
                let _ = write!(out, "$DAY{}", &part[bare.len()..]);
            } else if bare.chars().all(|c| c.is_ascii_digit() || ":-TZ".contains(c)) && is_time(bare) {
                let _ = write!(out, "$TIME{}", &part[bare.len()..]);
            } else {
                out.push_str(part);
            }
        }
        out
    }
}

#[test]
fn people_see_undo_and_forget() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\r\ntwo\x1b[31m\nthree");
    let mut out = String::new();
    let mut ids: Vec<String> = Vec::new();
    let say = |out: &mut String, ids: &[String], arguments: &[&str]| {
        let (code, said) = shell.run(arguments);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let shown = arguments.join(" ");
        let text = format!("$ {shown}\n{said}[exit {code}]\n\n");
        out.push_str(&shell.masked(&text, &ids));
        said
    };
    say(&mut out, &ids, &["history"]);
    ids.push(shell.patch(&["a.txt"], "three", "3\n4"));
    ids.push(shell.create("dir/sub/new.txt", "new\n"));
    ids.push(shell.patch(&["a.txt"], "4", "IV"));
    say(&mut out, &ids, &["history"]);
    say(&mut out, &ids, &["history", "a.txt", "--newest", "1"]);
    say(&mut out, &ids, &["history", "dir"]);
    say(&mut out, &ids, &["history", "$ROOT/nowhere"]);
    say(&mut out, &ids, &["undo", &ids[0]]);
    say(&mut out, &ids, &["undo", "--dry-run", &ids[2]]);
    for index in [2, 0, 1] {
        let (code, said) = shell.run(&["undo", &ids[index]]);
        assert_eq!(code, 0, "{said}");
        ids.push(said.split_whitespace().nth(3).unwrap().trim_end_matches(',').to_owned());
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let _ = writeln!(out, "$ undo $EDIT{}\n{}", index + 1, shell.masked(&said, &ids));
    }
    assert_eq!(shell.world.tree().len(), 1, "the directories are gone, too");
    say(&mut out, &ids, &["history", "dir"]);
    say(&mut out, &ids, &["undo", "0123456789ab"]);
    say(&mut out, &ids, &["history", "--contents", &ids[0]]);
    say(&mut out, &ids, &["history", "forget", "dir"]);
    say(&mut out, &ids, &["history", "forget"]);
    say(&mut out, &ids, &["history", "forget"]);
    say(&mut out, &ids, &["history"]);
    insta::assert_snapshot!("people", out);
}

#[test]
fn one_among_many_is_undone_or_goes_with_later_ones() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\ntwo\nthree\nfour\n");
    let before = shell.world.tree();
    let mut out = String::new();
    let mut ids = vec![shell.patch(&["a.txt"], "one", "1")];
    ids.push(shell.patch(&["a.txt"], "1\ntwo", "I\n2"));
    ids.push(shell.patch(&["a.txt"], "four", "4"));
    ids.push(shell.patch(&["a.txt"], "2\nthree", "II\nIII"));
    let say = |out: &mut String, ids: &mut Vec<String>, arguments: &[&str]| shell.say(out, ids, arguments);
    let (first, beside) = (ids[0].clone(), ids[2].clone());
    let call = ["call", "--tools", "all"];
    say(&mut out, &mut ids, &[&call[..], &["undo_text_file_edits", &format!("edit_id={first}")]].concat());
    say(&mut out, &mut ids, &["undo", &first]);
    say(&mut out, &mut ids, &["undo", "--with-later", "--dry-run", &first]);
    let (code, said) = shell.run(&["undo", &beside]);
    assert!(code == 0 && said.contains("\ntaken back beside later edits, which stay\n@@"), "{said}");
    assert_eq!(shell.run(&["undo", "--with-later", &first]).0, 0);
    assert_eq!(shell.world.tree(), before);
    insta::assert_snapshot!("among_many", out);
}

/// Shows to people and models a file that was moved, one that was removed, and the undo of both.
#[test]
fn moves_and_removals() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    shell.world.write("b.key", "secret\n");
    let mut out = String::new();
    let hash = Digest::of(b"one\n").to_string();
    let place = |file: &str| format!("$ROOT/{file}");
    let moved = shell.edit("move_text_file", &json!({"from": place("a.txt"), "to": place("d/e/b.txt")}));
    let removed =
        shell.edit("remove_text_file", &json!({"file_path": place("d/e/b.txt"), "file_hash": hash}));
    let mut ids = vec![moved.clone(), removed.clone()];
    let say = |out: &mut String, ids: &mut Vec<String>, arguments: &[&str]| shell.say(out, ids, arguments);
    let (all, json) = (["call", "--tools", "all"], ["--output", "json"]);
    let undo = |id: &str| format!("edit_id={id}");
    say(&mut out, &mut ids, &["history"]);
    say(&mut out, &mut ids, &["history", "a.txt"]);
    say(&mut out, &mut ids, &[&all[..], &["list_text_file_edits"]].concat());
    say(&mut out, &mut ids, &[&all[..], &json, &["list_text_file_edits"]].concat());
    // The later edit has removed the file.
    say(&mut out, &mut ids, &[&all[..], &["undo_text_file_edits", &undo(&moved)]].concat());
    say(&mut out, &mut ids, &[&all[..], &["undo_text_file_edits", &undo(&removed)]].concat());
    // Something else has its old name.
    shell.world.write("a.txt", "another\n");
    say(&mut out, &mut ids, &[&all[..], &["undo_text_file_edits", &undo(&moved)]].concat());
    shell.world.remove("a.txt");
    shell.world.write("a.txt/in/the/way", "");
    say(&mut out, &mut ids, &[&all[..], &["undo_text_file_edits", &undo(&moved)]].concat());
    shell.world.remove("a.txt");
    say(&mut out, &mut ids, &[&all[..], &["undo_text_file_edits", &undo(&moved), "dry_run=true"]].concat());
    say(&mut out, &mut ids, &[&all[..], &json, &["undo_text_file_edits", &undo(&moved)]].concat());
    assert_eq!(shell.world.tree().len(), 2, "the directories are gone, too");
    say(&mut out, &mut ids, &[&all[..], &["undo_text_file_edits", &undo(&moved)]].concat());
    let again = ids[3].clone();
    say(&mut out, &mut ids, &["undo", "--dry-run", &again]);
    // No history is kept of a file that may hold a secret, by its old name or its new one.
    let secret = ["from=$ROOT/b.key", "to=$ROOT/b.txt"];
    say(&mut out, &mut ids, &[&all[..], &["move_text_file"], &secret].concat());
    insta::assert_snapshot!("moves", out);
}

/// One edit creates, edits, moves and removes files. It is shown, and taken back.
#[test]
fn one_edit_of_every_kind() {
    let shell = Shell::new();
    for (name, text) in [("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n"), ("d.txt", "four\n")] {
        shell.world.write(name, text);
    }
    let hash = Digest::of(b"four\n").to_string();
    let files = json!([
        {"file_path": "$ROOT/d.txt", "remove": true, "file_hash": hash},
        {"file_path": "$ROOT/e/f.txt", "contents": "five\n"},
        {"file_path": "$ROOT/a.txt", "move_to": "$ROOT/d.txt"},
        {"file_path": "$ROOT/b.txt", "move_to": "$ROOT/e/b.txt", "patches": [{"old_string": "two", "new_string": "2"}]},
        {"file_path": "$ROOT/c.txt", "patches": [{"old_string": "three", "new_string": "3"}]},
    ]);
    let done = shell.edit("patch_text_file_contents", &json!({"files": files}));
    let (mut out, mut ids) = (String::new(), vec![done.clone()]);
    let mut say = |arguments: &[&str]| shell.say(&mut out, &mut ids, arguments);
    let (all, json) = (["call", "--tools", "all"], ["--output", "json"]);
    let undo = format!("edit_id={done}");
    say(&["history"]);
    say(&[&all[..], &["list_text_file_edits"]].concat());
    say(&[&all[..], &json, &["list_text_file_edits"]].concat());
    say(&["undo", "--dry-run", &done]);
    say(&[&all[..], &["undo_text_file_edits", &undo, "dry_run=true"]].concat());
    say(&[&all[..], &["undo_text_file_edits", &undo]].concat());
    say(&["history"]);
    insta::assert_snapshot!("mixed", out);
}

#[test]
fn models_list_and_undo() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    shell.world.write("b.txt", "one\n");
    shell.world.write("c.key", "one\n");
    let both = shell.patch(&["a.txt", "b.txt"], "one", "two");
    let later = shell.patch(&["b.txt"], "two", "three");
    let made = shell.create("new.txt", "new\n");
    let mut ids = vec![both.clone(), later.clone(), made.clone()];
    let mut out = String::new();
    let mut say = |ids: &[String], options: &[&str], tool: &str, arguments: Value| {
        let filled = shell.world.filled(&arguments).to_string();
        let start = [&["call", "--tools", "all"], options, &[tool, "--json", &filled]].concat();
        let said = shell.run(&start).1;
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let text = format!("{tool} {arguments}\n\n{said}\n\n");
        // `masked` needs blanks around the times, which JSON does not have.
        let text = text.replace("\"time\":\"", "\"time\":\" ").replace("Z\",\"tool\"", "Z \",\"tool\"");
        out.push_str(&shell.masked(&text, &ids));
        said
    };
    let (list, undo, json) = ("list_text_file_edits", "undo_text_file_edits", &["--output", "json"][..]);
    say(&ids, &[], list, json!({}));
    say(&ids, json, list, json!({"file_path": "$ROOT/a.txt"}));
    say(&ids, &[], list, json!({"file_path": "$ROOT", "limit": 1}));
    say(&ids, &[], list, json!({"file_path": "/elsewhere"}));
    say(&ids, &[], list, json!({"limit": 0, "path": "/"}));
    say(&ids, &[], undo, json!({"edit_id": both}));
    say(&ids, json, undo, json!({"edit_id": both}));
    say(&ids, &[], undo, json!({"edit_id": later, "dry_run": true}));
    let said: Value = serde_json::from_str(&say(&ids, &[], undo, json!({"edit_id": later}))).unwrap();
    ids.push(said["edit_id"].as_str().unwrap().to_owned());
    say(&ids, &[], undo, json!({"edit_id": made, "dry_run": true}));
    say(&ids, &[], undo, json!({"edit_id": "nonsense"}));
    say(&ids, &[], undo, json!({}));
    shell.world.write("b.txt", "foreign\n");
    say(&ids, &[], undo, json!({"edit_id": both}));
    say(&ids, &["--read-only"], undo, json!({"edit_id": made}));
    say(&ids, &["--protect", "*.txt"], undo, json!({"edit_id": made}));
    say(&ids, &["--no-history"], list, json!({}));
    let out = out.replace(&said["edit_id"].as_str().unwrap().to_owned(), "$EDIT4");
    insta::assert_snapshot!("models", out);
}

/// The error says that an edit is in the way. It tells neither the edit's id nor where its other files are.
#[test]
fn an_edit_beyond_the_roots_is_not_another_programs() {
    let shell = Shell::new();
    shell.world.write("secret/a.txt", "one\n");
    shell.world.write("inner/b.txt", "zero\n");
    let first = shell.patch(&["inner/b.txt"], "zero", "one");
    let both = shell.patch(&["secret/a.txt", "inner/b.txt"], "one", "two");
    let inner = shell.world.path("inner");
    let say = |options: &[&str]| {
        let edit_id = format!("edit_id={first}");
        let tool = ["undo_text_file_edits", &edit_id];
        let start = ["call", "--root", inner.to_str().unwrap(), "--tools", "all"];
        let said = shell.run(&[&start[..], options, &tool].concat()).1;
        assert!(!said.contains("secret") && !said.contains(&both) && !said.contains("\"later\""), "{said}");
        said
    };
    let edit = "another edit through this server, which also concerns files outside the allowed directories";
    for options in [&[][..], &["--output", "json"]] {
        let said = say(options);
        assert!(said.contains(&format!("b.txt was changed again by {edit}; nothing was written")), "{said}");
        assert!(said.contains("only a person can undo that edit"), "{said}");
    }
    shell.world.write("inner/b.txt", "foreign\n");
    let said = say(&[]);
    assert!(
        said.contains(&format!("has changed since, first by {edit}, then not through this server")),
        "{said}"
    );
    #[expect(clippy::disallowed_methods, reason = "a test is another program, which removes a file")]
    std::fs::remove_file(shell.world.path("inner/b.txt")).unwrap();
    let said = say(&[]);
    assert!(said.contains(&format!("was changed again by {edit}, and is gone now")), "{said}");
}

/// A client may pass on only HOME of the environment. The history of its server is found all the same.
#[test]
#[cfg(target_os = "linux")]
fn edits_of_a_server_without_the_environment_are_found() {
    let shell = Shell::new();
    let bare = |arguments: &[&str]| {
        let mut command = shell.command(arguments);
        command.env_remove("MCP_TEXT_EDITOR_STATE_DIR").env_remove("XDG_STATE_HOME");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let own = shell.create("own.txt", "own\n");
    assert!(!shell.run(&["history"]).1.contains("more edits"), "there are none");
    let create = json!({"file_path": "$ROOT/bare.txt", "contents": "bare\n"});
    let filled = shell.world.filled(&create).to_string();
    let said: Value = serde_json::from_str(&bare(&["call", "create_text_file", "--json", &filled])).unwrap();
    let other = said["edit_id"].as_str().unwrap();
    let state = shell.world.path("../home").join(".local").join("state").join("mcp-text-editor");
    let state = state.to_str().unwrap();

    let (code, said) = shell.run(&["history"]);
    assert!(code == 0 && said.contains(&own) && !said.contains(other), "{said}");
    assert!(said.contains(&format!("more edits are kept in {state}, ")), "{said}");
    let (_, said) = shell.run(&["history", "--state-dir", state]);
    assert!(said.contains(other) && !said.contains("more edits"), "{said}");
    assert!(!bare(&["history"]).contains(&own));

    let (code, said) = shell.run(&["undo", other]);
    assert!(code == 0 && !shell.world.path("bare.txt").exists(), "{said}");
    assert!(bare(&["history"]).contains("undoes"), "in the history that has the edit");
    let (code, said) = shell.run(&["undo", &own]);
    assert!(code == 0 && !shell.world.path("own.txt").exists(), "{said}");
    assert_eq!(shell.run(&["undo", "0123456789ab"]).0, 1);
    // `forget` does not hide that there is another history.
    let (_, said) = shell.run(&["history", "forget"]);
    assert!(said.contains("more edits are kept in"), "{said}");
}

#[test]
fn many_processes_keep_one_history() {
    let shell = Shell::new();
    let children: Vec<_> = (0..12)
        .map(|number| {
            let path = format!("file_path=$ROOT/{number}");
            let call = ["call", "create_text_file", &path, "contents=x"];
            shell.command(&call).stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let said = child.wait_with_output().unwrap();
        let said: Value = serde_json::from_slice(&said.stdout).unwrap();
        assert!(said["edit_id"].is_string(), "{said}");
    }
    let (code, said) = shell.run(&["history", "--newest", "99"]);
    assert_eq!((code, said.matches("\ncreated ").count()), (0, 12), "{said}");
}

#[test]
fn a_history_that_cannot_be_read_stops_nothing() {
    let shell = Shell::new();
    let path = shell.state.path().join("history.db");
    #[expect(clippy::disallowed_methods, reason = "a test breaks the history")]
    std::fs::write(&path, "nonsense ".repeat(1000)).unwrap();
    let said = shell.call("create_text_file", &json!({"file_path": "$ROOT/a", "contents": "x"}));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["result"], said.get("edit_id")), (&json!("ok"), None));
    let warning = said["files"][0]["warnings"][0].as_str().unwrap();
    assert!(warning.contains("cannot be undone: file is not a database"), "{warning}");
    let (code, said) = shell.run(&["history"]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(said, @"mcp-text-editor: the history cannot be read: file is not a database; a person can remove it, and so begin a new one, with: mcp-text-editor history forget");
    insta::assert_snapshot!(shell.call("list_text_file_edits", &json!({})), @r"
    error: io_error: the history of edits cannot be read: file is not a database
    suggestion: patch_text_file_contents
    hint: restore the lines you want by a patch; a person can remove it, and so begin a new one, with: mcp-text-editor history forget
    ");
    assert_eq!(shell.run(&["history", "forget"]).0, 0);
    shell.create("b", "x");
    assert!(shell.run(&["history"]).1.contains("created "));
}

/// Returns an SQLite database of this program with nothing in it, made by its hundredth version.
fn made_by_a_newer_version() -> Vec<u8> {
    let mut page = b"SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20\0\0\0\x01\0\0\0\x01".to_vec();
    page.resize(4096, 0);
    page[59] = 1;
    page[63] = 100;
    page[68..72].copy_from_slice(b"mteh");
    // An empty leaf page, and the offset at which its content would begin.
    page[100] = 13;
    page[105] = 16;
    page
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test puts another history there, and a person moves it away"
)]
fn a_history_of_a_newer_version_is_not_forgotten() {
    let shell = Shell::new();
    let path = shell.state.path().join("history.db");
    std::fs::write(&path, made_by_a_newer_version()).unwrap();
    let state = real(shell.state.path());
    let masked = |text: &str| text.replace(state.to_str().unwrap(), "$STATE").replace(r"$STATE\", "$STATE/");
    let (code, said) = shell.run(&["history", "forget"]);
    assert_eq!((code, std::fs::read(&path).unwrap()), (1, made_by_a_newer_version()));
    insta::assert_snapshot!(masked(&said), @"mcp-text-editor: the history cannot be read: it was made by a newer version of this program (it has form 100, and this one knows 1); it is left alone, since that other program or version may need it; a person can begin a new history by moving $STATE/history.db away, and history.db-wal and history.db-shm beside it");
    assert_eq!(shell.run(&["history"]), (1, said));
    insta::assert_snapshot!(masked(&shell.call("list_text_file_edits", &json!({}))), @r"
    error: io_error: the history of edits cannot be read: it was made by a newer version of this program (it has form 100, and this one knows 1)
    suggestion: patch_text_file_contents
    hint: restore the lines you want by a patch; it is left alone, since that other program or version may need it; a person can begin a new history by moving $STATE/history.db away, and history.db-wal and history.db-shm beside it
    ");
    // This is what the hint says.
    std::fs::rename(&path, shell.state.path().join("history.db.newer")).unwrap();
    shell.create("a", "x");
    assert!(shell.run(&["history"]).1.contains("created "));
}

#[cfg(unix)]
#[test]
fn without_a_state_directory_it_is_said_why_there_is_no_history() {
    let shell = Shell::new();
    shell.world.write("state", "a file");
    let run = |options: &[&str], arguments: &[&str]| {
        let arguments = [&["call", "--tools", "all"], options, arguments].concat();
        let output =
            shell.command(&arguments).env("MCP_TEXT_EDITOR_STATE_DIR", shell.world.path("state")).output();
        let said = String::from_utf8(output.unwrap().stdout).unwrap();
        shell.masked(&said, &[])
    };
    let create = |path: &'static str| ["create_text_file", path, "contents=x"];
    let said: Value = serde_json::from_str(&run(&[], &create("file_path=$ROOT/a"))).unwrap();
    insta::assert_snapshot!(said["files"][0]["warnings"], @r#"["edits have no journal and no history, so none can be undone: the state directory $ROOT/state cannot be used: File exists (os error 17); a person can name another directory with --state-dir"]"#);
    insta::assert_snapshot!(run(&[], &["list_text_file_edits"]), @r"
    error: io_error: the history of edits cannot be read: the state directory $ROOT/state cannot be used: File exists (os error 17)
    suggestion: patch_text_file_contents
    hint: restore the lines you want by a patch; a person can set MCP_TEXT_EDITOR_STATE_DIR to a directory that can be written to
    ");
    // If it is switched off, there is still no journal.
    let said: Value = serde_json::from_str(&run(&["--no-history"], &create("file_path=$ROOT/b"))).unwrap();
    insta::assert_snapshot!(said["files"][0]["warnings"], @r#"["edits have no journal and no history, so none can be undone: the state directory $ROOT/state cannot be used: File exists (os error 17); a person can name another directory with --state-dir"]"#);
}

/// A call can name such a path only by a link.
#[cfg(target_os = "linux")]
#[test]
fn an_edit_of_a_path_that_is_not_unicode_is_not_undone() {
    use std::os::unix::ffi::OsStrExt as _;
    let shell = Shell::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    std::fs::create_dir(shell.world.path("").join(name)).unwrap();
    std::os::unix::fs::symlink(name, shell.world.path("link")).unwrap();
    shell.world.write("link/t.txt", "one\n");
    let id = shell.patch(&["link/t.txt"], "one", "two");
    let said = shell.call("undo_text_file_edits", &json!({"edit_id": id}));
    insta::assert_snapshot!(shell.masked(&said, &[&id]), @r"
    error: io_error: the path of the file, $ROOT/caf�/t.txt, is not Unicode, so it cannot be found by it; nothing was written
    in $ROOT/caf�/t.txt
    suggestion: patch_text_file_contents
    hint: restore the lines you want by a patch of the path by which the file was edited
    ");
    shell.patch(&["link/t.txt"], "two", "one");
}

#[test]
fn the_client_and_the_session_of_an_edit_are_kept() {
    let world = World::new();
    let kept = |client: &str| {
        let mut session = world.serve_client(client, &["--tools", "all"]);
        let create = json!({"file_path": "$ROOT/a.txt", "contents": "a\n"});
        assert!(!world.call(&mut session, "create_text_file", &create).is_error);
        let state = session.state().to_owned();
        let edits = || {
            let store = Workspace::builder().state_directory(&state);
            let workspace = store.history(HistorySettings::default()).build().unwrap();
            workspace.history().list(None, 9, &|_| true).unwrap()
        };
        let made = edits();
        let undo = json!({"edit_id": made[0].id.to_string()});
        assert!(!world.call(&mut session, "undo_text_file_edits", &undo).is_error);
        let all = edits();
        assert_eq!(all.len(), 2);
        assert!(all.iter().all(|edit| (&edit.client, &edit.session) == (&made[0].client, &made[0].session)));
        (made[0].client.clone(), made[0].session.clone())
    };
    let (client, session) = kept("cursor");
    let (long, other) = kept(&"\u{e9}".repeat(1000));
    assert_eq!((client.as_deref(), long), (Some("cursor"), Some("\u{e9}".repeat(60))));
    assert!(session.is_some() && other.is_some() && session != other);
    assert_eq!(kept("").0, None, "a client without a name is none");
}
