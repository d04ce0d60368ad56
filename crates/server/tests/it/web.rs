//! Past edits in a browser (`history --web`), tested over HTTP, and as a page in a file (`history --html`).
//! tests/view tests the page in a browser.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::{Value, json};

use crate::history::Shell;
use crate::http_client::{Response, send};
use crate::session::started;

/// The program, serving the page.
struct Web {
    child: Child,
    address: SocketAddr,
    code: String,
    secret: String,
    said: BufReader<ChildStderr>,
}

impl Web {
    /// Starts the program, and does not redeem the code.
    fn closed(shell: &Shell, arguments: &[&str]) -> Self {
        Self::of(shell.command(&[&["history", "--web"], arguments].concat()))
    }

    fn of(mut command: Command) -> Self {
        let mut child = started(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let mut link = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut link).unwrap();
        let (address, code) = link.trim_end().strip_prefix("http://").unwrap().split_once("/#").unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, address: address.parse().unwrap(), code: code.to_owned(), secret: String::new(), said }
    }

    fn open(shell: &Shell, arguments: &[&str]) -> Self {
        Self::closed(shell, arguments).opened()
    }

    fn opened(mut self) -> Self {
        let reply = self.redeem();
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["secret"].as_str().unwrap().clone_into(&mut self.secret);
        self
    }

    fn redeem(&self) -> Response {
        self.send("POST /api/session", &[("Authorization", &format!("Bearer {}", self.code))], b"")
    }

    fn send(&self, what: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        send(self.address, what, headers, body)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.secret)
    }

    fn get(&self, path: &str) -> Response {
        self.send(&format!("GET {path}"), &[("Authorization", &self.bearer())], b"")
    }

    fn told(&self, path: &str) -> Value {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.json()
    }

    fn take_back(&self, what: &Value) -> Response {
        let body = what.to_string();
        self.send("POST /api/take-back", &[("Authorization", &self.bearer())], body.as_bytes())
    }

    fn ids(&self, query: &str) -> Vec<String> {
        let listed = self.told(&format!("/api/edits{query}"));
        let edits = listed["edits"].as_array().unwrap();
        edits.iter().map(|edit| edit["id"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        // If the test has ended the process, it has also waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn error(reply: &Response) -> (u16, String) {
    let said = reply.json();
    (reply.status, said["error"]["code"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned())
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "%{byte:02x}");
        out
    })
}

#[test]
fn edits_are_listed_shown_and_taken_back() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    let first = shell.patch(&["a.txt"], "one", "two");
    let web = Web::open(&shell, &[]);
    let listed = web.told("/api/edits");
    let edit = &listed["edits"][0];
    assert_eq!((&edit["id"], &edit["canUndo"]), (&json!(first), &json!(true)), "{listed}");
    assert_eq!(edit["files"][0]["path"], json!(shell.world.path("a.txt")));
    assert_eq!(listed["roots"], json!([shell.world.path("").components().collect::<std::path::PathBuf>()]));
    assert_eq!(listed["tools"], json!(["patch_text_file_contents"]));
    let story = web.told(&format!("/api/edits/{first}"));
    assert_eq!((&story["version"], &story["kind"]), (&json!(1), &json!("edit")));
    let lines = &story["files"][0]["hunks"][0]["lines"];
    assert_eq!(lines, &json!([{"kind": "-", "text": "one"}, {"kind": "+", "text": "two"}]), "{story}");
    let held = || std::fs::read_to_string(shell.world.path("a.txt")).unwrap();
    // First a dry run.
    let looked = web.take_back(&json!({"edits": [first], "dryRun": true}));
    assert_eq!((looked.status, held().as_str()), (200, "two\n"));
    let looked = &looked.json()["results"][0]["story"];
    assert_eq!(looked["kind"], "proposal");
    let lines = &looked["files"][0]["hunks"][0]["lines"];
    assert_eq!(lines, &json!([{"kind": "-", "text": "two"}, {"kind": "+", "text": "one"}]), "{looked}");
    let done = web.take_back(&json!({"edits": [first], "dryRun": false}));
    assert_eq!((done.status, held().as_str()), (200, "one\n"), "{done:?}");
    let done = done.json();
    let (edit, story) = (&done["results"][0]["edit"], &done["results"][0]["story"]);
    assert_eq!((&story["kind"], &story["edit"]["undoes"]), (&json!("edit"), &json!(first)));
    assert_eq!((&edit["undoneBy"], &edit["canUndo"]), (&story["edit"]["id"], &json!(false)));
    // Then the edit is done again.
    let again = web.take_back(&json!({"edits": [story["edit"]["id"]], "dryRun": false}));
    assert_eq!((again.status, held().as_str()), (200, "two\n"), "{again:?}");
}

