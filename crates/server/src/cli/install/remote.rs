//! The entries of clients for a server over HTTP, and the ways in which a client gets a token.

/// The way in which a client is led to a server over HTTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remote {
    /// By an entry.
    Entry {
        /// The members before the URL, as JSON.
        before: &'static str,
        /// The name of the member that holds the URL.
        url: &'static str,
        /// The way in which it is told of a token.
        token: TokenForm,
        /// The members after it, as JSON.
        behind: &'static str,
    },
    /// Not at all: it only starts programs.
    No,
}

/// The way in which a client is told of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenForm {
    /// It replaces variables in headers: names between `open` and `close`.
    Header {
        /// Before the name.
        open: &'static str,
        /// After it.
        close: &'static str,
        /// True if `$NAME` is replaced, too.
        is_bare: bool,
    },
    /// This member names the variable.
    Member(&'static str),
    /// It asks the person, once, and keeps the answer.
    Asked,
    /// Only by a header that holds the token itself.
    Literal,
}

/// `${NAME}`.
const SHELL: TokenForm = TokenForm::Header { open: "${", close: "}", is_bare: false };
/// `${NAME}` and `$NAME`.
const BARE: TokenForm = TokenForm::Header { open: "${", close: "}", is_bare: true };
/// `${env:NAME}`.
const ENV: TokenForm = TokenForm::Header { open: "${env:", close: "}", is_bare: false };

const fn entry(before: &'static str, url: &'static str, token: TokenForm, behind: &'static str) -> Remote {
    Remote::Entry { before, url, token, behind }
}

pub(super) const CLAUDE_CODE: Remote = entry(r#"{"type": "http"}"#, "url", SHELL, r#"{"alwaysLoad": true}"#);
pub(super) const CURSOR: Remote = entry("{}", "url", ENV, "{}");
pub(super) const VSCODE: Remote = entry(r#"{"type": "http"}"#, "url", TokenForm::Asked, "{}");
pub(super) const CODEX: Remote = entry(
    "{}",
    "url",
    TokenForm::Member("bearer_token_env_var"),
    r#"{"default_tools_approval_mode": "approve", "omit_tools_from": ["deferred"]}"#,
);
pub(super) const GEMINI: Remote = entry("{}", "httpUrl", BARE, r#"{"trust": true}"#);
/// Qwen takes a `url` for one of SSE.
pub(super) const QWEN: Remote = entry("{}", "httpUrl", BARE, r#"{"trust": true, "alwaysLoadTools": true}"#);
pub(super) const ZED: Remote = entry("{}", "url", TokenForm::Literal, "{}");
pub(super) const WINDSURF: Remote = entry("{}", "serverUrl", ENV, "{}");
/// Without `"oauth": false` opencode would look for a login page if the token is refused.
pub(super) const OPENCODE: Remote = entry(
    r#"{"type": "remote"}"#,
    "url",
    TokenForm::Header { open: "{env:", close: "}", is_bare: false },
    r#"{"oauth": false}"#,
);
pub(super) const COPILOT: Remote =
    entry(r#"{"type": "http"}"#, "url", BARE, r#"{"tools": ["*"], "deferTools": "never"}"#);
pub(super) const CLINE: Remote =
    entry(r#"{"type": "streamableHttp"}"#, "url", ENV, r#"{"disabled": false, "autoApprove": []}"#);

/// The names of the members in which clients have a URL.
pub(super) const URLS: &[&str] = &["httpUrl", "serverUrl", "url"];
