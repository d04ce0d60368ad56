//! Tests of access over HTTP: the token and its file, addresses that other machines can reach, pages in a
//! browser.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::http_client::{HttpServer, request, send};
use crate::session::BINARY;
use crate::world::World;

/// Runs the program, which must refuse to start. Returns its exit code, and its message.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(BINARY).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.stdout, b"");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[cfg(unix)]
pub(crate) fn write_token(world: &World, text: &str, mode: u32) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    world.write("token", text);
    let path = world.path("token");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn only_loopback_is_served_without_a_token() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80", "[::ffff:192.0.2.1]:80"] {
        let (code, said) = refused(&["--http", address, "/"]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.starts_with(&format!("mcp-text-editor: --http {address} can be reached from other machines, so it needs --token-file FILE;")), "{said}");
    }
    for address in ["", "8000", "127.0.0.1", "example.com:80", "localhost:99999"] {
        let (code, said) = refused(&["--http", address, "--token-file", "/nowhere", "/"]);
        assert_eq!(code, Some(2), "{address}: {said}");
    }
    let world = World::new();
    let root = world.path("");
    for address in ["127.0.0.1:0", "localhost:0", "127.0.0.2:0"] {
        let server = HttpServer::start_at(address, &[root.to_str().unwrap()]);
        assert_eq!(send(server.address, "GET /healthz", &[], b"").status, 200);
    }
}