#[test]
#[cfg(unix)]
fn edits_in_a_shared_database_are_shown_and_taken_back() {
    let Some(server) = crate::state_url::fixture::TestServer::shared() else { return };
    let (shell, url) = (Shell::new(), server.url());
    shell.world.write("a.txt", "one\n");
    let with_database = |arguments: &[&str]| {
        let mut command = shell.command(arguments);
        command.env("MCP_TEXT_EDITOR_STATE_URL", &url);
        command
    };
    let path = shell.world.path("a.txt");
    let arguments =
        json!({"files": [{"file_path": path, "patches": [{"old_string": "one", "new_string": "two"}]}]});
    let mut call = with_database(&["call", "patch_text_file_contents", "--json", &arguments.to_string()]);
    let edit: Value = serde_json::from_slice(&call.output().unwrap().stdout).unwrap();
    let edit = edit["edit_id"].as_str().unwrap_or_else(|| panic!("{edit}"));
    assert!(Web::open(&shell, &[]).ids("").is_empty(), "this machine's own history has none");
    let web = Web::of(with_database(&["history", "--web"])).opened();
    assert_eq!(web.ids(""), [edit]);
    let story = web.told(&format!("/api/edits/{edit}"));
    let lines = &story["files"][0]["hunks"][0]["lines"];
    assert_eq!(lines, &json!([{"kind": "-", "text": "one"}, {"kind": "+", "text": "two"}]), "{story}");
    let done = web.take_back(&json!({"edits": [edit], "dryRun": false}));
    assert_eq!((done.status, std::fs::read_to_string(&path).unwrap().as_str()), (200, "one\n"), "{done:?}");
    assert_eq!(web.ids("").len(), 2, "the database has what took it back, too");
}

#[test]
fn nobody_asks_without_the_secret_and_the_link_works_once() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    let edit = shell.patch(&["a.txt"], "one", "two");
    let mut web = Web::closed(&shell, &[]);
    assert_eq!(web.code.len(), 64);
    // The page itself is for anybody, and may connect to this server alone.
    let page = web.send("GET /", &[], b"");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.body.contains("data-frame=\"web\"") && !page.body.contains(&web.code));
    let policy = page.header("content-security-policy").unwrap();
    for part in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "script-src 'sha256-"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    for (name, value) in [
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), Some(value), "{name}");
    }
    assert_eq!(web.send("HEAD /", &[], b"").body, "");
    let asked = |web: &Web, authorization: &str| {
        let show = format!("GET /api/edits/{edit}");
        let took = json!({"edits": [edit], "dryRun": false}).to_string();
        for what in [
            "GET /api/edits",
            &show,
            "GET /api/states?path=/a",
            "GET /api/difference",
            "GET /api/lines",
            "GET /api/now",
            "GET /api/x",
        ] {
            let reply = web.send(what, &[("Authorization", authorization)], b"");
            assert_eq!(error(&reply), (401, "unauthorized".to_owned()), "{what} {authorization}");
        }
        let reply = web.send("POST /api/take-back", &[("Authorization", authorization)], took.as_bytes());
        assert_eq!(reply.status, 401);
    };
    // The code is not the secret, and neither is any other word. A wrong code does not use the right one up.
    for wrong in ["", "Bearer", "Bearer x", "Basic x"] {
        asked(&web, wrong);
        assert_eq!(web.send("POST /api/session", &[("Authorization", wrong)], b"").status, 401);
    }
    asked(&web, &format!("Bearer {}", web.code));
    let first = web.redeem();
    assert_eq!(first.status, 200);
    let second = web.redeem();
    assert_eq!(second.status, 401, "a second tab gets nothing");
    asked(&web, &format!("Bearer {}", web.code));
    web.secret = first.json()["secret"].as_str().unwrap().to_owned();
    assert_eq!(web.ids(""), [edit.as_str()]);
    assert_eq!(std::fs::read(shell.world.path("a.txt")).unwrap(), b"two\n");
    // Another process has another link.
    let other = Web::closed(&shell, &[]);
    assert!(other.code != web.code);
    assert_eq!(other.send("GET /api/edits", &[("Authorization", &web.bearer())], b"").status, 401);
}

#[cfg(target_os = "linux")]
#[test]
fn another_user_of_the_machine_cannot_redeem_the_code() {
    use std::os::unix::process::CommandExt as _;
    let shell = Shell::new();
    let web = Web::closed(&shell, &[]);
    let (port, code) = (web.address.port(), &web.code);
    let request = format!(
        "POST /api/session HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\nAuthorization: Bearer {code}\r\n\r\n"
    );
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && printf '%s' \"$0\" >&3 && cat <&3");
    let mut other = std::process::Command::new("/bin/bash");
    // The user `nobody`.
    other.args(["-c", &script, &request]).uid(65_534).gid(65_534).current_dir("/");
    let Ok(output) = other.output() else {
        let must = std::env::var_os("REQUIRE_ALL").is_some_and(|must| must == "1");
        assert!(!must, "this wants root and bash");
        eprintln!("skipped: to be another user wants root, and bash");
        return;
    };
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("HTTP/1.1 403 ") && said.ends_with("this page is another user's\n"), "{said}");
    // The code is not used up.
    assert_eq!(web.redeem().status, 200);
}

#[test]
fn pages_of_others_and_other_names_are_refused() {
    let shell = Shell::new();
    let web = Web::open(&shell, &[]);
    let port = web.address.port();
    let asked = |what: &str, host: &str, origin: &str| {
        let bearer = web.bearer();
        web.send(what, &[("Authorization", bearer.as_str()), ("Host", host), ("Origin", origin)], b"").status
    };
    let own = format!("127.0.0.1:{port}");
    for what in ["GET /", "GET /api/edits"] {
        for host in [own.clone(), format!("localhost:{port}"), format!("[::1]:{port}")] {
            assert_eq!(asked(what, &host, ""), 200, "{what} {host}");
            assert_eq!(asked(what, &host, &format!("http://{host}")), 200, "{what} {host}");
        }
        for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1.evil.example", "x@localhost"]
        {
            assert_eq!(asked(what, host, ""), 403, "{what} {host}");
        }
        for origin in
            ["null", "http://evil.example", "http://127.0.0.1:1", &format!("http://localhost:{port}")]
        {
            assert_eq!(asked(what, &own, origin), 403, "{what} {origin}");
        }
    }
    // No preflight allows a page of another origin to ask.
    let beforehand = web.send("OPTIONS /api/edits", &[("Origin", "http://evil.example")], b"");
    assert_eq!((beforehand.status, beforehand.header("access-control-allow-origin")), (403, None));
    // At the other loopback address the same server listens.
    if let Ok(stream) = std::net::TcpStream::connect(("::1", port)) {
        drop(stream);
        let address: SocketAddr = format!("[::1]:{port}").parse().unwrap();
        assert_eq!(send(address, "GET /api/edits", &[("Authorization", &web.bearer())], b"").status, 200);
    }
}

