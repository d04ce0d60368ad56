//! Entries that exist when a person installs: of the server in Python, under other names, or `null`. And
//! clients that are not on the machine.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use mcp_text_editor::cli::install::clients::{CLIENTS, Client, WorkingDirectory};
use mcp_text_editor::cli::install::{Syntax, at};
use serde_json::{Value, json};

use crate::person::Person;
use crate::session::BINARY;

const CURSOR: &str = ".cursor/mcp.json";

fn install(client: &Client) -> Vec<&'static str> {
    let directory = (client.starts == WorkingDirectory::Anywhere).then_some(".");
    [Some("install"), Some(client.name), directory].into_iter().flatten().collect()
}

/// Returns a person whose configuration of Cursor is this text.
fn with_cursor(text: &str) -> Person {
    let home = Person::new();
    home.write(CURSOR, text);
    home
}

impl Person {
    fn write(&self, file: &str, text: &str) {
        let path = self.home.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.home.join(file)).unwrap()
    }

    /// Returns the file in which a client has its entry.
    fn file_of(&self, client: &Client) -> PathBuf {
        let has_entry = |text: &str| {
            let said = client.syntax.read(text).unwrap();
            at(&said, &client.entry()).is_some()
        };
        let found = self.files().into_iter().find(|(_, text)| has_entry(text));
        PathBuf::from(found.unwrap().0.trim_end().replace("$HOME", self.home.to_str().unwrap()))
    }
}

/// Returns a configuration with the entry that the page of the server in Python gives, and a variable.
fn of_python(client: &Client) -> String {
    let entry = if client.stdio.contains_key("args") {
        json!({"command": "uvx", "args": ["mcp-text-editor"], "env": {"A": "b"}})
    } else {
        json!({"type": "local", "command": ["uvx", "mcp-text-editor"], "environment": {"A": "b"}})
    };
    match client.syntax {
        Syntax::Json => {
            client.entry().iter().rev().fold(entry, |inner, key| json!({*key: inner})).to_string()
        }
        Syntax::Toml => format!(
            "[{}]\ncommand = \"uvx\"\nargs = [\"mcp-text-editor\"]\nenv = {{ A = \"b\" }}\n",
            client.entry().join(".")
        ),
    }
}

fn entry_in(client: &Client, text: &str) -> Value {
    at(&client.syntax.read(text).unwrap(), &client.entry()).unwrap().clone()
}

#[test]
fn an_entry_of_the_server_in_python_becomes_what_a_fresh_one_is() {
    for client in CLIENTS.iter() {
        let home = Person::new();
        home.succeed(&install(client));
        let file = home.file_of(client);
        let fresh = entry_in(client, &std::fs::read_to_string(&file).unwrap());
        home.succeed(&["install", client.name, "--remove"]);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, of_python(client)).unwrap();
        let before = home.files();
        if client.starts == WorkingDirectory::Anywhere {
            let (code, said) = home.run(&["install", client.name]);
            assert!(code == 1 && said.contains(&format!("install {} .", client.name)), "{said}");
            assert_eq!(home.files(), before, "{}", client.name);
        }
        home.succeed(&install(client));
        let mut taken = entry_in(client, &std::fs::read_to_string(&file).unwrap());
        let own = taken.as_object_mut().unwrap();
        let variables = own.remove("env").or_else(|| own.remove("environment"));
        assert_eq!(variables, Some(json!({"A": "b"})), "{}", client.name);
        let mut fresh = fresh;
        if let Some(own) = fresh.as_object_mut() {
            own.remove("env");
        }
        assert_eq!(taken, fresh, "{}", client.name);
        // The entry is not ours, so it is not taken out.
        home.succeed(&["install", client.name, "--remove"]);
        assert_eq!(home.files(), before, "{}", client.name);
        let (code, said) = home.run(&["install", client.name, "--remove"]);
        assert!(code == 1 && said.contains("starts something else"), "{said}");
    }
}

