//! Tests of `tools/list`, and of its schemas, which every client must accept.

use mcp_text_editor::cli::call as listing;
use mcp_text_editor::config::{Config, Output};
use mcp_text_editor::context::Context;
use mcp_text_editor::protocol::server::Server;
use mcp_text_editor::tools;
use mcp_text_editor_store::Workspace;
use serde_json::{Map, Value, json};

fn listed(output: Output) -> Vec<Value> {
    let config = Config { output, tools: "all".parse().unwrap(), ..Config::default() };
    let server = Server::new(Context::new(config, Workspace::builder().build().unwrap()));
    server.listed().iter().map(|tool| serde_json::to_value(tool).unwrap()).collect()
}

/// Refuses keywords that some client refuses, and arguments without a description, unless one of the same
/// name above has it.
fn lint(schema: &Value, place: &str) {
    lint_object(schema, place, &mut Vec::new());
}

fn lint_object(schema: &Value, place: &str, told: &mut Vec<String>) {
    let map = schema.as_object().unwrap_or_else(|| panic!("{place}: a bare {schema}"));
    // `additionalProperties` is not allowed: clients would answer a slip themselves, and worse than the
    // server.
    let known = ["type", "description", "properties", "required", "items", "enum"];
    for key in map.keys() {
        assert!(known.contains(&key.as_str()), "{place}: {key}");
    }
    match map["type"].as_str().unwrap_or_else(|| panic!("{place}: type is no string")) {
        "object" => {
            let properties = map["properties"].as_object().unwrap();
            for name in map["required"].as_array().unwrap() {
                assert!(
                    properties.contains_key(name.as_str().unwrap()),
                    "{place}: {name} is required and unknown"
                );
            }
            for (name, property) in properties {
                if property.get("description").is_some() {
                    told.push(name.clone());
                }
                assert!(told.contains(name), "{place}.{name}: nothing is said of it");
                lint_object(property, &format!("{place}.{name}"), told);
            }
        }
        "array" => lint_object(&map["items"], &format!("{place}[]"), told),
        "string" => {
            for word in map.get("enum").and_then(Value::as_array).into_iter().flatten() {
                assert!(word.is_string(), "{place}");
            }
        }
        kind => {
            assert!(matches!(kind, "integer" | "boolean"), "{place}: {kind}");
            assert!(!map.contains_key("enum"), "{place}");
        }
    }
}

/// Refuses an output that the schema of the tool's output does not admit: as a validator would, and also
/// members that the schema does not name. `lint` checks that schemas have only the keywords that are known
/// here.
pub(crate) fn admit_output(tool: &str, value: &Value) {
    let tool = tools::ALL.iter().find(|known| known.name() == tool).unwrap();
    admit(&Value::Object(tool.output()), value, tool.name());
}

fn admit(schema: &Value, value: &Value, place: &str) {
    match (schema["type"].as_str().unwrap(), value) {
        ("object", Value::Object(map)) => {
            for name in schema["required"].as_array().unwrap() {
                assert!(map.contains_key(name.as_str().unwrap()), "{place}: {name} is not there");
            }
            for (name, value) in map {
                let property = schema["properties"].get(name);
                let property = property.unwrap_or_else(|| panic!("{place}: the schema has no {name}"));
                admit(property, value, &format!("{place}.{name}"));
            }
        }
        ("array", Value::Array(items)) => {
            for item in items {
                admit(&schema["items"], item, &format!("{place}[]"));
            }
        }
        ("string", Value::String(text)) => {
            let words = schema.get("enum").and_then(Value::as_array);
            assert!(words.is_none_or(|words| words.contains(&json!(text))), "{place}: {text}");
        }
        ("integer", value) if value.is_i64() || value.is_u64() => {}
        ("boolean", Value::Bool(_)) => {}
        (kind, other) => panic!("{place}: {other} is no {kind}"),
    }
}

#[test]
fn schemas_are_portable() {
    for tool in listed(Output::Json) {
        let name = tool["name"].as_str().unwrap();
        assert!(
            name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{name}"
        );
        lint(&tool["inputSchema"], name);
        lint(&tool["outputSchema"], name);
        assert!(tool["description"].as_str().unwrap().chars().count() <= 1_000, "{name}");
        assert_eq!(tool["annotations"].as_object().unwrap().len(), 4, "{name}");
        assert_eq!(tool["annotations"]["openWorldHint"], json!(false), "{name}");
    }
    assert!(listed(Output::Text).iter().all(|tool| tool.get("outputSchema").is_none()));
}

