//! Every error that a client can get, in both modes, word for word. The snapshots hold the calls and their
//! replies.

mod calls;
mod content;
mod copies;
mod paths;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mcp_text_editor::problem::Code;
use mcp_text_editor::tool_id::ToolId;
use mcp_text_editor::tools;
use serde_json::{Value, json};

use crate::world::World;

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";
const CREATE: &str = "create_text_file";
const APPEND: &str = "append_text_file_contents";
const INSERT: &str = "insert_text_file_contents";
const DELETE: &str = "delete_text_file_contents";
const COPY: &str = "copy_text_lines";
const EDITS: &str = "list_text_file_edits";
const UNDO: &str = "undo_text_file_edits";

/// A name, a tool, and its arguments.
type Call = (&'static str, &'static str, Value);

/// Makes calls that must all fail and leave every file as it was. The snapshot `name` holds the replies, as
/// text and as JSON.
#[track_caller]
pub(crate) fn check(name: &str, set_up: impl Fn(&World), options: &[&str], calls: &[Call]) {
    let world = World::new();
    set_up(&world);
    let before = world.tree();
    let mut text = world.serve(options);
    let mut json = world.serve(&[options, &["--output", "json"]].concat());
    let mut out = String::new();
    for (what, tool, arguments) in calls {
        let said = world.call(&mut text, tool, arguments);
        let told = world.call(&mut json, tool, arguments);
        assert!(said.is_error && told.is_error, "{what}: {}", said.text);
        assert!(told.structured.is_none() && said.structured.is_none(), "{what}");
        assert_eq!(said.code(), told.code(), "{what}");
        for reply in [&said, &told] {
            assert!(reply.raw.chars().count() < 8_000, "{what}");
            let edits = !ToolId::named(tool).unwrap().is_read_only();
            assert_eq!(edits, reply.raw.contains("; nothing was written"), "{what}: {}", reply.text);
        }
        assert_eq!(world.tree(), before, "{what}");
        let _ = writeln!(out, "## {what}\n{tool} {arguments}\n\n{}\n\n{}\n\n", said.text, told.text);
    }
    names_what_is_offered(&world, options, calls);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => true }, {
        insta::assert_snapshot!(name, out);
    });
}

/// Makes the same calls while only one of their tools is offered, each in turn. No error may name another
/// tool.
#[track_caller]
fn names_what_is_offered(world: &World, options: &[&str], calls: &[Call]) {
    if options.iter().any(|option| ["--tools", "--mode", "--read-only"].contains(option)) {
        return;
    }
    let called: BTreeSet<&str> = calls.iter().map(|(_, tool, _)| *tool).collect();
    for offered in called {
        for output in ["text", "json"] {
            let mut session = world.serve(&[options, &["--tools", offered, "--output", output]].concat());
            for (what, tool, arguments) in calls {
                let reply = world.call(&mut session, tool, arguments);
                assert!(reply.is_error, "{what}: {}", reply.text);
                // That the called tool is switched off may be said.
                let said = reply.text.replace(&format!("{tool} is switched off"), "");
                // The name of one tool is a part of another's.
                let words: Vec<&str> = said.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).collect();
                let strange =
                    tools::ALL.iter().find(|other| other.name() != offered && words.contains(&other.name()));
                assert!(strange.is_none(), "{what}, with {offered} alone: {}", reply.text);
            }
        }
    }
}

/// Returns the arguments of patches of one file.
fn patches(file: &str, patches: &[Value]) -> Value {
    json!({"files": [{"file_path": format!("$ROOT/{file}"), "patches": patches}]})
}

fn by_text(file: &str, old: &str, new: &str) -> Value {
    patches(file, &[json!({"old_string": old, "new_string": new})])
}

fn by_range(file: &str, start: u32, end: u32, old: &str, new: &str) -> Value {
    let ranges = json!([{"start": start, "end": end}]);
    patches(file, &[json!({"old_string": old, "new_string": new, "ranges": ranges})])
}

fn by_hash(file: &str, start: u32, end: u32, hash: &str) -> Value {
    patches(
        file,
        &[json!({"new_string": "new", "ranges": [{"start": start, "end": end, "range_hash": hash}]})],
    )
}

/// Writes a file in which every kind of slip can be made.
fn app(world: &World) {
    let text = "fn area(w: u32, h: u32) -> u32 {\n\
                \tw * h\n\
                }\n\
                \n\
                fn main() {\n    \
                    let title = \"it's\";\n    \
                    let width = \"10 km\";\n    \
                    println!(\"{title}: {width}\");\n    \
                    done(1, 2);  \n\
                }\n";
    world.write("app.rs", text);
}

/// The codes that no single call can cause, and why.
const NOT_HERE: &[(Code, &str)] = &[
    (Code::Conflict, "another program has to be at work: `a_file_that_keeps_changing`"),
    (Code::Busy, "takes ten seconds: the store's tests hold a lock"),
    (Code::NotDownloaded, "needs iCloud on macOS: `explain/tests.rs` has its words"),
    (Code::NoSpace, "needs a file system that is full"),
    (Code::Cancelled, "a withdrawn call is not answered: session.rs sees that it stops"),
    (Code::InternalError, "needs a defect: session.rs has a tool that panics"),
];

#[test]
#[expect(clippy::disallowed_methods, reason = "the snapshots are read as files")]
fn every_code_is_told() {
    let mut told = BTreeSet::new();
    let snapshots = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/errors/snapshots");
    for entry in snapshots.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("it__errors__") {
            let text = std::fs::read_to_string(path).unwrap();
            let codes = text.lines().filter_map(|line| line.strip_prefix("error: ")?.split(':').next());
            told.extend(codes.map(str::to_owned));
        }
    }
    for code in Code::ALL {
        let excused = NOT_HERE.iter().any(|(excused, _)| excused == code);
        assert_ne!(told.contains(code.as_str()), excused, "{}", code.as_str());
    }
}
