//! Answers to clients that look for OAuth. After a 401 most of them do, and of what they find there they show
//! the answer to their registration alone, if it is an error as RFC 7591 (section 3.2.2) has it. So that says
//! what this server asks for instead.

use hyper::{Response, StatusCode};
use serde_json::json;

use super::body::{self, Body};

/// Tells whether OAuth has an endpoint or a document at this path: RFC 8414 (section 3), RFC 9728 (section
/// 3.1), `OpenID` Connect Discovery, and where clients of MCP look in a server without any of them.
pub(super) fn is_at(path: &str) -> bool {
    let is_of = |part: &str| part.starts_with("oauth-") || part == "openid-configuration";
    matches!(path, "/register" | "/authorize" | "/token")
        || path.split("/.well-known/").skip(1).any(|rest| rest.split('/').next().is_some_and(is_of))
}

/// Says that there is no OAuth, and what there is.
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
