//! A directory of real files, and the program at work on it: the calls of a client, the replies, and the
//! files on disk.
//!
//! In arguments `$ROOT` is the directory, `$HASH(path)` the digest of a file as it is now,
//! `$RANGE(path,start,end)` that of some of its lines. In replies the directory is written `$ROOT` again.
//!
//! On Windows a call's `/path` becomes a path of a drive that does not exist, and is `/path` again in
//! replies. Words that differ there on purpose are replaced, too. So one snapshot is right for all systems.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::scan::Scanned;
use mcp_text_editor_core::scan::Scanner;
use serde_json::{Value, json};

use crate::schemas::admit_output;
use crate::session::{Session, written};

/// The tools that can change files.
const EDITING: [&str; 9] = [
    "patch_text_file_contents",
    "create_text_file",
    "append_text_file_contents",
    "insert_text_file_contents",
    "delete_text_file_contents",
    "copy_text_lines",
    "move_text_file",
    "remove_text_file",
    "undo_text_file_edits",
];

pub(crate) struct World {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        // A short path: the snapshots depend on the room that paths leave in a reply.
        let directory = if cfg!(unix) { tempfile::tempdir_in("/tmp") } else { tempfile::tempdir() }.unwrap();
        let root = real(directory.path()).join("root");
        std::fs::create_dir(&root).unwrap();
        Self { _directory: directory, root }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        written(|| std::fs::write(path, bytes).unwrap());
    }

    /// Copies the content of a directory to the root. A missing directory counts as empty.
    pub(crate) fn copy_from(&self, directory: &Path) {
        for (path, entry) in tree(directory) {
            match entry {
                Entry::File(bytes) => self.write(&path, bytes),
                Entry::Empty => std::fs::create_dir_all(self.path(&path)).unwrap(),
                Entry::Link(target) => link(&target, &self.path(&path)),
            }
        }
    }

    /// Removes a file, or a directory with everything in it.
    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        removed.unwrap();
    }

    #[cfg(unix)]
    pub(crate) fn link(&self, path: &str, target: &str) {
        link(Path::new(target), &self.path(path));
    }

    /// Returns everything below the root.
    pub(crate) fn tree(&self) -> BTreeMap<String, Entry> {
        tree(&self.root)
    }

    /// Returns a session that may edit the root.
    pub(crate) fn serve(&self, options: &[&str]) -> Session {
        Session::start(&[options, &[self.root.to_str().unwrap()]].concat())
    }

    /// Returns the same for a client of this name.
    pub(crate) fn serve_client(&self, name: &str, options: &[&str]) -> Session {
        Session::of_client(name, &[options, &[self.root.to_str().unwrap()]].concat())
    }

    /// Calls a tool. Panics if there is no reply. Checks what an error says about the disk: if it says that
    /// nothing was written, every name and file must be as before; else it must name each path that has
    /// changed.
    pub(crate) fn call(&self, session: &mut Session, tool: &str, arguments: &Value) -> Reply {
        if !EDITING.contains(&tool) {
            return self.call_among_others(session, tool, arguments);
        }
        let before = self.tree();
        let reply = self.call_among_others(session, tool, arguments);
        if reply.is_error {
            let after = self.tree();
            let changed: Vec<_> = before
                .keys()
                .chain(after.keys())
                .filter(|path| before.get(*path) != after.get(*path))
                .collect();
            let says_nothing = reply.raw.contains("nothing was written");
            assert!(changed.is_empty() || !says_nothing, "{changed:?}: {}", reply.raw);
            let is_named = |path: &&&String| reply.raw.contains(path.as_str());
            assert!(changed.iter().all(|path| is_named(&path)), "{changed:?}: {}", reply.raw);
        }
        reply
    }

    /// Calls a tool while others change the root, so that the reply cannot be checked against the disk.
    pub(crate) fn call_among_others(&self, session: &mut Session, tool: &str, arguments: &Value) -> Reply {
        let arguments = self.filled(arguments);
        let answer = session.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        // With `--output json` clients check answers against the tool's schema, errors too.
        let told = result.get("structuredContent").cloned();
        let told = told.or_else(|| serde_json::from_str(text).ok().filter(|_| result["isError"] == true));
        if let Some(told) = told {
            admit_output(tool, &told);
        }
        Reply {
            is_error: result["isError"] == true,
            text: self.masked(text),
            structured: result.get("structuredContent").cloned(),
            raw: text.to_owned(),
        }
    }

    /// Returns the arguments with their placeholders replaced.
    pub(crate) fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.filled_text(text)),
            Value::Array(values) => values.iter().map(|value| self.filled(value)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| match value.as_str() {
                    Some(path) if ["file_path", "path"].contains(&key.as_str()) => {
                        (key.clone(), json!(elsewhere(&self.filled_text(path))))
                    }
                    None if key == "paths" => (key.clone(), all_elsewhere(self.filled(value))),
                    _ => (key.clone(), self.filled(value)),
                })
                .collect(),
            other => other.clone(),
        }
    }

    pub(crate) fn filled_text(&self, text: &str) -> String {
        let text = replaced(text, "$HASH(", ")", |path| self.digest(path, None));
        let text = replaced(&text, "$RANGE(", ")", |inside| {
            let parts: Vec<&str> = inside.split(',').collect();
            let number = |part: &str| part.parse().unwrap();
            self.digest(parts[0], LineRange::inclusive(number(parts[1]), number(parts[2])))
        });
        let root = self.root.to_str().unwrap();
        // In a string with JSON the separators of Windows would have to be escaped.
        if text.starts_with(['[', '{']) {
            text.replace("$ROOT", &root.replace(std::path::MAIN_SEPARATOR, "/"))
        } else {
            text.replace("$ROOT", root)
        }
    }

    /// Returns the digest of a file, or of some of its lines.
    fn digest(&self, path: &str, lines: Option<LineRange>) -> String {
        let bytes = std::fs::read(self.path(path)).unwrap();
        let Some(lines) = lines else { return Digest::of(&bytes).to_string() };
        let mut scanner = Scanner::new(None);
        scanner.feed(&bytes);
        let place = Scanned::new(bytes.as_slice(), &scanner.finish()).bytes_of(lines).unwrap();
        let (start, end) = (usize::try_from(place.start).unwrap(), usize::try_from(place.end).unwrap());
        Digest::of(&bytes[start..end]).to_string()
    }

    /// Returns a text with `$ROOT` for the directory, and `/` between the names below it, as on Unix. The `\`
    /// of Windows is doubled in a string of JSON, and doubled again in a string within a string.
    pub(crate) fn unrooted(&self, text: &str) -> String {
        let root = self.root.to_str().unwrap();
        if cfg!(unix) {
            return text.replace(root, "$ROOT");
        }
        let mut text = text.to_owned();
        for separator in ["\\\\\\\\", "\\\\", "\\", "/"] {
            let drive = format!("{NO_DRIVE}{separator}");
            for (start, plain) in [(root.replace('\\', separator), "$ROOT"), (drive, "/")] {
                text = with_slashes(&text, &start, separator, plain);
            }
        }
        with_letter_case(&text)
    }

    /// Returns a reply for a snapshot: the same for any root and at any time.
    fn masked(&self, text: &str) -> String {
        let text = self.unrooted(text);
        let text = replaced(&text, r#""modified":""#, "\"", |_| r#""modified":"$TIME""#.to_owned());
        let text = replaced(&text, r#""edit_id":""#, "\"", |_| r#""edit_id":"$EDIT""#.to_owned());
        // The name of a temporary file is random. It is at the end of a word.
        let words = text.split_inclusive([' ', ';', '"', '\n']).map(|word| match word.split_once("/.mte-") {
            Some((directory, name)) => {
                format!("{directory}/.mte-$ID{}", name.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
            }
            None => word.to_owned(),
        });
        words.collect()
    }
}

/// A drive of Windows that no machine is expected to have.
const NO_DRIVE: &str = "Q:";

/// Returns a path in no root: `/path`, or on Windows, where this is not absolute, the path with a drive.
pub(crate) fn elsewhere(path: &str) -> String {
    let is_from_top = cfg!(windows) && path.starts_with('/') && !path.starts_with("//");
    if is_from_top { format!("{NO_DRIVE}{path}") } else { path.to_owned() }
}

fn all_elsewhere(paths: Value) -> Value {
    let Value::Array(paths) = paths else { return paths };
    paths.into_iter().map(|path| path.as_str().map(|path| json!(elsewhere(path))).unwrap_or(path)).collect()
}

/// Returns a text that says of each missing file that letter case counts, as replies do on systems where it
/// does.
fn with_letter_case(text: &str) -> String {
    let mut parts = text.split("check the path").peekable();
    let mut out = String::new();
    while let Some(part) = parts.next() {
        out.push_str(part);
        let Some(next) = parts.peek() else { break };
        out.push_str("check the path");
        let ends = next.is_empty() || next.starts_with(['"', '\n']);
        if ends && out.rfind("not_found") > out.rfind("not_a_directory") {
            out.push_str("; names are case-sensitive");
        }
    }
    out
}

/// Returns a text in which each path that begins with `start` begins with `plain`, and has `/` for
/// `separator`.
fn with_slashes(text: &str, start: &str, separator: &str, plain: &str) -> String {
    let mut parts = text.split(start);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['"', ' ', '\n', ':', ';', ',', '*']).unwrap_or(part.len());
        out = out + plain + &part[..end].replace(separator, "/") + &part[end..];
    }
    out
}