#[test]
fn what_is_no_question_is_refused_and_does_nothing() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    let edit = shell.patch(&["a.txt"], "one", "two");
    let web = Web::open(&shell, &[]);
    for path in ["/mcp", "/healthz", "/metrics", "/..", "/index.html", "/api", "//"] {
        assert_eq!(web.get(path).status, 404, "{path}");
    }
    assert_eq!(web.get("/favicon.ico").status, 204);
    assert_eq!(error(&web.get("/api/nothing")), (404, "not_found".to_owned()));
    let bearer = web.bearer();
    for what in [
        "POST /",
        "DELETE /api/edits",
        "GET /api/session",
        "GET /api/take-back",
        "PUT /api/take-back",
        "POST /api/edits",
    ] {
        assert_eq!(web.send(what, &[("Authorization", bearer.as_str())], b"").status, 405, "{what}");
    }
    for query in ["?limit=x", "?before=x", "?since=x", "?q=%ff", "?%"] {
        assert_eq!(
            error(&web.get(&format!("/api/edits{query}"))),
            (400, "invalid_arguments".to_owned()),
            "{query}"
        );
    }
    for path in ["/api/edits/x", "/api/edits/0123456789ab", "/api/edits/%00", "/api/edits/../edits/x"] {
        assert_eq!(error(&web.get(path)), (404, "not_found".to_owned()), "{path}");
    }
    for path in [
        "/api/states",
        "/api/difference?path=/a",
        "/api/difference?path=/a&from=now",
        "/api/lines?edit=a&path=b&start=x&count=1",
    ] {
        assert_eq!(error(&web.get(path)), (400, "invalid_arguments".to_owned()), "{path}");
    }
    let path = encoded(shell.world.path("a.txt").to_str().unwrap());
    for state in [
        "x",
        "0123456789ab.0.after",
        &format!("{edit}.9.after"),
        &format!("{edit}.0"),
        &format!("{edit}.0.x"),
        "now.0.after",
    ] {
        let asked = format!("/api/difference?path={path}&from={state}&to=now");
        assert_eq!(error(&web.get(&asked)), (404, "not_found".to_owned()), "{state}");
    }
    for body in ["", "{", "[]", r#"{"edits":["x"],"dryRun":false}"#, r#"{"edits":[]}"#] {
        let reply = web.send("POST /api/take-back", &[("Authorization", bearer.as_str())], body.as_bytes());
        assert_eq!(error(&reply), (400, "invalid_arguments".to_owned()), "{body}");
    }
    let unknown = web.take_back(&json!({"edits": ["0123456789ab"], "dryRun": false}));
    assert_eq!(error(&unknown), (404, "not_found".to_owned()));
    let took = json!({"edits": [edit], "dryRun": false}).to_string();
    let plain = web.send(
        "POST /api/take-back",
        &[("Authorization", bearer.as_str()), ("Content-Type", "text/plain")],
        took.as_bytes(),
    );
    assert_eq!(plain.status, 415, "a form of another page cannot send it");
    let packed = web.send(
        "POST /api/take-back",
        &[("Authorization", bearer.as_str()), ("Content-Encoding", "gzip")],
        took.as_bytes(),
    );
    assert_eq!(packed.status, 415);
    let long = web.send("POST /api/take-back", &[("Authorization", bearer.as_str())], &vec![b' '; 300 << 10]);
    assert_eq!(long.status, 413);
    let head = web.send("GET /api/edits", &[("X-Long", &"x".repeat(40 << 10))], b"");
    assert_eq!(head.status, 431);
    let many: Vec<String> = (0..1_001).map(|number| format!("{number:012x}")).collect();
    assert_eq!(error(&web.take_back(&json!({"edits": many, "dryRun": true}))), (413, "too_large".to_owned()));
    assert_eq!(std::fs::read(shell.world.path("a.txt")).unwrap(), b"two\n");
    assert_eq!(web.ids(""), [edit]);
}

