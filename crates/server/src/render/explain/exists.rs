//! Names that are taken, and symbolic links that lead nowhere.

use std::path::Path;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::Existing;
use serde_json::{Value, json};

use super::call::Call;
use crate::problem::{Code, Problem};
use crate::render::paths::shown;
use crate::tool_id::ToolId;

/// Makes the problem of a name that is taken.
pub(super) fn exists(call: Call<'_>, file_path: &str, existing: &Existing) -> Problem {
    match existing {
        Existing::DanglingLink { target } => {
            let (what, hint) = dangling(call, target);
            Problem::new(Code::AlreadyExists, format!("{file_path} already exists: it is {what}"), hint)
        }
        Existing::NotText { digest } => {
            let reason = format!("{file_path} already exists, and is not a file that reads as text");
            let mut problem = Problem::new(Code::AlreadyExists, reason, "choose another name");
            problem.file_hash = *digest;
            problem
        }
        Existing::Text { digest, total_lines, lines_digest, encoding } => {
            let replace = replacing(call, file_path, *total_lines, lines_digest, encoding.as_deref());
            let hint = call.naming(
                ToolId::Patch,
                |name| format!("to replace everything in it, call {name} {replace}"),
                || "choose another name, or edit the file that is there".to_owned(),
            );
            let mut problem = Problem::new(Code::AlreadyExists, format!("{file_path} already exists"), hint)
                .suggest(ToolId::Patch);
            problem.file_hash = Some(*digest);
            problem.total_lines = Some(*total_lines);
            problem
        }
    }
}

/// Spells out the call that replaces everything in a text file.
fn replacing(
    call: Call<'_>,
    file_path: &str,
    total_lines: u64,
    lines: &Digest,
    encoding: Option<&str>,
) -> Value {
    let patch = if total_lines == 0 {
        json!({"old_string": "", "new_string": "…"})
    } else {
        json!({"ranges": [{"start": 1, "range_hash": call.hashes.print(lines)}], "new_string": "…"})
    };
    let mut file = json!({"file_path": file_path, "patches": [patch]});
    if let (Some(label), Some(file)) = (encoding, file.as_object_mut()) {
        file.insert("encoding".to_owned(), json!(label));
    }
    json!({"files": [file]})
}

/// Says what a dangling link is, and which call creates its target.
pub(super) fn dangling(call: Call<'_>, target: &Path) -> (String, String) {
    let what = format!("a symbolic link to {}, which does not exist", shown(target));
    let check = || "check where the link leads; a person can change it".to_owned();
    let hint = target.to_str().map_or_else(check, |target| {
        let create = json!({"file_path": target, "contents": "…"});
        call.naming(
            ToolId::Create,
            |name| format!("to create the file that it leads to, call {name} {create}"),
            check,
        )
    });
    (what, hint)
}
