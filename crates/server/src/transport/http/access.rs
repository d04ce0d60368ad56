//! Decides whether a request is accepted, by its bearer token (RFC 6750), its host and its origin.
//! [`HttpSettings`] holds the accepted values.
//!
//! The checks of host and origin keep web pages from reaching the server through a browser. A page whose own
//! name resolves to this server's address (DNS rebinding) sends that name as `Host`, and every page sends its
//! `Origin`.
//!
//! Most clients look for OAuth after a 401. The only answer that they then show to people is the error of the
//! registration, if the error has the form of RFC 7591 (section 3.2.2). So `oauth_refusal` makes an error of
//! this form, which says which credentials the server requires instead.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{Response, StatusCode, Uri};
use mcp_text_editor_core::digest::Digest;
use serde_json::json;
use subtle::ConstantTimeEq as _;

use super::headers::{self, Body};

/// The settings of HTTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpSettings {
    /// The address to listen at. With port 0 the system chooses a port.
    pub address: SocketAddr,
    /// The token that a client must send; if it is `None`, only loopback is served.
    pub token: Option<Token>,
    /// Names that are accepted in `Host`, in addition to `localhost` and IP addresses.
    pub hosts: Vec<String>,
    /// Origins of web pages that may call the server, in addition to the server's own.
    pub origins: Vec<String>,
}

/// A bearer token. Only its digest is kept, and the digest is neither logged nor shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Digest);

/// The reason why a text cannot be a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenError {
    /// The text has only white space.
    #[error("it is empty")]
    Empty,
    /// The text has several words, or characters other than printable ASCII.
    #[error("a token is one word of printable ASCII")]
    NotOneWord,
}

impl Token {
    /// Makes a token from a text. Leading and trailing blanks and line ends do not count.
    pub fn new(text: &[u8]) -> Result<Self, TokenError> {
        let token = text.trim_ascii();
        if token.is_empty() {
            return Err(TokenError::Empty);
        }
        if !token.iter().all(u8::is_ascii_graphic) {
            return Err(TokenError::NotOneWord);
        }
        Ok(Self(Digest::of(token)))
    }

