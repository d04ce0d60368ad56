//! A database that any thread can query, with a timeout for each query: [`Database`].
//!
//! One session is kept open for its advisory lock, which shows other processes that this process lives:
//! [`DatabaseSession`]. Only that session changes the records of the process, so each such statement proves
//! that the lock is held. If the session ends, another session is opened, with another lock. Everything else
//! uses a second connection, [`Database::run`].

use std::future::Future;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use mcp_text_editor_store::Observer;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Mutex as Turn, Notify};
use tokio::time::{sleep, timeout};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::postgres::error::{DatabaseError, DatabaseReport};
use crate::postgres::examine::examine;
use crate::postgres::session;
use crate::postgres::session::{Running, SILENCE, SessionSettings, connect};

/// The maximum time that a statement may take, and that a caller waits for a session.
pub(crate) const BOUND: Duration = Duration::from_secs(8);

/// The pause before the next attempt to connect.
const AGAIN: Duration = Duration::from_millis(500);

/// A value of a statement, with its type.
pub(crate) type Value = (Box<dyn ToSql + Sync + Send>, Type);

/// The future of some work with a connection.
pub(crate) type Work<'c, T> = Pin<Box<dyn Future<Output = Result<T, tokio_postgres::Error>> + Send + 'c>>;

/// A database for all threads of a process. Its connections end when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Database(Arc<Door>);

/// The shared part of the clones. Dropping it ends the thread.
struct Door {
    inner: Arc<Inner>,
    handle: OnceLock<Option<Handle>>,
}

struct Inner {
    settings: Arc<SessionSettings>,
    observer: Observer,
    state: Mutex<State>,
    changed: Condvar,
    /// Signals that the database is not needed any more.
    over: Notify,
    /// The second connection, opened when it is needed.
    second: Turn<Option<(Client, Running)>>,
}

/// The state of the session, as far as this process knows.
enum State {
    /// The session is being opened for the first time.
    Opening,
    Up(Arc<DatabaseSession>),
    Down(DatabaseError),
}

/// A session whose advisory lock shows that this process lives.
#[derive(Debug)]
pub(crate) struct DatabaseSession {
    client: Client,
    /// The number of the lock, which is different for each session.
    pub(crate) key: i64,
    /// The server's process for this session. If another process answers, there is a pool in between.
    process: i32,
    is_over: AtomicBool,
    over: Notify,
}

impl DatabaseSession {
    /// Ends the session, because it is unknown whether its last statement was carried out.
    fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.over.notify_one();
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst) || self.client.is_closed()
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({})", self.0.inner.settings.url)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.inner.over.notify_one();
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: State) {
        *self.state() = state;
        self.changed.notify_all();
    }
}

impl Database {
    /// Creates a database, which does not connect or start a thread before its first use.
    pub(crate) fn new(settings: Arc<SessionSettings>, observer: Observer) -> Self {
        let inner = Inner {
            settings,
            observer,
            state: Mutex::new(State::Opening),
            changed: Condvar::new(),
            over: Notify::new(),
            second: Turn::new(None),
        };
        Self(Arc::new(Door { inner: inner.into(), handle: OnceLock::new() }))
    }

    /// Returns the ports of the database's hosts, except those of Unix sockets.
    pub(crate) fn ports(&self) -> Vec<u16> {
        self.0.inner.settings.ports()
    }

    /// Reports the problems of the database, and the amounts of data in it. Changes nothing there. Takes at
    /// most some seconds for each host.
    pub(crate) fn examine(&self) -> DatabaseReport {
        examine(&self.0.inner.settings)
    }

    /// Starts the thread that keeps the session, if it is not running, and returns its handle.
    fn handle(&self) -> Result<&Handle, DatabaseError> {
        let start = || {
            let runtime = Builder::new_current_thread().enable_all().build().ok()?;
            let (handle, inner) = (runtime.handle().clone(), self.0.inner.clone());
            let work = move || runtime.block_on(keep_session(&inner));
            thread::Builder::new().name("database".to_owned()).spawn(work).ok()?;
            Some(handle)
        };
        let handle = self.0.handle.get_or_init(start).as_ref();
        handle.ok_or_else(|| DatabaseError::Unreachable("no thread can be started".to_owned()))
    }

