//! Tests of sessions with a real server: schemas that exist, are missing, are of a later version, or belong
//! to another program; servers that restart, or do not answer.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use mcp_text_editor_store::Observer;

use crate::postgres::database::{BOUND, Database};
use crate::postgres::error::DatabaseError;
use crate::postgres::migrations::{MARK, MIGRATIONS, TABLES};
use crate::postgres::session::{SessionSettings, process};
use crate::postgres::url::StateUrl;
use crate::tests::fixture::TestServer;
#[cfg(unix)]
use crate::tests::fixture::readable_directory;

pub(super) fn database(url: StateUrl) -> Database {
    Database::new(SessionSettings::new(url).unwrap().into(), Observer::default())
}

/// Asks a database for a session.
pub(super) fn answer(url: StateUrl) -> Result<(), DatabaseError> {
    database(url).session(Duration::from_millis(100)).map(drop)
}

#[test]
fn a_url_is_taken_apart() {
    let url: StateUrl =
        "postgres://me%40home:p%3Aw@[::1]:5,%2Frun%2Fpg,db/d?sslmode=disable&schema=s%20s".parse().unwrap();
    assert_eq!(url.to_string(), "postgres://me@home@::1:5,/run/pg:5432,db:5432/d?schema=s s");
    assert!(url.has_password() && !format!("{url:?}").contains("p:w"));
    assert_eq!(url.password(), Some("p:w"));
    let url: StateUrl = "postgresql://me@h".parse().unwrap();
    assert_eq!((url.database.as_str(), url.has_tls, url.has_password()), ("me", true, false));
    for (text, why) in [
        ("http://me@h/d", "must begin with"),
        ("postgres://h/d", "names no user"),
        ("postgres://me@/d", "names no host"),
        ("postgres://me@h:0/d", "a port"),
        ("postgres://me:sec@ret:word@h:x/d", "a port"),
        ("postgres://me:sec%ret@h/d", "two digits"),
        ("postgres://me@h/d?sslmode=require", "verify-full or disable"),
        ("postgres://me@h/d?target_session_attrs=standby", "read-write"),
        ("postgres://me@h/d?schema=", "schema="),
        ("postgres://me@h/d?schema=a\0b", "schema="),
        (&format!("postgres://me@h/d?schema={}", "x".repeat(64)), "schema="),
        ("postgres://m%00e@h/d", "two digits"),
        ("postgres://me@h/d?sslcert=secret", "takes"),
        ("postgres://me:sec#ret@h/d", "%23"),
        ("postgres://me@[::1/d", "no ]"),
    ] {
        let told = text.parse::<StateUrl>().unwrap_err().to_string();
        assert!(told.contains(why) && !told.contains("sec"), "{text}: {told}");
    }
}

#[test]
fn each_parameter_of_a_url_counts() {
    let url = |parameters: &str| format!("postgres://me@h/d?{parameters}").parse::<StateUrl>().unwrap();
    assert_eq!(url("sslmode=verify-full"), url(""));
    assert!(!url("sslmode=disable").has_tls && url("sslmode=disable&sslmode=verify-full").has_tls);
    assert_eq!(url("sslrootcert=%2Fca.pem").root_certificates, Some("/ca.pem".into()));
    for none in ["sslrootcert=/ca.pem&sslrootcert=system", "sslrootcert=/ca.pem&sslrootcert="] {
        assert_eq!(url(none), url(""), "{none}");
    }
    assert_eq!(url("passfile=/pass").password_file, Some("/pass".into()));
    assert_eq!(url("password=p%26w").password(), Some("p&w"));
    assert_eq!(url("password=p&password=w").password(), Some("p"));
    assert_eq!((url("").schema.as_str(), url("schema=mine").schema.as_str()), ("mcp_text_editor", "mine"));
    assert_eq!(url(&format!("schema={}", "x".repeat(63))).schema.len(), 63);
    for ignored in ["read-write", "primary", "any"] {
        assert_eq!(url(&format!("target_session_attrs={ignored}")), url(""), "{ignored}");
    }
    assert_eq!(url("&connect_timeout=7&&application_name=mine&"), url(""));
}

