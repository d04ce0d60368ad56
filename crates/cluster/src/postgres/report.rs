//! The state of a database for several machines, as [`examine`](super::examine) finds it. It is data; others
//! put it into words.

use std::time::Duration;

/// The findings about a database, at each of its hosts. Nothing in it is secret.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DatabaseReport {
    /// Its URL, without a password.
    pub url: String,
    /// The schema that is used in it.
    pub schema: String,
    /// The version that the schema has once this program has used it.
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
    /// Its name leads to no address.
    UnknownName,
    /// There is no connection, with the system's message.
    Unreachable(String),
    /// Something is there, but does not answer in time.
    Silent,
    /// It has no TLS, and the URL wants it.
    NoTls,
    /// Its certificate is not that of a known authority.
    UnknownAuthority,
    /// Its certificate is of other names.
    OtherName,
    /// Its certificate is not valid for another reason, or TLS failed otherwise.
    Tls(String),
    /// It wants a password, and none is known.
    NoPassword,
    /// The password is wrong.
    WrongPassword,
    /// It does not let this role in, at all or from here, with the server's message.
    NotAdmitted(String),
    /// It has no such database.
    NoDatabase,
    /// It has no place for one more session.
    Full(String),
    /// It is starting up, or shutting down.
    NotReady(String),
    /// Anything else: perhaps it is no `PostgreSQL`.
    Other(String),
}

/// The state of a host that lets this role in.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DatabaseFacts {
    /// The version of the server, as it says it.
    pub version: String,
    /// It is older than `PostgreSQL` 14, and lacks what this program needs.
    pub is_too_old: bool,
    /// The connection is encrypted, and the server proved its name.
    pub has_tls: bool,
    /// Its answer to writes.
    pub writes: Writes,
    /// A pool in front of it hands sessions from one client to another, so a session's locks prove nothing.
    pub is_pooled: bool,
    /// Settings by which it can lose what it has acknowledged.
    pub forgetful: Vec<&'static str>,
    /// The difference between its clock and this machine's. It is measured only up to the time that the
    /// answer took, so it is the smallest possible one.
    pub clock: ClockOffset,
    /// The schema.
    pub schema: SchemaState,
}

/// The answer of a host to writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    /// It takes writes.
    Taken,
    /// It is a standby of another server.
    Standby,
    /// Its transactions are read-only, for this role or for all.
    ReadOnly,
}

/// The distance of one clock from another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockOffset {
    /// The difference.
    pub by: Duration,
    /// The database's is ahead.
    pub is_ahead: bool,
}

/// The state of the schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SchemaState {
    /// It is not there, or is empty, and its tables are made on first use.
    ToBeMade,
    /// It is not there, and this role may not make it.
    NotToBeMade,
    /// It is there, and this role may not use it, or may not make tables in it.
    Closed,
    /// It has tables that this program did not make.
    Foreign,
    /// It is of a later version of this program.
    Later(i32),
    /// It is of an earlier version, and becomes this one's on first use.
    Earlier(i32),
    /// It is of an earlier version, and this role may not change its tables, which belong to the role that is
    /// named.
    NotToBeMigrated(i32, String),
    /// It is of this version.
    Current(Result<Kept, Vec<SchemaLack>>),
}

/// A thing that a schema of this version lacks.
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

/// The amounts of what is kept in the schema.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Kept {
    /// Edits that are under way somewhere.
    pub in_work: u64,
    /// Edits whose process is gone, and which nobody has ended yet.
    pub abandoned: u64,
    /// The age of the oldest of both.
    pub oldest: Option<Duration>,
    /// Past edits.
    pub edits: u64,
    /// About the size of these edits.
    pub bytes: u64,
    /// Names of directories.
    pub roots: u64,
}
