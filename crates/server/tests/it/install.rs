//! Tests of `install` and `doctor` with each client, in home directories of their own.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use insta::assert_snapshot;
use mcp_text_editor::cli::doctor::doctor;
use mcp_text_editor::cli::install::clients::{CLIENTS, Client, WorkingDirectory};
use mcp_text_editor::cli::install::environment::{Environment, System};
use mcp_text_editor::cli::install::{self, InstallRequest, Syntax};
use mcp_text_editor::config::StateOptions;
use mcp_text_editor_store::{Durability, Patterns};

use crate::person::Person;
use crate::session::BINARY;

impl Person {
    /// Writes a text with comments and another server into each configuration of a client. Returns the files.
    fn configure(&self, client: &Client) -> Vec<(String, String)> {
        self.succeed(&install(client));
        let servers = client.servers.join(".");
        let made: Vec<String> = self.files().into_iter().map(|(name, _)| name).collect();
        self.succeed(&["install", client.name, "--remove"]);
        for name in made {
            let path = PathBuf::from(name.trim_end().replace("$HOME", self.home.to_str().unwrap()));
            let text = match client.syntax {
                Syntax::Toml => format!(
                    "# Mine.\nmodel = \"x\"\n\n[{servers}.other]\ncommand = \"x\" # why\n\n# The last word.\n[z]\n"
                ),
                Syntax::Json if path.ends_with("settings.json") && client.name == "claude-code" => {
                    "{\n  \"permissions\": {\n    \"allow\": [\"Read\"] // mine\n  }\n}\n".to_owned()
                }
                Syntax::Json => format!(
                    "// Mine.\r\n{{\r\n\t\"theme\": \"dark\", // as at night\r\n\t\"{servers}\": {{\r\n\t\t\"other\": {{ \"command\": \"x\" }}\r\n\t\t// The last word.\r\n\t}}\r\n}}"
                ),
            };
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        self.files()
    }
}

/// Returns the words that install for a person, with a directory if the client needs one.
fn install(client: &Client) -> Vec<&'static str> {
    let directory = (client.starts == WorkingDirectory::Anywhere).then_some(".");
    [Some("install"), Some(client.name), directory].into_iter().flatten().collect()
}

#[test]
fn each_client_is_told() {
    for client in CLIENTS.iter() {
        let home = Person::new();
        let mut story = format!("-- into an empty home\n{}{}", home.succeed(&install(client)), home.shown());
        if client.project.is_some() {
            let home = Person::new();
            let said = home.succeed(&["install", client.name, "--project", "."]);
            write!(story, "\n-- into a project\n{said}{}", home.shown()).unwrap();
        }
        let home = Person::new();
        home.configure(client);
        home.succeed(&install(client));
        write!(story, "\n-- beside others\n{}", home.shown()).unwrap();
        let said = home.succeed(&["install", client.name, "--tools", "all", "/"]);
        write!(story, "\n-- with other tools and another directory\n{said}{}", home.shown()).unwrap();
        let home = Person::new();
        let (_, said) = home.run(&[&install(client)[..], &["--instead"]].concat());
        write!(story, "\n-- in the place of its own tools\n{said}{}", home.shown()).unwrap();
        insta::assert_snapshot!(client.name, story);
    }
}

#[test]
fn installing_twice_changes_nothing_more() {
    for client in CLIENTS.iter() {
        let home = Person::new();
        home.configure(client);
        home.succeed(&install(client));
        let files = home.files();
        let said = home.succeed(&install(client));
        assert!(said.contains(": nothing to change\n"), "{}: {said}", client.name);
        assert_eq!(home.files(), files, "{}", client.name);
    }
}

/// The test tries it with the history, which has the bytes, and without.
#[test]
fn what_is_removed_leaves_the_bytes_as_they_were() {
    for options in [&[][..], &["--no-history"]] {
        for client in CLIENTS.iter() {
            let home = Person::new();
            let before = home.configure(client);
            home.succeed(&[&install(client), options].concat());
            home.succeed(&[&["install", client.name, "--tools", "edit"], options].concat());
            assert_ne!(home.files(), before, "{}", client.name);
            home.succeed(&[&["install", client.name, "--remove"], options].concat());
            assert_eq!(home.files(), before, "{} {options:?}", client.name);
            let said = home.succeed(&["install", client.name, "--remove"]);
            assert!(said.contains("there is no entry"), "{said}");
        }
    }
}

