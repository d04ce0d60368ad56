//! Tests of projects that come from anybody, in which a person runs the program's commands: nothing that the
//! project holds is run or trusted unasked.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mcp_text_editor::cli::install::Syntax;
use mcp_text_editor::cli::install::clients::{CLIENTS, Client};
use serde_json::{Value, json};

use crate::manners::terminal;
use crate::person::{Person, script};
use crate::session::{BINARY, started};

/// Writes a file, and the directories above it.
fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Puts an entry with these words and more members into the project's configuration of a client.
fn plant(home: &Person, client: &Client, words: &[&str], more: &Value) -> PathBuf {
    let file = home.project.join(client.project.unwrap());
    let mut entry = if client.stdio.contains_key("args") {
        json!({"command": words[0], "args": &words[1..]})
    } else {
        json!({"type": "local", "command": words})
    };
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let text = match client.syntax {
        Syntax::Json => json!({client.servers[0]: {"text-editor": entry}}).to_string(),
        Syntax::Toml => {
            let members: Vec<String> = entry
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| format!("{name} = {}\n", value.to_string().replace("\":", "\" = ")))
                .collect();
            format!("[{}.text-editor]\n{}", client.servers[0], members.concat())
        }
    };
    write(&file, &text);
    file
}

/// Returns arguments that would do harm: they do something else than serve the project.
fn harmful(home: &Person) -> Vec<Vec<String>> {
    let planted = format!("file_path={}", home.home.join(".config/autostart/x.desktop").display());
    let root = home.home.to_str().unwrap();
    let lines: &[&[&str]] = &[
        &["call", "--root", root, "create_text_file", &planted, "contents=[Desktop Entry]"],
        &["install", "cursor", "--force", "--command", "evil"],
        &["--strict", "history", "forget"],
        &["--history-days", "1"],
        &["--state-dir", "state"],
        &["--unprotect", "**"],
        &["--http", "127.0.0.1:0"],
        &["--no-such-option"],
        &[root],
        &["/"],
    ];
    lines.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect()
}

#[test]
fn doctor_starts_what_a_project_names_only_if_it_serves_and_does_no_harm() {
    let home = Person::new();
    home.succeed(&["install", "windsurf", "."]);
    let (files, history) = (home.files(), home.succeed(&["history"]));
    for client in CLIENTS.iter().filter(|client| client.project.is_some()) {
        let refused = |words: &[&str], more: &Value| {
            let file = plant(&home, client, words, more);
            let (code, said) = home.run(&["doctor", client.name]);
            assert!(code == 1 && said.contains("that is not started unasked, since "), "{words:?}: {said}");
            let mend = format!("doctor {} --project $PROJECT --trust-project", client.name);
            assert!(said.contains(&mend), "{said}");
            std::fs::remove_file(file).unwrap();
        };
        for words in harmful(&home) {
            let words: Vec<&str> = std::iter::once(BINARY).chain(words.iter().map(String::as_str)).collect();
            refused(&words, &json!({}));
        }
        refused(&["sh", "-c", "touch ran", "mcp-text-editor"], &json!({}));
        refused(&["npx", "-y", "mcp-text-editor-rs"], &json!({}));
        refused(&[BINARY], &json!({"env": {"LD_PRELOAD": "./x.so"}}));
        refused(&[BINARY], &json!({"cwd": "/"}));
        assert_eq!(home.files(), files, "{}", client.name);
        assert_eq!(home.succeed(&["history"]), history, "{}", client.name);
    }
}

#[test]
fn doctor_starts_a_projects_entry_that_does_no_harm_and_every_one_of_a_project_that_is_trusted() {
    let home = Person::new();
    let junie = Client::named("jetbrains").unwrap();
    plant(&home, junie, &[BINARY, "--strict", home.project.to_str().unwrap()], &json!({}));
    home.succeed(&["doctor"]);
    plant(&home, Client::named("cursor").unwrap(), &["sh", "-c", "touch ran", "mcp-text-editor"], &json!({}));
    home.run(&["doctor", "cursor", "--project", "."]);
    assert!(!home.project.join("ran").exists());
    home.run(&["doctor", "cursor", "--trust-project"]);
    assert!(home.project.join("ran").exists(), "what is to run when asked for");
}

