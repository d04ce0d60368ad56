//! MCP over HTTP as a client sees it: every revision at one endpoint, each request served by itself.
#![expect(clippy::disallowed_methods, reason = "a test looks at files without the server")]

use serde_json::{Value, json};

use crate::http_client::{HttpServer, Response, request, send};
use crate::session::Session;
use crate::world::World;

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";

/// The revisions that have a handshake. The server remembers nothing of it over HTTP.
const WITH_HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const ALONE: &str = "2026-07-28";

fn serve(world: &World, options: &[&str]) -> HttpServer {
    HttpServer::start(&[options, &[world.path("").to_str().unwrap()]].concat())
}

/// Sends a request of revision 2026-07-28, with the headers that describe it. Returns the response.
fn alone(server: &HttpServer, method: &str, mut params: Value, name: &str) -> Response {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": ALONE,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    let headers = [("MCP-Protocol-Version", ALONE), ("Mcp-Method", method), ("Mcp-Name", name)];
    server.post(&headers, &request(1, method, &params))
}

#[test]
fn each_request_of_any_revision_is_served_by_itself() {
    let world = World::new();
    world.write("a.txt", "one\ntwo\n");
    let server = serve(&world, &[]);
    // The answers must be the same as those of a session over standard output.
    let mut session = world.serve(&[]);
    let listed = session.ask("tools/list", &json!({}))["result"]["tools"].clone();
    let arguments = world.filled(&json!({"file_path": "$ROOT/a.txt"}));
    let read = session.ask("tools/call", &json!({"name": GET, "arguments": arguments}))["result"].clone();
    for revision in WITH_HANDSHAKE {
        let hello = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let answer = server.post(&[], &request(1, "initialize", &hello));
        assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None));
        assert_eq!(answer.json()["result"]["protocolVersion"], revision);
        assert_eq!(answer.json()["result"]["serverInfo"]["name"], "mcp-text-editor");
        let notified = server.post(&[], &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!((notified.status, notified.body.as_str()), (202, ""));
        for headers in [&[][..], &[("MCP-Protocol-Version", revision)]] {
            let ask = |method, params: &Value| server.post(headers, &request(7, method, params)).json();
            assert_eq!(ask("ping", &json!({})), json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
            assert_eq!(ask("tools/list", &json!({}))["result"]["tools"], listed);
            assert_eq!(ask("tools/call", &json!({"name": GET, "arguments": arguments}))["result"], read);
            assert_eq!(ask("prompts/list", &json!({}))["error"]["code"], -32601);
        }
    }
    let discovered = alone(&server, "server/discover", json!({}), "").json();
    assert_eq!(discovered["result"]["supportedVersions"].as_array().unwrap().len(), 5, "{discovered}");
    assert_eq!(alone(&server, "tools/list", json!({}), "").json()["result"]["tools"], listed);
    let called = alone(&server, "tools/call", json!({"name": GET, "arguments": arguments}), GET);
    assert_eq!(called.json()["result"]["content"], read["content"]);
    let spelled = alone(
        &server,
        "tools/call",
        json!({"name": GET, "arguments": arguments}),
        "=?base64?Z2V0X3RleHRfZmlsZV9jb250ZW50cw==?=",
    );
    // Only status and body are compared: the times may differ.
    assert_eq!((spelled.status, spelled.json()), (called.status, called.json()));
    // From this revision on the status, too, says that there is no such method.
    let unknown = alone(&server, "prompts/list", json!({}), "");
    assert_eq!((unknown.status, unknown.json()["error"]["code"].as_i64()), (404, Some(-32601)));
}

#[test]
fn an_edit_over_http_is_made_and_is_a_session_s_edit() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let server = serve(&world, &["--tools", "all"]);
    let patch = |old: &str, new: &str| {
        world.filled(&json!({"file_path": "$ROOT/a.txt", "old_string": old, "new_string": new}))
    };
    let made = server.call(PATCH, &patch("one", "two"));
    assert_eq!(made["isError"], json!(false), "{made}");
    assert_eq!(std::fs::read_to_string(world.path("a.txt")).unwrap(), "two\n");
    let told: Value = serde_json::from_str(made["content"][0]["text"].as_str().unwrap()).unwrap();
    let undone = server.call("undo_text_file_edits", &json!({"edit_id": told["edit_id"]}));
    assert_eq!(undone["isError"], json!(false), "{undone}");
    assert_eq!(std::fs::read_to_string(world.path("a.txt")).unwrap(), "one\n");
    let refused = server.call(PATCH, &patch("two", "three"));
    assert_eq!(refused["isError"], json!(true));
}

