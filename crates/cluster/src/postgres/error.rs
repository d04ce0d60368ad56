//! The errors of the database: [`DatabaseError`].
//!
//! The findings of [`examine`](super::examine) about a database that several machines share. They are data;
//! the callers turn them into text.

use std::error::Error;
use std::time::Duration;

/// The reason why the database did not carry out a request. Its texts never contain a password.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The database cannot be reached, does not admit this role, or is not a server that accepts writes.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// The database did not answer in time.
    #[error("the database did not answer within {0} seconds")]
    TimedOut(u64),
    /// A pool in front of the database passes sessions on to other clients, so their locks prove nothing.
    #[error(
        "a pool hands the sessions of the database on after each transaction, so that nobody's lock can be known by them; the URL is to name the database itself, or a pool in session mode"
    )]
    Pooled,
    /// The session ended before the answer.
    #[error("the session with the database ended: {0}")]
    Ended(String),
    /// The database's schema cannot be used by this version.
    #[error("{0}")]
    Schema(String),
    /// A directory has no name that other machines know.
    #[error("other machines do not know its directory by any name; --root-name gives it one")]
    Unnamed,
    /// The database refused a statement.
    #[error("the database refused: {message} (SQLSTATE {code})")]
    Refused {
        /// The SQLSTATE, five characters.
        code: String,
        /// The server's message.
        message: String,
    },
}

/// The SQLSTATE of a key that already exists.
const UNIQUE_VIOLATION: &str = "23505";

impl DatabaseError {
    /// Returns the error of a statement.
    pub(crate) fn of_statement(error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            // Classes 57 and 25: the server shuts down or starts up, ends the session, or accepts no writes
            // any more.
            Some(answer) if matches!(answer.code().code().get(..2), Some("57" | "25")) => {
                Self::Ended(answer.message().to_owned())
            }
            Some(answer) => {
                Self::Refused { code: answer.code().code().to_owned(), message: answer.message().to_owned() }
            }
            None => Self::Ended(told(error)),
        }
    }

    /// Returns the error of connecting.
    pub(crate) fn of_connecting(to: &str, error: &tokio_postgres::Error) -> Self {
        Self::Unreachable(format!("{to}: {}", told(error)))
    }

    /// Tells whether the statement was refused because another row has the same key.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == UNIQUE_VIOLATION)
    }

    /// Tells whether the outcome is lost, that is, the statement may have been carried out or not.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::TimedOut(_) | Self::Ended(_))
    }
}

/// Returns the text of an error and its causes, in one line.
pub(super) fn told(error: &tokio_postgres::Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return answer.message().to_owned();
    }
    with_causes(error)
}

/// Returns the text of an error and its causes, without causes that the text already contains.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(why) = cause {
        let why_text = why.to_string();
        if !text.contains(&why_text) {
            text = format!("{text}: {why_text}");
        }
        cause = why.source();
    }
    text
}

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

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failed {
        #[error("no connection")]
        Silent(#[source] io::Error),
        #[error("no connection: {0}")]
        Telling(#[source] io::Error),
    }

    #[test]
    fn each_cause_is_told_once() {
        let cause = || io::Error::other("no route");
        for error in [Failed::Silent(cause()), Failed::Telling(cause())] {
            assert_eq!(with_causes(&error), "no connection: no route");
        }
    }
}
