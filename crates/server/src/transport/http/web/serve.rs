//! Listens on loopback, and serves the page. Ends after a signal, or once no page has sent a request for some
//! time.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::time::timeout;

use super::endpoint::{Pulse, WebEndpoint, page};
use super::keys::Keys;
use crate::history::Past;
use crate::transport;
use crate::transport::http::access::HttpSettings;
use crate::transport::http::connection;
use crate::transport::http::intake::Intake;
use crate::transport::http::places::Places;

/// The maximum number of open connections. A browser uses six.
const CONNECTIONS: u32 = 64;
/// The maximum number of requests that arrive or are in work at a time.
const REQUESTS: u32 = 32;
/// The maximum size, in KiB, of all request bodies in memory at a time.
const INTAKE: u32 = 4 << 10;
/// The maximum number of threads that read or change the history of edits, or wait for its lock.
const THREADS: usize = 8;
/// The maximum number of ports that are tried to find one that is free at 127.0.0.1 and `::1`.
const PORTS: usize = 20;
/// The time for which an ending process waits for requests in work. If this process cannot finish an edit in
/// time, the next start of the program finishes or undoes the edit.
const LAST: Duration = Duration::from_secs(30);

/// The listening sockets of the page, and the keys that admit a browser.
#[derive(Debug)]
pub struct PageListener {
    listeners: Vec<StdListener>,
    address: SocketAddr,
    keys: Keys,
    link: String,
}

impl PageListener {
    /// Returns the link to the page. The link works once.
    #[must_use]
    pub fn link(&self) -> &str {
        &self.link
    }
}

/// The reason why the server of the page has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// A signal asked the process to end.
    Told,
    /// No page was open for some time.
    Left,
}

/// Begins to listen at 127.0.0.1 and, if the machine has it, at `::1`. If `port` is 0, the system chooses a
/// port.
pub fn bind(port: u16) -> io::Result<PageListener> {
    let (keys, code) = Keys::draw()?;
    let mut last = None;
    for _ in 0..PORTS {
        let first = StdListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = first.local_addr()?;
        let mut listeners = vec![first];
        match StdListener::bind((Ipv6Addr::LOCALHOST, address.port())) {
            Ok(second) => listeners.push(second),
            // Another port is tried: a browser could take the program that listens at this port of `::1` for
            // this server.
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                last = Some(error);
                continue;
            }
            Err(error) => tracing::debug!(%error, "there is no ::1"),
        }
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        let link = format!("http://{address}/#{code}");
        return Ok(PageListener { listeners, address, keys, link });
    }
    Err(last.unwrap_or_else(|| ErrorKind::AddrInUse.into()))
}

/// Serves the page until SIGTERM or an interrupt from the keyboard, or until no page has sent a request for
/// the time `idle`. An open page sends a request every second. Then waits for requests in work; a signal
/// meanwhile ends the wait at once.
pub fn serve(past: Past, listener: PageListener, idle: Duration) -> io::Result<EndReason> {
    let runtime =
        Builder::new_multi_thread().worker_threads(2).max_blocking_threads(THREADS).enable_all().build()?;
    let outcome = runtime.block_on(run(past, listener, idle));
    runtime.shutdown_background();
    outcome
}

async fn run(past: Past, listener: PageListener, idle: Duration) -> io::Result<EndReason> {
    let mut end = transport::of_the_end()?;
    let PageListener { listeners, address, keys, link: _ } = listener;
    let (page, policy) = page();
    let pulse = Pulse::new();
    let (intake, is_ending) = (Intake::new(REQUESTS, INTAKE), Arc::new(AtomicBool::new(false)));
    let endpoint = Arc::new(WebEndpoint {
        page,
        policy,
        past: Arc::new(past),
        keys,
        pulse: Arc::clone(&pulse),
        intake: Arc::clone(&intake),
        settings: HttpSettings { address, token: None, hosts: Vec::new(), origins: Vec::new() },
        is_ending: Arc::clone(&is_ending),
    });
    let (places, (stop, stopped)) = (Places::new(CONNECTIONS), watch::channel(()));
    let mut accepting = tokio::task::JoinSet::new();
    for listener in listeners {
        let listener = TcpListener::from_std(listener)?;
        let (places, endpoint, stopped) = (Arc::clone(&places), Arc::clone(&endpoint), stopped.clone());
        accepting.spawn(async move { connection::accept(listener, &places, &endpoint, &stopped).await });
    }
    let ended = tokio::select! {
        _ = end.recv() => EndReason::Told,
        () = pulse.is_idle_for(idle) => EndReason::Left,
    };
    is_ending.store(true, Ordering::Relaxed);
    accepting.abort_all();
    drop(stop);
    intake.end();
    tokio::select! {
        finished = timeout(LAST, intake.until_idle()) => if finished.is_err() {
            tracing::warn!("ended while an edit was being taken back: the next start of the program ends that");
        },
        Some(()) = end.recv() => {}
    }
    Ok(ended)
}