fn told(response: &Response) -> String {
    let why = match response.header("content-type") {
        Some("application/json") => {
            let answer = response.json();
            format!(
                "{} {} {}",
                answer["id"],
                answer["error"]["code"],
                answer["error"]["message"].as_str().unwrap()
            )
        }
        _ => response.body.trim_end().to_owned(),
    };
    format!("{} {why}", response.status)
}

#[test]
fn what_is_refused_is_refused_in_words() {
    let world = World::new();
    let server = serve(&world, &["--allow-host", "editor.example", "--limit", "line-bytes=2000"]);
    let list = request(3, "tools/list", &json!({})).to_string();
    let ask = |what: &str, headers: &[(&str, &str)], body: &str| {
        told(&send(server.address, what, headers, body.as_bytes()))
    };
    let post = |headers: &[(&str, &str)], body: &str| ask("POST /mcp", headers, body);
    let told = [
        post(&[("Host", "evil.example")], &list),
        post(&[("Origin", "http://evil.example")], &list),
        post(&[("Accept", "text/html")], &list),
        post(&[("Content-Type", "text/plain")], &list),
        post(&[("Content-Type", "")], &list),
        post(&[("MCP-Protocol-Version", "2030-01-01")], &list),
        post(&[("MCP-Protocol-Version", ALONE)], &list),
        post(&[], ""),
        post(&[], r#"{"jsonrpc":"2.0","method":"ping","params":{},}"#),
        post(&[], r#"{"jsonrpc":"2.0","params":{"a":"\ud800"},"method":"ping","id":"last"}"#),
        post(&[], r#"{"jsonrpc":"2.0","method":"ping","id":1.5}"#),
        post(&[], &format!("{list}{}", " ".repeat(2_000))),
        post(
            &[("Content-Length", ""), ("Transfer-Encoding", "chunked")],
            &format!("7d1\r\n{}\r\n0\r\n\r\n", " ".repeat(2_001)),
        ),
        ask("GET /mcp", &[("Accept", "text/event-stream")], ""),
        ask("DELETE /mcp", &[("Mcp-Session-Id", "1")], ""),
        ask("GET /", &[], ""),
        ask("POST /healthz", &[], ""),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    403 null -32600 Host is neither an address, nor localhost, nor a name that --allow-host gives
    403 null -32600 Origin is neither this server nor one that --allow-origin gives
    406 an answer is application/json or text/event-stream, and Accept takes neither
    415 a message is sent as application/json
    415 a message is sent as application/json
    400 3 -32600 MCP-Protocol-Version names an unknown revision; there are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
    400 3 -32602 the request's _meta lacks io.modelcontextprotocol/protocolVersion, io.modelcontextprotocol/clientCapabilities
    400 null -32700 the body is not JSON: EOF while parsing a value at line 1 column 0
    400 null -32700 the body is not JSON: trailing comma at line 1 column 46
    400 "last" -32700 the body is not JSON: unexpected end of hex escape at line 1 column 39
    400 null -32600 the id of a request must be a string, or an integer of at most 64 bits with its sign; this request was not carried out
    413 null -32600 the body is longer than 2000 bytes, the limit `line-bytes`, and was skipped; --limit line-bytes=… (--max-line-bytes) allows more
    413 null -32600 the body is longer than 2000 bytes, the limit `line-bytes`, and was skipped; --limit line-bytes=… (--max-line-bytes) allows more
    405 this method does nothing here
    405 this method does nothing here
    404 there are /mcp, /healthz, /readyz and /metrics
    405 this method does nothing here
    "#);
    for refused in ["GET /mcp", "DELETE /mcp", "PUT /mcp"] {
        assert_eq!(send(server.address, refused, &[], b"").header("allow"), Some("POST"));
    }
    // Similar requests that are served.
    for headers in [
        &[("Host", "editor.example")][..],
        &[("Host", "editor.example"), ("Origin", "https://editor.example")],
        &[("Host", "localhost:9")],
        &[("Accept", "")],
        &[("Accept", "*/*")],
        &[("Accept", "application/json;q=0.5")],
        &[("Content-Type", "application/JSON; charset=utf-8")],
    ] {
        let response = send(server.address, "POST /mcp", headers, list.as_bytes());
        assert_eq!((response.status, &response.json()["id"]), (200, &json!(3)), "{headers:?}");
    }
    let padded = format!("{list}{}", " ".repeat(2_000 - list.len()));
    assert_eq!(send(server.address, "POST /mcp", &[], padded.as_bytes()).status, 200);
    // A client that takes events alone gets the answer as one.
    let events =
        send(server.address, "POST /mcp", &[("Accept", "text/event-stream")], list.as_bytes()).events();
    assert_eq!((events.len(), &events[0]["id"]), (1, &json!(3)));
    let health = send(server.address, "GET /healthz", &[("Host", "any.example")], b"");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
}

#[test]
fn headers_say_what_the_request_says() {
    let world = World::new();
    let server = serve(&world, &[]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": ALONE, "io.modelcontextprotocol/clientCapabilities": {}});
    let message = request(1, "tools/call", &json!({"name": GET, "arguments": {}, "_meta": meta}));
    let ask = |headers: &[(&str, &str)]| {
        let response = server.post(headers, &message);
        (response.status, response.json()["error"]["code"].as_i64())
    };
    let right = [("MCP-Protocol-Version", ALONE), ("Mcp-Method", "tools/call"), ("Mcp-Name", GET)];
    assert_eq!(ask(&right), (200, None));
    for (index, (name, _)) in right.iter().enumerate() {
        for wrong in ["", "2025-11-25", "tools/list", "=?base64?!?="] {
            let mut headers = right;
            headers[index].1 = wrong;
            assert_eq!(ask(&headers), (400, Some(-32020)), "{name}: {wrong}");
        }
        assert_eq!(ask(&[&right[..], &right[index..=index]].concat()), (400, Some(-32020)), "{name} twice");
    }
    let unknown = json!({"io.modelcontextprotocol/protocolVersion": "2030-01-01", "io.modelcontextprotocol/clientCapabilities": {}});
    let headers = [("MCP-Protocol-Version", "2030-01-01"), ("Mcp-Method", "tools/list")];
    let response = server.post(&headers, &request(1, "tools/list", &json!({"_meta": unknown})));
    assert_eq!((response.status, response.json()["error"]["code"].as_i64()), (400, Some(-32022)));
}

#[test]
fn a_request_that_stands_alone_says_all_that_a_handshake_would() {
    let world = World::new();
    let server = serve(&world, &[]);
    let ask = |method: &str, meta: Value, version: &str| {
        let headers = [("MCP-Protocol-Version", version), ("Mcp-Method", method)];
        let response = server.post(&headers, &request(1, method, &json!({"_meta": meta})));
        (response.status, response.json()["error"]["code"].as_i64())
    };
    let (version, capabilities) =
        ("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities");
    assert_eq!(ask("tools/list", json!({version: ALONE}), ALONE), (400, Some(-32602)));
    assert_eq!(ask("tools/list", json!({capabilities: {}}), ALONE), (400, Some(-32602)));
    assert_eq!(ask("server/discover", json!({}), ""), (400, Some(-32602)));
    // This revision has no handshake. An `initialize` that names no revision in its `_meta` may ask for any.
    assert_eq!(ask("initialize", json!({version: ALONE, capabilities: {}}), ALONE), (404, Some(-32601)));
    let hello =
        json!({"protocolVersion": ALONE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let answer = server.post(&[], &request(1, "initialize", &hello)).json();
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
}

#[test]
fn limits_of_a_call_hold_for_bodies() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let options = ["--limit", "values=100", "--limit", "depth=8"];
    let server = serve(&world, &options);
    let mut session: Session = world.serve(&options);
    let many: Vec<Value> = (0..200).map(|_| world.filled(&json!({"file_path": "$ROOT/a.txt"}))).collect();
    let deep = (0..20).fold(json!(1), |inside, _| json!([inside]));
    for arguments in [json!({"files": many}), json!({"files": deep})] {
        let params = json!({"name": GET, "arguments": arguments});
        let (here, there) = (server.call(GET, &arguments), session.ask("tools/call", &params));
        assert_eq!(here["isError"], json!(true));
        assert_eq!(here, there["result"]);
    }
}