#[test]
fn edits_are_searched_and_filtered_page_by_page() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    let first = shell.patch(&["a.txt"], "one", "two");
    let second = shell.create("dir/B & c%.txt", "One more\n");
    let third = shell.patch(&["a.txt"], "two", "three");
    let all = [third.clone(), second.clone(), first.clone()];
    let web = Web::open(&shell, &[]);
    assert_eq!(web.ids(""), all);
    let page = web.told("/api/edits?limit=2");
    assert_eq!(page["next"], json!(second));
    assert_eq!(web.ids(&format!("?limit=2&before={second}")), all[2..]);
    assert_eq!(web.told(&format!("/api/edits?limit=2&before={second}"))["next"], Value::Null);
    let root = encoded(shell.world.path("").to_str().unwrap().trim_end_matches(std::path::MAIN_SEPARATOR));
    let file = encoded(shell.world.path("a.txt").to_str().unwrap());
    let dir = encoded(shell.world.path("dir").to_str().unwrap());
    for (query, expected) in [
        ("?tool=create_text_file".to_owned(), &all[1..2]),
        ("?client=mcp-text-editor".to_owned(), &all[..]),
        ("?client=other".to_owned(), &[][..]),
        (format!("?root={root}"), &all[..]),
        ("?root=/other".to_owned(), &[][..]),
        (format!("?path={file}"), &[third.clone(), first.clone()][..]),
        (format!("?path={dir}"), &all[1..2]),
        ("?path=b%20%26%20C%25".to_owned(), &all[1..2]),
        ("?q=THREE".to_owned(), &all[..1]),
        ("?q=one%20more".to_owned(), &all[1..2]),
        ("?q=create_".to_owned(), &all[1..2]),
        (format!("?q={second}"), &all[1..2]),
        ("?q=nothing%20like%20it".to_owned(), &[][..]),
        ("?since=2020-01-01T00:00:00Z".to_owned(), &all[..]),
        ("?until=2020-01-01T00:00:00Z".to_owned(), &[][..]),
        (format!("?q=a.txt&path={file}&limit=1"), &all[..1]),
    ] {
        assert_eq!(web.ids(&query), expected, "{query}");
    }
    // No question reaches beyond the selection of the command line.
    let narrow = Web::open(&shell, &["--tool", "patch_text_file_contents", "a.txt"]);
    assert_eq!(narrow.ids(""), [third.as_str(), first.as_str()]);
    assert_eq!(narrow.ids("?tool=create_text_file"), [""; 0]);
    assert_eq!(narrow.ids(&format!("?path={dir}")), [""; 0]);
    assert_eq!(narrow.ids("?q=three"), [third.as_str()]);
}

#[test]
fn several_are_taken_back_all_or_none_and_what_conflicts_is_told() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    shell.world.write("b.txt", "one\n");
    let first = shell.patch(&["a.txt"], "one", "two");
    let second = shell.patch(&["b.txt"], "one", "two");
    let third = shell.patch(&["a.txt"], "two", "three");
    let held = || ["a.txt", "b.txt"].map(|name| std::fs::read_to_string(shell.world.path(name)).unwrap());
    let as_edited = held();
    let web = Web::open(&shell, &[]);
    let results = |reply: &Response| {
        let results = reply.json()["results"].as_array().unwrap().clone();
        let told = results.iter().map(|result| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&result["edit"]["id"]), text(&result["story"]["kind"]))
        });
        told.collect::<Vec<_>>()
    };
    let told = |of: &[(&String, &str)]| -> Vec<(String, String)> {
        of.iter().map(|(id, kind)| ((*id).clone(), (*kind).to_owned())).collect()
    };
    for is_dry_run in [true, false] {
        let reply = web.take_back(&json!({"edits": [first, second], "dryRun": is_dry_run}));
        assert_eq!((reply.status, held()), (if is_dry_run { 200 } else { 409 }, as_edited.clone()));
        assert_eq!(results(&reply), told(&[(&second, "proposal"), (&first, "failure")]));
        let problem = &reply.json()["results"][1]["story"]["failure"]["problems"][0];
        assert_eq!(
            (&problem["code"], &problem["edit"], problem.get("hint")),
            (&json!("conflict"), &json!(third), None)
        );
    }
    let since = web.take_back(&json!({"since": second, "dryRun": true}));
    assert_eq!(results(&since), told(&[(&third, "proposal"), (&second, "proposal")]));
    let done = web.take_back(&json!({"since": first, "dryRun": false}));
    assert_eq!(results(&done), told(&[(&third, "edit"), (&second, "edit"), (&first, "edit")]));
    assert_eq!(held(), ["one\n", "one\n"].map(str::to_owned));
    // Edits that are taken back already are left out, and cannot be taken back again.
    let again = web.take_back(&json!({"since": first, "dryRun": false}));
    assert_eq!((again.status, results(&again)), (200, Vec::new()));
    let twice = web.take_back(&json!({"edits": [first], "dryRun": false}));
    assert_eq!((twice.status, results(&twice)), (409, told(&[(&first, "failure")])));
    // Another program writes.
    let last = shell.patch(&["a.txt"], "one", "four");
    shell.world.write("a.txt", "five\n");
    let reply = web.take_back(&json!({"edits": [last], "dryRun": false}));
    assert_eq!((reply.status, held()[0].as_str()), (409, "five\n"));
    // With `--read-only` nothing can be taken back.
    let looking = Web::open(&shell, &["--read-only"]);
    let listed = looking.told("/api/edits");
    assert!(listed["edits"].as_array().unwrap().iter().all(|edit| edit["canUndo"] == false), "{listed}");
    for is_dry_run in [true, false] {
        let reply = looking.take_back(&json!({"edits": [second], "dryRun": is_dry_run}));
        assert_eq!(error(&reply), (403, "tool_disabled".to_owned()));
    }
}

