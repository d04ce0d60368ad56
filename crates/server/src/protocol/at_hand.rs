//! Fast path: answers a small read on the thread that reads the messages, if the scans of the files (the
//! facts from an earlier walk through a file, such as its hash and encoding) are cached. Usually the system
//! still has the files' contents in memory, so the read is quick. If not, all later messages wait until a
//! local disk has read up to 1 MiB of each file.
//!
//! The SDK does not see such a call, because its task for each request costs as much as the read. The answer
//! is the same as through the SDK.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rmcp::model::{ClientRequest, GetExtensions as _, ProtocolVersion, RequestMetaObject, ServerResult};

use super::call::{Called, panicked, result};
use super::measure;
use super::server::Server;
use crate::context::Cancel;
use crate::limits::Exceeded;
use crate::tool_id::ToolId;
use crate::tools::read;

/// The time for which a call may occupy the thread that reads and writes the messages of all calls. Reading a
/// range from memory takes at most 5 ms (1 MB, built without optimisation, under strace), and such a call has
/// few ranges. A call that takes longer than this time is dropped here, and starts again on another thread.
const AT_ONCE: Duration = Duration::from_millis(50);

/// The facts from the beginning of a session that determine how its requests are answered.
#[derive(Clone, Debug)]
pub struct Begun {
    /// The revision that was agreed on.
    pub revision: ProtocolVersion,
    /// The name that the client gives itself, if it is known.
    pub client: Option<String>,
}

impl Server {
    /// Tells whether a call of [`Server::answer_at_hand`] for the message can succeed. Does not look at the
    /// files.
    #[must_use]
    pub fn can_be_at_hand(&self, request: &ClientRequest, begun: Option<&Begun>) -> bool {
        let ClientRequest::CallToolRequest(call) = request else { return false };
        self.tool(&call.params.name).is_some_and(|tool| tool.id == ToolId::Get)
            && session_of(request.extensions().get::<RequestMetaObject>(), begun).is_some()
    }

    /// Answers a tool call on this thread if it reads only cached files. The call does not count towards the
    /// limit on concurrent calls: otherwise it could wait for its turn, and all later messages with it.
    /// `begun` holds the facts from the beginning of the session, if the session has begun.
    ///
    /// Returns `None` if a session must handle the request. The session must also handle the request if a
    /// file changes between the check and the read, and the read then takes too long.
    #[must_use]
    pub fn answer_at_hand(&self, request: &ClientRequest, begun: Option<&Begun>) -> Option<ServerResult> {
        self.answer_within(AT_ONCE, request, begun)
    }

    fn answer_within(
        &self,
        limit: Duration,
        request: &ClientRequest,
        begun: Option<&Begun>,
    ) -> Option<ServerResult> {
        let ClientRequest::CallToolRequest(call) = request else { return None };
        let extensions = request.extensions();
        let session = session_of(extensions.get::<RequestMetaObject>(), begun)?;
        let (context, arguments) = (self.context(), call.params.arguments.as_ref()?);
        let tool = self.tool(&call.params.name).filter(|tool| context.config.tools.contains(tool.id))?;
        let is_at_hand = tool.id == ToolId::Get && read::is_at_hand(context, arguments);
        if extensions.get::<Exceeded>().is_some() || !is_at_hand {
            return None;
        }
        let (start, tool) = (Instant::now(), Called::from(tool));
        let context = &context.of_client(session.client.as_deref().filter(|name| !name.is_empty()), None);
        let cancel = Cancel::never().within(limit);
        let run = AssertUnwindSafe(|| (tool.run)(context, arguments.clone(), &cancel));
        let outcome = catch_unwind(run).unwrap_or_else(|_| Err(panicked(tool, context)));
        // If the time is over, the reply to a read of several files may lack some of them.
        if cancel.is_cancelled() {
            return None;
        }
        if self.is_measured {
            measure::call(tool.name, start.elapsed(), outcome.as_ref().err());
        }
        let mut result = ServerResult::CallToolResult(result(tool, outcome, context));
        if session.revision < ProtocolVersion::V_2026_07_28 {
            result.strip_result_type_for_legacy_peer();
        }
        Some(result)
    }
}

