//! Opens a connection at the first host that accepts it: [`connect`].
//!
//! The SQL condition that the process that owns a record is gone: [`is_free`].
//!
//! Detects pools that pass a session of the database from one client to another: [`is_pooled`].
//!
//! A pool in front of a database serves many connections with few sessions (`PgBouncer`, `Odyssey`, a
//! provider's proxy). If it passes a session on after each transaction or statement, the session's advisory
//! lock outlives the process that took it, and several processes share the lock, so it proves nothing. A pool
//! that keeps a session as long as the connection lasts does no harm.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::{SslMode, SslNegotiation, TargetSessionAttrs};
use tokio_postgres::{Client, Config, Error, NoTls};

use crate::postgres::error::DatabaseError;
use crate::postgres::migrations;
use crate::postgres::tls::Connector;
use crate::postgres::url::{Addresses, Host, StateUrl, password_for};

/// The timeout of the connection to one address of a host, including the handshakes of TLS and of the
/// protocol.
pub(super) const BOUND: Duration = Duration::from_secs(4);

/// The interval of TCP keepalives: after a second of silence, each side probes the other every second, and
/// closes the connection after three probes without an answer.
const IDLE: Duration = Duration::from_secs(1);
/// The time after which each side closes the connection if data that it has sent is not acknowledged.
const UNACKNOWLEDGED: Duration = Duration::from_secs(4);

/// The time after which the server ends a silent session. TCP does not detect a stopped process, whose
/// connection stays open. A running process sends a statement every fifth of this time.
pub(super) const SILENCE: Duration = Duration::from_secs(10);

/// The settings of every session. The TCP settings are [`IDLE`] and [`UNACKNOWLEDGED`] for the server's side.
/// The server enforces the timeouts even if this process is stopped and cannot enforce its own.
const SETTINGS: &str = "set client_min_messages = warning; set tcp_keepalives_idle = 1; set tcp_keepalives_interval = 1; \
    set tcp_keepalives_count = 3; set tcp_user_timeout = 4000; set statement_timeout = '8s'; set lock_timeout = '5s'; \
    set idle_in_transaction_session_timeout = '10s'; set timezone = 'UTC';";

/// Everything that a connection needs. The files that the URL names are read once, at the start, because
/// Landlock may deny them later.
pub(crate) struct SessionSettings {
    pub(super) url: StateUrl,
    addresses: Addresses,
    /// The hosts in the order of the URL.
    pub(super) hosts: Vec<HostLogin>,
    tls: Option<Connector>,
}

/// A host of the URL, and the password for it.
pub(super) struct HostLogin {
    host: Host,
    port: u16,
    password: Option<String>,
}

/// A running connection. Dropping it closes the connection.
pub(super) struct Running(JoinHandle<Result<(), tokio_postgres::Error>>);

impl Running {
    fn new<F>(connection: F) -> Self
    where
        F: Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static,
    {
        Self(tokio::spawn(connection))
    }