/// An undo and a redo are filed under the project of the edit, so no filter loses them.
#[test]
fn later_edits_are_taken_back_as_far_as_the_filters_go() {
    let shell = Shell::new();
    let edit = |project: &str, tool: &str, arguments: Value| {
        let root = shell.world.path(project);
        let arguments = shell.world.filled(&arguments).to_string();
        let root = root.to_str().unwrap();
        let (code, said) = shell.run(&["call", "--tools", "all", "--root", root, tool, "--json", &arguments]);
        assert_eq!(code, 0, "{said}");
        serde_json::from_str::<Value>(&said).unwrap()["edit_id"].as_str().unwrap().to_owned()
    };
    let patch = |project: &str| {
        let patches = json!([{"old_string": "one", "new_string": "two"}]);
        let file = json!({"file_path": format!("$ROOT/{project}/d/a.txt"), "patches": patches});
        edit(project, "patch_text_file_contents", json!({ "files": [file] }))
    };
    let undo = |id: &str| {
        let (code, said) = shell.run(&["undo", id]);
        assert_eq!(code, 0, "{said}");
        let (_, said) = shell.run(&["history", "-n", "1", "--json"]);
        serde_json::from_str::<Value>(&said).unwrap()["edit_id"].as_str().unwrap().to_owned()
    };
    for project in ["p", "q"] {
        shell.world.write(&format!("{project}/d/a.txt"), "one\n");
    }
    let first = patch("p");
    let other = patch("q");
    let create = json!({"file_path": "$ROOT/p/b.txt", "contents": "b\n"});
    let created = edit("p", "create_text_file", create);
    let undone = undo(&first);
    let web = Web::open(&shell, &[]);
    let roots = web.told("/api/edits")["roots"].as_array().unwrap().clone();
    let [p, q] = roots.as_slice() else { panic!("{roots:?}") };
    let in_p = format!("?root={}", encoded(p.as_str().unwrap()));
    assert_eq!(web.ids(&in_p), [undone.as_str(), &created, &first]);
    let planned = |filters: Value| {
        let reply = web.take_back(&json!({"since": first, "filters": filters, "dryRun": true})).json();
        let results = reply["results"].as_array().unwrap().clone();
        results
            .into_iter()
            .map(|result| (result["edit"]["id"].clone(), result["roots"].clone()))
            .collect::<Vec<_>>()
    };
    let expected = |ids: &[(&String, &Value)]| {
        ids.iter().map(|(id, root)| (json!(id), json!([root]))).collect::<Vec<_>>()
    };
    assert_eq!(planned(json!({})), expected(&[(&created, p), (&other, q)]));
    let redone = undo(&undone);
    assert_eq!(web.ids(&in_p), [redone.as_str(), &undone, &created, &first]);
    let listed = web.told("/api/edits")["edits"].clone();
    assert_eq!((&listed[0]["isRedo"], listed[1].get("isRedo")), (&json!(true), None), "{listed}");
    assert_eq!((listed[0].get("undoneBy"), &listed[1]["undoneBy"]), (None, &json!(redone)), "{listed}");
    let by_tool = json!({"tool": "patch_text_file_contents"});
    for (filters, ids) in [
        (json!({}), [(&created, p), (&other, q), (&first, p)].as_slice()),
        (json!({"root": p}), &[(&created, p), (&first, p)]),
        (by_tool, &[(&other, q), (&first, p)]),
        (json!({"q": "+two"}), &[(&other, q), (&first, p)]),
        (json!({"path": "b.t", "client": "mcp-text-editor"}), &[(&created, p)]),
        (json!({"client": "other"}), &[]),
        (json!({"until": "2020-01-01T00:00:00Z"}), &[]),
    ] {
        assert_eq!(planned(filters.clone()), expected(ids), "{filters}");
    }
    let done = web.take_back(&json!({"since": first, "filters": {"root": p}, "dryRun": false}));
    assert_eq!(done.status, 200, "{done:?}");
    let held = |path: &str| std::fs::read_to_string(shell.world.path(path)).ok();
    assert_eq!(
        ["p/d/a.txt", "q/d/a.txt", "p/b.txt"].map(held),
        [Some("one\n".into()), Some("two\n".into()), None]
    );
}

/// A directory, or the root itself, is a link by now to a directory that holds the same.
#[cfg(unix)]
#[test]
fn nothing_is_taken_back_or_shown_through_a_link() {
    for (above, inside) in [(1, "a.txt"), (2, "d/a.txt")] {
        let shell = Shell::new();
        shell.world.write("d/a.txt", "one\n");
        let id = shell.patch(&["d/a.txt"], "one", "two");
        let elsewhere = tempfile::tempdir().unwrap();
        let (path, other) = (shell.world.path("d/a.txt"), elsewhere.path().join("other"));
        let own = path.ancestors().nth(above).unwrap();
        std::fs::rename(own, &other).unwrap();
        std::os::unix::fs::symlink(&other, own).unwrap();
        let web = Web::open(&shell, &[]);
        for arguments in [&["undo", &id][..], &["undo", &id, "--dry-run"], &["undo", "--since", &id, "--yes"]]
        {
            let (code, said) = shell.run(arguments);
            assert!(code == 1 && said.contains("is reached by a link"), "{arguments:?} {said}");
        }
        let reply = web.take_back(&json!({"edits": [id], "dryRun": false}));
        let problem = &reply.json()["results"][0]["story"]["failure"]["problems"][0];
        assert_eq!((reply.status, &problem["code"]), (409, &json!("conflict")));
        assert_eq!(std::fs::read_to_string(other.join(inside)).unwrap(), "two\n");
        // Only the diff that is kept is shown, without a number of lines.
        let story = web.told(&format!("/api/edits/{id}"));
        assert_eq!(
            (story["files"][0]["after"].get("lines"), story["files"][0]["cut"].as_bool()),
            (None, None)
        );
        let path = encoded(path.to_str().unwrap());
        let now = web.get(&format!("/api/difference?path={path}&from=now&to=now"));
        assert!(!now.body.contains("two"), "{inside}");
    }
}

