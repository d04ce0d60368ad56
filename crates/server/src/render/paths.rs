//! Formats paths for replies. A call can name a path that is UTF-8 as a reply shows it. No call can name a
//! path that is not UTF-8. Such a path is never shown with U+FFFD in place of bytes, because that would be
//! the path of another file.

use std::path::Path;

use mcp_text_editor_store::Workspace;

/// Returns a path for a sentence. If the path is not UTF-8, its other bytes are spelled out: `caf\xE9`. The
/// prefix `\\?\` of Windows is left out, since people do not write it.
pub(crate) fn shown(path: &Path) -> String {
    match path.to_str() {
        Some(path) if cfg!(windows) => match (path.strip_prefix(r"\\?\UNC\"), path.strip_prefix(r"\\?\")) {
            (Some(share), _) => format!(r"\\{share}"),
            (None, Some(plain)) => plain.to_owned(),
            (None, None) => path.to_owned(),
        },
        Some(path) => path.to_owned(),
        None => path.as_os_str().as_encoded_bytes().utf8_chunks().fold(String::new(), |mut out, chunk| {
            out.push_str(chunk.valid());
            out.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
            out
        }),
    }
}

/// Returns paths for a sentence, with commas between them.
pub(crate) fn list(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> String {
    let paths: Vec<String> = paths.into_iter().map(|path| shown(path.as_ref())).collect();
    paths.join(", ")
}

/// Returns the allowed directories that a call can name.
pub(crate) fn namable(workspace: &Workspace) -> Vec<&str> {
    workspace.roots().filter_map(Path::to_str).collect()
}

/// Names the allowed directories as the end of a sentence, after `lead`.
pub(crate) fn allowed(lead: &str, workspace: &Workspace) -> String {
    let named = namable(workspace);
    let rest = match (workspace.roots().count() - named.len(), named.is_empty()) {
        (0, _) => String::new(),
        (_, true) => {
            return "no call can name an allowed directory: their paths are not UTF-8, and a person has to rename them"
                .to_owned();
        }
        (1, false) => " (and one whose path is not UTF-8, so that no call can name it)".to_owned(),
        (more, false) => format!(" (and {more} whose paths are not UTF-8, so that no call can name them)"),
    };
    format!("{lead} {}{rest}", named.join(", "))
}
