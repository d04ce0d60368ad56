//! Laws of changed texts, and tables of the known configurations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::clients::{CLIENTS, Client, Item, files_at};
use super::config_error::at;
use super::entry::{EntryServer, Words, split, start_of};
use super::environment::{Environment, System, is_of_package};
use super::merge::{DesiredEntry, MergeRefused, merge as install, remove, with, without};
use super::scopes::scopes;
use super::syntax::Syntax;

fn wanted(client: &'static Client) -> DesiredEntry<'static> {
    DesiredEntry {
        client,
        env: linux(),
        target: None,
        start: vec!["/bin/mcp-text-editor".to_owned()],
        tools: None,
        options: &[],
        directories: vec!["/work".to_owned()],
        variables: Vec::new(),
        project: None,
        is_forced: false,
    }
}

fn linux() -> &'static Environment {
    static LINUX: LazyLock<Environment> = LazyLock::new(|| env(System::Linux, "/home/ada", &[]));
    &LINUX
}

fn client(name: &str) -> &'static Client {
    Client::named(name).unwrap()
}

/// Configurations as people write them. None has our entry, or an empty object in its place.
const JSON: &[&str] = &[
    "{}\n",
    "{}",
    "// nothing yet\n{}\n",
    "{\n  \"a\": 1\n}\n",
    "{\n\t\"a\": 1, // one\n\t// two\n}\n",
    "{\n    \"a\": [1, 2],\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" } // ours comes behind\n    }\n}\n",
    "{\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"x\"\n    }, /* with a comma */\n  },\n}\n",
    "{\"mcpServers\":{\"other\":{\"command\":\"x\"}},\"z\":null}",
    "{\"mcpServers\": {\"other\": {\"command\": \"x\"},}, \"z\": null,}\n",
    "{ \"mcpServers\": { \"other\": { \"url\": \"https://a//b/*c*/\" } } } // end\n",
    "{\n\n  \"mcpServers\": {\n\n    \"other\": {}\n\n  }\n\n}\n",
    "{\"mcpServers\": {\"other\": {} /*/, */ }, \"z\": [/**/]}",
    "{\n  \"mcpServers\": {\n    // the first\n    \"one\": {},\n    // the second\n    \"two\": {} // last\n    // the end\n  }\n}\n",
];

const TOML: &[&str] = &[
    "model = \"x\"\n",
    "model = \"x\"\n# the end\n",
    "[mcp_servers.other]\ncommand = \"x\" # mine\n",
    "[mcp_servers.other]\ncommand = \"x\"\n\n[mcp_servers.other.env]\nA = \"[b]\"\n\n# of c\n[c]\nd = \"\"\"\n[e]\n\"\"\"\n",
    "[mcp_servers]\nother.command = \"x\"\n",
    "[[list]]\na = 1\n\n[[list]]\na = 2\n",
];

/// Removes all white space. A change of JSON may also change the white space next to the entry.
fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn what_is_installed_and_removed_leaves_the_bytes() {
    for (client, texts) in [(client("cursor"), JSON), (client("codex"), TOML)] {
        for text in texts {
            let (installed, _) = install(text, &wanted(client)).unwrap();
            assert_ne!(installed, *text);
            assert_eq!(install(&installed, &wanted(client)).unwrap().0, installed, "twice: {text}");
            let removed = remove(&installed, client, linux(), false).unwrap();
            if client.syntax == Syntax::Json {
                assert_eq!(without_blanks(&removed), without_blanks(text), "{installed}");
            } else {
                assert_eq!(removed, *text, "{installed}");
            }
        }
    }
}

/// Other programs may have written something after our entry.
#[test]
fn an_entry_between_others_is_taken_out_alone() {
    let codex = client("codex");
    let (installed, _) = install("model = \"x\"\n", &wanted(codex)).unwrap();
    let behind = "\n# Of the last.\n[last]\na = 1\n";
    assert_eq!(
        remove(&format!("{installed}{behind}"), codex, linux(), false).unwrap(),
        format!("model = \"x\"\n{behind}")
    );
    let inner = "\n[mcp_servers.text-editor.env]\nA = \"b\"\n";
    assert_eq!(
        remove(&format!("{installed}{inner}{behind}"), codex, linux(), false).unwrap(),
        format!("model = \"x\"\n{behind}")
    );
    let cursor = client("cursor");
    let text = "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"text-editor\": {\"command\": \"mcp-text-editor\"}, // ours\n    \"b\": {}\n  }\n}\n";
    assert_eq!(
        remove(text, cursor, linux(), false).unwrap(),
        "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"b\": {}\n  }\n}\n"
    );
    let text = "{\"mcpServers\": {\"text-editor\": {\"command\": \"mcp-text-editor\"}, \"b\": {}}}";
    assert_eq!(remove(text, cursor, linux(), false).unwrap(), "{\"mcpServers\": { \"b\": {}}}");
}

