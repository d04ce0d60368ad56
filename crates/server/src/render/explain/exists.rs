//! Names that are taken, and symbolic links that lead nowhere.

use std::path::Path;

use serde_json::{Value, json};

use super::call::Call;
use crate::problem::{Code, Problem};
use crate::render::paths::shown;
use crate::tool_id::ToolId;

/// Makes the problem of a name that is taken by something that does not read as text.
pub(crate) fn exists_unreadable(file_path: &str) -> Problem {
    let reason = format!("{file_path} already exists, and is not a file that reads as text");
    Problem::new(Code::AlreadyExists, reason, "choose another name").of_file(file_path)
}

/// Makes the problem of a name that is taken by a symbolic link to a file that does not exist.
pub(crate) fn exists_dangling(call: Call<'_>, file_path: &str, target: &Path) -> Problem {
    let (what, hint) = dangling(call, target);
    Problem::new(Code::AlreadyExists, format!("{file_path} already exists: it is {what}"), hint)
        .of_file(file_path)
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

/// Makes the problem of a name that is taken by a text file. `replace` is the call that would replace everything in
/// it.
pub(crate) fn exists(call: Call<'_>, file_path: &str, replace: &Value) -> Problem {
    let hint = call.naming(
        ToolId::Patch,
        |name| format!("to replace everything in it, call {name} {replace}"),
        || "choose another name, or edit the file that is there".to_owned(),
    );
    Problem::new(Code::AlreadyExists, format!("{file_path} already exists"), hint)
        .of_file(file_path)
        .suggest(ToolId::Patch)
}
