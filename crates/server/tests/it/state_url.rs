//! The program with a database that several machines share.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::session::Session;
use crate::world::World;

#[path = "../../../cluster/src/tests/fixture.rs"]
#[expect(dead_code, reason = "the tests of the database use all of it")]
pub(crate) mod fixture;

const BINARY: &str = env!("CARGO_BIN_EXE_mcp-text-editor");

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(BINARY);
    command.args(arguments).envs(variables.iter().copied()).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_password_is_not_typed_and_not_told() {
    let url = "postgres://me:topsecret@127.0.0.1:1/d";
    let told = |output: &Output| {
        String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
    };
    let typed = run(&["--state-url", url, "tools"], &[]);
    assert_eq!(typed.status.code(), Some(2));
    assert!(told(&typed).contains("is set as MCP_TEXT_EDITOR_STATE_URL"), "{}", told(&typed));
    for (wrong, why) in [
        ("postgres://me:topsecret@127.0.0.1:x/d", "a port is a number"),
        ("mysql://me:topsecret@127.0.0.1/d", "it must begin with postgres://"),
        ("postgres://me:topsecret@127.0.0.1/d?sslmode=allow", "sslmode= is verify-full or disable"),
    ] {
        let output = run(&["tools"], &[("MCP_TEXT_EDITOR_STATE_URL", wrong)]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(told(&output).contains(why) && !told(&output).contains("topsecret"), "{}", told(&output));
    }
    let missing = format!("{url}?sslrootcert=/nowhere");
    let output = run(&["call", "--root", ".", "list_text_files"], &[("MCP_TEXT_EDITOR_STATE_URL", &missing)]);
    assert!(told(&output).contains("sslrootcert=/nowhere cannot be read"), "{}", told(&output));
    for help in ["--help", "--help-all"] {
        assert!(!told(&run(&[help], &[("MCP_TEXT_EDITOR_STATE_URL", url)])).contains("topsecret"));
    }
    let world = World::new();
    let root = world.path("");
    let arguments = ["call", "--log-level", "trace", "--root", root.to_str().unwrap(), "create_text_file"];
    let file = format!("file_path={}", root.join("a").display());
    let arguments = [&arguments[..], &[&file, "contents=a"]].concat();
    let url = format!("{url}?sslmode=disable");
    let output = run(&arguments, &[("MCP_TEXT_EDITOR_STATE_URL", &url), ("PGPASSWORD", "alsosecret")]);
    assert_eq!(output.status.code(), Some(1));
    let told = told(&output);
    assert!(told.contains("this edit cannot be written down for the other machines"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}

/// Starts a server, which the kernel confines if it can, and returns its session.
fn serve(world: &World, url: &str) -> Session {
    world.serve(&["--state-url", url])
}

#[test]
fn an_edit_is_refused_while_the_database_is_away_and_a_confined_server_finds_it_again() {
    let Some(mut server) = fixture::TestServer::start(&[]) else { return };
    let world = World::new();
    // The URL has a host name: the server also looks it up after it is confined.
    let url = server.url().replace("127.0.0.1", "localhost");
    let mut session = serve(&world, &url);
    let mut create = |name: &str| {
        let arguments = json!({"file_path": format!("$ROOT/{name}"), "contents": "text\n"});
        world.call(&mut session, "create_text_file", &arguments)
    };
    assert!(!create("a").is_error);
    server.stop();
    let refused = create("b");
    assert!(refused.is_error && refused.raw.contains("io_error"), "{}", refused.raw);
    assert!(
        refused.raw.contains("this edit cannot be written down for the other machines"),
        "{}",
        refused.raw
    );
    server.go_on();
    let done = create("b");
    assert!(!done.is_error, "{}", done.raw);
    assert_eq!(server.sql("select count(*) from pg_locks where locktype = 'advisory'"), "1");
}
