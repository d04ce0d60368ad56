//! Tests that the faults of real servers are found, and that the examination changes nothing in them.

use std::net::TcpListener;
use std::process::{Child, Stdio};

use mcp_text_editor_store::Observer;
use tokio::runtime::Builder;

use super::sessions::{answer, database};
#[cfg(unix)]
use super::sessions::{certificates, server_with_tls};
use crate::postgres::database::{BOUND, Database};
use crate::postgres::error::{
    DatabaseError, DatabaseFacts, DatabaseReport, Kept, NoSession, SchemaLack, SchemaState, Writes,
};
use crate::postgres::session::{SessionSettings, is_pooled, open};
use crate::postgres::url::StateUrl;
use crate::tests::fixture::{TestServer, readable_directory, unprivileged};

fn examined(url: &str) -> DatabaseReport {
    let settings = SessionSettings::new(url.parse().unwrap()).unwrap();
    let report = Database::new(settings.into(), Observer::default()).examine();
    assert!(!format!("{report:?}").contains("topsecret"), "{report:?}");
    report
}

/// Returns the reason why the first host has no session.
pub(super) fn refused(url: &str) -> NoSession {
    examined(url).hosts.remove(0).found.unwrap_err()
}

/// Returns the state of the first host.
fn facts(url: &str) -> DatabaseFacts {
    examined(url).hosts.remove(0).found.unwrap()
}

/// Returns the URL of a role that is not the superuser.
fn of_role(server: &TestServer, role: &str, schema: &str) -> String {
    format!("postgres://{role}@127.0.0.1:{}/postgres?sslmode=disable&schema={schema}", server.port)
}

/// Lists all schemas, tables and rights of a server.
fn catalog(server: &TestServer) -> String {
    server.sql(
        "select n.nspname, n.nspacl, c.relname, c.relacl from pg_namespace n left join pg_class c on c.relnamespace = n.oid
        where n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema' and n.nspname not like 'of\\_%' order by 1, 3",
    )
}

#[test]
fn what_keeps_a_role_out_is_told_apart() {
    let Some(server) = TestServer::shared() else { return };
    let url = |login: &str, host: &str, database: &str| {
        format!("postgres://{login}@{host}/{database}?sslmode=disable")
    };
    let here = format!("127.0.0.1:{}", server.port);
    server.sql("create role kept_out nologin");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("127.0.0.1:{}", silent.local_addr().unwrap().port());
    assert_eq!(refused(&url("me", "no.such.name.invalid", "d")), NoSession::UnknownName);
    assert!(matches!(refused(&url("me", "127.0.0.1:1", "d")), NoSession::Unreachable(_)));
    assert!(matches!(refused(&url("kept_out:topsecret", &here, "postgres")), NoSession::NotAdmitted(_)));
    assert_eq!(refused(&url("postgres:topsecret", &here, "nothing")), NoSession::NoDatabase);
    // The listener's queue accepts the connection, but nothing answers.
    let found = refused(&url("me", &silent, "d"));
    assert!(matches!(found, NoSession::Silent | NoSession::Unreachable(_)), "{found:?}");
}

#[test]
fn a_password_that_is_missing_or_another_one_is_told_apart() {
    let directory = readable_directory();
    let rules = directory.path().join("hba");
    std::fs::write(
        &rules,
        "local all all trust\nhost all barred 127.0.0.1/32 reject\nhost all all 127.0.0.1/32 scram-sha-256\n",
    )
    .unwrap();
    let Some(server) = TestServer::start(&[&format!("hba_file={}", rules.display())]) else { return };
    server.sql("create role me login password 'topsecret'; create role barred login");
    let url = |login: &str| of_role(&server, login, "mine");
    assert_eq!(refused(&url("me")), NoSession::NoPassword);
    assert_eq!(refused(&url("me:other")), NoSession::WrongPassword);
    assert!(
        matches!(refused(&url("barred:topsecret")), NoSession::NotAdmitted(why) if why.contains("rejects"))
    );
    assert_eq!(facts(&url("me:topsecret")).schema, SchemaState::NotToBeMade);
    server.sql("revoke connect on database postgres from public");
    assert!(matches!(refused(&url("me:topsecret")), NoSession::NotAdmitted(_)));
}