/// Returns the revision and the client that a request names, or else the revision and the client of its
/// session. Returns `None` if the request names a revision other than 2026-07-28, or is invalid: then the SDK
/// must decide.
fn session_of<'a>(meta: Option<&RequestMetaObject>, begun: Option<&'a Begun>) -> Option<Cow<'a, Begun>> {
    let is_own = |key: &String| key.starts_with("io.modelcontextprotocol/");
    let Some(meta) = meta.filter(|meta| meta.0.0.keys().any(is_own)) else {
        return begun.map(Cow::Borrowed);
    };
    let revision = meta.protocol_version().filter(|named| *named == ProtocolVersion::V_2026_07_28)?;
    let client = meta.client_info().map(|client| client.name);
    let client = client.or_else(|| begun.and_then(|begun| begun.client.clone()));
    meta.missing_required_keys(&revision).is_empty().then_some(Cow::Owned(Begun { revision, client }))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use mcp_text_editor_store::WorkspaceBuilder;
    use rmcp::model::{CallToolRequest, CallToolRequestParams};
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::config::Config;
    use crate::context::Context;
    use crate::limits::Limit;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
    fn a_small_read_of_a_cached_file_is_answered_where_it_arrives() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("file");
        std::fs::write(&path, "one\n").unwrap();
        // A file that has just changed is not cached.
        std::thread::sleep(Duration::from_millis(60));
        let workspace = WorkspaceBuilder::default().root(directory.path()).build().unwrap();
        let server = Server::new(Context::new(Config::default(), workspace));
        let read = |tool: &'static str, meta: Value| {
            let mut called = CallToolRequestParams::new(tool);
            called.arguments = Some(serde_json::from_value(json!({"file_path": path})).unwrap());
            let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(called));
            let meta: rmcp::model::JsonObject = serde_json::from_value(meta).unwrap();
            request.extensions_mut().insert(RequestMetaObject::from(meta));
            request
        };
        let get = |meta| read("get_text_file_contents", meta);
        let answered = |request: &ClientRequest, agreed: Option<ProtocolVersion>| {
            let begun = agreed.map(|revision| Begun { revision, client: None });
            let answer = server.answer_at_hand(request, begun.as_ref());
            answer.map(|result| serde_json::to_value(result).unwrap())
        };
        let old = || Some(ProtocolVersion::V_2025_06_18);
        let plain = get(json!({"progressToken": 1}));
        assert_eq!(answered(&plain, old()), None, "it was never read");
        let tool = server.tool("get_text_file_contents").unwrap();
        let arguments: Map<String, Value> = serde_json::from_value(json!({"file_path": path})).unwrap();
        let first = (tool.run)(server.context(), Map::clone(&arguments), &Cancel::never()).unwrap();
        if !read::is_at_hand(server.context(), &arguments) {
            eprintln!("skipped: the temporary directory is not on a file system that is known to be local");
            return;
        }
        // Other calls use up the whole limit on concurrent calls.
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let turns = server.context().config.limits.size(Limit::Calls);
        let _taken: Vec<_> = (0..turns).map(|_| runtime.block_on(server.turns.next(false))).collect();
        let result = answered(&plain, old()).unwrap();
        assert_eq!(result, json!({"content": [{"type": "text", "text": first.text}], "isError": false}));
        assert_eq!(answered(&plain, Some(ProtocolVersion::V_2026_07_28)).unwrap()["resultType"], "complete");
        assert_eq!(answered(&plain, None), None, "no session has begun");
        assert_eq!(answered(&read("patch_text_file_contents", json!({})), old()), None);
        let version = "io.modelcontextprotocol/protocolVersion";
        let capabilities = "io.modelcontextprotocol/clientCapabilities";
        let alone = get(json!({version: "2026-07-28", capabilities: {}}));
        assert_eq!(answered(&alone, None).unwrap()["resultType"], "complete");
        assert_eq!(
            answered(&alone, old()),
            answered(&alone, None),
            "the revision of the request counts, not that of the session"
        );
        for refused in [
            json!({version: "2026-07-28"}),
            json!({version: "1999-01-01", capabilities: {}}),
            json!({version: 1}),
        ] {
            assert_eq!(answered(&get(refused), old()), None);
        }
        std::fs::write(&path, "two\n").unwrap();
        assert_eq!(answered(&plain, old()), None, "it has changed, so it is read anew, on another thread");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
    fn a_read_that_takes_too_long_here_is_not_answered_in_part() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let paths: Vec<_> = (0..8).map(|number| root.join(format!("file{number}"))).collect();
        for path in &paths {
            std::fs::write(path, "some words\n".repeat(400)).unwrap();
        }
        // A file that has just changed is not cached.
        std::thread::sleep(Duration::from_millis(60));
        let workspace = WorkspaceBuilder::default().root(&root).build().unwrap();
        let server = Server::new(Context::new(Config::default(), workspace));
        let files: Vec<_> = paths.iter().map(|path| json!({"file_path": path})).collect();
        let arguments: Map<String, Value> = serde_json::from_value(json!({"files": files})).unwrap();
        let tool = server.tool("get_text_file_contents").unwrap();
        let all = (tool.run)(server.context(), Map::clone(&arguments), &Cancel::never()).unwrap();
        if !read::is_at_hand(server.context(), &arguments) {
            eprintln!("skipped: the temporary directory is not on a file system that is known to be local");
            return;
        }
        let mut called = CallToolRequestParams::new("get_text_file_contents");
        called.arguments = Some(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(called));
        let begun = Begun { revision: ProtocolVersion::V_2025_06_18, client: None };
        let whole = json!({"content": [{"type": "text", "text": all.text}], "isError": false});
        // The time may end at any of the files.
        for microseconds in (0..5_000).step_by(10) {
            let limit = Duration::from_micros(microseconds);
            if let Some(result) = server.answer_within(limit, &request, Some(&begun)) {
                assert_eq!(serde_json::to_value(result).unwrap(), whole, "{limit:?}");
            }
        }
    }
}