#[test]
fn any_two_states_of_a_file_are_compared() {
    let shell = Shell::new();
    let path = shell.world.path("a.txt");
    let asked = encoded(path.to_str().unwrap());
    shell.create("a.txt", "one\n");
    shell.patch(&["a.txt"], "one", "two");
    let last = shell.patch(&["a.txt"], "two", "three");
    let web = Web::open(&shell, &[]);
    let states = || {
        let told = web.told(&format!("/api/states?path={asked}"))["states"].as_array().unwrap().clone();
        told.iter()
            .map(|state| {
                (state["id"].as_str().unwrap().to_owned(), state["hash"].as_str().unwrap().to_owned())
            })
            .collect::<Vec<_>>()
    };
    let hash = |text: &str| mcp_text_editor_core::digest::Digest::of(text.as_bytes()).to_string();
    let found = states();
    let hashes: Vec<&str> = found.iter().map(|(_, hash)| hash.as_str()).collect();
    assert_eq!(hashes, [&hash("three\n"), &hash("two\n"), &hash("one\n"), ""], "{found:?}");
    assert_eq!(found[0].0, "now");
    let difference =
        |from: &str, to: &str| web.get(&format!("/api/difference?path={asked}&from={from}&to={to}"));
    let story = difference(&found[2].0, &found[0].0).json();
    assert_eq!((&story["kind"], &story["files"][0]["change"]), (&json!("difference"), &json!("changed")));
    let lines = &story["files"][0]["hunks"][0]["lines"];
    assert_eq!(lines, &json!([{"kind": "-", "text": "one"}, {"kind": "+", "text": "three"}]), "{story}");
    assert_eq!(difference(&found[3].0, &found[1].0).json()["files"][0]["change"], "created");
    assert_eq!(difference(&found[1].0, &found[3].0).json()["files"][0]["change"], "removed");
    let absent = difference(&found[3].0, &found[3].0).json();
    assert_eq!(
        (&absent["files"][0]["change"], &absent["files"][0]["hunks"]),
        (&json!("changed"), &json!([]))
    );
    assert_eq!(difference("now", "now").json()["files"][0]["hunks"], json!([]));
    // What another program has written is a state. The states before it are not reconstructed.
    shell.world.write("a.txt", "four\n");
    let found = states();
    assert_eq!((found.len(), found[0].1.as_str()), (5, hash("four\n").as_str()));
    assert_eq!(error(&difference(&format!("{last}.0.after"), "now")), (409, "conflict".to_owned()));
    // Nobody can read a file that the history does not know.
    let secret = encoded(shell.world.path("secret.txt").to_str().unwrap());
    shell.world.write("secret.txt", "secret\n");
    assert_eq!(web.told(&format!("/api/states?path={secret}")), json!({"states": []}));
    let reply = web.get(&format!("/api/difference?path={secret}&from=now&to=now"));
    assert_eq!(error(&reply), (404, "not_found".to_owned()));
}

#[test]
fn lines_beside_a_hunk_are_read_as_they_were_after_the_edit() {
    let shell = Shell::new();
    let path = shell.world.path("a.txt");
    let in_url = encoded(path.to_str().unwrap());
    let text = (1..=40).map(|line| format!("line {line}\r\n")).collect::<Vec<_>>().concat();
    let units = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes);
    std::fs::write(&path, units.collect::<Vec<u8>>()).unwrap();
    let edit = shell.patch(&["a.txt"], "line 20", "line zwanzig");
    let later = shell.patch(&["a.txt"], "line 3\n", "");
    let web = Web::open(&shell, &[]);
    let lines = |edit: &str, start: u64, count: u64| {
        web.get(&format!("/api/lines?edit={edit}&path={in_url}&start={start}&count={count}"))
    };
    let line = |text: &str| json!({"kind": " ", "text": text, "end": "crlf"});
    assert_eq!(lines(&edit, 2, 2).json(), json!({"lines": [line("line 2"), line("line 3")]}));
    assert_eq!(lines(&later, 2, 2).json(), json!({"lines": [line("line 2"), line("line 4")]}));
    assert_eq!(lines(&edit, 40, u64::MAX).json(), json!({"lines": [line("line 40")]}));
    assert_eq!(lines(&edit, u64::MAX, u64::MAX).json(), json!({"lines": []}));
    assert_eq!(error(&lines(&edit, 0, 1)), (404, "not_found".to_owned()));
    assert_eq!(error(&lines("0123456789ab", 1, 1)), (404, "not_found".to_owned()));
    // Another program's change comes between: the state is not reconstructed.
    shell.world.write("a.txt", "four\n");
    assert_eq!(error(&lines(&edit, 1, 1)), (409, "conflict".to_owned()));
}

