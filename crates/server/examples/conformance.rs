//! Serves the program over HTTP with the diagnostic tools that the official MCP conformance suites call. With
//! them the suites can check all that they ask of a server, though its own tools answer with text alone. It
//! takes the program's options, of which it needs `--http`; tests/conformance starts it.

use std::future::ready;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use mcp_text_editor::cli::workspace::confine;
use mcp_text_editor::cli::{self, workspace};
use mcp_text_editor::context::Context;
use mcp_text_editor::protocol::server::{ExtraCall, ExtraTools, Server};
use mcp_text_editor::transport::http;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorCode, ErrorData, JsonObject, ProgressNotificationParam,
    ResourceContents, Tool,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

/// A red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/// A thousandth of a second of silence.
const WAV: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

/// The pause between two reports of progress.
const PAUSE: Duration = Duration::from_millis(50);

/// The tool whose schema is checked; a call returns its arguments.
const SCHEMA: &str = "json_schema_2020_12_tool";

/// The other tools, each with what it does.
const TOOLS: [(&str, &str); 9] = [
    ("greet", "Answers with a text at once, as tools do that are no task"),
    ("test_simple_text", "Answers with a text"),
    ("test_image_content", "Answers with an image"),
    ("test_audio_content", "Answers with a sound"),
    ("test_embedded_resource", "Answers with a resource"),
    ("test_multiple_content_types", "Answers with a text, an image and a resource"),
    ("test_error_handling", "Fails"),
    ("test_tool_with_progress", "Reports its progress three times"),
    ("test_missing_capability", "Asks for a client that declares sampling"),
];

#[derive(Debug)]
struct Diagnostics;

impl ExtraTools for Diagnostics {
    fn listed(&self) -> Vec<Tool> {
        let any_arguments = json!({"type": "object"});
        let mut tools: Vec<Tool> =
            TOOLS.map(|(name, what)| Tool::new(name, what, object(&any_arguments))).into();
        tools.push(Tool::new(SCHEMA, "Has the keywords of JSON Schema 2020-12", object(&schema())));
        tools
    }

    fn call<'a>(
        &'a self,
        name: &str,
        arguments: JsonObject,
        request: &'a RequestContext<RoleServer>,
    ) -> Option<ExtraCall<'a>> {
        let content = match name {
            "greet" => {
                let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default();
                vec![ContentBlock::text(format!("Hello, {name}!"))]
            }
            "test_simple_text" => vec![ContentBlock::text("This is a simple text response for testing.")],
            "test_image_content" => vec![image()],
            "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
            "test_embedded_resource" => {
                let text = "This is an embedded resource content.";
                vec![ContentBlock::embedded_text("test://embedded-resource", text)]
            }
            "test_multiple_content_types" => {
                let data = json!({"test": "data", "value": 123}).to_string();
                let resource = ResourceContents::text(data, "test://mixed-content-resource");
                let resource = ContentBlock::resource(resource.with_mime_type("application/json"));
                vec![ContentBlock::text("Multiple content types test:"), image(), resource]
            }
            "test_error_handling" => {
                let text = "This tool intentionally returns an error for testing";
                return Some(Box::pin(ready(Ok(CallToolResult::error(vec![ContentBlock::text(text)])))));
            }
            "test_tool_with_progress" => return Some(Box::pin(progress(request))),
            "test_missing_capability" => return Some(Box::pin(ready(sampling(request)))),
            SCHEMA => vec![ContentBlock::text(Value::Object(arguments).to_string())],
            _ => return None,
        };
        Some(Box::pin(ready(Ok(CallToolResult::success(content)))))
    }
}

fn image() -> ContentBlock {
    ContentBlock::image(PNG, "image/png")
}

/// Reports three times, if the client asks for it.
async fn progress(request: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    if let Some(token) = request.meta.get_progress_token() {
        for done in [0.0, 50.0, 100.0] {
            let progress = ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
            let sent = request.peer.notify_progress(progress).await;
            sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(CallToolResult::success(vec![ContentBlock::text("The progress is complete.")]))
}

/// Refuses a client that does not declare sampling, as a tool would that needs it.
fn sampling(request: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    if request.client_capabilities().is_none_or(|declared| declared.sampling.is_none()) {
        let code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
        let required = json!({"requiredCapabilities": {"sampling": {}}});
        return Err(ErrorData::new(code, "this tool needs a client that declares sampling", Some(required)));
    }
    Ok(CallToolResult::success(vec![ContentBlock::text("The client declares sampling.")]))
}

fn object(value: &Value) -> JsonObject {
    value.as_object().cloned().unwrap_or_default()
}

/// Returns a schema with all that a server might strip from one.
fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

fn main() -> anyhow::Result<()> {
    let command = cli::resolve(cli::Arguments::read()).map_err(anyhow::Error::msg)?;
    let workspace = workspace::open(&command, None)?;
    let settings = command.http.context("it serves over HTTP alone: --http ADDRESS")?;
    let listener = http::bind(settings.address)?;
    confine(&workspace, command.access.landlock)?;
    let server = Server::new(Context::new(command.config, workspace)).with_extra(Arc::new(Diagnostics));
    writeln!(io::stderr(), "conformance: serving MCP at http://{}/mcp", listener.address())?;
    http::serve(server, listener, settings)?;
    Ok(())
}