#[test]
fn what_a_url_does_not_say_others_may() {
    let url = |text: &str| text.parse::<StateUrl>().unwrap();
    let some = |text: &str| Some(text.to_owned());
    let (with, without) = (url("postgres://me:own@h/d?passfile=/own"), url("postgres://me@h/d"));
    assert_eq!(with.clone().or_password(some("other")).or_password_file(Some("/other".into())), with);
    assert_eq!(without.clone().or_password(some("")).or_password(None).or_password_file(None), without);
    let both = without.or_password(some("other")).or_password_file(Some("/other".into()));
    assert_eq!(both, url("postgres://me:other@h/d?passfile=/other"));
    assert_eq!(url("postgres://me:@h/d").or_password(some("other")).password(), Some("other"));
}

#[test]
#[cfg(unix)]
fn a_file_of_passwords_is_read_as_by_other_programs() {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pgpass");
    let text = "# h:1:d:me:no\nh:2:d:me:no\nh:1:*:me\\:x:no\n\nh:1:*:me:a\\:b\\\\:c\n*:*:*:*:last\n";
    std::fs::write(&file, text).unwrap();
    let of = |text: &str| {
        let url: StateUrl = text.parse().unwrap();
        let (host, port) = &url.hosts[0];
        crate::postgres::url::password_for(&url, host, *port, &file).map_err(|error| error.to_string())
    };
    std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    assert!(of("postgres://me@h:1/d").unwrap_err().contains("chmod 600"));
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(of("postgres://me@h:1/d"), Ok(Some("a:b\\:c".to_owned())));
    assert_eq!(of("postgres://me@other/d"), Ok(Some("last".to_owned())));
    std::fs::write(&file, "/srv/sockets:5432:d:me:own\nlocalhost:5432:d:me:default\n").unwrap();
    assert_eq!(of("postgres://me@%2Fsrv%2Fsockets/d"), Ok(Some("own".to_owned())));
    assert_eq!(of("postgres://me@%2Fvar%2Frun%2Fpostgresql%2F/d"), Ok(Some("default".to_owned())));
    assert_eq!(of("postgres://me@localhost/d"), Ok(Some("default".to_owned())));
    assert_eq!(of("postgres://me@%2Ftmp/d"), Ok(None), "anyone can listen there");
    std::fs::write(&file, "h:1:d:me:\n").unwrap();
    assert_eq!(of("postgres://me@h:1/d"), Ok(None));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(of("postgres://me@h:1/d"), Ok(None));
    // A file that cannot be opened is an error, unlike a missing file.
    std::os::unix::fs::symlink(&file, &file).unwrap();
    of("postgres://me@h:1/d").unwrap_err();
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(of("postgres://me@h:1/d").unwrap_err(), "it is no file");
}

#[test]
fn what_the_files_of_a_url_lack_is_told_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let settings = |rest: &str| {
        let url = format!("postgres://me:topsecret@127.0.0.1:1/d?{rest}").parse::<StateUrl>().unwrap();
        SessionSettings::new(url).map(|settings| format!("{settings:?}"))
    };
    let none = directory.path().join("none.pem");
    std::fs::write(&none, "no certificate").unwrap();
    let told = settings(&format!("sslrootcert={}", none.display())).unwrap_err();
    assert!(told.contains("none.pem has no certificate"), "{told}");
    // The test does not depend on the certificates that the system trusts.
    if let Err(told) = settings("") {
        assert!(told.contains("sslrootcert= names a file"), "{told}");
    }
    let shown = settings("sslmode=disable").unwrap();
    assert!(
        shown.starts_with("Settings(postgres://me@127.0.0.1:1/d") && !shown.contains("secret"),
        "{shown}"
    );
    let url = format!("postgres://me@127.0.0.1:1/d?sslmode=disable&passfile={}", directory.path().display());
    let told = SessionSettings::new(url.parse().unwrap()).unwrap_err();
    assert!(told.starts_with("the file of passwords "), "{told}");
}

#[test]
fn the_schema_is_made_once_by_whoever_comes_first() {
    let Some(server) = TestServer::shared() else { return };
    let url: StateUrl = server.url().parse().unwrap();
    let schema = url.schema.clone();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| answer(url.clone()).unwrap());
        }
    });
    let tables = format!(
        "select string_agg(tablename, ' ' order by tablename) from pg_tables where schemaname = '{schema}'"
    );
    let mut known = [&TABLES[..], &[MARK]].concat();
    known.sort_unstable();
    assert_eq!(server.sql(&tables), known.join(" "), "each of them is known by its name");
}

