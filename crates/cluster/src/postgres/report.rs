//! The findings of [`examine`](super::examine) about a database that several machines share. They are data;
//! the callers turn them into text.

use std::time::Duration;

/// The findings about a database, for each of its hosts. It contains no secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DatabaseReport {
    /// Its URL, without a password.
    pub url: String,
    /// The schema that this program uses in the database.
    pub schema: String,
    /// The version of the schema that this program creates, or migrates to.
    pub schema_version: i32,
    /// The database of the URL.
    pub database: String,
    /// The role of the URL.
    pub role: String,
    /// Its hosts, in the order in which they are tried.
    pub hosts: Vec<HostReport>,
}

/// The findings at one host of a URL.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HostReport {
    /// `HOST:PORT`; for a Unix socket, its directory and port.
    pub address: String,
    /// The state of the server, or the reason why there is no session.
    pub found: Result<DatabaseFacts, NoSession>,
}

/// The reason why there is no session with a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoSession {
    /// The host's name has no address.
    UnknownName,
    /// Connecting failed, with the system's message.
    Unreachable(String),
    /// The connection succeeds, but the server does not answer in time.
    Silent,
    /// The server has no TLS, but the URL requires TLS.
    NoTls,
    /// The server's certificate is not from a known authority.
    UnknownAuthority,
    /// The server's certificate is for other names.
    OtherName,
    /// The server's certificate is invalid for another reason, or TLS failed for another reason.
    Tls(String),
    /// The server requires a password, and none is known.
    NoPassword,
    /// The password is wrong.
    WrongPassword,
    /// The server does not admit this role, at all or from this machine, with the server's message.
    NotAdmitted(String),
    /// The server has no such database.
    NoDatabase,
    /// The server has no room for another session, with the server's message.
    Full(String),
    /// The server is starting up, or shutting down, with the server's message.
    NotReady(String),
    /// Any other reason, with the error's text: perhaps the server is not `PostgreSQL`.
    Other(String),
}

/// The state of a host that admits this role.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DatabaseFacts {
    /// The version of the server, in the server's own words.
    pub version: String,
    /// Whether the server is older than `PostgreSQL` 14, and so lacks features that this program needs.
    pub is_too_old: bool,
    /// Whether the connection is encrypted, and the server has proved its name.
    pub has_tls: bool,
    /// Whether the server accepts writes.
    pub writes: Writes,
    /// Whether a pool in front of the server passes sessions from one client to another, so that a session's
    /// locks prove nothing.
    pub is_pooled: bool,
    /// The settings with which the server can lose data that it has acknowledged.
    pub forgetful: Vec<&'static str>,
    /// The difference between the server's clock and this machine's. The time that the answer took is not
    /// included, so this is the smallest possible difference.
    pub clock: ClockOffset,
    /// The schema.
    pub schema: SchemaState,
}

/// Whether a host accepts writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    /// It accepts writes.
    Taken,
    /// It is a standby of another server.
    Standby,
    /// Its transactions are read-only, for this role or for all.
    ReadOnly,
}

/// The difference between two clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockOffset {
    /// The difference.
    pub by: Duration,
    /// Whether the database's clock is ahead.
    pub is_ahead: bool,
}

/// The state of the schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SchemaState {
    /// It does not exist, or is empty, and is created with its tables on first use.
    ToBeMade,
    /// It does not exist, and this role may not create it.
    NotToBeMade,
    /// It exists, but this role may not use it, or may not create tables in it.
    Closed,
    /// It has tables that this program did not create.
    Foreign,
    /// It is of a later version of this program.
    Later(i32),
    /// It is of an earlier version, and is migrated on first use.
    Earlier(i32),
    /// It is of an earlier version, and this role may not change its tables, because they belong to the named
    /// role.
    NotToBeMigrated(i32, String),
    /// It is of this version: with the amounts of data in it or, if it lacks something, the missing parts.
    Current(Result<Kept, Vec<SchemaLack>>),
}

/// A part that a schema of this version lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SchemaLack {
    /// A table.
    Table(String),
    /// A right of this role on a table.
    Right {
        /// `SELECT`, `INSERT`, `UPDATE` or `DELETE`.
        right: String,
        /// The table.
        table: String,
    },
}

/// The amounts of data in the schema.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Kept {
    /// The number of edits that are under way on any machine.
    pub in_work: u64,
    /// The number of edits whose process is gone, and that are not recovered yet.
    pub abandoned: u64,
    /// The age of the oldest edit among these two kinds; `None` if there is none.
    pub oldest: Option<Duration>,
    /// The number of past edits.
    pub edits: u64,
    /// The approximate size in bytes of the past edits.
    pub bytes: u64,
    /// The number of names of directories.
    pub roots: u64,
}