    /// Waits until the connection has ended, and returns the reason.
    pub(super) async fn end(&mut self) -> DatabaseError {
        match (&mut self.0).await {
            Ok(Err(error)) => DatabaseError::of_statement(&error),
            Ok(Ok(())) | Err(_) => DatabaseError::Ended("it was closed".to_owned()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl fmt::Debug for SessionSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Settings({})", self.url)
    }
}

impl HostLogin {
    pub(super) fn is_tcp(&self) -> bool {
        matches!(self.host, Host::Tcp(_))
    }
}

impl fmt::Display for HostLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl SessionSettings {
    /// Reads the files that the URL names, and looks up its hosts. The error is meant for the person who
    /// wrote the URL.
    pub(crate) fn new(url: StateUrl) -> Result<Self, String> {
        let (mut hosts, addresses) = (Vec::new(), Addresses::default());
        for (host, port) in &url.hosts {
            let password = match (url.password(), &url.password_file) {
                (Some(password), _) => Some(password.to_owned()),
                (None, Some(file)) => password_for(&url, host, *port, file)
                    .map_err(|error| format!("the file of passwords {}: {error}", file.display()))?,
                (None, None) => None,
            };
            hosts.push(HostLogin { host: host.clone(), port: *port, password });
        }
        let has_tcp = hosts.iter().any(HostLogin::is_tcp);
        let tls = (url.has_tls && has_tcp).then(|| Connector::trusting(url.root_certificates.as_deref()));
        for (host, _) in &url.hosts {
            if let Host::Tcp(name) = host {
                addresses.of(name);
            }
        }
        Ok(Self { tls: tls.transpose()?, url, addresses, hosts })
    }

    pub(super) fn ports(&self) -> Vec<u16> {
        self.hosts.iter().filter(|login| login.is_tcp()).map(|login| login.port).collect()
    }

    /// Returns a configuration for each address of a host; empty if its name has no address.
    pub(super) fn configs(&self, login: &HostLogin) -> Vec<Config> {
        let mut config = self.config();
        config.port(login.port);
        if let Some(password) = &login.password {
            config.password(password);
        }
        match &login.host {
            #[cfg(unix)]
            Host::Unix(directory) => vec![config.host_path(directory).clone()],
            #[cfg(not(unix))]
            Host::Unix(_) => Vec::new(),
            Host::Tcp(name) => {
                let of = |address| config.clone().host(name).hostaddr(address).clone();
                self.addresses.of(name).into_iter().map(of).collect()
            }
        }
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config
            .user(&self.url.user)
            .dbname(&self.url.database)
            .application_name("mcp-text-editor")
            .connect_timeout(BOUND)
            .keepalives(true)
            .keepalives_idle(IDLE)
            .keepalives_interval(IDLE)
            .keepalives_retries(3)
            .tcp_user_timeout(UNACKNOWLEDGED)
            .ssl_negotiation(SslNegotiation::Postgres)
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        config
    }
}

/// Opens a session at the first host that accepts writes, and prepares this program's schema with the tables
/// of this version.
pub(super) async fn connect(settings: &SessionSettings) -> Result<(Client, Running), DatabaseError> {
    let mut failed = DatabaseError::Unreachable("it has no host".to_owned());
    for login in &settings.hosts {
        let (configs, to) = (settings.configs(login), login.to_string());
        if configs.is_empty() {
            failed = DatabaseError::Unreachable(format!("{to}: the name is not known"));
        }
        for config in configs {
            match timeout(BOUND, open(settings, config, login.is_tcp())).await {
                Ok(Ok((mut client, running))) => {
                    let prepared = timeout(BOUND, set_up(&mut client, &settings.url.schema)).await;
                    // If this fails, no other host is tried, since it would have the same database.
                    prepared.unwrap_or(Err(DatabaseError::TimedOut(BOUND.as_secs())))?;
                    return Ok((client, running));
                }
                Ok(Err(error)) => failed = DatabaseError::of_connecting(&to, &error),
                Err(_) => failed = DatabaseError::Unreachable(format!("{to}: it does not answer")),
            }
        }
    }
    Err(failed)
}

/// Opens a session with the server's default settings. Does nothing else.
pub(super) async fn open(
    settings: &SessionSettings,
    mut config: Config,
    is_tcp: bool,
) -> Result<(Client, Running), tokio_postgres::Error> {
    if let Some(tls) = settings.tls.as_ref().filter(|_| is_tcp) {
        config.ssl_mode(SslMode::Require);
        let (client, connection) = config.connect(tls.clone()).await?;
        return Ok((client, Running::new(connection)));
    }
    config.ssl_mode(SslMode::Disable);
    let (client, connection) = config.connect(NoTls).await?;
    Ok((client, Running::new(connection)))
}

async fn set_up(client: &mut Client, schema: &str) -> Result<(), DatabaseError> {
    let statements = format!("{SETTINGS} set search_path = {}", migrations::quoted(schema));
    client.batch_execute(&statements).await.map_err(|error| DatabaseError::of_statement(&error))?;
    migrations::prepare(client, schema).await
}

/// The condition that no session has the lock of the owner of record `r`. The view `pg_locks` has the number
/// of a bigint lock in two halves.
macro_rules! is_free {
    () => {
        "not exists (select from pg_catalog.pg_locks l
            where l.locktype = 'advisory' and l.granted and l.objsubid = 1
                and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
                and l.classid = (r.owner >> 32)::oid and l.objid = (r.owner & 4294967295)::oid)"
    };
}
pub(crate) use is_free;

/// The number of times that two connections are compared. Once is not enough, because the session that a pool
/// gives next depends on its other clients.
const ROUNDS: usize = 3;

/// Tells whether two open connections share a session of the database, or whether one of them has been given
/// another session.
///
/// While the second connection has an open transaction, a pool gives another session to the first connection.
/// So both are queried in turn.
pub(super) async fn is_pooled(first: &Client, second: &Client) -> Result<bool, Error> {
    let mut known = process(first).await?;
    for _ in 0..ROUNDS {
        match second.batch_execute("begin transaction read only").await {
            // A pool that gives a session only for one statement refuses a transaction.
            Err(error) if error.as_db_error().is_some() => return Ok(true),
            begun => begun?,
        }
        let others = process(second).await?;
        let now = process(first).await?;
        second.batch_execute("rollback").await?;
        if others == known || now != known {
            return Ok(true);
        }
        known = now;
    }
    Ok(false)
}

/// Returns the number of the server's process behind a connection.
pub(super) async fn process(client: &Client) -> Result<i32, Error> {
    client.query_typed_one("select pg_backend_pid()", &[]).await?.try_get(0)
}