#[test]
fn a_role_with_rights_on_the_schema_alone_is_enough() {
    let Some(server) = TestServer::shared() else { return };
    server.sql("create role narrow login; create schema narrow; grant usage, create on schema narrow to narrow; revoke create on database postgres from public");
    let text = |schema| {
        format!("postgres://narrow@127.0.0.1:{}/postgres?sslmode=disable&schema={schema}", server.port)
    };
    answer(text("narrow").parse().unwrap()).unwrap();
    let refused = answer(text("missing").parse().unwrap()).unwrap_err().to_string();
    assert!(
        refused.contains("the schema missing of the database cannot be used: permission denied"),
        "{refused}"
    );
    // If the tables exist, rights on them suffice, and the role need not create any.
    answer(server.url_with("schema=granted").parse().unwrap()).unwrap();
    server.sql(&format!("create role user_alone login; set search_path = granted; grant usage on schema granted to user_alone; grant select on {MARK} to user_alone; grant select, insert, update, delete on {} to user_alone", TABLES.join(", ")));
    answer(text("granted").replace("narrow@", "user_alone@").parse().unwrap()).unwrap();
}

#[test]
fn tables_of_an_earlier_version_are_brought_up_to_date() {
    let Some(server) = TestServer::shared() else { return };
    server.sql(&format!(
        "create schema earlier; set search_path = earlier;
        create table {MARK} (version integer not null, one boolean primary key default true check (one));
        insert into {MARK} (version) values (1); {}
        insert into records (owner, claim, contents, made_by) values (7, 1, 'stays', '')",
        MIGRATIONS[0]
    ));
    for _ in 0..2 {
        answer(server.url_with("schema=earlier").parse().unwrap()).unwrap();
        let now = server.sql(&format!(
            "select version, (select contents from earlier.records), (select count(*) from pg_tables where schemaname = 'earlier')
            from earlier.{MARK}"
        ));
        assert_eq!(now, format!("{}|stays|{}", MIGRATIONS.len(), TABLES.len() + 1));
    }
}

#[test]
fn a_schema_of_a_later_version_or_of_somebody_else_is_refused() {
    let Some(server) = TestServer::shared() else { return };
    server.sql("create schema theirs; create table theirs.letters (text text)");
    let refused = answer(server.url_with("schema=theirs").parse().unwrap()).unwrap_err().to_string();
    assert!(refused.contains("the schema theirs of the database is somebody else's"), "{refused}");
    let url: StateUrl = server.url().parse().unwrap();
    let schema = url.schema.clone();
    answer(url.clone()).unwrap();
    server.sql(&format!("update {schema}.mcp_text_editor_schema set version = 999"));
    let refused = answer(url).unwrap_err().to_string();
    assert!(refused.contains("is of a later version of mcp-text-editor (999; "), "{refused}");
    // Nothing was created or changed.
    assert_eq!(server.sql("select count(*) from pg_tables where schemaname = 'theirs'"), "1");
}

#[test]
fn what_is_wrong_is_told_without_the_password() {
    let Some(server) = TestServer::shared() else { return };
    server.sql("create role barred nologin");
    for (login, host, why) in [
        (
            "barred:topsecret",
            format!("127.0.0.1:{}", server.port),
            "role \"barred\" is not permitted to log in",
        ),
        ("nobody:topsecret", format!("127.0.0.1:{}", server.port), "role \"nobody\" does not exist"),
        ("postgres:topsecret", "127.0.0.1:1".to_owned(), "127.0.0.1:1: error connecting to server: "),
        ("postgres:topsecret", "no.such.name.invalid".to_owned(), "the name is not known"),
    ] {
        let url: StateUrl = format!("postgres://{login}@{host}/postgres?sslmode=disable").parse().unwrap();
        let database = database(url);
        let told = database.session(Duration::ZERO).unwrap_err();
        assert!(told.to_string().contains(why), "{told}");
        assert!(!format!("{told:?} {database:?}").contains("topsecret"));
    }
}

#[test]
fn a_server_without_tls_is_not_asked_for_more() {
    let Some(server) = TestServer::shared() else { return };
    let url = format!("postgres://postgres:topsecret@127.0.0.1:{}/postgres", server.port);
    let directory = tempfile::tempdir().unwrap();
    let Some((authority, ..)) = certificates(directory.path(), "localhost") else { return };
    let told = answer(format!("{url}?sslrootcert={}", authority.display()).parse().unwrap()).unwrap_err();
    assert!(told.to_string().contains("server does not support TLS"), "{told}");
    let told = SessionSettings::new(format!("{url}?sslrootcert=/nowhere").parse().unwrap()).unwrap_err();
    assert!(told.contains("sslrootcert=/nowhere cannot be read"), "{told}");
}