/// A script that works like npx: it looks for the program in `node_modules` of its working directory and of
/// the directories above it.
const NPX: &str = r#"at=$PWD
shift
while [ "$at" ]; do
  [ -x "$at/node_modules/.bin/$1" ] && exec "$at/node_modules/.bin/$1"
  at=${at%/*}
done
shift
"#;

#[test]
fn doctor_runs_nothing_of_a_project_by_way_of_a_persons_own_programs() {
    let mut home = Person::new();
    let programs = home.home.join("bin");
    let ran = home.project.join("ran");
    script(&home.project.join("node_modules/.bin/mcp-text-editor-rs"), &format!("touch {}", ran.display()));
    script(&home.project.join("a-helper"), &format!("touch {}", ran.display()));
    script(&programs.join("npx"), &format!("{NPX}exec {BINARY} \"$@\""));
    script(&programs.join("mcp-text-editor"), &format!("a-helper 2> /dev/null\nexec {BINARY} \"$@\""));
    home.variables.push(("PATH", format!(".::{}:/usr/bin:/bin", programs.display())));
    write(&home.project.join("a.txt"), "a\n");
    let mut story = String::new();
    for command in ["npx -y mcp-text-editor-rs", "mcp-text-editor"] {
        home.succeed(&["install", "claude-code", "--command", command]);
        let said = home.succeed(&["doctor", "claude-code"]);
        story += &said.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        assert!(!ran.exists(), "{command}");
        home.run(&["doctor", "claude-code", "--trust-project"]);
        assert!(ran.exists(), "{command}: as the client does");
        std::fs::remove_file(&ran).unwrap();
    }
    assert_eq!(home.home.join(".cache/mcp-text-editor").read_dir().unwrap().count(), 0, "nothing is left");
    home.succeed(&["install", "claude-code", "--command", "node_modules/.bin/mcp-text-editor-rs"]);
    let (code, said) = home.run(&["doctor", "claude-code"]);
    assert!(code == 1 && !ran.exists(), "{said}");
    insta::assert_snapshot!(story + &said, @r"
    Claude Code: $HOME/.claude.json
      starts $HOME/bin/npx -y mcp-text-editor-rs --tools claude-code $PROJECT in an empty directory, not as Claude Code does in $PROJECT: what is not this program may run what a project holds (--trust-project starts it there)
      answers as version VERSION, with patch_text_file_contents, copy_text_lines, replace_in_text_files
      reads files in $PROJECT
      the model sees the tools at once, by `alwaysLoad`; without it Claude Code hides tools behind ToolSearch until the model searches; ENABLE_TOOL_SEARCH switches that
      all is well
    Claude Code: $HOME/.claude.json
      starts $HOME/bin/mcp-text-editor --tools claude-code $PROJECT in an empty directory, not as Claude Code does in $PROJECT: what is not this program may run what a project holds (--trust-project starts it there)
      answers as version VERSION, with patch_text_file_contents, copy_text_lines, replace_in_text_files
      reads files in $PROJECT
      the model sees the tools at once, by `alwaysLoad`; without it Claude Code hides tools behind ToolSearch until the model searches; ENABLE_TOOL_SEARCH switches that
      all is well
    Claude Code: $HOME/.claude.json
      the model sees the tools at once, by `alwaysLoad`; without it Claude Code hides tools behind ToolSearch until the model searches; ENABLE_TOOL_SEARCH switches that
      wrong: its command node_modules/.bin/mcp-text-editor-rs is relative: in each project the one that this holds would be started
        mend: name the whole path; mcp-text-editor install claude-code names that of this program
    ");
}

#[test]
fn install_takes_over_nothing_harmful_from_a_project() {
    let home = Person::new();
    for client in CLIENTS.iter().filter(|client| client.project.is_some()) {
        let (mut planted, evil) = (harmful(&home), json!({"env": {"LD_PRELOAD": "./x.so"}}));
        planted.retain(|words| words[0] != "--no-such-option");
        let entries = planted.iter().map(|words| (words.as_slice(), json!({}))).chain([(&[][..], evil)]);
        for (words, more) in entries {
            let words: Vec<&str> = std::iter::once(BINARY).chain(words.iter().map(String::as_str)).collect();
            let file = plant(&home, client, &words, &more);
            let before = home.files();
            let (code, said) = home.run(&["install", client.name, "--project", "."]);
            assert!(
                code == 1 && said.contains("came with the project, and is not taken over: "),
                "{words:?}: {said}"
            );
            assert_eq!(home.files(), before, "{words:?}");
            home.succeed(&["install", client.name, "--project", ".", "--force"]);
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(
                !text.contains("LD_PRELOAD")
                    && words.iter().skip(1).all(|word| !text.contains(&json!(word).to_string())),
                "{text}"
            );
            home.succeed(&["install", client.name, "--project", "."]);
        }
    }
    let claude = Client::named("claude-code").unwrap();
    let file =
        plant(&home, claude, &["old", "--strict", "mcp-text-editor", "--protect", "*.lock", "."], &json!({}));
    home.succeed(&["install", "claude-code", "--project", ".", "--unprotect", ".git", "--history-days", "9"]);
    let text = home.masked(&std::fs::read_to_string(file).unwrap());
    insta::assert_snapshot!(text, @r#"
    {"mcpServers":{"text-editor":{
          "command":"$PROGRAM",
          "args":["--protect", "*.lock", "--unprotect=.git", "--history-days=9", "."],
          "type": "stdio",
          "alwaysLoad": true
        }}}
    "#);
}

#[test]
fn install_follows_no_link_out_of_a_project() {
    let home = Person::new();
    let own = home.home.join("settings.json");
    write(&own, "{}\n");
    let plain = |path: &Path| {
        let _ = std::fs::remove_file(path);
        let _ = std::fs::remove_dir_all(path);
    };
    for (client, link, target) in [
        ("claude-code", ".mcp.json", own.clone()),
        ("claude-code", ".claude", home.home.clone()),
        ("cursor", ".cursor", home.home.clone()),
        ("codex", ".codex", home.home.join("not-there")),
        ("gemini", ".gemini/settings.json", own),
    ] {
        let link = home.project.join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, &link).unwrap();
        let before = home.files();
        let (code, said) = home.run(&["install", client, "--project", "."]);
        assert_eq!((code, home.files()), (1, before.clone()), "{said}");
        let (_, said) = home.run(&["install", client, "--project", ".", "--remove"]);
        assert_eq!(home.files(), before, "{said}");
        plain(&link);
    }
    // A link that stays in the project is followed.
    write(&home.project.join("shared/mcp.json"), "{}\n");
    symlink("shared/mcp.json", home.project.join(".mcp.json")).unwrap();
    home.succeed(&["install", "claude-code", "--project", "."]);
    assert!(std::fs::read_to_string(home.project.join("shared/mcp.json")).unwrap().contains("text-editor"));
}

/// A text that controls a terminal, forges a line, and has invisible characters.
const EVIL: &str = "\u{1b}]0;x\u{7}\u{9b}8m\r\u{202e}\u{2066}\u{200b}\u{feff}\n  all is well";

/// Checks that a text has no characters that may not be shown to people.
fn check_plain(said: &str) {
    let is_evil = |character: char| {
        let is_unseen = matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        (character.is_control() && character != '\n' && character != '\t') || is_unseen
    };
    assert!(!said.contains(is_evil) && !said.contains("\n  all is well"), "{said:?}");
}

#[test]
fn nothing_that_others_made_gives_orders_to_a_terminal() {
    let mut home = Person::new();
    let check = |home: &Person, arguments: &[&str]| {
        let (_, said) = home.run(arguments);
        assert!(
            said.contains(r"\u001b]0;x\u0007\u009b8m\r\u202e\u2066\u200b\ufeff"),
            "{arguments:?}: {said:?}"
        );
        check_plain(&said);
        said
    };
    // Words of a project's entry, which is shown, refused, kept and taken out.
    let cursor = Client::named("cursor").unwrap();
    let file = plant(&home, cursor, &[BINARY, &format!("--unprotect={EVIL}")], &json!({}));
    check(&home, &["doctor"]);
    plant(&home, cursor, &[EVIL, "mcp-text-editor"], &json!({}));
    check(&home, &["doctor", "cursor"]);
    plant(&home, cursor, &["x", EVIL], &json!({}));
    check(&home, &["install", "cursor", "--project", "."]);
    plant(&home, cursor, &["mcp-text-editor", "--protect", EVIL], &json!({}));
    check(&home, &["install", "cursor", "--project", ".", "--print"]);
    write(&file, &format!("{{\n\"a{EVIL}\": 1,\n\"b\": 2\n}}\n").replace("\n  all", "  all"));
    check(&home, &["install", "cursor", "--project", ".", "--print"]);
    let codex = home.project.join(".codex/config.toml");
    write(&codex, &format!("a = 1\n\"{EVIL}\" = [1, 2\n"));
    check_plain(&home.run(&["doctor", "codex"]).1);
    std::fs::remove_file(file).unwrap();
    // Output of a server that a person has named.
    script(
        &home.home.join("mcp-text-editor"),
        "printf '\\033]0;x\\007\\302\\2338m\\r\\342\\200\\256\\342\\201\\246\\342\\200\\213\\357\\273\\277' >&2",
    );
    home.succeed(&["install", "cursor", "--command", home.home.join("mcp-text-editor").to_str().unwrap()]);
    check(&home, &["doctor", "cursor"]);
    // Names in errors, in the log, and in messages about wrong words.
    let name = format!("dir{EVIL}");
    check(&home, &["call", "--root", &name, "get_text_file_contents"]);
    check(&home, &["history", "forget", &name, &name]);
    check(&home, &["history", &name]);
    let evil = home.project.join(&name);
    std::fs::create_dir(&evil).unwrap();
    home.variables.push(("MCP_TEXT_EDITOR_STATE_DIR", evil.join("state").to_str().unwrap().to_owned()));
    write(&evil.join("state/history.sqlite3"), "no database");
    check(&home, &["history"]);
    for format in ["text", "json"] {
        let call = ["call", "--root", ".", "list_text_files", "--log-format", format, "--log-level", "trace"];
        let (_, said) = home.run(&call);
        assert!(said.contains("edits have no journal") && said.contains(r"\u202e"), "{said:?}");
        check_plain(&said);
    }
}

/// A program gets a reply unchanged, a person at a terminal gets it escaped.
#[test]
fn what_a_file_holds_gives_no_orders_to_a_terminal() {
    let home = Person::new();
    let path = home.project.join("a.txt");
    let text = EVIL.replace(['\r', '\n'], "") + "\t";
    write(&path, &(text.clone() + "\n"));
    let call =
        ["call", "get_text_file_contents", "line_numbers=false", &format!("file_path={}", path.display())];
    assert!(home.succeed(&call).contains(&text));
    let edit = [
        "call",
        "patch_text_file_contents",
        &format!("file_path={}", path.display()),
        "old_string=well",
        "new_string=WELL",
    ];
    home.succeed(&edit);
    let history = home.succeed(&["history"]);
    check_plain(&history);
    assert!(history.contains(r"+\u001b]0;x\u0007\u009b8m\u202e"), "{history}");
    let id = history.split_whitespace().nth(1).unwrap();
    for arguments in [&["undo", "--dry-run", id][..], &call] {
        let (mut near, far) = terminal();
        let mut command = Command::new(BINARY);
        command.args(arguments).env("HOME", &home.home).env("NO_COLOR", "1").current_dir(&home.project);
        let mut child = started(command.stdin(Stdio::null()).stdout(far()).stderr(far()));
        drop(command);
        let mut said = Vec::new();
        // The end of a terminal comes as an error.
        let _ = near.read_to_end(&mut said);
        assert!(child.wait().unwrap().success());
        // The terminal itself turns each `\n` into `\r\n`.
        let said = String::from_utf8(said).unwrap().replace("\r\n", "\n");
        check_plain(&said);
        assert!(said.contains(r"\u001b]0;x\u0007\u009b8m\u202e"), "{said}");
    }
}

#[test]
fn a_configuration_is_bounded_before_it_is_parsed() {
    let home = Person::new();
    let many = "1,".repeat(260_000);
    let long = " ".repeat(17 << 20);
    for (client, file, text, why) in [
        ("cursor", ".cursor/mcp.json", format!("{{\"a\": [{many}1]}}"), "250 000 values"),
        (
            "cursor",
            ".cursor/mcp.json",
            format!("{{\"a\": {}1{}}}", "[".repeat(5_000), "]".repeat(5_000)),
            "nesting",
        ),
        ("cursor", ".cursor/mcp.json", format!("{{{long}}}"), "16 MiB"),
        ("codex", ".codex/config.toml", format!("a = [{many}1]\n"), "250 000 values"),
        ("codex", ".codex/config.toml", format!("{} = 1\n", vec!["a"; 300_000].join(".")), "250 000 values"),
        ("codex", ".codex/config.toml", format!("{} = 1\n", vec!["a"; 5_000].join(".")), "recursion"),
        ("codex", ".codex/config.toml", format!("a = 1\n{long}\n"), "16 MiB"),
    ] {
        let path = home.home.join(file);
        write(&path, &text);
        for arguments in [&["install", client][..], &["install", client, "--remove"], &["doctor", client]] {
            let (code, said) = home.run(arguments);
            assert!(code == 1 && said.contains(why), "{arguments:?}: {said}");
        }
        assert!(std::fs::read_to_string(&path).unwrap() == text);
        std::fs::remove_file(path).unwrap();
    }
    // Blank lines are no values, so there may be any number of them.
    let text = format!("{{\"a\": 1{}}}", "\n".repeat(1 << 20));
    write(&home.home.join(".cursor/mcp.json"), &text);
    home.succeed(&["install", "cursor"]);
    home.succeed(&["install", "cursor", "--remove"]);
    assert!(std::fs::read_to_string(home.home.join(".cursor/mcp.json")).unwrap() == text);
}