    /// Tells whether a request carries the token. Compares the digests in constant time, so the time reveals
    /// nothing about the token.
    pub(super) fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((scheme, token)) = value.as_bytes().split_at_checked("Bearer ".len()) else { return false };
        let sent = Digest::of(token.trim_ascii());
        scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(sent.as_bytes().ct_eq(self.0.as_bytes()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The reason why a request is not served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OriginError {
    /// The request is addressed to a name that is not this server's, or does not have exactly one `Host`.
    Host,
    /// The request comes from a web page that may not call the server.
    Origin,
}

/// Checks `Host` and `Origin`. IP addresses and `localhost` are accepted as hosts, because the name of a
/// stranger's page is neither; other names must be configured. A page may call the server if the origin is
/// the server's own, or is configured.
pub(super) fn check_origin(
    uri: &Uri,
    headers: &HeaderMap,
    settings: &HttpSettings,
) -> Result<(), OriginError> {
    // If the request's target has an authority, the authority is checked, too (RFC 9112, section 3.2.2).
    if uri.authority().is_some_and(|authority| !is_own(authority, &settings.hosts)) {
        return Err(OriginError::Host);
    }
    let host = only(headers, HOST.as_str()).ok_or(OriginError::Host)?;
    let authority: Authority = host.parse().map_err(|_| OriginError::Host)?;
    if !is_own(&authority, &settings.hosts) {
        return Err(OriginError::Host);
    }
    if !headers.contains_key(ORIGIN) {
        return Ok(());
    }
    let origin = only(headers, ORIGIN.as_str()).ok_or(OriginError::Origin)?;
    let is_same = ["http://", "https://"].iter().any(|scheme| {
        origin.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && origin.get(scheme.len()..).is_some_and(|rest| rest.eq_ignore_ascii_case(host))
    });
    if is_same || is_configured(origin, settings) { Ok(()) } else { Err(OriginError::Origin) }
}

/// Returns the origin of a request if it is configured, so the page may read the answer; otherwise `None`.
pub(super) fn configured_origin<'a>(
    headers: &'a HeaderMap,
    settings: &HttpSettings,
) -> Option<&'a HeaderValue> {
    headers.get(ORIGIN).filter(|origin| origin.to_str().is_ok_and(|origin| is_configured(origin, settings)))
}

fn is_configured(origin: &str, settings: &HttpSettings) -> bool {
    settings.origins.iter().any(|allowed| allowed.trim_end_matches('/').eq_ignore_ascii_case(origin))
}

fn is_own(authority: &Authority, hosts: &[String]) -> bool {
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    // A name that ends in a dot is the same name.
    let name = host.strip_suffix('.').unwrap_or(host);
    !authority.as_str().contains('@')
        && (address.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || hosts.iter().any(|allowed| {
                allowed.eq_ignore_ascii_case(name) || allowed.eq_ignore_ascii_case(authority.as_str())
            }))
}

/// Returns the value of a header that occurs exactly once; otherwise `None`.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Tells whether a path can belong to an endpoint or a document of OAuth: by RFC 8414 (section 3), RFC 9728
/// (section 3.1) or `OpenID` Connect Discovery, or because MCP clients try the path if a server has none of
/// these documents.
pub(super) fn is_oauth(path: &str) -> bool {
    let is_of = |part: &str| part.starts_with("oauth-") || part == "openid-configuration";
    matches!(path, "/register" | "/authorize" | "/token")
        || path.split("/.well-known/").skip(1).any(|rest| rest.split('/').next().is_some_and(is_of))
}

/// Makes the response that says that the server does not use OAuth, and what the client should do instead.
pub(super) fn oauth_refusal(has_token: bool) -> Response<Body> {
    let instead = if has_token {
        "it asks for a token of its own. Have the client send it with each request, in the header 'Authorization: Bearer TOKEN' \
         (mcp-remote: --header 'Authorization: Bearer TOKEN')"
    } else {
        "it asks for no token. MCP is at /mcp"
    };
    let said = json!({
        "error": "access_denied",
        "error_description": format!("this server does not use OAuth: {instead}"),
    });
    headers::of(StatusCode::NOT_FOUND, "application/json", said.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_one_word() {
        for (text, expected) in [
            ("", Err(TokenError::Empty)),
            (" \n", Err(TokenError::Empty)),
            ("a b", Err(TokenError::NotOneWord)),
            ("a\nb", Err(TokenError::NotOneWord)),
            ("é", Err(TokenError::NotOneWord)),
            ("secret\n", Ok(Token(Digest::of(b"secret")))),
        ] {
            assert_eq!(Token::new(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn only_the_token_is_the_token() {
        let token = Token::new(b"secret").unwrap();
        let carries = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value.parse().unwrap());
            }
            token.is_in(&headers)
        };
        assert!(carries(&["Bearer secret"]) && carries(&["bearer  secret "]));
        for values in [
            &[][..],
            &["Bearer secret", "Bearer secret"],
            &["Bearer"],
            &["Bearer "],
            &["Bearer secre"],
            &["Bearer secrets"],
            &["Bearer Secret"],
            &["Basic secret"],
            &["secret"],
        ] {
            assert!(!carries(values), "{values:?}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn strangers_are_told_apart() {
        let settings = HttpSettings {
            address: "127.0.0.1:80".parse().unwrap(),
            token: None,
            hosts: vec!["editor.example".to_owned(), "only.example:8443".to_owned()],
            origins: vec!["https://app.example".to_owned()],
        };
        let ask = |host: &[&str], origin: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in host {
                headers.append(HOST, value.parse().unwrap());
            }
            for value in origin {
                headers.append(ORIGIN, value.parse().unwrap());
            }
            check_origin(&Uri::from_static("/mcp"), &headers, &settings)
        };
        for host in [
            "127.0.0.1:8000",
            "127.0.0.1",
            "[::1]:80",
            "192.0.2.7",
            "localhost",
            "LOCALHOST:1",
            "localhost.:1",
            "Editor.Example",
            "editor.example:99",
            "only.example:8443",
        ] {
            assert_eq!(ask(&[host], &[]), Ok(()), "{host}");
            assert_eq!(ask(&[host], &[&format!("http://{host}")]), Ok(()), "{host}");
            assert_eq!(ask(&[host], &["https://app.example"]), Ok(()), "{host}");
            for origin in ["null", "http://evil.example", "https://app.example.evil.example", "localhost", ""]
            {
                assert_eq!(ask(&[host], &[origin]), Err(OriginError::Origin), "{host} {origin}");
            }
        }
        for host in [
            "evil.example",
            "only.example",
            "only.example:80",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil@localhost",
            "",
        ] {
            assert_eq!(ask(&[host], &[]), Err(OriginError::Host), "{host}");
        }
        assert_eq!(ask(&[], &[]), Err(OriginError::Host));
        assert_eq!(ask(&["localhost", "localhost"], &[]), Err(OriginError::Host));
        assert_eq!(ask(&["localhost"], &["http://localhost", "http://localhost"]), Err(OriginError::Origin));
        assert_eq!(ask(&["localhost:1"], &["http://localhost:2"]), Err(OriginError::Origin));
    }

    #[test]
    fn where_clients_look_for_oauth() {
        for path in [
            "/register",
            "/authorize",
            "/token",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server",
            "/.well-known/oauth-authorization-server/mcp",
            "/.well-known/openid-configuration",
            "/mcp/.well-known/openid-configuration",
        ] {
            assert!(is_oauth(path), "{path}");
        }
        for path in
            ["/", "/mcp", "/registers", "/a/register", "/.well-known/", "/.well-known/x/oauth-a", "/oauth-a"]
        {
            assert!(!is_oauth(path), "{path}");
        }
    }
}