/// Creates an authority, and the certificate and key of a server with this name, with the program `openssl`.
pub(super) fn certificates(
    directory: &std::path::Path,
    name: &str,
) -> Option<(std::path::PathBuf, std::path::PathBuf, std::path::PathBuf)> {
    let [authority, authority_key, certificate, key, request] =
        ["ca.pem", "ca.key", "server.pem", "server.key", "server.csr"].map(|name| directory.join(name));
    let extension = directory.join("names");
    std::fs::write(&extension, format!("subjectAltName=DNS:{name}")).unwrap();
    let openssl = |arguments: &[&str]| {
        Command::new("openssl")
            .args(arguments)
            .current_dir(directory)
            .output()
            .is_ok_and(|done| done.status.success())
    };
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let made = openssl(
        &[
            &["req", "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"],
            &curve[..],
        ]
        .concat(),
    ) && openssl(
        &[&["req", "-subj", "/CN=server", "-keyout", "server.key", "-out", "server.csr"], &curve[..]]
            .concat(),
    ) && openssl(&[
        "x509",
        "-req",
        "-days",
        "2",
        "-in",
        "server.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-extfile",
        "names",
        "-out",
        "server.pem",
    ]);
    drop((authority_key, request));
    if !made {
        assert!(std::env::var_os("REQUIRE_ALL").is_none(), "openssl makes no certificates");
        eprintln!("skipped: openssl makes no certificates");
        return None;
    }
    Some((authority, certificate, key))
}

/// Starts a server that uses TLS with these files.
#[cfg(unix)]
pub(super) fn server_with_tls(certificate: &std::path::Path, key: &std::path::Path) -> Option<TestServer> {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    if crate::tests::fixture::is_root() {
        std::os::unix::fs::chown(key, Some(65534), Some(65534)).unwrap();
    }
    set_permissions(key, Permissions::from_mode(0o600)).unwrap();
    let settings = [
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", certificate.display()),
        format!("ssl_key_file={}", key.display()),
    ];
    TestServer::start(&settings.each_ref().map(String::as_str))
}

#[test]
#[cfg(unix)]
fn with_tls_the_server_must_have_the_name_and_be_known() {
    let directory = readable_directory();
    let Some((authority, certificate, key)) = certificates(directory.path(), "localhost") else { return };
    let Some(server) = server_with_tls(&certificate, &key) else { return };
    let url = |host: &str, rest: &str| {
        format!("postgres://postgres@{host}:{}/postgres?{rest}", server.port).parse::<StateUrl>().unwrap()
    };
    let known = format!("sslrootcert={}", authority.display());
    answer(url("localhost", &known)).unwrap();
    let told = answer(url("127.0.0.1", &known)).unwrap_err().to_string();
    assert!(told.contains("not valid for name"), "another name: {told}");
    let other = tempfile::tempdir().unwrap();
    let Some((other, ..)) = certificates(other.path(), "localhost") else { return };
    let told = answer(url("localhost", &format!("sslrootcert={}", other.display()))).unwrap_err().to_string();
    assert!(told.contains("invalid peer certificate"), "another authority: {told}");
    // The socket has no TLS, and needs none.
    let socket = server.directory().to_str().unwrap().replace('/', "%2F");
    answer(url(&socket, &known)).unwrap();
}

#[test]
fn a_session_is_opened_anew_after_the_server_restarted() {
    let Some(mut server) = TestServer::start(&[]) else { return };
    let database = database(server.url().parse().unwrap());
    let first = database.session(BOUND).unwrap();
    let ask = |session| database.query(session, "select pg_backend_pid()", Vec::new());
    ask(&first).unwrap();
    let held = "select count(*) from pg_locks where locktype = 'advisory'";
    assert_eq!(server.sql(held), "1");
    server.stop();
    assert!(ask(&first).unwrap_err().is_lost());
    while database.session(Duration::ZERO).is_ok() {}
    assert!(database.run(|_| Box::pin(async { Ok(()) })).is_err(), "it is known to be down");
    server.go_on();
    let second = database.session(BOUND).unwrap();
    assert_ne!(first.key, second.key);
    ask(&second).unwrap();
    database.run(|client| Box::pin(async { client.batch_execute("select 1").await })).unwrap();
    drop((first, second, database));
    while server.sql(held) != "0" {}
}

