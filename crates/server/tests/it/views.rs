//! Clients that show views (MCP Apps): they are offered one, and other clients see nothing of it.

use std::path::Path;

use serde_json::{Value, json};

use super::session::Session;

const URI: &str = "ui://mcp-text-editor/edit";
const STORY: &str = "mcp-text-editor/story";

fn tree() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap().to_string_lossy().into_owned();
    super::session::written(|| write(directory.path(), "one\ntwo\n"));
    (directory, root)
}

#[expect(clippy::disallowed_methods, reason = "a test sets its files up")]
fn write(directory: &Path, text: &str) {
    std::fs::write(directory.join("a.txt"), text).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a test looks at the disk")]
fn text(root: &str) -> String {
    std::fs::read_to_string(Path::new(root).join("a.txt")).unwrap()
}

fn tools(session: &mut Session) -> Vec<Value> {
    session.ask("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone()
}

fn call(session: &mut Session, tool: &str, arguments: &Value) -> Value {
    session.ask("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].clone()
}

fn patch(session: &mut Session, root: &str, old: &str, new: &str, dry_run: bool) -> Value {
    let file = Path::new(root).join("a.txt");
    let arguments = json!({"file_path": file, "old_string": old, "new_string": new, "dry_run": dry_run});
    call(session, "patch_text_file_contents", &arguments)
}

#[test]
fn who_shows_views_is_offered_one_and_nobody_else_sees_it() {
    let (_directory, root) = tree();
    let (mut plain, mut shows) = (Session::start(&[&root]), Session::that_shows_views(&[&root]));
    let without = tools(&mut plain);
    let with = tools(&mut shows);
    assert!(without.iter().all(|tool| tool.get("_meta").is_none()));
    let mut of_models = Vec::new();
    for mut tool in with {
        let ui = tool["_meta"]["ui"].clone();
        if ui["visibility"] == json!(["app"]) {
            continue;
        }
        let is_read_only = tool["annotations"]["readOnlyHint"] == true;
        assert_eq!(ui["resourceUri"] == URI, !is_read_only, "{tool}");
        tool.as_object_mut().unwrap().remove("_meta");
        of_models.push(tool);
    }
    assert_eq!(of_models, without);
    let read = json!({"uri": URI});
    for (method, params) in [("resources/list", json!({})), ("resources/read", read.clone())] {
        assert_eq!(plain.ask(method, &params)["error"]["code"], -32601, "{method}");
    }
    assert_eq!(shows.ask("resources/list", &json!({}))["result"]["resources"][0]["uri"], URI);
    let page = shows.ask("resources/read", &read)["result"]["contents"][0].clone();
    assert_eq!(page["mimeType"], "text/html;profile=mcp-app");
    let ui = &page["_meta"]["ui"];
    assert_eq!((&ui["csp"]["connectDomains"], &ui["prefersBorder"]), (&json!([]), &json!(true)));
    assert!(page["text"].as_str().unwrap().contains("Content-Security-Policy"));
    let other = shows.ask("resources/read", &json!({"uri": "file:///etc/passwd"}));
    assert!(other["error"]["code"].is_i64(), "{other}");
    let unknown = plain.ask("tools/call", &json!({"name": "show_text_file_edit", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602);
}

#[test]
fn a_reply_has_the_story_of_its_edit_beside_what_the_model_reads() {
    for output in ["text", "json"] {
        let (_one, root) = tree();
        let (_other, other) = tree();
        let arguments = |root| ["--no-history", "--output", output, root];
        let mut plain = Session::start(&arguments(&root));
        let mut shows = Session::that_shows_views(&arguments(&other));
        let cases =
            [("two", "2", true, "proposal"), ("two", "2", false, "edit"), ("no", "x", false, "failure")];
        for (old, new, dry_run, kind) in cases {
            let expected = patch(&mut plain, &root, old, new, dry_run);
            let mut told = patch(&mut shows, &other, old, new, dry_run);
            let story = told["_meta"][STORY].clone();
            assert_eq!((&story["version"], &story["kind"]), (&json!(1), &json!(kind)));
            told.as_object_mut().unwrap().remove("_meta");
            assert!(expected.get("_meta").is_none());
            assert_eq!(told.to_string().replace(&other, &root), expected.to_string());
        }
        let refused = patch(&mut shows, &other, "no", "x", false)["_meta"][STORY]["failure"].clone();
        assert_eq!((&refused["code"], &refused["problems"][0]["asked"]), (&json!("no_match"), &json!("no")));
    }
}

#[test]
fn a_view_shows_edits_and_takes_them_back() {
    let (_directory, root) = tree();
    let mut session = Session::that_shows_views(&[&root]);
    let story = patch(&mut session, &root, "two", "2", false)["_meta"][STORY].clone();
    let id = story["edit"]["id"].as_str().unwrap().to_owned();
    let capabilities = &story["edit"]["capabilities"];
    let named = json!({"edit_id": id, "capability": capabilities[&id]});
    assert_eq!(story["edit"]["canUndo"], true);
    let lines = story["files"][0]["hunks"][0]["lines"].as_array().unwrap();
    let lines: Vec<String> =
        lines.iter().map(|line| format!("{}{}", line["kind"], line["text"]).replace('"', "")).collect();
    assert_eq!(lines, [" one", "-two", "+2"]);
    let shown = call(&mut session, "show_text_file_edit", &named);
    assert_eq!(shown["structuredContent"], story);
    let listed = call(&mut session, "list_shown_text_file_edits", &json!({"capabilities": capabilities}));
    assert_eq!(listed["structuredContent"]["edits"][0]["id"], json!(id));
    let mut planned = named.clone();
    planned["dry_run"] = json!(true);
    call(&mut session, "take_back_text_file_edit", &planned);
    assert_eq!(text(&root), "one\n2\n");
    let taken = call(&mut session, "take_back_text_file_edit", &named);
    assert_eq!(taken["structuredContent"]["edit"]["undoes"], json!(id));
    assert_eq!(text(&root), "one\ntwo\n");
    let refused = call(&mut session, "take_back_text_file_edit", &json!({"edit_id": "000000000000"}));
    assert_eq!(refused["isError"], true);
    for wrong in
        [json!({}), json!({"edit_id": 5}), json!({"edit_id": id, "capability": "", "dry_run": "yes"})]
    {
        let refused = call(&mut session, "take_back_text_file_edit", &wrong);
        assert_eq!(refused["isError"], true, "{wrong}");
    }
    let mut reads = Session::that_shows_views(&["--read-only", &root]);
    assert!(tools(&mut reads).iter().all(|tool| tool.get("_meta").is_none()));
    let unknown = reads.ask("tools/call", &json!({"name": "take_back_text_file_edit", "arguments": planned}));
    assert_eq!(unknown["error"]["code"], -32602);
}

/// Edits of another session, of another process, and by HTTP, are neither shown, listed nor taken back
/// without what their own replies gave, whatever a view has of its own.
#[test]
fn a_view_does_only_what_its_own_replies_gave_it() {
    let (_directory, root) = tree();
    let state = tempfile::tempdir().unwrap();
    let options = ["--state-dir", state.path().to_str().unwrap(), "--tools", "claude-code", &root];
    let mut theirs = Session::that_shows_views(&options);
    let edit = patch(&mut theirs, &root, "two", "2", false)["_meta"][STORY]["edit"].clone();
    let mut own = Session::that_shows_views(&options);
    let mine = patch(&mut own, &root, "one", "1", false)["_meta"][STORY]["edit"].clone();
    let id = edit["id"].as_str().unwrap();
    let [capability, other] =
        [&edit, &mine].map(|edit| edit["capabilities"][edit["id"].as_str().unwrap()].clone());
    let mut changed = capability.as_str().unwrap().to_owned();
    changed.replace_range(..1, if changed.starts_with('A') { "B" } else { "A" });
    for wrong in [Value::Null, json!(""), json!(id), json!(changed), other] {
        for tool in ["show_text_file_edit", "take_back_text_file_edit"] {
            let refused = call(&mut own, tool, &json!({"edit_id": id, "capability": wrong}));
            assert!(refused["isError"] == true && !refused.to_string().contains("two"), "{refused}");
        }
        let listed = call(&mut own, "list_shown_text_file_edits", &json!({"capabilities": {id: wrong}}));
        assert_eq!(listed["structuredContent"]["edits"], json!([]));
    }
    assert_eq!(text(&root), "1\n2\n");
    let ids = |listed: &Value| {
        let edits = listed["structuredContent"]["edits"].as_array().unwrap().clone();
        edits.into_iter().map(|edit| edit["id"].clone()).collect::<Vec<_>>()
    };
    let arguments = json!({"capabilities": mine["capabilities"]});
    let listed = call(&mut own, "list_shown_text_file_edits", &arguments);
    assert_eq!(ids(&listed), [mine["id"].clone()], "those of its session");
    // A capability holds in every process that shares the state.
    let shown = call(&mut own, "show_text_file_edit", &json!({"edit_id": id, "capability": capability}));
    assert_eq!(shown["structuredContent"]["edit"]["id"], json!(id));
}
