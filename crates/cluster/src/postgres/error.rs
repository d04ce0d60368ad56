//! The errors of the database: [`DatabaseError`].

use std::error::Error;

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