#[test]
fn what_offers_the_same_tools_is_named_and_how_to_be_rid_of_it() {
    let python = r#""mcp-text-editor": {"command": "uvx", "args": ["mcp-text-editor"]}"#;
    let home = with_cursor(&format!("{{\"mcpServers\": {{{python}}}}}"));
    let mut story = String::new();
    let mut tell =
        |what: &str, (code, said): (i32, String)| write!(story, "-- {what}: {code}\n{said}").unwrap();
    tell("the server in Python alone", home.run(&["doctor"]));
    tell("install", home.run(&["install", "cursor"]));
    tell("both", home.run(&["doctor", "cursor"]));
    let home = with_cursor(&format!(
        "{{\"mcpServers\": {{{}}}}}",
        python.replace("mcp-text-editor\":", "text-editor\":")
    ));
    tell("under our name", home.run(&["doctor", "cursor"]));
    let own = format!(
        "{{\"mcpServers\": {{\"editor\": {{\"command\": \"{BINARY}\", \"args\": [\"/srv\"]}}, \"files\": {{\"command\": \"npx\", \"args\": [\"server-filesystem\", \"/home/mcp-text-editor\"]}}}}}}"
    );
    let home = with_cursor(&own);
    tell("this one under another name", home.run(&["doctor", "cursor"]));
    tell("install", home.run(&["install", "cursor"]));
    insta::assert_snapshot!("beside", story.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

/// A client that starts servers anywhere, and names no directories, would get a server that serves nothing.
#[test]
fn no_entry_is_written_that_serves_nothing() {
    for client in CLIENTS.iter().filter(|client| client.starts == WorkingDirectory::Anywhere) {
        let home = Person::new();
        let (code, said) = home.run(&["install", client.name]);
        let command = format!("this one, $PROJECT: mcp-text-editor install {} .\n", client.name);
        assert!(code == 1 && said.ends_with(&command), "{said}");
        home.succeed(&install(client));
        let file = home.file_of(client);
        let text = std::fs::read_to_string(&file).unwrap();
        let without = text.replace(&format!(", \"{}\"", home.project.to_str().unwrap()), "");
        let without = without.replace(&format!("\"{}\"", home.project.to_str().unwrap()), "");
        assert_ne!(without, text);
        std::fs::write(&file, &without).unwrap();
        let (code, said) = home.run(&["install", client.name]);
        assert!(code == 1 && said.ends_with(&command), "{said}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), without);
    }
}

/// Runs the first `install` command that `doctor` names, in the project.
fn do_as_doctor_says(home: &Person, client: &Client) {
    let (code, said) = home.run(&["doctor", client.name]);
    assert_eq!(code, 1, "{said}");
    let command = said.split("mcp-text-editor install ").nth(1).unwrap();
    let command = command.split([',', '\n']).next().unwrap().trim_end_matches(" writes one");
    let command = command.replace(" DIR", " .");
    home.succeed(&["install"].into_iter().chain(command.split(' ')).collect::<Vec<_>>());
}

#[test]
fn what_doctor_says_to_type_can_be_typed() {
    for client in CLIENTS.iter() {
        let home = Person::new();
        do_as_doctor_says(&home, client);
        let file = home.file_of(client);
        let text = std::fs::read_to_string(&file).unwrap();
        let python = of_python(client);
        // An entry of the server in Python, and one of another server, which `--force` replaces.
        for before in [&python, &python.replace("mcp-text-editor", "another")] {
            std::fs::write(&file, before).unwrap();
            do_as_doctor_says(&home, client);
            let taken = entry_in(client, &std::fs::read_to_string(&file).unwrap());
            let fresh = entry_in(client, &text);
            assert_eq!(
                (&taken["command"], &taken["args"]),
                (&fresh["command"], &fresh["args"]),
                "{}",
                client.name
            );
        }
    }
}

#[test]
fn what_is_null_is_as_if_it_were_not_there() {
    for text in [r#"{"mcpServers": null}"#, r#"{"mcpServers": {"text-editor": null}}"#] {
        let home = with_cursor(text);
        let (_, said) = home.run(&["doctor", "cursor"]);
        assert_eq!(said, "there is no entry of this server; mcp-text-editor install cursor writes one\n");
        let said = home.succeed(&["install", "cursor", "--remove"]);
        assert!(said.contains("there is no entry"), "{said}");
        home.succeed(&["install", "cursor"]);
        home.succeed(&["doctor", "cursor"]);
    }
}

/// docs/install.md promises this for every file.
#[test]
fn each_file_that_is_broken_is_left_alone_and_told_with_its_line_and_what_to_add() {
    for client in CLIENTS.iter() {
        let of_project = client.project.map(|_| vec!["install", client.name, "--project", "."]);
        for arguments in [Some(install(client)), of_project].into_iter().flatten() {
            let made = Person::new();
            made.succeed(&arguments);
            for (name, text) in made.files() {
                let home = Person::new();
                home.succeed(&arguments);
                let name = name.trim_end().replace("$HOME", home.home.to_str().unwrap());
                let file = name.replace("$PROJECT", home.project.to_str().unwrap());
                std::fs::write(&file, format!("\n[[[\n{text}")).unwrap();
                let before = home.files();
                let (code, said) = home.run(&arguments);
                let is_told = said.contains("is left as it is: line ")
                    && said.contains("\nBy hand, this is to be added:\n");
                assert!(code == 1 && is_told, "{file}: {said}");
                assert_eq!(home.files(), before, "{file}");
                let (code, said) = home.run(&["doctor", client.name]);
                assert!(code == 1 && said.contains("cannot be read: line "), "{file}: {said}");
            }
        }
    }
}

/// The permission is in another file than the entry.
#[test]
fn a_file_of_permissions_that_is_broken_is_told_with_what_to_add() {
    let mut story = String::new();
    for text in ["{\"permissions\": {,,}\n", "{\"permissions\": []}\n", "\u{1}\0\u{2}\0"] {
        let home = Person::new();
        home.write(".claude/settings.json", text);
        let (code, said) = home.run(&["install", "claude-code"]);
        assert_eq!((code, home.files().len()), (1, 1), "{said}");
        assert_eq!(home.read(".claude/settings.json"), text);
        story += &said;
    }
    let home = Person::new();
    home.succeed(&["install", "claude-code"]);
    home.write(".claude/settings.json", "{,,}\n");
    story += &home.run(&["doctor", "claude-code"]).1;
    insta::assert_snapshot!("permissions", story.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn a_client_that_is_not_there_is_told_and_one_that_may_have_been_meant() {
    let home = Person::new();
    let is_told = |said: &str| said.contains("  not found on this machine: ");
    assert!(is_told(&home.succeed(&["install", "qwen"])));
    assert!(!is_told(&home.succeed(&["install", "qwen"])));
    assert!(!is_told(&home.succeed(&["install", "gemini", "--project", "."])));
    for arguments in [&["install", "claude"][..], &["doctor", "claude"]] {
        let (code, said) = home.run(arguments);
        assert!(code == 2 && said.contains("did you mean claude-code or claude-desktop?"), "{said}");
    }
}

/// The program is recognised by its file, under any name.
#[test]
fn a_program_under_another_name_knows_its_entries() {
    let home = Person::new();
    let other = home.home.join("mte");
    // By another process, for the reason that `person::script` gives.
    assert!(Command::new("cp").arg(BINARY).arg(&other).status().unwrap().success());
    let run = |arguments: &[&str]| {
        let (code, said) = home.run_as(&other, arguments);
        assert_eq!(code, 0, "{arguments:?}: {said}");
        said
    };
    for client in CLIENTS.iter().filter(|client| client.name != "gemini") {
        run(&install(client));
        assert!(run(&install(client)).contains("nothing to change"), "{}", client.name);
        run(&["doctor", client.name]);
    }
    assert!(run(&["install"]).contains("Cursor          has the server, in "));
    // A link of yet another name leads to the same file.
    std::os::unix::fs::symlink(&other, home.home.join("editor")).unwrap();
    let (code, said) = home.run_as(&home.home.join("editor"), &["doctor", "cursor"]);
    assert_eq!(code, 0, "{said}");
    let before = home.read(CURSOR);
    run(&["install", "cursor", "--remove"]);
    assert!(before.contains("/mte\"") && !home.home.join(CURSOR).exists());
}
