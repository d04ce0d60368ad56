//! Tests of what clients know of the tools beside their list. Where a client hides tools behind a search,
//! plain requests find them. Hints and a page on editing go to the clients that read them.

use std::collections::BTreeSet;

use mcp_text_editor::config::Config;
use mcp_text_editor::context::Context;
use mcp_text_editor::protocol::server::Server;
use mcp_text_editor::tools::{self, Tool};
use mcp_text_editor_store::Workspace;
use serde_json::{Value, json};

use super::session::Session;

/// Other servers' tools, and queries with the tools that they are for.
const OTHERS: &str = include_str!("searched.txt");

/// A tool as a search sees it.
struct Found {
    name: String,
    parts: Vec<String>,
    words: Vec<String>,
    hint: Vec<String>,
}

impl Found {
    /// Makes a tool, whose client puts the name of its server before its own.
    fn new(server: &str, name: &str, description: &str, parameters: &str, hint: &str) -> Self {
        let whole = format!("mcp__{server}__{name}");
        let parts = whole.split('_').filter(|part| !part.is_empty()).map(stem).collect();
        let words = words(&format!("{whole} {description} {parameters}"));
        Self { name: name.to_owned(), parts, words, hint: self::words(hint) }
    }
}

/// Splits a text into stems, without the words that each sentence has.
fn words(text: &str) -> Vec<String> {
    let common = "a an and are at be by can for from in is it of on or the this to was with";
    let common: BTreeSet<&str> = common.split(' ').collect();
    let mut spaced = String::new();
    for character in text.chars() {
        if character.is_ascii_uppercase() && spaced.ends_with(|last: char| last.is_ascii_lowercase()) {
            spaced.push(' ');
        }
        spaced.push(character.to_ascii_lowercase());
    }
    let all = spaced.split(|character: char| !character.is_ascii_alphanumeric());
    all.filter(|word| !word.is_empty() && !common.contains(word)).map(stem).collect()
}

fn stem(word: &str) -> String {
    let ends = ["ing", "ed", "es", "s", "e"].into_iter();
    let mut stems = ends.filter_map(|end| word.strip_suffix(end).filter(|stem| stem.len() > 2));
    stems.next().unwrap_or(word).to_owned()
}

/// Ranks by BM25 with the usual constants, as Codex does, over names, descriptions and parameters.
fn by_bm25(query: &[String], tools: &[Found]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    let number = |count: usize| count as f64;
    let average = number(tools.iter().map(|tool| tool.words.len()).sum()) / number(tools.len());
    let score = |tool: &Found, word: &String| {
        let having = number(tools.iter().filter(|tool| tool.words.contains(word)).count());
        let times = number(tool.words.iter().filter(|own| *own == word).count());
        let rarity = (1.0 + (number(tools.len()) - having + 0.5) / (having + 0.5)).ln();
        let length = number(tool.words.len()) / average;
        rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length))
    };
    tools.iter().map(|tool| query.iter().map(|word| score(tool, word)).sum()).collect()
}

/// Ranks by weights, as Claude Code and Qwen Code do: a part of the name, a hint, any other word.
fn by_keyword(query: &[String], tools: &[Found]) -> Vec<f64> {
    let score = |tool: &Found, word: &String| {
        let of_name = match word {
            word if tool.parts.contains(word) => 12.0,
            word if tool.parts.iter().any(|part| part.contains(word)) => 6.0,
            _ => 0.0,
        };
        let of_hint = if tool.hint.contains(word) { 4.0 } else { 0.0 };
        of_name + of_hint + if tool.words.contains(word) { 2.0 } else { 0.0 }
    };
    tools.iter().map(|tool| query.iter().map(|word| score(tool, word)).sum()).collect()
}

/// Adds the names of the parameters of a schema, at every depth.
fn parameters(schema: &Value, all: &mut String) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        all.extend([" ", name]);
        parameters(&property["items"], all);
    }
}

#[test]
fn plain_queries_find_the_right_tool_among_the_first_three() {
    let server = |tools: &str| {
        let config = Config { tools: tools.parse().unwrap(), ..Config::default() };
        Server::new(Context::new(config, Workspace::builder().build().unwrap()))
    };
    let other = |line: &str| {
        let (head, description) = line.split_once("): ")?;
        let (server, rest) = head.split_once(' ')?;
        let (name, parameters) = rest.split_once('(')?;
        Some(Found::new(server, name, description, parameters, ""))
    };
    let hint = |name: &str| {
        tools::ALL.iter().find(|tool| tool.name() == name).and_then(|tool: &Tool| tool.search_hint)
    };
    let (mut queries, mut wrong) = (0, Vec::new());
    for (query, right) in OTHERS.lines().filter_map(|line| line.split_once(" = ")) {
        queries += 1;
        // The others come first where several are alike. A tool that is not offered by default competes only
        // if all are.
        let mut found: Vec<Found> = OTHERS.lines().filter_map(other).collect();
        assert!(found.len() >= 60);
        let by_default = server("default").listed().iter().any(|tool| tool.name == right);
        for tool in server(if by_default { "default" } else { "all" }).listed() {
            let mut names = String::new();
            parameters(&serde_json::to_value(&tool.input_schema).unwrap(), &mut names);
            let description = tool.description.as_deref().unwrap();
            let hint = hint(&tool.name).unwrap_or_default();
            found.push(Found::new("text-editor", &tool.name, description, &names, hint));
        }
        for (way, rank) in [("bm25", by_bm25 as fn(&[String], &[Found]) -> Vec<f64>), ("keyword", by_keyword)]
        {
            let scores = rank(&words(query), &found);
            let mut order: Vec<usize> = (0..found.len()).collect();
            order.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]));
            let first: Vec<&str> = order.iter().take(3).map(|index| found[*index].name.as_str()).collect();
            if !first.contains(&right) {
                wrong.push(format!("{way}: {query}: {right} is not among {first:?}"));
            }
        }
    }
    assert!(queries >= 40 && wrong.is_empty(), "{queries} queries\n{wrong:#?}");
}