#[test]
#[cfg(unix)]
fn faults_of_tls_are_told_apart() {
    let directory = readable_directory();
    let Some((authority, certificate, key)) = certificates(directory.path(), "localhost") else { return };
    let Some(plain) = TestServer::shared() else { return };
    let known = format!("sslrootcert={}", authority.display());
    let of = |port, host: &str, known: &str| format!("postgres://postgres@{host}:{port}/postgres?{known}");
    assert_eq!(refused(&of(plain.port, "localhost", &known)), NoSession::NoTls);
    let Some(server) = server_with_tls(&certificate, &key) else { return };
    assert!(facts(&of(server.port, "localhost", &known)).has_tls);
    let socket = server.directory().to_str().unwrap().replace('/', "%2F");
    assert!(!facts(&of(server.port, &socket, &known)).has_tls, "a socket needs none");
    assert_eq!(refused(&of(server.port, "127.0.0.1", &known)), NoSession::OtherName);
    let other = tempfile::tempdir().unwrap();
    let Some((other, ..)) = certificates(other.path(), "localhost") else { return };
    let other = format!("sslrootcert={}", other.display());
    assert_eq!(refused(&of(server.port, "localhost", &other)), NoSession::UnknownAuthority);
}

#[test]
fn what_a_schema_lacks_is_told_and_nothing_is_made() {
    let Some(server) = TestServer::start(&[]) else { return };
    server.sql(
        "create role me login; create role other; create schema closed; create schema empty authorization me;
        create schema theirs; create table theirs.letters (text text); grant usage, create on schema theirs to me;
        create schema full_of_ours; grant usage on schema full_of_ours to me;
        create schema bare; grant usage on schema bare to me",
    );
    let schema = |name: &str| facts(&of_role(&server, "me", name)).schema;
    // This role has no right to any of the superuser's tables.
    let superuser = server.url_with("schema=full_of_ours");
    answer(superuser.parse().unwrap()).unwrap();
    let before = catalog(&server);
    assert_eq!(schema("missing"), SchemaState::NotToBeMade);
    assert_eq!([schema("closed"), schema("bare")], [SchemaState::Closed, SchemaState::Closed]);
    assert_eq!(schema("empty"), SchemaState::ToBeMade);
    assert_eq!(schema("theirs"), SchemaState::Foreign);
    let mark = SchemaLack::Right { right: "SELECT".to_owned(), table: "mcp_text_editor_schema".to_owned() };
    assert_eq!(schema("full_of_ours"), SchemaState::Current(Err(vec![mark])));
    assert_eq!(facts(&superuser).schema, SchemaState::Current(Ok(Kept::default())));
    assert_eq!(catalog(&server), before, "looking changes nothing");

    server.sql("grant create on database postgres to me; grant select, update on all tables in schema full_of_ours to me; grant insert, delete on full_of_ours.edits to me");
    assert_eq!(schema("missing"), SchemaState::ToBeMade);
    let SchemaState::Current(Err(lacks)) = schema("full_of_ours") else { panic!() };
    let of_edits = |lack: &&SchemaLack| matches!(lack, SchemaLack::Right { table, .. } if table == "edits");
    assert!(lacks.len() == 8 && !lacks.iter().any(|lack| of_edits(&lack)), "{lacks:?}");
    server.sql("drop table full_of_ours.roots");
    let SchemaState::Current(Err(lacks)) = facts(&superuser).schema else { panic!() };
    assert_eq!(lacks, [SchemaLack::Table("roots".to_owned())]);

    let version = |version: i32| {
        server.sql(&format!("update full_of_ours.mcp_text_editor_schema set version = {version}"));
    };
    version(1);
    assert_eq!(schema("full_of_ours"), SchemaState::NotToBeMigrated(1, "postgres".to_owned()));
    assert_eq!(facts(&superuser).schema, SchemaState::Earlier(1));
    version(999);
    assert_eq!(schema("full_of_ours"), SchemaState::Later(999));

    // A migration also creates tables.
    server.sql("create schema narrowed; grant usage, create on schema narrowed to me");
    answer(of_role(&server, "me", "narrowed").parse().unwrap()).unwrap();
    server.sql("update narrowed.mcp_text_editor_schema set version = 1");
    assert_eq!(schema("narrowed"), SchemaState::Earlier(1));
    server.sql("revoke create on schema narrowed from me");
    assert_eq!(schema("narrowed"), SchemaState::Closed);
}

#[test]
fn what_is_kept_is_counted() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url();
    let database = database(url.parse().unwrap());
    let session = database.session(BOUND).unwrap();
    let of = url.parse::<StateUrl>().unwrap().schema;
    server.sql(&format!(
        "insert into {of}.records (owner, claim, contents, made_by, made_at) values
            ({}, 1, '', '', now() - interval '3 minutes'), (7, 2, '', '', now() - interval '2 hours');
        insert into {of}.edits (id, tool, made_by, bytes) values ('a', 't', '', 300), ('b', 't', '', 500);
        insert into {of}.roots (name, made_by) values ('team', '')",
        session.key
    ));
    let SchemaState::Current(Ok(kept)) = facts(&url).schema else { panic!() };
    assert_eq!((kept.in_work, kept.abandoned, kept.edits, kept.bytes, kept.roots), (1, 1, 2, 800, 1));
    assert_eq!(kept.oldest.unwrap().as_secs() / 60, 120);
}

