//! Looks up the addresses of the hosts of a URL: [`Addresses`].

use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// The timeout of the lookup of a name.
const BOUND: Duration = Duration::from_secs(3);

/// The last known addresses of names. A name is looked up again for each connection, since a database can
/// have another address after a failover. If the lookup fails, the last known addresses are used: under
/// Landlock, the system's resolver may be denied a file.
#[derive(Default, Debug)]
pub(super) struct Addresses(Mutex<Vec<(String, Vec<IpAddr>)>>);

impl Addresses {
    /// Returns the addresses of a host, within [`BOUND`]; empty if none is known.
    pub(super) fn of(&self, name: &str) -> Vec<IpAddr> {
        if let Ok(address) = name.parse() {
            return vec![address];
        }
        let found = looked_up(name);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = known.iter().position(|(of, _)| of == name);
        if found.is_empty() {
            return at
                .and_then(|at| known.get(at))
                .map(|(_, addresses)| addresses.clone())
                .unwrap_or_default();
        }
        if let Some(at) = at {
            known.swap_remove(at);
        }
        known.push((name.to_owned(), found.clone()));
        found
    }
}

/// Looks a name up on a separate thread, and abandons the thread if it takes too long: getaddrinfo(3) has no
/// timeout.
fn looked_up(name: &str) -> Vec<IpAddr> {
    let (send, receive) = mpsc::channel();
    let wanted = name.to_owned();
    let look_up = move || {
        let found = (wanted.as_str(), 0).to_socket_addrs();
        let _ = send.send(found.map(|found| found.map(|found| found.ip()).collect()).unwrap_or_default());
    };
    // If the thread does not start, its sender is dropped, and the receiver returns at once.
    let _ = thread::Builder::new().name("names".to_owned()).spawn(look_up);
    receive.recv_timeout(BOUND).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_found_any_more_has_the_addresses_that_it_had() {
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|address| vec![address.parse::<IpAddr>().unwrap()]);
        let known = [("one.invalid", &one), ("other.invalid", &other)];
        let addresses =
            Addresses(known.map(|(name, addresses)| (name.to_owned(), addresses.clone())).to_vec().into());
        assert_eq!(addresses.of("other.invalid"), other);
        assert_eq!(addresses.of("one.invalid"), one);
        assert_eq!(addresses.of("third.invalid"), Vec::<IpAddr>::new());
        assert_eq!(addresses.of("192.0.2.7"), ["192.0.2.7".parse::<IpAddr>().unwrap()]);
    }
}
