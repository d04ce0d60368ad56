//! `doctor --state-url`: what is wrong with the database of several machines, and with the directories that
//! they share.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::process::{Command, Stdio};

use crate::session::HOME;
use crate::state_url::fixture::TestServer;
use crate::world::World;

/// Returns the exit code of `doctor` for a database, and its output, with names for everything that differs
/// from run to run.
fn doctor(world: &World, server: &TestServer, url: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-text-editor"));
    let home = world.path("../home");
    std::fs::create_dir_all(&home).unwrap();
    let output = command
        .arg("doctor")
        .args(arguments)
        .current_dir(world.path(""))
        .env(HOME, &home)
        .env("MCP_TEXT_EDITOR_STATE_DIR", home.join("state"))
        .env("MCP_TEXT_EDITOR_STATE_URL", url)
        .env_remove("PGPASSWORD")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let said = text(output.stdout) + &text(output.stderr);
    assert!(!said.contains("topsecret"), "{said}");
    let version = server.sql("show server_version");
    let said = said.replace(&server.port.to_string(), "PORT").replace(&version, "VERSION");
    let said = said.replace(world.path("").to_str().unwrap().trim_end_matches('/'), "$ROOT");
    (output.status.code().unwrap(), said)
}

fn url(server: &TestServer, login: &str, schema: &str) -> String {
    format!("postgres://{login}@127.0.0.1:{}/postgres?sslmode=disable&schema={schema}", server.port)
}

#[test]
fn doctor_says_that_all_is_well_with_a_database_and_makes_nothing_in_it() {
    let Some(server) = TestServer::start(&["fsync=on"]) else { return };
    let world = World::new();
    let url = url(&server, "postgres:topsecret", "mine");
    let name = format!("team={}", world.path("").display());
    let (code, said) = doctor(&world, &server, &url, &["--root-name", &name]);
    insta::assert_snapshot!(said, @"
    postgres://postgres@127.0.0.1:PORT/postgres?schema=mine
      127.0.0.1:PORT: PostgreSQL VERSION, without TLS
      the schema mine is made with the first use
      all machines call $ROOT [team]/; whether its locks hold among machines, its mount does not tell
      all is well
    ");
    assert_eq!(code, 0);
    assert_eq!(server.sql("select count(*) from pg_namespace where nspname = 'mine'"), "0");

    world.write("a.txt", "one\n");
    let mut session = world.serve(&["--state-url", &url.replace(":topsecret", ""), "--root-name", &name]);
    let patches = serde_json::json!([{"old_string": "one", "new_string": "two"}]);
    let files = serde_json::json!({"files": [{"file_path": "$ROOT/a.txt", "patches": patches}]});
    assert!(!world.call(&mut session, "patch_text_file_contents", &files).is_error);
    drop(session);
    let bytes = server.sql("select sum(bytes) from mine.edits");
    let (code, said) = doctor(&world, &server, &url, &["--root-name", &name]);
    insta::assert_snapshot!(said.replace(&format!("{bytes} bytes"), "SOME bytes"), @"
    postgres://postgres@127.0.0.1:PORT/postgres?schema=mine
      127.0.0.1:PORT: PostgreSQL VERSION, without TLS
      the schema mine, of version 3, keeps 1 past edit in SOME bytes, and 1 directory name (mcp-text-editor history roots)
      no edit is under way
      all machines call $ROOT [team]/; whether its locks hold among machines, its mount does not tell
      all is well
    ");
    assert_eq!(code, 0);
    server.sql("insert into mine.records (owner, claim, contents, made_by, made_at) values (7, 1, '', '', now() - interval '3 hours')");
    let left = doctor(&world, &server, &url, &["--root-name", &name]).1;
    let wanted = "0 edits under way, and 1 edit left by processes that are gone, the oldest begun 3 h ago: a server that reaches their files ends them";
    assert!(left.contains(wanted), "{left}");
    // A named client must have an entry.
    let (code, said) = doctor(&world, &server, &url, &["cursor", "--root-name", &name]);
    assert!(code == 1 && said.contains("there is no entry of this server"), "{said}");
}

#[test]
fn doctor_says_what_is_wrong_with_a_database_and_what_mends_it() {
    let Some(server) = TestServer::start(&["synchronous_commit=off"]) else { return };
    server.sql(
        "create role me login; create role out nologin; create schema theirs; create table theirs.letters (text text);
        grant usage, create on schema theirs to me",
    );
    let world = World::new();
    let told = |url: &str, arguments: &[&str]| {
        let (code, said) = doctor(&world, &server, url, arguments);
        assert_eq!(code, 1, "{said}");
        said
    };
    let two =
        format!("postgres://out:topsecret@127.0.0.1:1,127.0.0.1:{}/nothing?sslmode=disable", server.port);
    insta::assert_snapshot!(told(&url(&server, "me", "theirs"), &["--root", "missing"]), @"
    postgres://me@127.0.0.1:PORT/postgres?schema=theirs
      127.0.0.1:PORT: PostgreSQL VERSION, without TLS
      wrong: 127.0.0.1:PORT: fsync is off: after a loss of power it can have forgotten what it acknowledged
        mend: write fsync = on in its postgresql.conf, and restart it
      wrong: 127.0.0.1:PORT: synchronous_commit is off: after a loss of power it can have forgotten what it acknowledged
        mend: in the database: alter role me set synchronous_commit = on
      wrong: the schema theirs is somebody else's: it has tables that mcp-text-editor did not make
        mend: name another one in the URL: schema=NAME
      wrong: $ROOT/missing is no directory
        mend: mount it, or name another one by --root
    ");
    insta::assert_snapshot!(told(&two, &["--root-name", &format!("team={}", world.path("").display())]), @r#"
    postgres://out@127.0.0.1:1,127.0.0.1:PORT/nothing?schema=mcp_text_editor
      all machines call $ROOT [team]/; whether its locks hold among machines, its mount does not tell
      wrong: 127.0.0.1:1: there is no connection: Connection refused (os error 111)
        mend: start it, let it listen there (listen_addresses and port of postgresql.conf), and let what is between pass it
      wrong: 127.0.0.1:PORT: it does not let the role out in: role "out" is not permitted to log in
        mend: in the database: create role out login; grant connect on database nothing to out; and a line of pg_hba.conf for this machine
    "#);
    let machine = told(&url(&server, "me", "mine"), &[]);
    assert!(machine.contains("wrong: other machines do not know $ROOT by any name"), "{machine}");
    assert!(
        machine.contains("mend: --root-name NAME=$ROOT, with the same name on each machine"),
        "{machine}"
    );
}
