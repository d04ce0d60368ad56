//! Detects pools that pass a session of the database from one client to another: [`is_pooled`].
//!
//! A pool in front of a database serves many connections with few sessions (`PgBouncer`, `Odyssey`, a
//! provider's proxy). If it passes a session on after each transaction or statement, the session's advisory
//! lock outlives the process that took it, and several processes share the lock, so it proves nothing. A pool
//! that keeps a session as long as the connection lasts does no harm.

use tokio_postgres::{Client, Error};

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