#[test]
fn hints_go_to_the_clients_that_read_them_and_to_no_other() {
    let tools = |client: &str, more: &[&str]| -> Vec<(String, Value)> {
        let mut session = Session::of_client(client, &[&["--tools", "default"], more].concat());
        let listed = session.ask("tools/list", &json!({}))["result"]["tools"].clone();
        let of = |tool: &Value| (tool["name"].as_str().unwrap().to_owned(), tool["_meta"].clone());
        listed.as_array().unwrap().iter().map(of).collect()
    };
    assert!(tools("codex-mcp-client", &[]).iter().all(|(_, meta)| meta.is_null()));
    for (name, meta) in tools("claude-code", &[]) {
        let is_first = ["get_text_file_contents", "patch_text_file_contents"].contains(&name.as_str());
        assert_eq!(meta["anthropic/alwaysLoad"] == true, is_first, "{name}");
        assert_eq!(meta["anthropic/searchHint"].is_string(), !is_first, "{name}");
        // What the client shows by itself is enough.
        assert!(meta["anthropic/maxResultSizeChars"].is_null(), "{name}");
    }
    for (name, meta) in tools("claude-code", &["--max-response-bytes", "100000"]) {
        let reads =
            ["get_text_file_contents", "search_text_files", "list_text_files"].contains(&name.as_str());
        assert_eq!(meta["anthropic/maxResultSizeChars"].as_u64() > Some(100_000), reads, "{name}");
    }
}

#[test]
fn the_page_on_editing_is_for_clients_that_know_skills() {
    const URI: &str = "skill://editing-text-files/SKILL.md";
    let mut session = Session::start(&[]);
    let mut ask = |method: &str, uri: &str, extensions: Value| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"extensions": extensions},
        });
        session.ask(method, &json!({"uri": uri, "_meta": meta}))
    };
    let knows = || json!({"io.modelcontextprotocol/skills": {}});
    let declared = |answer: &Value| answer["result"]["capabilities"]["extensions"].clone();
    let plain = ask("server/discover", "", json!({}));
    assert!(declared(&plain).is_null() && !plain.to_string().contains("skill"), "{plain}");
    for method in ["skills/list", "skills/get", "resources/list", "resources/read"] {
        assert_eq!(ask(method, URI, json!({}))["error"]["code"], -32601, "{method}");
    }
    assert_eq!(declared(&ask("server/discover", "", knows())), knows());
    let listed = ask("skills/list", "", knows())["result"].clone();
    let skill = &listed["skills"][0];
    assert_eq!((&listed["resultType"], &listed["cacheScope"]), (&json!("complete"), &json!("private")));
    assert_eq!(ask("skills/get", URI, knows())["result"]["skill"], *skill);
    assert_eq!(ask("skills/get", "skill://other/SKILL.md", knows())["error"]["code"], -32602);
    assert_eq!(ask("resources/list", "", knows())["result"]["resources"][0]["uri"], URI);
    let page = ask("resources/read", URI, knows())["result"]["contents"][0]["text"].clone();
    let page = page.as_str().unwrap();
    assert!(page.split_whitespace().count() <= 600);
    let digest = mcp_text_editor_core::digest::Digest::of(page.as_bytes()).to_string();
    assert_eq!(
        skill["resources"],
        json!([{"uri": URI, "digest": format!("sha256:{digest}"), "size": page.len()}])
    );
    let (name, description) = (&skill["frontmatter"]["name"], &skill["frontmatter"]["description"]);
    assert_eq!(name, "editing-text-files");
    let head = format!(
        "---\nname: {}\ndescription: {}\n---\n",
        name.as_str().unwrap(),
        description.as_str().unwrap()
    );
    assert!(page.starts_with(&head), "{page}");
    // It names no tool that there is not.
    for word in page.split('`').filter(|word| word.contains("_text_file")) {
        assert!(tools::ALL.iter().any(|tool| tool.name() == word), "{word}");
    }
}
