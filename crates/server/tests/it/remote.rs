//! Entries that lead to a server over HTTP: `install` writes them, and `doctor` judges them.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::fmt::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use mcp_text_editor::cli::install::clients::{CLIENTS, Client, TokenForm};
use serde_json::{Value, json};

use crate::http_client::HttpServer;
use crate::person::Person;
use crate::session::BINARY;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const URL: &str = "http://127.0.0.1:8000/mcp";
const TO: [&str; 4] = ["--http", URL, "--token-env", "MCP_TEXT_EDITOR_TOKEN"];

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Starts a server with a token. Returns it and its URL.
fn server(home: &Person) -> (HttpServer, String) {
    let token = home.home.join("token");
    write(&token, TOKEN);
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
    let server =
        HttpServer::start(&["--token-file", token.to_str().unwrap(), home.project.to_str().unwrap()]);
    let url = format!("http://{}/mcp", server.address);
    (server, url)
}

/// Returns an address at which nobody listens.
fn nobody() -> String {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    address.to_string()
}

/// Returns the clients that can be led to a server with a token, by a variable or by a question.
fn led() -> impl Iterator<Item = &'static Client> {
    CLIENTS.iter().filter(|client| client.token_form().is_some_and(|form| form != TokenForm::Literal))
}

#[test]
fn each_client_is_led_to_a_server_that_runs() {
    let mut story = String::new();
    for client in CLIENTS.iter() {
        let home = Person::new();
        let (_, said) = home.run(&[&["install", client.name], &TO[..]].concat());
        write!(story, "-- {}\n{said}{}", client.name, home.shown()).unwrap();
        if client.token_form() == Some(TokenForm::Literal) {
            home.succeed(&["install", client.name, "--http", URL]);
            write!(story, "{}", home.shown()).unwrap();
        }
    }
    insta::assert_snapshot!("led", story);
}

#[test]
fn leading_twice_changes_nothing_more_and_is_taken_out() {
    for client in led() {
        for project in [&[][..], &["--project", "."]] {
            if client.project.is_none() && !project.is_empty() {
                continue;
            }
            for options in [&[][..], &["--no-history"]] {
                let home = Person::new();
                let install = [&["install", client.name][..], project].concat();
                let before = home.files();
                let printed = home.succeed(&[&install[..], &TO, &["--print"]].concat());
                assert!(printed.contains(URL) && home.files() == before, "{printed}");
                home.succeed(&[&install[..], &TO].concat());
                let files = home.files();
                let said = home.succeed(&[&install[..], &TO].concat());
                assert!(said.contains(": nothing to change\n"), "{}: {said}", client.name);
                assert_eq!(home.files(), files);
                assert!(files.iter().all(|(_, text)| !text.contains(TOKEN)));
                home.succeed(&[&install[..], &["--remove"], options].concat());
                let left: Vec<_> =
                    home.files().into_iter().filter(|(_, text)| text.contains("text-editor")).collect();
                assert_eq!(left, [], "{}", client.name);
            }
        }
    }
}