#[test]
fn what_a_server_can_forget_and_whether_it_takes_writes_is_told() {
    let Some(mut server) = TestServer::start(&["fsync=on", "full_page_writes=on"]) else { return };
    let url = of_role(&server, "me", "mine");
    server.sql("create role me login");
    let found = facts(&url);
    assert_eq!((found.writes, found.is_too_old, found.is_pooled), (Writes::Taken, false, false));
    assert!(found.forgetful.is_empty() && found.clock.by.as_secs() < 5 && !found.has_tls, "{found:?}");
    server.sql(
        "alter role me set synchronous_commit = off; alter role me set default_transaction_read_only = on",
    );
    let found = facts(&url);
    assert_eq!((found.writes, &found.forgetful[..]), (Writes::ReadOnly, &["synchronous_commit"][..]));
    // There is room for only one connection, so the check for a pool is skipped.
    server.sql("alter role me connection limit 1");
    assert!(!facts(&url).is_pooled);
    server.stop();
    server.is_to_stand_by();
    server.go_on();
    assert_eq!(facts(&url).writes, Writes::Standby);
}

/// A pool in front of a server. Dropping this ends the pool.
struct Pool {
    process: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Starts `PgBouncer` in this mode; returns `None`, with a message, if it is not installed.
fn pool(server: &TestServer, mode: &str) -> Option<Pool> {
    let is_there = unprivileged("pgbouncer").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there {
        assert!(std::env::var_os("REQUIRE_ALL").is_none(), "there is no PgBouncer");
        eprintln!("skipped: there is no PgBouncer");
        return None;
    }
    let directory = readable_directory();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = directory.path().join("pool.ini");
    std::fs::write(
        &settings,
        format!(
            "[databases]\npostgres = host=127.0.0.1 port={} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
            unix_socket_dir =\nauth_type = any\npool_mode = {mode}\n",
            server.port
        ),
    )
    .unwrap();
    let mut command = unprivileged("pgbouncer");
    let process = command.arg("--quiet").arg(settings).stderr(Stdio::null()).spawn().unwrap();
    let pool = Pool { process, port, _directory: directory };
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Some(pool)
}

/// A function that replaces the server's own says which session a connection has, as if a pool had assigned
/// it.
#[test]
fn either_of_two_connections_shows_a_pool() {
    let Some(server) = TestServer::shared() else { return };
    server.sql(
        "create role pooled login; create schema pool; create sequence pool.sessions;
        grant usage on schema pool to pooled; grant usage on sequence pool.sessions to pooled;
        alter role pooled set search_path = pool, pg_catalog",
    );
    let settings = SessionSettings::new(of_role(server, "pooled", "pool").parse().unwrap()).unwrap();
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let connect = || open(&settings, settings.configs(&settings.hosts[0]).remove(0), true);
        let (first, _running) = connect().await.unwrap();
        let (second, running) = connect().await.unwrap();
        // The second connection is queried within a transaction.
        for (of_first, of_second, wanted) in
            [("7", "8", false), ("7", "7", true), ("nextval('pool.sessions')::integer", "0", true)]
        {
            server.sql(&format!(
                "create or replace function pool.pg_backend_pid() returns integer language sql as $$
                    select case when current_setting('transaction_read_only') = 'on' then {of_second} else {of_first} end $$"
            ));
            assert_eq!(is_pooled(&first, &second).await.unwrap(), wanted, "{of_first} {of_second}");
        }
        drop(running);
        assert!(is_pooled(&first, &second).await.unwrap_err().is_closed(), "that shows no pool");
    });
}

#[test]
fn a_pool_that_hands_sessions_on_is_found_and_refused() {
    let Some(server) = TestServer::shared() else { return };
    for (mode, is_pooled) in [("session", false), ("transaction", true), ("statement", true)] {
        let Some(pool) = pool(server, mode) else { return };
        let url = server.url().replace(&format!(":{}/", server.port), &format!(":{}/", pool.port));
        assert_eq!(facts(&url).is_pooled, is_pooled, "{mode}");
        let told = answer(url.parse().unwrap());
        match mode {
            "session" => told.unwrap(),
            "transaction" => assert_eq!(told, Err(DatabaseError::Pooled)),
            // The tables are created in a transaction, which such a pool refuses.
            _ => assert!(told.is_err()),
        }
    }
}
