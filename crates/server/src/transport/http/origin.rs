//! Checks to which host a request is addressed, and from which web page it comes. This keeps web pages from
//! reaching the server through a browser: a page whose own name leads here (DNS rebinding) sends that name as
//! `Host`, and every page sends its `Origin`.

use std::net::IpAddr;

use hyper::Uri;
use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;

use super::settings::HttpSettings;

/// The reason why a request is not served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OriginError {
    /// It is addressed to a name that is not this server's, or has no `Host`.
    Host,
    /// It is from a web page that may not call.
    Origin,
}

/// Checks `Host` and `Origin`. A stranger's page never has an address or `localhost` as its name; other names
/// must be configured. A page may call if it is the server's own, or if its origin is configured.
pub(super) fn check(uri: &Uri, headers: &HeaderMap, settings: &HttpSettings) -> Result<(), OriginError> {
    // If the request's target has an authority, it counts, too (RFC 9112, section 3.2.2).
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

/// Returns the origin of a request if it is configured: then its page may read the answer.
pub(super) fn configured<'a>(headers: &'a HeaderMap, settings: &HttpSettings) -> Option<&'a HeaderValue> {
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

/// Returns the value of a header that occurs once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            check(&Uri::from_static("/mcp"), &headers, &settings)
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
}