#[test]
fn an_entry_that_leads_elsewhere_is_not_overwritten_and_keeps_what_was_added() {
    let home = Person::new();
    let file = home.home.join(".claude.json");
    let text = r#"{"mcpServers": {"text-editor": {"type": "sse", "url": "http://one.example/mcp?key=x", "headers": {"X-Own": "1", "authorization": "y"}, "timeout": 5}}}"#;
    write(&file, text);
    let mut story = String::new();
    for arguments in [&["install", "claude-code"][..], &["install", "claude-code", "--remove"]] {
        let (code, said) = home.run(arguments);
        assert_eq!((code, std::fs::read_to_string(&file).unwrap().as_str()), (1, text));
        story += &said;
    }
    home.succeed(&[&["install", "claude-code"], &TO[..]].concat());
    writeln!(story, "{}", std::fs::read_to_string(&file).unwrap()).unwrap();
    home.succeed(&["install", "claude-code", "--http", "https://two.example/mcp"]);
    writeln!(story, "{}", std::fs::read_to_string(&file).unwrap()).unwrap();
    home.succeed(&["install", "claude-code", "--force"]);
    writeln!(story, "{}", home.masked(&std::fs::read_to_string(&file).unwrap())).unwrap();
    let gemini = home.home.join(".gemini/settings.json");
    write(&gemini, r#"{"mcpServers": {"text-editor": {"url": "http://one.example/sse", "trust": false}}}"#);
    home.succeed(&[&["install", "gemini"], &TO[..]].concat());
    writeln!(story, "{}", std::fs::read_to_string(&gemini).unwrap()).unwrap();
    // Another program's entry is replaced only by force, our own at once.
    write(&gemini, r#"{"mcpServers": {"text-editor": {"command": "another"}}}"#);
    story += &home.run(&[&["install", "gemini"], &TO[..]].concat()).1;
    home.succeed(&["install", "gemini", "--force"]);
    home.succeed(&[&["install", "gemini"], &TO[..]].concat());
    writeln!(story, "{}", std::fs::read_to_string(&gemini).unwrap()).unwrap();
    // An entry that came with a project is not taken over.
    let evil = r#"{"mcpServers": {"text-editor": {"type": "http", "url": "http://127.0.0.1:8000/mcp", "headersHelper": "touch ran"}}}"#;
    let project = home.project.join(".mcp.json");
    write(&project, evil);
    story += &home.run(&[&["install", "claude-code", "--project", "."], &TO[..]].concat()).1;
    assert_eq!(std::fs::read_to_string(&project).unwrap(), evil);
    home.succeed(&[&["install", "claude-code", "--project", ".", "--force"], &TO[..]].concat());
    writeln!(story, "{}", std::fs::read_to_string(&project).unwrap()).unwrap();
    insta::assert_snapshot!("kept", story);
}

#[test]
fn what_leads_nowhere_is_refused() {
    let home = Person::new();
    let mut story = String::new();
    for words in [
        &["--http", "127.0.0.1:8000"][..],
        &["--http", "http://127.0.0.1:8000"],
        &["--http", "http://me:secret@127.0.0.1:8000/mcp"],
        &["--http", URL, "--token-env", "Bearer abc"],
        &["--http", URL, "--strict"],
        &["--http", URL, "."],
        &["--token-env", "NAME"],
    ] {
        let (code, said) = home.run(&[&["install", "cursor"], words].concat());
        assert!(code != 0 && home.files().is_empty(), "{said}");
        story += said.lines().next().unwrap();
        story.push('\n');
    }
    insta::assert_snapshot!("refused", story);
}

/// Each client puts a variable into a header in its own way, and `doctor` does the same.
#[test]
fn doctor_asks_the_server_as_each_client_would() {
    let mut home = Person::new();
    let (_server, url) = server(&home);
    home.variables.push(("MCP_TEXT_EDITOR_TOKEN", TOKEN.to_owned()));
    home.variables.push(("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()));
    for client in led() {
        home.succeed(&["install", client.name, "--http", &url, "--token-env", "MCP_TEXT_EDITOR_TOKEN"]);
        let said = home.succeed(&["doctor", client.name]);
        let expected = if client.name == "vscode" {
            "nobody is asked there: VS Code has the token"
        } else {
            "answers as mcp-text-editor"
        };
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains(TOKEN), "{said}");
    }
    home.variables.retain(|(name, _)| *name != "MCP_TEXT_EDITOR_TOKEN");
    for client in led().filter(|client| client.name != "vscode") {
        let (code, said) = home.run(&["doctor", client.name]);
        assert!(
            code == 1 && said.contains("it wants the variable MCP_TEXT_EDITOR_TOKEN, which is not set here"),
            "{said}"
        );
    }
}

#[test]
fn doctor_says_why_a_server_does_not_answer() {
    let home = Person::new();
    let (server, url) = server(&home);
    let nobody = nobody();
    let address = server.address.to_string();
    let mut story = String::new();
    for entry in [
        json!({"url": url}),
        json!({"url": url, "headers": {"Authorization": "Bearer wrong"}}),
        json!({"url": format!("http://{address}/other"), "headers": {"Authorization": format!("Bearer {TOKEN}")}}),
        json!({"url": url, "headers": {"Authorization": format!("Bearer {TOKEN}"), "Host": "other.example"}}),
        json!({"url": format!("http://{nobody}/mcp")}),
        json!({"url": "https://one.example/mcp?key=secret"}),
        json!({"url": "http://me:secret@[/mcp"}),
        json!({"url": url, "type": "sse"}),
        json!({"url": url, "headers": {"X": "a\nb"}}),
    ] {
        let text = json!({"mcpServers": {"text-editor": entry}}).to_string();
        write(&home.home.join(".codeium/windsurf/mcp_config.json"), &text);
        let (_, said) = home.run(&["doctor", "windsurf"]);
        story += said.split_once('\n').unwrap().1;
    }
    let story = story.replace(&address, "$SERVER").replace(&nobody, "$NOBODY");
    let story = story.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    assert!(!story.contains(TOKEN) && !story.contains("secret"), "{story}");
    insta::assert_snapshot!("unanswered", story);
}

/// Servers that answer anything: a redirect, no MCP, an answer without end, or another server's name.
#[test]
fn doctor_believes_no_server_over_http() {
    let home = Person::new();
    let answers: [(&str, &str); 6] = [
        ("307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/evil", ""),
        ("200 OK\r\nContent-Type: text/html", "<html>hello\u{1b}]0;x\u{7}\n  all is well</html>"),
        (
            "200 OK\r\nContent-Type: application/json",
            r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no\u001b[2J"}}"#,
        ),
        (
            "200 OK\r\nContent-Type: application/json",
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"serverInfo": {"name": "x\u202e", "version": "1"}}}"#,
        ),
        ("500 ConfigError", "why"),
        ("garbage", ""),
    ];
    let mut story = String::new();
    for (head, body) in answers {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answering = std::thread::spawn(move || {
            use std::io::{Read as _, Write as _};
            // A session has three messages, each over a connection of its own.
            for answered in 0..3 {
                let Ok((mut stream, _)) = listener.accept() else { return };
                let mut request = [0; 4096];
                let read = stream.read(&mut request).unwrap_or(0);
                if read == 0 {
                    return;
                }
                let body = body.replace("\"id\": 1", if answered == 2 { "\"id\": 2" } else { "\"id\": 1" });
                let answer = format!(
                    "HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let text =
            json!({"mcpServers": {"text-editor": {"url": format!("http://{address}/mcp")}}}).to_string();
        write(&home.home.join(".codeium/windsurf/mcp_config.json"), &text);
        let (code, said) = home.run(&["doctor", "windsurf"]);
        assert_eq!(code, 1, "{said}");
        story += &said.split_once('\n').unwrap().1.replace(&address.to_string(), "$SERVER");
        // The other thread may still wait for connections.
        for _ in 0..3 {
            let _ = std::net::TcpStream::connect(address);
        }
        answering.join().unwrap();
    }
    insta::assert_snapshot!("unbelieved", story);
}

/// A project chooses neither the server that a person's `doctor` asks nor what is sent to it.
#[test]
fn doctor_asks_nobody_whom_a_project_names() {
    let mut home = Person::new();
    let (_server, url) = server(&home);
    home.variables.push(("MCP_TEXT_EDITOR_TOKEN", TOKEN.to_owned()));
    home.variables.push(("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let evil = format!("http://{}/mcp", listener.local_addr().unwrap());
    for client in led().filter(|client| client.project.is_some()) {
        let install =
            ["install", client.name, "--project", ".", "--token-env", "MCP_TEXT_EDITOR_TOKEN", "--http"];
        home.succeed(&[&install[..], &[&evil]].concat());
        let (code, said) = home.run(&["doctor", client.name]);
        assert!(code == 1 && said.contains("nobody is asked there unasked"), "{said}");
        assert!(listener.accept().is_err(), "{}", client.name);
        home.succeed(&[&install[..], &[&url]].concat());
        let (_, said) = home.run(&["doctor", client.name, "--trust-project"]);
        let asked = client.name == "vscode" || said.contains("answers as mcp-text-editor");
        assert!(asked, "{said}");
    }
}

#[test]
fn doctor_says_of_each_entry_of_a_machine_what_is_true() {
    let mut home = Person::new();
    let (server, url) = server(&home);
    let nobody = nobody();
    home.variables.push(("MCP_TEXT_EDITOR_TOKEN", TOKEN.to_owned()));
    home.variables.push(("OLD_TOKEN", TOKEN.replace('0', "1")));
    write(&home.project.join("a.txt"), "text\n");
    // Our entry, and one that outranks it in this project.
    home.succeed(&["install", "claude-code"]);
    let file = home.home.join(".claude.json");
    let mut said: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    said["projects"][home.project.to_str().unwrap()]["mcpServers"] =
        json!({"text-editor": {"type": "stdio", "command": BINARY, "args": ["--read-only"], "env": {}}});
    write(&file, &said.to_string());
    home.succeed(&["install", "cursor"]);
    // Over HTTP: a right one, one with another token, one where nobody listens, and a project's.
    home.succeed(&["install", "opencode", "--http", &url, "--token-env", "MCP_TEXT_EDITOR_TOKEN"]);
    home.succeed(&["install", "copilot", "--http", &url, "--token-env", "OLD_TOKEN"]);
    home.succeed(&["install", "qwen", "--http", &format!("http://{nobody}/mcp")]);
    home.succeed(&["install", "codex", "--project", ".", "--http", &url]);
    // An entry of the server in Python, a foreign one, and a file that cannot be read.
    let servers = |entry: Value| json!({"mcpServers": {"text-editor": entry}}).to_string();
    write(
        &home.home.join(".codeium/windsurf/mcp_config.json"),
        &servers(json!({"command": "uvx", "args": ["mcp-text-editor"]})),
    );
    write(
        &home.home.join(".junie/mcp/mcp.json"),
        &servers(json!({"command": "npx", "args": ["-y", "some-editor"]})),
    );
    write(&home.home.join(".config/zed/settings.json"), "{\n  \"context_servers\": {,}\n}\n");
    let (code, said) = home.run(&["doctor"]);
    assert_eq!(code, 1);
    let said = said.replace(&server.address.to_string(), "$SERVER").replace(&nobody, "$NOBODY");
    insta::assert_snapshot!("machine", said.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}
