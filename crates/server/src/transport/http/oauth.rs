//! Answers to clients that look for OAuth, as most do after a 401. They show only the answer to their
//! registration, and only if it is an error in the form of RFC 7591 (section 3.2.2). So this error says what
//! the server asks for instead.

use hyper::{Response, StatusCode};
use serde_json::json;

use super::body::{self, Body};

/// Tells whether OAuth has an endpoint or a document at this path: by RFC 8414 (section 3), RFC 9728 (section
/// 3.1) or `OpenID` Connect Discovery, or where clients of MCP look if a server has none of these documents.
pub(super) fn is_at(path: &str) -> bool {
    let is_of = |part: &str| part.starts_with("oauth-") || part == "openid-configuration";
    matches!(path, "/register" | "/authorize" | "/token")
        || path.split("/.well-known/").skip(1).any(|rest| rest.split('/').next().is_some_and(is_of))
}

/// Says that there is no OAuth, and what the client should do instead.
pub(super) fn refusal(has_token: bool) -> Response<Body> {
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
    body::of(StatusCode::NOT_FOUND, "application/json", said.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(is_at(path), "{path}");
        }
        for path in
            ["/", "/mcp", "/registers", "/a/register", "/.well-known/", "/.well-known/x/oauth-a", "/oauth-a"]
        {
            assert!(!is_at(path), "{path}");
        }
    }
}
