//! The state of a database for several machines, as [`examine`](super::examine) finds it: data
//! alone, the words are others'.

use std::time::Duration;

/// The findings about a database, at each of its hosts. Nothing in it is secret.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DatabaseReport {
    /// Its name by the URL, without a password.
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
    /// `HOST:PORT`; of a Unix socket its directory and port.
    pub address: String,
    /// The server that is there, or the reason why nobody was let in.
    pub found: Result<DatabaseFacts, NoSession>,
}

/// The reason why there is no session with a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoSession {
    /// Its name leads to no address.
    UnknownName,
    /// No connection: what the system says.
    Unreachable(String),
    /// Something is there, and says nothing in time.
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
    /// It takes another password.
    WrongPassword,
    /// It lets this role in from nowhere, or not from here: what it says.
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
    /// It lacks what is needed: that is there from `PostgreSQL` 14 on.
    pub is_too_old: bool,
    /// The connection is encrypted, and the server proved its name.
    pub has_tls: bool,
    /// Its answer to writes.
    pub writes: Writes,
    /// A pool stands before it that gives a session of the database to others in between, so that a
    /// session's locks say nothing.
    pub is_pooled: bool,
    /// Settings by which it can forget what it has acknowledged.
    pub forgetful: Vec<&'static str>,
    /// The distance of its clock from this machine's; the time that the answer took counts for the smaller
    /// difference.
    pub clock: ClockOffset,
    /// The schema.
    pub schema: SchemaState,
}

/// The answer of a host to writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    /// It does.
    Taken,
    /// It is a standby, which another server leads.
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
    /// It is not there, or has nothing in it, and is made on first use.
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
    /// It is of an earlier version, and this role may not change its tables, which are this one's.
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

/// The numbers of what is kept in the schema.
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
    /// About what they take up.
    pub bytes: u64,
    /// Names of directories.
    pub roots: u64,
}
