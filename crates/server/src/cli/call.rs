//! The subcommands `call`, which shows a person at a shell the reply that a client would get, and `tools`,
//! which shows programs and people the tools as clients see them.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, ContentBlock, Implementation};
use rmcp::{ServiceError, ServiceExt as _};
use serde_json::{Map, Value};

use super::terminal::current_dir;
use crate::limits::{Limit, NONE};
use crate::protocol::server::Server;
use crate::protocol::session;
use crate::tools;
use crate::transport::stdio::{LineTransport, runtime};

/// The reason why a tool could not be called.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The arguments cannot be read; the message says why.
    #[error("{0}")]
    Arguments(String),
    /// The session failed, or answered the request with an error.
    #[error("{0}")]
    Session(String),
    /// The arguments cannot be read from standard input, or the reply cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The arguments of tools that are paths, or lists of paths.
const PATHS: [&str; 6] = ["file_path", "move_to", "path", "paths", "from", "to"];

/// Makes relative paths in a value absolute. At a shell, they are relative to the current directory. `name`
/// is the name of the argument that has the value, if the value has one.
fn make_absolute(name: Option<&str>, value: &mut Value, here: &Path) {
    match value {
        Value::String(path) if name.is_some_and(|name| PATHS.contains(&name)) && is_relative(path) => {
            let whole: PathBuf = here.join(&*path).components().collect();
            *path = whole.to_string_lossy().into_owned();
        }
        Value::Array(values) => values.iter_mut().for_each(|value| make_absolute(name, value, here)),
        Value::Object(arguments) => {
            arguments.iter_mut().for_each(|(name, value)| make_absolute(Some(name), value, here));
        }
        _ => {}
    }
}

/// Tells whether a text is a relative path, not a URL, and not `~`, which a shell would have expanded.
fn is_relative(path: &str) -> bool {
    !path.is_empty() && !path.starts_with('~') && !path.contains("://") && Path::new(path).is_relative()
}

/// Reads the arguments of a call, and makes their paths absolute. If `json` is given, it has all arguments
/// (`-` means standard input). Otherwise each of `values` is `key=value`. A value is read as JSON if it is
/// JSON and the tool's schema gives the key a type other than text, and otherwise as text.
pub fn arguments(tool: &str, values: &[String], json: Option<&str>) -> Result<Map<String, Value>, CallError> {
    let mut arguments = Value::Object(typed_arguments(tool, values, json)?);
    if let Ok(here) = current_dir() {
        make_absolute(None, &mut arguments, &here);
    }
    Ok(arguments.as_object_mut().map(std::mem::take).unwrap_or_default())
}

fn typed_arguments(
    tool: &str,
    values: &[String],
    json: Option<&str>,
) -> Result<Map<String, Value>, CallError> {
    if let Some(json) = json {
        let mut text = json.to_owned();
        if json == "-" {
            text.clear();
            io::stdin().read_to_string(&mut text)?;
        }
        return serde_json::from_str(&text)
            .map_err(|error| CallError::Arguments(format!("--json takes a JSON object: {error}")));
    }
    let schema =
        tools::ALL.iter().find(|known| known.name() == tool).map(|known| known.arguments.schema(&|_| true));
    let properties = schema.as_ref().and_then(|schema| schema.get("properties"));
    let mut out = Map::new();
    for value in values {
        let Some((key, value)) = value.split_once('=') else {
            return Err(CallError::Arguments(format!("`{value}` is not of the form KEY=VALUE")));
        };
        let kind = properties.and_then(|all| all.get(key)?.get("type")?.as_str());
        let parsed = kind.filter(|kind| *kind != "string").and_then(|_| serde_json::from_str(value).ok());
        out.insert(key.to_owned(), parsed.unwrap_or_else(|| Value::String(value.to_owned())));
    }
    Ok(out)
}

/// Calls one tool through a client session in memory, and writes the text of its result. Returns false if the
/// result is an error.
pub fn call(
    server: Server,
    tool: String,
    arguments: Map<String, Value>,
    out: &mut impl Write,
) -> Result<bool, CallError> {
    let runtime = runtime(&server.context().config.limits)?;
    // The length of a line is not limited, since the arguments are already in memory.
    let limits = server.context().config.limits.clone().with(Limit::Line, NONE);
    let result = runtime.block_on(async {
        let (near, far) = tokio::io::duplex(1 << 20);
        // The handshake needs both ends, so the server's session runs in the background.
        let (reader, writer) = tokio::io::split(far);
        let transport = LineTransport::new(reader, writer, limits);
        let session = session::start(server, transport);
        let failed = |error: String| CallError::Session(error);
        let me = Implementation::new("mcp-text-editor", env!("CARGO_PKG_VERSION"));
        let me = ClientConfig::new(ClientCapabilities::default(), me);
        let client = me.serve(near).await.map_err(|error| failed(error.to_string()))?;
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = client.call_tool(request).await.map_err(|error| match error {
            ServiceError::McpError(error) => failed(error.message.to_string()),
            error => failed(error.to_string()),
        });
        let _ = client.cancel().await;
        let _ = session.waiting().await;
        result
    });
    runtime.shutdown_background();
    let result = result?;
    for text in result.content.iter().filter_map(ContentBlock::as_text) {
        out.write_all(text.text.as_bytes())?;
        if !text.text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
    }
    Ok(result.is_error != Some(true))
}

/// Lists the tools that the server offers, as `tools/list` answers them.
pub fn listing(server: &Server) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&serde_json::json!({ "tools": server.listed() }))
}

/// Describes every tool in a document for people, `docs/tools.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out =
        "# The tools\n\nGenerated by `mcp-text-editor tools --markdown`; do not edit by hand.\n".to_owned();
    for tool in tools::ALL {
        let effect = match (tool.id.is_read_only(), tool.destructive) {
            (true, _) => "changes nothing",
            (false, true) => "can remove text",
            (false, false) => "only adds",
        };
        let _ = write!(
            out,
            "\n## {}\n\n*{}; {effect}.*\n\n{}\n\n",
            tool.name(),
            tool.title,
            paragraphs(&tool.description_for(|_| true))
        );
        list_arguments(&mut out, "", &tool.arguments.schema(&|_| true));
    }
    out
}

/// Separates the lines of a description as Markdown requires.
fn paragraphs(description: &str) -> String {
    description.replace('\n', "\n\n")
}

fn list_arguments(out: &mut String, place: &str, schema: &Map<String, Value>) {
    let required = schema.get("required").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let word = |key: &str| property.get(key).and_then(Value::as_str).unwrap_or_default();
        let needed = required.is_some_and(|all| all.iter().any(|one| one == name.as_str()));
        let needed = if needed { ", required" } else { "" };
        let place = format!("{place}{name}");
        let text = word("description");
        let colon = if text.is_empty() { "" } else { ": " };
        let _ = writeln!(out, "- `{place}`, {}{needed}{colon}{text}", word("type"));
        if let Some(items) = property.get("items").and_then(Value::as_object) {
            list_arguments(out, &format!("{place}[]."), items);
        }
    }
}