    /// Returns the session. Waits up to `patience` for a session, and up to [`BOUND`] while the first session
    /// is being opened. If `patience` is zero, fails at once when the session is known to be down.
    pub(crate) fn session(&self, patience: Duration) -> Result<Arc<DatabaseSession>, DatabaseError> {
        self.handle()?;
        let inner = &self.0.inner;
        let began = Instant::now();
        let mut state = inner.state();
        loop {
            let (why, bound) = match &*state {
                State::Up(session) if !session.is_over() => return Ok(session.clone()),
                State::Up(_) => (DatabaseError::Ended("it is being opened anew".to_owned()), patience),
                State::Down(why) => (why.clone(), patience),
                State::Opening => (DatabaseError::TimedOut(BOUND.as_secs()), BOUND),
            };
            let rest = bound.saturating_sub(began.elapsed());
            if rest.is_zero() {
                (inner.observer.database_failed)();
                return Err(why);
            }
            state = inner.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Checks that there is a session right now; the error says why not. Never waits.
    pub(crate) fn check(&self) -> Result<(), DatabaseError> {
        self.handle()?;
        match &*self.0.inner.state() {
            State::Up(session) if !session.is_over() => Ok(()),
            State::Up(_) | State::Opening => Err(DatabaseError::Ended("it is being opened".to_owned())),
            State::Down(why) => Err(why.clone()),
        }
    }

    /// Runs a statement in the session. If [`DatabaseError::is_lost`] holds for the error, it is unknown
    /// whether the statement was carried out, and the session has ended.
    pub(crate) fn query(
        &self,
        session: &Arc<DatabaseSession>,
        statement: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, DatabaseError> {
        let asked = session.clone();
        let done =
            self.wait_for(async move { asked.client.query_typed(statement, &borrowed(&values)).await });
        if done.as_ref().is_err_and(DatabaseError::is_lost) {
            session.end();
        }
        done
    }

    /// Runs `work`, such as a transaction, with exclusive use of the second connection. If it fails for
    /// another reason than a refusal by the server, the next work gets a new connection.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl for<'c> FnOnce(&'c mut Client) -> Work<'c, T> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        // Fails at once if the database is known to be down.
        self.session(Duration::ZERO)?;
        let inner = self.0.inner.clone();
        self.wait_for_any(async move {
            let mut second = inner.second.lock().await;
            let (mut client, running) = match second.take().filter(|(client, _)| !client.is_closed()) {
                Some(open) => open,
                None => connect(&inner.settings).await?,
            };
            let done = work(&mut client).await.map_err(|error| DatabaseError::of_statement(&error));
            // The connection is dropped if its answer was lost, or if this future is dropped.
            if !done.as_ref().is_err_and(DatabaseError::is_lost) {
                *second = Some((client, running));
            }
            done
        })
    }

    fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        self.wait_for_any(async move { work.await.map_err(|error| DatabaseError::of_statement(&error)) })
    }

    /// Runs work on the database's thread, and waits for it, at most [`BOUND`] plus a second.
    fn wait_for_any<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, DatabaseError>> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        let began = Instant::now();
        let (send, receive) = mpsc::channel();
        self.handle()?.spawn(async move {
            let done = timeout(BOUND, work).await;
            // If the caller no longer waits, the answer counts as lost.
            let _ = send.send(done.unwrap_or(Err(DatabaseError::TimedOut(BOUND.as_secs()))));
        });
        // The thread itself can be delayed, so the caller has a timeout, too.
        let done = receive.recv_timeout(BOUND + Duration::from_secs(1));
        let done = done.unwrap_or(Err(DatabaseError::TimedOut(BOUND.as_secs())));
        let observer = &self.0.inner.observer;
        (observer.database_waited)(began.elapsed());
        if done.is_err() {
            (observer.database_failed)();
        }
        done
    }
}

/// Keeps a session open until the database is no longer needed.
async fn keep_session(inner: &Inner) {
    loop {
        let opened = tokio::select! {
            () = inner.over.notified() => return,
            opened = open(inner) => opened,
        };
        match opened {
            Ok((session, mut running)) => {
                tracing::info!(database = %inner.settings.url, "the database is there");
                inner.set(State::Up(session.clone()));
                let why = tokio::select! {
                    () = inner.over.notified() => return,
                    why = running.end() => why,
                    () = session.over.notified() => DatabaseError::Ended("an answer did not come in time".to_owned()),
                    why = heartbeat(&session, SILENCE / 5) => why,
                };
                session.end();
                tracing::warn!(database = %inner.settings.url, "the session with the database ended: {why}");
                inner.set(State::Down(why));
            }
            Err(why) => {
                let is_new = !matches!(&*inner.state(), State::Down(known) if *known == why);
                if is_new {
                    tracing::warn!(database = %inner.settings.url, "{why}");
                }
                inner.set(State::Down(why));
                tokio::select! {
                    () = inner.over.notified() => return,
                    () = sleep(AGAIN) => {}
                }
            }
        }
    }
}

