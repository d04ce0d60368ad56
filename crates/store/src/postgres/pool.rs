//! Pools that give a session of the database to others in between: [`is_pooled`] finds them.
//!
//! In front of a database may stand what makes many connections of few sessions (`PgBouncer`, `Odyssey`, a
//! provider's proxy). Where it hands a session on after each transaction or statement, a session's advisory
//! lock outlives its process and is shared by several; so nothing that is built on it holds. A pool that
//! keeps a session for as long as the connection does is as good as none.

use tokio_postgres::{Client, Error};

/// The number of looks at two connections: what a pool gives next depends on who else uses it.
const ROUNDS: usize = 3;

/// Tells whether two connections that are both open have one session of the database, or one of them another
/// one than before.
///
/// While the second has a transaction open a pool gives the first whatever else it has, so that both are
/// asked in turn.
pub(super) async fn is_pooled(first: &Client, second: &Client) -> Result<bool, Error> {
    let mut known = process(first).await?;
    for _ in 0..ROUNDS {
        match second.batch_execute("begin transaction read only").await {
            // A pool that gives a session for a statement refuses this.
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