/// The answer of a tool.
pub(crate) struct Reply {
    pub(crate) is_error: bool,
    /// The text, with the root as `$ROOT`.
    pub(crate) text: String,
    pub(crate) structured: Option<Value>,
    /// The unchanged text.
    pub(crate) raw: String,
}

impl Reply {
    /// Returns the code of an error in either mode; `ok` if it is no error.
    pub(crate) fn code(&self) -> String {
        if !self.is_error {
            return "ok".to_owned();
        }
        let json: Option<Value> = serde_json::from_str(&self.raw).ok();
        let code = match &json {
            Some(json) => json["code"].as_str(),
            None => self.raw.strip_prefix("error: ").and_then(|rest| rest.split(':').next()),
        };
        code.unwrap_or_else(|| panic!("{}", self.raw)).to_owned()
    }
}

/// The entry of a name below the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    File(Vec<u8>),
    Link(PathBuf),
    /// A directory with nothing in it.
    Empty,
}

/// Returns everything below a directory, by its path from there. A missing directory counts as empty.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, Entry> {
    let mut found = BTreeMap::new();
    collect(root, root, &mut found);
    found
}

fn collect(root: &Path, directory: &Path, found: &mut BTreeMap<String, Entry>) {
    let Ok(entries) = directory.read_dir() else { return };
    let mut empty = directory != root;
    for entry in entries {
        let entry = entry.unwrap();
        let (kind, path) = (entry.file_type().unwrap(), entry.path());
        empty = false;
        if kind.is_dir() {
            collect(root, &path, found);
        } else if kind.is_symlink() {
            found.insert(name(root, &path), Entry::Link(path.read_link().unwrap()));
        } else if kind.is_file() {
            // A huge sparse file is represented by its size alone.
            let size = entry.metadata().unwrap().len();
            let is_large = size > 1 << 30;
            let bytes = if is_large { size.to_string().into_bytes() } else { std::fs::read(&path).unwrap() };
            found.insert(name(root, &path), Entry::File(bytes));
        }
    }
    if empty {
        found.insert(name(root, directory), Entry::Empty);
    }
}

fn name(root: &Path, path: &Path) -> String {
    let name = path.strip_prefix(root).unwrap().to_string_lossy();
    if cfg!(windows) { name.replace('\\', "/") } else { name.into_owned() }
}

/// Returns a path without links, as the program shows it: without the prefix of Windows.
pub(crate) fn real(path: &Path) -> PathBuf {
    let real = path.canonicalize().unwrap();
    let plain = real.to_str().and_then(|real| real.strip_prefix(r"\\?\")).map(PathBuf::from);
    plain.unwrap_or(real)
}

fn link(target: &Path, path: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, path).unwrap();
    #[cfg(windows)]
    std::os::windows::fs::symlink_file(target, path).unwrap();
}

/// Returns `text` with everything from `opening` to `closing` replaced.
fn replaced(text: &str, opening: &str, closing: &str, mut with: impl FnMut(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(opening) {
        let (inside, after) = after.split_once(closing).unwrap();
        out.push_str(before);
        out.push_str(&with(inside));
        rest = after;
    }
    out + rest
}