#[cfg(unix)]
#[test]
fn a_token_file_that_others_can_read_is_refused() {
    let world = World::new();
    for mode in [0o644, 0o640, 0o604, 0o660, 0o601] {
        let file = write_token(&world, "secret\n", mode);
        let (code, said) = refused(&["--http", "127.0.0.1:0", "--token-file", &file, "/"]);
        assert_eq!(code, Some(2));
        assert_eq!(
            said,
            format!(
                "mcp-text-editor: --token-file {file}: its mode is {mode:04o}, so others can read or change it; chmod 600 makes it yours alone\n"
            )
        );
    }
    let why = |text: &str| {
        let file = write_token(&world, text, 0o600);
        let (code, said) = refused(&["--http", "127.0.0.1:0", "--token-file", &file, "/"]);
        assert_eq!(code, Some(2));
        said.replace(&format!("mcp-text-editor: --token-file {file}: "), "")
    };
    insta::assert_snapshot!(why("\n"), @"it is empty");
    insta::assert_snapshot!(why("two words"), @"a token is one word of printable ASCII");
    insta::assert_snapshot!(why(&"a".repeat(5_000)), @"it is too long for a token");
    let directory = world.path("");
    let (code, said) = refused(&["--http", "127.0.0.1:0", "--token-file", directory.to_str().unwrap(), "/"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = refused(&["--token-file", directory.to_str().unwrap(), "/"]);
    assert_eq!(
        (code, said.as_str()),
        (Some(2), "mcp-text-editor: --token-file is for --http: without it nothing asks for a token\n")
    );
}

/// A file that another user could change, or on which the program would block, is refused.
#[cfg(unix)]
#[test]
fn a_token_file_is_a_regular_one_of_this_user() {
    let world = World::new();
    let why = |path: &std::path::Path| {
        let path = path.to_str().unwrap();
        let (code, said) = refused(&["--http", "127.0.0.1:0", "--token-file", path, "/"]);
        assert_eq!(code, Some(2), "{said}");
        said.replace(&format!("mcp-text-editor: --token-file {path}: "), "")
    };
    let fifo = world.path("fifo");
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(&fifo).status().unwrap().success());
    insta::assert_snapshot!(why(&fifo), @"it is no regular file");
    insta::assert_snapshot!(why(std::path::Path::new("/dev/null")), @"it is no regular file");
    let file = write_token(&world, "secret", 0o600);
    if let Err(error) = std::os::unix::fs::chown(&file, Some(12_345), None) {
        return eprintln!("skipped: {error}");
    }
    insta::assert_snapshot!(why(std::path::Path::new(&file)), @"it belongs to another user (12345), who knows and can change it; chown makes it yours");
}

#[cfg(unix)]
#[test]
fn who_has_no_token_gets_nothing() {
    let world = World::new();
    let file = write_token(&world, "  secret-42\n", 0o400);
    let root = world.path("");
    // With a token any address is allowed.
    let server = HttpServer::start_at("0.0.0.0:0", &["--token-file", &file, root.to_str().unwrap()]);
    let address = format!("127.0.0.1:{}", server.address.port()).parse().unwrap();
    let list = request(1, "tools/list", &json!({})).to_string();
    let ask = |what: &str, headers: &[(&str, &str)]| send(address, what, headers, list.as_bytes());
    for headers in [
        &[][..],
        &[("Authorization", "Bearer secret")],
        &[("Authorization", "Bearer secret-421")],
        &[("Authorization", "Bearer")],
        &[("Authorization", "Basic secret-42")],
        &[("Authorization", "secret-42")],
        &[("X-Token", "secret-42")],
    ] {
        for what in ["POST /mcp", "GET /mcp", "GET /metrics"] {
            let response = ask(what, headers);
            assert_eq!(
                (response.status, response.header("www-authenticate")),
                (401, Some("Bearer")),
                "{what} {headers:?}"
            );
        }
        assert_eq!(ask("GET /healthz", headers).status, 200);
    }
    for value in ["Bearer secret-42", "bearer secret-42"] {
        let response = ask("POST /mcp", &[("Authorization", value)]);
        assert_eq!((response.status, &response.json()["id"]), (200, &json!(1)));
        assert_eq!(ask("GET /metrics", &[("Authorization", value)]).status, 200);
    }
}

/// After a 401 clients look for OAuth, and show their user the description in the answer to their
/// registration, or nothing.
#[cfg(unix)]
#[test]
fn who_looks_for_oauth_is_told_what_there_is_instead() {
    let world = World::new();
    let file = write_token(&world, "secret", 0o600);
    let root = world.path("");
    let root = root.to_str().unwrap();
    let [asks, open] = [&["--token-file", &file, root][..], &[root]].map(HttpServer::start);
    let told = |server: &HttpServer, request: &str| {
        let response = send(server.address, request, &[("Content-Type", "application/json")], b"{}");
        assert_eq!(response.status, 404, "{request}");
        let said = response.json();
        assert_eq!(said["error"], "access_denied");
        said["error_description"].as_str().unwrap().to_owned()
    };
    let said = told(&asks, "POST /register");
    insta::assert_snapshot!(said, @"this server does not use OAuth: it asks for a token of its own. Have the client send it with each request, in the header 'Authorization: Bearer TOKEN' (mcp-remote: --header 'Authorization: Bearer TOKEN')");
    // RFC 6749, section 5.2, limits the characters of a description to these.
    assert!(said.bytes().all(|byte| matches!(byte, 0x20..0x7f) && !matches!(byte, b'"' | b'\\')));
    for request in
        ["GET /.well-known/oauth-protected-resource/mcp", "GET /.well-known/oauth-authorization-server"]
    {
        assert_eq!(told(&asks, request), said);
    }
    insta::assert_snapshot!(told(&open, "POST /register"), @"this server does not use OAuth: it asks for no token. MCP is at /mcp");
}

#[test]
fn a_page_of_an_allowed_origin_may_call_and_read_the_answer() {
    let world = World::new();
    let root = world.path("");
    let server = HttpServer::start(&["--allow-origin", "https://app.example", root.to_str().unwrap()]);
    let list = request(1, "tools/list", &json!({})).to_string();
    let ask = |what: &str, origin: &str| send(server.address, what, &[("Origin", origin)], list.as_bytes());
    let asked = ask("OPTIONS /mcp", "https://app.example");
    assert_eq!((asked.status, asked.header("access-control-allow-methods")), (204, Some("POST")));
    for what in ["OPTIONS /mcp", "POST /mcp"] {
        let response = ask(what, "https://app.example");
        assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example"));
        assert_eq!(response.header("vary"), Some("Origin"));
        let response = ask(what, "https://app.example:8443");
        assert_eq!((response.status, response.header("access-control-allow-origin")), (403, None));
    }
}