/// A function that temporarily replaces the server's own says that each lock is taken.
#[test]
fn a_session_without_a_lock_of_its_own_is_none() {
    let Some(server) = TestServer::shared() else { return };
    server.sql("create database locked");
    let inside = |statements: &str| server.sql(&format!("\\connect locked\n{statements}"));
    inside(
        "alter function pg_try_advisory_lock(bigint) rename to own_lock;
        create function pg_catalog.pg_try_advisory_lock(bigint) returns boolean language sql as 'select false'",
    );
    let database = database(server.url().replace("/postgres?", "/locked?").parse().unwrap());
    let told = database.session(Duration::ZERO).unwrap_err();
    assert_eq!(told, DatabaseError::Unreachable("a lock was drawn twice".to_owned()));
    inside(
        "drop function pg_try_advisory_lock(bigint);
        alter function own_lock(bigint) rename to pg_try_advisory_lock",
    );
    database.session(BOUND).unwrap();
}

/// A statement whose error says that the session ends, so that its outcome is unknown.
const LOST: &str = "do $$ begin raise exception using errcode = '57P01'; end $$";

#[test]
fn a_session_that_is_over_is_nobodys_and_gives_its_lock_up() {
    let Some(server) = TestServer::shared() else { return };
    server.sql("create role leaver login; create schema left_alone authorization leaver");
    let url =
        format!("postgres://leaver@127.0.0.1:{}/postgres?sslmode=disable&schema=left_alone", server.port);
    let database = database(url.parse().unwrap());
    let first = database.session(BOUND).unwrap();
    database.check().unwrap();
    assert_eq!(database.session(Duration::ZERO).unwrap().key, first.key);
    // Now no other session can be opened.
    server.sql("alter role leaver nologin");
    assert!(database.query(&first, LOST, Vec::new()).unwrap_err().is_lost());
    assert!(database.check().is_err());
    assert!(database.session(Duration::ZERO).is_err());
    let held = format!(
        "select count(*) from pg_locks where locktype = 'advisory' and objid = {}",
        first.key & 0xffff_ffff
    );
    let is_held = || server.sql(&held) != "0";
    assert!((0..100).any(|_| !is_held()), "though this test still has it");
    server.sql("alter role leaver login");
    assert_ne!(database.session(BOUND).unwrap().key, first.key);
}

#[test]
fn work_keeps_its_connection_until_an_answer_is_lost() {
    let Some(server) = TestServer::shared() else { return };
    let database = database(server.url().parse().unwrap());
    database.session(BOUND).unwrap();
    let process_after = |statement: &'static str| {
        database.run(move |client| {
            Box::pin(async move {
                client.batch_execute(statement).await?;
                process(client).await
            })
        })
    };
    let first = process_after("").unwrap();
    assert!(matches!(process_after("select nothing").unwrap_err(), DatabaseError::Refused { .. }));
    assert_eq!(process_after("").unwrap(), first);
    assert!(process_after(LOST).unwrap_err().is_lost());
    let second = process_after("").unwrap();
    assert_ne!(second, first);
    // The server ends the session, as if an administrator had requested it.
    server.sql(&format!("select pg_terminate_backend({second})"));
    while server.sql(&format!("select count(*) from pg_stat_activity where pid = {second}")) != "0" {}
    assert_ne!(process_after("").unwrap(), second);
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in silent.incoming().flatten() {
            let mut some = [0; 8];
            stream.read_exact(&mut some).ok();
            // This is an incomplete answer.
            stream.write_all(b"R").ok();
            kept.push(stream);
        }
    });
    let told =
        answer(format!("postgres://me@127.0.0.1:{port}/d?sslmode=disable").parse().unwrap()).unwrap_err();
    assert!(told.to_string().contains("it does not answer"), "{told}");
}

#[test]
fn a_server_that_takes_no_writes_is_none() {
    let Some(server) = TestServer::start(&["default_transaction_read_only=on"]) else { return };
    let told = answer(server.url().parse().unwrap()).unwrap_err().to_string();
    assert!(told.contains("does not allow writes"), "{told}");
}

#[test]
fn a_statement_that_takes_too_long_ends_the_session() {
    let Some(server) = TestServer::shared() else { return };
    let database = database(server.url().parse().unwrap());
    let session = database.session(BOUND).unwrap();
    let asked = database.query(
        &session,
        "select set_config('statement_timeout', '0', false), pg_sleep(60)",
        Vec::new(),
    );
    assert!(asked.unwrap_err().is_lost());
    assert!(database.query(&session, "select 1", Vec::new()).is_err(), "its lock is given up");
    let next = database.session(BOUND).unwrap();
    database.query(&next, "select 1", Vec::new()).unwrap();
}