#[test]
fn an_edit_is_told_by_what_its_files_held() {
    let shell = Shell::new();
    let lines: Vec<String> = (0..3_000).map(|line| format!("line {line} of it")).collect();
    shell.world.write("big.txt", &(lines.join("\n") + "\n"));
    let patch = json!({"old_string": " of it", "new_string": " of them", "replace_all": true});
    let files = json!([{"file_path": "$ROOT/big.txt", "patches": [patch]}]);
    let made = shell.edit("patch_text_file_contents", &json!({ "files": files }));
    let files = json!([{"file_path": "$ROOT/big.txt", "move_to": "$ROOT/dir/moved.txt"}]);
    let moved = shell.edit("patch_text_file_contents", &json!({ "files": files }));
    let web = Web::open(&shell, &[]);
    // The kept diff is cut, and this one is not. The file is found at its present place.
    let story = web.told(&format!("/api/edits/{made}"));
    let file = &story["files"][0];
    assert_eq!(file["hunks"][0]["lines"].as_array().unwrap().len(), 6_000);
    assert_eq!(file.get("cut"), None);
    assert_eq!((&file["added"], &file["removed"]), (&json!(3_000), &json!(3_000)));
    for state in ["before", "after"] {
        assert_eq!((&file[state]["lines"], &file[state]["lineEnding"]), (&json!(3_000), &json!("lf")));
    }
    let story = web.told(&format!("/api/edits/{moved}"));
    let file = &story["files"][0];
    assert_eq!((&file["change"], &file["hunks"]), (&json!("moved"), &json!([])), "{story}");
    assert_eq!(file["movedFrom"], json!(shell.world.path("big.txt")));
    // If another program has written since, the kept diff is shown.
    shell.world.write("dir/moved.txt", "other\n");
    let story = web.told(&format!("/api/edits/{made}"));
    assert_eq!(story["files"][0]["cut"], true);
    assert_eq!(story["files"][0].get("added"), None, "nobody knows");
    // A diff that is too long to be shown is counted all the same, also where it is turned round.
    shell.world.write("long.txt", &("head\n".to_owned() + &"a line of some length\n".repeat(10_000)));
    let patch = json!({"old_string": "a line", "new_string": "one line", "replace_all": true});
    let files = json!([{"file_path": "$ROOT/long.txt", "patches": [patch]}]);
    let made = shell.edit("patch_text_file_contents", &json!({ "files": files }));
    let story = web.told(&format!("/api/edits/{made}"));
    let turned = web.take_back(&json!({"edits": [made], "dryRun": true})).json();
    let turned = &turned["results"][0]["story"]["files"][0];
    let file = &story["files"][0];
    assert_eq!(
        (&file["cut"], &file["added"], &file["removed"]),
        (&json!(true), &json!(10_000), &json!(10_000))
    );
    assert_eq!(turned["added"], 10_000);
}

#[cfg(target_os = "linux")]
#[test]
fn the_systems_opener_gets_the_link() {
    let shell = Shell::new();
    let programs = tempfile::tempdir().unwrap();
    let (program, opened) = (programs.path().join("xdg-open"), programs.path().join("opened"));
    let text = format!("echo \"$1\" > '{0}.new' && mv '{0}.new' '{0}'", opened.display());
    crate::person::script(&program, &text);
    let mut command = shell.command(&["history", "--web", "--open"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.path().display()));
    let web = Web::of(command);
    let end = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !opened.exists() {
        assert!(std::time::Instant::now() < end, "nobody opened it");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let link = std::fs::read_to_string(&opened).unwrap();
    assert_eq!(link, format!("http://{}/#{}\n", web.address, web.code));
}

#[test]
fn the_page_sees_of_edits_that_others_make() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    let web = Web::open(&shell, &[]);
    assert_eq!(web.told("/api/now"), json!({"newest": null, "progress": null}));
    let edit = shell.patch(&["a.txt"], "one", "two");
    assert_eq!(web.told("/api/now"), json!({"newest": edit, "progress": null}));
    let done = web.take_back(&json!({"edits": [edit], "dryRun": false}));
    assert_eq!(done.status, 200);
    assert_eq!(web.told("/api/now")["newest"], web.ids("")[0]);
    assert_ne!(web.ids("")[0], edit);
}

