//! The settings of HTTP: [`HttpSettings`], fixed at the start of the process.

use std::net::SocketAddr;

use super::token::Token;

/// The settings of HTTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpSettings {
    /// The address to listen at. With port 0 the system chooses a port.
    pub address: SocketAddr,
    /// The token that a client must send; without one only loopback is served.
    pub token: Option<Token>,
    /// Names, besides `localhost`, that a `Host` may have.
    pub hosts: Vec<String>,
    /// Origins of web pages that may call, besides the server's own.
    pub origins: Vec<String>,
}