/// What a person had switched off stays so, and a value that was replaced comes back.
#[test]
fn a_clients_own_tools_come_back_as_they_were() {
    for (client, file, text) in [
        ("claude-code", ".claude/settings.json", "{\"permissions\": {\"deny\": [\"Edit\", \"WebFetch\"]}}\n"),
        ("opencode", ".config/opencode/opencode.json", "{\"permission\": {\"edit\": \"ask\"}}\n"),
        (
            "zed",
            ".config/zed/settings.json",
            "{\"agent\": {\"profiles\": {\"write\": {\"name\": \"Mine\"}}}}\n",
        ),
    ] {
        let home = Person::new();
        let path = home.home.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        for more in [&[][..], &["--instead"]] {
            home.succeed(&[&["install", client, "."], more].concat());
        }
        let said = home.run(&["doctor", client]).1;
        assert!(said.contains("that change files are switched off, by "), "{said}");
        assert_ne!(std::fs::read_to_string(&path).unwrap(), text, "{client}");
        home.succeed(&["install", client, "--remove"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{client}");
        // Nothing was installed, so nothing is taken out.
        home.succeed(&["install", client, "--remove"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{client}");
    }
}

#[test]
fn doctor_says_where_the_tools_are_hidden() {
    for (client, file, line, code) in [
        ("qwen", ".qwen/settings.json", ",\n      \"alwaysLoadTools\": true", 1),
        ("qwen", ".qwen/settings.json", "\"trust\": true,\n      ", 1),
        ("codex", ".codex/config.toml", "omit_tools_from = [\"deferred\"]\n", 1),
        ("copilot", ".copilot/mcp-config.json", ",\n      \"deferTools\": \"never\"", 1),
        // The server itself tells Claude Code what to offer at once.
        ("claude-code", ".claude.json", ",\n      \"alwaysLoad\": true", 0),
    ] {
        let home = Person::new();
        home.succeed(&["install", client]);
        let path = home.home.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(line, "")).unwrap();
        let (ended, said) = home.run(&["doctor", client]);
        assert!(ended == code && said.contains(" hides tools behind "), "{client}: {said}");
        assert!(code == 0 || said.contains(&format!("mend: mcp-text-editor install {client}")), "{said}");
        home.succeed(&["install", client]);
        assert_eq!(std::fs::read_to_string(&path).unwrap().len(), text.len(), "{client}");
    }
}

#[test]
fn what_another_has_written_meanwhile_stays() {
    let home = Person::new();
    let file = home.home.join(".cursor/mcp.json");
    home.succeed(&["install", "cursor"]);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("{\n  \"mcp", "{\n  \"theme\": \"dark\",\n  \"mcp")).unwrap();
    home.succeed(&["install", "cursor", "--remove"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\n  \"theme\": \"dark\"\n}\n");
}

/// Each plans its change anew if another was faster, so the last one to write has the entry.
#[test]
fn many_that_install_at_once_all_succeed() {
    let (home, alone) = (Person::new(), Person::new());
    std::thread::scope(|scope| {
        for number in 0..24 {
            let directory = home.project.join(number.to_string());
            std::fs::create_dir(&directory).unwrap();
            let client = ["claude-code", "codex", "claude-code"][number % 3];
            let home = &home;
            scope.spawn(move || home.succeed(&["install", client, directory.to_str().unwrap()]));
        }
    });
    for client in ["claude-code", "codex"] {
        assert!(home.succeed(&["install", client, "."]).contains("wrote"), "another directory was served");
        alone.succeed(&["install", client, "."]);
    }
    // The paths of the homes differ.
    assert_eq!(home.shown(), alone.shown());
}

#[test]
fn what_cannot_be_read_or_is_anothers_is_left_alone() {
    let home = Person::new();
    let file = home.home.join(".cursor/mcp.json");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    let mut said = String::new();
    for text in [
        "{\n  \"mcpServers\": {\n    \"a\": 1,,\n  }\n}\n",
        "{\"mcpServers\": {\"text-editor\": {\"command\": \"another\"}}}",
        "{\"mcpServers\": 1}",
    ] {
        std::fs::write(&file, text).unwrap();
        let (code, error) = home.run(&["install", "cursor"]);
        assert_eq!(code, 1, "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        said += &error;
    }
    said += &home.run(&["install", "windsurf"]).1;
    said += &home.run(&["install", "windsurf", "--project", "."]).1;
    said += &home.run(&["install", "emacs"]).1;
    insta::assert_snapshot!("refusals", said);
    std::fs::write(&file, "{\"mcpServers\": {\"text-editor\": {\"command\": \"another\"}}}").unwrap();
    home.succeed(&["install", "cursor", "--force"]);
    assert!(home.shown().contains("$PROGRAM"), "{}", home.shown());
}

#[test]
fn print_shows_what_would_be_written_and_writes_nothing() {
    let home = Person::new();
    let said = home.succeed(&["install", "claude-code", "--print", "--command", "npx -y mcp-text-editor-rs"]);
    assert_eq!(home.files(), []);
    insta::assert_snapshot!("print", said);
}

#[test]
fn options_that_are_typed_are_written_and_take_the_place_of_the_same_ones() {
    let home = Person::new();
    home.succeed(&[
        "install",
        "cursor",
        "--strict",
        "--protect",
        "*.lock",
        "--protect=-x",
        "--limit",
        "files=9",
        "--state-dir",
        "s",
    ]);
    let shown = || home.masked(&std::fs::read_to_string(home.home.join(".cursor/mcp.json")).unwrap());
    let first = shown();
    home.succeed(&["install", "cursor", "--protect", "a b", "--read-only"]);
    insta::assert_snapshot!("options", format!("{first}\n{}", shown()));
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_the_edit_can_be_undone() {
    let home = Person::new();
    let dotfiles = home.home.join("dotfiles");
    std::fs::create_dir(&dotfiles).unwrap();
    std::fs::create_dir(home.home.join(".codex")).unwrap();
    let (target, link) = (dotfiles.join("codex.toml"), home.home.join(".codex/config.toml"));
    std::fs::write(&target, "# Mine.\r\nmodel = \"x\"\r\n").unwrap();
    std::os::unix::fs::symlink("../dotfiles/codex.toml", &link).unwrap();
    home.succeed(&["install", "codex"]);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    let text = std::fs::read_to_string(&target).unwrap();
    assert!(text.starts_with("# Mine.\r\nmodel = \"x\"\r\n\r\n[mcp_servers.text-editor]\r\n"), "{text}");
    let history = home.succeed(&["history"]);
    let id = history.split_whitespace().nth(1).unwrap();
    home.succeed(&["undo", id]);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "# Mine.\r\nmodel = \"x\"\r\n");
    std::fs::remove_file(&target).unwrap();
    let (code, said) = home.run(&["install", "codex"]);
    assert!(code == 1 && said.contains("a link to what is not there"), "{said}");
}

#[test]
fn clients_that_are_there_are_listed() {
    let home = Person::new();
    std::fs::create_dir(home.home.join(".qwen")).unwrap();
    home.succeed(&["install", "gemini"]);
    insta::assert_snapshot!("list", home.succeed(&["install"]));
}

#[test]
fn doctor_starts_the_server_as_each_client_does() {
    let home = Person::new();
    std::fs::write(home.project.join("a.txt"), "text\n").unwrap();
    let mut said = home.run(&["doctor"]).1;
    for client in CLIENTS.iter().filter(|client| client.name != "gemini") {
        home.succeed(&install(client));
        said += &home.succeed(&["doctor", client.name]);
    }
    insta::assert_snapshot!("doctor", said.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

/// Some clients pass only a few variables on. For them the entry has the variable.
#[test]
fn the_server_keeps_its_history_where_the_person_does() {
    for client in CLIENTS.iter().filter(|client| client.name != "gemini") {
        let mut home = Person::new();
        home.variables.push(("XDG_STATE_HOME", home.home.join("state").to_str().unwrap().to_owned()));
        home.succeed(&install(client));
        home.succeed(&["doctor", client.name]);
        let said = home.succeed(&install(client));
        assert!(said.contains("nothing to change"), "{said}");
    }
}

#[test]
fn doctor_says_what_is_wrong() {
    let mut home = Person::new();
    home.variables.push(("XDG_STATE_HOME", home.home.join("state").to_str().unwrap().to_owned()));
    let mut story = String::new();
    let mut check = |home: &Person, what: &str, client: &str| {
        let (code, said) = home.run(&["doctor", client]);
        assert_eq!(code, 1, "{what}: {said}");
        write!(story, "-- {what}\n{said}").unwrap();
    };
    let change = |home: &Person, file: &str, from: &str, to: &str| {
        let path = home.home.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    };
    check(&home, "no entry", "zed");
    home.succeed(&["install", "gemini", "."]);
    check(&home, "a folder that is not trusted", "gemini");
    home.succeed(&["install", "codex", "."]);
    change(&home, ".codex/config.toml", "\"XDG_STATE_HOME\", ", "");
    check(&home, "a history elsewhere", "codex");
    change(&home, ".codex/config.toml", "approve", "prompt");
    change(&home, ".codex/config.toml", "env_vars", "enabled = false\nenv_vars");
    check(&home, "switched off, and asked for each call", "codex");
    home.succeed(&["install", "windsurf", "."]);
    change(&home, ".codeium/windsurf/mcp_config.json", BINARY, "/gone/mcp-text-editor");
    check(&home, "a command that is not there", "windsurf");
    home.succeed(&["install", "jetbrains", "."]);
    change(&home, ".junie/mcp/mcp.json", home.project.to_str().unwrap(), "/not/there");
    check(&home, "a directory that is not there", "jetbrains");
    home.succeed(&["install", "cursor"]);
    change(&home, ".cursor/mcp.json", "\"--tools\"", "\"--tolls\"");
    check(&home, "a word that the server does not take", "cursor");
    change(&home, ".cursor/mcp.json", "]", "");
    check(&home, "a file that cannot be read", "cursor");
    home.succeed(&["install", "claude-code"]);
    std::fs::remove_file(home.home.join(".claude/settings.json")).unwrap();
    check(&home, "no permission", "claude-code");
    insta::assert_snapshot!("wrong", story.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn the_documents_name_every_client() {
    let readme = include_str!("../../../../README.md");
    let document = include_str!("../../../../docs/install.md");
    let agents = include_str!("../../../../tests/agents/clients.py");
    for client in CLIENTS.iter() {
        assert!(readme.contains(&format!("`{}`", client.name)), "README.md: {}", client.name);
        assert!(document.contains(client.program), "docs/install.md: {}", client.program);
        if let Some(version) = client.tried {
            assert!(
                document.contains(version) && agents.contains(&format!("\"{version}\"")),
                "{}",
                client.program
            );
        }
    }
}

fn state_options() -> StateOptions {
    StateOptions {
        durability: Durability::default(),
        in_place: Patterns::default(),
        state_directory: None,
        other_state_directory: None,

        history: None,
    }
}

/// What `install` says besides, on a desktop that keeps programs apart.
#[test]
fn install_warns_of_what_a_desktop_keeps_apart() {
    let home = tempfile::tempdir().unwrap();
    let warnings = |system, package: Option<&str>, name: &str| {
        let env = Environment {
            system,
            home: home.path().to_owned(),
            variables: BTreeMap::new(),
            here: home.path().to_owned(),
            program: PathBuf::from(BINARY),
            package: package.map(str::to_owned),
        };
        let request = InstallRequest {
            client: Client::named(name),
            directories: vec![home.path().join("Documents").join("app")],
            is_dry_run: true,
            ..InstallRequest::default()
        };
        let mut out = Vec::new();
        install::install(&request, &env, &state_options(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap().replace(home.path().to_str().unwrap(), "$HOME");
        let exe = std::env::current_exe().unwrap();
        let text = text.replace(exe.to_str().unwrap(), "PROGRAM").replace('\\', "/");
        let is_of_system = |line: &&str| line.contains("besides: macOS") || line.contains("runs inside");
        text.lines().filter(is_of_system).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(warnings(System::Mac, None, "claude-desktop"), @"  besides: macOS keeps programs from $HOME/Documents/app. A person has to allow it to PROGRAM, or to the terminal that starts it, in System Settings › Privacy & Security › Files & Folders › Documents Folder (or Full Disk Access), and start the client again. A new version of a program that is not signed must be allowed again. A project outside that folder needs none of this");
    assert_snapshot!(warnings(System::Windows, Some("Terminal_8wek"), "claude-desktop"), @"  besides: this program runs inside the package Terminal_8wek, so Windows shows $HOME/AppData/Roaming/Claude/claude_desktop_config.json to that package alone. Run install again in a terminal that was started from the Start menu");
    for (system, package, name) in [
        (System::Mac, None, "claude-code"),
        (System::Windows, None, "claude-desktop"),
        (System::Windows, Some("Terminal_8wek"), "claude-code"),
    ] {
        assert_eq!(warnings(system, package, name), "");
    }
    std::fs::create_dir_all(home.path().join("AppData/Local/Packages/Claude_pzs8")).unwrap();
    assert_eq!(warnings(System::Windows, Some("Claude_pzs8"), "claude-desktop"), "");
}

/// As a package of Windows Claude Desktop reads a file of its own. Nobody reads an entry that is only in the
/// other file.
#[test]
fn doctor_and_install_know_what_a_package_of_windows_reads() {
    let home = tempfile::tempdir().unwrap();
    let env = Environment {
        system: System::Windows,
        home: home.path().to_owned(),
        variables: BTreeMap::new(),
        here: home.path().to_owned(),
        program: PathBuf::from(BINARY),
        package: None,
    };
    let state = state_options();
    let request = InstallRequest {
        client: Client::named("claude-desktop"),
        directories: vec![home.path().to_owned()],
        ..InstallRequest::default()
    };
    let told = |said: Vec<u8>| {
        let said = String::from_utf8(said).unwrap().replace('\\', "/");
        said.replace(&home.path().to_str().unwrap().replace('\\', "/"), "$HOME")
    };
    let installed = || {
        let mut said = Vec::new();
        install::install(&request, &env, &state, &mut said).unwrap();
        let lines = told(said);
        let wrote = lines.lines().filter(|line| line.contains("wrote") || line.contains("nothing to change"));
        wrote.collect::<Vec<_>>().join("\n")
    };
    let looked = || {
        let mut said = Vec::new();
        doctor(request.client, None, false, &env, &state, None, &mut said).unwrap();
        told(said).lines().filter(|line| line.contains(".json")).collect::<Vec<_>>().join("\n")
    };
    std::fs::create_dir_all(home.path().join("AppData/Roaming/Claude")).unwrap();
    assert_snapshot!(installed(), @"Claude Desktop: wrote $HOME/AppData/Roaming/Claude/claude_desktop_config.json");
    std::fs::create_dir_all(home.path().join("AppData/Local/Packages/Claude_pzs8sxrjxfjjc")).unwrap();
    assert_snapshot!(looked(), @"
    Claude Desktop: $HOME/AppData/Roaming/Claude/claude_desktop_config.json
      wrong: Claude Desktop is a package of Windows here and reads $HOME/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json, in which there is no entry
    ");
    assert_snapshot!(installed(), @"Claude Desktop: wrote $HOME/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json");
    assert_snapshot!(looked(), @"
    Claude Desktop: $HOME/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json
    Claude Desktop: $HOME/AppData/Roaming/Claude/claude_desktop_config.json
      Claude Desktop uses mcpServers.text-editor in $HOME/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json instead
    ");
}