#[test]
fn it_ends_by_itself_once_no_page_is_open() {
    let shell = Shell::new();
    let mut web = Web::open(&shell, &["--idle-seconds", "2"]);
    for _ in 0..6 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert_eq!(web.get("/api/now").status, 200);
    }
    assert!(web.child.wait().unwrap().success());
    let mut said = String::new();
    web.said.read_to_string(&mut said).unwrap();
    assert!(
        said.contains(
            "it works once, and in one tab. It ends with Ctrl-C, or 2 seconds after the page was closed"
        ),
        "{said}"
    );
    assert!(said.ends_with("the page was closed for 2 seconds, so this has ended\n"), "{said}");
    // It does not wait for ever for a first page either.
    let mut web = Web::closed(&shell, &["--idle-seconds", "1"]);
    assert!(web.child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it() {
    use rustix::process::{Pid, Signal, kill_process};
    let shell = Shell::new();
    for signal in [Signal::INT, Signal::TERM] {
        let mut web = Web::open(&shell, &[]);
        kill_process(Pid::from_child(&web.child), signal).unwrap();
        assert!(web.child.wait().unwrap().success(), "{signal:?}");
    }
}

// Not on Windows, where the file of an open database cannot be removed.
#[cfg(unix)]
#[test]
fn a_history_that_is_empty_or_damaged_is_told() {
    let shell = Shell::new();
    let web = Web::open(&shell, &[]);
    assert_eq!(web.told("/api/edits"), json!({"edits": [], "roots": [], "tools": [], "clients": []}));
    let unknown = web.take_back(&json!({"since": "0123456789ab", "dryRun": false}));
    assert_eq!(error(&unknown), (404, "not_found".to_owned()));
    shell.world.write("a.txt", "one\n");
    let edit = shell.patch(&["a.txt"], "one", "two");
    assert_eq!(web.ids(""), [edit.as_str()]);
    let database = shell.state.path().join(mcp_text_editor_store::HISTORY_FILE);
    let kept = std::fs::read(&database).unwrap();
    for suffix in ["-wal", "-shm"] {
        let mut beside = database.clone().into_os_string();
        beside.push(suffix);
        let _ = std::fs::remove_file(beside);
    }
    drop(kept);
    std::fs::remove_file(&database).unwrap();
    std::fs::write(&database, "this is no database".repeat(1_000)).unwrap();
    assert_eq!(web.told("/api/now")["newest"], json!(false));
    let reply = web.get("/api/edits");
    assert_eq!(error(&reply), (500, "io_error".to_owned()), "{reply:?}");
    let said = &reply.json()["error"];
    assert!(said["reason"].as_str().unwrap().starts_with("The history cannot be read: "), "{said}");
    assert_eq!(
        said["hint"],
        "You can remove it, and so begin a new one, with: mcp-text-editor history forget."
    );
    assert_eq!(web.take_back(&json!({"edits": [edit], "dryRun": false})).status, 500);
    assert_eq!(std::fs::read(shell.world.path("a.txt")).unwrap(), b"two\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_locked_history_is_told_and_read_once_it_is_free() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    let edit = shell.patch(&["a.txt"], "one", "two");
    let path = shell.state.path().join(mcp_text_editor_store::HISTORY_FILE);
    let database = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    rustix::fs::fcntl_lock(&database, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let web = Web::open(&shell, &[]);
    let reply = web.get("/api/edits");
    assert_eq!(error(&reply), (423, "busy".to_owned()), "{reply:?}");
    assert_eq!(web.take_back(&json!({"edits": [edit], "dryRun": false})).status, 423);
    drop(database);
    assert_eq!(web.ids(""), [edit]);
    assert_eq!(std::fs::read(shell.world.path("a.txt")).unwrap(), b"two\n");
}

#[test]
fn hostile_names_and_texts_arrive_as_they_are() {
    let shell = Shell::new();
    let name = if cfg!(windows) { "a\u{202e}b.txt" } else { "<script>\"'&\u{202e}\n\u{1b}[31m.txt" };
    let text = "</script><!--\u{0}\u{2028}\u{202e}\u{1b}[2J";
    shell.world.write(name, "one\n");
    let patches = json!([{"old_string": "one", "new_string": text.replace('\u{0}', "")}]);
    let files = json!([{"file_path": shell.world.path(name), "patches": patches}]);
    let edit = shell.edit("patch_text_file_contents", &json!({ "files": files }));
    let web = Web::open(&shell, &[]);
    let story = web.told(&format!("/api/edits/{edit}"));
    assert_eq!(story["files"][0]["path"], json!(shell.world.path(name)));
    assert_eq!(story["files"][0]["hunks"][0]["lines"][1]["text"], json!(text.replace('\u{0}', "")));
    assert_eq!(web.told("/api/edits")["edits"][0]["files"][0]["relative"], json!(name));
    let states = web.told(&format!("/api/states?path={}", encoded(shell.world.path(name).to_str().unwrap())));
    assert_eq!(states["states"].as_array().unwrap().len(), 2);
}

/// Returns the data in a page that was written to a file.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_of_edits_is_written_whole_and_over_nothing() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    let first = shell.patch(&["a.txt"], "one", "</script><script>alert(1)</script>");
    let second = shell.create("b.txt", "b\n");
    let page = |arguments: &[&str]| shell.run(&[&["history", "--html"], arguments].concat());
    let held = || std::fs::read_to_string(shell.world.path("edits.html")).unwrap();
    assert_eq!(page(&["edits.html"]), (0, "mcp-text-editor: 2 edits are in the page\n".to_owned()));
    let whole = held();
    assert!(whole.contains("data-frame=\"file\"") && whole.contains("connect-src 'none'"));
    assert_eq!(whole.matches("</script").count(), 2, "nothing in it ends the script");
    let told = data(&whole);
    let ids: Vec<&Value> = told["edits"].as_array().unwrap().iter().map(|edit| &edit["id"]).collect();
    assert_eq!(ids, [&json!(second), &json!(first)]);
    assert!(told["edits"].as_array().unwrap().iter().all(|edit| edit["canUndo"] == false));
    assert_eq!(
        told["stories"][&first]["files"][0]["hunks"][0]["lines"][1]["text"],
        "</script><script>alert(1)</script>"
    );
    assert_eq!(told["title"], "Edits");
    // An existing file is replaced only if that is asked for.
    let (code, said) = page(&["edits.html", "-n", "1"]);
    assert_eq!((code, held()), (1, whole.clone()));
    assert_eq!(
        shell.world.unrooted(&said),
        "mcp-text-editor: $ROOT/edits.html is not written: there is a file of that name; --force replaces it\n"
    );
    let (code, said) =
        page(&["edits.html", "--force", "-n", "1", "--tool", "patch_text_file_contents", "a.txt"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(data(&held())["edits"].as_array().unwrap().len(), 1);
    assert_eq!(data(&held())["title"], json!(format!("Edits of {}", shell.world.path("a.txt").display())));
    assert_eq!(shell.run(&["history", "--json"]).1.lines().count(), 2, "the page is no edit");
    let output = shell.command(&["history", "--html", "-", "-n", "1"]).output().unwrap();
    assert_eq!(data(&String::from_utf8(output.stdout).unwrap())["edits"][0]["id"], json!(second));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "mcp-text-editor: 1 edit is in the page; there are more: -n asks for them\n"
    );
    let (code, said) = page(&["missing/edits.html"]);
    assert_eq!(code, 1, "{said}");
    shell.world.write("dir/x", "");
    assert_eq!(page(&["dir", "--force"]).0, 1);
    for wrong in
        [&["--html"][..], &["--html", "x", "--json"], &["--html", "x", "--web"], &["--open"], &["--force"]]
    {
        assert_eq!(shell.run(&[&["history"], wrong].concat()).0, 2, "{wrong:?}");
    }
}