#[test]
fn an_item_is_added_once_and_taken_out() {
    let item = Item {
        file: PathBuf::new(),
        path: vec!["permissions", "allow"],
        item: json!("mcp__text-editor"),
        is_listed: true,
        effect: "",
    };
    for text in [
        "{}\n",
        "{\n  \"permissions\": {\n    \"deny\": []\n  }\n}\n",
        "{\"permissions\": {\"allow\": [\"Bash(ls)\"]}}\n",
        "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\", // looks\n      \"Read\"\n    ]\n  }\n}\n",
        "{\n  \"permissions\": {\n    \"allow\": [\n      \"Read\",\n    ],\n  },\n}\n",
    ] {
        let added = with(text, &item).unwrap();
        let list = |text: &str| at(&Syntax::Json.read(text).unwrap(), &item.path).cloned();
        assert!(list(&added).unwrap().as_array().unwrap().contains(&item.item), "{added}");
        assert_eq!(with(&added, &item).unwrap(), added);
        assert_eq!(without(&added, &item).unwrap(), text, "{added}");
    }
}

/// Returns any object, with an entry of another server.
fn any_object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z/*\"{}, \\\\\n]{0,6}".prop_map(Value::from)
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z.\"]{1,4}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    (
        prop::collection::btree_map("[a-z]{1,4}", value.clone(), 0..4),
        prop::collection::btree_map("[a-z]{1,4}", value, 1..3),
    )
        .prop_map(|(members, servers)| {
            let mut all: serde_json::Map<_, _> = members.into_iter().collect();
            all.insert("mcpServers".to_owned(), Value::Object(servers.into_iter().collect()));
            Value::Object(all)
        })
}

proptest! {
    #[test]
    fn of_any_json_the_entry_alone_changes(before in any_object(), is_pretty: bool) {
        let text = if is_pretty { serde_json::to_string_pretty(&before).unwrap() } else { before.to_string() };
        let client = client("cursor");
        let (installed, words) = install(&text, &wanted(client)).unwrap();
        let mut said = Syntax::Json.read(&installed).unwrap();
        let entry = said["mcpServers"].as_object_mut().unwrap().remove("text-editor").unwrap();
        prop_assert_eq!(&said, &before);
        prop_assert_eq!(Client::words(&entry).unwrap(), words.all());
        let removed = remove(&installed, client, linux(), false).unwrap();
        if is_pretty {
            prop_assert_eq!(removed, text);
        } else {
            prop_assert_eq!(without_blanks(&removed), without_blanks(&text));
        }
    }

    #[test]
    fn of_any_toml_the_entry_alone_changes(keys in prop::collection::btree_map("[a-z]{1,4}", "[a-z\\[\\]#\"]{0,6}", 0..4), is_inline: bool) {
        let mut text = String::new();
        let literal = |value: &str| format!("'{value}'");
        if is_inline {
            let members: Vec<String> = keys.iter().map(|(key, value)| format!("{key} = {{ command = {} }}", literal(value))).collect();
            writeln!(text, "a = 1\nmcp_servers = {{ {} }}", members.join(", ")).unwrap();
        } else {
            for (key, value) in &keys {
                writeln!(text, "[mcp_servers.{key}]\n# {key}\ncommand = {}\n", literal(value)).unwrap();
            }
        }
        let client = client("codex");
        let before = Syntax::Toml.read(&text).unwrap();
        let (installed, _) = install(&text, &wanted(client)).unwrap();
        prop_assert_eq!(&install(&installed, &wanted(client)).unwrap().0, &installed);
        let mut said = Syntax::Toml.read(&installed).unwrap();
        said["mcp_servers"].as_object_mut().unwrap().remove("text-editor").unwrap();
        let others = |said: &Value| said.get("mcp_servers").cloned().filter(|others| *others != json!({}));
        prop_assert_eq!(others(&said), others(&before));
        let removed = Syntax::Toml.read(&remove(&installed, client, linux(), false).unwrap()).unwrap();
        prop_assert_eq!(others(&removed), others(&before));
    }
}

#[test]
fn what_a_person_added_is_kept() {
    let (cursor, codex) = (client("cursor"), client("codex"));
    let text = "{\"mcpServers\": {\"text-editor\": {\"args\": [\"--tools\", \"edit\", \"--limit\", \"files=5\", \"--strict\", \"/old\"], \"command\": \"/old/mcp-text-editor\", \"env\": {\"A\": \"b\"}}}}";
    let same = DesiredEntry { directories: Vec::new(), ..wanted(cursor) };
    let (new, words) = install(text, &same).unwrap();
    assert_eq!(new, text.replace("/old/mcp", "/bin/mcp"));
    assert_eq!(
        (words.tools.as_deref(), words.directories.as_slice()),
        (Some("edit"), &["/old".to_owned()][..])
    );
    let other = DesiredEntry { tools: Some("default"), ..wanted(cursor) };
    let (new, _) = install(text, &other).unwrap();
    assert_eq!(
        new,
        "{\"mcpServers\": {\"text-editor\": {\"args\": [\"--limit\", \"files=5\", \"--strict\", \"/work\"], \"command\": \"/bin/mcp-text-editor\", \"env\": {\"A\": \"b\"}}}}"
    );
    let text = "[mcp_servers.text-editor]\n# mine\ncommand = \"npx\" # starter\nargs = [\"-y\", \"mcp-text-editor-rs@1.2\", \"--strict\"]\ndefault_tools_approval_mode = \"prompt\"\nenv_vars = []\nstartup_timeout_sec = 60\n\n[mcp_servers.text-editor.env]\nA = \"b\"\n";
    let (new, _) = install(text, &wanted(codex)).unwrap();
    insta::assert_snapshot!(new, @r#"
    [mcp_servers.text-editor]
    # mine
    command = "/bin/mcp-text-editor" # starter
    args = ["--strict", "/work"]
    default_tools_approval_mode = "prompt"
    env_vars = []
    startup_timeout_sec = 60
    omit_tools_from = ["deferred"]

    [mcp_servers.text-editor.env]
    A = "b"
    "#);
    assert_eq!(remove(&new, codex, linux(), false).unwrap(), "");
}

#[test]
fn what_is_not_ours_or_cannot_be_read_is_refused() {
    let cursor = client("cursor");
    let said = |text: &str| install(text, &wanted(cursor)).unwrap_err().to_string();
    let foreign =
        "{\"mcpServers\": {\"text-editor\": {\"command\": \"uvx\", \"args\": [\"another-editor\"]}}}";
    assert_eq!(
        said(foreign),
        "its entry `text-editor` starts something else: uvx another-editor; --force replaces it"
    );
    assert!(remove(foreign, cursor, linux(), false).is_err());
    let forced = DesiredEntry { is_forced: true, ..wanted(cursor) };
    assert!(install(foreign, &forced).unwrap().0.contains("/bin/mcp-text-editor"));
    assert_eq!(remove(foreign, cursor, linux(), true).unwrap(), "{}");
    assert_eq!(said("{\n  \"a\": 1\n  \"b\": 2\n}"), "line 2, column 9: Expected comma");
    assert_eq!(
        said("{\"mcpServers\": []}"),
        "`mcpServers` is there, and holds something else than it should"
    );
    assert_eq!(said("[]"), "`mcpServers` is there, and holds something else than it should");
    let members: Vec<String> = (0..=2_000).map(|number| format!("\"{number}\": 1")).collect();
    for many in [format!("{{{}}}", members.join(", ")), format!("{{{}}}", "\n".repeat(2_000_001))] {
        assert_eq!(said(&many), "this file is written in a way that cannot be changed safely");
    }
    let codex = install("a = 1\nb = \n", &wanted(client("codex"))).unwrap_err().to_string();
    assert!(codex.starts_with("line 2, column "), "{codex}");
    let nowhere = DesiredEntry { directories: Vec::new(), ..wanted(client("windsurf")) };
    assert!(
        install("", &nowhere)
            .unwrap_err()
            .to_string()
            .contains("has to name those that it may read and edit")
    );
}

fn env(system: System, home: &str, variables: &[(&str, &str)]) -> Environment {
    let variables = variables.iter().map(|(name, value)| (system.variable_name(*name), (*value).into()));
    let variables = variables.collect::<BTreeMap<_, _>>();
    Environment {
        system,
        home: PathBuf::from(home),
        variables,
        here: PathBuf::from("/"),
        program: PathBuf::from("/bin/mcp-text-editor"),
        package: None,
    }
}

/// Every place of every client, on the three systems, and with variables that name other directories.
#[test]
fn configurations_lie_where_each_client_looks() {
    // Only absolute paths count, and on Windows these have a drive. The snapshot leaves it out.
    let drive = if cfg!(windows) { "M:" } else { "" };
    let moved = [
        ("XDG_CONFIG_HOME", "/xdg"),
        ("CODEX_HOME", "/codex"),
        ("CLAUDE_CONFIG_DIR", "/claude"),
        ("GEMINI_CLI_HOME", "/gemini"),
        ("COPILOT_HOME", "/copilot"),
        ("QWEN_HOME", "/qwen"),
    ];
    let moved = moved.map(|(name, path)| (name, format!("{drive}{path}")));
    let mut moved: Vec<(&str, &str)> = moved.iter().map(|(name, path)| (*name, path.as_str())).collect();
    moved.push(("AppData", "C:/data"));
    let machines = [
        ("linux", env(System::Linux, "/home/ada", &[])),
        ("macos", env(System::Mac, "/Users/ada", &[])),
        ("windows", env(System::Windows, "C:/Users/ada", &[])),
        ("linux, moved", env(System::Linux, "/home/ada", &moved)),
        ("windows, moved", env(System::Windows, "C:/Users/ada", &moved)),
    ];
    let mut said = String::new();
    for client in CLIENTS.iter() {
        writeln!(said, "{}", client.name).unwrap();
        let mut before = Vec::new();
        for (name, env) in &machines {
            let mut files = files_at(&client.user, env, &|_| false);
            files.extend(client.approval(env, None).into_iter().map(|item| item.file));
            files.dedup();
            let files: Vec<String> = files
                .iter()
                .map(|file| file.to_str().unwrap().replace('\\', "/").replace("M:", ""))
                .collect();
            if files != before {
                writeln!(said, "  {name}: {}", files.join(", ")).unwrap();
            }
            before = files;
        }
        writeln!(said, "  project: {}", client.project.unwrap_or("none")).unwrap();
    }
    insta::assert_snapshot!(said);
}

#[test]
fn files_that_are_there_decide() {
    let env = env(System::Linux, "/home/ada", &[]);
    let files = |name: &str, there: &[&str]| {
        files_at(&client(name).user, &env, &|path| there.iter().any(|known| path == Path::new(known)))
    };
    let jsonc = "/home/ada/.config/opencode/opencode.jsonc";
    assert_eq!(files("opencode", &[jsonc]), [Path::new(jsonc)]);
    let extension = "/home/ada/.config/Code/User/globalStorage/saoudrizwan.claude-dev";
    assert_eq!(files("cline", &[extension]), [Path::new(extension).join("settings/cline_mcp_settings.json")]);
    assert_eq!(files("cline", &[extension, "/home/ada/.cline"]).len(), 2);
}

/// Next to `npx.cmd` lies `npx`, a script for Unix shells, which Windows does not start.
#[test]
fn windows_starts_what_has_an_ending() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["npx", "npx.cmd", "uvx.exe", "plain"] {
        let file = directory.path().join(name);
        #[expect(clippy::disallowed_methods, reason = "a test sets its files up")]
        std::fs::write(&file, "").unwrap();
        #[cfg(unix)]
        std::process::Command::new("chmod").arg("755").arg(&file).status().unwrap();
    }
    let found = |system: System, name: &str| {
        let path = directory.path().as_os_str().to_owned();
        let found = env(system, "/", &[]).find_program(name, Some(&path))?;
        Some(found.file_name()?.to_str()?.to_owned())
    };
    for (name, on_windows, elsewhere) in [
        ("npx", Some("npx.cmd"), Some("npx")),
        ("npx.cmd", Some("npx.cmd"), Some("npx.cmd")),
        ("uvx", Some("uvx.exe"), None),
        ("plain", None, Some("plain")),
    ] {
        assert_eq!(found(System::Windows, name).as_deref(), on_windows, "{name}");
        assert_eq!(found(System::Linux, name).as_deref(), elsewhere, "{name}");
    }
}

fn words_of(words: &str) -> Option<Words> {
    Words::of(&split(words).unwrap(), linux())
}

#[test]
fn the_server_that_words_start_is_known() {
    use EntryServer::{Python, This};
    let directory = tempfile::tempdir().unwrap();
    let served = directory.path().join("mcp-text-editor");
    #[expect(clippy::disallowed_methods, reason = "a test sets its files up")]
    std::fs::create_dir_all(&served).unwrap();
    let of = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        EntryServer::of(&words, linux())
    };
    for (words, server) in [
        ("mcp-text-editor", Some(This(0))),
        (r"C:\bin\mcp-text-editor.exe /a", Some(This(0))),
        ("uvx mcp-text-editor-rs==1.0", Some(This(1))),
        ("npx -y mcp-text-editor-rs@2 /a", Some(This(2))),
        ("cmd /c npx -y mcp-text-editor-rs", Some(This(4))),
        ("uvx --from mcp-text-editor-rs mcp-text-editor /a", Some(This(3))),
        ("npx --package=mcp-text-editor-rs mcp-text-editor /a", Some(This(2))),
        ("pipx run --spec mcp-text-editor-rs mcp-text-editor", Some(This(4))),
        ("env A=b /usr/bin/mcp-text-editor /a", Some(This(2))),
        ("docker run -i --rm ghcr.io/x/mcp-text-editor:1 /work", Some(This(4))),
        ("uvx mcp-text-editor", Some(Python)),
        ("uvx mcp-text-editor@latest", Some(Python)),
        ("/home/ada/.local/bin/uvx --python 3.12 mcp-text-editor", Some(Python)),
        (r"C:\uv\UVX.EXE mcp-text-editor==1.2.2", Some(Python)),
        ("uv tool run mcp-text-editor", Some(Python)),
        ("uv --directory /src/mcp-text-editor run mcp-text-editor", Some(Python)),
        ("pipx run mcp-text-editor", Some(Python)),
        ("npx -y @smithery/cli@latest run mcp-text-editor --key 1", Some(Python)),
        ("cmd /c npx -y @smithery/cli run @tumf/mcp-text-editor", Some(Python)),
        ("python3.12 -m mcp_text_editor", Some(Python)),
        ("docker run -i --rm mcp/text-editor:latest", Some(Python)),
        ("uvx mcp-text-editors", None),
        ("node /a/mcp-text-editor/index.js", None),
        ("npx -y @modelcontextprotocol/server-filesystem /home/ada/mcp-text-editor", None),
        ("sh", None),
    ] {
        assert_eq!(of(&words.split(' ').collect::<Vec<_>>()), server, "{words}");
    }
    assert_eq!(of(&["another-server", served.to_str().unwrap()]), None);
}

/// pip, uv and pipx install the server in Python as a program that also has our name.
#[cfg(unix)]
#[test]
fn the_program_of_an_environment_of_pythons_is_the_server_in_python() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    let (bin, link) = (top.join("tools/mcp-text-editor/bin"), top.join("mcp-text-editor"));
    let made = std::process::Command::new("sh")
        .args(["-c", r#"mkdir -p "$0" && touch "$0/../pyvenv.cfg" "$0/mcp-text-editor" && chmod 755 "$0/mcp-text-editor" && ln -s "$0/mcp-text-editor" "$1""#])
        .args([&bin, &link])
        .status();
    assert!(made.unwrap().success());
    let env = env(System::Linux, "/", &[("PATH", top.to_str().unwrap())]);
    let of = |word: &str| EntryServer::of(&[word.to_owned()], &env);
    assert_eq!([of("mcp-text-editor"), of(link.to_str().unwrap())], [Some(EntryServer::Python); 2]);
    // The package with this program also installs a program of the package's own name.
    #[expect(clippy::disallowed_methods, reason = "a test sets its files up")]
    std::fs::write(bin.join("mcp-text-editor-rs"), "").unwrap();
    assert_eq!(of("mcp-text-editor"), Some(EntryServer::This(0)));
}

#[test]
fn an_entry_of_the_server_in_python_becomes_a_fresh_one_that_keeps_its_members() {
    let cursor = client("cursor");
    let text = "{\"mcpServers\": {\"text-editor\": {\"command\": \"uvx\", \"args\": [\"mcp-text-editor\"], \"env\": {\"A\": \"b\"}}}}";
    let unnamed = |client| DesiredEntry { directories: Vec::new(), ..wanted(client) };
    let (new, words) = install(text, &unnamed(cursor)).unwrap();
    assert_eq!(
        new,
        "{\"mcpServers\": {\"text-editor\": {\"command\": \"/bin/mcp-text-editor\", \"args\": [\"--tools\", \"claude-code\", \"${workspaceFolder}\"], \"env\": {\"A\": \"b\"}}}}"
    );
    assert_eq!(words.tools.as_deref(), Some("claude-code"));
    let refused = install(text, &unnamed(client("windsurf"))).unwrap_err();
    assert!(matches!(refused, MergeRefused::NoDirectory { .. }), "{refused}");
    let in_project = DesiredEntry { project: Some(Path::new("/work")), ..unnamed(cursor) };
    let refused = install(text, &in_project).unwrap_err();
    assert!(matches!(refused, MergeRefused::NotAllowed(_)), "{refused}");
    assert!(matches!(remove(text, cursor, linux(), false), Err(MergeRefused::Foreign(_))));
}

/// Clients treat `null` as missing, or refuse the file.
#[test]
fn what_is_null_is_as_if_it_were_not_there() {
    let cursor = client("cursor");
    for text in ["{\"mcpServers\": null}", "{\"mcpServers\": {\"text-editor\": null}}"] {
        let (new, words) = install(text, &wanted(cursor)).unwrap();
        let said = Syntax::Json.read(&new).unwrap();
        assert_eq!(Client::words(&said["mcpServers"]["text-editor"]).unwrap(), words.all(), "{new}");
        assert_eq!(remove(text, cursor, linux(), false).unwrap(), text);
    }
    let item = Item {
        file: PathBuf::new(),
        path: vec!["permissions", "allow"],
        item: json!("x"),
        is_listed: true,
        effect: "",
    };
    for text in ["{\"permissions\": null}", "{\"permissions\": {\"allow\": null}}"] {
        let said = Syntax::Json.read(&with(text, &item).unwrap()).unwrap();
        assert_eq!(said, json!({"permissions": {"allow": ["x"]}}));
        assert_eq!(without(text, &item).unwrap(), text);
    }
}

#[test]
fn a_client_that_may_have_been_meant_is_suggested() {
    let said: String = [
        "claude",
        "Claude Desktop",
        "vs-code",
        "code",
        "gemini-cli",
        "github-copilot",
        "junie",
        "cursr",
        "opencod",
        "emacs",
        "z",
        "",
        "\u{1b}[31m",
    ]
    .map(|typed| format!("{}\n", Client::find(typed).unwrap_err()))
    .concat();
    insta::assert_snapshot!(said, @r"
    there is no client `claude`; did you mean claude-code or claude-desktop?
    there is no client `Claude Desktop`; did you mean claude-desktop?
    there is no client `vs-code`; did you mean vscode?
    there is no client `code`; did you mean claude-code, vscode, codex, opencode or qwen?
    there is no client `gemini-cli`; did you mean gemini?
    there is no client `github-copilot`; did you mean copilot?
    there is no client `junie`; did you mean jetbrains?
    there is no client `cursr`; did you mean cursor?
    there is no client `opencod`; did you mean opencode?
    there is no client `emacs`; there are claude-code, claude-desktop, cursor, vscode, codex, gemini, zed, windsurf, opencode, copilot, qwen, cline and jetbrains
    there is no client `z`; there are claude-code, claude-desktop, cursor, vscode, codex, gemini, zed, windsurf, opencode, copilot, qwen, cline and jetbrains
    there is no client ``; there are claude-code, claude-desktop, cursor, vscode, codex, gemini, zed, windsurf, opencode, copilot, qwen, cline and jetbrains
    there is no client `\u001b[31m`; there are claude-code, claude-desktop, cursor, vscode, codex, gemini, zed, windsurf, opencode, copilot, qwen, cline and jetbrains
    ");
    for client in CLIENTS.iter() {
        assert_eq!(Client::find(client.name), Ok(client));
    }
}

#[test]
fn words_are_taken_apart_and_put_together() {
    let texts = |words: &str| split(words).unwrap();
    let words =
        words_of("npx -y mcp-text-editor-rs@2 --limit files=5 --strict --mode=claude-code /a /b").unwrap();
    assert_eq!(words.start, ["npx", "-y", "mcp-text-editor-rs@2"]);
    assert_eq!(
        (words.tools.as_deref(), &words.options.concat()[..]),
        (Some("claude-code"), &texts("--limit files=5 --strict")[..])
    );
    assert_eq!(words.directories, ["/a", "/b"]);
    assert_eq!(
        words.all().join(" "),
        "npx -y mcp-text-editor-rs@2 --tools claude-code --limit files=5 --strict /a /b"
    );
    assert_eq!(texts("'a b' c\"d e\""), ["a b", "cd e"]);
    assert!(split(" ").is_err() && split("'a").is_err());
}

#[test]
fn a_program_in_a_cache_is_started_by_its_package() {
    let start = |path: &str| start_of(Path::new(path)).join(" ");
    let npx = if cfg!(windows) { "cmd /c npx -y mcp-text-editor-rs" } else { "npx -y mcp-text-editor-rs" };
    assert_eq!(start("/home/ada/.npm/_npx/1f/node_modules/x/mcp-text-editor"), npx);
    assert_eq!(start("/home/ada/.cache/uv/archive-v0/x/bin/mcp-text-editor"), "uvx mcp-text-editor-rs");
    assert_eq!(start("/home/ada/.cargo/bin/mcp-text-editor"), "/home/ada/.cargo/bin/mcp-text-editor");
}

/// A package of Windows is recognised by its directory, whose name ends in an id of its publisher.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the server")]
fn a_package_of_windows_has_its_configuration_where_it_reads() {
    let home = tempfile::tempdir().unwrap();
    let local = home.path().join("AppData").join("Local");
    let told = |system| {
        let home_text = home.path().to_str().unwrap();
        let env = env(system, home_text, &[("LOCALAPPDATA", local.to_str().unwrap())]);
        let files = client("claude-desktop").files(&env, None).unwrap();
        let text =
            |file: &PathBuf| file.strip_prefix(home.path()).unwrap().to_str().unwrap().replace('\\', "/");
        let firsts: Vec<bool> = files.iter().map(|file| is_of_package(file)).collect();
        let ranks = scopes(client("claude-desktop"), &env, home.path(), &|_, _| None);
        let ranks: Vec<usize> = ranks.iter().map(|scope| scope.rank).collect();
        assert!(ranks.is_sorted());
        (files.iter().map(text).collect::<Vec<_>>(), firsts, ranks.len())
    };
    let plain = "AppData/Roaming/Claude/claude_desktop_config.json".to_owned();
    assert_eq!(told(System::Windows), (vec![plain.clone()], vec![false], 1));
    for package in ["Claude_pzs8sxrjxfjjc", "claude_other", "ClaudeX_pzs8sxrjxfjjc", "Microsoft.Claude_1"] {
        std::fs::create_dir_all(local.join("Packages").join(package)).unwrap();
    }
    std::fs::File::create(local.join("Packages").join("Claude_file")).unwrap();
    let own = |package: &str| {
        format!("AppData/Local/Packages/{package}/LocalCache/Roaming/Claude/claude_desktop_config.json")
    };
    let packages = vec![own("Claude_pzs8sxrjxfjjc"), own("claude_other")];
    assert_eq!(told(System::Windows), (packages.clone(), vec![true; 2], 2));
    std::fs::create_dir_all(home.path().join("AppData/Roaming/Claude")).unwrap();
    let all: Vec<String> = packages.into_iter().chain([plain]).collect();
    assert_eq!(told(System::Windows), (all, vec![true, true, false], 3));
    assert!(!told(System::Mac).0.concat().contains("Packages"));
}