/// Opens a session, and takes its lock. Also opens the second connection, since only two connections can show
/// whether a pool shares sessions.
async fn open(inner: &Inner) -> Result<(Arc<DatabaseSession>, Running), DatabaseError> {
    let (client, running) = connect(&inner.settings).await?;
    let key = drawn();
    let lock = async {
        let statement = "select pg_try_advisory_lock($1), set_config('idle_session_timeout', $2, false), pg_backend_pid()";
        let silence = SILENCE.as_millis().to_string();
        client.query_typed_one(statement, &[(&key, Type::INT8), (&silence, Type::TEXT)]).await
    };
    let row = timeout(BOUND, lock).await.map_err(|_| DatabaseError::TimedOut(BOUND.as_secs()))?;
    let row = row.map_err(|error| DatabaseError::of_statement(&error))?;
    if !row.get::<_, bool>(0) {
        return Err(DatabaseError::Unreachable("a lock was drawn twice".to_owned()));
    }
    let second = connect(&inner.settings).await?;
    let is_pooled = timeout(BOUND, session::is_pooled(&client, &second.0)).await;
    let is_pooled = is_pooled.map_err(|_| DatabaseError::TimedOut(BOUND.as_secs()))?;
    if is_pooled.map_err(|error| DatabaseError::of_statement(&error))? {
        return Err(DatabaseError::Pooled);
    }
    // If the former second connection is still in use, the new one is dropped: the former has ended, or will
    // soon.
    if let Ok(mut kept) = inner.second.try_lock() {
        *kept = Some(second);
    }
    let session = DatabaseSession {
        client,
        key,
        process: row.get(2),
        is_over: AtomicBool::new(false),
        over: Notify::new(),
    };
    Ok((session.into(), running))
}

/// Sends a statement after each pause, so that the server does not end the session for silence. Returns only
/// when that fails, with the reason.
async fn heartbeat(session: &DatabaseSession, pause: Duration) -> DatabaseError {
    let bound = SILENCE / 2;
    loop {
        sleep(pause).await;
        match timeout(bound, session::process(&session.client)).await {
            Ok(Ok(process)) if process == session.process => {}
            Ok(Ok(_)) => return DatabaseError::Pooled,
            Ok(Err(error)) => return DatabaseError::of_statement(&error),
            Err(_) => return DatabaseError::TimedOut(bound.as_secs()),
        }
    }
}

/// Returns values in the form that the client accepts.
pub(crate) fn borrowed(values: &[Value]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    values.iter().map(|(value, of)| (&**value as &(dyn ToSql + Sync), of.clone())).collect()
}

/// Returns a random number for a lock or a claim. It has 62 bits, so two processes hardly ever draw the same
/// number. It is never 0, which stands for no owner.
pub(crate) fn drawn() -> i64 {
    // std takes the seed from the system.
    let drawn = RandomState::new().build_hasher().finish() >> 2;
    i64::try_from(drawn).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::tests::fixture::TestServer;

    #[test]
    fn no_number_is_drawn_twice() {
        let drawn: HashSet<i64> = (0..1000).map(|_| drawn()).collect();
        assert_eq!(drawn.len(), 1000);
        assert!(drawn.iter().all(|number| (1..1 << 62).contains(number)));
    }

    #[test]
    fn a_session_lives_as_long_as_its_own_process_answers() {
        let Some(server) = TestServer::shared() else { return };
        let settings = SessionSettings::new(server.url().parse().unwrap()).unwrap();
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let (client, running) = connect(&settings).await.unwrap();
            let process = session::process(&client).await.unwrap();
            let (is_over, over) = (AtomicBool::default(), Notify::new());
            let mut session = DatabaseSession { client, key: 1, process, is_over, over };
            let pause = Duration::from_millis(1);
            timeout(pause * 100, heartbeat(&session, pause)).await.unwrap_err();
            session.process += 1;
            assert_eq!(heartbeat(&session, pause).await, DatabaseError::Pooled);
            drop(running);
            assert!(heartbeat(&session, pause).await.is_lost());
        });
    }

    #[test]
    fn a_session_does_not_wait_for_work_that_has_the_second_connection() {
        let Some(server) = TestServer::shared() else { return };
        let settings = SessionSettings::new(server.url().parse().unwrap()).unwrap();
        let inner = Database::new(settings.into(), Observer::default()).0.inner.clone();
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let at_work = inner.second.lock().await;
            timeout(BOUND, open(&inner)).await.expect("the work goes on").unwrap();
            assert!(at_work.is_none(), "it is left to the work");
            drop(at_work);
            open(&inner).await.unwrap();
            assert!(inner.second.lock().await.is_some(), "it is kept for the next work");
        });
    }
}
