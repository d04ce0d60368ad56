//! The secret that admits a browser. A browser gets the secret in exchange for the code in the link. The link
//! works only once.
//!
//! Finds the user whose program has made a connection over loopback. Other users of the machine can see the
//! link in the list of processes, and could use it first.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use hyper::header::HeaderMap;

use crate::transport::http::access::Token;

/// The code of the link, and the secret for which it is exchanged. A request has one of them in the header
/// `Authorization`.
#[derive(Debug)]
pub(super) struct Keys(Mutex<KeyState>);

enum KeyState {
    /// No browser has redeemed the code.
    Offered { code: Token, secret: String },
    /// A browser has redeemed the code.
    Given { secret: Token },
}

impl std::fmt::Debug for KeyState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Offered { .. } => "Offered",
            Self::Given { .. } => "Given",
        })
    }
}

impl Keys {
    /// Draws a random code and secret. Also returns the code as text, which is stored nowhere else.
    pub(super) fn draw() -> io::Result<(Self, String)> {
        let (code, secret) = (drawn()?, drawn()?);
        let standing = KeyState::Offered { code: token(&code)?, secret };
        Ok((Self(Mutex::new(standing)), code))
    }

    /// Returns the secret if the request has the code, and no request has redeemed the code before.
    pub(super) fn redeem(&self, headers: &HeaderMap) -> Option<String> {
        let mut standing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let KeyState::Offered { code, secret } = &mut *standing else { return None };
        if !code.is_in(headers) {
            return None;
        }
        let secret = std::mem::take(secret);
        *standing = KeyState::Given { secret: token(&secret).ok()? };
        Some(secret)
    }

    /// Tells whether a request has the secret.
    pub(super) fn admit(&self, headers: &HeaderMap) -> bool {
        let standing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(&*standing, KeyState::Given { secret } if secret.is_in(headers))
    }
}

/// Draws 256 random bits, and returns them as hexadecimal digits.
fn drawn() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::from)?;
    Ok(bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    }))
}

fn token(text: &str) -> io::Result<Token> {
    Token::new(text.as_bytes()).map_err(io::Error::other)
}

/// Tells whether a connection is known to be another user's. Root does not count as another user, because
/// nothing can keep root out.
#[cfg(target_os = "linux")]
pub(super) fn is_anothers(client: SocketAddr, server: SocketAddr) -> bool {
    let own = rustix::process::geteuid().as_raw();
    owner(client, server).is_some_and(|owner| owner != own && owner != 0)
}

/// Returns false: only Linux lists the users of connections.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_anothers(_: SocketAddr, _: SocketAddr) -> bool {
    false
}

/// Returns the user id of the connection's client from `/proc/net/tcp` (`proc_pid_net(5)`); `None` if the
/// connection is not listed, for instance because it is in another network namespace.
#[cfg(target_os = "linux")]
fn owner(client: SocketAddr, server: SocketAddr) -> Option<u32> {
    let table = if client.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    #[expect(clippy::disallowed_methods, reason = "the kernel's own table lies in no root")]
    let table = std::fs::read_to_string(table).ok()?;
    listed(&table, client, server)
}

/// Finds the user id of a connection's client in the table. The table lists both ends; in the row of the
/// client's end, the local address is the client's.
#[cfg(target_os = "linux")]
fn listed(table: &str, client: SocketAddr, server: SocketAddr) -> Option<u32> {
    let (client, server) = (spelled(client), spelled(server));
    table.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let is_it = fields.next() == Some(client.as_str()) && fields.next() == Some(server.as_str());
        // The field of the user follows those of the state, the queues, the timer and the retransmissions.
        fields.nth(4).filter(|_| is_it)?.parse().ok()
    })
}

/// Writes an address as the kernel does: words of 32 bits in the machine's byte order, and the port.
#[cfg(target_os = "linux")]
fn spelled(address: SocketAddr) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    let mut words = |bytes: &[u8]| {
        for word in bytes.chunks_exact(4) {
            let word = <[u8; 4]>::try_from(word).map_or(0, u32::from_ne_bytes);
            let _ = write!(out, "{word:08X}");
        }
    };
    match address {
        SocketAddr::V4(address) => words(&address.ip().octets()),
        SocketAddr::V6(address) => words(&address.ip().octets()),
    }
    let _ = write!(out, ":{:04X}", address.port());
    out
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use hyper::header::AUTHORIZATION;

    use super::*;

    #[test]
    fn the_code_is_redeemed_once_and_the_secret_alone_admits() {
        let with =
            |token: &str| HeaderMap::from_iter([(AUTHORIZATION, format!("Bearer {token}").parse().unwrap())]);
        let (keys, code) = Keys::draw().unwrap();
        assert_eq!(code.len(), 64);
        assert_eq!((keys.redeem(&with("other")), keys.redeem(&HeaderMap::new())), (None, None));
        assert!(!keys.admit(&with(&code)) && !keys.admit(&HeaderMap::new()));
        let secret = keys.redeem(&with(&code)).unwrap();
        assert_ne!(secret, code);
        assert!(keys.admit(&with(&secret)) && !keys.admit(&with(&code)) && !keys.admit(&with("")));
        assert_eq!((keys.redeem(&with(&code)), keys.redeem(&with(&secret))), (None, None));
        assert!(!format!("{keys:?}").contains(&secret));
    }

    #[test]
    fn the_owner_of_a_connection_is_known() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let server = listener.local_addr().unwrap();
            let stream = TcpStream::connect(server).unwrap();
            let client = stream.local_addr().unwrap();
            assert_eq!(owner(client, server), Some(rustix::process::geteuid().as_raw()), "{address}");
            assert!(!is_anothers(client, server));
            assert_eq!(owner(server, "127.0.0.1:1".parse().unwrap()), None);
        }
    }

    #[test]
    fn the_kernel_s_table_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     \u{20}  0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 1 1\n\
                     \u{20}  1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 2 1\n";
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        if cfg!(target_endian = "little") {
            assert_eq!(listed(table, at(50_000), at(8_080)), Some(1_000));
            assert_eq!(listed(table, at(50_001), at(8_080)), None);
        }
        assert_eq!(listed("", at(1), at(2)), None);
    }
}