/// A model gets the list with each request.
#[test]
fn the_lists_of_tools_are_short() {
    let sets = [("edit", 9_200), ("default", 15_000), ("all", 18_500)];
    // With the brackets of the list.
    let tools = [("copy_text_lines", 1_302), ("replace_in_text_files", 1_302)];
    for (tools, most) in sets.into_iter().chain(tools) {
        let config = Config { tools: tools.parse().unwrap(), ..Config::default() };
        let server = Server::new(Context::new(config, Workspace::builder().build().unwrap()));
        let length = serde_json::to_string(&server.listed()).unwrap().chars().count();
        assert!(length <= most, "{tools}: {length} characters");
        let told = format!("{} {:03} characters", length / 1_000, length % 1_000);
        let readme = include_str!("../../../../README.md");
        assert!(tools != "edit" || readme.contains(&told), "README.md does not say {told}");
    }
}

#[test]
fn schemas_are_these() {
    for tool in listed(Output::Json) {
        let name = tool["name"].as_str().unwrap().to_owned();
        insta::assert_snapshot!(name, serde_json::to_string_pretty(&tool).unwrap());
    }
}

/// The schema and the argument reader name the same arguments, at every depth.
#[test]
fn schemas_name_what_is_read() {
    fn holds_objects(property: &Value) -> bool {
        property["type"] == "array" && property["items"]["type"] == "object"
    }
    fn strange(schema: &Value) -> Value {
        let properties = schema["properties"].as_object().unwrap();
        let mut out = Map::new();
        out.insert("stranger".to_owned(), json!(1));
        for (name, property) in properties {
            if holds_objects(property) {
                out.insert(name.clone(), json!([strange(&property["items"])]));
            }
        }
        Value::Object(out)
    }
    fn names(schema: &Value, all: &mut Vec<Vec<String>>) {
        let properties = schema["properties"].as_object().unwrap();
        let mut own: Vec<String> = properties.keys().cloned().collect();
        own.sort();
        all.push(own);
        properties
            .values()
            .filter(|property| holds_objects(property))
            .for_each(|list| names(&list["items"], all));
    }
    let config = Config { tools: "all".parse().unwrap(), ..Config::default() };
    let context = Context::new(config, Workspace::builder().build().unwrap());
    for tool in tools::ALL {
        let schema = Value::Object(tool.arguments.schema(&|_| true));
        let values = strange(&schema).as_object().unwrap().clone();
        let failure = (tool.run)(&context, values, &mcp_text_editor::context::Cancel::never()).unwrap_err();
        let hints = failure.problems.iter().filter_map(|problem| problem.hint.split_once(" takes: "));
        let mut read: Vec<Vec<String>> = hints
            .map(|(_, names)| {
                let mut names: Vec<String> = names.split(", ").map(str::to_owned).collect();
                names.sort();
                names
            })
            .collect();
        read.sort();
        let mut told = Vec::new();
        names(&schema, &mut told);
        told.sort();
        assert_eq!(read, told, "{}", tool.name());
    }
}

/// The descriptions of tools, and the instructions, name no tool that the model does not have.
#[test]
fn only_what_is_offered_is_named() {
    let sets = ["default", "all", "edit", "read-only", "claude-code"].into_iter();
    for set in sets.chain(tools::ALL.iter().map(tools::Tool::name)) {
        let config = Config { output: Output::Json, tools: set.parse().unwrap(), ..Config::default() };
        let server = Server::new(Context::new(config, Workspace::builder().build().unwrap()));
        let listed = server.listed();
        let told = serde_json::to_string(&listed).unwrap() + &server.instructions();
        // The name of one tool is a part of another's.
        let words: Vec<&str> = told.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).collect();
        for tool in tools::ALL.iter().filter(|tool| listed.iter().all(|listed| listed.name != tool.name())) {
            assert!(!words.contains(&tool.name()), "{set}: {} is named", tool.name());
        }
    }
}

#[test]
fn the_document_is_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.md");
    #[expect(clippy::disallowed_methods, reason = "a test reads the document")]
    let document = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        document == listing::markdown(),
        "docs/tools.md has drifted: cargo run -p mcp-text-editor -- tools --markdown > docs/tools.md"
    );
}
